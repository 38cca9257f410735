"""Helpers: what the feeder gets and prints, and its processes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Feeder = Callable[..., subprocess.Popen[bytes]]


def totals(said: str) -> dict[str, Any]:
    """Return the counts that the feeder printed."""
    return json.loads(said.splitlines()[-1])  # type: ignore[no-any-return]


def children(process: int) -> list[int]:
    """Return the processes that a process started."""
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def records(count: int, longer: int = 0) -> bytes:
    """Return NDJSON records with something to replace in each; one in a hundred cannot be processed."""
    lines = []
    for n in range(count):
        text = "FAIL" if n % 100 == 99 else f"Zebulon Quartermain, seen {n % 28 + 1}/3/2019, number {n}. {'-' * longer}"
        lines.append(json.dumps({"id": f"n{n}", "text": text, "ward": n % 7}) + "\n")
    return "".join(lines).encode()
