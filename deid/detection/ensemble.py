"""Joins what several recognizers found: one list of spans, sorted, not overlapping.

In this order:

1. Invisible and look-alike characters are taken out of the text, and all line ends become line feeds
   (`deid.reading.normalize`). A document in capitals or
   in small letters, or with numbers and words that a scanner misread, is read a second time as it would ordinarily be
   written (`deid.reading.casing`, `deid.reading.misreading`); offsets stay the same. Where few lines differ, only
   passages are read again (`deid.reading.passages`).
2. Every recognizer proposes its spans with a certainty. A number counts only if it can be what it was taken for:
   clinical values are no telephone numbers (`deid.detection.numbers`). Spans of different recognizers that overlap in
   the same group (both names, both dates) raise each other: 1 - (1 - a)(1 - b).
3. Weak evidence (below ``strong``) for a name, a place or an occupation is vetoed where all its words are clinical
   language; so is what a model alone takes for a name, and what it alone takes for an institution, an occupation or a
   date while nothing in its words shows one (`deid.detection.alone`). With learnt weights, what is left of a model
   alone is weighed, and what a rule alone found without being sure (`deid.detection.joining`).
4. What stays at ``threshold`` or above is accepted; a column of a table is what most of its cells are
   (`deid.detection.columns`), initials are whose a legend says (`deid.detection.legends`); what was
   accepted with certainty is found everywhere in the document (`deid.detection.find_again`).
5. Where accepted spans overlap, an explicitly labelled value decides (*MRN: 4711203* is a record number, whatever else
   it looks like), and so does a known person's name over a date (*Jan Gray*); then the higher certainty, then the
   longer span, then the recognizer that was named first; what the loser covers beyond the winner stays covered. So
   every character that was accepted is covered.
6. Adjacent pieces of one name, date or address are joined.
7. A text of one line that asks about a matter and names no individual has places, institutions, occupations and months
   that are nobody's: they are left out (`deid.detection.questions`).
8. A short text is read once more as a whole, where the model's folder has weights for it (`deid.detection.short`).
9. Each span is told what else it was taken for (`Span.also`): a policy that leaves it readable must allow all of it.

A long text (above `deid.reading.passages.WINDOW` characters) is read in windows that overlap. What was found with
certainty is looked for, and gives its category to the same name, in all of them; only what a recognizer would have seen
further away than a window reaches may differ from reading all at once.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Final

from deid.base.compiled import quick
from deid.base.in_step import pause
from deid.detection.alone import ALONE, is_clinical, names_nobody, stands_alone
from deid.detection.columns import columns
from deid.detection.cut import in_capitals, untitled, within
from deid.detection.edges import (
    behind_title,
    called_apart,
    dates_of,
    in_one_row,
    joined,
    may_be_several,
    pieces,
)
from deid.detection.find_again import Gathered, find_again, gather
from deid.detection.joining import MODEL, POSSIBLE, RULE, Joining, Surroundings, Weighed
from deid.detection.kinds import kind_of, origin_of
from deid.detection.legends import explained
from deid.detection.nouns import is_noun
from deid.detection.numbers import Numbers, plain_scene
from deid.detection.overlaps import (
    beside_names,
    corroborate,
    decide,
    drop_redundant,
    first_of_all,
    in_its_place,
    known_over_dates,
    known_over_guesses,
    may_be_names,
    score_of,
    told_apart,
)
from deid.detection.packed import Packed, together
from deid.detection.questions import bare_names, nobodys
from deid.detection.recognizer import Probable, Recognizer
from deid.detection.short import ShortTexts, reads
from deid.detection.whose import (
    Told,
    name_words,
    settle_categories,
    tell,
    traits,
    whose,
    words_of_name,
)
from deid.document import Document, Span, by_position
from deid.phi import CANONICAL, canonical
from deid.reading.lexicon import load_lexicon
from deid.reading.normalize import Normalized, normalize
from deid.reading.passages import Passage, second_readings, windows
from deid.reading.scans import long_numbers
from deid.rules.layouts import beside, head_rows, segment_names
from deid.rules.rules import RuleRecognizer
from deid.rules.scene import Scene

_MODELS: Final = "model:"
_EVIDENCE: Final = 0.2
"""Least certainty of a rule's candidate that may be raised by another recognizer."""
_POSSIBLE: Final = 0.3
"""Least certainty of a rule's candidate that may count by the learnt weights alone."""
_WEIGHED: Final = {"accepted": RULE, "weak": POSSIBLE}
"""What becomes of a rule's candidate that is not sure -> as what it is weighed."""
_DECIDES: Final = 0.85
"""Certainty from which a labelled value decides the category."""
_DOUBTS: Final = 0.4
"""From which certainty on a name that does not count makes a place doubtful that stands there."""
_PEOPLE: Final = frozenset(("PATIENT", "DOCTOR"))
_DEPARTMENT: Final = "consistency:rule:department.field"
_LONG_NUMBER: Final = "rule:number.of_a_scan"
_LIKELY: Final = 0.8
"""Certainty that a long number of a scanned document is somebody's."""


@quick
@dataclass(frozen=True, slots=True)
class Candidate:
    """What one recognizer proposed, and what became of it."""

    rank: int
    """Precedence of the recognizer; that of consistency comes last."""
    recognizer: str
    span: Span
    """As it was proposed, in the normalized text."""
    certainty: float
    """After others raised it."""
    fate: str
    """``accepted``, ``vetoed`` (clinical language, or of a model alone and no word shows it), ``unlikely`` (of a model
    or a rule alone, and weighed as none), ``weak`` (below the threshold), ``unreadable`` (a number that has no reading
    of its category), ``absorbed`` (a part of a longer name) or ``dropped`` (nothing but signs is left of it)."""
    weighed: Weighed | None = None
    """What the learnt weights say of it, where nobody else speaks for it."""


@dataclass(frozen=True, slots=True)
class Trace:
    """How an ensemble came to its answer."""

    normal: Normalized
    """The text that the recognizers saw; offsets of candidates and spans are its."""
    scene: Scene | None
    candidates: tuple[Candidate, ...]
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
    joining: Joining = field(default_factory=dict, repr=False, hash=False)
    """Learnt weights of what nobody else speaks for."""
    short: ShortTexts | None = field(default=None, repr=False, hash=False)
    """Reads short texts once more."""
    _asked: tuple[Recognizer, ...] = field(init=False, repr=False, compare=False)
    """The recognizers as they are asked: rules for weak candidates too, which another recognizer may raise."""
    _probable: Probable | None = field(init=False, repr=False, compare=False)
    """The first recognizer that knows how sure it is of a place."""
    _deciding: frozenset[str] = field(init=False, repr=False, compare=False)
    """Sources of labelled values, and of what repeats them."""
    _trusted: frozenset[str] = field(init=False, repr=False, compare=False)
    """Sources whose numbers need no other reading: these, and the user's own patterns."""

    def __post_init__(self) -> None:
        least = min(_EVIDENCE, self.threshold)
        asked = (replace(r, threshold=least) if isinstance(r, RuleRecognizer) else r for r in self.recognizers)
        object.__setattr__(self, "_asked", tuple(asked))
        object.__setattr__(self, "_probable", next((r for r in self.recognizers if isinstance(r, Probable)), None))
        sources = {source for r in self.recognizers if isinstance(r, RuleRecognizer) for source in r.deciding}
        own = {source for r in self.recognizers if isinstance(r, RuleRecognizer) for source in r.own}
        object.__setattr__(self, "_deciding", frozenset((*sources, *(f"consistency:{s}" for s in sources))))
        object.__setattr__(self, "_trusted", self._deciding.union(own, (f"consistency:{s}" for s in own)))

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
        normal = normalize(document.text)
        spans = self.find_normal(document.with_text(normal.text))
        return [normal.back(s) for s in spans] if normal.removed else spans

    def find_normal(self, document: Document) -> list[Span]:
        """Find PHI as `find` does, in a document whose text is normalized already (`deid.reading.normalize`)."""
        return self.find_with_scene(document)[0]

    def find_with_scene(self, document: Document) -> tuple[list[Span], Scene | None]:
        """Do what `find_normal` does; returns what is known of the words, too, of a document of one window."""
        return self._find(document) if document.text else ([], None)

    def trace(self, document: Document) -> Trace:
        """Find PHI, and keep what every recognizer proposed and what became of it.

        Returns
        -------
        Trace
            Every candidate with its fate, and the answer.

        Raises
        ------
        DetectionError
            When a recognizer could not finish.
        """
        normal = normalize(document.text)
        if not normal.text:
            return Trace(normal, None, (), ())
        candidates: list[Candidate] = []
        spans, scene = self._find(document.with_text(normal.text), candidates)
        return Trace(normal, scene, tuple(candidates), tuple(spans))

    def _find(self, document: Document, candidates: list[Candidate] | None = None) -> tuple[list[Span], Scene | None]:
        """Find PHI in a normalized document; what was proposed is added to the candidates, where they are wanted."""
        parts = windows(document.text)
        if len(parts) > 1:
            return self._find_in(document, parts, candidates), self._scene(
                document.text
            ) if candidates is not None else None
        short = self.short if self._probable is not None and reads(document) else None
        if short is not None and candidates is None:
            candidates = []
        scene, accepted, labelled = self._accept(document, candidates)
        pause("again")
        again, named = self._again(scene, accepted, None, candidates), functools.partial(words_of_name, scene)
        passed, sure = self._passed(again)
        pause("settling")
        spans = self._settle(document.text, [*accepted, *passed], [*labelled, *sure], named)
        pause("telling")
        if document.record is None and not any(s.source in self._trusted or origin_of(s.source).known for s in spans):
            # a record is somebody's, whatever one of its fields asks
            general = nobodys(scene, spans)
            self._told(spans, candidates)
            spans = self._told([span for span in spans if span not in general], candidates, "nobodys")
        self._told(spans, candidates)
        if short is not None and candidates is not None:
            pause("short")
            spans = self._read_short(short, scene, spans, candidates)
        return spans, scene

    def _read_short(
        self, short: ShortTexts, scene: Scene, spans: list[Span], candidates: list[Candidate]
    ) -> list[Span]:
        """Read a short text once more, as a whole."""
        model = self._probable
        if model is None or not len(scene):
            return spans
        chances = model.chances(scene.text, list(zip(scene.starts, scene.ends, strict=True)))
        readable = functools.partial(self.parts, Numbers(scene))
        stay, come = short.read(scene, candidates, spans, chances, self._trusted.__contains__, readable)
        self._told(stay, candidates, "unlikely")
        for span in come:
            candidates.append(Candidate(len(self.recognizers), "short", span, score_of(span), "accepted"))
        if self.to_canonical:
            come = [span.named(CANONICAL[span.category]) for span in come]
        return sorted((*stay, *come), key=by_position)

    def _find_in(self, document: Document, parts: Sequence[Passage], candidates: list[Candidate] | None) -> list[Span]:
        """Find PHI in a long document window by window."""
        text = document.text
        accepted, labelled, again, sure = Packed(), Packed(), Packed(), Packed()
        marks = [0]
        gathered = Gathered()
        for part in parts:
            here: list[Candidate] | None = None if candidates is None else []
            scene, found, decisive = self._accept(document.with_text(part.of(text)), here)
            found = [span for span in found if part.back(span) is not None]
            gather(scene, found, self.strong, gathered)
            accepted.extend(filter(None, map(part.back, found)))
            labelled.extend(filter(None, map(part.back, decisive)))
            marks.append(len(accepted))
            if candidates is not None:
                candidates += (replace(p, span=back) for p in here or () if (back := part.back(p.span)) is not None)
            del scene, found, decisive  # as large as what the next window takes
        if self.consistency:
            gathered.sort()
            for part, first, stop in zip(parts, marks, marks[1:], strict=False):
                scene, by = self._scene(part.of(text)), len(part.head) - part.start
                found = [span.moved(span.start + by, span.end + by) for span in accepted.some(range(first, stop))]
                here = None if candidates is None else []
                passed, decisive = self._passed(self._again(scene, found, gathered, here))
                again.extend(filter(None, map(part.back, passed)))
                sure.extend(filter(None, map(part.back, decisive)))
                if candidates is not None:
                    candidates += (replace(p, span=back) for p in here or () if (back := part.back(p.span)) is not None)
                del scene, found, passed, decisive
        del gathered  # as large as what is settled now
        words_of = functools.partial(name_words, text)
        known: Told = {}
        for held in (accepted, again):
            tell(held, words_of, known)
        accepted.extend(again)
        labelled.extend(sure)
        spans: list[Span] = []
        for near, decisive in together(text, accepted, labelled):
            spans += self._settle(text, near, decisive, words_of, known)
        return self._told(spans, candidates)

    def _accept(self, document: Document, candidates: list[Candidate] | None) -> tuple[Scene, list[Span], list[Span]]:
        """Return what is known of the words, what recognizers found that passes, and what of it was labelled."""
        left_out: list[tuple[int, Span, str]] | None = None if candidates is None else []
        found, scene = self._post(document, left_out)
        weighed, scores = corroborate(found)
        sure = max(self.strong, self.threshold)
        # what is below the threshold is out anyhow: why matters to a trace alone
        least = self.threshold if candidates is None else -1.0
        passed = [False] * len(weighed)
        fates: dict[int, str] = {}
        unsure: dict[int, str] = {}
        possible = min(least, _POSSIBLE) if self.joining else least
        for number, score in enumerate(scores):
            span = weighed[number][1]
            if score is not None and score < sure:
                fate = self._fate(scene, span, score) if score >= possible else ""
                lone = score == span.score and span.source.startswith("rule:") and span.source not in self._trusted
                if lone and fate in _WEIGHED and score >= _POSSIBLE:
                    unsure[number] = _WEIGHED[fate]
            elif score == span.score and (score or 0.0) < ALONE and span.source.startswith(_MODELS):
                fate = "accepted" if stands_alone(scene, span) and not is_noun(scene, span) else "vetoed"
                if fate == "accepted":
                    unsure[number] = MODEL
            else:
                continue
            fates[number] = fate
            passed[number] = fate != "accepted"
        judged = self._judge(scene, weighed, scores, unsure) if self.joining and unsure else {}
        pause("joining")
        guessed = any(told.kind == POSSIBLE for told in judged.values())
        taken = bytearray(len(document.text)) if guessed else bytearray()
        first = last = 0  # what was marked last: most spans have the place of the one before
        if guessed:
            for number, (_, span) in enumerate(weighed):
                if not passed[number] and (span.start != first or span.end != last):
                    first, last = span.start, span.end
                    taken[first:last] = b"\1" * (last - first)
        for number, told in judged.items():
            span = weighed[number][1]
            if told.kind == POSSIBLE and any(taken[span.start : span.end]):
                continue  # somebody says otherwise: *3 May 2019*
            if told.likely >= self.joining[told.kind].least:
                fates[number] = "accepted"
            elif told.kind != POSSIBLE:
                fates[number] = "unlikely"
            passed[number] = fates[number] != "accepted"
        if candidates is not None:
            for number, (rank, span) in enumerate(weighed):
                score = scores[number]
                certainty = 1.0 if score is None else score
                name, fate = self.recognizers[rank].name, fates.get(number, "accepted")
                candidates.append(Candidate(rank, name, span, certainty, fate, judged.get(number)))
            for rank, span, fate in left_out or ():
                candidates.append(Candidate(rank, self.recognizers[rank].name, span, score_of(span), fate))
        counted = [span for number, (_, span) in enumerate(weighed) if not passed[number]]
        labelled = [*self._labelled(counted), *known_over_dates(document.text, counted), *known_over_guesses(counted)]
        accepted = drop_redundant(weighed, scores, bytearray(passed), traits)
        doubts = [
            span
            for number, (_, span) in enumerate(weighed)
            if passed[number] and (scores[number] or 0.0) >= _DOUBTS and kind_of(span.category).named
        ]
        pause("persons")
        accepted = may_be_names(whose(scene, accepted, self._trusted.__contains__), doubts)
        pause("columns")
        alike = [*columns(scene, accepted), *explained(scene, accepted)] if self.consistency else []
        alike += bare_names(scene, accepted) if self._deciding and document.record is None else []
        if candidates is not None:
            candidates += (
                Candidate(len(self.recognizers), "consistency", span, score_of(span), "accepted") for span in alike
            )
        return scene, [*accepted, *alike], [*labelled, *alike]

    def _judge(
        self, scene: Scene, found: list[tuple[int, Span]], scores: list[float | None], unsure: dict[int, str]
    ) -> dict[int, Weighed]:
        """Weigh candidates that nobody else speaks for; number -> what came of it."""
        model = self._probable
        numbers = [number for number, kind in unsure.items() if kind in self.joining]
        if model is None:
            return {}
        near = Surroundings(scene, found, scores, numbers)
        chances = model.chances(scene.text, [(found[n][1].start, found[n][1].end) for n in numbers])
        return {
            number: near.weigh(number, chance, unsure[number], self.joining[unsure[number]])
            for number, chance in zip(numbers, chances, strict=True)
        }

    def _labelled(self, spans: Iterable[Span]) -> list[Span]:
        return [span for span in spans if span.source in self._deciding and score_of(span) >= _DECIDES]

    def _again(
        self, scene: Scene, accepted: Sequence[Span], gathered: Gathered | None, candidates: list[Candidate] | None
    ) -> list[Span]:
        """Return what was accepted, and stands elsewhere too."""
        again = find_again(scene, accepted, self.strong, gathered) if self.consistency else []
        numbers = Numbers(scene)
        # what a label calls a department is elsewhere a specialty
        again = [part for span in again if span.source != _DEPARTMENT for part in self.parts(numbers, span)]
        if candidates is not None:
            for span in again:
                fate = "accepted" if score_of(span) >= self.threshold else "weak"
                candidates.append(Candidate(len(self.recognizers), "consistency", span, score_of(span), fate))
        return again

    def _passed(self, again: Sequence[Span]) -> tuple[list[Span], list[Span]]:
        """Return which of the spans that were found again count, and which decide the category."""
        return [span for span in again if score_of(span) >= self.threshold], self._labelled(again)

    def _settle(
        self,
        text: str,
        accepted: list[Span],
        labelled: Sequence[Span],
        words_of: Callable[[Span], Collection[str]],
        known: Told | None = None,
    ) -> list[Span]:
        """Decide between the accepted spans of a text, or of a part of it that no span crosses."""
        settled = settle_categories(accepted, words_of, known)
        if labelled:
            settled = [*settled, *first_of_all(labelled, accepted)]
        vocabulary = load_lexicon(self.language, self.folders).vocabulary
        spans = told_apart(joined(text, [in_its_place(s) for s in decide(settled)], vocabulary), accepted)
        spans = beside_names(text, spans)
        return [s.named(CANONICAL[s.category]) for s in spans] if self.to_canonical else spans

    def _told(self, spans: list[Span], candidates: list[Candidate] | None, fate: str = "dropped") -> list[Span]:
        """Note in the candidates which passed, and are in none of the spans."""
        candidates = [] if candidates is None else candidates
        for number, candidate in enumerate(candidates):
            if candidate.fate == "accepted" and not any(candidate.span.overlaps(span) for span in spans):
                candidates[number] = replace(candidate, fate=fate)
        return spans

    def _scene(self, text: str) -> Scene:
        """Return what is known of the words of a text, for itself."""
        for recognizer in self._asked:
            if isinstance(recognizer, RuleRecognizer):
                return recognizer.scene(text)
        return plain_scene(text, load_lexicon(self.language, self.folders))

    def _fate(self, scene: Scene, span: Span, score: float) -> str:
        if score < self.strong and is_clinical(scene, span):
            return "vetoed"
        return "accepted" if score >= self.threshold else "weak"

    def _read(
        self, document: Document, left_out: list[tuple[int, Span, str]] | None
    ) -> tuple[list[tuple[int, Span]], Scene]:
        """Ask every recognizer about one reading; what does not count for itself is added to ``left_out``."""
        ranks = range(len(self._asked))
        by_rules = [rank for rank in ranks if isinstance(self._asked[rank], RuleRecognizer)]
        found: dict[int, list[Span]] = {}
        absorbed: dict[int, list[Span]] = {rank: [] for rank in by_rules}
        unread: dict[int, list[Span]] = {rank: [] for rank in ranks}
        scene: Scene | None = None
        for rank in reversed(by_rules):
            rules = self._asked[rank]
            assert isinstance(rules, RuleRecognizer)
            found[rank], scene = rules.analyse(document.text, None if left_out is None else absorbed[rank])
        scene = scene or self._scene(document.text)
        numbers, heads, names = Numbers(scene), self._heads(scene), self._names(document.text)
        pause("reading")
        for rank in by_rules:
            found[rank] = self._readable(numbers, found[rank], names, heads, unread[rank])
        pause("model")
        for rank in ranks:  # last: a model that is asked next how sure it is has the text at hand
            if rank not in found:
                spans = self._asked[rank].find(document)
                found[rank] = self._readable(numbers, spans, names, heads, unread[rank])
        if left_out is not None:
            left_out += [(rank, span, "absorbed") for rank in reversed(by_rules) for span in absorbed[rank]]
            left_out += [(rank, span, "unreadable") for rank in ranks for span in unread[rank]]
        return [(rank, span) for rank in ranks for span in found[rank]], scene

    def _read_again(self, document: Document, scanned: bool) -> list[tuple[int, Span]]:
        """Ask every recognizer about another reading; of a scanned document a long number is somebody's at least."""
        found, scene = self._read(document, None)
        if not scanned:
            return found
        numbers, last = Numbers(scene), len(self._asked) - 1
        for start, end in long_numbers(document.text):
            span = Span(start, end, "IDNUM", source=_LONG_NUMBER, score=_LIKELY)
            found += [(last, part) for part in self.parts(numbers, span)]
        return found

    def _names(self, text: str) -> list[tuple[int, int]]:
        """Return the names at ends of segments: a title there says nothing about the next one's, whoever thinks so."""
        rules = [recognizer for recognizer in self._asked if isinstance(recognizer, RuleRecognizer)]
        return segment_names(text, [segment for rule in rules for segment in rule.catalogue.segments])

    def _heads(self, scene: Scene) -> list[tuple[int, int]]:
        """Return where heads of tables are, by the labels of all rules."""
        rules = [recognizer for recognizer in self._asked if isinstance(recognizer, RuleRecognizer)]
        return head_rows(scene, rules[0].labels.by_label if rules else {})

    def _readable(
        self,
        numbers: Numbers,
        spans: Sequence[Span],
        names: Sequence[tuple[int, int]],
        heads: Sequence[tuple[int, int]],
        left_out: list[Span],
    ) -> list[Span]:
        """Return what reads as what it was taken for, beside names at ends of segments and in no head of a table."""
        found: list[Span] = []
        for span in spans:
            if names:
                rest = beside(names, span)
                if rest is None:
                    continue
                span = rest
            headed = bool(heads) and _within(heads, span) and not origin_of(span.source).known
            parts = () if headed else self.parts(numbers, span)
            found += parts
            if not parts:
                left_out.append(span)
        return found

    def parts(self, numbers: Numbers, span: Span) -> tuple[Span, ...]:
        """Return what of a span has a reading of its category; its label, or what is known, is one."""
        scene, origin = numbers.scene, origin_of(span.source)
        in_a_line = origin.names or (origin.model and "\n" not in scene.text[span.start : span.end])
        if in_a_line and (cell := in_one_row(scene, span)) is not span:
            span = cell
        kind, trusted = kind_of(span.category), origin.known or span.source in self._trusted
        if trusted and not (kind.person and origin.names):
            return (span,)
        words = scene.inside(span.start, span.end)
        if not trusted and names_nobody(scene, span, words):
            return ()
        if kind.person:
            if origin.names and "\n" in scene.text[span.start : span.end]:
                span = pieces(scene, span)[0]
                words = scene.inside(span.start, span.end)
            name = untitled(scene, behind_title(scene, span), words)
            if name is None:
                return ()
            if name is not span:
                span, words = name, scene.inside(name.start, name.end)
        if trusted:
            return (span,)
        if origin.model and span.category == "DATE" and may_be_several(scene.text, span.start, span.end):
            dates = list(dates_of(scene, span))
            parts = [numbers.read(within(scene, date)) for date in dates] if len(dates) > 1 else []
            if any(parts):
                return tuple(chain.from_iterable(part or (date,) for part, date in zip(parts, dates, strict=True)))
        if origin.model and span.category in ("PHONE", "FAX"):
            return tuple(chain.from_iterable(map(numbers.read, called_apart(scene.text, span))))
        if not origin.titled or not kind.worded:
            # digits with wide gaps are one number
            return numbers.read(within(scene, span, words) if origin.model else span)
        cells = pieces(scene, span)
        if len(cells) == 1 and cells[0] is span:
            if origin.model:
                cells = in_capitals(scene, span, words)
        elif origin.model:
            cells = [part for cell in cells for part in in_capitals(scene, cell)]
        if len(cells) > 1:
            cells = [cell for cell in cells if not names_nobody(scene, cell)]
        if not cells:
            return ()
        if len(cells) == 1:
            return numbers.read(within(scene, cells[0], words if cells[0] is span else None))
        parts = [numbers.read(within(scene, cell)) for cell in cells]
        return tuple(chain.from_iterable(parts)) if all(parts) else numbers.read(within(scene, span, words))

    def _post(
        self, document: Document, left_out: list[tuple[int, Span, str]] | None
    ) -> tuple[list[tuple[int, Span]], Scene]:
        """Ask every recognizer; returns spans with the precedence of their recognizer."""
        others = second_readings(document, load_lexicon(self.language, self.folders))
        pause("reading otherwise")
        again = [(passage, self._read_again(part, passage.scanned)) for part, passage in others]
        pause("sieve")
        candidates, scene = self._read(document, left_out)  # last: a model that is asked how sure it is has it at hand
        for passage, found in again:
            backs = ((rank, back) for rank, span in found if (back := passage.back(span)) is not None)
            candidates += ((rank, back) for rank, back in backs if not names_nobody(scene, back))
        return candidates, scene


def _within(lines: Sequence[tuple[int, int]], span: Span) -> bool:
    """Tell whether a span lies in one of some stretches, given in order."""
    at = bisect_right(lines, (span.start, len(lines) and lines[-1][1]))
    return at > 0 and span.end <= lines[at - 1][1]
