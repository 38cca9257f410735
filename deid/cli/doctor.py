"""The command doctor: is the installation complete, and what is to be done if not."""

from __future__ import annotations

from dataclasses import asdict

import typer

from deid.cli import EXIT_FAILED, KeyOptions, Summary, command, option


@command
def doctor(
    told: Summary,
    *,
    key: KeyOptions,
    language: str | None = option(None, "Language of notes: check what there is of it instead.", metavar="L"),
) -> int | None:
    """Check installation, packages, word lists, policies, rules, models and key, and say what to do.

    Exit status 1 when something essential is broken.

    Example: deid doctor --language de
    """
    from deid.pipeline.checkup import checkup
    from deid.pipeline.language_checkup import language_checkup

    findings = []
    for finding in checkup(key.key_file) if language is None else language_checkup(language):
        findings.append(finding)
        typer.echo(f"{finding.state:<8}{finding.subject:<14}{finding.what}")
        if finding.remedy and finding.state != "ok":
            typer.echo(f"{'':<22}-> {finding.remedy}")
    broken = sum(finding.state == "broken" for finding in findings)
    told.notes = [f"{broken} essential parts are broken" if broken else "everything essential is in order"]
    told.extra = {"findings": [asdict(finding) for finding in findings]}
    return EXIT_FAILED if broken else 0
