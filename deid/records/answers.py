"""What a field, an element or a cell asks stands before its answer, as a label of a note does, to be read alone.

How long an answer is decides nothing: that of a scrubbed record has another length, and both are read alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from deid.records.record import TEXT, Place

_LONGEST: Final = 60
"""Characters of a question."""


def question_of(said: str) -> str:
    """Return a question as it stands before an answer; empty for what is too long to be one."""
    words = " ".join(said.split()).rstrip(" :?")
    return words if len(words) <= _LONGEST else ""


def answer(places: list[Place], begin: int, question: str, own: Callable[[Place], object] = bool) -> None:
    """Put a question before the texts that answer it: ``Primary care physician: Zorblat`` tells who that is.

    Parameters
    ----------
    places : list of Place
        Changed: before an answer comes the question, to be read alone, or the place that says it already.
    begin : int
        The first place of the answers, which are the last places.
    question : str
        What the field or element beside says.
    own : callable, optional
        Tells which of the places are answers.
    """
    words = question_of(question)
    if not words:
        return
    answers = places[begin:]
    del places[begin:]
    joins = False
    for place in answers:
        if place.kind == TEXT and not joins and own(place):
            before = places[-1] if places else place
            if before.kind == TEXT and before.behind == "\n" and before.text == words:
                places[-1] = before.varied(behind=": ")
            else:
                places.append(Place(place.path, place.start, place.start, TEXT, words, behind=": "))
        places.append(place)
        joins = place.joins
