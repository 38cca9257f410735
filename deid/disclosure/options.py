"""What a user says of the columns of a table, original or published, and of one that does not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deid.base.errors import ConfigError
from deid.base.options import column_names, named_value, option, refuse_given, size_of
from deid.table.options import TableOptions

if TYPE_CHECKING:
    from deid.disclosure.measured_risk import MeasuredRisk
    from deid.disclosure.schema import Schema
    from deid.table.microdata import Microdata

_ROLES, _PERSONS = "Columns", "Persons"


@dataclass(frozen=True)
class DiskOptions:
    """How a table that does not fit into memory is worked on."""

    PANEL: ClassVar[str] = "Larger than memory"
    memory: int | None = option(
        None,
        "Work on disk, with about SIZE of memory (2G); TABLE is Parquet, or of a database.",
        metavar="SIZE",
        read=size_of,
    )

    def refuse(self, **others: object) -> None:
        """Refuse options that a table on disk does not have, by name, where they were given."""
        refuse_given("is for tables in memory", "--memory", **others)


@dataclass(frozen=True)
class SchemaOptions:
    """Which columns identify together, and how they are generalized."""

    qi: tuple[str, ...] = option(
        (), "Columns that identify together, as age,zip or '\"a, b\",c' (repeatable).", metavar="A,B"
    )
    schema: Path | None = option(
        None, "Roles and hierarchies as deid schema writes them.", metavar="FILE", panel=_ROLES
    )
    hierarchy: tuple[str, ...] = option(
        (),
        "Hierarchy of a column, a CSV of ARX's form, or built of its values: automatic, intervals, dates, prefixes, "
        "icd-9-cm, icd-10-cm (repeatable).",
        metavar="COLUMN=FILE",
        panel=_ROLES,
    )

    def stated(self) -> Schema:
        """Return what the options say over what the schema file says."""
        from deid.disclosure.schema import Column, Schema, read_schema
        from deid.table.hierarchy_builders import BUILDERS

        columns = {}
        for pair in self.hierarchy:
            name, file = named_value(pair, "--hierarchy", "for example: --hierarchy zip=zip.csv")
            built = file in BUILDERS and not Path(file).exists()
            columns[name] = Column(None, hierarchy={"kind": file} if built else Path(file))
        roles = Schema.of_roles(**self._roles()).over(Schema(columns))
        return roles.over(read_schema(self.schema) if self.schema is not None else Schema())

    def _roles(self) -> dict[str, Any]:
        return {"quasi_identifier": column_names(*self.qi)}

    def open(self, place: str, table: TableOptions, *, published: bool = False) -> Microdata:
        """Read a table, an original or a published one, with its roles."""
        from deid.disclosure.schema import read_microdata

        sql = table.sql if place == table.table else None
        return read_microdata(place, self.stated(), separator=table.sep, table=sql, published=published)

    def open_beside(self, place: str | None, release: Microdata, table: TableOptions) -> Microdata | None:
        """Read a population or an original: the quasi-identifiers of the release, as the schema describes them."""
        from deid.disclosure.schema import read_microdata

        if place is None:
            return None
        said = self.stated().of_quasi_identifiers(release.quasi_identifiers)
        return read_microdata(place, said, separator=table.sep)


@dataclass(frozen=True)
class PersonsOptions(SchemaOptions):
    """Roles of columns where rows are counted as persons."""

    sensitive: tuple[str, ...] = option((), "Columns that must not become known of a person.", metavar="A,B")
    person: str | None = option(
        None,
        "Column that tells whose row it is; needed when rows are notes or visits.",
        metavar="COLUMN",
        panel=_PERSONS,
    )
    persons_as_given: bool = option(
        False, "Persons who look alike are different ones; levels count them so.", panel=_PERSONS
    )

    def _roles(self) -> dict[str, Any]:
        said = {"person": self.person, "persons_as_given": self.persons_as_given}
        return {**super()._roles(), "sensitive": column_names(*self.sensitive), **said}


@dataclass(frozen=True)
class VerifierOptions(PersonsOptions):
    """Roles of the columns of a published table, and how suppressed rows count."""

    ignore_suppressed: bool = option(
        False, "Leave out rows with nothing but *; they are a class otherwise.", panel=_PERSONS
    )

    def open(self, place: str, table: TableOptions, *, published: bool = False) -> Microdata:
        """Read a table with its roles."""
        return replace(super().open(place, table, published=published), ignore_suppressed=self.ignore_suppressed)

    def open_published(self, table: TableOptions) -> tuple[Microdata, list[str]]:
        """Read TABLE as it is published; return what must be said of it, too (`deid.disclosure.guards`)."""
        from deid.disclosure.guards import check_published
        from deid.manifest import results_of

        release = self.open(table.table, table, published=True)
        return release, check_published(release, results_of(Path(table.table)))


@dataclass(frozen=True)
class RoleOptions(PersonsOptions):
    """Roles of all columns of a table that is to be released."""

    drop: tuple[str, ...] = option((), "Columns that are left out, such as identifiers.", metavar="A,B")
    publish: tuple[str, ...] = option(
        (), "Columns that are published as they are, without protection.", metavar="A,B", panel=_ROLES
    )
    drop_rest: bool = option(False, "Leave out all columns of which nothing is said.", panel=_ROLES)
    each_row_a_person: bool = option(
        False, "Rows that share an identifier are different persons all the same.", panel=_PERSONS
    )

    def _roles(self) -> dict[str, Any]:
        said = {"dropped": column_names(*self.drop), "other": column_names(*self.publish)}
        return {**super()._roles(), **said, "each_row_a_person": self.each_row_a_person}

    def open(self, place: str, table: TableOptions, *, published: bool = False) -> Microdata:
        """Read a table with its roles; with ``drop_rest`` all other columns are to be left out."""
        from deid.disclosure.guards import drop_unnamed

        data = super().open(place, table, published=published)
        return drop_unnamed(data) if self.drop_rest else data


@dataclass(frozen=True)
class OtherTables:
    """What a published table is compared with."""

    PANEL: ClassVar[str] = "Against other tables"
    population: str | None = option(None, "Table of the population, for --k-map and --presence.", metavar="P")
    original: str | None = option(
        None, "Original table, for --kk; also names the kind of recoding.", metavar="O", repr=False
    )


@dataclass(frozen=True)
class AttackerOptions:
    """What attackers have beside the table."""

    PANEL: ClassVar[str] = "Attackers"
    population: str | None = option(
        None, "Table of the population, one row a person, with the quasi-identifiers.", metavar="P", panel=""
    )
    population_size: int | None = option(None, "Size of the population, to estimate how many are unique in it.")
    earlier: str | None = option(
        None, "Another release of these persons: the composition attack.", "--with", metavar="R"
    )
    known: str | None = option(
        None,
        "For --with: table of persons that the attacker knows, such as the original.",
        "--known-persons",
        metavar="O",
        repr=False,
    )
    mined: str | None = option(
        None, "Original: mine what its columns rule out, and strike it from the values left (Injector).", "--rules-of",
        metavar="O",
    )  # fmt: skip
    expected: float = option(
        5.0, "For --rules-of: rows that should have the value, and none has.", "--rules-expect", metavar="N"
    )
    threshold: float = option(0.2, "Probability from which a person is at risk.", "--at-risk", metavar="P")
    codes: str | None = option(
        None, "Attack this column of diagnosis codes, as deid codes risk does.", metavar="COLUMN"
    )

    def measure(self, release: Microdata, roles: VerifierOptions, table: TableOptions) -> MeasuredRisk:
        """Read what attackers have, and return what they can do with a release of these roles."""
        from deid.disclosure.measured_risk import measure_risk

        return measure_risk(
            release,
            population=roles.open_beside(self.population, release, table),
            population_size=self.population_size,
            earlier=None if self.earlier is None else roles.open(self.earlier, table, published=True),
            known=roles.open_beside(self.known, release, table),
            threshold=self.threshold,
            mined=None if self.mined is None else roles.open(self.mined, table),
            expected=self.expected,
        )


@dataclass(frozen=True)
class ExpertOptions:
    """The signed report that an expert determination needs."""

    PANEL: ClassVar[str] = "Report for an expert determination"
    expert_report: Path | None = option(None, "Write the signed report, as JSON.")
    check_report: Path | None = option(None, "Check the signature of such a report, and that it is of TABLE.")
    assume: tuple[str, ...] = option((), "A further assumption (repeatable).", metavar="TEXT")
    policy: str | None = option(None, "Policy of the notes that go along.", metavar="NAME|FILE")
    key_file: Path | None = option(None, "Key in hex; else the variable DEID_KEY, else ~/.config/deid/key.")

    def __post_init__(self) -> None:
        """Refuse what is said of no report."""
        if self.check_report is None and self.expert_report is None and (self.assume or self.policy):
            raise ConfigError("--assume and --policy are for the report", "add --expert-report F")
