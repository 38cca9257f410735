"""What a number can be: whether a span of numbers reads as the kind of identifier that somebody took it for.

*Sodium 138 140 137 139* has the digits of a telephone number, *GCS 15 15 14* those of a date, and neither is one. What
is made of numbers counts only if it has a reading of its category, whoever proposed it: digits, grouping, calendar, a
label before it, no unit behind it. In a row of values that belong to a clinical measure only a form of its own makes a
number an identifier, or an explicit label; what has it inside a longer row is cut out of the row. Words and units are
data of the language (`deid.reading.vocabulary`).
"""

from __future__ import annotations

from collections.abc import Callable

import regex

from deid.detection.overlaps import score_of
from deid.document import Span
from deid.phi import canonical, group
from deid.reading.lexicon import classes_of
from deid.reading.view import NUMBER, SIGN, UPPER
from deid.rules import checks
from deid.rules.scene import Scene

_CALENDAR = classes_of("month", "weekday", "season", "holiday")
_MEASURE = classes_of("clinical", "section", "device")
_LONGEST_WALK = 14
"""Words between a number and the label that it belongs to."""
_ROW = 3
"""Numbers that make a row."""
_ALONE, _ROWED, _CLINICAL, _MEASURED = range(4)
"""How numbers stand: by themselves, several in a row, such a row behind a clinical word, behind the name of a measure
or before a unit."""
_NEAR, _WINDOW = 30, 120
"""Characters around a number in which a date makes another number a date, and that are looked at."""
_VAGUE = 0.5
"""Certainty of what a model calls a date and nothing shows to be one."""

_NUMBER = r"[0-9]+(?:[.,:/][0-9]+)*"
_GAP = r"[ \t\u00a0]*(?:[,;|/\u2013\u2192>~-]|->|=>|--)?[ \t\u00a0]*"
_RUN = regex.compile(rf"{_NUMBER}(?:{_GAP}{_NUMBER})*")
_PIECE = regex.compile(_NUMBER)
_GROUP = regex.compile(r"[0-9]+")

_BEGINS = r"(?<![0-9])(?<![0-9][-./,:])"
_SEPARATED_PHONE = (
    r"(?:\+?1[-. ])?(?:\([2-9][0-9]{2}\)[-. ]?[0-9]{3}[-. ][0-9]{4}|[2-9][0-9]{2}([-./])[0-9]{3}[-. ][0-9]{4}"
    r"|[2-9][0-9]{2} [0-9]{3}-[0-9]{4})"
    r"|\+[1-9][0-9]{0,2}[-. ]?(?:\([0-9]{1,4}\)[-. ]?)?[0-9]{1,4}(?:[-. ]?[0-9]{2,8}){1,4}"
)
_OWN_FORM = {
    "PHONE": regex.compile(rf"{_BEGINS}(?:{_SEPARATED_PHONE})(?![0-9])"),
    "DATE": regex.compile(
        _BEGINS + r"(?:[0-9]{1,2}([/-])[0-9]{1,2}\1(?:[0-9]{4}|[0-9]{2})(?!\1[0-9])"
        r"|[0-9]{4}([/-])[0-9]{1,2}\2[0-9]{1,2}(?!\2[0-9])"
        r"|[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{4}|[0-9]{2}))(?![0-9])"
    ),
    "ID": regex.compile(
        _BEGINS + r"(?:[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9]{2,4}-[0-9]{2,4}-[0-9]{2,6}|[0-9]{7,18})(?![0-9]|[.,/:][0-9])"
    ),
    "ZIP": regex.compile(r"(?<![0-9.,])[0-9]{5}-[0-9]{4}(?![0-9])"),
}
"""Forms that no row of values has."""
_LOOSE_PHONE = regex.compile(
    r"\(?(?:\+?1[-. ]?)?(?:[2-9][0-9]{2}[-. )/]{0,2})?[2-9][0-9]{2}[-. ][0-9]{4}|(?:\+?1)?[2-9][0-9]{9}"
    r"|\(?0[0-9]{2,5}\)?[ -]?[0-9]{3,4}[ -]?[0-9]{3,6}|[0-9]{3}(?: ?[0-9]{2,3}){2,3}|[0-9]{7,15}"
)
_LOOSE_DATE = regex.compile(
    r"[0-9]{1,2}[/-][0-9]{1,2}|[0-9]{1,2}[/-][0-9]{4}|[0-9]{4}[/-][0-9]{1,2}|'?[0-9]{2}'?s|['\u2019\u2018][0-9]{2}"
    r"|(?:18|19|20)[0-9]{2}(?:'?s)?(?: ?[-/\u2013] ?(?:[0-9]{2}|(?:18|19|20)[0-9]{2}))?|[0-9]{8}(?:[0-9]{4}|[0-9]{6})?"
    r"|[0-9]{1,2} [0-9]{1,2} (?:19|20)[0-9]{2}|[0-9]{6}"
)
_CHAIN = regex.compile(r"(?<![0-9])[0-9]{1,4}([-/])[0-9]{1,4}\1[0-9]{1,4}\1[0-9]")
"""More numbers between equal signs than a date has."""
_SOME_DATE = regex.compile(r"(?<![0-9])[0-9]{1,2}[/-][0-9]{1,2}(?![0-9])|(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_SPACED = regex.compile(
    r"\(?(?:\+?1 )?[2-9][0-9]{2}\)? [0-9]{3} [0-9]{4}|\(?0[0-9]{2,5}\)?(?: [0-9]{2,8}){1,4}|[0-9]{3} [0-9]{3} [0-9]{4}"
)
"""A number in groups between blanks, as telephone and health service numbers are written."""
_GROUPED = regex.compile(r"\D*(?:[0-9]+(?:[-/.][0-9]+)*|[0-9]{2,4}(?:[ -][0-9]{2,4}){1,4})\D*\Z")
_CALLABLE = regex.compile(r"(?!.*[0-9]\.[0-9]{1,2}(?![0-9]))\D*(?:[0-9]{3,}|.*[0-9]{4})")
"""A number behind a label: one, or one in groups; what is longer may have taken values along. Nobody calls decimals."""
_CODE = regex.compile(r"[A-Za-z][-/_#]?[0-9]{3}|[A-Za-z][-_][0-9]|[0-9][-_][A-Za-z]|[0-9][A-Za-z]{1,4}[0-9]")
"""What letters and digits look like that are one code: *S21-4410*, *20-CV-118*, *A4410*; *CD4* and *10mg* are none."""
_POSTCODE = regex.compile(r"[A-Za-z]{1,2}[0-9][0-9A-Za-z]? ?[0-9][A-Za-z]{2}")
_SHORT = 4
"""Letters of an abbreviation, whose full stop ends nothing."""
_CHUNK = 24
"""Characters on either side of a span that may belong to the same code."""
_DATED = regex.compile(r"['\u2018\u2019]?[0-9]+(?:'?s\b|[-/.][0-9]+(?:[-/.][0-9]+)?)?")
_NO_DATE = regex.compile(r"(?<![0-9/])[0-9]+(?:\.[0-9]+)?(?![0-9/])")
_GROUPS = regex.compile(r"[0-9]{1,4}([- ])[0-9]{2,4}\1[0-9]{2,4}")
_CELL = regex.compile(r"(?:^|[|/\r\n])[ \t]*$")
_PAIR = regex.compile(r"[0-9]{2,3}/[0-9]{2,3} ?\($")
"""Before the mean of two pressures."""
_LOOSE_ID = regex.compile(r"[0-9]{5,20}|[0-9]{1,10}(?:[-/][0-9]{1,10})+|[0-9]{3}(?: [0-9]{3,4}){2}")
_LONG_ID = regex.compile(r"[0-9]{6,20}|[0-9]{2,10}(?:-[0-9]{2,10}){2,}")


def read(scene: Scene, span: Span) -> tuple[Span, ...]:
    """Return what of a span has a reading of its category.

    Parameters
    ----------
    scene : Scene
    span : Span
        What somebody proposed.

    Returns
    -------
    tuple of Span
        The span itself, where it is no number or reads as what it was taken for; parts of it that do, where the rest
        is a row of values; nothing where no part does. What a model calls a date without a word or a figure of one, but
        with a capital, is `OTHER`, with little certainty: it may be anything.
    """
    figures = _GROUP.search(scene.view.text, span.start, span.end)
    if figures is None and span.category not in _DATES:
        return (span,)
    category = canonical(span.category)
    kind = group(category)
    test = _READERS.get(category) or _READERS.get(kind)
    ruled = span.source.startswith("rule:")
    if test is None or (ruled and kind == "AGE"):  # rules for ages ask for words of age
        return (span,)
    text = scene.view.text[span.start : span.end]
    own = _OWN_FORM.get(_FORM.get(category, kind))
    first = None if own is None else own.match(scene.view.text, span.start)
    if first is not None and first.end() == span.end and (kind != "DATE" or checks.date(text)):
        return (span,)
    if ruled and figures is None:
        return (span,)
    numbers = _is_numbers(scene, span)
    if numbers is None:
        if kind != "DATE" or ruled or _LOOSE_DATE.search(text) or not any(map(str.isupper, text)):
            return (span,)
        several = len(_PIECE.findall(text)) >= _ROW
        return () if several else (span.named("OTHER").scored(min(_VAGUE, score_of(span))),)
    if not numbers:
        # behind the name of a month stands a day, a year or no date
        odd = kind == "DATE" and any(len(p) == 4 and not 1800 <= int(p) < 2200 for p in _GROUP.findall(text))
        return () if odd and _surroundings(scene, span)[0] else (span,)
    level, cue, alone = _surroundings(scene, span)
    # three groups of a number in blanks are a row too; a value does not begin with 0
    spaced = alone and kind in ("CONTACT", "ID") and _SPACED.fullmatch(text) and (level < _MEASURED or text[0] == "0")
    labelled = cue == kind and (_GROUPED if kind == "ID" else _CALLABLE if kind == "CONTACT" else _GROUP).match(text)
    if spaced or labelled:
        return (span,)
    if test(scene, span, text, level):
        return (span,)
    if cue != kind and ((cue == "ID" and _GROUPED.match(text)) or (cue == "CONTACT" and _CALLABLE.match(text))):
        return (span.named(_CALLED[cue]),)
    if level == _ALONE and kind != "ID" and _LONG_ID.search(text):
        return (span.named("IDNUM"),)
    if own is None or (level == _ALONE and cue != kind):
        return ()
    found = (m for m in own.finditer(scene.view.text, span.start, span.end + 2) if m.end() <= span.end)
    return tuple(span.moved(m.start(), m.end()) for m in found if kind != "DATE" or checks.date(m[0]))


def _is_numbers(scene: Scene, span: Span) -> bool | None:
    """Tell whether a span is made of numbers, units and clinical words; None where it has other words.

    The words of a calendar, and codes of letters and digits, are read as such, and are no numbers.
    """
    view = scene.view
    text = view.text
    start, end = span.start, span.end
    while start and not text[start - 1].isspace() and start > span.start - _CHUNK:
        start -= 1
    while end < len(text) and not text[end].isspace() and end < span.end + _CHUNK:
        end += 1
    if _CODE.search(text, start, end) or _POSTCODE.fullmatch(text, span.start, span.end):
        return False
    index, numbers, words = view.at(span.start), 0, 0
    while index < len(view) and view.starts[index] < span.end:
        if view.kinds[index] == NUMBER:
            numbers += 1
        elif view.kinds[index] != SIGN:
            if scene.has(index, _CALENDAR):
                return False
            known = scene.says(index, "unit") or scene.says(index, "measure") or scene.has(index, _MEASURE)
            words += not known
        index += 1
    return None if words or not numbers else True


def _surroundings(scene: Scene, span: Span) -> tuple[int, str | None, bool]:
    """Tell how numbers stand, of which kind the label before them is, and whether no more stand beside them."""
    view = scene.view
    text = view.text
    least, most = max(0, span.start - _WINDOW), min(len(text), span.end + _WINDOW)
    low = max(least, *(text.rfind(end, least, span.start) + 1 for end in "\r\n"))
    high = min(at if at >= 0 else most for at in (text.find(end, span.end, most) for end in "\r\n"))
    first, last, count = span.start, span.end, 0
    for run in _RUN.finditer(text, low, high):
        if run.start() < span.end and span.start < run.end():
            first, last = min(first, run.start()), max(last, run.end())
            count += len(_PIECE.findall(run[0]))
    row = _ROWED if count >= _ROW else _ALONE
    whole = (
        not text[low : span.start].rstrip(" \t")[-1:].isdecimal()
        and not text[span.end : high].lstrip(" \t")[:1].isdecimal()
    )
    behind = view.at(last)
    if behind < len(view) and view.starts[behind] < min(high, last + 3) and scene.says(behind, "unit"):
        return _MEASURED, None, whole
    index = view.at(first) - 1
    direct = first == span.start  # a label belongs to the number behind it
    for _ in range(_LONGEST_WALK):
        if index < 0 or view.starts[index] < low:
            break
        word = view.folded[index]
        for cue, meant in _CUES.items():
            if scene.says(index, cue) or (word == "#" and meant == "ID"):
                return row, meant if direct else None, whole
        direct = direct and view.kinds[index] != NUMBER
        if view.kinds[index] not in (SIGN, NUMBER):
            if scene.says(index, "measure"):
                return _MEASURED, None, whole
            if row and scene.has(index, _MEASURE):
                return _CLINICAL, None, whole
            prefix = view.kinds[index] == UPPER and len(word) <= _SHORT and not scene.classes[index]
            if not (prefix or scene.says(index, "unit") or scene.says(index, "value_link")):
                break
        elif word in (".", ";") and index and view.kinds[index - 1] != NUMBER and len(view.folded[index - 1]) > _SHORT:
            break
        index -= 1
    return row, None, whole


_CUES = {"number_label": "ID", "phone_label": "CONTACT", "age_label": "AGE"}
"""Words before a number that say what it is -> group."""
_CALLED = {"ID": "IDNUM", "CONTACT": "PHONE"}
"""Group that a label tells -> category of what was taken for something else."""


def _phone(scene: Scene, span: Span, text: str, level: int) -> bool:
    pieces = _PIECE.findall(text)
    if level >= _CLINICAL:
        return False
    if level == _ROWED:
        return all(len(piece) > 6 for piece in pieces) or _OWN_FORM["PHONE"].search(text) is not None
    return _LOOSE_PHONE.search(text) is not None


def _date(scene: Scene, span: Span, text: str, level: int) -> bool:
    if _CHAIN.search(scene.view.text, span.start, span.end + 2):
        return False
    pieces = _DATED.findall(text)
    forms = [_LOOSE_DATE.fullmatch(p) is not None and _possible(p) for p in pieces]
    if level == _ROWED:
        return bool(pieces) and all(forms)
    if level >= _CLINICAL:
        # of "WBC 11.2 3/4" the last is a date, of "strength 5/5 4/5" nothing is
        around = scene.view.text[max(0, span.start - _NEAR) : span.start].rpartition("\n")[2]
        mixed = _NO_DATE.search(around) is not None and not text.isdecimal()
        mixed = mixed or scene.says(scene.view.at(span.start) - 1, "date_link")
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
    if _PAIR.search(scene.view.text, max(0, span.start - _NEAR), span.start):
        return False
    return level == _ALONE and "." not in text and all(len(p) < 4 and int(p) < 130 for p in parts)


def _zip(scene: Scene, span: Span, text: str, level: int) -> bool:
    return level < _CLINICAL and any(len(p) in (5, 9) for p in _GROUP.findall(text))


def _number(scene: Scene, span: Span, text: str, level: int) -> bool:
    if level == _ALONE:
        return _LOOSE_ID.search(text) is not None
    if level < _MEASURED and _GROUPS.fullmatch(text):  # a cell of a line with bars or slashes
        return _CELL.search(scene.view.text, max(0, span.start - 3), span.start) is not None
    return level == _ROWED and all(len(p) > 5 for p in _PIECE.findall(text))


def _bare(scene: Scene, span: Span, text: str, level: int) -> bool:
    return level == _ALONE


_DATES = frozenset(("DATE", "FECHAS", "Date", "date"))
_READERS: dict[str, Callable[[Scene, Span, str, int], bool]] = {
    "PHONE": _phone,
    "FAX": _phone,
    "DATE": _date,
    "AGE": _age,
    "ZIP": _zip,
    "ID": _number,
    "NAME": _bare,
    "PROFESSION": _bare,
    "LOCATION": _bare,
    "OTHER": _bare,
}
"""Category or group -> whether numbers can be one."""
_FORM = {"PHONE": "PHONE", "FAX": "PHONE", "ZIP": "ZIP"}
