"""An identifier planted in every element and attribute of a clinical document: none is left but in codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

import pytest

from deid.io.ccda import record
from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.tables import Inner, Rule, load_table

TABLE = load_table("ccda")
ROOT = (
    'ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
SKIPPED = ("#comment", "#instruction", "@xsi", "@xml", "@classCode", "@nullFlavor")


def word(n: int) -> str:
    """Return the n-th of many words that are no words."""
    signs = "bdfgklmnprtvz"
    return f"Zo{signs[n % 13]}u{signs[n // 13 % 13]}a{signs[n // 169 % 13]}th"


def scrubbed(pipeline: Pipeline, data: str) -> str:
    written = pipeline(document(record(data.encode(), "utf-8", None), "d")).document.record
    assert written is not None
    ET.fromstring(written.data)
    return written.data.decode()


Plant = Callable[[int], tuple[str, str]]
PLANTS: dict[str, tuple[Plant, set[str]]] = {
    # what stands in the n-th place, and what of it may not be left; kinds of places that only a code or number fits
    "sentence": (lambda n: (f"Seen by Dr. {word(n)} and her son today.", word(n)), set()),
    "registry": (lambda n: (f"552-{10 + n // 9000}-{1000 + n % 9000}",) * 2, set()),
    "e-mail": (lambda n: (f"{word(n)}@mailhost.example", word(n)), set()),
    "name": (lambda n: (f"Quillian {word(n)}", word(n)), {"keep", "structure"}),
    "number": (lambda n: (f"{73519040 + 7919 * n}",) * 2, {"keep", "structure", "code", "number", "age"}),
}


class Planter:
    """Makes a document with something in each place; the parts of a type once in all."""

    def __init__(self, plant: Plant, stays: set[str]) -> None:
        self.plant, self.stays = plant, stays
        self.seen: set[Inner] = set()
        self.secrets: dict[str, str] = {}

    def element(self, name: str, rules: dict[str, Rule], path: str) -> str:
        attributes, inside = "", ""
        for key, rule in rules.items():
            here = f"{path}/{key}"
            if isinstance(rule, Inner) and rule not in self.seen:
                self.seen.add(rule)
                inside += self.element(key, dict(TABLE.parts(rule)), here)
            elif isinstance(rule, str) and rule not in self.stays and not key.startswith(SKIPPED):
                said, secret = self.plant(len(self.secrets))
                self.secrets[secret] = here
                if key[0] == "@":
                    attributes += f" {key[1:]}={quoteattr(said)}"
                else:
                    inside += escape(said) if key[0] == "#" else f"<{key}>{escape(said)}</{key}>"
        return f"<{name}{attributes}>{inside}</{name.split()[0]}>"


@pytest.mark.parametrize("shape", PLANTS)
def test_nothing_planted_in_any_place_is_left(shape: str, surrogates: Pipeline) -> None:
    planter = Planter(*PLANTS[shape])
    said = planter.element(ROOT, dict(TABLE.rules("ClinicalDocument")), "")
    for name, lines in TABLE.types.items():  # those that another attribute names, too
        if lines[0].keys != ("ALL",) and (rule := Inner(name, "PATIENT")) not in planter.seen:
            planter.seen.add(rule)
            inner = planter.element("value", dict(TABLE.parts(rule)), name).replace(
                "<value", f'<value xsi:type="{name}"', 1
            )
            entry = f"<component><structuredBody><component><section><entry><observation>{inner}</observation></entry>"
            said = said.replace(
                "</ClinicalDocument>", f"{entry}</section></component></structuredBody></component></ClinicalDocument>"
            )
    assert len(planter.secrets) > 60
    out = scrubbed(surrogates, said)
    left = set(re.findall("|".join(map(re.escape, planter.secrets)), out))
    assert not {planter.secrets[secret] for secret in left}


# ruff: noqa: E501  (a document as vendors write it)
VENDORS = """<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc">
<id root="1.2.840.114350.1.13.8812.2" extension="00771204-CCD"/><title>CCD of QUARRINGTON, WILHELMINA (00771204)</title>
<effectiveTime value="20240312094500-0500"/>
<recordTarget><patientRole><id root="1.2.840.114350.1.13.8812" extension="00771204"/><id root="2.16.840.1.113883.4.1" extension="552-12-3344"/>
<addr use="HP"><streetAddressLine>17 Thistledown Ln</streetAddressLine><city>Northfield</city><state>VT</state><postalCode>05663</postalCode></addr>
<telecom use="HP" value="tel:+1-802-555-0148"/><telecom value="mailto:wquarrington@mailhost.example"/>
<patient><name use="L"><given>Wilhelmina</given><given qualifier="IN">R</given><family>Quarrington</family></name><name use="P">Willa Quarrington</name>
<birthTime value="19470619"/><guardian><guardianPerson><name><given>Barnaby</given><family>Quarrington</family></name></guardianPerson></guardian></patient></patientRole></recordTarget>
<author><time value="20240312"/><assignedAuthor><id root="2.16.840.1.113883.4.6" extension="1184620145"/><assignedPerson><name>Ostrander, Philippa MD</name></assignedPerson></assignedAuthor></author>
<informant><relatedEntity classCode="PRS"><code code="CHILD" displayName="Daughter Thessaly"/><relatedPerson><name><given>Thessaly</given><family>Quarrington</family></name></relatedPerson></relatedEntity></informant>
<component><structuredBody><component><section><title>Social History for Wilhelmina</title>
<text><table ID="t00771204" summary="Quarrington history"><caption>Insurance of WILHELMINA QUARRINGTON</caption><thead><tr><th>Group</th><th>Member</th></tr></thead>
<tbody><tr ID="r1"><td ID="group1">Group: 55012</td><td>XVT881234567</td></tr><tr><td>Lives with Barnaby</td><td>(802) 555-0148</td></tr></tbody></table>
<footnote>entered by P. Ostrander</footnote></text>
<entry><observation><id root="5a0f3c1e-77b2-4c59-9d0e-2f6b8c1d4e01"/><code code="8812" codeSystem="1.2.840.114350.1.13.8812.5.737384" codeSystemName="Northfield EPIC" displayName="Seen by Ostrander"><originalText><reference value="#group1"/></originalText></code>
<text><reference value="#group1"/></text><value xsi:type="ST" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">call Thessaly 802-555-0133</value></observation></entry>
</section></component></structuredBody></component></ClinicalDocument>"""


def test_habits_of_vendors_leave_nobody_s_identifiers(surrogates: Pipeline) -> None:
    out = scrubbed(surrogates, VENDORS)
    said = (
        "Quarrington Wilhelmina Willa Barnaby Thessaly Ostrander Philippa Thistledown 05663 555-0148 555-0133 00771204 "
    )
    said += "55012 881234567 1184620145 552-12-3344 19470619 20240312 114350 wquarrington"
    assert not [one for one in said.split() if one.lower() in out.lower()]
    assert set(re.findall('value="(#[^"]*)"', out)) == {"#group1"}
    assert 'ID="group1"' in out


def test_what_a_documents_headings_say_stays(surrogates: Pipeline) -> None:
    path = Path(__file__).parents[2] / "corpora" / "records" / "ccda" / "visit.xml"
    assert re.search("<th>Finding</th><th>Since</th>", scrubbed(surrogates, path.read_text("utf-8")))
