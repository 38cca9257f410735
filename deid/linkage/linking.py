"""Linking a table: from rows to persons, in one call.

Rows are put in an order of their own first, that of a hash of their cells, so that nothing depends on the order in
which they come. Then exact rules, the model's pairs from a threshold on, and `deid.linkage.clustering` over all.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deid.base.errors import ConfigError, InputError
from deid.base.late import pd
from deid.base.options import option
from deid.linkage.clustering import Edge, cluster
from deid.linkage.columns import kinds_of, read_records
from deid.linkage.exact import RULES, exact_edges, facts_of
from deid.table.cell_text import text_list
from deid.table.microdata import check_columns

PERSON = "person"
"""Column of the ids; one that the table has says which rows are known to be of one person."""


@dataclass(frozen=True)
class LinkOptions:
    """How a table is linked."""

    kind: tuple[str, ...] = option(
        (), "What a column is: name, given, family, birth, number, phone, similar, none, ... (repeatable).",
        metavar="COLUMN=KIND", panel="Columns",
    )  # fmt: skip
    seed: int = option(1, "Seed of the order of ids.", metavar="N", panel="Pairs")

    @property
    def kinds(self) -> dict[str, str]:
        """What is said of columns."""
        return _pairs(self.kind, "--kind", "COLUMN=KIND")


def _pairs(texts: Sequence[str], flag: str, form: str) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise ConfigError(f"{flag} is not of the form {form}", "for example: --kind nr=number")
        found[name] = value
    return found


@dataclass(frozen=True, eq=False)
class Linked:
    """Who is who in a table."""

    person: list[str] = field(repr=False)
    """Id of each row's person, in the table's order."""
    kinds: dict[str, str]
    """What each column was taken for."""
    joined: dict[str, int]
    """What joined rows -> pairs of rows."""
    refused: dict[str, int]
    """Contradiction -> pairs that it kept apart."""
    review: pd.DataFrame = field(repr=False)
    """Pairs that a person should look at: rows (from 1), persons, probability, weight, and why they are not joined."""

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values: counts, and names of columns."""
        sizes = Counter(Counter(self.person).values())
        return {
            "rows": len(self.person),
            "persons": len(set(self.person)),
            "persons_of_one_row": sizes.get(1, 0),
            "largest": max(sizes),
            "kinds": self.kinds,
            "joined": self.joined,
            "refused": self.refused,
            "review": len(self.review),
        }


def link_table(frame: pd.DataFrame, said: LinkOptions | None = None, *, known: pd.DataFrame | None = None) -> Linked:
    """Say which rows of a table are of one person.

    Parameters
    ----------
    frame : pandas.DataFrame
        Cells are texts. Rows that have a ``person`` in common are of one, whatever else they say.
    said : LinkOptions, optional
    known : pandas.DataFrame, optional
        Rows whose ``person`` is known and stays: new rows join these persons or become new ones. No two known persons
        become one.

    Returns
    -------
    Linked
        Equal for equal rows, in whatever order they come.

    Raises
    ------
    ConfigError, InputError
        When nothing can be linked so.
    """

    said = said or LinkOptions()
    if not len(frame):
        raise InputError("the table has no rows", "name a table with rows")
    new = len(frame)
    whole = frame.rename(columns={PERSON: "before"})
    if known is not None:
        check_columns(known, [PERSON])
        whole = pd.concat([whole, known.rename(columns={PERSON: "known"})], ignore_index=True)
    before = whole.pop("before") if "before" in whole else None
    ids = whole.pop("known") if "known" in whole else None
    kinds = kinds_of(whole, said.kinds)
    records = read_records(whole, kinds)
    for name, column in (("before", before), ("known", ids)):
        if column is not None:
            cells = [text or None for text in text_list(column, key=True)]
            records[name] = pd.Series(cells, index=records.index, dtype=object)
    if known is not None and not all(records["known"].tolist()[new:]):
        raise InputError("a known row without a person", "fill it in, or remove the row")
    order = _order(whole, said.seed)
    records = records.iloc[order].reset_index(drop=True)
    facts = facts_of(records)
    edges = exact_edges(records, len(RULES))
    clusters = cluster(facts, edges, [records[name].tolist() for name in ("before", "known") if name in records])
    names = _ids(clusters.person, records)
    person = [""] * len(order)
    for place, row in enumerate(order):
        person[row] = names[clusters.person[place]]
    refused = Counter(why for _, why in clusters.refused)
    joined = Counter(e.why for e in edges if clusters.person[e.a] == clusters.person[e.b])
    review = _review([(edge, why) for edge, why in clusters.refused], order, person)
    return Linked(person[:new], kinds, dict(joined), dict(sorted(refused.items())), review)


def _order(frame: pd.DataFrame, seed: int) -> list[int]:
    """Return the places of rows in an order that their cells alone decide."""
    cells = [text_list(frame[name]) for name in sorted(map(str, frame.columns))]
    start = hashlib.blake2b(str(seed).encode(), digest_size=16)

    def place(row: int) -> bytes:
        own = start.copy()
        for column in cells:
            own.update(column[row].encode("utf-8", "surrogatepass") + b"\0")
        return own.digest()

    return sorted(range(len(frame)), key=place)


def _ids(person: Sequence[int], records: pd.DataFrame) -> dict[int, str]:
    """Return the id of each person by its number: the known one, else the next that is free."""
    known = records["known"].tolist() if "known" in records else [None] * len(person)
    found = {root: own for root, own in zip(person, known, strict=True) if own}
    numbers = [int(own[1:]) for own in found.values() if own[:1] == "P" and own[1:].isascii() and own[1:].isdigit()]
    taken = max(numbers, default=0)
    for root in person:
        if root not in found:
            taken += 1
            found[root] = f"P{taken}"
    return found


def _review(pairs: Sequence[tuple[Edge, str]], order: Sequence[int], person: Sequence[str]) -> pd.DataFrame:

    rows = []
    for edge, why in pairs:
        a, b = sorted((order[edge.a], order[edge.b]))
        if person[a] == person[b]:
            continue
        rows.append((a + 1, b + 1, person[a], person[b], edge.why, why))
    columns = ["row_a", "row_b", "person_a", "person_b", "joined_by", "kept_apart_by"]
    return pd.DataFrame(sorted(rows), columns=columns)
