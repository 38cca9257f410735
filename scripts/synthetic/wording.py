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


def age(form: str, years: int) -> str:
    """Return an age as a number, in words (``agew``) or as a decade (``aged``)."""
    if form == "agew":
        return in_words(years)
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
