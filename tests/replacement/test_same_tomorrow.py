"""Surrogates made yesterday are made again tomorrow: a site goes on scrubbing the notes of its patients for years.

The lines of ``same_tomorrow.tsv`` are language (and version of the map of numbers, when it is not the newest),
category, original and surrogate; those between blank lines are of one note. Who changes one on purpose tells users in
the changelog, and writes the file anew: ``python -m tests.replacement.test_same_tomorrow``.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.scope import Scope
from deid.replacement.surrogates import surrogate_operator

FILE = Path(__file__).with_suffix("").with_name("same_tomorrow.tsv")
NOTES = [
    [line.split("\t") for line in note.splitlines()] for note in FILE.read_text(encoding="utf-8").strip().split("\n\n")
]


def surrogates(note: list[list[str]]) -> list[str]:
    text, spans = "", []
    language, _, version = note[0][0].partition("/")
    for _, category, original, *_ in note:
        spans.append(Span(len(text), len(text) + len(original), category))
        text += f"{original}, "
    scope = Scope(Key(b"a key of the tests", int(version or 2)), "d", "1", datetime.date(2019, 6, 1), language=language)
    return list(surrogate_operator()(Document("d", text, tuple(spans)), spans, scope))


@pytest.mark.parametrize("number", range(len(NOTES)))
def test_surrogates_are_those_of_yesterday(number: int) -> None:
    note = NOTES[number]
    assert [(own[2], new) for own, new in zip(note, surrogates(note), strict=True)] == [(o[2], o[3]) for o in note]


if __name__ == "__main__":
    made = ["\n".join("\t".join([*o[:3], new]) for o, new in zip(n, surrogates(n), strict=True)) for n in NOTES]
    FILE.write_text("\n\n".join(made) + "\n", encoding="utf-8")
