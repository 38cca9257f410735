"""What optical character recognition left of a page is read as it stood on the paper, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.detection.options import RULES_ALONE, RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.reading.lexicon import load_lexicon
from deid.reading.misreading import reading_of
from deid.reading.passages import other_reading, second_readings
from deid.reading.scans import left_out, long_numbers, restore

LEXICON = load_lexicon("en")
FAX = """\
FAX O7/l4/2Ol9  P. l of 2
Te1. 614-555-O12 3, acct 2Ol8 44l O77
Roorn 2l, seen 1l/O2 by Dr. Tuttle.
Form 88l2O4-77l
"""
RULES = build_recognizer(RecognizerOptions(model=RULES_ALONE, language="en"))


def found(text: str) -> set[str]:
    return {text[span.start : span.end] for span in RULES.find(Document("n", text))}


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        # letters in numbers, alone beside one, in codes, behind an x
        ("l2.O9.18", "12.09.18"),
        ("ll.O6.1948", "11.06.1948"),
        ("O4 ll 14", "04 11 14"),
        ("A2lCC5O8", "A21CC508"),
        ("ext x4l", "ext x41"),
        ("l55-O1l3", "155-0113"),
        ("7.4.201B", "7.4.2018"),
        # a vitamin, a code of letters, a unit
        ("B12 ZS 5 ml", "B12 ZS 5 ml"),
        # torn apart
        ("O73 61 5 55 29 9", "07361555299     "),
        ("2023 -O1- l7", "2023-01-17  "),
        ("881 204 771", "881 204 771"),
        # digits and letters in words
        ("H0SPlTAL 0F THE PlNES", "HOSPITAL OF THE PINES"),
        ("Apri1 c1aim Pat1ent", "April claim Patient"),
        ("0gletree of the 8ay", "Ogletree of the Bay"),
        ("lnes, lrene", "Ines, Irene"),
        # two letters for one, a word torn apart
        ("patient narne, roorn 2", "patient name , room  2"),
        ("the hospi tal", "the hospital "),
        ("the patient is well", "the patient is well"),
        ("Mada gascar", "Madagascar "),
        ("seen by Zla tko.", "seen by Zlatko ."),
        ("Zla tkonix", "Zla tkonix"),
    ],
)
def test_what_is_restored(printed: str, read: str) -> None:
    assert restore(printed, LEXICON) == read


def test_a_german_page() -> None:
    german = load_lexicon("de")
    assert restore("Tiiren in der StraBe", german) == "Türen  in der Straße"


def test_a_note_that_somebody_typed_is_no_scan() -> None:
    for typed in (
        "l4-l5 and l3-l4 disc bulge, l5-s1 normal, O2 2l via NC, O2 sat 98, O2 weaned to 1l, l1 fracture, 5l fluid",
        "B12 low, HbA1c 7, SpO2 98, CD20, T10-L2, lot 93S-47928, 12 mg q8h, COVID19, 3O",
    ):
        assert reading_of(typed, LEXICON)[1] is False


def test_four_numbers_tell_a_scan() -> None:
    read, scanned = reading_of(FAX, LEXICON)
    assert scanned
    assert "Room  21, seen 11/02 by" in read
    assert len(read) == len(FAX)


def test_words_with_digits_tell_a_scan() -> None:
    read, scanned = reading_of("The po1ypectomy in the co1on was comp1ete, no b1eeding. Ca1l 555 ll2O.", LEXICON)
    assert (read, scanned) == ("The polypectomy in the colon was complete, no bleeding. Call 555 1120.", True)


def test_what_a_reading_leaves_out_belongs_to_what_ends_there() -> None:
    read, _ = other_reading(FAX, LEXICON)
    assert next(FAX[start:end] for start, end in left_out(FAX, read)) == "3"
    ((part, passage),) = second_readings(Document("n", FAX), LEXICON)
    assert passage.scanned
    assert "614-555-O12 3" in found(FAX)
    assert part.text == read


def test_long_numbers_of_a_scan_are_somebodys() -> None:
    assert "88l2O4-77l" in found(FAX)
    assert "881204-771" not in found("Phone 614-555-0123\nForm 881204-771\n")
    assert list(long_numbers("at 12 of 2019, 33 44, ABG 7.39/41/88, WX 441 0776")) == [(38, 49)]


@given(st.text(st.sampled_from("aelmnr BSZoO0l158./-xX\n,ßüİ"), max_size=60))
def test_a_reading_keeps_the_length_and_the_lines(text: str) -> None:
    read = restore(text, LEXICON)
    assert len(read) == len(text)
    assert [i for i, c in enumerate(read) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
    for start, end in left_out(text, read):
        assert not read[start:end].strip(" ")
        assert text[start:end].strip(" ")
