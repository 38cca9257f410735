"""What `deid filter` costs: to start, to go through a feed with one worker and with two, and in memory.

    python scripts/bench/bench_filter.py                        # rules alone, 8 MB
    python scripts/bench/bench_filter.py --model en --megabytes 4
    python scripts/bench/bench_filter.py --only memory --megabytes 1000

The feed is the notes of corpora/synthetic/sample, again and again, as NDJSON. CPU seconds are those of all processes;
the baseline of the start is Python doing nothing, that of two workers is one worker in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from itertools import cycle
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "corpora" / "synthetic" / "sample" / "txt"
DEID = [sys.executable, "-m", "deid"]


def cpu(command: list[str], data: bytes = b"") -> float:
    """Return the CPU seconds of a command and of the processes that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def start(options: list[str]) -> None:
    """Print what it costs until the first record is out."""
    note = json.dumps({"text": "Seen by Dr. Alice Baker on 3 May 2019."}).encode() + b"\n"
    commands = {
        "python -c pass": ([sys.executable, "-c", "pass"], b""),
        "deid --version": ([*DEID, "--version"], b""),
        "deid filter, one record": ([*DEID, "filter", "--format", "ndjson", *options], note),
    }
    base = 0.0
    for name, (command, data) in commands.items():
        cpu(command, data)  # warms the disk cache
        seconds = statistics.median(cpu(command, data) for _ in range(5))
        base = base or seconds
        print(f"{name:<28}{seconds:>8.3f} CPU s{seconds / base:>8.1f} times python -c pass")


def feed(path: Path, megabytes: float) -> int:
    """Write a feed of at least that size and return its size."""
    texts = [p.read_text(encoding="utf-8") for p in sorted(SAMPLE.glob("*.txt"))]
    size = number = 0
    with path.open("wb") as stream:
        for text in cycle(texts):
            size += stream.write(json.dumps({"id": f"n{number}", "text": f"{text}\n{number}"}).encode() + b"\n")
            number += 1
            if size >= megabytes * 1e6:
                return size
    return size


def jobs(folder: Path, size: int, options: list[str], rounds: int) -> None:
    """Print the ratio of two workers to one, from file to file and on a pipe."""
    source = folder / "feed"
    for way in ("file to file", "pipe"):
        walls: dict[int, list[float]] = {1: [], 2: []}
        for number in range(rounds):
            for count in (1, 2):
                target = folder / f"out-{way}-{number}-{count}"
                command = [*DEID, "filter", "--format", "ndjson", "--jobs", str(count), "-q", *options]
                begun = time.perf_counter()
                if way == "pipe":
                    with target.open("wb") as out:
                        reading = subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE)
                        subprocess.run(command, stdin=reading.stdout, stdout=out, stderr=subprocess.DEVNULL, check=True)
                        reading.wait()
                else:
                    subprocess.run(
                        [*command, "--input", str(source), "--output", str(target)],
                        stderr=subprocess.DEVNULL,
                        check=True,
                    )
                walls[count].append(time.perf_counter() - begun)
        one, two = (statistics.median(walls[count]) for count in (1, 2))
        print(
            f"{way}: 1 worker {one:.1f} s ({size / one / 1e6:.2f} MB/s), 2 workers {two:.1f} s: "
            f"{one / two:.2f} times (start included; load {os.getloadavg()[0]:.1f})"
        )


def resident(process: int) -> int:
    """Return a process's resident memory in MB."""
    try:
        fields = Path(f"/proc/{process}/status").read_text().split("VmRSS:")
        return int(fields[1].split()[0]) // 1024 if len(fields) > 1 else 0
    except OSError:
        return 0


def memory(folder: Path, size: int, options: list[str]) -> None:
    """Print the resident memory of the parent and of each worker at tenths of the feed."""
    target = folder / "out-memory"
    files = ["--input", str(folder / "feed"), "--output", str(target), "--journal", str(folder / "journal")]
    command = [*DEID, "filter", "--format", "ndjson", "--jobs", "2", "-q", *options, *files]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    ended = threading.Event()
    threading.Thread(target=lambda: (process.wait(), ended.set()), daemon=True).start()
    part = folder / f".deid-part-{target.name}"
    tenth, peak = 1, 0
    while not ended.wait(0.2):
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        except OSError:
            break
        workers = [resident(int(child)) for child in children]
        peak = max([peak, *workers])
        done = part.stat().st_size if part.exists() else 0
        if workers and done >= tenth * size / 10:
            print(f"{done / 1e6:8.1f} MB out: parent {resident(process.pid)} MB, workers {workers} MB", flush=True)
            tenth = int(done / size * 10) + 1
    print(f"peak of a worker: {peak} MB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="none", help="as of deid filter (default: rules alone)")
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("start", "jobs", "memory"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = ["--model", arguments.model, "--key-file", str(folder / "key"), "--patient-field", "id"]
        if arguments.only in (None, "start"):
            start(options)
        size = feed(folder / "feed", arguments.megabytes) if arguments.only != "start" else 0
        if arguments.only in (None, "jobs"):
            jobs(folder, size, options, arguments.rounds)
        if arguments.only in (None, "memory"):
            memory(folder, size, options)


if __name__ == "__main__":
    main()
