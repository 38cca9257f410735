from __future__ import annotations

from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.table.hierarchy import hierarchy_from_rows
from deid.transactions.policies import (
    check_utility_policy,
    maximal_sets,
    phenotype_policy,
    read_policy,
    read_rules,
)

KNOWN = ["250.00", "493.00", "493.01", "493.90", "401.1"]


def test_a_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.txt"
    file.write_text("# what is known\nasthma: 493.*\n250.00, 401.1\nnone: 999.*\n")
    assert read_policy(file, KNOWN) == {
        "asthma": frozenset({"493.00", "493.01", "493.90"}),
        "line 3": frozenset({"250.00", "401.1"}),
    }


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("493.0O\n", "line 1: no record has the code '493.0O'.*did you mean '493.0[01]'"),
        ("# nothing\n", "holds no constraint"),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "policy.txt"
    file.write_text(text)
    with pytest.raises(ConfigError, match=what):
        read_policy(file, KNOWN)


def test_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("401.1 250.00 -> 493.*\n401.1 ->\n")
    asthma = frozenset({"493.00", "493.01", "493.90"})
    assert read_rules(file, KNOWN) == [(frozenset({"401.1", "250.00"}), asthma), (frozenset({"401.1"}), frozenset())]
    file.write_text("401.1\n")
    with pytest.raises(ConfigError, match="line 1: no rule"):
        read_rules(file, KNOWN)


def test_visits_become_the_sets_that_lie_in_no_other() -> None:
    sets = [frozenset("a"), frozenset("ab"), frozenset("bc"), frozenset("ab"), frozenset(), frozenset("abd")]
    assert maximal_sets(sets) == [frozenset("bc"), frozenset("abd")]


def test_phenotypes_become_disjoint_constraints_with_siblings_on_request() -> None:
    hierarchy = hierarchy_from_rows(([code, code[:3], "*"] for code in KNOWN), "icd")
    asthma = {"asthma": frozenset({"493.00"}), "pressure": frozenset({"401.1", "999"})}
    assert phenotype_policy(asthma, KNOWN) == [frozenset({"493.00"}), frozenset({"401.1"})]
    assert phenotype_policy(asthma, KNOWN, hierarchy, siblings=1)[0] == {"493.00", "493.01", "493.90"}
    overlapping = {"x": frozenset({"401.1"}), "y": frozenset({"493.00"}), "z": frozenset({"401.1", "493.00"})}
    assert phenotype_policy(overlapping, KNOWN) == [frozenset({"401.1", "493.00"})]
    check_utility_policy(phenotype_policy(overlapping, KNOWN))
