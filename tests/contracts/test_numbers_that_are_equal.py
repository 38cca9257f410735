"""What of a cell is one value is so in every command and file, whatever rows stand before it.

-0.0 is 0.0, NaN is missing whatever its bits; 1 and True, 1.0 and 1.00 as decimals are two values, of which no row
decides how the other is read.
"""

from __future__ import annotations

import datetime
import itertools
import sqlite3
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run

from deid.table.cell_text import row_hashes, table_hash, text_list
from deid.table.microdata import Microdata
from deid.table.table_files import read_table
from deid.table.table_writing import write_table

_NAN = struct.unpack("d", struct.pack("Q", 0xFFF8000000000123))[0]
_NOON, _HERE = (datetime.timezone(datetime.timedelta(hours=h)) for h in (0, 1))
ONE = {
    "zeros": [0.0, -0.0],
    "zeros of 32 bits": np.array([0.0, -0.0], np.float32),
    "decimal zeros": [Decimal("0.00"), Decimal("-0.00")],
    "missing numbers": [np.nan, _NAN],
    "missing": [None, np.nan, _NAN, pd.NaT, pd.NA, ""],
    "ones": [1, 1.0, np.int8(1), np.float32(1)],
}
TWO: dict[str, list[Any]] = {
    "one and true": [1, True, "yes"],
    "zero and false": [False, 0.0, np.bool_(True)],
    "decimals": [Decimal("250.0"), Decimal("250.00")],
    "noon and one o'clock": [
        datetime.datetime(2020, 1, 1, 12, tzinfo=_NOON),
        datetime.datetime(2020, 1, 1, 13, tzinfo=_HERE),
    ],
}


def texts(cells: Any) -> list[str | None]:
    """Return how a table's roles and how counts read cells; both must read the same."""
    column = pd.Series(cells) if isinstance(cells, np.ndarray) else pd.Series(cells, dtype=object)
    own = Microdata(pd.DataFrame({"c": column}), {"c": "sensitive"}, kinds={"c": "nominal"}).texts("c")
    assert [(text or "").replace("T", " ") for text in own] == [text.replace("T", " ") for text in text_list(column)]
    return own


@pytest.mark.parametrize("name", ONE)
def test_what_is_one_value(name: str) -> None:
    for cells in itertools.permutations(ONE[name]):
        assert len({*texts(ONE[name] if isinstance(ONE[name], np.ndarray) else list(cells))}) == 1


@pytest.mark.parametrize("name", TWO)
def test_no_row_decides_how_another_is_read(name: str) -> None:
    cells = TWO[name]
    read = dict(zip(range(len(cells)), texts(cells), strict=True))
    assert len({*read.values()}) == len(cells)
    for order in itertools.permutations(range(len(cells))):
        found = texts([cells[at] for at in order])
        assert dict(zip(order, found, strict=True)) == read


def test_numbers_of_32_bits_are_those_that_were_written() -> None:
    assert texts(np.array([0.1, 2.5, 16777216], np.float32)) == ["0.1", "2.5", "16777216"]


def files(frame: pd.DataFrame) -> dict[str, str]:
    """Write a frame with a column x of numbers as every kind of file, and return what reads it."""
    places = {}
    for kind in ("csv", "parquet", "xlsx"):
        write_table(frame, Path(f"t.{kind}"))
        places[kind] = f"t.{kind}"
    frame.assign(x=frame["x"].astype(np.float32)).to_parquet("t32.parquet")
    with sqlite3.connect("t.db") as connection:
        frame.to_sql("t", connection, index=False)
        connection.execute("CREATE VIEW v AS SELECT * FROM t")
    connection.close()
    return {**places, "parquet of 32 bits": "t32.parquet", "sqlite": "sqlite:///t.db/t", "view": "sqlite:///t.db/v"}


NOISE = ("--epsilon", 50, "--not-private-seed", 1)
ASKED = {
    "privacy": ("--qi", "x,sex", "--sensitive", "dx", "--persons-as-given"),
    "risk": ("--qi", "x,sex", "--persons-as-given"),
    "anonymize": ("--qi", "x,sex", "--sensitive", "dx", "--drop-rest", "--k", 3, "--persons-as-given", "-o", "NEW.csv"),
    "codes anonymize": ("--codes", "x", "--k", 2, "--persons-as-given", "--attacked", 0, "-o", "NEW.csv"),
    "query": ("SELECT COUNT(*) GROUP BY x", "--domain", "x=0,1,2.5", *NOISE),
    "cube": ("--dims", "x,sex", "--domain", "x=0,1,2.5", "--domain", "sex=F,M", *NOISE, "-o", "NEW.csv"),
    "keys": ("--column", "x", *NOISE, "--keys-delta", 0.001, "-o", "NEW.toml"),
}


@pytest.mark.parametrize("name", ASKED)
def test_commands_say_the_same_of_zeros_of_two_signs_in_every_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    values = [0.0, -0.0, 1.0, 2.5, -0.0, np.nan]
    signed, plain = (
        pd.DataFrame({"who": [f"p{n}" for n in range(48)], "x": [own[n % 6] for n in range(48)]})
        for own in (values, [value + 0.0 for value in values])
    )
    said = {}
    for sign, frame in (("plain", plain), ("signed", signed)):
        folder = tmp_path / sign
        folder.mkdir()
        monkeypatch.chdir(folder)
        frame["sex"], frame["dx"] = (
            ["FM"[n % 2] for n in range(48)],
            [("flu", "gout", "burn")[n % 3] for n in range(48)],
        )
        for kind, place in files(frame).items():
            new = f"new-{kind.replace(' ', '-')}"
            told = run(*name.split(), place, *(str(word).replace("NEW", new) for word in ASKED[name]))
            lines = [line for line in told.splitlines() if "manifest" not in line and "created a new" not in line]
            written = [path for path in Path().glob(f"{new}.*") if path.suffix in (".csv", ".toml")]
            said[sign, kind] = lines, [path.read_text() for path in written]
    if name == "cube":  # a release tells which run it is of
        said = {of: (lines, []) for of, (lines, _) in said.items()}
    assert {of: own for of, own in said.items() if own != said["plain", "parquet"]} == {}


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "db"])
def test_a_table_is_the_same_behind_the_disk(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": [0.0, -0.0, np.nan, _NAN, 0.1], "b": ["1", "x", "y", "1.0", "z"]})
    write_table(frame, f"sqlite:///t.{kind}/t" if kind == "db" else Path(f"t.{kind}"))
    again = read_table(f"sqlite:///t.{kind}/t" if kind == "db" else f"t.{kind}")
    for name in frame:
        assert text_list(again[name]) == text_list(frame[name])
    assert table_hash(again, b"k") == table_hash(frame, b"k")
    assert (row_hashes(frame, b"k")[0] == row_hashes(frame.assign(b="1"), b"k")[1]).all()


def test_decimals_of_a_database_have_no_sign_of_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("t.db") as connection:
        connection.execute("CREATE TABLE d (x DECIMAL(5,2), y REAL)")
        connection.executemany("INSERT INTO d VALUES (?, ?)", [(0, 0.0), (-0.0, -0.0), (1, 1), (-0.5, 1.5)])
    connection.close()
    assert text_list(read_table("sqlite:///t.db/d", text=True)["x"]) == ["0.00", "0.00", "1.00", "-0.50"]
