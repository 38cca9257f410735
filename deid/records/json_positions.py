"""JSON with positions: where each value, member and character stands, nothing serialized again.

No parser of Python's tells positions, so that an edit could leave numbers, order, white space and escapes as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from deid.base.errors import FormatError

_HINT = "repair the resource at its source, or leave it out"
_DEEPEST = 100
"""Levels of objects and arrays; real resources have about twenty."""
_SPACE = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)

OBJECT, ARRAY, STRING, OTHER = "object", "array", "string", "literal"


@dataclass(frozen=True, slots=True, eq=False)
class JsonValue:
    """A value of JSON and where it stands; of a string, its characters between the quotes."""

    kind: str
    start: int
    end: int
    value: Any = field(repr=False)


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

    def root(self) -> JsonValue:
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

    def _value(self, at: int, depth: int) -> JsonValue:
        sign = self.source[at : at + 1]
        if sign == '"':
            text, end = self._string(at)
            return JsonValue(STRING, at + 1, end - 1, text)
        if sign in ("{", "["):
            if depth >= _DEEPEST:
                raise self.wrong(f"the resource is nested deeper than {_DEEPEST} levels")
            return self._object(at, depth) if sign == "{" else self._array(at, depth)
        found = _LITERAL.match(self.source, at)
        if found is None:
            raise self.wrong("the resource is cut short" if at >= len(self.source) else "this is no JSON")
        return JsonValue(OTHER, at, found.end(), found[0])

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.source, at + 1)
        except json.JSONDecodeError:
            raise self.wrong("a string has no end, or an escape that JSON does not have") from None
        if "\\" in self.source[at:end] and _SURROGATE.search(text):
            raise self.wrong("an escape is half of a character")
        return text, end

    def _object(self, at: int, depth: int) -> JsonValue:
        """Read members: name -> where the member begins, and its value."""
        source, members = self.source, dict[str, tuple[int, JsonValue]]()
        begin, at = at, self._space(at + 1)
        if source[at : at + 1] == "}":
            return JsonValue(OBJECT, begin, at + 1, members)
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
                return JsonValue(OBJECT, begin, at, members)

    def _behind(self, node: JsonValue, closing: str) -> tuple[int, bool]:
        """Return where the next member or item begins, or what holds it ends, and which of these it is."""
        end = self._space(node.end + (node.kind == STRING))
        sign = self.source[end : end + 1]
        if sign not in (",", closing) or not sign:
            raise self.wrong("the resource is cut short" if not sign else "this is no JSON")
        self.where.pop()
        return (end + 1, True) if sign == closing else (self._space(end + 1), False)

    def _array(self, at: int, depth: int) -> JsonValue:
        source, items = self.source, list[JsonValue]()
        begin, at = at, self._space(at + 1)
        if source[at : at + 1] == "]":
            return JsonValue(ARRAY, begin, at + 1, items)
        while True:
            self.where.append(f"[{len(items)}]")
            node = self._value(at, depth + 1)
            items.append(node)
            at, done = self._behind(node, "]")
            if done:
                return JsonValue(ARRAY, begin, at, items)


def outer_start(node: JsonValue) -> int:
    """Return where a value begins, a quote included."""
    return node.start - (node.kind == STRING)


def outer_end(node: JsonValue) -> int:
    """Return where a value ends, a quote included."""
    return node.end + (node.kind == STRING)


def member(node: JsonValue, name: str) -> JsonValue | None:
    """Return a member of an object, None when there is none."""
    found = node.value.get(name) if node.kind == OBJECT else None
    return found[1] if found else None


def string_of(node: JsonValue, name: str) -> str:
    """Return a member that is a string; empty when there is none."""
    found = member(node, name)
    return found.value if found is not None and found.kind == STRING else ""


def each(node: JsonValue | None) -> Sequence[JsonValue]:
    """Return the items of an array, or the value alone."""
    return () if node is None else node.value if node.kind == ARRAY else (node,)


def objects(member: tuple[int, JsonValue] | None) -> Sequence[JsonValue]:
    """Return the objects of a member."""
    return [item for item in each(member[1]) if item.kind == OBJECT] if member else ()


def strings(node: JsonValue) -> Iterator[str]:
    """Yield all strings of a value."""
    if node.kind == STRING:
        yield node.value
    elif node.kind == ARRAY:
        for item in node.value:
            yield from strings(item)
    elif node.kind == OBJECT:
        for _, inner in node.value.values():
            yield from strings(inner)


def down(node: JsonValue, path: str) -> JsonValue | None:
    """Return the first value under a path of names."""
    found: JsonValue | None = node
    for name in path.split("."):
        there = each(member(found, name)) if found is not None else ()
        found = there[0] if there else None
    return found


def all_down(node: JsonValue, path: str) -> list[JsonValue]:
    """Return the values under a path of names, of each item where there are several."""
    found = [node]
    for name in path.split("."):
        found = [inner for one in found for inner in each(member(one, name))]
    return found


def offsets(raw: str) -> list[tuple[int, int]] | None:
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


def quoted(text: str) -> str:
    """Return text as a string of JSON writes it, without its quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
