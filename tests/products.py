"""Which combinations of a law's axes are tried by day, and which by night."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest


def by_day(*axes: Sequence[Any]) -> list[Any]:
    """Return all combinations as parameters: by day each value of each axis is in one, the rest have the mark night."""
    longest = max(len(axis) for axis in axes)
    day = {tuple(at % len(axis) for axis in axes) for at in range(longest)}
    made = []
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        values = [axis[at] for axis, at in zip(axes, places, strict=True)]
        made.append(pytest.param(*values, marks=() if places in day else pytest.mark.night))
    return made
