"""Make the indefinite article before a replaced word agree: *an engineer* becomes *a nurse*.

An operator sees only its spans, and the article stands before them. So this is a step of its own, between the
operators and `deid.document.apply_edits`: it widens a replacement to the article where that has to change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import regex

from deid.document import Document, Span
from deid.replacement.pools import expression, read_words

_ARTICLE = regex.compile(r"(?<![\p{L}\p{M}\p{N}'-])(an?)(\s+)$", regex.IGNORECASE)
_LAST = ("a", "n", "A", "N")
_WORD = regex.compile(r"[\p{L}\p{N}]+")
_AN_NUMBER = regex.compile(r"(?:8\d*|11|18)$")
_LONGEST_GAP = 20  # characters before a span in which the article is looked for


def article_for(text: str) -> str:
    """Return ``a`` or ``an``, as it stands before ``text``.

    Examples
    --------
    >>> [article_for(t) for t in ("nurse", "engineer", "urologist", "hour", "MRI", "[AGE]", "88-year-old")]
    ['a', 'an', 'a', 'an', 'an', 'an', 'an']
    """
    match = _WORD.search(text)
    if not match:
        return "a"
    word = match.group()
    if word[0].isdigit():
        return "an" if _AN_NUMBER.match(word) else "a"
    if word.isupper() and len(word) <= 4 and text[: match.start()] != "[":
        return "an" if word[0] in read_words("writing.toml")["articles"]["vowel_names"] else "a"
    if expression("silent_h").match(word):
        return "an"
    return "an" if word[0].lower() in "aeiou" and not expression("spoken_with_y").match(word) else "a"


def agree(document: Document, replacements: Iterable[tuple[Span, str]]) -> list[tuple[Span, str]]:
    """Widen replacements to an indefinite article that stands before them, where it has to change.

    Parameters
    ----------
    document : Document
    replacements : iterable of (Span, str)
        Spans that do not overlap, and what to write instead of each; as for `deid.document.apply_edits`.

    Returns
    -------
    list of (Span, str)
        The same, sorted by position; a replacement whose article changes begins at the article and says both.
    """
    agreed: list[tuple[Span, str]] = []
    free = 0
    text = document.text
    for span, new in sorted(replacements, key=lambda pair: pair[0].start):
        before = text[max(free, span.start - _LONGEST_GAP) : span.start]
        match = _ARTICLE.search(before) if before.rstrip().endswith(_LAST) else None
        if match and new and _WORD.search(new):
            written, gap = match.groups()
            right = article_for(new)
            if right != written.lower():
                right = right.capitalize() if written[0].isupper() else right
                span, new = replace(span, start=span.start - len(written) - len(gap)), right + gap + new
        agreed.append((span, new))
        free = span.end
    return agreed
