"""Which words can be parts of a person's name, and how far a name reaches.

A *run* is a stretch of words on one line that can be one name: name words, initials, particles (*de la*), a nickname in
quotes, a suffix (*Jr.*). How likely it is one is for `deid.rules.names` to weigh.
"""

from __future__ import annotations

from typing import Final

from deid.reading.view import LOWER, MIXED, NUMBER, SIGN, TITLE, UPPER
from deid.rules.scene import Scene
from deid.rules.word_classes import (
    AMBIGUOUS_NAME,
    CLINICAL,
    CREDENTIAL,
    DOCTOR_TITLE,
    FUNCTION,
    GIVEN,
    LAST,
    MOSTLY_NAME,
    NO_NAME,
    ORDINARY,
    PARTICLE,
    PERSON,
    PERSON_VERB,
    POPULAR,
    RELATED,
    RELATION,
    ROLE,
    SECTION,
    STREET_PREFIX,
    SUFFIX,
    TITLES,
    WORD,
    cues_of,
)

__all__ = [
    "Run",
    "behind_small_title",
    "clear",
    "follows_eponym_cue",
    "is_initial",
    "name_word",
    "read_last_first",
    "read_run",
    "tells",
]

_NEVER: Final = CREDENTIAL | SECTION
_NO_NICKNAME: Final = RELATION | ROLE | CREDENTIAL
_QUOTES: Final = {'"': '"', "\u201c": "\u201d", "'": "'", "\u2018": "\u2019", "(": ")"}
_MAX_WORDS: Final = 6
_LABEL_WORDS: Final = 4
"""Words of a label that begins a line, and its colon."""
_SMALL_TITLE: Final = 3
"""Letters of a title that is an abbreviation."""
_EPONYM: Final = cues_of("eponym")


class Run:
    """Words that can be one name."""

    def __init__(self, first: int, end: int, names: list[int], initials: list[int]) -> None:
        self.first = first
        self.end = end
        """One past the last word of the text that belongs to it."""
        self.names = names
        """The name words."""
        self.initials = initials


def clear(scene: Scene, index: int) -> bool:
    """Tell whether a word is in a list of names and is nothing else."""
    classes = scene.classes[index]
    if not classes & PERSON:
        return False
    return bool(classes & MOSTLY_NAME) or not classes & AMBIGUOUS_NAME


def tells(scene: Scene, first: int, last: int) -> bool:
    """Tell whether words with capitals say that they are a name, by the first and the last of them: *Blood Bank*,
    *Wait List* and *Fall Risk* are headings, though lists of names have each of these words.
    """
    if not scene.has(last, ORDINARY) or scene.has(last, POPULAR) or clear(scene, last):
        return True
    given = scene.has(first, GIVEN) and (scene.has(first, POPULAR) or not scene.has(first, CLINICAL))
    return given and scene.has(last, PERSON)


def is_initial(scene: Scene, index: int) -> bool:
    """Tell whether a word is one capital letter (with or without a full stop)."""
    if not scene.is_word(index) or len(scene.strings[index]) != 1:
        return False
    return scene.kinds[index] == UPPER or (scene.lowercase_text and not scene.says(index, "no_initial"))


def name_word(scene: Scene, index: int, relaxed: bool = False) -> bool:
    """Tell whether a word can be a part of a name; ``relaxed`` behind a title or a label, where more words can."""
    if not scene.is_word(index):
        return False
    classes, kind = scene.classes[index], scene.kinds[index]
    length = len(scene.strings[index])
    if length < 2 or (classes & RELATED and not relaxed):
        return False
    if classes & FUNCTION and not (relaxed and kind == TITLE and classes & PERSON):
        return False
    if kind == UPPER and classes & _NEVER and not (classes & PERSON and length > 3):
        return False
    if scene.case_uninformative(index):
        if classes & PERSON and not classes & ORDINARY:
            return True
        return relaxed and bool(classes & PERSON or (not classes and length > 2))
    if kind == LOWER:
        if not relaxed:
            return False
        return (bool(classes & PERSON) and not classes & (ORDINARY | NO_NAME)) or behind_small_title(scene, index)
    if kind == UPPER:
        if classes & PERSON and length > 2:
            return relaxed or not classes & ORDINARY or bool(classes & POPULAR and length > 3 and _paired(scene, index))
        return relaxed and not classes and length > 3
    return bool(classes & PERSON) or not classes & NO_NAME


def behind_small_title(scene: Scene, index: int) -> bool:
    """Tell whether a small word can be a name behind *dr.* or *dr*: eponyms can, unknown words behind the full stop."""
    dot = scene.word(index - 1) == "."
    title = index - 1 - dot
    if title < 0 or not scene.classes[title] & DOCTOR_TITLE or len(scene.strings[title]) > _SMALL_TITLE:
        return False
    classes = scene.classes[index]
    known = bool(classes & PERSON) and not classes & (WORD | FUNCTION | _NEVER)
    return known or (dot and not classes and len(scene.strings[index]) > _SMALL_TITLE)


def _paired(scene: Scene, index: int) -> bool:
    """Tell whether the word in capitals has another name in capitals beside it: *SMITH, JOHN*."""
    if len(scene.strings[index]) < 4:
        return False
    for step in (1, -1):
        at = index + step
        if scene.word(at) == ",":
            at += step
        shouted = scene.is_word(at) and scene.kinds[at] == UPPER and len(scene.strings[at]) > 2
        if shouted and scene.classes[at] & PERSON and clear(scene, at):
            return True
    return False


def _suffix(scene: Scene, index: int) -> int:
    """Return the word behind a suffix (*, Jr.*) that starts at ``index``, else ``index``."""
    at = index + 1 if scene.word(index) == "," else index
    if scene.same_line(at) and scene.has(at, SUFFIX) and scene.kinds[at] in (TITLE, UPPER):
        return at + 2 if scene.word(at + 1) == "." and scene.same_line(at + 1) else at + 1
    return index


def _nickname(scene: Scene, index: int) -> int:
    """Return the word behind a nickname in quotes or brackets that starts at ``index``, else ``index``."""
    close = _QUOTES.get(scene.word(index)) if index < scene.count else None
    if close is None or not scene.same_line(index) or scene.has(index + 1, _NO_NICKNAME):
        return index
    for end in (index + 2, index + 3):
        if scene.word(end) == close and all(name_word(scene, i, relaxed=True) for i in range(index + 1, end)):
            return end + 1
    return index


def _particles(scene: Scene, index: int, started: bool, relaxed: bool) -> int:
    """Return the word behind the particles that start at ``index`` and lead to a name word, else ``index``."""
    if started and scene.says(index, "purpose") and not scene.classes[index - 1] & GIVEN:
        return index  # "Dr. Karla Heim zur Beratung"; but "Karl vom Stein"
    at = index
    while at - index < 3 and scene.has(at, PARTICLE) and (at == index or scene.same_line(at)):
        kind = scene.kinds[at]
        if kind == LOWER and not (started or relaxed or scene.lowercase_text):
            return index
        at += 1
        if scene.word(at) in (".", "'", "\u2019") and scene.starts[at] == scene.ends[at - 1]:
            at += 1
    if at > index and scene.has(at, TITLES) and scene.capital(at + 1):
        return index  # "Monsieur le Docteur Roux"
    follows = at > index and scene.same_line(at) and name_word(scene, at, started or relaxed)
    return at if follows and scene.capital(at) else index


def _closes_without_case(scene: Scene, run: Run, index: int) -> bool:
    """Tell whether an ordinary word is the family name behind a given name, in text whose case tells nothing."""
    if len(run.names) != 1 or not scene.case_uninformative(index) or not scene.is_word(index):
        return False
    classes = scene.classes[index]
    if (
        not classes & LAST
        or classes & FUNCTION
        or not (scene.classes[run.names[0]] & GIVEN and clear(scene, run.names[0]))
    ):
        return False
    behind = index + 1
    ends = behind >= scene.count or bool(scene.breaks[behind]) or scene.word(behind) in (",", "(", ")", ".", ";")
    return ends or scene.has(behind, PERSON_VERB)


def read_run(scene: Scene, index: int, relaxed: bool = False) -> Run | None:
    """Return the longest run of name words that starts at a word, None when there is none.

    Initials and particles belong to it. ``relaxed`` behind a title or a label, where more words can be names.
    """
    if not 0 <= index < scene.count:
        return None
    # told without a run for most words: no name begins with them
    if not (scene.classes[index] & PARTICLE or name_word(scene, index, relaxed) or is_initial(scene, index)):
        return None
    if not relaxed and scene.has(index, TITLES) and is_initial(scene, index):
        return None  # "M. Dupont": Monsieur, as "D. Juan" is Don
    if not relaxed and len(scene.strings[index]) <= _SMALL_TITLE and scene.has(index, DOCTOR_TITLE):
        return None  # "Dre Pham", "MIR Bennani": titles that are given names as well
    run = Run(index, index, [], [])
    at = index
    while len(run.names) < _MAX_WORDS:
        if at > index and (not scene.same_line(at) or (scene.breaks[at] and _opens_line(scene, at))):
            break
        behind = _particles(scene, at, at > index, relaxed)
        if behind > at:
            at = behind
            continue
        if run.names and scene.has(at, STREET_PREFIX):
            break  # "Dr. Ruiz Calle Mayor 5": an address begins
        if is_initial(scene, at) and len(run.initials) < 3:
            dot = scene.word(at + 1) == "." and scene.starts[at + 1] == scene.ends[at]
            # a single letter without a full stop is a part of a name only between or behind name words
            leads = relaxed and scene.same_line(at + 1) and name_word(scene, at + 1, relaxed)
            if (not dot and not run.names and not leads) or scene.word(at + 1) == "/":
                break
            if dot and run.names and _spelled_credential(scene, at):
                break
            run.initials.append(at)
            at += 2 if dot else 1
            run.end = at
            if dot and run.names and _opens_sentence(scene, at):
                break
            continue
        if run.names and scene.kinds[at] == LOWER and scene.says(at, "filler"):
            break  # "he sees doctor Orme um his sugar"
        # behind a title or a label anything may be a name; where case tells nothing only the first word
        lenient = relaxed and len(run.names) < (1 if scene.case_uninformative(at) else 3)
        if name_word(scene, at, lenient) or _closes_without_case(scene, run, at):
            if relaxed and (scene.word(at + 1) == "=" or (run.names and scene.word(at + 1) == ":")):
                break  # the next label of the line
            run.names.append(at)
            at += 1
            run.end = at
            behind = _nickname(scene, at)
            if behind > at and scene.same_line(behind) and name_word(scene, behind, relaxed):
                run.names += [i for i in range(at + 1, behind - 1) if scene.is_word(i)]
                at = run.end = behind
            continue
        break
    if not run.names:
        return None
    # an initial at the end takes its full stop along only when the name goes on; "A." may also end the sentence
    run.end = _suffix(scene, run.end)
    return run


def _spelled_credential(scene: Scene, index: int) -> bool:
    """Tell whether two letters with full stops are those of a profession, and no name follows: *Dale Orme M.D.*"""
    second = index + 2
    if not is_initial(scene, second) or scene.word(second + 1) != "." or not scene.same_line(second):
        return False
    if not scene.lists.get(scene.folded[index] + scene.folded[second], 0) & CREDENTIAL:
        return False
    behind = second + 2
    return scene.line_ends(behind) or not name_word(scene, behind)


def _opens_sentence(scene: Scene, index: int) -> bool:
    """Tell whether an ordinary word begins a sentence behind an initial: *Report from Chelsea V. Intubated at noon.*"""
    if not scene.is_word(index) or scene.case_uninformative(index) or scene.kinds[index] != TITLE:
        return False
    if scene.says(index, "opens_sentence"):
        return True
    return bool(scene.classes[index] & ORDINARY) and not scene.classes[index] & PERSON


def _opens_line(scene: Scene, index: int) -> bool:
    """Tell whether the first word of a line goes on with no name: a letter, that of a count, of a label, a small one.

    *W*, a day; *J6*, *H0*; *Call out: ...*; *TO FAST TRACK* in capitals.
    """
    behind = index + 1
    if behind >= scene.count:
        return False
    lone = len(scene.strings[index]) == 1 and scene.word(behind) not in (".", ",", ")")
    counts = scene.kinds[behind] == NUMBER and scene.starts[behind] == scene.ends[index]
    if lone or counts or (scene.has(index, FUNCTION) and not scene.has(index, PARTICLE)):
        return True
    for at in range(behind, min(behind + _LABEL_WORDS, scene.count)):
        if scene.word(at) == ":":
            return True
        if scene.breaks[at] or not scene.is_word(at):
            return False
    return False


def follows_eponym_cue(scene: Scene, words: list[int]) -> bool:
    """Tell whether words name a sign or a scale, no person and no place: *signe de Homans*, *score de Manchester*."""
    return any(scene.cued(i, _EPONYM) for i in words[:2])


def credential_follows(scene: Scene, index: int) -> bool:
    """Tell whether letters of a profession stand behind a name: *, MD*, *RN*, *, M.D.*"""
    comma = scene.word(index) in (",", "-", "(")
    at = index + 1 if comma else index
    if at >= scene.count or scene.breaks[at]:
        return False
    kind = scene.kinds[at]
    if kind == LOWER and not scene.lowercase_text:
        return False
    if any(classes & CREDENTIAL for _, classes in scene.phrases.get(at, ())):
        return True
    if not scene.classes[at] & CREDENTIAL:
        return False
    return kind != TITLE or (comma and len(scene.strings[at]) < 4)


def _lone_initial(scene: Scene, index: int) -> Run | None:
    """The initial of *Last, F*, which no letters follow."""
    goes_on = scene.is_word(index + 1) and scene.same_line(index + 1)
    if not is_initial(scene, index) or goes_on or credential_follows(scene, index - 1):
        return None
    if scene.says(index, "sex") and scene.word(index + 1) == ",":
        return None  # "Orme, V, geb. 3-4-51"
    return Run(index, index + 1, [], [index])


def read_last_first(scene: Scene, index: int, relaxed: bool = False) -> Run | None:
    """Return *Last, First M.* (or *LAST^FIRST^M*) that starts at a word, None when there is none; see `read_run`."""
    last = read_run(scene, index, relaxed)
    if last is None or len(last.names) > 3 or last.end >= scene.count or scene.word(last.end) != ",":
        return None
    start = last.end + 1
    if (
        not (scene.same_line(last.end) and scene.same_line(start))
        or scene.kinds[start] in (SIGN, NUMBER)
        or scene.says(start, "number_label")
    ):
        return None
    first = read_run(scene, start, relaxed) or _lone_initial(scene, start)
    if first is None or len(first.names) > 2 or (scene.kinds[start] == MIXED and not relaxed):
        return None
    if scene.has(start, CREDENTIAL) and scene.kinds[start] == UPPER and not scene.case_uninformative(start):
        return None
    known = bool(scene.classes[last.names[0]] & GIVEN)
    if known and len(last.names) > 1 and first.names and (len(first.names) > 1 or not scene.has(start, GIVEN)):
        return None  # "Dale Orme, Rowan Birch", "Dale Orme, St. Agnes": a name in full, and what else is listed
    return Run(last.first, first.end, last.names + first.names, last.initials + first.initials)
