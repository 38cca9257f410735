"""Patterns as data: what ``dictionaries/patterns/<language>/*.toml`` may say, and how it runs.

``[define]``
    Named pieces of regular expressions, used as ``{{name}}`` in all files of the language. ``{{list:places/states}}``
    stands for the items of a word list. What ``all.toml`` defines for every language one may define otherwise.
``[[pattern]]``
    ``name``, ``category``, ``regex`` and ``certainty`` (0..1), further
    ``case`` (true: capitals count), ``needs`` (lower-case strings of which one must be in the text; saves time),
    ``anchor`` (the expression counts only there, which saves much time: a key of `deid.rules.patterns.ANCHORS`,
    or a definition ``anchor_...``, which is looked for in front without being read),
    ``check`` (a function of `deid.rules.checks`), ``context`` (``words`` of which one must stand within ``before``
    and ``after`` characters for ``certainty`` to be the one given there instead), ``unless`` (the same; the match does
    not count), ``unlisted`` (true: a match that is an ordinary or clinical word does not count). The span is the group
    ``value`` where the expression has one.
``[[field]]``
    A labelled value: ``labels``, ``value`` (an expression that must fit right behind label and separator), ``strict``
    (the separator must hold one of ``: # = | > ] ?``, or a tab), ``exact`` (capitals of labels count);
    ``name``, ``category``, ``certainty``, ``check`` as above. Labels are found by one pass over the words, however
    many they are.
``[[list]]``
    Word lists whose items are PHI wherever they stand: ``lists``, ``capital`` (an item counts only with a capital),
    ``small`` (one word only with a small letter), further ``name``, ``category``, ``certainty``, ``context``,
    ``unless``.
``[[head]]``
    Word lists whose items say what kind of a thing something is, with its name right behind (``value``, from the end of
    the head on): ``lists``, ``part`` (the head is a part of the name), ``capital`` (a head counts only with a capital),
    ``unlisted`` (a name of ordinary words does not count), further ``name``, ``category``, ``certainty``.
``[[person_field]]``
    A label behind which a name stands: ``name``, ``category``, ``labels``, ``strict``; read by `deid.rules.names`.
``[[cue]]``
    ``words`` around candidates that the grammars of names, places and occupations ask for, under a known ``name``.
``[[segment]]``
    What the fields of an HL7 segment hold: ``name`` (three letters), ``fields`` (number -> category, or ``address``,
    ``location``, ``staff``).

``match`` and ``no_match`` are golden cases: texts with the expected spans in ``[[ ]]``, and texts without any. Every
entry needs at least one ``match``. `check_golden` runs them: the tests do for the shipped files, `load_catalogue` does
for files of the user's own.

Expressions are of the ``regex`` module. They have to be linear: bounded or possessive repeats, no nested ones. Each run
has a time limit; one that exceeds it raises `DetectionError`, so that no note passes half-searched.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import regex

from deid.base.cache import cached
from deid.base.compiled import native_for
from deid.base.errors import ConfigError
from deid.base.in_step import pause
from deid.base.resources import resource_folder
from deid.document import Span
from deid.phi import LABEL_SETS
from deid.reading.dictionaries import ALL_LANGUAGES, load_catalogues, load_dictionary
from deid.reading.view import view_of
from deid.reading.vocabulary import TABLES, load_vocabulary
from deid.rules import expressions, programs, sieve
from deid.rules.checks import CHECKS
from deid.rules.fields import CUES, Cue, Field, HeadRule, LabelFinder, ListRule, PersonField
from deid.rules.layouts import PARTS, Segment
from deid.rules.patterns import ANCHORS, Context, Haystack, Pattern, keep_compiled, spans_of, words_text
from deid.rules.sieve import needs_tables, sieve_tables

native = native_for("catalogue")
_Item = TypeVar("_Item")

_CATEGORIES = frozenset(name for known in ("i2b2-2014", "meddocan") for name in LABEL_SETS[known].names())
_PLACEHOLDER = regex.compile(r"\{\{([\w:/ -]+)\}\}")
_SIEVE_CODE = (expressions, programs, sieve)
"""What computes the sieve's tables: tables of other code are not used."""
_MARK = regex.compile(r"\[\[(.*?)\]\]", flags=regex.DOTALL)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All patterns of a language."""

    language: str
    patterns: tuple[Pattern, ...]
    fields: tuple[Field, ...]
    lists: tuple[ListRule, ...]
    person_fields: tuple[PersonField, ...]
    cues: tuple[Cue, ...]
    segments: tuple[Segment, ...]
    heads: tuple[HeadRule, ...]
    separator: str = field(repr=False)
    """Expression of what may stand between a label and its value."""
    folders: tuple[Path, ...] = ()
    """Dictionary folders of the user's own."""
    sieves: tuple[tuple[Any, tuple[int, ...]], ...] = field(default=(), repr=False)
    """Compiled sieves (`deid.rules.sieve`), and the numbers of their patterns, -1 for one that is not asked; none where
    nothing was compiled."""

    def search(self, text: str, ordinary: Callable[[str], bool] | None = None) -> list[Span]:
        """Return the spans of all patterns in a text; they may overlap.

        Parameters
        ----------
        text : str
        ordinary : callable, optional
            Tells of a match whether it is a word of ordinary or clinical language, which some patterns want none of.

        Raises
        ------
        DetectionError
            When a pattern takes too long.
        """
        patterns = self.patterns
        if not self.sieves:
            haystack = Haystack(text)
            return spans_of(text, [(p, None) for p in patterns if not p.needs or haystack.holds_one(p.needs)], ordinary)
        found = [
            (numbers[one], places)
            for sieve, numbers in self.sieves
            for one, places in sieve.places(text).items()
            if numbers[one] >= 0
        ]
        if len(self.sieves) > 1:
            found.sort(key=operator.itemgetter(0))
        pause("patterns")
        return spans_of(text, [(patterns[number], places) for number, places in found], ordinary)


def _sieves(
    patterns: Sequence[Pattern], shipped: Catalogue | None, *, keep: bool
) -> tuple[tuple[Any, tuple[int, ...]], ...]:
    """Return what is to sift for some patterns: where they are more than what ships, the sieve of that and one more.

    To compute the tables of all takes seconds, and they are kept between runs (``keep``) for what ships alone.
    """
    if native is None:
        return ()
    if shipped is None:
        return ((_sieve(patterns, keep=keep), tuple(range(len(patterns)))),)
    left: dict[tuple[object, ...], list[int]] = {}
    for number, pattern in enumerate(patterns):
        left.setdefault(_sifted(pattern), []).append(number)
    known = tuple(left[key].pop(0) if left.get(key) else -1 for key in map(_sifted, shipped.patterns))
    own = sorted(chain.from_iterable(left.values()))
    base = tuple((sieve, known) for sieve, _ in shipped.sieves)
    return (*base, (_sieve([patterns[n] for n in own], keep=False), tuple(own))) if own else base


def _sifted(pattern: Pattern) -> tuple[object, ...]:
    """Return what a sieve knows of a pattern; a user's lists may be part of one that ships."""
    return pattern.whole, pattern.case, tuple(pattern.needs)


def _sieve(patterns: Sequence[Pattern], *, keep: bool) -> Any:
    """Return the compiled sieve of some patterns; its tables may be kept between runs."""

    def make() -> tuple[bytes, ...]:
        return sieve_tables([(p.whole, not p.case) for p in patterns])

    texts = "\0".join(f"{p.case:d}{p.whole}" for p in patterns).encode()
    code = (Path(str(room.__file__)).read_bytes() for room in _SIEVE_CODE)
    rows = cached("sieve", (*code, texts), make) if keep else make()
    return native.Sieve(*rows, *needs_tables([p.needs for p in patterns]))


def load_catalogue(language: str, folders: Sequence[Path] = ()) -> Catalogue:
    """Return the patterns of a language, checked.

    Parameters
    ----------
    language : str
        Name of a folder under ``dictionaries/patterns``.
    folders : sequence of Path
        Dictionary folders of the user's own; their files add to the shipped ones.

    Raises
    ------
    ConfigError
        When an entry is malformed, names an unknown category or check, cannot fire, or (in the user's own files) fails
        its golden cases.
    """
    return _load(language, tuple(folders))


@functools.lru_cache(maxsize=8)
def _load(language: str, folders: tuple[Path, ...]) -> Catalogue:
    files = list(load_catalogues("patterns", language, folders))
    define: dict[str, str] = {}
    shared: dict[str, str] = {}
    for path, content in files:
        known = shared if path.name == ALL_LANGUAGES else define
        for key, value in content.get("define", {}).items():
            if key in known or not isinstance(value, str):
                raise _error(path, f"definition {key} is defined twice or is no text")
            known[key] = value
    define = {**shared, **define}  # a language may say otherwise what all have
    items: list[Item] = []
    own: list[Item] = []
    for path, content in files:
        unknown = content.keys() - _READERS.keys() - TABLES - {"define"}
        if unknown:
            raise _error(path, f"unknown tables: {', '.join(sorted(unknown))}")
        for table, read in _READERS.items():
            for number, entry in enumerate(content.get(table, ()), 1):
                reader = _Reader(path, f"{table} {number}", entry, define, folders)
                item = read(reader)
                if any(item.name == known.name for known in items):
                    raise _error(path, f"the name {item.name} is used twice")
                reader.finish()
                items.append(item)
                if reader.own:
                    own.append(item)

    def of(kind: type[_Item]) -> tuple[_Item, ...]:
        return tuple(item for item in items if isinstance(item, kind))

    separator = _expand(define.get("separator", r"[ \t]*:?[ \t]*"), define, folders, Path("define"))
    read_lists = of(Field), of(ListRule), of(PersonField), of(Cue), of(Segment), of(HeadRule)
    ships = (resource_folder("dictionaries") / "patterns" / language).is_dir()
    shipped = _load(language, ()) if folders and ships else None
    if not folders:
        values = [*(f.expression for f in of(Field)), *(h.expression for h in of(HeadRule))]
        told = [(pattern.context, pattern.unless) for pattern in of(Pattern)]
        told += [(rule.context, rule.unless) for rule in of(ListRule)]
        values += [words_text(near.words) for near in chain.from_iterable(told) if near]
        keep_compiled([*((p.whole, p.case) for p in of(Pattern)), *((value, False) for value in values)])
    sieves = _sieves(of(Pattern), shipped, keep=not folders)
    catalogue = Catalogue(language, of(Pattern), *read_lists, separator, folders, sieves)
    for item in own:
        check_golden(item, catalogue)
    return catalogue


def _error(path: Path, what: str) -> ConfigError:
    return ConfigError(what, "see docs/rules.md for what a pattern may say", "/".join(path.parts[-3:]))


def _phrase_expression(phrase: str) -> str:
    """Return the expression of a folded phrase: any white space between words, any apostrophe."""
    words = (regex.escape(word, special_only=True) for word in phrase.split())
    return r"\s{1,3}".join(words).replace("'", "['\u2019]")


def _expand(expression: str, define: Mapping[str, str], folders: Sequence[Path], path: Path, depth: int = 0) -> str:
    """Replace the placeholders of an expression."""

    def piece(found: Any) -> str:
        name = found[1]
        if name.startswith("list:"):
            items = load_dictionary(name.removeprefix("list:"), folders).phrases
            ordered = sorted(items, key=lambda i: (-len(i), i))
            return "(?:" + "|".join(map(_phrase_expression, ordered)) + ")"
        if name not in define or depth > 4:
            raise _error(path, f"the placeholder {name} is not defined, or is defined by itself")
        return f"(?:{_expand(define[name], define, folders, path, depth + 1)})"

    return _PLACEHOLDER.sub(piece, expression)


class _Reader:
    """Takes the keys of one entry and reports what is wrong with it."""

    def __init__(self, path: Path, place: str, entry: Any, define: Mapping[str, str], folders: Sequence[Path]) -> None:
        self.path, self.place, self.define, self.folders = path, place, define, folders
        if not isinstance(entry, dict):
            raise self.wrong("is not a table")
        self.left = dict(entry)
        if isinstance(entry.get("name"), str):
            self.place = f"{place} ({entry['name']})"

    @property
    def own(self) -> bool:
        """Whether the entry stands in a file of the user's own."""
        return any(folder in self.path.parents for folder in self.folders)

    def wrong(self, what: str) -> ConfigError:
        return _error(self.path, f"{self.place} {what}")

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        if key not in self.left:
            if default is None:
                raise self.wrong(f"has no {key}")
            return default
        value = self.left.pop(key)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind):
            raise self.wrong(f"has a {key} that is not of type {kind.__name__}")
        return value

    def strings(self, key: str, required: bool = False) -> tuple[str, ...]:
        values = self.take(key, list, None if required else [])
        if not all(isinstance(v, str) and v for v in values) or (required and not values):
            raise self.wrong(f"has a {key} that is not a list of texts")
        return tuple(values)

    def category(self) -> str:
        value: str = self.take("category", str)
        if value not in _CATEGORIES:
            raise self.wrong(f"has the unknown category {value}; known: {', '.join(sorted(_CATEGORIES))}")
        return value

    def certainty(self, default: float | None = None) -> float:
        value: float = self.take("certainty", float, default)
        if not 0.0 <= value <= 1.0:
            raise self.wrong("has a certainty outside 0..1")
        return value

    def check(self) -> str:
        value: str = self.take("check", str, "")
        if value and value not in CHECKS:
            raise self.wrong(f"has the unknown check {value}; known: {', '.join(CHECKS)}")
        return value

    def expression(self, key: str) -> str:
        source = _expand(self.take(key, str), self.define, self.folders, self.path)
        if not self.own:
            return source  # compiled when it is used; the tests compile those that ship
        try:
            empty = regex.compile(source).fullmatch("")
        except regex.error as error:
            raise self.wrong(f"has a {key} that is no regular expression ({error.msg})") from None
        if empty:
            raise self.wrong(f"has a {key} that matches the empty text")
        return source

    def anchor(self) -> str:
        name: str = self.take("anchor", str, "")
        if not name or name in ANCHORS:
            return ANCHORS.get(name, "")
        return "(?=(?i:" + _expand("{{anchor_" + name + "}}", self.define, self.folders, self.path) + "))"

    def context(self, key: str) -> Context | None:
        table = self.take(key, dict, {})
        if not table:
            return None
        reader = _Reader(self.path, f"{self.place}, {key}", table, self.define, self.folders)
        words = reader.strings("words", required=True)
        found = Context(words, reader.take("before", int, 40), reader.take("after", int, 0), reader.certainty(0.0))
        reader.finish()
        return found

    def entry(self, kind: type, expression: str = "") -> Any:
        """Return an entry whose keys are the fields of ``kind``; its expression stands under a key of its own."""
        own = (one for one in dataclasses.fields(kind) if one.init)
        return kind(**{one.name: self._value(one.name, one.default, expression) for one in own})

    def _value(self, name: str, default: Any, expression: str) -> Any:
        match name:
            case "name":
                return self.take(name, str)
            case "category" | "check" | "anchor":
                return getattr(self, name)()
            case "context" | "unless":
                return self.context(name)
            case "expression":
                return self.expression(expression)
            case "certainty":
                return self.certainty(None if default is dataclasses.MISSING else default)
            case "guarded":
                return self.own
        if isinstance(default, bool):
            return self.take(name, bool, default)
        return self.strings(name, required=name in ("labels", "lists", "match"))

    def finish(self) -> None:
        if self.left:
            raise self.wrong(f"has unknown keys: {', '.join(sorted(self.left))}")


def _pattern(reader: _Reader) -> Pattern:
    pattern: Pattern = reader.entry(Pattern, "regex")
    if pattern.certainty == 0 and (pattern.context is None or pattern.context.certainty == 0):
        raise reader.wrong("cannot fire: its certainty is 0 and no context raises it")
    if any(n != n.lower() for n in pattern.needs):
        raise reader.wrong("cannot fire: needs is compared with the text in lower case")
    return pattern


def _cue(reader: _Reader) -> Cue:
    cue = Cue(reader.take("name", str), reader.strings("words", required=True))
    if cue.name not in CUES:
        raise reader.wrong(f"has a name that no grammar asks for; known: {', '.join(CUES)}")
    return cue


def _segment(reader: _Reader) -> Segment:
    name = reader.take("name", str)
    fields: dict[int, str] = {}
    for key, value in reader.take("fields", dict).items():
        if not key.isdecimal() or (value not in _CATEGORIES and value not in PARTS):
            raise reader.wrong("has fields that are not number = category, address, location or staff")
        fields[int(key)] = value
    return Segment(name, fields)


Item = Pattern | Field | HeadRule | ListRule | PersonField | Cue | Segment
_READERS: dict[str, Callable[[_Reader], Item]] = {
    "pattern": _pattern,
    "field": lambda reader: reader.entry(Field, "value"),
    "list": lambda reader: reader.entry(ListRule),
    "head": lambda reader: reader.entry(HeadRule, "value"),
    "person_field": lambda reader: reader.entry(PersonField),
    "cue": _cue,
    "segment": _segment,
}


def check_golden(item: Item, catalogue: Catalogue) -> None:
    """Run the golden cases of an entry.

    Raises
    ------
    ConfigError
        When a marked span is not found, or something else is.
    """
    if isinstance(item, PersonField | Cue | Segment):
        return  # what stands around them is read by the grammars, and tested with them
    for number, case in enumerate((*item.match, *item.no_match), 1):
        text, expected = _unmark(case)
        if (number <= len(item.match)) != bool(expected):
            raise ConfigError(f"{item.name}: case {number} must (not) mark a span with [[ ]]", "see docs/rules.md")
        if isinstance(item, Pattern):
            spans = item.find(Haystack(text))
        else:
            fields = (item,) if isinstance(item, Field) else ()
            lists = (item,) if isinstance(item, ListRule) else ()
            heads = (item,) if isinstance(item, HeadRule) else ()
            elided = load_vocabulary(catalogue.language, catalogue.folders).words["elided"]
            finder = LabelFinder(fields, lists, (), (), catalogue.separator, catalogue.folders, heads, elided)
            spans = finder.find(view_of(text)).spans
        found = [(s.start, s.end) for s in spans if (s.score or 0) >= 0.5]
        if found != expected:
            raise ConfigError(
                f"{item.name}: golden case {number} expects spans at {expected}, found {found}",
                "correct the expression or the case",
            )


def _unmark(case: str) -> tuple[str, list[tuple[int, int]]]:
    """Take the marks out of a golden case."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    length = last = 0
    for mark in _MARK.finditer(case):
        before = case[last : mark.start()]
        length += len(before)
        spans.append((length, length + len(mark[1])))
        pieces += [before, mark[1]]
        length += len(mark[1])
        last = mark.end()
    pieces.append(case[last:])
    return "".join(pieces), spans
