"""Records are the same however a stream is cut, and what cannot be held is passed over in bounded memory."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from recipes import KEY

from deid.base.errors import ConfigError, OutputError
from deid.streaming.framing import Framing, Prefixed, delimited, whole
from deid.streaming.letters import record_mac
from deid.streaming.reading import Reader, Stretch, singles
from deid.streaming.work import Shape

DELIMITERS = ["line", "form-feed", "nul", "blank-line", "aa", "--END--\n", "\n\n"]
few_bytes = st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\f", b"\0", b"b", b"--END--\n"]), max_size=40).map(b"".join)


def stretches(pieces: list[bytes], shape: Shape) -> Iterator[Stretch]:
    """Feed a reader piece by piece through a pipe, taking all that can be taken after each."""
    read, write = os.pipe()
    try:
        reader = Reader(read, shape, KEY)
        for piece in [*pieces, b""]:
            if piece:
                os.write(write, piece)
            else:
                os.close(write)
                write = -1
            if reader.wants():
                reader.pull()
            while (stretch := reader.take(full=False)) is not None:
                yield stretch
        assert reader.ended
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)


def contents(framing: Framing, data: bytes) -> list[bytes]:
    return [data[start:end] for start, end, _ in framing.split(data)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = [0, *sorted({p % (len(data) + 1) for p in places}), len(data)]
    return [data[a:b] for a, b in pairwise(borders) if a < b]


@pytest.mark.parametrize("name", DELIMITERS)
@given(data=few_bytes, places=st.lists(st.integers(0, 1000), max_size=8))
@example(data=b"a\n\n\n\nb", places=[2, 3, 4])
@example(data=b"aaaaa", places=[1, 3])
def test_delimited_records_do_not_depend_on_the_cuts(name: str, data: bytes, places: list[int]) -> None:
    framing = delimited(name)
    whole_stream = list(framing.split(data))
    found = list(stretches(cut(data, places), Shape(framing)))
    assert b"".join(s.data or b"" for s in found) == data
    assert [c for s in found for c in contents(framing, s.data or b"")] == [data[a:b] for a, b, _ in whole_stream]
    # taken apart and put together again, nothing is lost
    assert b"".join(framing.wrap(data[a:b], data[b:c]) for a, b, c in whole_stream) == data


@pytest.mark.parametrize("name", ["line", "form-feed", "nul"])
@given(data=few_bytes)
def test_delimited_records_are_those_of_split(name: str, data: bytes) -> None:
    delimiter = {"line": b"\n", "form-feed": b"\f", "nul": b"\0"}[name]
    expected = data.split(delimiter)
    assert contents(delimited(name), data) == (expected if expected[-1] else expected[:-1])


def test_blank_lines_may_end_with_carriage_return() -> None:
    assert contents(delimited("blank-line"), b"one\r\n\r\ntwo\nmore\n\nthree\n") == [b"one\r", b"two\nmore", b"three\n"]


@given(records=st.lists(st.binary(max_size=30), max_size=12), places=st.lists(st.integers(0, 1000), max_size=8))
def test_prefixed_records_do_not_depend_on_the_cuts(records: list[bytes], places: list[int]) -> None:
    data = b"".join(struct.pack(">I", len(r)) + r for r in records)
    found = list(stretches(cut(data, places), Shape(Prefixed())))
    assert [c for s in found for c in contents(Prefixed(), s.data or b"")] == records
    assert b"".join(Prefixed().wrap(r, b"") for r in records) == data


@given(few_bytes, st.lists(st.integers(0, 1000), max_size=8))
def test_whole_is_one_record(data: bytes, places: list[int]) -> None:
    assert [s.data for s in stretches(cut(data, places), Shape(whole()))] == ([data] if data else [])


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=8),
    places=st.lists(st.integers(0, 1000), max_size=12),
    name=st.sampled_from(["line", "<<>>", "blank-line", "prefixed"]),
)
def test_records_that_are_too_long_are_passed_over(lengths: list[int], places: list[int], name: str) -> None:
    """Offset, length and hash tell which; the records around come through."""
    limit = 20
    framing = Prefixed() if name == "prefixed" else delimited(name)
    tail = {"line": b"\n", "<<>>": b"<<>>", "blank-line": b"\n\n", "prefixed": b""}[name]
    contents_in = [bytes([97 + n % 26]) * length for n, length in enumerate(lengths)]
    stream = b"".join(framing.wrap(c, tail) for c in contents_in)
    letters, kept, covered = [], [], 0
    for stretch in stretches(cut(stream, places), Shape(framing, max_record=limit)):
        assert stretch.offset == covered
        covered += stretch.length
        if stretch.reply is None:
            kept += contents(framing, stretch.data or b"")
        else:
            letters += stretch.reply.letters
    assert covered == len(stream)
    for letter in letters:
        content = stream[letter.offset : letter.offset + letter.length]
        mac = record_mac(KEY)
        mac.update(content)
        assert (letter.mac, letter.error) == (mac.hexdigest(), "RecordTooLong")
        assert len(content) > limit
        assert content in contents_in
    # those that a cut left whole in the buffer are found too long by the worker
    assert sorted([c for c in kept if len(c) <= limit]) == sorted(c for c in contents_in if len(c) <= limit)
    assert len(kept) + len(letters) == len(contents_in)


def test_a_delimiter_that_never_comes_costs_no_memory() -> None:
    read, write = os.pipe()
    reader = Reader(read, Shape(delimited("line"), max_record=1000), KEY)
    for _ in range(50):
        os.write(write, b"x" * 60_000)
        reader.pull()
        assert reader.take(full=False) is None
        assert len(reader._buffer) <= 60_000
    os.close(write)
    reader.pull()
    stretch = reader.take(full=False)
    assert stretch is not None
    assert stretch.reply is not None
    assert [(x.offset, x.length, x.error) for x in stretch.reply.letters] == [(0, 3_000_000, "RecordTooLong")]
    os.close(read)


def test_a_torn_prefixed_record_is_no_record() -> None:
    data = struct.pack(">I", 3) + b"abc" + struct.pack(">I", 10) + b"abc"
    kept, torn = stretches([data], Shape(Prefixed()))
    assert kept.data == data[:7]
    assert torn.reply is not None
    assert [(x.offset, x.length, x.error) for x in torn.reply.letters] == [(11, 3, "RecordTruncated")]
    (tiny,) = stretches([b"\0\0"], Shape(Prefixed()))
    assert tiny.reply is not None
    assert tiny.reply.letters[0].error == "RecordTruncated"


def test_a_replacement_with_the_delimiter_is_refused() -> None:
    with pytest.raises(OutputError):
        delimited("line").wrap(b"two\nlines", b"\n")
    with pytest.raises(OutputError):  # the content's end and the delimiter make one together
        delimited("aa").wrap(b"xa", b"aa")
    assert delimited("line").wrap(b"one", b"") == b"one"


def test_the_delimiter_must_not_be_empty() -> None:
    with pytest.raises(ConfigError):
        delimited("")


def test_single_records_of_a_stretch() -> None:
    shape = Shape(delimited("line"))
    pieces = singles(Stretch(100, 9, b"ab\nc\n\nxyz"), b"ab\nc\n\nxyz", shape)
    assert [(p.offset, p.length, p.data) for p in pieces] == [
        (100, 3, b"ab\n"),
        (103, 2, b"c\n"),
        (105, 1, b"\n"),
        (106, 3, b"xyz"),
    ]
