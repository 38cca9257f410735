"""Names of institutions: hospitals, practices, companies, schools, churches.

An institution is recognized by a head word (*Hospital*, *Inc*, *Elementary School*) with a proper name before or behind
it, by a list of widely known ones, or by what stands before it (*admitted to*, *works for*, *Facility:*).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, MIXED, TITLE, UPPER
from deid.rules.certainties import certainties
from deid.rules.person_words import credential_follows
from deid.rules.scene import Scene
from deid.rules.word_classes import (
    AMBIGUOUS_PLACE,
    CALENDAR,
    CITY,
    CLINICAL,
    COUNTRY,
    CREDENTIAL,
    EMPLOYER,
    EPONYM,
    FUNCTION,
    GENERIC,
    HOSPITAL_HEAD,
    HOSPITAL_MODIFIER,
    HOSPITAL_NAME,
    INSTITUTION,
    INSTITUTION_HEAD,
    PERSON,
    PERSON_VERB,
    RELATION,
    ROLE,
    SECTION,
    STATE,
    STREET_DIRECTION,
    STRONG_HEAD,
    TITLES,
    WORD,
    cues_of,
)

__all__ = ["find_institutions", "proper_run"]

_LONGEST_ACRONYM: Final = 5
_W: Final[dict[str, float]] = certainties("institutions")

_NO_PART: Final = TITLES | CREDENTIAL | SECTION | CALENDAR | FUNCTION
_NO_PART_LOWERCASE: Final = GENERIC | CLINICAL | PERSON_VERB | RELATION
_UNPLACED: Final = GENERIC | CLINICAL | TITLES | RELATION | CALENDAR | EPONYM | classes_of("season", "holiday")
_PROPER_TOO: Final = PERSON | CITY | STATE | HOSPITAL_MODIFIER | COUNTRY
_NO_WORK_PLACE: Final = TITLES | SECTION
_NO_SAINT: Final = classes_of("generic") | STREET_DIRECTION
_HOSPITAL_AT: Final = cues_of("hospital_at", "hospital_verb")
_SEEN_AT: Final = cues_of("hospital_at", "work_at")
_WORK_AT: Final = cues_of("work_at")
_BEFORE_NAMES: Final = cues_of("hospital_at", "hospital_verb", "work_at", "where", "lives")
_MAX_NAME_WORDS: Final = 5
_MAX_HEADS: Final = 4
_ABBREVIATION: Final = 3
"""Letters of the longest abbreviation inside the name of an institution."""


def find_institutions(scene: Scene) -> list[Span]:
    """Return spans of hospitals and organizations: candidates with their certainty, which may overlap."""
    spans = list(_institutions(scene))
    spans += _known(scene)
    if not scene.lowercase_text:
        spans += _acronyms(scene)
        spans += _work_places(scene)
        spans += _behind_cues(scene)
        spans += _saints(scene)
    return spans


def _institutions(scene: Scene) -> list[Span]:
    """Head words with a proper name before them, or behind them (*Hospital of Saint Raphael*)."""
    found: list[Span] = []
    last: Span | None = None
    for first, end, classes in _heads(scene):
        span = _institution(scene, first, end, classes)
        if span is None:
            continue
        if last is not None and last.overlaps(span):
            # "University of Dunmore" is no name of its own inside "University of Dunmore Medical Center"
            longest = max(last, span, key=len)
            span = longest.moved(min(last.start, span.start), max(last.end, span.end))
        elif last is not None:
            found.append(last)
        last = span
    if last is not None:
        found.append(last)
    return found


def _institution(scene: Scene, first: int, end: int, classes: int) -> Span | None:
    """Read the name around the head ``first`` to ``end``; None when nothing makes it a name."""
    kind = scene.kinds[first]
    if kind == LOWER and not scene.lowercase_text and not classes & HOSPITAL_HEAD:
        return None
    if classes & PERSON and end == first + 1 and (_title_before(scene, first) or credential_follows(scene, end)):
        return None  # "Dr. Church", "Ann Temple, RN"
    start = _name_before(scene, first)
    if start == first and kind == LOWER:
        return None
    employed = start == first - 1 and scene.has(start, PERSON) and scene.has(end, ROLE)
    if not classes & STRONG_HEAD and start < first and (employed or _title_before(scene, start)):
        return None  # "Dr Marsh Radiology", "Kim Neurology resident": a person and where he works
    specific = _specific(scene, start, first, kind) if start < first else 0
    end = _grow(scene, end, kind)
    behind = _name_behind(scene, end) if kind != LOWER else end
    if not specific and behind > end and scene.has(first - 1, INSTITUTION) and scene.same_line(first):
        start = first - 1  # "Nephrology Associates of Pioneer Valley"
    if behind == end and (not specific or (not classes & STRONG_HEAD and _clinical_inside(scene, start, first))):
        return None
    inside = range(start, end)
    if behind == end and is_general(scene, [i for i in inside if scene.is_word(i)]):
        return None
    hospital = classes & HOSPITAL_HEAD or any(scene.classes[i] & (HOSPITAL_HEAD | INSTITUTION) for i in inside)
    score = _W["several_words" if specific > 1 or behind > end else "one_word"]
    score -= _W["without_case"] if scene.case_uninformative(first) else _W["lowercase"] * (kind == LOWER)
    if scene.cued(start, _SEEN_AT):
        score = 1.0 - (1.0 - score) * _W["cued"]
    elif start > 0 and scene.breaks[start] and not scene.case_uninformative(start) and specific == 1:
        score -= _W["line_start"]
    return scene.span(start, behind, "HOSPITAL" if hospital else "ORGANIZATION", "place.institution", score)


def is_general(scene: Scene, words: Sequence[int]) -> bool:
    """Tell whether words say what kind of an institution something is, and no name: *Pre-Admission Clinic*."""
    listed = scene.words["general_institution"]
    general = False
    for i in words:
        word = scene.folded[i]
        if word in listed or ("-" in word and listed.issuperset(word.split("-"))):
            general = True
        elif not scene.has(i, INSTITUTION_HEAD | FUNCTION):
            return False
    return general


def _title_before(scene: Scene, index: int) -> bool:
    return scene.has(index - 1 - (scene.word(index - 1) == "."), TITLES)


def _heads(scene: Scene) -> Iterator[tuple[int, int, int]]:
    """Yield head words and head phrases of institutions: first word, one past the last, class; the longest first."""
    for index in scene.of_phrase(INSTITUTION_HEAD):
        classes = scene.classes[index]
        best = (index + 1, classes) if classes & INSTITUTION_HEAD else (index, 0)
        for end, phrase in scene.phrases.get(index, ()):
            if phrase & INSTITUTION_HEAD and end > best[0]:
                best = (end, phrase)
        if best[0] > index:
            yield index, best[0], best[1]


def _proper(scene: Scene, index: int) -> bool:
    """Tell whether a word before a head can be a part of an institution's name."""
    if not scene.lowercase_text:
        return scene.capital(index)
    return scene.is_word(index) and not scene.classes[index] & _NO_PART_LOWERCASE and len(scene.word(index)) > 3


def _name_before(scene: Scene, head: int) -> int:
    """Return the first word of the proper name that leads to a head."""
    start, words = head, 0
    while words < _MAX_NAME_WORDS and scene.same_line(start):
        at = start - 1
        classes = scene.classes[at]
        if _proper(scene, at) and not classes & _NO_PART:
            words += 1
        elif scene.word(at) in (".", "'", "\u2019", "-", "&") and _proper(scene, at - 1):
            if scene.word(at) == "." and not _abbreviates(scene, at):
                break
            if scene.word(at) == "-" and scene.gap(at) and scene.gap(at + 1):
                break  # "Visit - Mercy Clinic"
        elif not (at and scene.possessive(at - 1)) and not (
            scene.says(at, "institution_link") and words and _proper(scene, at - 1)
        ):
            break
        start = at
    # words of the sentence, of a heading or of a label in front are no part: "Referring Clinic", "The Mercy Clinic"
    start = next((i for i in range(head - 1, start, -1) if scene.cued(i, _WORK_AT)), start)  # "Attends Elm School"
    if start < head and _title_before(scene, start):  # "Dr. Levi of Tidal Practice" is two
        start = next((i + 1 for i in range(start, head) if scene.says(i, "institution_link")), start)
    while start < head and (not scene.is_word(start) or scene.classes[start] & (GENERIC | FUNCTION)):
        start += 1
    return start


def _abbreviates(scene: Scene, dot: int) -> bool:
    """Tell whether a full stop belongs to the word before it (*St. Agnes*, *J. P. Stevens*) and ends no sentence."""
    before = scene.strings[dot - 1]
    brief = len(before) <= _ABBREVIATION and scene.kinds[dot - 1] == TITLE and not scene.classes[dot - 1] & CLINICAL
    return len(before) == 1 or scene.says(dot - 1, "saint") or brief


def _specific(scene: Scene, start: int, head: int, kind: int) -> int:
    """Count the words before a head that make it the name of one institution."""
    count = 0
    # where case is silent, ordinary words are a name only between a preposition, or the line's start, and the head
    bounded = head - start < 4 and bool(scene.breaks[start] or scene.cued(start, _BEFORE_NAMES))
    for i in range(start, head):
        classes = scene.classes[i]
        if not scene.is_word(i) or scene.says(i, "institution_joiner") or len(scene.word(i)) < 2:
            continue
        if classes & GENERIC or (classes & CLINICAL and not classes & PERSON):
            continue
        ordinary = classes & WORD and not classes & (PERSON | HOSPITAL_MODIFIER | CITY)
        if ordinary and (
            (kind == LOWER and not scene.lowercase_text)
            or (i == start and scene.view.starts_sentence(i) and head - start == 1)
        ):
            continue
        if ordinary and scene.case_uninformative(i) and not bounded:
            continue
        count += 1
    return count


def _name_behind(scene: Scene, end: int) -> int:
    """Return the end of *of Saint Raphael*, *at Mercy*, *of Boston* behind a head."""
    if not scene.says(end, "institution_behind") or not scene.same_line(end):
        return end
    at = end + 1
    service = scene.cued(at, _SEEN_AT)
    at += scene.says(at, "definite")
    last = end
    while at - end < 6 and scene.same_line(at):
        if scene.classes[at] & CLINICAL and not scene.classes[at] & (PERSON | CITY | HOSPITAL_HEAD):
            break
        if service and scene.classes[at] & HOSPITAL_HEAD:
            return end  # "Physical Therapy at Elm Hospital" is a service of one that has a name
        if last == end and scene.classes[at] & WORD and not scene.classes[at] & _PROPER_TOO:
            break
        if _proper(scene, at) and not scene.case_uninformative(at) and not scene.classes[at] & GENERIC:
            last = at + 1
        elif last != at or not (
            (scene.word(at) == "." and _abbreviates(scene, at))
            or scene.word(at) in ("'", "\u2019")
            or scene.says(at, "institution_inner")
            or scene.says(at, "possessive")
        ):
            break
        at += 1
    return last


def _grow(scene: Scene, end: int, kind: int) -> int:
    """Take further head words along: *Medical Center*, *Clinic Pharmacy*."""
    if kind == LOWER:
        return end
    for index in range(end, min(end + _MAX_HEADS, scene.count)):
        if not scene.same_line(index) or not scene.classes[index] & INSTITUTION_HEAD or scene.kinds[index] != kind:
            return index
    return min(end + _MAX_HEADS, scene.count)


def _clinical_inside(scene: Scene, start: int, end: int) -> bool:
    """Tell whether clinical or ordinary language leads to a head that is an ordinary word: *Muscle Group*.

    Ordinary words are a name only where they stand like one: alone in a line, or behind *seen at*.
    """
    letters = [i for i in range(start, end) if scene.is_word(i) and not scene.says(i, "institution_joiner")]
    first = next((scene.classes[i] for i in letters), 0)
    if letters and (
        not first or (first & (PERSON | CITY | STATE | HOSPITAL_MODIFIER) and not first & (CLINICAL | FUNCTION))
    ):
        return False  # "Tidewater Orthopedic Group"
    if any(scene.classes[i] & (CLINICAL | FUNCTION) and not scene.classes[i] & PERSON for i in letters):
        return True
    if any(not scene.classes[i] or scene.classes[i] & (PERSON | CITY | STATE) for i in letters):
        return False
    before = start - scene.says(start - 1, "definite")
    cued = scene.cued(before, _SEEN_AT)
    return scene.case_uninformative(start) or not (cued or (scene.breaks[before] and _ends_line(scene, end + 1)))


def _ends_line(scene: Scene, index: int) -> bool:
    return index >= scene.count or bool(scene.breaks[index])


def _only_institution(scene: Scene, index: int) -> bool:
    """Tell whether a word is long and no list has it but those of institutions: *Froedtert*, not *Chop*."""
    return len(scene.strings[index]) > _LONGEST_ACRONYM and not scene.classes[index] & ~(HOSPITAL_NAME | EMPLOYER)


def _known(scene: Scene) -> list[Span]:
    """Listed hospitals and employers."""
    found: list[Span] = []
    for index in scene.of_phrase(HOSPITAL_NAME | EMPLOYER):
        word = (index + 1, scene.classes[index])
        for stop, classes in (word, *scene.phrases.get(index, ())):
            if not classes & (HOSPITAL_NAME | EMPLOYER) or not scene.capital(index):
                continue
            if classes & HOSPITAL_NAME:
                acronym = stop == index + 1 and scene.kinds[index] != UPPER and not _only_institution(scene, index)
                sure = _W["acronym_in_lower_case" if acronym else "hospital"]
                found.append(
                    scene.span(
                        index,
                        stop,
                        "HOSPITAL",
                        "place.hospital",
                        sure - _W["hospital_in_lowercase_text"] * scene.lowercase_text,
                    )
                )
            else:
                single, ambiguous = stop == index + 1, scene.classes[index] & AMBIGUOUS_PLACE
                if scene.cued(index, _WORK_AT):
                    sure = _W["employer_cued"]
                elif single:
                    sure = _W["employer_ambiguous" if ambiguous else "employer"]
                else:
                    sure = _W["employer_phrase"]
                sure -= _W["employer_without_case"] * (single and scene.case_uninformative(index))
                found.append(scene.span(index, stop, "ORGANIZATION", "place.employer", sure))
    return found


def _work_places(scene: Scene) -> list[Span]:
    """Proper names behind *works at*, *employed by*, *attends*."""
    found: list[Span] = []
    for index in sorted(scene.cues_before["work_at"]):
        start = index + (scene.says(index, "definite") or scene.says(index, "indefinite"))
        end = start
        while end - start < 6 and (end == start or scene.same_line(end)):
            if (scene.capital(end) and scene.is_word(end) and not scene.has(end, _NO_WORK_PLACE)) or (
                end > start
                and (
                    scene.word(end) in ("-", "'", "\u2019")
                    or scene.says(end, "employer_inner")
                    or scene.says(end, "possessive")
                )
                and scene.capital(end + 1)
            ):
                end += 1
            else:
                break
        if end > start and not scene.uppercase_line[start]:
            plain = scene.says(start, "staff_role") or (end == start + 1 and bool(scene.classes[start] & GENERIC))
            if not plain:
                found.append(scene.span(start, end, "ORGANIZATION", "place.work", _W["work"]))
    return found


def proper_run(scene: Scene, index: int) -> int:
    """Return the end of the words with capitals that start at a word and can name a place; ``index`` when none can."""
    end = index
    while end < scene.count and end - index < 4 and (end == index or scene.same_line(end)):
        classes = scene.classes[end]
        if not (scene.is_word(end) and scene.kinds[end] in (TITLE, MIXED)) or classes & _UNPLACED:
            break
        end += 1
    return end


def _behind_cues(scene: Scene) -> list[Span]:
    """Unlisted proper names behind *admitted to*, *Facility:*."""
    found: list[Span] = []
    fields, verbs = scene.cues_before["hospital_field"], scene.cues_before["hospital_verb"]
    for index in sorted(fields | verbs):
        field = index in fields and scene.word(index) == ":"
        if not (field or index in verbs):
            continue
        start = index + 1 if field else index + scene.says(index, "definite")
        if start >= scene.count or scene.case_uninformative(start) or not scene.same_line(start):
            continue
        end = proper_run(scene, start)
        if field:  # what begins the next line is no part of a value
            end = next((i for i in range(start + 1, end) if scene.breaks[i]), end)
        named = any(not scene.classes[i] & WORD or scene.classes[i] & PERSON for i in range(start, end))
        unit = end in scene.cues_at["hospital_unit"]
        if end > start and (named or field) and (field or unit or not scene.classes[start] & PERSON):
            found.append(scene.span(start, end, "HOSPITAL", "place.cue", _W["cue_field" if field or unit else "cue"]))
    return found


def _saints(scene: Scene) -> list[Span]:
    """*St. Vincent's*, *Mount Carmel*, *Mercy* where a hospital is meant."""
    found: list[Span] = []
    words, written = scene.words["saint"], scene.folded
    saints = {index for index in scene.capitals if written[index] in words}
    meant = [index for index in scene.of_class(HOSPITAL_MODIFIER) if scene.cued(index, _HOSPITAL_AT)]
    for index in sorted(saints.union(meant)):
        if not scene.capital(index) or scene.case_uninformative(index) or index + 1 == scene.count:
            continue
        if index in saints:
            cued = scene.cued(index, _HOSPITAL_AT)
            name = index + 1 + (scene.word(index + 1) == ".")
            if name >= scene.count or not scene.same_line(name) or scene.kinds[name] not in (TITLE, MIXED):
                continue
            end = name + 1
            owned = scene.possessive(end)
            end += 2 * owned
            if (cued or owned) and not scene.protected[name]:
                found.append(
                    scene.span(index, end, "HOSPITAL", "place.saint", _W["saint_cued" if cued else "saint_owned"])
                )
        elif not scene.has(index, _NO_SAINT):
            found.append(
                scene.span(
                    index, max(proper_run(scene, index), index + 1), "HOSPITAL", "place.modifier", _W["modifier"]
                )
            )
    return found


def _acronyms(scene: Scene) -> list[Span]:
    """Acronyms of hospitals behind *transferred from*, *seen at*: *MCMC*, *KBH*."""
    found: list[Span] = []
    endings = tuple(scene.vocabulary.words["hospital_acronym_ending"])
    kinds, words, definite = scene.kinds, scene.folded, scene.vocabulary.words["definite"]
    count = len(kinds)
    for index in sorted(scene.cues_before["hospital_at"]):
        if index >= count:
            continue
        at = index + (words[index] in definite)
        if at >= count or kinds[at] != UPPER or scene.case_uninformative(at):
            continue
        word = words[at]
        if 3 <= len(word) <= 6 and not scene.classes[at] & ~PERSON and word.endswith(endings):
            found.append(scene.span(at, at + 1, "HOSPITAL", "place.acronym", _W["acronym"]))
    return found
