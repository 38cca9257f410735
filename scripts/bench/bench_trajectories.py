#!/usr/bin/env python3
"""Release generated trajectories by A-GS and by the baseline: loss, CPU seconds, cost as their number grows.

Persons have 1 to 40 pairs (about 5.9) over 50 codes in 10 groups and ages 0 to 101 (about 3 different ones each): the
shape of the paper's D50Pop, whose data are not public. Up to three chronic codes come back at most visits, other codes
come between them; both are drawn by a power law. Visits are 0 to 2 years apart.

    python scripts/bench/bench_trajectories.py --people 27639 --k 5
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from deid.table.hierarchy import Hierarchy, hierarchy_from_rows
from deid.trajectories import Trajectories, anonymize_trajectories, check_trajectories, kernels, make_trajectories
from deid.trajectories.measures import average_relative_error, loss_of

SEED = 11


def hierarchies() -> tuple[Hierarchy, Hierarchy]:
    """Make the hierarchies of codes (two levels below the root) and ages (5, 10, 20, 40 years)."""
    codes = hierarchy_from_rows([[f"c{i}", f"group {i // 5}", "any"] for i in range(50)], "codes")
    steps = (5, 10, 20, 40)
    ages = hierarchy_from_rows(
        [[str(a), *(f"[{a // s * s}-{a // s * s + s - 1}]" for s in steps), "any"] for a in range(102)], "ages"
    )
    return codes, ages


def generate(people: int) -> Trajectories:
    """Draw trajectories."""
    rng = np.random.default_rng(SEED)
    share = 1 / np.arange(1, 51) ** 0.9
    share /= share.sum()
    histories = {}
    for person in range(people):
        chronic = rng.choice(50, int(rng.integers(0, 4)), p=share, replace=False)
        start, ages = int(np.clip(rng.normal(52, 20), 0, 93)), [0]
        while rng.random() < 0.68 and len(ages) < 9:
            ages.append(ages[-1] + int(rng.random() < 0.8) + int(rng.random() < 0.2))
        history = []
        for age in ages:
            codes = [c for c in chronic if rng.random() < 0.85]
            codes += rng.choice(50, int(rng.poisson(0.55)), p=share).tolist()
            history += [(f"c{code}", str(min(101, start + age))) for code in sorted(codes)]
        histories[str(person)] = history[:40] or [(f"c{rng.choice(50, p=share)}", str(start))]
    return make_trajectories(histories, *hierarchies())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=27_639)
    parser.add_argument("--k", type=int, nargs="+", default=[5])
    parser.add_argument("--weights", type=float, nargs="+", default=[0.5], help="weights of codes")
    parser.add_argument("--methods", nargs="+", default=["a-gs", "baseline"])
    arguments = parser.parse_args()
    if kernels.BACKEND != "native":
        raise SystemExit("the compiled alignment is not built: figures would not be comparable")
    data = generate(arguments.people)
    print(f"{len(data)} persons, {len(data.pairs) / len(data):.2f} pairs each")
    print("  people   k  weight  method     ILM    ALM  ILM est  ALM est  AvgRE  suppressed   CPU s")
    for people in sorted({len(data) // 8, len(data) // 4, len(data) // 2, len(data)}):
        part = Trajectories(
            data.people[:people], data.pairs[: data.bounds[people]], data.bounds[: people + 1], data.codes, data.ages
        )
        full = people == len(data)
        for k in arguments.k if full else arguments.k[:1]:
            for weight in arguments.weights if full else arguments.weights[:1]:
                times = {}
                for method in arguments.methods if full else ["a-gs"]:
                    start = time.process_time()
                    release = anonymize_trajectories(part, k, weight=weight, method=method)
                    times[method] = time.process_time() - start
                    assert check_trajectories(release.published(), k, part)[0]
                    loss, error = loss_of(release), average_relative_error(release)[0]
                    print(
                        f"{people:>8}{k:>4}{weight:>8}  {method:<9}{loss.ilm:>6.3f}{loss.alm:>7.3f}"
                        f"{loss.ilm_estimate:>9.3f}{loss.alm_estimate:>9.3f}{error:>7.3f}"
                        f"{loss.suppressed / loss.pairs:>12.1%}{times[method]:>8.1f}",
                        flush=True,
                    )
                if len(times) == 2:
                    ratio = times["a-gs"] / times["baseline"]
                    print(f"          a-gs takes {ratio:.2f} times the CPU time of the baseline")


if __name__ == "__main__":
    main()
