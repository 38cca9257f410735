"""How far apart two laws are, told by what was drawn of them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from scipy.stats import beta


def upper_log_ratio(first: Counter[Any], second: Counter[Any], size: int, level: float = 0.001) -> float:
    """Return a lower confidence bound for the greatest log ratio of two output distributions over their outcomes."""
    outcomes = set(first) | set(second)
    share = level / (4 * len(outcomes))
    worst = -math.inf
    for one, other in ((first, second), (second, first)):
        for outcome in outcomes:
            low = beta.ppf(share, one[outcome], size - one[outcome] + 1) if one[outcome] else 0.0
            high = beta.ppf(1 - share, other[outcome] + 1, size - other[outcome])
            worst = max(worst, math.log(low / high) if low > 0 else -math.inf)
    return worst
