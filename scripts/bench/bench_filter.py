"""What `deid filter` costs: to start, to go through a feed with one worker and with two, and in memory.

    python scripts/bench/bench_filter.py                        # rules alone, 8 MB
    python scripts/bench/bench_filter.py --model en --megabytes 4
    python scripts/bench/bench_filter.py --only runs --model en --texts FOLDER --megabytes 1000 --rounds 1
    python scripts/bench/bench_filter.py --only runs --record 1000                  # records of 1 KB
    python scripts/bench/bench_filter.py --only manifest --record 2000 --megabytes 2

The feed is the texts of a folder (corpora/synthetic/sample), again and again, as NDJSON, each record with an id of its
own and a number, by which it is checked that all came out, in order. It is filtered with one worker and with two, from
file to file and on a pipe. CPU seconds are those of all processes; the baseline of the start is Python doing nothing,
that of two workers is one worker in the same run. Modules are read as byte code, as installed ones are. The ratio of
two workers is told in seconds on the clock, which others on the machine spoil, and in CPU seconds of the busiest worker
and of the process that reads and writes, one after the other: what it would be at least on a machine with a free core
for each. Memory is what is resident, in brackets the share of it where pages are shared (PSS). Manifests are compared
with the same feed without them, in CPU seconds of all processes.
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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
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
    note = json.dumps({"id": "1", "text": "Seen by Dr. Alice Baker on 3 May 2019."}).encode() + b"\n"
    commands = {
        "python -c pass": ([sys.executable, "-c", "pass"], b""),
        "deid --version": ([*DEID, "--version"], b""),
        "deid filter, one record": ([*DEID, "filter", "--from", "ndjson", *options], note),
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


def feed(path: Path, folder: Path, megabytes: float, record: int) -> int:
    """Write a feed of at least that size, of records of about so many characters (0: whole texts); return its size."""
    texts = [p.read_text(encoding="utf-8", errors="replace") for p in sorted(folder.rglob("*.txt"))]
    pieces = [piece for text in texts for piece in (cut(text, record) if record else [text]) if piece.strip()]
    size = number = 0
    with path.open("wb") as stream:
        for piece in cycle(pieces):
            values = {"id": f"n{number}", "number": number, "text": f"{piece}\n{number}"}
            size += stream.write(json.dumps(values).encode() + b"\n")
            number += 1
            if size >= megabytes * 1e6:
                return size
    return size


def cut(text: str, size: int) -> Iterator[str]:
    """Cut a text behind ends of lines, where it has them."""
    while text:
        end = text.rfind("\n", size // 2, size) + 1 or size
        yield text[:end]
        text = text[end:]


def records(path: Path, key: str) -> Iterator[object]:
    """Yield one field of each record."""
    with path.open("rb") as stream:
        for line in stream:
            yield json.loads(line)[key]


@dataclass
class Memory:
    """Resident memory of one process, and its share, in MB, by tenths of the feed."""

    tenths: dict[int, tuple[int, int]] = field(default_factory=dict)
    peak: int = 0

    def grown(self) -> int:
        """Return how much more is resident at the end than after two tenths."""
        later = [rss for tenth, (rss, _) in sorted(self.tenths.items()) if tenth >= 2]
        return later[-1] - later[0] if later else 0


@dataclass
class Run:
    """What a run cost."""

    wall: float
    own: float
    """CPU seconds of the process that reads and writes."""
    workers: list[float]
    """CPU seconds of each worker."""
    memory: list[Memory]
    """Of the process that reads and writes, then of each worker."""


def sampled(process: subprocess.Popen[bytes], out: Path, size: int) -> Run:
    """Watch a filter until it ends; progress is told by the size of what lies in the output's folder."""
    begun, own = time.perf_counter(), 0.0
    cpus: dict[int, float] = {}
    seen: dict[int, Memory] = {}
    ended = threading.Event()

    def watch() -> None:
        process.wait()
        ended.set()

    threading.Thread(target=watch, daemon=True).start()
    while not ended.wait(0.05):
        done = max((p.stat().st_size for p in out.iterdir()), default=0) if out.exists() else 0
        tenth = min(int(10 * done / size), 10)
        with suppress(OSError, ValueError):
            own = used(process.pid)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in (process.pid, *map(int, children)):
                held = seen.setdefault(child, Memory())
                if child != process.pid:
                    cpus[child] = used(child)
                rss = int(Path(f"/proc/{child}/statm").read_text().split()[1]) * resource.getpagesize() // 1_000_000
                held.peak = max(held.peak, rss)
                if tenth not in held.tenths:
                    held.tenths[tenth] = resident(child)
    assert process.returncode == 0, "the filter failed"
    memory = [seen.pop(process.pid, Memory()), *seen.values()]
    return Run(time.perf_counter() - begun, own, list(cpus.values()), memory)


def used(process: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> tuple[int, int]:
    """Return a process's resident memory and its share of it (what it has alone, and its part of the rest) in MB."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 // 1_000_000 for line in lines[1:]}
    return sizes["Rss"], sizes["Pss"]


def once(folder: Path, way: str, workers: int, size: int, options: list[str]) -> Run:
    """Filter the feed once, and check what came out."""
    source, out = folder / "feed", folder / "out"
    out.mkdir()
    target = out / "scrubbed"
    command = [*DEID, "filter", "--from", "ndjson", "--jobs", str(workers), "-q", *options]
    if way == "pipe":
        with target.open("wb") as stream:
            reading = subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE)
            process = subprocess.Popen(command, stdin=reading.stdout, stdout=stream, stderr=subprocess.DEVNULL)
            assert reading.stdout is not None
            reading.stdout.close()
            run = sampled(process, out, size)
            reading.wait()
    else:
        files = [str(source), "--output", str(target)]
        run = sampled(subprocess.Popen([*command, *files], stderr=subprocess.DEVNULL), out, size)
    numbers = records(target, "number")
    same = all(a == b for a, b in zip(records(source, "number"), numbers, strict=True))
    assert same, "records came out in another order"
    target.unlink()
    out.rmdir()
    return run


def runs(folder: Path, size: int, options: list[str], rounds: int) -> None:
    """Print the ratio of two workers to one, from file to file and on a pipe, and memory at tenths of the feed."""
    count = sum(1 for _ in records(folder / "feed", "number"))
    print(f"{size / 1e6:.0f} MB in {count} records")
    for way in ("file to file", "pipe"):
        done: dict[int, list[Run]] = {1: [], 2: []}
        for _ in range(rounds):
            for workers, held in done.items():
                held.append(once(folder, way, workers, size, options))
                told(way, workers, size, count, held[-1])
        walls = {n: statistics.median(r.wall for r in held) for n, held in done.items()}
        busy = {n: statistics.median(r.own + max(r.workers) for r in held) for n, held in done.items()}
        print(
            f"{way}: two workers are {walls[1] / walls[2]:.2f} times as fast as one on the clock, start included "
            f"(load {os.getloadavg()[0]:.1f}), {busy[1] / busy[2]:.2f} times in CPU seconds; all {count} records "
            "came out in order",
            flush=True,
        )


def proved(folder: Path, options: list[str], rounds: int) -> None:
    """Print what manifests cost."""
    count = sum(1 for _ in records(folder / "feed", "number"))
    proofs = {"no manifest": [], "--manifest": ["--manifest", str(folder / "day.json")]}
    proofs["the same, every 100"] = [*proofs["--manifest"], "--manifest-every", "100"]
    spent: dict[str, list[float]] = {name: [] for name in proofs}
    files = ["filter", "--from", "ndjson", str(folder / "feed"), "--output", str(folder / "proved")]
    for number in range(rounds + 1):  # the first writes byte code and kept tables
        for name, more in proofs.items() if number else [("no manifest", [])]:
            spent[name].append(cpu([*DEID, *files, *options, *more]))
            for path in (*folder.glob("proved*"), *folder.glob("day*")):
                path.unlink()
    spent["no manifest"].pop(0)
    base = statistics.median(spent["no manifest"])
    for name, seconds in spent.items():
        found = statistics.median(seconds)
        print(f"{name:<28}{found:>8.3f} CPU s for {count} records, {found / base:.3f} times without")


def told(way: str, workers: int, size: int, count: int, run: Run) -> None:
    """Print what a run cost."""
    print(
        f"{way}, {workers} worker{'s' if workers > 1 else ''}: {run.wall:.1f} s, {size / run.wall / 1e6:.2f} MB/s; "
        f"CPU s: reads and writes {run.own:.2f} ({1e6 * run.own / count:.0f} us a record), "
        f"workers {', '.join(f'{seconds:.1f}' for seconds in run.workers)}"
    )
    names = ["reads, writes", *(f"worker {n}" for n in range(1, len(run.memory)))]
    for name, memory in zip(names, run.memory, strict=True):
        tenths = "  ".join(f"{rss} ({pss})" for tenth, (rss, pss) in sorted(memory.tenths.items()) if tenth)
        print(f"    {name:<14} MB at tenths: {tenths}; peak {memory.peak}, grown by {memory.grown()}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="none", help="as of deid filter (default: rules alone)")
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--texts", type=Path, default=SAMPLE, help="folder of texts that records are made of")
    parser.add_argument("--record", type=int, default=0, help="cut texts into records of about so many characters")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scratch", type=Path, help="folder with room for feed and output")
    parser.add_argument("--only", choices=("start", "runs", "manifest"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        folder = Path(name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        options = ["--model", arguments.model, "--key-file", str(folder / "key"), "--patient-field", "id"]
        if arguments.only in (None, "start"):
            start(folder, options)
        if arguments.only != "start":
            size = feed(folder / "feed", arguments.texts, arguments.megabytes, arguments.record)
        if arguments.only in (None, "runs"):
            runs(folder, size, [*options, "--keep", "number"], arguments.rounds)
        if arguments.only in (None, "manifest"):
            proved(folder, options, arguments.rounds)


if __name__ == "__main__":
    main()
