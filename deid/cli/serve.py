"""The command serve: scrubbing for applications, over HTTP."""

from __future__ import annotations

import sys

from deid.cli import Summary, WorkOptions, command, tell
from deid.cli.filter import told_proof
from deid.pipeline.options import PipelineOptions
from deid.web.options import ServiceOptions


@command
def serve(told: Summary, *, said: PipelineOptions, work: WorkOptions, asked: ServiceOptions) -> int:
    """Replace the PHI in notes and records that come over HTTP.

    It listens on this machine alone unless told otherwise; elsewhere with tokens and TLS only. It runs until SIGTERM or
    Ctrl-C; requests that have begun are answered first.

    Example: deid serve --listen 127.0.0.1:8765 --policy safe-harbor --jobs 2
    """
    from deid.web.service import ROLES
    from deid.web.serving import serve
    from deid.web.tokens import said_token

    if asked.new_token is not None and asked.tokens is not None:
        sys.stdout.write(said_token(asked.tokens, asked.new_token, ROLES) + "\n")
        return 0
    totals, proof = serve(asked, said, told.key(work.key_file), work.processes, told.begin, told.asked, tell)
    notes, told.extra = totals.marked()
    told.notes += notes
    told_proof(told, proof)
    return 0
