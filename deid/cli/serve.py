"""The command serve: scrubbing for applications, over HTTP."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.errors import ConfigError
from deid.base.keys import load_key
from deid.base.options import option, size_of
from deid.cli.common import Summary
from deid.cli.listening_options import CertificateOptions
from deid.cli.option_groups import VaultKeeping, WorkOptions, command
from deid.cli.run_manifest import models_of
from deid.pipeline.options import PipelineOptions

_WHO = "Who may ask"
_LIMITS = "Limits"


@dataclass(frozen=True)
class AskingOptions:
    """Who may ask."""

    PANEL: ClassVar[str] = _WHO
    tokens: Path | None = option(None, "Bearer tokens (mode 0600): NAME ROLE[,ROLE] sha256:HEX.")
    new_token: str | None = option(
        None, "Add a token to --tokens, print it, and end; roles: scrub, tag, re-identify, all.", metavar="NAME=ROLES"
    )

    def __post_init__(self) -> None:
        """Refuse what is half said."""
        if self.new_token is not None and self.tokens is None:
            raise ConfigError("--new-token without --tokens", "name the file of tokens")


@dataclass(frozen=True)
class LimitOptions:
    """What a request may cost."""

    PANEL: ClassVar[str] = _LIMITS
    queue: int = option(64, "Requests that may wait; others get 503.", minimum=0)
    max_body: int = option(4 << 20, "Largest body: bytes, or with K, M, G (4M).", metavar="SIZE", read=size_of)
    timeout: float = option(30.0, "Give up on requests that take longer than S seconds.", metavar="S")

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        if self.timeout <= 0:
            raise ConfigError("--timeout must be above 0", "it is in seconds")


@command
def serve(
    told: Summary,
    *,
    listen: str = option("127.0.0.1:8765", "Where to listen; port 0 for any free one.", metavar="HOST:PORT"),
    said: PipelineOptions,
    work: WorkOptions,
    asking: AskingOptions,
    encryption: CertificateOptions,
    limits: LimitOptions,
    keeping: VaultKeeping,
) -> int:
    """Replace the PHI in notes and records that come over HTTP.

    It listens on this machine alone unless told otherwise; elsewhere with tokens and TLS only. It runs until SIGTERM or
    Ctrl-C; requests that have begun are answered first.

    Example: deid serve --listen 127.0.0.1:8765 --policy safe-harbor --jobs 2
    """
    from deid.base.network import Address
    from deid.base.pool import Pool
    from deid.streaming.totals import Totals
    from deid.streaming.work import PipelineRecipe
    from deid.web.listening import listen as listening
    from deid.web.listening import run
    from deid.web.service import ROLES, Plan, service
    from deid.web.sessions import Sessions
    from deid.web.tokens import TokenFile, new_token
    from deid.web.worker import WorkerRecipe

    if asking.new_token is not None and asking.tokens is not None:
        name, _, roles = asking.new_token.partition("=")
        if not roles or not frozenset(roles.split(",")) <= ROLES | {"all"}:
            raise ConfigError("a token needs a name and roles", f"such as lab=scrub,tag; {', '.join(sorted(ROLES))}")
        sys.stdout.write(new_token(asking.tokens, name, frozenset(roles.split(","))) + "\n")
        return 0
    if keeping.vault is not None and asking.tokens is None:
        raise ConfigError(
            "--vault without --tokens", "its audit trail must tell who asked: give each application a token"
        )
    where = Address.read(listen)
    access = TokenFile(asking.tokens, ROLES) if asking.tokens else None
    certificate = encryption.certificate
    key, created = load_key(work.key_file)
    if created:
        told.notes.append(created)
    place = listening(where.host, where.port, tokens=access is not None, certificate=certificate)
    recipe = PipelineRecipe(key, said)
    pipeline = recipe.pipeline()  # no model is loaded here: facts alone
    with (
        keeping.opened(key) as vault,
        closing(Sessions(key, pipeline.language, vault)) as sessions,
        Pool(WorkerRecipe(recipe, limits.timeout), work.processes, silent=True) as pool,
    ):
        pool.wait_ready()
        sys.stderr.write("".join(f"{note}\n" for note in pool.notes) + f"listening on {place.origin}\n")
        sys.stderr.flush()
        plan = Plan(
            place.hosts, access, limits.queue, limits.max_body, certificate is not None, models_of(pipeline.recognizer)
        )
        run(service(pool, plan, Totals(), sessions), place)
    return 0
