"""What a number can be: whether a span of numbers reads as the kind of identifier that somebody took it for.

*Sodium 138 140 137 139* has the digits of a telephone number, *GCS 15 15 14* those of a date, and neither is one. What
is made of numbers counts only if it has a reading of its category, whoever proposed it: digits, grouping, calendar, a
label before it, no unit behind it. In a row of values that belong to a clinical measure only a form of its own makes a
number an identifier, or an explicit label; what has it inside a longer row is cut out of the row. Words and units are
data of the language (`deid.reading.vocabulary`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from deid.detection.overlaps import score_of
from deid.document import Span
from deid.phi import CANONICAL, GROUP, find_label
from deid.reading.lexicon import Lexicon, classes_of
from deid.reading.view import NUMBER, SIGN, UPPER, view_of
from deid.reading.vocabulary import Vocabulary
from deid.rules import checks
from deid.rules.fields import Scan
from deid.rules.scene import Scene, scene_of

if TYPE_CHECKING:
    from mypy_extensions import i64

_CALENDAR: Final = classes_of("month", "weekday", "season", "holiday")
_STATE_CODE: Final = classes_of("state_code")
_MEASURE: Final = classes_of("clinical", "section", "device")
_LONGEST_WALK: Final = 14
"""Words between a number and the label that it belongs to."""
_ROW: Final = 3
"""Numbers that make a row."""
_ALONE: Final = 0
_ROWED: Final = 1
_CLINICAL: Final = 2
_MEASURED: Final = 3
"""How numbers stand: by themselves, several in a row, such a row behind a clinical word, behind the name of a measure
or before a unit."""
_NEAR: Final = 30
_WINDOW: Final = 120
"""Characters around a number in which a date makes another number a date, and that are looked at."""
_REMEMBERED: Final = 1024
"""Labels whose reading is kept."""
_VAGUE: Final = 0.5
"""Certainty of what a model calls a date and nothing shows to be one."""

_NUMBER: Final = r"[0-9]+(?:[.,:/][0-9]+)*"
_GAP: Final = r"[ \t\u00a0]*(?:[,;|/\u2013\u2192>~-]|->|=>|--)?[ \t\u00a0]*"
_RUN: Final = re.compile(rf"{_NUMBER}(?:{_GAP}{_NUMBER})*")
_LETTERED: Final = re.compile(r"[^\W\d_][ /]{0,2}[0-9]{1,3}|[0-9]{1,3}[ /]{0,2}[^\W\d_]")
"""A letter and a short number: sex and age (*F/66*), a vertebra, a dose; neither a date nor a name."""
_OF_RUNS: Final = "0123456789.,:/ \t\u00a0;|\u2013\u2192~>=-"
"""All characters of a run."""
_PIECE: Final = re.compile(_NUMBER)
_GROUP: Final = re.compile(r"[0-9]+")

_BEGINS: Final = r"(?<![0-9])(?<![0-9][-./,:])"
_SEPARATED_PHONE: Final = (
    r"(?:\+?1[-. ])?(?:\([2-9][0-9]{2}\)[-. ]?[0-9]{3}[-. ][0-9]{4}|[2-9][0-9]{2}([-./])[0-9]{3}[-. ][0-9]{4}"
    r"|[2-9][0-9]{2} [0-9]{3}-[0-9]{4})"
    r"|\+[1-9][0-9]{0,2}[-. ]?(?:\([0-9]{1,4}\)[-. ]?)?[0-9]{1,4}(?:[-. ]?[0-9]{2,8}){1,4}"
)
_OWN_FORM: Final = {
    "PHONE": re.compile(rf"{_BEGINS}(?:{_SEPARATED_PHONE})(?![0-9])"),
    "DATE": re.compile(
        rf"(?:{_BEGINS}|(?<=[./][0-9]{{2}}-)|(?<=[./][0-9]{{4}}-)|(?<=\.[0-9]{{2}}/)|(?<=\.[0-9]{{4}}/))"
        r"(?:[0-9]{1,2}([/-])[0-9]{1,2}\1(?:[0-9]{4}|[0-9]{2})(?!\1[0-9])"
        r"|[0-9]{4}([/-])[0-9]{1,2}\2[0-9]{1,2}(?!\2[0-9])"
        r"|[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2}))(?![0-9])"
    ),
    "ID": re.compile(
        _BEGINS + r"(?:[0-9]{3}-[0-9]{2}-[0-9]{4}|(?=(?:[0-9]{2}-){0,3}0)[0-9]{2}(?:-[0-9]{2}){3}"
        r"|[0-9]{2,4}-[0-9]{2,4}-[0-9]{2,6}|[0-9]{7,18})(?![0-9]|[-.,/:][0-9])"
    ),
    "ZIP": re.compile(r"(?<![0-9.,])[0-9]{5}-[0-9]{4}(?![0-9])"),
}
"""Forms that no row of values has."""
_ZERO: Final = 0x30
_NINE: Final = 0x39
_A: Final = 0x61
_Z: Final = 0x7A
_SMALL: Final = 0x20
"""What makes a letter small."""
_DAY: Final = r"(?:3[01]|[12][0-9]|0?[1-9])"
_MONTH: Final = r"(?:1[0-2]|0?[1-9])"
_YEAR: Final = "(?:[0-9]{4}|[0-9]{2})"
_TO: Final = r" ?[-/\u2013] ?"
_DAYS: Final = rf"{_DAY}\.?{_TO}{_DAY}([-/.]){_MONTH}"
_STRETCH: Final = re.compile(
    rf"{_DAYS}\1{_YEAR}"
    rf"|{_MONTH}/{_DAY}(?:(?:(?:, ?|{_TO}| ?& ?| [a-z]{{2,7}} ){_DAY}){{1,8}}/[0-9]{{4}}"
    rf"|{_TO}(?:1[3-9]|[23][0-9])/[0-9]{{2}})"
    rf"|[0-9]{{4}}([-/.]){_MONTH}\2{_DAY}(?:/|--|[-\u2013])(?:(?:[0-9]{{4}}\2)?{_MONTH}\2)?{_DAY}"
)
"""From a day to another one, which say their month or year once: *17-23/11/2024*, *11/17-23/2024*, *2024-11-17/23*."""
_RULED_STRETCH: Final = re.compile(rf"{_DAYS}\.?")
"""The same without a year, which needs a rule that looks at what stands around: *17-23/11*."""
_TWO_DAYS: Final = re.compile(
    rf"([0-9]{{1,2}}([-./])[0-9]{{1,2}}(?:\2{_YEAR}|\.)?)(?:{_TO}| [a-z]{{1,4}} )"
    rf"([0-9]{{1,2}}\2[0-9]{{1,2}}(?:\2({_YEAR})|\.)?)"
)
"""Two days, each with its month: *5/5/25-13/5/25*, *05.05. - 13.05.2025*; without a year by a rule: *17/11-23/11*."""
_OPEN_DAY: Final = re.compile(r"(?:3[01]|[12][0-9]|0[1-9])\.(?:1[0-2]|0[1-9])")
"""A day that a decimal may look like, for which a rule stands that looks at what is around: *vom 26.11 bis 03.12*."""
_PADDED: Final = re.compile(r"(?:[0-3]?[0-9]\.0[1-9]|0[1-9]\.1[0-2])\.[ :,)]")
"""A day of two figures each."""
_LOOSE_PHONE: Final = re.compile(
    r"\(?(?:\+?1[-. ]?)?(?:[2-9][0-9]{2}[-. )/]{0,2})?[2-9][0-9]{2}[-. ][0-9]{4}|(?:\+?1)?[2-9][0-9]{9}"
    r"|\(?0[0-9]{2,5}\)?[ -]?[0-9]{3,4}[ -]?[0-9]{3,6}"
    r"|\(?0[2-9]\)?[ -][0-9]{3,4}[ -][0-9]{4}|[0-9]{3}(?: ?[0-9]{2,3}){2,3}|[0-9]{7,15}"
)
_LOCAL: Final = re.compile(r"[2-9][0-9]{2}-0[0-9]{3}")
_SURE: Final = 0.8
"""Certainty of a rule that had a word for it."""
_LOOSE_DATE: Final = re.compile(
    r"[0-9]{1,2}[/-][0-9]{1,2}|[0-9]{1,2}[/-][0-9]{4}|[0-9]{4}[/-][0-9]{1,2}|'?[0-9]{2}'?s|['\u2019\u2018][0-9]{2}"
    r"|(?:18|19|20)[0-9]{2}(?:'?s)?(?: ?[-/\u2013] ?(?:[0-9]{2}|(?:18|19|20)[0-9]{2}))?|[0-9]{8}(?:[0-9]{4}|[0-9]{6})?"
    r"|[0-9]{6}"
)
_TO_DAY: Final = re.compile(r"([0-9]{1,2}/[0-9]{1,2}) ?[-\u2013] ?(?:3[01]|[12][0-9])")
"""Days of one month."""
_CHAIN: Final = re.compile(r"(?<![0-9])[0-9]{1,4}([-/])[0-9]{1,4}\1[0-9]{1,4}\1[0-9]")
"""More numbers between equal signs than a date has."""
_CHAINED: Final = len("1-1-1")
"""Characters of a span that is the beginning of such a chain; two more are looked at."""
_SOME_DATE: Final = re.compile(r"(?<![0-9])[0-9]{1,2}[/-][0-9]{1,2}(?![0-9])|(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_SPACED_DATE: Final = re.compile(
    r"[0-9]{1,2}( | / | - )[0-9]{1,2}\1(?:19|20)[0-9]{2}|(?:19|20)[0-9]{2} [0-9]{1,2} [0-9]{1,2}"
)
_BLANKS: Final = re.compile(r"[ \t\u00a0]+")
"""A gap between groups, however wide: a number in columns is the number with a blank between them."""
_GROUPED: Final = re.compile(r"\D*(?:[0-9]+(?:[-/.][0-9]+)*|[0-9]{2,4}(?:[ -][0-9]{2,9}){1,4})\D*\Z")
_CALLABLE: Final = re.compile(r"(?!.*[0-9]\.[0-9]{1,2}(?![0-9]))\D*(?:[0-9]{3,}|.*[0-9]{4})")
"""A number behind a label: one, or one in groups; what is longer may have taken values along. Nobody calls decimals."""
_MISWRITTEN: Final = re.compile(r"[0-9]{1,4}([-/.])[0-9]{1,4}\1[0-9]{2,4}\Z")
"""What stands behind the label of a date, and need be no day of the calendar."""
_LABELLED: Final = {"ID": _GROUPED, "CONTACT": _CALLABLE, "DATE": _MISWRITTEN}
_CODE: Final = re.compile(r"[A-Za-z][-/_#]?[0-9]{3}|[A-Za-z][-_][0-9]|[0-9][-_][A-Za-z]|[0-9][A-Za-z]{1,4}[0-9]")
"""What letters and digits look like that are one code: *S21-4410*, *20-CV-118*, *A4410*; *CD4* and *10mg* are none."""
_POSTCODE: Final = re.compile(r"[A-Za-z]{1,2}[0-9][0-9A-Za-z]? ?[0-9][A-Za-z]{2}")
_SHORT: Final = 4
"""Letters of an abbreviation, whose full stop ends nothing."""
_CHUNK: Final = 24
"""Characters on either side of a span that may belong to the same code."""
_DATED: Final = re.compile(r"['\u2018\u2019]?[0-9]+(?:'?s\b|[-/.][0-9]+(?:[-/.][0-9]+)?)?")
_HOURS: Final = re.compile(r"(?<![0-9])(?:0[0-9]|1[0-7])[0-5][0-9](?:[ \t]+(?:1[89]|2[0-3])[0-5][0-9])*[ \t]+\Z")
"""Times of day before another, which may look like a year: *1200 1600 2000*."""
_NO_DATE: Final = re.compile(r"(?<![0-9/])[0-9]+(?:\.[0-9]+)?(?![0-9/])")
_GROUPS: Final = re.compile(r"[0-9]{1,4}([- ])[0-9]{2,4}\1[0-9]{2,4}")
_CELL: Final = re.compile(r"(?:^|[|/\r\n])[ \t]*$")
_PAIR: Final = re.compile(r"[0-9]{2,3}/[0-9]{2,3}[ \t]*\($")
"""Before the mean of two pressures."""
_NUMBERED: Final = re.compile(r"[.)][ ]{1,2}[A-Z][a-z]+[^\n:]{0,20}:")
"""Behind the number of a field in a form: *Vlahos    2. Room: 114A*."""
_LOOSE_ID: Final = re.compile(r"[0-9]{5,20}|[0-9]{1,10}(?:[-/][0-9]{1,10})+|[0-9]{3}(?: [0-9]{3,4}){2}")
_SERIES: Final = re.compile(r"(?<![0-9])[0-9]{1,3}(?:-[0-9]{1,3}){4,}(?![0-9])")
"""Values one behind the other, as of hearing: *15-20-25-40-55-60*; a number in groups has fewer or longer ones."""
_LONG_ID: Final = re.compile(r"[0-9]{6,20}|[0-9]{2,10}(?:-[0-9]{2,10}){2,}")
_CALLED: Final = {"ID": "IDNUM", "CONTACT": "PHONE"}
"""Group that a label tells -> category of what was taken for something else."""
_TOWNS: Final = frozenset(("CITY", "STATE", "COUNTRY", "LOCATION-OTHER"))
_ZIP: Final = re.compile(r"[0-9]{5}(?:-[0-9]{4})?")
_DATES: Final = frozenset(("DATE", "FECHAS", "Date", "date"))
_FORM: Final = {"PHONE": "PHONE", "FAX": "PHONE", "ZIP": "ZIP"}
_LANGUAGE_FORM: Final = {"DATE": "date_form", "PHONE": "phone_form", "ZIP": "zip_form"}
"""Kind of number -> the expression of the language that says how it is written there."""


def plain_scene(text: str, lexicon: Lexicon) -> Scene:
    """Return what the lists alone know of the words of a text, without the cues of rules."""
    return scene_of(view_of(text), lexicon, Scan([], [], {}, {}))


class Numbers:
    """What the numbers of one text can be.

    Parameters
    ----------
    scene : Scene
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._made: dict[tuple[int, int], bool | None] = {}
        self._stands: dict[tuple[int, int], tuple[int, str | None, bool]] = {}

    def read(self, span: Span) -> tuple[Span, ...]:
        """Return what of a span has a reading of its category.

        Parameters
        ----------
        span : Span
            What somebody proposed.

        Returns
        -------
        tuple of Span
            The span itself, where it is no number or reads as what it was taken for; parts of it that do, where the
            rest is a row of values; nothing where no part does. What a model calls a date without a word or a figure of
            one, but with a capital, is `OTHER`, with little certainty: it may be anything.
        """
        scene = self.scene
        whole, start, end, category = scene.text, span.start, span.end, span.category
        figures = _has_figure(whole, start, end)
        if not figures and category not in _DATES:
            return (span,)
        reading = _READINGS.get(category) or _reading(category)
        kind, test, own = reading.kind, reading.test, reading.own
        ruled = span.source.startswith("rule:")
        if kind == "ID" and not ruled:
            span = _behind_label(scene, span)
            start = span.start
        if test is None or (ruled and (kind == "AGE" or category == "ROOM")):
            return (span,)  # rules for ages and rooms ask for words of them
        text = whole[start:end]
        dated = kind == "DATE"
        first = None if own is None else own.match(whole, start)
        if first is not None and first.end() == end and (not dated or checks.date(text)):
            return (span,)
        if dated and (_STRETCH.fullmatch(text) or (ruled and _RULED_STRETCH.fullmatch(text))):
            return (span,)
        if dated and (days := _two_days(span, whole, ruled)):
            return days
        place = start, end
        numbers = self._made[place] if place in self._made else self._made.setdefault(place, _is_numbers(scene, span))
        if numbers is None:
            if not dated or ruled or _LOOSE_DATE.search(text) or not any(map(str.isupper, text)):
                return (span,)
            nothing = len(_PIECE.findall(text)) >= _ROW or _LETTERED.fullmatch(text) is not None
            return () if nothing else (span.named("OTHER").scored(min(_VAGUE, score_of(span))),)
        if not numbers:
            # behind the name of a month stands a day, a year or no date
            odd = dated and any(len(p) == 4 and not 1800 <= int(p) < 2200 for p in _GROUP.findall(text))
            return () if odd and self._standing(place, span)[0] else (span,)
        text = _BLANKS.sub(" ", text)
        level, cue, alone = self._standing(place, span)
        # three groups of a number in blanks are a row too; a value does not begin with 0
        spaced = alone and (level < _MEASURED or text[0] == "0") and _in_groups(scene, kind, text)
        labelled = cue == kind and _LABELLED.get(kind, _GROUP).match(text)
        if spaced or labelled or _written(scene, span, kind, level):
            return (span,)
        if test(scene, span, text, level):
            # no town, state or country is a number of five digits
            return (span.named("ZIP") if category in _TOWNS and _ZIP.fullmatch(text) else span,)
        if cue != kind and ((cue == "ID" and _GROUPED.match(text)) or (cue == "CONTACT" and _CALLABLE.match(text))):
            return (span.named(_CALLED[cue]),)
        if level == _ALONE and kind != "ID" and _LONG_ID.search(text):
            return (span.named("IDNUM"),)
        if own is None or (level == _ALONE and cue != kind):
            return ()
        found = (m for m in own.finditer(whole, start, end + 2) if m.end() <= end)
        return tuple(span.moved(m.start(), m.end()) for m in found if not dated or checks.date(m[0]))

    def _standing(self, place: tuple[int, int], span: Span) -> tuple[int, str | None, bool]:
        """Tell what `_surroundings` does; several recognizers propose the same place."""
        found = self._stands.get(place)
        if found is None:
            found = self._stands[place] = _surroundings(self.scene, span)
        return found


def _has_figure(text: str, start: int, end: int) -> bool:
    """Tell whether one of the digits 0 to 9 stands somewhere."""
    at: i64 = start
    stop: i64 = end
    while at < stop:
        sign: i64 = ord(text[at])
        if _ZERO <= sign <= _NINE:
            return True
        at += 1
    return False


def _has_letter(text: str, start: int, end: int) -> bool:
    """Tell whether one of the letters A to Z, of either case, stands somewhere."""
    at: i64 = start
    stop: i64 = end
    while at < stop:
        sign: i64 = ord(text[at])
        if _A <= sign | _SMALL <= _Z:
            return True
        at += 1
    return False


def _two_days(span: Span, text: str, ruled: bool) -> tuple[Span, ...]:
    """Return the first and the last day of a stretch, where a span is one and both say their month."""
    found = _TWO_DAYS.fullmatch(text, span.start, span.end)
    return (
        (span.moved(*found.span(1)), span.moved(*found.span(3)))
        if found is not None
        and (found[4] or ruled)
        and all(checks.date(day) or checks.month_day(day) for day in (found[1], found[3]))
        else ()
    )


def _written(scene: Scene, span: Span, kind: str, level: int) -> bool:
    """Tell whether a number has a form of the language: *3.5.* (a day), *0202-731 88 04*, *8400* before a town.

    A day among values, without a label, is a value, unless it has two figures each: *Gewicht 01.05. 82 kg*. What
    follows a day may look like its year: *3.5. 10 mg*.
    """
    category = _FORM.get(CANONICAL[span.category], kind)
    value = category == "DATE" and level >= _MEASURED and not _PADDED.match(scene.text, span.start)
    name = "" if value else _LANGUAGE_FORM.get(category, "")
    if not name:
        return False
    text, form = scene.text, scene.vocabulary.expressions[name]
    found = form.match(text, span.start)
    if found is not None and category == "DATE" and found.end() > span.end:
        found = form.fullmatch(text, span.start, span.end + text.startswith(".", span.end))
    return found is not None and span.end <= found.end() <= span.end + 1  # the full stop of a day may be no part of it


def _in_groups(scene: Scene, kind: str, text: str) -> bool:
    """Tell whether a number of a kind is written in groups between blanks."""
    if kind == "DATE":
        return _SPACED_DATE.fullmatch(text) is not None and checks.date("/".join(_GROUP.findall(text)))
    return kind in ("CONTACT", "ID") and scene.vocabulary.expressions["grouped_number"].fullmatch(text) is not None


def _is_numbers(scene: Scene, span: Span) -> bool | None:
    """Tell whether a span is made of numbers, units and clinical words; None where it has other words.

    The words of a calendar, and codes of letters and digits, are read as such, and are no numbers.
    """
    text = scene.text
    start, end = span.start, span.end
    while start and not text[start - 1].isspace() and start > span.start - _CHUNK:
        start -= 1
    while end < len(text) and not text[end].isspace() and end < span.end + _CHUNK:
        end += 1
    coded = _has_letter(text, start, end) and _has_figure(text, start, end)
    if coded and (_CODE.search(text, start, end) or _POSTCODE.fullmatch(text, span.start, span.end)):
        return False
    starts, kinds, folded, classes = scene.starts, scene.kinds, scene.folded, scene.classes
    units, measures = scene.words["unit"], scene.words["measure"]
    numbers = words = False
    for index in range(scene.at(span.start), len(starts)):
        if starts[index] >= span.end:
            break
        if kinds[index] == NUMBER:
            numbers = True
        elif kinds[index] != SIGN:
            if classes[index] & _CALENDAR:
                return False
            word = folded[index]
            words = words or not (word in units or word in measures or classes[index] & _MEASURE)
    return None if words or not numbers else True


def _surroundings(scene: Scene, span: Span) -> tuple[int, str | None, bool]:
    """Tell how numbers stand, of which kind the label before them is, and whether no more stand beside them."""
    text, starts, kinds, folded = scene.text, scene.starts, scene.kinds, scene.folded
    first, last = span.start, span.end
    low = max(first - _WINDOW, text.rfind("\n", max(0, first - _WINDOW), first) + 1, 0)
    high = text.find("\n", last, last + _WINDOW)
    high = high if high >= 0 else min(len(text), last + _WINDOW)
    head = text[low:first]
    count = 0
    for run in _RUN.finditer(text, low + len(head.rstrip(_OF_RUNS)), high):
        begin, end = run.span()
        if begin >= span.end:
            break
        if span.start < end:
            first, last = min(first, begin), max(last, end)
            count += len(_PIECE.findall(run[0]))
    row = _ROWED if count >= _ROW else _ALONE
    # what stands farther away than its own groups do is another number
    gap = max(map(len, _BLANKS.findall(text, first, last)), default=1)
    before, behind = head.rstrip(" \t"), text[span.end : high].lstrip(" \t")
    least = max(2, gap)
    whole = not (before[-1:].isdecimal() and len(head) - len(before) <= least)
    whole = whole and not (behind[:1].isdecimal() and high - span.end - len(behind) <= least)
    units, measures, links = (scene.words[name] for name in ("unit", "measure", "value_link"))
    labels = _labels(scene.vocabulary)
    unit = scene.at(last)
    if unit < len(starts) and starts[unit] < min(high, last + max(3, gap + 1)) and folded[unit] in units:
        return _MEASURED, None, whole
    number = scene.at(first)
    direct = first == span.start  # a label belongs to the number behind it
    for index in range(number - 1, max(scene.at(low), number - _LONGEST_WALK) - 1, -1):
        word, kind = folded[index], kinds[index]
        if word in labels:
            return row, labels[word] if direct else None, whole
        direct = direct and kind != NUMBER
        if kind not in (SIGN, NUMBER):
            if word in measures:
                return _MEASURED, None, whole
            if row and scene.classes[index] & _MEASURE:
                return _CLINICAL, None, whole
            prefix = kind == UPPER and len(word) <= _SHORT and not scene.classes[index]
            if not (prefix or word in units or word in links):
                break
        elif word in (".", ";") and index and kinds[index - 1] != NUMBER and len(folded[index - 1]) > _SHORT:
            break
    return row, None, whole


@functools.lru_cache(maxsize=8)
def _labels(vocabulary: Vocabulary) -> dict[str, str]:
    """Return the words before a number that say what it is -> group."""
    cues = ("age_label", "AGE"), ("date_label", "DATE"), ("phone_label", "CONTACT"), ("number_label", "ID")
    return {word: kind for cue, kind in cues for word in vocabulary.words[cue]} | {"#": "ID"}


def _phone(scene: Scene, span: Span, text: str, level: int) -> bool:
    pieces = _PIECE.findall(text)
    if level >= _CLINICAL:
        # "call sister Peg 555-0198": a tube as well, but no range of values ends in 0163
        return span.source.startswith("rule:") and score_of(span) >= _SURE and _LOCAL.fullmatch(text) is not None
    if level == _ROWED:
        return all(len(piece) > 6 for piece in pieces) or _OWN_FORM["PHONE"].search(text) is not None
    return _LOOSE_PHONE.search(text) is not None


def _date(scene: Scene, span: Span, text: str, level: int) -> bool:
    whole, start = scene.text, span.start
    if start > 1 and whole[start - 1] == "." and _has_figure(whole, start - 2, start - 1):
        return False  # the decimals of a value
    if span.end - start >= _CHAINED and _CHAIN.search(whole, start, span.end + 2):
        return False
    if level >= _CLINICAL and "-" in text and scene.says(scene.at(start) - 1, "measure"):
        return False  # "CPAP 5-15"
    if scene.vocabulary.expressions["ordinal_day"].fullmatch(text):
        return True  # no value is an ordinal
    if span.source.startswith("rule:") and _OPEN_DAY.fullmatch(text):
        return True
    if level < _CLINICAL:
        days = _TO_DAY.fullmatch(text) if "/" in text else None
        if days and checks.month_day(days[1]):
            return True
    pieces = _DATED.findall(text)
    forms = [_LOOSE_DATE.fullmatch(p) is not None and _possible(p) for p in pieces]
    if level == _ROWED:
        return bool(pieces) and all(forms) and not _HOURS.search(scene.text, max(0, span.start - _NEAR), span.start)
    if level >= _CLINICAL:
        # of "WBC 11.2 3/4" the last is a date, of "strength 5/5 4/5" nothing is
        around = scene.text[max(0, span.start - _NEAR) : span.start].rpartition("\n")[2]
        mixed = _NO_DATE.search(around) is not None and not text.isdecimal()
        mixed = mixed or scene.says(scene.at(span.start) - 1, "date_link")
        return bool(pieces) and all(forms) and mixed
    if pieces and all(forms):
        return True
    if any(len(_GROUP.findall(piece)) > 1 for piece in pieces):
        return False
    # the 5 and 6 of "May 4, 5 and 6", the 12th of "3/4 to 12"
    view = scene.view
    for place in (max(0, span.start - _NEAR), span.start), (span.end, span.end + _NEAR):
        if _SOME_DATE.search(view.text, *place):
            return True
    low, high = view.at(max(0, span.start - _NEAR)), view.at(span.end + _NEAR)
    return any(scene.has(i, _CALENDAR) for i in range(low, min(high + 1, len(view))))


def _possible(piece: str) -> bool:
    """Tell whether numbers between separators can be those of a calendar."""
    parts = [int(part) for part in _GROUP.findall(piece)]
    if len(parts) == 3:
        return checks.date(piece)
    return len(parts) == 1 or any(0 < part < 13 for part in parts) or min(parts) > 1800


def _age(scene: Scene, span: Span, text: str, level: int) -> bool:
    parts = _GROUP.findall(text)
    if _PAIR.search(scene.text, max(0, span.start - _NEAR), span.start):
        return False
    if _NUMBERED.match(scene.text, span.end) and scene.text[span.start - 2 : span.start].isspace():
        return False
    return level == _ALONE and "." not in text and all(len(p) < 4 and int(p) < 130 for p in parts)


def _zip(scene: Scene, span: Span, text: str, level: int) -> bool:
    return (level < _CLINICAL or _behind_state(scene, span)) and any(len(p) in (5, 9) for p in _GROUP.findall(text))


def _behind_state(scene: Scene, span: Span) -> bool:
    """Tell whether the code of a state stands right before a number; *VA*, *PA* are measures, too."""
    before = scene.at(span.start) - 1
    return scene.has(before, _STATE_CODE) and scene.kinds[before] == UPPER


def _number(scene: Scene, span: Span, text: str, level: int) -> bool:
    if _in_series(scene, span):
        return False
    if level == _ALONE:
        return _LOOSE_ID.search(text) is not None
    if level < _MEASURED and _GROUPS.fullmatch(text):  # a cell of a line with bars or slashes
        return _CELL.search(scene.text, max(0, span.start - 3), span.start) is not None
    return level == _ROWED and all(len(p) > 5 for p in _PIECE.findall(text))


def _in_series(scene: Scene, span: Span) -> bool:
    """Tell whether a span begins inside of a series of values."""
    around = _SERIES.finditer(scene.text, max(0, span.start - _NEAR), span.end + _NEAR)
    return any(found.start() <= span.start < found.end() for found in around)


def _bare(scene: Scene, span: Span, text: str, level: int) -> bool:
    return level == _ALONE


def _place(scene: Scene, span: Span, text: str, level: int) -> bool:
    return level == _ALONE or _zip(scene, span, text, level)


def _address(scene: Scene, span: Span, text: str, level: int) -> bool:
    return text.count(".") >= 3


_READERS: dict[str, Callable[[Scene, Span, str, int], bool]] = {
    "PHONE": _phone,
    "FAX": _phone,
    "DATE": _date,
    "AGE": _age,
    "ZIP": _zip,
    "ID": _number,
    "IPADDR": _address,
    "NAME": _bare,
    "PROFESSION": _bare,
    "LOCATION": _place,
    "OTHER": _bare,
}
"""Category or group -> whether numbers can be one."""


def _behind_label(scene: Scene, span: Span) -> Span:
    """Return a number without the label that somebody took along: *GDC 290417*."""
    number = scene.at(span.start) + 1
    if number >= len(scene) or scene.starts[number] >= span.end or scene.kinds[number] != NUMBER:
        return span
    led = scene.says(number - 1, "number_label") and scene.starts[number] > scene.ends[number - 1]
    return span.moved(scene.starts[number], span.end) if led else span


class _Reading:
    """What is asked of the numbers of a label: its group, what tells whether they can be one, what no row has.

    What a label of the user's own asks of numbers is not known.
    """

    def __init__(self, label: str) -> None:
        category = CANONICAL[label]
        self.kind: str = GROUP[category]
        self.test: Callable[[Scene, Span, str, int], bool] | None = None
        self.own: re.Pattern[str] | None = None
        if find_label(label) is not None:
            self.test = _READERS.get(category) or _READERS.get(self.kind)
            self.own = _OWN_FORM.get(_FORM.get(category, self.kind))


_READINGS: Final[dict[str, _Reading]] = {}


def _reading(label: str) -> _Reading:
    """Return what is asked of the numbers of a label, and remember it."""
    if len(_READINGS) >= _REMEMBERED:
        _READINGS.clear()
    reading = _READINGS[label] = _Reading(label)
    return reading
