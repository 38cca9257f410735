"""Surrogates of person names: one keyed map of name words in a person's scope.

Every name word has one surrogate word, whatever its place in a name, so that ``John Smith``, ``Smith, John``,
``SMITH^JOHN``, ``Johnny``, ``J. Smith``, ``JS`` and ``jsmith2`` become forms of one surrogate person without any
memory of what was replaced before:

- letters go through a keyed permutation without fixed point, inside classes of letters that are about equally common
  as initials;
- a word of the pool goes to a word of the same kind (male, female or unisex given name, family name, both), origin and
  rough frequency that begins with the letter's surrogate, by a keyed permutation: distinct words never share one;
- a word outside the pool goes to a rare name that is in no permutation, chosen by a keyed hash; within a document two
  of them never share one.

A surrogate that is an original of the document, or contains its own original, is passed over for the next choice by
hash. Decision record: docs/decisions/0005-name-surrogates.md.
"""

from __future__ import annotations

import functools
import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from deid.reading.identity import PersonName, canonical_given, full_names, link, name_key, parse_name, unclear_forms
from deid.replacement.identifiers import scramble
from deid.replacement.permutation import Keyed
from deid.replacement.pools import Cell, NamePool, name_pool, read_words

_LETTERS: Final = {
    "en": ("abcdghjklmprstw", "efinov", "quyz"),
    "es": ("abcglmprsv", "defhijnot", "quyz"),
    "de": ("abdeghklmrsw", "fjnpt"),
    "fr": ("abcdglmprst", "fhjnv"),
    "nl": ("abdghjklmsvw", "cefnprt"),
}
"""Classes of initials by language (those of English for the others); the remaining letters are too rare as initials to
be given to anybody, and go to a letter of the last class."""
_ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
_BANDS: Final = (0, 24, 96, 384, 1536, 1 << 40)
"""Ranks between which words of a cell are exchanged: a common name becomes a common name."""
_KEPT_ROLES: Final = frozenset({"particle", "suffix", "title", "credential"})
_COMMON: Final = 24
"""Ranks in its cell up to which two or three capital letters are read as a name."""
_HASH_TRIES: Final = 64
_FEW: Final = 4
_VOWELS, _CONSONANTS = "aeiou", "bdfklmnprstvz"
_REMEMBERED: Final = 1 << 13
_LONGEST_KEPT: Final = 64
"""Characters up to which the parts of a name are remembered."""
_DIGITS: Final = re.compile(r"\d")
_LONGEST_LOGIN: Final = 64
"""Letters up to which a login is taken apart into names; nobody's is longer."""
_LOGIN: Final = re.compile(r"[^\W\d_]+|\d+|[\W_]+")
_NO_WORDS: Final = _KEPT_ROLES | {"initial"}
_BETWEEN_NAMES: Final = frozenset(read_words("writing.toml")["names"]["between"].split())


def _pool_language(language: str) -> str:
    """Return the language whose names are taken: English where a language has none of its own."""
    code = language[:2]
    return code if code in _LETTERS else "en"


def match_case(surrogate: str, original: str) -> str:
    """Return ``surrogate`` in capitals or lower case when ``original`` is; else as spelled."""
    if original.isupper() and len(original) > 1:
        return surrogate.upper()
    return surrogate.lower() if original.islower() else surrogate


def _person(given: str, family: str) -> str:
    return f"{canonical_given(given)} {family}"


def full_name_key(name: PersonName) -> str:
    """Return the form in which two full names are equal: given name (no short form) and family name; else empty.

    >>> full_name_key(parse_name("SMITH, Bob Q."))
    'robert smith'
    """
    given, family = name.full
    return _person(given, family) if given and family else ""


class NameMap:
    """The surrogates of one document's name words.

    Parameters
    ----------
    keyed : Keyed
        Choices of the person's scope.
    language : str
        ``es`` for Spanish names; everything else counts as English.
    originals : iterable of str
        Keys (`deid.reading.identity.name_key`) of words that no surrogate may be.
    known : frozenset of str
        Those of them that are known for all documents of the scope.
    people : frozenset of str
        Full names (`full_name_key`) that no surrogate may be.
    sexes : mapping, optional
        Given names -> M or F, where a record says whose they are; of others, lists of names say it.
    """

    def __init__(
        self,
        keyed: Keyed,
        language: str,
        originals: Iterable[str],
        known: frozenset[str] = frozenset(),
        people: frozenset[str] = frozenset(),
        sexes: Mapping[str, str] | None = None,
    ) -> None:
        self._keyed = keyed
        self._language = _pool_language(language)
        self._spanish = self._language == "es"
        self._pool = name_pool(self._language)
        self._plain = self._pool.origin == "general"
        self._written_form = self._pool.spelled
        self._originals = frozenset(originals)
        self._known = known
        self._people = people
        self._sexes = {canonical_given(name_key(word)): sex for word, sex in (sexes or {}).items()}
        self._given: dict[tuple[str, str], str] = {}
        self._classes = _LETTERS[self._language]
        self._letters: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._taken: dict[str, str] = {}
        self._full: dict[tuple[str, str], str] = {}
        self._initials: dict[tuple[str, str], str] = {}
        self._written: set[str] = set()
        self._beginnings: dict[str, str] | None = None
        self.collisions = 0
        """Words whose first choice was an original of this document, and is not known for all of the scope."""

    def _new_letter(self, letter: str) -> str | None:
        """Return the surrogate of a letter, None of what is no letter from a to z; a class is permuted when needed."""
        new = self._letters.get(letter)
        if new is not None or letter not in _ALPHABET:
            return new
        for letters in self._classes:
            if letter in letters:
                order = self._keyed.shuffle("letters", letters)
                self._letters.update(zip(order, order[1:] + order[:1], strict=True))
                return self._letters[letter]
        rare = self._classes[-1]
        self._letters[letter] = new = rare[self._keyed.number("letter", letter) % len(rare)]
        return new

    # what the document's names say about each other

    def parse(self, text: str) -> PersonName:
        """Return the parts of a name; short words count as names when the pool knows them as common."""
        if not self._written and len(text) <= _LONGEST_KEPT:
            return _parsed(text, self._language)
        return parse_name(text, family_names=2 if self._spanish else 1, is_word=self.is_name)

    def is_name(self, key: str, alone: bool = False) -> bool:
        """Tell whether a short word is a name of the document or the pool; alone, only a common one counts."""
        return key in self._written or _in_pool(self._pool, key, alone)

    def learn(self, names: Sequence[PersonName]) -> None:
        """Take note of the names of the document, so that short forms and initials find their full names."""
        self._written.update([p.key for name in names for p in name.parts if p.role not in _NO_WORDS])
        self._learn_short_forms(names)
        if self._people:
            self._avoid_people(names)

    def _learn_short_forms(self, names: Sequence[PersonName]) -> None:
        short = self._written & unclear_forms()
        if not short:
            return
        # names that have nothing to do with a short form need not be compared with each other
        related = short.union(*map(full_names, short))
        for name in names:
            if not short.isdisjoint(name.keys("given", "nickname", "name")):
                related.update(name.keys("family", "middle"))
        names = [name for name in names if not related.isdisjoint(part.key for part in name.parts)]
        groups = link(names)
        givens: dict[int, set[str]] = {}
        for name, group in zip(names, groups, strict=True):
            givens.setdefault(group, set()).update(name.keys("given", "name", "middle"))
        for name, group in zip(names, groups, strict=True):
            family = (name.keys("family") or ("",))[0]
            for key in name.keys("given", "nickname", "name"):
                full = canonical_given(key, givens[group])
                self._full[key, family] = full
                self._full.setdefault((key, ""), full)
                if full[0] != key[0] and family:
                    self._initials.setdefault((key[0], family), full[0])

    def _avoid_people(self, names: Sequence[PersonName]) -> None:
        """Give those another given name, with the same initial, who would get the name of somebody real.

        It depends on the full name alone, so that it is the same in all documents that name it.
        """
        for name in names:
            family = (name.keys("family") or ("",))[0]
            for key in name.keys("given") if family else ():
                full = self._full_given(key, family)
                if (full, family) not in self._given and _person(self.word(full), self.word(family)) in self._people:
                    self._given[full, family] = new = self._hashed(full, family)
                    self._given.setdefault((full, ""), new)

    def people(self, names: Iterable[PersonName]) -> dict[str, str]:
        """Return the full names among ``names``, and the full name that each has become (`full_name_key`)."""
        found: dict[str, str] = {}
        for name in names:
            given, family = name.full
            if given and family:
                full = self._full_given(given, family)
                new = self._given.get((full, family)) or self.word(full)
                found[f"{full} {family}"] = _person(new, self.word(family))
        return found

    # words and letters

    def _full_given(self, key: str, family: str) -> str:
        """Return the full name that a word stands for in the document, the word itself when it is no short form."""
        if self._full:
            found = self._full.get((key, family)) or self._full.get((key, ""))
            if found:
                return found
        return canonical_given(key)

    def letter(self, letter: str) -> str:
        """Return the surrogate of one letter in the same case, a Latin one of any script; other characters stay."""
        base = name_key(letter)[:1]
        new = self._new_letter(base)
        if new is None:
            if not letter.isalpha():
                return letter
            usual = self._classes[0]
            new = usual[self._keyed.number("letter", base or letter) % len(usual)]
        return new.upper() if letter.isupper() else new

    def initials(self, text: str) -> str:
        """Return the surrogate of ``JRM`` or an acronym, letter by letter."""
        return "".join(map(self.letter, text))

    def word(self, key: str) -> str:
        """Return the surrogate of a name word, both in the form of `deid.reading.identity.name_key`."""
        known = self._words.get(key)
        if known is not None:
            return known
        sex = self._sexes.get(key) if self._sexes else None
        place = self._pool.place(key) if sex else None
        other = sex is not None and (place is None or place[0].kind not in (sex, f"{sex}S", "U"))
        chosen = None if other else self._permuted(key)
        if chosen is not None and (chosen in self._originals or key in chosen):
            self.collisions += chosen in self._originals and chosen not in self._known
            chosen = None
        if chosen is None:
            chosen = self._hashed(key)
        self._words[key] = chosen
        self._taken[chosen] = key
        return chosen

    def _permuted(self, key: str) -> str | None:
        slot = _slot(self._language, key)
        if slot is None:
            return None
        cell, rank, low, high, what = slot
        new = self._letters.get(cell.letter) or self._new_letter(cell.letter)
        target = self._pool.by_kind.get((cell.kind, cell.origin, new)) if new else None
        if target is None:
            return None
        size = min(cell.size, target.size)
        if rank >= size:
            return None
        high = min(high, size)
        return self._pool.words[target.start + low + self._keyed.permute(what, rank - low, high - low)]

    def _hashed(self, key: str, family: str = "") -> str:
        """Choose by keyed hash, of a given name with its family name when that is given."""
        owner = f"{key} {family}" if family else key
        place = self._pool.place(key)
        sex = self._sexes.get(key)
        kind = sex or (_reserve_kind(place[0]) if place else "S")
        letter = self._new_letter(key[0])
        if letter is None:
            letter = self._new_letter("abcdghlmprst"[self._keyed.number("first", key) % 12])
            assert letter is not None
        origin = self._pool.origin if place is None else place[0].origin
        if origin not in ("spanish", "home"):
            origin = "general"
        names = self._pool.reserve.get((kind, origin, letter), [])
        if sex and len(names) <= _FEW and (cell := self._pool.by_kind.get((sex, "general", letter))):
            names = self._pool.words[cell.start : cell.start + cell.size]
        rare = self._pool.reserve["S", "general", letter]
        for attempt in itertools.count():
            number = self._keyed.number("reserve", owner, str(attempt))
            if attempt < 8 and (len(names) > _FEW or (sex and names)):
                chosen = names[number % len(names)]
            elif attempt < 24:
                chosen = rare[number % len(rare)]
            elif attempt < _HASH_TRIES:
                first, second = divmod(number, len(rare))
                chosen = f"{rare[first % len(rare)]}-{rare[second]}"
            else:  # the document names them all
                chosen = letter + _syllables(number, 3 + attempt // 256)
            if (
                chosen not in self._originals
                and key not in chosen
                and self._taken.get(chosen, owner) == owner
                and not ("-" in chosen and self._originals.intersection(chosen.split("-")))
                and not (family and _person(chosen, self.word(family)) in self._people)
            ):
                self._taken[chosen] = owner
                return chosen
        raise AssertionError("no document names every word")

    # whole names

    def spelled(self, key: str, original: str, family: str = "") -> str:
        """Return the surrogate of a word as it is written instead of ``original``, beside a family name if given.

        Parameters
        ----------
        key, family : str
            Name words in the form of `deid.reading.identity.name_key`.
        original : str
            As the word stands in the text; its letter case is followed.
        """
        accents = not (self._plain and original.isascii())
        new = self._given.get((key, family)) or self._words.get(key) or self.word(key)
        if "-" in new:
            return match_case("-".join([self._written_form(w, accents) for w in new.split("-")]), original)
        return match_case(self._written_form(new, accents), original)

    def replace(self, text: str, name: PersonName | None = None) -> str:
        """Return the surrogate of a name as written; empty when it holds neither letter nor digit."""
        name = name or self.parse(text)
        family = (name.keys("family") or ("",))[0] if self._full or self._given else ""
        out: list[str] = []
        read = 0
        replaced = False
        several = len(name.parts) > 1
        for part in name.parts:
            if part.start > read:
                out.append(self._between(text[read : part.start]))
            word = text[part.start : part.end]
            if several and (part.role in _KEPT_ROLES or word in _BETWEEN_NAMES):
                out.append(word)
            elif part.role == "initial" and word[:1].lower() != word[:1].upper():  # an ideograph is a name
                out.append("".join(map(self.letter, self._true_initials(word, family))))
                replaced = True
            else:
                out.append(self._part(part.key, family, word))
                replaced = True
            read = part.end
        if read < len(text):
            out.append(self._between(text[read:]))
        if not replaced and name.parts:  # nothing but titles and particles: they are its name
            ends = [*(part.start for part in name.parts[1:]), len(text)]
            return "".join(
                self.spelled(p.key, text[p.start : p.end]) + self._between(text[p.end : end])
                for p, end in zip(name.parts, ends, strict=True)
            )
        return "".join(out)

    # logins

    def username(self, text: str, step: int = 1) -> str:
        """Return the surrogate of a login; parts built from names of the document, or common names, follow them."""
        out = []
        for match in _LOGIN.finditer(text):
            run = match.group()
            if run.isdigit():
                out.append(scramble(self._keyed, run, "login", step))
            elif run[0].isalpha():
                out.append(self._login_run(run, step))
            else:
                out.append(run)
        return "".join(out)

    def _login_run(self, run: str, step: int) -> str:
        key = name_key(run)
        if len(key) != len(run) or len(run) > _LONGEST_LOGIN:  # ligatures and the like: offsets would not agree
            return scramble(self._keyed, run, "login", step)
        if len(key) <= 3 and key not in self._written:
            return self.initials(run)
        best = self._explain(key)
        if best is None:
            return scramble(self._keyed, run, "login", step)
        out = []
        read = 0
        for length, word in best:
            piece = run[read : read + length]
            read += length
            if word is None:
                out.append(self.initials(piece))
            else:
                full = self._full_given(word, "")
                new = (self._given.get((full, "")) or self.word(full)).replace("-", "")
                out.append(match_case(new.title(), piece)[: length if length < len(word) else None])
        return "".join(out)

    def _explain(self, key: str) -> list[tuple[int, str | None]] | None:
        """Take a login apart: (length, name word, or None for initials) a piece; None when it has no name in it.

        A word of the document counts more than a word of the pool, and one long word more than two; a word of the
        document may be cut off at its end (``jsmi``).
        """
        best: tuple[float, list[tuple[int, str | None]]] | None = None
        for start in range(min(3, len(key) - 2)):
            for end in range(len(key), start + 2, -1):
                middle, rest = key[start:end], key[end:]
                word, cost = self._login_word(middle)
                if word is None:
                    continue
                pieces: list[tuple[int, str | None]] = [(start, None)] if start else []
                pieces.append((len(middle), word))
                cost += start
                if len(rest) > 2:
                    second, more = self._login_word(rest)
                    if second is None or start > 1:
                        continue
                    pieces.append((len(rest), second))
                    cost += more + 0.5
                elif rest:
                    pieces.append((len(rest), None))
                    cost += len(rest) + 0.25
                if best is None or cost < best[0]:
                    best = cost, pieces
        return best[1] if best else None

    def _login_word(self, piece: str) -> tuple[str | None, float]:
        if piece in self._written:
            return piece, 0.0
        if self._beginnings is None:
            ordered = sorted(self._written, reverse=True)
            self._beginnings = {word[:n]: word for word in ordered for n in range(3, min(len(word), _LONGEST_LOGIN))}
        cut = self._beginnings.get(piece)
        if cut is not None:
            return cut, 0.5
        place = self._pool.place(piece)
        if place is not None and len(piece) >= 4:
            return piece, 3.0 + place[1] / 1000
        return None, 0.0

    def _true_initials(self, word: str, family: str) -> str:
        """Return the initials of the full given name where the document's short form begins with another letter."""
        true = self._initials.get((name_key(word), family))
        if true is None:
            return word
        return true.upper() if word.isupper() else true

    def _part(self, key: str, family: str, word: str) -> str:
        if key.endswith("s") and key[:-1] in self._written and self._pool.place(key) is None:
            new = self._part(key[:-1], family, word[:-1])  # "the Smiths"
            plural = "es" if new[-1] in "szxSZX" else "s"
            return new + (plural.upper() if word.isupper() else plural)
        return self.spelled(self._full_given(key, family), word, family)

    def _between(self, text: str) -> str:
        """Replace digits that stand between the words of a name: they are no part of it, so they are some code."""
        return scramble(self._keyed, text, "name") if text not in (" ", ", ", ". ") and _DIGITS.search(text) else text


def _in_pool(pool: NamePool, key: str, alone: bool) -> bool:
    if alone and len(key) == 2:
        return False
    place = pool.place(key)
    return place is not None and (not alone or place[1] < _COMMON)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str, language: str) -> PersonName:
    """Return the parts of a name of which no other name of its document tells anything."""
    is_word = functools.partial(_in_pool, name_pool(language))
    return parse_name(text, family_names=2 if language == "es" else 1, is_word=is_word)


@functools.lru_cache(maxsize=_REMEMBERED)
def _slot(language: str, key: str) -> tuple[Cell, int, int, int, str] | None:
    """Return a word's cell, its rank there, the ranks between which it is exchanged, and their permutation's name.

    None for a word that is in no cell, or in one of a letter that is nobody's surrogate.
    """
    place = name_pool(language).place(key)
    if place is None or not any(place[0].letter in letters for letters in _LETTERS[language]):
        return None
    cell, rank = place
    band = bisect_right(_BANDS, rank) - 1
    return cell, rank, _BANDS[band], _BANDS[band + 1], f"{cell.kind} {cell.origin} {cell.letter} {band}"


def _syllables(number: int, count: int) -> str:
    """Return the end of a word that can be spoken, for a number."""
    out = []
    for _ in range(count):
        number, vowel = divmod(number, len(_VOWELS))
        number, consonant = divmod(number, len(_CONSONANTS))
        out.append(_VOWELS[vowel] + _CONSONANTS[consonant])
    return "".join(out)


def _reserve_kind(cell: Cell) -> str:
    return cell.kind if cell.kind in ("M", "F") else "F" if cell.kind in ("U", "FS") else "S"
