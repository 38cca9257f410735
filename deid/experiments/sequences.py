"""How far released sequences are from the truth: methods by length and epsilon, trends, and what a privacy unit costs.

These experiments compare with true counts, so their figures are themselves not private. Noise is seeded test noise. The
methods compared always include ``even``, the noisy total spread evenly over all sequences, and ``zero``, which answers
0 to everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import require
from deid.base.late import pd
from deid.base.options import column_names
from deid.base.plots import COLOURS, Figure, draw_lines, new_figure
from deid.base.reports import Section, frame_records, frame_section
from deid.dp.domain import Dimension
from deid.dp.domain_options import LEVEL
from deid.dp.noise import Noise
from deid.dp.prefix_tree import grow
from deid.dp.sequence_models import TreeModel
from deid.dp.sequence_release import CLASSES, SLOPES, slope_classes
from deid.dp.sequences import METHODS, measure_sequences, plan_sequences
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.experiments.asking import SequenceRuns
from deid.experiments.outcome import TRUE_COUNTS, Form, Outcome, RunOptions, frame_of
from deid.table.microdata import check_columns

Answers = Callable[[int], FloatArray]
"""From a length to the answers of all prefix queries of it, in the order of their symbols."""

COMPARED = (*METHODS, "tree-predicted", "tree-paper-no-root", "even", "zero")
"""Methods that can be compared; tree-predicted is a tree that predicts what lies below its leaves."""
_ALWAYS = ("even", "zero")


def _true(codes: IntArray, levels: int, length: int) -> FloatArray:
    cells = np.ravel_multi_index(tuple(codes[:, :length].T), (levels,) * length)
    return np.bincount(cells, minlength=levels**length).astype(float)


def _run(
    method: str, codes: IntArray, dimension: Dimension, epsilon: float, unit: PrivacyUnit, noise: Noise
) -> tuple[Answers, Answers]:
    """Release; return the answers to prefix queries, and the distribution that sums are taken from."""
    height, levels, predict = codes.shape[1], len(dimension), method == "tree-predicted"
    if method == "zero":
        return (lambda length: np.zeros(levels**length),) * 2
    if method == "even":
        total = float(noise.discrete_laplace(np.array([len(codes)]), unit.distance, epsilon)[0])
        return (lambda length: np.full(levels**length, total / levels**length),) * 2
    if method == "tree-paper-no-root":
        # Chen's variant: the root is not counted, each depth below it gets 1 / height; the first share is never used
        shares = [epsilon / height] * (height + 1)
        tree = grow(codes, levels, shares, noise, distance=unit.distance, mode="paper")
        model = TreeModel(tree, printed=True)
    else:
        periods = [str(number) for number in range(height)]
        person = None if unit.name == "row" else "person"
        own = "tree" if predict else method
        plan = plan_sequences(dimension, periods, epsilon, unit, method=own, person=person, report_share=0.0)
        model = measure_sequences(codes, plan, noise)  # type: ignore[assignment]
    return (
        lambda length: model.prefixes(length, 0.95, predict=predict).count,
        lambda length: model.distribution(length).ravel(),
    )


def _checked(methods: Sequence[str]) -> list[str]:
    unknown = [method for method in methods if method not in COMPARED]
    require(not unknown, "unknown method", f"use some of {', '.join(COMPARED)}")
    return list(dict.fromkeys([*methods, *_ALWAYS]))


def compare_sequences(
    codes: IntArray,
    dimension: Dimension,
    how: RunOptions,
    *,
    methods: Sequence[str] = COMPARED,
) -> pd.DataFrame:
    """Measure the error of prefix queries.

    Parameters
    ----------
    codes : int64 array, shape (sequences, height)
        The level of each period.
    dimension : Dimension
        The levels.
    how : RunOptions
        Costs of the whole release, and how many are made.
    methods : sequence of str
        Of `COMPARED`; ``even`` and ``zero`` are always among them.

    Returns
    -------
    pandas.DataFrame
        ``method``, ``epsilon``, ``length``; ``count`` (mean true answer of a query), ``error`` (mean absolute error,
        over all prefixes and runs), ``relative`` (mean of error over count, of the prefixes that occur).
    """
    height, levels = codes.shape[1], len(dimension)
    truths = [_true(codes, levels, length) for length in range(1, height + 1)]
    records = []
    for method in _checked(methods):
        for epsilon in how.epsilons:
            errors, relative = np.zeros(height), np.zeros(height)
            for noise in how.noises():
                answers, _ = _run(method, codes, dimension, epsilon, PrivacyUnit(), noise)
                for n, true in enumerate(truths):
                    wrong = np.abs(answers(n + 1) - true)
                    errors[n] += float(wrong.mean()) / how.runs
                    relative[n] += float((wrong[true > 0] / true[true > 0]).mean()) / how.runs
            for n, true in enumerate(truths):
                records.append((method, float(epsilon), n + 1, float(true.mean()), errors[n], relative[n]))
    return pd.DataFrame(records, columns=["method", "epsilon", "length", "count", "error", "relative"])


def compare_trends(
    codes: IntArray,
    dimension: Dimension,
    how: RunOptions,
    *,
    methods: Sequence[str] = COMPARED,
    lengths: Sequence[int] = (3,),
) -> pd.DataFrame:
    """Measure the error of the counts of falling, steady and rising sequences; arguments as `compare_sequences`.

    Returns
    -------
    pandas.DataFrame
        ``method``, ``epsilon``, ``length``, ``slope`` (average or regression), ``class``, ``true``, ``error``.
    """
    levels = len(dimension)
    asked = {
        (length, slope): slope_classes(list(range(levels)), length, slope=slope).reshape(3, -1)
        for length in lengths
        for slope in SLOPES
    }
    records = []
    for method in _checked(methods):
        for epsilon in how.epsilons:
            found: dict[tuple[int, str], FloatArray] = {key: np.zeros(3) for key in asked}
            for noise in how.noises():
                _, distribution = _run(method, codes, dimension, epsilon, PrivacyUnit(), noise)
                for (length, slope), classes in asked.items():
                    wrong = classes @ (distribution(length) - _true(codes, levels, length))
                    found[length, slope] += np.abs(wrong) / how.runs
            for (length, slope), classes in asked.items():
                true = classes @ _true(codes, levels, length)
                for name, count, error in zip(CLASSES, true, found[length, slope], strict=True):
                    records.append((method, float(epsilon), length, slope, name, int(count), float(error)))
    return pd.DataFrame(records, columns=["method", "epsilon", "length", "slope", "class", "true", "error"])


def unit_cost(
    codes: IntArray,
    persons: pd.Series,
    dimension: Dimension,
    how: RunOptions,
    *,
    bounds: Sequence[int] = (1, 2, 5, 10, 20),
) -> pd.DataFrame:
    """Measure what it costs to protect a person, not a row, by how many rows of a person count, at the last epsilon.

    Few rows leave many sequences out, many need much noise. Errors are those of shares (counts divided by the number of
    sequences that count), in percent points, against the shares of the whole table.

    Returns
    -------
    pandas.DataFrame
        ``max_rows``, ``rows`` (how many count), ``length``, ``error``, and ``row_error`` of a release that protects
        only a row.
    """
    height, levels = codes.shape[1], len(dimension)
    table = pd.DataFrame(codes).assign(person=persons.to_numpy())
    truths = [_true(codes, levels, length) / len(codes) for length in range(1, height + 1)]

    def errors(own: IntArray, unit: PrivacyUnit) -> FloatArray:
        found = np.zeros(height)
        for noise in how.noises():
            answers, _ = _run("tree", own, dimension, how.epsilons[-1], unit, noise)
            for n in range(height):
                shares = answers(n + 1)
                found[n] += 100 * float(np.abs(shares / max(shares.sum(), 1.0) - truths[n]).mean()) / how.runs
        return found

    rows = errors(codes, PrivacyUnit())
    records = []
    for bound in bounds:
        keep = bounded_rows(table, "person", bound).keep
        found = errors(codes[keep], PrivacyUnit("person", "add-remove", bound))
        records += [(bound, int(keep.sum()), n + 1, float(found[n]), float(rows[n])) for n in range(height)]
    return pd.DataFrame(records, columns=["max_rows", "rows", "length", "error", "row_error"])


def sequence_shapes(codes: IntArray) -> dict[str, float]:
    """Return the shares of sequences that end higher than they began, as high, and lower, and of those that turn.

    Parameters
    ----------
    codes : int64 array, shape (sequences, height)
        The level of each period.

    Returns
    -------
    dict of str to float
        ``higher``, ``same`` and ``lower``, which sum to 1, and ``turning``: the level rises once and falls once at
        least (the "zig-zag" of Gardner 2012, section 5.3.4).
    """
    steps, ends = np.diff(codes, axis=1), codes[:, -1] - codes[:, 0]
    found = {"higher": ends > 0, "same": ends == 0, "lower": ends < 0}
    found["turning"] = (steps > 0).any(axis=1) & (steps < 0).any(axis=1)
    return {name: float(which.mean()) for name, which in found.items()}


def plot_sequences(frame: pd.DataFrame, drawn: Sequence[Sequence[int]] = ()) -> Figure:
    """Return the plot of `compare_sequences`: error over length, a panel an epsilon; relative error at the last.

    Sequences that were drawn, levels as numbers, have a panel of their own behind these.
    """
    epsilons = list(dict.fromkeys(frame["epsilon"]))
    panels = [(epsilon, "error", "mean error of a query") for epsilon in epsilons]
    if "relative" in frame:
        panels.append((epsilons[-1], "relative", "relative error of queries that have an answer"))
    width = len(panels) + bool(drawn)
    figure, every = new_figure(4.5 * width, 4.2, width, squeeze=False, grid=True)
    if drawn:
        axes = every[0][-1]
        for number, levels in enumerate(drawn):
            shown = np.arange(1, len(levels) + 1), np.asarray(levels)
            axes.plot(*shown, marker="o", color=COLOURS[number % len(COLOURS)], label=f"drawn {number + 1}")
        axes.set(title="sequences drawn at random", xlabel="period", ylabel="level")
        axes.legend(fontsize="small")
    for axes, (epsilon, what, label) in zip(every[0], panels, strict=False):
        draw_lines(axes, frame[frame["epsilon"] == epsilon], "method", "length", what, dashed=_ALWAYS)
        title = f"epsilon {epsilon:g}"
        axes.set(yscale="log", title=title, xlabel="length of the prefix", ylabel=label)
    axes.legend(fontsize="small")
    return figure


_ROWS = "Rows of the table as they are: NOT private. Levels are numbered from 0 in the order of their domain."


def sequences_outcome(frame: pd.DataFrame, asked: SequenceRuns, how: RunOptions) -> Outcome:
    """Compare methods on the complete sequences of a table: lengths, and trends and the cost of persons where asked.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a sequence.
    asked : SequenceRuns
    how : RunOptions

    Returns
    -------
    Outcome
        Tables and a plot.

    Raises
    ------
    ConfigError
        When a column is missing, or fewer sequences are complete than are to be drawn.
    """
    level, periods = asked.dimensions([LEVEL], lambda: frame)[0], column_names(asked.periods)
    require(bool(periods), "no column is named", "name the columns of the periods with --periods")
    check_columns(frame, [*periods, *([asked.person] if asked.person else [])])
    codes = np.stack([level.codes(frame[name]) for name in periods], axis=1)
    complete = np.asarray((codes >= 0).all(axis=1))
    codes = codes[complete]
    methods, draw = column_names(asked.methods), asked.draw
    compared = compare_sequences(codes, level, how, methods=methods)
    values: dict[str, Any] = {}
    if asked.trends:
        trends = compare_trends(codes, level, how, methods=methods, lengths=asked.trends)
        values["slopes"] = frame_records(trends)
    if draw:
        require(0 < draw <= len(codes), "there are not so many complete sequences to draw", "for example: --draw 4")
        drawn = np.random.default_rng(how.seed).choice(codes, draw, replace=False).tolist()
        values |= {"drawn": drawn, "shapes": sequence_shapes(codes)}
    if asked.person is not None:
        cost = unit_cost(codes, frame.loc[complete, asked.person], level, how, bounds=asked.bounds)
        values |= {"unit": frame_records(cost), "complete": len(codes)}
    return LENGTHS.outcome(compared, **values)


def _sections(compared: pd.DataFrame, values: Mapping[str, Any]) -> list[Section]:
    """Return the tables of an outcome."""
    about = ["method", "epsilon"]
    sections = [
        frame_section("Mean error of a prefix query, by length", _wide(compared, about, "length"), TRUE_COUNTS),
        frame_section("Mean relative error, by length", _wide(compared, about, "length", "relative"), "", 3),
    ]
    if "slopes" in values:
        title = "Error of the counts of falling, steady and rising sequences, by periods"
        trends = _wide(frame_of(values["slopes"]), [*about, "slope", "length"], "class")
        sections.append(frame_section(title, trends, TRUE_COUNTS))
    if "drawn" in values:
        drawn = pd.DataFrame(values["drawn"]).rename(columns=lambda place: str(place + 1))
        shares = pd.DataFrame([{name: f"{share:.1%}" for name, share in values["shapes"].items()}])
        title = "Sequences that end higher, as high, lower than they began, and that turn"
        sections += [frame_section("Sequences drawn at random, by period", drawn, _ROWS), frame_section(title, shares)]
    if "unit" in values:
        cost, epsilon = frame_of(values["unit"]), compared["epsilon"].iloc[-1]
        title = f"Error of shares in percent points by rows of a person that count, epsilon {epsilon:g}"
        row = cost[cost["max_rows"] == cost["max_rows"][0]].assign(max_rows="row alone", rows=values["complete"])
        both = [_wide(own, ["max_rows", "rows"], "length") for own in (cost, row.assign(error=row["row_error"]))]
        sections.append(frame_section(title, pd.concat(both), TRUE_COUNTS))
    return sections


def _wide(frame: pd.DataFrame, by: list[str], across: str, what: str = "error") -> pd.DataFrame:
    """Put the errors of all lengths, or classes, beside one another."""
    wide = frame.pivot_table(index=by, columns=across, values=what, sort=False)
    return wide.rename(columns=str).reset_index()


LENGTHS = Form(
    "Sequences",
    _sections,
    lambda compared, values: plot_sequences(compared, values.get("drawn", ())),
    "Error over the length of sequences, a panel an epsilon",
    "lengths",
)
