"""The command release: tables and notes of the same patients, released together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson, progress
from deid.cli.run_manifest import begin, finish, inputs_of, policy_facts
from deid.cli.source_options import Jobs, KeyFile, job_count
from deid.cli.table_options import print_rows, shown


def _release(
    context: typer.Context,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="TOML file: tables, notes, and what must hold.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="New folder.")],
    key_file: KeyFile = None,
    jobs: Jobs = 1,
    summary_json: SummaryJson = None,
) -> None:
    """Release several tables and the notes of the same patients together.

    A patient has one pseudonym, one set of surrogates and one shift of dates everywhere. Quasi-identifiers of all
    tables are anonymized on their join, and checked there. OUT is written whole or not at all.

    Example: deid release plan.toml released/ --key-file key
    """
    from deid import __version__
    from deid.base.keys import load_key
    from deid.io import scan
    from deid.joint.plan import read_plan
    from deid.joint.release import release_jointly
    from deid.replacement.policy import load_policy

    read = read_plan(plan)
    key, created = load_key(key_file)
    run = begin(context, target, key)
    report = release_jointly(
        read,
        target,
        key,
        version=__version__,
        jobs=job_count(jobs),
        watch=lambda items: progress(items, "scrubbing"),
    )
    rows = [("patients", str(report.persons)), *((f"rows of {n}", f"{count:,}") for n, count in report.rows.items())]
    for finding in report.findings:
        if finding.asked is not None:
            name = finding.model + (f" of {finding.column}" if finding.column else "")
            rows.append((f"joined: {name}", f"{shown(finding.verdict.level)} (asked: {shown(finding.asked)})"))
    if report.release is not None:
        rows.append(("loss: NCP, classes", f"{report.release.loss.ncp:.4f}, {report.release.loss.classes:,}"))
    print_rows(("release", "value"), rows)
    summary = Summary("release", failures=report.failures)
    summary.notes = list(report.remarks)
    summary.places += [created] if created else []
    for name, columns in report.left_out.items():
        summary.notes.append(f"table {name}: left out: {', '.join(columns)}")
    if report.residual:
        summary.notes.append(f"{report.residual} replaced texts still stand elsewhere in their note or cell")
    if report.failures:
        summary.notes.append("nothing was written, because something failed")
    if report.notes is not None:
        summary.documents = report.notes.documents
        summary.categories = report.notes.categories
    summary.extra = {
        "persons": report.persons,
        "rows": report.rows,
        "left_out": report.left_out,
        "joined": [finding.as_dict() for finding in report.findings],
        "residual": report.residual,
    }
    inputs = [("plan", plan), *((f"table {name}", table.path) for name, table in read.tables.items())]
    policy = load_policy(read.policy)
    finish(
        run,
        summary,
        target,
        inputs=[*inputs, *(inputs_of(scan(read.notes.path, read.notes.format)) if read.notes is not None else ())],
        root=read.notes.path if read.notes is not None else None,
        policy=policy_facts(policy),
        notes=[note for note in summary.notes if note not in policy.notes()],
        results=report.as_dict(read),
    )
    summary.finish(summary_json)
