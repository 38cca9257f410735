"""Models that look at a population or the original records, and the classifier of recodings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import microdata

from deid.base.errors import ConfigError, InputError
from deid.disclosure.consistency import (
    consistent_records,
    delta_presence,
    k1_anonymity,
    k_map,
    kk_anonymity,
    match_population,
    one_k_anonymity,
)
from deid.disclosure.privacy import k_anonymity
from deid.disclosure.recoding_scheme import classify_recoding
from deid.table.hierarchy import hierarchy_from_rows


def test_two_map_of_greg_and_jim() -> None:
    published = microdata([(40, "NW10", "M"), (45, "NW15", "M")], "age postcode sex")
    population = microdata(
        [("Greg", 40, "NW10", "M"), ("Jack", 40, "NW10", "M"), ("Jim", 45, "NW15", "M"), ("John", 45, "NW15", "M")],
        "name. age postcode sex",
    )
    assert k_map(published, population, 2).ok
    assert k_map(published, population, 3).level == 2
    assert k_anonymity(published, 2).level == 1


def test_a_population_that_is_too_small_is_refused() -> None:
    published = microdata([("4*", "M"), ("4*", "M")], "age sex")
    with pytest.raises(InputError, match="1 classes have fewer records in the population"):
        k_map(published, microdata([(41, "M"), (50, "M")], "age sex"), 1)
    with pytest.raises(ConfigError, match="no column 'sex'"):
        k_map(published, microdata([(41,)], "age"), 1)


def test_one_k_and_k_one() -> None:
    originals = microdata([(20,), (21,), (30,), (31,)], "age")
    # every published row covers two originals, but nothing else covers 20 than the first published row
    published = microdata([("[20-21]",), ("[21-30]",), ("[21-30]",), ("[30-31]",)], "age")
    found = consistent_records(published, originals)
    assert found.records.tolist() == [2, 2, 2]
    assert found.rows.tolist() == [1, 3, 3, 1]
    assert k1_anonymity(published, originals, 2).ok
    assert not one_k_anonymity(published, originals, 2).ok
    assert one_k_anonymity(published, originals, 2).witness == (0,)
    assert not kk_anonymity(published, originals, 2).ok
    boxes = microdata([("[20-21]",)] * 2 + [("[30-31]",)] * 2, "age")
    assert kk_anonymity(boxes, originals, 2).ok


def test_presence() -> None:
    population = microdata([(20,), (21,), (22,), (30,), (31,)], "age")
    published = microdata([("[20-22]",), ("[20-22]",), ("[30-31]",)], "age")
    assert delta_presence(published, population, 0.5, 0.7).ok
    assert delta_presence(published, population, 0.5, 0.6).level == (0.5, pytest.approx(2 / 3))
    assert delta_presence(published, population, 0.5, 0.6).witness == (0,)
    for low, high in ((0.7, 0.5), (-0.1, 0.5), (0.5, 1.1)):
        with pytest.raises(ConfigError, match="bounds of presence"):
            delta_presence(published, population, low, high)
    assert delta_presence(published, population, 0.6, 1).witness == (3,)


def test_presence_counts_persons() -> None:
    population = microdata([("p1", 20), ("p2", 21), ("p3", 30)], "mrn. age")
    notes = [("p1", "[20-21]")] * 2 + [("p3", "30")]
    by_person = microdata(notes, "mrn. age", person="mrn")
    assert delta_presence(by_person, population, 0.5, 1).level == (0.5, 1.0)
    overlapping = microdata([*notes, ("p1", "[21-29]")], "mrn. age", person="mrn")
    assert delta_presence(overlapping, population, 0, 1).level == (0.5, 1.0)


TREE = hierarchy_from_rows([("1", "low", "*"), ("2", "low", "*"), ("3", "high", "*"), ("4", "high", "*")], "age")
AGES = st.sampled_from(["1", "2", "3", "4", "low", "high", "*", "[2-3]", "{1,4}"])
COVERED = {
    **{str(i): {i} for i in range(1, 5)},
    "low": {1, 2},
    "high": {3, 4},
    "*": {1, 2, 3, 4, None},
    "[2-3]": {2, 3},
    "{1,4}": {1, 4},
    None: {None},
}


@given(
    st.lists(st.tuples(AGES | st.none(), st.sampled_from(["M", "F", "*"])), min_size=1, max_size=8),
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, None]), st.sampled_from("MF")), min_size=1, max_size=10),
)
def test_counts_are_those_of_all_pairs(
    published: list[tuple[str | None, str]], records: list[tuple[int | None, str]]
) -> None:
    release = microdata(published, "age sex", hierarchies={"age": TREE}, kinds={"age": "nominal"})
    population = microdata([(None if a is None else str(a), s) for a, s in records], "age sex")
    found = consistent_records(release, population)

    def fit(cell: tuple[str | None, str], record: tuple[int | None, str]) -> bool:
        return record[0] in COVERED[cell[0]] and cell[1] in ("*", record[1])

    for row, cell in enumerate(published):
        assert found.records[found.classes.ids[row]] == sum(fit(cell, record) for record in records)
    assert found.rows.tolist() == [sum(fit(cell, record) for cell in published) for record in records]


def test_disjoint_and_overlapping_counts_agree_on_a_recoding() -> None:
    ages = [20, 21, 22, 35, 36, 37, 38]
    population = microdata([(age, sex) for age in ages for sex in "MF"], "age sex")
    released = [("[20-22]", "M"), ("[20-22]", "M"), ("[35-38]", "*"), ("[35-38]", "*")]
    overlapping = match_population(microdata(released, "age sex"), population)
    assert overlapping.records.tolist() == [3, 8]
    plain = match_population(microdata([(a, "*") for a, _ in released], "age sex"), population)
    assert plain.records.tolist() == [6, 8]


POSTCODES = hierarchy_from_rows(
    [(str(p), "[10-16]" if p <= 16 else "[20-21]", "*") for p in (10, 12, 16, 20, 21)], "postcode"
)
SEVEN = [(10, 10), (10, 12), (10, 16), (10, 16), (20, 16), (20, 20), (20, 21)]


@pytest.mark.parametrize(
    ("published", "scheme"),
    [
        ([(10, "[10-16]")] * 4 + [(20, "*")] * 3, "multidimensional"),
        ([(10, "[10-16]")] * 3 + [("*", "16")] * 2 + [(20, "[20-21]")] * 2, "local"),
        ([(10, "[10-16]")] * 4 + [(20, "[10-16]")] + [(20, "[20-21]")] * 2, "full-domain"),
        ([(10, "[10-16]")] * 4 + [(20, "[10-16]"), (20, "20"), (20, "21")], "global"),
        (SEVEN, "full-domain"),
        ([("*", "*")] * 2 + [(10, "16")] * 2 + [("*", "*")] * 3, "full-domain"),
    ],
)
def test_seven_rows_are_classified(published: list[tuple[object, object]], scheme: str) -> None:
    original = microdata(SEVEN, "age postcode", hierarchies={"postcode": POSTCODES})
    rows = [tuple(map(str, row)) for row in published]
    found = classify_recoding(original, microdata(rows, "age postcode", hierarchies={"postcode": POSTCODES}))
    assert found.scheme == scheme
    assert found.suppressed == sum(row == ("*", "*") for row in rows)


def test_levels_of_a_full_domain_recoding_with_dropped_rows() -> None:
    original = microdata(SEVEN, "age postcode", hierarchies={"postcode": POSTCODES})
    kept = microdata([("*", "[20-21]")] * 2, "age postcode")
    found = classify_recoding(original, kept, [5, 6])
    assert found.levels == {"age": 1, "postcode": 1}
    with pytest.raises(InputError, match="different rows"):
        classify_recoding(original, kept)
    for rows in ([5, len(original)], [-1, 5], [5], [4, 5, 6]):
        with pytest.raises(InputError, match="the tables have different rows"):
            classify_recoding(original, kept, rows)


def test_gender_and_zip_of_the_dissertation_share_the_age() -> None:
    columns = "age gender zip"
    original = microdata(
        [(25, "Male", 53711), (25, "Female", 53712), (26, "Male", 53711), (27, "Male", 53710), (28, "Female", 53712)],
        columns,
    )
    box, female = ("[25-28]", "Male", "[53710-53711]"), ("[25-28]", "Female", "53712")
    released = microdata([box, female, box, box, female], columns)
    assert classify_recoding(original, released).scheme == "global"  # one map a column: Age is recoded everywhere
