"""Lines as clinicians write them: what identifies is found whole, and clinical language stays.

``shapes.txt`` was written from knowledge of the genres, half of it before the rules, and half scored once, at the end.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from synthetic.marked import unmark

from deid import Document, Pipeline, Span, build_recognizer, load_policy
from deid.base.keys import Key
from deid.detection.alone import stands_alone
from deid.detection.numbers import plain_scene
from deid.reading.lexicon import load_lexicon
from deid.rules.scene import Scene
from tests.rules.marked import tokens

LINES = [
    unmark(line)
    for line in Path(__file__).with_name("shapes.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@cache
def pipeline(policy: str) -> Pipeline:
    return Pipeline(build_recognizer(), load_policy(policy), Key(b"k" * 32))


def scene(text: str) -> Scene:
    return plain_scene(text, load_lexicon("en"))


def span(text: str, part: str, category: str, score: float | None = None) -> Span:
    start = text.index(part)
    return Span(start, start + len(part), category, source="model:en", score=score)


def test_the_lines_are_read_as_marked() -> None:
    recognizer = build_recognizer()
    missed = wrong = gold = exact = 0
    for line in LINES:
        found = recognizer.find(Document("n", line.text))
        marked, hidden = tokens(line, line.spans), tokens(line, found)
        gold, missed, wrong = gold + len(marked), missed + len(marked - hidden), wrong + len(hidden - marked)
        exact += len({(s.start, s.end, s.category) for s in found} & {(s.start, s.end, s.category) for s in line.spans})
    assert gold > 100
    assert missed <= 2
    assert wrong <= 12
    assert exact >= 80


@pytest.mark.parametrize(
    ("text", "part", "category", "stands"),
    [
        ("We may consider our Foot Clinic.", "our Foot Clinic", "HOSPITAL", False),
        ("seen at Quillhaven last week", "Quillhaven", "HOSPITAL", True),
        ("taught at All Souls Academy", "All Souls Academy", "ORGANIZATION", True),
        ("this is a muscle strain", "muscle strain", "PROFESSION", False),
        ("she is a school librarian", "school librarian", "PROFESSION", True),
        ("at rest, 7/10 with activity", "7/10", "DATE", False),
        ("seen 7/22 with activity", "7/22", "DATE", True),
        ("Continue: Aspirin", "Aspirin", "PATIENT", False),
        ("Auscultation: Thorvaldsen", "Thorvaldsen", "PATIENT", True),
        ("read by CT", "CT", "DOCTOR", True),
        ("at 12 Colon Street", "12 Colon Street", "STREET", True),
    ],
)
def test_what_a_model_alone_found_needs_a_word_that_shows_it(text: str, part: str, category: str, stands: bool) -> None:
    assert stands_alone(scene(text), span(text, part, category)) is stands


@pytest.mark.parametrize("policy", ["limited-data-set"])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("She goes to the infusion center at Norwich, then rests.", "Norwich"),
        ("Bring the text message from Dover to the desk.", "Dover"),
        ("April, the triage nurse, called in April.", "April,"),
        ("Clinic | 1704 Rue Duvivier | Lowell, IA 80346", "Duvivier"),
        ("He is a San Diego Padres fan and golfs.", "Padres"),
    ],
)
def test_a_place_or_month_that_names_an_institution_or_a_person_is_not_kept(
    policy: str, text: str, secret: str
) -> None:
    assert secret not in pipeline(policy)(Document("n", text)).document.text


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("PPH of 900 ml, second degree tear, repaired that evening by Sunniva\nS: feels well", [("Sunniva", "DOCTOR")]),
        ("Patient seen in her cell at length, present was Ofc. Stubblefield\nO: calm", [("Stubblefield", "PATIENT")]),
    ],
)
def test_a_name_does_not_go_on_in_the_letter_of_a_section(text: str, spans: list[tuple[str, str]]) -> None:
    found = build_recognizer().find(Document("n", text))
    assert [(text[s.start : s.end], s.category) for s in found] == spans


def test_a_label_in_capitals_between_labels_is_nobody() -> None:
    text = "SEX: F        LANG: ENG     REL: NONE     DIET: NPO\n"
    assert not [s for s in build_recognizer().find(Document("n", text)) if s.category in ("PATIENT", "DOCTOR")]
