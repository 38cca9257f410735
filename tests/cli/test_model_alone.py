"""A number needs a reading of its category whoever proposed it: also a model without rules, in every command.

Law: clinical values that the model alone takes for identifiers stay as they are, and are no spans; an identifier that
it sees, wide gaps between its groups or not, is found.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from commands import run
from senders import Sender, code, message, output, relay
from test_laws_of_commands import COMMANDS_THAT_RUN, options

from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.pipeline.options import PipelineOptions
from deid.streaming.arrow import KeyPlace, ScrubBatch, TagBatch, columns_of
from deid.streaming.work import PipelineRecipe
from deid.web.worker import Task, Worker

VALUES = ["Platelets 212 198 240 251", "Pulse\t88\t92\t90\t84", "Weights: 81 82 80 79 78 kg"]
IDENTIFIERS = ["533\t20\t9418", "12   03   2019", "617   555   0143"]
SENTENCES = "SSN\t{}\nSeen {} in clinic\nHome phone   {}\n"
TEXT = "\n".join([*VALUES, SENTENCES.format(*IDENTIFIERS)])
ALONE = ("--model", "en", "--no-rules")
BREAK = "\\.br\\"  # of lines in HL7


def placed(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with its spans taken out."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + "*" + text[end:]
    return text


def note(folder: Path) -> Path:
    (folder / "in").mkdir()
    (folder / "in" / "n1.txt").write_text(TEXT)
    return folder / "in"


def scrub(folder: Path) -> str:
    run("scrub", note(folder), folder / "out", *ALONE, "--policy", "redact", "--keep", "filename")
    return (folder / "out" / "n1.txt").read_text()


def verify(folder: Path) -> str:
    left = scrub(folder)
    run("verify", folder / "in", folder / "out", *ALONE, "--policy", "redact")
    return left


def watch(folder: Path) -> str:
    run("watch", note(folder), folder / "out", "--once", *ALONE, "--policy", "redact")
    return next((folder / "out").rglob("*.txt")).read_text()


def filter_(folder: Path) -> str:
    run("filter", "--from", "whole", note(folder) / "n1.txt", "-o", folder / "out.txt", *ALONE, "--policy", "redact")
    return (folder / "out.txt").read_text()


def relay_(folder: Path) -> str:
    (folder / "key").write_text("6b" * 32)
    (folder / "key").chmod(0o600)
    options = ("--output", folder / "out", "--policy", "redact")
    with relay(folder, *options, model=ALONE) as running, Sender(running.port) as sender:
        assert code(sender.ask(message(1, text=TEXT.replace("\n", BREAK))))[0] == "AA"
    return output(folder / "out").decode().replace(BREAK, "\n").partition("^LN||")[2]


def serve_(folder: Path) -> str:
    pipeline = PipelineRecipe(Key(b"k" * 32), PipelineOptions(model="en", rules=False, policy="redact"))
    return Worker(pipeline, 60)(Task("scrub", "text", TEXT.encode())).body.decode()


def spark_scrub(folder: Path) -> str:
    (folder / "key").write_text("6b" * 32)
    (folder / "key").chmod(0o600)
    options = PipelineOptions(model="en", rules=False, policy="redact")
    columns = columns_of(("id", "text"), None, None)
    batch = ScrubBatch(names=("id", "text"), columns=columns, key=KeyPlace.of(folder / "key"), options=options)
    return str(batch(pa.RecordBatch.from_pylist([{"id": "a", "text": TEXT}])).column("text")[0])


def spark_tag(folder: Path) -> str:
    columns = columns_of(("id", "text"), None, None)
    batch = TagBatch(names=("id", "text"), columns=columns, options=RecognizerOptions(model="en", rules=False))
    (spans,) = batch(pa.RecordBatch.from_pylist([{"id": "a", "text": TEXT}])).column("spans").to_pylist()
    return placed(TEXT, [(s["start"], s["end"]) for s in spans])


def tag(folder: Path) -> str:
    run("tag", note(folder), folder / "out", *ALONE, "--to", "jsonl")
    told = json.loads(next((folder / "out").rglob("*.jsonl")).read_text())
    return placed(TEXT, [(s["start"], s["end"]) for s in told["spans"]])


def explain(folder: Path) -> str:
    run("explain", note(folder) / "n1.txt", *ALONE, "--json", folder / "told.json")
    told = json.loads((folder / "told.json").read_text())
    assert "unreadable" in {reason["fate"] for reason in told["loose"]}
    return placed(TEXT, [(s["start"], s["end"]) for s in told["spans"]])


def extract(folder: Path) -> str:
    run("extract", note(folder), folder / "view.csv", *ALONE)
    with (folder / "view.csv").open() as lines:
        cells = " ".join(cell for row in list(csv.reader(lines))[1:] for cell in row)
    assert not any(value in cells for value in ("138", "350", "81 82"))
    return "\n".join(VALUES)


def release(folder: Path) -> str:
    note(folder)
    (folder / "notes.csv").write_text("document,patient\nn1,7\n")
    (folder / "t.csv").write_text("pid,age,dx\n7,50,a\n8,50,a\n")
    (folder / "plan.toml").write_text(
        'k = 2\npolicy = "redact"\n[notes]\npath = "in"\npatients = "notes.csv"\n'
        '[tables.t]\npath = "t.csv"\npatient = "pid"\n[tables.t.columns]\nage = "quasi-identifier"\ndx = "sensitive"\n'
    )
    run("release", folder / "plan.toml", folder / "out", *ALONE)
    return next((folder / "out").rglob("*.txt")).read_text()


WRITTEN: dict[str, Callable[[Path], str]] = {
    "scrub": scrub,
    "verify": verify,
    "watch": watch,
    "filter": filter_,
    "relay": relay_,
    "serve": serve_,
    "spark scrub": spark_scrub,
    "spark tag": spark_tag,
    "tag": tag,
    "explain": explain,
    "extract": extract,
    "release": release,
}
MEASURED = {"calibrate", "experiment hips", "experiment robustness"}
"""Commands that write figures alone."""


def test_the_model_alone_proposes_what_is_no_identifier() -> None:
    proposed = build_recognizer(RecognizerOptions(rules=False))._members[0]
    assert all(proposed.find(Document("n", line)) for line in VALUES)


def test_every_command_that_takes_a_model_alone_is_here() -> None:
    assert {name for name in COMMANDS_THAT_RUN if "--no-rules" in options(name)} == {*WRITTEN, *MEASURED}


@pytest.mark.parametrize("name", WRITTEN)
def test_values_stay_and_identifiers_do_not(name: str, tmp_path: Path) -> None:
    left = WRITTEN[name](tmp_path)
    assert left.splitlines()[: len(VALUES)] == VALUES
    assert not any(identifier in left for identifier in IDENTIFIERS)
