"""What is reviewed in a project beside notes: items of a kind, and what annotators decide on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sql

from deid.annotation import rows
from deid.annotation.tables import DECISIONS, ITEMS, TABLES
from deid.base.errors import InputError, require
from deid.base.store import Store
from deid.linkage.decisions import ANSWERS

KINDS: Mapping[str, tuple[str, ...]] = {
    "link": ANSWERS,
    "verify": ("leak", "fine", "unsure"),
}
"""Kinds of items that are reviewed beside notes -> the decisions on one: pairs of rows that may be of one person, and
findings of a check of scrubbed notes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided on an item."""

    annotator: str
    when: str
    """UTC, ISO 8601."""
    decision: str
    comment: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """Something other than a note that is reviewed; may carry PHI."""

    id: int
    kind: str
    """One of `KINDS`."""
    name: str = field(repr=False)
    content: Mapping[str, Any] = field(repr=False)
    decisions: tuple[Decision, ...]
    """All that were made, in order; the last one of an annotator counts."""


def check_kind(kind: str) -> None:
    """Refuse what is no kind of item.

    Raises
    ------
    ConfigError
        When it is none.
    """
    require(kind in KINDS, "unknown kind of item", f"known: {', '.join(KINDS)}")


class Items:
    """The items of a project (`deid.annotation.project.Project.items`)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, kind: str, items: Iterable[tuple[str, Mapping[str, Any]]]) -> int:
        """Add items to be reviewed, by name and content (JSON); return how many were new."""
        check_kind(kind)
        new = 0
        with self._store.writing() as connection:
            known = set(connection.execute(sql.select(ITEMS.c.name).where(ITEMS.c.kind == kind)).scalars())
            for name, content in items:
                if name not in known:
                    connection.execute(ITEMS.insert(), {"kind": kind, "name": name, "content": dict(content)})
                    known.add(name)
                    new += 1
        return new

    def all(self, kind: str | None = None) -> tuple[Item, ...]:
        """Return the items, or those of one kind, with what was decided on them."""
        chosen = sql.true() if kind is None else ITEMS.c.kind == kind
        decided: dict[int, list[Decision]] = {}
        with self._store.reading() as connection:
            for row in connection.execute(sql.select(DECISIONS).order_by(DECISIONS.c.id)):
                decided.setdefault(row.item, []).append(Decision(row.layer, row.when, row.decision, row.comment))
            return tuple(
                Item(row.id, row.kind, row.name, row.content, tuple(decided.get(row.id, ())))
                for row in connection.execute(sql.select(ITEMS).where(chosen).order_by(ITEMS.c.id))
            )

    def decide(self, item: int, annotator: str, decision: str, comment: str = "") -> None:
        """Write down what an annotator decides on an item.

        Raises
        ------
        InputError
            When there is no such item.
        ConfigError
            When its kind has no such decision.
        """
        name = rows.layer_name(annotator)
        with self._store.writing() as connection:
            kind = connection.execute(sql.select(ITEMS.c.kind).where(ITEMS.c.id == item)).scalar()
            if kind is None:
                raise InputError("there is no such item in the project", "load the list again")
            require(decision in KINDS[kind], "there is no such decision", f"one of: {', '.join(KINDS[kind])}")
            values = {"item": item, "layer": name, "decision": decision, "comment": comment, "when": rows.now()}
            connection.execute(DECISIONS.insert(), values)

    def remove(self, ids: Iterable[int]) -> int:
        """Remove items with what was decided on them; return how many there were."""
        gone = 0
        with self._store.writing() as connection:
            for id in ids:
                gone += connection.execute(ITEMS.delete().where(ITEMS.c.id == id)).rowcount
        self._store.compact(TABLES)
        return gone
