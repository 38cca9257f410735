"""A perturbed table: columns swapped, noisy, rounded, averaged or randomized, with what that costs and leaves.

No verifier speaks for perturbed values but where all quasi-identifiers are averaged together, so that each row has k
equals; what remains is measured: how many persons an attacker links by the nearest row (Domingo-Ferrer and Torra, in
Doyle and others (eds.), Confidentiality, Disclosure and Data Access, 2001), and how near published cells are to the
original ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from deid.base.arrays import FloatArray, IndexArray
from deid.base.errors import ConfigError, InputError, method_fault, require, told_as
from deid.base.keys import Key
from deid.base.late import pd
from deid.base.options import column_names, named_value, option
from deid.base.reports import Section
from deid.disclosure.classes import NO_QUASI_IDENTIFIER, equivalence_classes
from deid.disclosure.guards import check_before_release, fates_of
from deid.disclosure.perturbation import (
    add_noise,
    microaggregate,
    randomize_small_domains,
    round_values,
    swap_values,
)
from deid.disclosure.release import content_order, order_of_columns
from deid.table.cell_text import table_hash
from deid.table.microdata import NA_CODE, Microdata, check_columns
from deid.table.scalars import plain_number

_HOW = "What is done to columns"
_MOST_LINKED = 2_000
_BLOCK = 1 << 24
_NEAR = 0.05


@dataclass(frozen=True)
class PerturbOptions:
    """What is done to which columns; a column is named once."""

    PANEL: ClassVar[str] = _HOW
    swap: tuple[str, ...] = option(
        (), "Swap the values of a share of the rows, as zip=0.2 (repeatable).", metavar="COLUMN=P", panel=""
    )
    noise: tuple[str, ...] = option(
        (), "Add normal noise, by the column's standard deviation, as cost=0.1 (repeatable).", metavar="COLUMN=SD"
    )
    round: tuple[str, ...] = option(
        (), "Round to multiples of a base, as age=5 (repeatable).", metavar="COLUMN=BASE", panel=""
    )
    microaggregate: tuple[str, ...] = option(
        (), "Replace numbers by the means of groups of --k rows.", metavar="A,B", panel=""
    )
    randomize: tuple[str, ...] = option(
        (),
        "Draw values anew within blocks of LEAST values, with amplification GAMMA: diagnosis=5,10 (repeatable).",
        metavar="COLUMN=GAMMA,LEAST",
    )
    k: int | None = option(None, "Least rows of a group of --microaggregate.", panel="")
    window: float | None = option(None, "Swap only rows whose ranks differ by at most this share.", "--rank-window")
    by_chance: bool = option(False, "Round up or down by chance, so that means stay.", "--round-by-chance")

    def steps(self) -> dict[str, tuple[str, tuple[float, ...]]]:
        """Return what is done to each column, and its parameters.

        Raises
        ------
        ConfigError
            When nothing is said, something cannot be read, or a column is named twice.
        """
        found: dict[str, tuple[str, tuple[float, ...]]] = {}
        said = [
            (step, *named_value(text, f"--{step}", example))
            for step, example, texts in (
                ("swap", "for example: --swap zip=0.2", self.swap),
                ("noise", "for example: --noise cost=0.1", self.noise),
                ("round", "for example: --round age=5", self.round),
                ("randomize", "for example: --randomize diagnosis=5,10", self.randomize),
            )
            for text in texts
        ]
        said += [("microaggregate", name, "") for name in column_names(*self.microaggregate)]
        for step, name, written in said:
            with told_as(ConfigError(f"--{step} {name}: no number behind =", "for example: 0.2"), ValueError):
                values = tuple(float(part) for part in written.split(",")) if written else ()
            if len(values) != {"microaggregate": 0, "randomize": 2}.get(step, 1) or not np.isfinite(values).all():
                raise ConfigError(f"--{step} {name}: {len(values)} numbers behind =", "see deid perturb --help")
            require(name not in found, f"column {name!r} is named twice", "one step a column")
            found[name] = step, values
        require(found, "nothing is asked for", "for example: --round age=5 --swap zip=0.2")
        if self.microaggregate and self.k is None:
            raise ConfigError("--microaggregate needs the size of its groups", "for example: --k 5")
        require(self.k is None or self.k > 1, f"groups of {self.k} rows", "at least 2; for example: --k 5")
        return found


@dataclass(frozen=True)
class ColumnUtility:
    """What a perturbed column still tells.

    Parameters
    ----------
    step : str
        What was done.
    changed : float
        Share of the cells that differ.
    distance : float
        Between the distributions before and after: of numbers Kolmogorov and Smirnov's, of others total variation.
    mean_shift : float or None
        Change of the mean, in standard deviations of the original; None where there are no numbers.
    sd_ratio : float or None
        Standard deviation after over before.
    near : float or None
        Share of the cells within a twentieth of the original standard deviation: what a cell discloses.
    """

    step: str
    changed: float
    distance: float
    mean_shift: float | None = None
    sd_ratio: float | None = None
    near: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Perturbed:
    """A perturbed table.

    Parameters
    ----------
    frame : pandas.DataFrame
        What may leave, sorted by its content.
    columns : mapping of str to ColumnUtility
        What was done to each column, and what that cost.
    correlation : float or None
        Greatest change of a correlation between two columns of numbers; None with fewer than two.
    linked : float
        Share of persons that an attacker links rightly who knows all quasi-identifiers and takes the nearest row, by
        chance where several are equally near.
    unique : float
        Share of the published rows that are alone with their quasi-identifiers.
    smallest_class : int
        Rows of the smallest class.
    tried : int
        Persons that the attacker tried.
    fates : mapping of str to str
        What became of each column of the table, and its role.
    """

    frame: pd.DataFrame
    columns: Mapping[str, ColumnUtility]
    correlation: float | None
    linked: float
    unique: float
    smallest_class: int
    tried: int
    fates: Mapping[str, str]

    def sentences(self) -> list[str]:
        """Return what whoever releases the table must know."""
        same = {name for name, own in self.columns.items() if not own.changed}
        plain = [name for name, fate in self.fates.items() if fate.startswith("unaltered ") or name in same]
        return [f"published as they are, without protection: {', '.join(plain)}"] if plain else []

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values; no cell of the table."""
        told = {name: getattr(self, name) for name in ("correlation", "linked", "unique", "smallest_class", "tried")}
        return {"rows": len(self.frame), **told, "utility": {name: asdict(own) for name, own in self.columns.items()}}

    def sections(self) -> list[Section]:
        """Return what was done to each column, and what an attacker is left with, as tables."""

        def shown(value: float | None) -> str:
            return "" if value is None else f"{value:.4f}"

        columns = [
            (name, own.step, *(shown(value) for what, value in asdict(own).items() if what != "step"))
            for name, own in self.columns.items()
        ]
        table = [
            ("rows", f"{len(self.frame):,}"),
            ("greatest change of a correlation", shown(self.correlation) or "-"),
            ("linked rightly by the nearest row", f"{self.linked:.2%} of {self.tried:,} tried"),
            ("alone with their quasi-identifiers", f"{self.unique:.2%}"),
            ("smallest class", f"{self.smallest_class:,}"),
        ]
        titles = ("column", "step", "changed", "distance", "mean shift", "sd ratio", "near")
        return [Section("", titles, columns), Section("", ("table", "value"), table)]


def perturb(data: Microdata, asked: PerturbOptions, key: Key) -> Perturbed:
    """Perturb columns of a table. The order of its rows changes nothing.

    Parameters
    ----------
    data : Microdata
        The table; every column must be spoken of, and every row be a person.
    asked : PerturbOptions
        What is done.
    key : Key
        Draws come from it, from the table's content and from what is asked: who has it not cannot take them back, and
        two releases of a table have noise of their own, which cannot be subtracted.

    Returns
    -------
    Perturbed
        The table and its measures.

    Raises
    ------
    ConfigError
        When nothing is said of a column (`deid.disclosure.guards`), rows belong to persons, a column does not exist
        or is dropped, or a parameter is out of range.
    InputError
        When a column is not numeric where it must be, or has gaps where it must not.
    """
    steps = asked.steps()
    check_columns(data.frame, steps)
    check_before_release(data)
    if data.person is not None:
        raise ConfigError(
            "rows of one person are perturbed each by itself, and their mean takes the noise away",
            "perturb a table of one row a person",
        )
    fates = fates_of(data)
    gone = [name for name in steps if fates[name].fate == "dropped"]
    require(not gone, f"{', '.join(gone)} would be left out", "name columns that are published")
    require(data.quasi_identifiers, *NO_QUASI_IDENTIFIER)
    named = [name for name in data.frame.columns if fates[name].fate != "dropped"]
    data = data.with_columns(order_of_columns(data))
    data = data.arranged(content_order(data))
    own = key.derive("perturb").derive(f"{table_hash(data.frame, key.derive('table').secret[:64])} {asked}")
    after: dict[str, pd.Series] = {}
    for name, (step, values) in steps.items():
        if step != "microaggregate":
            seed = int.from_bytes(own.mac(step, name)[:8], "big")
            after[name] = _perturbed(data, name, step, values, asked, seed)
    averaged = [name for name, (step, _) in steps.items() if step == "microaggregate"]
    after |= _averaged(data, averaged, asked.k)
    changed = data.frame.assign(**after)
    published = Microdata(changed, data.roles, {}, kinds=data.kinds)
    linked, tried = nearest_links(data, published, seed=int.from_bytes(own.mac("attack")[:8], "big"))
    classes = equivalence_classes(published)
    if asked.k is not None and set(averaged) >= set(data.quasi_identifiers) and classes.persons.min() < asked.k:
        raise method_fault("rows of a group differ")
    names = [name for name in data.frame.columns if fates[name].fate != "dropped"]
    order = content_order(Microdata(changed[names], {name: data.roles.get(name, "other") for name in names}))
    return Perturbed(
        changed[named].iloc[order].reset_index(drop=True),
        {name: _utility(data, published, name, step) for name, (step, _) in steps.items()},
        _correlation(data, published),
        linked,
        float((classes.persons == 1).sum() / len(data)),
        int(classes.persons.min()),
        tried,
        {
            name: f"{'dropped' if name not in names else steps[name][0] if name in steps else 'unaltered'} ({own.role})"
            for name, own in fates.items()
        },
    )


def _numbers(data: Microdata, name: str) -> FloatArray:
    if data.kind(name) != "numeric":
        raise InputError("the column is not numeric", "swap its values, or randomize them", f"column {name!r}")
    return np.asarray(data.numbers(name), dtype=float)


def _written(data: Microdata, name: str, numbers: FloatArray, more: int = 0) -> pd.Series:
    """Return numbers with as many decimal places as the column has, and ``more``."""
    texts = [text for text in data.codes(name).values if "e" not in text.lower()]
    places = max((len(text.partition(".")[2]) for text in texts), default=0) + more
    rounded = np.round(numbers, places)
    if places:
        return pd.Series(rounded, index=data.frame.index)
    missing = np.isnan(rounded)
    whole = pd.Series(np.where(missing, 0, rounded).astype(np.int64), index=data.frame.index)
    return whole.astype("Int64").mask(missing) if missing.any() else whole


def _cells(data: Microdata, name: str, codes: IndexArray) -> pd.Series:
    """Return the cells of a column for other codes of its values, each as some row has it."""
    own = data.codes(name).codes
    row = np.full(len(data.codes(name).values) + 1, -1)
    row[own] = np.arange(len(own))  # the last place is that of missing cells
    return data.frame[name].iloc[row[codes]].set_axis(data.frame.index)


def _perturbed(
    data: Microdata, name: str, step: str, values: tuple[float, ...], asked: PerturbOptions, seed: int
) -> pd.Series:
    """Return a column as a step other than microaggregation changes it."""
    first = values[0]
    if step == "swap":
        swapped = swap_values(data.codes(name).codes.astype(np.intp), first, window=asked.window, seed=seed)
        return _cells(data, name, swapped)
    if step == "noise":
        return _written(data, name, add_noise(_numbers(data, name), first, seed=seed))
    if step == "round":
        found = round_values(_numbers(data, name), first, random=asked.by_chance, seed=seed)
        return _written(data, name, found, len(plain_number(first).partition(".")[2]))
    require(first >= 1, f"an amplification of {first:g}", "1 is full randomization; for example 5")
    require(float(values[1]).is_integer(), f"blocks of {values[1]:g} values", "give a whole number")
    return _cells(data, name, randomize_small_domains(data, name, first, int(values[1]), seed=seed).codes)


def _averaged(data: Microdata, names: list[str], k: int | None) -> dict[str, pd.Series]:
    """Return columns of numbers with the means of groups of k rows in place of the values."""
    if not names or k is None:
        return {}
    points = np.stack([_numbers(data, name) for name in names], axis=1)
    for place, name in enumerate(names):
        if np.isnan(points[:, place]).any():
            raise InputError("a missing value has no mean", "fill it in, or swap the column", f"column {name!r}")
    means, _ = microaggregate(points, k)
    return {name: _written(data, name, means[:, place], 2) for place, name in enumerate(names)}


def _utility(before: Microdata, after: Microdata, name: str, step: str) -> ColumnUtility:
    a, b = _common_codes(before, after, name)
    changed = float((a != b).mean())
    if before.kind(name) == "nominal":
        size = int(max(a.max(), b.max())) + 2
        counts = [np.bincount(codes + 1, minlength=size) / len(codes) for codes in (a, b)]
        return ColumnUtility(step, changed, float(np.abs(counts[0] - counts[1]).sum() / 2))
    old, new = (np.asarray(table.numbers(name), dtype=float) for table in (before, after))
    known, found = np.sort(old[~np.isnan(old)]), np.sort(new[~np.isnan(new)])
    if not len(known):
        return ColumnUtility(step, changed, 0.0)
    line = np.concatenate([known, found])
    steps = [np.searchsorted(values, line, side="right") / len(values) for values in (known, found)]
    deviation = float(known.std()) or 1.0
    both = ~np.isnan(old) & ~np.isnan(new)
    return ColumnUtility(
        step,
        changed,
        float(np.abs(steps[0] - steps[1]).max()),
        float((found.mean() - known.mean()) / deviation),
        float(found.std() / deviation),
        float((np.abs(old[both] - new[both]) <= _NEAR * deviation).mean()),
    )


def _common_codes(before: Microdata, after: Microdata, name: str) -> tuple[IndexArray, IndexArray]:
    """Return a column of both tables in the same codes; missing cells are -1."""
    first, second = before.codes(name), after.codes(name)
    place = {text: at for at, text in enumerate(dict.fromkeys((*first.values, *second.values)))}
    tables = (np.array([*(place[text] for text in own.values), NA_CODE], dtype=np.intp) for own in (first, second))
    one, two = tables
    return one[first.codes], two[second.codes]


def _correlation(before: Microdata, after: Microdata) -> float | None:
    names = [name for name in before.frame.columns if before.kind(name) == "numeric"]
    fates = fates_of(before)
    names = [name for name in names if fates[name].fate != "dropped" and len(before.codes(name).values) > 1]
    if len(names) < 2:
        return None
    tables = [pd.DataFrame({name: table.numbers(name) for name in names}).corr() for table in (before, after)]
    change = (tables[0] - tables[1]).abs().to_numpy()
    return None if np.isnan(change).all() else float(np.nanmax(change))


def nearest_links(before: Microdata, after: Microdata, *, seed: int = 0) -> tuple[float, int]:
    """Return the share of persons linked rightly by the nearest row, and how many were tried.

    The attacker knows all quasi-identifiers of a person as they were. The distance of two rows is the root of the
    summed squares over the quasi-identifiers: differences of numbers and dates in standard deviations, one where words
    differ.

    Parameters
    ----------
    before, after : Microdata
        The same rows in the same order, before and after.
    seed : int
        Draws the persons of a large table; up to 2,000 are tried.
    """
    count = len(before)
    tried = min(count, _MOST_LINKED, max(200, 200_000_000 // count))
    chosen = np.sort(np.random.default_rng(seed).choice(count, tried, replace=False))
    lines: list[tuple[FloatArray, FloatArray, bool]] = []
    for name in before.quasi_identifiers:
        if before.kind(name) == "nominal":
            a, b = _common_codes(before, after, name)
            lines.append((a[chosen].astype(float), b.astype(float), True))
        else:
            a, b = (np.asarray(table.numbers(name), dtype=float) for table in (before, after))
            deviation = float(np.nanstd(a)) if not np.isnan(a).all() else 1.0
            lines.append((a[chosen] / (deviation or 1.0), b / (deviation or 1.0), False))
    right = 0.0
    step = max(1, _BLOCK // count)
    for begin in range(0, tried, step):
        end = min(begin + step, tried)
        distance = np.zeros((end - begin, count))
        for own, others, words in lines:
            gap = own[begin:end, None] - others[None, :]
            if words:
                distance += gap != 0
            else:
                square = gap**2
                both = np.isnan(own[begin:end])[:, None] & np.isnan(others)[None, :]
                distance += np.where(np.isnan(square), np.where(both, 0.0, 1.0), square)
        least = distance.min(axis=1)
        near = distance <= least[:, None] + 1e-9
        right += float((near[np.arange(end - begin), chosen[begin:end]] / near.sum(axis=1)).sum())
    return right / tried, tried
