"""Odd values of options: each is taken at its word or refused by name, and no command ends in an error of its own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError
from deid.cli.commands import COMMANDS, load
from deid.cli.main import app
from deid.disclosure.consistency import k1_anonymity, k_map, kk_anonymity, one_k_anonymity
from deid.disclosure.methods import MethodOptions
from deid.dp.unit import PrivacyUnit
from deid.genomes.binning import check_bins
from deid.table.microdata import Microdata
from deid.transactions.transactions import transactions_of
from deid.transactions.uncertainty import suppress_control
from deid.transactions.verifiers import verify_km, verify_uncertainty
from tests.contracts.test_every_kind_of_table import FRAME, READERS, file

ROWS = {name: row for rows in COMMANDS.values() for name, row in rows.items() if row[0]}


def params(name: str) -> list[Any]:
    return [p for p in load(name.split()[-1], ROWS[name][0]).params if p.param_type_name == "option"]


def test_seeds_are_no_negative_numbers_in_any_command() -> None:
    found = {
        (name, p.opts[0]): p.type.min
        for name in ROWS
        for p in params(name)
        if "seed" in p.opts[0] and p.opts[0][-1] != "s"
    }
    assert len(found) > 20
    assert {spot for spot, least in found.items() if least != 0} == set()


@pytest.mark.parametrize("value", [-1, 10**20, math.nan, ""])
@pytest.mark.parametrize("name", sorted(set(READERS) - {"fidelity"}))
def test_no_command_ends_in_an_error_of_its_own(
    name: str, value: float | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = file(FRAME, Path("t.csv"))
    kinds = {"int": int, "int range": int, "float": float, "str": str}
    for own in params(name):
        kind = kinds.get(own.type.name)
        if kind is None or (kind is str) != (value == "") or (kind is int and value != value) or own.multiple:
            continue
        if own.opts[0] in ("--rounds", "--draws", "--queries"):
            continue  # as much work as one asks for
        words = [*READERS[name]]
        if own.opts[0] in words:
            del words[(at := words.index(own.opts[0])) : at + 2]
        for place in Path().glob("NEW*"):
            place.unlink()
        result = CliRunner().invoke(app, [*name.split(), table, *words, own.opts[0], str(value)])
        odd = result.exception is not None and not isinstance(result.exception, (DeidError, SystemExit))
        assert not odd, (own.opts[0], result.exception)
        if value == "" and own.metavar == "COLUMN":
            assert f"{own.opts[0]} is empty" in str(result.exception)
        if value == -1 and own.opts[0] in (
            "--k",
            "--l",
            "--m",
            "--k-map",
            "--kk",
            "--siblings",
            "--known-codes",
            "--seed",
        ):
            assert result.exit_code == 2 or isinstance(result.exception, ConfigError), own.opts[0]


FLAT = Microdata(FRAME[["sex"]], {"sex": "quasi-identifier"})
CODES = transactions_of([["a", "b"], ["a"]])


@pytest.mark.parametrize("level", [0, -1])
def test_the_library_certifies_no_level_that_is_none(level: int) -> None:
    for verifier in (k_map, kk_anonymity, one_k_anonymity, k1_anonymity):
        with pytest.raises(ConfigError, match="k must be at least 1"):
            verifier(FLAT, FLAT, level)
    for k, m in ((level, 2), (2, level)):
        with pytest.raises(ConfigError, match="k and m are at least 1"):
            verify_km(CODES, k, m)
    rows = [["0/0", "0/1"]] * 3
    for sizes in (
        {"within": level, "across": 1},
        {"within": 1, "across": level},
        {"within": 1, "across": 1, "size": level},
    ):
        with pytest.raises(ConfigError, match="must be at least 1"):
            check_bins(rows, "*", **sizes)  # type: ignore[arg-type]


def test_other_bounds_that_are_none() -> None:
    with pytest.raises(ConfigError, match="a seed below 0"):
        MethodOptions(seed=-1)
    with pytest.raises(ConfigError, match="more rows than any table"):
        PrivacyUnit("patient", max_rows=10**20)
    for check in (verify_uncertainty, suppress_control):
        with pytest.raises(ConfigError, match="at least"):
            check(CODES, frozenset({"a"}), 0.5, size=-1)


def test_nothing_is_a_list_of_numbers_where_an_experiment_needs_none(tmp_path: Path) -> None:
    table = file(FRAME, tmp_path / "t.csv")
    periods = ["experiment", "sequences", table, "--domain", "level=0,1"]
    for words in (["--periods", "q1,q2", "--epsilons", ""], ["--periods", ""]):
        result = CliRunner().invoke(app, [*periods, *words])
        assert isinstance(result.exception, ConfigError), result.exception
        assert "is named" in str(result.exception)
