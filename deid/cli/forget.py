"""The command forget: one person is taken out of vault and views, and what is left elsewhere is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.source_options import KeyFile, PatientTable


def _forget(
    person: Annotated[
        str, typer.Argument(metavar="PERSON", help="The patient's id, as it was when scrubbing; - reads it from stdin.")
    ],
    vault: Annotated[
        list[str] | None, typer.Option(metavar="VAULT", help="Vault to remove the person from (repeatable).")
    ] = None,
    view: Annotated[
        list[Path] | None, typer.Option(metavar="VIEW", help="Table of deid extract to remove rows from (repeatable).")
    ] = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="Column of the views that holds PERSON.")] = "mrn",
    release: Annotated[
        list[Path] | None,
        typer.Option(metavar="OUT", help="What deid scrub wrote: the person's documents in it are named (repeatable)."),
    ] = None,
    patients: PatientTable = None,
    why: Annotated[str, typer.Option(metavar="TEXT", help="For the audit trail of the vault.")] = "",
    who: Annotated[str | None, typer.Option(metavar="NAME", help="Who does it; by default your account.")] = None,
    key_file: KeyFile = None,
    vault_key_file: Annotated[
        Path | None, typer.Option(metavar="F", help="Key of the vaults, if it is another one.")
    ] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Remove one person from vaults and views, and say which released documents must be deleted.

    Prints a JSON object a line for each document of the person in --release. Originals, tables, backups and copies are
    yours to delete; the manifest of a release from which files were taken says so from then on.

    Example: deid forget 4711 --vault vault.db --release scrubbed --patients patients.csv --why "request of 3 May"
    """
    import getpass
    import sys

    from deid.base.errors import ConfigError
    from deid.base.keys import load_key
    from deid.base.store import has_password
    from deid.joint.forgetting import documents_of, forget_in_view, scopes_of
    from deid.pipeline.patients import read_patients
    from deid.replacement.vault import Vault

    person = sys.stdin.read().strip() if person == "-" else person
    if not person:
        raise ConfigError("the person is missing", "give the patient's id")
    if not (vault or view or release):
        raise ConfigError("nothing to forget the person in", "name --vault, --view or --release")
    if any(map(has_password, vault or ())):
        raise ConfigError("the URL holds a password, which other users can read", "use PGPASSWORD or ~/.pgpass")
    documents = read_patients(patients) if patients else {}
    summary = Summary("forget")
    summary.extra = {"vault_entries": 0, "view_rows": 0, "documents": 0}
    if vault:
        vault_key = load_key(vault_key_file or key_file, create=False)[0]
        for place in vault:
            with Vault.open(place, vault_key) as opened:
                gone, compacted = opened.forget(scopes_of(person, documents), who=who or getpass.getuser(), why=why)
            summary.extra["vault_entries"] += gone
            if not compacted:
                summary.notes.append("the database could not remove old rows from its files: vacuum it as its owner")
    for path in view or ():
        summary.extra["view_rows"] += forget_in_view(path, person, column)
    if release:
        key = load_key(key_file, create=False)[0]
        for out in release:
            for identifier in documents_of(person, out, key, documents):
                summary.extra["documents"] += 1
                typer.echo(json.dumps({"release": str(out), "document": identifier}, ensure_ascii=False))
    counts = summary.extra
    summary.notes.append(
        f"{counts['vault_entries']} entries of vaults and {counts['view_rows']} rows of views were removed; "
        f"{counts['documents']} released documents are to be deleted"
    )
    if vault and not documents:
        summary.notes.append("without --patients only what was scrubbed under the patient's id is found")
    summary.notes.append("yours to delete: original notes, tables of patients, backups and copies of all of these")
    summary.finish(summary_json)
