"""National numbers become national numbers: python-stdnum says so, or a published rule that is written here anew."""

from __future__ import annotations

import datetime
import importlib
import random
import re
from collections.abc import Callable

import pytest
from stdnum.be import nn

from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.pipeline import Pipeline
from deid.replacement.national_numbers import NATIONAL, national_kinds
from deid.replacement.numbers import normal_form, numbers_of, replace_number
from deid.replacement.policy import load_policy

KEY = Key(b"a key of the tests")
KEYED = numbers_of(KEY)
LETTERS = "_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Test = Callable[[str], bool]


def stdnum(*modules: str) -> Test:
    return lambda text: any(importlib.import_module(f"stdnum.{module}").is_valid(text) for module in modules)


def nass(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return len(digits) == 12 and int(digits[:10]) % 97 == int(digits[10:])


def weighed(digits: str, weights: str) -> int:
    return sum(sum(map(int, str(int(d) * int(w)))) for d, w in zip(digits, weights, strict=True)) % 10


def pension(text: str) -> bool:
    code = text.replace(" ", "")
    datetime.date(2000, int(code[4:6]), int(code[2:4]))
    return weighed(f"{code[:8]}{LETTERS.index(code[8]):02}{code[9:11]}", "212571212121") == int(code[11])


def kvnr(text: str) -> bool:
    return weighed(f"{LETTERS.index(text[0]):02}{text[1:9]}", "1212121212") == int(text[9])


def mbi(text: str) -> bool:
    """Tell whether a number has the form of CMS: no S, L, O, I, B, Z among its letters."""
    a = "[AC-HJKMNP-RT-Y]"
    return re.fullmatch(rf"[1-9]{a}(?:{a}|\d)\d-?{a}(?:{a}|\d)\d-?{a}{a}\d\d", text) is not None


def day_of_austria(text: str) -> bool:
    datetime.date(2000, int(text[-4:-2]), int(text[-6:-4]))
    return stdnum("at.vnr")(text)


def nir(text: str) -> bool:
    return stdnum("fr.nir")(text) and re.match(r"[12]\W?\d\d\W?(?:0[1-9]|1[0-2])", text) is not None


def belgian(text: str) -> bool:
    return stdnum("be.nn")(text) and nn.get_birth_date(text) is not None


def belgian_now(text: str) -> bool:
    return belgian(text) and (nn.get_birth_year(text) or 0) >= 2000


TABLE: dict[str, tuple[Test, str, tuple[str, ...]]] = {
    "ahv": (stdnum("ch.ssn"), r"756", ("756.9217.0769.85", "7569217076985")),
    "tax": (stdnum("de.idnr"), "", ("36 574 261 809", "36574261809")),
    "kvnr": (kvnr, "", ("A123456780", "H123456785", "X123456788")),
    "pension": (pension, r"\d\d", ("15 070649 C 103", "65170839J003")),
    "austrian": (day_of_austria, "", ("1237 010180", "1237010180")),
    "nir": (nir, r"[12]", ("2 71 06 75 116 042 88", "295109912611193", "1 84 12 2A 451 089 33")),
    "belgian": (belgian, "", ("85.07.30-033.28", "85073003328")),
    "belgian of 2000": (belgian_now, "", ("17.07.30-033.84", "05.01.02-001.80", "00.11.05-001.52")),
    "bsn": (stdnum("nl.bsn"), "", ("111222333", "1112.22.333", "012345672")),
    "nass": (nass, r"0", ("08/12345678/69", "081234567869")),
    "mbi": (mbi, "", ("1EG4-TE5-MK73", "1EG4TE5MK73")),
    "iban": (
        stdnum("iban"),
        r"[A-Z]{2}",
        (
            *("DE89 3704 0044 0532 0130 00", "ES9121000418450200051332", "FR14 2004 1010 0505 0001 3M02 606"),
            *("NL91 ABNA 0417 1643 00", "BE71 0961 2345 6769", "CH9300762011623852957", "GB29 NWBK 6016 1331 9268 19"),
        ),
    ),
    # those that have been replaced by their like before
    "dni": (lambda text: stdnum("es.dni")(text.replace(".", "")), "", ("54362315K", "54.362.315-K")),
    "nie": (stdnum("es.nie"), r"[XYZ]", ("X-2482300-W", "Y0000001S")),
    "nass of 10 and more": (nass, "", ("28-1234567840", "281234567840")),
    "nhs": (stdnum("gb.nhs"), "", ("943 476 5919",)),
}


def checked(kind: str, text: str) -> bool:
    return TABLE[kind][0](text)


@pytest.mark.parametrize("kind", TABLE)
def test_valid_stays_valid_and_form_and_prefix_stay(kind: str) -> None:
    """What stays is the same text; separators and the order of letters and digits always do."""
    valid, prefix, examples = TABLE[kind]
    for text in examples:
        assert valid(text), text
        new = replace_number(KEYED, text)
        assert valid(new), (text, new)
        assert new != text
        assert re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", new)) == re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", text))
        start = re.match(prefix, text)
        assert start
        assert new.startswith(start[0])
        assert normal_form(new) != normal_form(text)
    same = {
        normal_form(replace_number(KEYED, text)) for text in examples if normal_form(text) == normal_form(examples[0])
    }
    assert len(same) == 1


@pytest.mark.parametrize("kind", NATIONAL)
def test_many_of_a_kind_stay_of_it_and_never_meet(kind: str) -> None:
    """Neighbours of the examples, made valid and judged by the table's own test before they are asked for."""
    rng = random.Random(kind)
    number, (valid, _, examples) = NATIONAL[kind], TABLE[kind]
    codes: set[str] = set()
    while len(codes) < 120:
        whole = number.whole(normal_form(rng.choice(examples)))
        places = number.alphabets(whole)
        code = number.check("".join(rng.choice(places[i]) if rng.random() < 0.5 else c for i, c in enumerate(whole)))
        if "?" not in code and number.valid(code) and valid(code):
            codes.add(code)
    new = {code: replace_number(KEYED, code) for code in codes}
    assert len(set(new.values())) == len(codes)
    for code, other in new.items():
        assert valid(other), (code, other)
        assert national_kinds(normal_form(other)) == national_kinds(normal_form(code))
        assert len(other.lstrip("0")) == len(code.lstrip("0"))


def test_a_dutch_account_obeys_the_test_by_eleven_as_the_one_that_it_replaces_does() -> None:
    """The ten digits weighed 10 to 1 add up to a multiple of 11, except of one bank's."""
    check = NATIONAL["iban"].check
    for number in range(417164300, 417164340):
        code = check(f"NL00ABNA{number:010}")
        new = replace_number(KEYED, code)
        obeys = [
            sum(w * int(d) for w, d in zip(range(10, 0, -1), one[8:], strict=True)) % 11 == 0 for one in (code, new)
        ]
        assert new != code
        assert obeys[0] == obeys[1], (code, new)


def test_a_letter_right_before_nine_digits_is_no_label() -> None:
    """H is the label of a hospital's number elsewhere; of a German insured person it is a part, wrong check or not."""
    for letter in "HX":
        texts = [f"{letter}{n}" for n in range(111111111, 111111411)]
        new = [replace_number(KEYED, text) for text in texts]
        assert len(set(new)) == len(texts)
        assert [kvnr(text) for text in texts] == [kvnr(text) for text in new]
        assert all(normal_form(text) == text and re.fullmatch(r"[A-Z]\d{9}", text) for text in new)
        assert normal_form(f"{letter.lower()}111111111") == f"{letter}111111111"
    for text in ("H4711203", "H-111111111", "H 111111111", "H1111111111", "MRN111111111"):
        assert normal_form(text) == re.sub(r"\D", "", text)


def test_belgian_numbers_keep_sex_and_century() -> None:
    """An odd number is a man's; a child that was just born gets no birthday of the years to come."""
    years: dict[str, set[str]] = {}
    for number in range(1, 40, 3):
        for century, start in ("", f"640228{number:03}"), ("2", f"110831{number:03}"), ("2", f"260131{number:03}"):
            code = f"{start}{97 - int(century + start) % 97:02}"
            new = replace_number(KEYED, code)
            assert int(new[8]) % 2 == number % 2
            assert 97 - int(century + new[:9]) % 97 == int(new[9:])
            assert not century or new[:2] <= ("26" if start[0] == "2" else "24")
            years.setdefault(start[:2], set()).add(new[:2])
    assert years["26"] == {"26"}
    assert min(len(years["64"]), len(years["11"])) > 6


@pytest.mark.parametrize("month", ["00", "20", "40"])
def test_a_belgian_birthday_that_is_not_known_stays_unknown(month: str) -> None:
    for number in range(1, 40, 3):
        start = f"64{month}00{number:03}"
        code = f"{start}{97 - int(start) % 97:02}"
        assert "belgian" in national_kinds(code)
        new = replace_number(KEYED, code)
        assert (new[2:4], 97 - int(new[:9]) % 97) == (month, int(new[9:]))


def test_numbers_without_their_check_digits_become_no_national_numbers() -> None:
    codes = [f"7569217076{n:03}" for n in range(100)] + [f"1112223{n:02}" for n in range(100)]
    codes = [code for code in codes if not national_kinds(code)]
    assert len(codes) > 150
    new = [replace_number(KEYED, code) for code in codes]
    assert len(set(new)) == len(codes)
    assert not any(map(national_kinds, new))


@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("de", "AHV-Nr. 756.9217.0769.85", "ahv"),
        ("de", "AHV: 7569217076985", "ahv"),
        ("de", "Steuer-ID 36 574 261 809", "tax"),
        ("de", "Versicherungsnummer: 65 170839 J 003", "pension"),
        ("de", "Versichert unter A123456780", "kvnr"),
        ("de", "Versichert unter H123456785", "kvnr"),
        ("de", "SVNR: 1237 010180", "austrian"),
        ("fr", "NIR : 2 71 06 75 116 042 88", "nir"),
        ("fr", "AVS 756.9217.0769.85", "ahv"),
        ("fr", "NISS 85.07.30-033.28", "belgian"),
        ("nl", "BSN: 111222333", "bsn"),
        ("nl", "rijksregisternummer 85.07.30-033.28", "belgian"),
        ("nl", "IBAN: NL91 ABNA 0417 1643 00", "iban"),
        ("es", "DNI: 54362315K", "dni"),
        ("es", "NIE: X2482300W", "nie"),
        ("es", "NASS: 081234567869", "nass"),
        ("es", "IBAN: ES91 2100 0418 4502 0005 1332", "iban"),
        ("en", "NHS no. 943 476 5919", "nhs"),
        ("en", "Medicare # 1EG4-TE5-MK73", "mbi"),
    ],
)
def test_found_in_a_text_and_valid_in_the_scrubbed_one(language: str, text: str, kind: str) -> None:
    recognizer = build_recognizer(RecognizerOptions(model="none", language=language))
    scrubbed = Pipeline(recognizer, load_policy("surrogate"), KEY)(Document("d", text)).document.text
    start = re.match(r"[\w. -]+?[:.#]? (?=[A-Z]*\d)|NASS: |DNI: |NIE: ", text)
    assert start
    assert scrubbed.startswith(start[0])
    assert scrubbed != text
    assert checked(kind, scrubbed[start.end() :])


def test_digits_of_younger_alphabets_are_no_national_number() -> None:
    """Numbers are folded by one old version of Unicode, which does not know Adlam's digits; Python does."""
    assert national_kinds("475548" + chr(0x1E953) + "6") == ()
    assert national_kinds(normal_form("".join(chr(0x1E950 + int(digit)) for digit in "47554836"))) == ()


def test_an_account_of_france_has_its_own_key() -> None:
    """Bank, branch and account, letters as digits, weigh 89, 15 and 3 (RIB)."""
    digits, text = (
        str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "12345678912345678923456789"),
        "FR1420041010050500013M02606",
    )
    for _ in range(10):
        own = text[4:].translate(digits)
        assert (89 * int(own[:5]) + 15 * int(own[5:10]) + 3 * int(own[10:21]) + int(own[21:])) % 97 == 0
        text = replace_number(KEYED, text)
