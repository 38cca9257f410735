"""deid budget, cube and slice as a custodian uses them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, OutputError
from deid.cli.main import app

RUNNER = CliRunner()


def deid(*arguments: object) -> str:
    result = RUNNER.invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if isinstance(result.exception, DeidError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    rows = [f"{'FM'[i % 2]},{i % 10},{i % 40}\n" for i in range(400)]
    Path("visits.csv").write_text("sex,age,patient\n" + "".join(rows))
    deid("budget", "init", "l.db", "--epsilon", "1", "--unit", "patient", "--max-rows", "10", "--note", "visits")
    return tmp_path


CUBE = ("cube", "visits.csv", "--dims", "sex,age", "--domain", "sex=F,M", "--domain", "age=0..9")
PAID = (*CUBE, "--person", "patient", "--ledger", "l.db")


def test_budget_release_and_slices(work: Path) -> None:
    assert "patient (up to 10 rows), add-remove" in deid("budget", "show", "l.db")
    deid(*PAID, "--epsilon", "0.5", "-o", "cube.parquet", "--json", "s.json")
    assert json.loads(Path("s.json").read_text())["method"] == "cells"
    shown = pd.read_csv(io.StringIO(deid("slice", "cube.parquet", "--dims", "sex", "--where", "age=2..5")))
    assert shown.columns.tolist() == ["sex", "count", "lower", "upper"]
    assert ((shown["lower"] <= 80 + 200) & (shown["upper"] >= 0)).all()
    line = json.loads(deid("budget", "history", "l.db"))
    assert (line["epsilon"], line["charged"], line["answered"], line["part"]) == (0.5, 0.5, True, "")
    assert re.search(r"remaining\s+0\.5", deid("budget", "show", "l.db"))


def test_the_same_request_is_not_charged_again(work: Path) -> None:
    asked = (*PAID, "--epsilon", "0.4", "--request", "r1")
    deid(*asked, "-o", "cube.json")
    before = Path("cube.json").read_bytes()
    deid(*asked, "-o", "cube.json")
    assert Path("cube.json").read_bytes() == before
    with pytest.raises(OutputError, match="another file"):
        deid(*asked, "-o", "other.json")
    with pytest.raises(ConfigError, match="another question"):
        deid(*PAID, "--epsilon", "0.3", "--request", "r1", "-o", "other.json")
    assert len(deid("budget", "history", "l.db").splitlines()) == 1


def test_nothing_is_charged_for_what_cannot_be_written(work: Path) -> None:
    Path("there.csv").write_text("x")
    for output in ("there.csv", "none/cube.csv", "cube.txt"):
        with pytest.raises(DeidError):
            deid(*PAID, "--epsilon", "0.5", "-o", output)
    with pytest.raises(ConfigError, match="-o"):
        deid(*PAID, "--epsilon", "0.5")
    assert deid("budget", "history", "l.db") == ""


def test_nothing_is_released_without_a_ledger_or_a_domain(work: Path) -> None:
    with pytest.raises(ConfigError, match="ledger"):
        deid(*CUBE, "--epsilon", "0.5", "-o", "cube.csv")
    with pytest.raises(ConfigError, match="no declared domain"):
        deid("cube", "visits.csv", "--dims", "sex,patient", "--domain", "sex=F,M", "--epsilon", "1", "-o", "c.csv")
    Path("d.toml").write_text("[columns.sex]\nfrom_data = true\n")
    with pytest.raises(ConfigError, match="discloses"):
        deid("cube", "visits.csv", "--dims", "sex", "--domains", "d.toml", "--epsilon", "1", "-o", "c.csv")
    assert not list(work.glob("c*.csv"))


def test_public_domains_are_read_and_their_source_is_kept(work: Path) -> None:
    Path("d.toml").write_text('[columns.sex]\nfrom_data = true\npublic_source = "registry form of 2020"\n')
    deid("cube", "visits.csv", "--dims", "sex", "--domains", "d.toml", "--epsilon", "1", "-o", "c.csv",
         "--not-private-seed", "1")  # fmt: skip
    metadata = json.loads(Path("c.csv.json").read_text())
    assert metadata["domains"][0]["public_source"] == "registry form of 2020"
    assert metadata["private"] is False


def test_dry_run_touches_neither_table_nor_ledger(work: Path) -> None:
    Path("visits.csv").unlink()
    shown = deid(
        *PAID, "--epsilon", "0.5", "--slice", "sex,age:2", "--slice", "age", "--dry-run", "--wanted-error", "9"
    )
    assert re.search(r"sex x age\s+marginals\s+20", shown)
    assert "Epsilon for an expected error of 9" in shown
    assert deid("budget", "history", "l.db") == ""


def test_messages_hold_no_values(work: Path) -> None:
    Path("visits.csv").write_text("sex,age,patient\n" + "Annabel Smith,1,2\n" * 3)
    result = RUNNER.invoke(app, [*PAID, "--epsilon", "0.5", "-o", "cube.csv"])
    assert result.exit_code == 0
    assert "Annabel" not in result.output
    assert "Annabel" not in Path("cube.csv").read_text() + Path("cube.csv.json").read_text()
    Path("broken.parquet").write_bytes(b"Annabel Smith")
    result = RUNNER.invoke(app, ["cube", "broken.parquet", *PAID[2:], "--epsilon", "0.5", "-o", "c.csv"])
    assert isinstance(result.exception, DeidError)
    assert "Annabel" not in str(result.exception)


def test_passwords_do_not_stand_on_command_lines() -> None:
    with pytest.raises(ConfigError, match="password"):
        deid("budget", "show", "postgresql://me:hush@127.0.0.1/db")


def test_ragged_tables_are_refused_before_anything_is_charged(work: Path) -> None:
    Path("visits.csv").write_text("sex,age,patient\nF,1,2\nF,1,2,3\n")
    with pytest.raises(DeidError, match="more or fewer cells"):
        deid(*PAID, "--epsilon", "0.5", "-o", "cube.csv")
    assert deid("budget", "history", "l.db") == ""


def test_whole_numbers_with_gaps_find_their_cells(work: Path) -> None:
    Path("visits.csv").write_text("sex,grade\n" + "F,3\nM,\n" * 50)
    deid("cube", "visits.csv", "--dims", "grade", "--domain", "grade=1,2,3", "--epsilon", "9", "-o", "c.csv",
         "--not-private-seed", "1")  # fmt: skip
    assert pd.read_csv("c.csv")["count"].to_numpy() == pytest.approx([0, 0, 50], abs=3)


def test_disjoint_parts_cost_their_maximum_and_overlapping_ones_their_sum(work: Path) -> None:
    ages = ("cube", "visits.csv", "--dims", "age", "--domain", "age=0..9", "--person", "patient", "--ledger", "l.db")
    for cell in "FM":
        deid(*ages, "--domain", "sex=F,M", "--part", f"sex={cell}", "--epsilon", "0.4", "-o", f"{cell}.csv")
    charged = [json.loads(line)["charged"] for line in deid("budget", "history", "l.db").splitlines()]
    assert charged == [0.4, 0.0]
    assert json.loads(Path("F.csv.json").read_text())["part"] == [["sex", "F"]]
    # the same column in other cells overlaps with the first ones: a partition of its own
    deid(*ages, "--domain", "sex=M", "--part", "sex=M", "--epsilon", "0.4", "-o", "again.csv")
    assert re.search(r"spent\s+0\.8", deid("budget", "show", "l.db"))
    with pytest.raises(ConfigError, match="no such cell"):
        deid(*ages, "--domain", "sex=F,M", "--part", "sex=X", "--epsilon", "0.1", "-o", "x.csv")


def test_a_part_holds_its_rows_alone(work: Path) -> None:
    deid("cube", "visits.csv", "--dims", "age", "--domain", "age=0..9", "--domain", "sex=F,M", "--part", "sex=F",
         "--epsilon", "20", "--not-private-seed", "1", "-o", "c.csv")  # fmt: skip
    counts = pd.read_csv("c.csv")["count"].to_numpy()
    assert counts == pytest.approx([40, 0] * 5, abs=2)  # women have even ages in this table


QUERY = ("query", "visits.csv", "SELECT COUNT(*) GROUP BY sex", "--domain", "sex=F,M", "--person", "patient")
KEYS = ("keys", "visits.csv", "--column", "sex", "--person", "patient", "--keys-delta", "1e-7")


@pytest.mark.parametrize("command", [PAID[:-2], QUERY, KEYS], ids=lambda one: one[0])
def test_a_ledger_put_back_from_yesterday_grants_nothing(command: tuple[str, ...], work: Path) -> None:
    deid("budget", "init", "b.db", "--epsilon", "1", "--unit", "patient", "--max-rows", "10", "--keys-delta", "1e-6")
    paid = (*command, "--ledger", "b.db", "--epsilon", "0.4")
    deid(*paid, "-o", "monday.csv")
    yesterday = Path("b.db").read_bytes()
    deid(*paid, "-o", "tuesday.csv")
    today = Path("b.db").read_bytes()
    Path("b.db").write_bytes(yesterday)
    for again in ((*paid, "-o", "again.csv"), ("budget", "show", "b.db")):
        with pytest.raises(DeidError, match="1 charges, and you were charged 2"):
            deid(*again)
    assert not Path("again.csv").exists()
    Path("b.db").write_bytes(today)
    assert "0.8" in deid("budget", "show", "b.db")
    with pytest.raises(DeidError, match=r"costs 0\.4 and 0\.2"):
        deid(*paid, "-o", "again.csv")


def test_a_ledger_that_others_spent_from_is_no_older_copy(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was charged less than it holds, or cannot note what he is charged, goes on."""
    deid(*PAID, "--epsilon", "0.2", "-o", "one.csv")
    Path("other").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(work / "other"))
    deid(*PAID, "--epsilon", "0.2", "-o", "two.csv")
    (work / "other" / "deid" / "ledgers.log").unlink()
    (work / "other" / "deid" / "ledgers.log").mkdir()
    deid(*PAID, "--epsilon", "0.2", "-o", "three.csv")
    assert "0.6" in deid("budget", "show", "l.db")
