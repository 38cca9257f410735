"""Whether a text holds another one: what "nothing of the original is left" means."""

from __future__ import annotations

__all__ = ["holds"]


def holds(text: str, original: str) -> bool:
    """Tell whether ``text`` is the original or holds it as a whole word (or sequence of words), whatever the case.

    Examples
    --------
    >>> holds("Smith's", "SMITH"), holds("11/2/2011", "1/2/2011")
    (True, False)
    """
    text, original = text.casefold(), original.strip().casefold()
    if text.strip() == original:
        return bool(original)
    if not any(c.isalnum() for c in original):
        return False
    start = text.find(original)
    while start >= 0:
        end = start + len(original)
        if not (start and text[start - 1].isalnum() and original[0].isalnum()) and not (
            end < len(text) and text[end].isalnum() and original[-1].isalnum()
        ):
            return True
        start = text.find(original, start + 1)
    return False
