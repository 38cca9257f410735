"""A short text is read once more as a whole: more of a question about somebody is hidden, less of one about nobody."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
import shutil
from functools import cache
from pathlib import Path

import pytest
from synthetic.marked import unmark

from deid import Document, RecognizerOptions, Span, build_recognizer
from deid.base.errors import ModelError
from deid.base.resources import resource_folder
from deid.detection import Ensemble
from deid.detection.explanation import FATES
from deid.detection.short import LONGEST, SHORT_FILE, SOURCE, ShortTexts, reads, short_of_folder
from deid.io.records import document as record_document
from deid.records.fhir import read as read_fhir
from deid.records.tables import load_table

QUESTIONS = [
    unmark(line)
    for line in (Path(__file__).parent / "questions3.txt").read_text("utf-8").splitlines()
    if not line.startswith("# ")
]


@cache
def ensemble() -> Ensemble:
    found = build_recognizer()._ensemble
    assert found is not None
    assert found.short is not None
    return found


def hidden(recognizer: Ensemble, documents: list[Document]) -> int:
    """Return how many elements are hidden whole."""
    count = 0
    for document in documents:
        found = {i for s in recognizer.find(Document("q", document.text)) for i in range(s.start, s.end)}
        for span in document.spans:
            count += all(i in found for i in range(span.start, span.end) if document.text[i].isalnum())
    return count


def test_more_is_hidden_in_questions_about_somebody_and_less_in_those_about_nobody() -> None:
    whole = ensemble()
    plain = dataclasses.replace(whole, short=None)
    asked = [question for question in QUESTIONS if question.spans]
    elements = sum(len(question.spans) for question in asked)
    assert hidden(whole, asked) >= 0.93 * elements
    assert hidden(whole, asked) >= hidden(plain, asked) + 0.02 * elements
    free = [Document("q", question.text) for question in QUESTIONS if not question.spans]
    assert sum(bool(whole.find(q)) for q in free) < sum(bool(plain.find(q)) for q in free)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("last a1c zorblat", True),
        ("last a1c zorblat\n", True),
        ("zorblat", False),
        ("", False),
        ("a line\nand another", False),
        ("Zorblat\t81\tF", False),
        ("BP 120/80 HR 81", True),
        ("120/80 81 16", False),
        ("Seen by Zorblat. Doing well.", False),
        ("Name: Zorblat", False),
        ("Seen by Zorblat. Is that right?", True),
        ("Zorblat | 81 | F", False),
        ("a" * LONGEST + " b", False),
    ],
)
def test_a_text_of_one_line_and_a_few_words_is_short(text: str, short: bool) -> None:
    assert reads(Document("q", text)) is short


def test_a_record_is_no_short_text() -> None:
    resource = json.dumps({"resourceType": "Patient", "id": "q", "text": {"div": "last a1c zorblat"}}).encode()
    record = record_document(read_fhir(resource, load_table("fhir-r4")))
    assert record.record is not None
    assert not reads(dataclasses.replace(record, text="last a1c zorblat"))


def test_longer_texts_are_read_without_its_weights(tmp_path: Path) -> None:
    note = "Seen by Dr. Zorblat on 3/14/2019.\nPlan: rest.\n"
    without = dataclasses.replace(ensemble(), short=ShortTexts(tmp_path / "not there"))
    assert without.find(Document("n", note)) == ensemble().find(Document("n", note)) != []
    with pytest.raises(ModelError, match="cannot be read"):
        without.find(Document("q", "last a1c zorblat"))


def test_labelled_values_and_what_is_known_stay_whatever_the_rest_says() -> None:
    def doubting(recognizer: Ensemble) -> Ensemble:
        assert recognizer.short is not None
        short = ShortTexts(recognizer.short.path)
        nothing = dataclasses.replace(recognizer.short.weights, about=2.0, left=2.0, added=2.0)
        short.__dict__["weights"] = nothing
        return dataclasses.replace(recognizer, short=short)

    def words(recognizer: Ensemble, text: str) -> list[str]:
        return [text[s.start : s.end] for s in recognizer.find(Document("q", text))]

    one = doubting(ensemble())
    assert words(one, "MRN: 4711203 last a1c") == ["4711203"]
    assert words(one, "call 617-555-0143 for the a1c") == ["617-555-0143"]
    assert words(one, "did zorblat get his a1c in Milwaukee") == []


def test_explain_says_what_came_and_what_went() -> None:
    recognizer = build_recognizer()
    for question in QUESTIONS:
        document = Document("q", question.text)
        told = recognizer.explain(document)
        assert [e.span for e in told.spans] == recognizer.find(document)
        reasons = [r for e in told.spans for r in e.reasons] + list(told.loose)
        assert {r.fate for r in reasons} <= set(FATES)
        for explained in told.spans:
            if explained.span.source == SOURCE:
                assert explained.reasons[0].recognizer == "short"
                assert explained.span.score is not None


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"labels": ["O"]}', " " * (17 << 20) + "{}"], ids=range(5))
@pytest.mark.parametrize("packed", [False, True])
def test_weights_that_cannot_be_read_are_refused(content: str, packed: bool, tmp_path: Path) -> None:
    assert short_of_folder(tmp_path) is None
    assert short_of_folder(None) is None
    (tmp_path / SHORT_FILE).write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    short = short_of_folder(tmp_path)
    assert short is not None
    with pytest.raises(ModelError, match="cannot be read"):
        short.weights.labels  # noqa: B018


def test_weights_that_are_no_finite_numbers_are_refused(tmp_path: Path) -> None:
    content = {"labels": ["O"], "transition": [[0]], "attributes": {"a": [[0, float("inf")]]}}
    (tmp_path / SHORT_FILE).write_bytes(
        gzip.compress(json.dumps({**content, "about": 1, "left": 1, "added": 1}).encode())
    )
    with pytest.raises(ModelError, match="finite"):
        ShortTexts(tmp_path / SHORT_FILE).weights  # noqa: B018


def test_a_model_of_ones_own_has_such_weights_where_its_folder_has_them(tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(resource_folder("models") / "en", own)
    text = Document("q", "whats zorblat's a1c")
    spans = [(s.start, s.end, s.category) for s in build_recognizer().find(text)]
    with_them = build_recognizer(RecognizerOptions(model=str(own)))
    assert [(s.start, s.end, s.category) for s in with_them.find(text)] == spans
    (own / SHORT_FILE).unlink()
    without = build_recognizer(RecognizerOptions(model=str(own)))._ensemble
    assert without is not None
    assert without.short is None
    assert build_recognizer(RecognizerOptions(language="de"))._ensemble.short is None  # type: ignore[union-attr]


def test_spans_that_come_are_sorted_and_overlap_nothing() -> None:
    for question in QUESTIONS:
        spans: list[Span] = ensemble().find(Document("q", question.text))
        assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
