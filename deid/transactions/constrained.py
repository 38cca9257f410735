"""Set-based generalization under privacy and utility policies: UGACLIP, ACLIP, CBA, COAT and PCTA.

Attacker: knows one of the sets of codes of the privacy policy. Afterwards what stands for a set occurs in 0 or in at
least k records. Codes are combined where the utility policy allows it, at the least utility loss (UL), and suppressed
everywhere where nothing else is left. Both only let supports of constraints grow, or turn them on: the loops end, and
begin again as long as a constraint is unprotected.

Sources: UGACLIP and ACLIP: Loukides, Gkoulalas-Divanis and Malin, PNAS 2010. CBA: the same, ITAB 2010. COAT: the same,
Knowledge and Information Systems 2011. PCTA: Gkoulalas-Divanis and Loukides 2012.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deid.base.errors import ConfigError
from deid.transactions.measures import Weight, log2_of_subsets
from deid.transactions.policies import check_utility_policy
from deid.transactions.suppression import require_coded_records, require_records
from deid.transactions.transactions import Transactions, common, generalize, set_label

Policy = Sequence[frozenset[str]]


@dataclass(frozen=True, eq=False)
class Constrained:
    """A release under policies.

    Parameters
    ----------
    published : Transactions
        The records.
    merges : int
        How often two items were combined.
    suppressed : tuple of str
        Codes that are gone.
    """

    published: Transactions
    merges: int
    suppressed: tuple[str, ...]


class _State:
    """The present map of codes to generalized items, with what the methods ask of it."""

    def __init__(
        self,
        data: Transactions,
        privacy: Policy,
        utility: Policy,
        k: int,
        most_suppressed: float = 1.0,
        free: bool = False,
        weight: Weight | None = None,
    ) -> None:
        check_utility_policy(utility)
        require_records(data, k)
        rest = frozenset(data.labels).difference(*utility) if free else frozenset()
        self.data, self.k, self.weight = data, k, weight
        self.most = math.floor(most_suppressed * len(data.labels) + 1e-9)
        # a code without records is no code of the release: it neither protects nor combines
        place = {code: item for code, item in data.place.items() if data.supports[item]}
        self.constraints = [tuple(place[code] for code in sorted(codes) if code in place) for codes in privacy]
        self.image = list(range(len(data.labels)))  # generalized item of each code, -1 suppressed
        self.members: dict[int, list[int]] = {item: [item] for item in self.image}
        self.bits = dict(enumerate(data.bits))
        self.counts = dict(enumerate(data.supports.tolist()))
        self.group_of: dict[int, int] = {}
        self.inside: list[set[int]] = []  # the generalized items of each utility constraint
        for number, codes in enumerate([*utility, rest] if rest else utility):
            held = {place[code] for code in codes if code in place}
            self.inside.append(held)
            self.group_of.update(dict.fromkeys(held, number))
        self.touching: dict[int, set[int]] = {}  # constraints of each generalized item
        for number, items in enumerate(self.constraints):
            for item in items:
                self.touching.setdefault(item, set()).add(number)
        self.merges = 0
        self.open: dict[int, int] = {}  # unprotected constraints with their supports
        self._update(range(len(self.constraints)))

    def published(self, number: int) -> set[int]:
        """Return what stands for the codes of a constraint."""
        return {self.image[item] for item in self.constraints[number]} - {-1}

    def support(self, items: Iterable[int]) -> int:
        return common((self.bits[item] for item in items), self.data.all_bits).bit_count()

    def _update(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            items = self.published(number)
            count = self.support(items)
            if items and 0 < count < self.k:
                self.open[number] = count
            else:
                self.open.pop(number, None)

    def partners(self, item: int) -> set[int]:
        """Return the items that one may be combined with."""
        group = self.group_of.get(self.members[item][0])
        return set() if group is None else self.inside[group] - {item}

    def loss(self, a: int, b: int) -> tuple[float, int, int]:
        """Return what orders pairs by the UL of their union: its logarithm but for what is common to all."""
        held = (self.bits[a] | self.bits[b]).bit_count()
        log = log2_of_subsets(len(self.members[a]) + len(self.members[b])) + math.log2(held or 1)
        if self.weight is not None:
            names = frozenset(self.data.labels[item] for item in self.members[a] + self.members[b])
            log += math.log2(max(self.weight(names), 1e-9))
        return log, min(a, b), max(a, b)

    def merge(self, a: int, b: int) -> None:
        keep, gone = min(a, b), max(a, b)
        for item in self.members[gone]:
            self.image[item] = keep
        self.members[keep] += self.members.pop(gone)
        self.bits[keep] |= self.bits.pop(gone)
        self.counts[keep] = self.bits[keep].bit_count()
        self.inside[self.group_of[gone]].discard(gone)
        touched = self.touching.setdefault(keep, set())
        touched |= self.touching.pop(gone, set())
        self.merges += 1
        self._update(touched)

    def suppress(self, item: int) -> None:
        for member in self.members[item]:
            self.image[member] = -1
        group = self.group_of.get(self.members[item][0])
        if group is not None:
            self.inside[group].discard(item)
        self._update(self.touching.pop(item, set()))

    def rarest_first(self, items: Iterable[int]) -> list[int]:
        return sorted(items, key=lambda item: (self.counts[item], item))

    def suppress_until_protected(self, number: int) -> None:
        """Suppress what stands for a constraint and cannot be combined, rarest first, until it is protected.

        Raises
        ------
        ConfigError
            When more codes would be suppressed than may be; names the constraint by its number.
        """
        for item in self.rarest_first(self.published(number)):
            if number not in self.open:
                return
            if not self.partners(item):
                self.suppress(item)
                self._check_share(number)

    def _check_share(self, number: int) -> None:
        gone = sum(image < 0 for image in self.image)
        if gone > self.most:
            size = len(self.constraints[number])
            raise ConfigError(
                f"privacy constraint {number + 1} of {len(self.constraints)} ({size} codes) cannot be met: more than "
                f"{self.most} codes would be suppressed",
                "allow more suppression, widen the utility constraints, or ask for a smaller k",
            )

    def result(self) -> Constrained:
        used = sorted({image for image in self.image if image >= 0})
        place = {item: i for i, item in enumerate(used)}
        members = [frozenset(self.data.labels[i] for i in self.members[item]) for item in used]
        image = np.array([place.get(item, -1) for item in self.image], dtype=np.int64)
        gone = tuple(self.data.labels[i] for i, item in enumerate(self.image) if item < 0)
        return Constrained(generalize(self.data, image, [set_label(m) for m in members], members), self.merges, gone)


def ugaclip(data: Transactions, privacy: Policy, utility: Policy, k: int, **limits: Any) -> Constrained:
    """Protect the constraint that most records support first; combine its rarest item with the partner of least UL.

    Parameters
    ----------
    data : Transactions
        The records.
    privacy : sequence of frozenset of str
        Privacy constraints; codes that no record has are left out.
    utility : sequence of frozenset of str
        Disjoint utility constraints.
    k : int
        Records that must support a constraint.
    limits
        ``most_suppressed``: greatest share of the codes that may be suppressed, 1 by default. ``free``: codes in no
        utility constraint may be combined with each other; else they can only be suppressed. ``weight``: semantic
        distance of a set of codes, from 0 to 1; 1 by default.

    Returns
    -------
    Constrained
        The published records, with what was combined and suppressed.

    Raises
    ------
    ConfigError
        When the bound on suppression does not allow it; names the constraint by its number.
    """
    state = _State(data, privacy, utility, k, **limits)
    while state.open:
        number = max(state.open, key=lambda n: (state.open[n], -n))
        while number in state.open:
            item = state.rarest_first(state.published(number))[0]
            partners = state.partners(item)
            if partners:
                state.merge(item, min(partners, key=lambda other: state.loss(item, other)))
            else:
                state.suppress_until_protected(number)
    return state.result()


def aclip(data: Transactions, privacy: Policy, k: int, **limits: Any) -> Constrained:
    """Return what `ugaclip` does without a utility policy, so that any codes may be combined; arguments as its."""
    return ugaclip(data, privacy, [frozenset(data.labels)], k, **limits)


def _by_pairs(state: _State, at_once: int | None) -> Constrained:
    """Protect constraints by falling support, so many before they are ordered again; all without a number.

    The pair of least UL of a constraint's items is combined until it is protected; where no pair is left, items are
    suppressed.
    """
    while state.open:  # combining can turn on constraints that no record supported
        for number in sorted(state.open, key=lambda n: (-state.open[n], n))[:at_once]:
            while number in state.open:
                pairs = (state.loss(item, other) for item in state.published(number) for other in state.partners(item))
                best = min(pairs, default=None)
                if best is None:
                    state.suppress_until_protected(number)
                else:
                    state.merge(*best[1:])
    return state.result()


def cba(data: Transactions, privacy: Policy, utility: Policy, k: int, **limits: Any) -> Constrained:
    """Clustering-based anonymizer: constraints by falling support, each by the pair of least UL of all its items.

    Parameters, returned value and errors are those of `ugaclip`.
    """
    return _by_pairs(_State(data, privacy, utility, k, **limits), None)


def coat(data: Transactions, privacy: Policy, utility: Policy, k: int, **limits: Any) -> Constrained:
    """Constraint-based anonymization: as UGACLIP, by the pair of least UL of all items of a constraint.

    Parameters, returned value and errors are those of `ugaclip`.
    """
    return _by_pairs(_State(data, privacy, utility, k, **limits), 1)


def pcta(data: Transactions, privacy: Policy, k: int, **limits: Any) -> Constrained:
    """Combine the pair of least UL, without a utility policy and without suppression, until constraints are met.

    Parameters and returned value are those of `ugaclip`.

    Raises
    ------
    InputError
        When fewer than k records hold codes at all.
    """
    require_coded_records(data, k)
    return cba(data, privacy, [frozenset(data.labels)], k, **limits)
