"""Resources of FHIR R4 and R5 in JSON, read as places: strings where they stand, nothing serialized again.

A record is a resource, a Bundle, or a line of a bulk export. What its elements are stands in
``dictionaries/records/fhir-r4.toml``. White space, order, numbers and escapes stay as they are.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import functools
import hashlib
import html
import json
import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from deid.base.errors import DeidError, EncodingError, FormatError
from deid.records.record import (
    BLOCKED,
    CODE_FORM,
    LEAST_NUMBER,
    NAMES,
    NUMBER_FORM,
    TEXT,
    UUID,
    Change,
    Mark,
    Place,
    Record,
    assemble,
    changed,
    day_of,
    fit,
    known_of,
    splice,
    sweep,
)
from deid.records.tables import CODE, DATA, KEEP, NUMBER, ByName, Inner, Rule, Table

STANDARD = "fhir-r4"
_HINT = "repair the resource at its source, or leave it out"
_DEEPEST = 100
"""Levels of objects and arrays; real resources have about twenty."""
_SPACE = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_DATE = re.compile(r"([0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?)(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?\Z")
_TYPED = re.compile(r"(?:\A|/)([A-Z][A-Za-z]+)/([A-Za-z0-9.\-]{1,64})(?:/_history/([A-Za-z0-9.\-]{1,64}))?(?=\Z|[?#])")
_SEARCH = re.compile(r"(?:\A|/)([A-Z][A-Za-z]+)?\?|\A(?=[A-Za-z_:]+=)")
_PARAMETER = re.compile(r"([^&=?]+)=([^&]*)")
_NAMED = re.compile(r"[A-Z][A-Za-z]+\Z")
_MARKUP = re.compile(
    r"<!--(.*?)(?:-->|\Z)|<!\[CDATA\[|\]\]>|<([/!?]?)([A-Za-z][^\s/>]*)?((?:\"[^\"]*\"|'[^']*'|[^>\"'])*)>", re.S
)
_ATTRIBUTE = re.compile(r"([^\s=\"'/]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_INLINE = frozenset(
    ("a", "abbr", "b", "big", "code", "em", "font", "i", "small", "span", "strong", "sub", "sup", "tt", "u")
)
_CELLS = frozenset(("td", "th"))
_NUMBERS = frozenset(("IDNUM", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "DEVICE"))
_PERSONS = frozenset(("Patient", "RelatedPerson", "Practitioner", "Person"))
_REDACTED = (
    '{"system":"http://terminology.hl7.org/CodeSystem/v3-ObservationValue","code":"REDACTED","display":"redacted"}'
)
_MARKS = (b"%PDF", b"{\\rtf", b"PK\x03\x04")
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_BORDER = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:\s*"[A-Z][A-Za-z]+")?|[{}\[\]]', re.DOTALL)

OBJECT, ARRAY, STRING, OTHER = "object", "array", "string", "literal"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value of JSON and where it stands; of a string, its characters between the quotes."""

    kind: str
    start: int
    end: int
    value: Any = field(repr=False)


def begins(head: bytes) -> bool:
    """Tell whether bytes begin as a resource does: an object with a ``resourceType`` of its own."""
    if (found := _BEGINNING.match(head)) is None:
        return False
    depth = 1
    for sign in _BORDER.finditer(head, found.end()):
        if depth == 1 and sign[1] == b"resourceType" and sign[2]:
            return True
        depth += (sign[0] in b"{[") - (sign[0] in b"}]")
        if not depth:
            break
    return False


class Scanner:
    """Reads JSON into nodes.

    Parameters
    ----------
    source : str
        The characters; a byte order mark may lead.
    names : container of str
        Members that errors may name; all others could say anything.
    """

    def __init__(self, source: str, names: Container[str] = ()) -> None:
        self.source, self.names = source, names
        self.where: list[str] = []

    def root(self) -> Node:
        """Return the one value of the source.

        Raises
        ------
        FormatError
            When it is no JSON, or has an object with two members of one name; says where, and quotes nothing.
        """
        node = self._value(self._space(self.source.startswith("\ufeff")), 0)
        if self._space(node.end + (node.kind == STRING)) < len(self.source):
            raise self.wrong("something stands behind the resource")
        return node

    def wrong(self, what: str) -> FormatError:
        """Return an error for the place that is read."""
        return FormatError(what, _HINT, "", "".join(self.where).lstrip(".") or "resource")

    def _space(self, at: int) -> int:
        found = _SPACE.match(self.source, at)
        assert found
        return found.end()

    def _value(self, at: int, depth: int) -> Node:
        sign = self.source[at : at + 1]
        if sign == '"':
            text, end = self._string(at)
            return Node(STRING, at + 1, end - 1, text)
        if sign in ("{", "["):
            if depth >= _DEEPEST:
                raise self.wrong(f"the resource is nested deeper than {_DEEPEST} levels")
            return self._object(at, depth) if sign == "{" else self._array(at, depth)
        found = _LITERAL.match(self.source, at)
        if found is None:
            raise self.wrong("the resource is cut short" if at >= len(self.source) else "this is no JSON")
        return Node(OTHER, at, found.end(), found[0])

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.source, at + 1)
        except json.JSONDecodeError:
            raise self.wrong("a string has no end, or an escape that JSON does not have") from None
        if "\\" in self.source[at:end] and _SURROGATE.search(text):
            raise self.wrong("an escape is half of a character")
        return text, end

    def _object(self, at: int, depth: int) -> Node:
        """Read members: name -> where the member begins, and its value."""
        source, members = self.source, dict[str, tuple[int, Node]]()
        begin, at = at, self._space(at + 1)
        if source[at : at + 1] == "}":
            return Node(OBJECT, begin, at + 1, members)
        while True:
            if source[at : at + 1] != '"':
                raise self.wrong("the resource is cut short" if at >= len(source) else "this is no JSON")
            name, end = self._string(at)
            self.where.append(f".{name}" if name in self.names else ".?")
            if name in members:
                raise self.wrong("an object has two members of this name")
            end = self._space(end)
            if source[end : end + 1] != ":":
                raise self.wrong("the resource is cut short" if end >= len(source) else "this is no JSON")
            node = self._value(self._space(end + 1), depth + 1)
            members[name] = at, node
            at, done = self._behind(node, "}")
            if done:
                return Node(OBJECT, begin, at, members)

    def _behind(self, node: Node, closing: str) -> tuple[int, bool]:
        """Return where the next member or item begins, or what holds it ends, and which of these it is."""
        end = self._space(node.end + (node.kind == STRING))
        sign = self.source[end : end + 1]
        if sign not in (",", closing) or not sign:
            raise self.wrong("the resource is cut short" if not sign else "this is no JSON")
        self.where.pop()
        return (end + 1, True) if sign == closing else (self._space(end + 1), False)

    def _array(self, at: int, depth: int) -> Node:
        source, items = self.source, list[Node]()
        begin, at = at, self._space(at + 1)
        if source[at : at + 1] == "]":
            return Node(ARRAY, begin, at + 1, items)
        while True:
            self.where.append(f"[{len(items)}]")
            node = self._value(at, depth + 1)
            items.append(node)
            at, done = self._behind(node, "]")
            if done:
                return Node(ARRAY, begin, at, items)


def read(data: bytes, table: Table, known: Mapping[str, tuple[tuple[str, str], ...]] | None = None) -> Record:
    """Read one record.

    Parameters
    ----------
    data : bytes
        A resource.
    table : Table
        What stands where.
    known : mapping, optional
        Patient's id -> identifiers that other records say.

    Raises
    ------
    InputError
        When it cannot be read; names the element, and no text.
    """
    try:
        source = data.decode("utf-8")
    except UnicodeError:
        raise EncodingError("the resource is not in UTF-8", "convert it to UTF-8", position="resource") from None
    root = Scanner(source, table.names).root()
    if root.kind != OBJECT or "resourceType" not in root.value:
        raise FormatError("this is no resource: it has no resourceType", _HINT, "", "resource")
    resource = _Resource(data, source, table)
    return resource.record(root, known or {})


def read_all(
    data: bytes, table: Table, known: Mapping[str, tuple[tuple[str, str], ...]]
) -> Iterator[Record | DeidError]:
    """Yield the records of a file, and errors in place of those that cannot be read."""
    for content in split(data):
        try:
            yield read(content, table, known)
        except DeidError as error:
            yield error


def split(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file: the lines of a bulk export, else the whole; blank lines go with the one before."""
    lines = data.splitlines(keepends=True)
    objects = [n for n, line in enumerate(lines) if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{")]
    first = lines[objects[0]] if objects else b""
    if len(objects) < 2 or not (_whole(first) or all(lines[n].rstrip().endswith(b"}") for n in objects[1:])):
        if data.strip():
            yield data
        return
    start = 0
    for number, line in enumerate(lines):
        if number > start and line.strip() and b"".join(lines[start:number]).strip():
            yield b"".join(lines[start:number])
            start = number
    yield b"".join(lines[start:])


def _whole(line: bytes) -> bool:
    try:
        Scanner(line.decode("utf-8")).root()
    except (DeidError, UnicodeError):
        return False
    return True


@functools.lru_cache(maxsize=4)
def known_beside(path: Path, table: Table) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return what the patients' resources of a bulk export say, for the notes beside them.

    Parameters
    ----------
    path : Path
        A file of the export; those whose names begin with Patient or RelatedPerson are read.
    table : Table

    Returns
    -------
    mapping
        Patient's id -> categories and values.
    """
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for file in sorted(path.parent.glob("*.ndjson")) if path.suffix == ".ndjson" else ():
        if file.name.partition(".")[0].partition("-")[0] in ("Patient", "RelatedPerson"):
            for record in read_all(file.read_bytes(), table, {}):
                if isinstance(record, Record) and record.patient is not None:
                    found[record.patient] = (*found.get(record.patient, ()), *record.known)
    return found


class _Resource:
    """A record while its places are found."""

    def __init__(self, data: bytes, source: str, table: Table) -> None:
        self.data, self.source, self.table = data, source, table
        self.places: list[Place] = []
        self.links: list[Place] = []
        self.marks: list[Mark] = []
        self.kept: list[tuple[int, int, str]] = []
        self.known: dict[tuple[str, str], None] = {}
        self.data_at: dict[int, bool] = {}
        """Where an object with a document begins -> whether it is read."""
        self.types: dict[str, str] = {}
        """Address of a resource of the Bundle -> its type."""
        self.patients: list[str] = []
        self.subjects: list[str] = []
        self.dates: dict[str, str] = {}
        self.facts: Mapping[str, Any] = table.facts

    # -- what stands where

    def record(self, root: Node, known: Mapping[str, tuple[tuple[str, str], ...]]) -> Record:
        """Return the record of a resource."""
        for entry in _items(root.value.get("entry")):
            url, inner = _text(entry, "fullUrl"), _member(entry, "resource")
            if inner is not None and url:
                self.types[url] = _text(inner, "resourceType")
        self._resource(root, "", contained=False)
        patient = next(iter([*self.patients, *self.subjects]), None)
        facts = self.facts
        parts: list[str] = []
        for place in self.places:
            parts.append(place.text)
            if place.joins:
                continue
            if place.kind in facts.get("known", ()):
                if value := known_of(place.kind, "^".join(parts)):
                    self.known[value] = None
            elif place.kind == "DATE" and place.path.rpartition(".")[2] in facts.get("known_dates", ()):
                self.known["DATE", place.text] = None
            parts.clear()
        if patient is not None:
            self.known.update(dict.fromkeys(known.get(patient, ())))
        self._sweep()
        days = (self.dates[name] for name in facts.get("date", ()) if name in self.dates)
        return assemble(
            self.data,
            self.source,
            "utf-8",
            self.places,
            known=tuple(self.known),
            patient=patient,
            date=next((day for said in days if (day := day_of(said))), None),
            links=self.links,
            marks=self.marks,
        )

    def _resource(self, node: Node, path: str, *, contained: bool) -> int:
        name = _text(node, "resourceType")
        rules = self.table.rules(name)
        if not rules:
            raise FormatError(
                "the table of places has no such resource",
                "leave it out, or give it lines with --places",
                "",
                path or "resourceType",
            )
        here = f"{path}.{name}" if path else name
        if name in _PERSONS:
            self._person(node, name)
        for said in self.facts.get("patient", ()) if name not in ("Bundle", "Parameters") else ():
            if target := _reference_of(_down(node, said)):
                self.subjects.append(target)
        for said in self.facts.get("date", ()):
            day = _down(node, said)
            if day is not None and day.kind == STRING:
                self.dates.setdefault(said, day.value[:10])
        if not contained:
            self._mark(node)
        return self._object(node, rules, here, "")

    def _person(self, node: Node, name: str) -> None:
        own = _text(node, "id")
        if name == "Patient" and own:
            self.patients.append(own)
        for found in (own, *(_text(item, "value") for item in _items(node.value.get("identifier")))):
            if (matched := UUID.match(found)) or (found == own and len(own) >= LEAST_NUMBER and not own.isalpha()):
                self.known["IDNUM", matched[1] if matched else own] = None

    def _object(self, node: Node, rules: Mapping[str, Rule], path: str, star: str) -> int:
        """Find the places of an object; return 1 when nothing of it stays as the table says, 2 when nobody says so."""
        members: dict[str, tuple[int, Node]] = node.value
        states: dict[str, int] = {}
        joined = self._joined(node, rules, path)
        for name in sorted(members, key=lambda name: rules.get(name) != DATA):  # size and hash follow the data
            if name in joined:
                states[name] = 0
                continue
            rule = rules.get(name)
            if rule is None and name.startswith("_") and name[1:] in rules:
                rule = Inner("*", "")  # what is said beside a value
            states[name] = self._take(members[name][1], rule, f"{path}.{name}", node)
        if members and all(states.values()):
            return max(states.values())
        self._remove([(members[n][0], _end(members[n][1]), states[n], f"{path}.{n}") for n in members])
        return 0

    def _remove(self, members: Sequence[tuple[int, int, int, str]]) -> None:
        """Block members or items, with the commas that part them from what stays."""
        kept_before = False
        for number, (start, end, state, path) in enumerate(members):
            if not state:
                kept_before = True
            elif kept_before:
                self._block(members[number - 1][1], end, path, state)
            else:
                self._block(start, members[number + 1][0], path, state)

    def _block(self, start: int, end: int, path: str, state: int) -> None:
        self.places.append(Place(path, start, end, BLOCKED, examined=state == 1))

    def _take(self, node: Node, rule: Rule | None, path: str, owner: Node) -> int:
        if node.kind == ARRAY:
            states = [self._take(item, rule, f"{path}[{n}]", owner) for n, item in enumerate(node.value)]
            if states and all(states):
                return max(states)
            if any(states):
                items = zip(node.value, states, strict=True)
                self._remove([(_begin(i), _end(i), state, f"{path}[{n}]") for n, (i, state) in enumerate(items)])
            return 0
        if isinstance(rule, ByName):
            rule = self._by_name(rule, node if node.kind == OBJECT else owner)
        if rule is None:
            return 2
        if isinstance(rule, Inner):
            if node.kind == OBJECT:
                return self._object(node, self.table.parts(rule), path, rule.star)
            rule = TEXT  # R4 and R5 differ in what is a plain value
        assert isinstance(rule, str)
        if rule == BLOCKED:
            return 1
        if node.kind == OBJECT:
            if rule == KEEP:
                self._keep(node, path)
                return 0
            if rule == "resource":
                return self._resource(node, path, contained=path.rpartition(".")[2].startswith("contained"))
            return self._object(node, self.table.parts(Inner("CodeableReference", TEXT)), path, "")
        if node.kind == OTHER:
            return 0 if node.value in ("true", "false", "null") or rule in (KEEP, CODE, NUMBER, "size") else 2
        return self._string(node, rule, path, owner)

    def _string(self, node: Node, rule: str, path: str, owner: Node) -> int:
        if rule == CODE:
            rule = KEEP if CODE_FORM.match(node.value) else TEXT
        elif rule == NUMBER:
            rule = KEEP if NUMBER_FORM.match(node.value) else TEXT
        if rule == DATA:
            return self._data(node, path, owner)
        if rule in ("size", "hash"):
            if owner.start in self.data_at:
                return 0 if self.data_at[owner.start] else 1
            return 0 if rule == "size" else 1
        if rule == KEEP:
            if path.rpartition(".")[2].partition("[")[0] not in self.facts.get("titles", ()):
                self.kept.append((node.start, node.end, path))
        elif rule == "xhtml":
            text, starts = visible(node.value, self.facts.get("attributes", ()))
            raw = _offsets(self.source[node.start : node.end])
            if raw is not None:
                starts = [
                    (raw[a][0] if a < len(raw) else node.end - node.start, raw[b - 1][1] if b > a else raw[a][0])
                    for a, b in starts
                ]
            self._add(path, node, TEXT, text, _write_markup, starts)
        elif rule == "id":
            self.links.append(Place(path, node.start, node.end, "IDNUM", node.value))
        elif rule == "reference":
            self._reference(node, path)
        elif rule == "DATE" and (found := _DATE.match(node.value)):
            self._add(path, node, "DATE", found[1], _write_date)
        elif rule in _NUMBERS and (matched := UUID.match(node.value)):
            self._link(node, matched.start(1), matched.end(1), path)
        else:
            self._leaf(node, rule, path)
        return 0

    def _leaf(self, node: Node, kind: str, path: str, start: int = 0, end: int | None = None) -> None:
        """Make a place of a string, or of a part of it."""
        starts = _offsets(self.source[node.start : node.end])
        end = len(node.value) if end is None else end
        first, last = node.start, node.end
        if (start, end) != (0, len(node.value)):
            first, last = self._at(node, start), self._at(node, end)
            starts = (
                None
                if starts is None
                else [(a - first + node.start, b - first + node.start) for a, b in starts[start:end]]
            )
        text = node.value[start:end]
        if text and not text.isspace():
            self.places.append(Place(path, first, last, kind, text, _write, starts))

    def _add(self, path: str, node: Node, kind: str, text: str, write: Any, starts: Any = None) -> None:
        if text and not text.isspace():
            self.places.append(Place(path, node.start, node.end, kind, text, write, starts))

    def _at(self, node: Node, offset: int) -> int:
        """Return where a character of a string stands in the record."""
        starts = _offsets(self.source[node.start : node.end])
        if starts is None:
            return node.start + offset
        return node.start + starts[offset][0] if offset < len(starts) else node.end

    def _link(self, node: Node, start: int, end: int, path: str) -> None:
        if start < end:
            at = self._at(node, start), self._at(node, end)
            self.links.append(Place(path, *at, "IDNUM", node.value[start:end]))

    def _joined(self, node: Node, rules: Mapping[str, Rule], path: str) -> frozenset[str]:
        """Make one place of the parts of a name."""
        names = [n for n in self.facts.get("joined", ()) if n in node.value and rules.get(n) in NAMES]
        found = [part for name in names for part in _each(node.value[name][1]) if part.kind == STRING and part.value]
        if len(found) > 1 and not any("^" in part.value for part in found):
            begin = len(self.places)
            for part in found:
                self._leaf(part, str(rules[names[0]]), f"{path}.{names[0]}")
            parts = self.places[begin:]
            self.places[begin:] = [*(replace(p, behind="^", joins=True) for p in parts[:-1]), parts[-1]]
            return frozenset(names)
        return frozenset()

    def _by_name(self, rule: ByName, owner: Node) -> Rule | None:
        for name in rule.names:
            node = owner.value.get(name)
            for said in _strings(node[1]) if node else ():
                found = self.table.of_type(said)
                if found is None and name == "reference" and (target := self._type_of(said)):
                    found = self.table.of_type(target) or TEXT
                if found is not None:
                    return found
        return None if rule.otherwise == BLOCKED else rule.otherwise

    def _type_of(self, reference: str) -> str:
        found = _TYPED.search(reference) or _SEARCH.search(reference)
        return (found[1] or "") if found else self.types.get(reference, "")

    def _keep(self, node: Node, path: str) -> None:
        if node.kind == STRING:
            self.kept.append((node.start, node.end, path))
        elif node.kind == OBJECT:
            for name, (_, inner) in node.value.items():
                self._keep(inner, f"{path}.{name}")
        elif node.kind == ARRAY:
            for item in node.value:
                self._keep(item, path)

    def _reference(self, node: Node, path: str) -> None:
        """Find the ids in an address of a resource, or in a search."""
        said: str = node.value
        if said.startswith("#"):
            self._link(node, 1, len(said), path)
        elif matched := UUID.match(said):
            self._link(node, matched.start(1), matched.end(1), path)
        elif said.startswith("urn:uuid:"):
            self._link(node, len("urn:uuid:"), len(said), path)
        elif said.startswith("urn:oid:"):
            self._leaf(node, "IDNUM", path, len("urn:oid:"))
        else:
            typed = _TYPED.search(said)
            if typed:
                self._link(node, *typed.span(2), path)
                if typed[3]:
                    self._link(node, *typed.span(3), path)
            search = _SEARCH.search(said)
            if search:
                for pair in _PARAMETER.finditer(said, search.end()):
                    self._parameter(node, pair, path)
            elif not typed and not _NAMED.match(said.rstrip("/").rpartition("/")[2]):
                self._leaf(node, "URL" if "://" in said else "IDNUM", path)

    def _parameter(self, node: Node, pair: re.Match[str], path: str) -> None:
        name, value = pair[1].partition(":")[0], pair[2]
        start, end = pair.span(2)
        system = re.match(r"(.*)(?:\||%7[cC])", value)
        if name in self.facts.get("parameters", ()) or not value:
            return
        if name == "identifier":
            kind = self.table.of_type(system[1]) if system else None
            start += system.end() if system else 0
            if matched := UUID.match(value, system.end() if system else 0):
                self._link(node, pair.start(2) + matched.start(1), pair.start(2) + matched.end(1), path)
            else:
                self._leaf(node, kind if isinstance(kind, str) else "IDNUM", path, start, end)
        elif typed := _TYPED.search(value):
            self._link(node, start + typed.start(2), start + typed.end(2), path)
        elif name == "_id" or name in self.facts.get("patient", ()) or name == "encounter":
            self._link(node, start, end, path)
        else:
            kind = self.facts.get("search", {}).get(name, "IDNUM")
            if kind == "DATE":  # ge2024-03-01
                start += re.match(r"[a-z]{0,2}", value).end()  # type: ignore[union-attr]
            self._leaf(node, kind, path, start, end)

    def _data(self, node: Node, path: str, owner: Node) -> int:
        """Read a document inside a resource."""
        said = _text(owner, "contentType").lower()
        mime, _, rest = said.partition(";")
        plain = mime.strip() in self.facts.get("plain_text", ())
        self.data_at[owner.start] = plain
        if not plain:
            return 2
        charset = re.search(r"charset\s*=\s*[\"']?([^\s;\"']+)", rest)
        try:
            name = codecs.lookup(charset[1]).name if charset else "utf-8"
        except LookupError:
            raise EncodingError("the character set is not known", "convert the document to UTF-8", "", path) from None
        try:
            content = base64.b64decode("".join(node.value.split()), validate=True)
        except (ValueError, binascii.Error):
            raise FormatError("this is no base64", _HINT, "", path) from None
        try:
            text = content.decode(name)
        except (UnicodeError, LookupError):
            raise EncodingError("the document is not in the character set that it says", _HINT, "", path) from None
        if "\x00" in text or content.startswith(_MARKS):
            raise FormatError("the document is not the text that it says it is", _HINT, "", path)
        others = [member[1] for key in ("size", "hash") if (member := owner.value.get(key)) and member[1].kind != ARRAY]
        kinds = [key for key in ("size", "hash") if key in owner.value]
        document = _Document(name, text, tuple(kinds), mime.strip() in self.facts.get("marked_up", ()))
        seen, starts = visible(text, self.facts.get("attributes", ())) if document.markup else (text, None)
        if seen.strip():
            stretches = ((node.start, node.end), *((other.start, other.end) for other in others))
            write = _DocumentWriter(document, starts)
            begin, end = min(s for s, _ in stretches), max(e for _, e in stretches)
            self.places.append(Place(path, begin, end, TEXT, seen, write, stretches=stretches))
        return 0

    def _mark(self, node: Node) -> None:
        """Say where the label goes that tells that the resource was changed."""
        meta, security = _member(node, "meta"), None
        if meta is not None:
            security = _member(meta, "security")
        if security is not None and any(_text(item, "code") == "REDACTED" for item in _each(security)):
            return
        if security is not None and security.kind == ARRAY:
            at, text = security.end - 1, f"{',' if security.value else ''}{_REDACTED}"
        elif meta is not None and meta.kind == OBJECT:
            at, text = meta.start + 1, f'"security":[{_REDACTED}]{"," if meta.value else ""}'
        else:
            at = _end(node.value["resourceType"][1])
            text = f',"meta":{{"security":[{_REDACTED}]}}'
        self.marks.append(Mark(node.start, node.end, at, text))

    def _sweep(self) -> None:
        """Make places of known identifiers in strings that would be kept; addresses and closed lists have none."""
        kept = sorted(k for k in self.kept if _may_name(self.source[k[0] : k[1]]))
        stretches = [(start, end) for start, end, _ in kept]
        for start, end, category in sweep(self.source, stretches, self.known):
            path = kept[bisect_right(stretches, (start, len(self.source))) - 1][2]
            self.places.append(Place(path, start, end, category, self.source[start:end], _write))


def _may_name(text: str) -> bool:
    return (
        "\\" not in text
        and "://" not in text
        and not text.startswith("urn:")
        and not re.fullmatch(r"[a-z\-]*|[0-9.]{1,6}", text)
    )


# -- nodes


def _begin(node: Node) -> int:
    return node.start - (node.kind == STRING)


def _end(node: Node) -> int:
    return node.end + (node.kind == STRING)


def _member(node: Node, name: str) -> Node | None:
    found = node.value.get(name) if node.kind == OBJECT else None
    return found[1] if found else None


def _text(node: Node, name: str) -> str:
    found = _member(node, name)
    return found.value if found is not None and found.kind == STRING else ""


def _each(node: Node | None) -> Sequence[Node]:
    return () if node is None else node.value if node.kind == ARRAY else (node,)


def _items(member: tuple[int, Node] | None) -> Sequence[Node]:
    return [item for item in _each(member[1]) if item.kind == OBJECT] if member else ()


def _strings(node: Node) -> Iterator[str]:
    if node.kind == STRING:
        yield node.value
    elif node.kind == ARRAY:
        for item in node.value:
            yield from _strings(item)
    elif node.kind == OBJECT:
        for _, inner in node.value.values():
            yield from _strings(inner)


def _down(node: Node, path: str) -> Node | None:
    """Return the first value under a path of names."""
    found: Node | None = node
    for name in path.split("."):
        each = _each(_member(found, name)) if found is not None else ()
        found = each[0] if each else None
    return found


def _reference_of(node: Node | None) -> str:
    """Return the id of the patient that an element refers to; empty if it refers to none."""
    if node is None or node.kind != OBJECT:
        return ""
    said = _text(node, "reference")
    typed = _TYPED.search(said)
    if typed:
        return typed[2] if typed[1] == "Patient" else ""
    search = _SEARCH.search(said)
    if search:
        return re.split(r"\||%7[cC]|=", said)[-1] if search[1] == "Patient" else ""
    if said.startswith("urn:"):
        return said.rpartition(":")[2] if _text(node, "type") in ("", "Patient") else ""
    identifier = _member(node, "identifier")
    return _text(identifier, "value") if identifier is not None and not said else ""


# -- decoding and encoding


def _offsets(raw: str) -> list[tuple[int, int]] | None:
    """Return where each character of a string begins and ends; None for each at its own place."""
    if "\\" not in raw:
        return None
    out: list[tuple[int, int]] = []
    at = 0
    for found in _ESCAPE.finditer(raw):
        begin, end = found.span()
        if begin < at:  # the second half of a character
            continue
        out += [(n, n + 1) for n in range(at, begin)]
        if found[0][1] == "u" and 0xD800 <= int(found[0][2:], 16) < 0xDC00:
            end += 6
        out.append((begin, end))
        at = end
    out += [(n, n + 1) for n in range(at, len(raw))]
    return out


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _write(raw: str, place: Place, changes: Sequence[Change]) -> str:
    # a string of FHIR is never empty
    return splice(raw, place, changes, lambda new, old, between: _quoted(new)) or "-"


def _write_markup(raw: str, place: Place, changes: Sequence[Change]) -> str:
    return splice(raw, place, changes, lambda new, old, between: _quoted(html.escape(new)) + between)


def _write_date(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return a date: the time of day stays where a whole day does."""
    new = changed(place.text, changes)
    if _DATE.fullmatch(new):
        return new + raw[len(place.text) :] if len(new) == len(place.text) else new
    return _quoted(new) or "-"


@dataclass(frozen=True, slots=True, repr=False)
class _Document:
    """A document in base64: its character set, its text, and what is said of it beside."""

    charset: str
    text: str
    beside: tuple[str, ...]
    markup: bool


@dataclass(frozen=True, slots=True, repr=False)
class _DocumentWriter:
    """Writes a document in base64, with its size and its checksum."""

    document: _Document
    starts: Sequence[tuple[int, int]] | None

    def __call__(self, raw: str, place: Place, changes: Sequence[Change]) -> list[str]:
        said = self.document
        inner = Place(place.path, 0, len(said.text), TEXT, place.text, None, self.starts)

        def write(new: str, old: str, between: str) -> str:
            return (html.escape(new) if said.markup else new) + between

        content = fit(splice(said.text, inner, changes, write), said.charset).encode(said.charset)
        digest = base64.b64encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode()
        beside = {"size": str(len(content)), "hash": digest}
        return [base64.b64encode(content).decode(), *(beside[name] for name in said.beside)]


def visible(markup: str, silent: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of XHTML, and where each of its characters begins and ends.

    Parameters
    ----------
    markup : str
    silent : sequence of str
        Attributes whose values are no text.

    Returns
    -------
    (str, list of (int, int))
        Text of elements, of comments and of other attributes, each of the latter on a line of its own; what parts
        blocks stands between characters and takes no room.
    """
    out: list[str] = []
    starts: list[tuple[int, int]] = []

    def take(begin: int, end: int) -> None:
        at = begin
        for entity in _ENTITY.finditer(markup, begin, end):
            plain(at, entity.start())
            char = html.unescape(entity[0])
            out.append(char)
            starts.extend([entity.span()] * len(char))
            at = entity.end()
        plain(at, end)

    def plain(begin: int, end: int) -> None:
        out.append(markup[begin:end])
        starts.extend([(n, n + 1) for n in range(begin, end)])

    def part(sign: str, at: int) -> None:
        out.append(sign)
        starts.append((at, at))

    read = 0
    for tag in _MARKUP.finditer(markup):
        take(read, tag.start())
        read = tag.end()
        name = (tag[3] or "").lower()
        if name and name not in _INLINE:
            part("\t" if name in _CELLS else "\n", tag.start())
        if tag[1]:
            part("\n", tag.start())
            take(*tag.span(1))
            part("\n", tag.end(1))
        for attribute in _ATTRIBUTE.finditer(markup, *tag.span(4)) if tag[4] else ():
            group = 2 if attribute[2] is not None else 3
            said = attribute[1].lower()
            if said not in silent and not said.startswith("xmlns") and attribute[group]:
                part("\n", attribute.start())
                take(*attribute.span(group))
                part("\n", attribute.end(group))
    take(read, len(markup))
    return "".join(out), starts
