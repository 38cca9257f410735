"""What the word lists say about the words of a text.

Each list names its class in ``source.toml`` (``class = "given"``); the grammars ask for classes and never for lists, so
that a language, or a site, adds lists without touching code. Single words are looked up in one table; phrases are found
by one pass of a `deid.reading.dictionaries.PhraseMatcher`.
"""

from __future__ import annotations

import functools
import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid.base.cache import cached
from deid.base.compiled import native_for
from deid.base.errors import ConfigError
from deid.reading import dictionaries as lists_on_disk
from deid.reading import view as views
from deid.reading.dictionaries import Dictionary, available, load_dictionary, shipped_content
from deid.reading.phrases import PhraseMatcher
from deid.reading.view import NUMBER, View, words_of
from deid.reading.vocabulary import Vocabulary, load_vocabulary

native = native_for("lexicon")

_NAMES = (
    "given last popular mostly_name name_word particle suffix title title_doctor credential relation",
    "role person_verb person_verb_strong patient_word",
    "word function generic clinical eponym eponym_head device section",
    "month weekday season holiday",
    "city city_ambig city_big state state_code state_old county country nationality region",
    "street_suffix street_prefix street_direction place_head settlement",
    "hospital_head hospital_head_weak hospital_modifier hospital_name org_head org_head_weak institution employer",
    "occupation occupation_ending occupation_qualifier no_occupation",
)
CLASSES: dict[str, int] = {name: 1 << i for i, name in enumerate(" ".join(_NAMES).split())}
"""Class of a list -> bit."""

_REMEMBERED = 100_000
_LONGEST_END = 18
_BEFORE_END = 3
"""Letters that stand before the last word of a compound at least."""
_HYPHEN_CLASSES = ("given", "last", "word", "clinical", "city", "relation")


@functools.cache
def classes_of(*names: str) -> int:
    """Return the bits of some classes, joined."""
    return functools.reduce(int.__or__, (CLASSES[n] for n in names), 0)


_PERSON = classes_of("given", "last")
_NAMES_TOO = classes_of("given", "last", "city", "country", "hospital_name")
_ORDINARY = classes_of("word", "function", "clinical", "section")
_INHERITED = classes_of(*_HYPHEN_CLASSES)
_LETTERS = classes_of(
    "clinical", "credential", "state_code", "word", "function", "section", "institution", "suffix", "country"
)


@dataclass(frozen=True, slots=True)
class Marks:
    """What a lexicon says about a view."""

    words: list[int] = field(repr=False)
    """Classes of each word."""
    phrases: dict[int, list[tuple[int, int]]] = field(repr=False)
    """First word -> phrases that start there: one past the last word, class; sorted."""


class Classes(dict[str, int]):
    """Remembers the classes of words that were met; of so many that memory stays bounded."""

    def __init__(self, lexicon: Lexicon) -> None:
        super().__init__()
        self._lexicon = lexicon

    def __missing__(self, word: str) -> int:
        if len(self) > _REMEMBERED:
            self.clear()
        found = self[word] = self._lexicon.classes(word)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The word lists of a language, by class; one equals only itself, so that results can be kept by it."""

    language: str
    words: dict[str, int] = field(repr=False)
    """Single word -> classes."""
    phrases: PhraseMatcher = field(repr=False)
    """Items of more than one word, and exceptions."""
    phrase_classes: tuple[int, ...] = field(repr=False)
    """Class of each list of ``phrases``."""
    vocabulary: Vocabulary = field(repr=False)
    """Small words, by what they do."""
    letters: frozenset[str] = field(default=frozenset(), repr=False)
    """Listed words of two or three letters that are abbreviations, credentials or states, or ordinary words."""

    ends: frozenset[str] = field(default=frozenset(), repr=False)
    """Last words of compounds that are ordinary words, whatever stands before them: *-fragebogen*."""

    heads: frozenset[str] = field(init=False, repr=False)
    """Ends of compounds that no list can have all of, and that are clinical: *-sprechstunde*."""
    table: Classes = field(init=False, repr=False)
    """Word -> classes, of words that were met."""
    _lookup: Any = field(init=False, repr=False)
    """Remembers what the table says by the numbers of words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", self.vocabulary.words["compound_head"])
        object.__setattr__(self, "table", Classes(self))
        object.__setattr__(self, "_lookup", None if native is None else native.Lookup(self.table))

    def classes(self, word: str) -> int:
        """Return the classes of a folded word.

        A hyphenated word has the classes that all its parts have, an unlisted compound is what its head is.
        """
        known = self.words.get(word, 0)
        if "'" in word:
            known |= self.words.get(word.replace("'", ""), 0)
            return known or self._behind_clitic(word)
        if known:
            return known
        heads, ends = self.heads, self.ends
        if heads:
            found = [word[-n:] for n in range(1, min(len(word), _LONGEST_END) + 1)]
            if not heads.isdisjoint(found):
                return CLASSES["clinical"]
            if not ends.isdisjoint(found[: max(0, len(word) - _BEFORE_END)]):
                return CLASSES["word"]
        if "-" not in word:
            return 0
        common = -1
        for part in word.split("-"):
            classes = self.words.get(part, 0)
            if classes & _PERSON:
                classes |= _PERSON
            common &= classes
        return common & _INHERITED

    def _behind_clitic(self, word: str) -> int:
        """Return the classes of an ordinary word behind what an apostrophe joins to it: *s'appelle*, *d'augmenter*."""
        clitic, _, rest = word.partition("'")
        classes = self.words.get(rest, 0) if clitic in self.vocabulary.words["clitic"] else 0
        return 0 if classes & _NAMES_TOO else classes & _ORDINARY

    def singly(self, view: View) -> list[int]:
        """Return the classes of the words of a view, each by itself."""
        if self._lookup is not None:
            found: list[int] = self._lookup.of(view.folded, view.kinds, view.ids)
            return found
        table = self.table
        return [table[w] if kind > NUMBER else 0 for w, kind in zip(view.folded, view.kinds, strict=True)]

    def of(self, view: View) -> Marks:
        """Return the classes of the words of a view, and the phrases of the lists that begin at them."""
        found = self.singly(view)
        phrases: dict[int, list[tuple[int, int]]] = {}
        matches, _, _ = self.phrases.scan(view.folded, view.joined(), ids=view.ids)
        for start, end, number in matches:
            if end == start + 1:
                found[start] |= self.phrase_classes[number]
            else:
                phrases.setdefault(start, []).append((end, self.phrase_classes[number]))
        return Marks(found, phrases)


def load_lexicon(language: str, folders: Sequence[Path] = ()) -> Lexicon:
    """Return the lexicon of a language: all lists of it (and those of no language) that name a class, loaded once.

    Parameters
    ----------
    language : str
        Such as ``en``.
    folders : sequence of Path
        Folders of the user's own, searched before the shipped one.

    Raises
    ------
    ConfigError
        When a list is malformed or names an unknown class.
    """
    return _load(language, tuple(folders))


@functools.lru_cache(maxsize=8)
def _load(language: str, folders: tuple[Path, ...]) -> Lexicon:
    found = _joined(language, folders) if folders else _kept(language)
    vocabulary = load_vocabulary(language, folders)
    matcher = PhraseMatcher(found.phrases, words_of)
    return Lexicon(
        language,
        found.words,
        matcher,
        tuple(found.phrase_classes),
        vocabulary,
        frozenset(found.letters),
        frozenset(found.ends),
    )


@dataclass(frozen=True, slots=True)
class _Lists:
    """All lists of a language as one."""

    words: dict[str, int]
    phrases: list[Dictionary]
    phrase_classes: list[int]
    letters: list[str]
    ends: list[str]


def _kept(language: str) -> _Lists:
    """Return the shipped lists as one, or what was kept of them when files and code were the same."""

    def make() -> tuple[bytes, ...]:
        lists = _joined(language, ())
        classes = sorted(set(lists.words.values()))
        number = {bits: n for n, bits in enumerate(classes)}
        phrases = [(d.name, d.phrases, d.exceptions, dict(d.source)) for d in lists.phrases]
        return (
            "\n".join(lists.words).encode(),
            array("I", map(number.__getitem__, lists.words.values())).tobytes(),
            json.dumps([classes, phrases, lists.phrase_classes, lists.letters, lists.ends]).encode(),
        )

    code = (Path(str(file)).read_bytes() for file in (__file__, views.__file__, lists_on_disk.__file__))
    content = shipped_content(available(language))
    lines, numbers, rest = cached(f"lexicon-{language}", (*code, *content), make)
    classes, phrases, phrase_classes, letters, ends = json.loads(rest)
    bits = map(classes.__getitem__, array("I", numbers))
    words = dict(zip(lines.decode().split("\n"), bits, strict=True))
    kept = [Dictionary(name, tuple(items), tuple(exceptions), source) for name, items, exceptions, source in phrases]
    return _Lists(words, kept, phrase_classes, letters, ends)


def _joined(language: str, folders: tuple[Path, ...]) -> _Lists:
    """Join the lists of a language."""
    words: dict[str, int] = {}
    phrases: list[Dictionary] = []
    phrase_classes: list[int] = []
    ends: list[str] = []
    for name in available(language, folders):
        dictionary = load_dictionary(name, folders)
        label = dictionary.source.get("class")
        if label is None:
            ends += dictionary.phrases if dictionary.source.get("ends") else ()
            continue
        if label not in CLASSES:
            raise ConfigError(
                f"dictionary {name} names the class {label!r}, which does not exist",
                "classes: " + ", ".join(CLASSES),
            )
        bit = CLASSES[label]
        excepted = {word for phrase in dictionary.exceptions for word in words_of(phrase)}
        # the phrase matcher gets phrases, and words that count only outside an exception
        matched = [
            i for i in dictionary.phrases if (not i.isalpha() and (" " in i or len(words_of(i)) != 1)) or i in excepted
        ]
        single = dict.fromkeys(dictionary.phrases, bit)
        for item in matched:
            del single[item]
        for item in words.keys() & single.keys():
            single[item] |= words[item]
        words.update(single)
        if matched:
            phrases.append(Dictionary(name, tuple(matched), dictionary.exceptions, dictionary.source))
            phrase_classes.append(bit)
    letters = sorted(w for w, c in words.items() if len(w) < 4 and c & _LETTERS)
    return _Lists(words, phrases, phrase_classes, letters, ends)
