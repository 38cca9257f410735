"""Numbers that identify one person: one-to-one over all patients, the same however they are written."""

from __future__ import annotations

import hashlib
import itertools
import random
import re
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notes import composed

from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.pipeline import Pipeline
from deid.replacement.identifiers import SCHEMES, replace_code, replace_ssn, scheme_of
from deid.replacement.numbers import normal_form, numbers_of, replace_number, replace_social_security
from deid.replacement.permutation import keyed_for
from deid.replacement.policy import load_policy
from deid.replacement.scope import Scope
from deid.replacement.surrogates import surrogate_operator

KEY = Key(b"a key of the tests")
KEYED = numbers_of(KEY)
OPERATOR = surrogate_operator()
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def replaced(*texts: str, patient: str = "1", category: str = "MEDICALRECORD", key: Key = KEY) -> list[str]:
    """Replace the numbers of one note."""
    document = Document("d", *composed(*(piece for text in texts for piece in ((category, text), " | "))))
    return OPERATOR(document, document.spans, Scope(key, "d", patient))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("4711203", "4711203"),
        ("04711203", "4711203"),
        ("000-471-1203", "4711203"),
        ("MRN-4711203", "4711203"),
        ("MRN4711203", "4711203"),
        ("mrn: 471 1203", "4711203"),
        ("ID No. 4711203", "4711203"),
        ("\uff14\uff17\u0661", "471"),
        ("0", "0"),
        ("000", "0"),
        ("ab-0012", "AB0012"),
        ("0012b", "0012B"),
        ("\u00d1 12", "N12"),
        ("xxx-xx-1234", "1234"),
        ("---", ""),
    ],
)
def test_normal_forms(text: str, form: str) -> None:
    assert normal_form(text) == form


@pytest.mark.parametrize(
    "codes",
    [
        list(map(str, range(10))),
        list(map(str, range(10, 100))),
        list(map(str, range(1000, 10_000))),
        list(LETTERS),
        [f"{a}{n}" for a in LETTERS for n in range(10)],
        [f"{n:02}{a}" for a in LETTERS for n in range(100)],
        list("\u00c6\u00d0\u00d8\u00de"),
    ],
    ids=len,
)
def test_all_numbers_of_a_format_are_exchanged_one_to_one(codes: list[str]) -> None:
    new = [replace_number(KEYED, code) for code in codes]
    assert sorted(new) == sorted(codes)
    assert all(a != b for a, b in zip(codes, new, strict=True))


NUMBERS = st.one_of(
    st.from_regex(r"(?:MRN[-: ]?|#|)0{0,3}[0-9]{1,20}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9]{1,12}(?:[-/ .][A-Za-z0-9]{1,6}){0,3}", fullmatch=True),
    st.text(max_size=30),
    st.text("0123456789", min_size=230, max_size=500),
    st.text("ABab\u00e9\u0416\u4e2d\u0663\u216712", min_size=1, max_size=8),
)


@settings(max_examples=300)
@given(st.lists(NUMBERS, min_size=2, max_size=8))
def test_distinct_numbers_get_distinct_surrogates_and_equal_ones_the_same(texts: list[str]) -> None:
    """Whatever the numbers: one surrogate for one normal form, and one normal form for one surrogate."""
    found: dict[str, str] = {}
    for text in texts:
        new = replace_number(KEYED, text)
        if new:
            assert len(new) == len(text)
            assert new != text
            assert found.setdefault(normal_form(text), normal_form(new)) == normal_form(new)
    assert len(set(found.values())) == len(found)


def test_punctuation_case_labels_and_leading_zeros_change_nothing() -> None:
    new = replace_number(KEYED, "4711203")
    assert replace_number(KEYED, "04711203") == f"0{new}"
    assert replace_number(KEYED, "MRN-471-1203") == f"MRN-{new[:3]}-{new[3:]}"
    assert replace_number(KEYED, "MRN4711203") == f"MRN{new}"
    assert (
        replace_number(KEYED, "ab-12c")
        == replace_number(KEYED, "AB12C").lower()[:2] + "-" + replace_number(KEYED, "AB12C").lower()[2:]
    )


VALID = {
    "dea": ["AB1234563", "BJ6125341", "MK2471809", "FZ0000000"],
    "vin": ["1M8GDM9AXKP042788", "5GZCZ43D13S812715"],
    "nie": ["X1234567L", "Y0000001S"],
    "dni": ["12345678Z", "01234567L"],
    "npi": ["1234567893", "1245319599"],
    "nhs": ["9434765919", "4010232137"],
    "luhn": ["4111111111111111", "5500005555555559", "79927398713"],
}


@pytest.mark.parametrize("name", VALID)
def test_numbers_with_check_digits_go_to_their_like(name: str) -> None:
    """Payloads counted up from valid numbers: each is of the scheme before and after, and no two meet."""
    rng = random.Random(name)
    codes: set[str] = set()
    scheme = SCHEMES[name]
    while len(codes) < 400:
        code = list(rng.choice(VALID[name]))
        for i in range(max(scheme.fixed, 1), len(code) - len(scheme.checks)):
            if code[i].isdecimal():
                code[i] = rng.choice("0123456789")
        done = scheme.check("".join(code))
        found = scheme_of(done)
        if found is not None and found[0] == name:
            codes.add(done)
    new = {replace_number(KEYED, code) for code in codes}
    assert len(new) == len(codes)
    assert {found and found[0] for found in map(scheme_of, new)} == {name}


def test_numbers_without_check_digits_never_meet_those_with() -> None:
    codes = [str(n) for n in range(12_345_600, 12_348_600)]
    new = [replace_number(KEYED, code) for code in codes]
    assert len(set(new)) == len(codes)
    assert [scheme_of(c) is None for c in codes] == [scheme_of(c) is None for c in new]


@settings(max_examples=50)
@given(st.lists(st.uuids(), min_size=2, max_size=5, unique=True))
def test_the_surrogate_of_a_uuid_is_a_uuid_whatever_its_case(uuids: list[uuid.UUID]) -> None:
    new = [replace_number(KEYED, str(one)) for one in uuids]
    assert len({uuid.UUID(one) for one in new} - set(uuids)) == len(uuids)
    assert [str(uuid.UUID(one)) for one in new] == new
    assert [replace_number(KEYED, str(one).upper()) for one in uuids] == [one.upper() for one in new]


def test_social_security_numbers() -> None:
    borders = itertools.product(("001", "665", "667", "899"), ("01", "99"), ("0001", "9999"))
    issued = ["-".join(parts) for parts in borders]
    never = ["000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "999-99-9999"]
    valid = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")
    new = [replace_social_security(KEYED, text) for text in issued + never]
    assert len(set(new)) == len(new)
    assert all(a != b for a, b in zip(issued + never, new, strict=True))
    assert [bool(valid.fullmatch(text)) for text in new] == [True] * len(issued) + [False] * len(never)
    assert replace_social_security(KEYED, issued[0].replace("-", "")) == new[0].replace("-", "")
    assert replace_social_security(KEYED, "xxx-xx-6789") == f"xxx-xx-{replace_number(KEYED, '6789')}"


@pytest.mark.parametrize("category", ["MEDICALRECORD", "SSN"])
def test_no_two_of_many_patients_share_a_number(category: str) -> None:
    """As many patients as made one pair meet when each had a map of his own; here with five and nine digits."""
    rng = random.Random(category)
    first, last = (100_000_000, 665_999_999) if category == "SSN" else (10_000, 99_999)
    numbers = rng.sample(range(first, last), 4200)
    new = {replaced(str(n), patient=str(i), category=category)[0] for i, n in enumerate(numbers)}
    assert len(new) == len(numbers)


def test_a_number_is_the_same_whatever_it_is_called_and_whose_note_it_is_in() -> None:
    usual = replaced("4711203")[0]
    for category, patient in itertools.product(("MEDICALRECORD", "ACCOUNT", "IDNUM", "HEALTHPLAN"), ("1", "2")):
        assert replaced("4711203", category=category, patient=patient) == [usual]
    assert replaced("4711203", key=Key(b"another key of the tests")) != [usual]


def test_the_number_of_another_patient_may_come_up_but_not_in_his_note() -> None:
    """A map of all numbers onto all numbers must hit true ones. In one note the number gives way to its category,
    which stays one-to-one and tells nothing; everywhere else it is as it always is."""
    usual = replaced("4711203")[0]
    further = replaced(usual)[0]
    for text in (usual, f"{usual[:3]}-{usual[3:]}", f"MRN {usual}", f"00{usual}"):
        new = replaced("4711203", text, "8812345")
        assert new[0] == "[MEDICALRECORD]"
        assert normal_form(new[1]) == further
        assert new[2] == replaced("8812345")[0]
    assert replaced("4711203", "8812345")[0] == usual
    other = Document("d", *composed(("ACCOUNT", "4711203"), " | ", ("PHONE", f"{usual[:3]}-{usual[3:]}")))
    assert OPERATOR(other, other.spans, Scope(KEY, "d", "1"))[0] == "[ACCOUNT]"
    for number, gives_way in (("47112", True), ("4711", False)):  # a short number tells nobody
        usual = replaced(number)[0]
        assert replaced(number, f"{usual[:2]}-{usual[2:]}")[0] == ("[MEDICALRECORD]" if gives_way else usual)


def test_the_map_of_yesterday_goes_on() -> None:
    old = Key(KEY.secret, 1)
    own = keyed_for(old, "patient:7")
    assert replaced("4711203", patient="7", key=old) == [replace_code(own, "4711203", "MEDICALRECORD")]
    assert replaced("533-20-9418", patient="7", key=old, category="SSN") == [replace_ssn(own, "533-20-9418")]


def test_values_are_fixed_for_all_versions() -> None:
    """Surrogates made yesterday must be made again tomorrow: these values may never change."""
    assert [replace_number(KEYED, text) for text in FIXED] == list(FIXED.values())
    assert [hashlib.sha256(replace_number(KEYED, text).encode()).hexdigest()[:16] for text in LONG] == LONG_FIXED
    assert replace_social_security(KEYED, "533-20-9418") == SOCIAL


FIXED = {
    "7": "9",
    "04711203": "08951748",
    "MRN 4711203": "MRN 8951748",
    "AB-0012": "QZ-4454",
    "4111111111111111": "8727739806625735",
    "1234567893": "1335948000",
    "ab" * 35: "ruypblhufcmlgivtjlbgoksymiidtgeywhjqutzqbshwpnccfemusayluujhiatxdaiwsy",
}
LONG = ("0123456789" * 30, "1" * 257, "a1-" * 150)
LONG_FIXED = ["cb5749553f6cfe99", "0070d3ace682b343", "8bd12a6084b5137b"]
"""Of what is moved piece by piece, a digest."""
SOCIAL = "508-86-7901"


@given(st.text("0123456789AbMRNxoID-# ./:", max_size=14))
def test_wide_letters_and_digits_are_the_same_number(text: str) -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in text)
    assert normal_form(wide) == normal_form(text)


LABELS = {
    "MRN": "MEDICALRECORD", "MRN:": "MEDICALRECORD", "Medical record number": "MEDICALRECORD",
    "Chart #": "MEDICALRECORD",
    "Acct": "ACCOUNT", "Account:": "ACCOUNT", "claim number": "ACCOUNT", "Policy #": "HEALTHPLAN",
}  # fmt: skip
GROUPS = (("471", "1203"), ("47", "11203"), ("4711", "203"), ("471", "12", "03"), ("47", "11", "203"))


@pytest.fixture(scope="module")
def by_rules() -> Pipeline:
    return Pipeline(build_recognizer(RecognizerOptions(model="none")), load_policy("surrogate"), KEY)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("gap", [" ", "   ", "\t", "-", " \t "], ids=repr)
def test_a_labelled_number_in_groups_is_one_number(by_rules: Pipeline, label: str, gap: str) -> None:
    """So its surrogate is that of the same number without gaps, no group of it stays, and what follows does."""

    def digits(text: str, after: str) -> str:
        text += after
        scrubbed = by_rules(Document("d", text))
        (edit,) = [e for e in scrubbed.edits if e.category == LABELS[label]]
        assert text[edit.end :] == after
        return "".join(c for c in scrubbed.document.text[edit.new_start : edit.new_end] if c.isdigit())

    whole = digits(f"{label} 4711203", "")
    for after in ("", " Weight 81", "\tseen", " 81 kg", "."):
        found = {digits(f"{label} {number}", after) for number in ("4711203", *map(gap.join, GROUPS))}
        assert found == {whole}, after
