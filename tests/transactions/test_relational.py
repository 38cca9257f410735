from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.transactions.relational import anonymize_both, column_cells, verify_both
from deid.transactions.transactions import Transactions, transactions_of
from deid.transactions.tree import code_tree
from tests.transactions.strategies import CODES, letters, tree


def test_classes_that_cannot_be_protected_are_merged_with_the_nearest() -> None:
    data = letters("ab", "ab", "ab", "a", "a", "a")
    cells = [("f", "61*"), ("f", "61*"), ("f", "62*"), ("m", "70*"), ("m", "70*"), ("m", "70*")]
    found = anonymize_both(cells, data, code_tree(data, tree()), 2, 2)
    assert found.cells == (("f", "*"),) * 3 + (("m", "70*"),) * 3
    assert found.published.texts() == [("a", "b")] * 3 + [("a",)] * 3
    assert (found.classes, found.merged) == (2, 1)
    assert verify_both(found.cells, found.published, 2, 2).level == 3


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from("fm"), st.sampled_from("xyz"), st.frozensets(st.sampled_from(CODES), max_size=4)),
        min_size=2,
        max_size=16,
    ),
    st.integers(2, 3),
)
def test_every_release_holds(rows: list[tuple[str, str, frozenset[str]]], k: int) -> None:
    data: Transactions = transactions_of([codes for *_, codes in rows], CODES)
    cells = [row[:2] for row in rows]
    if len(rows) < k or 0 < sum(map(bool, data.sets)) < k:
        with pytest.raises(InputError, match="fewer than k"):
            anonymize_both(cells, data, code_tree(data, tree()), k, 2)
        return
    found = anonymize_both(cells, data, code_tree(data, tree()), k, 2)
    assert verify_both(found.cells, found.published, k, 2).holds
    for before, after in zip(cells, found.cells, strict=True):
        assert all(b in (a, "*") for a, b in zip(before, after, strict=True))


def test_planted_violations_are_rejected() -> None:
    data = letters("ab", "ab", "a", "a", "ab")
    assert not verify_both([("f",)] * 4 + [("m",)], data, 2, 2).holds  # a class of one
    assert verify_both([("f",)] * 5, data, 2, 2).holds
    assert not verify_both([("f",)] * 2 + [("m",)] * 3, data, 2, 2).holds  # ab once among the second


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.sampled_from("fm*"), st.frozensets(st.sampled_from("abcd"), max_size=4)), min_size=1),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_the_level_is_the_fewest_rows_that_fit_what_is_known(
    rows: list[tuple[str, frozenset[str]]], k: int, m: int
) -> None:
    known = [(cell, set(part)) for cell, codes in rows for n in range(m + 1) for part in combinations(sorted(codes), n)]
    fits = [[cell == c and part <= codes for c, codes in rows] for cell, part in known]
    data = transactions_of([codes for _, codes in rows], "abcd")
    found = verify_both([(cell,) for cell, _ in rows], data, k, m)
    assert (found.level, found.holds) == (min(map(sum, fits)), min(map(sum, fits)) >= k)
    if not found.holds:
        assert [number in found.records for number in range(len(rows))] in fits
        assert len(found.records) == found.level


def test_columns_must_exist() -> None:
    with pytest.raises(ConfigError, match="no column 'sx'"):
        column_cells(pd.DataFrame({"sex": ["f"]}), ["sx"])
