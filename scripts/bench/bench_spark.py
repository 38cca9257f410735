"""Notes a second on Spark, against plain processes in the same run, with the same output.

    python scripts/bench/bench_spark.py                          # 4,000 notes, rules and model, two processes
    python scripts/bench/bench_spark.py --notes 100000 --jobs 4
    python scripts/bench/bench_spark.py --notes 100000 --model none --characters 200    # short notes

The notes are those of corpora/synthetic/sample, again and again, under ids of their own, as Parquet. `deid scrub --jobs
N` and `deid spark scrub --master local[N]` go over them one after the other; the rows that they write are compared.
Told are seconds on the clock, the start of Python, model and Java included, and the CPU seconds of all processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "corpora" / "synthetic" / "sample" / "txt"


def make(path: Path, count: int, texts: Path, most: int | None) -> int:
    """Write a table of notes; return their characters."""
    found = [file.read_text(encoding="utf-8")[:most] for file in sorted(texts.glob("*.txt"))]
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("patient", pa.int64())])
    size = 0
    with pq.ParquetWriter(path, schema) as writer:
        notes = enumerate(islice(cycle(found), count))
        while some := list(islice(notes, 1000)):
            size += sum(len(text) for _, text in some)
            rows = [{"id": f"n{n}", "text": text, "patient": n // 5} for n, text in some]
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return size


def timed(*command: str) -> tuple[float, float]:
    """Return seconds on the clock, and CPU seconds of a command and all its processes: Spark's are not its children."""
    began = time.perf_counter()
    run = subprocess.Popen([sys.executable, "-m", "deid", *command], stderr=subprocess.DEVNULL, start_new_session=True)
    used: dict[int, float] = {}
    while run.poll() is None:
        for file in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = file.read_text().rpartition(")")[2].split()
                if int(fields[3]) == run.pid:  # its session
                    used[int(file.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.2)
    if run.returncode:
        raise SystemExit(f"deid {command[0]} failed")
    return time.perf_counter() - began, sum(used.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--model", default="en")
    parser.add_argument("--texts", type=Path, default=SAMPLE)
    parser.add_argument("--characters", type=int, help="cut notes to so many characters")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["XDG_CONFIG_HOME"] = str(place / "config")
        key = place / "key"
        key.write_text("6b" * 32)
        key.chmod(0o600)
        size = make(place / "in.parquet", said.notes, said.texts, said.characters)
        print(f"{said.notes} notes, {size / 1e6:.1f} MB of text, {said.jobs} processes")
        options = ("--key-file", str(key), "--model", said.model, "--patient-field", "patient", "--quiet")
        ways = {
            "deid scrub": ("scrub", "--jobs", str(said.jobs)),
            "deid spark scrub": ("spark", "scrub", "--master", f"local[{said.jobs}]"),
        }
        rates: list[float] = []
        for name, (*words, option, value) in ways.items():
            out = place / f"{words[0]}.parquet"
            clock, cpu = timed(*words, str(place / "in.parquet"), str(out), option, value, *options)
            rates.append(said.notes / clock)
            ratio = f", {rates[-1] / rates[0]:.2f} of deid scrub's" if len(rates) > 1 else ""
            print(f"{name:<18}{rates[-1]:8.0f} notes/s{ratio}; {clock:.1f} s on the clock, {cpu:.1f} CPU seconds")
        plain, spark = (pq.read_table(place / f"{name}.parquet").sort_by("id") for name in ("scrub", "spark"))
        print(f"equal rows: {plain.equals(spark)} ({plain.num_rows})")


if __name__ == "__main__":
    main()
