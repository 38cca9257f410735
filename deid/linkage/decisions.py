"""What a person decided on pairs of rows, for the next linkage: rows that are of one person, and rows that are not.

A list for review names rows by their numbers, and says by a checksum which rows these were: a decision on one table
must not join other persons in another, or in the same one after a row was added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deid.base.errors import FormatError, told_as
from deid.base.files import read_rows
from deid.base.late import pd
from deid.table.cell_text import text_list

ANSWERS = ("same", "different", "unsure")
"""What a person can say of two rows; of those that he is unsure of, nothing is kept."""
_COLUMNS = ("row_a", "row_b", "check", "decision")

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """Pairs of rows on which somebody decided, by their places in the table (from 0), the first below the second."""

    same: Pairs = ()
    different: Pairs = ()

    def __str__(self) -> str:
        return f"decided: {len(self.same):,} pairs of one person, {len(self.different):,} of two persons"

    @property
    def pairs(self) -> frozenset[tuple[int, int]]:
        """All of them."""
        return frozenset((*self.same, *self.different))

    def groups(self, rows: int) -> list[int | None]:
        """Return for each row what those that are one person have in common; None where nothing was decided."""
        group: dict[int, int] = {}
        members: dict[int, list[int]] = {}
        for a, b in self.same:
            one, other = group.get(a, a), group.get(b, b)
            if one != other or a not in group:
                joined = members.pop(one, [one]) + (members.pop(other, [other]) if one != other else [])
                members[one] = joined
                group |= dict.fromkeys(joined, one)
        return [group.get(row) for row in range(rows)]


def checks(tables: Sequence[pd.DataFrame], rows: Iterable[int], *, without: str) -> dict[int, str]:
    """Return a checksum of each of some rows, which the cells of the row and their columns decide.

    Parameters
    ----------
    tables : sequence of pandas.DataFrame
        Their rows count on, one table after the other.
    rows : iterable of int
        Places, from 0.
    without : str
        A column that does not count: the ids that were found.

    Returns
    -------
    dict of int to str
        Eight hexadecimal digits by place.
    """
    wanted = sorted(set(rows))
    found: dict[int, str] = {}
    first = 0
    for table in tables:
        own = [row for row in wanted if first <= row < first + len(table)]
        part = table.iloc[[row - first for row in own]]
        names = sorted(str(name) for name in part.columns if name != without)
        columns = [text_list(part[name]) for name in names]
        for place, row in enumerate(own):
            cells = "\0".join(f"{name}\0{column[place]}" for name, column in zip(names, columns, strict=True))
            found[row] = hashlib.blake2b(cells.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        first += len(table)
    return found


def read_decisions(path: str | Path, tables: Sequence[pd.DataFrame], *, without: str) -> Decided:
    """Read what was decided on the pairs of a list for review.

    Parameters
    ----------
    path : path
        CSV with the columns ``row_a``, ``row_b`` (from 1) and ``check`` of the list, and ``decision``: ``same``,
        ``different``, ``unsure`` or empty.
    tables : sequence of pandas.DataFrame
        The tables to be linked.
    without : str
        As for `checks`.

    Raises
    ------
    InputError
        When the file cannot be read.
    FormatError
        When it is no such list, names rows that the tables do not have or that are others now, or says two things of
        one pair.
    """
    where = str(path)
    hint = (
        f"it needs the columns {', '.join(_COLUMNS)}: write the last one into what deid link --review wrote, or name "
        "what deid annotate decisions wrote"
    )
    said: dict[tuple[int, int], tuple[str, str, int]] = {}
    total = sum(map(len, tables))
    for number, line in read_rows(Path(path), _COLUMNS, hint, FormatError):
        decision = line["decision"].strip()
        if decision not in (*ANSWERS, ""):
            raise FormatError("no decision", f"one of {', '.join(ANSWERS)}, or nothing", where, f"line {number}")
        with told_as(
            FormatError("a row is no number", "leave row_a and row_b as they were", where, f"line {number}"), ValueError
        ):
            a, b = sorted(int(line[name]) - 1 for name in ("row_a", "row_b"))
        if not 0 <= a < b < total:
            raise FormatError("no two rows of the table", "name the table that was linked", where, f"line {number}")
        if decision in ("", "unsure"):
            continue
        if said.setdefault((a, b), (decision, line["check"], number))[0] != decision:
            raise FormatError("the pair is same and different", "decide on it once", where, f"line {number}")
    now = checks(tables, (row for pair in said for row in pair), without=without)
    for (a, b), (_, check, number) in said.items():
        if sorted(check.split("-")) != sorted((now[a], now[b])):
            raise FormatError(
                "the rows are not those that were decided on",
                "the table has changed: link it again with --review, and decide anew",
                where,
                f"line {number}",
            )
    of = {wanted: tuple(pair for pair, (one, _, _) in said.items() if one == wanted) for wanted in ANSWERS[:2]}
    return Decided(of["same"], of["different"])
