"""What is written like an identifier and is nobody's: scores out of a total, courses of a drug, guidelines, animals.

*GDS 5/15* is no day, *the 2017 McDonald criteria* tell no year of a patient, *her dog Winston* is no relative,
*Lang . . . .* is a label of a form with dots that lead to its value. The words that tell are lists of the language.
"""

from __future__ import annotations

from typing import Final

import regex

from deid.document import Span
from deid.phi import CANONICAL
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, NUMBER, UPPER
from deid.rules.person_words import PERSON
from deid.rules.scene import Scene

LEADERS: Final = regex.compile(r"[ \t]{0,2}(?:[._\u00b7\u2026][ ]?){3,}")
"""Signs that lead from a label to its value."""
_BLANKS: Final = " \t"
_LEADS: Final = frozenset("._\u00b7\u2026")
"""Signs that leaders begin with: found sooner."""
_PEOPLE: Final = frozenset(("PATIENT", "DOCTOR"))
_PLACES: Final = frozenset(("CITY", "STATE", "COUNTRY", "LOCATION-OTHER", "HOSPITAL", "ORGANIZATION"))
_CALLED: Final = frozenset(("PHONE", "FAX"))
_SHORTEST_SAID: Final = 4
"""Characters from which words may be a number that somebody says."""
_ORDINARY: Final = classes_of("word", "clinical", "section")
_TONGUE: Final = classes_of("nationality")
_FRACTION: Final = regex.compile(r"[0-9]{1,2}/[0-9]{1,3}")
_COURSE: Final = regex.compile(r"[0-9]{1,2}/(?:7|12|52)")
_YEAR: Final = regex.compile(r"(?:19|20)[0-9]{2}")
_WEEKS: Final = regex.compile(r"(?<![0-9/])[0-9]{1,2}/52(?![0-9/])")
_SHIFT: Final = regex.compile(
    r"(?<![0-9A-Za-z])[0-9]{1,2}[AaPp][Mm]?[ ]?[-\u2013][ ]?[0-9]{1,2}[AaPp][Mm]?(?![0-9A-Za-z])"
)
"""From when to when somebody is on duty: *7P-7A*."""
_TOTAL: Final = regex.compile(r"(?<=['\u2019]s)[ ]?[:=]?[ ]?[0-9]{1,3}/[0-9]{1,3}(?![0-9/])")
_AGED: Final = regex.compile(r"1?[0-9]{1,2}[Yy]?[ ]?/[ ]?[FMfm]")
"""Age and sex in a form: *AGE/SX: 85/F*."""
_GUESSED: Final = ("model:", "rule:place.", "rule:name.word")
_ACUITY: Final = regex.compile(r"6/(?:4|5|6|9|12|18|24|36|60)")
_CLOCK: Final = regex.compile(r"(?:[01][0-9]|2[0-3])[0-5][0-9]")
_BEHIND_DATE: Final = regex.compile(r"[0-9][/.-][0-9]{1,2}[/.-](?:[0-9]{2}){1,2},?[ ]{1,3}\Z")
_COMPARED: Final = frozenset("<>=\u2264\u2265")
_VERY_OLD: Final = 90
"""Age from which it identifies whoever is older."""
_LEADING: Final = 24
"""Words and signs from a label to its value."""
_LINE: Final = 80
_BEFORE: Final = 12
_LONGEST_FRACTION: Final = 5
_LONGEST_RATIO: Final = 6
_LONGEST_LETTERS: Final = 5
_SHORTEST_ROLE: Final = 3
"""Letters of a role that are no initials."""
_REACH: Final = 5
"""Words from a year to the word that says of what it is."""
_LONGEST_SHIFT: Final = 8


def is_nobodys(scene: Scene, span: Span) -> bool:
    """Tell whether a span is written like an identifier and is nobody's.

    Parameters
    ----------
    scene : Scene
    span : Span
        Without a label.
    """
    category = CANONICAL[span.category]
    if category == "DATE":
        counted = _counted(scene, span) or _is_scored(scene, span) or _is_course(scene, span)
        return counted or _is_of_guideline(scene, span)
    if category == "AGE":
        return _is_criterion(scene, span)
    if category in ("DEPARTMENT", "ROOM"):
        if span.source.startswith("model:") and _AGED.fullmatch(scene.text, span.start, span.end):
            return True
        near = range(max(0, span.start - _LONGEST_SHIFT), span.start + 1)
        return any((m := _SHIFT.match(scene.text, at)) is not None and m.end() >= span.end for at in near)
    if category in _CALLED:
        short = span.end - span.start < _SHORTEST_SAID and span.source.startswith("model:")
        return short and not any(map(str.isdigit, scene.text[span.start : span.end]))
    if category not in _PEOPLE and category not in _PLACES:
        return False
    words = scene.inside(span.start, span.end)
    if not words:
        return False
    first, last = words[0], words[-1]
    text, behind = scene.text, scene.ends[last]
    led = text[behind : behind + 3].lstrip(_BLANKS)[:1] in _LEADS and LEADERS.match(text, behind) is not None
    if led and _is_label(scene, words):
        return True
    if text.startswith("s", span.end - 1) and _TOTAL.match(text, span.end):
        return True
    word = scene.folded[last]
    if "-" in word[1:] and word.rpartition("-")[2] in scene.words["likeness"]:
        return True
    if _is_named_after(scene, words) or _is_council(scene, span, words):
        return True
    if len(words) > 1:
        return False
    if _is_demographic(scene, first) or _is_matter(scene, span, first):
        return True
    if scene.has(first, _ORDINARY) and scene.vocabulary.expressions["numbered"].match(text, span.end):
        return True
    if category in _PEOPLE and _is_animal(scene, first):
        return True
    guessed = span.source.startswith(_GUESSED)
    return guessed and scene.says(first, "occasion") and not _is_from(scene, first)


def _is_label(scene: Scene, words: list[int]) -> bool:
    """Tell whether words before leaders are a label, and no name in a list of telephones."""
    return all(scene.says(i, "form_label") or (scene.classes[i] and not scene.has(i, PERSON)) for i in words)


def _is_named_after(scene: Scene, words: list[int]) -> bool:
    """Tell whether a name has the thing that is named after it: *Dawson's fingers*, *Childs B*."""
    last = words[-1]
    if scene.says(last, "named_after") and scene.kinds[last] == LOWER and scene.says(last - 1, "possessive"):
        return True
    if len(words) == 1:
        return scene.says(last, "staged") and _is_grade(scene, last + 1)
    return len(words) == 2 and scene.says(words[0], "staged") and _is_grade(scene, last)


def behind_grade(scene: Scene, words: list[int]) -> int:
    """Return how many words of a name are a scale and its grade: *Childs B. Asif*."""
    return 2 if len(words) > 2 and scene.says(words[0], "staged") and _is_grade(scene, words[1]) else 0


def _is_grade(scene: Scene, index: int) -> bool:
    return index < scene.count and len(scene.strings[index]) == 1 and scene.kinds[index] == UPPER


def _is_council(scene: Scene, span: Span, words: list[int]) -> bool:
    """Tell whether words before a number are its label: *MMC Reg 2009/04/1183*, *Group 10044891*."""
    last = words[-1]
    lone = len(words) == 1 and scene.has(last, PERSON)
    if lone or not scene.says(last, "form_label") or not span.source.startswith("model:"):
        return False
    numbered = last + 1 < scene.count and scene.kinds[last + 1] == NUMBER and not scene.breaks[last + 1]
    return numbered and all(scene.kinds[i] == UPPER and len(scene.strings[i]) <= _LONGEST_LETTERS for i in words[:-1])


def _is_demographic(scene: Scene, index: int) -> bool:
    """Tell whether a word is a language, a faith, a people behind a label of these: *Race / Lang: B / English*."""
    if scene.says(index, "demographic") and not scene.has(index, PERSON):
        return True
    if not (scene.has(index, _TONGUE) or scene.says(index, "faith")):
        return False
    at = index - 1
    while at >= 0 and index - at < _LEADING and not scene.breaks[at + 1]:
        if scene.says(at, "demographic"):
            return True
        at -= 1
    return False


def _is_matter(scene: Scene, span: Span, index: int) -> bool:
    """Tell whether a word is a specialty as wards call it, or a role: *Gastro to see*, *SHO poorly*."""
    if not span.source.startswith((*_GUESSED, "consistency:model:")) or scene.case_uninformative(index):
        return False
    if scene.says(index, "ward_word"):
        return True
    letters = scene.kinds[index] == UPPER and len(scene.strings[index]) >= _SHORTEST_ROLE
    return letters and scene.says(index, "staff_role")


def _is_animal(scene: Scene, index: int) -> bool:
    """Tell whether a name is that of an animal: *her dog Winston*, *a parrot, Oscar*, *a horse named Duke*."""
    at = index - 1
    if scene.word(at) == "," or scene.says(at, "called"):
        at -= 1
    if not scene.says(at, "animal") or scene.breaks[index]:
        return False
    return scene.kinds[at] != UPPER or scene.case_uninformative(at)


def _is_from(scene: Scene, index: int) -> bool:
    """Tell whether what may be a place stands where people come from: *moved from Mass*, not *home from Mass*."""
    return scene.says(index - 1, "place_in") and not scene.says(index - 2, "homewards")


def _counted(scene: Scene, span: Span) -> bool:
    """Tell whether a date is a time behind one, or a fraction: *24/7*, *pN1a (2/18)*, *04/02/25 2031*."""
    if span.end - span.start > _LONGEST_FRACTION:
        return False
    text = scene.text
    if text[span.start : span.end] == "24/7":
        return True
    clock = span.end - span.start == len("2031") and _CLOCK.fullmatch(text, span.start, span.end)
    if clock and _BEHIND_DATE.search(text, max(0, span.start - _BEFORE), span.start):
        return True
    if text.startswith("6/", span.start) and _ACUITY.fullmatch(text, span.start, span.end):
        line = max(text.rfind("\n", 0, span.start), span.start - _LINE, 0)
        if scene.vocabulary.expressions["acuity"].search(text, line, span.start):
            return True
    counted = scene.vocabulary.expressions["fraction_of"]
    return counted.search(text, max(0, span.start - _BEFORE), span.start) is not None


def _is_scored(scene: Scene, span: Span) -> bool:
    """Tell whether a date is points out of a total: *GDS 5/15*, *PHQ-9: 11/27*."""
    if span.end - span.start > _LONGEST_RATIO or _FRACTION.fullmatch(scene.text, span.start, span.end) is None:
        return False
    points, _, total = scene.text[span.start : span.end].partition("/")
    if int(points) > int(total):
        return False
    index = scene.at(span.start)
    at = index - 1
    while at >= 0 and (scene.word(at) in (":", "=", "(", "'", "\u2019") or scene.says(at, "possessive")):
        at -= 1
    if at > 1 and scene.says(at, "measure") and not scene.says(at, "score"):
        at -= 1  # "GDS score 5/15"
    if at > 1 and scene.kinds[at] == NUMBER and scene.word(at - 1) == "-":
        at -= 2
    if not scene.says(at, "score") or any(scene.breaks[i] for i in range(at + 1, index + 1)):
        return False
    return scene.kinds[at] != LOWER or not scene.has(at, _ORDINARY)


def _is_course(scene: Scene, span: Span) -> bool:
    """Tell whether a date is how many days, weeks or months a drug is given, or until when: *for 28/7*, *in 2/52*."""
    if span.end - span.start > _LONGEST_FRACTION or _COURSE.fullmatch(scene.text, span.start, span.end) is None:
        return False
    at = scene.at(span.start) - 1
    during = scene.says(at, "during")
    if scene.says(at - during, "dosing"):
        return True
    if during and (scene.says(at - 1, "unit") or scene.says(at - 1, "remedy")):
        return True
    weeks = _WEEKS.search(scene.text) is not None
    return weeks and (during or scene.says(at, "date_link")) and not scene.says(at - 1, "date_label")


def _is_of_guideline(scene: Scene, span: Span) -> bool:
    """Tell whether a year is that of a guideline: *the 2017 McDonald criteria*, *KDIGO 2012*, *2019 EULAR/ACR*."""
    if span.end - span.start != len("2012") or _YEAR.fullmatch(scene.text, span.start, span.end) is None:
        return False
    index = scene.at(span.start)
    before, behind = index - 1, index + 1
    if _is_body(scene, before) and not scene.breaks[index]:
        return True
    if scene.says(before, "date_link") or behind >= scene.count or scene.breaks[behind]:
        return False
    if _is_body(scene, behind):
        return True
    for at in range(behind, min(behind + _REACH, scene.count)):
        if scene.breaks[at] or not (scene.is_word(at) or scene.word(at) in ("/", "-")):
            return False
        if scene.says(at, "guideline"):
            return True
    return False


def _is_body(scene: Scene, index: int) -> bool:
    return scene.says(index, "guideline_body") and scene.kinds[index] == UPPER and not scene.uppercase_line[index]


def _is_criterion(scene: Scene, span: Span) -> bool:
    """Tell whether an age is that of many, or a limit: *age over 80*, *patients aged 50-70*."""
    figures = scene.text[span.start : span.end]
    if not figures.isdecimal() or int(figures) >= _VERY_OLD:
        return False
    index = at = scene.at(span.start) - 1
    compared = False
    while at >= 0 and ((limit := _is_limit(scene, at)) or scene.says(at, "value_link")):
        compared |= limit
        at -= 1
    aged = scene.says(at, "age_label")
    if aged and at == index:
        return scene.says(at - 1, "many")
    return compared and (aged or scene.says(at, "many"))


def _is_limit(scene: Scene, index: int) -> bool:
    return scene.says(index, "comparison") or scene.word(index) in _COMPARED
