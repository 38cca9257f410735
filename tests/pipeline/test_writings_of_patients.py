"""A patient's id is read in one way wherever it stands: one person has one shift of dates, whoever scrubs the notes."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from commands import attempt, run

from deid.base.keys import Key
from deid.document import Document
from deid.joint.forgetting import scopes_of
from deid.pipeline import Pipeline
from deid.pipeline.core import Settings
from deid.pipeline.naming import Naming
from deid.pipeline.patients import Patients, Writings, patient_id, writing_of
from deid.replacement.policy import load_policy
from deid.streaming.metrics import exposition
from deid.streaming.totals import Totals

NOTE = "Mr. Zebulon Quartermain was seen on 3 May 2019."
SAID = "patients have ids that differ in blanks, hyphens, leading zeros, case or look-alike signs alone"
OPTIONS = ("--model", "none", "--patient-field", "mrn")
SAME: list[list[Any]] = [[100, "100"], [100, 100.0], ["100", " 100 ", "100.0"], ["Zoë", "Zoe\u0308"]]
TWO: list[list[Any]] = [["MRN-100", "MRN 100"], [7, "007"], ["a1", "A1"], ["100", "\uff11\uff10\uff10"]]


@pytest.fixture(autouse=True)
def _of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEID_KEY", "6b" * 32)


def lines(ids: list[Any]) -> str:
    return "".join(json.dumps({"id": f"n{n}", "mrn": one, "text": NOTE}) + "\n" for n, one in enumerate(ids))


def scrubbed_lines(ids: list[Any]) -> tuple[list[dict[str, Any]], str]:
    Path("in.jsonl").write_text(lines(ids))
    said = run("scrub", "in.jsonl", "out.jsonl", *OPTIONS)
    return [*map(json.loads, Path("out.jsonl").read_text().splitlines())], said


def filtered(ids: list[Any]) -> tuple[list[dict[str, Any]], str]:
    Path("in.jsonl").write_text(lines(ids))
    said = run("filter", "in.jsonl", "-o", "out.jsonl", "--from", "ndjson", *OPTIONS)
    return [*map(json.loads, Path("out.jsonl").read_text().splitlines())], said


def watched(ids: list[Any]) -> tuple[list[dict[str, Any]], str]:
    """Each record in a file of its own."""
    Path("inbox").mkdir()
    for n, line in enumerate(lines(ids).splitlines()):
        Path("inbox", f"{n}.ndjson").write_text(line + "\n")
    asked = ("--once", "--settle", "0", "--from", "ndjson", "--keep", "filename", *OPTIONS)
    said = run("watch", "inbox", "outbox", *asked)
    return [json.loads(path.read_text()) for path in sorted(Path("outbox").glob("*.ndjson"))], said


def served(ids: list[Any]) -> tuple[list[dict[str, Any]], str]:
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    httpx = pytest.importorskip("httpx", reason="httpx is not installed")
    from served import began

    one = began(Path.cwd(), *OPTIONS[2:])
    try:
        headers = {"content-type": "application/x-ndjson"}
        with httpx.Client(base_url=one.url, timeout=60, trust_env=False) as client:
            found = client.post("/scrub", content=lines(ids), headers=headers).text
            gauge = client.get("/metrics").text.split("\ndeid_patients_written_twice ")[1].split()[0]
    finally:
        one.process.terminate()
        said = one.process.communicate(timeout=60)[1].decode()
    assert (float(gauge) > 0) == (SAID in said)
    return [*map(json.loads, found.splitlines())], said


COMMANDS = [scrubbed_lines, filtered, watched, served]


def by_all(pairs: list[list[Any]]) -> list[Any]:
    """Give every pair of ids to every command; to a service, which takes seconds to begin, one by day."""
    return [
        pytest.param(
            command,
            ids,
            marks=() if command is not served else pytest.mark.night if number else pytest.mark.slow,
            id=f"{command.__name__}-{ids!r}",
        )
        for command in COMMANDS
        for number, ids in enumerate(pairs)
    ]


@pytest.mark.parametrize(("command", "ids"), by_all(SAME))
def test_one_person_has_one_shift(command: Callable[[list[Any]], tuple[list[dict[str, Any]], str]], ids: Any) -> None:
    found, said = command([*ids, "another"])
    *own, other = [(record["text"], record["mrn"]) for record in found]
    assert len(own) == len(ids)
    assert len({*own}) == 1
    assert own[0][0] != other[0]
    assert own[0][1] != other[1]
    assert SAID not in said


@pytest.mark.parametrize(("command", "ids"), by_all(TWO))
def test_what_may_be_one_person_is_told(
    command: Callable[[list[Any]], tuple[list[dict[str, Any]], str]], ids: Any
) -> None:
    found, said = command(ids)
    assert len(found) == 2
    assert f"1 {SAID}" in " ".join(said.split())
    assert "Quartermain" not in said
    assert not any(str(one) in said for one in ids if len(str(one)) > 2)


def test_columns_of_numbers_with_gaps_tell_the_patient() -> None:
    """Programs write them as 100.0; without a patient each note would have a shift of its own."""
    columns = {
        "doubles": pa.array([100.0, 100.0, None]),
        "decimals": pa.array([Decimal(100), Decimal(100), None], pa.decimal128(9, 0)),
        "texts": pa.array(["100.0", "100", None]),
    }
    found = {}
    for name, column in columns.items():
        table = pa.table({"id": ["a", "b", "c"], "mrn": column, "text": [NOTE] * 3})
        pa.parquet.write_table(table, f"{name}.parquet")
        run("scrub", f"{name}.parquet", f"{name}-out.parquet", *OPTIONS)
        rows = pa.parquet.read_table(f"{name}-out.parquet").to_pylist()
        found[name] = [(row["text"], row["mrn"]) for row in rows]
        assert found[name][0] == found[name][1] != found[name][2]
        assert found[name][2][1] is None
    assert len({one[0] for one in found.values()}) == 1


def test_what_is_known_of_a_person_is_looked_for_however_the_id_is_written() -> None:
    Path("known.csv").write_text("id,family\n100.0,Zyxquell\n")
    Path("in.jsonl").write_text(json.dumps({"id": "a", "mrn": 100, "text": "was zyxquell in ward four?"}) + "\n")
    run("scrub", "in.jsonl", "out.jsonl", *OPTIONS, "--known", "known.csv")
    assert "zyxquell" not in Path("out.jsonl").read_text().lower()


@pytest.mark.parametrize("value", [None, "", "  ", float("nan"), True, [1], {"a": 1}])
def test_what_is_no_id(value: object) -> None:
    assert patient_id(value) is None
    assert Patients(field_name="mrn").named


def test_what_is_written_of_a_person_is_one_pseudonym() -> None:
    naming = Naming(Key(b"k" * 32), patient_field="mrn")
    ways = [100, 100.0, "100", " 100", "100.0", Decimal(100)]
    assert len({naming.metadata({"mrn": way})["mrn"] for way in ways}) == 1
    assert naming.metadata({"mrn": datetime.date(2020, 1, 31)}) == naming.metadata({"mrn": "2020-01-31"})
    assert naming.metadata({"other": 100.0}) == {"other": None}


def test_ids_are_compared_of_documents_whose_patient_is_known_and_whose_policy_goes_by_it() -> None:
    """The id of a note is none of a patient, however it is written."""
    settings = Settings(gold=True, patients=Patients(field_name="mrn"))
    told = {}
    for policy in ("surrogate", "redact"):
        pipeline = Pipeline(None, load_policy(policy), Key(b"k" * 32), settings)
        for name, mrn in (("A-1", None), ("a 1", None), ("A-1", "M-7"), ("b", "m 7")):
            document = Document(name, "Well.", metadata={"mrn": mrn})
            told[policy, name, mrn] = list(writing_of(pipeline, pipeline(document)))
    assert [key for key, found in told.items() if found] == [("surrogate", "A-1", "M-7"), ("surrogate", "b", "m 7")]
    (one,), (two,) = filter(None, told.values())
    assert one[0] == two[0]
    assert one[1] != two[1]


def test_a_person_is_forgotten_under_both_ways() -> None:
    assert scopes_of("100.0", {"a": "100", "b": "7"}) == {"patient:100.0", "patient:100", "document:a"}


def test_what_is_remembered_of_a_feed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deid.pipeline.patients._REMEMBERED", 10)
    writings = Writings()
    writings.met((n, n) for n in range(1000))
    assert not writings
    writings.met([(0, 5), (999, 5)])  # the first one is long gone
    assert len(writings) == 1
    totals = Totals(writings=writings)
    assert "deid_patients_written_twice 1" in exposition(totals)
    assert totals.settled()[1]["written_twice"] == 1


def test_an_error_of_ids_is_no_error_of_the_run() -> None:
    Path("in.jsonl").write_text(lines(["MRN-100", "MRN 100"]))
    assert attempt("filter", "in.jsonl", "-o", "o.jsonl", "--from", "ndjson", *OPTIONS)[0] == 0
