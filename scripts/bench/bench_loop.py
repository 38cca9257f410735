"""What notes of one patient tell of each other: words of the patient's names that are found, with and without rounds.

    python scripts/bench/bench_loop.py NOTES [--notes 3] [--rounds 3] [--link exact,model] [--seed 1]

NOTES are annotated (any format of deid). Each becomes several notes of one patient: itself, and copies in which the
patient's name is written otherwise in places: a short form, an initial, a part, in small letters, misspelt by one or
two letters. Who is who is found by linking, from what the notes say. Told are the share of the words of the patient's
names that are found as PHI (all of them, and those of names written otherwise), false alarms in percent of the words
that are no PHI, and how well the notes were linked.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from deid.document import Document, Failure
from deid.extraction import note_facts
from deid.io import scan
from deid.joint.extracting import extract_files
from deid.linkage.measures import score_clusters
from deid.pipeline.files import results
from deid.pipeline.options import ViewOptions
from deid.reading.identity import name_key, short_forms

_WORD = re.compile(r"\w+")


class _Itself:
    def prepare(self) -> None:
        pass

    def __call__(self, document: Document) -> Document:
        return document


def slip(draw: random.Random, word: str) -> str:
    """Return a word with a letter changed, left out or doubled; not the first."""
    at = draw.randrange(1, len(word))
    return word[:at] + draw.choice(("", word[at] * 2, draw.choice("aeinorst"))) + word[at + 1 :]


def otherwise(draw: random.Random, name: str) -> str:
    """Return a name as somebody else writes it; as it is where nothing fits."""
    words = name.split()
    way = draw.choice(("short", "initial", "part", "small", "one slip", "two slips"))
    if way == "short" and (forms := short_forms(name_key(words[0]))):
        return " ".join([draw.choice(forms).title(), *words[1:]])
    if way == "initial" and len(words) > 1 and "," not in name:
        return " ".join([f"{words[0][0]}.", *words[1:]])
    if way == "part" and "," not in name:
        return draw.choice(words)
    if way == "small":
        return name.lower()
    long = [n for n, word in enumerate(words) if word.isalpha() and len(word) > 4]
    if way.endswith(("slip", "slips")) and long:
        at = draw.choice(long)
        words[at] = slip(draw, words[at])
        words[at] = slip(draw, words[at]) if way == "two slips" else words[at]
        return " ".join(words)
    return name


def copies(document: Document, count: int, draw: random.Random) -> list[tuple[Document, list[tuple[int, int, bool]]]]:
    """Return the notes of a patient, each with the places of the patient's names and whether they are changed."""
    own = {(f.start, f.end) for f in note_facts(document, document.spans) if f.column == "name"}
    found = []
    for number in range(count):
        text, spans, names, at = "", [], [], 0
        for span in sorted(document.spans):
            said = document.text[span.start : span.end]
            mine = (span.start, span.end) in own
            now = otherwise(draw, said) if mine and number and said.split() and draw.random() < 0.6 else said
            text += document.text[at : span.start]
            spans.append(span.moved(len(text), len(text) + len(now)))
            names += [(len(text), len(text) + len(now), now != said)] if mine else []
            text, at = text + now, span.end
        name = f"{document.id.rpartition('/')[2]}-{number}"
        found.append((Document(name, text + document.text[at:], tuple(spans)), names))
    return found


def inside(start: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a word stands in one of some places."""
    return any(first <= start < end for first, end in spans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", default="exact,model")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    marked = (one for one in results(scan(asked.folder), _Itself(), 1) if not isinstance(one, Failure))
    read = [document for _, document in marked if document.spans]
    truth = [note for one in read for note in copies(one, asked.notes, draw)]
    with tempfile.TemporaryDirectory() as folder:
        for document, _ in truth:
            Path(folder, f"{document.id}.txt").write_text(document.text, encoding="utf-8", newline="")
        print(f"{len(truth):,} notes of {len(read):,} patients")
        for link, rounds in [("exact", 1), *((link, asked.rounds) for link in asked.link.split(","))]:
            start = time.process_time()
            made = extract_files(scan(folder), ViewOptions(by="note", rounds=rounds, link=link))
            seconds = time.process_time() - start
            person = dict(zip(made.view.frame["document"], made.view.frame["person"], strict=True))
            scores = score_clusters([d.id.rpartition("-")[0] for d, _ in truth], [person[d.id] for d, _ in truth])
            named, hit, changed, changed_hit, plain, alarms = 0, 0, 0, 0, 0, 0
            assert made.recognizer is not None
            for document, names in truth:
                found = [(s.start, s.end) for s in made.recognizer.find(document.with_spans(()))]
                gold = [(s.start, s.end) for s in document.spans]
                for word in _WORD.finditer(document.text):
                    seen = inside(word.start(), found)
                    for first, end, other in names:
                        if first <= word.start() < end:
                            named, hit = named + 1, hit + seen
                            changed, changed_hit = changed + other, changed_hit + (other and seen)
                    if not inside(word.start(), gold):
                        plain, alarms = plain + 1, alarms + seen
            told = (
                f"{link} {len(made.rounds)} rounds",
                f"names' words {hit / named:.4f} of {named:,}",
                f"of those written otherwise {changed_hit / max(1, changed):.4f} of {changed:,}",
                f"false alarms {100 * alarms / plain:.3f} % of {plain:,}",
                f"linked: precision {scores.values['precision']:.4f}, recall {scores.values['recall']:.4f}",
                f"new places {', '.join(f'{one.new:,}' for one in made.rounds)}",
                f"{seconds:.0f} CPU s",
            )
            print("; ".join(told), flush=True)


if __name__ == "__main__":
    main()
