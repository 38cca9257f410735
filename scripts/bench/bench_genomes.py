#!/usr/bin/env python3
"""DNALA on generated sequences: CPU seconds of each step, against pairing them in their order (the paper's greedy way).

Sequences are copies of one random ancestor in which each site mutates with probability .05, half of them in families of
five that share their mutations.

    python scripts/bench/bench_genomes.py --sequences 500 --sites 1000
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from deid.genomes import Sequences, generalize_sequences
from deid.genomes.lattice import encode

SEED = 7


def generate(count: int, sites: int) -> Sequences:
    """Make sequences with families."""
    rng = np.random.default_rng(SEED)
    bases = encode("ACGT")
    rows = np.tile(bases[rng.integers(0, 4, sites)], (count, 1))
    for first in range(0, count, 5):
        family = rng.random(sites) < 0.05
        rows[first : first + 5, family] = bases[rng.integers(0, 4, int(family.sum()))]
    own = rng.random(rows.shape) < 0.025
    rows[own] = bases[rng.integers(0, 4, int(own.sum()))]
    order = rng.permutation(count)
    return Sequences(tuple(f"s{i}" for i in range(count)), rows[order])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=500)
    parser.add_argument("--sites", type=int, default=1000)
    arguments = parser.parse_args()
    originals = generate(arguments.sequences, arguments.sites)
    figures = {}
    for matching in ("greedy", "exact"):
        start = time.process_time()
        result = generalize_sequences(originals, matching=matching)
        figures[matching] = (time.process_time() - start, result.cost)
        print(f"{matching:<8}{figures[matching][0]:>8.2f} CPU s   cost {result.cost}")
    seconds, cost = (b / a for a, b in zip(figures["greedy"], figures["exact"], strict=True))
    print(f"exact against greedy: {seconds:.2f} times the CPU time, {cost:.3f} times the cost")


if __name__ == "__main__":
    main()
