"""The same notes in other writing: capitals, small letters, misread and disguised characters, other line ends.

A perturbation says what becomes of each character, so the gold offsets, and the words that are counted, follow exactly.
All perturbations are measured on the words of the clean text. Random ones draw from a seed of their own for each
document; the confusions of a scanner are a fixed table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import MappingProxyType

import numpy as np

from deid.base.errors import require
from deid.base.keys import job_count
from deid.base.reports import Section
from deid.detection.recognizers import LazyRecognizer
from deid.document import Document, Failure, kept
from deid.evaluation.comparison import intervals, resampled_totals
from deid.evaluation.scores import touched, word_bounds
from deid.experiments.gold import GoldOptions
from deid.pipeline.workers import process

_OCR_SHARE, _DISGUISED_SHARE = 0.02, 0.05
_RESAMPLES = 1000
CONFUSIONS: MappingProxyType[str, str] = MappingProxyType(
    {
        **{"0": "O", "1": "l", "2": "Z", "5": "S", "6": "G", "8": "B", "9": "g", "4": "A", "7": "T", "3": "8"},
        **{"O": "0", "l": "1", "I": "l", "Z": "2", "S": "5", "G": "6", "B": "8", "g": "q", "D": "O", "i": "l"},
        **{"e": "c", "c": "e", "o": "0", "a": "o", "n": "u", "u": "n", "h": "b", "b": "h", "t": "f", "f": "t"},
        **{"r": "n", "s": "5", "v": "y", "y": "v", "m": "rn", "w": "vv", "d": "cl", "M": "N", "E": "F", "R": "P"},
        **{".": ",", ",": ".", ":": ";", "-": "~", "/": "l", "(": "C", "'": "`"},
    }
)
"""What a scanner takes a character for."""
_LOOK_ALIKES = dict(zip("aceiopsxyABCEHIKMOPTXS", "асеіорѕхуАВСЕНІКМОРТХЅ", strict=True))
_INVISIBLE = "\u200b\u200c\u200d\u00ad\u2060"

Writer = Callable[[str, random.Random], list[str]]
"""Returns what becomes of each character of a text."""


def _swapped(others: Mapping[str, str], share: float) -> Writer:
    """Return what writes other characters in place of a share of those that have one."""
    return lambda text, draw: [others[c] if draw.random() < share and c in others else c for c in text]


def _invisible(text: str, draw: random.Random) -> list[str]:
    return [c + draw.choice(_INVISIBLE) if c.isalnum() and draw.random() < _DISGUISED_SHARE else c for c in text]


PERTURBATIONS: MappingProxyType[str, Writer] = MappingProxyType(
    {
        "clean": lambda text, draw: list(text),
        "capitals": lambda text, draw: [c.upper() for c in text],
        "small letters": lambda text, draw: [c.lower() for c in text],
        "ocr": _swapped(CONFUSIONS, _OCR_SHARE),
        "crlf": lambda text, draw: ["\r\n" if c == "\n" else c for c in text],
        "no-break blanks": lambda text, draw: ["\u00a0" if c == " " else c for c in text],
        "zero-width": _invisible,
        "look-alikes": _swapped(_LOOK_ALIKES, _DISGUISED_SHARE),
    }
)
"""The perturbations by name; ``ocr`` changes 2 % of the characters, the last two 5 %."""


def perturb(document: Document, name: str, seed: int = 0) -> tuple[Document, np.ndarray]:
    """Write a document in another way.

    Parameters
    ----------
    document : Document
    name : str
        Key of `PERTURBATIONS`.
    seed : int
        Together with the document's text it decides what is changed.

    Returns
    -------
    Document
        With the annotations where their characters now are.
    ndarray of shape (len(text) + 1,)
        New offset of each character, and of the end.
    """
    pieces = PERTURBATIONS[name](document.text, random.Random(f"{seed}:{len(document.text)}:{document.text[:200]}"))  # noqa: S311
    offsets = np.array([0, *accumulate(map(len, pieces))], dtype=np.int64)
    spans = tuple(replace(s, start=int(offsets[s.start]), end=int(offsets[s.end])) for s in document.spans)
    return replace(document, text="".join(pieces), spans=spans), offsets


@dataclass(frozen=True, slots=True)
class Robustness:
    """What one perturbation costs."""

    name: str
    recall: float
    """Of PHI words."""
    precision: float
    recall_fall: float
    """Recall of the clean text less this one."""
    recall_fall_interval: tuple[float, float]
    """Bootstrap over documents."""
    precision_fall: float


@dataclass(frozen=True)
class _Counting:
    """Counts PHI words, those found and other words flagged, for every perturbation of a document."""

    recognizer: LazyRecognizer
    names: tuple[str, ...]
    seed: int

    def __call__(self, document: Document) -> np.ndarray:
        starts, ends = word_bounds(document.text)
        gold = touched(starts, ends, sorted(document.spans))
        counts = []
        for name in self.names:
            written, offsets = perturb(document, name, self.seed)
            found = touched(offsets[starts], offsets[ends], sorted(self.recognizer.find(written)))
            counts.append((gold.sum(), (gold & found).sum(), (found & ~gold).sum()))
        return np.array(counts)


@dataclass(frozen=True, slots=True)
class Result:
    """All perturbations, in order."""

    rows: tuple[Robustness, ...]
    documents: int
    failures: tuple[Failure, ...] = field(default=(), repr=False)


def measure_robustness(
    documents: Iterable[Document | Failure], recognizer: LazyRecognizer, gold: GoldOptions, only: Sequence[str] = ()
) -> Result:
    """Measure recall and precision of PHI words in every writing of annotated documents.

    Parameters
    ----------
    documents : iterable of Document or Failure
        Annotated documents.
    recognizer : LazyRecognizer
        What finds PHI.
    gold : GoldOptions
        Its seed is that of the perturbations.
    only : sequence of str
        Keys of `PERTURBATIONS`, by default all; ``clean`` is always among them.

    Returns
    -------
    Result
        A row for each writing, with the failures.

    Raises
    ------
    ConfigError
        When a perturbation is unknown, or no document holds PHI.
    """
    unknown = [n for n in only if n not in PERTURBATIONS]
    require(not unknown, f"unknown perturbation {', '.join(unknown)}", f"known: {', '.join(PERTURBATIONS)}")
    names = tuple(dict.fromkeys(("clean", *(only or PERTURBATIONS))))
    failures: list[Failure] = []
    counts = list(kept(process(_Counting(recognizer, names, gold.seed), documents, job_count(gold.jobs)), failures))
    table = np.array(counts).reshape(-1, len(names), 3)
    require(table[:, :, 0].any(), "no document holds an annotation", "robustness is measured on annotated notes")
    return Result(tuple(_row(table, i, name, gold.seed) for i, name in enumerate(names)), len(table), tuple(failures))


def _row(table: np.ndarray, index: int, name: str, seed: int) -> Robustness:
    clean, here = table[:, 0].sum(axis=0), table[:, index].sum(axis=0)
    drawn = resampled_totals(np.concatenate([table[:, 0], table[:, index]], axis=1), _RESAMPLES, seed)
    falls = (drawn[:, 1] - drawn[:, 4]) / np.maximum(1, drawn[:, 0])
    low, high = intervals(falls).tolist()
    precision = [float(c[1] / max(1, c[1] + c[2])) for c in (clean, here)]
    return Robustness(
        name,
        float(here[1] / here[0]),
        precision[1],
        float((clean[1] - here[1]) / clean[0]),
        (low, high),
        precision[0] - precision[1],
    )


def robustness_section(rows: Sequence[Robustness]) -> Section:
    """Return recall and precision by writing as a table."""
    forms = {
        "writing": "{0.name}",
        "recall": "{0.recall:.4f}",
        "precision": "{0.precision:.4f}",
        "recall falls by": "{0.recall_fall:+.4f}",
        "interval": "{0.recall_fall_interval[0]:+.4f} to {0.recall_fall_interval[1]:+.4f}",
        "precision falls by": "{0.precision_fall:+.4f}",
    }
    return Section.of("PHI words by writing", rows, forms)
