"""Time to event from a released cube: the product-limit estimate of noisy counts, with its interval. Costs nothing.

A cube over a time and whether the event happened at it holds, cell by cell of the time, how many had the event and how
many were last seen without it (censored). Who is last seen within a cell was at risk in it. With d events among n at
risk the survival falls by the factor 1 - d / n (Kaplan and Meier 1958). Counts enter as they were drawn, not as they
were made non-negative: single factors may exceed 1, and the curve is then the nearest one that never rises.

An interval covers the noise and, unless that is not wanted, that the patients are a sample (Greenwood 1926). The noise
of the logarithm of the curve is linear in that of the cells, to first order, with the weights that `_variances` holds;
both variances add up. Intervals are symmetric for log(-log S), within 0 and 1. The curve ends where fewer are at risk
than the noise could make out of nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.dp.intervals import standard_half_width
from deid.dp.models import TableModel
from deid.dp.release import CubeRelease


def survival(
    release: CubeRelease,
    time: str,
    event: str,
    happened: str,
    *,
    by: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    level: float | None = None,
    sampling: bool = True,
) -> pd.DataFrame:
    """Return survival curves.

    Parameters
    ----------
    release : CubeRelease
        Of a table measured over ``time``, ``event`` and all other columns that are named.
    time : str
        Column of the time to the event, or to when a patient was last seen; its cells have an order.
    event : str
        Column that says which of both it was.
    happened : str
        Its cells that are the event: ``A`` or ``A,B``. All others are censored.
    by : sequence of str
        Columns for whose cells there is a curve each; one curve by default.
    where : mapping of str to str, optional
        Conditions, as those of `CubeRelease.slice`.
    level : float, optional
        Level of the intervals; the release's by default.
    sampling : bool
        Whether intervals cover that the patients are a sample of others; if not, the noise alone.

    Returns
    -------
    pandas.DataFrame
        A row a cell of the time, for each curve: the columns of ``by``, the time, ``at_risk``, ``events``,
        ``survival``, ``lower``, ``upper``.

    Raises
    ------
    ConfigError
        When the release holds no such table, or the columns are not what they are said to be.
    """
    model = release.model
    if not isinstance(model, TableModel) or model.clamped:
        raise ConfigError(
            "survival needs counts that were measured", "release the slice of time and event: --slice months,death"
        )
    names = [own.name for own in release.dimensions]
    conditions = dict(where or {})
    used = [time, event, *by, *conditions]
    for name in used:
        require(name in names, f"the release has no dimension {name!r}", f"it has {', '.join(names)}")
    if len(set(used)) < len(used):
        raise ConfigError("a column is named twice", "time, event, groups and conditions are different columns")
    times, events = (release.dimensions[names.index(name)] for name in (time, event))
    if not times.ordered:
        raise ConfigError(
            f"the cells of {time!r} have no order", "declare a range, edges, or values with ordered = true"
        )
    axes = tuple(sorted((names.index(time), names.index(event))))
    asked = release.level(level)
    known = np.arange(len(events)) != events.missing
    deaths = np.isin(np.arange(len(events)), events.select(happened))
    censored = known & ~deaths
    parts = []
    groups = [release.dimensions[names.index(name)] for name in by]
    for cells in itertools.product(*(own.labels for own in groups)):
        chosen: list[IntArray | None] = [None] * len(names)
        for name, cell in [*zip(by, cells, strict=True), *conditions.items()]:
            chosen[names.index(name)] = release.dimensions[names.index(name)].select(cell)
        _, counts, variances, _ = model.moments(axes, chosen)
        variance = float(variances.flat[0])  # all cells of a slice have the same
        table = counts if axes[0] == names.index(time) else counts.T
        table = table[: len(times) - ("missing" in times.declaration)]
        curve = _curve(table[:, deaths].sum(axis=1), table[:, censored].sum(axis=1), variance, int(deaths.sum()),
                       int(censored.sum()), asked, sampling)  # fmt: skip
        curve.insert(0, time, times.labels[: len(curve)])
        for place, (own, cell) in enumerate(zip(groups, cells, strict=True)):
            curve.insert(place, own.name, cell)
        parts.append(curve)
    return release.marked(pd.concat(parts, ignore_index=True))


def _curve(
    events: FloatArray, censored: FloatArray, variance: float, of_events: int, of_censored: int, level: float,
    sampling: bool,
) -> pd.DataFrame:  # fmt: skip
    """Return a curve; ``of_events`` and ``of_censored`` say how many cells of that variance each number adds up."""
    from scipy.optimize import isotonic_regression

    at_risk = np.cumsum((events + censored)[::-1])[::-1]
    noise = np.sqrt(variance * (of_events + of_censored) * np.arange(len(events), 0, -1))
    far = standard_half_width(math.inf, level)
    lost = at_risk <= np.maximum(far * noise, 1.0)
    length = int(np.argmax(lost)) if lost.any() else len(lost)
    risk, seen = at_risk[:length], events[:length]
    rates = np.minimum(seen / risk, 1 - 1e-9)
    logs = np.cumsum(np.log1p(-rates))
    curve = np.clip(isotonic_regression(np.exp(logs), increasing=False).x, 0.0, 1.0) if length else logs
    spread = _variances(rates, risk, len(events)) @ np.array([of_events, of_censored]) * variance
    if sampling:
        shown = np.clip(rates, 0.0, None)
        spread = spread + np.cumsum(shown / (risk * (1 - shown)))
    half = far * np.sqrt(spread)
    with np.errstate(all="ignore"):
        inner = np.log(np.clip(curve, 1e-12, 1.0))
        powers = np.exp(half / np.maximum(-inner, 1e-12))
        lower = np.where(inner > -1e-9, np.exp(-half), curve**powers)
        upper = np.where(inner > -1e-9, 1.0, curve ** (1 / powers))
    return pd.DataFrame({"at_risk": risk, "events": seen + 0.0, "survival": curve, "lower": lower, "upper": upper})


def _variances(rates: FloatArray, risk: FloatArray, cells: int) -> FloatArray:
    """Return by how much the noise of single cells of a variance of 1 spreads the logarithm of the curve, to each time.

    The count of events at time i lowers the logarithm by 1 / (n_i (1 - h_i)) if the curve has come to i, and like that
    of the censored raises it by h_j / (n_j (1 - h_j)) at each time j up to i at which it was at risk.

    Returns
    -------
    float64 array, shape (times, 2)
        Sums of squared weights over the cells with the event, and without.
    """
    own = 1 / (risk * (1 - rates))
    raised = np.cumsum(rates * own)
    result = np.zeros((len(rates), 2))
    for last in range(len(rates)):
        at_risk = np.full(cells, raised[last])
        at_risk[: last + 1] = raised[: last + 1]
        with_event = at_risk.copy()
        with_event[: last + 1] -= own[: last + 1]
        result[last] = (with_event**2).sum(), (at_risk**2).sum()
    return result
