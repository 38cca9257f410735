"""What every recognizer offers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class Probable(Protocol):
    """A recognizer that knows how sure it is of a place; of what it alone finds it is asked."""

    def chances(self, text: str, places: Iterable[tuple[int, int]]) -> list[float]:
        """Return how likely it is, for each place (start, end), that it is what the recognizer says of ``text``."""
        ...
