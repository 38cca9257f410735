"""Masking for language models: a text goes elsewhere without its PHI, and the answer gets the originals back.

A surrogate that can be told from everything else in a text stands for its original as it is; where it could be taken
for something else (a year, a weekday, *Long*, a name that another original has already) a numbered mark stands instead:
``[NAME-1]``, with what the policy leaves behind it, ``[DATE-1: 2019]``. `Substitutes` is the map between the two, in
memory; what it makes of a text is checked by undoing it before the text is given away.
"""

from __future__ import annotations

import copy
import functools
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deid.base.errors import require
from deid.base.keys import Key
from deid.document import Document, Span
from deid.phi import group
from deid.pipeline.at_once import made
from deid.pipeline.core import Pipeline, as_document
from deid.pipeline.options import PipelineOptions
from deid.reading.dictionaries import available, load_dictionary
from deid.replacement.operators import OPERATORS

if TYPE_CHECKING:
    from deid.replacement.sealing import Entry
    from deid.replacement.vault import Vault

_NATURAL = frozenset({"surrogate", "date-shift", "hash", "encrypt", "deid-tag"})
"""Operators that write for each original something of its own."""
_LONG_NUMBER = 5
"""Digits with which a surrogate is no number that stands in any text."""
_ORDINARY = ("names/ambiguous", "names/last_ambig", "names/female_ambig", "names/male_ambig", "common/function")
_CALENDAR = ("calendar/months", "calendar/weekdays", "calendar/seasons", "calendar/holidays")
_COMMON = "common/words"
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|['’\-](?=[^\W\d_]))+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_AGE_DIGITS = 2
_MARK = re.compile(r"\[([A-Z]+-\d+)(?:: [^\[\]\n]*)?\]\Z")
_BRACKETS = re.compile(r"[\[\]\n\r]")
_DATED = frozenset({"DATE", "AGE"})
_APOSTROPHES = ("'", "’")
_QUOTE = re.compile(r"(?P<opens>(?<!\w)['‘](?=\w))|(?<=\S)['’](?!\w)")
"""The beginning of a quotation, or an end of one."""
_OTHER = "OTHER"
_SESSION = "session:"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text that is replaced."""

    start: int
    end: int
    category: str
    replacement: str = field(repr=False)
    """What the policy writes."""
    natural: bool
    """Whether that may stand for its original as it is; else a mark does."""
    remainder: bool = False
    """Whether it is a part or a generalization of the original, to be shown in the mark."""


@dataclass(frozen=True, slots=True)
class Substitute:
    """What stands for an original."""

    category: str
    original: str = field(repr=False)
    written: str = field(repr=False)


def pieces_of(pipeline: Pipeline, text: str) -> list[Piece]:
    """Return what a pipeline replaces in a text.

    Raises
    ------
    DeidError
        When it cannot be processed.
    """
    document = Document("text", text)
    spans = [] if pipeline.recognizer is None else pipeline.recognizer.find(document)
    scrubbed = pipeline.replace(document, narrowed(text, spans, pipeline.language))
    found = []
    for edit in scrubbed.edits:
        spec = OPERATORS[pipeline.policy.rule(edit.category, {}).operator]
        written = scrubbed.document.text[edit.new_start : edit.new_end]
        own = pipeline.settings.method == "policy" and spec.name in _NATURAL
        remainder = pipeline.settings.method == "policy" and (spec.leaves_part or spec.may_repeat)
        # a name in a mark would be taken up without it
        shown = remainder or (own and group(edit.category) in _DATED)
        found.append(Piece(edit.start, edit.end, edit.category, written, own, shown))
    return found


def narrowed(text: str, spans: Iterable[Span], language: str) -> list[Span]:
    """Return spans, those of years and ages in a question cut to their number.

    In a text of a line a tagger has little to go by, and takes words along: *guidelines of 2021*, *7-year* of
    *7-year-old*, which is said to be a date and an age. What such a span holds beside one number must be words of every
    day in small letters; then the words stay, and a policy sees the number.
    """
    found = []
    for span in spans:
        own = text[span.start : span.end]
        numbers = list(_NUMBER.finditer(own))
        words = _LETTERS.findall(own)
        readings = {span.category, *span.also}
        if len(numbers) == 1 and words and {group(reading) for reading in readings} <= _DATED:
            plain = _common(language).issuperset(words)  # which are in small letters
            if plain and not _calendar(language).intersection(words):
                number = numbers[0]
                start, end = span.start + number.start(), span.start + number.end()
                year, age = bool(_YEAR.fullmatch(number[0])), len(number[0]) <= _AGE_DIGITS
                if year and readings == {"DATE"}:
                    span = span.moved(start, end)
                elif age and "AGE" in readings:
                    span = span.named("AGE").read_as(()).moved(start, end)
        found.append(span)
    return found


class Substitutes:
    """What stands for what in the texts of a session, both ways. It grows with the number of different originals.

    Parameters
    ----------
    language : str
        Whose ordinary words no surrogate may be mistaken for.
    """

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._all: list[Substitute] = []
        self._written: dict[tuple[str, str], str] = {}
        """Group and original -> what stands for it."""
        self._originals: dict[str, str] = {}
        """What stands in a text, exactly -> its original."""
        self._forms: dict[str, tuple[str, str]] = {}
        """Surrogates and single names of theirs, case folded -> as written, and the original."""
        self._marks: dict[str, str] = {}
        self._seen: set[str] = set()
        """Words of the texts so far: no surrogate is one of them."""
        self._expression: re.Pattern[str] | None = None

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"Substitutes({len(self)})"

    def since(self, number: int) -> Sequence[Substitute]:
        """Return the substitutes from a number on, in the order in which they came."""
        return self._all[number:]

    def add(self, substitute: Substitute) -> None:
        """Take over what `since` returned elsewhere."""
        if substitute.written not in self._originals:
            self._add(group(substitute.category), substitute)

    def replace(self, text: str, pieces: Iterable[Piece]) -> str:
        """Return a text with surrogates and marks in place of what a policy replaces.

        Parameters
        ----------
        text : str
        pieces : iterable of Piece
            In order, none overlapping another.

        Returns
        -------
        str
            A text that `restore` turns back into this one, to the character.
        """
        given = list(pieces)
        seen = self._seen | {word.casefold() for word in _WORD.findall(text)}
        forced: set[int] = set()
        while True:
            trial = self._copy(seen)
            masked, expected = trial._written_out(text, given, forced)
            found = list(trial._find(masked))
            wrong = set(found) ^ {(start, end, original) for start, end, original, _ in expected}
            if not wrong and trial.restore(masked) == text:
                self.__dict__ = trial.__dict__
                return masked
            # what an apostrophe follows could be taken for a possessive
            wrong = wrong or {place[:3] for place in expected if masked[place[1] : place[1] + 1] in _APOSTROPHES}
            count = len(forced)
            more = _protected(given, expected, {(start, end) for start, end, _ in found}, wrong, forced)
            if len(more) == len(given) and len(forced) == count:
                more = [Piece(0, len(text), _OTHER, "", natural=False)]
            given = more

    def restore(self, text: str) -> str:
        """Return a text with the originals in place of surrogates and marks, wherever and however often they stand.

        Case is carried over (*CARTER* becomes *BAKER*), a possessive stays, the line may break inside of a name, and
        one of the names of a person, or initial and family name, become those of the original.
        """
        parts: list[str] = []
        read = 0
        for start, end, original in self._find(text):
            parts += (text[read:start], original)
            read = end
            s_apart = text[end - 1] in "sS" and original[-1] not in "sS" and not text[end + 1 : end + 2].isalnum()
            if text[end : end + 1] in _APOSTROPHES and s_apart and not _quotes(text[: start + 1]):
                # the possessive of a name that ends in s, when its writer has closed no quotation with it
                parts.append(text[end] + ("S" if original.isupper() and len(original) > 1 else "s"))
                read = end + 1
        return "".join((*parts, text[read:]))

    # ------------------------------------------------------------------------------------------------ writing

    def _copy(self, seen: set[str]) -> Substitutes:
        trial = copy.copy(self)
        for name in ("_all", "_written", "_originals", "_forms", "_marks"):
            setattr(trial, name, copy.copy(getattr(self, name)))
        trial._seen = seen
        return trial

    def _written_out(
        self, text: str, pieces: Sequence[Piece], forced: set[int]
    ) -> tuple[str, list[tuple[int, int, str, Piece]]]:
        """Return the masked text, and where which original belongs in it."""
        parts: list[str] = []
        places = []
        read = size = 0
        for piece in pieces:
            original = text[piece.start : piece.end]
            written = self._of(piece, original, marked=piece.start in forced)
            parts += (text[read : piece.start], written)
            size += piece.start - read
            places.append((size, size + len(written), original, piece))
            size += len(written)
            read = piece.end
        return "".join((*parts, text[read:])), places

    def _of(self, piece: Piece, original: str, *, marked: bool) -> str:
        kind = group(piece.category)
        known = self._written.get((kind, original))
        if known is not None and not (marked and not _MARK.match(known)):
            return known
        made = Substitute(piece.category, original, piece.replacement)
        if marked or not piece.natural or not self._fits(made):
            shown = piece.replacement if piece.remainder else ""
            made = Substitute(piece.category, original, self._mark(kind, "" if _BRACKETS.search(shown) else shown))
        self._add(kind, made)
        return made.written

    def _add(self, kind: str, made: Substitute) -> None:
        self._all.append(made)
        self._written[kind, made.original] = made.written
        self._originals[made.written] = made.original
        self._expression = None
        if mark := _MARK.match(made.written):
            self._marks[mark[1]] = made.original
        else:
            for form, original in _forms(kind, made.written, made.original):
                self._forms.setdefault(_folded(form), (form, original))

    def _fits(self, made: Substitute) -> bool:
        """Tell whether a surrogate can be told from all else, and from what stands for others."""
        if made.written in self._originals or _BRACKETS.search(made.written):
            return False
        for form, original in _forms(group(made.category), made.written, made.original):
            if {word.casefold() for word in _WORD.findall(form)} <= self._seen:
                return False
            if not self._distinct(form):
                return False
            other = self._forms.get(_folded(form))
            if other is not None and _folded(other[1]) != _folded(original):
                return False
        return True

    def _distinct(self, form: str) -> bool:
        if sum(c.isdigit() for c in form) >= _LONG_NUMBER:
            return True
        words = [word.casefold() for word in _LETTERS.findall(form)]
        if len(words) > 1:
            return any(word not in _ordinary(self._language) for word in words)
        if not words or words[0] in _ordinary(self._language):
            return False
        return any(c.isupper() for c in form) or words[0] not in _common(self._language)

    def _mark(self, kind: str, shown: str) -> str:
        number = 1
        while f"{kind}-{number}" in self._marks or (kind.casefold() in self._seen and str(number) in self._seen):
            number += 1
        return f"[{kind}-{number}: {shown}]" if shown else f"[{kind}-{number}]"

    # ------------------------------------------------------------------------------------------------- finding

    def _find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where something of the map stands in a text, and its original there."""
        if not self._all:
            return
        if self._expression is None:
            self._expression = _expression(self._forms, self._marks)
        for found in self._expression.finditer(text):
            there = found[0]
            original = self._marks.get((found["boxed"] or found["bare"] or "").upper()) or self._originals.get(there)
            if original is None and (known := self._forms.get(_folded(there))):
                original = _cased(there, *known)
            if original is not None:
                yield found.start(), found.end(), original


def _protected(
    pieces: list[Piece],
    expected: Sequence[tuple[int, int, str, Piece]],
    found: set[tuple[int, int]],
    wrong: Iterable[tuple[int, int, str]],
    forced: set[int],
) -> list[Piece]:
    """Return pieces by which nothing is mistaken that was: surrogates become marks, and so does what a text says that
    looks like one of an earlier text.
    """
    more = []
    for start, end, _ in wrong:
        hit = [piece for at, to, _, piece in expected if at < end and start < to]
        forced.update(piece.start for piece in hit)
        if not hit and (start, end) in found:
            # where it stands in the original: as far behind the piece before it as here
            before = [(to, piece.end) for _, to, _, piece in expected if to <= start]
            after = [(at, piece.start) for at, _, _, piece in expected if at >= end]
            new, old = before[-1] if before else (0, 0)
            limit = after[0][1] - (after[0][0] - end) if after else old + end - new
            more.append(Piece(old + start - new, limit, _OTHER, "", natural=False))
    return sorted([*pieces, *more], key=lambda piece: piece.start)


def _expression(forms: Iterable[str], marks: Iterable[str]) -> re.Pattern[str]:
    """Return the expression for whatever stands for an original, the longest first."""
    heads = "|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True)) or "(?!)"
    written = "|".join(r"\s+".join(map(re.escape, form.split())) for form in sorted(forms, key=len, reverse=True))
    marked = rf"\[(?P<boxed>{heads})(?:: [^\[\]\n]*)?\]|(?<![\w-])(?P<bare>{heads})(?!\w)"
    return re.compile(rf"{marked}|(?<!\w)(?:{written or '(?!)'})(?!\w)", re.IGNORECASE)


def _forms(kind: str, written: str, original: str) -> Iterator[tuple[str, str]]:
    """Yield a surrogate and its original; of persons their single names too, and initial and family name."""
    yield written, original
    if kind != "NAME":
        return
    new, old = _NAME.findall(written), _NAME.findall(original)
    if len(new) != len(old) or len(new) < 2:
        return
    yield from ((a, b) for a, b in zip(new, old, strict=True) if a != b)
    if "," not in written and "," not in original:
        yield f"{new[0][0]}. {new[-1]}", f"{old[0][0]}. {old[-1]}"


def _quotes(text: str) -> bool:
    """Tell whether a quotation that began in a text goes on at its end."""
    opened = 0
    for sign in _QUOTE.finditer(text):
        opened = opened + 1 if sign["opens"] else max(0, opened - 1)
    return opened > 0


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _cased(there: str, written: str, original: str) -> str:
    """Return an original in the case in which its surrogate stands in an answer."""
    if " ".join(there.split()) == written:
        return original
    if there.isupper():
        return original.upper()
    if there.islower():
        return original.lower()
    return original.title() if written.isupper() or written.islower() else original


@functools.lru_cache(maxsize=8)
def _ordinary(language: str) -> frozenset[str]:
    """Words that stand in any text, and names that are such words."""
    return _lists(_ORDINARY, language) | _calendar(language)


@functools.lru_cache(maxsize=8)
def _calendar(language: str) -> frozenset[str]:
    return _lists(_CALENDAR, language)


@functools.lru_cache(maxsize=8)
def _common(language: str) -> frozenset[str]:
    return _lists((_COMMON,), language)


def _lists(names: Iterable[str], language: str) -> frozenset[str]:
    there = available(language)
    own = (name if name in there else f"{name}_{language}" for name in names)
    return frozenset[str]().union(*(load_dictionary(name).words for name in own if name in there))


def _scope(session: str) -> str:
    return _SESSION + session


def is_of_session(entry: Entry) -> bool:
    """Tell whether an entry of a vault is what a session masked, which is whose the session is."""
    return entry.scope_id.startswith(_SESSION)


def recalled(vault: Vault, session: str, *, who: str, why: str) -> Iterator[Substitute]:
    """Yield what a vault knows of a session; writes the line of its audit trail first.

    Raises
    ------
    ConfigError
        When nobody is named who asks, or no purpose.
    StoreError
        When the vault cannot be read.
    """
    for entry in vault.scoped(_scope(session), who=who, why=why):
        yield Substitute(entry.category, entry.original, entry.surrogate)


def told(vault: Vault, session: str, count: int, *, who: str, why: str) -> None:
    """Write the line of the audit trail for originals of a session that are told out of memory.

    Raises
    ------
    ConfigError
        When nobody is named who asks, or no purpose.
    StoreError
        When the vault cannot keep it; then nothing may be told.
    """
    vault.told(_scope(session), count, who=who, why=why)


def keep(vault: Vault, session: str, new: Iterable[Substitute]) -> None:
    """Let a vault keep what stands for what in a session.

    Raises
    ------
    StoreError
        When it cannot; then nothing is kept.
    """
    from deid.replacement.vault import Entry

    vault.record_all(Entry(_scope(session), one.category, one.original, one.written) for one in new)


class Session:
    """A conversation with a language model: texts go there masked, answers get the originals back.

    The map between the two is in memory, and in no text. With a vault it is there as well, so that a later session of
    the same id goes on, and each re-identification leaves a line in the audit trail. For one thread.

    Parameters
    ----------
    key : Key, optional
        Makes the surrogates (`deid.load_key`); by default one that is thrown away when Python ends.
    vault : Vault, optional
        An open vault that keeps the map.
    id : str, optional
        With a vault: the session to go on with. By default a new one.
    who, why : str
        With a vault: who asks for originals, and for what purpose.
    options
        Those of `PipelineOptions`, such as ``policy="safe-harbor"``, under which ages below 90 and plain years stay.

    Raises
    ------
    ConfigError
        When the options cannot be fulfilled, or a vault is there without who and why.
    StoreError
        When the vault cannot be read.

    Examples
    --------
    >>> session = Session(policy="safe-harbor")
    >>> session.mask("Alice Baker, 45, has coughed since 2019. Dr. Baker, alone?")
    '[NAME-1], 45, has coughed since 2019. Dr. [NAME-2], alone?'
    >>> session.unmask("A cough since 2019 at 45: [NAME-1]'s X-ray first.")
    "A cough since 2019 at 45: Alice Baker's X-ray first."
    """

    def __init__(
        self,
        *,
        key: Key | None = None,
        vault: Vault | None = None,
        id: str | None = None,
        who: str = "",
        why: str = "",
        **options: Any,
    ) -> None:
        said = PipelineOptions(**options)
        require(not said.gold, "a text of its own carries no annotations", "leave out gold")
        self._pipeline = made(key, said)
        self._substitutes = Substitutes(self._pipeline.language)
        self._vault = vault
        self._asking = {"who": who, "why": why}
        self.id = id or secrets.token_hex(16)
        """By which a later session goes on where there is a vault."""
        if vault is not None and id is not None:
            for known in recalled(vault, id, **self._asking):
                self._substitutes.add(known)

    def __repr__(self) -> str:
        return f"Session({len(self._substitutes)} substitutes)"

    def mask(self, text: str) -> str:
        """Return a text without its PHI, which `unmask` turns back into itself.

        Raises
        ------
        DeidError
            When it is no text or cannot be processed, or the vault cannot keep what was replaced; nothing of it is
            returned then.
        """
        text = as_document(text).text
        count = len(self._substitutes)
        masked = self._substitutes.replace(text, pieces_of(self._pipeline, text))
        if self._vault is not None:
            keep(self._vault, self.id, self._substitutes.since(count))
        return masked

    def unmask(self, answer: str) -> str:
        """Return an answer with the originals in place of surrogates and marks, however it orders and repeats them.

        Raises
        ------
        ConfigError
            When there is a vault, and nobody was named who asks, or no purpose.
        StoreError
            When the vault cannot keep the line of its audit trail; nothing is told then.
        InputError
            When it is no text.
        """
        answer = as_document(answer).text
        if self._vault is not None:
            told(self._vault, self.id, len(self._substitutes), **self._asking)
        return self._substitutes.restore(answer)
