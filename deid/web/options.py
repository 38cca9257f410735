"""What a user says of a service: who may ask, what a request may cost, and what jobs may read and write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import ConfigError, require
from deid.base.network import CertificateOptions
from deid.base.options import option, size_of, store_of
from deid.pipeline.options import VaultKeeping
from deid.streaming.options import DriftOptions, ManifestOptions

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
        require(self.timeout > 0, "--timeout must be above 0", "it is in seconds")


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


@dataclass(frozen=True)
class ServiceOptions(
    AskingOptions, CertificateOptions, LimitOptions, VaultKeeping, JobOptions, DriftOptions, ManifestOptions
):
    """Where a service listens, and all else that an operator says of it but what finds and replaces.

    Raises
    ------
    ConfigError
        When the options contradict each other.
    """

    PANEL: ClassVar[str] = ""
    listen: str = option("127.0.0.1:8765", "Where to listen; port 0 for any free one.", metavar="HOST:PORT")

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        for part in ServiceOptions.__bases__:
            check = vars(part).get("__post_init__")
            if check is not None:
                check(self)
        if self.vault is not None and self.tokens is None:
            raise ConfigError(
                "--vault without --tokens", "its audit trail must tell who asked: give each application a token"
            )
        if self.job_store is not None and self.tokens is None:
            raise ConfigError(
                "jobs without --tokens", "who may have whole folders and tables scrubbed must have a token for it"
            )


@dataclass(frozen=True)
class PageOptions:
    """Whose project the annotation page shows, and how it is opened."""

    project: Path | None = option(None, "File of the project; by default beside IN, with the suffix .annotations.")
    annotator: str | None = option(None, "Whose marks they are; by default your login name.", metavar="NAME")
    label: tuple[str, ...] = option(
        ("i2b2-2014",),
        "A label of a new project, or a label set (repeatable); =KEY says which key gives it. Notes with annotations "
        "bring their own.",
        metavar="NAME[=KEY]",
    )
    suggest: bool = option(False, "Suggest at once what the model to start from finds.")
    port: int = option(0, "Port on this machine; 0 for one that is free.")
    browser: bool = option(True, "Open the browser; else the link is printed.")
