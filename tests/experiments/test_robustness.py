"""The same notes in other writing."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli.main import app
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.experiments.gold import GoldOptions
from deid.experiments.robustness import CONFUSIONS, PERTURBATIONS, measure_robustness, perturb

GOLD = GoldOptions(source=Path())
TEXT = "Mr. Smith was here on 03/14/2019.\nCall (617) 555-0143, he said. Seen by Dr. Ann Lee at noon.\n" * 12
WORDS = ("Smith", "03/14/2019", "(617) 555-0143", "Ann Lee")


def note(text: str = TEXT) -> Document:
    spans, at = [], 0
    while any(text.find(w, at) >= 0 for w in WORDS):
        start, word = min((text.find(w, at), w) for w in WORDS if text.find(w, at) >= 0)
        spans.append(Span(start, start + len(word), "OTHER"))
        at = start + len(word)
    return Document("n", text, tuple(spans))


def shown(text: str) -> str:
    """Return what a reader sees, whatever the case."""
    return "".join(c for c in text.replace("\u00a0", " ") if c.isprintable()).casefold()


def test_gold_stays_on_its_characters() -> None:
    document = note()
    for name in PERTURBATIONS:
        written, offsets = perturb(document, name)
        assert len(written.spans) == len(document.spans)
        assert int(offsets[-1]) == len(written.text)
        if name not in ("ocr", "look-alikes"):
            plain = [shown(written.text[s.start : s.end]) for s in written.spans]
            assert plain == [document.text[s.start : s.end].casefold() for s in document.spans], name


def test_the_noise_is_fixed_and_of_its_share() -> None:
    document = note()
    written, _ = perturb(document, "ocr", 3)
    assert written == perturb(document, "ocr", 3)[0]
    assert written != perturb(document, "ocr", 4)[0]
    other = Document("n", "e" * 20_000)
    changed = perturb(other, "ocr")[0].text
    assert changed.count(CONFUSIONS["e"]) / 20_000 == pytest.approx(0.02, abs=0.004)
    assert "\r\n" in perturb(document, "crlf")[0].text


@given(st.text(max_size=30), st.sampled_from(sorted(PERTURBATIONS)))
def test_offsets_are_monotone(text: str, name: str) -> None:
    written, offsets = perturb(Document("n", text), name)
    assert all(a <= b for a, b in pairwise(offsets.tolist()))
    assert int(offsets[-1]) == len(written.text)


def test_writing_that_only_looks_different_costs_nothing() -> None:
    result = measure_robustness([note()], build_recognizer(RecognizerOptions(model="none")), GOLD)
    falls = {row.name: row.recall_fall for row in result.rows}
    assert result.rows[0].recall > 0.9
    for name in ("clean", "crlf", "no-break blanks", "zero-width", "look-alikes"):
        assert falls[name] == 0, name
    assert falls["capitals"] < 0.1


def test_bad_wishes() -> None:
    with pytest.raises(ConfigError, match="unknown perturbation"):
        measure_robustness([note()], build_recognizer(RecognizerOptions(model="none")), GOLD, ("upside down",))
    with pytest.raises(ConfigError, match="annotation"):
        measure_robustness([Document("n", "nothing")], build_recognizer(RecognizerOptions(model="none")), GOLD)


def test_the_command(tmp_path: Path) -> None:
    document = note()
    spans = [{"start": s.start, "end": s.end, "label": s.category} for s in document.spans]
    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": "n", "text": document.text, "spans": spans}) + "\n")
    result = CliRunner().invoke(
        app,
        [
            *("experiment", "robustness", str(tmp_path / "gold.jsonl"), "--model", "none"),
            "--json",
            str(tmp_path / "r.json"),
        ],
    )
    assert result.exit_code == 0, result.output
    assert "small letters" in result.output
    rows = json.loads((tmp_path / "r.json").read_text())["perturbations"]
    assert [r["name"] for r in rows] == list(PERTURBATIONS)
