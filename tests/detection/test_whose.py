"""Whose a name is and what a place is, told by the words beside it; where names begin and end."""

from __future__ import annotations

import itertools

import pytest

from deid import Document, Span
from deid.detection.edges import joined, pieces
from deid.detection.numbers import plain_scene
from deid.detection.overlaps import told_apart
from deid.detection.whose import name_words, settle_categories, whose, words_of_name
from deid.reading.lexicon import load_lexicon
from deid.rules.rules import RuleRecognizer

RULES = RuleRecognizer.load("en")


def told(text: str, part: str, category: str, source: str = "model:en") -> str:
    start = text.index(part)
    return whose(RULES.scene(text), [Span(start, start + len(part), category, source=source)], lambda _: False)[
        0
    ].category


@pytest.mark.parametrize(
    ("text", "taken", "is_"),
    [
        ("The atty Quendrith called.", "DOCTOR", "PATIENT"),
        ("Spouse Quendrith notes a new mole.", "DOCTOR", "PATIENT"),
        ("Out in April. Quendrith (dtr) drove.", "DOCTOR", "PATIENT"),
        ("Then Quendrith, 79, drove in.", "DOCTOR", "PATIENT"),
        ("The RDH Quendrith cleaned all.", "PATIENT", "DOCTOR"),
        ("This is Quendrith dictating a note.", "PATIENT", "DOCTOR"),
        ("Will see Quendrith rheum in May.", "PATIENT", "DOCTOR"),
        ("Labs to Quendrith (cards), then home.", "PATIENT", "DOCTOR"),
        ("Report given to Quendrith.", "PATIENT", "DOCTOR"),
        ("She was transferred to Quendrith on Friday.", "CITY", "HOSPITAL"),
        ("An old CT at Quendrith shows a mass.", "PATIENT", "HOSPITAL"),
        ("He works for Quendrith as a baker.", "PATIENT", "ORGANIZATION"),
        ("Refill at Quendrith Pharmacy today.", "HOSPITAL", "ORGANIZATION"),
        ("Was a bartender at the Quendrith until May.", "LOCATION-OTHER", "ORGANIZATION"),
        ("Came with her niece, Quendrith.", "CITY", "PATIENT"),
        ("Consent with reg Quendrith today.", "PATIENT", "DOCTOR"),
        ("Handover from Quendrith at eight.", "PATIENT", "DOCTOR"),
    ],
)
def test_the_words_beside_a_name_tell_its_category(text: str, taken: str, is_: str) -> None:
    part = "Quendrith Pharmacy" if "Pharmacy" in text else "Quendrith"
    assert told(text, part, taken) == is_


@pytest.mark.parametrize(
    ("text", "taken", "source"),
    [
        ("The atty Quendrith, MD called.", "DOCTOR", "model:en"),
        ("The atty Dr. Quendrith called.", "DOCTOR", "rule:name.title"),
        ("She was transferred to Quendrith, OR on Friday.", "CITY", "model:en"),
        ("Nothing tells of Quendrith here.", "PATIENT", "model:en"),
        ("Report: Quendrith is well.", "PATIENT", "model:en"),
        ("She was transferred to Quendrith LCSW on Friday.", "DOCTOR", "model:en"),
        ("She was transferred to Quendrith, CRNA on Friday.", "DOCTOR", "model:en"),
        ("She was transferred to Mrs. Quendrith on Friday.", "PATIENT", "model:en"),
        ("She was transferred to\nQuendrith on Friday.", "CITY", "model:en"),
        ("He works for Quendrith DDS as a baker.", "DOCTOR", "model:en"),
        ("He works for\nQuendrith as a baker.", "PATIENT", "model:en"),
        ("The atty\nQuendrith called.", "DOCTOR", "model:en"),
        ("The RDH\nQuendrith cleaned all.", "PATIENT", "model:en"),
        ("This is Quendrith\ndictating a note.", "PATIENT", "model:en"),
    ],
)
def test_a_title_a_credential_and_a_state_speak_first(text: str, taken: str, source: str) -> None:
    assert told(text, "Quendrith", taken, source) == taken


def test_a_ward_by_its_number_is_no_hospital() -> None:
    assert told("She was transferred to 4 Quendrith on Friday.", "4 Quendrith", "LOCATION-OTHER") == "LOCATION-OTHER"


def test_what_it_was_taken_for_before_is_told() -> None:
    text = "The RDH Quendrith cleaned all."
    (span,) = whose(RULES.scene(text), [Span(8, 17, "PATIENT", source="model:en")], lambda _: False)
    (told_of,) = told_apart([span.moved(8, 17)], [span])
    assert (told_of.category, told_of.also) == ("DOCTOR", ("PATIENT",))


def test_a_label_keeps_its_category_and_a_language_without_the_words_tells_nothing() -> None:
    text = "Der atty Quendrith rief an."
    span = Span(9, 18, "DOCTOR", source="rule:own")
    assert whose(RULES.scene(text), [span], lambda source: source == "rule:own") == [span]
    assert whose(plain_scene(text, load_lexicon("de")), [span], lambda _: False) == [span]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("54   M   310    Okeke\nTsosie, R   37   F", ["Okeke", "Tsosie"]),
        ("ET only | Chaudhry\nXiong | 55 | DCIS", ["Chaudhry", "Xiong"]),
        ("thanks, Dr. Kirkbride. Femi", ["Kirkbride", "Femi"]),
        ("a bed for Winterbottom\nRannva", ["Winterbottom", "Rannva"]),
        ("Mr. Prof. Quendrith", ["Prof. Quendrith"]),
        ("who came in last week from a long way away with Dale\nQuendrith", ["Dale\nQuendrith"]),
    ],
)
def test_a_name_ends_where_its_row_its_line_or_its_sentence_does(text: str, parts: list[str]) -> None:
    start = text.index(parts[0])
    span = Span(start, text.index(parts[-1], start) + len(parts[-1]), "DOCTOR")
    assert [text[s.start : s.end] for s in pieces(plain_scene(text, load_lexicon("en")), span)] == parts


@pytest.mark.parametrize(
    ("text", "taken", "category", "kept"),
    [
        ("Mavrogordatos, E  EDW 68", "Mavrogordatos", "PATIENT", "Mavrogordatos, E"),
        ("Treadway, B. 66M 3/2", "Treadway", "PATIENT", "Treadway, B."),
        ("Treadway, M 54", "Treadway", "PATIENT", "Treadway"),
        ("Treadway, A new rash", "Treadway", "PATIENT", "Treadway"),
        ("Treadway, X-ray", "Treadway", "PATIENT", "Treadway"),
        ("Narne Oluwaseun Adebay0\n", "Oluwaseun Adebay", "PATIENT", "Oluwaseun Adebay0"),
        ("Ins B1ue Cr0ss", "B1ue Cr", "ORGANIZATION", "B1ue Cr0ss"),
        ("page @Ramsbottom now", "@Ramsbottom", "DOCTOR", "Ramsbottom"),
        ("at 12 Quay Loop. Then", "12 Quay Loop.", "STREET", "12 Quay Loop"),
        ("by Dale Orme Jr. Then", "Dale Orme Jr.", "PATIENT", "Dale Orme Jr."),
    ],
)
def test_a_span_takes_its_initial_and_its_misread_letters_and_no_full_stop(
    text: str, taken: str, category: str, kept: str
) -> None:
    start = text.index(taken)
    (span,) = joined(text, [Span(start, start + len(taken), category)], load_lexicon("en").vocabulary)
    assert text[span.start : span.end] == kept


@pytest.mark.parametrize("category", ["PATIENT", "DATE", "IDNUM", "ROOM", "OTHER"])
@pytest.mark.parametrize("text", [" ", "\t \n", "- ", " -;.", "...", "\u00a0"])
def test_spans_of_blanks_and_signs_are_nothing(text: str, category: str) -> None:
    for before in ("", "Ann"):
        span = Span(len(before), len(before + text), category)
        assert joined(before + text, [span], load_lexicon("en").vocabulary) == []


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Time   HR   SpO2   Init\n0400   92   95     QJ\n0800   99   93     ZQR\n", ["QJ", "ZQR"]),
        ("3/14/2024\n0400   92   95     QJX\n0800   99   93     ZQR\n", ["3/14/2024", "QJX", "ZQR"]),
        # TN is a state and a neuralgia, but not under that head; what stands behind the last column is a remark
        ("Hour  BP      UFR   Staff\n0710  132/76  820   TN\n0810  110/64  400   JQP  cramps\n", ["TN", "JQP"]),
        (
            "3/14/2024\n\nwks    bp        FM    by\n8+4    106/60    9     pv\n26+4   108/64    8     jm\n",
            ["3/14/2024", "pv", "jm"],
        ),
        (
            "3/14/2024\n\ndose    hour     mg    by\n8       10       2     po\n9       12       4     iv\n",
            ["3/14/2024"],
        ),
    ],
)
def test_a_column_of_initials_is_that_of_the_staff(text: str, hidden: list[str]) -> None:
    from tests.detection.test_genres import recognizer

    assert [text[s.start : s.end] for s in recognizer().find(Document("n", text))] == hidden


def test_the_second_of_two_who_took_over_is_staff_and_a_word_behind_a_surgery_its_town() -> None:
    text = "Handed to Wendy & Quendrith. To: The Quay Surgery, Zorblat\n"
    spans = [Span(10, 15, "PATIENT", source="model:en"), Span(18, 27, "PATIENT", source="model:en")]
    start, end = text.index("The Quay"), text.index(", Zorblat")
    spans += [Span(start, end, "HOSPITAL", source="model:en"), Span(end + 2, end + 9, "DOCTOR", source="model:en")]
    found = whose(RULES.scene(text), spans, lambda _: False)
    assert [span.category for span in found] == ["DOCTOR", "DOCTOR", "HOSPITAL", "CITY"]


def test_words_of_a_name_are_read_without_the_rest_of_a_text() -> None:
    """The same as in the whole text; of what has no blank 64 characters on either side are read."""
    for text in ("Orme, Dale-Quy saw\nO'Hare Quendrith", "Orme", "a. Orme-Quy"):
        scene = plain_scene(text, load_lexicon("en"))
        for start, end in itertools.combinations(range(len(text) + 1), 2):
            span = Span(start, end, "PATIENT")
            if text[start:end].strip():
                assert name_words(text, span) == words_of_name(scene, span), text[start:end]
    (word,) = name_words("x" * 70 + "-Orme", Span(71, 75, "PATIENT"))
    assert len(word) == 64 + len("Orme")


def test_of_two_who_say_whose_a_name_is_a_model_without_scores_counts_least() -> None:
    text = "Vann came. Vann left. Vann stayed."
    starts = [0, text.index("Vann left"), text.index("Vann stayed")]
    said = [("PATIENT", "model:x", None), ("DOCTOR", "model:y", 0.05), ("PATIENT", "rule:name.word", 0.6)]
    spans = [Span(at, at + 4, c, source=by, score=sure) for at, (c, by, sure) in zip(starts, said, strict=True)]
    settled = settle_categories(spans, lambda span: name_words(text, span))
    assert [span.category for span in settled] == ["PATIENT", "DOCTOR", "DOCTOR"]
