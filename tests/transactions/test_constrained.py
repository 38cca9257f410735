from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, InputError
from deid.transactions.constrained import Constrained, aclip, cba, coat, pcta, ugaclip
from deid.transactions.measures import utility_loss
from deid.transactions.reading import parse_published
from deid.transactions.transactions import Transactions, set_label, transactions_of
from deid.transactions.verifiers import verify_privacy_policy, verify_utility_policy
from tests.transactions.strategies import CODES, letters, records

BIPOLAR = transactions_of([["296.00", "296.01", "296.02"], ["295.00", "295.01", "295.02"], ["296.00", "296.02"]])
KNOWN = [frozenset({"296.00", "296.01", "296.02"})]


def test_ugaclip_of_the_tutorial() -> None:
    found = ugaclip(BIPOLAR, KNOWN, [frozenset({"296.00", "296.01"})], 2)
    assert found.published.texts() == [
        ("(296.00,296.01)", "296.02"),
        ("295.00", "295.01", "295.02"),
        ("(296.00,296.01)", "296.02"),
    ]
    assert (found.merges, found.suppressed) == (1, ())


def test_cba_of_the_tutorial_keeps_what_its_slide_promises() -> None:
    found = cba(BIPOLAR, KNOWN, KNOWN, 2).published
    assert found.texts()[1] == ("295.00", "295.01", "295.02")
    assert verify_privacy_policy(found, KNOWN, 2).level == 2
    assert verify_utility_policy(BIPOLAR, found, KNOWN).holds


@pytest.mark.parametrize("method", [coat, ugaclip, cba])
def test_the_second_example_combines_two_codes(method) -> None:
    data = transactions_of([["401.2", "401.3"], ["401.4", "401.3"]])
    known = [frozenset({"401.2", "401.3"})]
    found = method(data, known, [frozenset({"401.2", "401.4"})], 2)
    assert found.published.texts() == [("(401.2,401.4)", "401.3")] * 2


def test_without_partners_codes_are_suppressed_rarest_first() -> None:
    data = letters("ab", "b", "b")
    found = ugaclip(data, [frozenset("ab")], [], 2)
    assert found.suppressed == ("a",)
    assert found.published.texts() == [("b",)] * 3


def test_coat_names_the_constraint_that_cannot_be_met() -> None:
    with pytest.raises(ConfigError, match=r"privacy constraint 2 of 2 \(2 codes\) cannot be met"):
        coat(letters("ab", "b", "b", "bb"), [frozenset("b"), frozenset("ab")], [], 2, most_suppressed=0.0)


def test_a_code_in_two_utility_constraints_is_refused() -> None:
    with pytest.raises(ConfigError, match="'b' is in the utility constraints 1 and 2"):
        cba(letters("abc"), [], [frozenset("ab"), frozenset("bc")], 1)


def test_combining_may_turn_on_a_constraint_that_no_record_supported() -> None:
    data = letters("ad", "b", "cd", "cd", "bc")
    known = [frozenset("ad"), frozenset("bd")]  # bd has no record, (a,b)d has one
    for method in (ugaclip, cba, coat):
        found = method(data, known, [frozenset("ab")], 2)
        assert verify_privacy_policy(found.published, known, 2).holds


policies = st.lists(st.frozensets(st.sampled_from(CODES), min_size=1, max_size=3), max_size=4)
utilities = st.sampled_from([[], [frozenset("abc")], [frozenset("ab"), frozenset("cdef")], [frozenset(CODES)]])


def run_all(
    data: Transactions, known: list[frozenset[str]], groups: list[frozenset[str]], k: int
) -> Iterator[tuple[Constrained, list[frozenset[str]]]]:
    for method in (ugaclip, cba, coat):
        yield method(data, known, groups, k), groups
    everything = [frozenset(data.labels)]
    yield aclip(data, known, k), everything
    if sum(map(bool, data.sets)) >= k or not len(data.items):
        found = pcta(data, known, k)
        assert not found.suppressed
        yield found, everything


@settings(max_examples=100)
@given(records(least=2), policies, utilities, st.integers(2, 3))
def test_every_release_keeps_both_policies(
    data: Transactions, known: list[frozenset[str]], groups: list[frozenset[str]], k: int
) -> None:
    if len(data) < k:
        with pytest.raises(InputError, match="fewer than k"):
            cba(data, known, groups, k)
        return
    for found, allowed in run_all(data, known, groups, k):
        assert verify_privacy_policy(found.published, known, k).holds
        assert verify_utility_policy(data, found.published, allowed).holds


def maps(codes: str, groups: list[frozenset[str]]) -> Iterator[list[frozenset[str] | None]]:
    """All partitions of the codes into allowed sets, and suppressed ones."""
    if not codes:
        yield []
        return
    first, rest = codes[0], codes[1:]
    for size in range(len(rest) + 1):
        for others in itertools.combinations(rest, size):
            block = frozenset((first, *others))
            if len(block) == 1 or any(block <= group for group in groups):
                left = "".join(c for c in rest if c not in block)
                for tail in maps(left, groups):
                    yield [block, *tail]
                    if len(block) == 1:
                        yield list(tail)


@settings(max_examples=25)
@given(st.lists(st.frozensets(st.sampled_from("abcde"), max_size=4), min_size=2, max_size=6), policies)
def test_never_better_than_the_best_map(rows: list[frozenset[str]], known: list[frozenset[str]]) -> None:
    data = transactions_of(rows, "abcde")
    groups = [frozenset("abc"), frozenset("de")]
    best = float("inf")
    for blocks in maps("abcde", groups):
        image = {code: set_label(block) for block in blocks for code in block}
        other = parse_published([[image[c] for c in row if c in image] for row in rows])
        if verify_privacy_policy(other, known, 2).holds:
            best = min(best, utility_loss(data, other))
    for method in (ugaclip, cba, coat):
        assert utility_loss(data, method(data, known, groups, 2).published) >= best - 1e-9
