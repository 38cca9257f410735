"""What was found in texts put together by chance (`soups`), and why, is found tomorrow (`pinned`).

The rules find something alone, and beside a model that is often mistaken, a table of known people and a site's lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from soups import CATEGORIES, soup
from test_same_findings import known, rules, rules_alone, site

from deid.detection import Ensemble
from deid.detection.explanation import explain
from deid.detection.site_lists import load_site_lists
from deid.document import Document, Span
from tests.pinned import Pinned


@dataclass(frozen=True)
class Told:
    """A model of which is told what it finds."""

    found: tuple[Span, ...]
    name: str = "en"
    categories: frozenset[str] = frozenset(CATEGORIES)

    def find(self, document: Document) -> list[Span]:
        return sorted(self.found)


def stirred(number: int) -> object:
    document, posts = soup(number)
    text = Document("n", document.text)
    ruled = rules_alone("en").trace(text)
    joined = Ensemble((known(document), Told(tuple(posts)), rules("en")), to_canonical=bool(number % 2))
    told = explain(text, None, joined, site=site(document) if number % 4 == 0 else load_site_lists())
    return [[[c.fate, c.certainty, c.span] for c in ruled.candidates], ruled.spans, told.as_dict()]


QUESTIONS = {f"soup {number}": partial(stirred, number) for number in range(1500)}
PINNED = Pinned(Path(__file__).with_name("same_soups.tsv"), QUESTIONS)
PARTS = 60


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_found_is_what_was_found(part: int) -> None:
    for name in [*QUESTIONS][part::PARTS]:
        PINNED.check(name)


if __name__ == "__main__":
    PINNED.renew()
