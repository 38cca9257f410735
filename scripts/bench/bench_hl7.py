"""Scrub HL7 messages end to end, in messages a CPU second; python-hl7 merely parses and prints the same.

    python scripts/bench/bench_hl7.py [--messages 1000] [--profile]

Made messages of 1.1 KB (ORU^R01, 400 bytes of free text), no two alike; one process. `read` is reading places and
writing the message back with nothing replaced.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import time
from collections.abc import Callable

from deid.base.in_step import batches, in_step
from deid.base.keys import Key
from deid.io.records import document
from deid.pipeline import PipelineOptions, build_pipeline
from deid.records.hl7v2 import read
from deid.records.tables import load_table

_FAMILIES = ("Thornbury", "Alder", "Lindqvist", "Haverford", "Marsh", "Kessler", "Pell", "Vance", "Oakes", "Strand")
_GIVEN = ("Eleanor", "Gerald", "Miles", "Imogen", "Petra", "Tobias", "Adele", "Conrad", "Judith", "Roland")


def message(n: int) -> bytes:
    """Return the n-th message."""
    family, given, number = _FAMILIES[n % 10], _GIVEN[n // 10 % 10], f"{4820000 + n * 7:08d}"
    doctor, day = _FAMILIES[(n + 3) % 10], f"2024{n % 12 + 1:02d}{n % 28 + 1:02d}"
    said = f"{n % 12 + 1}/{n % 28 + 1}/2024"
    lines = (
        rf"MSH|^~\&|LABSYS|NORTHFIELD CLINIC|EHR|NORTHFIELD CLINIC|{day}094500||ORU^R01|LS-{n:08d}|P|2.5.1",
        rf"PID|1||{number}^^^NFC^MR||{family}^{given}^G^^Mrs||1947{n % 12 + 1:02d}19|F|||"
        rf"{n % 90 + 1} Orchard Row^^Northfield^VT^05663^USA^H||(802)555-{n % 10000:04d}",
        rf"PV1|1|I|4WEST^412^B||||1093817^{doctor}^Adaeze^N^^Dr|||MED|||||||1093817^{doctor}^Adaeze|IN|V{n:07d}",
        rf"OBR|1|ORD-{n:06d}^EHR|FIL-{n:06d}^LABSYS|11526-1^Pathology study^LN|||{day}201500|||||||||1093817^{doctor}",
        rf"OBX|1|TX|22634-0^Pathology report^LN||Mrs. {family}, a 76-year-old woman, was admitted on {said} by "
        rf"Dr. {doctor} with two weeks of abdominal pain and weight loss.||||||F",
        r"OBX|2|TX|22634-0^Pathology report^LN||Sections show chronic inflammation without dysplasia; stains for "
        r"organisms are negative. Margins are free of tumor, and no lymph node is involved.||||||F",
        rf"OBX|3|TX|22634-0^Pathology report^LN||The findings were discussed with the patient on {said}; follow-up in "
        r"four weeks, sooner if fever or bleeding occurs.||||||F",
        rf"OBX|4|NM|718-7^Hemoglobin^LN||9.8|g/dL|12.0-16.0|L|||F|||{day}201500",
        rf"OBX|5|NM|6690-2^Leukocytes^LN||11.2|10*3/uL|4.5-11.0|H|||F|||{day}201500",
    )
    return ("\r".join(lines) + "\r").encode()


def rate(work: Callable[[bytes], object], messages: list[bytes]) -> float:
    """Return messages a CPU second, worked on in step as the workers of `deid filter` do."""
    in_step(work, messages[:50])
    begun = time.process_time()
    for few in batches(messages, len):
        in_step(work, few)
    return len(messages) / (time.process_time() - begun)


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--profile", action="store_true")
    said = parser.parse_args()
    import hl7

    gc.set_threshold(50_000)  # as the commands do
    messages = [message(n) for n in range(said.messages)]
    table = load_table("hl7v2")
    pipeline = build_pipeline(Key(b"b" * 32), PipelineOptions(policy="surrogate"))

    def scrub(data: bytes) -> object:
        record = read(data, table)
        return pipeline(document(record, "m")).document.record

    def untouched(data: bytes) -> object:
        record = read(data, table)
        return record.replaced(record.text, [], keep_blocked=False).data

    print(f"{len(messages)} messages of {sum(map(len, messages)) // len(messages)} bytes; a CPU second:")
    print(f"  read      {rate(untouched, messages):8.0f}")
    print(f"  scrub     {rate(scrub, messages):8.0f}")
    print(f"  python-hl7{rate(lambda data: str(hl7.parse(data.decode())), messages):8.0f}")
    if said.profile:
        profile = cProfile.Profile()
        profile.runcall(lambda: [scrub(one) for one in messages[:300]])
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    main()
