from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.disclosure.constraints import All, DistinctL, KAnonymity, TCloseness
from deid.disclosure.encoding import CodedTable, encode
from deid.disclosure.groups import groups_of
from deid.disclosure.mondrian import mondrian
from deid.disclosure.recoding import publish
from tests.disclosure.tables import random_table, six


def test_the_worked_example() -> None:
    table = six()
    coded = encode(table)
    classes = mondrian(coded, KAnonymity(2))
    frame = publish(table, coded, classes)
    assert frame["age"].tolist() == ["[20-25]"] * 3 + ["[27-29]"] * 3
    assert frame["sex"].tolist() == ["{F,M}"] * 3 + ["F"] * 3


def textbook(ages: list[int], others: list[int], k: int) -> set[frozenset[int]]:
    """Strict Mondrian on two numeric columns, one set at a time (LeFevre et al. 2006)."""
    spans = [max(max(column) - min(column), 1) for column in (ages, others)]

    def cut(rows: list[int]) -> set[frozenset[int]]:
        width = [
            (max(c[r] for r in rows) - min(c[r] for r in rows)) / s for c, s in zip((ages, others), spans, strict=True)
        ]
        for column in sorted(range(2), key=lambda c: -width[c]):
            values = sorted((ages, others)[column][r] for r in rows)
            median = values[(len(values) - 1) // 2]
            limit = median if median < values[-1] else median - 1
            left = [r for r in rows if (ages, others)[column][r] <= limit]
            right = [r for r in rows if (ages, others)[column][r] > limit]
            if len(left) >= k and len(right) >= k:
                return cut(left) | cut(right)
        return {frozenset(rows)}

    return cut(list(range(len(ages))))


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(6, 60))
@settings(max_examples=60)
def test_it_cuts_as_the_textbook_does(seed: int, k: int, rows: int) -> None:
    import pandas as pd

    from deid.table.microdata import Microdata

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 12, rows), "b": rng.integers(0, 30, rows)})
    coded = encode(Microdata(frame, {"a": "quasi-identifier", "b": "quasi-identifier"}))
    classes = mondrian(coded, KAnonymity(k))
    found = {frozenset(np.flatnonzero(classes == c).tolist()) for c in set(classes.tolist())}
    assert found == textbook(frame["a"].tolist(), frame["b"].tolist(), k)


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5, 10]), st.booleans())
@settings(max_examples=40)
def test_collapsed_rows_give_the_same_groups(seed: int, k: int, hierarchical: bool) -> None:
    coded = encode(random_table(200, seed, missing=0.1))
    small, ids = coded.collapse()
    together = mondrian(small, KAnonymity(k), hierarchical=hierarchical)[ids]
    alone = mondrian(coded, KAnonymity(k), hierarchical=hierarchical)
    assert len(set(zip(together.tolist(), alone.tolist(), strict=True))) == len(set(alone.tolist()))


def test_relaxed_parts_are_small() -> None:
    coded = encode(random_table(501, 2))
    classes = mondrian(coded, KAnonymity(5), mode="relaxed", hierarchical=False)
    sizes = np.bincount(classes)
    assert sizes.min() >= 5
    assert sizes.max() <= 2 * 5 - 1
    assert (mondrian(coded, KAnonymity(5), mode="relaxed", hierarchical=False) == classes).all()


def test_models_beside_k_hold_in_every_group() -> None:
    coded = encode(random_table(300, 5))
    constraint = All((KAnonymity(4), DistinctL(3, "disease"), TCloseness(0.3, "disease")))
    classes = mondrian(coded, constraint)
    groups = groups_of(coded, classes, int(classes.max()) + 1)
    assert len(groups) > 3
    assert constraint.satisfied(groups).all()


def test_with_a_target_the_groups_tell_the_classes_apart() -> None:
    table = random_table(2000, 4)
    target = (table.numbers("age") > 40).astype(np.int32)  # decided by age alone
    coded = encode(table)

    def mistakes(classes: np.ndarray) -> int:
        counts = np.zeros((int(classes.max()) + 1, 2), dtype=int)
        np.add.at(counts, (classes, target), 1)
        return int(counts.min(axis=1).sum())

    constraint = KAnonymity(50)
    assert mistakes(mondrian(coded, constraint, target=target)) < mistakes(mondrian(coded, constraint)) / 2


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="4-anonymity"):
        mondrian(encode(random_table(3, 0)), KAnonymity(4))


def along_the_tree(coded: CodedTable, k: int) -> set[frozenset[int]]:
    """The rule, one group at a time: the widest column; children with k rows are parts, the others one; where these are
    fewer than k, the smallest part joins them."""
    column_of = coded.columns

    def cut(rows: list[int]) -> set[frozenset[int]]:
        low, high = coded.codes[rows].min(axis=0), coded.codes[rows].max(axis=0)
        worth = [
            float(column.loss(low[c : c + 1], high[c : c + 1])[0]) if low[c] < high[c] else 0.0
            for c, column in enumerate(column_of)
        ]
        for c in sorted(range(len(worth)), key=lambda c: (-worth[c], c)):
            if worth[c] <= 0 or len(rows) < 2 * k:
                continue
            tree = column_of[c].tree
            assert tree is not None
            node = int(tree.common(low[c : c + 1], high[c : c + 1])[0])
            path = [tree.depths[:, coded.codes[row, c]].tolist() for row in rows]
            parts: dict[int, list[int]] = {}
            for row, own in zip(rows, path, strict=True):
                below = own[len(own) - own[::-1].index(node) :]
                parts.setdefault(below[0] if below else node, []).append(row)
            by_code = sorted(parts.values(), key=lambda part: coded.codes[part, c].min())
            enough = [part for part in by_code if len(part) >= k]
            rest = [row for part in by_code if len(part) < k for row in part]
            if rest and len(rest) < k and enough:
                smallest = min(enough, key=len)
                enough.remove(smallest)
                rest += smallest
            pieces = [*enough, *([rest] if rest else [])]
            if len(pieces) > 1 and min(map(len, pieces)) >= k:
                return set().union(*map(cut, pieces))
        return {frozenset(rows)}

    return cut(list(range(len(coded))))


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(8, 90))
@settings(max_examples=60)
def test_children_that_do_not_suffice_stay_together(seed: int, k: int, rows: int) -> None:
    import pandas as pd

    from deid.table.hierarchy import hierarchy_from_rows
    from deid.table.microdata import Microdata

    rng = np.random.default_rng(seed)
    names, trees, columns = ("a", "b", "c"), {}, {}
    for name, (outer, inner) in zip(names, ((4, 3), (7, 1), (3, 4)), strict=True):
        leaves = [(f"{name}{x}.{y}", f"{name}{x}", "*") for x in range(outer) for y in range(inner)]
        leaves = [(leaf, *above) if inner > 1 else (leaf, "*") for leaf, *above in leaves]
        trees[name] = hierarchy_from_rows(leaves, name)
        weights = 1 / np.arange(1, len(leaves) + 1) ** 1.5
        columns[name] = rng.choice([own[0] for own in leaves], rows, p=weights / weights.sum())
    coded = encode(Microdata(pd.DataFrame(columns), dict.fromkeys(names, "quasi-identifier"), trees))
    classes = mondrian(coded, KAnonymity(k))
    found = {frozenset(np.flatnonzero(classes == c).tolist()) for c in set(classes.tolist())}
    assert found == along_the_tree(coded, k)
