"""The commands schema, privacy and risk, as users run them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from deid.cli.main import main

SECRET = "Zebedee"
ORIGINAL = "age;sex;disease\n" + "".join(f"{age};{sex};{SECRET}{age % 3}\n" for age in range(20, 40) for sex in "MF")
RELEASED = "age;sex;disease\n" + "".join(
    f"[{age // 10 * 10}-{age // 10 * 10 + 9}];{sex};{SECRET}{age % 3}\n" for age in range(20, 40) for sex in "MF"
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "original.csv").write_text(ORIGINAL)
    (tmp_path / "released.csv").write_text(RELEASED)
    return tmp_path


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class Run(Protocol):
    def __call__(self, *arguments: str) -> Done: ...


@pytest.fixture
def run(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, in the folder of the files."""
    monkeypatch.chdir(files)

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["deid", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capsys.readouterr()
        return Done(int(stopped.value.code or 0), output.out, output.err)

    return call


def test_privacy_tells_levels_and_exits_1_when_one_is_missed(files: Path, run: Run) -> None:
    columns = ("--qi", "age,sex", "--sensitive", "disease")
    good = run("privacy", "released.csv", *columns, "--k", "10", "--l", "3", "--t", "0.1")
    assert good.returncode == 0, good.stderr
    assert "k-anonymity" in good.stdout
    bad = run("privacy", "released.csv", *columns, "--k", "11", "--json", "p.json")
    assert bad.returncode == 1
    assert " NO " in bad.stdout
    findings = json.loads((files / "p.json").read_text())["findings"]
    assert findings[0] | {"rows": 0} == {
        "model": "k-anonymity", "column": "", "asked": 11, "level": 10, "ok": False, "rows": 0,
    }  # fmt: skip
    assert findings[0]["rows"][0] == 1
    raw = run("privacy", "original.csv", *columns, "--k", "2")
    assert raw.returncode == 1
    assert SECRET not in good.stdout + bad.stdout + raw.stdout + raw.stderr


def test_privacy_against_population_and_originals(files: Path, run: Run) -> None:
    done = run(
        "privacy", "released.csv", "--qi", "age,sex", "--population", "original.csv", "--k-map", "10",
        "--presence", "0,1", "--original", "original.csv", "--kk", "10", "--json", "-",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    levels = {f["model"]: f["level"] for f in json.loads(done.stdout[done.stdout.index("{") :])["findings"]}
    assert "same order: global" in done.stderr
    assert levels == {"k-anonymity": 10, "k-map": 10, "delta-presence": [1.0, 1.0], "(k,k)-anonymity": 10}


def test_hierarchies_and_guards_of_sensitive_values(files: Path, run: Run) -> None:
    rows = ["[20-29],E11.65,E08-E13", "[20-29],I10,", "[30-39],E11.9,", "[30-39],*,E11"]
    (files / "dx.csv").write_text("age,dx,guard\n" + "\n".join(rows) + "\n")
    (files / "s.toml").write_text(
        '[columns.age]\nrole = "quasi-identifier"\nhierarchy = { kind = "intervals" }\n'
        '[columns.dx]\nrole = "sensitive"\nhierarchy = { kind = "icd-10-cm" }\n'
    )
    arguments = (
        "privacy",
        "dx.csv",
        "--schema",
        "s.toml",
        "--distance",
        "hierarchical",
        "--t",
        "1",
        "--json",
        "-",
    )
    done = run(*arguments, "--guard", "guard=0.5")
    assert done.returncode == 1, done.stderr
    findings = {f["model"]: f for f in json.loads(done.stdout[done.stdout.index("{") :])["findings"]}
    assert findings["t-closeness (hierarchical)"]["ok"] is True
    assert findings["personalised privacy"] == {
        "model": "personalised privacy", "column": "dx", "asked": 0.5, "level": 1.0, "ok": False, "rows": [4],
    }  # fmt: skip


def test_risk_with_population_and_an_earlier_release(files: Path, run: Run) -> None:
    done = run(
        "risk", "released.csv", "--qi", "age,sex", "--sensitive", "disease", "--population", "original.csv",
        "--population-size", "4000", "--with", "original.csv", "--known-persons", "original.csv", "--json", "r.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((files / "r.json").read_text())
    assert found["sample"]["prosecutor"]["highest"] == 0.1
    assert found["population"]["Q"] == pytest.approx(0.1)
    assert found["population"]["R"] == 1.0
    assert found["composition"]["disease"]["disclosed"] == 1.0  # the original gives everything away
    assert 0 <= found["sample"]["population_unique"] <= 1
    assert SECRET not in done.stdout + done.stderr + (files / "r.json").read_text()


def test_schema_is_proposed_and_used(files: Path, run: Run) -> None:
    done = run("schema", "original.csv", "--output", "s.toml")
    assert done.returncode == 0, done.stderr
    assert "2 quasi-identifier, 1 sensitive" in done.stderr
    assert run("privacy", "original.csv", "--schema", "s.toml", "--k", "1", "--l", "1").returncode == 0
    printed = run("schema", "original.csv")
    assert printed.stdout == (files / "s.toml").read_text()
    assert SECRET not in printed.stdout + printed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("privacy", "released.csv", "--qi", "agee"), "did you mean 'age'"),
        (("privacy", "released.csv"), "no quasi-identifier"),
        (("privacy", "released.csv", "--qi", "age", "--l", "2"), "--sensitive"),
        (("privacy", "released.csv", "--qi", "age", "--k-map", "2"), "--population"),
        (("privacy", "released.csv", "--qi", "age", "--sensitive", "age"), "two roles"),
        (("privacy", "released.csv", "--qi", "age", "--k", "0", "--sensitive", "disease"), "k is"),
        (("risk", "missing.csv", "--qi", "age"), "cannot be read"),
        (("risk", "original.csv", "--qi", "age", "--population", "released.csv"), "fewer records in the population"),
        (("risk", "released.csv", "--qi", "age", "--with", "original.csv"), "--sensitive"),
        (("risk", "released.csv", "--qi", "age", "--population-size", "3"), "smaller than the sample"),
    ],
)
def test_bad_input_exits_2_with_a_hint(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert SECRET not in done.stderr
