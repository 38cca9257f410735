"""What stands where in the records of a standard: data of ``dictionaries/records/``, and a site's own lines over it.

A line says of a field what it is and why: ``7 = ["DTM", "birth date"]``. What it is: ``keep``; ``code`` and ``number``,
kept where it looks like one and free text otherwise; ``text``; ``data``, a document in base64; ``blocked``; a category
of identifiers; a data type, with the category for its ``*`` behind it; ``by N``, as the type in field N says. What no
line names is blocked.
"""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError
from deid.base.resources import resource_folder
from deid.phi import CATEGORIES
from deid.records.record import BLOCKED, TEXT

KEEP, CODE, NUMBER, DATA = "keep", "code", "number", "data"
KINDS = (KEEP, CODE, NUMBER, TEXT, DATA, BLOCKED)
"""What a place can be, beside a category, a data type and ``by N``."""
_RANGE = re.compile(r"([1-9][0-9]?)(?:-([1-9][0-9]?))?\Z")
_NAME = re.compile(r"[A-Z][A-Z0-9]{2}\Z")
_ANY = 999
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


Rule = str | By | Parts
"""What a place is: a kind, a category, a data type, or what another field says."""


@dataclass(frozen=True)
class Line:
    """What a table says of some fields or components."""

    first: int
    last: int
    kind: str
    reason: str

    @property
    def span(self) -> str:
        """The fields, as a table writes them."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Table:
    """What stands where in the records of one standard."""

    name: str
    types: Mapping[str, tuple[Line, ...]] = field(repr=False)
    defaults: Mapping[str, str] = field(repr=False)
    """Data type -> what its ``*`` stands for where no category is named."""
    segments: Mapping[str, tuple[Line, ...]] = field(repr=False)
    fields: Mapping[str, int] = field(repr=False)
    """Segment -> number of its fields in the standard."""
    facts: Mapping[str, Any] = field(repr=False)
    """Other facts: what is the patient's key, what a date refers to."""
    charsets: Mapping[str, str] = field(repr=False)
    _rules: dict[str, dict[int, Rule]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _of_types: dict[str, Rule] = field(default_factory=dict, init=False, repr=False, compare=False)

    def rules(self, segment: str) -> Mapping[int, Rule]:
        """Return field -> rule of a segment; empty for a segment that no line names."""
        found = self._rules.get(segment)
        if found is None:
            found = {n: self.rule(e.kind) for e in self.segments.get(segment, ()) for n in range(e.first, e.last + 1)}
            if segment in self.segments:  # unknown names come from records, and would fill the memory
                self._rules[segment] = found
        return found

    def of_type(self, name: str) -> Rule | None:
        """Return the rule of a data type, None when there is no such type."""
        if name not in self.types:
            return None
        if name not in self._of_types:
            self._of_types[name] = self.rule(name)
        return self._of_types[name]

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
            return By(int(category))
        category = star if category == "*" else category
        lines = self.types.get(kind)
        if lines is None:
            return star if kind == "*" else kind
        category = category or self.defaults.get(kind, "IDNUM")
        if len(lines) == 1 and lines[0].last == _ANY:
            return self.rule(lines[0].kind, category)
        parts: dict[int, tuple[Rule, int, int]] = {}
        for line in lines:
            rule = self.rule(line.kind, category)
            for n in range(line.first, line.last + 1):
                parts[n] = (rule, line.first, line.last) if rule in _JOINED else (rule, n, n)
        return Parts(parts)


@functools.lru_cache(maxsize=8)
def load_table(name: str, site: Path | None = None) -> Table:
    """Return the table of a standard, with a site's lines over it.

    Parameters
    ----------
    name : str
        File in ``dictionaries/records``, such as ``hl7v2``.
    site : Path, optional
        A TOML file with ``[segments.XYZ]`` and ``[types.XYZ]``; its lines stand instead of the shipped ones of the same
        fields.

    Raises
    ------
    ConfigError
        When a file cannot be read, a line names what the standard does not have or what nothing can be done with, or
        two lines of a file contradict each other; says which line.
    """
    folder = resource_folder("dictionaries") / "records"
    if name not in standards():
        raise ConfigError("there is no table for such records", f"there are: {', '.join(standards())}")
    shipped = _read(folder / f"{name}.toml", None)
    return shipped if site is None else _read(site, shipped)


def standards() -> tuple[str, ...]:
    """Return the names of the shipped tables."""
    return tuple(sorted(path.stem for path in (resource_folder("dictionaries") / "records").glob("*.toml")))


def _read(path: Path, below: Table | None) -> Table:
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise ConfigError(
            "the table of places cannot be read", "it is a TOML file, see docs/hl7v2.md", str(path)
        ) from None
    try:
        return _check(said, path.stem, below)
    except ConfigError as error:
        raise error.at(str(path)) from None


def _check(said: Mapping[str, Any], name: str, below: Table | None) -> Table:
    known = {"segments", "types"} | (set() if below else {"standard", "record", "charsets"})
    if extra := sorted(said.keys() - known):
        raise ConfigError(f"there is no section {extra[0]}", f"sections: {', '.join(sorted(known))}")
    types = dict(below.types) if below else {}
    defaults = dict(below.defaults) if below else {}
    sizes = dict(below.fields) if below else {}
    own_types, own_segments = _section(said, "types"), _section(said, "segments")
    known_types = types.keys() | own_types.keys()
    for kind, lines in own_types.items():
        lines = dict(lines)
        default = lines.pop("default", None)
        if default is not None:
            if default not in CATEGORIES:
                raise _unknown(str(default), CATEGORIES, f"types.{kind} default")
            defaults[kind] = default
        types[kind] = _over(types.get(kind, ()), _lines(lines, f"types.{kind}", known_types, _ANY, inner=True))
    for kind in own_types:
        _no_circle(types, kind, ())
    segments = dict(below.segments) if below else {}
    for segment, lines in own_segments.items():
        lines = dict(lines)
        where = f"segments.{segment}"
        if not _NAME.match(segment):
            raise ConfigError(
                "this is no name of a segment", "three capital letters or digits, as in ZPI", position=where
            )
        size = lines.pop("fields", None)
        if below is None:
            sizes[segment] = size
        elif size is not None:
            raise ConfigError("how many fields a segment has, the standard says", "leave out fields", position=where)
        elif segment not in sizes and segment[0] != "Z":
            raise ConfigError(
                "the standard's table has no such segment",
                _near(segment, sizes, "a site's own begin with Z"),
                "",
                where,
            )
        read = _lines(lines, where, known_types, sizes.get(segment, _ANY), inner=False)
        segments[segment] = _over(segments.get(segment, ()), read)
    return Table(
        below.name if below else name,
        types,
        defaults,
        segments,
        sizes,
        below.facts if below else said.get("record", {}),
        below.charsets if below else said.get("charsets", {}),
    )


def _section(said: Mapping[str, Any], name: str) -> Mapping[str, Mapping[str, Any]]:
    section = said.get(name, {})
    if not isinstance(section, dict) or not all(isinstance(lines, dict) for lines in section.values()):
        raise ConfigError(f"{name} is no table of tables", f"write [{name}.XYZ] and lines below it")
    return section


def _lines(
    said: Mapping[str, Any], where: str, types: frozenset[str] | set[str], size: int, *, inner: bool
) -> tuple[Line, ...]:
    """Read and check the lines of a segment or a data type."""
    found: list[Line] = []
    for span, line in said.items():
        at = f"{where} {span}"
        matched = _RANGE.match(span)
        if not matched and not (inner and span == "ALL"):
            raise ConfigError("this is no field", "write its number, or a range such as 3-5", position=at)
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, _ANY)
        if last < first or (matched and last > size):
            raise ConfigError(f"the standard has {size} fields here", "look at the number", position=at)
        if not (isinstance(line, list) and len(line) == 2 and all(isinstance(s, str) and s for s in line)):
            raise ConfigError('a line is not of the form ["kind", "reason"]', "say what it is, and why", position=at)
        if twice := next((e for e in found if e.first <= last and first <= e.last), None):
            raise ConfigError(f"the lines {twice.span} and {span} are about the same", "leave one of them", position=at)
        _check_kind(line[0], types, at, inner=inner)
        found.append(Line(first, last, *line))
    return tuple(sorted(found, key=lambda line: line.first))


def _check_kind(said: str, types: frozenset[str] | set[str], at: str, *, inner: bool) -> None:
    kind, _, category = said.partition(" ")
    if kind == "by" and not inner and _RANGE.match(category) and "-" not in category:
        return
    stars = ("*",) if inner else ()
    if kind not in (*KINDS, *CATEGORIES, *types, *stars):
        raise _unknown(kind, (*KINDS, *sorted(types), *CATEGORIES), at)
    if category and (kind not in types or category not in (*CATEGORIES, *stars)):
        raise _unknown(said, CATEGORIES, at)


def _unknown(said: str, known: tuple[str, ...], at: str) -> ConfigError:
    return ConfigError(f"nothing is called {said!r} here", _near(said, known, f"there are {', '.join(known)}"), "", at)


def _near(said: str, known: Any, otherwise: str) -> str:
    close = difflib.get_close_matches(said, list(known), 1)
    return f"did you mean {close[0]}? Else: {otherwise}" if close else otherwise


def _over(below: tuple[Line, ...], own: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return lines with others over them."""
    taken = {n for e in own for n in range(e.first, e.last + 1)}
    rest = [Line(n, n, e.kind, e.reason) for e in below for n in range(e.first, e.last + 1) if n not in taken]
    return tuple(sorted((*own, *(rest if taken else below)), key=lambda line: line.first))


def _no_circle(types: Mapping[str, tuple[Line, ...]], kind: str, above: tuple[str, ...]) -> None:
    if kind in above or len(above) > _NESTED:
        raise ConfigError(
            "data types are nested in a circle, or too deep", "a component has no parts of parts", "", f"types.{kind}"
        )
    for line in types.get(kind, ()):
        inner = line.kind.partition(" ")[0]
        if inner in types:
            _no_circle(types, inner, (*above, kind))
