"""Whether a text holds another one: what "nothing of the original is left" means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from deid.base.compiled import native_for
from deid.base.errors import OffsetError
from deid.document import Document, Span, check_spans

native = native_for("containment")


_PIECE = 100_000
"""Characters of a text that are folded at a time."""


class Finder(Protocol):
    """Tells where some strings stand in a text."""

    def places(self, text: str) -> list[tuple[str, int]]:
        """Return each string with each place where it stands, in order of place, then of the strings."""


class _PlainFinder:
    def __init__(self, strings: Collection[str]) -> None:
        self._strings = tuple(strings)

    def places(self, text: str) -> list[tuple[str, int]]:
        present = [string for string in self._strings if string in text]
        return [
            (string, at)
            for at in range(len(text) if present else 0)
            for string in present
            if text.startswith(string, at)
        ]


def texts_of(document: Document, spans: Sequence[Span]) -> list[str]:
    """Return what stands at spans of a document.

    Raises
    ------
    OffsetError
        When a span is empty or lies outside the document.
    """
    text = document.text
    size = len(text)
    found = []
    for span in spans:
        start: int = span.start
        end: int = span.end
        if not 0 <= start < end <= size:
            try:
                check_spans(size, spans)
            except OffsetError as error:
                raise error.at(document.name) from None
        found.append(text[start:end])
    return found


def finder(strings: Collection[str]) -> Finder:
    """Return what looks for strings, of which none is empty, in time linear in the text."""
    made: Finder = _PlainFinder(strings) if native is None else native.Finder(strings)
    return made


def holds(text: str, original: str) -> bool:
    """Tell whether ``text`` is the original or holds it as a whole word (or sequence of words), whatever the case.

    Examples
    --------
    >>> holds("Smith's", "SMITH"), holds("11/2/2011", "1/2/2011")
    (True, False)
    """
    text, original = text.casefold(), original.strip().casefold()
    if not original or original not in text:
        return False
    if text.strip() == original:
        return True
    if not any(c.isalnum() for c in original):
        return False
    start = text.find(original)
    while start >= 0:
        if _is_alone(text, start, original):
            return True
        start = text.find(original, start + 1)
    return False


def _is_alone(text: str, start: int, original: str) -> bool:
    """Tell whether what stands at a place is no part of a longer word."""
    end = start + len(original)
    return not (start and text[start - 1].isalnum() and original[0].isalnum()) and not (
        end < len(text) and text[end].isalnum() and original[-1].isalnum()
    )


def held(text: str, originals: Collection[str]) -> set[str]:
    """Return those of many originals that a text holds (see `holds`).

    Parameters
    ----------
    text : str
        Folded piece by piece, since folding a text at once takes twelve bytes a character.
    originals : collection of str
        Case-folded, none empty, without blanks at their ends.

    Examples
    --------
    >>> sorted(held("Seen by Dr. Smith of Smithfield", ["smith", "field", "of smithfield"]))
    ['of smithfield', 'smith']
    """
    look, longest = finder(originals), max(map(len, originals), default=0)
    found = set()
    for first in range(0, len(text), _PIECE):
        low, high = max(0, first - 1), first + _PIECE + longest
        piece = text[low:high].casefold()
        whole = piece.strip() if low == 0 and high >= len(text) else None
        for original, at in look.places(piece):
            # what begins or ends at an edge lies whole in the piece before or behind
            inside = (at or not low) and (at + len(original) < len(piece) or high >= len(text))
            alone = inside and _is_alone(piece, at, original) and any(c.isalnum() for c in original)
            if alone or original == whole:
                found.add(original)
    return found


def is_whole(text: str, start: int, word: str) -> bool:
    """Tell whether ``word``, which stands at ``start``, has no letter, digit or underscore at either end."""
    end = start + len(word)
    return not (start and _is_worldly(text[start - 1])) and not (end < len(text) and _is_worldly(text[end]))


def _is_worldly(char: str) -> bool:
    return char.isalnum() or char == "_"
