"""Concept-Match: what is not known to be harmless is blocked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.document import Document, apply_edits
from deid.reading.dictionaries import fold
from deid.replacement.concept_match import Concept, ConceptMatcher, concept_match, default_matcher

LYMPHOMA = {"b-cell lymphoma": Concept("C0079731", "lymphoma, b-cell")}
TERMS = {
    **LYMPHOMA,
    "lymphoma": Concept("C1", "lymphoid tumor"),
    "head": Concept("C2", "caput"),
    "head injury": Concept("C3", "trauma of the head"),
    "vitamin b12": Concept("C4", "cobalamin"),
    "co2": Concept("C5", "carbon dioxide"),
}
STOP = ["with", "a", "of", "the", "doesn't", "long"]


def scrubbed(text: str, **options: bool) -> str:
    return ConceptMatcher(TERMS, STOP, ["head", "long"], **options).scrub(Document("d", text))[0].text


def test_worked_line() -> None:
    document = Document("d", "Jones with a history of B-cell lymphoma")
    matcher = ConceptMatcher(LYMPHOMA, {"with", "a", "of"})
    result, edits = matcher.scrub(document)
    assert result.text == "*** with a *** of C0079731 lymphoma, b-cell"
    assert [(e.start, e.end, e.new_start, e.new_end) for e in edits] == [
        (0, 5, 0, 3),
        (13, 20, 11, 14),
        (24, 39, 18, 43),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lymphoma of the B-Cell\nLymphoma", "C1 lymphoid tumor of the C0079731 lymphoma, b-cell"),
        ("a head injury", "a C3 trauma of the head"),
        ("head of Head of HEAD", "C2 caput of *** of ***"),
        ("long, Long", "long, ***"),
        ("vitamin B12, B12, vitamin B 12", "C4 cobalamin, ***, C4 cobalamin"),
        ("a1c of A", "*** of A"),
        ("withdrawn with", "*** with"),
        ("doesn't don't", "doesn't ***"),
        # a word joined to an unknown one is a part of it, a term of several is not
        ("head-zqx and zqx.head", "*** *** ***"),
        ("head injury-zqx", "C3 trauma of the head-***"),
        ("zqx-head injury.", "***-C3 trauma of the head."),
        ("CO2-zqx", "C5 carbon dioxide-***"),
        ("CO2b, xCO2, CO2, 1CO2", "***, ***, C5 carbon dioxide, ***"),
        ("", ""),
        (" \n\t.", " \n\t."),
    ],
)
def test_longest_whole_words_in_any_case(text: str, expected: str) -> None:
    assert scrubbed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("555-1234, 1/2/03; j.doe@x.org. (Smith,John)", "***, ***; ***. (***)"),
        ("O'Brien's", "***"),
        ("Smith \U0001f600 \u00a7", "*** *** ***"),
        ("X\u0000Y", "***"),
        ("Smith with-Jones", "*** ***"),
        ("the/a the,Smith (of) a-1", "the/a the,*** (of) ***"),
        ("head injury-Smith of", "C3 trauma of the head-*** of"),
    ],
)
def test_one_block_a_word_hides_its_punctuation(text: str, expected: str) -> None:
    assert scrubbed(text) == expected


def test_merged_blocks_hide_the_number_of_words() -> None:
    assert scrubbed("John Q. Smith with Ann Lee\nof Boston", merge=True) == "*** with ***\nof ***"


def test_replacements_are_for_apply_edits() -> None:
    document = Document("d", "Seen by Dr. Annabel Zimmerling with asthma.")
    replacements = concept_match(document)
    assert apply_edits(document, replacements)[0] == default_matcher().scrub(document)[0]
    assert {span.source for span, _ in replacements} == {"concept-match:block", "concept-match:term"}


def test_shipped_nomenclature_keeps_medicine_and_blocks_the_rest() -> None:
    text = (
        "Annabel Zimmerling (MRN 993-22-1) of Boston was admitted on 12/03/2020 with chest pain and a history of "
        "hypertension. Lisinopril was started by Dr. Kelly Head. The head was normal. Long course."
    )
    result = default_matcher().scrub(Document("d", text))[0].text
    assert not re.search(r"Annabel|Zimmerling|993|22|Boston|2020|Kelly|Head", result)
    assert "R07.9 chest pain" in result
    assert "I10 hypertension" in result
    assert "lisinopril was started by" in result
    assert re.search(r"The ANA-[0-9A-F]{6} head was normal", result)
    assert "Long" not in result


@given(st.text(st.sampled_from("aAbB1 -.,'\n\u00e9\u0301\U0001f600withofheadlymphoma"), max_size=60))
def test_no_unknown_word_survives(text: str) -> None:
    """Every word of the output is a stop word, a block, or part of a concept's fixed form."""
    known = {w for c in TERMS.values() for w in re.findall(r"\w+", str(c))} | {
        "with",
        "a",
        "A",
        "of",
        "the",
        "doesn",
        "t",
        "long",
    }
    out = scrubbed(text)
    assert {
        w for w in re.findall(r"\w+", out.replace("***", " ")) if w.lower() not in known and w not in known
    } == set()


@given(st.text(max_size=80))
def test_any_text_is_scrubbed_to_known_words(text: str) -> None:
    out = ConceptMatcher({}, ["the"]).scrub(Document("d", text))[0].text
    assert all(fold(word) == "the" for word in re.findall(r"\w+", out))
