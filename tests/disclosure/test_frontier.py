from __future__ import annotations

import pytest
from commands import attempt

from deid.base.errors import ConfigError
from deid.disclosure.assessment import Requirements
from deid.disclosure.frontier import Point, choose, frontier, map_releases, measure_releases, plot_map
from tests.disclosure.tables import random_table

POINTS = [
    Point("a", 2, 0.9, 0.4),
    Point("a", 5, 0.8, 0.1),
    Point("b", 5, 0.7, 0.1),
    Point("b", 9, 0.5, 0.05),
    Point("b", 20, 0.4, 0.06),
]


def test_the_front_holds_what_nothing_beats() -> None:
    assert frontier(POINTS) == [POINTS[3], POINTS[1], POINTS[0]]


def test_choices_by_one_bound_or_both() -> None:
    utility, privacy, both = choose(POINTS, least_utility=0.75, greatest_risk=0.2)
    assert utility.point == POINTS[1]
    assert privacy.point == POINTS[1]
    assert both.point == POINTS[1]
    assert choose(POINTS, least_utility=0.85)[0].point == POINTS[0]
    assert choose(POINTS, least_utility=0.85, greatest_risk=0.2)[2].point is None
    assert choose(POINTS) == []
    with pytest.raises(ConfigError, match="a utility of 7"):  # before the table is read
        attempt("ru-map", "none.csv", "--qi", "a", "--min-utility", "7", "-o", "m.svg")
    with pytest.raises(ConfigError, match=r"a risk of 5\."):
        choose(POINTS, greatest_risk=5.0)


def test_a_release_on_a_bound_keeps_it() -> None:
    utility, privacy, both = choose(POINTS, least_utility=0.9, greatest_risk=0.1)
    assert (utility.point, privacy.point, both.point) == (POINTS[0], POINTS[1], None)
    assert choose(POINTS, least_utility=0.8, greatest_risk=0.1)[2].point == POINTS[1]


def test_a_map_of_releases() -> None:
    points, failures = map_releases(random_table(200, 1), ["local", "mondrian"], [2, 10, 500])
    assert [(p.method, p.k) for p in points] == [("local", 2), ("local", 10), ("mondrian", 2), ("mondrian", 10)]
    assert [(name, k) for name, k, _ in failures] == [("local", 500), ("mondrian", 500)]
    assert points[0].utility > points[1].utility
    assert points[0].risk > points[1].risk


@pytest.mark.parametrize("asked", [None, Requirements(l=3)])
def test_what_is_asked_beside_k_holds_in_every_release_of_a_map(asked: Requirements | None) -> None:
    made, _ = measure_releases(random_table(200, 1), ["local", "mondrian"], [2], lambda *made: made[2], asked=asked)
    told = [{found.name: found for found in release.findings} for release in made]
    assert [found["k-anonymity"].verdict.level >= 2 for found in told] == [True, True]
    assert [found["distinct l-diversity of disease"].verdict.level >= 3 for found in told] == [asked is not None] * 2


def test_a_plot_shows_every_release_of_its_method_the_front_and_what_was_chosen() -> None:
    axes = plot_map(POINTS, choose(POINTS, least_utility=0.75)).axes[0]
    drawn = [[*zip(map(float, line.get_xdata()), map(float, line.get_ydata()), strict=True)] for line in axes.lines]
    at = [(point.risk, point.utility) for point in POINTS]
    assert drawn == [at[:2], at[2:], [at[3], at[1], at[0]], [at[1]]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b", "Pareto front"]
    assert sorted(text.get_text() for text in axes.texts) == ["2", "20", "5", "5", "9"]
    assert (axes.get_xscale(), axes.get_xlabel()[:4], axes.get_ylabel()[:7]) == ("log", "risk", "utility")
