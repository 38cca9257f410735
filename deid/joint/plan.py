"""Plans of joint releases: which tables and notes of the same patients are released together, and how.

::

    policy = "surrogate"              # for notes, free text, and cells with a category
    k = 5                             # persons in every class of the joined view; also l, t, ... as in deid anonymize
    as_of = 2020-01-31                # reference day of texts without a date of their own (optional)

    [notes]                           # optional
    path = "notes"
    patients = "notes.csv"            # columns document and patient; or patient_field, patient_pattern

    [tables.patients]                 # becomes patients.csv
    path = "patients.csv"
    patient = "mrn"                   # the column that names the patient
    [tables.patients.columns]         # every other column: a role, or role, kind, hierarchy and category
    name = { role = "identifier", category = "PATIENT" }
    birth_date = { role = "quasi-identifier", hierarchy = { kind = "dates" } }
    sex = "quasi-identifier"

Relative paths begin at the plan's folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, require, told_of
from deid.base.files import read_toml
from deid.base.nearest import nearest
from deid.base.options import options_of, read_options
from deid.detection.options import PeopleOptions
from deid.disclosure.assessment import Requirements
from deid.disclosure.schema import Column, read_column
from deid.phi import LABEL_SETS
from deid.pipeline.known_people import read_people
from deid.pipeline.options import PipelineOptions
from deid.pipeline.patients import Patients

_LEVELS = {f.name for f in fields(Requirements)} - {"k_map", "kk", "presence", "guard"}
_OPTIONS = {one.name for one in options_of(PipelineOptions)} - {one.name for one in options_of(PeopleOptions)}
_OPTIONS -= {"gold", "keep", "method"}
_TOP = _OPTIONS | {"method", "seed", "persons_as_given", "notes", "tables"}
_CATEGORIES = frozenset(LABEL_SETS["i2b2-2014"].names())


@dataclass(frozen=True)
class JointTable:
    """One table of a plan.

    Parameters
    ----------
    path : Path
        CSV, Parquet or SQLite file.
    patient : str
        Column that names the patient.
    columns : mapping of str to Column
        Role, kind and hierarchy of every other column.
    categories : mapping of str to str
        Column -> category of PHI that its cells are.
    sql_table : str, optional
        Table of a database.
    """

    path: Path
    patient: str
    columns: Mapping[str, Column]
    categories: Mapping[str, str] = field(default_factory=dict)
    sql_table: str | None = None


@dataclass(frozen=True)
class NotesPlan:
    """The notes of a plan, and whom they are about."""

    path: Path
    patients: Patients
    format: str | None = None


@dataclass(frozen=True)
class JointPlan:
    """What is released together, and what must hold."""

    tables: Mapping[str, JointTable]
    notes: NotesPlan | None = None
    asked: Requirements = field(default_factory=Requirements)
    options: PipelineOptions = field(default_factory=PipelineOptions)
    """What finds PHI in notes and texts, and what becomes of it."""
    method: str = "auto"
    seed: int = 0
    persons_as_given: bool = False
    """Patients who look alike are different ones all the same."""

    def __post_init__(self) -> None:
        """Refuse options that a plan says otherwise, or that would leave texts as they are."""
        said = self.options
        elsewhere = any(getattr(said, one.name) for one in options_of(PeopleOptions))
        if said.gold or said.keep or said.method != "policy" or elsewhere:
            raise ConfigError(
                "--gold, --keep, --method and whom notes are about are no options of a joint release",
                "tables and [notes] of the plan say whom everything is about",
            )


def read_plan(path: Path) -> JointPlan:
    """Return the plan of a file.

    Raises
    ------
    ConfigError
        When it cannot be read, is no TOML, or says something unknown; names table and column.
    """
    where, content = str(path), read_toml(path, "see docs/joint-release.md")
    _check_keys(content, _TOP | _LEVELS, where)
    tables = content.get("tables")
    if not isinstance(tables, dict) or not tables:
        raise ConfigError("no table is named", "write [tables.NAME] with path, patient and columns", where)
    for name in tables:
        if not re.fullmatch(r"[\w-]+", name) or name in ("notes", "manifest"):
            raise ConfigError(f"a table cannot be called {name!r}", "use letters, digits, - and _", where)
    asked = Requirements(**{name: _number(content, name, where) for name in sorted(_LEVELS & content.keys())})
    with told_of(where, ConfigError):
        options = read_options(PipelineOptions, {n: v for n, v in content.items() if n in _OPTIONS}, path.parent)
    notes = content.get("notes")
    return JointPlan(
        {name: _table(said, path.parent, where, name) for name, said in tables.items()},
        _notes(notes, path.parent, where) if notes is not None else None,
        asked,
        options,
        _typed(content, "method", str, where, "auto"),
        _typed(content, "seed", int, where, 0),
        _typed(content, "persons_as_given", bool, where, False),
    )


def _check_keys(said: object, known: set[str], where: str, at: str = "") -> None:
    if not isinstance(said, dict):
        raise ConfigError("not a TOML table", "see docs/joint-release.md", where, at)
    for name in said:
        if name not in known:
            hint = nearest(name, sorted(known), "known are")
            raise ConfigError(f"unknown setting {name!r}", hint, where, at)


def _typed(said: Mapping[str, Any], name: str, kind: type, where: str, default: Any, at: str = "") -> Any:
    value = said.get(name, default)
    if value is not default and not isinstance(value, kind):
        raise ConfigError(f"{name} is not of type {kind.__name__}", "see docs/joint-release.md", where, at)
    return value


def _number(content: Mapping[str, Any], name: str, where: str) -> Any:
    value = content[name]
    if isinstance(value, list) and name in ("epsilon_m", "range_diversity") and len(value) == 2:
        return tuple(_number({name: part}, name, where) for part in value)
    wanted = str if name == "distance" else (int, float)
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise ConfigError(f"{name} is no {'text' if wanted is str else 'number'}", "for example: k = 5", where)
    return value


def _table(said: object, folder: Path, where: str, name: str) -> JointTable:
    at = f"table {name!r}"
    _check_keys(said, {"path", "patient", "columns", "sql_table"}, where, at)
    assert isinstance(said, dict)
    for needed in ("path", "patient"):
        require(isinstance(said.get(needed), str), f"{needed} is missing", f'write {needed} = "..."', where, at)
    columns, categories = {}, {}
    listed = said.get("columns", {})
    _check_keys(listed, set(listed) if isinstance(listed, dict) else set(), where, at)
    for column, what in listed.items():
        settings = {"role": what} if isinstance(what, str) else dict(what) if isinstance(what, dict) else what
        category = settings.pop("category", None) if isinstance(settings, dict) else None
        if category is not None and category not in _CATEGORIES:
            known = nearest(str(category), sorted(_CATEGORIES), "categories are")
            raise ConfigError(f"column {column!r} of {at} has the unknown category {category!r}", known, where)
        columns[column] = read_column(settings, folder, where, column)
        if columns[column].role is None:
            raise ConfigError(f"column {column!r} of {at} has no role", "other publishes it as it is", where)
        if category is not None:
            categories[column] = category
    if said["patient"] in columns:
        raise ConfigError(
            f"column {said['patient']!r} names the patient",
            "leave it out of the columns: it gets a pseudonym",
            where,
            at,
        )
    return JointTable(folder / said["path"], said["patient"], columns, categories, said.get("sql_table"))


def _notes(said: object, folder: Path, where: str) -> NotesPlan:
    _check_keys(
        said, {"path", "patients", "patient_field", "patient_pattern", "patient_text", "format"}, where, "notes"
    )
    assert isinstance(said, dict)
    require(isinstance(said.get("path"), str), "path is missing", 'write path = "notes"', where, "notes")
    people = {name: said[name] for name in said if name not in ("path", "format")}
    try:
        patients = read_people(read_options(PeopleOptions, people, folder), as_given=True).patients
    except ConfigError as error:
        raise ConfigError(error.what, error.hint, error.where or where, "notes") from None
    if not patients.named:
        raise ConfigError(
            "nothing says whom a note is about",
            "add patients, patient_field, patient_pattern or patient_text",
            where,
            "notes",
        )
    return NotesPlan(folder / said["path"], patients, _typed(said, "format", str, where, None, "notes"))
