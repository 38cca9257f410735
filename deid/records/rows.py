"""Tables of plain text (CSV, TSV) read as places: each cell is a text behind its column's name, written as it stood.

Format: RFC 4180, with the signs between cells that programs write.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from deid.base.errors import FormatError
from deid.records.record import TEXT, Change, Place, Record, assemble, fit, splice

_SIGNS = ",;\t|"
_HINT = "save the table anew, as CSV with quotes around cells that hold quotes or line ends"
_MOST_CELLS = 500_000
_PAIR = re.compile(r'""|.', re.DOTALL)


def read(data: bytes, source: str, charset: str) -> Record:
    """Read one table whose first row names its columns.

    Parameters
    ----------
    data, source, charset
        The table, its characters, and the codec that makes one of the other.

    Raises
    ------
    FormatError
        When a quote does not close, or something stands behind one that does.
    """
    first = re.sub(r'"[^"]*"', "", source.partition("\n")[0])
    places = cells(source, charset, max(_SIGNS, key=first.count), len(source) - len(source.lstrip("\ufeff")))
    return assemble(data, source, charset, places, known=(), patient=None, date=None)


def cells(source: str, charset: str, sign: str, at: int = 0, end: int | None = None) -> list[Place]:
    """Return the cells of a table from one place of a text to another; ``sign`` stands between them.

    Raises
    ------
    FormatError
        As `read` does.
    """
    end = len(source) if end is None else end
    stop = re.escape(sign)
    cell = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{stop}"\r\n][^{stop}\r\n]*)?)({stop}|\r?\n|\r|\Z)')
    places: list[Place] = []
    names: list[str] = []
    row, column = 1, 0
    while at < end:
        found = cell.match(source, at, end)
        if found is None:
            raise FormatError("a table whose quotes do not close", _HINT, "", f"row {row}")
        quoted = found[1] is not None
        raw = found[1] if quoted else found[2] or ""
        if row == 1:
            names.append(" ".join(raw.split()))
        if len(places) > _MOST_CELLS:
            raise FormatError(f"a table of more than {_MOST_CELLS:,} cells", "send it by itself, and name its columns")
        if raw.strip():
            if places and row > 1:  # the name of the column stands before the cell, in the text alone
                label = names[column] if column < len(names) else ""
                places[-1] = replace(places[-1], behind=f"{places[-1].behind}{label}: " if label else "\n")
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
            row, column = row + 1, 0
            if places:
                places[-1] = replace(places[-1], behind="\n\n")
    return places


def _encode_cell(charset: str, sign: str, raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return the characters of a cell; without quotes, what would end it is a blank."""

    def write(new: str, *_: str) -> str:
        new = fit(new.replace("\0", ""), charset)
        return re.sub(rf'[{re.escape(sign)}"\r\n]', " ", new) if sign else new.replace('"', '""')

    return splice(raw, place, changes, write)
