"""Without --format, the first bytes of an input tell NDJSON from text; nothing of them is lost, nothing waited for."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recipes import KEY, WordRecipe

from deid.base.errors import ConfigError, InputError
from deid.streaming.beginning import begins_as_json
from deid.streaming.crew import Crew, FeedRun
from deid.streaming.filtering import Feed, filter_feed
from deid.streaming.framing import delimited, whole
from deid.streaming.stopping import Stop
from deid.streaming.totals import Totals
from deid.streaming.watching import Folders, watch
from deid.streaming.work import Shape

LINE = delimited("line")
JSON = Shape(LINE, "json")
OPEN = Shape(LINE, others=(JSON,))
NAME = "Zebulon Quartermain"
RECORD = json.dumps({"id": "r0", "mrn": "4711203", "note": f"Seen {NAME}."}).encode() + b"\n"
AS_JSON = (RECORD, b" \n\n" + RECORD, b"\xef\xbb\xbf" + RECORD, b'{"a": 1}', b'{ "a\\"b" :', b"{}\n")
AS_TEXT = (
    b"Seen",
    b"",
    b" \n",
    b"\xef\xbb",
    b"\xef\xbb\xbfx",
    b"{\\rtf1 x\n",
    b'{"so", he said}\n',
    b"[**2019**]\n",
    b"{x",
)
OVER_LINES = (b'{\n"id": 5}', b'[\n{"id": 5}]', b'[{"id": 5}]\n', b"{", b"[ \n")


@pytest.mark.parametrize(("head", "wanted"), [(h, True) for h in AS_JSON] + [(h, False) for h in AS_TEXT])
def test_what_an_input_begins_as(head: bytes, wanted: bool) -> None:
    assert begins_as_json(head, final=True) is wanted
    # what fewer bytes tell is not another answer
    for size in range(len(head)):
        assert begins_as_json(head[:size], final=False) in (None, wanted)


@pytest.mark.parametrize("head", OVER_LINES)
def test_json_over_many_lines_is_refused(head: bytes) -> None:
    with pytest.raises(InputError, match="many lines"):
        begins_as_json(head, final=True)


def test_nothing_is_waited_for() -> None:
    assert begins_as_json(b"S", final=False) is False
    assert begins_as_json(b'{"id":', final=False) is True
    assert begins_as_json(b'{"id', final=False) is None
    assert begins_as_json(b" \n", final=False) is None


@pytest.mark.parametrize(
    "shape",
    [
        Shape(LINE, text_field="note", others=(JSON,)),
        Shape(LINE, named_fields=frozenset({"id"}), others=(JSON,)),
    ],
)
def test_fields_need_json(shape: Shape) -> None:
    assert shape.settled("json") is JSON
    with pytest.raises(InputError, match="name fields"):
        shape.settled("text")


def test_json_needs_utf8() -> None:
    shape = Shape(LINE, encoding="cp1252", others=(JSON,))
    assert shape.settled("text").encoding == "cp1252"
    with pytest.raises(InputError, match="UTF-8"):
        shape.settled("json")
    with pytest.raises(ConfigError):
        Shape(LINE, others=(OPEN,))


@pytest.fixture(scope="module")
def crew() -> Any:
    with Crew(WordRecipe(), OPEN) as started:
        yield started


def filtered(crew: Crew, tmp_path: Path, data: bytes, *, pipe: bool) -> tuple[bytes, Totals, list[str]]:
    source, target = tmp_path / "in", tmp_path / "out"
    target.unlink(missing_ok=True)
    said: list[str] = []
    totals = Totals(note=said.append)
    writer = None
    if pipe:
        source.unlink(missing_ok=True)
        os.mkfifo(source)
        code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
        with source.with_name("data").open("wb+") as held:
            held.write(data)
            held.seek(0)
            writer = subprocess.Popen(["sh", "-c", f"exec {sys.executable} -c '{code}' > {source}"], stdin=held)
    else:
        source.write_bytes(data)
    with Stop() as stop:
        assert filter_feed(Feed(source, target), FeedRun(crew, OPEN, KEY, totals, stop))
    if writer is not None:
        writer.wait(60)
        source.unlink()
    return target.read_bytes(), totals, said


@pytest.mark.parametrize("pipe", [False, True])
def test_no_byte_is_lost(crew: Crew, tmp_path: Path, pipe: bool) -> None:
    data = b"\n\n" + b"".join(RECORD.replace(b"r0", b"r%d" % n) for n in range(2000))
    out, totals, said = filtered(crew, tmp_path, data, pipe=pipe)
    assert len(said) == 1
    assert "NDJSON" in said[0]
    assert totals.records == 2000
    assert totals.read == len(data)
    assert out.startswith(b"\n\n{")
    records = [json.loads(line) for line in out.splitlines() if line]
    assert len({record["id"] for record in records}) == 2000
    assert {record["note"] for record in records} == {"Seen [NAME]."}
    assert b"r7" not in out
    assert b"4711203" not in out
    text = f" \nSeen {NAME}.\n".encode() * 3000
    out, totals, said = filtered(crew, tmp_path, text, pipe=pipe)
    assert (out, said, totals.read) == (b" \nSeen [NAME].\n" * 3000, [], len(text))


def test_each_file_of_an_inbox_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    files = {"a.ndjson": RECORD * 2, "b.txt": f"Seen\n{NAME}.".encode(), "c.txt": b'{\n"id": "r0"}', "d.ndjson": RECORD}
    for (name, data), hour in zip(files.items(), itertools.count(1), strict=False):
        (tmp_path / "in" / name).write_bytes(data)
        os.utime(tmp_path / "in" / name, (hour, hour))
    shape = Shape(whole(), others=(JSON,))
    said: list[str] = []
    totals = Totals(note=said.append)
    folders = Folders(tmp_path / "in", tmp_path / "out", keep_names=True, settle=0)
    with Stop() as stop, Crew(WordRecipe(), shape) as started:
        seen = list(watch(folders, FeedRun(started, shape, KEY, totals, stop), once=True))
    assert [one.failed for one in seen] == [False, False, True, False]
    assert "many lines" in str(seen[2].error)
    assert (len(said), totals.records) == (2, 4)
    assert (tmp_path / "out" / "b.txt").read_text() == "Seen\n[NAME]."
    assert (tmp_path / "out" / "a.ndjson").read_text().count("Seen [NAME].") == 2
    assert "4711203" not in (tmp_path / "out" / "d.ndjson").read_text()


def test_a_run_that_goes_on_keeps_its_format(crew: Crew, tmp_path: Path) -> None:
    source, target, journal = tmp_path / "in", tmp_path / "out", tmp_path / "journal"
    source.write_bytes(RECORD * 3)

    def run(shape: Shape) -> bool:
        with Stop() as stop:
            return filter_feed(Feed(source, target, journal=journal), FeedRun(crew, shape, KEY, Totals(), stop))

    assert run(OPEN)
    assert run(JSON)  # the format that was found, said explicitly
    with pytest.raises(ConfigError, match="other options"):
        run(Shape(LINE))
