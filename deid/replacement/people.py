"""Surrogates of what is said about a person: age, occupation, other terms."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from deid.reading.identity import name_key
from deid.replacement.choices import Choices, tag
from deid.replacement.identifiers import scramble
from deid.replacement.names import match_case
from deid.replacement.numerals import NUMERAL, read_numeral, write_numeral
from deid.replacement.ontology import plural
from deid.replacement.permutation import Keyed
from deid.replacement.pools import (
    PROFESSIONS_FROM,
    phrase_key,
    profession_index,
    professions,
    professions_of,
    read_words,
    term_index,
)

_OLDEST_SHOWN = 89
_DECADES, _TEENS = read_words("writing.toml")["ages"]["decades"].split(), read_words("writing.toml")["ages"]["teens"]
_TERM = re.compile(r"([^\W\d_]+(?:\s+nacido)?)")
_AGE = re.compile(
    rf"(?P<decade>(?<!\d)\d0)(?=['’]?s\b)|(?P<number>\d+)|(?P<decades>(?i:\b(?:{_TEENS}|{'|'.join(_DECADES)})\b))"
    rf"|(?P<numeral>(?i:{NUMERAL.pattern.removeprefix('(?i)')}))"
)


def _shift(keyed: Keyed, step: int) -> int:
    """Return by how many years the ages of a person move: -2, -1, 1 or 2."""
    return (-2, -1, 1, 2)[(keyed.number("age") + step) % 4]


def _age(keyed: Keyed, age: int, step: int) -> int:
    if age > _OLDEST_SHOWN:  # all ages over 89 are one class (HIPAA); a surrogate of it is any of 90 to 99
        others = [n for n in range(90, 100) if n != age]
        return others[(keyed.number("age over 89", str(age)) + step) % len(others)]
    shift = _shift(keyed, step)
    return age + shift if 1 <= age + shift <= _OLDEST_SHOWN else age - shift


def _decade(keyed: Keyed, decade: int, step: int) -> int:
    up = decade <= 10 or (decade < 80 and _shift(keyed, step) > 0)
    return decade + 10 if up else decade - 10


def replace_age(keyed: Keyed, text: str, step: int = 1) -> str:
    """Replace the numbers of an age: up to 89 moved by one or two years, from 90 on another one from 90 to 99.

    The shift is the same for all ages of a person's scope. Decades (``60s``, ``sixties``) become a neighbouring one,
    and nobody's becomes the nineties.

    Returns
    -------
    str
        Empty when ``text`` holds no number.
    """

    def one(match: re.Match[str]) -> str:
        word = match.group()
        if match["decade"]:
            return str(_decade(keyed, int(word), step))
        if match["number"]:
            return str(_age(keyed, int(word) if len(word) < 4 else 120, step)).zfill(len(word) if word[0] == "0" else 1)
        if match["decades"]:
            lower = word.lower()
            new = _decade(keyed, 10 if lower == _TEENS else 20 + 10 * _DECADES.index(lower), step)
            return match_case(_TEENS if new == 10 else _DECADES[new // 10 - 2], word)
        value = read_numeral(word)
        return word if value is None else write_numeral(_age(keyed, value[0], step), value[1], word)

    moved = _AGE.sub(one, text)
    return moved if moved != text else ""


def replace_profession(choices: Choices, text: str, step: int = 1) -> str:
    """Return an occupation like another one; for one that no list knows, any that the key chooses.

    Arguments as those of `deid.replacement.contacts.replace_phone`; empty when ``text`` has no letter.
    """
    groups, index = professions(), profession_index(choices.language[:2])
    key = phrase_key(text)
    if not key:
        return scramble(choices.keyed, text, "profession", step)
    parts = key.split()
    one = key if key in index else _plurals(choices.language[:2]).get(key, key)
    found = index.get(one)
    if found is not None:
        options = choices.others(f"profession {found[0]}", found[1], groups[found[0]])
    else:
        # the longest ending that is an occupation ("retired bus driver"): another of its group
        ending = next((" ".join(parts[n:]) for n in range(1, len(parts)) if " ".join(parts[n:]) in index), None)
        group = groups[index[ending][0]] if ending else _any_group(choices.language)
        options = choices.hashed("profession", key, group)

    def candidates() -> Iterator[str]:
        yield from options
        yield from choices.hashed("any profession", key, _any_group(choices.language))

    new = choices.claim("professions", key, list(candidates())[step - 1 :] if step > 1 else candidates())
    if one != key and new:
        new = _several(new, index[one][0])
    return match_case(new[:1].upper() + new[1:] if text[0].isupper() else new, text)


@functools.cache
def _plurals(language: str) -> Mapping[str, str]:
    """Return the occupations by the plural of their key."""
    index = profession_index(language)
    return {_several(key, group): key for key, (group, _) in index.items()}


def _several(name: str, group: int) -> str:
    """Return the plural of an occupation, by the language of its group."""
    if group < PROFESSIONS_FROM["es"]:
        return plural(name)
    head, of, rest = name.partition(" de ")
    return " ".join(word + ("s" if name_key(word[-1]) in {*"aeio"} else "es") for word in head.split()) + of + rest


def _any_group(language: str) -> tuple[str, ...]:
    """Return all occupations of a language."""
    groups = professions()
    return tuple(name for group in professions_of(language) for name in groups[group])


def replace_other(choices: Choices, category: str, text: str, step: int = 1) -> str:
    """Return the surrogate of a text whose category has no form of its own.

    A word about sex or kin becomes another word of the same meaning or kind; everything with digits is scrambled like
    a code; any other text becomes the category in brackets, because no list can know what would be like it.
    """
    if any(c.isdigit() for c in text):
        return scramble(choices.keyed, text, category, step)
    out = []
    for piece in _TERM.split(text):
        found = term_index().get(phrase_key(piece))
        if found is None:
            out.append(piece)
            continue
        group, index = found
        options = choices.others(f"term {group[0]}", index, group)
        alike = [t for t in options if (len(t) == 1) == (len(piece) == 1)]
        new = alike[(step - 1) % len(alike)] if alike else ""
        out.append(match_case(new.title() if piece[0].isupper() else new, piece) if new else piece)
    result = "".join(out)
    return result if result != text else tag(category, text)
