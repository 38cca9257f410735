"""Messages for tests: the shipped samples, and random ones."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from deid.base.keys import Key
from deid.records.hl7v2 import read_all
from deid.records.record import Record
from deid.records.tables import load_table

KEY = Key(b"r" * 32)
"""Of the pipelines of these tests."""
SAMPLES = sorted((Path(__file__).parents[2] / "corpora" / "records" / "hl7v2").glob("*.hl7"))
TABLE = load_table("hl7v2")
PID = r"PID|1||123456^^^HOSP^MR||Thornbury^Eleanor||19470619|F"


HEAD = r"MSH|^~\&|SYS|CLINIC|EHR|CLINIC|20240312094500||ORU^R01|M-1|P|2.5.1"


def message(*segments: str, signs: str = "^~\\&", charset: str = "", end: str = "\r") -> bytes:
    """Return a message with its header."""
    head = f"MSH|{signs}|SYS|CLINIC|EHR|CLINIC|20240312094500||ORU^R01|M-1|P|2.5.1||||||{charset}"
    return (end.join((head, *segments)) + end).encode()


def one(data: bytes, encoding: str = "utf-8") -> Record:
    """Return the one record of a file; raises what is wrong with it."""
    (found,) = read_all(data, TABLE, encoding)
    if not isinstance(found, Record):
        raise found
    return found


def places(record: Record) -> dict[str, tuple[str, str]]:
    """Return path -> kind and text."""
    return {p.path: (p.kind, p.text) for p in (*record.places, *record.blocked)}


_PIECE = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\\|^~&\x0b\x1c\ufeff"), max_size=8),
    st.sampled_from(
        ["\\T\\", "\\H\\", "\\N\\", "\\.br\\", "\\.sp2\\", "\\XC3BC\\", "\\E\\", "\\Zab\\", "\\q\\", "~", "^", "&"]
    ),
    st.sampled_from(["Smith", "20240102", "123456", "", '""', "Dr. Miller on 3 May 2019", "\U0001f600", "ü"]),
)
_FIELD = st.lists(_PIECE, max_size=4).map("".join)
_NAMES = ["PID", "NK1", "PV1", "OBR", "OBX", "NTE", "ZZZ", "GT1", "IN1", "MRG", "TXA", "ORC", "DG1"]
_SEGMENT = st.tuples(st.sampled_from(_NAMES), st.lists(_FIELD, max_size=20)).map(lambda s: "|".join([s[0], *s[1]]))
_TYPES = st.sampled_from(
    ["TX", "FT", "ST", "NM", "CE", "CWE", "DT", "TS", "XPN", "XCN", "CX", "XAD", "ED", "RP", "SN", ""]
)
_OBX = st.tuples(_TYPES, _FIELD).map(lambda s: f"OBX|1|{s[0]}|8251-1^Note^LN||{s[1]}||||||F")
_PATIENT = st.tuples(st.integers(1, 99999), _PIECE).map(lambda s: f"PID|1||{s[0]}^^^HOSP^MR||{s[1]}^Ann||19500101|F")
_ENDS = st.sampled_from(["\r", "\n", "\r\n"])
_SIGNS = st.sampled_from(["|^~\\&", "|^~\\&", "|^~\\&", "|^~\\&#", "#*!%@", "^|~\\&", "|~^\\&"])
"""The separator of fields, then those inside of them, as the fields MSH-1 and MSH-2 write them."""


def _of_signs(data: bytes, signs: str) -> bytes:
    """Return a message with other separators; what it says of the usual ones becomes text, and the other way round."""
    return data.decode().translate(str.maketrans("|^~\\&", signs[:5])).replace(signs[1:5], signs[1:], 1).encode()


MESSAGES = st.builds(
    lambda segments, end, signs: _of_signs(message(*segments, end=end), signs),
    st.lists(st.one_of(_SEGMENT, _OBX, _PATIENT), max_size=6),
    _ENDS,
    _SIGNS,
)
"""Messages of UTF-8 that can be read, of none, one or several patients, with whatever separators."""


def _file(messages: list[bytes], end: str, around: tuple[bytes, bytes]) -> bytes:
    heads = [f"{name}|^~\\&|SYS|CLINIC|||20240312{end}".encode() for name in ("FHS", "BHS")]
    tails = [f"{name}|{len(messages)}{end}".encode() for name in ("BTS", "FTS")]
    framed = [around[0] + one + around[1] for one in messages]
    return b"".join(framed if around[0] else (*heads, *framed, *tails))


FILES = st.builds(_file, st.lists(MESSAGES, max_size=4), _ENDS, st.sampled_from([(b"", b""), (b"\x0b", b"\x1c\r")]))
"""Batches of messages, and messages as they come over MLLP."""
