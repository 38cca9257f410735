"""CPU time of t-plausible generalization: the searches over 5 to 100 sensitive words, and whole notes.

    python scripts/bench/bench_t_plausibility.py

The words are drawn from the shipped ontologies with a fixed seed. For each number of words and each t the table shows
the CPU milliseconds of every search (the mean over several draws), how many draws it solved within its limit of states
(100,000), and by how much greedy's cost exceeds the optimum, in bits a note. The last lines give the time to load the
ontologies, and to find and generalize the words of whole notes.
"""

from __future__ import annotations

import argparse
import math
import random
import time

from deid.document import Document
from deid.replacement.ontology import Ontology, chain
from deid.replacement.ontology_files import load_ontologies
from deid.replacement.plausibility_search import SEARCHES, Chain, Problem, SearchLimit
from deid.replacement.t_plausibility import generalize, make_generalizer

WORDS = (5, 10, 30, 100)
THRESHOLDS = (96, 10_000, 10**6, 10**12)
ROWS = (
    ("minimal", "best-first"),
    ("minimal", "branch-and-bound"),
    ("minimal", "greedy"),
    ("uniform", "branch-and-bound"),
    ("uniform", "greedy"),
)
LIMIT = 100_000


def draw(ontologies: tuple[Ontology, ...], count: int, seed: int) -> list[Chain]:
    """Return the chains of random leaves, one kind after the other."""
    source = random.Random(seed)
    chains = []
    for number in range(count):
        ontology = ontologies[number % len(ontologies)]
        found = chain(ontology, source.choice(ontology.hierarchy.leaves()).partition("#")[0])
        assert found is not None
        chains.append(found)
    return chains


def measure(problem: Problem, search: str) -> tuple[float, float | None]:
    """Return CPU seconds, and the cost of the choice (None beyond the limit)."""
    start = time.process_time()
    try:
        levels = SEARCHES[search](problem, LIMIT)
    except SearchLimit:
        return time.process_time() - start, None
    return time.process_time() - start, problem.choice(levels, optimal=True).cost


def searches(ontologies: tuple[Ontology, ...], draws: int) -> None:
    """Print the table of the searches."""
    print(f"{'objective':<9}{'search':<18}{'words':>6}{'t':>15}{'CPU ms':>10}{'solved':>8}{'cost over best':>16}")
    for objective, search in ROWS:
        for count in WORDS:
            for t in THRESHOLDS:
                seconds, extra, solved = 0.0, [], 0
                for seed in range(draws):
                    problem = Problem(draw(ontologies, count, seed), t, objective)
                    if not problem.feasible:
                        continue
                    used, cost = measure(problem, search)
                    seconds += used
                    solved += cost is not None
                    if cost is not None and search == "greedy":
                        best = measure(problem, "best-first" if objective == "minimal" else "branch-and-bound")[1]
                        extra += [cost - best] if best is not None else []
                over = f"{sum(extra) / len(extra):.2f} bit" if extra else "-"
                print(
                    f"{objective:<9}{search:<18}{count:>6}{t:>15}{1000 * seconds / draws:>10.2f}"
                    f"{f'{solved}/{draws}':>8}{over:>16}"
                )


def notes(ontologies: tuple[Ontology, ...], count: int) -> None:
    """Print the time a note with 30 sensitive words takes, with everything."""
    source = random.Random(7)
    texts = []
    for _ in range(count):
        words = [source.choice(ontologies[n % 4].hierarchy.leaves()).partition("#")[0] for n in range(30)]
        texts.append(" and then the usual course of events, followed by ".join(words) + ".")
    generalizer = make_generalizer(96)
    generalize(Document("warm-up", texts[0]), generalizer)
    start = time.process_time()
    found = [generalize(Document(str(n), text), generalizer).words for n, text in enumerate(texts)]
    used = time.process_time() - start
    print(
        f"whole notes, t = 96: {1000 * used / count:.2f} CPU ms a note of {sum(map(len, texts)) // count} characters, "
        f"{sum(found) / count:.1f} distinct words found"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3, help="random sets of words (default 3)")
    parser.add_argument("--notes", type=int, default=100, help="whole notes (default 100)")
    arguments = parser.parse_args()
    start = time.process_time()
    ontologies = load_ontologies()
    print(f"load four ontologies: {time.process_time() - start:.2f} CPU s")
    leaves = {o.name: len(o.hierarchy.leaves()) for o in ontologies}
    print(
        f"leaves: {leaves}, together {sum(leaves.values())}; bits of all: {math.log2(math.prod(leaves.values())):.1f}"
    )
    searches(ontologies, arguments.draws)
    notes(ontologies, arguments.notes)


if __name__ == "__main__":
    main()
