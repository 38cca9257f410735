"""The pools that surrogates are taken from: ``dictionaries/surrogates``, read once a process.

``names.txt`` has one line a cell: kind (``M``, ``F``, ``U`` given names; ``S`` family names; ``MS``, ``FS`` words that
are both), origin, first letter, then the words by falling frequency. ``names_reserve.txt`` has rarer names that are no
cell's member. ``names_home.txt`` has the same for languages other than English and Spanish, as they are written there,
with the language before them and rarer ones behind a bar. A cell's words are exchanged among themselves only (see
`deid.replacement.names`).
"""

from __future__ import annotations

import csv
import functools
import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from deid.base.cache import cached
from deid.base.files import read_text
from deid.base.resources import resource_folder
from deid.reading.identity import name_key

T = TypeVar("T")
_REMEMBERED = 1 << 13


def _read(name: str) -> str:
    return read_text(resource_folder("dictionaries") / "surrogates" / name, f"the pool of surrogates {name}")


@functools.cache
def read_words(name: str) -> Mapping[str, Any]:
    """Return what a TOML file of the pools holds; kept as JSON, which is read in a tenth of the time."""
    text = _read(name)
    (kept,) = cached("surrogates", [text.encode()], lambda: (json.dumps(tomllib.loads(text)).encode(),))
    found: dict[str, Any] = json.loads(kept)
    return found


@functools.cache
def expression(name: str) -> re.Pattern[str]:
    """Return an expression of ``writing.toml``; letter case does not count."""
    return re.compile(read_words("writing.toml")["expressions"][name], re.IGNORECASE)


def ordinal_ending(number: int) -> str:
    """Return what stands behind a number that counts places in English: 1st, 2nd, 3rd, 4th, 11th."""
    ending: str = read_words("writing.toml")["numbers"]["ordinal_endings"][
        number % 10 if number % 100 // 10 != 1 else 0
    ]
    return ending


@functools.lru_cache(maxsize=_REMEMBERED)
def phrase_key(text: str) -> str:
    """Return the form in which phrases are compared: the keys of their words, with single blanks between."""
    if text.isascii() and text.replace(" ", "").isalpha():
        return " ".join(text.lower().split())
    return " ".join(filter(None, map(name_key, text.split())))


# names


@dataclass(frozen=True, slots=True)
class Cell:
    """Names that may replace each other, apart from their first letter."""

    kind: str
    origin: str
    letter: str
    start: int
    """Place of its first word among all words."""
    size: int


@dataclass(frozen=True, slots=True)
class NamePool:
    """All name words, cell after cell."""

    words: list[str] = field(repr=False)
    by_kind: dict[tuple[str, str, str], Cell] = field(repr=False)
    reserve: dict[tuple[str, str, str], list[str]] = field(repr=False)
    """Kind, origin (general, spanish or home) and letter -> names that are in no cell."""
    origin: str
    """Origin of the names that words outside of all cells get: that of the language."""
    place: Callable[[str], tuple[Cell, int] | None] = field(repr=False)
    """Returns the cell of a word and its rank there, None for a word that is in no cell."""
    spelled: Callable[[str, bool], str] = field(repr=False)
    """Returns the written form of a name word, capital first letter included, and whether accents may be in it."""


def _lines(name: str) -> list[tuple[list[str], list[str]]]:
    rows = (line.partition("\t") for line in _read(name).splitlines())
    return [(head.split(" "), tail.split(" ")) for head, _, tail in rows]


@functools.cache
def _home_names() -> Mapping[str, list[tuple[str, str, list[str], list[str]]]]:
    """Return language -> kind, letter, names of a cell and rarer names, as they are written."""
    found: dict[str, list[tuple[str, str, list[str], list[str]]]] = {}
    for (language, kind, letter), names in _lines("names_home.txt"):
        cell, _, rare = " ".join(names).partition(" | ")
        found.setdefault(language, []).append((kind, letter, cell.split(" "), rare.split(" ") if rare else []))
    return found


@functools.lru_cache(maxsize=4)
def name_pool(language: str) -> NamePool:
    """Return the pool of name words.

    Parameters
    ----------
    language : str
        Where it is Spanish, names that English and Spanish share (David, Sandra) count as Spanish; names of a language
        that has some of its own are cells of their own (origin ``home``). English has the pool of all other languages.
    """
    spanish = language.startswith("es")
    home = _home_names().get(language, [])
    display = {word: shown for word, _, shown in (x.partition("\t") for x in _read("names_display.txt").splitlines())}
    own = {name_key(written): written for _, _, *lists in home for found in lists for written in found}
    display |= own
    cells: dict[tuple[str, str, str], list[str]] = {}
    shared: dict[tuple[str, str], list[str]] = {}
    for (kind, origin, letter), found in _lines("names.txt"):
        left = [word for word in found if word not in own] if own else found
        if origin == "shared":
            shared[kind, letter] = left
        else:
            cells[kind, origin, letter] = left
    for (kind, letter), found in shared.items():
        key = (kind, "spanish" if spanish else "general", letter)
        cells[key] = _interleave(found, cells.get(key, []))
    reserve = {
        (kind, origin, letter): [word for word in found if word not in own]
        for (kind, origin, letter), found in _lines("names_reserve.txt")
    }
    for kind, letter, found, rare in home:
        cells[kind, "home", letter] = list(map(name_key, found))
        reserve[kind, "home", letter] = list(map(name_key, rare))
    ordered: list[str] = []
    table = []
    for (kind, origin, letter), found in cells.items():
        table.append(Cell(kind, origin, letter, len(ordered), len(found)))
        ordered += found
    index = dict(zip(ordered, range(len(ordered)), strict=True))
    starts = [c.start for c in table]

    @functools.lru_cache(maxsize=_REMEMBERED)
    def place(word: str) -> tuple[Cell, int] | None:
        at = index.get(word)
        if at is None:
            return None
        cell = table[bisect_right(starts, at) - 1]
        return cell, at - cell.start

    @functools.lru_cache(maxsize=_REMEMBERED)
    def spelled(word: str, accents: bool) -> str:
        shown = display.get(word)
        return shown if shown is not None and (accents or shown.isascii()) else word.title()

    return NamePool(
        words=ordered,
        by_kind={(c.kind, c.origin, c.letter): c for c in table},
        reserve=reserve,
        origin="home" if home else "spanish" if spanish else "general",
        place=place,
        spelled=spelled,
    )


def _interleave(first: list[str], second: list[str]) -> list[str]:
    """Merge two lists by rank: both are by falling frequency, and both begin with very common names."""
    merged: list[str] = []
    for a, b in zip(first, second, strict=False):
        merged += (a, b)
    rest = min(len(first), len(second))
    return merged + first[rest:] + second[rest:]


# places


@dataclass(frozen=True, slots=True)
class State:
    """A state of the USA."""

    code: str
    name: str
    traditional: str
    """Abbreviation older than the two-letter codes, without its last stop."""
    zip3: tuple[str, ...]
    """The three-digit prefixes of its ZIP codes."""


FIFTY = 50
"""How many of `states` are states; only they are surrogates."""


@functools.cache
def states() -> tuple[State, ...]:
    """Return the 50 states, then the district and territories that are never a surrogate."""
    found = []
    for row in csv.DictReader(_read("us_states.csv").splitlines()):
        ranges = (part.split("-") for part in row["zip3"].split())
        prefixes = tuple(f"{n:03}" for low, high in ranges for n in range(int(low), int(high) + 1))
        found.append(State(row["code"], row["name"], row["traditional"], prefixes))
    return tuple(found)


@functools.cache
def cities() -> Mapping[str, tuple[str, ...]]:
    """Return area (``US-OH``, ``GB``, ``ES``) -> its cities, the largest first."""
    return _listed("cities.txt")


@functools.cache
def state_index() -> Mapping[str, int]:
    """Return the key of a state's code or name (`phrase_key`) -> its place among `states`."""
    index: dict[str, int] = {}
    for i, state in enumerate(states()):
        for name in (state.code, state.name, state.traditional, state.traditional.replace(".", "")):
            index.setdefault(phrase_key(name), i)
    return index


@functools.cache
def city_index() -> Mapping[str, Sequence[tuple[int, str]]]:
    """Return the key of a city (`phrase_key`) -> rank and area of each of that name, the largest for its area first."""
    index: dict[str, list[tuple[int, str]]] = {}
    for area, names in cities().items():
        for rank, name in enumerate(names):
            index.setdefault(phrase_key(name), []).append((rank, area))
    for found in index.values():
        found.sort()
    return index


@functools.cache
def home_cities() -> Mapping[str, tuple[str, ...]]:
    """Return language -> towns where it is spoken, the largest first; English and Spanish have those of `cities`."""
    return _listed("cities_home.txt")


def _listed(name: str) -> dict[str, tuple[str, ...]]:
    """Return the first column of a file -> the names behind it."""
    rows = (line.partition("\t") for line in _read(name).splitlines())
    return {key: tuple(names.split("|")) for key, _, names in rows}


@functools.cache
def countries() -> tuple[tuple[str, ...], ...]:
    """Return groups of countries' names that may replace each other."""
    by_continent: dict[str, list[str]] = {}
    for line in _read("countries.txt").splitlines():
        continent, _, name = line.partition("\t")
        by_continent.setdefault(continent, []).append(name)
    table = read_words("words.toml")
    return tuple(
        tuple(group)
        for group in (
            *(*table["countries_en"].values(), *by_continent.values(), *table["countries_es"].values()),
            *table["countries_home"].values(),
        )
    )


@functools.cache
def home_countries() -> Mapping[str, int]:
    """Return language -> its group of `countries`, of the languages whose countries stand in a group of their own."""
    languages = read_words("words.toml")["countries_home"]
    return {language: len(countries()) - len(languages) + i for i, language in enumerate(languages)}


@functools.cache
def country_index() -> Mapping[str, tuple[tuple[int, int], ...]]:
    """Return key of a country's name -> its groups and places in `countries`, in that order."""
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for g, group in enumerate(countries()):
        for i, name in enumerate(group):
            found[phrase_key(name)] = (*found.get(phrase_key(name), ()), (g, i))
    return found


@functools.cache
def same_country() -> Mapping[str, frozenset[str]]:
    """Return key of a country's name -> keys of its other spellings and parts, of those that have any."""
    found = [frozenset(map(phrase_key, names)) for names in read_words("words.toml")["countries_same"].values()]
    return {key: keys for keys in found for key in keys}


# words


@dataclass(frozen=True, slots=True)
class Words:
    """Words of institutions, streets and places."""

    kept: Mapping[str, frozenset[str]]
    """Category of words, those of a language under ``street de`` -> keys of words that stay."""
    groups: Mapping[str, tuple[str, ...]]
    """Name of a group -> its phrases as written."""
    terms: Mapping[str, tuple[str, ...]]

    def find(self, key: str, groups: tuple[str, ...]) -> tuple[str, int] | None:
        """Return the first of ``groups`` that holds the phrase with this key, and where."""
        return group_index(groups).get(key)


@functools.cache
def words() -> Words:
    """Return the word lists of ``words.toml``."""
    raw = read_words("words.toml")
    kept = {name: frozenset(map(phrase_key, found)) for name, found in raw["kept"].items()}
    for language, lists in raw["kept_in"].items():
        kept |= {f"{name} {language}": frozenset(map(phrase_key, found.split())) for name, found in lists.items()}
    return Words(
        kept=kept,
        groups={name: tuple(found) for name, found in raw["groups"].items()},
        terms={name: tuple(found) for name, found in raw["terms"].items()},
    )


@functools.cache
def group_index(groups: tuple[str, ...]) -> Mapping[str, tuple[str, int]]:
    """Return key of a phrase -> the first of ``groups`` that holds it, and where."""
    return _index((name, words().groups[name]) for name in groups)


def _index(groups: Iterable[tuple[T, Iterable[str]]]) -> dict[str, tuple[T, int]]:
    """Return key of a phrase -> the first of the groups that holds it, by what it is called, and where."""
    found: dict[str, tuple[T, int]] = {}
    for group, phrases in groups:
        for i, phrase in enumerate(phrases):
            found.setdefault(phrase_key(phrase), (group, i))
    return found


@functools.cache
def regions(language: str) -> tuple[tuple[tuple[str, ...], ...], Mapping[str, tuple[int, int]]]:
    """Return the regions of a language's countries, and key of a region -> its list and place; English and Spanish have
    those of `Words`.
    """
    lists = tuple(map(tuple, read_words("words.toml")["regions"].get(language, ())))
    return lists, _index(enumerate(lists))


@functools.cache
def term_index() -> Mapping[str, tuple[tuple[str, ...], int]]:
    """Return key of a term about sex or kin -> its group and place there."""
    return _index((group, group) for group in words().terms.values())


PROFESSIONS_FROM: dict[str, int] = {}
"""Language -> first of its groups of `professions`, in their order; filled when they are read."""


@functools.cache
def professions() -> tuple[tuple[str, ...], ...]:
    """Return groups of similar professions, language by language.

    Names that take "an" and names that take "a" form groups of their own where there are enough of either, so that a
    surrogate agrees with the article before it.
    """
    groups: list[tuple[str, ...]] = []
    for line in _read("professions.txt").splitlines():
        if line.startswith("## "):
            PROFESSIONS_FROM[line[3:]] = len(groups)
        elif line and not line.startswith("#"):
            names = [name.strip() for name in line.split(",")]
            vowel = [name for name in names if name[0] in "aeiou"]
            other = [name for name in names if name not in vowel]
            groups += [tuple(g) for g in ((vowel, other) if min(len(vowel), len(other)) > 2 else (names,))]
    return tuple(groups)


def professions_of(language: str) -> range:
    """Return the groups of `professions` of a language; those of English where none are written in it."""
    starts = [*map(PROFESSIONS_FROM.__getitem__, PROFESSIONS_FROM), len(professions())]
    at = list(PROFESSIONS_FROM).index(language[:2] if language[:2] in PROFESSIONS_FROM else "en")
    return range(starts[at], starts[at + 1])


@functools.cache
def profession_index(language: str) -> Mapping[str, tuple[int, int]]:
    """Return key of a profession -> its group and place: of its language alone if it is German, French or Dutch."""
    groups = professions()
    own = professions_of(language) if language in home_cities() else range(len(groups))
    return _index((g, groups[g]) for g in own)
