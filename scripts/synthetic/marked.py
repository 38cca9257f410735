"""Notes that people wrote, with their identifiers marked as ``[[CATEGORY:text]]``.

``[[DATE:last Christmas|Christmas]]`` shows *last Christmas*, of which *Christmas* is the span; ``[[DATE:yesterday|]]``
shows *yesterday*, which is no span.
"""

from __future__ import annotations

import re
from pathlib import Path

from deid.document import Document, Span

_MARK = re.compile(r"\[\[([A-Z-]+):(.*?)(?:\|(.*?))?\]\]")
_RULE = re.compile(r"^=+ ?(.*)\n", re.MULTILINE)


def unmark(marked: str, name: str = "note") -> Document:
    """Return a marked text as a document with its spans."""
    pieces: list[str] = []
    spans: list[Span] = []
    length = last = 0
    for mark in _MARK.finditer(marked):
        category, shown, inner = mark[1], mark[2], mark[3]
        before = marked[last : mark.start()]
        length += len(before)
        part = shown if inner is None else inner
        if part:
            at = length + shown.index(part)
            spans.append(Span(at, at + len(part), category))
        pieces += [before, shown]
        length += len(shown)
        last = mark.end()
    pieces.append(marked[last:])
    return Document(name, "".join(pieces), tuple(spans))


def notes(path: Path) -> list[Document]:
    """Return all notes of a file, each behind a line ``=== name``; what stands before the first is none."""
    parts = _RULE.split(path.read_text(encoding="utf-8"))
    return [unmark(text, name) for name, text in zip(parts[1::2], parts[2::2], strict=True)]
