"""Whether a text holds another one: what "nothing of the original is left" means."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["has_word", "held", "holds"]

_WORD = re.compile(r"[^\W_]+")
_FEW = 64
"""Originals up to which a text is searched for each of them; for more it is cut into words once."""
_HEAD = 3
"""First words of an original by which it is looked up."""


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
        if _alone(text, start, original):
            return True
        start = text.find(original, start + 1)
    return False


def _alone(text: str, start: int, original: str) -> bool:
    """Tell whether what stands at a place is no part of a longer word."""
    end = start + len(original)
    return not (start and text[start - 1].isalnum() and original[0].isalnum()) and not (
        end < len(text) and text[end].isalnum() and original[-1].isalnum()
    )


def held(text: str, originals: Collection[str]) -> list[str]:
    """Return those of many originals that a text holds (see `holds`), in time linear in the text.

    Parameters
    ----------
    text : str
        Case-folded.
    originals : collection of str
        Case-folded, without blanks at their ends.

    Examples
    --------
    >>> held("seen by dr. smith of smithfield", ["smith", "field", "of smithfield"])
    ['smith', 'of smithfield']
    """
    if len(originals) <= _FEW:
        return [original for original in originals if original in text and holds(text, original)]
    by_head: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    found = set()
    for original in originals:
        first = _WORD.search(original)
        if first is not None:
            by_head.setdefault(tuple(_WORD.findall(original)[:_HEAD]), []).append((first.start(), original))
        elif text.strip() == original:
            found.add(original)
    # a whole word in an original is a whole word of the text
    words = _WORD.findall(text)
    met = [
        (at, head)
        for size in {len(head) for head in by_head}
        for at, head in enumerate(zip(*(words[skipped:] for skipped in range(size)), strict=False))
        if head in by_head
    ]
    places = [match.start() for match in _WORD.finditer(text)] if met else []
    for at, head in met:
        for before, original in by_head[head]:
            start = places[at] - before
            if start >= 0 and text.startswith(original, start) and _alone(text, start, original):
                found.add(original)
    return [original for original in originals if original in found]


def has_word(text: str, word: str) -> bool:
    """Tell whether ``word`` stands in ``text`` with no letter, digit or underscore at either end; case counts.

    Examples
    --------
    >>> has_word("mr. smith", "smith"), has_word("smithson", "smith")
    (True, False)
    """
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (start and _worldly(text[start - 1])) and not (end < len(text) and _worldly(text[end])):
            return True
        start = text.find(word, start + 1)
    return False


def _worldly(char: str) -> bool:
    return char.isalnum() or char == "_"
