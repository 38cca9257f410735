"""Which language a text is in: told where it can be, never guessed of a few words or of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid import io
from deid.base.errors import ConfigError
from deid.document import Document
from deid.reading import languages as told
from deid.reading.languages import LEAST_WORDS, language_of, other_language, read_language

NOTES = {
    "en": "The patient was admitted with shortness of breath and has been treated with diuretics since. She feels "
    "much better today and will be discharged tomorrow to the care of her daughter, who lives near by.",
    "es": "La paciente ingresó por disnea y ha sido tratada con diuréticos desde entonces. Hoy se encuentra mucho "
    "mejor y mañana recibirá el alta para ir a casa de su hija, que vive cerca.",
    "de": "Die Patientin wurde wegen Atemnot aufgenommen und seitdem mit Diuretika behandelt. Heute geht es ihr viel "
    "besser, und sie wird morgen in die Obhut ihrer Tochter entlassen, die in der Nähe wohnt.",
    "it": "La paziente è stata ricoverata per dispnea ed è stata trattata con diuretici. Oggi sta molto meglio e "
    "domani sarà dimessa a casa della figlia, che abita nelle vicinanze dell'ospedale.",
}


@pytest.mark.parametrize("written", NOTES)
@pytest.mark.parametrize("asked", ["en", "es"])
def test_a_note_of_another_language_is_told(written: str, asked: str) -> None:
    assert other_language(NOTES[written], asked) == ("" if written == asked else written)


@pytest.mark.parametrize("written", ["en", "es"])
@pytest.mark.parametrize("change", [str, str.upper])
def test_each_document_has_its_own(written: str, change: type[str]) -> None:
    assert language_of(change(NOTES[written]), "xx") == written


def test_short_notes_and_values_are_no_guess() -> None:
    short = " ".join(NOTES["de"].split()[: LEAST_WORDS - 1])
    values = "Na 138 K 4.1 Cl 102 CO2 26 BUN 14 Cr 0.9 Glu 101 WBC 7.2 Hgb 13.1 Hct 39 Plt 210 INR 1.0\n" * 5
    for text in ("", short, values):
        assert other_language(text, "en") == ""
    assert language_of(short, "es") == "es"


def test_a_telegraphic_note_is_of_the_language_of_its_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    note = (
        "Knee pain x3 weeks, worse after walking. Denies fever, chills, nausea, vomiting, chest pain. Exam: mild "
        "swelling, full range of motion, no warmth. Plan: ibuprofen, physical therapy, call sooner if worse."
    )
    foreign = "Dolor de rodilla tres semanas, peor tras caminar. Niega fiebre, náuseas, vómitos. " * 3
    assert other_language(foreign, "en") == "es"
    monkeypatch.setattr(told, "_among", lambda those: pytest.fail("the classifier was asked"))
    assert other_language(note, "en") == ""


def test_an_english_note_is_told_though_lists_of_others_have_its_words() -> None:
    note = (
        "She lives at home with her mother and has been well this year. The pain in her back and legs is better with "
        "the daily dose. Her skin is soft, and the head, eyes and heart are normal. The family will follow the plan, "
        "and she will continue to work three days a week."
    )
    assert [other_language(note, language) for language in ("en", "de", "es", "fr", "nl")] == ["", *["en"] * 4]


def test_what_a_user_asks_for() -> None:
    assert read_language(None) == (None, False)
    assert read_language("es") == ("es", False)
    assert read_language("auto") == ("en", True)
    assert read_language("auto:es") == ("es", True)
    for wrong in ("tlh", "auto:tlh", "autos", ""):
        with pytest.raises(ConfigError, match="no rules for the language"):
            read_language(wrong)


def test_real_notes(shared_data: Path) -> None:
    """Pieces of fifty words of real-looking notes: 99.5 % are told, and none is taken for what it is not."""
    for language, source, format in (
        ("en", shared_data / "english" / "standoff.jsonl", None),
        ("es", shared_data / "meddocan" / "dev" / "xml", "meddocan"),
    ):
        notes = [item.text.split() for item in io.read(source, format) if isinstance(item, Document)][:60]
        pieces = [" ".join(note[at : at + 50]) for note in notes for at in range(0, len(note) - 49, 50)]
        assert len(pieces) > 300
        assert sum(language_of(piece, "xx") == language for piece in pieces) >= 0.995 * len(pieces)
        assert not any(other_language(piece, language) for piece in pieces)


@pytest.mark.slow
def test_the_classifier_that_is_kept_says_what_its_own_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    own = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, kept = told._classifier(), told._classifier()
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")  # nothing can be kept
    unkept = told._classifier()
    for text in (*NOTES.values(), NOTES["de"].upper(), "Дата рождения", "1 2 3", "", "\udc80 x"):
        wanted = own.rank(text)
        assert all(other.rank(text) == wanted for other in (made, kept, unkept))
    own.set_languages(["en", "es"])
    kept.set_languages(["en", "es"])
    assert kept.rank(NOTES["it"]) == own.rank(NOTES["it"])
    assert kept.labels == own.labels


@pytest.mark.parametrize(
    ("kin", "read", "text"),
    [
        ("pt", "es", "O paciente foi internado por dor no peito que começou há dois dias. Ao exame "
         "físico a pressão arterial era de "
         "140/90 e o coração rítmico sem sopros. Os exames de sangue não mostraram alterações significativas."),
        ("gl", "es", "O paciente ingresou por dor no peito que comezou hai dous días. Na "
         "exploración a presión arterial era de "
         "140/90 e o corazón rítmico sen sopros. A súa muller refire que deixou de fumar."),
        ("da", "de", "Patienten blev indlagt med brystsmerter, som begyndte for to dage siden. Ved "
         "undersøgelsen var blodtrykket "
         "140/90, og hjertet var regelmæssigt uden mislyde. Hans kone fortæller, at han er holdt op med at ryge."),
    ],
)  # fmt: skip
def test_kin_of_a_language_is_told_from_it(kin: str, read: str, text: str) -> None:
    assert other_language(text, read) == kin
