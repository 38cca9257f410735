"""Clinical values come out as they went in; identifiers that stand among them do not.

``clinical_values.txt`` holds flowsheets, laboratory values, scores, doses, ranges, vectors, ratios, strengths and
settings; ``identifiers_among_numbers.txt`` marks identifiers with ``[[ ]]``. All of them are invented.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid import Pipeline, build_recognizer, load_policy
from deid.base.keys import Key
from deid.detection.numbers import Numbers, plain_scene
from deid.document import Document, Span
from deid.reading.lexicon import load_lexicon
from deid.rules.scene import Scene

HERE = Path(__file__).parent
VALUES = HERE.joinpath("clinical_values.txt").read_text("utf-8").splitlines()
MARKED = HERE.joinpath("identifiers_among_numbers.txt").read_text("utf-8").splitlines()
POLICIES = ("surrogate", "safe-harbor", "limited-data-set", "redact")
MARK = re.compile(r"\[\[(.*?)\]\]")


@cache
def pipeline(policy: str) -> Pipeline:
    return Pipeline(build_recognizer(), load_policy(policy), Key(b"k" * 32))


def scene(text: str) -> Scene:
    return plain_scene(text, load_lexicon("en"))


def unmark(line: str) -> tuple[str, list[tuple[int, int]]]:
    places, taken = [], 0
    for mark in MARK.finditer(line):
        start = mark.start() - taken
        places.append((start, start + len(mark[1])))
        taken += 4
    return MARK.sub(r"\1", line), places


def test_there_are_as_many_lines_as_are_promised() -> None:
    assert len(set(VALUES)) >= 300
    assert len(set(MARKED)) >= 100


@pytest.mark.parametrize("policy", POLICIES)
def test_clinical_values_come_out_unchanged(policy: str) -> None:
    changed = [line for line in VALUES if pipeline(policy)(Document("n", line)).document.text != line]
    assert not changed


@pytest.mark.parametrize("policy", POLICIES)
def test_values_of_a_flowsheet_come_out_unchanged(policy: str) -> None:
    """Several lines of one note, as in a flowsheet."""
    for first in range(0, len(VALUES), 40):
        text = "\n".join(VALUES[first : first + 40]) + "\n"
        assert pipeline(policy)(Document("n", text)).document.text == text


@pytest.mark.parametrize("gap", ["\t", "    "])
def test_clinical_values_in_columns_come_out_unchanged(gap: str) -> None:
    columns = [line.replace(" ", gap) for line in VALUES]
    assert [pipeline("surrogate")(Document("n", line)).document.text for line in columns] == columns


@settings(max_examples=200)
@given(
    groups=st.lists(st.integers(0, 9999).map(str) | st.sampled_from(["02", "533", "2019", "(617)"]), min_size=2),
    gap=st.text("\t ", min_size=1, max_size=6),
    before=st.sampled_from(["", "MRN ", "Call ", "Sodium ", "Seen "]),
    category=st.sampled_from(["PHONE", "DATE", "MEDICALRECORD", "SSN", "ACCOUNT"]),
)
def test_a_number_reads_the_same_however_wide_its_gaps_are(
    groups: list[str], gap: str, before: str, category: str
) -> None:
    reads = []
    for text in (before + " ".join(groups), before + gap.join(groups)):
        span = Span(len(before), len(text), category, source="model:en")
        reads.append([(text[p.start : p.end].split(), p.category) for p in Numbers(scene(text)).read(span)])
    assert reads[0] == reads[1]


def test_identifiers_among_numbers_are_found_and_the_numbers_are_not() -> None:
    for line in MARKED:
        text, places = unmark(line)
        found = pipeline("redact")(Document("n", text)).spans
        for index, character in enumerate(text):
            if character.isdigit():
                inside = any(start <= index < end for start, end in places)
                assert inside == any(s.start <= index < s.end for s in found), text


@pytest.mark.parametrize(
    "category", ["PHONE", "DATE", "MEDICALRECORD", "IDNUM", "IPADDR", "ZIP", "AGE", "ACCOUNT", "DOCTOR"]
)
def test_it_does_not_matter_who_proposed_it(category: str) -> None:
    for text in ("Sodium 138 140 137 139", "Weights: 81 82 80 79 78 kg", "GCS 15 15 14 13", "BP 120 130 125 118"):
        start = re.search("[0-9]", text).start()  # type: ignore[union-attr]
        for source in ("model:en", "rule:x.y", "consistency:rule:x.y", "transformer"):
            span = Span(start, len(text.removesuffix(" kg")), category, source=source)
            if not (category == "AGE" and source == "rule:x.y"):  # rules ask for a word of age
                assert Numbers(scene(text)).read(span) == ()


def test_what_is_read_of_what_was_proposed() -> None:
    sources = {"model": ("model:xx", 0.9), "rule": ("rule:x.y", 0.9), "guess": ("rule:x.y", 0.7)}
    for line in (Path(__file__).parent / "readings.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        language, category, who, marked, expected = line.split("\t")
        before, part, behind = re.split(r"\[\[|\]\]", marked.replace("\\t", "\t").replace("\\n", "\n"))
        source, score = sources[who]
        proposed = Span(len(before), len(before) + len(part), category, source=source, score=score)
        text = before + part + behind
        found = Numbers(plain_scene(text, load_lexicon(language))).read(proposed)
        told = "; ".join(f"{text[own.start : own.end]} {own.category}" for own in found) or "-"
        assert told == (f"{part} {category}" if expected == "=" else expected), line


@pytest.mark.parametrize(
    ("text", "category", "reads"),
    [
        ("617-555-0143", "PHONE", True),
        ("617 555 0143", "PHONE", True),
        ("215 340 1200 88", "PHONE", False),
        ("44", "PHONE", False),
        ("3/14/2019", "DATE", True),
        ("13/14/2019", "DATE", False),
        ("20/20", "DATE", False),
        ("7/28-30", "DATE", True),
        ("28/7 - 31", "DATE", True),
        ("17/32-30", "DATE", False),
        ("2/30-31", "DATE", False),
        ("7/28-32", "DATE", False),
        ("12", "DATE", False),
        ("2019", "DATE", True),
        ("45", "AGE", True),
        ("450", "AGE", False),
        ("02115", "ZIP", True),
        ("021", "ZIP", False),
        ("4711203", "MEDICALRECORD", True),
        ("41", "MEDICALRECORD", False),
        ("40-02-81-17", "MEDICALRECORD", True),
        ("20-25-30-40", "MEDICALRECORD", False),
        ("S21-4410", "IDNUM", True),
        ("120", "DOCTOR", True),
    ],
)
def test_a_number_alone_needs_a_reading_of_its_category(text: str, category: str, reads: bool) -> None:
    span = Span(0, len(text), category, source="model:en")
    assert bool(Numbers(scene(text)).read(span)) is reads


@pytest.mark.parametrize(
    ("text", "part", "category", "reads"),
    [
        ("NASS: 47 39047534 02", "47 39047534 02", "ID_ASEGURAMIENTO", True),
        ("Médico NºCol: 28 28 20943", "28 28 20943", "ID_TITULACION_PERSONAL_SANITARIO", True),
        ("Tel.: 913 368 000 Email", "913 368 000", "NUMERO_TELEFONO", True),
        ("llame al 987 23 73 92", "987 23 73 92", "NUMERO_TELEFONO", True),
        ("Fecha de ingreso: 14/14/2014", "14/14/2014", "FECHAS", True),
        ("C/ Escuelas, 4-6 37500 Salamanca", "37500", "TERRITORIO", True),
        ("Sodio 138 140 137 139", "138 140 137 139", "NUMERO_TELEFONO", False),
        ("Glucemias: 98 120 66 72 mg/dl", "98 120 66 72", "NUMERO_TELEFONO", False),
        ("TA 14/14/2014", "14/14/2014", "FECHAS", False),
        ("Pesos 81 82 80 kg", "81 82 80", "ID_SUJETO_ASISTENCIA", False),
        ("dosis 10 20 30", "10 20 30", "my-dose", True),
    ],
)
def test_readings_speak_the_language_of_the_notes(text: str, part: str, category: str, reads: bool) -> None:
    start = text.index(part)
    span = Span(start, start + len(part), category, source="model:es")
    assert bool(Numbers(plain_scene(text, load_lexicon("es"))).read(span)) is reads


@pytest.mark.parametrize(
    ("text", "part", "reads"),
    [
        ("03/11 7h : Mme Fontaine", "03/11", True),
        ("revient le 4 ou le 5.", "4", True),
        ("arrêt jusqu'au 9 inclus", "9", True),
        ("en consultation le 23.09 avec", "23.09", True),
        ("passe de 12 au 40 mg", "40", False),
        ("monte au 20 mg", "20", False),
        ("prend 4 comprimés", "4", False),
    ],
)
def test_days_of_french_notes_are_dates(text: str, part: str, reads: bool) -> None:
    start = text.index(part)
    span = Span(start, start + len(part), "DATE", source="model:fr")
    assert bool(Numbers(plain_scene(text, load_lexicon("fr"))).read(span)) is reads


@pytest.mark.parametrize(
    ("text", "part", "reads"),
    [
        ("seen May 4, 5", "5", True),  # a day of the date beside it
        ("seen 3/4/2019 to 12", "12", True),
        ("seen May 4, 20/20 vision", "20/20", False),  # two numbers that no calendar has
        ("has 5 toes", "5", False),
        ("seen Mon.3/14 at noon", "3/14", True),  # a full stop ends a word, or begins the decimals of a value
        ("ratio 4.3/14 then", "3/14", False),
        ("came 4.3/14/2019 then", "3/14/2019", False),
    ],
)
def test_a_number_beside_a_date_is_a_day_of_it_when_it_is_one_number(text: str, part: str, reads: bool) -> None:
    start = text.index(part)
    assert bool(Numbers(scene(text)).read(Span(start, start + len(part), "DATE", source="model:en"))) is reads


@pytest.mark.parametrize(
    ("text", "part", "reads"),
    [
        ("seen (93) sitting", "93", True),
        ("120/80 (93) sitting", "93", False),  # the mean of two pressures
        ("Vlahos 42. Room: 114A", "42", True),
        ("Vlahos    2. Room: 114A", "2", False),  # the number of a field in a form
        ("he weighs 4.5 now", "4.5", False),
    ],
)
def test_ages_are_no_means_and_no_numbers_of_fields(text: str, part: str, reads: bool) -> None:
    start = text.index(part)
    assert bool(Numbers(scene(text)).read(Span(start, start + len(part), "AGE", source="model:en"))) is reads


def test_no_value_is_an_ordinal() -> None:
    text = "Discharge planned for the 21st."
    span = Span(text.index("21st"), text.index("."), "DATE", source="rule:x.y", score=0.62)
    assert Numbers(scene(text)).read(span) == (span,)


def test_hours_of_a_flowsheet_are_no_years() -> None:
    text = "0800 1200 1600 2000"
    assert Numbers(scene(text)).read(Span(15, 19, "DATE", source="rule:date.year_alone")) == ()
    assert Numbers(scene("seen in 2000")).read(Span(8, 12, "DATE", source="rule:date.year_alone"))


def test_what_is_an_identifier_inside_a_row_is_cut_out_of_it() -> None:
    text = "Sodium 138 140 617-555-0143 139"
    (part,) = Numbers(scene(text)).read(Span(7, len(text), "PHONE", source="model:en"))
    assert text[part.start : part.end] == "617-555-0143"


def test_a_date_without_a_word_or_figure_of_one_may_be_anything() -> None:
    text = "seen by Torvald Quist"
    (part,) = Numbers(scene(text)).read(Span(8, 21, "DATE", source="model:en"))
    assert part.category == "OTHER"
    (month,) = Numbers(scene("seen in March")).read(Span(8, 13, "DATE", source="model:en"))
    assert month.category == "DATE"


@pytest.mark.parametrize("value", ["F/66", "M 9", "66/F", "B 12", "T12"])
def test_a_letter_and_a_short_number_that_a_model_calls_a_date_are_nothing(value: str) -> None:
    text = f"Pt: MBEKI-ROTH, ILSE   {value}   SSN withheld"
    assert Numbers(scene(text)).read(Span(23, 23 + len(value), "DATE", source="model:en")) == ()


@settings(max_examples=100)
@given(
    measure=st.sampled_from(["Sodium", "Weights:", "BP", "GCS", "Peak flow", "Glucose", "Plt", "Scores:", "Rate"]),
    values=st.lists(st.integers(1, 999), min_size=3, max_size=9),
    gap=st.sampled_from([" ", ", ", " / ", " -> "]),
)
def test_rows_of_values_behind_a_measure_come_out_unchanged(measure: str, values: list[int], gap: str) -> None:
    text = f"{measure} {gap.join(map(str, values))}"
    assert pipeline("surrogate")(Document("n", text)).document.text == text
