"""A text with everything that the grammars ask about its words: classes, cues, protection."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from deid.document import Span
from deid.reading.lexicon import Lexicon, Marks, classes_of
from deid.reading.view import LOWER, NUMBER, SIGN, View
from deid.reading.vocabulary import Vocabulary
from deid.rules.fields import Scan
from deid.rules.word_classes import CUE_BITS, LEADING

if TYPE_CHECKING:
    from mypy_extensions import i64

__all__ = ["Scene", "rounded", "scene_of"]

_CLINICAL_PHRASE: Final = classes_of("clinical", "eponym", "device", "section")
_LOWERCASE_SHARE: Final = 0.03
"""A text with fewer capitalized words than this says nothing by case."""


@functools.lru_cache(4096)
def rounded(score: float) -> float:
    """Return a certainty with four digits; remembered, for there are few and rounding is slow."""
    return round(score, 4)


class Scene:
    """What is known of the words of a text, and what grammars ask of them.

    Parameters
    ----------
    view : View
        The words; their lists and bytes stand on the scene as well.
    marks : Marks
        Classes of each word, and the phrases of the lists.
    scan : Scan
        The cues.
    lexicon : Lexicon
        All lists and small words of the language.
    """

    def __init__(self, view: View, marks: Marks, scan: Scan, lexicon: Lexicon) -> None:
        self.view: View = view
        self.text: str = view.text
        self.strings: list[str] = view.strings
        self.folded: list[str] = view.folded
        self.starts: list[int] = view.starts
        self.ends: list[int] = view.ends
        self.kinds: bytes = view.kinds
        self.breaks: bytes = view.breaks
        self.wrapped: bytes = view.wrapped
        self.uppercase_line: bytes = view.uppercase_line
        self.classes: list[int] = marks.words
        self.phrases: dict[int, list[tuple[int, int]]] = marks.phrases
        """First word -> phrases of the lists that start there: one past the last word, class."""
        self.cues_before: dict[str, set[int]] = scan.cues_before
        """Name of a cue -> the words that it ends right before, one past the last word too."""
        self.cues_at: dict[str, set[int]] = scan.cues_at
        """Name of a cue -> the words that it starts with."""
        self.vocabulary: Vocabulary = lexicon.vocabulary
        self.words: dict[str, frozenset[str]] = lexicon.vocabulary.words
        self.told: frozenset[str] = lexicon.vocabulary.told
        self.letters: frozenset[str] = lexicon.letters
        self.lists: dict[str, int] = lexicon.words
        """Word of the lists -> its classes."""
        self.count: int = len(self.classes)
        self._leading: list[int] = [index for index, held in enumerate(self.classes) if held & LEADING]
        """The words that grammars begin with, by what the lists say of them."""
        self.lowercase_text: bool = _is_lowercase(view)
        """Whether the text is written in lower case."""
        least = NUMBER if self.lowercase_text else LOWER
        kinds = self.kinds
        self.capitals: list[int] = [index for index in range(self.count) if kinds[index] > least]
        """The words for which `capital` holds."""
        self._cues: list[int] = [0] * (self.count + 1)
        """The cues that end right before each word, and before the end of the text."""
        for name, places in self.cues_before.items():
            bit = CUE_BITS[name]
            for index in places:
                self._cues[index] |= bit
        protected = bytearray(self.count)
        for start, several in self.phrases.items():
            for end, bits in several:
                if bits & _CLINICAL_PHRASE:
                    protected[start:end] = b"\1" * (end - start)
        self.protected: bytes = bytes(protected)
        """1 for each word inside a clinical phrase of several words."""

    def __len__(self) -> int:
        return self.count

    def at(self, offset: int) -> int:
        """Return the index of the first word that ends behind ``offset``; the number of words where none does."""
        starts = self.starts
        low: i64 = 0
        high: i64 = self.count
        wanted: i64 = offset
        while low < high:
            middle = (low + high) >> 1
            if starts[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        return low - 1 if low and self.ends[low - 1] > offset else low

    def inside(self, start: int, end: int) -> list[int]:
        """Return the words made of letters that share a character with a place."""
        starts, kinds, count = self.starts, self.kinds, self.count
        index, found = self.at(start), []
        while index < count and starts[index] < end:
            if kinds[index] > NUMBER:
                found.append(index)
            index += 1
        return found

    def has(self, index: int, classes: int) -> bool:
        """Tell whether a word has one of some classes (`deid.rules.word_classes`); False outside the text."""
        return 0 <= index < self.count and self.classes[index] & classes != 0

    def cued(self, index: int, cues: int) -> bool:
        """Tell whether one of some cues (`cues_of`) ends right before a word."""
        return 0 <= index <= self.count and self._cues[index] & cues != 0

    def cued_at_all(self, index: int) -> bool:
        """Tell whether any cue ends right before a word."""
        return 0 <= index <= self.count and self._cues[index] != 0

    def word(self, index: int) -> str:
        """Return a folded word, the empty text outside."""
        return self.folded[index] if 0 <= index < self.count else ""

    def says(self, index: int, name: str) -> bool:
        """Tell whether a word does what a list of the vocabulary is named for: *definite*, *and*; False outside."""
        if not 0 <= index < self.count:
            return False
        word = self.folded[index]
        return word in self.told and word in self.words[name]

    def of_class(self, classes: int) -> list[int]:
        """Return the words that have one of some classes, which are of `LEADING`."""
        held = self.classes
        return [index for index in self._leading if held[index] & classes]

    def of_phrase(self, classes: int) -> list[int]:
        """Return, in order, the words that have one of some classes or begin a phrase that has one."""
        found = self.of_class(classes)
        several = {first for first, phrases in self.phrases.items() for _, held in phrases if held & classes}
        return sorted(several.union(found)) if several else found

    def unlisted(self, kind: int) -> list[int]:
        """Return the words of a kind that no list has."""
        kinds = self.kinds
        return [index for index, held in enumerate(self.classes) if not held and kinds[index] == kind]

    def written(self, words: frozenset[str]) -> list[int]:
        """Return the places of some words, all folded."""
        if words.isdisjoint(self.folded):  # as nearly always, and soon told
            return []
        return [index for index, word in enumerate(self.folded) if word in words]

    def gap(self, index: int) -> str:
        """Return the white space before a word."""
        return self.text[self.ends[index - 1] if index else 0 : self.starts[index]]

    def case_uninformative(self, index: int) -> bool:
        """Tell whether the case of a word says nothing: lines of capitals, texts in lower case."""
        return self.lowercase_text or self.uppercase_line[index] != 0

    def is_word(self, index: int) -> bool:
        """Tell whether there is a word (letters) at an index."""
        return 0 <= index < self.count and self.kinds[index] > NUMBER

    def capital(self, index: int) -> bool:
        """Tell whether a word begins with a capital, or could in a text whose case says nothing."""
        if not 0 <= index < self.count:
            return False
        kind = self.kinds[index]
        return kind > LOWER or (kind == LOWER and self.lowercase_text)

    def same_line(self, index: int) -> bool:
        """Tell whether a word follows the word before it on the same line, with no column between."""
        if not 0 < index < self.count:
            return False
        breaks = self.breaks[index]
        if breaks:
            return breaks == 1 and self.wrapped[index] != 0
        end, start = self.ends[index - 1], self.starts[index]
        return start <= end or (start == end + 1 and self.text[end] != "\t")

    def line_ends(self, index: int) -> bool:
        """Tell whether a line begins with a word, or the text ends before it."""
        return index >= self.count or self.breaks[index] != 0

    def possessive(self, index: int) -> bool:
        """Tell whether an apostrophe and *s* stand at a word."""
        return self.word(index) in ("'", "\u2019") and self.says(index + 1, "possessive")

    def known_letters(self, letters: str) -> bool:
        """Tell whether letters are an abbreviation of clinical or ordinary language, a credential, a state."""
        return letters in self.letters

    def span(self, first: int, end: int, category: str, source: str, score: float) -> Span:
        """Return the span of the words ``first`` to ``end`` (excluded); its source is ``rule:`` and ``source``."""
        return Span(self.starts[first], self.ends[end - 1], category, "", f"rule:{source}", rounded(score))


def scene_of(view: View, lexicon: Lexicon, scan: Scan) -> Scene:
    """Return the scene of the words of a view, from what the lexicon and the scan of labels say of them."""
    return Scene(view, lexicon.of(view), scan, lexicon)


def _is_lowercase(view: View) -> bool:
    """Tell whether there are words and hardly one begins with a capital; single letters aside."""
    kinds, strings = view.kinds, view.strings
    letters = len(strings) - kinds.count(SIGN) - kinds.count(NUMBER)
    wanted = _LOWERCASE_SHARE * letters
    for index in range(len(kinds)):
        if kinds[index] > LOWER and len(strings[index]) > 1:
            wanted -= 1
            if wanted <= 0:
                return False
    return letters > 0
