"""Models trained on released or made-up rows, beside models trained on the original: what a release is good for.

A classifier for a target of words or of two numbers, a regression for one of more numbers, and a proportional-hazards
model of survival, trained on each table and tried on the same original rows. A generalized cell is a distribution: a
word counts by its share of the cell's words, a number is the cell's middle. What is kept is the share of the original
model's gain over knowing nothing.

By how much a score changes has an interval, which covers that the rows on which models are tried are a sample: both
models are tried on the same ones, so each row's part in the difference of the scores is known to first order
(`Scored`), and the difference is normal with the variance of their mean (of AUC: DeLong, DeLong and Clarke-Pearson
1988).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IndexArray
from deid.base.errors import require
from deid.base.late import pd
from deid.base.options import column_names, option, place_of
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, frame_section
from deid.experiments.cohorts import TablePair
from deid.experiments.outcome import Form, Outcome
from deid.table.microdata import Microdata, check_columns

_MOST_VALUES = 50
_MOST_CLASSES = 20
_ROUNDS = 50
_RIDGE = 1e-3
_YES = ("yes", "y", "true", "1", "dead", "died")
_NOTHING = {"AUC": 0.5, "R2": 0.0, "concordance": 0.5}
"""What a model scores that knows nothing."""


@dataclass(frozen=True, eq=False)
class Scored:
    """A score, and the part that each row has in it.

    Parameters
    ----------
    value : float
        The score.
    parts : float array, shape (rows,)
        By how much, to first order, the score lies above that of all rows on average where rows are drawn like this
        one (its influence); their mean is 0.
    """

    value: float
    parts: FloatArray

    @property
    def error(self) -> float:
        """The standard error of the score."""
        return float(np.sqrt((self.parts**2).sum())) / max(len(self.parts), 1)

    def change_to(self, other: Scored) -> tuple[float, float, float]:
        """Return by how much another model's score on the same rows differs, and the ends of its 95 % interval."""
        from scipy.stats import norm

        change = other.value - self.value
        far = float(norm.ppf(0.975)) * float(np.sqrt(((other.parts - self.parts) ** 2).sum()))
        half = far / max(len(self.parts), 1)
        return change, change - half, change + half


def area(chance: FloatArray, truth: BoolArray) -> Scored:
    """Return the area under the curve of chances, and each row's part in it (DeLong and others 1988).

    Parameters
    ----------
    chance : float array, shape (rows,)
    truth : bool array, shape (rows,)
        Some rows are true, some not.
    """
    parts = np.empty(len(truth))
    for own, sign in ((truth, 1.0), (~truth, -1.0)):
        others = np.sort(chance[~own])
        below = np.searchsorted(others, chance[own], "left") + np.searchsorted(others, chance[own], "right")
        won = below / (2 * len(others))
        parts[own] = won if sign > 0 else 1 - won
    value = float(parts[truth].mean())
    parts -= value
    for own in (truth, ~truth):
        parts[own] *= len(truth) / own.sum()
    return Scored(value, parts)


def _mean(values: FloatArray) -> Scored:
    return Scored(float(values.mean()), values - values.mean())


@dataclass(frozen=True)
class ModelOptions:
    """What is predicted, and where models are tried."""

    PANEL: ClassVar[str] = "Models"
    target: str | None = option(None, "Columns to predict, each by the --qi columns.", metavar="A,B", panel="")
    survival: str | None = option(
        None, "Columns of the time and of the event (1, yes or true where it came).", metavar="TIME,EVENT", panel=""
    )
    test: Path | str | None = option(
        None, "Rows that neither table has, to try the models on; by default ORIGINAL itself.", read=place_of
    )
    made_up: bool = option(False, "RELEASE has rows of nobody, as deid synthesize draws them.")


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table as models see it: values that are shares of words, and middles of numbers.

    The values are those of ``reference``, in its order: others are none.
    """

    pair: TablePair
    released: bool
    reference: Microdata

    def words(self, name: str) -> FloatArray:
        """Return [rows, values] the share of each row's cell that is each value of the original."""
        if self.released:
            column = self.pair.column(name)
            covered = column.covers / np.maximum(column.covers.sum(axis=1, keepdims=True), 1)
            return np.asarray(covered[column.codes], dtype=np.float64)
        values, coded = self.reference.codes(name).values, self.pair.original.codes(name)
        place = {text: at for at, text in enumerate(values)}
        none = len(values)
        at = np.array([*(place.get(text, none) for text in coded.values), none])
        return np.asarray(np.eye(none + 1)[at[coded.codes]][:, :-1])

    def numbers(self, name: str) -> FloatArray:
        """Return the numbers, or the middles of cells, NaN where a cell has none."""
        if not self.released:
            return np.asarray(self.pair.original.numbers(name), dtype=np.float64)
        return self.pair.column(name).middles()


@dataclass(frozen=True, eq=False)
class _Design:
    """Predictors of tables: numbers in standard deviations of the original, and indicators of words."""

    names: Sequence[str]
    original: Microdata
    centres: dict[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, rows: _Rows) -> FloatArray:
        """Return [rows, predictors]."""
        columns = []
        for name in self.names:
            if self.original.kind(name) == "nominal":
                if len(self.original.codes(name).values) <= _MOST_VALUES:
                    columns.append(rows.words(name))
                continue
            if name not in self.centres:
                line = self.original.numbers(name)
                self.centres[name] = float(np.nanmean(line)), float(np.nanstd(line)) or 1.0
            centre, spread = self.centres[name]
            line = (rows.numbers(name) - centre) / spread
            columns.append(np.nan_to_num(line)[:, None])
        require(columns, "no column can predict", f"name columns with at most {_MOST_VALUES} values with --qi")
        return np.concatenate(columns, axis=1)


def hazards(predictors: FloatArray, time: FloatArray, event: FloatArray) -> FloatArray:
    """Fit a proportional-hazards model by Newton's method, ties as Breslow has them (Cox 1972; Breslow 1974).

    Parameters
    ----------
    predictors : float array, shape (rows, d)
    time : float array, shape (rows,)
        Until the event, or until nobody looked any more.
    event : float array, shape (rows,)
        1 where the event came.

    Returns
    -------
    float array, shape (d,)
        Logarithms of hazard ratios, with a slight ridge for predictors that depend on each other.
    """
    order = np.argsort(-time, kind="stable")
    x, t, e = predictors[order], time[order], event[order]
    last = np.searchsorted(-t, -t, side="right") - 1  # all that are at risk at this time stand up to here
    weights = np.zeros(x.shape[1])
    for _ in range(_ROUNDS):
        risk = np.exp(np.clip(x @ weights, -30, 30))
        total = np.cumsum(risk)[last]
        first = np.cumsum(risk[:, None] * x, axis=0)[last] / total[:, None]
        gradient = (e[:, None] * (x - first)).sum(axis=0) - _RIDGE * weights
        # the sum over events of second moments, as each row's risk times the events that it was at risk of
        shares = np.cumsum((np.bincount(last, e / total, minlength=len(x)))[::-1])[::-1]
        second = (x * (risk * shares)[:, None]).T @ x - (first * e[:, None]).T @ first
        step = np.linalg.solve(second + _RIDGE * np.eye(x.shape[1]), gradient)
        weights += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-7:
            break
    return np.asarray(weights)


def concordance(risk: FloatArray, time: FloatArray, event: FloatArray) -> Scored:
    """Return Harrell's concordance: the share of the pairs of known order in which the earlier one has more risk.

    Parameters
    ----------
    risk, time, event : float array, shape (rows,)
        Equal risks count one half. At most 2,000 events, spread over the rows, are compared with all rows.
    """
    events = np.flatnonzero(event > 0)
    if len(events) > 2_000:
        events = events[:: len(events) // 2_000 + 1]
    right, pairs = np.zeros(len(risk)), np.zeros(len(risk))  # of each row, as the earlier and as the later one
    for row in events.tolist():
        later = np.flatnonzero(time > time[row])
        won = (risk[row] > risk[later]) + 0.5 * (risk[row] == risk[later])
        right[later] += won
        right[row] += won.sum()
        pairs[later] += 1
        pairs[row] += len(later)
    total = float(pairs.sum()) / 2
    if not total:
        return Scored(float("nan"), np.zeros(len(risk)))
    value = float(right.sum()) / 2 / total
    return Scored(value, (right - value * pairs) * len(risk) / total)


def _classify(
    train: FloatArray, shares: FloatArray, tried: FloatArray, truth: IndexArray
) -> Mapping[str, Mapping[str, Scored]]:
    """Return what classifiers score that learn shares of classes [rows, classes]."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    rows, classes = np.nonzero(shares)
    x, weight = train[rows], shares[rows, classes]
    there = np.unique(classes)
    found = {}
    for name, model in (
        ("logistic regression", LogisticRegression(max_iter=300)),
        ("boosted trees", HistGradientBoostingClassifier(max_iter=100, random_state=0)),
    ):
        chance = np.zeros((len(tried), shares.shape[1]))
        if len(there) < 2:
            chance[:, there] = 1.0
        else:
            chance[:, there] = model.fit(x, classes, sample_weight=weight).predict_proba(tried)
        scored = [c for c in range(shares.shape[1]) if 0 < (truth == c).sum() < len(truth)]
        if shares.shape[1] == 2:
            scored = scored[:1]
        areas = [area(chance[:, c], truth == c) for c in scored]
        mean = np.mean([own.parts for own in areas], axis=0) if areas else np.zeros(len(truth))
        found[name] = {
            "AUC": Scored(float(np.mean([own.value for own in areas])) if areas else float("nan"), np.asarray(mean)),
            "accuracy": _mean((chance.argmax(axis=1) == truth).astype(float)),
        }
    return found


def _regress(train: FloatArray, line: FloatArray, tried: FloatArray, truth: FloatArray) -> dict[str, dict[str, Scored]]:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    found = {}
    for name, model in (
        ("linear regression", Ridge(1e-3)),
        ("boosted trees", HistGradientBoostingRegressor(max_iter=100, random_state=0)),
    ):
        wrong = truth - model.fit(train, line).predict(tried)
        around, left = (truth - truth.mean()) ** 2, float((wrong**2).mean())
        of_all = float(around.mean())
        parts = left / of_all**2 * (around - of_all) - (wrong**2 - left) / of_all
        found[name] = {"R2": Scored(1 - left / of_all, parts), "mean error": _mean(np.abs(wrong))}
    return found


def compare_models(pair: TablePair, said: ModelOptions, test: Microdata | None = None) -> pd.DataFrame:
    """Train models on an original table and on its release, and try them on the same rows.

    Parameters
    ----------
    pair : TablePair
        The two tables.
    said : ModelOptions
        Targets and columns of survival.
    test : Microdata, optional
        Rows to try the models on, ungeneralized; the original's by default.

    Returns
    -------
    pandas.DataFrame
        target, model, measure, original, released, and ``kept``: the share of the original model's gain over knowing
        nothing that the released one has; NaN where the measure has no such point, or where the original gains nothing
        beyond chance (two standard errors);
        ``change``, released less original, with the ends ``lower`` and ``upper`` of its 95 % interval.

    Raises
    ------
    ConfigError
        When nothing is to be predicted, a column is missing, or a target has one value or more than twenty.
    """
    import sklearn.ensemble  # noqa: F401  # loaded here, for threads of what is loaded later have no limit
    from threadpoolctl import threadpool_limits

    original = pair.original
    targets, survival = column_names(said.target), column_names(said.survival)
    require(bool(targets or survival), "nothing is to be predicted", "name columns with --target or --survival")
    require(len(survival) in (0, 2), "--survival needs two columns", "for example: --survival days,died")
    tables = [original.frame, pair.release.frame, *([] if test is None else [test.frame])]
    for frame in tables:
        check_columns(frame, [*targets, *survival])
    tried = _Rows(pair if test is None else TablePair(test, pair.release), False, original)
    sides = {"original": _Rows(pair, False, original), "released": _Rows(pair, True, original)}
    rows: list[dict[str, object]] = []
    for target in targets:
        design = _Design([n for n in original.quasi_identifiers if n not in (target, *survival)], original)
        with threadpool_limits(1):  # trees are small: threads wait for one another ten times as long as they work
            found = {side: _of_target(design, table, tried, target) for side, table in sides.items()}
        rows += _rows(target, found)
    if survival:
        design = _Design([name for name in original.quasi_identifiers if name not in survival], original)
        found = {}
        for side, table in sides.items():
            time, event = (_line(table, name) for name in survival)
            known = ~np.isnan(time) & ~np.isnan(event)
            weights = hazards(design.of(table)[known], time[known], event[known])
            time, event = (_line(tried, name) for name in survival)
            known = ~np.isnan(time) & ~np.isnan(event)
            score = concordance((design.of(tried) @ weights)[known], time[known], event[known])
            found[side] = {"proportional hazards": {"concordance": score}}
        rows += _rows(survival[0], found)
    return pd.DataFrame(rows)


def _of_target(design: _Design, table: _Rows, tried: _Rows, target: str) -> Mapping[str, Mapping[str, Scored]]:
    original = design.original
    x, test = design.of(table), design.of(tried)
    if original.kind(target) != "nominal":
        line, truth = table.numbers(target), tried.numbers(target)
        known, asked = ~np.isnan(line), ~np.isnan(truth)
        ends = np.unique(original.numbers(target))[:3]  # a missing one is last
        if np.isfinite(ends).sum() == 2:  # died: 0, 1
            low, high = ends[:2]
            asked &= np.isin(truth, ends)
            share = np.clip((line[known] - low) / (high - low), 0, 1)
            truths = (truth[asked] == high).astype(np.intp)
            return _classify(x[known], np.stack([1 - share, share], axis=1), test[asked], truths)
        require(bool(np.ptp(truth[asked])), f"{target!r} has one value", "predict another column")
        return _regress(x[known], line[known], test[asked], truth[asked])
    count = len(original.codes(target).values)
    what = f"{target!r} has {count} values"
    require(2 <= count <= _MOST_CLASSES, what, f"predict a column of 2 to {_MOST_CLASSES} values, or of numbers")
    shares = table.words(target)
    known = shares.sum(axis=1) > 0
    truth = tried.words(target)
    asked = truth.sum(axis=1) > 0
    return _classify(x[known], shares[known], test[asked], truth[asked].argmax(axis=1))


def _line(table: _Rows, name: str) -> FloatArray:
    """Return a column of times or events as numbers; of words, whether they say yes."""
    if table.reference.kind(name) != "nominal":
        return table.numbers(name)
    yes = [text.lower() in _YES for text in table.reference.codes(name).values]
    return np.asarray(table.words(name) @ np.array(yes, dtype=float))


def _rows(target: str, found: Mapping[str, Mapping[str, Mapping[str, Scored]]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for model, scores in found["original"].items():
        for measure, score in scores.items():
            other = found["released"][model][measure]
            nothing = _NOTHING.get(measure, float("nan"))
            gain = score.value - nothing
            kept = (other.value - nothing) / gain if gain > max(0.005, 2 * score.error) else float("nan")
            change, lower, upper = score.change_to(other)
            rows.append(
                {
                    "target": target,
                    "model": model,
                    "measure": measure,
                    "original": score.value,
                    "released": other.value,
                    "kept": float(kept),
                    "change": change,
                    "lower": lower,
                    "upper": upper,
                }
            )
    return rows


def models_outcome(pair: TablePair, said: ModelOptions, test: Microdata | None = None) -> Outcome:
    """Return the comparison of models as an outcome; parameters and errors as those of `compare_models`."""
    found = compare_models(pair, said, test)
    settings = {"test": test is not None, "made_up": said.made_up, "rows": len(pair.original)}
    return MODELS.outcome(found, settings=settings)


def models_section(found: pd.DataFrame, settings: Mapping[str, Any]) -> Section:
    """Return the table of `compare_models`; the setting ``test`` tells whether models were tried on other rows."""
    where = (
        "Both were tried on rows that neither table has."
        if settings["test"]
        else "Both were tried on the original's own rows, which they have seen: --test TABLE names others."
    )
    note = (
        f"{where} Kept: the share of the original model's gain over knowing nothing. "
        "Lower, upper: 95 % interval of the change, were other such rows tried."
    )
    return frame_section("Models trained on each table", found, note, digits=4)


def plot_models(found: pd.DataFrame) -> Figure:
    """Return the plot of `compare_models`: measures of each target by both models."""
    shown = found[found["measure"].isin(list(_NOTHING))]
    figure, axes = new_figure(6.5, 0.8 + 0.5 * len(shown))
    places = np.arange(len(shown))
    for shift, side, colour in ((-0.2, "original", COLOURS[2]), (0.2, "released", COLOURS[1])):
        axes.barh(places + shift, shown[side], height=0.38, color=colour, label=side)
    axes.set_yticks(places, [f"{row.target}: {row.model}, {row.measure}" for row in shown.itertuples()])
    axes.invert_yaxis()
    axes.legend()
    return figure


MODELS = Form(
    "Models from a release",
    lambda frame, values: [models_section(frame, values["settings"])],
    lambda frame, _: plot_models(frame),
    "Bars: measures of models trained on the original and on the release",
)
