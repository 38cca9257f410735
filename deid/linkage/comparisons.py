"""How two rows are compared: a comparison a field, each with levels from equal to different.

Levels are conditions in SQL over a pair's left and right values, as Splink wants them; the first that holds counts. The
shares of a person's own pairs (*m*) and of other pairs (*u*) that reach a level are learnt where a table has enough of
them, and are what stands here where it has not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.linkage.clustering import SIMILAR
from deid.reading.identity import full_names, sound


@dataclass(frozen=True, slots=True)
class Level:
    """How alike two values are."""

    label: str
    condition: str
    """SQL of the left and the right value, ``{l}`` and ``{r}`` behind a column's name."""
    m: float
    """Share of a person's own pairs at this level, where nothing is learnt."""
    u: float
    """Share of other pairs, where few can be looked at."""
    frequency: str = ""
    """Column in which a rare value says more than a common one."""


@dataclass(frozen=True, slots=True)
class FieldComparison:
    """A field, and its levels; the last one is for all pairs that reach no other."""

    field: str
    columns: tuple[str, ...]
    """Columns of the records whose lack of a value makes the comparison say nothing."""
    levels: tuple[Level, ...]
    missing: str = ""
    """Another condition under which it says nothing."""

    @property
    def labels(self) -> list[str]:
        """What the levels are called."""
        return [level.label for level in self.levels]


OTHER = "different"
DOUBTED = "different, of low confidence"
"""Level of two values that differ and of which one may have been misread: it says less than that they differ."""
_SAID = 0.3
"""Weight of that level, m / u, where nothing is learnt: as of a person whose value is misread in one of three rows."""
_ONE_SLIP = "damerau_levenshtein({0}{{l}}, {0}{{r}}) <= 1"


def _equal(column: str) -> str:
    return f"{column}{{l}} = {column}{{r}}"


def _similar(column: str, least: float) -> str:
    return f"jaro_winkler_similarity({column}{{l}}, {column}{{r}}) >= {least}"


def _else(m: float, u: float = 0.97) -> Level:
    return Level(OTHER, "ELSE", m, u)


def _initial(column: str, m: float, u: float) -> Level:
    short = f"(length({column}{{l}}) = 1 or length({column}{{r}}) = 1)"
    return Level("initial", f"{short} and left({column}{{l}}, 1) = left({column}{{r}}, 1)", m, u)


def _of(field: str, *levels: Level, missing: str = "") -> FieldComparison:
    """Return the comparison of a field that is the column of its own name."""
    return FieldComparison(field, (field,), levels, missing)


_GIVEN = _of(
    "given",
    _initial("given", 0.08, 0.01),
    Level("equal", _equal("given"), 0.72, 0.005, "given"),
    Level("short form", "list_has_any(forms{l}, forms{r})", 0.1, 0.002),
    Level("similar", f"({_similar('given', SIMILAR['given'])} or {_ONE_SLIP.format('given')})", 0.06, 0.01),
    Level("middle name", "(given{l} = middle_name{r} or given{r} = middle_name{l})", 0.01, 0.004),
    _else(0.03),
    missing="(given{l} = surname{r} and given{r} = surname{l})",
)
_EXCHANGED = "(family{l} = first_name{r} and family{r} = first_name{l})"
_FAMILY = _of(
    "family",
    Level("equal", _equal("family"), 0.88, 0.003, "family"),
    Level("exchanged with the given name", _EXCHANGED, 0.005, 0.00001),
    Level("one of several", "list_has_any(families{l}, families{r})", 0.02, 0.001),
    Level("similar", f"({_similar('family', SIMILAR['family'])} or {_ONE_SLIP.format('family')})", 0.05, 0.002),
    Level("sounds alike", "sound{l} = sound{r}", 0.005, 0.001),
    Level("different, of women", "gender{l} = 'F' and gender{r} = 'F'", 0.03, 0.25),
    _else(0.01),
)
_BIRTH = FieldComparison(
    "birth",
    ("birth_year",),
    (
        Level("equal", _equal("birth"), 0.88, 0.00005),
        Level(
            "day and month exchanged",
            "left(birth{l}, 4) = left(birth{r}, 4) and substr(birth{l}, 5, 2) = substr(birth{r}, 7, 2)"
            " and substr(birth{l}, 7, 2) = substr(birth{r}, 5, 2)",
            0.03,
            0.00002,
        ),
        Level("one digit, or two exchanged", _ONE_SLIP.format("birth"), 0.04, 0.001),
        Level(
            "two of day, month and year",
            "(left(birth{l}, 6) = left(birth{r}, 6) or right(birth{l}, 4) = right(birth{r}, 4) or"
            " (left(birth{l}, 4) = left(birth{r}, 4) and right(birth{l}, 2) = right(birth{r}, 2)))",
            0.03,
            0.003,
        ),
        Level(
            "the year, no more is told",
            "(birth{l} is null or birth{r} is null) and birth_year{l} = birth_year{r}",
            0.01,
            0.01,
        ),
        _else(0.01),
    ),
)
_SEX = _of("sex", Level("equal", _equal("sex"), 0.99, 0.5), _else(0.01, 0.5))
_MIDDLE = _of(
    "middle", Level("equal", _equal("middle"), 0.5, 0.04, "middle"), _initial("middle", 0.4, 0.06), _else(0.1)
)
_PHONE = _of(
    "phone",
    Level("equal", _equal("phone"), 0.8, 0.00005),
    Level("one digit", _ONE_SLIP.format("phone"), 0.03, 0.0001),
    _else(0.17),
)
_EMAIL = _of(
    "email",
    Level("equal", _equal("email"), 0.75, 0.00001),
    Level("similar", _similar("email", 0.92), 0.05, 0.0005),
    _else(0.2),
)
_ADDRESS = _of(
    "address",
    Level("equal", _equal("address"), 0.65, 0.0003, "address"),
    Level("similar", _similar("address", 0.92), 0.1, 0.001),
    _else(0.25),
)
_ZIP = (
    Level("equal", _equal("zip"), 0.75, 0.02, "zip"),
    Level("first three", "left(zip{l}, 3) = left(zip{r}, 3)", 0.1, 0.1),
)
_CITY = (
    Level("city equal", _equal("city"), 0.8, 0.05, "city"),
    Level("city similar", _similar("city", 0.9), 0.03, 0.002),
)
_PLACES = {
    ("zip",): FieldComparison("place", ("zip",), (*_ZIP, _else(0.15))),
    ("city",): FieldComparison("place", ("city",), (*_CITY, _else(0.17))),
    ("city", "zip"): FieldComparison(
        "place", (), (_ZIP[0], _CITY[0], _CITY[1], _ZIP[1], _else(0.15)),
        "((zip{l} is null or zip{r} is null) and (city{l} is null or city{r} is null))",
    ),
}  # fmt: skip
_TEXTS: Mapping[str, Callable[[str], FieldComparison]] = {
    "number": lambda c: _of(
        c,
        Level("equal", _equal(c), 0.92, 0.00001),
        Level("one digit, or two exchanged", _ONE_SLIP.format(c), 0.04, 0.0001),
        _else(0.04),
        missing=f"(contains({c}{{l}}, ':') and split_part({c}{{l}}, ':', 1) <> split_part({c}{{r}}, ':', 1))",
    ),
    "account": lambda c: _of(
        c, Level("equal", _equal(c), 0.9, 0.0001), Level("one digit", _ONE_SLIP.format(c), 0.04, 0.0001), _else(0.06)
    ),
    "same": lambda c: _of(c, Level("equal", _equal(c), 0.9, 0.05, c), _else(0.1)),
    "similar": lambda c: _of(
        c,
        Level("equal", _equal(c), 0.75, 0.02, c),
        Level("similar", _similar(c, 0.92), 0.1, 0.02),
        Level("somewhat similar", _similar(c, 0.8), 0.05, 0.05),
        _else(0.1),
    ),
}


MEASURES: Mapping[str, str] = {
    "jaro_winkler_similarity": "jaro_winkler_similarity(a, b)",
    "jaro_similarity": "jaro_similarity(a, b)",
    "jaccard": "jaccard(a, b)",
    "damerau_levenshtein": "damerau_levenshtein(a, b)",
    "number_difference": "abs(try_cast(a as double) - try_cast(b as double))",
    "days_between": "abs(try_strptime(a, '%Y%m%d')::date - try_strptime(b, '%Y%m%d')::date)",
}
"""Functions of two texts in the conditions -> what they are in DuckDB; an engine without them is given them so."""
MACROS = ("number_difference", "days_between")
"""Those that DuckDB itself is given."""

_DISTANCES: Mapping[str, tuple[str, bool]] = {
    "jaro_winkler": ("jaro_winkler_similarity", True),
    "jaro": ("jaro_similarity", True),
    "jaccard": ("jaccard", True),
    "levenshtein": ("levenshtein", False),
    "damerau_levenshtein": ("damerau_levenshtein", False),
    "difference": ("number_difference", False),
    "days": ("days_between", False),
}
"""Name of a distance -> function of the left and the right value, and whether more is more alike."""


@dataclass(frozen=True, slots=True)
class Distance:
    """How a user wants a field compared: equal, then by a distance with a level for each cut-off.

    Raises
    ------
    ConfigError
        When there is no such distance, or the cut-offs do not go from alike to less alike.
    """

    name: str
    cuts: tuple[float, ...]

    def __post_init__(self) -> None:
        require(self.name in _DISTANCES, f"there is no distance {self.name!r}", f"there are: {', '.join(_DISTANCES)}")
        up = _DISTANCES[self.name][1]
        bounded = all(0 < cut < 1 if up else 0 < cut < math.inf for cut in self.cuts)
        if not self.cuts or not bounded or list(self.cuts) != sorted(set(self.cuts), reverse=up):
            order = "below 1 and falling, as in .92,.8" if up else "above 0 and rising, as in 1,2"
            raise ConfigError(f"the cut-offs of {self.name} are not numbers {order}", "the first is the most alike")

    def comparison(self, field: str) -> FieldComparison:
        """Return the comparison of a field of records."""
        form, up = _DISTANCES[self.name]
        parts = range(1, len(self.cuts) + 1)
        cuts = [
            Level(
                f"{self.name} {cut:g} or {'more' if up else 'less'}",
                f"{form}({field}{{l}}, {field}{{r}}) {'>=' if up else '<='} {cut!r}",
                0.2 / len(self.cuts), 0.01 * part,
            )
            for cut, part in zip(self.cuts, parts, strict=True)
        ]  # fmt: skip
        return _of(field, Level("equal", _equal(field), 0.7, 0.005, field), *cuts, _else(0.1))


def comparisons_of(
    records: pd.DataFrame, distances: Mapping[str, Distance] | None = None, doubted: Collection[str] | None = None
) -> list[FieldComparison]:
    """Return the comparisons that the columns of records allow, in an order that the columns' does not change.

    Parameters
    ----------
    records : pandas.DataFrame
        As `deid.linkage.columns.read_records` gives them; ``doubt_FIELD`` tells where a value is of low confidence.
    distances : mapping of str to Distance, optional
        By field, what a user wants instead of the field's own levels.
    doubted : collection of str, optional
        Fields that have a level for values of low confidence; by default those of which some are.
    """
    distances = distances or {}
    if doubted is None:
        doubted = {name[6:] for name in map(str, records) if name.startswith("doubt_") and records[name].notna().any()}
    named = {"given": _GIVEN, "family": _FAMILY, "middle": _MIDDLE, "birth": _BIRTH, "sex": _SEX, "phone": _PHONE,
             "email": _EMAIL, "address": _ADDRESS}  # fmt: skip
    found = [one for name, one in named.items() if name in records and records[name].notna().any()]
    places = tuple(name for name in ("city", "zip") if name in records and name not in distances)
    found += [_PLACES[places]] if places else []
    found += [distances[name].comparison(name) for name in ("city", "zip") if name in records and name in distances]
    for name in sorted(map(str, records.columns)):
        kind = name.partition("_")[0]
        if kind in _TEXTS and name[-1].isdigit() and records[name].notna().any():
            found.append(_TEXTS[kind](name))
    found = [distances[one.field].comparison(one.field) if one.field in distances else one for one in found]
    return [_with_doubt(one) if one.field in doubted else one for one in found]


def _with_doubt(one: FieldComparison) -> FieldComparison:
    doubt = f"doubt_{one.field}"
    other = one.levels[-1]
    level = Level(DOUBTED, f"({doubt}{{l}} is not null or {doubt}{{r}} is not null)", _SAID * other.u, other.u)
    return replace(one, levels=(*one.levels[:-1], level, other))


def with_keys(records: pd.DataFrame) -> pd.DataFrame:
    """Return records with the columns that comparisons and blocks need beside their own."""
    found: dict[str, Any] = {str(name): cells for name, cells in records.items()}
    rows = len(records)

    def column(name: str) -> list[str]:
        return [value or "" for value in records[name].tolist()] if name in records else [""] * rows

    given, family, births = column("given"), column("family"), column("birth")
    found["forms"] = [[one, *full_names(one)] if len(one) > 1 else None for one in given]
    found["middle_name"] = [one if len(one) > 2 else None for one in column("middle")]
    found["surname"] = [one or None for one in family]
    found["first_name"] = [one if len(one) > 1 else None for one in given]
    found["gender"] = [s or None for s in column("sex")]
    found["sound"] = [sound(one) or None for one in family]
    found["initial"] = [one[:1] or None for one in given]
    found["full"] = [one if len(one) > 1 else None for one in column("full_given")]
    found["birth_day"] = [one[4:] or None for one in births]
    found["birth_sorted"] = ["".join(sorted(one)) or None for one in births]
    found["zip3"] = [one[:3] or None for one in column("zip")]
    if "families" in records:
        found["families"] = [list(own) if own else None for own in records["families"]]
    for name in ("given", "full_given", "middle", "family", "families", "birth", "birth_year", "sex", "zip", "city"):
        found.setdefault(name, [None] * rows)
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in found.items()})
