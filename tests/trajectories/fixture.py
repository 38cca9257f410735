"""The paper's example: six persons, one family of codes, eight years."""

from deid.table.hierarchy import hierarchy_from_rows
from deid.trajectories import Trajectories, make_trajectories

CODES = hierarchy_from_rows([["401.0", "401"], ["401.1", "401"], ["401.9", "401"]], "codes")


def _years(age: int, width: int) -> str:
    low = 33 + (age - 33) // width * width
    return f"[{low}-{low + width - 1}]"


AGES = hierarchy_from_rows([[str(a), *(_years(a, w) for w in (2, 4, 8))] for a in range(33, 41)], "ages")
HISTORIES = {
    "T1": [("401.1", "33"), ("401.1", "34"), ("401.1", "35")],
    "T2": [("401.1", "38"), ("401.1", "40")],
    "T3": [("401.0", "38"), ("401.1", "40")],
    "T4": [("401.9", "33"), ("401.1", "33"), ("401.1", "34"), ("401.1", "35")],
    "T5": [("401.1", "39")],
    "T6": [("401.1", "40")],
}


def paper() -> Trajectories:
    """Return the example."""
    return make_trajectories(HISTORIES, CODES, AGES)
