"""Events in long format become one sequence a person; patterns over them; parts; the commands."""

from __future__ import annotations

import functools
import io
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odds import upper_log_ratio
from test_dp_commands import deid

from deid.base.errors import ConfigError
from deid.dp.budget import Ledger
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.domain_options import parse_flag
from deid.dp.events import SEVERAL, Events, sequences_of
from deid.dp.noise import SeededNoise
from deid.dp.sequence_release import read_sequences, write_sequences
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.unit import PrivacyUnit

LEVEL = declare("level", {"values": ["none", "low", "high"]})
DATES = declare(*parse_flag("day=2020-01-01..2020-12-31/quarter"))
SEX = declare("sex", {"values": ["F", "M"]})
PATIENTS = PrivacyUnit("patient", max_rows=4)
DAYS = ["2020-01-05", "2020-02-01", "2020-05-05", "2020-09-30 10:00:00", "2020-12-31", "2019-12-31", "soon", ""]
ROW = st.tuples(st.sampled_from(DAYS), st.sampled_from(["low", "high", "none", "odd", ""]), st.sampled_from("FMx"))
PERSON = st.lists(ROW, min_size=1, max_size=5)


def table(persons: list[list[tuple[str, str, str]]]) -> pd.DataFrame:
    rows = [(f"p{who}", *row) for who, own in enumerate(persons) for row in own]
    return pd.DataFrame(rows, columns=["id", "day", "what", "sex"], dtype="string")


def events(absent: str | None = "none", several: str = "last") -> Events:
    return Events("id", DATES, "what", absent, several)


def test_the_worked_example() -> None:
    frame = table(
        [
            [("2020-02-01", "high", "F"), ("2020-01-05", "low", "F"), ("2020-12-31", "low", "F")],
            [("2020-05-05", "low", "M"), ("2020-05-05", "high", "M"), ("2019-12-31", "high", "M")],
        ]
    )
    found = sequences_of(frame, events(), LEVEL)
    assert found.codes.tolist() == [[2, 0, 0, 1], [0, 2, 0, 0]]
    assert found.outside.tolist() == [False, True]
    assert sequences_of(frame, events(several="first"), LEVEL).codes[0].tolist() == [1, 0, 0, 1]
    assert sequences_of(frame, events(several="lowest"), LEVEL).codes.tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert sequences_of(frame, events(None, "highest"), LEVEL).codes.tolist() == [[2, -1, -1, 1], [-1, 2, -1, -1]]
    assert sequences_of(frame.iloc[:0], events(), LEVEL).codes.shape == (0, 4)
    assert len(sequences_of(frame.assign(id=["p", None, "", " ", None, ""]), events(), LEVEL).codes) == 1


@settings(max_examples=25)
@given(st.lists(PERSON, max_size=4), PERSON, st.sampled_from(SEVERAL), st.sampled_from([None, "none"]), st.randoms())
def test_a_person_more_is_one_sequence_more_whatever_its_rows(
    persons: list[Any], more: Any, several: str, absent: str | None, order: Any
) -> None:
    """The sensitivity by brute force, in the whole table and in parts: a person is in one part at most."""
    for part in ((), ((SEX, "F"),), ((SEX, "M"),)):
        seen = []
        for own in (persons, [*persons, more]):
            frame = table(own)
            rows = list(range(len(frame)))
            order.shuffle(rows)
            found = sequences_of(frame.iloc[rows], events(absent, several), LEVEL, part)
            seen.append((Counter(map(tuple, found.codes[found.part].tolist())), int(found.outside[found.part].sum())))
        assert not seen[0][0] - seen[1][0]
        assert (seen[1][0] - seen[0][0]).total() <= 1
        assert 0 <= seen[1][1] - seen[0][1] <= 1
    both = [sequences_of(table([more]), events(), LEVEL, ((SEX, cell),)).part.sum() for cell in "FM"]
    assert sum(both) <= 1


def plan(epsilon: float = 60.0, **options: Any) -> Any:
    source = options.pop("source", events())
    return plan_sequences(LEVEL, source, epsilon, PATIENTS, report_share=0.0, **options)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    generator = np.random.default_rng(4)
    rows = []
    for who in range(400):
        for _ in range(generator.integers(1, 6)):
            day = pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(generator.integers(0, 366)))
            rows.append(
                (f"p{who}", f"{day:%Y-%m-%d}", str(generator.choice(["low", "high"], p=[0.7, 0.3])), "FM"[who % 2])
            )
    return pd.DataFrame(rows, columns=["id", "day", "what", "sex"], dtype="string")


def pivoted(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """The sequences by pandas: an oracle of its own."""
    own = frame.assign(rank=frame["what"].map({"low": 0, "high": 1}), quarter=pd.to_datetime(frame["day"]).dt.quarter)
    last = own.sort_values(["day", "rank"]).groupby(["id", "quarter"])["what"].last().unstack()
    return [tuple(row) for row in last.reindex(columns=[1, 2, 3, 4]).fillna("none").to_numpy()]


@pytest.mark.parametrize("method", ["tree", "markov"])
def test_patterns_are_counted(frame: pd.DataFrame, method: str) -> None:
    """A tree at a huge epsilon knows every sequence; a chain knows what follows from pairs."""
    released = release_sequences(frame, plan(2000.0, method=method, threshold=0), ledger=None, noise=SeededNoise(1))
    true = pivoted(frame)
    exact = method == "tree"
    for within in (1, 2, 4):
        count = sum("high" in own[:within] for own in true)
        assert released.ever(["high"], within)["count"][0] == pytest.approx(count, abs=0.5 if exact else 25)
    for first, second, within in itertools.product(("low", "high"), ("low", "high"), (1, 2, None)):
        reach = within or 4
        count = sum(
            any(own[i] == first and second in own[i + 1 : i + 1 + reach] for i in range(4)) for own in true
        )  # fmt: skip
        found = released.then(first, second, within)["count"][0]
        assert found == pytest.approx(count, abs=0.5 if exact else 40), (first, second, within)
    assert released.ever(["low", "high"])["count"][0] == pytest.approx(len(true), abs=0.5 if exact else 25)
    for wrong in (lambda: released.ever(["odd"]), lambda: released.ever(["(end)"]), lambda: released.ever([]),
                  lambda: released.ever(["low"], 5), lambda: released.then("low", "high", 0)):  # fmt: skip
        with pytest.raises(ConfigError):
            wrong()


def test_intervals_of_patterns_cover(frame: pd.DataFrame) -> None:
    true = sum("high" in own for own in pivoted(frame))
    told = [
        release_sequences(frame, plan(1.0), ledger=None, noise=SeededNoise(seed)).ever(["high"]).iloc[0]
        for seed in range(60)
    ]
    assert np.mean([own["lower"] <= true <= own["upper"] for own in told]) >= 0.85


def test_patterns_of_sequences_that_end(frame: pd.DataFrame) -> None:
    source = events(None)
    released = release_sequences(
        frame, plan(2000.0, source=source, ends=True, threshold=0), ledger=None, noise=SeededNoise(1)
    )
    cut = [own[: own.index("none")] if "none" in own else own for own in pivoted(frame)]
    assert released.ever(["high"])["count"][0] == pytest.approx(sum("high" in own for own in cut), abs=0.5)
    count = sum(any(a == "low" and b == "high" for a, b in itertools.pairwise(own)) for own in cut)
    assert released.then("low", "high", 1)["count"][0] == pytest.approx(count, abs=0.5)
    for no_level in (lambda: released.ever(["(end)"]), lambda: released.then("low", "(end)")):
        with pytest.raises(ConfigError, match="no such level"):
            no_level()


def test_noise_fits_one_sequence_whatever_the_bound(frame: pd.DataFrame, tmp_path: Path) -> None:
    released = release_sequences(frame, plan(0.5), ledger=None, noise=SeededNoise(2))
    assert released.model.tree.distance == 1
    write_sequences(released, tmp_path / "t.parquet")
    again = read_sequences(tmp_path / "t.parquet")
    assert again.model.tree.distance == 1
    pd.testing.assert_frame_equal(again.ever(["high"]), released.ever(["high"]))
    assert again.metadata["events"]["value"] == "what"


def test_parts_of_persons_cost_their_maximum_and_come_on_top_of_parts_of_rows(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    """And so do parts of a table that has changed since."""
    ledger = Ledger.create(tmp_path / "l.db", 1.0, PATIENTS)
    whole = frame.assign(q1=frame["what"], q2=frame["what"], level=frame["what"])
    rows = functools.partial(plan_sequences, LEVEL, ["q1", "q2"], unit=PATIENTS, person="id", report_share=0.0)
    counts = functools.partial(plan_cube, [LEVEL], unit=PATIENTS, person="id", report_share=0.0)

    def spent(make: Any, table: pd.DataFrame, asked: Any) -> int:
        made.append(make(table, asked, ledger=ledger, request=f"r{len(made)}", noise=SeededNoise(3)))
        return ledger.account().spent // 10**6

    made: list[Any] = []
    assert spent(release_sequences, whole, plan(0.4, part=[(SEX, "F")])) == 400
    assert spent(release_sequences, whole, plan(0.3, part=[(SEX, "M")])) == 400
    assert sum(own.model.tree.levels[0].noisy[0] for own in made) == pytest.approx(400, abs=150)
    assert spent(release_sequences, whole[1:], plan(0.1, part=[(SEX, "M")])) == 500
    assert spent(release_sequences, whole, rows(epsilon=0.2, part=[(SEX, "M")])) == 700
    assert spent(release_cube, whole, counts(epsilon=0.2, part=[(SEX, "F")])) == 700


def test_what_cannot_be_asked_of_events() -> None:
    with pytest.raises(ConfigError, match="protects rows"):
        plan_sequences(LEVEL, events(), 1.0, PrivacyUnit())
    with pytest.raises(ConfigError, match="two columns say"):
        plan(person="sex")
    with pytest.raises(ConfigError, match="no declared level"):
        plan(source=events("nothing"))
    with pytest.raises(ConfigError, match="no declared dates"):
        Events("id", SEX, "what")
    undated = declare("day", {**DATES.declaration, "missing": "unknown"})
    with pytest.raises(ConfigError, match="an event without a date is in no period"):
        Events("id", undated, "what")
    with pytest.raises(ConfigError, match="unknown choice"):
        events(several="most")
    with pytest.raises(ConfigError, match="three columns"):
        Events("id", DATES, "id")
    with pytest.raises(ConfigError, match="no such cell"):
        plan(part=[(SEX, "x")])


def test_the_commands(frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame.to_csv("visits.csv", index=False)
    deid("budget", "init", "l.db", "--epsilon", "8", "--unit", "patient", "--max-rows", "4")
    declared = ("--domain", "day=2020-01-01..2020-12-31", "--domain", "level=none,low,high")
    periods = ("--events", "id,day,what", "--every", "quarter", "--absent", "none")
    asked = ("sequences", "visits.csv", *declared, *periods, "--epsilon", "4", "--ledger", "l.db")
    assert "patient" in deid(*asked, "--dry-run")
    deid(*asked, "-o", "t.csv", "--json", "s.json")
    told = json.loads(Path("t.csv.json").read_text())
    assert told["columns"] == ["2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4"]
    assert told["person"] == "id"
    assert "persons_outside_domains" in told["left_out"]
    true = sum("high" in own for own in pivoted(frame))
    for words, count in (
        (("--ever", "high"), true),
        (("--then", "high,low", "--within", "1"),
         sum(("high", "low") in itertools.pairwise(own) for own in pivoted(frame))),
    ):  # fmt: skip
        shown = pd.read_csv(io.StringIO(deid("prefixes", "t.csv", *words)))
        assert shown["count"][0] == pytest.approx(count, abs=40)
    for words in ((), ("--ever", "high", "--length", "2"), ("--length", "2", "--within", "2"), ("--then", "high")):
        with pytest.raises(ConfigError):
            deid("prefixes", "t.csv", *words)
    with pytest.raises(ConfigError, match="name the periods"):
        deid(*asked, "--periods", "q1", "-o", "u.csv")


def test_many_levels_do_not_grow_out_of_noise() -> None:
    """200 levels, 8 periods, 300 persons: a tree of pure noise would have millions of nodes."""
    codes = declare("level", {"values": [f"c{number}" for number in range(200)]})
    wide = pd.DataFrame({f"q{n}": [f"c{(who * 7 + n) % 200}" for who in range(300)] for n in range(8)}, dtype="string")
    made = release_sequences(
        wide, plan_sequences(codes, list(wide), 1.0, PrivacyUnit()), ledger=None, noise=SeededNoise(1)
    )
    assert sum(len(own) for own in made.model.tree.levels) < 20_000
    assert made.ever(["c7"])["upper"][0] >= 0


@pytest.mark.parametrize(
    "size", [pytest.param(2000, marks=pytest.mark.slow), pytest.param(8000, marks=pytest.mark.night)]
)
@pytest.mark.parametrize(("epsilon", "broken"), [(1.0, False), (8.0, True)])
def test_odds_of_a_person_more_stay_within_epsilon(epsilon: float, broken: bool, size: int) -> None:
    """A person with five rows; the control spends eight times what it says, on four depths."""
    base = [[("2020-01-05", "low", "F")], [("2020-05-05", "high", "M")]]
    more = [*base, [(day, "high", "F") for day in DAYS[:5]]]
    source = plan(epsilon)
    seen = []
    for which, own in enumerate((base, more)):
        noise, rows = SeededNoise(90 + which), table(own)
        answers = Counter[Any]()
        for _ in range(size):
            tree = release_sequences(rows, source, ledger=None, noise=noise).model.tree
            answers[tuple(np.clip(tree.levels[1].noisy - 1, -2, 2).astype(int))] += 1
        seen.append(answers)
    assert (upper_log_ratio(*seen, size) > 1.0) == broken
