"""A site's own lists: terms that are always PHI (deny: staff, clinics, streets) and terms that never are (allow).

One term a line, of one word or more; lines that start with ``#`` and empty lines are skipped. A line ``[DOCTOR]``
gives the category of the deny terms below it, ``term<TAB>DOCTOR`` that of one term. Deny terms match in any letter
case, those in double quotes just as written; allow terms always match just as written. White space and one line end
may stand between words; a term matches whole words only.

Deny goes before everything, allow after everything: what an allow term covers completely is no PHI, except

* where a deny term stands, so a term of both lists is PHI;
* identifiers by structure: what has a digit or an ``@`` and was found as an id, a contact, a date, an age, a user name
  or a postcode; no abbreviation of a site may uncover a number;
* identifiers that were known of the patient beforehand (`deid.detection.known`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import regex

from deid.base.errors import ConfigError, require
from deid.document import Span
from deid.phi import LABEL_SETS, canonical, find_label, group
from deid.reading.dictionaries import fold

_PIECE = regex.compile(r"[\p{L}\p{M}]++|\p{N}++|[^\s\p{L}\p{M}\p{N}]")
_SECTION = regex.compile(r"\[([^\[\]]+)\]")
_CONTROL = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOST_DIGITS = 4
"""Digits that an allow term may have; more make an identifier."""
_STRUCTURED_GROUPS = frozenset(("ID", "CONTACT"))
_STRUCTURED = frozenset(("DATE", "AGE", "USERNAME", "ZIP"))
_UNNAMED = "OTHER"
"""Category of a deny term without one, where nothing else was found."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase of a site's list."""

    words: tuple[str, ...] = field(repr=False)
    """Folded, signs of their own."""
    category: str = ""
    """Canonical category, empty when the list names none."""
    written: tuple[str, ...] = field(default=(), repr=False)
    """The words as they must be written; empty when any letter case counts."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What site lists did to the spans of documents."""

    denied: int = 0
    """Occurrences of deny terms of which some part had not been found."""
    recategorized: int = 0
    """Spans that were found, and got the category of a deny term."""
    allowed: int = 0
    """Spans that were taken out because allow terms cover them."""
    refused: int = 0
    """Spans that allow terms cover, and that stay: structured or known identifiers, or terms of the deny list."""

    def __add__(self, other: Effect) -> Effect:
        return Effect(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, int]:
        """Return the counts as JSON values."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


NO_EFFECT = Effect()


@dataclass(frozen=True)
class SiteLists:
    """Deny and allow terms of a site."""

    deny: tuple[Term, ...] = field(default=(), repr=False)
    allow: tuple[Term, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.deny or self.allow)

    @property
    def categories(self) -> frozenset[str]:
        """Canonical categories that deny terms add."""
        return frozenset(term.category or _UNNAMED for term in self.deny)

    @property
    def both(self) -> int:
        """Number of allow terms that the deny list has too, in a form that covers them."""
        any_case = {t.words for t in self.deny if not t.written}
        as_written = {t.written for t in self.deny}
        return sum(t.words in any_case or t.written in as_written for t in self.allow)

    @cached_property
    def _by_first(self) -> tuple[dict[str, list[Term]], dict[str, list[Term]]]:
        return _index(self.deny), _index(self.allow)

    def apply(
        self, text: str, spans: Sequence[Span], label_of: Callable[[str], str] = str
    ) -> tuple[list[Span], Effect, list[Span]]:
        """Apply the lists to what was found.

        Parameters
        ----------
        text : str
        spans : sequence of Span
            What recognizers found: sorted, not overlapping.
        label_of : callable, optional
            Translates canonical categories to the labels of the spans.

        Returns
        -------
        list of Span
            Sorted, not overlapping; what deny terms added has the source ``deny``.
        Effect
            What was changed.
        list of Span
            The spans that allow terms took out.
        """
        deny, allow = self._by_first
        pieces = [(m.start(), m.end()) for m in _PIECE.finditer(text)]
        words = [fold(text[a:b]) for a, b in pieces]
        denied = _merge(_occurrences(text, pieces, words, deny))
        result, effect = _add(spans, denied, label_of)
        if not allow:
            return result, effect, []
        free = bytearray(len(text))
        for start, end, _ in _occurrences(text, pieces, words, allow):
            free[start:end] = b"\1" * (end - start)
        protected = [(start, end) for start, end, _ in denied]
        kept: list[Span] = []
        removed: list[Span] = []
        refused = 0
        for span in result:
            if not all(free[i] or not text[i].isalnum() for i in range(span.start, span.end)):
                kept.append(span)
            elif _structured(text, span) or any(a < span.end and span.start < b for a, b in protected):
                refused += 1
                kept.append(span)
            else:
                removed.append(span)
        return kept, effect + Effect(allowed=len(removed), refused=refused), removed


def _index(terms: Iterable[Term]) -> dict[str, list[Term]]:
    found: dict[str, list[Term]] = {}
    for term in terms:
        found.setdefault(term.words[0], []).append(term)
    return found


def _occurrences(
    text: str, pieces: Sequence[tuple[int, int]], words: Sequence[str], index: dict[str, list[Term]]
) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and category of every occurrence of a term; they may overlap."""
    if not index:
        return
    for first, word in enumerate(words):
        for term in index.get(word, ()):
            last = first + len(term.words) - 1
            if tuple(words[first : last + 1]) != term.words:
                continue
            start, end = pieces[first][0], pieces[last][1]
            if (start and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum()):
                continue  # "B" inside of "B12"
            if term.written and tuple(text[a:b] for a, b in pieces[first : last + 1]) != term.written:
                continue
            gaps = (text[pieces[i][1] : pieces[i + 1][0]] for i in range(first, last))
            if all(gap.count("\n") < 2 for gap in gaps):
                yield start, end, term.category


def _merge(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Join occurrences that overlap: the first that has a category gives it, of those that begin there the longest."""
    merged: list[tuple[int, int, str]] = []
    for start, end, category in sorted(found, key=lambda f: (f[0], -f[1])):
        if merged and start < merged[-1][1]:
            first, reach, held = merged[-1]
            merged[-1] = (first, max(reach, end), held or category)
        else:
            merged.append((start, end, category))
    return merged


def _add(
    spans: Sequence[Span], denied: Sequence[tuple[int, int, str]], label_of: Callable[[str], str]
) -> tuple[list[Span], Effect]:
    """Lay deny terms over the spans: a larger span stays as it is, others give way or are joined."""
    result = list(spans)
    added = recategorized = 0
    for start, end, category in denied:
        touching = [s for s in result if s.start < end and start < s.end]
        if any(s.start <= start and end <= s.end and len(s) > end - start for s in touching):
            continue  # a name of which the term is a part
        same = next((s for s in touching if (s.start, s.end) == (start, end)), None)
        if same is not None and (not category or label_of(category) == same.category):
            continue
        if same is not None:
            recategorized += 1
        else:
            added += 1
        label = label_of(category) if category else max(touching, key=len).category if touching else label_of(_UNNAMED)
        # the site's word decides on the term itself, not on what else the joined span covers
        also = {c for s in touching if s is not same for c in (s.category, *s.also)}
        low, high = min([start, *(s.start for s in touching)]), max([end, *(s.end for s in touching)])
        result = [s for s in result if s not in touching]
        result.append(Span(low, high, label, source="deny", score=1.0).read_as(also))
    return sorted(result), Effect(denied=added, recategorized=recategorized)


def _structured(text: str, span: Span) -> bool:
    """Tell whether a span is an identifier by its structure, or was known beforehand."""
    if span.source.startswith("known:"):
        return True
    by_structure = group(span.category) in _STRUCTURED_GROUPS or canonical(span.category) in _STRUCTURED
    return by_structure and any(c.isdigit() or c == "@" for c in text[span.start : span.end])


def load_site_lists(deny: Iterable[Path] = (), allow: Iterable[Path] = ()) -> SiteLists:
    """Return a site's lists, checked.

    Parameters
    ----------
    deny, allow : iterable of Path
        Text files in UTF-8.

    Raises
    ------
    ConfigError
        When a file cannot be read, is empty, or a line of it is no term; names file and line, never the term.
    """
    return SiteLists(
        tuple(dict.fromkeys(t for path in deny for t in _read(path, deny=True))),
        tuple(dict.fromkeys(t for path in allow for t in _read(path, deny=False))),
    )


def _read(path: Path, *, deny: bool) -> Iterator[Term]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"the list cannot be read ({error.strerror})", "check the path", str(path)) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError("the list is not UTF-8", "save it in UTF-8", str(path), f"line {line}") from None
    category, terms = "", 0
    for number, entry in enumerate(text.splitlines(), 1):
        bare = entry.strip()
        if not bare or bare[0] == "#":
            continue
        place = (str(path), f"line {number}")
        section = _SECTION.fullmatch(bare)
        if section:
            category = _category(section[1], deny, place)
            continue
        terms += 1
        yield _term(bare, category, deny, place)
    require(terms, "the list holds no term", "one term a line, or leave the option out", str(path))


def _category(name: str, deny: bool, place: tuple[str, str]) -> str:
    require(deny, "a category in a list of allowed terms", "allowed terms have none", *place)
    label = find_label(name.strip())
    if label is None:
        known = ", ".join(sorted(LABEL_SETS["i2b2-2014"].names()))
        raise ConfigError("unknown category", f"known: {known}", *place)
    return label.canonical


def _term(line: str, category: str, deny: bool, place: tuple[str, str]) -> Term:
    phrase, tab, own = line.partition("\t")
    if tab:
        category = _category(own, deny, place)
    phrase = phrase.strip()
    quoted = len(phrase) > 2 and phrase[0] == phrase[-1] == '"'
    if quoted:
        phrase = phrase[1:-1].strip()
    if _CONTROL.search(phrase):
        raise ConfigError("a control character", "one term a line, a category behind a tab, nothing else", *place)
    pieces = _PIECE.findall(phrase)
    if sum(c.isalnum() for c in phrase) < 2:
        raise ConfigError("a term needs two letters or digits", "one letter would be found everywhere", *place)
    if not deny and (sum(c.isdigit() for c in phrase) > _MOST_DIGITS or "@" in phrase):
        raise ConfigError(
            f"an allowed term with an @ or more than {_MOST_DIGITS} digits",
            "numbers and addresses identify persons and are never allowed",
            *place,
        )
    words = tuple(fold(piece) for piece in pieces)
    return Term(words, category, tuple(pieces) if quoted or not deny else ())
