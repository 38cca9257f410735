"""Resources of FHIR: what they measure, dose and order stays, and all that leads elsewhere still does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.fhir import read
from deid.records.tables import load_table

TABLE = load_table("fhir-r4")
PATIENT = {"reference": "Patient/p-7712093"}
STUDY = "1.2.840.113619.2.55.3.604688119.971"


def scrubbed(pipeline: Pipeline, resource: Any) -> Any:
    written = pipeline(document(read(json.dumps(resource).encode(), TABLE), "d")).document.record
    assert written is not None
    return json.loads(written.data)


AMOUNT = {"value": 1.50, "unit": "mg", "system": "http://unitsofmeasure.org", "code": "mg"}
DOSAGE = {
    "sequence": 1,
    "timing": {
        "repeat": {
            "boundsDuration": {"value": 10, "unit": "d", "system": "http://unitsofmeasure.org", "code": "d"},
            "count": 3,
            "frequency": 2,
            "period": 1.5,
            "periodUnit": "d",
            "dayOfWeek": ["mon", "thu"],
            "timeOfDay": ["08:00:00"],
            "when": ["ACM"],
            "offset": 30,
        }
    },
    "asNeededBoolean": True,
    "doseAndRate": [
        {
            "type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/dose-rate-type", "code": "ordered"}]},
            "doseRange": {"low": AMOUNT, "high": AMOUNT},
            "rateRatio": {"numerator": AMOUNT, "denominator": {"value": 1, "code": "h"}},
        }
    ],
    "maxDosePerPeriod": {"numerator": AMOUNT, "denominator": AMOUNT},
}


@pytest.mark.parametrize(
    ("resource", "element"),
    [
        ("MedicationRequest", "dosageInstruction"),
        ("MedicationStatement", "dosage"),
        ("MedicationDispense", "dosageInstruction"),
    ],
)
def test_doses_and_schedules_stay(surrogates: Pipeline, resource: str, element: str) -> None:
    said = {"resourceType": resource, "status": "active", "subject": PATIENT, element: [DOSAGE]}
    assert scrubbed(surrogates, said)[element] == [DOSAGE]


@pytest.mark.parametrize("schedule", ["oralDiet", "supplement"])
def test_schedules_of_food_stay(surrogates: Pipeline, schedule: str) -> None:
    diet = {"schedule": [{"repeat": DOSAGE["timing"]["repeat"]}]}  # type: ignore[index]
    diet = diet if schedule == "oralDiet" else [diet]  # type: ignore[assignment]
    said = {"resourceType": "NutritionOrder", "patient": PATIENT, schedule: diet}
    assert scrubbed(surrogates, said)[schedule] == diet


def test_hours_of_an_office_stay(surrogates: Pipeline) -> None:
    hours = {"availableTime": [{"daysOfWeek": ["mon"], "allDay": False, "availableStartTime": "08:00:00"}]}
    said = {"resourceType": "PractitionerRole", "id": "r", "availability": [hours]}
    assert scrubbed(surrogates, said)["availability"] == [hours]


@pytest.mark.parametrize(
    "kind", ["text/plain; charset=utf-8", "text/plain;charset=UTF-8", "application/fhir+json; fhirVersion=4.0"]
)
def test_the_type_of_a_document_stays_with_its_character_set(surrogates: Pipeline, kind: str) -> None:
    said = {"resourceType": "DocumentReference", "subject": PATIENT, "content": [{"attachment": {"contentType": kind}}]}
    assert scrubbed(surrogates, said)["content"][0]["attachment"]["contentType"] == kind


@given(st.sampled_from(["200 OK", "201 Created", "204 No Content", "404 Not Found", "412 Precondition Failed"]))
def test_what_a_server_answered_stays(surrogates: Pipeline, status: str) -> None:
    patient = {"resourceType": "Patient", "id": "p-7712093", "identifier": [{"value": "200"}]}
    bundle = {
        "resourceType": "Bundle",
        "type": "batch-response",
        "entry": [{"resource": patient, "response": {"status": status}}],
    }
    assert scrubbed(surrogates, bundle)["entry"][0]["response"]["status"] == status


def test_a_status_that_names_somebody_does_not_stay(surrogates: Pipeline) -> None:
    entry = {"response": {"status": "404 Patient Quillfeather, Zorvath 552-12-3344"}}
    assert "552-12-3344" not in json.dumps(scrubbed(surrogates, {"resourceType": "Bundle", "entry": [entry]}))


@pytest.mark.parametrize("before", ["", "https://ehr.northfield.example/fhir/"])
def test_a_document_elsewhere_is_where_its_resource_is(surrogates: Pipeline, before: str) -> None:
    binary = {"resourceType": "Binary", "id": "b-7712093", "contentType": "text/plain", "securityContext": PATIENT}
    said = {"resourceType": "DocumentReference", "subject": PATIENT}
    said["content"] = [{"attachment": {"url": f"{before}Binary/b-7712093"}}]  # type: ignore[assignment]
    url = scrubbed(surrogates, said)["content"][0]["attachment"]["url"]
    assert url.endswith(f"Binary/{scrubbed(surrogates, binary)['id']}")
    assert "northfield" not in url


@pytest.mark.parametrize("version", ["", "|2.0.1", "#part"])
def test_a_questionnaire_is_found_by_its_answers(surrogates: Pipeline, version: str) -> None:
    new = scrubbed(surrogates, {"resourceType": "Questionnaire", "id": "intake-99"})["id"]
    said = {
        "resourceType": "QuestionnaireResponse",
        "subject": PATIENT,
        "questionnaire": f"Questionnaire/intake-99{version}",
    }
    assert scrubbed(surrogates, said)["questionnaire"].startswith(f"Questionnaire/{new}")


def test_object_identifiers_stay_valid_and_the_same_wherever_they_stand(surrogates: Pipeline) -> None:
    study = {
        "resourceType": "ImagingStudy",
        "subject": PATIENT,
        "identifier": [{"system": "urn:dicom:uid", "value": f"urn:oid:{STUDY}"}],
        "series": [{"uid": STUDY, "instance": [{"uid": f"{STUDY}.1"}]}],
    }
    said = {"resourceType": "DocumentReference", "subject": PATIENT, "masterIdentifier": {"value": f"urn:oid:{STUDY}"}}
    said["relatesTo"] = [{"target": {"reference": f"urn:oid:{STUDY}"}}]  # type: ignore[assignment]
    out = scrubbed(surrogates, study)
    new = out["series"][0]["uid"]
    assert re.fullmatch(r"2\.25\.[1-9][0-9]{0,38}", new), new
    assert out["identifier"][0]["value"] == f"urn:oid:{new}"
    assert out["series"][0]["instance"][0]["uid"] != new
    other = scrubbed(surrogates, said)
    assert other["masterIdentifier"]["value"] == other["relatesTo"][0]["target"]["reference"] == f"urn:oid:{new}"


@pytest.mark.parametrize("number", ["1.800.555.0199", "urn:oid:1.02.99", "1.2.3"])
def test_what_only_looks_like_an_object_identifier_is_a_number(surrogates: Pipeline, number: str) -> None:
    said = {"resourceType": "Patient", "id": "p", "identifier": [{"value": number}]}
    new = scrubbed(surrogates, said)["identifier"][0]["value"]
    assert new != number
    assert ":2.25." not in new


@pytest.mark.parametrize(
    "address",
    [
        "https://ehr.northfield.example/View/image7?mrn=7712093&name=Zorvath",
        "zorvath-clinic/Patient/12",
        "Patient/12#zorvath",
        "Patient/12?name=Zorvath",
    ],
)
def test_what_stands_around_an_address_names_nobody(surrogates: Pipeline, address: str) -> None:
    said = {"resourceType": "List", "subject": PATIENT, "entry": [{"item": {"reference": address}}]}
    out = json.dumps(scrubbed(surrogates, said)["entry"])
    assert "zorvath" not in out.lower()
    assert "7712093" not in out


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ("Binary", {"contentType": "text/plain", "securityContext": PATIENT}),
        ("Appointment", {"participant": [{"actor": {"reference": "Practitioner/d"}}, {"actor": PATIENT}]}),
        ("AuditEvent", {"entity": [{"what": {"reference": "List/1"}}, {"what": PATIENT}]}),
        ("Provenance", {"target": [{"reference": "List/1"}, PATIENT]}),
    ],
)
def test_whom_a_resource_is_about_is_told_by_all_that_take_part(resource: str, said: dict[str, Any]) -> None:
    assert read(json.dumps({"resourceType": resource, **said}).encode(), TABLE).patient == "p-7712093"


def test_a_provenance_goes_with_what_it_is_about(surrogates: Pipeline) -> None:
    """Its days move with the patient's, its references and policies lead to the same resources as before."""
    when = "2015-06-27T08:39:24+10:00"
    said = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [
            {"resource": {"resourceType": "Observation", "id": "o7", "subject": PATIENT, "effectiveDateTime": when}},
            {"resource": {"resourceType": "Consent", "id": "25", "patient": PATIENT}},
            {
                "resource": {
                    "resourceType": "Provenance",
                    "target": [PATIENT, {"reference": "Observation/o7/_history/2"}],
                    "occurredPeriod": {"start": "2015-06-27", "end": "2015-06-29"},
                    "recorded": when,
                    "policy": ["http://northfield.example/fhir/Consent/25"],
                    "agent": [{"who": {"display": "Dr. Per Quillfeather"}, "onBehalfOf": PATIENT}],
                    "entity": [{"role": "source", "what": {"reference": "Consent/25"}}],
                }
            },
        ],
    }
    observation, consent, provenance = (entry["resource"] for entry in scrubbed(surrogates, said)["entry"])
    assert provenance["recorded"] == observation["effectiveDateTime"] != when
    assert provenance["occurredPeriod"]["start"] == observation["effectiveDateTime"][:10]
    assert provenance["target"][0] == provenance["agent"][0]["onBehalfOf"] == consent["patient"] != PATIENT
    assert provenance["target"][1]["reference"].startswith(f"Observation/{observation['id']}/_history/")
    assert provenance["entity"][0]["what"]["reference"] == f"Consent/{consent['id']}" != "Consent/25"
    assert provenance["policy"][0].endswith(f".example/fhir/Consent/{consent['id']}")
    assert "Quillfeather" not in json.dumps(provenance)


def test_who_looked_at_a_record_is_not_its_patient() -> None:
    who = {"who": {"identifier": {"value": "jdoe7"}}}
    said = {"resourceType": "AuditEvent", "agent": [who], "entity": [{"what": {"identifier": {"value": "99"}}}]}
    assert read(json.dumps(said).encode(), TABLE).patient is None


@pytest.mark.parametrize("policy", ["surrogates", "hiding"])
@pytest.mark.parametrize(
    ("value", "unit"), [(93, "a"), (90, "years"), (101.5, "a"), (89, "a"), (93, "mo"), (7, "a"), (93, "")]
)
def test_an_age_that_identifies_is_the_least_of_them(
    policy: str, value: float, unit: str, request: pytest.FixtureRequest
) -> None:
    for resource, element in (("Condition", "onsetAge"), ("Observation", "valueQuantity")):
        said = {"resourceType": resource, "subject": PATIENT, element: {"value": value, "unit": unit}}
        age = scrubbed(request.getfixturevalue(policy), said)[element]
        assert age["value"] == (90 if value >= 90 and unit in ("a", "years") else value)
