"""Two tables of the same persons as one: what a second table says of a person stands in each of the person's rows.

A joined row depends on the rows of one person alone. Who is missing from both tables takes no more joined rows away
than rows of the first, of which a budget bounds the number (`deid.dp.unit.bounded_rows`); so noise, bound and budget
are those of the first table, and one ledger pays for both. That holds for persons, not for rows: one row of the second
table stands behind all of a person's joined rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.table.cell_text import row_hashes, text_column
from deid.table.microdata import check_columns

PREFIX = "joined."
"""Before the name of a column of the second table that the first one has as well."""


def joining(second: pd.DataFrame, person: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that joins a second table to rows of a first one.

    Parameters
    ----------
    second : pandas.DataFrame
        The second table. Of several rows of a person that with the smallest hash of its content counts, so that their
        order does not matter; rows without a person are left out.
    person : str
        Column of the person in both tables; ids are compared by `deid.table.cell_text.key_text`.

    Returns
    -------
    callable
        From rows of the first table to the same rows with the other columns of the second, missing where it does not
        have the person. A column of a name that the first has already is called ``joined.NAME``.

    Raises
    ------
    ConfigError
        When a table lacks the column of the person, or would have a column twice.
    """
    check_columns(second, [person])
    owners = text_column(second[person], key=True)
    kept = np.lexsort((row_hashes(second, b""), owners.cat.codes.to_numpy()))
    kept = kept[owners.cat.codes.to_numpy()[kept] >= 0]
    _, first = np.unique(owners.cat.codes.to_numpy()[kept], return_index=True)
    places = {str(owners.iloc[row]): row for row in kept[first]}
    others = second.drop(columns=[person])

    def joined(frame: pd.DataFrame) -> pd.DataFrame:
        check_columns(frame, [person])
        whose = text_column(frame[person], key=True)
        at = np.array([*(places.get(str(name), -1) for name in whose.cat.categories), -1], np.int64)
        found = others.reset_index(drop=True).reindex(at[whose.cat.codes.to_numpy()])
        found.columns = [f"{PREFIX}{name}" if name in frame else name for name in others]
        if len({*frame, *found}) < len(frame.columns) + len(found.columns):
            raise ConfigError(f"the tables have a column {PREFIX}... already", "rename it in one of them")
        return pd.concat([frame, found.set_axis(frame.index)], axis=1)

    return joined
