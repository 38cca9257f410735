"""Choices of one document: keyed, distinct, and never an original of the document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from deid.reading.identity import name_key
from deid.replacement.names import NameMap
from deid.replacement.permutation import Keyed

_WORDS = re.compile(r"[^\W\d_]+")
_FEW = 16
"""Candidates that each original may try, however many have run out before it."""
_SPARE = 4096
"""Candidates that the originals of a kind may try together beyond these: of a note with more originals than surrogates,
every original would else try all of them."""


def tag(category: str, original: str) -> str:
    """Return what stands for an original that nothing else can stand for: its category in brackets.

    Where the original is part of that (a span ``Date``) it is ``[***]``.
    """
    label = f"[{category}]"
    return "[***]" if original.casefold() in label.casefold() else label


class Choices:
    """What has been chosen in a document, and what may not be.

    Parameters
    ----------
    keyed : Keyed
        Choices of the person's scope.
    names : NameMap
        The document's name words.
    originals : frozenset of str
        Keys of the words of all originals.
    language : str
    """

    def __init__(self, keyed: Keyed, names: NameMap, originals: frozenset[str], language: str) -> None:
        self.keyed = keyed
        self.names = names
        self.language = language
        self._originals = originals
        self._taken: dict[tuple[str, str], str] = {}
        self._spare: dict[str, int] = {}
        """Of each kind, how many candidates may be tried beyond `_FEW` an original."""

    def allowed(self, original: str, candidate: str) -> bool:
        """Tell whether a candidate holds no original: neither its own, nor as a word any other of the document."""
        if not candidate or original.casefold() in candidate.casefold():
            return False
        return self._originals.isdisjoint([name_key(w) for w in _WORDS.findall(candidate) if len(w) > 3])

    def claim(self, kind: str, original: str, candidates: Iterable[str], *, words: bool = True) -> str:
        """Take the first candidate that is allowed and that no other original of this kind has.

        Parameters
        ----------
        kind : str
            Originals of one kind get distinct surrogates.
        original : str
            What is replaced, in the form in which equals are equal.
        candidates : iterable of str
            Surrogates by preference, keyed.
        words : bool
            Whether candidates have words that could be originals.

        Returns
        -------
        str
            Empty when every candidate holds an original or stands for another one, so that nothing can stand for this;
            also when too many were tried, so that what a note takes grows with its length.
        """
        spare = self._spare.get(kind, _SPARE)
        tried, found = 0, ""
        for candidate in islice(candidates, spare + _FEW):
            tried += 1
            if not (self.allowed(original, candidate) if words else original not in candidate):
                continue
            if self._taken.get((kind, candidate), original) == original:
                self._taken[kind, candidate] = original
                found = candidate
                break
        self._spare[kind] = min(_SPARE, spare + _FEW - tried)
        return found

    def others(self, what: str, index: int, group: Sequence[str]) -> Iterator[str]:
        """Yield the other members of a group in keyed order; no two indexes begin with the same member.

        Parameters
        ----------
        what : str
            Names the group: another name, another order.
        index : int
            Place of the original in the group.
        group : sequence of str
            The members.
        """
        for step in range(1, len(group)):
            yield group[self.keyed.move(what, index, len(group), step)]

    def hashed(self, what: str, original: str, group: Sequence[str], tries: int = 64) -> Iterator[str]:
        """Yield ``tries`` members of a group by keyed hash, for an original that is no member; they may repeat."""
        for attempt in range(tries):
            yield group[self.keyed.number(what, original, str(attempt)) % len(group)]
