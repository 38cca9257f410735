"""Check digits and possible values, against published examples."""

from __future__ import annotations

import datetime
import ipaddress

import phonenumbers
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deid.rules.checks import CHECKS


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        ("luhn", ["79927398713", "4111 1111 1111 1111"], ["79927398710", "4111 1111 1111 1112", "", "0"]),
        ("npi", ["1234567893", "1245319599"], ["1234567890", "9234567893", "123456789"]),
        ("dea", ["AB1234563", "BL1234563"], ["AB1234567", "AB12345"]),
        ("vin", ["1M8GDM9AXKP042788", "11111111111111111"], ["1M8GDM9A1KP042788", "1M8GDM9AXKP04278", "IOQ" * 6]),
        ("ssn", ["123-45-6789", "900 12 3456"], ["000-12-3456", "666-12-3456", "123-00-6789", "123-45-0000"]),
        ("nhs", ["943 476 5919", "9434765919"], ["943 476 5918", "94347659"]),
        (
            "date",
            ["3/14/2021", "14/3/2021", "2021-03-14", "29/02/20"],
            ["31/31/2020", "2021-13-04", "2/30/2020", "1/2"],
        ),
        ("month_day", ["3/14", "14/3", "2/29"], ["13/13", "2/30", "0/4"]),
        ("timestamp", ["20210304", "20210304102030.1"], ["20211304", "2021030", "30210304"]),
        ("ip", ["10.0.0.1", "10.0.0.0/8", "2001:db8::1"], ["10.0.0.256", "1.2.3", "10:30"]),
        ("phone", ["617-555-0143", "(617) 555-0143 x22", "020 7946 0958", "+49 30 901820"], ["12", "1-2-3"]),
        ("three_digits", ["A-12-3"], ["A-12"]),
        ("four_digits", ["A12-34"], ["123"]),
        ("mixed", ["ABC1"], ["ABC"]),
        ("seven_digits", ["12-34-567"], ["123456"]),
        (
            "dni",
            ["12345678Z", "X1234567L", "00000000-T", "12.345.678-z"],
            ["1234567L", "012345678Z", "Z", "", "A2345678Z"],
        ),
        ("kvnr", ["A123456780"], ["a123456780", "A12345678", "A1234567800", "1123456780"]),
        (
            "code",
            ["12345", "12-34567", "12/34567", "A1-2345-6"],
            ["1234", "A-12-34", "12-34-56", "a3-14-2021", "3/14/2021"],
        ),
        ("world_phone", ["+49 30 901820", "0049 30 901820", "+49 (0)30 901820"], ["+49 12", "+999 30 901820", "none"]),
        ("cl_rut", ["12.531.909-2", "125319092"], ["12.531.909-3"]),
        ("mx_curp", ["BOXW310820HNERXN09"], ["BOXW310820HNERXN08"]),
        ("ar_cuit", ["20-26756539-3"], ["20-26756539-4"]),
    ],
)
def test_check(check: str, good: list[str], bad: list[str]) -> None:
    assert [t for t in good if not CHECKS[check](t)] == []
    assert [t for t in bad if CHECKS[check](t)] == []


@pytest.mark.parametrize(
    ("check", "number"),
    [
        *(("luhn", "79927398713"), ("npi", "1234567893"), ("npi", "1245319599"), ("dea", "AB1234563")),
        *(("vin", "1M8GDM9AXKP042788"), ("nhs", "9434765919"), ("dni", "12345678Z"), ("kvnr", "A123456780")),
    ],
)
def test_a_number_that_has_another_digit_or_one_more_or_less_is_no_such_number(check: str, number: str) -> None:
    assert CHECKS[check](number)
    for at, digit in enumerate(number):
        if digit.isdecimal():
            assert not CHECKS[check](f"{number[:at]}{(int(digit) + 1) % 10}{number[at + 1 :]}"), at
    assert not CHECKS[check](number[:-1])
    if check != "luhn":
        for at in range(2 if check == "dea" else 0, len(number) + 1):  # also where the sum stays the same
            assert not any(CHECKS[check](f"{number[:at]}{digit}{number[at:]}") for digit in "0123456789"), at


@given(
    st.from_regex(
        r"(\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-. ])[0-9]{3}[-. ][0-9]{4}|0?[1-9]( ?[0-9]){8,9}",
        fullmatch=True,
        alphabet="0123456789-. ()",
    )
)
def test_numbers_in_plain_form_are_possible_as_the_library_says_too(number: str) -> None:
    assert CHECKS["phone"](number)
    parsed = [phonenumbers.parse(number, region) for region in ("US", "GB")]
    assert any(map(phonenumbers.is_possible_number, parsed))


@given(st.integers(0, 2300), st.integers(0, 14), st.integers(0, 33))
@example(1879, 12, 31)
@example(1880, 1, 1)
@example(2099, 12, 31)
@example(2100, 1, 1)
def test_dates_are_those_of_the_calendar(year: int, month: int, day: int) -> None:
    try:
        datetime.date(year, month, day)
        there = 1880 <= year < 2100
    except ValueError:
        there = False
    assert CHECKS["timestamp"](f"{year:04}{month:02}{day:02}") == there


def _exists(year: int, month: int, day: int) -> bool:
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True


@given(st.integers(0, 2300), st.integers(0, 14), st.integers(0, 33))
@example(0, 1, 31)
@example(0, 2, 29)
@example(9999, 12, 31)
@example(1900, 2, 29)
def test_dates_with_a_year_are_those_of_the_calendar_in_some_order(year: int, month: int, day: int) -> None:
    assert CHECKS["date"](f"{year:04}-{month:02}-{day:02}") == _exists(year, month, day)
    either = _exists(year, month, day) or _exists(year, day, month)
    assert CHECKS["date"](f"{month}/{day}/{year:04}") == (1800 <= year < 2200 and either)
    # the century of a year of two digits is not known: 29 February may be
    assert CHECKS["date"](f"{month}/{day}/{year % 100:02}") == (_exists(2000, month, day) or _exists(2000, day, month))


@given(st.text(alphabet="0123456789abF:./%", max_size=24) | st.ip_addresses().map(str))
def test_addresses_are_those_of_the_library(text: str) -> None:
    try:
        ipaddress.ip_interface(text)
        there = "." in text or ":" in text
    except ValueError:
        there = False
    assert CHECKS["ip"](text) == there
