"""Surrogates of numbers and codes: same length, same character classes, same separators, valid check digits.

A code is read as a number in mixed radix (a digit counts 10, a letter 26; a leading zero stays, another leading digit
counts 9) and sent through a keyed permutation without fixed point: two codes of the same form never share a surrogate,
and no code is its own surrogate. Where the original obeys a known scheme, its payload is permuted and the check digit
computed again.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import mul

from deid.base.luhn import luhn_digit
from deid.reading.identity import name_key
from deid.replacement.permutation import LARGEST, Keyed
from deid.replacement.pools import words

DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = _LOWER.upper()
_CHUNK = 64  # characters of a long text that are permuted together: 128**64 stays below the permutation's limit
_WHOLE = 256  # characters from which on no text is permuted as a whole: 10**256 is beyond the limit
_ALNUM = re.compile(r"[^\W_]", re.UNICODE)
_LABEL = re.compile(r"[^\W\d_]+")
_FOREIGNER = re.compile(r"[Xx]\W?\d{7}\W?[^\W\d_](?!\w)")


_ALPHABETS = {c: alphabet for alphabet in (DIGITS, _LOWER, UPPER) for c in alphabet}


def _alphabet(char: str) -> str:
    if char in _ALPHABETS:
        return _ALPHABETS[char]
    if char.isdigit():
        return DIGITS
    return _LOWER if char.islower() else UPPER


def pieces(alphabets: Sequence[str]) -> list[tuple[int, int]]:
    """Return where strings of these alphabets are cut, so that each piece can be permuted: begin and end of each.

    Short ones stay whole, longer ones fall into even pieces of at most 64 characters.
    """
    length = len(alphabets)
    if length <= _WHOLE and prod(map(len, alphabets)) < LARGEST:
        return [(0, length)]
    count = -(-length // _CHUNK)
    return [(n * length // count, (n + 1) * length // count) for n in range(count)]


def rank_of(text: str, alphabets: Sequence[str]) -> tuple[int, int]:
    """Return the number of a text among the strings of its alphabets, and how many there are."""
    begin = _digits_from(alphabets)
    tail = text[begin:]
    if not (tail.isdecimal() and tail.isascii()):
        begin, tail = len(text), ""
    size, rank = 1, 0
    for char, alphabet in zip(text[:begin], alphabets[:begin], strict=True):
        count = len(alphabet)
        size *= count
        place = alphabet.find(char)
        rank = rank * count + (place if place > 0 else 0)
    if tail:
        count = 10 ** len(tail)
        return rank * count + int(tail), size * count
    return rank, size


def _digits_from(alphabets: Sequence[str]) -> int:
    """Return from which place on all have digits, if no other has: what stands there is read as one number."""
    begin = len(alphabets) - alphabets.count(DIGITS)
    return begin if DIGITS not in alphabets[:begin] else len(alphabets)


def of_rank(rank: int, alphabets: Sequence[str]) -> str:
    """Return the string with this number among those whose characters come from ``alphabets``, one each."""
    begin = _digits_from(alphabets)
    tail = ""
    if count := len(alphabets) - begin:
        rank, number = divmod(rank, 10**count)
        tail = f"{number:0{count}}"
    out = []
    for alphabet in reversed(alphabets[:begin]):
        rank, digit = divmod(rank, len(alphabet))
        out.append(alphabet[digit])
    out.reverse()
    return "".join(out) + tail


def encipher(keyed: Keyed, what: str, text: str, alphabets: Sequence[str], step: int = 1) -> str:
    """Return what a keyed permutation makes of ``text`` within the strings whose characters come from ``alphabets``.

    ``alphabets`` has an entry for each character. It must be the same for all texts that share ``what`` and a length,
    and have two members at least somewhere in every 32 characters. A long text moves piece by piece, so that the time
    is linear.

    Parameters
    ----------
    keyed : Keyed
        Choices of a scope.
    what : str
        Names the permutation.
    text : str
        The original, each character in its alphabet.
    alphabets : sequence of str
        The characters that may stand at each place.
    step : int
        Which choice, from 1.
    """
    out = []
    for begin, end in pieces(alphabets):
        rank, size = rank_of(text[begin:end], alphabets[begin:end])
        name = f"{what}\0{len(text)}\0{size}\0{begin}" if begin else f"{what}\0{len(text)}\0{size}"
        out.append(of_rank(keyed.move(name, rank, size, step), alphabets[begin:end]))
    return "".join(out)


def scramble(keyed: Keyed, text: str, what: str = "code", step: int = 1) -> str:
    """Replace every letter and digit of ``text`` by another arrangement of the same classes.

    Parameters
    ----------
    keyed : Keyed
        The scope's choices.
    text : str
        The original; characters other than letters and digits stay.
    what : str
        Kind of code.
    step : int
        1 for the first choice, 2 for the next, and so on.

    Returns
    -------
    str
        As long as ``text`` and different from it; empty when ``text`` has no letter or digit.
    """
    if text.isdecimal() and text.isascii() and len(text) < _CHUNK and (text[0] != "0" or len(text) == 1):
        low = 10 ** (len(text) - 1) if len(text) > 1 else 0
        size = 10 ** len(text) - low
        return f"{keyed.move(f'{what} {size}', int(text) - low, size, step) + low}"
    places = [m.start() for m in _ALNUM.finditer(text)]
    if not places:
        return ""
    chars = list(text)
    for begin in range(0, len(places), _CHUNK):
        part = places[begin : begin + _CHUNK]
        old = "".join([text[i] for i in part])
        if not old.isascii():
            old = "".join([str(int(c)) if c.isdecimal() else c for c in old])
        alphabets = [_alphabet(c) for c in old]
        if begin == 0 and len(part) > 1 and old[0].isdecimal():
            alphabets[0] = "0" if old[0] == "0" else "123456789"  # so that "0123" and "4123" never meet
        form = "".join(a[0] for a in alphabets)
        for i, char in zip(part, encipher(keyed, f"{what}\0{form}\0{begin}", old, alphabets, step), strict=True):
            chars[i] = char
    return "".join(chars)


# codes with check digits


@dataclass(frozen=True, slots=True)
class CodeScheme:
    """A kind of code that carries a check digit or letter."""

    form: re.Pattern[str]
    """What its letters and digits look like, separators left out."""
    check: Callable[[str], str]
    """Completes a code: computes the check characters from the others and writes them where they belong."""
    checks: tuple[int, ...]
    """Places of the check characters; negative places count from the end."""
    fixed: int = 0
    """Leading characters that say what kind of code it is, and stay."""
    letters: str = UPPER
    """Letters that may stand for a letter."""

    def valid(self, code: str) -> bool:
        """Tell whether ``code`` (upper case, no separators) has this form and right check characters."""
        return self.form.fullmatch(code) is not None and self.check(code) == code


_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_VIN_VALUES = dict(
    zip("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", [*range(10), *range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True)
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def _vin(code: str) -> str:
    total = sum(_VIN_VALUES.get(c, 0) * w for c, w in zip(code, _VIN_WEIGHTS, strict=True))
    return code[:8] + "0123456789X"[total % 11] + code[9:]


def _dea(code: str) -> str:
    a, b, c, d, e, f = map(int, code[2:8])
    return code[:8] + str((a + c + e + 2 * (b + d + f)) % 10)


def _nhs(code: str) -> str:
    check = -sum(map(mul, map(int, code[:9]), range(10, 1, -1))) % 11
    return code[:9] + ("?" if check == 10 else str(check))


def _dni(code: str) -> str:
    number = code[:-1].translate(str.maketrans("XYZ", "012"))
    return code[:-1] + _DNI[int(number) % 23]


SCHEMES: dict[str, CodeScheme] = {
    "dea": CodeScheme(re.compile(r"[ABCDEFGHJKLMPRSTUX][A-Z]\d{7}"), _dea, (-1,), fixed=1),
    "vin": CodeScheme(
        re.compile(r"[A-HJ-NPR-Z0-9]{8}[0-9X][A-HJ-NPR-Z0-9]{8}"), _vin, (8,), letters="ABCDEFGHJKLMNPRSTUVWXYZ"
    ),
    "nie": CodeScheme(re.compile(r"[XYZ]\d{7}[A-Z]"), _dni, (-1,), fixed=1),
    "dni": CodeScheme(re.compile(r"\d{8}[A-Z]"), _dni, (-1,)),
    "npi": CodeScheme(re.compile(r"[12]\d{9}"), lambda c: c[:9] + luhn_digit("80840" + c[:9]), (-1,), fixed=1),
    "nhs": CodeScheme(re.compile(r"[1-9]\d{9}"), _nhs, (-1,)),
    "nass": CodeScheme(re.compile(r"[1-5]\d{11}"), lambda c: f"{c[:10]}{int(c[:10]) % 97:02}", (-2, -1)),
    "luhn": CodeScheme(re.compile(r"\d{8,19}"), lambda c: c[:-1] + luhn_digit(c[:-1]), (-1,)),
}
"""Schemes by name, in the order in which they are tried: a prescriber's drug enforcement number, vehicle number,
Spanish identity numbers of foreigners and nationals, US provider number, British NHS number, Spanish social security
number, and payment cards and whatever else has a Luhn digit."""


@functools.cache
def _by_length(length: int) -> tuple[tuple[str, CodeScheme], ...]:
    """Return the schemes whose codes can have this length."""
    lengths = {"dea": 9, "vin": 17, "nie": 9, "dni": 9, "npi": 10, "nhs": 10, "nass": 12}
    return tuple((name, scheme) for name, scheme in SCHEMES.items() if lengths.get(name, length) == length)


def _with_check(keyed: Keyed, code: str, step: int) -> str | None:
    for name, scheme in _by_length(len(code)):
        if scheme.form.fullmatch(code) is None or scheme.check(code) != code:
            continue
        checks = {place % len(code) for place in scheme.checks}
        free = [i for i in range(scheme.fixed, len(code)) if i not in checks]
        alphabets = [DIGITS if code[i].isdigit() else scheme.letters for i in free]
        if free[0] == 0 and code[0] in "123456789":
            alphabets[0] = "12345" if name == "nass" else "123456789"
        form = "".join(a[0] for a in alphabets)
        for attempt in range(step, step + 64):
            chars = list(code)
            moved = encipher(
                keyed, f"{name}\0{code[: scheme.fixed]}\0{form}", "".join(code[i] for i in free), alphabets, attempt
            )
            for i, char in zip(free, moved, strict=True):
                chars[i] = char
            done = scheme.check("".join(chars))
            if "?" not in done:
                return done
    return None


def label_end(text: str) -> int:
    """Return where the words end that only say what a code is (``MRN``, ``ID No.``), and what stands behind begins."""
    labels = words().kept["code"]
    start = 0
    for match in _LABEL.finditer(text) if not text[:1].isdecimal() else ():
        after = text[match.end() : match.end() + 1]
        if text[start : match.start()].strip(" .:#-/=()[]"):
            break
        if not after or after.isalnum():
            break
        key = name_key(match.group())
        # "xxx-xx-1234" is masked already; X-1234567-L is a Spanish number of a foreigner
        named = key in labels or (bool(key) and not key.strip("x") and not _FOREIGNER.match(text, match.start()))
        if not named or not _ALNUM.search(text, match.end()):
            break
        start = match.end()
    return start


def scheme_of(code: str) -> tuple[str, CodeScheme] | None:
    """Return the first scheme, by name, that a code (capitals and digits alone) obeys."""
    if code.isascii():
        for found in _by_length(len(code)):
            if found[1].valid(code):
                return found
    return None


def replace_code(keyed: Keyed, text: str, what: str, step: int = 1) -> str:
    """Replace an identifier; words that only say what it is (``MRN``, ``ID``) stay.

    Parameters
    ----------
    keyed, text, what, step
        See `scramble`.

    Returns
    -------
    str
        As long as ``text`` and different from it; empty when ``text`` has no letter or digit.
    """
    if text.isdecimal() and text.isascii():
        return _with_check(keyed, text, step) or scramble(keyed, text, what, step)
    start = label_end(text)
    if start:
        return text[:start] + replace_code(keyed, text[start:], what, step)
    code = "".join(_ALNUM.findall(text))
    if code.isascii():
        done = _with_check(keyed, code.upper(), step)
        if done is not None:
            rest = iter(done)
            chars = [next(rest) if char.isascii() and char.isalnum() else char for char in text]
            return "".join([c.lower() if old.islower() else c for c, old in zip(chars, text, strict=True)])
    return scramble(keyed, text, what, step)


def replace_ssn(keyed: Keyed, text: str, step: int = 1) -> str:
    """Return a US social security number that is never issued: area 900 to 999, group 10 to 49.

    Areas from 900 are not assigned as social security numbers, and groups below 50 not as taxpayer numbers. Words that
    only say what it is (``SSN``) stay, other letters before it are replaced. Parts of a number (the last four digits)
    and other countries' numbers are replaced as codes.
    """
    places = [m.start() for m in re.finditer(r"\d", text)]
    if len(places) != 9 or _LABEL.search(text, places[0]):
        return replace_code(keyed, text, "ssn", step)
    number = keyed.number("ssn", "".join(text[i] for i in places), str(step))
    number, area = divmod(number, 100)
    number, group = divmod(number, 40)
    start = label_end(text)
    chars = [*text[:start], *(scramble(keyed, text[start : places[0]], "ssn", step) or text[start : places[0]])]
    chars += text[places[0] :]
    for i, char in zip(places, f"9{area:02}{group + 10}{number % 9999 + 1:04}", strict=True):
        chars[i] = char
    return "".join(chars)
