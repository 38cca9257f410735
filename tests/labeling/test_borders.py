"""Gold spans of the development corpora lie on token borders, but for annotation slips inside a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid import io
from deid.document import Document
from deid.labeling.schemes import misaligned
from deid.reading.tokenization import tokenize


@pytest.mark.parametrize(("folder", "most"), [("meddocan/train/xml", 7), ("meddocan/dev/xml", 3), ("english/xml", 0)])
def test_gold_spans_practically_never_cut_a_token(folder: str, most: int, shared_data: Path) -> None:
    cut = 0
    for document in io.read(shared_data / folder):
        assert isinstance(document, Document)
        tokens = tokenize(document.text)
        cut += len(misaligned(document.spans, tokens.starts, tokens.ends))
    assert cut <= most
