"""Tables of Parquet that do not fit into memory: Mondrian whose first cuts run in DuckDB, and verifiers by group-by.

What strict Mondrian and the models of a class look at is how often each combination of quasi-identifiers and sensitive
values occurs. DuckDB counts the combinations on disk and makes the first cuts by the rule of
`deid.disclosure.mondrian`; parts that are small enough go to workers, where that module cuts on. A group's cuts depend
on the group alone, so the classes are those of the whole table in memory. Then DuckDB joins rows and classes, and
verifiers read what was written.

The engine's own memory is bounded by its setting; what lies in Python's is one part a worker, and the distinct values
of each column. duckdb is imported where it is used (extra ``link``).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deid.base.arrays import FloatArray, IndexArray, IntArray
from deid.base.errors import ConfigError, DeidError, method_fault, require
from deid.base.files import part_folder
from deid.base.nearest import check_named
from deid.base.pool import Pool
from deid.disclosure.assessment import Finding, Requirements, reached
from deid.disclosure.cells import cover_table
from deid.disclosure.constraints import Constraint, smallest_group
from deid.disclosure.disk_levels import OF_A_CLASS, levels_of, refuse_unknown
from deid.disclosure.disk_table import LEAST_MEMORY, DiskTable, open_disk_table, sql_name
from deid.disclosure.encoding import CodedColumn, CodedTable, Ints, class_ids, encode
from deid.disclosure.groups import Groups
from deid.disclosure.guards import FATES, Fate
from deid.disclosure.mondrian import child_of, mondrian
from deid.disclosure.recoding import group_cells
from deid.disclosure.release import constraint_of
from deid.disclosure.schema import Column, Schema, read_microdata
from deid.disclosure.utility import Domain
from deid.table.microdata import Microdata

_VALUES = 2_000_000
"""Most distinct values of a column whose values matter."""
_CELL_BYTES = 600
"""Bytes that a combination takes, roughly, while a worker cuts its part."""
_ROW_BYTES = 2_000
"""Bytes that a row takes, roughly, while it is sorted and written."""
_LEAST_PART = 20_000


@dataclass(frozen=True)
class DiskRelease:
    """What was released of a table on disk."""

    rows: int
    classes: int
    parts: int
    """Parts that the first cuts made."""
    ncp: float
    """Normalized certainty penalty, as `deid.disclosure.utility.information_loss` has it."""
    findings: tuple[Finding, ...]
    """What the verifiers found in the written table."""
    fates: dict[str, Fate]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values; no cell of the table."""
        return {
            "method": "mondrian",
            "rows": self.rows,
            "classes": self.classes,
            "parts": self.parts,
            "loss": {"ncp": self.ncp},
            "findings": [finding.as_dict() for finding in self.findings],
        }

    def lines(self) -> list[tuple[str, str]]:
        """Return what was done and reached, for a terminal."""
        return [
            ("method", "mondrian"),
            ("rows published", f"{self.rows:,}"),
            *reached(self.findings),
            ("loss: NCP, classes", f"{self.ncp:.4f}, {self.classes:,}"),
            ("parts of the first cuts", f"{self.parts:,}"),
        ]

    def sentences(self) -> list[str]:
        """Return what must be said beside the release."""
        told = {"unaltered": "published as they are, without protection", "dropped": "left out"}
        found = {what: [name for name, own in self.fates.items() if own.fate == what] for what in told}
        said = [f"{told[what]}: {', '.join(names)}" for what, names in found.items() if names]
        return [*said, "whether persons look alike, or have several rows, was not looked at"]


def anonymize_on_disk(
    source: str | Path,
    schema: Schema,
    asked: Requirements,
    out: Path,
    *,
    memory: int,
    jobs: int = 1,
    drop_rest: bool = False,
    table: str | None = None,
) -> DiskRelease:
    """Make a table of Parquet or of a database publishable by Mondrian, in bounded memory.

    Parameters
    ----------
    source, table
        As those of `deid.disclosure.disk_table.open_disk_table`.
    schema : Schema
        Roles of all columns. It must say that each row is a person.
    asked : Requirements
        Of these: k, l, entropy_l, c, alpha.
    out : Path
        New file of Parquet; its rows stand in the order of what they say.
    memory : int
        Bytes, roughly, that may be used.
    jobs : int
        Number of processes that cut the parts.
    drop_rest : bool
        Leave out columns of which nothing is said.

    Returns
    -------
    DiskRelease

    Raises
    ------
    ConfigError
        When the table is not described, something is asked for that cannot be kept so, or nothing can reach it.
    InputError, FormatError
        When the table cannot be read.
    OutputError
        When nothing can be written, or a verifier rejects what was written: then there is no release.
    """
    require(
        out.suffix.lower() in (".parquet", ".pq"), "a table on disk is written as Parquet", "such as -o out.parquet"
    )
    refuse_unknown(asked, OF_A_CLASS, "is not searched for in a table on disk")
    require(schema.person is None, "rows of one person cannot be told in a table on disk", "make one row a person")
    require(
        schema.each_row_a_person,
        "whether rows are persons is not looked at in a table on disk",
        "say --each-row-a-person, if each is one",
    )
    with part_folder(out) as folder, open_disk_table(source, memory, folder, table=table) as found:
        roles = _roles(found.names, schema, drop_rest)
        wanted = [name for name in found.names if roles[name] in ("quasi-identifier", "sensitive")]
        domains = _Domains.of(found, wanted, schema, folder)
        data = domains.data
        require(data.quasi_identifiers, "the table has no quasi-identifier", "name the columns that identify together")
        constraint = constraint_of(data, asked)
        cells = _Cells(found, domains, constraint, [_alone(data, asked, name) for name in data.sensitive or ("",)])
        cells.count()
        most = max(_LEAST_PART, memory // 2 // (_CELL_BYTES * jobs))
        parts = cells.first_cuts(most)
        found.limit(memory // 2)  # the parts that are cut need the other half
        classes, lost = cells.cut_on(parts, jobs)
        found.limit(memory)
        part = folder / "out.parquet"
        rows = cells.write(part, roles, max(_LEAST_PART, memory // _ROW_BYTES))
        found.limit(LEAST_MEMORY)  # it has done its work
        with open_disk_table(part, memory, folder, "check") as written:
            findings = levels_of(written, data.quasi_identifiers, data.sensitive, asked)
        failed = [finding.name for finding in findings if finding.failed]
        if failed or rows != found.rows:
            raise method_fault(f"the verifier rejects what was written: {', '.join(failed) or 'rows are missing'}")
        part.chmod(0o600)
        part.replace(out)
    fates = {name: Fate(role, FATES[role]) for name, role in roles.items()}
    ncp = lost / rows / len(data.quasi_identifiers)
    return DiskRelease(rows, classes, len(parts), ncp, tuple(findings), fates)


def _roles(names: Sequence[str], schema: Schema, drop_rest: bool) -> dict[str, str]:
    """Return the role of every column; nothing is guessed here."""
    check_named(names, list(schema.columns))
    roles = {name: said.role for name, said in schema.columns.items() if said.role is not None}
    silent = [name for name in names if name not in roles]
    if silent and not drop_rest:
        raise ConfigError(
            f"nothing is said of the columns {', '.join(map(repr, silent[:12]))}",
            "give each a role, or leave it out (--drop A,B, --drop-rest); what shall leave as it is must be named "
            "(--publish A,B)",
        )
    return {name: roles.get(name, "dropped") for name in names}


def _alone(data: Microdata, asked: Requirements, name: str) -> tuple[str, Constraint]:
    """Return what is asked of one sensitive column (none: of the size alone)."""
    roles = {one: role for one, role in data.roles.items() if role != "sensitive" or one == name}
    return name, constraint_of(Microdata(data.frame, roles, data.hierarchies, kinds=data.kinds), asked)


@dataclass(frozen=True)
class _Domains:
    """The values of each column that matters: a small table that has each of them, for roles, kinds and hierarchies."""

    data: Microdata
    coded: CodedTable

    @classmethod
    def of(cls, table: DiskTable, names: Sequence[str], schema: Schema, folder: Path) -> _Domains:
        """Look at the values, and keep for each its code, as tables ``domain_0`` and so on."""
        import pyarrow
        import pyarrow.parquet

        for name, said in schema.columns.items():
            if isinstance(said.hierarchy, Mapping) and said.hierarchy.get("kind") == "automatic":
                raise ConfigError(
                    f"an automatic hierarchy of {name!r} counts rows in memory", "make it of a sample: deid schema"
                )
        found = {}
        for name in names:
            count = table.ask(f"SELECT count(DISTINCT {sql_name(name)}) FROM source")[0][0]
            if count > _VALUES:
                raise ConfigError(
                    f"column {name!r} has {count:,} different values", f"round it first, to at most {_VALUES:,}"
                )
            query = f"SELECT DISTINCT {sql_name(name)} AS v FROM source ORDER BY v"
            column = table.con.sql(query).to_arrow_table().column("v").combine_chunks()
            found[name] = column
        # as `deid.disclosure.release.order_of_columns` has them
        found = dict(sorted(found.items(), key=lambda one: (len(one[1]) - one[1].null_count, one[0])))
        longest = max(map(len, found.values()), default=0)
        filled = {name: own.take(pyarrow.array(np.arange(longest) % len(own))) for name, own in found.items()}
        place = folder / "values.parquet"
        pyarrow.parquet.write_table(pyarrow.table(filled), place)
        try:
            own = Schema({name: schema.columns.get(name, Column(None)) for name in names})
            data = read_microdata(str(place), own)
        finally:
            place.unlink()
        coded = encode(data)
        codes = {column.name: coded.codes[:, at] for at, column in enumerate(coded.columns)}
        codes |= {name: sensitive for name, (_, sensitive) in coded.sensitive.items()}
        for at, name in enumerate([*data.quasi_identifiers, *data.sensitive]):
            table.keep(f"domain_{at}", {"v": found[name], "c": codes[name][: len(found[name])]})
        return cls(data, coded)


@dataclass
class _Cells:
    """The combinations of values that occur, with their counts: table ``cells`` of the engine, cut into parts."""

    table: DiskTable
    domains: _Domains
    constraint: Constraint
    models: Sequence[tuple[str, Constraint]]
    """What is asked, by sensitive column."""
    _tables: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        data = self.domains.data
        self.columns = self.domains.coded.columns
        self.qi, self.sensitive = data.quasi_identifiers, data.sensitive
        self.codes = [f"c{at}" for at in range(len(self.qi))]
        self.values = [f"s{at}" for at in range(len(self.sensitive))]

    def _joined(self, names: Sequence[str]) -> str:
        """Return the source with the codes of its first columns."""
        joins = [
            f"JOIN domain_{at} ON source.{sql_name(name)} IS NOT DISTINCT FROM domain_{at}.v"
            for at, name in enumerate(names)
        ]
        return f"source {' '.join(joins)}"

    def count(self) -> None:
        """Count the combinations."""
        told = ", ".join(f"domain_{at}.c AS {code}" for at, code in enumerate([*self.codes, *self.values]))
        joined = self._joined([*self.qi, *self.sensitive])
        self.table.ask(f"CREATE TABLE cells AS SELECT {told}, count(*)::BIGINT AS n FROM {joined} GROUP BY ALL")

    def first_cuts(self, most: int) -> list[str]:
        """Cut until no part has more combinations than ``most``, or can be cut; return the tables of the parts."""
        least = 2 * smallest_group(self.constraint)
        whole, done = ["cells"], []
        if not self._sufficing("cells", [("TRUE", 0)])[0][1]:
            raise ConfigError(f"not even the whole table has {self.constraint}", "ask for less")
        while whole:
            part = whole.pop()
            ends = ", ".join(f"min({code}), max({code})" for code in self.codes)
            count, size, *bounds = self.table.ask(f"SELECT count(*), sum(n), {ends} FROM {part}")[0]
            pieces = self._cut(part, np.array(bounds).reshape(-1, 2)) if count > most and size >= least else []
            if not pieces:
                done.append(part)
            for where in pieces:
                self._tables += 1
                whole.append(f"part_{self._tables}")
                self.table.ask(f"CREATE TABLE {whole[-1]} AS SELECT * FROM {part} WHERE {where}")
            if pieces:
                self.table.ask(f"DROP TABLE {part}")
        return done

    def _cut(self, part: str, bounds: NDArray[Any]) -> list[str]:
        """Return where a part is cut, by the rule of `mondrian`: the widest column that has an allowable cut."""
        low, high = bounds.astype(np.int32).T
        worth = np.array([column.loss(low[c : c + 1], high[c : c + 1])[0] for c, column in enumerate(self.columns)])
        while worth.max(initial=0) > 0:
            chosen = int(np.argmax(worth))
            code = self.codes[chosen]
            ranges = self._ranges(part, chosen, low[chosen], high[chosen])
            pieces = [f"{code} BETWEEN {first} AND {last}" for first, last in ranges]
            found = self._sufficing(part, [(piece, at) for at, piece in enumerate(pieces)])
            for _ in range(2 if self.columns[chosen].tree is not None else 0):  # as `mondrian` has it
                few = [at for at, (_, suffices) in found.items() if not suffices]
                if not few or len(few) == len(found):
                    break
                if len(few) == 1:
                    few.append(min((size, at) for at, (size, suffices) in found.items() if suffices)[1])
                pieces.append(f"({' OR '.join(pieces[at] for at in few)})")
                rest = self._sufficing(part, [(pieces[-1], len(pieces) - 1)])
                found = {at: own for at, own in found.items() if at not in few} | rest
            if len(found) > 1 and all(suffices for _, suffices in found.values()):
                return [pieces[at] for at in found]
            worth[chosen] = 0
        return []

    def _ranges(self, part: str, chosen: int, low: int, high: int) -> list[tuple[int, int]]:
        """Return the ranges of codes into which a column is cut."""
        column, code = self.columns[chosen], self.codes[chosen]
        if column.tree is not None:
            node = column.tree.common(np.array([low]), np.array([high]))
            leaves = np.arange(low, high + 1)
            child = child_of(column, np.repeat(node, len(leaves)), leaves)
            starts = np.flatnonzero(np.diff(child, prepend=child[0] - 1))
            stops = np.append(starts[1:], len(leaves)) - 1
            return [(int(leaves[a]), int(leaves[b])) for a, b in zip(starts, stops, strict=True)]
        counts = self.table.arrays(f"SELECT {code} AS c, sum(n)::BIGINT AS n FROM {part} GROUP BY ALL ORDER BY c")
        above = np.cumsum(counts["n"])
        at = int(counts["c"][np.searchsorted(above, (above[-1] + 1) // 2)])  # the lower median
        at -= at == high
        return [(int(low), at), (at + 1, int(high))]

    def _sufficing(self, part: str, pieces: list[tuple[str, int]]) -> dict[int, tuple[int, bool]]:
        """Return of the pieces that have rows how many, and whether each is what is asked for."""
        case = " ".join(f"WHEN {where} THEN {at}" for where, at in pieces)
        there: dict[int, tuple[int, bool]] = {}
        for name, constraint in self.models:
            value = f", {self.values[self.sensitive.index(name)]} AS s" if name else ""
            rows = self.table.arrays(
                f"SELECT CASE {case} END AS p{value}, sum(n)::BIGINT AS n FROM {part} "
                f"WHERE CASE {case} END IS NOT NULL GROUP BY ALL ORDER BY p"
            )
            piece = rows["p"]
            starts = np.flatnonzero(np.diff(piece, prepend=piece[0] - 1))
            sensitive = {name: (self.domains.coded.sensitive[name][0], rows["s"].astype(np.int32))} if name else {}
            table = CodedTable((), np.empty((len(piece), 0), np.int32), sensitive, None, rows["n"])
            suffices = constraint.satisfied(Groups(table, np.arange(len(piece)), starts))
            for at, size, own in zip(piece[starts], np.add.reduceat(rows["n"], starts), suffices, strict=True):
                there[int(at)] = int(size), bool(own) and there.get(int(at), (0, True))[1]
        return there

    def cut_on(self, parts: Sequence[str], jobs: int) -> tuple[int, float]:
        """Cut the parts in workers; keep the class of each combination, and the cells of each class.

        Returns
        -------
        int, float
            Classes, and the sum of the certainty penalties of all rows and columns.
        """
        data = self.domains.data
        kinds = [data.kind(name) for name in self.qi]
        sensitive = {name: self.domains.coded.sensitive[name][0] for name in self.sensitive}
        trees = [data.hierarchies.get(name) for name in self.qi]
        domains = [Domain.of(data, name) for name in self.qi]
        make = functools.partial(_Cutter, self.columns, sensitive, self.constraint, kinds, trees)
        count, lost = 0, 0.0
        for number, found in enumerate(self._answers(make, parts, jobs)):
            if isinstance(found, DeidError):
                raise found
            rows = {code: found.codes[:, at] for at, code in enumerate(self.codes)}
            classes = {f"p{at}": list(cells) for at, cells in enumerate(found.cells)}
            self.table.keep("combinations", rows | {"class": found.classes + count}, more=number > 0)
            self.table.keep(
                "classes", {"class": np.arange(len(found.records)) + count, **_typed(classes)}, more=number > 0
            )
            count += len(found.records)
            for domain, cells in zip(domains, found.cells, strict=True):
                known = {
                    label: at for at, label in enumerate(label for label in dict.fromkeys(cells) if label is not None)
                }
                penalty = domain.penalty(list(known))
                places = np.array([known.get(label, -1) for label in cells.tolist()])
                lost += float((penalty[places] * found.records).sum())
        return count, lost

    def _answers(self, make: Any, parts: Sequence[str], jobs: int) -> Iterator[_Found]:
        if jobs == 1 or len(parts) == 1:
            yield from map(make(), self._arrays(parts))
            return
        with Pool[dict[str, NDArray[Any]], "_Found"](make, min(jobs, len(parts))) as pool:
            yield from pool.in_order(self._arrays(parts))

    def _arrays(self, parts: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        for part in parts:
            yield self.table.arrays(f"SELECT * FROM {part}")
            self.table.ask(f"DROP TABLE {part}")

    def write(self, path: Path, roles: dict[str, str], most: int) -> int:
        """Write what is published, about ``most`` rows at a time, in the order of the cells; return the rows.

        An order that a release has tells nothing but what the rows say (`deid.disclosure.release.content_order`).
        Rows are sorted class by class: a sort of the whole would need more memory than the table has.
        """
        import pyarrow.parquet

        kept = sorted(n for n in self.table.names if n not in self.qi and FATES[roles[n]] != "dropped")
        cells = ", ".join(f"p{at}" for at in range(len(self.qi)))
        codes = ", ".join(self.codes)
        ask = self.table.ask
        ask(f"CREATE TABLE ranked AS SELECT *, row_number() OVER (ORDER BY {cells}, class) AS place FROM classes")
        ask("DROP TABLE classes")
        ask(f"CREATE TABLE located AS SELECT {codes}, place FROM combinations JOIN ranked USING (class)")
        ask("DROP TABLE combinations")
        on = " AND ".join(f"located.{code} = domain_{at}.c" for at, code in enumerate(self.codes))
        others = "".join(f", source.{sql_name(name)} AS k{at}" for at, name in enumerate(kept))
        ask(f"CREATE TABLE placed AS SELECT located.place{others} FROM {self._joined(self.qi)} JOIN located ON {on}")
        ask("DROP TABLE located")
        shown = ", ".join(
            f"p{self.qi.index(name)} AS {sql_name(name)}"
            if name in self.qi
            else f"k{kept.index(name)} AS {sql_name(name)}"
            for name in self.table.names
            if name in self.qi or name in kept
        )
        order = ", ".join(["place", *(f"k{at}" for at in range(len(kept)))])
        classes = ask("SELECT count(*) FROM ranked")[0][0]
        step = max(1, classes * most // self.table.rows)
        rows, writer = 0, None
        try:
            for first in range(1, classes + 1, step):
                between = f"BETWEEN {first} AND {first + step - 1}"
                found = self.table.con.sql(
                    f"SELECT {shown} FROM (SELECT * FROM placed WHERE place {between}) AS placed"
                    f" JOIN (SELECT * FROM ranked WHERE place {between}) AS ranked USING (place) ORDER BY {order}"
                ).to_arrow_table()
                writer = writer or pyarrow.parquet.ParquetWriter(path, found.schema)
                writer.write_table(found)
                rows += found.num_rows
        finally:
            if writer is not None:
                writer.close()
        return rows


def _typed(columns: dict[str, list[str | None]]) -> dict[str, Any]:
    import pyarrow

    return {name: pyarrow.array(cells, pyarrow.string()) for name, cells in columns.items()}


@dataclass(frozen=True, eq=False)
class _Found:
    """What a worker found in a part."""

    codes: Ints
    """[combinations, columns] distinct quasi-identifiers."""
    classes: IndexArray
    cells: list[NDArray[np.object_]]
    """By column, what is published for each class."""
    records: FloatArray
    """Rows of each class."""


@dataclass(frozen=True, eq=False)
class _Cutter:
    """Cuts a part on, in a worker."""

    columns: tuple[CodedColumn, ...]
    sensitive: dict[str, CodedColumn]
    constraint: Constraint
    kinds: Sequence[str]
    trees: Sequence[Any]

    def __call__(self, given: dict[str, NDArray[Any]]) -> _Found:
        codes = np.stack([given[f"c{at}"] for at in range(len(self.columns))], axis=1).astype(np.int32)
        values = {
            name: (column, given[f"s{at}"].astype(np.int32)) for at, (name, column) in enumerate(self.sensitive.items())
        }
        weights: IntArray = given["n"].astype(np.int64)
        classes = mondrian(CodedTable(self.columns, codes, values, None, weights), self.constraint)
        cells = group_cells(self.columns, codes, classes, self.kinds)
        records = np.bincount(classes, weights).astype(np.float64)
        for at, column in enumerate(self.columns):
            self._check(column, cells[at], codes[:, at], classes, self.trees[at])
        _, index = class_ids(codes, [column.size for column in self.columns])
        return _Found(codes[index], classes[index], cells, records)

    def _check(
        self, column: CodedColumn, cells: NDArray[np.object_], codes: Ints, classes: IndexArray, tree: Any
    ) -> None:
        """Refuse cells that are not true of their rows, by their text alone."""
        labels = {label: at for at, label in enumerate(dict.fromkeys(cells.tolist()))}
        place = np.array([labels[label] for label in cells.tolist()])[classes]
        pairs = np.unique(place.astype(np.int64) * column.size + codes)
        texts = list(labels)
        for label in range(len(texts)):
            inside = pairs[
                np.searchsorted(pairs, label * column.size) : np.searchsorted(pairs, (label + 1) * column.size)
            ]
            values = [column.values[code] for code in (inside % column.size).tolist()]
            known = [value for value in values if value is not None]
            if texts[label] is None:
                true = not known
            else:
                table = cover_table([str(texts[label])], known, tree)
                true = bool(table[0, : len(known)].all()) and (len(known) == len(values) or bool(table[0, -1]))
            if not true:
                raise method_fault(f"a cell of {column.name} is not true of its rows")
