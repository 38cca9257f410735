"""Initials that a legend explains: *TM = Tamsin Mukherjee LPN* says who gave what stands as *TM 0812* further up.

A legend is a person's name with its initials beside it: before an equals sign, a colon or a dash, in brackets or behind
an equals sign, or in a cell of its own before the name. The letters must be those of the name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from deid.detection.whose import PEOPLE
from deid.document import Span
from deid.reading.view import NUMBER, UPPER
from deid.rules.certainties import certainties
from deid.rules.scene import Scene
from deid.rules.word_classes import CREDENTIAL, TITLES

_W: Final = certainties("legends")

_BEFORE: Final = re.compile(
    r"(?<![A-Za-z0-9])([A-Z]{2,4})(?:[ ]?[=:\u2013\u2014-][ ]{0,2}|[ ]{2,40}|[ ]{0,2}[\t|][ \t]{0,40})\Z"
)
_BEHIND: Final = re.compile(
    r"(?:,?[ ](?:[A-Z]{2,5}(?:-[A-Z]{1,2})?|[A-Z](?:\.[A-Z])+\.?)){0,2}"  # credentials
    r"(?:[ ]{0,2}[=(]|[ ]{2,40}|[ ]{0,2}[\t|][ \t]{0,40})[ ]?([A-Z]{2,4})(?![A-Za-z0-9])"
)
_ALONE_BEFORE: Final = re.compile(r"(?:^|[\n\t|]|[ ]{2})[ ]*\Z")
_ALONE_BEHIND: Final = re.compile(r"[ ]*(?:[\n\t|=]|[ ]{2}|\Z)")
_PARTING: Final = frozenset("=:\u2013\u2014-|")
"""Signs between initials and a name; two blanks and a tab part them too."""
_WIDEST: Final = 48
_NEVER: Final = TITLES | CREDENTIAL


def explained(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Return where initials stand that a name among what was found explains.

    Parameters
    ----------
    scene : Scene
    spans : sequence of Span
        What was found and accepted.

    Returns
    -------
    list of Span
        With the category of the name, source ``consistency:legend``. Letters that are an abbreviation of the language
        count beside a figure or alone in a cell; titles and credentials never.
    """
    text = scene.text
    told: dict[str, str] = {}
    start = end = -1
    for span in spans:
        if span.category not in PEOPLE or (span.start == start and span.end == end):
            continue  # the first of a place counts
        start, end = span.start, span.end
        words = scene.inside(start, end)
        if not 1 < len(words) < 8:
            continue
        head = text[max(0, start - _WIDEST) : start]
        bare = head.rstrip(" \t")
        apart = len(head) - len(bare) > 1 or head[-1:] == "\t" or bare[-1:] in _PARTING
        before = _BEFORE.search(text, max(0, start - _WIDEST), start) if apart else None
        behind = _BEHIND.match(text, end)
        for legend in (before, behind):
            if legend is not None and _is_of(legend[1], scene, words):
                told.setdefault(legend[1], span.category)
    if not told:
        return []
    found = []
    for index in scene.capitals:
        category = told.get(scene.strings[index])
        if category is not None and scene.kinds[index] == UPPER and _counts(scene, index):
            found.append(
                Span(scene.starts[index], scene.ends[index], category, "", "consistency:legend", _W["initials"])
            )
    return found


def _is_of(letters: str, scene: Scene, words: Sequence[int]) -> bool:
    """Tell whether letters are the first ones of a name's words, in order: *QB* of *Quillon Baptiste-Reyes*, *EOS* of
    *Eimear O'Shea*.
    """
    parts = [[part[0].upper() for part in re.split("['-]", scene.strings[i]) if part] for i in words]
    if scene.word(words[0] + 1) == ",":
        parts = [*parts[1:], parts[0]]
    own = [letter for part in parts for letter in part]
    rest = iter(own[1:])
    return own[0] == letters[0] and all(letter in rest for letter in letters[1:])


def _counts(scene: Scene, index: int) -> bool:
    """Tell whether letters are somebody's initials here."""
    if scene.has(index, _NEVER):
        return False
    if not scene.classes[index] and not scene.known_letters(scene.folded[index]):
        return True
    text = scene.text
    start, end = scene.starts[index], scene.ends[index]
    if _ALONE_BEFORE.search(text, max(0, start - _WIDEST), start) and _ALONE_BEHIND.match(text, end):
        return True
    near = (i for i in (index - 1, index + 1) if 0 <= i < scene.count)
    return any(scene.kinds[i] == NUMBER and not scene.breaks[max(i, index)] for i in near)
