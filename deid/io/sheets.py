"""Sheets of Excel workbooks (.xlsx), cell by cell, without running or guessing anything.

A cell is what Excel last showed: of a formula its stored result. What would be read wrongly without a word is refused
with its address: a formula that nothing computed yet, merged cells (all but the first are empty in the file), and
errors such as ``#REF!``; ``#N/A`` is a missing value. Rows that are wholly empty are no rows.

Format: ISO/IEC 29500-1 (SpreadsheetML), read by openpyxl.
"""

from __future__ import annotations

import csv
import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, BinaryIO

from deid.base.errors import DeidError, FormatError
from deid.io.xml_parts import whole
from deid.records.zip_members import Member, unpacked

_BLOCK, _OVERLAP = 1 << 22, 1 << 16
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*\bref=\"([A-Z0-9:]+)\"")
_EMPTY_FORMULA = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_ADDRESS = re.compile(rb"\br=\"([A-Z]+[0-9]+)\"")
_ERROR = re.compile("#[A-Z/0]{1,8}[!?]?")
_CODED = re.compile("_x([0-9A-Fa-f]{4})_")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_MOST_STEPS = 4_000_000
"""Cells and rows, empty ones too, that an attached workbook may have: a few bytes can say that a row is a million."""
_MEMBERS = (
    (r"\[Content_Types\]\.xml|(xl/|xl/worksheets/|docProps/)?_rels/[A-Za-z]*[0-9]*(\.xml)?\.rels", ""),
    (r"xl/(workbook|styles|sharedStrings|calcChain|metadata)\.xml|xl/worksheets/sheet[0-9]+\.xml", ""),
    (r"xl/theme/theme[0-9]+\.xml|xl/tables/table[0-9]+\.xml|xl/printerSettings/.*\.bin", ""),
    (r"docProps/(core|app|custom)\.xml|docMetadata/LabelInfo\.xml|[A-Za-z/]+/", ""),
    (r".*(vba|macro).*|xl/(activeX|ctrlProps)/.*", "it carries macros, or controls that run programs"),
    (r"xl/embeddings/.*", "it carries another document inside"),
    (r"xl/(threadedComments|comments|persons).*|.*vmlDrawing.*", "it carries remarks on cells"),
    (r"xl/(charts|chartsheets|drawings|media|diagrams)/.*", "it carries charts or pictures"),
    (r"xl/(pivot|slicer|timeline).*", "it carries a pivot table, which holds the rows that it is made of"),
    (r"xl/(externalLinks|connections|queryTables|model).*", "it carries data of other files"),
)
"""Members of a workbook by pattern, with the reason where they refuse it; so does one that no pattern names."""
_HINT = "save the sheets as CSV with the program that wrote them, and give that"


@contextmanager
def opened(source: Path | BinaryIO, most: int, where: str = "") -> Iterator[tuple[zipfile.ZipFile, Any]]:
    """Open a workbook: its archive and its book, of which values alone are read.

    Parameters
    ----------
    source : Path or binary stream
    most : int
        Bytes that its parts may have when they are unpacked.
    where : str
        Names the file in errors.

    Raises
    ------
    FormatError
        When it is damaged or too large; never says what it holds.
    """
    import warnings

    import openpyxl

    try:
        with zipfile.ZipFile(source) as archive:
            if sum(part.file_size for part in archive.infolist()) > most:
                raise FormatError(f"the workbook inflates to more than {most >> 20:,} MB", "save the sheet as CSV")
            with warnings.catch_warnings(action="ignore"):  # of styles and dates out of range; they could quote cells
                book = openpyxl.load_workbook(source, read_only=True, data_only=True, keep_links=False)
                try:
                    yield archive, book
                finally:
                    book.close()
    except DeidError as error:
        raise type(error)(error.what, error.hint, where, error.position) from None
    except Exception:  # whatever a library says of a damaged file can quote it
        raise FormatError("the workbook is damaged, or no workbook", "open and save it again", where) from None


def check_sheet(archive: zipfile.ZipFile, sheet: Any) -> None:
    """Refuse merged cells and formulas without a result, which read as empty cells."""
    with archive.open(sheet._worksheet_path) as stream:
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


def rows_of(sheet: Any, most: int | None = None) -> Iterator[list[Any]]:
    """Yield the values of all rows that are not empty: text, number, truth value, date, time, or None.

    Raises
    ------
    FormatError
        When a cell holds an error, or there are more than ``most`` cells and rows, empty ones too.
    """
    sheet.reset_dimensions()  # what the file says of its size need not be true
    steps = 0
    for cells in sheet.iter_rows():
        steps += 1 + len(cells)
        if most is not None and steps > most:
            raise FormatError(f"a sheet that goes on for more than {most:,} cells", _HINT)
        row = [_value(cell) for cell in cells]
        if any(cell is not None for cell in row):
            yield row


def _value(cell: Any) -> Any:
    value = cell.value
    if isinstance(value, str):
        if cell.data_type == "e":
            if value == "#N/A":
                return None
            said = f" {value}" if _ERROR.fullmatch(value) else ""  # a file can say that any word is one
            raise FormatError(
                f"a cell holds the error{said}", "correct or clear it", position=f"cell {cell.coordinate}"
            )
        if "_x" in value:
            value = _CODED.sub(lambda code: chr(int(code[1], 16)), value)
        return value if value.strip() else None
    return value


def tables_of(data: bytes, members: Sequence[Member], most: int) -> list[tuple[str, str]]:
    """Return the sheets of a workbook by name, hidden ones too, each as a table of plain text (RFC 4180).

    Styles, formulas and properties are not in it. What else a workbook can carry refuses it.

    Parameters
    ----------
    data, members
        The workbook, and the members of its archive.
    most : int
        Bytes that its parts may have when they are unpacked.

    Raises
    ------
    FormatError
        When it is damaged, beyond bounds, or carries more than cells.
    """
    for member in members:
        why = next((why for pattern, why in _MEMBERS if re.fullmatch(pattern, member.name)), "a part that is not known")
        if why:
            raise FormatError(f"the document is refused: {why}", _HINT)
        content = unpacked(data, member)
        if b"macroEnabled" in content[:4096]:
            raise FormatError("the document is refused: it carries macros", _HINT)
        if member.name.endswith((".xml", ".rels")):
            whole(content, "utf-8")
    found = []
    with opened(BytesIO(data), most) as (archive, book):
        for sheet in book.worksheets:
            check_sheet(archive, sheet)
            text = StringIO(newline="")
            writer = csv.writer(text)
            for row in rows_of(sheet, _MOST_STEPS // len(book.worksheets)):
                writer.writerow(map(_shown, row))
            found.append((_UNWRITABLE.sub(" ", sheet.title), text.getvalue()))
    return found


def _shown(value: Any) -> str:
    """Return what stands for a value in a table of plain text."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "seconds")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _UNWRITABLE.sub(" ", str(value))
