"""All verifiers on one release: which of the levels asked for it reaches, and what it reaches in any case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from deid.base.errors import ConfigError, require, told_as
from deid.base.options import option
from deid.disclosure.classes import NONE_SENSITIVE, Verdict
from deid.disclosure.closeness import t_closeness
from deid.disclosure.consistency import delta_presence, k_map, kk_anonymity
from deid.disclosure.privacy import (
    alpha_k_anonymity,
    beta_likeness,
    distinct_l_diversity,
    entropy_l_diversity,
    epsilon_m_anonymity,
    k_anonymity,
    personalised_privacy,
    range_diversity,
    recursive_l_diversity,
)
from deid.table.microdata import Microdata, check_columns


def read_pair(text: str) -> tuple[float, float]:
    """Return two numbers that are written with a comma between: ``10,2``.

    Raises
    ------
    ConfigError
        When they are none.
    """
    with told_as(ConfigError(f"{text!r} is not two numbers", "put a comma between, for example: 10,2"), ValueError):
        first, second = (float(part) for part in text.split(","))
    return first, second


class PersonalGuard(NamedTuple):
    """Personalised privacy: the column of guarding nodes, and the greatest chance of a breach."""

    column: str
    breach: float


def read_guard(text: str) -> PersonalGuard:
    """Return a column and a probability that are written ``COLUMN=P``.

    Raises
    ------
    ConfigError
        When they are not.
    """
    name, _, breach = text.rpartition("=")
    with told_as(ConfigError("--guard is not of the form COLUMN=P", "for example: --guard guarding=0.5"), ValueError):
        return PersonalGuard(name, float(breach))


_MODELS, _TABLES, _CODES = "What must hold", "Against other tables", "Columns and codes together"


@dataclass(frozen=True)
class Requirements:
    """Levels that a release must reach; None where nothing is asked.

    Of a sensitive column, that is: of every one. ``c`` goes with ``l`` (2 if not given), ``t`` with ``distance``.
    ``k_map`` (persons of a population that every row matches) and ``presence`` (bounds of delta-presence) go with a
    population; ``guard`` is personalised privacy: the column that holds every row's guarding node, empty for none, and
    the greatest chance of a breach. ``kk`` is (k,k)-anonymity against the originals.
    """

    PANEL: ClassVar[str] = _MODELS
    k: int | None = option(None, "Persons that every class must hold.", panel="")
    l: int | None = option(None, "Distinct sensitive values in every class.", panel="")  # noqa: E741
    entropy_l: float | None = option(None, "Entropy l-diversity of every class.")
    c: float | None = option(None, "Recursive (c,l)-diversity; l from --l, 2 by default.")
    alpha: float | None = option(None, "Greatest share of a sensitive value in a class.")
    t: float | None = option(None, "t-closeness: greatest distance of a class from the table.")
    distance: str = option("equal", "For --t: equal, ordered, or hierarchical.")
    beta: float | None = option(None, "Beta-likeness: greatest relative gain of a sensitive value.")
    epsilon_m: Sequence[float] | None = option(
        None, "(E,M)-anonymity of numeric sensitive columns.", metavar="E,M", read=read_pair
    )
    range_diversity: Sequence[float] | None = option(
        None, "At most a share A of a class in a window of a share W of the range.", metavar="W,A", read=read_pair
    )
    k_map: int | None = option(None, "Persons of the population that every row must match.", panel=_TABLES)
    kk: int | None = None
    presence: Sequence[float] | None = option(
        None, "Bounds of delta-presence.", metavar="LOW,HIGH", read=read_pair, panel=_TABLES
    )
    guard: PersonalGuard | None = option(
        None,
        "Personalised privacy: column of guarding nodes, and the greatest chance of a breach.",
        metavar="COLUMN=P",
        read=read_guard,
    )

    def __post_init__(self) -> None:
        if self.distance != "equal" and self.t is None:
            raise ConfigError("a distance is asked for, and no t-closeness", "give --t too, or leave out --distance")

    @property
    def about_values(self) -> bool:
        """Tell whether anything is asked that needs a sensitive column."""
        levels = (self.l, self.entropy_l, self.c, self.alpha, self.t, self.beta)
        models = (self.epsilon_m, self.range_diversity, self.guard)
        return any(asked is not None for asked in (*levels, *models))


@dataclass(frozen=True)
class CheckedRequirements(Requirements):
    """All levels that a verifier knows, that of originals and that of columns and codes together included."""

    PANEL: ClassVar[str] = _TABLES
    kk: int | None = option(None, "(k,k)-anonymity: rows and originals consistent with each other.")
    codes: str | None = option(
        None,
        "Column of codes: whoever knows the columns of --qi and up to --m codes must find k rows.",
        metavar="COLUMN",
        panel=_CODES,
    )
    m: int = option(2, "Codes that the attacker knows.", panel=_CODES, minimum=1)
    code_separator: str = option(";", "Character between the codes of a cell.", metavar="C", panel=_CODES)


def _level_text(level: float | Sequence[float]) -> str:
    if isinstance(level, Sequence):
        return ", ".join(map(_level_text, level))
    return f"{level:,.0f}" if float(level).is_integer() else f"{level:.4g}"


@dataclass(frozen=True)
class Finding:
    """The result of one verifier.

    Parameters
    ----------
    model : str
        Its name.
    column : str
        The sensitive column, empty where none is concerned.
    asked : float, tuple of float or None
        The level asked for; None when the level is only told.
    verdict : Verdict
        Level and witness; ``ok`` counts only where a level was asked for.
    """

    model: str
    column: str
    asked: float | Sequence[float] | None
    verdict: Verdict

    @property
    def name(self) -> str:
        """The model, and the column that it is about."""
        return f"{self.model} of {self.column}" if self.column else self.model

    @property
    def wanted(self) -> str:
        """The level asked for, to be read by persons; nothing where none was."""
        return "" if self.asked is None else _level_text(self.asked)

    @property
    def reached(self) -> str:
        """The level, to be read by persons."""
        return _level_text(self.verdict.level)

    @property
    def met(self) -> str:
        """Whether the level asked for is reached, ``-`` where none was."""
        return "-" if self.asked is None else "yes" if self.verdict.ok else "NO"

    @property
    def cells(self) -> tuple[str, ...]:
        """All of it, to be read by persons: model, asked, reached, met, and the first rows (from 1) that decide."""
        rows = " ".join(str(row + 1) for row in self.verdict.witness[:5])
        return self.name, self.wanted or "-", self.reached, self.met, rows

    @property
    def failed(self) -> bool:
        """Tell whether a level was asked for and not reached."""
        return self.asked is not None and not self.verdict.ok

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values; rows are numbered from 1."""
        return {
            "model": self.model,
            "column": self.column,
            "asked": self.asked,
            "level": _told(self.verdict.level),
            "ok": self.verdict.ok if self.asked is not None else None,
            "rows": [row + 1 for row in self.verdict.witness],
        }


def reached(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Return the levels that were asked for, and what is reached of them, for a terminal."""
    return [(f.name, f"{f.reached} (asked: {f.wanted})") for f in findings if f.wanted]


def _told(level: float | tuple[float, ...]) -> float | tuple[float, ...]:
    """Return a level in digits that all processors agree on: logarithms and sums differ in the last ones."""
    told = [float(f"{one:.12g}") for one in (level if isinstance(level, tuple) else (level,))]
    return tuple(told) if isinstance(level, tuple) else told[0]


def assess(
    release: Microdata,
    asked: Requirements,
    *,
    population: Microdata | None = None,
    originals: Microdata | None = None,
) -> list[Finding]:
    """Run the verifiers on a published table.

    Parameters
    ----------
    release : Microdata
        The published table.
    asked : Requirements
        Levels to be reached. k-anonymity, diversity and closeness are told even if nothing is asked.
    population, originals : Microdata, optional
        Tables for k-map and delta-presence, and for (k,k)-anonymity.

    Returns
    -------
    list of Finding
        k-anonymity first, then the models of each sensitive column in turn, then those that compare with other records.

    Raises
    ------
    ConfigError
        When a model is asked for without what it needs.
    """
    k = 1 if asked.k is None else asked.k  # what is not asked for is told all the same
    findings = [Finding("k-anonymity", "", asked.k, k_anonymity(release, k))]
    require(release.sensitive or not asked.about_values, *NONE_SENSITIVE)
    for column in release.sensitive:
        findings += _of_column(release, column, asked)
    if asked.k_map is not None or asked.presence is not None:
        if population is None:
            raise ConfigError("k-map and delta-presence need a population table", "name it with --population")
        if asked.k_map is not None:
            verdict = k_map(release, population, asked.k_map)
            findings.append(Finding("k-map", "", asked.k_map, verdict))
        if asked.presence is not None:
            verdict = delta_presence(release, population, *asked.presence)
            findings.append(Finding("delta-presence", "", asked.presence, verdict))
    if asked.kk is not None:
        if originals is None:
            raise ConfigError("(k,k)-anonymity needs the original records", "name their table with --original")
        findings.append(Finding("(k,k)-anonymity", "", asked.kk, kk_anonymity(release, originals, asked.kk)))
    return findings


def guards_of(table: Microdata, column: str) -> list[str | None]:
    """Return the guarding node of each row, None where a cell of the column that holds them is empty."""
    check_columns(table.frame, [column])
    return table.texts(column)


def _of_column(release: Microdata, column: str, asked: Requirements) -> list[Finding]:
    k = 1 if asked.k is None else asked.k
    alpha = 1.0 if asked.alpha is None else asked.alpha

    def told(model: str, level: Any, verifier: Callable[..., Verdict], *how: Any) -> Finding:
        return Finding(model, column, level, verifier(release, column, *how))

    def least(level: float | None, nothing: float) -> float:
        return nothing if level is None else level

    found = [
        told("distinct l-diversity", asked.l, distinct_l_diversity, 1 if asked.l is None else asked.l),
        told("entropy l-diversity", asked.entropy_l, entropy_l_diversity, least(asked.entropy_l, 1.0)),
        told("(alpha,k)-anonymity", None if asked.alpha is None else (alpha, float(k)), alpha_k_anonymity, alpha, k),
        told(f"t-closeness ({asked.distance})", asked.t, t_closeness, least(asked.t, 1.0), asked.distance),
        told("beta-likeness", asked.beta, beta_likeness, least(asked.beta, 0.0)),
    ]
    if asked.c is not None:
        values = 2 if asked.l is None else asked.l
        found.append(told(f"recursive (c,{values})-diversity", asked.c, recursive_l_diversity, asked.c, values))
    if asked.epsilon_m is not None:
        epsilon, m = asked.epsilon_m
        found.append(told(f"({epsilon:g},m)-anonymity", m, epsilon_m_anonymity, epsilon, m))
    if asked.guard is not None:
        name, breach = asked.guard
        found.append(told("personalised privacy", breach, personalised_privacy, guards_of(release, name), breach))
    if asked.range_diversity is not None:
        width, most = asked.range_diversity
        found.append(told(f"range diversity ({width:g})", most, range_diversity, width, most))
    return found
