"""Options that several commands share: how IN is read, which model, which key, what the summary says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary

if TYPE_CHECKING:
    from deid.detection.site_lists import SiteLists
    from deid.io import Options
    from deid.keys import Key
    from deid.pipeline import Report

__all__ = [
    "Allow",
    "AnyLabel",
    "Deny",
    "Encoding",
    "IdField",
    "In",
    "Jobs",
    "KeyFile",
    "Language",
    "Model",
    "SpansField",
    "TextField",
    "existing_key",
    "fill_summary",
    "job_count",
    "read_options",
    "site_lists",
    "write_failed",
]

In = Annotated[Path, typer.Argument(metavar="IN", help="File or folder of any readable format.")]
Encoding = Annotated[str, typer.Option(help="Encoding of text files, such as cp1252.")]
AnyLabel = Annotated[bool, typer.Option("--any-label", help="Accept labels outside the format's label sets.")]
TextField = Annotated[str | None, typer.Option("--text-field", metavar="NAME", help="Column or field of the text.")]
IdField = Annotated[str | None, typer.Option("--id-field", metavar="NAME", help="Column or field of the id.")]
SpansField = Annotated[
    str | None, typer.Option("--spans-field", metavar="NAME", help="Column or field of the annotations.")
]
Model = Annotated[
    str | None,
    typer.Option(metavar="NAME|DIR", help="Shipped model or model folder; none for rules alone."),
]
Language = Annotated[str | None, typer.Option(help="Language of rules and surrogates; by default the model's.")]
Deny = Annotated[
    list[Path] | None,
    typer.Option("--deny", metavar="FILE", help="Terms that are always PHI: staff, clinics, streets (repeatable)."),
]
Allow = Annotated[
    list[Path] | None,
    typer.Option("--allow", metavar="FILE", help="Terms that never are PHI: local abbreviations (repeatable)."),
]
Jobs = Annotated[int, typer.Option(metavar="N", help="Processes; 0 for one a core.")]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="F", help="Key in hex; else the variable DEID_KEY, else ~/.config/deid/key."),
]


def read_options(
    encoding: str, any_label: bool, text_field: str | None, id_field: str | None, spans_field: str | None
) -> Options:
    """Return the options for `deid.io.scan`."""
    from deid.io import Options

    return Options(
        encoding=encoding, any_label=any_label, text_field=text_field, id_field=id_field, spans_field=spans_field
    )


def existing_key(path: Path | None) -> Key | None:
    """Load the key if there is one; commands that only look never make one."""
    import os

    from deid.keys import KEY_VARIABLE, default_key_path, load_key

    if path is None and not os.environ.get(KEY_VARIABLE) and not default_key_path().exists():
        return None
    return load_key(path, create=False)[0]


def job_count(jobs: int) -> int:
    """Return the number of processes for what the user said."""
    import os

    return jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def site_lists(deny: list[Path] | None, allow: list[Path] | None) -> SiteLists:
    """Read a site's lists; none when no file is named."""
    from deid.detection.site_lists import load_site_lists

    return load_site_lists(deny or (), allow or ())


def fill_summary(summary: Summary, report: Report, site: SiteLists | None = None) -> None:
    """Take over what a report counts, and say what a site's lists did."""
    summary.documents = report.documents
    summary.failures = report.failures
    summary.categories = report.categories
    if not site:
        return
    effect = report.effect
    if site.deny:
        summary.notes.append(
            f"deny list of {len(site.deny)} terms: {effect.denied} spans added, {effect.recategorized} recategorized"
        )
    if site.allow:
        summary.notes.append(
            f"allow list of {len(site.allow)} terms: {effect.allowed} spans taken out, {effect.refused} kept "
            "(structured or known identifiers, denied terms)"
        )
    if site.both:
        summary.notes.append(f"{site.both} terms stand in both lists; they count as denied")


def write_failed(summary: Summary, path: Path | None) -> None:
    """Write the real paths of the documents that failed, for a re-run; only the user may read them."""
    if path is None:
        return
    from deid.io.atomic import write_bytes

    lines = "".join(f"{failure.path}\n" for failure in summary.failures)
    write_bytes(path, lines.encode("utf-8", "surrogateescape"), replace=True)
