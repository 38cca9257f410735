"""K-safety (ERASE): remove as few terms as possible so that a document points at no protected entity.

What the public knows is a set of entities, each with its context: the terms that are known to belong to it (a
disease with its symptoms, a person with the facts of a biography). A set of terms T' is K-safe when for every
protected entity e the terms of T' that lie in e's context lie together in the contexts of at least K other
entities. It is enough to look at all of them at once, because every subset of a K-safe set is K-safe.

`levelwise` grows safe sets term by term (Apriori), `best_first` follows the choices with the greatest bound
on the number of kept terms; both find a largest safe set, of several the one that keeps the alphabetically
first terms. `greedy` removes terms until the rest is safe.

Source: Chakaravarthy, Gupta, Roy and Mohania, "Efficient techniques for document sanitization", CIKM 2008.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from deid.base.errors import ConfigError, require
from deid.document import Document, Span
from deid.reading.dictionaries import Dictionary, fold_phrase
from deid.reading.line_ends import unified
from deid.reading.phrases import PhraseMatcher
from deid.reading.tokenization import tokenize

ERASED = "***"


@dataclass(frozen=True)
class Knowledge:
    """Entities with their contexts, and which of them are protected.

    Parameters
    ----------
    contexts : mapping of str to frozenset of str
        Terms known to belong to each entity.
    protected : frozenset of str
        Entities that a document must not point at.

    Raises
    ------
    ConfigError
        When a protected entity has no context.
    """

    contexts: Mapping[str, frozenset[str]] = field(repr=False)
    protected: frozenset[str] = field(repr=False)
    _holders: dict[str, int] = field(init=False, repr=False, compare=False)
    """Term -> the entities with it in their context, as a bit set in the order of ``contexts``."""

    def __post_init__(self) -> None:
        unknown = len(self.protected - self.contexts.keys())
        require(not unknown, f"{unknown} protected entities have no context", "list the terms of every entity")
        holders: dict[str, int] = {}
        for number, terms in enumerate(self.contexts.values()):
            for term in terms:
                holders[term] = holders.get(term, 0) | 1 << number
        object.__setattr__(self, "_holders", holders)

    @property
    def telling(self) -> frozenset[str]:
        """Terms in the context of a protected entity; all others are always safe."""
        return frozenset().union(*(self.contexts[entity] for entity in self.protected))

    def companions(self, entity: str, terms: Iterable[str]) -> int:
        """Return how many other entities have in their context every one of ``terms`` that ``entity`` has."""
        shared = (1 << len(self.contexts)) - 1
        for term in terms:
            if term in self.contexts[entity]:
                shared &= self._holders[term]
        return shared.bit_count() - 1

    def rarity(self, term: str) -> int:
        """Return the number of entities with ``term`` in their context."""
        return self._holders.get(term, 0).bit_count()


def violations(terms: Iterable[str], knowledge: Knowledge, k: int) -> list[str]:
    """Return the protected entities that a text points at, sorted: fewer than ``k`` others share its terms.

    Parameters
    ----------
    terms : iterable of str
        The terms of the text.
    knowledge : Knowledge
        Entities with their terms.
    k : int
        Other entities that must share the terms of each protected one.
    """
    kept = frozenset(terms)
    return sorted(entity for entity in knowledge.protected if knowledge.companions(entity, kept) < k)


def is_k_safe(terms: Iterable[str], knowledge: Knowledge, k: int) -> bool:
    """Tell whether terms have no `violations`."""
    kept = frozenset(terms)
    return all(knowledge.companions(entity, kept) >= k for entity in knowledge.protected)


def _levelwise(terms: tuple[str, ...], knowledge: Knowledge, k: int, limit: int) -> frozenset[str]:
    """Grow safe sets, level by level; ``terms`` are sorted."""
    level: list[tuple[int, ...]] = [()]
    visited = 0
    while True:
        known = frozenset(level)
        larger = []
        for kept in level:
            for new in range(kept[-1] + 1 if kept else 0, len(terms)):
                candidate = (*kept, new)
                # every subset of a safe set is safe: those without one of the older terms must have been kept
                if all(candidate[:i] + candidate[i + 1 :] in known for i in range(len(kept))):
                    visited += 1
                    if visited > limit:
                        raise _too_many("levelwise", limit)
                    if is_k_safe((terms[i] for i in candidate), knowledge, k):
                        larger.append(candidate)
        if not larger:
            return frozenset(terms[i] for i in level[0])
        level = larger


def _best_first(terms: tuple[str, ...], knowledge: Knowledge, k: int, limit: int) -> frozenset[str]:
    """Decide term by term, always from the state that can still keep most; ``terms`` are sorted."""
    heap: list[tuple[int, tuple[bool, ...]]] = [(0, ())]  # dropped terms; the decisions so far, True for dropped
    visited = 0
    while True:
        dropped, decisions = heapq.heappop(heap)
        kept = frozenset(t for t, drop in zip(terms, decisions, strict=False) if not drop)
        if len(decisions) == len(terms):
            return kept
        visited += 1
        if visited > limit:
            raise _too_many("best-first", limit)
        if is_k_safe(kept | {terms[len(decisions)]}, knowledge, k):
            heapq.heappush(heap, (dropped, (*decisions, False)))
        heapq.heappush(heap, (dropped + 1, (*decisions, True)))


def _greedy(terms: tuple[str, ...], knowledge: Knowledge, k: int, limit: int) -> frozenset[str]:
    """Remove the term that settles most entities, of several the rarest, of these the alphabetically
    first."""
    kept = set(terms)
    while broken := violations(kept, knowledge, k):
        involved = kept & frozenset().union(*(knowledge.contexts[entity] for entity in broken))

        def gain(term: str, broken: list[str] = broken) -> tuple[int, int, str]:
            left = sum(knowledge.companions(entity, kept - {term}) < k for entity in broken)
            return left, knowledge.rarity(term), term

        kept.remove(min(involved, key=gain))
    return frozenset(kept)


def _too_many(method: str, limit: int) -> ConfigError:
    return ConfigError(f"{method} search needs more than {limit} states", "use the method greedy")


METHODS: dict[str, Callable[[tuple[str, ...], Knowledge, int, int], frozenset[str]]] = {
    "levelwise": _levelwise,
    "best-first": _best_first,
    "greedy": _greedy,
}
"""Methods by name."""


def k_safe(
    terms: Iterable[str], knowledge: Knowledge, k: int, method: str = "best-first", limit: int = 200_000
) -> frozenset[str]:
    """Choose the terms of a document that may stay.

    Parameters
    ----------
    terms : iterable of str
        Terms of the document, in the form of ``knowledge.contexts``.
    knowledge : Knowledge
    k : int
        At least so many other entities must share what is left of each protected entity's context.
    method : str
        ``levelwise`` or ``best-first`` (a largest safe set), or ``greedy``.
    limit : int
        States that an exact method may visit.

    Returns
    -------
    frozenset of str
        A K-safe subset of ``terms``; terms in no protected context are always in it.

    Raises
    ------
    ConfigError
        When the method is unknown, ``k`` is smaller than 1, there are not more than ``k`` entities (then even
        an empty document is not safe), or the limit is exceeded.
    """
    require(method in METHODS, f"unknown method {method!r}", "known: " + ", ".join(METHODS))
    require(k >= 1, "k is smaller than 1", "give the number of other entities that must fit as well")
    if knowledge.protected and len(knowledge.contexts) <= k:
        raise ConfigError(
            f"{len(knowledge.contexts)} entities cannot hide one among {k} others", "add entities or lower k"
        )
    given = frozenset(terms)
    telling = given & knowledge.telling
    return (given - telling) | METHODS[method](tuple(sorted(telling)), knowledge, k, limit)


def erase(document: Document, knowledge: Knowledge, k: int) -> list[tuple[Span, str]]:
    """Return what to erase from a document so that the terms that are left in it are K-safe.

    Parameters
    ----------
    document : Document
    knowledge : Knowledge
        Its terms are searched for as phrases, in any case; every occurrence of a term is erased or none.
    k : int
        See `k_safe`.

    Returns
    -------
    list of (Span, str)
        For `deid.document.apply_edits`, in order of position.
    """
    terms: dict[str, set[str]] = {}
    for context in knowledge.contexts.values():
        for term in context:
            terms.setdefault(fold_phrase(term), set()).add(term)
    normal = unified(document.text)
    tokens = tokenize(normal.text)
    matcher = PhraseMatcher([Dictionary(key, (key,)) for key in sorted(terms)], lambda phrase: tokenize(phrase).strings)
    found = matcher.match(tokens.strings)  # a list of its own for each term: terms inside longer terms are found too
    kept = k_safe((term for _, _, key in found for term in terms[key]), knowledge, k)
    places = sorted(
        (int(tokens.starts[first]), int(tokens.ends[last - 1])) for first, last, key in found if not terms[key] <= kept
    )
    erased: list[tuple[Span, str]] = []
    for start, end in places:
        if erased and start < erased[-1][0].end:
            start, end = erased[-1][0].start, max(end, erased.pop()[0].end)
        erased.append((Span(start, end, "OTHER", source="k-safety"), ERASED))
    return [(normal.back(span), new) for span, new in erased]
