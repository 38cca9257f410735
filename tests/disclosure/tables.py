"""Small tables for the tests of searches: random ones, and the worked examples of the field."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from deid.table.hierarchy import Hierarchy, hierarchy_from_rows, read_hierarchy
from deid.table.microdata import Microdata

REGIONS = hierarchy_from_rows(
    [
        ("Lyon", "France", "Europe", "*"),
        ("Nice", "France", "Europe", "*"),
        ("Bonn", "Germany", "Europe", "*"),
        ("Kyoto", "Japan", "Asia", "*"),
        ("Osaka", "Japan", "Asia", "*"),
        ("Lima", "Peru", "America", "*"),
    ],
    "region",
)
SIX = pd.DataFrame(
    {
        "age": [20, 23, 25, 27, 28, 29],
        "sex": ["M", "F", "M", "F", "F", "F"],
        "disease": ["HIV", "HIV", "Obesity", "HIV", "Cancer", "Obesity"],
    }
)
"""Six rows, the worked example of Mondrian and of clustering."""


def six() -> Microdata:
    return Microdata(SIX, {"age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"})


def random_table(
    rows: int, seed: int, *, missing: float = 0.0, hierarchy: Hierarchy = REGIONS, persons: int = 0
) -> Microdata:
    """Numbers, words, a column with a hierarchy, and a sensitive column of four values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 60, rows),
            "sex": rng.choice(["F", "M"], rows),
            "place": rng.choice(hierarchy.leaves(), rows, p=np.array([6, 5, 4, 2, 2, 1]) / 20),
            "disease": rng.choice(["flu", "cold", "cancer", "asthma"], rows),
        }
    )
    roles = dict.fromkeys(("age", "sex", "place"), "quasi-identifier") | {"disease": "sensitive"}
    if missing:
        for column in ("age", "sex", "place"):
            frame[column] = frame[column].where(rng.random(rows) >= missing)
    person = None
    if persons:
        frame["person"] = rng.integers(0, persons, rows)
        person = "person"
    return Microdata(frame, roles, {"place": hierarchy}, person)


def adult(shared_data: Path, columns: int = 8, sensitive: tuple[str, ...] = ()) -> Microdata:
    """Return the Adult table with its hierarchies; the first columns are quasi-identifiers."""
    frame = pd.read_csv(shared_data / "adult" / "adult.csv", sep=";")
    names = list(frame.columns)[:columns]
    roles = dict.fromkeys(names, "quasi-identifier") | dict.fromkeys(sensitive, "sensitive")
    folder = shared_data / "adult" / "hierarchies"
    return Microdata(frame, roles, {name: read_hierarchy(folder / f"{name}.csv") for name in roles})
