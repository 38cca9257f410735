#!/usr/bin/env python3
"""What tokenizers leave whole of annotated spans, and what they cost: default, hide, spaCy's.

A span that begins or ends inside a token cannot be labelled: the tagger would learn, and give back, another span.
Printed are the share of such spans, tokens a note, and CPU seconds for a million characters, also as a ratio to those
of the default in this run.

    python scripts/bench/bench_tokenizers.py corpora/synthetic/dev.jsonl [--language en]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from deid import io
from deid.document import Document
from deid.reading.tokenization import tokenize


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--language", default="en")
    asked = parser.parse_args()
    notes = [note for note in io.read(asked.corpus) if isinstance(note, Document)]
    size = sum(len(note.text) for note in notes)
    spans = sum(len(note.spans) for note in notes)
    print(f"{len(notes)} notes, {size} characters, {spans} spans")
    print("tokenizer    tokens a note   spans cut   CPU s a million   ratio")
    first = 0.0
    for scheme in ("default", "hide", f"spacy:{asked.language}"):
        tokenize("warm", scheme)
        start = time.process_time()
        found = [tokenize(note.text, scheme) for note in notes]
        cost = (time.process_time() - start) / size * 1e6
        first = first or cost
        cut = 0
        for note, tokens in zip(notes, found, strict=True):
            starts, ends = set(map(int, tokens.starts)), set(map(int, tokens.ends))
            cut += sum(span.start not in starts or span.end not in ends for span in note.spans)
        tokens_a_note = sum(len(tokens.starts) for tokens in found) / len(notes)
        print(f"{scheme:<12}{tokens_a_note:>14.0f}{cut / spans:>12.2%}{cost:>18.3f}{cost / first:>8.1f}")


if __name__ == "__main__":
    main()
