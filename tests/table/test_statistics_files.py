"""Files of SAS, Stata and SPSS: the stored codes, missing values, dates; damaged files quote nothing."""

from __future__ import annotations

import datetime
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from deid.base.errors import ConfigError, FormatError, InputError, OutputError
from deid.table.statistics_files import WRITTEN
from deid.table.table_files import read_table
from deid.table.table_writing import write_table

FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0],
        "age": [30.0, float("nan"), 31.0],
        "name": ["Ann", "", "Zoe"],
        "weight": [1.5, 2.0, 3.25],
        "born": [datetime.date(1990, 1, 2), None, datetime.date(1850, 5, 6)],
    }
)


@pytest.mark.parametrize("kind", ["sav", "zsav", "dta", "xpt", "por"])
def test_codes_dates_and_gaps(tmp_path: Path, kind: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    place = str(tmp_path / f"t.{kind}")
    labels = {"sex": {1: "male", 2: "female"}}
    if kind in ("sav", "zsav"):
        pyreadstat.write_sav(
            FRAME, place, compress=kind == "zsav", variable_value_labels=labels, missing_ranges={"sex": [9.0]}
        )
    elif kind == "dta":
        pyreadstat.write_dta(FRAME, place, variable_value_labels=labels)
    else:
        {"xpt": pyreadstat.write_xport, "por": pyreadstat.write_por}[kind](FRAME, place)
    frame = read_table(place, exact=True).rename(columns=str.lower).astype(object)
    assert frame.where(frame.notna(), None).to_numpy().tolist() == [
        [1, 30, "Ann", 1.5, "1990-01-02"],
        [2, None, None, 2.0, None],
        [None if "sav" in kind else 9, 31, "Zoe", 3.25, "1850-05-06"],
    ]


@pytest.mark.parametrize("kind", ["sas7bdat", "xpt", "dta", "sav", "por"])
def test_what_is_none_is_refused_without_its_content(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("pyreadstat")
    path = tmp_path / f"t.{kind}"
    with pytest.raises(InputError, match="cannot be read"):
        read_table(path)
    path.write_bytes(b"Zebedee" * 100)
    with pytest.raises(FormatError, match=f"no .{kind} file") as caught:
        read_table(path)
    assert "Zebed" not in str(caught.value)


KINDS = ["xpt", "dta", "sav", "zsav"]
CELLS = pd.DataFrame(
    {"sex": ["F", None, "M"], "age": ["[30-39]", "*", "\u00e9{a,b}"], "n": [1, 2, 3], "w": [0.5, None, 2]}
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of files of each kind, and again of a second later."""
    pytest.importorskip("pyreadstat")
    folder = tmp_path_factory.mktemp("written")
    for number in range(2):
        for kind in KINDS:
            write_table(CELLS.assign(sex=CELLS["sex"].astype("category")), folder / f"{number}.{kind}")
        time.sleep(1.1 * (number == 0))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_again_and_hangs_on_no_day(tmp_path: Path, written: Path, kind: str) -> None:
    assert (written / f"0.{kind}").read_bytes() == (written / f"1.{kind}").read_bytes()
    found = read_table(written / f"0.{kind}", exact=True)
    assert list(found.columns) == ["sex", "age", "n", "w"]
    assert found.astype(object).where(found.notna(), None).to_numpy().tolist() == [
        ["F", "[30-39]", 1, 0.5], [None, "*", 2, None], ["M", "\u00e9{a,b}", 3, 2]
    ]  # fmt: skip
    # what the format would change, such as blanks at the end that SPSS and SAS cut, is refused and not quoted
    for bad in ({"two words": ["x"]}, *([{"name": ["Zebedee "]}] if kind != "dta" else [])):
        with pytest.raises(OutputError, match=f" a .{kind} file can hold") as caught:
            write_table(pd.DataFrame(bad), tmp_path / f"bad.{kind}")
        assert "Zebedee" not in str(caught.value)
        assert not (tmp_path / f"bad.{kind}").exists()


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    (tmp_path / "t.sav").write_bytes(b"$FL2")
    with pytest.raises(ConfigError, match=r"clinical-deid\[statistics\]"):
        read_table(tmp_path / "t.sav")


@pytest.mark.parametrize("suffix", WRITTEN)
def test_whole_numbers_stay_exact(suffix: str, tmp_path: Path) -> None:
    """The formats have floats: what these would round is written as text."""
    pytest.importorskip("pyreadstat")
    ids, few = [2**53 + 1, -(2**60) - 3, 7], [2**53, -5, 7]
    write_table(pd.DataFrame({"id": ids, "n": few}), tmp_path / f"t{suffix}")
    read = read_table(tmp_path / f"t{suffix}")
    assert [int(cell) for cell in read["id"]] == ids
    assert [int(cell) for cell in read["n"]] == few
