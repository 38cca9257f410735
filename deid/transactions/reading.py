"""Codes of a table: a column of lists, or a long table with one row a diagnosis, or both."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from deid.base.arrays import IndexArray, IntArray
from deid.base.buckets import Buckets, Words
from deid.base.errors import ConfigError, InputError, require
from deid.base.late import pd
from deid.base.options import option
from deid.linkage.look_alikes import check_ids, check_persons, count_look_alikes
from deid.table.cell_text import text_column, text_list
from deid.table.column_names import repeated_person
from deid.table.hierarchy import Hierarchy, read_hierarchy
from deid.table.hierarchy_builders import build_hierarchy
from deid.table.microdata import Microdata, check_columns, check_names
from deid.transactions.transactions import Transactions, from_rows

SEPARATOR = ";"
_CODES = "Reading the codes"
BUILT = ("icd-9-cm", "icd-10-cm")
"""Hierarchies that need no file."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: its multiples are all different, and spread evenly."""
_HASH_KEYS = ("deid codes first", "deid codes other")


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """The codes of a table.

    Parameters
    ----------
    transactions : Transactions
        A record a row, or a person.
    first : int64 array
        First row of the table behind each record.
    visits : tuple of frozenset of str
        The codes of each visit of a record, visits with codes only; empty when no visit is named.
    visit_of : tuple of int
        Record of each visit.
    """

    transactions: Transactions
    first: IntArray
    visits: tuple[frozenset[str], ...] = ()
    visit_of: tuple[int, ...] = ()

    def order(self, cells: Sequence[Sequence[str]] = ()) -> Sequence[int] | IndexArray:
        """Return the records in the order of what they hold: codes, cells beside them, visits.

        Records that are equal in all of that can stand for each other, so what is done in this order does not depend on
        that of the table.
        """
        if not (self.visits or cells):
            return self.transactions.order()
        texts = self.transactions.texts()
        visits: list[list[list[str]]] = [[] for _ in texts]
        for codes, record in zip(self.visits, self.visit_of, strict=True):
            visits[record].append(sorted(codes))
        return sorted(range(len(texts)), key=lambda i: (texts[i], cells[i] if cells else (), sorted(visits[i])))

    def take(self, records: Sequence[int] | IndexArray) -> CodedRecords:
        """Return the records in another order."""
        found = self.transactions.take(records), self.first[np.asarray(records, np.int64)]
        if not self.visits:
            return CodedRecords(*found)
        visits: list[list[frozenset[str]]] = [[] for _ in self.first]
        for codes, record in zip(self.visits, self.visit_of, strict=True):
            visits[record].append(codes)
        return CodedRecords(
            *found,
            tuple(codes for record in records for codes in sorted(visits[record], key=sorted)),
            tuple(place for place, record in enumerate(records) for _ in visits[record]),
        )


@dataclass(frozen=True)
class CodeColumns:
    """Where the codes of a table are, and their hierarchy."""

    PANEL: ClassVar[str] = _CODES
    codes: str = option(..., "Column with a code, or a list of codes, a cell.", metavar="COLUMN", panel="")
    code_separator: str = option(SEPARATOR, "Character between the codes of a cell.", metavar="C")
    person: str | None = option(
        None, "Column that tells whose row it is; needed when rows are visits.", metavar="COLUMN"
    )
    visit: str | None = option(None, "Column that tells the visit: a number or a date.", metavar="COLUMN")
    hierarchy: str | None = option(
        None, "icd-9-cm, icd-10-cm, or a CSV of ARX's form.", "--code-hierarchy", metavar="H", panel=""
    )
    own_leaf: bool = option(False, "Codes that are not in the hierarchy are leaves below its root.")

    @property
    def read_columns(self) -> list[str]:
        """Columns that are looked at to read the codes."""
        return [name for name in (self.codes, self.person, self.visit) if name]

    def read(self, table: pd.DataFrame | Iterable[pd.DataFrame], *, persons_as_given: bool = True) -> CodedRecords:
        """Return the codes of a table; see `read_codes`."""
        return read_codes(
            table, self.codes, separator=self.code_separator, person=self.person, visit=self.visit,
            persons_as_given=persons_as_given,
        )  # fmt: skip

    def read_plain(self, frame: pd.DataFrame) -> CodedRecords:
        """Return the codes of another table, of which every row is a record."""
        return read_codes(frame, self.codes, separator=self.code_separator)

    def tree(self, data: CodedRecords) -> Hierarchy | None:
        """Return the hierarchy of codes; see `codes_hierarchy`."""
        return codes_hierarchy(data, self.hierarchy, own_leaf=self.own_leaf)


def split_cell(cell: str, separator: str = SEPARATOR) -> list[str]:
    """Return the codes of a cell, cut at separators outside parentheses; ``(a,b)`` is one published item."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(cell):
        if character in "()":
            depth += 1 if character == "(" else -1
        elif character == separator and depth <= 0:
            parts.append(cell[start:place])
            start = place + 1
    parts.append(cell[start:])
    return [part.strip() for part in parts if part.strip()]


def read_codes(
    table: pd.DataFrame | Iterable[pd.DataFrame],
    column: str,
    *,
    separator: str = SEPARATOR,
    person: str | None = None,
    visit: str | None = None,
    persons_as_given: bool = True,
) -> CodedRecords:
    """Read the codes of a table.

    Of a table in batches memory holds, but for a batch, four bytes a code and sixteen a record; rows wait on disk.

    Parameters
    ----------
    table : pandas.DataFrame or iterable of such
        The table, whole or in batches. Its cells are compared as texts (`deid.table.cell_text`): ``250.00`` is another
        code than ``250.0``.
    column : str
        Column with one code, or a list of codes, in a cell; the identifier view's ``diagnosis`` is such a one. Empty
        cells are records without codes.
    separator : str
        One character between the codes of a cell.
    person : str, optional
        Column that tells whose row it is: the rows of a person make one record, in the order of their first rows.
        Without it every row is a record.
    visit : str, optional
        Column that tells the visit of a row, within its person: a number or a date.
    persons_as_given : bool
        Whether persons who look alike are different ones; otherwise too many of them, and ids that are written in
        several ways, are refused (`deid.linkage.look_alikes`), as what is to be released must, and the table must be
        whole.

    Returns
    -------
    CodedRecords
        A record a row, or a person, with the first of the rows that each comes from.

    Raises
    ------
    ConfigError
        When a column is missing, too many persons look like others, or rows seem to be visits.
    InputError
        When a row has no person or no visit, or the table no rows.
    """
    if len(separator) != 1 or separator in "()":
        raise ConfigError("the separator of codes is not one character", "for example ; or |")
    if isinstance(table, pd.DataFrame):
        check_names(table)
        if not persons_as_given:
            check_columns(table, [column, *([person] if person else []), *([visit] if visit else [])])
            check_persons(count_look_alikes(table, person), as_given=False)
            check_ids(text_list(table[person], key=True) if person else ())
            shared = repeated_person(Microdata(table, {column: "sensitive"})) if person is None and len(table) else None
            if shared is not None:
                raise ConfigError(
                    f"several rows share a value of {shared!r}, so rows may be visits, not persons",
                    f"name the person's column, such as --person {shared}, or say --persons-as-given",
                )
        table = [table]
    cells: dict[str, int] = {"": 0}
    many = 0
    with Buckets(5) as rows:
        for frame in table:
            found = _rows_of(frame, many, column, person, visit, cells)
            many += len(found)
            rows.add(found)
        require(many, "the table has no rows", "name a table with rows", kind=InputError)
        return _records(rows, [frozenset(split_cell(cell, separator)) for cell in cells], told=visit is not None)


def _rows_of(
    frame: pd.DataFrame, before: int, column: str, person: str | None, visit: str | None, cells: dict[str, int]
) -> Words:
    """Return of each row whose it is (two numbers), its own number, that of its cell of codes, and its visit."""
    check_columns(frame, [column, *([person] if person else []), *([visit] if visit else [])])
    numbers = np.arange(before, before + len(frame), dtype=np.uint64)
    found = np.zeros((len(frame), 5), np.uint64)
    found[:, 0], found[:, 2] = numbers * _SPREAD, numbers
    for name, what in ((person, "person"), (visit, "visit")):
        if name is None or not len(frame):
            continue
        texts = text_column(frame[name], key=what == "person").cat
        if texts.codes.min() < 0:
            row = before + int(texts.codes.argmin()) + 1
            raise InputError(f"a row without a {what}", "fill it in, or remove the row", position=f"row {row}")
        told = pd.Series(texts.categories, dtype=object)
        hashed = [
            pd.util.hash_pandas_object(told, index=False, hash_key=key, categorize=False).to_numpy()
            for key in _HASH_KEYS
        ]
        if what == "person":
            found[:, 0], found[:, 1] = (own[texts.codes] for own in hashed)
        else:
            found[:, 4] = hashed[0][texts.codes]
    coded = Microdata(pd.DataFrame({column: text_column(frame[column])}), {}).codes(column) if len(frame) else None
    if coded is not None:
        places = [cells.setdefault(cell, len(cells)) for cell in coded.values]
        found[:, 3] = np.array([*places, 0], np.uint64)[coded.codes]  # the last place is that of missing cells
    return found


def _records(rows: Buckets, lists: Sequence[frozenset[str]], *, told: bool) -> CodedRecords:
    """Return the records of rows, in the order of their first ones, and where they are ``told`` the visits."""
    labels = sorted(frozenset().union(*lists))
    place = {label: item for item, label in enumerate(labels)}
    sizes = np.array([len(own) for own in lists])
    items = np.array([place[code] for own in lists for code in own], np.int64)
    begins = np.cumsum(sizes) - sizes
    firsts, counts, held = [], [], []
    visits: list[tuple[int, frozenset[str]]] = []
    sets: dict[frozenset[str], frozenset[str]] = {}
    records = 0
    for part in rows.parts():
        part = part[np.lexsort((part[:, 2], part[:, 1], part[:, 0]))]
        new = np.append(True, (part[1:, :2] != part[:-1, :2]).any(axis=1))
        record_of = np.cumsum(new) - 1
        cell = part[:, 3].astype(np.int64)
        lengths = sizes[cell]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        width = max(len(labels), 1)
        keys = np.unique(np.repeat(record_of, lengths) * width + items[np.repeat(begins[cell], lengths) + within])
        firsts.append(part[new, 2].astype(np.int64))
        counts.append(np.bincount(keys // width, minlength=len(firsts[-1])))
        held.append((keys % width).astype(np.int32))
        if told:
            for record, codes in _visits(record_of, part[:, 4], cell, lists):
                visits.append((records + record, sets.setdefault(codes, codes)))
        records += len(firsts[-1])
    first = np.concatenate(firsts)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    whole = Transactions(tuple(labels), offsets, np.concatenate(held), ())
    order = np.argsort(first, kind="stable")
    number = np.argsort(order, kind="stable")
    visits = sorted(((int(number[record]), codes) for record, codes in visits), key=lambda one: one[0])
    return CodedRecords(
        whole.take(order), first[order], tuple(codes for _, codes in visits), tuple(record for record, _ in visits)
    )


def _visits(
    record_of: IntArray, visit: Words, cell: IntArray, lists: Sequence[frozenset[str]]
) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield the codes of each visit that has some, with its record, in the order of rows."""
    by_visit: dict[tuple[int, int], frozenset[str]] = {}
    for record, when, own in zip(record_of.tolist(), visit.tolist(), cell.tolist(), strict=True):
        by_visit[record, when] = by_visit.get((record, when), frozenset()) | lists[own]
    return ((record, codes) for (record, _), codes in by_visit.items() if codes)


def close_code(code: str, known: Iterable[str]) -> str:
    """Return a hint that names the known code nearest to one, if any is near."""
    close = difflib.get_close_matches(code, list(known), 5, 0.5)
    if not close:
        return "no known code is near it"
    # the beginning of a code says most
    best = max(
        close,
        key=lambda other: next((i for i, (a, b) in enumerate(zip(code, other, strict=False)) if a != b), len(code)),
    )
    return f"did you mean {best!r}?"


def codes_hierarchy(data: CodedRecords, name: str | None, *, own_leaf: bool = False) -> Hierarchy | None:
    """Return the hierarchy of a table's codes.

    Parameters
    ----------
    data : CodedRecords
        The records, whose codes must be in it.
    name : str, optional
        ``icd-9-cm``, ``icd-10-cm``, or a file of ARX's form.
    own_leaf : bool
        Codes that are not in it are leaves right below its root; refused otherwise.

    Returns
    -------
    Hierarchy or None
        None without a name, or where no record has a code.

    Raises
    ------
    InputError
        When a code is unknown; names its record and the nearest known code.
    """
    if name is None:
        return None
    codes = data.transactions.labels
    if name not in BUILT:
        hierarchy = read_hierarchy(Path(name))
    elif own_leaf:
        hierarchy = _built(name, codes)
    else:
        return build_hierarchy(name, codes) if codes else None
    unknown = [item for item, code in enumerate(codes) if code not in hierarchy]
    if unknown and not own_leaf:
        item = unknown[0]
        record = int(data.transactions.record_of[data.transactions.items == item][0])
        raise InputError(
            f"{len(unknown)} codes are not in the hierarchy",
            f"for the first, {close_code(codes[item], hierarchy.leaves())} Or let unknown codes be leaves of their own",
            position=f"row {int(data.first[record]) + 1}",
        )
    if not unknown:
        return hierarchy
    return Hierarchy(hierarchy.name, dict(hierarchy.parents) | {codes[item]: hierarchy.root for item in unknown})


def _built(name: str, codes: Sequence[str]) -> Hierarchy:
    """Build a hierarchy of those codes that are codes of the system."""
    parents: dict[str, str] = {}
    for code in codes:
        try:
            parents.update(build_hierarchy(name, [code]).parents)
        except InputError:
            continue
    require(parents, f"no value is a code of {name}", "name another hierarchy", kind=InputError)
    return Hierarchy(name, parents)


def require_codes(asked: Iterable[str], known: Sequence[str], where: str) -> None:
    """Refuse codes of a policy that no record has.

    Parameters
    ----------
    asked : iterable of str
        Codes of the policy.
    known : sequence of str
        Codes of the records.
    where : str
        Place in the policy, for the error.

    Raises
    ------
    ConfigError
        Names the code, which the user wrote, and the nearest one that there is.
    """
    held = frozenset(known)
    for code in sorted(set(asked)):
        if code not in held:
            raise ConfigError(f"no record has the code {code!r}", close_code(code, known), where)


def parse_published(records: Iterable[Sequence[str]], hierarchy: Hierarchy | None = None) -> Transactions:
    """Return published records as transactions: from labels alone, their members.

    Parameters
    ----------
    records : iterable of sequences of str
        The published items of each record: codes, sets ``(a,b)``, inner values of the hierarchy.
    hierarchy : Hierarchy, optional
        Tells what its inner values stand for.
    """
    rows = [frozenset(record) for record in records]
    labels = sorted(frozenset().union(*rows))
    members = []
    for label in labels:
        if label.startswith("(") and label.endswith(")"):
            members.append(frozenset(part.strip() for part in label[1:-1].split(",")))
        elif hierarchy is not None and label in hierarchy:
            members.append(frozenset(hierarchy.leaves(label)) | {label})
        else:
            members.append(frozenset((label,)))
    return from_rows(labels, rows, members)
