"""What a user says of scrubbing, as one value."""

from __future__ import annotations

import datetime
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import ConfigError, require
from deid.base.keys import Key, load_key
from deid.base.options import option, store_of
from deid.detection.options import PeopleOptions, RecognizerOptions

if TYPE_CHECKING:
    from deid.replacement.vault import Vault

METHODS = ("policy", "concept-match")
"""How a note can be scrubbed."""
_NOTES, _REPLACING = "Annotations and dates", "Replacing"


def read_day(text: str) -> datetime.date:
    """Read a reference day.

    Raises
    ------
    ConfigError
        When it is no date.
    """
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ConfigError("--as-of is no date", "write it as YYYY-MM-DD") from None


@dataclass(frozen=True)
class NoteOptions(RecognizerOptions):
    """What finds the spans in notes that may carry some already, and have a date.

    Raises
    ------
    ConfigError
        When the options contradict each other.
    """

    PANEL: ClassVar[str] = _NOTES
    gold: bool = option(False, "Take the annotations that IN carries, instead of detecting.")
    date_field: str | None = option(
        None, "Column or field with the document's date (YYYY-MM-DD).", "--date-field", "--date", repr=False
    )
    as_of: datetime.date | None = option(
        None, "Reference day of documents without a date of their own.", metavar="DATE", read=read_day
    )

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        wished = self.wished()
        if self.gold and wished:
            raise ConfigError("--gold takes just the annotations", f"leave out --{wished[0].replace('_', '-')}")

    def wished(self) -> list[str]:
        """Return the options that say how to detect."""
        people = {field.name for field in fields(PeopleOptions)} | {"language"}
        said = {
            field.name: getattr(self, field.name) for field in fields(RecognizerOptions) if field.name not in people
        }
        return [name for name, value in said.items() if value or (name == "rules" and value is not None)]


@dataclass(frozen=True)
class PipelineOptions(NoteOptions):
    """What finds the spans and what becomes of them: all that decides what a scrubbed note is, but for the key.

    Raises
    ------
    ConfigError
        When the options contradict each other.

    Examples
    --------
    >>> PipelineOptions(policy="redact", model="none").policy
    'redact'
    """

    policy: str | None = option(None, "Shipped policy or TOML file (deid policy show).", metavar="NAME|F")
    keep: frozenset[str] = option(frozenset(), "Keep filename, id, or a field as it is (repeatable).")
    accept: tuple[str, ...] = option(
        (), "Accept that this stays readable or undetected (repeatable).", metavar="CATEGORY", panel=_REPLACING
    )
    method: str = option("policy", "policy, or concept-match: keep medical terms only.", panel=_REPLACING)

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        require(self.method in METHODS, "there is no such method of scrubbing", f"methods: {', '.join(METHODS)}")
        if self.method != "policy" and (self.wished() or self.known or self.policy or self.accept or self.gold):
            raise ConfigError(
                f"the method {self.method} uses no annotations, policy, model or lists", "leave out their options"
            )


@dataclass(frozen=True)
class VaultKeeping:
    """The vault that keeps what was replaced."""

    PANEL: ClassVar[str] = "Beside OUT"
    vault: str | None = option(
        None, "Keep the originals, encrypted, in a vault (deid vault init).", metavar="VAULT", read=store_of
    )
    vault_key_file: Path | None = option(None, "Key of the vault, if another one.")

    def __post_init__(self) -> None:
        """Refuse a key without what it opens."""
        require(
            self.vault is not None or self.vault_key_file is None, "--vault-key-file without --vault", "name the vault"
        )

    def opened(self, key: Key) -> AbstractContextManager[Vault | None]:
        """Open the vault, if one is asked for."""
        if self.vault is None:
            return nullcontext()
        from deid.replacement.vault import Vault

        own = self.vault_key_file
        return Vault.open(self.vault, load_key(own, create=False)[0] if own else key)
