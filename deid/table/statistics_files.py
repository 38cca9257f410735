"""Files of SAS (.sas7bdat, .xpt), Stata (.dta) and SPSS (.sav, .zsav, .por) as tables, by pyreadstat (extra).

Cells are the stored codes, not the labels that a codebook gives to some of them: what a cell is read as never depends
on a label beside it. Dates and times of the file's formats come as such; values that the file declares as missing (.A
of SAS and Stata, those of SPSS) are missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, FormatError, InputError
from deid.base.files import os_reason

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
    InputError
        When the file cannot be read.
    FormatError
        When it is damaged.
    """
    try:
        import pyreadstat
    except ImportError:
        raise ConfigError(
            "files of SAS, Stata and SPSS need pyreadstat", "run: pip install 'clinical-deid[statistics]'", str(path)
        ) from None
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(
            f"cannot be read ({os_reason(error)})", "check the path and its permissions", str(path)
        ) from None
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
