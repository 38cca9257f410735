"""What anonymizing, checking, counting and extracting tables cost in memory and time, on disk and in memory.

    python scripts/bench/bench_out_of_core.py                                # a million rows, 512 MB
    python scripts/bench/bench_out_of_core.py --rows 10000000 --memory 1G --only disk
    python scripts/bench/bench_out_of_core.py --ways cube,persons
    python scripts/bench/bench_out_of_core.py --ways codes --only disk
    python scripts/bench/bench_out_of_core.py --ways extract --only disk --rows 5000

The table is made up: a person, who has four rows, age, day of birth, one of 900 places, sex, a year, one of 60
diagnoses. In memory, ``cube`` and ``persons`` (a cube whose persons are bounded) read a CSV of it, which is read whole.
``codes`` publishes the diagnoses of each person, ``extract`` reads a note of 110 characters a row by rules alone, and
``given`` by the spans that stand beside it; these have one way. Seconds are those on the clock; memory is the most that
was resident in the command and, added, in any of its workers; aside is what the folder of temporary files held at most.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

CHECKED = ("--qi", "age,born,place,sex,year", "--sensitive", "diagnosis", "--k", "5", "--l", "2")
STATED = (*CHECKED, "--each-row-a-person", "--method", "mondrian", "--drop", "person")
COUNTED = ("--dims", "age,sex,year", "--domain", "age=0..99", "--domain", "sex=F,M", "--domain", "year=2010..2024")
NOISY = (*COUNTED, "--epsilon", "1", "--not-private-seed", "1", "--quiet")
CODED = ("--codes", "diagnosis", "--person", "person", "--persons-as-given", "--method", "km", "--k", "5", "--m", "2")
WAYS = ("anonymize", "privacy", "cube", "persons")


def make(path: Path, count: int) -> None:
    """Write a table by groups of rows."""
    rng = np.random.default_rng(5)
    writer = None
    for begin in range(0, count, 500_000):
        size = min(500_000, count - begin)
        age = np.clip(rng.normal(52, 22, size), 0, 99).astype(np.int64)
        place = np.minimum(rng.geometric(0.01, size), 900)
        table = pa.table(
            {
                "person": pa.array([f"{n:08}" for n in rng.integers(0, max(count // 4, 1), size).tolist()]),
                "age": age,
                "born": pa.array(np.datetime64("2024-06-30") - age * 365 - rng.integers(0, 365, size)).cast(
                    pa.string()
                ),
                "place": pa.array([f"P{n:03}" for n in place.tolist()]),
                "sex": pa.array(np.where(rng.random(size) < 0.5, "F", "M").tolist()),
                "year": rng.integers(2010, 2025, size),
                "diagnosis": pa.array([f"D{n:02}" for n in np.minimum(rng.geometric(0.08, size), 60).tolist()]),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def make_notes(path: Path, count: int) -> None:
    """Write a table of notes, four of a person, and the spans of name, day and record number."""
    text = "{} was seen on {} by Dr. Alice Baker at Mercy Hospital. MRN: {}. Asthma, stable."
    rows, spans = [], []
    for n in range(count):
        told = {
            "PATIENT": f"Zebulon Quarter{chr(97 + n // 4 % 26)}main",
            "DATE": f"{n % 28 + 1}/3/2019",
            "MEDICALRECORD": f"{4_000_000 + n // 4}",
        }
        rows.append(text.format("Mr. " + told["PATIENT"], *list(told.values())[1:]))
        starts = {label: rows[-1].index(value) for label, value in told.items()}
        spans.append(json.dumps([{"start": s, "end": s + len(told[one]), "label": one} for one, s in starts.items()]))
    ids = [f"n{n}" for n in range(count)]
    table = pa.table({"id": ids, "person": [f"p{n // 4}" for n in range(count)], "text": rows, "spans": spans})
    pq.write_table(table, path)


def measured(*command: str, temporary: Path) -> tuple[float, int, int]:
    """Return the seconds on the clock, and the most bytes that a command and its processes held and put aside."""
    began, most, aside = time.perf_counter(), 0, 0
    temporary.mkdir(exist_ok=True)
    run = subprocess.Popen(
        [sys.executable, "-m", "deid", *command],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    while run.poll() is None:
        now, held = 0, dict[int, int]()
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                if int((place / "stat").read_text().rpartition(")")[2].split()[3]) == run.pid:  # its session
                    now += int((place / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                    held |= sizes(path for path in (place / "fd").iterdir() if path.stat().st_nlink == 0)
        held |= sizes(temporary.rglob("*"))
        most, aside = max(most, now), max(aside, sum(held.values()))
        time.sleep(0.1)
    if run.returncode:
        raise SystemExit(f"deid {command[0]} failed")
    return time.perf_counter() - began, most, aside


def sizes(paths: Iterable[Path]) -> dict[int, int]:
    """Return the bytes on disk of regular files, by their numbers; those that are gone meanwhile have none."""
    found = {}
    for path in paths:
        with suppress(OSError):
            if stat.S_ISREG((told := path.stat()).st_mode):
                found[told.st_ino] = told.st_blocks * 512
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--only", choices=("disk", "memory"))
    parser.add_argument("--ways", default=",".join(WAYS))
    said = parser.parse_args()
    asked = said.ways.split(",")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["XDG_CONFIG_HOME"] = str(place / "config")
        make(place / "in.parquet", said.rows)
        if {"extract", "given"} & {*asked}:
            make_notes(place / "notes.parquet", said.rows)
        print(f"{said.rows:,} rows, {(place / 'in.parquet').stat().st_size / 1e6:.0f} MB of Parquet", flush=True)
        for name in ("disk", "memory"):
            if said.only not in (None, name):
                continue
            how = ["--memory", said.memory] if name == "disk" else []
            jobs = ["--jobs", said.jobs] if name == "disk" else []
            table, out = place / "in.parquet", str(place / f"{name}.parquet")
            if name == "memory" and {"cube", "persons"} & {*asked}:
                table = place / "in.csv"
                pyarrow.csv.write_csv(pq.read_table(place / "in.parquet"), table)
            extract = ("extract", str(place / "notes.parquet"), "--patient-field", "person", "--quiet")
            ways = {
                "anonymize": ("anonymize", str(place / "in.parquet"), *STATED, "-o", out, "--quiet", *how, *jobs),
                "privacy": ("privacy", out, *CHECKED, "--quiet", *how),
                "cube": ("cube", str(table), *NOISY, "-o", str(place / f"{name}-cube.csv")),
                "persons": ("cube", str(table), *NOISY, "--person", "person", "-o", str(place / f"{name}-persons.csv")),
                "codes": ("codes", "anonymize", str(place / "in.parquet"), *CODED, "--quiet",
                          "-o", str(place / "codes.csv")),
                "extract": (*extract, str(place / "view.csv"), "--model", "none", "--spans-field", ""),
                "given": (*extract, str(place / "given.csv"), "--gold"),
            }  # fmt: skip
            for what in asked if name == "disk" else [one for one in asked if one in WAYS]:
                seconds, most, aside = measured(*ways[what], temporary=place / "temporary")
                told = f"{most / 1e6:8,.0f} MB {aside / 1e6:8,.0f} MB aside"
                print(f"{what:<10} {name:<7}{seconds:8.1f} s {told}", flush=True)
        for what in ("cube", "persons"):
            if said.only is None and what in asked:
                disk, memory = ((place / f"{name}-{what}.csv").read_bytes() for name in ("disk", "memory"))
                print(f"equal {what}: {disk == memory}")
        if said.only is None and "anonymize" in asked:
            disk, memory = (pq.read_table(place / f"{name}.parquet").to_pandas() for name in ("disk", "memory"))
            names = list(disk.columns)
            same = (
                disk.astype(str)
                .sort_values(names)
                .reset_index(drop=True)
                .equals(memory.astype(str).sort_values(names).reset_index(drop=True))
            )
            print(f"equal releases: {same}")


if __name__ == "__main__":
    main()
