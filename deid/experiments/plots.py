"""Plots of experiments."""

from __future__ import annotations

from typing import Any

from deid.base.late import pd
from deid.base.plots import COLOURS, Figure, new_figure
from deid.experiments.hips import ATTACKS
from deid.experiments.learning import STARTS
from deid.experiments.sampling import CURVES

# Okabe and Ito's colours, which colour-blind readers tell apart
_STYLES = {
    "full": ("#000000", "*"),
    "dial": ("#0072b2", "o"),
    "window": ("#d55e00", "s"),
    "o-sampling": ("#009e73", "^"),
    "naive-bayes": ("#999999", "x"),
    "rejection": ("#cc79a7", "D"),
}

_ATTACK_COLOURS = {
    "chance": "#000000",
    "rarity": "#d55e00",
    "program": "#cc79a7",
    "parrot": "#0072b2",
    "parrot-rarity": "#009e73",
}


def plot_subsets(frame: pd.DataFrame) -> Figure:
    """Return a plot of F1 of feature subsets (`compare_subsets`).

    A dot is a fold, a bar the mean, a star marks p < .05.
    """
    figure, axes = new_figure(7, 0.6 + 0.33 * len(frame))
    folds = [name for name in frame.columns if name.startswith("fold_")]
    for y, row in enumerate(frame.to_dict("records")):
        axes.plot([row[fold] for fold in folds], [y] * len(folds), ".", color="#0072b2", alpha=0.5)
        axes.plot([row["mean"]], [y], "|", color="#000000", markersize=14)
        if row["p"] < 0.05:
            axes.annotate("*", (row["mean"], y), xytext=(0, 3), textcoords="offset points")
    axes.set_yticks(range(len(frame)), frame["features"].tolist())
    axes.invert_yaxis()
    axes.set_xlabel("F1 in each fold (dots) and mean (bar); * differs from all groups, p < .05")
    axes.grid(axis="x", alpha=0.3)
    return figure


def plot_sampling(frame: pd.DataFrame) -> Figure:
    """Return a plot of sampling curves (`sampling_curves`).

    Precision over recall of PHI words; strict F1 over CPU seconds of training; both samplings over the share of the
    tokens kept, recall as lines and precision dotted; CPU seconds over the window.
    """
    figure, (left, right, kept, cost) = new_figure(20, 4.6, 4, grid=True)
    for curve, title in CURVES.items():
        points = frame[frame["curve"] == curve]
        if not points.empty:
            _draw(left, points, curve, title, "phi_recall", "phi_precision")
            _draw(right, points, curve, title, "train_cpu_seconds", "strict_f1")
    left.set(xlabel="recall of PHI words", ylabel="precision of PHI words")
    right.set(xlabel="CPU seconds of training", ylabel="strict F1")
    for curve in ("window", "o-sampling"):
        points, (colour, marker) = frame[frame["curve"] == curve].sort_values("tokens_kept"), _STYLES[curve]
        share = points["tokens_kept"].to_numpy()
        kept.plot(share, points["phi_recall"].to_numpy(), "-", marker=marker, color=colour, label=CURVES[curve])
        kept.plot(share, points["phi_precision"].to_numpy(), ":", marker=marker, color=colour)
    windows = frame[frame["curve"] == "window"].sort_values("value")
    cost.plot(windows["value"].to_numpy(), windows["train_cpu_seconds"].to_numpy(), "-s", color=_STYLES["window"][0])
    kept.set(xlabel="share of the tokens kept", ylabel="recall (lines), precision (dotted) of PHI words")
    cost.set(xlabel="window k", ylabel="CPU seconds of training")
    left.legend(loc="lower left", fontsize="small")
    return figure


def plot_hips(curve: pd.DataFrame) -> Figure:
    """Return a plot of the curve of `deid.experiments.hips.hips`: leaks met over identifiers examined, as shares."""
    figure, axes = new_figure(6, 4.6, grid=True)
    for (name, colour), style in zip(_ATTACK_COLOURS.items(), (":", "-", "-", "--", "-."), strict=True):
        axes.plot(curve["examined"].to_numpy(), curve[name].to_numpy(), style, color=colour, label=ATTACKS[name])
    axes.plot([0, 0, 1], [0, 1, 1], color="#999999", linewidth=0.8, label="redaction")
    axes.set(xlabel="share of identifiers examined, most suspicious first", ylabel="share of missed identifiers met")
    axes.legend(loc="lower right", fontsize="small")
    return figure


def plot_learning(frame: pd.DataFrame) -> Figure:
    """Return a plot of a learning curve (`learning_curve`): strict F1 and recall of PHI words over documents."""
    figure, both = new_figure(11, 4.6, 2, grid=True)
    for axes, measure, title in zip(
        both, ("strict_f1", "phi_recall"), ("strict F1", "recall of PHI words"), strict=True
    ):
        for (start, name), colour in zip(STARTS.items(), COLOURS, strict=False):
            points = frame[frame["start"] == start]
            if points.empty:
                continue
            trained = points[points["documents"] > 0].groupby("documents")[measure]
            low, mean, high = trained.min(), trained.mean(), trained.max()
            axes.plot(mean.index.to_numpy(), mean.to_numpy(), "-o", color=colour, label=name)
            axes.fill_between(mean.index.to_numpy(), low.to_numpy(), high.to_numpy(), color=colour, alpha=0.15)
            alone = points[points["documents"] == 0][measure]
            if not alone.empty:
                axes.axhline(alone.mean(), linestyle=":", color=colour, label="the model alone")
        axes.set(xscale="log", xlabel="documents trained on", ylabel=title)
        axes.legend(loc="lower right", fontsize="small")
    return figure


def plot_active_learning(frame: pd.DataFrame) -> Figure:
    """Return a plot of simulations (`active_learning`): strict F1 over annotated notes, and over their words.

    A thin line is a simulation, a thick one the mean where all of a queue go on.
    """
    figure, both = new_figure(11, 4.6, 2, grid=True)
    for axes, what, title in zip(both, ("documents", "words"), ("notes", "words of notes"), strict=True):
        for (queue, points), colour in zip(frame.groupby("queue", sort=False), COLOURS, strict=False):
            for _, own in points.groupby("seed"):
                axes.plot(own[what].to_numpy(), own["strict_f1"].to_numpy(), color=colour, alpha=0.25, linewidth=0.8)
            groups = points.groupby("documents")
            means = groups[[what, "strict_f1"]].mean() if what == "words" else groups["strict_f1"].mean().reset_index()
            whole = (groups.size() == points["seed"].nunique()).to_numpy()
            axes.plot(
                means[what].to_numpy()[whole], means["strict_f1"].to_numpy()[whole], color=colour, label=str(queue)
            )
        axes.set(xlabel=f"{title} annotated", ylabel="strict F1")
        axes.legend(loc="lower right", fontsize="small")
    return figure


def _draw(axes: Any, points: pd.DataFrame, curve: str, title: str, x: str, y: str) -> None:
    colour, marker = _STYLES[curve]
    ordered = points.sort_values("value")
    line = "-" if len(ordered) > 1 else ""
    axes.plot(ordered[x].to_numpy(), ordered[y].to_numpy(), line, marker=marker, color=colour, label=title)
    for row in ordered.to_dict("records"):
        if row["value"] == row["value"]:  # not NaN
            axes.annotate(f"{row['value']:g}", (row[x], row[y]), xytext=(4, 4), textcoords="offset points", fontsize=8)
