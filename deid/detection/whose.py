"""Whose a name is, and what a place is, by the words beside it: *atty Quigley*, *Nwabueze rheum*, *CT at Ririe*.

What a model or a name's own words say of the category is a guess; the word before a name (*caseworker*, *sister*,
*RDH*), the one behind it (*dictating*, *c/o*, *(cards)*) and what leads to a place (*transferred to*, *works at*) tell.
A title, a credential and a label decide before them. The words are lists of the language. What they tell at one place
holds for the same name at the others (`settle_categories`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from deid.detection.kinds import origin_of
from deid.detection.overlaps import score_of
from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import NUMBER, view_of
from deid.rules.person_words import credential_follows
from deid.rules.scene import Scene
from deid.rules.word_classes import HOSPITAL_HEAD, RELATION, ROLE, STRONG_ORGANIZATION_HEAD, TITLES, cues_of

_LONGEST_WORD: Final = 64
"""Characters around a name in which its first and its last word end."""
PEOPLE: Final = frozenset(("PATIENT", "DOCTOR"))
Told = dict[str, dict[str, Span]]
"""Word of a name -> category -> the surest span that tells whose it is."""
_INSTITUTIONS: Final = frozenset(("HOSPITAL", "ORGANIZATION"))
_PAIRED: Final = frozenset("&/")
_GIVEN: Final = classes_of("given")
_TOWN: Final = classes_of("city", "city_ambig", "city_big")
_OCCUPATION: Final = classes_of("occupation")
_GUESSED: Final = frozenset(("PATIENT", "DOCTOR", "CITY", "HOSPITAL", "ORGANIZATION", "LOCATION-OTHER"))
_DOCTOR: Final = cues_of("doctor")
_CARE: Final = cues_of("hospital_verb")
_WORK: Final = cues_of("work_at")
_HEADS: Final = HOSPITAL_HEAD | STRONG_ORGANIZATION_HEAD | classes_of("org_head_weak", "street_suffix")
_STATE: Final = re.compile(r",? [A-Z]{2}(?![A-Za-z])")
_BEFORE_STATE: Final = frozenset(", ")


def whose(scene: Scene, spans: Sequence[Span], decides: Callable[[str], bool]) -> list[Span]:
    """Return spans, those of people and places with the category that the words beside them tell.

    Parameters
    ----------
    scene : Scene
    spans : sequence of Span
        What was accepted.
    decides : callable
        Tells of a source whether it is a label, which has the last word.

    Returns
    -------
    list of Span
        In the same order; what changed its category tells the former one (`Span.also`).
    """
    found = list(spans)
    ends = {span.end for span in spans if span.category in _INSTITUTIONS}
    for number, span in enumerate(spans):
        own, source = span.category, span.source
        if own not in _GUESSED or origin_of(source).settled or decides(source):
            continue
        words = scene.inside(span.start, span.end)
        if not words:
            continue
        category, person = _of_place(scene, words, own, span.end), own in PEOPLE
        if not category and person:
            category = _of_person(scene, words, span.end)
            if not category and origin_of(source).model and _is_town(scene, words, ends):
                category = "CITY"
        if not category and own == "CITY" and _is_kin(scene, words[0]):
            category = "PATIENT"
        if not category and number and own == "PATIENT" and _is_second(scene, found[number - 1], words):
            category = "DOCTOR"
        if category and category != own:
            found[number] = span.named(category).read_as({own})
    return found


def _is_kin(scene: Scene, index: int) -> bool:
    """Tell whether a word that no list of places has stands behind a relative: *with her niece, Aoife*."""
    before = index - 1
    comma = scene.word(before) == ","
    related = scene.has(before - comma, RELATION) and not scene.has(index, _TOWN)
    return related and not scene.breaks[index] and (not comma or not scene.breaks[before])


def _is_second(scene: Scene, first: Span, words: list[int]) -> bool:
    """Tell whether a name is the second of two to whom staff handed over: *Handed to Wendy & Lin*."""
    before = words[0] - 1
    if first.category != "DOCTOR" or not (scene.says(before, "and") or scene.word(before) in _PAIRED):
        return False
    if scene.ends[before - 1] != first.end or scene.breaks[words[0]]:
        return False
    return scene.cued(scene.at(first.start), _DOCTOR)


def _is_town(scene: Scene, words: list[int], ends: Collection[int]) -> bool:
    """Tell whether a word that no list has as a name stands behind an institution: *The Quay Surgery, Pontefract*."""
    before = words[0] - 1
    if scene.word(before) != "," or scene.breaks[words[0]]:
        return False
    if len(words) > 2 or scene.ends[before - 1] not in ends or any(scene.has(i, _GIVEN) for i in words):
        return False
    behind = words[-1] + 1
    return scene.line_ends(behind) or scene.word(behind) in (",", ".", ";")


def _of_person(scene: Scene, words: list[int], end: int) -> str:
    """Return whose name it is; empty where nothing beside it tells, or not all the same."""
    if scene.has(words[0], TITLES) or credential_follows(scene, words[-1] + 1):
        return ""
    before = words[0] - 1
    if scene.word(before) in ("(", ",", "@", "/") and not scene.breaks[words[0]]:
        before -= 1
    dotted = scene.word(before) == "." and scene.is_word(before - 1) and scene.ends[before - 1] == scene.starts[before]
    if dotted and len(scene.strings[before - 1]) <= 4:
        before -= 1
    if scene.breaks[words[0]] or scene.word(words[0] - 1) == ":":
        before = -1
    if scene.has(before, RELATION) or scene.says(before, "patient_role"):
        return "PATIENT"
    if scene.says(before, "staff_role") or scene.cued(words[0], _DOCTOR):
        return "DOCTOR"
    behind = words[-1] + 1
    if scene.line_ends(behind):
        return ""
    if scene.vocabulary.expressions["aged"].match(scene.text, end):
        return "PATIENT"
    if scene.word(behind) == "(":
        if scene.has(behind + 1, RELATION):
            return "PATIENT"
        return "DOCTOR" if scene.says(behind + 1, "staff_matter") else ""
    if scene.says(behind, "staff_act") or scene.says(behind, "staff_matter"):
        return "DOCTOR"
    return "PATIENT" if scene.says(behind, "patient_act") else ""


def _of_place(scene: Scene, words: list[int], category: str, end: int) -> str:
    """Return what a place is by what leads to it and by its last word; empty where neither tells."""
    first, last = words[0], words[-1]
    if scene.has(first, TITLES):
        return ""
    if category == "HOSPITAL" and len(words) > 1 and scene.says(last, "organization_end"):
        return "ORGANIZATION"
    if category != "HOSPITAL" and _at_work(scene, first - scene.says(first - 1, "definite")):
        return "ORGANIZATION"
    if scene.has(last, _HEADS) or (scene.text[end : end + 1] in _BEFORE_STATE and _STATE.match(scene.text, end)):
        return ""
    if scene.says(first - 1, "definite"):
        first -= 1
    if scene.breaks[first] or scene.kinds[first] == NUMBER or credential_follows(scene, last + 1):
        return ""
    if scene.cued(first, _CARE) and category != "ORGANIZATION":
        return "HOSPITAL"
    if scene.cued(first, _WORK):
        return "ORGANIZATION"
    return ""


def _at_work(scene: Scene, first: int) -> bool:
    """Tell whether an occupation leads to a place: *a line cook at the Rusty Spur Grill*."""
    if not scene.says(first - 1, "occupation_at") or scene.breaks[first]:
        return False
    return scene.has(first - 2, _OCCUPATION) and not scene.has(first - 2, ROLE)


def settle_categories(
    spans: list[Span], words_of: Callable[[Span], Collection[str]], known: Told | None = None
) -> list[Span]:
    """Return spans in which names of unknown people have the category of the same name found with a title or label.

    *Seen by Priscilla Vann* may be anybody; *PCP: Priscilla Vann, DO* further up says that she is a clinician. Of names
    found at one place only the surest is looked at: the others decide nothing. What a model says of a person yields
    only to labels, credentials, roles, signatures and a doctor's title, and to *Mr. Vann* where the name is in full.

    Parameters
    ----------
    spans : list of Span
    words_of : callable
        Returns the words of a name (`name_words`).
    known : mapping, optional
        What words of names tell (`tell`), where the spans are those of a part of a text.
    """
    people = [span for span in spans if span.category in PEOPLE]
    tops: dict[tuple[int, int], Span] = {}
    for span in people:
        held = tops.setdefault((span.start, span.end), span)
        if held is not span and score_of(span) > score_of(held):
            tops[span.start, span.end] = span
    words: dict[int, Collection[str]] = {}
    wanted: set[str] = set()
    for span in tops.values():
        origin = origin_of(span.source)
        if origin.model or not origin.tells:
            words[id(span)] = words_of(span)
            wanted.update(words[id(span)])
    if not wanted:
        return spans
    if known is None:
        told: Told = {}
        tell(people, words_of, told, wanted)
        known = told
    settled: dict[int, Span] = {}
    for span in tops.values():
        if id(span) in words:
            category = _told_of(words[id(span)], known, origin_of(span.source).model)
            if category and category != span.category:
                settled[id(span)] = span.named(category)
    return [settled.get(id(span), span) for span in spans] if settled else spans


def _told_of(words: Collection[str], known: Told, modelled: bool) -> str:
    """Return the category that all evidence on the words of a name says; empty where none does, or not all the same."""
    held = [known[word] for word in words if word in known]
    sure = {c for told in held for c, span in told.items() if _decides(span, len(words))}
    if modelled:
        return sure.pop() if len(sure) == 1 else ""
    found = sure or {max(told.values(), key=_weight).category for told in held}
    return found.pop() if len(found) == 1 else ""


def tell(
    spans: Iterable[Span],
    words_of: Callable[[Span], Collection[str]],
    known: Told,
    wanted: set[str] | None = None,
) -> None:
    """Note the words of names by the surest span that tells whose they are; ``wanted`` words alone where given."""
    for span in spans:
        if span.category in PEOPLE and origin_of(span.source).tells:
            for word in words_of(span):
                if wanted is not None and word not in wanted:
                    continue
                told = known.setdefault(word, {})
                if span.category not in told or _weight(span) > _weight(told[span.category]):
                    told[span.category] = span


def _weight(span: Span) -> tuple[bool, float]:
    """Return what counts between sources that tell whose a name is; a model without scores counts least."""
    return origin_of(span.source).decides, span.score or 0.0


def _decides(span: Span, words: int) -> bool:
    """Tell whether a source says whose name it is against a model, in a name of some words."""
    if not origin_of(span.source).decides:
        return False
    return words > 1 or span.category != "PATIENT" or span.source != "rule:name.title"


def traits(source: str) -> object:
    """Return what matters of a source: whether it tells whose name it found, is a header's label, beats a model."""
    return origin_of(source).traits


def name_words(text: str, span: Span) -> list[str]:
    """Return the words of a name in a text by which the same person is known elsewhere."""
    low = max(text.rfind(sign, max(0, span.start - _LONGEST_WORD), span.start) for sign in " \n") + 1
    high = text.find(" ", span.end, span.end + _LONGEST_WORD)
    low = low or max(0, span.start - _LONGEST_WORD)
    view = view_of(text[low : high if high >= 0 else span.end + _LONGEST_WORD])
    words = view.words_at(span.start - low, span.end - low)
    return _of_letters(view.folded, view.kinds, words.start, words.stop)


def words_of_name(scene: Scene, span: Span) -> list[str]:
    """Return what `name_words` does, of the words of a scene: they are found sooner."""
    first = stop = scene.at(span.start)
    while stop < scene.count and scene.starts[stop] < span.end:
        stop += 1
    return _of_letters(scene.folded, scene.kinds, first, stop)


def _of_letters(folded: list[str], kinds: bytes, first: int, stop: int) -> list[str]:
    return [folded[i] for i in range(first, stop) if kinds[i] > NUMBER and len(folded[i]) > 2]
