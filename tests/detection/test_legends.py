"""Printed sheets: initials that a legend explains, heads of tables, flags, units and answers that are nobody's."""

from __future__ import annotations

from functools import cache

import pytest

from deid import Document, build_recognizer
from deid.detection import Recognizer


@cache
def recognizer() -> Recognizer:
    return build_recognizer()


def found(text: str) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.category) for s in recognizer().find(Document("n", text))]


SHEET = """amLODIPine 10 mg PO daily            QZ 0812   .        .
heparin 5000 u SC q12h               QZ 0815   .        PT 2110
QZ intact bilaterally. PT for gait.
"""


WARD = """14B | Quendrith, A. | CHF | lasix
14C | gesperrt
15.1 | Zorblat, T. | COPD | O2 2L
15.2 | Thornbury, P. | UTI | d/c
"""


def test_what_stands_before_the_patients_of_a_ward_is_a_bed() -> None:
    assert [shown for shown, category in found(WARD) if category == "ROOM"] == ["14B", "14C", "15.1", "15.2"]


@pytest.mark.parametrize(
    "text",
    [
        "1 | Quendrith, A. | CHF\n2 | Zorblat, T. | COPD\n3 | Thornbury, P. | UTI\n",  # running numbers
        "14B | CHF | lasix\n14C | COPD | O2\n15.1 | UTI | d/c\n",  # of nobody
        "14B | Quendrith, A. | CHF\n14B | Zorblat, T. | COPD\n14B | Thornbury, P. | UTI\n",  # nobody shares a bed
    ],
)
def test_other_numbers_at_the_beginnings_of_lines_are_no_beds(text: str) -> None:
    assert not [shown for shown, category in found(text) if category == "ROOM"]


def test_dots_of_a_form_hide_no_value() -> None:
    text = "1. Name ......Quendrith Zorblat......   DOB ......09/12/1966......   Age ...58...\n"
    assert found(text) == [("Quendrith Zorblat", "PATIENT"), ("09/12/1966", "DATE"), ("58", "AGE")]


@pytest.mark.parametrize(
    "legend",
    [
        "INIT   QZ = Quendrith Zorblat LPN\n",
        "Quendrith Zorblat, LPN (QZ)\n",
        "QZ: Quendrith Zorblat RN\n",
        "Nurse Quendrith Z'Orblat (QZ)\n",
    ],
)
def test_initials_are_whose_the_legend_says(legend: str) -> None:
    assert [shown for shown, _ in found(SHEET + legend)].count("QZ") >= 3


def test_without_a_legend_letters_stay() -> None:
    text = "QZ intact bilaterally. PT for gait.\nSeen by Quendrith Zorblat, LPN.\n"
    assert "QZ" not in [shown for shown, _ in found(text)]


def test_a_legend_of_other_letters_explains_nothing() -> None:
    text = "BP 120/80   AB 0812\nPage 2   AB = Quendrith Zorblat LPN\n"
    assert "AB" not in [shown for shown, _ in found(text)]


def test_an_abbreviation_of_the_language_counts_beside_figures_alone() -> None:
    text = "NS 0812 given\nNS was infused slowly.\nNS = Nathalie Stone RN\n"
    places = [s.start for s in recognizer().find(Document("n", text)) if text[s.start : s.end] == "NS"]
    assert text.index("NS was") not in places
    assert text.index("NS 0812") in places


@pytest.mark.parametrize(
    "text",
    [
        " STREET                              CITY                ST    ZIP\n",
        " NEXT OF KIN                REL      PHONE          NOTIFY\n",
        "Medication\tDose\tRoute\tGiven\tInitials\n",
        "| Drug | Dose | Route | Prescriber |\n",
        "ALT                      388       HH     5-33              U/L\n",
        "CALCIUM             7.8       H      2.4-5.7           MG/DL\n",
        "PLATELETS              61        LL*    150-400           K/UL\n",
        "INTERPRETER:  No\nEMPLOYER:  RETIRED\n",
        "Visual acuity         6/6                        6/36 ecc.\n",
        "Confirmed by Kirby-Bauer, Catherine Bergego 18, Mosteller formula.\n",
        "Seen in the Pre-Admission Clinic, then by Skilled Nursing.\n",
    ],
)
def test_heads_flags_units_and_answers_are_nobodys(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Surname/family name ........ Quendrith\n", [("Quendrith", "PATIENT")]),
        ("Patient name (PRINT)  Cordelia Thornbury\n", [("Cordelia Thornbury", "PATIENT")]),
        ("DOB (mm/dd/yyyy): 02 / 14 / 1990\n", [("02 / 14 / 1990", "DATE")]),
        ("Called to lab 04/02/25 2031, read back\n", [("04/02/25", "DATE")]),
        ("MAR   11/29/24 0700\n", [("11/29/24", "DATE")]),
        ("GDC 290417\n", [("290417", "LICENSE")]),
        ("VERIFIED BY: Cordelia Thornbury MT(ASCP)\n", [("Cordelia Thornbury", "DOCTOR")]),
    ],
)
def test_printed_fields_are_read_to_their_edges(text: str, hidden: list[tuple[str, str]]) -> None:
    assert found(text) == hidden


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Resident\tCordelia Thornbury\tDiet\tAllergies\tCode\n", "Cordelia Thornbury"),
        ("| Patient | Cordelia Thornbury | Diet | Allergies | Code |\n", "Cordelia Thornbury"),
        ("Seen by Dr. Temp today. Temp agreed.\n", "Temp"),
        ("Mrs. Day was seen.\n", "Day"),
        ("Dr. No was paged.\n", "No"),
        ("Attending: Na\n", "Na"),
    ],
)
def test_a_name_among_labels_and_one_that_is_a_label_is_found(text: str, name: str) -> None:
    assert name in [shown for shown, _ in found(text)]
