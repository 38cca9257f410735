"""Tagging alone: our decoder against CRFsuite's own predict with the same weights, feature extraction included.

    python scripts/bench/bench_tagging.py --texts MEDDOCAN/dev/brat --train MEDDOCAN/train/brat
    python scripts/bench/bench_tagging.py --texts ../shared/data/english/txt --model en

With ``--train`` a model of each preset is trained first. CRFsuite is asked in both ways that its binding has, with
dicts and with lists of strings, and the faster one is the baseline; lists cannot hold the occurrence count of the
preset `hide`, so their labels may differ and count for time alone. Its features are extracted by our own `FeatureSet`,
which remembers the attributes of types. CPU seconds of one core, medians of rounds in turn; every label is compared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pycrfsuite

from deid import read
from deid.base.compiled import BACKEND
from deid.document import Document
from deid.features import FeatureSet
from deid.labeling.decoder import Decoder
from deid.labeling.tagger import Tagger, load_model, train
from deid.labeling.training import TrainingOptions


def strings_of(features: FeatureSet, text: str) -> list[list[str]]:
    """Return the attributes of each item as strings: what CRFsuite takes when all values are 1."""
    encoded = features.encode(text)
    rows = [[name for name, _ in found] for found in encoded.position]
    for offset, column in encoded.neighbours.items():
        by_type = [features.cached_attributes(t, offset) for t in encoded.types]
        by_type.append(features.cached_attributes(None, offset))  # index -1: beyond the document
        for row, type_id in zip(rows, column.tolist(), strict=True):
            row += by_type[type_id]
    return rows


def timed(work: Callable[[str], object], texts: Sequence[str]) -> tuple[float, list[object]]:
    """Return the CPU seconds of a pass over the texts, and what it returned."""
    start = time.process_time()
    found = [work(text) for text in texts]
    return time.process_time() - start, found


def compare(tagger: Tagger, texts: Sequence[str], rounds: int) -> float:
    """Print the figures of one model; returns how many times faster the decoder is."""
    features, weights = tagger.decoder.features, tagger.decoder.weights
    assert tagger.crfsuite is not None
    with tempfile.NamedTemporaryFile(suffix=".crfsuite") as file:
        file.write(tagger.crfsuite)
        file.flush()
        peer = pycrfsuite.Tagger()
        peer.open(file.name)
        routes: dict[str, Callable[[str], object]] = {
            "deid": lambda t: tagger.decoder.decode(t)[0],
            "CRFsuite, dicts": lambda t: peer.tag(features.expand(features.encode(t))),
            "CRFsuite, strings": lambda t: peer.tag(strings_of(features, t)),
        }
        seconds: dict[str, list[float]] = {name: [] for name in routes}
        labels: dict[str, list[object]] = {}
        for _ in range(rounds):
            for name, route in routes.items():
                spent, labels[name] = timed(route, texts)
                seconds[name].append(spent)
    cold = Decoder(weights, features)
    fresh, _ = timed(cold.decode, texts)
    size = sum(len(t.encode()) for t in texts) / 1e6
    tokens = differences = 0
    for mine, theirs in zip(labels["deid"], labels["CRFsuite, dicts"], strict=True):
        names = [weights.labels[i] for i in mine.tolist()]  # type: ignore[attr-defined]
        tokens += len(names)
        differences += sum(a != b for a, b in zip(names, theirs, strict=True))  # type: ignore[call-overload]
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"{tagger.name}: {len(texts)} texts, {size:.2f} MB, {tokens} tokens, {len(weights.labels)} labels")
    for name, value in medians.items():
        print(f"  {name:<20}{value:8.3f} s {size / value:8.2f} MB/s {tokens / value / 1e6:8.3f} M tokens/s")
    print(f"  {'deid, first pass':<20}{fresh:8.3f} s {size / fresh:8.2f} MB/s  (tables and rows built on the way)")
    base = min(medians["CRFsuite, dicts"], medians["CRFsuite, strings"])
    ratio = base / medians["deid"]
    print(f"  {ratio:.1f} times the faster CRFsuite route; {differences} label differences in {tokens} tokens")
    return ratio


def texts_of(folder: Path, limit: int | None) -> list[str]:
    """Return the texts of a folder of documents in any format."""
    documents = [d for d in read(folder) if isinstance(d, Document)]
    return [d.text for d in documents[:limit]]


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="folder of texts to label")
    parser.add_argument("--model", action="append", default=[], help="model to compare (may be repeated)")
    parser.add_argument("--train", type=Path, help="folder of annotated documents: train a model of each preset")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, help="so many texts")
    options = parser.parse_args()
    if not options.model and options.train is None:
        parser.error("nothing to compare: name a model (--model en), or a corpus to train on (--train)")
    if BACKEND != "native":
        sys.exit("the compiled module is not there (see deid doctor): a figure without it says nothing")
    texts = texts_of(options.texts, options.limit)
    taggers = [load_model(name) for name in options.model]
    if options.train:
        corpus = [d for d in read(options.train) if isinstance(d, Document)]
        chosen = TrainingOptions(algorithm="sgd", iterations=options.epochs)
        taggers += [train(corpus, FeatureSet(preset), chosen, name=preset) for preset in ("hide", "default")]
    for tagger in taggers:
        compare(tagger, texts, options.rounds)


if __name__ == "__main__":
    main()
