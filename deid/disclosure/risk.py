"""Risk of a release: re-identification by three attackers, instance disclosure, uniqueness, membership.

An attacker knows the quasi-identifiers of persons. The *prosecutor* knows that the person is in the table, the
*journalist* does not and looks in the population, the *marketer* links as many as possible (El Emam and Dankar, JAMIA
15(5), 2008). Instance disclosure (Liu et al., WISP 2015) concerns tables of patients who share a disease: whoever is
found to be in the table has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deid.base.errors import require
from deid.disclosure.classes import EquivalenceClasses, equivalence_classes
from deid.disclosure.consistency import match_population
from deid.disclosure.uniqueness import unique_share
from deid.table.microdata import Microdata


@dataclass(frozen=True)
class AttackerRisk:
    """Risk that one kind of attacker poses.

    Parameters
    ----------
    highest : float
        Greatest probability with which a record is linked to its person.
    average : float
        Mean of that probability over the published persons.
    at_risk : float
        Share of the published persons whose probability exceeds the threshold.
    witness : tuple of int
        Rows of a class with the greatest probability.
    """

    highest: float
    average: float
    at_risk: float
    witness: tuple[int, ...]


def _attacker(chances: np.ndarray, classes: EquivalenceClasses, threshold: float) -> AttackerRisk:
    """Summarize the chance of each class, with its persons as weights."""
    weights = classes.persons / classes.persons.sum()
    return AttackerRisk(
        highest=float(chances.max()),
        average=math.fsum(chances * weights),  # the same in any order of classes
        at_risk=min(1.0, math.fsum(weights[chances > threshold * (1 + 1e-9)])),
        witness=classes.rows(int(np.argmax(chances))),
    )


@dataclass(frozen=True)
class SampleRisk:
    """What the published table alone tells.

    Parameters
    ----------
    rows, persons, classes : int
        Published rows, their persons (a person counts once in each class) and classes.
    smallest_class : int
        Persons of the smallest class: the k that is reached.
    prosecutor : AttackerRisk
        Linking a record to a person who is known to be in the table: 1 / (persons of the class).
    marketer : float
        Share of persons that are expected to be linked rightly when all are linked at random: classes / persons.
    sample_unique : float
        Share of persons who are alone in their class.
    population_unique : float or None
        Estimated share of the population's persons who are unique in it; None when its size was not given.
    """

    rows: int
    persons: int
    classes: int
    smallest_class: int
    prosecutor: AttackerRisk
    marketer: float
    sample_unique: float
    population_unique: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def _check_threshold(threshold: float) -> None:
    require(0 < threshold <= 1, f"the threshold of risk is {threshold:g}", "give a probability above 0, such as 0.2")


def sample_risk(
    release: Microdata,
    *,
    threshold: float = 0.2,
    population_size: int | None = None,
    columns: Sequence[str] | None = None,
) -> SampleRisk:
    """Measure the risk that a published table shows by itself.

    Parameters
    ----------
    release : Microdata
        The published table.
    threshold : float
        Probability above which a person counts as at risk, above 0.
    population_size : int, optional
        Persons of the population that the table is a random sample of, to estimate how many are unique in it
        (`deid.disclosure.uniqueness`).
    columns : sequence of str, optional
        What attackers know, where that is not the quasi-identifiers.

    Returns
    -------
    SampleRisk
        Risks as probabilities.

    Raises
    ------
    ConfigError
        When the threshold is not above 0 and at most 1, or the population is smaller than the sample.
    """
    _check_threshold(threshold)
    classes = equivalence_classes(release, columns)
    persons = int(classes.persons.sum())
    return SampleRisk(
        rows=int(classes.sizes.sum()),
        persons=persons,
        classes=len(classes),
        smallest_class=int(classes.persons.min()),
        prosecutor=_attacker(1.0 / classes.persons, classes, threshold),
        marketer=len(classes) / persons,
        sample_unique=float((classes.persons == 1).sum() / persons),
        population_unique=None if population_size is None else unique_share(classes.persons, population_size),
    )


@dataclass(frozen=True)
class MembershipRisk:
    """What a population's member can learn about whether others are in the table.

    Parameters
    ----------
    least, greatest : float
        Bounds of the probability that a member of the population is in the table (delta-presence).
    certain : float
        Share of the population's members who are in the table for certain.
    excluded : float
        Share of the population's members who are certainly not in it.
    """

    least: float
    greatest: float
    certain: float
    excluded: float


@dataclass(frozen=True, eq=False)
class PopulationRisk:
    """What the published table tells to those who have a register of the population.

    Parameters
    ----------
    smallest_match : int
        Least number of persons of the population that match a class: the k of k-map that is reached.
    journalist : AttackerRisk
        Probabilities q_i = 1/N_i of re-identification; their mean is Q, also the marketer's success.
    instance : AttackerRisk
        Probabilities r_i = n_i/N_i of instance disclosure; their mean is R.
    population_unique : float
        Share of published persons who are unique in the population.
    membership : MembershipRisk
        Presence of the population's members.
    q, r : float array, shape (classes,)
        Risks of each class.
    """

    smallest_match: int
    journalist: AttackerRisk
    instance: AttackerRisk
    population_unique: float
    membership: MembershipRisk
    q: np.ndarray
    r: np.ndarray

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values, without the risks of single classes."""
        return {
            "smallest_match": self.smallest_match,
            "journalist": asdict(self.journalist),
            "instance": asdict(self.instance),
            "Q": self.journalist.average,
            "R": self.instance.average,
            "population_unique": self.population_unique,
            "membership": asdict(self.membership),
        }


def population_risk(release: Microdata, population: Microdata, *, threshold: float = 0.2) -> PopulationRisk:
    """Measure the risk of a release against a population table (Liu et al. 2015, section 3).

    With n_i published persons in class i and N_i persons of the population that match it, q_i = 1/N_i, r_i = n_i/N_i,
    Q and R are their means over the published persons.

    Parameters
    ----------
    release : Microdata
        The published table.
    population : Microdata
        One row a person, with the quasi-identifiers ungeneralized; it contains the published persons.
    threshold : float
        Probability above which a person counts as at risk, above 0.

    Returns
    -------
    PopulationRisk
        Risks as probabilities, with q and r of each class.

    Raises
    ------
    ConfigError
        When the threshold is not above 0 and at most 1.
    InputError
        When a class has fewer members in the population than in the release.
    """
    _check_threshold(threshold)
    found = match_population(release, population)
    classes = found.classes
    q, r = 1.0 / found.records, classes.persons / found.records
    return PopulationRisk(
        smallest_match=int(found.records.min()),
        journalist=_attacker(q, classes, threshold),
        instance=_attacker(r, classes, threshold),
        population_unique=float(classes.persons[found.records == 1].sum() / classes.persons.sum()),
        membership=MembershipRisk(
            float(found.presence.min()),
            float(found.presence.max()),
            float((found.presence >= 1 - 1e-12).mean()),
            float((found.presence == 0).mean()),
        ),
        q=q,
        r=r,
    )
