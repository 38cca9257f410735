"""Known identifiers of a record, and where they stand in what of it would be kept."""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from deid.base.plain_letters import SIGNS
from deid.records.readings import ordinary_words, says_nothing
from deid.records.record import LEAST, LEAST_INSIDE, LEAST_NUMBER, NAMES, forms, small

SEXES = ("M", "F")
_REMEMBERED = 1 << 12
_WORDED = frozenset((*NAMES, "CITY"))
"""Identifiers that may be ordinary words."""
_INSTITUTIONS = ("HOSPITAL", "ORGANIZATION")
_GENERAL = 2
"""Words that any institution may be called by."""
_CODE = 4
"""Letters of a code."""
_BESIDE = 2
"""Characters between two words of a name."""
_IN_SIGNS = re.compile(f"{SIGNS}{{2}}")
"""What is no initial: two signs of a script whose words are short."""


def known_of(kind: str, text: str) -> list[tuple[str, str]]:
    """Return an identifier as notes may write it, of a name family and given name, of an address its lines; none where
    it is too short to tell.
    """
    values = [text.strip()]
    if "^" in text or "&" in text:
        if kind in NAMES:
            family, _, given = text.replace("&", " ").partition("^")
            pair = " ".join(family.split()), " ".join(given.replace("^", " ").split())
            values = [", ".join(part for part in pair if part)]
        elif kind == "STREET":
            values = [line.strip() for line in re.split(r"[\^&]", text)]
    if kind in _INSTITUTIONS:
        values = [value for value in [text.replace("_", " ").partition("^")[0].strip()] if _is_own(value)]
    least = LEAST.get(kind, LEAST_NUMBER)
    return [
        (kind, value)
        for value in values
        if (len(value) >= least or _is_name_in_signs(kind, value)) and not says_nothing(value)
    ]


def _is_own(name: str) -> bool:
    """Tell whether an institution has a name of its own (*Care Health Systems*), rather than a code or what any may be
    called: *LAB*, *EPIC*, *Main Clinic*.
    """
    words = name.lower().split()
    return len(words) > _GENERAL or any(len(word) > _CODE and word not in ordinary_words() for word in words)


def sexes_of(given: str, said: str) -> dict[str, str]:
    """Return word -> M or F of given names of a person whose field of sex says so; empty where it says neither."""
    sex = said.strip()[:1].upper()
    return dict.fromkeys(given.split(), sex) if sex in SEXES else {}


def sweep(source: str, kept: Sequence[tuple[int, int]], known: Iterable[tuple[str, str]]) -> list[tuple[int, int, str]]:
    """Find known identifiers in what would be kept: start, end and category of each.

    What is kept are codes and what they say, so a name or a town that is an ordinary word, too, is found beside another
    word of a name alone: *White blood cells* are nobody's, *White, Robert* is somebody.

    Parameters
    ----------
    source : str
        The record's characters.
    kept : sequence of (int, int)
        Stretches of it that are kept, in order.
    known : iterable of (str, str)
        Categories and values.
    """
    words: dict[str, str] = {}
    for category, value in known:
        for word in _swept(category, value):
            words.setdefault(word, category)
    lower = source.lower() if source.isascii() else small(source)
    joined = "\0".join([lower[start:end] for start, end in kept])
    found: list[tuple[int, int, str]] = []
    there = [word for word in words if word in joined]
    if there:
        taken = bytearray(len(joined))
        offsets = list(accumulate((end - start + 1 for start, end in kept), initial=0))
        for word in there:
            # a long number may stand behind letters, as in an anchor: t00771204
            around = "[0-9]" if len(word) >= LEAST_INSIDE and word.isdecimal() else r"[^\W_]"
            for match in re.finditer(rf"(?<!{around}){re.escape(word)}(?!{around})", joined):
                at = bisect_right(offsets, match.start()) - 1
                start = kept[at][0] + match.start() - offsets[at]
                if taken.find(1, *match.span()) < 0:
                    taken[match.start() : match.end()] = b"\1" * len(word)
                    found.append((start, start + len(word), words[word]))
    return _somebodys(lower, found) if found else found


def _somebodys(lower: str, found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return what was found without ordinary words that stand beside no other word of a name."""
    ordinary = ordinary_words()
    names = sorted((start, end) for start, end, category in found if category in NAMES)
    beside = {place for one, two in pairwise(names) if two[0] - one[1] <= _BESIDE for place in (one, two)}
    return [
        (start, end, category)
        for start, end, category in found
        if category not in _WORDED or lower[start:end] not in ordinary or (start, end) in beside
    ]


@functools.lru_cache(maxsize=_REMEMBERED)
def _swept(category: str, value: str) -> tuple[str, ...]:
    """Return the forms of a known identifier that are long enough to be looked for, in small letters."""
    least = LEAST.get(category, LEAST_NUMBER)
    words = [word for word in forms(category, value) if len(word) >= least or _is_name_in_signs(category, word)]
    return tuple([small(word) for word in words if not (category in NAMES and word[-1] == ".")])  # Mrs.


def _is_name_in_signs(category: str, word: str) -> bool:
    return category in NAMES and not word.isascii() and _IN_SIGNS.match(word) is not None
