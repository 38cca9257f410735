"""A table of a database as a source of documents: a row is a record (`deid.records`), whose columns are its places.

What a column is, the user says, or the table of a standard (`deid.records.tables`): free text, the row's id, an id of
something else, a date, an identifier, or kept as it is. All other columns are not even read. In a row's record stand
the texts of its places as JSON; ids and kept columns are the document's fields.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, DeidError, FormatError, StoreError, require, told_as
from deid.base.list_lines import list_line
from deid.base.nearest import nearest
from deid.base.safe_names import safe_name
from deid.document import Document, Failure
from deid.io.batches import SqlTable, open_table, plain_cell, stored_key
from deid.io.database_places import split_place
from deid.io.fields import find_id, find_text
from deid.io.formats import CollectionFormat, Options
from deid.io.reading import Source
from deid.records.json_positions import quoted
from deid.records.record import BLOCKED, TEXT, Change, Place, Record, assemble, changed, day_of
from deid.records.sweeping import known_of
from deid.records.tables import KEEP, load_table

SQL, OMOP = "sql", "omop"
ROW_ID, PATIENT = "id-doc", "id-patient"
_ID = "id-"
_CONCEPT = "concept"
_WORDS = {TEXT: "scrubbed", KEEP: "kept", _CONCEPT: "kept", BLOCKED: "dropped", "id": "mapped by the key"}


@dataclass(frozen=True, slots=True)
class RowPlan:
    """What the columns of a table are."""

    key: str = field(repr=False)
    """The column that tells rows apart."""
    kinds: Mapping[str, str] = field(repr=False)
    """Column -> ``text``, ``keep``, ``concept``, ``blocked``, a category of identifiers, or ``id-WHAT``; all columns in
    order."""
    text: str = field(repr=False)
    """The column that must hold a text in every row."""
    date: str = field(default="", repr=False)
    """The column with the row's day; empty for none."""

    @property
    def read(self) -> list[str]:
        """The columns that are read; all others are dropped."""
        return [name for name, kind in self.kinds.items() if kind != BLOCKED or name == self.key]

    @property
    def fields(self) -> dict[str, str]:
        """Columns that are fields of a document, and not places of its record -> what becomes of them."""
        kinds = {name: KEEP if kind == _CONCEPT else kind for name, kind in self.kinds.items()}
        return {name: kind for name, kind in kinds.items() if kind == KEEP or kind.startswith(_ID)}

    def told(self) -> dict[str, str]:
        """Return what becomes of each column, in words."""
        return {
            name: _WORDS.get(kind.partition("-")[0], f"as the policy says of {kind}")
            for name, kind in self.kinds.items()
        }


def plan_of(table: SqlTable, options: Options) -> RowPlan:
    """Return what the columns of a table are, as the user says.

    Raises
    ------
    ConfigError
        When a column is named that the table does not have (the hint names the nearest), or none is of the text or of
        the rows' ids.
    """
    plan = _plan_of_standard(table, options, OMOP) if options.omop else _plan_said(table, options)
    kept = {_column(table, name, "--keep") for name in sorted(options.kept - {"id", "filename"})}
    kept |= {plan.key} if "id" in options.kept else set()
    return replace(plan, kinds={**plan.kinds, **dict.fromkeys(kept, KEEP)})


def _plan_said(table: SqlTable, options: Options) -> RowPlan:
    there = table.columns
    key, text = options.id_field or find_id(there), options.text_field or find_text(there)
    said = (
        *(("--id", key, ROW_ID), ("--text", text, TEXT)),
        *(("--patient", options.patient, PATIENT), ("--date", options.date, "DATE")),
    )
    kinds = dict.fromkeys(there, BLOCKED)
    for flag, name, kind in said:
        if name:
            kinds[_column(table, name, flag)] = kind
        elif kind in (ROW_ID, TEXT):
            raise ConfigError(f"no column of {table.name} is called as usual", f"name it with {flag}")
    return RowPlan(key, kinds, text, options.date or "")


def _plan_of_standard(table: SqlTable, options: Options, standard: str) -> RowPlan:
    """Return what the columns of a standard's table are; those that it does not have are dropped."""
    others = (options.id_field, options.text_field, options.patient, options.date)
    if any(other is not None for other in others):
        raise ConfigError(f"--{standard} says what the columns are", "leave out --id, --text, --patient and --date")
    said = load_table(standard, options.places)
    head = table.table.name.upper()
    rules = said.rules(head)
    if head not in said.facts:
        hint = f"it has {', '.join(said.facts)}; of another table name the columns with --text and --id"
        raise ConfigError(f"the table of {standard} says nothing of {head}", hint)
    kinds = {name: str(rules.get(name.lower(), BLOCKED)) for name in table.columns}
    names = {name.lower(): name for name in table.columns}
    facts = {what: names.get(column, "") for what, column in said.facts[head].items()}
    for what in ("key", "text"):
        if not facts[what]:
            wanted = said.facts[head][what]
            raise ConfigError(f"{table.name} has no column {wanted}, which {head} has", nearest(wanted, names))
    return RowPlan(facts["key"], kinds, facts["text"], facts["date"])


def _column(table: SqlTable, name: str, flag: str) -> str:
    require(name in table.columns, f"{flag} {name}: {table.name} has no such column", nearest(name, table.columns))
    return name


def _refuse(*_: Any) -> Any:
    raise ConfigError("rows of a database are written to a database", "name one with --output")


def format_of(plan: RowPlan) -> CollectionFormat:
    """Return the format of a table's documents."""

    return CollectionFormat(
        name=SQL,
        suffixes=(".db",),
        matches=lambda head: False,
        carries_spans=False,
        of_records=True,
        fields=plan.fields,
        read=_refuse,
        write=_refuse,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource(Source):
    """A table of a database that is going to be read; see `open_rows`."""

    table: SqlTable
    plan: RowPlan
    place: Path | None = field(default=None, repr=False)
    """The file of SQLite."""
    nameless: int = 0
    """Rows without an id, which cannot be read."""
    after: int | str | None = field(default=None, repr=False)
    """Key of the last row that is not wanted."""
    before: int = 0
    """Rows up to there: the next one is counted from it."""
    again: tuple[tuple[int, int | str], ...] = field(default=(), repr=False)
    """Numbers and keys of rows that come first, whatever is wanted else."""
    keys: dict[int, int | str] = field(default_factory=dict, repr=False)
    """Keys of the rows that are under way, by their numbers; whoever is done with one takes it out."""

    def documents(self, first: int = 1) -> Iterator[Document | Failure]:
        """Yield the rows in the order of their keys, a `Failure` for each that cannot be read.

        Where the database does not answer any more, a failure without a number stands for the rest.
        """
        read, number = self.plan.read, self.before
        try:
            for its, key in self.again:
                row = self.table.row(read, self.plan.key, key)
                if row is not None:
                    yield self._item(row, its)
            if self.nameless:
                error = FormatError(f"{self.nameless} rows have no id", "give each row an id of its own")
                yield Failure(self.table.name, error.at(self.table.name))
            for batch in self.table.by_key(read, self.plan.key, self.after):
                for row in batch:
                    number += 1
                    yield self._item(row, number)
        except StoreError as error:
            name = f"{self.table.name} behind row {number}"
            yield Failure(name, StoreError(error.what, "run the same command again: it goes on there", error.where))

    def line(self, key: int | str) -> str:
        """Return what a list of rows that failed says of one: the file, or the table, and the key."""
        return list_line(str(self.root / self.names[0]), str(key))

    @property
    def shown(self) -> Path:
        """Where files about the table lie: beside the file of SQLite, else here, by the table's name."""
        return self.place or Path(self.table.name)

    def all_keys(self) -> Iterator[int | str]:
        """Yield the keys of all rows."""
        for batch in self.table.by_key([self.plan.key], self.plan.key):
            yield from (stored_key(key) for (key,) in batch)

    def row(self, key: int | str) -> Document | Failure:
        """Return the row of a key, a `Failure` when it cannot be read or is gone."""
        found = self.table.row(self.plan.read, self.plan.key, key)
        if found is None:
            return Failure(self.table.name, FormatError("a row is gone", "let nobody write to it", self.table.name))
        return self._item(found, 0)

    def paths(self, name: str) -> Iterator[tuple[str, Path]]:
        """Yield the file of SQLite."""
        yield from [] if self.place is None else [(self.place.suffix, self.place)]

    def layout(self) -> Options:
        """Return the options as they are."""
        return self.options

    def _item(self, row: Sequence[Any], number: int) -> Document | Failure:
        cells = dict(zip(self.plan.read, row, strict=True))
        shown = str(cells[self.plan.key])
        try:
            key = self.keys[number] = stored_key(cells[self.plan.key])
            shown = str(key)
            document = replace(self._document(cells, shown), index=number)
            if len(document.text) > self.options.max_document:
                raise FormatError(f"it has more than {self.options.max_document:,} characters", "raise --max-document")
            return document
        except DeidError as error:
            told = type(error)(error.what, error.hint, self.table.name, f"row {number}")
            return Failure(safe_name(shown, number), told, number, self.line(shown))

    def _document(self, cells: Mapping[str, Any], identifier: str) -> Document:
        fields: dict[str, Any] = {}
        places: list[Place] = []
        source = "{"
        patient, day = None, None
        for name, kind in self.plan.kinds.items():
            if kind == BLOCKED:
                continue
            cell = cells[name]
            if kind == _CONCEPT:
                if not (cell is None or (isinstance(cell, int) and not isinstance(cell, bool))):
                    raise FormatError(f"the cell of {name} holds no concept", "a concept is a whole number: correct it")
                kind = KEEP
            if kind == KEEP or kind.startswith(_ID):
                fields[name] = plain_cell(cell) if kind == KEEP or cell is None else stored_key(cell)
                if kind == PATIENT and cell is not None:
                    patient = str(fields[name])
                continue
            text = _text(name, kind, cell, needed=name == self.plan.text)
            source += f"{', ' if len(source) > 1 else ''}{json.dumps(name)}: "
            if text is None:
                source += "null"
                continue
            start = len(source) + 1
            source += json.dumps(text, ensure_ascii=False)
            places.append(Place(name, start, len(source) - 1, kind if text else TEXT, text, _encode))
            if name == self.plan.date:
                fields[name] = text[:10]
                day = day_of(text[:10])
        with told_as(FormatError("a cell is no valid text", "correct its encoding"), UnicodeEncodeError):
            data = f"{source}}}".encode()
        known = tuple(
            found for place in places if place.kind not in (TEXT, "DATE") for found in known_of(place.kind, place.text)
        )
        record = assemble(data, f"{source}}}", "utf-8", places, known=known, patient=patient, date=day)
        return Document(identifier, record.text, metadata=fields, record=record)


def _text(name: str, kind: str, cell: object, *, needed: bool) -> str | None:
    """Return the text of a place, None where there is none to examine."""
    if cell is None and not needed:
        return None
    if kind == TEXT:
        if cell is None:
            raise FormatError(f"the column {name} is NULL", "write a text there, or remove the row")
        if not isinstance(cell, str):
            raise FormatError(f"the cell of {name} holds no text", "name the column of the text with --text")
        return cell
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ")
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    if isinstance(cell, str) or (kind != "DATE" and isinstance(cell, int)):
        return str(cell)
    raise FormatError(f"the cell of {name} holds no {kind}", "correct it, or leave the column out")


def _encode(characters: str, place: Place, changes: Sequence[Change]) -> str:
    """Return the new characters of a JSON string."""
    return quoted(changed(place.text, changes))


def cells_of(record: Record) -> dict[str, str | None]:
    """Return the texts of a row's record, by column."""
    found: dict[str, str | None] = json.loads(record.data)
    return found


def open_rows(place: str | Path, options: Options) -> TableSource:
    """Open a table of a database as a source of documents.

    Parameters
    ----------
    place : str or Path
        See `deid.io.batches.open_table`; of an output also with the table behind it (`split_place`).
    options : Options
        Name table and columns.

    Raises
    ------
    ConfigError
        When table or column are not there; the hint names the nearest.
    InputError, StoreError
        When the database cannot be read.
    """
    from deid.base.store import sqlite_file

    database, name = split_place(str(place))
    table = open_table(database, name or options.table or ("note" if options.omop else None))
    plan = plan_of(table, options)
    file = sqlite_file(database)
    root = Path() if file is None else file.parent
    return TableSource(
        root,
        (table.name if file is None else file.name,),
        format_of(plan),
        replace(options, text_field=None, id_field=None),  # they were about the table, not about what is written of it
        True,
        table=table,
        plan=plan,
        place=file,
        nameless=table.check_key(plan.key),
    )
