"""The commands vault init, reidentify, rotate and audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import EXIT_FAILED, Summary, SummaryJson
from deid.cli.source_options import KeyFile

if TYPE_CHECKING:
    from deid.replacement.vault import Vault

VARIABLE = "DEID_VAULT"

Place = Annotated[
    str,
    typer.Argument(
        metavar="VAULT",
        envvar=VARIABLE,
        show_envvar=False,
        help=f"File, or URL postgresql://user@host/database; else the variable {VARIABLE}.",
    ),
]
Who = Annotated[str | None, typer.Option(metavar="NAME", help="Who does it; by default your account.")]
Why = Annotated[str, typer.Option(metavar="TEXT", help="For what purpose; kept in the audit trail.")]


def _place(context: typer.Context, place: str) -> str:
    """Return the vault's place; a password in it must come from the environment, not from the command line."""
    from deid.base.errors import ConfigError
    from deid.base.store import has_password

    source = context.get_parameter_source("place")
    if has_password(place) and (source is None or source.name != "ENVIRONMENT"):
        raise ConfigError(
            "the URL holds a password, which other users can read on the command line",
            f"leave it out and use PGPASSWORD or ~/.pgpass, or give the whole URL in the variable {VARIABLE}",
        )
    return place


def _account(who: str | None) -> str:
    import getpass

    return who or getpass.getuser()


def _open(context: typer.Context, place: str, key_file: Path | None) -> Vault:
    from deid.base.keys import load_key
    from deid.replacement.vault import Vault

    return Vault.open(_place(context, place), load_key(key_file, create=False)[0])


def _init(
    context: typer.Context,
    place: Place,
    key_file: KeyFile = None,
    who: Who = None,
    why: Why = "a new vault",
    summary_json: SummaryJson = None,
) -> None:
    """Create a vault: an encrypted store of what was replaced by what.

    A missing key file is created. Without the key nothing in the vault can ever be read.

    Example: deid vault init vault.db --key-file vault.key
    """
    from deid.base.keys import load_key
    from deid.replacement.vault import Vault

    place = _place(context, place)
    key, created = load_key(key_file)
    Vault.create(place, key, who=_account(who), why=why).close()
    summary = Summary("vault init", notes=[created] if created else [])
    summary.notes.append("the vault is ready; keep its key apart from it, and a copy of both")
    summary.finish(summary_json)


def _reidentify(
    context: typer.Context,
    place: Place,
    surrogates: Annotated[list[str] | None, typer.Argument(metavar="[SURROGATE]...", help="What to look up.")] = None,
    why: Annotated[str, typer.Option(metavar="TEXT", help="For what purpose; kept in the audit trail.")] = "",
    who: Who = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="F",
            help="Look up the lines of F (- is standard input): surrogate, or surrogate TAB scope.",
        ),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(metavar="ID", help="Only for this patient or document, as in patient:4711.")
    ] = None,
    category: Annotated[str | None, typer.Option(metavar="C", help="Only this category, such as PATIENT.")] = None,
    key_file: KeyFile = None,
    summary_json: SummaryJson = None,
) -> None:
    """Tell what surrogates stand for. Every look-up leaves a line in the audit trail: who, when and why.

    Prints one JSON object a line with surrogate, original, category and scope: this is PHI. The exit status is 1 when
    something was not found.

    Example: deid vault reidentify vault.db "Jane Ahmad" --why "recall of device 7, ethics vote 12/26"
    """
    import sys

    from deid.base.errors import ConfigError

    wanted = [(surrogate, scope) for surrogate in surrogates or ()]
    if from_file is not None:
        try:
            text = sys.stdin.read() if str(from_file) == "-" else from_file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise ConfigError("the file of --from cannot be read", "give a text file in UTF-8") from None
        lines = [line.partition("\t") for line in text.splitlines() if line.strip()]
        wanted += [(surrogate, own or scope) for surrogate, _, own in lines]
    if not wanted:
        raise ConfigError("nothing to look up", "give surrogates, or a file with --from")
    summary = Summary("vault reidentify")
    missing = 0
    with _open(context, place, key_file) as vault:
        for surrogate, within in wanted:
            found = vault.lookup(surrogate, who=_account(who), why=why, scope_id=within, category=category)
            missing += not found
            for entry in found:
                summary.categories[entry.category] += 1
                values = {
                    "surrogate": entry.surrogate,
                    "original": entry.original,
                    "category": entry.category,
                    "scope": entry.scope_id,
                }
                typer.echo(json.dumps(values, ensure_ascii=False))
    summary.extra = {"asked": len(wanted), "not_found": missing}
    if missing:
        summary.notes.append(f"{missing} of {len(wanted)} were not found")
    summary.finish(summary_json)
    if missing:
        raise typer.Exit(EXIT_FAILED)


def _rotate(
    context: typer.Context,
    place: Place,
    new_key_file: Annotated[
        Path, typer.Option("--new-key-file", metavar="F", help="The new key in hex; a missing file is created.")
    ],
    key_file: KeyFile = None,
    who: Who = None,
    why: Why = "a new key",
    summary_json: SummaryJson = None,
) -> None:
    """Encrypt the whole vault under another key, in one step, after checking it.

    Keep the old key until this has finished: when it is interrupted, exactly one of the two keys fits (deid vault
    audit tells which). Old copies of the vault can still be read with the old key.

    Example: deid vault rotate vault.db --key-file old.key --new-key-file new.key
    """
    from deid.base.keys import load_key

    with _open(context, place, key_file) as vault:
        new_key, created = load_key(new_key_file)
        compacted = vault.rotate(new_key, who=_account(who), why=why)
        state = vault.verify()
    summary = Summary("vault rotate", notes=[created] if created else [])
    summary.notes.append(f"{state.entries} entries have the new key; the old one is no longer valid")
    if not compacted:
        summary.notes.append("the database could not remove the old rows from its files: vacuum it as its owner")
    summary.extra = {"entries": state.entries, "compacted": compacted}
    summary.finish(summary_json)


def _audit(
    context: typer.Context,
    place: Place,
    key_file: KeyFile = None,
    summary_json: SummaryJson = None,
) -> None:
    """Check every entry and every line, and show the audit trail.

    Prints one JSON object a line. The exit status is 2 when something was altered, removed or added. Keep the end of
    the chain elsewhere: it shows whether the whole vault was replaced by an older copy.

    Example: deid vault audit vault.db --key-file vault.key
    """
    from dataclasses import asdict

    with _open(context, place, key_file) as vault:
        state = vault.verify()
        lines = vault.audit()
    for line in lines:
        typer.echo(json.dumps(asdict(line), ensure_ascii=False))
    summary = Summary("vault audit")
    summary.notes = [
        f"{state.entries} entries and {state.audit_lines} lines are intact",
        f"end of the chain: {state.audit_end.hex()}",
    ]
    summary.extra = {
        "entries": state.entries,
        "audit_lines": state.audit_lines,
        "audit_end": state.audit_end.hex(),
        "intact": True,
    }
    summary.finish(summary_json)
