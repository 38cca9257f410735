"""Whom a document is about: from a table, a metadata field, the document's name, or its record."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deid.base.errors import require
from deid.base.files import read_rows
from deid.document import Document
from deid.table.cell_text import key_text
from deid.table.column_names import alike

if TYPE_CHECKING:
    from deid.pipeline.core import Pipeline, Scrubbed

UNTOLD = (
    "--known needs to know whom a document is about, and only records say it themselves",
    "add --patients, --patient-field, --patient-pattern or --patient-text",
)
"""What is wrong, and the hint, where nothing tells whom a note is about."""


@dataclass(frozen=True, slots=True)
class Patients:
    """Finds the patient of a document: in the table, else in the field, else in its name, its record, its text."""

    table: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Document id -> patient id."""
    field_name: str | None = None
    """Metadata field with the patient's id."""
    pattern: re.Pattern[str] | None = None
    """Searched in the last part of the document's id; its first group, else the whole match, is the patient's id."""
    text: re.Pattern[str] | None = field(default=None, repr=False)
    """Searched in the document's text in the same way, such as for the number in the head of a letter."""

    @property
    def named(self) -> bool:
        """Whether the user has said how patients are found."""
        return bool(self.table) or any(one is not None for one in (self.field_name, self.pattern, self.text))

    def require_named(self, name: str = "") -> None:
        """Raise `ConfigError` where the user has said nothing."""
        require(self.named, *UNTOLD, name)

    def of(self, document: Document) -> str | None:
        """Return the patient's id in the form in which ids are compared (`patient_id`), None when it is not known."""
        if (listed := patient_id(patient_of(document.id, self.table))) is not None:
            return listed
        if self.field_name and (said := patient_id(document.metadata.get(self.field_name))) is not None:
            return said
        if (found := patient_id(_searched(self.pattern, document.id.rpartition("/")[2]))) is not None:
            return found
        if document.record is not None and document.record.patient is not None:
            return document.record.patient  # as the record's other owners are written
        return patient_id(_searched(self.text, document.text))


def patient_id(value: object) -> str | None:
    """Return the patient's id that a value is, as the ids of tables are read (`key_text`); None where it is none.

    >>> {patient_id(value) for value in (100, 100.0, " 100 ", "100.0")}, patient_id(" ")
    ({'100'}, None)
    """
    return None if isinstance(value, bool | list | dict | tuple) else key_text(value)


def _searched(pattern: re.Pattern[str] | None, text: str) -> str | None:
    """Return the first group of a pattern's first match in a text, else the whole match; None where there is none."""
    if pattern is None or (found := pattern.search(text)) is None:
        return None
    return (found[1] if pattern.groups and found[1] is not None else found[0]) or None


class Listed:
    """Counts which documents of a table of patients were met."""

    def __init__(self, patients: Patients) -> None:
        self._left = {_stem(name) for name in patients.table}

    def met(self, document_id: str) -> None:
        """Take note of a document."""
        if self._left:
            self._left.discard(document_id)
            self._left.discard(_stem(document_id))

    def missing(self) -> int:
        """Return how many documents of the table were not met."""
        return len(self._left)


Writing = tuple[int, int]
"""Hashes of what an id has in common with other ways of writing it (`alike`), and of the id itself."""
SEVERAL = (
    "patients have ids that differ in blanks, hyphens, leading zeros, case or look-alike signs alone, with a surrogate "
    "each: write an id in one way"
)
"""What is told, behind their number, of patients whose ids are written in several ways."""
_REMEMBERED = 1 << 18
"""Patients whose ids are compared: the last ones of a feed that does not end."""


def writing_of(pipeline: Pipeline, result: Scrubbed) -> Iterable[Writing]:
    """Yield how the id of a scrubbed document's patient is written, where one is known and the policy goes by it."""
    if result.patient_known and pipeline.applied is not None and pipeline.applied.per_person:
        patient = result.person_scope.partition(":")[2]
        yield _hash(alike(patient)), _hash(patient)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


class Writings:
    """Counts patients whose ids are written in several ways, among the last that were met."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._several: set[int] = set()

    def met(self, writings: Iterable[Writing]) -> None:
        """Take note of patients' ids."""
        for same, written in writings:
            if self._first.setdefault(same, written) != written:
                self._several.add(same)
            elif len(self._first) > _REMEMBERED:
                del self._first[next(iter(self._first))]

    def __len__(self) -> int:
        return len(self._several)


def patient_of(document_id: str, table: Mapping[str, str]) -> str | None:
    """Return the patient of a document in a table (`read_patients`), None when it does not stand there."""
    if not table:
        return None
    found = table.get(document_id)
    return table.get(_stem(document_id)) if found is None else found


def _stem(name: str) -> str:
    """Return a path without its suffix: users list files, documents are named by stems; digits are no suffix."""
    path = PurePosixPath(name)
    return name if path.suffix[1:].isdecimal() or not path.suffix else str(path.with_suffix(""))


def read_patients(path: Path) -> dict[str, str]:
    """Return the patient of each document, from a CSV file with the columns ``document`` and ``patient``.

    A document is named by its id, for a folder of files by its path in the folder, with or without suffix.

    Raises
    ------
    ConfigError
        When the file cannot be read, lacks a column or an id, or gives a document two patients.
    """
    hint = "it needs the columns document and patient, one line a document"
    table: dict[str, str] = {}
    for line, row in read_rows(path, ("document", "patient"), hint):
        document, patient, place = row["document"].strip(), row["patient"].strip(), f"line {line}"
        require(document and patient, "a document or patient without an id", hint, str(path), place)
        for name in dict.fromkeys((document, _stem(document))):
            same = table.setdefault(name, patient) == patient
            require(same, "a document with a second patient", hint, str(path), place)
    return table
