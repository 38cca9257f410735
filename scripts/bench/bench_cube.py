"""Accuracy and time of cube methods on a table shaped like the dissertation's cancer registry.

    python scripts/bench/bench_cube.py corpora/tables/cube/cube.csv              # 30 runs, test noise
    python scripts/bench/bench_cube.py corpora/tables/cube/cube.csv --runs 3 --opendp

Prints the mean L1 error of the slices year x death and age x death at epsilon .5 for each method, and the ratio to the
cell baseline of the dissertation (clamped cells), which is measured in the same run; what the baseline should be by
theory; and the CPU seconds of a release of the two slices with OpenDP's noise beside drawing every cell with it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from deid.dp.counting import rows_of
from deid.dp.cube import plan_cube
from deid.dp.domain import declare
from deid.dp.methods import METHODS, Rows, measure
from deid.dp.models import clamp_bias
from deid.dp.noise import Noise, OpenDPNoise, SeededNoise
from deid.dp.unit import PrivacyUnit
from deid.table.table_files import read_table

CUBE = {"sex": 2, "age": 130, "year": 36, "behavior": 2, "lab": 9, "death": 2, "other": 2}
SLICES = [["year", "death"], ["age", "death"]]
AXES = ((2, 5), (1, 5))
EPSILON = 0.5
_FIRST_OR_LEFT_OUT = {"cells-clamped", "adaptive", "topdown"}


def compare(rows: Rows, runs: int, opendp: bool) -> None:
    """Print errors and CPU seconds of all methods."""
    dimensions = [declare(name, {"range": [0, size - 1]}) for name, size in CUBE.items()]
    baseline: list[float] = []
    print(f"{'method':<16}{'year x death':>14}{'age x death':>14}{'baseline / it':>22}{'CPU s a run':>14}")
    # adaptive chooses among slices of its own, so that these two need not be among them; topdown needs outer levels
    for method in ("cells-clamped", *(name for name in METHODS if name not in _FIRST_OR_LEFT_OUT)):
        plan = plan_cube(
            dimensions,
            EPSILON,
            PrivacyUnit(),
            method=method,
            slices=SLICES if method == "marginals" else (),
            report_share=0,
        )
        errors, start = [], time.process_time()
        for seed in range(runs):
            noise: Noise = OpenDPNoise() if opendp else SeededNoise(seed)
            model, _ = measure(rows, plan, noise)
            errors.append([float(np.abs(model.counts(axes) - rows.counts(axes)).sum()) for axes in AXES])
        seconds = (time.process_time() - start) / runs
        year, age = np.mean(errors, axis=0)
        baseline = baseline or [year, age]
        ratios = f"{baseline[0] / year:>11.1f}{baseline[1] / age:>11.1f}"
        print(f"{method:<16}{year:>14,.0f}{age:>14,.0f}{ratios}{seconds:>14.2f}", flush=True)


def theory(rows: Rows) -> None:
    """Print what clamping adds to empty cells, against the formulas."""
    empty = int((rows.counts() == 0).sum())
    zeros = np.zeros(10 * empty, np.int64)
    discrete = np.maximum(SeededNoise(0).discrete_laplace(zeros, 1, EPSILON), 0).mean()
    floored = np.maximum(np.floor(SeededNoise(0).laplace(zeros, 1 / EPSILON)), 0).mean()
    floor_theory = 0.5 * np.exp(-EPSILON) / -np.expm1(-EPSILON)
    print(f"\nclamping adds to each of {empty:,} empty cells: theory and measured")
    print(f"  discrete Laplace             {clamp_bias(1, EPSILON):.4f} {discrete:.4f}")
    print(
        f"  floor of continuous Laplace  {floor_theory:.4f} {floored:.4f}  (times 9,360 cells: {floored * 9360:,.0f})"
    )


def private_time(rows: Rows) -> None:
    """Print CPU seconds of a private release of the named slices, and of all cells."""
    dimensions = [declare(name, {"range": [0, size - 1]}) for name, size in CUBE.items()]
    OpenDPNoise().discrete_laplace(np.zeros(1, np.int64), 1, EPSILON)  # loads the library
    seconds = {}
    for method, slices in (("marginals", SLICES), ("cells", [])):
        plan = plan_cube(dimensions, EPSILON, PrivacyUnit(), method=method, slices=slices, report_share=0)
        start = time.process_time()
        measure(rows, plan, OpenDPNoise())
        seconds[method] = time.process_time() - start
    named, every = seconds["marginals"], seconds["cells"]
    print(f"\nCPU s of a release with OpenDP: named slices {named:.3f}, every cell {every:.1f}, {every / named:.0f} x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--opendp", action="store_true", help="draw with OpenDP; every run of cells takes many seconds")
    arguments = parser.parse_args()
    names = [declare(name, {"range": [0, size - 1]}) for name, size in CUBE.items()]
    table = rows_of(read_table(arguments.table), names)
    compare(table, arguments.runs, arguments.opendp)
    theory(table)
    private_time(table)
