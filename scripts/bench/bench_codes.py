"""Cost of releasing diagnosis codes, against plain implementations in the same run, and a comparison of the methods.

    python scripts/bench/bench_codes.py [--records 100000] [--methods]

Cohorts are drawn by scripts/build_tables.py (``visits_of``).

* k^m-anonymity (k = 5, m = 2) by Apriori on 100,000 persons over 1,000 codes, 6 draws a person.
* A whole release by km and by coherence, verifiers and attacks before and after on 2,000 persons included, of as many
  persons over 1,657 codes.
* UGACLIP and CBA (k = 5) on 2,762 persons over 6,000 codes, 40 draws (about 12 codes) a person; the privacy policy are
  the codes of each visit, the utility policy the categories.

The plain implementations follow the papers' pseudo-code with sets and counters; they run on smaller cohorts of the same
generator, and the ratio is that of the CPU seconds on these. ``--methods`` prints all methods on one cohort of 2,000
persons over 300 codes, 5 draws a person, instead, as the table of docs/codes.md has it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from build_tables import code_levels, visits_of

from deid.table.hierarchy import Hierarchy, hierarchy_from_rows
from deid.transactions.constrained import cba, ugaclip
from deid.transactions.km import apriori_cut
from deid.transactions.measures import certainty_penalty, utility_loss
from deid.transactions.methods import METHODS, Asked
from deid.transactions.policies import maximal_sets
from deid.transactions.reading import CodedRecords, parse_published
from deid.transactions.release import anonymize_codes
from deid.transactions.transactions import set_label, transactions_of
from deid.transactions.tree import code_tree
from deid.transactions.verifiers import verify_km, verify_privacy_policy, verify_utility_policy

T = TypeVar("T")


def generate(persons: int, codes: int, mean: float) -> CodedRecords:
    """Return a cohort as scripts/build_tables.py draws it."""
    drawn = visits_of(persons, codes, mean)
    rows = [[code for codes in visits for code in codes] for visits in drawn]
    flat = [(frozenset(codes), person) for person, visits in enumerate(drawn) for codes in visits]
    visits, visit_of = zip(*flat, strict=True)
    return CodedRecords(transactions_of(rows), np.arange(persons), visits, visit_of)


def hierarchy_of(codes: tuple[str, ...]) -> Hierarchy:
    """Return categories and chapters above the codes."""
    return hierarchy_from_rows(code_levels(codes), "codes")


def categories(codes: tuple[str, ...]) -> list[frozenset[str]]:
    """Return the utility policy: a constraint a category."""
    return [frozenset(group) for _, group in itertools.groupby(sorted(codes), key=lambda code: code[:-2])]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return a result and its CPU seconds."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def plain_apriori(rows: list[frozenset[str]], tree: Hierarchy, k: int, m: int) -> dict[str, str]:
    """Apriori anonymization with a counter in place of the count-tree, as the paper has it."""
    cut = {code: code for row in rows for code in row}
    occurrences = Counter(code for row in rows for code in row)
    below = {node: [code for code in tree.leaves(node) if code in cut] for node in tree}
    size = {node: len(below[node]) for node in tree}
    for length in range(1, m + 1):
        changed = True
        while changed:
            changed = False
            counts: Counter[tuple[str, ...]] = Counter()
            for row in rows:
                extended = sorted({node for code in row for node in tree.chain(code) if size[node] >= size[cut[code]]})
                counts.update(itertools.combinations(extended, length))
            for items, count in sorted(counts.items()):
                if count >= k or any(cut[below[item][0]] != item for item in items):
                    continue
                best: tuple[float, tuple[str, ...]] | None = None
                for nodes in itertools.product(*(tree.chain(item) for item in items)):
                    apart = [a for a in set(nodes) if not any(a != b and tree.covers(b, a) for b in nodes)]
                    held = sum(all(any(code in row for code in below[a]) for a in apart) for row in rows)
                    if held >= k:
                        cost = sum(occurrences[c] * (size[a] - size[cut[c]]) for a in apart for c in below[a])
                        if best is None or (cost, tuple(sorted(apart))) < best:
                            best = cost, tuple(sorted(apart))
                assert best is not None
                for node in best[1]:
                    cut.update(dict.fromkeys(below[node], node))
                changed = True
    return cut


def plain_ugaclip(
    rows: list[frozenset[str]], privacy: list[frozenset[str]], utility: list[frozenset[str]], k: int
) -> dict[str, frozenset[str] | None]:
    """UGACLIP with supports counted anew whenever they are asked for."""
    image: dict[str, frozenset[str] | None] = {code: frozenset((code,)) for row in rows for code in row}

    def support(items: set[frozenset[str]]) -> int:
        return sum(all(not item.isdisjoint(row) for item in items) for row in rows)

    def published(constraint: frozenset[str]) -> set[frozenset[str]]:
        return {item for code in constraint if (item := image[code]) is not None}

    def loss(item: frozenset[str]) -> tuple[float, list[str]]:
        return len(item) + np.log2(max(support({item}), 1)), sorted(item)

    while True:
        supports = [support(published(p)) if published(p) else 0 for p in privacy]
        broken = [i for i, count in enumerate(supports) if 0 < count < k]
        if not broken:
            return image
        p = privacy[max(broken, key=lambda i: (supports[i], -i))]
        while (items := published(p)) and 0 < support(items) < k:
            rarest = sorted(items, key=lambda item: (support({item}), sorted(item)))

            def partners(item: frozenset[str]) -> set[frozenset[str]]:
                return {
                    other
                    for group in utility
                    if item <= group
                    for code in group
                    if (other := image.get(code)) is not None and other != item
                }

            if found := partners(rarest[0]):
                union = rarest[0] | min(found, key=lambda other: loss(rarest[0] | other))
                image.update(dict.fromkeys(union, union))
                continue
            for item in rarest:
                if 0 < support(published(p)) < k and not partners(item):
                    image.update(dict.fromkeys(item, None))


def bench_km(persons: int) -> None:
    """Print the cost of k^m-anonymity."""
    small = generate(20000, 300, 3).transactions
    tree = hierarchy_of(small.labels)
    rows = [frozenset(row) for row in small.texts()]
    plain, plain_seconds = timed(lambda: plain_apriori(rows, tree, 5, 2))
    nodes = code_tree(small, tree)
    cut, seconds = timed(lambda: apriori_cut(small, nodes, 5, 2))
    released = parse_published([[plain[code] for code in row] for row in rows], tree)
    ours = nodes.publish(small, cut)
    print(
        f"k^m, {len(small)} persons, {len(small.labels)} codes: {seconds:.3f} s, plain {plain_seconds:.2f} s, ", end=""
    )
    print(f"ratio {plain_seconds / seconds:.0f}; NCP {certainty_penalty(small, ours):.4f}, ", end="")
    print(f"plain {certainty_penalty(small, released):.4f}")
    assert verify_km(released, 5, 2).holds
    large = generate(persons, 1000, 6).transactions
    nodes = code_tree(large, hierarchy_of(large.labels))
    cut, seconds = timed(lambda: apriori_cut(large, nodes, 5, 2))
    published = nodes.publish(large, cut)
    verdict, checked = timed(lambda: verify_km(published, 5, 2))
    print(f"k^m, {len(large)} persons, {len(large.labels)} codes: {seconds:.2f} s, verifier {checked:.2f} s, ", end="")
    print(f"holds {verdict.holds}, NCP {certainty_penalty(large, published):.4f}")


def bench_releases(persons: int) -> None:
    """Print the cost of whole releases."""
    cohort = generate(persons, 1657, 6)
    hierarchy = hierarchy_of(cohort.transactions.labels)
    asked = Asked(k=5, m=2, sensitive=frozenset(code for code in cohort.transactions.labels if code[:3] == "115"))
    for method in ("km", "coherence"):
        found, seconds = timed(lambda m=method: anonymize_codes(cohort, asked, m, hierarchy=hierarchy, attacked=2000))
        assert found.published is not None
        loss = found.loss
        assert loss is not None
        print(
            f"release by {method}, {persons} persons, {len(cohort.transactions.labels)} codes: {seconds:.1f} s, ",
            end="",
        )
        print(f"NCP {loss.ncp:.4f}, suppressed {loss.suppressed:.1%}", flush=True)


def bench_policies() -> None:
    """Print the cost of UGACLIP and CBA."""
    small = generate(300, 200, 5)
    utility = categories(small.transactions.labels)
    policy = maximal_sets(small.visits)
    rows = [frozenset(row) for row in small.transactions.texts()]
    plain, plain_seconds = timed(lambda: plain_ugaclip(rows, policy, utility, 5))
    kept = [[set_label(i) for code in row if (i := plain[code]) is not None] for row in rows]
    lost = utility_loss(small.transactions, parse_published(kept))
    for name, method in (("UGACLIP", ugaclip), ("CBA", cba)):
        found, seconds = timed(lambda method=method: method(small.transactions, policy, utility, 5))
        print(
            f"{name}, {len(rows)} persons, {len(small.transactions.labels)} codes, {len(policy)} constraints: ", end=""
        )
        print(f"{seconds:.3f} s, plain UGACLIP {plain_seconds:.2f} s, ratio {plain_seconds / seconds:.0f}; ", end="")
        print(f"UL {utility_loss(small.transactions, found.published):.4f}, plain {lost:.4f}")
    large = generate(2762, 6000, 40)
    utility = categories(large.transactions.labels)
    policy = maximal_sets(large.visits)
    for name, method in (("UGACLIP", ugaclip), ("CBA", cba)):
        found, seconds = timed(lambda method=method: method(large.transactions, policy, utility, 5))
        held = verify_privacy_policy(found.published, large.visits, 5).holds
        held &= verify_utility_policy(large.transactions, found.published, utility).holds
        print(f"{name}, {len(large.transactions)} persons, {len(large.transactions.labels)} codes occur, ", end="")
        print(f"{len(policy)} constraints: {seconds:.2f} s, holds {held}, ", end="")
        print(f"{found.merges} merges, {len(found.suppressed)} codes suppressed")


def compare_methods() -> None:
    """Print a table of all methods on one cohort."""
    cohort = generate(2000, 300, 5)
    data = cohort.transactions
    utility = categories(data.labels)
    sensitive = frozenset(code for code in data.labels if code.startswith("115."))
    public = [codes - sensitive for codes in maximal_sets(cohort.visits)]
    rules = [(codes, frozenset((secret,))) for codes in maximal_sets(public)[:50] for secret in sorted(sensitive)[:2]]
    asked = Asked(
        k=5, m=2, privacy=list(dict.fromkeys(cohort.visits)), utility=utility, sensitive=sensitive, rules=rules, known=2
    )
    hierarchy = hierarchy_of(data.labels)
    print(
        f"{len(data)} persons, {len(data.labels)} codes, {len(sensitive)} sensitive; k = 5, m = p = 2, h = c = rho = .5"
    )
    print("| method | stops an attacker who | UL | AvgRE | NCP | suppressed | 2 codes: 1 to 4 fit | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, method in METHODS.items():
        cells = [("fm"[i % 2], f"{i % 5}*") for i in range(len(data))] if name == "relational" else []
        columns = ["sex", "zip"] if cells else []
        found = anonymize_codes(cohort, asked, name, hierarchy=hierarchy, columns=columns, cells=cells)
        if found.published is None:
            assert found.chunks is not None
            counts = found.chunks.counts()
            actual = dict(zip(data.labels, data.supports.tolist(), strict=True))
            error = np.mean([abs(count - counts[code]) / count for code, count in actual.items()])
            print(f"| {name} | {method.attacker} | - | {error:.2f} | - | 0.0% | - | {found.seconds:.2f} |")
            continue
        loss = found.loss
        assert loss is not None
        few = found.attacks[1][1].few
        print(f"| {name} | {method.attacker} | {loss.ul:.3g} | {loss.avg_re:.2f} | {loss.ncp:.3f} | ", end="")
        print(f"{loss.suppressed:.1%} | {few:.2%} | {found.seconds:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--methods", action="store_true")
    options = parser.parse_args()
    if options.methods:
        compare_methods()
        return
    bench_km(options.records)
    bench_releases(options.records)
    bench_policies()


if __name__ == "__main__":
    main()
