from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.disclosure import clustering
from deid.disclosure.clustering import bottom_up, hybrid, top_down
from deid.disclosure.consistency import kk_anonymity as verify_kk
from deid.disclosure.constraints import All, DistinctL, KAnonymity
from deid.disclosure.encoding import encode
from deid.disclosure.gathering import gather
from deid.disclosure.groups import groups_of
from deid.disclosure.kk_anonymity import kk_anonymity
from deid.disclosure.local_recoding import local_recoding, mean_loss
from deid.disclosure.mondrian import mondrian
from deid.disclosure.recoding import publish
from deid.table.microdata import Microdata
from tests.disclosure.tables import random_table, six

METHODS = [bottom_up, top_down, hybrid]


@pytest.mark.parametrize("method", METHODS)
def test_the_worked_example(method: Callable[..., np.ndarray]) -> None:
    table = six()
    coded = encode(table)
    classes = method(coded, KAnonymity(2))
    frame = publish(table, coded, classes)
    assert frame["age"].tolist() == ["[20-25]", "[23-27]", "[20-25]", "[23-27]", "[28-29]", "[28-29]"]
    assert frame["sex"].tolist() == list("MFMFFF")
    assert mean_loss(coded, classes) * 12 == pytest.approx(2.222, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_columns_of_many_values_are_grouped_as_those_of_few(
    method: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose losses are computed each time, and not looked up."""
    coded = encode(random_table(80, 3))
    expected = method(coded, KAnonymity(3))
    monkeypatch.setattr(clustering, "_TABLE", 5)
    assert method(coded, KAnonymity(3)).tolist() == expected.tolist()


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5]), st.booleans())
@settings(max_examples=25)
def test_every_group_satisfies_the_constraint(
    method: Callable[..., np.ndarray], seed: int, k: int, diverse: bool
) -> None:
    coded = encode(random_table(60, seed, missing=0.05))
    constraint = All((KAnonymity(k), DistinctL(2, "disease"))) if diverse else KAnonymity(k)
    classes = method(coded, constraint)
    assert constraint.satisfied(groups_of(coded, classes, int(classes.max()) + 1)).all()
    assert (method(coded, constraint) == classes).all()


@pytest.mark.parametrize("method", [*METHODS, local_recoding, mondrian])
def test_no_method_is_better_than_the_best_partition(method: Callable[..., np.ndarray]) -> None:
    for seed in range(5):
        coded = encode(random_table(6, seed))
        best = min(mean_loss(coded, classes) for classes in _partitions(6, 2))
        assert mean_loss(coded, method(coded, KAnonymity(2))) >= best - 1e-12


def _partitions(rows: int, least: int) -> list[np.ndarray]:
    """All partitions of a few rows into groups of at least ``least``."""
    labels = [(0,)]
    for _ in range(rows - 1):
        labels = [(*head, new) for head in labels for new in range(max(head) + 2)]
    return [np.array(label) for label in labels if np.bincount(label).min() >= least]


def test_clusters_lose_less_than_mondrian_on_adult(shared_data) -> None:
    from tests.disclosure.tables import adult

    coded = encode(adult(shared_data))
    sample = coded.take(np.sort(np.random.default_rng(0).choice(len(coded), 1500, replace=False)))
    cut = mean_loss(sample, mondrian(sample, KAnonymity(5)))
    for method in METHODS:
        assert mean_loss(sample, method(sample, KAnonymity(5))) < cut


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 4]))
@settings(max_examples=25)
def test_kk_boxes_pass_the_verifier(seed: int, k: int) -> None:
    table = random_table(30, seed)
    coded = encode(table)
    low, high = kk_anonymity(coded, k)
    assert ((low <= coded.codes) & (coded.codes <= high)).all()
    regions = [(low[:, c], high[:, c]) for c in range(low.shape[1])]
    release = Microdata(publish(table, coded, np.arange(30), regions=regions), table.roles, table.hierarchies)
    assert verify_kk(release, table, k).ok
    if k > 1:
        covered = sum(column.loss(low[:, c], high[:, c]).sum() for c, column in enumerate(coded.columns))
        grouped = mean_loss(coded, mondrian(coded, KAnonymity(k))) * 30 * low.shape[1]
        assert covered <= grouped


def test_gathered_clusters_have_r_rows_and_twice_the_least_radius() -> None:
    for seed in range(6):
        coded = encode(random_table(8, seed))
        found = gather(coded, 3)
        assert np.bincount(found.classes).min() >= 3
        assert (found.classes[found.centres] >= 0).all()
        assert found.radii.max() <= 2 * _least_radius(coded, 3) + 1e-9


def _least_radius(coded, r: int) -> float:
    from deid.disclosure.clustering import BoxLoss

    boxes = BoxLoss(coded.columns)
    distance = np.stack([boxes.joined(row, row, coded.codes, coded.codes) for row in coded.codes])
    best = np.inf
    for classes in _partitions(len(coded), r):
        members = [np.flatnonzero(classes == c) for c in range(classes.max() + 1)]
        best = min(best, max(distance[np.ix_(m, m)].max(axis=1).min() for m in members))
    return float(best)


def test_large_tables_are_refused_where_the_cost_is_quadratic() -> None:
    frame = pd.DataFrame({"x": np.arange(30_000)})
    coded = encode(Microdata(frame, {"x": "quasi-identifier"}))
    with pytest.raises(ConfigError, match="more than"):
        gather(coded, 3)
    with pytest.raises(ConfigError, match="more than"):
        kk_anonymity(coded, 3)
