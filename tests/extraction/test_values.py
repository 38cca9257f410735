"""Values of attributes in one form."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.extraction.values import city_state, iso_date, read_age, read_number, read_state, whole_name


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("March 14th, 2019", "2019-03-14"),
        ("14 Mar 2019", "2019-03-14"),
        ("3/14/19", "2019-03-14"),
        ("20190314", "2019-03-14"),
        ("2019-03-14", "2019-03-14"),
        ("Tuesday, March 14, 2019", "2019-03-14"),
        ("3/2019", "2019-03"),
        ("March 2019", "2019-03"),
        ("2019", "2019"),
        ("3/14", "--03-14"),
        ("May 3", "--05-03"),
        ("last winter", None),
        ("Christmas 2012", None),
        ("2/30/2019", None),
        ("Tuesday", None),
    ],
)
def test_dates_are_iso_and_nothing_is_invented(text: str, iso: str | None) -> None:
    assert iso_date(text) == iso


@given(st.dates(datetime.date(1901, 1, 1), datetime.date(2048, 12, 31)))
def test_any_numeric_date_is_read_in_both_orders(day: datetime.date) -> None:
    assert iso_date(f"{day.month}/{day.day}/{day.year}") == day.isoformat()
    assert iso_date(f"{day.day:02}.{day.month:02}.{day.year}", days_first=True) == day.isoformat()


def test_short_years_end_with_the_year_after_the_note() -> None:
    note = datetime.date(2019, 12, 29)
    assert iso_date("1/6/20", reference=note) == "2020-01-06"
    assert iso_date("1/6/21", reference=note) == "1921-01-06"
    assert iso_date("1/6/20", reference=note, past=True) == "1920-01-06"
    assert iso_date("1/6/19", reference=note, past=True) == "2019-01-06"
    assert iso_date("1/2/47", reference=datetime.date(2020, 1, 1)) == "1947-01-02"
    assert iso_date("1/2/19", reference=datetime.date(2020, 1, 1)) == "2019-01-02"


@pytest.mark.parametrize(
    ("text", "age"),
    [("87", 87), ("eighty seven", 87), ("18 months", 1), ("3 weeks", 0), ("40s", None), ("300", None), ("x", None)],
)
def test_ages_are_whole_years(text: str, age: int | None) -> None:
    assert read_age(text) == age


def test_states_cities_and_numbers() -> None:
    assert read_state("massachusetts") == read_state("MA") == "MA"
    assert read_state("Bavaria") is None
    assert city_state("Philadelphia") == "PA"
    assert city_state("Springfield") is None  # every state has one
    assert read_number("MRN 12-34 a") == "MRN1234A"


@pytest.mark.parametrize("text", ["Smith, John Q", "JOHN Q SMITH", "Dr. John Q. Smith", "smith, john q"])
def test_names_are_written_given_name_first(text: str) -> None:
    assert whole_name(text) == "John Q Smith"
