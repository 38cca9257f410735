"""What every recognizer offers."""

from __future__ import annotations

from typing import Protocol

from deid.document import Document, Span


class Recognizer(Protocol):
    """Whatever finds spans in a document: rules, a dictionary, a tagger, an ensemble of them."""

    @property
    def name(self) -> str:
        """Name for `Span.source` and for messages."""
        ...

    @property
    def categories(self) -> frozenset[str]:
        """The categories that it can find."""
        ...

    def find(self, document: Document) -> list[Span]:
        """Return the spans found in ``document.text``, sorted by position; annotations of the document are ignored."""
        ...
