"""Searching with a population, and for guards: what is published is proved cell by cell."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import REGIONS, random_table
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, InputError
from deid.cli.main import app
from deid.disclosure import full_domain, methods, population_search
from deid.disclosure.assessment import PersonalGuard, Requirements
from deid.disclosure.constraints import All, Constraint, DistinctL
from deid.disclosure.encoding import CodedTable, encode
from deid.disclosure.full_domain import greedy_levels, lattice_size, level_ranges, optimal_levels
from deid.disclosure.methods import MethodOptions
from deid.disclosure.population_models import MEMBERSHIP, KMap, OfRows, Presence
from deid.disclosure.population_search import joined
from deid.disclosure.privacy import personalised_privacy
from deid.disclosure.release import Release, anonymize
from deid.table.hierarchy import Hierarchy, hierarchy_from_rows
from deid.table.microdata import Microdata
from deid.table.table_files import read_table

QUASI = ("age", "sex", "place")
DISEASES = hierarchy_from_rows(
    [
        ("flu", "airways", "*"),
        ("cold", "airways", "*"),
        ("asthma", "airways", "*"),
        ("cancer", "tumour", "*"),
    ],
    "disease",
)


def pair(seed: int, members: int, rows: int, *, hierarchies: bool = True) -> tuple[Microdata, Microdata]:
    """A table and the population that it was drawn from, in an order of its own."""
    whole = random_table(members, seed)
    drawn = np.random.default_rng(seed).choice(members, rows, replace=False)
    data = dataclasses.replace(
        whole,
        frame=whole.frame.iloc[drawn].reset_index(drop=True),
        hierarchies=whole.hierarchies if hierarchies else {},
    )
    people = Microdata(
        whole.frame[list(QUASI)], dict.fromkeys(QUASI, "quasi-identifier"), whole.hierarchies if hierarchies else {}
    )
    return data, people


def covers(cell: str, value: str) -> bool:
    """Whether a published cell speaks of a value, by what a reader of the release sees."""
    if cell in (value, "*"):
        return True
    if cell.startswith("["):
        low, high = cell[1:-1].split("-")
        return float(low) <= float(value) <= float(high)
    if cell.startswith("{"):
        return value in cell[1:-1].split(",")
    return cell in REGIONS and value in REGIONS and REGIONS.covers(cell, value)


def matches(release: Release, people: Microdata) -> np.ndarray:
    """[published rows, members] whether a row's cells speak of a member."""
    published = release.published.frame.astype(str)
    result = np.ones((len(published), len(people)), dtype=bool)
    for name in QUASI:
        values = people.frame[name].astype(str).tolist()
        for row, cell in enumerate(published[name]):
            result[row] &= [covers(cell, value) for value in values]
    return result


def chances(release: Release, people: Microdata) -> np.ndarray:
    """The chance of each member to be in the table: over the classes that match, published rows over members."""
    found = matches(release, people)
    cells = [tuple(row) for row in release.published.frame[list(QUASI)].astype(str).to_numpy()]
    total = np.zeros(len(people))
    for cell in set(cells):
        own = [row for row, other in enumerate(cells) if other == cell]
        total += found[own[0]] * (len(own) / found[own[0]].sum())
    return total


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.booleans())
def test_k_map_by_every_cell(seed: int, k: int, hierarchies: bool) -> None:
    data, people = pair(seed, 90, 30, hierarchies=hierarchies)
    release = anonymize(data, Requirements(k_map=k), population=people)
    assert matches(release, people).sum(axis=1).min() >= k
    assert release.against is not None
    assert release.against.smallest_match >= k
    assert len(release.rows) == 30


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.booleans(), st.sampled_from([None, 3]))
def test_k_map_by_local_recoding_by_every_cell(seed: int, k: int, hierarchies: bool, least: int | None) -> None:
    data, people = pair(seed, 90, 30, hierarchies=hierarchies)
    release = anonymize(data, Requirements(k=least, k_map=k), "local", population=people)
    assert release.method == "local"
    assert matches(release, people).sum(axis=1).min() >= k
    if least is not None:
        assert release.published.frame.groupby(list(QUASI), observed=True).size().min() >= least


def test_local_recoding_with_a_population_loses_less_and_auto_takes_the_better() -> None:
    losses: dict[str, list[float]] = {"mondrian": [], "local": [], "auto": []}
    for seed in range(6):
        data, people = pair(seed, 900, 200)
        for method, found in losses.items():
            found.append(anonymize(data, Requirements(k_map=8), method, population=people).loss.ncp)
    assert np.mean(losses["local"]) < np.mean(losses["mondrian"])
    for one, other, found in zip(losses["mondrian"], losses["local"], losses["auto"], strict=True):
        assert found <= min(one, other)
    strange = dataclasses.replace(data, frame=data.frame.assign(age=data.frame["age"] + 1000))
    with pytest.raises(InputError, match="no member of the population has"):
        anonymize(strange, Requirements(k_map=2), "local", population=people)
    with pytest.raises(ConfigError, match="which presence does not bear"):
        anonymize(data, Requirements(presence=(0.0, 0.5)), "local", population=people)


@pytest.mark.parametrize(("at_once", "most"), [(1, 99), (1 << 22, 99), (1 << 22, 1)])
def test_rows_move_to_the_least_general_group_of_enough_members_that_covers_them(
    at_once: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ages of four rows and eight members; where pairs are too many, nothing moves."""
    monkeypatch.setattr(population_search, "_AT_ONCE", at_once)
    monkeypatch.setattr(population_search, "_MOST_PAIRS", most)
    ages = [3, 5, 9, 4, *(0, 8, 9), *(2, 3, 4), *(5, 5)]
    coded = encode(Microdata(pd.DataFrame({"age": ages}), {"age": "quasi-identifier"}))
    classes = np.array([0] * 7 + [1] * 3 + [2] * 2)
    moved = population_search._least_general(coded, classes, 4, 3)
    assert moved.tolist() == ([1, 0, 0, 1] if most > 1 else [0] * 4) + classes[4:].tolist()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from([(0.0, 0.5), (0.0, 0.8), (0.1, 0.7), (0.2, 0.6)]), st.booleans(),
    st.sampled_from(["auto", "optimal", "greedy"]), st.sampled_from([0.0, 0.2]),
)  # fmt: skip
def test_presence_by_every_cell(
    seed: int, bounds: tuple[float, float], hierarchies: bool, method: str, suppression: float
) -> None:
    data, people = pair(seed, 90, 30, hierarchies=hierarchies)
    asked, options = Requirements(presence=bounds), MethodOptions(suppression=suppression)
    release = anonymize(data, asked, method, options, population=people)
    assert len(release.rows) >= (1 - suppression) * len(data)
    assert release.method == method.replace("auto", "mondrian")
    found = chances(release, people)
    assert found.min() >= bounds[0] - 1e-9
    assert found.max() <= bounds[1] + 1e-9


def best_of_all(coded: CodedTable, count: int, constraint: Constraint, allowed: float) -> float | None:
    """Least loss of the first rows over all level vectors, one class at a time; None where no vector suffices."""
    parts = constraint.parts if isinstance(constraint, All) else (constraint,)
    diseases = coded.sensitive["disease"][1]

    def good(rows: list[int], members: int) -> bool:
        for part in parts:
            if isinstance(part, KMap):
                fine = members >= part.k or not rows
            elif isinstance(part, Presence):
                fine = part.low <= len(rows) / max(members, 1) <= part.high
            else:
                assert isinstance(part, OfRows)
                fine = len({int(diseases[row]) for row in rows}) >= part.inner.l or not rows
            if not fine:
                return False
        return True

    tops = []
    for column in coded.columns:
        levels = (level_ranges(column, level) for level in itertools.count())
        tops.append(next(level for level, (low, high) in enumerate(levels) if len({*low}) == len({*high}) == 1))
    least = None
    for vector in itertools.product(*(range(top + 1) for top in tops)):
        ranges = [level_ranges(column, level) for column, level in zip(coded.columns, vector, strict=True)]
        classes: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for row, codes in enumerate(coded.codes):
            cells = tuple((int(low[code]), int(high[code])) for code, (low, high) in zip(codes, ranges, strict=True))
            classes.setdefault(cells, []).append(row)
        gone, lost, wrong = 0, 0.0, False
        for cells, both in classes.items():
            rows = [row for row in both if row < count]
            cost = sum(
                float(column.loss(np.array([low]), np.array([high]))[0])
                for column, (low, high) in zip(coded.columns, cells, strict=True)
            )
            kept = good(rows, len(both) - len(rows))
            wrong |= not kept
            gone += 0 if kept else len(rows)
            lost += len(rows) * (cost if kept else len(cells))
        if (gone <= allowed * count + 1e-9) if allowed else not wrong:
            loss = lost / (count * len(coded.columns))
            least = loss if least is None else min(least, loss)
    return least


@pytest.mark.parametrize(
    ("constraint", "suppression"),
    [
        *itertools.product(
            [
                KMap(6),
                Presence(0, 0.45),
                All((KMap(6), Presence(0, 0.6))),
                All((KMap(4), OfRows(DistinctL(2, "disease")))),
            ],
            [0.0, 0.05, 0.3],
        ),
        (Presence(0.1, 0.6), 0.0),
    ],
    ids=str,
)
def test_one_level_a_column_is_the_best_of_all_for_the_released_rows(
    constraint: Constraint, suppression: float
) -> None:
    for seed in range(4):
        data, people = pair(seed, 60, 20)
        _, coded = joined(data, people)
        expected = best_of_all(coded, len(data), constraint, suppression)
        assert expected is not None
        small, ids = coded.collapse()
        released = small.sensitive[MEMBERSHIP][1] == 1
        found = optimal_levels(small, constraint, suppression, released=released)
        assert found.loss == pytest.approx(expected)
        assert found.suppressed[ids][: len(data)].sum() <= suppression * len(data)
        assert greedy_levels(small, constraint, suppression, released=released).loss >= expected - 1e-12


def test_one_level_a_column_with_a_population() -> None:
    data, people = pair(5, 300, 80)
    asked = Requirements(presence=(0.0, 0.6), k_map=3)
    losses = [anonymize(data, asked, method, population=people).loss.ncp for method in ("optimal", "greedy")]
    assert losses[0] <= losses[1] < 1
    # a few rows that stand out decide the levels of all: suppressing them loses less
    some = MethodOptions(suppression=0.1)
    release = anonymize(data, asked, "optimal", some, population=people)
    assert 72 <= len(release.rows) < 80
    assert release.loss.ncp < losses[0] - 0.1
    assert chances(release, people).max() <= 0.6 + 1e-9
    assert matches(release, people).sum(axis=1).min() >= 3
    # who is suppressed would be known to be absent
    bounded = anonymize(data, Requirements(presence=(0.1, 0.6)), "optimal", some, population=people)
    assert len(bounded.rows) == 80
    with pytest.raises(ConfigError, match="does not look at a population"):
        anonymize(data, Requirements(k_map=3), "mdav", population=people)


@pytest.mark.parametrize("populated", [True, False])
def test_a_lattice_is_searched_whole_up_to_so_many_levels(monkeypatch: pytest.MonkeyPatch, populated: bool) -> None:
    data, people = pair(7, 120, 40 if populated else 20)
    asked = Requirements(k_map=4) if populated else Requirements(k=4)

    def loss(method: str) -> float:
        return anonymize(data, asked, method, population=people if populated else None).loss.ncp

    optimal, greedy, others = loss("optimal"), loss("greedy"), loss("mondrian")
    assert others < optimal < greedy
    size = lattice_size(joined(data, people)[1].collapse()[0] if populated else encode(data))
    for most, expected in ((size, optimal), (size - 1, greedy)):
        for module in (full_domain, methods, population_search):
            monkeypatch.setattr(module, "MAX_NODES", most)
        assert (loss("optimal"), loss("mondrian")) == (expected, others)


def test_with_models_of_the_rows_alone() -> None:
    data, people = pair(3, 300, 120)
    asked = Requirements(k=4, l=2, k_map=9, presence=(0.0, 0.7))
    release = anonymize(data, asked, population=people)
    frame = release.published.frame
    groups = frame.groupby(list(QUASI), observed=True)
    assert groups.size().min() >= 4
    assert groups["disease"].nunique().min() >= 2
    assert matches(release, people).sum(axis=1).min() >= 9
    assert chances(release, people).max() <= 0.7 + 1e-9
    # asking less loses less: k-map lets a class be smaller than its population
    mapped = anonymize(data, Requirements(k_map=4), population=people)
    assert mapped.loss.ncp < anonymize(data, Requirements(k=4), "mondrian").loss.ncp


def test_persons_with_several_rows() -> None:
    whole = random_table(200, 5)
    people = Microdata(whole.frame[list(QUASI)], dict.fromkeys(QUASI, "quasi-identifier"), whole.hierarchies)
    frame = pd.concat([whole.frame.iloc[:40], whole.frame.iloc[:40]], ignore_index=True)
    frame["person"] = [*range(40), *range(40)]
    data = Microdata(frame, whole.roles, whole.hierarchies, "person")
    release = anonymize(data, Requirements(k=3, presence=(0, 0.5)), population=people)
    published = release.recoded.frame
    assert published.groupby(list(QUASI), observed=True)["person"].nunique().min() >= 3


def test_order_of_rows_and_of_the_population_changes_nothing() -> None:
    data, people = pair(7, 200, 60)
    one = anonymize(data, Requirements(k_map=5, presence=(0, 0.6)), population=people)
    turned = dataclasses.replace(data, frame=data.frame.iloc[::-1].reset_index(drop=True))
    others = dataclasses.replace(people, frame=people.frame.sample(frac=1, random_state=1).reset_index(drop=True))
    two = anonymize(turned, Requirements(k_map=5, presence=(0, 0.6)), population=others)
    pd.testing.assert_frame_equal(one.table(), two.table())


@pytest.mark.parametrize(
    ("asked", "method", "given_one", "kind", "message"),
    [
        (Requirements(k_map=2), "auto", False, ConfigError, "need a population"),
        (Requirements(k=2), "same-disease", False, ConfigError, "need a population"),
        (Requirements(k_map=2), "relaxed", True, ConfigError, "does not look at a population"),
        (Requirements(k_map=10_000), "auto", True, ConfigError, "can reach 10000-map"),
        (Requirements(presence=(0, 0.01)), "auto", True, ConfigError, "can reach presence"),
        (Requirements(presence=(0.9, 0.1)), "auto", True, ConfigError, "in order"),
        (Requirements(k=2, l=2), "same-disease", True, ConfigError, "takes k alone"),
        (
            Requirements(k_map=2, guard=PersonalGuard("age", 0.5)),
            "auto",
            True,
            ConfigError,
            "guards go with no population",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    asked: Requirements, method: str, given_one: bool, kind: type[DeidError], message: str
) -> None:
    data, people = pair(1, 60, 20)
    with pytest.raises(kind, match=message):
        anonymize(data, asked, method, population=people if given_one else None)


def test_a_population_without_the_patients_is_refused() -> None:
    data, people = pair(1, 60, 20)
    stranger = dataclasses.replace(people, frame=people.frame.assign(age=people.frame["age"] + 100))
    with pytest.raises((InputError, ConfigError)):
        anonymize(data, Requirements(k_map=2), population=stranger)
    few = dataclasses.replace(people, frame=people.frame.iloc[:5].reset_index(drop=True))
    with pytest.raises(InputError, match="20 rows, and 5 members"):
        anonymize(data, Requirements(k_map=2), population=few)


def guarding(rows: int, seed: int, tree: Hierarchy = DISEASES) -> Microdata:
    data = random_table(rows, seed)
    rng = np.random.default_rng(seed)
    frame = data.frame.assign(guards=rng.choice(["tumour", "cancer", "flu", None], rows, p=[0.2, 0.1, 0.2, 0.5]))
    return Microdata(frame, {**data.roles, "guards": "dropped"}, {**data.hierarchies, "disease": tree})


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.6, 0.75]))
def test_guards_by_every_row(seed: int, breach: float) -> None:
    data = guarding(80, seed)
    try:
        release = anonymize(data, Requirements(k=3, guard=PersonalGuard("guards", breach)))
    except ConfigError:  # not even the whole table as one class keeps it
        shares = [np.mean([DISEASES.covers(g, v) for v in data.frame["disease"]]) for g in ("tumour", "cancer", "flu")]
        assert max(shares) > breach
        return
    assert "guards" not in release.published.frame
    frame = release.recoded.frame
    for _, group in frame.groupby(list(QUASI), observed=True):
        assert len(group) >= 3
        for guard in group["guards"].dropna():
            share = np.mean([DISEASES.covers(guard, value) for value in group["disease"]])
            assert share <= breach + 1e-9


WRITTEN_TWICE = hierarchy_from_rows(
    [(name, above, "*") for name, above in [
        ("Flu", "airways"), ("cold", "airways"), ("asthma", "airways"), ("cancer", "tumour"), ("flu", "airways"),
    ]],
    "disease",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_a_guard_is_of_what_a_value_says_however_the_hierarchy_writes_it(seed: int) -> None:
    """*flu* and *Flu* are one disease to whoever reads them, and so to those who guard either."""
    data = guarding(80, seed, WRITTEN_TWICE)
    flips = np.random.default_rng(seed).random((2, len(data))) < 0.5
    frame = data.frame.copy()
    for column, flip in zip(("disease", "guards"), flips, strict=True):
        frame[column] = frame[column].where(~((frame[column] == "flu") & flip).fillna(False), "Flu")
    asked = Requirements(k=3, guard=PersonalGuard("guards", 0.5))
    release = anonymize(dataclasses.replace(data, frame=frame), asked)
    for _, group in release.recoded.frame.groupby(list(QUASI), observed=True):
        said = [value.lower() for value in group["disease"]]
        for guard in group["guards"].dropna():
            assert np.mean([DISEASES.covers(guard.lower(), value) for value in said]) <= 0.5 + 1e-9
    guards = [None if pd.isna(guard) else guard for guard in frame["guards"]]
    plain = dataclasses.replace(data, hierarchies={**data.hierarchies, "disease": DISEASES})
    lower = [None if guard is None else guard.lower() for guard in guards]
    told = personalised_privacy(dataclasses.replace(data, frame=frame), "disease", guards, 0.5)
    assert told.level == personalised_privacy(plain, "disease", lower, 0.5).level


def test_guards_change_what_is_found_and_are_refused_elsewhere() -> None:
    data = guarding(80, 2)
    free = anonymize(data, Requirements(k=3), "mondrian")
    kept = anonymize(data, Requirements(k=3, guard=PersonalGuard("guards", 0.5)), "mondrian")
    assert kept.loss.classes < free.loss.classes
    with pytest.raises(ConfigError, match="does not search for guards"):
        anonymize(data, Requirements(k=3, guard=PersonalGuard("guards", 0.5)), "local")
    bare = dataclasses.replace(data, hierarchies={})
    odd = dataclasses.replace(data, frame=data.frame.assign(guards="tumor"))
    with pytest.raises(ConfigError, match="no hierarchy"):
        anonymize(bare, Requirements(k=3, guard=PersonalGuard("guards", 0.5)))
    with pytest.raises(InputError, match="row 1"):
        anonymize(odd, Requirements(k=3, guard=PersonalGuard("guards", 0.5)))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_same_disease_by_every_cell(seed: int, least: int) -> None:
    data, people = pair(seed, 120, 40, hierarchies=False)
    release = anonymize(data, Requirements(k=least), "same-disease", population=people)
    assert release.published.frame.groupby(list(QUASI), observed=True).size().min() >= least
    found = matches(release, people).sum(axis=1)
    cells = [tuple(row) for row in release.published.frame[list(QUASI)].astype(str).to_numpy()]
    of_class = np.array([cells.count(cell) for cell in cells])
    assert release.against is not None
    assert release.against.instance.average == pytest.approx(np.mean(of_class / found))
    assert release.against.journalist.average == pytest.approx(np.mean(1 / found))


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {"zip": rng.choice(["02139", "02140", "02467", "10027"], 400), "age": rng.integers(20, 80, 400)}
    )
    people.to_csv("people.csv", index=False)
    people.iloc[:90].assign(dx=rng.choice(["a", "b"], 90)).to_csv("p.csv", index=False)
    said = ["p.csv", "--qi", "zip,age", "--sensitive", "dx", "--population", "people.csv"]

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, [*words])
        assert result.exit_code == 0, (result.output, result.exception)
        return result.output

    told = run("anonymize", *said, "--k-map", "6", "--presence", "0,.5", "-o", "map.csv")
    assert "k-map" in told
    assert "instance disclosure R" in told
    checked = ["--qi", "zip,age", "--sensitive", "dx", "--population", "people.csv"]
    run("privacy", "map.csv", *checked, "--k-map", "6", "--presence", "0,.5")
    run("anonymize", *said, "--k", "5", "--method", "same-disease", "--prefix", "zip", "-o", "same.csv")
    assert set(read_table("same.csv", text=True)["zip"].str.len()) <= {1, 5}
    run("privacy", "same.csv", *checked, "--k", "5")
