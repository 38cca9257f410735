"""The command privacy: the levels of protection that a published table reaches."""

from __future__ import annotations

from pathlib import Path

from deid.cli import EXIT_FAILED, Summary, command, print_rows, working
from deid.disclosure.assessment import CheckedRequirements, Finding, assess
from deid.disclosure.options import DiskOptions, OtherTables, VerifierOptions
from deid.table.options import TableOptions


@command
def privacy(
    told: Summary,
    *,
    source: TableOptions,
    roles: VerifierOptions,
    asked: CheckedRequirements,
    beside: OtherTables,
    disk: DiskOptions,
) -> int | None:
    """Tell which privacy models a published table meets, and at which level.

    The table is taken as it is, whoever made it. Prints the level that is reached and the rows (from 1) that keep it
    from being better. Exit status 1 when a level that was asked for is not reached.

    Example: deid privacy released.csv --qi age,sex,zip --sensitive disease --k 5 --l 3
    """
    from deid.base.private_folder import PrivateFolder
    from deid.disclosure.classes import Verdict
    from deid.disclosure.disk_levels import assess_on_disk
    from deid.disclosure.guards import check_published
    from deid.disclosure.recoding_scheme import classify_recoding
    from deid.manifest import results_of
    from deid.transactions.reading import read_codes
    from deid.transactions.relational import column_cells, verify_both

    if disk.memory is not None:
        disk.refuse(
            codes=asked.codes, **vars(beside), ignore_suppressed=roles.ignore_suppressed, sep=source.sep,
        )  # fmt: skip
        with working("measuring"), PrivateFolder() as folder:
            findings = assess_on_disk(
                source.table, roles.stated(), asked, Path(folder), memory=disk.memory, table=source.sql
            )
        told.notes = ["every row was counted as a person; whether persons look alike was not looked at"]
        return _tell(told, findings)
    release = roles.open(source.table, source, published=True)
    told.notes = check_published(release, results_of(Path(source.table)))
    originals = roles.open_beside(beside.original, release, source)
    with working("measuring"):
        findings = assess(
            release,
            asked,
            population=roles.open_beside(beside.population, release, source),
            originals=originals,
        )
        if asked.codes is not None:
            texts = source.read()  # codes are texts, whatever their column looks like
            published = read_codes(texts, asked.codes, separator=asked.code_separator).transactions
            both = verify_both(column_cells(texts, release.quasi_identifiers), published, asked.k or 1, asked.m)
            verdict = Verdict(both.holds, both.level, both.records)
            findings.append(Finding(f"columns and {asked.m} codes", asked.codes, asked.k, verdict))
    status = _tell(told, findings)
    told.extra = {"rows": len(release), **told.extra}
    if originals is not None and len(originals) == len(release):
        recoding = classify_recoding(originals, release)
        told.notes += [f"recoding, if both tables have the same rows in the same order: {recoding.scheme}"]
        told.extra["recoding"] = recoding.scheme
    return status


def _tell(told: Summary, findings: list[Finding]) -> int:
    """Print what was found; return the exit status."""
    print_rows(
        ("model", "asked", "reached", "met", "rows that decide"),
        [
            (f.name, f.wanted or "-", f.reached, f.met, " ".join(str(row + 1) for row in f.verdict.witness[:5]))
            for f in findings
        ],
    )
    told.extra = {"findings": [finding.as_dict() for finding in findings]}
    return EXIT_FAILED if any(finding.failed for finding in findings) else 0
