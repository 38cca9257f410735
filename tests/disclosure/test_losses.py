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
    "local": (30.7, 131.6, 14.2, 36.8, 57.2, 59.1),
    "mondrian": (32.8, 212.3, 20.0, 40.4, 77.0, 59.1),
    "relaxed": (69.9, 189.8, 38.1, 91.8, 123.2, 59.1),
    "optimal": (103.4, 192.1, 62.5, 150.0, 184.8, 62.0),
    "greedy": (229.8, 262.7, 195.8, 184.6, 184.8, 76.6),
    "bottom-up": (30.8, 118.7, 13.7, 31.2, 46.8, 59.1),
    "top-down": (28.0, 137.2, 11.9, 37.3, 40.6, 55.7),
    "hybrid": (30.8, 138.3, 13.7, 31.2, 46.8, 59.1),
    "mdav": (53.4, 179.9, None, None, None, 80.0),
    "kk": (23.6, 100.6, None, None, None, 49.2),
    "cells": (138.0, 190.0, 110.0, 147.0, 157.0, 62.0),
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
