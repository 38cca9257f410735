"""Languages whose nouns have capitals: a capital says nothing there, and a model takes nouns for names.

*mit dem Linear-Stapler*, *arbeitet im Homeoffice*: where no rule says the same, an ordinary word in running text is
nobody. Beside a title, a role, a relative or another name it may be a surname, and so may what is a surname elsewhere
at the start of a line and behind the signs of labels and lists. In all languages small words behind a particle are
nobody where no list has them: *irritatie van de patellapees*.
"""

from __future__ import annotations

from typing import Final

from deid.document import Span
from deid.phi import CANONICAL, GROUP
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER
from deid.rules.person_words import PERSON, clear
from deid.rules.scene import Scene
from deid.rules.word_classes import PARTICLE

_SPOKEN: Final = classes_of("word", "clinical", "section", "function")
_NAMING: Final = classes_of("title", "title_doctor", "relation", "role", "patient_word")
"""Words that stand beside names."""
_LISTING: Final = frozenset(":/(|")
_CALLED: Final = frozenset(("HOSPITAL", "ORGANIZATION", "STREET"))
_INITIALS: Final = 4
"""Small letters that may be somebody's."""


def is_noun(scene: Scene, span: Span) -> bool:
    """Tell whether what a model alone took for a name is one ordinary word.

    Parameters
    ----------
    scene : Scene
    span : Span
        Of any category; only persons, institutions and streets are asked for.

    Returns
    -------
    bool
        In a language whose nouns have small letters (one without words for ``behind_surname``) of small words alone.
    """
    category = CANONICAL[span.category]
    if GROUP[category] == "NAME" and _is_small(scene, scene.inside(span.start, span.end)):
        return True
    if not scene.words["behind_surname"] or not (GROUP[category] == "NAME" or category in _CALLED):
        return False
    words = scene.inside(span.start, span.end)
    if len(words) != 1 or not _is_ordinary(scene, words[0]):
        return False
    before, behind = words[0] - 1, words[0] + 1
    if before < 0 or scene.breaks[words[0]] or scene.word(before) in _LISTING:
        return not scene.has(words[0], PERSON)
    return not (_names(scene, before) or _names(scene, behind))


def _is_small(scene: Scene, words: list[int]) -> bool:
    """Tell whether small words that begin as names do have none that a list knows: *van de patellapees*."""
    if scene.lowercase_text or len(words) < 2 or not scene.has(words[0], PARTICLE):
        return False
    return all(scene.kinds[i] == LOWER and (scene.has(i, PARTICLE) or not scene.has(i, PERSON)) for i in words)


def _is_ordinary(scene: Scene, index: int) -> bool:
    """Tell whether a word is one of the language, or a small one of no list."""
    if scene.has(index, _SPOKEN):
        return not clear(scene, index)
    small = scene.kinds[index] == LOWER and not scene.lowercase_text
    return small and not scene.classes[index] and len(scene.strings[index]) > _INITIALS


def _names(scene: Scene, index: int) -> bool:
    """Tell whether a word is a name, or one that stands beside names."""
    return scene.has(index, _NAMING) or (scene.has(index, PERSON) and scene.capital(index) and clear(scene, index))
