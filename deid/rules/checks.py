"""Checks on what a pattern matched: check digits and values that can occur.

Each takes the matched text and tells whether it may be what the pattern says. Sources: ISO/IEC 7812 (Luhn), 45 CFR 162
(NPI, Luhn over the prefix 80840), 21 CFR 1301 (DEA), 49 CFR 565 (VIN), Social Security Administration (numbers never
issued), NHS Data Dictionary (modulus 11), Ministerio del Interior (letter of DNI and NIE), libphonenumber by way of
`phonenumbers`; the numbers of other countries by way of python-stdnum.
"""

from __future__ import annotations

import calendar
import functools
import importlib
import ipaddress
import re
from collections.abc import Callable
from types import MappingProxyType

import regex

from deid.base.luhn import luhn_digit

_VIN_VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", [*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True))
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_NUMBER = re.compile(r"\d+")
_PLAIN_PHONE = regex.compile(r"(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-. ])[0-9]{3}[-. ][0-9]{4}|0?[1-9](?: ?[0-9]){8,9}")
_EXTENSION = regex.compile(r"(?i)\s*(?:,|;)?\s*(?:ext|x|#)")
_DAYS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _digits(text: str) -> list[int]:
    return [int(c) for c in text if c.isdecimal()]


def _count(text: str) -> int:
    return sum(map(str.isdigit, text))


def luhn(text: str) -> bool:
    """Tell whether the digits of a text obey Luhn's check digit."""
    digits = "".join(map(str, _digits(text)))
    return len(digits) > 1 and digits[-1] == luhn_digit(digits[:-1])


def npi(text: str) -> bool:
    """Tell whether a text is a National Provider Identifier.

    Ten digits that begin with 1 or 2; Luhn's check over 80840 and them.
    """
    digits = "".join(map(str, _digits(text)))
    return len(digits) == 10 and digits[0] in "12" and luhn("80840" + digits)


def dea(text: str) -> bool:
    """Tell whether a text is a DEA registration: two letters, or a letter and a digit, then seven digits.

    The last one is a check digit.
    """
    digits = _digits(text[2:])
    if len(digits) != 7:
        return False
    return (sum(digits[0:6:2]) + 2 * sum(digits[1:6:2])) % 10 == digits[6]


def vin(text: str) -> bool:
    """Tell whether a text is a vehicle identification number: 17 characters, the ninth a check digit."""
    values = [int(c) if c.isdecimal() else _VIN_VALUES.get(c, -1) for c in text.upper()]
    if len(values) != 17 or -1 in values:
        return False
    remainder = sum(v * w for v, w in zip(values, _VIN_WEIGHTS, strict=True)) % 11
    return text[8].upper() == ("X" if remainder == 10 else str(remainder))


def ssn(text: str) -> bool:
    """Tell whether area, group and serial of a social security number can be issued (9xx are taxpayer numbers)."""
    digits = "".join(map(str, _digits(text)))
    return len(digits) == 9 and digits[:3] not in ("000", "666") and digits[3:5] != "00" and digits[5:] != "0000"


def dni(text: str) -> bool:
    """Tell whether a text is a Spanish identity number of citizens (DNI) or foreigners (NIE).

    The letter is the number modulo 23.
    """
    letters = [c for c in text.upper() if c.isalnum()]
    if letters and letters[0] in "XYZ":
        letters[0] = str("XYZ".index(letters[0]))
    number = "".join(letters[:-1])
    return len(number) == 8 and number.isdecimal() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == letters[-1]


def nhs(text: str) -> bool:
    """Tell whether a text is an NHS number of England and Wales: ten digits, modulus 11."""
    digits = _digits(text)
    if len(digits) != 10:
        return False
    check = (11 - sum(d * w for d, w in zip(digits[:9], range(10, 1, -1), strict=True)) % 11) % 11
    return check == digits[9]


def kvnr(text: str) -> bool:
    """Tell whether a text is the number of an insured person in Germany (KVNR): a letter, eight digits, a check digit.

    Anlage 1 of the GKV-Spitzenverband's directive under section 290 SGB V: the letter counts as its two-digit place in
    the alphabet, digits are taken once and twice in turn, and the sum of the digit sums ends in the check digit.
    """
    if regex.fullmatch(r"[A-Z][0-9]{9}", text) is None:
        return False
    digits = [*_digits(f"{ord(text[0]) - ord('A') + 1:02d}"), *_digits(text[1:9])]
    sums = (d if place % 2 == 0 else sum(divmod(2 * d, 10)) for place, d in enumerate(digits))
    return sum(sums) % 10 == int(text[9])


def _standard(module: str) -> Callable[[str], bool]:
    """Return a check by a module of python-stdnum, loaded when a number first asks for it."""

    def check(text: str) -> bool:
        found: bool = importlib.import_module(f"stdnum.{module}").is_valid(text)
        return found

    return check


def _possible(year: int, month: int, day: int) -> bool:
    if not (0 < year < 10000 and 0 < month < 13):
        return False
    return 0 < day <= _DAYS[month] + (month == 2 and calendar.isleap(year))


@functools.lru_cache(maxsize=4096)
def date(text: str) -> bool:
    """Tell whether a text is a numeric date, in the order month-day-year, day-month-year or year-month-day."""
    parts = _NUMBER.findall(text)
    if len(parts) != 3:
        return False
    if len(parts[0]) == 4:
        return _possible(int(parts[0]), int(parts[1]), int(parts[2]))
    # a two-digit year is taken as leap (2000 + yy would refuse 29 February of 1900 + yy)
    year = int(parts[2]) if len(parts[2]) == 4 else 2000
    first, second = int(parts[0]), int(parts[1])
    return 1800 <= year < 2200 and (_possible(year, first, second) or _possible(year, second, first))


def month_day(text: str) -> bool:
    """Tell whether a text holds two numbers that can be month and day, in this order or the other."""
    parts = [int(p) for p in _NUMBER.findall(text)]
    return len(parts) == 2 and (_possible(2000, parts[0], parts[1]) or _possible(2000, parts[1], parts[0]))


def timestamp(text: str) -> bool:
    """Tell whether a text begins with digits YYYYMMDD, with or without a time of day behind them."""
    digits = _NUMBER.match(text)
    if not digits or len(digits[0]) < 8:
        return False
    d = digits[0]
    return 1880 <= int(d[:4]) < 2100 and _possible(int(d[:4]), int(d[4:6]), int(d[6:8]))


def ip(text: str) -> bool:
    """Tell whether a text is an IPv4 or IPv6 address, with or without a network length."""
    if "." not in text and text.count(":") < 2:
        return False  # neither has so few parts
    if ":" in text and "." not in text and "::" not in text and text.count(":") < 7:
        return False  # a time of day
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def phone(text: str) -> bool:
    """Tell whether libphonenumber thinks a number possible in North America, Great Britain or internationally."""
    if _PLAIN_PHONE.fullmatch(text):
        return True  # what the library says of these too
    bare = _EXTENSION.split(text, maxsplit=1)[0]
    if bare != text and _PLAIN_PHONE.fullmatch(bare):
        return True
    import phonenumbers

    for region in ("US", "GB"):
        try:
            number = phonenumbers.parse(bare, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_possible_number(number):
            return True
    return False


def world_phone(text: str) -> bool:
    """Tell whether a number with the code of its country, behind ``+`` or ``00``, is one that libphonenumber knows."""
    import phonenumbers

    digits = re.sub(r"\(0\)|\D", "", text)
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse("+" + digits.removeprefix("00"), None))
    except phonenumbers.NumberParseException:
        return False


def mixed(text: str) -> bool:
    """Tell whether there is a digit: keeps words out of identifiers."""
    return any(map(str.isdigit, text))


def three_digits(text: str) -> bool:
    """Tell whether there are at least three digits."""
    return _count(text) >= 3


def four_digits(text: str) -> bool:
    """Tell whether there are at least four digits."""
    return _count(text) >= 4


def seven_digits(text: str) -> bool:
    """Tell whether there are at least seven digits."""
    return _count(text) >= 7


def code(text: str) -> bool:
    """Tell whether digits stand in parts, with a letter, or in a part too long for a date, a range or a count."""
    if _count(text) < 5:
        return False
    if not any(map(str.isalpha, text)) and max(map(len, text.replace("/", "-").split("-"))) < 5:
        return False
    return not date(text)


_ALL = (
    *(code, date, dea, dni, four_digits, ip, kvnr, luhn, mixed, month_day),
    *(nhs, npi, phone, seven_digits, ssn, three_digits, timestamp, vin, world_phone),
)
_STANDARD = {
    "ar_cuit": "ar.cuit",
    "at_vnr": "at.vnr",
    "be_nn": "be.nn",
    "ch_ahv": "ch.ssn",
    "cl_rut": "cl.rut",
    "de_idnr": "de.idnr",
    "fr_nir": "fr.nir",
    "iban": "iban",
    "mx_curp": "mx.curp",
    "nl_bsn": "nl.bsn",
}
"""Check -> module of python-stdnum."""
CHECKS: MappingProxyType[str, Callable[[str], bool]] = MappingProxyType(
    {check.__name__: check for check in _ALL} | {name: _standard(module) for name, module in _STANDARD.items()}
)
"""Checks by the name that patterns use."""
