"""Identifiers that are known beforehand: the patient's name, numbers, dates and address from a table or the record.

Whatever a registration system knows about the patient of a note is looked for in every form in which notes write it: a
name in parts, in any order, as initials, as a short form, misspelt by one letter or as `KnownRecognizer.alike` says; a
date in all formats; a number with any separators. This is the second pass of the HMS Scrubber (Beckwith et al. 2006)
and the look-up of the patient's own name of MIT deid (Neamatullah et al. 2008); misspelt names are compared by Soundex.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import regex

from deid.base.compiled import quick
from deid.base.errors import ConfigError
from deid.base.plain_letters import SIGNS
from deid.base.safe_names import safe_name
from deid.document import Document, Span, by_position
from deid.linkage.clustering import near
from deid.phi import LABEL_SETS, group
from deid.reading.day_order import ROMAN_MONTHS
from deid.reading.identity import canonical_given, full_names, name_key, parse_name, sound
from deid.reading.lexicon import Lexicon, classes_of, load_lexicon
from deid.reading.view import LOWER, UPPER, View, view_of
from deid.reading.vocabulary import Vocabulary, load_vocabulary
from deid.records.readings import doubts
from deid.rules.certainties import certainties

_W = certainties("known")

_CATEGORIES = frozenset(LABEL_SETS["i2b2-2014"].names())
_ORDINARY = classes_of("word", "clinical", "function", "eponym", "device", "month", "section")
_LEAST_FUZZY = 5
"""Letters that a name must have for a misspelling of it to count."""
_LEAST_INSIDE = 6
"""Letters that a name must have to be looked for inside of longer words."""
_LEAST_WITH_ENDING = 7
"""Letters and digits of a number whose last four may stand for it."""
_BESIDE = 20
"""Characters between the beginnings of two words that stand beside each other; not across a column of a form."""
_REMEMBERED = 1 << 13
_SEPARATORS = " ./()-"
_FOLDED = "\u017f\u212a\u0130\u0131"
"""What an expression without regard to case takes for s, k and i."""
_NUMBER = re.compile(r"[0-9]+")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNSPACED = re.compile(f"{SIGNS}+")
_POLITE = "先生|女士|小姐|太太|醫師|医师|医生|様|さま|さん|氏|君|殿|씨|님|군|양"
"""What stands behind a family name of one sign there."""
_PLACES = frozenset(("CITY", "STATE", "COUNTRY", "STREET", "LOCATION-OTHER"))
"""What may be called by an ordinary word, and is written with a capital letter."""


@quick
@dataclass(frozen=True, slots=True)
class Known:
    """One identifier of the person that a document is about."""

    category: str
    """A canonical category of `deid.phi`."""
    value: str = field(repr=False)


@functools.lru_cache(maxsize=_REMEMBERED)
def soundex(word: str) -> str:
    """Return the standard code of a word: its first letter and three digits; empty when it has no letters."""
    return sound(name_key(word), 4)


def known_from_rows(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str], key: str
) -> dict[str, tuple[Known, ...]]:
    """Read known identifiers from the rows of a table.

    Parameters
    ----------
    rows : iterable of mapping
        Column -> value; empty values are skipped. Rows of one key add up.
    columns : mapping
        Column -> category.
    key : str
        Column with the document's or the patient's id.

    Returns
    -------
    dict
        Id -> its identifiers.

    Raises
    ------
    ConfigError
        When a category is unknown or a row has no key.
    """
    for column, category in columns.items():
        if category not in _CATEGORIES:
            raise ConfigError(
                f"column {safe_name(column)} has the unknown category {category}",
                f"known: {', '.join(sorted(_CATEGORIES))}",
            )
    found: dict[str, list[Known]] = {}
    for number, row in enumerate(rows, 1):
        if row.get(key) in (None, ""):
            raise ConfigError(
                "a row without an id", "every row needs the id of its document or patient", "", f"row {number}"
            )
        held = found.setdefault(str(row[key]), [])
        for column, category in columns.items():
            value = row.get(column)
            if value not in (None, "") and str(value).strip():
                held.append(Known(category, str(value).strip()))
    return {identifier: tuple(known) for identifier, known in found.items()}


one_apart = near


def misspelt(word: str, name: str) -> bool:
    """Tell whether a word is a name but for one letter, and sounds as it does."""
    return one_apart(word, name) and soundex(word) == soundex(name)


@quick
@dataclass(frozen=True, slots=True)
class KnownRecognizer:
    """Finds the known identifiers of a document's person.

    Parameters
    ----------
    identifiers : mapping
        Id -> identifiers.
    id_of : callable, optional
        Returns the id under which a document's identifiers stand (its patient's, for instance), None when there
        is none; by default the document's own id.
    fields : mapping, optional
        Metadata field of the record -> category: values of the same record that are known too, such as the columns
        of a table or the header of a message.
    language : str
        Language of the word lists that tell ambiguous names.
    """

    identifiers: Mapping[str, Sequence[Known]] = field(default_factory=dict, repr=False)
    id_of: Callable[[Document], str | None] = field(default=lambda document: document.id, repr=False)
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    language: str = "en"
    folders: tuple[Path, ...] = ()
    alike: Callable[[str, str], bool] = misspelt
    """Tells of the keys of a word and a name, of five letters at least, whether one is a misspelling of the other."""

    @property
    def name(self) -> str:
        """``known``."""
        return "known"

    @property
    def categories(self) -> frozenset[str]:
        """The categories of the identifiers and of the metadata fields."""
        return frozenset(k.category for known in self.identifiers.values() for k in known) | frozenset(
            self.fields.values()
        )

    def find(self, document: Document) -> list[Span]:
        """Return the known identifiers of a document as spans, sorted by position; they may overlap."""
        key = self.id_of(document)
        known = [(item.category, item.value) for item in self.identifiers.get(key, ())] if key is not None else []
        for name, category in self.fields.items():
            value = document.metadata.get(name)
            if isinstance(value, str | int | float) and str(value).strip():
                known.append((category, str(value).strip()))
        if document.record is not None:
            known += document.record.known
            for other in dict.fromkeys(document.record.owners):
                if other not in (None, key):
                    known += [(item.category, item.value) for item in self.identifiers.get(other or "", ())]
        if not known:
            return []
        words = _Words(view_of(document.text), load_lexicon(self.language, self.folders))
        spans: dict[Any, Span] = {}
        for category, value in dict.fromkeys(known):
            found = self._find(words, category, value)
            if found:
                found += [span.named(other) for other in doubts(category, value) for span in found]
                for span in found:
                    spans.setdefault(by_position(span), span)
        return [spans[place] for place in sorted(spans)]

    def _find(self, words: _Words, category: str, value: str) -> list[Span]:
        sought = _sought(category, value)
        if sought.coarse == "NAME":
            found = _names(words, category, value, self.alike)
            return found if value.isascii() else found + _unspaced(words.view.text, category, value)
        view = words.view
        vocabulary = load_vocabulary(self.language, self.folders)
        # where day and month, or the age, are not written there is nothing to look for: to compile an expression takes
        # longer than all else
        if sought.date is not None:
            if not words.may_hold(sought.date, vocabulary):
                return []
            return _matches(view.text, _date_expression(sought.date, vocabulary), category, _W["date"])
        if category == "AGE" and value.isdecimal():
            if value not in view.text:
                return []
            expression = rf"(?<![0-9.,/]){value}(?=[ -]?{vocabulary.years}\b)"
            return _matches(view.text, expression, category, _W["age"])
        characters = sought.characters
        if sought.coarse == "CONTACT" and not sought.told:
            return []  # "unknown", "same": no telephone; a number of somebody may be a word
        if sought.number:
            if not _may_hold(words.closed, characters[-4:]):
                return []
            ending = _ending(view.text, characters, category, vocabulary)
            if len(characters) < 4 or not _may_hold(words.closed, characters.lstrip("0")):
                return ending
            expression = _number_expression(characters, r"\(?" if sought.coarse == "CONTACT" else "")
            return [*_matches(view.text, expression, category, _W["number"]), *ending]
        if not all(_may_hold(words.plain, word) for word in value.split()):
            return []
        parts = [regex.escape(word, special_only=True) for word in value.split()]
        body = r"\W{1,3}".join(parts)
        if category == "STREET" and not any(map(str.isdigit, value)):  # its house stands in another field
            body = rf"(?:[0-9]{{1,5}}[A-Za-z]?,? )?{body}(?:,? [0-9]{{1,4}}[A-Za-z]?(?!\w))?"
        found = _matches(view.text, rf"(?<!\w){body}(?!\w)", category, _W["words"])
        return [span for span in found if words.called(span)] if category in _PLACES else found


class _Sought(NamedTuple):
    """How an identifier is looked for."""

    coarse: str
    """The coarse group of its category; none of a user name, which is no name of words."""
    date: datetime.date | None
    """The day that it is, of one of the category DATE."""
    characters: str
    """Its letters and digits."""
    number: bool
    """Whether it is a number, with any signs between its digits."""
    told: bool
    """Whether it has a digit, or is an address of e-mail or of the web."""


@functools.lru_cache(maxsize=_REMEMBERED)
def _sought(category: str, value: str) -> _Sought:
    coarse = "" if category == "USERNAME" else group(category)
    characters = "".join(filter(str.isalnum, value))
    number = sum(map(str.isdigit, characters)) >= 3 and " " not in value.strip("()+ ")
    date = read_date(value) if category == "DATE" else None
    told = any(map(str.isdigit, characters)) or any(sign in value for sign in "@./")
    # an address of e-mail is written in one way
    return _Sought(coarse, date, characters, "@" not in value and (number or coarse in ("ID", "CONTACT")), told)


def _may_hold(plain: str, value: str) -> bool:
    """Tell whether a value can stand in a text of which this is the plain form."""
    return not value.isascii() or value.lower() in plain


def _plain(text: str, without: str = "") -> str:
    """Return a text in small letters, those that are no other case of ASCII's in every sense included; without some
    characters.
    """
    return (text.translate(_table(without)) if without or not text.isascii() else text).lower()


@functools.cache
def _table(without: str) -> dict[int, int | None]:
    return str.maketrans(_FOLDED, "skii", without)


def _matches(text: str, expression: str, category: str, score: float) -> list[Span]:
    found = regex.finditer(expression, text, flags=regex.IGNORECASE)
    return [Span(m.start(), m.end(), category, source=f"known:{category}", score=score) for m in found]


def _number_expression(characters: Sequence[str], bracket: str) -> str:
    """Match the same letters and digits with any separators between; zeros in front may be missing."""
    lead = 0
    while lead < len(characters) - 4 and characters[lead] == "0":
        lead += 1
    body = r"[ ./()-]{0,2}".join(regex.escape(c) for c in characters[lead:])
    return rf"(?<![0-9A-Za-z]){bracket}(?:0[ ./-]?){{0,{lead}}}{body}(?![0-9A-Za-z])"


def _ending(text: str, characters: str, category: str, vocabulary: Vocabulary) -> list[Span]:
    """Find the last four digits of a long number where the text says what they are: *ending 6789*, *xxx-xx-6789*."""
    last = characters[-4:]
    if len(characters) < _LEAST_WITH_ENDING or not last.isdecimal() or last not in text:
        return []
    said = rf"(?<![^\W\d_])(?:{vocabulary.expressions['last_digits'].pattern}|[x*]{{2,}})[-: #]{{0,3}}"
    return _matches(text, rf"(?<={said}){last}(?![0-9A-Za-z])", category, _W["number"])


def read_date(value: str) -> datetime.date | None:
    """Return a date written as ISO (with or without a time of day behind it), YYYYMMDD or month/day/year, else None."""
    if _ISO.match(value):  # what the first pattern says, in a tenth of its time
        try:
            return datetime.date(int(value[:4]), int(value[5:7]), int(value[8:10]))
        except ValueError:
            pass
    for pattern in ("%Y-%m-%d", "%Y%m%d", "%m/%d/%Y"):
        try:
            return datetime.datetime.strptime(value[:10].strip(), pattern).date()
        except ValueError:
            continue
    return None


def _date_expression(date: datetime.date, vocabulary: Vocabulary) -> str:
    """Match a date in all formats, day and month in both orders."""
    day, month = f"0?{date.day}", f"0?{date.month}"
    year = rf"['\u2019]?(?:{date.year}|{date.year % 100:02d})"
    words, ordinal, of = vocabulary.months[date.month - 1], vocabulary.ordinal, vocabulary.of
    between = r"[ ./-]{1,2}"
    forms = (
        rf"{month}{between}{day}(?:{between}{year})?",
        rf"{day}{between}(?:{month}|{ROMAN_MONTHS[date.month - 1]}){between}{year}",
        rf"{date.year}{between}{month}{between}{day}",
        rf"{date:%Y%m%d}|{date:%m%d%Y}",
        rf"(?:{words})\.?[ -]?{day}{ordinal}(?:,?[ -]{{1,2}}{of}{year})?",
        rf"{day}{ordinal}[ -]?{of}(?:{words})(?:\.?,?[ -]{{1,2}}{of}{year})?",
    )
    return rf"(?<![0-9A-Za-z./-])(?:{'|'.join(forms)})(?![0-9A-Za-z]|[./-][0-9])"


@functools.lru_cache
def _month(vocabulary: Vocabulary, number: int) -> regex.Pattern[str]:
    """Match a month's name, or its Roman number."""
    roman = rf"(?<![A-Za-z]){ROMAN_MONTHS[number - 1]}(?![A-Za-z])"
    return regex.compile(rf"{vocabulary.months[number - 1]}|{roman}", flags=regex.IGNORECASE)


class _Words:
    """The words of a text that can be those of a name, for all names that are looked for."""

    def __init__(self, view: View, lexicon: Lexicon) -> None:
        self.view = view
        self.lexicon = lexicon
        self.plain = _plain(view.text)
        """The text in small letters."""
        self._closed: str | None = None
        self._numbers: frozenset[str] | None = None
        self.keys: list[str] = []
        self._small: set[str] = set()
        self._cased: dict[str, list[int]] = {}
        """Key -> words with capitals or hyphens that have it."""
        self._codes: dict[str, list[int]] = {}
        """Code of the sound -> those of them that are long enough to be misspelt."""
        self._whole: list[int] = []
        """Those of them that are compared with every name: short forms, and words of several parts."""
        kinds, strings = view.kinds, view.strings
        for index, word in enumerate(strings):
            kind = kinds[index]
            if kind < LOWER:
                self.keys.append("")
                continue
            plain = word.isascii() and word.isalpha()
            key = (word if kind == LOWER else word.lower()) if plain else name_key(word)
            self.keys.append(key)
            if kind == LOWER:
                self._small.add(key)
                if plain or "-" not in word:
                    continue
            if len(word) > 1:
                whole, code = _described(word)
                self._cased.setdefault(key, []).append(index)
                if whole:
                    self._whole.append(index)
                if code is not None:
                    self._codes.setdefault(code, []).append(index)

    @property
    def closed(self) -> str:
        """The text in small letters, without what may stand between digits."""
        if self._closed is None:
            self._closed = _plain(self.view.text, _SEPARATORS)
        return self._closed

    def may_hold(self, date: datetime.date, vocabulary: Vocabulary) -> bool:
        """Tell whether a day can be in the text: its numbers in one, or that of the day and the month in any form."""
        if self._numbers is None:
            self._numbers = frozenset(number.lstrip("0") for number in _NUMBER.findall(self.view.text))
        if not self._numbers.isdisjoint((f"{date:%Y%m%d}", f"{date:%m%d%Y}".lstrip("0"))):
            return True
        if str(date.day) not in self._numbers:
            return False
        return str(date.month) in self._numbers or bool(_month(vocabulary, date.month).search(self.view.text))

    def small(self, keys: Collection[str]) -> list[int]:
        """Return the words in small letters that have one of some keys: only the name itself counts there."""
        if self._small.isdisjoint(keys):
            return []
        view = self.view
        return [
            index
            for index, key in enumerate(self.keys)
            if key in keys and view.kinds[index] == LOWER and "-" not in (word := view.strings[index]) and len(word) > 1
        ]

    def like(self, name: _Name, *, by_sound: bool) -> set[int]:
        """Return the words with capitals or hyphens that may be one of a name's."""
        found = {index for key in name.keys for index in self._cased.get(key, ())}
        found.update(self._whole)
        for code in name.codes if by_sound else self._codes:
            found.update(self._codes.get(code, ()))
        return found

    def called(self, span: Span) -> bool:
        """Tell whether words are a place's name: *Reading* may be one, *reading* and *Reading glasses* are none.

        Several words are, and in a note without capitals a small letter says nothing.
        """
        view = self.view
        inside = view.words_at(span.start, span.end)
        first, behind = inside.start, inside.stop
        if len(inside) != 1 or not self.ordinary(first):
            return True
        if view.kinds[first] == LOWER:
            return view.text.islower()
        followed = behind < len(view) and view.kinds[behind] == LOWER
        return not (followed and view.starts_sentence(first))

    def ordinary(self, index: int) -> bool:
        """Tell whether a word has a meaning beside a name."""
        return bool(self.lexicon.classes(self.view.folded[index]) & _ORDINARY)


@functools.lru_cache(maxsize=_REMEMBERED)
def _described(word: str) -> tuple[bool, str | None]:
    """Return of a word whether it is a short form or has several parts, and the code of its sound."""
    key = name_key(word)
    return bool(full_names(key)) or "-" in word, soundex(key) if len(key) >= _LEAST_FUZZY else None


class _Name:
    """A known name taken apart."""

    def __init__(self, value: str) -> None:
        parsed = parse_name(value)
        self.keys = {k for k in parsed.keys("given", "middle", "family", "nickname", "name") if len(k) > 1}
        self.given = set(parsed.keys("given", "nickname", "name"))
        self.initials = {k[0] for k in self.keys} | set(parsed.keys("initial"))
        self.long = [k for k in self.keys if len(k) >= _LEAST_FUZZY]
        self.inside = [k for k in self.long if len(k) >= _LEAST_INSIDE and k.isascii()]
        self.codes = {soundex(k) for k in self.long}


_taken_apart = functools.lru_cache(maxsize=1024)(_Name)


def _names(words: _Words, category: str, value: str, alike: Callable[[str, str], bool]) -> list[Span]:
    """Find the words of a name, initials beside them, and misspellings."""
    name, view = _taken_apart(value), words.view
    hits = {index: _W["name_word"] for index in words.small(name.keys) if not words.ordinary(index)}
    for index in words.like(name, by_sound=alike is misspelt):
        if score := _name_score(words, index, words.keys[index], name, alike):
            hits[index] = score
    for index in sorted(hits):  # "rose" is a name beside another word of it
        for beside in (index - 1, index + 1):
            inside = 0 <= beside < len(view) and abs(view.starts[beside] - view.starts[index]) < _BESIDE
            if inside and beside not in hits and name_key(view.strings[beside]) in name.keys:
                hits[beside] = _W["beside_name"]
    spans = []
    for index in sorted(hits):
        first, end = _with_initials(view, index, name.initials)
        spans.append(Span(view.starts[first], view.ends[end - 1], category, source="known:name", score=hits[index]))
    return spans + _user_names(words, name)


def _unspaced(text: str, category: str, value: str) -> list[Span]:
    """Find a name in signs that no blank parts from the words around: in whole, or a part of two and more signs."""
    parts = _UNSPACED.findall(value)
    if not parts:
        return []
    whole = [r"[ \u3000\u30fb]?".join(parts)] if len(parts) > 1 else []
    long = [part for part in parts if len(part) > 1]
    alone = [rf"{part}(?=[ \u3000]?(?:{_POLITE}))" for part in parts[:1] if len(part) == 1]
    return _matches(text, "|".join((*whole, *long, *alone)), category, _W["name_word"])


def _user_names(words: _Words, name: _Name) -> list[Span]:
    """Find words that are made of a name, an initial before it or digits behind it: *jthornbury*, *thornbury84*."""
    text = words.view.text
    found: list[Span] = []
    for key in name.inside:
        if _may_be_of_user_name(words.plain, key):
            initial = f"[{''.join(sorted(name.initials))}]" if name.initials else "[a-z]"
            more = r"[0-9]+|[._-][a-z]{0,2}[0-9]+"
            expression = rf"(?<![\w@.-])(?:{initial}[._]?{key}(?:{more})?|{key}(?:{more}))(?![\w@])"
            found += _matches(text, expression, "USERNAME", _W["name_word"])
    return found


def _may_be_of_user_name(text: str, key: str) -> bool:
    """Tell whether a name stands anywhere behind a letter or a sign, or before a digit or a sign, without a blank."""
    at = text.find(key)
    while at >= 0:
        end = at + len(key)
        if (at and (text[at - 1].isalpha() or text[at - 1] in "._")) or (
            end < len(text) and (text[end].isdigit() or text[end] in "._-")
        ):
            return True
        at = text.find(key, at + 1)
    return False


def _name_score(words: _Words, index: int, key: str, name: _Name, alike: Callable[[str, str], bool]) -> float:
    """Return how sure it is that a word is one of a name's words; 0 when it is none."""
    view = words.view
    word, small = view.strings[index], view.kinds[index] == LOWER
    if key in name.keys or ("-" in word and all(p in name.keys for p in map(name_key, word.split("-")) if p)):
        if not words.ordinary(index):
            return _W["name_word"]
        # "Rose" may be the patient; "rose" is the past of "rise"
        return 0.0 if small else _W["ordinary_at_sentence_start"] if view.starts_sentence(index) else _W["ordinary"]
    if small:
        return 0.0
    if len(key) > 2 and canonical_given(key, name.given) in name.given:
        ordinary = view.starts_sentence(index) and words.ordinary(index)
        return _W["ordinary_variant_at_sentence_start"] if ordinary else _W["variant"]
    if len(key) < _LEAST_FUZZY or words.ordinary(index) or not any(alike(key, k) for k in name.long):
        return 0.0
    return _W["misspelt"]


def _with_initials(view: View, index: int, initials: set[str]) -> tuple[int, int]:
    """Take initials right before and behind a name's word along: *J. Smith*, *Smith, J*."""
    first, end = index, index + 1
    at = first - 1 - (view.strings[first - 1] == "." if first else 0)
    if at >= 0 and _initial(view, at, initials) and view.starts[first] - view.ends[at] <= 2:
        first = at
    at = end + (end < len(view) and view.strings[end] == ",")
    if at < len(view) and _initial(view, at, initials) and view.starts[at] - view.ends[index] <= 2:
        end = at + 1
    return first, end


def _initial(view: View, index: int, initials: set[str]) -> bool:
    return view.kinds[index] == UPPER and view.folded[index] in initials
