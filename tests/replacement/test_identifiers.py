"""Surrogate codes: same classes, same separators, right check digits, no two alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.replacement.identifiers import SCHEMES, encipher, pieces, replace_code, replace_ssn, scramble
from deid.replacement.permutation import LARGEST, Keyed

KEYED = Keyed(Key(b"a key of the tests"), "patient:1")
CODES = st.from_regex(r"[A-Za-z0-9]{1,12}(?:[-/ .][A-Za-z0-9]{1,6}){0,3}", fullmatch=True)


def classes(code: str) -> str:
    return re.sub(r"\d", "9", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", code)))


@given(CODES)
def test_classes_and_separators_stay_and_nothing_else(code: str) -> None:
    new = scramble(KEYED, code)
    assert classes(new) == classes(code)
    assert new != code


@given(st.lists(st.from_regex(r"[A-Z]{2}-[0-9]{5}", fullmatch=True), min_size=2, max_size=30, unique=True))
def test_codes_of_one_form_never_share_a_surrogate(codes: list[str]) -> None:
    assert len({scramble(KEYED, code) for code in codes}) == len(codes)


@pytest.mark.parametrize("form", ["0", "A", "a", "00", "A0", "0a"])
def test_even_the_shortest_codes_are_exchanged_one_to_one(form: str) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    pools = {"0": "0123456789", "A": letters, "a": letters.lower()}
    codes = [""]
    for char in form:
        codes = [code + c for code in codes for c in pools[char]]
    new = [scramble(KEYED, code) for code in codes]
    assert len(set(new)) == len(codes)
    assert not any(a == b for a, b in zip(codes, new, strict=True))


def test_steps_give_further_surrogates() -> None:
    assert len({scramble(KEYED, "AB-1234", step=step) for step in range(1, 20)}) == 19


def test_very_long_codes() -> None:
    code = "A1" * 200
    assert classes(scramble(KEYED, code)) == classes(code)


@pytest.mark.parametrize("text", ["", "-", " / "])
def test_nothing_to_replace(text: str) -> None:
    assert scramble(KEYED, text) == ""


@pytest.mark.parametrize(
    ("code", "start"),
    [("MRN: 00123456", "MRN: "), ("Acct # 4471", "Acct # "), ("xxx-xx-1234", "xxx-xx-"), ("DL S123", "DL ")],
)
def test_labels_and_masks_stay(code: str, start: str) -> None:
    new = replace_code(KEYED, code, "id")
    assert new.startswith(start)
    assert new[len(start) :] != code[len(start) :]
    assert classes(new) == classes(code)


# check digits, by formulas of our own here and by published examples


def luhn_sum(code: str) -> int:
    return sum(sum(divmod(int(c) * (1 + i % 2), 10)) for i, c in enumerate(reversed(code)))


def vin_holds(code: str) -> bool:
    table = {c: int(v) for c, v in zip("ABCDEFGHJKLMNPRSTUVWXYZ", "12345678123457923456789", strict=True)}
    weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2]
    total = sum((int(c) if c.isdigit() else table[c]) * w for c, w in zip(code, weights, strict=True))
    return code[8] == ("X" if total % 11 == 10 else str(total % 11))


def dea_holds(code: str) -> bool:
    d = [int(c) for c in code[2:]]
    return (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10 == d[6]


def nhs_holds(code: str) -> bool:
    return sum(int(c) * w for c, w in zip(code, range(10, 0, -1), strict=True)) % 11 == 0


def dni_holds(code: str) -> bool:
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(code[:8].translate(str.maketrans("XYZ", "012"))) % 23] == code[-1]


EXAMPLES = [
    ("npi", "1234567893", lambda code: luhn_sum("80840" + code) % 10 == 0 and code[0] == "1"),
    ("dea", "AB1234563", dea_holds),
    ("vin", "1M8GDM9AXKP042788", vin_holds),
    ("vin", "11111111111111111", vin_holds),
    ("nhs", "943 476 5919", nhs_holds),
    ("dni", "12345678Z", dni_holds),
    ("nie", "X1234567L", dni_holds),
    ("nass", "28-1234567840", lambda code: int(code[:10]) % 97 == int(code[10:])),
    ("luhn", "4111 1111 1111 1111", lambda code: luhn_sum(code) % 10 == 0),
]


@pytest.mark.parametrize(("name", "code", "holds"), EXAMPLES)
def test_check_digits_hold_again(name: str, code: str, holds) -> None:  # type: ignore[no-untyped-def]
    compact = re.sub(r"\W", "", code)
    assert SCHEMES[name].valid(compact)
    assert holds(compact)
    for step in range(1, 30):
        new = replace_code(KEYED, code, "id", step)
        assert new != code
        assert holds(re.sub(r"\W", "", new))
        assert re.sub(r"\w", "_", new) == re.sub(r"\w", "_", code)


@pytest.mark.parametrize("code", ["1234567890", "AB1234560", "1M8GDM9A0KP042788"])
def test_codes_without_check_digit_are_plain_codes(code: str) -> None:
    assert not any(scheme.valid(code) for scheme in SCHEMES.values())
    assert classes(replace_code(KEYED, code, "id")) == classes(code)


@given(
    st.sampled_from(["", "SSN ", "SSN: ", "ssn no. ", "#", "Smith "]),
    st.from_regex(r"[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9]{9}", fullmatch=True),
)
def test_social_security_numbers_are_never_issued_ones(label: str, number: str) -> None:
    """Not issued: areas from 900; not a taxpayer number: groups below 50. A label stays, no other word does."""
    new = replace_ssn(KEYED, label + number)
    digits = re.sub(r"\D", "", new)
    assert re.sub(r"\d", "9", new[len(label) :]) == re.sub(r"\d", "9", number)
    assert (new[: len(label)] == label) == (label != "Smith ")
    assert digits[0] == "9"
    assert 10 <= int(digits[3:5]) < 50
    assert digits[5:] != "0000"


def test_the_last_four_digits() -> None:
    assert re.fullmatch(r"\d{4}", replace_ssn(KEYED, "6789"))
    assert replace_ssn(KEYED, "6789") != "6789"


def test_long_codes_are_permuted_piece_by_piece() -> None:
    """Ten thousand digits: no set beyond the limit of a permutation, and one permutation for some dozens of digits."""
    digits = "0123456789" * 1000
    alphabets = ["0123456789"] * len(digits)
    new = encipher(KEYED, "x", digits, alphabets)
    assert len(new) == len(digits)
    sizes = [10 ** (end - begin) for begin, end in pieces(alphabets)]
    assert max(sizes) < LARGEST
    assert len(sizes) < len(digits) / 20


@given(st.lists(st.text("0123456789", min_size=300, max_size=300), min_size=2, max_size=5, unique=True))
def test_long_codes_never_share_a_surrogate(codes: list[str]) -> None:
    new = [encipher(KEYED, "x", code, ["0123456789"] * 300) for code in codes]
    assert len(set(new)) == len(codes)
    assert all(a != b for a, b in zip(codes, new, strict=True))
