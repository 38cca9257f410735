"""Synthetic data: made-up rows that have the counts of a release. Drawing them is post-processing and costs nothing.

A cube's rows are drawn box by box, cell by cell, or table by table. Tables that overlap like the nodes of a junction
tree are drawn one given the others, which is the distribution of greatest entropy that has them all; where they overlap
in cycles, and where pairs were chosen adaptively, a model is fitted to all of them: where they tie few pairs of columns
a junction tree (`deid.dp.graphical`), else a mixture (`deid.dp.mixture`). What no measured table shows is not in the
rows. Sequences are drawn from the root of a tree, or along a chain. Rows are apportioned to cells systematically,
so their counts differ from the release's by rounding, not by chance; those of a fitted model differ by what it does not
follow as well, which `release_distances` tells.

`check_fidelity` compares made-up with true rows, and spends budget for it: the distance between two tables of counts is
itself a question about the data.
"""

from __future__ import annotations

import functools
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.arrays import BoolArray, FloatArray, IntArray
from deid.base.errors import ConfigError, FormatError, require
from deid.base.late import pd
from deid.dp.boxes import Boxes
from deid.dp.budget import Ledger
from deid.dp.costs import Cost, Rho, draw, half_width_of, split_evenly, variance_of
from deid.dp.domain import Dimension, count_cells
from deid.dp.domain_options import DrawnRows, parse_condition
from deid.dp.graphical import fit_graphical, narrow
from deid.dp.marginals import Axes, Marginal
from deid.dp.mixture import apportion, apportion_groups, fit_mixture
from deid.dp.models import BoxModel, TableModel
from deid.dp.noise import Noise, OpenDPNoise
from deid.dp.payment import AlreadyReleased, row_key
from deid.dp.plan import Terms
from deid.dp.release import CubeRelease, read_release
from deid.dp.sequence_models import ChainModel, TreeModel
from deid.dp.sequence_release import END, SequenceRelease, read_sequences
from deid.dp.shrinkage import shrink_tables
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.dp.zcdp import epsilon_of
from deid.table.cell_text import text_column
from deid.table.microdata import check_columns

_MAX_ROWS = 20_000_000
_REDRAWN = 30


def _from_boxes(boxes: Boxes, rows: int, generator: np.random.Generator) -> dict[int, IntArray]:
    chosen = apportion(boxes.counts, rows, generator)
    return {axis: apportion_groups(chosen, boxes.shares(axis), generator) for axis in range(len(boxes.shape))}


def _junction_tree(tables: Sequence[Axes]) -> bool:
    """Say whether tables can be drawn one given the others (Graham 1979: taking ears away leaves nothing)."""
    left = [set(axes) for axes in tables]
    while True:
        left = [own for place, own in enumerate(left) if not any(own <= other for other in left[:place])
                and not any(own < other for other in left[place + 1 :])]  # fmt: skip
        alone = {axis for own in left for axis in own if sum(axis in other for other in left) == 1}
        if len(left) <= 1:
            return True
        if not alone:
            return False
        left = [own - alone for own in left]


def _from_tables(
    tables: Sequence[tuple[Axes, FloatArray]], rows: int, generator: np.random.Generator
) -> dict[int, IntArray]:
    codes: dict[int, IntArray] = {}
    left = list(tables)
    while left:
        left = [own for own in left if not set(own[0]) <= set(codes)]
        if not left:
            break
        # the table that hangs most on what is drawn already; of those the largest
        axes, counts = max(left, key=lambda own: (len(set(own[0]) & set(codes)), len(own[0])))
        known = [axis for axis in axes if axis in codes]
        new = [axis for axis in axes if axis not in codes]
        table = np.transpose(counts, [axes.index(axis) for axis in (*known, *new)])
        shape = table.shape
        table = table.reshape(int(np.prod(shape[: len(known)])), -1)
        groups = np.zeros(rows, np.int64)
        if known:
            groups = np.ravel_multi_index(tuple(codes[axis] for axis in known), shape[: len(known)]).astype(np.int64)
        drawn = np.unravel_index(apportion_groups(groups, table, generator), shape[len(known) :])
        codes |= {axis: np.asarray(own, np.int64) for axis, own in zip(new, drawn, strict=True)}
    return codes


Drawing = Callable[[int, np.random.Generator], dict[int, IntArray]]
"""Draws rows: for each dimension that they have the cell of each row."""


def fitted_drawing(tables: Sequence[Marginal], shape: Sequence[int], in_order: Sequence[int], total: float) -> Drawing:
    """Return what draws rows from a model of noisy tables: a junction tree, or a mixture (`deid.dp.graphical.narrow`).

    Parameters as those of `deid.dp.shrinkage.shrink_tables`.
    """
    tables = shrink_tables(tables, shape, in_order, total=total)
    if not narrow([own.axes for own in tables], shape):
        return fit_mixture(tables, shape, total=total).draw
    fitted = fit_graphical(tables, shape, total=total)
    return functools.partial(_from_tables, list(zip(fitted.tree.cliques, fitted.beliefs, strict=True)))


def _cube_drawing(release: CubeRelease) -> Drawing:
    model = release.model
    if isinstance(model, BoxModel):
        return functools.partial(_from_boxes, model.boxes)
    axes = [table.axes for table in model.tables]
    if isinstance(model, TableModel) and (release.metadata["method"] == "adaptive" or not _junction_tree(axes)):
        tables = [Marginal(table.axes, table.unbiased, table.variance(model.distance)) for table in model.tables]
        in_order = [own.in_order for own in release.dimensions]
        draw = fitted_drawing(tables, model.shape, in_order, _total(release))
        held = {axis for own in axes for axis in own}
        return lambda rows, generator: {axis: own for axis, own in draw(rows, generator).items() if axis in held}
    return functools.partial(_from_tables, [(table.axes, table.counts) for table in model.tables])


def _forbidden(codes: Mapping[int, IntArray], never: Sequence[Mapping[int, IntArray]]) -> BoolArray:
    rows = len(next(iter(codes.values())))
    found = np.zeros(rows, bool)
    for one in never:
        found |= np.logical_and.reduce([np.isin(codes[axis], cells) for axis, cells in one.items()])
    return found


def _without(
    draw: Drawing, rows: int, generator: np.random.Generator, never: Sequence[Mapping[int, IntArray]]
) -> dict[int, IntArray]:
    """Draw rows, and again those that cannot be."""
    codes = draw(rows, generator)
    if not rows or not never:
        return codes
    for _ in range(_REDRAWN):
        wrong = np.flatnonzero(_forbidden(codes, never))
        if not len(wrong):
            return codes
        again = draw(len(wrong), generator)
        for axis, own in codes.items():
            own[wrong] = again[axis]
    bad = _forbidden(codes, never)
    if not bad.any():
        return codes
    require(not bad.all(), "the rows that can never be are all that the release shows", "look at --never")
    instead = generator.choice(np.flatnonzero(~bad), int(bad.sum()))
    for own in codes.values():
        own[bad] = own[instead]
    return codes


def _tree_codes(model: TreeModel, rows: int, generator: np.random.Generator) -> IntArray:
    tree, symbols = model.tree, model.tree.symbols
    codes = np.zeros((rows, tree.height), np.int64)
    place = np.zeros(rows, np.int64)  # the node of each row, -1 below a leaf
    for depth in range(tree.height):
        level = tree.levels[depth]
        first = np.full(len(level) + 1, -1)
        grown = np.flatnonzero(level.expanded)
        first[grown] = np.arange(len(grown)) * symbols
        start = first[place]
        inside = start >= 0
        children = model.counts[depth + 1].reshape(-1, symbols)
        codes[inside, depth] = apportion_groups(start[inside] // symbols, children, generator)
        if depth:
            codes[~inside, depth] = apportion_groups(codes[~inside, depth - 1], model.transitions, generator)
        place = np.where(inside, start + codes[:, depth], -1)
    return codes


def _sequence_codes(release: SequenceRelease, rows: int, generator: np.random.Generator) -> IntArray:
    model = release.model
    if isinstance(model, TreeModel):
        return _tree_codes(model, rows, generator)
    assert isinstance(model, ChainModel)
    tables = [(tuple(range(start, start + table.ndim)), table) for start, table in enumerate(model.chain.tables)]
    drawn = _from_tables(tables, rows, generator)
    return np.stack([drawn[axis] for axis in range(model.height)], axis=1)


def _total(release: CubeRelease | SequenceRelease) -> float:
    model = release.model
    if isinstance(model, TreeModel):
        return float(model.counts[0][0])
    if isinstance(model, ChainModel):
        return float(model.chain.tables[0].sum())
    return float((model.boxes if isinstance(model, BoxModel) else model.tables[0]).counts.sum())


def _never(release: CubeRelease, never: Sequence[Mapping[str, str]]) -> list[dict[int, IntArray]]:
    """Return the cells, by dimension, of which no row may have all."""
    names = [own.name for own in release.dimensions]
    drawn = {axis for table in _tables(release) for axis in table}
    result = []
    for one in never:
        missing = [name for name in one if name not in names or names.index(name) not in drawn]
        if missing or not one:
            raise ConfigError("what can never be names a column that rows do not have", f"they have {', '.join(names)}")
        result.append({names.index(name): release.dimensions[names.index(name)].select(one[name]) for name in one})
    return result


def _tables(release: CubeRelease) -> list[Axes]:
    """Return over which dimensions a release has tables: each by itself for boxes."""
    model = release.model
    if isinstance(model, BoxModel):
        return [(axis,) for axis in range(len(model.shape))]
    return [table.axes for table in model.tables]


def synthesize(
    release: CubeRelease | SequenceRelease,
    *,
    rows: int | None = None,
    seed: int = 0,
    never: Sequence[Mapping[str, str]] = (),
) -> pd.DataFrame:
    """Draw made-up rows.

    Parameters
    ----------
    release : CubeRelease or SequenceRelease
        What was published.
    rows : int, optional
        How many; as many as the release says by default.
    seed : int
        Equal seeds give equal rows. It protects nothing and need not be secret.
    never : sequence of mapping of str to str
        Structural zeros of a cube: conditions on columns, as in `CubeRelease.slice`, that no row meets all together.
        They must be known from outside of the data. Rows that do are drawn again.

    Returns
    -------
    pandas.DataFrame
        The labels of cells (``10-19`` for a cell of ten years). Columns that no measured table holds are left out; a
        sequence that ends early is missing from there on.

    Raises
    ------
    ConfigError
        When ``rows`` is below 0 or too large, or ``never`` does not fit the release or leaves no row.
    """
    generator = np.random.default_rng(seed)
    number = max(round(_total(release)), 0) if rows is None else rows
    if not 0 <= number <= _MAX_ROWS:
        raise ConfigError(f"{number} rows are too many or too few", f"ask for 0 to {_MAX_ROWS}: --rows 1000")
    if isinstance(release, CubeRelease):
        zeros = _never(release, never)
        codes = _without(_cube_drawing(release), number, generator, zeros)
        columns: dict[str, pd.Series] = {}
        for axis in sorted(codes):
            own = release.dimensions[axis]
            columns |= own.unread(pd.Series(np.array(own.labels, object)[codes[axis]]))
        return pd.DataFrame(columns)
    require(not never, "structural zeros are for rows of a cube", "leave out --never")
    sequences = _sequence_codes(release, number, generator)
    labels = np.array([None if label == END else label for label in release.labels], object)
    ended = np.maximum.accumulate(sequences >= len(release.dimension), axis=1)
    texts = labels[sequences]
    texts[ended] = None
    return pd.DataFrame(texts, columns=list(release.columns))


@dataclass(frozen=True, slots=True)
class ReleaseDistance:
    """How far made-up rows are from the release that they were drawn from, in one of its tables."""

    slice: str
    share: float
    """Half the sum of the absolute differences of shares: the share of rows in other cells than the release says."""


@dataclass(frozen=True)
class MadeUpRows:
    """Made-up rows, and what is said of them."""

    table: pd.DataFrame = field(repr=False)
    release: CubeRelease | SequenceRelease = field(repr=False)
    distances: Sequence[ReleaseDistance] = ()
    """To a cube, by measured table."""

    @classmethod
    def drawn(cls, release: CubeRelease | SequenceRelease, asked: DrawnRows) -> MadeUpRows:
        """Draw the rows that are asked for; errors are those of `synthesize`."""
        never = [dict(parse_condition(part.strip()) for part in one.split("&")) for one in asked.never]
        table = synthesize(release, rows=asked.rows, seed=asked.seed, never=never)
        if isinstance(release, CubeRelease) and len(table):
            return cls(table, release, release_distances(release, table))
        return cls(table, release)

    def sentences(self) -> list[str]:
        """Return what must be said beside them."""
        told = [f"{len(self.table)} rows of nobody; what the release does not show is not in them"]
        left_out = [own.name for own in dimensions_of(self.release) if own.name not in self.table]
        if left_out:
            told.append(f"not in any measured table, so left out: {', '.join(left_out)}")
        if not self.release.private:
            told.append(str(self.release.metadata["noise"]))
        return [*told, say_distances(self.distances)] if self.distances else told

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        told = {"rows": len(self.table), "columns": list(self.table), "private": self.release.private}
        return told | ({"distance_to_release": list(map(asdict, self.distances))} if self.distances else {})


def release_distances(release: CubeRelease, synthetic: pd.DataFrame) -> list[ReleaseDistance]:
    """Compare made-up rows with their release, table by table; boxes column by column.

    Both are published: this costs nothing, and says nothing about the distance to the data (`check_fidelity`).

    Parameters
    ----------
    release : CubeRelease
        What was published.
    synthetic : pandas.DataFrame
        What `synthesize` made of it, one row or more.

    Returns
    -------
    list of ReleaseDistance
        In the order of the tables. Negative counts count as 0.
    """
    by_name = {own.name: own for own in release.dimensions}
    result = []
    codes = {name: _label_codes(own.read(synthetic), own) for name, own in by_name.items() if name in synthetic}
    for axes in _tables(release):
        names = [release.dimensions[axis].name for axis in axes]
        shown = np.maximum(release.model.counts(axes), 0.0)
        made = _slice_counts(codes, names, by_name)
        if shown.sum() > 0:
            apart = float(np.abs(made / made.sum() - shown / shown.sum()).sum()) / 2
            result.append(ReleaseDistance(" x ".join(names), apart))
    return result


def say_distances(distances: Sequence[ReleaseDistance]) -> str:
    """Return distances (`release_distances`) in words."""
    mean = sum(own.share for own in distances) / len(distances)
    most = max(distances, key=lambda own: own.share)
    return (
        f"{mean:.2%} of the rows lie in other cells than the release says, in the mean of {len(distances)} tables; "
        f"most in {most.slice}: {most.share:.2%}"
    )


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How far made-up rows are from true ones in a slice."""

    slice: str
    cells: int
    distance: float
    """Sum over the cells of the differences of counts, with noise."""
    lower: float
    upper: float
    share: float
    """The distance divided by twice the number of made-up rows: about the share of rows in wrong cells."""
    epsilon: float
    """What this distance costs; with Gaussian noise, what it would cost by itself at the budget's delta."""


@dataclass(frozen=True)
class FidelityPlan:
    """A comparison of made-up with true rows; holds nothing of either.

    Parameters
    ----------
    dimensions : mapping of str to Dimension
        The release's columns with their domains, by name.
    slices : tuple of tuple of str
        Columns of each slice to compare.
    shares : tuple of Cost
        What each costs.
    terms : Terms
        Whom it protects.
    """

    dimensions: Mapping[str, Dimension]
    slices: tuple[tuple[str, ...], ...]
    shares: tuple[Cost, ...]
    terms: Terms

    @property
    def columns(self) -> list[str]:
        """The columns that are compared."""
        return sorted({name for one in self.slices for name in one})

    def cells(self, names: Sequence[str]) -> int:
        """Return how many cells a slice has."""
        return math.prod(len(self.dimensions[name]) for name in names)


def plan_fidelity(
    dimensions: Sequence[Dimension], slices: Sequence[Sequence[str]], epsilon: float, unit: PrivacyUnit, **terms: Any
) -> FidelityPlan:
    """Check a comparison without looking at any row; arguments and errors as those of `check_fidelity`."""
    by_name = {dimension.name: dimension for dimension in dimensions}
    if not slices or any(not one or not set(one) <= set(by_name) for one in slices):
        raise ConfigError("slices to compare are missing, or name no column of the release", "--slice year,death")
    agreed = Terms.checked(unit, **terms, report_share=0)
    shares = split_evenly(agreed.split(epsilon)[0], len(slices))
    for own in shares:
        variance_of(unit.distance, own)  # an epsilon that is too small is refused here
    return FidelityPlan(by_name, tuple(map(tuple, slices)), shares, agreed)


def check_fidelity(
    frame: pd.DataFrame,
    synthetic: pd.DataFrame,
    dimensions: Sequence[Dimension],
    slices: Sequence[Sequence[str]],
    epsilon: float,
    *,
    ledger: Ledger | None,
    unit: PrivacyUnit,
    request: str = "",
    noise: Noise | None = None,
    **terms: Any,
) -> list[Fidelity]:
    """Compare made-up rows with the true ones, slice by slice. Spends ``epsilon``, an equal share for each slice.

    A row more changes one cell by one, so the distance by at most one. Noise is Laplace's, or with a delta Gaussian,
    which many slices raise less.

    Parameters
    ----------
    frame, synthetic : pandas.DataFrame
        The true rows, and the made-up ones.
    dimensions : sequence of Dimension
        The release's columns with their domains.
    slices : sequence of sequence of str
        Names of the columns of each slice to compare.
    epsilon : float
        Cost of the comparison, beside that of the release.
    ledger : Ledger or None
        What pays; None for test noise alone.
    unit : PrivacyUnit
        Whom the comparison protects.
    request : str
        Id in the ledger.
    noise : Noise, optional
        OpenDP's by default.
    **terms
        Level, person and bound: see `deid.dp.plan.Terms.checked`.

    Returns
    -------
    list of Fidelity
        One a slice, in their order.

    Raises
    ------
    ConfigError, BudgetExceeded, AlreadyReleased
        See `deid.dp.cube.release_cube`.
    """
    noise = noise or OpenDPNoise()
    plan = plan_fidelity(dimensions, slices, epsilon, unit, **terms)
    by_name, agreed, asked = plan.dimensions, plan.terms, plan.columns
    for table in (frame, synthetic):
        check_columns(table, [name for own in asked for name in by_name[own].columns])
    if agreed.person is not None:
        frame = frame[bounded_rows(frame, agreed.person, unit.max_rows, row_key(ledger)).keep]
    true = {name: by_name[name].codes(by_name[name].read(frame)) for name in asked}
    made = {name: _label_codes(by_name[name].read(synthetic), by_name[name]) for name in asked}
    question: dict[str, Any] = {
        "fidelity": [list(one) for one in slices],
        "domains": [{"name": name, **by_name[name].declaration} for name in asked],
        "counts": [_slice_counts(made, one, by_name).ravel().tolist() for one in slices],
        **agreed.questioned("person", "level"),
    }
    agreed.pay(ledger, noise, epsilon, request, purpose="fidelity of synthetic data", question=question)
    result = []
    for one, share in zip(plan.slices, plan.shares, strict=True):
        published = _slice_counts(made, one, by_name)
        apart = int(np.abs(_slice_counts(true, one, by_name) - published).sum())
        drawn = float(draw(noise, np.array([apart]), unit.distance, share)[0])
        half = half_width_of(unit.distance, share, agreed.level)
        rows = max(int(published.sum()), 1)
        ends = max(drawn - half, 0.0), max(drawn + half, 0.0)
        alone = epsilon_of(share.value, agreed.delta) if isinstance(share, Rho) else share
        result.append(Fidelity(" x ".join(one), published.size, drawn, *ends, max(drawn, 0.0) / (2 * rows), alone))
    return result


def _label_codes(column: pd.Series, dimension: Dimension) -> IntArray:
    """Return the cells of labels."""
    places = {label: place for place, label in enumerate(dimension.labels)}
    texts = text_column(column)
    cells = np.array([*(places.get(text, -1) for text in texts.cat.categories), -1], np.int64)
    return cells[texts.cat.codes.to_numpy()]


def _slice_counts(codes: dict[str, IntArray], names: Sequence[str], by_name: Mapping[str, Dimension]) -> IntArray:
    own = np.stack([codes[name] for name in names])
    own = own[:, (own >= 0).all(axis=0)]
    return count_cells(list(own), [len(by_name[name]) for name in names])


def measure_fidelity(
    *compared: Any, ledger: Ledger | None, request: str | None = None, **how: Any
) -> tuple[str, list[dict[str, Any]]]:
    """Check fidelity once for each request; further arguments are those of `check_fidelity`.

    Returns
    -------
    str
        Id of the request, drawn at random if none is given.
    list of dict
        JSON values of each slice; those that the ledger recorded, when this request was answered before.
    """
    own = request or secrets.token_hex(8)
    unit = ledger.account().unit if ledger is not None else PrivacyUnit()
    try:
        found = check_fidelity(*compared, ledger=ledger, unit=unit, request=own, **how)
    except AlreadyReleased as before:
        return own, json.loads(before.answer)
    lines = [asdict(line) for line in found]
    return own, lines if ledger is None else json.loads(ledger.answer(own, json.dumps(lines)))


def read_any_release(path: Path) -> CubeRelease | SequenceRelease:
    """Return the release of a file, of a cube or of sequences.

    Raises
    ------
    FormatError
        When the file is neither.
    """
    for read in (read_release, read_sequences):
        with suppress(FormatError):
            return read(path)
    what = "this is no release of sequences or of counts, or a part is missing"
    raise FormatError(what, "name a file that deid cube or deid sequences wrote", str(path))


def dimensions_of(release: CubeRelease | SequenceRelease) -> list[Dimension]:
    """Return the columns of a release; each period of sequences has the domain of their levels."""
    if isinstance(release, CubeRelease):
        return list(release.dimensions)
    return [replace(release.dimension, name=name) for name in release.columns]
