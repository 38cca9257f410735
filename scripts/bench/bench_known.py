"""Recall of words with and without what a message knows of its patient, on notes with gold annotations.

    python scripts/bench/bench_known.py GOLD [--notes 300] [--model none]

Each note stands in a message of HL7 v2 as text (OBX), with the fields that a registration system would fill: of each
category the longest of the note's gold spans (PID-3, 5, 11, 13, 18, 19) and its longest doctor (PV1-7). Read twice: as
the message, and as the same text alone. A word counts as found where any span lies over it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import deid.io
from deid.base.keys import Key
from deid.document import Document, Span
from deid.io.records import document
from deid.pipeline import PipelineOptions, build_pipeline
from deid.records.hl7v2 import read
from deid.records.tables import load_table

_ESCAPES = str.maketrans({"\\": "\\E\\", "|": "\\F\\", "^": "\\S\\", "&": "\\T\\", "~": "\\R\\", "\n": "\\.br\\"})
_WORD = re.compile(r"\w+")


def longest(note: Document, category: str) -> str:
    """Return the longest gold span of a category, as a field writes it; empty where there is none."""
    texts = [note.text[span.start : span.end] for span in note.spans if span.category == category]
    return " ".join(max(texts, key=len, default="").split()).translate(_ESCAPES)


def message(note: Document) -> bytes:
    """Return the message of a note."""
    said = {c: longest(note, c) for c in ("PATIENT", "MEDICALRECORD", "PHONE", "ACCOUNT", "SSN", "DOCTOR")}
    given, _, family = said["PATIENT"].rpartition(" ")
    address = "^".join((longest(note, "STREET"), "", longest(note, "CITY"), "", longest(note, "ZIP")))
    person = [""] * 20
    person[3], person[5], person[11] = said["MEDICALRECORD"], f"{family}^{given.replace(' ', '^', 1)}", address
    person[13], person[18], person[19] = said["PHONE"], said["ACCOUNT"], said["SSN"]
    before, _, name = said["DOCTOR"].rpartition(" ")
    segments = (
        "MSH|^~\\&|SYS|CLINIC|EHR|CLINIC|20240312094500||ORU^R01|M-1|P|2.5.1",
        "PID" + "|".join(person),
        f"PV1|1|I|||||^{name}^{before}",
        f"OBX|1|TX|8251-1^Note^LN||{note.text.translate(_ESCAPES)}||||||F",
    )
    return ("\r".join(segments) + "\r").encode()


def over(text: str, spans: Iterable[Span]) -> set[int]:
    """Return where the words begin that spans lie over."""
    covered = bytearray(len(text) + 1)
    for span in spans:
        covered[span.start : span.end] = b"\1" * (span.end - span.start)
    return {word.start() for word in _WORD.finditer(text) if covered.find(1, *word.span()) >= 0}


def main() -> None:
    """Print recall and precision of words, both ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--notes", type=int)
    parser.add_argument("--model")
    said = parser.parse_args()
    pipeline = build_pipeline(Key(b"b" * 32), PipelineOptions(policy="surrogate", model=said.model))
    table = load_table("hl7v2")
    counts = {"with": [0, 0, 0], "without": [0, 0, 0]}
    notes = left_out = 0
    for note in islice(deid.io.read(said.gold), said.notes):
        if not isinstance(note, Document):
            continue
        record = read(message(note), table)
        if record.text[: record.free] != note.text:
            left_out += 1
            continue
        notes += 1
        gold = over(note.text, note.spans)
        for name, one in (("with", document(record, note.id)), ("without", Document(note.id, note.text))):
            assert pipeline.recognizer is not None
            spans = [s for s in pipeline.recognizer.find(one) if s.start < record.free]
            taken = over(note.text, spans)
            for at, more in enumerate((len(gold & taken), len(gold), len(taken))):
                counts[name][at] += more
    print(f"{notes} notes, {left_out} left out")
    for name, (right, of, found) in counts.items():
        print(f"{name:8} recall of words {right / of:.4f}, precision {right / found:.4f} ({of - right} words missed)")


if __name__ == "__main__":
    main()
