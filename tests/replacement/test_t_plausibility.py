"""t-plausible generalization of documents: the papers' sentence, repeats, unknown words, case, the operator."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError, OffsetError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.ontology_files import load_ontologies
from deid.replacement.operators import OPERATORS
from deid.replacement.scope import Scope
from deid.replacement.t_plausibility import generalize, make_generalizer, t_plausible_operator

SENTENCE = "A Sacramento resident purchased marijuana for the lumbar pain caused by liver cancer."
SCOPE = Scope(Key(b"0" * 32), "d")


def tree(word: str, group: str, size: int, top: str, more: int) -> str:
    """A word in a group of ``size`` leaves below a top with ``more`` leaves beside the group."""
    leaves = [word, *(f"{group} {n}" for n in range(1, size))]
    lines = [f"{leaf};{group};{top};*" for leaf in leaves] + [f"{top} {n};{top};{top};*" for n in range(more)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def paper(tmp_path: Path) -> list[Path]:
    """Ontologies whose first steps stand for 4, 4, 3 and 2 words: 96 texts; second steps for 23, 31, 13 and 11."""
    files = {
        "places": tree("Sacramento", "state capital", 4, "city", 19),
        "drugs": tree("marijuana", "drug", 4, "substance", 27),
        "symptoms": tree("lumbar pain", "ache", 3, "complaint", 10),
        "tumors": tree("liver cancer", "carcinoma", 2, "illness", 9),
    }
    for name, content in files.items():
        (tmp_path / f"{name}.csv").write_text(content)
    return [tmp_path / f"{name}.csv" for name in files]


def test_papers_sentence_is_linked_to_96_texts(paper: list[Path]) -> None:
    result = generalize(Document("d", SENTENCE), make_generalizer(96, ontologies=paper))
    assert result.document.text == "A state capital resident purchased drug for the ache caused by carcinoma."
    assert (result.words, result.plausible, result.reached, result.optimal) == (4, 96, True, True)
    assert [result.document.text[s.start : s.end] for s in result.document.spans] == [
        "state capital",
        "drug",
        "ache",
        "carcinoma",
    ]


def test_97_texts_make_a_word_climb_higher(paper: list[Path]) -> None:
    result = generalize(Document("d", SENTENCE), make_generalizer(97, ontologies=paper))
    assert result.plausible > 96
    assert any(top in result.document.text for top in ("city", "substance", "complaint", "illness"))


def test_every_search_agrees_on_the_sentence(paper: list[Path]) -> None:
    texts = {
        search: generalize(Document("d", SENTENCE), make_generalizer(96, search=search, ontologies=paper)).plausible
        for search in ("exhaustive", "best-first", "branch-and-bound", "auto", "greedy")
    }
    assert set(list(texts.values())[:4]) == {96}
    assert texts["greedy"] >= 96


def test_t_of_one_changes_nothing() -> None:
    result = generalize(Document("d", SENTENCE), make_generalizer(1))
    assert result.document.text == SENTENCE
    assert (result.words, result.plausible, result.reached) == (4, 1, True)


def test_document_without_sensitive_words_is_unchanged_and_reported() -> None:
    result = generalize(Document("d", "Nothing to see."), make_generalizer(96))
    assert result.document.text == "Nothing to see."
    assert (result.words, result.plausible, result.reached) == (0, 1, False)


def test_repeats_and_other_names_share_one_replacement() -> None:
    """Liver cancer, hepatic cancer: one word, counted once."""
    text = "Liver cancer. The liver cancer, a hepatic cancer, grew."
    result = generalize(Document("d", text), make_generalizer(40))
    assert result.words == 1
    assert result.document.text == (
        "Cancer of the digestive system. The cancer of the digestive system, a cancer of the digestive system, grew."
    )
    assert result.plausible == 41


def test_articles_agree() -> None:
    text = "He is an accountant. AN ACCOUNTANT came."
    result = generalize(Document("d", text), make_generalizer(600))
    assert result.document.text == "He is a [PROFESSION]. A [PROFESSION] came."
    result = generalize(Document("d", "a surgeon"), make_generalizer(100), [Span(2, 9, "PROFESSION")])
    assert result.document.text == "a professional"
    result = generalize(Document("d", "a chemist"), make_generalizer(60), [Span(2, 9, "PROFESSION")])
    assert result.document.text == "an engineer or scientist"
    assert [(e.start, e.end, e.new_start, e.new_end) for e in result.edits] == [(0, 9, 0, 24)]


def test_case_follows_the_original_but_not_a_brands_capital() -> None:
    text = "LIVER CANCER. Liver cancer, liver cancer. Past Liver Cancer."
    result = generalize(Document("d", text), make_generalizer(300))
    assert result.document.text == "CANCER. Cancer, cancer. Past Cancer."
    result = generalize(Document("d", "He took Lasix. Lasix helped; MI."), make_generalizer(2, every_word=True))
    assert result.document.text == "He took loop diuretic. Loop diuretic helped; ischemic heart disease."


def test_words_in_capitals_are_replaced_in_capitals_but_for_abbreviations(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("asthma;illness;*\nb 12;vitamin;*\nc 12;vitamin;*\ngout;illness;*\n")
    generalizer = make_generalizer(2, ontologies=[tmp_path / "own.csv"], every_word=True)
    result = generalize(Document("d", "x ASTHMA, B 12, GOUT, asthma"), generalizer)
    assert result.document.text == "x ILLNESS, VITAMIN, illness, illness"


def test_a_word_counts_as_a_term_of_the_ontology_that_found_it(tmp_path: Path) -> None:
    (tmp_path / "schools.csv").write_text("mit;university;*\nother;university;*\n")
    (tmp_path / "words.csv").write_text("mit;preposition;*\nbei;preposition;*\n")
    schools, words = load_ontologies([tmp_path / "schools.csv", tmp_path / "words.csv"])
    schools = dataclasses.replace(schools, capitals={"mit": True})
    generalizer = dataclasses.replace(make_generalizer(2, every_word=True), ontologies=(schools, words))
    assert generalize(Document("d", "x mit, MIT"), generalizer).document.text == "x preposition, university"


def test_unknown_given_spans_become_tags_and_count_as_one() -> None:
    text = "Ann Smith of Atlantis, a Quantum Herder, has asthma."
    spans = [Span(0, 9, "PATIENT"), Span(13, 21, "CITY"), Span(25, 39, "PROFESSION"), Span(45, 51, "OTHER")]
    result = generalize(Document("d", text), make_generalizer(2), spans)
    assert result.document.text.startswith("[NAME] of [PLACE], a [PROFESSION], has ")
    assert "asthma" not in result.document.text
    assert result.plausible == generalize(Document("d", "asthma"), make_generalizer(2)).plausible


def test_what_cannot_reach_t_is_written_as_general_as_possible() -> None:
    result = generalize(Document("d", "Boston and asthma"), make_generalizer(10**9))
    assert result.document.text == "[PLACE] and [CONDITION]"
    assert not result.reached
    assert result.plausible < 10**9


def test_given_spans_replace_searching(paper: list[Path]) -> None:
    generalizer = make_generalizer(4, ontologies=paper)
    result = generalize(Document("d", SENTENCE), generalizer, [Span(2, 12, "CITY")])
    assert result.document.text == SENTENCE.replace("Sacramento", "state capital")
    assert result.words == 1
    with pytest.raises(OffsetError):
        generalize(Document("d", "short"), generalizer, [Span(2, 12, "CITY")])


WORDS = ["Boston", "asthma", "HTN", "a baker", "Lasix", "Dr. X", "\n", "Houston", "gout", "seizures", "1", "Paris"]


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_edits_lead_from_the_original_to_the_published_text(words: list[str]) -> None:
    """Outside the edits nothing changes, and what is certified is what was asked for, where it can be."""
    document = Document("d", " ".join(words))
    result = generalize(document, make_generalizer(50))
    read, text = 0, ""
    for edit in result.edits:
        text += document.text[read : edit.start] + result.document.text[edit.new_start : edit.new_end]
        assert document.text[edit.start : edit.end] != result.document.text[edit.new_start : edit.new_end]
        read = edit.end
    assert text + document.text[read:] == result.document.text
    assert result.reached == (result.plausible >= 50)
    assert result.reached or result.words < 1


def test_operator_generalizes_every_span_and_never_returns_the_original() -> None:
    text = "Boston, Boston, Atlantis, asthma, place"
    spans = [Span(0, 6, "CITY"), Span(8, 14, "CITY"), Span(16, 24, "CITY"), Span(26, 32, "OTHER"), Span(34, 39, "CITY")]
    operate = t_plausible_operator(1)
    written = operate(Document("d", text), spans, SCOPE)
    assert written[0] == written[1] == "Massachusetts"
    assert written[2] == "[PLACE]"
    assert written[4] == "[***]"
    assert all(w != text[s.start : s.end] for w, s in zip(written, spans, strict=True))
    assert operate(Document("d", text), spans, SCOPE) == written


def test_operator_reaches_t_over_the_spans_of_a_document() -> None:
    """The published terms' leaves multiply to t, and to less one level lower."""
    text, t = "Boston asthma", 10**5
    spans = [Span(0, 6, "CITY"), Span(7, 13, "OTHER")]
    place, condition = t_plausible_operator(t)(Document("d", text), spans, SCOPE)
    places, diseases = load_ontologies(["places", "diseases"])
    counts = places.hierarchy.leaf_count(place), diseases.hierarchy.leaf_count(condition)
    assert math.prod(counts) >= t
    assert t_plausible_operator(math.prod(counts) + 1)(Document("d", text), spans, SCOPE) != [place, condition]


def test_operator_is_built_from_a_policys_parameters(tmp_path: Path) -> None:
    (tmp_path / "pets.csv").write_text("dog;mammal;*\ncat;mammal;*\ncarp;fish;*\n")
    parameters = {
        "t": 2,
        "objective": "uniform",
        "alpha": 0.3,
        "search": "greedy",
        "ontologies": [str(tmp_path / "pets.csv")],
    }
    OPERATORS["t-plausible"].check(parameters, "policy")
    operate = OPERATORS["t-plausible"](**parameters)
    assert operate(Document("d", "dog"), [Span(0, 3, "OTHER")], SCOPE) == ["mammal"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"t": 0},
        {"t": 5, "objective": "x"},
        {"t": 5, "search": "x"},
        {"t": 5, "ontologies": ["x"]},
        {"t": 5, "alpha": 2.0},
    ],
)
def test_wrong_parameters_are_refused_before_the_first_document(parameters: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        t_plausible_operator(**parameters)  # type: ignore[arg-type]
