"""Replaces the spans of a document as a policy says, and checks what the operators wrote.

Every operator gets all spans of the document that its rule covers at once. What it writes may not hold the original:
that is checked here, once for all operators, and a document for which it fails is not passed on.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deid.base.compiled import changed, quick
from deid.base.errors import ConfigError, DeidError, LabelError
from deid.base.in_step import pause
from deid.document import Document, Edit, Span, resolve_overlaps
from deid.phi import CATEGORIES, find_label, group
from deid.reading.accents import composed
from deid.replacement.articles import agree
from deid.replacement.containment import holds, texts_of
from deid.replacement.operators import OPERATORS, OperatorSpec
from deid.replacement.places import ADDRESS, STAYS, AddressSpan, at_home
from deid.replacement.policy import Policy, Rule
from deid.replacement.scope import Operator, Scope, Written

_REMEMBERED: Final = 1024


@quick
@dataclass(frozen=True, slots=True)
class Replaced:
    """A document after its spans were replaced."""

    document: Document
    """With the new text; its spans stand where the replacements are, with the labels they came with."""
    spans: tuple[Span, ...]
    """The spans of the original text, overlaps united, in order."""
    edits: tuple[Edit, ...]
    """The stretches that changed, in order, with canonical categories; what was kept is no edit."""
    collisions: int = 0
    """See `deid.replacement.scope.Written`."""
    people: Mapping[str, str] = field(default_factory=dict, repr=False)
    """See `deid.replacement.scope.Written`."""


class Replacer:
    """A policy with its operators made.

    Parameters
    ----------
    policy : Policy

    Raises
    ------
    ConfigError
        When an operator of the policy cannot be made: a hierarchy is missing, a parameter has no such value.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._rules: dict[Rule, int] = {}
        self._decided: dict[tuple[str, tuple[str, ...]], tuple[str, int]] = {}
        """Label and what else a span was taken for -> category and number of its rule, where metadata have no say."""
        self._operators: list[tuple[Rule, OperatorSpec, Operator]] = []
        """By the numbers of the rules: a rule takes long to look up."""
        for rule in policy.rules():
            if rule not in self._rules:
                spec = OPERATORS[rule.operator]
                try:
                    self._operators.append((rule, spec, spec(**dict(rule.parameters))))
                except ConfigError as error:
                    raise error.at(f"policy {policy.name}") from None
                self._rules[rule] = len(self._rules)

    def __call__(
        self,
        document: Document,
        spans: Sequence[Span],
        scope: Scope,
        scope_at: Callable[[int, int], Scope] | None = None,
    ) -> Replaced:
        """Replace ``spans`` of ``document``.

        Parameters
        ----------
        document : Document
            Its own annotations are ignored.
        spans : sequence of Span
            What to replace, in any order; overlapping spans are replaced as their union.
        scope : Scope
        scope_at : callable, optional
            Of a document about several patients: returns the scope of a span's start and end, an equal one for all of
            a patient's.

        Raises
        ------
        OffsetError
            When a span lies outside the text.
        LabelError
            When the policy would keep a span whose label it does not know.
        DeidError
            When an operator cannot replace a span, or wrote what it was to replace.
        """
        united = resolve_overlaps(spans)
        if len(united) < len(spans):  # else they are the same
            texts_of(document, spans)
        originals = texts_of(document, united)
        decided = {} if self.policy.overrides else self._decided
        if len(decided) > _REMEMBERED:
            decided.clear()
        by_rule: dict[int, list[int]] = {}
        known: list[Span] = []
        for place, span in enumerate(united):
            label: str = span.category
            reading: tuple[str, tuple[str, ...]] = (label, span.also)
            found = decided.get(reading)
            if found is None:
                found = decided[reading] = self._decide(document, span, scope.metadata)
            category, rule = found
            if rule in by_rule:
                by_rule[rule].append(place)
            else:
                by_rule[rule] = [place]
            known.append(span.named(category))
        pause("filling")
        texts = [""] * len(united)
        for rule, places in by_rule.items():
            if self._operators[rule][0].operator == "surrogate":
                stay = _at_home(document, known, originals, places, scope.language)
                by_rule[rule] = [p for p in places if p not in stay]
                for place in stay:
                    texts[place] = originals[place]
                    known[place] = changed(known[place], "source", STAYS)
        collisions = 0
        people: dict[str, str] = {}
        marked = document.with_spans(known)
        for whose, members in _by_scope(marked, scope, scope_at):
            # an operator sees what else is replaced, so as not to write that
            given = marked if scope_at is None else document.with_spans([known[m] for m in members])
            plain = _composed(given)
            for rule, places in by_rule.items():
                seen = plain if self._operators[rule][1].composed else given
                own = places if scope_at is None else [p for p in places if p in members]
                its = [seen.spans[p] for p in own] if scope_at is None else [seen.spans[members[p]] for p in own]
                written: Sequence[str] = self._write(rule, seen, its, whose) if own else ()
                for place, text in zip(own, written, strict=True):
                    texts[place] = text
                if isinstance(written, Written):
                    collisions += written.collisions
                    people.update(written.people)
        pause("writing")
        pairs = list(zip(united, texts, strict=True))
        for rule, places in by_rule.items():
            if self._operators[rule][1].articles:
                agreeing = agree(document, pairs)
                for p in places:
                    pairs[p] = agreeing[p]
        scrubbed, edits = _apply(document, pairs, known)
        return Replaced(scrubbed, united, edits, collisions, people)

    def _decide(self, document: Document, span: Span, metadata: Mapping[str, Any]) -> tuple[str, int]:
        """Return the category that a span is replaced as, and the number of its rule."""
        category = self.policy.applied(span.category, span.also, metadata)
        rule = self._rules[self.policy.rule(category, metadata)]
        if not self._operators[rule][1].protects and find_label(span.category) is None:
            raise LabelError(
                "an annotation has a label of no known set, and the policy would leave such text readable",
                f"map the label to one of {', '.join(CATEGORIES[:3])}, ... or redact OTHER in the policy",
                document.name,
                f"offset {span.start}",
            )
        return category, rule

    def _write(self, number: int, document: Document, spans: Sequence[Span], scope: Scope) -> Sequence[str]:
        rule, spec, operate = self._operators[number]
        try:
            texts = operate(document, spans, scope)
        except DeidError as error:
            raise error.at(document.name) from None
        if len(texts) != len(spans):
            raise ConfigError(
                f"the operator {rule.operator!r} returned {len(texts)} replacements for {len(spans)} spans",
                "this is an error of the operator: use another one",
                document.name,
            )
        if not spec.may_repeat:
            source = document.text
            for span, text in zip(spans, texts, strict=True):
                if holds(text, source[span.start : span.end]):
                    raise ConfigError(
                        f"the operator {rule.operator!r} left a span of category {span.category} readable",
                        "redact this category in the policy; the document was not passed on",
                        document.name,
                        f"offset {span.start}",
                    )
        return texts


def _apply(document: Document, pairs: list[tuple[Span, str]], known: list[Span]) -> tuple[Document, tuple[Edit, ...]]:
    """Do what `deid.document.apply_edits` does for spans that are in order and do not overlap; what stays is no edit.

    The edits are of the categories of ``known``.
    """
    source = document.text
    out = io.StringIO()  # a list of pieces would hold two strings a span
    write = out.write
    spans: list[Span] = []
    edits: list[Edit] = []
    read = written = 0
    for place, (span, new) in enumerate(pairs):
        start: int = span.start
        end: int = span.end
        write(source[read:start])
        write(new)
        at = written + start - read
        written = at + len(new)
        if source[start:end] != new:
            edits.append(Edit(start, end, at, written, known[place].category))
        if new:
            spans.append(Span(at, written, span.category, span.id, span.source, span.score))
        read = end
    write(source[read:])
    return Document(document.id, out.getvalue(), tuple(spans), document.metadata, document.index), tuple(edits)


def _at_home(
    document: Document, known: list[Span], originals: list[str], places: list[int], language: str
) -> frozenset[int]:
    """Return which of the spans at ``places`` are names of the United States that stay (`at_home`)."""
    if "COUNTRY" not in [known[p].category for p in places]:
        return frozenset()
    spans = [(known[p], originals[p]) for p in places if known[p].category in ADDRESS]
    parts = [AddressSpan(span.start, span.end, span.category, text) for span, text in spans]
    starts = at_home(document.text, parts, language)
    return frozenset(p for p in places if known[p].start in starts)


def _by_scope(
    document: Document, scope: Scope, scope_at: Callable[[int, int], Scope] | None
) -> Iterator[tuple[Scope, Mapping[int, int] | range]]:
    """Yield each scope, and the document's spans of it: place among all -> place among its own."""
    if scope_at is None:
        yield scope, range(len(document.spans))
        return
    found: dict[str, tuple[Scope, dict[int, int]]] = {}
    names: dict[str, dict[str, None]] = {}
    for place, span in enumerate(document.spans):
        here = scope_at(span.start, span.end)
        _, members = found.setdefault(here.person_scope, (here, {}))
        members[place] = len(members)
        if group(span.category) == "NAME":
            names.setdefault(here.person_scope, {})[document.text[span.start : span.end]] = None
    for whose, (here, members) in found.items():
        beside = tuple([name for other, those in names.items() if other != whose for name in those])
        yield replace(here, beside=beside), members


def _composed(document: Document) -> Document:
    """Return the document with letters and accents as one character each, itself where an accent is a span alone."""
    if document.text.isascii():
        return document
    normal = composed(document.text)
    moved = [normal.ahead(span) for span in document.spans] if normal.removed else []
    spans = [span for span in moved if span is not None]
    return document.with_text(normal.text).with_spans(spans) if spans and len(spans) == len(moved) else document
