"""Experiments on linkage: every method is scored against the truth, and the attack finds what it should."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.cli.main import app
from deid.experiments.asking import FilterRuns, LinkageRuns
from deid.experiments.filter_attack import attack_filters
from deid.experiments.linkage import linkage_outcome
from deid.experiments.private_linkage import HARDENINGS, private_linkage_outcome, two_sites
from deid.linkage.encodings import Encoding, encode

LAST = {"text": (("last", 10),)}


@pytest.mark.slow
def test_methods_are_scored_on_the_same_mentions() -> None:
    outcome = linkage_outcome(LinkageRuns((400, 800), "record-number,exact", (0.9,), runs=2, resamples=20))
    rows = outcome.rows.set_index(["method", "size", "seed"])
    assert len(rows) == 8
    for size in (400, 800):
        for seed in (0, 1):
            numbers, exact = rows.loc[("record-number", size, seed)], rows.loc[("exact", size, seed)]
            assert numbers["persons"] == exact["persons"]
            assert exact["recall"] > numbers["recall"] + 0.2
            assert min(numbers["precision"], exact["precision"]) > 0.95
            assert exact["f1_low"] <= exact["f1"] <= exact["f1_high"]
    assert rows["over_merged"].max() < 10
    assert outcome.draw is not None
    outcome.draw()


def test_the_command_takes_rates_and_writes_figures(tmp_path: Path) -> None:
    figures, rows = tmp_path / "f.json", tmp_path / "rows.csv"
    given = ["experiment", "linkage", "--sizes", "300", "--methods", "record-number", "--rates", "no-record-number=0"]
    plain = ["--rates", "record-number-typo=0", "--rates", "second-authority=0"]
    result = CliRunner().invoke(app, [*given, *plain, "--json", str(figures), "-o", str(rows)])
    assert result.exit_code == 0, result.output
    (row,) = json.loads(figures.read_text())["rows"]
    assert row["f1"] == row["b3_f1"] == 1
    assert rows.read_text().startswith("method,threshold,size")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["linkage", "--rates", "no-such=0.1"], "no_such"),
        (["linkage", "--rates", "twin"], "not of the form"),
        (["linkage", "--rates", "twin=7"], "rate twin is 7"),
        (["linkage", "--methods", "guess"], "guess"),
        (["private-linkage", "--harden", "soak"], "soak"),
        (["private-linkage", "--persons", "3"], "at least 50"),
    ],
)
def test_what_cannot_be_tried_is_refused(given: list[str], told: str) -> None:
    refused = CliRunner().invoke(app, ["experiment", *given]).exception
    assert isinstance(refused, ConfigError)
    assert told in str(refused)


@functools.cache
def _site(seed: int) -> pd.DataFrame:
    return two_sites(4000, seed)[0]


@pytest.mark.parametrize("hardening", ["none", "fold", "balance"])
def test_counting_and_comparing_tell_names_behind_filters_but_not_behind_salted_ones(hardening: str) -> None:
    persons, public = _site(1), _site(2)
    names, known = (list(side[["last"]].itertuples(index=False, name=None)) for side in (persons, public))
    shares = {}
    for salt in (None, "birth_date"):
        how = Encoding(**LAST, **{**HARDENINGS[hardening], "salt": salt})
        shares[salt] = attack_filters(encode(persons, how, Key(b"k" * 32)), known, names, names=50)
    assert shares[None].reidentified > 0.4
    assert shares["birth_date"].reidentified < shares["birth_date"].by_chance < 0.06
    assert shares["birth_date"].filters > 2 * shares[None].filters


@pytest.mark.slow
def test_every_hardening_is_matched_and_attacked() -> None:
    outcome = private_linkage_outcome(FilterRuns(300, (0.75, 0.95)))
    rows = outcome.rows
    matches, attacks = rows[rows["part"] == "match"], rows[rows["part"] == "attack"]
    assert set(matches["hardening"]) == set(attacks["hardening"]) == set(HARDENINGS)
    assert len(matches) == 2 * len(HARDENINGS) == len(attacks)
    best = matches.groupby("hardening")["recall"].max()
    assert best.min() > 0.85
    assert (matches["precision"] > 0.95).all()
