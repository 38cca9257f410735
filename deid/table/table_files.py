"""Tables of rows as data frames: CSV, Parquet, Excel, SAS, Stata, SPSS, SQL.

Everything is read as text first and becomes numbers only where nothing is lost: a column of ``02139`` stays text. Text
columns are categorical, which makes a million rows small. Empty cells are missing values.

Whether a column is numbers depends on all its cells. Where one row must not change how another is read (diagnosis
codes, persons, all that is released with differential privacy), columns are read as texts (`deid.table.cell_text`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from deid.base.errors import FormatError, InputError, require, told_of
from deid.base.files import refused_as
from deid.base.late import pd
from deid.base.nearest import check_named
from deid.io.batches import open_parquet
from deid.io.database_places import DATABASES, is_database
from deid.io.encoding import is_binary
from deid.table import statistics_files, workbook
from deid.table.cell_text import cell_text
from deid.table.column_types import loose_array, narrowed, read_as_text, texts, typed_array
from deid.table.database_tables import Cells, cell_batches
from deid.table.scalars import EXACT

_SEPARATORS = (",", ";", "\t", "|")
_LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line of CSV; `str.splitlines` knows signs that may stand in a name."""
_HEAD = 1 << 16
PARQUET = (".parquet", ".pq")
_ZIP = b"PK\x03\x04"
_BATCH = 100_000
"""Rows of a batch of `read_batches`."""
_DECIMAL = 38
"""Digits of a decimal of 128 bits."""


def read_table(
    place: str | Path,
    *,
    separator: str | None = None,
    table: str | None = None,
    text: Collection[str] | bool = (),
    exact: bool = False,
) -> pd.DataFrame:
    """Read a table.

    Parameters
    ----------
    place : str or Path
        A CSV or Parquet file, an Excel workbook (.xlsx), a file of SAS, Stata or SPSS (extra ``statistics``), a SQLite
        file (.db, .sqlite), or a URL ``postgresql://user@host/database``.
    separator : str, optional
        Separator of a CSV file; told by its first lines when not given.
    table : str, optional
        Table of a database, where the URL does not name it, or sheet of a workbook that has several.
    text : collection of str, or True
        Columns that are texts (`deid.table.cell_text`) even where all cells are numbers: diagnosis codes, for which
        250.00 is not 250.0. True for all columns: then what is read of a row depends on this row and the header alone.
    exact : bool
        Lose nothing of any cell, for tables that are written again: a column becomes numbers only where every number is
        written back as it was read; 2.50 stays text (`numbers_kept_as_text`), whole numbers stay whole beside missing
        ones.

    Returns
    -------
    pandas.DataFrame
        Numbers as int64 or float64 (``exact``: Int64 beside missing ones), other columns categorical.

    Raises
    ------
    InputError
        When the file cannot be read, is empty, damaged or ragged, or has two columns of one name.
    ConfigError
        When the database's table is not named, or there is none of that name.
    """
    name = str(place)
    path, suffix = Path(name), Path(name).suffix.lower()
    if "://" in name or (suffix in DATABASES and not path.is_file()):
        return _from_database(name, table, text, exact)
    _require_file(path)
    hint = "check the path and its permissions"
    with refused_as(InputError, "cannot be read", hint, name), path.open("rb") as stream:
        head = stream.read(_HEAD)
    if suffix in statistics_files.SUFFIXES:
        return _from_cells(statistics_files.read_statistics(path), name, text, exact, loose_array)
    kind = is_binary(head)
    if head.startswith(_ZIP) and (suffix in workbook.SUFFIXES or "Excel" in kind):
        return _from_cells(workbook.read_workbook(path, table), name, text, exact, loose_array)
    if kind not in ("", "Parquet", "SQLite"):
        hint = "save the table as .xlsx without a password, CSV or Parquet"
        raise FormatError(f"this is no table but {kind}", hint, name)
    if suffix in DATABASES:
        return _from_database(name, table, text, exact)
    if kind == "Parquet" or suffix in PARQUET:
        return _from_parquet(path, text, exact)
    return _from_csv(path, head, separator, text, exact)


def read_batches(
    place: str | Path, *, columns: Sequence[str] = (), separator: str | None = None, table: str | None = None
) -> Generator[pd.DataFrame]:
    """Yield the rows of a table in batches, so that memory does not grow with a table of Parquet or of a database.

    All cells are texts, so what is read of a row is what `read_table` reads of it. A table of another kind is one
    batch.

    Parameters
    ----------
    place, separator, table
        As those of `read_table`; also a folder of Parquet.
    columns : sequence of str
        Those that are wanted; all by default.

    Yields
    ------
    pandas.DataFrame
        At least one, which may have no rows.

    Raises
    ------
    ConfigError
        When a column is not there.
    InputError, FormatError
        See `read_table`; in the middle of a table, too.
    """
    name = str(place)
    path = Path(name)
    if is_database(name):
        with closing(cell_batches(name, table, _BATCH)) as batches:
            for found in batches:
                yield _only(_from_cells(found, name, True, False, typed_array), columns)
        return
    files = parquet_files(path)
    if not files:
        yield _only(read_table(name, separator=separator, table=table, text=True), columns)
        return
    first: list[str] = []
    for file in files:
        with file.open("rb") as stream:
            with told_of(str(file), FormatError):
                opened = open_parquet(stream)
            names = list(opened.schema_arrow.names)
            _check_names(names, str(file))
            first = first or names
            if sorted(names) != sorted(first):
                raise FormatError("this part has other columns than the first", "write the table again", str(file))
            check_named(names, columns)
            yield from _parquet_batches(opened, columns or first, str(file))


def read_columns(
    place: str | Path, columns: Sequence[str], *, separator: str | None = None, table: str | None = None
) -> pd.DataFrame:
    """Read some columns of a table as texts: what `read_table` reads, without ever holding the others.

    Parameters and errors are those of `read_batches`.
    """
    from pandas.api.types import union_categoricals

    batches = list(read_batches(place, columns=list(dict.fromkeys(columns)), separator=separator, table=table))
    return pd.DataFrame({name: union_categoricals([batch[name] for batch in batches]) for name in batches[0]})


def column_names_of(place: str | Path, *, separator: str | None = None, table: str | None = None) -> list[str]:
    """Return the names of a table's columns; parameters and errors are those of `read_batches`."""
    with closing(read_batches(place, separator=separator, table=table)) as batches:
        return list(map(str, next(batches).columns))


def _require_file(path: Path) -> None:
    """Refuse what would keep a reader waiting: a pipe, also one that a shell makes of ``<(...)``, or a device."""
    regular = path.is_file() or path.is_dir() or not path.exists()
    hint = "write the table to a file first: it is read from its beginning more than once"
    require(regular, "this is a pipe or a device", hint, str(path), kind=InputError)


def parquet_files(path: Path) -> list[Path]:
    """Return the files of a table of Parquet, which may be a folder of parts; none for a table of another kind."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*.parquet") if file.is_file())
    _require_file(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError:
        return []
    return [path] if is_binary(head) == "Parquet" else []


def copy_to_parquet(place: str, table: str | None, target: Path) -> None:
    """Copy a table of a database into a file of Parquet, in batches, with the types that `read_table` gives it.

    Parameters
    ----------
    place, table
        As those of `read_table`.
    target : Path
        A new file.

    Raises
    ------
    InputError
        When the table changed meanwhile.
    """
    import pyarrow
    import pyarrow.parquet

    names: list[str] = []
    types: list[set[Any]] = []
    for names, columns in cell_batches(place, table, _BATCH):
        types = types or [set() for _ in names]
        for found, own in zip(types, columns, strict=True):
            found.add(typed_array(own).type)
            if pyarrow.int64() in found and any(isinstance(cell, int) and abs(cell) > EXACT for cell in own):
                found.add(pyarrow.uint64())  # of numbers that no float can be
    _check_names(names, place)
    kinds = list(map(_common_type, types))
    schema = pyarrow.schema(list(zip(names, kinds, strict=True)))
    with pyarrow.parquet.ParquetWriter(target, schema) as writer:
        for _, columns in cell_batches(place, table, _BATCH):
            try:
                arrays = [
                    pyarrow.array(texts(own) if kind == pyarrow.string() else own, kind)
                    for kind, own in zip(kinds, columns, strict=True)
                ]
            except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):
                raise InputError("the table changed while it was read", "try again", place) from None
            writer.write_table(pyarrow.table(arrays, schema=schema))


def _common_type(types: set[Any]) -> Any:
    """Return the type that `typed_array` gives all cells of a column, of those that it gives batches of them."""
    import pyarrow

    wide = pyarrow.uint64() in types
    kinds = types - {pyarrow.null(), pyarrow.uint64()}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {pyarrow.int64(), pyarrow.float64()} and not wide:
        return pyarrow.float64()
    if kinds and all(map(pyarrow.types.is_decimal, kinds)):
        scale = max(kind.scale for kind in kinds)
        whole = max(kind.precision - kind.scale for kind in kinds)
        return (pyarrow.decimal128 if whole + scale <= _DECIMAL else pyarrow.decimal256)(whole + scale, scale)
    return pyarrow.string()


def _parquet_batches(opened: Any, columns: Sequence[str], where: str) -> Iterator[pd.DataFrame]:
    import pyarrow

    try:
        for batch in opened.iter_batches(_BATCH, columns=list(columns)):
            yield narrowed(pyarrow.Table.from_batches([batch]).select(list(columns)), True, False)
        if not opened.metadata.num_rows:
            yield narrowed(opened.schema_arrow.empty_table().select(list(columns)), True, False)
    except (pyarrow.ArrowException, OSError):
        raise FormatError("the file is damaged", "write it again", where) from None
    except (ValueError, OverflowError, NotImplementedError):
        raise FormatError("a date or time is out of range", "write it as text", where) from None


def _only(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    check_named(frame.columns, columns)
    return frame[list(columns)] if columns else frame


def _sniff(head: bytes) -> str:
    """Return the separator that gives the most columns, equally many in all of the first lines."""
    text = head.decode("utf-8", errors="replace")
    lines = _LINE_END.split(text)[: -1 if len(head) == _HEAD else None][:50]
    best, most = ",", 1
    for separator in _SEPARATORS:
        widths = {len(row) for row in csv.reader(lines, delimiter=separator) if row}
        if len(widths) == 1 and max(widths) > most:
            best, most = separator, max(widths)
    if most == 1:  # ragged lines: the header decides, and reading says which row is wrong
        best = max(_SEPARATORS, key=(lines[0] if lines else "").count)
    return best


def _separator(path: Path, head: bytes, as_text: Collection[str] | bool) -> str:
    """Return the separator of a file: by its name, by what the header has outside of quotes, or by the first lines."""
    header = _LINE_END.split(re.sub('"[^"]*"', "", head.decode("utf-8", errors="replace")), maxsplit=1)[0]
    if path.suffix.lower() == ".tsv" and "\t" in header:
        return "\t"
    return max(_SEPARATORS, key=header.count) if as_text is True else _sniff(head)


def _from_csv(
    path: Path, head: bytes, separator: str | None, as_text: Collection[str] | bool, exact: bool
) -> pd.DataFrame:
    import pyarrow
    import pyarrow.csv

    require(head.strip(), "the file is empty", "a table needs a header and rows", str(path), kind=FormatError)
    if b"\0" in head:
        raise FormatError("the file is not text", "name a CSV, Parquet or SQLite file", str(path))
    separator = separator or _separator(path, head, as_text)
    require(len(separator) == 1, "the separator is not one character", "for example , or ;")
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        header = next(csv.reader(stream, delimiter=separator), [])
    _check_names(header, str(path))
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    options = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(header, text),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )

    def read(threads: bool) -> Any:
        return pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(use_threads=threads),
            parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=options,
        )

    try:
        return narrowed(read(True), as_text, exact)
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        message = str(error)
    try:  # again, because only a single thread counts rows
        read(False)
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        message = str(error)
    # the library's message quotes the row: only its number is taken from it
    row = re.search(r"Row #(\d+)", message)
    position = f"row {int(row[1]) - 1}" if row else ""
    if "utf" in message.lower():
        raise FormatError("the file is not UTF-8", "save it in UTF-8", str(path), position)
    raise FormatError(
        "a row has more or fewer cells than the header",
        "quote cells that hold separators or line ends",
        str(path),
        position,
    )


def _check_names(names: list[str], where: str) -> None:
    for place, name in enumerate(names, 1):
        if not name.strip():
            raise FormatError(f"column {place} has no name", "the first row must name every column", where)
        if names.count(name) > 1:
            raise FormatError(f"two columns are called {name!r}", "rename one of them", where)


def _from_parquet(path: Path, as_text: Collection[str] | bool, exact: bool) -> pd.DataFrame:
    import pyarrow
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError):
        raise FormatError("the file is damaged, or no Parquet", "write it again", str(path)) from None
    _check_names(list(found.column_names), str(path))
    try:
        return narrowed(found, as_text, exact)
    except (pyarrow.ArrowException, ValueError, OverflowError, NotImplementedError):
        raise FormatError("a date or time is out of range", "write it as text", str(path)) from None


def _from_database(place: str, table: str | None, as_text: Collection[str] | bool, exact: bool) -> pd.DataFrame:
    (found,) = cell_batches(place, table)
    return _from_cells(found, place, as_text, exact, typed_array)


def _from_cells(found: Cells, place: str, as_text: Collection[str] | bool, exact: bool, array: Any) -> pd.DataFrame:
    """Return a frame of names and columns of cells; ``array`` makes one of Arrow of a column."""
    import pyarrow

    names, columns = found
    require(names, "the table is empty", "a table needs a header and rows", place, kind=FormatError)
    _check_names(names, place)
    cells = {}
    for name, own in zip(names, columns, strict=True):
        try:
            text = read_as_text(name, as_text)
            cells[name] = pyarrow.array([cell_text(cell) for cell in own], pyarrow.string()) if text else array(own)
        except UnicodeEncodeError:
            raise FormatError(f"a cell of the column {name!r} is not UTF-8", "write it again", place) from None
    return narrowed(pyarrow.table(cells), as_text, exact)
