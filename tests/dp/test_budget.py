"""The ledger: never overspent, charged before, once for each id, by the most expensive of disjoint parts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sql
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, StoreError
from deid.dp.budget import BudgetExceeded, Ledger
from deid.dp.epsilon import NANO, from_nano, split_epsilon, to_nano
from deid.dp.spent_here import charges_made, note_answer
from deid.dp.unit import PrivacyUnit

ROW = PrivacyUnit()


def spend(ledger: Ledger, epsilon: float, request: str, *path: tuple[str, str]) -> int:
    return ledger.charge(epsilon, request, unit=ROW, purpose="a count", path=path).charged


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db", 1.0, ROW, note="table 1")


def test_no_entry_of_a_ledger_is_left_empty_but_an_answer_that_is_not_there_yet(ledger: Ledger, tmp_path: Path) -> None:
    """Another program that writes into the database cannot leave out what a charge costs, or whom it protects."""
    spend(ledger, 0.5, "a")
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    told = sql.inspect(engine)
    empty = {(t, c["name"]) for t in told.get_table_names() for c in told.get_columns(t) if c["nullable"]}
    engine.dispose()
    assert empty == {("deid_budget_charge", "answer")}


def test_half_and_half_and_no_more(ledger: Ledger) -> None:
    """Total 1: .5 ok, .5 ok, .1 refused."""
    assert ledger.budget == "main"
    for none in (0.0, -0.5, float("nan")):
        with pytest.raises(ConfigError):
            spend(ledger, none, "none")
    spend(ledger, 0.5, "a")
    spend(ledger, 0.5, "b")
    with pytest.raises(BudgetExceeded, match=r"costs 0\.1 and 0 of the budget is left"):
        spend(ledger, 0.1, "c")
    assert ledger.account().remaining == 0
    assert [line.request for line in ledger.history()] == ["a", "b"]


def test_a_refused_request_spoils_nothing(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        spend(ledger, 1.5, "too much")
    spend(ledger, 1.0, "just right")
    assert ledger.account().spent == NANO


def test_partition_into_four_costs_the_most_expensive(ledger: Ledger) -> None:
    """A partition into 4 with .5 each costs .5."""
    charged = [spend(ledger, 0.5, f"part {i}", ("sex", str(i))) for i in range(4)]
    assert charged == [NANO // 2, 0, 0, 0]
    assert spend(ledger, 0.25, "one part again", ("sex", "1")) == NANO // 4
    # another way to split the table overlaps with the first: it adds up
    assert spend(ledger, 0.25, "by year", ("year", "1")) == NANO // 4
    with pytest.raises(BudgetExceeded):
        spend(ledger, 0.001, "whole table")


def test_parts_of_parts(ledger: Ledger) -> None:
    assert spend(ledger, 0.2, "a", ("sex", "F"), ("year", "1")) == NANO // 5
    assert spend(ledger, 0.2, "b", ("sex", "F"), ("year", "2")) == 0
    assert spend(ledger, 0.1, "c", ("sex", "F")) == NANO // 10
    assert spend(ledger, 0.3, "d", ("sex", "M"), ("year", "1")) == 0
    assert spend(ledger, 0.1, "e", ("sex", "M"), ("year", "1")) == NANO // 10


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 200),
            st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("xyz")), max_size=2).map(tuple),
        ),
        max_size=12,
    )
)
def test_any_order_costs_what_composition_says(
    tmp_path_factory: pytest.TempPathFactory, questions: list[tuple[int, tuple[tuple[str, str], ...]]]
) -> None:
    """Against the definition: own questions add up, partitions add up, parts of a partition count by their maximum."""
    ledger = Ledger.create(tmp_path_factory.mktemp("l") / "l.db", 10.0, ROW)
    for number, (cost, path) in enumerate(questions):
        spend(ledger, cost / NANO, str(number), *path)

    def cost_of(prefix: tuple[tuple[str, str], ...]) -> int:
        own = sum(cost for cost, path in questions if path == prefix)
        below = {
            path[len(prefix)] for _, path in questions if path[: len(prefix)] == prefix and len(path) > len(prefix)
        }
        return own + sum(
            max(cost_of((*prefix, part)) for part in below if part[0] == name) for name in {p for p, _ in below}
        )

    assert ledger.account().spent == cost_of(())
    ledger.close()


def test_the_same_request_is_charged_once_and_answered_the_same(ledger: Ledger) -> None:
    def ask(question: str) -> object:
        return ledger.charge(0.3, "r1", unit=ROW, purpose="count", question=question)

    ask("how many")
    with pytest.raises(ConfigError, match="no recorded answer"):
        ask("how many")
    assert ledger.answer("r1", "41") == "41"
    assert ledger.answer("r1", "43") == "41"  # a second draw is never shown
    again = ledger.charge(0.3, "r1", unit=ROW, purpose="count", question="how many")
    assert (again.answer, again.line) == ("41", 1)
    with pytest.raises(ConfigError, match="another question"):
        ask("how few")
    with pytest.raises(ConfigError, match="never charged"):
        ledger.answer("r2", "1")
    assert ledger.account().spent == 3 * NANO // 10


def test_other_units_are_refused(ledger: Ledger) -> None:
    for unit in (PrivacyUnit("patient"), PrivacyUnit(relation="replace"), PrivacyUnit(max_rows=2)):
        with pytest.raises(ConfigError, match="another unit"):
            ledger.charge(0.1, "r", unit=unit, purpose="count")


def test_budgets_are_set_up_once_and_must_exist(ledger: Ledger, tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with pytest.raises(ConfigError, match="already"):
        Ledger.create(place, 5.0, ROW)
    Ledger.create(place, 5.0, ROW, budget="other").close()
    assert Ledger.open(place).account().total == NANO
    with pytest.raises(StoreError, match="no such budget"):
        Ledger.open(place, budget="third")
    with pytest.raises(StoreError, match=r"no such database.*deid budget init"):
        Ledger.open(tmp_path / "none.db")
    assert place.stat().st_mode & 0o077 == 0


SPENDER = """
import sys
from deid.dp.budget import BudgetExceeded, Ledger
from deid.dp.unit import PrivacyUnit
ledger, granted = Ledger.open(sys.argv[1]), 0
for number in range(25):
    try:
        ledger.charge(0.01, f"{sys.argv[2]}-{number}", unit=PrivacyUnit(), purpose="count")
        granted += 1
    except BudgetExceeded:
        pass
print(granted)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a ledger: a file, and a server."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return str(request.getfixturevalue("postgresql")())


def test_parts_and_answers_in_both_databases(place: str) -> None:
    ledger = Ledger.create(place, 1.0, ROW)
    assert [spend(ledger, 0.5, f"part {i}", ("sex", str(i))) for i in range(3)] == [NANO // 2, 0, 0]
    assert ledger.answer("part 0", "7") == "7"
    assert [line.answer for line in Ledger.open(place).history()] == ["7", None, None]
    with pytest.raises(ConfigError, match="already"):
        Ledger.create(place, 2.0, ROW)
    ledger.close()


def test_four_processes_share_what_is_affordable(place: str) -> None:
    Ledger.create(place, 0.5, ROW).close()
    running = [
        subprocess.Popen([sys.executable, "-c", SPENDER, place, str(i)], stdout=subprocess.PIPE, text=True)
        for i in range(4)
    ]
    granted = [int(process.communicate()[0]) for process in running]
    assert sum(granted) == 50
    ledger = Ledger.open(place)
    assert ledger.account().remaining == 0
    assert sorted(line.line for line in ledger.history()) == list(range(1, 51))


HANGING = """
import sys, time
from deid.dp.budget import Ledger
from deid.dp.unit import PrivacyUnit
Ledger.open(sys.argv[1]).charge(0.3, "r1", unit=PrivacyUnit(), purpose="count", question="q")
print("charged", flush=True)
time.sleep(3600)
"""


def test_killed_between_charge_and_answer_has_paid_and_gets_nothing(place: str) -> None:
    Ledger.create(place, 0.5, ROW).close()
    process = subprocess.Popen([sys.executable, "-c", HANGING, place], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "charged\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    ledger = Ledger.open(place)
    assert ledger.account().spent == 3 * NANO // 10
    with pytest.raises(ConfigError, match="interrupted"):
        ledger.charge(0.3, "r1", unit=ROW, purpose="count", question="q")
    with pytest.raises(BudgetExceeded):
        spend(ledger, 0.3, "r2")
    spend(ledger, 0.2, "r3")


def test_killed_at_any_moment_leaves_a_sound_ledger(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, 0.25, ROW).close()
    for attempt in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", SPENDER, place, str(attempt)], stdout=subprocess.PIPE, text=True
        )
        before = len(Ledger.open(place).history())
        deadline = time.monotonic() + 300
        while len(Ledger.open(place).history()) == before and time.monotonic() < deadline and process.poll() is None:
            pass
        process.kill()
        process.communicate()
        ledger = Ledger.open(place)
        assert ledger.account().spent == sum(line.charged for line in ledger.history())


def test_epsilons_are_taken_as_written_and_never_lose() -> None:
    assert to_nano(0.1) == NANO // 10
    assert to_nano("0.0000000015") == 2
    assert to_nano("0.0000000015", up=False) == 1
    assert from_nano(to_nano(0.1)) <= 0.1
    for wrong in (0, -1, "x", float("nan"), float("inf"), 1e-12):
        with pytest.raises(ConfigError):
            to_nano(wrong, up=False)


@given(st.integers(10**4, 10**10), st.lists(st.floats(0.05, 1), min_size=1, max_size=9))
def test_shares_never_exceed_the_whole(nanos: int, weights: list[float]) -> None:
    from fractions import Fraction

    parts = split_epsilon(nanos / NANO, weights)
    assert sum(map(Fraction, parts)) * NANO <= nanos
    assert sum(map(Fraction, parts)) * NANO > nanos - len(parts) - 1


def test_a_process_tells_each_charge_once(tmp_path: Path) -> None:
    """A command that fails behind its charge says so; the next one in the same process, such as a test's, does not."""
    charges_made()
    ledger = Ledger.create(tmp_path / "l.db", 3.0, ROW)
    for request in ("answered", "lost"):
        ledger.charge(1.0, request, unit=ROW, purpose="x", question={"q": request})
    note_answer("answered")
    first, second = charges_made()
    assert "--request answered costs nothing" in first
    assert "asking again costs again (request lost)" in second
    assert charges_made() == []


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="files that are open are told by /proc")
def test_a_ledger_that_is_closed_holds_no_file(tmp_path: Path) -> None:
    place = tmp_path / "l.db"

    def held() -> bool:
        return any(one.exists() and one.readlink() == place for one in Path("/proc/self/fd").iterdir())

    ledger = Ledger.create(place, 2.0, PrivacyUnit())
    assert held()
    ledger.close()
    assert not held()
