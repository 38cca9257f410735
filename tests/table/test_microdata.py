"""Microdata: roles, kinds, codes, one meaning of NA, and what is refused."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, DeidError, InputError
from deid.table.hierarchy import hierarchy_from_rows
from deid.table.microdata import Microdata

FRAME = pd.DataFrame({"age": [30, 41, 30], "sex": ["M", "F", None], "mrn": ["a", "a", "b"], "note": ["", "x", "y"]})
ROLES = {"note": "free-text", "sex": "quasi-identifier", "age": "quasi-identifier", "mrn": "identifier"}


def test_roles_are_tuples_in_the_order_of_the_columns() -> None:
    table = Microdata(FRAME, ROLES, person="mrn")
    assert table.quasi_identifiers == ("age", "sex")
    assert table.sensitive == ()
    assert table.having("free-text") == ("note",)
    assert Microdata(FRAME, {}).having("other") == ("age", "sex", "mrn", "note")
    assert len(table) == 3
    assert "30" not in repr(table)  # no values


def test_kinds_are_told_by_the_values_or_stated() -> None:
    frame = pd.DataFrame(
        {
            "whole": [1, 2],
            "real": [1.5, None],
            "iso": ["2001-02-03", None],
            "stamp": pd.to_datetime(["2001-02-03", "2001-02-04"]),
            "truth": [True, False],
            "word": ["a", "b"],
        }
    )
    table = Microdata(frame, {}, kinds={"whole": "nominal"})
    kinds = [table.kind(name) for name in frame]
    assert kinds == ["nominal", "numeric", "date", "date", "nominal", "nominal"]
    assert table.codes("stamp").values == ("2001-02-03", "2001-02-04")
    assert table.numbers("iso")[0] == (datetime.date(2001, 2, 3) - datetime.date(1970, 1, 1)).days
    assert np.isnan(table.numbers("iso")[1])
    assert table.numbers("real")[0] == 1.5
    times = pd.DataFrame({"at": pd.to_datetime(["2001-02-03 10:00", "2001-02-03 11:00"]).tz_localize("UTC")})
    stamped = Microdata(times, {})
    assert len(stamped.codes("at").values) == 2  # two times of a day tell persons apart
    assert stamped.numbers("at").tolist() == [11356 + 10 / 24, 11356 + 11 / 24]


def test_codes_are_ordered_and_missing_values_are_minus_one() -> None:
    frame = pd.DataFrame({"n": [10.0, 9.0, np.nan, 10.0], "s": ["b", "", None, "a"]})
    table = Microdata(frame, {})
    assert table.codes("n").values == ("9", "10")
    assert table.codes("n").codes.tolist() == [1, 0, -1, 1]
    assert table.codes("s").values == ("a", "b")  # an empty text is missing too
    assert table.codes("s").codes.tolist() == [1, -1, -1, 0]
    category = Microdata(frame.astype({"s": pd.CategoricalDtype(["b", "zz", "a", ""])}), {})
    assert category.codes("s").values == ("a", "b")
    assert category.codes("s").codes.tolist() == [1, -1, -1, 0]


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5), st.floats(-3, 3)), min_size=1))
def test_codes_give_the_numbers_back(values: list[float | None]) -> None:
    table = Microdata(pd.DataFrame({"x": pd.Series(values, dtype=float)}), {})
    expected = np.array([np.nan if value is None else float(value) for value in values])
    if not np.isnan(expected).all():
        assert np.array_equal(table.numbers("x"), expected, equal_nan=True)


SECRET = "Zebedee"


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        (FRAME, {"roles": {"agee": "sensitive"}}, "no column 'agee'. Hint: did you mean 'age'"),
        (FRAME, {"roles": {"height": "sensitive"}}, "the table has 'age', 'sex', 'mrn', 'note'"),
        (FRAME, {"roles": {}, "person": "patient"}, "no column 'patient'"),
        (FRAME, {"roles": {"age": "secret"}}, "the role 'secret' of column 'age' is none"),
        (FRAME, {"roles": {}, "kinds": {"age": "real"}}, "the kind 'real' of column 'age' is none"),
        (FRAME, {"roles": {}, "person": "sex"}, "row 3: a row without a person"),
        (FRAME.iloc[:0], {"roles": {}}, "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {"roles": {}}, "two columns are called 'a'"),
        (pd.DataFrame([[1]]), {"roles": {}}, "no name"),
        (
            pd.DataFrame({"age": ["30", "31", SECRET]}),
            {"roles": {"age": "quasi-identifier"}},
            "column 'age', row 3: a column of numbers and words",
        ),
        (
            pd.DataFrame({"age": ["30", SECRET]}),
            {"roles": {"age": "quasi-identifier"}, "kinds": {"age": "numeric"}},
            "column 'age', row 2: not a number",
        ),
        (
            pd.DataFrame({"born": ["1927-07-15", "1927"]}),
            {"roles": {"born": "quasi-identifier"}, "kinds": {"born": "date"}},
            "column 'born', row 2: not a date",
        ),
        (pd.DataFrame({"age": [1.0, np.inf]}), {"roles": {"age": "sensitive"}}, "infinite"),
        (
            pd.DataFrame({"sex": ["M", None, SECRET]}),
            {
                "roles": {"sex": "quasi-identifier"},
                "hierarchies": {"sex": hierarchy_from_rows([("M", "*"), ("F", "*")], "sex")},
            },
            "column 'sex', row 3: a value is not in the column's hierarchy",
        ),
    ],
)
def test_unusable_tables_are_refused_without_their_values(
    frame: pd.DataFrame, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(DeidError) as caught:
        Microdata(frame, **arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_codes_that_are_digits_are_nominal_when_stated() -> None:
    codes = pd.DataFrame({"icd": ["250", "V10", "401"]})
    with pytest.raises(InputError, match="row 2"):
        Microdata(codes, {"icd": "quasi-identifier"})
    assert Microdata(codes, {"icd": "quasi-identifier"}, kinds={"icd": "nominal"}).kind("icd") == "nominal"
    assert Microdata(codes, {"icd": "sensitive"}).kind("icd") == "nominal"


def test_published_cells_stand_beside_values_and_hierarchies() -> None:
    frame = pd.DataFrame({"age": ["[20-29]", "30", "*"], "sex": ["M", "*", "{F,M}"]})
    sex = hierarchy_from_rows([("M", "any"), ("F", "any")], "sex")
    table = Microdata(frame, dict.fromkeys(frame, "quasi-identifier"), {"sex": sex}, kinds={"age": "numeric"})
    assert table.codes("age").values == ("*", "30", "[20-29]")
    with pytest.raises(InputError, match="not a number"):
        table.numbers("age")


def test_nothing_but_missing_values() -> None:
    table = Microdata(pd.DataFrame({"x": [None, None]}), {"x": "quasi-identifier"})
    assert table.codes("x").values == ()
    assert table.kind("x") == "nominal"
    with pytest.raises(ConfigError):
        Microdata(pd.DataFrame({"x": [1]}), {}, hierarchies={"y": hierarchy_from_rows([("1", "*")], "y")})
