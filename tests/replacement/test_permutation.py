"""Keyed permutations: bijections that depend on nothing but the key and their name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.replacement.permutation import Keyed

KEYED = Keyed(Key(b"0123456789abcdef"), "patient:1")
FIVE = [1, 3, 0, 4, 2]
EDGE = [25, 28]
LARGE, MOVED, NUMBER = 979823601, 279474719, 66525145184


@pytest.mark.parametrize("size", [1, 2, 3, 7, 32, 33, 64, 100, 1000])
def test_a_permutation_hits_every_place_once(size: int) -> None:
    moved = [KEYED.permute("x", i, size) for i in range(size)]
    assert sorted(moved) == list(range(size))
    assert [KEYED.permute("x", m, size, inverse=True) for m in moved] == list(range(size))


@pytest.mark.parametrize("size", [2, 3, 7, 32, 33, 500])
def test_move_is_one_cycle_without_fixed_point(size: int) -> None:
    place, seen = 0, set()
    for _ in range(size):
        following = KEYED.move("x", place, size)
        assert following != place
        seen.add(following)
        place = following
    assert seen == set(range(size))


@given(st.integers(2, 10**40), st.data())
def test_large_sets(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    moved = KEYED.permute("x", index, size)
    assert 0 <= moved < size
    assert KEYED.permute("x", moved, size, inverse=True) == index
    assert KEYED.move("x", index, size) != index
    assert KEYED.move("x", index, size, 2) != index or size == 2


def test_steps_never_come_back_to_the_original() -> None:
    for size in (2, 3, 10, 40):
        assert {KEYED.move("x", 1, size, step) for step in range(1, size)} == set(range(size)) - {1}
        assert 1 not in {KEYED.move("x", 1, size, step) for step in range(size, 4 * size)}


def test_a_set_of_one_cannot_be_moved_and_a_huge_one_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be moved"):
        KEYED.move("x", 0, 1)
    with pytest.raises(ValueError, match="too large"):
        KEYED.permute("x", 0, 1 << 800)
    largest = (1 << 800) - 1
    assert KEYED.permute("x", KEYED.permute("x", 7, largest), largest, inverse=True) == 7


def test_another_key_scope_or_name_gives_another_permutation() -> None:
    def order(keyed: Keyed, what: str = "x") -> list[int]:
        return [keyed.permute(what, i, 50) for i in range(50)]

    other_key, other_scope = Keyed(Key(b"0123456789abcdeF"), "patient:1"), Keyed(Key(b"0123456789abcdef"), "patient:2")
    assert len({tuple(o) for o in (order(KEYED), order(KEYED, "y"), order(other_key), order(other_scope))}) == 4


def test_values_are_fixed_for_all_versions() -> None:
    """Surrogates made yesterday must be made again tomorrow: these values may never change."""
    assert [KEYED.permute("x", i, 5) for i in range(5)] == FIVE
    assert [KEYED.permute("x", 5, size) for size in (32, 33)] == EDGE
    assert KEYED.permute("x", 12345, 10**9) == LARGE
    assert KEYED.move("x", 12345, 10**9) == MOVED
    assert KEYED.number("a", "b") % 10**12 == NUMBER


def test_permutations_of_small_sets_are_about_equally_frequent() -> None:
    """Chi-square over the six orders of three things: below the .999 quantile for five degrees of freedom."""
    counts: dict[tuple[int, ...], int] = {}
    for n in range(600):
        order = tuple(KEYED.permute(f"order {n}", i, 3) for i in range(3))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert sum((c - 100) ** 2 / 100 for c in counts.values()) < 20.5
