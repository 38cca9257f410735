"""Texts as recognizers see them: what is read otherwise than it is written."""

from __future__ import annotations

import pytest

import deid
from deid.reading.normalize import normalize


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Name,MRN,Seen,Well\nOrme,4411203,2024-03-14,True", "Name\tMRN\tSeen\tWell\nOrme\t4411203\t2024-03-14\tTrue"),
        ('Orme,4411203,"Dale, RN",1', 'Orme\t4411203\t"Dale, RN"\t1'),
        ('a,,,"b ""c"", d",', 'a\t\t\t"b ""c"", d"\t'),
        ("Na 138, K 4.1, Cl 102, CO2 24", "Na 138, K 4.1, Cl 102, CO2 24"),
        ("1,250,000 copies", "1,250,000 copies"),
        ("T,P,R,BP taken, then rest", "T,P,R,BP taken, then rest"),
    ],
)
def test_values_between_commas_are_columns(text: str, read: str) -> None:
    assert normalize(text).text == read


def test_numbers_and_days_of_a_row_between_commas_are_found() -> None:
    text = "Name,MRN,Seen,Well\nEleanor Thornbury,48291735,2024-03-14,True\n"
    out = deid.scrub(text, model="none", policy="redact")
    assert "48291735" not in out
    assert "2024-03-14" not in out
    assert out.endswith(",True\n")
