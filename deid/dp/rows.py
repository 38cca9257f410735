"""Reading the columns of a table that a release needs, as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deid.errors import ConfigError, FormatError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_columns"]


def read_columns(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read columns of a CSV or Parquet file as text; an empty cell is a missing value.

    Raises
    ------
    FormatError
        When the file cannot be read as what its suffix says.
    ConfigError
        When it lacks a column.
    """
    import pandas as pd

    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet

            names = list(pyarrow.parquet.read_schema(path).names)
        else:
            names = list(pd.read_csv(path, dtype=str, nrows=0).columns)
        missing = [name for name in columns if name not in names]
        if missing:
            raise ConfigError(f"the table has no column {missing[0]!r}", "check the spelling")
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path, columns=list(columns))
            return frame.astype(dict.fromkeys(columns, "string"))
        return pd.read_csv(path, dtype="string", usecols=list(columns), keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise FormatError("there is no such table", "check the path", str(path)) from None
    except (OSError, ValueError):  # pandas' and pyarrow's errors are ValueErrors, and quote what they read
        raise FormatError("this is no CSV or Parquet table", "check the file", str(path)) from None
