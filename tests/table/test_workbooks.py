"""Excel: cells as they were shown, nothing guessed, nothing run; what would be read wrongly is refused."""

from __future__ import annotations

import datetime
import re
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, DeidError, FormatError, OutputError
from deid.table.table_files import read_table
from deid.table.table_writing import write_table
from deid.table.workbook import write_workbook


def saved(folder: Path, rows: list[list[Any]], change: Callable[[Any], None] | None = None) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if change is not None:
        change(book.active)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def edited(path: Path, part: str, old: bytes, new: bytes) -> Path:
    """Return the file with what an expression matches in a part replaced, as another program would have written it."""
    made = BytesIO()
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(made, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            changed, count = re.subn(old, new, data) if name == part else (data, 1)
            assert count
            after.writestr(name, changed)
    path.write_bytes(made.getvalue())
    return path


SHEET = "xl/worksheets/sheet1.xml"
HOSPITAL = [
    ["zip", "age", "born", "seen", "weight", "code", "smoker"],
    ["02139", 30, datetime.date(1990, 1, 2), datetime.datetime(2020, 1, 2, 10, 5), 2.5, 250, True],
    [None] * 7,
    ["61801", None, datetime.date(1890, 3, 4), datetime.datetime(2020, 1, 3), 70, "V58.1", None],
]


def test_cells_are_read_as_they_were_shown(tmp_path: Path) -> None:
    exact = read_table(saved(tmp_path, HOSPITAL), exact=True).astype(object)
    assert exact.where(exact.notna(), None).to_numpy().tolist() == [
        ["02139", 30, "1990-01-02", "2020-01-02 10:05:00", 2.5, "250", "True"],
        ["61801", None, "1890-03-04", "2020-01-03", 70.0, "V58.1", None],
    ]
    assert read_table(tmp_path / "t.xlsx", text=True)["weight"].tolist() == ["2.5", "70"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the table is empty"),
        ([["a", "b"], ["Zebedee", "=1+1"]], "cell B2: a formula has no stored result"),
        ([["a", "b"], ["Zebedee", "#REF!"]], "cell B2: a cell holds the error #REF!"),
        ([["a", "a"], ["Zebedee", 1]], "two columns are called 'a'"),
        ([["a", None, "c"], ["Zebedee", 1, 2]], "column 2 has no name"),
        ([["a"], ["Zebedee", 1]], "cells beyond the header"),
    ],
)
def test_what_would_be_read_wrongly_is_refused(tmp_path: Path, rows: list[list[Any]], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_table(saved(tmp_path, rows))
    assert message in str(caught.value)
    assert "t.xlsx" in str(caught.value)
    assert "Zebed" not in str(caught.value)


def test_merged_cells_are_refused(tmp_path: Path) -> None:
    rows = [["ward", "age"], ["A", 1], ["A", 2]]
    with pytest.raises(FormatError, match="cells A2:A3: cells are merged"):
        read_table(saved(tmp_path, rows, lambda sheet: sheet.merge_cells("A2:A3")))


def test_formulas_are_their_stored_results(tmp_path: Path) -> None:
    """Excel stores the result; an empty text is one too."""
    path = saved(tmp_path, [["a", "b", "c"], [1, "=A2+1", "=REPT(A2,0)"], [3, "=A3+1", "x"]])
    empty = rb"<v(?:></v>| ?/>)"  # with lxml and without
    edited(path, SHEET, rb"(<f>A2\+1</f>)" + empty, rb"\1<v>2</v>")
    edited(path, SHEET, rb"(<f>A3\+1</f>)" + empty, rb"\1<v>4</v>")
    with pytest.raises(FormatError, match="cell C2: a formula"):
        read_table(path)
    edited(path, SHEET, b'<c r="C2"', b'<c r="C2" t="str"')
    frame = read_table(path)
    assert frame["b"].tolist() == [2, 4]
    assert frame["c"].isna().tolist() == [True, False]


def test_not_available_is_missing_and_its_text_is_a_text(tmp_path: Path) -> None:
    def text(sheet: Any) -> None:
        sheet["A3"].data_type = "s"

    frame = read_table(saved(tmp_path, [["a", "b"], ["#N/A", 1], ["#N/A", 2]], text))
    assert frame["a"].isna().tolist() == [True, False]


def test_a_workbook_of_several_sheets_needs_a_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.active.append([1])
    book.create_sheet("Visits").append(["b"])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(ConfigError, match=r"several sheets.*--worksheet.*'Sheet'.*'Visits'"):
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(ConfigError, match=r"no sheet 'visits'.*'Visits'"):
        read_table(tmp_path / "t.xlsx", table="visits")
    assert read_table(tmp_path / "t.xlsx", table="Sheet")["a"].tolist() == [1]
    assert list(read_table(tmp_path / "t.xlsx", table="Visits")) == ["b"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"PK\x03\x04Zebedee",
        lambda data: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1Zebedee",  # encrypted, or of Excel 97
    ],
)
def test_damaged_workbooks_are_refused_without_their_content(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = saved(tmp_path, [["a"], ["Zebedee"]])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DeidError) as caught:
        read_table(path)
    assert "Zebed" not in str(caught.value)
    assert ".xlsx" in str(caught.value)


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    path = saved(tmp_path, [["a"], [1]])
    bomb = b'<!DOCTYPE x [<!ENTITY a "Zebedee"><!ENTITY b "&a;&a;">]><worksheet'
    with pytest.raises(FormatError, match="damaged"):
        read_table(edited(path, SHEET, b"<worksheet", bomb))


TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
CELL = st.one_of(
    TEXT,
    st.sampled_from(["=1+1", "#N/A", "#REF!", "_x0041_", "02139", "1e5", " a ", "a\r\nb", "+1", "-1", "@x", "TRUE"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6))
def test_texts_come_back_as_they_were_and_are_texts_to_excel(rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["=a", "b"]).assign(id="x")
    made = BytesIO()
    write_workbook(frame, made)
    sheet = openpyxl.load_workbook(BytesIO(made.getvalue())).active
    assert {cell.data_type for row in sheet.rows for cell in row} == {"s"}
    path = Path("t.xlsx")
    path.write_bytes(made.getvalue())
    again = read_table(path, exact=True).astype(object)
    for name in frame:
        want = [cell if cell.strip() else None for cell in frame[name]]
        got = again[name].where(again[name].notna(), None).tolist()
        assert [str(g) if g is not None else None for g in got] == want
    path.unlink()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_numbers_stay_exact_and_the_clock_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(
        {
            "whole": [2**60, -1, 0],
            "gap": pd.array([1, None, 3], "Int64"),
            "real": [0.1 + 0.2, float("nan"), 1e300],
            "truth": [True, False, True],
            "day": pd.to_datetime(["2020-01-01", "1850-01-02 10:00", None], format="mixed"),
            "kind": pd.Categorical(["[20-29]", "*", None]),
        }
    )
    write_table(frame, tmp_path / "a.xlsx")
    monkeypatch.setattr(time, "time", lambda: 2e9)
    write_table(frame, tmp_path / "b.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        assert b"1980-01-01T00:00:00Z" in archive.read("docProps/core.xml")
        assert f"{datetime.date.today().year}".encode() not in archive.read("docProps/core.xml")
    again = read_table(tmp_path / "a.xlsx", exact=True)
    assert again["whole"].tolist() == [str(2**60), "-1", "0"]  # 2**60 is no number of Excel's
    assert again["gap"].astype(object).where(again["gap"].notna(), None).tolist() == [1, None, 3]
    assert again["real"].tolist()[::2] == [0.1 + 0.2, 1e300]
    assert again["day"].tolist()[:2] == ["2020-01-01", "1850-01-02 10:00:00"]
    assert again["kind"].tolist()[:2] == ["[20-29]", "*"]


def test_what_excel_would_cut_is_refused(tmp_path: Path) -> None:
    for frame, message in (
        (pd.DataFrame({"a": ["x" * 32768]}), "32,767 characters"),
        (pd.DataFrame([[0] * 16385], columns=[str(i) for i in range(16385)]), "more rows or columns"),
        (pd.DataFrame({"a": ["\ud800"]}, dtype=object), "half of a character"),
    ):
        with pytest.raises(OutputError, match=message):
            write_table(frame, tmp_path / "t.xlsx")
        assert list(tmp_path.iterdir()) == []
