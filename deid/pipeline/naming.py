"""What a scrubbed document is called, and what is left of its other fields.

File names, document ids, other columns and JSON fields can carry PHI. Ids become keyed pseudonyms, one for each part of
a path, so that folders stay folders; texts and whole numbers in other fields become keyed pseudonyms, so that equal
values of a field stay equal; all else (nested values, fractions, truth values) is emptied. What the user names is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from deid.base.keys import Key
from deid.detection import Recognizer
from deid.document import Document
from deid.phi import group
from deid.pipeline.patients import patient_id
from deid.replacement.permutation import keyed_for

_BORDERS = (0, 1, 1 << 31, 1 << 63, 1 << 799)
"""Between two of them ids are permuted: an id that fits into a column of a database still does."""
_WORD_OF_NAME = re.compile(r"[^\W\d_]+")
_FEW_DIGITS = 5
"""Digits of the shortest number, or day with its year, that may be somebody's."""
_MOST_FIELDS = 1000
"""Fields of a document whose names are looked at."""
_MOST_NAMES = 10_000
"""Names of fields of which it is remembered whether they tell something."""


def pseudonym_of_id(key: Key, document_id: str) -> str:
    """Return the pseudonym of a document's id: ``folder-.../doc-...``."""
    *folders, name = document_id.split("/")
    return "/".join((*(key.pseudonym("folder", part) for part in folders), key.pseudonym("doc", name)))


def mapped_id(key: Key, what: str, value: int | str) -> int | str:
    """Return what an id of something is mapped to: a number to a number, one-to-one, a text to a pseudonym.

    Parameters
    ----------
    key : Key
    what : str
        What it identifies, such as ``patient``: equal ids of different things have nothing to do with each other.
    value : int or str
        A number from 1 to 2**31-1 stays in this range, so does one up to 2**63-1, below which databases have columns; 0
        stays, and a sign.
    """
    if isinstance(value, str):
        return key.pseudonym(what, value)
    low = max((border for border in _BORDERS if border <= abs(value)), default=0)
    if low == 0:
        return 0
    high = _BORDERS[_BORDERS.index(low) + 1]
    new = low + keyed_for(key, f"ids {what}").permute(what, abs(value) - low, high - low)
    return -new if value < 0 else new


@dataclass(frozen=True)
class Naming:
    """Which names and fields are kept, and pseudonyms for the others."""

    key: Key
    keep_id: bool = False
    """Whether documents keep their ids (and so one-file-per-document formats their file names)."""
    keep_fields: frozenset[str] = frozenset()
    """Metadata fields that are kept as they are."""
    patient_field: str | None = None
    """Metadata field that names the patient; its pseudonyms say so."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """Metadata fields that hold ids -> of what (`mapped_id`)."""
    _keys: dict[str, Key] = field(default_factory=dict, init=False, repr=False, compare=False)

    def id(self, document_id: str) -> str:
        """Return the id that the scrubbed document has."""
        return document_id if self.keep_id else pseudonym_of_id(self.key, document_id)

    def metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that the scrubbed document has, in the same order."""
        written: dict[str, Any] = {}
        for name, value in metadata.items():
            if name in self.keep_fields or value is None or value == "":
                written[name] = value
            elif name in self.ids and isinstance(value, int):
                written[name] = mapped_id(self.key, self.ids[name], value)
            elif name == self.patient_field and (patient := patient_id(value)) is not None:
                written[name] = self.key.pseudonym("patient", patient)
            elif name in self.ids:
                written[name] = mapped_id(self.key, self.ids[name], value)
            elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
                written[name] = self._pseudonym(name, str(value))
            else:
                written[name] = None  # a table has the same columns in every row
        return written

    def _pseudonym(self, name: str, value: str) -> str:
        # each field has its own key: equal values of two fields do not look alike
        if name not in self._keys:
            self._keys[name] = self.key.derive(f"field:{name}")
        return self._keys[name].pseudonym("value", value)


class FieldNames:
    """Tells which names of fields may be somebody's: they stay, so whoever releases the output must look at them.

    Parameters
    ----------
    recognizer : Recognizer or None
        Reads them as it reads notes; without one nothing is told.
    """

    def __init__(self, recognizer: Recognizer | None) -> None:
        self._recognizer = recognizer
        self._told: dict[str, bool] = {}

    def telling(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the numbers, from 1, of names that may be of somebody."""
        return tuple([n for n, name in enumerate(islice(names, _MOST_FIELDS), 1) if self._tells(name)])

    def _tells(self, name: str) -> bool:
        """Tell whether a name reads as a person's, a number or a day, as a key that was a value does."""
        found = self._told.get(name)
        if found is None:
            if len(self._told) >= _MOST_NAMES:
                self._told.clear()
            text = name.replace("_", " ")
            spans = () if self._recognizer is None else self._recognizer.find(Document("", text))
            found = self._told[name] = any(
                len(_WORD_OF_NAME.findall(part)) > 1
                if group(span.category) == "NAME"
                else "@" in part or sum(map(str.isdecimal, part)) >= _FEW_DIGITS
                for span in spans
                for part in [text[span.start : span.end]]
            )
        return found
