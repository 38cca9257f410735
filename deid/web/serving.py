"""From what an operator says to a service that listens, until somebody ends it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deid.base.keys import Key
from deid.base.network import Address
from deid.base.pool import Pool
from deid.pipeline.facts import facts_of, models_of
from deid.pipeline.options import PipelineOptions
from deid.streaming.proof import Proof
from deid.streaming.totals import Totals
from deid.streaming.work import PipelineRecipe
from deid.web.job_worker import JobRecipe
from deid.web.jobs import Jobs
from deid.web.listening import listen, run
from deid.web.options import ServiceOptions
from deid.web.service import ROLES, Plan, service
from deid.web.sessions import Sessions
from deid.web.tokens import TokenFile
from deid.web.worker import WorkerRecipe

if TYPE_CHECKING:
    from deid.manifest import ManifestRun
    from deid.manifest.options import OptionRecord


def serve(
    options: ServiceOptions,
    said: PipelineOptions,
    key: Key,
    workers: int,
    begin: Callable[[Path, Key, Path], ManifestRun],
    asked: Callable[[], list[OptionRecord]],
    tell: Callable[[str], object],
) -> tuple[Totals, Proof | None]:
    """Answer requests until SIGTERM or Ctrl-C; return what was counted, and what proves it.

    Parameters
    ----------
    options : ServiceOptions
    said : PipelineOptions
        What finds and replaces.
    key : Key
    workers : int
        Processes.
    begin : callable
        Begins the run of a manifest.
    asked : callable
        Returns the options of the run, for the manifests of jobs.
    tell : callable
        Gets what the operator must see at once.

    Raises
    ------
    ConfigError
        When it cannot listen there, or model, vault or store cannot be used.
    """
    where = Address.read(options.listen)
    access = TokenFile(options.tokens, ROLES) if options.tokens else None
    certificate = options.certificate
    place = listen(where.host, where.port, tokens=access is not None, certificate=certificate)
    recipe = PipelineRecipe(key, said)
    pipeline = recipe.pipeline()  # no model is loaded here: facts alone
    with ExitStack() as stack:
        vault = stack.enter_context(options.opened(key))
        sessions = stack.enter_context(closing(Sessions(key, pipeline.language, vault)))
        made = WorkerRecipe(recipe, options.timeout, options.drift is not None)
        pool = stack.enter_context(Pool(made, workers, silent=True))
        totals, jobs = Totals(), None
        proof = options.proof(begin, key, lambda: pipeline, totals, tell)
        if proof is not None:
            proof.open()
        stack.enter_context(options.watching(totals, tell))
        if options.job_store is not None:
            store, places = options.job_store, options.places()
            work = JobRecipe(recipe, store, places, facts_of(pipeline), asked(), partial(options.opened, key))
            hand = stack.enter_context(Pool(work, 1, silent=True))
            jobs = stack.enter_context(closing(Jobs(hand, store, places)))
        pool.wait_ready()
        told = "".join(f"{note}\n" for note in pool.notes) + f"listening on {place.origin}\n"
        plan = Plan(
            place.hosts,
            access,
            options.queue,
            options.max_body,
            certificate is not None,
            models_of(pipeline.recognizer),
        )
        run(service(pool, plan, totals, sessions, jobs, proof), place, ready=partial(_say, told))
        if proof is not None:
            proof.finish(None, None, complete=True)
    return totals, proof


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
