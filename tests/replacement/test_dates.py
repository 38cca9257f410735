"""Shifted dates: same form, same distances, nothing invented, nothing left in the clear."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from notes import composed

from deid.base.errors import ConfigError, OffsetError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.reading.identity import name_key
from deid.replacement.date_shifts import MAX_DAYS, MIN_DAYS, offset_of
from deid.replacement.date_words import holiday_of
from deid.replacement.dates import date_shift_operator
from deid.replacement.numerals import spoken as words_of_days
from deid.replacement.pools import read_words
from deid.replacement.scope import Scope

KEY = Key(b"a key of the tests")


def scope(patient: str | None = "1", key: Key = KEY, **more: object) -> Scope:
    return Scope(key, "document", patient, **more)  # type: ignore[arg-type]


def shift(*texts: str, at: Scope | None = None, **options: object) -> list[str]:
    """Shift the dates of one document."""
    document = Document("d", *composed(*(piece for text in texts for piece in (("DATE", text), " | "))))
    return date_shift_operator(**options)(document, document.spans, at or scope())  # type: ignore[arg-type]


def scope_with(days: int) -> Scope:
    """Return a scope whose offset is exactly ``days``."""
    return next(s for s in (scope(str(n)) for n in range(20_000)) if offset_of(s) == days)


FORWARD, BACK = scope_with(100), scope_with(-45)


@pytest.mark.parametrize(
    ("text", "forward", "back"),
    [
        # full dates
        ("03/14/2019", "06/22/2019", "01/28/2019"),
        ("3/14/2019", "6/22/2019", "1/28/2019"),
        ("3/14/19", "6/22/19", "1/28/19"),
        ("14/03/2019", "22/06/2019", "28/01/2019"),
        ("14.03.2019", "22.06.2019", "28.01.2019"),
        ("14-3-19", "22-6-19", "28-1-19"),
        ("2019-03-14", "2019-06-22", "2019-01-28"),
        ("2019/3/14", "2019/6/22", "2019/1/28"),
        ("20190314", "20190622", "20190128"),
        ("201903141022", "201906221022", "201901281022"),
        ("20190314102233.123+0100", "20190622102233.123+0100", "20190128102233.123+0100"),
        ("2019-03-14T10:22:33Z", "2019-06-22T10:22:33Z", "2019-01-28T10:22:33Z"),
        ("03/14/2019 10:30 PM", "06/22/2019 10:30 PM", "01/28/2019 10:30 PM"),
        ("031419", "062219", "012819"),
        ("March 14, 2019", "June 22, 2019", "January 28, 2019"),
        ("MARCH 14TH, 2019", "JUNE 22ND, 2019", "JANUARY 28TH, 2019"),
        ("Mar. 14th 2019", "Jun. 22nd 2019", "Jan. 28th 2019"),
        ("14 march 2019", "22 june 2019", "28 january 2019"),
        ("14-Mar-2019", "22-Jun-2019", "28-Jan-2019"),
        ("14MAR2019", "22JUN2019", "28JAN2019"),
        ("Mar-14-19", "Jun-22-19", "Jan-28-19"),
        ("the 14th of March, 2019", "the 22nd of June, 2019", "the 28th of January, 2019"),
        ("Thursday, March 14, 2019", "Saturday, June 22, 2019", "Monday, January 28, 2019"),
        ("14 de marzo de 2019", "22 de junio de 2019", "28 de enero de 2019"),
        ("fourteenth of March, nineteen eighty-eight", "twenty-second of June, nineteen eighty-eight", None),
        ("March 14, twenty ten", "June 22, twenty ten", "January 28, twenty ten"),
        ("March 14, twenty eleven", "June 22, twenty eleven", "January 28, twenty eleven"),
        ("March 14, nineteen ten", "June 22, nineteen ten", "January 28, nineteen ten"),
        ("March 14, nineteen oh nine", "June 22, nineteen oh nine", "January 28, nineteen oh nine"),
        ("March 14, twenty oh nine", "June 22, two thousand nine", "January 28, two thousand nine"),
        ("March 14, two thousand and ten", "June 22, two thousand and ten", "January 28, two thousand and ten"),
        ("March thirty-one, nineteen eighty-eight", "July nine, nineteen eighty-eight", None),
        ("March 14, thirty-two", "June 22, thirty-two", "January 29, thirty-two"),
        ("October fifth, ninety-nine", "January thirteenth, two thousand", "August twenty-first, ninety-nine"),
        ("OCTOBER 5, NINETY NINE", "JANUARY 13, TWO THOUSAND", "AUGUST 21, NINETY NINE"),
        ("cinco de octubre de noventa y nueve", "trece de enero de dos mil", None),
        # without a year
        ("3/14", "6/22", "1/28"),
        ("March 14", "June 22", "January 28"),
        ("14 marzo", "22 junio", "28 enero"),
        # ranges
        ("3/14-3/18", "6/22-6/26", "1/28-2/1"),
        ("March 3-7, 2019", "June 11-15, 2019", "January 17-21, 2019"),
        ("March 16-20", "June 24-28", "January 30-February 3"),
        ("14-18 March 2019", "22-26 June 2019", "28 January-1 February 2019"),
        ("2018-2019", "2019-2020", "2017-2018"),
        # month and year
        ("March 2019", "June 2019", "January 2019"),
        ("03/2019", "06/2019", "01/2019"),
        ("2019-03", "2019-06", "2019-01"),
        ("marzo de 2019", "junio de 2019", "enero de 2019"),
        ("Nov 2019", "Feb 2020", "Oct 2019"),
        # less than that
        ("March", "June", "January"),
        ("mid-March", "mid-June", "mid-January"),
        ("2019", "2020", "2018"),
        ("'19", "'20", "'18"),
        ("1990s", "2000s", "1980s"),
        ("the '90s", "the '00s", "the '80s"),
        ("Tuesday", "Thursday", "Saturday"),
        ("last Tuesday", "last Thursday", "last Saturday"),
        ("Tues", "Thurs", "Sat"),
        ("martes", "jueves", "sábado"),
        ("spring", "summer", "winter"),
        ("fall of 2019", "winter of 2020", "summer of 2019"),
        ("Christmas", "Easter", "Veterans Day"),
        ("the 14th", "the 2nd", "the 25th"),
        # dates that do not exist
        ("31/02/2010", "08/06/2010", "14/01/2010"),
        ("02/30/2010", "06/08/2010", "01/14/2010"),
        ("00/03/2019", "00/06/2019", "00/01/2019"),
        ("99/99/2019", "09/04/2020", "16/11/2019"),
        # neither day nor month is known: the year moves a year, nothing unknown becomes known
        ("00/00/2019", "00/00/2020", "00/00/2018"),
        ("2019-00-00", "2020-00-00", "2018-00-00"),
        ("14/00/2019", "02/00/2020", "25/00/2018"),
    ],
)
def test_forms(text: str, forward: str, back: str | None) -> None:
    """Offsets of +100 and -45 days; the expected values are worked out by hand."""
    assert shift(text, at=FORWARD) == [forward]
    assert back is None or shift(text, at=BACK) == [back]


@pytest.mark.parametrize(
    ("language", "text", "forward", "back"),
    [
        # weekdays, 14 March 2019 was a Thursday
        ("de", "Do, 14.03.2019", "Sa, 22.06.2019", "Mo, 28.01.2019"),
        ("de", "Donnerstag, den 14. März 2019", "Samstag, den 22. Juni 2019", "Montag, den 28. Januar 2019"),
        ("de", "am Do. 14.3.19 um 14.30 Uhr", "am Sa. 22.6.19 um 14.30 Uhr", "am Mo. 28.1.19 um 14.30 Uhr"),
        ("de", "Donnerstagabend", "Samstagabend", "Montagabend"),
        ("nl", "do 14-3-2019", "za 22-6-2019", "ma 28-1-2019"),
        ("nl", "donderdagavond", "zaterdagavond", "maandagavond"),
        ("fr", "jeu. 14 mars 2019 à 8h30", "sam. 22 juin 2019 à 8h30", "lun. 28 janvier 2019 à 8h30"),
        ("fr", "mar. 12/03/2019", "jeu. 20/06/2019", "sam. 26/01/2019"),
        ("fr", "12-MAR-2019", "20-JUN-2019", "26-JAN-2019"),
        ("es", "ju 14/3/2019", "sa 22/6/2019", "lu 28/1/2019"),
        ("es", "mar. 12 de marzo", "jue. 20 de junio", "sáb. 26 de enero"),
        # parts of months and years, seasons, quarters, weeks
        ("de", "Mitte März 2019", "Mitte Juni 2019", "Mitte Januar 2019"),
        ("nl", "eind maart", "eind juni", "eind januari"),
        ("fr", "mi-mars", "mi-juin", "mi-janvier"),
        ("de", "Herbst 2019", "Winter 2020", "Sommer 2019"),
        ("nl", "najaar 2019", "winter 2020", "zomer 2019"),
        ("fr", "automne 2019", "hiver 2020", "été 2019"),
        ("nl", "Q4 2019", "Q1 2020", "Q3 2019"),
        ("de", "2019 Q1", "2019 Q2", "2018 Q4"),
        ("de", "KW 11/2019", "KW 25/2019", "KW 4/2019"),
        ("nl", "week 03 / 2019", "week 17 / 2019", "week 48 / 2018"),
        ("fr", "sem. 52/19", "sem. 14/20", "sem. 45/19"),
        # days and months in other forms
        ("de", "14. III. 2019", "22. VI. 2019", "28. I. 2019"),
        ("es", "14-III-19", "22-VI-19", "28-I-19"),
        ("de", "März 19", "Juni 19", "Januar 19"),
        ("fr", "mars 19", "juin 19", "janvier 19"),
        ("de", "14ten März 2019", "22ten Juni 2019", "28ten Januar 2019"),
        ("fr", "1er mars 2019", "9 juin 2019", "15 janvier 2019"),
        ("fr", "17 avril 2019", "26 juillet 2019", "3 mars 2019"),
        ("nl", "14/15 maart", "22/23 juni", "28/29 januari"),
        ("de", "14./15. März", "22./23. Juni", "28./29. Januar"),
        # ranges that name the month once
        ("de", "16. bis 20. März 2019", "24. bis 28. Juni 2019", "30. Januar bis 3. Februar 2019"),
        ("de", "14.-18.03.2019", "22.-26.06.2019", "28.01.-01.02.2019"),
        ("nl", "14 t/m 18-3-2019", "22 t/m 26-6-2019", "28-1 t/m 1-2-2019"),
        ("fr", "du 16 au 20/03", "du 24 au 28/06", "du 30/01 au 03/02"),
        # in words
        (
            "de",
            "am vierzehnten März zweitausendneunzehn",
            "am zweiundzwanzigsten Juni zweitausendneunzehn",
            "am achtundzwanzigsten Januar zweitausendneunzehn",
        ),
        ("de", "vierzehnter Dritter", "zweiundzwanzigster Sechster", "achtundzwanzigster Erster"),
        ("de", "Erster Mai", "Neunter August", "Siebzehnter März"),
        ("de", "dritten Oktober 2019", "elften Januar 2020", "neunzehnten August 2019"),
        (
            "fr",
            "le quatorze mars deux mille dix-neuf",
            "le vingt-deux juin deux mille dix-neuf",
            "le vingt-huit janvier deux mille dix-neuf",
        ),
        (
            "fr",
            "premier décembre mil neuf cent quatre-vingt-dix-neuf",
            "dix mars deux mille",
            "dix-sept octobre mil neuf cent quatre-vingt-dix-neuf",
        ),
        ("fr", "vingt et un juin", "vingt-neuf septembre", "sept mai"),
        (
            "nl",
            "veertien maart tweeduizend negentien",
            "tweeëntwintig juni tweeduizend negentien",
            "achtentwintig januari tweeduizend negentien",
        ),
        ("nl", "de veertiende maart", "de tweeëntwintigste juni", "de achtentwintigste januari"),
        (
            "es",
            "primero de mayo de dos mil diecinueve",
            "nueve de agosto de dos mil diecinueve",
            "diecisiete de marzo de dos mil diecinueve",
        ),
        (
            "es",
            "catorce de marzo de mil novecientos ochenta y ocho",
            "veintidós de junio de mil novecientos ochenta y ocho",
            "veintinueve de enero de mil novecientos ochenta y ocho",
        ),
        (
            "en",
            "the third of May, two thousand nineteen",
            "the eleventh of August, two thousand nineteen",
            "the nineteenth of March, two thousand nineteen",
        ),
        # as a scanner reads it
        ("de", "14.O3.2Ol9", "22.06.2019", "28.01.2019"),
    ],
)
def test_forms_of_other_languages(language: str, text: str, forward: str, back: str) -> None:
    for at, expected in ((FORWARD, forward), (BACK, back)):
        assert shift(text, at=replace(at, language=language)) == [expected]


@pytest.mark.parametrize("language", ["en", "es", "de", "fr", "nl"])
def test_every_weekday_and_month_of_a_language_is_written_in_its_own_row(language: str) -> None:
    at, days = replace(FORWARD, language=language), offset_of(FORWARD)
    months, weekdays = (
        [row.split() for row in read_words("writing.toml")[kind][language]] for kind in ("months", "weekdays")
    )
    for n, word in ((n, word) for row in weekdays for n, word in enumerate(row)):
        (written,) = shift(f"{word} 14/15/2019", at=at)
        own = {name_key(row[(n + days) % 7]) for row in weekdays if name_key(row[n]) == name_key(word)}
        assert name_key(written.split()[0]) in own
    for n, word in ((n, word) for row in months for n, word in enumerate(row)):
        new = datetime.date(2019, n + 1, 15) + datetime.timedelta(days)
        (written,) = shift(f"15-{word}-2019", at=at)
        own = {name_key(row[new.month - 1]) for row in months if name_key(row[n]) == name_key(word)}
        assert name_key(written.split("-")[1]) in own


@pytest.mark.parametrize("language", ["en", "es", "de", "fr", "nl"])
def test_every_holiday_of_a_language_becomes_another_one_of_it(language: str) -> None:
    rows = [row[1:] for row in read_words("writing.toml")["holidays"][language]]
    known = {name.lower() for row in rows for name in row}
    for row in rows:
        for name in row:
            for at in (FORWARD, BACK):
                (new,) = shift(name, at=replace(at, language=language))
                assert new.lower() in known
                assert new.lower() not in map(str.lower, row)


@pytest.mark.parametrize("language", ["en", "es", "de", "fr", "nl"])
@pytest.mark.parametrize("days", [-MAX_DAYS, -200, -45, MIN_DAYS, 100, 250, MAX_DAYS])
def test_a_holiday_of_a_year_becomes_the_one_next_to_its_shifted_day(language: str, days: int) -> None:
    at = replace(scope_with(days), language=language)
    for row in read_words("writing.toml")["holidays"][language]:
        holiday, others = holiday_of(row[1], language)
        day = holiday.date(2019) + datetime.timedelta(days)
        distances = {
            (name.lower(), str(year)): abs((other.date(year) - day).days)
            for other in others
            for name in next(names for names in read_words("writing.toml")["holidays"][language] if other.name in names)
            for year in range(2016, 2023)
        }
        (new,) = shift(f"{row[1]} 2019", at=at)
        name, _, year = new.lower().rpartition(" ")
        assert distances[name, year] == min(distances.values()), (row[1], new)


FORMATS = [
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%Y-%m-%d",
    "%Y%m%d",
    "%B %d, %Y",
    "%b %d %Y",
    "%d-%b-%Y",
    "%d %B %Y",
    "%A, %B %d, %Y",
    "%d%b%Y",
]
DATES = st.dates(datetime.date(1905, 1, 1), datetime.date(2095, 12, 31))


@given(DATES, st.sampled_from(FORMATS), st.integers(0, 50))
def test_every_full_date_moves_by_the_offset_and_keeps_its_form(date: datetime.date, form: str, patient: int) -> None:
    at = scope(str(patient))
    assume(date.month != 5 or "%b" not in form)  # "May" does not tell whether it is abbreviated
    new = shift(date.strftime(form), at=at, day_first="%d" in form[:2])[0]
    assert datetime.datetime.strptime(new, form).date() - date == datetime.timedelta(offset_of(at))


@given(DATES, st.sampled_from([*FORMATS, "%m/%d", "%m-%y", "%Y", "%B", "%a", "%Y-%m/%d", "%b. %d, %Y"]), st.booleans())
def test_a_word_before_a_date_does_not_change_how_it_is_read(date: datetime.date, form: str, short: bool) -> None:
    text = re.sub(r"\b0(?=\d\b)", "", date.strftime(form)) if short else date.strftime(form)
    assert shift(f"on {text}")[0] == "on " + shift(text)[0]


def test_holidays_that_follow_easter_do_so_in_every_year() -> None:
    easter = pytest.importorskip("dateutil.easter").easter
    days = {h.name: h.date for h in holiday_of("Christmas")[1]}
    for year in range(1900, 2100):
        assert days["Easter"](year) == easter(year)


@given(st.lists(DATES, min_size=2, max_size=6, unique=True), st.data())
def test_distances_stay_over_documents_and_forms(dates: list[datetime.date], data: st.DataObject) -> None:
    """Each date stands in a document of its own, in a form of its own."""
    found = []
    for date in dates:
        form = data.draw(st.sampled_from(FORMATS[2:] if date.month != 5 else FORMATS[2:5]))
        at = Scope(KEY, f"document {len(found)}", "7")
        found.append(datetime.datetime.strptime(shift(date.strftime(form), at=at)[0], form).date())
    assert [b - a for a, b in pairwise(found)] == [b - a for a, b in pairwise(dates)]


@given(st.integers(0, 2000), st.booleans())
def test_offsets_are_never_zero_and_within_their_limits(patient: int, weeks: bool) -> None:
    days = offset_of(scope(str(patient)), preserve_weekday=weeks)
    assert MIN_DAYS <= abs(days) <= MAX_DAYS
    assert (days % 7 == 0) == weeks


def test_offsets_depend_on_person_and_key() -> None:
    assert len({offset_of(scope(str(n))) for n in range(200)}) > 100
    assert offset_of(scope("1")) != offset_of(scope("1", Key(b"another key, as long")))
    assert offset_of(Scope(KEY, "document 1", "9")) == offset_of(Scope(KEY, "document 2", "9"))


WORDS = [
    "Tuesday",
    "March",
    "spring",
    "Christmas",
    "2019",
    "'07",
    "the 3rd",
    "3/4",
    "June 2011",
    "1980s",
    "abril",
    "Dec 25",
]


@pytest.mark.parametrize("text", WORDS)
def test_no_date_stays_as_it_is(text: str) -> None:
    assert not [n for n in range(150) if text.casefold() in shift(text, at=scope(str(n)))[0].casefold()]


@pytest.mark.parametrize("seasons", [("spring", "summer"), ("spring", "fall"), ("spring", "summer", "fall")])
def test_no_season_stays_where_the_next_one_is_in_the_document_too(seasons: tuple[str, ...]) -> None:
    for n in range(150):
        assert not [old for old, new in zip(seasons, shift(*seasons, at=scope(str(n))), strict=True) if old == new]


@pytest.mark.parametrize(
    "text", ["yesterday", "John Smith", "3 days ago", "1/2/3/4", "12345", "March Smith", "10:30", ""][:-1]
)
def test_what_is_no_date_becomes_a_tag(text: str) -> None:
    assert shift(text) == ["[DATE]"]


def test_nothing_is_invented() -> None:
    """No year is added, no clock time turned into a date."""
    assert re.fullmatch(r"[A-Z][a-z]+ \d{1,2}", shift("March 14")[0])
    assert re.fullmatch(
        r"[A-Z][a-z]+ \d{1,2} at 3/?:?14 pm|[A-Z][a-z]+ \d{1,2} at 3:14 pm", shift("March 14 at 3:14 pm")[0]
    )


def test_ambiguous_dates_are_read_as_the_document_is_written() -> None:
    """3/4/2019 is 3 April where another date of the document has its day first, else 4 March; options go first."""
    assert shift("25/12/2018", "3/4/2019", at=FORWARD)[1] == "12/7/2019"
    assert shift("12/25/2018", "3/4/2019", at=FORWARD)[1] == "6/12/2019"
    assert shift("3/4/2019", at=FORWARD) == ["6/12/2019"]
    assert shift("3/4/2019", at=FORWARD, day_first=True) == ["12/7/2019"]
    for first, spoken in ((False, "six, twelve, nineteen"), (True, "twelve, seven, nineteen")):
        assert shift("three, four, nineteen seventy one", at=FORWARD, day_first=first) == [f"{spoken} seventy one"]
    for first in (False, True):  # there is no month of twenty five
        said = ["seven, three, nineteen seventy one", "7/3/1971"]
        assert shift("three, twenty five, nineteen seventy one", "3/25/1971", at=FORWARD, day_first=first) == said
    # there is no month of thirteen either, and twelve is one
    pairs = ("5/13", "5/12", "13/5")
    assert [shift(pair, at=FORWARD, day_first=True)[0] for pair in pairs] == ["8/21", "15/3", "21/8"]
    assert [shift(pair, at=FORWARD, day_first=False)[0] for pair in pairs] == ["8/21", "8/20", "21/8"]
    spanish = Scope(KEY, "document", FORWARD.patient_id, language="es")
    assert shift("3/4/2019", at=spanish) == ["12/7/2019"]


def test_years_of_two_digits_follow_the_reference_day() -> None:
    """29 February exists in 2000, not in 1900: the century shows in the result."""
    late = scope(FORWARD.patient_id, reference_date=datetime.date(2019, 6, 1))
    assert shift("02/28/00", at=late) == ["06/07/00"]
    year_before = scope(FORWARD.patient_id, reference_date=datetime.date(1999, 12, 31))
    assert shift("02/28/00", at=year_before) == ["06/07/00"]
    two_before = scope(FORWARD.patient_id, reference_date=datetime.date(1998, 12, 31))
    assert shift("02/28/00", at=two_before) == ["06/08/00"]
    early = scope(FORWARD.patient_id, reference_date=datetime.date(1950, 6, 1))
    assert shift("02/28/00", at=early) == ["06/08/00"]


def test_whole_weeks_keep_weekdays() -> None:
    new = shift("Thursday, March 14, 2019", "Thursday", "March 14, 2019", preserve_weekday=True)
    assert new[0].startswith("Thursday, ")
    assert new[1] == "[DATE]"
    assert datetime.datetime.strptime(new[2], "%B %d, %Y").weekday() == 3


def test_birth_dates_over_89_are_capped_on_request() -> None:
    """On 1 June 2019 somebody born in 1922 is 97: the shifted birth date says 90; at 89 nothing happens."""
    at = scope(FORWARD.patient_id, reference_date=datetime.date(2019, 6, 1))
    assert shift("03/14/1922", at=at) == ["06/22/1922"]
    assert shift("03/14/1922", "1922", at=at, cap_age=89) == ["06/22/1929", "1930"]
    assert shift("06/02/1929", at=at, cap_age=89) == ["09/10/1929"]
    with pytest.raises(ConfigError):
        date_shift_operator(cap_age=0)


def test_an_age_of_exactly_the_cap_keeps_its_distances() -> None:
    """Who is 89 on the reference day, to the day or by the year, is not in the class of those over 89."""
    at = scope(FORWARD.patient_id, reference_date=datetime.date(2019, 6, 1))
    for birth in ("06/02/1929", "06/01/1930", "01/31/1930", "1930"):
        assert shift(birth, at=at, cap_age=89) == shift(birth, at=at), birth
    for birth in ("06/01/1929", "1929"):  # 90 that day, or in that year
        assert shift(birth, "06/01/2019", at=at, cap_age=89)[0][-4:] in ("1929", "1930"), birth
    # a day older than the class is written as its youngest
    assert shift("06/01/1928", at=at, cap_age=89) == shift("06/01/1929", at=at, cap_age=89)


def test_no_original_comes_back_elsewhere_in_the_document() -> None:
    """With an unknown patient another offset is taken; a month that stands alone moves on by itself."""
    first = datetime.date(2019, 3, 14)
    second = first + datetime.timedelta(offset_of(scope(None)))
    texts = [first.isoformat(), second.isoformat()]
    new = shift(*texts, at=scope(None))
    assert not set(new) & set(texts)
    assert datetime.date.fromisoformat(new[1]) - datetime.date.fromisoformat(new[0]) == second - first
    months = ["October", "January", "April"]
    assert not set(shift(*months, at=FORWARD)) & set(months)


def test_dates_of_which_every_shift_brings_one_back_are_shifted_all_the_same() -> None:
    """All differences that an offset may have stand between these days; where a third does, another offset is found."""
    first = datetime.date(2019, 1, 1)
    ruler, thirds = [*range(19), *range(19, MAX_DAYS + 19, 19)], range(0, 870, 3)
    for places, back in ((ruler, True), (thirds, False)):
        days = [first + datetime.timedelta(place) for place in places]
        texts = [f"{day:%Y-%m-%d}" for day in days]
        new = shift(*texts, at=scope(None))
        offsets = {(datetime.date.fromisoformat(b) - a).days for a, b in zip(days, new, strict=True)}
        assert len(offsets) == 1
        assert MIN_DAYS <= abs(offsets.pop()) <= MAX_DAYS
        assert bool(set(new) & set(texts)) is back


def test_of_days_and_months_that_are_all_named_none_stays_and_none_of_five_letters_comes_back() -> None:
    for words in (
        "January February March April June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "spring summer autumn winter",
    ):
        names = words.split()
        for new, name in zip(shift(*names), names, strict=True):
            assert new != name
            assert len(new) < 5 or new not in names
            assert new == "[DATE]" or new.istitle() == name.istitle()


def test_dates_beyond_the_calendar_become_a_tag() -> None:
    assert shift("9999-12-31", at=FORWARD) == ["[DATE]"]


def test_a_span_outside_the_text_is_refused() -> None:
    with pytest.raises(OffsetError):
        date_shift_operator()(Document("d", "March"), [Span(0, 9, "DATE")], scope())


@given(
    st.dates(datetime.date(1960, 1, 1), datetime.date(2090, 12, 31)),
    st.integers(-180, 180),
    st.sampled_from((FORWARD, BACK)),
    st.booleans(),
)
def test_the_distance_from_a_full_date_to_one_without_a_year_stays(
    seen: datetime.date, days: int, at: Scope, told: bool
) -> None:
    # also over a leap day, at the turn of the year, and where the document's own date is what tells the year
    other = seen + datetime.timedelta(days)
    birth = seen - datetime.timedelta(20_000)
    head = [f"{birth:%m/%d/%Y}"] if told else [f"{birth:%m/%d/%Y}", f"{seen:%B} {seen.day}, {seen.year}"]
    scoped = scope(at.patient_id, reference_date=seen) if told else at
    moved = datetime.datetime.strptime(f"2000/{shift(*head, f'{other.month}/{other.day}', at=scoped)[-1]}", "%Y/%m/%d")
    should = other + datetime.timedelta(offset_of(scoped))
    assert (moved.month, moved.day) == (should.month, should.day)


@pytest.mark.parametrize("language", ["de", "fr", "nl", "es"])
@given(date=st.dates(datetime.date(1902, 1, 1), datetime.date(2097, 12, 31)), patient=st.integers(1, 50))
def test_a_day_and_year_in_words_come_back_in_words_of_the_same_form(
    language: str, date: datetime.date, patient: int
) -> None:
    words = words_of_days(language)
    assert words is not None
    forms = {kind: series for kind, _, series in reversed(words.series.values())}
    day, year = forms["O"], forms["Y"]
    month = read_words("writing.toml")["months"][language][0].split()
    joint = {"es": " de "}.get(language, " ")
    text = joint.join((day[date.day], month[date.month - 1], year[date.year]))
    at = scope(str(patient), language=language)
    moved = date + datetime.timedelta(offset_of(at))
    (new,) = shift(text, at=at)
    assert new in ("[DATE]", joint.join((day[moved.day], month[moved.month - 1], year[moved.year])))
    assert (new == "[DATE]") <= (text in joint.join((day[moved.day], month[moved.month - 1], year[moved.year])))
