"""Why a span was found, and why nothing was found elsewhere: what every recognizer proposed, and what became of it.

Explanations hold offsets, categories, sources and figures, never text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from deid.detection.ensemble import Candidate, Trace
from deid.detection.site_lists import SiteLists
from deid.document import Document, Span
from deid.labeling.kernels import marginals
from deid.labeling.tagger import Tagger
from deid.phi import group
from deid.reading.lexicon import CLASSES
from deid.reading.normalize import Normalized

FATES: dict[str, str] = {
    "decides": "gave the category and the score",
    "supports": "the same kind of PHI, with less certainty",
    "overruled": "another kind of PHI was labelled, or had the higher certainty, then the longer span, then precedence",
    "vetoed": "clinical language, by weak evidence or of a model alone; or nobody else saw it, and no word shows it",
    "unlikely": "a model or a rule alone found it, and learnt weights say that it is none, or those of short texts do",
    "weak": "below the threshold",
    "unreadable": "a number that cannot be that: a clinical value, too few digits, no day of a calendar",
    "absorbed": "a part of a longer name of a place, or the year of an edition",
    "nobodys": "passed, but the text is a question about no individual",
    "dropped": "passed, but no letter or digit of it is left once its edges are trimmed",
}
"""What can become of what a recognizer proposed."""


class Traced(Protocol):
    """What tells how it came to its answer: an ensemble, or a model that works alone."""

    def trace(self, document: Document) -> Trace:
        """Return every candidate with its fate, and the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Reason:
    """What one recognizer proposed; offsets are those of the document."""

    recognizer: str
    """Name of the model, ``rule``, ``known``, ``consistency`` or ``deny``."""
    source: str
    """What of it: a rule's name, a list's."""
    category: str
    start: int
    end: int
    proposed: float
    """Certainty when proposed; a model's span counts as certain."""
    certainty: float
    """After recognizers that found the same kind of PHI there raised it."""
    probability: float | None
    """Least probability of the labels of its tokens, by the model; of what another recognizer found, where that is
    weighed, that they are PHI."""
    fate: str
    """A key of `FATES`."""
    weighed: float | None = None
    """How likely it is by the learnt weights, where nobody else speaks for it (`deid.detection.joining`)."""
    terms: tuple[tuple[str, float], ...] = ()
    """What of the evidence adds how much to the logit of that, the largest first."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A span and everything that was proposed where it stands, the deciding reason first."""

    span: Span
    reasons: tuple[Reason, ...]
    settled: bool = False
    """Whether the category is that of the same name elsewhere in the document."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a place that was asked about."""

    start: int
    end: int
    probability: float | None
    """Probability of PHI, by the model; None without one."""
    category: str
    """The category that the model thinks likeliest, PHI or not asked; empty without a model."""
    lists: tuple[str, ...]
    """Classes of the word lists that hold it."""
    protected: bool
    """Whether it stands in a clinical phrase."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why spans were found in a document, and what was proposed in vain."""

    spans: tuple[Explained, ...]
    removed: tuple[Explained, ...]
    """Spans that the site's allow list took out."""
    loose: tuple[Reason, ...]
    """What was proposed where no span is."""
    words: tuple[Word, ...]
    """The words of the places that were asked about."""

    def as_dict(self) -> dict[str, Any]:
        """Return offsets, categories, sources and figures as JSON values."""

        def told(item: Explained) -> dict[str, Any]:
            span = item.span
            return {
                "start": span.start,
                "end": span.end,
                "category": span.category,
                "source": span.source,
                "score": span.score,
                "settled": item.settled,
                "reasons": [dataclasses.asdict(r) for r in item.reasons],
            }

        return {
            "spans": [told(item) for item in self.spans],
            "removed": [told(item) for item in self.removed],
            "loose": [dataclasses.asdict(r) for r in self.loose],
            "words": [dataclasses.asdict(w) for w in self.words],
        }


def explain(
    document: Document,
    tagger: Tagger | None,
    recognizer: Traced,
    *,
    site: SiteLists,
    label_of: Callable[[str], str] = str,
    places: Iterable[tuple[int, int]] = (),
) -> Explanation:
    """Find PHI as always, and say why.

    Parameters
    ----------
    document : Document
    tagger : Tagger or None
        The model, with its dial.
    recognizer : Traced
        Model and rules together, an ensemble; or the model that works alone.
    site : SiteLists
    label_of : callable
        Translates categories of the ensemble to labels.
    places : iterable of (int, int)
        Offsets of places of which each word is to be explained.

    Returns
    -------
    Explanation
        Its spans are those that the recognizer finds without being asked why.
    """
    trace = recognizer.trace(document)
    normal = trace.normal
    sure = _probabilities(tagger, document.with_text(normal.text))
    found = [dataclasses.replace(s, category=label_of(s.category)) for s in trace.spans]
    reasons = [_reason(candidate, normal, sure, label_of) for candidate in trace.candidates]
    spans, _, removed = site.apply(normal.text, found, label_of)
    kept = [_explained(normal.back(s), reasons) for s in spans]
    out = [_explained(normal.back(s), reasons) for s in removed]
    used = {r for e in (*kept, *out) for r in e.reasons}
    loose = tuple(r for r in reasons if not any(_same(r, u) for u in used))
    return Explanation(tuple(kept), tuple(out), loose, _words(tagger, normal, trace, places))


def _probabilities(tagger: Tagger | None, document: Document) -> dict[tuple[int, int, str], float]:
    if tagger is None:
        return {}
    told = dataclasses.replace(tagger, scores=True).find(document)
    return {(s.start, s.end, s.category): round(s.score, 4) for s in told if s.score is not None}


def _reason(
    candidate: Candidate, normal: Normalized, sure: dict[tuple[int, int, str], float], label_of: Callable[[str], str]
) -> Reason:
    span, back, weighed = candidate.span, normal.back(candidate.span), candidate.weighed
    kind, _, rest = span.source.partition(":")
    sure = sure if kind == "model" else {}
    return Reason(
        candidate.recognizer,
        rest or kind,
        label_of(span.category),
        back.start,
        back.end,
        1.0 if span.score is None else round(span.score, 4),
        round(candidate.certainty, 4),
        sure.get((span.start, span.end, span.category)) if weighed is None else round(weighed.chance, 4),
        candidate.fate,
        None if weighed is None else round(weighed.likely, 4),
        () if weighed is None else tuple((name, round(term, 3)) for name, term in weighed.terms),
    )


def _same(a: Reason, b: Reason) -> bool:
    return (a.recognizer, a.source, a.category, a.start, a.end) == (b.recognizer, b.source, b.category, b.start, b.end)


def _explained(span: Span, reasons: Sequence[Reason]) -> Explained:
    """Sort what was proposed at a span by what became of it."""
    near = [r for r in reasons if r.start < span.end and span.start < r.end]
    # of labelled values the category was taken, however certain others were
    accepted = sorted(
        (r for r in near if r.fate == "accepted"),
        key=lambda r: (r.category != span.category, -r.certainty, r.start - r.end),
    )
    told: list[Reason] = []
    settled = False
    if span.source == "deny":
        told.append(Reason("deny", "deny", span.category, span.start, span.end, 1.0, 1.0, None, "decides"))
    for reason in accepted:
        alike = group(reason.category) == group(span.category)
        decides = not told and alike
        settled |= decides and reason.category != span.category
        fate = "decides" if decides else "supports" if alike else "overruled"
        told.append(dataclasses.replace(reason, fate=fate))
    told.sort(key=lambda r: r.fate != "decides")
    return Explained(span, (*told, *(r for r in near if r.fate != "accepted")), settled)


def _words(
    tagger: Tagger | None, normal: Normalized, trace: Trace, places: Iterable[tuple[int, int]]
) -> tuple[Word, ...]:
    wanted = list(places)
    if not wanted or not normal.text:
        return ()
    chances = _chances(tagger, normal.text)
    scene = trace.scene
    if scene is not None:
        view = scene.view
        words = [(view.starts[i], view.ends[i], i) for i in range(len(view))]
    else:
        words = [(start, end, -1) for start, end, _, _ in chances]
    told = []
    for start, end, index in words:
        back = normal.back(Span(start, end, ""))
        if not any(back.start < high and low < back.end for low, high in wanted):
            continue
        here = [(p, c) for low, high, p, c in chances if low < end and start < high]
        probability, category = max(here) if here else (None, "")
        lists: tuple[str, ...] = ()
        protected = False
        if scene is not None:
            lists = tuple(name for name, bit in CLASSES.items() if scene.classes[index] & bit)
            protected = bool(scene.protected[index])
        told.append(Word(back.start, back.end, probability, category, lists, protected))
    return tuple(told)


def _chances(tagger: Tagger | None, text: str) -> list[tuple[int, int, float, str]]:
    """Return, for each token of a model: start, end, probability of PHI, likeliest category."""
    if tagger is None:
        return []
    encoded = tagger.decoder.features.encode(text)
    emissions = tagger.decoder.emissions(encoded)
    outside = tagger.labels.index("O") if "O" in tagger.labels else -1
    if not len(emissions):
        return []
    if outside >= 0:
        emissions[:, outside] -= tagger.bias
    chance = marginals(emissions, tagger.decoder.weights.transition)
    starts, ends = encoded.tokens.starts[encoded.items], encoded.tokens.ends[encoded.items]
    categories = sorted(tagger.categories)
    columns = {c: [i for i, n in enumerate(tagger.labels) if n.partition("-")[2] == c] for c in categories}
    told = []
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        phi = 1.0 - float(chance[i, outside]) if outside >= 0 else 1.0
        told.append((start, end, round(phi, 4), max(categories, key=lambda c: float(chance[i, columns[c]].sum()))))
    return told
