"""What a study would conclude from a released table, beside what it concludes from the original.

Three analyses of one outcome: a chi-square test of independence from each quasi-identifier, odds ratios of groups, and
a logistic regression. A generalized cell is a distribution over the values that it covers, equally likely: counts are
sums of such chances, and numeric predictors are the cells' middles. Intervals are compared by their overlap (Karr,
Kohnen, Oganian, Reiter and Sanil, The American Statistician 60(3), 2006).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deid.base.arrays import FloatArray
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.base.options import option
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, frame_records, frame_section
from deid.disclosure.queries import Query, random_queries
from deid.experiments.cohorts import TablePair, count_cohorts, feasibility, parse_cohort
from deid.experiments.outcome import Form, Outcome, frame_of
from deid.table.scalars import plain_number

_Z = 1.959963984540054
_BINS = 4
_MOST_VALUES = 20
_FEWEST = 5
_STEPS = 50  # of Newton's method, at most
_FIELDS = (("estimate", "value"), ("low", "low"), ("high", "high"), ("p", "p"))


@dataclass(frozen=True)
class EffectEstimate:
    """An estimate with its 95 % interval and the p-value of no effect; NaN where it does not exist."""

    value: float
    low: float
    high: float
    p: float


def odds_ratio(table: FloatArray) -> EffectEstimate:
    """Return the odds ratio of a 2 by 2 table, Woolf's interval, and the p-value of the chi-square test.

    Parameters
    ----------
    table : float array, shape (2, 2)
        Exposed and not, by with the outcome and without; counts need not be whole. With a cell below one half, one half
        is added to all (Haldane, Anscombe).

    Examples
    --------
    >>> round(odds_ratio(np.array([[20.0, 80.0], [10.0, 90.0]])).value, 3)
    2.25
    """
    counts = table + 0.5 if (table < 0.5).any() else table
    value = float(np.log(counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0])))
    error = float(np.sqrt((1 / counts).sum()))
    low, high = np.exp(value - _Z * error), np.exp(value + _Z * error)
    return EffectEstimate(float(np.exp(value)), float(low), float(high), chi_square(table)[1])


def chi_square(table: FloatArray) -> tuple[float, float]:
    """Return the statistic and the p-value of Pearson's test of independence, without correction; NaN for one row."""
    from scipy.stats import chi2

    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    if freedom == 0:
        return float("nan"), float("nan")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return statistic, float(chi2.sf(statistic, freedom))


def logistic_regression(predictors: FloatArray, outcome: FloatArray, weight: float = 1.0) -> list[EffectEstimate]:
    """Fit a logistic regression without penalty by Newton's method; intervals and p-values are Wald's.

    Parameters
    ----------
    predictors : float array, shape (n, d)
        Without a constant, which is added.
    outcome : float array, shape (n,)
        0 to 1: chances are allowed.
    weight : float
        How many patients each row stands for.

    Returns
    -------
    list of Estimate
        Of the d coefficients. NaN for those that the predictors do not determine, because these depend on each other;
        all NaN when it does not converge (an outcome that is told apart perfectly).
    """
    from scipy.stats import norm

    nothing = EffectEstimate(float("nan"), float("nan"), float("nan"), float("nan"))
    design = np.column_stack([np.ones(len(predictors)), predictors])
    _, scales, axes = np.linalg.svd(design, full_matrices=False)
    undetermined = (axes[scales < 1e-8 * scales[0]] ** 2).sum(axis=0) > 1e-6
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        inverse = np.linalg.pinv((design * (chance * (1 - chance))[:, None]).T @ design, rcond=1e-12, hermitian=True)
        step = inverse @ (design.T @ (outcome - chance))
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    else:
        return [nothing] * predictors.shape[1]
    errors = np.sqrt(np.diag(inverse) / weight)
    return [
        nothing
        if free
        else EffectEstimate(float(v), float(v - _Z * e), float(v + _Z * e), float(2 * norm.sf(abs(v) / e)))
        for v, e, free in zip(weights[1:], errors[1:], undetermined[1:], strict=True)
    ]


def interval_overlap(a: EffectEstimate, b: EffectEstimate) -> float:
    """Return the mean share of two intervals that lies in the other: 1 when equal, negative when apart."""
    common = min(a.high, b.high) - max(a.low, b.low)
    return 0.5 * (common / (a.high - a.low) + common / (b.high - b.low))


@dataclass(frozen=True, eq=False)
class _Study:
    """One table, as analyses see it: the chance of each row to meet a condition."""

    pair: TablePair
    released: bool

    def chances(self, query: Query) -> FloatArray:
        found = self.pair.chances(query) if self.released else self.pair.members(query)
        return np.asarray(found, dtype=np.float64)

    @property
    def weight(self) -> float:
        """How many patients a row stands for."""
        return self.pair.weight if self.released else 1.0

    def middles(self, name: str) -> FloatArray:
        """Return numbers, or the middles of cells; the mean where there is none."""
        line = self.pair.column(name).middles() if self.released else self.pair.original.numbers(name)
        return np.asarray(np.where(np.isnan(line), np.nanmean(line), line))


def compare_conclusions(
    pair: TablePair, outcome: Query, groups: Sequence[tuple[str, Query]] = (), *, level: float = 0.05
) -> pd.DataFrame:
    """Run the analyses on an original table and on its release.

    Parameters
    ----------
    pair : TablePair
        The two tables.
    outcome : Query
        Who has the outcome.
    groups : sequence of (str, Query)
        Names and members of groups whose odds are asked; by default every value of the nominal quasi-identifiers with
        at most twenty values, of two numbers the greater one, and the upper half of more numbers.
    level : float
        A p-value below it is a finding.

    Returns
    -------
    pandas.DataFrame
        analysis, of, and of both tables the estimate, low, high, p (suffixes ``_original``, ``_released``); ``overlap``
        of the intervals (on the scale of logarithms for odds ratios); ``same``: the same decision, and where there is a
        direction the same one. Estimates of chi-square tests are Cramér's V.

    Raises
    ------
    ConfigError
        When nobody, or everybody, has the outcome.
    """
    members = pair.members(outcome)
    if members.all() or not members.any():
        raise ConfigError("nobody, or everybody, has the outcome", "ask for another one with --outcome")
    names = [name for name in pair.original.quasi_identifiers if name not in outcome]
    groups = list(groups) or [group for name in names for group in _groups(pair, name)]
    studies = _Study(pair, False), _Study(pair, True)
    rows = []
    for name in names:
        bins = _bins(pair, name)
        if len(bins) > 1:
            tests = [_independence(study, bins, outcome) for study in studies]
            rows.append(_row("chi-square", name, tests, level))
    for group, query in groups:
        rows.append(_row("odds ratio", group, [_odds(study, query, outcome) for study in studies], level))
    labels, fits = _regressions(studies, names, outcome)
    for label, *coefficients in zip(labels, *fits, strict=True):
        rows.append(_row("logistic regression", label, coefficients, level))
    return pd.DataFrame(rows)


def _row(analysis: str, of: str, found: Sequence[EffectEstimate], level: float) -> dict[str, object]:
    a, b = found
    same = (a.p < level) == (b.p < level) and not (np.isnan(a.p) or np.isnan(b.p))
    overlap = float("nan")
    if analysis == "odds ratio":
        a_log, b_log = (EffectEstimate(np.log(e.value), np.log(e.low), np.log(e.high), e.p) for e in found)
        overlap = interval_overlap(a_log, b_log)
    elif analysis == "logistic regression":
        overlap = interval_overlap(a, b)
    if analysis != "chi-square" and same and a.p < level:  # a finding has a direction
        neutral = 1.0 if analysis == "odds ratio" else 0.0
        same = (a.value > neutral) == (b.value > neutral)
    return {
        "analysis": analysis,
        "of": of,
        **{f"{what}_original": getattr(a, at) for what, at in _FIELDS},
        **{f"{what}_released": getattr(b, at) for what, at in _FIELDS},
        "overlap": overlap,
        "same": bool(same),
    }


def _bins(pair: TablePair, name: str) -> list[tuple[str, Query]]:
    """Return the groups of a chi-square test: values, or quarters of numbers."""
    table = pair.original
    if table.kind(name) == "nominal":
        return [(f"{name}={value}", {name: frozenset([value])}) for value in table.codes(name).values]
    line = table.numbers(name)
    cuts = np.unique(np.nanquantile(line, np.linspace(0, 1, _BINS + 1)[1:-1], method="lower"))
    ends = [-np.inf, *cuts, np.inf]
    return [
        (f"{name} in quarter {i + 1}", {name: (float(np.nextafter(low, np.inf)), float(high))})
        for i, (low, high) in enumerate(itertools.pairwise(ends))
    ]


def _groups(pair: TablePair, name: str) -> list[tuple[str, Query]]:
    table = pair.original
    if table.kind(name) == "nominal":
        bins = _bins(pair, name)
        few = bins[1:] if len(bins) == 2 else bins  # of two groups one is enough
        return few if len(bins) <= _MOST_VALUES else []
    if two := _two(pair, name):
        return [(f"{name}={plain_number(two[1])}", {name: (two[1], two[1])})]
    line = table.numbers(name)
    middle = float(np.nanmedian(line))
    if not (line > middle).any():  # most have the greatest
        return [(f"{name} at its greatest", {name: (middle, np.inf)})]
    return [(f"{name} above its median", {name: (float(np.nextafter(middle, np.inf)), np.inf)})]


def _two(pair: TablePair, name: str) -> tuple[float, float] | None:
    """Return the two numbers of a column that has two, such as 0 and 1."""
    line = pair.original.numbers(name)
    values = np.unique(line[~np.isnan(line)])
    return (float(values[0]), float(values[1])) if len(values) == 2 else None


def _independence(study: _Study, bins: Sequence[tuple[str, Query]], outcome: Query) -> EffectEstimate:
    has = study.chances(outcome)
    chances = np.array([study.chances(query) for _, query in bins])
    table = study.weight * np.column_stack([chances @ has, chances @ (1 - has)])
    statistic, p = chi_square(table)
    return EffectEstimate(float(np.sqrt(statistic / table.sum())), float("nan"), float("nan"), p)


def _odds(study: _Study, group: Query, outcome: Query) -> EffectEstimate:
    has, member = study.chances(outcome), study.chances(group)
    counts = [[member @ has, member @ (1 - has)], [(1 - member) @ has, (1 - member) @ (1 - has)]]
    return odds_ratio(study.weight * np.array(counts))


def _regressions(
    studies: tuple[_Study, _Study], names: Sequence[str], outcome: Query
) -> tuple[list[str], list[list[EffectEstimate]]]:
    """Regress on numbers (in standard deviations of the original) and on values but the most frequent one.

    Values with fewer than five patients with the outcome, or without it, have no coefficient: they count with the most
    frequent one.
    """
    pair = studies[0].pair
    has = pair.members(outcome)
    labels: list[str] = []
    columns: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for name in names:
        if pair.original.kind(name) != "nominal":
            if two := _two(pair, name):
                labels.append("{}={} against {}".format(name, *map(plain_number, two[::-1])))
                for study, into in zip(studies, columns, strict=True):
                    into.append(study.chances({name: (two[1], two[1])}))
                continue
            line = studies[0].middles(name)
            centre, spread = line.mean(), line.std()
            if spread > 0:
                labels.append(f"{name}, per standard deviation")
                for study, into in zip(studies, columns, strict=True):
                    into.append((study.middles(name) - centre) / spread)
            continue
        coded = pair.original.codes(name)
        if not 1 < len(coded.values) <= _MOST_VALUES:
            continue
        most = int(np.bincount(coded.codes[coded.codes >= 0]).argmax())
        for place, value in enumerate(coded.values):
            own = coded.codes == place
            if place != most and min((own & has).sum(), (own & ~has).sum()) >= _FEWEST:
                labels.append(f"{name}={value} against {coded.values[most]}")
                for study, into in zip(studies, columns, strict=True):
                    into.append(study.chances({name: frozenset([value])}))
    if not labels:
        return [], [[], []]
    return labels, [
        logistic_regression(np.column_stack(into), study.chances(outcome), study.weight)
        for study, into in zip(studies, columns, strict=True)
    ]


@dataclass(frozen=True)
class StudyOptions:
    """What studies ask of a table."""

    PANEL: ClassVar[str] = "Studies"
    outcome: str = option(..., "Who has the outcome, as 'disease=asthma'.", metavar="QUERY", panel="")
    group: tuple[str, ...] = option((), "A group whose odds are asked (repeatable).", metavar="QUERY")
    cohort: tuple[str, ...] = option((), "A cohort to count, as 'age>=65 and sex=F' (repeatable).", metavar="QUERY")
    queries: int = option(1000, "Random cohorts of two conditions.", minimum=1)
    need: Sequence[int] = option((10, 30, 100, 300), "How many patients would be enough.", metavar="10,100")
    significance: float = option(0.05, "A p-value below it is a finding.", metavar="P")
    seed: int = option(0, "Seed of the random cohorts.", minimum=0)

    def __post_init__(self) -> None:
        require(0 < self.significance < 1, "--significance is no probability", "for example: --significance 0.05")


def conclusions_outcome(pair: TablePair, said: StudyOptions) -> Outcome:
    """Compare what studies conclude from an original and its release, and count cohorts in both.

    Parameters
    ----------
    pair : TablePair
    said : StudyOptions

    Returns
    -------
    Outcome
        Tables of findings and of counts, with their plot.

    Raises
    ------
    ConfigError
        When no column is a quasi-identifier, or a query cannot be read.
    """
    truth = pair.original
    require(truth.quasi_identifiers, "no column is a quasi-identifier", "name the anonymized columns with --qi")
    groups = [(text, parse_cohort(truth, text)) for text in said.group]
    findings = compare_conclusions(pair, parse_cohort(truth, said.outcome), groups, level=said.significance)
    drawn = random_queries(truth, said.queries, seed=said.seed)
    counts = count_cohorts(pair, drawn, [f"random {n}" for n in range(1, len(drawn) + 1)])
    asked = count_cohorts(pair, [parse_cohort(truth, text) for text in said.cohort], said.cohort)
    feasible = feasibility(counts, said.need)
    held = (counts["least"] <= counts["original"]) & (counts["original"] <= counts["greatest"])
    facts = {
        "outcome": said.outcome,
        "significance": said.significance,
        "same": float(findings["same"].mean()),
        "overlap": float(findings["overlap"].mean()),
        "cohorts": len(counts),
        "median_error": float(counts["error"].median()),
        "bounds_held": float(held.mean()),
    }
    frames = {"feasibility": feasible, "asked": asked, "counts": counts}
    return CONCLUSIONS.outcome(findings, **facts, **{name: frame_records(frame) for name, frame in frames.items()})


def _sections(findings: pd.DataFrame, facts: Mapping[str, Any]) -> list[Section]:
    """Return the tables of `compare_conclusions`, `feasibility`, and `count_cohorts` of cohorts that were named."""
    feasible, asked = frame_of(facts["feasibility"]), pd.DataFrame(list(facts["asked"]))

    def section(title: str, frame: pd.DataFrame, note: str = "") -> Section:
        return frame_section(title, frame.rename(columns=lambda name: name.replace("_original", "")), note, digits=4)

    return [
        *([section("Cohorts", asked)] if len(asked) else []),
        section(
            "Are there enough patients?",
            feasible,
            f"{facts['cohorts']} random cohorts; median relative error {facts['median_error']:.3f}; the bounds held "
            f"for {facts['bounds_held']:.1%}. "
            "Settled: the bounds decide. Right: the estimate says what the original says.",
        ),
        section(
            f"Conclusions about {facts['outcome']}",
            findings,
            f"{facts['same']:.1%} of {len(findings)} decisions at p < {facts['significance']:g} are the same; "
            f"intervals overlap by {facts['overlap']:.2f} on average.",
        ),
    ]


def plot_conclusions(findings: pd.DataFrame, counts: pd.DataFrame) -> Figure:
    """Return a plot of conclusions (`compare_conclusions`) and counts (`count_cohorts`) of an original and its release.

    Left: odds ratios and coefficients (of odds, too) with their intervals; a circle where the decision changed. Right:
    counts of cohorts with their bounds.
    """
    shown = findings[findings["analysis"] != "chi-square"].dropna(subset=["estimate_original", "estimate_released"])
    figure, (left, right) = new_figure(12, 1.2 + 0.3 * min(len(shown), 40), 2, width_ratios=(3, 2))
    for y, row in enumerate(shown.head(40).to_dict("records")):
        scale = (lambda v: v) if row["analysis"] == "odds ratio" else np.exp
        for table, shift, colour in (("original", -0.15, COLOURS[0]), ("released", 0.15, COLOURS[1])):
            low, value, high = (scale(row[f"{what}_{table}"]) for what in ("low", "estimate", "high"))
            left.plot([low, high], [y + shift] * 2, color=colour, linewidth=1)
            left.plot([value], [y + shift], ".", color=colour, label=table if y == 0 else None)
        if not row["same"]:
            left.plot([scale(row["estimate_released"])], [y], "o", mfc="none", color=COLOURS[2], markersize=10)
    left.axvline(1, color=COLOURS[7], linewidth=0.8)
    left.set_yticks(range(len(shown.head(40))), [f"{r.analysis}: {r.of}" for r in shown.head(40).itertuples()])
    left.invert_yaxis()
    left.set(xscale="log", xlabel="odds ratio with its 95 % interval")
    if len(shown):
        left.legend()
    some = counts.iloc[:: max(len(counts) // 300, 1)]
    right.vlines(some["original"], some["least"], some["greatest"], color=COLOURS[6], linewidth=0.5)
    right.plot(some["original"], some["released"], ".", color=COLOURS[1], markersize=3)
    most = max(float(some["greatest"].max()), 1.0)
    right.plot([1, most], [1, most], color=COLOURS[7], linewidth=0.8)
    right.set_xscale("symlog", linthresh=1)
    right.set_yscale("symlog", linthresh=1)
    right.set(xlabel="patients of a cohort in the original", ylabel="in the release: estimate, and bounds")
    return figure


CONCLUSIONS = Form(
    "Conclusions from a release",
    _sections,
    lambda findings, values: plot_conclusions(findings, frame_of(values["counts"])),
    "Effects with their intervals in the original and the release; counts of cohorts with their bounds",
    "conclusions",
)
