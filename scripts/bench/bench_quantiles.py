"""Error of private quantiles beside OpenDP's, in one run: the same candidates, rows and epsilon.

    python scripts/bench/bench_quantiles.py
    python scripts/bench/bench_quantiles.py --table corpora/tables/cube/cube.csv --column age

Both choose by permute-and-flip (OpenDP's `make_private_quantile`) with all of epsilon; neighbours differ by one row.
OpenDP scores a candidate by how far the rows below and above it are out of balance, we by how deep the wanted rank lies
within the candidate's own, or how far outside. Printed are the mean absolute errors and their ratio; of five quantiles
at once that of our recursive split beside OpenDP one by one with equal parts of epsilon. Ages are made up unless a
table is named: a normal law within 0 to 120.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import opendp.prelude as dp
import pandas as pd

from deid.dp.aggregates import Drawing, noisy_quantiles
from deid.dp.noise import OpenDPNoise

LOW, HIGH = 0, 120
SEVERAL = (0.1, 0.25, 0.5, 0.75, 0.9)


def theirs(share: float, epsilon: float) -> Callable[[list[int]], int]:
    """Return OpenDP's quantile of whole numbers from LOW to HIGH."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
    candidates = list(range(LOW, HIGH + 1))

    def make(scale: float) -> Any:
        return space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, alpha=share, scale=scale)

    scale = dp.binary_search_param(make, d_in=1, d_out=epsilon)
    return make(scale)


def ours(values: np.ndarray, shares: tuple[float, ...], epsilon: float, noise: OpenDPNoise) -> list[float]:
    """Return our quantiles of the same."""
    return [
        own.value for own in noisy_quantiles(values, shares, LOW, HIGH, Drawing(epsilon, noise, 1, 0.95), whole=True)
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--table")
    parser.add_argument("--column", default="age")
    said = parser.parse_args()
    generator, noise = np.random.default_rng(1), OpenDPNoise()
    drawn = {}
    if said.table:
        column = pd.read_csv(said.table)[said.column].dropna().to_numpy()
        drawn[said.table] = np.clip(column, LOW, HIGH).astype(np.int64)
    else:
        for rows in (200, 2_000, 20_000):
            drawn[f"{rows} ages"] = np.clip(np.rint(generator.normal(62, 16, rows)), LOW, HIGH).astype(np.int64)
    print("mean absolute error  epsilon  share  deid  OpenDP  deid / OpenDP")
    for name, values in drawn.items():
        numbers, listed = values.astype(float), values.tolist()
        for epsilon in (0.1, 1.0):
            for share in (0.5, 0.9):
                true = float(np.quantile(values, share, method="inverted_cdf"))
                choose = theirs(share, epsilon)
                own = float(np.mean([abs(ours(numbers, (share,), epsilon, noise)[0] - true) for _ in range(said.runs)]))
                other = float(np.mean([abs(choose(listed) - true) for _ in range(said.runs)]))
                print(f"{name:>19}  {epsilon:7g}  {share:5g}  {own:.3f}  {other:.3f}  {own / max(other, 1e-9):.2f}")
            true_all = np.quantile(values, SEVERAL, method="inverted_cdf")
            together = [np.abs(np.array(ours(numbers, SEVERAL, epsilon, noise)) - true_all) for _ in range(said.runs)]
            singly = [theirs(share, epsilon / len(SEVERAL)) for share in SEVERAL]
            apart = [np.abs(np.array([own(listed) for own in singly]) - true_all) for _ in range(said.runs)]
            ratio = np.mean(together) / max(float(np.mean(apart)), 1e-9)
            print(f"{name:>19}  {epsilon:7g}   five  {np.mean(together):.3f}  {np.mean(apart):.3f}  {ratio:.2f}")


if __name__ == "__main__":
    main()
