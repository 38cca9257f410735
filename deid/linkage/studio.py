"""The persons of a linkage one by one, on one page that works offline: rows, and the pairs that join them or nearly do.

Persons who may be one (their rows have a pair for review) stand together, each in a colour of its own.
"""

from __future__ import annotations

import math
from pathlib import Path

from deid.base.late import pd
from deid.base.plots import COLOURS
from deid.base.reports import write_html
from deid.linkage.linking import Linked
from deid.table.cell_text import text_list

_SHOWN = 200
"""Groups of persons on the page."""
_ROWS = 40
"""Rows of a group that are shown."""


def write_studio(path: Path, frame: pd.DataFrame, linked: Linked) -> None:
    """Write the page, the least sure persons first. It shows cells: PHI, mode 0600.

    Parameters
    ----------
    path : Path
    frame : pandas.DataFrame
        The table, as it was linked.
    linked : Linked
        By a model.
    """
    pairs: dict[tuple[int, int], tuple[str, str, str]] = {}
    if linked.pairs is not None:
        for a, b, weight, chance in linked.pairs.itertuples(index=False):
            if max(a, b) < len(frame) and linked.person[a] == linked.person[b]:
                pairs[a, b] = (f"{weight:.2f}", f"{chance:.4f}", "")
    near: dict[str, set[str]] = {}
    for a, b, _, _, chance, weight, why, _ in linked.review.itertuples(index=False):
        if max(a, b) <= len(frame):
            pairs[a - 1, b - 1] = (weight, chance, why)
            one, other = linked.person[a - 1], linked.person[b - 1]
            near.setdefault(one, set()).add(other)
            near.setdefault(other, set()).add(one)
    rows_of: dict[str, list[int]] = {}
    for row, who in enumerate(linked.person):
        rows_of.setdefault(who, []).append(row)
    odd = {(row - 1, column) for _, column, row, _ in linked.contradictions.itertuples(index=False)}
    groups, seen = [], set[str]()
    for who in rows_of:
        if who in seen or (len(rows_of[who]) == 1 and who not in near):
            continue
        together, stack = [], [who]
        while stack:
            if (one := stack.pop()) not in seen:
                seen.add(one)
                together.append(one)
                stack += sorted(near.get(one, ()), reverse=True)
        groups.append((together, sorted(row for one in together for row in rows_of[one])))
    inside: dict[str, list[tuple[int, int]]] = {}
    for a, b in pairs:
        inside.setdefault(linked.person[a], []).append((a, b))

    def doubt(group: tuple[list[str], list[int]]) -> tuple[bool, float, int]:
        chances = [float(pairs[pair][1] or 1) for one in group[0] for pair in inside.get(one, ())]
        return not any(row in {r for r, _ in odd} for row in group[1]), min(chances, default=1.0), group[1][0]

    columns = ["row", "person", *map(str, frame.columns)]
    cells = {name: text_list(frame[name]) for name in frame.columns}
    told = []
    for together, rows in sorted(groups, key=doubt)[:_SHOWN]:
        shown = rows[:_ROWS]
        own = sorted(pair for one in together for pair in inside.get(one, ()) if set(pair) <= set(shown))
        place = {row: _place(n, len(shown)) for n, row in enumerate(shown)}
        why = sorted({pairs[pair][2] for pair in own} - {""})
        why += sorted({f"contradiction: {column}" for row, column in odd if row in place})
        told.append(
            {
                "title": f"{', '.join(together)}: {len(rows)} rows",
                "why": "; ".join(why),
                "nodes": [(*place[row], COLOURS[1 + together.index(linked.person[row]) % 5], row + 1) for row in shown],
                "lines": [_line(place[a], place[b], *pairs[a, b]) for a, b in own],
                "rows": [
                    [(str(row + 1), False), (linked.person[row], False)]
                    + [(cells[name][row], (row, name) in odd) for name in frame.columns]
                    for row in shown
                ],
                "pairs": [(f"{a + 1}, {b + 1}", *pairs[a, b]) for a, b in own],
            }
        )
    note = (
        f"{len(told)} of {len(groups)} groups of rows, the least sure first: persons with several rows, and persons "
        "who may be one. Lines join rows by pairs that speak for one person, red where they were kept apart."
    )
    write_html(path, "studio.html", title="Persons", note=note, columns=columns, persons=told)


def _place(number: int, count: int) -> tuple[int, int]:
    turn = 2 * math.pi * number / count
    return round(105 * math.sin(turn)), round(-105 * math.cos(turn))


def _line(a: tuple[int, int], b: tuple[int, int], weight: str, chance: str, why: str) -> tuple[object, ...]:
    width = 1 + 4 * max(0.0, float(chance or 1) - 0.5)
    return (*a, *b, "#b00020" if why else "#777", f"{width:.1f}", f"{chance} {why}".strip())
