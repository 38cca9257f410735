"""What an operator may know beside the document and its spans."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid.document import Document, Span
from deid.keys import Key

__all__ = ["Operator", "Scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The secret, the person and the day that replacements of one document depend on."""

    key: Key
    document_id: str = field(repr=False)
    patient_id: str | None = field(default=None, repr=False)
    """The patient whom the document is about, when known."""
    reference_date: datetime.date | None = field(default=None, repr=False)
    """The document's own date or the date given by the user; never the day of the run."""
    language: str = "en"
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def person_scope(self) -> str:
        """Within what surrogates are consistent: the patient, else (when unknown) the document."""
        return f"patient:{self.patient_id}" if self.patient_id is not None else f"document:{self.document_id}"


Operator = Callable[[Document, Sequence[Span], Scope], Sequence[str]]
"""Gets the spans of one document that a policy assigns to it, all at once (sorted, not overlapping), and returns one
replacement string a span. It raises a `deid.errors.DeidError` when it cannot; it never returns the original."""
