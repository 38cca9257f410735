"""Years of two digits: which century they are in."""

from hypothesis import given
from hypothesis import strategies as st

from deid.reading.centuries import LATEST, full_year


@given(st.integers(0, 99), st.one_of(st.none(), st.integers(1900, 2100)), st.booleans())
def test_the_latest_year_that_is_not_beyond_the_reference(year: int, reference: int | None, past: bool) -> None:
    last = LATEST if reference is None else reference if past else reference + 1
    full = full_year(year, reference, past=past)
    assert full % 100 == year
    assert last - 100 < full <= last


def test_the_borders() -> None:
    assert [full_year(y, 1999) for y in (0, 1, 99)] == [2000, 1901, 1999]
    assert [full_year(y, 2019) for y in (19, 20, 21)] == [2019, 2020, 1921]
    assert [full_year(y, 2019, past=True) for y in (19, 20)] == [2019, 1920]
    assert [full_year(y) for y in (49, 50)] == [2049, 1950]


@given(st.integers(100, 3000), st.integers(1900, 2100))
def test_a_whole_year_stays(year: int, reference: int) -> None:
    assert full_year(year, reference) == year
