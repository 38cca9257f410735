"""How sure a CRF is of marked places: forward-backward over the items around each, not over the whole text.

So far from a place as `REACH` items the label is taken for the best path's: what else it could be changes the
probability by less than can be seen (docs/accuracy.md). Compiled it takes a tenth of the time of all probabilities
(``deid/csrc/chances.c``); this is the plain route.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deid.labeling import kernels

REACH = 8
"""Items on either side of a place that may have another label than on the best path."""


def chances(
    emissions: np.ndarray, transition: np.ndarray, best: np.ndarray, stretches: Iterable[tuple[int, int]], outside: int
) -> list[float]:
    """Return, for each stretch of items, the least probability of its best labels; outside spans, of any other label.

    Parameters
    ----------
    emissions : ndarray of float64, shape (n_items, n_labels)
    transition : ndarray of float64, shape (n_labels, n_labels)
        From row to column.
    best : ndarray of int, shape (n_items,)
        The best path of labels.
    stretches : iterable of (int, int)
        First item and one past the last.
    outside : int
        Id of the label O, -1 when there is none.

    Returns
    -------
    list of float
        1 for a stretch without items. Exact where no item lies further from the stretch than `REACH`.
    """
    found = []
    for first, stop in stretches:
        low, high = max(0, first - REACH), min(len(best), stop + REACH)
        near = emissions[low:high].copy()
        if first >= stop:
            found.append(1.0)
            continue
        if low > 0:
            near[0] += transition[best[low - 1]]
        if high < len(best):
            near[-1] += transition[:, best[high]]
        told = kernels.marginals(near, transition)
        sure = told[np.arange(first - low, stop - low), best[first:stop]]
        found.append(float(np.where(best[first:stop] == outside, 1.0 - sure, sure).min()))
    return found
