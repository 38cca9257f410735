"""A release of sequences: queries and files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.arrays import FloatArray
from deid.base.errors import MALFORMED, ConfigError, FormatError, require, told_as
from deid.base.late import pd
from deid.dp.costs import Cost, Rho
from deid.dp.domain import Dimension, declared_again
from deid.dp.markov_chain import MarkovChain
from deid.dp.patterns import PatternAutomaton, ever, then
from deid.dp.prefix_tree import PrefixTree, TreeLevel
from deid.dp.release_files import NOT_PRIVATE, ReleaseFacts, read_numbers, unit_of, write_numbers
from deid.dp.sequence_models import ChainModel, SequenceModel, TreeModel, check_length
from deid.dp.trend import average_slope, regression_slope

END = "(end)"
"""The label that stands for the end of a sequence."""
CLASSES = ("negative", "zero", "positive")
"""Slope classes."""
SLOPES = {"average": average_slope, "regression": regression_slope}
"""Slopes by name."""
_VERSION = 1
_COUNTED = ("count", "lower", "upper", "below_noise_floor")
RESERVED = frozenset({*_COUNTED, "length", "noisy", "again", "expanded", NOT_PRIVATE})
"""Columns of a release that no period may be called."""


def slope_classes(values: Sequence[float], length: int, *, step: float = 0.5, slope: str = "average") -> FloatArray:
    """Return which sequences fall, stay and rise.

    Parameters
    ----------
    values : sequence of float
        What each level stands for, such as 0, 1, 2, 3.
    length : int
        Periods, at least 2.
    step : float
        Slopes below -step are negative, from step on positive, others zero. (Gardner 2012 cuts at .5.)
    slope : str
        A key of `SLOPES`.

    Returns
    -------
    float64 array, shape (3, levels, ..., levels)
        1 where a sequence belongs to a class of `CLASSES`.

    Raises
    ------
    ConfigError
        When there is no such slope, fewer than two periods, or the step is not above 0.
    """
    require(slope in SLOPES, "unknown slope", f"use one of {', '.join(SLOPES)}")
    if length < 2 or not (math.isfinite(step) and step > 0):
        raise ConfigError("a slope needs two periods, and a step above 0", "for example: --slopes 3 --step 0.5")
    # both slopes are linear in the values, so the slope of unit vectors gives the weight of each period
    weights = [SLOPES[slope](np.arange(length), own) for own in np.eye(length)]
    total = np.zeros((len(values),) * length)
    for place, weight in enumerate(weights):
        total += weight * np.asarray(values, float).reshape([-1 if axis == place else 1 for axis in range(length)])
    total = np.round(total, 12)  # .1 + .2 must not be told from .3
    return np.stack([total < -step, (total >= -step) & (total < step), total >= step]).astype(float)


@dataclass(frozen=True, eq=False)
class SequenceRelease(ReleaseFacts):
    """What was published.

    Parameters
    ----------
    dimension : Dimension
        The levels.
    columns : tuple of str
        The periods.
    model : TreeModel or ChainModel
        The numbers.
    metadata : mapping
        JSON values, as those of `deid.dp.release.CubeRelease`.
    """

    dimension: Dimension
    columns: tuple[str, ...]
    model: SequenceModel
    metadata: Mapping[str, Any]

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels, and the end where sequences may end early."""
        ends = self.model.tree.ends if isinstance(self.model, TreeModel) else self.model.ends
        return (*self.dimension.labels, *([END] if ends else []))

    def prefix(self, prefix: Sequence[str], level: float | None = None, *, predict: bool = False) -> pd.DataFrame:
        """Return the count of the sequences that begin with some levels.

        Parameters
        ----------
        prefix : sequence of str
            The levels.
        level : float, optional
            Level of the interval; the release's by default.
        predict : bool
            Below a leaf of a tree, answer what its ancestors let expect instead of 0.

        Returns
        -------
        pandas.DataFrame
            One row: ``prefix``, ``count``, ``lower``, ``upper``, ``below_noise_floor``.

        Raises
        ------
        ConfigError
            When there is no such level, or the prefix is too long.
        """
        check_length(max(len(prefix), 1), self.model.height)
        codes = [self._code(label, ends=True) for label in prefix]
        end = len(self.dimension)
        if any(code == end for code in codes[:-1]):
            raise ConfigError("nothing follows the end of a sequence", f"write {END} last")
        found = self.model.prefix(codes, self.level(level), predict=predict)
        return self.marked(pd.DataFrame([{"prefix": " ".join(prefix), **asdict(found)}]))

    def _code(self, label: str, *, ends: bool = False) -> int:
        """Return the number of a level, with ``ends`` also of the end."""
        code = self.labels.index(END) if ends and label == END and END in self.labels else self.dimension.place(label)
        require(code >= 0, "there is no such level", f"the levels are {', '.join(self.labels)}")
        return code

    def ever(self, levels: Sequence[str], length: int | None = None, level: float | None = None) -> pd.DataFrame:
        """Return how many sequences have one of some levels in any of their first periods.

        Parameters
        ----------
        levels : sequence of str
            The levels.
        length : int, optional
            Periods; all of them by default.
        level : float, optional
            Level of the interval; the release's by default.

        Returns
        -------
        pandas.DataFrame
            One row: ``pattern``, ``periods``, ``count``, ``lower``, ``upper``, ``below_noise_floor``.

        Raises
        ------
        ConfigError
            When there is no such level, or no sequences of this length.
        """
        require(levels, "no level is named", "for example: --ever 3")
        periods = self.model.height if length is None else length
        pattern = ever({self._code(label) for label in levels}, len(self.labels))
        return self._matching(f"ever {' or '.join(levels)}", pattern, periods, level)

    def then(
        self, first: str, second: str, within: int | None = None, length: int | None = None, level: float | None = None
    ) -> pd.DataFrame:
        """Return how many sequences have one level and later another.

        Parameters
        ----------
        first, second : str
            The levels.
        within : int, optional
            How many periods after the first the second may come, at most; any number by default.
        length, level
            As those of `ever`, as for what is returned and for errors.
        """
        periods = self.model.height if length is None else length
        reach = max(periods - 1, 1) if within is None else min(within, max(periods - 1, 1))
        pattern = then(self._code(first), self._code(second), reach, len(self.labels))
        named = f"{first} then {second}" + ("" if within is None else f" within {within}")
        return self._matching(named, pattern, periods, level)

    def _matching(self, named: str, pattern: PatternAutomaton, periods: int, level: float | None) -> pd.DataFrame:
        found = self.model.matching(pattern, periods, self.level(level))
        return self.marked(pd.DataFrame([{"pattern": named, "periods": periods, **asdict(found)}]))

    def prefixes(self, length: int, level: float | None = None, *, predict: bool = False) -> pd.DataFrame:
        """Return the counts of all prefixes of a length.

        Parameters
        ----------
        length : int
            Periods, from 1.
        level : float, optional
            Level of the intervals; that of the release by default.
        predict : bool
            Predict what lies below a leaf of a tree, as `prefix` does.

        Returns
        -------
        pandas.DataFrame
            One row a prefix, in the order of the levels; columns as those of `prefix`.

        Raises
        ------
        ConfigError
            When the release has no sequences of this length, or too many.
        """
        found = self.model.prefixes(length, self.level(level), predict=predict)
        names = [" ".join(own) for own in itertools.product(self.dimension.labels, repeat=length)]
        columns = dict(zip(_COUNTED, found.arrays, strict=True))
        return self.marked(pd.DataFrame({"prefix": names, **columns}))

    def slopes(
        self,
        length: int,
        *,
        values: Sequence[float] | None = None,
        step: float = 0.5,
        slope: str = "average",
        level: float | None = None,
    ) -> pd.DataFrame:
        """Return how many sequences fall, stay and rise over their first periods.

        Parameters
        ----------
        length : int
            Periods.
        values : sequence of float, optional
            What each level stands for; 0, 1, 2, ... by default.
        step, slope
            As those of `slope_classes`.
        level : float, optional
            Level of the intervals.

        Returns
        -------
        pandas.DataFrame
            One row a class: ``slope``, ``count``, ``lower``, ``upper``, ``below_noise_floor``.

        Raises
        ------
        ConfigError
            When there are not as many values as levels, no sequences of this length, or no such slope.
        """
        numbers = list(range(len(self.dimension))) if values is None else list(values)
        if len(numbers) != len(self.dimension):
            raise ConfigError(f"there are {len(self.dimension)} levels", "give each its value: --values 0,1.5,4.5,7")
        self.model.distribution(length)  # refuses lengths that there are not
        classes = slope_classes(numbers, length, step=step, slope=slope)
        rows = [
            {"slope": name, **asdict(self.model.total(own, self.level(level)))}
            for name, own in zip(CLASSES, classes, strict=True)
        ]
        return self.marked(pd.DataFrame(rows))

    def to_frame(self) -> pd.DataFrame:
        """Return all numbers as a table, as they stand in the file: a row a node, or a pair of levels."""
        labels = np.array([*self.labels, ""], object)
        if isinstance(self.model, ChainModel):
            parts = []
            for start, (noisy, shown) in enumerate(zip(self.model.chain.noisy, self.model.chain.tables, strict=True)):
                cells = np.indices(noisy.shape).reshape(noisy.ndim, -1)
                names: dict[str, Any] = {name: np.full(noisy.size, "", object) for name in self.columns}
                for place, cell in enumerate(cells):
                    names[self.columns[start + place]] = labels[cell]
                parts.append(pd.DataFrame({**names, "noisy": noisy.ravel(), "count": shown.ravel()}))
            return self.marked(pd.concat(parts, ignore_index=True))
        level, parts = self.level(), []
        prefixes = np.full((1, len(self.columns)), len(self.labels))  # the label after the last one is blank
        for depth, nodes in enumerate(self.model.tree.levels):
            if depth:
                prefixes = prefixes[nodes.parents]
                prefixes[:, depth - 1] = nodes.symbols
            columns: dict[str, Any] = {"length": np.full(len(nodes), depth)}
            columns |= dict(zip(self.columns, labels[prefixes].T, strict=True))
            columns |= dict(zip(_COUNTED, self.model.nodes(depth, level).arrays, strict=True))
            drawn = {"noisy": nodes.noisy, "again": nodes.again, "expanded": nodes.expanded}
            parts.append(pd.DataFrame(columns | drawn))
        return self.marked(pd.concat(parts, ignore_index=True))


def _told(costs: Sequence[Cost]) -> dict[str, list[float]]:
    """Return what depths or tables cost as JSON values."""
    rhos = [own.value for own in costs if isinstance(own, Rho)]
    return {"rhos": rhos} if rhos else {"epsilons": [own for own in costs if not isinstance(own, Rho)]}


def _costs(shape: Mapping[str, Any]) -> tuple[Cost, ...]:
    if "rhos" in shape:
        return tuple(Rho(float(own)) for own in shape["rhos"])
    return tuple(map(float, shape["epsilons"]))


def write_sequences(release: SequenceRelease, path: Path, *, replace: bool = False) -> None:
    """Write a release as ``.csv`` (with its metadata beside it), ``.json`` or ``.parquet``.

    Parameters
    ----------
    release : SequenceRelease
        What was released.
    path : Path
        The file; its suffix tells the format.
    replace : bool
        Replace files that exist.

    Raises
    ------
    ConfigError, OutputError
        See `deid.dp.release_files.write_numbers`.
    """
    model = release.model
    shape: dict[str, Any]
    if isinstance(model, TreeModel):
        shape = {"kind": "tree", "ends": model.tree.ends, "printed": model.printed, **_told(model.tree.costs)}
    else:
        shape = {"kind": "chain", "ends": model.ends, **_told(model.chain.costs)}
    metadata = {
        "deid_sequences": _VERSION,
        **release.metadata,
        "columns": list(release.columns),
        "domain": release.dimension.declared,
        "model": shape,
    }
    write_numbers(release.to_frame(), metadata, path, replace=replace)


def read_sequences(path: Path) -> SequenceRelease:
    """Return a release that `write_sequences` wrote.

    Raises
    ------
    FormatError
        When the file is none.
    """
    hint = "name a file that deid sequences wrote; .csv needs its .csv.json, too"
    with told_as(FormatError("this is no release of sequences, or a part is missing", hint, str(path)), *MALFORMED):
        numeric = ("length", "count", "lower", "upper", "noisy", "again")
        metadata, frame = read_numbers(path, numeric, ("deid_sequences", _VERSION))
        dimension = declared_again(metadata.pop("domain"))
        shape, columns = metadata.pop("model"), tuple(metadata.pop("columns"))
        unit = unit_of(metadata)
        distance = unit.unit_distance if "events" in metadata else unit.distance
        labels = {label: code for code, label in enumerate((*dimension.labels, *([END] if shape["ends"] else [])))}
        model: SequenceModel
        if shape["kind"] == "tree":
            tree = _tree(frame, columns, labels, shape, distance)
            model = TreeModel(tree, bool(shape["printed"]))
        else:
            size = len(labels) ** min(2, len(columns))
            tables = frame["noisy"].to_numpy(float).reshape(len(_costs(shape)), size)
            noisy = tuple(table.reshape((len(labels),) * min(2, len(columns))) for table in tables)
            model = ChainModel(MarkovChain(len(labels), _costs(shape), distance, noisy), bool(shape["ends"]))
        return SequenceRelease(dimension, columns, model, metadata)


def _tree(
    frame: pd.DataFrame, columns: Sequence[str], labels: Mapping[str, int], shape: Mapping[str, Any], distance: int
) -> PrefixTree:
    levels = []
    grown = np.array([-1])
    for depth in range(len(columns) + 1):
        rows = frame[frame["length"] == depth]
        codes = rows[columns[depth - 1]].astype(str).map(labels).to_numpy(np.int64) if depth else np.array([-1])
        expanded = rows["expanded"].astype(str).str.lower().eq("true").to_numpy()
        parents = np.repeat(grown, len(labels)) if depth else grown
        if len(parents) != len(codes):
            raise ValueError
        noisy, again = rows["noisy"].to_numpy(float), rows["again"].to_numpy(float)
        levels.append(TreeLevel(parents.astype(np.int64), codes.astype(np.int64), noisy, again, expanded))
        grown = np.flatnonzero(expanded)
    return PrefixTree(len(labels), bool(shape["ends"]), _costs(shape), distance, tuple(levels))
