"""Days of one stretch whose month is said once move by one offset and stay in order, also over the end of a month."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_dates import scope, scope_with, shift

from deid.document import Document, Span
from deid.replacement.date_shifts import offset_of
from deid.replacement.dates import date_shift_operator

NUMERIC = {
    "de": [
        "{a}. bis {b}.{m}.{y}",
        "{a}/{b}.{m}.{y}",
        "{a}-{b}.{m}.{y}",
        "{a}.-{b}.{m}.{y}",
        "{a}.–{b}.{m}.{y}",
        "{a}. und {b}.{m}.{y}",
    ],
    "fr": ["{a} au {b}/{m}/{y}", "{a} et le {b}/{m}/{y}", "{a}-{b}/{m}/{y}"],
    "es": ["{a} al {b}/{m}/{y}", "{a} y el {b}/{m}/{y}", "{a}-{b}/{m}/{y}"],
    "nl": ["{a} t/m {b}/{m}/{y}", "{a} tot en met {b}-{m}-{y}", "{a} en {b}/{m}/{y}", "{a}-{b}/{m}/{y}"],
    "en": ["{a} to {b}/{m}/{y}", "{a} and {b}/{m}/{y}"],
}
WORDED = {
    "de": ["{a}. bis {b}. {n} {y}", "{a}.–{b}. {n} {y}"],
    "fr": ["{a} au {b} {n} {y}", "{a} et {b} {n} {y}"],
    "es": ["{a} al {b} de {n} de {y}", "{a} y {b} de {n} de {y}"],
    "nl": ["{a} t/m {b} {n} {y}", "{a}-{b} {n} {y}"],
    "en": ["{a}-{b} {n} {y}", "{a} to {b} {n} {y}", "{n} {a}-{b}, {y}", "{n} {a} to {b}, {y}"],
}
FORMS = [(language, form) for table in (NUMERIC, WORDED) for language, forms in table.items() for form in forms]
_MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "en": "January February March April May June July August September October November December",
}
FULL = {language: names.split() for language, names in _MONTHS.items()}


def days_of(text: str, language: str, form: str) -> list[tuple[int, int]]:
    """Return month and day of both ends, read by the form: an end that says no month has that of the other."""
    name = "|".join(FULL[language])
    pattern = (
        re.escape(form.replace("{a}.", "{a}"))
        .replace(r"\{", "{")
        .replace(r"\}", "}")
        .format(
            a=rf"(?P<a>\d+)\.?(?:[./-]?(?P<am>\d+)\.?| (?P<an>{name}))?",
            b=rf"(?:(?P<bn>{name}) )?(?P<b>\d+)",
            m=r"(?P<m>\d+)",
            n=rf"(?P<n>{name})",
            y=r"\d+",
        )
    )
    found = re.fullmatch(pattern, text)
    assert found, (text, pattern)
    read = found.groupdict()
    months = {key: FULL[language].index(word) + 1 for key in ("an", "bn", "n") if (word := read.get(key))}
    said = months.get("n") or int(read["m"])
    first = months.get("an") or (int(read["am"]) if read["am"] else said)
    return [(first, int(read["a"])), (months.get("bn", said), int(read["b"]))]


@pytest.mark.parametrize(("language", "form"), FORMS)
@given(st.dates(datetime.date(1990, 1, 15), datetime.date(2030, 11, 1)), st.integers(1, 27), st.integers(1, 400))
def test_both_ends_move_by_the_offset(language: str, form: str, begun: datetime.date, length: int, who: int) -> None:
    ended = begun + datetime.timedelta(length)
    forward = form.startswith("{n}")
    if ended.month != begun.month and (begun.day <= ended.day or begun.year != ended.year):
        return  # as it stands there it would be of one month
    said = begun if forward else ended
    text = form.format(a=begun.day, b=ended.day, m=said.month, n=FULL[language][said.month - 1], y=said.year)
    at = scope(str(who), language=language)
    (new,) = shift(text, at=at, day_first=True)
    moved = [day + datetime.timedelta(offset_of(at)) for day in (begun, ended)]
    if new == "[DATE]":  # of which each part would stay somewhere in it
        return
    assert days_of(new, language, form) == [(day.month, day.day) for day in moved], (text, new)


@pytest.mark.parametrize(
    ("language", "text", "forward", "back"),
    [
        ("fr", "28 au 3/11", "5 au 11/2", "13 au 19/9"),
        ("fr", "3, 5 et 9/11/2024", "11, 13 et 17/2/2025", "19, 21 et 25/9/2024"),
        ("es", "entre el 28 y el 3/4", "entre el 6 y el 12/7", "entre el 11 y el 17/2"),
        ("nl", "29 t/m 2-12-2024", "9 t/m 12-3-2025", "15 t/m 18-10-2024"),
        ("de", "29. bis 2. Dezember 2024", "9. bis 12. März 2025", "15. bis 18. Oktober 2024"),
        ("en", "11/17-23", "02/25-03/03", "10/03-9"),
        ("en", "Nov 28-3", "Mar 8-13", "Oct 14-19"),
        ("en", "3/17, 18 and 20", "6/25, 26 and 28", "1/31, 2/1 and 3"),
    ],
)
def test_a_day_greater_than_the_next_is_of_the_month_before(language: str, text: str, forward: str, back: str) -> None:
    for days, expected in ((100, forward), (-45, back)):
        at = scope_with(days)
        assert shift(text, at=scope(at.patient_id, language=language)) == [expected]


WHOLE = [
    ("{a.day}/{a.month}-{b.day}/{b.month}/{b.year}", r"(?P<d>\d+)/(?P<m>\d+)-(?P<e>\d+)/(?P<n>\d+)/(?P<y>\d+)"),
    ("{a.day}.{a.month}.-{b.day}.{b.month}.{b.year}", r"(?P<d>\d+).(?P<m>\d+).-(?P<e>\d+).(?P<n>\d+).(?P<y>\d+)"),
    (
        "{a.day}/{a.month}/{a.year}-{b.day}/{b.month}/{b.year}",
        r"(?P<d>\d+)/(?P<m>\d+)/\d+-(?P<e>\d+)/(?P<n>\d+)/(?P<y>\d+)",
    ),
    ("{a:%Y-%m-%d}/{b:%Y-%m-%d}", r"\d+-(?P<m>\d+)-(?P<d>\d+)/(?P<y>\d+)-(?P<n>\d+)-(?P<e>\d+)"),
    ("{a:%Y-%m-%d}/{b:%d}", r"\d+-(?P<m>\d+)-(?P<d>\d+)/(?:(?P<y>\d+)-(?P<n>\d+)-)?(?P<e>\d+)"),
    ("{a.month}/{a.day}-{b.day}/{b.year}", r"(?P<m>\d+)/(?P<d>\d+)-(?:(?P<n>\d+)/)?(?P<e>\d+)/(?P<y>\d+)"),
]


@pytest.mark.parametrize(("form", "read"), WHOLE)
@given(st.dates(datetime.date(1990, 1, 15), datetime.date(2030, 11, 1)), st.integers(1, 27), st.integers(1, 400))
def test_a_stretch_in_numbers_keeps_its_length(
    form: str, read: str, begun: datetime.date, length: int, who: int
) -> None:
    """Days that say their month or year once, or each."""
    ended = begun + datetime.timedelta(length)
    once = "b.month" not in form and "%m" not in form.partition("b")[2]
    if begun.month != ended.month and (once or begun.year != ended.year):
        return
    english = form.startswith("{a.month}")
    at = scope(str(who), language="en" if english else "de")
    (new,) = shift(form.format(a=begun, b=ended), at=at, day_first=not english)
    if new == "[DATE]":
        return
    found = re.fullmatch(read, new)
    assert found, new
    moved = [day + datetime.timedelta(offset_of(at)) for day in (begun, ended)]
    said = [(int(found["m"]), int(found["d"])), (int(found["n"] or found["m"]), int(found["e"]))]
    assert said == [(day.month, day.day) for day in moved], new
    assert found["y"] is None or int(found["y"]) == moved[1].year


@pytest.mark.parametrize("text", ["3/4 - 5/6/0000", "3/4-5/6/0000", "2/30-31/0000", "0000-00-00/31", "31/12-1/1/9999"])
def test_days_of_no_calendar_are_written_or_tagged(text: str) -> None:
    """Whether the days are one date or two, nothing fails."""
    first, mark, last = re.match(r"(.+?)( - |-(?=[0-9]+/)|$)(.*)", text).groups()  # type: ignore[union-attr]
    assert shift(text) != [text]
    document = Document(
        "d", text, (Span(0, len(first), "DATE"), *([Span(len(first + mark), len(text), "DATE")] * bool(last)))
    )
    new = date_shift_operator()(document, document.spans, scope())
    assert len(new) == len(document.spans)
