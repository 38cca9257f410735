"""The pipeline on documents in memory: what comes out, what fails, and what never comes out."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import WordRecognizer
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.base.keys import Key
from deid.document import Document, Edit, Failure, Span
from deid.io import scan
from deid.pipeline import Pipeline, Scrubbed, Settings
from deid.pipeline.patients import Patients
from deid.replacement.policy import load_policy

KEY = Key(b"k" * 32)
TEXT = "Zebulon Quartermain of Ulan Bator was seen on 1/2/2003. Quartermain slept."


def pipeline(policy: str = "redact", **settings: object) -> Pipeline:
    recognizer = None if settings.get("gold") else WordRecognizer()
    return Pipeline(recognizer, load_policy(policy), KEY, Settings(**settings))  # type: ignore[arg-type]


def test_text_id_and_fields_are_replaced() -> None:
    document = Document("Quartermain/note", TEXT, (Span(0, 7, "DATE"),), {"mrn": 4711, "author": "Zebulon", "x": [1]})
    scrubbed = pipeline()(document)
    assert scrubbed.document.text == "[NAME] of [LOCATION] was seen on [DATE]. [NAME] slept."
    assert re.fullmatch(r"folder-[0-9a-f]{16}/doc-[0-9a-f]{16}", scrubbed.document.id)
    assert re.fullmatch(r"value-[0-9a-f]{16}", scrubbed.document.metadata["mrn"])
    assert scrubbed.document.metadata["x"] is None
    assert [s.source for s in scrubbed.document.spans] == ["rule:word"] * 4
    assert [TEXT[s.start : s.end] for s in scrubbed.spans] == [
        "Zebulon Quartermain",
        "Ulan Bator",
        "1/2/2003",
        "Quartermain",
    ]
    assert "Quartermain" not in repr(scrubbed)
    assert scrubbed.originals == ()  # held for a vault alone
    kept = pipeline(originals=True)(document).originals
    assert kept == ("Zebulon Quartermain", "Ulan Bator", "1/2/2003", "Quartermain")


def test_gold_replaces_the_annotations_alone() -> None:
    gold = (Span(23, 33, "CITY", id="Ulan", attributes=(("comment", "Ulan"),)), Span(28, 33, "OTHER"))
    scrubbed = pipeline("tag", gold=True)(Document("d", TEXT, gold))
    assert scrubbed.document.text == TEXT.replace("Ulan Bator", "[CITY]")
    assert scrubbed.document.spans == (Span(23, 29, "CITY"),)
    assert scrubbed.document.spans[0].source == "gold"


@given(st.text("ab\n", max_size=30), st.lists(st.integers(0, 30), max_size=10, unique=True).map(sorted))
def test_changes_are_shown_in_the_whole_lines_that_hold_them(text: str, borders: list[int]) -> None:
    pairs = zip(borders[::2], borders[1::2], strict=False)
    edits = tuple(Edit(start, end, start, end, "DATE") for start, end in pairs if end <= len(text))
    made = dataclasses.replace(pipeline()(Document("n", "a")), edits=edits)
    shown = list(made.changed_lines(text))
    assert [edit for *_, own in shown for edit in own] == list(edits)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(shown))
    for start, end, own in shown:
        assert text[:start].endswith("\n") or start == 0
        assert "\n" not in text[start : own[0].start]
        assert text[:end].endswith("\n") or end == len(text)
        assert "\n" not in text[own[-1].end : end - 1]
        lines = {n for edit in own for n in range(text[: edit.start].count("\n"), text[: edit.end - 1].count("\n") + 1)}
        assert lines == set(range(text[:start].count("\n"), text[: max(end - 1, 0)].count("\n") + 1))


def test_what_is_left_elsewhere_is_counted() -> None:
    """The same word can stand outside the spans, innocently or missed."""
    text = "Mr. Foley has a Foley catheter and a foley bag. Mr. Ng and NG tube."
    gold = (Span(4, 9, "PATIENT"), Span(52, 54, "PATIENT"))
    assert pipeline(gold=True)(Document("d", text, gold)).residual == 1
    assert pipeline(gold=True)(Document("d", "Mr. Foleyson met Foley", (Span(17, 22, "PATIENT"),))).residual == 0


def test_names_and_fields_can_be_kept() -> None:
    document = Document("n1", TEXT, metadata={"ward": "B", "tags": ["a"], "mrn": "1"})
    kept = pipeline(keep_id=True, keep_fields=frozenset({"ward", "tags"}))(document).document
    assert kept.id == "n1"
    assert kept.metadata["ward"] == "B"
    assert kept.metadata["tags"] == ["a"]
    assert kept.metadata["mrn"] != "1"


def test_the_reference_day_comes_from_the_document_then_from_the_user() -> None:
    text = "Born on 3/4/1915."
    by_user = pipeline("safe-harbor", as_of=datetime.date(2003, 1, 1), date_field="date")
    assert by_user(Document("d", text)).document.text == "Born on 1915."
    of_its_own = Document("d", text, metadata={"date": "2010-05-06T10:00"})
    assert by_user(of_its_own).document.text == "Born on <=1920."
    for day in (datetime.date(2010, 5, 6), datetime.datetime(2010, 5, 6, 10)):  # as a cell of a database is
        assert by_user(Document("d", text, metadata={"date": day})).document.text == "Born on <=1920."
    for nothing in (None, ""):
        assert by_user(Document("d", text, metadata={"date": nothing})).document.text == "Born on 1915."
    with pytest.raises(ConfigError) as caught:
        by_user(Document("d", text, metadata={"date": "Zebulon"}))
    assert "Zebulon" not in str(caught.value)


def test_the_patient_decides_where_codes_are_shared() -> None:
    by_field = pipeline("redact", patients=Patients(field_name="patient"))
    assert by_field(Document("d", TEXT, metadata={"patient": "p1"})).patient_known
    assert not by_field(Document("d", TEXT)).patient_known
    one = by_field(Document("d", TEXT, metadata={"patient": "p1"})).document.metadata["patient"]
    assert one == by_field(Document("e", TEXT, metadata={"patient": "p1"})).document.metadata["patient"]
    assert one.startswith("patient-")


def test_a_pipeline_needs_something_that_finds() -> None:
    with pytest.raises(ConfigError, match="no recognizer"):
        Pipeline(None, load_policy("redact"), KEY)
    only_names = WordRecognizer(categories=frozenset({"PATIENT"}))
    with pytest.raises(ConfigError, match="nothing can find AGE"):
        Pipeline(only_names, load_policy("safe-harbor"), KEY)
    notes = Pipeline(only_names, load_policy("redact"), KEY).notes
    assert any("nothing was looked for" in note and "DATE" in note for note in notes)


def stream() -> Iterator[Document | Failure]:
    for n in range(70):
        if n == 3:
            yield Failure("broken.txt", InputError("broken"), 4)
        elif n == 5:
            yield Document("d5", "FAIL Zebulon", index=6)
        elif n == 40:
            yield Document("d40", "BUG Zebulon", index=41)
        else:
            yield Document(f"d{n}", f"{n} Zebulon", index=n + 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stream_comes_out_in_order_with_failures_in_place(jobs: int) -> None:
    results = list(pipeline().pipe(stream(), jobs))
    assert len(results) == 70
    for n, result in enumerate(results):
        if n in (3, 5, 40):
            assert isinstance(result, Failure)
            assert "Zebulon" not in f"{result} {result.error} {result.error!r} {result.error.__context__!r}"
        else:
            assert isinstance(result, Scrubbed)
            assert result.document.text == f"{n} [NAME]"
            assert result.document.index == n + 1
    assert str(results[40].error).startswith("***40 (#41): internal error ValueError at ")  # type: ignore[union-attr]


def test_a_pipeline_travels_without_its_operators() -> None:
    there = pickle.loads(pickle.dumps(pipeline("safe-harbor")))
    assert there(Document("d", TEXT)) == pipeline("safe-harbor")(Document("d", TEXT))


def test_a_record_says_its_day_unless_the_user_names_a_field(tmp_path: Path) -> None:
    """A birth before 1950 shows an age over 89 in 2040, not on the day of the message."""
    path = tmp_path / "m.hl7"
    path.write_text(
        "MSH|^~\\&|A|B|C|D|20300312||ORU^R01|1|P|2.5\rPID|1||7^^^H^MR||Long^Rob\rNTE|1||Born on 3/4/1942.\r"
    )
    (message,) = scan(path).documents()
    assert isinstance(message, Document)
    later = datetime.date(2040, 1, 1)
    for said, year in (({}, "1942"), ({"as_of": later}, "1942"), ({"as_of": later, "date_field": "x"}, "<=1950")):
        assert f"Born on {year}." in pipeline("safe-harbor", **said)(message).document.text


def test_the_edits_of_a_record_say_in_which_field_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "m.hl7"
    path.write_text(
        "MSH|^~\\&|A|B|C|D|20300312||ORU^R01|1|P|2.5\rPID|1||7^^^H^MR||Long^Rob\r"
        "NTE|1||Nothing.\rNTE|2||Zebulon came on 3/4/1942.\r"
    )
    (message,) = scan(path).documents()
    assert isinstance(message, Document)
    scrubbed = pipeline("redact")(message)
    where = zip(scrubbed.places, [message.text[e.start : e.end] for e in scrubbed.edits], strict=True)
    assert {(("NTE[2]-3", 0), "Zebulon"), (("PID-3.1", 0), "7"), (("PID-5.1", 0), "Long^Rob")} <= set(where)
    assert pipeline("redact")(Document("d", TEXT)).places == ()
    with pytest.raises(ConfigError, match="records carry no annotations"):
        pipeline("redact", gold=True)(message)


def test_a_bundle_of_several_patients_needs_no_table_of_people(tmp_path: Path) -> None:
    def note(who: str) -> list[dict[str, object]]:
        said = {"resourceType": "DiagnosticReport", "subject": {"reference": f"Patient/{who}"}, "conclusion": "Zebulon"}
        return [{"resource": {"resourceType": "Patient", "id": who}}, {"resource": said}]

    path = tmp_path / "b.json"
    path.write_text(json.dumps({"resourceType": "Bundle", "type": "batch", "entry": [*note("p1"), *note("p2")]}))
    (bundle,) = scan(path).documents()
    assert isinstance(bundle, Document)
    scrubbed = pipeline("redact")(bundle)
    assert "Zebulon" not in scrubbed.document.text
    assert len(set(scrubbed.person_scopes)) == 2
    # unless the user says whose it is
    said = pipeline("redact", patients=Patients(field_name="id", table={bundle.id: "p9"}))(bundle)
    assert (said.person_scopes, said.person_scope) == ((), "patient:p9")


@pytest.mark.parametrize(
    ("taken", "rest", "left"),
    [("Foley", "a foley bag", 1), ("Fole", "a fole bag", 0), ("Foley ", "a foley, bag", 1), ("FOLEY", "folley", 0)],
)
def test_what_is_left_elsewhere_counts_from_five_letters_in_any_case(taken: str, rest: str, left: int) -> None:
    text = f"Mr. {taken}has {rest}."
    assert pipeline(gold=True)(Document("d", text, (Span(4, 4 + len(taken), "PATIENT"),))).residual == left


def test_what_was_replaced_is_told_with_the_person_of_each_place() -> None:
    made = pipeline(originals=True)(Document("d", TEXT))
    assert [told[1:] for told in made.replacements()] == [
        ("PATIENT", "Zebulon Quartermain", "[NAME]"), ("CITY", "Ulan Bator", "[LOCATION]"),
        ("DATE", "1/2/2003", "[DATE]"), ("PATIENT", "Quartermain", "[NAME]"),
    ]  # fmt: skip
    assert {told[0] for told in made.replacements()} == {made.person_scope}
    several = dataclasses.replace(made, person_scopes=("a", "b", "c", "d"))
    assert [told[0] for told in several.replacements()] == ["a", "b", "c", "d"]
    assert list(dataclasses.replace(made, originals=()).replacements()) == []


def test_a_note_without_text_or_annotations_comes_out_as_it_is() -> None:
    for made in (pipeline()(Document("d", "")), pipeline(gold=True)(Document("d", "seen", ()))):
        assert (made.edits, made.spans, made.residual, made.places, made.telling) == ((), (), 0, (), ())
    assert pipeline(gold=True)(Document("d", "seen", ())).document.text == "seen"
    with pytest.raises(ConfigError, match="no annotations"):
        pipeline(gold=True)("seen")
    assert pipeline()("seen").document.text == "seen"


def test_what_blocks_all_it_does_not_know_leaves_nothing_elsewhere() -> None:
    whole = Pipeline(None, None, KEY, Settings(method="concept-match"))
    made = whole(Document("d", "Quartermain had a fever. Quartermain slept."))
    assert "Quartermain" not in made.document.text
    assert made.residual == 0
