"""How well ways of linking find the persons of made-up mentions, by size of the table and by threshold."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.base.nearest import nearest
from deid.base.options import column_names
from deid.base.reports import Section
from deid.experiments.asking import LinkageRuns
from deid.experiments.mentions import Rates, make_mentions
from deid.experiments.outcome import Form, Outcome
from deid.linkage.linking import LinkOptions, link_table
from deid.linkage.measures import MEASURES, score_clusters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("record-number", "exact", "model")
"""Ways of linking."""


def _clusterings(
    method: str, frame: pd.DataFrame, thresholds: Sequence[float], threads: int
) -> Iterator[tuple[float | None, Sequence[str]]]:
    """Yield thresholds and persons; a model is learnt at the first threshold and used at the others."""
    told = frame.drop(columns="mention")
    if method == "record-number":
        yield None, (frame["authority"] + " " + frame["record_number"]).fillna(frame["mention"]).tolist()
    elif method == "exact":
        yield None, link_table(told, LinkOptions(method="exact")).person
    else:
        model = None
        for threshold in thresholds:
            linked = link_table(told, LinkOptions(threshold=threshold), model=model, threads=threads)
            model = linked.model
            yield threshold, linked.person


def linkage_outcome(asked: LinkageRuns, *, threads: int = 1) -> Outcome:
    """Make mentions, link them by each method, and score what comes out.

    Raises
    ------
    ConfigError
        When there is no such method or rate.
    """
    methods, known = column_names(asked.methods), [one.name for one in fields(Rates)]
    if unknown := [name for name in methods if name not in METHODS]:
        raise ConfigError(f"no way of linking is called {unknown[0]!r}", f"known: {', '.join(METHODS)}")
    if unknown := [name for name, _ in asked.rates if name not in known]:
        raise ConfigError(f"there is no rate {unknown[0]!r}", nearest(unknown[0], known))
    rows, rates = [], Rates(**dict(asked.rates))
    for size in asked.sizes:
        for run in range(asked.seed, asked.seed + asked.runs):
            frame = make_mentions(size, rates, run)
            truth = frame.pop("person")
            for method in methods:
                began = time.process_time()
                for threshold, found in _clusterings(method, frame, asked.thresholds, threads):
                    seconds = time.process_time() - began
                    scores = score_clusters(truth, found, resamples=asked.resamples, seed=run)
                    place = {"method": method, "threshold": threshold, "size": size, "seed": run}
                    rows.append({**place, **scores.as_dict(), "cpu_seconds": round(seconds, 2)})
                    began = time.process_time()
    table = pd.DataFrame(rows)
    settings = {"rates": vars(rates), "resamples": asked.resamples, "seed": asked.seed, "runs": asked.runs}
    return LINKED.outcome(table, settings=settings)


def linkage_section(table: pd.DataFrame) -> Section:
    """Return the scores of each method, threshold and table of mentions as a section."""

    def line(row: Mapping[Hashable, Any]) -> tuple[str, ...]:
        interval = f" [{row['f1_low']:.3f}, {row['f1_high']:.3f}]" if "f1_low" in row else ""
        measures = [f"{row[name]:.4f}" for name in MEASURES]
        return (
            str(row["method"]), "" if pd.isna(row["threshold"]) else f"{row['threshold']:g}", f"{row['size']}",
            f"{row['seed']}", *measures[:2], measures[2] + interval, *measures[3:], f"{row['persons']}",
            f"{row['clusters']}", f"{row['over_merged']}", f"{row['cpu_seconds']:.1f}",
        )  # fmt: skip

    titles = ("P", "R", "F1", "B3 P", "B3 R", "B3 F1")
    return Section(
        "Linkage of made-up mentions",
        ("method", "threshold", "mentions", "seed", *titles, "persons", "clusters", "over-merged", "CPU s"),
        [line(row) for row in table.to_dict("records")],
        "P, R, F1: pairs of mentions; 95 % intervals by bootstrap over persons. B3: B-cubed, over mentions. "
        "Over-merged: clusters with several persons.",
    )


def plot_linkage(table: pd.DataFrame) -> Figure:
    """Return a plot of precision over recall of pairs: a line a method and size, a point a threshold."""
    from deid.base.plots import COLOURS, new_figure

    figure, axes = new_figure(6, 4, grid=True)
    means = table.groupby(["method", "size", "threshold"], sort=False, dropna=False)[["recall", "precision"]].mean()
    groups = means.groupby(level=["method", "size"], sort=False)
    for colour, ((method, size), points) in zip([*COLOURS] * len(groups), groups, strict=False):
        axes.plot(points["recall"], points["precision"], "o-", color=colour, label=f"{method}, {size} mentions")
    axes.set(xlabel="recall of pairs", ylabel="precision of pairs")
    axes.legend()
    return figure


LINKED = Form(
    "Linkage of made-up mentions",
    lambda frame, _: [linkage_section(frame)],
    lambda frame, _: plot_linkage(frame),
    "Precision over recall of pairs, a line a method and a point a threshold",
)
