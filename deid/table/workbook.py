"""Sheets of Excel workbooks (.xlsx, .xlsm) as tables, read cell by cell without running or guessing anything.

A cell is what Excel last showed: of a formula its stored result. What would be read wrongly without a word is refused
with its address: a formula that nothing computed yet, merged cells (all but the first are empty in the file), and
errors such as ``#REF!``; ``#N/A`` is a missing value. Rows that are wholly empty are no rows.

Written are numbers and truth values as such and everything else as text, in the form of `deid.table.cell_text`: no
text becomes a formula, a date or a number, and no time of writing stands in the file.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from deid.base.errors import ConfigError, DeidError, FormatError, OutputError
from deid.base.late import pd
from deid.base.nearest import nearest
from deid.table.cell_text import cell_text
from deid.table.scalars import EXACT

SUFFIXES = (".xlsx", ".xlsm")
"""Endings of the files that are read; the first is written."""
_SHEET = "Sheet1"
_ROWS, _COLUMNS, _CHARACTERS = 1 << 20, 1 << 14, 32767
"""What a sheet can hold: rows, columns, characters in a cell."""
_INFLATED = 4 << 30
"""Bytes that the parts of a workbook may have; a million rows of ten columns have half a gigabyte."""
_BLOCK, _OVERLAP = 1 << 22, 1 << 16
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*\bref=\"([A-Z0-9:]+)\"")
_EMPTY_FORMULA = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_ADDRESS = re.compile(rb"\br=\"([A-Z]+[0-9]+)\"")
_CODED = re.compile("_x([0-9A-Fa-f]{4})_")
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
    import warnings

    import openpyxl

    where = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > _INFLATED:
                raise FormatError("the workbook inflates to more than 4 GB", "save the sheet as CSV", where)
            with warnings.catch_warnings(action="ignore"):  # of styles and dates out of range; they could quote cells
                book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
                try:
                    found = _sheet(book, sheet)
                    _check_part(archive, found._worksheet_path)
                    return _columns(found)
                finally:
                    book.close()
    except DeidError as error:
        raise type(error)(error.what, error.hint, where, error.position) from None
    except Exception:  # whatever a library says of a damaged file can quote it
        raise FormatError("the workbook is damaged, or no workbook", "open and save it again", where) from None


def _sheet(book: Any, named: str | None) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if named is None and len(sheets) == 1:
        return next(iter(sheets.values()))
    if named not in sheets:
        what = "the workbook has several sheets" if named is None else f"there is no sheet {named!r}"
        raise ConfigError(what, nearest(named or "", sheets, "name one with --worksheet: it has"))
    return sheets[named]


def _check_part(archive: zipfile.ZipFile, part: str) -> None:
    """Refuse merged cells and formulas without a result, which read as empty cells."""
    with archive.open(part) as stream:
        text = stream.read(_BLOCK)
        while text:
            if merged := _MERGED.search(text):
                cells = merged[1].decode()
                hint = "unmerge them and fill every cell"
                raise FormatError("cells are merged: all but the first are empty", hint, position=f"cells {cells}")
            for formula in _EMPTY_FORMULA.finditer(text):
                if b't="str"' not in formula[1]:  # the result that is an empty text
                    at = _ADDRESS.search(formula[1])
                    raise FormatError(
                        "a formula has no stored result",
                        "open the file in a spreadsheet program and save it",
                        position=f"cell {at[1].decode()}" if at else "",
                    )
            more = stream.read(_BLOCK)
            text = text[-_OVERLAP:] + more if more else b""


def _columns(sheet: Any) -> tuple[list[str], list[list[Any]]]:
    sheet.reset_dimensions()  # what the file says of its size need not be true
    rows = _rows(sheet)
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


def _rows(sheet: Any) -> Iterator[list[Any]]:
    """Yield the cells of all rows that are not empty."""
    for cells in sheet.iter_rows():
        row = [_value(cell) for cell in cells]
        if any(cell is not None for cell in row):
            yield row


def _value(cell: Any) -> Any:
    value = cell.value
    if isinstance(value, str):
        if cell.data_type == "e":
            if value == "#N/A":
                return None
            raise FormatError(
                f"a cell holds the error {value}", "correct or clear it", position=f"cell {cell.coordinate}"
            )
        if "_x" in value:
            value = _CODED.sub(lambda code: chr(int(code[1], 16)), value)
        return value if value.strip() else None
    return value


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
    if _HALF.search(text):
        raise OutputError("a cell holds half of a character", "correct its encoding")
    return _TO_CODE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
