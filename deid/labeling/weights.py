"""Weights of linear models of label sequences as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Weights:
    """Weights of a linear-chain CRF, or of a learner that labels tokens one by one (transitions zero)."""

    labels: tuple[str, ...]
    """In the order of CRFsuite's label ids, which breaks ties in decoding."""
    attributes: dict[str, int] = field(repr=False)
    """Attribute -> row of `state`."""
    state: np.ndarray = field(repr=False)
    """float64 of shape (n_attributes, n_labels)."""
    transition: np.ndarray = field(repr=False)
    """float64 of shape (n_labels, n_labels), from row to column; 0 where never seen in training, as in CRFsuite."""
    prior: np.ndarray = field(repr=False)
    """float64 of shape (n_labels,), added to every item's scores; zero for a CRF."""
