"""Ordinary letter case for documents in capitals or in small letters.

Taggers learn from text in ordinary case, and half of what tells a name is its capital. A document that is all capitals,
or has none, is written anew before anybody looks for PHI: what the word lists know as names and places gets a capital,
ordinary and clinical words get small letters, short clinical words that are abbreviations get capitals, and words that
no list has get a capital where the document is in capitals. Every character stays at its offset.
"""

from __future__ import annotations

import functools

from deid.base.compiled import native_for
from deid.reading.dictionaries import fold
from deid.reading.lexicon import Lexicon, classes_of
from deid.reading.view import NUMBER, SIGN, View, view_of

native = native_for("casing")

_MOST_LOWER, _LEAST_LETTERS = 0.25, 20
"""Share of small letters up to which a document counts as written in capitals; letters that a document needs."""
_MOST_CAPITAL_WORDS = 0.03
_SAMPLE = 1000
_REMEMBERED = 20_000
_NAME = classes_of("given", "last")
_GIVEN, _CLINICAL, _WORD = classes_of("given"), classes_of("clinical"), classes_of("word", "function")
_SURE_NAME = classes_of("mostly_name")
_CALENDAR = classes_of("month", "weekday", "holiday", "nationality")
_PLACES = classes_of("city", "city_big", "state", "country", "hospital_name")
_PROPER = _CALENDAR | _PLACES
_TITLE = classes_of("title", "title_doctor")
_ORDINARY = classes_of(
    "word", "clinical", "function", "section", "generic", "role", "relation", "eponym_head", "device"
)
_STREET, _CITY = classes_of("street_suffix"), classes_of("city")
_STRONG, _WEAK = classes_of("hospital_head", "org_head"), classes_of("hospital_head_weak", "org_head_weak")
_HEADS = _STREET | _STRONG | _WEAK
_PHRASES = _PROPER | classes_of("city", "institution", "county")
_FUNCTION = classes_of("function")
_NO_PART = classes_of("person_verb", "clinical", "section", "title", "relation")
_NEVER = classes_of("relation", "role")
_PERSON_BEFORE = classes_of("relation", "role", "title", "title_doctor", "patient_word")
_LONGEST = 3
_CODE = classes_of("state_code", "credential")


def recase(text: str, lexicon: Lexicon) -> str:
    """Return the text in ordinary case when it is in capitals or in small letters, else the text itself.

    Parameters
    ----------
    text : str
    lexicon : Lexicon
        Word lists of its language.

    Returns
    -------
    str
        Of the same length.
    """
    how = uninformative_case(text)
    if not how:
        return text
    view, capitals = view_of(text), how == "capitals"
    classes, breaks, ways_of = lexicon.singly(view), view.breaks, _ways_of(lexicon, capitals)
    proper = _proper(view, classes, lexicon)
    pieces: list[str] = []
    starts = view.starts
    last, inside = 0, False  # inside a sentence: behind a word of the same line
    for index, (word, kind) in enumerate(zip(view.strings, view.kinds, strict=True)):
        if kind <= NUMBER:
            inside = False
            continue
        ways = ways_of[word]
        if ways is None:
            written = _written(view, classes, proper, index, capitals)
        elif proper[index]:
            written = ways[0]
        else:
            inner = (inside and not breaks[index]) or not view.starts_sentence(index)
            written = ways[2] if inner else ways[1]
        inside = True
        if written != word:
            start = starts[index]
            pieces += text[last:start], written
            last = start + len(word)
    pieces.append(text[last:])
    read = "".join(pieces)
    return read if len(read) == len(text) else text


def uninformative_case(text: str) -> str:
    """Return ``capitals`` or ``small`` where a whole document is in such letters; empty for ordinary case."""
    if text.islower():
        return "small" if _letters(text, len(text))[0] >= _LEAST_LETTERS else ""
    letters, lower, upper = _letters(text, _SAMPLE)
    if _MOST_LOWER * letters < lower and upper > 0.04 * letters:
        return ""  # most documents: told by their beginning
    _, lower, upper = _letters(text, len(text))
    if upper + lower < _LEAST_LETTERS:
        return ""
    if lower <= _MOST_LOWER * (upper + lower):
        return "capitals"
    if upper > 0.02 * (upper + lower):
        return ""
    words = text.split()
    begun = sum(w[0].isupper() for w in words)
    return "small" if begun <= _MOST_CAPITAL_WORDS * len(words) else ""


def _letters(text: str, stop: int) -> tuple[int, int, int]:
    """Count letters, small letters and capitals among the first characters."""
    if native is not None:
        counts: tuple[int, int, int] = native.Reader.letters(text, stop)
        return counts
    text = text[:stop]
    return sum(map(str.isalpha, text)), sum(map(str.islower, text)), sum(map(str.isupper, text))


class _Ways(dict[str, tuple[str, str, str] | None]):
    """Word -> how it is written as a part of a listed name, at the start of a sentence, and else.

    None where its neighbours decide: for single letters, for codes, and for words that may be names. Words are
    remembered when they are met; of so many that memory stays bounded.
    """

    def __init__(self, lexicon: Lexicon, capitals: bool) -> None:
        super().__init__()
        self._lexicon, self._capitals = lexicon, capitals

    def __missing__(self, word: str) -> tuple[str, str, str] | None:
        if len(self) > _REMEMBERED:
            self.clear()
        found = self[word] = _ways(word, self._lexicon.classes(fold(word)), self._capitals)
        return found


_ways_of = functools.lru_cache(maxsize=8)(_Ways)


def _ways(word: str, bits: int, capitals: bool) -> tuple[str, str, str] | None:
    code, name = bits & _CODE and len(word) < 5, bits & _NAME and not bits & _NEVER
    sure = name and (bits & _SURE_NAME or not bits & _ORDINARY)
    perhaps = (name and not bits & _FUNCTION) or (bits & _CALENDAR and bits & _WORD)
    if len(word) == 1 or code or (perhaps and not sure):
        return None
    title = _title(word)
    if sure or bits & (_TITLE | _CALENDAR) or (bits & _PLACES and not bits & _ORDINARY):
        return title, title, title
    return title, _common(word, bits, True, capitals), _common(word, bits, False, capitals)


def _common(word: str, bits: int, starts: bool, capitals: bool) -> str:
    """Return a word that is no name in ordinary case."""
    if len(word) < 5 and bits & _CLINICAL and not bits & _WORD:
        return word.upper()
    if bits & _ORDINARY:
        return _title(word) if starts else word.lower()
    if not bits and len(word) < 5:
        return word.upper() if capitals else word
    return _title(word)


def _written(view: View, classes: list[int], proper: bytearray, index: int, capitals: bool) -> str:
    """Return a word in ordinary case by its neighbours."""
    word, bits = view.strings[index], classes[index]
    if len(word) == 1:
        dotted = index + 1 < len(view) and view.strings[index + 1] == "."
        if bits & _FUNCTION:
            return word.upper() if view.starts_sentence(index) else word.lower()
        return word.upper() if dotted else word
    if bits & _CODE and len(word) < 5 and _behind_comma(view, index):
        return word.upper()
    if proper[index] or _is_name(view, classes, index) or _is_proper(view, classes, index) or bits & _TITLE:
        return _title(word)
    return _common(word, bits, view.starts_sentence(index), capitals)


def _proper(view: View, classes: list[int], lexicon: Lexicon) -> bytearray:
    """Mark the words of listed places and institutions, those before the head of one, and those of an address."""
    marked = bytearray(len(view))
    for start, held in lexicon.of(view).phrases.items():
        for end, bits in held:
            if bits & _PHRASES:
                marked[start:end] = b"\1" * (end - start)
    for index in [i for i, bits in enumerate(classes) if bits & _HEADS]:
        bits = classes[index]
        start = index
        while start and index - start < _LONGEST and view.breaks[start] == 0:
            before = classes[start - 1]
            if view.kinds[start - 1] in (SIGN, NUMBER) or before & (_FUNCTION | _NO_PART):
                break
            start -= 1
        if start == index:
            continue
        leads = view.kinds[start - 1] == NUMBER if start else False
        named = any(not classes[i] or classes[i] & (_NAME | _PROPER | _CITY) for i in range(start, index))
        if (bits & _STREET and leads) or (bits & _STRONG and named) or (bits & _WEAK and named and index - start > 1):
            marked[start : index + 1] = b"\1" * (index + 1 - start)
    return marked


def _behind_comma(view: View, index: int) -> bool:
    return index > 0 and view.strings[index - 1] == ","


def _is_proper(view: View, classes: list[int], index: int) -> bool:
    """Tell whether a word is a day or a month (*may*, *march* only beside a number), or a place and no word besides."""
    bits = classes[index]
    if bits & _CALENDAR and bits & _WORD:
        beside = (i for i in (index - 1, index + 1) if 0 <= i < len(view))
        return any(view.kinds[i] == NUMBER for i in beside)
    return bool(bits & _CALENDAR) or bool(bits & _PLACES and not bits & _ORDINARY)


def _is_name(view: View, classes: list[int], index: int) -> bool:
    """Tell whether a word is a name by the lists, or stands beside one that is."""
    bits = classes[index]
    if not bits & _NAME or bits & _NEVER:
        return False
    if bits & _SURE_NAME or not bits & _ORDINARY:
        return True
    if bits & _FUNCTION:
        return False
    near = (index - 1, index + 1, index - 2 if index > 1 and view.strings[index - 1] in (".", ",", ":") else -1)
    for other in near:
        if 0 <= other < len(classes) and not view.breaks[max(index, other)]:
            beside = classes[other]
            if (
                (other < index and beside & _PERSON_BEFORE and bits & _GIVEN)
                or beside & _TITLE
                or (beside & _NAME and (beside & _SURE_NAME or not beside & _ORDINARY))
            ):
                return True
    return False


@functools.lru_cache(maxsize=_REMEMBERED)
def _title(word: str) -> str:
    """Return a word with a capital at its start and behind each hyphen and apostrophe."""
    if word.isascii():
        return word.title()
    return "".join(c.upper() if not i or not word[i - 1].isalpha() else c.lower() for i, c in enumerate(word))
