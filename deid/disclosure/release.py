"""Releases: a table made publishable by a method, and checked by verifiers that do not know the method.

`anonymize` is the way from an original table to a `Release`; a release exists only if every verifier passed it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from deid.base.arrays import IndexArray
from deid.base.errors import ConfigError, method_fault, require
from deid.base.late import pd
from deid.base.options import column_names
from deid.disclosure.assessment import Finding, Requirements, assess, guards_of, reached
from deid.disclosure.cells import cover_table
from deid.disclosure.classes import NO_QUASI_IDENTIFIER, NONE_SENSITIVE, group_rows
from deid.disclosure.constraints import (
    All,
    AlphaK,
    BetaLikeness,
    Constraint,
    DistinctL,
    EntropyL,
    Guarded,
    KAnonymity,
    RecursiveL,
    TCloseness,
)
from deid.disclosure.encoding import CodedColumn, CodedTable, Ints, encode
from deid.disclosure.exclusion import values_left, with_profiles
from deid.disclosure.guards import Fate, check_before_release, fates_of, look_alikes, told_of
from deid.disclosure.methods import MethodOptions, recode, recode_best
from deid.disclosure.numeric_models import EpsilonM, RangeDiversity
from deid.disclosure.population_models import KMap, OfRows, Presence
from deid.disclosure.population_search import Search, recode_with_population
from deid.disclosure.privacy import guarded
from deid.disclosure.recoding import publish
from deid.disclosure.risk import PopulationRisk, SampleRisk, population_risk, sample_risk
from deid.disclosure.same_disease import recode_same_disease
from deid.disclosure.utility import Loss, information_loss
from deid.table.microdata import NA_CODE, Microdata, check_columns
from deid.table.scalars import misread_form

SAME_DISEASE = "same-disease"
"""Name of the method that cuts patients of one disease and their population together (`recode_same_disease`)."""
_FROM_THE_TOP = ("auto", "mondrian")
"""Methods that search for models that do not survive merging, or that compare with a population."""
_TAKE_TARGETS = ("mondrian", "relaxed")
"""Methods whose cuts can keep outcomes apart."""
_LOCAL_WITH_POPULATION = 300_000
"""Rows and members for which ``auto`` tries local recoding, too."""
_GUARDS = "\0guards"
"""Name under which coded tables have guarding nodes: a column of a file hardly has it."""


@dataclass(frozen=True, eq=False)
class Release:
    """A published table.

    Parameters
    ----------
    original : Microdata
        The table that it was made from.
    recoded : Microdata
        The rows that are published, in the order of what is published of them and with all columns of the original,
        identifiers too: what the verifiers count persons on. It must not leave; ``published`` may.
    rows : intp array, shape (published rows,)
        Row of the original behind each recoded row.
    method : str
        Name of the method.
    asked : Requirements
        What was asked for.
    options : MethodOptions
        What the method was told.
    findings : tuple of Finding
        What the verifiers say of the published table.
    loss : Loss
        What was lost.
    levels : mapping of str to int
        Level of each column, for full-domain recoding.
    overlapping : bool
        The cells of a (k,k)-anonymous table.
    seconds : float
        CPU seconds of the search.
    against : PopulationRisk, optional
        Risk against the population that was given.
    """

    original: Microdata
    recoded: Microdata
    rows: IndexArray
    method: str
    asked: Requirements
    options: MethodOptions
    findings: tuple[Finding, ...]
    loss: Loss
    levels: Mapping[str, int] = field(default_factory=dict)
    overlapping: bool = False
    seconds: float = 0.0
    against: PopulationRisk | None = None

    def __repr__(self) -> str:
        reached = ", ".join(f"{found.name} {found.reached}" for found in self.findings if found.asked is not None)
        return f"Release({len(self.rows)} of {len(self.original)} rows, method={self.method!r}, {reached})"

    def with_columns_of(self, original: Microdata) -> Release:
        """Return the release with its columns in the order of a table with the same ones."""
        return replace(self, original=original, recoded=self.recoded.with_columns(list(original.frame.columns)))

    @property
    def suppressed(self) -> int:
        """Number of rows that are not published."""
        return len(self.original) - len(self.rows)

    @cached_property
    def published(self) -> Microdata:
        """The columns of ``recoded`` that may leave: no identifier, free text, dropped column or person.

        Its quasi-identifiers are nominal: cells such as ``[20-29]`` stand beside numbers.
        """
        data = self.recoded
        fates = fates_of(data)
        names = [name for name, what in fates.items() if what.fate != "dropped"]
        return Microdata(
            data.frame[names],
            {name: fates[name].role for name in names},
            {name: tree for name, tree in data.hierarchies.items() if name in names},
            kinds={name: kind for name, kind in data.kinds.items() if name in names},
        )

    @cached_property
    def risks(self) -> tuple[SampleRisk, SampleRisk]:
        """Risk of the original and of the release, for attackers who know the quasi-identifiers."""
        return sample_risk(self.original), sample_risk(self.recoded)

    @cached_property
    def linked_by_all(self) -> tuple[float, float]:
        """Share of persons linked rightly, before and after, by who knows *every* column that is published.

        Sensitive and unaltered columns included, persons linked at random within what agrees: the bound for attackers
        who know more than the quasi-identifiers.
        """
        names = tuple(self.published.frame.columns)
        before, after = (sample_risk(table, columns=names).marketer for table in (self.original, self.recoded))
        return before, after

    def table(self) -> pd.DataFrame:
        """Return the rows of ``published``."""
        return self.published.frame

    def aligned(self) -> pd.DataFrame:
        """Return the published quasi-identifiers for the rows of the original, ``*`` where a row is suppressed."""
        names = list(self.recoded.quasi_identifiers)
        cells = np.full((len(self.original), len(names)), "*", dtype=object)
        cells[self.rows] = self.recoded.frame[names].to_numpy(dtype=object)
        return pd.DataFrame(cells, columns=names, index=self.original.frame.index)

    @property
    def fates(self) -> dict[str, Fate]:
        """What became of each column of the original."""
        return fates_of(self.original)

    def lines(self) -> list[tuple[str, str]]:
        """Return what was done and reached in a dozen lines, for a terminal."""
        before, after = self.risks
        return [
            ("method", self.method),
            ("rows published, suppressed", f"{len(self.rows):,}, {self.suppressed:,}"),
            *((f"level of {name}", str(level)) for name, level in self.levels.items()),
            *reached(self.findings),
            ("loss: NCP, classes", f"{self.loss.ncp:.4f}, {self.loss.classes:,}"),
            ("linked rightly, before and after", "{:.2%}, {:.2%}".format(*self.linked_by_all)),
            ("... by the quasi-identifiers alone", f"{before.marketer:.2%}, {after.marketer:.2%}"),
            *self.in_population(),
        ]

    def in_population(self) -> list[tuple[str, str]]:
        """Return the risk against the population that was given, if one was."""
        risk = self.against
        if risk is None:
            return []
        told = {
            "least matches of a row": f"{risk.smallest_match:,}",
            "identity disclosure Q": f"{risk.journalist.average:.4f}",
            "instance disclosure R": f"{risk.instance.average:.4f}",
            "presence": f"{risk.membership.least:.4f} to {risk.membership.greatest:.4f}",
        }
        return [(f"in the population: {name}", value) for name, value in told.items()]

    def sentences(self) -> list[str]:
        """Return what must be said beside it: unprotected columns, what is left out, persons who look alike."""
        data, fates = self.original, self.fates.items()
        alike = look_alikes(data)
        plain = [name for name, what in fates if what.fate == "unaltered"]
        gone = [name for name, what in fates if what.fate == "dropped" and what.role != "free-text"]
        texts = [name for name, what in fates if what.role == "free-text"]
        unordered = [
            f"column {name!r} holds {form}, which were generalized as names without order: write them otherwise, or "
            "give a hierarchy, and the release keeps more"
            for name in data.quasi_identifiers
            if name not in data.hierarchies
            and name not in data.kinds
            and (form := misread_form(data.codes(name).values))
        ]
        return [
            *unordered,
            *([f"published as they are, without protection: {', '.join(plain)}"] if plain else []),
            *([f"left out: {', '.join(gone)}"] if gone else []),
            *([told_of(data)] if alike and alike.pairs else []),
            *([f"free text is left out, scrub it first: {', '.join(texts)}"] if texts else []),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values: counts, parameters and levels, no cell of the table."""
        before, after = self.risks
        alike = look_alikes(self.original)
        return {
            "method": self.method,
            "asked": {name: value for name, value in asdict(self.asked).items() if value is not None},
            "options": {name: value for name, value in asdict(self.options).items() if name != "jobs"},
            "quasi_identifiers": list(self.original.quasi_identifiers),
            "sensitive": list(self.original.sensitive),
            "person": self.original.person,
            "each_row_a_person": self.original.each_row_a_person,
            "persons_as_given": self.original.persons_as_given,
            "persons_linked": self.original.linked,
            "look_alikes": None if alike is None else alike.as_dict(),
            "columns": {name: asdict(what) for name, what in self.fates.items()},
            "rows": len(self.original),
            "published": len(self.rows),
            "suppressed": self.suppressed,
            "levels": dict(self.levels),
            "findings": [finding.as_dict() for finding in self.findings],
            "loss": asdict(self.loss),
            "risk_before": _without_rows(before.as_dict()),
            "risk_after": after.as_dict(),
            "linked_by_all_columns": dict(zip(("before", "after"), self.linked_by_all, strict=True)),
            **({} if self.against is None else {"population_risk": _without_rows(self.against.as_dict())}),
            "cpu_seconds": round(self.seconds, 3),
        }


def _without_rows(values: dict[str, Any]) -> dict[str, Any]:
    """Return a risk without the rows that decide: those of the original are nobody's outside."""
    found = {name: _without_rows(own) if isinstance(own, dict) else own for name, own in values.items()}
    found.pop("witness", None)
    return found


_MODELS: dict[str, Callable[[Any, str], Constraint]] = {
    "c": lambda asked, column: RecursiveL(asked.c, 2 if asked.l is None else asked.l, column),
    "l": lambda asked, column: DistinctL(asked.l, column),
    "entropy_l": lambda asked, column: EntropyL(asked.entropy_l, column),
    "alpha": lambda asked, column: AlphaK(asked.alpha, column),
    "t": lambda asked, column: TCloseness(asked.t, column, asked.distance),
    "beta": lambda asked, column: BetaLikeness(asked.beta, column),
    "epsilon_m": lambda asked, column: EpsilonM(asked.epsilon_m[0], asked.epsilon_m[1], column),
    "range_diversity": lambda asked, column: RangeDiversity(asked.range_diversity[0], asked.range_diversity[1], column),
}
"""The models of a sensitive column, by what is asked."""


def constraint_of(data: Microdata, asked: Requirements) -> Constraint:
    """Return what a search must keep, for all sensitive columns.

    Raises
    ------
    ConfigError
        When nothing is asked, when a model needs a sensitive column and there is none, or when it is one that is not of
        the rows of a class alone.
    """
    if asked.k_map is not None or asked.presence is not None or asked.guard is not None:
        raise ConfigError(
            "k-map, presence and guards are searched for by the method mondrian alone",
            "use it, or check them on the release with deid privacy",
        )
    return _all(_of_rows(data, asked))


def _all(parts: list[Constraint]) -> Constraint:
    require(parts, "nothing is asked for", "for example k = 5")
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _of_rows(data: Microdata, asked: Requirements) -> list[Constraint]:
    parts: list[Constraint] = [KAnonymity(asked.k)] if asked.k is not None else []
    built = [build for name, build in _MODELS.items() if getattr(asked, name) is not None]
    parts += [build(asked, column) for column in data.sensitive for build in built]
    require(data.sensitive or not asked.about_values, *NONE_SENSITIVE)
    return parts


def anonymize(
    data: Microdata,
    asked: Requirements,
    method: str = "auto",
    options: MethodOptions | None = None,
    *,
    target: str | None = None,
    population: Microdata | None = None,
    prefixes: Sequence[str] = (),
    rules_left: int | None = None,
) -> Release:
    """Make a table publishable. The order of its rows changes nothing, that of its columns how they stand alone.

    Parameters
    ----------
    data : Microdata
        The table, with at least one quasi-identifier.
    asked : Requirements
        Levels that the release must reach.
    method : str
        One of `deid.disclosure.methods.METHODS`, ``same-disease`` (with a population), or ``auto``.
    options : MethodOptions, optional
        Suppression, rounds, seed.
    target : str, optional
        Columns of class labels, with commas between, that Mondrian's cuts should tell apart together.
    population : Microdata, optional
        One row a person, ungeneralized, the persons of the table included: for k-map, delta-presence, same-disease.
    prefixes : sequence of str
        Columns that same-disease publishes as their longest common beginning (ZIP codes).
    rules_left : int, optional
        So many values of each sensitive column must be left to each person that no mined rule rules out (Injector;
        `deid.disclosure.exclusion`); without a population.

    Returns
    -------
    Release
        What every verifier passed; ``Release.published`` is what may leave.

    Raises
    ------
    ConfigError
        When nothing is said of a column, when rows seem to be notes and not persons, or persons others of the table
        (see `deid.disclosure.guards`), or when nothing can reach what is asked for; names the models.
    OutputError
        When a verifier rejects what the method found: then there is no release.
    """
    release = _anonymize(
        data.with_columns(order_of_columns(data)), asked, method, options or MethodOptions(),
        target=target, population=population, prefixes=prefixes, rules_left=rules_left,
    )  # fmt: skip
    return release.with_columns_of(data)


def order_of_columns(data: Microdata) -> list[str]:
    """Return the columns in the order in which methods take them, where they are equally good.

    It depends on values and names, not on how the columns stand: quasi-identifiers with few values first (of the orders
    that were tried on random tables Mondrian loses 13 % less than in the table's order, clustering 8 to 12 % less).
    """
    identifying = set(data.quasi_identifiers)
    sizes = {name: len(data.codes(name).values) if name in identifying else 0 for name in data.frame.columns}
    return sorted(sizes, key=lambda name: (name not in identifying, sizes[name], name))


def _anonymize(
    data: Microdata,
    asked: Requirements,
    method: str,
    options: MethodOptions,
    *,
    target: str | None,
    population: Microdata | None,
    prefixes: Sequence[str],
    rules_left: int | None,
) -> Release:
    check_before_release(data)
    require(data.quasi_identifiers, *NO_QUASI_IDENTIFIER)
    compared = method == SAME_DISEASE or asked.k_map is not None or asked.presence is not None
    if population is not None and not compared:
        raise ConfigError(
            "nothing that is asked for looks at a population", "ask for k-map or presence, or leave it out"
        )
    if prefixes and method != SAME_DISEASE:
        raise ConfigError(
            "only the method same-disease publishes columns as their beginning", "use --method same-disease"
        )
    if target is not None and (population is not None or method not in _TAKE_TARGETS):
        raise ConfigError("only Mondrian's cuts look at a target, and without a population", "use the method mondrian")
    if rules_left is not None and (population is not None or asked.guard is not None or method == "kk"):
        raise ConfigError(
            "what rules leave is searched for without population, guards and the method kk", "leave out one of the two"
        )
    if population is not None:
        return _with_population(data, asked, method, options, population, prefixes)
    require(not compared, "k-map, delta-presence and same-disease need a population table", "name it with --population")
    start = time.process_time()
    coded = encode(data)
    if guards := _guards(data, coded, asked, method):
        method = _FROM_THE_TOP[-1]
        constraint = _all([*_of_rows(data, asked), *(constraint for constraint, _ in guards)])
        coded = replace(coded, sensitive={**coded.sensitive, _GUARDS: guards[0][1]})
    else:
        constraint = constraint_of(data, asked)
    if rules_left is not None:
        coded, more = with_profiles(data, coded, rules_left)
        constraint = _all([constraint, *more])
    # the last value first: of the orders that were tried on Adult this one loses least (t = .3: .282, ascending .296)
    order = content_order(data)[::-1]
    arranged = coded.take(order)
    if method == "auto":
        name, found = recode_best(arranged, constraint, options)
    else:
        name = method
        labels = None if target is None else _labels(data, target)
        found = recode(arranged, constraint, name, options, None if labels is None else labels[order])
    back = np.argsort(order)
    suppressed = None if found.suppressed is None else found.suppressed[back]
    found = replace(found, classes=found.classes[back], suppressed=suppressed)
    seconds = time.process_time() - start
    if found.overlapping:  # the guarantee of (k,k)-anonymity is not that of k-anonymity
        asked = Requirements(kk=asked.k)
    kept = np.arange(len(data)) if found.suppressed is None else np.flatnonzero(~found.suppressed)
    require(len(kept), "every row would be suppressed", "ask for less, or use the method local")
    frame = publish(data, coded, found.classes, found.suppressed, regions=found.regions)
    published = frame.iloc[kept] if len(kept) < len(frame) else frame
    told: dict[str, Any] = {"levels": found.levels, "overlapping": found.overlapping, "seconds": seconds}
    return finish(data, published, kept, name, asked, options, rules_left=rules_left, **told)


def _guards(
    data: Microdata, coded: CodedTable, asked: Requirements, method: str
) -> list[tuple[Guarded, tuple[CodedColumn, Ints]]]:
    """Return, for each sensitive column, what a search must keep of what rows guard, and the guards, coded."""
    if asked.guard is None:
        return []
    require(method in _FROM_THE_TOP, f"the method {method} does not search for guards", "use the method mondrian")
    if data.person is not None:
        raise ConfigError("guards are searched for where every row is a person", "check them with deid privacy instead")
    require(data.sensitive, *NONE_SENSITIVE)
    name, breach = asked.guard
    guards = guards_of(data, name)
    found = []
    for sensitive in data.sensitive:
        nodes, overlap = guarded(data, sensitive, guards, coded.sensitive[sensitive][0].values)
        place = {None: NA_CODE} | {node: at for at, node in enumerate(nodes)}
        codes = np.array([place[guard] for guard in guards], dtype=np.int32)
        found.append((Guarded(breach, sensitive, _GUARDS, overlap), (CodedColumn(_GUARDS, tuple(nodes)), codes)))
    return found


def _with_population(
    data: Microdata,
    asked: Requirements,
    method: str,
    options: MethodOptions,
    population: Microdata,
    prefixes: Sequence[str],
) -> Release:
    """Search with a population for what compares with it; see `anonymize`."""
    rows = np.arange(len(data))
    start = time.process_time()
    if method == SAME_DISEASE:
        if asked.k is None or asked.about_values or asked.k_map is not None or asked.presence is not None:
            raise ConfigError("the method same-disease takes k alone: the least records of a cell", "for example --k 5")
        if data.person is not None:
            raise ConfigError("the method same-disease takes one row a person", "use --method mondrian with --presence")
        frame = recode_same_disease(data, population, asked.k, prefixes=prefixes).frame
        seconds = time.process_time() - start
        return finish(data, frame, rows, method, asked, options, population=population, seconds=seconds)
    if method not in (*_FROM_THE_TOP, "local", "optimal", "greedy"):
        raise ConfigError(
            f"the method {method} does not look at a population", "use the method mondrian, local, optimal or greedy"
        )
    if method == "local" and asked.presence is not None:
        raise ConfigError("the groups of local recoding overlap, which presence does not bear", "use --method mondrian")
    require(asked.guard is None, "guards go with no population", "ask for one of the two")
    parts: list[Constraint] = [] if asked.k_map is None else [KMap(asked.k_map)]
    parts += [] if asked.presence is None else [Presence(*asked.presence)]
    parts += map(OfRows, _of_rows(data, asked))
    searches: tuple[Search, ...] = ("mondrian",)
    if method in ("local", "optimal", "greedy"):
        searches = (cast("Search", method),)
    elif method == "auto" and asked.presence is None and len(data) + len(population) <= _LOCAL_WITH_POPULATION:
        searches = ("local", "mondrian")
    frame, rows, found = recode_with_population(data, population, _all(parts), searches, options.suppression)
    require(len(rows), "every row would be suppressed", "ask for less, or use the method mondrian")
    seconds = time.process_time() - start
    return finish(data, frame, rows, found, asked, options, population=population, seconds=seconds)


def content_order(data: Microdata) -> IndexArray:
    """Return the row numbers, shape (rows,), in the order of what is published of them, then of their persons.

    Methods take rows as they come where these are equally good; rows that are equal in all of that can stand for each
    other, so that nothing depends on the order of the table.
    """
    names = [name for name, what in fates_of(data).items() if what.fate != "dropped"]
    names += [] if data.person is None else [data.person]
    return np.lexsort([data.codes(name).codes for name in reversed(names)])


def _labels(data: Microdata, target: str) -> Ints:
    names = column_names(target)
    check_columns(data.frame, names)
    coded = [data.codes(name) for name in names]
    labels, _ = group_rows([(own.codes, len(own.values)) for own in coded], sort=True)
    return labels.astype(np.int32)


def finish(
    data: Microdata,
    frame: pd.DataFrame,
    rows: IndexArray,
    method: str,
    asked: Requirements,
    options: MethodOptions,
    *,
    population: Microdata | None = None,
    rules_left: int | None = None,
    **told: Any,
) -> Release:
    """Verify a published frame and make a release of it.

    Parameters
    ----------
    data : Microdata
        The original table.
    frame : DataFrame
        The rows that are kept, recoded, in the order of ``rows``.
    rows : intp array
        Row of the original behind each row of the frame.
    method : str
        Name of the method that made it.
    asked : Requirements
        Levels to verify.
    options : MethodOptions
        What the method was told; kept in the release.
    population : Microdata, optional
        What k-map and delta-presence are verified against, and the risk is measured.
    rules_left : int, optional
        As that of `anonymize`.
    told
        What else the method says: levels, overlapping, seconds of `Release`.

    Returns
    -------
    Release
        The rows in an order that depends on their published content only.

    Raises
    ------
    OutputError
        When a verifier rejects it, or a published cell does not cover the original one.
    """
    kinds = dict.fromkeys(data.quasi_identifiers, "nominal")
    recoded = Microdata(
        frame.reset_index(drop=True),
        data.roles,
        {name: tree for name, tree in data.hierarchies.items() if name in data.sensitive},
        data.person,
        {name: kind for name, kind in data.kinds.items() if name not in kinds} | kinds,
        data.each_row_a_person,
    )
    order = content_order(recoded)
    recoded, rows = recoded.arranged(order), rows[order]
    untrue = [name for name in data.quasi_identifiers if not _covers(data, recoded, name, rows)]
    if untrue:
        cells = ", ".join(untrue)
        raise method_fault(f"the method {method} published cells of {cells} that are not true of their rows")
    originals = _like(data, rows) if asked.kk is not None else None
    findings = assess(recoded, asked, population=population, originals=originals)
    if rules_left is not None:
        findings += [
            Finding("values that rules leave", own, rules_left, values_left(recoded, data, own, rules_left, rows))
            for own in data.sensitive
        ]
    failed = [f for f in findings if f.failed]
    if failed:
        names = ", ".join(f.name for f in failed)
        raise method_fault(f"the verifier rejects what the method {method} found: {names} not reached")
    loss = information_loss(data, recoded, asked.k or asked.kk or 1)
    against = None if population is None else population_risk(recoded, population)
    return Release(data, recoded, rows, method, asked, options, tuple(findings), loss, against=against, **told)


def _covers(data: Microdata, published: Microdata, name: str, rows: IndexArray) -> bool:
    cells, values = published.codes(name), data.codes(name)
    table = cover_table(cells.values, values.values, data.hierarchies.get(name))
    return bool(table[cells.codes, values.codes[rows]].all())


def _like(data: Microdata, rows: IndexArray) -> Microdata:
    return Microdata(data.frame.iloc[rows].reset_index(drop=True), data.roles, data.hierarchies, None, data.kinds)
