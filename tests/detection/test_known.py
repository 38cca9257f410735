"""Known identifiers in all the forms in which notes write them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.detection.known import Known, KnownRecognizer, known_from_rows, one_apart, soundex
from deid.detection.options import PeopleOptions
from deid.document import Document, Span
from deid.records.record import Owners, Record

PERSON = (
    Known("PATIENT", "Robert Q. Wexler-Long"),
    Known("DATE", "1960-03-04"),
    Known("MEDICALRECORD", "00123456"),
    Known("PHONE", "617-555-0143"),
    Known("CITY", "New Haven"),
    Known("AGE", "61"),
)
RECOGNIZER = KnownRecognizer({"p1": PERSON}, id_of=lambda d: d.metadata.get("patient"))


def found(text: str, patient: str | None = "p1") -> list[str]:
    return [text[s.start : s.end] for s in RECOGNIZER.find(Document("n", text, metadata={"patient": patient}))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wexler came.", ["Wexler"]),
        ("ROBERT WEXLER-LONG", ["ROBERT", "WEXLER-LONG"]),
        ("saw wexler today", ["wexler"]),
        ("R. Wexler; Wexler, R", ["R. Wexler", "Wexler, R"]),
        ("Bob is here", ["Bob"]),
        ("Ward 3: bob, wexlar", []),
        ("Mr. Wexlar and Weksler", ["Wexlar"]),
        ("Long QT, long wait, Mr. Long", ["Long", "Long"]),
        ("3/4/60, 03-04-1960, 1960.03.04, 19600304", ["3/4/60", "03-04-1960", "1960.03.04", "19600304"]),
        ("March 4, 1960; 4th of March 1960; 04-MAR-60", ["March 4, 1960", "4th of March 1960", "04-MAR-60"]),
        ("seen 3/4 and 3/5/60", ["3/4"]),
        ("MRN 123456, 00-123-456, 1234567", ["123456", "00-123-456"]),
        ("robert long wexler rose long ago", ["robert", "long", "wexler"]),
        ("call (617) 555 0143 or 6175550143", ["(617) 555 0143", "6175550143"]),
        ("from NEW  HAVEN", ["NEW  HAVEN"]),
        ("61 years, 61 mg", ["61"]),
        ("Foley and Parkinson", []),
        ("phone ending in 0143, x-0143, xxx-xx-3456, **3456", ["0143", "3456", "3456"]),
        ("room 0143, last 4 of MRN 3456, for the last 3456 mg", ["3456"]),
        ("rwexler, rwexler84, wexlerism, zwexler", ["rwexler", "rwexler84"]),
    ],
)
def test_forms(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "card ending in 3456, dose 3456"),
        ("de", "Versicherungsnummer endet auf 3456, Dosis 3456"),
        ("es", "tarjeta terminada en 3456, dosis 3456"),
        ("fr", "numéro se terminant par 3456, dose 3456"),
        ("nl", "nummer eindigend op 3456, dosis 3456"),
    ],
)
def test_the_last_digits_of_a_number_are_found_where_the_language_says_so(language: str, text: str) -> None:
    recognizer = KnownRecognizer({"n": (Known("MEDICALRECORD", "00123456"),)}, language=language)
    assert [(s.start, s.end) for s in recognizer.find(Document("n", text))] == [
        (text.index("3456"), text.index("3456") + 4)
    ]


def test_a_street_goes_with_its_house_where_the_number_is_known_apart() -> None:
    recognizer = KnownRecognizer({"n": (Known("STREET", "Grünweg"),)})
    text = "wohnhaft Grünweg 59, 12 Grünweg, Grünweg 7b/Grünweg"
    spans = recognizer.find(Document("n", text))
    assert [text[s.start : s.end] for s in spans] == ["Grünweg 59", "12 Grünweg", "Grünweg 7b", "Grünweg"]


_PEOPLE = ("Vance, Eleanor G", "Thornbury, Robert", "Jan Rose", "Anne-Marie O'Neill", "Müller, Will", "Lee, J", "Marie")
_WORDS = [
    "Vance",
    "vance",
    "VANCE",
    "Rose",
    "rose",
    "Thornbery",
    "Bob",
    "Will",
    "will",
    "jan",
    "anne-marie",
    "Anne-Marie",
    "Marie",
    "O'Neill",
    "oneill",
    "Müller",
    "muller",
    "Lee",
    "lee",
    "J.",
    ",",
    "the",
    "on",
    "K",
    "ß",
    "Thornbury-Vance",
    "Elli",
]


@given(
    st.lists(st.sampled_from(_WORDS), max_size=20).map(" ".join),
    st.lists(st.sampled_from(_PEOPLE), max_size=4, unique=True),
)
def test_each_name_is_found_as_if_it_were_alone(text: str, names: list[str]) -> None:
    def spans(*looked_for: str) -> set[Span]:
        known = tuple(Known("PATIENT", name) for name in looked_for)
        return set(KnownRecognizer({"n": known}).find(Document("n", text)))

    assert spans(*names) == set().union(*map(spans, names))


def test_only_the_own_person_is_looked_for() -> None:
    assert found("Wexler, MRN 123456", "p2") == []
    assert found("Wexler, MRN 123456", None) == []


def test_metadata_of_the_record_is_known_too() -> None:
    recognizer = KnownRecognizer(fields={"name": "PATIENT", "mrn": "MEDICALRECORD"})
    document = Document("n", "Quill (77120)", metadata={"name": "Quill, Ann", "mrn": 77120, "other": None})
    assert [(s.category, s.start) for s in recognizer.find(document)] == [("PATIENT", 0), ("MEDICALRECORD", 7)]
    assert recognizer.categories == {"PATIENT", "MEDICALRECORD"}
    record = Record(b"", known=(("PATIENT", "Vexpo, Al"), ("PHONE", "617-555-0143")))
    document = Document("n", "Vexpo, 6175550143. Quill", metadata={"name": "Quill"}, record=record)
    assert sorted(s.start for s in recognizer.find(document)) == [0, 7, 19]


@pytest.mark.parametrize("value", [None, "", "  ", ["Quendrith"], {"a": "Quendrith"}, True, 0.5])
def test_metadata_that_hold_no_value_are_no_names(value: object) -> None:
    known = KnownRecognizer(fields={"name": "PATIENT"})
    assert known.find(Document("n", "None came, and Quendrith.", metadata={"name": value})) == []


def test_all_of_whom_a_record_of_several_patients_is_about_are_looked_for() -> None:
    known = {"p1": PERSON, "p2": (Known("PATIENT", "Ann Quill"),), "p3": (Known("PATIENT", "Al Vexpo"),)}
    recognizer = KnownRecognizer(known, id_of=lambda d: d.metadata.get("patient"))
    record = Record(b"", whose=Owners(("p1", None, "p2", "unknown", "p2"), {}))
    document = Document("n", "Wexler, Quill, Vexpo.", metadata={"patient": "p1"}, record=record)
    assert [document.text[s.start : s.end] for s in recognizer.find(document)] == ["Wexler", "Quill"]


@pytest.mark.parametrize("value", ["unknown", "same", "n/a", "-"])
def test_what_stands_in_place_of_a_telephone_number_is_none(value: str) -> None:
    recognizer = KnownRecognizer({"n": (Known("PHONE", value), Known("EMAIL", value))})
    assert recognizer.find(Document("n", "unknown cause, same as before, n/a - see above")) == []


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"known_column": ("mrn=MEDICALRECORD",)}, "without --known"),
        ({"known_column": ("mrn",), "known": Path("k.csv")}, "mrn is not of the form NAME=MEANING"),
        ({"patient_pattern": "("}, "--patient-pattern is no regular expression"),
        ({"patient_text": "["}, "--patient-text is no regular expression"),
    ],
)
def test_options_of_people_that_cannot_be_meant_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        PeopleOptions(**options)


@pytest.mark.parametrize("told", ["patients", "patient_field", "patient_pattern", "patient_text"])
def test_who_is_known_must_be_told_of_each_document(told: str) -> None:
    assert PeopleOptions(known=Path("k.csv")).whose_is_untold
    assert not PeopleOptions(known=Path("k.csv"), **{told: "x"}).whose_is_untold
    assert not PeopleOptions().whose_is_untold


def test_rows_add_up_and_empty_cells_are_skipped() -> None:
    rows = [{"id": 7, "name": "Quill", "dob": ""}, {"id": "7", "name": "Ann", "dob": None}]
    assert known_from_rows(rows, {"name": "PATIENT", "dob": "DATE"}, "id") == {
        "7": (Known("PATIENT", "Quill"), Known("PATIENT", "Ann"))
    }


def test_wrong_tables_are_refused_without_showing_values() -> None:
    with pytest.raises(ConfigError, match="unknown category NAME") as error:
        known_from_rows([], {"Jane Doe": "NAME"}, "id")
    assert "Jane" not in str(error.value)
    with pytest.raises(ConfigError, match="row 2: a row without an id"):
        known_from_rows([{"id": "1"}, {"name": "Quill"}], {"name": "PATIENT"}, "id")


def test_a_repr_shows_no_value() -> None:
    assert "Wexler" not in repr(PERSON[0])
    assert "Wexler" not in repr(RECOGNIZER)


@pytest.mark.parametrize(
    ("name", "code"),
    [("Robert", "R163"), ("Rubin", "R150"), ("Ashcraft", "A261"), ("Tymczak", "T522"), ("Pfister", "P236"), ("", "")],
)
def test_soundex(name: str, code: str) -> None:
    """The examples of the US National Archives."""
    assert soundex(name) == code


def test_words_are_one_apart_when_one_edit_leads_from_one_to_the_other() -> None:
    """Against all edits of all words of up to four letters."""
    words = ["".join(own) for size in range(5) for own in itertools.product("abc", repeat=size)]
    for word in words:
        cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
        edited = {word}
        edited |= {a + c + b for a, b in cuts for c in "abc"} | {a + b[1:] for a, b in cuts if b}
        edited |= {a + c + b[1:] for a, b in cuts if b for c in "abc"}
        edited |= {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
        assert {other for other in words if one_apart(word, other)} == edited & set(words), word


@pytest.mark.parametrize(
    ("town", "text", "found"),
    [
        ("Orange", "lives in orange, with her son.", ["orange"]),
        ("Orange", "Lives in Orange. An orange bath.", ["Orange"]),
        ("Grand Valley", "Moved to grand valley.", ["grand valley"]),
        ("Normal", "Normal liver. Moved to Normal.", ["Normal"]),
    ],
)
def test_a_town_that_is_an_ordinary_word(town: str, text: str, found: list[str]) -> None:
    """Small letters tell it where the note has others, and it is one word; so does the beginning of a sentence."""
    recognizer = KnownRecognizer({"n": (Known("CITY", town),)})
    assert sorted({text[s.start : s.end] for s in recognizer.find(Document("n", text))}) == found


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("en", "March 12, 1929"), ("en", "12 Mar '29"), ("en", "3/12/29"), ("en", "12.03.1929"), ("en", "19290312"),
        ("de", "12. März 1929"), ("de", "12. Mrz. 29"), ("de", "12.3.29"), ("de", "12. III. 1929"), ("de", "12.III.29"),
        ("fr", "12 mars 1929"), ("fr", "12-03-29"), ("nl", "12 maart 1929"), ("nl", "12-3-'29"),
        ("es", "12 de marzo de 1929"), ("es", "12-III-1929"),
    ],
)  # fmt: skip
def test_a_known_date_is_found_however_it_is_written(language: str, written: str) -> None:
    known = KnownRecognizer({"d": (Known("DATE", "1929-03-12"),)}, language=language)
    text = f"x {written} y"
    assert [text[s.start : s.end] for s in known.find(Document("d", text))] == [written]
    other = text.replace("12", "13").replace("29", "28")
    assert known.find(Document("d", other)) == []


@pytest.mark.parametrize(
    ("category", "value", "text", "expected"),
    [
        ("PATIENT", "Thornbury, Robert Q", "Thornbery Tornbury Thornberry-X", ["Thornbery", "Tornbury"]),
        ("PATIENT", "Thornbury, Robert Q", "Q. Thornbury; X. Thornbury", ["Q. Thornbury", "Thornbury"]),
        ("PATIENT", "Thornbury, Robert Q", "r. Thornbury; Thornbury, r", ["Thornbury", "Thornbury"]),
        ("PATIENT", "Thornbury, Robert Q", "Thornbury  R; Thornbury   R", ["Thornbury  R", "Thornbury"]),
        ("PATIENT", "Thornbury, Robert Q", "R  Thornbury; R   Thornbury", ["R  Thornbury", "Thornbury"]),
        ("PATIENT", "Thornbury, Robert Q", "Q.  Thornbury; Thornbury, Q; Thornbury,   Q", ["Thornbury", "Thornbury, Q",
                                                                                          "Thornbury"]),
        ("PATIENT", "Thornbury, Robert Q", "Bob, Rob, Bobby, bob, Bo", ["Bob", "Rob", "Bobby"]),
        ("PATIENT", "Thornbury, Robert Q", "rthornbury@x.example", []),
        ("PATIENT", "Rose, Ann", "rose rose. Rose fell. A Rose", ["Rose", "A Rose"]),
        ("PATIENT", "Rose, Ann", "Ann rose early", ["Ann", "rose"]),
        ("PATIENT", "Rose, Ann", "Ann and then also rose", ["Ann"]),
        ("PATIENT", "Lee, J", "Lee Leo Lea lee", ["Lee"]),
        ("PATIENT", "Roberts", "Robertz Roverts Robertson", ["Robertz", "Roverts"]),
        ("PATIENT", "Vance", "Vanse Vane Vances", ["Vanse"]),
        ("PATIENT", "Smith-Jones, Ann", "Smith-Ann Jones-Smith Smith-Orme", ["Smith-Ann", "Jones-Smith"]),
        ("USERNAME", "rthorn", "rthorn RTHORN rthorns rthorn2", ["rthorn", "RTHORN"]),
        ("MEDICALRECORD", "00123456", "0123456 000123456 1 2 3 4 5 6 x123456", ["0123456", "1 2 3 4 5 6"]),
        ("MEDICALRECORD", "123", "123 1234 0123", []),
        ("MEDICALRECORD", "1234", "01234 12.34 12--34 12---34", ["12.34", "12--34"]),
        ("MEDICALRECORD", "AB1234", "ab1234 AB-1234 AB 12 34", ["ab1234", "AB-1234", "AB 12 34"]),
        ("MEDICALRECORD", "123456", "ending in 3456", []),
        ("PHONE", "617-555-0143", "617  555  0143 617   555   0143", ["617  555  0143"]),
        ("PHONE", "555-0143", "555 0143 5550143 1-555-0143", ["555 0143", "5550143", "555-0143"]),
        ("EMAIL", "ann@orme.example", "ann@orme.example ANN@ORME.EXAMPLE xann@orme.example", ["ann@orme.example",
                                                                                            "ANN@ORME.EXAMPLE"]),
        ("URL", "orme.example/a", "see orme.example/a", ["orme.example/a"]),
        ("STREET", "12 Grun Road", "12  grun  road 12, Grun Road 12 Grun Roads", ["12  grun  road", "12, Grun Road"]),
        ("STREET", "Grun Road", "Grun Road 7b 1 Grun Road, 44", ["Grun Road 7b", "1 Grun Road, 44"]),
        ("CITY", "New Haven", "new haven New-Haven New  - Haven", ["new haven", "New-Haven"]),
        ("CITY", "Grünau", "grünau GRÜNAU Grunau Grünaus", ["grünau", "GRÜNAU"]),
        ("CITY", "Weiſsenau", "Weissenau WEISSENAU Weisenau", ["Weissenau", "WEISSENAU"]),
        ("CITY", "Weissenau", "Weiſsenau Weiſenau", ["Weiſsenau"]),
        ("HOSPITAL", "Mercy", "mercy Mercy Mercys", ["mercy", "Mercy"]),
        ("AGE", "61", "61-year-old, 61 mg, 161 years, 6.61 years", ["61"]),
        ("AGE", "sixty", "sixty sixtyish", ["sixty"]),
        ("DATE", "1960-03-04", "4/3/60 4/3 3.4.1960 13/4/60", ["4/3/60", "3.4.1960"]),
        ("DATE", "1960-03-04", "x3/4/60 3/4/60x -3/4/60 3/4/60-1 3/4/60.", ["3/4/60"]),
        ("DATE", "1960-03-04", "03041960 1960/3/4 3/4/61", ["03041960", "1960/3/4"]),
        ("DATE", "03/04/1960", "March 4, 1960", ["March 4, 1960"]),
        ("DATE", "1960-03-04T10:00", "March 4, 1960", ["March 4, 1960"]),
        ("DATE", "19600304", "March 4, 1960", ["March 4, 1960"]),
        ("DATE", "1960-13-04", "1960-13-04", ["1960-13-04"]),
    ],
)  # fmt: skip
def test_each_known_value_is_found_in_its_forms_and_in_no_other(
    category: str, value: str, text: str, expected: list[str]
) -> None:
    spans = KnownRecognizer({"n": (Known(category, value),)}).find(Document("n", text))
    assert [text[s.start : s.end] for s in spans if s.category == category] == expected


@pytest.mark.parametrize(
    ("family", "written"),
    [("Quimby", "jquimby84"), ("O'Brien", "jobrien84"), ("Müller", "jmuller84"), ("Thornbury", "thornbury_2")],
)
@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_user_name_is_found_however_often_the_name_itself_stands_beside_it(
    family: str, written: str, times: int
) -> None:
    """A name is written otherwise than within a user name where it has an apostrophe or an accent."""
    text = f"{' and '.join([family] * times)}: wrote as {written} today, {family.lower()}."
    spans = KnownRecognizer({"n": (Known("PATIENT", f"Jan {family}"),)}).find(Document("n", text))
    assert [text[s.start : s.end] for s in spans if s.category == "USERNAME"] == [written]


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("傅, 鎮宇", "患者傅鎮宇於今日入院，傅先生情況穩定，傅立葉轉換", ["傅鎮宇", "鎮宇", "傅"]),
        ("桜庭, 佳乃", "桜庭佳乃様は本日来院。桜庭様の母", ["桜庭佳乃", "桜庭"]),
        ("김, 철수", "환자 김철수는 오늘 입원, 김 씨", ["김철수", "김"]),
    ],
)
def test_a_name_in_signs_is_found_where_no_blank_parts_it_from_other_words(
    name: str, text: str, names: list[str]
) -> None:
    spans = KnownRecognizer({"p": (Known("PATIENT", name),)}).find(Document("p", text))
    found = {text[span.start : span.end] for span in spans}
    assert found <= {*names, *("".join(name.split(", ")), name.partition(", ")[2])}
    assert {*names[:1], *names[-1:]} <= found
