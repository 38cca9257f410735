"""The commands of the vault, and forget: what was replaced, for the entitled; one person taken out of it all."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deid.base.audit import login
from deid.base.errors import require
from deid.base.files import read_text
from deid.base.keys import load_key
from deid.cli import EXIT_FAILED, KeyOptions, Summary, argument, command, option, store_of
from deid.joint.options import PersonPlaces

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

    def open(self, place: str) -> Vault:
        """Open a vault."""
        from deid.replacement.vault import Vault

        return Vault.open(place, load_key(self.key_file, create=False)[0])


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

    key = told.key(said.key_file)
    Vault.create(place, key, who=said.account, why=why).close()
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
        text = sys.stdin.read() if str(lines) == "-" else read_text(lines, "the file of --lines")
        parts = [line.partition("\t") for line in text.splitlines() if line.strip()]
        wanted += [(surrogate, own or scope) for surrogate, _, own in parts]
    require(wanted, "nothing to look up", "give surrogates, or a file with --lines")
    missing = 0
    with said.open(place) as vault:
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

    with said.open(place) as vault:
        new_key = told.key(new_key_file)
        compacted = vault.rotate(new_key, who=said.account, why=why)
        state = vault.verify()
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
    with said.open(place) as vault:
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


@command
def forget(
    told: Summary,
    *,
    person: str = argument(
        "The patient's id, as it was when scrubbing; - reads it from standard input.", metavar="PERSON"
    ),
    places: PersonPlaces,
    key: KeyOptions,
    vault_key_file: Path | None = option(None, "Key of the vaults, if it is another one."),
) -> int | None:
    """Remove one person from vaults, views and annotation projects, and say which released documents must be deleted.

    Prints a JSON object a line for each document of the person in --in-release. Originals, tables, backups and copies
    are yours to delete; the manifest of a release from which files were taken says so from then on. Exit status 1 when
    nothing of the person is found.

    Example: deid forget 4711 --in-vault vault.db --in-release scrubbed --patients patients.csv --why "request 7"
    """
    from deid.joint.forgetting import forget as forget_person

    person = sys.stdin.read().strip() if person == "-" else person
    own = told.key(key.key_file, create=False) if places.release else None
    vault_key = told.key(vault_key_file or key.key_file, create=False) if places.vault else None
    found = forget_person(person, places, who=places.who or login(), key=own, vault_key=vault_key)
    for out, identifier in found.documents:
        typer.echo(json.dumps({"release": str(out), "document": identifier}, ensure_ascii=False))
    told.extra = found.as_dict()
    told.notes += found.remarks(places)
    return EXIT_FAILED if found.nothing else 0
