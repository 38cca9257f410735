from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import InputError
from deid.transactions.suppression import suppress_globally, suppress_locally, suppress_rare
from deid.transactions.transactions import Transactions
from deid.transactions.verifiers import verify_full_sets
from tests.transactions.strategies import letters, records


@given(records(most=14), st.sampled_from([2, 3, 5]))
def test_both_hold_and_only_suppress(data: Transactions, k: int) -> None:
    if len(data) < k:
        with pytest.raises(InputError, match="fewer than k"):
            suppress_globally(data, k)
        return
    globally, threshold = suppress_globally(data, k)
    locally = suppress_locally(data, k)
    for published in (globally, locally):
        assert verify_full_sets(published, k).holds
        assert all(set(shown) <= set(held) for shown, held in zip(published.texts(), data.texts(), strict=True))
    if threshold:  # no smaller threshold does
        smaller = max([0, *(s for s in data.supports.tolist() if s < threshold)])
        assert not verify_full_sets(suppress_rare(data, smaller), k).holds


def test_local_suppression_spares_the_code_where_it_does_no_harm() -> None:
    data = letters("ab", "ab", "ac", "c", "c", "a")
    assert suppress_globally(data, 2)[1] == 3
    assert suppress_locally(data, 2).texts() == [("a", "b"), ("a", "b"), ("a",), ("c",), ("c",), ("a",)]
