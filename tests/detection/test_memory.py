"""Reading the same notes again and again takes no more memory: no route keeps what it was given."""

from __future__ import annotations

import gc
import itertools
import tracemalloc

import pytest
from soups import soup
from test_same_findings import rules_alone

from deid.document import Document

TEXTS = [soup(number)[0].text for number in range(5)]
ROUNDS = 12


def memory_of_a_round() -> int:
    for text in TEXTS * ROUNDS:
        rules_alone("en").find(Document("n", text))
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
def test_notes_that_are_read_again_leave_nothing_behind() -> None:
    tracemalloc.start()  # at once: what takes the place of memory that is not traced would count as new
    try:
        for _ in range(3):  # what is remembered on purpose
            memory_of_a_round()
        held = [memory_of_a_round() for _ in range(6)]
    finally:
        tracemalloc.stop()
    assert min(after - before for before, after in itertools.pairwise(held)) < 16 * len(TEXTS) * ROUNDS, held
