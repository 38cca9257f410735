"""Luhn's check digit (ISO/IEC 7812), which numbers of cards, providers and patients end with."""

from __future__ import annotations

_DOUBLED = str.maketrans("0123456789", "0246813579")  # twice a digit, its digits added


def luhn_digit(payload: str) -> str:
    """Return the check digit of a number.

    >>> luhn_digit("12345"), luhn_digit("401"), luhn_digit("9999"), luhn_digit("99999999")
    ('5', '0', '4', '8')
    """
    return str(-sum(map(int, payload[-1::-2].translate(_DOUBLED) + payload[-2::-2])) % 10)
