"""Accuracy and time of sequence releases, beside Algorithm 6 of the dissertation with its privacy errors corrected.

    python scripts/bench/bench_sequences.py ../shared/data/dp              # 30 runs, test noise, epsilon 1

Prints, for each file and method, the mean absolute error of a prefix query by length, and the geometric mean over the
lengths of its ratio to the baseline, which is measured in the same run. The baseline is ``tree-paper``: eight depths
(the root is counted, as printed) of an eighth of epsilon each. Chen's variant that does not count the root has more for
the others; the ratio to it is printed too. ``zero`` answers 0 to everything, ``even`` spreads the noisy total evenly.
Then the CPU seconds of a tree with OpenDP's noise, beside drawing noise for all prefixes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from deid.dp.domain import declare
from deid.dp.noise import OpenDPNoise
from deid.dp.sequences import measure_sequences, plan_sequences
from deid.dp.unit import PrivacyUnit
from deid.experiments.outcome import RunOptions
from deid.experiments.sequences import compare_sequences
from deid.table.table_files import read_table

PERIODS = [f"q{number}" for number in range(1, 8)]
LEVELS = declare("level", {"range": [0, 3]})


def main(folder: Path, runs: int, epsilon: float) -> None:
    """Print all figures."""
    for name in ("sequences_resampled", "sequences_independent"):
        codes = read_table(folder / f"{name}.csv")[PERIODS].to_numpy(np.int64)
        frame = compare_sequences(codes, LEVELS, RunOptions((epsilon,), runs=runs))
        errors = frame.pivot(index="method", columns="length", values="error")
        print(f"\n{name}, epsilon {epsilon:g}, mean of {runs} runs; error of a prefix query by length, ratios")
        print(f"{'method':<20}" + "".join(f"{length:>9}" for length in errors.columns) + "   ratio  no root")
        for method, own in errors.iterrows():
            ratios = [np.exp(np.log(own / errors.loc[base]).mean()) for base in ("tree-paper", "tree-paper-no-root")]
            print(f"{method:<20}" + "".join(f"{value:>9.2f}" for value in own) + "".join(f"{r:>8.3f}" for r in ratios))
    plan = plan_sequences(LEVELS, PERIODS, epsilon, PrivacyUnit(), report_share=0)
    measure_sequences(codes[:10], plan, OpenDPNoise())  # loads the library
    start = time.process_time()
    model = measure_sequences(codes, plan, OpenDPNoise())
    model.distribution(7)
    tree = time.process_time() - start
    start = time.process_time()
    for length in range(1, 8):
        OpenDPNoise().discrete_laplace(np.zeros(4**length, np.int64), 1, epsilon / 7)
    print(f"\nCPU s with OpenDP: tree {tree:.3f}, all prefixes {time.process_time() - start:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--epsilon", type=float, default=1.0)
    arguments = parser.parse_args()
    main(arguments.folder, arguments.runs, arguments.epsilon)
