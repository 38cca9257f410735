"""What a user says of a service: who may ask, what a request may cost, and what jobs may read and write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import ConfigError
from deid.base.options import option, size_of, store_of

if TYPE_CHECKING:
    from deid.web.job_store import JobPlaces


@dataclass(frozen=True)
class AskingOptions:
    """Who may ask."""

    PANEL: ClassVar[str] = "Who may ask"
    tokens: Path | None = option(None, "Bearer tokens (mode 0600): NAME ROLE[,ROLE] sha256:HEX.")
    new_token: str | None = option(
        None,
        "Add a token to --tokens, print it, and end; roles: scrub, tag, re-identify, jobs, all.",
        metavar="NAME=ROLES",
    )

    def __post_init__(self) -> None:
        """Refuse what is half said."""
        if self.new_token is not None and self.tokens is None:
            raise ConfigError("--new-token without --tokens", "name the file of tokens")


@dataclass(frozen=True)
class LimitOptions:
    """What a request may cost."""

    PANEL: ClassVar[str] = "Limits"
    queue: int = option(64, "Requests that may wait; others get 503.", minimum=0)
    max_body: int = option(4 << 20, "Largest body: bytes, or with K, M, G (4M).", metavar="SIZE", read=size_of)
    timeout: float = option(30.0, "Give up on requests that take longer than S seconds.", metavar="S")

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        if self.timeout <= 0:
            raise ConfigError("--timeout must be above 0", "it is in seconds")


@dataclass(frozen=True)
class JobOptions:
    """Asynchronous jobs."""

    PANEL: ClassVar[str] = "Jobs"
    job_folder: tuple[Path, ...] = option((), "Let jobs read and write below this folder (repeatable).")
    job_source: tuple[str, ...] = option(
        (), "Let jobs read tables of a database, as NAME:TABLE (repeatable).", metavar="NAME=URL"
    )
    job_target: tuple[str, ...] = option(
        (), "Let jobs make tables in a database, as NAME:TABLE (repeatable).", metavar="NAME=URL"
    )
    job_store: str | None = option(
        None, "Where jobs are kept: a file, made if missing, or postgresql://...", metavar="STORE", read=store_of
    )

    def __post_init__(self) -> None:
        """Refuse what is half said."""
        if bool(self.job_source) != bool(self.job_target):
            raise ConfigError("jobs on tables need both sides", "give --job-source and --job-target")
        if bool(self.job_folder or self.job_source) != (self.job_store is not None):
            raise ConfigError("jobs need places and a store", "give --job-folder or --job-source, and --job-store")
        if self.job_store is not None:
            self.places()

    def places(self) -> JobPlaces:
        """Return where jobs may read and write."""
        from deid.web.job_store import JobPlaces

        return JobPlaces.said(self.job_folder, self.job_source, self.job_target)
