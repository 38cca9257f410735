"""What releasing longitudinal records costs, by k, method and weight of codes.

The experiments of Tamersoy et al. 2012 (table I, figures 6 to 8, appendix A) on any table of diagnoses.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping

import numpy as np

from deid.base.errors import require
from deid.base.late import pd
from deid.base.options import column_names
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, frame_section
from deid.experiments.asking import TrajectoryRuns
from deid.experiments.outcome import Form, Outcome
from deid.trajectories import Trajectories, anonymize_trajectories, check_trajectories
from deid.trajectories.measures import average_relative_error, loss_of
from deid.trajectories.publishing import DiagnosisColumns, read_diagnoses


def shape_of(data: Trajectories) -> dict[str, float]:
    """Return what table I of the paper tells of a data set.

    Returns
    -------
    dict of str to float
        ``persons``, distinct ``codes`` and ``ages`` of the whole, mean ``codes_each`` and ``ages_each`` of a person:
        pairs, and distinct ages.
    """
    ages = [len(np.unique(data.trajectory(person)[:, 1])) for person in range(len(data))]
    return {
        "persons": len(data),
        "codes": len(np.unique(data.pairs[:, 0])),
        "ages": len(np.unique(data.pairs[:, 1])),
        "codes_each": len(data.pairs) / len(data),
        "ages_each": float(np.mean(ages)),
    }


def plot_trajectories(frame: pd.DataFrame) -> Figure:
    """Return the plot of `trajectories_outcome`: losses and AvgRE over k, or over weights where there are several."""
    x, label = ("weight", "weight of codes") if frame["weight"].nunique() > 1 else ("k", "k")
    figure, (left, right) = new_figure(10, 4.2, 2, grid=True)
    for number, (key, own) in enumerate(frame.groupby(["method", "k"] if x == "weight" else ["method"], sort=False)):
        name = key[0] if x == "k" else f"{key[0]}, k = {key[1]}"
        points, colour = own[x].to_numpy(), COLOURS[1 + number % (len(COLOURS) - 1)]
        left.plot(points, own["ilm"].to_numpy(), "-o", color=colour, label=f"{name}: codes (ILM)")
        left.plot(points, own["alm"].to_numpy(), "--s", color=colour, label=f"{name}: ages (ALM)")
        right.plot(points, own["avg_re"].to_numpy(), "-o", color=colour, label=name)
    left.set(xlabel=label, ylabel="loss", ylim=(0, 1))
    right.set(xlabel=label, ylabel="AvgRE")
    for axes in (left, right):
        axes.legend(fontsize="small")
    return figure


def trajectories_sections(frame: pd.DataFrame, shape: Mapping[str, float]) -> list[Section]:
    """Return the tables of `trajectories_outcome`."""
    note = "ILM, ALM: loss of codes and of ages, exactly from what is published; estimates: as the algorithm adds up."
    return [
        frame_section("The table", pd.DataFrame([shape])),
        frame_section("Loss by method, k and weight of codes", frame, note, 4),
    ]


def trajectories_outcome(frame: pd.DataFrame, columns: DiagnosisColumns, asked: TrajectoryRuns) -> Outcome:
    """Release trajectories by every method, k and weight; every release is verified.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table of diagnoses.
    columns : DiagnosisColumns
    asked : TrajectoryRuns

    Returns
    -------
    Outcome
        Rows with ``method``, ``k``, ``weight``; ``ilm`` and ``alm`` (loss of codes and of ages, 0 to 1), their running
        estimates as the paper reports them, ``avg_re`` of the counts of combinations that 1 % of the persons have,
        ``suppressed`` (share of pairs), ``cpu_seconds``; ``shape``: see `shape_of`.

    Raises
    ------
    ConfigError, InputError
        As `anonymize_trajectories`.
    """
    data, methods = read_diagnoses(frame, columns), column_names(asked.methods)
    require(bool(asked.ks and asked.weights and methods), "nothing to compare", "name values of k, weights and methods")
    records = []
    for method, k, weight in itertools.product(methods, asked.ks, asked.weights):
        start = time.process_time()
        release = anonymize_trajectories(data, k, weight=weight, method=method, seed=asked.seed)
        seconds = time.process_time() - start
        held = check_trajectories(release.published(), k, data)[0]
        require(held, f"the release by {method} at k = {k} does not hold", "report this table's shape")
        loss = loss_of(release)
        records.append(
            {
                **{"method": method, "k": k, "weight": weight},
                **{name: getattr(loss, name) for name in ("ilm", "alm", "ilm_estimate", "alm_estimate")},
                "avg_re": average_relative_error(release)[0],
                "suppressed": loss.suppressed / max(loss.pairs, 1),
                "cpu_seconds": seconds,
            }
        )
    return LONGITUDINAL.outcome(pd.DataFrame(records), shape=shape_of(data))


LONGITUDINAL = Form(
    "Longitudinal records",
    lambda frame, values: trajectories_sections(frame, values["shape"]),
    lambda frame, _: plot_trajectories(frame),
    "Loss of codes and ages, and AvgRE, over k or weights",
)
