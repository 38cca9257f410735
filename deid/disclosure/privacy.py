"""Verifiers of privacy models, on a published table alone: they trust no method.

Each returns a `Verdict`: whether the model holds, the level that the table reaches, and rows that show it. A person who
has several rows counts once (`Microdata.person`). Missing sensitive values add to no diversity, and a class in which
none is recorded has nothing to disclose. Further models: `deid.disclosure.closeness` (distances between
distributions), `deid.disclosure.consistency` (models that look at a population or at the original records) and
`deid.disclosure.randomization` (perturbed values).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deid.base.errors import ConfigError, InputError
from deid.disclosure.classes import (
    EquivalenceClasses,
    ValueCounts,
    Verdict,
    equivalence_classes,
    group_rows,
    recorded_rows,
    value_counts,
)
from deid.table.microdata import NA_CODE, Microdata, meaning

TOLERANCE = 1e-9
"""Levels are compared to bounds with this relative slack, for the rounding of logarithms and shares."""


def least(levels: np.ndarray, bound: float, classes: EquivalenceClasses) -> Verdict:
    """Return the verdict of a model whose level must reach a bound in every class.

    Parameters
    ----------
    levels : float or int array, shape (classes,)
        Level of each class.
    bound : float
        Least level allowed, up to `TOLERANCE`.
    classes : EquivalenceClasses
        The classes, for the witness.

    Returns
    -------
    Verdict
        Level: the least one; witness: rows of its class.
    """
    worst = int(np.argmin(levels))
    level = float(levels[worst])
    return Verdict(level >= bound * (1 - TOLERANCE), level, classes.rows(worst))


def greatest(levels: np.ndarray, bound: float, classes: EquivalenceClasses) -> Verdict:
    """Return the verdict of a model whose level may exceed a bound in no class; parameters as those of `least`."""
    worst = int(np.argmax(levels))
    level = float(levels[worst])
    return Verdict(level <= bound * (1 + TOLERANCE) + 1e-15, level, classes.rows(worst))


def _check(name: str, value: float, low: float, high: float = np.inf) -> None:
    if not low <= value <= high:
        allowed = f"at least {low:g}" if np.isinf(high) else f"from {low:g} to {high:g}"
        raise ConfigError(f"{name} is {value:g}", f"give a number {allowed}")


def k_anonymity(release: Microdata, k: int) -> Verdict:
    """Verify that every class holds k persons (Samarati 2001; Sweeney 2002).

    Parameters
    ----------
    release
        See `equivalence_classes`.
    k : int
        At least 1.

    Returns
    -------
    Verdict
        Level: persons of the smallest class.

    Raises
    ------
    ConfigError
        When k is below 1, or the table has no quasi-identifier.
    """
    _check("k", k, 1)
    classes = equivalence_classes(release)
    return least(classes.persons, k, classes)


def _filled(counts: ValueCounts, levels: np.ndarray, empty: float) -> np.ndarray:
    """Give classes without a recorded value the best level."""
    return np.where(counts.people > 0, levels, empty)


def distinct_l_diversity(release: Microdata, sensitive: str, l: int) -> Verdict:  # noqa: E741
    """Verify that every class has l distinct sensitive values (Machanavajjhala et al., ICDE 2006, section 4).

    With several rows a person, a class reaches the greatest number of persons that can each be given a value of
    their own: three diagnoses of one person are one person's.

    Parameters
    ----------
    release : Microdata
        The published table.
    sensitive : str
        One of its columns.
    l : int
        At least 1.

    Returns
    -------
    Verdict
        Level: the least number of distinct values of a class; infinite where no class has a recorded one.

    Raises
    ------
    ConfigError
        When l is below 1, or the table lacks the column or a quasi-identifier.
    """
    _check("l", l, 1)
    counts = value_counts(release, sensitive)
    distinct = np.bincount(counts.owners, minlength=len(counts.classes)).astype(float)
    if release.person is not None:
        distinct = _matched(release, sensitive, counts.classes).astype(float)
    return least(_filled(counts, distinct, np.inf), l, counts.classes)


def _matched(release: Microdata, sensitive: str, classes: EquivalenceClasses) -> np.ndarray:
    """Return the size of a maximum matching of persons and values in each class."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    column, who = release.meanings(sensitive), release.codes(release.person or "")
    rows = recorded_rows(release, sensitive, classes)
    if not len(rows):
        return np.zeros(len(classes), dtype=np.int64)
    owner = (classes.ids[rows], len(classes))
    people, n = group_rows([owner, (who.codes[rows], len(who.values))])
    values, m = group_rows([owner, (column.codes[rows], len(column.values))])
    graph = csr_matrix((np.ones(len(rows), dtype=np.int8), (people, values)), shape=(n, m))
    partner = maximum_bipartite_matching(graph, perm_type="row")  # of each value, a person or -1
    owner_of_value = np.zeros(m, dtype=np.int64)
    owner_of_value[values] = owner[0]
    return np.bincount(owner_of_value[partner >= 0], minlength=len(classes))


def entropy_l_diversity(release: Microdata, sensitive: str, l: float) -> Verdict:  # noqa: E741
    """Verify that the entropy of the sensitive values in every class is at least ln l (the same paper, section 4.1).

    Parameters and errors as those of `distinct_l_diversity`; ``l`` need not be a whole number.

    Returns
    -------
    Verdict
        Level: exp of the least entropy, so that a class of l equally frequent values reaches l.
    """
    _check("l", l, 1)
    counts = value_counts(release, sensitive)
    shares = counts.shares
    entropy = np.bincount(counts.owners, weights=-shares * np.log(shares), minlength=len(counts.classes))
    return least(_filled(counts, np.exp(entropy), np.inf), l, counts.classes)


def recursive_l_diversity(
    release: Microdata,
    sensitive: str,
    c: float,
    l: int,  # noqa: E741
) -> Verdict:
    """Verify recursive (c, l)-diversity (the same paper, section 4.1): r_1 < c (r_l + ... + r_m) in every class.

    The r are the counts of the class's values in descending order. A class with fewer than l values fails.

    Parameters
    ----------
    release, sensitive
        See `distinct_l_diversity`.
    c : float
        At least 0.
    l : int
        At least 1.

    Returns
    -------
    Verdict
        Level: the greatest r_1 / (r_l + ... + r_m), which c must exceed; infinite where a class has fewer values.

    Raises
    ------
    ConfigError
        When c or l is too small, or the table lacks the column or a quasi-identifier.
    """
    _check("l", l, 1)
    _check("c", c, 0)
    counts = value_counts(release, sensitive)
    order = np.lexsort((-counts.counts, counts.owners))
    ranked = counts.counts[order]
    rank = np.arange(len(order)) - counts.starts[counts.owners]
    size = len(counts.classes)
    top = np.bincount(counts.owners, weights=np.where(rank == 0, ranked, 0), minlength=size)
    tail = np.bincount(counts.owners, weights=np.where(rank >= l - 1, ranked, 0), minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = _filled(counts, top / tail, 0.0)
    worst = int(np.argmax(ratio))
    return Verdict(bool(ratio[worst] < c), float(ratio[worst]), counts.classes.rows(worst))


def alpha_k_anonymity(
    release: Microdata,
    sensitive: str,
    alpha: float,
    k: int,
    protected: Sequence[str] | None = None,
) -> Verdict:
    """Verify (alpha, k)-anonymity (Wong et al., KDD 2006): k persons a class, no value with more than alpha of them.

    Parameters
    ----------
    release, sensitive
        See `distinct_l_diversity`.
    alpha : float
        Greatest share of a value in a class, 0 to 1; 1 is reached by homogeneous classes.
    k : int
        Persons a class, at least 1.
    protected : sequence of str, optional
        The values to protect; all by default (the general form).

    Returns
    -------
    Verdict
        Level: the greatest share, and the size of the smallest class.

    Raises
    ------
    ConfigError
        When alpha or k is out of range, or the table lacks the column or a quasi-identifier.
    """
    _check("alpha", alpha, 0, 1)
    sizes = k_anonymity(release, k)
    counts = value_counts(release, sensitive)
    entries = np.arange(len(counts.counts))
    if protected is not None:
        kind = release.kind(sensitive)
        named = {meaning(value, kind) for value in protected}
        wanted = [place for place, value in enumerate(counts.values) if meaning(value, kind) in named]
        entries = np.flatnonzero(np.isin(counts.codes, wanted))
    share = np.zeros(len(counts.classes))
    owners = counts.owners[entries]
    np.maximum.at(share, owners, counts.counts[entries] / counts.people[owners])
    found = greatest(share, alpha, counts.classes)
    level = (float(share.max()), float(counts.classes.persons.min()))
    only_k = found.ok and not sizes.ok
    return Verdict(found.ok and sizes.ok, level, sizes.witness if only_k else found.witness)


def beta_likeness(release: Microdata, sensitive: str, beta: float, *, enhanced: bool = False) -> Verdict:
    """Verify beta-likeness (Cao and Karras, PVLDB 5(11), 2012): no value gains more than beta times its share.

    Parameters
    ----------
    release, sensitive
        See `distinct_l_diversity`.
    beta : float
        Greatest relative gain allowed, at least 0.
    enhanced : bool
        The gain of a value with overall share q must not exceed -ln q either (their definition 3).

    Returns
    -------
    Verdict
        Level: the greatest relative gain (p - q) / q of a value over the classes; infinite where the enhanced bound
        of its value is exceeded.

    Raises
    ------
    ConfigError
        When beta is below 0, or the table lacks the column or a quasi-identifier.
    """
    _check("beta", beta, 0)
    counts = value_counts(release, sensitive)
    prior = counts.overall[counts.codes]
    gain = (counts.shares - prior) / prior
    if enhanced:
        gain = np.where(gain > -np.log(prior) * (1 + TOLERANCE), np.inf, gain)
    levels = np.zeros(len(counts.classes))
    np.maximum.at(levels, counts.owners, gain)
    return greatest(levels, beta, counts.classes)


def _numbers(release: Microdata, sensitive: str, counts: ValueCounts) -> np.ndarray:
    """Return the distinct sensitive values as numbers."""
    numbers = np.full(len(counts.values), np.nan)
    for place, value in enumerate(counts.values):
        try:
            numbers[place] = float(value)
        except ValueError:
            row = int(np.argmax(release.codes(sensitive).codes == release.codes(sensitive).values.index(value))) + 1
            raise InputError(
                "not a number", "this model needs a numeric column", f"column {sensitive!r}", f"row {row}"
            ) from None
    return numbers


def _in_windows(
    counts: ValueCounts, numbers: np.ndarray, below: np.ndarray | float, above: np.ndarray | float
) -> np.ndarray:
    """Return, for each entry, how many persons of its class have a value at most so far below and above its own."""
    own = numbers[counts.codes]
    slack = TOLERANCE * np.maximum(np.abs(own), above)
    low, high = own - below - slack, own + above + slack
    order = np.argsort(numbers, kind="stable")  # NaN last
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    size = len(order) + 1
    key = counts.owners * size + rank[counts.codes]
    sorting = np.argsort(key, kind="stable")
    key = key[sorting]
    before = np.concatenate([[0], np.cumsum(counts.counts[sorting])])
    line = numbers[order]
    first = np.searchsorted(key, counts.owners * size + np.searchsorted(line, low, "left"))
    last = np.searchsorted(key, counts.owners * size + np.searchsorted(line, high, "right"))
    return before[last] - before[first]


def epsilon_m_anonymity(
    release: Microdata, sensitive: str, epsilon: float, m: float, *, relative: bool = False
) -> Verdict:
    """Verify (epsilon, m)-anonymity of a numeric column (Li, Tao, Xiao, SIGMOD 2008).

    In every class, for every value x, at most 1/m of the persons have a value within epsilon of x (within epsilon times
    \\|x\\| if ``relative``).

    Parameters
    ----------
    release
        See `distinct_l_diversity`.
    sensitive : str
        Column of numbers.
    epsilon : float
        At least 0, in the column's unit; a share of x if ``relative``.
    m : float
        At least 1.
    relative : bool
        Measure the distance relative to the value.

    Returns
    -------
    Verdict
        Level: the greatest m that holds.

    Raises
    ------
    ConfigError
        When epsilon or m is too small, or the table lacks the column or a quasi-identifier.
    InputError
        When a value is not a number; names its row.
    """
    _check("epsilon", epsilon, 0)
    _check("m", m, 1)
    counts = value_counts(release, sensitive)
    numbers = _numbers(release, sensitive, counts)
    own = numbers[counts.codes]
    reach = np.abs(own) * epsilon if relative else np.full(len(own), epsilon)
    near = _in_windows(counts, numbers, reach, reach)
    levels = np.full(len(counts.classes), np.inf)
    np.minimum.at(levels, counts.owners, counts.people[counts.owners] / near)
    return least(levels, m, counts.classes)


def range_diversity(release: Microdata, sensitive: str, width: float, alpha: float) -> Verdict:
    """Verify that no interval of sensitive values holds more than a share alpha of a class (Loukides and Shao 2011).

    Parameters
    ----------
    release
        See `distinct_l_diversity`.
    sensitive : str
        Column of numbers.
    width : float
        Length of the interval as a share (0 to 1) of the range of the column in the whole table.
    alpha : float
        Greatest share of a class's persons in one interval, 0 to 1.

    Returns
    -------
    Verdict
        Level: the greatest share of a class's persons in one interval.

    Raises
    ------
    ConfigError
        When a share is not from 0 to 1, or the table lacks the column or a quasi-identifier.
    InputError
        When a value is not a number; names its row.

    Notes
    -----
    Their exact measure could not be read; this is the reading of a window that slides over the sorted values.
    """
    _check("width", width, 0, 1)
    _check("alpha", alpha, 0, 1)
    counts = value_counts(release, sensitive)
    numbers = _numbers(release, sensitive, counts)
    own = numbers[counts.codes]
    reach = width * float(np.ptp(own)) if len(own) else 0.0
    within = _in_windows(counts, numbers, 0.0, reach)
    levels = np.zeros(len(counts.classes))
    np.maximum.at(levels, counts.owners, np.minimum(within / counts.people[counts.owners], 1.0))
    return greatest(levels, alpha, counts.classes)


def personalised_privacy(
    release: Microdata,
    sensitive: str,
    guards: Sequence[str | None],
    breach: float,
) -> Verdict:
    """Verify personalised privacy (Xiao and Tao, SIGMOD 2006): nothing guarded is inferred with more than ``breach``.

    Person j names a node g_j of the sensitive column's hierarchy. The chance of a breach is the mean, over the class,
    of the share of the leaves of a published value that lie below g_j. Published values may be general.

    Parameters
    ----------
    release
        See `distinct_l_diversity`.
    sensitive : str
        Column with a hierarchy.
    guards : sequence of str or None
        Guarding node of each row, in the order of the table; None for rows that need no protection.
    breach : float
        Greatest chance allowed, 0 to 1.

    Returns
    -------
    Verdict
        Level: the greatest chance; witness: the row that it belongs to. With several rows a person, the chances of a
        person's values are added up (at most 1).

    Raises
    ------
    ConfigError
        When ``breach`` is not from 0 to 1, the column has no hierarchy, or there is not one guard a row.
    InputError
        When a guard is not in the hierarchy; names its row.
    """
    _check("breach", breach, 0, 1)
    counts = value_counts(release, sensitive)
    nodes, overlap = guarded(release, sensitive, guards, counts.values)
    place = {node: i for i, node in enumerate(nodes)}
    guard_codes = np.array([NA_CODE if guard is None else place[guard] for guard in guards], dtype=np.int64)
    rows = np.flatnonzero((guard_codes != NA_CODE) & (counts.classes.ids >= 0))
    chances = np.zeros(len(release))
    owners = counts.classes.ids[rows]
    for node in range(len(nodes)):
        weights = counts.counts * overlap[counts.codes, node]
        sums = np.bincount(counts.owners, weights=weights, minlength=len(counts.classes))
        mine = guard_codes[rows] == node
        chances[rows[mine]] = sums[owners[mine]] / np.maximum(counts.people[owners[mine]], 1)
    worst = int(np.argmax(chances))
    level = min(float(chances[worst]), 1.0)
    return Verdict(level <= breach * (1 + TOLERANCE), level, (worst,))


def guarded(
    table: Microdata, sensitive: str, guards: Sequence[str | None], values: Sequence[str | None]
) -> tuple[list[str], np.ndarray]:
    """Return the nodes that rows guard, and [values, nodes] the share of the leaves below each value that is theirs.

    Parameters and errors as those of `personalised_privacy`; ``values`` are those of the sensitive column. Of what the
    hierarchy writes in several ways (*flu*, *Flu*) each stands for all, as it does in ``values``.
    """
    hierarchy = table.hierarchies.get(sensitive)
    if hierarchy is None:
        raise ConfigError(f"column {sensitive!r} has no hierarchy", "guards are nodes of it: name one")
    if len(guards) != len(table):
        raise ConfigError(f"{len(guards)} guards for {len(table)} rows", "give one a row, None for no protection")
    nodes = sorted({guard for guard in guards if guard is not None})
    for row, guard in enumerate(guards):
        if guard is not None and guard not in hierarchy:
            raise InputError("a guard is not in the hierarchy", "name a value of it", position=f"row {row + 1}")
    kind = table.kind(sensitive)
    below: dict[str | float, set[str | float]] = {}
    for text in hierarchy:
        below.setdefault(meaning(text, kind), set()).update(meaning(leaf, kind) for leaf in hierarchy.leaves(text))
    guarded_leaves = [below[meaning(node, kind)] for node in nodes]
    leaves = [set() if value is None else below.get(meaning(value, kind), set()) for value in values]
    shares = [[len(own & theirs) / max(len(own), 1) for theirs in guarded_leaves] for own in leaves]
    return nodes, np.array(shares).reshape(len(values), len(nodes))
