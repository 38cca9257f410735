"""Evidence for and against a run of words being a person's name.

For: what the lists say about its words, and titles, labels, credentials, relations, verbs of persons, salutations and
signatures around it. Against: words that make it an eponym (*Bell's palsy*), a street, a hospital, a city.
"""

from __future__ import annotations

from typing import Final

from deid.reading.view import LOWER, NUMBER, TITLE, UPPER
from deid.rules.certainties import certainties
from deid.rules.person_words import Run, clear, credential_follows, tells
from deid.rules.scene import Scene
from deid.rules.word_classes import (
    COUNTRY,
    CREDENTIAL,
    DOCTOR_TITLE,
    EPONYM,
    EPONYM_HEAD,
    FUNCTION,
    GIVEN,
    HEAD,
    LAST,
    MOSTLY_NAME,
    ORDINARY,
    PATIENT_WORD,
    PERSON,
    PERSON_VERB,
    PLACE,
    POPULAR,
    RELATION,
    ROLE,
    STATE,
    STATE_CODE,
    STRONG_PERSON_VERB,
    cues_of,
)

__all__ = [
    "category_of",
    "credential_follows",
    "eponym_follows",
    "inverted_name_certainty",
    "name_certainty",
    "person_verb_follows",
    "vetoed",
]

_W: Final[dict[str, float]] = certainties("evidence")

_CUES: Final = [
    (cues_of("naming"), _W["cue_naming"], "name.naming"),
    (cues_of("greeting"), _W["cue_greeting"], "name.greeting"),
    (cues_of("doctor"), _W["cue_doctor"], "name.doctor"),
    (cues_of("contact"), _W["cue_contact"], "name.contact"),
]
_ANY_CUE: Final = cues_of("naming", "greeting", "doctor", "contact")
_CLOSING: Final = cues_of("closing")
_ARTICLE: Final = cues_of("article")
_LIVES: Final = cues_of("lives")
_WHERE: Final = cues_of("where")
_DOCTOR: Final = cues_of("doctor")


def _strength(scene: Scene, index: int) -> float:
    """How likely a word is a name, by its lists alone."""
    classes, word = scene.classes[index], scene.strings[index]
    short = len(word) < 4
    popular = classes & (POPULAR | MOSTLY_NAME)
    caseless = scene.case_uninformative(index)
    value = _W["unlisted"]
    if classes & GIVEN:
        value = _W["given"]
        if clear(scene, index):
            value = _W["given_popular" if popular else "given_clear" if not short else "given_short"]
            value -= _W["given_without_case"] * caseless
            if classes & PLACE and not classes & MOSTLY_NAME:
                value = min(value, _W["given_place"])
    elif classes & LAST and clear(scene, index):
        value = _W["last_popular" if popular else "last_clear" if not short else "last_short"]
        value *= _W["last_place_or_without_case"] if classes & PLACE or caseless else 1.0
    if classes & EPONYM:
        value = min(value, _W["eponym"])
    if "-" in word and not classes & GIVEN:
        value = min(value, _W["hyphenated"])  # "Lund-Browder", "Semmes-Weinstein" are as likely as "Smith-Jones"
    if scene.kinds[index] == UPPER and not caseless:
        value *= _W["uppercase"]  # an acronym, rather
    return value


def name_certainty(scene: Scene, run: Run) -> tuple[float, str]:
    """Return how certain it is that a run which stands behind no label and no title is a name.

    Returns
    -------
    (float, str)
        Certainty, 0 to 1, and the strongest reason.
    """
    if vetoed(scene, run):
        return 0.0, ""
    start = scene.view.starts_sentence(run.first)
    if not any(scene.classes[i] & PERSON for i in run.names):
        base = _weigh_words(scene, run, start) if len(run.names) > 1 else _W["one_unlisted_word"]
    elif len(run.names) == 1 and not run.initials:
        base = _strength(scene, run.names[0]) - (_W["sentence_start"] if start else 0.0)
    else:
        base = _weigh_words(scene, run, start)
    cues, source = _cues(scene, run)
    score = (1.0 - (1.0 - max(base, 0.0)) * (1.0 - cues)) * _against(scene, run)
    return score, source or ("name.full" if len(run.names) > 1 else "name.word")


def _weigh_words(scene: Scene, run: Run, start: bool) -> float:
    """Weigh a run of several words (or with initials) by its lists."""
    first, last = run.names[0], run.names[-1]
    caseless = scene.case_uninformative(first)
    if len(run.names) == 1:  # with initials
        return _W["initials_and_clear"] if clear(scene, first) else _W["initials_and_doubtful"]
    if scene.classes[first] & GIVEN and clear(scene, first):
        if caseless:
            return _W["given_and_clear_without_case" if clear(scene, last) else "given_and_doubtful_without_case"]
        return _W["given_and_listed"] if scene.classes[last] & PERSON else _W["given_and_unlisted"]
    if scene.classes[first] & GIVEN:
        if clear(scene, last):
            return _W["doubtful_given_and_clear_without_case" if caseless else "doubtful_given_and_clear"]
        return _W[
            "doubtful_given_without_case"
            if caseless
            else "doubtful_given_at_sentence_start"
            if start
            else "doubtful_given"
        ]
    if clear(scene, first) and clear(scene, last):
        return _W["clear_words_without_case"] if caseless else _W["clear_words"]
    if any(scene.classes[i] & GIVEN and clear(scene, i) for i in run.names):
        return _W["given_inside_without_case"] if caseless else _W["given_inside"]
    if run.initials:
        return _W["words_and_initials"]
    if caseless or any(scene.kinds[i] == UPPER for i in run.names):
        return _W["words_without_case_or_uppercase"]
    if not any(clear(scene, i) for i in run.names):
        # ordinary or clinical words in title case ("Left Foot"), though some are surnames as well
        return _W["ordinary_words"]
    label = scene.word(run.end) in (":", "#", "=")
    return _W["unlisted_words"] - _W["words_at_sentence_start"] * start - _W["words_before_colon"] * label


def inverted_name_certainty(scene: Scene, run: Run) -> float:
    """Return how certain it is, 0 to 1, that a run *Last, First* is a name."""
    last, first = run.names[0], run.names[-1]
    classes = scene.classes[last]
    if classes & GIVEN and not classes & LAST:
        return 0.0
    base = 0.0
    if first != last and scene.classes[first] & GIVEN:
        if clear(scene, first):
            base = _W["inverted_listed" if classes & LAST and clear(scene, last) else "inverted_given"]
        else:
            base = _W["inverted_doubtful_given" if clear(scene, last) and not classes & GIVEN else "inverted_doubtful"]
    elif clear(scene, last) and run.initials:
        base = _W["inverted_initial"]
    if run.initials and first != last:
        base = 1.0 - (1.0 - base) * _W["inverted_with_initial"]
    if not base and scene.classes[first] & ORDINARY and not clear(scene, first):
        return 0.0  # "the door, Heide": what stands around it is not said of the word behind the comma
    if classes & PLACE and not run.initials:
        base *= _W["inverted_place"]
    if scene.breaks[run.first]:
        base = 1.0 - (1.0 - base) * _W["inverted_line_start"]
    cues, _ = _cues(scene, run)
    return 1.0 - (1.0 - base) * (1.0 - cues)


def _cues(scene: Scene, run: Run) -> tuple[float, str]:
    """Return how much the surroundings speak for a name, and the strongest reason."""
    found: list[tuple[float, str]] = []
    before = run.first - 1
    if scene.word(before) in (",", ":", "(", "-", "\u2013", "/", '"'):
        before -= 1
    direct = before == run.first - 1
    named = tells(scene, run.names[0], run.names[-1])
    line_end = run.first > 0 and scene.breaks[run.first] == 1
    near = scene.same_line(run.first) or (line_end and not scene.uppercase_line[run.first])
    if credential_follows(scene, run.end):
        found.append((_W["credential"], "name.credential"))
    if near and scene.has(before, RELATION) and (scene.kinds[before] == LOWER or scene.same_line(run.first)):
        whose = direct and (named or scene.kinds[before] != TITLE)  # not "Well Child Check"
        likely = clear(scene, run.names[0]) or bool(scene.classes[run.names[0]] & GIVEN)
        found.append(
            (
                _W["relation_direct" if whose else "relation_likely" if likely else "relation_before"],
                "name.relation",
            )
        )
    if near and scene.has(before, ROLE):
        found.append((_W["role_direct" if direct else "role_before"], "name.role"))
    if near and (scene.cued(run.first, _ANY_CUE) or scene.cued(before + 1, _ANY_CUE)):
        for cue, value, source in _CUES:
            if scene.cued(run.first, cue) or scene.cued(before + 1, cue):
                found.append((value, source))
    if _closes(scene, run):
        found.append((_W["signature"], "name.signature"))
    elif named and len(run.names) > 1 and _alone(scene, run):
        found.append((_W["line"], "name.line"))
    if _aged_follows(scene, run.end):
        found.append((_W["aged"], "name.aged"))
    elif person_verb_follows(scene, run.end):
        known = len(run.names) > 1 or scene.classes[run.names[0]] & PERSON
        strong = scene.has(run.end, STRONG_PERSON_VERB) and known
        found.append((_W["strong_verb" if strong else "verb"], "name.verb"))
    if near and direct and named and len(run.names) > 1 and scene.has(before, PATIENT_WORD):
        found.append((_W["patient_word"], "name.patient"))
    if scene.possessive(run.end) and scene.has(run.end + 2, RELATION):
        found.append((_W["possessive_relation"], "name.relation"))
    if scene.word(run.first - 1) == "(" and scene.word(run.end) == ")" and clear(scene, run.names[0]):
        found.append((_W["brackets"], "name.brackets"))
    if scene.word(run.end) == "(" and scene.has(run.end + 1, RELATION | ROLE):
        found.append((_W["bracketed_relation"], "name.relation"))
    if scene.word(run.end) == "," and scene.has(run.end + 1, FUNCTION) and scene.has(run.end + 2, RELATION):
        found.append((_W["apposed_relation"], "name.relation"))
    rest = 1.0
    for value, _ in found:
        rest *= 1.0 - value
    return 1.0 - rest, max(found)[1] if found else ""


def person_verb_follows(scene: Scene, index: int) -> bool:
    """Tell whether a verb of persons stands at a word: *reports*, *denies*."""
    return scene.has(index, PERSON_VERB) and not scene.breaks[index] and scene.kinds[index] == LOWER


def _aged_follows(scene: Scene, index: int) -> bool:
    """Tell whether *is a 45* or *, a 45-year-old* stands behind a name."""
    at = index + 1 if scene.word(index) == "," else index
    if at in scene.cues_at["aged"]:
        at += 1
    elif at == index:
        return False
    at += scene.says(at, "indefinite")
    return at > index + 1 and at < scene.count and scene.kinds[at] == NUMBER and len(scene.strings[at]) < 4


def _alone(scene: Scene, run: Run) -> bool:
    """Tell whether a run is all of its line."""
    return bool(scene.breaks[run.first]) and (run.end >= scene.count or bool(scene.breaks[run.end]))


def _closes(scene: Scene, run: Run) -> bool:
    """Tell whether a run stands in the line behind a closing phrase."""
    if not scene.breaks[run.first]:
        return False
    at = run.first
    while at > 0 and run.first - at < 3 and scene.word(at - 1) in (",", ".", "-", "_"):
        at -= 1
    return scene.cued(at, _CLOSING)


def eponym_follows(scene: Scene, run: Run) -> bool:
    """Tell whether the words behind a run make it the name of a disease, a sign, an instrument."""
    at = run.end
    if scene.word(at) in ("'", "\u2019"):
        at += 2 if scene.says(at + 1, "possessive") else 1
    elif scene.word(at) == "-" and scene.is_word(at + 1):
        at += 2
    if at >= scene.count or scene.breaks[at]:
        return False
    return scene.has(at, EPONYM_HEAD) and (not scene.has(at, PERSON_VERB) or scene.case_uninformative(at))


def _head_at(scene: Scene, index: int) -> bool:
    """Tell whether a head of an institution, a street or a landscape begins at a word."""
    if scene.classes[index] & HEAD and not scene.has(index, ROLE | CREDENTIAL):
        return True
    return any(classes & HEAD for _, classes in scene.phrases.get(index, ()))


def _against(scene: Scene, run: Run) -> float:
    """Return by how much the surroundings speak against a name: 1 not at all, 0 beyond doubt."""
    factor = 1.0
    if eponym_follows(scene, run):
        factor *= _W["eponym_follows"]
    behind = run.end
    if scene.possessive(behind):
        behind += 2
    if (
        behind < scene.count
        and scene.same_line(behind)
        and scene.capital(behind)
        and not scene.case_uninformative(behind)
    ):
        if _head_at(scene, behind):
            factor *= _W["head_follows"]
        elif scene.kinds[behind] == TITLE and len(run.names) == 1 and scene.classes[behind] & ORDINARY:
            factor *= _W["ordinary_follows"]  # a word of a heading or of a title in capitals
    if len(run.names) == 1 and scene.cued(run.first, _ARTICLE):
        factor *= _W["article"]
    if _among_eponyms(scene, run):
        factor *= _W["among_eponyms"]
    exact = any(end == run.end and classes & PLACE for end, classes in scene.phrases.get(run.first, ()))
    place = exact or all(scene.classes[i] & PLACE for i in run.names)
    if place and scene.cued(run.first, _LIVES):
        factor *= _W["lives_place"]
    elif exact or (place and scene.cued(run.first, _WHERE)):
        factor *= _W["exact_place_or_where"]
    if place and scene.word(run.end) == "," and scene.has(run.end + 1, STATE | STATE_CODE | COUNTRY):
        factor *= _W["before_state"]
    return factor


def _among_eponyms(scene: Scene, run: Run) -> bool:
    """Tell whether a run stands in a list of instruments or signs: *Weitlaner, Kelly, Balfour*."""
    if len(run.names) > 1:
        return False
    before = scene.has(run.first - 2, EPONYM) and _lists(scene, run.first - 1)
    return before or (scene.has(run.end + 1, EPONYM) and _lists(scene, run.end))


def _lists(scene: Scene, index: int) -> bool:
    return scene.word(index) in (",", "/") or scene.says(index, "and")


def vetoed(scene: Scene, run: Run) -> bool:
    """Tell whether a run lies in a clinical phrase (*Parkinson's disease*, *Foley catheter*)."""
    return all(scene.protected[i] for i in run.names)


def category_of(scene: Scene, run: Run) -> str:
    """Return ``DOCTOR`` for a clinician's name, by role, title or credential beside it; else ``PATIENT``."""
    before = run.first - 1
    if scene.word(before) in (",", ":", "(", "-"):
        before -= 1
    if _closes(scene, run) or credential_follows(scene, run.end) or scene.has(before, ROLE):
        return "DOCTOR"
    if scene.cued(run.first, _DOCTOR):
        return "DOCTOR"
    upper = scene.kinds[run.first] == UPPER and scene.uppercase_line[run.first]
    return "DOCTOR" if upper and scene.has(before, DOCTOR_TITLE) else "PATIENT"
