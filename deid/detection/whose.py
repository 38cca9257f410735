"""Whose a name is, and what a place is, by the words beside it: *atty Quigley*, *Nwabueze rheum*, *CT at Ririe*.

What a model or a name's own words say of the category is a guess; the word before a name (*caseworker*, *sister*,
*RDH*), the one behind it (*dictating*, *c/o*, *(cards)*) and what leads to a place (*transferred to*, *works at*) tell.
A title, a credential and a label decide before them. The words are lists of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import regex

from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import NUMBER
from deid.rules.person_words import credential_follows
from deid.rules.scene import Scene
from deid.rules.word_classes import HOSPITAL_HEAD, RELATION, STRONG_ORGANIZATION_HEAD, TITLES, cues_of

_PEOPLE: Final = frozenset(("PATIENT", "DOCTOR"))
_GUESSED: Final = frozenset(("PATIENT", "DOCTOR", "CITY", "HOSPITAL", "ORGANIZATION", "LOCATION-OTHER"))
_TOLD: Final = (
    *("rule:name.title", "rule:name.credential", "rule:name.signed_by", "rule:name.letter"),
    *("known:", "consistency:", "rule:place.city_", "rule:place.before_state"),
)
"""Sources that know whose a name is, and where a place is."""
_LABELS: Final = ("_field", ".column")
_DOCTOR: Final = cues_of("doctor")
_CARE: Final = cues_of("hospital_verb")
_WORK: Final = cues_of("work_at")
_HEADS: Final = HOSPITAL_HEAD | STRONG_ORGANIZATION_HEAD | classes_of("org_head_weak", "street_suffix")
_AGED: Final = regex.compile(
    r",? ?\(?[0-9]{1,3} ?(?:-?(?:years?|yr?s?|months?|mo)(?:[ -]old)?|[yY][./]?[oO]|[MFmf])(?![A-Za-z0-9])"
    r"|, [1-9][0-9]?(?=, (?!(?:mg|units))[A-Za-z])"
)
"""An age behind a name."""
_STATE: Final = regex.compile(r",? [A-Z]{2}(?![A-Za-z])")


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
    for number, span in enumerate(spans):
        if span.category not in _GUESSED or span.source.startswith(_TOLD) or span.source.endswith(_LABELS):
            continue
        if decides(span.source):
            continue
        words = scene.inside(span.start, span.end)
        if not words:
            continue
        category = _of_place(scene, words, span) or (_of_person(scene, words, span) if span.category in _PEOPLE else "")
        if category and category != span.category:
            found[number] = span.named(category).read_as({span.category})
    return found


def _of_person(scene: Scene, words: list[int], span: Span) -> str:
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
    if _AGED.match(scene.text, span.end):
        return "PATIENT"
    if scene.word(behind) == "(":
        if scene.has(behind + 1, RELATION):
            return "PATIENT"
        return "DOCTOR" if scene.says(behind + 1, "staff_matter") else ""
    if scene.says(behind, "staff_act") or scene.says(behind, "staff_matter"):
        return "DOCTOR"
    return "PATIENT" if scene.says(behind, "patient_act") else ""


def _of_place(scene: Scene, words: list[int], span: Span) -> str:
    """Return what a place is by what leads to it and by its last word; empty where neither tells."""
    first, last = words[0], words[-1]
    if scene.has(first, TITLES):
        return ""
    if span.category == "HOSPITAL" and len(words) > 1 and scene.says(last, "organization_end"):
        return "ORGANIZATION"
    if scene.has(last, _HEADS) or _STATE.match(scene.text, span.end):
        return ""
    if scene.says(first - 1, "definite"):
        first -= 1
    if scene.breaks[first] or scene.kinds[first] == NUMBER or credential_follows(scene, last + 1):
        return ""
    if scene.cued(first, _CARE) and span.category != "ORGANIZATION":
        return "HOSPITAL"
    if scene.cued(first, _WORK):
        return "ORGANIZATION"
    return ""
