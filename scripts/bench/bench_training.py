#!/usr/bin/env python3
"""CPU seconds and strict F1 of stochastic gradient and of CRFsuite's L-BFGS: same documents, features and machine.

    python scripts/bench/bench_training.py corpus/train corpus/dev [--documents N] [--iterations N]

Both train from annotated documents to a tagger, feature extraction included. CRFsuite runs as sklearn-crfsuite's users
run it: weights for pairs that occur, c2 = 0.1, 100 iterations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from deid import io
from deid.document import Document
from deid.evaluation import ScoringSettings, evaluate
from deid.features import FeatureSet
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions


def documents(path: Path) -> list[Document]:
    """Read what can be read."""
    return [item for item in io.read(path) if isinstance(item, Document)]


def measure(name: str, options: TrainingOptions, corpus: Sequence[Document], test: Sequence[Document]) -> float:
    """Train, print a row, and return the CPU seconds."""
    features = FeatureSet("default", "rac")
    begin = time.process_time()
    tagger = train(corpus, features, options)
    seconds = time.process_time() - begin
    found = [document.with_spans(tagger.find(document)) for document in test]
    micro = evaluate(test, found, settings=ScoringSettings(resamples=0)).tables["strict"].micro()
    size = len(tagger.crfsuite or b"") / 1e6
    row = f"{name:<24} {seconds:8.1f} {micro.precision:10.4f} {micro.recall:8.4f} {micro.f1:8.4f} {size:8.1f}"
    print(row, flush=True)
    return seconds


def main() -> None:
    """Print the table and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--documents", type=int, help="train on the first N documents only")
    parser.add_argument("--iterations", type=int, default=100, help="of L-BFGS")
    arguments = parser.parse_args()
    corpus, test = documents(arguments.corpus)[: arguments.documents], documents(arguments.test)
    import sklearn_crfsuite  # noqa: F401  (takes a second, which is not L-BFGS's)

    print(f"{len(corpus)} documents to train on, {len(test)} to score")
    print(f"{'':<24} {'CPU s':>8} {'strict P':>10} {'R':>8} {'F1':>8} {'MB':>8}")
    slow = TrainingOptions(algorithm="lbfgs", c2=0.1, all_pairs=False, iterations=arguments.iterations)
    baseline = measure("CRFsuite L-BFGS", slow, corpus, test)
    mine = measure("stochastic gradient", TrainingOptions(), corpus, test)
    print(f"CRFsuite takes {baseline / mine:.1f} times the CPU time")


if __name__ == "__main__":
    main()
