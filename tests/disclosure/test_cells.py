"""Published cells: written and read in one way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import microdata

from deid.disclosure.assessment import Requirements
from deid.disclosure.cells import (
    Domain,
    cover_table,
    format_dates,
    format_interval,
    format_set,
    is_general,
    overlap_table,
)
from deid.disclosure.release import anonymize
from deid.table.hierarchy import hierarchy_from_rows
from deid.table.microdata import Microdata

ZIPS = hierarchy_from_rows([("61801", "618**", "*"), ("61802", "618**", "*"), ("60606", "606**", "*")], "zip")


def _covered(cell: str, values: list[str], **arguments: object) -> list[str]:
    row = cover_table([cell], values, **arguments)[0]  # type: ignore[arg-type]
    return [value for value, inside in zip([*values, "NA"], row, strict=True) if inside]


@pytest.mark.parametrize(
    ("cell", "covered"),
    [
        ("*", ["20", "29.5", "-3", "2001-02-03", "NW10", "a,b", "NA"]),
        ("[20-29.5]", ["20", "29.5"]),
        ("[-5--2]", ["-3"]),
        ("[2001-01-01/2001-12-31]", ["2001-02-03"]),
        ("NW*", ["NW10"]),
        ('{"a,b",20}', ["20", "a,b"]),
        ("20", ["20"]),
        ("20-29", []),
    ],
)
def test_what_a_cell_covers(cell: str, covered: list[str]) -> None:
    assert _covered(cell, ["20", "29.5", "-3", "2001-02-03", "NW10", "a,b"]) == covered


def test_a_value_of_the_hierarchy_covers_its_leaves() -> None:
    assert _covered("618**", ["61801", "61809", "60606"], hierarchy=ZIPS) == ["61801"]  # 61809 is not in the tree
    assert _covered("618**", ["61801", "61809", "60606"]) == ["61801", "61809"]  # as a prefix
    assert cover_table([], ["a"]).tolist() == [[False, True]]  # a missing cell covers a missing value, only


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(0, 1))
def test_intervals_cover_what_lies_in_them(low: float, width: float, share: float) -> None:
    high = low + width
    cell = format_interval(low, high)
    inside = repr(min(low + share * width, high))
    below, above = repr(np.nextafter(low, -np.inf)), repr(np.nextafter(high, np.inf))
    below, above = below.removeprefix("np.float64(").rstrip(")"), above.removeprefix("np.float64(").rstrip(")")
    if low < high:
        assert _covered(cell, [inside]) == [inside]
        assert _covered(cell, [below, above]) == []


@given(st.sets(st.text(min_size=1, max_size=5) | st.text('a,"\r\n{}*', min_size=1), min_size=2, max_size=5))
def test_sets_are_read_as_they_are_written(values: set[str]) -> None:
    covered = _covered(format_set(values), [*sorted(values), "something else"])
    assert covered == sorted(values)


@given(st.text('a,"\r\n\0 ', max_size=6))
def test_braces_that_are_no_set_stand_for_themselves(inside: str) -> None:
    assert is_general("{" + inside + "}") in (True, False)


def test_single_values_stand_for_themselves() -> None:
    assert format_interval(3.0, 3.0) == "3"
    assert format_set(["M", "M"]) == "M"
    assert format_dates("2001-01-01", "2001-01-01") == "2001-01-01"
    assert format_dates("2001-01-01", "2001-03-01") == "[2001-01-01/2001-03-01]"


LEAVES = ["11", "12", "21", "22"]
CELLS = ["*", *LEAVES, "[11-12]", "[12-21]", "[12-22]", "{11,22}", "{12,21}", "low", "high", "1*", "2*"]
TREE = hierarchy_from_rows([("11", "low", "*"), ("12", "low", "*"), ("21", "high", "*"), ("22", "high", "*")], "n")


@given(st.lists(st.sampled_from(CELLS), min_size=1), st.lists(st.sampled_from(CELLS), min_size=1))
def test_cells_overlap_when_they_share_a_value(left: list[str], right: list[str]) -> None:
    found = overlap_table(left, right, TREE)
    ours, theirs = (cover_table(side, LEAVES, TREE)[:, :-1] for side in (left, right))
    expected = (ours[:, None, :] & theirs[None, :, :]).any(axis=2)
    assert (found[:-1, :-1] == expected[:-1, :-1]).all()
    assert found[-1, -1]


def test_width_of_cells() -> None:
    ages = Domain.of(microdata([(20,), (30,), (60,)], "age"), "age")
    assert ages.penalty(["[20-30]", "30", "*"]).tolist() == [0.25, 0, 1, 0]
    zips = Domain.of(microdata([("61801",), ("60606",)], "zip", hierarchies={"zip": ZIPS}), "zip")
    assert zips.penalty(["618**", "606**", "*"]) == pytest.approx([2 / 3, 0, 1, 0])
    assert zips.loss(["618**", "606**", "*"]) == pytest.approx([1 / 2, 0, 1, 0])
    sexes = Domain.of(microdata([("M",), ("F",), ("X",)], "sex"), "sex")
    assert sexes.penalty(["{F,M}", "M"]) == pytest.approx([2 / 3, 0, 0])
    assert ages.interval("[20-30]") == (20, 30)
    assert ages.interval("*") == (20, 60)
    assert ages.interval("30") == (30, 30)
    assert ages.interval("{60,20}") == (20, 60)
    assert np.isnan(ages.interval("old")).all()
    codes = Domain.of(microdata([(118,), (127,), (131,)], "code"), "code")
    assert codes.interval("1**") == (118, 131)
    assert codes.interval("12*") == (127, 127)
    assert np.isnan(codes.interval("9**")).all()
    tens = hierarchy_from_rows([(str(n), f"{n // 10} tens", "*") for n in (21, 28, 35)], "n")
    whole = Domain.of(microdata([(21,), (28,), (35,)], "n", hierarchies={"n": tens}), "n")
    assert whole.interval("2 tens") == (21, 28)


def test_date_times_and_large_integers_are_covered_exactly() -> None:
    stamps = ["2020-01-01T01:00:00", "2020-01-02 10:01:00", "2020-01-02", "2020-01-03T00:00:00+02:00"]
    covered = cover_table(["[2020-01-01T01:00:00/2020-01-02]", "[2020-01-02/2020-01-02T22:00]"], stamps)
    assert covered[:-1, :-1].tolist() == [[True, False, True, False], [False, True, True, True]]
    near = [str(2**53 + i) for i in range(4)]
    assert cover_table([f"[{2**53 + 1}-{2**53 + 2}]"], near)[0, :-1].tolist() == [False, True, True, False]


def test_text_declared_numeric_is_ranked_as_numbers() -> None:
    for values in (["9", "10", "100", "20", "30"], ["01", "10", "9", "9", "10"], ["+5", "1e1", "007", "5", "7.0"]):
        data = Microdata(pd.DataFrame({"x": values}), {"x": "quasi-identifier"}, kinds={"x": "numeric"})
        numbers = [float(value) for value in data.codes("x").values]
        assert numbers == sorted(numbers)
        for method in ("local", "mondrian", "bottom-up"):
            release = anonymize(data, Requirements(k=2), method)
            assert cover_table(release.aligned()["x"].tolist(), values).any(axis=1).all()


LETTERS = [
    "*",
    "a",
    "b",
    "{a,b}",
    "{b,c}",
    "{c,d}",
    "[1-3]",
    "[3-4]",
    "[4-9]",
    "2",
    "3",
    "ab*",
    "abc",
    "[2001-01-01/2001-12-31]",
]
VALUES = ["a", "b", "c", "d", "1", "2", "3", "4", "9", "ab", "abc", "2001-05-06"]


@given(st.lists(st.sampled_from(LETTERS), min_size=1), st.lists(st.sampled_from(LETTERS), min_size=1))
def test_cells_without_a_hierarchy_overlap_when_they_share_a_value(left: list[str], right: list[str]) -> None:
    found = overlap_table(left, right)
    ours, theirs = (cover_table(side, VALUES)[:, :-1] for side in (left, right))
    expected = (ours[:, None, :] & theirs[None, :, :]).any(axis=2)
    assert (found[:-1, :-1] == expected[:-1, :-1]).all()


def test_open_ends_cover_numbers_and_codes_that_lie_in_them() -> None:
    ages = ["79", "80", "93", "90+", ">=95", "<18", "17"]
    assert _covered("80+", ages) == ["80", "93", "90+", ">=95"]
    assert _covered(">80", ages) == ["93", "90+", ">=95"]
    assert _covered("<=18", ages) == ["<18", "17"]
    assert _covered("[80-99]", ages) == ["80", "93"]  # 90+ may be 101
    grades = ["neg", "1+", "2+"]  # of a test strip: no numbers
    assert _covered("1+", grades) == ["1+"]
    assert overlap_table(["80+", "[60-79]"], ["<=80", "90+"])[:-1, :-1].tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("method", ["auto", "mondrian", "optimal", "top-down"])
def test_ages_of_safe_harbor_are_anonymized(method: str) -> None:
    ages = [str(age) for age in range(60, 90)] + ["90+"] * 3
    data = microdata([(age, i % 3) for i, age in enumerate(ages)], "age ill!")
    release = anonymize(data, Requirements(k=4), method=method)
    published = release.aligned()["age"].astype(str)
    for cell, age in set(zip(published, ages, strict=True)):
        assert cover_table([cell], [age], data.hierarchies["age"])[0, 0]
    assert published.value_counts().min() >= 4
    assert (published != "*").all()
    assert published.str.endswith("+").any()


def test_a_column_of_one_value_has_nothing_to_lose_but_the_value() -> None:
    with np.errstate(all="raise"):
        one = Domain.of(microdata([(20,), (20,)], "age"), "age")
        assert one.penalty(["20", "[20-20]", "*"]).tolist() == [0, 0, 1, 0]
