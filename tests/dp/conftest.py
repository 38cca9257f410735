"""A small cube and the SEER-shaped one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deid.dp.domain import Dimension, declare
from deid.dp.methods import Rows

SEER = ("sex", 2), ("age", 130), ("year", 36), ("behavior", 2), ("lab", 9), ("death", 2), ("other", 2)


@pytest.fixture(scope="session")
def small() -> tuple[pd.DataFrame, tuple[Dimension, ...]]:
    """600 rows over sex 2, age 12, clinic 3; ages gather at 4 to 7."""
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], 600),
            "age": np.clip(generator.normal(5.5, 1.5, 600).round(), 0, 11).astype(int).astype(str),
            "clinic": generator.choice(["north", "south", "west"], 600, p=[0.7, 0.2, 0.1]),
        },
        dtype="string",
    )
    dimensions = (
        declare("sex", {"values": ["F", "M"]}),
        declare("age", {"range": [0, 11]}),
        declare("clinic", {"values": ["north", "south", "west"]}),
    )
    return frame, dimensions


@pytest.fixture(scope="session")
def seer(shared_data: Path) -> tuple[pd.DataFrame, tuple[Dimension, ...]]:
    """The table of 22,174 records with its declared domains."""
    path = shared_data / "dp" / "seer_shaped.csv"
    if not path.is_file():
        pytest.skip("the SEER-shaped table is not beside this checkout")
    frame = pd.read_csv(path, dtype="string")
    return frame, tuple(declare(name, {"range": [0, size - 1]}) for name, size in SEER)


@pytest.fixture(scope="session")
def seer_rows(seer: tuple[pd.DataFrame, tuple[Dimension, ...]]) -> Rows:
    """The same as cells."""
    frame, dimensions = seer
    return Rows(np.stack([own.codes(frame[own.name]) for own in dimensions], axis=1), tuple(map(len, dimensions)))
