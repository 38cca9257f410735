"""Recognizers for tests: they know a few words, and can be sent to other processes."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from deid.base.errors import DetectionError
from deid.document import Document, Span


def heed_interrupts() -> None:
    """Let a child be interrupted, also where a shell began these tests in the background, which ignores interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


ALL_GROUPS = frozenset({"PATIENT", "PROFESSION", "CITY", "AGE", "DATE", "PHONE", "IDNUM", "OTHER"})


@dataclass(frozen=True)
class WordRecognizer:
    """Finds words by their pattern; some words make it fail."""

    words: tuple[tuple[str, str], ...] = (
        (r"Zebulon Quartermain|Zebulon|Quartermain", "PATIENT"),
        (r"\b\d{1,2}/\d{1,2}/\d{4}\b", "DATE"),
        (r"Ulan Bator", "CITY"),
    )
    categories: frozenset[str] = ALL_GROUPS
    name: str = "words"

    def find(self, document: Document) -> list[Span]:
        text = document.text
        if "FAIL" in text:
            raise DetectionError("cannot go on", "split the note", position=f"offset {text.index('FAIL')}")
        if "BUG" in text:
            raise ValueError(f"unexpected {text}")
        if "KILL" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "TWICE" in text:  # as when somebody kills two workers that had it in hand, one after the other
            with Path(text.partition("TWICE ")[2].split()[0]).open("ab") as deaths:
                deaths.write(b".")
                twice = deaths.tell() > 2
            if not twice:
                os.kill(os.getpid(), signal.SIGKILL)
        if "SLOW" in text:
            time.sleep(3600)
        found = [
            Span(m.start(), m.end(), category, source="rule:word")
            for pattern, category in self.words
            for m in re.finditer(pattern, text)
        ]
        return sorted(found)
