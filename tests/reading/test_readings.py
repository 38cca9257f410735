"""Documents in capitals or small letters, and scanned ones, are read as they would ordinarily be written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deid.detection import Ensemble, RuleRecognizer
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.reading.casing import recase, uninformative_case
from deid.reading.lexicon import load_lexicon
from deid.reading.misreading import reading_of
from deid.reading.passages import other_reading

LEXICON = load_lexicon("en")
RULES = Ensemble((RuleRecognizer.load("en"),))


def test_capitals_become_ordinary_case() -> None:
    text = "PATIENT IS A FORTY YEAR OLD MAN TODAY. HIS SON MARTIN KOWALCZYK LIVES IN TOPEKA, KS. CT IN MARCH 2019."
    assert recase(text, LEXICON) == (
        "Patient is a forty year old man today. His son Martin Kowalczyk lives in Topeka, KS. CT in March 2019."
    )


def test_small_letters_become_ordinary_case() -> None:
    text = "the patient was seen by dr. o'brien. she went to mercy hospital on monday, and maliida came along."
    written = recase(text, LEXICON)
    assert written == (
        "The patient was seen by Dr. O'Brien. She went to Mercy Hospital on Monday, and Maliida came along."
    )


def decipher(text: str) -> str:
    return reading_of(text, LEXICON)[0]


def test_ordinary_case_stays() -> None:
    for text in (
        "Mr. Smith is WELL today, seen in the ED.",
        "DISCHARGE SUMMARY\nHe was seen by Dr. Lee at noon.",
        "",
        "1 2",
    ):
        assert uninformative_case(text) == ""
        assert recase(text, LEXICON) == text


def test_what_a_scanner_took_for_something_else() -> None:
    assert decipher("on O3/l4/2Ol9, 617-S55-0l23 MRN 47l12O3 since 1g91") == (
        "on 03/14/2019, 617-555-0123 MRN 4711203 since 1991"
    )
    assert decipher("Dr. J0hnson") == "Dr. Johnson"
    kept = "B12 low, L5-S1, HbA1c 7, SpO2 98, CD20, T10-L2, license DT19525, lot 93S-47928, 12 mg q8h, COVID19"
    assert decipher(kept) == kept


def test_words_are_respelt_in_scanned_documents_only() -> None:
    noisy = "Tbe patient wos seen bv Dr. Baslnger in Septcmber, aftcr surgcry, and sbe is wcll with hcr medicotions."
    written = decipher(noisy)
    assert "Basinger in September, after surgery" in written
    assert len(written) == len(noisy)
    clean = "The patient was seen by Dr. Baslnger in May after surgery, and she is well with her medications."
    assert decipher(clean) == clean


def test_both_readings_are_looked_at() -> None:
    text = "seen on O3/l4/2Ol9. b12 was low"
    spans = RULES.find(Document("n", text))
    assert "O3/l4/2Ol9" in [text[s.start : s.end] for s in spans]
    loud = "SEEN BY KOWALCZYK TODAY. SHE LIVES WITH QUILLANDRA VOSKAVEC, HER AUNT FROM TODMORDEN. NO FEVER AND NO PAIN."
    for said in (RecognizerOptions(model="en"), RecognizerOptions(model="en", rules=False)):
        recognizer = build_recognizer(said)
        found = [loud[s.start : s.end] for s in recognizer.find(Document("n", loud))]
        assert any("VOSKAVEC" in f for f in found)
    assert other_reading("Mr. Smith is well.", LEXICON) == ("Mr. Smith is well.", False)


@given(st.text(st.sampled_from("aeMmQ oO0l1S5./-\n,'ßİé"), max_size=60))
def test_every_reading_has_the_same_offsets(text: str) -> None:
    for written in (text, text.upper()):
        assert len(other_reading(written, LEXICON)[0]) == len(written)
    assert len(recase(text, LEXICON)) == len(text)
    assert len(decipher(text)) == len(text)
