"""Dates that are shifted: what `deid.replacement.dates` says, done; compiled."""

from __future__ import annotations

import calendar
import datetime
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from deid.document import Document, Span
from deid.reading.centuries import full_year
from deid.reading.day_order import days_first
from deid.replacement.choices import tag
from deid.replacement.containment import Finder, finder, is_whole, texts_of
from deid.replacement.date_forms import Token, tokenize_date
from deid.replacement.date_words import holiday_of
from deid.replacement.permutation import Keyed, keyed_for
from deid.replacement.scope import Scope

MIN_DAYS, MAX_DAYS = 30, 345
"""Limits of the offset: from 30 days on a month never stays the same, and up to 345 it does not come round again."""
_WEEKS = tuple(n for n in range(MIN_DAYS, MAX_DAYS + 1) if n % 7 == 0)
_NO_WEEKS = tuple(n for n in range(MIN_DAYS, MAX_DAYS + 1) if n % 7)
_PLAIN_DAY = datetime.date(2001, 7, 1)
"""Dates without a year lie in this one where nothing tells another."""
_LEAP = 8
"""Years within which one is a leap year."""
_TRIES = 40
_MANY = 300
"""Distinct dates from which on no offset will keep all originals away, so that looking for one is vain."""
_LONG = 5
_MOST_BETWEEN = 12
"""Characters between the days of a stretch: *2/3 through 5/6/2019*, *5.6. bis zum 9.7.2019*."""
# what belongs together, over the tokens' kinds; commas and words between them do not count. Bounds on days and months
# that are listed keep the time linear
_UNITS = re.compile(
    "(?P<ymd>YM[DO])|(?P<mdy>M[DO][YQ])|(?P<dmy>[DO]M[YQ])|(?P<mrange>M[DO][DO]+[YQ]?)|(?P<drange>[DO][DO]{1,31}M[YQ]?)"
    "|(?P<nny>[DO][DO][YQ])|(?P<md>M[DO])|(?P<dm>[DO]M)|(?P<ym>YM)|(?P<mmy>MM{1,31}[YQ])|(?P<my>M[YQ])|(?P<sy>S[YQ]+|YS)|(?P<hy>H[YQ])"
    "|(?P<listed>[DO]{1,31}[FP])|(?P<behind>[FP][DO]{1,31}[YQ]?(?![DOFP]))|(?P<oo>^OO$)|(?P<one>.)"
)


class _Context:
    """What the reading of one document's dates depends on.

    Parameters
    ----------
    offset : int
    day_first : bool
    near : datetime.date
        Day that dates without a year are near to.
    reference : datetime.date, optional
    cap_age : int, optional
    keep_weekdays : bool
    language : str
    """

    def __init__(
        self,
        offset: int,
        day_first: bool,
        near: datetime.date,
        reference: datetime.date | None = None,
        cap_age: int | None = None,
        keep_weekdays: bool = False,
        language: str = "en",
    ) -> None:
        self.offset = offset
        self.sign = 1 if offset > 0 else -1
        self.day_first = day_first
        self.near = near
        self.reference = reference
        self.cap_age = cap_age
        self.keep_weekdays = keep_weekdays
        self.language = language
        self.step = 0
        """Further steps for names of months, weekdays, seasons and holidays that stand alone."""

    def beside(self, near: datetime.date) -> _Context:
        """Return the same with another day that dates without a year are near to."""
        return _Context(
            self.offset, self.day_first, near, self.reference, self.cap_age, self.keep_weekdays, self.language
        )


def offset_of(scope: Scope, *, preserve_weekday: bool = False, attempt: int = 0, keyed: Keyed | None = None) -> int:
    """Return the number of days by which a person's dates move: keyed, never 0, at most 345 either way.

    Parameters
    ----------
    scope : Scope
    preserve_weekday : bool
        Whole weeks only. Otherwise never whole weeks, so that weekdays change.
    attempt : int
        0 for the person's offset; further ones for a document whose person is not known.
    keyed : Keyed, optional
        The choices of ``scope.person_scope``, where the caller has them already.
    """
    days = _WEEKS if preserve_weekday else _NO_WEEKS
    number = (keyed or keyed_for(scope.key, scope.person_scope)).number("date offset", str(attempt))
    number, negative = divmod(number, 2)
    return days[number % len(days)] * (-1 if negative else 1)


def _date(year: int, month: int, day: int) -> datetime.date:
    """Return a date; a month or day that does not exist becomes the last one that does."""
    try:
        return datetime.date(year, month, day)
    except ValueError:
        month = min(max(month, 1), 12)
        return datetime.date(year, month, min(max(day, 1), calendar.monthrange(year, month)[1]))


def _full_year(year: int, context: _Context) -> int:
    return full_year(year, context.reference.year if context.reference else None)


def _moved(date: datetime.date, context: _Context) -> datetime.date:
    new = date + datetime.timedelta(context.offset)
    if context.cap_age is not None and context.reference is not None:
        today = context.reference
        age = today.year - date.year - ((today.month, today.day) < (date.month, date.day))
        if age > context.cap_age:  # shows the youngest age of the class instead
            new = _date((today + datetime.timedelta(context.offset)).year - context.cap_age - 1, new.month, new.day)
    return new


def _moved_month(year: int, month: int, context: _Context) -> tuple[int, int]:
    new = _moved(_date(year, month, 15), context)
    return new.year, new.month


# units: each yields (token, its new text)

_Written = Iterator[tuple[Token, str]]


def _numeric(token: Token, context: _Context) -> str:
    """Shift a date in numbers."""
    year, month, day, order = _read(token, context)
    new = _with_unknown(year, month, day, context)
    return token.write(*[new[i] for i in order])


def _read(token: Token, context: _Context) -> tuple[int, int, int, tuple[int, int, int]]:
    """Return year, month and day of a date in numbers, and in which order they are written: as it must be, or fits."""
    a, b, c = token.values
    if a > 31 and c <= 31:
        return a, b, c, (0, 1, 2)
    day_first = a > 12 or (context.day_first and b <= 12) or (a == 0 and b != 0)
    year = _full_year(c, context)
    return (year, b, a, (2, 1, 0)) if day_first else (year, a, b, (1, 2, 0))


def _spoken(unit: Sequence[Token], context: _Context) -> _Written:
    """Shift day, month and year that words or commas separate: ``fourteen, oh two, nineteen seventy one``."""
    a, b = unit[0].values[0], unit[1].values[0]
    day_first = a > 12 or (context.day_first and b <= 12)
    day, month = (unit[0], unit[1]) if day_first else (unit[1], unit[0])
    new = _moved(_date(_year_value(unit[2], context), month.values[0], day.values[0]), context)
    yield from ((day, day.write(new.day)), (month, month.write(new.month)), (unit[2], unit[2].write(new.year)))


def _with_unknown(year: int, month: int, day: int, context: _Context) -> tuple[int, int, int]:
    """Shift year, month and day; a month or day of 0 is not known and stays 0."""
    if month == 0:
        return year + context.sign, 0, 0 if day == 0 else _moved_day(day, context)
    if day == 0:
        y, m = _moved_month(year, month, context)
        return y, m, 0
    new = _moved(_date(year, month, day), context)
    return new.year, new.month, new.day


def _pair(token: Token, context: _Context) -> str:
    """Shift ``3/14`` as month and day, ``3/98`` as month and year."""
    a, b = token.values
    if b > 31 and 1 <= a <= 12:
        y, m = _moved_month(_full_year(b, context), a, context)
        return token.write(m, y % 100)
    if a > 31 and 1 <= b <= 12:
        y, m = _moved_month(_full_year(a, context), b, context)
        return token.write(y % 100, m)
    day_first = a > 12 or (context.day_first and b <= 12)
    new = _moved(_day_of_year(b, a, context) if day_first else _day_of_year(a, b, context), context)
    return token.write(new.day, new.month) if day_first else token.write(new.month, new.day)


def _day_of_year(month: int, day: int, context: _Context) -> datetime.date:
    """Return the day that is nearest to the context's among those of all years; 29 February is one of leap years."""
    near = context.near
    reach = _LEAP if (month, day) == (2, 29) else 1
    years = range(max(near.year - reach, datetime.MINYEAR), min(near.year + reach, datetime.MAXYEAR) + 1)
    days = [_date(year, month, day) for year in years if reach == 1 or calendar.isleap(year)]
    return min(days, key=lambda each: abs(each - near))


def _moved_day(day: int, context: _Context) -> int:
    """Move a day of an unknown month within 28 days."""
    step = context.offset % 28 or 7
    new = (day - 1 + step) % 28 + 1
    return new if new != day else new % 28 + 1


def _stretch(days: Sequence[int], known: datetime.date, forward: bool) -> list[datetime.date]:
    """Return the dates of days whose month is said once, with the last (the first, ``forward``), which is known.

    A day that is greater than the one behind it is of the month before: ``28 au 3/11``. Where the days fall twice, they
    are no stretch, and of one month.
    """
    order = days if forward else days[::-1]
    month = begun = known.year * 12 + known.month - 1
    found = [known]
    for near, day in itertools.pairwise(order):
        if day < near if forward else day > near:
            month += 1 if forward else -1
        found.append(_date(month // 12, month % 12 + 1, day))
    if abs(month - begun) > 1:
        return [_date(known.year, known.month, day) for day in days]
    return found if forward else found[::-1]


def _month_with_days(tokens: Sequence[Token], text: str, context: _Context) -> _Written:
    """Shift ``March 3-7, 2019``: a day that falls into another month than its neighbour gets the month's name."""
    month = next(t for t in tokens if t.kind == "M")
    days = [t for t in tokens if t.kind in "DO"]
    years = [t for t in tokens if t.kind in "YQ"]
    first = tokens[0] is month
    day = (days[0] if first else days[-1]).values[0]
    named = month.values[0]
    known = _date(_year_value(years[0], context), named, day) if years else _day_of_year(named, day, context)
    new = [_moved(old, context) for old in _stretch([t.values[0] for t in days], known, first)]
    shown = (new[0] if first else new[-1]).month
    yield month, month.write(shown)
    for token, date in zip(days, new, strict=True):
        written = token.write(date.day)
        if date.month != shown:
            if text[token.end : token.end + 1] == "." and not first:  # "6. bis 20. Juli"
                token, written = replace(token, end=token.end + 1), f"{written}."
            written = f"{month.write(date.month)} {written}" if first else f"{written} {month.write(date.month)}"
        if first:
            shown = date.month
        yield token, written
    if years:
        yield years[0], years[0].write(new[-1].year)


def _year_value(token: Token, context: _Context) -> int:
    return _full_year(token.values[0], context)


def _months_of_year(tokens: Sequence[Token], context: _Context) -> _Written:
    """Shift ``Jan-Mar 2019`` or ``2019 March``."""
    year = next(t for t in tokens if t.kind in "YQ")
    new_year = year.values[0]
    for token in tokens:
        if token.kind == "M":
            new_year, month = _moved_month(_year_value(year, context), token.values[0], context)
            yield token, token.write(month)
    yield year, year.write(new_year)


def _seasons(tokens: Sequence[Token], context: _Context) -> _Written:
    season = next(t for t in tokens if t.kind == "S")
    steps = min(max(round(abs(context.offset) / 91.3), 1), 3) * context.sign + context.step
    carry, index = divmod(season.values[0] + steps, 4)
    yield season, season.write(index)
    for year in tokens:  # "winter 2018-2019" has two
        if year is not season:
            yield year, year.write(_year_value(year, context) + carry)


def _holiday(tokens: Sequence[Token], text: str, context: _Context) -> _Written:
    token = tokens[0]
    name = text[token.start : token.end]
    year = _year_value(tokens[1], context) if len(tokens) > 1 else context.near.year
    holiday, others = holiday_of(name, context.language)
    day = holiday.date(year) + datetime.timedelta(context.offset)
    near = sorted(
        (abs((h.date(y) - day).days), n, y, h.name)
        for n, h in enumerate(others)
        for y in (day.year - 1, day.year, day.year + 1)
    )
    _, _, new_year, new_name = near[context.step % len(near)]
    yield token, token.write(new_name)
    if len(tokens) > 1:
        yield tokens[1], tokens[1].write(new_year)


def _week(token: Token, context: _Context) -> str:
    """Shift the number of a week, counted as ISO 8601 does; one that its year does not have is its last."""
    week, *years = token.values
    year = _full_year(years[0], context) if years else context.near.year
    last = datetime.date(year, 12, 28).isocalendar().week
    monday = datetime.date.fromisocalendar(year, min(week, last), 1)
    new = (monday + datetime.timedelta(context.offset)).isocalendar()
    return token.write(new.week, new.year)


def _days_of_a_month(tokens: Sequence[Token], text: str, context: _Context) -> _Written:
    """Shift ``19. bis 27.08.2025``, ``8/19-27/2025``, ``2025-08-19/27``: days whose month a date in numbers behind or
    before them says; one that falls into another month names it.
    """
    forward = tokens[0].kind in "FP"
    said = tokens[0 if forward else -1]
    whole = forward and said.kind == "F"  # the year first
    month, day = said.values[1:3] if whole else said.values[:2] if forward else said.values[1::-1]
    days = [t.values[0] for t in tokens if t is not said and t.kind not in "YQ"]
    days.insert(0 if forward else len(days), day)
    known_order = said.values[0] > 31 if whole else not (forward and day <= 12 and context.day_first)
    if not known_order or not 1 <= month <= 12 or not all(1 <= one <= 31 for one in days):
        yield from ((token, _single(token, text, context)) for token in tokens)
        return
    year = tokens[-1] if tokens[-1].kind in "YQ" else None
    if year is not None:
        known = _date(_year_value(year, context), month, day)
    elif said.kind == "F":
        known = _date(_full_year(said.values[0 if whole else 2], context), month, day)
    else:
        known = _day_of_year(month, day, context)
    new = _stretch(days, known, forward)
    late = new[-1].year - known.year if year is not None else 0  # the year is that of the last day
    new = [_moved(_date(old.year - late, old.month, old.day), context) for old in new]
    mark, digits = re.findall(r"\D+|\d+", text[said.start : said.end])[1:3]
    shown = new[0 if forward else -1].month
    for token, date in zip((t for t in tokens if t is not year), new, strict=True):
        if token is not said and date.month == shown:
            yield token, token.write(date.day)
        elif whole:
            yield token, said.write(date.year, date.month, date.day)
        elif forward:
            yield token, said.write(date.month, date.day)
        elif token is said:
            yield token, said.write(*(date.day, date.month, date.year)[: len(said.values)])
        else:
            yield token, f"{token.write(date.day)}{mark.strip()}{date.month:0{len(digits)}}"
        if forward:
            shown = date.month
    if year is not None:
        yield year, year.write(new[-1].year)


def _single(token: Token, text: str, context: _Context) -> str:
    """Return what a token that stands alone becomes."""
    kind = token.kind
    if kind == "F":
        return _numeric(token, context)
    if kind == "P":
        return _pair(token, context)
    if kind == "K":
        return _week(token, context)
    if kind == "S":
        return next(_seasons((token,), context))[1]
    if kind == "H":
        return next(_holiday((token,), text, context))[1]
    value = token.values[0]
    if kind == "E":
        a, b = token.values
        y, m = _moved_month(max(a, b), min(a, b), context)
        return token.write(y, m) if a > b else token.write(m, y)
    if kind == "M":
        return token.write((_moved_month(context.near.year, value, context)[1] + context.step - 1) % 12 + 1)
    if kind == "W":
        return token.write((value + context.offset + context.step) % 7)
    if kind == "X":
        return token.write(value + 10 * context.sign)
    if kind == "Y":
        new = value + context.sign
        if context.cap_age is not None and context.reference and context.reference.year - value > context.cap_age:
            new = context.reference.year + context.sign - context.cap_age - 1
        return token.write(new)
    if kind == "Q":
        return token.write((value + context.sign) % 100)
    return token.write(_moved_day(value, context))


def _shift(text: str, tokens: Sequence[Token], context: _Context) -> str:
    """Return ``text`` with its dates shifted."""
    if len(tokens) == 1:
        token = tokens[0]
        return f"{text[: token.start]}{_single(token, text, context)}{text[token.end :]}"
    kinds = "".join([token.kind for token in tokens])
    if kinds in ("MDY", "DMY"):
        return _whole(text, tokens, kinds, context)
    if "P" in kinds:
        context = context.beside(_last_day(tokens, context))
    written: list[tuple[Token, str]] = []
    for match in _UNITS.finditer(kinds):
        unit = tokens[match.start() : match.end()]
        kind = match.lastgroup
        if kind in ("mrange", "drange", "md", "dm"):
            written += _month_with_days(unit, text, context)
        elif kind in ("ymd", "mdy", "dmy"):
            written += _full_words(unit, kind, context)
        elif kind == "nny":
            written += _spoken(unit, context)
        elif kind == "oo" and unit[1].values[0] <= 12 and text[unit[0].end : unit[1].start].isspace():
            month = unit[1].values[0]
            moved = _moved(_day_of_year(month, unit[0].values[0], context), context)
            written += ((unit[0], unit[0].write(moved.day)), (unit[1], unit[1].write(moved.month)))
        elif kind == "oo":
            written += ((token, _single(token, text, context)) for token in unit)
        elif kind in ("ym", "my", "mmy"):
            written += _months_of_year(unit, context)
        elif kind == "sy":
            written += _seasons(unit, context)
        elif kind == "hy":
            written += _holiday(unit, text, context)
        elif kind in ("listed", "behind"):
            written += _days_of_a_month(unit, text, context)
        else:
            written.append((unit[0], _single(unit[0], text, context)))
    out, read = [], 0
    for token, new in sorted(written, key=lambda pair: pair[0].start):
        out += [text[read : token.start], new]
        read = token.end
    return "".join(out) + text[read:]


def _last_day(tokens: Sequence[Token], context: _Context) -> datetime.date:
    """Return the day that the days of a text without a year are near to, of those in numbers: the last one."""
    for token in reversed(tokens):
        if token.kind == "F":
            return _date(*_read(token, context)[:3])
    a, b = next(token.values for token in reversed(tokens) if token.kind == "P")
    month, day = (b, a) if a > 12 or (context.day_first and b <= 12) else (a, b)
    return _day_of_year(month, day, context) if 1 <= month <= 12 and 1 <= day <= 31 else context.near


def _full_words(unit: Sequence[Token], kind: str, context: _Context) -> _Written:
    """Shift a full date with the month in words; a third plain number is a year of two digits."""
    year, month, day = (unit[kind.index(letter)] for letter in "ymd")
    new = _moved(_date(_year_value(year, context), month.values[0], day.values[0]), context)
    yield month, month.write(new.month)
    yield day, day.write(new.day)
    yield year, year.write(new.year)


def _whole(text: str, tokens: Sequence[Token], kinds: str, context: _Context) -> str:
    """Do the same as `_full_words` where nothing else is to be written."""
    first, second, last = tokens
    month, day = (first, second) if kinds == "MDY" else (second, first)
    new = _moved(_date(_year_value(last, context), month.values[0], day.values[0]), context)
    one, two = (new.month, new.day) if kinds == "MDY" else (new.day, new.month)
    return (
        f"{text[: first.start]}{first.write(one)}{text[first.end : second.start]}{second.write(two)}"
        f"{text[second.end : last.start]}{last.write(new.year)}{text[last.end :]}"
    )


# all dates of a document


class _Originals:
    """Tells where originals of a document stand in a text; most documents do not ask."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts
        self._finder: Finder | None = None

    def places(self, text: str) -> list[tuple[str, int]]:
        if self._finder is None:
            self._finder = finder({text.casefold() for text in self._texts if len(text) >= _LONG})
        return self._finder.places(text)


def shift_dates(
    document: Document,
    spans: Sequence[Span],
    scope: Scope,
    keyed: Keyed,
    preserve_weekday: bool,
    day_first: bool | None,
    cap_age: int | None,
) -> list[str]:
    """Return one shifted date a span; parameters as those of `deid.replacement.dates.DateShift.shift` and its operator.

    Raises
    ------
    OffsetError
        When a span lies outside the text.
    """
    texts = texts_of(document, spans)
    beside = texts_of(document, document.spans)
    parsed = {text: tokenize_date(text, language=scope.language) for text in dict.fromkeys(texts)}
    if day_first is None:
        day_first = days_first(texts, not scope.language.startswith("en"))
    originals = _Originals([*parsed, *beside])
    reference = scope.reference_date
    near = reference or _latest(parsed.values(), day_first) or _PLAIN_DAY
    behind = _days_behind(
        document.text, spans, [parsed[text] for text in texts], _Context(0, day_first, near, reference)
    )
    asked = list(zip(texts, behind, strict=True))
    usual: dict[tuple[str, datetime.date | None], str] = {}
    # where no other document has to agree, an offset is looked for that brings no original back
    tries = _TRIES if scope.patient_id is None and len(parsed) < _MANY else 1
    for attempt in range(tries):
        offset = offset_of(scope, preserve_weekday=preserve_weekday, attempt=attempt, keyed=keyed)
        context = _Context(offset, day_first, near, reference, cap_age, preserve_weekday, scope.language[:2])
        shifted = {
            (text, day): _written(text, parsed[text], context.beside(day) if day else context, originals)
            for text, day in dict.fromkeys(asked)
        }
        fits = not any(new[0] == "[" and parsed[text] for (text, _), new in shifted.items())
        if tries == 1 or (fits and not _any_holds(shifted.values(), originals)):
            return [shifted[one] for one in asked]
        usual = usual or shifted
    return [usual[one] for one in asked]


def _days_behind(
    text: str, spans: Sequence[Span], dates: Sequence[Sequence[Token] | None], context: _Context
) -> list[datetime.date | None]:
    """Return of each date that is the first of a stretch, and says no year, the last day: ``05.06. bis 29.05.2022``."""
    found: list[datetime.date | None] = [None] * len(spans)
    for n in range(len(spans) - 1):
        first, last = dates[n], dates[n + 1]
        if not (first and last) or len(first) > 1 or first[0].kind != "P" or len(last) > 1 or last[0].kind != "F":
            continue
        between = text[spans[n].end : spans[n + 1].start]
        if 0 < len(between) <= _MOST_BETWEEN and "\n" not in between:
            with suppress(ValueError):  # a year before 1
                found[n] = _date(*_read(last[0], context)[:3])
    return found


def _latest(dates: Iterable[Sequence[Token] | None], day_first: bool) -> datetime.date | None:
    """Return the latest full date of a document that has no reference day."""
    context = _Context(0, day_first, _PLAIN_DAY)
    found: list[datetime.date] = []
    for tokens in filter(None, dates):
        unit = _UNITS.fullmatch("".join([token.kind for token in tokens]))
        with suppress(ValueError):  # a year before 1 or after 9999
            full = [token for token in tokens if token.kind == "F"]
            if full:
                found += [_date(*_read(token, context)[:3]) for token in full]
            elif unit and unit.lastgroup in ("ymd", "mdy", "dmy"):
                year, month, day = (tokens[unit.lastgroup.index(letter)] for letter in "ymd")
                found.append(_date(_year_value(year, context), month.values[0], day.values[0]))
    return max(found, default=None)


def _holds(new: str, originals: _Originals) -> bool:
    """Tell whether a surrogate holds an original as a word."""
    low = new.casefold()
    places = originals.places(low)
    return bool(places) and any(is_whole(low, at, original) for original, at in places)


def _any_holds(surrogates: Collection[str], originals: _Originals) -> bool:
    """Tell the same of many: where no original stands in them together, none stands in one as a word."""
    together = originals.places("\n".join(surrogates).casefold())
    return bool(together) and any(_holds(new, originals) for new in surrogates)


def _written(text: str, tokens: Sequence[Token] | None, context: _Context, originals: _Originals) -> str:
    """Return a shifted date; a tag for a text that is no date or would stay as it is."""
    if not tokens:
        return tag("DATE", text)
    # a name of a month, weekday, season or holiday that stands alone has other values to turn to
    alone = len(tokens) == 1 and tokens[0].kind in ("MSH" if context.keep_weekdays else "MWSH")
    new = ""
    for step in range(8):
        context.step = step
        try:
            new = _shift(text, tokens, context)
        except (ValueError, OverflowError):  # a year before 1 or after 9999
            return tag("DATE", text)
        if not alone or (new != text and not _holds(new, originals)):
            break
    else:
        return tag("DATE", text)
    return new if text.casefold() not in new.casefold() else tag("DATE", text)
