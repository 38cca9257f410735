"""The invented notes of notes.txt, as `synthetic.marked` reads them, and what is counted in them."""

from __future__ import annotations

import re
from pathlib import Path

from deid.document import Document, Span

NOTES = Path(__file__).with_name("notes.txt")
_TOKEN = re.compile(r"[^\W_]+")


def tokens(document: Document, spans: list[Span] | tuple[Span, ...]) -> set[tuple[int, int]]:
    """Return the tokens (runs of letters and digits) that the spans touch."""
    covered = bytearray(len(document.text))
    for span in spans:
        covered[span.start : span.end] = b"\1" * len(span)
    return {m.span() for m in _TOKEN.finditer(document.text) if any(covered[m.start() : m.end()])}
