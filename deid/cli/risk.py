"""The command risk: what attackers can do with a published table."""

from __future__ import annotations

from deid.base.files import write_bytes
from deid.cli import EXIT_FAILED, Summary, command, print_rows, working
from deid.cli.codes import attack
from deid.disclosure.options import AttackerOptions, ExpertOptions, VerifierOptions
from deid.table.options import TableOptions
from deid.transactions.attacks import AttackOptions


@command
def risk(
    told: Summary, *, source: TableOptions, roles: VerifierOptions, against: AttackerOptions, expert: ExpertOptions,
) -> int:  # fmt: skip
    """Measure the risk of re-identification and disclosure in a table.

    The prosecutor knows that a person is in the table, the journalist looks in the population, the marketer links all.
    With a population also the risk that membership itself discloses (everyone in the table has the disease).

    Example: deid risk released.csv --qi age,sex,zip --population voters.csv
    """
    from deid import __version__
    from deid.disclosure.measured_risk import check_signed, digests_of
    from deid.replacement.policy import load_policy

    if expert.check_report is not None:
        key = told.key(expert.key_file, create=False)
        wrong = check_signed(expert.check_report, key, source.table, against.population)
        told.notes = wrong or ["the signature holds, and the report is of this table"]
        told.extra = {"holds": not wrong, "wrong": wrong}
        return EXIT_FAILED if wrong else 0
    if against.codes is not None:
        attack(told, source, AttackOptions(codes=against.codes, population=against.population, person=roles.person))
        return 0
    release, told.notes = roles.open_published(source)
    with working("measuring"):
        found = against.measure(release, roles, source)
    print_rows(("measure", "value", "rows"), found.rows())
    told.extra = found.as_dict()
    if expert.expert_report is not None:
        report = found.signed(
            told.key(expert.key_file),
            digests=digests_of(source.table, against.population),
            stated=[*expert.assume, *told.notes],
            policy=load_policy(expert.policy).summary() if expert.policy is not None else None,
            version=__version__,
        )
        write_bytes(expert.expert_report, report, private=False)
        told.notes.append(
            f"{expert.expert_report} is signed; whether the risk is very small is the expert's to determine"
        )
    return 0
