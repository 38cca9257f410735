"""The pool of processes: order, requests that kill their worker, work that a script defines."""

from __future__ import annotations

import operator
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from deid.base.errors import DeidError, DetectionError
from deid.base.pool import Pool


class Doubling:
    """Doubles numbers; dies of a negative one."""

    notes = ("ready to double",)

    def __call__(self, numbers: list[int]) -> list[int]:
        if min(numbers) < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return [2 * n for n in numbers]


def test_answers_come_in_order_and_a_deadly_request_is_cut_until_it_is_found() -> None:
    requests = [list(range(n, n + 5)) for n in range(0, 60, 5)]
    requests[4][2] = -1
    with Pool(Doubling, 2) as pool:
        found = list(pool.in_order(iter(requests), lambda numbers: [[n] for n in numbers], lambda numbers: numbers))
        assert pool.notes == ("ready to double",)
        assert pool.restarts == 3
    assert [n for numbers in found for n in numbers] == [n if n < 0 else 2 * n for own in requests for n in own]


class DiesOnce:
    """Doubles a number; the first worker that is asked is killed, as somebody might kill it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, number: int) -> int:
        if number == 3 and not self.place.exists():
            self.place.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * number


def test_a_request_whose_worker_somebody_killed_is_answered_by_another(tmp_path: Path) -> None:
    with Pool(partial(DiesOnce, tmp_path / "killed"), 2) as pool:
        assert list(pool.in_order(iter(range(8)))) == [2 * n for n in range(8)]
        assert pool.restarts == 1


def test_a_request_that_cannot_be_cut_ends_the_run() -> None:
    with Pool(Doubling, 1) as pool, pytest.raises(DetectionError, match="died"):
        list(pool.in_order(iter([[1], [-1], [2]])))


def test_a_fault_of_the_work_is_told_without_its_message() -> None:
    with Pool(partial(partial, operator.getitem, {}), 1) as pool, pytest.raises(DeidError) as caught:
        list(pool.in_order(iter(["Zebulon"])))
    assert "KeyError" in str(caught.value)
    assert "Zebulon" not in str(caught.value)


@pytest.mark.parametrize("guarded", [True, False])
def test_work_of_a_script_needs_its_guard(guarded: bool, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    guard = 'if __name__ == "__main__":' if guarded else "if True:"
    script.write_text(
        "from deid.base.pool import Pool\n\nclass Work:\n    def __call__(self, n):\n        return n + 1\n\n"
        f"{guard}\n    with Pool(Work, 1) as pool:\n        print(*pool.in_order(iter([1, 2])))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert (done.stdout == "2 3\n") == guarded
    assert guarded == (done.returncode == 0)
