"""Cost a name of the vault as it grows: recording, looking up, recognizing originals, checking, re-keying.

    python scripts/bench/bench_vault.py                         # a SQLite file in a temporary folder
    python scripts/bench/bench_vault.py --place URL             # an empty PostgreSQL database

Names are recorded 20 at a time, as of one document. CPU time is this process's; wall time holds the disk's
synchronization at every commit (and the server's work).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from deid.base.keys import Key
from deid.replacement.vault import Entry, Vault

BATCH = 20
STEPS = 5
PROBES = 200


def entry(number: int) -> Entry:
    """Return the entry of a made-up person."""
    return Entry(
        f"patient:{number // 10}", "PATIENT", f"Given{number} Family{number * 7}", f"Other{number * 3} Name{number}"
    )


def run(place: str, count: int) -> None:
    """Fill a vault and print the costs."""
    with Vault.create(place, Key(b"k" * 32), who="bench") as vault:
        print(f"{'names':>8}{'record':>14}{'':>12}{'look-up':>12}{'is_original':>13}")
        print(f"{'':>8}{'CPU us/name':>14}{'wall':>12}{'CPU ms':>12}{'CPU ms':>13}")
        for step in range(STEPS):
            begun, clock = time.process_time(), time.perf_counter()
            first = count * step // STEPS
            last = count * (step + 1) // STEPS
            for start in range(first, last, BATCH):
                vault.record_all(map(entry, range(start, min(start + BATCH, last))))
            cpu, wall = time.process_time() - begun, time.perf_counter() - clock
            times = []
            for probe in (
                lambda n: vault.lookup(entry(n).surrogate, who="bench", why="bench"),
                lambda n: vault.is_original(entry(n).original),
            ):
                start_cpu = time.process_time()
                assert all(probe(n * last // PROBES) for n in range(PROBES))
                times.append(1000 * (time.process_time() - start_cpu) / PROBES)
            size = last - first
            print(f"{last:>8}{1e6 * cpu / size:>14.0f}{1e6 * wall / size:>12.0f}{times[0]:>12.2f}{times[1]:>13.2f}")
        begun = time.process_time()
        state = vault.verify()
        print(f"verify {state.entries} entries: {time.process_time() - begun:.1f} CPU s")
        begun = time.process_time()
        vault.rotate(Key(b"n" * 32), who="bench", why="bench")
        print(f"rotate: {time.process_time() - begun:.1f} CPU s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=100_000, help="names to record (default 100,000)")
    parser.add_argument("--place", help="where to make the vault (default: a temporary file)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(arguments.place or str(Path(folder) / "vault.db"), arguments.names)


if __name__ == "__main__":
    main()
