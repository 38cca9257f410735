"""The R-U map: risk and utility of many releases of one table, and how to choose among them (Duncan et al. 2001)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from deid.base.errors import DeidError, require
from deid.base.plots import COLOURS, Figure, new_figure
from deid.disclosure.assessment import Requirements
from deid.disclosure.guards import check_before_release, drop_unnamed
from deid.disclosure.methods import MethodOptions
from deid.disclosure.release import Release, anonymize
from deid.table.microdata import Microdata

T = TypeVar("T")


@dataclass(frozen=True)
class Point:
    """A release on the map.

    Parameters
    ----------
    method : str
        Name of the method.
    k : int
        The k that was asked for.
    utility : float
        1 - NCP: the share of the certainty that is left.
    risk : float
        Prosecutor's average risk: the chance that a record is linked rightly.
    """

    method: str
    k: int
    utility: float
    risk: float


@dataclass(frozen=True)
class ChosenRelease:
    """A strategy and the release that it chooses, None where none is good enough."""

    strategy: str
    point: Point | None

    def __str__(self) -> str:
        told = "none is good enough" if self.point is None else f"{self.point.method}, k = {self.point.k}"
        return f"{self.strategy}: {told}"


def map_releases(
    data: Microdata,
    methods: Iterable[str],
    ks: Iterable[int],
    options: MethodOptions | None = None,
    asked: Requirements | None = None,
) -> tuple[list[Point], list[tuple[str, int, DeidError]]]:
    """Make a release for every method and k.

    Parameters
    ----------
    data : Microdata
        The table; columns of which nothing is said count as left out.
    methods : iterable of str
        Names of methods.
    ks : iterable of int
        Values of k.
    options : MethodOptions, optional
        What the methods are told.
    asked : Requirements, optional
        What is asked for beside k.

    Returns
    -------
    points : list of Point
        The releases.
    failures : list of (method, k, error)
        What could not be reached.

    Raises
    ------
    ConfigError
        When no method reaches any k, or the table cannot be released as described.
    """
    data = drop_unnamed(data)
    check_before_release(data)
    return measure_releases(data, methods, ks, _point, options, asked)


def _point(_: str, k: int, release: Release) -> Point:
    return Point(release.method, k, 1 - release.loss.ncp, release.risks[1].prosecutor.average)


def measure_releases(
    data: Microdata,
    methods: Iterable[str],
    ks: Iterable[int],
    measure: Callable[[str, int, Release], T],
    options: MethodOptions | None = None,
    asked: Requirements | None = None,
) -> tuple[list[T], list[tuple[str, int, DeidError]]]:
    """Return what is measured of a release for every method and k, and what could not be reached.

    Parameters
    ----------
    measure : callable
        Is given the method and the k that were asked for, and their release.
    data, methods, ks, options, asked
        See `map_releases`; nothing is checked or left out of the table.

    Raises
    ------
    ConfigError
        When no method reaches any k.
    """
    found: list[T] = []
    failures: list[tuple[str, int, DeidError]] = []
    for method, k in itertools.product(methods, ks):
        try:
            release = anonymize(data, replace(asked or Requirements(), k=k), method, options)
        except DeidError as error:
            failures.append((method, k, error))
        else:
            found.append(measure(method, k, release))
    require(found, "no method reached anything", str(failures[0][2]) if failures else "name methods and k")
    return found, failures


def frontier(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other one beats in both risk and utility, by ascending risk."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.risk, -p.utility)):
        if not best or point.utility > best[-1].utility + 1e-12:
            best.append(point)
    return best


def choose(
    points: Sequence[Point], *, least_utility: float | None = None, greatest_risk: float | None = None
) -> list[ChosenRelease]:
    """Choose releases: utility-bound, privacy-bound, and bound in both.

    Parameters
    ----------
    points : sequence of Point
        The map.
    least_utility : float, optional
        Utility-bound: the least risk among releases of at least this utility.
    greatest_risk : float, optional
        Privacy-bound: the greatest utility among releases of at most this risk.

    Returns
    -------
    list of ChosenRelease
        One for each bound given, and one for both together; a choice without a point cannot be met.

    Raises
    ------
    ConfigError
        When a bound is no share.
    """
    for bound, what in ((least_utility, "utility"), (greatest_risk, "risk")):
        require(bound is None or 0 <= bound <= 1, f"a {what} of {bound}", "a share, from 0 to 1: 0.05 is 5 %")
    useful = [p for p in points if least_utility is None or p.utility >= least_utility]
    safe = [p for p in points if greatest_risk is None or p.risk <= greatest_risk]
    choices = []
    if least_utility is not None:
        best = min(useful, key=lambda p: (p.risk, -p.utility), default=None)
        choices.append(ChosenRelease(f"least risk with utility at least {least_utility:g}", best))
    if greatest_risk is not None:
        choices.append(ChosenRelease(f"greatest utility with risk at most {greatest_risk:g}", _most_useful(safe)))
    if least_utility is not None and greatest_risk is not None:
        both = [p for p in useful if p in safe]
        choices.append(ChosenRelease("both bounds, greatest utility", _most_useful(both)))
    return choices


def _most_useful(points: Sequence[Point]) -> Point | None:
    return min(points, key=lambda p: (-p.utility, p.risk), default=None)


def plot_map(points: Sequence[Point], choices: Sequence[ChosenRelease] = ()) -> Figure:
    """Return a plot of the map: risk on a logarithmic axis, utility, the Pareto front, and what was chosen."""
    figure, axes = new_figure(8, 5)
    for number, method in enumerate(dict.fromkeys(point.method for point in points)):
        own = [point for point in points if point.method == method]
        colour = COLOURS[number % len(COLOURS)]
        axes.plot([p.risk for p in own], [p.utility for p in own], "o", color=colour, label=method, markersize=5)
        for point in own:
            axes.annotate(
                str(point.k), (point.risk, point.utility), fontsize=6, xytext=(3, 3), textcoords="offset points"
            )
    front = frontier(points)
    axes.plot(
        [p.risk for p in front], [p.utility for p in front], "-", color="#999999", linewidth=1, label="Pareto front"
    )
    for choice in choices:
        if choice.point is not None:
            axes.plot(
                [choice.point.risk], [choice.point.utility], "s", color="#000000", fillstyle="none", markersize=11
            )
    axes.set(xscale="log", xlabel="risk: average chance of re-identification", ylabel="utility: 1 - NCP")
    axes.legend(fontsize=8)
    return figure
