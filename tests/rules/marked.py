"""Reads the invented notes of notes.txt: text with spans marked as ``[[CATEGORY:text]]``.

``[[DATE:last Christmas|Christmas]]`` shows *last Christmas*, of which *Christmas* is the span; ``[[DATE:yesterday|]]``
shows *yesterday*, which is no span.
"""

from __future__ import annotations

import re
from pathlib import Path

from deid.document import Document, Span

NOTES = Path(__file__).with_name("notes.txt")
_MARK = re.compile(r"\[\[([A-Z-]+):(.*?)(?:\|(.*?))?\]\]")
_RULE = re.compile(r"^=+ ?(.*)\n", re.MULTILINE)
_TOKEN = re.compile(r"[^\W_]+")


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


def notes(path: Path = NOTES) -> list[Document]:
    """Return all notes of a file; lines with ``# `` before the first are no notes."""
    parts = _RULE.split(path.read_text(encoding="utf-8"))
    return [unmark(text, name) for name, text in zip(parts[1::2], parts[2::2], strict=True)]


def tokens(document: Document, spans: list[Span] | tuple[Span, ...]) -> set[tuple[int, int]]:
    """Return the tokens (runs of letters and digits) that the spans touch."""
    covered = bytearray(len(document.text))
    for span in spans:
        covered[span.start : span.end] = b"\1" * len(span)
    return {m.span() for m in _TOKEN.finditer(document.text) if any(covered[m.start() : m.end()])}
