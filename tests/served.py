"""Helpers: the service as a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deid.web.tokens import new_token

KEY_HEX = "6b" * 32
"""What the services of tests have for a key: that of `deid.base.keys.Key(b"k" * 32)`."""


@dataclass
class Served:
    """A service that runs."""

    process: subprocess.Popen[bytes]
    url: str
    tokens: Mapping[str, str]
    folder: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, who: str = "all") -> Any:
        import httpx

        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)

    def workers(self) -> list[int]:
        place = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(n) for n in place.read_text().split()]


def began(folder: Path, *options: str, roles: Mapping[str, str] | None = None) -> Served:
    """Start a service in a folder, by rules alone; where roles are given, with a token for each name."""
    if not (folder / "key").exists():
        (folder / "key").write_text(KEY_HEX)
        (folder / "key").chmod(0o600)
    given = roles or {}
    tokens = {who: new_token(folder / "tokens", who, frozenset(said.split(","))) for who, said in given.items()}
    command = [sys.executable, "-m", "deid", "serve", "--listen", "127.0.0.1:0", "--model", "none", "--key-file", "key"]
    command += ["--tokens", "tokens"] if (folder / "tokens").exists() else []
    process = subprocess.Popen([*command, *options], cwd=folder, stderr=subprocess.PIPE)
    assert process.stderr
    lines = (re.search(r"listening on (http\S+)", line.decode()) for line in process.stderr)
    found = next(filter(None, lines), None)
    assert found, process.wait()
    return Served(process, found[1], tokens, folder)


@contextmanager
def serving(folder: Path, *options: str, roles: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run a service as `began`; it must end in good order, and have said nothing of the notes."""
    one = began(folder, *options, roles=roles)
    try:
        yield one
    finally:
        one.process.send_signal(signal.SIGTERM)
        _, said = one.process.communicate(timeout=60)
    assert one.process.returncode == 0, said
    assert b"Quartermain" not in said
