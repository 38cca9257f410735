"""Words that a slot becomes or agrees with and that are no PHI: pronouns, articles, numbers in words, times of day."""

from __future__ import annotations

import re

from .draw import Draw

Piece = tuple[str, str | None]
"""A stretch of text and its category, None where it is no PHI."""

# words that agree with a person's sex: (male, female); they are no PHI
AGREEING = {
    "he": ("he", "she"),
    "He": ("He", "She"),
    "him": ("him", "her"),
    "his": ("his", "her"),
    "His": ("His", "Her"),
    "man": ("man", "woman"),
    "boy": ("boy", "girl"),
    "male": ("male", "female"),
    "Mr": ("Mr.", "Ms."),
    "Mrs": ("Mr.", "Mrs."),
    "mr": ("Mr", "Mrs"),
    "gent": ("gentleman", "lady"),
    "M": ("M", "F"),
    "sib": ("brother", "sister"),
    "par": ("father", "mother"),
    "kid": ("son", "daughter"),
    "sp": ("husband", "wife"),
    "unc": ("uncle", "aunt"),
    "gp": ("grandfather", "grandmother"),
    "gk": ("grandson", "granddaughter"),
    "nep": ("nephew", "niece"),
    "self": ("himself", "herself"),
    "Baby": ("Baby Boy", "Baby Girl"),
    "bf": ("boyfriend", "girlfriend"),
    "dad": ("Dad", "Mom"),
    "mum": ("Dad", "Mum"),
    "fr": ("friend", "friend"),
}
_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(n: int) -> str:
    """Return a number below 120 in words."""
    if n >= 100:
        return "one hundred" + (f" {in_words(n - 100)}" if n > 100 else "")
    return _ONES[n] if n < 20 else _TENS[n // 10] + (f"-{_ONES[n % 10]}" if n % 10 else "")


_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}


def ordinal_in_words(n: int) -> str:
    """Return first, nineteenth, twenty-third."""
    head, dash, last = in_words(n).rpartition("-")
    last = _ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last.replace("ve", "f") + "th")
    return head + dash + last


def year_in_words(year: int) -> str:
    """Return a year as it is spoken: nineteen ninety-eight, two thousand seven, twenty twenty-one."""
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        return "two thousand" + (f" {in_words(rest)}" if rest else "")
    return f"{in_words(century)} {in_words(rest) if rest >= 10 else 'oh ' + in_words(rest) if rest else 'hundred'}"


def digits_in_words(number: str) -> str:
    """Return a number as it is read out, digit by digit; a letter stays."""
    return " ".join(_ONES[int(c)] if c.isdigit() else c for c in number if c.isalnum())


def age(form: str, years: int) -> str:
    """Return an age as a number, in words (``agew``) or as a decade (``aged``; in words ``agef``)."""
    if form == "agew":
        return in_words(years)
    if form == "agef":
        return _TENS[min(years, 99) // 10][:-1] + "ies" if years >= 20 else "teens"
    return f"{years // 10 * 10}s" if form == "aged" else str(years)


def clock(draw: Draw) -> str:
    """Return a time of day, which is no PHI."""
    hour, minute = draw.below(24), draw.below(60)
    noon = "am" if hour < 12 else "pm"
    short = hour % 12 or 12
    return draw.pick(
        (
            f"{hour:02}{minute:02}",
            f"{hour:02}:{minute:02}",
            f"{short}:{minute:02} {noon}",
            f"{short} {noon}",
            f"{hour:02}:{minute:02}",
            f"{short}:{minute:02}{noon[0]}",
            f"{hour:02}{minute:02} hrs",
            f"{short}:{minute:02} {noon[0].upper()}.M.",
            "noon",
            "midnight",
        )
    )


def articles(pieces: list[Piece]) -> list[Piece]:
    """Resolve ``a(n)`` by the first letter of what follows, and join neighbours that are no PHI."""
    joined: list[Piece] = []
    for text, label in pieces:
        if joined and label is None and joined[-1][1] is None:
            joined[-1] = (joined[-1][0] + text, None)
        elif text:
            joined.append((text, label))
    out: list[Piece] = []
    for i, (text, label) in enumerate(joined):
        if label is None:
            following = joined[i + 1][0] if i + 1 < len(joined) else ""
            parts = re.split(r"([Aa])\(n\)", text)
            for k in range(1, len(parts), 2):
                after = (parts[k + 1] + following).lstrip()[:2].lower()
                vowel = after[:1] in tuple("aeiou8") or after == "11" or after == "18"
                parts[k] += "n" * (vowel and after != "un")
            text = "".join(parts)
        out.append((text, label))
    return out
