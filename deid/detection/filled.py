"""A model that works without rules, and rules that fill what it leaves.

The Spanish model was trained on notes of one kind: of notes of any kind it takes ordinary words for names, and leaves
what those notes do not have. So the rules judge what it found, say where it has nothing, and end what it cut short.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import regex

from deid.base.in_step import pause
from deid.detection.alone import stands_alone
from deid.detection.edges import PEOPLE
from deid.detection.ensemble import Candidate, Ensemble, Trace
from deid.detection.find_again import find_again
from deid.detection.numbers import Numbers, plain_scene
from deid.detection.overlaps import score_of
from deid.detection.recognizer import Probable, Recognizer
from deid.detection.things import FUNCTION
from deid.document import Document, Span, by_position, resolve_overlaps
from deid.phi import LABEL_SETS, canonical, map_labels
from deid.reading.dictionaries import fold
from deid.reading.lexicon import load_lexicon
from deid.reading.normalize import normalize
from deid.reading.passages import second_readings, windows
from deid.rules.scene import Scene
from deid.rules.word_classes import PERSON, STREET_PREFIX, TITLES

RULE_LABELS = "i2b2-2014"
_FILLS = 0.8
"""Certainty from which rules fill what a model leaves; at .6 they find more, and half as many again that is none."""
_POSSIBLE = 0.3
"""Chance from which a model, which has something else there, does not speak against what rules hold for likely."""
_SURELY = 0.9
"""From which all that they have beyond it counts, names of people aside: these a model ends better."""
_ADDRESSES = frozenset(("EMAIL", "URL"))
"""What is whole where the rules have it: a model may take a part of one for a name."""
_APART = PEOPLE | {"AGE"}
"""What a model ends better: two persons may stand beside each other, and a unit of an age is none of it."""
_WORDED = PEOPLE | {"HOSPITAL", "ORGANIZATION", "PROFESSION", "DATE"}
"""What words make, and a model may see in ordinary ones."""
_EDGES = " \t\r\n.,;:()-/"
_ADDRESSED = 5
"""Figures from which a street may be something else that is somebody's: a number of a telephone."""
_NUMBERED = frozenset(("MEDICALRECORD", "IDNUM", "HEALTHPLAN", "LICENSE", "DEVICE", "ACCOUNT", "VEHICLE"))
"""What is made of figures, and stands in one column."""
_COLUMN = regex.compile(r"[ ]{2,}|[ ]*\t[ ]*")
_NAMED = regex.compile(r"\p{Lu}\p{L}{2}|\p{Lu}{1,2}-[0-9]{2}")
_JOINTS = regex.compile(r"(?i)\A(?:[\s.,;:()/-]|[yeou]\b)+|(?:[\s.,;:()/-]|\b[yeou])+\Z")
"""What joins a piece to what stands beside it."""
_TOLD = frozenset(("OTHER", "PROFESSION"))
"""What words for kin, a sex and a trade are."""
_BESIDE = frozenset(',:(."\u00ab\u201c')
_MOST_BETWEEN = 4
"""What stands between what somebody is and who it is, and how much: *su hija, Ximena*, *madre, doña Luz*."""
_INITIAL = regex.compile(
    r"(?<=\p{Lu}\p{Ll}{2,20})[ ](?!T\.)\p{Lu}\.(?=[ ]?[,;:)(/|\r\n]|[ ]\p{Ll}|[ ][\u2013\u2014-]|[ ]{2}|\Z)"
)
"""The initial of the next name behind a word with a capital; *T.* is a temperature."""
_PARTNER = r"(?P<name>\p{Lu}\p{Ll}[\p{L}'\u2019-]{1,18})"
_AGED = r"(?:[ ]\([^()\n]{1,12}\))?"
_NEAR = 40
"""Characters in which who is named together with somebody stands, and the words between."""
_TELLS = regex.compile(r"\p{L}{3}|\A\p{Lu}\.?[\u00aaa]?\Z")
"""A word, or an initial."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A model without rules: what is misread or in one case is read twice, and its numbers need readings."""

    recognizer: Recognizer
    language: str
    judge: Ensemble | None = None
    """The rules, which tell what of a span is nobody's; none where notes are of the kind that the model knows."""

    @property
    def categories(self) -> frozenset[str]:
        """The categories that it can find."""
        return self.recognizer.categories

    def find_normal(
        self, document: Document, known: Scene | None = None, candidates: list[Candidate] | None = None
    ) -> list[Span]:
        """Find PHI in a normalized document; of its words, what is known is used, and what was proposed is noted."""
        lexicon = load_lexicon(self.language)
        found: list[Span] = []
        parts_of = windows(document.text)
        for part in parts_of:
            here = document.with_text(part.of(document.text))
            others = list(second_readings(here, lexicon))
            pause("the model alone")
            again = [passage.back(span) for other, passage in others for span in self.recognizer.find(other)]
            # last: a model that is asked how sure it is has it at hand
            spans = [*self.recognizer.find(here), *filter(None, again)]
            pause("its words")
            if not spans:
                continue
            scene = known if known is not None and len(parts_of) == 1 else plain_scene(here.text, lexicon)
            numbers = Numbers(scene)
            for span in spans:
                if self.judge is None:
                    parts = numbers.read(span)
                else:
                    whole = _unbracketed(here.text, span)
                    read = [self.judge.parts(numbers, cell) for cell in _cells(scene, whole)]
                    parts = tuple(itertools.chain(*read)) if all(read) else self.judge.parts(numbers, whole)
                fate = "unreadable"
                if self.judge is not None and canonical(span.category) in _WORDED:
                    fate = "vetoed" if parts else fate
                    parts = tuple(part for part in parts if stands_alone(scene, part))
                found += filter(None, map(part.back, parts))
                if candidates is not None and (back := part.back(span)) is not None:
                    fate = "accepted" if parts else fate
                    candidates.append(Candidate(0, self.recognizer.name, back, score_of(span), fate))
        return list(resolve_overlaps(found))

    def possible(self, text: str, spans: Sequence[Span]) -> list[Span]:
        """Return which of some spans the model holds for possible, too."""
        if not isinstance(self.recognizer, Probable):
            return []
        found: list[Span] = []
        for part in windows(text) if spans else ():
            by = len(part.head) - part.start
            here = [s for s in spans if s.start + by >= 0 and part.back(s.moved(s.start + by, s.end + by)) is not None]
            if here:
                chances = self.recognizer.chances(part.of(text), [(s.start + by, s.end + by) for s in here])
                found += (s for s, chance in zip(here, chances, strict=True) if chance >= _POSSIBLE)
        return found

    def trace(self, document: Document, known: Scene | None = None) -> Trace:
        """Find PHI, and keep what was proposed and what became of it."""
        normal = normalize(document.text)
        candidates: list[Candidate] = []
        spans = self.find_normal(document.with_text(normal.text), known, candidates)
        return Trace(normal, None, tuple(candidates), tuple(spans))


def _cells(scene: Scene, span: Span) -> list[Span]:
    """Return what of a number stands in which column, without labels and columns of letters; of a street itself.

    A street has a word with a capital or for a street, or the number of a road: *de 6 y 3* is none.
    """
    text = scene.text[span.start : span.end]
    kind = canonical(span.category)
    if kind == "STREET":
        told = scene.lowercase_text or not any(map(str.isalpha, text)) or _NAMED.search(text) is not None
        told = told or sum(map(str.isdecimal, text)) >= _ADDRESSED
        told = told or any(scene.has(i, STREET_PREFIX) for i in scene.inside(span.start, span.end))
        return [span] if told else []
    if kind not in _NUMBERED or _COLUMN.search(text) is None:
        return [span]
    labels = scene.words["number_label"] | scene.words["phone_label"]
    found: list[Span] = []
    start = 0
    for end, behind in (*(m.span() for m in _COLUMN.finditer(text)), (len(text), len(text))):
        head, _, rest = text[start:end].partition(" ")
        first = end - len(rest) if rest and fold(head.strip(":.")) in labels else start
        if any(map(str.isdecimal, text[first:end])):
            found.append(span.moved(span.start + first, span.start + end))
        start = behind
    return found


def _unbracketed(text: str, span: Span) -> Span:
    """Return a span without an opening bracket that closes behind it."""
    opened = text[span.start] == "(" and ")" not in text[span.start : span.end]
    return span.moved(span.start + 1, span.end) if opened and span.end - span.start > 1 else span


@dataclass(frozen=True, slots=True)
class Filled:
    """What finds first, and rules for what it leaves: spans of which they are certain, where it has none."""

    first: Ensemble | Alone
    rules: Ensemble
    labels: Labels
    """Those of the first."""

    @property
    def categories(self) -> frozenset[str]:
        """The categories that both can find, in the labels of the first."""
        return self.first.categories | self.rules.categories

    def find_normal(self, document: Document) -> list[Span]:
        """Find PHI in a normalized document."""
        more, scene = self.rules.find_with_scene(document)
        own = self.first
        first = own.find_normal(document, scene) if isinstance(own, Alone) else own.find_normal(document)
        pause("filling up")
        return self._repeated(scene, self._joined(document.text, scene, first, more))

    def trace(self, document: Document) -> Trace:
        """Find PHI, and keep what both proposed and what became of it."""
        more = self.rules.trace(document)
        first = self.first.trace(document, more.scene) if isinstance(self.first, Alone) else self.first.trace(document)
        spans = self._repeated(more.scene, self._joined(document.text, more.scene, first.spans, more.spans))
        added = [
            dataclasses.replace(
                one,
                rank=one.rank + 1,
                fate="weak" if one.fate == "accepted" and not any(map(one.span.overlaps, spans)) else one.fate,
            )
            for one in more.candidates
        ]
        return Trace(first.normal, more.scene, (*first.candidates, *added), tuple(spans))

    def _joined(self, text: str, scene: Scene | None, first: Sequence[Span], more: Sequence[Span]) -> list[Span]:
        """Return all of the first, what the rules have beside it, and the numbers that they have beyond it.

        An address of the web or of mail goes before its parts, and what is no name of a person before parts of its own
        kind. Where one of the rules begins before spans of the same
        category with further numbers, it is one with them; so is a list of days of which a part was taken for an age.
        """
        own = list(first)
        for span in self._sure(text, first, more):
            start, end = span.start, span.end
            near = [one for one in own if one.start < end and start < one.end]
            if not near:
                if scene is None or canonical(span.category) not in PEOPLE or _has_a_name(scene, span):
                    own.append(span)
                continue
            # "Ingresado del 21" is nothing of its own before days that the rules know
            inside = [one for one in near if not _runs_into(text, one, span)]
            if len(inside) < len(near):
                own = [one for one in own if one not in near or one in inside]
            kind, label = canonical(span.category), self.labels.of(span.category)
            around = all(start <= one.start and one.end <= end for one in inside)
            alike = kind not in _APART and all(one.category in (label, span.category) for one in inside)
            if len(inside) == 1 and (inside[0].start, inside[0].end) == (start, end):
                continue
            if around and (kind in _ADDRESSES or alike):
                own = [*(one for one in own if one not in inside), span]
            elif kind in _ADDRESSES:
                continue
            elif self._continues(text, span, inside):
                whole = dataclasses.replace(span, end=max([span.end, *(one.end for one in inside)]))
                own = [*(one for one in own if one not in inside), whole]
            else:
                wholly = around or (score_of(span) >= _SURELY and kind not in PEOPLE)
                pieces = _beyond(text, span, inside, wholly=wholly)
                # the *Doctor* before a name, and what the rules took along behind it, are nobody
                own += (p for p in pieces if kind not in PEOPLE or scene is None or _could_name(scene, p))
        if scene is None:
            return sorted(own, key=by_position)
        own = _with_initials(text, own)
        own += _pairs(text, scene, [one for one in own if canonical(one.category) in PEOPLE], own)
        # who is named needs nobody's word for what they are
        vague = [one for one in own if canonical(one.category) in _TOLD]
        if vague:
            people = [one for one in own if canonical(one.category) in PEOPLE]
            edges = {place for one in people for place in (one.start, one.end)}
            named = [one for one in vague if _is_beside(scene, one, edges)]
            own = [one for one in own if one not in named]
        return sorted(own, key=by_position)

    def _repeated(self, scene: Scene | None, spans: list[Span]) -> list[Span]:
        """Return spans, and where else what a model found stands; in a text of several windows they alone."""
        if scene is None or len(windows(scene.text)) > 1:
            return spans
        numbers = Numbers(scene)
        again = find_again(scene, [span.named(canonical(span.category)) for span in spans], _FILLS)
        parts = (part for span in again if score_of(span) >= _FILLS for part in self.rules.parts(numbers, span))
        own = list(spans)
        for part in self.labels.on(list(parts)):
            if not any(map(part.overlaps, own)):
                own.append(part)
        return sorted(own, key=by_position)

    def _sure(self, text: str, first: Sequence[Span], more: Sequence[Span]) -> list[Span]:
        """Return what the rules are certain of, and what both hold for possible where the first has nothing."""
        sure = [span for span in more if score_of(span) >= _FILLS]
        if not isinstance(self.first, Alone):
            return sure
        unsure = [s for s in more if score_of(s) < _FILLS and canonical(s.category) != "OTHER"]
        unsure = [span for span in unsure if not any(map(span.overlaps, (*first, *sure)))]
        return sorted([*sure, *self.first.possible(text, unsure)], key=by_position) if unsure else sure

    def _continues(self, text: str, span: Span, inside: Sequence[Span]) -> bool:
        """Tell whether a span of the rules is one with all that others have of it."""
        own = self.labels.of(span.category)
        listed = canonical(span.category) == "DATE" and any(one.category == own for one in inside[1:])
        return all(
            (one.category == own and span.start < one.start and any(map(str.isdecimal, text[span.start : one.start])))
            or (listed and one.category != own and span.start <= one.start and one.end <= span.end)
            for one in inside
        )


def _runs_into(text: str, one: Span, span: Span) -> bool:
    """Tell whether a span of no category has the first figure of a date, and none before it."""
    vague = canonical(one.category) == "OTHER" and canonical(span.category) == "DATE"
    return (
        vague
        and one.start < span.start < one.end <= span.end
        and not any(map(str.isdecimal, text[one.start : span.start]))
    )


def _with_initials(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return spans by position, names with the initial of the next one, which a model leaves: *Iria L.*"""
    whole: list[Span] = []
    for one in sorted(spans, key=by_position):
        if whole and one.end <= whole[-1].end:
            continue  # the rules have the initial apart
        found = _INITIAL.match(text, one.end) if canonical(one.category) in PEOPLE else None
        whole.append(one if found is None else one.moved(one.start, found.end()))
    return whole


@cache
def _together(joints: frozenset[str]) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return what finds who is named together with somebody, behind and before: *Leire (7) y Unax*."""
    joint = f"[ ](?:{'|'.join(map(regex.escape, sorted(joints)))}|[+/&])[ ]"
    behind = regex.compile(rf"{_AGED}{joint}{_PARTNER}(?![\p{{L}}:])")
    return behind, regex.compile(rf"(?<![\p{{L}}.-]){_PARTNER}{_AGED}{joint}\Z")


def _pairs(text: str, scene: Scene, people: Sequence[Span], own: Sequence[Span]) -> Iterator[Span]:
    """Yield words that no list has, or a list of names, and that are named together with somebody who was found."""
    behind, before = _together(frozenset(scene.words["and"]))
    for one in people:
        for found in (behind.match(text, one.end), before.search(text, max(0, one.start - _NEAR), one.start)):
            if not found or any(other.start < found.end("name") and found.start("name") < other.end for other in own):
                continue
            words = scene.inside(*found.span("name"))
            if all(scene.has(i, PERSON) or not scene.classes[i] for i in words):
                yield dataclasses.replace(one, start=found.start("name"), end=found.end("name"))


def _is_beside(scene: Scene, one: Span, edges: Collection[int]) -> bool:
    """Tell whether words for kin, a sex or a trade stand beside a name, before it or in brackets behind it."""
    if any(map(str.isdecimal, scene.text[one.start : one.end])):
        return False
    if canonical(one.category) == "OTHER" and scene.text[one.start - 2 : one.start] == " (" and one.start - 2 in edges:
        return True  # what somebody works as stands in brackets too, and is theirs
    first = scene.at(one.end - 1) + 1
    for at in range(first, min(first + _MOST_BETWEEN, scene.count)):
        if scene.breaks[at]:
            return False
        if scene.starts[at] in edges:
            return True
        if not (scene.word(at) in _BESIDE or scene.has(at, TITLES) or scene.says(at, "institution_behind")):
            return False
    return False


def _has_a_name(scene: Scene, span: Span) -> bool:
    """Tell whether a name has a word that is no small one: behind *paciente:* stands *Se presenta*."""
    return not all(scene.has(i, FUNCTION) for i in scene.inside(span.start, span.end))


def _could_name(scene: Scene, piece: Span) -> bool:
    """Tell whether what a model left of a name could be one by itself."""
    if not scene.lowercase_text and scene.text[piece.start : piece.end].islower():
        return False
    return stands_alone(scene, piece)


def _beyond(text: str, span: Span, inside: Sequence[Span], *, wholly: bool) -> Iterator[Span]:
    """Yield what of a span others leave, where digits are left: of *34.118.902* a model may have *34.118* alone.

    ``wholly``: where words of the same line are left, too, as the *Diagnóstico por* before *Imagen Vega Baja*.
    """
    places = [(span.start, span.start), *sorted((one.start, one.end) for one in inside), (span.end, span.end)]
    for (_, start), (end, _) in itertools.pairwise(places):
        piece = text[start:end]
        words = wholly and "\n" not in piece
        left = _JOINTS.sub("", piece) if words else piece.strip(_EDGES)
        if any(map(str.isdecimal, left)) or (words and _TELLS.search(left)):
            first = text.index(left, start)
            yield span.moved(first, first + len(left))


@dataclass(frozen=True)
class Labels:
    """The labels of one set for canonical categories; a category without a place there stays as it is."""

    label_set: str

    @cached_property
    def _to(self) -> Mapping[str, str]:
        own = LABEL_SETS[self.label_set]
        to = map_labels(RULE_LABELS, self.label_set).to
        return {c: label for c, label in to.items() if label is not None and c not in own}

    def of(self, category: str) -> str:
        """Return the label of a category."""
        return self._to.get(category, category)

    def on(self, spans: Sequence[Span]) -> Sequence[Span]:
        """Return spans with the labels of their categories."""
        return [span.named(self.of(span.category)) for span in spans] if self._to else spans
