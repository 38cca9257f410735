"""What a user says of where a person stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deid.base.errors import ConfigError
from deid.base.options import option, store_of


@dataclass(frozen=True)
class PersonPlaces:
    """Where one person is to be forgotten.

    Raises
    ------
    ConfigError
        When there is no place.
    """

    vault: tuple[str, ...] = option(
        (), "Vault to remove the person from (repeatable).", "--in-vault", metavar="VAULT", read=store_of
    )
    view: tuple[Path, ...] = option(
        (), "Table of deid extract to remove rows from (repeatable).", "--in-view", metavar="VIEW"
    )
    project: tuple[Path, ...] = option(
        (), "Annotation project to remove the person's notes from (repeatable).", "--in-project", metavar="PROJECT"
    )
    column: str = option("mrn", "Column of the views that holds PERSON.")
    release: tuple[Path, ...] = option(
        (), "What deid scrub wrote: the person's documents in it are named (repeatable).", "--in-release", metavar="OUT"
    )
    patients: Path | None = option(None, "CSV file with the columns document and patient.")
    why: str = option("", "For the audit trail of the vault.", metavar="TEXT")
    who: str | None = option(None, "Who does it; by default your account.")

    def __post_init__(self) -> None:
        if not (self.vault or self.view or self.project or self.release):
            raise ConfigError(
                "nothing to forget the person in", "name --in-vault, --in-view, --in-project or --in-release"
            )
