"""How near the method that ``auto`` of `deid cube` chooses comes to the best of all, regime by regime.

    python scripts/bench/bench_auto.py                    # Adult and the registry in ../shared/data, tables of corpora/
    python scripts/bench/bench_auto.py --runs 4 --cases   # and what each case chose

Error is the mean L1 distance of all one-way, two-way and full tables over `--runs` releases with test noise; a case is
a set of columns at an epsilon, its ratio that of the chosen method's error to the least of `METHODS`. Printed are
median and greatest ratio of each regime, of `KNOWN`, by which the borders of ``auto`` were set, and of `OTHERS`:
columns, tables and epsilons that nothing was set by.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deid.dp.counting import rows_of
from deid.dp.cube import REGIMES, plan_cube
from deid.dp.domain import Dimension, declare
from deid.dp.methods import Rows, measure
from deid.dp.noise import SeededNoise
from deid.dp.unit import PrivacyUnit
from deid.table.table_files import read_table

METHODS = ("cells", "privtree", "forest", "dpcube")
CORPORA = Path(__file__).parents[2] / "corpora" / "tables"
ADULT, REGISTRY, CENSUS, STAYS = (
    "adult/adult.csv",
    "dp/seer_shaped.csv",
    "census/census.csv",
    "admissions/admissions.csv",
)
DOMAINS = {REGISTRY: "cube/domains.toml", STAYS: "admissions/domains.toml"}
KNOWN = {
    ADULT: ["sex,education", "sex,race,marital-status,education", "age,marital-status,occupation",
            "age,education,occupation,salary-class", "age,native-country,occupation"],
    REGISTRY: ["sex,age", "year,death", "age,death,lab", "age,year", "age,year,lab,sex"],
}  # fmt: skip
KNOWN_EPSILONS = (0.1, 0.5, 2.0)
OTHERS = {
    ADULT: ["workclass,race,age", "marital-status,native-country", "sex,occupation", "race,workclass,occupation,sex",
            "education,sex,salary-class", "native-country,race", "age,sex,race", "workclass,education,marital-status",
            "age,workclass,salary-class,sex"],
    REGISTRY: ["year,behavior,death", "year,lab", "age,behavior", "age,lab,sex,other", "age,other", "year,sex,lab",
               "lab,death,behavior,sex", "age,year,death", "age,year,behavior,sex"],
    CENSUS: ["sex,marriage", "age,job", "age,schooling,income", "employer,job,origin,sex", "marriage,schooling",
             "age,employer", "country,job", "age,marriage,sex,income"],
    STAYS: ["sex,ward", "age,sex", "age,urgency,died", "education,race,sex", "age,died", "admitted,ward",
            "diagnosis,urgency"],
}  # fmt: skip
OTHER_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0)


class Case(NamedTuple):
    """What was chosen for some columns at an epsilon, and how far off each method was."""

    table: str
    columns: str
    cells: int
    epsilon: float
    chosen: str
    errors: dict[str, float]

    @property
    def ratio(self) -> float:
        """The chosen method's error to the least."""
        return self.errors[self.chosen] / min(self.errors.values())

    @property
    def regime(self) -> int:
        """The place of its regime in `REGIMES`; behind them all for the last one."""
        return sum(self.cells / self.epsilon > most for most, _ in REGIMES)


def dimensions_of(table: str, columns: Sequence[str], values: dict[str, list[str]]) -> list[Dimension]:
    """Return declared columns: of a file of domains, ages in cells of five years, all else as it occurs."""
    said = tomllib.loads((CORPORA / DOMAINS[table]).read_text())["columns"] if table in DOMAINS else {}
    ages = {"age": {"range": [17, 96], "width": 5}}
    return [declare(own, said.get(own) or ages.get(own) or {"values": values[own]}) for own in columns]


def cases(folder: Path, tables: dict[str, list[str]], epsilons: Iterable[float], runs: int) -> Iterable[Case]:
    """Yield the cases of some tables; those that are in neither folder are passed over."""
    for table, sets in tables.items():
        place = next((own / table for own in (folder, CORPORA) if (own / table).is_file()), None)
        if place is None:
            continue
        frame = read_table(place, text=True)
        for columns in sets:
            names = columns.split(",")
            dimensions = dimensions_of(table, names, {own: sorted(frame[own].unique()) for own in names})
            rows = rows_of(frame, dimensions)
            for epsilon in epsilons:
                chosen = plan_cube(dimensions, epsilon, PrivacyUnit()).method
                errors = {method: error_of(rows, dimensions, epsilon, method, runs) for method in METHODS}
                yield Case(table, columns, math.prod(rows.shape), epsilon, chosen, errors)


def error_of(rows: Rows, dimensions: Sequence[Dimension], epsilon: float, method: str, runs: int) -> float:
    """Return the mean L1 distance of one-way, two-way and full tables."""
    places = range(len(dimensions))
    slices = {*itertools.combinations(places, 1), *itertools.combinations(places, 2), tuple(places)}
    plan = plan_cube(dimensions, epsilon, PrivacyUnit(), method=method, report_share=0)
    models = [measure(rows, plan, SeededNoise(seed))[0] for seed in range(runs)]
    apart = [np.abs(model.counts(own) - rows.counts(own)).sum() for model in models for own in slices]
    return float(np.mean(apart))


def tell(name: str, found: list[Case]) -> None:
    """Print median and greatest ratio of each regime, and of all."""
    print(f"\n{name}: {len({(own.table, own.columns) for own in found})} tables of ", end="")
    print(f"{min(own.cells for own in found):,} to {max(own.cells for own in found):,} cells")
    print(f"{'cells / epsilon':>16}{'cases':>7}{'median':>8}{'greatest':>10}")
    borders = [f"up to {most:,}" for most, _ in REGIMES] + ["more"]
    for place, border in enumerate([*borders, "all"]):
        own = [one.ratio for one in found if border == "all" or one.regime == place]
        if own:
            print(f"{border:>16}{len(own):>7}{statistics.median(own):>8.2f}{max(own):>10.2f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--cases", action="store_true", help="print each case")
    said = parser.parse_args()
    for name, tables, epsilons in (("set by", KNOWN, KNOWN_EPSILONS), ("others", OTHERS, OTHER_EPSILONS)):
        found = []
        for case in cases(said.data, tables, epsilons, said.runs):
            found.append(case)
            if said.cases:
                errors = "  ".join(f"{method} {error:,.0f}" for method, error in case.errors.items())
                print(
                    f"{case.columns:<40}{case.cells:>8,}{case.epsilon:>5g} {case.chosen:<9}{case.ratio:.2f}  {errors}"
                )
        if found:
            tell(name, found)


if __name__ == "__main__":
    main()
