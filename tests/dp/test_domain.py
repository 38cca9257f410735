"""Declared domains: nothing is read from the data unless it is public anyway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.dp.domain import count_cells, declare
from deid.dp.domain_options import DomainOptions, parse_flag, parse_lengths, parse_shares, parse_slices, read_domains


@pytest.mark.parametrize(
    ("declaration", "labels", "texts", "cells"),
    [
        ({"values": ["F", "M"]}, ["F", "M"], ["M", "F", "X", None, ""], [1, 0, -1, -1, -1]),
        ({"range": [2, 5]}, ["2", "3", "4", "5"], ["2", "5", "6", "1", "3.0", "3.5", "x"], [0, 3, -1, -1, 1, -1, -1]),
        ({"range": [0, 12], "width": 5}, ["0-4", "5-9", "10-12"], ["4", "5", "12", "13"], [0, 1, 2, -1]),
        ({"range": [0, 3], "outside": "clip"}, ["0", "1", "2", "3"], ["-7", "99", "2", "x"], [0, 3, 2, -1]),
        ({"edges": [0, 2, 4.5]}, ["[0,2)", "[2,4.5)"], ["0", "2", "4.49", "4.5", "-1", "nan"], [0, 1, 1, -1, -1, -1]),
        (
            {"dates": ["2019-11-15", "2020-04-30"], "by": "quarter"},
            ["2019-Q4", "2020-Q1", "2020-Q2"],
            ["2019-12-31", "2020-01-01", "2019-11-14", "2020-05-01", "soon", "2020-04-30T10:00"],
            [0, 1, -1, -1, -1, 2],
        ),
        ({"dates": ["2019-01-01", "2020-12-31"]}, ["2019", "2020"], ["2020-06-01"], [1]),
        ({"dates": ["2019-12-01", "2020-01-31"], "by": "month"}, ["2019-12", "2020-01"], ["2020-01-05"], [1]),
        (
            {"range": [70, 89], "width": 10, "outside": "clip", "missing": "unknown", "missing_codes": ["999", "80"]},
            ["70-79", "80-89", "unknown"],
            ["75", "88", "999", "999.0", "80", "", None, "unknown", "200", "x"],
            [0, 1, 2, 2, 2, 2, 2, 2, 1, -1],
        ),
        (
            {"range": [0, 84], "width": 50, "above": "85+", "missing": "unknown"},
            ["0-49", "50-84", "85+", "unknown"],
            ["84", "85+", "85", "104.0", "85.5", "-1", "", "86+"],
            [1, 2, 2, 2, -1, -1, 3, -1],
        ),
        (
            {"edges": [0, 4, 10], "above": "10 or more", "outside": "clip"},
            ["[0,4)", "[4,10)", "10 or more"],
            ["9.9", "10", "1e6", "10 or more", "-1", "high"],
            [1, 2, 2, 2, 0, -1],
        ),
        ({"values": ["1", "2"], "missing": "none"}, ["1", "2", "none"], ["2.0", None, "9"], [1, 2, -1]),
        ({"dates": ["2019-01-01", "2019-12-31"], "missing": "no"}, ["2019", "no"], ["", "2019-02-01"], [1, 0]),
    ],
)
def test_cells_of_declared_domains(
    declaration: dict[str, Any], labels: list[str], texts: list[str | None], cells: list[int]
) -> None:
    dimension = declare("x", declaration)
    assert list(dimension.labels) == labels
    assert dimension.codes(pd.Series(texts, dtype="string")).tolist() == cells


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        ({"values": ["1", "9"], "missing": "unknown", "missing_codes": ["9"]}, "declared value, too"),
        ({"values": ["1", "9"], "missing": "9"}, "a value twice"),
        ({"range": [0, 9], "missing_codes": ["9"]}, "has no name"),
        ({"range": [0, 9], "missing": ""}, "has no name"),
        ({"range": [0, 9], "missing": "no", "missing_codes": "9"}, "are no list"),
        ({"range": [0, 9], "missing": "no", "missing_codes": ["9", ""]}, "are no list"),
        ({"range": [0, 9], "missing": "no", "missing_codes": [None]}, "are no list"),
        ({"range": [0, 9], "missing": " no"}, "has no name"),
        ({"tree": {"a": ["b"]}, "within": ["c"], "missing": "no"}, "unknown entry 'missing'"),
    ],
)
def test_what_is_missing_is_declared_without_contradiction(declaration: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        declare("x", declaration)


def test_a_public_domain_does_not_list_the_codes_of_what_is_missing() -> None:
    column = pd.Series(["b", "99", "a", None], dtype="string")
    public = {"from_data": True, "public_source": "a list", "missing": "unknown", "missing_codes": ["99"]}
    dimension = declare("clinic", public, column)
    assert dimension.labels == ("a", "b", "unknown")
    assert declare("clinic", dimension.declaration).codes(column).tolist() == [1, 2, 0, 2]


@pytest.mark.parametrize(
    ("declaration", "what"),
    [
        ({"range": [0, 4_000_000_000]}, "4,000,000,001 cells, too many to hold"),
        ({"range": [0, 10**8], "width": 5}, "20,000,001 cells, too many to hold"),
        ({"dates": ["2015-01-01", "2016-12-31"], "by": "half-year"}, "Hint: take year, quarter, month"),
        ({"range": [9, 0]}, "not of the form it claims"),
        ({"range": [0, 84], "above": "9"}, "lies in it"),
        ({"range": [0, 84], "above": 85}, "has no name"),
        ({"values": ["0", ""]}, 'missing = "unknown"'),
    ],
)
def test_a_domain_that_cannot_be_says_why(declaration: dict[str, object], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        declare("a", declaration)


def test_a_column_without_a_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match="no declared domain"):
        declare("clinic", {})


def test_domains_from_the_data_need_a_public_source() -> None:
    column = pd.Series(["b", "a", "b", None], dtype="string")
    with pytest.raises(ConfigError, match="discloses every value"):
        declare("clinic", {"from_data": True}, column)
    with pytest.raises(ConfigError, match="discloses every value"):
        declare("clinic", {"from_data": True, "public_source": " "}, column)
    dimension = declare("clinic", {"from_data": True, "public_source": "the list of 2024"}, column)
    assert dimension.labels == ("a", "b")
    assert dimension.source == "the list of 2024"
    assert declare("clinic", dimension.declaration).labels == ("a", "b")  # as a release keeps it


def test_the_table_is_read_only_where_a_public_source_vouches_for_a_column(tmp_path: Path) -> None:
    def unread() -> pd.DataFrame:
        raise AssertionError("the table was read")

    path = tmp_path / "domains.toml"
    said = '[columns.clinic]\nfrom_data = true\n[columns.sex]\nvalues = ["F", "M"]\n'
    path.write_text(said)
    (sex,) = DomainOptions(domains=(path,)).dimensions(["sex"], unread)
    assert sex.labels == ("F", "M")
    with pytest.raises(ConfigError, match="discloses every value"):
        DomainOptions(domains=(path,)).dimensions(["clinic"], unread)
    path.write_text(said.replace("true", 'true\npublic_source = "the list"'))
    (clinic,) = DomainOptions(domains=(path,)).dimensions(["clinic"], lambda: pd.DataFrame({"clinic": ["b", "a"]}))
    assert clinic.labels == ("a", "b")
    with pytest.raises(ConfigError, match="clinic"):
        DomainOptions(domains=(path,)).dimensions(["clinic"], lambda: pd.DataFrame({"ward": ["b", "a"]}))


@pytest.mark.parametrize(
    "declaration",
    [
        {"values": []},
        {"values": ["a", "a"]},
        {"range": [5, 2]},
        {"range": [1]},
        {"range": ["a", "b"]},
        {"edges": [3, 1]},
        {"dates": ["2020-01-01", "2019-01-01"]},
        {"dates": ["2019-01-01", "2020-01-01"], "by": "week"},
        {"values": ["a"], "range": [0, 1]},
        {"range": [0, 1], "widht": 2},
        {"range": [0, 1], "outside": "other"},
    ],
)
def test_wrong_declarations_are_refused(declaration: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        declare("x", declaration)


def test_flags_and_files(tmp_path: Path) -> None:
    assert parse_flag("age=0..129/10") == ("age", {"range": [0, 129], "width": 10})
    assert parse_flag("age=0..84/5, 85+") == ("age", {"range": [0, 84], "width": 5, "above": "85+"})
    for wrong in ("day=2004..2021/year", "age=0..84/5,85..90", "age=0..84,85+,unknown"):
        with pytest.raises(ConfigError, match="no range that is known"):
            parse_flag(wrong)
    for by in ("year", "quarter", "month"):
        day = ("day", {"dates": ["2004-01-01", "2021-12-31"], "by": by})
        assert parse_flag(f"day=2004-01-01..2021-12-31/{by}") == day
    assert parse_flag("day=2004-01-01..2021-12-31")[1]["by"] == "year"
    assert parse_flag('"dose=mg"=1,2') == ("dose=mg", {"values": ["1", "2"]})
    assert parse_flag('"a ""b"""=1') == ('a "b"', {"values": ["1"]})
    assert parse_flag("sex=F, M") == ("sex", {"values": ["F", "M"]})
    for wrong in ("age", "=1", "age="):
        with pytest.raises(ConfigError):
            parse_flag(wrong)
    path = tmp_path / "domains.toml"
    path.write_text("[columns.age]\nrange = [0, 9]\n[columns.day]\ndates = [2019-01-01, 2019-12-31]\n")
    domains = read_domains(path)
    assert len(declare("age", domains["age"])) == 10
    assert declare("day", domains["day"]).declaration["dates"] == ["2019-01-01", "2019-12-31"]
    for wrong in ("columns = 3", "[other]\n", "not toml ="):
        path.write_text(wrong)
        with pytest.raises(ConfigError):
            read_domains(path)


def test_slices_have_a_weight_of_1_or_a_number() -> None:
    assert parse_slices(["year, death:2", "sex", "age:0.5"]) == ([["year", "death"], ["sex"], ["age"]], [2.0, 1.0, 0.5])
    assert parse_shares(["state:2", "county"]) == {"state": 2.0, "county": 1.0}
    assert parse_lengths(["3:2", "1"]) == {3: 2.0, 1: 1.0}
    with pytest.raises(ConfigError, match="no whole number"):
        parse_lengths(["x:2"])
    for weight in ("much", "0", "-1", "nan", "inf"):
        for read in (parse_slices, parse_shares, parse_lengths):
            with pytest.raises(ConfigError, match="a weight is no number above 0"):
                read([f"3:{weight}"])


def test_cells_that_lie_in_outer_ones_have_no_order() -> None:
    county = declare("county", {"tree": {"Utah": ["Ada", "Rich"]}, "within": ["state"]})
    assert not county.ordered
    with pytest.raises(ConfigError):
        county.select("Ada..Rich")


def test_conditions() -> None:
    age = declare("age", {"range": [0, 9]})
    assert age.select("3..5").tolist() == [3, 4, 5]
    assert age.select("7,1").tolist() == [1, 7]
    for wrong in ("5..3", "10", "3..12", "x"):
        with pytest.raises(ConfigError):
            age.select(wrong)


def test_cells_are_named_as_declared_however_a_number_is_written() -> None:
    """Of the first cell as of the others; what names none stays."""
    numbers = declare("ward", {"values": ["7", "8", "b"]})
    assert numbers.name_cells(["7", "7.0", "8.0", "b", "B", "x"]) == ["7", "7", "8", "b", "B", "x"]
    days = declare("day", {"dates": ["2020-01-01", "2021-12-31"], "by": "year"})
    assert days.name_cells(["2020", "2020.0"]) == ["2020", "2020.0"]  # which are days in a year, not its number


def test_a_cube_of_counts() -> None:
    """Every record lies in exactly one cell; all dimensions summed out give the number of records."""
    cube = count_cells([np.array([0, 1, 1]), np.array([2, 0, 0])], [2, 3])
    assert cube.tolist() == [[0, 0, 1], [2, 0, 0]]
    assert cube.sum() == 3


def test_seer_cube_has_its_shape(seer_rows: Any) -> None:
    """673,920 cells, 22,174 records."""
    assert np.prod(seer_rows.shape) == 673_920
    assert seer_rows.counts().sum() == 22_174
