"""DE-ID's tags: their grammar, and codes that tell who is who without telling who it is."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.deid_tags import DeidTag, deid_tag_operator, parse_tags
from deid.replacement.scope import Scope

KEY = Key(b"k" * 32)


def tag(text: str, category: str = "PATIENT", *, document: str = "d", patient: str | None = "p") -> str:
    scope = Scope(KEY, document, patient)
    return deid_tag_operator()(Document(document, text), [Span(0, len(text), category)], scope)[0]


_kinds = st.from_regex(r"[A-Z]{1,8}(-[A-Z]{1,8})?", fullmatch=True)
_payloads = st.none() | st.text(st.characters(exclude_characters="[]"), max_size=20)


@given(st.lists(st.builds(DeidTag, _kinds, _payloads)))
def test_grammar_round_trips(tags: list[DeidTag]) -> None:
    text = " ".join(map(str, tags))
    found = list(parse_tags(text))
    assert [t for _, _, t in found] == tags
    assert [text[start:end] for start, end, _ in found] == [str(t) for t in tags]


def test_the_slide_is_read() -> None:
    text = "**NAME[AAA, BBB M] seen on **DATE[Jan 17 2003], **AGE[over 89], **ID-NUM"
    assert [(t.kind, t.payload) for _, _, t in parse_tags(text)] == [
        ("NAME", "AAA, BBB M"),
        ("DATE", "Jan 17 2003"),
        ("AGE", "over 89"),
        ("ID-NUM", None),
    ]


def test_words_have_codes_and_order_stays() -> None:
    last, first, initial = re.fullmatch(r"\*\*NAME\[([A-Z]{4}), ([A-Z]{4}) ([A-Z])\]", tag("Smith, Mary M.")).groups()  # type: ignore[union-attr]
    assert tag("Mary Smith") == f"**NAME[{first} {last}]"
    assert tag("MARY SMITH's") == f"**NAME[{first} {last}]"
    assert tag("Mrs. Smith") == f"**NAME[{last}]"
    assert tag("M. Smith") == f"**NAME[{initial} {last}]"
    assert tag("Smith-Smith , Mary/M.,") == f"**NAME[{last}-{last}, {first}/{initial}]"
    assert initial != "M"


@pytest.mark.parametrize("text", ["Mrs.", "Dr., ", "12-34", "--"])
def test_a_name_without_words_has_no_brackets(text: str) -> None:
    assert tag(text) == "**NAME"


def test_codes_hold_within_the_patient() -> None:
    assert tag("Smith", document="one") == tag("Smith", document="two")
    assert tag("Smith", patient="p") != tag("Smith", patient="q")
    assert tag("Smith", document="one", patient=None) != tag("Smith", document="two", patient=None)


def test_patients_and_staff_have_series_of_their_own() -> None:
    names = ["Smith", "Jones", "Li", "Garcia", "Novak", "Okafor", "Brown", "Meyer"]
    assert all(tag(n, "PATIENT")[7] in "ABCDEFGHIJKLM" for n in names)
    assert all(tag(n, "DOCTOR")[7] in "NOPQRSTUVWXYZ" for n in names)


def test_no_word_stands_for_itself() -> None:
    """Of all words of four letters the codes of these two would be the words; they are sought again for another key."""
    assert (tag("Pzpz", "DOCTOR"), tag("Uxbu", "DOCTOR")) == ("**NAME[PZPA]", "**NAME[UXBV]")


def test_other_kinds() -> None:
    assert tag("67", "AGE") == "**AGE[in 60s]"
    assert tag("90", "AGE") == "**AGE[over 89]"
    assert tag("6", "AGE") == "**AGE[under 10]"
    assert tag("Boston", "CITY") == "**PLACE"
    assert tag("12345", "MEDICALRECORD") == "**ID-NUM"
    assert tag("Place", "CITY") == "**OTHER"


def test_dates_are_shifted_by_one_number_of_days_for_a_patient() -> None:
    """The worked pair of DE-ID: three days apart before, three days apart after."""
    one, other = tag("Jan 17 2003", "DATE", document="one"), tag("Jan 20 2003", "DATE", document="two")
    days = [datetime.datetime.strptime(t, "**DATE[%b %d %Y]") for t in (one, other)]
    assert (days[1] - days[0]).days == 3
    assert days[0] != datetime.datetime(2003, 1, 17)
    assert tag("whenever", "DATE") == "**DATE"


def test_different_initials_stay_different() -> None:
    """Of the first letter and the last, too; one that is no letter of the alphabet is an X."""
    told = [re.sub(r".* ([A-Z])\]$", r"\1", tag(f"Smith, Mary {letter}.")) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    assert sorted(told) == [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    assert all(new != letter for new, letter in zip(told, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=True))
