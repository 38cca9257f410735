"""Reads a short text a second time, as a whole: a question in a search box, a message, a line.

A model of notes reads a question from a few words on either side. What it, the rules and the joining said of each word
is here the evidence of a second CRF, beside the words, their lists, and what was found in the text at all (stacking;
Wolpert 1992). It was trained on questions and single lines alone (``scripts/train_short``), and says two things.

- How likely each word is PHI: a word that nobody found counts from `ShortWeights.added`; what was found counts no
  longer below `ShortWeights.left`.
- Whether the text is about anybody: where no word is PHI from `ShortWeights.about`, no name, place or number in it is.

Labelled values, a site's own patterns, numbers of a form that rules know, dates, ages, initials of staff, and what is
known of a person stay as they are. Only a document of one line that is no record is read so. The weights stand in a
file of the model's folder, and are read when the first such text comes.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from deid.base.errors import ModelError
from deid.base.resources import resource_folder
from deid.detection.alone import is_clinical
from deid.detection.kinds import GRAMMATICAL, origin_of
from deid.detection.overlaps import score_of
from deid.detection.questions import OF_A_NOTE
from deid.document import Document, Span
from deid.labeling import kernels
from deid.labeling.tagger import available_models
from deid.phi import GROUP, canonical
from deid.reading.lexicon import CLASSES
from deid.reading.view import NUMBER, SIGN
from deid.rules.scene import Scene
from deid.rules.word_classes import CREDENTIAL, TITLES

if TYPE_CHECKING:
    from deid.detection.ensemble import Candidate

SHORT_FILE: Final = "short.json.gz"
"""Name of the file of weights in a model's folder."""
_MOST: Final = 16 << 20
"""Bytes that the file may unpack to."""
SOURCE: Final = "model:short"
LONGEST: Final = 400
"""Characters of a short text."""
_CELLS: Final = "\n\r\t|"
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_FORMED: Final = frozenset(("DATE", "AGE"))
"""Groups of which numbers stay whatever is said of them."""
_STAYS: Final = frozenset(("PROFESSION",))
"""Groups that count in a text about nobody."""
_INITIALS: Final = 3
"""Letters of staff who sign with initials: no word beside tells those from a short form."""
_STRONG: Final = 0.8
"""Certainty from which nobody doubts a rule."""
_WITHIN: Final = " ,.'-/"
"""What may stand between words of one span."""
_KINDS: Final = ("sign", "number", "small", "Capital", "CAPITALS", "mIxed")
_DIGITS: Final = 6
_LOGIT: Final = 6.0
_REACH: Final = 2
"""Words on either side that are told of a word."""
_LENGTHS: Final = 5


@dataclass(frozen=True, slots=True)
class ShortWeights:
    """Weights of a CRF over the words of short texts."""

    labels: tuple[str, ...]
    attributes: dict[str, int] = field(repr=False)
    state: np.ndarray = field(repr=False)
    """float64 of shape (n_attributes, n_labels)."""
    transition: np.ndarray = field(repr=False)
    """float64 of shape (n_labels, n_labels), from row to column."""
    about: float
    left: float
    added: float

    def chances(self, words: Sequence[Sequence[str]]) -> np.ndarray:
        """Return the probability of each label of each word, of whose evidence the names are given."""
        known = self.attributes
        emissions = np.zeros((len(words), len(self.labels)))
        for i, names in enumerate(words):
            rows = [known[name] for name in names if name in known]
            emissions[i] = self.state[rows].sum(axis=0)
        return kernels.marginals(emissions, self.transition)


@dataclass(frozen=True, eq=False)
class ShortTexts:
    """What reads short texts; the weights are loaded when they are first wanted."""

    path: Path

    @cached_property
    def weights(self) -> ShortWeights:
        """The weights.

        Raises
        ------
        ModelError
            When the file is none.
        """
        try:
            with gzip.open(self.path) as file:
                content = file.read(_MOST + 1)
            if len(content) > _MOST:
                raise ValueError
            told = json.loads(content)
            labels = tuple(map(str, told["labels"]))
            names: dict[str, list[list[float]]] = told["attributes"]
            state = np.zeros((len(names), len(labels)))
            for row, pairs in enumerate(names.values()):
                for label, weight in pairs:
                    state[row, int(label)] = weight
            transition = np.array(told["transition"], dtype=np.float64)
            least = [float(told[name]) for name in ("about", "left", "added")]
            if "O" not in labels or transition.shape != (len(labels), len(labels)):
                raise ValueError
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, IndexError, zlib.error):
            raise ModelError(
                "the weights of short texts cannot be read", "get the model again", str(self.path)
            ) from None
        if not (np.isfinite(state).all() and np.isfinite(transition).all() and np.isfinite(least).all()):
            raise ModelError("a weight of short texts is no finite number", "get the model again", str(self.path))
        return ShortWeights(labels, {name: row for row, name in enumerate(names)}, state, transition, *least)

    def read(
        self,
        scene: Scene,
        candidates: Sequence[Candidate],
        spans: Sequence[Span],
        chances: Sequence[float],
        sure: Callable[[str], bool],
        readable: Callable[[Span], Sequence[Span]],
    ) -> tuple[list[Span], list[Span]]:
        """Return which spans stay, and which come.

        Parameters
        ----------
        scene : Scene
            Of the whole text.
        candidates : sequence of Candidate
            What was proposed, and what became of it.
        spans : sequence of Span
            What was found.
        chances : sequence of float
            How sure the model is of each word.
        sure : callable
            Whether a source needs nobody's word.
        readable : callable
            What of a new span can be what it is taken for.
        """
        weights = self.weights
        told = weights.chances(evidence(scene, candidates, spans, chances))
        outside = weights.labels.index("O")
        phi = 1.0 - told[:, outside]
        told[:, outside] = -1.0
        likeliest = [weights.labels[label] for label in told.argmax(axis=1).tolist()]
        formed = [c.span for c in candidates if _formed(scene, c)]
        doubted = [
            span for span in spans if _doubted(scene, span, sure) and not any(other.overlaps(span) for other in formed)
        ]
        stay = [span for span in spans if span not in doubted or _most(scene, phi, span) >= weights.left]
        come = [
            part
            for span in _new(scene, phi, likeliest, stay, weights.added)
            for part in readable(span)
            if not (is_clinical(scene, part) or _is_title(scene, part))
        ]
        somebody = any(origin_of(span.source).known or sure(span.source) for span in spans)
        if not somebody and max((_most(scene, phi, span) for span in (*stay, *come)), default=0.0) < weights.about:
            return [span for span in stay if span not in doubted or GROUP[canonical(span.category)] in _STAYS], []
        return stay, come


def _is_title(scene: Scene, span: Span) -> bool:
    """Tell whether all words of a span are titles or credentials."""
    words = _inside(scene, span.start, span.end)
    return all(scene.has(i, TITLES | CREDENTIAL) for i in words)


def _most(scene: Scene, phi: np.ndarray, span: Span) -> float:
    """Return how likely the likeliest word of a span is PHI."""
    return max((float(phi[i]) for i in _inside(scene, span.start, span.end)), default=1.0)


def _new(scene: Scene, phi: np.ndarray, likeliest: Sequence[str], spans: Sequence[Span], least: float) -> list[Span]:
    """Return spans of words that are likely enough and in none of some spans."""
    taken = {i for span in spans for i in _inside(scene, span.start, span.end)}
    found: list[Span] = []
    for i in np.flatnonzero(phi >= least).tolist():
        if i in taken or scene.kinds[i] == SIGN:
            continue
        begins, _, category = likeliest[i].partition("-")
        start, end, score = scene.starts[i], scene.ends[i], round(float(phi[i]), 4)
        last = found[-1] if found else None
        goes_on = last is not None and begins == "I" and last.category == category
        if last is not None and goes_on and not scene.text[last.end : start].strip(_WITHIN):
            start, score = last.start, min(score_of(last), score)
            found.pop()
        found.append(Span(start, end, category, source=SOURCE, score=score))
    return found


def reads(document: Document) -> bool:
    """Tell whether a document is a short text: of one line, two words at least, no record and no line of a note."""
    text = document.text.strip()
    if document.record is not None or len(text) > LONGEST or any(c in text for c in _CELLS):
        return False
    return len(_WORDS.findall(text)) > 1 and (text.endswith("?") or OF_A_NOTE.search(text) is None)


def short_of_folder(model: str | Path | None) -> ShortTexts | None:
    """Return what reads short texts beside a model (a shipped one by name, or a path), if its folder has weights."""
    name = str(model) if model else ""
    folder = resource_folder("models") / name if name in available_models() else Path(name)
    path = folder / SHORT_FILE
    return ShortTexts(path) if name and path.is_file() else None


def _worded(scene: Scene, span: Span) -> bool:
    """Tell whether a span is one of words, which may be nobody's; a month or a weekday is."""
    group = GROUP[canonical(span.category)]
    return group in GRAMMATICAL or (
        group == "DATE" and not any(scene.kinds[i] == NUMBER for i in _inside(scene, span.start, span.end))
    )


def _formed(scene: Scene, candidate: Candidate) -> bool:
    """Tell whether a rule knows what was proposed by its form."""
    span = candidate.span
    return candidate.fate == "accepted" and span.source.startswith("rule:") and not _worded(scene, span)


def _doubted(scene: Scene, span: Span, sure: Callable[[str], bool]) -> bool:
    """Tell whether a span may be nobody's."""
    origin, worded = origin_of(span.source), _worded(scene, span)
    if origin.known or sure(span.source) or (not worded and GROUP[canonical(span.category)] in _FORMED):
        return False
    if canonical(span.category) == "DOCTOR" and len(span) <= _INITIALS:
        return False  # "plan per dm"
    if origin.model or origin.repeats_model:
        return True
    return worded and score_of(span) < _STRONG


def evidence(
    scene: Scene, candidates: Sequence[Candidate], spans: Sequence[Span], chances: Sequence[float]
) -> list[list[str]]:
    """Return the names of what is known of each word of a text; the parameters are those of `ShortTexts.read`."""
    count = len(scene)
    words = [string.lower() for string in scene.strings]
    lists = [_lists(scene, i) for i in range(count)]
    said: list[dict[str, None]] = [{} for _ in range(count)]  # in order, each once
    by_model = bytearray(count)
    for candidate in candidates:
        names = dict.fromkeys(_said(candidate))
        model = candidate.span.source.startswith("model:")
        for i in _inside(scene, candidate.span.start, candidate.span.end):
            said[i].update(names)
            by_model[i] |= model
    for i in range(count):
        said[i][f"sure{by_model[i]}:{_rung(chances[i])}"] = None
    found = bytearray(count)
    for span in spans:
        for i in _inside(scene, span.start, span.end):
            found[i] = 1
            said[i][f"found:{canonical(span.category)}"] = None
            said[i]["begins" if scene.starts[i] <= span.start else "goes on"] = None
    whole = _whole(scene, words, candidates, spans, any(by_model))
    told = []
    for i in range(count):
        kind = "found" if found[i] else "model" if by_model[i] else _KINDS[scene.kinds[i]]
        names = dict.fromkeys(
            (f"0={words[i]}", f"kind={_KINDS[scene.kinds[i]]}", *whole, *(f"{g}&{kind}" for g in whole))
        )
        for by in range(-_REACH, _REACH + 1):
            at = i + by
            inside = 0 <= at < count
            if by:
                names[f"{by}={words[at] if inside else ''}"] = None
            names.update((f"{by}:{name}", None) for name in (lists[at] if inside else ("edge",)))
            if inside and abs(by) < _REACH:
                names.update((f"{by} {name}", None) for name in said[at])
        names.update(dict.fromkeys(_pairs(words, i, kind)))
        told.append(list(names))
    return told


def _inside(scene: Scene, start: int, end: int) -> list[int]:
    """Return the words, numbers and signs that share a character with a place."""
    first = scene.at(start)
    return [i for i in range(first, len(scene)) if scene.starts[i] < end and scene.ends[i] > start]


def _said(candidate: Candidate) -> Iterator[str]:
    """Yield what a proposal says of its words."""
    source, category = candidate.span.source, canonical(candidate.span.category)
    who, group = source.partition(":")[0], GROUP[category]
    yield f"{who}:{category}"
    yield f"{who}:{group}:{candidate.fate}"
    if who != "model":
        yield f"by {source}"
        yield f"{who}:{group}:{_rung(candidate.certainty)}"


def _whole(
    scene: Scene, words: Sequence[str], candidates: Sequence[Candidate], spans: Sequence[Span], by_model: bool
) -> list[str]:
    """Return what is known of a text as a whole."""
    found = sorted({GROUP[canonical(span.category)] for span in spans})
    ruled = (c.span.category for c in candidates if c.span.source.startswith("rule") and c.certainty >= 0.8)
    labelled = sorted({GROUP[canonical(category)] for category in ruled})
    return [
        *(f"all:{group}" for group in found),
        *(f"all:sure {group}" for group in labelled),
        f"all:asks{scene.text.rstrip().endswith('?'):d}",
        f"all:long{min(_LENGTHS, len(words) // 4)}",
        f"all:first {words[0] if words else ''}",
        f"all:model{by_model:d}",
    ]


def _pairs(words: Sequence[str], at: int, kind: str) -> Iterator[str]:
    """Yield pairs of words at a word's sides."""
    if at:
        yield f"-1,0={words[at - 1]} {words[at]}"
        yield f"-1={words[at - 1]}&{kind}"
    if at > 1:
        yield f"-2,-1={words[at - 2]} {words[at - 1]}"
    if at + 1 < len(words):
        yield f"0,1={words[at]} {words[at + 1]}"
        yield f"1={words[at + 1]}&{kind}"
    if at + 2 < len(words):
        yield f"1,2={words[at + 1]} {words[at + 2]}"


def _lists(scene: Scene, at: int) -> tuple[str, ...]:
    """Return which lists have a word."""
    if scene.kinds[at] == SIGN:
        return (scene.strings[at],)
    if scene.kinds[at] == NUMBER:
        return (f"number{min(_DIGITS, len(scene.strings[at]))}",)
    classes = scene.classes[at]
    names = [name for name, bit in CLASSES.items() if classes & bit] or ["unlisted"]
    return (*names, "clinical phrase") if scene.protected[at] else tuple(names)


def _rung(chance: float) -> int:
    """Return a probability's logit as one of seven steps."""
    logit = math.log(max(chance, 1e-9) / max(1.0 - chance, 1e-9))
    return round(max(-_LOGIT, min(_LOGIT, logit)) / 2)
