"""What was found once with certainty is found everywhere in the document.

A name with a title in the first line is a bare word further down; a record number in the header comes back in the
footer. Words of clinical or ordinary language are found again only where their writing says that they are names.
A word that no list has is a name when it sounds like one that was found (Soundex) and differs by one letter: misspelt,
or misread by a scanner.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deid.base.compiled import native_for
from deid.detection.kinds import HEADER_FIELDS
from deid.detection.known import one_apart, soundex
from deid.detection.packed import Packed
from deid.detection.whose import PEOPLE, words_of_name
from deid.document import Span, by_position
from deid.phi import GROUP
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, MIXED, TITLE, UPPER, View
from deid.rules.certainties import certainties
from deid.rules.person_words import clear
from deid.rules.scene import Scene
from deid.rules.word_classes import EPONYM_HEAD, PERSON, RELATION, STREET_SUFFIX, STRONG_HOSPITAL_HEAD, cues_of

if TYPE_CHECKING:
    from mypy_extensions import i64

_W: Final[dict[str, float]] = certainties("find_again")

native = native_for("find_again")

_ORDINARY: Final = classes_of(
    "word", "clinical", "section", "eponym", "device", "month", "weekday", "season", "relation", "role"
)
_BEGINNING: Final = _ORDINARY & ~classes_of("eponym")
"""What has a capital only because it begins a sentence; *Smith* of the fracture has it anywhere."""
_TERM: Final = _ORDINARY & ~classes_of("word")
_NAMED_AFTER: Final = EPONYM_HEAD | STRONG_HOSPITAL_HEAD | STREET_SUFFIX
_ARTICLE: Final = cues_of("article")
_NEVER: Final = classes_of("function", "title", "title_doctor", "credential", "particle", "suffix")
_PHRASES: Final = frozenset(("HOSPITAL", "ORGANIZATION", "STREET", "CITY", "LOCATION-OTHER", "DEPARTMENT"))
_ABBREVIATED: Final = frozenset(("HOSPITAL", "ORGANIZATION"))
_NUMBERS: Final = frozenset(("ID", "CONTACT"))
_LEAST_FUZZY: Final = 5
"""Letters that a name must have for a misspelling of it to count."""
_MOST_WORDS: Final = 1_000
"""Words and signs of a span up to which it is looked for elsewhere: a chain as long as a text repeats itself."""
_LABELLED: Final = _W["labelled_name"]
"""Certainty from which a name behind a label is looked for everywhere, as the HMS Scrubber does with header fields."""
_SPELT_OUT: Final = re.compile(r"(?<![\w'\u2019])[^\W\d_]([-. ]{1,2})[^\W\d_](?:\1[^\W\d_]){1,20}\b")
_BLANK: Final = 0x20
_HYPHEN: Final = 0x2D
_STOP: Final = 0x2E
_ASCII: Final = 0x80
_A: Final = 0x61
_Z: Final = 0x7A
_SMALL: Final = 0x20
"""What makes a letter small."""
_NOT_AGAIN: Final = frozenset(("AGE", "DATE", "STATE", "COUNTRY", "ROOM", "PROFESSION", "OTHER"))


_Seed = tuple[int, tuple[str, ...], Span]
"""A number in order of adding, a sequence of words to look for, and where it comes from."""


class Seeds:
    """What to look for."""

    def __init__(self) -> None:
        self.words: dict[Any, Any] = {}
        """First word -> second word -> and so on; at the last word of a seed stands the seed, under None."""
        self._known: set[tuple[str, ...]] = set()
        self._sounding: dict[str, list[tuple[str, Span]]] | None = None

    def sounding(self) -> dict[str, list[tuple[str, Span]]]:
        """Return the single words of names that may be misspelt elsewhere, by how they sound."""
        if self._sounding is None:
            self._sounding = {}
            for word, held in self.words.items():
                seed = held.get(None)
                if seed is None or len(word) < _LEAST_FUZZY or not word.isalpha():
                    continue
                if GROUP[seed[2].category] == "NAME":
                    self._sounding.setdefault(soundex(word), []).append((word, seed[2]))
        return self._sounding

    def add(self, sequence: tuple[str, ...], span: Span) -> None:
        """Add a sequence of words, the first time that it comes."""
        if sequence not in self._known:
            held = self.words
            for word in sequence:
                held = held.setdefault(word, {})
            held[None] = (len(self._known), sequence, span)
            self._known.add(sequence)


def find_again(scene: Scene, spans: Iterable[Span], certain: float, gathered: Gathered | None = None) -> list[Span]:
    """Find further occurrences of what was found with certainty.

    Parameters
    ----------
    scene : Scene
    spans : iterable of Span
        What was found.
    certain : float
        Least score of a span that is looked for elsewhere.
    gathered : Gathered, optional
        What to look for where the scene is a passage of a text; by default what the spans say.

    Returns
    -------
    list of Span
        Further spans; their source names the one that they repeat.
    """
    view = scene.view
    taken = bytearray(len(view.text))
    sure = _sure(spans, certain, taken)
    if not (sure or gathered):
        return []
    odd = _odd_words(scene, taken)
    if gathered is not None:
        seeds = gathered.within(view, taken, odd)
    else:
        seeds = Seeds()
        recurring, letters = _recurring(scene, sure, taken, {view.folded[i] for i in odd})
        for span, words in sorted(recurring, key=lambda r: _by_certainty(r[0])):
            _sow(scene, span, words, letters, seeds)
    found = [*_misspelt(scene, seeds, odd), *_spelt_out(scene, sure)]
    for index, (_, sequence, span) in _repeated(view, taken, seeds) if seeds.words else ():
        end = index + len(sequence)
        score = _weigh(scene, index, end, span)
        if score:
            source = f"consistency:{span.source}"
            found.append(Span(view.starts[index], view.ends[end - 1], span.category, source=source, score=score))
    return found


def gather(scene: Scene, spans: Iterable[Span], certain: float, gathered: Gathered) -> None:
    """Add what is to be looked for in a whole text because of what was found in its next passage."""
    gathered.enter()
    for span in sorted(_sure(spans, certain, bytearray(len(scene.view.text))), key=_by_certainty):
        _sow(scene, span, scene.view.words_at(span.start, span.end), (), gathered)


class Gathered:
    """What is to be looked for in all passages of a text: as few objects as can be, since it may be all of the text.

    Sequences of words are held as bytes, their spans packed, and found by hashes of what a passage has of them.
    """

    def __init__(self) -> None:
        self._spans = Packed()
        self._words, self._ends = bytearray(), array("q", [0])
        self._keys: Any = array("q")
        self._whose: Any = array("i")
        self._same: Any = array("q")
        self._known: set[tuple[str, ...]] = set()

    def enter(self) -> None:
        """Begin with the next passage."""
        self._known.clear()

    def add(self, sequence: tuple[str, ...], span: Span) -> None:
        """Add a sequence of words of a span of the passage, without its variants."""
        if sequence in self._known:
            return
        self._known.add(sequence)
        number = len(self._spans)
        self._spans.extend((span,))
        self._words += "\n".join(sequence).encode("utf-8", "surrogatepass")
        self._ends.append(len(self._words))
        self._same.append(hash((sequence, span.category)))
        for key in _keys(sequence, span):
            self._keys.append(key)
            self._whose.append(number)

    def sort(self) -> None:
        """Make what was added ready to be looked up: of what came in several passages the surest, the first such."""
        certainty = np.fromiter((-(span.score or 0.0) for span in self._spans), np.float64, len(self._spans))
        order = np.lexsort((certainty, self._same))  # which leaves equals in their order, that of the text
        same = np.asarray(self._same)[order]
        kept = np.zeros(len(order), dtype=bool)
        kept[order[np.flatnonzero(np.diff(same, prepend=~same[:1]))]] = True
        keys, whose = np.asarray(self._keys), np.asarray(self._whose)
        keys, whose = keys[kept[whose]], whose[kept[whose]]
        order = np.argsort(keys)
        self._keys, self._whose, self._same = keys[order], whose[order], array("q")

    def within(self, view: View, taken: bytearray, odd: Sequence[int]) -> Seeds:
        """Return what may stand in a passage, not all of it taken, or misspelt as one of the odd words.

        In the order in which the spans of a whole text are sown.
        """
        words = view.folded
        wanted = set(map(hash, pairwise(words)))
        wanted.update(hash(w) for w, a, b in zip(words, view.starts, view.ends, strict=True) if not all(taken[a:b]))
        for i in (i for i, word in enumerate(words) if len(word) == 1 and word.isalpha()):
            wanted.update(hash((words[k], words[i])) for k in range(max(0, i - 2), min(i + 3, len(words))))
        chosen = {number for held in self._held(list(wanted)) for number in held}
        names = list({words[i] for i in odd})
        for held in self._held([hash((name, "")) for name in names]):
            chosen.update(held[:1])  # one tells that the word begins something
        for name, held in zip(names, self._held([hash(("", soundex(name))) for name in names]), strict=True):
            chosen.update(number for number in held if one_apart(name, self._sequence(number)[0]))
        seeds = Seeds()
        ordered = sorted(chosen)
        found = list(zip(ordered, self._spans.some(ordered), strict=True))
        for number, span in sorted(found, key=lambda item: (-(item[1].score or 0.0), item[0])):
            sequence = self._sequence(number)
            seeds.add(sequence, span)
            if _has_variants(sequence, span):
                _sow_variants(sequence, span, None, seeds)
        return seeds

    def _held(self, keys: Sequence[int]) -> list[list[int]]:
        low, high = (np.searchsorted(self._keys, np.array(keys, dtype=np.int64), side) for side in ("left", "right"))
        return [self._whose[a:b].tolist() if a < b else [] for a, b in zip(low.tolist(), high.tolist(), strict=True)]

    def _sequence(self, number: int) -> tuple[str, ...]:
        held = self._words[self._ends[number] : self._ends[number + 1]]
        return tuple(held.decode("utf-8", "surrogatepass").split("\n"))


def _has_variants(sequence: tuple[str, ...], span: Span) -> bool:
    return len(sequence) > 1 and GROUP[span.category] == "NAME" and span.category != "USERNAME"


def _keys(sequence: tuple[str, ...], span: Span) -> Iterator[int]:
    """Yield hashes of what of a sequence tells where it may stand."""
    if len(sequence) == 1:
        yield hash(sequence[0])
        if len(sequence[0]) >= _LEAST_FUZZY:
            yield hash(("", soundex(sequence[0])))
        return
    # of two words in a row those that tell most: telephones of one town begin alike
    yield hash(max(pairwise(sequence), key=lambda pair: len(pair[0]) + len(pair[1])))
    yield hash((sequence[0], ""))
    if _has_variants(sequence, span) and (short := _with_initial(sequence)):
        yield hash(short)


def _repeated(view: View, taken: bytearray, seeds: Seeds) -> list[tuple[int, _Seed]]:
    """Return where the words of seeds stand, not all of it taken, with at most one line end between two of them.

    By the first word, and in the order of adding.
    """
    found: list[tuple[int, _Seed]] = []
    folded, breaks, starts, ends = view.folded, view.breaks, view.starts, view.ends
    words = seeds.words
    for index, word in enumerate(folded):
        held = words.get(word)
        if held is None:  # as nearly always
            continue
        end, free = index, taken.find(0, starts[index])
        # word by word: seeds that begin alike, as telephones of one town, are thousands
        while held is not None:
            seed = held.get(None)
            if seed is not None and 0 <= free < ends[end]:
                found.append((index, seed))
            end += 1
            held = held.get(folded[end]) if end < len(folded) and breaks[end] < 2 else None
    return sorted(found, key=lambda f: (f[0], f[1][0]))


def _sure(spans: Iterable[Span], certain: float, taken: bytearray) -> list[Span]:
    """Return the spans that are looked for elsewhere, one of those of a category at a place: the surest.

    A certain one is, and several words behind a label of the header. What the certain ones cover is marked as taken.
    """
    best: dict[tuple[int, int, str], Span] = {}
    first = last = 0  # what was marked last: most spans have the place of the one before
    for span in spans:
        score, start, end, category = span.score, span.start, span.end, span.category
        if score is not None and score < certain and (score < _LABELLED or not span.source.endswith(HEADER_FIELDS)):
            continue
        if start != first or end != last:
            taken[start:end] = b"\1" * (end - start)
            first, last = start, end
        if category in _NOT_AGAIN:
            continue
        held = best.setdefault((start, end, category), span)
        if held is not span:
            surer = (score or 0.0) - (held.score or 0.0)
            if surer > 0.0 or (surer == 0.0 and (span.id, span.attributes) < (held.id, held.attributes)):
                best[start, end, category] = span
    return list(best.values())


def _by_certainty(span: Span) -> Any:
    return -(span.score or 0.0), by_position(span)


def _recurring(
    scene: Scene, spans: Sequence[Span], taken: bytearray, odd: set[str]
) -> tuple[list[tuple[Span, range]], set[str]]:
    """Return the spans of which a part may stand elsewhere, or misspelt as one of the odd words, with their words.

    And the words of one letter in the text.
    """
    folded = scene.folded
    places, letters = _elsewhere(scene.view, taken, [(span.start, span.end) for span in spans])
    sounds = {soundex(word) for word in odd}
    firsts = {sound[:1].lower() for sound in sounds}
    found = []
    for span, (first, stop, elsewhere) in zip(spans, places, strict=True):
        if not elsewhere and not (odd and any(_resembles(w, sounds, firsts) for w in folded[first:stop])):
            if stop - first < 2:
                continue
            # as initials of its words, or with the initial of a given name
            initial = folded[first][:1] in letters or "," in folded[first:stop]
            if span.category not in _ABBREVIATED and not (initial and GROUP[span.category] == "NAME"):
                continue
        found.append((span, range(first, stop)))
    return found, letters


def _elsewhere(
    view: View, taken: bytearray, places: list[tuple[int, int]]
) -> tuple[list[tuple[int, int, bool]], set[str]]:
    """Tell of places in a text whether their words may stand elsewhere.

    Returns
    -------
    list of (int, int, bool)
        Of each place the first word, one past the last, and whether one of them stands outside of what is taken, or
        behind a gap between words in it.
    set of str
        The words of one letter.
    """
    if native is not None:
        return native.elsewhere(view.folded, view.starts, view.ends, taken, places)
    outside: set[str] = set()
    letters = {word for word in view.folded if len(word) == 1}
    last, inside = 0, False
    for word, start, end in zip(view.folded, view.starts, view.ends, strict=True):
        held, inside = inside, all(taken[start:end])
        if not inside or (held and not all(taken[last:start])):
            outside.add(word)
        last = end
    found = []
    for start, end in places:
        words = view.words_at(start, end)
        found.append((words.start, words.stop, not outside.isdisjoint(view.folded[words.start : words.stop])))
    return found, letters


def _resembles(word: str, sounds: set[str], firsts: set[str]) -> bool:
    """Tell whether a word may be a name of which one of some words, given by their codes, is a misspelling."""
    return len(word) >= _LEAST_FUZZY and (word[0] in firsts or not word.isascii()) and soundex(word) in sounds


def _odd_words(scene: Scene, taken: bytearray) -> list[int]:
    """Return the words outside of what is taken that no list has and that might be names."""
    view, classes = scene.view, scene.classes
    return [
        i
        for i in scene.capitals
        if not classes[i] and len(view.folded[i]) >= _LEAST_FUZZY and view.kinds[i] in (TITLE, UPPER, MIXED)
        if view.folded[i].isalpha() and not all(taken[view.starts[i] : view.ends[i]])
    ]


def _misspelt(scene: Scene, seeds: Seeds, odd: list[int]) -> Iterator[Span]:
    """Find odd words that differ by one letter from a name that was found, and sound like it."""
    view = scene.view
    if not odd:
        return
    names = seeds.sounding()
    for index in odd:
        word = view.folded[index]
        if word in seeds.words:
            continue
        for name, span in names.get(soundex(word), ()):
            if one_apart(word, name):
                source = f"consistency:soundex:{span.source}"
                yield Span(view.starts[index], view.ends[index], span.category, source=source, score=_W["misspelt"])
                break


def _spelt_out(scene: Scene, spans: Sequence[Span]) -> Iterator[Span]:
    """Find names that were found and are spelt letter by letter: *that's L-I-N-D-G-R-E-N*."""
    letters = _spelt(scene.text, scene.starts, scene.ends)
    if not letters:
        return
    known = {word: span for span in spans if span.category in PEOPLE for word in words_of_name(scene, span)}
    for found in letters:
        span = known.get("".join(filter(str.isalpha, found[0])).lower())
        if span is not None:
            source = f"consistency:{span.source}"
            yield Span(found.start(), found.end(), span.category, source=source, score=_W["several"])


def _spelt(text: str, starts: list[int], ends: list[int]) -> list[re.Match[str]]:
    """Return where letters stand alone behind each other in a text, with the same between them.

    The second of them is a word of its own, or stands between two hyphens: there are few of these.
    """
    last = len(text) - 2
    begins: list[int] = []
    index: i64 = 0
    count: i64 = len(starts)
    while index < count:
        start: i64 = starts[index]
        end: i64 = ends[index]
        index += 1
        if end != start + 1 or not 2 <= start < last or not (_parts(text, start + 1) and _parts(text, start - 1)):
            continue
        if _is_letter(text, start):
            begins += [start - gap - 1 for gap in (1, 2) if _is_spelt(text, start, gap)]
    at = text.find("-", 1)
    while 0 < at < last - 1:
        if ord(text[at + 2]) == _HYPHEN and _is_letter(text, at + 1) and _is_spelt(text, at + 1, 1):
            begins.append(at - 1)
        at = text.find("-", at + 1)
    found: list[re.Match[str]] = []
    for begin in sorted(begins):
        match = _SPELT_OUT.match(text, begin) if not found or begin >= found[-1].end() else None
        if match is not None:
            found.append(match)
    return found


def _parts(text: str, at: i64) -> bool:
    """Tell whether a character may part letters."""
    sign: i64 = ord(text[at])
    return sign in (_BLANK, _HYPHEN, _STOP)


def _is_spelt(text: str, at: int, gap: int) -> bool:
    """Tell whether a letter stands between two others, with the same characters on either side."""
    first, last = at - gap - 1, at + gap + 1
    if first < 0 or last >= len(text) or not (_is_letter(text, first) and _is_letter(text, last)):
        return False
    return text[first + 1 : at] == text[at + 1 : last]


def _is_letter(text: str, at: i64) -> bool:
    sign: i64 = ord(text[at])
    if sign < _ASCII:
        return _A <= sign | _SMALL <= _Z
    return text[at].isalnum() and not text[at].isdecimal()


def _sow(scene: Scene, span: Span, words: range, letters: Collection[str] | None, seeds: Seeds | Gathered) -> None:
    """Add the sequences of a span that are worth looking for; ``letters`` are the initials that stand in the text."""
    view = scene.view
    if not 0 < len(words) <= _MOST_WORDS:
        return
    kind = GROUP[span.category]
    whole = tuple(view.folded[words.start : words.stop])
    if kind in _NUMBERS or span.category == "USERNAME":
        if sum(map(str.isdigit, "".join(whole))) >= 4 or span.category in ("USERNAME", "EMAIL"):
            seeds.add(whole, span)
        return
    if span.category in _PHRASES:
        if len(whole) > 1 or not scene.classes[words[0]] & (_ORDINARY | _NEVER):
            seeds.add(whole, span)
        if span.category in _ABBREVIATED:
            for acronym in _acronyms(scene, words):
                seeds.add((acronym,), span)
        return
    if kind == "NAME":
        if len(whole) > 1:
            seeds.add(whole, span)
            _sow_variants(whole, span, letters, seeds)
        for i in words:
            if scene.is_word(i) and len(view.folded[i]) > 2 and not scene.classes[i] & _NEVER:
                seeds.add((view.folded[i],), span)


def _sow_variants(whole: tuple[str, ...], span: Span, single: Collection[str] | None, seeds: Seeds | Gathered) -> None:
    """Add the ways to write a full name with an initial: *Smith, J*, *J. Smith*, *J Smith*."""
    short = _with_initial(whole)
    if short is None or (single is not None and short[1] not in single):
        return  # none of them stands in the text
    last, initial = short
    for variant in ((last, ",", initial), (initial, ".", last), (initial, last), (last, initial)):
        seeds.add(variant, span)


def _with_initial(whole: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the last name of a full name and the initial of the first one."""
    if "," in whole[1:3]:
        comma = whole.index(",")
        last, first = whole[:comma], whole[comma + 1 : comma + 2]
    else:
        letters = [w for w in whole if len(w) > 1]
        last, first = tuple(letters[-1:]), whole[:1]
    if len(last) != 1 or not first or len(last[0]) < 3 or not first[0].isalpha() or len(first[0]) < 2:
        return None
    return last[0], first[0][0]


def _acronyms(scene: Scene, words: Sequence[int]) -> Iterator[str]:
    """Initials of an institution's name, with and without small words."""
    letters = [scene.folded[i][0] for i in words if scene.is_word(i) and scene.kinds[i] != LOWER]
    if 3 <= len(letters) <= 6:
        yield "".join(letters)


def _weigh(scene: Scene, index: int, end: int, seed: Span) -> float:
    """Return how sure a further occurrence is; 0 when it does not count."""
    if GROUP[seed.category] in _NUMBERS or seed.category == "USERNAME":
        return _W["number"]
    several = end - index > 1
    blind = scene.case_uninformative(index)
    kind = scene.kinds[index]
    # *Smith's wife*, not *Smith's fracture*
    of_kin = scene.word(end) in ("'", "\u2019") and scene.has(end + 2, RELATION)
    if any(scene.protected[i] for i in range(index, end)) and not (several or of_kin):
        return 0.0
    if (
        several
        and not scene.lowercase_text
        and any(scene.kinds[i] == LOWER and len(scene.strings[i]) == 1 for i in range(index, end))
    ):
        return 0.0  # "Thornbury, a 76-year-old"
    if several:
        return _W["several" if kind != LOWER or scene.lowercase_text else "several_in_lower_case"]
    classes = scene.classes[index]
    if seed.category in _ABBREVIATED and len(seed) > 2 * len(scene.strings[index]):
        return _W["acronym"] if kind == UPPER and not blind and not classes & _ORDINARY else 0.0  # an acronym
    if clear(scene, index) or not classes:
        if kind in (TITLE, MIXED) or (kind == UPPER and len(scene.strings[index]) > 2):
            return _W["clear"]
        return _W["clear_or_unlisted_without_case"] if blind or not classes else _W["clear_in_lower_case"]
    if not classes & _ORDINARY:
        return _W["listed"] if kind in (TITLE, UPPER, MIXED) else 0.0
    if kind not in (TITLE, MIXED) or blind:
        return 0.0
    behind = end
    if scene.word(behind) in ("'", "\u2019"):
        behind += 2
    # where all nouns have capitals none has one because it begins a sentence: a surname that a rule found may
    noun = scene.words["behind_surname"] and not classes & _TERM and scene.has(index, PERSON)
    noun = noun and seed.source.startswith("rule:")
    if scene.view.starts_sentence(index) and classes & _BEGINNING and not (of_kin or noun):
        return 0.0
    if scene.has(behind, _NAMED_AFTER) or scene.cued(index, _ARTICLE):
        return 0.0
    return _W["ordinary"]
