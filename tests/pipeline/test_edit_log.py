"""Edit logs and moving spans by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import FormatError, OffsetError
from deid.base.keys import Key
from deid.document import Document, Edit, Failure, Span, apply_edits
from deid.pipeline.edit_log import log_line, move_span, move_spans, read_edit_log
from deid.pipeline.naming import pseudonym_of_id

KEY = Key(b"k" * 32)
#        0123456789012345678901234
TEXT = "Mr. Smith saw Dr. Jo here"
#        Mr. [NAME] saw Dr. [NAME] here
EDITS = (Edit(4, 9, 4, 10, "PATIENT"), Edit(18, 20, 19, 25, "DOCTOR"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((0, 3), (0, 3)),
        ((4, 9), (4, 10)),
        ((0, 9), (0, 10)),
        ((10, 13), (11, 14)),
        ((9, 10), (10, 11)),
        ((21, 25), (26, 30)),
    ],
)
def test_spans_that_cut_no_edit_go_there_and_back(old: tuple[int, int], new: tuple[int, int]) -> None:
    assert move_span(*old, EDITS) == new
    assert move_span(*new, EDITS, back=True) == old


def test_a_span_that_cuts_an_edit_takes_all_of_its_replacement() -> None:
    assert move_span(5, 7, EDITS) == (4, 10)
    assert move_span(2, 5, EDITS) == (2, 10)
    assert move_span(8, 19, EDITS) == (4, 25)
    assert move_span(6, 8, EDITS, back=True) == (4, 9)


def test_a_removed_stretch_leaves_an_empty_span() -> None:
    removed = (Edit(4, 9, 4, 4, "PATIENT"),)
    assert move_span(4, 9, removed) == (4, 4)
    assert move_span(5, 6, removed) == (4, 4)
    assert move_span(9, 12, removed) == (4, 7)


@given(st.data())
def test_moved_spans_hold_the_same_text(data: st.DataObject) -> None:
    """Any edits; a span that overlaps none of them holds the same text on both sides."""
    text = data.draw(st.text("abc ", min_size=1, max_size=40))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = [Span(a, b, "X") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    news = data.draw(st.lists(st.text("XYZ", max_size=4), min_size=len(spans), max_size=len(spans)))
    document, edits = apply_edits(Document("d", text), zip(spans, news, strict=True))
    for gap_start, gap_end in zip([0, *(s.end for s in spans)], [*(s.start for s in spans), len(text)], strict=True):
        if gap_start < gap_end:
            start = data.draw(st.integers(gap_start, gap_end - 1))
            end = data.draw(st.integers(start + 1, gap_end))
            a, b = move_span(start, end, edits)
            assert document.text[a:b] == text[start:end]
            assert move_span(a, b, edits, back=True) == (start, end)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "edits.jsonl"
    path.write_bytes(log_line(pseudonym_of_id(KEY, "n1"), len(TEXT), EDITS) + log_line("n2", 5, ()))
    return path


def test_logs_round_trip(log: Path) -> None:
    first, second = read_edit_log(log)
    assert (first.document, first.length, first.edits) == (pseudonym_of_id(KEY, "n1"), len(TEXT), EDITS)
    assert first.new_length == len("Mr. [NAME] saw Dr. [NAME] here")
    assert second.edits == ()


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b'{"document": "d", "length": 9}',
        b'{"document": 5, "length": 9, "edits": []}',
        b'{"document": "d", "length": 9, "edits": [[4, 3, 4, 5, "X"]]}',
        b'{"document": "d", "length": 9, "edits": [[4, 99, 4, 5, "X"]]}',
        b'{"document": "d", "length": 9, "edits": [[4, 6, 5, 6, "X"]]}',
        b'{"document": "d", "length": 9, "edits": [[1, 3, 1, 3, "X"], [2, 4, 2, 4, "X"]]}',
        b'{"document": "d", "length": 9, "edits": [[1, 3, 1, 3]]}',
        b'{"document": "d", "length": 9, "edits": [[1, 3, 1, 3, 7]]}',
        b'{"document": "d", "length": 9, "edits": [[true, 3, 1, 3, "X"]]}',
        b'{"document": "d", "length": 9, "edits": [[1, 3, 1, 0, "X"]]}',
        b'{"document": "d", "length": true, "edits": []}',
    ],
)
def test_damaged_logs_are_refused_with_the_line(log: Path, line: bytes) -> None:
    log.write_bytes(log.read_bytes() + line + b"\n")
    with pytest.raises(FormatError, match="line 3"):
        list(read_edit_log(log))


def test_a_log_that_is_not_there_is_refused_without_a_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no edit log") as error:
        list(read_edit_log(tmp_path / "none.jsonl"))
    assert error.value.where.endswith("none.jsonl")
    assert error.value.position == ""


@pytest.mark.parametrize(
    "value",
    [
        [],
        "Smith",
        {"start": 0, "end": 4, "label": "X"},
        {"document": "n2", "end": 4, "label": "X"},
        {"document": "n2", "start": 0, "label": "X"},
        {"document": 2, "start": 0, "end": 4, "label": "X"},
        {"document": ["n2"], "start": 0, "end": 4, "label": "X"},
        {"document": "n2", "start": "0", "end": 4, "label": "X"},
        {"document": "n2", "start": False, "end": 4, "label": "X"},
        {"document": "n2", "start": 0, "end": 4.0, "label": "X"},
        {"document": "n2", "start": 0, "end": 4, "label": 7},
        {"document": "n2", "start": 0, "end": 4, "category": None},
    ],
)
def test_a_line_that_is_no_span_says_what_one_looks_like(log: Path, value: object) -> None:
    (failure,) = move_spans([json.dumps(value).encode()], log, back=False, key=KEY)
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, FormatError)
    assert "this is no span" in str(failure.error)


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 3), (5, 5), (0, 5)])
def test_an_empty_span_and_the_whole_text_lie_in_it(log: Path, start: int, end: int) -> None:
    span = {"document": "n2", "start": start, "end": end, "label": "X"}
    for back in (False, True):
        (moved,) = move_spans([json.dumps(span).encode()], log, back=back)
        assert json.loads(moved) == span  # type: ignore[arg-type]


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 2), (0, 6), (6, 6)])
def test_a_span_outside_of_its_text_is_refused(log: Path, start: int, end: int) -> None:
    """The text of n2 has five characters, that of n1 more behind the run than before it."""
    span = {"document": "n2", "start": start, "end": end}
    (failure,) = move_spans([json.dumps(span).encode()], log, back=False)
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, OffsetError)
    long = json.dumps({"document": "n1", "start": len(TEXT) + 1, "end": len(TEXT) + 5}).encode()
    (there,), (back,) = (list(move_spans([long], log, back=back, key=KEY)) for back in (False, True))
    assert isinstance(there, Failure)
    assert json.loads(back) == {"document": "n1", "start": len(TEXT) - 4, "end": len(TEXT), "label": ""}  # type: ignore[arg-type]


def test_files_of_spans(log: Path) -> None:
    lines = [
        b'{"document": "n1", "start": 4, "end": 9, "label": "PATIENT", "text": "Smith"}',
        b"",
        b'{"document": "n2", "start": 0, "end": 5, "category": "DATE"}',
        b'{"document": "n2", "start": 0, "end": 6}',
        b'{"document": "Smith", "start": 0, "end": 6}',
        b'{"document": "n2", "start": "0", "end": 6}',
        b"Smith",
    ]
    moved = list(move_spans(lines, log, back=False, key=KEY))
    there = [json.loads(m) for m in moved if not isinstance(m, Failure)]
    assert there == [
        {"document": pseudonym_of_id(KEY, "n1"), "start": 4, "end": 10, "label": "PATIENT"},
        {"document": "n2", "start": 0, "end": 5, "label": "DATE"},
    ]
    failures = [m for m in moved if isinstance(m, Failure)]
    assert [f.name for f in failures] == ["line 4", "line 5", "line 6", "line 7"]
    assert not any("Smith" in str(f.error) for f in failures)
    for name in (pseudonym_of_id(KEY, "n1"), "n1"):  # back, a document is called as whoever asks calls it
        back = list(move_spans([json.dumps({**there[0], "document": name}).encode()], log, back=True, key=KEY))
        assert json.loads(back[0]) == {**there[0], "document": name, "start": 4, "end": 9}  # type: ignore[arg-type]
