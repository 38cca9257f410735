"""Tables of rows into files and databases: CSV, Parquet, Excel, SAS, Stata, SPSS, SQL."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Literal

from deid.base.errors import OutputError
from deid.base.files import atomic_files, check_new_file
from deid.base.late import pd
from deid.table import statistics_files, workbook
from deid.table.cell_text import cell_text, text_column
from deid.table.database_tables import check_new_rows, shown_table, write_rows
from deid.table.table_files import PARQUET

_IN_BATCHES = (".csv", ".tsv", *PARQUET)
_WRITTEN = (*_IN_BATCHES, workbook.SUFFIXES[0], *statistics_files.WRITTEN)


def check_new_table(place: Path | str, source: str | Path | None = None) -> None:
    """Refuse a place where no table can be written, before work is spent on it.

    Parameters
    ----------
    place : Path or str
        As that of `write_table`.
    source : str or Path, optional
        Where the rows come from: a release does not go into the database file of its originals.

    Raises
    ------
    OutputError
        When it has another suffix than `write_table` knows, or cannot be written (`deid.base.files.check_new_file`,
        `deid.table.database_tables.check_new_rows`).
    """
    if "://" in str(place):
        check_new_rows(str(place), source)
        return
    path = Path(place)
    if path.suffix.lower() not in _WRITTEN:
        raise OutputError(f"tables are written as {', '.join(_WRITTEN)}", "for example: released.csv", str(path))
    check_new_file(path)


def shown_place(place: Path | str) -> Path:
    """Return the path of a table that is written, by which what lies beside it is named; see `write_table`."""
    return shown_table(str(place)) if "://" in str(place) else Path(place)


def write_table(frame: pd.DataFrame, place: Path | str, *, replace: bool = False) -> None:
    """Write a table as CSV, Parquet, Excel, SAS, Stata or SPSS, by the suffix, or into a new table of a database.

    Files are written atomically, with mode 0600, tables in one transaction. Missing values become empty cells. Nothing
    but the rows is written: categories that no row has any more, as those of suppressed rows, would stand in Parquet's
    dictionary, and notes of a frame (``attrs``) in its metadata.

    Parameters
    ----------
    frame : pandas.DataFrame
    place : Path or str
        A file, or a URL with the name of the table behind it: ``sqlite:///release.db/patients``.
    replace : bool
        Replace a file that exists; a table never is.

    Raises
    ------
    OutputError
        When the file (unless ``replace``) or the table exists already, cannot be written, or has another suffix.
    """
    frame = _rows_alone(frame)
    if "://" in str(place):
        write_rows(frame, str(place))
        return
    path = Path(place)
    suffix = path.suffix.lower()
    if suffix not in _WRITTEN:
        raise OutputError(f"tables are written as {', '.join(_WRITTEN)}", "for example: released.csv")
    with atomic_files([path], replace=replace) as (stream,):
        if suffix in PARQUET:
            frame.to_parquet(stream, index=False)
        elif suffix in workbook.SUFFIXES:
            workbook.write_workbook(frame, stream)
        elif suffix in statistics_files.WRITTEN:
            statistics_files.write_statistics(frame, stream, suffix)
        else:
            _write_csv([frame], stream, suffix)


def write_batches(frames: Iterable[pd.DataFrame], path: Path) -> None:
    """Write a new table as `write_table` does, a frame after the other.

    Parameters
    ----------
    frames : iterable of pandas.DataFrame
        At least one, all with the same columns: texts, whole numbers or floats; texts where the first has no value.
    path : Path
        CSV and Parquet are written frame by frame; all else is held in memory.

    Raises
    ------
    OutputError
        See `write_table`.
    """
    suffix = path.suffix.lower()
    if suffix not in _IN_BATCHES:
        write_table(pd.concat(frames, ignore_index=True), path)
        return
    with atomic_files([path]) as (stream,):
        if suffix in PARQUET:
            _write_parquet(frames, stream)
        else:
            _write_csv(frames, stream, suffix)


def csv_quoting(frame: pd.DataFrame) -> Literal[0, 1]:
    """Return which cells of a table to quote in CSV: all where one has a CR, which Python before 3.13 leaves bare."""
    texts = (cells.unique() for _, cells in frame.items() if cells.dtype.kind not in "biufcM")
    found = any("\r" in str(value) for values in (list(frame.columns), *map(list, texts)) for value in values)
    return 1 if found else 0  # csv.QUOTE_ALL, csv.QUOTE_MINIMAL


def _write_csv(frames: Iterable[pd.DataFrame], stream: BinaryIO, suffix: str) -> None:
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    separator = "\t" if suffix == ".tsv" else ","
    for number, frame in enumerate(frames):
        numbers = [name for name in frame.columns if pd.api.types.is_float_dtype(frame[name])]
        # 1, not 1.0, and no sign of zero: the texts by which the numbers were compared
        frame = frame.assign(**{name: text_column(frame[name]) for name in numbers})
        frame.to_csv(
            text, index=False, header=not number, sep=separator, lineterminator="\n", quoting=csv_quoting(frame)
        )
    text.flush()
    text.detach()


def _write_parquet(frames: Iterable[pd.DataFrame], stream: BinaryIO) -> None:
    import pyarrow
    import pyarrow.parquet

    frames = iter(frames)
    first = next(frames)
    kinds = {"i": pyarrow.int64(), "f": pyarrow.float64()}
    schema = pyarrow.schema(
        # a column of texts without any in the first rows looks like floats
        (str(name), kinds.get(own.dtype.kind, pyarrow.string()) if own.notna().any() else pyarrow.string())
        for name, own in first.items()
    )
    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        for frame in itertools.chain([first], frames):
            columns = [pyarrow.array(frame[one.name].astype(object), one.type, from_pandas=True) for one in schema]
            writer.write_table(pyarrow.table(columns, schema=schema))


def _rows_alone(frame: pd.DataFrame) -> pd.DataFrame:
    coded = {}
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            column = frame[name].cat.remove_unused_categories()
            if not column.cat.ordered:  # nor does their order tell which row of the input came first
                column = column.cat.reorder_categories(sorted(column.cat.categories, key=str))
            coded[name] = column
        elif frame[name].dtype == object and any(isinstance(cell, bytes) for cell in frame[name]):
            coded[name] = frame[name].map(lambda cell: cell_text(cell) if isinstance(cell, bytes) else cell)
    frame = frame.assign(**coded)
    frame.attrs = {}
    return frame
