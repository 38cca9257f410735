"""Phrases of many lists, found in one walk over the words of a text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from deid.base.compiled import native_for
from deid.reading.dictionaries import Dictionary, fold

native = native_for("phrases")

Ids: TypeAlias = "tuple[int, bytes] | None"
"""By what numbers the compiled module knows the words of a text, where it does."""
_Level: TypeAlias = dict[str | None, Any]
"""Word -> the level of what may follow it; None -> the phrases that end here."""


class PhraseMatcher:
    """Finds the phrases of many lists in a sequence of tokens, in time linear in its length.

    Matching ignores case and accents. Whitespace tokens between the words of a phrase are skipped, as long as
    they hold fewer than two line ends: a phrase may wrap to the next line, not reach into the next paragraph.
    Of the phrases of one list that start at a token the longest counts, and matches of one list do not
    overlap; matches of different lists may.

    Parameters
    ----------
    dictionaries : iterable of Dictionary
    tokenize : callable
        Splits a phrase into token strings the way the texts will be split (whitespace tokens are dropped). It
        is not asked about words of letters only, which are one token in every tokenizer of this project.
    """

    def __init__(self, dictionaries: Iterable[Dictionary], tokenize: Callable[[str], Sequence[str]]) -> None:
        self.dictionaries = tuple(dictionaries)
        self.names = tuple(d.name for d in self.dictionaries)
        self._tokenize = tokenize
        self._compiled: Any = None
        if native is not None:
            self._compiled = native.Phrases(len(self.names))
            for tokens, end in self._phrases():
                self._compiled.add(tokens, end)

    def __reduce__(self) -> tuple[Any, ...]:
        return PhraseMatcher, (self.dictionaries, self._tokenize)

    def _phrases(self) -> Iterator[tuple[list[str], int]]:
        """Yield the phrases as tokens: with 2n an item of list n, with 2n + 1 an exception of it."""
        for number, dictionary in enumerate(self.dictionaries):
            for phrases, end in ((dictionary.phrases, 2 * number), (dictionary.exceptions, 2 * number + 1)):
                for phrase in phrases:
                    tokens = phrase.split(" ")
                    if not all(map(str.isalpha, tokens)):
                        tokens = [fold(t) for t in self._tokenize(phrase) if not t.isspace()]
                    if tokens:
                        yield tokens, end

    @functools.cached_property
    def _heads(self) -> _Level:
        heads: _Level = {}
        for tokens, end in self._phrases():
            level = heads
            for token in tokens:
                level = level.setdefault(token, {})
            level.setdefault(None, {})[end] = None
        return heads

    def match(self, tokens: Sequence[str]) -> list[tuple[int, int, str]]:
        """Find the phrases.

        Parameters
        ----------
        tokens : sequence of str
            Tokens of a text, whitespace tokens included or not.

        Returns
        -------
        list of (int, int, str)
            First token, one past the last token, name of the list; sorted.
        """
        words, places, joined = _content(tokens)
        found, _, _ = self.scan(words, joined)
        return [(places[start], places[end - 1] + 1, self.names[number]) for start, end, number in found]

    def scan(
        self,
        words: list[str],
        joined: bytes,
        *,
        ids: Ids = None,
        passed: bytes | None = None,
        longest_first: bool = False,
        marks: tuple[str, ...] = (),
    ) -> tuple[list[tuple[int, int, int]], dict[str, set[int]], dict[str, set[int]]]:
        """Find the phrases among words that are folded already, by the numbers of their lists.

        Parameters
        ----------
        words : list of str
            Words in the form of `fold`.
        joined : bytes
            Whether each word may continue a phrase that the word before belongs to.
        ids : tuple, optional
            The numbers of the words, where the compiled module gave them some.
        passed : bytes, optional
            Whether each word is passed over as if it were not there.
        longest_first : bool
            Whether of the matches that start at one word the longest comes first, not the shortest.
        marks : tuple of str
            Names of the last of the lists, of which it is only told where they begin and end.

        Returns
        -------
        list of (int, int, int)
            First word, one past the last word, number of the list, of all lists without marks; sorted.
        dict of str to set
            Mark -> the words that its matches end right before.
        dict of str to set
            Mark -> the words that its matches start with.
        """
        if self._compiled is not None:
            return self._compiled.scan(words, ids, joined, passed, longest_first, marks)
        plain = len(self.names) - len(marks)
        found: list[tuple[int, int, int]] = []
        before: dict[str, set[int]] = {mark: set() for mark in marks}
        at: dict[str, set[int]] = {mark: set() for mark in marks}
        turn = -1 if longest_first else 1
        for start, end, number in sorted(self._matches(words, joined, passed), key=lambda m: (m[0], turn * m[1], m[2])):
            if number < plain:
                found.append((start, end, number))
            else:
                before[marks[number - plain]].add(end)
                at[marks[number - plain]].add(start)
        return found, before, at

    def _matches(self, words: list[str], joined: bytes, passed: bytes | None) -> Iterator[tuple[int, int, int]]:
        free = [0] * len(self.names)  # first word that a further match of the list may start at
        shadow = [0] * len(self.names)  # end of the exceptions of the list seen so far
        places = [i for i in range(len(words)) if not (passed and passed[i])]
        for depth, first in enumerate(places):
            longest: dict[int, int] = {}
            level = self._heads.get(words[first])
            while level is not None:
                longest |= dict.fromkeys(level.get(None, ()), places[depth] + 1)
                depth += 1
                if depth == len(places) or not joined[places[depth]]:
                    break
                level = level.get(words[places[depth]])
            for end, stop in longest.items():
                if end & 1:
                    shadow[end >> 1] = max(shadow[end >> 1], stop)
            for end, stop in longest.items():
                number = end >> 1
                if not end & 1 and first >= free[number] and stop > shadow[number]:
                    free[number] = stop
                    yield first, stop, number


def _content(tokens: Sequence[str]) -> tuple[list[str], list[int], bytes]:
    """Return folded words, their token numbers, and whether each may continue the phrase before it."""
    words: list[str] = []
    places: list[int] = []
    joined = bytearray()
    breaks = 0
    for place, token in enumerate(tokens):
        if token.isspace():
            breaks += token.count("\n")
            continue
        words.append(fold(token))
        places.append(place)
        joined.append(breaks < 2)
        breaks = 0
    return words, places, bytes(joined)
