"""What is written for marked notes of five languages, and for texts by chance, is written tomorrow (`pinned`)."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from zlib import crc32

from pinned import Pinned
from synthetic.marked import notes

from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.policy import load_policy, shipped_policies
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Scope
from tests.detection.soups import soup

KEY = Key(b"a key of the tests")
MARKED = Path(__file__).parents[1] / "detection"
POLICIES = sorted(shipped_policies())
OFTEN = ("surrogate", "surrogate", "safe-harbor", "full")
NAMES = ("Rose Quimby", "Orme, Dale", "Ann Price")


def scrubbed(document: Document, number: int, language: str) -> object:
    """Return a note as one policy writes it, of a patient and a day that are known or not, with the edits."""
    draw = random.Random(number)
    name = draw.choice(OFTEN) if number % 3 else POLICIES[number % len(POLICIES)]

    def scope(patient: str | None) -> Scope:
        day = draw.choice([None, datetime.date(2019, 6, 1), datetime.date(2004, 2, 29)])
        return Scope(
            KEY, f"d{number % 5}", patient, day, language,
            known_names=tuple(draw.sample(NAMES, draw.choice([0, 1, 2]))),
            sexes={"rose": "F", "dale": "M"} if draw.random() < 0.3 else {},
            beside=("Mercer",) if draw.random() < 0.2 else (),
        )  # fmt: skip

    whole, other = scope(draw.choice([None, "7", "8"])), scope("9")
    border = len(document.text) // 2
    at: Callable[[int, int], Scope] | None = None
    if number % 5 == 4:
        at = lambda start, _: whole if start < border else other  # noqa: E731
    made = Replacer(load_policy(name))(document, document.spans, whole, at)
    return [made.document.text, made.document.spans, made]


def texts() -> Iterator[tuple[str, Document, str]]:
    # a note's number says what is done with it: notes that came later would give all others another one
    later = ("scans", "shifts", "strangers")
    for file in sorted(file for file in MARKED.glob("*/??.txt") if file.parent.name not in later):
        for note in notes(file):
            yield f"{file.parent.name} {file.stem} {note.id}", Document("n", note.text, note.spans), file.stem
    for number in range(600):
        document, posts = soup(number)
        spans = [Span(s.start, s.end, s.category) for s in (*posts, *document.spans) if s.end <= len(document.text)]
        yield f"soup {number}", Document("n", document.text, tuple(sorted(set(spans)))), "en"


# a note that is added changes no other answer
QUESTIONS = {name: partial(scrubbed, document, crc32(name.encode()), language) for name, document, language in texts()}
PINNED = Pinned(__file__, QUESTIONS, parts=60)
test_what_is_written_is_what_was_written = PINNED.test(__name__)
