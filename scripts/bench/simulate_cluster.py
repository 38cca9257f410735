"""How long many notes take on many cores, when machines are slow, die, or are taken away: a simulation.

    python scripts/bench/simulate_cluster.py   # 10**8 and 10**9 notes, 64 to 4,096 cores
    python scripts/bench/simulate_cluster.py --notes 1e8 --rate 300 --cores 256 --price 0.02

A job is cut into tasks, which cores take in turn, as Spark does. A note costs 1 / `--rate` core seconds, times a factor
of its task that is log-normal (notes differ; sigma .2), times that of its machine of `--machine` cores: of `--slow`
(3 %) of the machines two to five times, as on hosts that others use too. A machine dies, or is taken away, `--deaths`
times in an hour (.02): what its cores were doing is lost and done again, and it is back five minutes later. With
speculation a task that takes 1.5 times the median, when three quarters of all are done, is begun a second time; the
first that ends counts. A task that fails by itself (`--failures`, .1 %) is tried again. Draws come from a fixed seed.

Told are hours on the clock, the same without speculation, tasks that were done again or begun twice, and what a million
notes cost at `--price` a core hour; each core is paid for from the beginning to the end.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass

import numpy as np

_AGAIN = 300.0
"""Seconds until a machine that died has a successor."""
_START = 60.0
"""Seconds in which a worker starts and loads its model, and Spark its executors."""


@dataclass(frozen=True)
class Cluster:
    """What a job runs on."""

    cores: int
    machine: int
    slow: float
    deaths: float
    failures: float
    speculation: bool


def run(tasks: np.ndarray, cluster: Cluster, rng: np.random.Generator) -> tuple[float, int, int]:
    """Return hours on the clock, tasks that were done again, and tasks that were begun twice."""
    machines = max(1, cluster.cores // cluster.machine)
    factor = np.where(rng.random(machines) < cluster.slow, rng.uniform(2, 5, machines), 1.0)
    life = np.zeros(machines, dtype=int)  # counts up when a machine dies
    idle = [machine for machine in range(machines) for _ in range(cluster.machine)][::-1]
    waiting = list(range(len(tasks)))[::-1]
    # what will happen: the end of a task (task, machine, the machine's life), a death (-1), a machine's return (-2)
    events: list[tuple[float, int, int, int]] = []
    for machine in range(machines if cluster.deaths else 0):
        heapq.heappush(events, (rng.exponential(3600 / cluster.deaths), -1, machine, 0))
    running: dict[int, dict[int, float]] = {}  # task -> machine -> when it began there
    done = np.zeros(len(tasks), dtype=bool)
    left, again, twice, clock = len(tasks), 0, 0, _START
    late = 1.5 * float(np.median(tasks))

    def begin(task: int) -> None:
        machine = idle.pop()
        running.setdefault(task, {})[machine] = clock
        heapq.heappush(events, (clock + tasks[task] * factor[machine], task, machine, life[machine]))

    def put_back(task: int) -> None:
        nonlocal again
        if not done[task] and not running.get(task):
            waiting.append(task)
            again += 1

    while left:
        while waiting and idle:
            begin(waiting.pop())
        if cluster.speculation and not waiting and idle and left < len(tasks) / 4:
            slow = [t for t, where in running.items() if len(where) == 1 and clock - min(where.values()) > late]
            for task in slow[: len(idle)]:
                begin(task)
                twice += 1
        at, task, machine, lived = heapq.heappop(events)
        clock = max(clock, at)
        if task == -1:
            life[machine] += 1
            idle = [other for other in idle if other != machine]
            for other in [t for t, where in running.items() if machine in where]:
                del running[other][machine]
                put_back(other)
            heapq.heappush(events, (clock + _AGAIN, -2, machine, 0))
        elif task == -2:
            idle += [machine] * cluster.machine
            factor[machine] = rng.uniform(2, 5) if rng.random() < cluster.slow else 1.0
            heapq.heappush(events, (clock + rng.exponential(3600 / cluster.deaths), -1, machine, 0))
        elif lived == life[machine]:
            idle.append(machine)
            running.get(task, {}).pop(machine, None)
            if done[task]:
                continue
            if rng.random() < cluster.failures:
                put_back(task)
                continue
            done[task] = True
            left -= 1
            for other in running.pop(task, {}):  # the second copy is ended
                idle.append(other)
                life_of = life[other]
                events[:] = [e for e in events if not (e[1] == task and e[2] == other and e[3] == life_of)]
                heapq.heapify(events)
    return clock / 3600, again, twice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=float, nargs="*", default=[1e8, 1e9])
    parser.add_argument("--cores", type=int, nargs="*", default=[64, 512, 4096])
    parser.add_argument("--rate", type=float, default=100.0, help="notes a core second")
    parser.add_argument("--task", type=float, default=120.0, help="seconds that a task should take")
    parser.add_argument("--machine", type=int, default=16, help="cores of a machine")
    parser.add_argument("--slow", type=float, default=0.03)
    parser.add_argument("--deaths", type=float, default=0.02, help="of a machine, an hour")
    parser.add_argument("--failures", type=float, default=0.001)
    parser.add_argument("--price", type=float, default=0.041, help="of a core hour")
    said = parser.parse_args()
    print(f"{said.rate:g} notes a core second, tasks of about {said.task:g} s, {said.price:g} a core hour")
    heads = {"notes": 8, "cores": 7, "tasks": 9, "ideal h": 9, "hours": 8, "without": 9, "again": 7, "twice": 7}
    print("".join(f"{head:>{width}}" for head, width in heads.items()) + "  a million")
    for notes in said.notes:
        for cores in said.cores:
            rng = np.random.default_rng(11)
            count = max(cores, int(notes / said.rate / said.task))
            tasks = notes / said.rate / count * np.exp(rng.normal(0, 0.2, count) - 0.02)
            made = {
                speculation: run(
                    tasks,
                    Cluster(cores, said.machine, said.slow, said.deaths, said.failures, speculation),
                    np.random.default_rng(5),
                )
                for speculation in (True, False)
            }
            hours, again, twice = made[True]
            ideal = notes / said.rate / cores / 3600
            print(
                f"{notes:>8.0e}{cores:>7}{count:>9,}{ideal:>9.2f}{hours:>8.2f}{made[False][0]:>9.2f}{again:>7}{twice:>7}"
                f"{hours * cores * said.price / notes * 1e6:>11.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
