"""Orders, appointments, referrals and payers: what their fields hold by the standard, each at its place."""

from __future__ import annotations

from datetime import date

import pytest
from samples import PID, TABLE, message, one, places

from deid.io.records import document
from deid.pipeline import Pipeline


def scrubbed(pipeline: Pipeline, *segments: str) -> list[str]:
    """Return the segments behind the header."""
    out = pipeline(document(one(message(*segments)), "m")).document.record
    assert out is not None
    return [line for line in out.data.decode().split("\r")[1:] if line]


def field(line: str, number: int) -> str:
    return line.split("|")[number]


TIMING = (
    "1^QD&0800,2000^X3^20240105^20240112093000^R^with food^ring 802-555-0148, Mrs. Thornbury^C^S&ORD-4471&EHR^600^3"
)


@pytest.mark.parametrize(("segment", "number"), [("ORC", 7), ("OBR", 27), ("SCH", 11), ("RXE", 1), ("GOL", 15)])
def test_timing_keeps_its_codes_and_moves_its_days(surrogates: Pipeline, segment: str, number: int) -> None:
    """Also where its remark holds what elsewhere would tell of a person a field off."""
    day = {"ORC": 9, "OBR": 7, "SCH": 11, "RXE": 18, "GOL": 2}[segment]
    fields = [""] * 30
    fields[day], fields[number] = "20240107", f"{TIMING}~2^BID^^20240107"
    _, order, line = scrubbed(surrogates, PID, "ORC|RE|ORD-4471^EHR", "|".join([segment, *fields[1:]]))
    said, again = (part.split("^") for part in field(line, number).split("~"))
    assert [said[n] for n in (0, 1, 2, 5, 6, 8, 10, 11)] == [
        "1",
        "QD&0800,2000",
        "X3",
        "R",
        "with food",
        "C",
        "600",
        "3",
    ]
    first, last, third = (int(text[:8]) for text in (said[3], said[4], again[3]))
    assert len(said[3]) == 8
    assert said[4][8:] == "093000"
    assert first != 20240105
    days = [date(n // 10000, n // 100 % 100, n % 100) for n in (first, last, third)]
    assert [(b - days[0]).days for b in days] == [0, 7, 2]
    assert "Thornbury" not in line
    assert "555-0148" not in line
    assert said[7].startswith("ring ")
    # the order's number is the one that it has elsewhere
    assert said[9] == "S&" + field(order, 2).replace("^", "&")


def test_a_place_with_its_address_is_taken_apart() -> None:
    found = places(one(message("RXA|0|1|20240105||||||||4WEST^412^B^NFC^^^N1^2^12 Elm Road^^Ruvarth^VT^05663")))
    said = [found[f"RXA-11.{number}"][0] for number in (1, 9, 11, 13)]
    assert said == ["DEPARTMENT", "STREET", "CITY", "ZIP"]


@pytest.mark.parametrize(
    ("segment", "left"),
    [
        # coded fields that stay
        ("ORC" + "|" * 31 + "88304^Surgical pathology^C4", "88304^Surgical pathology^C4"),
        ("OBR" + "|" * 26 + "11526-1&Pathology study&LN^1^", "11526-1&Pathology study&LN^1"),
        ("TXA" + "|" * 28 + "394579002^Cardiology^SCT", "394579002^Cardiology^SCT"),
        ("IAM|1|DA^Drug allergy|70618^Penicillin^RXNORM|SV", "DA^Drug allergy|70618^Penicillin^RXNORM|SV"),
        ("DRG|0870^Heart failure^DRG", "0870^Heart failure^DRG"),
        ("IN2" + "|" * 27 + "1|SEMI^LM^250.00|", "SEMI^LM^250.00"),
    ],
)
def test_codes_of_orders_and_payers_stay(surrogates: Pipeline, segment: str, left: str) -> None:
    assert left in scrubbed(surrogates, PID, segment)[1]


@pytest.mark.parametrize(
    "segment",
    [
        "IAM|1|||||||||||||Zuvarth^Quila^^^Mrs",
        "CON|1||||I, Mrs. Zuvarth, agree.|||||||||||||||||||Zuvarth^Quila",
        "GT1" + "|" * 45 + "Zuvarth^Quila",
        "GT1" + "|" * 42 + "Zuvarth^Quila",
        "IN2" + "|" * 49 + "Zuvarth^Quila",
        "AIG|1|A|7712^Zuvarth, Quila^L",
        "PRT|1|AD||AP|7712^Zuvarth^Quila^^^Dr",
        "RF1" + "|" * 20 + "7712^Zuvarth^Quila",
        "AUT" + "|" * 24 + "7712^Zuvarth^Quila",
        "CSR|S1^X||||||7712^Zuvarth^Quila",
        "ARQ" + "|" * 15 + "7712^Zuvarth^Quila",
        "OBX|1|TX|1^a^L||well||||||F||||7712^Zuvarth Laboratory^L",
        "ORC" + "|" * 17 + "7712^Zuvarth Clinic^L",
        "TXA" + "|" * 25 + "Letter to Mrs. Zuvarth",
        "PV1" + "|" * 37 + "Zuvarth Home^20240105",
        "OBX|1|TX|1^a^L||well|" + "|" * 5 + "F\rOBR" + "|" * 26 + "1^2^as Mrs. Zuvarth said",
    ],
)
def test_who_takes_part_in_orders_and_payments_is_replaced(surrogates: Pipeline, segment: str) -> None:
    line = "\r".join(scrubbed(surrogates, PID, segment)[1:])
    assert line
    assert not {"zuvarth", "quila", "7712", "20240105"} & set(line.lower().replace("^", " ").split())
    assert "zuvarth" not in line.lower()


def test_no_segment_that_the_table_names_is_blocked_in_the_middle() -> None:
    """A field that no line names is emptied; between two that lines name it is one that was forgotten."""
    forgotten = {
        f"{name}-{number}"
        for name, lines in TABLE.heads.items()
        for keys in [{key for line in lines for key in line.keys if isinstance(key, int)}]
        for number in range(1, max(keys))
        if number not in keys
    }
    assert forgotten == set()


@pytest.mark.parametrize(
    "segment",
    [
        "STF|DOC7^Zuvarth^Quila^^^Dr.",
        "STF|DOC7^Zuvarth^Quila",
        "PRA|DOC7^Zuvarth^Quila",
        "AIG|1||DOC7^Zuvarth^Quila^^^Dr.",
        "ORG|1|DOC7^Zuvarth^Quila",
    ],
)
def test_a_person_in_place_of_a_number_or_an_institution_is_replaced_whole(surrogates: Pipeline, segment: str) -> None:
    line = scrubbed(surrogates, segment)[0].lower()
    assert not [word for word in ("doc7", "zuvarth", "quila") if word in line]


def test_the_scheme_and_the_system_of_a_number_stay(surrogates: Pipeline) -> None:
    line = scrubbed(surrogates, PID, "STF|77120^5^M10^NFC^PRN", "AIG|1||7712^Scanner^HL70286")
    assert "^M10^" in line[1]
    assert line[1].endswith("^PRN")
    assert line[2].endswith("^HL70286")
