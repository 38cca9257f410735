"""Text with annotations written into it: taking them out, and putting them in."""

from __future__ import annotations

from collections.abc import Callable

from deid.document import Document, Span
from deid.io.span_checks import nested


class Markup:
    """Collects a text piece by piece, and the spans that open and close in it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._open: list[int] = []
        self._spans: list[tuple[int, int, str, str, tuple[tuple[str, str], ...]]] = []

    def add(self, text: str) -> None:
        """Append a piece of text."""
        self._pieces.append(text)
        self._length += len(text)

    def open(self, label: str, identifier: str = "", attributes: tuple[tuple[str, str], ...] = ()) -> None:
        """Open an annotation here."""
        self._open.append(len(self._spans))
        self._spans.append((self._length, -1, label, identifier, attributes))

    def close(self) -> None:
        """Close the annotation that was opened last."""
        place = self._open.pop()
        start, _, *rest = self._spans[place]
        self._spans[place] = (start, self._length, *rest)  # type: ignore[assignment]

    def innermost(self) -> str | None:
        """Return the label of the annotation that is to be closed next, None where none is open."""
        return self._spans[self._open[-1]][2] if self._open else None

    def result(self) -> tuple[str, list[Span]]:
        """Return the text and its spans in the order in which they were opened."""
        spans = [Span(start, end, label, name, attributes=more) for start, end, label, name, more in self._spans]
        return "".join(self._pieces), spans


def compose(
    document: Document, escape: Callable[[str], str], opening: Callable[[Span], str], closing: Callable[[Span], str]
) -> str:
    """Return the text with its annotations written into it.

    Parameters
    ----------
    document : Document
        Text and spans.
    escape : callable
        Makes markup of a piece of text.
    opening, closing : callable
        Make the mark where a span begins, and where it ends.

    Raises
    ------
    OutputError
        When two annotations overlap without one lying inside the other.
    """
    pieces: list[str] = []
    done = 0
    waiting: list[Span] = []

    def go_to(place: int) -> None:
        nonlocal done
        pieces.append(escape(document.text[done:place]))
        done = place

    for span in nested(document):
        while waiting and waiting[-1].end <= span.start:
            go_to(waiting[-1].end)
            pieces.append(closing(waiting.pop()))
        go_to(span.start)
        pieces.append(opening(span))
        waiting.append(span)
    while waiting:
        go_to(waiting[-1].end)
        pieces.append(closing(waiting.pop()))
    go_to(len(document.text))
    return "".join(pieces)
