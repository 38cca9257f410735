"""Made-up mentions of persons, as extraction finds them in notes and tables, with the person that each one is of.

Persons come from the pools of surrogates: family names with a long tail and a few very common ones, given names by
falling frequency, families at one address (twins, couples, a father and a son of one name). A mention then tells little
of its person, and some of it wrong, at the rates that `Rates` states. Nothing is copied from anybody's records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deid.base.arrays import BoolArray, IntArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.reading.identity import short_forms
from deid.replacement.pools import cities, name_pool, read_words, states

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = (
    "mention", "person", "first", "last", "birth_date", "sex", "record_number", "authority", "phone", "zip", "city",
    "street",
)  # fmt: skip
"""Columns of a table of mentions; ``person`` is the truth."""

_AREA = "US-OH"
_EPOCH = np.datetime64("1930-01-01")
_KEYS = {a: b for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890") for a, b in pairwise(row)}


@dataclass(frozen=True)
class Rates:
    """How persons and their mentions are made: probabilities, but for the first two.

    Errors of a field are those of its values that are there; each mention draws for itself. Families' rates are shares
    of all persons, counted with both of the pair.
    """

    mentions: float = 4.25
    """Mentions a person: 1 and a Poisson number."""
    common: float = 50
    """How many family names are very common."""
    common_surname: float = 0.55
    twin: float = 0.02
    couple: float = 0.1
    junior: float = 0.01
    """Fathers and sons of one name at one address."""
    suffix: float = 0.5
    """A junior's mention says Jr."""
    moved: float = 0.1
    """Persons with other address, phone and city from some mention on."""
    married: float = 0.03
    """Women with another family name from some mention on."""
    nickname: float = 0.12
    """Of names that have short forms."""
    initial: float = 0.08
    first_typo: float = 0.04
    last_typo: float = 0.04
    no_birth_date: float = 0.22
    wrong_birth_date: float = 0.08
    """Half have day and month swapped, where both can be; the others are off by a day, month, year or ten years."""
    no_sex: float = 0.05
    wrong_sex: float = 0.005
    no_record_number: float = 0.45
    record_number_typo: float = 0.04
    second_authority: float = 0.05
    """Of mentions: their record number is another hospital's."""
    no_phone: float = 0.75
    phone_typo: float = 0.02
    no_zip: float = 0.6
    """Phones, addresses and cities are told in few notes."""
    no_city: float = 0.7
    no_street: float = 0.85

    def __post_init__(self) -> None:
        for one in fields(self):
            value, bounds = getattr(self, one.name), {"mentions": (1, 1000), "common": (1, 1000)}
            low, high = bounds.get(one.name, (0, 1))
            if not low <= value <= high:
                raise ConfigError(f"the rate {one.name} is {value:g}, outside {low} to {high}", "see docs/linkage.md")
        if self.twin + self.couple + self.junior > 1:
            raise ConfigError("twins, couples and juniors are more than all persons", "lower one of the three rates")


@cache
def _names(kind: str) -> NDArray[Any]:
    """Return the names of a kind, the most common first: cells are by falling frequency, the largest count most."""
    pool = name_pool("en")
    ranked = sorted(
        ((rank + 0.5) / cell.size, pool.words[cell.start + rank])
        for cell in pool.by_kind.values()
        if cell.kind == kind and cell.origin in ("general", "spanish")
        for rank in range(cell.size)
    )
    return np.array([pool.spelled(word, False) for _, word in ranked], dtype=object)


def _falling(rng: np.random.Generator, size: int, choices: int, shift: float) -> IntArray:
    """Draw places below ``choices`` with probabilities that fall as 1 / (place + shift) does."""
    weights = np.cumsum(1 / (np.arange(choices) + shift))
    return np.searchsorted(weights, rng.random(size) * weights[-1], side="right")


def _surnames(rng: np.random.Generator, size: int, rates: Rates) -> NDArray[Any]:
    names, common = _names("S"), int(rates.common)
    rest = common + _falling(rng, size, len(names) - common, 50)
    return names[np.where(rng.random(size) < rates.common_surname, _falling(rng, size, common, 5), rest)]


def _homes(rng: np.random.Generator, size: int) -> IntArray:
    """Return homes as rows of numbers: city, ZIP code, house, street, kind of street, phone."""
    city = _falling(rng, size, len(cities()[_AREA]), 1)
    zips = city * 5 + (rng.random(size) * np.maximum(1, 5 - city)).astype(np.int64)  # larger cities have more of them
    high = (len(read_words("words.toml")["groups"]["streets"]), len(read_words("words.toml")["groups"]["streets_kind"]))
    rest = [rng.integers(1, 2000, size), *(rng.integers(0, n, size) for n in high), rng.integers(0, 10_000_000, size)]
    return np.stack([city, zips, *rest])


def _typos(rng: np.random.Generator, values: NDArray[Any], wrong: BoolArray) -> None:
    """Put one slip of the hand into each value that is to be wrong: a letter more, less, moved or of the next key."""
    rows = np.flatnonzero(wrong)
    for row, how, place in zip(rows.tolist(), rng.integers(0, 4, len(rows)), rng.random(len(rows)), strict=True):
        word = values[row]
        at = 1 + int(place * (len(word) - 2)) if len(word) > 2 else len(word) - 1
        letter = _KEYS.get(word[at].lower(), "e" if word[at].isalpha() else "0")
        put = (letter, word[at] * 2, "", word[at + 1 : at + 2] + word[at])[how]
        values[row] = word[:at] + put + word[at + (2 if how == 3 else 1) :] or word


def _wrong_dates(rng: np.random.Generator, dates: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    months = dates.astype("M8[M]")
    day, month = (dates - months).astype(int) + 1, months.astype(int) % 12 + 1
    years = months.astype("M8[Y]").astype("M8[M]")
    swapped = (years + (day - 1)).astype("M8[D]") + (month - 1)
    steps = np.stack([dates + 1, *((months + n).astype("M8[D]") + np.minimum(day, 28) - 1 for n in (1, -12, -120))])
    shifted = steps[rng.integers(0, 4, len(dates)), np.arange(len(dates))]
    return np.where((rng.random(len(dates)) < 0.5) & (day <= 12) & (day != month), swapped, shifted)


def _persons(rng: np.random.Generator, size: int, rates: Rates) -> dict[str, NDArray[Any]]:
    male = rng.random(size) < 0.5
    male_names, female_names = _names("M"), _names("F")
    of_men = male_names[_falling(rng, size, 600, 8)]
    of_women = female_names[_falling(rng, size, 900, 8)]
    last, homes = _surnames(rng, size, rates), _homes(rng, size)
    born = _EPOCH + rng.integers(0, 365 * 90, size)
    junior = np.zeros(size, dtype=bool)
    start = 0
    for rate, kind in ((rates.twin, "twin"), (rates.couple, "couple"), (rates.junior, "junior")):
        end = min(start + 2 * round(rate * size / 2), size - size % 2)
        one, two = slice(start, end, 2), slice(start + 1, end, 2)
        last[two], homes[:, two] = last[one], homes[:, one]
        if kind == "twin":
            born[two] = born[one]
        else:
            male[one] = True
            male[two] = kind == "junior"
            years = (-8, 8) if kind == "couple" else (18, 45)
            born[two] = born[one] + rng.integers(years[0] * 365, years[1] * 365, len(born[one]))
        if kind == "junior":
            of_men[two], junior[two] = of_men[one], True
        start = end
    return {
        "first": np.where(male, of_men, of_women), "last": last, "born": born, "male": male, "junior": junior,
        "home": homes, "next_home": _homes(rng, size), "next_last": _surnames(rng, size, rates),
        "moves": np.where(rng.random(size) < rates.moved, rng.random(size), 1.0),
        "marries": np.where((rng.random(size) < rates.married) & ~male, rng.random(size), 1.0),
        "number": 1_000_000 + rng.permutation(9 * max(size, 1_000_000))[:size],
        "other_number": 1_000_000 + rng.permutation(9 * max(size, 1_000_000))[:size],
    }  # fmt: skip


def _given(rng: np.random.Generator, first: NDArray[Any], rates: Rates) -> NDArray[Any]:
    """Return given names as they are written: some as short forms, some as initials, some with a typo."""
    draw, pick = rng.random(len(first)), rng.random(len(first))
    found = first.copy()
    for row in np.flatnonzero(draw < rates.nickname).tolist():
        forms = short_forms(first[row].lower())
        if forms:
            found[row] = forms[int(pick[row] * len(forms))].title()
    _typos(rng, found, rng.random(len(first)) < rates.first_typo)
    for row in np.flatnonzero(rng.random(len(first)) < rates.initial).tolist():
        found[row] = first[row][0] + ("." if pick[row] < 0.5 else "")
    return found


def make_mentions(size: int, rates: Rates | None = None, seed: int = 0) -> pd.DataFrame:
    """Return mentions of made-up persons, in no order.

    Parameters
    ----------
    size : int
        Rows.
    rates : Rates, optional
    seed : int
        The same seed, size and rates give the same table.

    Returns
    -------
    DataFrame
        `COLUMNS`, all of them text; None where a mention does not tell.

    Raises
    ------
    ConfigError
        When the size is below 1.
    """
    require(size >= 1, f"{size} mentions cannot be made", "at least 1")
    rates = rates or Rates()
    rng = np.random.default_rng(seed)
    counts = 1 + rng.poisson(rates.mentions - 1, size)
    of = np.repeat(np.arange(size), counts)[:size]
    persons = _persons(rng, int(of[-1]) + 1, rates)
    names = rng.permutation(int(of[-1]) + 1)  # places among the persons tell of families
    of = of[rng.permutation(size)]
    told = {name: values[..., of] for name, values in persons.items()}
    when = rng.random(size)

    def hide(values: Sequence[str] | NDArray[Any], rate: float) -> NDArray[Any]:
        found = np.array(values, dtype=object)
        found[rng.random(size) < rate] = None
        return found

    last = np.where(when > told["marries"], told["next_last"], told["last"])
    _typos(rng, last, rng.random(size) < rates.last_typo)
    last = np.where(told["junior"] & (rng.random(size) < rates.suffix), last + " Jr.", last)
    born = np.where(rng.random(size) < rates.wrong_birth_date, _wrong_dates(rng, told["born"]), told["born"])
    second = rng.random(size) < rates.second_authority
    number = np.where(second, told["other_number"], told["number"]).astype(str).astype(object)
    _typos(rng, number, rng.random(size) < rates.record_number_typo)
    number = hide(number, rates.no_record_number)
    city, code, house, street, kind, line = np.where(when > told["moves"], told["next_home"], told["home"])
    phone = np.array([f"{614 + n % 3}-{n // 10_000:03}-{n % 10_000:04}" for n in line.tolist()], dtype=object)
    _typos(rng, phone, rng.random(size) < rates.phone_typo)
    words = read_words("words.toml")["groups"]
    roads = [w.title() for w in words["streets"]], [w.title() for w in words["streets_kind"]]
    lines = zip(house.tolist(), street.tolist(), kind.tolist(), strict=True)
    zip3 = next(state.zip3 for state in states() if state.code == _AREA[3:])
    male = told["male"] ^ (rng.random(size) < rates.wrong_sex)
    columns: list[Any] = [
        [f"m{row:07}" for row in range(size)],
        [f"p{person:07}" for person in names[of].tolist()],
        _given(rng, told["first"], rates),
        last,
        hide(np.datetime_as_string(born, unit="D"), rates.no_birth_date),
        hide(np.where(male, "M", "F"), rates.no_sex),
        number,
        [n and ("H2" if other else "H1") for n, other in zip(number, second.tolist(), strict=True)],
        hide(phone, rates.no_phone),
        hide([f"{zip3[n % len(zip3)]}{n // len(zip3):02}" for n in code.tolist()], rates.no_zip),
        hide(np.array(cities()[_AREA], dtype=object)[city], rates.no_city),
        hide([f"{n} {roads[0][a]} {roads[1][b]}" for n, a, b in lines], rates.no_street),
    ]
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in zip(COLUMNS, columns, strict=True)})
