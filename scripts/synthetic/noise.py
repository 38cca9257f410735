"""What happens to a note between writer and reader: casing, typing errors, scanning, wrapped lines."""

from __future__ import annotations

import unicodedata

from .draw import Draw
from .wording import Piece

_NAMES = ("PATIENT", "DOCTOR")
_SCANNED = {
    "l": "1I|i",
    "1": "lI",
    "I": "l1",
    "O": "0",
    "0": "O",
    "o": "0c",
    "S": "5",
    "5": "S",
    "B": "8",
    "8": "B",
    "e": "c",
    "c": "e",
    "m": ("rn", "nn"),
    "n": "ri",
    "rn": "m",
    "h": "b",
    "u": "ii",
    "g": "q9",
    "q": "g",
    "Z": "2",
    "2": "Z",
    "a": "o",
    "t": "f",
    "f": "t",
    ",": ".",
    ".": ",",
    "'": "`",
    "i": "1j",
    "d": ("cl",),
    "w": ("vv",),
    "D": "O",
    "G": "6C",
    "6": "b",
    "y": "v",
    "E": "F",
}
_PLAIN = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ı": "i", "ß": "ss", "æ": "ae", "Å": "A"}
)


def without_accents(text: str) -> str:
    """Return the text in ASCII letters, as older systems store it."""
    decomposed = unicodedata.normalize("NFD", text.translate(_PLAIN))
    return "".join(c for c in decomposed if not "̀" <= c <= "ͯ")


def scanned(text: str, draw: Draw, rate: float) -> str:
    """Return the text with the errors of optical character recognition."""
    out = []
    for c in text:
        options = _SCANNED.get(c)
        out.append(draw.pick(options) if options and draw.chance(rate) else c)
    return "".join(out)


def mistyped(text: str, draw: Draw, rate: float) -> str:
    """Return the text with letters swapped, doubled or dropped in some words."""
    words = text.split(" ")
    for i, word in enumerate(words):
        if len(word) > 4 and word.isalpha() and draw.chance(rate):
            k = draw.between(1, len(word) - 3)
            what = draw.below(3)
            if what == 0:
                word = word[:k] + word[k + 1] + word[k] + word[k + 2 :]
            elif what == 1:
                word = word[:k] + word[k + 1 :]
            else:
                word = word[:k] + word[k] + word[k:]
            words[i] = word
    return " ".join(words)


def apply(pieces: list[Piece], options: frozenset[str], draw: Draw) -> list[Piece]:
    """Return the pieces as they reach the reader; categories keep their text exactly.

    Options of a body fix a kind of noise: ``caps``, ``lower``, ``ocr``, ``clean`` (no noise but accents).
    """
    clean = "clean" in options
    kind = draw.weighted((("", 84), ("caps", 5), ("lower", 4), ("typos", 5), ("ocr", 2)))
    kind = next((o for o in ("caps", "lower", "ocr") if o in options), "" if clean else kind)
    names = "" if clean or kind in ("caps", "lower") else draw.weighted((("", 92), ("upper", 5), ("lower", 3)))
    ascii_only, curly, wide = draw.chance(0.55), draw.chance(0.08), draw.chance(0.08)
    rate = draw.between(4, 20) / 1000
    out: list[Piece] = []
    for text, label in pieces:
        if ascii_only:
            text = without_accents(text)
        if curly:
            text = text.replace("'", "’")
        if wide and label is None and not clean:
            text = text.replace(". ", ".  ")
        if kind == "caps":
            text = text.upper()
        elif kind == "lower":
            text = text.lower()
        elif kind == "typos":
            text = mistyped(text, draw, rate if label is None else rate / 2)
        elif kind == "ocr":
            text = scanned(text, draw, rate)
        if names and label in _NAMES:
            text = text.upper() if names == "upper" else text.lower()
        out.append((text, label))
    return out


def wrap(text: str, draw: Draw, options: frozenset[str]) -> str:
    """Break long lines at blanks, in some notes; the text keeps its length, so that offsets stay."""
    if "wrap" not in options and ("nowrap" in options or not draw.chance(0.35)):
        return text
    width = draw.pick((60, 65, 70, 72, 75, 78, 80, 80, 90, 100))
    lines = []
    for line in text.split("\n"):
        if "\t" in line or "|" in line:
            lines.append(line)
            continue
        while len(line) > width:
            cut = line.rfind(" ", 10, width + 1)
            if cut < 0:
                break
            lines.append(line[:cut])
            line = line[cut + 1 :]
        lines.append(line)
    return "\n".join(lines)
