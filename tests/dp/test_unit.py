"""Privacy units: what a neighbour is, and rows bounded for each person."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.errors import ConfigError


@pytest.mark.parametrize(
    ("relation", "max_rows", "distance"),
    [("add-remove", 1, 1), ("replace", 1, 2), ("add-remove", 3, 3), ("replace", 3, 6)],
)
def test_distance(relation: str, max_rows: int, distance: int) -> None:
    assert PrivacyUnit("patient", relation, max_rows).distance == distance


def test_wrong_units_are_refused() -> None:
    for wrong in ({"relation": "modify"}, {"max_rows": 0}, {"name": " "}):
        with pytest.raises(ConfigError):
            PrivacyUnit(**wrong)  # type: ignore[arg-type]


def test_first_rows_of_each_person_stay() -> None:
    persons = pd.Series(["a", "b", "a", None, "a", "b", None])
    keep, cut = bounded_rows(persons, 2)
    assert keep.tolist() == [True, True, True, True, False, True, True]
    assert cut == 1


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 4), st.integers(0, 4))
def test_a_person_changes_at_most_the_bound(persons: list[int], bound: int, gone: int) -> None:
    """The kept rows of a table without one person are the kept rows of the whole table, less that person's."""
    series = pd.Series(persons, dtype=int)
    keep, cut = bounded_rows(series, bound)
    without = series[series != gone]
    keep_without, cut_without = bounded_rows(without, bound)
    kept = series[keep]
    assert kept[kept != gone].index.tolist() == without[keep_without].index.tolist()
    assert (kept == gone).sum() <= bound
    assert 0 <= cut - cut_without <= 1
    assert np.all(kept.value_counts() <= bound)
