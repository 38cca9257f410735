"""The command serve: scrubbing for applications, over HTTP."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from functools import partial

from deid.base.errors import ConfigError
from deid.base.network import CertificateOptions
from deid.cli import Summary, WorkOptions, command, option, tell
from deid.cli.filter import told_proof
from deid.pipeline.facts import facts_of, models_of
from deid.pipeline.options import PipelineOptions, VaultKeeping
from deid.streaming.options import DriftOptions, ManifestOptions
from deid.web.options import AskingOptions, JobOptions, LimitOptions


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
    work_on: JobOptions,
    comparing: DriftOptions,
    proving: ManifestOptions,
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
    from deid.web.job_worker import JobRecipe
    from deid.web.jobs import Jobs
    from deid.web.listening import listen as listening
    from deid.web.listening import run
    from deid.web.service import ROLES, Plan, service
    from deid.web.sessions import Sessions
    from deid.web.tokens import TokenFile, said_token
    from deid.web.worker import WorkerRecipe

    if asking.new_token is not None and asking.tokens is not None:
        sys.stdout.write(said_token(asking.tokens, asking.new_token, ROLES) + "\n")
        return 0
    if keeping.vault is not None and asking.tokens is None:
        raise ConfigError(
            "--vault without --tokens", "its audit trail must tell who asked: give each application a token"
        )
    if work_on.job_store is not None and asking.tokens is None:
        raise ConfigError(
            "jobs without --tokens", "who may have whole folders and tables scrubbed must have a token for it"
        )
    where = Address.read(listen)
    access = TokenFile(asking.tokens, ROLES) if asking.tokens else None
    certificate = encryption.certificate
    key = told.key(work.key_file)
    place = listening(where.host, where.port, tokens=access is not None, certificate=certificate)
    recipe = PipelineRecipe(key, said)
    pipeline = recipe.pipeline()  # no model is loaded here: facts alone
    facts = facts_of(pipeline)
    with ExitStack() as stack:
        vault = stack.enter_context(keeping.opened(key))
        sessions = stack.enter_context(closing(Sessions(key, pipeline.language, vault)))
        made = WorkerRecipe(recipe, limits.timeout, comparing.drift is not None)
        pool = stack.enter_context(Pool(made, work.processes, silent=True))
        totals, jobs = Totals(), None
        proof = proving.proof(told.begin, key, lambda: pipeline, totals, tell)
        if proof is not None:
            proof.open()
        stack.enter_context(comparing.watching(totals, tell))
        if work_on.job_store is not None:
            store, places = work_on.job_store, work_on.places()
            work_of_jobs = JobRecipe(recipe, store, places, facts, told.asked(), partial(keeping.opened, key))
            hand = stack.enter_context(Pool(work_of_jobs, 1, silent=True))
            jobs = stack.enter_context(closing(Jobs(hand, store, places)))
        pool.wait_ready()
        sys.stderr.write("".join(f"{note}\n" for note in pool.notes) + f"listening on {place.origin}\n")
        sys.stderr.flush()
        plan = Plan(
            place.hosts, access, limits.queue, limits.max_body, certificate is not None, models_of(pipeline.recognizer)
        )
        run(service(pool, plan, totals, sessions, jobs, proof), place)
        if proof is not None:
            proof.finish(None, None, complete=True)
        notes, told.extra = totals.marked()
        told.notes += notes
        told_proof(told, proof)
    return 0
