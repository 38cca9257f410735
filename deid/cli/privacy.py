"""The command privacy: the levels of protection that a published table reaches."""

from __future__ import annotations

from deid.cli import EXIT_FAILED, Summary, command, print_rows, working
from deid.disclosure.assessment import CheckedRequirements
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
) -> int:
    """Tell which privacy models a published table meets, and at which level.

    The table is taken as it is, whoever made it. Prints the level that is reached and the rows (from 1) that keep it
    from being better. Exit status 1 when a level that was asked for is not reached.

    Example: deid privacy released.csv --qi age,sex,zip --sensitive disease --k 5 --l 3
    """
    from deid.joint.assessing import assess_table

    with working("measuring"):
        findings, told.notes, told.extra = assess_table(source, roles, asked, beside, disk)
    print_rows(("model", "asked", "reached", "met", "rows that decide"), [finding.cells for finding in findings])
    return EXIT_FAILED if any(finding.failed for finding in findings) else 0
