"""What is found a word or a sign beside the borders of rules is found tomorrow (`pinned`).

Each line of ``short/`` stands at a border. It is read again with another category, a word or sign more, less, or in
another case, another gap, somebody beside: what the line tells of one side of its border, these tell of many. A line
that is new has no answers until the file is written anew.
"""

from __future__ import annotations

import random
import re
from functools import partial
from pathlib import Path
from zlib import crc32

from soups import CATEGORIES
from soups import WORDS as OF_CLASSES
from test_short import LINES, found

from tests.pinned import Pinned

TIMES = 14
PARTS = re.compile(r"\{\{[A-Z-]+(?: [0-9.]+)?:|\}\}|\\[ntr]|\w+|\s+|[^\w\s]")
EMPTY = re.compile(r"\{\{[A-Z-]+(?: [0-9.]+)?:\s*\}\}")
SIGNS = (", ", ". ", ": ", " - ", "-", " / ", "/", "'s ", " (", ") ", " | ", "; ", " = ", "#", '"', " & ", "\\n", "\\t",
         "   ", "\\n\\n", "")  # fmt: skip
WORDS = ("and", "the", "of", "in", "at", "was", "her", "lives", "Dr.", "Mr.", "Jr.", "RN", "MD", "nurse", "Hospital",
         "Street", "Orme", "Quill", "M.", "x", "OH", "IN", "1", "12", "3/4", "2019", "0.12", "May")  # fmt: skip
FAR = ("low", "seen", "of", "x4", "4", ",", "and", "then", "well")
"""Words that stand between what is near otherwise."""
OTHERS = (*CATEGORIES, "FAX", "EMAIL", "URL", "ACCOUNT", "LICENSE", "HEALTHPLAN", "OTHER")


def changed(part: str, draw: random.Random) -> str:
    """Return one part of a line as it might be otherwise."""
    if part.startswith("{{"):
        return f"{{{{{draw.choice(OTHERS)}{draw.choice(['', '', ' 0.3', ' 0.6', ' 0.95'])}:"
    other = draw.choice(WORDS)
    if draw.random() < 0.5:
        other = draw.choice(OF_CLASSES[draw.choice([*OF_CLASSES])])
        other = draw.choice([other, other.title(), other.upper()])
    return draw.choice([
        "", part.upper(), part.lower(), part.title(), draw.choice(SIGNS) + part, part + draw.choice(SIGNS),
        f"{part} {part}", other, f"{other} {part}", f"{part} {other}",
        f"{part} {' '.join(draw.choices(FAR, k=draw.randint(1, 14)))} ",
    ])  # fmt: skip


def beside(line: str, language: str) -> object:
    """Return what is found in texts that differ from a line by little."""
    draw, told = random.Random(crc32(line.encode())), []
    for _ in range(TIMES):
        parts = PARTS.findall(line)
        places = [n for n, part in enumerate(parts) if part not in ("}}", "?")]
        for at in draw.choices(places, k=draw.choice([1, 1, 2])):
            parts[at] = changed(parts[at], draw)
        told.append(found(EMPTY.sub("", "".join(parts)), language))
    return told


KEPT = Path(__file__).with_name("same_borders.tsv")
ASKED = {
    f"{language} {crc32(line.encode()):08x}": partial(beside, line, language)
    for language, lines in LINES.items()
    for line, _ in lines
}
KNOWN = {line.partition("\t")[0] for line in KEPT.read_text(encoding="utf-8").splitlines()}
PINNED = Pinned(
    __file__, ASKED if __name__ == "__main__" else {k: q for k, q in ASKED.items() if k in KNOWN}, parts=100
)
test_what_is_found_is_what_was_found = PINNED.test(__name__)
