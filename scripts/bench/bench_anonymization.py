"""Anonymization of Adult and of a million rows: loss and CPU seconds, beside a textbook Mondrian of the same run.

    python scripts/bench/bench_anonymization.py adult      # local, Mondrian, full-domain, l, t; against ARX's figures
    python scripts/bench/bench_anonymization.py cluster    # clustering against Mondrian, and its growing cost
    python scripts/bench/bench_anonymization.py million    # 1,000,000 rows x 9 columns: search, verification, memory
    python scripts/bench/bench_anonymization.py population # k-map and presence of 3,000 people among all of Adult
    python scripts/bench/bench_anonymization.py jobs       # local recoding by two processes against one
    python scripts/bench/bench_anonymization.py growth --plot growth.svg [--rows 10000000]

Needs the folder of the Adult data (``--data``). ARX's figures are constants: ARX 3.9.2, CPU seconds of its main thread
on another day of the same kind of machine, as printed in the README of the data; what the ratios divide by is the
textbook Mondrian (pandas, one group at a time) measured here.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from deid.base.plots import COLOURS, image, new_figure
from deid.disclosure.assessment import Requirements
from deid.disclosure.clustering import bottom_up, hybrid, top_down
from deid.disclosure.constraints import All, Constraint, DistinctL, KAnonymity, TCloseness
from deid.disclosure.encoding import CodedTable, boxes, class_ids, encode
from deid.disclosure.full_domain import optimal_levels
from deid.disclosure.groups import groups_of
from deid.disclosure.local_recoding import local_recoding, mean_loss
from deid.disclosure.methods import MethodOptions
from deid.disclosure.mondrian import mondrian
from deid.disclosure.privacy import k_anonymity
from deid.disclosure.recoding import publish
from deid.disclosure.release import anonymize, content_order
from deid.table.hierarchy import read_hierarchy
from deid.table.microdata import Microdata

if TYPE_CHECKING:
    from collections.abc import Sequence

KS = (2, 5, 10, 25, 50)
ARX_LOCAL = dict(
    zip(
        KS,
        ((0.052, 212e3, 1.2), (0.080, 354e3, 1.7), (0.106, 529e3, 1.7), (0.148, 1.25e6, 2.7), (0.186, 2.45e6, 4.5)),
        strict=True,
    )
)
ARX_GLOBAL = dict(zip(KS, ((0.196, 1.5), (0.312, 1.0), (0.374, 0.9), (0.450, 0.7), (0.499, 0.5)), strict=True))
NUMPY_DM = dict(zip(KS, (166e3, 277e3, 497e3, 1.20e6, 2.33e6), strict=True))


def adult(folder: Path, columns: int = 8, sensitive: Sequence[str] = (), *, hierarchies: bool = True) -> Microdata:
    """Return Adult with its first columns as quasi-identifiers, rows in the order of their content."""
    frame = pd.read_csv(folder / "adult.csv", sep=";")
    names = list(frame.columns)[:columns]
    roles = dict.fromkeys(names, "quasi-identifier") | dict.fromkeys(sensitive, "sensitive")
    trees = {n: read_hierarchy(folder / "hierarchies" / f"{n}.csv") for n in roles} if hierarchies else {}
    # as deid anonymize takes them, whatever the file's order
    order = content_order(Microdata(frame, roles, trees))[::-1]
    return Microdata(frame.iloc[order].reset_index(drop=True), roles, trees)


def perturbed(folder: Path, rows: int) -> pd.DataFrame:
    """Return rows drawn from Adult, each cell redrawn from its column with probability .15 (README of the data)."""
    frame = pd.read_csv(folder / "adult.csv", sep=";").astype("category")
    rng = np.random.default_rng(7)
    drawn = rng.integers(0, len(frame), rows)
    columns = {}
    for name in frame.columns:
        codes = frame[name].cat.codes.to_numpy()
        new = codes[drawn]
        hit = rng.random(rows) < 0.15
        new[hit] = codes[rng.integers(0, len(frame), int(hit.sum()))]
        columns[name] = pd.Categorical.from_codes(new, frame[name].cat.categories)
    return pd.DataFrame(columns)


def textbook(table: CodedTable, k: int) -> np.ndarray:
    """Strict Mondrian as textbooks have it: one group at a time, on a data frame, medians by pandas."""
    frame = pd.DataFrame(table.codes)
    spans = (frame.max() - frame.min()).replace(0, 1)
    classes = np.zeros(len(frame), dtype=np.intp)
    stack, done = [frame.index], 0
    while stack:
        index = stack.pop()
        part = frame.loc[index]
        for column in ((part.max() - part.min()) / spans).sort_values(ascending=False, kind="stable").index:
            median = part[column].sort_values().iloc[(len(part) - 1) // 2]
            below = part[column] <= median
            if below.all():
                below = part[column] < median
            if below.sum() >= k and (~below).sum() >= k:
                stack += [index[below], index[~below]]
                break
        else:
            classes[index] = done
            done += 1
    return classes


def timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """Run once and return the result and its CPU seconds."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def discernibility(table: CodedTable, classes: np.ndarray) -> int:
    """Sum of the squared sizes of what is published alike."""
    low, high = boxes(table.codes, classes, int(classes.max()) + 1)
    for c, column in enumerate(table.columns):
        low[:, c], high[:, c] = column.covers(low[:, c], high[:, c])
    ids, _ = class_ids(np.concatenate([low, high], axis=1), [column.size for column in table.columns] * 2)
    sizes = np.bincount(ids, np.bincount(classes, table.weights))
    return int(sizes @ sizes)


def bench_adult(folder: Path) -> None:
    """Print the table of Adult."""
    data = adult(folder)
    coded, plain = encode(data), encode(adult(folder, hierarchies=False))
    print("Adult, 30,162 rows, 8 quasi-identifiers; NCP by hierarchies; ARX: constants from the README of the data")
    print(f"{'method':<26}{'k':>4}{'NCP':>8}{'DM':>12}{'CPU s':>8}{'smallest':>9}   ARX 3.9.2 (NCP, DM, CPU s)")
    baseline: dict[int, float] = {}
    for k in KS[1:]:
        classes, baseline[k] = timed(lambda k=k: textbook(plain, k))
        _line("textbook Mondrian, pandas", k, plain, classes, baseline[k], "")
    for k in KS:
        collapsed, ids = plain.collapse()
        classes, seconds = timed(lambda k=k, t=collapsed, i=ids: mondrian(t, KAnonymity(k))[i])
        _line("Mondrian, medians", k, plain, classes, seconds, _ratio(baseline, k, seconds))
    for k in KS:
        classes, seconds = timed(lambda k=k: mondrian(coded, KAnonymity(k)))
        _line("Mondrian, hierarchies", k, coded, classes, seconds, "")
    for k in KS:
        classes, seconds = timed(lambda k=k: local_recoding(coded, KAnonymity(k)))
        _line("local recoding", k, coded, classes, seconds, "{:.3f}, {:,.0f}, {}".format(*ARX_LOCAL[k]))
    small, _ = coded.collapse()
    for k in KS:
        start = time.process_time()
        found = optimal_levels(small, KAnonymity(k), 0.05)
        seconds = time.process_time() - start
        arx = "{:.3f}, -, {}".format(*ARX_GLOBAL[k])
        print(f"{'full domain, 5 % out':<26}{k:>4}{found.loss:>8.4f}{'':>12}{seconds:>8.2f}{'':>9}   {arx}")
    seven = encode(adult(folder, 7, ("occupation",)))
    models: dict[str, tuple[Constraint, str]] = {
        "l = 3 occupation": (DistinctL(3, "occupation"), ".057 local"),
        "t = .3 occupation": (TCloseness(0.3, "occupation"), ".291 local, 8 s"),
    }
    print("7 quasi-identifiers, k = 5")
    for name, (model, arx) in models.items():
        constraint = All((KAnonymity(5), model))
        classes, seconds = timed(lambda c=constraint: local_recoding(seven, c))
        assert constraint.satisfied(groups_of(seven, classes, int(classes.max()) + 1)).all()
        _line("local, " + name, 5, seven, classes, seconds, arx)


def _ratio(baseline: dict[int, float], k: int, seconds: float) -> str:
    return f"{baseline[k] / seconds:.0f} times faster than the textbook's" if k in baseline else ""


def _line(name: str, k: int, table: CodedTable, classes: np.ndarray, seconds: float, arx: str) -> None:
    smallest = int(np.bincount(classes, table.weights).min())
    loss, squares = mean_loss(table, classes), discernibility(table, classes)
    print(f"{name:<26}{k:>4}{loss:>8.4f}{squares:>12,}{seconds:>8.3f}{smallest:>9}   {arx}", flush=True)


def bench_cluster(folder: Path) -> None:
    """Print loss and cost of clustering on samples: the cost is quadratic, so the largest has 8,000 rows."""
    coded = encode(adult(folder))
    rng = np.random.default_rng(0)
    methods = {
        "mondrian": mondrian,
        "bottom-up": bottom_up,
        "top-down": top_down,
        "hybrid": hybrid,
        "local": local_recoding,
    }
    print(f"{'rows':>6}{'k':>4}" + "".join(f"{name + ' NCP':>15}{'CPU s':>8}" for name in methods))
    for rows in (1000, 2000, 4000, 8000):
        sample = coded.take(np.sort(rng.choice(len(coded), rows, replace=False)))
        for k in (5, 10):
            line = f"{rows:>6}{k:>4}"
            for method in methods.values():
                classes, seconds = timed(lambda m=method, s=sample, k=k: m(s, KAnonymity(k)))
                line += f"{mean_loss(sample, classes):>15.4f}{seconds:>8.2f}"
            print(line, flush=True)


_SEARCHES = (("mondrian", 0), ("local", 0), ("optimal", 0), ("optimal", 0.01), ("optimal", 0.05), ("greedy", 0.05))


def bench_population(folder: Path) -> None:
    """Print the loss of k-map and delta-presence of some people among all, by each search, and who is suppressed."""
    people = adult(folder, 6)
    people = replace(people, frame=people.frame[list(people.quasi_identifiers)])
    some = np.sort(np.random.default_rng(1).choice(len(people), 3000, replace=False))
    data = replace(people, frame=people.frame.iloc[some].reset_index(drop=True))
    print(f"{'asked':<20}{'method':<10}{'may suppress':>13}{'NCP':>8}{'rows':>7}{'CPU s':>7}")
    for asked in (Requirements(k_map=10), Requirements(presence=(0, 0.5)), Requirements(presence=(0, 0.2))):
        name = f"{asked.k_map}-map" if asked.presence is None else f"presence to {asked.presence[1]:g}"
        for method, share in _SEARCHES:
            if method == "local" and asked.presence is not None:
                continue
            options = MethodOptions(suppression=share)
            start = time.process_time()
            found = anonymize(data, asked, method, options, population=people)
            seconds = time.process_time() - start
            print(f"{name:<20}{method:<10}{share:>13g}{found.loss.ncp:>8.4f}{len(found.rows):>7}{seconds:>7.2f}")


def bench_million(folder: Path, rows: int, methods: Sequence[str] = ("mondrian", "local")) -> None:
    """Print search, publication and verification of many rows."""
    frame = perturbed(folder, rows)
    start = time.process_time()
    data = Microdata(frame, dict.fromkeys(frame.columns, "quasi-identifier"))
    coded = encode(data)
    print(f"{rows:,} rows x {len(coded.columns)} columns: encode {time.process_time() - start:.2f} CPU s")
    for method in methods:
        start = time.process_time()
        if method == "mondrian":
            small, ids = coded.collapse()
            classes = mondrian(small, KAnonymity(5))[ids]
        else:
            classes = local_recoding(coded, KAnonymity(5))
        search = time.process_time() - start
        start = time.process_time()
        published = Microdata(publish(data, coded, classes), data.roles, kinds=dict.fromkeys(frame.columns, "nominal"))
        writing = time.process_time() - start
        start = time.process_time()
        verdict = k_anonymity(published, 5)
        checking = time.process_time() - start
        assert verdict.ok
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{method}, k = 5: search {search:.2f}, publish {writing:.2f}, verify {checking:.2f} CPU s; NCP "
            f"{mean_loss(coded, classes):.4f}; smallest class {verdict.level:.0f}; peak memory {peak:,.0f} MB",
            flush=True,
        )


def bench_jobs(folder: Path, rows: int, jobs: int) -> None:
    """Print local recoding by one process and by several: CPU seconds, those that nobody can share, and the clock."""
    frame = perturbed(folder, rows)
    coded = encode(Microdata(frame, dict.fromkeys(frame.columns, "quasi-identifier")))
    print(f"local recoding of {rows:,} rows x {len(coded.columns)}, k = 50; the clock counts other work of the machine")
    found, base = [], 0.0
    for number in (1, jobs):
        before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        classes, own = timed(lambda n=number: local_recoding(coded, KAnonymity(50), jobs=n))
        after, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - clock
        shared = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        longest = own + shared / number
        base = base or longest
        found.append(classes)
        print(
            f"{number} processes: NCP {mean_loss(coded, classes):.4f}; {own:.2f} + {shared:.2f} CPU s, "
            f"clock {clock:.1f} s; {base / longest:.2f} times as fast where each has a core",
            flush=True,
        )
    assert all(np.array_equal(found[0], classes) for classes in found)


def bench_growth(folder: Path, most: int, plot: Path | None) -> None:
    """Print CPU seconds of Mondrian from 10,000 rows to ``most``, and draw them."""
    sizes = [rows for rows in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000) if rows <= most]
    costs = []
    for rows in sizes:
        frame = perturbed(folder, rows)
        coded = encode(Microdata(frame, dict.fromkeys(frame.columns, "quasi-identifier")))
        del frame

        def search(table: CodedTable = coded) -> np.ndarray:
            small, ids = table.collapse()
            return mondrian(small, KAnonymity(5))[ids]

        _, seconds = timed(search)
        costs.append(seconds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{rows:>11,} rows {seconds:>8.2f} CPU s {1e6 * seconds / rows:>7.2f} us a row {peak:>8,.0f} MB", flush=True
        )
    if plot is not None:
        figure, axes = new_figure(6, 4)
        axes.loglog(sizes, costs, "o-", color=COLOURS[1], label="Mondrian, k = 5, 9 columns")
        axes.loglog(sizes, [costs[0] * rows / sizes[0] for rows in sizes], "--", color=COLOURS[7], label="linear")
        axes.set_xlabel("rows")
        axes.set_ylabel("CPU seconds")
        axes.legend()
        plot.write_bytes(image(figure, plot.suffix.lstrip(".")))


_PARTS = ("adult", "cluster", "population", "million", "growth", "jobs")


def main() -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["adult"], choices=_PARTS)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/adult"))
    parser.add_argument("--rows", type=int, default=0, help="million: rows; growth: most rows")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if "adult" in options.parts:
        bench_adult(options.data)
    if "cluster" in options.parts:
        bench_cluster(options.data)
    if "population" in options.parts:
        bench_population(options.data)
    if "million" in options.parts:
        bench_million(options.data, options.rows or 1_000_000)
    if "jobs" in options.parts:
        bench_jobs(options.data, options.rows or 1_000_000, options.jobs)
    if "growth" in options.parts:
        bench_growth(options.data, options.rows or 1_000_000, options.plot)


if __name__ == "__main__":
    main()
