"""Surrogates of the numbers that identify one person: one map for all patients of a key, one-to-one in each format.

A number's normal form is what is compared: words that only say what it is (*MRN*, *No.*) and all but letters and digits
are left out, case, accents and forms of digits do not count, nor do leading zeros of a number without letters.
Normal forms of one format (so many digits, or the same order of letters and digits) are permuted by a keyed permutation
that is a single cycle, so that no number stands for itself; numbers with right check digits are permuted among their
like, by walking the cycle until the next of them (Black and Rogaway 2002, "Ciphers with arbitrary finite domains"), and
so are those of a nation's persons, among what has the same prefix and holds a date as they do (`national_numbers`). No
two numbers share a surrogate, whosever they are: joins on surrogates are right. A UUID stays one.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Sequence

from deid.base.keys import Key
from deid.replacement.identifiers import DIGITS, SCHEMES, UPPER, label_end, of_rank, pieces, rank_of, scheme_of
from deid.replacement.national_numbers import NATIONAL, national_kinds
from deid.replacement.permutation import Keyed, keyed_for
from deid.replacement.pools import words

_UNICODE = unicodedata.ucd_3_2_0  # the same in every version of Python
_FIRST = "123456789"
_ANY_DIGIT = str.maketrans("123456789", "000000000")
"""Table that leaves of each digit only that it is one."""
_JOINED = re.compile(r"(?![^\W\d_]\d{9}(?!\w))[^\W\d_]+(?=[^\W\d_]*\d)")
"""Letters before digits; one before nine digits is part of the number of a person who is insured in Germany."""
_UUID = re.compile(r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}", re.IGNORECASE)
_HEX = "0123456789ABCDEF"
# areas, groups and serials of social security numbers that can be issued
_AREAS = tuple(n for n in range(1, 900) if n != 666)
_GROUPS, _SERIALS = 99, 9999
_NINE = 10**9
_REMEMBERED = 512
"""Numbers that are remembered: those of a sender, a ward, a physician stand in note after note."""


def numbers_of(key: Key) -> Keyed:
    """Return the choices of all patients whose notes are scrubbed with a key."""
    return keyed_for(key, "numbers 2")


@functools.lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    """Return a letter without accent as a capital, a digit in ASCII, another character as it is; empty for the rest."""
    if char.isascii():
        return char.upper() if char.isalnum() else ""
    plain = _UNICODE.normalize("NFKD", char)
    if plain[0].isascii() and plain[0].isalnum() and all(_UNICODE.category(c)[0] == "M" for c in plain[1:]):
        return plain[0].upper()
    digit = _UNICODE.decimal(char, -1)
    if digit >= 0:
        return str(digit)
    return char if _UNICODE.category(char) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "No", "Cn") else ""


@functools.lru_cache(maxsize=4096)
def _alphabet(char: str, version: int) -> str:
    """Return the characters that one of a folded code is exchanged with: letters and digits, else its neighbours.

    In version 2 of the map Æ, Ð, Ø and Þ are exchanged with A to Z, too, which are exchanged with each other: such
    codes can share a surrogate with one of A to Z.
    """
    if char.isascii():
        return DIGITS if char in DIGITS else UPPER
    begin, kind = ord(char) & ~0xFF, _UNICODE.category(char)
    block = (chr(code) for code in range(begin, begin + 256))
    own = [c for c in block if _UNICODE.category(c) == kind and _folded(c) == c]
    return "".join([c for c in own if version < 3 or not c.isascii()])


@functools.lru_cache(maxsize=_REMEMBERED)
def _read(text: str) -> tuple[Sequence[int], str, int]:
    """Return the places of a number's characters in ``text``, its characters folded, and how many lead as zeros."""
    if text.isascii():
        if text.isdecimal():
            return range(len(text)), text, min(len(text) - len(text.lstrip("0")), len(text) - 1)
        places = _places(text.translate(_ANY_DIGIT))
        code = "".join([text[place] for place in places]).upper()
    else:
        folded, start = [*map(_folded, text)], _begin(text)
        places = [place for place in range(start, len(text)) if folded[place]]
        code = "".join(folded[start:])
    zeros = 0
    if code.isdecimal():
        zeros = min(len(code) - len(code.lstrip("0")), len(code) - 1)
    return places, code, zeros


@functools.lru_cache(maxsize=_REMEMBERED)
def _places(text: str) -> Sequence[int]:
    """Return the places of a number's characters in a text of ASCII; whichever digits stand there does not count."""
    return [place for place in range(_begin(text), len(text)) if text[place].isalnum()]


def _begin(text: str) -> int:
    """Return where a number begins behind what only says what it is."""
    start = label_end(text)
    if start < len(text):  # "MRN4711203": a label that nothing parts from the digits, where no other letter is
        joined = _JOINED.match(text, start)
        if joined and label_end(f"{joined.group()} 0") and not any(map(str.isalpha, text[joined.end() :])):
            start = joined.end()
    return start


def normal_form(text: str) -> str:
    """Return the form in which two written numbers are the same.

    >>> normal_form("04711203"), normal_form("MRN-4711203"), normal_form("(MRN) 471-1203"), normal_form("ab 0012-c")
    ('4711203', '4711203', '4711203', 'AB0012C')
    """
    _, code, zeros = _read(text)
    return code[zeros:]


@functools.lru_cache(maxsize=_REMEMBERED)
def replace_number(keyed: Keyed, text: str) -> str:
    """Replace a number or code; labels, separators, case and leading zeros stay.

    Parameters
    ----------
    keyed : Keyed
        See `numbers_of`.
    text : str

    Returns
    -------
    str
        As long as ``text``; empty when it has no letter or digit that another could stand for.
    """
    if _UUID.fullmatch(text):
        new = _next(keyed, "uuid", text.upper().replace("-", ""), [_HEX] * 32, str, bool)
        new = "-".join((new[:8], new[8:12], new[12:16], new[16:20], new[20:]))
        return new.lower() if text == text.lower() else new
    places, code, zeros = _read(text)
    new = _surrogate(keyed, code[zeros:])
    return _written(text, places[zeros:], new) if new else ""


@functools.cache
def _labels() -> re.Pattern[str]:
    labels = {"".join(map(_folded, label)) for label in words().kept["code"]}
    return re.compile(f"(?:{'|'.join(sorted(map(re.escape, labels)))}|X).", re.DOTALL)


def _leads(code: str) -> bool:
    """Tell whether a code begins with letters that could be read as a label, so that others must not become like it."""
    return _labels().match(code) is not None


def _written(text: str, places: Sequence[int], new: str) -> str:
    capitals = text.isupper() or text.isdecimal()
    if capitals and len(places) == len(text):
        return new
    chars = list(text)
    for place, char in zip(places, new, strict=True):
        chars[place] = char if capitals or not (char.isascii() and text[place].islower()) else char.lower()
    return "".join(chars)


@functools.lru_cache(maxsize=_REMEMBERED)
def _plan(code: str, version: int) -> tuple[list[str], str, list[tuple[int, int]]]:
    """Return of codes with the same letters the characters that may stand at each place, the name of their form, and
    the pieces that are permuted; whichever digits of ASCII stand there does not count.
    """
    alphabets = [_alphabet(char, version) for char in code]
    if len(code) > 1 and code.isdecimal():
        alphabets[0] = _FIRST
    return alphabets, "".join([alphabet[0] for alphabet in alphabets]), pieces(alphabets)


@functools.lru_cache(maxsize=_REMEMBERED)
def _surrogate(keyed: Keyed, code: str) -> str:
    """Return the surrogate of a normal form; empty when it has none."""
    if not code:
        return ""
    national = national_kinds(code)
    if national:
        return _national(keyed, code, national[0])
    scheme = scheme_of(code)
    if scheme is not None:
        name, checked = scheme
        checks = {place % len(code) for place in checked.checks}
        free = [i for i in range(checked.fixed, len(code)) if i not in checks]
        # a number keeps its length: no leading zero, and of a Spanish social security number no other first digit
        first = ("12345" if name == "nass" else _FIRST) if code.isdecimal() else DIGITS
        alphabets = [checked.letters if not code[i].isdecimal() else DIGITS if i else first for i in free]
        form = f"{name} {code[: checked.fixed]} {''.join(a[0] for a in alphabets)}"

        def complete(moved: str) -> str:
            chars = list(code)
            for i, char in zip(free, moved, strict=True):
                chars[i] = char
            return checked.check("".join(chars))

        def alike(candidate: str) -> bool:
            alike = "?" not in candidate and scheme_of(candidate) == scheme and _leads(candidate) == _leads(code)
            return alike and not national_kinds(candidate)

        return _next(keyed, form, "".join([code[i] for i in free]), alphabets, complete, alike)
    alphabets, form, parts = _plan(code.translate(_ANY_DIGIT), keyed.map)
    leads = _leads(code)

    def plain(candidate: str) -> bool:
        return _leads(candidate) == leads and scheme_of(candidate) is None and not national_kinds(candidate)

    out = []
    before = ""
    for begin, end in parts:
        part = code[begin:end]
        if len(parts) == 1:
            new = _next(keyed, form, part, alphabets, str, plain)
        else:  # each piece depends on the one before
            new = _next(keyed, f"{form}\0{begin}\0{before}", part, alphabets[begin:end], str, bool) or part
        out.append(new)
        before = part
    new = "".join(out)
    return new if new != code else ""


def _national(keyed: Keyed, code: str, name: str) -> str:
    """Return the surrogate of a national number: of the same kinds, also where it happens to be of several."""
    kind = NATIONAL[name]
    whole = kind.whole(code)
    zeros = len(whole) - len(code)
    alphabets = ["0"] * zeros + [*kind.alphabets(whole)[zeros:]]
    if zeros:
        alphabets[zeros] = "".join(c for c in alphabets[zeros] if c != "0")
    kinds = _kinds(code)
    kept = _kept(code)
    leads = _leads(code)

    def complete(moved: str) -> str:
        done = kind.check(moved)
        return done if done[:zeros] == "0" * zeros else ""

    def alike(candidate: str) -> bool:
        short = candidate[zeros:]
        return bool(short) and _kinds(short) == kinds and _kept(short) == kept and _leads(short) == leads

    return _next(keyed, f"{name} {' '.join(alphabets)}", whole, alphabets, complete, alike)[zeros:]


def _kept(code: str) -> list[object]:
    return [NATIONAL[name].kept(NATIONAL[name].whole(code)) for name in national_kinds(code)]


def _kinds(code: str) -> tuple[str, ...]:
    """Return all schemes that a national number obeys, by name."""
    if code[0] == "0":
        return ()
    return (*national_kinds(code), "", *(name for name, scheme in SCHEMES.items() if scheme.valid(code)))


def _next(
    keyed: Keyed,
    form: str,
    text: str,
    alphabets: Sequence[str],
    complete: Callable[[str], str],
    alike: Callable[[str], bool],
) -> str:
    """Return the next string on the form's cycle that is completed to one of the same kind; empty if there is none."""
    rank, size = rank_of(text, alphabets)
    for place in keyed.cycle(form, rank, size):
        new = complete(of_rank(place, alphabets))
        if alike(new):
            return new
    return ""


def replace_social_security(keyed: Keyed, text: str) -> str:
    """Replace a US social security number: one that can be issued by one that can be issued, another by another.

    Parts of a number (the last four digits) and other countries' numbers are replaced as `replace_number` does.

    Returns
    -------
    str
        See `replace_number`.
    """
    places, code, _ = _read(text)
    if len(code) != 9 or not code.isdecimal():
        return replace_number(keyed, text)
    place = _issued(code)
    if place is not None:
        new = next(iter(keyed.cycle("social security", place - 1, len(_AREAS) * _GROUPS * _SERIALS)))
        new, serial = divmod(new, _SERIALS)
        area, number = divmod(new, _GROUPS)
        digits = f"{_AREAS[area]:03}{number + 1:02}{serial + 1:04}"
    else:
        others = map("{:09}".format, keyed.cycle("never issued", int(code), _NINE))
        digits = next(itertools.filterfalse(_issued, others))
    return _written(text, places, digits)


def _issued(code: str) -> int | None:
    """Return the place, from 1, of a social security number among those that can be issued, None when it cannot be."""
    area, group, serial = int(code[:3]), int(code[3:5]), int(code[5:])
    if not 0 < area < 900 or area == 666 or not group or not serial:
        return None
    return ((area - 1 - (area > 666)) * _GROUPS + group - 1) * _SERIALS + serial
