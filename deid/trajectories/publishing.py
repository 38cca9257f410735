"""Trajectories as the table that may leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deid.base.errors import OutputError
from deid.trajectories.clustering import TrajectoryRelease
from deid.trajectories.measures import check_trajectories

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["publish_trajectories"]


def publish_trajectories(
    release: TrajectoryRelease,
    diversity: int = 1,
    *,
    code: str = "code",
    age: str = "age",
    attached: tuple[str, Mapping[str, str]] | None = None,
) -> tuple[pd.DataFrame, int]:
    """Verify a release and write it as a table, a row a pair.

    Records are numbered in the order of what is published of them, so that their numbers tell nothing.

    Parameters
    ----------
    release : TrajectoryRelease
    diversity : int
        Least number of distinct sensitive values of equal trajectories.
    code, age : str
        Names of the columns.
    attached : (str, mapping of str to str), optional
        A further column: its name, and person -> cell.

    Returns
    -------
    pandas.DataFrame
        Columns ``record``, ``code``, ``age`` and the attached one; a person of whom no pair is published has one row.
    int
        How often the rarest trajectory occurs.

    Raises
    ------
    OutputError
        When the verifier rejects the release: then nothing may be written.
    """
    import pandas as pd

    data = release.data
    published = release.published()
    good, level, place = check_trajectories(published, release.k, data, diversity)
    if not good:
        raise OutputError(
            "the release does not hold", "nothing was written; please report this", "", f"trajectory {(place or 0) + 1}"
        )
    column, cells = attached or ("", {})
    records = sorted(
        ([(data.codes.names[c], data.ages.names[a]) for c, a in pairs.tolist()], cells.get(who, ""))
        for who, pairs in zip(data.people, published, strict=True)
    )
    rows: list[dict[str, object]] = []
    for number, (pairs, cell) in enumerate(records, 1):
        beside = {column: cell or None} if attached else {}
        rows += [{"record": number, code: c, age: a, **beside} for c, a in pairs or [(None, None)]]
    return pd.DataFrame(rows, columns=["record", code, age, *([column] if attached else [])]), level
