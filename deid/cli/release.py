"""The command release: tables and notes of the same patients, released together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deid.cli import Summary, WorkOptions, argument, command, print_rows, progress, said_over
from deid.pipeline.facts import inputs_of, policy_facts
from deid.pipeline.options import PipelineOptions


@command
def release(
    told: Summary,
    *,
    plan: Path = argument("TOML file: tables, notes, and what must hold.", metavar="PLAN"),
    target: Path = argument("New folder.", metavar="OUT"),
    options: PipelineOptions,
    work: WorkOptions,
) -> None:
    """Release several tables and the notes of the same patients together.

    A patient has one pseudonym, one set of surrogates and one shift of dates everywhere. Quasi-identifiers of all
    tables are anonymized on their join, and checked there. Options go before what PLAN says. OUT is written
    whole or not at all.

    Example: deid release plan.toml released/ --key-file key
    """
    from deid import __version__
    from deid.io import scan
    from deid.joint.plan import read_plan
    from deid.joint.release import release_jointly
    from deid.replacement.policy import DEFAULT_POLICY, load_policy

    read = read_plan(plan)
    read = replace(read, options=said_over(read.options, options))
    key, notes = told.key(work.key_file), read.notes
    inputs = [("plan", plan), *((f"table {name}", table.path) for name, table in read.tables.items())]
    inputs += inputs_of(scan(notes.path, notes.format)) if notes is not None else []
    told.begin(target, key, inputs=inputs)
    report = release_jointly(
        read, target, key, version=__version__, jobs=work.processes, watch=lambda items: progress(items, "scrubbing")
    )
    print_rows(("release", "value"), report.lines())
    told.failures, told.notes = report.failures, report.sentences()
    if report.notes is not None:
        told.documents, told.categories = report.notes.documents, report.notes.categories
    told.extra = {
        "persons": report.persons,
        "rows": report.rows,
        "left_out": report.left_out,
        "joined": [finding.as_dict() for finding in report.findings],
        "residual": report.residual,
    }
    policy = load_policy(read.options.policy or DEFAULT_POLICY, read.options.accept)
    told.sign(
        target,
        root=notes.path if notes is not None else None,
        policy=policy_facts(policy),
        notes=[note for note in told.notes if note not in policy.notes()],
        columns={f"{name}.{c}": fate for name, own in report.columns.items() for c, fate in own.items()},
        results=report.as_dict(read),
    )
