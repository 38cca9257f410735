"""Which note to annotate next, and when to stop.

The notes of which the tagger is least sure come first, but for two corrections. A tagger is sure of what it has never
seen go wrong, so a share of the notes is drawn at random (Attenberg and Provost, KDD 2010, call what it cannot ask for
"unknown unknowns"). And notes of one template are unsure together: a note counts the less, the more it resembles one
that stands before it or that was annotated (a greedy order by relevance less redundancy: Carbonell and Goldstein,
SIGIR 1998).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deid.base.draws import draw
from deid.base.errors import require

SKETCH = 512
"""Numbers in a sketch; unlike texts then have a similarity of 0 with a standard deviation of 1 / sqrt(512) = .04."""
_WORD = re.compile(r"[^\W\d_]+|\d+")
_RESAMPLES = 1000
_FLAT, _TARGET = 0.01, 0.5
"""F1 below which doubling the notes adds nothing; PHI words a note that may be left."""
_POINTS = 4
"""Points of a curve that are looked at, the last ones; more where these are too near to each other."""
_RANGE = 1.5
"""A slope is told from points of which the last has so many times the notes of the first: nearer ones show noise."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A place in the queue."""

    id: str
    score: float
    drawn: bool
    """Whether the note was drawn at random: such notes alone say how good the tagger is on all notes."""


def sketch(text: str) -> np.ndarray:
    """Return the sketch of a text: float32 of shape (`SKETCH`,), of length 1 (0 for fewer than three words).

    Dot products of sketches estimate which share of their runs of three words two texts have in common (the cosine of
    the sets), all numbers taken as one: signed feature hashing, Weinberger et al., ICML 2009.
    """
    words = ["0" if word[0].isdigit() else word for word in _WORD.findall(text.lower())]
    runs = {" ".join(run).encode("utf-8", "surrogatepass") for run in zip(words, words[1:], words[2:], strict=False)}
    hashes = np.fromiter(map(zlib.crc32, sorted(runs)), dtype=np.int64, count=len(runs))
    found = np.bincount(hashes % SKETCH, weights=1.0 - 2.0 * (hashes >> 31), minlength=SKETCH)
    return (found / max(float(np.linalg.norm(found)), 1.0)).astype(np.float32)


def annotation_queue(
    ids: Sequence[str],
    scores: Sequence[float],
    sketches: np.ndarray | None = None,
    *,
    annotated: np.ndarray | None = None,
    first: int = 100,
    random_share: float = 0.1,
    diversity: float = 1.0,
    seed: int = 0,
) -> list[Queued]:
    """Order the notes that are not annotated yet.

    Parameters
    ----------
    ids : sequence of str
    scores : sequence of float
        How unsure the tagger is of each note (`deid.labeling.uncertainty.MEASURES`); the unit does not matter, only
        the order does.
    sketches : ndarray of float32, shape (n_notes, SKETCH), optional
        Of each note (`sketch`); without them nothing is known about resemblance.
    annotated : ndarray of float32, shape (n_annotated, SKETCH), optional
        Sketches of the notes that were annotated.
    first : int
        How many places are corrected for resemblance, at 5 million operations each for 10,000 notes; the rest follow
        by score.
    random_share : float
        Share of places given to notes in random order, 0 to 1.
    diversity : float
        0 looks at scores alone; at 1 a copy of an earlier note comes last.
    seed : int
        Of the random order, which depends on seed and ids alone: notes keep their places in it as scores change.

    Returns
    -------
    list of Queued
        Every note once.

    Raises
    ------
    ConfigError
        When a share is out of range.
    """
    require(0 <= random_share <= 1, "the share of random notes is not 0 to 1", "0.1 is usual")
    require(0 <= diversity <= 1, "the weight of diversity is not 0 to 1", "0 for none, 1 for the most")
    count = len(ids)
    if not count:
        return []
    drawing = sorted(range(count), key=lambda i: (draw(seed, ids[i]), i))
    # ranks, the least unsure lowest: sums of nats of one long note would outweigh any resemblance
    ranks = np.empty(count)
    ranks[sorted(range(count), key=lambda i: (scores[i], ids[i]), reverse=True)] = np.arange(count, 0, -1) / max(
        count, 1
    )
    like = np.zeros(count, dtype=np.float32)
    if sketches is not None and annotated is not None and len(annotated):
        like = (sketches @ annotated.T).max(axis=1)
    waiting = np.ones(count, dtype=bool)
    by_chance, by_worth = iter(drawing), iter(())
    ordered: list[Queued] = []
    for place in range(count):
        drawn = int((place + 1) * random_share) > int(place * random_share)
        if place <= first and not drawn:
            worth = ranks * (1.0 - diversity * like.clip(0.0, 1.0))
            by_worth = iter(np.argsort(-worth, kind="stable").tolist())
        chosen = next(i for i in (by_chance if drawn else by_worth) if waiting[i])
        ordered.append(Queued(ids[chosen], float(scores[chosen]), drawn))
        waiting[chosen] = False
        if sketches is not None and place < first:
            like = np.maximum(like, sketches @ sketches[chosen])
    return ordered


@dataclass(frozen=True, slots=True)
class StopAdvice:
    """Whether to go on, and what that rests on."""

    stop: bool
    """The curve is flat and what is expected to leak is below the target."""
    gain: float | None
    """F1 that doubling the annotated notes would add, by the last points of the curve; None for too few points."""
    leaks: float | None
    """PHI words expected to be left in a note that was not annotated; None where nothing is known."""
    bound: float | None
    """Its upper 95 % bound."""
    reasons: tuple[str, ...]


def stop_advice(
    curve: Sequence[tuple[int, float]],
    expected: Sequence[float] = (),
    held_out: Sequence[tuple[float, float]] = (),
) -> StopAdvice:
    """Say whether more annotation is worth it.

    A tagger's own probabilities tell what it expects to miss in notes that nobody has read. They are corrected by what
    notes with gold show: the PHI words left there, over those that the tagger expected to leave.

    Parameters
    ----------
    curve : sequence of (int, float)
        Annotated notes, and strict F1 on notes that were held out.
    expected : sequence of float
        Of each note that is not annotated: PHI words that the tagger expects to miss
        (`deid.labeling.uncertainty.Uncertainty.missed`).
    held_out : sequence of (float, float)
        Of each note with gold that was not trained on: the same, and the PHI words that were left
        (`deid.evaluation.leaks.Leaks.words_left`, what ``deid calibrate`` calls left per note). Without such notes the
        probabilities are taken as they are.

    Returns
    -------
    StopAdvice
        With reasons that name the notes they rest on.
    """
    reasons: list[str] = []
    gain = None
    last = _last_points(curve)
    if last is None:
        reasons.append(
            f"the learning curve has {len(curve)} points, and shows whether it is flat when it has {_POINTS} over "
            f"{_RANGE:g} times as many notes"
        )
    else:
        notes, f1 = last
        gain = float(np.polyfit(np.log2(notes), f1, 1)[0])
        verdict = "is flat" if gain < _FLAT else "still climbs"
        reasons.append(
            f"the learning curve {verdict}: twice as many notes would add {gain:.3f} F1, by its last {len(notes)} "
            f"points, to {notes[-1]:.0f} annotated notes"
        )
    leaks = bound = None
    if not len(expected):
        reasons.append("no unread note was tagged, so nothing is known about what would leak")
    else:
        leaks, bound = _expected_leaks(np.array(expected, dtype=float), np.array(held_out, dtype=float))
        rests = f"{len(held_out)} notes with gold" if len(held_out) else "the model's word alone"
        verdict = "below" if bound <= _TARGET else "not surely below"
        reasons.append(
            f"{leaks:.2f} PHI words a note are expected to be left, at most {bound:.2f} with 95 % confidence: "
            f"{verdict} the target of {_TARGET:g}, by {len(expected)} unread notes and {rests}"
        )
    return StopAdvice(
        gain is not None and gain < _FLAT and bound is not None and bound <= _TARGET, gain, leaks, bound, tuple(reasons)
    )


def _last_points(curve: Sequence[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the last points that show a slope: so many sizes at least, far enough apart; None where there are none.

    Of trainings on equally many notes the last counts.
    """
    sizes = sorted({notes: f1 for notes, f1 in curve if notes > 0}.items())
    notes, f1 = np.array(sizes, dtype=float).reshape(-1, 2).T
    far = np.flatnonzero(notes[-1:] >= _RANGE * notes)
    far = far[far <= len(notes) - _POINTS]
    return (notes[far[-1] :], f1[far[-1] :]) if far.size else None


def _expected_leaks(expected: np.ndarray, held_out: np.ndarray) -> tuple[float, float]:
    """Return the expected leaks a note, and the 95th percentile over means of the one kind of notes (normal) and
    bootstrap samples of the other.

    One word is added to what was left and to what was expected to be left, so that a few notes without a leak are no
    proof that nothing leaks.
    """
    rng = np.random.default_rng(0)
    means = expected.mean() + rng.standard_normal(_RESAMPLES) * expected.std() / np.sqrt(len(expected))
    factor, factors = 1.0, np.ones(_RESAMPLES)
    if len(held_out):
        sums = held_out[rng.integers(len(held_out), size=(_RESAMPLES, len(held_out)))].sum(axis=1) + 1.0
        factors = sums[:, 1] / sums[:, 0]
        thought, left = held_out.sum(axis=0) + 1.0
        factor = float(left / thought)
    return float(expected.mean() * factor), float(np.percentile(means * factors, 95))
