"""The language of questions, against pandas and hand-written rows."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.dp.domain import declare
from deid.dp.query_columns import QueryColumn, evaluate_condition, evaluate_value
from deid.dp.query_language import Query, parse_condition, parse_query, parse_value

FRAME = pd.DataFrame(
    {
        "age": ["20", "23", "25", "40", None, "old"],
        "sex": ["M", "F", "M", "F", "F", None],
        "dose": [1.0, 2.5, 0.0, 4.0, 8.0, np.nan],
        "day": ["2020-01-05", "2020-02-01", "2021-01-01", None, "2019-12-31", "2020-01-05"],
    }
)
COLUMNS = {
    own.name: QueryColumn.of(own)
    for own in (
        declare("age", {"range": [0, 129]}),
        declare("sex", {"values": ["F", "M"]}),
        declare("dose", {"edges": [0, 5, 10]}),
        declare("day", {"dates": ["2019-01-01", "2021-12-31"]}),
    )
}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("age < 40", [0, 1, 2]),
        ("age < 40 AND sex = 'M'", [0, 2]),
        ("age >= 25 OR sex = 'F'", [1, 2, 3, 4]),
        ("NOT age < 40", [3, 4, 5]),  # a comparison with a missing value is false, its opposite true
        ("age IS NULL", [4, 5]),
        ("age IS NOT NULL and dose is not null", [0, 1, 2, 3]),
        ("sex IN ('M')", [0, 2]),
        ("age NOT IN (20, 23)", [2, 3, 4, 5]),
        ("age BETWEEN 23 AND 25", [1, 2]),
        ("(age + 5) * 2 > 56", [2, 3]),
        ("10 / dose <= 2.5", [3, 4]),  # the division by zero is missing
        ("-dose < -3", [3, 4]),
        ("(age > 24 OR (dose > 1)) AND NOT (sex = 'M')", [1, 3, 4]),
        ("day >= '2020-01-01' AND day < '2021-01-01'", [0, 1, 5]),
        ("'M' = sex", [0, 2]),
        ('"age" <> 20', [1, 2, 3]),
        ("1 + 2 * 3 = 7", [0, 1, 2, 3, 4, 5]),
        ("2 - 1 - 1 = 0", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_conditions(text: str, rows: list[int]) -> None:
    assert np.flatnonzero(evaluate_condition(parse_condition(text), FRAME, COLUMNS)).tolist() == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agee > 3", "no column 'agee' is declared .character 1.*did you mean 'age'"),
        ("sex = 'X'", "no such value .character 7.*'F', 'M'"),
        ("sex > 3 + 1", "number is compared with a text"),
        ("age = 'x'", "number is compared with a text"),
        ("age >", "ends too early, at character 6.*a column belongs here"),
        ("age > 3 AND", "ends too early, at character 12"),
        ("(age > 3", "ends too early, at character 9.*\\) belongs here"),
        ("(age + 1) =", "ends too early, at character 12"),  # the reading that comes further tells
        ("(age > 3 AND (sex = ) OR age = 1)", "has '\\)' at character 21"),
        ("(age + 1) 3", "has '3' at character 11"),
        ("(age > 3 AND sex == 'M')", "has '=' at character 19"),
        ("(age > 3) + 1 = 2", "has '\\+' at character 11"),  # a condition is no value
        ("(age > 3) IS NULL", "has 'IS' at character 11"),
        ("((age > 3) = 4)", "has '=' at character 12.*\\) belongs here"),
        ("age > 3 4", "has '4' at character 9"),
        ("age ; 3", "cannot be read at character 5"),
        ("sex + 1 > 2", "needs numbers on both sides"),
        ("age IN ()", "a number belongs here"),
        (" OR ".join(["age = 1"] * 600), "more than 250 terms, at character .*IN"),
        (" AND ".join(["age = 1"] * 600), "more than 250 terms"),
        ("age > 1" + " + 1" * 600, "more than 250 terms"),
        ("__import__('os')", "has '\\(' at character 11"),
    ],
)
def test_mistakes_say_where(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        evaluate_condition(parse_condition(text), FRAME, COLUMNS)
    assert re.search(message, f"{caught.value} {caught.value.hint}")


@pytest.mark.parametrize(
    "nested",
    [lambda n: "(" * n + "age" + ")" * n + " > 1", lambda n: "(" * n + "age > 1" + ")" * n,
     lambda n: "NOT " * n + "age > 1", lambda n: "age > " + "-" * n + "1"],
)  # fmt: skip
def test_conditions_are_nested_fifty_levels_deep_and_no_more(nested: Callable[[int], str]) -> None:
    """Of which a condition is one."""
    parse_condition(nested(49))
    for n in (50, 51, 80):
        with pytest.raises(ConfigError, match="nested too deeply"):
            parse_condition(nested(n))


def test_terms_in_parentheses_count_once_however_they_are_read() -> None:
    parse_condition("(age" + " + 1" * 200 + ") > 3")
    parse_condition("(age > 3" + " OR age = 1" * 200 + ")")


def test_queries() -> None:
    assert parse_query("select count(*)") == Query("COUNT")
    query = parse_query("SELECT quantile(dose, 0.9, 0, 10) FROM t WHERE age > 3 PER PERSON max GROUP BY sex, age")
    assert (query.aggregate, query.number, query.low, query.high) == ("QUANTILE", 0.9, 0, 10)
    assert (query.per_person, [own.name for own in query.group_by]) == ("max", ["sex", "age"])
    assert parse_query("SELECT AVG(dose, -1.5, 1e2) PER PERSON").per_person == "first"
    assert parse_query("SELECT COUNT(PERSONS)").aggregate == "PERSONS"
    assert parse_query("SELECT TOP(3, sex)").number == 3
    assert parse_query("SELECT QUARTILES(dose, 0, 9)").shares == (0.25, 0.5, 0.75)
    several = parse_query("SELECT COUNT(DISTINCT sex), QUANTILES(dose, (0.1, .9)), SD(dose) WITH INTERVAL GROUP BY age")
    assert [own.label() for own in (several, *several.others)] == ["COUNT(DISTINCT sex)", "QUANTILES(dose)", "SD(dose)"]
    assert (several.others[0].shares, several.interval, several.group_by[0].name) == ((0.1, 0.9), True, "age")
    assert parse_query("SELECT SD(dose)").described() == repr(parse_query("SELECT SD(dose)"))
    asked = ["QUARTILES(dose)", "QUANTILES(dose, (0.5))", "MEDIAN(dose)", "MEDIAN(dose) WITH INTERVAL", "MEAN(dose)",
             "MEAN(dose), MEDIAN(dose)"]  # fmt: skip
    assert len({parse_query(f"SELECT {own}").described() for own in asked}) == len(asked)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("COUNT(*)", "character 1"),
        ("SELECT DROP(x)", "character 8"),
        ("SELECT COUNT()", "character 14"),
        ("SELECT SUM(age, 1)", "character 18"),
        ("SELECT COUNT(*) GROUP sex", "character 23"),
        ("SELECT COUNT(*); DROP TABLE x", "cannot be read at character 16"),
        ("", "character 1"),
    ],
)
def test_bad_queries(text: str, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        parse_query(text)


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ("(age", "ends too early, at character 5", "a comparison such as"),
        ("(age =", "ends too early, at character 7", "a column"),
        ("(age)", "ends too early, at character 6", "a comparison such as"),
        ("(age = 3", "ends too early, at character 9", ") belongs here"),
        ("(age + 3 = 4", "ends too early, at character 13", ") belongs here"),
        ("NOT (NOT", "ends too early, at character 9", "a column"),
    ],
)
def test_a_parenthesis_that_is_not_read_says_what_the_longest_reading_lacks(text: str, where: str, hint: str) -> None:
    """It may hold a condition or a value."""
    with pytest.raises(ConfigError, match=re.escape(where)) as error:
        parse_condition(text)
    assert hint in str(error.value)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_query, parse_condition, parse_value):
        try:
            parse(text)
        except ConfigError:
            continue


@given(
    st.recursive(
        st.integers(0, 9).map(str), lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner), max_leaves=9
    )
)
def test_arithmetic_is_that_of_python(tree: object) -> None:
    def text(own: object) -> str:
        return f"({text(own[0])} {own[1]} {text(own[2])})" if isinstance(own, tuple) else str(own)

    found = evaluate_value(parse_value(text(tree)), FRAME.iloc[:1], COLUMNS)
    assert found[0] == eval(text(tree))


def test_a_number_above_a_range_counts_as_the_least_of_these() -> None:
    column = QueryColumn.of(declare("age", {"range": [0, 84], "width": 5, "above": "85+", "missing": "unknown"}))
    assert column.bounds == (0.0, 85.0)
    frame = pd.DataFrame({"age": ["85+", "84", "unknown", "90"]})
    assert evaluate_condition(parse_condition("age >= 85"), frame, {"age": column}).tolist() == [
        True,
        False,
        False,
        True,
    ]
    assert evaluate_value(parse_value("age + 1"), frame, {"age": column})[:2].tolist() == [86.0, 85.0]
    with pytest.raises(ConfigError, match="ask for it by age >= 85"):
        evaluate_condition(parse_condition("age = '85+'"), frame, {"age": column})


def test_codes_of_many_digits_are_asked_for_as_numbers() -> None:
    columns = {"snomed": QueryColumn.of(declare("snomed", {"values": ["73211009", "44054006"]}))}
    frame = pd.DataFrame({"snomed": ["73211009", "44054006", "73211009"]})
    asked = parse_condition("snomed = 73211009 OR snomed IN (73211009)")
    assert evaluate_condition(asked, frame, columns).tolist() == [True, False, True]
