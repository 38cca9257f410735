"""One bad row, cell or document never stops another, nor takes down a run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from commands import attempt

from deid.base.errors import ConfigError, DetectionError, FormatError, InputError
from deid.detection.dial import read_dial
from deid.document import Document, Failure
from deid.io import Options, read, scan
from deid.pipeline.edit_log import read_edit_log
from deid.pipeline.workers import Timed, process

pyarrow = pytest.importorskip("pyarrow")
NOTE = "Seen by Dr. Alice Baker on 3 May 2019."


def _table(path: Path, column: str = "text", bad: object = None) -> None:
    import pyarrow.parquet

    texts = [f"{NOTE} a", f"{NOTE} XYXY", f"{NOTE} c"]
    times = pyarrow.array([1, 2**60 if bad == "day" else 2, 3], pyarrow.int64())
    days = times.cast(pyarrow.timestamp("ms"), safe=False)
    table = pyarrow.table({"id": [f"{path.stem}{n}" for n in range(3)], column: texts, "day": days})
    pyarrow.parquet.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    data = path.read_bytes()
    if bad == "text":
        path.write_bytes(data.replace(b"XYXY", b"\xff\xfe\xfd\xfc"))
    elif bad == "name":
        path.write_bytes(data.replace(b"nameofit", b"\xff\xfe\xfd\xfcofit"))


@pytest.mark.parametrize("command", ["scrub", "tag", "convert", "extract"])
@pytest.mark.parametrize("bad", ["text", "day"])
def test_a_bad_cell_fails_its_row_alone(command: str, bad: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    _table(tmp_path / "in" / "a.parquet", bad=bad)
    _table(tmp_path / "in" / "b.parquet")
    items = list(read(tmp_path / "in"))
    assert [isinstance(item, Failure) for item in items] == [False, True, False, False, False, False]
    more = {
        "scrub": ("--policy", "redact", "--model", "none"),
        "tag": ("--model", "none", "--to", "jsonl"),
        "convert": ("--to", "jsonl"),
        "extract": ("--model", "none"),
    }[command]
    target = tmp_path / ("view.csv" if command == "extract" else "out")
    status, said = attempt(command, tmp_path / "in", target, *more)
    assert status == 1, said
    assert "5 documents, 1 failed" in said
    assert "row 2" in said


def test_a_bad_name_of_a_column_fails_its_file_alone(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    _table(tmp_path / "in" / "a.parquet", column="nameofit", bad="name")
    _table(tmp_path / "in" / "b.parquet")
    items = list(read(tmp_path / "in"))
    assert [type(item) for item in items] == [Failure, Document, Document, Document]
    assert isinstance(items[0].error, FormatError)  # type: ignore[union-attr]


def test_a_file_that_inflates_without_end_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    compressor = zlib.compressobj(9)
    block = bytes(1 << 24)
    data = b"".join(compressor.compress(block) for _ in range(20)) + compressor.flush()
    (tmp_path / "bomb.spacy").write_bytes(data)
    (item,) = read(tmp_path / "bomb.spacy")
    assert isinstance(item, Failure)
    assert "inflates" in str(item.error)


@pytest.mark.parametrize("format", ["text", "jsonl", "csv"])
def test_what_is_too_large_fails_alone(format: str, tmp_path: Path) -> None:
    notes = tmp_path / "in"
    notes.mkdir()
    texts = ["short", "x" * 1001, "also short"]
    if format == "text":
        for number, text in enumerate(texts):
            (notes / f"n{number}.txt").write_text(text)
    elif format == "jsonl":
        lines = [json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)]
        (notes / "n.jsonl").write_text("".join(lines))
    else:
        (notes / "n.csv").write_text("id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    items = list(scan(notes, options=Options(max_document=1000)).documents())
    assert [isinstance(item, Failure) for item in items] == [False, True, False]
    assert isinstance(items[1].error, InputError)  # type: ignore[union-attr]
    for command, more in (("scrub", ("--policy", "redact")), ("tag", ("--to", "jsonl")), ("convert", ())):
        rules = ("--to", "jsonl") if command == "convert" else ("--model", "none")
        status, said = attempt(command, notes, tmp_path / command, *rules, *more, "--max-document", "1000")
        assert status == 1, said
        assert "2 documents, 1 failed" in said
        assert "--max-document" in said
    with pytest.raises(ConfigError, match="--max-document: many is no size"):
        attempt("scrub", notes, tmp_path / "o", "--max-document", "many")


def _slow(document: Document) -> int:
    if document.id == "slow":
        time.sleep(60)
    return len(document.text)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_takes_too_long_fails_alone(jobs: int) -> None:
    documents = [Document("a", "1"), Document("slow", "22"), Document("b", "333")]
    first, second, third = process(Timed(_slow, 0.2), documents, jobs)
    assert (first, third) == (1, 3)
    assert isinstance(second, Failure)
    assert isinstance(second.error, DetectionError)
    assert "--timeout" in str(second.error)


class _Swallowing:
    """Takes until the limit while it is finalized: Python drops what is raised there."""

    def __del__(self) -> None:
        time.sleep(30)


def _slow_to_go(document: Document) -> int:
    del (held := [_Swallowing()])[:]
    time.sleep(30)
    return len(held)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_limit_comes_again_where_an_object_that_was_finalized_swallowed_it() -> None:
    begun = time.monotonic()
    (late,) = process(Timed(_slow_to_go, 0.2), [Document("a", "1")], 1)
    assert isinstance(late, Failure)
    assert time.monotonic() - begun < 20


def test_a_note_that_would_take_minutes_is_given_up_and_the_others_are_scrubbed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    dense = "".join(f"Dr. Ann Va{n:x} saw MRN: {n + 4000000} on 3/4/2019 in Boston, MA; " for n in range(160_000))
    for name, text in (("a", "Seen by Dr. Alice Baker."), ("b", dense), ("c", "Seen by Dr. Alice Baker.")):
        (notes / f"{name}.txt").write_text(text)
    options = ("--key-file", str(tmp_path / "k"), "--policy", "redact", "--timeout", "1")
    (tmp_path / "k").write_text("ab" * 32)
    (tmp_path / "k").chmod(0o600)
    command = [sys.executable, "-m", "deid", "scrub", str(notes), str(tmp_path / "out"), *options]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert shown.returncode == 1, shown.stderr
    assert "2 documents, 1 failed" in shown.stderr
    assert "took longer than 1 s" in shown.stderr
    assert [p.read_text() for p in (tmp_path / "out").glob("*.txt")] == ["Seen by Dr. [NAME]."] * 2


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("plain", b'{"id": "r0", "note": "x"}\n'),
        ("whole", b'[\n{"id": 1}]\n'),
        ("whole", b'\xef\xbb\xbf {\n "mrn" : "47"}\n'),
    ],
)
def test_json_in_a_feed_of_text_is_left_out(format: str, data: bytes, tmp_path: Path) -> None:
    options = ("--from", format)
    shown = subprocess.run(
        [sys.executable, "-m", "deid", "filter", "--model", "none", "--key-file", str(tmp_path / "k"), *options],
        input=data,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert shown.returncode == 3
    assert not re.search(rb"r0|mrn|id", shown.stdout)


def test_nested_and_broken_side_files_are_errors_of_their_own(tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 200_000)
    with pytest.raises(ConfigError):
        read_dial(deep)
    with pytest.raises(FormatError):
        list(read_edit_log(deep))
    log, spans = tmp_path / "log.jsonl", tmp_path / "spans.jsonl"
    log.write_text(json.dumps({"document": "a", "length": 9, "edits": []}) + "\n")
    spans.write_text('{"document": "a", "start": 0, "end": 4, "label": "\\ud800"}\n')
    status, said = attempt("map", spans, "--edits", log, "--offsets", "scrubbed")
    assert status == 0, said
    assert "\\ud800" in said
