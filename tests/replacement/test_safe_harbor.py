"""HIPAA's rules for dates, ZIP codes and ages: the worked values of the rule, and what cannot be read for sure."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.reading.dictionaries import load_dictionary
from deid.replacement.safe_harbor import age90, year_only, year_rule, zip3, zip_rule
from deid.replacement.scope import Scope

KEY = Key(b"k" * 32)


def years(text: str, *dates: str, as_of: int | None = None) -> list[str]:
    """Apply the operator to the dates that stand in a text."""
    spans = [Span(text.index(d), text.index(d) + len(d), "DATE") for d in dates]
    reference = None if as_of is None else datetime.date(as_of, 6, 1)
    return list(year_only()(Document("d", text), spans, Scope(KEY, "d", reference_date=reference)))


def age(text: str, before: str = "", after: str = "") -> str:
    span = Span(len(before), len(before) + len(text), "AGE")
    return age90()(Document("d", before + text + after), [span], Scope(KEY, "d"))[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1927-07-15", [1927]),
        ("7/15/1927", [1927]),
        ("15.07.1927", [1927]),
        ("20030117", [2003]),
        ("01172003", [2003]),
        ("17012003", [2003]),
        ("31122199", [2199]),
        ("01011850", [1850]),
        ("20031301", []),
        ("99992003", []),
        ("32012003", []),
        ("01/2003", [2003]),
        ("2018-2019", [2018, 2019]),
        ("3/14-4/2/2018", [2018]),
        ("12/30/2018 to 1/2/2019", [2018, 2019]),
        ("Jan,2003", [2003]),
        ("May 5th, 2011 at 19:30", [2011]),
        ("12 de marzo de 2004", [2004]),
        ("2003-01-17T10:22:30", [2003]),
        ("13082003", [2003]),
        ("March 14", []),
        ("Mar 07", []),
        ("11/23", []),
        ("last Tuesday", []),
        ("19:30", []),
    ],
)
def test_years_of_dates_in_all_forms(text: str, expected: list[int]) -> None:
    assert years(text, text) == ["-".join(map(str, expected)) or "[DATE]"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1/2/03", 2003), ("15.07.23", 2023), ("March 14, 07", 2007), ("14-Mar-07", 2007), ("March '07", 2007)],
)
def test_two_digit_years_need_a_reference(text: str, expected: int) -> None:
    assert years(text, text) == ["[DATE]"]
    assert years(text, text, as_of=2024) == [str(expected)]


def test_a_clock_time_is_no_year() -> None:
    assert years("01/02/03 1930", "01/02/03 1930") == ["[DATE]"]
    assert years("01/02/03 1930", "01/02/03 1930", as_of=2024) == ["2003"]


def test_year_rule_counts_to_89() -> None:
    assert year_rule(1927, 2003) == "1927"
    assert year_rule(2003 - 89, 2003) == "1914"
    assert year_rule(2003 - 90, 2003) == "<=1913"


def test_year_only_reads_dates_of_a_document() -> None:
    assert years("admitted 3/14/2018, seen 4/2", "3/14/2018", "4/2") == ["2018", "[DATE]"]
    assert years("stay 12/30/2018-1/2/2019", "12/30/2018-1/2/2019") == ["2018-2019"]
    assert years("born 1927-07-15", "1927-07-15", as_of=2003) == ["1927"]
    assert years("born 1912-07-15", "1912-07-15", as_of=2003) == ["<=1913"]


def test_without_a_reference_day_the_latest_date_of_the_document_counts() -> None:
    """A birth date alone could tell an age over 89, so nothing of it is left."""
    assert years("DOB: 1927-07-15. Seen 2019-01-02.", "1927-07-15", "2019-01-02") == ["<=1929", "2019"]
    assert years("DOB: 1980-07-15. Seen 2019-01-02.", "1980-07-15", "2019-01-02") == ["1980", "2019"]
    assert years("DOB: 1980-07-15", "1980-07-15") == ["[DATE]"]
    assert years("Operated on 1980-07-15", "1980-07-15") == ["1980"]


@pytest.mark.parametrize(
    "before",
    ["DOB: ", "geb. ", "geb. am ", "geboren am ", "Geburtsdatum: ", "Müller, Hans, *", "Hans Müller (* ", "né le ",
     "NEE LE ", "née le ", "Date de naissance : ", "DDN : ", "geboortedatum: ", "geboren op ", "F. nac.: ",
     "nacida el "],
)  # fmt: skip
def test_a_birth_is_told_in_five_languages(before: str) -> None:
    """Alone it could tell an age over 89, and it is never what tells the day of the note."""
    assert years(f"{before}15.07.1927", "15.07.1927") == ["[DATE]"]
    assert years(f"{before}15.07.1927. 02.01.2019", "15.07.1927", "02.01.2019") == ["<=1929", "2019"]
    assert years("* 15.07.1980 Appendix", "15.07.1980") == ["1980"]


def test_the_year_after_the_reference_day_is_no_age_over_89() -> None:
    assert years("Discharged 12/29/2019. RTC 1/6/20.", "12/29/2019", "1/6/20") == ["2019", "2020"]
    assert years("Seen 12/29/19. RTC 1/6/20.", "12/29/19", "1/6/20", as_of=2019) == ["2019", "2020"]
    assert years("leave 12/19/15-1/25/16", "12/19/15-1/25/16", as_of=2015) == ["2015-2016"]


def test_a_short_year_that_would_tell_an_age_over_89_is_sure_at_a_birth_only() -> None:
    assert years("DOB: 1/6/20", "1/6/20", as_of=2019) == ["<=1929"]
    assert years("DOB: 1/6/29", "1/6/29", as_of=2019) == ["<=1929"]
    assert years("DOB: 1/6/30", "1/6/30", as_of=2019) == ["1930"]
    assert years("DOB: 1/6/19", "1/6/19", as_of=2019) == ["2019"]
    assert years("Card ends 1/6/21", "1/6/21", as_of=2019) == ["[DATE]"]
    assert years("Card ends 1/6/29", "1/6/29", as_of=2019) == ["[DATE]"]
    assert years("Married 1/6/30", "1/6/30", as_of=2019) == ["1930"]


def test_without_a_reference_day_a_short_year_must_have_one_century() -> None:
    """The note names 1998, so it is of 1998 or later: 99 is in the year after, but 03 may be 1903 or 2003."""
    text = "Operated in 1998, 3/4/98, 5/6/99, 7/8/03"
    assert years(text, "1998", "3/4/98", "5/6/99", "7/8/03") == ["1998", "1998", "1999", "[DATE]"]


@given(
    st.integers(1990, 2047),
    st.lists(st.tuples(st.integers(-60, 1), st.booleans()), min_size=1, max_size=6),
    st.booleans(),
)
def test_a_year_that_is_written_is_the_one_that_was_meant(now: int, dates: list[tuple[int, bool]], dated: bool) -> None:
    """Dates of the 60 years before a note and of the year after it, in years of two or four digits."""
    texts = [f"{n + 1}/5/{now + ago if full else f'{(now + ago) % 100:02}'}" for n, (ago, full) in enumerate(dates)]
    written = years(" seen ".join(texts), *texts, as_of=now if dated else None)
    for new, (ago, full) in zip(written, dates, strict=True):
        assert new == str(now + ago) or (new == "[DATE]" and not dated and not full)


def test_zip_rule_at_20000() -> None:
    assert zip_rule("12345", {"123": 20_000}) == "000**"
    assert zip_rule("12345", {"123": 20_001}) == "123**"
    assert zip_rule("12345-6789", {"123": 20_001}) == "123**"
    assert zip_rule("12345", {}) == "000**"


def zip_of(text: str, language: str = "en", **parameters: Path) -> str:
    scope = Scope(KEY, "d", language=language)
    return zip3(**parameters)(Document("d", text), [Span(0, len(text), "ZIP")], scope)[0]


@pytest.mark.parametrize("language", ["de", "es", "es-mx", "fr", "it", "nl"])
def test_a_postal_code_of_another_country_is_no_zip_code(language: str, tmp_path: Path) -> None:
    """Of how many people live in 485.. of Germany the census of the United States tells nothing."""
    assert zip_of("48565", language) == "[LOCATION]"
    assert zip_of("48565", "en-us") == "485**"
    counts = tmp_path / "counts.csv"
    counts.write_text("prefix,population\n485,120000\n")
    assert [zip_of(code, language, counts=counts) for code in ("48565", "48683")] == ["485**", "000**"]


def test_zip3_uses_the_list_of_small_areas() -> None:
    small = load_dictionary("policies/zip3_restricted").phrases
    assert len(small) == 17
    assert {zip_of(f"{prefix}45") for prefix in small} == {"000**"}
    assert zip_of("30322") == "303**"
    assert zip_of("K1A 0B1") == zip_of("2804") == "[LOCATION]"


def test_zip3_with_counts_of_another_census(tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("prefix,population\n036,20001\n303,500\n")
    assert [zip_of(z, counts=counts) for z in ("03601", "30322", "99999")] == ["036**", "000**", "000**"]
    for wrong in ("036,many", "036,1\n036,2", "36,1", "0360,1", "036,-1", "036,"):
        counts.write_text(f"prefix,population\n{wrong}\n")
        with pytest.raises(ConfigError, match=r"line [23]"):
            zip3(counts=counts)
    with pytest.raises(ConfigError):
        zip3(counts=tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("89", "89"),
        ("90", "90+"),
        ("91-year-old", "90+-year-old"),
        ("102 yo", "90+ yo"),
        ("88-92", "88-90+"),
        ("in his 90s", "in his 90+"),
        ("in her 40s", "in her 40s"),
        ("93 months", "93 months"),
        ("93 días", "93 días"),
        ("ninety-two", "90+"),
        ("noventa y tres años", "90+ años"),
        ("nonagenarian", "90+"),
        ("seventy", "seventy"),
        ("elderly", "[AGE]"),
        ("dreiundneunzigjährige", "90+jährige"),
        ("hundertzweijährig", "90+"),
        ("dreiundsiebzigjährige", "dreiundsiebzigjährige"),
        ("zwölf", "zwölf"),
        ("hochbetagt", "[AGE]"),
        ("95 Tage", "95 Tage"),
        ("quatre-vingt-dix-sept ans", "90+ ans"),
        ("quatre-vingt-six ans", "quatre-vingt-six ans"),
        ("nonante-six ans", "90+ ans"),
        ("cent six ans", "90+"),
        ("soixante ans", "soixante ans"),
        ("zesennegentig", "90+"),
        ("tweeënnegentig", "90+"),
        ("honderdtwee", "90+"),
        ("zesenzeventig", "zesenzeventig"),
    ],
)
def test_ages(text: str, expected: str) -> None:
    assert age(text) == expected


def test_the_unit_may_stand_behind_the_span() -> None:
    assert age("93", "a ", " months old boy") == "93"
    assert age("93", "a ", " years old man") == "90+"
