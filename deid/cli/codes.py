"""``deid codes``: release diagnosis codes, and attack released ones."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from deid.base.files import together
from deid.cli import Summary, TableOutputOptions, command, option, print_sections, tell_made, working
from deid.table.options import TableOptions
from deid.transactions.asking import CodesAsked, release_table
from deid.transactions.attacks import AttackOptions, attack_tables


@command
def anonymize(
    told: Summary,
    *,
    source: TableOptions,
    place: TableOutputOptions,
    asked: CodesAsked,
    report: Path | None = option(None, "Write a report as a web page.", panel="Further files"),
) -> None:
    """Make diagnosis codes that can be released with a stated protection.

    Published are the codes, and with the method relational the columns of --qi, which must be generalized before. A
    verifier that knows only the result must pass it, otherwise nothing is written. OUT.manifest.json lies beside it.

    Example: deid codes anonymize patients.csv --codes diagnosis --method km --k 5 --m 2 --code-hierarchy icd-9-cm
    -o out.csv
    """
    from deid.manifest.page import made_section
    from deid.transactions.report import attack_rows, write_codes_report

    out = place.begin(told, source.table, report, inputs=source.files())
    with working("anonymizing"):
        release = release_table(source, asked)
    with together():
        place.write(release.table(asked.codes))
        if report is not None:
            write_codes_report(report, release, made_section(told.run))
    told.extra = {"persons_as_given": asked.persons_as_given}
    tell_made(told, out, release)
    if release.published is not None and release.attacks[0]:
        before, after = release.attacks
        print_sections([attack_rows({"before": before, "after": after})])


@command
def risk(told: Summary, *, source: TableOptions, asked: AttackOptions) -> None:
    """Attack diagnosis codes: how many persons do their codes single out, before and after a release.

    The attacker knows all codes of a person, m random ones, or those of one visit; or comes from a register of persons
    over discharge records. The release may hold sets such as (401.1,401.9), or inner values of the hierarchy.

    Example: deid codes risk patients.csv --codes diagnosis --released released.csv --code-hierarchy icd-9-cm
    """
    attack(told, source, asked)


def attack(told: Summary, source: TableOptions, asked: AttackOptions) -> None:
    """Attack codes and print what came of it; also behind ``deid risk --codes``."""
    from deid.transactions.report import attack_rows

    with working("attacking"):
        results = attack_tables(source.read_batches(asked.read_columns), asked, separator=source.sep)
    print_sections([attack_rows(results)])
    told.extra = {name: [asdict(found) for found in attacks] for name, attacks in results.items()}
