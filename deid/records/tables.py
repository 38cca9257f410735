"""What stands where in the records of a standard: data of ``dictionaries/records/``, and a site's own lines over it.

A line says of a field what it is and why: ``7 = ["DTM", "birth date"]``. What it is: ``keep``; ``code`` and ``number``,
kept where it looks like one and free text otherwise; ``text``; ``data``, a document in base64; ``blocked``; a category
of identifiers; a data type, with the category for its ``*`` behind it; ``by N``, as the type in field N says. What no
line names is blocked.

Standards of trees name their elements: ``birthDate = ["date", "birth date"]``, several of one kind with blanks between
(``"status intent"``); ``contact.name`` is a line of an element's own parts; ``value[x]`` stands for the element with
each data type behind its name, and ``typed`` for that type; ``by a b *`` is the type that element a says, else b, else
the ``*``; what else the reader of a standard understands is in ``[kinds]``.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, require, told_of
from deid.base.files import read_toml
from deid.base.resources import resource_folder
from deid.phi import CATEGORIES
from deid.records.readings import SHAPES
from deid.records.record import BLOCKED, TEXT

KEEP, CODE, NUMBER, RANGE, DATA = "keep", "code", "number", "range", "data"
KINDS = (KEEP, CODE, NUMBER, RANGE, TEXT, DATA, BLOCKED)
"""What a place can be, beside a category, a data type and ``by N``."""
_AMOUNT = r"(?:[0-9]{1,3}|[0-9]{1,4}\.[0-9]{1,3})"
_FORMS = {
    CODE: re.compile(r"[^\s\x00-\x1f]{1,40}\Z"),
    NUMBER: re.compile(r"[0-9<>=.,:+\-/^&% *eE]+\Z"),
    RANGE: re.compile(rf"(?:[<>]=? ?)?{_AMOUNT}(?: ?- ?{_AMOUNT})?\Z"),  # no telephone, no day with its year
}
"""What places of codes and of measurements may hold; all else in them is text."""
DISPLAY = "display"
"""What a code says; a kind of those standards that have codes."""
LISTED = "listed"
"""A code of a list; a kind of HL7 v2."""
_SAID = re.compile(r"[0-9]{5,}|[0-9]{1,4}[/-][0-9]{1,2}[/-][0-9]|[0-9]{3}[-. ][0-9]{3}|@")
"""What is no part of what a code of a standard says."""
_RANGE = re.compile(r"([1-9][0-9]?)(?:-([1-9][0-9]?))?\Z")
_NAME = re.compile(r"[A-Z][A-Z0-9]{2}\Z")
_ALL = "ALL"
_EVERY = "*"
"""The lines under this name hold for all resources, or for all data types with parts."""
_TYPED, _OPEN = "typed", "[x]"
_SECTIONS = ("segments", "resources", "elements", "tables")
"""What a standard may call what has lines; of segments the lines are numbers, of all others names."""
_JOINED = frozenset(CATEGORIES) - {"DATE"}
"""Identifiers of which several components are one, as of a name."""
_NESTED = 3


@dataclass(frozen=True, slots=True)
class By:
    """A place whose data type another field of its segment says."""

    field: int


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A data type: what its components are."""

    parts: Mapping[int, tuple[Rule, int, int]]
    """Component -> what it is, and the first and the last component that are one with it, as of a name."""
    unnamed: bool
    """Whether the second and third component are neither names nor any other identifier, nor a document's type."""
    numbered: bool = False
    """Whether the first component is an identifier, as of a telephone."""
    texts: frozenset[int] = frozenset()
    """Components that are free text: whatever stands there is at its place."""


@dataclass(frozen=True, slots=True)
class ByName:
    """A place whose data type other elements beside it say."""

    names: tuple[str, ...] = field(repr=False)
    otherwise: str
    """What it is when they name none."""


@dataclass(frozen=True, slots=True)
class Inner:
    """A data type of a tree: its elements are looked up when they are met, for such types hold each other."""

    name: str
    star: str


Rule = str | By | Parts | ByName | Inner
"""What a place is: a kind, a category, a data type, or what another field says."""


@dataclass(frozen=True)
class Line:
    """What a table says of some fields, components or elements."""

    keys: tuple[int, ...] | tuple[str, ...]
    kind: str
    reason: str

    @property
    def span(self) -> str:
        """The fields, as a table writes them."""
        first, last = self.keys[0], self.keys[-1]
        return " ".join(map(str, self.keys)) if first == last or isinstance(first, str) else f"{first}-{last}"


@dataclass(frozen=True, eq=False)
class Table:
    """What stands where in the records of one standard."""

    name: str
    section: str
    """What the standard calls what has lines, such as segments."""
    types: Mapping[str, tuple[Line, ...]] = field(repr=False)
    defaults: Mapping[str, str] = field(repr=False)
    """Data type -> what its ``*`` stands for where no category is named."""
    heads: Mapping[str, tuple[Line, ...]] = field(repr=False)
    """Segment, resource or element -> its lines."""
    fields: Mapping[str, int] = field(repr=False)
    """Segment -> number of its fields in the standard."""
    kinds: Mapping[str, str] = field(repr=False)
    """Further kinds of places -> what is done with them."""
    facts: Mapping[str, Any] = field(repr=False)
    """Other facts: what is the patient's key, what a date refers to."""
    charsets: Mapping[str, str] = field(repr=False)
    _rules: dict[Any, Mapping[Any, Rule]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _of_types: dict[tuple[str, str], Rule] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def named(self) -> bool:
        """Whether lines are about names, not numbers."""
        return self.section != "segments"

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """All elements that lines name."""
        keys = {key for lines in (*self.heads.values(), *self.types.values()) for e in lines for key in e.keys}
        names = [key for key in keys if isinstance(key, str)]
        return frozenset((*names, *(typed(k, n) for k in names if k.endswith(_OPEN) for n in self.types)))

    def lines(self, name: str) -> tuple[Line, ...]:
        """Return the lines of a segment, resource, element or data type.

        Raises
        ------
        ConfigError
            When there is no such name.
        """
        lines = self.heads.get(name, self.types.get(name))
        if lines is None:
            raise ConfigError("the table has no such name", f"deid records show {self.name} lists them all")
        return lines

    def overview(self) -> list[str]:
        """Return what has lines, and which kinds there are, for a terminal."""
        return [
            f"{self.section}: {' '.join(sorted(self.heads))}",
            f"data types: {' '.join(sorted(self.types))}",
            f"kinds: {' '.join((*KINDS, *self.kinds))}, a category, a data type (with the category of its *), by N",
        ]

    def shown(self, name: str) -> list[str]:
        """Return the lines of a name for a terminal; errors as those of `lines`."""
        between, wide, kind = (".", 24, 28) if self.named else ("-", 8, 20)
        told = [
            f"{name}{between}{span:<{wide - 1}} {line.kind:<{kind}}{line.reason}"
            for line in self.lines(name)
            for span in (line.keys if self.named else (line.span,))
        ]
        rest = ["all else   blocked             no line names it: nobody examines it, and it is not passed on"]
        return told + (rest if name in self.heads else [])

    def rules(self, head: str) -> Mapping[Any, Rule]:
        """Return field -> rule of a segment, element -> rule of a resource; empty for one that no line names."""
        if head not in self.heads:  # such names come from records, and would fill the memory
            return {}
        if head not in self._rules:
            self._rules[head] = self._each(self.heads[head], "")
        return self._rules[head]

    def parts(self, inner: Inner) -> Mapping[str, Rule]:
        """Return element -> rule of a data type of a tree."""
        if inner not in self._rules:
            self._rules[inner] = self._each(self.types[inner.name], inner.star)
        return self._rules[inner]

    def _each(self, lines: Iterable[Line], star: str) -> dict[Any, Rule]:
        found: dict[Any, Rule] = {}
        for line in lines:
            for key in line.keys:
                if isinstance(key, str) and key.endswith(_OPEN):
                    for name in filter(str.isalnum, self.types):
                        kind, _, category = line.kind.partition(" ")
                        said = f"{name} {category}".strip() if kind == _TYPED else line.kind
                        found.setdefault(typed(key, name), self.rule(said, star))
                else:
                    found[key] = self.rule(line.kind, star)
        return found

    def of_type(self, name: str, star: str = "") -> Rule | None:
        """Return the rule of a data type, None when there is no such type."""
        if name not in self.types:
            return None
        if (name, star) not in self._of_types:
            self._of_types[name, star] = self.rule(f"{name} {star}".strip())
        return self._of_types[name, star]

    def rule(self, said: str, star: str = "") -> Rule:
        """Return the rule that a line says.

        Parameters
        ----------
        said : str
            Such as ``keep``, ``DATE``, ``XPN PATIENT``, ``by 2``.
        star : str
            What ``*`` stands for.
        """
        kind, _, category = said.partition(" ")
        if kind == "by":
            names = category.split()
            if not self.named:
                return By(int(category))
            return ByName(tuple(n for n in names if n != "*"), star or BLOCKED if "*" in names else BLOCKED)
        if kind == "*":
            return star
        category = star if category == "*" else category
        lines = self.types.get(kind)
        if lines is None:
            return kind
        category = category or self.defaults.get(kind, "IDNUM")
        if lines[0].keys == (_ALL,):
            return kind if lines[0].kind == kind else self.rule(lines[0].kind, category)
        if self.named:
            return Inner(kind, category)
        parts: dict[int, tuple[Rule, int, int]] = {}
        for line in lines:
            rule, keys = self.rule(line.kind, category), [n for n in line.keys if isinstance(n, int)]
            for n in keys:
                parts[n] = (rule, keys[0], keys[-1]) if rule in _JOINED else (rule, n, n)
        inner = [parts[n][0] if n in parts else "" for n in (2, 3)]
        unnamed = all(rule in (*_FORMS, KEEP, TEXT, BLOCKED, DISPLAY, LISTED) for rule in inner)
        first = parts[1][0] if 1 in parts else ""
        texts = frozenset(n for n, (rule, _, _) in parts.items() if rule == TEXT)
        unnamed = unnamed and all(rule != DATA for rule, _, _ in parts.values())
        return Parts(parts, unnamed, first in CATEGORIES, texts)


def typed(key: str, name: str) -> str:
    """Return the element of one data type: ``valueString`` of ``value[x]`` and ``string``."""
    return f"{key.removesuffix(_OPEN)}{name[:1].upper()}{name[1:]}"


def kept_as(kind: str, text: str) -> str:
    """Return what a place of codes or numbers is by what it holds.

    Parameters
    ----------
    kind : str
        `CODE`, `NUMBER`, `RANGE`; any other is returned as it is.
    text : str

    Returns
    -------
    str
        `KEEP` where the text reads as one, the category of an identifier that it is by its shape, else `TEXT`.
    """
    if kind not in _FORMS:
        return kind
    if found := SHAPES.match(text):
        return str(found.lastgroup)
    return KEEP if _FORMS[kind].match(text) else TEXT


@functools.lru_cache(maxsize=1 << 14)
def display_as(text: str, *, of_standard: bool) -> str:
    """Return what the words beside a code are.

    Parameters
    ----------
    text : str
    of_standard : bool
        Whether the code is of a standard's system: its words are no person's, unless somebody typed more.

    Returns
    -------
    str
        `KEEP` or `TEXT`.
    """
    if not of_standard or _SAID.search(text):
        return TEXT
    return KEEP if titles().isdisjoint(re.findall(r"\w+", text.lower())) else TEXT


@functools.lru_cache(maxsize=1 << 14)
def kept_words(text: str) -> str:
    """Return what a value is that a line keeps: `KEEP`, but for an identifier by its shape, and words with a title, a
    day or a long number, which are `TEXT`.
    """
    if (shape := kept_as(CODE, text)) in CATEGORIES:
        return shape
    return display_as(text, of_standard=True) if " " in text else KEEP


@functools.lru_cache(maxsize=16)
def words_of(text: str) -> frozenset[str]:
    """Return the words of a fact of a table."""
    return frozenset(text.split())


@functools.cache
def titles(*, behind: bool = False) -> frozenset[str]:
    """Return titles before names in small letters; with ``behind``, what stands behind them too, such as ``md``."""
    names = ("titles", "titles_doctor", *(("credentials",) if behind else ()))
    folder = resource_folder("dictionaries") / "names"
    return frozenset(w for name in names for w in (folder / name / "items.txt").read_text("utf-8").lower().split())


@functools.lru_cache(maxsize=8)
def load_table(name: str, site: Path | None = None) -> Table:
    """Return the table of a standard, with a site's lines over it.

    Parameters
    ----------
    name : str
        File in ``dictionaries/records``, such as ``hl7v2``.
    site : Path, optional
        A TOML file with ``[segments.XYZ]`` (``[resources.Xyz]``) and ``[types.XYZ]``; its lines stand instead of the
        shipped ones of the same fields.

    Raises
    ------
    ConfigError
        When a file cannot be read, a line names what the standard does not have or what nothing can be done with, or
        two lines of a file contradict each other; says which line.
    """
    folder = resource_folder("dictionaries") / "records"
    require(name in standards(), "there is no table for such records", f"there are: {', '.join(standards())}")
    shipped = _read(folder / f"{name}.toml", None)
    return shipped if site is None else _read(site, shipped)


def standards() -> tuple[str, ...]:
    """Return the names of the shipped tables."""
    return tuple(sorted(path.stem for path in (resource_folder("dictionaries") / "records").glob("*.toml")))


def _read(path: Path, below: Table | None) -> Table:
    said = read_toml(path, "it is a table of places, see docs/hl7v2.md")
    with told_of(str(path), ConfigError):
        return _check(said, path.stem, below)


def _check(said: Mapping[str, Any], name: str, below: Table | None) -> Table:
    section = below.section if below else next((part for part in _SECTIONS if part in said), _SECTIONS[0])
    known = {section, "types"} | (set() if below else {"standard", "record", "charsets", "kinds"})
    if extra := sorted(said.keys() - known):
        raise ConfigError(f"there is no section {extra[0]}", f"sections: {', '.join(sorted(known))}")
    named = section != "segments"
    heads = dict(below.heads) if below else {}
    types = dict(below.types) if below else {}
    defaults = dict(below.defaults) if below else {}
    sizes = dict(below.fields) if below else {}
    kinds = below.kinds if below else said.get("kinds", {})
    own_types, own_heads = (_section(said, part) for part in ("types", section))
    if named:
        for part, own, shipped in (("types", own_types, types), (section, own_heads, heads)):
            for head in list(own):
                own[head] = _flat(own[head], head, f"{part}.{head}", own_types, types, shipped.get(head, ()))
    known_kinds = (*KINDS, *kinds, *sorted({*types, *own_types}), *CATEGORIES)
    for kind, lines in own_types.items():
        lines = dict(lines)
        default = lines.pop("default", None)
        if default is not None:
            if default not in (*CATEGORIES, TEXT):
                raise _unknown(str(default), CATEGORIES, f"types.{kind} default")
            defaults[kind] = default
        read = _lines(lines, f"types.{kind}", known_kinds, inner=True, named=named)
        if below and kind in below.types:
            _of_standard(read, below.types[kind], f"types.{kind}", types)
        types[kind] = _over(types.get(kind, ()), read)
    if not named:
        for kind in own_types:
            _no_circle(types, kind, ())
    for head, lines in own_heads.items():
        lines = dict(lines)
        where = f"{section}.{head}"
        if not named and not _NAME.match(head):
            raise ConfigError(
                "this is no name of a segment", "three capital letters or digits, as in ZPI", position=where
            )
        size = None if named else lines.pop("fields", None)
        if below is None:
            if not named:
                sizes[head] = int(size or 0)
        elif size is not None:
            raise ConfigError("how many fields a segment has, the standard says", "leave out fields", position=where)
        elif head not in heads and (":" not in head if named else head[0] != "Z"):
            raise ConfigError(
                f"the standard's table has no such {section.removesuffix('s')}",
                _near(head, heads, f"a site's own {'have a colon' if named else 'begin with Z'}"),
                "",
                where,
            )
        read = _lines(lines, where, known_kinds, inner=False, named=named, size=sizes.get(head))
        if below and head in below.heads:
            _of_standard(read, below.heads[head], where, types)
        heads[head] = _over(heads.get(head, ()), read)
    for held, own in ((types, own_types), (heads, own_heads)) if named else ():
        for head in held if _EVERY in own else ():
            if head != _EVERY and held[head][0].keys != (_ALL,):
                held[head] = _over(held[head], held[_EVERY]) if below else _over(held[_EVERY], held[head])
    return Table(
        below.name if below else name,
        section,
        types,
        defaults,
        heads,
        sizes,
        kinds,
        below.facts if below else said.get("record", {}),
        below.charsets if below else said.get("charsets", {}),
    )


def _flat(
    lines: Mapping[str, Any],
    name: str,
    where: str,
    own: dict[str, Mapping[str, Any]],
    types: Mapping[str, tuple[Line, ...]],
    below: Sequence[Line],
) -> dict[str, Any]:
    """Return lines in which an element with lines of its own is of a data type of its own; those go into ``own``."""
    found: dict[str, Any] = {}
    for key, line in lines.items():
        if not isinstance(line, dict):
            found[key] = line
            continue
        inner = f"{name}.{key}"
        kind, _, category = next((e.kind for e in below if key in e.keys), inner).partition(" ")
        base: dict[str, Any] = {}
        if kind != inner:  # the type is another's too: these are lines over a copy of it
            base = {
                str(k): [e.kind.replace("*", category or "*"), e.reason] for e in types.get(kind, ()) for k in e.keys
            }
            base.pop(_ALL, None)
        parts = _flat(line, inner, f"{where}.{key}", own, types, types.get(kind, ()))
        if unknown := sorted(parts.keys() - base.keys()) if base else []:
            raise ConfigError("the standard has no such element", _near(unknown[0], base, ""), "", f"{where}.{key}")
        own[inner] = base | parts
        found[key] = [inner, "its parts have lines of their own"]
    return found


def _of_standard(own: Sequence[Line], below: Sequence[Line], where: str, types: Iterable[str]) -> None:
    """Raise where a site's line names an element that the standard does not have."""
    known = {str(key) for line in below for key in line.keys} | {_ALL}
    opened = [key for key in known if key.endswith(_OPEN)]
    known.update(typed(key, name) for key in opened for name in types)
    for line in own:
        for key in line.keys:
            if isinstance(key, str) and key not in known and ":" not in key and known != {_ALL}:
                raise ConfigError(
                    "the standard has no such element",
                    _near(key, known, "a site's own have a colon in their names"),
                    "",
                    f"{where} {key}",
                )


def _section(said: Mapping[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    section = said.get(name, {})
    if not isinstance(section, dict) or not all(isinstance(lines, dict) for lines in section.values()):
        raise ConfigError(f"{name} is no table of tables", f"write [{name}.XYZ] and lines below it")
    return dict(section)


def _lines(
    said: Mapping[str, Any], where: str, kinds: Sequence[str], *, inner: bool, named: bool, size: int | None = None
) -> tuple[Line, ...]:
    """Read and check the lines of a segment, a resource or a data type."""
    found: dict[int | str, str] = {}
    lines = []
    for span, line in said.items():
        at = f"{where} {span}"
        keys = _keys(span, size, at, inner=inner, named=named)
        if not (isinstance(line, list) and len(line) == 2 and all(isinstance(s, str) and s for s in line)):
            raise ConfigError('a line is not of the form ["kind", "reason"]', "say what it is, and why", position=at)
        twice = found.get(_ALL) or next((found[key] for key in keys if key in found), "")
        if twice or (keys == (_ALL,) and found):
            twice = twice or next(iter(found.values()))
            raise ConfigError(f"the lines {twice} and {span} are about the same", "leave one of them", position=at)
        found.update(dict.fromkeys(keys, span))
        _check_kind(line[0], kinds, at, inner=inner, named=named, opened=span.endswith(_OPEN))
        lines.append(Line(keys, *line))
    return tuple(lines) if named else tuple(sorted(lines, key=lambda line: line.keys[:1]))


def _keys(span: str, size: int | None, at: str, *, inner: bool, named: bool) -> tuple[int, ...] | tuple[str, ...]:
    if named or (inner and span == _ALL):
        if not (keys := tuple(span.split())) or len(set(keys)) < len(keys):
            raise ConfigError("this is no name of an element", "write each once, with blanks between", position=at)
        return keys
    if not (matched := _RANGE.match(span)):
        raise ConfigError("this is no field", "write its number, or a range such as 3-5", position=at)
    first, last = int(matched[1]), int(matched[2] or matched[1])
    if last < first or last > (size or last):
        raise ConfigError(f"the standard has {size or 'no such'} fields here", "look at the number", position=at)
    return tuple(range(first, last + 1))


def _check_kind(said: str, kinds: Sequence[str], at: str, *, inner: bool, named: bool, opened: bool) -> None:
    kind, _, category = said.partition(" ")
    if kind == "by" and (bool(category) if named else not inner and _RANGE.match(category) and "-" not in category):
        return
    stars = ("*",) if inner else ()
    if kind not in (*kinds, *stars, *((_TYPED,) if opened else ())):
        raise _unknown(kind, kinds, at)
    plain = kind in (*KINDS, *CATEGORIES, *stars)
    if category and (plain or category not in (*CATEGORIES, *stars, *((TEXT, KEEP) if named else ()))):
        raise _unknown(said if plain else category, CATEGORIES, at)


def _unknown(said: str, known: Sequence[str], at: str) -> ConfigError:
    return ConfigError(f"nothing is called {said!r} here", _near(said, known, f"there are {', '.join(known)}"), "", at)


def _near(said: str, known: Any, otherwise: str) -> str:
    close = difflib.get_close_matches(said, list(known), 1)
    return f"did you mean {close[0]}? Else: {otherwise}" if close else otherwise


def _over(below: tuple[Line, ...], own: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return lines with others over them."""
    taken = {key for line in own for key in line.keys}
    if not taken or not below:
        return own or below
    if _ALL in taken or below[0].keys == (_ALL,):
        return own
    rest = [Line((key,), e.kind, e.reason) for e in below for key in e.keys if key not in taken]  # type: ignore[arg-type]
    return (
        (*own, *rest) if isinstance(next(iter(taken)), str) else tuple(sorted((*own, *rest), key=lambda e: e.keys[:1]))
    )


def _no_circle(types: Mapping[str, tuple[Line, ...]], kind: str, above: tuple[str, ...]) -> None:
    if kind in above or len(above) > _NESTED:
        raise ConfigError(
            "data types are nested in a circle, or too deep", "a component has no parts of parts", "", f"types.{kind}"
        )
    for line in types.get(kind, ()):
        inner = line.kind.partition(" ")[0]
        if inner in types:
            _no_circle(types, inner, (*above, kind))
