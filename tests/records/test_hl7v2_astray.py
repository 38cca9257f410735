"""Messages of the wild: numbers, names and instants where the standard has something else, and forms of their own."""

from __future__ import annotations

import re

import pytest
from samples import HEAD, one

from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records import fhir
from deid.records.tables import load_table


def scrubbed(pipeline: Pipeline, *segments: str) -> list[str]:
    """Return the segments as they are written."""
    record = one(("\r".join([HEAD, *segments]) + "\r").encode())
    written = pipeline(document(record, "m")).document.record
    assert written is not None
    return written.data.decode().rstrip("\r").split("\r")[1:]


def kinds(*segments: str) -> dict[str, str]:
    """Return path -> kind, of all behind the header."""
    record = one(("\r".join([HEAD, *segments]) + "\r").encode())
    return {place.path: place.kind for place in record.places if not place.path.startswith("MSH")}


def test_a_number_is_of_the_kind_that_stands_behind_it(surrogates: Pipeline) -> None:
    found = kinds("PID|||552-41-9087^^^SSA^SS~D881^^^CA^DL~77120^^^X^MR~4402^^^X^AN")
    assert [found[path] for path in ("PID-3.1", "PID-3(2).1", "PID-3(3).1", "PID-3(4).1")] == [
        *("SSN", "LICENSE", "MEDICALRECORD", "ACCOUNT")
    ]
    pid = scrubbed(surrogates, "PID|||552-41-9087^^^SSA^SS~77120^^^X^MR||||||||||||||||552-41-9087")[0].split("|")
    assert pid[3].partition("^")[0] == pid[19] != "552-41-9087"


@pytest.mark.parametrize(
    ("value", "kind"),
    [("552-41-9087", "SSN"), ("zorvath@mail.example", "EMAIL"), ("(802)555-0148", "PHONE"), ("E-77120", "IDNUM")],
)
def test_a_number_that_has_another_shape_is_what_it_looks_like(value: str, kind: str) -> None:
    assert kinds(f"IN2|{value}|") == {"IN2-1.1": kind}
    assert kinds(f"NK1|1|||||||||{value}")["NK1-10"] == (kind if kind != "IDNUM" else "PROFESSION")


@pytest.mark.parametrize(
    "person", ["Quillfeather^Zorvina", "Quillfeather^Zorvina^B", "Quillfeather", "Quillfeather, Zorvina"]
)
def test_a_person_without_a_number_is_known_by_the_name(surrogates: Pipeline, person: str) -> None:
    note = "OBX|1|TX|1^note^L||Quillfeather was told."
    pv1, obx = scrubbed(surrogates, f"PV1||I|||||{person}", note)
    assert kinds(f"PV1||I|||||{person}")["PV1-7.1"] == "DOCTOR"
    family = pv1.split("|")[7].partition("^")[0].partition(",")[0].partition(" ")[0]
    assert family in obx
    assert "Quillfeather" not in pv1 + obx


@pytest.mark.parametrize(
    "number", ["LAB^Quillfeather", "ED^Quillfeather", "ADMINQ7^Quillfeather", "NURSE^Quillfeather^Zorvina"]
)
def test_a_word_that_is_no_name_before_a_name_is_the_number(number: str) -> None:
    assert kinds(f"PV1||I|||||{number}")["PV1-7.1"] == "IDNUM"


@pytest.mark.parametrize("kind", ["TX", "ST", "FT"])
def test_a_name_in_a_text_keeps_the_signs_of_its_components(surrogates: Pipeline, kind: str) -> None:
    pid = "PID|||77^^^X^MR||Quillfeather^Zorvina"
    text = scrubbed(surrogates, pid, f"OBX|1|{kind}|1^note^L||told Quillfeather^Zorvina at ten")[1].split("|")[5]
    assert text.count("^") == 1
    assert "\\S\\" not in text
    assert "Quill" not in text


def test_an_amount_stays_and_a_day_in_its_place_is_one() -> None:
    assert kinds("PV1" + "|" * 46 + "1250.00|120000|7") == {}
    assert kinds("PV1" + "|" * 46 + "20230308") == {"PV1-46": "DATE"}
    assert kinds("OBX|1|NM|1^count^L||20230308") == {}  # what was counted stays


def test_eight_digits_with_words_or_a_system_are_a_code() -> None:
    for code in ("20100607^Finding^SCT", "20100607^^SCT"):
        assert kinds(f"OBX|1|CWE|{code}||{code}") == {}
    assert "DATE" in kinds("OBX|1|CWE|1^x^L||A^b^L^20100607").values()


def test_what_an_error_says_is_read(surrogates: Pipeline) -> None:
    pid = "PID|||BR8812^^^X^MR||Quillfeather^Zorvina"
    segments = ("MSA|AE|1||||207^No patient BR8812^HL70357", "ERR|PID^1^3^207&Zorvina Quillfeather&HL70357|||E")
    out = "\r".join(scrubbed(surrogates, *segments, pid))
    assert "BR8812" not in out
    assert "Zorvina" not in out
    assert "^HL70357" in out


@pytest.mark.parametrize("said", ["DA^Drug Allergy", "EA^Environmental Allergy", "MC^Miscellaneous contraindication"])
def test_kinds_of_allergies_and_usual_reactions_stay(surrogates: Pipeline, said: str) -> None:
    line = f"AL1|1|{said}|70618^PENICILLIN^RXNORM|SV|HIVES~Shortness of breath"
    assert scrubbed(surrogates, "PID|||77^^^X^MR", line)[1] == line


def test_a_person_in_a_code_with_a_usual_given_name_is_no_code(surrogates: Pipeline) -> None:
    line = scrubbed(surrogates, "SCH|A|B||||||30|MIN|S1^ZORVATHY^JOAN")[0]
    assert "ZORVATHY" not in line
    assert kinds("OBX|1|NM|X1^POTASSIUM^JOAN||4").get("OBX-3.2") == "text"


def test_object_identifiers_are_those_of_other_records_and_stay_valid(surrogates: Pipeline, keeping: Pipeline) -> None:
    pid = "PID|||77^^^NFC&1.2.840.99999.2&ISO^MR~8^^^X&2.16.840.1.113883.4.7&ISO"
    number = scrubbed(surrogates, pid)[0].split("&")[1]
    other = fhir.read(
        b'{"resourceType":"Patient","identifier":[{"system":"urn:oid:1.2.840.99999.2"}]}', load_table("fhir-r4")
    )
    written = surrogates(document(other, "p")).document.record
    assert written is not None
    assert f'"urn:oid:{number}"' in written.data.decode()
    assert re.fullmatch(r"2\.25\.[1-9][0-9]{0,38}", number)
    assert "&2.16.840.1.113883.4.7&ISO" in scrubbed(surrogates, pid)[0]
    assert scrubbed(keeping, pid) == [pid]


@pytest.mark.parametrize("policy", ["surrogates", "hiding"])
@pytest.mark.parametrize(
    ("value", "unit", "new"),
    [("93", "a^year^UCUM", "90"), ("93", "yrs", "90"), ("89", "a", "89"), ("93", "mg/dL", "93"), ("93", "", "93")],
)
def test_an_age_that_identifies_is_the_least_of_them(
    policy: str, value: str, unit: str, new: str, request: pytest.FixtureRequest
) -> None:
    line = scrubbed(request.getfixturevalue(policy), f"OBX|1|NM|30525-0^Age^LN||{value}|{unit}|||||F")[0]
    assert line == f"OBX|1|NM|30525-0^Age^LN||{new}|{unit}|||||F"


@pytest.mark.parametrize("person", ["SCHED1^LINDENTHAL^PRUDENZIA", "9921^Zorvathy^Quillian"])
def test_words_where_only_codes_belong_are_a_persons(surrogates: Pipeline, person: str) -> None:
    line = scrubbed(surrogates, f"SCH|A|B|||||||30|MIN|{person}")[0]
    assert not any(word in line for word in person.split("^"))
    timing = "1^BID^X7^20240102^20240109^R^once weekly"
    assert scrubbed(surrogates, "PID|||77^^^X^MR", f"OBR|1{'|' * 26}{timing}")[1].split("|")[27].startswith("1^BID^X7^")


@pytest.mark.parametrize(
    ("said", "codec"), [("UTF8", "utf-8"), ("utf-8", "utf-8"), ("ISO-8859-1", "latin-1"), ("WINDOWS-1252", "cp1252")]
)
def test_a_character_set_by_the_name_of_another_standard(surrogates: Pipeline, said: str, codec: str) -> None:
    lines = (f"{HEAD}||||||{said}", "PID|1||77^^^X^MR||Mueller-Brück^Jürg", "NTE|1|L|Größe 170 cm", "")
    written = surrogates(document(one("\r".join(lines).encode(codec)), "m")).document.record
    assert written is not None
    assert "Größe 170 cm" in written.data.decode(codec)
    assert "Brück".encode(codec) not in written.data
