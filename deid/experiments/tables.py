"""What anonymizing a table costs, by method and k: loss, and how well queries are answered.

The comparisons of Gkoulalas-Divanis and Loukides 2012 (census data: NCP, DM, relative error over k), and of Gardner
2012, section 5.1.2 (precision of queries on a number: full, partial and statistical de-identification).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from deid.base.errors import require
from deid.base.late import pd
from deid.base.options import column_names
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, frame_section
from deid.disclosure.frontier import measure_releases
from deid.disclosure.guards import check_before_release, drop_unnamed
from deid.disclosure.queries import average_relative_error, query_precision, random_queries
from deid.disclosure.release import Release
from deid.experiments.asking import ReleaseRuns
from deid.experiments.outcome import Form, Outcome
from deid.table.microdata import SUPPRESSED, Microdata, check_columns

PARTIAL, FULL = "partial", "full"
"""Rows of the dissertation's figure 5.1: identifiers gone and the column as it is; the column gone as well."""


def _precision(data: Microdata, frame: pd.DataFrame, column: str, seed: int) -> float:
    """Return how precisely a column that is published so answers queries."""
    trees = {name: tree for name, tree in data.hierarchies.items() if name == column}
    cells = Microdata(frame[[column]], {column: "quasi-identifier"}, trees, kinds={column: "nominal"})
    return query_precision(data, cells, column, seed=seed)


def _measured(
    data: Microdata, asked: ReleaseRuns, queries: Any, method: str, k: int, release: Release
) -> dict[str, Any]:
    found = {
        "method": method,
        "k": k,
        **{name: getattr(release.loss, name) for name in ("ncp", "dm", "c_avg")},
        "avg_re": average_relative_error(data, release.recoded, queries)[0],
        "risk": release.risks[1].prosecutor.average,
        "suppressed": release.suppressed,
        "cpu_seconds": release.seconds,
    }
    if asked.precision is not None:
        found["precision"] = _precision(data, release.aligned(), asked.precision, asked.seed)
    return found


_PANELS = {"ncp": "NCP", "dm": "discernibility", "avg_re": "AvgRE of counts", "precision": "precision of queries"}


def plot_tables(frame: pd.DataFrame) -> Figure:
    """Return the plot of `tables_outcome`: each measure over k, a line a method; dotted, where there is no k."""
    names = [name for name in _PANELS if name in frame]
    figure, every = new_figure(4.2 * len(names), 4, len(names), squeeze=False, grid=True)
    for axes, name in zip(every[0], names, strict=True):
        for number, (method, own) in enumerate(frame.groupby("method", sort=False)):
            colour = COLOURS[number % len(COLOURS)]
            if own["k"].isna().all():
                if name == "precision":
                    axes.axhline(float(own[name].iloc[0]), linestyle=":", color=colour, label=str(method))
                continue
            axes.plot(own["k"].astype(int).to_numpy(), own[name].to_numpy(), "-o", color=colour, label=str(method))
        axes.set(xlabel="k", ylabel=_PANELS[name], yscale="log" if name == "dm" else "linear")
    every[0][-1].legend(fontsize="small")
    return figure


def tables_sections(frame: pd.DataFrame, values: Mapping[str, Any]) -> list[Section]:
    """Return the table of `tables_outcome`, with what could not be reached (``not_reached`` of the JSON values)."""
    told = [f"{method}, k = {k}: not reached: {what}." for method, k, what in values["not_reached"]]
    note = " ".join(["NCP, DM: loss; AvgRE: relative error of random counts; risk: chance of a right link.", *told])
    shown = frame.assign(k=frame["k"].astype("Int64").astype(str).replace("<NA>", ""))
    return [frame_section("Releases by method and k", shown, note, 4)]


def tables_outcome(data: Microdata, asked: ReleaseRuns) -> Outcome:
    """Make a release for every method and k, and measure each.

    Parameters
    ----------
    data : Microdata
        The table; columns of which nothing is said count as left out.
    asked : ReleaseRuns
        Its counts are over two quasi-identifiers each, the same for every release. The precision is that of 10,000
        queries above or below a number of a quasi-identifier; that of the column as it is (``partial``) and gone
        (``full``) stands beside it.

    Returns
    -------
    Outcome
        Rows with ``method``, ``k``, ``ncp`` (0 to 1), ``dm``, ``c_avg``, ``avg_re``, ``risk`` (prosecutor's average),
        ``suppressed`` rows, ``cpu_seconds``, and ``precision`` with a column; ``not_reached``: method, k and error.

    Raises
    ------
    ConfigError
        When no method reaches any k, a column is missing, or the table cannot be released as described.
    """
    data, column = drop_unnamed(data), asked.precision
    check_before_release(data)
    queries = random_queries(data, asked.queries, seed=asked.seed)
    rows: list[dict[str, Any]] = []
    if column is not None:
        check_columns(data.frame, [column])
        require(column in data.quasi_identifiers, f"column {column!r} is no quasi-identifier", "name it with --qi")
        for name, frame in ((PARTIAL, data.frame), (FULL, data.frame.assign(**{column: SUPPRESSED}))):
            rows.append({"method": name, "precision": _precision(data, frame, column, asked.seed)})
    measure = partial(_measured, data, asked, queries)
    found, failures = measure_releases(data, column_names(asked.methods), asked.ks, measure)
    not_reached = [[method, k, error.what] for method, k, error in failures]
    return RELEASES.outcome(pd.DataFrame([*rows, *found]).astype({"k": "Int64"}), not_reached=not_reached)


RELEASES = Form(
    "Anonymized tables",
    tables_sections,
    lambda frame, _: plot_tables(frame),
    "Loss and errors of queries over k, a line a method",
)
