"""What a filter counts: numbers, categories and error classes, no text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Totals"]


@dataclass(slots=True)
class Totals:
    """Counts since the feed began; a resumed run goes on counting."""

    records: int = 0
    """Records that were written."""
    errors: Counter[str] = field(default_factory=Counter)
    """Records that were left out, by class of the exception."""
    spans: Counter[str] = field(default_factory=Counter)
    """Replaced spans by category."""
    read: int = 0
    """Bytes of the input that are dealt with."""
    written: int = 0
    """Bytes of the output."""
    restarts: int = 0
    """Workers that died and were replaced."""
    started: float = field(default_factory=time.monotonic)

    @property
    def failed(self) -> int:
        """Records that were left out."""
        return self.errors.total()

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "records": self.records,
            "errors": dict(sorted(self.errors.items())),
            "spans": dict(sorted(self.spans.items())),
            "read": self.read,
            "written": self.written,
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take over the counts of `as_dict`."""
        self.records, self.read, self.written = values["records"], values["read"], values["written"]
        self.errors, self.spans = Counter(values["errors"]), Counter(values["spans"])
