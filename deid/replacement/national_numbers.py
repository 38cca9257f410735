"""Forms of national numbers whose surrogates are valid again: prefixes, dates inside them, check digits.

Sources: ech-0121 and GS1's check digit (Swiss AHV number); Anlage 1 of the GKV-Spitzenverband's directive under section
290 SGB V (German insured person); VKVV section 2 (German pension insurance); AO section 139b and ISO 7064 (German tax
number); section 30c ASVG (Austrian insurance); INSEE (French NIR); Royal Decree of 3 April 1984 (Belgian national
number and, by its months above 20, BIS number); Wet algemene bepalingen burgerservicenummer (Dutch BSN); Tesorería
General (Spanish social security); CMS (Medicare beneficiary identifier); ISO 13616 (IBAN) and the checks inside those
of Belgium, Spain, France, Monaco and the Netherlands. The tests compare with python-stdnum.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul

from deid.replacement.identifiers import DIGITS, UPPER

_LEADING = "123456789"
_MBI = "ACDEFGHJKMNPQRTUVWXY"
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_AGED = 25
"""Two digits of a year from which one of this century could lie ahead: it stays, so that no surrogate is unborn."""


@dataclass(frozen=True, slots=True)
class NationalNumber:
    """A kind of number that a state or its insurers give to a person, or that is written alike everywhere."""

    form: re.Pattern[str]
    """What its letters and digits look like, separators left out."""
    check: Callable[[str], str]
    """Writes the check characters where they belong; a question mark stands where there is none."""
    alphabets: Callable[[str], Sequence[str]]
    """The characters that may stand at each place of a number: one alone stays; check characters stay too."""
    length: int = 0
    """How long all numbers of the kind are; 0: they differ."""
    width: int = 0
    """Length to which leading zeros that a normal form has not are given back."""
    holds: Callable[[str], bool] = bool
    """Tells what else a number must be, such as to have a day that exists."""
    kept: Callable[[str], object] = bool
    """What a number shares with its surrogate: sex, century."""

    def whole(self, code: str) -> str:
        """Return a normal form with its leading zeros."""
        return code.zfill(self.width) if code.isdecimal() else code

    def valid(self, code: str) -> bool:
        """Tell whether a normal form is a number of this kind with right check characters."""
        code = self.whole(code)
        return self.form.fullmatch(code) is not None and self.holds(code) and self.check(code) == code


def _weighed(digits: str, weights: Sequence[int]) -> int:
    return sum(map(mul, map(int, digits), weights))


def _sums(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digit sums of weighed digits."""
    return sum(sum(divmod(int(digit) * weight, 10)) for digit, weight in zip(digits, weights, strict=True))


def _letter(letter: str) -> str:
    return f"{ord(letter) - ord('A') + 1:02d}"


def _day(year: str, month: str, day: str) -> bool:
    """Tell whether a day exists; years of two digits are leap as those of 1904 to 2096 are."""
    number = int(month)
    if not 1 <= number <= 12 or not 1 <= int(day) <= _DAYS[number - 1]:
        return False
    return (number, int(day)) != (2, 29) or int(year) % 4 == 0


def _ahv(code: str) -> str:
    return code[:12] + str(-_weighed(code[:12], (1, 3) * 6) % 10)


def _kvnr(code: str) -> str:
    return code[:9] + str(_sums(_letter(code[0]) + code[1:9], (1, 2) * 5) % 10)


def _pension(code: str) -> str:
    digits = code[:8] + _letter(code[8]) + code[9:11]
    return code[:11] + str(_sums(digits, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)) % 10)


def _tax(code: str) -> str:
    product = 10
    for digit in code[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return code[:10] + str((11 - product) % 10)


def _tax_repeats(code: str) -> bool:
    """Tell whether one of the first ten digits stands there twice or three times and no other more than once."""
    several = [count for count in map(code[:10].count, DIGITS) if count > 1]
    return several in ([2], [3])


def _austrian(code: str) -> str:
    check = _weighed(code, (3, 7, 9, 0, 5, 8, 4, 2, 1, 6)) % 11
    return code[:3] + ("?" if check == 10 else str(check)) + code[4:]


def _nir(code: str) -> str:
    digits = code[:13].replace("2A", "19").replace("2B", "18")
    return code[:13] + f"{97 - int(digits) % 97:02d}"


def _nir_alphabets(code: str) -> list[str]:
    month = [*code[3:5]] if code[3:5] > "12" else ["01", DIGITS]
    department = ["2", "AB"] if code[6].isalpha() else [DIGITS, DIGITS]
    return [code[0], DIGITS, DIGITS, *month, *department, *[DIGITS] * 6, "0", "0"]


def _belgian(century: str) -> Callable[[str], str]:
    def check(code: str) -> str:
        return code[:9] + f"{97 - int(century + code[:9]) % 97:02d}"

    return check


def _belgian_month(code: str) -> tuple[int, int]:
    return divmod(int(code[2:4]), 20)


def _belgian_day(code: str) -> bool:
    _, month = _belgian_month(code)
    return month == 0 or _day(code[:2], str(month), code[4:6])


def _belgian_kept(code: str) -> object:
    """Return whether the birthday is known, of which register the number is, the sex."""
    register, month = _belgian_month(code)
    return register, month == 0, int(code[8]) % 2


def _belgian_kept_now(code: str) -> object:
    return _belgian_kept(code), int(code[:2]) < _AGED or code[:2]


def _bsn(code: str) -> str:
    check = _weighed(code[:8], range(9, 1, -1)) % 11
    return code[:8] + ("?" if check == 10 else str(check))


def _spanish(code: str) -> str:
    return f"{code[:10]}{int(code[:10]) % 97:02d}"


def _values(code: str) -> int:
    return int("".join(str(int(char, 36)) for char in code))


def _bank_check(digits: str) -> str:
    """Return one check digit of a Spanish account: weights of powers of two modulo 11."""
    check = -_weighed(digits, [2**n % 11 for n in range(10)]) % 11
    return "1" if check == 10 else str(check)


def _rib(account: str) -> str:
    """Return the key of a French account; its letters count as on a telephone."""
    digits = "".join(c if c.isdecimal() else str((ord(c) - ord("A") + (c > "R")) % 9 + 1) for c in account)
    return f"{97 - int(digits) * 100 % 97:02d}"


def _iban(code: str) -> str:
    country, account = code[:2], code[4:]
    if country == "ES":
        account = account[:8] + _bank_check("00" + account[:8]) + _bank_check(account[10:]) + account[10:]
    elif country == "BE":
        account = account[:10] + f"{int(account[:10]) % 97 or 97:02d}"
    elif country in ("FR", "MC"):
        account = account[:21] + _rib(account[:21])
    return f"{country}{98 - _values(f'{account}{country}00') % 97:02d}{account}"


def _iban_alphabets(code: str) -> list[str]:
    fixed = 7 if code.startswith("BE") else 4  # Belgium: the bank, for others are nobody's
    return [*code[:2], "0", "0", *code[4:fixed], *(UPPER if c.isalpha() else DIGITS for c in code[fixed:])]


def _by_eleven(code: str) -> object:
    """Tell whether a Dutch account obeys the test by eleven; accounts of one bank need not."""
    return not code.startswith("NL") or _weighed(code[8:], range(10, 0, -1)) % 11 == 0


def _same(code: str) -> str:
    return code


def _mbi_alphabets(code: str) -> list[str]:
    return [_LEADING, *(_MBI if c.isalpha() else DIGITS for c in code[1:])]


_BELGIAN = [DIGITS, DIGITS, "012345", DIGITS, "0123", *[DIGITS] * 4, "0", "0"]
_BELGIAN_FORM = r"\d{2}(?:[024]\d|[135][0-2])(?:[0-2]\d|3[01])(?!000|999)\d{5}"

NATIONAL: dict[str, NationalNumber] = {
    "ahv": NationalNumber(re.compile(r"756\d{10}"), _ahv, lambda _: [*"756", *[DIGITS] * 9, "0"], 13),
    "kvnr": NationalNumber(re.compile(r"[A-Z]\d{9}"), _kvnr, lambda _: [UPPER, *[DIGITS] * 8, "0"], 10),
    "pension": NationalNumber(
        re.compile(r"\d{8}[A-Z]\d{3}"),
        _pension,
        lambda code: [*code[:2], "0123", DIGITS, "01", *[DIGITS] * 3, UPPER, DIGITS, DIGITS, "0"],
        12,
        holds=lambda code: _day(code[6:8], code[4:6], code[2:4]),
    ),
    "tax": NationalNumber(
        re.compile(r"[1-9]\d{10}"), _tax, lambda _: [_LEADING, *[DIGITS] * 9, "0"], 11, holds=_tax_repeats
    ),
    "austrian": NationalNumber(
        re.compile(r"[1-9]\d{9}"),
        _austrian,
        lambda _: [_LEADING, DIGITS, DIGITS, "0", "0123", DIGITS, "01", *[DIGITS] * 3],
        10,
        holds=lambda code: _day(code[8:], code[6:8], code[4:6]),
    ),
    "nir": NationalNumber(
        re.compile(r"[1-478]\d{2}(?:0[1-9]|1[0-2]|[2-9]\d)(?:0[1-9]|[1-9]\d|2[AB])(?!000)\d{3}(?!000)\d{5}"),
        _nir,
        _nir_alphabets,
        15,
    ),
    "belgian": NationalNumber(
        re.compile(_BELGIAN_FORM), _belgian(""), lambda _: _BELGIAN, 11, 11, _belgian_day, _belgian_kept
    ),
    "belgian of 2000": NationalNumber(
        re.compile(_BELGIAN_FORM), _belgian("2"), lambda _: _BELGIAN, 11, 11, _belgian_day, _belgian_kept_now
    ),
    "bsn": NationalNumber(re.compile(r"0[1-9]\d{7}|[1-9]\d{8}"), _bsn, lambda _: [*[DIGITS] * 8, "0"], 9, 9),
    "nass": NationalNumber(
        re.compile(r"0[1-9]\d{10}"), _spanish, lambda _: ["0", _LEADING, *[DIGITS] * 8, "0", "0"], 12, 12
    ),
    "mbi": NationalNumber(
        re.compile(rf"[1-9][{_MBI}][{_MBI}\d]\d[{_MBI}][{_MBI}\d]\d[{_MBI}]{{2}}\d{{2}}"), _same, _mbi_alphabets, 11
    ),
    "iban": NationalNumber(
        re.compile(
            r"(?!ES|BE|FR|MC|NL)[A-Z]{2}\d{2}[A-Z\d]{11,30}|ES\d{22}|BE\d{14}"
            r"|(?:FR|MC)\d{12}[A-Z\d]{11}\d{2}|NL\d{2}[A-Z]{4}\d{10}"
        ),
        _iban,
        _iban_alphabets,
        kept=_by_eleven,
    ),
}
"""Kinds by name: Swiss, German (insured persons, pension, tax), Austrian and French insurance, Belgian numbers of
persons born before 2000 and since, Dutch BSN, Spanish social security of the provinces 01 to 09, US Medicare,
accounts."""


def national_kinds(code: str) -> tuple[str, ...]:
    """Return the kinds of national number, by name, that a normal form is."""
    if not 7 <= len(code) <= 34 or not code.isascii():  # digits that the folding of numbers does not know
        return ()
    kinds = _as_long(len(code), code.isdecimal())
    return tuple([name for width, fits, name, kind in kinds if fits(code.zfill(width)) and kind.valid(code)])


@functools.cache
def _as_long(length: int, decimal: bool) -> tuple[tuple[int, Callable[[str], object], str, NationalNumber], ...]:
    """Return the kinds that a normal form of a length may be, each behind the width, what tells the form (most numbers
    have none) and the name: most numbers are as long as few of them.
    """
    return tuple(
        (kind.width if decimal else 0, kind.form.fullmatch, name, kind)
        for name, kind in NATIONAL.items()
        if kind.length in (0, max(length, kind.width) if decimal else length)
    )
