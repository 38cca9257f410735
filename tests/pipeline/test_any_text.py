"""No text makes a shipped policy fail, and what no edit covers stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid import Pipeline, build_recognizer, load_policy
from deid.base.keys import Key
from deid.document import Document, Span
from deid.phi import LABEL_SETS
from deid.pipeline.core import Scrubbed, Settings
from deid.replacement.policy import shipped_policies
from tests.strategies import HOSTILE, MARKUP, PLAIN

KEY = Key(b"k" * 32)
RECOGNIZER = build_recognizer()
LABELS = sorted({label for labels in LABEL_SETS.values() for label in labels.names()})
NAMES = [
    "Dr. ",
    "Mr ",
    "Patient: ",
    "Zembrick",
    "QUORVATH^ELINDA^Q",
    "O’Brien",
    "中田",
    "יוסף",
    "Sm\u0456th",
    "JQ",
    "née",
    "Jr.",
]
NUMBERS = [
    "MRN: ",
    "SSN ",
    "Tel ",
    "4711203",
    "0",
    "0000",
    "٣٤٥٦",
    "４７１１",
    "533-20-9418",
    "(217) 555-0144",
    "12 " * 30,
    "9" * 90,
]
DATES = [
    "DOB ",
    "1/6/20",
    "29 Feb 2019",
    "00/00/0000",
    "0001-01-01",
    "9999-12-31",
    "99/99/99",
    "’98",
    "Easter",
    "Mon",
    "winter of 2018",
]
PLACES = [
    "12 Bramley Road",
    "Ashford, KY ",
    "00501",
    "SW1A 1AA",
    "BMC",
    "ICU",
    "92 y/o",
    "age ninety",
    "bus driver",
    "::1",
    "a@b.co",
    "http://x.org/?id=4",
]
GLUE = ["", " ", "  ", ", ", "-", "/", ".", "^", "\n", "\r", "\u200b", "\u202e", "A." * 20, "e\u0301" * 5]
TEXTS = st.lists(
    st.tuples(st.sampled_from([*NAMES, *NUMBERS, *DATES, *PLACES, *PLAIN, *MARKUP, *HOSTILE]), st.sampled_from(GLUE)),
    max_size=25,
).map(lambda pieces: "".join(piece + glue for piece, glue in pieces)) | st.text(max_size=60)  # fmt: skip
LISTS = {
    "telephones": "On-call: " + ", ".join(f"217-555-{n:04d}" for n in range(25)),
    "numbers": " ".join(str(10007 + 613 * n) for n in range(49)),
    "values": " ".join(str(100 + 8 * n) for n in range(100)),
    "hours": "12:34:" * 51,
    "bytes": ":".join(f"{(n * 37) % 256:02x}" for n in range(140)),
    "digits": "7" * 5000,
}
METHODS = [*shipped_policies(), "concept-match"]


def made(name: str, *, gold: bool) -> Pipeline:
    if name == "concept-match":  # replaces whole texts: no policy, detection or annotations
        return Pipeline(None, None, KEY, Settings(method=name))
    return Pipeline(None if gold else RECOGNIZER, load_policy(name), KEY, Settings(gold=gold))


PIPELINES = {(name, gold): made(name, gold=gold) for name in METHODS for gold in (False, True)}


def check(text: str, scrubbed: Scrubbed) -> None:
    """Check that the new text is the old one but for the edits."""
    new, read, written = scrubbed.document.text, 0, 0
    for edit in scrubbed.edits:
        assert text[read : edit.start] == new[written : edit.new_start]
        read, written = edit.end, edit.new_end
    assert text[read:] == new[written:]


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=12)
@given(text=TEXTS)
def test_no_text_makes_a_policy_fail(name: str, text: str) -> None:
    check(text, PIPELINES[name, False](Document("n", text)))


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=25)
@given(
    text=TEXTS, places=st.lists(st.tuples(st.integers(0, 80), st.integers(1, 30), st.sampled_from(LABELS)), max_size=6)
)
def test_no_annotation_makes_a_policy_fail(name: str, text: str, places: list[tuple[int, int, str]]) -> None:
    spans = tuple(Span(start, min(start + n, len(text)), label) for start, n, label in places if start < len(text))
    check(text, PIPELINES[name, True](Document("n", text, spans)))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "label", ["PHONE", "DATE", "MEDICALRECORD", "SSN", "ZIP", "AGE", "PATIENT", "IPADDR", "USERNAME"]
)
def test_no_list_makes_a_policy_fail(name: str, label: str) -> None:
    """Found, or annotated as whatever, as one span."""
    for text in LISTS.values():
        if label == "PHONE":
            check(text, PIPELINES[name, False](Document("n", text)))
        check(text, PIPELINES[name, True](Document("n", text, (Span(0, len(text), label),))))
