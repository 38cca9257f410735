"""DiffGen: groups cover the cube, and specializations go where rows are uneven."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.dp.diffgen import diffgen
from deid.dp.noise import SeededNoise


@settings(max_examples=20)
@given(st.integers(0, 999), st.integers(1, 12))
def test_groups_are_a_grid_over_the_cube(seed: int, rounds: int) -> None:
    points = np.random.default_rng(seed).integers(0, [6, 2, 9], (200, 3))
    boxes = diffgen(points, (6, 2, 9), 1.0, SeededNoise(seed), rounds=rounds)
    seen = np.zeros((6, 2, 9), int)
    for low, high in zip(boxes.lows, boxes.highs, strict=True):
        seen[tuple(map(slice, low, high))] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("most", [1, 15, 16, 17, 10_000])
def test_groups_are_halved_until_there_would_be_too_many(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Many are twice as many as there are, however few another halving adds."""
    monkeypatch.setattr("deid.dp.diffgen._MAX_GROUPS", most)
    points = np.random.default_rng(0).integers(0, [64, 1], (200, 2))
    boxes = diffgen(points, (64, 1), 40.0, SeededNoise(0), rounds=90)
    assert len(boxes.lows) == min(most // 2 + 1, 64)


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_a_halving_scores_how_far_rows_are_from_their_share_of_the_cells(counts: list[int]) -> None:
    seen = []

    class Watching(SeededNoise):
        def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
            seen.append(list(np.asarray(scores)))
            return 0

    points = np.repeat(np.arange(4), counts)[:, None]
    diffgen(points, (4,), 1.0, Watching(0), rounds=3)
    assert seen[0] == [pytest.approx(abs(sum(counts[:2]) - sum(counts) / 2))]
    assert seen[1] == pytest.approx([abs(a - (a + b) / 2) for a, b in (counts[:2], counts[2:])])
    diffgen(points % 3, (3,), 1.0, Watching(0), rounds=1)
    assert seen[-1] == [pytest.approx(abs(counts[0] + counts[3] - sum(counts) / 3))]


def test_columns_that_are_even_are_not_cut() -> None:
    uneven = np.repeat([3, 12], [4000, 200])
    points = np.stack([uneven, np.arange(4200) % 8], axis=1)
    boxes = diffgen(points, (16, 8), 5.0, SeededNoise(0), rounds=4)
    assert {(int(low), int(high)) for low, high in zip(boxes.lows[:, 1], boxes.highs[:, 1], strict=True)} == {(0, 8)}
    holding = [i for i in range(len(boxes)) if boxes.lows[i, 0] <= 3 < boxes.highs[i, 0]]
    assert boxes.highs[holding[0], 0] - boxes.lows[holding[0], 0] == 1
    assert boxes.counts[holding[0]] == pytest.approx(4000, abs=10)


def test_no_rounds_are_refused() -> None:
    with pytest.raises(ConfigError):
        diffgen(np.zeros((1, 1), np.int64), (2,), 1.0, SeededNoise(0), rounds=0)
