"""Places: cities, states, countries, counties, regions, codes behind them.

They are found by lists and weighed by the cues around them, since many are also names of persons or ordinary words;
unlisted ones behind *lives in*, before a state, a ZIP code or a postcode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deid.document import Span
from deid.reading.lexicon import CLASSES, classes_of
from deid.reading.view import MIXED, NUMBER, SIGN, TITLE, UPPER
from deid.rules.institutions import proper_run
from deid.rules.person_words import PERSON
from deid.rules.scene import Scene, rounded

__all__ = ["find_places"]

_CITY = classes_of("city")
_CITY_AMBIG = classes_of("city_ambig")
_BIG = classes_of("city_big")
_ANY_CITY = _CITY | _CITY_AMBIG | _BIG
_STATE, _CODE, _COUNTRY, _REGION = (CLASSES[n] for n in ("state", "state_code", "country", "region"))
_COUNTY, _OLD_CODE = CLASSES["county"], CLASSES["state_old"]
_BEHIND_COMMA = _STATE | _CODE | _COUNTRY | _OLD_CODE
_LISTED = _ANY_CITY | _STATE | _COUNTRY | _REGION | _COUNTY
_SETTLEMENT = classes_of("settlement", "place_head")
_AMBIGUOUS = classes_of("word", "name_word", "clinical", "given", "last", "eponym", "device", "function", "section")
_GENERIC = classes_of(
    "generic", "function", "section", "institution", "occupation", "role", "nationality", "credential"
)
_CLINICAL = classes_of("clinical")
# the kinds of words around a postcode; what stands before it is looked at last, since `re` is quick at finding bytes
_POSTCODE = re.compile(b"%b%b(?<=[%b]..)" % (bytes((UPPER,)), bytes((NUMBER,)), bytes((TITLE, MIXED))), re.DOTALL)
_NO_CITY_BLIND = classes_of("word", "clinical", "eponym", "device", "function", "given", "section")
_NO_AMBIGUOUS_CITY = classes_of("clinical", "eponym", "device", "function")
_NAMED_AFTER = classes_of("hospital_head", "org_head", "street_suffix", "eponym_head")
_UNCUED = 0.2
"""Certainty of a city that is a name or a word as well and has no cue."""
_FOLLOWERS = classes_of("state", "state_code", "state_old", "country", "function", "month", "weekday")


def find_places(scene: Scene, least: float = 0.0) -> list[Span]:
    """Find places; candidates with their certainty, which may overlap.

    Parameters
    ----------
    scene : Scene
    least : float
        Certainty below which a listed place is of no use to the caller.
    """
    spans = list(_city_and_state(scene))
    spans += _listed(scene, least)
    spans += _before_codes(scene)
    spans += _lives(scene)
    return spans


def _city_and_state(scene: Scene) -> Iterator[Span]:
    """*Springfield, OH*; *St. Paul, Minnesota*; unknown places too when the state is beyond doubt."""
    words = scene.view.folded
    for state in scene.of_phrase(_BEHIND_COMMA):
        comma = state - 1
        if comma < 1 or words[comma] != "," or not scene.same_line(state):
            continue
        end, sure = _state_at(scene, state)
        if end == state:
            continue
        start, listed = _city_before(scene, comma)
        if start == comma:
            continue
        zipped = end < len(scene) and scene.view.kinds[end] == NUMBER and len(scene.view.strings[end]) == 5
        person = all(scene.classes[i] & PERSON for i in range(start, comma) if scene.is_word(i))
        if not zipped and sure < 0.9 and not listed:
            continue
        if not listed and not zipped and (person or scene.blind(start) or (end - state == 1 and sure < 0.95)):
            continue
        if sure < 0.9 and not zipped and person and not scene.cued(start, "lives"):
            continue  # "Tyler, MD"
        if scene.quiet and not zipped and not listed:
            continue
        country = scene.classes[state] & _COUNTRY and not scene.classes[state] & (_STATE | _CODE)
        yield scene.span(start, comma, "CITY", "place.city_state", 0.95 if listed or zipped else 0.8)
        yield scene.span(state, end, "COUNTRY" if country else "STATE", "place.city_state", 0.95)


def _city_before(scene: Scene, comma: int) -> tuple[int, bool]:
    """Return the first word of the place before a comma, and whether a list has it."""
    for back in (4, 3, 2, 1):
        start = comma - back
        if start >= 0 and _city_at(scene, start)[0] == comma and scene.capital(start):
            return start, True
    start = comma
    while start > 0 and comma - start < 3:
        at = start - 1
        if start < comma and not scene.same_line(start):
            break
        kind = scene.view.kinds[at]
        if kind not in (TITLE, MIXED) and not (kind == UPPER and scene.view.loud[at] and len(scene.word(at)) > 2):
            break
        if scene.classes[at] & (_GENERIC | _CLINICAL | CLASSES["street_suffix"]) or scene.has(
            at, "title", "title_doctor"
        ):
            break
        start = at
    return start, False


def _city_at(scene: Scene, index: int) -> tuple[int, int]:
    """Return the end and the classes of the longest listed city that starts at a word; (index, 0) when none does."""
    end, classes = index, 0
    if scene.classes[index] & _ANY_CITY:
        end, classes = index + 1, scene.classes[index] & _ANY_CITY
    for stop, phrase in scene.phrases.get(index, ()):
        if phrase & _ANY_CITY and stop >= end:
            classes = phrase if stop > end else classes | phrase
            end = stop
    return end, classes


def _state_at(scene: Scene, index: int) -> tuple[int, float]:
    """Return the end of a state, or its code, that starts at a word, and how sure it is; (index, 0) when none does."""
    for stop, phrase in scene.phrases.get(index, ()):
        if phrase & (_STATE | _COUNTRY) and scene.capital(index):
            return stop, 0.95
    classes = scene.classes[index]
    if classes & (_STATE | _COUNTRY) and scene.capital(index):
        return index + 1, 0.95
    if classes & _CODE and (scene.view.kinds[index] == UPPER or scene.quiet):
        return index + 1, 0.8 if scene.says(index, "state_code_word") else 0.95
    if classes & _OLD_CODE and scene.view.kinds[index] == TITLE:
        return index + 1, 0.85
    return index, 0.0


def _before_codes(scene: Scene) -> Iterator[Span]:
    """Unlisted places right before a postcode: *Todmorden OL14 5PX*."""
    view = scene.view
    if scene.quiet:
        return
    for found in _POSTCODE.finditer(view.kinds, 0, max(0, len(scene) - 2)):
        index = found.start()
        if len(view.strings[index]) > 2 or not scene.same_line(index):
            continue
        match = scene.vocabulary.expressions["postcode"].match(view.text, view.starts[index])
        if match is None or scene.blind(index - 1):
            continue
        start = index
        while start > 0 and index - start < 3 and view.kinds[start - 1] in (TITLE, MIXED) and scene.same_line(start):
            start -= 1
        if start < index and not scene.classes[start] & _GENERIC:
            yield scene.span(start, index, "CITY", "place.postcode", 0.85)


def _listed(scene: Scene, least: float) -> Iterator[Span]:
    """Listed cities, states, countries, regions and counties, weighed by their cues."""
    last = 0
    classes, phrases, weak = scene.classes, scene.phrases, least > _UNCUED
    for index in scene.of_phrase(_LISTED):
        if index < last or not scene.capital(index):
            continue
        if weak and classes[index] & _LISTED & ~_BIG == _CITY_AMBIG and index not in phrases and _idle(scene, index):
            continue
        if _silent(scene, index):
            continue
        best = _best_listed(scene, index)
        if best is None:
            continue
        score, last, category, source = best
        # most listed words are no places, and not worth a span
        if rounded(score) >= least:
            yield scene.span(index, last, category, source, score)
        code = last + (scene.word(last) == ",")
        if category == "CITY" and _is_zip(scene, code):
            yield scene.span(index, last, "CITY", "place.city", 0.9)
            yield scene.span(code, code + 1, "ZIP", "place.zip", 0.85)


def _idle(scene: Scene, index: int) -> bool:
    """Tell whether neither a cue nor a postcode makes more of an ambiguous city than `_UNCUED`."""
    if scene.cued(index, "lives", "where"):
        return False
    code = index + 1 + (scene.word(index + 1) == ",")
    return code >= len(scene) or scene.view.kinds[code] != NUMBER


def _silent(scene: Scene, index: int) -> bool:
    """Tell whether nothing speaks for a place where case does not: no cue, no phrase, no word that is only a place."""
    if not scene.blind(index) or index in scene.phrases:
        return False
    classes = scene.classes[index]
    if classes & (_STATE | _COUNTRY | _BIG) and not classes & _AMBIGUOUS:
        return False
    return not any(index in cues for cues in scene.cues_before.values())


def _is_zip(scene: Scene, index: int) -> bool:
    """Tell whether a number of five digits, and no quantity, stands at a word."""
    if index >= len(scene) or scene.view.kinds[index] != NUMBER or not scene.same_line(index):
        return False
    return scene.vocabulary.expressions["zip"].match(scene.view.text, scene.view.starts[index]) is not None


def _best_listed(scene: Scene, index: int) -> tuple[float, int, str, str] | None:
    """Return the likeliest place that starts at a word: certainty, one past its last word, category, source."""
    lives = index in scene.cues_before["lives"]
    where = lives or index in scene.cues_before["where"]
    options: list[tuple[float, int, str, str]] = []
    for stop, classes in ((index + 1, scene.classes[index]), *scene.phrases.get(index, ())):
        if not classes & _LISTED:
            continue
        several = stop > index + 1
        ambiguous = bool(classes & _AMBIGUOUS) and not several
        if classes & _STATE:
            sure = 0.92 if not ambiguous or lives else 0.75 if where else 0.62
            options.append((sure - 0.3 * scene.blind(index) * (not where), stop, "STATE", "place.state"))
        elif classes & _COUNTRY:
            sure = 0.9 if not ambiguous else 0.85 if lives else 0.7 if where else 0.3
            options.append((sure, stop, "COUNTRY", "place.country"))
        if classes & _REGION:
            sure = 0.8 if several or where else 0.62
            options.append((sure, stop, "LOCATION-OTHER", "place.region"))
        if classes & _COUNTY:
            options.append((0.85, stop, "LOCATION-OTHER", "place.county"))
        if classes & _ANY_CITY:
            options.append((_city_score(scene, index, classes, several, lives, where), stop, "CITY", "place.city"))
    if not options:
        return None
    score, stop, category, source = max(options) if len(options) > 1 else options[0]
    behind = stop < len(scene) and scene.same_line(stop) and scene.capital(stop) and not scene.blind(index)
    if behind and scene.classes[stop] & _NAMED_AFTER:
        score *= 0.4
    elif behind and category == "CITY" and scene.view.kinds[stop] == TITLE and not scene.classes[stop] & _FOLLOWERS:
        score *= 0.65  # "Green Bay Packers"
    if scene.protected[index]:
        score *= 0.3
    return (score, stop, category, source) if score >= 0.2 else None


def _city_score(scene: Scene, index: int, classes: int, several: bool, lives: bool, where: bool) -> float:
    """Weigh a listed city."""
    blind = scene.blind(index)
    if blind and where and not several and classes & _CITY and not scene.classes[index] & _AMBIGUOUS & ~PERSON:
        return 0.62
    if blind and lives and not several and not scene.classes[index] & _NO_CITY_BLIND:
        return 0.7
    if classes & _CITY_AMBIG and not several:
        if scene.classes[index] & _NO_AMBIGUOUS_CITY and not classes & _BIG:
            return 0.55 if lives and not blind else 0.1
        if lives and not blind:
            return 0.85 if classes & _BIG else 0.78
        return 0.5 if where and classes & _BIG else _UNCUED
    if classes & _CITY_AMBIG:
        return 0.8 if lives else 0.55 if where else 0.35
    known = 0.85 if several else 0.62 if classes & _BIG else 0.52
    behind = scene.view.kinds[index + 1] if index + 1 < len(scene) and scene.same_line(index + 1) else SIGN
    if not several and not where and (behind == NUMBER or scene.word(index + 1) in (":", "(", "+", "/")):
        known -= 0.2  # "Salem 16 Fr", "Nottingham 6/9"
    if lives:
        return 0.92 if not blind else 0.8
    return min(0.9, known + 0.12 * where) - 0.35 * blind


def _lives(scene: Scene) -> Iterator[Span]:
    """Unlisted places behind *lives in*, *moved to*, *in*, *from*."""
    if scene.quiet:
        return
    lives, kinds, words = scene.cues_before["lives"], scene.view.kinds, scene.view.folded
    leads = scene.vocabulary.words["place_in"]
    count, behind = len(kinds), lives | scene.cues_before["where"]
    for index in sorted(i for i in behind if i < count and kinds[i] in (TITLE, MIXED)):
        cued = index in lives
        if not (cued or words[index - 1] in leads) or scene.blind(index) or not scene.same_line(index):
            continue
        end = proper_run(scene, index)
        if end == index:
            continue
        last = scene.classes[end - 1]
        unlisted = not any(scene.classes[i] for i in range(index, end)) and len(scene.view.strings[end - 1]) > 3
        settlement = end - index > 1 and bool(last & _SETTLEMENT)
        if cued:
            named = not last & CLASSES["word"] or last & PERSON or settlement
            yield scene.span(index, end, "CITY", "place.lives", 0.66 if named else 0.4)
        elif unlisted or settlement:
            yield scene.span(index, end, "CITY", "place.in", 0.56 if settlement else 0.46)
