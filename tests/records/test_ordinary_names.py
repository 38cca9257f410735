"""Names and towns that are ordinary words, and words that say that nothing is known, change no code and no text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import HEAD, one

from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records import ccda, fhir
from deid.records.readings import ordinary_words, says_nothing
from deid.records.record import Record
from deid.records.tables import load_table

NAMES = ("White", "Brown", "Hand", "Young", "Long", "Grace", "May", "Bell", "King", "Reed", "Liver", "Orange")


def messages(family: str, said: str, town: str = "Boston") -> Record:
    pid = f"PID|||77120^^^X^MR||{family}^Zorvina||||||1 Quay Rd^^{town}^NY"
    lines = f"OBX|1|NM|6690-2^{said}^LN||6.1|10*3/uL\rDG1|1||R19.5^{said}^I10"
    return one(f"{HEAD}\r{pid}\r{lines}\r".encode())


def resources(family: str, said: str, town: str = "Boston") -> Record:
    patient = {"resourceType": "Patient", "id": "p", "name": [{"family": family, "given": ["Zorvina"]}]}
    code = {"coding": [{"system": "http://loinc.org", "code": "6690-2", "display": said}], "text": said}
    seen = {"resourceType": "Observation", "subject": {"reference": "Patient/p"}, "code": code}
    entries = [{"resource": {**patient, "address": [{"city": town}]}}, {"resource": seen}]
    return fhir.read(json.dumps({"resourceType": "Bundle", "entry": entries}).encode(), load_table("fhir-r4"))


def documents(family: str, said: str, town: str = "Boston") -> Record:
    patient = f"<patient><name><given>Zorvina</given><family>{family}</family></name></patient>"
    role = f'<patientRole><id extension="77120"/><addr><city>{town}</city></addr>{patient}</patientRole>'
    code = f'<code code="6690-2" codeSystem="2.16.840.1.113883.6.1" displayName="{said}"/>'
    entry = f"<entry><observation>{code}</observation></entry>"
    body = f"<component><structuredBody><component><section>{entry}</section></component></structuredBody></component>"
    text = f'<ClinicalDocument xmlns="urn:hl7-org:v3"><recordTarget>{role}</recordTarget>{body}</ClinicalDocument>'
    return ccda.read(text.encode(), text, "utf-8", load_table("ccda"))


KINDS = {"hl7v2": messages, "fhir": resources, "ccda": documents}


def scrubbed(pipeline: Pipeline, record: Record) -> str:
    written = pipeline(document(record, "d")).document.record
    assert written is not None
    return written.data.decode()


@pytest.mark.parametrize("kind", KINDS)
@given(name=st.sampled_from(NAMES), town=st.sampled_from(("Normal", "Orange", "Boston", "Liver")))
def test_what_a_code_says_stays_where_a_person_is_called_so(
    kind: str, name: str, town: str, surrogates: Pipeline
) -> None:
    said = f"{name} blood cells of normal liver, orange"
    out = scrubbed(surrogates, KINDS[kind](name, said, town))
    assert said in out
    assert f"{name}^Zorvina" not in out
    assert "Zorvina" not in out


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_beside_its_other_word_is_somebodys(kind: str, surrogates: Pipeline) -> None:
    for said in ("Panel of Zorvina White", "Panel White, Zorvina", "Panel Zorvina"):
        assert "Zorvina" not in (out := scrubbed(surrogates, KINDS[kind]("White", said)))
        assert "White" not in out


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_is_no_ordinary_word_is_found_alone(kind: str, surrogates: Pipeline) -> None:
    assert "Quillfeather" not in scrubbed(surrogates, KINDS[kind]("Quillfeather", "Quillfeather panel"))


def test_usual_names_are_no_ordinary_words() -> None:
    assert not ordinary_words() & {"smith", "garcia", "robert", "mary", "thornbury"}


@given(st.sampled_from(("UNKNOWN", "Unknown", "NONE", "SAME", "Same as above", "N/A", "PATIENT", "TEST", "REFUSED")))
def test_what_says_that_nothing_is_known_is_not_looked_for(surrogates: Pipeline, said: str) -> None:
    text = "The patient had a test of unknown cause, same as above, none refused, n/a today."
    nk1 = f"NK1|1|{said}^{said}|SPO|{said}^^{said}|{said}"
    data = f"{HEAD}\rPID|||77120^^^X^MR||{said}^Test||||||{said}^^{said}||{said}\r{nk1}\rOBX|1|TX|1^n^L||{text}\r"
    assert text in scrubbed(surrogates, one(data.encode()))


@pytest.mark.parametrize("town", ["NORMAL", "Reading", "BATH", "Orange"])
def test_an_ordinary_word_in_small_letters_is_no_town(surrogates: Pipeline, town: str) -> None:
    text = f"Reading glasses. Liver normal. An orange bath. Lives in {town.title()}, with her son."
    data = f"{HEAD}\rPID|||77120^^^X^MR||Quillfeather^Zorvina||||||1 Quay Rd^^{town}^NY\rOBX|1|TX|1^n^L||{text}\r"
    out = scrubbed(surrogates, one(data.encode()))
    assert "Reading glasses. Liver normal. An orange bath. Lives in" in out
    assert f"Lives in {town.title()}" not in out


@pytest.mark.parametrize("name", ["Self", "Blank", "Sample", "Person^"])
def test_family_names_that_say_nothing_are_names(surrogates: Pipeline, name: str) -> None:
    pid = f"PID|||77120^^^X^MR||{name}"
    new = scrubbed(surrogates, one(f"{HEAD}\r{pid}\r".encode())).split("\r")[1].split("|")[5]
    assert new.split("^")[0] != name.split("^")[0]


@pytest.mark.parametrize("name", ["Do^Sin", "Na^No", "See^An", "UNKNOWN^Zorvina", "Test^Quillfeather"])
def test_short_names_are_names(surrogates: Pipeline, name: str) -> None:
    pid = f"PID|||77120^^^X^MR||{name}"
    new = scrubbed(surrogates, one(f"{HEAD}\r{pid}\r".encode())).split("\r")[1].split("|")[5]
    assert new.split("^")[1] != name.split("^")[1]


def test_a_field_with_a_name_says_something() -> None:
    assert not any(map(says_nothing, ("Test, Eleanor", "Do^Anh", "Unknown Road 7", "UNK-77120")))
    assert all(map(says_nothing, ("Do not use", "Sans domicile fixe", "unbekannt")))


@pytest.mark.parametrize(
    "pid",
    [
        "PID|||77120^^^X^MR||-^.||||||.^^-^--^-||-|.|||||-",
        "PID|||77120^^^X^MR||TEST^PATIENT||||||UNKNOWN^^UNKNOWN||Unknown|NONE|||||REFUSED",
    ],
)
def test_signs_alone_and_what_says_nothing_are_no_identifiers(surrogates: Pipeline, pid: str) -> None:
    record = one(f"{HEAD}\r{pid}\r".encode())
    out = scrubbed(surrogates, record).split("\r")[1]
    assert out.split("|")[5:] == pid.split("|")[5:]
