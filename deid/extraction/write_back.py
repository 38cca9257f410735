"""Write-back: what an anonymized table publishes of a person, at every place that the person's value came from.

The pointer from a value to its places is the view's provenance, which stays with the custodian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deid.errors import ConfigError, InputError
from deid.extraction.view import View
from deid.microdata import SUPPRESSED, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["published_values"]

_HIDDEN = ("mrn", "ssn", "health_plan", "account", "license", "name")


def published_values(view: View, release: pd.DataFrame, *, on: str | None = None) -> pd.DataFrame:
    """Return the published value of each place.

    Parameters
    ----------
    view : View
        As `deid.extraction.read_view` reads it.
    release : pandas.DataFrame
        The anonymized table: the view's rows in their order, or rows with a column of both that tells them apart.
    on : str, optional
        That column; by default rows correspond by their order.

    Returns
    -------
    pandas.DataFrame
        document, start, end, value: as the operator ``published-value`` reads it. Suppressed cells and rows, and what
        the release has no column for, are left out: the policy writes a label there.

    Raises
    ------
    ConfigError
        When rows cannot be told apart, or no column is published.
    InputError
        When the tables have different numbers of rows.
    """
    import pandas as pd

    columns = [c for c in release.columns if c in set(view.provenance["column"]) and c not in _HIDDEN]
    if not columns:
        raise ConfigError(
            "the release has no column of the view's attributes", nearest("age", map(str, release.columns))
        )
    if on is None:
        if len(release) != len(view.frame):
            raise InputError(
                f"the release has {len(release)} rows and the view {len(view.frame)}",
                "name a column that tells rows apart with --on, or release suppressed rows as *",
            )
        row_of = dict(zip(range(len(view.frame)), range(len(release)), strict=True))
    else:
        for frame, name in ((release, "the release"), (view.frame, "the view")):
            if on not in frame.columns:
                raise ConfigError(f"{name} has no column {on!r}", nearest(on, map(str, frame.columns)))
        if release[on].duplicated().any():
            raise ConfigError(f"the column {on!r} does not tell the rows of the release apart", "name another one")
        place = {str(v): i for i, v in enumerate(release[on])}
        row_of = {i: place[str(v)] for i, v in enumerate(view.frame[on]) if str(v) in place}
    cells = {c: release[c].astype("object").tolist() for c in columns}
    found = []
    for document, start, end, row, column in view.provenance[["document", "start", "end", "row", "column"]].itertuples(
        index=False
    ):
        if column not in cells or int(row) not in row_of:
            continue
        value = cells[column][row_of[int(row)]]
        if value is not None and value == value and str(value) not in ("", SUPPRESSED):
            found.append((document, int(start), int(end), _written(value)))
    places = pd.DataFrame(found, columns=["document", "start", "end", "value"])
    return places.drop_duplicates(["document", "start", "end"], ignore_index=True)


def _written(value: object) -> str:
    """Return a cell as it stands in a note: generalized values in brackets, whole numbers without a point."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return f"[{text}]" if any(c in text for c in "-*,") and not text.startswith(("[", "{")) else text
