"""Pieces of work in step: in one thread, each goes through a stage, then each through the next.

A note of three pages takes a millisecond, and passes through megabytes of code and tables in it: what a stage needs has
left the processor's caches when the next note comes to it. Where some notes go through a stage one behind the other, it
is at hand; that spares about a fifth of the time (docs/speed.md). The work stays plain code, which says where a stage
ends (`pause`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

T = TypeVar("T")
R = TypeVar("R")

_FIRST, _MOST = 8, 128
"""Items of the first batch, and that no batch passes."""
_SIZE = 150_000
"""Characters or bytes from which a batch is done."""


class _Step(greenlet):
    """A piece of work that others wait for, and that waits for them."""


def pause(stage: str) -> None:
    """End a stage: other pieces of work in step with this one come to the same end; alone it goes on.

    Parameters
    ----------
    stage : str
        What begins now. Pieces that wait to begin the same stage go through it one behind the other.
    """
    current = getcurrent()
    if isinstance(current, _Step) and current.parent is not None:
        current.parent.switch(stage)


def in_step(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Do a work on each of some items, a stage at a time.

    Parameters
    ----------
    work : callable
        Gets an item. It must neither hold a lock nor have anything open that another item's work needs while it pauses.
    items : sequence

    Returns
    -------
    list
        What came of each, in order.

    Raises
    ------
    BaseException
        What the work raised first; that on the other items is given up, as `greenlet.GreenletExit` where it pauses.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    results: list[Any] = [None] * len(items)
    waiting = {"": deque((number, _Step(partial(work, item))) for number, item in enumerate(items))}
    order = {"": 0}  # of the stages: as the first item comes to them
    try:
        while waiting:
            least = min(waiting, key=order.__getitem__)
            going = waiting.pop(least)
            while going:
                number, step = going.popleft()
                ended = step.switch()
                if step.dead:
                    results[number] = ended
                else:
                    order.setdefault(ended, len(order))
                    waiting.setdefault(ended, deque()).append((number, step))
    finally:
        for _, step in chain(going, *waiting.values()):
            step.throw()
    return results


def batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items a few at a time, as many as are well done in step.

    Batches grow, so that a handful of items is soon shared out to several processes; what is large ends one.
    """
    batch: list[T] = []
    held, most = 0, _FIRST
    for item in items:
        batch.append(item)
        held += size(item)
        if len(batch) >= most or held >= _SIZE:
            yield batch
            batch, held, most = [], 0, min(2 * most, _MOST)
    if batch:
        yield batch
