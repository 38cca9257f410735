"""The slot language: ``{{slot}}`` and ``{one|other}``; see docs/synthetic-corpus.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_SLOT = re.compile(
    r"(?P<entity>#?[a-z_]+[0-9]?)(?P<shifts>(?:[+-][0-9]+[dwmy]?)*)(?:\.(?P<form>[A-Za-z0-9]+))?(?::(?P<arg>[0-9.]+-[0-9.]+))?(?P<case>[!~]?)"
)


_LITERAL = re.compile(r"([A-Z-]{3,})=([^{}]+)")


class TemplateError(ValueError):
    """A body or block that breaks the slot language."""


@dataclass(frozen=True)
class Slot:
    """One ``{{entity+shift.form:arg!}}``."""

    entity: str
    shifts: tuple[tuple[int, str], ...]
    form: str
    arg: str
    case: str
    literal: str = ""
    """For ``{{CATEGORY=text}}``: a span with this very text."""


@dataclass(frozen=True)
class Choice:
    """One ``{a|b|c}``."""

    options: tuple[tuple[Node, ...], ...]


Node = str | Slot | Choice


@dataclass(frozen=True)
class Template:
    """A body or block: its options and its parsed text."""

    name: str
    kind: str
    text: str = field(repr=False)
    options: frozenset[str]
    """Words of the first line: ``uk``, ``head``, ``p=F``, ``age=30-60``."""

    def option(self, key: str, default: str = "") -> str:
        """Return the value of ``key=value``."""
        return next((o.split("=", 1)[1] for o in self.options if o.startswith(key + "=")), default)


def read(path: Path, kind: str) -> Template:
    """Read a body: an optional first line ``%% options``, then the text."""
    return from_text(path.stem, kind, path.read_text(encoding="utf-8"))


def from_text(name: str, kind: str, text: str) -> Template:
    """Make a template of a text with its optional line of options."""
    options: frozenset[str] = frozenset()
    if text.startswith("%%"):
        first, _, text = text.partition("\n")
        options = frozenset(first[2:].split())
    return Template(name, kind, text.strip("\n") + "\n", options)


def blocks(path: Path, kind: str) -> list[Template]:
    """Read a file of blocks; each starts with a line ``%% options``."""
    parts = re.split(r"(?m)^(?=%%)", path.read_text(encoding="utf-8"))
    return [from_text(f"{kind}-{n:03}", kind, part) for n, part in enumerate((p for p in parts if p.strip()), 1)]


def parse(text: str, where: str) -> tuple[Node, ...]:
    """Parse a text into its parts.

    Raises
    ------
    TemplateError
        When braces do not match or a slot is malformed.
    """
    nodes, end = _parse(text, 0, where, False)
    if end != len(text):
        raise TemplateError(f"{where}: a closing brace too many near {text[max(0, end - 20) : end + 5]!r}")
    return nodes[0]


def _parse(text: str, at: int, where: str, inside: bool) -> tuple[list[tuple[Node, ...]], int]:
    options: list[tuple[Node, ...]] = []
    nodes: list[Node] = []
    while at < len(text):
        if text.startswith("{{", at) and not text.startswith("{{{", at):
            end = text.find("}}", at)
            literal = _LITERAL.fullmatch(text[at + 2 : end]) if end > 0 else None
            if literal:
                nodes.append(Slot(literal[1], (), "", "", "", literal[2]))
                at = end + 2
                continue
            match = _SLOT.fullmatch(text[at + 2 : end]) if end > 0 else None
            if not match:
                raise TemplateError(f"{where}: no slot: {text[at : at + 30]!r}")
            found = re.findall(r"([+-][0-9]+)([dwmy]?)", match["shifts"] or "")
            shifts = tuple((int(n), unit or "d") for n, unit in found)
            nodes.append(Slot(match["entity"], shifts, match["form"] or "", match["arg"] or "", match["case"]))
            at = end + 2
        elif text[at] == "{":
            inner, at = _parse(text, at + 1, where, True)
            if at >= len(text):
                raise TemplateError(f"{where}: a brace is not closed")
            nodes.append(Choice(tuple(inner)))
            at += 1
        elif text[at] == "}" or (text[at] == "|" and inside):
            if text[at] == "}":
                break
            options.append(tuple(nodes))
            nodes = []
            at += 1
        else:
            stops = [i for i in (text.find(c, at) for c in ("{|}" if inside else "{}")) if i >= 0]
            end = min(stops, default=len(text))
            nodes.append(text[at:end])
            at = end
    options.append(tuple(nodes))
    return options, at
