"""Scrub FHIR NDJSON end to end, in MB of free text a CPU second; the same notes as plain text beside it.

    python scripts/bench/bench_fhir.py [--notes 300] [--profile]

Made DocumentReferences with notes of about 2.4 KB in base64, no two alike, 20 patients; one process, lines read,
scrubbed and written. `read` is reading places and writing the resource back with nothing replaced.
"""

from __future__ import annotations

import argparse
import base64
import cProfile
import json
import pstats
import time
from collections.abc import Callable

from bench_hl7 import message

from deid.base.in_step import batches, in_step
from deid.base.keys import Key
from deid.document import Document
from deid.io.records import document
from deid.pipeline import PipelineOptions, build_pipeline
from deid.records.fhir import read
from deid.records.tables import load_table


def note(n: int) -> str:
    """Return the n-th note: the reports of six messages of one patient."""
    reports = (message(n % 20 + 20 * k) for k in range(6))
    lines = [segment.split("|")[5] for one in reports for segment in one.decode().split("\r") if "|TX|" in segment]
    return f"Note {n}\n\n" + "\n".join(lines) + "\n"


def resource(n: int) -> bytes:
    """Return the n-th resource."""
    said = {
        "resourceType": "DocumentReference",
        "id": f"d{n}",
        "status": "current",
        "type": {"coding": [{"system": "http://loinc.org", "code": "34117-2", "display": "History and physical note"}]},
        "subject": {"reference": f"Patient/p{n % 20}"},
        "date": f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}T09:45:00-05:00",
        "content": [
            {"attachment": {"contentType": "text/plain", "data": base64.b64encode(note(n).encode()).decode()}},
        ],
    }
    return json.dumps(said).encode() + b"\n"


def seconds(work: Callable[[int], object], count: int) -> float:
    """Return the CPU seconds that ``count`` calls take, in step as the commands make them."""
    in_step(work, range(count, count + 20))
    begun = time.process_time()
    for few in batches(range(count), lambda _: 2400):
        in_step(work, few)
    return time.process_time() - begun


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--profile", action="store_true")
    said = parser.parse_args()
    notes = [note(n) for n in range(said.notes + 20)]
    resources = [resource(n) for n in range(said.notes + 20)]
    table = load_table("fhir-r4")
    pipeline = build_pipeline(Key(b"b" * 32), PipelineOptions(policy="surrogate"))

    def plain(n: int) -> object:
        return pipeline(Document(f"n{n}", notes[n])).document

    def fhir(n: int) -> object:
        return pipeline(document(read(resources[n], table), f"n{n}")).document.record

    def untouched(n: int) -> object:
        record = read(resources[n], table)
        return record.replaced(record.text, [], keep_blocked=False).data

    size = sum(len(text.encode()) for text in notes[: said.notes]) / 1e6
    print(f"{said.notes} notes, {size:.2f} MB of free text; MB a CPU second:")
    rates = {}
    for name, work in (("plain text", plain), ("FHIR", fhir), ("FHIR, read", untouched)):
        rates[name] = size / seconds(work, said.notes)
        print(f"  {name:<12}{rates[name]:8.3f}")
    print(f"  FHIR to plain text: {rates['FHIR'] / rates['plain text']:.2f}")
    if said.profile:
        profile = cProfile.Profile()
        profile.runcall(lambda: [fhir(n) for n in range(min(said.notes, 100))])
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
