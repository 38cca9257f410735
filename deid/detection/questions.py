"""What in a question of the literature is nobody's: *coccidioidomycosis incidence in Bakersfield*.

Clinicians and patients type questions into a search box. Where such a question speaks of no individual, its places,
institutions, occupations and months belong to nobody; a name, a number, a contact or a day in it makes it one about
somebody. Only a whole document of one line can be such a question. The words that tell are lists of the language
(``asks``, ``asks_with_mark``, ``topic``, ``individual``); a language without them has no such questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from deid.document import Span
from deid.phi import canonical
from deid.reading.lexicon import classes_of
from deid.reading.view import NUMBER, TITLE
from deid.rules.person_words import PERSON
from deid.rules.scene import Scene
from deid.rules.word_classes import EPONYM, FUNCTION, ORDINARY, RELATED, TITLES

__all__ = ["nobodys"]

_LONGEST: Final = 200
"""Characters of a question."""
_FEWEST: Final = 3
"""Words of a question; a name beside a complaint has fewer."""
_OF_A_NOTE: Final = re.compile(r"[.;:]\s|[.;:]\Z|[\n\r\t|=#@]")
"""Signs that notes, fields and tables have, and questions in a search box have not."""
_MARK: Final = re.compile(r"\s*\?\s*\Z")
_ANYBODYS: Final = frozenset(("CITY", "STATE", "COUNTRY", "LOCATION-OTHER", "HOSPITAL", "ORGANIZATION", "PROFESSION"))
_CLASSES: Final = RELATED | TITLES | classes_of("person_verb", "person_verb_strong")
_NOT_NAMES: Final = ORDINARY | EPONYM | FUNCTION | classes_of("section", "country", "state", "nationality", "month")
_MONTHS: Final = classes_of("month", "season")


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
    general = all(_anybodys(scene, span) for span in spans) and _asks(scene)
    return [] if not general or _names_somebody(scene, spans) else list(spans)


def _anybodys(scene: Scene, span: Span) -> bool:
    """Tell whether a span is a place, an institution, an occupation, or a date without a day."""
    category = canonical(span.category)
    if category != "DATE":
        return category in _ANYBODYS
    first = scene.view.at(span.start)
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


def _asks(scene: Scene) -> bool:
    """Tell whether a text asks about a matter, and names no individual."""
    text = scene.text
    question = _MARK.search(text)
    aged = scene.vocabulary.expressions.get("stated_age")
    if _OF_A_NOTE.search(text, 0, question.start() if question else len(text.rstrip())) or (aged and aged.search(text)):
        return False
    words = [i for i in range(len(scene)) if scene.is_word(i)]
    if len(words) < _FEWEST or any(map(_tells_of_somebody, [scene] * len(words), words)):
        return False
    # "has fever since Bakersfield" is a line of a note
    asks = scene.says(words[0], "asks") or (question and scene.says(words[0], "asks_with_mark"))
    return bool(asks) or any(scene.says(i, "topic") for i in words)
