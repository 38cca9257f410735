#!/usr/bin/env python3
"""DNALA on generated sequences: CPU seconds of each step, against pairing them in their order (the paper's greedy way).

Sequences are copies of one random ancestor in which each site mutates with probability .05, half of them in families of
five that share their mutations.

    python scripts/bench/bench_genomes.py --sequences 500 --sites 1000
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from build_tables import bases_of

from deid.genomes import Sequences, generalize_sequences
from deid.genomes.lattice import encode


def generate(count: int, sites: int) -> Sequences:
    """Return sequences as scripts/build_tables.py draws them, without their names."""
    bases = encode("ACGT")[bases_of(count, sites)]
    return Sequences(tuple(f"s{i}" for i in range(count)), bases)


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
