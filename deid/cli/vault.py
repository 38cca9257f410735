"""The commands vault init, reidentify, rotate and audit."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deid.base.audit import login
from deid.base.errors import ConfigError
from deid.base.keys import load_key
from deid.base.options import argument, option, store_of
from deid.cli.common import EXIT_FAILED, Summary
from deid.cli.option_groups import KeyOptions, command

if TYPE_CHECKING:
    from deid.replacement.vault import Vault

VARIABLE = "DEID_VAULT"
_PLACE = argument(
    f"File, or URL postgresql://user@host/database; else the variable {VARIABLE}.",
    metavar="VAULT",
    read=store_of,
    variable=VARIABLE,
)
_WHY = "For what purpose; kept in the audit trail."


@dataclass(frozen=True)
class VaultOptions(KeyOptions):
    """Who opens a vault, and with which key."""

    who: str | None = option(None, "Who does it; by default your account.")

    @property
    def account(self) -> str:
        """Who stands in the audit trail."""
        return self.who or login()

    def open(self, context: typer.Context, place: str) -> Vault:
        """Open a vault."""
        from deid.replacement.vault import Vault

        return Vault.open(checked(context, place), load_key(self.key_file, create=False)[0])


def checked(context: typer.Context, place: str) -> str:
    """Return the vault's place; a password in it must come from the environment, not from the command line."""
    from deid.base.store import refuse_password

    source = context.get_parameter_source("place")
    return place if source is not None and source.name == "ENVIRONMENT" else refuse_password(place, VARIABLE)


@command
def init(
    told: Summary,
    *,
    place: str = _PLACE,
    why: str = option("a new vault", _WHY, metavar="TEXT"),
    said: VaultOptions,
) -> None:
    """Create a vault: an encrypted store of what was replaced by what.

    A missing key file is created. Without the key nothing in the vault can ever be read.

    Example: deid vault init vault.db --key-file vault.key
    """
    from deid.replacement.vault import Vault

    place = checked(told.context, place)
    key, created = load_key(said.key_file)
    Vault.create(place, key, who=said.account, why=why).close()
    told.notes = [created] if created else []
    told.notes.append("the vault is ready; keep its key apart from it, and a copy of both")


@command
def reidentify(
    told: Summary,
    *,
    place: str = _PLACE,
    surrogates: tuple[str, ...] = argument("What to look up.", metavar="[SURROGATE]...", default=()),
    why: str = option("", _WHY, metavar="TEXT"),
    lines: Path | None = option(
        None, "Look up the lines of F (- is standard input): surrogate, or surrogate TAB scope.", dash=True
    ),
    scope: str | None = option(None, "Only for this patient or document, as in patient:4711.", metavar="ID"),
    category: str | None = option(None, "Only this category, such as PATIENT.", metavar="C"),
    said: VaultOptions,
) -> int | None:
    """Tell what surrogates stand for. Every look-up leaves a line in the audit trail: who, when and why.

    Prints one JSON object a line with surrogate, original, category and scope: this is PHI. The exit status is 1 when
    something was not found.

    Example: deid vault reidentify vault.db "Jane Ahmad" --why "recall of device 7, ethics vote 12/26"
    """
    wanted = [(surrogate, scope) for surrogate in surrogates]
    if lines is not None:
        try:
            text = sys.stdin.read() if str(lines) == "-" else lines.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise ConfigError("the file of --lines cannot be read", "give a text file in UTF-8") from None
        parts = [line.partition("\t") for line in text.splitlines() if line.strip()]
        wanted += [(surrogate, own or scope) for surrogate, _, own in parts]
    if not wanted:
        raise ConfigError("nothing to look up", "give surrogates, or a file with --lines")
    missing = 0
    with said.open(told.context, place) as vault:
        for surrogate, within in wanted:
            found = vault.lookup(surrogate, who=said.account, why=why, scope_id=within, category=category)
            missing += not found
            for entry in found:
                told.categories[entry.category] += 1
                names = ("surrogate", "original", "category")
                values = {**{name: getattr(entry, name) for name in names}, "scope": entry.scope_id}
                typer.echo(json.dumps(values, ensure_ascii=False))
    told.extra = {"asked": len(wanted), "not_found": missing}
    if missing:
        told.notes.append(f"{missing} of {len(wanted)} were not found")
    return EXIT_FAILED if missing else 0


@command
def rotate(
    told: Summary,
    *,
    place: str = _PLACE,
    new_key_file: Path = option(..., "The new key in hex; a missing file is created."),
    why: str = option("a new key", _WHY, metavar="TEXT"),
    said: VaultOptions,
) -> None:
    """Encrypt the whole vault under another key, in one step, after checking it.

    Keep the old key until this has finished: when it is interrupted, exactly one of the two keys fits (deid vault
    audit tells which). Old copies of the vault can still be read with the old key.

    Example: deid vault rotate vault.db --key-file old.key --new-key-file new.key
    """

    with said.open(told.context, place) as vault:
        new_key, created = load_key(new_key_file)
        compacted = vault.rotate(new_key, who=said.account, why=why)
        state = vault.verify()
    told.notes = [created] if created else []
    told.notes.append(f"{state.entries} entries have the new key; the old one is no longer valid")
    if not compacted:
        told.notes.append("the database could not remove the old rows from its files: vacuum it as its owner")
    told.extra = {"entries": state.entries, "compacted": compacted}


@command
def audit(told: Summary, *, place: str = _PLACE, said: VaultOptions) -> None:
    """Check every entry and every line, and show the audit trail.

    Prints one JSON object a line. The exit status is 2 when something was altered, removed or added. Keep the end of
    the chain elsewhere: it shows whether the whole vault was replaced by an older copy.

    Example: deid vault audit vault.db --key-file vault.key
    """
    with said.open(told.context, place) as vault:
        state = vault.verify()
        lines = vault.audit()
    for line in lines:
        typer.echo(json.dumps(asdict(line), ensure_ascii=False))
    told.notes = [
        f"{state.entries} entries and {state.audit_lines} lines are intact",
        f"end of the chain: {state.audit_end.hex()}",
    ]
    told.extra = {
        "entries": state.entries,
        "audit_lines": state.audit_lines,
        "audit_end": state.audit_end.hex(),
        "intact": True,
    }
