"""Scrub clinical documents end to end, in KB of free text a CPU second, and the same texts as plain notes.

    python scripts/bench/bench_ccda.py [--documents 12] [--paragraphs 60]

Made documents: the shipped visit with more paragraphs in its narrative, no two alike; one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from deid.base.in_step import batches, in_step
from deid.base.keys import Key
from deid.document import Document
from deid.io.ccda import record
from deid.pipeline import PipelineOptions, build_pipeline

_VISIT = Path(__file__).parents[2] / "corpora" / "records" / "ccda" / "visit.xml"
_DOCTORS = ("Miller", "Hobart", "Quinn", "Sanders")


def visit(n: int, paragraphs: int) -> bytes:
    """Return the n-th document."""
    more = "".join(
        f"<paragraph>The patient was seen by Dr. {_DOCTORS[(i + n) % 4]} on 3/{i % 28 + 1}/2024 and returned to the "
        f"ward; pain is controlled with oral medication, and the wound is clean. Item {i} of {n}.</paragraph>"
        for i in range(paragraphs)
    )
    return _VISIT.read_text(encoding="utf-8").replace("<table>", f"{more}<table>", 1).encode()


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=12)
    parser.add_argument("--paragraphs", type=int, default=60)
    said = parser.parse_args()
    documents = [visit(n, said.paragraphs) for n in range(said.documents)]
    pipeline = build_pipeline(Key(b"b" * 32), PipelineOptions(policy="surrogate"))
    records = [record(data, "utf-8", None) for data in documents]
    size = sum(found.free for found in records)

    def rate(work: Callable[[int], object]) -> float:
        work(0)
        begun = time.process_time()
        for few in batches(range(len(documents)), lambda n: len(documents[n])):  # in step, as the commands work
            in_step(work, few)
        return size / 1000 / (time.process_time() - begun)

    def scrub(n: int) -> object:
        found = record(documents[n], "utf-8", None)
        return pipeline(Document("d", found.text, record=found))

    notes = [found.text[: found.free] for found in records]
    whole = sum(map(len, documents)) // 1000
    print(f"{len(documents)} documents of {whole} KB, {size // 1000} KB of free text; a CPU second:")
    plain = rate(lambda n: pipeline(Document("n", notes[n])))
    inside = rate(scrub)
    print(f"  plain notes         {plain:8,.0f} KB")
    print(f"  clinical documents  {inside:8,.0f} KB  ({inside / plain:.2f} of it)")


if __name__ == "__main__":
    main()
