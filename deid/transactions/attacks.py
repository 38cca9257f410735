"""Attacks on released codes: how many records fit what an attacker knows of a person.

*Distinguishability* (Loukides, Denny and Malin, JAMIA 2010): the number of records that hold the known codes. One-step
linkage: the attacker has identified records with codes. Two-step linkage: a register of persons leads by demographics
to discharge records, their codes to the release. Codes that the release has suppressed everywhere are left out of what
is known, which is the stronger attacker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.base.options import column_names, option
from deid.table.table_files import read_table
from deid.transactions.reading import CodeColumns, CodedRecords, parse_published
from deid.transactions.relational import column_cells
from deid.transactions.transactions import Transactions, common

T = TypeVar("T")

_ATTACKS = "The attacks"


@dataclass(frozen=True)
class Attack:
    """The outcome of an attack.

    Parameters
    ----------
    attacker : str
        What the attacker knows.
    targets : int
        Persons attacked; those without codes are none.
    unique : float
        Share of them whom exactly one record fits.
    few : float
        Share whom at most ``most`` records fit, but at least one.
    most : int
        See ``few``.
    median : float
        Median number of records that fit a target.
    """

    attacker: str
    targets: int
    unique: float
    few: float
    most: int
    median: float


@dataclass(frozen=True)
class AttackOptions(CodeColumns):
    """What attackers on codes know, and the tables that they have; places are as `read_table` takes them.

    Raises
    ------
    ConfigError
        When a two-step linkage lacks a table or columns.
    """

    PANEL: ClassVar[str] = _ATTACKS
    released: str | None = option(
        None, "The release of these persons, with the same column of codes.", metavar="R", panel=""
    )
    population: str | None = option(None, "A population, with the same column: who else fits.", metavar="P", panel="")
    m: int = option(2, "Codes that the attacker knows (p of coherence).", panel="")
    draws: int = option(20, "Random parts of each person's codes.")
    most: int = option(5, "Up to so many candidates count as few.")
    seed: int = option(0, "Seed of the random parts.", minimum=0)
    register: str | None = option(None, "Two-step: identified persons, such as voters.", metavar="V")
    discharge: str | None = option(None, "Two-step: discharge records with demographics and codes.", metavar="D")
    qi: tuple[str, ...] = option((), "Two-step: demographic columns of both.", metavar="A,B")

    def __post_init__(self) -> None:
        steps = (self.register, self.discharge, self.qi)
        if any(steps) and not all(steps):
            raise ConfigError("two-step linkage needs --register, --discharge and --qi", "give all three")


def attack_tables(
    table: pd.DataFrame | Iterable[pd.DataFrame], asked: AttackOptions, *, separator: str | None = None
) -> dict[str, list[Attack]]:
    """Attack the codes of persons in their own table, a population and a release.

    Parameters
    ----------
    table : pandas.DataFrame or iterable of such
        The persons, all cells texts; whole, or in batches.
    asked : AttackOptions
    separator : str, optional
        Of CSV files.

    Returns
    -------
    dict of str to list of Attack
        Where the persons were looked for -> outcomes.

    Raises
    ------
    ConfigError
        When the release is one by disassociation.
    """

    def read(place: str) -> pd.DataFrame:
        return read_table(place, separator=separator, text=True)

    data = asked.read(table)
    targets = {"the table": data.transactions}
    if asked.population is not None:
        targets["the population"] = asked.read_plain(read(asked.population)).transactions
    if asked.released is not None:
        release = read(asked.released)
        if {"joint", "cluster", "part"} <= set(release.columns):
            raise ConfigError(
                "a release by disassociation has no records to look for", "its chunks were verified when it was made"
            )
        shown = asked.read_plain(release).transactions.texts()
        targets["the release"] = parse_published(shown, asked.tree(data))
    results = {}
    for name, found in targets.items():
        results[name] = attack_codes(data, found, m=asked.m, draws=asked.draws, most=asked.most, seed=asked.seed)
        if asked.register is not None and asked.discharge is not None:
            records = read(asked.discharge)
            coded, on = asked.read_plain(records), column_names(*asked.qi)
            results[name].append(two_step(read(asked.register), records, coded, found, on, most=asked.most))
    return results


def _fitting(released: Transactions, known: Iterable[str]) -> int:
    """Return the records that may hold what is known, a bit for each; codes that no record may hold are passed over."""
    held = (bits for code in known if (bits := released.holding.get(code)))
    return common(held, released.all_bits)


def candidates(released: Transactions, known: Iterable[str]) -> list[int]:
    """Return the released records that fit what is known of a person.

    Known codes that no published item stands for are passed over.
    """
    bits = _fitting(released, known)
    return [record for record in range(len(released)) if bits >> record & 1]


def distinguishability(released: Transactions, known: Sequence[frozenset[str]]) -> IntArray:
    """Return for each set of known codes the number of records that fit it, shape (sets,)."""
    distinct = {codes: _fitting(released, codes).bit_count() for codes in dict.fromkeys(known)}
    return np.array([distinct[codes] for codes in known], dtype=np.int64)


def _outcome(attacker: str, counts: IntArray, most: int, draws: Sequence[int] | None = None) -> Attack:
    """Average over a person's draws first, so that every person counts once; by default each has one."""
    if not len(counts):
        return Attack(attacker, 0, 0.0, 0.0, most, 0.0)
    size = np.ones(len(counts), dtype=np.int64) if draws is None else np.array(draws)
    fitting = np.stack([counts == 1, (counts > 0) & (counts <= most)]).astype(float)
    unique, few = np.add.reduceat(fitting, np.cumsum(size) - size, axis=1) / size
    return Attack(attacker, len(size), float(unique.mean()), float(few.mean()), most, float(np.median(counts)))


def attack_codes(
    original: CodedRecords,
    released: Transactions,
    *,
    m: int = 2,
    draws: int = 20,
    most: int = 5,
    seed: int = 0,
    targets: int | None = None,
) -> list[Attack]:
    """Attack a release with what is true of the original records.

    Parameters
    ----------
    original : CodedRecords
        The persons; their visits give a further attacker.
    released : Transactions
        What they are looked for in: the original itself, its release, or a population.
    m : int
        Size of random parts of a person's codes; persons with fewer codes are known by all of them.
    draws : int
        Random parts of each person.
    most : int
        Up to so many candidates count as few.
    seed : int
        Seed of the draws.
    targets : int, optional
        So many persons, and visits, are attacked, drawn at random; all by default.

    Returns
    -------
    list of Attack
        By attackers who know all codes of a person, ``m`` of them, and those of one visit, where visits are known.

    Raises
    ------
    ConfigError
        When ``m`` or the number of draws is below 1.
    """
    require(m >= 1 and draws >= 1, "m and the number of draws are at least 1", "for example m = 2")
    texts = original.transactions.texts()
    chosen = _some([row for row in map(texts.__getitem__, original.transactions.order()) if row], targets, seed)
    known: dict[tuple[str, ...], frozenset[str]] = {}  # persons of whom the same is known share it

    def same(codes: tuple[str, ...]) -> frozenset[str]:
        return known[codes] if codes in known else known.setdefault(codes, frozenset(codes))

    full = [same(row) for row in chosen]  # draws do not tell their order
    found = [_outcome("all codes of a person", distinguishability(released, full), most)]
    rng = np.random.default_rng(seed)
    parts: list[frozenset[str]] = []
    for codes in full:
        names = sorted(codes)
        for _ in range(draws if len(names) > m else 1):
            drawn = rng.choice(len(names), min(m, len(names)), replace=False)
            parts.append(same(tuple(names[i] for i in sorted(drawn))))
    times = [draws if len(codes) > m else 1 for codes in full]
    found.append(_outcome(f"{m} random codes of a person", distinguishability(released, parts), most, times))
    if original.visits:
        visits: Sequence[frozenset[str]] = original.visits
        if targets is not None and len(visits) > targets:
            visits = _some(sorted(visits, key=sorted), targets, seed)
        found.append(_outcome("codes of one visit", distinguishability(released, visits), most))
    return found


def _some(known: Sequence[T], targets: int | None, seed: int) -> Sequence[T]:
    """Return what is known of some persons, drawn without replacement; of all where there are no more."""
    if targets is None or len(known) <= targets:
        return known
    chosen = np.random.default_rng([seed, 1]).choice(len(known), targets, replace=False)
    return [known[place] for place in np.sort(chosen).tolist()]


def two_step(
    register: pd.DataFrame,
    discharge: pd.DataFrame,
    discharged: CodedRecords,
    released: Transactions,
    on: Sequence[str],
    *,
    most: int = 5,
) -> Attack:
    """Look persons of a register up in discharge records by demographics, and those in a release by codes.

    Parameters
    ----------
    register : pandas.DataFrame
        Identified persons, such as voters, with the columns ``on``.
    discharge : pandas.DataFrame
        Discharge records with the same columns and codes.
    discharged : CodedRecords
        The codes of ``discharge``.
    released : Transactions
        The release.
    on : sequence of str
        Demographic columns of both.
    most : int
        Up to so many candidates count as few.

    Returns
    -------
    Attack
        Targets are the discharge records with codes that exactly one person of the register fits.
    """
    persons: dict[tuple[str, ...], int] = {}
    for row in column_cells(register, on):
        persons[row] = persons.get(row, 0) + 1
    cells = column_cells(discharge, on)
    texts = discharged.transactions.texts()
    named = [
        frozenset(codes)
        for codes, row in zip(texts, discharged.first.tolist(), strict=True)
        if codes and persons.get(cells[row]) == 1
    ]
    return _outcome("register, then discharge records", distinguishability(released, named), most)
