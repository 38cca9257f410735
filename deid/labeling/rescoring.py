"""Spans rescored: how likely each span of a chain is, all in all, by boosted trees over what the chain cannot see.

A chain of labels sees single words and their neighbours. A span as a whole has more: its length, its first and last
word, what stands before and behind it, the head of its line, whether the same words are a span elsewhere in the note,
which spans stand beside it, and how often such spans were right in training notes (semi-Markov features: Sarawagi and
Cohen, NIPS 2004; reranking of a generator's candidates: Collins and Koo, Computational Linguistics 31, 2005). All of it
is put together by trees that stochastic gradient boosting made (Friedman 2002; trained with scikit-learn,
`deid.labeling.rescoring_training`) and that are kept as arrays. Strings are kept where enough training notes had them.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Candidate = tuple[int, int, str, float]
"""Start and end in the text, category, probability by the chain."""

LEAST = 0.01
"""Candidates are at least this probable by the chain."""
SURE = 0.4
"""From this probability on a candidate counts as a span beside others."""
_TRUST = 0.6
"""Of what the chain says, so much holds whatever the trees say."""
_WORD = re.compile(r"\w+|[^\w\s]")
_LONG = re.compile(r"\w{3,}")
_DIGIT = re.compile(r"\d")
_AROUND = 60
"""Characters before and behind a span in which its neighbours are looked for."""
_KINDS = ("before", "two before", "behind", "two behind", "first", "last", "head", "shape")
_TEXT = "text"
_MOST_PLACES = 100
"""Of the same words elsewhere, the first so many are looked at: a name may head each of a thousand pages."""
_FAR = 999.0
_NONE = -1.0


@dataclass(frozen=True, slots=True)
class Habit:
    """How spans with one property fared in the training notes."""

    right: int
    """Candidates that were spans."""
    seen: int
    """All candidates."""
    documents: int
    """Training notes that had such a candidate."""


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees of one ensemble, their nodes one after the other; a node without children is its own child."""

    feature: np.ndarray = field(repr=False)
    """Which figure a node asks for, int64 of shape (n_nodes,)."""
    threshold: np.ndarray = field(repr=False)
    """Up to which value it goes left, float64."""
    left: np.ndarray = field(repr=False)
    right: np.ndarray = field(repr=False)
    value: np.ndarray = field(repr=False)
    """What a leaf adds to the logit."""
    roots: np.ndarray = field(repr=False)
    depth: int
    base: float
    """Logit without any tree."""

    def logits(self, rows: np.ndarray) -> np.ndarray:
        """Return the logit of each row of figures, shape (n_rows,)."""
        at = np.tile(self.roots, (len(rows), 1))
        own = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            at = np.where(rows[own, self.feature[at]] <= self.threshold[at], self.left[at], self.right[at])
        total: np.ndarray = self.base + self.value[at].sum(axis=1)
        return total


@dataclass(frozen=True, slots=True)
class Rescorer:
    """Says how likely candidates are.

    Made by `deid.labeling.rescoring_training.learn_rescorer` or `read`.
    """

    categories: tuple[str, ...]
    habits: Mapping[str, Habit] = field(repr=False)
    """Name of a property of spans of a category -> how these fared."""
    trees: Trees = field(repr=False)

    def rescored(self, text: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with the probability that they have all in all.

        At least a share of the chain's: what notes of another kind have may be unlike anything in the training notes.
        """
        if not candidates:
            return []
        logits = self.trees.logits(figures(text, candidates, self.habits, self.categories))
        chances = 1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0)))
        told = zip(candidates, chances.tolist(), strict=True)
        return [(start, end, name, max(p, _TRUST * chain)) for (start, end, name, chain), p in told]

    def lexicon(self) -> dict[str, int]:
        """Return the strings that are kept, and in how many training notes each stood."""
        return {f"rescoring:{name}": habit.documents for name, habit in self.habits.items()}

    def write(self) -> bytes:
        """Return the rescorer as JSON."""
        trees = self.trees
        arrays = {
            name: getattr(trees, name).tolist() for name in ("feature", "threshold", "left", "right", "value", "roots")
        }
        content = {
            "categories": self.categories,
            "habits": {name: [h.right, h.seen, h.documents] for name, h in sorted(self.habits.items())},
            "trees": {**arrays, "depth": trees.depth, "base": trees.base},
        }
        return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def read(data: bytes) -> Rescorer:
    """Read what `Rescorer.write` returned.

    Raises
    ------
    ValueError
        When it is no rescorer, or its trees lead nowhere.
    """
    try:
        content = json.loads(data)
        habits = {str(name): Habit(*map(int, numbers)) for name, numbers in content["habits"].items()}
        held: dict[str, Any] = content["trees"]
        whole = {name: np.array(held[name], dtype=np.int64) for name in ("feature", "left", "right", "roots")}
        parts = {name: np.array(held[name], dtype=np.float64) for name in ("threshold", "value")}
        trees = Trees(**whole, **parts, depth=int(held["depth"]), base=float(held["base"]))
        categories = tuple(map(str, content["categories"]))
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ValueError("no rescorer") from None
    nodes = trees.feature.size
    for name in ("feature", "left", "right", "threshold", "value"):
        if getattr(trees, name).shape != (nodes,):
            raise ValueError("arrays of different lengths")
    for name, size in (("left", nodes), ("right", nodes), ("roots", nodes), ("feature", FIGURES)):
        array = getattr(trees, name)
        if array.ndim != 1 or (array < 0).any() or (array >= size).any():
            raise ValueError("a node that is not there")
    if not (0 <= trees.depth <= nodes and np.isfinite([trees.base, *trees.value]).all()):
        raise ValueError("no finite numbers")
    if not all(0 <= habit.right <= habit.seen for habit in habits.values()):
        raise ValueError("more right than seen")
    return Rescorer(categories, habits, trees)


def properties(text: str, start: int, end: int, category: str) -> list[str]:
    """Return the names of a span's properties: one of each kind, then its text, and its text as of its category."""
    first, stop = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    ahead = ["^", "^", *map(_plain, _WORD.findall(text, max(first, start - _AROUND), start))][-2:]
    behind = [*map(_plain, _WORD.findall(text, end, min(len(text) if stop < 0 else stop, end + _AROUND))), "$", "$"][:2]
    words = _WORD.findall(text, start, end) or [""]
    colon = text.rfind(":", max(first, start - 2 * _AROUND), start)
    head = "" if colon < 0 else " ".join(_WORD.findall(text, max(first, colon - _AROUND), colon)[-3:]).casefold()
    own = text[start:end]
    told = (
        ahead[1],
        " ".join(ahead),
        behind[0],
        " ".join(behind),
        _plain(words[0]),
        _plain(words[-1]),
        head,
        _shape(own),
    )
    named = [f"{kind} {category} {name}" for kind, name in zip(_KINDS, told, strict=True)]
    return [*named, f"{_TEXT} {own.casefold()}", f"{_TEXT} {category} {own.casefold()}"]


def _plain(word: str) -> str:
    """Return a word with its digits as zeros, in small letters."""
    return _DIGIT.sub("0", word.casefold())


def _shape(text: str) -> str:
    """Return the kinds of a text's characters, runs as one."""
    kinds: list[str] = []
    for sign in text:
        kind = "0" if sign.isdecimal() else ("A" if sign.isupper() else "a") if sign.isalpha() else sign
        kind = "_" if kind.isspace() else kind
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return "".join(kinds[:12])


FIGURES = 23 + len(_KINDS)
"""How many figures tell of a candidate."""


def figures(
    text: str, candidates: Sequence[Candidate], habits: Mapping[str, Habit], categories: Sequence[str]
) -> np.ndarray:
    """Return what is known of candidates.

    Parameters
    ----------
    text : str
    candidates : sequence of Candidate
        In the order of their starts.
    habits : mapping
        As in `Rescorer`.
    categories : sequence of str

    Returns
    -------
    ndarray of float64, shape (n_candidates, FIGURES)
    """
    note = _Note(text, candidates, habits, categories)
    return np.array(
        [[*note.chain(i), *note.elsewhere(i), *note.place(i), *note.habits(i)] for i in range(len(candidates))]
    )


class _Note:
    """A note's candidates, for asking what is known of each."""

    def __init__(
        self, text: str, candidates: Sequence[Candidate], habits: Mapping[str, Habit], categories: Sequence[str]
    ) -> None:
        self._text = text
        self._candidates = candidates
        self._habits = habits
        self._number = {name: float(i) for i, name in enumerate(categories)}
        self._starts = [start for start, *_ in candidates]
        self._longest = max(end - start for start, end, *_ in candidates)
        self._lines = [-1, *(m.start() for m in re.finditer("\n", text)), len(text)]
        self._expected = Counter[str]()
        self._same: dict[str, list[int]] = defaultdict(list)
        self._words: dict[str, list[int]] = defaultdict(list)
        self._sets: list[frozenset[str]] = []
        for i, (start, end, category, chance) in enumerate(candidates):
            own = text[start:end].casefold()
            self._expected[category] += chance  # type: ignore[assignment]
            if len(self._same[own]) < _MOST_PLACES:
                self._same[own].append(i)
            self._sets.append(frozenset(_LONG.findall(own)))
            for word in self._sets[-1] if chance > SURE else ():
                if len(self._words[word]) < _MOST_PLACES:
                    self._words[word].append(i)
        sure = [(end, start, category) for start, end, category, chance in candidates if chance > SURE]
        self._ends = sorted(sure)
        self._begins = sorted((start, end, category) for end, start, category in sure)

    def chain(self, number: int) -> Iterator[float]:
        """Yield what the chain says of a candidate and of those that overlap it."""
        start, end, category, chance = self._candidates[number]
        low, high = bisect_left(self._starts, start - self._longest), bisect_left(self._starts, end)
        same = other = longer = shorter = total = 0.0
        for i in range(low, high):
            first, stop, name, p = self._candidates[i]
            if i == number or stop <= start:
                continue
            total += p
            other = max(other, p)
            if first == start and stop == end:
                same = max(same, p)
            elif name == category and first <= start and stop >= end:
                longer = max(longer, p)
            elif name == category and first >= start and stop <= end:
                shorter = max(shorter, p)
        yield from (_logit(chance), _logit(other), same, longer, shorter, total)
        yield float(len(_WORD.findall(self._text, start, end)))
        yield float(end - start)
        yield self._number.get(category, _NONE)

    def elsewhere(self, number: int) -> Iterator[float]:
        """Yield what the rest of the note says of a candidate's words."""
        start, end, category, chance = self._candidates[number]
        places = [i for i in self._same[self._text[start:end].casefold()] if self._starts[i] != start]
        sharing = {i for word in self._sets[number] for i in self._words.get(word, ())}
        apart = [i for i in sharing if self._candidates[i][1] <= start or self._starts[i] >= end]
        for group in (places, apart):
            for own in (True, False):
                yield max(
                    (p for *_, name, p in map(self._candidates.__getitem__, group) if (name == category) == own),
                    default=0.0,
                )
        yield float(len({self._starts[i] for i in places}))
        yield self._expected[category] - chance

    def place(self, number: int) -> Iterator[float]:
        """Yield where a candidate stands, and beside which spans."""
        start, end, *_ = self._candidates[number]
        line = bisect_left(self._lines, start) - 1
        first, stop = self._lines[line] + 1, self._lines[bisect_left(self._lines, end)]
        yield float(start - first)
        yield float(stop - end)
        before = bisect_right(self._ends, (start, len(self._text), ""))
        found = self._ends[before - 1] if before else None
        yield float(start - found[0]) if found and found[0] >= first else _FAR
        yield self._number.get(found[2], _NONE) if found and start - found[0] < _AROUND else _NONE
        behind = bisect_left(self._begins, (end, 0, ""))
        after = self._begins[behind] if behind < len(self._begins) else None
        yield float(after[0] - end) if after and after[0] <= stop else _FAR
        yield self._number.get(after[2], _NONE) if after and after[0] - end < _AROUND else _NONE

    def habits(self, number: int) -> Iterator[float]:
        """Yield how spans like this one fared in training."""
        start, end, category, _ = self._candidates[number]
        *kinds, text, own = properties(self._text, start, end, category)
        known, whole = self._habits.get(own), self._habits.get(text)
        right = known.right if known else 0
        yield float(right)
        yield float((whole.right if whole else 0) - right)
        for name in kinds:
            habit = self._habits.get(name)
            yield (habit.right + 0.5) / (habit.seen + 1.0) if habit else 0.5


def _logit(probability: float) -> float:
    p = min(max(probability, 1e-6), 1.0 - 1e-6)
    return round(math.log(p / (1.0 - p)), 6)
