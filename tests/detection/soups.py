"""Texts put together by chance: pieces of notes whose words are drawn by class, side by side as no writer has them.

What a grammar does at each of its borders hangs on words that hardly meet in a sentence; here they do. A text is told
by its number, and so is what a model takes some of its pieces for, mostly wrongly.
"""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path

from deid.document import Document, Span

_SAID = tomllib.loads(Path(__file__).with_name("soups.toml").read_text(encoding="utf-8"))
WORDS: dict[str, list[str]] = {name: re.split(r" \| (?=\S)", words) for name, words in _SAID["words"].items()}
_PIECES: dict[str, list[str]] = _SAID["pieces"]
_GAPS = (*[" "] * 12, *[". ", ", "] * 2, *["\n"] * 3, "\n\n", "  ", "\t", " - ", "; ", ": ", "/", "", " (", ") ")
_PARTS = re.compile(r"(\{\w+\}|\[\[[A-Z-]+:|\]\]|\s+)")
_CASES = (str, str, str, str, str.upper, str.lower)
_IDENTIFIERS = (
    "given",
    "last",
    "unlisted",
    "date",
    "phone",
    "id",
    "city",
    "employer",
    "hospital_name",
    "occupation",
    "zip",
)
"""Words of which a table of known people has some."""
CATEGORIES = ("PATIENT", "DOCTOR", "DATE", "HOSPITAL", "CITY", "STATE", "PHONE", "MEDICALRECORD", "IDNUM", "ZIP",
              "PROFESSION", "ORGANIZATION", "STREET", "AGE", "LOCATION-OTHER", "COUNTRY", "USERNAME", "ROOM",
              "DEPARTMENT")  # fmt: skip


def soup(number: int) -> tuple[Document, list[Span]]:
    """Return a text with some of its words marked, and what a model finds in it."""
    draw = random.Random(number)
    text = ""
    marked: list[Span] = []
    posts: list[Span] = []
    seen: list[str] = []
    for _ in range(draw.randint(3, 14)):
        places, begun, loud = [], None, draw.random() < 0.08
        for part in _PARTS.split(draw.choice(_PIECES[draw.choice([*_PIECES])])):
            slot = part[1:-1] if part[:1] == "{" and part[-1:] == "}" else ""
            word = _word(slot, draw, seen) if slot else part
            word = word.upper() if loud and not part.startswith("[[") else word
            if part.startswith("[["):
                begun = len(text), part[2:-1]
            elif part == "]]":
                if begun and draw.random() < 0.8:
                    posts.append(_post(begun[0], len(text), begun[1], draw))
            else:
                if slot.lower() in _IDENTIFIERS and draw.random() < 0.1:
                    marked.append(Span(len(text), len(text) + len(word), draw.choice(CATEGORIES)))
                if word.strip():
                    places.append((len(text), len(text) + len(word)))
                text += word
        if places and not begun and draw.random() < 0.3:
            (start, _), (_, end) = sorted(draw.choices(places, k=2))
            posts.append(_post(start, end, "", draw))
        text += draw.choice(_GAPS)
    return Document("n", draw.choice(_CASES)(text), tuple(marked)), posts


def _post(start: int, end: int, category: str, draw: random.Random) -> Span:
    kind = category if category and draw.random() < 0.8 else draw.choice(CATEGORIES)
    score = draw.choice([None, 0.15, 0.3, 0.45, 0.55, 0.75, 0.9, 0.96, 0.99])
    return Span(start, end, kind, source="model:en", score=score)


def _word(slot: str, draw: random.Random, seen: list[str]) -> str:
    """Return a word of a class, or one of those that the text has already, as it is or written otherwise."""
    name = slot.lower()
    if name == "unlisted":
        word = "".join(draw.choice(["qu", "bl", "tr", "v", "z", "k"]) + draw.choice("aeiou") for _ in "ab")
        word += draw.choice("lnrx")
    elif name in _AGAIN:
        word = _AGAIN[name](draw.choice(seen[-12:] or ["Quimby"]), draw)
    elif name == "acronym":
        word = "".join(w[0] for w in seen[-draw.choice([2, 3, 4]) :])
    else:
        word = draw.choice(WORDS[name])
    if name in _IDENTIFIERS or name in ("hospital_head", "org_head_weak", "hospital_modifier"):
        seen.append(word)
    if slot.isupper() and len(slot) > 1:
        return word.upper()
    return word if slot[0].islower() else word[:1].upper() + word[1:]


def _slip(word: str, draw: random.Random) -> str:
    """Return a word with a letter changed, left out, doubled, or two exchanged."""
    at = draw.randrange(max(1, len(word) - 1))
    middle = draw.choice(["", word[at : at + 1] * 2, "e", word[at : at + 2][::-1], "1", "0"])
    return word[:at] + middle + word[at + (2 if len(middle) == 2 and middle[0] != middle[1] else 1) :]


_AGAIN = {
    "again": lambda word, _: word,
    "slip": _slip,
    "spelt": lambda word, draw: draw.choice("- .").join(word.upper()),
    "part": lambda word, draw: word[: draw.choice([1, 3, 4, 6])],
}
