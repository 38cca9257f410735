"""A question of the literature has places and months that are nobody's; one word of somebody makes them somebody's."""

from __future__ import annotations

from functools import cache

import pytest

from deid import Document, RecognizerOptions, build_recognizer
from deid.detection import Recognizer
from deid.detection.explanation import FATES
from deid.io.records import document as record_document
from deid.records.fhir import read as read_fhir
from deid.records.tables import load_table


@cache
def recognizer(language: str = "en") -> Recognizer:
    return build_recognizer(RecognizerOptions(model="none", language=language))


def found(text: str) -> list[str]:
    return [text[s.start : s.end] for s in recognizer().find(Document("q", text))]


@pytest.mark.parametrize(
    "text",
    [
        "valley fever incidence in Bakersfield",
        "what is the prevalence of lyme disease in Milwaukee?",
        "adderall shortage april 2024",
        "which vaccines are required for Nairobi",
        "valley fever incidence in Bakersfield\n",
        "is lyme disease endemic in Milwaukee?\r\n",
    ],
)
def test_a_question_about_no_individual_stays(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("valley fever incidence in Bakersfield, Maria Gonzalez", "Bakersfield"),
        ("lyme disease risk for my daughter in Milwaukee", "Milwaukee"),
        ("45 yo with valley fever from Bakersfield, treatment?", "Bakersfield"),
        ("she returned from Milwaukee with fever and rash, lyme disease?", "Milwaukee"),
        ("what is the treatment for patient from Milwaukee", "Milwaukee"),
        ("Flu vaccine given in Milwaukee.", "Milwaukee"),
        ("adderall shortage april 3 2024", "april 3 2024"),
        ("Valley fever risk in Bakersfield\nfollow up planned", "Bakersfield"),
        ("City: Bakersfield", "Bakersfield"),
        ("Bakersfield, CA", "Bakersfield"),
        ("has fever since trip to Bakersfield", "Bakersfield"),
        ("will go to Mercy Hospital for follow up", "Mercy Hospital"),
        ("valley fever exposure in Bakersfield", "Bakersfield"),
    ],
)
def test_a_text_about_somebody_keeps_its_places_hidden(text: str, hidden: str) -> None:
    assert hidden in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "what was the sample size of the sophia trial",
        "great ormond street handbook feeds calories",
        "best treatment for Graves",
        "screening of hepatitis carriers from africa",
        "when to refer QXR to a specialist",
    ],
)
def test_what_a_matter_is_named_after_is_nobodys(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("nurse wants a prn order for feldman constipation", "feldman"),
        ("pager 4417 for gi, winslow hematemesis", "winslow"),
        ("acetaminophen for kaylee at 6 h, nac?", "kaylee"),
        ("05.06.2024 ct Quendrith liver lesion", "Quendrith"),
        ("Quendrith inr 3.9 bleeding gums", "Quendrith"),
        ("has quendrith had her flu shot", "quendrith"),
        ("checked Delphine's incision again", "Delphine"),
        ("xray of jude's elbow, fat pad", "jude"),
    ],
)
def test_a_bare_name_in_a_question_is_found(text: str, name: str) -> None:
    assert any(name in part for part in found(text))


def test_a_note_of_several_sentences_is_no_question() -> None:
    assert "gaiter" not in found("Seen by Mme Thibodeaux. Ulcer: R gaiter 6 x 4. Unna boot. Again: 7 d.")


def test_a_record_is_somebodys_whatever_its_field_asks() -> None:
    resource = b'{"resourceType": "Observation", "valueString": "valley fever incidence in Bakersfield"}'
    document = record_document(read_fhir(resource, load_table("fhir-r4")))
    assert "Bakersfield" in [document.text[s.start : s.end] for s in recognizer().find(document)]


def test_what_is_nobodys_is_explained() -> None:
    told = recognizer().explain(Document("q", "valley fever incidence in Bakersfield"))
    assert {reason.fate for reason in told.loose} == {"nobodys"}
    assert "nobodys" in FATES


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("medical record number four four one nine two zero. Seen today.", "four four one nine two zero"),
        ("The c-number 29 814 552 stands on the form", "29 814 552"),
        ("Seen by John Smith, last 4 8837, for PTSD", "8837"),
        ("Pedigree: III-1 Tove, 6; II-2 well", "Tove"),
        ("Work: Lowe's, nights", "Lowe's"),
        ("Sterling Roux, MD\nab/rjk:mt\n", "ab/rjk:mt"),
    ],
)
def test_short_forms_that_no_label_list_has_are_found(text: str, hidden: str) -> None:
    assert hidden in found(text)
