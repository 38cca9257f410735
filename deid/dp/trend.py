"""Trends of released counts: the source's average slope, and the least squares slope."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deid.base.arrays import FloatArray
from deid.base.errors import ConfigError


def _checked(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    if xs.shape != ys.shape or xs.ndim != 1 or len(xs) < 2 or not (np.diff(xs) > 0).all():
        raise ConfigError("a trend needs two points or more, at ascending places", "take an ordered column")
    return xs, ys


def average_slope(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the mean of the slopes between neighbouring points (Gardner 2012, section 5.4; divisor n - 1).

    At equal steps it is (last - first) / (n - 1): all points between cancel, so it says little about a method that is
    good at the ends. `regression_slope` uses all points.

    Parameters
    ----------
    x, y : float array, shape (points,)
        Places, ascending, and values.

    Raises
    ------
    ConfigError
        When there are fewer than two points, or the places do not ascend.
    """
    xs, ys = _checked(x, y)
    return float((np.diff(ys) / np.diff(xs)).mean())


def regression_slope(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the slope of the least squares line; arguments and errors as those of `average_slope`.

    Raises
    ------
    ConfigError
        When there are fewer than two points, or the places do not ascend.
    """
    xs, ys = _checked(x, y)
    xs = xs - xs.mean()
    return float(xs @ ys / (xs @ xs))
