"""One definition of a line end, and what it means for everything that reads notes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.extraction.notes import note_facts
from deid.pipeline import Pipeline, Settings
from deid.reading.line_ends import LINE_ENDS, unified, unified_document
from deid.reading.normalize import normalize
from deid.replacement.policy import load_policy, shipped_policies

PIECES = st.sampled_from([*LINE_ENDS, "\r\n", "a", " ", "é", "\u200b", "中", "\x1f"])
SEPARATORS = ["\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
MESSAGE = "\n".join(
    [
        "MSH|^~\\&|EPIC|GENHOSP|||20200101||ADT^A01|1|P|2.3",
        "PID|1||99^^^MRN||ZYRTH^QORVAX^A||19500102|M|||12 OAK ST^^BOSTON^MA^02118||617-555-0101|||||7700123",
        "PV1|1|I|2000^2012^01||||004777^LEBAUER^SIDNEY^J.|||||||||||004777^LEBAUER^SIDNEY^J.^^^DR",
        "OBX|1|TX|2||Pt seen by Dr. Zyrth, ZPD negative",
        "GT1|1|5507781|ZYRTH^MABEL",
        "IN1|1|8829004|PLAN",
        "",
    ]
)
NOTE = """
DISCHARGE SUMMARY

Patient:   Anna Zyrth       MRN: 4711203
DOB: 03/14/1951
Attending:
  Dr. Sidney Lebauer
Mrs. Zyrth is a 68 year old woman who lives in Boston with her daughter and was seen in our clinic by Dr.
Oakhurst on 12/29/2019.  Denies asthma.
She has
type 2 diabetes.

Date\tProvider\tMRN
1/2/20\tLebauer\t4711203

3/4: called pt
SL/mt
cc: John Oakhurst,
    77 Old Ferry Road, Springfield, OH 45501
"""
RECOGNIZER = build_recognizer()
KEY = Key(b"k" * 32)


@given(st.lists(PIECES, max_size=20).map("".join))
def test_lines_are_those_of_splitlines(text: str) -> None:
    assert unified(text).text.split("\n") == [*(text + "|").splitlines()[:-1], (text + "|").splitlines()[-1][:-1]]


@pytest.mark.parametrize("read", [unified, normalize])
@given(text=st.lists(PIECES, max_size=20).map("".join))
def test_every_character_comes_from_its_place(read: object, text: str) -> None:
    normal = read(text)  # type: ignore[operator]
    for at, character in enumerate(normal.text):
        origin = text[normal.origin(at)]
        assert character == ("\n" if origin in LINE_ENDS else origin)
    kept = [normal.origin(at) for at in range(len(normal.text))]
    assert kept == sorted(set(kept))
    assert len(normal.removed) == len(text) - len(kept)
    for start in range(len(normal.text)):
        span = Span(start, len(normal.text), "DATE")
        assert normal.ahead(normal.back(span)) == span
    for gone in set(range(len(text))) - set(kept):
        assert normal.ahead(Span(gone, gone + 1, "DATE")) is None


def _written(text: str, separator: str) -> Document:
    return Document("n1", text.replace("\n", separator))


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("text", [MESSAGE, NOTE], ids=["message", "note"])
def test_what_is_found_does_not_depend_on_the_line_ends(text: str, separator: str) -> None:
    plain, other = Document("n1", text), _written(text, separator)
    _, way = unified_document(other)
    wanted = [way.back(span) for span in RECOGNIZER.find(plain)]
    assert wanted
    assert RECOGNIZER.find(other) == wanted
    told = RECOGNIZER.explain(other)
    assert [item.span for item in told.spans] == wanted
    assert len(told.loose) == len(RECOGNIZER.explain(plain).loose)
    facts = note_facts(plain, RECOGNIZER.find(plain))
    again = note_facts(other, wanted)
    assert [(f.column, f.value.split(), f.weight) for f in again] == [
        (f.column, f.value.split(), f.weight) for f in facts
    ]
    assert [other.text[f.start : f.end].split() for f in again] == [text[f.start : f.end].split() for f in facts]


@pytest.mark.parametrize("separator", ["\r\n", "\r", "\u2029"])
@pytest.mark.parametrize("policy", [*shipped_policies(), "concept-match"])
def test_what_is_written_instead_does_not_depend_on_the_line_ends(policy: str, separator: str) -> None:
    if policy == "concept-match":
        pipeline = Pipeline(None, None, KEY, Settings(method="concept-match"))
    else:
        pipeline = Pipeline(RECOGNIZER, load_policy(policy), KEY)
    for text in (MESSAGE, NOTE):
        assert pipeline(_written(text, separator)).document.text == pipeline(
            Document("n1", text)
        ).document.text.replace("\n", separator)


def test_segments_that_end_with_carriage_returns_are_segments() -> None:
    text = MESSAGE.replace("\n", "\r")
    found = {(text[s.start : s.end], s.source) for s in RECOGNIZER.find(Document("m", text))}
    covered = {said for said, _ in found}
    assert {"99", "7700123", "5507781", "8829004", "ZYRTH^QORVAX^A", "ZYRTH^MABEL"} <= covered


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(["PV1|1|||||||1^BAKER^ANN^^^DR", "OBX|1|TX|2||Mr", "ZPD|2|DR", "TXA|1|Dr.", "NTE|1||x"])),
    st.sampled_from(["\n", *SEPARATORS]),
)
def test_the_name_of_a_segment_is_no_name(lines: list[str], separator: str) -> None:
    text = separator.join(["MSH|^~\\&|A", *lines])
    spans = RECOGNIZER.find(Document("m", text))
    starts = [0]
    for line in ["MSH|^~\\&|A", *lines][:-1]:
        starts.append(starts[-1] + len(line) + len(separator))
    assert not [s for s in spans for at in starts if s.start < at + 3 and at < s.end]


def _commands(folder: Path, text: str) -> dict[str, str]:
    """Run every command that reads notes on one note; return what each wrote, offsets left out."""
    notes, shared = folder / "notes", ("--key-file", folder.parent / "key", "--model", "none")
    record = ("--policy", "tag")  # a record without an id is a patient of its own, by its bytes
    notes.mkdir(parents=True)
    (notes / "n1.txt").write_bytes(text.encode())
    as_text = ("--from", "text")
    run("scrub", notes, folder / "out", *shared, *as_text, "--keep", "filename")
    run("tag", notes, folder / "tagged", "--model", "none", *as_text, "--to", "jsonl")
    run("extract", notes, folder / "view.csv", "--model", "none", *as_text)
    run("generalize", notes, folder / "general", "--plausible", "12", *shared[:2], *as_text)
    run("convert", notes, folder / "brat", *as_text, "--to", "i2b2-2014")
    (folder / "inbox").mkdir()
    (folder / "inbox" / "n1.txt").write_bytes(text.encode())
    run("watch", folder / "inbox", folder / "watched", "--once", *shared, *record)
    checked = run("verify", notes, folder / "out", *shared, *as_text)
    run("explain", notes / "n1.txt", "--model", "none", *as_text, "--json", folder / "told.json")
    filtered = folder / "filtered.txt"
    (folder / "stream.txt").write_bytes(text.encode())
    run("filter", "--from", "whole", *shared, *record, folder / "stream.txt", "--output", filtered)
    told = json.loads((folder / "told.json").read_text())
    tagged = json.loads(next((folder / "tagged").rglob("*.jsonl")).read_text())
    return {
        "scrub": (folder / "out" / "n1.txt").read_bytes().decode(),
        "generalize": next((folder / "general").rglob("*.txt")).read_bytes().decode(),
        "watch": next(p for p in (folder / "watched").rglob("*") if p.is_file()).read_bytes().decode(),
        "filter": filtered.read_bytes().decode(),
        "extract": (folder / "view.csv").read_text(),
        "tag": repr([(s["label"], text[s["start"] : s["end"]].split()) for s in tagged["spans"]]),
        "verify": " ".join(w for w in checked.split() if "second" not in w and not w.endswith("manifest.2.json")),
        "explain": repr([(s["category"], s["source"]) for s in told["spans"]]),
    }


@pytest.mark.parametrize(
    "separator",
    ["\r\n", pytest.param("\r", marks=pytest.mark.night), pytest.param("\u2028", marks=pytest.mark.night)],
    ids=repr,
)
def test_no_command_depends_on_the_line_ends(tmp_path: Path, separator: str) -> None:
    text = MESSAGE + NOTE
    plain, other = _commands(tmp_path / "lf", text), _commands(tmp_path / "other", text.replace("\n", separator))
    for command in plain:
        # files that a command makes end their lines as it does
        assert other[command].replace(separator, "\n") == plain[command].replace("\r\n", "\n"), command
