"""From pairs of rows to persons: pairs are joined by falling weight, and a union that contradicts itself is skipped.

Connected components chain: of three rows of which the first and the second, and the second and the third look alike,
they make one person, be the first and the third a father and his son. Two persons in one are the harmful error (the
notes of one tell of the other, and classes of a release are counted too large or too small), so that a union is skipped
when what is known of its two sides contradicts: see `Facts`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rapidfuzz.distance import OSA, JaroWinkler

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.reading.identity import full_names

SIMILAR = {"given": 0.88, "family": 0.9}
"""Jaro-Winkler similarity from which two names are misspellings of one."""
DECIDED = "decided to be two persons"
_FAR = 8
"""Years between two birth dates that no slip explains."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What rows of one person say that can contradict another's."""

    numbers: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    """Record numbers by authority, which is the column."""
    births: frozenset[str] = field(default=frozenset(), repr=False)
    """Eight digits each."""
    sexes: frozenset[str] = field(default=frozenset(), repr=False)
    givens: frozenset[str] = field(default=frozenset(), repr=False)
    """Given and middle names, keys; single letters for initials."""
    suffixes: frozenset[str] = field(default=frozenset(), repr=False)
    known: frozenset[str] = field(default=frozenset(), repr=False)
    """Ids of persons that were known before."""
    apart: frozenset[int] = frozenset()
    """Numbers of decisions that this is not of one person with what has the opposite number."""

    def joined(self, other: Facts) -> Facts:
        """Return what both say."""
        numbers = dict(self.numbers)
        for authority, own in other.numbers.items():
            numbers[authority] = numbers.get(authority, frozenset()) | own
        return Facts(
            numbers,
            self.births | other.births,
            self.sexes | other.sexes,
            self.givens | other.givens,
            self.suffixes | other.suffixes,
            self.known | other.known,
            self.apart | other.apart,
        )

    def conflict(self, other: Facts) -> str:
        """Return why the two cannot be one person, in words that hold no value; empty when they can."""
        if any(-number in other.apart for number in self.apart):
            return DECIDED
        if self.known and other.known and self.known != other.known:
            return "two known persons"
        shared = False
        for authority in self.numbers.keys() & other.numbers.keys():
            mine, theirs = self.numbers[authority], other.numbers[authority]
            if not _some(mine, theirs, near):
                return "two record numbers of one authority"
            shared = shared or not mine.isdisjoint(theirs)
        far = bool(self.births and other.births) and not _some(self.births, other.births, _near_births)
        apart = bool(self.sexes and other.sexes) and self.sexes.isdisjoint(other.sexes)
        if far and (apart or not shared):
            return "birth dates far apart"
        others = bool(self.givens and other.givens) and not _some(self.givens, other.givens, _near_givens)
        if others and not shared:
            return "two given names"
        if self.suffixes and other.suffixes and self.suffixes.isdisjoint(other.suffixes):
            return "two suffixes, as of father and son"
        return ""


def near(a: str, b: str) -> bool:
    """Tell whether two texts are equal but for one character, one more, or two neighbours exchanged."""
    return bool(OSA.distance(a, b, score_cutoff=1) <= 1)


def similar_names(a: str, b: str) -> bool:
    """Tell whether a word can be a misspelling of a name, as the model's level *similar* does."""
    return near(a, b) or JaroWinkler.similarity(a, b) >= SIMILAR["family"]


def _some(some: Iterable[str], others: Sequence[str] | frozenset[str], fit: object) -> bool:
    return any(fit(a, b) for a in some for b in others)  # type: ignore[operator]


def _near_births(a: str, b: str) -> bool:
    return abs(int(a[:4]) - int(b[:4])) < _FAR or near(a, b)


def _near_givens(a: str, b: str) -> bool:
    """Tell whether two given names can be one: initial, short form, part, or a misspelling."""
    if len(a) == 1 or len(b) == 1:
        return a[0] == b[0]
    if a.startswith(b) or b.startswith(a) or not {a, *full_names(a)}.isdisjoint({b, *full_names(b)}):
        return True
    if len(a) < 4 or len(b) < 4:
        return False
    return near(a, b) or (min(len(a), len(b)) > 5 and JaroWinkler.similarity(a, b) >= SIMILAR["given"])


@dataclass(frozen=True, slots=True)
class Edge:
    """Two rows that may be of one person."""

    weight: float
    """Match weight, log2 of the odds; for an exact rule above all that a model gives."""
    a: int
    b: int
    why: str = ""
    """The exact rule, or ``model``."""


@dataclass(frozen=True)
class Clusters:
    """Rows by person, and the unions that were skipped."""

    person: list[int]
    """Number of each row's person: the smallest row of it."""
    refused: list[tuple[Edge, str]]
    """What was skipped, with the reason."""


def cluster(
    facts: Sequence[Facts],
    edges: pd.DataFrame,
    given: Iterable[Sequence[Hashable]] = (),
    apart: Iterable[tuple[int, int]] = (),
) -> Clusters:
    """Join rows along edges, the heaviest first, but where the two sides contradict.

    Parameters
    ----------
    facts : sequence of Facts
        What each row says.
    edges : pandas.DataFrame
        Those that are to be joined, with the columns of `Edge`; equal weights in the order of their rows.
    given : iterable of sequence
        Columns of persons that are known: rows with the same one are joined, whatever they say; None is nobody.
    apart : iterable of (int, int)
        Rows that are two persons, as somebody decided.

    Raises
    ------
    ConfigError
        When what is given joins rows that were decided to be two persons, or two persons that are known.
    """
    parent = list(range(len(facts)))
    held = list(facts)
    for number, pair in enumerate(apart, 1):
        for row, side in zip(pair, (number, -number), strict=True):
            held[row] = replace(held[row], apart=held[row].apart | {side})
    refused: list[tuple[Edge, str]] = []

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def join(a: int, b: int) -> None:
        a, b = sorted((root(a), root(b)))
        if a != b:
            parent[b] = a
            held[a] = held[a].joined(held[b])

    for column in given:
        first: dict[Hashable, int] = {}
        for row, one in enumerate(column):
            if one is None:
                continue
            start = root(first.setdefault(one, row))
            join(start, row)
            here = held[root(row)]
            if len(here.known) > 1:
                raise ConfigError("two known persons would become one", "correct the decision, or the column person")
            if any(-number in here.apart for number in here.apart):
                raise ConfigError(
                    "the same rows are decided to be one person, directly or by way of others, and to be two",
                    "correct one of the decisions, or the column person",
                )
    ordered = edges.sort_values(["weight", "a", "b"], ascending=[False, True, True], kind="stable")
    for a, b, weight, why in ordered[["a", "b", "weight", "why"]].itertuples(index=False, name=None):
        one, other = sorted((root(a), root(b)))
        if one == other:
            continue
        if reason := held[one].conflict(held[other]):
            refused.append((Edge(weight, a, b, why), reason))
            continue
        join(one, other)
    return Clusters([root(i) for i in range(len(facts))], refused)
