"""Drift: whether what a source sends, and what is found in it, is still what it was in the weeks before.

A feed whose layout changed, or that now comes in another language, is scrubbed as diligently as before, and less is
found. What can be seen of that without looking at a note are three rates by source and week: replaced spans a word, by
category too, and the share of words that no list knows. A rate is a ratio of sums over notes, so its error is that of
the ratio estimator (Cochran, Sampling Techniques, 1977, section 2.11 and chapter 6): notes differ, and the spans of
one note belong together. An alarm needs a change that is both surely there and large.

What is kept are sums, a file of them (mode 0600): names of sources, no text.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import MALFORMED, FormatError, told_as
from deid.base.files import write_bytes
from deid.phi import group
from deid.reading.dictionaries import available, load_dictionary

if TYPE_CHECKING:
    from deid.pipeline import Scrubbed

WEEKS = 4
"""Weeks before this one that it is compared with."""
_LEAST = 50
"""Notes that both sides of a comparison need."""
_SURE = 4.0
"""Standard errors that a change must have, ..."""
_LARGE = 0.25
"""... and the share of the larger rate that it must be."""
_OFTEN = 500
"""Notes of a source after which it is compared again, and the file written."""
_ALL, _UNKNOWN = "PHI", "unknown words"
_WORD = re.compile(r"[^\W\d_]{2,}")
_LISTS = ("common/words", "common/function", "clinical/terms", "clinical/drugs", "clinical/anatomy")


@dataclass(slots=True)
class Sums:
    """Sums over notes: what the rates of a week, and their errors, are computed from."""

    notes: int = 0
    words: int = 0
    squared: int = 0
    """Sum of the squares of the notes' words."""
    measures: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Measure -> sums over notes of its count, of the square, and of count times words."""

    def note(self, words: int, counts: Mapping[str, int]) -> None:
        """Take in one note."""
        self.notes, self.words, self.squared = self.notes + 1, self.words + words, self.squared + words * words
        for name, count in counts.items():
            if count:
                x, xx, xw = self.measures.get(name, (0, 0, 0))
                self.measures[name] = x + count, xx + count * count, xw + count * words

    def add(self, other: Sums) -> None:
        """Take in the notes of others."""
        self.notes, self.words = self.notes + other.notes, self.words + other.words
        self.squared += other.squared
        for name, sums in other.measures.items():
            x, xx, xw = self.measures.get(name, (0, 0, 0))
            self.measures[name] = x + sums[0], xx + sums[1], xw + sums[2]

    def rate(self, measure: str) -> tuple[float, float]:
        """Return how often something is a word, and the variance of that.

        The variance is n/(n-1) times the sum of (x - r w)^2, over the square of the sum of w.
        """
        x, xx, xw = self.measures.get(measure, (0, 0, 0))
        rate = x / self.words
        residual = max(xx - 2 * rate * xw + rate * rate * self.squared, 0.0)
        return rate, residual * self.notes / (self.notes - 1) / self.words**2

    def as_list(self) -> list[Any]:
        """Return the sums as JSON values."""
        return [
            self.notes,
            self.words,
            self.squared,
            {name: list(sums) for name, sums in sorted(self.measures.items())},
        ]

    @classmethod
    def of_list(cls, values: Any) -> Sums:
        """Return the sums of `as_list`.

        Raises
        ------
        ValueError, TypeError
            When it is none.
        """
        notes, words, squared, measures = values
        if not all(type(n) is int and n >= 0 for n in (notes, words, squared)):
            raise ValueError
        return cls(notes, words, squared, {str(k): (int(a), int(b), int(c)) for k, (a, b, c) in measures.items()})


class Gauge:
    """Measures scrubbed notes of a language."""

    def __init__(self, language: str) -> None:
        self._known = _vocabulary(language)

    def take(self, sums: Sums, scrubbed: Scrubbed) -> None:
        """Add a note to sums: its words outside of what was replaced, those that no list knows, replaced spans."""
        text, read, pieces = scrubbed.document.text, 0, []
        for edit in scrubbed.edits:
            pieces.append(text[read : edit.new_start])
            read = edit.new_end
        words = _WORD.findall(" ".join([*pieces, text[read:]]).casefold())
        counts = Counter(group(edit.category) for edit in scrubbed.edits)
        counts[_ALL] = len(scrubbed.edits)
        counts[_UNKNOWN] = sum(word not in self._known for word in words)
        sums.note(len(words) + len(scrubbed.edits), counts)


@functools.lru_cache(maxsize=2)
def _vocabulary(language: str) -> frozenset[str]:
    there = available(language)
    lists = [name for name in (*_LISTS, *(f"{one}_{language}" for one in _LISTS)) if name in there]
    return frozenset(word for name in lists for phrase in load_dictionary(name).words for word in _WORD.findall(phrase))


@dataclass(frozen=True, slots=True)
class Alarm:
    """A rate of a source that is not what it was."""

    source: str = field(repr=False)
    number: int
    """Of the source in the file, from 1: its name may say too much for a log."""
    measure: str
    before: float
    now: float

    def __str__(self) -> str:
        what = "share of unknown words" if self.measure == _UNKNOWN else f"{self.measure} per 1,000 words"
        scale = 1 if self.measure == _UNKNOWN else 1000
        return f"drift: source {self.number}: {what} {self.now * scale:.3g} this week, {self.before * scale:.3g} before"


class Drift:
    """The rates of sources by week, in a file.

    Parameters
    ----------
    path : Path
        Made if missing, with mode 0600.
    tell : callable
        Is told each alarm, once a week.
    today : callable
        Returns the day.

    Raises
    ------
    FormatError
        When the file is none of this kind.
    """

    def __init__(
        self,
        path: Path,
        tell: Callable[[str], object],
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        self._path, self._tell, self._today = path, tell, today
        self._sources: dict[str, dict[str, Sums]] = {}
        self._new: Counter[str] = Counter()
        self._told: set[tuple[str, str, str]] = set()
        self.alarms: list[Alarm] = []
        """Those of this run."""
        if path.exists():
            hint = "name the file that --drift of an earlier run wrote, or a new one"
            wrong = "this is no file of rates, or it is damaged"
            with told_as(FormatError(wrong, hint, str(path)), *MALFORMED):
                kept = json.loads(path.read_bytes())["sources"]
                self._sources = {
                    name: {week: Sums.of_list(values) for week, values in weeks.items()} for name, weeks in kept.items()
                }

    def take(self, source: str, sums: Sums) -> None:
        """Take in notes of a source; now and then it is compared, and the file written."""
        if not sums.notes:
            return
        self._sources.setdefault(source, {}).setdefault(self._week(), Sums()).add(sums)
        self._new[source] += sums.notes
        if self._new[source] >= _OFTEN:
            self._look(source)
            self.save()

    def finish(self) -> None:
        """Compare all sources that had notes, and write the file."""
        for source in list(self._new):
            self._look(source)
        self.save()

    def save(self) -> None:
        """Write the file: of each source this week and the ones that it is compared with.

        Weeks behind this one, of a clock that was ahead, take no place of theirs.
        """
        week, kept = self._week(), {}
        for name, weeks in self._sources.items():
            past, ahead = (sorted(one for one in weeks if (one > week) == later) for later in (False, True))
            kept[name] = {one: weeks[one] for one in (*past[-WEEKS - 1 :], *ahead[: WEEKS + 1])}
        values = {name: {week: sums.as_list() for week, sums in weeks.items()} for name, weeks in kept.items()}
        write_bytes(self._path, json.dumps({"sources": values}).encode() + b"\n", replace=True)

    def _week(self) -> str:
        year, week, _ = self._today().isocalendar()
        return f"{year}-W{week:02}"

    def _look(self, source: str) -> None:
        self._new.pop(source, None)
        week = self._week()
        for alarm in self.compared(source, week):
            if (source, alarm.measure, week) not in self._told:
                self._told.add((source, alarm.measure, week))
                self.alarms.append(alarm)
                self._tell(str(alarm))

    def compared(self, source: str, week: str) -> Iterator[Alarm]:
        """Yield the rates of a source that are not in a week what they were in the weeks before."""
        weeks = self._sources.get(source, {})
        now, before = weeks.get(week, Sums()), Sums()
        for _, sums in sorted((name, sums) for name, sums in weeks.items() if name < week)[-WEEKS:]:
            before.add(sums)
        if min(now.notes, before.notes) < _LEAST or not now.words or not before.words:
            return
        number = list(self._sources).index(source) + 1
        measures = {*now.measures, *before.measures}
        for measure in sorted(measures, key=lambda name: (name not in (_ALL, _UNKNOWN), name)):
            (new, error), (old, other) = now.rate(measure), before.rate(measure)
            change = abs(new - old)
            if change > _LARGE * max(new, old) and change > _SURE * math.sqrt(error + other):
                yield Alarm(source, number, measure, old, new)
