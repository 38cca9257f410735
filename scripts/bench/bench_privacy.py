"""Cost of verifying a published table: CPU seconds over rows, against grouping by pandas in the same run.

    python scripts/bench/bench_privacy.py ADULT.CSV [--rows 1000000] [--plot cost.svg]

Rows are drawn from the Adult table with replacement, then each cell is drawn anew from its column with probability .15
(seed 7): about 224,000 distinct rows of a million, nine columns. Reads the columns as text, so that coding is part of
the cost; a second figure has it done before, as for a table that a method made. Baseline: ``groupby`` of pandas on the
same text, which gives k alone.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from deid.base.plots import COLOURS, image, new_figure
from deid.disclosure.classes import equivalence_classes
from deid.disclosure.closeness import t_closeness
from deid.disclosure.privacy import distinct_l_diversity, entropy_l_diversity, k_anonymity
from deid.table.microdata import Microdata
from deid.table.table_files import read_table


def perturbed(adult: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Return a larger table as the module's docstring has it."""
    rng = np.random.default_rng(7)
    drawn = rng.integers(0, len(adult), rows)
    columns = {}
    for name in adult.columns:
        values = adult[name].to_numpy()
        column = values[drawn]
        anew = rng.random(rows) < 0.15
        column[anew] = values[rng.integers(0, len(adult), int(anew.sum()))]
        columns[name] = column
    return pd.DataFrame(columns)


def cpu(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU seconds of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adult", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    adult = read_table(options.adult).astype(str)
    names = list(adult.columns)
    roles = dict.fromkeys(names, "quasi-identifier")
    sizes = [n for n in (10_000, 100_000, 1_000_000, 10_000_000) if n <= options.rows]
    curves: dict[str, list[float]] = {
        "k, from text": [],
        "k, coded": [],
        "k, l, entropy, t of one column": [],
        "pandas": [],
    }
    for rows in sizes:
        text = perturbed(adult, rows)
        coded = text.astype("category")
        diseases = {**roles, "occupation": "sensitive"}
        figures = {
            "k, from text": cpu(lambda text=text: k_anonymity(Microdata(text, roles), 5)),
            "k, coded": cpu(lambda coded=coded: k_anonymity(Microdata(coded, roles), 5)),
            "k, l, entropy, t of one column": cpu(lambda coded=coded, said=diseases: _all(Microdata(coded, said))),
            "pandas": cpu(lambda text=text: text.groupby(names, sort=False, observed=True).size().min(), 1),
        }
        classes = len(equivalence_classes(Microdata(coded, roles)))
        print(f"{rows} rows, {len(names)} columns, {classes} classes")
        for name, seconds in figures.items():
            curves[name].append(seconds)
            print(f"  {name:32} {seconds:8.3f} s   {figures['pandas'] / seconds:6.1f} times the baseline's speed")
        del text, coded
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB (tables and baseline included)", file=sys.stderr)
    if options.plot:
        figure, axes = new_figure(6, 4)
        for colour, (name, curve) in zip(COLOURS, curves.items(), strict=False):
            axes.loglog(sizes, curve, "o-", color=colour, label=name)
        axes.set(xlabel="rows", ylabel="CPU seconds", title="Verifying a table of nine columns")
        axes.legend()
        options.plot.write_bytes(image(figure, options.plot.suffix.lstrip(".")))


def _all(release: Microdata) -> None:
    k_anonymity(release, 5)
    distinct_l_diversity(release, "occupation", 2)
    entropy_l_diversity(release, "occupation", 2)
    t_closeness(release, "occupation", 0.3)


if __name__ == "__main__":
    main()
