"""A released cube: what was published, with all that is needed to read it; files and queries.

A release is a table of numbers and metadata: method, epsilon, unit, relation, declared domains, post-processing. As
Parquet the metadata lie in the file's schema, as JSON in the same object, as CSV in a second file ``NAME.csv.json``.
A release that was made with test noise says so in the metadata and in a column of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray, IntArray
from deid.base.errors import MALFORMED, ConfigError, FormatError, require, told_as
from deid.base.late import pd
from deid.dp.boxes import Boxes
from deid.dp.costs import cost_of, told
from deid.dp.domain import Dimension, OuterLevel, declared_again
from deid.dp.forest import Forest
from deid.dp.intervals import half_width, sampled, shares_interval
from deid.dp.marginals import Axes
from deid.dp.models import (
    BoxModel,
    ForestModel,
    IntervalTable,
    MarginalTable,
    Model,
    Moments,
    NestedModel,
    TableModel,
    WaveletModel,
)
from deid.dp.nested import chained
from deid.dp.privelet import Wavelet
from deid.dp.release_files import NOT_PRIVATE, ReleaseFacts, read_numbers, unit_of, write_numbers
from deid.dp.unit import PrivacyUnit

_VERSION = 1
_NUMBERS = ("count", "lower", "upper", "unbiased")
RESERVED = frozenset({*_NUMBERS, "variance", NOT_PRIVATE})
"""Columns of a release that no dimension may be called."""
_SUFFIXES = (" from", " to")
_Numbers = Callable[[Axes, list[IntArray | None]], dict[str, FloatArray]]
"""Of the axes of a slice and the chosen cells the numbers of each cell, by column."""


@dataclass(frozen=True, eq=False)
class CubeRelease(ReleaseFacts):
    """What was published.

    Parameters
    ----------
    dimensions : tuple of Dimension
        The cube's columns with their declared domains.
    model : Model
        The numbers.
    metadata : mapping
        JSON values: ``method``, ``epsilon``, ``unit``, ``relation``, ``max_rows``, ``private``, ``noise``, ``level``,
        ``notes`` and more.
    """

    dimensions: tuple[Dimension, ...]
    model: Model
    metadata: Mapping[str, Any]

    @property
    def unit(self) -> PrivacyUnit:
        """Whom it protects."""
        return unit_of(self.metadata)

    def slice(
        self,
        dims: Sequence[str] = (),
        where: Mapping[str, str] | None = None,
        level: float | None = None,
        *,
        sampling: bool = False,
        share: str | None = None,
    ) -> pd.DataFrame:
        """Return a table over ``dims``, all other dimensions summed out.

        Parameters
        ----------
        dims : sequence of str
            Columns of the table; none for the total.
        where : mapping of str to str, optional
            Conditions ``column: "A"``, ``"A,B"`` or ``"A..B"``, on columns of the table or others.
        level : float, optional
            Level of the intervals; the release's by default.
        sampling : bool
            Whether intervals cover, beside the noise, that the rows are a sample of others (`deid.dp.intervals`).
        share : str, optional
            One of ``dims``, whose cells are told as shares of their sum, with intervals of the shares.

        Returns
        -------
        pandas.DataFrame
            One row a cell: ``dims``, ``count``, ``lower``, ``upper``; where a share is asked, ``share`` before
            ``lower``, and the ends are those of the share.

        Raises
        ------
        ConfigError
            When the release does not have a column or a cell, or cannot answer this slice.
        """
        require(share is None or share in dims, "a share is of a column of the table", "name it in --dims, too")
        require(share is None or "share" not in dims, "a column of the table is called 'share'", "ask for its counts")
        chosen: list[IntArray | None] = [None] * len(self.dimensions)
        for name, text in (where or {}).items():
            axis, cells = self._cells(name, text)
            known = chosen[axis]
            chosen[axis] = cells if known is None else np.intersect1d(known, cells)
        asked = self.level(level)

        def numbers(axes: Axes, chosen: list[IntArray | None]) -> dict[str, FloatArray]:
            if share is not None:
                return self._shares(self._axis(share), axes, chosen, asked, sampling=sampling)
            answer = self._sampled(axes, chosen, asked) if sampling else self.model.answer(axes, chosen, asked)
            return {name: getattr(answer, field) for name, field in _ANSWER.items()}

        return self.marked(self._slice(list(dims), chosen, numbers))

    def _sampled(self, axes: Axes, chosen: list[IntArray | None], level: float) -> IntervalTable:
        counts, unbiased, variance, draws = self.model.moments(axes, chosen)
        lower, upper = sampled(unbiased, variance, draws, level, rows=self.unit.max_rows)
        return IntervalTable(counts, np.minimum(lower, counts), np.maximum(upper, counts))

    def _shares(
        self, axis: int, axes: Axes, chosen: list[IntArray | None], level: float, *, sampling: bool
    ) -> dict[str, FloatArray]:
        place, others = axes.index(axis), tuple(own for own in axes if own != axis)
        part, over = self.model.moments(axes, chosen), self.model.moments(others, chosen)
        whole = Moments(*(np.broadcast_to(np.expand_dims(own, place), part.counts.shape) for own in over))
        if isinstance(self.model, TableModel):
            # cells along a column of a table have equal parts in the noise of their sum
            both = whole.variance / part.counts.shape[place]
        else:  # the worst of all covariances
            both = -np.sqrt(part.variance * whole.variance)
        variances = part.variance, whole.variance, both
        ends = shares_interval(
            part.unbiased, whole.unbiased, variances, np.minimum(part.draws, whole.draws), level,
            rows=self.unit.max_rows, sampling=sampling,
        )  # fmt: skip
        shown = np.divide(part.counts, whole.counts, out=np.zeros(part.counts.shape), where=whole.counts > 0)
        shown = np.clip(shown, 0.0, 1.0)
        return {"count": part.counts, "share": shown, "lower": np.minimum(ends[0], shown),
                "upper": np.maximum(ends[1], shown)}  # fmt: skip

    def _slice(self, dims: list[str], chosen: list[IntArray | None], numbers: _Numbers) -> pd.DataFrame:
        rolled = next((name for name in dims if self._outer(name) is not None), None)
        if rolled is not None:
            return self._rolled_up(rolled, dims, chosen, numbers)
        axes = tuple(self._axis(name) for name in dims)
        require(len(set(axes)) >= len(axes), "a dimension is named twice", "name each once")
        answer = numbers(axes, chosen)
        cells = [np.arange(len(self.dimensions[a])) if (own := chosen[a]) is None else own for a in axes]
        grids = np.meshgrid(*cells, indexing="ij") if axes else []
        columns: dict[str, Any] = {
            self.dimensions[axis].name: np.array(self.dimensions[axis].labels, object)[grid.ravel()]
            for axis, grid in zip(axes, grids, strict=True)
        }
        return pd.DataFrame(columns | {name: own.ravel() for name, own in answer.items()})

    def _outer(self, name: str) -> tuple[int, OuterLevel] | None:
        """Return the dimension whose cells lie in a level of this name, and the level."""
        if any(own.name == name for own in self.dimensions):
            return None
        return next(((axis, own.outer[name]) for axis, own in enumerate(self.dimensions) if name in own.outer), None)

    def _cells(self, name: str, text: str) -> tuple[int, IntArray]:
        """Return the dimension and the cells that a condition names, on a column or on an outer level of one."""
        found = self._outer(name)
        if found is None:
            return self._axis(name), self.dimensions[self._axis(name)].select(text)
        axis, outer = found
        asked = Dimension(name, outer.labels, False, {}).select(text)
        return axis, np.flatnonzero(np.isin(outer.of, asked))

    def _rolled_up(self, name: str, dims: list[str], chosen: list[IntArray | None], numbers: _Numbers) -> pd.DataFrame:
        """Return `_slice` over an outer level: a cell of it at a time, so that its interval is that of its sum."""
        found = self._outer(name)
        assert found is not None
        axis, outer = found
        others = [own for own in dims if own != name]
        if len(others) < len(dims) - 1 or self.dimensions[axis].name in others:
            raise ConfigError("a dimension is named twice", "name each once: a column, or a level in which it lies")
        parts = []
        for number, label in enumerate(outer.labels):
            cells, known = np.flatnonzero(outer.of == number), chosen[axis]
            inside = cells if known is None else np.intersect1d(known, cells)
            if len(inside):
                part = self._slice(others, [*chosen[:axis], inside, *chosen[axis + 1 :]], numbers)
                part.insert(dims.index(name), name, label)
                parts.append(part)
        frame = pd.concat(parts)
        # the first column runs slowest, as in every slice
        ranks = [pd.factorize(frame[own])[0] for own in reversed(dims)]
        return frame.iloc[np.lexsort(ranks)].reset_index(drop=True)

    def _axis(self, name: str) -> int:
        names = [dimension.name for dimension in self.dimensions]
        known = [*names, *(level for own in self.dimensions for level in own.outer)]
        require(name in names, f"the release has no dimension {name!r}", f"it has {', '.join(known)}")
        return names.index(name)

    def to_frame(self) -> pd.DataFrame:
        """Return all numbers as a table, as they stand in the file."""
        return self.marked(_box_frame(self) if isinstance(self.model, BoxModel) else _table_frame(self))


_ANSWER = {"count": "counts", "lower": "lower", "upper": "upper"}


def _table_frame(release: CubeRelease) -> pd.DataFrame:
    """One row a cell of each table; a column is empty where it is summed out."""
    model = release.model
    assert not isinstance(model, BoxModel)
    parts = []
    none: list[None] = [None] * len(release.dimensions)
    for table in model.tables:
        answer = model.answer(table.axes, none, release.level())
        columns: dict[str, Any] = {dimension.name: None for dimension in release.dimensions}
        for axis, grid in zip(table.axes, np.indices(table.unbiased.shape), strict=True):
            columns[release.dimensions[axis].name] = np.array(release.dimensions[axis].labels, object)[grid.ravel()]
        columns |= {name: getattr(answer, field).ravel() for name, field in _ANSWER.items()}
        parts.append(pd.DataFrame(columns | {"unbiased": table.unbiased.ravel()}))
    names = [dimension.name for dimension in release.dimensions]
    return pd.concat([part.astype(dict.fromkeys(names, object)) for part in parts], ignore_index=True)


def _box_frame(release: CubeRelease) -> pd.DataFrame:
    """One row a box, with its first and last cell in every dimension."""
    model = release.model
    assert isinstance(model, BoxModel)
    boxes = model.boxes
    columns: dict[str, Any] = {}
    for axis, dimension in enumerate(release.dimensions):
        labels = np.array(dimension.labels, object)
        columns[dimension.name + _SUFFIXES[0]] = labels[boxes.lows[:, axis]]
        columns[dimension.name + _SUFFIXES[1]] = labels[boxes.highs[:, axis] - 1]
    half = half_width(boxes.variances, np.ones(len(boxes)), release.level())
    columns["count"] = boxes.counts
    columns["lower"] = np.minimum(np.maximum(model.unbiased - half, 0), boxes.counts)
    columns["upper"] = np.maximum(np.maximum(model.unbiased + half, 0), boxes.counts)
    return pd.DataFrame(columns | {"unbiased": model.unbiased, "variance": boxes.variances})


_KINDS = {
    TableModel: "tables",
    NestedModel: "nested",
    WaveletModel: "wavelet",
    ForestModel: "forest",
    BoxModel: "boxes",
}


def _metadata(release: CubeRelease) -> dict[str, Any]:
    model = release.model
    about: dict[str, Any] = {"kind": _KINDS[type(model)]}
    if isinstance(model, BoxModel):
        about["spread"] = model.boxes.spread
    else:
        about["tables"] = [{"axes": list(table.axes), **told(table.cost)} for table in model.tables]
    if isinstance(model, TableModel):
        about["clamped"] = model.clamped
    if isinstance(model, WaveletModel):
        about["transformed"] = list(model.wavelet.transformed)
    if isinstance(model, NestedModel):
        about |= {"axes": list(model.axes), "levels": list(map(told, model.costs))}
    domains = [own.declared for own in release.dimensions]
    return {"deid_cube": _VERSION, **release.metadata, "domains": domains, "model": about}


def write_release(release: CubeRelease, path: Path, *, replace: bool = False) -> None:
    """Write a release to ``.parquet``, ``.csv`` (with a second file ``.csv.json``) or ``.json``.

    Raises
    ------
    ConfigError
        When the suffix is another.
    OutputError
        When a file exists already, or cannot be written.
    """
    write_numbers(release.to_frame(), _metadata(release), path, replace=replace)


def read_release(path: Path) -> CubeRelease:
    """Return a release that `write_release` wrote.

    Raises
    ------
    FormatError
        When the file is none.
    """
    hint = "name a file that deid cube wrote; .csv needs its .csv.json, too"
    with told_as(FormatError("this is no released cube, or a part is missing", hint, str(path)), *MALFORMED):
        metadata, frame = read_numbers(path, (*_NUMBERS, "variance"), ("deid_cube", _VERSION))
        dimensions = tuple(map(declared_again, metadata.pop("domains")))
        return CubeRelease(dimensions, _model(metadata.pop("model"), frame, dimensions, metadata), metadata)


def _model(
    model: Mapping[str, Any], frame: pd.DataFrame, dimensions: tuple[Dimension, ...], metadata: Mapping[str, Any]
) -> Model:
    shape = tuple(len(dimension) for dimension in dimensions)
    distance = unit_of(metadata).distance
    if model["kind"] == "boxes":
        corners = []
        for suffix in _SUFFIXES:
            columns = [frame[own.name + suffix].astype(str).map(own.place) for own in dimensions]
            corners.append(np.stack([column.to_numpy(np.int64) for column in columns], axis=1))
        numbers = {name: frame[name].to_numpy(float) for name in ("count", "unbiased", "variance")}
        boxes = Boxes(shape, corners[0], corners[1] + 1, numbers["count"], numbers["variance"], model["spread"])
        return BoxModel(boxes, numbers["unbiased"])
    tables, start = [], 0
    for entry in model["tables"]:  # rows stand in the order of the tables, cells in that of their axes
        axes = tuple(entry["axes"])
        own_shape = [shape[axis] for axis in axes]
        rows = frame.iloc[start : start + int(np.prod(own_shape))]
        start += len(rows)
        counts, unbiased = (rows[name].to_numpy(float).reshape(own_shape) for name in ("count", "unbiased"))
        tables.append(MarginalTable(axes, unbiased, counts, cost_of(entry)))
    if model["kind"] == "wavelet":
        wavelet = Wavelet(shape, tuple(map(bool, model["transformed"])))
        return WaveletModel(wavelet, tables[0].counts, float(model["tables"][0]["epsilon"]), distance)
    if model["kind"] == "nested":
        # an older release has one such column, and lists the epsilons
        axes = tuple(map(int, model["axes"] if "axes" in model else [model["axis"]]))
        nesting = chained([dimensions[axis].nesting for axis in axes])
        costs = tuple(map(cost_of, model.get("levels") or [{"epsilon": own} for own in model["epsilons"]]))
        return NestedModel(axes, nesting, tables[0].unbiased, tables[0].counts, costs, distance)
    if model["kind"] == "tables":
        return TableModel(shape, tuple(tables), distance, bool(model["clamped"]))
    forest = Forest(shape, {table.axes: table.counts for table in tables})
    return ForestModel(forest, {table.axes: table.cost for table in tables}, distance)
