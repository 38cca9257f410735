"""Perturbation operators and what their output gives away."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.disclosure.randomization import (
    amplification,
    amplification_bound,
    delta_growth,
    posteriors,
    rho1_to_rho2,
    uniform_operator,
)


def test_a_code_of_many_rarely_stays_intact() -> None:
    assert pytest.approx(3.33e-4, abs=1e-6) == 5 / 15004
    operator = uniform_operator(1500, 5)
    assert operator[0, 0] == pytest.approx(5 / 1504)
    assert operator[0, 0] - operator[0, 1] == pytest.approx(4 / 1504)  # the retention (gamma - 1) / (m - 1 + gamma)
    assert amplification(operator) == pytest.approx(5)
    assert operator.sum(axis=1) == pytest.approx(np.ones(1500))
    assert uniform_operator(10, 5)[3, 3] == pytest.approx(0.357, abs=5e-4)  # the small domain


def test_bound_of_the_amplification() -> None:
    assert amplification_bound(0.1, 0.5) == pytest.approx(9)
    assert rho1_to_rho2(uniform_operator(10, 9), 0.1, 0.5).ok
    assert not rho1_to_rho2(uniform_operator(10, 9.1), 0.1, 0.5).ok
    assert not rho1_to_rho2(np.eye(3), 0.1, 0.5).ok
    with pytest.raises(ConfigError, match="not in order"):
        amplification_bound(0.5, 0.1)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        amplification_bound(0.1, 1)


def test_posterior_by_bayes() -> None:
    operator = uniform_operator(2, 3)  # stays with 3/4
    prior = np.array([0.1, 0.9])
    assert posteriors(operator, prior)[0] == pytest.approx([0.075 / 0.3, 0.225 / 0.3])
    verdict = rho1_to_rho2(operator, 0.1, 0.2, prior)
    assert (verdict.ok, verdict.witness) == (False, (0,))
    assert verdict.level == pytest.approx(0.25)
    assert rho1_to_rho2(operator, 0.1, 0.25, prior).ok
    assert delta_growth(operator, prior, 0.15).ok  # posterior less prior, not the other way round
    assert delta_growth(operator, prior, 0.14).level == pytest.approx(0.15)
    assert delta_growth(np.full((2, 2), 0.5), prior, 0).ok  # nothing is learnt


PRIORS = st.lists(st.integers(1, 9), min_size=2, max_size=6)


@given(PRIORS, st.floats(1, 20), st.floats(0.05, 0.4))
def test_levels_are_those_of_all_properties(weights: list[int], gamma: float, rho1: float) -> None:
    prior = np.array(weights) / sum(weights)
    operator = uniform_operator(len(prior), gamma)
    after = posteriors(operator, prior)
    subsets = [list(s) for n in range(1, len(prior) + 1) for s in itertools.combinations(range(len(prior)), n)]
    allowed = [s for s in subsets if prior[s].sum() <= rho1 * (1 + 1e-9)]
    worst = max((after[y, s].sum() for y in range(len(prior)) for s in allowed), default=0.0)
    assert rho1_to_rho2(operator, rho1, 0.9, prior).level == pytest.approx(worst)
    growth = max(after[y, s].sum() - prior[s].sum() for y in range(len(prior)) for s in subsets)
    assert delta_growth(operator, prior, 1).level == pytest.approx(growth, abs=1e-12)
    if gamma <= amplification_bound(rho1, 0.9):
        assert rho1_to_rho2(operator, rho1, 0.9, prior).ok  # the sufficient condition


def test_many_values_get_a_sound_bound() -> None:
    prior = np.full(40, 1 / 40)
    operator = uniform_operator(40, 3)
    assert rho1_to_rho2(operator, 1 / 40, 0.2, prior).level == pytest.approx(3 / 42)
    assert rho1_to_rho2(operator, 1.5 / 40, 0.2, prior).level == pytest.approx(3 / 42 + 0.5 / 42)


def test_uniform_operators_are_refused_without_values_and_below_gamma_one() -> None:
    assert uniform_operator(1, 5).tolist() == [[1.0]]
    assert uniform_operator(2, 1).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    for values, gamma in ((0, 5.0), (3, 0.9)):
        with pytest.raises(ConfigError, match="gamma"):
            uniform_operator(values, gamma)


def test_an_output_that_no_value_becomes_amplifies_nothing() -> None:
    operator = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    assert amplification(operator) == pytest.approx(2)
    assert amplification(np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])) == np.inf
    assert amplification(np.zeros((2, 2))) == 1


@pytest.mark.parametrize(("values", "level"), [(15, 1), (16, 1), (17, 1.5)])
def test_up_to_16_values_no_property_holds_a_part_of_a_value(values: int, level: float) -> None:
    prior = np.full(values, 1 / values)
    after = rho1_to_rho2(uniform_operator(values, 3), 1.5 / values, 0.9, prior).level
    assert after == pytest.approx(3 / (values + 2) + (level - 1) / (values + 2))
