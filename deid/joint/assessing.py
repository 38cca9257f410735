"""A published table: the levels that its columns reach, alone and together with a column of codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deid.base.private_folder import PrivateFolder
from deid.disclosure.assessment import CheckedRequirements, Finding, assess
from deid.disclosure.classes import Verdict
from deid.disclosure.disk_levels import assess_on_disk
from deid.disclosure.options import DiskOptions, OtherTables, VerifierOptions
from deid.disclosure.recoding_scheme import classify_recoding
from deid.table.options import TableOptions
from deid.transactions.reading import read_codes
from deid.transactions.relational import column_cells, verify_both


def assess_table(
    source: TableOptions, roles: VerifierOptions, asked: CheckedRequirements, beside: OtherTables, disk: DiskOptions
) -> tuple[list[Finding], list[str], dict[str, Any]]:
    """Run all verifiers on a published table, in memory or on disk.

    Returns
    -------
    findings : list of Finding
        As `deid.disclosure.assessment.assess` has them; behind them what columns and codes reach together.
    notes : list of str
        What must be said beside them.
    figures : dict
        All as JSON values, and the kind of recoding where the original has as many rows.

    Raises
    ------
    ConfigError
        When a level is asked for without what it needs, or something that is not told of a table on disk.
    InputError, FormatError
        When a table cannot be read.
    """
    if disk.memory is not None:
        others = {**vars(beside), "ignore_suppressed": roles.ignore_suppressed, "sep": source.sep}
        disk.refuse(codes=asked.codes, **others)
        with PrivateFolder() as folder:
            findings = assess_on_disk(
                source.table, roles.stated(), asked, Path(folder), memory=disk.memory, table=source.sql
            )
        notes = ["every row was counted as a person; whether persons look alike was not looked at"]
        return findings, notes, {"findings": [finding.as_dict() for finding in findings]}
    release, notes = roles.open_published(source)
    originals = roles.open_beside(beside.original, release, source)
    population = roles.open_beside(beside.population, release, source)
    findings = assess(release, asked, population=population, originals=originals)
    if asked.codes is not None:
        texts = source.read()  # codes are texts, whatever their column looks like
        published = read_codes(texts, asked.codes, separator=asked.code_separator).transactions
        both = verify_both(column_cells(texts, release.quasi_identifiers), published, asked.k or 1, asked.m)
        verdict = Verdict(both.holds, both.level, both.records)
        findings.append(Finding(f"columns and {asked.m} codes", asked.codes, asked.k, verdict))
    figures = {"rows": len(release), "findings": [finding.as_dict() for finding in findings]}
    if originals is not None and len(originals) == len(release):
        scheme = classify_recoding(originals, release).scheme
        notes.append(f"recoding, if both tables have the same rows in the same order: {scheme}")
        figures["recoding"] = scheme
    return findings, notes, figures
