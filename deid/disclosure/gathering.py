"""r-gather clustering: centres with a radius and at least r rows each (Aggarwal et al., ACM TALG 2010).

What is published are the centres, their radii, how many rows each has, and the rows' sensitive values. The largest
radius is at most twice the least possible one: for a radius R that suffices, centres that are more than 2R apart can
each be given r rows within 2R, which a flow finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deid.base.arrays import FloatArray, IndexArray
from deid.base.errors import require
from deid.disclosure.clustering import BoxLoss
from deid.disclosure.encoding import CodedTable

MAX_ROWS = 4_000
"""All distances between rows are kept."""


@dataclass(frozen=True, eq=False)
class Gathering:
    """Clusters around rows.

    Parameters
    ----------
    classes : ndarray of intp, shape [n]
        Cluster of each row.
    centres : ndarray of intp, shape [clusters]
        Row that is the centre of each cluster.
    radii : ndarray of float64, shape [clusters]
        Greatest distance of a member from its centre.
    """

    classes: IndexArray
    centres: IndexArray
    radii: FloatArray


def gather(table: CodedTable, r: int) -> Gathering:
    """Cluster a table into clusters of at least r rows with a small greatest radius.

    The distance of two rows is the certainty penalty of what would cover both.

    Parameters
    ----------
    table : CodedTable
        The rows; memory grows with their square.
    r : int
        Least number of rows of a cluster.

    Returns
    -------
    Gathering
        The clusters of the least radius that was found.

    Raises
    ------
    ConfigError
        When there are fewer than r rows, or more than `MAX_ROWS`.
    """
    count = len(table)
    require(count >= r, f"no release of these {count} records can gather {r} in a cluster", "ask for less")
    require(count <= MAX_ROWS, f"more than {MAX_ROWS} rows", "use mondrian or local for large tables")
    boxes = BoxLoss(table.columns)
    codes = table.codes
    distance = np.stack([boxes.joined(row, row, codes, codes) for row in codes])
    radii = np.unique(np.sort(distance, axis=1)[:, r - 1])  # R must give every row r - 1 neighbours within 2R
    candidates = np.unique(np.concatenate([radii / 2, distance.ravel()]))
    candidates = candidates[candidates >= radii[-1] / 2]
    first, last = 0, len(candidates) - 1
    found = _try(distance, r, float(candidates[last]))
    while first < last:
        middle = (first + last) // 2
        attempt = _try(distance, r, float(candidates[middle]))
        if attempt is not None:
            found, last = attempt, middle
        else:
            first = middle + 1
    assert found is not None  # within the greatest distance one centre gathers all rows
    return found


def _try(distance: FloatArray, r: int, radius: float) -> Gathering | None:
    """Gather within twice a radius, None when that cannot be."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    count = len(distance)
    near = distance <= 2 * radius + 1e-12
    open_rows = np.ones(count, dtype=bool)
    centres: list[int] = []
    while open_rows.any():
        centre = int(np.argmax(open_rows))
        centres.append(centre)
        open_rows &= ~near[centre]
    # source -> centre (r rows each) -> row within reach -> sink
    source, sink = count + len(centres), count + len(centres) + 1
    reach_centre, reach_row = np.nonzero(near[centres])
    tails = np.concatenate([np.full(len(centres), source), count + reach_centre, np.arange(count)])
    heads = np.concatenate([count + np.arange(len(centres)), reach_row, np.full(count, sink)])
    capacity = np.concatenate(
        [np.full(len(centres), r), np.ones(len(reach_row), dtype=int), np.ones(count, dtype=int)]
    ).astype(np.int32)
    graph = coo_array((capacity, (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(graph, source, sink)
    if flow.flow_value < r * len(centres):
        return None
    sent = flow.flow.tocoo()
    used = (sent.data > 0) & (sent.row >= count) & (sent.row < source) & (sent.col < count)
    classes = np.argmin(distance[centres], axis=0)  # rows that no centre needs go to the nearest
    classes[sent.col[used]] = sent.row[used] - count
    reached = distance[np.array(centres)[classes], np.arange(count)]
    radii = np.zeros(len(centres))
    np.maximum.at(radii, classes, reached)
    return Gathering(classes.astype(np.intp), np.array(centres, dtype=np.intp), radii)
