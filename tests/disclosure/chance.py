"""Small tables by chance: few rows, many ties, every kind of column and of published cell, levels that are just met."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pandas as pd
from tables import REGIONS

from deid.disclosure.assessment import PersonalGuard, Requirements
from deid.table.hierarchy import hierarchy_from_rows
from deid.table.microdata import Microdata

AIRWAYS = hierarchy_from_rows(
    [("flu", "airways", "*"), ("cold", "airways", "*"), ("asthma", "airways", "*"), ("cancer", "growth", "*")],
    "illness",
)
AGES = hierarchy_from_rows(
    [(str(age), f"[{age // 10 * 10}-{age // 10 * 10 + 9}]", "*") for age in range(18, 60)], "age"
)
UNEVEN = hierarchy_from_rows(
    [("a", "ab", "abc", "*"), ("b", "ab", "abc", "*"), ("c", "c", "abc", "*"), ("d", "d", "d", "*")], "step"
)
HIERARCHIES = {"place": REGIONS, "illness": AIRWAYS, "years": AGES, "step": UNEVEN}
VALUES: dict[str, Callable[[random.Random], object]] = {
    "age": lambda draw: draw.choice([20, 20, 23, 25, 30, 31, 45]),
    "score": lambda draw: draw.choice([0.5, 1, 1.25, 2, -3, 7.75]),
    "day": lambda draw: f"2019-0{draw.randint(1, 3)}-{draw.choice(['01', '15', '28'])}",
    "ward": lambda draw: draw.choice(["north", "south", "south", "west"]),
    "zip": lambda draw: draw.choice(["61001", "61002", "61012", "62001"]),
    "place": lambda draw: draw.choice(REGIONS.leaves()),
    "years": lambda draw: draw.choice(["18", "19", "22", "31", "39", "59"]),
    "step": lambda draw: draw.choice("aabcd"),
    "sex": lambda draw: draw.choice("FM"),
    "same": lambda draw: "x",
}
SENSITIVE: dict[str, Callable[[random.Random], object]] = {
    "illness": lambda draw: draw.choice(["flu", "flu", "cold", "asthma", "cancer"]),
    "cost": lambda draw: draw.choice([1, 2, 5, 10, 10, 40]),
    "told": lambda draw: draw.choice(["Yes", "no", "NO"]),
}
NAMES = ("Rose Quimby", "Rosie Quimby", "R. Quimby", "Quimby, Rose", "Rose Quinby", "Dale Orme", "Ann Price")
COLUMNS = {**VALUES, **SENSITIVE}


def table(number: int, *, rows: int = 0, columns: Sequence[str] = (), plain: bool = False) -> Microdata:
    """Return the table of a number, with the columns of another one where they are given."""
    draw = random.Random(number)
    count = rows or draw.choice([1, 3, 5, 6, 8, 9, 12, 15, 20, 24])
    own = draw.sample([*VALUES], draw.randint(1, 4)) + draw.sample([*SENSITIVE], draw.choice([1, 1, 1, 2]))
    names = list(columns) or own
    gaps = draw.choice([0, 0, 0, 0.1, 0.3])  # of the cells, that are missing
    frame = pd.DataFrame(
        {n: [COLUMNS[n](draw) if draw.random() >= gaps else None for _ in range(count)] for n in names}
    )
    roles = {n: "sensitive" if n in SENSITIVE else "quasi-identifier" for n in names}
    person = None
    if not plain:
        if draw.random() < 0.25:
            person = "who"
            several = max(2, count - draw.choice([0, count // 3, count // 2]))
            frame[person] = [draw.choice(["p", "p", "P"]) + str(draw.randrange(several)) for _ in range(count)]
        for role in draw.sample(["identifier", "free-text", "other", "dropped"], draw.choice([0, 0, 1, 2])):
            frame[role] = [f"{role[0]}{draw.randint(1, 5)}" for _ in range(count)]
            roles[role] = role
        if draw.random() < 0.2:
            frame["name"] = [draw.choice(NAMES) for _ in range(count)]
            frame["birth date"] = [draw.choice(["1970-02-03", "1970-02-08", "1981-11-12"]) for _ in range(count)]
            roles |= {"name": "identifier", "birth date": "identifier"}
    held = {n: HIERARCHIES[n] for n in names if n in HIERARCHIES and draw.random() < 0.8}
    ignore = draw.random() < 0.3
    given, linked = draw.random() < 0.85, draw.random() < 0.1
    return Microdata(
        frame, roles, held, person, each_row_a_person=person is None, persons_as_given=given, linked=linked,
        ignore_suppressed=ignore,
    )  # fmt: skip


def population(data: Microdata, number: int, rows: int = 30) -> Microdata:
    """Return a table that holds the rows of another one and more, of persons by chance."""
    names = [*data.quasi_identifiers, *data.sensitive]
    frame = pd.concat([data.frame[names], table(number, rows=rows, columns=names, plain=True).frame], ignore_index=True)
    kinds = {name: data.kind(name) for name in names}
    return Microdata(frame, {n: data.roles[n] for n in names}, data.hierarchies, kinds=kinds, each_row_a_person=True)


def published(number: int, again: int = 0) -> tuple[Microdata, Microdata]:
    """Return a table and one that could be published of it, or another: some rows each have cells of their own."""
    data, draw = table(number), random.Random(number * 3 + again + 10**6)
    frame = data.frame.copy().astype(object)
    for column in data.quasi_identifiers:
        cells: list[object] = list(frame[column])
        for first in range(0, len(cells), size := draw.choice([1, 2, 3, 4])):
            general = _general(data, column, [v for v in cells[first : first + size] if v is not None], draw)
            for row in range(first, min(first + size, len(cells))):
                if cells[row] is not None and draw.random() < 0.95:
                    cells[row] = general
        frame[column] = cells
    for column in data.sensitive:
        if draw.random() < 0.2:
            frame.loc[frame.index % 4 == 1, column] = "*"
    kinds = {name: data.kind(name) for name in data.quasi_identifiers if draw.random() < 0.8}
    public = Microdata(
        frame, data.roles, data.hierarchies, data.person, kinds, data.each_row_a_person, data.persons_as_given,
        data.linked, data.ignore_suppressed,
    )  # fmt: skip
    return data, public


def _general(data: Microdata, column: str, values: list[object], draw: random.Random) -> object:
    """Return a cell that covers some values, or nearly."""
    if not values or draw.random() < 0.1:
        return "*"
    kind = draw.choice(["own", "range", "set", "tree"])
    texts = sorted({str(v) for v in values})
    if kind == "range" and column == "day":
        return f"[{texts[0]}..{texts[-1]}]" if len(texts) > 1 else texts[0]
    if kind == "range" and column in ("age", "score"):
        numbers = sorted(float(str(v)) for v in values)
        if draw.random() < 0.4:
            first, last = f"{numbers[0]:g}", f"{numbers[-1]:g}"
            return draw.choice([f"{first}+", f">={first}", f"<={last}", f"<{last}", f">{first}", f"{last} or younger"])
        return f"[{numbers[0]:g}-{numbers[-1]:g}]" if len(texts) > 1 else texts[0]
    if kind == "range" and column == "zip":
        return "61***" if all(t.startswith("61") for t in texts) else "6****"
    if kind == "set":
        return "{" + ",".join(texts) + "}" if len(texts) > 1 else texts[0]
    if kind == "tree" and column in data.hierarchies:
        return data.hierarchies[column].generalize(texts[0], draw.choice([0, 1, 1, 2]))
    return texts[0]


def asked(number: int, data: Microdata, *, guard: bool = False) -> Requirements:
    """Return levels by chance, such as small classes just reach or just miss."""
    draw = random.Random(number * 7 + 1)
    choices: dict[str, Callable[[], object]] = {
        "l": lambda: draw.choice([1, 2, 3]),
        "entropy_l": lambda: draw.choice([1.0, 1.5, 1.8899, 2.0]),
        "c": lambda: draw.choice([0.5, 1.0, 2.0, 3.0]),
        "alpha": lambda: draw.choice([1 / 3, 0.5, 0.6, 2 / 3, 1.0]),
        "t": lambda: draw.choice([0.1, 0.25, 1 / 3, 0.5]),
        "beta": lambda: draw.choice([0.0, 0.5, 1.0, 2.0]),
    }
    if "cost" in data.sensitive and len(data.sensitive) == 1:
        choices["epsilon_m"] = lambda: draw.choice([(1.0, 2.0), (5.0, 3.0), (0.0, 2.0)])
        choices["range_diversity"] = lambda: draw.choice([(0.1, 0.5), (0.5, 1.0), (0.0, 0.7)])
    levels: dict[str, object] = {n: choices[n]() for n in draw.sample([*choices], draw.choice([0, 0, 1, 1, 2, 3]))}
    if "t" in levels:
        tree = all(name in data.hierarchies for name in data.sensitive)
        levels["distance"] = draw.choice(["equal", "ordered", *["hierarchical"] * tree])
    if draw.random() < 0.7 or not levels:
        levels["k"] = draw.choice([1, 2, 2, 3, 4])
    if guard and data.sensitive[0] in data.hierarchies and draw.random() < 0.6:
        levels["guard"] = PersonalGuard(data.sensitive[0], draw.choice([0.25, 0.5, 0.8]))
    if guard and draw.random() < 0.3:
        levels["k_map"] = draw.choice([1, 2, 4])
    if guard and draw.random() < 0.3:
        levels["presence"] = draw.choice([(0.0, 0.5), (0.1, 0.9), (0.0, 1.0)])
    if guard and draw.random() < 0.3:
        levels["kk"] = draw.choice([1, 2, 3])
    return Requirements(**levels)  # type: ignore[arg-type]
