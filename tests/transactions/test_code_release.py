from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, OutputError
from deid.transactions import methods
from deid.transactions.disassociation import verify_disassociated
from deid.transactions.methods import METHODS, Asked, Found
from deid.transactions.reading import CodedRecords, parse_published
from deid.transactions.relational import verify_both
from deid.transactions.release import anonymize_codes
from deid.transactions.transactions import Transactions, transactions_of
from deid.transactions.verifiers import (
    verify_coherence,
    verify_complete,
    verify_full_sets,
    verify_km,
    verify_privacy_policy,
    verify_rules,
    verify_uncertainty,
)
from tests.transactions.strategies import letters, records, tree

ASKED = Asked(
    k=2,
    m=2,
    privacy=[frozenset("ab"), frozenset("a"), frozenset("cde")],
    utility=[frozenset("abc"), frozenset("de")],
    sensitive=frozenset("gh"),
    rules=[(frozenset("a"), frozenset())],
)


def coded(data: Transactions) -> CodedRecords:
    return CodedRecords(data, np.arange(len(data)))


def reread(method: str, data: Transactions) -> Transactions:
    """What a reader of the released table knows: the labels, and the hierarchy."""
    release = anonymize_codes(coded(data), ASKED, method, hierarchy=tree(), **beside(method, data))
    texts = release.table("codes")["codes"]
    return parse_published([[part for part in text.split("; ") if part] for text in texts], tree())


def beside(method: str, data: Transactions) -> dict[str, object]:
    return {"columns": ["sex"], "cells": [("fm"[i % 2],) for i in range(len(data))]} if method == "relational" else {}


CHECKS = {
    "global-suppression": lambda r: verify_full_sets(r, 2),
    "local-suppression": lambda r: verify_full_sets(r, 2),
    "complete": lambda r: verify_complete(r, 2),
    **dict.fromkeys(("km", "km-local", "km-vertical", "relational"), lambda r: verify_km(r, 2, 2)),
    **dict.fromkeys(("ugaclip", "cba", "coat", "pcta", "aclip"), lambda r: verify_privacy_policy(r, ASKED.privacy, 2)),
    "coherence": lambda r: verify_coherence(r, ASKED.sensitive, max_prob=0.5, k=2, p=2),
    "rbat": lambda r: verify_rules(r, ASKED.rules, 2, 0.5),
    "suppress-control": lambda r: verify_uncertainty(r, ASKED.sensitive, 0.5),
}
TEN = letters("abcdefgh", "acefg", "cdefh", "acef", "efgh", "defg", "abde", "acf", "ac", "bh", "ab", "")


@pytest.mark.parametrize("method", CHECKS)
def test_what_is_written_holds_when_it_is_read_again(method: str) -> None:
    assert CHECKS[method](reread(method, TEN)).holds


def test_every_method_is_checked() -> None:
    assert set(METHODS) - set(CHECKS) == {"top-down-control", "disassociation"}
    chunks = anonymize_codes(coded(TEN), ASKED, "disassociation").chunks
    assert chunks is not None
    assert verify_disassociated(chunks, 2, 2).holds


@settings(max_examples=25)
@given(records(least=6, most=12), st.sampled_from(sorted(METHODS)))
def test_a_release_is_the_same_again_and_does_not_tell_the_order(data: Transactions, method: str) -> None:
    if sum(map(bool, data.sets)) < 2 or data.place["a"] not in data.items:
        return
    try:
        tables = [
            anonymize_codes(coded(data), ASKED, method, hierarchy=tree(), **beside(method, data)).table("codes")
            for _ in range(2)
        ]
    except ConfigError as error:
        assert method == "rbat", error  # noqa: PT017
        return
    assert tables[0].equals(tables[1])
    if method not in ("disassociation", "relational"):
        assert list(tables[0]["codes"]) == sorted(tables[0]["codes"])


def test_the_figures_of_a_release() -> None:
    phenotypes = {"first": frozenset("abc"), "mixed": frozenset("ad")}
    release = anonymize_codes(coded(TEN), replace(ASKED, k=5, m=3), "km", hierarchy=tree(), phenotypes=phenotypes)
    found = release.as_dict()
    assert found["published_items"] == 2
    assert [study["supported"] for study in found["studies"]] == [True, False]
    assert found["attacks_before"][0]["unique"] > found["attacks_after"][0]["unique"] == 0
    assert found["loss"]["suppressed"] == 0


def test_a_method_that_fails_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(METHODS["km"], run=lambda source, asked: Found(source.data))
    monkeypatch.setitem(methods.METHODS, "km", broken)
    with pytest.raises(OutputError, match="verifier rejects"):
        anonymize_codes(coded(TEN), ASKED, "km")
    untrue = parse_published([["z"]] * len(TEN))
    monkeypatch.setitem(methods.METHODS, "km", replace(broken, run=lambda source, asked: Found(untrue)))
    with pytest.raises(OutputError, match="not true of their records"):
        anonymize_codes(coded(TEN), ASKED, "km")


@pytest.mark.parametrize(
    ("method", "asked", "what"),
    [
        ("kmm", ASKED, "no method 'kmm'"),
        ("cba", Asked(), "needs a privacy policy"),
        ("rbat", Asked(), "needs rules"),
        ("km", Asked(k=0), "at least 1"),
        ("relational", ASKED, "--qi"),
    ],
)
def test_what_is_missing_is_named(method: str, asked: Asked, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        anonymize_codes(coded(TEN), asked, method)


def test_columns_need_the_method_that_protects_them() -> None:
    with pytest.raises(ConfigError, match="protects codes alone"):
        anonymize_codes(coded(TEN), ASKED, "km", columns=["sex"], cells=[("f",)] * len(TEN))
    both = anonymize_codes(coded(TEN), ASKED, "relational", columns=["sex"], cells=[("f",)] * 6 + [("m",)] * 6)
    assert both.published is not None
    assert verify_both(both.cells, both.published, 2, 2).holds
    assert list(both.table("codes").columns) == ["sex", "codes"]


@pytest.mark.parametrize("method", ["global-suppression", "local-suppression", "complete", "km", "km-vertical", "cba"])
def test_loss_grows_with_k_on_average(method: str) -> None:
    rng = np.random.default_rng(11)
    tables = [
        transactions_of([{"abcdefgh"[i] for i in rng.choice(8, n, p=np.arange(8, 0, -1) / 36)} for n in [1, 2, 3] * 10])
        for _ in range(6)
    ]

    def mean_loss(k: int) -> float:
        found = [anonymize_codes(coded(data), replace(ASKED, k=k), method, hierarchy=tree()) for data in tables]
        return float(np.mean([release.loss.ncp for release in found if release.loss is not None]))

    losses = [mean_loss(k) for k in (2, 3, 5, 10)]
    assert losses == sorted(losses)
    assert losses[-1] > losses[0]


def test_a_release_that_says_next_to_nothing_is_told() -> None:
    """One rare pair takes every code of km to the root; methods that recode or suppress apart keep nearly all."""
    data = letters(*["ab", "bc", "de", "fg"] * 12, "ah")
    said = {m: anonymize_codes(coded(data), ASKED, m, hierarchy=tree()).warnings for m in ("km", "local-suppression")}
    assert said["local-suppression"] == []
    (told,) = said["km"]
    assert told.startswith("100% of what the codes said is gone")
    assert "local-suppression" in told
