"""Rules that rule values out (Injector): by brute force over one and two columns, and what they leave of a release."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.disclosure.assessment import Requirements
from deid.disclosure.exclusion import exclusion_attack, mine_exclusions
from deid.disclosure.release import anonymize
from deid.table.hierarchy import hierarchy_from_rows, read_hierarchy
from deid.table.microdata import Microdata

ROLES = {"sex": "quasi-identifier", "place": "quasi-identifier", "ill": "sensitive"}


def table(rows: list[tuple[str, ...]], names: tuple[str, ...] = tuple(ROLES)) -> Microdata:
    return Microdata(pd.DataFrame(rows, columns=list(names)), {name: ROLES[name] for name in names})


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("FM"), st.sampled_from("ab"), st.sampled_from("uvw")), min_size=8, max_size=60),
    st.sampled_from([0.5, 2.0, 5.0]),
)
def test_rules_by_brute_force(rows: list[tuple[str, ...]], expected: float) -> None:
    data = table(rows)
    found = mine_exclusions(data, "ill", expected=expected)
    share = {value: sum(row[2] == value for row in rows) / len(rows) for value in found.values}
    rules: set[tuple[object, ...]] = set()
    for row, ruled_out in zip(rows, found.ruled_out, strict=True):
        for value, out in zip(found.values, ruled_out, strict=True):
            known = [
                [other for other in rows if all(other[c] == row[c] for c in which)]
                for size in (1, 2)
                for which in itertools.combinations((0, 1), size)
                if all(len({other[c] for other in rows}) > 1 for c in which)
            ]
            apart = [c for c in (0, 1) if len({other[c] for other in rows}) > 1]
            for which in [(c,) for c in apart] + [(0, 1)] * (len(apart) == 2):
                group = [other for other in rows if all(other[c] == row[c] for c in which)]
                alone = all((c, row[c], value) not in rules for c in which)
                if alone and all(other[2] != value for other in group) and len(group) * share[value] >= expected - 1e-9:
                    rules.add((which[0], row[which[0]], value) if len(which) == 1 else (*row[:2], value))
            assert out == any(
                all(other[2] != value for other in group) and len(group) * share[value] >= expected - 1e-9
                for group in known
            )
    assert found.rules == len(rules)


def test_what_men_never_have_is_struck_from_their_class() -> None:
    """Ten of each class: two values look diverse, one of which no man of the table has."""
    women = [("F", "a", "ovary"), ("F", "a", "flu")] * 20
    men = [("M", "b", "flu"), ("M", "b", "gout")] * 20 + [("M", "c", "flu")]
    original = table([*women, *men, ("F", "c", "ovary")])
    frame = original.frame.assign(sex=lambda own: np.where(own["place"] == "c", "*", own["sex"]))
    release = Microdata(frame, ROLES)
    found = exclusion_attack(release, original, "ill")
    assert found.rules == 2  # men have no ovary, women no gout; places say no more than that
    assert (found.least_before, found.least) == (2, 1)
    assert found.disclosed_before == 0
    last = {len(women) + len(men) - 1}
    assert last <= set(found.rows)
    assert found.persons == len(original.frame)
    # with rules that would need more surprise than the table holds, nothing is struck
    calm = exclusion_attack(release, original, "ill", expected=1000)
    assert (calm.rules, calm.fewer, calm.least) == (0, 0.0, 2)


def test_levels_of_hierarchies_have_rules_where_values_are_too_rare(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 90, 400)
    ill = np.where((age >= 45) & (rng.random(400) < 0.5), "stroke", "flu")
    data = Microdata(pd.DataFrame({"age": age, "ill": ill}), {"age": "quasi-identifier", "ill": "sensitive"})
    found = mine_exclusions(data, "ill")
    young = found.ruled_out[:, found.values.index("stroke")]
    assert young[age < 40].mean() > 0.9  # by intervals: no single age has enough rows
    assert not young[age >= 45].any()


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [("F", "a", "ovary"), ("F", "a", "flu"), ("M", "a", "flu"), ("M", "a", "gout")] * 20
    frame = pd.DataFrame(rows, columns=list(ROLES))
    frame.to_csv("o.csv", index=False)
    frame.assign(sex="*").to_csv("r.csv", index=False)
    asked = ["risk", "r.csv", "--qi", "sex,place", "--persons-as-given"]
    done = CliRunner().invoke(app, [*asked, "--sensitive", "ill", "--rules-of", "o.csv"])
    assert done.exit_code == 0, done.exception
    assert "least values left, without and with  3, 2" in done.output
    assert "persons with fewer values left       100.00%" in done.output
    refused = CliRunner().invoke(app, [*asked, "--rules-of", "o.csv"])
    assert isinstance(refused.exception, ConfigError)
    assert "no column is sensitive" in str(refused.exception)


def ward(seed: int, rows: int = 300) -> Microdata:
    """Men have no ovary, the young no stroke: what is diverse by count is not by rules."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["F", "M"], rows), rng.integers(20, 80, rows)
    ill = rng.choice(["flu", "gout", "ovary", "stroke"], rows)
    ill = np.where((ill == "ovary") & (sex == "M") | (ill == "stroke") & (age < 50), "flu", ill)
    return Microdata(
        pd.DataFrame({"sex": sex, "age": age, "ill": ill}),
        {"sex": "quasi-identifier", "age": "quasi-identifier", "ill": "sensitive"},
    )


@pytest.mark.parametrize("method", ["auto", "local", "mondrian", "optimal", "hybrid"])
def test_a_release_keeps_what_rules_leave(method: str) -> None:
    for seed in range(3):
        data = ward(seed)
        asked = Requirements(k=3, l=2)
        release = anonymize(data, asked, method, rules_left=2)
        found = exclusion_attack(release.published, data, "ill")
        assert found.rules
        assert found.least >= 2
        told = [own for own in release.findings if own.model == "values that rules leave"]
        assert [(own.asked, own.verdict.ok) for own in told] == [(2, True)]


def test_diverse_patients_whom_rules_leave_less_are_protected_where_that_is_asked() -> None:
    folder = Path(__file__).parents[2] / "corpora/tables/patients"
    roles = {"age": "quasi-identifier", "sex": "quasi-identifier", "zip": "quasi-identifier", "diagnosis": "sensitive"}
    frame = pd.read_csv(folder / "patients.csv", dtype={"zip": str})[list(roles)]
    data = Microdata(frame, roles, {"zip": read_hierarchy(folder / "zip.csv")})
    asked = Requirements(k=5, l=3)
    releases = [anonymize(data, asked, "local", rules_left=left).published for left in (None, 3)]
    assert [exclusion_attack(own, data, "diagnosis").least for own in releases] == [2, 3]


def test_what_cannot_be_left_is_refused() -> None:
    with pytest.raises(ConfigError, match="no rule rules out"):
        anonymize(ward(1), Requirements(k=3), rules_left=4)
    with pytest.raises(ConfigError, match="without population, guards"):
        anonymize(ward(1), Requirements(k=3), "kk", rules_left=2)
    with pytest.raises(ConfigError, match="without population, guards"):
        anonymize(ward(1), Requirements(k=3, k_map=3), rules_left=2, population=ward(1))
    with pytest.raises(ConfigError, match="at least one value"):
        anonymize(ward(1), Requirements(k=3), rules_left=0)


def test_rules_leave_a_missing_value_and_values_of_the_hierarchy_alone() -> None:
    ills = hierarchy_from_rows([("ovary", "growth", "*"), ("flu", "other", "*"), ("gout", "other", "*")], "ill")
    rows = [("F", "a", "ovary"), ("M", "a", "flu"), ("F", "a", None), ("M", "a", "flu")] * 10
    data = replace(table(rows), hierarchies={"ill": ills})
    made = anonymize(data, Requirements(k=2), "local", rules_left=1)
    assert made.published.frame["ill"].isna().sum() == 10
    assert [(f.model, f.verdict.level) for f in made.findings if "rules" in f.model] == [
        ("values that rules leave", 1.0)
    ]
