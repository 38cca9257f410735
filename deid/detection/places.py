"""Places and institutions: cities, states, countries, regions; hospitals, companies, schools.

Institutions are recognized by a head word (*Hospital*, *Inc*, *Elementary School*) with a proper name before it; cities,
states and countries by lists with the cues around them, since many are also names of persons or ordinary words.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

from deid.detection.lexicon import CLASSES, classes_of
from deid.detection.person_words import PERSON
from deid.detection.scene import Scene
from deid.detection.view import LOWER, MIXED, NUMBER, SIGN, TITLE, UPPER
from deid.document import Span

__all__ = ["find_places"]

_CITY = classes_of("city")
_CITY_AMBIG = classes_of("city_ambig")
_BIG = classes_of("city_big")
_ANY_CITY = _CITY | _CITY_AMBIG | _BIG
_STATE, _CODE, _COUNTRY, _REGION = (CLASSES[n] for n in ("state", "state_code", "country", "region"))
_COUNTY = CLASSES["county"]
_HOSPITAL, _ORG = CLASSES["hospital_head"], CLASSES["org_head"]
_HOSPITAL_NAME, _EMPLOYER = CLASSES["hospital_name"], CLASSES["employer"]
_AMBIGUOUS = classes_of("word", "name_word", "clinical", "given", "last", "eponym", "device", "function", "section")
_GENERIC = classes_of(
    "generic", "function", "section", "institution", "occupation", "role", "nationality", "credential"
)
_CLINICAL = classes_of("clinical")
_FOLLOWERS = classes_of("state", "state_code", "state_old", "country", "function", "month", "weekday")
_JOINERS = frozenset(("of", "and", "&", "for", "the", "at"))
_CREDENTIAL_CODES = frozenset(
    ("md", "pa", "ma", "do", "nd", "dc", "ms", "co", "la", "or", "in", "me", "hi", "ok", "oh", "al")
)
_MAX_NAME_WORDS = 5
_ZIP = regex.compile(
    r"[0-9]{5}(?:-[0-9]{4})?(?![0-9A-Za-z%]|[,.:/-][0-9]| ?(?:mg|ml|mcg|units|people|patients|cells|steps)\b)"
)
_POSTCODE = regex.compile(r"[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}(?![A-Za-z0-9])")


def find_places(scene: Scene) -> list[Span]:
    """Find places and institutions; candidates with their certainty, which may overlap."""
    spans = list(_institutions(scene))
    spans += _city_and_state(scene)
    spans += _listed(scene)
    spans += _work_places(scene)
    spans += _acronyms(scene)
    spans += _before_codes(scene)
    return spans


def _heads(scene: Scene) -> Iterator[tuple[int, int, int]]:
    """Yield head words and head phrases of institutions: first word, one past the last, class; the longest first."""
    for index, classes in enumerate(scene.classes):
        best = (index + 1, classes) if classes & (_HOSPITAL | _ORG) else (index, 0)
        for end, phrase in scene.phrases.get(index, ()):
            if phrase & (_HOSPITAL | _ORG) and end > best[0]:
                best = (end, phrase)
        if best[0] > index:
            yield index, best[0], best[1]


def _proper(scene: Scene, index: int) -> bool:
    """Tell whether a word before a head can be a part of an institution's name."""
    if not scene.is_word(index):
        return False
    kind = scene.view.kinds[index]
    if scene.quiet:
        classes = scene.classes[index]
        return not classes & (_GENERIC | _CLINICAL | CLASSES["person_verb"]) and len(scene.word(index)) > 3
    return kind in (TITLE, UPPER, MIXED)


def _institutions(scene: Scene) -> Iterator[Span]:
    """Head words with a proper name before them, or behind them (*Hospital of Saint Raphael*)."""
    for first, end, classes in _heads(scene):
        head_kind = scene.view.kinds[first]
        if head_kind == LOWER and not scene.quiet and not classes & _HOSPITAL:
            continue
        start = _name_before(scene, first)
        specific = _specific(scene, start, first, head_kind)
        end = _grow(scene, end, head_kind)
        behind = _name_behind(scene, end) if head_kind != LOWER else end
        if not specific and behind == end:
            continue
        category = "HOSPITAL" if classes & _HOSPITAL or _contains_hospital(scene, start, end) else "ORGANIZATION"
        score = 0.86 if specific > 1 or behind > end else 0.72
        if head_kind == LOWER:
            score -= 0.2
        if scene.blind(first):
            score -= 0.15
        if "hospital_at" in scene.cues_before.get(start, ()) or "work_at" in scene.cues_before.get(start, ()):
            score = 1.0 - (1.0 - score) * 0.6
        if start > 0 and scene.view.breaks[start] and not scene.blind(start) and specific == 1:
            score -= 0.1
        yield scene.span(start, behind, category, "place.institution", score)


def _grow(scene: Scene, end: int, kind: int) -> int:
    """Take further head words along: *Medical Center*, *Clinic Pharmacy*."""
    while (
        end < len(scene)
        and scene.same_line(end)
        and scene.classes[end] & (_HOSPITAL | _ORG)
        and (scene.view.kinds[end] == kind)
        and kind != LOWER
    ):
        end += 1
    return end


def _contains_hospital(scene: Scene, start: int, end: int) -> bool:
    return any(scene.classes[i] & _HOSPITAL for i in range(start, end))


def _name_before(scene: Scene, head: int) -> int:
    """Return the first word of the proper name that leads to a head."""
    start, words = head, 0
    while start > 0 and words < _MAX_NAME_WORDS:
        at = start - 1
        if not scene.same_line(start):
            break
        if _proper(scene, at) and not scene.has(
            at, "title", "title_doctor", "credential", "section", "weekday", "month"
        ):
            words += 1
        elif scene.word(at) in ("'", "\u2019", ".", "-", "&") and _proper(scene, at - 1):
            if scene.word(at) == "." and len(scene.word(at - 1)) > 3:
                break
        elif (scene.word(at) == "s" and scene.word(at - 1) in ("'", "\u2019")) or (
            scene.word(at) in ("of", "and", "the") and words and _proper(scene, at - 1)
        ):
            pass
        else:
            break
        start = at
    while start < head and (scene.word(start) in _JOINERS or scene.view.kinds[start] in (SIGN, NUMBER)):
        start += 1
    # "The Mercy Clinic", "Patient Mercy Clinic": words of the sentence in front are no part
    while start < head and scene.classes[start] & CLASSES["function"]:
        start += 1
    return start


def _specific(scene: Scene, start: int, head: int, kind: int) -> int:
    """Count the words before a head that make it the name of one institution."""
    count = 0
    for i in range(start, head):
        classes = scene.classes[i]
        if not scene.is_word(i) or scene.word(i) in _JOINERS or len(scene.word(i)) < 2:
            continue
        if classes & _GENERIC or (classes & _CLINICAL and not classes & PERSON):
            continue
        if scene.quiet and classes & CLASSES["word"] and not classes & CLASSES["hospital_modifier"]:
            continue
        ordinary = classes & CLASSES["word"] and not classes & (PERSON | CLASSES["hospital_modifier"] | _ANY_CITY)
        if ordinary and (kind == LOWER or (i == start and scene.view.starts_sentence(i) and head - start == 1)):
            continue
        if ordinary and scene.blind(i):
            continue
        count += 1
    return count


def _name_behind(scene: Scene, end: int) -> int:
    """Return the end of *of Saint Raphael*, *at Mercy*, *of Boston* behind a head."""
    if scene.word(end) not in ("of", "at", "for") or not scene.same_line(end):
        return end
    at = end + 1
    if scene.word(at) == "the":
        at += 1
    last = end
    while at < len(scene) and at - end < 6 and scene.same_line(at):
        if _proper(scene, at) and not scene.blind(at) and not scene.classes[at] & _GENERIC:
            last = at + 1
        elif not (scene.word(at) in (".", "'", "\u2019", "of", "and", "s") and last == at):
            break
        at += 1
    return last


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
        return index + 1, 0.8 if scene.word(index) in _CREDENTIAL_CODES else 0.95
    if classes & CLASSES["state_old"] and scene.view.kinds[index] == TITLE:
        return index + 1, 0.85
    return index, 0.0


def _city_and_state(scene: Scene) -> Iterator[Span]:
    """*Springfield, OH*; *St. Paul, Minnesota*; unknown places too when the state is beyond doubt."""
    for comma in range(1, len(scene) - 1):
        if scene.word(comma) != "," or not scene.same_line(comma + 1):
            continue
        end, sure = _state_at(scene, comma + 1)
        if end == comma + 1:
            continue
        start, listed = _city_before(scene, comma)
        if start == comma:
            continue
        zipped = end < len(scene) and scene.view.kinds[end] == NUMBER and len(scene.view.strings[end]) == 5
        person = all(scene.classes[i] & PERSON for i in range(start, comma) if scene.is_word(i))
        if not zipped and sure < 0.9 and not listed:
            continue
        if not listed and not zipped and (person or scene.blind(start) or (end - comma == 2 and sure < 0.95)):
            continue
        if sure < 0.9 and not zipped and person:
            continue  # "Tyler, MD"
        if scene.quiet and not zipped and not listed:
            continue
        country = scene.classes[comma + 1] & _COUNTRY and not scene.classes[comma + 1] & (_STATE | _CODE)
        yield scene.span(start, comma, "CITY", "place.city_state", 0.95 if listed or zipped else 0.8)
        yield scene.span(comma + 1, end, "COUNTRY" if country else "STATE", "place.city_state", 0.95)


def _before_codes(scene: Scene) -> Iterator[Span]:
    """Unlisted places right before a postcode: *Todmorden OL14 5PX*."""
    view = scene.view
    for index in range(1, len(scene) - 3):
        # a British postcode is letters, number, (letter,) number, letters: "OL14 5PX"
        if view.kinds[index] != UPPER or len(view.strings[index]) > 2 or not scene.same_line(index):
            continue
        match = _POSTCODE.match(view.text, view.starts[index])
        if match is None or not scene.capital(index - 1) or scene.blind(index - 1) or scene.word(index - 1) == ",":
            continue
        start = index
        while start > 0 and index - start < 3 and view.kinds[start - 1] in (TITLE, MIXED) and scene.same_line(start):
            start -= 1
        if start < index and not scene.classes[start] & _GENERIC:
            yield scene.span(start, index, "CITY", "place.postcode", 0.85)


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


def _listed(scene: Scene) -> Iterator[Span]:
    """Listed cities, states, countries, regions and counties, weighed by their cues."""
    index = 0
    while index < len(scene):
        if not (scene.capital(index) and scene.is_word(index)) or (scene.blind(index) and not scene.phrases.get(index)):
            if not (scene.capital(index) and scene.cues_before.get(index)):
                index += 1
                continue
        span, stop = _best_listed(scene, index)
        if span is not None:
            yield span
            code = stop + (scene.word(stop) == ",")
            if span.category == "CITY" and _is_zip(scene, code):
                yield scene.span(index, stop, "CITY", "place.city", 0.9)
                yield scene.span(code, code + 1, "ZIP", "place.zip", 0.85)
        index = max(stop, index + 1)


def _is_zip(scene: Scene, index: int) -> bool:
    """Tell whether a number of five digits, and no quantity, stands at a word."""
    if index >= len(scene) or scene.view.kinds[index] != NUMBER or not scene.same_line(index):
        return False
    return _ZIP.match(scene.view.text, scene.view.starts[index]) is not None


def _best_listed(scene: Scene, index: int) -> tuple[Span | None, int]:
    cues = scene.cues_before.get(index, set())
    lives = "lives" in cues
    where = lives or "where" in cues
    options: list[tuple[float, int, str, str]] = []
    for stop, classes in [(index + 1, scene.classes[index]), *scene.phrases.get(index, ())]:
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
        return None, index
    score, stop, category, source = max(options)
    behind = stop < len(scene) and scene.same_line(stop) and scene.capital(stop) and not scene.blind(index)
    if behind and scene.has(stop, "hospital_head", "org_head", "street_suffix", "eponym_head"):
        score *= 0.4
    elif behind and category == "CITY" and scene.view.kinds[stop] == TITLE and not scene.classes[stop] & _FOLLOWERS:
        score *= 0.65  # "Green Bay Packers"
    if scene.protected[index]:
        score *= 0.3
    if score < 0.2:
        return None, index
    return scene.span(index, stop, category, source, score), stop


def _city_score(scene: Scene, index: int, classes: int, several: bool, lives: bool, where: bool) -> float:
    """Weigh a listed city."""
    blind = scene.blind(index)
    if blind and where and not several and classes & _CITY and not scene.classes[index] & _AMBIGUOUS & ~PERSON:
        return 0.62
    if classes & _CITY_AMBIG and not several:
        if scene.classes[index] & classes_of("clinical", "eponym", "device", "function") and not classes & _BIG:
            return 0.55 if lives and not blind else 0.1
        return (0.85 if classes & _BIG else 0.78) if lives and not blind else 0.5 if where and classes & _BIG else 0.2
    if classes & _CITY_AMBIG:
        return 0.8 if lives else 0.55 if where else 0.35
    known = 0.85 if classes & _BIG or several else 0.55
    if lives:
        return 0.92 if not blind else 0.8
    return min(0.9, known + 0.12 * where) - 0.35 * blind


def _work_places(scene: Scene) -> Iterator[Span]:
    """Proper names behind *works at*, *employed by*, *attends*; listed employers; listed hospitals."""
    for index in sorted(scene.cues_before):
        if "work_at" not in scene.cues_before[index] or index >= len(scene) or scene.quiet:
            continue
        start = index + (scene.word(index) in ("the", "a", "an"))
        end = start
        while end < len(scene) and end - start < 6 and (end == start or scene.same_line(end)):
            if (
                scene.capital(end) and scene.is_word(end) and not scene.has(end, "title", "title_doctor", "section")
            ) or (
                end > start
                and scene.word(end) in ("of", "and", "&", "'", "\u2019", "s", "-")
                and scene.capital(end + 1)
            ):
                end += 1
            else:
                break
        if end > start and not scene.view.loud[start]:
            plain = end == start + 1 and scene.classes[start] & _GENERIC
            if not plain:
                yield scene.span(start, end, "ORGANIZATION", "place.work", 0.72)
    for index in range(len(scene)):
        single = (index + 1, scene.classes[index])
        for stop, classes in (single, *scene.phrases.get(index, ())):
            if not classes & (_HOSPITAL_NAME | _EMPLOYER) or not scene.capital(index):
                continue
            cues = scene.cues_before.get(index, set())
            if classes & _HOSPITAL_NAME:
                acronym = stop == index + 1 and scene.view.kinds[index] != UPPER
                sure = 0.3 if acronym else 0.88
                yield scene.span(index, stop, "HOSPITAL", "place.hospital", sure - 0.3 * scene.quiet)
            elif not scene.blind(index):
                ambiguous = stop == index + 1 and scene.classes[index] & _AMBIGUOUS
                sure = 0.85 if "work_at" in cues else 0.3 if ambiguous else 0.6
                yield scene.span(index, stop, "ORGANIZATION", "place.employer", sure)


def _acronyms(scene: Scene) -> Iterator[Span]:
    """Acronyms of hospitals behind *transferred from*, *seen at*: *MCMC*, *KBH*."""
    endings = ("mc", "gh", "mh", "ch", "rh", "uh", "bh", "vamc", "h")
    for index, cues in scene.cues_before.items():
        if "hospital_at" not in cues or index >= len(scene):
            continue
        at = index + (scene.word(index) == "the")
        if at >= len(scene) or scene.view.kinds[at] != UPPER or scene.blind(at):
            continue
        word = scene.word(at)
        if 3 <= len(word) <= 6 and not scene.classes[at] & ~PERSON and word.endswith(endings):
            yield scene.span(at, at + 1, "HOSPITAL", "place.acronym", 0.65)
