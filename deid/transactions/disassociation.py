"""Disassociation (Terrovitis, Liagouris, Mamoulis and Skiadopoulos, PVLDB 2012): codes stay, their co-occurrence goes.

Attacker: knows up to m codes of a person. Records are put into clusters of similar ones; within a cluster the codes are
put into chunks. Every chunk is published as an unordered bag of parts of records that is k^m-anonymous by itself, rare
codes as a bare set (the term chunk). What an attacker knows fits at least k records that the chunks can be put together
to.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deid.base.errors import ConfigError
from deid.transactions.suppression import require_records
from deid.transactions.transactions import Transactions
from deid.transactions.verifiers import TransactionVerdict

Bag = tuple[tuple[str, ...], ...]
"""Parts of records, sorted: their order tells nothing. Empty parts are left out."""


@dataclass(frozen=True)
class Cluster:
    """A published cluster.

    Parameters
    ----------
    size : int
        Number of its records.
    chunks : tuple of Bag
        Record chunks.
    terms : tuple of str
        Term chunk: codes of the cluster without their records.
    """

    size: int
    chunks: tuple[Bag, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Joint:
    """Clusters that are published with chunks in common.

    Parameters
    ----------
    clusters : tuple of Cluster
        At least one; their codes are disjoint from those of the shared chunks.
    shared : tuple of Bag
        Chunks over the records of all the clusters.
    """

    clusters: tuple[Cluster, ...]
    shared: tuple[Bag, ...] = ()


@dataclass(frozen=True)
class Disassociated:
    """A release by disassociation.

    Parameters
    ----------
    joints : tuple of Joint
        All clusters, alone or joint.
    records : tuple of tuples of int
        Records of each cluster, in the order of the clusters; for the custodian, not published.
    """

    joints: tuple[Joint, ...]
    records: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """All clusters."""
        return tuple(cluster for joint in self.joints for cluster in joint.clusters)

    def counts(self) -> Counter[str]:
        """Return how many records hold each code at least, as a reader can tell: once a cluster for its terms."""
        found: Counter[str] = Counter()
        for joint in self.joints:
            bags = [*joint.shared, *(chunk for cluster in joint.clusters for chunk in cluster.chunks)]
            found.update(code for bag in bags for part in bag for code in part)
            found.update(code for cluster in joint.clusters for code in cluster.terms)
        return found

    def as_rows(self) -> list[tuple[str, str, str, str]]:
        """Return what is published as rows: joint cluster, cluster, chunk, codes; a row a part of a record."""
        rows: list[tuple[str, str, str, str]] = []
        for j, joint in enumerate(self.joints, 1):
            for c, cluster in enumerate(joint.clusters, 1):
                rows.append((str(j), str(c), "size", str(cluster.size)))
                for number, chunk in enumerate(cluster.chunks, 1):
                    rows += [(str(j), str(c), f"chunk {number}", "; ".join(part)) for part in chunk]
                rows += [(str(j), str(c), "terms", "; ".join(cluster.terms))] if cluster.terms else []
            for number, chunk in enumerate(joint.shared, 1):
                rows += [(str(j), "all", f"shared {number}", "; ".join(part)) for part in chunk]
        return rows


def disassociate(data: Transactions, k: int, m: int, *, largest: int | None = None) -> Disassociated:
    """Publish records in clusters of chunks: HORPART, VERPART, REFINE.

    Parameters
    ----------
    data : Transactions
        The records.
    k, m : int
        Every set of up to m codes fits at least k records.
    largest : int, optional
        Clusters of so many records or more are split; ``4 * k`` by default.

    Returns
    -------
    Disassociated
        Clusters of chunks, with the records of each.

    Raises
    ------
    ConfigError
        When ``largest`` is below 2 k, or m below 1.
    InputError
        When there are fewer than k records.

    Notes
    -----
    A split that would leave fewer than k records on one side is not made. REFINE joins a cluster with the next one when
    codes of both term chunks are frequent enough together for a shared chunk.
    """
    require_records(data, k)
    largest = 4 * k if largest is None else largest
    if largest < 2 * k or m < 1:
        raise ConfigError(f"clusters of {largest} records are too small for k = {k}", "choose at least 2 k")
    groups = _horizontal(data, k, largest)
    clusters = [_vertical(data, records, k, m) for records in groups]
    joints = _refine(data, groups, clusters, k, m)
    return Disassociated(tuple(joints), tuple(map(tuple, groups)))


def _horizontal(data: Transactions, k: int, largest: int) -> list[list[int]]:
    """Split by the most frequent code until clusters are small (HORPART)."""
    done: list[list[int]] = []
    stack: list[tuple[list[int], frozenset[int]]] = [(list(range(len(data))), frozenset())]
    while stack:
        records, ignore = stack.pop()
        counts = Counter(item for record in records for item in data.sets[record] - ignore)
        if len(records) < largest or not counts:
            done.append(records)
            continue
        item = min(counts, key=lambda i: (-counts[i], i))
        having = [record for record in records if item in data.sets[record]]
        others = [record for record in records if item not in data.sets[record]]
        if len(having) < k:
            done.append(records)  # all other codes are rarer still
        elif 0 < len(others) < k:
            stack.append((records, ignore | {item}))
        else:
            if others:
                stack.append((others, ignore))
            stack.append((having, ignore | {item}))
    return done


def _is_km(parts: Iterable[Iterable[str]], k: int, m: int) -> bool:
    """Tell whether parts of records are k^m-anonymous."""
    counts: Counter[tuple[str, ...]] = Counter()
    for part in parts:
        codes = sorted(part)
        for size in range(1, min(m, len(codes)) + 1):
            counts.update(itertools.combinations(codes, size))
    return all(count >= k for count in counts.values())


def _bag(rows: Iterable[frozenset[str]], codes: frozenset[str]) -> Bag:
    return tuple(sorted(tuple(sorted(row & codes)) for row in rows if row & codes))


def _names(data: Transactions, records: Sequence[int]) -> list[frozenset[str]]:
    return [frozenset(data.labels[item] for item in data.sets[record]) for record in records]


def _chunks(rows: list[frozenset[str]], codes: Sequence[str], k: int, m: int) -> list[frozenset[str]]:
    """Put codes into chunks, the most frequent ones first, as long as each stays k^m-anonymous."""
    left = list(codes)
    found = []
    while left:
        chunk: list[str] = []
        for code in left:
            tried = frozenset((*chunk, code))
            if _is_km((row & tried for row in rows if code in row), k, m):
                chunk.append(code)
        if not chunk:
            break
        found.append(frozenset(chunk))
        left = [code for code in left if code not in chunk]
    return found


def _enough_parts(size: int, chunks: Sequence[Bag], terms: Sequence[str], k: int, m: int) -> bool:
    """Tell whether a cluster without a term chunk has parts enough to be put together in k ways."""
    return bool(terms) or not chunks or sum(map(len, chunks)) >= size + k * (min(m, len(chunks)) - 1)


def _vertical(data: Transactions, records: Sequence[int], k: int, m: int) -> Cluster:
    """Put the codes of a cluster into record chunks and a term chunk (VERPART)."""
    rows = _names(data, records)
    counts = Counter(code for row in rows for code in row)
    order = sorted((code for code in counts if counts[code] >= k), key=lambda code: (-counts[code], code))
    terms = sorted(code for code in counts if counts[code] < k)
    while True:
        chunks = [_bag(rows, chunk) for chunk in _chunks(rows, order, k, m)]
        if _enough_parts(len(rows), chunks, terms, k, m):
            return Cluster(len(rows), tuple(chunks), tuple(terms))
        terms = [order.pop()]  # the least frequent code: with a term chunk the condition is void


def _refine(
    data: Transactions, groups: Sequence[Sequence[int]], clusters: Sequence[Cluster], k: int, m: int
) -> list[Joint]:
    """Join neighbouring clusters whose term chunks have frequent codes in common (REFINE)."""
    joints: list[Joint] = []
    place = 0
    while place < len(clusters):
        pair = _join(data, groups[place : place + 2], clusters[place : place + 2], k, m)
        joints.append(pair or Joint((clusters[place],)))
        place += 2 if pair else 1
    return joints


def _join(
    data: Transactions, groups: Sequence[Sequence[int]], clusters: Sequence[Cluster], k: int, m: int
) -> Joint | None:
    if len(clusters) < 2:
        return None
    rows = [row for records in groups for row in _names(data, records)]
    common = frozenset(clusters[0].terms) & frozenset(clusters[1].terms)
    counts = Counter(code for row in rows for code in row & common)
    frequent = sorted((code for code in counts if counts[code] >= k), key=lambda code: (-counts[code], code))
    while frequent:
        chunks = _chunks(rows, frequent, k, m)
        moved = frozenset[str]().union(*chunks)
        smaller = [Cluster(c.size, c.chunks, tuple(term for term in c.terms if term not in moved)) for c in clusters]
        if not moved:
            return None
        if all(_enough_parts(c.size, c.chunks, c.terms, k, m) for c in smaller):
            return Joint(tuple(smaller), tuple(_bag(rows, chunk) for chunk in chunks))
        frequent.pop()
    return None


def verify_disassociated(release: Disassociated, k: int, m: int) -> TransactionVerdict:
    """Judge a release by what is published: chunks are k^m-anonymous and disjoint, and parts suffice.

    A cluster without a term chunk needs at least as many parts as records, and k (h - 1) more, for h the smaller of m
    and the number of its chunks; otherwise the parts of a record could be told to belong together.

    Returns
    -------
    TransactionVerdict
        Level: the least number of parts that hold a set of up to m codes of a chunk (infinite without chunks); 0 where
        chunks share a code, the number of parts where a cluster has too few.
    """
    least, witness = float("inf"), tuple[str, ...]()
    for joint in release.joints:
        bags = [*joint.shared, *(chunk for cluster in joint.clusters for chunk in cluster.chunks)]
        for bag in bags:
            counts = Counter(
                codes
                for part in bag
                for size in range(1, min(m, len(part)) + 1)
                for codes in itertools.combinations(part, size)
            )
            for codes, count in counts.items():
                if count < least:
                    least, witness = float(count), codes
        for cluster in joint.clusters:
            seen: set[str] = set(cluster.terms)
            for held in [{c for part in bag for c in part} for bag in (*cluster.chunks, *joint.shared)]:
                if seen & held:
                    return TransactionVerdict(False, 0.0, tuple(sorted(seen & held)))
                seen |= held
            parts = sum(map(len, cluster.chunks))
            needed = cluster.size + k * (min(m, len(cluster.chunks)) - 1)
            if not cluster.terms and cluster.chunks and parts < needed:
                return TransactionVerdict(False, float(parts), ("a cluster with too few parts",))
    return TransactionVerdict(least >= k, least, witness if least < k else ())
