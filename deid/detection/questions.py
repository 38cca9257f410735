"""What in a question is nobody's (*coccidioidomycosis incidence in Bakersfield*), and who in it is somebody.

Clinicians and patients type questions into a search box. Where such a question speaks of no individual, its places,
institutions, occupations and months belong to nobody, and so does what a study or a rule is named after (*the Sophia
trial*, *Johns Hopkins antibiotic guide*); a name, a number, a contact or a day in it makes it one about somebody. In a
text as short a name is often bare, and nothing but its list tells it. Only a whole document of one line can be such a
question. The words that tell are lists of the language (``asks``, ``asks_with_mark``, ``asked_of``, ``topic``,
``individual``, ``trial``, ``matter``); a language without them has no such questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from deid.detection.kinds import kind_of, origin_of
from deid.detection.things import is_nobodys, names_a_thing
from deid.document import Span
from deid.phi import GROUP, canonical
from deid.reading.lexicon import classes_of
from deid.reading.view import NUMBER, TITLE, UPPER
from deid.rules.person_words import PERSON
from deid.rules.scene import Scene
from deid.rules.word_classes import EPONYM, FUNCTION, GIVEN, HOSPITAL_NAME, ORDINARY, RELATED, TITLES

__all__ = ["bare_names", "nobodys"]

_LONGEST: Final = 200
"""Characters of a question."""
_FEWEST: Final = 3
"""Words of a question; a name beside a complaint has fewer."""
OF_A_NOTE: Final = re.compile(r"[.;:]\s|[.;:]\Z|[\n\r\t|=#@]")
"""Signs that notes, fields and tables have, and questions in a search box have not."""
_MARK: Final = re.compile(r"\s*\?\s*\Z")
_ANYBODYS: Final = frozenset(("CITY", "STATE", "COUNTRY", "LOCATION-OTHER", "HOSPITAL", "ORGANIZATION", "PROFESSION"))
_CLASSES: Final = RELATED | TITLES | classes_of("person_verb", "person_verb_strong")
_NOT_NAMES: Final = ORDINARY | EPONYM | FUNCTION | classes_of("section", "country", "state", "nationality", "month")
_MONTHS: Final = classes_of("month", "season")
_NAMES_ALONE: Final = PERSON | classes_of("popular", "mostly_name", "name_word", "city_ambig")
_SHORTEST: Final = 4
"""Letters of a given name that nothing but its list tells; a family name has one more."""
_SURE: Final = 0.7
_LANDS: Final = classes_of("region", "country", "state")
_LETTERS: Final = 5
"""Characters of an abbreviation, which may be taken for initials."""
_REACH: Final = 6
"""Words from an institution to what it wrote."""


def bare_names(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Return names that only their lists tell, in a text of one line about somebody: *can 4 West send pruett down*.

    Parameters
    ----------
    scene : Scene
        Of the whole document.
    spans : sequence of Span
        What was found in it.
    """
    text = scene.text
    if len(text) > _LONGEST or "\n" in text.rstrip() or not scene.words["asks"]:
        return []
    told = _of_somebody(scene, spans)
    somebody = bool(told) or any(_tells_of_somebody(scene, i) for i in range(len(scene)))
    if len(OF_A_NOTE.findall(text)) > somebody:
        return []
    shortest = _SHORTEST if somebody else _SHORTEST + 1
    found = {i for span in spans for i in scene.inside(span.start, span.end)}
    # a number, a contact, a day is somebody's: who is sought then may have a name that no list has
    groups = {GROUP[canonical(span.category)] for span in told}
    sought = "NAME" not in groups and bool(groups - {"AGE"})
    bare = {
        i: scene.span(i, i + 1, "PATIENT", "name.in_question", _SURE)
        for i in range(len(scene))
        if (scene.has(i, PERSON) or (sought and scene.kinds[i] == TITLE))
        and not (scene.classes[i] & ~_NAMES_ALONE or scene.protected[i] or i in found)
        and len(scene.strings[i]) >= shortest + (not scene.has(i, GIVEN)) - (scene.kinds[i] == TITLE)
        and not (names_a_thing(scene, [i]) or scene.says(i + 1, "trial") or scene.says(i + 1, "versus"))
        and not scene.says(i, "scored")
    }
    kind, origin = kind_of("PATIENT"), origin_of("rule:name.in_question")
    return [span for i, span in bare.items() if not is_nobodys(scene, span, [i], kind, origin)]


def nobodys(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Return the spans that are nobody's, for the text is a question about no individual.

    Parameters
    ----------
    scene : Scene
        Of the whole document.
    spans : sequence of Span
        All that was found in it.

    Returns
    -------
    list of Span
        Places, institutions, occupations, months and years; nothing where one span is something else.
    """
    if not spans or len(scene.text) > _LONGEST or not scene.words["asks"]:
        return []
    named = any(_is_of_a_matter(scene, span) for span in spans)
    if _of_somebody(scene, spans) or not _asks(scene, named) or _names_somebody(scene, spans):
        return []
    return list(spans)


def _of_somebody(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Return the spans that are somebody's, wherever they stand."""
    return [span for span in spans if not (_anybodys(scene, span) or _is_of_a_matter(scene, span))]


def _is_of_a_matter(scene: Scene, span: Span) -> bool:
    """Tell whether a trial is named so, or a place or an institution has written a rule, a guide, a score."""
    words = scene.inside(span.start, span.end)
    first, last = (words[0], words[-1]) if words else (0, len(scene))
    if any(scene.says(i, "trial") for i in range(first + 1, last + 2) if not scene.has(i + 1, FUNCTION)):
        return True
    if all(scene.has(i, EPONYM) for i in words):
        # "best treatment for Graves", "Turner prognosis"
        behind = scene.has(first - 1, FUNCTION) and scene.says(first - 2, "asked_of")
        return behind or scene.says(last + 1, "asked_of")
    known = any(bits & HOSPITAL_NAME for _, bits in scene.phrases.get(first, ())) or scene.has(first, HOSPITAL_NAME)
    if not (known or _anybodys(scene, span)):
        # "Simon Broome criteria", of whom no list has the second
        return (scene.has(last + 1, PERSON) and not scene.has(last + 1, EPONYM)) and scene.says(last + 2, "named_after")
    for at in range(first + 1, min(last + _REACH, len(scene))):
        if scene.says(at, "matter") or (known and scene.says(at, "scale")):
            return True
        if at > last and (not scene.is_word(at) or scene.has(at, FUNCTION)):
            return False
    return False


def _anybodys(scene: Scene, span: Span) -> bool:
    """Tell whether a span is a place, an institution, an occupation, letters, or a date without a day."""
    category, first = canonical(span.category), scene.view.at(span.start)
    if category != "DATE":
        letters = scene.kinds[first] == UPPER and len(span) <= _LETTERS and scene.ends[first] >= span.end
        lands = [scene.has(i, _LANDS) for i in scene.inside(span.start, span.end)]
        return category in _ANYBODYS or (bool(lands) and all(lands)) or (letters and not scene.uppercase_line[first])
    inside = [i for i in range(first, len(scene)) if scene.starts[i] < span.end]
    numbers = [scene.strings[i] for i in inside if scene.kinds[i] == NUMBER]
    return all(len(n) == len("2024") for n in numbers) and all(
        scene.has(i, _MONTHS) for i in inside if scene.is_word(i)
    )


def _names_somebody(scene: Scene, spans: Sequence[Span]) -> bool:
    """Tell whether a word that nobody found may be a person's: names alone have it, or no list and it has a capital."""
    found = {i for span in spans for i in range(len(scene)) if span.start <= scene.starts[i] < span.end}
    others = [i for i in range(1, len(scene)) if scene.is_word(i) and i not in found and not scene.protected[i]]
    return any(
        (scene.has(i, PERSON) and not scene.has(i, _NOT_NAMES)) or (not scene.classes[i] and scene.kinds[i] == TITLE)
        for i in others
    )


def _tells_of_somebody(scene: Scene, index: int) -> bool:
    """Tell whether a word is one for an individual, a title, a relative, or what persons do; *is* is none."""
    return scene.says(index, "individual") or (
        scene.has(index, _CLASSES) and not scene.has(index, FUNCTION) and not scene.says(index, "topic")
    )


def _asks(scene: Scene, named: bool) -> bool:
    """Tell whether a text asks about a matter, which may be ``named``, and names no individual."""
    text = scene.text
    question = _MARK.search(text)
    aged = scene.vocabulary.expressions.get("stated_age")
    if OF_A_NOTE.search(text, 0, question.start() if question else len(text.rstrip())) or (aged and aged.search(text)):
        return False
    words = [i for i in range(len(scene)) if scene.is_word(i)]
    if len(words) < _FEWEST or any(
        _tells_of_somebody(scene, i) for i in words if not (named and scene.says(i, "copula"))
    ):
        return False
    # "has fever since Bakersfield" is a line of a note
    asks = scene.says(words[0], "asks_with_mark" if question else "asks") or scene.says(words[0], "asks")
    asked = scene.says(words[0], "asked_of") and scene.has(words[1], FUNCTION)
    return named or asks or asked or any(scene.says(i, "topic") for i in words)
