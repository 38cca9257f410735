"""Membership: is a person's genome part of a published mixture (the cases of a study, say)?

Homer et al., PLoS Genetics 4(8), 2008: the person's genotype frequencies are nearer to those of a mixture that holds
the person. Wang et al., CCS 2009: published correlations between pairs of SNPs tell far more than frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deid.base.errors import InputError, require
from deid.genomes.genotypes import Genotypes

_DECISIONS = ("undecided", "in the mixture", "in the reference")


@dataclass(frozen=True)
class MembershipTest:
    """Outcome of a test."""

    statistic: float
    threshold: float
    """The statistic from which the person counts as a member."""
    decision: str
    """``in the mixture``, ``in the reference`` or ``undecided``."""


def allele_frequencies(genotypes: np.ndarray) -> np.ndarray:
    """Return the frequency of the alternative allele at each site.

    Parameters
    ----------
    genotypes : int array, shape (persons, sites)
        Number of alternative alleles, 0 to 2.
    """
    return np.asarray(genotypes, dtype=float).mean(axis=0) / 2


def _shapes(*arrays: np.ndarray) -> None:
    if len({a.shape[-1] for a in arrays}) > 1:
        raise InputError("different numbers of sites", "name the same sites in the same order")
    require(arrays[0].shape[-1] >= 2, "fewer than two sites", "a test needs many", kind=InputError)


def homer_statistic(person: np.ndarray, population: np.ndarray, mixture: np.ndarray) -> float:
    """Return T of Homer et al.: positive where the person is nearer to the mixture than to the population.

    Parameters
    ----------
    person : float array, shape (sites,)
        Genotype frequencies: 0, .5 or 1.
    population, mixture : float array, shape (sites,)
        Allele frequencies.

    Raises
    ------
    InputError
        When the numbers of sites differ or are less than two.
    """
    person, population, mixture = (np.asarray(a, dtype=float) for a in (person, population, mixture))
    _shapes(person, population, mixture)
    d = np.abs(person - population) - np.abs(person - mixture)
    spread = d.std(ddof=1)
    if spread == 0:  # the same everywhere: no evidence, or all of it
        return 0.0 if d[0] == 0 else float(np.copysign(np.inf, d[0]))
    return float(d.mean() / (spread / np.sqrt(len(d))))


def correlation_statistic(haplotypes: np.ndarray, mixture: np.ndarray, reference: np.ndarray) -> float:
    """Return T_r of Wang et al.: published correlations of pairs of SNPs against those of a reference.

    Parameters
    ----------
    haplotypes : int array, shape (2, sites)
        The person's two haplotypes, 0 or 1 a site.
    mixture, reference : float array, shape (sites, sites)
        Correlation coefficients r between the sites' alleles.

    Notes
    -----
    The sum over pairs of (r_mixture - r_reference) times (share of 00 and 11 less that of 01 and 10), section 4.3 of
    the paper; with alleles as -1 and 1 the second factor is a product.
    """
    signs = 2.0 * np.asarray(haplotypes, dtype=float) - 1
    difference = np.triu(np.asarray(mixture, dtype=float) - np.asarray(reference, dtype=float), 1)
    _shapes(signs, difference)
    return float(np.einsum("hi,ij,hj->", signs, difference, signs))


def membership_test(statistic: float, non_members: np.ndarray | None = None, *, alpha: float = 0.05) -> MembershipTest:
    """Decide by a statistic whether a person's genome is part of a mixture.

    Parameters
    ----------
    statistic : float
    non_members : float array, optional
        The statistic of persons known not to be in the mixture: the threshold is their ``1 - alpha`` quantile, and a
        statistic below their ``alpha`` quantile says that the person is in the reference. Homer's T is biased downwards
        where the reference is larger than the mixture, so this is better than the normal distribution, which is used
        without them.
    alpha : float
        Share of non-members that are taken for members.

    Returns
    -------
    MembershipTest
        The statistic, the threshold and the decision: in the mixture, in the reference, or undecided.
    """
    from scipy.stats import norm

    if non_members is not None and len(non_members):
        high, low = (float(q) for q in np.quantile(np.asarray(non_members, dtype=float), (1 - alpha, alpha)))
    else:
        high = float(norm.ppf(1 - alpha))
        low = -high
    decision = _DECISIONS[1] if statistic > high else _DECISIONS[2] if statistic < low else _DECISIONS[0]
    return MembershipTest(statistic, high, decision)


def find_members(
    people: Genotypes,
    mixture: Genotypes,
    reference: Genotypes,
    outside: Genotypes | None = None,
    *,
    alpha: float = 0.05,
) -> list[MembershipTest]:
    """Tell which persons are in a mixture, from its allele frequencies alone; unknown calls count as one allele.

    Parameters
    ----------
    people, mixture, reference : Genotypes
        The persons in question, those whose frequencies were published, and a reference population.
    outside : Genotypes, optional
        Persons known not to be in the mixture, who set the threshold.
    alpha : float
        Share of non-members that are taken for members.

    Raises
    ------
    InputError
        When the tables have other sites.
    """
    for other in (mixture, reference, *([outside] if outside else [])):
        if other.sites != people.sites:
            raise InputError("other sites than the persons'", "give all files the same sites in the same order")

    def dosages(table: Genotypes) -> np.ndarray:
        return np.nan_to_num(table.dosage(), nan=1.0)

    m, p = allele_frequencies(dosages(mixture)), allele_frequencies(dosages(reference))

    def statistics(table: Genotypes) -> list[float]:
        return [homer_statistic(row / 2, p, m) for row in dosages(table)]

    known = np.array(statistics(outside)) if outside else None
    return [membership_test(t, known, alpha=alpha) for t in statistics(people)]
