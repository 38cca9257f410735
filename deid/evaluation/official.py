"""The official measures of i2b2-2014 (track 1) and of MEDDOCAN.

Definitions: the scorers that the two shared tasks handed out (Kotfila 2014; PlanTL 2019), read in their
sources and written anew. They differ from those in three points. Documents that are missing from the
system's side count as empty, where the scorers leave them out. Letters of all scripts make up tokens, where
i2b2-2014's splits at every character outside ASCII. Nested spans are handled: joining them keeps the longer
one, and relaxed matching lets each span answer one other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deid.base.errors import ConfigError
from deid.base.files import read_text
from deid.document import Span
from deid.evaluation.cases import Case, Key
from deid.evaluation.scores import ALL, Columns, CountTable, Score, score_equal, tally
from deid.phi import I2B2_2014_HIPAA, I2B2_2014_HIPAA_OFFICIAL, canonical
from deid.reading.line_ends import unified

SUBSETS: Mapping[str, frozenset[str] | None] = {
    "all": None,
    "hipaa": I2B2_2014_HIPAA,
    "hipaa-official": I2B2_2014_HIPAA_OFFICIAL,
}
"""Canonical categories of the subsets that i2b2-2014 reports; ``hipaa`` counts URL and IPADDR, as the law does."""

_TOKEN = re.compile(r"[^\W_]+")
_TOLERANCE = 2
# A sentence ends at a line break, or at . ! or ? (with closing quotes or brackets) before white space and a
# capital letter, a digit or an opening mark.
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?])[\"')\]»]*\s+(?=[\"'(\[«¿¡]*[A-ZÁÉÍÓÚÑÜÀ-Þ0-9])")


def subset(categories: Iterable[str], name: str) -> frozenset[str]:
    """Return the categories that belong to one of `SUBSETS`, whatever label set they come from."""
    members = SUBSETS[name]
    return frozenset(c for c in categories if members is None or canonical(c) in members)


def score_end_tolerant(cases: Sequence[Case], categories: Sequence[str]) -> CountTable:
    """Return counts of spans, right when category and start are equal and ends differ by at most 2 characters.

    The relaxed measure of i2b2-2014.

    Parameters
    ----------
    cases : sequence of Case
        Documents with the spans of both sides.
    categories : sequence of str
        The categories to count, one row each; every span's is among them.
    """
    documents: list[Columns] = []
    for case in cases:
        ends: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
        for side, spans in enumerate((case.gold, case.system)):
            for span in spans:
                ends.setdefault((span.start, span.category), ([], []))[side].append(span.end)
        matched = [
            category
            for (_, category), (gold, system) in ends.items()
            for _ in range(_matches(sorted(gold), sorted(system)))
        ]
        gold_labels, system_labels = ([s.category for s in side] for side in (case.gold, case.system))
        documents.append((matched, gold_labels, matched, system_labels))
    return tally("Spans, end within 2 characters", categories, documents)


def _matches(gold: list[int], system: list[int]) -> int:
    """Return how many pairs of ends lie within the tolerance, each end used once; both lists are sorted."""
    count = i = j = 0
    while i < len(gold) and j < len(system):
        if abs(gold[i] - system[j]) <= _TOLERANCE:
            count, i, j = count + 1, i + 1, j + 1
        elif gold[i] < system[j]:
            i += 1
        else:
            j += 1
    return count


def _span_tokens(case: Case, spans: Sequence[Span]) -> set[Key]:
    """Cut spans into runs of letters and digits; a span without any is one (empty) token, as in the scorer."""
    found: set[Key] = set()
    for span in spans:
        bounds = [match.span() for match in _TOKEN.finditer(case.document.text, span.start, span.end)]
        found.update((start, end, span.category) for start, end in bounds or [(span.end, span.end)])
    return found


def score_span_tokens(cases: Sequence[Case], categories: Sequence[str]) -> CountTable:
    """Return counts of the words inside spans by position and category, a row a category (i2b2-2014's tokens)."""
    return score_equal("Words of spans, with category", categories, cases, _span_tokens)


def score_binary(cases: Sequence[Case], *, tokens: bool) -> CountTable:
    """Return counts of spans by position alone (i2b2-2014's binary), a row for each of `SUBSETS`.

    The subset is chosen on each side by the category that the side gave. With ``tokens`` the words inside the spans are
    counted instead.
    """
    counts = np.zeros((len(cases), len(SUBSETS), 4), dtype=np.int64)
    for d, case in enumerate(cases):
        for i, name in enumerate(SUBSETS):
            places = []
            for side in (case.gold, case.system):
                chosen = subset({span.category for span in side}, name)
                spans = [span for span in side if span.category in chosen]
                items = _span_tokens(case, spans) if tokens else {(s.start, s.end, s.category) for s in spans}
                places.append({(start, end) for start, end, _ in items})
            gold, system = places
            counts[d, i] = len(gold & system), len(gold), len(gold & system), len(system)
    return CountTable("Words of spans" if tokens else "Spans, position only", tuple(SUBSETS), counts)


def merge_adjacent(text: str, places: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return stretches with those joined between which there is no letter or digit.

    Parameters
    ----------
    text : str
        The document's text.
    places : iterable of (int, int)
        Start and end of each stretch, in characters.

    Returns
    -------
    set of (int, int)
        Start and end of each joined stretch.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if merged and not any(character.isalnum() for character in text[merged[-1][1] : start]):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return set(merged)


def score_merged(cases: Sequence[Case]) -> CountTable:
    """Return counts by position with neighbouring spans joined (MEDDOCAN's merged spans), in one row.

    True positives are the positions that both sides share before joining and those that they share after it,
    each counted once; a span of one side is an error unless it is shared or lies inside a true positive.
    """
    documents: list[Columns] = []
    for case in cases:
        text = case.document.text
        gold = {(span.start, span.end) for span in case.gold}
        system = {(span.start, span.end) for span in case.system}
        right = (gold & system) | (merge_adjacent(text, gold) & merge_adjacent(text, system))
        missed, spurious = (_outside(side - other, right) for side, other in ((gold, system), (system, gold)))
        same = [ALL] * len(right)
        documents.append((same, [ALL] * (len(right) + missed), same, [ALL] * (len(right) + spurious)))
    return tally("Spans, neighbours joined", (ALL,), documents)


def _outside(places: set[tuple[int, int]], right: set[tuple[int, int]]) -> int:
    """Return how many places lie inside none of ``right``."""
    containers = sorted(right)
    count = reached = i = 0
    for start, end in sorted(places):
        while i < len(containers) and containers[i][0] <= start:
            reached = max(reached, containers[i][1])
            i += 1
        count += end > reached
    return count


@dataclass(frozen=True, slots=True)
class Sentences:
    """How many sentences the documents have, the denominator of MEDDOCAN's leak score."""

    total: int
    source: str
    """Where the count comes from: ``file`` or ``own split``."""

    def leak(self, strict: Score) -> float:
        """Return false negatives of the strict measure divided by sentences."""
        return (strict.gold - strict.found) / self.total if self.total else 0.0


def count_sentences(text: str) -> int:
    """Return the number of sentences: what line breaks, and full stops before a capital letter or a digit, divide."""
    return sum(1 for piece in _SENTENCE_END.split(unified(text).text) if any(map(str.isalnum, piece)))


def read_sentences(path: Path) -> dict[str, int]:
    """Return sentence counts by id, of tab-separated lines ``id, part, sentences`` (or ``id, sentences``) and a header.

    Raises
    ------
    ConfigError
        When the file cannot be read as that.
    """
    counts: dict[str, int] = {}
    lines = read_text(path, "the sentences file").splitlines()
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) < 2 or not fields[-1].strip().isdecimal() or fields[0] in counts:
            raise ConfigError(
                "a line of the sentences file has no count, or its id stood before",
                "write a header and then lines: id, part, sentences, separated by tabs",
                position=f"line {number}",
            )
        counts[fields[0]] = int(fields[-1])
    return counts


def sentences_of(cases: Sequence[Case], counts: Mapping[str, int] | None = None) -> Sentences:
    """Return the sentences of all documents, from ``counts`` by id (or its last part) or by our own split.

    Raises
    ------
    ConfigError
        When ``counts`` lacks a document.
    """
    if counts is None:
        return Sentences(sum(count_sentences(case.document.text) for case in cases), "own split")
    ids = [case.document.id for case in cases]
    found = [counts.get(name, counts.get(name.rpartition("/")[2])) for name in ids]
    lacking = Counter(found)[None]
    if lacking:
        raise ConfigError(
            f"the sentences file lacks {lacking} of {len(ids)} documents",
            "give counts for all of them, or leave the file out to use our own split",
        )
    return Sentences(sum(count for count in found if count is not None), "file")
