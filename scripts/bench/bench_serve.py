"""The HTTP service against `deid filter` over the same notes: rate, latency, memory, and many connections.

    python scripts/bench/bench_serve.py [--notes 2000] [--jobs 2] [--model en] [--requests 2000] [--connections 1000]

Notes of 2 KB, cut from the sample of the corpus, each a request of text/plain; sixteen clients on connections that stay
open, in a process of their own. `filter` reads the same notes as NDJSON from a file, with as many workers; a run over
few notes is taken off. Rates are notes a CPU second of the server (or filter) with its workers, so that the clients
cost it nothing, and notes a second of wall time, where clients and server share the machine. Latency is that of
requests which come at half the rate of the wall clock, at even distances, whether the one before is answered or not.
Memory is that of front and workers by tenths of `--requests` requests; 200,000 of them take a good while. One after the
other, in one run: compare the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_filter import SAMPLE, cut
from bench_relay import cpu_of

CLIENTS = 16
DEID = [sys.executable, "-m", "deid"]


class Connection:
    """A connection that stays open, one request after the other."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def open(self) -> Connection:
        """Open it."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        return self

    async def scrub(self, note: bytes) -> int:
        """Send a note, read the whole answer, return its status."""
        head = f"POST /scrub HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: text/plain\r\n"
        self.writer.write(f"{head}Content-Length: {len(note)}\r\n\r\n".encode() + note)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        assert length
        await self.reader.readexactly(int(length[1]))
        return int(answer[9:12])


async def _throughput(port: int, notes: list[bytes], requests: int) -> float:
    """Send requests as fast as they are answered; return the seconds."""
    left = iter(range(requests))

    async def client() -> None:
        connection = await Connection(port).open()
        for n in left:
            status = await connection.scrub(notes[n % len(notes)])
            assert status == 200, status
        connection.writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return time.perf_counter() - begun


async def _latency(port: int, notes: list[bytes], requests: int, rate: float) -> list[float]:
    """Send requests at even distances; return the seconds that each took from when it was due."""
    free: list[Connection] = []
    took: list[float] = []

    async def one(n: int, due: float) -> None:
        connection = free.pop() if free else await Connection(port).open()
        assert await connection.scrub(notes[n % len(notes)]) == 200
        took.append(time.perf_counter() - due)
        free.append(connection)

    begun, tasks = time.perf_counter(), []
    for n in range(requests):
        due = begun + n / rate
        await asyncio.sleep(due - time.perf_counter())
        tasks.append(asyncio.create_task(one(n, due)))
    await asyncio.gather(*tasks)
    return took


async def _crowd(port: int, notes: list[bytes], connections: int) -> dict[int, int]:
    """Open connections, send a note on each at once, return how many had which status."""
    crowd = [await Connection(port).open() for _ in range(connections)]
    found = await asyncio.gather(*(one.scrub(notes[n % len(notes)]) for n, one in enumerate(crowd)))
    return {status: found.count(status) for status in sorted(set(found))}


def _run(asked: tuple[str, tuple[object, ...]]) -> object:
    return asyncio.run({"throughput": _throughput, "latency": _latency, "crowd": _crowd}[asked[0]](*asked[1]))  # type: ignore[operator]


def elsewhere(what: str, *arguments: object) -> object:
    """Run clients in a process of their own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, ((what, arguments),))


def notes_of(folder: Path, count: int, size: int) -> list[bytes]:
    """Return notes of about a size, all different."""
    texts = [p.read_text(encoding="utf-8", errors="replace") for p in sorted(folder.rglob("*.txt"))]
    pieces = [piece for piece in cut("\n".join(texts), size) if piece.strip()]
    return [f"{pieces[n % len(pieces)]}\n{n}".encode() for n in range(count)]


def filtered(options: list[str], notes: list[bytes], folder: Path) -> tuple[float, float]:
    """Return notes a CPU second and a second of wall time of `deid filter`, start taken off."""
    told = []
    for some in (notes[:8], notes):
        lines = (json.dumps({"id": f"n{n}", "text": note.decode()}) for n, note in enumerate(some))
        (folder / "in").write_text("\n".join(lines) + "\n", encoding="utf-8")
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [*DEID, "filter", str(folder / "in"), "-o", str(folder / "out"), "--from", "ndjson", *options]
        subprocess.run([*command, "--patient-field", "id"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told.append((cpu, time.perf_counter() - begun))
        (folder / "out").unlink()
    (first, start), (cpu, wall) = told
    return (len(notes) - 8) / (cpu - first), (len(notes) - 8) / (wall - start)


@contextmanager
def server(options: list[str]) -> Iterator[tuple[int, int]]:
    """Yield process and port of a service."""
    command = [*DEID, "serve", "--listen", "127.0.0.1:0", "--queue", "2000", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        found = next(filter(None, (re.search(r"listening on http\S+:(\d+)", line) for line in process.stderr)))
        try:
            yield process.pid, int(found[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def resident(process: int) -> list[int]:
    """Return the resident memory of a process and of those that it started, in MB."""
    ids = [process, *(int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    pages = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in ids]
    return [n * resource.getpagesize() // 1_000_000 for n in pages]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--size", type=int, default=2000, help="characters of a note")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--model", default="en")
    parser.add_argument("--requests", type=int, default=2000, help="for the memory")
    parser.add_argument("--connections", type=int, default=1000)
    said = parser.parse_args()
    notes = notes_of(SAMPLE, said.notes, said.size)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "key").write_text("6b" * 32 + "\n")
        (folder / "key").chmod(0o600)
        options = ["--key-file", str(folder / "key"), "--model", said.model, "--jobs", str(said.jobs), "-q"]
        print(f"{len(notes)} notes of {statistics.mean(map(len, notes)):.0f} bytes, {said.jobs} workers")
        file_cpu, file_wall = filtered(options, notes, folder)
        print(f"filter: {file_cpu:6.0f} notes a CPU second, {file_wall:6.0f} a second")
        with server(options) as (process, port):
            elsewhere("throughput", port, notes, 200)
            before = cpu_of(process)
            seconds = float(str(elsewhere("throughput", port, notes, len(notes))))
            cpu = cpu_of(process) - before
            print(f"serve:  {len(notes) / cpu:6.0f} notes a CPU second, {len(notes) / seconds:6.0f} a second")
            print(f"serve / filter, notes a CPU second: {len(notes) / cpu / file_cpu:.2f}")
            rate = len(notes) / seconds / 2
            took = elsewhere("latency", port, notes, min(len(notes), 1000), rate)
            assert isinstance(took, list)
            cuts = statistics.quantiles(took, n=1000)
            shown = ", ".join(f"p{n / 10:g} {1000 * cuts[n - 1]:.1f}" for n in (500, 900, 950, 990, 999))
            print(f"at {rate:.0f} requests a second (half load), milliseconds: {shown}, most {1000 * max(took):.1f}")
            print(f"{said.connections} connections at once, answers by status:", end=" ")
            print(elsewhere("crowd", port, notes, said.connections))
            print(f"memory in MB (front, workers) by tenths of {said.requests} requests:", end=" ", flush=True)
            for _ in range(10):
                elsewhere("throughput", port, notes, said.requests // 10)
                print(" ".join(map(str, resident(process))), end="; ", flush=True)
            print()


if __name__ == "__main__":
    main()
