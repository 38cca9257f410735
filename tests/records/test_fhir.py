"""Resources of FHIR: what stands where, and that all else stays as it was, to the byte."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fhir_records import SAMPLES, dump, one, places, scrubbed
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, DeidError, FormatError
from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.fhir import read
from deid.records.fhir_files import split
from deid.records.markup import visible
from deid.records.tables import load_table
from deid.rules.checks import dea, npi


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_what_is_kept_is_kept_to_the_byte(path: Path, keeping: Pipeline) -> None:
    data = path.read_bytes()
    assert b"".join(split(data)) == data
    assert scrubbed(keeping, data) == data


_NAMES = st.sampled_from(
    ["Patient", "Observation", "DiagnosticReport", "Encounter", "Practitioner", "DocumentReference"]
)

_TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.sampled_from(
        ["Smith", "Patient/12", "#a", "2024-05", "2024-05-06T01:02:03.40Z", "urn:uuid:x", 'a\\b"c/é\U0001f600']
    ),
)

_LEAVES = st.one_of(_TEXTS, st.booleans(), st.none(), st.integers(), st.sampled_from([1.10, 1e2]))

_KEYS = st.sampled_from(
    [
        "id",
        "name",
        "text",
        "div",
        "family",
        "given",
        "value",
        "system",
        "identifier",
        "extension",
        "url",
        "valueString",
        "reference",
        "subject",
        "display",
        "note",
        "coding",
        "code",
        "meta",
        "security",
        "contact",
        "birthDate",
        "_birthDate",
        "attachment",
        "data",
        "content",
        "unknown",
        "effectiveDateTime",
        "conclusion",
        "telecom",
        "address",
        "contained",
    ]
)

_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=14,
)

_RESOURCES = st.builds(
    lambda name, members: {"resourceType": name, **{k: v for k, v in members.items() if k != "contained"}},
    _NAMES,
    st.dictionaries(_KEYS, _VALUES, max_size=6),
)


def _spelt(resource: Any, style: int) -> bytes:
    text = json.dumps(resource, ensure_ascii=style % 2 == 0, indent=style // 2 or None)
    return text.replace("/", "\\/").encode() if style == 3 else text.encode()


@settings(max_examples=200)
@given(resource=_RESOURCES, style=st.integers(0, 5))
def test_bytes_outside_of_places_are_untouched(hiding: Pipeline, resource: Any, style: int) -> None:
    data = _spelt(resource, style)
    try:
        record = one(data)
    except DeidError as error:
        assert (bool(error.position), bool(error.hint)) == (True, True)  # noqa: PT017  (most can be read)
        return
    assert record.replaced(record.text, [], keep_blocked=True).data == data
    written = hiding(document(record, "m")).document.record
    assert written is not None
    out = written.data.decode()
    assert record.frames(out)
    new = json.loads(out)
    assert new["resourceType"] == resource["resourceType"]
    for place in record.places:
        assert place.encode is not None
        raw = record.source[place.start : place.end]
        if not place.stretches and place.text:
            again = place.encode(raw, place, [(0, len(place.text), place.text)])
            if "div" not in place.path:
                assert json.loads(f'"{again}"') == json.loads(f'"{raw}"')


@settings(max_examples=150)
@given(
    text=st.lists(
        st.one_of(_TEXTS, st.sampled_from(["<b>", "</b>", "<br/>", "&amp;", "&#233;", "<a title='x'>", "<!--", "-->"]))
    )
)
def test_markup_stays_where_text_is_replaced(text: list[str]) -> None:
    markup = "".join(text)
    assume("<" not in "".join(t for t in text if len(t) > 9))
    seen, starts = visible(markup, ())
    assert len(seen) == len(starts)
    assert all(a <= b for a, b in starts)
    assert all(x[0] <= y[0] for x, y in pairwise(starts))


def test_a_name_across_markup_is_replaced_and_the_markup_stays(hiding: Pipeline) -> None:
    div = '<div xmlns="http://x"><p title="Ann Lee">M&uuml;ller <b>An&#110;</b><br/>4</p><!-- Bo --></div>'
    data = dump({"resourceType": "Patient", "text": {"status": "generated", "div": div}})
    out = json.loads(scrubbed(hiding, data))["text"]["div"]
    assert re.sub(r"\[[A-Z]+\]", "_", out) == (
        '<div xmlns="http://x"><p title="_ _">_ <b>_</b><br/>_</p><!-- _ --></div>'
    )


def test_check_digits_of_numbers_stay_right(surrogates: Pipeline) -> None:
    numbers = [("http://hl7.org/fhir/sid/us-npi", "1234567893"), ("https://h.example/dea", "AB1234563")]
    person = {"resourceType": "Practitioner", "identifier": [{"system": s, "value": v} for s, v in numbers]}
    new = [item["value"] for item in json.loads(scrubbed(surrogates, dump(person)))["identifier"]]
    assert new[0] != numbers[0][1]
    assert new[1] != numbers[1][1]
    assert npi(new[0])
    assert dea(new[1])


def test_dates_keep_their_precision(surrogates: Pipeline) -> None:
    resource = {
        "resourceType": "Observation",
        "status": "final",
        "subject": {"reference": "Patient/1"},
        "effectivePeriod": {"start": "2019", "end": "2019-05"},
        "issued": "2019-05-06T23:59:59.999+14:00",
        "_issued": {
            "extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "x"}]
        },
    }
    out = json.loads(scrubbed(surrogates, dump(resource)))
    assert re.fullmatch(r"\d{4}", out["effectivePeriod"]["start"])
    assert re.fullmatch(r"\d{4}-\d\d", out["effectivePeriod"]["end"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT23:59:59.999\+14:00", out["issued"])
    assert out["_issued"] == resource["_issued"]


def test_kinds_of_places() -> None:
    resource = {
        "resourceType": "Patient",
        "id": "p1",
        "telecom": [{"system": "fax", "value": "1"}, {"value": "a@b.org", "system": "email"}, {"value": "5"}],
        "identifier": [{"system": "http://hl7.org/fhir/sid/us-ssn", "value": "219-09-8174"}, {"value": "77"}],
        "name": [{"given": ["Ann", "B"], "family": "Lee"}, {"text": "Ann Lee"}],
        "managingOrganization": {"display": "Mercy", "reference": "Organization/o"},
        "generalPractitioner": [{"reference": "https://x.org/fhir/Practitioner/d/_history/2", "display": "Dr. Ng"}],
        "photo": [{"data": "AAAA"}],
        "extension": [
            {"url": "http://x.org/secret", "valueString": "x"},
            {"url": "http://x.org/s2", "valueInteger": 7},
        ],
        "nickname": "Annie",
        "gender": "female",
        "deceasedBoolean": False,
    }
    record = one(dump(resource))
    found = places(record)
    assert found["Patient.telecom[0].value"][0] == "FAX"
    assert found["Patient.telecom[1].value"][0] == "EMAIL"
    assert found["Patient.telecom[2].value"][0] == "PHONE"
    assert found["Patient.identifier[0].value"] == ("SSN", "219-09-8174")
    assert found["Patient.identifier[1].value"][0] == "MEDICALRECORD"
    assert "Lee^Ann^B" in record.text
    assert found["Patient.name[1].text"] == ("PATIENT", "Ann Lee")
    assert found["Patient.managingOrganization.display"][0] == "HOSPITAL"
    assert found["Patient.generalPractitioner[0].display"] == ("DOCTOR", "Dr. Ng")
    assert set(record.ids) == {"p1", "o", "d", "2", "//x.org"}
    assert found["Patient.photo"][0] == found["Patient.extension"][0] == found["Patient.nickname"][0] == "blocked"
    assert record.unexamined == 2  # the photo is named
    out = json.loads(record.replaced(record.text, [], keep_blocked=False).data)
    assert not {"photo", "extension", "nickname"} & out.keys()
    assert (record.patient, ("PATIENT", "Lee, Ann B") in record.known) == ("p1", True)


@pytest.mark.parametrize(
    "member",
    [
        '"x":1',
        '"gender":"male","x":1',
        '"x":1,"gender":"male"',
        '"x":1, "y":[2] ,"gender":"male","z":{"a":"b"}',
        '"name":[{"x":1},{"use":"usual"}]',
    ],
)
def test_blocked_members_go_with_their_commas(member: str) -> None:
    record = one(f'{{"resourceType":"Patient", {member} }}'.encode())
    out = json.loads(record.replaced(record.text, [], keep_blocked=False).data)
    assert not {"x", "y", "z"} & out.keys()
    assert record.unexamined == len(re.findall(r'"[xyz]"', member))


@pytest.mark.parametrize(
    ("reference", "ids"),
    [
        ("Patient/12", ["12"]),
        ("Patient/12/_history/3", ["12", "3"]),
        ("https://x.org/r4/Patient/12#c", ["//x.org", "12", "c"]),
        ("https://x.org/r4/acute-care/Patient?_id=12", ["//x.org", "acute-care", "12"]),
        ("https://x.org/r4/Patient", ["//x.org"]),
        ("#c1", ["c1"]),
        ("urn:uuid:5a0f3c1e-77b2-4c59-9d0e-2f6b8c1d4e01", ["5a0f3c1e-77b2-4c59-9d0e-2f6b8c1d4e01"]),
        ("Patient?_id=7&status=active", ["7"]),
        ("Observation?subject=Patient/8&_count=5", ["8"]),
        ("Organization?identifier=x|5a0f3c1e-77b2-4c59-9d0e-2f6b8c1d4e01", ["5a0f3c1e-77b2-4c59-9d0e-2f6b8c1d4e01"]),
    ],
)
def test_ids_in_references(reference: str, ids: list[str]) -> None:
    for slash in (False, True):
        data = dump({"resourceType": "Condition", "subject": {"reference": reference}})
        record = one(data.replace(b"/", b"\\/") if slash else data)
        assert [link.text for link in record.links] == ids
        new = json.loads(record.replaced(record.text, [], keep_blocked=True, renamed=lambda _: "N").data)
        expected = reference
        for one_id in ids:
            expected = re.sub(rf"(?<=[/#:=|]){one_id}(?!\w)", "N", expected)
        assert new["subject"]["reference"] == expected


@pytest.mark.parametrize(
    "system",
    [
        "http://terminology.hl7.org/CodeSystem/v2-0203",
        "http://loinc.org",
        "https://www.nlm.nih.gov/research/umls/rxnorm",
        "urn:ietf:rfc:3986",
        "urn:oid:2.16.840.1.113883.6.238",
        "urn:iso:std:iso:3166",
    ],
)
def test_systems_of_standards_stay(surrogates: Pipeline, system: str) -> None:
    data = dump({"resourceType": "Patient", "identifier": [{"system": system, "value": "4711"}]})
    assert f'"{system}"'.encode() in scrubbed(surrogates, data)


def test_other_systems_do_not_name_the_institution_and_still_match(surrogates: Pipeline) -> None:
    said = [
        "https://hospital-springfield.org/mrn",
        "https://HOSPITAL-Springfield.org:8443/fhir/springfield/mrn",
        "urn:oid:1.2.840.114350.1.13.99998.8734",
        "urn:springfield:mrn",
        "http://loinc.org.springfield.example/mrn",
    ]
    of_patient = {"resourceType": "Patient", "identifier": [{"system": s, "value": "471100"} for s in said]}
    search = {"reference": f"Patient?identifier={said[0]}|471100"}
    profiled = {"resourceType": "Observation", "meta": {"profile": [said[0]]}, "subject": search}
    bundle = {"resourceType": "Bundle", "entry": [{"fullUrl": "https://hospital-springfield.org/fhir/Patient/77"}]}
    first, second, third = (scrubbed(surrogates, dump(one)) for one in (of_patient, profiled, bundle))
    new = [json.loads(first)["identifier"][n]["system"] for n in range(5)]
    assert len({*new}) == len(said)
    assert not re.search("springfield|114350|99998", (first + second + third).decode(), re.IGNORECASE)
    assert new[0].endswith(".example/mrn")
    assert new[3].endswith(":mrn")
    # the same in all files, and where a reference searches for it
    assert json.loads(second)["meta"]["profile"] == [new[0]]
    assert json.loads(second)["subject"]["reference"].startswith(f"Patient?identifier={new[0]}|")
    assert json.loads(third)["entry"][0]["fullUrl"].startswith(new[0].removesuffix("mrn") + "fhir/Patient/")


def test_values_of_searches_are_places() -> None:
    data = dump(
        {
            "resourceType": "Condition",
            "subject": {"reference": "Patient?identifier=http://hl7.org/fhir/sid/us-ssn|219-09-8174"},
        }
    )
    assert [(p.kind, p.text) for p in one(data).places] == [("SSN", "219-09-8174")]
    bundle = {
        "resourceType": "Bundle",
        "type": "searchset",
        "link": [{"relation": "self", "url": "https://x/Patient?family=Lee&birthdate=ge1950-01-01"}],
    }
    assert [(p.kind, p.text) for p in one(dump(bundle)).places] == [("PATIENT", "Lee"), ("DATE", "1950-01-01")]


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b'{"resourceType":"Patient","name":[{"family":"Zzyzx"', "name[0].family"),
        (b'{"resourceType":"Patient","name":[{"family":"Zzyzx', "name[0].family"),
        (b'{"resourceType":"Patient","id":"a","id":"Zzyzx"}', "id"),
        (b'{"resourceType":"Patient","name":[{"family":"\\ud800Zzyzx"}]}', "name[0].family"),
        (b'{"resourceType":"Patient","name":[{"family":"\\qZzyzx"}]}', "name[0].family"),
        (b'{"resourceType":"Patient","multipleBirthInteger":01}', "multipleBirthInteger"),
        (b'{"resourceType":"Patient"} Zzyzx', "resource"),
        (b'{"resourceType":"Zzyzx"}', "resourceType"),
        (b'["Zzyzx"]', "resource"),
        (b'{"resourceType":"Patient","id":"\xff"}', "resource"),
        (b'{"resourceType":"Patient","extension":' + b"[" * 200, "extension[0]"),
        (dump({"resourceType": "Binary", "contentType": "text/plain", "data": "Zzyzx*"}), "Binary.data"),
        (dump({"resourceType": "Binary", "contentType": "text/plain; charset=zz", "data": ""}), "Binary.data"),
        (dump({"resourceType": "Binary", "contentType": "text/plain", "data": "/////w=="}), "Binary.data"),
        (dump({"resourceType": "Binary", "contentType": "text/plain", "data": "JVBERi0xLjQK"}), "Binary.data"),
    ],
)
def test_bad_resources_are_errors_that_quote_nothing(data: bytes, position: str) -> None:
    with pytest.raises(DeidError) as caught:
        one(data)
    assert caught.value.position.startswith(position)
    assert caught.value.hint
    assert "Zzyzx" not in str(caught.value)


def test_a_resource_without_lines_among_others_is_emptied(surrogates: Pipeline) -> None:
    """Alone it is an error; a Bundle with a definition in it goes on without what stands in the definition."""
    codes = {"resourceType": "CodeSystem", "id": "c", "url": "urn:x", "name": "Thornbury", "concept": [{"code": "T"}]}
    patient = {"resourceType": "Patient", "id": "a", "name": [{"family": "Thornbury"}]}
    entries = [{"fullUrl": "urn:oid:1.2.3", "resource": codes}, {"resource": patient}]
    out = json.loads(scrubbed(surrogates, dump({"resourceType": "Bundle", "type": "collection", "entry": entries})))
    first, second = (entry["resource"] for entry in out["entry"])
    assert first.keys() == {"resourceType", "meta", "id"}
    assert second["name"][0]["family"] != "Thornbury"
    with pytest.raises(FormatError):
        one(dump(codes))


def test_a_sites_lines_stand_over_the_shipped_ones(tmp_path: Path) -> None:
    site = tmp_path / "ours.toml"
    site.write_text(
        '[resources.Patient]\nphoto = ["keep", "drawn"]\nname.family = ["keep", "x"]\n'
        '[types."http://x.org/secret"]\nALL = ["Value PATIENT", "our alias"]\n'
    )
    data = dump(
        {
            "resourceType": "Patient",
            "photo": [{"title": "x"}],
            "name": [{"family": "Lee", "given": ["Ann"]}],
            "extension": [{"url": "http://x.org/secret", "valueString": "Bo"}],
        }
    )
    found = places(read(data, load_table("fhir-r4", site)))
    assert found["Patient.extension[0].valueString"] == ("PATIENT", "Bo")
    assert found["Patient.name[0].given[0]"] == ("PATIENT", "Ann")
    assert not {"Patient.photo", "Patient.name[0].family"} & found.keys()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('[resources.Patient]\nnmae = ["keep", "x"]', "did you mean name"),
        ('[resources.Patiant]\nname = ["keep", "x"]', "did you mean Patient"),
        ('[resources.Patient]\nname = ["PATEINT", "x"]', "did you mean PATIENT"),
        ('[resources.Patient]\nname = ["HumanName PATEINT", "x"]', "did you mean PATIENT"),
        ('[resources.Patient]\nname = ["keep", "x"]\n"photo name" = ["keep", "y"]', "about the same"),
        ('[resources.Patient]\nname = "keep"', "not of the form"),
        ('[resources.Patient]\nname.famly = ["keep", "x"]', "did you mean family"),
        ('[resources.Patient]\ncontact.nane = ["keep", "x"]', "did you mean name"),
        ('[types.Address]\ncitty = ["keep", "x"]', "did you mean city"),
        ('[types.Address]\nALL = ["keep", "x"]\ncity = ["text", "y"]', "about the same"),
        ("[segments.PID]", "no section"),
    ],
)
def test_lines_that_cannot_be_meant_are_refused(tmp_path: Path, lines: str, words: str) -> None:
    site = tmp_path / "ours.toml"
    site.write_text(lines + "\n")
    with pytest.raises(ConfigError, match=words) as caught:
        load_table("fhir-r4", site)
    assert caught.value.where == str(site)


def test_codes_of_the_record_are_codes_in_its_text(surrogates: Pipeline) -> None:
    """Narratives that servers make say each code and its system; the same figures elsewhere are somebody's."""
    system = "http://terminology.hl7.org/CodeSystem/condition-category"
    resource = {
        "resourceType": "Condition",
        "id": "c1",
        "text": {
            "status": "generated",
            "div": '<div xmlns="http://www.w3.org/1999/xhtml"><p><b>code</b>: Fever <span>(Details : {SNOMED CT code '
            f"'386661006' = 'Fever'}})</span>; {{{system} code 'problem-list-item'}}; file 386661007</p></div>",
        },
        "code": {"coding": [{"system": "http://snomed.info/sct", "code": "386661006", "display": "Fever"}]},
        "category": [{"coding": [{"system": system, "code": "problem-list-item"}]}],
    }
    out = json.loads(scrubbed(surrogates, dump(resource)))
    assert "'386661006' = 'Fever'" in out["text"]["div"]
    assert system in out["text"]["div"]
    assert "386661007" not in out["text"]["div"]


def test_a_known_number_is_no_code_though_a_standard_has_it(surrogates: Pipeline) -> None:
    patient = {"resourceType": "Patient", "id": "p1", "identifier": [{"system": "urn:x:mrn", "value": "386661006"}]}
    note = {
        "resourceType": "Observation",
        "subject": {"reference": "Patient/p1"},
        "code": {"coding": [{"system": "http://snomed.info/sct", "code": "386661006"}]},
        "note": [{"text": "chart no. 386661006"}],
    }
    bundle = {"resourceType": "Bundle", "entry": [{"resource": patient}, {"resource": note}]}
    assert "386661006" not in scrubbed(surrogates, dump(bundle)).decode().partition('"note"')[2]


def test_what_standards_of_all_countries_say_stays(surrogates: Pipeline) -> None:
    coding = [
        {
            "system": "https://bluebutton.cms.gov/resources/codesystem/adjudication",
            "code": "https://bluebutton.cms.gov/resources/variables/line_alowd_chrg_amt",
        },
        {
            "system": "urn:oid:2.16.840.1.113883.3.1937.777.24.5.3",
            "code": "2.16.840.1.113883.3.1937.777.24.5.3.6",
            "display": "MDAT erheben",
        },
        {
            "system": "http://fhir.de/CodeSystem/bfarm/icd-10-gm",
            "code": "R50.9",
            "display": "Fieber, nicht näher bezeichnet",
        },
        {"system": "urn:oid:1.2.36.1.2001.1005.17", "code": "GNFLU"},
    ]
    resource = {"resourceType": "Observation", "code": {"coding": coding}, "status": "final"}
    assert json.loads(scrubbed(surrogates, dump(resource)))["code"]["coding"] == coding


def test_an_address_in_place_of_a_code_that_is_no_standards_goes(surrogates: Pipeline) -> None:
    code = "https://portal.zorvath-clinic.example/codes/thornbury"
    resource = {"resourceType": "Observation", "code": {"coding": [{"code": code}]}}
    out = scrubbed(surrogates, dump(resource)).decode()
    assert "zorvath" not in out
    assert "thornbury" not in out


def test_a_number_where_r5_has_a_code_stays(surrogates: Pipeline) -> None:
    """A priority is a number in R4, and a code in R5."""
    out = json.loads(scrubbed(surrogates, dump({"resourceType": "Appointment", "status": "booked", "priority": 5})))
    assert out["priority"] == 5


@pytest.mark.parametrize("name", ["Medicare", "MEDICAID", "Medicare Part", "Self pay", "Private insurance"])
def test_a_programme_is_no_institution(surrogates: Pipeline, name: str) -> None:
    resource = {
        "resourceType": "Coverage",
        "type": {"text": name},
        "payor": [{"display": name}],
        "beneficiary": {"display": "Eleanor Thornbury"},
    }
    out = json.loads(scrubbed(surrogates, dump(resource)))
    assert out["payor"] == [{"display": name}]
    assert out["type"] == {"text": name}
    assert "Thornbury" not in out["beneficiary"]["display"]


def extended(resource: str, **value: Any) -> dict[str, Any]:
    return {"resourceType": resource, "extension": [{"url": "https://fhir.kbv.de/StructureDefinition/KBV_X", **value}]}


@pytest.mark.parametrize(
    "value",
    [
        {"valueBoolean": True},
        {"valueCode": "N1"},
        {"valueCoding": {"system": "https://fhir.kbv.de/CodeSystem/KBV_CS", "code": "00", "display": "Arznei"}},
        {"valueCodeableConcept": {"coding": [{"system": "http://snomed.info/sct", "code": "386661006"}]}},
    ],
)
def test_a_code_in_an_extension_of_a_standard_stays_where_nobody_is_described(
    value: dict[str, Any], surrogates: Pipeline
) -> None:
    """A place of a person may be one, as the number of a municipality is."""
    assert json.loads(scrubbed(surrogates, dump(extended("Medication", **value)))) == extended("Medication", **value)
    for resource in ("Patient", "Location", "Coverage", "Organization"):
        assert "extension" not in json.loads(scrubbed(surrogates, dump(extended(resource, **value))))


@pytest.mark.parametrize(
    "value",
    [
        {"valueString": "Zorvath"},
        {"valueDate": "1947-06-19"},
        {"valueCoding": {"system": "https://zorvath.example/codes", "code": "00"}},
        {"valueCoding": {"code": "00"}},
        {"valueBoolean": True, "valueString": "Zorvath"},
        {"extension": [{"url": "a", "valueString": "Zorvath"}]},
        {"url": "https://zorvath.example/StructureDefinition/x", "valueBoolean": True},
    ],
)
def test_all_else_in_an_extension_that_no_line_names_goes(value: dict[str, Any], surrogates: Pipeline) -> None:
    assert "extension" not in json.loads(scrubbed(surrogates, dump(extended("Medication", **value))))


def test_who_pays_is_replaced_though_no_reference_says_who_that_is(surrogates: Pipeline) -> None:
    resource = {"resourceType": "Coverage", "payor": [{"display": "AOK Zorvath"}]}
    assert "Zorvath" not in scrubbed(surrogates, dump(resource)).decode()


@pytest.mark.parametrize("system", ["urn:oid:2.16.840.1.113883.6.93", "http://fhir.de/sid/destatis/ags"])
def test_the_code_of_a_county_or_town_is_no_code_that_stays(surrogates: Pipeline, system: str) -> None:
    place = {"system": system, "code": "50021", "display": "Zorvath County"}
    resource = {"resourceType": "Observation", "status": "final", "valueCodeableConcept": {"coding": [place]}}
    out = scrubbed(surrogates, dump(resource)).decode()
    assert system in out
    assert "50021" not in out
    assert "Zorvath" not in out
