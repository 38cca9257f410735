"""What `deid filter` costs: to start, to go through a feed with one worker and with two, and in memory.

    python scripts/bench/bench_filter.py                        # rules alone, 8 MB
    python scripts/bench/bench_filter.py --model en --megabytes 4
    python scripts/bench/bench_filter.py --only memory --megabytes 1000

The feed is the notes of corpora/synthetic/sample, again and again, as NDJSON. CPU seconds are those of all processes;
the baseline of the start is Python doing nothing, that of two workers is one worker in the same run. Modules are read
as byte code, as installed ones are. The ratio of two workers is told in seconds on the clock, which others on the
machine spoil, and in CPU seconds of the busiest worker and of the process that reads and writes, one after the other:
what it would be at least on a machine with a free core for each.
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
from contextlib import suppress
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


def start(folder: Path, options: list[str]) -> None:
    """Print what it costs until the first record is out."""
    plain, scrubbed = folder / "note.txt", folder / "scrubbed.txt"
    plain.write_text("Seen by Dr. Alice Baker on 3 May 2019.\n")
    note = json.dumps({"text": "Seen by Dr. Alice Baker on 3 May 2019."}).encode() + b"\n"
    commands = {
        "python -c pass": ([sys.executable, "-c", "pass"], b""),
        "deid --version": ([*DEID, "--version"], b""),
        "deid filter, one record": ([*DEID, "filter", "--format", "ndjson", *options], note),
        "deid scrub, one note": ([*DEID, "scrub", str(plain), str(scrubbed), *options[:4]], b""),
    }
    base = 0.0
    for name, (command, data) in commands.items():
        times = []
        for _ in range(6):
            times.append(cpu(command, data))
            scrubbed.unlink(missing_ok=True)
        seconds = statistics.median(times[1:])  # the first warms the disk cache
        base = base or seconds
        shown(name, seconds, base)
    times = []
    for number in range(3):
        os.environ["XDG_CACHE_HOME"] = str(folder / f"cache-{number}")
        times.append(cpu(*commands["deid filter, one record"]))
    shown("the same, no kept tables", statistics.median(times), base)


def shown(name: str, seconds: float, base: float) -> None:
    """Print one line."""
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


def clocks(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Wait for the end of a filter; return the CPU seconds of the process itself and of its busiest worker."""
    own, workers = 0.0, {}
    while process.poll() is None:
        with suppress(OSError, ValueError):
            own = used(process.pid)
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                workers[child] = used(int(child))
        time.sleep(0.05)
    assert process.returncode == 0
    return own, max(workers.values())


def used(process: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def jobs(folder: Path, size: int, options: list[str], rounds: int) -> None:
    """Print the ratio of two workers to one, from file to file and on a pipe."""
    source, target = folder / "feed", folder / "out"
    for way in ("file to file", "pipe"):
        walls: dict[int, list[float]] = {1: [], 2: []}
        busy: dict[int, list[float]] = {1: [], 2: []}
        parents = []
        for _ in range(rounds):
            for count in (1, 2):
                command = [*DEID, "filter", "--format", "ndjson", "--jobs", str(count), "-q", *options]
                begun = time.perf_counter()
                if way == "pipe":
                    with target.open("wb") as out:
                        reading = subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE)
                        process = subprocess.Popen(command, stdin=reading.stdout, stdout=out, stderr=subprocess.DEVNULL)
                        own, worker = clocks(process)
                        reading.wait()
                else:
                    files = ["--input", str(source), "--output", str(target)]
                    own, worker = clocks(subprocess.Popen([*command, *files], stderr=subprocess.DEVNULL))
                walls[count].append(time.perf_counter() - begun)
                busy[count].append(own + worker)
                parents.append(own)
                target.unlink()
        one, two = (statistics.median(walls[count]) for count in (1, 2))
        less, more = (statistics.median(busy[count]) for count in (2, 1))
        print(
            f"{way}: 1 worker {one:.1f} s ({size / one / 1e6:.2f} MB/s), 2 workers {two:.1f} s: "
            f"{one / two:.2f} times (start included; load {os.getloadavg()[0]:.1f})\n"
            f"    CPU: 1 worker {more:.1f} s, 2 workers {less:.1f} s: {more / less:.2f} times "
            f"(of it the process that reads and writes: {statistics.median(parents):.2f} s)",
            flush=True,
        )


def resident(process: int) -> tuple[int, int]:
    """Return a process's resident memory and its share of it (what it has alone, and its part of the rest) in MB."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines[1:]}
    return sizes["Rss"], sizes["Pss"]


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
        peak = max([peak, *(rss for rss, _ in workers)])
        done = part.stat().st_size if part.exists() else 0
        if workers and done >= tenth * size / 10:
            told = ", ".join(f"{rss} ({pss})" for rss, pss in [resident(process.pid), *workers])
            print(f"{done / 1e6:8.1f} MB out: parent and workers {told} MB", flush=True)
            tenth = int(done / size * 10) + 1
    print(f"peak of a worker: {peak} MB (in brackets: its share, where pages are shared)")


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
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        options = ["--model", arguments.model, "--key-file", str(folder / "key"), "--patient-field", "id"]
        if arguments.only in (None, "start"):
            start(folder, options)
        size = feed(folder / "feed", arguments.megabytes) if arguments.only != "start" else 0
        if arguments.only in (None, "jobs"):
            jobs(folder, size, options, arguments.rounds)
        if arguments.only in (None, "memory"):
            memory(folder, size, options)


if __name__ == "__main__":
    main()
