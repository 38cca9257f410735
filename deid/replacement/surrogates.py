"""The surrogate operator: realistic, keyed, consistent replacements for the spans of a document.

Everything is chosen by keyed hashes and permutations of the person's scope, so that the same original gets the same
surrogate in every document of a patient, on every machine, without any memory. Names and places of a document are
replaced together (`deid.replacement.names`, `deid.replacement.places`). No surrogate equals or holds its own original,
and none holds another original of the document as a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deid.base.errors import ConfigError
from deid.document import Document, Span
from deid.replacement.dates import DateShift, date_shift_operator
from deid.replacement.filling import fill
from deid.replacement.scope import Scope, Written


@dataclass(frozen=True)
class SurrogateOperator:
    """See `surrogate_operator`."""

    corpus: bool
    dates: DateShift

    def __call__(self, document: Document, spans: Sequence[Span], scope: Scope) -> Written:
        """Return one surrogate a span, with the collisions and the full names that were replaced."""
        return fill(document, spans, scope, self.corpus, self.dates.shift)


def surrogate_operator(
    *, scope: str = "patient", preserve_weekday: bool = False, day_first: bool | None = None
) -> SurrogateOperator:
    """Return the operator that replaces spans by keyed surrogates.

    Parameters
    ----------
    scope : str
        ``patient``: an original has the same surrogate in all documents of a patient (of the document, when the
        patient is unknown); ``corpus``: in all documents, so that a physician stays recognizable across patients.
    preserve_weekday, day_first
        For spans of the category DATE, see `deid.replacement.dates.date_shift_operator`.

    Returns
    -------
    SurrogateOperator
        An operator (see `deid.replacement.scope.Operator`) for spans of every category.

    Raises
    ------
    ConfigError
        When ``scope`` is neither of the two.
    """
    if scope not in ("patient", "corpus"):
        raise ConfigError("the scope of surrogates is neither patient nor corpus", 'write scope = "patient"')
    dates = date_shift_operator(preserve_weekday=preserve_weekday, day_first=day_first)
    return SurrogateOperator(scope == "corpus", dates)
