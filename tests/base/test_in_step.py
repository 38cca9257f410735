"""Work in step: the same results as one item after the other, stage by stage; errors leave nothing open."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.in_step import batches, in_step, pause


def test_every_item_goes_through_a_stage_before_any_goes_to_the_next() -> None:
    done: list[tuple[str, int]] = []

    def work(item: int) -> int:
        for stage in ("read", "find", "write"):
            pause(stage)
            done.append((stage, item))
        return 10 * item

    assert in_step(work, [1, 2, 3]) == [10, 20, 30]
    assert [stage for stage, _ in done] == ["read"] * 3 + ["find"] * 3 + ["write"] * 3
    assert sorted(done) == sorted((stage, item) for stage in ("read", "find", "write") for item in (1, 2, 3))


def test_items_with_more_stages_are_waited_for() -> None:
    done: list[str] = []

    def work(item: int) -> None:
        pause("begin")
        for _ in range(item):  # a note that is read several times
            for stage in ("look", "find"):
                pause(stage)
                done.append(stage)
        pause("write")
        done.append("write")

    in_step(work, [1, 3, 1, 2])
    assert done[-4:] == ["write"] * 4
    assert "".join(stage[0] for stage in done[:-4]) == "llllffff" + "llff" + "lf"


def test_alone_a_pause_is_nothing() -> None:
    def work(item: int) -> int:
        pause("stage")
        return item

    assert work(7) == 7
    assert in_step(work, [7]) == [7]
    assert in_step(work, []) == []


@given(st.lists(st.lists(st.sampled_from("abc"))))
def test_items_may_have_stages_of_their_own(items: list[list[str]]) -> None:
    def work(stages: list[str]) -> str:
        for stage in stages:
            pause(stage)
        return "".join(stages)

    assert in_step(work, items) == ["".join(stages) for stages in items]


@contextmanager
def _open(item: int, opened: set[int]) -> Iterator[None]:
    opened.add(item)
    try:
        yield
    finally:
        opened.remove(item)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_is_raised_and_the_others_are_given_up(error: type[BaseException]) -> None:
    opened: set[int] = set()
    ended: list[int] = []

    def work(item: int) -> None:
        with _open(item, opened):
            pause("one")
            if item == 2:
                raise error
            pause("two")
            ended.append(item)

    with pytest.raises(error):
        in_step(work, [1, 2, 3, 4])
    assert not opened
    assert not ended


def test_threads_and_work_within_work_keep_their_own_step() -> None:
    def inner(item: int) -> int:
        pause("within")
        return item + 1

    def outer(item: int) -> list[int]:
        pause("before")
        found = in_step(inner, range(item))
        pause("behind")
        return found

    expected = [list(range(1, n + 1)) for n in range(6)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: in_step(outer, range(6)), range(20))) == [expected] * 20


@given(st.lists(st.integers(0, 200_000), max_size=400))
def test_batches_are_the_items_in_order_a_few_at_a_time(sizes: list[int]) -> None:
    made = list(batches(sizes, lambda size: size))
    assert [size for batch in made for size in batch] == sizes
    for number, batch in enumerate(made):
        assert 0 < len(batch) <= min(8 << number, 128)
        assert sum(batch[:-1]) < 150_000


def test_few_items_are_shared_out_and_many_small_ones_stay_together() -> None:
    assert [len(batch) for batch in batches(range(500), lambda _: 1)] == [8, 16, 32, 64, 128, 128, 124]
