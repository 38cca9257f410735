"""Messages on the line: cut alike however the bytes come, answered as their header asks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.streaming.mllp import Frame, Frames, MessageHeader, framed, outcome_of

PIECES = [b"MSH|^~\\&|A", b"\r", b"\x1c", b"\x1c\r", b"\x0b", b"x" * 20, b"\n", b"\xff", b""]


def cut(parts: list[bytes], limit: int = 1000) -> list[Frame]:
    frames = Frames(limit)
    found = []
    for part in parts:
        frames.feed(part)
        while frame := frames.next():
            found.append(frame)
    return found


@given(messages=st.lists(st.lists(st.sampled_from([b"a", b"MSH|", b"\r", b"\n", b"\xc3\xbc"])).map(b"".join)),
       stray=st.lists(st.sampled_from([b"", b"\r", b"noise", b"\x1c", b"MSH|"]), min_size=30, max_size=30),
       data=st.data())  # fmt: skip
def test_messages_come_out_however_they_are_cut(messages: list[bytes], stray: list[bytes], data: st.DataObject) -> None:
    line = b"".join(s + framed(m) for m, s in zip(messages, stray, strict=False))
    borders = sorted(data.draw(st.lists(st.integers(0, len(line)), max_size=6)))
    parts = [line[a:b] for a, b in zip([0, *borders], [*borders, len(line)], strict=True)]
    expected = messages[: len(stray)]
    assert [frame.content for frame in cut(parts)] == expected
    assert [frame.content for frame in cut([line[n : n + 1] for n in range(len(line))])] == expected


@given(st.lists(st.sampled_from(PIECES)).map(b"".join), st.integers(1, 30))
def test_what_comes_byte_by_byte_is_what_comes_at_once(line: bytes, limit: int) -> None:
    at_once, one_by_one = cut([line], limit), cut([line[n : n + 1] for n in range(len(line))], limit)
    assert [frame.length for frame in at_once] == [frame.length for frame in one_by_one]
    short = [(a.content, b.content) for a, b in zip(at_once, one_by_one, strict=True) if a.length <= limit]
    assert all(a == b for a, b in short)


def test_a_message_that_is_too_long_is_not_held() -> None:
    frames = Frames(10_000)
    frames.feed(b"\x0bMSH|")
    for _ in range(1000):
        frames.feed(b"x" * 1000)
        assert frames.next() is None
        assert frames.held < 20_000
    frames.feed(b"\x1c\r\x0bshort\x1c\r")
    frame = frames.next()
    assert frame
    assert frame.length == 1_000_004
    assert frame.content.startswith(b"MSH|xx")
    assert frames.next() == Frame(b"short", 5)


def test_an_fs_alone_ends_a_message_when_its_reader_says_so() -> None:
    frames = Frames(100)
    frames.feed(b"\x0babc\x1c")
    assert frames.next() is None
    assert frames.may_have_ended
    assert frames.end() == Frame(b"abc", 3)
    frames.feed(b"\r\x0bdef\x1c\x0bghi\x1c\r")  # the CR is late; the next FS has none
    assert [frames.next(), frames.next(), frames.next()] == [Frame(b"def", 3), Frame(b"ghi", 3), None]


def test_a_message_that_was_begun_anew_is_dropped() -> None:
    frames = Frames(100)
    frames.feed(b"\x0bMSH|torn\x0bMSH|whole\x1c\r")
    assert frames.next() == Frame(b"MSH|whole", 9)
    assert frames.stray == 8


HEAD = rb"MSH|^~\&|LAB|CLINIC|EHR|MERCY|2024||ADT^A01|MSG-1|T|2.3"


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        (b"", ("AA", "AE", "AR")),
        (b"|||AL|NE", ("CA", "CE", "CR")),
        (b"|||ER|", (None, "CE", "CR")),
        (b"|||SU|AL", ("CA", "AE", "AR")),
        (b"|||NE|AL", ("AA", "AE", "AR")),
        (b"|||NE|NE", (None, None, None)),
        (b"|||NE|ER", (None, "AE", "AR")),
    ],
)
def test_modes_of_acknowledgement(asked: bytes, codes: tuple[str | None, ...]) -> None:
    head = MessageHeader.of(HEAD + asked + b"\rPID|1")
    answers = [head.answer(outcome) for outcome in ("accepted", "error", "rejected")]
    assert tuple(a and a.split(b"\r")[1].split(b"|")[1].decode() for a in answers) == codes


def test_an_answer_turns_the_header_round_in_the_messages_own_signs() -> None:
    head = MessageHeader.of(b"MSH#*~\\&#LAB#K\xd6LN#EHR#MERCY#2024##ORU*R01#7#P#2.7######8859/1\rPID#1")
    answer = head.answer("rejected", "FormatError OBX[2]-5")
    assert answer
    first, second = answer.split(b"\r")[:2]
    fields = first.split(b"#")
    assert fields[:6] == [b"MSH", b"*~\\&", b"EHR", b"MERCY", b"LAB", b"K\xd6LN"]
    assert fields[8:12] == [b"ACK*R01*ACK", b"7", b"P", b"2.7"]
    assert fields[17] == b"8859/1"
    assert second == b"MSA#AR#7#FormatError OBX[2]-5"
    assert outcome_of(answer) == (b"7", "rejected")


def test_python_hl7_reads_the_answers() -> None:
    hl7 = pytest.importorskip("hl7")
    answer = MessageHeader.of(HEAD).answer("accepted")
    assert answer
    read = hl7.parse(answer.decode())
    assert str(read.segment("MSA")[1]) == "AA"
    assert str(read.segment("MSA")[2]) == "MSG-1"
    assert str(read.segment("MSH")[9]) == "ACK^A01^ACK"


@pytest.mark.parametrize("noise", [b"", b"PID|1", b"MSH", b"MSH\r", b"\xff\xfe", b"MSHX|"])
def test_what_has_no_header_is_answered_all_the_same(noise: bytes) -> None:
    answer = MessageHeader.of(noise).answer("rejected")
    assert answer
    assert b"\rMSA|AR|\r" in answer
