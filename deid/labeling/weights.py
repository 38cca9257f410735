"""Weights of linear models of label sequences as plain arrays, and how to read them from CRFsuite's binary file.

That file (``lCRF``, version 100) holds a header of twelve 32-bit words, the features as (type, source, destination,
64-bit weight), and two string tables (CQDB) for labels and attributes. Weights are read from it rather than from
CRFsuite's text dump, which rounds to six decimals.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from deid.errors import ModelError

__all__ = ["Weights", "parse_crfsuite"]

_HEADER = struct.Struct("<4sI4sIIIIIIIII")
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1


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


def parse_crfsuite(data: bytes) -> Weights:
    """Read the weights from the bytes of a CRFsuite model file.

    Raises
    ------
    ModelError
        When the bytes are no complete CRFsuite model.
    """
    try:
        return _parse(data)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError):
        raise ModelError("the file with the weights is no complete CRFsuite model", "train the model again") from None


def _parse(data: bytes) -> Weights:
    magic, _, kind, _, _, _, _, off_features, off_labels, off_attributes, _, _ = _HEADER.unpack_from(data)
    if magic != b"lCRF" or kind != b"FOMC":
        raise ValueError
    labels = _strings(data, off_labels)
    attributes = _strings(data, off_attributes)
    chunk, _, count = struct.unpack_from("<4sII", data, off_features)
    if chunk != b"FEAT":
        raise ValueError
    features = np.frombuffer(data, dtype=_FEATURE, count=count, offset=off_features + 12)
    state = np.zeros((len(attributes), len(labels)))
    transition = np.zeros((len(labels), len(labels)))
    is_state = features["type"] == _STATE
    of_state, of_transition = features[is_state], features[features["type"] == _TRANSITION]
    state[of_state["source"], of_state["target"]] = of_state["weight"]
    transition[of_transition["source"], of_transition["target"]] = of_transition["weight"]
    rows = {name: i for i, name in enumerate(attributes)}
    return Weights(tuple(labels), rows, state, transition, np.zeros(len(labels)))


def _strings(data: bytes, offset: int) -> list[str]:
    """Read the strings of a CQDB table in the order of their ids."""
    chunk, _, _, _, count, backward = struct.unpack_from("<4sIIIII", data, offset)
    if chunk != b"CQDB":
        raise ValueError
    places = np.frombuffer(data, dtype="<u4", count=count, offset=offset + backward) + offset
    strings = []
    for place in places.tolist():
        (size,) = struct.unpack_from("<I", data, place + 4)
        strings.append(data[place + 8 : place + 8 + size - 1].decode("utf-8"))
    return strings
