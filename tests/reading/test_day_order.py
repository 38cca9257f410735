"""Whether days stand before months is told by the dates that can be read in one way only."""

from deid.reading.day_order import days_first


def test_dates_that_can_be_read_in_one_way_vote() -> None:
    assert days_first(["14/3/2019", "2/3/2019"])
    assert not days_first(["3/14/2019", "2/3/2019"], usual=True)
    assert days_first(["14. 3. 19", "14-3-2019", "3/14/2019"])
    assert not days_first(["14/3/2019", "3/14/2019", "5/14/2019"], usual=True)


def test_the_language_decides_where_they_do_not_tell() -> None:
    for texts in ([], ["2/3/2019", "2019-03-14", "March 14"], ["14/3/2019", "3/14/2019"]):
        assert (days_first(texts, usual=True), days_first(texts)) == (True, False)
