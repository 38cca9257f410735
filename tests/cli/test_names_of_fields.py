"""Names of columns and fields stay: where one may be of somebody, every command that keeps it says so, without it."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pandas as pd
import pytest
from commands import run
from served import began

TELLING = {
    "Rose Quellwater": "a name",
    "mary_smith": "a name",
    "Dr. Ann Marie Jones": "a name",
    "4711203": "a number",
    "MRN 4711203": "a number",
    "2019-03-14": "a day",
    "(217) 555-0142": "a telephone",
    "rose@home.org": "an address",
}
PLAIN = ["patient", "age", "visit_2019", "q1", "BP_systolic", "2019", "April", "Hodgkin", "hospital_name", "dx10"]
TEXT = "Seen in clinic today, blood pressure is better."


def write(path: Path, fields: list[str]) -> Path:
    row = {"id": "n1", **dict.fromkeys(fields, "x"), "text": TEXT}
    frame = pd.DataFrame([row, {**row, "id": "n2"}])
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def scrub(path: Path) -> tuple[str, dict[str, int]]:
    told = path.with_suffix(".told")
    said = run("scrub", path, path.with_name(f"out{path.suffix}"), "--model", "none", "--json", told)
    return said + path.with_name(f"out{path.suffix}.manifest.json").read_text(), _fields(told)


def feed(path: Path) -> tuple[str, dict[str, int]]:
    told = path.with_suffix(".told")
    out = ("-o", path.with_name("out"))
    said = run("filter", path, "--from", "ndjson", "--model", "none", "--json", told, *out)
    return said, _fields(told)


def watch(path: Path) -> tuple[str, dict[str, int]]:
    inbox, told = path.parent / "in", path.with_suffix(".told")
    inbox.mkdir()
    path.rename(inbox / path.name)
    out = path.parent / "out"
    said = run("watch", inbox, out, "--once", "--settle", 0, "--from", "ndjson", "--model", "none", "--json", told)
    return said, _fields(told)


def generalize(path: Path) -> tuple[str, dict[str, int]]:
    told, out = path.with_suffix(".told"), path.with_name(f"out{path.suffix}")
    said = run("generalize", path, out, "--plausible", 2, "--json", told)
    return said + path.with_name(f"{out.name}.manifest.json").read_text(), _fields(told)


def service(path: Path) -> tuple[str, dict[str, int]]:
    told = path.with_suffix(".told")
    served = began(path.parent, "--json", told.name, "--manifest", "served.json")
    with served.client("") as client:
        client.post("/scrub", content=path.read_bytes(), headers={"content-type": "application/x-ndjson"})
    served.process.send_signal(signal.SIGTERM)
    said = served.process.communicate()[1].decode()
    return said + "".join(one.read_text() for one in path.parent.glob("served*.json")), _fields(told)


def _fields(told: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(told.read_text())["telling_fields"]
    return found


WAYS = [
    *((scrub, suffix) for suffix in (".csv", ".tsv", ".parquet", ".jsonl")),
    (feed, ".jsonl"),
    (watch, ".jsonl"),
    *((generalize, suffix) for suffix in (".csv", ".parquet", ".jsonl")),
    (service, ".jsonl"),
]


@pytest.mark.parametrize(("way", "suffix"), WAYS, ids=lambda part: getattr(part, "__name__", part))
def test_names_of_fields_that_may_be_of_somebody_are_told(tmp_path: Path, way: object, suffix: str) -> None:
    fields = ["age", *TELLING]
    said, found = way(write(tmp_path / f"notes{suffix}", fields))  # type: ignore[operator]
    assert found == {str(number): 2 for number in range(2, len(fields) + 1)}
    assert f"{2 * len(TELLING)} names of fields or columns" in said
    assert not [name for name in TELLING if name in said]


def test_a_release_of_tables_and_notes_tells_of_names_of_fields(tmp_path: Path) -> None:
    write(tmp_path / "notes.jsonl", ["mrn", *TELLING])
    (tmp_path / "people.csv").write_text("mrn,sex\nx,F\n")
    notes, table = '[notes]\npath = "notes.jsonl"\npatient_field = "mrn"\n', '[tables.people]\npath = "people.csv"\n'
    columns = 'patient = "mrn"\n[tables.people.columns]\nsex = "other"\n'
    (tmp_path / "plan.toml").write_text(f'policy = "surrogate"\n{notes}{table}{columns}')
    said = run("release", tmp_path / "plan.toml", tmp_path / "out", "--model", "none")
    assert f"{2 * len(TELLING)} names of fields or columns" in said
    assert not [name for name in TELLING if name in said]


@pytest.mark.parametrize(("way", "suffix"), WAYS, ids=lambda part: getattr(part, "__name__", part))
def test_of_other_names_of_fields_nothing_is_told(tmp_path: Path, way: object, suffix: str) -> None:
    said, found = way(write(tmp_path / f"notes{suffix}", PLAIN))  # type: ignore[operator]
    assert found == {}
    assert "names of fields" not in said
