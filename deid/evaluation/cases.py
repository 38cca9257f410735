"""What is scored: for each gold document the spans of both sides, in one label set and as far as asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from deid.base.errors import ConfigError
from deid.document import Document, Span
from deid.evaluation.pairing import Pair
from deid.phi import find_label, map_used_labels

Key = tuple[int, int, str]
"""Start, end and category of a span: what makes two spans the same span."""


@dataclass(frozen=True, slots=True)
class Case:
    """One gold document with the spans that are scored, each only once and sorted."""

    document: Document
    gold: tuple[Span, ...]
    system: tuple[Span, ...]
    cover: tuple[Span, ...]
    """All spans of the system, those outside the scored categories too: what would be hidden by scrubbing."""


@dataclass(frozen=True, slots=True)
class Cases:
    """All cases and how they were made."""

    cases: tuple[Case, ...]
    categories: tuple[str, ...]
    """Categories of either side, sorted."""
    losses: tuple[str, ...] = ()
    """What the map between the label sets lost."""
    dropped: tuple[int, int] = (0, 0)
    """Gold and system spans whose label has no place in the target set."""


def keys(spans: Iterable[Span]) -> set[Key]:
    """Return start, end and category of each span."""
    return {(span.start, span.end, span.category) for span in spans}


def prepare(pairs: Sequence[Pair], *, labels: Collection[str] = (), map_to: str | None = None) -> Cases:
    """Bring both sides into one label set and keep the categories asked for.

    Parameters
    ----------
    pairs : sequence of Pair
    labels : collection of str
        Categories to score (after the map); empty for all.
    map_to : str, optional
        Label set (`deid.phi.LABEL_SETS`) that the labels of both sides are mapped to. Labels without a place
        there are not scored.

    Returns
    -------
    Cases
        The spans to score, document by document, with what the map between the label sets lost.

    Raises
    ------
    ConfigError
        When the label set is unknown, or a label that was asked for occurs on neither side and in no label set.
    """
    gold = [_unique(pair.gold.spans) for pair in pairs]
    system = [_unique(pair.system.spans) if pair.system else () for pair in pairs]
    losses: dict[str, None] = {}
    dropped = (0, 0)
    cover = system
    if map_to is not None:
        gold, gold_dropped = _mapped(gold, map_to, losses)
        system, system_dropped = _mapped(system, map_to, losses)
        dropped = (gold_dropped, system_dropped)
    found = {span.category for side in (gold, system) for spans in side for span in spans}
    if labels:
        unknown = sorted(label for label in set(labels) - found if find_label(label) is None)
        if unknown:
            raise ConfigError(
                f"no span on either side has the label {', '.join(unknown)}", "labels met: " + ", ".join(sorted(found))
            )
        found &= set(labels)
        gold = [tuple(span for span in spans if span.category in found) for spans in gold]
        system = [tuple(span for span in spans if span.category in found) for spans in system]
    cases = tuple(Case(pair.gold, *spans) for pair, *spans in zip(pairs, gold, system, cover, strict=True))
    return Cases(cases, tuple(sorted(found)), tuple(losses), dropped)


def _unique(spans: Iterable[Span]) -> tuple[Span, ...]:
    first: dict[Key, Span] = {}
    for span in spans:
        first.setdefault((span.start, span.end, span.category), span)
    return tuple(first[key] for key in sorted(first))


def _mapped(
    side: Sequence[tuple[Span, ...]], target: str, losses: dict[str, None]
) -> tuple[list[tuple[Span, ...]], int]:
    """Map one side's labels; return its spans and how many of them were dropped."""
    mapping = map_used_labels({span.category for spans in side for span in spans}, target)
    losses.update(dict.fromkeys(mapping.losses))
    mapped = []
    for spans in side:
        renamed = ((span, mapping.to[span.category]) for span in spans)
        mapped.append(_unique(replace(span, category=name) for span, name in renamed if name is not None))
    dropped = sum(mapping.to[span.category] is None for spans in side for span in spans)
    return mapped, dropped
