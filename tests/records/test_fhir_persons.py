"""Persons of FHIR: one has the same names, numbers and shift wherever they stand, known from fields and files."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import run
from fhir_records import (
    FOLDER,
    SAMPLES,
    TABLE,
    dump,
    identifiers,
    one,
    references,
    resources_of,
    scrubbed,
    strings,
)

from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.fhir_files import known_beside, read_all
from deid.records.record import Record
from deid.replacement.pools import name_pool


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
