"""Privacy units: what a neighbour is, and rows bounded for each person."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, OutputError
from deid.dp.budget import Ledger
from deid.dp.options import PayingOptions, UnitOptions
from deid.dp.payment import request_id
from deid.dp.unit import PrivacyUnit, bounded_rows, check_bound, rows_without_person
from deid.table.cell_text import key_text


@pytest.mark.parametrize(
    ("relation", "max_rows", "distance"),
    [("add-remove", 1, 1), ("replace", 1, 2), ("add-remove", 3, 3), ("replace", 3, 6)],
)
def test_distance(relation: str, max_rows: int, distance: int) -> None:
    assert PrivacyUnit("patient", relation, max_rows).distance == distance


def test_what_pays_is_named_or_stands_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEID_LEDGER", raising=False)
    for name, epsilon in (("a.db", 1.0), ("b.db", 2.0)):
        Ledger.create(tmp_path / name, epsilon, PrivacyUnit(), budget=name)
    assert PayingOptions(1.0).open() is None
    asked = PayingOptions(1.0, ledger=str(tmp_path / "a.db"), budget="a.db")
    for _ in range(2):
        ledger = asked.open()
        assert ledger is not None
        assert ledger.account().total == 10**9
        monkeypatch.setenv("DEID_LEDGER", str(tmp_path / "b.db"))
    ledger = PayingOptions(1.0, budget="b.db").open()
    assert ledger is not None
    assert ledger.account().total == 2 * 10**9


def test_a_file_that_is_there_stays_unless_the_request_wrote_it(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    ledger = Ledger.create(tmp_path / "l.db", 1.0, PrivacyUnit())
    assert request_id("r", target, None) == "r"
    assert len({request_id(None, target, None) for _ in range(3)}) == 3
    target.write_text("theirs")
    for request, payer in (("r", None), (None, ledger), ("r", ledger), (None, None)):
        with pytest.raises(OutputError, match="exists already"):
            request_id(request, target, payer)
    ledger.charge(0.1, "r", unit=PrivacyUnit(), purpose="p")
    assert request_id("r", target, ledger) == "r"
    with pytest.raises(OutputError, match="exists already"):
        request_id("other", target, ledger)


def test_wrong_units_are_refused() -> None:
    for wrong in ({"relation": "modify"}, {"max_rows": 0}, {"name": " "}):
        with pytest.raises(ConfigError):
            PrivacyUnit(**wrong)  # type: ignore[arg-type]


def visits(persons: list[str | None], texts: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"who": persons, "text": texts}, dtype=object)


def test_rows_without_a_person_are_left_out_and_counted_apart() -> None:
    frame = visits(["a", "b", "a", None, "a", " ", ""], list("1234567"))
    bounded = bounded_rows(frame, "who", 2)
    assert bounded.keep.sum() == 3
    assert not bounded.keep[[3, 5, 6]].any()
    assert bounded.cut == 1
    assert rows_without_person(frame, "who") == 3
    for own, said in ((frame, ["3 rows have no who and are left out"]), (frame.iloc[:0], [])):
        told: list[object] = []
        list(UnitOptions(person="who")._told([own, own.iloc[:0]], told.append))
        assert [str(text).partition(":")[0] for text in told] == said


def test_one_person_is_one_however_the_id_is_written() -> None:
    frame = visits(["7", "7.0", " 7", "A1"], list("1234"))
    assert bounded_rows(frame, "who", 1).keep.sum() == 2


CELLS = st.sampled_from(["x", "y", "250.00", "V58.11", ""])
VISITS = st.lists(st.tuples(st.sampled_from([*"abcde", "7", "7.0", None]), CELLS), max_size=30)


@given(VISITS, st.integers(1, 4), st.sampled_from([*"abcde", "7"]), st.randoms())
def test_a_person_changes_at_most_the_bound_and_order_changes_nothing(
    rows: list[tuple[str | None, str]], bound: int, gone: str, random: Random
) -> None:
    """The kept rows of a table without one person are the kept rows of the whole table, less that person's."""
    frame = visits([who for who, _ in rows], [text for _, text in rows])
    bounded = bounded_rows(frame, "who", bound, b"key")
    others = frame[frame["who"].map(key_text) != gone]
    without = bounded_rows(others, "who", bound, b"key")
    kept = frame[bounded.keep]
    owners = kept["who"].map(key_text)
    assert kept[owners != gone].index.tolist() == others[without.keep].index.tolist()
    assert 0 <= bounded.cut - without.cut <= 1
    assert (owners.value_counts() <= bound).all()
    order = list(range(len(rows)))
    random.shuffle(order)
    moved = frame.iloc[order]
    again = moved[bounded_rows(moved, "who", bound, b"key").keep]
    assert sorted(again.fillna("").itertuples(index=False)) == sorted(kept.fillna("").itertuples(index=False))


def test_a_bound_is_enforced_asserted_or_refused() -> None:
    row, patient, visits = PrivacyUnit(), PrivacyUnit("patient"), PrivacyUnit("row", max_rows=2)
    assert check_bound(row, None, False) == "enforced"
    assert check_bound(patient, "who", False) == "enforced"
    assert check_bound(patient, None, True) == "asserted"
    for unit in (patient, visits):
        with pytest.raises(ConfigError, match="no column says whose a row is"):
            check_bound(unit, None, False)
    with pytest.raises(ConfigError, match="either"):
        check_bound(patient, "who", True)
