"""Sheets of Excel workbooks (.xlsx, .xlsm) as tables, read by `deid.io.sheets`.

Written are numbers and truth values as such and everything else as text, in the form of `deid.table.cell_text`: no
text becomes a formula, a date or a number, and no time of writing stands in the file.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Sequence
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from deid.base.errors import ConfigError, FormatError, OutputError, require
from deid.base.late import pd
from deid.base.nearest import nearest
from deid.io.sheets import check_sheet, opened, rows_of
from deid.table.cell_text import cell_text
from deid.table.scalars import EXACT

SUFFIXES = (".xlsx", ".xlsm")
"""Endings of the files that are read; the first is written."""
_SHEET = "Sheet1"
_ROWS, _COLUMNS, _CHARACTERS = 1 << 20, 1 << 14, 32767
"""What a sheet can hold: rows, columns, characters in a cell."""
_INFLATED = 4 << 30
"""Bytes that the parts of a workbook may have; a million rows of ten columns have half a gigabyte."""
_TO_CODE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_HALF = re.compile("[\ud800-\udfff]")
_MADE = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*(</)")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def read_workbook(path: Path, sheet: str | None) -> tuple[list[str], list[list[Any]]]:
    """Read a sheet of a workbook.

    Parameters
    ----------
    path : Path
        The file; macros of it are never run.
    sheet : str or None
        Name of the sheet; the only one where there is one.

    Returns
    -------
    names : list of str
        What the first row that is not empty calls the columns.
    columns : list of lists
        Cells of each column: text, number, truth value, date, time, or None.

    Raises
    ------
    ConfigError
        When a sheet must be named, or there is none of that name.
    FormatError
        When the file is damaged or inflates to more than 4 GB, when a row has cells beyond the header, or a cell is
        merged, holds an error, or a formula without a stored result. Names the cell, never what it holds.
    """
    with opened(path, _INFLATED, str(path)) as (archive, book):
        found = _sheet(book, sheet)
        check_sheet(archive, found)
        return _columns(found)


def _sheet(book: Any, named: str | None) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if named is None and len(sheets) == 1:
        return next(iter(sheets.values()))
    if named not in sheets:
        what = "the workbook has several sheets" if named is None else f"there is no sheet {named!r}"
        raise ConfigError(what, nearest(named or "", sheets, "name one with --worksheet: it has"))
    return sheets[named]


def _columns(sheet: Any) -> tuple[list[str], list[list[Any]]]:
    rows = rows_of(sheet)
    header = next(rows, [])
    while header and header[-1] is None:
        header.pop()
    names = [cell_text(cell) or "" for cell in header]
    columns: list[list[Any]] = [[] for _ in names]
    for row in rows:
        if any(cell is not None for cell in row[len(names) :]):
            raise FormatError("a row has cells beyond the header", "the first row must name every column")
        for column, cell in zip_longest(columns, row[: len(names)]):
            column.append(cell)
    return names, columns


def write_workbook(frame: pd.DataFrame, stream: BinaryIO) -> None:
    """Write a table as a workbook of one sheet.

    Raises
    ------
    OutputError
        When the table has more rows or columns than a sheet can hold, or a cell more than 32,767 characters: Excel
        would cut it.
    """
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    if len(frame) >= _ROWS or len(frame.columns) > _COLUMNS:
        raise OutputError("the table has more rows or columns than a sheet of Excel holds", "write .csv or .parquet")
    names, columns = [_coded(str(name)) for name in frame.columns], [_cells(frame[name]) for name in frame.columns]
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(_SHEET)

    def cell(value: Any) -> Any:
        if isinstance(value, str):
            if value[:1] not in "=#":
                return value
            text, kind = value, "s"  # as text whatever it looks like: '=1+1' is no formula, '#N/A' no error
        elif isinstance(value, float) and float(f"{value:.16g}") != value:
            text, kind = repr(value), "n"  # the library would write 16 digits
        else:
            return value
        own: Any = WriteOnlyCell(sheet, "")
        own._value, own.data_type = text, kind
        return own

    sheet.append([*map(cell, names)])
    for row in zip(*columns, strict=True):
        sheet.append([*map(cell, row)])
    made = BytesIO()
    book.save(made)
    with zipfile.ZipFile(made) as parts, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in parts.infolist():
            data = parts.read(part)
            if part.filename == "docProps/core.xml":
                data = _MADE.sub(rb"\g<1>1980-01-01T00:00:00Z\3", data)
            archive.writestr(zipfile.ZipInfo(part.filename, _EPOCH), data, zipfile.ZIP_DEFLATED)


def _cells(column: pd.Series) -> Sequence[Any]:
    """Return what is written of a column: numbers and truth values that Excel holds exactly, else texts."""
    kept = {}

    def written(value: Any) -> Any:
        if isinstance(value, bool):
            return value
        if math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and abs(value) < EXACT:
            return value
        text = cell_text(value)
        return None if text is None else _coded(value if isinstance(value, str) else text)

    if isinstance(column.dtype, pd.CategoricalDtype):
        kept = {value: written(value) for value in column.cat.categories.tolist()}
        return [kept.get(value) for value in column.astype(object).tolist()]
    return [written(value) for value in column.astype(object).tolist()]


def _coded(text: str) -> str:
    """Return a text as Excel writes it: characters that XML does not have by their codes."""
    if len(text) > _CHARACTERS:
        raise OutputError(f"a cell has more than {_CHARACTERS:,} characters: Excel cuts it", "write .csv or .parquet")
    require(not _HALF.search(text), "a cell holds half of a character", "correct its encoding", kind=OutputError)
    return _TO_CODE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
