"""Resources of FHIR: what stands where, and that all else stays as it was, to the byte."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import run
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, FormatError
from deid.cli.main import app
from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.fhir import read
from deid.records.fhir_files import begins, known_beside, read_all, split
from deid.records.markup import visible
from deid.records.record import Record
from deid.records.tables import load_table
from deid.replacement.pools import name_pool
from deid.rules.checks import dea, npi
from deid.streaming.beginning import begins_as

TABLE = load_table("fhir-r4")
FOLDER = Path(__file__).parents[2] / "corpora" / "records" / "fhir"
SAMPLES = sorted(FOLDER.rglob("*.*json"))
HOSPITAL = Path(__file__).parents[3] / "shared" / "data" / "hospital" / "fhir"
PEOPLE = ("Patient", "RelatedPerson", "Practitioner", "Person")


def dump(*resources: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in resources)


def one(data: bytes) -> Record:
    return read(data, TABLE)


def places(record: Record) -> dict[str, tuple[str, str]]:
    """Return path -> kind and text."""
    return {p.path: (p.kind, p.text) for p in (*record.places, *record.blocked, *record.links)}


def scrubbed(pipeline: Pipeline, data: bytes, known: Any = None) -> bytes:
    out = []
    for number, record in enumerate(read_all(data, TABLE, known or {})):
        assert isinstance(record, Record), record
        written = pipeline(document(record, f"d{number}")).document.record
        assert written is not None
        out.append(written.data)
    return b"".join(out)


def strings(value: Any) -> list[str]:
    """Return all strings of a resource, documents decoded."""
    if isinstance(value, dict):
        plain = [s for k, v in value.items() if k != "data" for s in strings(v)]
        data = value.get("data")
        return [*plain, *([base64.b64decode(data).decode("utf-8", "replace")] if isinstance(data, str) else [])]
    if isinstance(value, list):
        return [s for v in value for s in strings(v)]
    return [value] if isinstance(value, str) else []


def walk(value: Any) -> Any:
    """Yield all objects of a resource."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)


def identifiers(resource: Any) -> set[str]:
    """Return names, numbers, addresses, telecoms and birth dates of the persons of a record."""
    found: set[str] = set()
    for person in walk(resource):
        if person.get("resourceType") in PEOPLE:
            for name in person.get("name", ()):
                found.update(w for w in (name.get("family", ""), *name.get("given", ())) if len(w) > 2)
            for item in (*person.get("identifier", ()), *person.get("telecom", ())):
                found.add(item.get("value", ""))
            for address in person.get("address", ()):
                found.update((*address.get("line", ()), address.get("postalCode", "")))
            found.update((person.get("birthDate", ""), person.get("id", "")))
    return {value for value in found if len(value) > 2}


def references(resources: list[Any]) -> tuple[set[str], list[str]]:
    """Return what resources can be called, and what refers to them."""
    names, found = set(), []
    for held in walk(resources):
        if "resourceType" in held:
            names.add(f"{held['resourceType']}/{held.get('id')}")
            names.add(f"#{held.get('id')}")
            for item in held.get("identifier", ()) if isinstance(held.get("identifier"), list) else ():
                names.add(f"{held['resourceType']}?identifier={item.get('system')}|{item.get('value')}")
        if "fullUrl" in held:
            names.add(held["fullUrl"])
        if isinstance(held.get("reference"), str):
            found.append(held["reference"])
    return names, found


def resources_of(data: bytes) -> list[Any]:
    return [json.loads(part) for part in split(data)]


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


def test_one_person_has_one_name_in_fields_text_and_files(surrogates: Pipeline) -> None:
    data = (FOLDER / "bundle.json").read_bytes()
    out = scrubbed(surrogates, data)
    new, old = json.loads(out), json.loads(data)
    text = "\n".join(strings(new))
    for value in (
        *identifiers(old),
        "Eleanor",
        "Gerald",
        "Pemberton",
        "Alder",
        "06/19/1947",
        "Imogen",
        "northfield-2024-0312",
    ):
        assert not re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text), value[:2]
    patient = new["entry"][0]["resource"]
    family, (first, _) = patient["name"][0]["family"], patient["name"][0]["given"]
    attachment = new["entry"][4]["resource"]["content"][0]["attachment"]
    note = base64.b64decode(attachment["data"])
    assert f"Mrs. {first} {family} (MRN {patient['identifier'][0]['value']})".encode() in note
    assert attachment["size"] == len(note)
    assert attachment["hash"] == base64.b64encode(hashlib.sha1(note, usedforsecurity=False).digest()).decode()
    assert f"Mrs. {family} was told" in new["entry"][2]["resource"]["conclusion"]
    assert patient["name"][0]["prefix"] == ["Mrs."]
    assert b'"value": 9.80' in out
    assert b'"value": 1.20e1' in out
    assert "gold" not in text
    assert {u["url"].rpartition("/")[2] for u in patient["extension"]} == {
        "us-core-birthsex",
        "patient-mothersMaidenName",
    }
    security = {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "REDACTED"}
    assert all(
        e["resource"]["meta"]["security"][0] | security == e["resource"]["meta"]["security"][0] for e in new["entry"]
    )
    assert "meta" not in new["entry"][2]["resource"]["contained"][0]  # a contained resource has no label
    again = one(out)
    assert not again.marks


def test_references_resolve_in_all_files_of_a_run_and_in_later_ones(surrogates: Pipeline, hiding: Pipeline) -> None:
    files = {p: p.read_bytes() for p in SAMPLES}
    before = [r for data in files.values() for r in resources_of(data)]
    after = [r for p, data in files.items() for r in resources_of(scrubbed(surrogates, data, known_beside(p, TABLE)))]
    names, found = references(before)
    new_names, new_found = references(after)
    assert [r in names for r in found] == [r in new_names for r in new_found]
    assert sum(r in names for r in found) > 8
    assert all(a != b for a, b in zip(found, new_found, strict=True))
    # another policy, another run: the same ids
    again = resources_of(scrubbed(hiding, files[FOLDER / "export" / "Patient.ndjson"]))
    assert {f"Patient/{patient['id']}" for patient in again} <= new_names


def test_intervals_of_a_patient_stay(surrogates: Pipeline) -> None:
    from datetime import datetime

    for path in SAMPLES:
        data = path.read_bytes()
        old = [o for r in resources_of(data) for o in strings(r) if re.match(r"\d{4}-\d\d-\d\dT", o)]
        new = [
            o for r in resources_of(scrubbed(surrogates, data)) for o in strings(r) if re.match(r"\d{4}-\d\d-\d\dT", o)
        ]
        assert [o[10:] for o in old] == [n[10:] for n in new]
        if path.name == "bundle.json":
            shifts = {datetime.fromisoformat(n) - datetime.fromisoformat(o) for o, n in zip(old, new, strict=True)}
            assert len(shifts) == 1


def two_patients(first: str = "Patient/p-one", second: str = "Patient/p-two", **ids: str) -> dict[str, Any]:
    """Return a Bundle of two patients, each with an observation and a note."""

    def person(reference: str, id: str, family: str, born: str) -> list[dict[str, Any]]:
        about = {"reference": reference}
        return [
            {"resourceType": "Patient", "id": id, "identifier": [{"value": f"44{len(id)}{born[:4]}"}],
             "name": [{"family": family, "given": ["Ada"]}], "birthDate": born},
            {"resourceType": "Observation", "subject": about, "effectiveDateTime": "2024-03-12"},
            {"resourceType": "DiagnosticReport", "subject": about, "conclusion": f"Seen on 2024-03-15. {family}."},
        ]  # fmt: skip

    found = [
        *person(first, ids.get("one", "p-one"), "Thornbury", "1947-06-19"),
        *person(second, ids.get("two", "p-two"), "Okafor", "1980-01-02"),
    ]
    urls = {f["id"]: f"urn:uuid:0000000{n}-77b2-4c59-9d0e-2f6b8c1d4e01" for n, f in enumerate(found) if "id" in f}
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{**({"fullUrl": urls[f["id"]]} if "id" in f else {}), "resource": f} for f in found],
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Patient/p-one", "Patient/p-two"),
        ("urn:uuid:00000000-77b2-4c59-9d0e-2f6b8c1d4e01", "urn:uuid:00000003-77b2-4c59-9d0e-2f6b8c1d4e01"),
        ("Patient?identifier=a|4451947", "Patient?identifier=a|4451980"),
        ("https://ehr.example/fhir/Patient/p-one", "Patient/p-two"),
    ],
)
def test_each_patient_of_a_bundle_has_a_shift_and_names_of_their_own(
    surrogates: Pipeline, first: str, second: str
) -> None:
    before = two_patients(first, second)
    after = json.loads(scrubbed(surrogates, dump(before)))

    def days(bundle: Any) -> list[list[str]]:
        held = [e["resource"] for e in bundle["entry"]]
        said = [r.get("birthDate") or r.get("effectiveDateTime") or r["conclusion"][8:18] for r in held]
        return [said[:3], said[3:]]

    shifts = [
        {datetime.date.fromisoformat(new) - datetime.date.fromisoformat(old) for new, old in zip(*pair, strict=True)}
        for pair in zip(days(after), days(before), strict=True)
    ]
    assert [len(shift) for shift in shifts] == [1, 1]
    assert shifts[0] != shifts[1]
    assert len({*shifts[0], *shifts[1]}) == 2
    # the same as when each comes alone, as in another file of the run
    for part in (slice(0, 3), slice(3, 6)):
        alone = json.loads(scrubbed(surrogates, dump({**before, "entry": before["entry"][part]})))
        assert alone["entry"] == after["entry"][part]


def test_a_resource_of_no_patient_has_the_key_of_the_first_in_the_bundle(surrogates: Pipeline) -> None:
    bundle = two_patients()
    bundle["entry"].append(
        {"resource": {"resourceType": "Location", "name": "Ward", "meta": {"lastUpdated": "2024-03-12"}}}
    )
    record = one(dump(bundle))
    owners = {
        p.path: record.patient_at(at, at + len(p.text)) for p, at in zip(record.places, record.offsets, strict=True)
    }
    assert owners["Bundle.entry[6].resource.Location.meta.lastUpdated"] == "p-one"
    assert owners["Bundle.entry[4].resource.Observation.effectiveDateTime"] == "p-two"


def test_a_contained_patient_is_told_by_a_number() -> None:
    def note(number: str) -> dict[str, Any]:
        patient = {"resourceType": "Patient", "id": "p", "identifier": [{"value": number}]}
        return {"resourceType": "Observation", "contained": [patient], "subject": {"reference": "#p"}}

    assert one(dump(note("4711"))).patient == "4711"
    both = one(dump({"resourceType": "Bundle", "entry": [{"resource": note(n)} for n in ("4711", "4712")]}))
    assert {*both.owners} == {"4711", "4712"}


@pytest.mark.parametrize(("gender", "sex"), [("female", "F"), ("male", "M")])
def test_the_sex_of_a_surrogate_is_that_of_the_field(surrogates: Pipeline, gender: str, sex: str) -> None:
    person = {
        "resourceType": "Patient",
        "gender": gender,
        "name": [{"family": "Thornbury", "given": ["Zxqwv", "Michael"]}],
    }
    pool = name_pool("en")
    for new in json.loads(scrubbed(surrogates, dump(person)))["name"][0]["given"]:
        place = pool.place(new.lower())
        kind = place[0].kind if place else "".join(k for (k, _, _), w in pool.reserve.items() if new.lower() in w)
        assert kind[:1] in (sex, "U")


def test_check_digits_of_numbers_stay_right(surrogates: Pipeline) -> None:
    numbers = [("http://hl7.org/fhir/sid/us-npi", "1234567893"), ("https://h.example/dea", "AB1234563")]
    person = {"resourceType": "Practitioner", "identifier": [{"system": s, "value": v} for s, v in numbers]}
    new = [item["value"] for item in json.loads(scrubbed(surrogates, dump(person)))["identifier"]]
    assert new[0] != numbers[0][1]
    assert new[1] != numbers[1][1]
    assert npi(new[0])
    assert dea(new[1])


@pytest.mark.parametrize("code", ["02114", "02114-1207", "90210"])
def test_an_address_written_out_has_the_parts_of_the_fields_beside_it(surrogates: Pipeline, code: str) -> None:
    address = {"text": f"12 Orchard Row, Boston, MA {code}", "line": ["12 Orchard Row"], "city": "Boston"}
    patient = {"resourceType": "Patient", "id": "p", "address": [{**address, "state": "MA", "postalCode": code}]}
    (written,) = json.loads(scrubbed(surrogates, dump(patient)))["address"]
    assert written["postalCode"][:5] != code[:5]
    for part in (written["line"][0], written["city"], written["state"], written["postalCode"][:5]):
        assert part in written["text"]


def test_names_of_the_patients_file_are_known_in_the_notes_beside_it(surrogates: Pipeline) -> None:
    path = FOLDER / "export" / "DocumentReference.ndjson"
    known = known_beside(path, TABLE)
    assert {"p-100", "p-101"} == set(known)
    out = scrubbed(surrogates, path.read_bytes(), known)
    text = "\n".join(s for r in resources_of(out) for s in strings(r))
    for word in ("Lindqvist", "Per ", "Imogen", "Haverford", "517801", "555 0162", "2/3/1958"):
        assert word not in text


@pytest.mark.parametrize("said", ["James", "James rests today", "Thornbury rests"])
def test_persons_of_a_file_are_known_in_all_of_it(tmp_path: Path, surrogates: Pipeline, said: str) -> None:
    """Before or behind them, beside a patient that cannot be read."""
    name = {"family": "Thornbury", "given": ["James"]}
    person = {"resourceType": "Patient", "id": "p1", "name": [name]}
    notes = [
        {"resourceType": "Observation", "id": f"o{n}", "subject": {"reference": "Patient/p1"}, "valueString": said}
        for n in range(2)
    ]
    path = tmp_path / "all.ndjson"
    lines = [json.dumps(one) for one in (notes[0], person, notes[1])]
    path.write_text("\n".join([*lines, '{"resourceType": "Patient", "id": "p2", "name": [}']))
    read = list(read_all(path.read_bytes(), TABLE, known_beside(path, TABLE)))
    written = [surrogates(document(r, str(n))).document.record for n, r in enumerate(read) if isinstance(r, Record)]
    assert len(read) == 4
    first, _, last = (json.loads(one.data).get("valueString", "") for one in written if one is not None)
    assert first == last
    assert not {"James", "Thornbury"} & set(first.split())
    # as a feed has it, which knows those before
    path.write_text("\n".join(lines[1:]) + "\n")
    assert run("scrub", path, tmp_path / "a.ndjson", "--model", "none", "--key-file", tmp_path / "key")
    assert run("filter", path, "-o", tmp_path / "b.ndjson", "--model", "none", "--key-file", tmp_path / "key")
    assert (tmp_path / "a.ndjson").read_bytes() == (tmp_path / "b.ndjson").read_bytes()
    assert said not in (tmp_path / "a.ndjson").read_text()


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


def test_a_bad_line_is_kept_aside_and_the_rest_goes_on() -> None:
    good = dump({"resourceType": "Patient", "id": "a"})
    data = good + b'{"resourceType":"Patient","id":\n' + good + b"\n" + good
    assert b"".join(split(data)) == data
    assert [type(r) for r in read_all(data, TABLE, {})] == [Record, FormatError, Record, Record]


def test_a_bundle_over_lines_is_one_resource() -> None:
    """Lines of a Bundle that are objects of their own do not make it a bulk export."""
    patient = json.dumps({"resource": {"resourceType": "Patient", "id": "a"}})
    data = f'{{\n "resourceType":"Bundle","type":"collection",\n "entry":[\n  {patient},\n  {patient}\n ]}}\n'.encode()
    assert list(split(data)) == [data]
    assert [type(r) for r in read_all(data, TABLE, {})] == [Record]
    line = json.dumps(json.loads(data)).encode() + b"\n"
    assert list(split(line + line)) == [line, line]


def test_known_names_are_found_in_kept_strings_however_they_are_spelt(hiding: Pipeline) -> None:
    """An escape in a kept string hides no name."""
    name = r'"name":[{"family":"M\u00fcller","given":["Zoraida"]}]'
    for kept in (r"M\u00fcller", "Müller", r"Zora\u0069da", r"a\/Zoraida"):
        data = f'{{"resourceType":"Patient","id":"a",{name},"meta":{{"tag":[{{"code":"{kept}"}}]}}}}'.encode()
        out = json.loads(scrubbed(hiding, data))["meta"]["tag"][0]["code"]
        assert not re.search("Müller|Zoraida", out), kept


def test_known_numbers_do_not_stay_where_no_quotes_stand(hiding: Pipeline, surrogates: Pipeline) -> None:
    """A telephone number or a birth date can stand as a whole number; one that is nobody's stays."""
    values = [6175550143, 19470619, 5663, 65663, 6175550142]
    answers = [{"valueInteger": value} for value in values]
    patient = {
        "resourceType": "Patient",
        "id": "a",
        "telecom": [{"system": "phone", "value": "(617) 555-0143"}],
        "birthDate": "1947-06-19",
        "address": [{"postalCode": "65663"}],
    }
    form = {"resourceType": "QuestionnaireResponse", "contained": [patient], "subject": {"reference": "#a"}}
    data = dump({**form, "status": "completed", "item": [{"linkId": "1", "answer": answers}]})
    for pipeline in (hiding, surrogates):
        out = json.loads(scrubbed(pipeline, data))["item"][0]["answer"]
        got = [answer["valueInteger"] for answer in out]
        assert all(isinstance(value, int) for value in got)
        assert values[0] not in got
        assert values[1] not in got
        assert 65663 not in got
        assert (got[2], got[4]) == (values[2], values[4])


def test_names_of_elements_hold_no_number_of_the_person(keeping: Pipeline, surrogates: Pipeline) -> None:
    name = {"id": "CI-2572481-0", "family": "Thornbury", "given": ["Eleanor"]}
    telecom = {"id": "phone-1", "system": "phone", "value": "617-555-0143"}
    data = dump({"resourceType": "Patient", "id": "a", "name": [name], "telecom": [telecom]})
    out = json.loads(scrubbed(surrogates, data))
    assert out["telecom"][0]["id"] == "phone-1"
    assert "2572481" not in out["name"][0]["id"]
    assert out["name"][0]["id"] == json.loads(scrubbed(surrogates, data))["name"][0]["id"]
    assert scrubbed(keeping, data) == data


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


def test_files_of_resources_are_told_by_content() -> None:
    assert begins(b'\xef\xbb\xbf{ "id": "a",\n "resourceType" : "Patient"}')
    assert begins(b'{"resourceType":"Bundle","entry":[{"re')
    assert not begins(b'{"text":"a","meta":{"resourceType":"Patient"}}')
    assert not begins(b'{"text":"resourceType"}')
    # servers that sort members write what is inside of a resource before its type
    sorted_ = b'{"contained": [{"id": "x", "resourceType": "Basic", "name": "a } b"}], "resourceType": "Patient"}'
    assert begins(sorted_)
    assert not begins(sorted_.replace(b'], "resourceType"', b'], "type"'))


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


def test_scrub_and_verify_a_folder(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    shutil.copytree(FOLDER / "export", source)
    runner = CliRunner()
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    result = runner.invoke(app, ["scrub", str(source), str(out), "-q"], env=env)
    assert result.exit_code == 0, result.output
    assert sorted(p.suffix for p in out.iterdir()) == [".ndjson", ".ndjson"]
    assert runner.invoke(app, ["verify", str(source), str(out), "--policy", "surrogate", "-q"], env=env).exit_code == 0
    for path in out.iterdir():
        path.write_bytes(path.read_bytes().replace(b'"status":"current"', b'"status":"entered-in-error"'))
    assert runner.invoke(app, ["verify", str(source), str(out), "--policy", "surrogate", "-q"], env=env).exit_code != 0


def test_what_is_written_is_fhir(surrogates: Pipeline) -> None:
    oracle = pytest.importorskip("fhir.resources.R4B")
    for path in SAMPLES:
        for resource in resources_of(scrubbed(surrogates, path.read_bytes())):
            oracle.get_fhir_model_class(resource["resourceType"]).model_validate(resource)


@pytest.mark.skipif(not HOSPITAL.is_dir(), reason="the hospital's records are not here")
class TestHospital:
    """Synthea's export: ten patients, with notes."""

    @pytest.mark.parametrize("name", [p.name for p in sorted(HOSPITAL.glob("*.ndjson"))])
    def test_identity(self, name: str, keeping: Pipeline) -> None:
        data = b"".join((HOSPITAL / name).read_bytes().splitlines(keepends=True)[:80])
        assert scrubbed(keeping, data) == data

    def test_nothing_is_left_and_references_resolve(self, surrogates: Pipeline) -> None:
        before, after = [], []
        patients = {p["id"]: identifiers(p) for p in resources_of((HOSPITAL / "Patient.000.ndjson").read_bytes())}
        for path in sorted(HOSPITAL.glob("*.ndjson")):
            data = b"".join(path.read_bytes().splitlines(keepends=True)[:25])
            known = known_beside(path, TABLE)
            for number, record in enumerate(read_all(data, TABLE, known)):
                assert isinstance(record, Record)
                written = surrogates(document(record, f"{path.name}/{number}")).document.record
                assert written is not None
                old, new = json.loads(record.data), json.loads(written.data)
                text = "\n".join(strings(new))
                left = {*identifiers(old), *patients.get(record.patient or "", ())}
                assert not [v[:3] for v in left if re.search(rf"(?<!\w){re.escape(v)}(?!\w)", text)]
                before.append(old)
                after.append(new)
        names, found = references(before)
        new_names, new_found = references(after)
        assert [r in names for r in found] == [r in new_names for r in new_found]


@pytest.mark.parametrize(
    ("head", "final", "content"),
    [
        (b'{"resourceType":"Patient","id":"a"}\n{"re', False, "fhir"),
        (b'{\n  "resourceType": "Bundle",\n', False, "fhir-resource"),
        (b'{"resourceType":"DocumentReference","content":[{"attachment":{"data":"QUFB', False, None),
        (b'{"resourceType":"DocumentReference","content":[{"attachment":{"data":"QUFB', True, "fhir"),
        (b'{"text":"resourceType"}\n', False, "json"),
    ],
)
def test_what_a_feed_is_its_beginning_tells(head: bytes, final: bool, content: str | None) -> None:
    assert begins_as(head, final=final) == content


def test_a_feed_goes_on_behind_a_bad_line(tmp_path: Path) -> None:
    good = dump({"resourceType": "Patient", "id": "a1", "name": [{"family": "Thornbury"}]})
    feed = tmp_path / "feed.ndjson"
    feed.write_bytes(good + b'{"resourceType":"Patient","name":[{"family":"Zzy\n' + good)
    out, letters = tmp_path / "out.ndjson", tmp_path / "dead.jsonl"
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    said = ["filter", str(feed), "--output", str(out), "--dead-letters", str(letters), "-q"]
    assert CliRunner().invoke(app, said, env=env).exit_code == 3
    first, second = resources_of(out.read_bytes())
    assert first["id"] == second["id"] != "a1"
    assert b"Thornbury" not in out.read_bytes()
    assert json.loads(letters.read_text())["path"] == "name[0].family"


def test_a_known_name_is_no_place_because_a_model_guesses(surrogates: Pipeline) -> None:
    """All words of one person get one surrogate, in sentences too that let a model think of a city."""
    patient = {"resourceType": "Patient", "id": "p", "name": [{"family": "Quarrington", "given": ["Mabrook"]}]}
    said = {
        "resourceType": "Observation",
        "id": "o",
        "subject": {"reference": "Patient/p"},
        "code": {"text": "Social history"},
        "valueString": "Lives with Mabrook at 19 Hollowmere Row",
    }
    entries = [{"resource": one} for one in (patient, said)]
    bundle = {"resourceType": "Bundle", "id": "b", "type": "collection", "entry": entries}
    first, second = (e["resource"] for e in json.loads(scrubbed(surrogates, dump(bundle)))["entry"])
    assert second["valueString"].startswith(f"Lives with {first['name'][0]['given'][0]} at ")


def test_the_sex_in_the_patients_file_holds_for_the_notes_beside_it(tmp_path: Path, surrogates: Pipeline) -> None:
    """A woman called James has one new name, though lists of names would give the notes another one."""
    name = {"family": "Thornbury", "given": ["James"]}
    (tmp_path / "Patient.ndjson").write_bytes(
        dump({"resourceType": "Patient", "id": "p1", "gender": "female", "name": [name]})
    )
    note = {
        "resourceType": "Observation",
        "id": "o",
        "subject": {"reference": "Patient/p1"},
        "valueString": "James rests",
    }
    (tmp_path / "Observation.ndjson").write_bytes(dump(note))
    files = [tmp_path / "Patient.ndjson", tmp_path / "Observation.ndjson"]
    person, said = (json.loads(scrubbed(surrogates, f.read_bytes(), known_beside(f, TABLE))) for f in files)
    assert said["valueString"] == f"{person['name'][0]['given'][0]} rests"
    alone = json.loads(scrubbed(surrogates, dump(note)))["valueString"]
    assert alone != said["valueString"]
