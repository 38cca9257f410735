"""DiffPart: frequent sets come out, nothing else is looked at, and a path costs at most epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.dp.diffpart import balanced_taxonomy, diffpart
from deid.dp.noise import SeededNoise

ITEMS = [f"code{i}" for i in range(9)]
TAXONOMY = balanced_taxonomy(ITEMS, 3)


def test_taxonomy_groups_neighbours() -> None:
    assert TAXONOMY.leaves() == tuple(ITEMS)
    assert TAXONOMY.height == 2
    assert [TAXONOMY.leaf_count(node) for node in TAXONOMY.children(TAXONOMY.root)] == [3, 3, 3]
    assert balanced_taxonomy(["a", "b", "c"], 2).height == 2
    assert balanced_taxonomy(["a", "b"]).height == balanced_taxonomy(ITEMS, 10).height == 1
    for wrong, fanout in ((["a"], 4), (["a", "a"], 4), (ITEMS, 1), (ITEMS, 11)):
        with pytest.raises(ConfigError):
            balanced_taxonomy(wrong, fanout)


def test_frequent_sets_come_out() -> None:
    records = [frozenset({"code0", "code4"})] * 500 + [frozenset({"code8"})] * 300 + [frozenset({"code1"})] * 2
    found = diffpart([*records, frozenset(), frozenset({"elsewhere"})], TAXONOMY, 4.0, SeededNoise(1))
    assert found[frozenset({"code0", "code4"})] == pytest.approx(500, abs=8)
    assert found[frozenset({"code8"})] == pytest.approx(300, abs=8)
    assert all(items <= set(ITEMS) for items in found)
    assert sum(found.values()) == pytest.approx(802, abs=40)


@given(st.sets(st.sampled_from(ITEMS), min_size=1))
def test_exact_without_noise(items: set[str]) -> None:
    """With an epsilon so large that nothing is added, the sets and their counts are the data's."""
    records = [frozenset(items)] * 3 + [frozenset({"code5"})] * 2
    expected = {frozenset(items): 3} | {frozenset({"code5"}): 2 + 3 * (items == {"code5"})}
    assert diffpart(records, TAXONOMY, 400.0, SeededNoise(0)) == expected


class Recording(SeededNoise):
    spent = 0.0

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        self.spent += epsilon
        return np.array(values)


@given(st.sets(st.sampled_from(ITEMS), min_size=1), st.floats(20, 60))
def test_the_path_of_a_record_costs_epsilon_and_no_more(items: set[str], epsilon: float) -> None:
    """All records alike and no noise: the one path that is followed is theirs."""
    noise = Recording(0)
    assert diffpart([frozenset(items)] * 50, TAXONOMY, epsilon, noise) == {frozenset(items): 50}
    assert (1 - 1e-6) * epsilon < noise.spent <= epsilon


def test_what_comes_out_depends_on_the_data_through_noise_alone() -> None:
    class Blind(SeededNoise):
        def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
            return np.arange(np.size(values)) % 2 * 50

    one = diffpart([frozenset({"code0"})] * 5, TAXONOMY, 1.0, Blind(0))
    other = diffpart([frozenset(ITEMS)] * 70, TAXONOMY, 1.0, Blind(0))
    assert one == other


@pytest.mark.parametrize(("distance", "left", "told"), [(1, 0, False), (1, 9, True), (3, 1, False), (3, 9, True)])
def test_a_set_is_told_from_a_standard_deviation_of_its_last_count(distance: int, left: int, told: bool) -> None:
    class Shrinking(SeededNoise):
        def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
            assert sensitivity == distance
            return np.array(values) if np.size(values) > 1 else np.array([left])

    found = diffpart([frozenset({"code1"})] * 50, TAXONOMY, 3.0, Shrinking(0), distance=distance)
    assert found == ({frozenset({"code1"}): left} if told else {})


def test_wide_taxonomies_are_refused() -> None:
    from deid.table.hierarchy import Hierarchy

    with pytest.raises(ConfigError, match="10 children"):
        diffpart([], Hierarchy("wide", {f"i{n}": "*" for n in range(11)}), 1.0, SeededNoise(0))
