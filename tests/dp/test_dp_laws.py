"""Laws over all commands that release with differential privacy."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import by_day
from stored_tables import KINDS, Stored
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, StoreError
from deid.cli.main import app
from deid.dp import noise as dp_noise
from deid.dp.budget import BudgetExceeded, Ledger
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import Dimension, declare
from deid.dp.epsilon import to_nano
from deid.dp.methods import METHODS
from deid.dp.noise import SeededNoise
from deid.dp.prefix_tree import MAX_NODES, grow
from deid.dp.release import write_release
from deid.dp.sequence_release import write_sequences
from deid.dp.sequences import METHODS as SEQUENCE_METHODS
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.session import QuerySession
from deid.dp.unit import PrivacyUnit
from deid.table.cell_text import key_text

RUNNER = CliRunner()
DX = ("250.00", "250.0", "250", "401.9", "1")


def deid(*arguments: object) -> Any:
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, DeidError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


# ---- no row changes how another one is read -------------------------------------------------------------------------


class Seen(SeededNoise):
    """Adds nothing and keeps all counts that noise was asked for."""

    counts: list[list[int]] = []  # noqa: RUF012

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        Seen.counts.append(np.asarray(values).ravel().tolist())
        return np.asarray(values, np.int64)


HEADER = ("dx", "next", "who")
TEXT = st.sampled_from([*DX, "V58.11", "01", "1.0", "unknown", "", " 250.00", None, "a,b", "é"])
ROW = st.tuples(TEXT, TEXT, st.sampled_from(["7", "7.0", "8", "A1", "", None]))
VALUES = ",".join(DX)
COMMANDS: dict[str, tuple[str, ...]] = {
    "cube": ("cube", "--dims", "dx", "--domain", f"dx={VALUES}", "-o", "OUT"),
    "query": ("query", "SELECT HISTOGRAM(dx)", "--domain", f"dx={VALUES}"),
    "where": ("query", "SELECT COUNT(*) WHERE dx = '250.00' OR next > '250'",
              "--domain", f"dx={VALUES}", "--domain", f"next={VALUES}"),
    "sequences": ("sequences", "--periods", "dx,next", "--domain", f"level={VALUES}", "-o", "OUT"),
    "fidelity": ("fidelity", "MADE", "--release", "RELEASE", "--slice", "dx"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "stored"), by_day([*COMMANDS], KINDS), indirect=["stored"])
def test_a_row_more_changes_each_count_by_its_own_row_alone(
    command: str, stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of all mechanisms move by at most what one row is worth, whatever text it holds."""
    monkeypatch.delenv("DEID_LEDGER", raising=False)

    def source(rows: list[Any]) -> list[str]:
        place, *table = stored(HEADER, rows)
        return [place, *(f"--sql={name}" for name in table)]

    deid("cube", *source([("1", "1", "a")] * 3), "--dims", "dx", "--domain", f"dx={VALUES}", "--epsilon", 9,
         "--not-private-seed", 0, "-o", tmp_path / "release.json")  # fmt: skip
    deid("synthesize", tmp_path / "release.json", "-o", tmp_path / "made.csv")
    monkeypatch.setattr(dp_noise, "SeededNoise", Seen)
    places = {"MADE": tmp_path / "made.csv", "RELEASE": tmp_path / "release.json", "OUT": tmp_path / "out.json"}
    name, *options = COMMANDS[command]

    def counts(rows: list[Any]) -> list[list[int]]:
        places["OUT"].unlink(missing_ok=True)
        Seen.counts.clear()
        place, *table = source(rows)
        deid(name, place, *(places.get(own, own) for own in options), *table, "--epsilon", 9, "--not-private-seed", 0)
        return [list(own) for own in Seen.counts]

    @settings(max_examples=3)
    @given(st.lists(ROW, min_size=1, max_size=5), ROW, st.integers(0, 5))
    def law(rows: list[Any], added: Any, place: int) -> None:
        one, two = counts(rows), counts([*rows[:place], added, *rows[place:]])
        for before, after in zip(one, two, strict=False):
            if len(before) != len(after):
                break  # a tree goes on elsewhere after a count that differed
            assert sum(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1

    law()


def test_one_code_does_not_change_how_another_is_counted() -> None:
    """The case that was found: 250.00 is counted whatever else occurs, and is neither 250 nor 250.0."""
    dimension = declare("dx", {"values": ["250.00", "250.0", "401.9"]})
    for more in ([], ["V58.11"], [None]):
        column = pd.Series(["250.00"] * 3 + ["250.0", "250"] + more, dtype=object)
        assert dimension.codes(column)[:5].tolist() == [0, 0, 0, 1, -1]


def test_whole_numbers_of_columns_with_gaps_find_their_value() -> None:
    sex = declare("sex", {"values": [0, 1]})
    assert sex.labels == ("0", "1")
    for cells in (["0.0", "1.0", ""], [0.0, 1.0, None], ["0", "1", "unknown"], [0, 1, "unknown"], [0.0, 1, "x"]):
        assert sex.codes(pd.Series(cells, dtype=object)).tolist() == [0, 1, -1]
    assert declare("x", {"values": ["1", "1.0"]}).codes(pd.Series(["1.0", "1", 1.0])).tolist() == [1, 0, 0]
    assert declare("x", {"values": ["1", "01"]}).codes(pd.Series(["01", "1.00", "001"])).tolist() == [1, -1, -1]


# ---- nothing is charged for what cannot run -------------------------------------------------------------------------

EPSILONS = st.sampled_from([1e-12, 1e-9, 3e-9, 1e-8, 1e-6, 0.001, 0.5, 40.0, 1e4, 1e9, float("nan"), -1.0, 1e-300])
LEVELS = st.sampled_from([1e-9, 0.01, 0.5, 0.95, 0.999999, 1 - 1e-15, 1.0])
UNITS = st.sampled_from([PrivacyUnit(), PrivacyUnit("patient", "replace", 3), PrivacyUnit("patient", max_rows=10**6)])
SHARES = st.sampled_from([None, 0.0, 0.5, 1e-12])
DOMAINS = st.sampled_from(
    [
        {"values": ["a"]},
        {"values": ["a", "b"], "ordered": True},
        {"range": [0, 40]},
        {"range": [0, 3_000]},
        {"range": [0, 60_000]},
        {"edges": [0, 1, 2.5]},
        {"dates": ["2000-01-01", "2009-12-31"], "by": "month"},
    ]
)
NAMES = st.sampled_from(["a", "b", "c", "count", "value", "a from", "estimate"])
CELLS = ["a", "b", "1", "2", None, "2001-02-03"] * 5
TABLE = pd.DataFrame(dict.fromkeys(("a", "b", "c", "count", "value", "a from", "estimate"), CELLS))
TABLE["who"] = list(range(10)) * 3


class Fresh:
    """A ledger in memory: what `pay` needs of one."""

    def __init__(self, unit: PrivacyUnit) -> None:
        self.unit, self.spent, self.id = unit, 0, "00" * 16

    def account(self) -> Any:
        return self

    def charge(self, epsilon: float, *_: object, **__: object) -> Any:
        self.spent += to_nano(epsilon)
        return self

    answer_text = answer = None

    def receipt(self, _: object) -> dict[str, Any]:
        return {"line": 1}


def charged_only_if_it_works(run: Callable[[Any], Any], unit: PrivacyUnit) -> None:
    ledger = Fresh(unit)
    try:
        run(ledger)
    except DeidError:
        assert ledger.spent == 0, "charged, then refused"
    else:
        assert ledger.spent > 0


@settings(max_examples=50)
@given(
    st.dictionaries(NAMES, DOMAINS, min_size=1, max_size=3), EPSILONS, UNITS, LEVELS, SHARES,
    st.sampled_from(["auto", *METHODS]), st.integers(0, 3), st.integers(0, 99),
)  # fmt: skip
def test_cubes_are_charged_only_if_they_are_released(
    domains: dict[str, Any], epsilon: float, unit: PrivacyUnit, level: float, share: float | None, method: str,
    slices: int, seed: int,
) -> None:  # fmt: skip
    names = list(domains)
    large = 1
    for declaration in domains.values():
        large *= len(declare("x", declaration))
    named = [names[: place + 1] for place in range(min(slices, len(names)))]

    def run(ledger: Any) -> None:
        dimensions = [declare(name, own) for name, own in domains.items()]
        plan = plan_cube(dimensions, epsilon, unit, method=method, slices=named, level=level, report_share=share,
                         person="who")  # fmt: skip
        if large > 5_000:
            raise ConfigError("a fine plan, too slow for a test")
        release = release_cube(TABLE, plan, ledger=ledger, request="r", noise=SeededNoise(seed))
        json.dumps(dict(release.metadata))
        release.to_frame()

    charged_only_if_it_works(run, unit)


@settings(max_examples=40)
@given(
    DOMAINS, st.integers(1, 4), EPSILONS, UNITS, LEVELS, SHARES, st.sampled_from(SEQUENCE_METHODS), st.booleans(),
    st.sampled_from([0.0, 2.0, 900.0]), st.integers(0, 99),
)  # fmt: skip
def test_sequences_are_charged_only_if_they_are_released(
    domain: Any, height: int, epsilon: float, unit: PrivacyUnit, level: float, share: float | None, method: str,
    ends: bool, threshold: float, seed: int,
) -> None:  # fmt: skip
    dimension = declare("level", domain)

    def run(ledger: Any) -> None:
        plan = plan_sequences(dimension, ["a", "b", "c", "count"][:height], epsilon, unit, method=method, level=level,
                              threshold=threshold, ends=ends, report_share=share, person="who")  # fmt: skip
        if len(dimension) > 200:
            raise ConfigError("a fine plan, too slow for a test")
        release = release_sequences(TABLE, plan, ledger=ledger, request="r", noise=SeededNoise(seed))
        release.to_frame()

    charged_only_if_it_works(run, unit)


AGGREGATES = st.sampled_from(
    ["COUNT(*)", "COUNT(PERSONS)", "SUM({0})", "MEAN({0})", "MEDIAN({0})", "QUANTILE({0}, 1)", "HISTOGRAM({0})",
     "QUARTILES({0}) WITH INTERVAL", "SD({0})", "COUNT(DISTINCT {0}), VARIANCE({0}), QUANTILES({0}, (0, 1))",
     "COUNT({0})", "SUM({0}), COUNT({0}), MEAN({0}), SD({0}), VARIANCE({0})",
     "TOP(2, {0})", "SUM({0}, 0, 1e-320)", "MEAN({0}, -1e308, 1e308)", "QUANTILE({0} / 3, 0.5, 1, 1.0000000000000002)",
     "SUM({0} * 1e300, 0, 1e300)", "MEAN(1, 0, 2)"]
)  # fmt: skip
ENDINGS = st.sampled_from(
    ["", " GROUP BY {1}", " PER PERSON SUM", " WHERE {1} = 'a'", " WHERE {0} IS NULL GROUP BY {0}"]
)


@settings(max_examples=80)
@given(AGGREGATES, ENDINGS, st.permutations(["a", "count", "value", "estimate"]), DOMAINS, DOMAINS, EPSILONS, UNITS,
       LEVELS, SHARES, st.integers(0, 99))  # fmt: skip
def test_queries_are_charged_only_if_they_are_answered(
    aggregate: str, ending: str, names: list[str], first: Any, second: Any, epsilon: float, unit: PrivacyUnit,
    level: float, share: float | None, seed: int,
) -> None:  # fmt: skip
    text = f"SELECT {aggregate}{ending}".format(*(f'"{name}"' for name in names))

    def run(ledger: Any) -> None:
        dimensions = [declare(names[0], first), declare(names[1], second)]
        if max(map(len, dimensions)) > 5_000:
            raise ConfigError("a fine question, too slow for a test")
        session = QuerySession(TABLE, dimensions, ledger, person="who", noise=SeededNoise(seed), level=level,
                          report_share=share)  # fmt: skip
        ledger.answer = lambda _, answer: answer
        session.query(text, epsilon).to_frame()

    class Answering(Fresh):
        def charge(self, epsilon: float, *_: object, **__: object) -> Any:
            super().charge(epsilon)
            return type("Charge", (), {"answer": None, "line": 1})

    ledger = Answering(unit)
    try:
        run(ledger)
    except DeidError:
        assert ledger.spent == 0, "charged, then refused"


BIG = [Dimension(name, tuple(map(str, range(size))), True, {"range": [0, size - 1]})
       for name, size in (("zip", 100_000), ("day", 36_500), ("sex", 2))]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "slices"), [("auto", [["zip", "day"]]), ("forest", []), ("cells", []), ("privelet", [])]
)
def test_cubes_of_billions_of_cells_are_refused_when_they_are_planned(method: str, slices: list[list[str]]) -> None:
    with pytest.raises(ConfigError, match="too many"):
        plan_cube(BIG, 1.0, PrivacyUnit(), method=method, slices=slices)


def test_a_tree_of_noise_dies_out_with_any_number_of_levels_and_never_fails() -> None:
    codes = np.random.default_rng(0).integers(0, 300, (500, 6))
    for symbols in (4, 34, 100, 300):
        tree = grow(codes % symbols, symbols, [1 / 7] * 7, SeededNoise(1))
        # of an empty node's children .12 pass on average, so subtrees of noise stay small
        assert sum(map(len, tree.levels)) < 30 * symbols * symbols
    wild = grow(codes % 100, 100, [1 / 7] * 7, SeededNoise(1), threshold=-9.0)
    assert max(map(len, wild.levels)) == MAX_NODES  # it went on from the greatest counts alone
    level = wild.levels[4]
    assert level.noisy[level.expanded].min() >= level.noisy[~level.expanded].max()


def test_a_release_that_cannot_be_written_is_not_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("sex\nF\n")
    deid("budget", "init", "l.db", "--epsilon", 1)
    Path("out.csv.json").write_text("the metadata of another release")
    with pytest.raises(DeidError, match="exists already"):
        deid(
            "cube", "t.csv", "--dims", "sex", "--domain", "sex=F,M", "--epsilon", 1, "--ledger", "l.db", "-o", "out.csv"
        )
    assert deid("budget", "history", "l.db").stdout == ""


# ---- the bound of a person holds, and is said -----------------------------------------------------------------------


@pytest.mark.parametrize("command", ["cube", "query", "sequences", "fidelity"])
@pytest.mark.parametrize("stored", ["csv"], indirect=True)
def test_a_unit_that_nothing_bounds_is_refused_and_an_assertion_is_told(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    stored(HEADER, [("1", "1", "07"), ("1", "1", "7"), ("250.00", "1", None)])
    deid("cube", "t.csv", "--dims", "dx", "--domain", f"dx={VALUES}", "--epsilon", 9, "--not-private-seed", 0,
         "-o", "release.json")  # fmt: skip
    deid("synthesize", "release.json", "-o", "made.csv")
    deid("budget", "init", "l.db", "--epsilon", 9, "--unit", "patient")
    places = {"MADE": "made.csv", "RELEASE": "release.json", "OUT": "out.json"}
    name, *options = COMMANDS[command]
    asked = (name, "t.csv", *(places.get(own, own) for own in options), "--epsilon", 1, "--ledger", "l.db",
             "--json", "s.json")  # fmt: skip
    with pytest.raises(ConfigError, match="no column says whose a row is"):
        deid(*asked)
    assert deid("budget", "history", "l.db").stdout == ""
    deid(*asked, "--assert-bound")
    if command in ("cube", "sequences"):
        metadata = json.loads(Path("out.json").read_text())["metadata"]
        assert (metadata["bound"], metadata["person"], metadata["ledger"]["line"]) == ("asserted", None, 1)
        assert metadata["left_out"]["told"] is True
        Path("out.json").unlink()
    told = deid(*asked, "--person", "who")
    assert "1 rows have no who" in told.stderr
    written = Path("s.json").read_text() + (Path("out.json").read_text() if Path("out.json").exists() else "")
    assert "1 ids in who or more are written in several ways" in told.stderr
    assert "rows have no" not in written
    assert "several ways" not in written
    if command in ("cube", "sequences"):
        metadata = json.loads(Path("out.json").read_text())["metadata"]
        assert (metadata["bound"], metadata["person"]) == ("enforced", "who")
        Path("out.json").unlink()
    with pytest.raises(ConfigError, match="another column, 'who'"):
        deid(*asked, "--assert-bound") if command != "fidelity" else deid(*asked, "--person", "dx")


class Exact(SeededNoise):
    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        return np.asarray(values, np.int64)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("ab"), st.integers(0, 9)), max_size=12), st.randoms())
def test_parts_stay_disjoint_however_the_table_is_sorted(rows: list[Any], random: Any) -> None:
    """Over two parts of two orders of one table a person stands behind no more rows than the bound."""
    wards = declare("ward", {"values": ["a", "b"]})
    unit = PrivacyUnit("patient", max_rows=1)
    frame = pd.DataFrame(rows, columns=["who", "ward", "more"], dtype=object)
    moved = frame.sample(frac=1, random_state=random.randrange(99)) if len(frame) else frame
    counted = 0.0
    for table, part in ((frame, "a"), (moved, "b")):
        plan = plan_cube([wards], 1.0, unit, person="who", part=[(wards, part)], report_share=0)
        counted += release_cube(table, plan, ledger=None, noise=Exact(0)).to_frame()["count"].sum()
    assert counted == len({key_text(who) for who, _, _ in rows})


def test_parts_of_a_table_that_changed_are_charged_apart(tmp_path: Path) -> None:
    wards = declare("ward", {"values": ["a", "b", "c"]})
    unit = PrivacyUnit("patient")
    ledger = Ledger.create(tmp_path / "l.db", 10, unit)
    frame = pd.DataFrame({"who": ["p", "q"], "ward": ["a", "b"]})

    def release(table: pd.DataFrame, part: str, request: str) -> int:
        plan = plan_cube([wards], 1.0, unit, person="who", part=[(wards, part)])
        release_cube(table, plan, ledger=ledger, request=request, noise=SeededNoise(1))
        return ledger.account().spent // 10**9

    assert release(frame, "a", "1") == 1
    assert release(frame[::-1], "b", "2") == 1
    assert release(frame.assign(ward=["b", "c"]), "c", "3") == 2
    assert ledger.person() == "who"


@pytest.mark.parametrize("stored", ["csv"], indirect=True)
def test_rows_outside_the_domain_are_told_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    monkeypatch.setattr(dp_noise, "SeededNoise", Exact)
    stored(HEADER, [("250", "1", "a"), ("V58.11", "1", "b"), ("250.00", "x", "c"), (None, None, "d")])
    told = deid("query", tmp_path / "t.csv", "SELECT COUNT(*) WHERE dx = '250'", "--domain", "dx=250,401",
                "--epsilon", 1, "--not-private-seed", 1, "--json", tmp_path / "s.json")  # fmt: skip
    assert "outside the declared domains, with noise: 3" in told.stderr
    assert json.loads((tmp_path / "s.json").read_text())["left_out"]["epsilon"] == pytest.approx(0.02)
    for ends in ([], ["--ends"]):
        deid("sequences", tmp_path / "t.csv", "--periods", "dx,next", "--domain", "level=250,250.00,1", "--epsilon", 1,
             "--not-private-seed", 1, "-o", tmp_path / f"s{len(ends)}.json", *ends)  # fmt: skip
        metadata = json.loads((tmp_path / f"s{len(ends)}.json").read_text())["metadata"]
        # without --ends a missing level is outside, too
        assert metadata["left_out"]["rows_outside_domains"] == (2 if ends else 3)


# ---- the ledger survives ---------------------------------------------------------------------------------------------

SPENDER = """
import sys
from deid.dp.budget import Ledger
ledger = Ledger.open(sys.argv[1])
for number in range(10**6):
    ledger.charge(1e-6, f"{sys.argv[2]}-{number}", unit=ledger.account().unit, purpose="test")
    print(number + 1, flush=True)
"""


def test_a_copy_of_a_killed_ledger_has_spent_all_that_was_charged(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "l.db", 9, PrivacyUnit()).close()
    said = 0
    for life in range(3):
        command = [sys.executable, "-c", SPENDER, str(tmp_path / "l.db"), str(life)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.2)
            os.kill(process.pid, signal.SIGKILL)
            said += 1 + len([line for line in process.stdout.read().split("\n") if line])
        shutil.copy(tmp_path / "l.db", tmp_path / "copy.db")  # the file alone
        copy = Ledger.open(tmp_path / "copy.db")
        assert copy.account().spent >= said * 1000
        assert sum(line.charged for line in copy.history()) == copy.account().spent
        copy.close()


def test_a_ledger_of_the_first_version_goes_on_and_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    ledger = Ledger.create(path, 1, PrivacyUnit())
    ledger.charge(0.4, "old", unit=PrivacyUnit(), purpose="before")
    ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("DROP TABLE deid_ledger")
        connection.execute("DROP TABLE deid_budget_pin")
    connection.close()
    again = Ledger.open(path)
    assert again.account().left() == "0.6 of 1 is left"
    with pytest.raises(BudgetExceeded):
        again.charge(0.7, "new", unit=PrivacyUnit(), purpose="after")
    assert len(again.id) == 32
    assert Ledger.open(path).id == again.id
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        connection.execute("UPDATE deid_ledger SET version = 99")
    connection.close()
    with pytest.raises(StoreError, match="newer version"):
        Ledger.open(path)


def test_a_second_budget_of_a_ledger_is_said_and_amounts_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    assert "also holds" not in deid("budget", "init", path, "--epsilon", 1).stderr
    assert "also holds the budgets main" in deid("budget", "init", path, "--epsilon", 1, "--budget", "two").stderr
    ledger = Ledger.open(path)
    ledger.charge(1e-9, "r", unit=PrivacyUnit(), purpose="test")
    ledger.close()
    shown = deid("budget", "show", path)
    assert "remaining  0.999999999\n" in shown.stdout
    assert "also holds the budgets two" in shown.stderr


def test_releases_carry_the_id_of_their_ledger_and_the_number_of_their_charge(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y"]})
    own = declare("a", {"values": ["x", "y"]})
    ledger = Ledger.create(tmp_path / "l.db", 9, PrivacyUnit())
    cube = release_cube(frame, plan_cube([own], 1, PrivacyUnit()), ledger=ledger, request="1")
    write_release(cube, tmp_path / "c.json")
    tree = release_sequences(frame, plan_sequences(own, ["a"], 1, PrivacyUnit()), ledger=ledger, request="2")
    write_sequences(tree, tmp_path / "t.json")
    answer = QuerySession(frame, [own], ledger).query("SELECT HISTOGRAM(a)", 1.0)
    receipts = [json.loads((tmp_path / name).read_text())["metadata"]["ledger"] for name in ("c.json", "t.json")]
    assert [*receipts, answer.ledger] == [{"id": ledger.id, "budget": "main", "line": line} for line in (1, 2, 3)]
