"""Surrogate names that are names of real people of the notes: made otherwise where that can be known, else counted.

A document's own originals, and everybody in the table of known patients, are no surrogates from the start
(`deid.replacement.surrogates`). What a vault knows beyond is settled here, one document after the other in the order of
the input, so that the outcome does not depend on the number of processes. What a patient has once been called stays:
consistency goes before looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from deid.document import Document
from deid.pipeline.core import Pipeline, Scrubbed

if TYPE_CHECKING:
    from deid.replacement.vault import Vault

_TRIES = 8


class Collisions:
    """Settles and counts collisions of a run. Grows with the number of distinct full names.

    Parameters
    ----------
    pipeline : Pipeline
    vault : Vault, optional
    """

    def __init__(self, pipeline: Pipeline, vault: Vault | None) -> None:
        self._pipeline = pipeline
        self._vault = vault
        self._originals: set[str] = set()
        self._surrogates: set[str] = set()
        self._kept: set[str] = set()
        self.words = 0
        """Name words that got another surrogate in a document than in the person's other documents."""

    @property
    def names(self) -> int:
        """Full surrogate names that are also full names in the notes of this run or in the vault."""
        return len(self._surrogates & self._originals | self._kept)

    def settle(self, document: Document, result: Scrubbed) -> Scrubbed:
        """Return the result with other names in place of those that the vault knows as originals.

        Names that stand in the vault as surrogates of the same patient (or document) stay.
        """
        avoid: frozenset[str] = frozenset()
        for _ in range(_TRIES):
            clashes = self._clashes(result)
            if not clashes:
                return result
            avoid |= clashes
            result = replace(self._pipeline.replace(document, result.spans, avoid), effect=result.effect)
        self._kept |= self._clashes(result)
        return result

    def count(self, result: Scrubbed) -> None:
        """Take note of a document that was written."""
        self._originals.update(result.people)
        self._surrogates.update(result.people.values())
        self.words += result.collisions

    def _clashes(self, result: Scrubbed) -> frozenset[str]:
        if self._vault is None:
            return frozenset()
        forms = {form: name for name in result.people.values() for form in _forms(name)}
        taken = {forms[form] for form in self._vault.originals_among(forms)}
        if not taken:
            return frozenset()
        asked = [form for form in forms if forms[form] in taken]
        scopes = {result.person_scope, *result.person_scopes}
        kept = {forms[form] for scope in scopes for form in self._vault.surrogates_among(scope, asked)}
        self._kept |= kept
        return frozenset(taken - kept)


def _forms(name: str) -> Iterator[str]:
    """Yield how a full name is written in notes; a vault does not distinguish case."""
    given, _, family = name.partition(" ")
    yield from (name, f"{family}, {given}", f"{family} {given}", f"{family},{given}", f"{family}^{given}")
