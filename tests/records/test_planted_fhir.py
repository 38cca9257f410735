"""An identifier planted in every element of every resource and data type of FHIR: none is left but in codes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records import fhir
from deid.records.tables import ByName, Inner, Rule, load_table

TABLE = load_table(fhir.STANDARD)


def word(n: int) -> str:
    """Return the n-th of many words that are no words."""
    signs = "bdfgklmnprtvz"
    return f"Zo{signs[n % 13]}u{signs[n // 13 % 13]}a{signs[n // 169 % 13]}th"


Plant = Callable[[int], tuple[str, str]]
PLANTS: dict[str, tuple[Plant, set[str]]] = {
    # what stands in the n-th element, and what of it may not be left; kinds of places that only a code or number fits
    "sentence": (lambda n: (f"Seen by Dr. {word(n)} and her son today.", word(n)), set()),
    "registry": (
        lambda n: (f"552-{10 + n // 9000}-{1000 + n % 9000}", f"552-{10 + n // 9000}-{1000 + n % 9000}"),
        set(),
    ),
    "number": (lambda n: (f"{73519040 + 7919 * n}",) * 2, {"keep", "code", "number", "age"}),
}


class Planter:
    """Makes resources with something in each element; the elements of a data type once in all."""

    def __init__(self, plant: Plant, stays: set[str]) -> None:
        self.plant, self.stays = plant, stays
        self.seen: set[Inner] = set()
        self.secrets: dict[str, str] = {}

    def object(self, rules: dict[str, Rule], path: str) -> dict[str, Any]:
        found = {name: self.value(rule, f"{path}.{name}") for name, rule in rules.items() if name != "resourceType"}
        return {name: value for name, value in found.items() if value is not None}

    def value(self, rule: Rule, path: str) -> Any:
        if isinstance(rule, Inner):
            if rule in self.seen or rule.name == "Extension":
                return None
            self.seen.add(rule)
            return self.object(dict(TABLE.parts(rule)), path) or None
        if rule in ("resource", *self.stays) or (isinstance(rule, ByName) and path.endswith("multipleBirth")):
            return None
        said, secret = self.plant(len(self.secrets))
        self.secrets[secret] = path
        return base64.b64encode(said.encode()).decode() if rule == "data" else said


@pytest.mark.parametrize("shape", PLANTS)
def test_nothing_planted_in_any_element_is_left(shape: str, surrogates: Pipeline) -> None:
    planter = Planter(*PLANTS[shape])
    out = []
    for name in TABLE.heads:
        if name == "*":
            continue
        body = {"resourceType": name, **planter.object(dict(TABLE.rules(name)), name)}
        written = surrogates(document(fhir.read(json.dumps(body).encode(), TABLE), "r")).document.record
        assert written is not None
        json.loads(written.data)
        out.append(written.data.decode())
    assert len(planter.secrets) > 1000
    left = set(re.findall("|".join(map(re.escape, planter.secrets)), "\n".join(out)))
    assert not {planter.secrets[secret] for secret in left}


def test_what_kept_objects_and_codes_say_of_the_record_s_persons_is_found(surrogates: Pipeline) -> None:
    patient = {
        "resourceType": "Patient",
        "id": "p1",
        "name": [{"family": "Quarrington", "given": ["Wilhelmina"]}],
        "meta": {
            "tag": [{"system": "http://northfield-hospital.org/tags", "code": "quarrington", "display": "Quarrington"}],
            "security": [{"system": "http://northfield-hospital.org/labels", "display": "seen by Dr. Strickland"}],
        },
    }
    written = surrogates(document(fhir.read(json.dumps(patient).encode(), TABLE), "r")).document.record
    assert written is not None
    assert not re.search("quarrington|northfield|strickland", written.data.decode(), re.IGNORECASE)


@pytest.mark.parametrize("said", ["Zofubath", "https://server.example/fhir/Zofubath"])
def test_a_reference_to_no_resource_of_fhir_is_a_number(said: str, surrogates: Pipeline) -> None:
    body = {"resourceType": "Observation", "subject": {"reference": said}}
    written = surrogates(document(fhir.read(json.dumps(body).encode(), TABLE), "r")).document.record
    assert written is not None
    assert "Zofubath" not in written.data.decode()
