from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.transactions.disassociation import Cluster, Disassociated, Joint, disassociate, verify_disassociated
from deid.transactions.transactions import Transactions
from tests.transactions.strategies import letters, records


def test_the_chunks_of_four_records() -> None:
    found = disassociate(letters("ab", "ab", "ac", "ad"), 2, 2)
    (cluster,) = found.clusters
    assert cluster.chunks == ((("a",), ("a",), ("a", "b"), ("a", "b")),)
    assert cluster.terms == ("c", "d")
    assert verify_disassociated(found, 2, 2).level == 2
    assert found.as_rows()[0] == ("1", "1", "size", "4")
    assert found.counts() == {"a": 4, "b": 2, "c": 1, "d": 1}


@settings(max_examples=80)
@given(records(most=40), st.integers(2, 3), st.integers(1, 3))
def test_every_release_holds_and_records_can_be_put_together(data: Transactions, k: int, m: int) -> None:
    if len(data) < k:
        with pytest.raises(InputError, match="fewer than k"):
            disassociate(data, k, m)
        return
    found = disassociate(data, k, m, largest=2 * k)
    assert verify_disassociated(found, k, m).holds
    assert sorted(record for records_ in found.records for record in records_) == list(range(len(data)))
    groups = iter(found.records)
    texts = data.texts()
    for joint in found.joints:
        chosen = [next(groups) for _ in joint.clusters]
        shared = {code for chunk in joint.shared for part in chunk for code in part}
        rows = [set(texts[record]) for records_ in chosen for record in records_]
        for chunk in joint.shared:  # the bag is that of the records' parts
            codes = {code for part in chunk for code in part}
            assert Counter(chunk) == Counter(tuple(sorted(row & codes)) for row in rows if row & codes)
        for cluster, records_ in zip(joint.clusters, chosen, strict=True):
            rows = [set(texts[record]) for record in records_]
            assert cluster.size == len(rows)
            held = {code for chunk in cluster.chunks for part in chunk for code in part}
            assert held | set(cluster.terms) | (shared & set().union(*rows)) == set().union(*rows)
            for chunk in cluster.chunks:
                codes = {code for part in chunk for code in part}
                assert Counter(chunk) == Counter(tuple(sorted(row & codes)) for row in rows if row & codes)


def test_joint_clusters_keep_counts_that_clusters_alone_hide() -> None:
    rows = ["ax", "a", "a", "a", "bx", "b", "b", "b"]
    found = disassociate(letters(*rows), 2, 2, largest=4)
    shared = [chunk for joint in found.joints for chunk in joint.shared]
    assert shared == [(("x",), ("x",))]


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(4, ((("a",), ("a",), ("b",)),), ()),  # b occurs once
        Cluster(4, ((("a",), ("a",)),), ("a",)),  # a is in two chunks
        Cluster(4, ((("a",), ("a",)), (("b",), ("b",))), ()),  # two chunks, four parts: a and b may be told together
    ],
)
def test_planted_violations_are_rejected(cluster: Cluster) -> None:
    assert not verify_disassociated(Disassociated((Joint((cluster,)),)), 2, 2).holds


def test_clusters_smaller_than_two_k_are_refused() -> None:
    with pytest.raises(ConfigError, match="too small for k = 3"):
        disassociate(letters("a", "b", "c"), 3, 2, largest=4)
