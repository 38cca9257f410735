from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.table.hierarchy import hierarchy_from_rows
from deid.transactions import km
from deid.transactions.km import apriori_cut, local_recoding, vertical_cut
from deid.transactions.measures import certainty_penalty
from deid.transactions.partition import partition_records, publish_groups
from deid.transactions.transactions import Transactions, transactions_of
from deid.transactions.tree import CodeTree, code_tree
from deid.transactions.verifiers import verify_km
from tests.transactions.strategies import letters, records, smallest_support, tree

TEN = letters("abcdefgh", "acefg", "cdefh", "acef", "efgh", "defg", "abde", "acf", "ac", "bh")


def test_ten_transactions_five_cubed() -> None:
    assert TEN.supports.tolist() == [6, 3, 6, 4, 7, 7, 4, 4]
    nodes = code_tree(TEN, tree())
    published = nodes.publish(TEN, apriori_cut(TEN, nodes, 5, 3))
    assert ["".join(row) for row in published.texts()] == ["AB", "AB", "AB", "AB", "B", "B", "AB", "AB", "A", "AB"]
    assert (published.supports.tolist(), published.support([0, 1])) == ([8, 9], 7)


def test_four_records_of_hypertension_go_up_to_401() -> None:
    data = transactions_of([["401.0", "401.1"]] * 2 + [["401.2", "401.3"], ["401.4", "401.3"]])
    hierarchy = hierarchy_from_rows(([code, "401", "*"] for code in data.labels), "icd")
    nodes = code_tree(data, hierarchy)
    assert nodes.publish(data, apriori_cut(data, nodes, 4, 2)).texts() == [("401",)] * 4
    assert nodes.publish(data, vertical_cut(data, nodes, 4, 2)).texts() == [("401",)] * 4
    assert local_recoding(data, nodes, 4, 2).texts() == [("401",)] * 4
    assert publish_groups(data, nodes, partition_records(data, nodes, 4)).texts() == [("401",)] * 4
    wider = transactions_of([*data.texts(), *[["250"]] * 4])
    nodes = code_tree(wider, hierarchy_from_rows([*([c, "401", "*"] for c in data.labels), ["250", "*"]], "icd"))
    assert nodes.publish(wider, apriori_cut(wider, nodes, 4, 2)).texts() == [("401",)] * 4 + [("250",)] * 4


def cuts(nodes: CodeTree, node: int) -> list[dict[int, int]]:
    """All full-subtree cuts below a node."""
    whole = dict.fromkeys(nodes.leaves[node], node)
    below = nodes.children()[node]
    if not below:
        return [whole]
    return [whole, *(_joined(parts) for parts in itertools.product(*(cuts(nodes, child) for child in below)))]


def _joined(parts: tuple[dict[int, int], ...]) -> dict[int, int]:
    return {item: node for part in parts for item, node in part.items()}


@settings(max_examples=60)
@given(records(most=6), st.integers(2, 3), st.integers(1, 3))
def test_never_better_than_the_best_cut_and_always_feasible(data: Transactions, k: int, m: int) -> None:
    nodes = code_tree(data, tree())
    held = sum(map(bool, data.sets))
    if len(data) < k or 0 < held < k:
        with pytest.raises(InputError, match="fewer than k"):
            apriori_cut(data, nodes, k, m)
        return
    published = nodes.publish(data, apriori_cut(data, nodes, k, m))
    assert verify_km(published, k, m).holds
    losses = []
    for cut in cuts(nodes, nodes.root):
        import numpy as np

        other = nodes.publish(data, np.array([cut[item] for item in range(len(data.labels))]))
        least = smallest_support(other, m)
        if least is None or least >= k:
            losses.append(certainty_penalty(data, other))
    assert certainty_penalty(data, published) >= min(losses) - 1e-9


@settings(max_examples=60)
@given(records(least=6, most=20), st.integers(2, 4), st.integers(1, 3))
def test_the_variants_hold_too_and_stay_true(data: Transactions, k: int, m: int) -> None:
    if sum(map(bool, data.sets)) < k:
        return
    nodes = code_tree(data, tree())
    released = [nodes.publish(data, vertical_cut(data, nodes, k, m)), local_recoding(data, nodes, k, m, chunk=5)]
    for published in released:
        assert verify_km(published, k, m).holds
        for original, shown in zip(data.texts(), published, strict=True):
            covered = [published.members[item] for item in shown]
            assert all(any(code in members for members in covered) for code in original)
            assert all(members & set(original) for members in covered)


def test_local_recoding_keeps_what_is_frequent_among_similar_records() -> None:
    data = letters(*["ab"] * 5, *["d"] * 5, "abe", "abe")
    nodes = code_tree(data, tree())
    cut = nodes.publish(data, apriori_cut(data, nodes, 5, 2))
    local = local_recoding(data, nodes, 5, 2, chunk=5)
    assert certainty_penalty(data, local) <= certainty_penalty(data, cut)
    assert verify_km(local, 5, 2).holds


def test_loss_does_not_fall_with_k() -> None:
    nodes = code_tree(TEN, tree())
    losses = [certainty_penalty(TEN, nodes.publish(TEN, apriori_cut(TEN, nodes, k, 2))) for k in (2, 3, 5, 10)]
    assert losses == sorted(losses)


def test_too_few_records_and_too_long_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = code_tree(TEN, tree())
    with pytest.raises(InputError, match="10 records are fewer than k = 11"):
        apriori_cut(TEN, nodes, 11, 2)
    monkeypatch.setattr(km, "MOST_SETS", 10)
    with pytest.raises(ConfigError, match="sets of 3 codes"):
        apriori_cut(TEN, nodes, 2, 3)
