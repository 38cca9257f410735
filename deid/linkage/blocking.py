"""Blocks: which pairs of rows are compared at all. All pairs of 100,000 rows are five thousand million.

A rule is a list of columns that must be equal. Rules are proposed in an order from those that hold nearly all of a
person's pairs among few others to those that hold many others, and taken as long as their pairs stay below a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deid.base.errors import ConfigError
from deid.base.late import pd

PAIRS_A_ROW = 20
"""Pairs that are compared, by default, for each row of a table."""
LEAST_PAIRS = 200_000

_RULES = (
    ("number_*",),
    ("phone",),
    ("email",),
    ("birth", "full"),
    ("birth", "sound"),
    ("birth", "family"),
    ("family", "full", "birth_year"),
    ("family", "birth_sorted"),
    ("full", "birth_sorted"),
    ("family", "initial", "birth_year"),
    ("family", "birth_day"),
    ("sound", "full", "birth_day"),
    ("address", "initial"),
    ("account_*", "initial"),
    ("family", "full", "zip"),
    ("full", "birth_year", "zip"),
    ("family", "full", "city"),
    ("family", "full"),
    ("sound", "full"),
    ("birth", "initial"),
    ("family", "initial", "zip"),
    ("family", "initial"),
    ("full", "birth_day"),
    ("same_*", "family"),
    ("similar_*", "family"),
    ("similar_*", "similar_*"),
    ("same_*",),
    ("similar_*",),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A rule, and what it costs."""

    columns: tuple[str, ...]
    pairs: int
    """Pairs that agree in all its columns, those of other rules among them."""
    condition: str = ""
    """SQL where it is not that the columns are equal."""

    @property
    def sql(self) -> str:
        """The rule as Splink wants it."""
        return self.condition or " and ".join(f"l.{name} = r.{name}" for name in self.columns)

    def __str__(self) -> str:
        return " + ".join(self.columns)


def proposed_blocks(records: pd.DataFrame, *, fresh: bool = False) -> list[Block]:
    """Return the rules that a table allows, with their pairs, in the order in which they are taken.

    Parameters
    ----------
    records : pandas.DataFrame
        As `deid.linkage.comparisons.with_keys` gives them.
    fresh : bool
        Count only pairs of which one row is not of a known person.
    """
    found: dict[tuple[str, ...], Block] = {}
    old = records["known"].notna() if fresh else None
    for rule in _RULES:
        for columns in _expanded(rule, list(map(str, records.columns))):
            if columns in found or not all(records[name].notna().any() for name in columns):
                continue
            sizes = records.groupby(list(columns), sort=False).size().to_numpy()
            pairs = int((sizes * (sizes - 1) // 2).sum())
            if old is not None:
                both = records[old].groupby(list(columns), sort=False).size().to_numpy()
                pairs -= int((both * (both - 1) // 2).sum())
            if pairs:
                found[columns] = Block(columns, pairs)
    return list(found.values())


def _expanded(rule: Sequence[str], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a rule for each column that a ``*`` stands for; two of them are two columns."""
    found: list[tuple[str, ...]] = [()]
    for part in rule:
        if part[-1] == "*":
            own = [name for name in names if name.startswith(part[:-1]) and name[-1].isdigit()]
            found = [(*before, name) for before in found for name in own if name not in before]
        else:
            found = [(*before, part) for before in found if part in names]
    return [one for one in found if list(one[:2]) == sorted(one[:2]) or rule[0] != rule[-1]]


def chosen_blocks(proposed: Sequence[Block], budget: int) -> tuple[list[Block], list[Block]]:
    """Return the rules that stay together below a budget of pairs, and those that do not.

    Raises
    ------
    ConfigError
        When none does; names the one with the fewest pairs.
    """
    taken, left, spent = [], [], 0
    for block in proposed:
        if spent + block.pairs <= budget:
            taken.append(block)
            spent += block.pairs
        else:
            left.append(block)
    if left and not taken:
        least = min(left, key=lambda block: block.pairs)
        raise ConfigError(
            f"no rule keeps below {budget:,} pairs: the best, equal {least}, has {least.pairs:,}",
            f"say --pairs {least.pairs} or more, or name more columns with --kind",
        )
    return taken, left


def neighbour_blocks(records: pd.DataFrame, window: int) -> list[Block]:
    """Return rules that compare each row with the next ones by name, and by birth date (Hernandez and Stolfo 1995).

    They need columns of their own, which are added to ``records``: places in the order, in buckets as wide as the
    window.

    Parameters
    ----------
    records : pandas.DataFrame
        As `deid.linkage.comparisons.with_keys` gives them; changed.
    window : int
        Rows that each is compared with, on either side.
    """
    found = []
    window = min(window, len(records))
    for n, keys in enumerate((("family", "full", "birth"), ("birth", "family", "full"))):
        if not records[keys[0]].notna().any():
            continue
        ordered = records.sort_values(list(keys), kind="stable", na_position="last")
        some = ordered[keys[0]].notna().to_numpy()
        place = pd.Series(range(len(ordered)), index=ordered.index).where(some)
        records[f"place_{n}"] = place.reindex(records.index).astype("Int64")
        records[f"bucket_{n}"] = (records[f"place_{n}"] // window).astype("Int64")
        close = f"abs(l.place_{n} - r.place_{n}) <= {window}"
        for step in (0, 1, -1):
            sql = (
                f"l.bucket_{n} = r.bucket_{n} + {step} and {close}"
                if step
                else f"l.bucket_{n} = r.bucket_{n} and {close}"
            )
            found.append(
                Block((f"the next {window} by {keys[0]}",), int(some.sum()) * window // (1 if not step else 2), sql)
            )
    return found
