"""Joins what several recognizers found: one list of spans, sorted, not overlapping.

In this order:

1. Invisible and look-alike characters are taken out of the text (`deid.detection.normalize`). A document in capitals or
   in small letters, or with numbers and words that a scanner misread, is read a second time as it would ordinarily be
   written (`deid.detection.casing`, `deid.detection.misreading`); offsets stay the same.
2. Every recognizer posts its spans with a certainty. Spans of different recognizers that overlap in the same group
   (both names, both dates) raise each other: 1 - (1 - a)(1 - b).
3. Weak evidence (below ``strong``) for a name, a place or an occupation is vetoed where all its words are clinical
   language.
4. What stays at ``threshold`` or above is accepted; what was accepted with certainty is found everywhere in the
   document (`deid.detection.consistency`).
5. Where accepted spans overlap, the higher certainty decides, then the longer span, then the recognizer that was named
   first; what the loser covers beyond the winner stays covered. So every character that was accepted is covered.
6. Adjacent pieces of one name, date or address are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import regex

from deid.detection.casing import recase
from deid.detection.consistency import find_again, settle_categories
from deid.detection.fields import Scan
from deid.detection.lexicon import Lexicon, classes_of, load_lexicon
from deid.detection.misreading import decipher
from deid.detection.normalize import Normalized, normalize
from deid.detection.person_words import PERSON
from deid.detection.recognizer import Recognizer
from deid.detection.rules import RuleRecognizer
from deid.detection.scene import Scene, scene_of
from deid.detection.view import view_of
from deid.document import Document, Span
from deid.phi import canonical, group

__all__ = ["Ensemble", "Post", "Trace", "readings"]

_GRAMMATICAL = frozenset(("NAME", "LOCATION", "PROFESSION"))
_CLINICAL = classes_of("clinical", "section", "eponym", "device", "function")
_EVIDENCE = 0.2
"""Least certainty of a rule's candidate that may be raised by another recognizer."""
_JOINS = {
    "NAME": regex.compile(r"[ \u00a0]{1,2}|-"),
    "DATE": regex.compile(r",?[ \u00a0]{1,2}"),
    "STREET": regex.compile(r",?[ \u00a0]{1,2}"),
    "HOSPITAL": regex.compile(r"[ \u00a0]"),
    "PHONE": regex.compile(r",?[ \u00a0]"),
}


@dataclass(frozen=True, slots=True)
class Post:
    """What one recognizer posted, and what became of it."""

    rank: int
    """Precedence of the recognizer; that of consistency comes last."""
    recognizer: str
    span: Span
    """As it was posted, in the normalized text."""
    certainty: float
    """After others raised it."""
    fate: str
    """``accepted``, ``vetoed`` (weak, and clinical language) or ``weak`` (below the threshold)."""


@dataclass(frozen=True, slots=True)
class Trace:
    """How an ensemble came to its answer."""

    normal: Normalized
    """The text that the recognizers saw; offsets of posts and spans are its."""
    scene: Scene | None
    posts: tuple[Post, ...]
    """Sorted by position."""
    spans: tuple[Span, ...]
    """The answer."""


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several recognizers as one."""

    recognizers: tuple[Recognizer, ...]
    """In order of precedence."""
    language: str = "en"
    """Language of the word lists that protect clinical language."""
    threshold: float = 0.5
    """Least certainty of a span that is returned."""
    strong: float = 0.8
    """Certainty from which evidence cannot be vetoed and is looked for everywhere."""
    consistency: bool = True
    """Whether what was found with certainty is found everywhere in the document."""
    to_canonical: bool = False
    """Whether categories are translated to the canonical ones of `deid.phi`."""
    folders: tuple[Path, ...] = field(default=())
    """Dictionary folders of the user's own."""

    @property
    def name(self) -> str:
        """``ensemble``."""
        return "ensemble"

    @property
    def categories(self) -> frozenset[str]:
        """The categories of all recognizers."""
        found = frozenset(c for r in self.recognizers for c in r.categories)
        return frozenset(map(canonical, found)) if self.to_canonical else found

    def find(self, document: Document) -> list[Span]:
        """Find PHI.

        Returns
        -------
        list of Span
            Sorted, not overlapping; each keeps the source and the score of the evidence that decided.

        Raises
        ------
        DetectionError
            When a recognizer could not finish.
        """
        trace = self.trace(document)
        return [trace.normal.back(s) for s in trace.spans]

    def trace(self, document: Document) -> Trace:
        """Find PHI, and keep what every recognizer posted and what became of it.

        Raises
        ------
        DetectionError
            When a recognizer could not finish.
        """
        normal = normalize(document.text)
        if not normal.text:
            return Trace(normal, None, (), ())
        seen = document if normal.text is document.text else replace(document, text=normal.text, spans=())
        posted, scene = self._post(seen)
        posted.sort(key=lambda p: (p[1].start, p[1].end, p[0]))
        posts: list[Post] = []
        accepted: list[Span] = []
        for (rank, span), raised in zip(posted, _raise(posted), strict=True):
            fate = self._fate(scene, raised)
            if fate == "accepted":
                accepted.append(raised)
            posts.append(Post(rank, self.recognizers[rank].name, span, _score(raised), fate))
        if self.consistency:
            for again in find_again(scene, accepted, self.strong):
                fate = "accepted" if _score(again) >= self.threshold else "weak"
                if fate == "accepted":
                    accepted.append(again)
                posts.append(Post(len(self.recognizers), "consistency", again, _score(again), fate))
        spans = _join(scene, _decide(settle_categories(scene, accepted)))
        if self.to_canonical:
            spans = [s.named(canonical(s.category)) for s in spans]
        return Trace(normal, scene, tuple(posts), tuple(spans))

    def _fate(self, scene: Scene, span: Span) -> str:
        if _score(span) < self.strong and _is_clinical(scene, span):
            return "vetoed"
        return "accepted" if _score(span) >= self.threshold else "weak"

    def _post(self, document: Document) -> tuple[list[tuple[int, Span]], Scene]:
        """Ask every recognizer; returns spans with the precedence of their recognizer."""
        posts: list[tuple[int, Span]] = []
        scene: Scene | None = None
        lexicon = load_lexicon(self.language, self.folders)
        for text in readings(document.text, lexicon):
            read = document if text is document.text else replace(document, text=text, spans=())
            for rank, recognizer in enumerate(self.recognizers):
                if isinstance(recognizer, RuleRecognizer):
                    # weak candidates too: another recognizer may raise them
                    weak = replace(recognizer, threshold=min(_EVIDENCE, self.threshold))
                    spans, seen = weak.analyse(text)
                    scene = scene or seen
                else:
                    spans = recognizer.find(read)
                posts += [(rank, span) for span in spans]
        return posts, scene or scene_of(view_of(document.text), lexicon, Scan([], [], {}, {}))


def readings(text: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the text, and how it would ordinarily be written where that differs."""
    other = recase(decipher(text, lexicon), lexicon)
    return (text,) if other == text else (text, other)


def _score(span: Span) -> float:
    """Return the certainty of a span; a recognizer without scores is certain."""
    return 1.0 if span.score is None else span.score


def _raise(posts: Sequence[tuple[int, Span]]) -> list[Span]:
    """Let overlapping spans of different recognizers in the same group raise each other; posts sorted by position."""
    if len({rank for rank, _ in posts}) < 2:
        return [span for _, span in posts]
    result = []
    open_: list[tuple[int, int, Span]] = []
    reach = 0
    partners: dict[int, dict[int, float]] = {}
    for number, (rank, span) in enumerate(posts):
        open_ = [held for held in open_ if held[2].end > span.start] if reach > span.start else []
        reach = max(reach, span.end)
        for other_number, other_rank, other in open_:
            if other_rank != rank and group(other.category) == group(span.category):
                for a, b_rank, b in ((number, other_rank, other), (other_number, rank, span)):
                    held = partners.setdefault(a, {})
                    held[b_rank] = max(held.get(b_rank, 0.0), _score(b))
        open_.append((number, rank, span))
    for number, (_, span) in enumerate(posts):
        if number in partners:
            rest = 1.0 - _score(span)
            for score in partners[number].values():
                rest *= 1.0 - score
            span = span.scored(round(1.0 - rest, 4))
        result.append(span)
    return result


def _is_clinical(scene: Scene, span: Span) -> bool:
    """Tell whether all words of a name, place or occupation are clinical language."""
    if group(span.category) not in _GRAMMATICAL or span.category in ("USERNAME", "ROOM"):
        return False
    view = scene.view
    index = view.at(span.start)
    letters = []
    while index < len(view) and view.starts[index] < span.end:
        if scene.is_word(index):
            letters.append(index)
        index += 1
    return bool(letters) and all(_clinical(scene, i) for i in letters)


def _clinical(scene: Scene, index: int) -> bool:
    """Tell whether a word is clinical language here: in a clinical phrase, or in a clinical list and no name."""
    if scene.protected[index]:
        return True
    classes = scene.classes[index]
    return bool(classes & _CLINICAL) and not classes & PERSON


def _decide(spans: Sequence[Span]) -> list[Span]:
    """Resolve overlaps; the union of all spans stays covered."""
    kept: list[Span] = []
    cluster: list[Span] = []
    reach = 0
    for span in sorted(spans, key=lambda s: s.start):  # stable: equal starts stay in order of precedence
        if cluster and span.start >= reach:
            kept += _decide_cluster(cluster)
            cluster = []
        cluster.append(span)
        reach = max(reach, span.end)
    return kept + _decide_cluster(cluster)


def _decide_cluster(spans: Sequence[Span]) -> list[Span]:
    """Resolve the overlaps of spans that hang together."""
    if len(spans) < 2:
        return list(spans)
    order = sorted(enumerate(spans), key=lambda p: (-_score(p[1]), -len(p[1]), p[0]))
    first, last = min(s.start for s in spans), max(s.end for s in spans)
    best = order[0][1]
    if best.start == first and best.end == last:
        return [best]  # as nearly always
    taken = bytearray(last - first)
    kept = []
    for _, span in order:
        at = span.start
        while at < span.end:
            end = at
            while end < span.end and not taken[end - first]:
                end += 1
            if end > at:
                kept.append(span.moved(at, end))
            at = end + 1
        taken[span.start - first : span.end - first] = b"\1" * len(span)
    return sorted(kept)


def _join(scene: Scene, spans: Sequence[Span]) -> list[Span]:
    """Trim remainders to their words, and join adjacent pieces of one name, date or address."""
    text = scene.view.text
    joined: list[Span] = []
    for span in spans:
        start, end = span.start, span.end
        while start < end and not text[start].isalnum() and text[start] not in "(#+'\u2018\u2019@*[":
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start >= end or not any(c.isalnum() for c in text[start:end]):
            continue
        span = span.moved(start, end)
        before = joined[-1] if joined else None
        if before is not None and before.category == span.category:
            gap = _JOINS.get(group(span.category)) or _JOINS.get(span.category)
            if gap is not None and gap.fullmatch(text, before.end, span.start):
                best = max(before, span, key=_score)
                joined[-1] = best.moved(before.start, span.end)
                continue
        joined.append(span)
    return joined
