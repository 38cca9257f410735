from __future__ import annotations

import numpy as np
import pytest

from deid.base.errors import InputError
from deid.transactions.constrained import cba
from deid.transactions.measures import (
    average_relative_error,
    certainty_penalty,
    code_loss,
    estimated_support,
    frequent_itemsets,
    log_item_loss,
    semantic_weight,
    utility_loss,
)
from deid.transactions.reading import parse_published
from deid.transactions.transactions import generalize, transactions_of
from tests.transactions.strategies import tree


def test_set_based_generalization_merges_within_a_record() -> None:
    data = transactions_of([["493.00", "296.01", "296.02"], ["493.00", "493.01"], ["296.01"]])
    assert data.labels == ("296.01", "296.02", "493.00", "493.01")
    sets = [frozenset(data.labels[:2]), frozenset(data.labels[2:])]
    found = generalize(data, np.array([0, 0, 1, 1]), ["G2", "G1"], sets)
    assert found.texts() == [("G2", "G1"), ("G1",), ("G2",)]


def test_utility_loss_favours_the_single_code() -> None:
    assert 2 ** log_item_loss(1, 3, 1, 3) == pytest.approx(0.0476, abs=1e-4)
    assert 2 ** log_item_loss(2, 3, 2, 3) == pytest.approx(0.2857, abs=1e-4)
    data = transactions_of([["493.01"], ["493.02"], ["493.03"]])
    published = parse_published([["(493.01,493.02)"], ["(493.01,493.02)"], []])
    assert utility_loss(data, published) == pytest.approx(3 / 7 * 2 / 3 + 1 / 3)


def test_utility_loss_of_thousands_of_codes_is_a_number() -> None:
    assert log_item_loss(3, 6000, 10, 2762) == pytest.approx(np.log2(7) - 6000 + np.log2(10 / 2762))


def test_the_estimate_of_the_sources() -> None:
    data = transactions_of([["401.1"], ["401.2"], ["401.2"]])
    published = parse_published([["(401.1,401.2)"]] * 3)
    assert estimated_support(published, ["401.1"]) == pytest.approx(2)
    assert average_relative_error(data, published, [["401.1"]]) == pytest.approx(1)
    assert average_relative_error(data, published) == pytest.approx((1 + 0) / 2)


def test_conjunctions_multiply_within_records() -> None:
    published = parse_published([["(a,b)", "(c,d)"], ["(a,b)"], ["c"]])
    assert estimated_support(published, ["a", "c"]) == pytest.approx(4 / 9)


def test_the_identity_loses_nothing() -> None:
    data = transactions_of([["a", "b"], ["b"], []])
    found = code_loss(data, data)
    assert (found.avg_re, found.ncp, found.suppressed, found.case_error, found.codes_intact) == (0, 0, 0, 0, 2)


def test_certainty_penalty_counts_the_share_of_the_codes_and_suppression_as_one() -> None:
    data = transactions_of([["a"], ["b"], ["c", "d"]])
    published = parse_published([["(a,b)"], ["(a,b)"], ["c"]])
    assert certainty_penalty(data, published) == pytest.approx((0.5 + 0.5 + 0 + 1) / 4)


def test_case_counts() -> None:
    data = transactions_of([["a", "b"]] * 3 + [["a"]] + [["c"]] * 6)
    assert frequent_itemsets(data, 0.3) == {("a",): 4, ("b",): 3, ("c",): 6, ("a", "b"): 3}


def test_measures_refuse_another_number_of_records() -> None:
    with pytest.raises(InputError, match="other records"):
        utility_loss(transactions_of([["a"]]), transactions_of([["a"], ["a"]]))


def test_a_hierarchy_weighs_near_codes_less() -> None:
    weight = semantic_weight(tree())
    assert (weight(frozenset("ab")), weight(frozenset("ah")), weight(frozenset("az"))) == (0.5, 1.0, 1.0)
    data = transactions_of([["a"], ["b"], ["b"], ["h"]])
    known = [frozenset("a")]
    assert cba(data, known, [frozenset("abh")], 2).published.texts()[0] == ("(a,h)",)
    near = cba(data, known, [frozenset("abh")], 2, weight=weight)
    assert near.published.texts()[0] == ("(a,b)",)
