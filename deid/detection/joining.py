"""Spans that nobody else speaks for, weighed: small logistic regressions over everything that is known of them.

Three kinds are weighed: what a model alone found; what a rule alone found without being sure; what a rule alone took
for possible, below the threshold, and may count all the same. Hand-set rules (`deid.detection.alone`) say what cannot
be; the weights say how likely the rest is: the model's probability of the place, the rule and its certainty, the
category, lists and letter case of the words and of those beside them, what else was proposed there, nearby, and of the
same words elsewhere. They are learnt on notes that the model was not trained on (``scripts/train_joining``), and stand
in a file of the model's folder.
"""

from __future__ import annotations

import functools
import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deid.base.errors import ModelError
from deid.base.resources import resource_folder
from deid.detection.alone import stands_alone
from deid.detection.kinds import kind_of
from deid.detection.overlaps import score_of
from deid.document import Span
from deid.labeling.tagger import available_models
from deid.reading.lexicon import CLASSES
from deid.reading.view import NUMBER, SIGN
from deid.rules.scene import Scene

JOINING_FILE: Final = "joining.json"
"""Name of the file of weights in a model's folder."""
_KINDS: Final = ("sign", "number", "small", "Capital", "CAPITALS", "mIxed")
_NEAR: Final = 200
"""Characters on either side in which other spans are counted."""
_MOST_NEAR: Final = 20
_LONG: Final = 100
"""Characters of the spans beside which others are looked for in a wider stretch."""
_WIDEST: Final = 6.0
"""Logits beyond this say no more."""

Evidence = dict[str, float]
"""Name of what is known -> how much of it there is."""


MODEL: Final = "model"
RULE: Final = "rule"
POSSIBLE: Final = "possible"
"""Of a model alone; of a rule alone, which is not sure; of a rule alone, below the threshold."""


@dataclass(frozen=True, slots=True)
class JoiningWeights:
    """Weights of what is known of spans of one kind."""

    weights: dict[str, float] = field(repr=False)
    least: float
    """Probability from which a span counts."""

    def terms(self, evidence: Evidence) -> list[tuple[str, float]]:
        """Return what each part of the evidence adds to the logit, the largest first."""
        told = [(name, self.weights[name] * value) for name, value in evidence.items() if name in self.weights]
        return sorted(told, key=lambda term: (-abs(term[1]), term[0]))

    def judge(self, evidence: Evidence) -> float:
        """Return how likely it is that the words of a span are PHI."""
        weights = self.weights
        terms: list[float] = []
        for name, value in evidence.items():
            weight = weights.get(name)
            if weight is not None:
                terms.append(weight * value)
        logit = math.fsum(terms)
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


Joining = Mapping[str, JoiningWeights]
"""`MODEL`, `RULE` and `POSSIBLE` -> their weights; what is missing is not weighed."""


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """What learnt weights say of a span."""

    kind: str
    chance: float
    """The model's probability of the place."""
    likely: float
    """How likely it is PHI, all in all."""
    evidence: Evidence = field(repr=False)
    weights: JoiningWeights = field(repr=False)

    @property
    def terms(self) -> list[tuple[str, float]]:
        """What each part of the evidence adds to the logit, the largest first."""
        return self.weights.terms(self.evidence)


def joining_of_folder(model: str | Path | None) -> Joining:
    """Return the weights in the folder of a model (a shipped one by name, or a path); none where it has no such file.

    Raises
    ------
    ModelError
        When the file is no such weights.
    """
    name = str(model) if model else ""
    folder = resource_folder("models") / name if name in available_models() else Path(name)
    path = folder / JOINING_FILE
    if not name or not path.is_file():
        return {}
    try:
        kinds = json.loads(path.read_bytes())["kinds"]
        joining = {
            kind: JoiningWeights(
                {str(n): float(w) for n, w in kinds[kind]["weights"].items()}, float(kinds[kind]["least"])
            )
            for kind in (MODEL, RULE, POSSIBLE)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelError("the weights of the joining cannot be read", "get the model again", str(path)) from None
    if not all(math.isfinite(x) for held in joining.values() for x in (held.least, *held.weights.values())):
        raise ModelError("a weight of the joining is no finite number", "get the model again", str(path))
    return joining


class Surroundings:
    """What was proposed in a text, for asking what speaks for and against one span.

    Parameters
    ----------
    scene : Scene
    candidates, scores : list
        As `deid.detection.overlaps.corroborate` returns them.
    asked : sequence of int
        Numbers of the candidates that are asked for.
    """

    def __init__(
        self, scene: Scene, candidates: list[tuple[int, Span]], scores: list[float | None], asked: Sequence[int]
    ) -> None:
        self._scene = scene
        self._candidates = candidates
        self._sure: list[int] = []
        """Where what is likely was proposed."""
        self._starts: list[int] = []
        self._longest = 0
        """Characters of the longest candidate, the long ones left out."""
        # a long span covers many others: it would make each of them ask all that stands before
        self._long: list[int] = []
        self._long_starts: list[int] = []
        self._longest_of_all = 0
        self._places: dict[str, dict[int, tuple[int, int]]] = {}
        """Words of what is asked for -> who proposed them, where first and where last."""
        text, places, sure, starts = scene.text, self._places, self._sure, self._starts
        widths: set[int] = set()
        for number in asked:
            span = candidates[number][1]
            places[text[span.start : span.end].casefold()] = {}
            widths.add(span.end - span.start)
        plain = text.isascii()  # in other texts a letter may be several in the other case
        for number, (rank, span) in enumerate(candidates):
            start, score = span.start, scores[number]
            width = span.end - start
            starts.append(start)
            if score is None or score >= 0.5:
                sure.append(start)
            if width > _LONG:
                self._long.append(number)
                self._long_starts.append(start)
                self._longest_of_all = max(self._longest_of_all, width)
            elif width > self._longest:
                self._longest = width
            if not plain or width in widths:
                found = places.get(text[start : start + width].casefold())
                if found is not None:
                    found[rank] = found[rank][0] if rank in found else start, start

    def weigh(self, number: int, chance: float, kind: str, weights: JoiningWeights) -> Weighed:
        """Weigh one of the candidates, of which a model is so sure."""
        evidence = self.evidence(number, chance)
        return Weighed(kind, chance, weights.judge(evidence), evidence, weights)

    def evidence(self, number: int, chance: float) -> Evidence:
        """Return what is known of one of the candidates, of which a model is so sure."""
        rank, span = self._candidates[number]
        scene, category, kind = self._scene, kind_of(span.category).category, kind_of(span.category).group
        logit, certainty = _logit(chance), score_of(span)
        first = min(scene.at(span.start), len(scene) - 1)
        last = max(first, min(scene.at(span.end - 1), len(scene) - 1))
        told: Evidence = {
            "all": 1.0,
            f"category {category}": 1.0,
            "chance": logit,
            f"chance {category}": logit,
            "words": math.log(last - first + 1),
            "stands alone": float(stands_alone(scene, span)),
            "another kind": self._contradicted(number, kind),
            "near": min(self._near(span), _MOST_NEAR) / _MOST_NEAR,
        }
        if certainty < 1.0:
            told["certainty"] = _logit(certainty)
            told[f"by {span.source}"] = 1.0
        elsewhere = another = 0.0
        for other, (first_of, last_of) in self._places[scene.text[span.start : span.end].casefold()].items():
            if first_of != span.start or last_of != span.start:
                elsewhere = 1.0
                if other != rank:
                    another = 1.0
        told["elsewhere"] = elsewhere
        told["elsewhere by another"] = another
        share = 1.0 / (last - first + 1)
        for index in range(first, last + 1):
            for name in self._named(index)[0]:
                told[name] = told.get(name, 0.0) + share
        before = scene.breaks[first] == 0 and first > 0
        behind = last + 1 < len(scene) and scene.breaks[last + 1] == 0
        told.update(self._named(first - 1)[1] if before else _NO_WORD[1])
        told.update(self._named(last + 1)[2] if behind else _NO_WORD[2])
        told["cue"] = float(scene.cued_at_all(first))
        told["small letters"] = float(scene.lowercase_text)
        told["line of capitals"] = float(scene.uppercase_line[first])
        return told

    def _named(self, index: int) -> _Named:
        """Return what is known of a word."""
        scene = self._scene
        kind = scene.kinds[index]
        if kind == SIGN:
            return _named_by(scene.strings[index], False, None)
        if kind == NUMBER:
            return _named_by(_KINDS[kind], False, None)
        return _named_by(_KINDS[kind], scene.protected[index] != 0, scene.classes[index])

    def _contradicted(self, number: int, kind: str) -> float:
        """Return the largest certainty with which another recognizer took the place for another kind of PHI."""
        span, starts, long = self._candidates[number][1], self._starts, self._long_starts
        start, end, most = span.start, span.end, 0.0
        for i in range(bisect_left(starts, start - self._longest), bisect_left(starts, end)):
            most = self._against(number, i, start, kind, most)
        for i in range(bisect_left(long, start - self._longest_of_all), bisect_left(long, end)):
            most = self._against(number, self._long[i], start, kind, most)
        return most

    def _against(self, number: int, other: int, start: int, kind: str, most: float) -> float:
        """Return the certainty of a candidate that takes a place for another kind of PHI, if it is more than so far."""
        by, span = self._candidates[other]
        if by == self._candidates[number][0] or span.end <= start or kind_of(span.category).group == kind:
            return most
        return max(most, score_of(span))

    def _near(self, span: Span) -> int:
        return bisect_right(self._sure, span.end + _NEAR) - bisect_left(self._sure, span.start - _NEAR)


def _logit(probability: float) -> float:
    """Return the logit of a probability, -1 to 1."""
    logit = math.log(max(probability, 1e-9) / max(1.0 - probability, 1e-9))
    return max(-_WIDEST, min(_WIDEST, logit)) / _WIDEST


_Named = tuple[tuple[str, ...], dict[str, float], dict[str, float]]
"""Evidence of a word in a span, right before it and right behind it: names, of the latter with how much there is."""


@functools.lru_cache(4096)
def _named_by(kind: str, protected: bool, classes: int | None) -> _Named:
    """Return what is known of a word of a kind and of some classes; of signs and numbers (None) the kind alone."""
    names = [kind]
    if classes is not None:
        names += ["in a clinical phrase"] if protected else []
        names += [name for name, bit in CLASSES.items() if classes & bit] or ["unlisted"]
    return _under(names)


def _under(names: Sequence[str]) -> _Named:
    before, behind = (dict.fromkeys([f"{place}: {name}" for name in names], 1.0) for place in ("before", "behind"))
    return tuple(f"is {name}" for name in names), before, behind


_NO_WORD: Final = _under(["line"])
"""Where no word of the line stands."""
