"""Sentences of the synthetic corpus, their words swapped by class.

``python tests/rules/swapped.py 400`` prints a hash of all that the rules find in each hundred of so many, by the routes
that ``DEID_KERNELS`` chooses.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from scenes import RULES, scene_in

from deid.detection import Ensemble
from deid.document import Document

CORPUS = Path(__file__).resolve().parents[2] / "corpora" / "synthetic" / "dev.jsonl"
PEOPLE = ("PATIENT", "DOCTOR")
FRAMES = (
    "{}, {} seen today.",
    "{}, {} A. was seen\nby {} {}, MD.",
    "his daughter, {} {}, and {} (wife)",
    "named {} and {} {}\n",
    "Dear {},\n\nwe saw {} {} in clinic.\n\nSincerely,\n{} {}",
    "{}^{}^A, {}-{}",
    "{} {} is a 45-year-old, {} {} a 7 yo",
    "spoke with {}. {} {}: reports. {}'s wife",
    "lives in {}, {} and works with {} {}",
    "{} disease, {} {} sign, {}'s palsy, {}, {}",
    'Dr. {} de la {}, "{}" {} Jr., {} RN',
    "{} {}\nPatient: {} {}\nMother: {}",
)


@cache
def words() -> dict[int, list[str]]:
    """Words of the corpus by what the lists say about them, and words that no list has."""
    texts = " ".join(json.loads(line)["text"] for line in CORPUS.read_text(encoding="utf-8").splitlines()[:80])
    found: dict[int, list[str]] = defaultdict(list)
    unique = [w for w in dict.fromkeys(re.findall(r"[^\W\d_]{2,}", texts)) if len(w) < 20]
    for line in range(0, len(unique), 200):
        scene = scene_in("\n\n".join(unique[line : line + 200]))
        for word, classes in zip(scene.view.strings, scene.classes, strict=True):
            found[classes].append(word)
    assert len(found) > 150, "the corpus has words of many kinds"
    return found


@cache
def sentences() -> list[tuple[str, list[tuple[int, int]]]]:
    """Lines of the corpus that name somebody, with the places of the names."""
    found = []
    for record in map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines()):
        text = record["text"]
        for span in record["spans"]:
            if span["label"] in PEOPLE:
                start, end = text.rfind("\n", 0, span["start"]) + 1, text.find("\n", span["end"])
                start, end = max(start, span["start"] - 80), min(end % (len(text) + 1), span["end"] + 80)
                found.append((text[start:end], [(span["start"] - start, span["end"] - start)]))
    return found


def cased(word: str, draw: random.Random) -> str:
    way = draw.randrange(8)
    if way == 0:
        return word.upper()
    if way == 1:
        return word.lower()
    if way == 2:
        return f"Mc{word.capitalize()}"
    if way == 3:
        return f"{word[:1].upper()}{word[1:2]}{word[2:].capitalize()}"
    return word.capitalize()


def swapped(number: int) -> str:
    """Return the text of a number: a sentence of the corpus or a frame, with words of chance as names."""
    draw = random.Random(number)
    kinds = sorted(words())

    def word(*_: object) -> str:
        return cased(draw.choice(words()[draw.choice(kinds)]), draw)

    if number % 2:
        text, ((start, end),) = draw.choice(sentences())
        text = text[:start] + re.sub(r"[^\W\d_]{2,}", word, text[start:end]) + text[end:]
    else:
        text = re.sub(r"\{\}", word, draw.choice(FRAMES))
    return text.upper() if number % 7 == 0 else text.lower() if number % 11 == 0 else text


def prints(count: int) -> list[str]:
    """Return the hashes of what is found in so many sentences: every candidate, and what is left of them."""
    ensemble, hashes = Ensemble((RULES,)), []
    for first in range(0, count, 100):
        found = hashlib.sha256()
        for number in range(first, min(first + 100, count)):
            text = swapped(number)
            for spans in (RULES.analyse(text)[0], ensemble.find(Document("n", text))):
                found.update(repr([(s.start, s.end, s.category, s.source, s.score) for s in spans]).encode())
        hashes.append(found.hexdigest()[:16])
    return hashes


if __name__ == "__main__":
    print(json.dumps(prints(int(sys.argv[1]))))
