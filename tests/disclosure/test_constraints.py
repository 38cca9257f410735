from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.disclosure import closeness, privacy
from deid.disclosure.constraints import (
    All,
    AlphaK,
    AnyOf,
    BetaLikeness,
    Constraint,
    DistinctL,
    EntropyL,
    KAnonymity,
    RecursiveL,
    TCloseness,
    closeness_in,
    require_feasible,
    smallest_group,
)
from deid.disclosure.encoding import class_ids, encode
from deid.disclosure.groups import groups_of
from deid.disclosure.numeric_models import EpsilonM, RangeDiversity
from deid.table.microdata import Microdata
from tests.disclosure.tables import REGIONS, random_table

MODELS = {
    "k": (KAnonymity(3), lambda t: privacy.k_anonymity(t, 3)),
    "distinct": (DistinctL(2, "disease"), lambda t: privacy.distinct_l_diversity(t, "disease", 2)),
    "entropy": (EntropyL(1.9, "disease"), lambda t: privacy.entropy_l_diversity(t, "disease", 1.9)),
    "recursive": (RecursiveL(1.5, 2, "disease"), lambda t: privacy.recursive_l_diversity(t, "disease", 1.5, 2)),
    "alpha": (AlphaK(0.6, "disease"), lambda t: privacy.alpha_k_anonymity(t, "disease", 0.6, 1)),
    "alpha of two": (
        AlphaK(0.3, "disease", ("flu", "cancer")),
        lambda t: privacy.alpha_k_anonymity(t, "disease", 0.3, 1, ["flu", "cancer"]),
    ),
    "beta": (BetaLikeness(1.2, "disease"), lambda t: privacy.beta_likeness(t, "disease", 1.2)),
    "t equal": (TCloseness(0.35, "disease"), lambda t: closeness.t_closeness(t, "disease", 0.35)),
    "t ordered": (TCloseness(0.3, "disease", "ordered"), lambda t: closeness.t_closeness(t, "disease", 0.3, "ordered")),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("persons", [0, 25])
def test_a_partition_satisfies_a_model_when_the_verifier_says_so(name: str, persons: int) -> None:
    constraint, verify = MODELS[name]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = random_table(60, seed, persons=persons)
        group = rng.integers(0, rng.integers(2, 8), 60)
        frame = table.frame.assign(age=group, sex="F", place="Lyon")
        published = Microdata(frame, table.roles, table.hierarchies, table.person)
        coded = encode(table)
        ids, index = class_ids(group[:, None].astype(np.int32), [8])
        ok = constraint.satisfied(groups_of(coded, ids, len(index))).all()
        if persons and name == "distinct":
            assert not ok or verify(published).ok  # one value a person, chosen beforehand: never too bold
        elif not persons or name in ("k", "entropy", "recursive", "alpha", "alpha of two"):
            assert ok == verify(published).ok


STRICTEST = {  # constraint of a level, level of the verifier, whether a stricter one is a higher one
    "distinct": (lambda x: DistinctL(round(x), "disease"), lambda t: privacy.distinct_l_diversity(t, "disease", 1), 1),
    "entropy": (lambda x: EntropyL(x, "disease"), lambda t: privacy.entropy_l_diversity(t, "disease", 1), 1),
    "alpha": (lambda x: AlphaK(x, "disease"), lambda t: privacy.alpha_k_anonymity(t, "disease", 1, 1), -1),
    "beta": (lambda x: BetaLikeness(x, "disease"), lambda t: privacy.beta_likeness(t, "disease", 9), -1),
    "t equal": (lambda x: TCloseness(x, "disease"), lambda t: closeness.t_closeness(t, "disease", 1), -1),
    "t ordered": (
        lambda x: TCloseness(x, "disease", "ordered"), lambda t: closeness.t_closeness(t, "disease", 1, "ordered"), -1
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRICTEST)
def test_a_partition_satisfies_the_level_that_it_reaches_and_none_that_is_stricter(name: str) -> None:
    constraint, verify, higher = STRICTEST[name]
    for seed in range(20):
        table = random_table(40, seed)
        group = np.random.default_rng(seed).integers(0, 3, 40)
        frame = table.frame.assign(age=group, sex="F", place="Lyon")
        level = verify(Microdata(frame, table.roles, table.hierarchies)).level
        level = level[0] if isinstance(level, tuple) else level
        groups = groups_of(encode(table), group.astype(np.intp), 3)
        assert constraint(level).satisfied(groups).all(), seed
        more = 1 if name == "distinct" else 1e-6
        assert not constraint(level + higher * more).satisfied(groups).all(), seed


def test_five_rows_of_one_person_are_one_person() -> None:
    table = random_table(5, 0, persons=1)
    coded = encode(table)
    groups = groups_of(coded, np.zeros(5, dtype=np.intp), 1)
    assert groups.sizes.tolist() == [1]
    assert not DistinctL(2, "disease").satisfied(groups)[0]


@given(st.integers(0, 10_000), st.sampled_from(sorted(MODELS)))
@settings(max_examples=60)
def test_the_union_of_two_good_groups_is_good(seed: int, name: str) -> None:
    constraint, _ = MODELS[name]
    coded = encode(random_table(40, seed))
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 4, 40)
    ids[:4] = range(4)
    ok = constraint.satisfied(groups_of(coded, ids, 4))
    for a, b in itertools.combinations(np.flatnonzero(ok), 2):
        merged = np.where(ids == b, a, ids)
        left, numbers = np.unique(merged, return_inverse=True)
        assert constraint.satisfied(groups_of(coded, numbers, len(left)))[np.searchsorted(left, a)]


def test_combinations() -> None:
    coded = encode(random_table(30, 1))
    groups = groups_of(coded, np.arange(30) % 3, 3)
    yes, no = KAnonymity(10), KAnonymity(11)
    assert All((yes, DistinctL(1, "disease"))).satisfied(groups).all()
    assert not All((yes, no)).satisfied(groups).any()
    assert AnyOf((yes, no)).satisfied(groups).all()
    assert smallest_group(All((KAnonymity(4), AnyOf((KAnonymity(9), KAnonymity(6)))))) == 6


def test_a_constraint_that_cannot_be_reached_is_named() -> None:
    coded = encode(random_table(30, 1))
    with pytest.raises(ConfigError, match=r"30 records can reach distinct 5-diversity of disease\."):
        require_feasible(coded, All((KAnonymity(3), DistinctL(5, "disease"))))


@pytest.mark.parametrize("seed", range(6))
def test_closeness_along_a_hierarchy_is_what_the_verifier_says(seed: int) -> None:
    """Over places of three levels: a move within a country costs less than one between continents."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"group": rng.integers(0, 4, 40), "place": rng.choice(REGIONS.leaves(), 40)})
    table = Microdata(frame, {"group": "quasi-identifier", "place": "sensitive"}, {"place": REGIONS})
    coded = encode(table)
    ids, index = class_ids(coded.codes, [column.size for column in coded.columns])
    groups = groups_of(coded, ids, len(index))
    level = closeness.t_closeness(table, "place", 1, "hierarchical").level
    assert 0 < level < 1
    assert TCloseness(level + 1e-6, "place", "hierarchical").satisfied(groups).all()
    assert not TCloseness(level - 1e-6, "place", "hierarchical").satisfied(groups).all()


@pytest.mark.parametrize("model", [EpsilonM(10, 2, "disease"), RangeDiversity(0.1, 0.5, "disease")])
def test_a_model_of_numbers_refuses_words(model: Constraint) -> None:
    coded = encode(random_table(20, 1))
    ids, index = class_ids(coded.codes, [column.size for column in coded.columns])
    with pytest.raises(ConfigError, match="'disease' is not numeric"):
        model.satisfied(groups_of(coded, ids, len(index)))


@pytest.mark.parametrize(("c", "l", "holds"), [(1.0, 2, False), (1.05, 2, True), (3.0, 3, False), (3.05, 3, True)])
def test_recursive_diversity_compares_the_most_frequent_with_the_rest(c: float, l: int, holds: bool) -> None:  # noqa: E741
    """Counts 3, 2, 1: 3 < c (2 + 1), and 3 < c 1."""
    frame = pd.DataFrame({"group": ["x"] * 6, "disease": list("aaabbc")})
    coded = encode(Microdata(frame, {"group": "quasi-identifier", "disease": "sensitive"}))
    groups = groups_of(coded, np.zeros(6, np.intp), 1)
    assert RecursiveL(c, l, "disease").satisfied(groups).tolist() == [holds]


@pytest.mark.parametrize("values", [1, 2, 3, 5])
def test_closeness_in_order_is_what_the_verifier_says_with_few_values(values: int) -> None:
    rng = np.random.default_rng(values)
    frame = pd.DataFrame({"group": rng.integers(0, 3, 30), "stage": rng.integers(0, values, 30)})
    table = Microdata(frame, {"group": "quasi-identifier", "stage": "sensitive"})
    coded = encode(table)
    ids, index = class_ids(coded.codes, [column.size for column in coded.columns])
    groups = groups_of(coded, ids, len(index))
    level = closeness.t_closeness(table, "stage", 1, "ordered").level
    assert TCloseness(level + 1e-6, "stage", "ordered").satisfied(groups).all()
    assert values == 1 or not TCloseness(level - 1e-6, "stage", "ordered").satisfied(groups).all()


@pytest.mark.parametrize(
    ("values", "fit"),
    [((), [False, False, True]), (("hiv",), [True, False, True]), (("flu",), [False, True, True]),
     (("flu", "hiv"), [False, False, True]), (("other",), [True, True, True])],
)  # fmt: skip
def test_only_the_values_that_are_named_may_not_be_frequent(values: tuple[str, ...], fit: list[bool]) -> None:
    dx = [*["flu"] * 4, "hiv", *["hiv"] * 4, "flu", "flu", "hiv", "flu", "hiv"]
    frame = pd.DataFrame({"group": [0] * 5 + [1] * 5 + [2] * 4, "dx": dx})
    coded = encode(Microdata(frame, {"group": "quasi-identifier", "dx": "sensitive"}))
    ids, index = class_ids(coded.codes, [column.size for column in coded.columns])
    assert AlphaK(0.5, "dx", values).satisfied(groups_of(coded, ids, len(index))).tolist() == fit


def test_models_are_called_what_the_field_calls_them() -> None:
    parts = KAnonymity(5), AlphaK(0.5, "dx"), DistinctL(3, "dx")
    assert str(All(parts)) == "5-anonymity and alpha 0.5 of dx and distinct 3-diversity of dx"
    assert str(AnyOf(parts[:2])) == "(5-anonymity or alpha 0.5 of dx)"
    near = TCloseness(0.2, "dx")
    assert closeness_in(All((KAnonymity(5), near))) == near
    assert closeness_in(All(parts)) is closeness_in(All((near, TCloseness(0.2, "ward")))) is None


@pytest.mark.parametrize("t", [0.0, 1.0])
def test_bounds_of_closeness_are_levels_and_what_lies_beyond_is_none(t: float) -> None:
    assert TCloseness(t, "dx").t == t
    for wrong in (-0.01, 1.01):
        with pytest.raises(ConfigError):
            TCloseness(wrong, "dx")
