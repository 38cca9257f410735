"""Decisions of a person on pairs: kept in every linkage, for the rows they were made on and no others."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, FormatError
from deid.linkage.decisions import Decided, checks, read_decisions
from deid.linkage.linking import LinkOptions, link_table

EXACT = LinkOptions(method="exact")
TABLE = pd.DataFrame(
    [
        ("Anna Berg", "1980-01-01", "617-555-0199", ""),
        ("A. Berg", "1980-01-01", "617-555-0199", ""),
        ("Maria Berg", "1980-01-01", "617-555-0199", "100317"),
        ("John Hale", "1941-05-06", "617-555-0111", "4711203"),
        ("John Hale", "1970-09-12", "617-555-0111", "9900312"),
        ("Linda Tran", "1960-06-21", "", ""),
    ],
    columns=["name", "birth_date", "phone", "mrn"],
    dtype="string",
)
PAIRS = st.lists(st.sampled_from(list(combinations(range(len(TABLE)), 2))), unique=True, max_size=5)


def _components(rows: int, edges: list[tuple[int, int]]) -> list[int]:
    group = list(range(rows))
    for _ in range(rows):
        for a, b in edges:
            group[a] = group[b] = min(group[a], group[b])
    return group


@pytest.mark.slow
@settings(max_examples=50)
@given(same=PAIRS, different=PAIRS)
def test_what_is_decided_holds_whatever_rows_say(same: list[tuple[int, int]], different: list[tuple[int, int]]) -> None:
    of = _components(len(TABLE), same)
    decided = Decided(tuple(same), tuple(different))
    if any(of[a] == of[b] for a, b in different):
        with pytest.raises(ConfigError, match="decided to be one person"):
            link_table(TABLE, EXACT, decided=decided)
        return
    linked = link_table(TABLE, EXACT, decided=decided)
    assert all(linked.person[a] == linked.person[b] for a, b in same)
    assert all(linked.person[a] != linked.person[b] for a, b in different)
    listed = {(int(a) - 1, int(b) - 1) for a, b in linked.review[["row_a", "row_b"]].to_numpy()}
    assert not listed & decided.pairs
    turned = link_table(
        TABLE.iloc[::-1].reset_index(drop=True),
        EXACT,
        decided=Decided(*(tuple((5 - b, 5 - a) for a, b in pairs) for pairs in (same, different))),
    )
    assert turned.person[::-1] == linked.person


def test_no_decisions_change_nothing() -> None:
    assert link_table(TABLE, EXACT, decided=Decided()).person == link_table(TABLE, EXACT).person


def test_a_decision_makes_no_two_known_persons_one() -> None:
    known = TABLE.iloc[[3, 4]].assign(person=["P1", "P2"])
    with pytest.raises(ConfigError, match="two known persons"):
        link_table(TABLE.iloc[:3], EXACT, known=known, decided=Decided(((3, 4),)))


def _listed(decision: str, tmp_path: Path) -> Path:
    review = link_table(TABLE, EXACT).review
    assert review[["row_a", "row_b"]].to_numpy().tolist() == [[4, 5]]
    path = tmp_path / "decided.csv"
    review.assign(decision=decision).to_csv(path, index=False)
    return path


def test_a_list_for_review_comes_back_with_its_decisions(tmp_path: Path) -> None:
    path = _listed("same", tmp_path)
    decided = read_decisions(path, [TABLE], without="person")
    assert decided == Decided(((3, 4),))
    assert len(set(link_table(TABLE, EXACT, decided=decided).person[3:5])) == 1
    numbered = TABLE.assign(person=link_table(TABLE, EXACT).person)
    assert read_decisions(path, [numbered], without="person") == decided
    assert read_decisions(path, [TABLE.iloc[:2], TABLE.iloc[2:]], without="person") == decided
    path.write_text(path.read_text().replace(",", ";"))  # as many a spreadsheet saves it
    assert read_decisions(path, [TABLE], without="person") == decided


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        (TABLE.iloc[1:], None, "no two rows|not those that were decided on"),
        (TABLE.iloc[[0, 1, 2, 4, 3, 5]], None, None),
        (TABLE.assign(phone=["1"] * 6), None, "not those that were decided on"),
        (TABLE, "4,4,,,,,,00000000-00000000,same", "no two rows"),
        (TABLE, "x,5,,,,,,00000000-00000000,same", "a row is no number"),
        (TABLE, "1,2,,,,,,00000000-00000000,perhaps", "no decision"),
        (TABLE, "4,5,,,,,,,different", "same and different"),
        (TABLE, "1,2,,,,,,,same", "not those"),
    ],
)
def test_decisions_on_other_rows_are_refused_with_their_line(
    table: pd.DataFrame, line: str | None, message: str | None, tmp_path: Path
) -> None:
    path = _listed("same", tmp_path)
    if line is not None:
        path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    if message is None:  # the same two rows, exchanged
        assert read_decisions(path, [table], without="person") == Decided(((3, 4),))
        return
    with pytest.raises(FormatError, match=message) as raised:
        read_decisions(path, [table], without="person")
    assert "line " in str(raised.value)
    assert "Hale" not in str(raised.value)


def test_a_file_without_the_columns_is_no_list(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("row_a,row_b,decision\n1,2,same\n", encoding="utf-8")
    with pytest.raises(FormatError, match="lacks the column"):
        read_decisions(path, [TABLE], without="person")


def test_a_checksum_tells_cells_and_columns_apart() -> None:
    one = pd.DataFrame({"a": ["x", "x"], "b": ["y", ""]}, dtype="string")
    other = pd.DataFrame({"a": ["xy", ""], "c": ["y", "x"]}, dtype="string")
    found = [*checks([one], [0, 1], without="").values(), *checks([other], [0, 1], without="").values()]
    assert len(set(found)) == 4
