"""A worker's answer to a stretch does not depend on whether its records are done in step or one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from recipes import KEY

from deid.pipeline.options import PipelineOptions
from deid.records.hl7v2 import BORDER, BORDER_BYTES
from deid.streaming.framing import Delimited, Framing, delimited, whole
from deid.streaming.people import Before
from deid.streaming.work import PipelineRecipe, Reply, Request, Shape, Work

RECORDS = Path(__file__).resolve().parents[2] / "corpora" / "records"
SAID = "Seen by Dr. Alice Baker on 3/4/2019; wife Zoe Quartermain called. MRN: 4711203"


def _fhir() -> Iterator[bytes]:
    """A note of somebody, then who that is, then the note again, which knows him now; and other people's."""
    exported = RECORDS / "fhir" / "export"
    notes, people = ((exported / f"{name}.ndjson").read_bytes() for name in ("DocumentReference", "Patient"))
    yield from (notes, people, notes)


FEEDS: dict[str, tuple[Framing, list[bytes]]] = {
    "text": (
        delimited("line"),
        [*(f"{SAID}{n}\n".encode() for n in range(40)), b"\n", b'{"text": "no"}\n', b"\xff\xfe\n"],
    ),
    "json": (
        delimited("line"),
        [json.dumps({"id": f"n{n}", "text": f"{SAID}{n}", "ward": "W"}).encode() + b"\n" for n in range(40)]
        + [b"{]\n"],
    ),
    "hl7v2": (Delimited(BORDER, BORDER_BYTES), [(RECORDS / "hl7v2" / "reports.hl7").read_bytes()] * 3),
    "ccda": (whole(), [(RECORDS / "ccda" / "visit.xml").read_bytes()]),
    "fhir": (delimited("line"), list(_fhir())),
}


def _reply(content: str, framing: Framing, data: bytes) -> Reply:
    recipe = PipelineRecipe(KEY, PipelineOptions(policy="surrogate"))
    before = Before(0) if content == "fhir" else None
    work = Work(recipe, Shape(framing, content, drift=True, add_id=content == "json"))
    return work(Request(1, 100, len(data), data, content, before=before))


@pytest.mark.parametrize("content", FEEDS)
def test_in_step_and_one_by_one_are_the_same(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    framing, records = FEEDS[content]
    data = b"".join(records)
    together = _reply(content, framing, data)
    monkeypatch.setattr("deid.streaming.work.in_step", lambda work, items: [work(item) for item in items])
    assert together == _reply(content, framing, data)
    assert together.records
    assert b"Baker" not in together.output
    assert bool(together.letters) == (content in ("text", "json"))
