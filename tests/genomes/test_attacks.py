"""Attacks on genomic releases, and what a study still shows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from deid.base.errors import InputError
from deid.genomes.membership import (
    allele_frequencies,
    correlation_statistic,
    homer_statistic,
    membership_test,
)
from deid.genomes.phenotypes import allelic_chi_square, diseases_of, fit_onset, link_register


def test_homers_statistic_finds_members() -> None:
    """The property of the specification: 5,000 sites, a mixture of 50, a reference of 200, 30 runs."""
    rng = np.random.default_rng(5)
    inside, outside = [], []
    for _ in range(30):
        p = rng.uniform(0.05, 0.95, 5000)
        mixture, reference = (rng.binomial(2, p, (n, 5000)) for n in (50, 200))
        m, population = allele_frequencies(mixture), allele_frequencies(reference)
        inside.append(homer_statistic(mixture[0] / 2, population, m))
        outside.append(homer_statistic(rng.binomial(2, p) / 2, population, m))
    assert 5 < np.mean(inside) < 7
    assert min(inside) > 3
    assert -2.7 < np.mean(outside) < -1
    calibrated = [membership_test(t, np.array(outside)).decision for t in inside]
    assert set(calibrated) == {"in the mixture"}


def test_homers_statistic_without_variation_is_no_evidence() -> None:
    half = np.full(10, 0.5)
    assert homer_statistic(half, half, half) == 0
    with pytest.raises(InputError, match="numbers of sites"):
        homer_statistic(half, half, half[:3])


def test_correlations_find_members_too() -> None:
    """Persons of the mixture score higher than others where pairs of sites are correlated."""
    rng = np.random.default_rng(3)
    sites = 120

    def haplotypes(count: int) -> np.ndarray:
        blocks = rng.binomial(1, 0.4, (count, sites // 4))
        return np.where(
            rng.random((count, sites)) < 0.2, rng.binomial(1, 0.4, (count, sites)), np.repeat(blocks, 4, axis=1)
        )

    def correlation(rows: np.ndarray) -> np.ndarray:
        return np.corrcoef(rows.T)

    mixture, reference, others = haplotypes(60), haplotypes(200), haplotypes(60)
    r = correlation(mixture), correlation(reference)
    members = [correlation_statistic(mixture[i : i + 2], *r) for i in range(0, 60, 2)]
    strangers = [correlation_statistic(others[i : i + 2], *r) for i in range(0, 60, 2)]
    assert np.mean([a > b for a in members for b in strangers]) > 0.95


def test_two_records_lead_to_two_voters() -> None:
    """The source's example: a man of 78 with Huntington's, a woman of 58 with fragile X."""
    released = pd.DataFrame({"sex": ["M", "F"], "age": [78, 58], "gene": ["HTT", "FMR1"]})
    register = pd.DataFrame(
        {
            "name": ["John Doe", "Mary Ann", "Other"],
            "sex": ["M", "F", "M"],
            "age": [78, 58, 78],
            "code": ["333.4", "759.83", "250.0"],
        }
    )
    assert link_register(released, register, ["sex", "age", "code"]).tolist() == [1, 1]
    assert link_register(released, register, ["sex", "age"]).tolist() == [2, 1]
    assert [d.name for d in diseases_of("htt")] == ["Huntington disease"]


def test_age_at_onset_follows_from_repeats() -> None:
    rng = np.random.default_rng(1)
    repeats = rng.integers(40, 56, 80).astype(float)
    ages = np.exp(6.15 - 0.053 * repeats + rng.normal(0, 0.1, 80))
    model = fit_onset(repeats, ages)
    age = model.predict(45)[0]
    assert abs(age - np.exp(6.15 - 0.053 * 45)) < 1.5
    inside = [low_ <= a <= high_ for x, a in zip(repeats, ages, strict=True) for _, low_, high_ in [model.predict(x)]]
    assert 0.85 < np.mean(inside) <= 1
    with pytest.raises(InputError):
        fit_onset(repeats[:2], ages[:2])


def test_chi_square_equals_scipys() -> None:
    rng = np.random.default_rng(2)
    genotypes = rng.binomial(2, rng.uniform(0.1, 0.9, 12), (80, 12)).astype(float)
    genotypes[rng.random(genotypes.shape) < 0.1] = np.nan
    cases = rng.random(80) < 0.4
    statistic, p = allelic_chi_square(genotypes, cases)
    for site in range(12):
        column = genotypes[:, site]
        table = [
            [np.nansum(column[g]), 2 * np.isfinite(column[g]).sum() - np.nansum(column[g])] for g in (cases, ~cases)
        ]
        expected = chi2_contingency(table, correction=False)
        assert statistic[site] == pytest.approx(expected.statistic)
        assert p[site] == pytest.approx(expected.pvalue)
    assert allelic_chi_square(np.zeros((4, 1)), np.array([1, 0, 1, 0]))[1].tolist() == [1.0]
