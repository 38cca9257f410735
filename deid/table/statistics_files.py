"""Files of SAS (.sas7bdat, .xpt), Stata (.dta) and SPSS (.sav, .zsav, .por) as tables, by pyreadstat (extra).

Cells are the stored codes, not the labels that a codebook gives to some of them: what a cell is read as never depends
on a label beside it. Dates and times of the file's formats come as such; values that the file declares as missing (.A
of SAS and Stata, those of SPSS) are missing. Written are texts and numbers, without labels.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, BinaryIO

from deid.base.errors import ConfigError, FormatError, OutputError
from deid.base.late import pd
from deid.base.private_folder import PrivateFolder

_READERS = {
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
}
SUFFIXES = tuple(_READERS)
"""Endings of the files that are read."""
_WRITERS = {".xpt": "write_xport", ".dta": "write_dta", ".sav": "write_sav", ".zsav": "write_sav"}
WRITTEN = tuple(_WRITERS)
"""Endings of the files that are written."""
_DAYS = {
    ".xpt": (rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN80:00:00:00"),
    ".dta": (rb"(?<=<timestamp>\x11).{17}(?=</timestamp>)", b"01 Jan 1980 00:00"),
    ".sav": (rb"(?<=^.{92}).{17}", b"01 Jan 8000:00:00"),
}
"""What a file's head says of when it was written, and what stands in its place: equal runs write equal files."""
_HEAD = 640
_LARGEST = 1 << 53


def read_statistics(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Read a file of SAS, Stata or SPSS; it is told by its ending.

    Returns
    -------
    names : list of str
        The variables.
    columns : list of lists
        Cells of each: text, number, date, time, or None.

    Raises
    ------
    ConfigError
        When pyreadstat is not installed.
    FormatError
        When it is damaged.
    """
    pyreadstat = _library(str(path))
    try:
        frame, _ = getattr(pyreadstat, _READERS[path.suffix.lower()])(str(path))
    except Exception:  # whatever the library says of a damaged file can quote it
        what = f"the file is damaged, or no {path.suffix.lower()} file"
        raise FormatError(what, "export it again, or save it as CSV", str(path)) from None
    columns = [
        [None if cell is None or cell != cell else cell for cell in frame[name].astype(object).tolist()]
        for name in frame.columns
    ]
    return [str(name) for name in frame.columns], columns


def write_statistics(frame: pd.DataFrame, stream: BinaryIO, suffix: str) -> None:
    """Write a table as a file of SAS (.xpt), Stata or SPSS. What these would cut or change is refused.

    Parameters
    ----------
    frame : pandas.DataFrame
        Texts and numbers; a column of both is written as texts, and so is one of whole numbers beyond 2^53, which these
        formats would round.
    stream : binary file
    suffix : str
        One of `WRITTEN`.

    Raises
    ------
    ConfigError
        When pyreadstat is not installed.
    OutputError
        When the format cannot hold a column's name, or a cell.
    """
    library = _library()
    for name in map(str, frame.columns):
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,31}", name):
            hint = "a letter, then letters, digits and _, no more than 32; rename it, or write .csv"
            raise OutputError(f"the name of the column {name!r} is none that a {suffix} file can hold", hint)
    columns = {
        str(name): column.astype(float)
        if _is_exact(column)
        else column.astype(object).where(column.notna(), "").map(str)
        for name, column in frame.items()
    }
    with PrivateFolder() as folder:
        path = Path(folder) / f"table{suffix}"
        more = {"compress": True} if suffix == ".zsav" else {}
        try:
            getattr(library, _WRITERS[suffix])(pd.DataFrame(columns), str(path), **more)
            names, cells = read_statistics(path)
        except Exception:  # whatever the library says can quote a cell
            names, cells = [], []
        wanted = [[None if cell in ("", None) or cell != cell else cell for cell in own] for own in columns.values()]
        told = [[None if cell == "" else cell for cell in own] for own in cells]
        if names != list(columns) or told != wanted:
            raise OutputError(
                f"a cell is not what a {suffix} file can hold", "it may be too long, or end with a blank; write .csv"
            )
        written = path.read_bytes()
    pattern, instead = _DAYS[".sav" if suffix == ".zsav" else suffix]
    stream.write(re.sub(pattern, instead, written[:_HEAD], flags=re.DOTALL) + written[_HEAD:])


def _is_exact(column: pd.Series) -> bool:
    """Return whether the numbers of a column are the same as 64-bit floats, which is all that these formats have."""
    whole = column.dtype.kind in "iu"
    return column.dtype.kind == "f" or (whole and bool(column.dropna().between(-_LARGEST, _LARGEST).all()))


def _library(path: str = "") -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise ConfigError(
            "files of SAS, Stata and SPSS need pyreadstat",
            "run: pip install 'clinical-deid[statistics]'",
            path,
        ) from None
    return pyreadstat
