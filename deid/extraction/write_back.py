"""Write-back: what an anonymized table publishes of a person, at every place that the person's value came from.

The pointers from values to their places (the view's provenance) and from the published cells to the view's rows (their
order, or a column of both) stay with the custodian (Gardner and Xiong 2009, section 3).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from deid.base.errors import ConfigError, InputError
from deid.base.files import part_folder, write_bytes
from deid.base.late import pd
from deid.base.nearest import check_named
from deid.disclosure.cells import cover_table, is_general
from deid.extraction.view import IdentifierView
from deid.table.microdata import NA_CODE, SUPPRESSED, Microdata
from deid.table.table_writing import write_table

_WRITTEN = (
    *("birth_date", "death_date", "admission_date", "discharge_date", "note_date", "age"),
    *("city", "state", "zip", "country", "profession"),
)
"""Columns whose values stand in notes as PHI and can be published: the quasi-identifiers of the view. Columns that hold
all values of a person are none, for no single place has them all."""

_POLICY = """description = "What the anonymized table publishes; everything else is taken out."

[default]
operator = "redact"
"""
_RULE = '\n[categories.{}]\noperator = "published-value"\nvalues = "values.csv"\n'
_PUBLISHED = ("DATE", "AGE", "LOCATION", "PROFESSION", "NAME", "ID", "CONTACT")

_RANGE = re.compile(r"\d{1,3}-\d{1,3}|\d{4}-\d{4}")  # a label of a hierarchy, such as 60-69, but no 2019-03


def published_values(view: IdentifierView, release: pd.DataFrame, *, on: str | None = None) -> pd.DataFrame:
    """Return the published value of each place.

    Parameters
    ----------
    view : IdentifierView
        As `deid.extraction.read_view` reads it.
    release : pandas.DataFrame
        The anonymized table: the view's rows in their order (as `deid.disclosure.release.Release.aligned` gives
        them), or rows with a column of both that tells them apart.
    on : str, optional
        That column; by default rows correspond by their order.

    Returns
    -------
    pandas.DataFrame
        document, start, end, value: as the operator ``published-value`` reads it. Left out, so that the policy writes a
        label there: suppressed cells and rows, what the release has no column for, and places whose own value the
        published one is not true of (the age of a relative).

    Raises
    ------
    ConfigError
        When rows cannot be told apart, or no column is published.
    InputError
        When the tables have different numbers of rows, or a published cell cannot be of the row where it stands.
    """
    columns = [c for c in release.columns if c in view.frame.columns and c in _WRITTEN]
    if not columns:
        raise ConfigError(
            "view and release share no column that can be written into notes", f"such columns are {', '.join(_WRITTEN)}"
        )
    row_of = _rows(view, release, on)
    found = []
    places = view.provenance
    for column in columns:
        cells, values = _codes(release, column), _codes(view.frame, column)
        own = places[places["column"] == column]
        said = _codes(own, "value") if len(own) else None
        covers = cover_table(cells[1], values[1])
        loose = np.array([not is_general(text) and text not in set(values[1]) for text in cells[1]] + [False])
        if on is None and not (fits := (covers | loose[:, None])[cells[0], values[0]]).all():
            raise InputError(
                f"the release cannot be of the view's rows in their order: {column!r} is not true of its row",
                "name the file that deid anonymize --aligned wrote, or a column that tells rows apart with --on",
                position=f"row {int(np.argmin(fits)) + 1}",
            )
        if said is None:
            continue
        true_of = cover_table(cells[1], said[1])
        for place, (document, start, end, row) in enumerate(
            own[["document", "start", "end", "row"]].itertuples(index=False)
        ):
            at = row_of.get(int(row))
            if at is None or (code := cells[0][at]) == NA_CODE or cells[1][code] == SUPPRESSED:
                continue
            settled = values[1][values[0][int(row)]] if values[0][int(row)] != NA_CODE else None
            text = said[1][said[0][place]]
            if text == settled or true_of[code, said[0][place]]:
                found.append((document, int(start), int(end), _written(cells[1][code])))
    table = pd.DataFrame(found, columns=["document", "start", "end", "value"])
    return table.drop_duplicates(["document", "start", "end"], ignore_index=True)


def write_policy(values: pd.DataFrame, folder: Path) -> None:
    """Write the policy that puts published values (`published_values`) into notes, into a new private folder.

    Raises
    ------
    OutputError
        When it cannot be written.
    """
    with part_folder(folder) as part:
        made = part / "made"
        made.mkdir(mode=0o700)
        write_table(values, made / "values.csv")
        write_bytes(made / "policy.toml", (_POLICY + "".join(map(_RULE.format, _PUBLISHED))).encode())
        made.rename(folder)


def _rows(view: IdentifierView, release: pd.DataFrame, on: str | None) -> dict[int, int]:
    """Return the release's row of each row of the view."""
    if on is None:
        if len(release) != len(view.frame):
            raise InputError(
                f"the release has {len(release)} rows and the view {len(view.frame)}",
                "name the file that deid anonymize --aligned wrote, or a column that tells rows apart with --on",
            )
        return dict(enumerate(range(len(release))))
    for frame, name in ((release, "the release"), (view.frame, "the view")):
        check_named(map(str, frame.columns), [on], name)
        if frame[on].duplicated().any() or frame[on].isna().any():
            raise ConfigError(f"the column {on!r} does not tell the rows of {name} apart", "name another one")
    place = {str(v): i for i, v in enumerate(release[on])}
    return {i: place[str(v)] for i, v in enumerate(view.frame[on]) if str(v) in place}


def _codes(frame: pd.DataFrame, column: str) -> tuple[np.ndarray, tuple[str, ...]]:
    coded = Microdata(frame[[column]], {}).codes(column)
    return coded.codes, coded.values


def _written(text: str) -> str:
    """Return a cell as it stands in a note: generalized values in brackets."""
    general = is_general(text) or _RANGE.fullmatch(text) is not None
    return f"[{text}]" if general and not text.startswith(("[", "{")) else text
