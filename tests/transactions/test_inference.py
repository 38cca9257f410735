"""Methods against inference: coherence, PS-rules, rho-uncertainty."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.transactions.coherence import coherence, minimal_moles, without
from deid.transactions.rules import rbat
from deid.transactions.transactions import Transactions, from_rows, transactions_of
from deid.transactions.tree import code_tree
from deid.transactions.uncertainty import suppress_control, top_down_control
from deid.transactions.verifiers import verify_coherence, verify_rules, verify_uncertainty
from tests.transactions.strategies import CODES, letters, records, tree

SECRET = frozenset("gh")


def test_coherence_by_suppression_of_the_tutorial() -> None:
    data = transactions_of([["401.0", "401.1"], ["401.0", "401.1"], ["401.2", "401.3", "295"], ["401.4", "401.3"]])
    found, gone = coherence(data, frozenset({"295"}), max_prob=0.5, k=2, p=2)
    assert gone == ("401.2", "401.4")
    assert verify_coherence(found, frozenset({"295"}), max_prob=0.5, k=2, p=2).holds
    assert found.texts() == [("401.0", "401.1"), ("401.0", "401.1"), ("295", "401.3"), ("401.3",)]


@settings(max_examples=80)
@given(records(least=2), st.sampled_from([0.3, 0.5, 1.0]), st.integers(1, 3), st.integers(1, 3))
def test_coherence_holds_and_removes_public_codes_only(data: Transactions, most: float, k: int, p: int) -> None:
    if len(data) < k:
        with pytest.raises(InputError, match="fewer than k"):
            coherence(data, SECRET, max_prob=most, k=k, p=p)
        return
    found, gone = coherence(data, SECRET, max_prob=most, k=k, p=p)
    assert verify_coherence(found, SECRET, max_prob=most, k=k, p=p).holds
    assert not SECRET & set(gone)
    # never better than the best choice of codes to suppress
    public = [data.place[c] for c in CODES if c not in SECRET]
    costs = [
        sum(int(data.supports[i]) for i in chosen)
        for size in range(len(public) + 1)
        for chosen in itertools.combinations(public, size)
        if verify_coherence(without(data, chosen), SECRET, max_prob=most, k=k, p=p).holds
    ]
    assert sum(int(data.supports[data.place[c]]) for c in gone) >= min(costs)


@settings(max_examples=80)
@given(records(least=1), st.sampled_from([0.3, 0.5, 1.0]), st.integers(1, 3), st.integers(1, 3))
def test_coherence_is_verified_set_by_set(data: Transactions, most: float, k: int, p: int) -> None:
    public = [item for item, code in enumerate(data.labels) if code not in SECRET]
    hidden = [item for item, code in enumerate(data.labels) if code in SECRET]
    holds, level = True, 0.0
    for size in range(1, p + 1):
        for items in itertools.combinations(public, size):
            if count := data.support(items):
                told = max((data.support((*items, item)) / count for item in hidden), default=0.0)
                holds &= count >= k and told <= most
                level = max(level, told)
    verdict = verify_coherence(data, SECRET, max_prob=most, k=k, p=p)
    assert verdict.holds == holds
    if holds:
        assert verdict.level == pytest.approx(level)


@given(records(), st.integers(1, 3))
def test_minimal_moles_are_those_of_the_definition(data: Transactions, p: int) -> None:
    def is_mole(items: tuple[int, ...]) -> bool:
        count = data.support(items)
        told = max(data.support((*items, data.place[s])) for s in SECRET)
        return bool(count) and (count < 2 or told > 0.5 * count)

    public = [data.place[c] for c in CODES if c not in SECRET]
    moles = [i for size in range(1, p + 1) for i in itertools.combinations(public, size) if is_mole(i)]
    minimal = {i for i in moles if not any(set(j) < set(i) for j in moles)}
    assert set(minimal_moles(data, SECRET, max_prob=0.5, k=2, p=p)) == minimal


def test_rbat_protects_the_rules_of_the_sources() -> None:
    data = transactions_of([["401.0"], ["401.2", "295"], ["401.3"], ["401.4"]])
    rule = [(frozenset({"401.2"}), frozenset({"295"}))]
    found = rbat(data, rule, 2, 0.5)
    assert verify_rules(found, rule, 2, 0.5).holds
    assert len(found.labels) > 2  # it did split
    assert "295" in found.labels


def test_rbat_names_the_rule_that_cannot_be_met() -> None:
    data = letters("as", "bs", "b")
    with pytest.raises(ConfigError, match="rule 2 of 2 cannot be met"):
        rbat(data, [(frozenset("b"), frozenset()), (frozenset("a"), frozenset("s"))], 2, 0.5)
    with pytest.raises(ConfigError, match="rule 1 has a public code that is sensitive"):
        rbat(data, [(frozenset("s"), frozenset()), (frozenset("a"), frozenset("s"))], 2, 0.5)


some_rules = st.lists(
    st.tuples(st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=3), st.frozensets(st.sampled_from("gh"))),
    max_size=4,
)


@settings(max_examples=80)
@given(records(least=3), some_rules, st.sampled_from([0.3, 0.6]))
def test_rbat_holds_keeps_sensitive_codes_and_stops_where_no_split_is_left(
    data: Transactions, rules: list[tuple[frozenset[str], frozenset[str]]], c: float
) -> None:
    # feasible is what holds when all public codes are one item
    hidden = frozenset().union(*(right for _, right in rules))
    rows = [{code if code in hidden else "all" for code in record} for record in data.texts()]
    public = frozenset("abcdefgh") - hidden
    everything = replace(
        from_rows(["all", *sorted(hidden)], rows), members=(public, *(frozenset(code) for code in sorted(hidden)))
    )
    if not verify_rules(everything, rules, 2, c).holds:
        return
    found = rbat(data, rules, 2, c)
    assert verify_rules(found, rules, 2, c).holds
    for members in found.members:
        assert len(members) == 1 or not members & hidden
    if not rules:
        assert all(len(members) == 1 for members in found.members)


def test_uncertainty_of_the_toy() -> None:
    data = letters("as", "a", "bs", "bc")
    assert suppress_control(data, frozenset("s"), 0.5).suppressed == ()
    found = suppress_control(letters("as", "a", "bs", "bc", "as"), frozenset("s"), 0.5)
    assert found.suppressed == ("s",)


@settings(max_examples=60)
@given(records(least=2, most=8), st.sampled_from([0.2, 0.5, 0.8]))
def test_both_controls_hold_and_generalization_never_loses_more(data: Transactions, rho: float) -> None:
    plain = suppress_control(data, SECRET, rho)
    assert verify_uncertainty(plain.published, SECRET, rho).holds
    general = top_down_control(data, code_tree(data, tree()), SECRET, rho)
    assert verify_uncertainty(general.published, SECRET, rho).holds
    for original, shown in zip(data.texts(), general.published, strict=True):
        for item in shown:
            assert general.published.members[item] & set(original)


def test_a_bounded_attacker_costs_less() -> None:
    data = letters("abg", "ag", "bg", "a", "b", "a", "b", "c", "c", "c")
    bounded = suppress_control(data, SECRET, 0.5, size=1)
    assert verify_uncertainty(bounded.published, SECRET, 0.5, size=1).holds
    assert bounded.loss < suppress_control(data, SECRET, 0.5).loss


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        suppress_control(letters("a"), SECRET, 1.5)
    with pytest.raises(ConfigError, match="max_prob"):
        coherence(letters("a"), SECRET, max_prob=2, k=1, p=1)
