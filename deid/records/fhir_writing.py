"""How strings, dates, markup and documents of a FHIR resource are written."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from deid.records.json_positions import quoted
from deid.records.record import TEXT, Change, Place, changed, fit, splice

DATE = re.compile(r"([0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?)(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?\Z")
"""A date or an instant of FHIR; its day is the first group."""


def write(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a string with its changes."""
    # a string of FHIR is never empty
    return splice(raw, place, changes, lambda new, old, between: quoted(new)) or "-"


def write_markup(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return markup with its changes."""
    return splice(raw, place, changes, lambda new, old, between: quoted(html.escape(new)) + between)


def write_date(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a date: the time of day stays where a whole day does."""
    new = changed(place.text, changes)
    if DATE.fullmatch(new):
        return new + raw[len(place.text) :] if len(new) == len(place.text) else new
    return quoted(new) or "-"


def write_number(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a whole number with its changes: the digits of what is to be written."""
    return "".join(c for c in changed(place.text, changes) if c in "0123456789").lstrip("0") or "0"


@dataclass(frozen=True, slots=True, repr=False)
class EncodedDocument:
    """A document in base64: its character set, its text, and what is said of it beside."""

    charset: str
    text: str
    beside: tuple[str, ...]
    markup: bool


@dataclass(frozen=True, slots=True, repr=False)
class DocumentWriter:
    """Writes a document in base64, with its size and its checksum."""

    document: EncodedDocument
    starts: Sequence[tuple[int, int]] | None

    def __call__(self, raw: str, place: Place, changes: Sequence[Change]) -> list[str]:
        """Return the document, and what is said of it, in the order of `Document.beside`."""
        said = self.document
        inner = Place(place.path, 0, len(said.text), TEXT, place.text, None, self.starts)

        def written(new: str, old: str, between: str) -> str:
            return (html.escape(new) if said.markup else new) + between

        content = fit(splice(said.text, inner, changes, written), said.charset).encode(said.charset)
        digest = base64.b64encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode()
        beside = {"size": str(len(content)), "hash": digest}
        return [base64.b64encode(content).decode(), *(beside[name] for name in said.beside)]
