"""Resources of FHIR for tests: samples, scrubbing them, and what stands in them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.fhir import read
from deid.records.fhir_files import read_all, split
from deid.records.record import Record
from deid.records.tables import load_table

TABLE = load_table("fhir-r4")

FOLDER = Path(__file__).parents[2] / "corpora" / "records" / "fhir"

SAMPLES = sorted(FOLDER.rglob("*.*json"))

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
