"""One printable page that joins all manifests of an output, for those who decide about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deid.base.reports import Section, write_html
from deid.manifest.checking import Check
from deid.manifest.content import Manifest
from deid.manifest.run import ManifestRun

_SHOWN = 60
"""Rows of a table that are shown; the manifest has all."""


def write_manifest_page(path: Path, check: Check) -> None:
    """Write what was done, what came of it, and whether it holds, as a self-contained page.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    sections = [section for manifest in check.manifests for section in _sections(manifest)]
    write_html(
        path,
        "manifest.html",
        title="What was done, and how it is proved",
        sections=sections,
        faults=check.faults,
        files=check.files,
        count=len(check.manifests),
        keys=check.signed_with,
        head=check.head,
        goes_on=check.goes_on,
    )


def made_section(run: ManifestRun) -> Section:
    """Return how something is being made, for its report: what the run's manifest will say, and nothing else.

    A command line as it was typed holds names of files, and they can be names of patients.
    """
    rows = [("command", f"deid {run.command}"), ("version of deid", run.version)]
    rows += [(f"--{name.replace('_', '-')}", _shown(value)) for name, value in run.options.items()]
    return Section("How it was made", ("", ""), rows, "Texts of the user are pseudonyms, as in the manifest.")


def _sections(manifest: Manifest) -> list[Section]:
    run = manifest.run
    title = f"{manifest.number}. deid {run.get('command', '')}"
    model, policy = run.get("model") or {}, run.get("policy") or {}
    rows = [
        ("began, ended (UTC)", f"{manifest.made.get('began', '')}, {manifest.made.get('ended', '')}"),
        ("version of deid", str(run.get("version", ""))),
        ("files read, written", f"{_count(run.get('inputs'))}, {_count(run.get('outputs'))}"),
        ("documents, failed", f"{run.get('documents', '')}, {run.get('failed', '')}"),
        *([("model", f"{model.get('name', '')} {model.get('fingerprint', '')}")] if model else []),
        *([("policy", str(policy.get("name", "")))] if policy else []),
        ("key of the site", str(run.get("key", ""))),
        ("options", _shown(run.get("options") or {})),
    ]
    if policy:
        rows.append(
            ("kept readable on purpose", ", ".join(policy.get("left_readable", ())) or "no identifier of HIPAA")
        )
        rows += [("the output needs", need) for need in policy.get("needs", ())]
        rows.append(("not in text", str(policy.get("not_in_text", ""))))
    found = [Section(title, ("", ""), rows)]
    if said := list((run.get("results") or {}).get("sentences", ())):
        found.append(Section("What may be said", ("",), [(text,) for text in said]))
    if notes := run.get("notes"):
        found.append(Section("Notes", ("",), [(str(note),) for note in notes]))
    operators = policy.get("categories") or {}
    if categories := run.get("categories") or {}:
        own = [(c, str(operators.get(c, "")), f"{n:,}") for c, n in sorted(categories.items())]
        found.append(Section("Found, by category", ("category", "what becomes of it", "spans"), own))
    if rest := {c: rule for c, rule in operators.items() if c not in categories}:
        found.append(Section("Categories of which none was found", ("category", "policy"), sorted(rest.items())))
    if columns := run.get("columns"):
        found.append(Section("Columns", ("column", "what became of it"), [(c, str(f)) for c, f in columns.items()]))
    if results := run.get("results"):
        figures = [(n.replace("_", " "), _shown(v)) for n, v in results.items() if n != "sentences"]
        found.append(Section("Results", ("", ""), figures))
    if failures := run.get("failures"):
        lines = [(f["file"], f["error"], f["what"]) for f in failures[:_SHOWN]]
        note = f"{len(failures)} in all; the manifest has them." if len(failures) > _SHOWN else ""
        found.append(Section("Failures", ("file (pseudonym)", "error", "what"), lines, note))
    return found


def _count(files: Any) -> str:
    return str(len(files)) if isinstance(files, Mapping) else str(files or 0)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, list):
        parts = [_shown(one) for one in value[:_SHOWN]]
        return ", ".join([*parts, "..."] if len(value) > _SHOWN else parts)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
