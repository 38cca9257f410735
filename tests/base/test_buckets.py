"""Records of numbers in memory and on disk: what hangs together by pairs of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from deid.base.buckets import Buckets, Words, connected, step_of

MANY = 40


@given(
    st.lists(st.tuples(st.integers(0, MANY - 1), st.integers(0, MANY - 1)), max_size=60), st.integers(1, 60),
    st.booleans(),
)  # fmt: skip
def test_pairs_tell_what_hangs_together(pairs: list[tuple[int, int]], part: int, disk: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if disk:
            patch.setattr(Buckets, "held", 0)
        words: Words = np.array(pairs, np.uint64).reshape(-1, 2) * step_of(MANY)
        found = list(connected(words[n : n + part] for n in range(0, len(words), part)))
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    labels = connected_components(coo_array((np.ones(len(pairs)), ends), shape=(MANY, MANY)))[1]
    first = [labels.tolist().index(label) for label in labels]
    told = [tuple((row // step_of(MANY)).tolist()) for some in found for row in some]
    assert told == sorted((low, n) for n, low in enumerate(first) if low != n)
    lowest = [set(some[:, 0].tolist()) for some in found]
    assert len(set().union(*lowest)) == sum(map(len, lowest)), "what hangs together comes in one array"


def test_a_long_chain_hangs_together() -> None:
    """However its numbers are mixed."""
    many = 3000
    chain = np.random.default_rng(3).permutation(many).astype(np.uint64) * step_of(many)
    (found,) = connected([np.stack([chain[1:], chain[:-1]], axis=1)])
    assert set(found[:, 0].tolist()) == {0}
    assert len(found) == many - 1
