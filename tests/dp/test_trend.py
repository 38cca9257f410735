"""Slopes of the source."""

from __future__ import annotations

import numpy as np
import pytest

from deid.base.errors import ConfigError
from deid.dp.trend import average_slope, regression_slope


def test_average_slope_divides_by_n_minus_one() -> None:
    """36 years that fall by 3,066 have the slope -87.6, by 2,857 -81.63."""
    years = np.arange(1973, 2009)
    between = np.random.default_rng(0).normal(size=36) * 100
    for fall, slope in ((3066, -87.6), (2857, -81.63)):
        counts = 5000 + between
        counts[0], counts[-1] = 9000, 9000 - fall
        assert average_slope(years, counts) == pytest.approx(slope, abs=0.005)


def test_average_slope_of_points_apart() -> None:
    """By 2 in one step, by 6 in two: slopes of 2 and 3."""
    assert average_slope([0, 1, 3], [0, 2, 8]) == 2.5


def test_regression_slope() -> None:
    x = np.array([0.0, 1, 2, 5])
    assert regression_slope(x, 3 - 2 * x) == pytest.approx(-2)
    assert regression_slope(x, [1, 5, 2, 8]) == pytest.approx(np.polyfit(x, [1, 5, 2, 8], 1)[0])


def test_no_trend_in_one_point() -> None:
    for x, y in (([1], [2]), ([1, 1], [2, 3]), ([1, 2], [1])):
        with pytest.raises(ConfigError):
            average_slope(x, y)
