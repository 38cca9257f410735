"""Occupations of patients and relatives, by the words around them.

A listed occupation alone is no evidence (*nurse*, *driver*): it counts behind *works as a*, *is a retired*,
*Occupation:*, before *by trade*. Behind the strongest cues words that no list has count too.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from deid.document import Span
from deid.reading.lexicon import Lexicon, classes_of
from deid.reading.view import LOWER, NUMBER
from deid.rules.certainties import certainties
from deid.rules.scene import Scene
from deid.rules.word_classes import (
    CALENDAR,
    CLINICAL,
    CREDENTIAL,
    FUNCTION,
    INSTITUTION,
    NO_OCCUPATION,
    OCCUPATION,
    OCCUPATION_ENDING,
    OCCUPATION_QUALIFIER,
    PERSON_VERB,
    RELATION,
    ROLE,
    SECTION,
    STRONG_ORGANIZATION_HEAD,
    cues_of,
)

__all__ = ["find_professions"]

_W: Final[dict[str, float]] = certainties("professions")

_STOP: Final = FUNCTION | RELATION | CREDENTIAL | CALENDAR | CLINICAL | PERSON_VERB
_NO_WORK_PLACE: Final = INSTITUTION | CALENDAR | SECTION | classes_of("title")
_OF_STAFF: Final = ROLE | CREDENTIAL
_CUES: Final = cues_of("occupation", "works_in", "retired")
_MOST_QUALIFIERS: Final = 6
_MOST_ENDING: Final = 4
_LEAST_ENDING: Final = 4
"""Words of an occupation that its last word shows, and letters of that."""
_MOST_RELATED: Final = 6
_MOST_WORDS: Final = 5
"""Words before an occupation behind a cue, and its own."""


def find_professions(scene: Scene, lexicon: Lexicon) -> list[Span]:
    """Return spans of occupations: candidates with their certainty, which may overlap."""
    spans: list[Span] = []
    listed = [(index, end) for index in scene.of_phrase(OCCUPATION) if (end := _occupation_at(scene, index)) > index]
    starts = [index for index, _ in listed]
    cues = scene.cues_before
    works_as, certain, labelled = cues["works_as"], cues["works_in"] | cues["retired"], cues["occupation"]
    for index in sorted(works_as | certain | cues["is_a"] | labelled):
        if index in works_as:
            spans += _behind(scene, lexicon, index, _W["works_as"], known_only=False)
            spans += _of_relative(scene, index) if index in cues["is_a"] else []
        elif index in certain or index in cues["is_a"]:
            # only a listed one counts, or words that end as those do
            if index not in certain:
                spans += _ending(scene, lexicon, index)
            at = bisect_left(starts, index)
            if at < len(starts) and starts[at] < index + _MOST_QUALIFIERS + _MOST_WORDS:
                spans += _behind(scene, lexicon, index, _W["works_in" if index in certain else "is_a"], known_only=True)
            if index not in certain:
                spans += _of_relative(scene, index)
        elif scene.word(index) in (":", "-", "="):
            spans += _behind(scene, lexicon, index + 1, _W["labelled"], known_only=False)
        elif (behind := _behind_leaders(scene, index)) > index:
            spans += _behind(scene, lexicon, behind, _W["labelled"], known_only=False)
        elif _apart(scene, index):
            spans += _behind(scene, lexicon, index, _W["labelled"], known_only=True)
    spans += _before_cue(scene)
    spans += _at_work_place(scene, listed)
    spans += _apposed(scene, listed)
    return spans


def _occupation_at(scene: Scene, index: int) -> int:
    """Return the end of the longest listed occupation that starts at a word, else ``index``."""
    end = index + 1 if scene.has(index, OCCUPATION) and not scene.has(index, NO_OCCUPATION) else index
    for stop, classes in scene.phrases.get(index, ()):
        if classes & OCCUPATION and stop > end:
            end = stop
    return end


def _behind(scene: Scene, lexicon: Lexicon, index: int, score: float, known_only: bool) -> list[Span]:
    """Read the occupation behind a cue: *retired high school math teacher*."""
    found: list[Span] = []
    start = index
    while start - index < _MOST_QUALIFIERS and (scene.has(start, OCCUPATION_QUALIFIER) or scene.word(start) == "-"):
        start += 1
    if start >= scene.count or (start > index and scene.breaks[start] > 1):
        return found
    end = start
    known = start
    while end < scene.count and end - start < _MOST_WORDS:
        if end > start and scene.breaks[end]:
            break
        stop = _occupation_at(scene, end)
        if stop > end:
            end = known = stop
            continue
        if not scene.is_word(end) and not (scene.word(end) in ("/", "-", "&", "'") and end > start):
            break
        if scene.classes[end] & _STOP and not scene.has(end, STRONG_ORGANIZATION_HEAD):
            break
        end += 1
    if known > start:
        found.append(scene.span(start, known, "PROFESSION", "profession.cue", score))
    elif not known_only:
        while end > start and not scene.is_word(end - 1):
            end -= 1
        words = [i for i in range(start, end) if scene.is_word(i)]
        if not words or len(words) > 3 or any(scene.has(i, NO_OCCUPATION | INSTITUTION) for i in words):
            return found
        last = scene.word(words[-1])
        likely = any(lexicon.words.get(last[-n:], 0) & OCCUPATION_ENDING for n in range(2, 8))
        found.append(
            scene.span(
                start,
                end,
                "PROFESSION",
                "profession.unlisted",
                _W["unlisted_likely"] if likely else min(score, _W["unlisted"]),
            )
        )
    return found


def _behind_leaders(scene: Scene, index: int) -> int:
    """Return the word behind signs that lead to a value (*Occupation ...... Cook*), ``index`` where none do."""
    at = index
    while scene.word(at) in (".", "_") and not scene.breaks[at]:
        at += 1
    return at if at - index > 2 and at < scene.count and not scene.breaks[at] else index


def _apart(scene: Scene, index: int) -> bool:
    """Tell whether a word stands in a column of its own, or behind a tab: *WORK      FOUNDRY WORKER*."""
    return 0 < index < scene.count and not scene.breaks[index] and len(scene.gap(index).expandtabs()) > 1


def _ending(scene: Scene, lexicon: Lexicon, index: int) -> list[Span]:
    """Read words behind *is a* that no list has, the last of them one that occupations end in: *refinery operator*."""
    found: list[Span] = []
    start = index
    while start - index < 2 and scene.has(start, OCCUPATION_QUALIFIER):
        start += 1
    end = start
    while end - start < _MOST_ENDING and _qualifies(scene, end) and (end == start or scene.same_line(end)):
        end += 1
    if 1 < end - start < _MOST_ENDING and not scene.has(end - 1, NO_OCCUPATION | ROLE):
        last = scene.word(end - 1)
        if len(last) >= _LEAST_ENDING and lexicon.words.get(last, 0) & OCCUPATION_ENDING:
            found.append(scene.span(start, end, "PROFESSION", "profession.ending", _W["ending"]))
    return found


def _of_relative(scene: Scene, index: int) -> list[Span]:
    """Read a role behind *is a* of whom is a relative: *daughter Ann is a nurse*; that of staff is no occupation."""
    found: list[Span] = []
    related = range(index - 2, max(index - _MOST_RELATED, -1), -1)
    if not any(scene.has(i, RELATION) and not scene.has(i, ROLE | OCCUPATION) for i in related):
        return found
    start = index
    while start - index < _MOST_QUALIFIERS and scene.has(start, OCCUPATION_QUALIFIER):
        start += 1
    end = start
    while end - start < _MOST_ENDING and _qualifies(scene, end) and not scene.has(end, ROLE):
        end += 1
    if scene.has(end, _OF_STAFF) and scene.same_line(end):
        found.append(scene.span(start, end + 1, "PROFESSION", "profession.of_relative", _W["is_a"]))
    return found


def _before_cue(scene: Scene) -> list[Span]:
    """*a carpenter by trade*."""
    found: list[Span] = []
    for index in sorted(scene.cues_at["by_trade"]):
        for back in (4, 3, 2, 1):
            start = index - back
            if start >= 0 and _occupation_at(scene, start) == index:
                found.append(scene.span(start, index, "PROFESSION", "profession.by_trade", _W["by_trade"]))
                break
    return found


def _at_work_place(scene: Scene, listed: list[tuple[int, int]]) -> list[Span]:
    """*welder at Torrance Shipyards*: the occupation, and the place when it is written with a capital."""
    found: list[Span] = []
    if scene.lowercase_text:
        return found
    longest: dict[int, int] = {}
    for start, end in listed:
        if end - start < 5 and scene.says(end, "occupation_at"):
            longest.setdefault(end, start)
    for index, start in sorted(longest.items()):
        if index >= scene.count - 1 or scene.uppercase_line[index] or not scene.same_line(index + 1):
            continue
        if scene.has(start, RELATION | ROLE) or scene.has(index - 1, ROLE | CLINICAL):
            continue
        end = index + 1
        while end - index < 6 and scene.capital(end) and scene.is_word(end) and scene.same_line(end):
            end += 1
        if end > index + 1 and not scene.has(index + 1, _NO_WORK_PLACE):
            found.append(scene.span(start, index, "PROFESSION", "profession.at", _W["at_work_place"]))
            found.append(scene.span(index + 1, end, "ORGANIZATION", "place.work", _W["work_place"]))
    return found


def _apposed(scene: Scene, listed: list[tuple[int, int]]) -> list[Span]:
    """*Matthew, a kennel worker,*; *(line cook)*; *two jobs: welder*; *property manager* in a sentence."""
    found: list[Span] = []
    last = 0
    for index, end in listed:
        if index < last or scene.has(index, FUNCTION):
            continue
        if scene.has(end - 1, RELATION | ROLE) or scene.has(index, ROLE | CLINICAL):
            # a teacher may be one that somebody spoke with, but not a violin teacher behind an age; *nail tech*
            start, score = _of_patient(scene, index, end)
        else:
            start, score = _apposition(scene, index, end)
        if score:
            found.append(scene.span(start, end, "PROFESSION", "profession.apposed", score))
        last = end
    return found


def _of_patient(scene: Scene, index: int, end: int) -> tuple[int, float]:
    """Return what `_apposition` does of a role, with two words and more, behind an age or last in brackets."""
    start = _qualified(scene, index)
    aged = scene.word(start - 1) == "," and _aged(scene, start - 2) and scene.word(end) in (",", ".", ";", ")", "")
    aged = aged or _sexed(scene, start - 1)
    before = scene.word(start - 1)
    if _beside_relative(scene, start, end):
        return start, _W["bracketed"]
    bracketed = scene.word(end) == ")" and (before == "," or (before == "(" and not scene.has(end - 1, ROLE)))
    return (start, _W["bracketed"]) if end - start > 1 and (aged or bracketed) else (index, 0.0)


def _qualified(scene: Scene, index: int) -> int:
    """Return the first word of what qualifies an occupation: *lumber yard worker*."""
    start = index
    while index - start < 2 and _qualifies(scene, start - 1) and scene.same_line(start):
        start -= 1
    return start


def _apposition(scene: Scene, index: int, end: int) -> tuple[int, float]:
    """Return the first word of an occupation with what qualifies it, and how sure it is that a person has it."""
    start = _qualified(scene, index)
    before = scene.word(start - 1)
    if _beside_relative(scene, start, end):
        return start, _W["bracketed"]
    if scene.says(start - 1, "indefinite"):
        lead = scene.word(start - 2)
        person = scene.has(start - 2, RELATION) or (
            scene.capital(start - 2) and not scene.case_uninformative(start - 2)
        )
        return (start, _W["apposed"]) if lead in (",", "(", "\u2013", "-", ";") or person else (index, 0.0)
    if before == "(" and (scene.word(end) in (")", ",", ";") or scene.says(end, "occupation_at")):
        return start, _W["bracketed"]
    if scene.cued(start, _CUES) or (before == ":" and scene.cued(start - 1, _CUES)):
        return start, _W["cued"]
    if _sexed(scene, start - 1):
        return start, _W["bracketed"]
    if before == "," and _aged(scene, start - 2) and scene.word(end) in (",", ".", ";", ")", ""):
        return start, _W["bracketed"]
    if before in (",", ";") and _lasting(scene, end):
        return start, _W["bracketed"]
    return (
        (index, _W["phrase_in_sentence"])
        if end - index > 1 and scene.kinds[index] == LOWER and not scene.lowercase_text
        else (index, 0.0)
    )


def _beside_relative(scene: Scene, start: int, end: int) -> bool:
    """Tell if a sign parts words from a relative: *her brother, a fund manager,*; *wife, attorney*; *son (cook)*."""
    sign = start - 2 if scene.says(start - 1, "indefinite") else start - 1
    if scene.word(sign) not in (",", "(") or not scene.same_line(start):
        return False
    at = sign - 1
    if scene.capital(at) and not scene.has(at, RELATION):
        at -= 2 if scene.word(at - 1) == "," else 1  # "his mother, Tisa, a midwife"; "niece Ann (phlebotomist"
    related = scene.has(at, RELATION) and not scene.has(at, ROLE | OCCUPATION)
    return related and (sign < start - 1 or scene.word(end) in (",", ".", ";", ")", ""))


def _aged(scene: Scene, index: int) -> bool:
    """Tell whether an age ends at a word: *Lois (34)*, *aged 56*."""
    at = index - 1 if scene.word(index) == ")" else index
    return 0 < at < scene.count and scene.kinds[at] == NUMBER and len(scene.strings[at]) < 3


def _sexed(scene: Scene, index: int) -> bool:
    """Tell whether an age and a sex end at a word: *58M*, *58 yo M*, *62yo F*."""
    if not scene.says(index, "sex"):
        return False
    at = index - 1
    while at > index - 4 and scene.is_word(at) and scene.kinds[at] != NUMBER:
        at -= 1
    return at >= 0 and scene.kinds[at] == NUMBER and len(scene.strings[at]) < 3


def _lasting(scene: Scene, index: int) -> bool:
    """Tell whether what follows says how long: *x 24 yrs*, *till 1998*."""
    return scene.says(index, "lasting") and index + 1 < scene.count and scene.kinds[index + 1] == NUMBER


def _qualifies(scene: Scene, index: int) -> bool:
    """Tell whether a word can qualify the occupation behind it: *lumber yard worker*."""
    if not scene.is_word(index) or scene.kinds[index] != LOWER:
        return False
    return not scene.classes[index] & (_STOP | OCCUPATION_QUALIFIER) or scene.has(index, OCCUPATION)
