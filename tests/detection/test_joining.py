"""Spans that nobody else speaks for are weighed, and what decided is told."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st

from deid import Document, build_recognizer, read
from deid.base.errors import ModelError
from deid.detection import Ensemble, RuleRecognizer
from deid.detection.joining import (
    JOINING_FILE,
    MODEL,
    POSSIBLE,
    RULE,
    Joining,
    JoiningWeights,
    Surroundings,
    joining_of_folder,
)
from deid.document import Failure, Span
from deid.evaluation import ScoringSettings, evaluate

RULES = RuleRecognizer.load("en")
SYNTHETIC = Path(__file__).parents[2] / "corpora" / "synthetic" / "dev.jsonl"
TEXT = "Quorl came with Zandor yesterday."
BY_CHANCE = {MODEL: JoiningWeights({"chance": 5.0}, 0.5)}


class Guessing:
    """A model that finds some words, and is so sure of them."""

    name = "guessing"
    categories = frozenset(("PATIENT",))

    def __init__(self, chances: dict[str, float]) -> None:
        self.sure = chances

    def find(self, document: Document) -> list[Span]:
        text = document.text
        places = ((text.index(word), word) for word in self.sure if word in text)
        return [Span(at, at + len(word), "PATIENT", source="model:guessing") for at, word in sorted(places)]

    def chances(self, text: str, places: Iterable[tuple[int, int]]) -> list[float]:
        return [self.sure.get(text[start:end], 0.5) for start, end in places]


def hidden(ensemble: Ensemble, text: str) -> list[str]:
    return [text[s.start : s.end] for s in ensemble.find(Document("n", text))]


def test_what_a_model_alone_found_counts_where_the_weights_say_so() -> None:
    model = Guessing({"Quorl": 0.9, "Zandor": 0.1})
    assert {"Quorl", "Zandor"} <= set(hidden(Ensemble((model, RULES)), TEXT))
    weighing = Ensemble((model, RULES), joining=BY_CHANCE)
    assert "Quorl" in hidden(weighing, TEXT)
    assert "Zandor" not in hidden(weighing, TEXT)
    told = {TEXT[c.span.start : c.span.end]: c for c in weighing.trace(Document("n", TEXT)).candidates if c.rank == 0}
    assert (told["Quorl"].fate, told["Zandor"].fate) == ("accepted", "unlikely")
    weighed = told["Zandor"].weighed
    assert weighed is not None
    assert (weighed.kind, weighed.chance) == (MODEL, 0.1)
    assert weighed.likely < 0.5


def test_what_covers_much_speaks_against_what_stands_in_it() -> None:
    text = "Quorl " + "went away and " * 12 + "Zandor came. Bromley stayed."
    scene = RULES.scene(text)
    at, behind = text.index("Zandor"), text.index("Bromley")
    long = Span(0, at + 6, "ORGANIZATION", source="rule:x", score=0.8)
    other = Span(behind, behind + 7, "PATIENT", source="rule:x", score=0.8)
    inside = Span(at, at + 6, "PATIENT", source="model:guessing")
    candidates = [(1, long), (0, inside), (0, other)]
    around = Surroundings(scene, candidates, [0.8, None, 0.8], [1, 2])
    assert around.evidence(1, 0.5)["another kind"] == 0.8
    assert around.evidence(2, 0.5)["another kind"] == 0.0


@pytest.mark.parametrize(("least", "stays"), [(0.0, False), (1.1, True)])
def test_what_a_rule_alone_found_is_weighed_unless_it_is_sure_or_labelled(least: float, stays: bool) -> None:
    text = "MRN: 4711203\nSeen by Dr. Alan Jones. She was seen at the Bramblewood unit."
    joining: Joining = {RULE: JoiningWeights({}, least)}
    before = hidden(Ensemble((Guessing({}), RULES)), text)
    after = hidden(Ensemble((Guessing({}), RULES), joining=joining), text)
    assert {"4711203", "Alan Jones"} <= set(after) <= set(before)
    assert ("Bramblewood" not in after) is stays
    assert hidden(Ensemble((RULES,), joining=joining), text) == hidden(Ensemble((RULES,)), text)  # no model to ask


def test_what_a_rule_took_for_possible_can_count() -> None:
    text = "The patient works near Quillfeather and was seen at the clinic."
    ensemble = Ensemble((Guessing({}), RULES))
    weak = [
        (c.span.start, c.span.end)
        for c in ensemble.trace(Document("n", text)).candidates
        if c.fate == "weak" and 0.3 <= c.certainty == c.span.score
    ]
    words = {text[a:b] for a, b in weak}
    assert words
    assert not words & set(hidden(ensemble, text))
    likely = Ensemble((Guessing({}), RULES), joining={POSSIBLE: JoiningWeights({}, 0.5)})
    unlikely = Ensemble((Guessing({}), RULES), joining={POSSIBLE: JoiningWeights({}, 0.6)})
    assert words <= set(hidden(likely, text))
    assert hidden(unlikely, text) == hidden(ensemble, text)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.floats(-9, 9)),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(-3, 3)),
)
def test_the_terms_add_up_to_the_logit(weights: dict[str, float], evidence: dict[str, float]) -> None:
    told = JoiningWeights(weights, 0.5)
    terms = [term for _, term in told.terms(evidence)]
    assert told.judge(evidence) == pytest.approx(1 / (1 + math.exp(-max(-30.0, min(30.0, sum(terms))))))
    assert sorted(terms, key=abs, reverse=True) == terms


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"kinds": {"model": {}}}', '{"kinds": 3}'])
def test_weights_that_cannot_be_read_are_refused(content: str, tmp_path: Path) -> None:
    assert joining_of_folder(tmp_path) == joining_of_folder(None) == {}
    (tmp_path / JOINING_FILE).write_text(content)
    with pytest.raises(ModelError):
        joining_of_folder(tmp_path)
    one = {"least": float("nan"), "weights": {}}
    (tmp_path / JOINING_FILE).write_text(json.dumps({"kinds": dict.fromkeys((MODEL, RULE, POSSIBLE), one)}))
    with pytest.raises(ModelError, match="finite"):
        joining_of_folder(tmp_path)


def test_the_shipped_weights_find_more_and_less_that_is_none() -> None:
    notes = [d for d in read(SYNTHETIC) if not isinstance(d, Failure)]
    recognizer = build_recognizer()
    weighing = recognizer._ensemble
    assert weighing is not None
    words = []
    for one in (weighing, Ensemble(weighing.recognizers, weighing.language)):
        found = [note.with_spans(one.find(note)) for note in notes]
        words.append(
            evaluate(notes, found, settings=ScoringSettings(resamples=0)).as_dict()["measures"]["word"]["micro"]
        )
    assert words[0]["precision"] > words[1]["precision"]
    assert words[0]["f1"] > words[1]["f1"]


def test_explain_shows_what_counted_most(tmp_path: Path) -> None:
    text = "She works near Quillfeather and was seen at the Bramblewood unit by Okonkwo, and MK called from Zorblat.\n"
    told = build_recognizer().explain(Document("n", text))
    reasons = [r for e in told.spans for r in e.reasons] + list(told.loose)
    weighed = [r for r in reasons if r.weighed is not None]
    assert weighed
    for reason in weighed:
        assert reason.probability is not None
        logit = sum(term for _, term in reason.terms)
        assert 1 / (1 + math.exp(-logit)) == pytest.approx(reason.weighed, abs=0.01)
    note, out = tmp_path / "note.txt", tmp_path / "why.json"
    note.write_text(text)
    shown = run("explain", note, "--json", out)
    assert "by the learnt weights" in shown
    assert "near +" in shown or "near -" in shown
    assert "terms" in out.read_text()


@pytest.mark.parametrize("chain", ["MA ", "3/4-", "| Smith | 4W | 12\n"])
def test_weighing_takes_as_many_steps_for_a_word_as_a_text_has_words(chain: str) -> None:
    """A text of one word again and again asked each of them about all others: 20,000 took seven seconds."""
    finder = build_recognizer()
    finder.find(Document("n", TEXT))

    def steps(length: int) -> int:
        count = 0

        def tick(frame: FrameType, event: str, arg: object) -> object:
            nonlocal count
            count += event != "return"
            return tick if frame.f_code.co_filename.endswith("joining.py") else None

        sys.settrace(tick)
        try:
            finder.find(Document("n", (chain * length)[:length]))
        finally:
            sys.settrace(None)
        return count

    small, large = steps(2_000), steps(8_000)
    assert small > 1_000
    assert large < 5 * small
