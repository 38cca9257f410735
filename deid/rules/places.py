"""Places: cities, states, countries, counties, regions, codes behind them.

They are found by lists and weighed by the cues around them, since many are also names of persons or ordinary words;
unlisted ones behind *lives in*, before a state, a ZIP code or a postcode.
"""

from __future__ import annotations

import re
from typing import Final

from deid.document import Span
from deid.reading.view import LOWER, MIXED, NUMBER, SIGN, TITLE, UPPER
from deid.rules.certainties import certainties
from deid.rules.institutions import proper_run
from deid.rules.scene import Scene, rounded
from deid.rules.word_classes import (
    AMBIGUOUS_CITY,
    AMBIGUOUS_PLACE,
    BIG_CITY,
    CALENDAR,
    CITY,
    CLINICAL,
    COUNTRY,
    COUNTY,
    EPONYM,
    EPONYM_HEAD,
    FUNCTION,
    GENERIC,
    GIVEN,
    OLD_STATE_CODE,
    ORDINARY,
    PERSON,
    REGION,
    SECTION,
    SETTLEMENT,
    STATE,
    STATE_CODE,
    STREET_SUFFIX,
    STRONG_HEAD,
    SURE_CITY,
    TITLES,
    WORD,
    cues_of,
)

__all__ = ["find_places"]

_W: Final[dict[str, float]] = certainties("places")

_BEHIND_COMMA: Final = STATE | STATE_CODE | COUNTRY | OLD_STATE_CODE
_LISTED: Final = CITY | STATE | COUNTRY | REGION | COUNTY
# the kinds of words around a postcode; what stands before it is looked at last, since `re` is quick at finding bytes
_POSTCODE: Final = re.compile(
    b"%b%b(?<=[%b]..)" % (bytes((UPPER,)), bytes((NUMBER,)), bytes((TITLE, MIXED))), re.DOTALL
)
_NO_CITY_WITHOUT_CASE: Final = ORDINARY | EPONYM | FUNCTION | GIVEN | SECTION
_NO_AMBIGUOUS_CITY: Final = CLINICAL | EPONYM | FUNCTION
_SPOKEN: Final = ORDINARY | FUNCTION | EPONYM
"""Towns that are words of these classes, too, count only by a cue, wherever they stand."""
_NAMED_AFTER: Final = STRONG_HEAD | STREET_SUFFIX | EPONYM_HEAD
_NO_CITY: Final = GENERIC | CLINICAL | STREET_SUFFIX | TITLES
_UNCUED: Final = _W["city_uncued"]
"""Certainty of a city that is a name or a word as well and has no cue."""
_FOLLOWERS: Final = _BEHIND_COMMA | FUNCTION | CALENDAR
_LIVES: Final = cues_of("lives")
_LIVES_OR_WHERE: Final = cues_of("lives", "where")


def find_places(scene: Scene, least: float = 0.0) -> list[Span]:
    """Return spans of places: candidates with their certainty, which may overlap.

    Parameters
    ----------
    scene : Scene
    least : float
        Certainty below which a listed place is of no use to the caller.
    """
    spans = list(_city_and_state(scene))
    spans += _listed(scene, least)
    spans += _before_codes(scene)
    spans += _behind_cues(scene)
    return spans


def _city_and_state(scene: Scene) -> list[Span]:
    """*Springfield, OH*; *St. Paul, Minnesota*; unknown places too when the state is beyond doubt."""
    found: list[Span] = []
    words = scene.folded
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
        zipped = end < scene.count and scene.kinds[end] == NUMBER and len(scene.strings[end]) == 5
        person = all(scene.classes[i] & PERSON for i in range(start, comma) if scene.is_word(i))
        if not zipped and sure < _W["sure_state"] and not listed:
            continue
        if (
            not listed
            and not zipped
            and (person or scene.case_uninformative(start) or (end - state == 1 and sure < _W["certain_state"]))
        ):
            continue
        if sure < _W["sure_state"] and not zipped and person and not scene.cued(start, _LIVES):
            continue  # "Tyler, MD"
        if scene.lowercase_text and not zipped and not listed:
            continue
        country = scene.classes[state] & COUNTRY and not scene.classes[state] & (STATE | STATE_CODE)
        found.append(
            scene.span(
                start,
                comma,
                "CITY",
                "place.city_state",
                _W["city_before_state" if listed or zipped else "unlisted_before_state"],
            )
        )
        found.append(
            scene.span(state, end, "COUNTRY" if country else "STATE", "place.city_state", _W["state_behind_comma"])
        )
    return found


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
        kind = scene.kinds[at]
        if kind not in (TITLE, MIXED) and not (kind == UPPER and scene.uppercase_line[at] and len(scene.word(at)) > 2):
            break
        if scene.classes[at] & _NO_CITY:
            break
        start = at
    return start, False


def _city_at(scene: Scene, index: int) -> tuple[int, int]:
    """Return the end and the classes of the longest listed city that starts at a word; (index, 0) when none does."""
    end, classes = index, 0
    if scene.classes[index] & CITY:
        end, classes = index + 1, scene.classes[index] & CITY
    for stop, phrase in scene.phrases.get(index, ()):
        if phrase & CITY and stop >= end:
            classes = phrase if stop > end else classes | phrase
            end = stop
    return end, classes


def _state_at(scene: Scene, index: int) -> tuple[int, float]:
    """Return the end of a state, or its code, that starts at a word, and how sure it is; (index, 0) when none does."""
    for stop, phrase in scene.phrases.get(index, ()):
        if phrase & (STATE | COUNTRY) and scene.capital(index):
            return stop, _W["state_name"]
    classes = scene.classes[index]
    if classes & (STATE | COUNTRY) and scene.capital(index):
        return index + 1, _W["state_name"]
    if classes & STATE_CODE and (scene.kinds[index] == UPPER or scene.lowercase_text):
        return index + 1, _W["state_code_word"] if scene.says(index, "state_code_word") else _W["state_code"]
    if classes & OLD_STATE_CODE and scene.kinds[index] == TITLE:
        return index + 1, _W["old_state_code"]
    return index, 0.0


def _before_codes(scene: Scene) -> list[Span]:
    """Unlisted places right before a postcode: *Todmorden OL14 5PX*."""
    spans: list[Span] = []
    view = scene.view
    if scene.lowercase_text:
        return spans
    for found in _POSTCODE.finditer(view.kinds, 0, max(0, scene.count - 2)):
        index = found.start()
        if len(view.strings[index]) > 2 or not scene.same_line(index):
            continue
        match = scene.vocabulary.expressions["postcode"].match(view.text, view.starts[index])
        if match is None or scene.case_uninformative(index - 1):
            continue
        start = index
        while index - start < 3 and view.kinds[start - 1] in (TITLE, MIXED) and scene.same_line(start):
            start -= 1
        if start < index and not scene.classes[start] & GENERIC:
            spans.append(scene.span(start, index, "CITY", "place.postcode", _W["before_postcode"]))
    return spans


def _listed(scene: Scene, least: float) -> list[Span]:
    """Listed cities, states, countries, regions and counties, weighed by their cues."""
    found: list[Span] = []
    last = 0
    classes, phrases, weak = scene.classes, scene.phrases, least > _UNCUED
    for index in scene.of_phrase(_LISTED):
        if index < last or not scene.capital(index):
            continue
        if (
            weak
            and classes[index] & _LISTED & ~BIG_CITY == AMBIGUOUS_CITY
            and index not in phrases
            and _idle(scene, index)
        ):
            continue
        if _silent(scene, index):
            continue
        best = _best_listed(scene, index)
        if best is None:
            continue
        score, last, category, source = best
        # most listed words are no places, and not worth a span
        if rounded(score) >= least:
            found.append(scene.span(index, last, category, source, score))
        code = last + (scene.word(last) == ",")
        if category == "CITY" and _is_zip(scene, code):
            found.append(scene.span(index, last, "CITY", "place.city", _W["city_before_zip"]))
            found.append(scene.span(code, code + 1, "ZIP", "place.zip", _W["zip"]))
    return found


def _idle(scene: Scene, index: int) -> bool:
    """Tell whether neither a cue nor a postcode makes more of an ambiguous city than `_UNCUED`."""
    if scene.cued(index, _LIVES_OR_WHERE):
        return False
    code = index + 1 + (scene.word(index + 1) == ",")
    return code >= scene.count or scene.kinds[code] != NUMBER


def _silent(scene: Scene, index: int) -> bool:
    """Tell whether nothing speaks for a place where case does not: no cue, no phrase, no word that is only a place."""
    if not scene.case_uninformative(index) or index in scene.phrases:
        return False
    classes = scene.classes[index]
    if classes & (STATE | COUNTRY | BIG_CITY) and not classes & AMBIGUOUS_PLACE:
        return False
    return not scene.cued_at_all(index)


def _is_zip(scene: Scene, index: int) -> bool:
    """Tell whether a number of five digits, and no quantity, stands at a word."""
    if index >= scene.count or scene.kinds[index] != NUMBER or not scene.same_line(index):
        return False
    return scene.vocabulary.expressions["zip"].match(scene.view.text, scene.starts[index]) is not None


def _best_listed(scene: Scene, index: int) -> tuple[float, int, str, str] | None:
    """Return the likeliest place that starts at a word: certainty, one past its last word, category, source."""
    lives = index in scene.cues_before["lives"]
    where = lives or index in scene.cues_before["where"]
    options: list[tuple[float, int, str, str]] = []
    for stop, classes in ((index + 1, scene.classes[index]), *scene.phrases.get(index, ())):
        if not classes & _LISTED:
            continue
        several = stop > index + 1
        ambiguous = bool(classes & AMBIGUOUS_PLACE) and not several
        if classes & STATE:
            sure = _W["state_clear" if not ambiguous or lives else "state_where" if where else "state_ambiguous"]
            options.append(
                (
                    sure - _W["state_without_case"] * scene.case_uninformative(index) * (not where),
                    stop,
                    "STATE",
                    "place.state",
                )
            )
        elif classes & COUNTRY:
            sure = _W[
                "country_clear"
                if not ambiguous
                else "country_lives"
                if lives
                else "country_where"
                if where
                else "country_ambiguous"
            ]
            options.append((sure, stop, "COUNTRY", "place.country"))
        if classes & REGION:
            sure = _W["region_clear" if several or where else "region"]
            options.append((sure, stop, "LOCATION-OTHER", "place.region"))
        if classes & COUNTY:
            options.append((_W["county"], stop, "LOCATION-OTHER", "place.county"))
        if classes & CITY:
            options.append((_city_score(scene, index, classes, several, lives, where), stop, "CITY", "place.city"))
    if not options:
        return None
    score, stop, category, source = max(options) if len(options) > 1 else options[0]
    behind = scene.same_line(stop) and scene.capital(stop) and not scene.case_uninformative(index)
    if behind and scene.classes[stop] & _NAMED_AFTER:
        score *= _W["named_after"]
    elif behind and category == "CITY" and scene.kinds[stop] == TITLE and not scene.classes[stop] & _FOLLOWERS:
        score *= _W["title_follows"]  # "Green Bay Packers"
    if scene.protected[index]:
        score *= _W["protected"]
    return (score, stop, category, source) if score >= _W["least_listed"] else None


def _city_score(scene: Scene, index: int, classes: int, several: bool, lives: bool, where: bool) -> float:
    """Weigh a listed city."""
    caseless = scene.case_uninformative(index)
    if classes & SURE_CITY and not scene.classes[index] & _SPOKEN and not _starts_clause(scene, index):
        classes &= ~AMBIGUOUS_CITY
    if (
        caseless
        and where
        and not several
        and classes & SURE_CITY
        and not scene.classes[index] & AMBIGUOUS_PLACE & ~PERSON
    ):
        return _W["city_where_without_case"]
    if caseless and lives and not several and not scene.classes[index] & _NO_CITY_WITHOUT_CASE:
        return _W["city_lives_without_case"]
    if classes & AMBIGUOUS_CITY and not several:
        if scene.classes[index] & _NO_AMBIGUOUS_CITY and not classes & BIG_CITY:
            return _W["clinical_city_lives"] if lives and not caseless else _W["clinical_city"]
        if lives and not caseless:
            return _W["ambiguous_big_city_lives" if classes & BIG_CITY else "ambiguous_city_lives"]
        return _W["ambiguous_big_city_where"] if where and classes & BIG_CITY else _UNCUED
    if classes & AMBIGUOUS_CITY:
        return _W["ambiguous_phrase_lives" if lives else "ambiguous_phrase_where" if where else "ambiguous_phrase"]
    known = _W["city_phrase" if several else "big_city" if classes & BIG_CITY else "city"]
    behind = scene.kinds[index + 1] if scene.same_line(index + 1) else SIGN
    if not several and not where and (behind == NUMBER or scene.word(index + 1) in (":", "(", "+", "/")):
        known -= _W["number_follows"]  # "Salem 16 Fr", "Nottingham 6/9"
    if lives:
        return _W["city_lives" if not caseless else "listed_city_lives_without_case"]
    return min(_W["city_most"], known + _W["city_where"] * where) - _W["city_without_case"] * caseless


def _starts_clause(scene: Scene, index: int) -> bool:
    """Tell whether a word begins a sentence or a line and a small word follows: *Bulle gastrique*, not *Bulle le 3*."""
    if index and scene.same_line(index) and scene.word(index - 1) not in (".", "!", "?", ";"):
        return False
    small, behind = index + 1, index + 2
    if small >= scene.count or not scene.same_line(small) or scene.kinds[small] != LOWER:
        return False
    return behind >= scene.count or scene.kinds[behind] != NUMBER


def _behind_cues(scene: Scene) -> list[Span]:
    """Unlisted places behind *lives in*, *moved to*, *in*, *from*."""
    found: list[Span] = []
    if scene.lowercase_text:
        return found
    lives, kinds, words = scene.cues_before["lives"], scene.kinds, scene.folded
    leads = scene.vocabulary.words["place_in"]
    count, behind = len(kinds), lives | scene.cues_before["where"]
    for index in sorted(i for i in behind if i < count and kinds[i] in (TITLE, MIXED)):
        cued = index in lives
        if not (cued or words[index - 1] in leads) or scene.case_uninformative(index) or not scene.same_line(index):
            continue
        end = proper_run(scene, index)
        if end == index:
            continue
        last = scene.classes[end - 1]
        unlisted = not any(scene.classes[i] for i in range(index, end)) and len(scene.strings[end - 1]) > 3
        settlement = end - index > 1 and bool(last & SETTLEMENT)
        if cued:
            named = not last & WORD or last & PERSON or settlement
            found.append(scene.span(index, end, "CITY", "place.lives", _W["unlisted_lives" if named else "word_lives"]))
        elif unlisted or settlement:
            found.append(
                scene.span(index, end, "CITY", "place.in", _W["settlement_in" if settlement else "unlisted_in"])
            )
    return found
