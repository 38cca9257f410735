"""What a field or element asks stands before its short answer, as a label of a note does, and stays as it is."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from fhir_records import one as resource
from samples import PID, message
from samples import one as of_message

from deid.io import ccda
from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.record import Record

Pairs = tuple[tuple[str, str], ...]
ASKED: Pairs = (
    ("Mother's maiden name", "Quendrith"),
    ("Primary care physician", "Zorblat"),
    ("Employer", "Wexmore Foundry"),
    ("Emergency contact", "Brackenfield"),
    ("Home address", "Lindenfold 12"),
    ("Who is your doctor?", "Thrumbold"),
    ("Color", "Yellow"),
    ("Gram stain", "Moderate growth"),
)
STAYS = {"Yellow", "Moderate growth"}
CODINGS = {"standard": ("LN", "http://loinc.org", "2.16.840.1.113883.6.1"), "local": ("L", "urn:x", "1.2.3.4.5")}


def _hl7(pairs: Pairs, coding: str) -> Record:
    system = CODINGS[coding][0]
    lines = [f"OBX|{n}|ST|{n}00-1^{asked}^{system}||{said}" for n, (asked, said) in enumerate(pairs, 1)]
    return of_message(message(PID, "OBR|1", *lines))


def _fhir(pairs: Pairs, coding: str) -> Record:
    system = CODINGS[coding][1]
    codes = [
        {"coding": [{"system": system, "code": f"{n}00-1", "display": asked}]} for n, (asked, _) in enumerate(pairs)
    ]
    parts = [{"code": code, "valueString": said} for code, (_, said) in zip(codes, pairs, strict=True)]
    first, *rest = parts
    return resource(json.dumps({"resourceType": "Observation", "status": "final", **first, "component": rest}).encode())


def _form(pairs: Pairs, _: str) -> Record:
    items = [
        {"linkId": str(n), "text": asked, "answer": [{"valueString": said}]} for n, (asked, said) in enumerate(pairs)
    ]
    data = json.dumps({"resourceType": "QuestionnaireResponse", "status": "completed", "item": items}).encode()
    return resource(data)


def _cda(pairs: Pairs, coding: str) -> Record:
    system = CODINGS[coding][2]
    entries = "".join(
        f'<entry><observation classCode="OBS" moodCode="EVN"><code code="{n}00-1" codeSystem="{system}" '
        f'displayName="{asked}"/><value xsi:type="ST">{said}</value></observation></entry>'
        for n, (asked, said) in enumerate(pairs, 1)
    )
    data = (
        '<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><component>'
        f"<structuredBody><component><section>{entries}</section></component></structuredBody></component></ClinicalDocument>"
    )
    return ccda.record(data.encode(), "utf-8", None)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("build", [_hl7, _fhir, _form, _cda])
def test_what_is_asked_tells_what_an_answer_is(
    build: Callable[[Pairs, str], Record], coding: str, surrogates: Pipeline
) -> None:
    record = build(ASKED, coding)
    written = surrogates(document(record, "m")).document.record
    assert written is not None
    out = written.data.decode()
    for asked, said in ASKED:
        assert asked in out
        assert (said in out) == (said in STAYS), asked
    assert record.frames(out)


@pytest.mark.parametrize("build", [_hl7, _fhir, _form, _cda])
def test_a_question_is_read_and_never_written(build: Callable[[Pairs, str], Record], hiding: Pipeline) -> None:
    record = build((("Mother's maiden name", "Quendrith"), ("Colour " * 12, "red")), "standard")
    assert "Mother's maiden name: Quendrith\n" in record.text
    assert "Colour: red" not in record.text
    written = hiding(document(record, "m")).document.record
    assert written is not None
    assert "Quendrith" not in written.data.decode()
    assert record.frames(written.data.decode())


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("build", [_hl7, _fhir, _form, _cda])
@pytest.mark.parametrize("size", range(20, 80, 6))
def test_a_scrubbed_record_asks_the_same_however_long_its_answers_are(
    build: Callable[[Pairs, str], Record], coding: str, size: int
) -> None:
    record, other = (build((("Who was told", "x" * n), ("Why", "is it so")), coding) for n in (size, 120 - size))
    assert record.text.replace("x" * size, "x") == other.text.replace("x" * (120 - size), "x")


def test_lines_of_one_text_are_read_on_end() -> None:
    lines = ["She was seen by Dr.", "Quendrith, who stays."]
    note = [f"OBX|{n}|TX|11506-3^Progress note^LN||{line}" for n, line in enumerate(lines, 1)]
    assert "Progress note: She was seen by Dr.\nQuendrith" in of_message(message(PID, *note)).text
