"""Loss of a release: worked examples and properties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import microdata

from deid.base.errors import ConfigError, InputError
from deid.disclosure.queries import PublishedColumn, average_relative_error, query_precision, random_queries
from deid.disclosure.utility import (
    average_class_size,
    classification_metric,
    discernibility,
    information_loss,
    suppressed_rows,
)
from deid.table.hierarchy import hierarchy_from_rows
from deid.table.microdata import Microdata

BOXES = [("[20-30]", "[0-10]")] * 2 + [("[30-40]", "[26-75]")] * 2 + [("[50-60]", "[0-45]")] * 2
BOXES += [("[60-90]", "[50-95]")] * 3
CORNERS = [(20, 0), (30, 10), (30, 26), (40, 75), (50, 0), (60, 45), (60, 50), (90, 95), (70, 60)]


def test_nine_rows_of_the_tutorial() -> None:
    loss = information_loss(microdata(CORNERS, "age postcode"), microdata(BOXES, "age postcode"), 2)
    assert loss.dm == 21
    assert loss.c_avg == 1.125
    assert loss.ncp_total == pytest.approx(5.7534, abs=5e-5)
    assert loss.ncp == pytest.approx(0.3196, abs=5e-5)
    assert loss.um == pytest.approx((0.2481 + 0.6586 + 0.6165 + 0.9023) / 4, abs=1e-4)
    assert loss.columns["age"] == pytest.approx((6 * 10 + 3 * 30) / 70 / 9)
    assert (loss.rows, loss.suppressed, loss.classes) == (9, 0, 4)


PEOPLE = [(20, "M"), (23, "F"), (25, "M"), (27, "F"), (28, "F"), (29, "F")]


@pytest.mark.parametrize(
    ("published", "ncp", "dm", "c_avg"),
    [
        ([("[20-25]", "{F,M}")] * 3 + [("[27-29]", "F")] * 3, 5.333, 18, 1.5),  # Mondrian
        (
            [("[20-25]", "M"), ("[23-27]", "F"), ("[20-25]", "M"), ("[23-27]", "F")] + [("[28-29]", "F")] * 2,
            2.222,
            12,
            1,
        ),
    ],
)
def test_mondrian_and_clustering_of_six(published: list[tuple[str, str]], ncp: float, dm: int, c_avg: float) -> None:
    loss = information_loss(microdata(PEOPLE, "age sex"), microdata(published, "age sex"), 2)
    assert loss.ncp_total == pytest.approx(ncp, abs=1e-3)
    assert loss.dm == dm
    assert loss.c_avg == c_avg


def test_same_discernibility_another_range() -> None:
    original = microdata([(1,), (11,), (51,), (100,)], "age")
    narrow = information_loss(original, microdata([("[1-11]",)] * 2 + [("[90-100]",)] * 2, "age"))
    wide = information_loss(original, microdata([("[1-11]",)] * 2 + [("[51-100]",)] * 2, "age"))
    assert narrow.dm == wide.dm == 8
    assert narrow.ncp_total == pytest.approx(4 * 10 / 99)
    assert wide.ncp_total == pytest.approx(2 * (10 + 49) / 99)


def test_hierarchies_are_counted_in_leaves() -> None:
    tree = hierarchy_from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "*")], "letters")
    original = microdata([("a",), ("b",), ("c",), ("d",)], "q", hierarchies={"q": tree})
    loss = information_loss(original, microdata([("x",), ("x",), ("y",), ("d",)], "q"))
    assert loss.ncp_total == pytest.approx(2 * 2 / 4)  # y has one leaf: nothing is lost
    assert loss.lm == pytest.approx(2 * (1 / 3) / 4)
    assert information_loss(original, microdata([("*",)] * 4, "q")).lm == 1.0


def test_suppressed_rows_are_lost_whole_however_they_are_published() -> None:
    original = microdata([(20,), (20,), (21,), (30,)], "age")
    dropped = information_loss(original, microdata([(20,), (20,)], "age"))
    starred = information_loss(original, microdata([("20",), ("20",), ("*",), ("*",)], "age"))
    assert dropped == starred
    assert dropped.dm == 2**2 + 4 * 2
    assert dropped.ncp == 0.5
    assert dropped.lm == 0.5
    assert dropped.suppressed == 2
    nothing = information_loss(original, microdata([("*",)] * 4, "age"))
    assert (nothing.ncp, nothing.um, nothing.dm) == (1.0, 1.0, 16)
    assert suppressed_rows(microdata([("*", "M"), ("*", "*")], "age sex")).tolist() == [False, True]
    assert average_class_size(9, 4, 2) == 1.125
    assert discernibility(np.array([2, 2]), 3) == 8 + 21
    with pytest.raises(InputError, match="more rows"):
        information_loss(microdata([(20,)], "age"), original)


def test_labels_that_disagree_with_their_class() -> None:
    release = microdata([("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "x"), ("*", "x")], "q label!")
    assert classification_metric(release, "label") == pytest.approx((1 + 1 + 1) / 6)
    assert classification_metric(release, "label", rows=8) == pytest.approx((3 + 2) / 8)


def test_relative_error_of_the_tutorial() -> None:
    original = microdata([(30, 1), (21, 10)], "age postcode")
    release = microdata([("[21-30]", "[1-10]")] * 2, "age postcode")
    mean, errors = average_relative_error(original, release, [{"age": (30, 30), "postcode": (1, 1)}])
    assert mean == pytest.approx(0.98)
    assert errors.tolist() == [mean]
    with pytest.raises(ConfigError, match="no query has an answer"):
        average_relative_error(original, release, [{"age": (25, 25)}])


def test_relative_error_of_nominal_and_continuous_columns() -> None:
    original = microdata([(1.5, "a"), (2.5, "b"), (9.5, "c")], "x q")
    release = microdata([("[1.5-2.5]", "{a,b}")] * 2 + [("9.5", "c")], "x q")
    _, errors = average_relative_error(
        original, release, [{"q": frozenset("ac")}, {"x": (2, 10)}, {"x": (0, 2), "q": frozenset("b")}]
    )
    assert errors[0] == pytest.approx(0)  # half of two, and one
    assert errors[1] == pytest.approx(0)  # half of two, and one
    assert np.isnan(errors[2])


def test_ages_with_a_top_code_are_asked_as_numbers() -> None:
    ages = [*map(str, range(80, 90)), "90+", ">=90"] * 3
    original = microdata([(age, "a") for age in ages], "age q")
    decades = microdata([("80+" if age in ("90+", ">=90") else "[80-89]", "a") for age in ages], "age q")
    queries = random_queries(original, 300, seed=1)
    asked = [query["age"] for query in queries if "age" in query]
    assert asked
    assert all(isinstance(condition, tuple) and 80 <= condition[0] <= condition[1] <= 90 for condition in asked)
    assert average_relative_error(original, original, queries)[0] == 0
    # 80+ may be any number from 80 to the first that 90+ means: of 36 rows three a number, and six at 90
    mean, _ = average_relative_error(original, decades, [{"age": (90, 95)}])
    assert mean == pytest.approx((6 - 6 / 11) / 6)
    # what is known of the other columns counts as before
    letters = {"q": hierarchy_from_rows([("a", "first", "*"), ("b", "first", "*"), ("c", "last", "*")], "q")}
    own, published = (
        microdata([(age, q) for age, q in zip(cells, names * 18, strict=True)], "age q", hierarchies=letters)
        for cells, names in ((ages, ["a", "b"]), (ages, ["first", "first"]))
    )
    assert average_relative_error(own, published, [{"age": (80, 90), "q": frozenset("a")}])[0] == pytest.approx(0)
    digits = Microdata(
        pd.DataFrame({"age": ages, "q": [1, 2] * 18}),
        original.roles | {"q": "quasi-identifier"},
        kinds={"q": "nominal"},
    )
    assert {type(query["q"]) for query in random_queries(digits, 30) if "q" in query} == {frozenset}
    assert query_precision(original, original, "age") == 1
    assert query_precision(original, decades, "age") < 1


def test_precision_of_queries() -> None:
    original = microdata([(age,) for age in range(40, 51)], "age")
    exact = query_precision(original, original, "age")
    general = query_precision(original, microdata([("[40-50]",)] * 11, "age"), "age")
    decades = query_precision(original, microdata([("[40-44]",)] * 5 + [("[45-50]",)] * 6, "age"), "age")
    assert exact == 1.0  # partial de-identification keeps ages
    assert general < decades < exact
    # full: what is true of all that is returned; n from 40 to 50, both directions, n that nobody meets left out
    shares = [(50 - n) / 11 for n in range(40, 50)] + [(n - 40) / 11 for n in range(41, 51)]
    assert general == pytest.approx(float(np.mean(shares)), abs=0.02)
    assert query_precision(original, microdata([("*",)] * 11, "age"), "age") == general


AGES = st.lists(st.integers(20, 60), min_size=4, max_size=20)


@given(AGES, st.integers(1, 4))
def test_an_unchanged_table_loses_nothing_and_wider_boxes_lose_more(ages: list[int], width: int) -> None:
    original = microdata([(age,) for age in ages], "age")
    same = information_loss(original, original)
    assert (same.ncp, same.lm, same.um) == (0, 0, 0)
    boxes = []
    for step in (1, width, 2 * width):
        low = [age // step * step for age in ages]
        boxes.append(microdata([(f"[{a}-{a + step - 1}]" if step > 1 else str(a),) for a in low], "age"))
    losses = [information_loss(original, box) for box in boxes]
    assert [loss.dm for loss in losses] == sorted(loss.dm for loss in losses)
    assert losses[0].ncp <= losses[1].ncp <= losses[2].ncp


def test_random_queries_are_answered_by_the_original_itself() -> None:
    rows = [(age, sex) for age in range(20, 60) for sex in "MF"]
    original = microdata(rows, "age sex")
    queries = random_queries(original, 200, seed=1)
    assert queries == random_queries(original, 200, seed=1)
    assert queries != random_queries(original, 200, seed=2)
    mean, errors = average_relative_error(original, original, queries)
    assert mean == pytest.approx(0)
    assert len(errors) == 200
    uniform = microdata([("[20-59]", "*")] * 80, "age sex")
    assert average_relative_error(original, uniform, queries)[0] == pytest.approx(0)  # the table is uniform in truth


def test_losses_of_columns_are_averaged_and_odd_figures_refused() -> None:
    original = microdata([(20, "a"), (40, "b"), (60, "c"), (60, "c")], "age q")
    release = microdata([("[20-40]", "a"), ("[20-40]", "b"), ("60", "{b,c}"), ("60", "{b,c}")], "age q")
    loss = information_loss(original, release)
    assert loss.lm == pytest.approx((2 * (20 / 40) / 4 + 2 * (1 / 2) / 4) / 2)
    assert loss.ncp == pytest.approx((2 * (20 / 40) / 4 + 2 * (2 / 3) / 4) / 2)
    for classes, k in ((0, 2), (3, 0)):
        with pytest.raises(ConfigError, match="C_AVG"):
            average_class_size(9, classes, k)


def test_parts_of_narrow_intervals_are_parts_of_their_width() -> None:
    original = microdata([(0.25,), (0.4,), (0.75,)], "x")
    release = microdata([("[0.25-0.75]",)] * 3, "x")
    _, errors = average_relative_error(original, release, [{"x": (0.2, 0.5)}, {"x": (0.25, 0.75)}])
    assert errors.tolist() == pytest.approx([abs(1.5 - 2) / 2, 0])


def test_what_the_original_lacks_is_of_made_up_rows_and_meets_no_condition_for_words() -> None:
    original, made = microdata([(30, "a"), (40, "b")], "age q"), microdata([(55, "a"), (30, "z")], "age q")
    with pytest.raises(InputError, match="covers no value of the original"):
        PublishedColumn.of(original, made, "q")
    assert PublishedColumn.of(original, made, "q", made_up=True).share(frozenset("ab")).tolist() == [1, 0]
    for made_up in (False, True):
        assert PublishedColumn.of(original, made, "age", made_up=made_up).share((50, 60)).tolist() == [1, 0]
        with pytest.raises(InputError, match="column 'age'"):  # nor is a word a number
            PublishedColumn.of(original, microdata([("old", "a")], "age q"), "age", made_up=made_up)


def test_columns_without_a_value_are_asked_nothing() -> None:
    frame = pd.DataFrame({"age": [None] * 4, "sex": ["F", "M", "F", "M"]}, dtype=object)
    roles = dict.fromkeys(frame, "quasi-identifier")
    assert {name for query in random_queries(Microdata(frame, roles), 20) for name in query} == {"sex"}
    assert random_queries(Microdata(frame[["age"]], {"age": "quasi-identifier"}), 20) == []
