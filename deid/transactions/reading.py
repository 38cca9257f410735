"""Codes of a table: a column of lists, or a long table with one row a diagnosis, or both."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import ConfigError, InputError
from deid.base.late import pd
from deid.base.options import option
from deid.linkage.look_alikes import check_persons, count_look_alikes
from deid.table.cell_text import text_column
from deid.table.hierarchy import Hierarchy, read_hierarchy
from deid.table.hierarchy_builders import build_hierarchy
from deid.table.microdata import NA_CODE, Microdata, check_columns, check_names
from deid.transactions.transactions import Transactions, from_rows

SEPARATOR = ";"
_CODES = "Reading the codes"
BUILT = ("icd-9-cm", "icd-10-cm")
"""Hierarchies that need no file."""


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """The codes of a table.

    Parameters
    ----------
    transactions : Transactions
        A record a row, or a person.
    rows : tuple of tuples of int
        Rows of the table behind each record.
    visits : tuple of frozenset of str
        The codes of each visit of a record, visits with codes only; empty when no visit is named.
    visit_of : tuple of int
        Record of each visit.
    """

    transactions: Transactions
    rows: tuple[tuple[int, ...], ...]
    visits: tuple[frozenset[str], ...] = ()
    visit_of: tuple[int, ...] = ()

    def order(self, cells: Sequence[Sequence[str]] = ()) -> list[int]:
        """Return the records in the order of what they hold: codes, cells beside them, visits.

        Records that are equal in all of that can stand for each other, so what is done in this order does not depend on
        that of the table.
        """
        texts = self.transactions.texts()
        visits: list[list[list[str]]] = [[] for _ in texts]
        for codes, record in zip(self.visits, self.visit_of, strict=True):
            visits[record].append(sorted(codes))
        return sorted(range(len(texts)), key=lambda i: (texts[i], cells[i] if cells else (), sorted(visits[i])))

    def take(self, records: Sequence[int]) -> CodedRecords:
        """Return the records in another order."""
        visits: list[list[frozenset[str]]] = [[] for _ in self.rows]
        for codes, record in zip(self.visits, self.visit_of, strict=True):
            visits[record].append(codes)
        return CodedRecords(
            self.transactions.take(records),
            tuple(self.rows[record] for record in records),
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

    def read(self, frame: pd.DataFrame, *, persons_as_given: bool = True) -> CodedRecords:
        """Return the codes of a table; see `read_codes`."""
        return read_codes(
            frame, self.codes, separator=self.code_separator, person=self.person, visit=self.visit,
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
    frame: pd.DataFrame,
    column: str,
    *,
    separator: str = SEPARATOR,
    person: str | None = None,
    visit: str | None = None,
    persons_as_given: bool = True,
) -> CodedRecords:
    """Read the codes of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table. Its cells are compared as texts (`deid.table.cell_text`): ``250.00`` is another code than ``250.0``.
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
        Whether persons who look alike are different ones; otherwise too many of them are refused
        (`deid.linkage.look_alikes.check_persons`), as what is to be released must.

    Returns
    -------
    CodedRecords
        A record a row, or a person, with the rows that each comes from.

    Raises
    ------
    ConfigError
        When a column is missing, or too many persons look like others.
    InputError
        When a row has no person or no visit, or the table no rows.
    """
    if len(separator) != 1 or separator in "()":
        raise ConfigError("the separator of codes is not one character", "for example ; or |")
    check_names(frame)
    check_columns(frame, [column, *([person] if person else []), *([visit] if visit else [])])
    if not persons_as_given:
        check_persons(count_look_alikes(frame, person), as_given=False)
    texts = {name: text_column(frame[name]) for name in (column, visit) if name}
    frame = frame.assign(**texts | ({person: text_column(frame[person], key=True)} if person else {}))
    data = Microdata(frame, {}, person=person)
    coded = data.codes(column)
    lists = [frozenset(split_cell(value, separator)) for value in coded.values] + [frozenset()]
    if person is None:
        groups: list[tuple[int, ...]] = [(row,) for row in range(len(frame))]
        record_of = np.arange(len(frame))
    else:
        found: dict[int, list[int]] = {}
        for row, code in enumerate(data.codes(person).codes.tolist()):
            found.setdefault(code, []).append(row)
        groups = [tuple(rows) for rows in found.values()]
        record_of = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        record_of[[row for rows in groups for row in rows]] = record_of.copy()
    visits: list[frozenset[str]] = []
    visit_of: list[int] = []
    if visit is not None:
        when = data.codes(visit).codes
        if when.min() == NA_CODE:
            raise InputError("a row without a visit", "fill it in", position=f"row {int(when.argmin()) + 1}")
        for record, rows in enumerate(groups):
            by_visit: dict[int, frozenset[str]] = {}
            for row in rows:  # NA_CODE is the last place
                by_visit[int(when[row])] = by_visit.get(int(when[row]), frozenset()) | lists[coded.codes[row]]
            for codes in by_visit.values():
                if codes:
                    visits.append(codes)
                    visit_of.append(record)
    return CodedRecords(_joined(lists, coded.codes, record_of), tuple(groups), tuple(visits), tuple(visit_of))


def _joined(lists: Sequence[frozenset[str]], cells: IntArray, record_of: IntArray) -> Transactions:
    """Return the records of rows, whose cells are sets of codes; without a set for each row."""
    labels = sorted(frozenset().union(*lists))
    place = {label: item for item, label in enumerate(labels)}
    sizes = np.array([len(own) for own in lists])
    items = np.array([place[code] for own in lists for code in own], np.int64)
    begins = np.cumsum(sizes) - sizes
    lengths = sizes[cells]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    keys = np.repeat(record_of, lengths) * max(len(labels), 1) + items[np.repeat(begins[cells], lengths) + within]
    held = np.unique(keys)
    counts = np.bincount(held // max(len(labels), 1), minlength=int(record_of.max(initial=-1)) + 1)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Transactions(tuple(labels), offsets, (held % max(len(labels), 1)).astype(np.int32), ())


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
            position=f"row {data.rows[record][0] + 1}",
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
    if not parents:
        raise InputError(f"no value is a code of {name}", "name another hierarchy")
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
