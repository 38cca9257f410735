"""Invented patients, some of whom come twice: by a short form, a slip, an initial, with day and month exchanged."""

from __future__ import annotations

import functools
import itertools
import random

import pandas as pd

from deid.base.resources import resource_folder
from deid.reading.identity import full_names

COLUMNS = ("name", "birth_date", "sex", "phone", "street", "zip", "diagnosis")
SLIPS = ("short form", "letter", "initial", "exchanged", "letter and exchanged")


@functools.cache
def _list(name: str) -> list[str]:
    path = resource_folder("dictionaries") / "names" / name / "items.txt"
    return [line.strip() for line in path.read_text().splitlines() if line.strip().isalpha() and len(line.strip()) > 4]


@functools.cache
def _names(*lists: str) -> tuple[list[str], list[float]]:
    """Names, and their cumulative weights: a few are common, most are rare."""
    names = list(itertools.chain.from_iterable(_list(own) for own in lists))
    return names, list(itertools.accumulate(1 / (rank + 3) for rank in range(len(names))))


@functools.cache
def _short_forms() -> dict[str, list[str]]:
    path = resource_folder("dictionaries") / "names" / "nicknames" / "items.txt"
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        for form in line.replace(",", " ").replace("\t", " ").split()[:1]:
            for full in full_names(form):
                found.setdefault(full, []).append(form)
    return found


def _draw(random_of: random.Random, *lists: str) -> str:
    names, weights = _names(*lists)
    return random_of.choices(names, cum_weights=weights)[0].capitalize()


def population(count: int, seed: int = 1) -> list[tuple[str, ...]]:
    """Different persons in households: two or three share family name, telephone number and address."""
    random_of = random.Random(seed)
    found: list[tuple[str, ...]] = []
    while len(found) < count:
        family = _draw(random_of, "last_popular", "last_unambig")
        phone = f"({random_of.randint(201, 989)}) {random_of.randint(200, 999)}-{random_of.randint(0, 9999):04}"
        street = f"{random_of.randint(1, 999)} {_draw(random_of, 'last_popular', 'last_unambig')} Street"
        place = f"{random_of.randint(1001, 99950):05}"
        for _ in range(random_of.randint(1, 3)):
            sex = random_of.choice("FM")
            own = "female" if sex == "F" else "male"
            given = _draw(random_of, f"{own}_popular", f"{own}_unambig")
            birth = f"{random_of.randint(1925, 2015)}-{random_of.randint(1, 12):02}-{random_of.randint(1, 28):02}"
            dx = random_of.choice(("asthma", "flu", "gout", "burn"))
            found.append((f"{given} {family}", birth, sex, phone, street, place, dx))
    return found[:count]


def again(row: tuple[str, ...], slip: str, random_of: random.Random) -> tuple[str, ...]:
    """The same person as another note writes him, at the same telephone number."""
    name, birth, *rest = row
    given, family = name.split()
    if slip == "short form":
        given = random_of.choice(_short_forms().get(given.lower(), [given])).capitalize()
    if slip.startswith("letter"):
        place = random_of.randrange(1, len(family))
        family = (
            family[:place] + family[place + 1 :] if random_of.random() < 0.5 else family[:place] + "e" + family[place:]
        )
    if slip == "initial":
        given = f"{given[0]}."
    if slip.endswith("exchanged"):
        year, month, day = birth.split("-")
        birth = f"{year}-{day}-{month}" if int(day) <= 12 else birth
    return (f"{given} {family}", birth, *rest)


def table(persons: int, split: int, seed: int = 1) -> pd.DataFrame:
    """A table of so many persons, the first of whom come a second time."""
    random_of = random.Random(seed)
    rows = population(persons, seed)
    rows += [again(row, slip, random_of) for row, slip in zip(rows[:split], itertools.cycle(SLIPS), strict=False)]
    random_of.shuffle(rows)
    return pd.DataFrame(rows, columns=list(COLUMNS))
