"""What a user says of a table: where it is, and how it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.late import pd
from deid.base.options import argument, option


def table_of_files(*places: str | Path | None) -> list[tuple[str, Path]]:
    """Return the tables that are files by what they are called; of a database nothing can be compared later."""
    found = [(Path(place).name, Path(place)) for place in places if place is not None]
    return [(name, path) for name, path in found if path.is_file()]


@dataclass(frozen=True)
class TableOptions:
    """The table that a command reads."""

    PANEL: ClassVar[str] = "Reading TABLE"
    table: str = argument(
        "CSV, Parquet, .xlsx, SAS, Stata, SPSS or SQLite file, or postgresql://user@host/database.", metavar="TABLE"
    )
    sep: str | None = option(None, "Separator of CSV; told by the first lines if not given.", metavar="C")
    sql: str | None = option(None, "Table of a database, or sheet of a workbook.", "--sql", "--worksheet")

    def read(self, other: str | None = None) -> pd.DataFrame:
        """Read it, or another one in the same way, all cells as texts."""
        from deid.table.table_files import read_table

        return read_table(other or self.table, separator=self.sep, table=self.sql, text=True)

    def read_columns(self, columns: Sequence[str]) -> pd.DataFrame:
        """Read some columns of it, all cells as texts."""
        from deid.table.table_files import read_columns

        return read_columns(self.table, columns, separator=self.sep, table=self.sql)

    def names(self) -> list[str]:
        """Return the names of its columns."""
        from deid.table.table_files import column_names_of

        return column_names_of(self.table, separator=self.sep, table=self.sql)

    def read_batches(self, columns: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """Read some columns of it, all by default, in batches, all cells as texts."""
        from deid.table.table_files import read_batches

        return read_batches(self.table, columns=columns, separator=self.sep, table=self.sql)

    def files(self, *others: str | Path | None) -> list[tuple[str, Path]]:
        """Return it, and further tables, by name where they are files, for a manifest."""
        return table_of_files(self.table, *others)
