"""The command forget: one person is taken out of vault, views and projects, and what is left elsewhere is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from deid.base.audit import login
from deid.base.errors import ConfigError
from deid.base.keys import load_key
from deid.base.options import argument, option, store_of
from deid.cli.common import EXIT_FAILED, Summary
from deid.cli.option_groups import KeyOptions, command


@command
def forget(
    told: Summary,
    *,
    person: str = argument(
        "The patient's id, as it was when scrubbing; - reads it from standard input.", metavar="PERSON"
    ),
    vault: tuple[str, ...] = option(
        (), "Vault to remove the person from (repeatable).", "--in-vault", metavar="VAULT", read=store_of
    ),
    view: tuple[Path, ...] = option(
        (), "Table of deid extract to remove rows from (repeatable).", "--in-view", metavar="VIEW"
    ),
    project: tuple[Path, ...] = option(
        (), "Annotation project to remove the person's notes from (repeatable).", "--in-project", metavar="PROJECT"
    ),
    column: str = option("mrn", "Column of the views that holds PERSON."),
    release: tuple[Path, ...] = option(
        (), "What deid scrub wrote: the person's documents in it are named (repeatable).", "--in-release", metavar="OUT"
    ),
    patients: Path | None = option(None, "CSV file with the columns document and patient."),
    why: str = option("", "For the audit trail of the vault.", metavar="TEXT"),
    who: str | None = option(None, "Who does it; by default your account."),
    key: KeyOptions,
    vault_key_file: Path | None = option(None, "Key of the vaults, if it is another one."),
) -> int | None:
    """Remove one person from vaults, views and annotation projects, and say which released documents must be deleted.

    Prints a JSON object a line for each document of the person in --in-release. Originals, tables, backups and copies
    are yours to delete; the manifest of a release from which files were taken says so from then on. Exit status 1 when
    nothing of the person is found.

    Example: deid forget 4711 --in-vault vault.db --in-release scrubbed --patients patients.csv --why "request 7"
    """

    from deid.base.store import refuse_password
    from deid.joint.forgetting import check_key, documents_of, forget_in_project, forget_in_view, scopes_of
    from deid.pipeline.patients import read_patients
    from deid.replacement.vault import Vault

    person = sys.stdin.read().strip() if person == "-" else person
    if not person:
        raise ConfigError("the person is missing", "give the patient's id")
    if not (vault or view or project or release):
        raise ConfigError("nothing to forget the person in", "name --in-vault, --in-view, --in-project or --in-release")
    vault = tuple(map(refuse_password, vault))
    documents = read_patients(patients) if patients else {}
    own = load_key(key.key_file, create=False)[0] if release else None
    if own is not None:
        for out in release:  # before anything is removed
            check_key(out, own)
    told.extra = {"vault_entries": 0, "view_rows": 0, "annotated_notes": 0, "documents": 0}
    if vault:
        vault_key = load_key(vault_key_file or key.key_file, create=False)[0]
        for place in vault:
            with Vault.open(place, vault_key) as opened:
                gone, compacted = opened.forget(scopes_of(person, documents), who=who or login(), why=why)
            told.extra["vault_entries"] += gone
            if not compacted:
                told.notes.append("the database could not remove old rows from its files: vacuum it as its owner")
    for path in view:
        told.extra["view_rows"] += forget_in_view(path, person, column)
    for path in project:
        told.extra["annotated_notes"] += forget_in_project(path, person, documents)
    if own is not None:
        for out in release:
            for identifier in documents_of(person, out, own, documents):
                told.extra["documents"] += 1
                typer.echo(json.dumps({"release": str(out), "document": identifier}, ensure_ascii=False))
    counts = told.extra
    told.notes.append(
        f"{counts['vault_entries']} entries of vaults, {counts['view_rows']} rows of views and "
        f"{counts['annotated_notes']} annotated notes were removed; "
        f"{counts['documents']} released documents are to be deleted"
    )
    if vault and not documents:
        told.notes.append("without --patients only what was scrubbed under the patient's id is found")
    if not any(counts.values()):
        told.notes.append("nothing of this person was found: check the id, the key, --column and --patients")
    told.notes.append("yours to delete: original notes, tables of patients, backups and copies of all of these")
    return 0 if any(counts.values()) else EXIT_FAILED
