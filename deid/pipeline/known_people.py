"""The table of known patients: what a registration system knows about the people of the notes.

One row a patient (rows of one patient add up): an id, and names, numbers, dates and addresses in columns whose names
say what they hold. It serves two purposes: `deid.detection.known.KnownRecognizer` looks for a patient's own identifiers
in the patient's notes, and surrogates steer clear of the names of all (`deid.replacement.scope.Scope`).
"""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, require, told_as, told_of
from deid.base.files import csv_separator
from deid.base.resources import shipped_table
from deid.base.safe_names import safe_name
from deid.detection.known import Known, KnownRecognizer, known_from_rows, read_date
from deid.detection.options import PeopleOptions, RecognizerOptions
from deid.detection.recognizers import LazyRecognizer, build_recognizer
from deid.document import Document
from deid.phi import LABEL_SETS, group
from deid.pipeline.patients import Patients, patient_id, read_patients
from deid.reading.identity import parse_name
from deid.replacement.names import full_name_key

ID, LEFT_OUT = "id", "none"
_NAME_PARTS = ("given", "middle", "family")
COLUMNS: dict[str, tuple[str, ...]] = {
    meaning: tuple(names.split()) for meaning, names in shipped_table("labels/columns.toml")["known"].items()
}
"""What a column can mean, and the names by which that is known; every category is also known by its own name."""

_CATEGORIES = frozenset(LABEL_SETS["i2b2-2014"].names())
_MEANINGS = {category.lower().replace("-", "_"): category for category in _CATEGORIES} | {
    name: meaning for meaning, names in COLUMNS.items() for name in names
}
_HINT = "one row a patient: an id, and identifiers in columns such as given, family, mrn, birth_date, phone"


def column_meaning(name: str) -> str | None:
    """Return what a column of this name holds: a category, ``id``, ``given``, ``middle``, ``family``; else None."""
    return _MEANINGS.get(re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_"))


@dataclass(frozen=True)
class KnownPeople:
    """Patients and their identifiers, made by `read_known_people`. Its `repr` shows none."""

    identifiers: Mapping[str, tuple[Known, ...]] = field(default_factory=dict, repr=False)
    """Patient id -> identifiers."""

    def recognizer(self, patients: Patients, fields: Mapping[str, str], language: str | None) -> KnownRecognizer:
        """Return what finds the identifiers of a document's patient, and the values of its own record's fields.

        Parameters
        ----------
        patients : Patients
            Tells whom a document is about.
        fields : mapping
            Metadata field -> category.
        language : str or None
            Language of the word lists that tell names from words; English if not given.
        """
        whose = partial(_named, patients) if self.identifiers else patients.of
        return KnownRecognizer(self.identifiers, whose, fields, language or "en")

    def names(self, patient: str | None) -> tuple[str, ...]:
        """Return the names in a patient's rows."""
        return self._names.get(patient, ()) if patient is not None else ()

    @cached_property
    def _names(self) -> dict[str, tuple[str, ...]]:
        return {
            patient: tuple(k.value for k in known if group(k.category) == "NAME" and k.category != "USERNAME")
            for patient, known in self.identifiers.items()
        }

    @cached_property
    def people(self) -> frozenset[str]:
        """Keys of given and family name (`deid.replacement.names.full_name_key`) of everybody in the table."""
        found = (full_name_key(parse_name(name)) for names in self._names.values() for name in names)
        return frozenset(key for key in found if key)


def _named(patients: Patients, document: Document) -> str | None:
    """Return a document's patient; raise when nothing can tell it."""
    if document.record is None and document.text:
        patients.require_named(document.name)
    return patients.of(document)


def read_known_people(path: Path, columns: Mapping[str, str] | None = None) -> KnownPeople:
    """Return the known patients of a table: CSV, TSV, Parquet (``.parquet``) or JSON lines (``.jsonl``).

    Parameters
    ----------
    path : Path
    columns : mapping, optional
        Column -> what it holds, where its name does not say it: a category, ``id``, ``given``, ``middle``, ``family``,
        or ``none`` for a column to be left out.

    Raises
    ------
    ConfigError
        When the file cannot be read, a column's meaning is not known, there is no id, or a row is not as it should be;
        names file and row (counted from 1, without the header).
    """
    with told_of(str(path)):
        rows = _Rows(path)
        meanings = _meanings(rows.columns, columns or {})
        identifiers = known_from_rows(_checked(rows, meanings), {category: category for category in _CATEGORIES}, ID)
    return KnownPeople(identifiers)


def _meanings(columns: Iterable[str], named: Mapping[str, str]) -> dict[str, str]:
    """Return column -> meaning, without those that are left out."""
    columns = list(columns)
    known = (ID, *_NAME_PARTS, LEFT_OUT)
    for column, wish in named.items():
        require(column in columns, f"there is no column {column!r}", "name columns as the header writes them")
        if wish not in known and wish not in _CATEGORIES:
            raise ConfigError(
                f"column {column!r} cannot be {wish!r}",
                f"give a category ({', '.join(sorted(_CATEGORIES))}), or {', '.join(known)}",
            )
    found: dict[str, str] = {}
    # where no column is known the header is missing, and its cells are a patient's
    header = any(named.get(column) or column_meaning(column) for column in columns)
    for number, column in enumerate(columns, 1):
        meaning = named.get(column) or column_meaning(column)
        if meaning is None:
            shown = repr(column) if header else safe_name(column)
            raise ConfigError(
                f"what column {number}, {shown}, holds is not known",
                "say it: --known-column NAME=CATEGORY, or NAME=none to leave it out",
            )
        if meaning == ID and ID in found.values():
            meaning = LEFT_OUT  # the first one is the patient's
        if meaning != LEFT_OUT:
            found[column] = meaning
    for column, wish in named.items():
        if wish == ID:  # the user's word goes before the order of the columns
            found = {c: m for c, m in found.items() if m != ID} | {column: ID}
    require(ID in found.values(), "no column holds the patient's id", "name it: --known-column NAME=id")
    return found


def _checked(rows: _Rows, meanings: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield rows by meaning, one entry a column, so that several columns of a category are all kept."""
    for number, row in enumerate(rows, 1):
        where = f"row {number}"
        if not row.keys() <= rows.columns.keys():
            raise ConfigError("a column that the first row lacks", "give all rows the same columns", "", where)
        own = ""
        parts: dict[str, str] = {}
        rest: list[tuple[str, str]] = []
        for column, meaning in meanings.items():
            text = _text(row.get(column), where)
            if meaning == "DATE" and text and read_date(text) is None:
                raise ConfigError("a date cannot be read", "write it as YYYY-MM-DD or MM/DD/YYYY", "", where)
            if meaning == ID:
                own = patient_id(text) or ""
            elif text and meaning in _NAME_PARTS:
                parts[meaning] = f"{parts[meaning]} {text}" if meaning in parts else text
            elif text:
                rest.append((meaning, text))
        require(own, "the patient's id is missing", "every row needs one", "", where)
        yield {ID: own, "PATIENT": _joined(parts)}
        yield from ({ID: own, meaning: text} for meaning, text in rest)


def _joined(parts: Mapping[str, str]) -> str:
    """Return one name of its parts; together they tell initials and order."""
    family, given = parts.get("family", ""), " ".join(parts[p] for p in ("given", "middle") if p in parts)
    return f"{family}, {given}" if family and given else family or given


def _text(value: object, where: str) -> str:
    if value is None or value != value:  # NaN is not itself
        return ""
    if isinstance(value, bool | list | dict):
        raise ConfigError("a cell that is neither text, number nor date", "give one value a cell", "", where)
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


class _Rows:
    """The rows of a table's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = {".parquet": self._parquet, ".jsonl": self._json_lines, ".ndjson": self._json_lines}.get(
            path.suffix.lower(), self._csv
        )
        try:
            first = next(iter(self), None)
        except (OSError, UnicodeDecodeError, csv.Error):
            raise ConfigError("the table of known patients cannot be read", _HINT, str(path)) from None
        if first is None:
            raise ConfigError("the table of known patients holds no row", _HINT, str(path))
        self.columns = dict.fromkeys(first)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._read()

    def _csv(self) -> Iterator[Mapping[str, Any]]:
        with self._path.open(encoding="utf-8-sig", newline="") as stream:
            delimiter = csv_separator(stream.readline())
            stream.seek(0)
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            columns = next(reader, [])
            number = 0
            try:
                for number, cells in enumerate((cells for cells in reader if cells), 1):
                    if len(cells) != len(columns):
                        raise ConfigError(
                            f"{len(cells)} cells instead of {len(columns)}",
                            "quote cells with separators",
                            "",
                            f"row {number}",
                        )
                    yield dict(zip(columns, cells, strict=True))
            except csv.Error:
                raise ConfigError("this is no CSV", "check its quotes", "", f"row {number + 1}") from None

    def _json_lines(self) -> Iterator[Mapping[str, Any]]:
        with self._path.open(encoding="utf-8-sig") as stream:
            for number, line in enumerate((line for line in stream if line.strip()), 1):
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    raise ConfigError("a line that is no JSON object", _HINT, "", f"row {number}")
                yield row

    def _parquet(self) -> Iterator[Mapping[str, Any]]:
        import pyarrow
        import pyarrow.parquet

        wrong = ConfigError("this is no Parquet file", _HINT)
        with told_as(wrong, pyarrow.ArrowInvalid), pyarrow.parquet.ParquetFile(self._path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()


@dataclass(frozen=True)
class People:
    """Whom documents are about, as the user says it."""

    patients: Patients = field(default_factory=Patients)
    known: KnownPeople | None = None
    """The table of known patients."""
    fields: dict[str, str] = field(default_factory=dict)
    """Fields of the documents that hold identifiers -> category."""

    def lists(self, document: Document) -> bool:
        """Tell whether a document's patient is a known one, where there is a table of those."""
        return self.known is None or self.patients.of(document) in self.known.identifiers

    def recognizer(self, language: str | None) -> KnownRecognizer | None:
        """Return what finds known identifiers, if there are any."""
        if self.known is None and not self.fields:
            return None
        return (self.known or KnownPeople()).recognizer(self.patients, self.fields, language)


NOBODY = People()
"""Nothing is said of whom documents are about."""


def read_people(options: PeopleOptions, *, as_given: bool = False) -> People:
    """Read the table of patients and that of their identifiers.

    Parameters
    ----------
    options : PeopleOptions
    as_given : bool
        Leave it to the caller to check whether a patient's id is written in two ways.

    Raises
    ------
    ConfigError
        When one of them cannot be used, a patient's id is written in two ways, or nothing says what a field holds.
    """
    table = read_patients(options.patients) if options.patients else {}
    if table and not as_given:
        from deid.linkage.look_alikes import check_ids  # loads numpy

        check_ids(table.values(), "make them differ in more")
    patterns = [None if one is None else re.compile(one) for one in (options.patient_pattern, options.patient_text)]
    meanings = {name: meaning for name, _, meaning in (text.rpartition("=") for text in options.known_column)}
    searched = {}
    for text in options.known_field:
        name, equals, said = text.rpartition("=")
        meaning = said if equals else column_meaning(text) or ""
        meaning = "PATIENT" if meaning in _NAME_PARTS else meaning
        if meaning not in _CATEGORIES:
            raise ConfigError(
                f"--known-field {text}: what the field holds is not known", "write NAME=CATEGORY, as in doc=DOCTOR"
            )
        searched[name if equals else text] = meaning
    known = read_known_people(options.known, meanings) if options.known else None
    return People(Patients(table, options.patient_field, *patterns), known, searched)


def recognizer_of(said: RecognizerOptions, people: People | None = None) -> LazyRecognizer:
    """Return the recognizer for what a user asks for, what is known of ``people`` included; by default they are read.

    Errors are those of `read_people` and `deid.detection.recognizers.build_recognizer`.
    """
    known = (read_people(said) if people is None else people).recognizer(said.language)
    return build_recognizer(said, known)
