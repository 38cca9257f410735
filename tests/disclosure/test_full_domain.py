from __future__ import annotations

import itertools
from operator import le

import numpy as np
import pandas as pd
import pytest
from products import by_day

from deid.base.errors import ConfigError
from deid.disclosure.constraints import All, AlphaK, BetaLikeness, Constraint, DistinctL, EntropyL, KAnonymity
from deid.disclosure.cuts import halves
from deid.disclosure.encoding import CodedTable, encode
from deid.disclosure.full_domain import (
    _Search,
    greedy_levels,
    incognito,
    lattice_size,
    level_ranges,
    optimal_levels,
)
from deid.table.hierarchy import hierarchy_from_rows
from deid.table.microdata import Microdata
from tests.disclosure.tables import random_table

PLAIN = [KAnonymity(2), KAnonymity(4), All((KAnonymity(2), DistinctL(2, "disease")))]


def brute_force(table: Microdata, constraint: Constraint, allowed: int) -> dict[tuple[int, ...], float]:
    """All level vectors that suffice, with their loss; classes by a dict of published tuples, one row at a time."""
    coded = encode(table)
    found = {}
    heights = [next(h for h in itertools.count() if _top(coded, c, h)) for c in range(len(coded.columns))]
    for levels in itertools.product(*(range(height + 1) for height in heights)):
        ranges = [level_ranges(column, level) for column, level in zip(coded.columns, levels, strict=True)]
        published = [
            tuple((low[c], high[c]) for c, (low, high) in zip(row, ranges, strict=True)) for row in coded.codes
        ]
        classes: dict[tuple, list[int]] = {}
        for row, cells in enumerate(published):
            classes.setdefault(cells, []).append(row)
        out, lost = 0, 0.0
        for cells, rows in classes.items():
            diseases = {table.frame["disease"][row] for row in rows}
            parts = constraint.parts if isinstance(constraint, All) else (constraint,)
            good = all(len(rows) >= p.k if isinstance(p, KAnonymity) else len(diseases) >= p.l for p in parts)
            if good:
                losses = [
                    float(column.loss(np.array([low]), np.array([high]))[0])
                    for column, (low, high) in zip(coded.columns, cells, strict=True)
                ]
                lost += len(rows) * sum(losses)
            else:
                out += len(rows)
                lost += len(rows) * len(levels)
        if out <= allowed:
            found[levels] = lost / (len(table) * len(levels))
    return found


def _top(coded: CodedTable, column: int, height: int) -> bool:
    low, high = level_ranges(coded.columns[column], height)
    return bool((low == 0).all() and (high == coded.columns[column].size - 1).all())


@pytest.mark.parametrize(("seed", "constraint", "allowed"), by_day(range(6), PLAIN, [0, 3]), ids=str)
def test_incognito_and_the_optimal_search_agree_with_brute_force(
    seed: int, constraint: Constraint, allowed: int
) -> None:
    table = random_table(24, seed)
    expected = brute_force(table, constraint, allowed)
    small, _ = encode(table).collapse()
    if not expected:
        with pytest.raises(ConfigError, match="suppressed"):
            optimal_levels(small, constraint, allowed / 24)
        return
    assert incognito(small, constraint, allowed / 24) == sorted(expected)
    best = optimal_levels(small, constraint, allowed / 24)
    assert best.loss == pytest.approx(min(expected.values()))
    assert expected[best.levels] == pytest.approx(best.loss)
    greedy = greedy_levels(small, constraint, allowed / 24)
    assert greedy.levels in expected
    assert greedy.loss == pytest.approx(expected[greedy.levels])


def test_incognito_looks_at_nothing_that_is_decided_by_what_it_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all columns it looks at no levels above ones that suffice."""
    coded = encode(random_table(60, 1))
    looked: list[tuple[int, ...]] = []
    own = _Search.violating
    monkeypatch.setattr(_Search, "violating", lambda self, *asked: looked.append(asked[0]) or own(self, *asked))
    good = set(incognito(coded, KAnonymity(3)))
    least = {levels for levels in good if not any(other != levels and all(map(le, other, levels)) for other in good)}
    assert good & set(looked) == least < good


EXTRA = [EntropyL(1.8, "disease"), EntropyL(2.6, "disease"), AlphaK(0.45, "disease"), BetaLikeness(0.8, "disease")]


@pytest.mark.parametrize("constraint", EXTRA, ids=str)
@pytest.mark.parametrize(("rows", "seed", "allowed"), [(24, 0, 0.3), (24, 1, 0.3), (16, 5, 0.5), (16, 6, 0.5)])
def test_models_that_extra_rows_can_break_are_searched_without_tags(
    rows: int, seed: int, allowed: float, constraint: Constraint
) -> None:
    coded = encode(random_table(rows, seed))
    search = _Search(coded, constraint, allowed)
    vectors = list(itertools.product(*(range(height + 1) for height in search.heights)))
    losses = [
        search.loss(levels, violating) for levels in vectors if search.enough(violating := search.violating(levels))
    ]
    assert optimal_levels(coded, constraint, allowed).loss == pytest.approx(min(losses))
    with pytest.raises(ConfigError, match="Incognito cannot prune"):
        incognito(coded, constraint, allowed)


def test_many_columns_are_searched_greedily() -> None:
    rng = np.random.default_rng(0)
    tree = hierarchy_from_rows([("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")], "h")
    names = [f"c{i}" for i in range(60)]
    frame = pd.DataFrame(rng.choice(list("abcd"), (300, 60), p=[0.9, 0.05, 0.03, 0.02]), columns=names)
    table = Microdata(frame, dict.fromkeys(names, "quasi-identifier"), dict.fromkeys(names, tree))
    coded = encode(table)
    with pytest.raises(ConfigError, match="level vectors"):
        optimal_levels(coded, KAnonymity(3), 0.1)
    found = greedy_levels(coded, KAnonymity(3), 0.1)
    assert found.suppressed.sum() <= 30
    assert found.loss < 1


@pytest.mark.parametrize(("k", "loss"), [(2, 0.196), (50, 0.499)])
def test_adult_loses_no_more_than_arx(shared_data, k: int, loss: float) -> None:
    from tests.disclosure.tables import adult

    small, _ = encode(adult(shared_data)).collapse()
    found = optimal_levels(small, KAnonymity(k), 0.05)
    assert found.loss <= loss  # ARX 3.9.2's global recoding with 5 % suppressed, README of the data
    assert small.weights is not None
    assert small.weights[found.suppressed].sum() <= 0.05 * 30162


def test_all_levels_of_a_tall_hierarchy_are_tried() -> None:
    """Two values that meet at the top alone: four levels, more than halving two values has."""
    tree = hierarchy_from_rows([("a", "x", "y", "*"), ("b", "z", "w", "*")], "tall")
    table = Microdata(pd.DataFrame({"q": ["a", "b"]}), {"q": "quasi-identifier"}, {"q": tree})
    coded = encode(table)
    assert lattice_size(coded) == 4
    for found in (optimal_levels(coded, KAnonymity(2)), greedy_levels(coded, KAnonymity(2))):
        assert found.levels == (3,)


def test_numbers_are_halved_at_the_middle_of_their_range_and_words_by_count() -> None:
    def cuts(values: list[object]) -> list[list[int]]:
        (column,) = encode(Microdata(pd.DataFrame({"x": values}), {"x": "quasi-identifier"})).columns
        return [row.tolist() for row in halves(column)]

    assert [len(set(row)) for row in cuts([0, 1, 2, 100])] == [1, 2, 3, 4]
    first = cuts([0, 1, 2, 100])[1]
    assert first[0] == first[1] == first[2] != first[3]
    words = cuts(["a", "b", "c", "d"])[1]
    assert words[0] == words[1] != words[2] == words[3]
    missing = cuts([0, 1, None])[1]
    assert missing[0] == missing[1] != missing[2]


def test_members_of_a_population_count_for_k_though_they_are_not_released() -> None:
    """Two rows of each sex are released, four of each live."""
    tree = hierarchy_from_rows([["F", "*"], ["M", "*"]], "sex")
    frame = pd.DataFrame({"sex": ["F", "M"] * 4})
    table = encode(Microdata(frame, {"sex": "quasi-identifier"}, {"sex": tree}))
    released = np.arange(8) < 4
    assert optimal_levels(table, KAnonymity(4), released=released).levels == (0,)
    assert optimal_levels(table, KAnonymity(5), released=released).levels == (1,)
