"""Verifiers on the published table: worked examples, brute force, persons, missing and suppressed values."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from small_tables import NINE, microdata

from deid.base.errors import ConfigError, InputError
from deid.disclosure.classes import equivalence_classes, value_counts
from deid.disclosure.closeness import class_distances, t_closeness
from deid.disclosure.privacy import (
    alpha_k_anonymity,
    beta_likeness,
    distinct_l_diversity,
    entropy_l_diversity,
    epsilon_m_anonymity,
    k_anonymity,
    personalised_privacy,
    range_diversity,
    recursive_l_diversity,
)
from deid.table.hierarchy import Hierarchy, hierarchy_from_rows


def test_nine_rows_are_2_anonymous_and_1_diverse() -> None:
    assert k_anonymity(NINE, 2) == k_anonymity(NINE, 2)
    verdict = k_anonymity(NINE, 2)
    assert verdict.ok
    assert verdict.level == 2
    assert not k_anonymity(NINE, 3).ok
    assert k_anonymity(NINE, 3).witness == (0, 1)
    diverse = distinct_l_diversity(NINE, "disease", 2)
    assert (diverse.ok, diverse.level, diverse.witness) == (False, 1, (2, 3))
    assert distinct_l_diversity(NINE, "disease", 1).ok


def test_nine_rows_entropy_and_distances() -> None:
    counts = value_counts(NINE, "disease")
    entropies = np.bincount(counts.owners, weights=-counts.shares * np.log(counts.shares))
    assert np.exp(entropies) == pytest.approx([2, 1, 2, 3])
    assert class_distances(counts) == pytest.approx([0.556, 0.778, 0.778, 0.444], abs=5e-4)
    assert t_closeness(NINE, "disease", 0.5).level == pytest.approx(7 / 9)
    assert entropy_l_diversity(NINE, "disease", 1).ok
    assert entropy_l_diversity(NINE, "disease", 2).witness == (2, 3)
    assert alpha_k_anonymity(NINE, "disease", 1, 2).level == (1.0, 2.0)
    assert not alpha_k_anonymity(NINE, "disease", 0.9, 2).ok


def test_entropy_of_equal_shares_reaches_the_number_of_values() -> None:
    for values in (3, 5, 7, 10):
        table = microdata([("a", str(value)) for value in range(values)], "q s!")
        assert entropy_l_diversity(table, "s", values).ok, values


def test_five_rows_and_their_lonely_one() -> None:
    ages = ["[30-39]"] * 2 + ["[40-49]"] * 2 + ["[20-29]"]
    table = microdata([(age,) for age in ages], "age")
    assert not k_anonymity(table, 2).ok
    assert k_anonymity(table, 2).witness == (4,)
    assert k_anonymity(microdata([(age,) for age in ages[:4]], "age"), 2).ok


def test_suppressed_sex_5_anonymous_2_diverse() -> None:
    rows = [("*", "[30-39]", "61XXX", disease) for disease in ["Cancer"] * 4 + ["Broken Leg"]]
    table = microdata(rows, "sex age zip disease!")
    assert k_anonymity(table, 5).ok
    assert distinct_l_diversity(table, "disease", 2).ok
    assert distinct_l_diversity(table, "disease", 2).level == 2


def test_frequencies_of_the_tutorial() -> None:
    table = microdata([("a", d) for d in ["HIV"] * 4 + ["Flu", "Cancer"]], "q disease!")
    assert distinct_l_diversity(table, "disease", 3).ok
    assert alpha_k_anonymity(table, "disease", 2 / 3, 6).ok
    assert alpha_k_anonymity(table, "disease", 0.66, 6).level == (pytest.approx(4 / 6), 6.0)
    assert alpha_k_anonymity(table, "disease", 0.2, 6, ["Flu"]).ok
    two = microdata([("a", "Ovarian"), ("a", "Flu")], "q disease!")
    assert alpha_k_anonymity(two, "disease", 0.5, 2).ok
    starred = microdata([("4*", "NW1*", "M")] * 2 + [("*", "NW*", "*")] * 2, "age postcode sex")
    assert k_anonymity(starred, 2).ok


def test_three_rows_of_greg_and_jim() -> None:
    rows = [(20, "NW10", "M"), (20, "NW10", "M"), (45, "NW15", "M")]
    assert k_anonymity(microdata(rows, "age postcode sex"), 2).witness == (2,)
    assert k_anonymity(microdata(rows[:2], "age postcode sex"), 2).ok
    values = microdata([("*", "NW10", "M"), ("*", "NW10", "M")], "age postcode sex")
    assert k_anonymity(values, 2).ok


def test_dissertation_table_is_2_anonymous_2_diverse() -> None:
    rows = [
        ("[25-28]", "Male", "[53710-53711]", "Influenza"),
        ("[25-28]", "Female", "53712", "Lymphoma"),
        ("[25-28]", "Male", "[53710-53711]", "Bronchitis"),
        ("[25-28]", "Female", "53712", "Influenza"),
    ]
    table = microdata(rows, "age gender zip disease!")
    assert k_anonymity(table, 2).level == 2
    assert distinct_l_diversity(table, "disease", 2).level == 2


@pytest.mark.parametrize(("salaries", "expected"), [((3, 4, 5), 0.375), ((6, 8, 11), 1 / 6)])
def test_ordered_distance_of_salaries(salaries: tuple[int, ...], expected: float) -> None:
    # the whole table is uniform over 3 to 11 thousand: the class, and one class with all that is missing
    others = [s for s in range(3, 12) if s not in salaries]
    table = microdata([("a", s) for s in salaries] + [("b", s) for s in others], "q salary!")
    assert class_distances(value_counts(table, "salary"), "ordered")[0] == pytest.approx(expected)


TREE = hierarchy_from_rows(
    [
        ("flu", "respiratory", "any"),
        ("pneumonia", "respiratory", "any"),
        ("asthma", "respiratory", "any"),
        ("ulcer", "digestive", "any"),
        ("gastritis", "digestive", "any"),
        ("hiv", "any"),
    ],
    "disease",
)


def _transport(p: np.ndarray, q: np.ndarray, cost: np.ndarray) -> float:
    """Return the earth mover's distance by linear programming."""
    from scipy.optimize import linprog

    m = len(p)
    rows = np.zeros((2 * m, m * m))
    for i in range(m):
        rows[i, i * m : (i + 1) * m] = 1
        rows[m + i, i::m] = 1
    return float(linprog(cost.ravel(), A_eq=rows, b_eq=np.concatenate([p, q])).fun)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(sorted(TREE.leaves()))), min_size=2, max_size=12))
def test_distances_are_those_of_the_transport_problem(rows: list[tuple[str, str]]) -> None:
    table = microdata(rows, "q disease!", hierarchies={"disease": TREE})
    counts = value_counts(table, "disease")
    values = counts.values
    m = len(values)
    tree = np.array([[TREE.level(TREE.lowest_common_ancestor([a, b])) / TREE.height for b in values] for a in values])
    costs = {
        "equal": 1.0 - np.eye(m),
        "ordered": np.abs(np.subtract.outer(np.arange(m), np.arange(m))) / max(m - 1, 1),
        "hierarchical": tree,
    }
    for distance, cost in costs.items():
        found = class_distances(counts, distance, TREE)
        for number in range(len(counts.classes)):
            p = np.zeros(m)
            mine = counts.owners == number
            p[counts.codes[mine]] = counts.shares[mine]
            assert found[number] == pytest.approx(_transport(p, counts.overall, cost), abs=1e-9), distance


def test_recursive_diversity() -> None:
    table = microdata([("a", s) for s in "xxxxyyyzzw"], "q s!")  # 4, 3, 2, 1
    assert recursive_l_diversity(table, "s", 1.4, 3).ok  # 4 < 1.4 (2 + 1)
    assert recursive_l_diversity(table, "s", 4 / 3, 3).level == pytest.approx(4 / 3)
    assert not recursive_l_diversity(table, "s", 4 / 3, 3).ok
    assert not recursive_l_diversity(table, "s", 1e9, 5).ok  # fewer than l values: an empty sum


def test_beta_likeness() -> None:
    rows = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "y"), ("b", "z")]
    table = microdata(rows, "q s!")  # x: 1/3 overall, 2/3 in a: gain 1; z: 1/6 overall, 1/3 in b: gain 1
    assert beta_likeness(table, "s", 1).level == pytest.approx(1)
    assert beta_likeness(table, "s", 1).ok
    assert not beta_likeness(table, "s", 0.9).ok
    assert beta_likeness(table, "s", 1, enhanced=True).ok  # 1 <= -ln(1/3) = 1.0986
    common = microdata([("a", "x")] * 3 + [("b", "x"), ("b", "y")], "q s!")  # x: 4/5 overall, gain 1/4
    assert beta_likeness(common, "s", 1.5).ok
    assert not beta_likeness(common, "s", 1.5, enhanced=True).ok  # 1/4 > -ln(4/5) = .223


def test_numbers_that_are_too_near() -> None:
    table = microdata([("a", x) for x in (1000, 1010, 1020, 5000)], "q salary!")
    assert epsilon_m_anonymity(table, "salary", 10, 4 / 3).ok  # 1010 has three of four within 10
    assert epsilon_m_anonymity(table, "salary", 10, 2).level == pytest.approx(4 / 3)
    assert epsilon_m_anonymity(table, "salary", 9, 4).ok
    assert epsilon_m_anonymity(table, "salary", 0.005, 4, relative=True).ok
    assert not epsilon_m_anonymity(table, "salary", 0.01, 2, relative=True).ok
    assert range_diversity(table, "salary", 20 / 4000, 0.75).ok
    assert range_diversity(table, "salary", 20 / 4000, 0.74).level == pytest.approx(0.75)
    assert range_diversity(table, "salary", 19 / 4000, 0.5).ok
    with pytest.raises(InputError, match="column 'disease', row 5: not a number"):
        range_diversity(NINE, "disease", 0.1, 0.5)


def test_guarding_nodes() -> None:
    rows = [("a", "flu"), ("a", "pneumonia"), ("a", "ulcer"), ("a", "hiv")]
    table = microdata(rows, "q disease!", hierarchies={"disease": TREE})
    guards = ["respiratory", None, "ulcer", None]
    verdict = personalised_privacy(table, "disease", guards, 0.5)
    assert (verdict.ok, verdict.level, verdict.witness) == (True, 0.5, (0,))
    assert not personalised_privacy(table, "disease", guards, 0.4).ok
    # the value itself may be published in general: respiratory has three leaves, one of them guarded
    general = microdata([("a", "respiratory"), ("a", "hiv")], "q disease!", hierarchies={"disease": TREE})
    assert personalised_privacy(general, "disease", ["flu", None], 1).level == pytest.approx(1 / 6)
    assert personalised_privacy(general, "disease", [None, None], 0).ok
    with pytest.raises(ConfigError, match="1 guards for 2 rows"):
        personalised_privacy(general, "disease", ["flu"], 1)


def test_five_notes_of_one_patient_are_one_person() -> None:
    notes = [("p1", 30, d) for d in ("HIV", "Flu", "Cancer", "TB", "Asthma")]
    table = microdata(notes, "mrn. age disease!", person="mrn")
    assert k_anonymity(table, 5).level == 1
    assert distinct_l_diversity(table, "disease", 2).level == 1
    more = microdata([*notes, ("p2", 30, "HIV"), ("p3", 30, "HIV")], "mrn. age disease!", person="mrn")
    assert k_anonymity(more, 3).ok
    assert distinct_l_diversity(more, "disease", 3).level == 2  # p2 and p3 have one value between them
    assert alpha_k_anonymity(more, "disease", 0.5, 3).level == (1.0, 3.0)  # all three have HIV


def test_missing_values_are_a_class_and_no_diversity() -> None:
    table = microdata([(30, "HIV"), (30, None), (None, "Flu"), (None, "HIV")], "age disease!")
    assert k_anonymity(table, 2).ok
    assert distinct_l_diversity(table, "disease", 2).level == 1
    assert alpha_k_anonymity(table, "disease", 0.5, 2).level[0] == 1.0  # type: ignore[index]
    nothing = microdata([(30, None), (30, None), (40, "HIV"), (40, "Flu")], "age disease!")
    assert distinct_l_diversity(nothing, "disease", 2).ok
    hidden = microdata([(30, "HIV"), (30, "*")], "age disease!")
    assert distinct_l_diversity(hidden, "disease", 2).level == 1


def test_suppressed_rows_are_a_class_unless_they_are_ignored() -> None:
    table = microdata([("*", "*"), (30, "M"), (30, "M"), ("*", "M"), ("*", "M")], "age sex")
    assert not k_anonymity(table, 2).ok
    assert k_anonymity(table, 2).witness == (0,)
    assert k_anonymity(replace(table, ignore_suppressed=True), 2).ok
    assert equivalence_classes(replace(table, ignore_suppressed=True)).ids.tolist() == [-1, 0, 0, 1, 1]
    assert equivalence_classes(replace(table, ignore_suppressed=True), ["age"]).ids.tolist() == [-1, 0, 0, -1, -1]
    with pytest.raises(InputError, match="every row is suppressed"):
        k_anonymity(replace(microdata([("*",), ("*",)], "age"), ignore_suppressed=True), 2)


@pytest.mark.parametrize(
    ("said", "model"),
    [
        ("k is 0", lambda: k_anonymity(NINE, 0)),
        ("l is 0", lambda: distinct_l_diversity(NINE, "disease", 0)),
        ("l is 0.9", lambda: entropy_l_diversity(NINE, "disease", 0.9)),
        ("l is 0", lambda: recursive_l_diversity(NINE, "disease", 1, 0)),
        ("c is -1", lambda: recursive_l_diversity(NINE, "disease", -1, 2)),
        ("alpha is -0.1", lambda: alpha_k_anonymity(NINE, "disease", -0.1, 2)),
        ("alpha is 1.1", lambda: alpha_k_anonymity(NINE, "disease", 1.1, 2)),
        ("k is 0", lambda: alpha_k_anonymity(NINE, "disease", 0.5, 0)),
        ("beta is -1", lambda: beta_likeness(NINE, "disease", -1)),
        ("t is 2", lambda: t_closeness(NINE, "disease", 2)),
        ("t is -0.1", lambda: t_closeness(NINE, "disease", -0.1)),
        ("epsilon is -1", lambda: epsilon_m_anonymity(NINE, "age", -1, 2)),
        ("m is 0.5", lambda: epsilon_m_anonymity(NINE, "age", 1, 0.5)),
        ("width is 2", lambda: range_diversity(NINE, "age", 2, 0.5)),
        ("alpha is 2", lambda: range_diversity(NINE, "age", 0.5, 2)),
    ],
)
def test_levels_that_cannot_be_are_refused(said: str, model: Callable[[], object]) -> None:
    with pytest.raises(ConfigError, match=rf"^{re.escape(said)}\b"):
        model()


def test_unusable_parameters() -> None:
    with pytest.raises(ConfigError, match=r"no column 'diseases'.*did you mean 'disease'"):
        distinct_l_diversity(NINE, "diseases", 2)
    with pytest.raises(ConfigError, match="no hierarchy"):
        t_closeness(NINE, "disease", 0.5, "hierarchical")


CELLS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2]), st.sampled_from("vwxyz"))


@given(st.lists(CELLS, min_size=1, max_size=25))
def test_levels_are_those_of_the_definitions(rows: list[tuple[str | None, int, str]]) -> None:
    table = microdata(rows, "p q s!")
    groups: dict[tuple[object, object], list[str]] = defaultdict(list)
    for p, q, s in rows:
        groups[p, q].append(s)
    whole = Counter(s for *_, s in rows)
    shares = [{s: n / len(group) for s, n in Counter(group).items()} for group in groups.values()]
    assert k_anonymity(table, 1).level == min(map(len, groups.values()))
    assert distinct_l_diversity(table, "s", 1).level == min(map(len, shares))
    entropy = min(-sum(p * math.log(p) for p in share.values()) for share in shares)
    assert entropy_l_diversity(table, "s", 1).level == pytest.approx(math.exp(entropy))
    ranked = [sorted(Counter(group).values(), reverse=True) for group in groups.values()]
    ratio = max(r[0] / sum(r[1:]) if sum(r[1:]) else math.inf for r in ranked)
    assert recursive_l_diversity(table, "s", 2, 2).level == pytest.approx(ratio)
    assert alpha_k_anonymity(table, "s", 1, 1).level == (
        pytest.approx(max(max(share.values()) for share in shares)),
        min(map(len, groups.values())),
    )
    gain = max(p / (whole[s] / len(rows)) - 1 for share in shares for s, p in share.items())
    assert beta_likeness(table, "s", 100).level == pytest.approx(gain, abs=1e-12)
    assert t_closeness(table, "s", 1).ok
    assert t_closeness(table, "s", 1, "ordered").ok


def test_levels_of_a_table_with_many_values_are_those_of_the_definitions() -> None:
    """Far more possible cells than rows: classes are counted another way than in a small table."""
    random = np.random.default_rng(4)
    cells = [(int(a), int(a) % 7, f"s{b}") for a, b in zip(*random.integers(0, 850, (2, 3000)), strict=True)]
    table = microdata(cells, "p q s!")
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for p, q, s in cells:
        groups[p, q].append(s)
    verdict = k_anonymity(table, 2)
    assert verdict.level == min(map(len, groups.values())) == 1
    assert distinct_l_diversity(table, "s", 2).level == min(len(set(g)) for g in groups.values())
    counts = value_counts(table, "s")
    assert sorted(counts.counts.tolist()) == sorted(n for g in groups.values() for n in Counter(g).values())


@pytest.mark.parametrize("column", [["low", "high"], ["3", "much"], ["1e", "2"]])
def test_models_of_numbers_refuse_what_is_no_number(column: list[str]) -> None:
    table = microdata([("a", value) for value in column], "q s!")
    for check in (epsilon_m_anonymity, range_diversity):
        with pytest.raises((ConfigError, InputError), match=r"not (a number|numeric)"):
            check(table, "s", 0.5, 0.5 if check is range_diversity else 2)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=20), st.integers(0, 4))
def test_numeric_models_are_those_of_the_definitions(rows: list[tuple[str, int]], epsilon: int) -> None:
    table = microdata(rows, "q s!")
    groups = [[s for q, s in rows if q == name] for name in {q for q, _ in rows}]
    m = min(len(g) / sum(abs(x - y) <= epsilon for y in g) for g in groups for x in g)
    assert epsilon_m_anonymity(table, "s", epsilon, 1).level == pytest.approx(m)
    values = [s for _, s in rows]
    reach = epsilon / 9 * (max(values) - min(values)) + 1e-9
    share = max(sum(x <= y <= x + reach for y in g) / len(g) for g in groups for x in g)
    assert range_diversity(table, "s", epsilon / 9, 1).level == pytest.approx(share)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("pqr"), st.sampled_from("xyz")), min_size=1))
def test_persons_are_counted_once(rows: list[tuple[str, str, str]]) -> None:
    table = microdata(rows, "q who. s!", person="who")
    groups = {name: {(who, s) for q, who, s in rows if q == name} for name in {q for q, *_ in rows}}
    assert k_anonymity(table, 1).level == min(len({who for who, _ in group}) for group in groups.values())

    def distinct(group: set[tuple[str, str]]) -> int:
        people = sorted({who for who, _ in group})
        best = 0
        for chosen in itertools.product([*"xyz", None], repeat=len(people)):
            given_out = [(who, s) for who, s in zip(people, chosen, strict=True) if s is not None]
            if set(given_out) <= group and len({s for _, s in given_out}) == len(given_out):
                best = max(best, len(given_out))
        return best

    assert distinct_l_diversity(table, "s", 1).level == min(map(distinct, groups.values()))


def test_many_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(1)
    half = rng.integers(0, 50, size=(300, 200))
    table = microdata(np.concatenate([half, half]).tolist(), " ".join(f"c{i}" for i in range(200)))
    assert k_anonymity(table, 2).level == 2


def test_hierarchy_of_one_level_is_the_equal_distance() -> None:
    flat = Hierarchy("disease", dict.fromkeys(["Asthma", "Broken Leg", "Cancer", "HIV", "Influenza", "TB"], "*"))
    counts = value_counts(NINE, "disease")
    assert class_distances(counts, "hierarchical", flat) == pytest.approx(class_distances(counts, "equal"))


@given(st.lists(CELLS, min_size=1, max_size=25))
def test_any_table_meets_the_weakest_level_of_every_model(rows: list[tuple[str | None, int, str]]) -> None:
    table = microdata(rows, "p q s!")
    verdicts = [
        k_anonymity(table, 1),
        distinct_l_diversity(table, "s", 1),
        entropy_l_diversity(table, "s", 1),
        recursive_l_diversity(table, "s", 1.01, 1),
        alpha_k_anonymity(table, "s", 1, 1),
        t_closeness(table, "s", 1),
        beta_likeness(table, "s", len(rows)),
    ]
    assert all(verdict.ok for verdict in verdicts)
    one_class = microdata([("*", s) for *_, s in rows], "q s!")
    assert t_closeness(one_class, "s", 0).ok
    assert beta_likeness(one_class, "s", 0).ok


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["v", "w", "x", None, "*"])), min_size=1, max_size=25))
@example([("a", None), ("a", "*"), ("a", "v"), ("a", "w"), ("a", "v")])
def test_rows_whose_sensitive_value_is_missing_or_suppressed_count_for_nothing(
    rows: list[tuple[str, str | None]],
) -> None:
    recorded = [row for row in rows if row[1] not in (None, "*")]
    assume(recorded)
    whole, known = microdata(rows, "q s!"), microdata(recorded, "q s!")
    for level in (
        lambda table: distinct_l_diversity(table, "s", 1).level,
        lambda table: entropy_l_diversity(table, "s", 1).level,
        lambda table: recursive_l_diversity(table, "s", 9, 2).level,
        lambda table: alpha_k_anonymity(table, "s", 1, 1).level[0],  # type: ignore[index]
        lambda table: beta_likeness(table, "s", 99).level,
        lambda table: t_closeness(table, "s", 1).level,
    ):
        assert level(whole) == pytest.approx(level(known))


def test_a_class_without_a_recorded_value_has_the_best_level_of_every_model() -> None:
    table = microdata([("a", None), ("a", None), ("b", "x"), ("b", "y")], "q s!")
    assert recursive_l_diversity(table, "s", 3, 2).level == 1  # that of b
    unknown = microdata([("a", None), ("b", None)], "q s!")
    assert recursive_l_diversity(unknown, "s", 3, 2).level == 0
    assert alpha_k_anonymity(unknown, "s", 0.5, 1).level == (0, 1)
    assert distinct_l_diversity(unknown, "s", 9).ok
    assert entropy_l_diversity(unknown, "s", 9).ok
