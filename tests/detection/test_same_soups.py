"""What was found in texts put together by chance (`soups`), and why, is found tomorrow (`pinned`).

The rules find something alone, and beside a model that is often mistaken, a table of known people and a site's lists.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

from soups import CATEGORIES, soup
from test_same_findings import known, rules, rules_alone

from deid.detection import Ensemble
from deid.detection.explanation import explain
from deid.detection.filled import Alone, Filled, Labels
from deid.detection.joining import MODEL, POSSIBLE, RULE, Joining, JoiningWeights
from deid.detection.known import Known, KnownRecognizer
from deid.detection.site_lists import SiteLists, load_site_lists
from deid.document import Document, Span
from deid.reading.lexicon import CLASSES
from tests.pinned import Pinned


@dataclass(frozen=True)
class Told:
    """A model of which is told what it finds."""

    found: tuple[Span, ...]
    name: str = "en"
    categories: frozenset[str] = frozenset(CATEGORIES)

    def find(self, document: Document) -> list[Span]:
        return [span for span in sorted(self.found) if span.end <= len(document.text)]


@dataclass(frozen=True)
class Sure(Told):
    """One that says how sure it is of any place, too."""

    def chances(self, text: str, places: Iterable[tuple[int, int]]) -> list[float]:
        return [crc32(text[start:end].encode()) % 100 / 100 for start, end in places]


def weights() -> Joining:
    """Return weights of everything that is known of a span, as a checksum of its name has them."""
    names = ["all", "chance", "words", "stands alone", "another kind", "near", "certainty", "elsewhere", "cue"]
    names += ["elsewhere by another", "small letters", "line of capitals"]
    names += [f"{what} {category}" for what in ("category", "chance") for category in CATEGORIES]
    told = [*CLASSES, "sign", "number", "small", "Capital", "CAPITALS", "mIxed", "line", "unlisted"]
    names += [f"{where} {name}" for where in ("is", "before:", "behind:") for name in told]
    held = {name: crc32(name.encode()) % 200 / 50 - 2 for name in names}
    return {kind: JoiningWeights(held, least) for kind, least in ((MODEL, 0.4), (RULE, 0.5), (POSSIBLE, 0.6))}


def lists(document: Document, draw: random.Random) -> SiteLists:
    """Return lists of words and phrases of a text, with categories, in quotes and without."""
    words = re.findall(r"[^\W\d_]{2,}(?:[ -][^\W\d_]{2,})?", document.text) or ["quorl"]
    deny = [f"{w}\t{draw.choice(CATEGORIES)}" if draw.random() < 0.5 else w for w in draw.choices(words, k=4)]
    deny += ["[CITY]", *(f'"{w}"' for w in draw.choices(words, k=2)), words[-1].upper()]
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in {"deny": deny, "allow": draw.choices([*words, "12"], k=6)}.items():
            Path(folder, name).write_text("\n".join(lines), encoding="utf-8")
        return load_site_lists([Path(folder, "deny")], [Path(folder, "allow")])


def stirred(number: int) -> object:
    document, posts = soup(number)
    draw, text, told = random.Random(number), Document("n", document.text), tuple(posts)
    ruled = rules_alone("en").trace(text)
    held: list[object] = [[[c.fate, c.certainty, c.span] for c in ruled.candidates], ruled.spans]
    if number % 3 == 2:
        labels = Labels("i2b2-2014")
        filled = Filled(Alone(Told(told), "en", rules_alone("en") if number % 2 else None), rules_alone("en"), labels)
        return [held, filled.find_normal(text), [[c.fate, c.span] for c in filled.trace(text).candidates]]
    if number % 3:
        model: Told = Sure(told)
        least, joining, site = draw.choice([0.5, 0.5, 0.3]), weights(), load_site_lists()
    else:
        model, least, joining, site = Told(told), 0.5, {}, lists(document, draw)
    people = Known("PATIENT", "Rose Quimby"), Known("PHONE", "617-555-0134"), Known("DATE", "3/14/2019")
    members = (model, known(document), KnownRecognizer({"n": people}), rules("en"))
    joined = Ensemble(members, threshold=least, joining=joining, to_canonical=bool(number % 2))
    return [*held, explain(text, None, joined, site=site).as_dict(), joined.find(text)]


QUESTIONS = {f"soup {number}": partial(stirred, number) for number in range(1200)}
PINNED = Pinned(__file__, QUESTIONS, parts=60)
test_what_is_found_is_what_was_found = PINNED.test(__name__)
