from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deid.transactions.attacks import attack_codes, candidates, distinguishability, two_step
from deid.transactions.km import apriori_cut
from deid.transactions.reading import CodedRecords, parse_published, read_codes
from deid.transactions.studies import supported_studies
from deid.transactions.transactions import transactions_of
from deid.transactions.tree import code_tree
from tests.transactions.strategies import letters


def test_mary_matches_one_row_and_its_further_code_is_told() -> None:
    released = transactions_of([["333.4"], ["401.0", "401.1"], ["401.0", "401.2", "401.3"]])
    assert candidates(released, ["401.0", "401.1"]) == [1]
    released = transactions_of([["401.1", "401.1", "295"], ["401.0", "401.1", "303", "295"]])
    (row,) = candidates(released, ["401.0", "401.1"])
    assert "295" in released.texts()[row]


def test_generalized_and_suppressed_codes_widen_the_match() -> None:
    released = parse_published([["(a,b)"], ["(a,b)", "c"], ["c"]])
    known = [frozenset("a"), frozenset("bc"), frozenset("az"), frozenset("z")]
    assert distinguishability(released, known).tolist() == [2, 1, 2, 3]


def test_the_report_of_a_small_table() -> None:
    frame = pd.DataFrame(
        {
            "who": [1, 1, 2, 3, 4, 5],
            "visit": [1, 2, 1, 1, 1, 1],
            "codes": ["a;b", "c", "a;b", "a;b", "d", None],
        }
    )
    found = read_codes(frame, "codes", person="who", visit="visit")
    full, parts, visit = attack_codes(found, found.transactions, m=1, most=2)
    assert (full.targets, full.unique, full.few) == (4, 0.5, 0.5)
    assert visit.targets == 5
    assert visit.unique == pytest.approx(2 / 5)
    # a part of person 1 is unique when it is c: a third of the draws
    assert parts.unique == pytest.approx((1 / 3 + 0 + 0 + 1) / 4, abs=0.1)
    assert attack_codes(found, found.transactions, m=1, most=2) == [full, parts, visit]


def test_a_release_stops_the_attacker_it_is_made_for() -> None:
    data = letters(*["ab"] * 4, *["ac"] * 3, "bd", "cd", "d")
    nodes = code_tree(data)
    published = nodes.publish(data, apriori_cut(data, nodes, 3, 2))
    records = CodedRecords(data, np.arange(len(data)))
    _, before = attack_codes(records, data, m=2, most=2)
    _, after = attack_codes(records, published, m=2, most=2)
    assert before.few > 0
    assert after.few == 0


def test_two_step_linkage_by_demographics_then_codes() -> None:
    register = pd.DataFrame({"zip": ["1", "1", "2", "3"], "sex": ["f", "m", "f", "f"]})
    discharge = pd.DataFrame(
        {"zip": ["1", "2", "2", "9"], "sex": ["f", "f", "f", "f"], "codes": ["a;b", "c", "a", "d"]}
    )
    released = transactions_of([["a", "b"], ["a"], ["c"], ["c"]])
    found = two_step(register, discharge, read_codes(discharge, "codes"), released, ["zip", "sex"], most=2)
    assert (found.targets, found.unique, found.few) == (3, pytest.approx(1 / 3), 1.0)


def test_a_study_is_supported_when_cases_stay_cases() -> None:
    original = transactions_of([["493.0"], ["493.1", "250"], ["250"], ["401"]])
    published = parse_published([["(493.0,493.1)"], ["(493.0,493.1)", "(250,401)"], ["(250,401)"], ["(250,401)"]])
    phenotypes = {
        "asthma": frozenset({"493.0", "493.1"}),
        "diabetes": frozenset({"250"}),
        "wheeze": frozenset({"493.0"}),
    }
    table = supported_studies(original, published, phenotypes)
    assert [(s.disease, s.cases, s.certain, s.possible, s.supported) for s in table] == [
        ("asthma", 2, 2, 2, True),
        ("diabetes", 2, 0, 3, False),
        ("wheeze", 1, 0, 2, False),
    ]
    gone = parse_published([[], ["493.1", "250"], ["250"], ["401"]])
    assert [s.supported for s in supported_studies(original, gone, phenotypes)] == [False, True, False]


def test_some_persons_are_attacked_like_all_of_them() -> None:
    data = letters(*["ab"] * 40, *["ac"] * 30, *["bd"] * 20, "cd", "d")
    records = CodedRecords(data, np.arange(len(data)))
    everyone = attack_codes(records, data, m=1)
    drawn = attack_codes(records, data, m=1, targets=60)
    assert [attack.targets for attack in drawn] == [60, 60]
    assert drawn == attack_codes(records, data, m=1, targets=60)
    assert [abs(a.unique - b.unique) < 0.05 for a, b in zip(everyone, drawn, strict=True)] == [True, True]
    assert attack_codes(records, data, m=1, targets=500) == everyone
