"""Keyed filters of records: equal ones are equal, keys matter, hardening does what it says, nothing is plain text."""

from __future__ import annotations

import base64
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.base.keys import Key
from deid.experiments.mentions import make_mentions
from deid.linkage import encodings
from deid.linkage.encodings import Encoding, dice, encode, encoded_table, match, q_grams, read_encoded

KEY, OTHER = Key(b"a" * 32), Key(b"b" * 32)
FIELDS: dict[str, Any] = {"text": (("first", 10), ("last", 10)), "date": (("birth_date", 10),)}
HARDENED = [
    Encoding(**FIELDS, fold=fold, balance=balance, salt=salt)
    for fold, balance, salt in product((0, 1, 2), (False, True), (None, "birth_date"))
]
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "first": st.text("abcdeé' ", max_size=8),
            "last": st.text("abcdexyz-", min_size=1, max_size=8),
            "birth_date": st.dates().map(str) | st.just(""),
        }
    ),
    min_size=1,
    max_size=5,
)


def _ones(filters: np.ndarray) -> np.ndarray:
    return np.unpackbits(filters, axis=1).sum(axis=1)


@pytest.fixture(scope="module")
def persons() -> pd.DataFrame:
    return make_mentions(400, seed=5)


@settings(max_examples=30)
@given(RECORDS, st.sampled_from(HARDENED))
def test_equal_records_have_equal_filters_of_the_stated_length(records: list[dict[str, str]], how: Encoding) -> None:
    frame = pd.DataFrame(records)
    frame.loc[0, "birth_date"] = frame.loc[0, "birth_date"] or "1950-01-02"
    frame.loc[0, "first"] = "anna"
    filters = encode(frame, how, KEY)
    assert filters.shape == (len(frame), how.length // 8)
    written = frame.assign(first=frame["first"].str.upper().str.replace("É", "E"), last=" " + frame["last"])
    assert np.array_equal(filters, encode(written, how, KEY))
    assert np.array_equal(encode(frame.iloc[::-1], how, KEY), filters[::-1])
    assert np.array_equal(dice(filters, filters), (_ones(filters) > 0).astype(float))
    if how.balance:
        assert set(_ones(filters)) == {how.length // 2}


def test_a_plain_filter_is_the_bits_of_its_q_grams(persons: pd.DataFrame) -> None:
    how = Encoding((("last", 3),), bits=256)
    for row, name in zip(encode(persons, how, KEY), persons["last"], strict=True):
        grams = q_grams(encodings.normalized(name), 2)
        bits = {p for gram in grams for p in encodings._positions(KEY.derive("clk"), 3, 256, "last", "", gram)}
        assert set(np.flatnonzero(np.unpackbits(row)).tolist()) == bits


def test_folding_joins_the_halves_and_halves_the_length(persons: pd.DataFrame) -> None:
    plain, folded = (np.unpackbits(encode(persons, Encoding(**FIELDS, fold=n), KEY), axis=1) for n in (0, 1))
    assert folded.shape[1] * 2 == plain.shape[1]
    assert np.array_equal(folded, plain[:, :512] ^ plain[:, 512:])


@pytest.mark.parametrize("how", HARDENED)
def test_filters_of_another_secret_are_as_far_as_those_of_strangers(how: Encoding, persons: pd.DataFrame) -> None:
    persons = persons[persons["birth_date"].notna()]
    mine, others = encode(persons, how, KEY), encode(persons, how, OTHER)
    between = dice(mine, others).mean()
    ones = np.unpackbits(mine, axis=1).mean()
    assert abs(between - ones) < 0.06
    assert how.name(KEY) != how.name(OTHER)


def test_a_salt_makes_one_name_unlike_itself_in_another_year() -> None:
    frame = pd.DataFrame({"last": ["Miller"] * 3, "born": ["1950-01-01", "1950-09-30", "1951-01-01"]})
    filters = encode(frame, Encoding((("last", 10),), salt="born"), KEY)
    assert dice(filters[:1], filters[1:2]) == 1
    assert dice(filters[:1], filters[2:]) < 0.3


def test_slips_leave_filters_alike_and_missing_values_set_no_bits() -> None:
    frame = pd.DataFrame({"last": ["Robertson", "Robertsen", "Zykla", None], "first": ["Ann"] * 3 + [None]})
    how = Encoding((("first", 10), ("last", 10)))
    filters = encode(frame, how, KEY)
    near, far = dice(filters[[0, 0]], filters[[1, 2]])
    assert near > 0.8 > 0.6 > far
    assert not filters[3].any()
    assert dice(filters[3:], filters[3:]) == 0
    assert 3 not in match(filters, filters, 0.01)[0]


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 1), st.booleans())
def test_matches_are_all_pairs_that_brute_force_finds(seed: int, threshold: float, one_to_one: bool) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 256, (rng.integers(0, 12), 8), dtype=np.uint8) & rng.integers(0, 256, 8, dtype=np.uint8)
    b = np.concatenate([a[::2] ^ 1, rng.integers(0, 256, (3, 8), dtype=np.uint8)])

    def share(one: np.ndarray, two: np.ndarray) -> float:
        x, y = ({*np.flatnonzero(np.unpackbits(side)).tolist()} for side in (one, two))
        return 2 * len(x & y) / (len(x) + len(y)) if x or y else 0.0

    every = sorted((-share(x, y), i, j) for i, x in enumerate(a) for j, y in enumerate(b) if share(x, y) >= threshold)
    if one_to_one:
        kept: list[tuple[float, int, int]] = []
        for pair in every:
            if all(pair[1] != p[1] and pair[2] != p[2] for p in kept):
                kept.append(pair)
        every = kept
    rows_a, rows_b, scores = match(a, b, threshold, one_to_one=one_to_one)
    assert list(zip((-scores).tolist(), rows_a.tolist(), rows_b.tolist(), strict=True)) == every


def test_blocks_find_nearly_all_and_nothing_else(persons: pd.DataFrame) -> None:
    filters = encode(persons, Encoding(**FIELDS), KEY)
    every, blocked = (set(zip(*match(filters, filters, 0.8, tables=n)[:2], strict=True)) for n in (0, 60))
    assert blocked <= every
    assert len(blocked) > 0.97 * len(every)


def test_too_many_pairs_are_refused_with_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    filters = np.full((30, 8), 255, dtype=np.uint8)
    monkeypatch.setattr(encodings, "PAIR_BUDGET", 899)
    with pytest.raises(ConfigError, match="30 x 30 filters are more than 899 pairs"):
        match(filters, filters, 0.9)
    with pytest.raises(ConfigError, match="too many pairs"):
        match(filters, filters, 0.9, tables=5)
    monkeypatch.setattr(encodings, "PAIR_BUDGET", 900)
    monkeypatch.setattr(encodings, "MOST_FOUND", 899)
    with pytest.raises(ConfigError, match="more than 899 pairs are alike"):
        match(filters, filters, 0.9)


@pytest.mark.parametrize("how", HARDENED)
def test_a_table_of_filters_reads_back_and_holds_nothing_of_the_records(how: Encoding, persons: pd.DataFrame) -> None:
    table, ids = encoded_table(persons, how, KEY)
    assert table.equals(encoded_table(persons, how, KEY)[0])
    name, read, filters = read_encoded(table, "t.csv")
    assert name == how.name(KEY)
    assert read == sorted(ids)
    again = dict(zip(read, filters, strict=True))
    assert np.array_equal(np.stack([again[one] for one in ids]), encode(persons, how, KEY))
    raw = table.to_csv(index=False) + "".join(base64.b64decode(text).decode("latin-1") for text in table[name])
    values = {str(value).lower() for column in persons for value in persons[column].dropna() if len(value) > 6}
    assert not [value for value in values if value in raw.lower()]
    # neither pseudonyms nor their order tell the order of the table, nor do two tables share them
    assert abs(np.corrcoef(np.arange(len(ids)), ids.rank())[0, 1]) < 0.2
    assert not set(ids) & set(encoded_table(persons.iloc[1:], how, KEY)[1])


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"text": ()}, "name each column"),
        ({"text": (("a", 10),), "date": (("a", 10),)}, "name each column"),
        ({"bits": 1000}, "1000 bits"),
        ({"bits": 64, "fold": 1}, "1 folds of 64 bits"),
        ({"q": 0}, "q-grams of 0"),
        ({"text": (("a", 0),)}, "1 to 100 bits"),
    ],
)
def test_impossible_encodings_are_refused(how: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Encoding(**{"text": (("last", 10),), **how})


def test_what_cannot_be_encoded_is_named_without_its_value() -> None:
    frame = pd.DataFrame({"last": ["Smith", "Jones"], "born": ["1950-01-02", "01/02/1950"], "none": [None, ""]})
    with pytest.raises(InputError, match="'born': 1 values are no dates, the first in row 2") as error:
        encode(frame, Encoding(date=(("born", 10),)), KEY)
    assert "01/02" not in str(error.value)
    with pytest.raises(InputError, match="'none' is empty"):
        encode(frame, Encoding((("none", 10),)), KEY)
    with pytest.raises(ConfigError, match="no column 'zip'"):
        encode(frame, Encoding((("zip", 10),)), KEY)


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        ({"id": ["1"], "last": ["Smith"]}, "no columns id and clk"),
        ({"id": ["1", "1"], "clk-64-0123456789abcdef": ["AAAAAAAAAAA="] * 2}, "ids repeat"),
        ({"id": ["1"], "clk-64-0123456789abcdef": ["AAAA"]}, "row 1 holds no filter"),
        ({"id": ["1"], "clk-64-0123456789abcdef": ["Sm%th"]}, "row 1 holds no filter"),
    ],
)
def test_what_is_no_table_of_filters_is_refused(frame: dict[str, list[str]], told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_encoded(pd.DataFrame(frame), "t.csv")
