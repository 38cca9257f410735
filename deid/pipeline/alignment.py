"""Finds what was replaced between two texts, when no edit log tells.

By the annotations of the scrubbed text, whose gaps must be found in the original in order; by the spans that a
recognizer finds in the original, whose gaps must be found in the scrubbed text; or by comparing tokens.

The comparison is bounded: tokens (or short rows of them) that occur once in both texts anchor it (patience), stretches
between two anchors are compared exactly while they are short, and count as replaced as a whole when they are not. So
its cost grows like n log n, and it can err on one side only: calling more replaced than was.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from deid.document import Span, resolve_overlaps

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_SHORT = 400
"""Tokens of a stretch that is compared exactly; difflib may take the square of it."""
_WIDTHS = (1, 4, 16)
"""How many tokens make an anchor: more where no single one occurs once."""


@dataclass(frozen=True, slots=True)
class AlignedSegment:
    """A stretch of the original and what stands in its place."""

    start: int
    end: int
    new_start: int
    new_end: int
    category: str = ""


def align_by_annotations(
    original: str, scrubbed: str, new_spans: Sequence[Span], old_spans: Sequence[Span] = ()
) -> list[AlignedSegment] | None:
    """Align by the spans of the scrubbed text.

    Parameters
    ----------
    original, scrubbed : str
    new_spans : sequence of Span
        The scrubbed text's annotations.
    old_spans : sequence of Span
        The original's annotations; used when they are as many and fit.

    Returns
    -------
    list of Stretch or None
        None when the text between the annotations cannot be found in the original: something else differs.
    """
    new = resolve_overlaps(new_spans)
    gaps = [scrubbed[a:b] for a, b in _between(new, len(scrubbed))]
    old = resolve_overlaps(old_spans)
    if [original[a:b] for a, b in _between(old, len(original))] == gaps:
        pairs = [(o.start, o.end) for o in old]
    else:
        found = _places(original, gaps, least=1)
        if found is None:
            return None
        pairs = found
    return [AlignedSegment(a, b, n.start, n.end, n.category) for (a, b), n in zip(pairs, new, strict=True)]


def align_by_detection(original: str, scrubbed: str, found: Sequence[Span]) -> list[AlignedSegment] | None:
    """Align by spans that were found in the original: the text between them must stand in the scrubbed text, in order.

    Returns
    -------
    list of Stretch or None
        None when it does not: other spans were replaced, or something else differs. Where the text between them stands
        there in several ways, as it does where nothing or a blank is between, a stretch has all that may be in its
        place: what of neighbours was left must not seem to be another's replacement.
    """
    spans = resolve_overlaps(found)
    gaps = [original[a:b] for a, b in _between(spans, len(original))]
    first = _places(scrubbed, gaps, least=0)
    last = _places(scrubbed[::-1], [gap[::-1] for gap in reversed(gaps)], least=0)  # the rightmost, from behind
    if first is None or last is None:
        return None
    ends = [len(scrubbed) - start for start, _ in reversed(last)]
    return [
        AlignedSegment(s.start, s.end, start, end, s.category)
        for s, (start, _), end in zip(spans, first, ends, strict=True)
    ]


def _between(spans: Sequence[Span], length: int) -> Iterator[tuple[int, int]]:
    read = 0
    for span in spans:
        yield read, span.start
        read = span.end
    yield read, length


def _places(text: str, gaps: Sequence[str], least: int) -> list[tuple[int, int]] | None:
    """Return what lies between the gaps where these stand in a text, in order, each at least so many characters."""
    if len(gaps) == 1:
        return [] if text == gaps[0] else None
    if not text.startswith(gaps[0]) or not text.endswith(gaps[-1]):
        return None
    last = len(text) - len(gaps[-1])
    places = []
    read = len(gaps[0])
    for gap in gaps[1:-1]:
        # the leftmost place leaves most room for the gaps to come, so it is found if there is any way
        start = text.find(gap, read + least, last)
        if start < 0:
            return None
        places.append((read, start))
        read = start + len(gap)
    return [*places, (read, last)] if read + least <= last else None


def align_by_text(original: str, scrubbed: str) -> list[AlignedSegment]:
    """Return the replaced segments, found by comparing tokens.

    What is equal in both texts and in order is taken as not replaced.
    """
    old, new = _TOKEN.findall(original), _TOKEN.findall(scrubbed)
    stretches: list[AlignedSegment] = []
    old_at, new_at = _starts(old), _starts(new)
    read = written = 0
    for i, j, length in [*_matches(old, new), (len(old), len(new), 0)]:
        if i > read or j > written:
            stretch = AlignedSegment(old_at[read], old_at[i], new_at[written], new_at[j])
            # a comma or blank that both sides happen to have does not divide a name from its surrogate
            if stretches and not any(c.isalnum() for c in original[stretches[-1].end : stretch.start]):
                last = stretches.pop()
                stretch = AlignedSegment(last.start, stretch.end, last.new_start, stretch.new_end)
            stretches.append(stretch)
        read, written = i + length, j + length
    return stretches


def _starts(tokens: Sequence[str]) -> list[int]:
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    return starts


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return runs of equal tokens, some empty: place in old, place in new, length; in order."""
    found: list[tuple[int, int, int]] = []
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        a, b, c, d = waiting.pop()
        head = 0
        while a + head < b and c + head < d and old[a + head] == new[c + head]:
            head += 1
        tail = 0
        while b - tail > a + head and d - tail > c + head and old[b - tail - 1] == new[d - tail - 1]:
            tail += 1
        found += [(a, c, head), (b - tail, d - tail, tail)]
        a, b, c, d = a + head, b - tail, c + head, d - tail
        if b - a <= _SHORT and d - c <= _SHORT:
            blocks = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_matching_blocks()
            found += [(a + block.a, c + block.b, block.size) for block in blocks]
            continue
        anchors = next(filter(None, (_anchors(old, new, (a, b, c, d), width) for width in _WIDTHS)), [])
        for i, j in anchors:
            waiting.append((a, i, c, j))
            a, c = i, j
        if anchors:
            waiting.append((a, b, c, d))
    return sorted(found)


def _anchors(
    old: Sequence[str], new: Sequence[str], borders: tuple[int, int, int, int], width: int
) -> list[tuple[int, int]]:
    """Return places of token sequences that occur once in both stretches: the longest ascending row of pairs."""
    a, b, c, d = borders
    here, there = _once(old, a, b, width), _once(new, c, d, width)
    pairs = [(i, there[token]) for token, i in here.items() if token in there]
    ends: list[int] = []  # smallest place in new at which an ascending sequence of each length ends
    places: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(places[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        places[length : length + 1] = [n]
    chain = []
    at = places[-1] if places else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _once(tokens: Sequence[str], start: int, end: int, width: int) -> dict[tuple[str, ...], int]:
    """Return the sequences of ``width`` tokens that occur once in a stretch, with their places, in order."""
    rows = list(zip(*(tokens[start + n : end] for n in range(width)), strict=False))
    counts = Counter(rows)
    return {row: start + n for n, row in enumerate(rows) if counts[row] == 1}
