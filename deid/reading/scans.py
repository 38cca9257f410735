"""Scanned documents: numbers and words as they stood on the paper.

Optical character recognition takes *O* for *0* and *l* for *1* in all numbers of a page, and *1* for *l* in its words;
it tears numbers and words apart (*O73 61 5 55*, *Neu kirchen*) and takes one letter for two (*narne*, *iiber*). What is
an ambiguity in a note that somebody typed, is none here. A reading keeps the length of the text: where it is shorter,
blanks stand behind it, and what ends before them goes on over them (`left_out`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

import regex

from deid.reading.dictionaries import fold
from deid.reading.lexicon import Lexicon

_FEWEST = 4
_WORD_BEFORE, _WORD_BEHIND = r"(?<![^\W_])", r"(?![^\W_])"
_MISREAD = re.compile(
    rf"{_WORD_BEFORE}(?!l[1-5](?![0-9lO])|O2(?![0-9lO]))(?:[0-9]*[lO][0-9]|[0-9]+O)[0-9lO]*{_WORD_BEHIND}"
    r"|[a-z][01][a-z]{2}"
)
"""A number with a letter that is no unit behind it (*2O19*, not *5l*, *l4* of the spine, *O2*), or a digit in
a word."""
_DIGITS = str.maketrans("OolISBZ", "0011582")
_NUMBER = regex.compile(
    rf"(?:{_WORD_BEFORE}|(?<=[^\W_][^\W_]?[xX]))(?=[OolISBZ]*[0-9])(?=[0-9]*[OolISBZ])[0-9OolISBZ]++{_WORD_BEHIND}"
    r"|(?<=(?<![^\W_])[xX])(?=[lO]*[0-9])[0-9lO]++(?![^\W_])"
)
_SURE = 3
"""Digits beside which one *S*, *B* or *Z* is one, too: *B12* is a vitamin."""
_GROUP = regex.compile(
    rf"{_WORD_BEFORE}(?:(?<=[0-9][/.:-])[OlI]{{1,4}}|[OlI]{{1,4}}(?=[/.:-][0-9])|(?<=[0-9] )(?:[lO]{{1,2}})(?= [0-9]))"
    rf"{_WORD_BEHIND}"
)
"""Letters alone beside a digit: *11/ll*, *O4 ll 14*."""
_CODE = regex.compile(r"(?<=[0-9])[lO](?!\p{Ll})|(?<=\p{Lu}\p{Lu})[lO](?=[0-9])")
"""Such a letter behind a digit of a code of letters and digits, or before one."""
_ROW = regex.compile(rf"{_WORD_BEFORE}[0-9]{{1,12}}(?:(?: ?[./-] ?| )[0-9]{{1,12}})+{_WORD_BEHIND}")
_AROUND_SIGN = re.compile(r" ?([./-]) ?")
_TORN = re.compile(r"(?<![0-9])[0-9] [0-9]|[0-9] [0-9](?![0-9])")
"""One digit alone beside others: a number that was torn apart."""
_CAPITALS = regex.compile(rf"{_WORD_BEFORE}(?=[\p{{Lu}}]*[l0158])[\p{{Lu}}l0158]{{2,}}+{_WORD_BEHIND}")
_IN_CAPITALS = str.maketrans("l0158", "IOISB")
_WORD = regex.compile(rf"{_WORD_BEFORE}(?=[\p{{L}}]*[0158])[\p{{L}}0158][\p{{Ll}}01]{{2,20}}+{_WORD_BEHIND}")
_IN_WORDS = str.maketrans("01", "ol"), str.maketrans("01", "oi")
_FIRST = {"0": "O", "8": "B", "5": "S", "1": "l"}
_CAPITAL_I = regex.compile(rf"{_WORD_BEFORE}l(?=[bdgkmnrstvz]\p{{Ll}})")
"""No word begins so."""
_PIECES = regex.compile(rf"{_WORD_BEFORE}(\p{{L}}{{2,20}}) (\p{{Ll}}{{1,12}})(?![^\W_]|-)")
_SPELT = regex.compile(rf"{_WORD_BEFORE}\p{{L}}{{2,20}}(?![^\W_]|-)")
_LONG_WORD, _SHORT = 6, 4
_TWO_FOR_ONE = (("rn", "m"), ("ii", "ü"), ("cl", "d"), ("vv", "w"), ("B", "ß"), ("nn", "m"))
_BLANKS = re.compile(" +")
_LONG = regex.compile(
    rf"{_WORD_BEFORE}(?<![0-9][./-])(?:\p{{Lu}}{{1,4}}-?|(?<!-)\p{{Lu}}{{1,2}} )?"
    r"(?=(?:[ ./-]?[0-9]){6,20}(?![^\W_]|[./-][0-9]))[0-9]+"
    rf"(?:([ ./-])[0-9]+(?:(?:\1| )[0-9]+)*)?(?![./-][0-9])(?:[ -]?\p{{Lu}}{{1,2}})?{_WORD_BEHIND}"
)
"""With one kind of sign between the groups: *7.39/41/88/24* are values."""
_REMEMBERED = 1 << 13


def is_scanned(mixed: Sequence[str], least: float) -> bool:
    """Tell whether numbers show that a document was scanned.

    Parameters
    ----------
    mixed : sequence of str
        The document's stretches of digits and letters without white space.
    least : float
        How many misread ones are enough in a text of its length.
    """
    return sum(map(_is_misread, mixed)) >= max(_FEWEST, least)


@functools.lru_cache(maxsize=_REMEMBERED)
def _is_misread(piece: str) -> bool:
    return _MISREAD.search(piece) is not None


def restore(text: str, lexicon: Lexicon) -> str:
    """Return a scanned document's text as it stood on the paper, with blanks for what is left out behind each piece.

    Examples
    --------
    >>> from deid.reading.lexicon import load_lexicon
    >>> restore("Te1. O73 61 5 55, KRElS, Roorn 2l, Apri1 2", load_lexicon("en"))
    'Tel. 07361555   , KREIS, Room  21, April 2'
    """
    read = _NUMBER.sub(_number, text)
    read = _CODE.sub(_digits, _GROUP.sub(_digits, read))
    read = _ROW.sub(_row, read)
    read = _CAPITALS.sub(_capitals, read)
    read = _WORD.sub(lambda found: _word(found[0], lexicon), read)
    read = _CAPITAL_I.sub("I", read)
    read = _SPELT.sub(lambda found: _one_for_two(found[0], lexicon), read)
    return _joined(read, lexicon)


def left_out(text: str, read: str) -> Iterator[tuple[int, int]]:
    """Yield where a reading has blanks for what it leaves out of the text: start and end."""
    for blanks in _BLANKS.finditer(read):
        if left := text[blanks.start() : blanks.end()].rstrip(" "):
            yield blanks.start(), blanks.start() + len(left)


def long_numbers(read: str) -> Iterator[tuple[int, int]]:
    """Yield where a scanned document has numbers of six digits and more: what their label was may be misread."""
    for found in _LONG.finditer(read):
        yield found.span()


def _digits(found: regex.Match[str]) -> str:
    return found[0].translate(_DIGITS)


def _number(found: regex.Match[str]) -> str:
    token = found[0]
    doubtful = sum(map(token.count, "SBZ"))
    sure = not doubtful or (doubtful == 1 and sum(map(str.isdigit, token)) >= _SURE)
    return token.translate(_DIGITS) if sure else token


def _row(found: regex.Match[str]) -> str:
    whole = _AROUND_SIGN.sub(r"\1", found[0])
    return (whole.replace(" ", "") if _TORN.search(whole) else whole).ljust(len(found[0]))


def _capitals(found: regex.Match[str]) -> str:
    token = found[0]
    upper = sum(map(str.isupper, token))
    return token.translate(_IN_CAPITALS) if 2 * upper >= len(token) and (upper > 1 or token[0] == "0") else token


@functools.lru_cache(maxsize=_REMEMBERED)
def _word(token: str, lexicon: Lexicon) -> str:
    """Return a word with digits as it is spelt; a short or doubtful one only if the lists have it."""
    first, rest = _FIRST.get(token[0], token[0]), token[1:]
    digits = sum(map(str.isdigit, token))
    if 2 * digits > len(token):
        return token
    ways = _IN_WORDS if len(token) >= _LONG_WORD else _IN_WORDS[:1]
    for spelt in (first + rest.translate(how) for how in ways):
        if lexicon.classes(fold(spelt)):
            return spelt
    spelt = first + rest.translate(_IN_WORDS[0])
    sure = token[0].isupper() or token[0] == "0" or (token[0].isalpha() and len(token) > 2)
    return spelt if sure and 3 * digits <= len(token) and spelt.isalpha() else token


@functools.lru_cache(maxsize=_REMEMBERED)
def _one_for_two(word: str, lexicon: Lexicon) -> str:
    """Return a word of the lists one of whose letters was taken for two."""
    if lexicon.classes(fold(word)):
        return word
    spelt = (word.replace(two, one) for two, one in _TWO_FOR_ONE if two in word)
    return next((whole.ljust(len(word)) for whole in spelt if lexicon.classes(fold(whole))), word)


def _joined(text: str, lexicon: Lexicon) -> str:
    """Join the two parts of words of the lists that were torn apart, one of which is no word."""
    read, at = text, 0
    for found in _PIECES.finditer(text, overlapped=True):
        if found.start() >= at and (whole := _whole(*found.groups(), lexicon)):
            at = found.end()
            read = f"{read[: found.start()]}{whole} {read[at:]}"
    return read


@functools.lru_cache(maxsize=_REMEMBERED)
def _whole(first: str, rest: str, lexicon: Lexicon) -> str:
    """Return the word of two parts that were torn apart; empty where they were not."""
    whole, known = first + rest, lexicon.classes(fold(rest))
    if len(whole) < _LONG_WORD or (known and lexicon.classes(fold(first))):
        return ""
    name = first[0].isupper() and not known and len(rest) <= _SHORT
    return whole if name or lexicon.classes(fold(whole)) else ""
