from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.disclosure import local_recoding as search
from deid.disclosure.complementing import join_complements
from deid.disclosure.constraints import All, Constraint, DistinctL, EntropyL, KAnonymity, TCloseness
from deid.disclosure.encoding import encode
from deid.disclosure.groups import groups_of
from deid.disclosure.local_recoding import group_loss, local_recoding, mean_loss
from deid.disclosure.mondrian import mondrian
from tests.disclosure.tables import adult, random_table

CONSTRAINTS = [
    KAnonymity(2),
    KAnonymity(7),
    All((KAnonymity(3), DistinctL(2, "disease"))),
    All((KAnonymity(3), EntropyL(2.2, "disease"))),
    All((KAnonymity(3), TCloseness(0.25, "disease"))),
]


@given(
    st.integers(0, 10_000),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from([0, 4]),
    st.sampled_from([0, 40]),
    st.booleans(),
)
@settings(max_examples=30)
def test_every_group_satisfies_the_constraint(
    seed: int, constraint: object, rounds: int, persons: int, missing: bool
) -> None:
    coded = encode(random_table(120, seed, missing=0.1 * missing, persons=persons))
    classes = local_recoding(coded, constraint, rounds=rounds)
    groups = groups_of(coded, classes, int(classes.max()) + 1)
    assert constraint.satisfied(groups).all()
    assert (local_recoding(coded, constraint, rounds=rounds) == classes).all()


def test_it_loses_less_than_mondrian() -> None:
    coded = encode(random_table(3000, 11))
    constraint = KAnonymity(10)
    assert mean_loss(coded, local_recoding(coded, constraint)) < mean_loss(coded, mondrian(coded, constraint))


@pytest.mark.parametrize(
    ("k", "close", "rounds"),
    [(2, False, 1), (9, False, 1), (10, False, 2), (29, False, 5), (30, False, 5), (2, True, 15)],
)
def test_rounds_are_as_many_as_is_said_or_as_k_is_worth(
    k: int, close: bool, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coded, own, made = encode(random_table(80, 5)), search._better, []
    monkeypatch.setattr(search, "_better", lambda *given: made.append(1) or own(*given))
    constraint: Constraint = KAnonymity(k)
    constraint = All((constraint, TCloseness(0.4, "disease"))) if close else constraint
    for said, expected in ((None, rounds), (0, 0), (3, 3)):
        made.clear()
        local_recoding(coded, constraint, rounds=said)
        assert len(made) == expected


@pytest.mark.parametrize(
    ("rows", "seed", "persons", "loss"), [(100, 1, 0, 0.436), (100, 2, 0, 0.42), (100, 3, 0, 0.44), (200, 1, 100, 0.42)]
)
def test_closeness_costs_less_where_complements_are_joined(rows: int, seed: int, persons: int, loss: float) -> None:
    """Splitting alone loses .440, .481, .530 and .509."""
    coded = encode(random_table(rows, seed, persons=persons))
    constraint = All((KAnonymity(3), TCloseness(0.15, "disease")))
    assert mean_loss(coded, local_recoding(coded, constraint, rounds=0)) < loss


def test_a_rare_value_does_not_keep_a_common_one_general() -> None:
    import pandas as pd

    from deid.table.microdata import Microdata
    from tests.disclosure.tables import REGIONS

    frame = pd.DataFrame({"place": ["Lyon"] * 50 + ["Lima"]})
    coded = encode(Microdata(frame, {"place": "quasi-identifier"}, {"place": REGIONS}))
    loss = group_loss(coded, classes := local_recoding(coded, KAnonymity(5)))[classes]
    assert np.count_nonzero(loss) == 5  # the one from Lima and four that hide them


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=30), st.sampled_from([10, 5000]))
def test_pairs_that_occur_are_counted_in_their_order_few_or_many(pairs: list[tuple[int, int]], size: int) -> None:
    """By a table of all pairs where they are few, by sorting where a hierarchy has thousands of branches."""
    group, child = np.array(pairs).T
    g, c, number, pair_of = search._pairs(group, child, 6, size)
    assert list(zip(g.tolist(), c.tolist(), strict=True)) == sorted(set(pairs))
    assert [(int(g[at]), int(c[at])) for at in pair_of] == pairs
    assert number.tolist() == [pairs.count(pair) for pair in sorted(set(pairs))]


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.2, 0.4]))
@settings(max_examples=25)
def test_joining_complements_makes_all_groups_close(seed: int, t: float) -> None:
    coded = encode(random_table(100, seed))
    model = TCloseness(t, "disease")
    fine = mondrian(coded, KAnonymity(3))
    joined = join_complements(coded, fine, model)
    assert model.satisfied(groups_of(coded, joined, int(joined.max()) + 1)).all()
    assert len(set(zip(fine.tolist(), joined.tolist(), strict=True))) == len(set(fine.tolist()))  # only whole groups


def test_who_says_how_many_rounds_gets_so_many() -> None:
    """Closeness has 15 by default, which lose less."""
    coded, model = encode(random_table(60, 2)), All((KAnonymity(2), TCloseness(0.5, "disease")))
    lost = [mean_loss(coded, local_recoding(coded, model, rounds=rounds)) for rounds in (0, 1, 15, None)]
    assert lost[0] == lost[1] > lost[2] == lost[3]


@pytest.mark.parametrize("model", [KAnonymity(5), All((KAnonymity(4), DistinctL(2, "disease")))])
def test_processes_find_what_one_finds(model: Constraint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_ROWS_FOR_ALL", 300)
    coded = encode(random_table(900, 4))
    shared = local_recoding(coded, model, jobs=2)
    monkeypatch.setattr(search, "Pool", None)  # which one process needs none of
    assert (local_recoding(coded, model, jobs=1) == shared).all()
    assert model.satisfied(groups_of(coded, shared, int(shared.max()) + 1)).all()


@pytest.mark.parametrize(
    ("model", "rounds", "loss"),
    [
        (DistinctL(3, "occupation"), 1, 0.057),
        pytest.param(TCloseness(0.3, "occupation"), 5, 0.291, marks=pytest.mark.night),
    ],
)
def test_adult_with_a_sensitive_column_loses_less_than_arx(
    shared_data, model: object, rounds: int, loss: float
) -> None:
    coded = encode(adult(shared_data, 7, ("occupation",)))
    constraint = All((KAnonymity(5), model))
    classes = local_recoding(coded, constraint, rounds=rounds)
    assert constraint.satisfied(groups_of(coded, classes, int(classes.max()) + 1)).all()
    assert mean_loss(coded, classes) < loss  # ARX 3.9.2's local recoding, README of the data


@pytest.mark.parametrize(("k", "loss", "squares"), [(10, 0.1055, 497_000), (50, 0.1859, 2_330_000)])
def test_adult_loses_less_than_arx(shared_data, k: int, loss: float, squares: int) -> None:
    coded = encode(adult(shared_data))
    classes = local_recoding(coded, KAnonymity(k))
    sizes = np.bincount(classes)
    assert sizes.min() >= k
    assert mean_loss(coded, classes) < loss  # ARX 3.9.2's local recoding, README of the data
    assert int(sizes @ sizes) < squares
    assert mean_loss(coded, classes) < mean_loss(coded, local_recoding(coded, KAnonymity(k), rounds=0))
