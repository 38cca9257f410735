"""A text with everything that the grammars ask about its words: classes, cues, protection."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping
from itertools import compress
from typing import TYPE_CHECKING

from deid.base.compiled import native
from deid.document import Span
from deid.reading.lexicon import CLASSES, Lexicon, classes_of
from deid.reading.view import LOWER, MIXED, NUMBER, SIGN, TITLE, UPPER, View
from deid.reading.vocabulary import Vocabulary
from deid.rules.fields import CUES, Scan

__all__ = ["CUE_BITS", "PlainScene", "Scene", "rounded", "scene_of"]

CUE_BITS = {name: 1 << i for i, name in enumerate(CUES)}
_CLINICAL_PHRASE = classes_of("clinical", "eponym", "device", "section")
_APOSTROPHES = frozenset(("'", "\u2019"))
_CAPITALS, _LETTERS = (
    re.compile(b"[%b]" % bytes(kinds)) for kinds in ((TITLE, UPPER, MIXED), (LOWER, TITLE, UPPER, MIXED))
)
_QUIET_SHARE = 0.03
"""A text with fewer capitalized words than this says nothing by case."""


@functools.lru_cache(4096)
def rounded(score: float) -> float:
    """Round a certainty to four digits; remembered, for there are few and rounding is slow."""
    return round(score, 4)


class PlainScene:
    """What is known of the words of a text, and what grammars ask of them: the reference of the compiled route.

    Parameters
    ----------
    view : View
    classes : list of int
        Classes of each word (bits of `deid.reading.lexicon.CLASSES`).
    phrases : dict
        First word -> phrases of the lists that start there: one past the last word, class.
    cues_before, cues_at : dict
        Name of a cue -> the words that it ends right before, one past the last word too; that it starts with.
    quiet : bool
        Whether the text is written in lower case.
    vocabulary : Vocabulary
        Small words of the language.
    letters : frozenset of str
        Abbreviations of two or three letters that are no initials of persons.
    class_bits, cue_bits : mapping
        Name -> bit.
    clinical : int
        Classes of phrases whose words are protected.
    """

    def __init__(
        self,
        view: View,
        classes: list[int],
        phrases: dict[int, list[tuple[int, int]]],
        cues_before: dict[str, set[int]],
        cues_at: dict[str, set[int]],
        quiet: bool,
        vocabulary: Vocabulary,
        letters: frozenset[str],
        class_bits: Mapping[str, int],
        cue_bits: Mapping[str, int],
        clinical: int,
    ) -> None:
        self.view, self.classes, self.phrases = view, classes, phrases
        self.cues_before, self.cues_at = cues_before, cues_at
        self.quiet, self.vocabulary, self.letters = quiet, vocabulary, letters
        self._bits, self._cue_bits = class_bits, cue_bits
        protected = bytearray(len(view))
        for start, held in phrases.items():
            for end, bits in held:
                if bits & clinical:
                    protected[start:end] = b"\1" * (end - start)
        self.protected = bytes(protected)
        """1 for each word inside a clinical phrase of several words."""

    def __len__(self) -> int:
        return len(self.classes)

    def has(self, index: int, *names: str) -> bool:
        """Tell whether a word has one of some classes; False outside the text."""
        return any(self.has_any(index, self._bits[name]) for name in names)

    def has_any(self, index: int, bits: int) -> bool:
        """Tell whether a word has one of some classes, given as bits; False outside the text."""
        return 0 <= index < len(self) and self.classes[index] & bits != 0

    def cued(self, index: int, *names: str) -> bool:
        """Tell whether one of some cues ends right before a word."""
        return any(self._cue_bits[name] and index in self.cues_before.get(name, ()) for name in names)

    def word(self, index: int) -> str:
        """Return a folded word, the empty text outside."""
        return self.view.folded[index] if 0 <= index < len(self) else ""

    def says(self, index: int, name: str) -> bool:
        """Tell whether a word does what a list of the vocabulary is named for: *definite*, *and*; False outside."""
        return self.word(index) in self.vocabulary.words[name]

    def of_class(self, bits: int) -> list[int]:
        """Return the words that have one of some classes."""
        return list(compress(range(len(self)), map(bits.__and__, self.classes)))

    def of_phrase(self, bits: int) -> list[int]:
        """Return, in order, the words that have one of some classes or begin a phrase that has one."""
        several = [first for first, phrases in self.phrases.items() for _, classes in phrases if classes & bits]
        return sorted({*self.of_class(bits), *several})

    def unlisted(self, kind: int) -> list[int]:
        """Return the words of a kind that no list has."""
        return [i for i, classes in enumerate(self.classes) if not classes and self.view.kinds[i] == kind]

    def written(self, words: Collection[str], capital: bool = False) -> list[int]:
        """Return the places of some words, all folded; ``capital`` for those alone for which `capital` holds."""
        found = list(compress(range(len(self)), map(words.__contains__, self.view.folded)))
        return [index for index in found if self.capital(index)] if capital else found

    def capitals(self) -> list[int]:
        """Return the words for which `capital` holds."""
        kinds = _LETTERS if self.quiet else _CAPITALS
        return [found.start() for found in kinds.finditer(self.view.kinds)]

    def blind(self, index: int) -> bool:
        """Tell whether the case of a word says nothing: lines of capitals, texts in lower case."""
        return bool(self.quiet or self.view.loud[index])

    def is_word(self, index: int) -> bool:
        """Tell whether there is a word (letters) at an index."""
        return 0 <= index < len(self) and self.view.kinds[index] not in (SIGN, NUMBER)

    def capital(self, index: int) -> bool:
        """Tell whether a word begins with a capital, or could in a text whose case says nothing."""
        if not 0 <= index < len(self):
            return False
        kind = self.view.kinds[index]
        return kind in (TITLE, UPPER, MIXED) or (self.quiet and kind == LOWER)

    def same_line(self, index: int) -> bool:
        """Tell whether a word follows the word before it on the same line, with no column between."""
        if not 0 < index < len(self):
            return False
        if self.view.breaks[index]:
            return bool(self.view.breaks[index] == 1 and self.view.wrapped[index])
        width = self.view.starts[index] - self.view.ends[index - 1]
        return width <= 1 and "\t" not in self.view.gap(index)


if TYPE_CHECKING or native is None:  # noqa: SIM108 - mypy follows statements only
    _Questions = PlainScene
else:
    _Questions = native.Scene


class Scene(_Questions):
    """A text as the grammars see it; `PlainScene` says what it is made of."""

    __slots__ = ()

    def possessive(self, index: int) -> bool:
        """Tell whether an apostrophe and *s* stand at a word."""
        return self.word(index) in _APOSTROPHES and self.says(index + 1, "possessive")

    def known_letters(self, letters: str) -> bool:
        """Tell whether letters are an abbreviation of clinical or ordinary language, a credential, a state."""
        return letters in self.letters

    def span(self, first: int, end: int, category: str, source: str, score: float) -> Span:
        """Return the span of the words ``first`` to ``end`` (excluded)."""
        view = self.view
        return Span(view.starts[first], view.ends[end - 1], category, source=f"rule:{source}", score=rounded(score))


def scene_of(view: View, lexicon: Lexicon, scan: Scan) -> Scene:
    """Join what the lexicon and the scan of labels say."""
    marks = lexicon.of(view)
    return Scene(
        *(view, marks.words, marks.phrases, scan.cues_before, scan.cues_at, _quiet(view)),
        *(lexicon.vocabulary, lexicon.letters, CLASSES, CUE_BITS, _CLINICAL_PHRASE),
    )


def _quiet(view: View) -> bool:
    """Tell whether there are words and hardly one begins with a capital; single letters aside."""
    letters = len(view) - view.kinds.count(SIGN) - view.kinds.count(NUMBER)
    wanted = _QUIET_SHARE * letters
    for found in _CAPITALS.finditer(view.kinds):
        wanted -= len(view.strings[found.start()]) > 1
        if wanted <= 0:
            return False
    return letters > 0
