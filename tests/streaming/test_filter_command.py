"""The commands filter and watch as users run them, with the rules and no model."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import call

from deid.base.errors import ConfigError
from deid.streaming.writing import part_of, resumable_output

Deid = Callable[..., tuple[int, bytes, str]]
NOTE = "Seen by Dr. Alice Baker on 3 May 2019."


@pytest.fixture
def deid(tmp_path: Path) -> Deid:
    def call(*arguments: object, data: bytes = b"") -> tuple[int, bytes, str]:
        shown = subprocess.run(
            [sys.executable, "-m", "deid", *map(str, arguments)],
            input=data,
            capture_output=True,
            cwd=tmp_path,
            check=False,
            timeout=120,
        )
        return shown.returncode, shown.stdout, shown.stderr.decode()

    return call


def test_a_record_is_scrubbed_as_scrub_does_it(deid: Deid, tmp_path: Path) -> None:
    rows = [{"id": f"n{n}", "text": f"{NOTE} {n}", "mrn": 40 + n, "person": f"p{n % 2}"} for n in range(4)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "in.jsonl").write_bytes(data)
    shared = ("--model", "none", "--key-file", "key", "--patient-field", "person", "--keep", "person")
    assert deid("scrub", "in.jsonl", "out.jsonl", *shared, "--spans-field", "")[0] == 0
    status, out, said = deid("filter", "--from", "ndjson", *shared, "--json", "s.json", data=data)
    assert status == 0, said
    assert [json.loads(line) for line in out.splitlines()] == [
        json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()
    ]
    summary = json.loads((tmp_path / "s.json").read_text())
    assert (summary["command"], summary["documents"], summary["failed"]) == ("filter", 4, 0)
    assert summary["categories"] == {"DATE": 4, "DOCTOR": 4}
    assert summary["bytes_read"] == len(data)


def test_a_poison_record_gives_status_3(deid: Deid, tmp_path: Path) -> None:
    data = json.dumps({"note": {"text": NOTE}}).encode() + b'\n{"note": "Alice"}\n'
    files = ("--key-file", "key", "--model", "none", "--policy", "redact", "--dead-letters", "d")
    status, out, said = deid("filter", "--from", "ndjson", "--text-field", "note.text", *files, data=data)
    assert status == 3
    assert json.loads(out)["note"]["text"] == "Seen by Dr. [NAME] on [DATE]."
    assert "1 documents, 1 failed" in said
    assert "Alice" not in said + (tmp_path / "d").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "csv"),
        ("--from", "ndjson", "--delimiter", "nul"),
        ("--from", "ndjson", "--encoding", "cp1252"),
        ("--text-field", "note"),
        ("--patient-field", "person"),
        ("--delimiter", ""),
        ("--max-record", "much"),
        ("--max-record", "0"),
        ("--timeout", "0"),
        ("--jobs", "-1"),
        ("--policy", "none-such"),
        ("--model", "none-such"),
        ("--metrics-port", "99999999"),
        ("--json", "-"),
        ("missing",),
        ("--known-column", "x=y"),
    ],
)
def test_what_cannot_be_done_is_told(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x\n")
    with contextlib.chdir(tmp_path):
        out, err, status, _ = call(["filter", "--key-file", "key", "in", *arguments])
    said = err.decode()
    assert (status, out) == (2, b"")
    assert "error: " in said or "Error" in said
    assert "internal" not in said


@pytest.mark.parametrize("wish", [("--policy", "x"), ("--model", "x")])
def test_what_cannot_be_loaded_is_told_before_anything_is_read(wish: tuple[str, str], tmp_path: Path) -> None:
    """Of a feed that has no record yet, and of one that never has any."""
    arguments = [sys.executable, "-m", "deid", "filter", "--key-file", "key", "-o", "out", *wish]
    with subprocess.Popen(arguments, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(60) == 2
        assert process.stderr is not None
        assert process.stderr.read().startswith((b"error: ", b"created a new key"))
    (tmp_path / "in").touch()
    with contextlib.chdir(tmp_path):
        assert call(["filter", "--key-file", "key", "in", "-o", "out", *wish])[2] == 2
    assert not (tmp_path / "out").exists()


def test_metrics_of_a_running_filter(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "deid", "filter", "--model", "none", "--key-file", "key", "--metrics-port", "0"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    address = ""
    while "http" not in address:
        address = process.stderr.readline()
    process.stdin.write(f"{NOTE}\n")
    process.stdin.flush()
    assert process.stdout.readline()
    text = ""
    for _ in range(100):  # a record is counted once it is written
        with urllib.request.urlopen(address.split()[1], timeout=10) as answer:
            text = answer.read().decode()
        if "deid_records_total 1\n" in text:
            break
        time.sleep(0.05)
    assert "deid_records_total 1\n" in text
    assert 'deid_spans_total{category="DOCTOR"} 1.0\n' in text
    assert "Baker" not in text
    process.stdin.close()
    process.stdout.read()
    process.stderr.read()
    assert process.wait(300) == 0


def test_an_output_that_grows_is_one_process_s_alone(tmp_path: Path) -> None:
    """Also where each has a journal of its own."""
    with resumable_output(tmp_path / "g", 0) as sink:
        sink.write(b"what is there")
        with (
            pytest.raises(ConfigError, match="another process writes this output"),
            resumable_output(tmp_path / "g", 0),
        ):
            pass
        assert part_of(tmp_path / "g").read_bytes() == b"what is there"


def test_watch_takes_what_is_there(deid: Deid, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Baker.txt").write_text(NOTE)
    (tmp_path / "in" / "bad.txt").write_bytes(b"Baker \xff\xfe")
    files = ("--model", "none", "--key-file", "key", "--policy", "redact", "--once", "--settle", "0")
    status, _, said = deid("watch", "in", "out", *files, "--json", "s.json")
    assert status == 3, said
    assert "Baker" not in said
    assert (tmp_path / "in" / "done" / "Baker.txt").exists()
    assert (tmp_path / "in" / "failed" / "bad.txt").exists()
    texts = {path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts == {"Seen by Dr. [NAME] on [DATE]."}  # nothing is left of the other one, so nothing is written
    assert json.loads((tmp_path / "s.json").read_text())["failed_files"] == 1
    assert deid("watch", "in", "out", *files)[0] == 0


def test_nothing_is_said_of_what_is_in_names_fields_and_texts(deid: Deid, tmp_path: Path) -> None:
    planted = ("Zebulon", "Quartermain", "ZQ-77812")
    bad = [
        json.dumps({"id": "ZQ-77812", "text": "Dr. Zebulon Quartermain", "Quartermain": ["Zebulon"]}),
        '{"text": "Zebulon Quartermain", ',
        json.dumps({"id": ["Zebulon"], "text": "Quartermain"}),
        json.dumps({"body": "Zebulon"}),
        json.dumps({"text": "Zebulon\ud800"}),
    ]
    (tmp_path / "in").mkdir()
    for folder in (tmp_path, tmp_path / "in"):
        (folder / "Zebulon Quartermain.jsonl").write_text("\n".join(bad))
    rules = ("--model", "none", "--key-file", "key", "--from", "ndjson", "--json", "s.json")
    files = ("Zebulon Quartermain.jsonl", "--output", "o", "--journal", "j", "--dead-letters", "d")
    runs = [
        ("filter", *files, *rules),
        ("filter", *files, *rules, "--policy", "redact"),
        ("filter", "in", *rules),
        ("filter", *files[:1], "--date-field", "Quartermain", *rules),
        ("watch", "in", "out", "--once", "--settle", "0", *rules),
    ]
    for arguments in runs:
        status, _, said = deid(*arguments)
        assert status in (2, 3), said
        seen = said + (tmp_path / "s.json").read_text() + (tmp_path / "j").read_text() + (tmp_path / "d").read_text()
        seen += " ".join(path.name for path in (tmp_path / "out").iterdir()) if (tmp_path / "out").exists() else ""
        assert not [word for word in planted if word in seen], arguments


RULES = ("--model", "none", "--policy", "redact", "--key-file", "key", "--from", "ndjson")


def test_why_records_are_left_out_is_told_once_a_class(deid: Deid) -> None:
    data = b'{"id": "a", "text": "x", "pat": "p"}\n{"id": "b"}\n{"id": "c"}\n[1]\n'
    status, _, said = deid("filter", *RULES, "--patient-field", "pat", data=data)
    assert status == 3
    assert said.count("name its field with --text-field") == 1


def test_a_misspelt_field_is_told_and_fails_the_run(deid: Deid) -> None:
    data = b'{"id": "a", "text": "x", "pat": "p"}\n{"id": "b", "text": "y", "pat": "q"}\n'
    for options, expected in ((("--patient-field", "pat", "--keep", "id"), 0), (("--keep", "patt"), 3)):
        status, _, said = deid("filter", *RULES, *options, data=data)
        assert status == expected
        assert ("no record has the field patt" in said) == (expected == 3)


def test_results_of_a_watch_keep_the_suffix_of_a_feed(deid: Deid, tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    for name in ("a.ndjson", "b.jsonl", "c.hl7", "Mr.Baker"):
        (tmp_path / "inbox" / name).write_text('{"id": "a", "text": "x"}\n')
    assert deid("watch", "inbox", "outbox", *RULES, "--once", "--settle", 0)[0] == 0
    written = sorted(path.suffix for path in (tmp_path / "outbox").iterdir() if path.name.startswith("doc-"))
    assert written == ["", ".hl7", ".jsonl", ".ndjson"]
