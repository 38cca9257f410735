"""Requests to end (Ctrl-C, SIGTERM, a terminal that hangs up).

The first is noted, so that what was read is written; a second ends at once.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Notes the first request to end, while it is entered as a context manager in the main thread."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The signal that came."""
        self.descriptor = -1
        """Can be read once a signal has come, to wake up who waits."""
        self._write = -1
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> Stop:
        self.descriptor, self._write = os.pipe()
        self._before = [(number, signal.signal(number, self._note)) for number in _SIGNALS]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)
        os.close(self.descriptor)
        os.close(self._write)

    @property
    def status(self) -> int:
        """The exit status that says which signal came, 0 when none did."""
        return 0 if self.signal is None else 128 + self.signal

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            raise SystemExit(128 + number)
        self.signal = number
        os.write(self._write, b"\0")
