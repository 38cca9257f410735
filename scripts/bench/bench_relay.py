"""The relay against the filter over a file of the same messages, and against python-hl7's own server.

    python scripts/bench/bench_relay.py [--messages 2000] [--connections 8] [--jobs 1] [--policy surrogate] [--folder F]

Messages of 1.1 KB (`bench_hl7.message`), a process for the senders. `file` is `deid filter IN --output OUT`, from its
first message (a run over one message is taken off); `relay` acknowledges what is on the disk; python-hl7's server
(`hl7.mllp`) parses each message and makes its acknowledgement, with its limit and encoding widened; `on the disk` it
writes the message into a file and waits for the disk first, as the relay has to. Messages a second of wall time, and
CPU seconds of the server with its workers. One after the other, in one run: compare the ratios. What a folder of memory
(/dev/shm) shows with --folder costs no disk.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_hl7 import message

_PEER = """
import asyncio, os, sys
from hl7.mllp import start_hl7_server
kept = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600) if sys.argv[1:] else None
async def serve(reader, writer):
    while not writer.is_closing():
        try:
            message = await reader.readmessage()
        except asyncio.IncompleteReadError:
            break
        if kept is not None:
            os.write(kept, str(message).encode())
            os.fsync(kept)
        writer.writemessage(message.create_ack())
        await writer.drain()
async def main():
    async with await start_hl7_server(serve, port=0, host="127.0.0.1", encoding="utf-8", limit=1 << 24) as server:
        print("listening on 127.0.0.1:%d" % server.sockets[0].getsockname()[1], file=sys.stderr, flush=True)
        await server.serve_forever()
asyncio.run(main())
"""


async def send(port: int, messages: list[bytes], connections: int) -> float:
    """Send messages over connections, one in flight on each; return the seconds."""

    async def one(own: list[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for data in own:
            writer.write(b"\x0b" + data + b"\x1c\r")
            answer = await reader.readuntil(b"\x1c\r")
            if b"MSA|AA" not in answer:
                raise SystemExit(f"not acknowledged: {answer!r}")
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(one(messages[n::connections]) for n in range(connections)))
    return time.perf_counter() - begun


def cpu_of(process: int) -> float:
    """Return the CPU seconds of a process and of those that it started."""
    ids = [process, *(int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    parts = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:13] for one in ids]
    return sum(int(n) for pair in parts for n in pair) / os.sysconf("SC_CLK_TCK")


def served(command: list[str], messages: list[bytes], connections: int) -> tuple[float, float]:
    """Start a server, send it messages; return messages a second, and its CPU seconds a thousand messages."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        found = next(filter(None, (re.search(r"listening on [\d.]+:(\d+)", line) for line in process.stderr)))
        warm = [data.replace(b"|LS-", b"|WARM-") for data in messages[: 10 * connections]]
        asyncio.run(send(int(found[1]), warm, connections))
        before = cpu_of(process.pid)
        seconds = asyncio.run(send(int(found[1]), messages, connections))
        cpu = cpu_of(process.pid) - before
        process.send_signal(signal.SIGTERM)
        process.communicate()
    return len(messages) / seconds, 1000 * cpu / len(messages)


def filtered(command: list[str], messages: list[bytes], folder: Path) -> tuple[float, float]:
    """Filter messages from file to file, in the same figures."""
    told = []
    for name, some in (("one", messages[:1]), ("all", messages)):
        (folder / f"{name}.hl7").write_bytes(b"".join(some))
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, str(folder / f"{name}.hl7"), "-o", str(folder / f"{name}.out")], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told.append((time.perf_counter() - begun, cpu))
    (least, started), (seconds, cpu) = told
    return (len(messages) - 1) / (seconds - least), 1000 * (cpu - started) / (len(messages) - 1)


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--policy", default="surrogate")
    parser.add_argument("--folder", type=Path, help="where to make the folders of the output")
    said = parser.parse_args()
    messages = [message(n) for n in range(said.messages)]
    with tempfile.TemporaryDirectory(dir=said.folder) as place:
        folder = Path(place)
        (folder / "key").write_text("6b" * 32 + "\n")
        (folder / "key").chmod(0o600)
        deid = [sys.executable, "-m", "deid"]
        own = ["--key-file", str(folder / "key"), "--policy", said.policy, "-q", "--jobs", str(said.jobs)]
        listen = ["--listen", "127.0.0.1:0", "--output"]
        rows = {
            "file": filtered([*deid, "filter", "--from", "hl7v2", *own], messages, folder),
            f"relay, {said.connections} connections": served(
                [*deid, "relay", *listen, str(folder / "many"), *own], messages, said.connections
            ),
            "relay, 1 connection": served([*deid, "relay", *listen, str(folder / "one"), *own], messages, 1),
            "python-hl7, 1 connection": served([sys.executable, "-c", _PEER], messages, 1),
            "python-hl7, on the disk": served([sys.executable, "-c", _PEER, str(folder / "kept")], messages, 1),
        }
    print(f"{len(messages)} messages of {sum(map(len, messages)) // len(messages)} bytes, {said.jobs} jobs")
    print(f"{'':26}{'messages/s':>12}{'CPU s / 1,000':>15}")
    for name, (rate, cpu) in rows.items():
        print(f"{name:26}{rate:12.0f}{cpu:15.2f}")
    rates = [rate for rate, _ in rows.values()]
    print(f"relay over {said.connections} connections / file: {rates[1] / rates[0]:.2f}")
    print(f"relay / python-hl7 on one connection: {rates[2] / rates[3]:.2f}, on the disk {rates[2] / rates[4]:.2f}")


if __name__ == "__main__":
    main()
