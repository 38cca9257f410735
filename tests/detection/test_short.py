"""Short texts, each at a border of some rule, and what is found in them: a line tells all of it.

In a line of ``short/LANGUAGE.txt`` stands a text, with what a model takes for something in braces, ``=>``, and what is
found by rules and this model, with what else it may be behind a bar. A line that begins with ``?`` tells what the rules
propose, how sure and what became of it. Tabs, line ends and backslashes are written as in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from deid.detection import Ensemble, RuleRecognizer
from deid.document import Document, Span
from deid.phi import LABEL_SETS

HERE = Path(__file__).parent / "short"
_TAKEN = re.compile(r"\{\{([A-Z-]+)(?: ([0-9.]+))?:(.*?)\}\}", re.DOTALL)
_WRITTEN = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\\\": "\\"}


@dataclass
class Told:
    """A model that finds what it is told."""

    name: str
    categories: frozenset[str] = frozenset(LABEL_SETS["i2b2-2014"].names())
    now: list[Span] = field(default_factory=list)

    def find(self, document: Document) -> list[Span]:
        return [span for span in self.now if span.end <= len(document.text)]


@cache
def members(language: str) -> tuple[Told, Ensemble, Ensemble]:
    told, rules = Told(language), RuleRecognizer.load(language)
    return told, Ensemble((told, rules)), Ensemble((rules,))


def read(written: str, language: str) -> tuple[str, list[Span]]:
    """Return a text and what a model takes for something in it."""
    marked = re.sub(r"\\[ntr\\]", lambda found: _WRITTEN[found[0]], written)
    text, last, spans = "", 0, []
    for mark in _TAKEN.finditer(marked):
        text += marked[last : mark.start()]
        score = float(mark[2]) if mark[2] else None
        spans.append(Span(len(text), len(text) + len(mark[3]), mark[1], source=f"model:{language}", score=score))
        text += mark[3]
        last = mark.end()
    return text + marked[last:], spans


def found(written: str, language: str) -> str:
    """Return what is found in a text, or with ``?`` before it what the rules propose."""
    told, both, rules = members(language)
    text, told.now = read(written.removeprefix("? "), language)
    if written.startswith("? "):
        told_of = [
            f"{c.span.category} {c.span.source.removeprefix('rule:')} {c.certainty} {c.fate} {_shown(text, c.span)}"
            for c in rules.trace(Document("n", text)).candidates
        ]
    else:
        told_of = [
            f"{'|'.join((span.category, *span.also))} {_shown(text, span)}" for span in both.find(Document("n", text))
        ]
    return "; ".join(told_of)


def _shown(text: str, span: Span) -> str:
    return text[span.start : span.end].replace("\n", "\\n").replace("\t", "\\t")


def lines(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            written, _, expected = line.partition(" =>")
            yield written, expected.strip()


LINES = {path.stem: list(lines(path)) for path in sorted(HERE.glob("*.txt"))}
PART = 60
PARTS = [(language, n) for language, own in LINES.items() for n in range(0, len(own), PART)]


@pytest.mark.parametrize(("language", "first"), PARTS)
def test_what_is_found_at_the_borders_of_rules(language: str, first: int) -> None:
    for written, expected in LINES[language][first : first + PART]:
        assert (written, found(written, language)) == (written, expected)
