"""What was written yesterday is written again tomorrow: a site goes on scrubbing the notes of its patients for years.

The lines of ``same_tomorrow.tsv`` are a setting (and the version of the map of numbers, when it is not the newest),
category, original and what is written; those between blank lines are of one note, a ``.`` for a category is text
between. Who changes a line on purpose tells users in the changelog, and writes the file anew:
``python -m tests.replacement.test_same_tomorrow``; its difference shows what users will see.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

import pytest

from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.operators import OPERATORS
from deid.replacement.scope import Scope

FILE = Path(__file__).with_name("same_tomorrow.tsv")
NOTES = [
    [line.split("\t") for line in note.split("\n")]
    for note in FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")
]
PARTS = 80
SETTINGS: dict[str, tuple[str, Mapping[str, object], bool]] = {
    "en": ("surrogate", {}, True),
    "es": ("surrogate", {}, True),
    "de": ("surrogate", {}, True),
    "fr": ("surrogate", {}, True),
    "nl": ("surrogate", {}, True),
    "en unknown": ("surrogate", {}, False),
    "es unknown": ("surrogate", {}, False),
    "en shift": ("date-shift", {"cap_age": 89}, True),
    "es shift": ("date-shift", {"cap_age": 89}, True),
    "en years": ("year-only", {}, True),
    "es years": ("year-only", {}, True),
    "en years unknown": ("year-only", {}, False),
    "en ages": ("age90", {}, True),
    "es ages": ("age90", {}, True),
    "en zip": ("zip3", {}, True),
    "es zip": ("zip3", {}, True),
    "en tags": ("deid-tag", {}, True),
    "es tags": ("deid-tag", {}, True),
    "en tags unknown": ("deid-tag", {}, False),
}
"""Language and operator, and whether the patient and the day of the note are known."""


def written(note: list[list[str]]) -> list[str]:
    """Return what an operator writes for the originals of a note."""
    text, spans = "", []
    setting, _, version = note[0][0].partition("/")
    operator, parameters, known = SETTINGS[setting]
    for _, category, original, *_ in note:
        if category != ".":
            spans.append(Span(len(text), len(text) + len(original), category))
        text += f"{original}, "
    key = Key(b"a key of the tests", int(version or 2))
    day = datetime.date(2019, 6, 1) if known else None
    scope = Scope(key, "d", "1" if known else None, day, language=setting[:2])
    made = iter(OPERATORS[operator](**parameters)(Document("d", text, tuple(spans)), spans, scope))
    return ["" if category == "." else next(made) for _, category, *_ in note]


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_written_is_that_of_yesterday(part: int) -> None:
    for note in NOTES[part::PARTS]:
        assert [(own[2], new) for own, new in zip(note, written(note), strict=True)] == [(o[2], o[3]) for o in note]


if __name__ == "__main__":
    made = ["\n".join("\t".join([*o[:3], new]) for o, new in zip(n, written(n), strict=True)) for n in NOTES]
    FILE.write_text("\n\n".join(made) + "\n", encoding="utf-8")
