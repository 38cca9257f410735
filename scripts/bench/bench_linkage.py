"""Who is who among made-up mentions: precision and recall of pairs, and CPU seconds, of the model and of exact rules.

    python scripts/bench/bench_linkage.py [--rows 5000,100000] [--seed 3] [--pairs N] [--curve] [--ecm ENV/bin/python]

``--curve`` clusters the model's pairs at further thresholds, from .5 on; ``--pairs`` is the budget of pairs, such as
20,000,000 for ``--rows 1000000``. The greatest memory so far stands behind each line.

With ``--ecm`` also recordlinkage's ECM classifier (de Bruin 2019), by a Python that has it (it pins pandas), on pairs
of an equal record number, phone, name, or birth date (380,000 of 100,000 rows), joined to connected components: it
clusters nothing itself.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import pandas as pd

from deid.experiments.mentions import make_mentions
from deid.linkage.clustering import cluster
from deid.linkage.columns import read_records
from deid.linkage.exact import SURE, exact_edges, facts_of
from deid.linkage.linking import LinkOptions, link_table
from deid.linkage.measures import score_clusters

_ECM = """
import sys, pandas as pd, recordlinkage as rl
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
frame = pd.read_csv(sys.argv[1], dtype=str)
index = rl.Index()
for block in ("record_number", "phone", ["first", "last"], "birth_date"):
    index.block(block)
pairs = index.index(frame)
compare = rl.Compare()
compare.string("first", "first", method="jarowinkler", threshold=0.88)
compare.string("last", "last", method="jarowinkler", threshold=0.9)
for column in ("birth_date", "sex", "record_number", "phone", "zip", "city", "street"):
    compare.exact(column, column)
links = rl.ECMClassifier(binarize=0.5).fit_predict(compare.compute(pairs, frame))
a, b = links.get_level_values(0), links.get_level_values(1)
graph = coo_matrix(([1] * len(a), (a, b)), shape=(len(frame), len(frame)))
print(*connected_components(graph, directed=False)[1])
"""


def told(rows: int, method: str, person: list[str], truth: list[str], seconds: float) -> None:
    """Print a line of figures."""
    pairs = score_clusters(truth, person).as_dict()
    shown = " ".join(f"{name} {pairs[name]:.4f}" for name in ("precision", "recall", "f1"))
    print(
        f"{rows:>9,}  {method:<12}{shown}  {len(set(person)):>7,} of {len(set(truth)):,} persons  {seconds:6.1f} s"
        f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="5000,100000")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--ecm", type=Path)
    options = parser.parse_args()
    for rows in map(int, options.rows.split(",")):
        made = make_mentions(rows, seed=options.seed)
        truth, frame = made["person"].tolist(), made.drop(columns=["mention", "person"])
        start = time.process_time()
        told(rows, "exact", link_table(frame, LinkOptions(method="exact")).person, truth, time.process_time() - start)
        model = None
        for threshold in (0.95, 0.9):
            start = time.process_time()
            linked = link_table(frame, LinkOptions(threshold=threshold, pairs=options.pairs), model=model)
            learnt = "" if model is None else " (applied)"
            told(rows, f"{threshold}{learnt}", linked.person, truth, time.process_time() - start)
            model = linked.model
        if options.curve and linked.pairs is not None:
            records = read_records(frame, linked.kinds)
            facts, exact = facts_of(records), exact_edges(records, SURE)
            for threshold in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99):
                start = time.process_time()
                high = linked.pairs[linked.pairs["probability"] >= threshold]
                edges = pd.concat([exact, high[["a", "b", "weight"]].assign(why="model")], ignore_index=True)
                found = [str(person) for person in cluster(facts, edges).person]
                told(rows, f"curve {threshold}", found, truth, time.process_time() - start)
        print(f"{'':>11}pairs by rule: {sum(block.pairs for block in linked.blocks[0]):,}; left out: "
              f"{', '.join(f'{block} ({block.pairs:,})' for block in linked.blocks[1]) or 'none'}")  # fmt: skip
        if options.ecm is not None:
            with tempfile.TemporaryDirectory() as folder:
                made.to_csv(Path(folder) / "m.csv", index=False)
                command = [str(options.ecm), "-c", _ECM, str(Path(folder) / "m.csv")]
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            told(rows, "ECM", said.split(), truth, seconds)


if __name__ == "__main__":
    main()
