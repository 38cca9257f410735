"""The joined view of a joint release: one row a patient, with the quasi-identifiers of all tables.

What an attacker can join is what is anonymized here, and what is checked here once it is published.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deid.base.errors import ConfigError, InputError, OutputError, told_of
from deid.base.late import pd
from deid.disclosure.assessment import Finding, Requirements, assess
from deid.disclosure.methods import MethodOptions
from deid.disclosure.release import Release, anonymize
from deid.disclosure.schema import Column, Schema, apply_schema
from deid.joint.plan import JointPlan, JointTable
from deid.table.microdata import Microdata, check_columns
from deid.table.table_files import read_table

Cells = Mapping[str, Mapping[str, Any]]
"""Patient -> quasi-identifier -> published cell."""


@dataclass(frozen=True, repr=False)
class LoadedTable:
    """A table that was read: its frame, and the patient of each row."""

    plan: JointTable
    frame: pd.DataFrame
    patients: tuple[str, ...]

    def texts(self, column: str) -> list[str | None]:
        """Return a column as text, None where a value is missing."""
        return Microdata(self.frame[[column]], {}).texts(column)

    def having(self, *roles: str) -> list[str]:
        """Return the columns of these roles, in the table's order."""
        return [c for c in self.frame.columns if c in self.plan.columns and self.plan.columns[c].role in roles]


def load_table(name: str, plan: JointTable) -> LoadedTable:
    """Return a table of a plan; ``name`` is its name in the plan, for errors.

    Raises
    ------
    ConfigError
        When the plan does not speak of a column, or of one that is not there.
    InputError
        When the table cannot be read, or a row has no patient.
    """
    frame = read_table(plan.path, table=plan.sql_table)
    check_columns(frame, [plan.patient, *plan.columns])
    unsaid = [c for c in frame.columns if c not in plan.columns and c != plan.patient]
    if unsaid:
        raise ConfigError(
            f"nothing is said of the columns {', '.join(map(repr, unsaid))}",
            "give each a role; identifiers without a category are left out",
            f"table {name!r}",
        )
    with told_of(f"table {name!r}", InputError):
        ids = Microdata(frame, {}, person=plan.patient).codes(plan.patient)
    return LoadedTable(plan, frame, tuple(ids.values[code] for code in ids.codes))


def anonymize_join(plan: JointPlan, tables: Mapping[str, LoadedTable]) -> tuple[Release, Cells] | None:
    """Anonymize the joined view.

    Parameters
    ----------
    plan : JointPlan
    tables : mapping of str to LoadedTable
        By name.

    Returns
    -------
    (Release, mapping) or None
        The view's release, and patient -> quasi-identifier -> published cell; None without quasi-identifiers.

    Raises
    ------
    InputError
        When a patient has several values of one quasi-identifier.
    ConfigError
        When what is asked for cannot be reached by generalizing.
    """
    people = sorted({patient for table in tables.values() for patient in table.patients})
    data = _join(tables, people)
    if data is None:
        if plan.asked != Requirements():
            raise ConfigError("no column is a quasi-identifier", "name the ones by which patients can be recognized")
        return None
    release = anonymize(data, plan.asked, plan.method, MethodOptions(seed=plan.seed))
    if release.suppressed:
        raise ConfigError(
            "the method suppresses patients, who are in several tables and notes", "choose a method that generalizes"
        )
    cells = release.aligned()
    names = list(cells.columns)
    rows = cells.itertuples(index=False)
    return release, {p: dict(zip(names, row, strict=True)) for p, row in zip(people, rows, strict=True)}


def _join(tables: Mapping[str, LoadedTable], people: list[str]) -> Microdata | None:
    """Return one row a patient, None without quasi-identifiers."""
    specs: dict[str, Column] = {}
    columns: dict[str, pd.Series] = {}
    for name, table in tables.items():
        for column in table.having("quasi-identifier", "sensitive"):
            spec = table.plan.columns[column]
            # an array of a categorical column is one of objects
            series = pd.Series(table.frame[column].to_numpy(), index=list(table.patients)).dropna()
            groups = series.groupby(level=0)
            if spec.role == "quasi-identifier":
                _check_constant(series, name, column)
                series = groups.first()
                if column in columns:
                    _check_constant(pd.concat([columns[column], series]), name, column)
                    series = columns[column].combine_first(series)
                columns[column] = series
                specs.setdefault(column, spec)
            else:
                if groups.nunique().gt(1).any():  # for the search, several values of a patient are one of their own
                    spec = dataclasses.replace(spec, kind="nominal", hierarchy=None)
                    texts = series.astype(str).groupby(level=0)
                    series = texts.agg(lambda values: "; ".join(sorted(set(values))))
                else:
                    series = groups.first()
                columns[_own(column, name)], specs[_own(column, name)] = series, spec
    if not any(spec.role == "quasi-identifier" for spec in specs.values()):
        return None
    view = pd.DataFrame({name: series.reindex(people) for name, series in columns.items()}).reset_index(drop=True)
    return apply_schema(view, Schema(specs))


def _own(column: str, table: str) -> str:
    """Return the name that a sensitive column has in the joined view."""
    return f"{column} ({table})"


def _check_constant(series: pd.Series, table: str, column: str) -> None:
    several = int(series.astype(str).groupby(level=0).nunique().gt(1).sum())
    if several:
        raise InputError(
            f"{several} patients have several values of the quasi-identifier {column!r}",
            "give a column that changes from row to row another role, such as other with the category DATE",
            f"table {table!r}",
        )


def verify_join(
    asked: Requirements, tables: Mapping[str, LoadedTable], frames: Mapping[str, pd.DataFrame]
) -> tuple[Microdata, tuple[Finding, ...]]:
    """Join tables as they will be written, and let the verifiers judge them: k and l count patients.

    Parameters
    ----------
    asked : Requirements
    tables : mapping of str to LoadedTable
        What the columns are.
    frames : mapping of str to pandas.DataFrame
        The published tables, by the same names.

    Returns
    -------
    (Microdata, tuple of Finding)
        The join, with several rows a patient, and what the verifiers say of it.

    Raises
    ------
    OutputError
        When a level is not reached.
    """
    cells: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    trees: dict[str, Any] = {}
    roles: dict[str, str] = {}
    for name, table in tables.items():
        frame = frames[name]
        quasi, sensitive = table.having("quasi-identifier"), table.having("sensitive")
        roles |= dict.fromkeys(quasi, "quasi-identifier")
        own = {column: _own(column, name) for column in sensitive}
        roles |= dict.fromkeys(own.values(), "sensitive")
        spec = Schema({c: table.plan.columns[c] for c in sensitive})
        if sensitive:
            trees |= {own[c]: tree for c, tree in apply_schema(frame[sensitive], spec).hierarchies.items()}
        for record in frame.to_dict("records"):
            patient = record[table.plan.patient]
            held = cells.setdefault(patient, {})
            for column in quasi:
                cell = None if pd.isna(record[column]) else record[column]
                if held.setdefault(column, cell) != cell:
                    raise OutputError("a patient has two published cells of one quasi-identifier", "please report it")
            rows.append({"patient": patient} | {own[c]: record[c] for c in sensitive})
    columns = ["patient", *roles]
    joined = pd.DataFrame([row | cells[row["patient"]] for row in rows], columns=columns)
    kinds = {name: "nominal" for name, role in roles.items() if role == "quasi-identifier"}
    data = Microdata(joined, roles, trees, "patient", kinds)
    findings = assess(data, asked)
    failed = [f for f in findings if f.failed]
    if failed:
        names = ", ".join(f"{f.model}{f' of {f.column}' if f.column else ''}" for f in failed)
        raise OutputError(
            f"the joined tables do not reach {names}; nothing was written",
            "patients have several sensitive values: ask for more in the search (a greater l), or for k alone",
        )
    return data, tuple(findings)
