"""CRFsuite's binary model file, read and written: a model that we train can be used by CRFsuite itself.

The file (``lCRF``, version 100) holds a header of twelve 32-bit words, the features as (type, source, destination,
64-bit weight), two string tables (CQDB: Jenkins's lookup3 hash, 256 tables with linear probing, and an array from ids
back to strings) for labels and attributes, and for each label and attribute the list of its features. Weights are read
from it rather than from CRFsuite's text dump, which rounds to six decimals.

Layout: CRFsuite 0.12, ``crf1d_model.c``; CQDB 1.0, ``cqdb.c`` (N. Okazaki); hash: R. Jenkins, lookup3, 2006.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from deid.base.errors import ModelError
from deid.labeling.weights import Weights

_HEADER = struct.Struct("<4sI4sIIIIIIIII")
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1
_VERSION = 100
_CHUNK = struct.Struct("<4sII")
_TABLE_HEADER = struct.Struct("<4sIIIII")
_BYTE_ORDER = 0x62445371
_TABLES = 256


def parse_crfsuite(data: bytes) -> Weights:
    """Return the weights from the bytes of a CRFsuite model file.

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
    chunk, _, count = _CHUNK.unpack_from(data, off_features)
    if chunk != b"FEAT":
        raise ValueError
    features = np.frombuffer(data, dtype=_FEATURE, count=count, offset=off_features + _CHUNK.size)
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
    chunk, _, _, _, count, backward = _TABLE_HEADER.unpack_from(data, offset)
    if chunk != b"CQDB":
        raise ValueError
    places = np.frombuffer(data, dtype="<u4", count=count, offset=offset + backward).astype(np.int64) + offset
    raw = np.frombuffer(data, dtype=np.uint8)
    sizes = raw[places[:, None] + np.arange(4, 8)].view("<u4").ravel().astype(np.int64)
    if sizes.sum() > len(data):
        raise ValueError
    # each is its characters and NUL; all are gathered in one go
    ends = np.cumsum(sizes)
    joined = raw[np.repeat(places + 8 - (ends - sizes), sizes) + np.arange(sizes.sum())].tobytes().decode("utf-8")
    strings = joined.split("\0")
    if len(strings) != count + 1:
        raise ValueError
    return strings[:-1]


def pack_crfsuite(weights: Weights) -> bytes:
    """Return ``weights`` as the bytes of a CRFsuite model file; weights of 0 are left out.

    The order of the labels, which breaks ties in decoding, is kept. CRFsuite knows no `Weights.prior`; it must be 0.
    """
    assert not weights.prior.any()
    names = list(weights.attributes)
    rows = np.fromiter(weights.attributes.values(), dtype=np.int64, count=len(names))
    used = np.flatnonzero(weights.state[rows].any(axis=1))
    source, target = np.nonzero(weights.state[rows[used]])
    before, after = np.nonzero(weights.transition)
    features = np.empty(len(source) + len(before), dtype=_FEATURE)
    features["type"] = np.repeat([_STATE, _TRANSITION], [len(source), len(before)])
    features["source"] = np.concatenate([source, before])
    features["target"] = np.concatenate([target, after])
    features["weight"] = np.concatenate([weights.state[rows[used]][source, target], weights.transition[before, after]])
    kept = [names[i] for i in used.tolist()]
    labels = list(weights.labels)

    parts: list[bytes] = []
    size = _HEADER.size

    def add(part: bytes) -> int:
        nonlocal size
        start = size
        parts.append(part)
        size += len(part)
        return start

    raw = features.tobytes()
    off_features = add(_CHUNK.pack(b"FEAT", _CHUNK.size + len(raw), len(features)) + raw)
    off_labels = add(_table(labels))
    off_attributes = add(_table(kept))
    off_label_refs = add(_references(b"LFRF", before, len(source), len(labels), size))
    off_attribute_refs = add(_references(b"AFRF", source, 0, len(kept), size))
    header = _HEADER.pack(
        b"lCRF", size, b"FOMC", _VERSION, len(features), len(labels), len(kept),
        off_features, off_labels, off_attributes, off_label_refs, off_attribute_refs,
    )  # fmt: skip
    return header + b"".join(parts)


def _references(chunk: bytes, sources: np.ndarray, first: int, count: int, start: int) -> bytes:
    """For each of ``count`` sources (increasing) list its features, which are numbered from ``first``.

    Offsets are counted from the beginning of the file, where this part begins at ``start``.
    """
    sizes = np.bincount(sources, minlength=count)
    # a list is its length and its features' numbers
    ends = np.cumsum(sizes + 1)
    offsets = start + _CHUNK.size + 4 * count + 4 * (ends - sizes - 1)
    lists = np.empty(int(ends[-1]) if count else 0, dtype="<u4")
    heads = ends - sizes - 1
    lists[heads] = sizes
    rest = np.ones(len(lists), dtype=bool)
    rest[heads] = False
    lists[rest] = first + np.arange(len(sources))
    body = offsets.astype("<u4").tobytes() + lists.tobytes()
    return _CHUNK.pack(chunk, _CHUNK.size + len(body), count) + body


def _table(strings: Sequence[str]) -> bytes:
    """Write a CQDB table: string -> its index, and back."""
    keys = [s.encode("utf-8") + b"\0" for s in strings]
    lengths = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
    ends = np.cumsum(lengths + 8)
    data_begin = _TABLE_HEADER.size + 8 * _TABLES
    places = data_begin + ends - (lengths + 8)
    records = b"".join(struct.pack("<II", i, len(key)) + key for i, key in enumerate(keys))
    hashes = _lookup3(keys, lengths)
    directory, tables = [], []
    at = data_begin + len(records)
    for number in range(_TABLES):
        members = np.flatnonzero(hashes % _TABLES == number)
        buckets = np.zeros((2 * len(members), 2), dtype="<u4")
        # offset 0 marks a free bucket
        for value, place in zip(hashes[members].tolist(), places[members].tolist(), strict=True):
            bucket = (value >> 8) % len(buckets)
            while buckets[bucket, 1]:
                bucket = (bucket + 1) % len(buckets)
            buckets[bucket] = value, place
        directory.append((at if len(members) else 0, len(buckets)))
        tables.append(buckets.tobytes())
        at += len(tables[-1])
    size = at + 4 * len(keys)
    header = _TABLE_HEADER.pack(b"CQDB", size, 0, _BYTE_ORDER, len(keys), at)
    return b"".join(
        [header, np.array(directory, dtype="<u4").tobytes(), records, *tables, places.astype("<u4").tobytes()]
    )


def _lookup3(keys: Sequence[bytes], lengths: np.ndarray) -> np.ndarray:
    """Hash byte strings, none of them empty, with Jenkins's ``hashlittle`` and initial value 0; uint32.

    All keys go step by step together; a key that is through keeps its state.
    """
    rounds = (lengths + 11) // 12
    width = int(rounds.max()) if len(keys) else 0
    padded = np.zeros((len(keys), 12 * width), dtype=np.uint8)
    flat = np.frombuffer(b"".join(keys), dtype=np.uint8)
    row = np.repeat(np.arange(len(keys)), lengths)
    padded[row, np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)] = flat
    words = padded.view("<u4")
    state = np.tile((0xDEADBEEF + lengths).astype(np.uint32), (3, 1))
    for step in range(width):
        live = np.flatnonzero(rounds > step)
        a, b, c = state[:, live] + words[live, 3 * step : 3 * step + 3].T
        last = rounds[live] == step + 1
        state[:, live] = np.where(last, _final(a, b, c), _mix(a, b, c))
    return state[2]


def _turn(x: np.ndarray, bits: int) -> np.ndarray:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _mix(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    for bits in (4, 6, 8, 16, 19, 4):
        # a, b and c change roles at each step
        a = (a - c) ^ _turn(c, bits)
        c = c + b
        a, b, c = b, c, a
    return a, b, c


def _final(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _turn(b, bits)
        a, b, c = b, c, a
    return c, a, b
