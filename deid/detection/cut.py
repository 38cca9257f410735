"""Where a span that a model found begins and ends: titles, roles and small words at its edges are none of it."""

from __future__ import annotations

from typing import Final

from deid.detection.edges import date_within
from deid.detection.kinds import kind_of
from deid.detection.things import FUNCTION, behind_grade, is_kind, is_sex
from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, TITLE, UPPER
from deid.rules.scene import Scene
from deid.rules.word_classes import PARTICLE, PERSON, TITLES

_CLINICAL: Final = classes_of("clinical", "section", "eponym", "device", "function")
_SPOKEN: Final = classes_of("word", "clinical", "section", "function")
_OCCUPATION: Final = classes_of("occupation")
_BEFORE: Final = classes_of("section", "function", "role", "relation", "occupation", "title", "title_doctor")
_WHO: Final = classes_of("role", "relation", "occupation", "title", "title_doctor", "patient_word")
_LEADS: Final = classes_of("role", "title", "title_doctor", "relation")
"""Words before a name that stay words before a name where they are rare surnames too: *Doctor*, *Nurse*, *Husband*."""
_GIVEN: Final = classes_of("given")
_SOMEWHERE: Final = classes_of("city", "city_ambig", "city_big", "state", "state_code", "country")
_ORDINARY: Final = classes_of("word", "function", "clinical", "role", "relation", "person_verb")
_SHORTEST: Final = 2
"""Letters of the shortest word between two names."""
_TWO: Final = 2
"""Words of a date with its article."""
_LAST: Final = classes_of("last")
_UNSAID: Final = classes_of("function", "occupation_qualifier")
"""Words before an occupation that are none of it: *a retired welder*."""
_BEHIND: Final = classes_of("credential", "function")
"""Words that stand beside names."""
_LETTERS: Final = classes_of("credential", "clinical")
_SETS_OFF: Final = frozenset(",-\u2013\u2014")


def within(scene: Scene, span: Span, held: list[int] | None = None) -> Span:
    """Return a name that a model found without the titles, roles and clinical words at its edges.

    Parameters
    ----------
    scene : Scene
    span : Span
        Of any category; names and occupations lose words where another word is left, dates one before their number.
    held : list of int, optional
        Its words that are made of letters, where they are known.

    Returns
    -------
    Span
        A clinical word with a capital stays: it may be the surname.
    """
    kind = kind_of(span.category)
    if not (kind.person or kind.date or kind.institution or kind.town or kind.category == "PROFESSION"):
        return span
    words = scene.inside(span.start, span.end) if held is None else held
    if kind.institution:
        first = _on_the_last_line(scene, words)
        while first < len(words) - 1 and is_kind(scene, words[first], kind):
            first += 1
        return span.moved(scene.starts[words[first]], span.end) if first else span
    if kind.date:
        return date_within(scene, _without_article(scene, span, words), words) if words else span
    first, last = 0, len(words) - 1
    if kind.town or kind.category == "PROFESSION":
        while first < last and _is_small(scene, words[last]):
            last -= 1
        if kind.town:
            while first < last and scene.kinds[words[first]] == UPPER and _lettered(scene, words[first]):
                first += 1
            start = scene.starts[words[first]] if first else span.start
            return span.moved(start, span.end if last == len(words) - 1 else scene.ends[words[last]])
    if last > 0 and scene.vocabulary.expressions["registry"].match(scene.text, span.end):
        last -= 1
    if not kind.person:
        while first < last and (scene.has(words[first], _UNSAID) or _is_told_apart(scene, words[first])):
            first += 1
    else:
        first = behind_grade(scene, words)
        while first < last and _before(scene, words[first]) and scene.word(words[first] + 1) != ",":
            if _leads_name(scene, words[first], words[last]):
                break
            first += 1
        first += first < last and _is_of(scene, words[first])
        while first < last and (
            _beside(scene, words[last], _BEHIND) or is_sex(scene, words[last]) or _is_matter_behind(scene, words[last])
        ):
            last -= 1
    start = scene.starts[words[first]] if first else span.start
    end = scene.ends[words[last]] if last < len(words) - 1 else span.end
    return span.moved(start, end)


def _without_article(scene: Scene, span: Span, words: list[int]) -> Span:
    """Return a date without the article that it begins with: *la mi-juin*, *la Toussaint*."""
    first = words[0]
    if len(words) < _TWO or scene.starts[first] != span.start or not scene.says(first, "definite"):
        return span  # "la 23" is no date without its article either
    return span.moved(scene.starts[first + 1], span.end)


def _is_small(scene: Scene, index: int) -> bool:
    """Tell whether a small word ends what is no name of a place or an occupation: *Mourenx le*, *traductrice au*."""
    return scene.kinds[index] == LOWER and scene.has(index, FUNCTION)


def untitled(scene: Scene, span: Span, words: list[int]) -> Span | None:
    """Return a name without titles and roles before it, and signs of an order; None where they are all of it.

    *Ruth Orme* of *Bewohnerin Ruth Orme*, *Sonja Orme* of *i. A. Sonja Orme*: only in languages whose nouns have
    capitals, for there names take them along.
    """
    if not words or not scene.words["behind_surname"]:
        return span
    first, last = 0, len(words) - 1
    while last and scene.starts[words[last]] >= span.end:
        last -= 1
    signed = scene.vocabulary.expressions["signs_for"]
    for start in (span.start, span.start - 2, span.start - 3):
        found = signed.match(scene.text, start) if start >= 0 else None
        while found is not None and first < last and scene.starts[words[first]] < found.end():
            first += 1
    while first <= last and _leads(scene, words[first]):
        first += 1
    if first > last:
        if not any(scene.has(i, PERSON | _OCCUPATION) for i in words):
            return None
        behind = words[last] + 1
        behind += scene.word(behind) == "."
        return None if scene.same_line(behind) and scene.capital(behind) else span
    return span.moved(scene.starts[words[first]], span.end) if first else span


def _leads(scene: Scene, index: int) -> bool:
    """Tell whether a word before a name says who that is, and is none."""
    if scene.has(index, PERSON):
        return scene.has(index, _LEADS) and not scene.has(index, _GIVEN)
    return scene.capital(index) and scene.has(index, _WHO)


def _lettered(scene: Scene, index: int) -> bool:
    """Tell whether letters before a town are those of a credential, a ward: *MBBS Jos*, *ER St. Charles*."""
    return scene.has(index, _LETTERS) and not scene.has(index, PERSON | _SOMEWHERE)


def _is_of(scene: Scene, index: int) -> bool:
    """Tell whether a small word before a given name says whose something is: *moeder van Luka*."""
    if scene.kinds[index] != LOWER or scene.lowercase_text or not scene.has(index, PARTICLE) or not index:
        return False
    behind, before = scene.classes[index + 1], index - 1
    if not behind & _GIVEN or behind & _LAST:
        return False
    # "MDO van Marlon"; but "J. van Marlon"
    return scene.kinds[before] == LOWER or (scene.is_word(before) and not scene.has(before, PERSON | TITLES))


def _is_matter_behind(scene: Scene, index: int) -> bool:
    """Tell whether clinical letters stand behind a name and its comma or dash: *Sandoval J, HCC*, *Orme, G - NASH*."""
    if scene.kinds[index] != UPPER or scene.word(index - 1) not in _SETS_OFF or scene.uppercase_line[index]:
        return False
    if scene.word(index - 1) != "," and scene.gap(index) and scene.gap(index - 1):
        return not scene.has(index, PERSON)  # "Orme - R"
    return len(scene.strings[index]) > _SHORTEST and clinical_word(scene, index)


def in_capitals(scene: Scene, span: Span, held: list[int] | None = None) -> list[Span]:
    """Return what of a name that a model found is no ordinary word in small letters: *Gerrit* of *Gerrit haalt de bus*.

    Parameters
    ----------
    scene : Scene
    span : Span
        A name of a person, a town or an institution; of the last small words before its first and behind its last
        capital are cut.
    held : list of int, optional
        Its words that are made of letters, where they are known.

    Returns
    -------
    list of Span
        The span itself where nothing is cut, or where nothing would be left.
    """
    kind = kind_of(span.category)
    if scene.lowercase_text or not (kind.person or kind.institution or kind.town):
        return [span]
    words = scene.inside(span.start, span.end) if held is None else held
    capitals = 0
    for i in words:
        capitals += scene.kinds[i] > LOWER
    if not 0 < capitals < len(words):
        return [span]
    if kind.institution:
        first = next(number for number, i in enumerate(words) if scene.capital(i) or not scene.has(i, FUNCTION))
        last = len(words) - 1
        while last > first and _between(scene, words[last]) and words[last] == words[last - 1] + 1:
            last -= 1
        start = scene.starts[words[first]] if first else span.start
        return [span.moved(start, span.end if last == len(words) - 1 else scene.ends[words[last]])]
    found: list[Span] = []
    start, capital, last = -1, False, span.start
    for number, i in enumerate(words):
        if _between(scene, i):
            if capital:
                found.append(span.moved(start, last))
            start, capital = -1, False
            continue
        if start < 0:
            start = span.start if number == 0 else scene.starts[i]
        capital |= scene.capital(i)
        last = scene.ends[i]
    if capital and start == span.start:
        return [span]
    return [*found, span.moved(start, span.end)] if capital else found


def _between(scene: Scene, index: int) -> bool:
    """Tell whether a word is an ordinary one in small letters that no name has inside."""
    if scene.kinds[index] != LOWER or scene.has(index, PERSON | PARTICLE) or len(scene.strings[index]) < _SHORTEST:
        return False
    if index and scene.has(index - 1, PARTICLE) and scene.has(index, FUNCTION):
        return False  # Arnaiz de las Revillas
    return scene.has(index, _ORDINARY)


def _on_the_last_line(scene: Scene, words: list[int]) -> int:
    """Return how many words of an institution stand before a line's end and are no name: *Health Records*."""
    cut = next((n for n in range(len(words) - 1, 0, -1) if scene.breaks[words[n]]), 0)
    general = all(scene.says(i, "general_institution") or common_word(scene, i) for i in words[:cut])
    return cut if general else 0


def _is_told_apart(scene: Scene, index: int) -> bool:
    """Tell whether a word before an occupation says how old or of which sex somebody is."""
    return scene.says(index, "age_label") or scene.says(index, "sex")


def _leads_name(scene: Scene, index: int, last: int) -> bool:
    """Tell whether words that are of names too lead to a capital: *von der Heydte*, *De Miguel Rivera*.

    With a capital they do where nouns have none.
    """
    at = index
    at += scene.kinds[at] == TITLE and scene.has(at, PARTICLE) and not scene.words["behind_surname"]
    while at < last and scene.kinds[at] == LOWER and scene.has(at, PARTICLE if at == index else PARTICLE | FUNCTION):
        at += 1
    return at > index and scene.capital(at) and not scene.case_uninformative(at) and not _before(scene, at)


def _before(scene: Scene, index: int) -> bool:
    """Tell whether a word stands before a name and is none."""
    if scene.says(index, "name_label") or (scene.kinds[index] == LOWER and scene.says(index, "attribute")):
        return True
    if scene.capital(index) and len(scene.strings[index]) == 1 and scene.word(index + 1) == ".":
        return scene.has(index, TITLES)  # "A. Orme"
    return _beside(scene, index, _BEFORE) or (scene.has(index, _LEADS) and not scene.has(index, _GIVEN))


def _beside(scene: Scene, index: int, classes: int) -> bool:
    """Tell whether a word stands beside a name and is none: its class says so, or it is clinical and small."""
    if scene.has(index, PERSON):
        return False
    return scene.has(index, classes) or (scene.has(index, _CLINICAL) and not scene.capital(index))


def common_word(scene: Scene, index: int) -> bool:
    """Tell whether a word is one of the language, and no name."""
    return not scene.has(index, PERSON) and (scene.has(index, _SPOKEN) or scene.says(index, "form_label"))


def clinical_word(scene: Scene, index: int) -> bool:
    """Tell whether a word is clinical language here: in a clinical phrase, or in a clinical list and no name."""
    if scene.protected[index]:
        return True
    classes = scene.classes[index]
    return bool(classes & _CLINICAL) and not classes & PERSON
