"""An identifier planted in every field of every segment: none is left, but where a code or a measurement belongs."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest
from samples import HEAD, TABLE, one

from deid.io.records import document
from deid.pipeline import Pipeline

PEOPLE = (
    *("PID", "PD1", "NK1", "PV1", "PV2", "GT1", "IN1", "IN2", "IN3", "MRG", "ACC", "DB1", "ROL", "PRD", "CTD", "STF"),
    *("EVN", "ORC", "NTE", "TXA", "SCH", "AIL", "AIP", "RGS", "FT1", "UB2", "PDA", "QRD", "MSA", "NPU"),
)
"""Segments about persons and visits: nothing in them is kept as it stands."""
CODES = {"keep", "CWE", "CWT", "ELD", "TQ", "SPS", "PRL"}
NUMBERS = {"number", "NM", "CP", "MOC", "CQ", "NA", "RMC", "PTA", "DDI"}


def word(n: int, kind: str = "") -> str:
    """Return the n-th of many words that are no words."""
    signs = "bdfgklmnprtvz"
    return f"Zo{kind}{signs[n % 13]}u{signs[n // 13 % 13]}arth"


def number(n: int) -> str:
    return f"{7351904 + 7919 * n}"


Plant = Callable[[int], tuple[str, tuple[str, ...]]]
PLANTS: dict[str, tuple[Plant, set[str]]] = {
    # what stands in the n-th field, and what of it may not be left; kinds of places that only a code or number fits
    "person": (lambda n: (f"8812{n:03d}^{word(n)}^Quillian^B^^Dr^MD", (word(n), f"8812{n:03d}")), set()),
    "name": (lambda n: (f"{word(n)}^{word(n, 'w')}^B", (word(n), word(n, "w"))), {"CX", "FC", "PLN", "XON"}),
    "name with a comma": (lambda n: (f"{word(n)}, {word(n, 'w')}", (word(n),)), {"keep"}),
    "titled": (lambda n: (f"Dr. {word(n)}", (word(n),)), set()),
    "sentence": (
        lambda n: (f"Her son {word(n)} called from 802-555-{n:04d}", (f"802-555-{n:04d}",)),
        set(),
    ),
    "person inside": (lambda n: (f"8812&{word(n)}&Joan&Q^^X", (word(n),)), set()),
    "number": (lambda n: (number(n), (number(n),)), CODES | NUMBERS | {"amount"}),
    "number behind": (lambda n: (f"A^^^{number(n)}", (number(n),)), CODES),
    "registry": (lambda n: (f"552-12-{n:04d}", (f"552-12-{n:04d}",)), set()),
    "telephone": (lambda n: (f"(802)555-{n:04d}", (f"555-{n:04d}",)), set()),
    "e-mail": (lambda n: (f"{word(n)}@mailhost.example", (word(n),)), set()),
    # one day for all: the shift of another's could make it
    "day": (lambda _: ("19470619", ("19470619",)), NUMBERS),
    "day with dashes": (lambda _: ("1947-06-19", ("1947-06-19",)), set()),
    "instant": (lambda _: ("194706191130", ("19470619",)), NUMBERS),
    "instant behind": (lambda _: ("A^^^194706191130^^R", ("19470619",)), NUMBERS),
    "instant inside": (lambda _: ("A^B&194706191130&C", ("19470619",)), NUMBERS),
}
FIXED = {("MSH", n) for n in (1, 2, 9, 10, 12, 18)} | {("BHS", 1), ("BHS", 2), ("FHS", 1), ("FHS", 2)}


@cache
def kinds(segment: str) -> dict[int, str]:
    """Return field -> what the table says that it is."""
    return {n: line.kind.partition(" ")[0] for line in TABLE.heads[segment] for n in line.keys}  # type: ignore[misc]


def planted(segment: str, fields: dict[int, str]) -> bytes:
    """Return a message with a segment whose fields hold something."""
    size = max(fields, default=1)
    values = [fields.get(n, "") for n in range(1, size + 1)]
    if segment in ("MSH", "FHS", "BHS"):
        head = HEAD.replace("MSH", segment, 1).split("|")
        head += [""] * (size - len(head))
        return ("|".join(fields.get(n + 1, said) for n, said in enumerate(head)) + "\r").encode()
    line = "|".join([segment, *values])
    return f"{line}\r".encode() if segment in ("BTS", "FTS") else f"{HEAD}\r{line}\r".encode()


@pytest.mark.parametrize("shape", PLANTS)
def test_nothing_planted_in_any_field_is_left(shape: str, surrogates: Pipeline) -> None:
    plant, stays = PLANTS[shape]
    for segment in TABLE.heads:
        said = kinds(segment)
        fields = [n for n in said if (segment, n) not in FIXED and not (segment == "OBX" and n == 2)]
        fields = [n for n in fields if said[n] not in stays and said[n] != "by"]
        record = one(planted(segment, {n: plant(n)[0] for n in fields}))
        written = surrogates(document(record, "m")).document.record
        assert written is not None
        out = written.data.decode()
        left = [n for n in fields for secret in plant(n)[1] if re.search(rf"(?<![0-9]){re.escape(secret)}", out)]
        assert not left, f"{segment}-{left}"


def test_what_is_kept_as_it_stands_is_about_no_person() -> None:
    """Where no list of the standard stands behind a field, six digits and words are not left to the code."""
    for segment in PEOPLE:
        assert not [n for n, kind in kinds(segment).items() if kind == "keep"], segment


@pytest.mark.parametrize(
    "segment",
    [
        "PID|1|||||||F||White^^HL70005||||||Married|Roman Catholic^^L|||||Hispanic or Latino",
        "NK1|1||EMC^Emergency Contact^HL70131||||Life Partner",
        "PV1|1|Inpatient||Elective||||||Internal Medicine||||Physician Referral" + "|" * 22 + "Discharged to home",
        "PV1|1|I" + "|" * 44 + "1234567.50",
        "IN1|1|BCBS^Blue Cross Blue Shield|||||||||||||||Spouse",
        "OBR|1|||24331-1^Lipid Panel^LN|||||||||||||||||||||F",
        "PID|1||||||||||||||en^English^ISO639",
    ],
)
def test_words_of_lists_stay(segment: str, surrogates: Pipeline) -> None:
    written = surrogates(document(one(f"{HEAD}\r{segment}\r".encode()), "m")).document.record
    assert written is not None
    assert written.data.decode().split("\r")[1] == segment
