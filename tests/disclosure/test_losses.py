"""What each method loses on small tables is no more than it was: a search that got worse still keeps its model."""

from __future__ import annotations

import pytest

from deid.base.errors import ConfigError
from deid.disclosure.assessment import Requirements
from deid.disclosure.methods import MethodOptions
from deid.disclosure.release import anonymize
from tests.disclosure.tables import random_table

CASES = {
    "k": (random_table(150, 1), Requirements(k=3)),
    "missing": (random_table(150, 2, missing=0.06), Requirements(k=7)),
    "persons": (random_table(150, 3, persons=70), Requirements(k=2)),
    "l": (random_table(150, 4), Requirements(k=3, l=2)),
    "t": (random_table(150, 5), Requirements(k=2, t=0.4)),
    "few": (random_table(31, 6), Requirements(k=10)),
}


def lost(method: str, case: str) -> float:
    table, asked = CASES[case]
    return anonymize(table, asked, method, MethodOptions(suppression=0.5)).loss.ncp_total


MOST = {
    "local": (30.7, 126.1, 14.2, 38.2, 58.1, 59.1),
    "mondrian": (61.9, 254.8, 24.4, 75.1, 142.1, 77.3),
    "relaxed": (107.2, 232.3, 56.9, 121.2, 112.7, 77.3),
    "optimal": (103.4, 192.1, 62.5, 150.1, 184.8, 62.1),
    "greedy": (229.8, 262.7, 195.8, 184.6, 184.8, 62.1),
    "bottom-up": (26.9, 143.2, 13.7, 29.9, 56.8, 59.1),
    "top-down": (27.3, 128.2, 12.4, 31.3, 41.0, 66.9),
    "hybrid": (30.3, 139.8, 12.9, 45.8, 70.6, 59.1),
    "mdav": (53.4, 179.9, None, None, None, 80.0),
    "kk": (23.6, 100.7, None, None, None, 49.2),
    "cells": (138.1, 193.1, 110.1, 147.1, 157.1, 62.1),
}
"""Penalties summed over cells, in the order of the cases; None where the method does not take the model."""


@pytest.mark.parametrize("method", MOST)
@pytest.mark.parametrize("case", CASES)
def test_a_method_loses_no_more_than_it_did(method: str, case: str) -> None:
    most = MOST[method][list(CASES).index(case)]
    if most is None:
        with pytest.raises(ConfigError):
            lost(method, case)
    else:
        assert lost(method, case) <= most
