from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.disclosure.encoding import class_ids, encode
from deid.table.hierarchy import hierarchy_from_rows
from deid.table.microdata import Microdata
from tests.disclosure.tables import REGIONS, random_table


@given(st.lists(st.sampled_from(list(REGIONS.leaves())), min_size=1, max_size=8))
def test_the_common_ancestor_of_codes_is_the_hierarchys(values: list[str]) -> None:
    table = Microdata(pd.DataFrame({"place": values}), {"place": "quasi-identifier"}, {"place": REGIONS})
    coded = encode(table)
    tree = coded.columns[0].tree
    assert tree is not None
    node = tree.common(coded.codes.min(axis=0), coded.codes.max(axis=0))[0]
    covering = REGIONS.lowest_common_ancestor(values)
    assert tree.names[node] == covering
    share = REGIONS.leaf_count(covering) / len(REGIONS.leaves())
    assert tree.loss[node] == pytest.approx(0 if REGIONS.leaf_count(covering) == 1 else share)


def test_levels_are_those_of_the_hierarchy_for_branches_of_different_depth() -> None:
    uneven = hierarchy_from_rows([("a", "ab", "abc", "*"), ("b", "ab", "abc", "*"), ("c", "abc", "*"), ("d", "*")], "h")
    coded = encode(Microdata(pd.DataFrame({"x": list("abcd")}), {"x": "quasi-identifier"}, {"x": uneven}))
    tree = coded.columns[0].tree
    assert tree is not None
    for level, row in enumerate(tree.levels):
        names = [tree.names[node] for node in row]
        assert names == [uneven.generalize(leaf, level) for leaf in uneven.leaves()]


def test_inner_and_missing_values_are_leaves_of_their_own() -> None:
    frame = pd.DataFrame({"place": ["Lyon", "France", None, "Lima"]})
    coded = encode(Microdata(frame, {"place": "quasi-identifier"}, {"place": REGIONS}))
    column = coded.columns[0]
    assert [column.values[code] for code in coded.codes[:, 0]] == ["Lyon", "France", None, "Lima"]
    tree = column.tree
    assert tree is not None

    def covering(*rows: int) -> str | None:
        codes = coded.codes[list(rows), 0]
        return tree.names[tree.common(codes.min(keepdims=True), codes.max(keepdims=True))[0]]

    assert covering(0, 1) == "France"
    assert covering(0, 2) == "*"
    assert covering(2) is None


def test_numbers_are_ranked_by_value_and_missing_ones_come_last() -> None:
    frame = pd.DataFrame({"x": [9.5, 10, None, -3, 10]})
    coded = encode(Microdata(frame, {"x": "quasi-identifier"}))
    assert coded.codes[:, 0].tolist() == [1, 2, 3, 0, 2]
    column = coded.columns[0]
    low, high = np.array([0, 0, 1], np.int32), np.array([1, 3, 1], np.int32)
    assert column.loss(low, high) == pytest.approx([12.5 / 13, 1.0, 0.0])


@given(
    st.lists(st.sampled_from([*"abcde", None]), min_size=1, max_size=12),
    st.lists(st.sampled_from([0, 1, 2.5, 7, None]), min_size=1, max_size=12),
)
def test_the_loss_of_a_range_is_that_of_its_definition(words: list[str | None], numbers: list[float | None]) -> None:
    """Values over all values, width over range; a range that takes in the missing value tells nothing."""
    for values in (words, numbers):
        if all(value is None for value in values):
            continue
        frame = pd.DataFrame({"x": pd.Series(values, dtype=float if values is numbers else object)})
        (column,) = encode(Microdata(frame, {"x": "quasi-identifier"})).columns
        known = sorted({value for value in values if value is not None})  # type: ignore[type-var]
        size = len(known) + (None in values)
        assert column.size == size
        for low in range(size):
            for high in range(low, size):
                found = column.loss(np.array([low], np.int32), np.array([high], np.int32))[0]
                if low == high:
                    expected = 0.0
                elif high == len(known):
                    expected = 1.0
                elif values is numbers:
                    expected = (known[high] - known[low]) / (known[-1] - known[0])  # type: ignore[operator]
                else:
                    expected = (high - low + 1) / size
                assert found == pytest.approx(expected), (values, low, high)


def test_collapsed_rows_keep_their_number_and_values() -> None:
    coded = encode(random_table(500, 3))
    small, ids = coded.collapse()
    assert small.records == 500
    assert len(small) < 500
    assert (small.codes[ids] == coded.codes).all()
    assert (small.sensitive["disease"][1][ids] == coded.sensitive["disease"][1]).all()


def test_class_numbers_do_not_overflow_with_many_columns() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50, 200)).astype(np.int32)
    codes[7] = codes[3]
    ids, index = class_ids(codes, [1000] * 200)
    assert len(index) == 49
    assert ids[7] == ids[3]
    assert (codes[index[ids]] == codes).all()
