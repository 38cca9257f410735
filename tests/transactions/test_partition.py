from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import InputError
from deid.table.hierarchy import hierarchy_from_rows
from deid.transactions.partition import partition_records, publish_groups
from deid.transactions.transactions import Transactions, transactions_of
from deid.transactions.tree import code_tree
from deid.transactions.verifiers import verify_complete
from tests.transactions.strategies import letters, records, tree

PAIRS = hierarchy_from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]], "pairs")


def test_the_keys_of_four_records_and_their_balance() -> None:
    data = letters("ab", "c", "cd", "abcd")
    nodes = code_tree(data, PAIRS)
    groups = partition_records(data, nodes, 2)
    assert [(records, sorted(nodes.labels[n] for n in cut)) for records, cut in groups] == [
        ([0, 3], ["*"]),
        ([1, 2], ["cd"]),
    ]


def test_frequent_records_keep_their_codes() -> None:
    data = transactions_of([["401.0", "401.1"]] * 2 + [["401.2", "401.3"], ["401.4", "401.3"]])
    low = [["401.0", "401.0-1"], ["401.1", "401.0-1"], ["401.2", "401.2,4"], ["401.4", "401.2,4"], ["401.3", "401.3"]]
    nodes = code_tree(data, hierarchy_from_rows(([*row, "401"] for row in low), "t"))
    published = publish_groups(data, nodes, partition_records(data, nodes, 2))
    assert published.texts() == [("401.0", "401.1")] * 2 + [("401.2,4", "401.3")] * 2
    assert verify_complete(published, 2).holds


@settings(max_examples=80)
@given(records(most=16), st.sampled_from([2, 3, 5]))
def test_every_release_holds_and_is_true(data: Transactions, k: int) -> None:
    nodes = code_tree(data, tree())
    if len(data) < k:
        with pytest.raises(InputError, match="fewer than k"):
            partition_records(data, nodes, k)
        return
    published = publish_groups(data, nodes, partition_records(data, nodes, k))
    assert len(published) == len(data)
    assert verify_complete(published, k).holds
    for original, shown in zip(data.texts(), published, strict=True):
        for item in shown:
            assert published.members[item] & set(original)
        if len(shown):
            assert set(original) <= frozenset().union(*(published.members[item] for item in shown))


def test_a_lone_record_without_codes_gets_company() -> None:
    data = letters("ab", "ab", "ab", "ab", "")
    nodes = code_tree(data, PAIRS)
    assert sorted(publish_groups(data, nodes, partition_records(data, nodes, 2)).texts()) == [(), (), *[("a", "b")] * 3]
