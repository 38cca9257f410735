"""Where a span begins and ends: what signs belong to it, which pieces are one, and where a model took too much for one.

A name does not go on in the next column, row or sentence: *Okeke* and *Tsosie, R* are two where a row of a table ends
between them, and *Kirkbride. Femi* where a sentence does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import regex

from deid.detection.overlaps import score_of
from deid.detection.things import LEADERS
from deid.document import Span
from deid.phi import GROUP
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, NUMBER, TITLE
from deid.reading.vocabulary import Vocabulary
from deid.rules.person_words import PERSON
from deid.rules.scene import Scene
from deid.rules.word_classes import CALENDAR, TITLES

if TYPE_CHECKING:
    from mypy_extensions import i64

PEOPLE: Final = frozenset(("PATIENT", "DOCTOR"))
YEAR: Final = regex.compile(
    r"(?<![0-9])(?:19|20)[0-9]{2}(?:([/.-])[0-9]{1,2}\1[0-9]{1,2})?(?![0-9])|[0-9]{1,2}([/.-])[0-9]{1,2}\2[0-9]{2}(?![0-9])"
)
"""What makes a date whole: another one behind it is one of its own."""
_TWO_DATES: Final = 8
"""Figures of two years, the least that two dates have."""
_GIVEN: Final = classes_of("given")
_POPULAR: Final = classes_of("popular")
_LAST: Final = classes_of("last")
_CLINICAL: Final = classes_of("clinical", "section")
_SPOKEN: Final = _CLINICAL | classes_of("word")
_LONG: Final = 8
"""Letters of a noun that is hardly a surname."""
_CALLED: Final = frozenset(("PHONE", "FAX"))
_WORDED: Final = frozenset(("STREET", "CITY", "HOSPITAL", "ORGANIZATION", "DEPARTMENT", "PROFESSION"))
"""What ends in a word, or in an abbreviation with a full stop."""
_OPENERS: Final = frozenset("(#+'\u2018\u2019@*[")
"""Signs that a span may begin with."""
_CLOSERS: Final = frozenset(".)]'\u2019\"\u201d*")
"""Signs that a name may end with."""
_ENDED: Final = regex.compile(r"[^.]*[A-Za-z][^.]*[0-9]\.")
"""A day behind a word, and the full stop of its sentence: *April 5.*"""
_STOP: Final = regex.compile(r"(?<![A-Za-z.])\p{L}{2,}\.\Z")
"""A word and the full stop of a sentence; that of an abbreviation and of an initial stays."""
_MISREAD: Final = regex.compile(r"[0-9]{1,2}(?![0-9])\p{L}{0,12}(?![\w/-])")
"""What a scanner made of the letters that a word goes on with: *Adebay0*, *Blumentha1*."""
_HYPHENED: Final = regex.compile(r"-\p{Lu}\p{Ll}{1,15}(?![\w-])")
"""The second half of a name: *Sun-Hi*."""
_INITIAL: Final = regex.compile(
    r", ?[A-Z](?:\.(?! ?[A-Z])(?=[ \t]*[^ \n])|(?![\p{L}0-9.'\u2019/-]|,? ?\p{Lu}?\p{Ll}))"
    r"(?!(?<=[MF]),? ?[0-9]| [0-9]{1,3}[.][0-9])"
)
"""The initial that stands behind a surname, in a list or a column: *Treadway, B. 66M*, *Mavrogordatos, E  EDW*."""
_JOINS: Final = {
    "NAME": regex.compile(r"[ \u00a0]|-"),
    "DATE": regex.compile(r",?[ \u00a0]{1,2}"),
    "STREET": regex.compile(r",?[ \u00a0]{1,2}"),
    "HOSPITAL": regex.compile(r"[ \u00a0]"),
    "PHONE": regex.compile(r",?[ \u00a0]"),
}
_BOUND: Final = regex.compile(
    r"[ \u00a0]*(?:\t|[ \u00a0]{3}|\n\s*\n)\s*|\n[ ]*|[ ]{2}|(?<=\p{Ll}{3})\.[ ](?=\p{Lu})|[ ]?[._](?:[ ]?[._]){2,}[ ]*"
)
"""What may part the columns of a line, passages, rows, sentences."""
_BLANK: Final = 0x20
_HARD_BLANK: Final = 0xA0
_LOW_LINE: Final = 0x5F
_STOP_SIGN: Final = 0x2E
_TABULAR: Final = regex.compile(r"\t|\||[^\s][ ]{3}")
_DOUBLE: Final = regex.compile(r"[^\s.?!:][ ]{2,}(?=\S)")
"""A gap of a line in columns; behind a full stop typists leave two blanks."""
_DASHED: Final = regex.compile(r"(?<=[\w)])[ ]+[-\u2013]\Z")
"""The dash behind which something else follows: *Salem -*."""
_CUT: Final = regex.compile(r"/[A-Za-z]")
_LINK: Final = 4
"""Letters of small words between a name and a place."""
_WIDEST_GAP: Final = 3
"""Characters that `_JOINS` may have."""
_DASHES: Final = frozenset("-\u2013")
_OF_INITIALS: Final = frozenset(", ")
"""Signs that a dash before a gap, and an initial behind a name, begin with."""
_OR: Final = regex.compile(r"[ ]*(?:/|;|,[ ]|[|])[ ]*")
_APART: Final = frozenset("/;,|")
"""Signs one of which it has."""
_DIGITS: Final = 7
"""Digits of the shortest telephone number that stands for itself."""
_SEPARATED: Final = regex.compile(r"[0-9][/-]")
_FULL_DATE: Final = regex.compile(r"[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{2,4}")
_UNDATED: Final = classes_of("institution", "eponym", "clinical")
"""Words that a date may have taken along: *NCCN 2024*, *2016 IDSA*."""
_CALENDAR: Final = classes_of("month", "weekday", "season", "holiday")
_HOUR: Final = regex.compile(
    r"(?<=\p{L}\.?|[0-9][./-][0-9]{1,4})[.,]?[ \u00a0]+(?:[01]?[0-9]|2[0-4])(?:[.:][0-5][0-9]|[ ]?u)?\Z"
)
"""A number at the end of a date, behind a month or a day: its hour, or the beginning of one."""
_OF_HOUR: Final = regex.compile(r"[.,]?[ \u00a0]+[0-9]{1,2}(?:[.:][0-5][0-9](?![0-9:/-]|\.[0-9])|[ ]?u\b)")
_WEEKDAY: Final = classes_of("weekday")
_CLOCK: Final = regex.compile(r"(?<=\p{L}|[0-9]{2})[ \n]+((?:[01][0-9]|2[0-3])[.]?[0-5][0-9])\Z")
"""A time behind a day."""
_COMMA: Final = regex.compile(r",[ ]?\p{L}$")
_HALF: Final = regex.compile(r",?[ ]\p{Lu}$")
_OTHER_HALF: Final = regex.compile(r"/[a-z](?![A-Za-z0-9])")
"""What two letters stand for: *Velayudhan W/o Nair*."""
_CUTS: Final = frozenset("/'\u2019")
_FIGURES: Final = frozenset("0123456789")
_LETTER: Final = regex.compile(r"(?<=\p{L}),?[ ]\p{L}$")
"""The letter of a code, or of a measure, that a name took along: *Birdsong, G3P1011*, *Boateng, K 5.9*."""
_MEASURED: Final = regex.compile(r"[ ][0-9]{1,3}[.][0-9]")
_APOSTROPHES: Final = frozenset("'\u2019")
_ARTICLE: Final = 2
"""Characters of an elided article."""
_BEHIND_ARTICLES: Final = frozenset(("DATE", "COUNTRY", "STATE", "LOCATION-OTHER"))
"""Categories beside `_WORDED` whose names an article is none of."""
_TWO: Final = 2
_LABEL: Final = regex.compile(r"\p{L}+(?:[ ]\p{L}+){0,3}:(?![0-9])")
"""What begins a line that goes on with no name."""
_SHORT: Final = 50
"""Characters of a line that is shorter than lines that are wrapped."""
_OURS: Final = ("model:", "rule:", "consistency:")
"""Beginnings of the sources whose spans may lose words: what others say is theirs."""


def pieces(scene: Scene, span: Span) -> list[Span]:
    """Return what a model found in one column, one row and one sentence: what stands in the next is something else.

    Parameters
    ----------
    scene : Scene
    span : Span
        A name, a place or an occupation.

    Returns
    -------
    list of Span
        The span itself, where nothing parts it.
    """
    text = scene.text
    if not _may_part(text, span.start, span.end):
        return [span]
    found = []
    start = span.start
    for gap in _BOUND.finditer(text, span.start, span.end):
        if gap.start() > start and _parts(scene, gap.start(), gap.end(), span.category in PEOPLE):
            found.append(span.moved(start, gap.start()))
            start = gap.end()
    if start >= span.end:
        return found
    return [*found, span if start == span.start else span.moved(start, span.end)]


def _may_part(text: str, start: int, end: int) -> bool:
    """Tell whether a stretch has what all matches of `_BOUND` have: few have it."""
    at: i64 = start
    stop: i64 = end
    last: i64 = 0
    while at < stop:
        sign: i64 = ord(text[at])
        at += 1
        if sign == _BLANK:
            if last in (_BLANK, _STOP_SIGN):
                return True
        elif sign < _BLANK or sign == _HARD_BLANK or (sign == last and sign in (_STOP_SIGN, _LOW_LINE)):
            return True
        last = sign
    return False


def _parts(scene: Scene, start: int, end: int, person: bool) -> bool:
    """Tell whether what stands between two words parts them."""
    text = scene.text
    if LEADERS.fullmatch(text, start, end):
        return True
    if text[start] == ".":
        return scene.vocabulary.expressions["abbreviated"].search(text, max(0, start - 8), start) is None
    if "\n" not in text[start:end] and end - start == _TWO:
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        gaps = _DOUBLE.finditer(text, first, len(text) if last < 0 else last)
        return next(gaps, None) is not None and next(gaps, None) is not None
    if text.count("\n", start, end) != 1 or "\t" in text[start:end]:
        return True
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if (person and start - first < _SHORT) or _LABEL.match(text, end) is not None:
        return True
    last = len(text) if last < 0 else last
    return _TABULAR.search(text, first, start) is not None or _TABULAR.search(text, end, last) is not None


def date_within(scene: Scene, span: Span, words: list[int]) -> Span:
    """Return a date without a word before its number that is none of the calendar, or is too much."""
    index = scene.at(span.start)
    if index + 1 < scene.count and scene.kinds[index] > NUMBER:
        behind = scene.starts[index + 1]
        if scene.has(index, _CALENDAR):
            odd = _FULL_DATE.fullmatch(scene.text, behind, span.end) is not None
        else:
            odd = scene.kinds[index] == TITLE and scene.kinds[index + 1] == NUMBER
            odd = odd and _SEPARATED.search(scene.text, behind, span.end) is not None
        if odd:
            return span.moved(behind, span.end)
    return _dated(scene, span, words)


def _dated(scene: Scene, span: Span, words: list[int]) -> Span:
    """Return a date without an hour, guidelines, comparison, the next line at its edges: *10 mei 8.12*, *2016 IDSA*."""
    start, end = span.start, span.end
    hour = _HOUR.search(scene.text, start, end)
    if hour is not None and _OF_HOUR.match(scene.text, hour.start()):
        end = hour.start()
    cell = scene.text.find(";", start, end)
    if cell > start and _figures(scene, start, cell):
        end = cell
    for i in words:
        below = i > words[0] and scene.breaks[i] and not scene.has(i, _CALENDAR)
        if below and not _figures(scene, scene.starts[i], end):
            end = scene.ends[i - 1]
            break
        if scene.has(i, _UNDATED) and not scene.has(i, _CALENDAR | PERSON):
            if _figures(scene, scene.ends[i], end):
                start = scene.starts[i + 1]
            elif _figures(scene, start, scene.starts[i]):
                end = scene.ends[i - 1]
                break
    last = scene.at(end - 1)
    if scene.says(last, "versus") and scene.starts[last] > start:
        end = scene.ends[last - 1]
    clock = _CLOCK.search(scene.text, start, end)
    if clock is not None and _is_time(scene, clock[1], clock.start() - 1):
        end = clock.start()
    return span if (start, end) == (span.start, span.end) else span.moved(start, end)


def _is_time(scene: Scene, clock: str, before: int) -> bool:
    """Tell whether four figures behind a day are a time and no year: *Sat 1922*, *14 Aug 0622*, *17th Sept 11.30*."""
    if not clock.isdecimal() or not "1800" <= clock < "2100":
        return True
    return scene.has(scene.at(before), _WEEKDAY)


def _figures(scene: Scene, start: int, end: int) -> bool:
    return any(map(str.isdigit, scene.text[start:end]))


def called_apart(text: str, span: Span) -> list[Span]:
    """Return the telephone numbers that a model took for one: *541-555-0110 / 541-555-0192*."""
    if not _APART.intersection(text[span.start : span.end]):
        return [span]
    parts = []
    start = span.start
    for gap in _OR.finditer(text, span.start, span.end):
        parts.append(span.moved(start, gap.start()))
        start = gap.end()
    parts.append(span.moved(start, span.end))
    whole = all(sum(map(str.isdigit, text[part.start : part.end])) >= _DIGITS for part in parts)
    return parts if whole else [span]


def behind_title(scene: Scene, span: Span) -> Span:
    """Return a name without what follows its surname: *Demir* of *Frau Demir Dialyse morgen*.

    Only languages whose nouns have capitals have words for that. Behind a given name alone any noun may be the surname.
    """
    goes_on = scene.words["behind_surname"]
    words = scene.inside(span.start, span.end) if goes_on and span.category in PEOPLE else []
    if len(words) < 2:
        return span
    before = words[0] - 1
    before -= scene.word(before) == "."
    first = scene.classes[words[0]]
    titled = before >= 0 and scene.has(before, TITLES)
    titled = titled and not (first & _GIVEN and (first & _POPULAR or not first & _LAST))
    last = len(words) - 1
    while last and words[last] == words[last - 1] + 1:
        if not (titled and scene.folded[words[last]] in goes_on) and not _goes_on(scene, words, last, titled):
            break
        last -= 1
    return span if last == len(words) - 1 else span.moved(span.start, scene.ends[words[last]])


def _goes_on(scene: Scene, words: list[int], last: int, titled: bool) -> bool:
    """Tell whether the last word of a name is the first of what follows it: a word of the language, and no name.

    A short noun behind one word that no title stands before may be the surname.
    """
    index = words[last]
    if not scene.has(index, _SPOKEN) or scene.has(index, PERSON):
        return False
    long = len(scene.strings[index]) >= _LONG
    if scene.has(index, _CLINICAL):
        return titled or long
    return scene.kinds[index] == LOWER or (long and (titled or last > 1))


def in_one_row(scene: Scene, span: Span) -> Span:
    """Return what of a name stands in one row of a table with bars, and has no half of an abbreviation or of a word.

    Of *patel, d/c heparin* the name is *patel*.

    Lines of a table are as long as lines that are wrapped, but no name goes over their ends.
    """
    text = scene.text
    behind = text[span.end : span.end + 1]
    cut = behind in _CUTS and (
        _CUT.match(text, span.end) or scene.vocabulary.expressions["contraction"].match(text, span.end)
    )
    half = _COMMA.search(text, span.start, span.end) if cut else None
    if cut and half is None and _OTHER_HALF.match(text, span.end):
        half = _HALF.search(text, span.start, span.end)
    if half is not None:
        return span.moved(span.start, half.start())
    valued = behind in _FIGURES or (behind == " " and _MEASURED.match(text, span.end) is not None)
    if valued and (letter := _LETTER.search(text, span.start, span.end)):
        return span.moved(span.start, letter.start())
    if "\n" not in text[span.start : span.end]:
        return span
    first = text.rfind("\n", 0, span.start) + 1
    at = text.rfind("\n", span.start, span.end) + 1
    return span.moved(at, span.end) if "|" in text[first:at] and at < span.end else span


def joined(text: str, spans: Sequence[Span], vocabulary: Vocabulary) -> list[Span]:
    """Trim spans to their words, and join adjacent pieces of one name, date or address.

    Parameters
    ----------
    text : str
    spans : sequence of Span
        Sorted, not overlapping.
    vocabulary : Vocabulary
        Tells the full stops of abbreviations.

    Returns
    -------
    list of Span
    """
    found: list[Span] = []
    dated = False  # whether the last one has a year, where it is made of several pieces
    reach, of = -_WIDEST_GAP, ""  # where the last one ends, and its category
    for number, span in enumerate(spans):
        until = spans[number + 1].start if number + 1 < len(spans) else len(text)
        start, end = _trimmed(text, span, until, vocabulary)
        if start >= end or not (text[start].isalnum() or any(c.isalnum() for c in text[start:end])):
            continue
        span, category = span.moved(start, end), span.category
        if start - reach <= _WIDEST_GAP and category == of:
            before = found[-1]
            own = category == "DATE" and _has_year(text, start, end)
            dated = dated or (own and _has_year(text, before.start, reach))
            gap = None if own and dated else _JOINS.get(GROUP[category]) or _JOINS.get(category)
            if gap is not None and gap.fullmatch(text, reach, start):
                best = max(before, span, key=score_of)
                found[-1] = best.moved(before.start, end)
                dated, reach = dated or own, end
                continue
        found.append(span)
        dated, reach, of = False, end, category
    return _unlinked(text, found, vocabulary)


def _has_year(text: str, start: int, end: int) -> bool:
    return YEAR.search(text, start, end) is not None


def _ends(text: str, start: int, end: int, vocabulary: Vocabulary) -> bool:
    """Tell whether a full stop is that of a sentence."""
    found = _STOP.search(text, start, end)
    return found is not None and vocabulary.expressions["kept_stop"].search(text, start, end) is None


def _trimmed(text: str, span: Span, until: int, vocabulary: Vocabulary) -> tuple[int, int]:
    """Return the edges of a span; where the next one begins it ends at the latest."""
    start, end, category = span.start, span.end, span.category
    while start < end and not text[start].isalnum() and text[start] not in _OPENERS:
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if (
        end - start >= _ARTICLE
        and text[start + 1] in _APOSTROPHES
        and (category in _WORDED or category in _BEHIND_ARTICLES)
    ):
        start += _ARTICLE * (text[start] in vocabulary.words["elided"])  # "l'hôpital", not "L'Isle"
    worded = category in PEOPLE or category in _WORDED or category == "DATE"
    dashed = text[end - 1 : end] in _DASHES and (worded or category == "ROOM")
    if dashed and (dash := _DASHED.search(text, start, end)):
        end = dash.start()
    if worded and text[end - 1 : end] in (",", ";") and end - start > 1:
        end -= 1
    if text[end - 1 : end] == "." and (category in _CALLED or (worded and _ends(text, start, end, vocabulary))):
        end -= 1
    if category == "DATE" and _ENDED.fullmatch(text, start, end):
        end -= 1
    if text[end - 1 : end] == ")" and "(" not in text[start:end]:
        end -= 1
    if text[start : start + 1] == "(" and ")" not in text[start:end]:
        start += 1
    if text[start : start + 1] == "@" and (category == "USERNAME" or category in PEOPLE):
        start += 1
    behind = text[end : end + 1]
    misread = worded and behind in _FIGURES and text[end - 1 : end].isalpha()
    if misread and (rest := _MISREAD.match(text, end)) and rest.end() <= until:
        end = rest.end()
    if category in PEOPLE or category == "OTHER":
        while end > start and not (text[end - 1].isalnum() or text[end - 1] in _CLOSERS):
            end -= 1
        hyphened = text[end - 1 : end].isalpha() and text.startswith("-", end)
        if hyphened and (rest := _HYPHENED.match(text, end)) and rest.end() <= until:
            end = rest.end()
    alone = category in PEOPLE and text[end : end + 1] in _OF_INITIALS and "," not in text[start:end]
    if alone and text[end - 1 : end].isalpha():
        rest = _INITIAL.match(text, end)
        if rest is not None and rest.end() <= until:
            end = rest.end()
    return start, end


def _unlinked(text: str, spans: list[Span], vocabulary: Vocabulary) -> list[Span]:
    """Return names and places without small words that lead to what stands behind: *Klerks in*, *de*."""
    inside, links = vocabulary.words["place_in"], vocabulary.words["institution_joiner"]
    kept: list[Span] = []
    for span in spans:
        start, end = span.start, span.end
        if span.source.startswith(_OURS) and (span.category in PEOPLE or span.category in _WORDED):
            at = max(start, text.rfind(" ", start, end) + 1)
            while 0 < end - at <= _LINK and (text[at:end] in inside or text[at:end] in links):
                end = at
                while end > start and text[end - 1] == " ":
                    end -= 1
                at = max(start, text.rfind(" ", start, end) + 1)
        if end == span.end:
            kept.append(span)
        elif end > start:
            kept.append(span.moved(start, end))
    return kept


def may_be_several(text: str, start: int, end: int) -> bool:
    """Tell whether what a model took for a date may be several: there are figures for two, and something between."""
    figures, apart = 0, False
    for at in range(start, end):
        sign = text[at]
        if sign.isdigit():
            figures += 1
        else:
            apart = apart or sign in ",;" or sign.isspace()
    return apart and figures >= _TWO_DATES


def dates_of(scene: Scene, span: Span) -> Iterator[Span]:
    """Yield the dates that a model took for one: *2012 vs 2024*."""
    text, start = scene.text, span.start
    for year in list(YEAR.finditer(text, span.start, span.end))[:-1]:
        behind = year.end()
        if not (text[behind].isspace() or text[behind] in ",;"):
            continue  # "2012-2024"
        index = scene.at(behind)
        while (
            index < len(scene)
            and scene.starts[index] < span.end
            and scene.kinds[index] != NUMBER
            and not scene.has(index, CALENDAR)
        ):
            index += 1
        if index < len(scene) and behind <= scene.starts[index] < span.end:
            yield span.moved(start, behind)
            start = scene.starts[index]
    yield span.moved(start, span.end)
