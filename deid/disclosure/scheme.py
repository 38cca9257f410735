"""Schemes: how a release was recoded, kept as a file and applied to new rows of the same kind.

A scheme holds the cells that were published, or the levels of full-domain recoding: no row of the table and no count.
A new row gets the least general cells that cover it; a row that none covers is suppressed. What comes out is a release
of its own and is verified as one: classes that are too small among the new rows are suppressed, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import BoolArray, IndexArray
from deid.base.errors import MALFORMED, ConfigError, InputError, require, told_as
from deid.base.files import read_text
from deid.disclosure.assessment import Requirements
from deid.disclosure.cells import Domain, cover_table
from deid.disclosure.encoding import class_ids, encode
from deid.disclosure.groups import groups_of
from deid.disclosure.guards import check_before_release
from deid.disclosure.methods import MethodOptions
from deid.disclosure.release import Release, constraint_of, finish, order_of_columns
from deid.table.microdata import Microdata, check_columns

_FORMAT = "deid recoding scheme 1"


@dataclass(frozen=True)
class Scheme:
    """A recoding of some columns.

    Parameters
    ----------
    columns : tuple of str
        The quasi-identifiers.
    cells : tuple of tuple of (str or None)
        Published rows, the least general first; empty when ``levels`` are given.
    levels : tuple of int
        Level of each column's hierarchy; empty when ``cells`` are given.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[str | None, ...], ...] = ()
    levels: tuple[int, ...] = ()

    def to_json(self) -> str:
        """Return the scheme as the text of its file."""
        content: dict[str, Any] = {"format": _FORMAT, "columns": self.columns}
        content |= {"levels": self.levels} if self.levels else {"cells": self.cells}
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def read_scheme(path: Path) -> Scheme:
    """Return the scheme of a file.

    Raises
    ------
    ConfigError
        When it cannot be read or is no scheme.
    """
    text, wrong = read_text(path, str(path)), "not a recoding scheme"
    with told_as(ConfigError(wrong, "write one with deid anonymize --save-scheme", str(path)), *MALFORMED):
        content = json.loads(text)
        columns = tuple(map(str, content["columns"]))
        levels = tuple(map(int, content.get("levels", ())))
        cells = tuple(tuple(None if cell is None else str(cell) for cell in row) for row in content.get("cells", ()))
        good = content["format"] == _FORMAT and all(len(row) == len(columns) for row in (*cells, levels or columns))
        if not good:
            raise ValueError
    return Scheme(columns, cells, levels)


def scheme_of(release: Release) -> Scheme:
    """Return the scheme of a release."""
    names = release.recoded.quasi_identifiers
    if release.levels and all(name in release.original.hierarchies for name in names):
        return Scheme(names, levels=tuple(release.levels[name] for name in names))
    coded = [release.recoded.codes(name) for name in names]
    _, index = class_ids_of(release.recoded, names)
    loss = np.zeros(len(index))
    for name, column in zip(names, coded, strict=True):
        loss += Domain.of(release.original, name).penalty(column.values)[column.codes[index]]
    order = index[np.argsort(loss, kind="stable")]
    texts = [np.array([*column.values, None], dtype=object)[column.codes[order]] for column in coded]
    return Scheme(names, tuple(zip(*(column.tolist() for column in texts), strict=True)))


def apply_scheme(scheme: Scheme, data: Microdata, asked: Requirements, options: MethodOptions | None = None) -> Release:
    """Recode new rows by a scheme, and suppress classes that do not reach what is asked for.

    Parameters
    ----------
    scheme : Scheme
        The scheme; the table must have its columns.
    data : Microdata
        The new rows.
    asked : Requirements
        Levels that the new release must reach.
    options : MethodOptions, optional
        ``suppression`` bounds the share of rows that may be suppressed.

    Returns
    -------
    Release
        The recoded rows, verified; suppressed ones are left out.

    Raises
    ------
    ConfigError
        When a column is missing or nothing is said of it, or more rows than allowed would be suppressed.
    """
    own = data.with_columns(order_of_columns(data))
    release = _apply(scheme, own, asked, options or MethodOptions(suppression=1.0))
    return release.with_columns_of(data)


def _apply(scheme: Scheme, data: Microdata, asked: Requirements, options: MethodOptions) -> Release:
    check_before_release(data)
    if set(scheme.columns) != set(data.quasi_identifiers):
        check_columns(data.frame, scheme.columns)
        raise ConfigError(
            f"the scheme recodes {', '.join(scheme.columns)}", "give these columns, and no other, as quasi-identifiers"
        )
    frame = data.frame.assign(**(_by_level(scheme, data) if scheme.levels else _by_cells(scheme, data)))
    out: BoolArray = np.array((frame[list(scheme.columns)] == "*").to_numpy().all(axis=1))
    constraint = constraint_of(data, asked)
    roles = {name: role for name, role in data.roles.items() if role in ("quasi-identifier", "sensitive")}
    kinds = dict.fromkeys(scheme.columns, "nominal")
    trees = {name: tree for name, tree in data.hierarchies.items() if name in data.sensitive}
    coded = encode(Microdata(frame, roles, trees, data.person, kinds))
    while True:
        kept = np.flatnonzero(~out)
        share = float(out.mean())
        if not len(kept) or share > options.suppression + 1e-12:
            raise ConfigError(
                f"{share:.1%} of the new rows would be suppressed, {options.suppression:.1%} may be",
                "anonymize the new rows on their own, or allow more suppression",
            )
        part = coded.take(kept)
        ids, index = class_ids(part.codes, [column.size for column in part.columns])
        bad = ~constraint.satisfied(groups_of(part, ids, len(index)))
        if not bad.any():
            break
        out[kept[bad[ids]]] = True
    return finish(data, frame.iloc[kept], kept, "scheme", asked, options)


def _by_level(scheme: Scheme, data: Microdata) -> Mapping[str, NDArray[np.object_]]:
    columns = {}
    for name, level in zip(scheme.columns, scheme.levels, strict=True):
        hierarchy = data.hierarchies.get(name)
        if hierarchy is None:
            raise ConfigError(f"the scheme needs the hierarchy of column {name!r}", "give the one it was made with")
        coded = data.codes(name)
        cells = [value if value not in hierarchy else hierarchy.generalize(value, level) for value in coded.values]
        top = "*" if level >= hierarchy.height else None
        columns[name] = np.array([*cells, top], dtype=object)[coded.codes]
    return columns


def _by_cells(scheme: Scheme, data: Microdata) -> Mapping[str, NDArray[np.object_]]:
    """Give each row the first published row whose cells all cover it.

    As bits: each value of a column has a word with a bit for every published row that covers it; the bitwise and over
    a row's columns holds the published rows that cover the row.
    """
    require(scheme.cells, "the scheme has no cells", "make it from a release with rows", kind=InputError)
    both: NDArray[np.uint8] | None = None
    table = np.array(scheme.cells, dtype=object)
    distinct, rows = class_ids_of(data, scheme.columns)
    for c, name in enumerate(scheme.columns):
        coded = data.codes(name)
        published = sorted({cell for cell in table[:, c] if cell is not None})
        place = {cell: i for i, cell in enumerate(published)}
        covers = cover_table(published, coded.values, data.hierarchies.get(name))
        which = np.array([place.get(cell, -1) for cell in table[:, c]])
        words = np.packbits(covers[which].T, axis=1)[coded.codes[rows]]
        both = words if both is None else both & words
    assert both is not None
    bits = np.unpackbits(both, axis=1)[:, : len(table)]
    first = np.where(bits.any(axis=1), bits.argmax(axis=1), len(table))[distinct]
    shown = np.concatenate([table, np.full((1, table.shape[1]), "*", dtype=object)])
    return {name: shown[first, c] for c, name in enumerate(scheme.columns)}


def class_ids_of(data: Microdata, names: Sequence[str]) -> tuple[IndexArray, IndexArray]:
    """Return the number of each row's combination of some columns, shape (rows,), and one row of each combination."""
    coded = [data.codes(name) for name in names]
    codes = np.stack([column.codes for column in coded], axis=1) + 1
    return class_ids(codes, [len(column.values) + 1 for column in coded])
