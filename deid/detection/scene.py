"""A text with everything that the grammars ask about its words: classes, cues, protection."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import compress

from deid.detection.fields import Scan
from deid.detection.lexicon import Lexicon, classes_of
from deid.detection.view import LOWER, MIXED, NUMBER, SIGN, TITLE, UPPER, View
from deid.detection.vocabulary import Vocabulary
from deid.document import Span

__all__ = ["Scene", "scene_of"]

_CLINICAL_PHRASE = classes_of("clinical", "eponym", "device", "section")
_APOSTROPHES = frozenset(("'", "\u2019"))
_CAPITALS, _LETTERS = (
    re.compile(b"[%b]" % bytes(kinds)) for kinds in ((TITLE, UPPER, MIXED), (LOWER, TITLE, UPPER, MIXED))
)
_QUIET_SHARE = 0.03
"""A text with fewer capitalized words than this says nothing by case."""


@dataclass(slots=True)
class Scene:
    """A text as the grammars see it."""

    view: View
    classes: list[int] = field(repr=False)
    """Classes of each word (bits of `deid.detection.lexicon.CLASSES`)."""
    phrases: dict[int, list[tuple[int, int]]] = field(repr=False)
    """First word -> phrases of the lists that start there: one past the last word, class."""
    cues_before: dict[str, set[int]] = field(repr=False)
    """Name of a cue -> the words that it ends right before; one past the last word too."""
    cues_at: dict[str, set[int]] = field(repr=False)
    """Name of a cue -> the words that it starts with."""
    protected: bytearray = field(repr=False)
    """1 for each word inside a clinical phrase of several words."""
    quiet: bool
    """Whether the text is written in lower case."""
    vocabulary: Vocabulary = field(repr=False)
    """Small words of the language."""
    letters: frozenset[str] = field(default=frozenset(), repr=False)
    """Abbreviations of two or three letters that are no initials of persons."""
    _capitals: list[int] | None = field(default=None, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.classes)

    def has(self, index: int, *names: str) -> bool:
        """Tell whether a word has one of some classes; False outside the text."""
        return 0 <= index < len(self.classes) and self.classes[index] & classes_of(*names) != 0

    def word(self, index: int) -> str:
        """Return a folded word, the empty text outside."""
        return self.view.folded[index] if 0 <= index < len(self.classes) else ""

    def says(self, index: int, name: str) -> bool:
        """Tell whether a word does what a list of the vocabulary is named for: *definite*, *and*; False outside."""
        return self.word(index) in self.vocabulary.words[name]

    def cued(self, index: int, *names: str) -> bool:
        """Tell whether one of some cues ends right before a word."""
        return any(index in self.cues_before[name] for name in names)

    def possessive(self, index: int) -> bool:
        """Tell whether an apostrophe and *s* stand at a word."""
        return self.word(index) in _APOSTROPHES and self.says(index + 1, "possessive")

    def of_class(self, bits: int) -> list[int]:
        """Return the words that have one of some classes."""
        return list(compress(range(len(self.classes)), map(bits.__and__, self.classes)))

    def of_phrase(self, bits: int) -> list[int]:
        """Return, in order, the words that have one of some classes or begin a phrase that has one."""
        single = self.of_class(bits)
        several = [first for first, phrases in self.phrases.items() for _, classes in phrases if classes & bits]
        return sorted({*single, *several}) if several else single

    def unlisted(self, kind: int) -> list[int]:
        """Return the words of a kind that no list has."""
        return [i for i, classes in enumerate(self.classes) if not classes and self.view.kinds[i] == kind]

    def written(self, words: Collection[str]) -> list[int]:
        """Return the places of some words, all folded."""
        return list(compress(range(len(self.classes)), map(words.__contains__, self.view.folded)))

    def capitals(self) -> list[int]:
        """Return the words for which `capital` holds."""
        if self._capitals is None:
            kinds = _LETTERS if self.quiet else _CAPITALS
            self._capitals = [found.start() for found in kinds.finditer(self.view.kinds)]
        return self._capitals

    def blind(self, index: int) -> bool:
        """Tell whether the case of a word says nothing: lines of capitals, texts in lower case."""
        return bool(self.quiet or self.view.loud[index])

    def is_word(self, index: int) -> bool:
        """Tell whether there is a word (letters) at an index."""
        return 0 <= index < len(self.classes) and self.view.kinds[index] not in (SIGN, NUMBER)

    def known_letters(self, letters: str) -> bool:
        """Tell whether letters are an abbreviation of clinical or ordinary language, a credential, a state."""
        return letters in self.letters

    def capital(self, index: int) -> bool:
        """Tell whether a word begins with a capital, or could in a text whose case says nothing."""
        if not 0 <= index < len(self.classes):
            return False
        kind = self.view.kinds[index]
        return kind in (TITLE, UPPER, MIXED) or (self.quiet and kind == LOWER)

    def same_line(self, index: int) -> bool:
        """Tell whether a word follows the word before it on the same line, with no column between."""
        if not 0 < index < len(self.classes):
            return False
        if self.view.breaks[index]:
            return bool(self.view.breaks[index] == 1 and self.view.wrapped[index])
        width = self.view.starts[index] - self.view.ends[index - 1]
        return width <= 1 and "\t" not in self.view.gap(index)

    def span(self, first: int, end: int, category: str, source: str, score: float) -> Span:
        """Return the span of the words ``first`` to ``end`` (excluded)."""
        view = self.view
        return Span(view.starts[first], view.ends[end - 1], category, source=f"rule:{source}", score=round(score, 4))


def scene_of(view: View, lexicon: Lexicon, scan: Scan) -> Scene:
    """Join what the lexicon and the scan of labels say."""
    marks = lexicon.of(view)
    protected = bytearray(len(view))
    for start, held in marks.phrases.items():
        for end, classes in held:
            if classes & _CLINICAL_PHRASE:
                protected[start:end] = b"\1" * (end - start)
    letters = len(view) - view.kinds.count(SIGN) - view.kinds.count(NUMBER)
    capitals = letters - view.kinds.count(LOWER)
    if letters and capitals >= _QUIET_SHARE * letters:  # unless they are single letters
        capitals = sum(1 for k, s in zip(view.kinds, view.strings, strict=True) if k > LOWER and len(s) > 1)
    quiet = letters > 0 and capitals < _QUIET_SHARE * letters
    return Scene(
        view,
        marks.words,
        marks.phrases,
        scan.cues_before,
        scan.cues_at,
        protected,
        quiet,
        lexicon.vocabulary,
        lexicon.letters,
    )
