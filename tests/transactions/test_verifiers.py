from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.transactions.policies import all_parts
from deid.transactions.reading import parse_published
from deid.transactions.transactions import Transactions, transactions_of
from deid.transactions.verifiers import (
    verify_coherence,
    verify_complete,
    verify_full_sets,
    verify_km,
    verify_privacy_policy,
    verify_rules,
    verify_uncertainty,
    verify_utility_policy,
)
from tests.transactions.strategies import CODES, letters, records, smallest_support


@given(records(), st.integers(1, 3), st.integers(1, 4))
def test_km_agrees_with_counting_every_set(data: Transactions, m: int, k: int) -> None:
    least = smallest_support(data, m)
    found = verify_km(data, k, m)
    assert found.holds == (least is None or least >= k)
    if least is not None:
        assert found.level == least
    if not found.holds:
        assert 0 < data.support([data.place[label] for label in found.witness]) == least < k


def test_complete_and_full_sets_differ_on_a_set_within_others() -> None:
    data = letters("ab", "ab", "a")
    assert not verify_complete(data, 2).holds
    assert verify_full_sets(data, 2).holds
    assert verify_complete(data, 2).witness == ("a",)
    assert not verify_full_sets(letters("ab", "ab", "ac"), 2).holds


def test_a_single_record_without_codes_stands_alone() -> None:
    assert verify_complete(letters("a", "a", ""), 2).witness == ("a record without codes",)


def test_privacy_policy_looks_at_images_of_what_is_left() -> None:
    policy = [frozenset({"296.00", "296.01", "296.02"})]
    before = parse_published([["296.00", "296.01", "296.02"], ["295.00"], ["296.00", "296.02"]])
    after = parse_published([["(296.00,296.01)", "296.02"], ["295.00"], ["(296.00,296.01)", "296.02"]])
    assert not verify_privacy_policy(before, policy, 2).holds
    assert verify_privacy_policy(after, policy, 2).level == 2
    gone = parse_published([["296.00", "296.02"], ["295.00"], ["296.00", "296.02"]])
    assert verify_privacy_policy(gone, policy, 2).holds


def test_parts_of_a_constraint_count_on_request() -> None:
    data = letters("a", "b", "b")
    assert verify_privacy_policy(data, [frozenset("ab")], 2).holds  # never together
    found = verify_privacy_policy(data, all_parts([frozenset("ab")]), 2)
    assert (found.holds, found.witness) == (False, ("a",))


def test_utility_policy() -> None:
    data = letters("abc")
    merged = parse_published([["(a,b)", "c"]])
    assert verify_utility_policy(data, merged, [frozenset("ab")]).holds
    assert not verify_utility_policy(data, merged, [frozenset("ac")]).holds
    assert not verify_utility_policy(data, merged, []).holds
    assert verify_utility_policy(data, merged, [], free=True).holds
    assert not verify_utility_policy(data, parse_published([["a"]]), [], most_suppressed=0.5).holds


def test_coherence_of_the_tutorial() -> None:
    published = parse_published([["401.0", "401.1"], ["401.0", "401.1"], ["(401.2,401.4)", "295"], ["(401.2,401.4)"]])
    assert verify_coherence(published, frozenset({"295"}), max_prob=0.5, k=2, p=2).holds
    assert not verify_coherence(published, frozenset({"295"}), max_prob=0.4, k=2, p=2).holds
    assert not verify_coherence(published, frozenset({"295"}), max_prob=0.5, k=3, p=2).holds


@given(records(), st.sampled_from([0.3, 0.5, 1.0]), st.integers(1, 3), st.integers(1, 3))
def test_coherence_agrees_with_counting(data: Transactions, most: float, k: int, p: int) -> None:
    sensitive = frozenset("gh")
    good = True
    public = [data.place[c] for c in CODES if c not in sensitive]
    for size in range(1, p + 1):
        for items in itertools.combinations(public, size):
            count = data.support(items)
            told = max(data.support((*items, data.place[s])) for s in sensitive)
            good &= not count or (count >= k and told <= most * count + 1e-9)
    assert verify_coherence(data, sensitive, max_prob=most, k=k, p=p).holds == good


def test_rules_of_the_sources() -> None:
    published = parse_published([["401.0"], ["(401.2,401.4)", "295"], ["401.3"], ["(401.2,401.4)"]])
    rule = [(frozenset({"401.2"}), frozenset({"295"}))]
    assert verify_rules(published, rule, 2, 0.5).level == 0.5
    assert not verify_rules(published, rule, 2, 0.4).holds
    six = parse_published(
        [
            ["a", "b", "(c,d)", "g"],
            ["a", "(c,d)", "(e,f)", "h", "i"],
            ["b", "(c,d)", "g", "j"],
            ["(e,f)", "g", "h"],
            ["a", "b", "(c,d)", "(e,f)", "j"],
            ["(c,d)", "(e,f)", "i"],
        ]
    )
    assert verify_rules(six, [(frozenset("cd"), frozenset("hi"))], 5, 0.2).level == pytest.approx(0.2)
    assert not verify_rules(six, [(frozenset("cd"), frozenset("i"))], 5, 0.2).holds


def test_uncertainty_of_the_toy() -> None:
    data = letters("as", "a", "bs", "bc")
    assert verify_uncertainty(data, frozenset("s"), 0.5).holds
    more = letters("as", "a", "bs", "bc", "as")
    assert verify_uncertainty(more, frozenset("s"), 0.5).level == pytest.approx(0.6)
    assert not verify_uncertainty(more, frozenset("s"), 0.5).holds


@given(records(), st.sampled_from([0.3, 0.5, 0.8]))
def test_uncertainty_agrees_with_counting_every_set(data: Transactions, rho: float) -> None:
    hidden = [data.place[s] for s in "gh"]
    good = True
    for size in range(len(CODES)):
        for items in itertools.combinations(range(len(CODES)), size):
            count = data.support(items)
            for s in hidden:
                if count and s not in items:
                    good &= data.support((*items, s)) <= rho * count + 1e-9
    assert verify_uncertainty(data, frozenset("gh"), rho).holds == good


def test_everything_holds_for_one() -> None:
    data = transactions_of([["a", "b"], ["c"], []])
    assert verify_km(data, 1, 3).holds
    assert verify_complete(data, 1).holds
    assert verify_coherence(data, frozenset("c"), max_prob=1, k=1, p=2).holds
    assert verify_uncertainty(data, frozenset("c"), 1).holds
