"""A frame may hold anything: what reads one ends with an answer, or with an error of deid's that names the column.

Law, for all that takes a frame through the library: cells of every type, gaps of every kind, odd indexes and names of
columns never end in an error of Python, pandas or NumPy.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from products import by_day

from deid.base.errors import DeidError
from deid.disclosure.anonymizers import Anonymizer
from deid.disclosure.assessment import Requirements, assess
from deid.disclosure.proposal import propose_schema
from deid.disclosure.release import anonymize
from deid.disclosure.risk import sample_risk
from deid.dp import QuerySession
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.noise import SeededNoise
from deid.dp.unit import PrivacyUnit
from deid.table.microdata import Microdata
from deid.trajectories.publishing import TrajectoryOptions, release_diagnoses
from deid.transactions.asking import CodesAsked, release_codes

STAMP = pd.Timestamp("2020-01-01 03:00")
CELLS: dict[str, Any] = {
    "NA": pd.NA, "NaT": pd.NaT, "nan": float("nan"), "infinite": float("inf"), "list": [1, 2], "set": {3},
    "dictionary": {"a": 1}, "tuple": (1, 2), "array": np.array([1, 2]), "object": object(), "huge": 10**400,
    "beyond floats": "1e999", "digits": "9" * 5000, "int64": -(2**63), "zone": STAMP.tz_localize("UTC"),
    "date": datetime.date(2020, 1, 1), "decimal": decimal.Decimal("NaN"), "bytes": b"\xff", "complex": 1 + 2j,
    "period": pd.Period("2020-01"), "interval": pd.Interval(0, 1), "surrogate": "\ud800", "series": pd.Series([1]),
    "empty": "", "true": True,
}  # fmt: skip
ROWS = 8


def plain() -> pd.DataFrame:
    return pd.DataFrame({"q": [1, 2] * 4, "s": [1, 2] * 4})


def renamed(*names: Any) -> pd.DataFrame:
    frame = plain().assign(x=1)
    frame.columns = pd.Index(names)
    return frame


def odd_frames() -> dict[str, pd.DataFrame]:
    odd: dict[str, Any] = {}
    for name, cell in CELLS.items():
        odd[name] = pd.Series([cell] * ROWS, dtype=object)
        odd[f"{name} and text"] = pd.Series([cell, "b"] * (ROWS // 2), dtype=object)
    odd["mixed categories"] = pd.Categorical([1, "a", None, 1] * 2)
    odd["intervals"] = pd.cut(pd.Series([1.0, 2.0] * 4), 2)
    odd["zones"] = pd.Series([STAMP] * ROWS).dt.tz_localize("US/Eastern")
    odd["times"] = pd.to_timedelta([1, 2] * 4, "D")
    odd["Int64"] = pd.array([1, pd.NA] * 4, dtype="Int64")
    odd["boolean"] = pd.array([True, pd.NA] * 4, dtype="boolean")
    odd["sparse"] = pd.arrays.SparseArray([0, 1] * 4)
    odd["uint64"] = np.full(ROWS, 2**64 - 1, dtype="uint64")
    frames = {name: plain().assign(q=column) for name, column in odd.items()}
    frames["one name twice"] = renamed("q", "q", "s")
    frames["another name twice"] = renamed("q", "s", "s")
    frames["a number for a name"] = renamed("q", "s", 3)
    frames["no name"] = renamed("q", "s", None)
    frames["names of two levels"] = pd.concat({"q": plain()}, axis=1)
    frames["an index of two levels"] = plain().set_index([np.zeros(ROWS), np.arange(ROWS)])
    frames["an index that repeats"] = plain().set_index(np.zeros(ROWS))
    frames["no rows"] = plain().iloc[:0]
    frames["no columns"] = pd.DataFrame(index=range(3))
    return frames


FRAMES = odd_frames()
NOISE, UNIT = SeededNoise(1), PrivacyUnit()


def table(frame: pd.DataFrame, **roles: str) -> Microdata:
    return Microdata(frame, {"q": "quasi-identifier", "s": "sensitive"} | roles, persons_as_given=True)


def asked(**own: Any) -> CodesAsked:
    return CodesAsked(**{"codes": "s", "k": 2, "persons_as_given": True} | own)


USES: dict[str, Callable[[pd.DataFrame], object]] = {
    "anonymize": lambda frame: anonymize(table(frame), Requirements(k=2)).published,
    "anonymize by records": lambda frame: anonymize(table(frame), Requirements(k=2), "records").published,
    "sensitive": lambda frame: anonymize(
        table(frame, q="sensitive", s="quasi-identifier"), Requirements(k=2, t=0.5, distance="ordered")
    ),
    "published": lambda frame: anonymize(table(frame, q="other", s="quasi-identifier"), Requirements(k=2)).published,
    "look-alikes": lambda frame: anonymize(
        Microdata(frame, {"q": "other", "s": "quasi-identifier"}), Requirements(k=2)
    ),
    "Anonymizer": lambda frame: Anonymizer(k=2).fit(table(frame)).transform(table(frame)),
    "persons": lambda frame: Microdata(frame, {"s": "quasi-identifier"}, person="q"),
    "privacy": lambda frame: assess(table(frame), Requirements(k=2, l=2)),
    "risk": lambda frame: sample_risk(table(frame)),
    "schema": lambda frame: propose_schema(Microdata(frame, {})),
    "cube": lambda frame: release_cube(
        frame, plan_cube([declare("q", {"range": [0, 5]})], 1.0, UNIT), ledger=None, noise=NOISE
    ),
    "query": lambda frame: QuerySession(frame, [declare("q", {"values": ["1", "b"]})], None, noise=NOISE),
    "query by person": lambda frame: QuerySession(
        frame, [declare("s", {"range": [0, 9]})], None, noise=NOISE, person="q", unit=PrivacyUnit("patient", max_rows=2)
    ),
    "codes": lambda frame: release_codes(frame, asked(codes="q")),
    "codes by person": lambda frame: release_codes(frame, asked(person="q", persons_as_given=False)),
    "codes and columns": lambda frame: release_codes(frame, asked(qi=("q",), method="relational")),
    "visits": lambda frame: release_codes(frame, asked(visit="q")),
    "trajectories": lambda frame: release_diagnoses(
        frame.assign(person=range(len(frame)), age=30), TrajectoryOptions(k=2, code="q", own_leaf=True)
    ),
    "ages": lambda frame: release_diagnoses(
        frame.assign(person=range(len(frame)), code="I10"), TrajectoryOptions(k=2, age="q")
    ),
}


@pytest.mark.parametrize(("frame", "use"), by_day([*FRAMES], [*USES]))
def test_no_frame_ends_in_an_error_of_another_program(frame: str, use: str) -> None:
    with contextlib.suppress(DeidError):
        USES[use](FRAMES[frame].copy())


@pytest.mark.parametrize("use", [use for use in USES if use not in ("trajectories", "ages", "schema")])
def test_one_name_for_two_columns_is_refused(use: str) -> None:
    """Not taken for one of them, whichever it is."""
    with pytest.raises(DeidError, match="two columns are called"):
        USES[use](FRAMES["another name twice" if "person" in use and "codes" not in use else "one name twice"].copy())


@pytest.mark.parametrize("name", ["list", "set", "dictionary", "array", "tuple", "object", "surrogate", "huge"])
def test_what_cannot_be_published_names_its_column(name: str) -> None:
    with pytest.raises(DeidError) as error:
        anonymize(table(FRAMES[name]), Requirements(k=2))
    assert "column 'q'" in str(error.value)
