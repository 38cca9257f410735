"""Why spans were found, and why nothing was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.detection.explanation import Explained, Explanation, Reason, Word
from deid.detection.explanation_tables import explanation_sections
from deid.detection.known import Known, KnownRecognizer
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.replacement.policy import load_policy

TEXT = (
    "Patient: Smith, Mary   MRN: 4711203\nMrs. Smith was seen by Dr. Alan Jones.\n"
    "A Foley catheter was placed. Smith tolerated it. HOBS today, Quorl too.\n"
)
NOTE = Document("n", TEXT)
RULES = build_recognizer(RecognizerOptions(model="none"))


def place(word: str, start: int = 0) -> tuple[int, int]:
    at = TEXT.index(word, start)
    return at, at + len(word)


def test_each_span_says_who_proposed_what() -> None:
    told = RULES.explain(NOTE)
    assert [e.span for e in told.spans] == RULES.find(NOTE)
    by_offset = {(e.span.start, e.span.end): e for e in told.spans}
    titled = by_offset[place("Alan Jones")]
    assert titled.reasons[0].fate == "decides"
    assert titled.reasons[0].source == "name.title"
    assert {r.source for r in titled.reasons[1:]} >= {"name.full"}
    again = by_offset[place("Smith", TEXT.index("Foley"))]
    assert {r.recognizer for r in again.reasons if r.fate in ("decides", "supports")} >= {"consistency"}
    number = by_offset[place("4711203")]
    assert {r.category for r in number.reasons} == {"MEDICALRECORD", "IDNUM"}
    assert {r.fate for r in number.reasons} == {"decides", "supports"}


def test_why_nothing_was_found() -> None:
    told = RULES.explain(NOTE, [place("Foley catheter"), place("placed")])
    first, second, third = told.words
    assert (first.start, first.end) == place("Foley")
    assert first.protected
    assert second.protected
    assert not third.protected
    assert {"device", "last"} <= set(first.lists)
    assert first.probability is None  # no model


def test_the_page_says_of_each_word_whether_a_clinical_phrase_protects_it() -> None:
    told = RULES.explain(NOTE, [place("Foley catheter"), place("placed")])
    words = explanation_sections(told, NOTE, show=True, asked=True)[-1]
    protected = words.columns.index("in a clinical phrase")
    assert [row[protected] for row in words.rows] == ["yes", "yes", "no"]


def test_the_page_says_how_certain_each_is_to_two_digits() -> None:
    told = RULES.explain(NOTE)
    spans, reasons = explanation_sections(told, NOTE, show=False)[:2]
    at = spans.columns.index("score")
    assert [row[at] for row in spans.rows] == [
        "" if s.span.score is None else f"{s.span.score:.2f}" for s in told.spans
    ]
    assert all(row[reasons.columns.index("raised to")] for row in reasons.rows)
    assert {row[reasons.columns.index("model's probability")] for row in reasons.rows} == {""}  # there is no model


def test_the_page_tells_all_of_an_explanation_and_shows_the_words_only_where_asked() -> None:
    """Written out: what stands for nothing is empty, and what nobody asked for has no table and no column."""
    text = "Ann\x1bLee of Ward 7 saw 12"
    name, number = Span(0, 7, "DOCTOR", score=0.875, source="rule:name.title"), Span(16, 17, "IDNUM")
    decides = Reason("rule", "name.title", "PATIENT", 0, 7, 0.5, 0.875, None, "decides")
    model = Reason("en", "", "DOCTOR", 0, 3, 1.0, 1.0, 0.99, "supports")
    listed = Reason("deny", "deny", "IDNUM", 16, 17, 1.0, 1.0, None, "decides")
    terms = tuple((f"t{n}", 1.5 - n) for n in range(7))
    vain = Reason("en", "en", "AGE", 22, 24, 1.0, 1.0, 0.25, "unlikely", 0.125, terms)
    words = (Word(0, 3, 0.5, "DOCTOR", ("given", "last"), False), Word(11, 15, None, "", (), True))
    told = Explanation(
        (Explained(name, (decides, model), settled=True),), (Explained(number, (listed,)),), (vain,), words
    )

    def page(**how: Any) -> dict[str, tuple[tuple[str, ...], list[tuple[str, ...]]]]:
        return {s.title: (s.columns, list(s.rows)) for s in explanation_sections(told, Document("n", text), **how)}

    whole = page(policy=load_policy("redact"), show=True, asked=True)
    assert whole["Spans"] == (
        ("offsets", "category", "score", "operator", "text"), [("0:7", "DOCTOR", "0.88", "redact", "Ann Lee")],
    )  # fmt: skip
    columns, rows = whole["Why"]
    assert columns[1:3] == ("proposed at", "by")
    assert rows == [
        ("0:7", "0:7", "rule: name.title", "PATIENT", "0.50", "0.88", "", "decides"),
        ("", "0:3", "en", "DOCTOR", "1.00", "1.00", "0.9900", "supports"),
        ("", "", "consistency", "DOCTOR", "", "", "", "category of the same name elsewhere"),
    ]
    assert whole["What nobody else speaks for, by the learnt weights"][1] == [
        ("22:24", "en", "AGE", "0.12", "t0 +1.50, t1 +0.50, t2 -0.50, t3 -1.50, t4 -2.50")
    ]
    out = ("16:17", "16:17", "deny", "IDNUM", "1.00", "1.00", "", "decides")
    assert whole["Taken out by the allow list"] == (columns, [out])
    assert whole["Proposed in vain"] == (columns, [("", "22:24", "en", "AGE", "1.00", "1.00", "0.2500", "unlikely")])
    assert whole["The words there"][1] == [
        ("0:3", "0.5000", "DOCTOR", "given, last", "no", "Ann"), ("11:15", "", "", "none", "yes", "Ward"),
    ]  # fmt: skip
    hidden = page()
    assert hidden.keys() == whole.keys() - {"The words there"}
    assert hidden["Spans"] == (("offsets", "category", "score"), [("0:7", "DOCTOR", "0.88")])
    assert page(asked=True)["The words there"][1] == [row[:-1] for row in whole["The words there"][1]]
    told = Explanation(told.spans, (), (), ())
    assert page().keys() == {"Spans", "Why"}


def test_lists_and_known_identifiers_say_so(tmp_path: Path) -> None:
    (tmp_path / "deny").write_text("quorl\tDOCTOR\n")
    (tmp_path / "allow").write_text("Alan Jones\n")
    recognizer = build_recognizer(
        RecognizerOptions(model="none", deny=(tmp_path / "deny",), allow=(tmp_path / "allow",)),
        KnownRecognizer({"n": (Known("PATIENT", "Hobs Weir"),)}),
    )
    told = recognizer.explain(NOTE)
    assert [e.span for e in told.spans] == recognizer.find(NOTE)
    by_offset = {(e.span.start, e.span.end): e for e in told.spans}
    first = by_offset[place("Quorl")].reasons[0]
    assert (first.recognizer, first.fate) == ("deny", "decides")
    assert by_offset[place("HOBS")].reasons[0].recognizer == "known"
    assert [(e.span.start, e.span.end) for e in told.removed] == [place("Alan Jones")]


def test_the_models_part(tmp_path: Path) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="en"))
    told = recognizer.explain(NOTE, [place("Alan Jones"), place("tolerated")])
    assert [e.span for e in told.spans] == recognizer.find(NOTE)
    model = [r for e in told.spans for r in e.reasons if r.recognizer == "en"]
    assert model
    assert all(r.probability is not None and 0 < r.probability <= 1 for r in model)
    alan, _, tolerated = told.words
    assert alan.probability is not None
    assert tolerated.probability is not None
    assert alan.probability > 0.5 > tolerated.probability
    alone = build_recognizer(RecognizerOptions(model="en", rules=False))
    assert [e.span for e in alone.explain(NOTE).spans] == alone.find(NOTE)
    assert {r.recognizer for e in alone.explain(NOTE).spans for r in e.reasons} == {"en"}


@settings(max_examples=25)
@given(st.lists(st.sampled_from([*TEXT.split(" "), "\u200b", "Sm\u0456th", "é", "\n"]), max_size=25))
def test_asking_why_changes_nothing(words: list[str]) -> None:
    document = Document("n", " ".join(words))
    told = RULES.explain(document, [(0, len(document.text))])
    assert [e.span for e in told.spans] == RULES.find(document)
    assert all(0 <= w.start < w.end <= len(document.text) for w in told.words)
    assert all(e.reasons for e in told.spans)


def test_the_command_shows_no_text_unless_asked(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text(TEXT)
    said = run("explain", note, "--model", "none", "--at", "74:90", "--json", tmp_path / "e.json", "--policy", "redact")
    assert "name.title" in said
    assert "redact" in said
    for word in ("Smith", "Foley", "4711203", "Jones"):
        assert word not in said
        assert word not in (tmp_path / "e.json").read_text()
    shown = run("explain", note, "--model", "none", "--at", "74:90", "--show-text")
    assert "Alan Jones" in shown
    assert "Foley" in shown
    content = json.loads((tmp_path / "e.json").read_text())
    assert {"spans", "removed", "loose", "words"} <= set(content)
    assert content["spans"][0]["reasons"][0]["fate"] == "decides"


@pytest.mark.parametrize("arguments", [["--at", "5"], ["--at", "9:4"], ["--at", "0:99999"], ["--number", "2"]])
def test_places_that_are_none(tmp_path: Path, arguments: list[str]) -> None:
    note = tmp_path / "note.txt"
    note.write_text(TEXT)
    with pytest.raises(ConfigError):
        run("explain", note, "--model", "none", *arguments)
