"""Documents of the synthetic corpus: bodies, headers, footers, inserted sentences and paragraphs, filled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import TypeVar

from . import noise, pools
from .draw import Draw
from .headers import make_header
from .render import Story
from .template import Template, blocks, read
from .wording import Piece

Record = dict[str, object]
Chosen = TypeVar("Chosen")
LABELS = [
    "PATIENT",
    "DOCTOR",
    "USERNAME",
    "PROFESSION",
    "HOSPITAL",
    "DEPARTMENT",
    "ROOM",
    "ORGANIZATION",
    "STREET",
    "CITY",
    "STATE",
    "COUNTRY",
    "ZIP",
    "LOCATION-OTHER",
    "AGE",
    "DATE",
    "PHONE",
    "FAX",
    "EMAIL",
    "URL",
    "IPADDR",
    "SSN",
    "MEDICALRECORD",
    "HEALTHPLAN",
    "ACCOUNT",
    "LICENSE",
    "VEHICLE",
    "DEVICE",
    "BIOID",
    "IDNUM",
]


@cache
def bodies() -> tuple[Template, ...]:
    """Return all bodies, sorted by type and number."""
    return tuple(read(path, path.parent.name) for path in sorted((pools.ROOT / "bodies").glob("*/*.txt")))


def number(body: Template) -> int:
    """Return the number with which a body's name starts."""
    return int(body.name.split("-", 1)[0])


def part(body: Template) -> str:
    """Return ``train`` or ``dev``: of each type the bodies 03, 08, 13, ... are for development."""
    return "dev" if number(body) % 5 == 3 else "train"


@cache
def extras(kind: str, which: str, uk: bool) -> tuple[Template, ...]:
    """Return headers, footers, inserts or fillers of one part; the fourth of every five is for development."""
    found = blocks(pools.ROOT / "blocks" / f"{kind}.txt", kind)
    found = [b for n, b in enumerate(found) if (n % 5 == 3) == (which == "dev")]
    return tuple(b for b in found if ("uk" in b.options) == uk or "any" in b.options)


_UNFILLED = frozenset({"tables", "hl7", "email", "admin", "dialogue", "roster", "billing"})


def _enrich(body: Template, story: Story, which: str) -> Template:
    """Return the body with up to three inserted sentences, most with PHI, and up to six paragraphs without.

    The same body thus comes in many surroundings, and PHI is not denser than in real notes.
    """
    lines = body.text.split("\n")
    draw = story.draw("inserts")
    places = [i for i, line in enumerate(lines) if len(line) > 90 and line.endswith(".")]
    if "noins" not in body.options and places and draw.chance(0.6):
        for chosen in _some(draw, extras("inserts", which, story.uk), min(draw.between(1, 3), len(places))):
            lines[draw.pick(places)] += (" " if draw.chance(0.8) else "\n") + chosen.text.strip()
    draw = story.draw("fillers")
    ends = [i for i, line in enumerate(lines) if line and (i + 1 == len(lines) or not lines[i + 1])]
    if body.kind not in _UNFILLED and ends:
        count = draw.weighted(((0, 1), (1, 2), (2, 3), (3, 3), (4, 2), (5, 1), (6, 1)))
        for chosen in _some(draw, extras("fillers", which, story.uk), count):
            lines[draw.pick(ends)] += draw.pick(("\n\n", "\n\n", "\n")) + chosen.text.strip()
    return Template(body.name, body.kind, "\n".join(lines), body.options)


def _some(draw: Draw, all_: Sequence[Chosen], count: int) -> list[Chosen]:
    """Return some of the blocks or lines, none twice."""
    left = list(all_)
    return [left.pop(draw.below(len(left))) for _ in range(min(count, len(left)))]


def make(body: Template, copy: int, seed: int, plain: bool = False) -> Record:
    """Fill a body.

    Parameters
    ----------
    body : Template
    copy : int
        Number of the filling, from 1.
    seed : int
    plain : bool
        Leave out inserted text and noise, as in the sample notes.

    Returns
    -------
    dict
        ``id``, ``text`` and ``spans`` with ``start``, ``end`` and ``label``.
    """
    which = part(body)
    identifier = f"syn-{body.kind}-{number(body):02}-{copy}"
    story = Story((seed, identifier), pools.load(which), body)
    draw = story.draw("layout")
    pieces: list[Piece] = []
    if "head" in body.options and draw.chance(0.7):
        written = draw.pick(extras("headers", which, story.uk))
        mixed = which == "train" and draw.chance(0.5) and not plain
        pieces += story.fill(make_header(story.draw("header"), story.uk) if mixed else written)
        pieces.append(("\n" * draw.below(2), None))
    pieces += story.fill(body if plain else _enrich(body, story, which))
    if "foot" in body.options and draw.chance(0.6):
        pieces.append(("\n" * draw.below(2), None))
        pieces += story.fill(draw.pick(extras("footers", which, story.uk)))
    return _written(identifier, pieces, body.options | {"clean"} if plain else body.options, story)


def _written(identifier: str, pieces: list[Piece], options: frozenset[str], story: Story) -> Record:
    """Return a document as it reaches the reader, with its spans."""
    pieces = noise.apply(pieces, options, story.draw("noise"))
    text, spans = "", []
    for written, label in pieces:
        if label:
            spans.append({"start": len(text), "end": len(text) + len(written), "label": label})
        text += written
    return {"id": identifier, "text": noise.wrap(text, story.draw("wrap"), options), "spans": spans}


_QUERIES = 6
"""Questions for one note of another voice, at least: they are short."""
_ASKED = 20
"""Of so many lines of questions one is taken for one note of another voice."""


@cache
def voices() -> tuple[Template, ...]:
    """Return the voices: each a set of sentences or lines; its options say of how many a note is made, and how."""
    return tuple(read(path, "voice") for path in sorted((pools.ROOT / "voices").glob("*.txt")))


def speak(voice: Template, copy: int, seed: int) -> Record:
    """Make a note of some sentences of a voice, in any order; it is for training alone."""
    identifier = f"syn-{voice.name}-{copy}"
    draw = Draw(seed, identifier, "sentences")
    low, high = (int(n) for n in next(o for o in voice.options if o[0].isdigit()).split("-"))
    prose = "prose" in voice.options or ("terse" in voice.options and draw.chance(0.5))
    text = ""
    for line in _some(draw, voice.text.splitlines(), draw.between(low, high)):
        text += line + (draw.weighted(((" ", 8), ("\n", 1), ("\n\n", 1))) if prose else "\n")
    body = Template(voice.name, "voice", text.strip() + "\n", voice.options if prose else voice.options | {"nowrap"})
    story = Story((seed, identifier), pools.load("train"), body)
    pieces = story.fill(body)
    options = body.options
    if draw.chance(0.5 if "query" in options else 0.1):
        options |= {"lower"}
    return _written(identifier, pieces, options, story)


def spoken(copies: int, seed: int) -> Iterator[Record]:
    """Yield notes of all voices, some of each."""
    for voice in voices():
        queries = max(_QUERIES, voice.text.count("\n") // _ASKED) if "query" in voice.options else 1
        for copy in range(1, copies * queries + 1):
            yield speak(voice, copy, seed)


def documents(which: str, copies: int, seed: int) -> Iterator[Record]:
    """Yield the documents of ``train`` or ``dev``."""
    for copy in range(1, copies + 1):
        for body in bodies():
            if part(body) == which:
                yield make(body, copy, seed)


_SLOT = re.compile(r"\{\{#?([a-z_]+)[^{}]*\}\}")


def shingles(body: Template) -> frozenset[tuple[str, ...]]:
    """Return a body's word 5-grams; a slot counts as one word, its kind."""
    words = re.findall(r"\w+", _SLOT.sub(r" \1 ", body.text).lower())
    return frozenset(tuple(words[i : i + 5]) for i in range(len(words) - 4))


def most_alike() -> tuple[float, str, str]:
    """Return the largest Jaccard similarity of two bodies' 5-grams, and the bodies."""
    grams = [(f"{b.kind}/{b.name}", shingles(b)) for b in bodies()]
    best = (0.0, "", "")
    for (one, a), (other, b) in combinations(grams, 2):
        common = len(a & b)
        if common:
            best = max(best, (common / (len(a) + len(b) - common), one, other))
    return best


def words(body: Template) -> int:
    """Return the number of words of a body, slots counted as one."""
    return len(re.findall(r"\S+", _SLOT.sub("x", body.text)))
