"""The report for an expert determination that ``deid risk`` writes and checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deid.cli.common import EXIT_FAILED, Summary

if TYPE_CHECKING:
    from deid.disclosure.risk import PopulationRisk, SampleRisk
    from deid.table.microdata import Microdata

__all__ = ["check_signed", "write_report"]


def _digests(place: str, population: str | None) -> dict[str, str]:
    """Return the checksums that tie a report to its files; a database has none."""
    import hashlib

    files = {"table": place} | ({"population": population} if population is not None else {})
    return {
        name: hashlib.sha256(Path(file).read_bytes()).hexdigest()
        for name, file in files.items()
        if Path(file).is_file()
    }


def write_report(
    target: Path,
    release: Microdata,
    sample: SampleRisk,
    whole: PopulationRisk | None,
    place: str,
    population: str | None,
    threshold: float,
    assume: list[str] | None,
    policy: str | None,
    suppressed: str,
    key_file: Path | None,
) -> list[str]:
    """Write the signed report of a release whose risk is known; return what the user must see."""
    import json

    from deid import __version__
    from deid.base.files import write_bytes
    from deid.base.keys import load_key
    from deid.disclosure.assessment import Requirements, assess
    from deid.disclosure.expert_report import expert_report, sign_report
    from deid.replacement.policy import load_policy

    content = expert_report(
        release,
        assess(release, Requirements(), suppressed=suppressed),
        sample,
        whole,
        threshold=threshold,
        digests=_digests(place, population),
        stated=assume or (),
        policy=load_policy(policy).summary() if policy is not None else None,
        suppressed=suppressed,
        version=__version__,
    )
    key, created = load_key(key_file)
    text = json.dumps(sign_report(content, key), indent=1, ensure_ascii=False) + "\n"
    write_bytes(target, text.encode(), private=False)
    return [
        *([created] if created else []),
        f"{target} is signed; whether the risk is very small is the expert's to determine",
    ]


def check_signed(
    place: str, population: str | None, report: Path, key_file: Path | None, summary_json: Path | None
) -> None:
    """Check a report: its signature, and that it is about these files; exit with status 1 when something is wrong."""
    from deid.base.errors import FormatError, InputError
    from deid.base.keys import load_key
    from deid.disclosure.expert_report import check_report

    digests = _digests(place, population)
    if "table" not in digests:
        raise InputError("there is no such file", "name the table that the report is about", place)
    try:
        wrong = check_report(report.read_text(encoding="utf-8"), load_key(key_file, create=False)[0], digests)
    except (OSError, UnicodeDecodeError):
        raise InputError("cannot be read", "check the path and its permissions", str(report)) from None
    except FormatError as error:
        raise error.at(str(report)) from None
    summary = Summary("risk")
    summary.notes = wrong or ["the signature holds, and the report is of this table"]
    summary.extra = {"holds": not wrong, "wrong": wrong}
    summary.finish(summary_json)
    if wrong:
        raise typer.Exit(EXIT_FAILED)
