"""NumPy reference of the compiled loop: costs of aligning one trajectory with many."""

from __future__ import annotations

import numpy as np

from deid.trajectories.alignment import Costs, Pairs


def alignment_costs(
    x: Pairs, pairs: Pairs, bounds: np.ndarray, active: np.ndarray, costs: Costs, by_index: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `deid.trajectories.kernels.alignment_costs` does, all trajectories of a length at once."""
    lengths = np.diff(bounds)
    codes = np.zeros(len(lengths), dtype=np.int64)
    ages = np.zeros(len(lengths), dtype=np.int64)
    weight_i, weight_a = costs.weights
    gone_x = costs.codes.root_cost(x[:, 0]), costs.ages.root_cost(x[:, 1])
    for length in np.unique(lengths[active.astype(bool)]):
        chosen = np.flatnonzero((lengths == length) & active.astype(bool))
        y = pairs[bounds[chosen][:, None] + np.arange(length)[None, :]]
        both = (
            costs.codes.pair_cost(x[None, :, None, 0], y[:, None, :, 0]),
            costs.ages.pair_cost(x[None, :, None, 1], y[:, None, :, 1]),
        )
        gone_y = costs.codes.root_cost(y[:, :, 0]), costs.ages.root_cost(y[:, :, 1])
        if by_index:
            common = min(len(x), int(length))
            places = np.arange(common)
            codes[chosen], ages[chosen] = (
                b[:, places, places].sum(axis=1) + gx[common:].sum() + gy[:, common:].sum(axis=1)
                for b, gx, gy in zip(both, gone_x, gone_y, strict=True)
            )
            continue
        row = np.zeros((2, len(chosen), length + 1), dtype=np.int64)
        for k in (0, 1):
            row[k, :, 1:] = np.cumsum(gone_y[k], axis=1)
        for h in range(len(x)):
            corner = row[:, :, 0].copy()
            row[:, :, 0] += np.array([[gone_x[0][h]], [gone_x[1][h]]])
            for j in range(int(length)):
                options = np.stack(
                    [
                        corner + np.stack([both[0][:, h, j], both[1][:, h, j]]),
                        row[:, :, j] + np.stack([gone_y[0][:, j], gone_y[1][:, j]]),
                        row[:, :, j + 1] + np.array([[gone_x[0][h]], [gone_x[1][h]]]),
                    ]
                )
                best = np.argmin(options[:, 0] * weight_i + options[:, 1] * weight_a, axis=0)
                corner = row[:, :, j + 1].copy()
                row[:, :, j + 1] = options[best, :, np.arange(len(chosen))].T
        codes[chosen], ages[chosen] = row[0, :, -1], row[1, :, -1]
    return codes, ages
