"""Perturbed tables: each step does what it says, cannot be taken back, and its measures are those of a plain count."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, InputError
from deid.base.keys import Key
from deid.cli.main import app
from deid.disclosure import perturbing
from deid.disclosure.perturbing import PerturbOptions, nearest_links, perturb
from deid.table.microdata import Microdata
from deid.table.table_files import read_table

KEY = Key(b"k" * 32)
ROLES = {"age": "quasi-identifier", "zip": "quasi-identifier", "cost": "sensitive", "dx": "sensitive", "mrn": "dropped"}


def table(rows: int, seed: int, *, gaps: bool = False) -> Microdata:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "mrn": [f"M{i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "zip": rng.choice(["02139", "02140", "10027"], rows),
            "cost": np.round(rng.gamma(2, 500, rows), 2),
            "dx": rng.choice(list("abcdefgh"), rows, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]),
        }
    )
    if gaps:
        frame["age"] = frame["age"].astype("Int64").mask(rng.random(rows) < 0.2)
        frame["zip"] = frame["zip"].where(rng.random(rows) > 0.2)
    return Microdata(frame, ROLES)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 9999), st.booleans())
def test_each_step_does_what_it_says(seed: int, gaps: bool) -> None:
    data = table(60, seed, gaps=gaps)
    asked = PerturbOptions(swap=("zip=0.5",), round=("age=5",), noise=("cost=0.1",), randomize=("dx=3,4",))
    found = perturb(data, asked, KEY)
    frame = found.frame
    assert list(frame) == ["age", "zip", "cost", "dx"]
    assert Counter(frame["zip"].dropna()) == Counter(data.frame["zip"].dropna())
    assert set(frame["age"].dropna() % 5) <= {0}
    assert frame["age"].isna().sum() == data.frame["age"].isna().sum()
    assert (np.abs(frame["cost"] * 100 - np.round(frame["cost"] * 100)) < 1e-6).all()  # as many places as before
    assert set(frame["dx"]) <= set(data.frame["dx"])
    assert found.columns["age"].near is not None
    assert 0.2 < found.columns["cost"].sd_ratio < 2  # type: ignore[operator]
    blocks = [set("abcd"), set("efgh")]  # by frequency, where the draw has them so
    ranked = [value for value, _ in Counter(data.frame["dx"]).most_common()]
    if len(ranked) == 8:
        before, after = Counter(data.frame["dx"]), Counter(frame["dx"])
        blocks = _blocks(data, 4)
        assert [sum(before[v] for v in block) for block in blocks] == [sum(after[v] for v in block) for block in blocks]


def _blocks(data: Microdata, least: int) -> list[set[str]]:
    codes = data.codes("dx")
    ranked = np.argsort(-np.bincount(codes.codes, minlength=len(codes.values)), kind="stable")
    return [{codes.values[at] for at in ranked[:least]}, {codes.values[at] for at in ranked[least:]}]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 9999), st.integers(2, 6))
def test_averages_of_all_quasi_identifiers_hide_each_among_k(seed: int, k: int) -> None:
    data = Microdata(table(50, seed).frame, {**ROLES, "zip": "other", "cost": "quasi-identifier"})
    found = perturb(data, PerturbOptions(microaggregate=("age,cost",), k=k), KEY)
    sizes = found.frame.groupby(["age", "cost"]).size()
    assert sizes.min() >= k
    assert sizes.min() == found.smallest_class
    assert found.frame["age"].mean() == pytest.approx(data.frame["age"].mean(), abs=0.01)


def test_the_change_of_a_correlation_is_that_of_a_plain_computation() -> None:
    data = table(80, 3)
    frame = data.frame.assign(paid=data.frame["cost"] * 2 + data.frame["age"], mrn=range(80))
    wide = Microdata(frame, ROLES | {"paid": "other"})
    found = perturb(wide, PerturbOptions(noise=("cost=0.5",)), KEY)
    names = ["age", "cost", "paid"]  # the record's number is dropped, though it is one
    before, after = (np.corrcoef(own[names].astype(float).to_numpy().T) for own in (frame, found.frame))
    assert found.correlation == pytest.approx(np.abs(before - after).max())
    assert found.correlation > 0.01
    alone = Microdata(data.frame.drop(columns=["age"]), {n: r for n, r in ROLES.items() if n != "age"})
    assert perturb(alone, PerturbOptions(noise=("cost=0.5",)), KEY).correlation is None


def test_the_attack_is_that_of_a_plain_count() -> None:
    data = table(40, 3)
    after = data.frame.assign(age=(data.frame["age"] / 10).round() * 10, zip=data.frame["zip"].iloc[::-1].to_numpy())
    published = Microdata(after, ROLES)
    deviation, right = data.frame["age"].std(ddof=0), 0.0
    for row in range(40):
        gap = ((data.frame["age"][row] - after["age"]) / deviation) ** 2 + (data.frame["zip"][row] != after["zip"])
        near = gap <= gap.min() + 1e-9
        right += near[row] / near.sum()
    share, tried = nearest_links(data, published)
    assert tried == 40
    assert share == pytest.approx(right / 40)
    assert nearest_links(data, data)[0] == pytest.approx(len(data.frame.drop_duplicates(["age", "zip"])) / 40)


def test_the_attack_goes_by_blocks_of_persons_which_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = table(700, 3), table(700, 4)
    found = nearest_links(before, after)
    assert found[1] == 700
    for persons in (100, 7):
        monkeypatch.setattr(perturbing, "_BLOCK", persons * 700 + 699)
        tracemalloc.start()
        assert nearest_links(before, after) == pytest.approx(found)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 8 * 700 * (8 * persons + 200)


def test_draws_hang_on_the_key_the_table_and_the_question_and_not_on_the_order() -> None:
    data, asked = table(80, 5), PerturbOptions(noise=("cost=0.1",), swap=("zip=0.3",))
    one = perturb(data, asked, KEY).frame
    turned = Microdata(data.frame.iloc[::-1].reset_index(drop=True), ROLES)
    pd.testing.assert_frame_equal(one, perturb(turned, asked, KEY).frame)
    assert not one.equals(perturb(data, asked, Key(b"x" * 32)).frame)
    # noise of twice the size is not the same noise doubled, from which the original would follow
    exact = data.frame["cost"].to_numpy()
    small = perturb(data, PerturbOptions(noise=("cost=0.1",)), KEY).frame.sort_values(["age", "zip"])["cost"].to_numpy()
    large = perturb(data, PerturbOptions(noise=("cost=0.2",)), KEY).frame.sort_values(["age", "zip"])["cost"].to_numpy()
    assert np.isin(np.round(2 * small - large, 2), exact).mean() < 0.2


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        (PerturbOptions(), ConfigError, "nothing is asked"),
        (PerturbOptions(round=("age=5",), noise=("age=1",)), ConfigError, "named twice"),
        (PerturbOptions(round=("zip=5",)), InputError, "not numeric"),
        (PerturbOptions(round=("age=0",)), ConfigError, "not above 0"),
        (PerturbOptions(round=("age=five",)), ConfigError, "no number"),
        (PerturbOptions(round=("age=1,2",)), ConfigError, "2 numbers"),
        (PerturbOptions(noise=("cost=inf",)), ConfigError, "numbers behind"),
        (PerturbOptions(swap=("zip=2",)), ConfigError, "share of 2"),
        (PerturbOptions(swap=("mrn=0.5",)), ConfigError, "would be left out"),
        (PerturbOptions(swap=("nothing=0.5",)), ConfigError, "nothing"),
        (PerturbOptions(microaggregate=("age",)), ConfigError, "size of its groups"),
        (PerturbOptions(microaggregate=("age",), k=1), ConfigError, "groups of 1 rows"),
        (PerturbOptions(randomize=("dx=0.5,2",)), ConfigError, "amplification"),
        (PerturbOptions(randomize=("dx=5,99",)), ConfigError, "blocks of at least 99"),
        (PerturbOptions(randomize=("dx=5,2.5",)), ConfigError, "blocks of 2.5 values"),
    ],
)
def test_what_cannot_be_is_refused(asked: PerturbOptions, kind: type[DeidError], message: str) -> None:
    with pytest.raises(kind, match=message):
        perturb(table(40, 1), asked, KEY)


def test_a_column_that_a_step_left_as_it_was_is_told() -> None:
    left = perturb(table(40, 1), PerturbOptions(noise=("age=1e-9",), round=("cost=1000",)), KEY)
    assert left.sentences() == ["published as they are, without protection: age, zip, dx"]


def test_gaps_persons_and_unnamed_columns() -> None:
    data = table(40, 1, gaps=True)
    with pytest.raises(InputError, match="no mean"):
        perturb(data, PerturbOptions(microaggregate=("age",), k=3), KEY)
    owned = Microdata(data.frame.assign(who=[i // 2 for i in range(40)]), ROLES, person="who")
    with pytest.raises(ConfigError, match="takes the noise away"):
        perturb(owned, PerturbOptions(round=("age=5",)), KEY)
    silent = Microdata(data.frame, {name: role for name, role in ROLES.items() if name != "mrn"})
    with pytest.raises(ConfigError, match="nothing is said of the columns 'mrn'"):
        perturb(silent, PerturbOptions(round=("age=5",)), KEY)


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table(60, 2).frame.to_csv("p.csv", index=False)
    said = ["perturb", "p.csv", "--qi", "age,zip", "--sensitive", "cost,dx", "--drop", "mrn", "--swap", "zip=0.4"]
    said += ["--round", "age=5", "--json", "s.json"]
    for out in ("a.csv", "b.csv"):
        result = CliRunner().invoke(app, [*said, "-o", out])
        assert result.exit_code == 0, (result.output, result.exception)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert "M1" not in Path("a.csv").read_text()
    told = json.loads(Path("s.json").read_text())
    assert told["utility"]["zip"]["step"] == "swap"
    assert 0 < told["linked"] < 1
    manifest = json.loads(Path("a.csv.manifest.json").read_text())["run"]["columns"]
    assert manifest["age"] == "round (quasi-identifier)"
    assert manifest["mrn"] == "dropped (dropped)"
    assert manifest["cost"] == "unaltered (sensitive)"
    assert set(read_table("a.csv")["age"] % 5) == {0}
