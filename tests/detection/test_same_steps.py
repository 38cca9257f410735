"""What single steps of finding tell of a span they tell tomorrow (`pinned`).

Whole notes show few of the questions that a step answers, and other steps hide most of its answers. Here words of
notes in five languages are taken for names, places, dates and so on as no model would; contexts in which names and
places stand are put together at random; and spans overlap as they like.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from zlib import crc32

from synthetic.marked import notes

from deid.detection.alone import names_nobody, stands_alone
from deid.detection.columns import columns
from deid.detection.cut import in_capitals, within
from deid.detection.edges import behind_title, called_apart, date_within, dates_of, in_one_row, joined, pieces
from deid.detection.find_again import find_again
from deid.detection.legends import explained
from deid.detection.nouns import is_noun
from deid.detection.numbers import Numbers
from deid.detection.overlaps import (
    beside_names,
    decide,
    first_of_all,
    known_over_dates,
    known_over_guesses,
    may_be_names,
    told_apart,
)
from deid.detection.whose import settle_categories, whose, words_of_name
from deid.document import Span
from deid.rules.rules import RuleRecognizer
from tests.pinned import Pinned, left_unsaid

HERE = Path(__file__).parent
FOLDERS = ("contexts", "fresh", "genres", "kinds", "letters", "ordinary", "unread", "wards")
SOURCES = ["model:en"] * 4 + [
    "rule:name.full",
    "rule:name.title",
    "rule:name.label_field",
    "known:name",
    "consistency:x",
]
TAKEN = [
    *("PATIENT", "DOCTOR") * 3, *("CITY", "HOSPITAL", "ORGANIZATION", "DATE") * 2, "STATE", "STREET", "PROFESSION",
    "AGE", "PHONE", "IDNUM", "MEDICALRECORD", "ZIP", "LOCATION-OTHER", "DEPARTMENT", "USERNAME", "ROOM", "URL", "OTHER",
]  # fmt: skip
SCORES = [None, 0.0, 0.2, 0.3, 0.45, 0.5, 0.6, 0.85, 0.97]


@cache
def rules(language: str) -> RuleRecognizer:
    return RuleRecognizer.load(language)


def spans_of(text: str, starts: list[int], ends: list[int], draw: random.Random, count: int) -> Iterator[Span]:
    """Yield stretches of one to four words, of which some begin or end beside a word's edge."""
    for _ in range(count):
        first = draw.randrange(len(starts))
        last = min(first + draw.choice([0, 0, 0, 1, 1, 2, 3]), len(starts) - 1)
        start = max(0, starts[first] - (draw.random() < 0.1))
        end = min(len(text), ends[last] + draw.choice([0] * 7 + [1, 2]))
        yield Span(start, end, draw.choice(TAKEN), source=draw.choice(SOURCES), score=draw.choice(SCORES))


def judged(text: str, language: str, number: int) -> object:
    """Return what single steps say of sixty spans of a note, and of some of them together."""
    own, draw = rules(language), random.Random(number)
    scene, vocabulary = own.scene(text), own.lexicon.vocabulary
    numbers, found = Numbers(scene), []
    drawn = list(spans_of(text, list(scene.starts), list(scene.ends), draw, 60)) if len(scene) else []
    for span in drawn:
        words = scene.inside(span.start, span.end)
        found.append([
            stands_alone(scene, span), names_nobody(scene, span), is_noun(scene, span), within(scene, span),
            in_capitals(scene, span), pieces(scene, span), called_apart(text, span), behind_title(scene, span),
            in_one_row(scene, span), joined(text, [span], vocabulary), numbers.read(span),
            [date_within(scene, span, words), *dates_of(scene, span)] if span.category == "DATE" and words else [],
        ])  # fmt: skip
    apart = decide(drawn)
    together = [
        joined(text, apart, vocabulary), whose(scene, apart, lambda _: False), columns(scene, apart),
        explained(scene, apart), settle_categories(drawn, partial(words_of_name, scene)), find_again(scene, apart, 0.5),
    ]  # fmt: skip
    return [found, together]


BEFORE = [
    "her niece", "spouse", "the atty", "by RDH", "Dr", "Mrs.", "Handed to", "Report given to", "transferred to",
    "transferred to the", "old CT at", "works for", "works at the", "a baker at", "a baker at the", "a nurse at",
    "with", "reg", "This is", "The Quay Surgery", "Given to Wendy", "Wendy", "12", "Labs to", "", "seen and",
]  # fmt: skip
BEHIND = [
    "", "drove", "(dtr)", "(cards)", "(red)", "rheum in May", "dictating", "c/o pain", ", 79, drove", "MD", ", MD",
    "LCSW", ", OR", "OR", ", Orme", "Pharmacy", "Pharmacy, TX", "Hospital", "St", "notes", ". Then", "on Friday",
    "; then",
]  # fmt: skip
GAPS = [*[" "] * 6, ", ", ",", "\n", ",\n", ": ", " (", " & ", " and ", ". ", "/", " @"]
NAMES = ["Quendrith", "Ann Quendrith", "Quorl-Venn", "Ann", "Pontefract", "Boston", "4 Quendrith", "Old Quorl Grill"]


def beside(number: int) -> object:
    """Return the categories of the names of forty contexts, and what they were taken for."""
    draw, text = random.Random(number), ""
    spans: list[Span] = []

    def add(part: str, category: str) -> None:
        nonlocal text
        source = draw.choice(["model:en", "model:en", "rule:name.pair", "rule:name.label"])
        spans.append(Span(len(text), len(text) + len(part), category, source=source))
        text += part

    for _ in range(40):
        before = draw.choice(BEFORE)
        lead, _, last = before.rpartition(" ")
        if last in ("Wendy", "Surgery"):
            text += lead.removesuffix("The Quay") + " "
            add("The Quay Surgery" if last == "Surgery" else last, "HOSPITAL" if last == "Surgery" else "DOCTOR")
        else:
            text += before
        text += draw.choice(GAPS)
        add(draw.choice(NAMES), draw.choice(TAKEN[:14]))
        text += draw.choice(["", *[" "] * 5, "\n"]) + draw.choice(BEHIND) + draw.choice(["\n", "\n", ".\n", "\n\n"])
    found = whose(rules("en").scene(text), spans, lambda source: source == "rule:name.label")
    return [[span.category, span.also] for span in found]


def overlapped(number: int) -> object:
    """Return what becomes of spans that overlap."""
    draw, text = random.Random(number), "Jan Gray, 3 Jan 2019 Mason Hill 4-5 May Rose 12 Lee, April"
    starts = [at for at in range(len(text)) if text[at] != " " and (at == 0 or text[at - 1] == " ")]
    ends = [at for at in range(1, len(text) + 1) if text[at - 1] != " " and text[at : at + 1] in ("", " ")]
    spans = list(spans_of(text, starts, ends, draw, draw.randint(2, 9)))
    apart = decide(spans)
    return [
        apart, list(first_of_all(spans[:3], spans)), told_apart(apart, spans), may_be_names(apart, spans[:2]),
        beside_names(text, apart), list(known_over_dates(text, spans)), list(known_over_guesses(spans)),
    ]  # fmt: skip


QUESTIONS = {f"words beside {number}": partial(beside, number) for number in range(200)}
QUESTIONS |= {f"overlaps {number}": partial(overlapped, number) for number in range(600)}
for file in (file for folder in FOLDERS for file in sorted((HERE / folder).glob("??.txt"))):
    for note in notes(file):
        name = f"{file.parent.name} {file.stem} {note.id}"
        QUESTIONS[name] = partial(judged, note.text, file.stem, crc32(name.encode()))
QUESTIONS |= dict(left_unsaid("deid.detection")) | dict(left_unsaid("deid.rules"))
PINNED = Pinned(__file__, QUESTIONS, parts=120)
test_each_step_tells_what_it_told = PINNED.test(__name__)
