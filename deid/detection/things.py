"""What is written like an identifier and is nobody's: scores out of a total, courses of a drug, guidelines, animals.

*GDS 5/15* is no day, *the 2017 McDonald criteria* tell no year of a patient, *her dog Winston* is no relative,
*Lang . . . .* is a label of a form with dots that lead to its value. The words that tell are lists of the language.
"""

from __future__ import annotations

import re
from typing import Final

import regex

from deid.detection.kinds import CategoryTraits, SourceTraits
from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, NUMBER, UPPER
from deid.rules.person_words import PERSON
from deid.rules.scene import Scene
from deid.rules.word_classes import EPONYM_HEAD

LEADERS: Final = regex.compile(r"[ \t]{0,2}(?:[._\u00b7\u2026][ ]?){3,}")
"""Signs that lead from a label to its value."""
_BLANKS: Final = " \t"
_FIGURES: Final = frozenset("0123456789")
_SETS_OFF: Final = frozenset(',"\u201c\u2018(')
"""Signs between what an animal is and its name."""
_LEADS: Final = "._\u00b7\u2026"
"""Signs that leaders begin with: found sooner."""
_SHORTEST_SAID: Final = 4
"""Characters from which words may be a number that somebody says."""
_ORDINARY: Final = classes_of("word", "clinical", "section")
_SAID: Final = classes_of("word", "clinical", "section", "function")
_TONGUE: Final = classes_of("nationality")
NAMESAKE: Final = classes_of("eponym")
FUNCTION: Final = classes_of("function")
INITIALS: Final = 4
"""Characters from which a name is more than initials."""
_GUESSED_NAME: Final = "rule:name.word"
_NEAR_WORK: Final = 5
"""Words before an employer among which one says that somebody works there."""
_ROW_THING: Final = classes_of("eponym", "device")
_LISTED: Final = frozenset(",;:")
_ROWED: Final = frozenset(("rule:name.full", "rule:name.last_first", "rule:place.city"))
"""Sources whose names may be of a row of things."""
_ROW: Final = 14
"""Words and signs beside a name that are of the same row."""
_OTHERS: Final = 2
_MANY_OTHERS: Final = 4
"""Things of a row that make one more a thing: one that a list has, one that none has."""
_FRACTION: Final = re.compile(r"[0-9]{1,2}/[0-9]{1,3}")
_COURSE: Final = re.compile(r"[0-9]{1,2}/(?:7|12|52)")
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")
_WEEKS: Final = re.compile(r"(?<![0-9/])[0-9]{1,2}/52(?![0-9/])")
_SHIFT: Final = re.compile(
    r"(?<![0-9A-Za-z])[0-9]{1,2}[AaPp][Mm]?[ ]?[-\u2013][ ]?[0-9]{1,2}[AaPp][Mm]?(?![0-9A-Za-z])"
)
"""From when to when somebody is on duty: *7P-7A*."""
_TOTAL: Final = re.compile(r"(?<=['\u2019]s)[ ]?[:=]?[ ]?[0-9]{1,3}/[0-9]{1,3}(?![0-9/])")
_AGED: Final = re.compile(r"1?[0-9]{1,2}[Yy]?[ ]?/[ ]?[FMfm]")
"""Age and sex in a form: *AGE/SX: 85/F*."""
_ACUITY: Final = re.compile(r"6/(?:4|5|6|9|12|18|24|36|60)")
_CLOCK: Final = re.compile(r"(?:[01][0-9]|2[0-3])[0-5][0-9]")
_BEHIND_DATE: Final = re.compile(r"[0-9][/.-][0-9]{1,2}[/.-](?:[0-9]{2}){1,2},?[ ]{1,3}\Z")
_COMPARED: Final = frozenset("<>=\u2264\u2265")
_VERY_OLD: Final = 90
"""Age from which it identifies whoever is older."""
_NUMBERED: Final = "rule:id."
"""Sources of numbers that rules know by their form."""
_CATALOGUED: Final = 16
"""Characters before a number in which the name of a catalogue is looked for."""
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
_NEAR: Final = 12
"""Words around the name of a score in which another measure shows that it is one."""


def is_nobodys(scene: Scene, span: Span, words: list[int], kind: CategoryTraits, origin: SourceTraits) -> bool:
    """Tell whether a span is written like an identifier and is nobody's.

    Parameters
    ----------
    scene : Scene
    span : Span
        Without a label.
    words : list of int
        Those of the span that are made of letters.
    kind, origin
        What is asked of its category and of its source.
    """
    start, end, text = span.start, span.end, scene.text
    if _is_modal(scene, words):
        return True
    if kind.date:
        return _is_no_date(scene, text, start, end)
    if not kind.person and not kind.place:
        if kind.category == "AGE":
            return _is_criterion(scene, span)
        if kind.category in ("DEPARTMENT", "ROOM"):
            if origin.model and _AGED.fullmatch(text, start, end):
                return True
            return _is_shift(text, start, end)
        if not origin.model and not span.source.startswith(_NUMBERED):
            return False
        if kind.called and end - start < _SHORTEST_SAID and origin.model:
            return not any(map(str.isdigit, text[start:end]))
        before = text[max(start - _CATALOGUED, 0) : start].lower()
        return scene.vocabulary.expressions["catalogued"].search(before) is not None
    if not words:
        return False
    if scene.words["insurer"] and _insures(scene, words, kind, span.source):
        return True
    first, last = words[0], words[-1]
    behind = scene.ends[last]
    if _leads(text, behind) and LEADERS.match(text, behind) is not None and _is_label(scene, words):
        return True
    if text[end - 1] == "s" and _TOTAL.match(text, end):
        return True
    word = scene.folded[last]
    if "-" in word and "-" in word[1:] and word.rpartition("-")[2] in scene.words["likeness"]:
        return True
    if _is_named_after(scene, words) or (origin.model and _is_council(scene, words)):
        return True
    if (origin.guessed or span.source in _ROWED) and _is_among_namesakes(scene, words):
        return True
    if len(words) > 1:
        return False
    if _is_demographic(scene, first):
        return True
    if (origin.guessed or origin.repeats_model or scene.word(first - 1) == "(") and _is_matter(scene, first):
        return True
    if scene.has(first, _ORDINARY) and scene.vocabulary.expressions["numbered"].match(text, end):
        return True
    if kind.person and _is_animal(scene, first):
        return True
    return origin.guessed and scene.says(first, "occasion") and not _is_from(scene, first)


def _is_modal(scene: Scene, words: list[int]) -> bool:
    """Tell whether a word that begins a sentence tells what comes, and is no name and no month: *Will* discuss."""
    if len(words) != 1 or not scene.says(words[0], "modal") or not scene.view.starts_sentence(words[0]):
        return False
    behind = words[0] + 1
    return scene.says(behind, "behind_modal") and scene.kinds[behind] == LOWER and scene.gap(behind) == " "


def _insures(scene: Scene, words: list[int], kind: CategoryTraits, source: str) -> bool:
    """Tell whether words name an insurer, which many share (*AOK Bayern*, *Zilveren Kruis*), and nobody's employer."""
    insurers = scene.words["insurer"]
    first = words[0]
    if kind.town:
        return first > 0 and scene.folded[first - 1] in insurers
    if not kind.institution:
        return source == _GUESSED_NAME and len(words) == 1 and scene.folded[first] in insurers
    if any(scene.says(first - back, "employed") for back in range(1, _NEAR_WORK)):
        return False
    if scene.folded[first] in insurers or scene.folded[words[-1]] in insurers:
        return True
    return len(words) > 1 and " ".join([scene.folded[i] for i in words]) in insurers


def is_kind(scene: Scene, index: int, kind: CategoryTraits) -> bool:
    """Tell whether a word before the name of an institution is none of it: *l'*Ormeraie, *Pflegedienst* Vita.

    What kind of a hospital one is belongs to its name, for the names of most are a town and that word.
    """
    if scene.says(index, "place_label"):
        return True
    kinds = scene.words["kind_of_place"]
    if not kinds:
        return False
    if kind.category == "ORGANIZATION" and scene.folded[index] in kinds:
        return True
    return scene.kinds[index] == LOWER and not scene.lowercase_text and scene.has(index, FUNCTION)


def _is_among_namesakes(scene: Scene, words: list[int]) -> bool:
    """Tell whether a name is one of a row of instruments, signs, classes: *Kocher x4, Deaver*, *Risser 4, Lenke*."""
    before, behind = words[0] - 1, words[-1] + 1
    if scene.word(before) not in _LISTED and scene.word(behind) not in _LISTED:
        return False
    valued = not scene.is_word(behind) or scene.kinds[behind] == NUMBER or scene.says(behind, "graded")
    told = valued or scene.has(behind, _ORDINARY) or scene.says(behind, "unit")
    if not told or not (valued or scene.kinds[behind] == LOWER):
        return False
    others = sure = 0
    for step, start in ((-1, before), (1, behind)):
        at = start
        while 0 <= at < scene.count and abs(at - start) < _ROW:
            if scene.has(at, _ROW_THING):
                others += 1
                sure += not scene.has(at, PERSON)
            if scene.breaks[at if step < 0 else min(at + 1, scene.count - 1)]:
                break
            at += step
    own = all(scene.has(i, _ROW_THING) for i in words)
    return sure > 0 and others >= (_OTHERS if own else _MANY_OTHERS)


def _leads(text: str, behind: int) -> bool:
    """Tell whether leaders may begin at a place."""
    for at in range(behind, min(behind + 3, len(text))):
        if text[at] not in _BLANKS:
            return text[at] in _LEADS
    return False


def _is_no_date(scene: Scene, text: str, start: int, end: int) -> bool:
    """Tell whether a date is a time, a fraction, a score, a course, the year of a guideline: all of them are short."""
    width = end - start
    if width > _LONGEST_RATIO:
        return False
    if width <= _LONGEST_FRACTION and _counted(scene, start, end):
        return True
    if "/" in text[start:end]:
        index = scene.at(start)
        if _is_scored(scene, index, start, end):
            return True
        return width <= _LONGEST_FRACTION and _is_course(scene, index, start, end)
    return width == len("2012") and text[start] in "12" and _is_of_guideline(scene, start, end)


def _is_shift(text: str, start: int, end: int) -> bool:
    """Tell whether a span lies in the hours of who is on duty: *7P-7A*."""
    for at in range(max(0, start - _LONGEST_SHIFT), start + 1):
        shift = _SHIFT.match(text, at) if text[at : at + 1] in _FIGURES else None
        if shift is not None and shift.end() >= end:
            return True
    return False


def _is_label(scene: Scene, words: list[int]) -> bool:
    """Tell whether words before leaders are a label, and no name in a list of telephones."""
    return all(scene.says(i, "form_label") or (scene.classes[i] and not scene.has(i, PERSON)) for i in words)


def _is_named_after(scene: Scene, words: list[int]) -> bool:
    """Tell whether a name has the thing that is named after it: *Dawson's fingers*, *Childs B*."""
    last = words[-1]
    if scene.says(last, "named_after") and scene.kinds[last] == LOWER and scene.says(last - 1, "possessive"):
        return not _is_owned(scene, words[:-2], last)
    if len(words) == 1:
        return scene.says(last, "staged") and _is_grade(scene, last + 1)
    return len(words) == 2 and scene.says(words[0], "staged") and _is_grade(scene, last)


def _is_owned(scene: Scene, words: list[int], thing: int) -> bool:
    """Tell whether somebody has what is named after others: *Maria's knee*, not *Bouchard's nodes*."""
    return scene.says(thing, "owned") and not all(scene.has(i, NAMESAKE) for i in words)


def behind_grade(scene: Scene, words: list[int]) -> int:
    """Return how many words of a name are a scale and its grade: *Childs B. Asif*."""
    return 2 if len(words) > 2 and scene.says(words[0], "staged") and _is_grade(scene, words[1]) else 0


def _is_grade(scene: Scene, index: int) -> bool:
    return index < scene.count and len(scene.strings[index]) == 1 and scene.kinds[index] == UPPER


def _is_council(scene: Scene, words: list[int]) -> bool:
    """Tell whether words before a number are its label, no name: *MMC Reg 2009/04/1183*, *Group 10044891*."""
    last = words[-1]
    lone = len(words) == 1 and scene.has(last, PERSON)
    if lone or not scene.says(last, "form_label"):
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


def _is_matter(scene: Scene, index: int) -> bool:
    """Tell whether a word is a specialty as wards call it, or a role: *Gastro to see*, *SHO poorly*."""
    if scene.case_uninformative(index):
        return False
    if scene.says(index, "ward_word"):
        return True
    letters = scene.kinds[index] == UPPER and len(scene.strings[index]) >= _SHORTEST_ROLE
    return letters and scene.says(index, "staff_role")


def _is_animal(scene: Scene, index: int) -> bool:
    """Tell whether a name is that of an animal: *dog Winston*, *a parrot, Oscar*, *dog "Tank"*, *horse named Duke*."""
    at = index - 1
    if scene.word(at) in _SETS_OFF or scene.says(at, "called"):
        at -= 1
    if not scene.says(at, "animal") or scene.breaks[index]:
        return False
    return scene.kinds[at] != UPPER or scene.case_uninformative(at)


def _is_from(scene: Scene, index: int) -> bool:
    """Tell whether what may be a place stands where people come from: *moved from Mass*, not *home from Mass*."""
    return scene.says(index - 1, "place_in") and not scene.says(index - 2, "homewards")


def _counted(scene: Scene, start: int, end: int) -> bool:
    """Tell whether a date is a time behind one, or a fraction: *24/7*, *pN1a (2/18)*, *04/02/25 2031*."""
    text = scene.text
    if text[start:end] == "24/7":
        return True
    clock = end - start == len("2031") and text[start] in "012" and _CLOCK.fullmatch(text, start, end)
    if clock and _BEHIND_DATE.search(text, max(0, start - _BEFORE), start):
        return True
    if text.startswith("6/", start) and _ACUITY.fullmatch(text, start, end):
        line = max(text.rfind("\n", 0, start), start - _LINE, 0)
        if scene.vocabulary.expressions["acuity"].search(text, line, start):
            return True
    return scene.vocabulary.expressions["fraction_of"].search(text, max(0, start - _BEFORE), start) is not None


def _is_scored(scene: Scene, index: int, start: int, end: int) -> bool:
    """Tell whether a date is points out of a total: *GDS 5/15*, *PHQ-9: 11/27*."""
    if _FRACTION.fullmatch(scene.text, start, end) is None:
        return False
    points, _, total = scene.text[start:end].partition("/")
    if int(points) > int(total):
        return False
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


def _is_course(scene: Scene, index: int, start: int, end: int) -> bool:
    """Tell whether a date is how many days, weeks or months a drug is given, or until when: *for 28/7*, *in 2/52*."""
    if _COURSE.fullmatch(scene.text, start, end) is None:
        return False
    at = index - 1
    during = scene.says(at, "during")
    if scene.says(at - during, "dosing"):
        return True
    if during and (scene.says(at - 1, "unit") or scene.says(at - 1, "remedy")):
        return True
    if not (during or scene.says(at, "date_link")) or scene.says(at - 1, "date_label"):
        return False
    return "/52" in scene.text and _WEEKS.search(scene.text) is not None


def _is_of_guideline(scene: Scene, start: int, end: int) -> bool:
    """Tell whether a year is that of a guideline: *the 2017 McDonald criteria*, *KDIGO 2012*, *2019 EULAR/ACR*."""
    if _YEAR.fullmatch(scene.text, start, end) is None:
        return False
    index = scene.at(start)
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


def names_a_thing(scene: Scene, words: list[int]) -> bool:
    """Tell whether words name a sign, a scale, a disease: *Austin Flint murmur*, *Cushing vs Addison*."""
    if not words:
        return False
    owner = scene.word(words[-1] + 1) in ("'", "\u2019")
    behind = words[-1] + (3 if owner else 1)
    if scene.says(behind, "named_after") and not scene.breaks[behind]:
        return not (owner and _is_owned(scene, words, behind))
    article = words[0] if len(words) > 1 and scene.says(words[0], "no_name_behind") else words[0] - 1
    if scene.says(article, "no_name_behind") and _is_article(scene, article):
        return True
    if _is_score(scene, words, behind):
        return True
    if not all(scene.has(i, NAMESAKE) or scene.says(i, "versus") for i in words):
        return False
    if scene.has(behind, EPONYM_HEAD) and scene.kinds[behind] == LOWER and not scene.breaks[behind]:
        return True
    return scene.says(behind, "versus") or scene.says(words[0] - 1, "versus") or len(words) > 2


def _is_article(scene: Scene, index: int) -> bool:
    """Tell whether a word is an article, and no initial: *with a Bennett*, not *A. Bennett*."""
    if scene.breaks[index + 1]:
        return False
    if scene.kinds[index] == LOWER and not scene.lowercase_text:
        return True
    return scene.case_uninformative(index) and index > 0 and not scene.breaks[index] and scene.has(index - 1, FUNCTION)


def _is_score(scene: Scene, words: list[int], behind: int) -> bool:
    """Tell whether words name a score or a test, with its value, near another measure: *Katz 3/6, Lawton 5/8*."""
    if not all(scene.says(i, "scored") for i in words) or behind >= scene.count or scene.breaks[behind]:
        return False
    at = behind + 1 if scene.word(behind) in (":", "=", "(", "-") else behind
    if at >= scene.count or scene.kinds[at] != NUMBER:
        return False
    measures, scored = scene.words["measure"], scene.words["scored"]
    low, high = max(0, words[0] - _NEAR), min(scene.count, behind + _NEAR)
    return any(
        (scene.folded[i] in measures or scene.folded[i] in scored) and scene.kinds[i] != NUMBER
        for i in (*range(low, words[0]), *range(at + 1, high))
    )


def is_spaced_head(scene: Scene, index: int) -> bool:
    """Tell whether a word stands among letters apart that are ordinary words: *D I S C H A R G E   S U M M A R Y*."""
    first = index
    while len(scene.word(first)) == 1 and len(scene.word(first - 1)) == 1 and not scene.breaks[first]:
        first -= 1
    joined = ""
    while len(scene.word(first)) == 1:
        joined += scene.folded[first]
        first += 1
        if first >= scene.count or scene.breaks[first] or scene.starts[first] > scene.ends[first - 1] + 1:
            classes = scene.lists.get(joined, 0)
            if not classes & _SAID or classes & PERSON:
                return False
            joined = ""
            if first >= scene.count or scene.breaks[first]:
                return True
    return False


def is_sex(scene: Scene, index: int) -> bool:
    """Tell whether a letter behind a name is a sex: *João, M, 44 ans*, *Kuipers, H. v 1949*."""
    if scene.ends[index] - scene.starts[index] > 1 or not scene.says(index, "sex"):
        return False
    if scene.word(index - 1) == ",":
        return scene.word(index + 1) == ","
    return scene.kinds[index] == LOWER and index + 1 < scene.count and scene.kinds[index + 1] == NUMBER
