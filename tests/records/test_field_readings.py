"""A field's category is kept by no policy for what has no reading as one, in all records with fields."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from samples import KEY, message, one

from deid.base.resources import resource_folder
from deid.detection.known import KnownRecognizer
from deid.document import Document, Span
from deid.io.records import document
from deid.phi import CATEGORIES
from deid.pipeline import Pipeline
from deid.pipeline.core import Settings
from deid.records import ccda, fhir
from deid.records.readings import read_as
from deid.records.record import Record
from deid.records.tables import load_table
from deid.replacement.policy import load_policy

SHIPPED = sorted(path.stem for path in (resource_folder("dictionaries") / "policies").glob("*.toml"))
POLICIES = [name for name in SHIPPED if name != "statistical"]
"""All that need no table of an anonymized release."""
STRAYS = (
    "552-12-3344",
    "(617) 555-0147",
    "joan@alder.example",
    "MRN 8812345",
    "Quillfeather, Joan",
    "KV-88123-45",
    "552123344",
)
FIELDS = ("date", "city", "state", "zip", "country")


class Nothing:
    """Finds nothing: what is replaced, a field says."""

    name = "nothing"
    categories = frozenset(CATEGORIES)

    def find(self, document: Document) -> list[Span]:
        return []


class KnownOf(Nothing):
    """Finds what a table's columns say."""

    def __init__(self, fields: dict[str, str]) -> None:
        self.find = KnownRecognizer(fields=fields).find  # type: ignore[method-assign]


def of_hl7(said: dict[str, str], named: str = "") -> Record:
    address = "^".join(["", "", said["city"], said["state"], said["zip"], said["country"]])
    return one(message(f"PID|1||123456^^^HOSP^MR||{named}^Ann||{said['date']}||||{address}"))


def of_fhir(said: dict[str, str], named: str = "") -> Record:
    names = {"city": "city", "state": "state", "zip": "postalCode", "country": "country"}
    address = {names[name]: value for name, value in said.items() if name in names}
    patient = {"resourceType": "Patient", "id": "a", "birthDate": said["date"], "address": [address]}
    patient |= {"name": [{"family": named, "given": ["Ann"]}]} if named else {}
    return fhir.read(json.dumps(patient).encode(), load_table("fhir-r4"))


def of_ccda(said: dict[str, str], named: str = "") -> Record:
    names = {"city": "city", "state": "state", "zip": "postalCode", "country": "country"}
    address = "".join(f"<{names[n]}>{value}</{names[n]}>" for n, value in said.items() if n in names)
    person = f"<addr>{address}</addr><patient><name><given>Ann</given><family>{named}</family></name>"
    person += f"<birthTime value='{said['date']}'/></patient>"
    target = f"<recordTarget><patientRole>{person}</patientRole></recordTarget>"
    source = f"<ClinicalDocument xmlns='urn:hl7-org:v3'>{target}</ClinicalDocument>"
    return ccda.read(source.encode(), source, "utf-8", load_table("ccda"))


READERS: dict[str, Callable[..., Record]] = {"hl7v2": of_hl7, "fhir": of_fhir, "ccda": of_ccda}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("standard", READERS)
def test_no_policy_keeps_what_stands_in_a_wrong_field(standard: str, policy: str) -> None:
    pipeline = Pipeline(Nothing(), load_policy(policy), KEY, Settings())
    for start, _ in enumerate(STRAYS):  # each stray value in each field
        said = {name: STRAYS[(start + n) % len(STRAYS)] for n, name in enumerate(FIELDS)}
        written = pipeline(document(READERS[standard](said), "d")).document.record
        assert written is not None
        for name, value in said.items():
            plain = value.removeprefix("MRN ")
            assert plain not in written.data.decode(), (name, value)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_keeps_what_a_tables_column_of_towns_holds_beside_towns(policy: str) -> None:
    cells = {"city": "Quillfeather Joan", "zip": "552123344"}
    pipeline = Pipeline(KnownOf({"city": "CITY", "zip": "ZIP"}), load_policy(policy), KEY, Settings())
    written = pipeline(Document("d", "Moved from Quillfeather Joan to 552123344.", metadata=cells)).document.text
    assert "Quillfeather" not in written
    assert "552" not in written


@pytest.mark.parametrize("standard", READERS)
def test_towns_stay_in_a_limited_data_set_and_become_towns_else(standard: str) -> None:
    said = {"date": "19470619", "city": "St. Louis", "state": "MO", "zip": "63101-1234", "country": "USA"}
    kept = Pipeline(Nothing(), load_policy("limited-data-set"), KEY, Settings())
    written = kept(document(READERS[standard](said), "d")).document.record
    assert written is not None
    assert all(value in written.data.decode() for name, value in said.items() if name != "date")
    unlisted = document(READERS[standard]({**said, "city": "Teec Nos Pos"}), "d")
    assert unlisted.record is not None
    found = unlisted.record.spans()
    assert {span.category for span in found if "Teec" in unlisted.text[span.start : span.end]} == {"CITY"}


@pytest.mark.parametrize(
    ("category", "values"),
    [
        ("DATE", "1947 1947-06 1947-06-19 19470619 194706191130 20240312094500.123-0500 2024-03-12T09:45:00Z 00000000"),
        ("DATE", "6/19/47|19.06.1947|19 June 1947|Jun 19, 1947 9:30 am|Mon 3 May 2021|3rd of May 2021|99991231"),
        ("ZIP", "05663 05663-1234 056631234 1010 H71_XY29 NR21_0JG J1H_5C3 3317_DB 38-440 1234-567 D-48329 SW1A"),
        ("STATE", "VT Vermont vermont NSW NY New_York Bayern US-NY"),
        ("COUNTRY", "USA US United_States Germany Deutschland CHE"),
        ("CITY", "Boston|Teec Nos Pos|St. John's|Wells-next-the-Sea|Paris 7"),
    ],
)
def test_what_reads_as_the_field_says_keeps_its_category(category: str, values: str) -> None:
    for value in values.split("|") if "|" in values else values.split():
        assert read_as(category, value.replace("_", " ")) == category, value


@pytest.mark.parametrize(
    ("category", "value", "read"),
    [
        ("DATE", "47112199", "IDNUM"),
        ("DATE", "12-345-6789", "IDNUM"),
        ("DATE", "Thornbury", "IDNUM"),
        ("DATE", "617-555-0147", "PHONE"),
        ("ZIP", "4711219", "IDNUM"),
        ("STATE", "Norfolk County", "LOCATION-OTHER"),
        ("COUNTRY", "Thornbury", "LOCATION-OTHER"),
        ("CITY", "Ward 4712", "IDNUM"),
        ("PATIENT", "4711219", "PATIENT"),
    ],
)
def test_what_does_not_has_another(category: str, value: str, read: str) -> None:
    assert read_as(category, value) == read


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("standard", READERS)
@pytest.mark.parametrize("field", ["city", "state", "country"])
def test_what_somebody_in_the_record_is_called_stays_in_no_field_of_places(
    standard: str, policy: str, field: str
) -> None:
    """*Thornbury* and *Jordan* are a town and a country, too."""
    name = {"city": "Thornbury", "state": "Montana", "country": "Jordan"}[field]
    said = {"date": "19470619", "city": "Boston", "state": "VT", "zip": "05401", "country": "Canada"} | {field: name}
    pipeline = Pipeline(Nothing(), load_policy(policy), KEY, Settings())
    written = pipeline(document(READERS[standard](said, named=name), "d")).document.record
    assert written is not None
    assert name.encode() not in written.data
    written = pipeline(document(READERS[standard](said, named="Quillfeather"), "d")).document.record
    kept = load_policy(policy).rule(field.upper(), {}).operator == "keep"
    assert written is not None
    assert (name.encode() in written.data) is kept
