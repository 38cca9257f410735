"""Test noise that keeps what enters it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from deid.dp.noise import SeededNoise


class RecordingNoise(SeededNoise):
    """Keeps which law was asked for, the values, their sensitivity, and what was spent."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.entered: list[tuple[str, npt.NDArray[np.float64], float, float]] = []

    def discrete_laplace(self, values: npt.ArrayLike, sensitivity: int, epsilon: float) -> Any:
        self.entered.append(("discrete", np.array(values, float), sensitivity, epsilon))
        return super().discrete_laplace(values, sensitivity, epsilon)

    def choose(self, scores: npt.ArrayLike, sensitivity: float, epsilon: float) -> int:
        self.entered.append(("choose", np.array(scores, float), sensitivity, epsilon))
        return super().choose(scores, sensitivity, epsilon)

    def laplace(self, values: npt.ArrayLike, scale: float) -> Any:
        self.entered.append(("laplace", np.array(values, float), scale, 0.0))
        return super().laplace(values, scale)
