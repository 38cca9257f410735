"""Dates as they are written: find the parts of a date in a text, and write other values in the same form.

A text is cut into tokens (`Token`): numbers, months, weekdays, years and so on, each with what it takes to write
another value as the old one was written: zero padding, ordinal ending, language, case, abbreviation. Between and
around them only separators, clock times and a few words (`deid.replacement.date_words.FILLERS`) may stand; anything
else makes the text no date. `deid.replacement.dates` reads the tokens as dates and shifts them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from deid.base.compiled import quick
from deid.reading.day_order import ROMAN_MONTHS
from deid.reading.identity import name_key
from deid.replacement.date_words import (
    BEFORE_DAYS,
    CLOCK_WORDS,
    ENDINGS,
    FILLERS,
    HOLIDAY,
    HOLIDAY_WORDS,
    HOLIDAYS_OF_ONE_WORD,
    MONTHS,
    PARTS,
    SEASONS,
    SHORT_YEARS,
    WEEKDAYS,
    WEEKS,
    Name,
)
from deid.replacement.numerals import (
    MILLENNIA,
    NUMERAL,
    NUMERAL_WORDS,
    YEARS,
    Spoken,
    read_numeral,
    spoken,
    write_numeral,
)
from deid.replacement.pools import expression, ordinal_ending


@quick
@dataclass(frozen=True, slots=True)
class Token:
    """A part of a date.

    Kinds, one character each: ``D`` day, month or two-digit year as a number; ``O`` ordinal; ``Y`` year of four digits
    (or in words); ``Q`` year of two digits; ``M`` month; ``W`` weekday; ``S`` season or quarter; ``H`` holiday; ``X``
    decade; ``F`` full date in numbers; ``E`` month and year in numbers; ``P`` two numbers, day and month in some order;
    ``K`` number of a week, with its year or without.
    """

    kind: str
    start: int
    end: int
    values: tuple[int, ...] = field(repr=False)
    """What it says; numbers in the order of the text. Months count from 1, weekdays from Monday = 0."""
    write: Callable[..., str] = field(repr=False)
    """Writes other values in the same form."""


def _like(word: str, old: str) -> str:
    """Write a word in the case of another."""
    if old.isupper() and len(old) > 1:
        return word.upper()
    return word.lower() if old.islower() else word[0].upper() + word[1:]


def _padded(value: int, old: str) -> str:
    """Write a number with a leading zero where the old one had one."""
    return f"{value:0{len(old)}}" if old[0] == "0" and len(old) > 1 else str(value)


def _two_or_four(year: int, old: str) -> str:
    return f"{year % 100:02}" if len(old) == 2 else f"{year:04}"


def _word_token(kind: str, old: str, start: int, found: Name, first: int) -> Token:
    table = found.table
    return Token(
        kind,
        start,
        start + len(old),
        (found.index + first,),
        lambda value: _like(table[(value - first) % len(table)], old),
    )


def _of_word(key: str, old: str, start: int, language: str) -> Token | None:
    """Return the token of a word with this key, when it names a month, weekday or season, or begins with a weekday."""
    for kind, names, first in (
        ("M", MONTHS[language], 1),
        ("W", WEEKDAYS[language], 0),
        ("S", SEASONS[language], 0),
    ):
        found = names.get(key)
        if found is not None:
            return _word_token(kind, old, start, found, first)
    if key.endswith(PARTS) and len(key) == len(old):
        for part in PARTS:
            head = key.removesuffix(part)
            if head != key and len(head) > 4 and head in WEEKDAYS[language]:
                return _word_token("W", old[: len(head)], start, WEEKDAYS[language][head], 0)
    return None


_TIME, _ORDINAL = expression("clock"), expression("ordinal")
_HL7 = re.compile(r"(?<!\d)(\d{4})(\d{2})(\d{2})((?:\d{2}){0,3}(?:\.\d+)?(?:[+-]\d{4})?)(?!\d)")
_YMD = re.compile(r"(?<!\d)(\d{4})(\s?[-/.]\s?)(\d{1,2})(\2)(\d{1,2})(?!\d)")
_DMY = re.compile(
    r"(?<!\d)(\d{1,2})(\s?[-/.]\s?|\s)(\d{1,2})(\s?[-/.]\s?|\s)(\d{4}|['’]?\d{2})"
    r"(?!\d|[-/](?!\d{1,2}([/.])\d{1,2}\6(?:\d{4}|\d{2})(?!\d))\d)"
)
_DAY_BEFORE = re.compile(
    r"(?<![\d/.-])\d{1,2}(?=-\d{1,2}([/.])\d{1,2}(?:\1\d{2,4})?(?!\d)|\.?/\d{1,2}(?:\.\d{1,2}\.|-\d{1,2}-\d{4}))"
)
"""The first of two days whose month the second says: *17-23.11.2024*, *17/18.11.*"""
_DAY_BEFORE_YEAR = re.compile(
    r"(?:(?<=/\d[-–&])|(?<=/\d\d[-–&])|(?<=/\d [-–&] )|(?<=/\d\d [-–&] ))\d{1,2}(?=/\d{4}(?!\d))"
)
"""The last of the days of a month that stands before them: *4/3-7/2024*."""
_COMPACT = re.compile(r"(?<!\d)(\d{2})()(\d{2})()(\d{4}|\d{2})(?!\d)")
_YM = re.compile(r"(?<!\d)(\d{4})([-/.])(\d{1,2})(?!\d)")
_MY = re.compile(r"(?<!\d)(\d{1,2})(\s?[-/.]\s?)(\d{4})(?!\d)")
_PAIR = re.compile(r"(?<![\d/])(\d{1,2})([/.-])(\d{1,2})(?![\d/])")
_DECADE = re.compile(r"(?<!\w)(?P<mark>['’]?)(?P<years>\d{3}0|\d0)(?P<s>['’]?[sS])\b")
_SHORT_YEAR = re.compile(r"(?<!\w)['’](\d{2})(?!\d)")
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_DIGIT = re.compile(r"\d")
_EIGHT = re.compile(r"\d{8}")
_NUMBER = re.compile(r"(?<!\d)(?<!\d/)\d{1,2}(?!\d|/\d)")
_LISTED = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_ROMAN = re.compile(r"(?:(?<=\d[-./ ])|(?<=\d\. ))(?:I{1,3}|IV|VI{0,3}|IX|XI{0,2})(?![^\W_])")
_WEEK, _QUARTER = expression("week_number"), expression("quarter")
_CENTURY, _OH = expression("spoken_year"), expression("spoken_zero")
_WORD = re.compile(r"[^\W\d_]+")
# the most frequent dates in numbers, and a year alone; each is one token
_PLAIN = re.compile(
    r"(\d{1,2})([-/.])(\d{1,2})(?:\2(\d{4}|\d\d))?|(\d{4})([-/.])(\d{1,2})\6(\d{1,2})|([12]\d{3})", re.ASCII
)
_DAYS_AND_YEAR = re.compile("[DO]*Y")
_LAST_NUMBER = re.compile("[DO]MD|M[DO]D")
_WORDED = re.compile(
    r"(?:(?P<word>[a-z]{3,10})\.?[ -](?P<day>\d\d?),?|(?P<first>\d\d?)(?P<mark>[ -])(?P<second>[a-z]{3,10})[.,]?)[ -]"
    r"(?P<year>[12]\d{3})",
    re.ASCII | re.IGNORECASE,
)
_JOINED = re.compile(r"-?[^\W\d_]")
_MISREAD = re.compile(r"(?=[^Ool]*[Ool])(?=(?:\D*\d){2})[\dOol./\s-]+")
_AS_DIGITS = str.maketrans("Ool", "001")
"""A date whose digits a scanner took for letters, and what they are."""
_DAY_AND_MONTH = re.compile(r"\d{1,2}\s?[-/.]\s?\d{1,2}(?!\d)")


def tokenize_date(text: str, *, language: str = "en") -> tuple[Token, ...] | None:
    """Return the parts of a date, in order; None when the text holds something that is no part of a date.

    Parameters
    ----------
    text : str
    language : str
        How to write months whose names several languages share; one without names of months is read as English.
    """
    language = language[:2] if language[:2] in MONTHS else "en"
    if not text.isdigit() and _MISREAD.fullmatch(text) is not None:
        text = text.translate(_AS_DIGITS)
    if text.isascii():
        plain = _PLAIN.fullmatch(text)
        if plain is not None:
            return (_plain(plain),)
        if text.isalpha():
            key = name_key(text)
            numbers = spoken(language)
            number = key in NUMERAL_WORDS or (numbers is not None and key in numbers.words)
            if text.lower() not in HOLIDAYS_OF_ONE_WORD and not number:
                word = _of_word(key, text, 0, language)
                return (word,) if word is not None else () if key in FILLERS else None
    for pattern, build in _WHOLE if text[:1].isdecimal() else ():
        whole = pattern.fullmatch(text)
        token = build(whole) if whole else None
        if token is not None:
            return (token,)
    months = MONTHS[language]
    match = _WORDED.fullmatch(text)
    if match is not None:
        worded = _month_in_words(match, months)
        if worded is not None:
            return worded
    rest = text  # what no token has taken yet; taken text is blank
    tokens: list[Token] = []

    def take(pattern: re.Pattern[str], make: Callable[[re.Match[str]], Token | None]) -> None:
        nonlocal rest
        out, read = [], 0
        for match in pattern.finditer(rest):
            token = make(match)
            if token is not None:
                if token.kind:
                    tokens.append(token)
                start, end = match.span()
                out += [rest[read:start], " " * (end - start)]
                read = end
        rest = "".join(out) + rest[read:]

    keys = {name_key(w) for w in _WORD.findall(text)}
    if not keys.isdisjoint(HOLIDAY_WORDS):
        take(HOLIDAY, _holiday)
    take(_ROMAN, _roman)
    head = _WORD.match(text)
    if head is not None and name_key(head.group()) in BEFORE_DAYS.get(language, ()):
        other = keys - {name_key(head.group())}
        if _DAY_AND_MONTH.search(text) is not None or not other.isdisjoint(months):
            take(head.re, lambda match: _weekday(match, language))
            keys = other
    named = bool(tokens and tokens[-1].kind == "M") or not keys.isdisjoint(months)
    tried = {
        "always": True,
        "week": not named and not keys.isdisjoint(WEEKS),
        "month": named,
        "eight digits": _EIGHT.search(text) is not None,
        "clock": ":" in text or not keys.isdisjoint(CLOCK_WORDS),
        "endings": not keys.isdisjoint(ENDINGS) or not text.isascii(),
        "apostrophe": "'" in text or "’" in text,
        "no month": not named,
    }
    for condition, pattern, make in _NUMERIC:
        if _DIGIT.search(rest) is None:
            break
        if tried[condition]:
            take(pattern, make)
    numbers = spoken(language)
    if numbers is not None and not keys.isdisjoint(numbers.words):
        take(numbers.pattern, functools.partial(_in_words, numbers))
    if not keys.isdisjoint(NUMERAL_WORDS):
        for pattern, make in ((_CENTURY, _year_in_words), (_OH, _oh), (NUMERAL, _numeral)):
            take(pattern, make)
    for match in _WORD.finditer(rest):
        key = name_key(match.group())
        token = _of_word(key, match.group(), match.start(), language)
        if token is not None:
            tokens.append(token)
        elif key not in FILLERS:
            return None
    if _DIGIT.search(rest):
        return None
    return _with_short_years(text, sorted(tokens, key=lambda token: token.start), language in SHORT_YEARS)


def _plain(match: re.Match[str]) -> Token:
    """Make what `_numbers` and `_year` make, of a text that is nothing but one date without blanks."""
    old = match.group()
    a, mark, b, c, year, mark_behind_year, month, day, alone = match.groups()
    if alone:
        return Token("Y", 0, 4, (int(old),), _FOUR)
    if year:
        write = _writer("F", mark_behind_year, 4, len(month), len(day))
        return Token("F", 0, len(old), (int(year), int(month), int(day)), write)
    if c:
        return Token("F", 0, len(old), (int(a), int(b), int(c)), _writer("F", mark, len(a), len(b), len(c)))
    return Token("P", 0, len(old), (int(a), int(b)), _writer("P", mark, len(a), len(b)))


_TWO = "{:02}".format
_FOUR = "{:04}".format


@functools.cache
def _writer(kind: str, mark: str, *lengths: int) -> Callable[..., str]:
    """Return what writes numbers as `_numbers` does, where there were so many digits with a mark between."""
    short = 1 in lengths
    pieces = ["{:04}" if n == 4 else "{:02}" if n == 2 and not short else "{}" for n in lengths]
    if kind == "P" or lengths[-1] != 2:
        return mark.join(pieces).format
    form = mark.join([*pieces[:-1], "{:02}"]).format
    return lambda a, b, c: form(a, b, c % 100)


def _month_in_words(match: re.Match[str], months: Mapping[str, Name]) -> tuple[Token, ...] | None:
    """Read the most frequent forms with a word quickly: ``March 3, 2019``, ``3-Mar-2019``."""
    word, behind, before, mark, second, year = match.groups()
    month, day = word or second, behind or before
    found = months.get(name_key(month))
    value = int(day)
    if found is None or value > 31:
        return None  # no month; a year in its turn
    number = Token(
        "D",
        *match.span("day" if word else "first"),
        (value,),
        _TWO if len(day) == 2 and (mark == "-" or day[0] == "0") else str,
    )
    last = Token("Y", *match.span("year"), (int(year),), _FOUR)
    named = _word_token("M", month, match.start("word" if word else "second"), found, 1)
    return (named, number, last) if word else (number, named, last)


def _with_short_years(text: str, tokens: list[Token], behind_month: bool) -> tuple[Token, ...]:
    """Read the last number of ``3-Mar-09``, ``Mar-03-09`` and ``March 3, 09`` as a year, every one over 31, and the
    second year of ``2018-19``; with ``behind_month`` that of ``Mai 22``, too."""

    if all(token.kind != "D" for token in tokens):
        return tuple(tokens)

    def is_year(token: Token) -> bool:
        return token.end - token.start == 2 and text[token.start : token.end].isdigit()

    def year(token: Token) -> Token:
        old = text[token.start : token.end]
        return Token("Q", token.start, token.end, token.values, lambda value: _two_or_four(value, old))

    tokens = [year(t) if t.kind == "D" and t.values[0] > 31 and is_year(t) else t for t in tokens]
    kinds = "".join(token.kind for token in tokens)
    if behind_month and kinds.endswith("MD") and kinds[:-2] in ("", "W") and is_year(tokens[-1]):
        tokens[-1] = year(tokens[-1])
    if kinds == "YD" and is_year(tokens[1]) and tokens[1].values[0] == (tokens[0].values[0] + 1) % 100:
        tokens[1] = year(tokens[1])
    for match in _LAST_NUMBER.finditer(kinds):
        a, b, c = tokens[match.start() : match.end()]
        first, second = (text[x.end : y.start].strip() for x, y in ((a, b), (b, c)))
        between = a.kind != "M" or (first == second and first in ("-", "/", ".")) or second.startswith(",")
        listed = a.kind == "M" and _DAYS_AND_YEAR.match(kinds, match.end()) is not None  # March 3, 10 and 11, 2009
        if between and is_year(c) and not listed:
            tokens[match.end() - 1] = year(c)
    return tuple(tokens)


def _numbers(kind: str, match: re.Match[str], groups: tuple[int, ...]) -> Token:
    """Make a token of several numbers; the text between them stays."""
    old = match.group()
    spans = [(match.start(g) - match.start(), match.end(g) - match.start()) for g in groups]
    spans = [(s + 1, e) if old[s] in "'’" else (s, e) for s, e in spans]
    short = any(e - s == 1 for s, e in spans)  # "3/14": written without leading zeros

    def write(*values: int) -> str:
        out, read = [], 0
        for (start, end), value in zip(spans, values, strict=True):
            part = old[start:end]
            # a year keeps its two or four digits; the other numbers their padding
            year = len(part) == 4 or (kind == "F" and end == len(old) and len(part) == 2)
            padded = len(part) == 2 and not short
            out += [old[read:start], _two_or_four(value, part) if year else f"{value:02}" if padded else str(value)]
            read = end
        return "".join(out) + old[read:]

    return Token(kind, *match.span(), tuple(int(old[s:e]) for s, e in spans), write)


def _weekday(match: re.Match[str], language: str) -> Token | None:
    found = WEEKDAYS[language].get(name_key(match.group())) if match.start() == 0 else None
    return None if found is None else _word_token("W", match.group(), 0, found, 0)


def _roman(match: re.Match[str]) -> Token:
    """Read a month as a Roman number: ``3. III. 1964``."""
    return Token("M", *match.span(), (ROMAN_MONTHS.index(match.group()) + 1,), lambda month: ROMAN_MONTHS[month - 1])


def _week(match: re.Match[str]) -> Token:
    old, start = match.group(), match.start()
    number, year, mark = match[1], match[3], match[2] or ""
    lead = old[: match.start(1) - start]

    def write(new: int, its_year: int) -> str:
        return lead + _padded(new, number) + (mark + _two_or_four(its_year, year) if year else "")

    return Token("K", *match.span(), (int(number), int(year)) if year else (int(number),), write)


def _quarter(match: re.Match[str]) -> Token:
    return Token("S", *match.span(), (int(match[2]) - 1,), lambda index: f"{match[1]}{index + 1}")


def _holiday(match: re.Match[str]) -> Token:
    old = match.group()
    return Token("H", *match.span(), (), lambda name: _like(name, old))


def _stamp(match: re.Match[str]) -> Token | None:
    year, month, day = (int(match[n]) for n in (1, 2, 3))
    if not (1800 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    rest = match[4]
    return Token("F", *match.span(), (year, month, day), lambda y, m, d: f"{y:04}{m:02}{d:02}{rest}")


def _decade(match: re.Match[str]) -> Token:
    years, mark, s = match["years"], match["mark"], match["s"]
    return Token("X", *match.span(), (int(years),), lambda v: f"{mark}{v % 10 ** len(years):0{len(years)}}{s}")


_ENGLISH_ENDINGS = ("st", "nd", "rd", "th")


def _ordinal(match: re.Match[str]) -> Token:
    old, mark = match[1], match[2]

    def write(value: int) -> str:
        letters = mark.strip()
        if letters.lower() == "er":  # French: of the first alone
            letters = letters if value == 1 else ""
        elif letters.lower() in _ENGLISH_ENDINGS:
            letters = _like(ordinal_ending(value), letters)
        return _padded(value, old) + (" " if mark[0].isspace() else "") + letters

    return Token("O", *match.span(), (int(old),), write)


def _number(kind: str, match: re.Match[str], group: int) -> Token:
    old = match[group]
    mark = match.group()[: match.start(group) - match.start()]
    joined = len(old) == 2 and _JOINED.match(match.string, match.end()) is not None  # 14MAR2019, 14-Mar-2019

    def write(value: int) -> str:
        if kind in "QY":
            return mark + _two_or_four(value, old)
        return mark + (f"{value:02}" if joined else _padded(value, old))

    return Token(kind, *match.span(), (int(old),), write)


def _in_words(numbers: Spoken, match: re.Match[str]) -> Token:
    """Read a day or a year in words of a language that writes it in a form of its own."""
    kind, value, words = numbers.read(match.group())
    old = match.group()

    def write(new: int) -> str:
        written = words.get(new % 100 if kind == "Q" else new)
        if written is None:
            raise ValueError
        return _like(written, old)

    return Token(kind, *match.span(), (value,), write)


def _numeral(match: re.Match[str]) -> Token | None:
    found = read_numeral(match.group())
    if found is None:
        return None
    value, language = found
    old = match.group()
    kind = "O" if language == "ordinal" else "D" if value <= 31 else "Q"

    def write(new: int) -> str:  # ninety-nine becomes two thousand
        return write_numeral(new % 100, language, old) if new % 100 else _like(MILLENNIA[language], old)

    return Token(kind, *match.span(), (value,), write)


def _oh(match: re.Match[str]) -> Token | None:
    """Read ``oh two``."""
    old = match.group()
    value, language = read_numeral(match[3]) or (0, "en")

    def write(new: int) -> str:
        return (f"{match[1]}{match[2]}" if new < 10 else "") + write_numeral(new, language, old)

    return Token("D", *match.span(), (value,), write)


def _year_in_words(match: re.Match[str]) -> Token | None:
    rest = match["rest"] or match["more"]
    found = read_numeral(rest) if rest else (0, "en")
    if found is None or found[1] != "en" or (match["century"] and not rest):
        return None
    century = 1900 if match["century"] and read_numeral(match["century"]) == (19, "en") else 2000
    if match["century"] and found[0] < 10 and not re.search(r"(?i)\bo", match.group()):
        return None  # "twenty one" is a number
    old = match.group()

    def write(year: int) -> str:
        tail = year % 100
        if 2000 <= year < (2100 if old.lower().startswith(YEARS["thousand"]) else 2010):
            joint = f" {YEARS['and']}" if YEARS["and"] in old.lower().split() else ""
            words = YEARS["thousand"] + (f"{joint} {write_numeral(tail, 'en', 'a b')}" if tail else "")
        else:
            head = write_numeral(year // 100, "en", "a b")
            spoken = (f"{YEARS['zero']} " if tail < 10 else "") + write_numeral(tail or 1, "en", rest or "a b")
            words = f"{head} {spoken if tail else YEARS['round']}"
        return _like(words, old)

    return Token("Y", *match.span(), (century + found[0],), write)


def _clock(match: re.Match[str]) -> Token:
    """Leave a clock time as it is: a token without kind is no part of the date."""
    return Token("", *match.span(), (), str)


def _month_year(match: re.Match[str]) -> Token | None:
    values = sorted(int(match[g]) for g in (1, 3))
    return _numbers("E", match, (1, 3)) if 1 <= values[0] <= 12 else None


def _same_separator(match: re.Match[str]) -> Token | None:
    """Make a full date of three numbers that one separator joins; a blank only where the year has four digits."""
    same = match[2].strip() == match[4].strip() and (match[2].strip() or len(match[5]) == 4)
    return _numbers("F", match, (1, 3, 5)) if same else None


def _full(match: re.Match[str]) -> Token | None:
    return _numbers("F", match, (1, 3, 5))


def _pair(match: re.Match[str]) -> Token:
    return _numbers("P", match, (1, 3))


def _year(match: re.Match[str]) -> Token:
    return _number("Y", match, 0)


def _day(match: re.Match[str]) -> Token:
    return _number("D", match, 0)


# the most frequent forms, tried on the whole text first
_WHOLE: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Token | None]], ...] = (
    (_DMY, _same_separator),
    (_PAIR, _pair),
    (_YEAR, _year),
    (_YMD, _full),
)
# in this order; the condition says in which texts a pattern is tried
_NUMERIC: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], Token | None]], ...] = (
    ("eight digits", _HL7, _stamp),
    ("clock", _TIME, _clock),
    ("always", _YMD, _full),
    ("week", _WEEK, _week),
    ("no month", _DAY_BEFORE, _day),
    ("no month", _DAY_BEFORE_YEAR, _day),
    ("no month", _DMY, _same_separator),
    ("no month", _COMPACT, _full),
    ("no month", _YM, _month_year),
    ("no month", _MY, _month_year),
    ("no month", _PAIR, _pair),
    ("endings", _DECADE, _decade),
    ("endings", _ORDINAL, _ordinal),
    ("apostrophe", _SHORT_YEAR, lambda match: _number("Q", match, 1)),
    ("always", _QUARTER, _quarter),
    ("always", _YEAR, _year),
    ("month", _LISTED, _day),
    ("always", _NUMBER, _day),
)
