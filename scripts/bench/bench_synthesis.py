"""How good made-up rows are: distance of two-way tables, and a classifier trained on them, beside other tools.

    python scripts/bench/bench_synthesis.py ../shared/data/adult/adult.csv                 # 5 runs, test noise
    python scripts/bench/bench_synthesis.py ../shared/data/dp/seer_shaped.csv              # or cube.csv
    python scripts/bench/bench_synthesis.py admissions                                     # 40 columns, made here
    python scripts/bench/bench_synthesis.py admissions:31                                  # the same of another seed
    pip install 'opendp[mbi]' pandas                               # into an environment of its own
    python scripts/bench/bench_synthesis.py ../shared/data/adult/adult.csv --peers-python ENV/bin/python

24,000 rows of Adult, nine columns, age in cells of five years; 17,000 of a registry of seven columns, of which age has
130 cells and the year 36; 20,000 of the table ``admissions`` of `scripts/build_tables.py`, 40 columns of 2 to 91 cells.
For each release and epsilon: half the sum of absolute differences of shares in the mean of all two-way tables, the AUC
of a logistic regression (of income, of death, of coming back) trained on the made-up rows and tried on the others, and
CPU seconds of release and rows; medians of the runs.

Peers, in the same run: private-pgm (``mbi``, a graphical model) and our model on the same noisy tables, all single
columns and the first eight pairs of ``adaptive``, of `PEER_RUNS` runs; a graphical model over all 36 pairs would need
the whole cube of 144 million cells. And OpenDP's AIM, once, with its own noise, in pure epsilon, pairs alone, cut down
to 16 rounds and 1 MB. Both draw rows one by one (``sample``): by default (``round``) ``mbi`` 1.1 hands out values in
the order of the rows before, and its rows are then twice as far off as its model (.097 and .048 at epsilon 1).
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Table = tuple[list[int], list[float], float]
PEER_RUNS = 5
SAME = 8  # pairs that all models get, beside the single columns
TARGETS = {"salary-class", "death", "readmitted"}
ORDERED = {"age", "year"}  # of Adult and the registry
REGISTRY = {"sex": 2, "age": 130, "year": 36, "behavior": 2, "lab": 9, "other": 2, "death": 2}


class Source(NamedTuple):
    """Rows to release and to try on, as cells; the target is the last column."""

    names: list[str]
    train: Any
    test: Any
    shape: list[int]
    in_order: list[int]
    """As of `deid.dp.domain.Dimension`."""


def read(source: str) -> Source:
    """Read a table, or make it."""
    import pandas as pd

    if source.startswith("admissions"):
        names, codes, shape, in_order = admissions(int(source.partition(":")[2] or 29))
        rows = 20_000
    else:
        frame = pd.read_csv(source, sep=None, engine="python", dtype=str)
        if "year" in frame:
            frame = frame[list(REGISTRY)].astype(int)
            codes, shape, rows = frame.to_numpy(np.int64), list(REGISTRY.values()), 17_000
        else:
            frame["age"] = (frame["age"].astype(int) - 17) // 5
            codes = np.stack([pd.Categorical(frame[name]).codes for name in frame], axis=1).astype(np.int64)
            shape, rows = (codes.max(axis=0) + 1).tolist(), 24_000
        names = [str(name) for name in frame]
        in_order = [size * (name in ORDERED) for name, size in zip(names, shape, strict=True)]
    codes = codes[np.random.default_rng(0).permutation(len(codes))]
    return Source(names, codes[:rows], codes[rows:], shape, in_order)


def admissions(seed: int) -> tuple[list[str], Any, list[int], list[int]]:
    """Return names, cells, sizes and cells in order of the columns of 26,000 stays."""
    import io
    import tomllib

    import pandas as pd

    from deid.dp.domain import declare

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from build_tables import admissions as made

    files = made(seed=seed, rows=26_000)
    frame = pd.read_csv(io.StringIO(files["admissions/admissions.csv"]), dtype=str, keep_default_na=False)
    declared = tomllib.loads(files["admissions/domains.toml"])["columns"]
    names = [*(name for name in declared if name not in TARGETS), "readmitted"]
    dimensions = [declare(name, declared[name]) for name in names]
    codes = np.stack([own.codes(frame[own.name]) for own in dimensions], axis=1)
    return names, codes, [len(own) for own in dimensions], [own.in_order for own in dimensions]


def shares(codes: Any, pair: tuple[int, int], shape: list[int]) -> Any:
    """Return a two-way table of shares."""
    cells = codes[:, pair[0]] * shape[pair[1]] + codes[:, pair[1]]
    return np.bincount(cells, minlength=shape[pair[0]] * shape[pair[1]]) / len(codes)


def judge(made: Any, train: Any, test: Any, shape: list[int]) -> tuple[float, float]:
    """Return the mean distance of two-way tables, and the AUC of a classifier."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import OneHotEncoder

    pairs = itertools.combinations(range(len(shape)), 2)
    apart = [np.abs(shares(made, pair, shape) - shares(train, pair, shape)).sum() / 2 for pair in pairs]
    encoder = OneHotEncoder(categories=[range(size) for size in shape[:-1]]).fit(train[:1, :-1])
    model = LogisticRegression(max_iter=300).fit(encoder.transform(made[:, :-1]), made[:, -1])
    chances = model.predict_proba(encoder.transform(test[:, :-1]))[:, 1]
    return float(np.mean(apart)), float(roc_auc_score(test[:, -1], chances))


def declared(name: str, size: int, in_order: int) -> Any:
    """Return the dimension of a column whose cells are numbers: those in order, and what is missing behind them."""
    from deid.dp.domain import declare

    if not in_order:
        return declare(name, {"values": list(range(size))})
    above = {"above": str(in_order)} if in_order < size else {}
    missing = {"missing": str(size - 1)} if in_order < size - len(above) else {}
    return declare(name, {"range": [0, in_order - 1]} | above | missing)


def ours(source: Source, method: str, epsilon: float, seed: int) -> tuple[Any, list[Table]]:
    """Return made-up rows, and the noisy tables that they come from with the variance of their noise."""
    from deid.dp.costs import variance_of
    from deid.dp.cube import plan_cube
    from deid.dp.methods import Rows, measure
    from deid.dp.models import TableModel
    from deid.dp.noise import SeededNoise
    from deid.dp.release import CubeRelease
    from deid.dp.synthetic import synthesize
    from deid.dp.unit import PrivacyUnit

    dimensions = tuple(map(declared, source.names, source.shape, source.in_order))
    slices = [list(pair) for pair in itertools.combinations(source.names, 2)] if method == "marginals" else []
    plan = plan_cube(dimensions, epsilon, PrivacyUnit(), method=method, slices=slices, report_share=0)
    model, _ = measure(Rows(source.train, tuple(source.shape)), plan, SeededNoise(seed))
    made = synthesize(CubeRelease(dimensions, model, {"method": method, "level": 0.95}), seed=seed)
    tables = []
    if isinstance(model, TableModel):
        tables = [(list(own.axes), own.unbiased.ravel().tolist(), variance_of(1, own.cost)) for own in model.tables]
    return made.astype(int).to_numpy(), tables


def same_tables(tables: list[Table], source: Source) -> Any:
    """Return rows that are drawn from noisy tables as `synthesize` draws them."""
    from deid.dp.marginals import Marginal
    from deid.dp.synthetic import fitted_drawing

    marginals = [
        Marginal(tuple(axes), np.array(values).reshape([source.shape[axis] for axis in axes]), variance)
        for axes, values, variance in tables
    ]
    rows = len(source.train)
    drawn = fitted_drawing(marginals, source.shape, source.in_order, rows)(rows, np.random.default_rng(0))
    return np.stack([drawn[axis] for axis in range(len(source.shape))], axis=1)


def pgm(asked: dict[str, Any]) -> Any:
    """Fit private-pgm to noisy tables and draw rows; run by the peers' Python."""
    import mbi

    domain = mbi.Domain([str(axis) for axis in range(len(asked["shape"]))], asked["shape"])
    measurements = [
        mbi.LinearMeasurement(np.array(values), tuple(map(str, axes)), stddev=variance**0.5)
        for axes, values, variance in asked["tables"]
    ]
    model = mbi.estimation.mirror_descent(domain, measurements, iters=1000)
    return model.synthetic_data(rows=len(asked["rows"]), method="sample").to_dict()


def aim(asked: dict[str, Any]) -> Any:
    """Release by OpenDP's AIM and draw rows; run by the peers' Python."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    names = [str(axis) for axis in range(len(asked["shape"]))]
    context = dp.Context.compositor(
        data=pl.LazyFrame(dict(zip(names, np.array(asked["rows"]).T, strict=True))),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=asked["epsilon"]),
        split_evenly_over=1,
    )
    keys = {name: list(range(size)) for name, size in zip(names, asked["shape"], strict=True)}
    algorithm = dp.mbi.AIM(queries=2, max_size=1.0, rounds=16)
    table = context.query().select(*names).contingency_table(keys=keys, algorithm=algorithm).release()
    return table.synthesize(method="sample").to_dict(as_series=False)


PEERS = {"8 pairs, private-pgm": (pgm, PEER_RUNS), "OpenDP AIM": (aim, 1)}


def peer(name: str, asked: dict[str, Any], python: str, limit: int) -> tuple[Any, float]:
    """Run a peer in its own Python; return its rows and CPU seconds, None where it needs more than ``limit``."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(asked, file)
        file.flush()
        try:
            run = subprocess.run(
                [python, __file__, file.name, "--peer", name, "--limit", str(limit)], capture_output=True, check=True
            )
        except subprocess.CalledProcessError as error:
            ended = f"ended with {error.returncode} ({-signal.SIGXCPU}: took more than {limit} CPU s)"
            print(f"{name}, epsilon {asked['epsilon']:g}: {ended}", error.stderr[-300:].decode(errors="replace"))
            return None, 0.0
    found = json.loads(run.stdout.splitlines()[-1])
    columns = [found["rows"][str(axis)] for axis in range(len(asked["shape"]))]
    return np.array(columns).T, found["seconds"]


def compare(table: str, runs: int, python: str | None, limit: int) -> None:
    """Print the table."""
    source = read(table)
    names, train, test, shape, _ = source
    assert names[-1] in TARGETS
    print(f"true rows: AUC {judge(train, train, test, shape)[1]:.3f}")
    print(f"{'release':<22}{'epsilon':>8}{'distance':>10}{'AUC':>8}{'CPU s':>8}")
    for epsilon in (1.0, 0.1):
        found: dict[str, list[list[float]]] = {}

        def add(name: str, made: Any, seconds: float, found: dict[str, list[list[float]]] = found) -> None:
            found.setdefault(name, []).append([*judge(made, train, test, shape), seconds])

        same: list[dict[str, Any]] = []
        for method, seed in itertools.product(("marginals", "adaptive", "forest"), range(runs)):
            start = time.process_time()
            made, tables = ours(source, method, epsilon, seed)
            add(method, made, time.process_time() - start)
            if method == "adaptive" and python and seed < PEER_RUNS:
                known: dict[str, Any] = {"shape": shape, "tables": tables[: len(shape) + SAME]}
                same.append(known | {"epsilon": epsilon, "rows": train.tolist()})
        for number, asked in enumerate(same):
            start = time.process_time()
            made = same_tables(asked["tables"], source)
            add(f"{SAME} pairs, ours", made, time.process_time() - start)
            for name, (_, most) in PEERS.items():
                made, seconds = peer(name, asked, str(python), limit) if number < most else (None, 0.0)
                if made is not None:
                    add(name, made, seconds)
        for name, measured in found.items():
            apart, area, seconds = np.median(measured, axis=0)
            print(f"{name:<22}{epsilon:>8g}{apart:>10.4f}{area:>8.3f}{seconds:>8.1f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="a CSV file of Adult or of the registry, or admissions[:SEED]")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers-python", help="a Python that has opendp[mbi] and pandas")
    parser.add_argument("--limit", type=int, default=300, help="CPU seconds for one run of a peer")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        resource.setrlimit(resource.RLIMIT_CPU, (arguments.limit, arguments.limit + 9))
        begin = time.process_time()
        drawn = PEERS[arguments.peer][0](json.loads(Path(arguments.table).read_text()))
        whole = [row for row in zip(*drawn.values(), strict=True) if None not in row]  # AIM draws rows with gaps
        rows = {name: [int(row[place]) for row in whole] for place, name in enumerate(drawn)}
        sys.stdout.write(json.dumps({"rows": rows, "seconds": time.process_time() - begin}) + "\n")
    else:
        compare(arguments.table, arguments.runs, arguments.peers_python, arguments.limit)
