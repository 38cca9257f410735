"""The operators of HIPAA Safe Harbor: year only, ZIP3, ages over 89 (45 CFR 164.514(b)(2)(i)(B) and (C)).

Each leaves what the rule allows and nothing else. What an operator cannot read for sure becomes a label, ``[DATE]``:
a date without a year, a ZIP code of another country, an age in words it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from deid.base.errors import ConfigError, require
from deid.base.files import read_rows
from deid.document import Document, Span
from deid.reading.centuries import full_year
from deid.reading.dictionaries import load_dictionary
from deid.replacement.operators import label_for
from deid.replacement.pools import expression, read_words
from deid.replacement.scope import Operator, Scope

_MAX_PEOPLE = 20_000
_MAX_AGE = 89
_AGE_DIGITS = 9

# A number that is a year by its form; not a part of a longer number, a decimal or a clock time.
_YEAR = re.compile(r"(?<!\d)(?<!\d[:.,])(1[89]\d\d|20\d\d|21\d\d)(?!\d|[:.,]\d)")
_SEPARATED = re.compile(
    r"""(?<!\d)(?:
        (?P<first>\d{4}) (?P<s1>[-/.]) \d{1,2} (?P=s1) \d{1,2}      # 2003-01-17
      | \d{1,2} (?P<s2>[-/.]) \d{1,2} (?P=s2) (?P<last>\d{4}|\d{2})   # 1/17/2003, 17.01.03
      | (?P<s3>\d{1,2}) [-/.] (?P<month>\d{4})                       # 01/2003
    )(?!\d)""",
    re.VERBOSE,
)
_SHORT_YEARS = expression("short_year_behind_day"), expression("short_year_behind_month")
_COMPACT = re.compile(r"(?<!\d)\d{8}(?!\d)")
_SPELT_MONTH = expression("spelt_month")
_BIRTH = expression("birth")
_BEFORE = 40  # characters before a date in which a word of birth counts


def _named(text: str) -> list[tuple[int, bool]]:
    """Return the years of a date as they are written, and whether they have two digits."""
    found: list[tuple[int, int, bool]] = []
    rest = text
    for pattern in (_SEPARATED, _COMPACT, _YEAR):
        matches = list(pattern.finditer(rest))
        for match in matches:
            digits = _year_of(match)
            if digits:
                found.append((match.start(), int(digits), len(digits) == 2))
        # read once: what follows a date, such as the clock time 1930, is no second year
        rest = pattern.sub(lambda match: " " * len(match.group()), rest)
        if found or (matches and pattern is _SEPARATED):
            break
    if not found and _SPELT_MONTH.search(text):
        short = (match for pattern in _SHORT_YEARS for match in pattern.finditer(text))
        found = list({m.start(1): (m.start(1), int(m[1]), True) for m in short}.values())
    return [(year, short) for _, year, short in sorted(found)]


def _year_of(match: re.Match[str]) -> str:
    """Return the digits of a date's year; empty when the number is no date."""
    if match.re is _YEAR:
        return match[1]
    if match.re is _COMPACT:
        digits = match.group()
        forms = (digits[:4] + digits[4:], digits[4:] + digits[:4], digits[4:] + digits[2:4] + digits[:2])
        valid = [f for f in forms if 1850 <= int(f[:4]) <= 2199 and 1 <= int(f[4:6]) <= 12 and 1 <= int(f[6:]) <= 31]
        return valid[0][:4] if valid else ""
    return match["first"] or match["last"] or match["month"]


def year_rule(year: int, as_of: int) -> str:
    """Return what of a year may be written: the year, or ``<=Y`` where it would tell an age over 89.

    Examples
    --------
    >>> year_rule(1927, 2003)
    '1927'
    >>> year_rule(1912, 2003)
    '<=1913'
    """
    return f"<={as_of - _MAX_AGE - 1}" if as_of - year > _MAX_AGE else str(year)


def year_only() -> Operator:
    """Return the operator that leaves the years of dates.

    The day on which ages count is the reference day of the scope; without one it is taken to lie in the latest year
    that a date of the document names. When only the birth date itself could tell, nothing of it is left.

    A year of two digits is written where its century is sure: no later than the year after the reference day (a birth:
    than its year), and without a reference day the same by the document's latest year and by
    `deid.reading.centuries.LATEST`. One that would tell an age over 89 is sure at a birth only: elsewhere it is
    rather a year to come.
    """

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        texts = [document.text[s.start : s.end] for s in spans]
        ends = [0, *(s.end for s in spans)]
        births = [
            bool(_BIRTH.search(document.text[max(end, s.start - _BEFORE) : s.start]))
            for s, end in zip(spans, ends, strict=False)
        ]
        named = [_named(text) for text in texts]
        known = scope.reference_date is not None
        if scope.reference_date is not None:
            as_of: int | None = scope.reference_date.year
        else:
            others = (years for years, birth in zip(named, births, strict=True) if not birth)
            as_of = max((year for years in others for year, short in years if not short), default=None)
        written = []
        for span, text, birth, years in zip(spans, texts, births, named, strict=True):
            shown = None if as_of is None and birth else [_shown(y, as_of, known, birth) for y in years]
            if shown and all(shown):
                written.append("-".join(dict.fromkeys(shown)))
            else:
                written.append(label_for(span.category, text))
        return written

    return operate


def _shown(named: tuple[int, bool], as_of: int | None, known: bool, birth: bool) -> str:
    """Return what of a year may be written; empty when its century is not sure."""
    written, short = named
    if as_of is None:  # all years are short
        return ""
    year = full_year(written, as_of, past=birth)
    unsure = short and ((as_of - year > _MAX_AGE and not birth) or (not known and year != full_year(written)))
    return "" if unsure else year_rule(year, as_of)


def zip_rule(zip_code: str, population: Mapping[str, int]) -> str:
    """Return the part of a ZIP code that may be written, padded by stars.

    Parameters
    ----------
    zip_code : str
        Five digits, with or without four more.
    population : mapping of str to int
        People in the area of each three-digit prefix; a prefix that it lacks counts as empty.

    Examples
    --------
    >>> zip_rule("12345", {"123": 20_001}), zip_rule("12345", {"123": 20_000})
    ('123**', '000**')
    """
    prefix = zip_code[:3]
    return f"{prefix if population.get(prefix, 0) > _MAX_PEOPLE else '000'}**"


_ZIP = re.compile(r"[0-9]{5}(?:[-\s]?[0-9]{4})?")


def zip3(*, counts: Path = Path()) -> Operator:
    """Return the operator that leaves three digits of ZIP codes.

    Parameters
    ----------
    counts : Path
        CSV file ``prefix,population`` of a census; without it the shipped list of small areas of the United States
        counts, every other prefix but 000 holds enough people, and codes of notes in another language than English
        become labels.

    Raises
    ------
    ConfigError
        When the file of counts cannot be used.
    """
    if counts == Path():
        small = set(load_dictionary("policies/zip3_restricted").phrases) | {"000"}
        population = {p: _MAX_PEOPLE + 1 for p in (f"{n:03}" for n in range(1000)) if p not in small}
    else:
        population = _read_counts(counts)

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        texts = [document.text[s.start : s.end].strip() for s in spans]
        # five digits are a postal code of Germany, France or Spain, too, whose areas another census counts
        known = counts != Path() or scope.language.startswith("en")
        return [
            zip_rule(text, population) if known and _ZIP.fullmatch(text) else label_for(span.category, text)
            for span, text in zip(spans, texts, strict=True)
        ]

    return operate


def _read_counts(path: Path) -> dict[str, int]:
    hint = "write lines of a three-digit prefix, a comma and a number of people, below the header prefix,population"
    population: dict[str, int] = {}
    for line, row in read_rows(path, ("prefix", "population"), hint):
        prefix, people = row["prefix"].strip(), row["population"].strip()
        if not re.fullmatch(r"[0-9]{3}", prefix) or not re.fullmatch(r"[0-9]{1,9}", people) or prefix in population:
            raise ConfigError("not a count of people in a ZIP3 area", hint, str(path), f"line {line}")
        population[prefix] = int(people)
    require(population, "the file of ZIP3 counts is empty", hint, str(path))
    return population


_NUMBER = re.compile(r"(?P<whole>\d+)(?:[.,]\d+)?(?:\s*(?:\d/\d|[½¼¾]))?(?:['’]?s\b)?")
_TIME_UNIT, _OLD_WORDS, _NINETY = expression("time_unit"), expression("very_old"), expression("ninety")
_YOUNG_JOINED = expression("young_joined")
_YOUNG_WORDS = frozenset(read_words("writing.toml")["ages"]["young"].split())


def age90() -> Operator:
    """Return the operator that leaves ages to 89 as they stand and writes ``90+`` for older ones.

    Months, weeks and days are no years. An age without a number and without a word of number that it knows becomes a
    label.
    """

    def operate(document: Document, spans: Sequence[Span], scope: Scope) -> list[str]:
        return [_age(document, span) for span in spans]

    return operate


def _age(document: Document, span: Span) -> str:
    text = document.text[span.start : span.end]
    follows = document.text[span.end : span.end + 12]
    if not _NUMBER.search(text):
        if _OLD_WORDS.search(text):
            return "90+"
        if _NINETY.search(text):
            return _NINETY.sub("90+", text)
        known = _YOUNG_JOINED.search(text) or _YOUNG_WORDS.intersection(re.findall(r"[^\W\d_]+", text.lower()))
        return text if known else label_for(span.category, text)

    def limit(found: re.Match[str]) -> str:
        after = text[found.end() :] or follows
        # a number of more digits than any age is none that may stay
        young = len(found["whole"]) <= _AGE_DIGITS and int(found["whole"]) <= _MAX_AGE
        return found.group() if young or _TIME_UNIT.match(after) else "90+"

    return _NUMBER.sub(limit, text)
