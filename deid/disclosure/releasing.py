"""What a user says of a release: of which table, by which method it is made, and what is written beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.files import check_new_file, write_bytes
from deid.base.keys import job_count
from deid.base.options import column_names, option, refuse_given
from deid.disclosure.methods import HOW, MethodOptions, said_of_size
from deid.disclosure.options import DiskOptions, RoleOptions
from deid.table.options import TableOptions
from deid.table.table_writing import check_new_table, write_table

if TYPE_CHECKING:
    from deid.base.reports import Section
    from deid.disclosure.assessment import Requirements
    from deid.disclosure.out_of_core import DiskRelease
    from deid.disclosure.release import Release
    from deid.table.microdata import Microdata


@dataclass(frozen=True)
class MethodChoice:
    """Which method, and what it is told beside its options."""

    PANEL: ClassVar[str] = HOW
    method: str = option(
        "auto",
        "auto, local, mondrian, relaxed, optimal, greedy, incognito, bottom-up, top-down, hybrid, r-gather, mdav, kk, "
        "cells, records or same-disease.",
    )
    prefix: str | None = option(None, "For same-disease: columns published as their common beginning.", metavar="A,B")
    rules_left: int | None = option(None, "Values that mined rules must leave everybody.", metavar="L")
    target: str | None = option(None, "Outcomes that Mondrian's cuts should tell apart.", metavar="A,B")
    scheme: Path | None = option(None, "Recode as an earlier release, by its scheme.")

    @property
    def searched(self) -> dict[str, object]:
        """What is said of a search, by name: nothing of it is for a scheme or a table on disk."""
        return {"target": self.target, "prefix": self.prefix, "rules_left": self.rules_left}

    def release(
        self, data: Microdata, asked: Requirements, options: MethodOptions, population: Microdata | None = None
    ) -> Release:
        """Return the release that is asked for; errors are those of `deid.disclosure.release.anonymize`."""
        from deid.disclosure.release import anonymize
        from deid.disclosure.scheme import apply_scheme, read_scheme

        if self.scheme is not None:
            options = replace(options, suppression=options.suppression or 1.0)
            return apply_scheme(read_scheme(self.scheme), data, asked, options)
        return anonymize(
            data,
            asked,
            self.method,
            options,
            target=self.target,
            population=population,
            prefixes=column_names(self.prefix),
            rules_left=self.rules_left,
        )

    def said_of_size(self, data: Microdata) -> list[str]:
        """Return what must be said where the size of a table decided between two methods."""
        if self.method != "auto" or self.scheme is not None:
            return []
        said = said_of_size(len(data), len(data.quasi_identifiers))
        return [said] if said else []


@dataclass(frozen=True)
class FurtherFiles:
    """What is written beside a release."""

    PANEL: ClassVar[str] = "Further files"
    report: Path | None = option(None, "Write a report as a web page.")
    save_scheme: Path | None = option(None, "Keep the recoding as a scheme, for rows to come.")
    aligned: Path | None = option(None, "Private: the published cells in the order of TABLE, for deid write-back.")

    def check(self) -> None:
        """Refuse places where nothing can be written."""
        if self.aligned is not None:
            check_new_table(self.aligned)
        check_new_file(self.save_scheme, self.report)

    def write(self, release: Release, made: Section) -> None:
        """Write what is asked for; ``made`` says how the release was made."""
        from deid.disclosure.release_report import write_report
        from deid.disclosure.scheme import scheme_of

        if self.aligned is not None:
            write_table(release.aligned(), self.aligned)
        if self.save_scheme is not None:
            write_bytes(self.save_scheme, scheme_of(release).to_json().encode())
        if self.report is not None:
            write_report(self.report, release, made)


@dataclass(frozen=True)
class AskedRelease:
    """All that a user says of a release of a table.

    Raises
    ------
    ConfigError
        When options contradict each other: most say nothing of a table on disk, and those of a search nothing of a
        scheme; when a place beside the release is taken.
    """

    source: TableOptions
    roles: RoleOptions
    asked: Requirements
    how: MethodChoice
    options: MethodOptions
    population: str | None
    beside: FurtherFiles
    disk: DiskOptions

    def __post_init__(self) -> None:
        how = self.how
        if self.disk.memory is not None:
            self.disk.refuse(
                **{"method": how.method not in ("auto", "mondrian"), "scheme": how.scheme, **how.searched},
                **{**vars(self.beside), "population": self.population, "suppression": self.options.suppression},
                **{"rounds": self.options.rounds, "sep": self.source.sep},
            )
        elif how.scheme is not None:
            searched = {"method": how.method != "auto", **how.searched, "population": self.population}
            refuse_given("is for a search, and a scheme is applied as it is", "--scheme", **searched)
        self.beside.check()

    def make(self, out: Path) -> Release | DiskRelease:
        """Make the release; that of a table on disk is written to ``out`` as it is made.

        Errors are those of `deid.disclosure.release.anonymize` and `deid.disclosure.out_of_core.anonymize_on_disk`.
        """
        source, roles, jobs = self.source, self.roles, job_count(self.options.jobs)
        if self.disk.memory is not None:
            from deid.disclosure.out_of_core import anonymize_on_disk

            return anonymize_on_disk(
                source.table, roles.stated(), self.asked, out, memory=self.disk.memory, jobs=jobs,
                drop_rest=roles.drop_rest, table=source.sql,
            )  # fmt: skip
        data = roles.open(source.table, source)
        others = roles.open_beside(self.population, data, source)
        return self.how.release(data, self.asked, replace(self.options, jobs=jobs), others)
