"""The compiled choices equal those of hashlib's BLAKE2b."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.base.keys import Key
from deid.replacement import identifiers
from deid.replacement.identifiers import replace_code
from deid.replacement.permutation import Keyed

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not there")

TEXTS = st.text(max_size=12) | st.sampled_from(["", "\ud800", "é" * 70, "x" * 300, "\U0001f600", "a\0b"])
SCOPES = st.sampled_from([Keyed(Key(bytes([n]) * 32), f"patient:{n}") for n in range(4)])


def by_hashlib(keyed: Keyed) -> Keyed:
    other = object.__new__(Keyed)
    other._seed, other._draws = keyed._seed, None
    return other


@settings(max_examples=300)
@given(SCOPES, st.lists(TEXTS, max_size=4))
def test_numbers(keyed, parts):
    assert keyed.number(*parts) == by_hashlib(keyed).number(*parts)


@settings(max_examples=500)
@given(
    SCOPES, TEXTS, st.integers(1, 40) | st.integers(1, 2**62) | st.sampled_from([2**62 - 1, 2**62, 2**32]), st.data()
)
def test_permutations(keyed, what, size, data):
    index = data.draw(st.integers(0, size - 1))
    moved = keyed.permute(what, index, size)
    assert moved == by_hashlib(keyed).permute(what, index, size)
    assert keyed.permute(what, moved, size, inverse=True) == index
    assert keyed.permute(what, index, size, inverse=True) == by_hashlib(keyed).permute(what, index, size, inverse=True)


@settings(max_examples=200)
@given(SCOPES, TEXTS, st.text(max_size=32))
def test_shuffles(keyed, what, items):
    assert keyed.shuffle(what, items) == by_hashlib(keyed).shuffle(what, items)


def test_what_does_not_fit_is_refused():
    draws = native.Draws(b"seed")
    for seed in (b"", b"s" * 65):
        with pytest.raises(ValueError, match="seed"):
            native.Draws(seed)
    for arguments in (("x", 5, 5, False), ("x", -1, 5, False), ("x", 0, 2**62, False), ("x", 0, 0, False)):
        with pytest.raises(ValueError, match="no index"):
            draws.permute(*arguments)
    for call in (
        lambda: draws.number(b"x"),
        lambda: draws.permute("x", 0, 5),
        lambda: draws.permute("x", "0", 5, False),
        lambda: draws.permute(None, 0, 5, False),
        lambda: draws.permute(None, 0, 500, False),
        lambda: draws.shuffle("x", "abc"),
        lambda: draws.shuffle("x", list(range(33))),
        lambda: draws.shuffle(1, []),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(OverflowError):
        draws.permute("x", 2**70, 5, False)


CODES = st.from_regex(r"[A-Z0-9a-z]{1,9}(?:[-/ ._#–][A-Z0-9]{1,9}){0,4}", fullmatch=True)


@settings(max_examples=500)
@given(SCOPES, CODES | st.text("0189azAZ-é٣_ ", max_size=80) | TEXTS, st.integers(1, 3))
def test_codes(keyed, text, step):
    compiled = replace_code(keyed, text, "code", step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identifiers, "native", None)
        assert replace_code(keyed, text, "code", step) == compiled


@pytest.mark.parametrize("wrong", [("é1", 0), ("--", 0), ("A1", 26 * 10), ("A" * 70, 0), (None, 0), ("A1", -1)])
def test_codes_of_another_kind_are_refused(wrong):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        native.arranged(*wrong)
    assert native.arrangement(None) is None
