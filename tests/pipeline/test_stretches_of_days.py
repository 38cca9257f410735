"""A stretch or list of days moves as a whole, in each language: its length and order stay, and no day of it does."""

from __future__ import annotations

import datetime
import functools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid import Document
from deid.base.keys import Key
from deid.pipeline import Pipeline, build_pipeline
from deid.pipeline.options import PipelineOptions
from deid.reading.identity import name_key
from deid.replacement.date_words import MONTHS

WRITTEN = {
    "en": (
        "Admitted from {month} {a} to {b}, {year}.",
        "Admitted from {a} to {b} {month} {year}.",
        "Seen {month} {a}, {c} and {b}, {year}.",
    ),
    "de": ("Stationär vom {a}. bis {b}. {month} {year}.", "Termine am {a}., {c}. und {b}. {month} {year}."),
    "fr": ("Hospitalisé du {a} au {b} {month} {year}.", "Revu les {a}, {c} et {b} {month} {year}."),
    "nl": ("Opgenomen van {a} tot {b} {month} {year}.", "Gezien op {a}, {c} en {b} {month} {year}."),
    "es": ("Ingresado del {a} al {b} de {month} de {year}.", "Visto los días {a}, {c} y {b} de {month} de {year}."),
}
OCTOBER = {"en": "October", "de": "Oktober", "fr": "octobre", "nl": "oktober", "es": "octubre"}


@functools.cache
def pipeline(language: str) -> Pipeline:
    return build_pipeline(Key(b"a key of thirty-two bytes, or so"), PipelineOptions(language=language))


def days(text: str, language: str) -> list[datetime.date]:
    """Return the days of a sentence that names days, a month before or behind them, and the year of the last one."""
    (year,) = map(int, re.findall(r"[0-9]{4}", text))
    months = {key: name.index + 1 for key, name in MONTHS[language].items() if len(key) > 2}
    words = [
        word if word.isdecimal() else name_key(word)
        for word in re.findall(r"(?<![0-9])[0-9]{1,2}(?![0-9])|[^\W\d_]+", text)
    ]
    each = [word for word in words if word.isdecimal() or word in months]
    first = not each[0].isdecimal()
    month, found = 0, list[tuple[int, int]]()
    for word in each if first else reversed(each):
        if word.isdecimal():
            found.append((month, int(word)))
        else:
            month = months[word]
    dates = list[datetime.date]()
    for month, day in reversed(found) if first else found:
        dates.insert(0, datetime.date(year - (bool(dates) and month > dates[0].month), month, day))
    return dates


@pytest.mark.parametrize(
    ("language", "form"), [(language, form) for language, forms in WRITTEN.items() for form in forms]
)
@given(st.lists(st.integers(1, 31), min_size=3, max_size=3, unique=True).map(sorted), st.integers(1990, 2030))
def test_a_stretch_of_days_moves_as_a_whole(language: str, form: str, said: list[int], year: int) -> None:
    a, c, b = said
    text = form.format(a=a, b=b, c=c, month=OCTOBER[language], year=year)
    written = pipeline(language)(Document("n", text)).document.text
    old, new = days(text, language), days(written, language)
    assert len({after - before for before, after in zip(old, new, strict=True)}) == 1, written
    assert old != new
