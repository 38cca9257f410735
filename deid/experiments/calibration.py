"""Setting the recall dial on a user's gold: the highest precision whose recall is certain enough.

Every dial of a list is measured on the same documents. The dials are tested from the one that finds most to the one
that finds least, and the last one before the first whose lower confidence bound of recall misses the target is taken:
fixed-sequence testing, which needs no correction for looking at many dials (Angelopoulos, Bates, Candes, Jordan and
Lei, "Learn then test", 2021).

The bound is Clopper and Pearson's, with words divided by the design effect of their notes
(`deid.evaluation.proportions`).
Where a dial misses too few words to show one, the largest of the other dials counts; where no dial misses anything,
each document counts as one word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, require
from deid.base.keys import job_count
from deid.base.reports import Section
from deid.detection.dial import Dial
from deid.detection.recognizers import LazyRecognizer
from deid.document import Document, Failure, kept
from deid.evaluation.comparison import LEVEL, intervals, resampled_totals
from deid.evaluation.proportions import design_effect, effective_words, lower_bound
from deid.evaluation.scores import touched, word_bounds
from deid.experiments.gold import CalibrationOptions
from deid.pipeline.workers import process

DIALS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Dials that are tried when none are named."""
_MISSES = 10
"""Misses from which a dial shows its own design effect."""
_RESAMPLES = 1000
PHI, FOUND, OTHER, FLAGGED = range(4)
"""Columns of the counts: PHI words, those found, other words, those flagged."""


@dataclass(frozen=True, slots=True)
class DialPoint:
    """What one dial gives on the gold documents."""

    dial: float
    words: int
    """PHI words."""
    missed: int
    recall: float
    bound: float
    """Lower confidence bound of the recall."""
    effective: float
    """Independent words that the PHI words are worth."""
    leaks: float
    """PHI words left per note."""
    leaks_interval: tuple[float, float]
    flagged: float
    """Share of the other words that are flagged."""
    flagged_interval: tuple[float, float]
    precision: float
    precision_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A dial for a recall, and what it was chosen by."""

    target: float
    confidence: float
    points: tuple[DialPoint, ...]
    """All dials, ascending."""
    chosen: DialPoint
    """The smallest dial that is certain to reach the target, else the one with the highest bound."""
    reached: bool
    documents: int
    needed: float
    """Independent words without a miss that the target needs."""
    held_out: tuple[DialPoint, ...] = field(default=())
    """The dial chosen on one half of the documents, measured on the other; both ways."""
    failures: tuple[Failure, ...] = field(default=(), repr=False)

    @property
    def too_small(self) -> bool:
        """Whether the gold could not show the target even if nothing were missed."""
        return bool(max(p.effective for p in self.points) < self.needed)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "target": self.target,
            "confidence": self.confidence,
            "reached": self.reached,
            "documents": self.documents,
            "words_needed": math.ceil(self.needed),
            "too_small": self.too_small,
            "chosen": asdict(self.chosen),
            "held_out": [asdict(p) for p in self.held_out],
            "dials": [asdict(p) for p in self.points],
        }


def words_needed(target: float, confidence: float) -> float:
    """Return how many independent words without a miss show a recall with a confidence.

    Examples
    --------
    >>> round(words_needed(0.99, 0.95))
    298
    """
    return math.log(1 - confidence) / math.log(target)


@dataclass(frozen=True)
class _Counting:
    """Counts the words of a document at every dial."""

    recognizer: LazyRecognizer
    dials: tuple[float, ...]

    def __call__(self, document: Document) -> np.ndarray:
        return np.array([count_words(document, self.recognizer.dialled(d)) for d in self.dials])


def count_words(document: Document, recognizer: LazyRecognizer) -> tuple[int, int, int, int]:
    """Return PHI words (by the document's annotations), those found, other words, those flagged."""
    starts, ends = word_bounds(document.text)
    gold = touched(starts, ends, sorted(document.spans))
    found = touched(starts, ends, recognizer.find(document))
    return int(gold.sum()), int((gold & found).sum()), int((~gold).sum()), int((found & ~gold).sum())


def calibrate(
    documents: Iterable[Document | Failure], recognizer: LazyRecognizer, gold: CalibrationOptions
) -> Calibration:
    """Find the dial that is certain to reach a recall of words.

    Parameters
    ----------
    documents : iterable of Document or Failure
        Annotated; a span hides every word that it touches, whatever its category.
    recognizer : LazyRecognizer
        Model, rules and lists as they will be used.
    gold : CalibrationOptions
        The confidence is that of a one-sided bound.

    Returns
    -------
    Calibration
        The chosen dial with its figures; where none is certain enough, the one with the best bound.

    Raises
    ------
    ConfigError
        When a number is out of range or the documents hold no PHI.
    """
    target, confidence, seed = gold.recall, gold.confidence, gold.seed
    if not 0 < target < 1 or not 0 < confidence < 1:
        raise ConfigError("recall and confidence must lie between 0 and 1", "such as --recall 0.99 --confidence 0.95")
    dials = tuple(sorted(set(map(float, DIALS if gold.dials is None else gold.dials))))
    require(dials and all(map(math.isfinite, dials)), "the dials are no numbers", "such as --dials 0,1,2")
    failures: list[Failure] = []
    counts = list(kept(process(_Counting(recognizer, dials), documents, job_count(gold.jobs)), failures))
    table = np.array(counts).reshape(-1, len(dials), 4)
    if not table[:, :, PHI].any():
        raise ConfigError("no document holds an annotation", "calibration needs gold: notes with their PHI annotated")
    points = _points(table, dials, confidence, seed)
    chosen, reached = _choose(points, target)
    return Calibration(
        target,
        confidence,
        points,
        chosen,
        reached,
        len(table),
        words_needed(target, confidence),
        _held_out(table, dials, target, confidence, seed),
        tuple(failures),
    )


def _points(table: np.ndarray, dials: Sequence[float], confidence: float, seed: int) -> tuple[DialPoint, ...]:
    """Measure every dial; ``table`` has the shape (n_documents, n_dials, 4)."""
    effects = _design_effects(table)
    return tuple(_point(table[:, i], dial, effects[i], confidence, seed) for i, dial in enumerate(dials))


def _design_effects(table: np.ndarray) -> list[float]:
    """Return by how much the words of each dial are worth less than independent ones; at least 1."""
    own = [design_effect(table[:, i, PHI], table[:, i, FOUND]) for i in range(table.shape[1])]
    missed = (table[:, :, PHI] - table[:, :, FOUND]).sum(axis=0)
    known = [e for e, m in zip(own, missed, strict=True) if m >= _MISSES] or [
        e for e, m in zip(own, missed, strict=True) if m
    ]
    largest = max(known, default=table[:, 0, PHI].sum() / max(1, (table[:, 0, PHI] > 0).sum()))
    return [e if m >= _MISSES else max(e, largest) for e, m in zip(own, missed, strict=True)]


def _point(counts: np.ndarray, dial: float, effect: float, confidence: float, seed: int) -> DialPoint:
    phi, found, other, flagged = counts.sum(axis=0).tolist()
    documents = len(counts)
    effective = effective_words(phi, effect, documents, confidence)
    recall = found / phi if phi else 0.0
    totals = resampled_totals(counts, _RESAMPLES, seed)
    drawn = np.stack(
        [
            (totals[:, PHI] - totals[:, FOUND]) / documents,
            totals[:, FLAGGED] / np.maximum(1, totals[:, OTHER]),
            totals[:, FOUND] / np.maximum(1, totals[:, FOUND] + totals[:, FLAGGED]),
        ],
        axis=1,
    )
    low, high = intervals(drawn).tolist()
    return DialPoint(
        dial,
        phi,
        phi - found,
        recall,
        lower_bound(recall * effective, effective, confidence),
        effective,
        (phi - found) / documents,
        (low[0], high[0]),
        flagged / max(1, other),
        (low[1], high[1]),
        found / max(1, found + flagged),
        (low[2], high[2]),
    )


def _choose(points: Sequence[DialPoint], target: float) -> tuple[DialPoint, bool]:
    """Test from the dial that finds most downwards; return the last that holds, else the one with the best bound."""
    chosen = None
    for point in reversed(points):
        if point.bound < target:
            break
        chosen = point
    return (chosen, True) if chosen else (max(points, key=lambda p: (p.bound, -p.dial)), False)


def _held_out(
    table: np.ndarray, dials: Sequence[float], target: float, confidence: float, seed: int
) -> tuple[DialPoint, ...]:
    """Choose a dial on one half of the documents and measure it on the other, both ways."""
    if len(table) < 4:
        return ()
    order = np.random.default_rng(seed).permutation(len(table))
    halves = (table[np.sort(order[::2])], table[np.sort(order[1::2])])
    if any(not half[:, :, PHI].any() for half in halves):
        return ()
    measured = []
    for here, there in (halves, halves[::-1]):
        chosen, _ = _choose(_points(here, dials, confidence, seed), target)
        measured.append(next(p for p in _points(there, dials, confidence, seed) if p.dial == chosen.dial))
    return tuple(measured)


def describe(calibration: Calibration) -> list[str]:
    """Return sentences about what was chosen, what to expect, and what the gold is too small for."""
    chosen, target, sure = calibration.chosen, calibration.target, f"{calibration.confidence:.0%}"
    said = []
    if calibration.reached:
        said.append(f"dial {chosen.dial:g}: recall of words at least {chosen.bound:.4f} with {sure} confidence")
    else:
        said.append(
            f"no dial is certain to reach a recall of {target:g}; the best is {chosen.dial:g}: at least "
            f"{chosen.bound:.4f} with {sure} confidence"
        )
    said.append(
        f"expected: {chosen.leaks:.2f} PHI words left per note ({LEVEL:.0%} interval "
        f"{chosen.leaks_interval[0]:.2f} to {chosen.leaks_interval[1]:.2f}), {chosen.flagged:.2%} of the other words "
        f"hidden ({chosen.flagged_interval[0]:.2%} to {chosen.flagged_interval[1]:.2%}), precision "
        f"{chosen.precision:.3f} ({chosen.precision_interval[0]:.3f} to {chosen.precision_interval[1]:.3f})"
    )
    if calibration.too_small:
        most = max(p.effective for p in calibration.points)
        said.append(
            f"the gold is too small for {target:g} with {sure} confidence: even without a miss that needs "
            f"{math.ceil(calibration.needed)} independent words, and its {chosen.words} PHI words in "
            f"{calibration.documents} notes are worth {most:.0f}"
        )
    for half in calibration.held_out:
        said.append(
            f"chosen on one half of the notes: dial {half.dial:g}; on the other half it has recall {half.recall:.4f}, "
            f"{half.leaks:.2f} PHI words left per note"
        )
    return said


def measured_dial(result: Calibration, recognizer: LazyRecognizer, gold: CalibrationOptions) -> Dial:
    """Return the chosen dial for the model that it was measured with, and what was measured."""
    chosen = result.chosen
    told = {"target": result.target, "confidence": result.confidence, "bound": chosen.bound}
    figures = {"rules": gold.rules, "language": gold.language, "documents": result.documents, **asdict(chosen)}
    return Dial(chosen.dial, recognizer.fingerprint(), {**told, "gold": figures})


def calibration_section(values: Mapping[str, Any]) -> Section:
    """Return what was measured at each dial as a table, by what `Calibration.as_dict` gives."""
    forms = {
        "dial": "{dial:g}{mark}",
        "recall": "{recall:.4f}",
        f"at least ({values['confidence']:.0%})": "{bound:.4f}",
        "left per note": "{leaks:.2f}",
        "interval": "{leaks_interval[0]:.2f} to {leaks_interval[1]:.2f}",
        "hidden too much": "{flagged:.2%}",
        "precision": "{precision:.4f}",
    }
    points = [point | {"mark": " *" if point == values["chosen"] else ""} for point in values["dials"]]
    reached = "reached" if values["reached"] else "not reached"
    note = f"* chosen; {values['documents']} notes; a recall of {values['target']:g} was {reached}"
    return Section.of("Recall of PHI words by dial", points, forms, note)
