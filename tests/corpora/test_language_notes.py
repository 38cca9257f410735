"""Notes to train a language's model on: their spans, and the forms that their slots take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from synthetic.languages import documents, load
from synthetic.meddocan import labelled

from deid.document import Document, Span, check_spans
from deid.phi import CATEGORIES, LABEL_SETS

ROOT = Path(__file__).resolve().parents[2]

LISTS = {
    "clinical/eponyms": "trömner",
    "names/given": "anna",
    "names/last": "huber",
    "places/cities": "linz",
    "common/words": "verlaufskontrolle",
}
FOREIGN = {"names/given_recent": "yuki", "names/last_origins": "okafor"}
POOLS = """
[pools]
given = ["Rosa"]
last = ["Gruber"]
particle = ["von"]
hospital = ["Klinikum %C"]
hospital_bare = ["KH @@"]
city = ["Wels"]
[forms]
months = ["Jänner", "F", "M", "A", "M", "J", "J", "A", "S", "O", "N", "D"]
weekdays = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
date_week = ["KW {w}"]
date_quarter = ["Q{q}/{yyyy}"]
date_history = ["{yyyy}"]
date_short = ["{D} {d}.{m}."]
[plain]
sign = ["%E-Zeichen", "Morbus %E"]
"""


def notes(tmp_path: Path, whole: str, count: int = 40, half: int | None = None) -> list[Document]:
    """Return notes of one text; those where other parts were drawn are left out."""
    folder = tmp_path / "corpora" / "synthetic-xx"
    folder.mkdir(parents=True)
    (folder / "pools.toml").write_text(POOLS, encoding="utf-8")
    (folder / "notes.txt").write_text(
        "== said\n-\n-\n== clinical\n-\n-\n== head\n-\n== head\n-\n== foot\n-\n== foot\n-\n", encoding="utf-8"
    )
    (folder / "more.txt").write_text(f"== whole\n{whole}\n", encoding="utf-8")
    for name, item in {**{f"{name}_xx": item for name, item in LISTS.items()}, **FOREIGN}.items():
        place = tmp_path / "dictionaries" / name
        place.mkdir(parents=True)
        (place / "items.txt").write_text(f"{item}\n", encoding="utf-8")
    return [note for note in documents("xx", count, tmp_path, half=half) if not note.text.startswith("-")]


def fillings(note: Document) -> list[tuple[str, str]]:
    return [(span.category, note.text[span.start : span.end]) for span in note.spans]


def test_a_relative_can_have_the_family_name_of_the_patient(tmp_path: Path) -> None:
    for note in notes(tmp_path, "{{patient.last}}/{{kin.full}}"):
        (_, patient), (category, kin) = fillings(note)
        assert category == "PATIENT"
        assert kin.endswith(f" {patient}")


def test_some_names_are_of_elsewhere(tmp_path: Path) -> None:
    """A model of notes in which all names are listed learns that others are none."""
    found = [fillings(note)[0][1].split() for note in notes(tmp_path, "{{patient.full}}", 2000)]
    assert 0.02 < sum(name[0] == "Yuki" for name in found) / len(found) < 0.12
    assert 0.06 < sum(name[-1] == "Okafor" for name in found) / len(found) < 0.2
    assert sum(name[0] in ("Rosa", "Anna") for name in found) > len(found) / 2


def test_halves_have_no_part_in_common(tmp_path: Path) -> None:
    texts = [{note.text for note in notes(tmp_path / str(half), "a\n== whole\nb", half=half)} for half in (0, 1)]
    assert texts == [{"a\n"}, {"b\n"}]


def test_letters_that_sign_are_the_doctors(tmp_path: Path) -> None:
    for note in notes(tmp_path, "{{doctor.full}}/{{doctor.code}} {{doctor.initials}}"):
        (_, name), (category, code), (_, initials) = fillings(note)
        assert category == "DOCTOR"
        assert 2 <= len(code) <= 4
        assert code.isalpha()
        assert code[0].lower() in name.lower()
        assert len(initials) == 5


def test_numbers_and_lists_that_identify_nobody_have_no_span(tmp_path: Path) -> None:
    for note in notes(tmp_path, "RR {{number:90-99}}, {{sign}}; {{age:3-5}} J."):
        ((category, age),) = fillings(note)
        assert category == "AGE"
        assert 3 <= int(age) <= 5
        assert 90 <= int(note.text[3:5]) <= 99
        assert "Trömner" in note.text


def test_weeks_quarters_and_years_of_a_life_are_dates(tmp_path: Path) -> None:
    found = notes(tmp_path, "{{date.week}} {{date.quarter}} {{date.history}} {{date.short}}")
    years = {int(fillings(note)[2][1]) for note in found}
    assert {category for note in found for category, _ in fillings(note)} == {"DATE"}
    assert all(fillings(note)[0][1].startswith("KW ") for note in found)
    assert all(fillings(note)[1][1][:2] in ("Q1", "Q2", "Q3", "Q4") for note in found)
    assert all(fillings(note)[3][1][:2] in ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So") for note in found)
    assert min(years) < 2000


def test_a_slot_names_the_pool_that_it_is_of(tmp_path: Path) -> None:
    for note in notes(tmp_path, "{{hospital.bare}} {{hospital}}"):
        (_, bare), (_, full) = fillings(note)
        assert bare.startswith("KH ")
        assert bare[3:].isupper()
        assert full in ("Klinikum Wels", "Klinikum Linz")


def test_a_name_can_be_written_in_capitals_or_without(tmp_path: Path) -> None:
    for note in notes(tmp_path, "{{patient.full!}}/{{doctor.full~}}"):
        (_, patient), (_, doctor) = fillings(note)
        assert patient.isupper()
        assert doctor.islower()


@pytest.mark.parametrize("code", ["de", "es", "fr", "nl"])
def test_all_parts_of_a_language_are_filled(code: str) -> None:
    language = load(code, ROOT)
    assert {"head", "said", "clinical", "foot"} <= set(language.parts)
    for note in documents(code, 300, ROOT):
        check_spans(len(note.text), note.spans)
        assert not set("{}%") & {c for _, filling in fillings(note) for c in filling}
        assert {category for category, _ in fillings(note)} <= set(CATEGORIES)
        assert all(filling == filling.strip() for _, filling in fillings(note))


def test_spanish_people_have_two_family_names_or_the_first_of_them() -> None:
    names = [name for note in documents("es", 200, ROOT) for category, name in fillings(note) if category == "DOCTOR"]
    words = {len(name.split()) for name in names if name.istitle()}
    assert {1, 2, 3} <= words


def test_meddocan_marks_sexes_relatives_and_the_units_of_ages() -> None:
    text = "Niña de 7 años, la trae su madre, Rosa Gil. Sexo: M"
    spans = (Span(8, 9, "AGE"), Span(34, 42, "PATIENT"))
    assert fillings(labelled(Document("a", text, spans))) == [
        ("SEXO_SUJETO_ASISTENCIA", "Niña"),
        ("EDAD_SUJETO_ASISTENCIA", "7 años"),
        ("FAMILIARES_SUJETO_ASISTENCIA", "madre"),
        ("NOMBRE_SUJETO_ASISTENCIA", "Rosa Gil"),
        ("SEXO_SUJETO_ASISTENCIA", "M"),
    ]


def test_spanish_notes_have_the_labels_of_meddocan() -> None:
    found = {category for note in documents("es", 300, ROOT) for category, _ in fillings(labelled(note))}
    assert found <= set(LABEL_SETS["meddocan"].labels)


def test_dutch_names_are_written_as_in_the_netherlands() -> None:
    names = [
        text
        for note in documents("nl", 150, ROOT)
        for category, text in fillings(note)
        if category in ("PATIENT", "DOCTOR")
    ]
    for form in (
        r"[A-Z]\w+ (?:van|de|ter) [A-Z]\w+",
        r"[A-Z]\.[A-Z]\. \w.+",
        r"[A-Z]\w+, [A-Z]\w+ (?:van|de|ter)",
        r"[A-Z](?:d|vd|v)[A-Z]",
    ):
        assert any(re.fullmatch(form, name) for name in names), form
    assert not any("'T " in name for name in names if not name.isupper())
