"""Person names: their parts, and which of them can mean the same person.

A name in a note comes as ``J. Smith``, ``SMITH, JOHN Q.``, ``smith^john^q``, ``Johnny``, ``John "Jack" Smith-Jones``,
``Smith's`` or ``JS``. `parse_name` splits it into parts with offsets and a *key* a part: the word without case,
accents, apostrophes and possessive. `canonical_given` brings short forms to one name, and `link` puts the names of one
document into groups, one a person. Nothing here knows whether a word is a name at all: that is a recognizer's task.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import regex

from deid.base.compiled import quick
from deid.base.errors import ConfigError
from deid.base.resources import resource_folder


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SPELLING = str.maketrans(
    {"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "’": "", "'": ""}
)
_PARTICLES = _set(
    "de del della dello dei degli da das do dos du di la las le les lo los van von vander vande der den ter "
    "ten zu zur zum y e i bin ibn bint al el abu ap af av st san"
)
_SUFFIXES = _set("jr sr ii iii iv junior senior esq")
_CREDENTIALS = _set(
    "md do rn np pa pac phd dds dmd dpm dpt pt ot lpn lvn crna cnm fnp aprn bsn msn mph mba msw lcsw psyd "
    "pharmd rph facp facs facc frcp frcs mrcp mbbs mbchb bchir cna ms bs ba ma mrcgp arnp dnp lmsw lmft ccrn "
    "otr slp faap"
)
_ALSO_NAMES = _set("do ma ba pa ot")
"""Credentials that are family names too: without a comma before them they are names where all letters are large."""
_SPOKEN_NAMES = _set("do ma")
_VOWELS = frozenset("aeiouy")
_MIXED = _set("phd pharmd psyd mbchb rph")
"""Credentials that are written with small letters."""
_TITLES = _set(
    "mr mrs ms miss mx dr doctor doctora prof professor sir dame rev fr sister nurse sr sra srta don doña dra "
    "drs señor señora señorita lic"
)
_SPECIAL = _PARTICLES | _SUFFIXES | _TITLES
_WORD = regex.compile(r"[\p{L}\p{Nl}\p{No}][\p{L}\p{M}\p{Nl}\p{No}]*(?:['’][\p{L}\p{M}\p{Nl}\p{No}]+)*")
_LETTERS = re.compile("[A-Za-z]+")
_REMEMBERED = 1 << 13
_CODES = "01230120022455012623010202"
"""Digit of each letter in Soundex; 0 for none."""
_MEANING = _SPECIAL | _CREDENTIALS
_QUOTES = "\"“”„«»'‘’()"
_STOPS = (",", ".")
_AFTER_NICKNAME = frozenset(_QUOTES)


@functools.lru_cache(maxsize=_REMEMBERED)
def name_key(word: str) -> str:
    """Return the form in which two written forms of one name word are equal: lower case, no accents, letters only.

    >>> name_key("O’Néill")
    'oneill'
    """
    if word.isascii() and word.isalpha():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold().translate(_SPELLING))
    return "".join(c for c in decomposed if c.isalpha())


@functools.cache
def _nicknames() -> dict[str, tuple[str, ...]]:
    """Short form -> the names that it may stand for, the default first."""
    path = resource_folder("dictionaries") / "surrogates" / "nicknames.txt"
    found: dict[str, list[str]] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                name, _, forms = line.partition(":")
                for form in forms.split():
                    names = found.setdefault(name_key(form), [])
                    if name not in names:
                        names.append(name)
    except OSError:
        raise ConfigError("this installation has no list of nicknames", "install the package again") from None
    # a full name with the same first letter comes first: initials in other documents agree with it
    return {form: tuple(sorted(names, key=lambda name: name[0] != form[0])) for form, names in found.items()}


def full_names(key: str) -> tuple[str, ...]:
    """Return the given names that a short form may stand for, the usual one first; empty for any other word."""
    return _nicknames().get(key, ())


@functools.cache
def _forms() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for form, names in _nicknames().items():
        for name in names:
            found.setdefault(name, []).append(form)
    return found


def short_forms(key: str) -> tuple[str, ...]:
    """Return the short and pet forms of a full given name; empty for any other word."""
    return tuple(_forms().get(key, ()))


@functools.cache
def unclear_forms() -> frozenset[str]:
    """Return the short forms that stand for several names, or for one with another first letter."""
    return frozenset(
        form for form, full in _nicknames().items() if len(full) > 1 or any(name[0] != form[0] for name in full)
    )


def canonical_given(key: str, known: Iterable[str] = ()) -> str:
    """Return the full given name that a short form stands for.

    Parameters
    ----------
    key : str
        A name's key (see `name_key`).
    known : iterable of str
        Keys of full names of the same person; they decide where a short form has several full names.

    Returns
    -------
    str
        The full name's key; ``key`` itself when it is no short form, or when it is known as a name of its own.

    Examples
    --------
    >>> canonical_given("johnny"), canonical_given("sam"), canonical_given("sam", ["samantha"]), canonical_given("mary")
    ('john', 'samuel', 'samantha', 'mary')
    """
    full = _nicknames().get(key)
    if not full:
        return key
    return next((name for name in full if name in known), full[0])


@functools.lru_cache(maxsize=_REMEMBERED)
def sound(key: str, size: int = 6) -> str:
    """Return how a name sounds, roughly: Soundex (Russell 1918), a letter and digits; empty when it has no letters.

    Examples
    --------
    >>> sound("thornton"), sound("robert", 4), sound("rupert", 4), sound("ashcraft", 4), sound("tymczak", 4)
    ('T65350', 'R163', 'R163', 'A261', 'T522')
    """
    letters = [c for c in key if "a" <= c <= "z"]
    if not letters:
        return ""
    found, last = letters[0].upper(), _CODES[ord(letters[0]) - 97]
    for letter in letters[1:]:
        code = _CODES[ord(letter) - 97]
        if code not in ("0", last):
            found += code
        if letter not in "hw":  # consonants around h and w count as neighbours, those around a vowel do not
            last = code
    return found[:size].ljust(size, "0")


@quick
@dataclass(frozen=True, slots=True)
class Part:
    """One word of a name."""

    start: int
    """First character in the text that was parsed."""
    end: int
    role: str
    """``given``, ``middle``, ``family``, ``nickname``, ``name`` (a single word: given or family), ``initial``,
    ``particle``, ``suffix``, ``title`` or ``credential``."""
    key: str = field(repr=False)
    """See `name_key`; for the role ``initial`` its letter, or the letters of ``JRM``."""


@quick
@dataclass(frozen=True, slots=True)
class PersonName:
    """A name as written once, in parts."""

    parts: tuple[Part, ...] = field(repr=False)
    family_first: bool = False

    def keys(self, *roles: str) -> tuple[str, ...]:
        """Return the keys of the parts with one of ``roles``, in order."""
        return tuple([p.key for p in self.parts if p.role in roles])

    @property
    def full(self) -> tuple[str, str]:
        """Keys of the first given and the first family name, empty where there is none."""
        given = family = ""
        for part in self.parts:
            if part.role == "given":
                given = given or part.key
            elif part.role == "family":
                family = family or part.key
        return given, family

    @property
    def initials(self) -> str:
        """First letters of given, middle and family names, in that order; each word once."""
        ordered = self.parts
        if self.family_first:
            ordered = tuple(sorted(self.parts, key=lambda p: p.role == "family"))
        return "".join(
            p.key if p.role == "initial" else p.key[0]
            for p in ordered
            if p.role in ("given", "middle", "initial", "family")
        )


def name_words(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, key) of the words; a possessive ending is no part of its word."""
    tokens = []
    if text.isascii() and "'" not in text:
        for match in _LETTERS.finditer(text):
            tokens.append((*match.span(), match.group().lower()))
        return tokens
    for match in _WORD.finditer(text):
        start, end = match.span()
        word = match.group()
        if len(word) > 2 and word[-2] in "'’" and word[-1] in "sS":
            end -= 2
            word = word[:-2]
        key = name_key(word)
        if key:  # a lone superscript or fraction counts as a letter for the pattern
            tokens.append((start, end, key))
    return tokens


def _gap(text: str, tokens: Sequence[tuple[int, int, str]], index: int) -> str:
    """Return what stands between a word and the one before it."""
    return text[tokens[index - 1][1] : tokens[index][0]]


def _pronounceable(key: str, alone: bool) -> bool:
    return any(c in "aeiouy" for c in key) and not (alone and len(key) == 2)


def _is_initials(word: str, key: str, alone: bool, uppercase: bool, is_word: Callable[[str, bool], bool]) -> bool:
    """Tell whether a word stands for initials: one letter, or two or three letters of one case that are no name.

    ``alone`` says that the name has no other word, ``uppercase`` that it is all in capitals.
    """
    if len(key) == 1:
        return True
    if len(key) > 3 or not (word.isupper() or word.islower()):
        return False
    if word.isupper() and not uppercase:
        return True  # "JM Smith"
    return (word.isupper() or alone) and not is_word(key, alone)


def parse_name(
    text: str, *, family_names: int = 1, is_word: Callable[[str, bool], bool] = _pronounceable
) -> PersonName:
    """Split a name into parts.

    Parameters
    ----------
    text : str
        The name, without the rest of the sentence. Titles and possessives may be inside or outside.
    family_names : int
        How many family names a person usually carries (2 in Spanish).
    is_word : callable
        Tells of two or three letters in one case, and whether they stand alone, whether they are a name (``LEE``)
        rather than initials (``JRM``); without it, whether they hold a vowel (two letters alone: never).

    Returns
    -------
    PersonName
        Its parts cover every word of ``text`` (hyphenated words are parts of their own); empty when there is none.

    Examples
    --------
    >>> [p.role for p in parse_name('van der Berg, John "Jack" Q., Jr.').parts]
    ['particle', 'particle', 'family', 'given', 'nickname', 'initial', 'suffix']
    """
    plain = _plain_name(text)
    if plain is not None:
        return plain
    tokens = name_words(text)
    roles: list[str] = [""] * len(tokens)
    uppercase = text.isupper()
    for i, (start, end, key) in enumerate(tokens):
        after = text[end : end + 1]
        if len(key) > 3 and key not in _MEANING and after not in _AFTER_NICKNAME:
            continue  # a name: nothing below is for it
        word = text[start:end]
        if after and after in _QUOTES and start and text[start - 1] in _QUOTES and len(tokens) > 1:
            roles[i] = "nickname"
        elif i > 0 and key in _SUFFIXES and len(key) > 1:
            roles[i] = "suffix"
        elif i > 0 and _is_credential(text, tokens, i, roles[i - 1], uppercase):
            roles[i] = "credential"
        elif key == "st" and i + 1 < len(tokens) and (uppercase or not word.isupper() or after == "."):
            roles[i] = "particle"  # Saint is nobody's given name: "St. John" is a surname
        elif not i and len(tokens) > 2 and word.isupper() and not uppercase and _is_spelt_out(key):
            roles[i] = "title"  # RN Ann Lee
        elif _is_initials(word, key, len(word) == len(text), uppercase, is_word):
            roles[i] = "initial"
        elif key in _TITLES and i == 0 and len(tokens) > 1 and (after == "." or key not in ("fr", "don", "miss")):
            roles[i] = "title"
        elif i and roles[i - 1] == "title" and (key == "dr" or word == "med") and i + 1 < len(tokens):
            roles[i] = "title"  # Prof. Dr. med.
        elif (
            key in _PARTICLES
            and i + 1 < len(tokens)
            and _gap(text, tokens, i + 1).strip() in ("", "-", ".")
            and (i > 0 or word.islower() or len(tokens) > 2)
        ):
            roles[i] = "particle"
    for first, end in _dotted(text, tokens, roles):
        roles[first:end] = ["credential"] * (end - first)
    caret = "^" in text
    comma = -1 if caret else _family_comma(text, tokens, roles)
    names = [i for i, role in enumerate(roles) if not role]
    if caret:
        ends = [0, *(end for _, end, _ in tokens)]
        fields = list(accumulate(text.count("^", end, start) for end, (start, _, _) in zip(ends, tokens, strict=False)))
        for i in names:
            roles[i] = "family" if fields[i] == fields[0] else "given" if fields[i] == fields[0] + 1 else "middle"
    elif comma >= 0:
        seen_given = False
        for i in names:
            if tokens[i][0] < comma:
                roles[i] = "family"
            else:
                roles[i] = "middle" if seen_given else "given"
                seen_given = True
    else:
        _given_first(text, tokens, roles, names, family_names)
    parts = tuple([Part(s, e, role, key) for (s, e, key), role in zip(tokens, roles, strict=True)])
    return PersonName(parts, caret or comma >= 0)


def _is_credential(text: str, tokens: Sequence[tuple[int, int, str]], i: int, before: str, uppercase: bool) -> bool:
    """Tell whether a word behind a name says what its person has learnt: behind a comma, another one, or the name."""
    start, end, key = tokens[i]
    word = text[start:end]
    gap = text[tokens[i - 1][1] : start].rstrip()
    if before == "credential" and gap == "-" and len(key) == 1:
        return True  # FNP-C
    if key not in _CREDENTIALS or not (word.isupper() or key in _MIXED):
        return False
    if gap[-1:] in _STOPS or before == "credential":
        return gap != "" or key not in _ALSO_NAMES
    spoken = not _VOWELS.isdisjoint(key)
    return i > spoken and not gap and key not in (_ALSO_NAMES if uppercase else _SPOKEN_NAMES)


def _is_spelt_out(key: str) -> bool:
    """Tell whether letters say what somebody has learnt, and can be no name before other names."""
    return key in _CREDENTIALS and key not in _TITLES and _VOWELS.isdisjoint(key)


def _dotted(text: str, tokens: Sequence[tuple[int, int, str]], roles: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Yield the letters of credentials with full stops behind a comma: *Lee, Ann, M.D.*, each as first and end."""
    first = 2  # behind a family name alone they are a given name's: Smith, M.A.
    while first < len(tokens) - 1:
        end = first + 1
        if roles[first] == "initial" and text[tokens[first - 1][1] : tokens[first][0]].rstrip()[-1:] == ",":
            while end < len(tokens) and text[tokens[end - 1][1] : tokens[end][0]] == ".":
                end += 1
            if end - first > 1 and "".join(key for _, _, key in tokens[first:end]) in _CREDENTIALS:
                yield first, end
        first = end


def _plain_name(text: str) -> PersonName | None:
    """Parse the most frequent forms quickly: one or two words of ASCII letters that cannot mean anything else."""
    if not text.isascii():
        return None
    lower = text.lower()
    first, gap, last = lower.partition(" ")
    comma = first[-1:] == "," and gap != ""
    if comma:
        first = first[:-1]
    if not first.isalpha() or first in _MEANING or (len(first) < 4 and not _is_short_word(text[: len(first)])):
        return None
    if not gap:
        return PersonName((Part(0, len(text), "name", first),))
    start = len(text) - len(last)
    if not last.isalpha() or last in _MEANING or (len(last) < 4 and not _is_short_word(text[start:])):
        return None
    return PersonName(
        (
            Part(0, len(first), "family" if comma else "given", first),
            Part(start, len(text), "given" if comma else "family", last),
        ),
        comma,
    )


def _is_short_word(word: str) -> bool:
    """Tell of up to three letters by their case that they are no initials."""
    return len(word) > 1 and not (word.isupper() or word.islower())


def _family_comma(text: str, tokens: Sequence[tuple[int, int, str]], roles: Sequence[str]) -> int:
    """Return the offset of the comma between family and given name, -1 when there is none."""
    comma = text.find(",")
    if comma < 0:
        return -1
    after = [role for (start, _, _), role in zip(tokens, roles, strict=True) if start > comma]
    before = [role for (start, _, _), role in zip(tokens, roles, strict=True) if start < comma]
    named = any(role in ("", "initial") for role in after)
    return comma if named and any(role == "" for role in before) else -1


def _given_first(
    text: str,
    tokens: Sequence[tuple[int, int, str]],
    roles: list[str],
    names: list[int],
    family_names: int,
) -> None:
    """Fill in the roles of ``Given Middle Family``; hyphenated words stay together."""
    groups: list[list[int]] = []
    for i in names:
        if groups and groups[-1][-1] == i - 1 and _gap(text, tokens, i).strip() in ("-", "‐", "‑"):
            groups[-1].append(i)
        else:
            groups.append([i])
    initials_before = any(role == "initial" for role in roles[: groups[0][0]]) if groups else False
    titled = "title" in roles
    if len(groups) == 1 and not (initials_before or titled):
        particle_before = groups[0][0] > 0 and roles[groups[0][0] - 1] == "particle"
        initial_after = "initial" in roles[groups[0][-1] + 1 :]
        for i in groups[0]:
            roles[i] = "family" if particle_before else "given" if initial_after else "name"
        return
    count = min(family_names, max(len(groups) - 1, 1))
    # "María del Carmen": what stands before a particle but is followed by more names is still a given name
    for n, group in enumerate(groups):
        given = "given" if n == 0 and not initials_before else "middle"
        role = "family" if n >= len(groups) - count else given
        for i in group:
            roles[i] = role


def _givens(name: PersonName) -> set[str]:
    found: set[str] = set()
    for key in name.keys("given", "nickname"):
        found.add(key)
        found.update(full_names(key))
    return found


def same_person(a: PersonName, b: PersonName) -> bool:
    """Tell whether two names can be written forms of one person's name.

    Family names must agree where both have some, given names too (a short form agrees with its full form, an initial
    with a name that begins with it). A single word agrees with a given, family or nickname; initials alone agree with
    a name that has them.
    """
    family_a, family_b = set(a.keys("family")), set(b.keys("family"))
    single_a, single_b = a.keys("name"), b.keys("name")
    if single_a and single_b:
        return bool(_variants(single_a) & _variants(single_b))
    for single, other in ((single_a, b), (single_b, a)):
        if single:
            return bool(_variants(single) & (_givens(other) | set(other.keys("family", "middle"))))
    only_a, only_b = (not (family_a or a.keys("given"))), (not (family_b or b.keys("given")))
    if only_a or only_b:
        return bool(a.initials) and a.initials[0] + a.initials[-1] == b.initials[0:1] + b.initials[-1:]
    if family_a and family_b and not family_a & family_b:
        return False
    given_a, given_b = _givens(a), _givens(b)
    if given_a and given_b:
        return bool(given_a & given_b)
    first_a, first_b = a.keys("initial")[:1], b.keys("initial")[:1]
    for given, first in ((given_a, first_b), (given_b, first_a)):
        if given and first:
            return any(g.startswith(first[0]) for g in given)
    if first_a and first_b:
        return first_a == first_b
    return bool(family_a and family_b)


def _variants(keys: Iterable[str]) -> set[str]:
    found = set(keys)
    for key in tuple(found):
        found.update(full_names(key))
    return found


def link(names: Sequence[PersonName]) -> list[int]:
    """Group the names of one document by person.

    Full names found the groups, in order; names with a family name and an initial join them next, then single
    words, then bare initials. Where several persons would fit, the one with the nearest earlier name wins, else the
    nearest later one.

    Parameters
    ----------
    names : sequence of PersonName
        In order of the document.

    Returns
    -------
    list of int
        The group of each name, numbered from 0 in order of first appearance.
    """

    def rank(name: PersonName) -> int:
        family, given = name.keys("family"), name.keys("given", "nickname")
        if family and given:
            return 0
        if family or given:
            return 1
        return 2 if name.keys("name") else 3

    members: list[list[int]] = []
    with_mark: dict[str, set[int]] = {}  # only groups that share a mark are compared
    group = [-1] * len(names)
    ranks = [rank(name) for name in names]
    for i in sorted(range(len(names)), key=lambda i: (ranks[i], i)):
        marks = _marks(names[i])
        fits = []
        for g in sorted(set[int]().union(*(with_mark.get(mark, ()) for mark in marks))):
            ms = members[g]
            agree = [same_person(names[i], names[j]) for j in ms if ranks[j] <= max(1, ranks[i] - 1) or ranks[i] >= 2]
            if all(agree) if ranks[i] <= 1 else any(agree):
                fits.append((min((i - j if j < i else len(names) + j - i) for j in ms), g))
        if fits:
            group[i] = min(fits)[1]
            members[group[i]].append(i)
        else:
            group[i] = len(members)
            members.append([i])
        for mark in marks:
            with_mark.setdefault(mark, set()).add(group[i])
    order: dict[int, int] = {}
    return [order.setdefault(g, len(order)) for g in group]


def _marks(name: PersonName) -> set[str]:
    """Return what two names must share at least to be one person's: a word, a full name of it, or the initials."""
    initials = name.initials
    found = _variants(name.keys("given", "nickname", "name", "family", "middle"))
    return found | {f"^{initials[0]}{initials[-1]}"} if initials else found
