"""A registry's table of 40 columns, as registries write it: made-up rows, questions, and what is missing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.dp.counting import rows_of
from deid.dp.cube import plan_cube
from deid.dp.domain import Dimension, declare
from deid.dp.forest import SHARES, single_share
from deid.dp.methods import measure
from deid.dp.noise import SeededNoise
from deid.dp.release import CubeRelease
from deid.dp.session import QuerySession
from deid.dp.synthetic import synthesize
from deid.dp.unit import PrivacyUnit
from deid.table.table_files import read_table

FOLDER = Path(__file__).resolve().parents[2] / "corpora" / "tables" / "admissions"


@pytest.fixture(scope="module")
def stays() -> pd.DataFrame:
    return read_table(str(FOLDER / "admissions.csv"), text=True)


@pytest.fixture(scope="module")
def dimensions() -> tuple[Dimension, ...]:
    declared = tomllib.loads((FOLDER / "domains.toml").read_text("utf-8"))["columns"]
    return tuple(declare(name, own) for name, own in declared.items())


def test_no_row_of_forty_columns_is_lost_and_made_up_rows_have_all(
    stays: pd.DataFrame, dimensions: tuple[Dimension, ...]
) -> None:
    rows = rows_of(stays, dimensions)
    assert (rows.total, len(dimensions)) == (len(stays), 40)  # though every third row has an empty cell or a 999
    plan = plan_cube(dimensions, 500.0, PrivacyUnit(), report_share=0)
    assert plan.method == "forest"
    model, _ = measure(rows, plan, SeededNoise(1))
    made = synthesize(CubeRelease(dimensions, model, {"method": "forest", "level": 0.95}), seed=1)
    assert list(made) == [own.name for own in dimensions]
    assert set(made["county"]) <= set(stays["county"])  # with their leading zeros
    for own in dimensions:
        true = np.bincount(own.codes(stays[own.name]), minlength=len(own)) / len(stays)
        shown = np.bincount([own.labels.index(text) for text in made[own.name]], minlength=len(own)) / len(made)
        assert np.abs(true - shown).sum() / 2 < 0.05, own.name


def test_methods_with_a_dimension_for_each_column_are_refused_before_they_cost_anything(
    dimensions: tuple[Dimension, ...],
) -> None:
    with pytest.raises(ConfigError, match="too many for privtree"):
        plan_cube(dimensions, 1.0, PrivacyUnit(), method="privtree")


def test_codes_of_what_is_missing_are_in_no_mean(stays: pd.DataFrame, dimensions: tuple[Dimension, ...]) -> None:
    session = QuerySession(stays, dimensions, None, unit=PrivacyUnit(), noise=SeededNoise(0), report_share=0)
    values = pd.to_numeric(stays["systolic"])
    mean = session.query("SELECT MEAN(systolic)", 1e4).rows[0]["value"]
    assert mean == pytest.approx(values[values != 999].mean(), abs=0.1)
    unknown = session.query("SELECT COUNT(*) WHERE systolic IS NULL", 1e4).rows[0]["value"]
    assert unknown == (values == 999).sum()
    groups = session.query("SELECT COUNT(*) GROUP BY stage", 1e4).rows
    assert groups[-1]["stage"] == "no cancer"
    assert groups[-1]["value"] == stays["stage"].isna().sum()
    with pytest.raises(ConfigError, match="what is missing"):
        session.query("SELECT COUNT(*) WHERE stage = 'no cancer'", 1.0)


def test_single_columns_of_many_get_no_less_than_those_of_nine() -> None:
    assert single_share(2) == single_share(9) == SHARES[0]
    assert single_share(40) / 40 > (1 - single_share(40)) / (40 * 40)
    assert single_share(9) < single_share(10) < single_share(40) < 1
