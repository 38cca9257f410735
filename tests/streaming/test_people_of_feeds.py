"""Persons of a feed of FHIR are known to later records about them, however the feed is cut and whoever works on it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.keys import Key
from deid.cli.main import app
from deid.records.tables import load_table
from deid.streaming import people
from deid.streaming.framing import delimited
from deid.streaming.people import FeedPeople, KnownAhead
from deid.streaming.reading import Reader, Stretch, singles
from deid.streaming.work import Shape

TABLE = load_table("fhir-r4")
SHAPE = Shape(delimited("line"), "fhir")


def person(id: str, family: str, **more: Any) -> dict[str, Any]:
    return {"resourceType": "Patient", "id": id, "name": [{"family": family, "given": ["Ada"]}], **more}


def note(id: str, text: str) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {
        "resourceType": "DocumentReference",
        "subject": {"reference": f"Patient/{id}"},
        "content": [{"attachment": {"contentType": "text/plain", "data": data}}],
    }


def dump(*resources: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in resources)


def texts(data: bytes) -> list[str]:
    """Return the texts of the notes among resources."""
    said = [json.loads(line) for line in data.splitlines()]
    held = [one["content"][0]["attachment"]["data"] for one in said if "content" in one]
    return [base64.b64decode(one).decode() for one in held]


FEED = [
    person("p1", "Zyxquell"),
    note("p1", "was zyxquell in ward 4?"),
    {"resourceType": "RelatedPerson", "patient": {"reference": "Patient/p1"}, "name": [{"family": "Quibbleton"}]},
    note("p2", "was zyxquell in ward 4?"),
    note("p1", "was quibbleton in ward 5?"),
]


@pytest.fixture
def filtered(tmp_path: Path) -> Callable[..., list[str]]:
    """Return what filters a file, and returns the texts of its notes."""
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}

    def run(source: Path) -> list[str]:
        out = tmp_path / "out"
        out.unlink(missing_ok=True)
        said = ["filter", "--model", "none", "--policy", "redact", str(source), "--output", str(out)]
        result = CliRunner().invoke(app, said, env=env)
        assert result.exit_code == 0, result.stderr
        return texts(out.read_bytes())

    return run


def test_persons_of_a_feed_are_known_to_later_records_of_theirs(tmp_path: Path, filtered: Callable) -> None:
    (tmp_path / "in.ndjson").write_bytes(dump(*FEED))
    alone = filtered(tmp_path / "in.ndjson")
    assert alone == ["was [NAME] in ward 4?", "was zyxquell in ward 4?", "was [NAME] in ward 5?"]
    (tmp_path / "in.ndjson").write_bytes(dump(*reversed(FEED)))
    assert filtered(tmp_path / "in.ndjson")[0] == "was quibbleton in ward 5?"


def test_the_patients_file_beside_is_known(tmp_path: Path, filtered: Callable) -> None:
    (tmp_path / "DocumentReference.ndjson").write_bytes(dump(FEED[1]))
    (tmp_path / "Patient.000.ndjson").write_bytes(dump(FEED[0]))
    assert filtered(tmp_path / "DocumentReference.ndjson") == ["was [NAME] in ward 4?"]


def test_a_watched_folder_knows_the_patients_that_are_done(tmp_path: Path) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    for number, (name, one) in enumerate((("Patient.ndjson", FEED[0]), ("Notes.ndjson", FEED[1]))):
        (inbox / name).write_bytes(dump(one))
        os.utime(inbox / name, (number, number))
        said = ["watch", str(inbox), str(outbox), "--once", "--settle", "0", "--keep", "filename", "--policy", "redact"]
        result = CliRunner().invoke(app, [*said, "--model", "none"], env=env)
        assert result.exit_code == 0, result.stderr
    assert (inbox / "done" / "Patient.ndjson").exists()
    assert texts((outbox / "Notes.ndjson").read_bytes()) == ["was [NAME] in ward 4?"]


RECORDS = st.lists(
    st.one_of(
        st.builds(person, st.sampled_from("abc"), st.sampled_from(["Alder", "Birch", "Cedar"])),
        st.builds(note, st.sampled_from("abc"), st.just("well")),
        st.just({"resourceType": "Bundle", "entry": [{"resource": person("a", "Nobody")}]}),
    ),
    max_size=12,
)


@given(RECORDS, st.lists(st.integers(0, 12), max_size=4), st.integers(100, 500))
def test_what_is_known_does_not_depend_on_how_a_feed_is_cut(records: list[Any], cuts: list[int], held: int) -> None:
    lines = [dump(one) for one in records]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "HELD", held)

        def known(borders: list[int]) -> list[Any]:
            """Return what is known of the patients when each record is read."""
            reader, found = FeedPeople(), []
            for start, end in zip([0, *borders], [*borders, len(lines)], strict=True):
                data = b"".join(lines[start:end])
                before = reader.before(data)
                for piece in singles(Stretch(0, len(data), data, before=before), data, SHAPE):
                    assert piece.data is not None
                    assert piece.before is not None
                    patient = json.loads(piece.data).get("subject", {}).get("reference", "/a")[8:]
                    found.append(KnownAhead(piece.before, TABLE).get(patient, ()) if b'"subject"' in piece.data else ())
                own = KnownAhead(before, TABLE)
                for number, line in enumerate(lines[start:end], start):
                    patient = json.loads(line).get("subject", {}).get("reference", "")[8:]
                    if patient:
                        assert own.get(patient, ()) == found[number]
                    own.add(line.rstrip(b"\n"))
                reader.add_all(data, SHAPE.framing, SHAPE.max_record)
            return found

        borders = sorted(min(cut, len(lines)) for cut in cuts)
        assert known(borders) == known([])


def test_a_run_that_goes_on_knows_whom_it_has_met(tmp_path: Path) -> None:
    data = dump(*FEED)
    (tmp_path / "in").write_bytes(data)
    with (tmp_path / "in").open("rb") as stream:
        reader = Reader(stream.fileno(), SHAPE, Key(b"k" * 32))
        reader.people = FeedPeople()
        reader.pass_on(len(dump(*FEED[:3])))
    before = reader.people.before(data)
    assert [name for name, _, _ in before.persons] == ["p1", "p1"]
    assert ("PATIENT", "Zyxquell, Ada") in KnownAhead(before, TABLE)["p1"]
