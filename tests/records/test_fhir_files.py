"""Files, folders and feeds of FHIR resources: told by content, scrubbed and verified whole."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from fhir_records import FOLDER, SAMPLES, TABLE, dump, identifiers, references, resources_of, scrubbed, strings
from typer.testing import CliRunner

from deid.base.errors import FormatError
from deid.cli.main import app
from deid.io.records import document
from deid.pipeline import Pipeline
from deid.records.fhir_files import begins, known_beside, read_all, split
from deid.records.record import Record
from deid.streaming.beginning import begins_as

HOSPITAL = Path(__file__).parents[3] / "shared" / "data" / "hospital" / "fhir"


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


def test_files_of_resources_are_told_by_content() -> None:
    assert begins(b'\xef\xbb\xbf{ "id": "a",\n "resourceType" : "Patient"}')
    assert begins(b'{"resourceType":"Bundle","entry":[{"re')
    assert not begins(b'{"text":"a","meta":{"resourceType":"Patient"}}')
    assert not begins(b'{"text":"resourceType"}')
    # servers that sort members write what is inside of a resource before its type
    sorted_ = b'{"contained": [{"id": "x", "resourceType": "Basic", "name": "a } b"}], "resourceType": "Patient"}'
    assert begins(sorted_)
    assert not begins(sorted_.replace(b'], "resourceType"', b'], "type"'))


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
