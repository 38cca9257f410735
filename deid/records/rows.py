"""Tables of plain text (CSV, TSV) read as places: each cell is a text behind its column's name, written as it stood.

Format: RFC 4180, with the signs between cells that programs write.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from deid.base.errors import FormatError
from deid.base.resources import shipped_table
from deid.records.answers import question_of
from deid.records.record import TEXT, Change, Pack, Place, Record, assemble, changed, fit, splice

_SIGNS = ",;\t|"
_HINT = "save the table anew, as CSV with quotes around cells that hold quotes or line ends"
_MOST_CELLS = 500_000
BEGIN = "\ufeff=== sheet "
"""How several tables begin that are one text."""
_HEAD = re.compile(r"=== sheet [0-9]{1,4} of [0-9]{1,4}: (?=\S)([^\r\n]*) ===\r?\n")
"""The line before each of them."""
_LINE = re.compile(r'(?:"[^"]*"|[^\r\n])+')
"""A line; what stands in quotes may hold line ends."""
_ASKS, _ANSWERS = (frozenset(shipped_table("labels/columns.toml")["answers"][n].split()) for n in ("asks", "names"))
"""Names of columns that ask, and of those whose cells answer what the cell before asks."""
_PAIR = re.compile(r'""|.', re.DOTALL)


def joined(tables: Sequence[tuple[str, str]]) -> str:
    """Return several tables by name as one text, which `read` takes apart again; commas stand between cells."""
    count = len(tables)
    heads = (
        f"{BEGIN[1:]}{n} of {count}: {' '.join(name.split()) or '-'} ===\r\n" for n, (name, _) in enumerate(tables, 1)
    )
    return BEGIN[0] + "".join([head + table for head, (_, table) in zip(heads, tables, strict=True)])


def is_joined(text: str) -> bool:
    """Tell whether a text is one of `joined` tables."""
    return text.startswith(BEGIN) and _HEAD.match(text, 1) is not None


def read(data: bytes, source: str, charset: str, pack: Pack | None = None) -> Record:
    """Read a table whose first row that is not blank names its columns, or several that are joined.

    Parameters
    ----------
    data, source, charset
        The table, its characters, and the codec that makes one of the other.
    pack : callable, optional
        What makes ``data`` of characters instead, where that is no text.

    Raises
    ------
    FormatError
        When a quote does not close, or something stands behind one that does.
    """
    several = is_joined(source)
    first = next((line[0] for line in _LINE.finditer(source) if line[0].strip("\ufeff \t")), "")
    first = re.sub(r'"[^"]*"', "", first)
    sign = "," if several else max(_SIGNS, key=first.count)
    stop = re.escape(sign)
    cell = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{stop}"\r\n][^{stop}\r\n]*)?)({stop}|\r?\n|\r|\Z)')
    places: list[Place] = []
    names: list[str] = []
    row, column, heading, asked = 1, 0, 1, ""
    at = len(source) - len(source.lstrip("\ufeff"))
    while at < len(source):
        if several and column == 0 and (head := _HEAD.match(source, at)) is not None:
            row, names, heading = 1, [], 1
            places.append(Place("sheet", *head.span(1), TEXT, head[1], _encode_head, behind="\n\n"))
            at = head.end()
            continue
        found = cell.match(source, at)
        if found is None:
            raise FormatError("a table whose quotes do not close", _HINT, "", f"row {row}")
        quoted = found[1] is not None
        raw = found[1] if quoted else found[2] or ""
        if row == heading:
            names.append(" ".join(raw.split()))
        if len(places) > _MOST_CELLS:
            raise FormatError(f"a table of more than {_MOST_CELLS:,} cells", "send it by itself, and name its columns")
        if raw.strip():
            if places and row > heading:  # the name of the column stands before the cell, in the text alone
                label = names[column] if column < len(names) else ""
                if _called(label) in _ANSWERS and _called(names[column - 1]) in _ASKS:
                    label = question_of(asked) or label
                places[-1] = places[-1].varied(behind=f"{places[-1].behind}{label}: " if label else "\n")
            asked = raw
            start = found.start(1 if quoted else 2)
            text, starts = raw, None
            if '""' in raw and quoted:
                starts = [one.span() for one in _PAIR.finditer(raw)]
                text = raw.replace('""', '"')
            encode = functools.partial(_encode_cell, charset, "" if quoted else sign)
            places.append(Place(f"row {row}/{column + 1}", start, start + len(raw), TEXT, text, encode, starts))
        column += 1
        at = found.end()
        if found[3] != sign:
            if row == heading and not any(names):
                heading, names = row + 1, []
            row, column, asked = row + 1, 0, ""
            if places:
                places[-1] = places[-1].varied(behind="\n\n")
    return assemble(data, source, pack or charset, places, known=(), patient=None, date=None)


def _called(name: str) -> str:
    """Return the name of a column as lists have it."""
    return name.lower().rstrip(" :")


def _encode_head(raw: str, place: Place, changes: Sequence[Change]) -> str:
    return " ".join(changed(place.text, changes).split()) or "-"


def _encode_cell(charset: str, sign: str, raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return the characters of a cell; without quotes, what would end it is a blank."""

    def write(new: str, *_: str) -> str:
        new = fit(new.replace("\0", ""), charset)
        return re.sub(rf'[{re.escape(sign)}"\r\n]', " ", new) if sign else new.replace('"', '""')

    return splice(raw, place, changes, write)
