"""Helpers: senders and receivers of MLLP, and the relay as a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

VT, END = b"\x0b", b"\x1c\r"


def framed(message: bytes) -> bytes:
    return VT + message + END


def message(number: int, sender: str = "LAB", text: str = "", more: str = "", id: str | None = None) -> bytes:
    """Return a message about a patient of its own."""
    control = f"{sender}-{number:06d}" if id is None else id
    text = text or f"Mr. Zebulon Quartermain called Dr. Thornbury on 3/14/2019, number {number}."
    return (
        rf"MSH|^~\&|{sender}|NORTHFIELD CLINIC|EHR|MERCY|20240102||ORU^R01|{control}|P|2.5.1{more}" + "\r"
        rf"PID|1||{4820000 + number}^^^NFC^MR||Quartermain^Zebulon||19470219|M" + "\r"
        rf"OBX|1|TX|22634-0^Report^LN||{text}||||||F" + "\r"
    ).encode()


class Sender:
    """A connection that messages go over, one after the other."""

    def __init__(self, port: int, wrap: Callable[[socket.socket], socket.socket] | None = None) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket = wrap(plain) if wrap else plain
        self._come = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def answer(self) -> bytes:
        """Return the next answer; empty when the connection was closed."""
        while END not in self._come:
            data = self.socket.recv(65536)
            if not data:
                assert not self._come
                return b""
            self._come += data
        answer, _, self._come = self._come.partition(END)
        assert answer.startswith(VT)
        return answer[1:]

    def ask(self, data: bytes) -> bytes:
        self.socket.sendall(framed(data))
        return self.answer()


def code(answer: bytes) -> tuple[str, str]:
    """Return code and id of an answer (MSA-1, MSA-2)."""
    fields = answer.split(b"\r")[1].split(b"|")
    assert fields[0] == b"MSA"
    return fields[1].decode(), fields[2].decode()


class Receiver:
    """Takes messages and answers them, until closed; can be opened again on the same port."""

    def __init__(self, port: int = 0, reply: Callable[[int], str] = lambda _: "AA") -> None:
        self.received: list[bytes] = []
        self._reply = reply
        self._listening = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        come = b""
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                come += data
                while END in come:
                    one, _, come = come.partition(END)
                    self.received.append(one[1:])
                    control = one.split(b"|")[9]
                    said = self._reply(len(self.received)).encode()
                    if said:
                        head = rb"MSH|^~\&|EHR|||||" + b"|ACK|1|P|2.5.1\r"
                        connection.sendall(framed(head + b"MSA|" + said + b"|" + control + b"\r"))


class RelayProcess:
    """The command, started."""

    def __init__(self, folder: Path, *arguments: object, model: Sequence[str] = ("--model", "none")) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deid", "relay", "--listen", "127.0.0.1:0", "--key-file", str(folder / "key"),
             *model, *map(str, arguments)],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self.said = ""
        self.port = 0
        assert self.process.stderr
        for line in self.process.stderr:
            self.said += line.decode()
            if found := re.search(r"listening on 127\.0\.0\.1:(\d+)", line.decode()):
                self.port = int(found[1])
                break
        assert self.port, self.said

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; return the status."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        self.said += said.decode()
        return self.process.returncode


@contextlib.contextmanager
def relay(folder: Path, *arguments: object, model: Sequence[str] = ("--model", "none")) -> Iterator[Any]:
    started = RelayProcess(folder, *arguments, model=model)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.kill()


def output(folder: Path) -> bytes:
    """Return what the files of an output folder hold, in order."""
    files = sorted(folder.glob("[0-9]*.hl7"))
    return b"".join(path.read_bytes() for path in (*files, *sorted(folder.glob(".deid-feed-*"))))


def messages(data: bytes) -> list[bytes]:
    """Take framed messages apart."""
    parts = data.split(END)
    assert parts[-1] == b""
    assert all(part.startswith(VT) for part in parts[:-1])
    return [part[1:] for part in parts[:-1]]
