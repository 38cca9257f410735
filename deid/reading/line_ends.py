r"""What ends a line, in one place.

A line ends at ``\n``, ``\r\n`` and ``\r``, and where Unicode breaks one: vertical tab and form feed, the separators of
files, groups and records (U+001C to U+001E), next line (U+0085), the separators of lines and paragraphs (U+2028,
U+2029). These are the ends that `str.splitlines` knows. Whatever reads a text (tokens, features, rules, lists,
extraction) reads it through `unified`, where every line end is one ``\n``; so segments of an HL7 message, which end
with ``\r``, are lines as others are, and a text says the same whatever its line ends are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from deid.document import Document, Span

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters that end a line."""


@dataclass(frozen=True, slots=True)
class Normalized:
    """A text as it is to be read, and where its characters come from."""

    text: str = field(repr=False)
    removed: tuple[int, ...] = field(default=(), repr=False)
    """Offsets in this text before which characters were taken out, one for each; sorted."""
    tied: frozenset[int] = field(default=frozenset(), repr=False)
    """Offsets in the original text of those that belong to the character before them, as accents do."""

    def back(self, span: Span) -> Span:
        """Return a span in the original text; characters that were taken out of its inside belong to it."""
        if not self.removed:
            return span
        end = self.origin(span.end - 1) + 1
        while end in self.tied:
            end += 1
        return span.moved(self.origin(span.start), end)

    def origin(self, offset: int) -> int:
        """Return where the character at an offset stands in the original text."""
        return offset + bisect_right(self.removed, offset)

    def ahead(self, span: Span) -> Span | None:
        """Return a span of the original text in this one; None where nothing of it is left."""
        if not self.removed:
            return span
        gone = [at + before for before, at in enumerate(self.removed)]
        start, end = span.start - bisect_left(gone, span.start), span.end - bisect_left(gone, span.end)
        return span.moved(start, end) if start < end else None


def unified(text: str) -> Normalized:
    r"""Return the text with every line end as one ``\n``.

    Examples
    --------
    >>> unified("PID|1\r\nPV1|1\rOBX|1").text
    'PID|1\nPV1|1\nOBX|1'
    """
    removed: list[int] = []
    for end in LINE_ENDS[1:]:
        if end not in text:
            continue
        if end == "\r":
            at = text.find("\r\n")
            while at >= 0:
                removed.append(at - len(removed))
                at = text.find("\r\n", at + 2)
            text = text.replace("\r\n", "\n")
        text = text.replace(end, "\n")
    return Normalized(text, tuple(removed))


def unified_document(document: Document) -> tuple[Document, Normalized]:
    r"""Return the document with every line end as one ``\n``, its annotations in their places, and the way back."""
    normal = unified(document.text)
    if normal.text == document.text:
        return document, normal
    spans = [moved for span in document.spans if (moved := normal.ahead(span)) is not None]
    return document.with_text(normal.text).with_spans(spans), normal
