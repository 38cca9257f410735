"""The command doctor: is the installation complete, and what is to be done if not."""

from __future__ import annotations

import typer

from deid.cli.common import EXIT_FAILED, Summary, SummaryJson
from deid.cli.source_options import KeyFile


def _doctor(
    key_file: KeyFile = None,
    summary_json: SummaryJson = None,
) -> None:
    """Check installation, packages, word lists, policies, rules, models and key, and say what to do.

    Exit status 1 when something essential is broken.

    Example: deid doctor
    """
    from deid.cli.checkup import checkup

    findings = []
    for finding in checkup(key_file):
        findings.append(finding)
        typer.echo(f"{finding.state:<8}{finding.subject:<14}{finding.what}")
        if finding.remedy and finding.state != "ok":
            typer.echo(f"{'':<22}-> {finding.remedy}")
    broken = [finding for finding in findings if finding.state == "broken"]
    summary = Summary("doctor")
    summary.notes = [f"{len(broken)} essential parts are broken" if broken else "everything essential is in order"]
    summary.extra = {
        "findings": [{"subject": f.subject, "state": f.state, "what": f.what, "remedy": f.remedy} for f in findings]
    }
    summary.finish(summary_json)
    if broken:
        raise typer.Exit(EXIT_FAILED)
