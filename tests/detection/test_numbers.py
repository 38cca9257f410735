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
from deid.detection.numbers import read
from deid.document import Document, Span
from deid.reading.lexicon import load_lexicon
from deid.reading.view import view_of
from deid.rules.fields import Scan
from deid.rules.scene import Scene, scene_of

HERE = Path(__file__).parent
VALUES = HERE.joinpath("clinical_values.txt").read_text("utf-8").splitlines()
MARKED = HERE.joinpath("identifiers_among_numbers.txt").read_text("utf-8").splitlines()
POLICIES = ("surrogate", "safe-harbor", "limited-data-set", "redact")
MARK = re.compile(r"\[\[(.*?)\]\]")


@cache
def pipeline(policy: str) -> Pipeline:
    return Pipeline(build_recognizer(), load_policy(policy), Key(b"k" * 32))


def plain_scene(text: str) -> Scene:
    return scene_of(view_of(text), load_lexicon("en"), Scan([], [], {}, {}))


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


def test_identifiers_among_numbers_are_found_and_the_numbers_are_not() -> None:
    for line in MARKED:
        text, places = unmark(line)
        found = pipeline("redact")(Document("n", text)).spans
        for index, character in enumerate(text):
            if character.isdigit():
                inside = any(start <= index < end for start, end in places)
                assert inside == any(s.start <= index < s.end for s in found), text


@pytest.mark.parametrize("category", ["PHONE", "DATE", "MEDICALRECORD", "IDNUM", "ZIP", "AGE", "ACCOUNT", "DOCTOR"])
def test_it_does_not_matter_who_proposed_it(category: str) -> None:
    for text in ("Sodium 138 140 137 139", "Weights: 81 82 80 79 78 kg", "GCS 15 15 14 13", "BP 120 130 125 118"):
        start = re.search("[0-9]", text).start()  # type: ignore[union-attr]
        for source in ("model:en", "rule:x.y", "consistency:rule:x.y", "transformer"):
            span = Span(start, len(text.removesuffix(" kg")), category, source=source)
            if not (category == "AGE" and source == "rule:x.y"):  # rules ask for a word of age
                assert read(plain_scene(text), span) == ()


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
        ("12", "DATE", False),
        ("2019", "DATE", True),
        ("45", "AGE", True),
        ("450", "AGE", False),
        ("02115", "ZIP", True),
        ("021", "ZIP", False),
        ("4711203", "MEDICALRECORD", True),
        ("41", "MEDICALRECORD", False),
        ("S21-4410", "IDNUM", True),
        ("120", "DOCTOR", True),
    ],
)
def test_a_number_alone_needs_a_reading_of_its_category(text: str, category: str, reads: bool) -> None:
    span = Span(0, len(text), category, source="model:en")
    assert bool(read(plain_scene(text), span)) is reads


def test_what_is_an_identifier_inside_a_row_is_cut_out_of_it() -> None:
    text = "Sodium 138 140 617-555-0143 139"
    (part,) = read(plain_scene(text), Span(7, len(text), "PHONE", source="model:en"))
    assert text[part.start : part.end] == "617-555-0143"


def test_a_date_without_a_word_or_figure_of_one_may_be_anything() -> None:
    text = "seen by Torvald Quist"
    (part,) = read(plain_scene(text), Span(8, 21, "DATE", source="model:en"))
    assert part.category == "OTHER"
    (month,) = read(plain_scene("seen in March"), Span(8, 13, "DATE", source="model:en"))
    assert month.category == "DATE"


@settings(max_examples=100)
@given(
    measure=st.sampled_from(["Sodium", "Weights:", "BP", "GCS", "Peak flow", "Glucose", "Plt", "Scores:", "Rate"]),
    values=st.lists(st.integers(1, 999), min_size=3, max_size=9),
    gap=st.sampled_from([" ", ", ", " / ", " -> "]),
)
def test_rows_of_values_behind_a_measure_come_out_unchanged(measure: str, values: list[int], gap: str) -> None:
    text = f"{measure} {gap.join(map(str, values))}"
    assert pipeline("surrogate")(Document("n", text)).document.text == text
