"""What finds the spans: models with and without rules, and their labels."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import WordRecognizer
from notes import clinic_notes
from typer.testing import CliRunner

from deid import read
from deid.base.errors import ConfigError, ModelError
from deid.cli.main import app
from deid.detection.dial import Dial, dial_of_folder, fingerprint, write_dial
from deid.detection.known import KnownRecognizer
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer, find_with_effect, language_of_labels
from deid.detection.site_lists import Effect
from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.tagger import DEFAULT_MODEL, train
from deid.labeling.training import TrainingOptions
from deid.phi import LABEL_SETS

NOTE = Document("n", "Patient: Ana Ruiz came on 3/4/2019 to Dr. Lee. Phone (617) 555-0123.")
SPANISH = {"PATIENT": "NOMBRE_SUJETO_ASISTENCIA", "DOCTOR": "NOMBRE_PERSONAL_SANITARIO", "DATE": "FECHAS"}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small models: `plain` wants no rules, `spanish` and `alone` have MEDDOCAN's labels, `spanish` wants rules."""
    folder = tmp_path_factory.mktemp("models")
    notes = clinic_notes(24)
    options = TrainingOptions(iterations=20, min_documents=1)
    train(notes, FeatureSet("default"), options, name="plain").save(folder / "plain")
    renamed = [d.with_spans(replace(s, category=SPANISH[s.category]) for s in d.spans) for d in notes]
    train(renamed, FeatureSet("default"), options, name="spanish", rules=["en"]).save(folder / "spanish")
    train(renamed[:6], FeatureSet("default"), replace(options, iterations=2), name="alone").save(folder / "alone")
    return folder


def categories(model: str, **options: object) -> set[str]:
    return {s.category for s in build_recognizer(RecognizerOptions(model=model, **options)).find(NOTE)}  # type: ignore[arg-type]


def test_rules_alone() -> None:
    assert {"DATE", "PHONE", "DOCTOR"} <= categories("none")
    assert build_recognizer(RecognizerOptions(model="none")).name == "rules"


def test_a_models_folder_says_whether_rules_work_beside_it(models: Path) -> None:
    plain = str(models / "plain")
    assert "PHONE" not in categories(plain)
    assert "PHONE" in categories(plain, rules=True)
    assert "NUMERO_TELEFONO" in categories(str(models / "spanish"))
    assert "NUMERO_TELEFONO" not in categories(str(models / "spanish"), rules=False)


@pytest.mark.parametrize(
    ("said", "languages"),
    [
        ({"model": "none"}, ("en",)),
        ({"model": "none", "language": "fr"}, ("fr",)),
        ({"language": "es"}, ()),  # its model works alone
        ({"language": "es", "rules": True}, ("es",)),
        ({"model": "es", "rules": True}, ("es",)),
        ({"model": "plain", "language": "de"}, ()),
        ({"model": "plain", "language": "de", "rules": True}, ("de",)),
        ({"model": "spanish"}, ("en",)),
        ({"model": "spanish", "language": "es"}, ("es",)),
        ({"model": "spanish", "language": "es", "rules": False}, ()),
    ],
)
def test_rules_are_of_the_language_that_is_named_where_the_model_has_them_or_they_are_asked_for(
    models: Path, said: dict[str, object], languages: tuple[str, ...]
) -> None:
    own = {"model": str(models / str(said["model"]))} if said.get("model") in ("plain", "spanish") else {}
    recognizer = build_recognizer(RecognizerOptions(**{**said, **own}))  # type: ignore[arg-type]
    assert recognizer._rule_languages == languages  # type: ignore[attr-defined]


def test_rules_speak_the_labels_of_the_model(models: Path) -> None:
    recognizer = build_recognizer(RecognizerOptions(model=str(models / "spanish")))
    assert {s.category for s in recognizer.find(NOTE)} <= LABEL_SETS["meddocan"].labels.keys()
    assert "FECHAS" in recognizer.categories
    assert "DATE" not in recognizer.categories
    assert recognizer.language == "en"
    said = RecognizerOptions(model=str(models / "spanish"), rules=False, language="es")
    assert build_recognizer(said).language == "es"


def test_labels_that_several_languages_speak_are_english(models: Path) -> None:
    spoken = {name: language_of_labels(name) for name in LABEL_SETS}
    assert (spoken["i2b2-2014"], spoken["i2b2-2006"], spoken["meddocan"]) == ("en", "en", "es")
    assert build_recognizer(RecognizerOptions(model=str(models / "plain"), rules=True)).language == "en"
    assert build_recognizer(RecognizerOptions(model=str(models / "alone"))).language == "es"
    assert build_recognizer(RecognizerOptions(model="none")).language == "en"


def test_dials(models: Path) -> None:
    plain = str(models / "plain")
    assert not build_recognizer(RecognizerOptions(model=plain, dial=-1000.0)).find(NOTE)
    assert len(build_recognizer(RecognizerOptions(model=plain, dial=1000.0)).find(NOTE)) > 3
    assert not build_recognizer(RecognizerOptions(model=plain, threshold=1.0)).find(NOTE)
    sure = build_recognizer(RecognizerOptions(model=plain, threshold=0.2)).find(NOTE)
    assert sure
    assert all(s.score is not None and s.score >= 0.2 for s in sure)
    least = min(s.score or 0.0 for s in sure)
    assert build_recognizer(RecognizerOptions(model=plain, threshold=least)).find(NOTE) == sure


def test_a_dial_in_a_models_folder_is_used_whenever_the_model_is(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = shutil.copytree(models / "plain", tmp_path / "own")
    as_trained = build_recognizer(RecognizerOptions(model=str(own)))
    found = as_trained.find(NOTE)
    assert found
    write_dial(own / "dial.json", Dial(-1000.0, as_trained.fingerprint()))
    assert not build_recognizer(RecognizerOptions(model=str(own))).find(NOTE)
    assert build_recognizer(RecognizerOptions(model=str(own), dial="0")).find(NOTE) == found  # what is said wins
    write_dial(own / "dial.json", Dial(-1000.0, "of another model"))
    with pytest.raises(ConfigError, match="another model"):
        build_recognizer(RecognizerOptions(model=str(own))).find(NOTE)
    # a shipped model's folder is its own, whatever the folders here are called
    monkeypatch.chdir(tmp_path)
    (tmp_path / DEFAULT_MODEL).mkdir()
    write_dial(tmp_path / DEFAULT_MODEL / "dial.json", Dial(-1000.0))
    write_dial(tmp_path / "dial.json", Dial(-1000.0))
    assert build_recognizer(RecognizerOptions(rules=False)).find(NOTE)
    assert dial_of_folder(None) is None
    assert dial_of_folder("own") == Dial(-1000.0, "of another model")


@pytest.mark.parametrize("name", ["Orvel Tamsin", "Brillo Quandt", "Tolva Hendrik", "Mirel Ostov"])
def test_that_no_rule_finds_a_name_speaks_not_against_it_where_there_are_no_rules(name: str) -> None:
    """Beside a table of known people the model is one of several, and rules are none of them."""
    note = Document("n", f"talked w/ {name} re: ramp.")
    found = build_recognizer(RecognizerOptions(rules=False), KnownRecognizer()).find(note)
    assert " ".join(note.text[span.start : span.end] for span in found) == name


@pytest.mark.parametrize("more", [{}, {"threshold": 0.2}, {"rules": True}])
def test_a_recognizer_is_dialled_as_if_it_were_built_so(models: Path, more: dict[str, object]) -> None:
    options = RecognizerOptions(model=str(models / "plain"), **more)  # type: ignore[arg-type]
    recognizer = build_recognizer(options)
    before = recognizer.find(NOTE)
    for value in (-1000.0, 0.0, 4.0):
        turned = recognizer.dialled(value)
        asked = build_recognizer(replace(options, dial=str(value)))
        assert turned.find(NOTE) == asked.find(NOTE)
        assert pickle.loads(pickle.dumps(turned)).find(NOTE) == asked.find(NOTE)
        assert turned.fingerprint() == recognizer.fingerprint()
        assert turned.categories == recognizer.categories
    assert recognizer.find(NOTE) == before
    with pytest.raises(ConfigError, match="no dial"):
        build_recognizer(RecognizerOptions(model="none")).dialled(1.0)


def test_what_a_model_is_said_to_think_is_what_it_does(models: Path) -> None:
    """The probability of PHI that `explain` tells is that of the dialled model."""
    plain = build_recognizer(RecognizerOptions(model=str(models / "plain")))
    at = NOTE.text.index("Phone")
    dials = (plain.dialled(-3.0), plain, plain.dialled(3.0), plain.dialled(1000.0))
    told = [one.explain(NOTE, [(at, at + 5)]).words[0].probability for one in dials]
    assert told == sorted(told)
    assert told[0] < told[1] < told[2] < told[3] == pytest.approx(1.0)


def test_another_process_loads_it_again(models: Path) -> None:
    recognizer = build_recognizer(RecognizerOptions(model=str(models / "plain")))
    found = recognizer.find(NOTE)
    sent = pickle.dumps(recognizer)
    assert len(sent) < 1000
    assert pickle.loads(sent).find(NOTE) == found


def test_wishes_that_cannot_be_met(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        build_recognizer(RecognizerOptions(model="none", rules=False))
    with pytest.raises(ConfigError):
        build_recognizer(RecognizerOptions(model="none", dial=1.0))
    with pytest.raises(ConfigError, match="0 to 1"):
        build_recognizer(RecognizerOptions(model="en", threshold=2.0))
    with pytest.raises(ModelError):
        build_recognizer(RecognizerOptions(model=str(tmp_path))).find(NOTE)
    with pytest.raises(ConfigError):
        build_recognizer(RecognizerOptions(model="none", language="xx")).find(NOTE)


@pytest.mark.parametrize(("format", "root"), [(None, "MEDDOCAN"), ("i2b2-2014", "deIdi2b2")])
def test_a_models_own_labels_are_written(models: Path, tmp_path: Path, format: str | None, root: str) -> None:
    """A scorer compares TYPE with the gold labels, so nothing is mapped on the way."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n.txt").write_text(NOTE.text)
    chosen = ["--to", format] if format else []
    command = ["tag", str(tmp_path / "in"), str(tmp_path / "out"), "--model", str(models / "spanish"), "--no-rules"]
    result = CliRunner().invoke(app, [*command, *chosen])
    assert result.exit_code == 0, result.output
    written = (tmp_path / "out" / "n.xml").read_text()
    assert f"<{root}>" in written
    assert 'TYPE="FECHAS"' in written
    assert 'TYPE="DATE"' not in written


def test_labels_of_the_users_own_are_written(tmp_path: Path) -> None:
    own = [d.with_spans(replace(s, category=f"my-{s.category.lower()}") for s in d.spans) for d in clinic_notes(24)]
    options = TrainingOptions(iterations=20, min_documents=1)
    train(own, FeatureSet("default"), options, name="own").save(tmp_path / "own")
    (tmp_path / "n.txt").write_text(NOTE.text)
    model = ["--model", str(tmp_path / "own")]
    result = CliRunner().invoke(app, ["tag", str(tmp_path / "n.txt"), str(tmp_path / "out.xml"), *model])
    assert result.exit_code == 0, result.output
    assert 'TYPE="my-date"' in (tmp_path / "out.xml").read_text()
    result = CliRunner().invoke(
        app, ["scrub", str(tmp_path / "n.txt"), str(tmp_path / "clean.txt"), *model, "--policy", "tag"]
    )
    assert result.exit_code == 0, result.output
    assert "[OTHER]" in (tmp_path / "clean.txt").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"span_probability": 1.0}, "probability of a span"),
        ({"span_probability": 0.4, "doubt": 0.9}, "exclude each other"),
        ({"span_probability": 0.4, "model": "none"}, "without a model"),
    ],
)
def test_probability_of_spans_that_cannot_be_used(options, message):
    with pytest.raises(ConfigError, match=message):
        build_recognizer(RecognizerOptions(**options))


def test_probability_of_spans_reaches_the_model():
    document = Document("n", "Mr. Eduardo Villanueva was seen on 03/04/2021 in Springfield.")
    recognizer = build_recognizer(RecognizerOptions(rules=False, span_probability=0.4))
    spans = recognizer.find(document)
    assert spans
    assert all(span.score is not None and span.score > 0.4 for span in spans)


@pytest.mark.parametrize("known", [None, KnownRecognizer()])
def test_what_a_record_says_of_its_patient_is_known_in_its_free_text(
    known: KnownRecognizer | None, tmp_path: Path
) -> None:
    message = tmp_path / "a.hl7"
    message.write_bytes(
        b"MSH|^~\\&|A|B|C|D|20240101||ADT^A01|1|P|2.3\rPID|1||4711203^^^H||Quorlvex^Tib\r"
        b"OBX|1|TX|NOTE||then with Quorlvex again, and 4711203.\r"
    )
    (document,) = read(message)
    recognizer = build_recognizer(RecognizerOptions(model="none"), known=known)
    found = {
        (document.text[s.start : s.end], s.category)
        for s in recognizer.find(document)
        if s.start < document.record.free
    }
    assert found >= {("Quorlvex", "PATIENT"), ("4711203", "MEDICALRECORD")}
    assert len(recognizer.explain(document).spans) >= 2


def test_any_recognizer_reads_the_free_text_of_a_record_and_its_fields_tell_themselves(tmp_path: Path) -> None:
    """What the fields say is known in the free text, too."""
    message = tmp_path / "a.hl7"
    message.write_bytes(
        b"MSH|^~\\&|A|B|C|D|20240101||ADT^A01|1|P|2.3\rPID|1||4711203^^^H||Quarrymane^Zelda\r"
        b"OBX|1|TX|NOTE||Zebulon called Mrs. Quarrymane on 1/2/2003.\r"
    )
    (document,) = read(message)
    spans, effect = find_with_effect(WordRecognizer(), document)
    found = {(document.text[s.start : s.end], s.category, s.source) for s in spans}
    assert effect == Effect()
    assert found >= {
        ("Zebulon", "PATIENT", "rule:word"), ("1/2/2003", "DATE", "rule:word"), ("Quarrymane", "PATIENT", "known:name"),
        ("4711203", "MEDICALRECORD", "field:PID-3.1"), ("Quarrymane^Zelda", "PATIENT", "field:PID-5.1"),
    }  # fmt: skip
    plain = Document("n", document.text[: document.record.free])
    assert find_with_effect(WordRecognizer(), plain) == (WordRecognizer().find(plain), Effect())


def test_a_dial_knows_its_model_in_whatever_order_that_describes_itself() -> None:
    class Told:
        def __init__(self, **description: object) -> None:
            self.description = description

    one, other = Told(version=1, files={"b": 2, "a": 1}), Told(files={"a": 1, "b": 2}, version=1)
    assert fingerprint(one) == fingerprint(other)  # type: ignore[arg-type]
    assert fingerprint(one) != fingerprint(Told(version=2, files={"b": 2, "a": 1}))  # type: ignore[arg-type]
