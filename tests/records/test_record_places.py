"""Places that are one: a name of several elements, a paragraph of several pieces."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from deid.base.errors import OutputError
from deid.document import Edit, Span
from deid.records.record import TEXT, Change, Place, Record, assemble


def written(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a place with its changes, without escapes."""
    for start, end, new in reversed(changes):
        raw = raw[:start] + new + raw[end:]
    return raw


SOURCE = "<Ann><Mary><Smith> saw <Lee><Wong> today"
"""Family name last; what the recognizers see begins with it."""


def record() -> Record:
    def place(word: str, kind: str, behind: str = "\n", *, joins: bool = False) -> Place:
        at = SOURCE.index(word)
        return Place(word, at, at + len(word), kind, word, written, behind=behind, joins=joins)

    places = [
        place("Lee", TEXT, "", joins=True),
        place("Wong", TEXT, " ", joins=True),
        place("today", TEXT),
        place("Smith", "PATIENT", "^", joins=True),
        place("Ann", "PATIENT", "^", joins=True),
        place("Mary", "PATIENT"),
    ]
    return assemble(SOURCE.encode(), SOURCE, "utf-8", places, known=(), patient=None, date=None)


def scrubbed(start: int, end: int, new: str) -> str:
    text = record().text
    edit = Edit(start, end, start, start + len(new), "PATIENT")
    return record().replaced(text[:start] + new + text[end:], [edit], keep_blocked=True).data.decode()


def test_what_is_one_is_one_span() -> None:
    assert record().text == "LeeWong today\nSmith^Ann^Mary"
    assert [(s.start, s.end) for s in record().spans()] == [(14, 28)]
    assert [(s.start, s.end) for s in record().inside([Span(3, 20, "X"), Span(15, 16, "Y")])] == [
        (3, 13),
        (14, 19),
        (15, 16),
    ]


@pytest.mark.parametrize(
    ("new", "out"),
    [
        ("Doe^Jane^Eve", "<Jane><Eve><Doe> saw <Lee><Wong> today"),
        ("[NAME]", "<><><[NAME]> saw <Lee><Wong> today"),
        ("A^B", "<><><A^B> saw <Lee><Wong> today"),
        ("A^B^C^D", "<><><A^B^C^D> saw <Lee><Wong> today"),
    ],
)
def test_a_replacement_is_shared_out_where_it_can_be(new: str, out: str) -> None:
    assert scrubbed(14, 28, new) == out


def test_pieces_of_a_paragraph_are_replaced_together() -> None:
    assert scrubbed(1, 5, "x") == SOURCE.replace("Lee", "Lx").replace("Wong", "ng")
    assert scrubbed(3, 13, "x y") == SOURCE.replace("Wong", "x").replace("today", "y")
    with pytest.raises(OutputError):
        scrubbed(9, 15, "x")
