"""The recall dial, set on gold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from deid.base.errors import ConfigError
from deid.detection.dial import Dial, parse_dial, read_dial, write_dial
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.evaluation.proportions import lower_bound
from deid.experiments.calibration import Calibration, calibrate, words_needed
from deid.experiments.gold import CalibrationOptions
from deid.io import read

SYNTHETIC = Path(__file__).parents[2] / "corpora" / "synthetic" / "dev.jsonl"


class Turned:
    """A recognizer that finds the word PHI at every offset up to a limit, which the dial raises."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def dialled(self, value: float) -> Turned:
        return type(self)(value)

    def find(self, document: Document) -> list[Span]:
        limit = 1000 - 100 * max(0.0, 4 - self.value)
        return [
            Span(s.start, s.end, "PATIENT") for s in document.spans if int(document.text[s.start + 1 : s.end]) < limit
        ]


def gold(documents: int, words: int) -> list[Document]:
    """Return documents with words p0 to p999, spread evenly, all of them PHI."""
    found = []
    for number in range(documents):
        texts = [f"p{(number * words + i) * 7919 % 1000}" for i in range(words)]
        spans, at = [], 0
        for text in texts:
            spans.append(Span(at, at + len(text), "PATIENT"))
            at += len(text) + 1
        found.append(Document(f"d{number}", " ".join(texts), tuple(spans)))
    return found


def calibrated(documents: int = 100, words: int = 50, **options: object) -> Calibration:
    wish = {"recall": 0.85, "dials": (0, 1, 2, 3, 4), **options}
    return calibrate(gold(documents, words), Turned(), CalibrationOptions(source=Path(), **wish))  # type: ignore[arg-type]


def test_the_smallest_dial_that_is_certain_is_chosen() -> None:
    result = calibrated()
    assert [round(p.recall, 1) for p in result.points] == [0.6, 0.7, 0.8, 0.9, 1.0]
    assert result.reached
    assert result.chosen.dial == 3
    assert 0.85 <= result.chosen.bound < result.chosen.recall
    assert result.chosen.leaks == pytest.approx(50 * 0.1, abs=0.1)
    assert [p.dial for p in result.held_out] == [3, 3]
    assert not result.too_small


def test_what_cannot_be_reached_gives_the_best() -> None:
    result = calibrated(dials=(0, 1), recall=0.99)
    assert not result.reached
    assert result.chosen.dial == 1


def test_a_gold_that_is_too_small_is_named() -> None:
    result = calibrated(documents=5, words=10, recall=0.99, dials=(4,))
    assert result.points[0].recall == 1.0
    assert result.too_small
    assert not result.reached


def test_the_bound_is_clopper_and_pearsons() -> None:
    """At the bound, the data and better ones have the probability 1 - confidence (brute force)."""
    for found, words in ((299, 299), (95, 100), (1, 3)):
        bound = lower_bound(found, words, 0.95)
        assert binom.sf(found - 1, words, bound) == pytest.approx(0.05)
    assert words_needed(0.99, 0.95) == pytest.approx(298.07, abs=0.01)
    assert lower_bound(298, 298, 0.95) < 0.99 < lower_bound(299, 299, 0.95)


def test_words_that_are_missed_together_weigh_less() -> None:
    """The same share of misses, once spread and once in a fifth of the notes."""

    class Missing(Turned):
        def find(self, document: Document) -> list[Span]:
            number = int(document.id[1:])
            together = document.spans if number % 5 else ()
            spread = [s for i, s in enumerate(document.spans) if (i + number) % 5]
            return list(together if self.value else spread)

    asked = CalibrationOptions(source=Path(), recall=0.5, dials=(0, 1))
    spread, together = calibrate(gold(50, 40), Missing(), asked).points  # type: ignore[arg-type]
    assert spread.recall == pytest.approx(together.recall, abs=0.01)
    assert spread.effective > 10 * together.effective
    assert spread.bound > together.bound


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Clustered misses, recall .9: in at least 93 of 100 draws the bound must lie below."""
    from deid.experiments.calibration import _points

    random = np.random.default_rng(5)
    below = 0
    for _ in range(300):
        share = random.beta(9, 1, size=60)  # mean .9
        words = np.full(60, 30)
        found = random.binomial(words, share)
        table = np.stack([words, found, words * 0, words * 0], axis=1)[:, None, :]
        below += _points(table, (0.0,), 0.95, 0)[0].bound <= 0.9
    assert below >= 0.93 * 300


@given(st.floats(0.01, 0.999), st.integers(1, 500))
def test_the_bound_is_below_the_share(share: float, words: int) -> None:
    found = int(share * words)
    assert 0 <= lower_bound(found, words, 0.95) <= found / words


@pytest.mark.parametrize("options", [{"recall": 1.0}, {"confidence": 0.0}, {"dials": ()}, {"dials": (float("nan"),)}])
def test_numbers_out_of_range(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        calibrated(**options)


def test_gold_without_phi() -> None:
    with pytest.raises(ConfigError, match="annotation"):
        calibrate([Document("d", "nothing")], Turned(), CalibrationOptions(source=Path()))  # type: ignore[arg-type]


def test_settings_files(tmp_path: Path) -> None:
    write_dial(tmp_path / "d.json", Dial(1.5, "abc", {"target": 0.99}))
    assert read_dial(tmp_path / "d.json") == Dial(1.5, "abc", {"target": 0.99})
    assert parse_dial("-2") == Dial(-2.0)
    assert parse_dial(str(tmp_path / "d.json")).value == 1.5
    with pytest.raises(ConfigError, match="another model"):
        build_recognizer(RecognizerOptions(model="en", dial=str(tmp_path / "d.json"))).find(Document("n", "Mr. Smith"))
    for bad in ("nan", "fast", str(tmp_path)):
        with pytest.raises(ConfigError):
            parse_dial(bad)
    (tmp_path / "bad.json").write_text('{"dial": "1"}')
    with pytest.raises(ConfigError):
        parse_dial(str(tmp_path / "bad.json"))


def test_the_command_and_the_file_that_it_writes(tmp_path: Path) -> None:
    gold_file = tmp_path / "gold.jsonl"
    gold_file.write_text("".join(SYNTHETIC.read_text(encoding="utf-8").splitlines(keepends=True)[:8]), encoding="utf-8")
    dial = tmp_path / "dial.json"
    said = run("calibrate", gold_file, "--recall", ".5", "--dials", "0,2", "--no-rules", "-o", dial)
    assert "with 95% confidence" in said
    assert "PHI words left per note" in said
    assert "chosen on one half" in said
    content = json.loads(dial.read_text())
    assert content["dial"] == 0
    assert content["target"] == 0.5
    first = next(d for d in read(gold_file) if isinstance(d, Document))
    found = build_recognizer(RecognizerOptions(model="en", rules=False, dial=str(dial))).find(first)
    assert found == build_recognizer(RecognizerOptions(model="en", rules=False, dial=0.0)).find(first)
    said = run(
        *("calibrate", gold_file, "--recall", ".999", "--dials", "0", "--no-rules", "-o", tmp_path / "no"),
        *("--json", tmp_path / "c.json"),
        status=1,
    )
    assert json.loads((tmp_path / "c.json").read_text())["too_small"] is True
    assert "no dial is certain" in said
    assert "too small" in said
    assert not (tmp_path / "no").exists()
