"""The command risk: what attackers can do with a published table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.errors import ConfigError
from deid.base.files import write_bytes
from deid.base.keys import load_key
from deid.cli import EXIT_FAILED, Summary, command, option, print_rows, working
from deid.cli.codes import attack
from deid.disclosure.options import VerifierOptions
from deid.table.options import TableOptions
from deid.transactions.attacks import AttackOptions

_ATTACKERS, _REPORT = "Attackers", "Report for an expert determination"


@dataclass(frozen=True)
class AttackerOptions:
    """What attackers have beside the table."""

    PANEL: ClassVar[str] = _ATTACKERS
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


@dataclass(frozen=True)
class ExpertOptions:
    """The signed report that an expert determination needs."""

    PANEL: ClassVar[str] = _REPORT
    expert_report: Path | None = option(None, "Write the signed report, as JSON.")
    check_report: Path | None = option(None, "Check the signature of such a report, and that it is of TABLE.")
    assume: tuple[str, ...] = option((), "A further assumption (repeatable).", metavar="TEXT")
    policy: str | None = option(None, "Policy of the notes that go along.", metavar="NAME|FILE")
    key_file: Path | None = option(None, "Key in hex; else the variable DEID_KEY, else ~/.config/deid/key.")


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
    from deid.disclosure.guards import check_published
    from deid.disclosure.measured_risk import check_signed, digests_of, measure_risk
    from deid.manifest import results_of
    from deid.replacement.policy import load_policy

    if expert.check_report is not None:
        key, _ = load_key(expert.key_file, create=False)
        wrong = check_signed(expert.check_report, key, source.table, against.population)
        told.notes = wrong or ["the signature holds, and the report is of this table"]
        told.extra = {"holds": not wrong, "wrong": wrong}
        return EXIT_FAILED if wrong else 0
    if expert.expert_report is None and (expert.assume or expert.policy):
        raise ConfigError("--assume and --policy are for the report", "add --expert-report F")
    if against.codes is not None:
        attack(told, source, AttackOptions(codes=against.codes, population=against.population, person=roles.person))
        return 0
    release = roles.open(source.table, source, published=True)
    told.notes = check_published(release, results_of(Path(source.table)))
    with working("measuring"):
        found = measure_risk(
            release,
            population=roles.open_beside(against.population, release, source),
            population_size=against.population_size,
            earlier=None if against.earlier is None else roles.open(against.earlier, source, published=True),
            known=roles.open_beside(against.known, release, source),
            threshold=against.threshold,
            mined=None if against.mined is None else roles.open(against.mined, source),
            expected=against.expected,
        )
    print_rows(("measure", "value", "rows"), found.rows())
    told.extra = found.as_dict()
    if expert.expert_report is not None:
        key, created = load_key(expert.key_file)
        report = found.signed(
            key,
            digests_of(source.table, against.population),
            stated=[*expert.assume, *told.notes],
            policy=load_policy(expert.policy).summary() if expert.policy is not None else None,
            version=__version__,
        )
        write_bytes(expert.expert_report, report, private=False)
        told.notes += [created] if created else []
        told.notes.append(
            f"{expert.expert_report} is signed; whether the risk is very small is the expert's to determine"
        )
    return 0
