"""What a filter counts: numbers, categories and error classes, no text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deid.pipeline.patients import SEVERAL, Writings

if TYPE_CHECKING:
    from deid.streaming.drift import Drift
    from deid.streaming.letters import DeadLetter


UNEXAMINED = "(not examined)"
"""In place of a category: positions of records that nobody examined (`deid.records`)."""
TELLING = "(name of field) "
"""Stands in counts of spans before the number of a field whose name may be of somebody (`Scrubbed.telling`)."""
OTHER_LANGUAGE = "(written in) "
"""In place of a category, before the code of a language: records that are written in it, and were read in another."""


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
    gauges: dict[str, int] = field(default_factory=dict)
    """What is so now, beside the counts, by name."""
    started: float = field(default_factory=time.monotonic)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why the first record of each class of exceptions was left out, in words for the user."""
    tell: Callable[[str], object] | None = field(default=None, repr=False)
    """Called with each new reason as it comes."""
    note: Callable[[str], object] | None = field(default=None, repr=False)
    """Called with what is no error, but good to know: what an input was taken for."""
    drift: Drift | None = field(default=None, repr=False)
    """Compares what comes with the weeks before, where that is wanted."""
    writings: Writings = field(default_factory=Writings, repr=False)
    """How the ids of patients are written, since this process began."""
    unmet: frozenset[str] | None = field(default=None, repr=False)
    """Fields that the user named and that no record has had; None before the first record."""

    @property
    def failed(self) -> int:
        """Records that were left out."""
        return self.errors.total()

    def explain(self, letter: DeadLetter) -> None:
        """Take note of why a record was left out; the first of a class is told at once, with its place."""
        if letter.error not in self.reasons:
            self.reasons[letter.error] = letter.reason
            if self.tell is not None:
                where = ", ".join(filter(None, (f"byte {letter.offset}", letter.path)))
                self.tell(f"left out: {letter.error}, {where}: {letter.reason}")

    def add(
        self, read: int, output: bytes, records: int, letters: Sequence[DeadLetter], spans: Mapping[str, int]
    ) -> None:
        """Count what became of a part of the input: bytes of it, what is written, and what was left out of it."""
        self.read += read
        self.written += len(output)
        self.records += records
        self.spans.update(spans)
        for letter in letters:
            self.errors[letter.error] += 1
            self.explain(letter)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "records": self.records,
            "errors": dict(sorted(self.errors.items())),
            "spans": dict(sorted(self.spans.items())),
            "read": self.read,
            "written": self.written,
        }

    def marked(self) -> tuple[list[str], dict[str, Any]]:
        """Return what marks among the spans tell, in words and in figures, and take them out of the spans."""
        from deid.pipeline.batch import telling
        from deid.reading.languages import foreign

        def taken(mark: str) -> dict[str, int]:
            found = sorted(category for category in self.spans if category.startswith(mark))
            return {category.removeprefix(mark): self.spans.pop(category) for category in found}

        unexamined, others = sum(taken(UNEXAMINED).values()), taken(OTHER_LANGUAGE)
        fields = dict(sorted((int(number), count) for number, count in taken(TELLING).items()))
        told = [f"{unexamined} positions of records that nobody examined (--places)"] if unexamined else []
        told += [f"{sum(fields.values())} {telling(fields)}"] if fields else []
        told += [f"{sum(others.values())} {foreign(others)}"] if others else []
        told += [f"{len(self.writings)} {SEVERAL}"] if self.writings else []
        shown = {str(number): count for number, count in fields.items()}
        figures = {"unexamined": unexamined, "telling_fields": shown, "other_languages": others}
        return told, figures | {"written_twice": len(self.writings)}

    def settled(self) -> tuple[list[str], dict[str, Any]]:
        """Return what whoever ran a feed must know, and its figures; marks leave the spans."""
        marks, figures = self.marked()
        errors = dict(sorted(self.errors.items()))
        left_out = [f"left out: {count} {error}" for error, count in errors.items()]
        unmet = [
            f"no record has the field {name}, which an option names: look at its spelling"
            for name in sorted(self.unmet or ())
        ]
        figures |= {
            "errors": errors,
            "bytes_read": self.read,
            "bytes_written": self.written,
            "worker_restarts": self.restarts,
        }
        return [*left_out, *marks, *unmet], figures

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take over the counts of `as_dict`."""
        self.records, self.read, self.written = values["records"], values["read"], values["written"]
        self.errors, self.spans = Counter(values["errors"]), Counter(values["spans"])
