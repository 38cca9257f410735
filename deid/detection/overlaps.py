"""Which spans overlap: those of several recognizers raise each other, and one wins where they contradict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from deid.base.compiled import native_for
from deid.document import Span, by_position
from deid.phi import GROUP
from deid.rules.certainties import certainties
from deid.rules.scene import rounded

native = native_for("overlaps")

_START: Final = attrgetter("start")
_SURE_NAME: Final = certainties("known")["name_word"]
"""Certainty of a known name's word that is no word of the language."""
_WEAK: Final = 0.5
"""Certainty below which a rule guesses."""
_HINT: Final = 0.3
"""Certainty from which a rule says at all that something is a name."""
_MODEL: Final = "model:"
_TOWNS: Final = frozenset(("CITY", "STATE", "COUNTRY"))


def score_of(span: Span) -> float:
    """Return the certainty of a span; a recognizer without scores is certain."""
    return 1.0 if span.score is None else span.score


def corroborate(candidates: list[tuple[int, Span]]) -> tuple[list[tuple[int, Span]], list[float | None]]:
    """Let overlapping spans of different recognizers in the same group raise each other.

    Parameters
    ----------
    candidates : list of (int, Span)
        Number of a recognizer, and what it found.

    Returns
    -------
    list of (int, Span)
        The same by start, end and number of the recognizer.
    list of float or None
        How sure each is: 1 - (1 - a)(1 - b) where others overlap it, of each recognizer the surest; else its score.
    """
    found: tuple[list[tuple[int, Span]], list[float | None]] = (_corroborate if native is None else native.corroborate)(
        candidates, GROUP.__getitem__
    )
    return found


def _corroborate(
    candidates: list[tuple[int, Span]], group: Callable[[str], str]
) -> tuple[list[tuple[int, Span]], list[float | None]]:
    candidates = sorted(candidates, key=lambda p: (p[1].start, p[1].end, p[0]))
    partners: list[dict[int, float]] = [{} for _ in candidates]
    for a, (rank, span) in enumerate(candidates):
        for b in range(a + 1, len(candidates)):
            other_rank, other = candidates[b]
            if other.start >= span.end:
                break
            if other_rank != rank and GROUP[other.category] == GROUP[span.category]:
                partners[a][other_rank] = max(partners[a].get(other_rank, 0.0), score_of(other))
                partners[b][rank] = max(partners[b].get(rank, 0.0), score_of(span))
    scores: list[float | None] = []
    for (_, span), held in zip(candidates, partners, strict=True):
        rest = 1.0 - score_of(span)
        for rank in sorted(held):
            rest *= 1.0 - held[rank]
        scores.append(round(1.0 - rest, 4) if held else span.score)
    return candidates, scores


def drop_redundant(
    candidates: list[tuple[int, Span]], scores: list[float | None], passed: bytearray, traits: Callable[[str], Any]
) -> list[Span]:
    """Return the spans of candidates, each with its score, but for those that can decide nothing.

    Parameters
    ----------
    candidates, scores : list
        As `corroborate` returns them.
    passed : bytearray
        1 for each that is left out.
    traits : callable
        Traits of a source that matter later, beside the score. Of spans of one place, category and traits, the surest
        is returned, of equals the first.
    """
    found: list[Span] = (_drop_redundant if native is None else native.drop_redundant)(
        candidates, scores, passed, traits
    )
    return found


def _drop_redundant(
    candidates: list[tuple[int, Span]], scores: list[float | None], passed: bytearray, traits: Callable[[str], Any]
) -> list[Span]:
    best: dict[Any, tuple[float, int]] = {}
    for number, ((_, span), score, out) in enumerate(zip(candidates, scores, passed, strict=True)):
        if not out:
            key = by_position(span), score is None, traits(span.source)
            sure = 1.0 if score is None else score
            if key not in best or sure > best[key][0]:
                best[key] = sure, number
    return [candidates[number][1].scored(scores[number]) for number in sorted(number for _, number in best.values())]


def decide(spans: Sequence[Span]) -> list[Span]:
    """Return spans without overlaps, sorted by position; together they cover what all spans cover.

    The higher certainty decides, then the longer span, then the one that was named first; what the loser covers beyond
    the winner stays covered.
    """
    ordered = sorted(spans, key=_START)  # stable: equal starts stay in order of precedence
    kept: list[Span] = []
    for first, stop, best in _clusters(ordered) if native is None else native.clusters(ordered):
        if best >= 0:  # as nearly always
            kept.append(ordered[best])
        else:
            kept += _shared_out(ordered[first:stop])
    return kept


def _clusters(spans: list[Span]) -> list[tuple[int, int, int]]:
    """Return first and one past the last of spans that hang together, and which one wins and covers all; -1: none."""
    found = []
    first = reach = 0
    for number in range(1, len(spans) + 1):
        reach = max(reach, spans[number - 1].end)
        if number == len(spans) or spans[number].start >= reach:
            best = max(range(first, number), key=lambda i: _weight(spans[i]))  # the first of equals
            covers = spans[best].start == spans[first].start and spans[best].end == reach
            found.append((first, number, best if covers else -1))
            first, reach = number, 0
    return found


def _weight(span: Span) -> tuple[float, int]:
    """Return what decides between spans: the certainty, then the length."""
    return score_of(span), len(span)


def _shared_out(spans: Sequence[Span]) -> list[Span]:
    """Resolve the overlaps of spans that hang together, where no single one covers all and wins."""
    first, last = spans[0].start, max(s.end for s in spans)
    taken = bytearray(last - first)
    kept = []
    for span in sorted(spans, key=_weight, reverse=True):  # stable: equals stay in order
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


def first_of_all(labelled: Sequence[Span], accepted: Sequence[Span]) -> Iterator[Span]:
    """Return labelled values with certainties above all others, each as long as what reads it as the same kind of PHI.

    The words of a name hang together, and so do a telephone number and the extension that a rule saw behind it; a model
    that takes more along may have taken the next label.
    """
    ordered = sorted(labelled, key=_START)
    for span, others in zip(ordered, overlapping(ordered, accepted), strict=True):
        kind = GROUP[span.category]
        start, end = span.start, span.end
        for other in others:
            whole = kind == "NAME" or (kind == "CONTACT" and other.source.startswith("rule:"))
            if whole and GROUP[other.category] == kind:
                covers = other.start <= span.start and span.end <= other.end
                if covers and other.end - other.start > end - start:
                    start, end = other.start, other.end
        yield span.moved(start, end).scored(1.0 + score_of(span))


def in_its_place(span: Span) -> Span:
    """Return a span with a certainty of at most 1."""
    score = span.score
    return span if score is None or score <= 1.0 else span.scored(rounded(score - 1.0))


def told_apart(spans: Sequence[Span], accepted: Sequence[Span]) -> list[Span]:
    """Tell each span what else it was taken for."""
    told = []
    for span, others in zip(spans, overlapping(spans, accepted), strict=True):
        category, same = span.category, not span.also
        for other in others:
            if other.category != category or other.also:
                same = False
                break
        if not same:  # seldom
            span = span.read_as({category for other in others for category in (other.category, *other.also)})
        told.append(span)
    return told


def may_be_names(spans: Sequence[Span], doubts: Sequence[Span]) -> list[Span]:
    """Tell each town, state and country for which names, too unsure to count, it was taken: *Quimby Houston*."""
    towns = sorted((span for span in spans if span.category in _TOWNS), key=_START)
    told = {
        town: town.read_as((*town.also, *(name.category for name in names)))
        for town, names in zip(towns, overlapping(towns, doubts), strict=True)
        if names
    }
    return [told.get(span, span) for span in spans]


def beside_names(text: str, spans: Sequence[Span]) -> list[Span]:
    """Tell a town, state or country with nothing but a blank before or behind a name that it may be part of that name.

    In *Salem Jedediah* and *Jedediah Salem* no list and no model says which of the two it is.
    """
    told = [*spans]
    for n in range(1, len(told)):
        first, second = told[n - 1], told[n]
        if second.start - first.end == 1 and text[first.end] == " ":
            if first.category in _TOWNS and GROUP[second.category] == "NAME":
                told[n - 1] = first.read_as((*first.also, second.category))
            elif second.category in _TOWNS and GROUP[first.category] == "NAME":
                told[n] = second.read_as((*second.also, first.category))
    return told


def overlapping(spans: Sequence[Span], others: Sequence[Span]) -> list[list[Span]]:
    """Return, for each of some spans in order of their start, the others that share a character with it."""
    waiting = sorted(others, key=_START)
    starts, ends = [other.start for other in waiting], [other.end for other in waiting]
    count, at = len(waiting), 0
    near: list[int] = []
    found: list[list[Span]] = []
    for span in spans:
        start, end = span.start, span.end
        if near:
            near = [number for number in near if ends[number] > start]
        while at < count and starts[at] < end:
            if ends[at] > start:
                near.append(at)
            at += 1
        found.append([waiting[number] for number in near if starts[number] < end])
    return found


def known_over_dates(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Return the words of known names that were taken for dates: of a full name, or where the date has nothing else.

    So *Jan* is a name in *Jan Gray*, in *on 3/5. Jan Gray*, and alone, but not in *Jan 5*.
    """
    names = [span for span in spans if span.source == "known:name"]
    dates = [span for span in spans if span.category == "DATE"] if names else []
    taken = [*zip(names, overlapping(names, dates), strict=True)] if dates else []
    if not any(others for _, others in taken):
        return
    pairs = [pair for pair in pairwise(names) if not text[pair[0].end : pair[1].start].strip(" ,-")]
    full = {name for pair in pairs if not pair[0].overlaps(pair[1]) for name in pair}
    covered = {i for name in names for i in range(name.start, name.end)}
    for name, others in taken:
        letters = [i for date in others for i in range(date.start, date.end) if text[i].isalnum()]
        if letters and (name in full or covered.issuperset(letters)):
            yield name


def known_over_guesses(spans: Sequence[Span]) -> Iterator[Span]:
    """Return the words of known names that only guesses took for something other than a name: all of them get one
    surrogate then. Words of the language count where a rule, too, says that they are a name (*call Hill*). A rule's
    place (*Lincoln, NE*) stands.
    """
    names = [span for span in spans if span.source == "known:name"]
    for name, others in zip(names, overlapping(names, spans) if names else (), strict=True):
        strange = [span for span in others if GROUP[span.category] != "NAME"]
        sure = score_of(name) >= _SURE_NAME or any(map(_says_name, others))
        if strange and sure and all(span.source.startswith(_MODEL) or score_of(span) < _WEAK for span in strange):
            yield name


def _says_name(span: Span) -> bool:
    return span.source.startswith("rule:name.") and score_of(span) >= _HINT
