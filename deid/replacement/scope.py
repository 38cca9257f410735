"""What an operator may know beside the document and its spans."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deid.base.compiled import quick
from deid.base.keys import Key
from deid.document import Document, Span


@quick
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
    known_names: tuple[str, ...] = field(default=(), repr=False)
    """Names in whichever of this patient's documents: no surrogate of the patient has a word of theirs."""
    people: frozenset[str] = field(default=frozenset(), repr=False)
    """Keys of given and family name of real people (`deid.replacement.names.full_name_key`): no surrogate is one."""

    sexes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Words of given names -> M or F, where the document's record says so."""
    beside: tuple[str, ...] = field(default=(), repr=False)
    """Names of others in the same record, who have scopes of their own: no surrogate has a word of theirs."""

    @property
    def person_scope(self) -> str:
        """Within what surrogates are consistent: the patient, else (when unknown) the document."""
        return f"patient:{self.patient_id}" if self.patient_id is not None else f"document:{self.document_id}"


class Written(list[str]):
    """Replacements of an operator that has more to tell than these."""

    def __init__(self, texts: Iterable[str], collisions: int = 0, people: Mapping[str, str] | None = None) -> None:
        super().__init__(texts)
        self.collisions = collisions
        """Name words whose usual surrogate in the person's scope is an original of this document, so that they got
        another one here and keep the usual one in the person's other documents."""
        self.people = people or {}
        """Full names (`deid.replacement.names.full_name_key`) and their surrogates."""


Operator = Callable[[Document, Sequence[Span], Scope], Sequence[str]]
"""Gets the spans of one document that a policy assigns to it, all at once (sorted, not overlapping), and returns one
replacement string a span. It raises a `deid.base.errors.DeidError` when it cannot; it never returns the original."""
