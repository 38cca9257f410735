"""Schemas: which role, kind and hierarchy each column of a table has, as a small TOML file; and a proposal of one.

::

    person = "mrn"                        # for tables with several rows a person
    each_row_a_person = false             # true: rows that share an identifier are different persons all the same
    persons_as_given = false              # true: persons who look alike are different ones all the same

    [columns.age]
    role = "quasi-identifier"
    hierarchy = { kind = "intervals", widths = [5, 10, 20] }

    [columns.zip]
    role = "quasi-identifier"
    kind = "nominal"
    hierarchy = "zip.csv"                 # a file in ARX's form, beside this one

Kinds of hierarchies and their options are those of `deid.table.hierarchy_builders`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.errors import ConfigError, DeidError, InputError, require
from deid.base.files import read_toml
from deid.base.late import pd
from deid.base.nearest import nearest
from deid.manifest import persons_linked
from deid.table.column_types import numbers_kept_as_text
from deid.table.hierarchy import Hierarchy, read_hierarchy
from deid.table.hierarchy_builders import build_hierarchy
from deid.table.microdata import KINDS, NA_CODE, ROLES, SUPPRESSED, Microdata, check_columns
from deid.table.table_files import read_table

_SETTINGS = ("columns", "person", "each_row_a_person", "persons_as_given")


@dataclass(frozen=True)
class Column:
    """What is said of a column.

    Parameters
    ----------
    role : str or None
        One of `ROLES`; None where something is said of the column, but no role.
    kind : str, optional
        One of `KINDS`; told by the values when not given.
    hierarchy : Hierarchy, Path or dict, optional
        A hierarchy, its file, or ``kind`` and options of a builder.
    reason : str
        Why the role was proposed; written as a comment.
    """

    role: str | None
    kind: str | None = None
    hierarchy: Hierarchy | Path | Mapping[str, Any] | None = None
    reason: str = ""


@dataclass(frozen=True)
class Schema:
    """What is said of a table: its columns by name, and the column that tells whose row it is, or that every row is
    another person; and whether persons who look alike are different ones."""

    columns: Mapping[str, Column] = field(default_factory=dict)
    person: str | None = None
    each_row_a_person: bool = False
    persons_as_given: bool = False

    @classmethod
    def of_roles(
        cls, person: str | None = None, each_row_a_person: bool = False, persons_as_given: bool = False,
        **columns: Sequence[str],
    ) -> Schema:  # fmt: skip
        """Make a schema of lists of columns, by role with ``_`` for ``-``.

        >>> Schema.of_roles(quasi_identifier=["age", "sex"], sensitive=["disease"]).columns["sex"].role
        'quasi-identifier'

        Raises
        ------
        ConfigError
            When a column has two roles.
        """
        said: dict[str, Column] = {}
        for role, names in columns.items():
            for name in names:
                require(name not in said, f"column {name!r} has two roles", "name it once")
                said[name] = Column(role.replace("_", "-"))
        return cls(said, person, each_row_a_person, persons_as_given)

    def over(self, said: Schema) -> Schema:
        """Return the two as one: roles, kinds and hierarchies of this one count where ``said`` has others."""
        columns = dict(said.columns)
        for name, own in self.columns.items():
            given = columns.get(name, own)
            kind, hierarchy = own.kind or given.kind, own.hierarchy or given.hierarchy
            columns[name] = replace(given, role=own.role or given.role, kind=kind, hierarchy=hierarchy)
        return Schema(
            columns,
            self.person or said.person,
            self.each_row_a_person or said.each_row_a_person,
            self.persons_as_given or said.persons_as_given,
        )

    def of_quasi_identifiers(self, names: Iterable[str]) -> Schema:
        """Return what is said of these columns, for another table that has them: a population, the original."""
        return Schema({name: self.columns[name] for name in names})


def read_schema(path: Path) -> Schema:
    """Return the schema of a file.

    Raises
    ------
    ConfigError
        When it cannot be read, is no TOML, or says something unknown; names the column.
    """
    where, content = str(path), read_toml(path, "look at the output of deid schema")
    unknown = set(content) - set(_SETTINGS)
    if unknown or not isinstance(content.get("columns", {}), dict):
        hint = nearest(min(unknown, default=""), _SETTINGS, "a schema has")
        raise ConfigError("unknown settings", hint, where)
    columns = {name: read_column(said, path.parent, where, name) for name, said in content.get("columns", {}).items()}
    person = content.get("person")
    if person is not None and not isinstance(person, str):
        raise ConfigError("person is no column's name", 'for example: person = "mrn"', where)
    stated = {name: content.get(name, False) for name in ("each_row_a_person", "persons_as_given")}
    for name, value in stated.items():
        if not isinstance(value, bool):
            raise ConfigError(f"{name} is neither true nor false", "write true or false, without quotes", where)
    return Schema(columns, person, **stated)


def read_column(said: object, folder: Path, where: str, name: str) -> Column:
    """Return what a file says of one column.

    Parameters
    ----------
    said : object
        A table with role, kind and hierarchy.
    folder : Path
        Where relative paths begin.
    where, name : str
        The file and the column, for messages.

    Raises
    ------
    ConfigError
        When it says something unknown.
    """
    at = f"column {name!r}"
    if not isinstance(said, Mapping) or set(said) - {"role", "kind", "hierarchy"}:
        raise ConfigError("unknown settings", "a column has role, kind and hierarchy", where, at)
    if said.get("role", ROLES[0]) not in ROLES or said.get("kind", KINDS[0]) not in KINDS:
        raise ConfigError("unknown role or kind", f"roles: {', '.join(ROLES)}; kinds: {', '.join(KINDS)}", where, at)
    hierarchy = said.get("hierarchy")
    if isinstance(hierarchy, str):
        hierarchy = folder / hierarchy
    elif hierarchy is not None and not (isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("kind"), str)):
        raise ConfigError("a hierarchy is a file name, or has a kind", "see deid schema", where, at)
    return Column(said.get("role"), said.get("kind"), hierarchy)


def _quoted(text: str) -> str:
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08X}" for c in text)
    return f'"{escaped}"'


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value) if isinstance(value, (int, float)) else _quoted(str(value))


def format_schema(schema: Schema) -> str:
    """Return a schema as TOML; hierarchies must be files or builders.

    Raises
    ------
    ConfigError
        When a hierarchy is an object in memory.
    """
    lines = [] if schema.person is None else [f"person = {_quoted(schema.person)}", ""]
    for name in ("persons_as_given", "each_row_a_person"):
        if getattr(schema, name):
            lines = [f"{name} = true", *lines]
    for name, column in schema.columns.items():
        lines.append(f"[columns.{_quoted(name)}]")
        if column.role is not None:
            lines.append(f"role = {_quoted(column.role)}" + (f"  # {column.reason}" if column.reason else ""))
        if column.kind is not None:
            lines.append(f"kind = {_quoted(column.kind)}")
        if isinstance(column.hierarchy, Hierarchy):
            raise ConfigError("a hierarchy in memory has no place in a schema file", "write it to a file and name that")
        if column.hierarchy is not None:
            lines.append(f"hierarchy = {_value(column.hierarchy)}")
        lines.append("")
    return "\n".join(lines)


def apply_schema(frame: pd.DataFrame, schema: Schema, *, published: bool = False) -> Microdata:
    """Return a table as microdata, with the roles, kinds and hierarchies of a schema.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    schema : Schema
        What is said of it.
    published : bool
        The table is a published one: its quasi-identifiers are cells of any kind (``[20-29]`` or ``15-19`` beside 31),
        so they are nominal, and no hierarchy is built from them. Files are loaded, and hierarchies of other columns
        built, in any case. Identifiers, free text and dropped columns, the person's too, need not be there.

    Raises
    ------
    ConfigError
        When a column does not exist, or a hierarchy cannot be loaded or built.
    InputError
        When the values do not fit; names column and row.
    """
    if published:
        schema = _without_dropped(frame, schema)
    check_columns(frame, schema.columns)
    roles = {name: column.role for name, column in schema.columns.items() if column.role is not None}
    kinds = {name: column.kind for name, column in schema.columns.items() if column.kind is not None}
    if published:
        kinds |= {name: "nominal" for name, role in roles.items() if role == "quasi-identifier"}
    plain = Microdata(frame, {}, kinds=kinds)
    trees: dict[str, Hierarchy] = {}
    for name, column in schema.columns.items():
        if isinstance(column.hierarchy, Hierarchy):
            trees[name] = column.hierarchy
        elif isinstance(column.hierarchy, Path):
            try:
                trees[name] = read_hierarchy(column.hierarchy, name)
            except DeidError as error:
                what = f"the hierarchy of column {name!r}: {error.what}"  # the file's name may be PHI, the column's not
                raise type(error)(what, error.hint, position=error.position) from None
        elif column.hierarchy is not None and not (published and column.role == "quasi-identifier"):
            trees[name] = _build(plain, name, column.hierarchy)
    return Microdata(frame, roles, trees, schema.person, kinds, schema.each_row_a_person, schema.persons_as_given)


def read_microdata(
    place: str,
    schema: Schema | None = None,
    *,
    separator: str | None = None,
    table: str | None = None,
    published: bool = False,
) -> Microdata:
    """Return a table, an original or a published one, with its roles.

    Parameters
    ----------
    place, separator, table
        See `deid.table.table_files.read_table`; nothing of a cell is lost.
    schema, published
        See `apply_schema`. Numbers that are kept as text (2.50) are numeric, if no other kind is said.

    Raises
    ------
    InputError, ConfigError
        When the table cannot be read, or the schema does not fit it.
    """
    frame = read_table(place, separator=separator, table=table, exact=True)
    told = Schema({name: Column(None, kind) for name, kind in numbers_kept_as_text(frame).items()})
    data = apply_schema(frame, (schema or Schema()).over(told), published=published)
    return replace(data, linked=True) if persons_linked(place, data.person) else data


def _without_dropped(frame: pd.DataFrame, schema: Schema) -> Schema:
    """Return what a schema says of a published table: without the columns that a release leaves out."""
    gone = {
        name
        for name, column in schema.columns.items()
        if column.role in ("identifier", "free-text", "dropped") and name not in frame.columns
    }
    columns = {name: column for name, column in schema.columns.items() if name not in gone}
    return replace(schema, columns=columns, person=None if schema.person in gone else schema.person)


def _build(table: Microdata, name: str, settings: Mapping[str, Any]) -> Hierarchy:
    options = dict(settings)
    kind = options.pop("kind")
    coded = table.codes(name)
    counts = np.bincount(coded.codes[coded.codes != NA_CODE], minlength=len(coded.values))
    rows_of = {value: int(count) for value, count in zip(coded.values, counts, strict=True) if value != SUPPRESSED}
    if kind == "automatic":
        options["counts"] = list(rows_of.values())
    try:
        return build_hierarchy(kind, tuple(rows_of), **options)
    except InputError as error:
        raise InputError(error.what, error.hint, f"column {name!r}") from None
    except ConfigError as error:
        raise ConfigError(error.what, error.hint, f"column {name!r}") from None
