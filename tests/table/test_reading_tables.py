"""Tables of rows: what is read, what stays text, and what is refused."""

from __future__ import annotations

import os
import sqlite3
import zipfile
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest

from deid.base.errors import ConfigError, DeidError, FormatError, InputError, OutputError
from deid.disclosure.assessment import Requirements
from deid.disclosure.release import anonymize
from deid.table.microdata import Microdata
from deid.table.table_files import column_names_of, read_batches, read_table
from deid.table.table_writing import write_table


def _file(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_numbers_only_where_nothing_is_lost(tmp_path: Path) -> None:
    text = "zip,age,real,gap,id,big\n02139,30,1.5,1,001,12345678901234567890\n61801,31,2,,002,1\n"
    frame = read_table(_file(tmp_path, text))
    assert frame["zip"].tolist() == ["02139", "61801"]
    assert frame["id"].tolist() == ["001", "002"]
    assert frame["big"].tolist() == ["12345678901234567890", "1"]
    assert frame["age"].dtype == "int64"
    assert frame["real"].tolist() == [1.5, 2.0]
    assert frame["gap"].isna().tolist() == [False, True]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_told(tmp_path: Path, separator: str) -> None:
    lines = [["name", "note, and; more"], ["a|b" if separator != "|" else "ab", "x"], ["c", "line\nend"]]
    text = "".join(separator.join(f'"{cell}"' for cell in line) + "\r\n" for line in lines)
    frame = read_table(_file(tmp_path, "\ufeff" + text))
    assert list(frame.columns) == lines[0]
    assert frame.iloc[1].tolist() == ["c", "line\nend"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("sign", ["\r", "\n", "\r\n", '"', ",", "\t", ";", "\u2028", "\x0b", "'", "\\"])
def test_a_sign_in_a_cell_moves_no_other_cell(tmp_path: Path, suffix: str, sign: str) -> None:
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({"a": ["x", f"x{sign}y", f"{sign}"], "n": ["1", "2", "3"]})
    write_table(frame, path)
    again = read_table(path, text=True)
    assert again["n"].tolist() == ["1", "2", "3"]
    assert again.iloc[:2, 0].tolist() == ["x", f"x{sign}y"]


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("sign", ["\n", '"', ",", "\t", ";", "|", "\u2028", "\x0b", "\x85", "'"])
def test_a_sign_in_the_name_of_a_column_is_none_between_columns(
    tmp_path: Path, suffix: str, sign: str, text: bool
) -> None:
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({f"a{sign}b": ["x", "y"], "n": ["1", "2"]})
    write_table(frame, path)
    assert list(read_table(path, text=text).columns) == list(frame.columns)


def test_round_trips(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [30, 31], "code": ["[20-29]", None], "text": ["a,b", 'say "x"']})
    for name in ("out.csv", "out.tsv", "out.parquet", "out.xlsx"):
        write_table(frame, tmp_path / name)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        again = read_table(tmp_path / name)
        assert again["age"].tolist() == [30, 31]
        assert again["text"].tolist() == frame["text"].tolist()
        assert again["code"].isna().tolist() == [False, True]
    with pytest.raises(OutputError, match="exists already"):
        write_table(frame, tmp_path / "out.csv")
    with pytest.raises(OutputError, match=r"\.csv"):
        write_table(frame, tmp_path / "out.doc")


def test_decimals_and_dates_of_parquet(tmp_path: Path) -> None:
    columns = {"weight": [Decimal("70.5"), Decimal("60.0")], "born": [date(1927, 7, 15), None]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    table = Microdata(read_table(tmp_path / "t.parquet"), {})
    assert [table.kind(name) for name in columns] == ["numeric", "date"]
    assert table.codes("weight").values == ("60", "70.5")
    assert table.codes("born").values == ("1927-07-15",)


def test_tables_of_a_database(tmp_path: Path) -> None:
    path = tmp_path / "ehr.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE patients (mrn TEXT, age INTEGER, weight REAL)")
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?)", [("007", 30, 70.5), ("008", None, 60.0)])
    path.chmod(0o400)  # a source may be read-only, and stays as it is
    before = path.read_bytes()
    frame = read_table(path, table="patients")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert frame["mrn"].tolist() == ["007", "008"]
    assert frame["weight"].tolist() == [70.5, 60.0]
    assert frame["age"].isna().tolist() == [False, True]
    with pytest.raises(ConfigError, match=r"no table 'patient'.*did you mean 'patients'"):
        read_table(path, table="patient")
    with pytest.raises(ConfigError, match=r"not named.*'patients'"):
        read_table(path)
    with pytest.raises(ConfigError, match="password"):
        read_table("postgresql://user:secret@host/db", table="patients")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("a,b\n1,Zebedee\n1,2,Zebedee\n", "row 2: a row has more or fewer cells"),
        ("a,a\n1,2\n", "two columns are called 'a'"),
        ("a,\n1,2\n", "column 2 has no name"),
        (b"a,b\n1,Zebed\xe9e\n", "not UTF-8"),
        (b"PAR1Zebedee", "no Parquet"),
        (b"a\0b", "not text"),
    ],
)
def test_damaged_files_are_refused_without_their_content(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DeidError) as caught:
        read_table(_file(tmp_path, content))
    assert message in str(caught.value)
    assert "Zebed" not in str(caught.value)
    with pytest.raises(DeidError, match="cannot be read"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(DeidError, match="no such file"):
        read_table(tmp_path / "missing.db", table="t")
    with pytest.raises(DeidError, match="no database, or damaged"):
        read_table(_file(tmp_path, "a,b\nZebedee\n", "not.db"), table="t")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "db", "sqlite"])
@pytest.mark.parametrize(("member", "kind"), [("xl/workbook.xml", ""), ("word/document.xml", "Word"), ("a", "zip")])
def test_documents_of_offices_are_called_what_they_are(tmp_path: Path, member: str, kind: str, suffix: str) -> None:
    place = tmp_path / f"table.{suffix}"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr(member, "<x/>")
    with pytest.raises(FormatError, match=f"no table but .*{kind}" if kind else "workbook is damaged") as raised:
        read_table(place)
    assert "CSV" in str(raised.value) or not kind


@pytest.mark.parametrize("form", ["parquet", "db"])
def test_bytes_are_the_text_that_they_encode(tmp_path: Path, form: str) -> None:
    """Not as Python writes them, which a release did."""
    cells = [b"flu", "grippe é".encode(), b"\xff\xfe", None]
    place = tmp_path / f"t.{form}"
    frame = pd.DataFrame({"dx": cells, "age": [30] * 4})
    if form == "parquet":
        frame.to_parquet(place, index=False)
    else:
        with sqlite3.connect(place) as connection:
            frame.to_sql("t", connection, index=False)
        connection.close()
    wanted = ["flu", "grippe é", "fffe", None]
    named = "t" if form == "db" else None
    roles = {"age": "quasi-identifier", "dx": "sensitive"}
    for found in (read_table(place, table=named), frame):
        assert Microdata(found, roles).texts("dx") == wanted
    for number, found in enumerate((read_table(place, table=named), frame)):
        for end in ("csv", "xlsx", "parquet"):
            new = tmp_path / f"out{number}.{end}"
            write_table(anonymize(Microdata(found, roles), Requirements(k=2)).table(), new)
            assert sorted(Microdata(read_table(new), roles).texts("dx"), key=str) == [None, "fffe", "flu", "grippe é"]


@pytest.mark.parametrize("read", [read_table, lambda place: list(read_batches(place)), column_names_of])
def test_a_pipe_is_refused_and_nobody_waits_for_its_writer(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "table.csv")
    with pytest.raises(InputError, match="a pipe or a device"):
        read(pipe)
