"""Generalization hierarchies: rooted trees over a domain of values.

A hierarchy says what a value may be replaced by: its parent, the parent's parent, and so on up to the root,
which stands for "anything" and is usually written ``*``. A node's *level* is the greatest distance to a leaf
below it, so leaves have level 0 and all values of one level are unrelated; `Hierarchy.generalize` therefore
recodes a whole domain consistently even where branches differ in depth.

Files have ARX's form: one line a leaf, ``leaf;level 1;...;root``. A value that is repeated along its line is
padding and counts once. A line may also begin with an inner value (the code 401 of a table that holds 401.1
too) when it agrees with the rest of the tree.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deid.base.errors import ConfigError, InputError, told_as
from deid.base.files import csv_text, read_text
from deid.base.safe_names import safe_name


@dataclass(frozen=True)
class Hierarchy:
    """A rooted tree, given by the parent of every value but the root.

    Parameters
    ----------
    name : str
        Name for messages.
    parents : mapping of str to str
        Parent of each value; the one value that is a parent and has none is the root. Its order decides the
        order of `leaves`.

    Raises
    ------
    ConfigError
        When there is no value, more than one root, a cycle, or an empty value.
    """

    name: str
    parents: Mapping[str, str] = field(repr=False)
    root: str = field(init=False, compare=False)
    """The value that covers all others."""
    _children: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _leaves: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _ranges: dict[str, tuple[int, int]] = field(init=False, repr=False, compare=False)
    """Value -> its leaves as a range of ``_leaves``."""
    _levels: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        children: dict[str, list[str]] = {}
        for value, parent in self.parents.items():
            if not value or not parent:
                raise self._fault("an empty value", "give every value a name")
            children.setdefault(parent, []).append(value)
        roots = [value for value in children if value not in self.parents]
        if len(roots) > 1:
            raise self._fault(f"{len(roots)} roots", "end every line with the same value, such as *")
        if not roots:
            raise self._fault("no root", "a hierarchy needs a leaf and a root above it, without a cycle")
        leaves: list[str] = []
        ranges: dict[str, tuple[int, int]] = {}
        levels: dict[str, int] = {}
        stack: list[tuple[str, int]] = [(roots[0], -1)]  # value, first leaf (-1: not visited yet)
        while stack:
            value, first = stack.pop()
            below = children.get(value, ())
            if first >= 0:
                ranges[value] = (first, len(leaves))
                levels[value] = 1 + max(levels[child] for child in below)
            elif below:
                stack.append((value, len(leaves)))
                stack.extend((child, -1) for child in reversed(below))
            else:
                ranges[value] = (len(leaves), len(leaves) + 1)
                levels[value] = 0
                leaves.append(value)
        if len(levels) != len(self.parents) + 1:
            raise self._fault("a cycle", "no value may lie above itself")
        set_field = object.__setattr__
        set_field(self, "root", roots[0])
        set_field(self, "_children", {value: tuple(below) for value, below in children.items()})
        set_field(self, "_leaves", tuple(leaves))
        set_field(self, "_ranges", ranges)
        set_field(self, "_levels", levels)

    def _fault(self, what: str, hint: str) -> ConfigError:
        return ConfigError(what, hint, f"hierarchy {safe_name(self.name)}")

    def __contains__(self, value: object) -> bool:
        return value in self._ranges

    def __len__(self) -> int:
        """Return the number of values, inner ones and the root included."""
        return len(self._ranges)

    def __iter__(self) -> Iterator[str]:
        """Iterate over all values."""
        return iter(self._ranges)

    @property
    def height(self) -> int:
        """Level of the root."""
        return self._levels[self.root]

    def _require(self, value: str) -> str:
        if value not in self._ranges:
            raise InputError(  # the value may come from a patient's record: it is not shown
                "a value is not in the hierarchy",
                "add it to the hierarchy, or correct the value",
                f"hierarchy {safe_name(self.name)}",
            )
        return value

    def parent(self, value: str) -> str | None:
        """Return the value one step above, None for the root."""
        return self.parents.get(self._require(value))

    def children(self, value: str) -> tuple[str, ...]:
        """Return the values one step below, none for a leaf."""
        return self._children.get(self._require(value), ())

    def chain(self, value: str) -> tuple[str, ...]:
        """Return ``value`` and all values above it, most specific first, root last."""
        chain = [self._require(value)]
        while (above := self.parents.get(chain[-1])) is not None:
            chain.append(above)
        return tuple(chain)

    def level(self, value: str) -> int:
        """Return the greatest distance from ``value`` to a leaf below it; 0 for a leaf."""
        return self._levels[self._require(value)]

    def leaves(self, value: str | None = None) -> tuple[str, ...]:
        """Return the leaves below ``value`` (a leaf's only leaf is itself), or all leaves."""
        first, last = self._ranges[self.root if value is None else self._require(value)]
        return self._leaves[first:last]

    def leaf_count(self, value: str) -> int:
        """Return the number of leaves below ``value``, 1 for a leaf; constant time."""
        first, last = self._ranges[self._require(value)]
        return last - first

    def covers(self, value: str, below: str) -> bool:
        """Tell whether ``value`` is ``below`` or lies above it."""
        return self._require(value) in self.chain(below)

    def generalize(self, value: str, level: int) -> str:
        """Return the highest value at or above ``value`` whose level is at most ``level``.

        Over a domain this is full-domain recoding: two values with a common result at one level have a common
        result at every higher level, and no result lies above another one.
        """
        chain = self.chain(value)
        best = chain[0]
        for above in chain[1:]:
            if self._levels[above] > level:
                break
            best = above
        return best

    def lowest_common_ancestor(self, values: Iterable[str]) -> str:
        """Return the most specific value that covers all ``values``.

        Raises
        ------
        InputError
            When ``values`` is empty or one is unknown.
        """
        common: tuple[str, ...] = ()
        for number, value in enumerate(values):
            chain = self.chain(value)
            if number == 0:
                common = chain
            else:
                above = set(chain)
                common = tuple(v for v in common if v in above)
        if not common:
            raise InputError("no value to generalize", "give at least one value", f"hierarchy {safe_name(self.name)}")
        return common[0]


def hierarchy_from_rows(rows: Iterable[Sequence[str]], name: str) -> Hierarchy:
    """Return the hierarchy of lines ``leaf, level 1, ..., root``.

    Raises
    ------
    ConfigError
        Names the line: fewer than two values, an empty value, a value with two parents, a value above itself,
        a line that occurs twice, or another root than the first line's.
    """
    parents: dict[str, str] = {}
    seen: dict[str, int] = {}
    root = ""
    line = 0

    def fault(what: str, hint: str) -> ConfigError:
        return ConfigError(what, hint, f"hierarchy {safe_name(name)}", f"line {line}")

    for row in rows:
        line += 1
        if not row:
            continue
        chain = [cell.strip() for cell in row]
        if not all(chain):
            raise fault("an empty value", "write every level; repeat a value to pad a short branch")
        chain = [cell for place, cell in enumerate(chain) if place == 0 or cell != chain[place - 1]]
        if len(chain) < 2:
            raise fault("fewer than two levels", "write leaf;level 1;...;* with ; between the values")
        if len(set(chain)) < len(chain):
            raise fault("a value that lies above itself", "give the levels different names")
        if chain[0] in seen:
            raise fault(f"the same value as line {seen[chain[0]]}", "keep one of the two lines")
        seen[chain[0]] = line
        root = root or chain[-1]
        if chain[-1] != root:
            raise fault("another root than the first line's", "end every line with the same value, such as *")
        for value, parent in itertools.pairwise(chain):
            if parents.setdefault(value, parent) != parent:
                raise fault("a value with two parents", "give the two values different names, such as Springfield#IL")
    return Hierarchy(name, parents)


def read_hierarchy(path: Path, name: str | None = None) -> Hierarchy:
    """Return the hierarchy of a CSV file in ARX's form (UTF-8, ``;`` between the values); by default named by the file.

    Raises
    ------
    ConfigError
        When the file cannot be read or is no hierarchy; names the line.
    """
    name = name or path.stem
    where = f"hierarchy {safe_name(name)}"
    text = read_text(path, where)
    with told_as(ConfigError("not a CSV file", 'separate the values by ; and quote them by "', where), csv.Error):
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True))
    return hierarchy_from_rows(rows, name)


def format_hierarchy(hierarchy: Hierarchy) -> str:
    """Return a hierarchy in ARX's form: a line a leaf, a column a level, short branches padded by
    repetition."""
    columns = range(hierarchy.height + 1)
    return csv_text(([hierarchy.generalize(leaf, level) for level in columns] for leaf in hierarchy.leaves()), ";")
