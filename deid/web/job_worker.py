"""What does jobs, in a process of its own: by the pipeline of the service, as `deid scrub` would."""

from __future__ import annotations

import datetime
import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import DeidError, raised_at, require
from deid.base.files import os_reason
from deid.document import Failure
from deid.manifest.options import OptionRecord
from deid.streaming.work import PipelineRecipe
from deid.web.job_store import (
    BOTH,
    CANCELLED,
    DONE,
    FAILED,
    NAMES,
    RUNNING,
    Job,
    JobPlaces,
    JobRequest,
    JobStore,
    below,
)

if TYPE_CHECKING:
    from deid.manifest import ManifestRun
    from deid.pipeline import Pipeline, Report
    from deid.replacement.vault import Vault

_OFTEN = 0.5
"""Seconds between looks at whether a job is to be cancelled."""


_ALL_FAILED = {
    "detail": "none of the documents could be processed, and none was written",
    "hint": "errors tells the kinds: look at format and text_field, then submit the job with another target",
}


class _Cancelled(Exception):
    """Whoever asked for a job wants it no more."""


@dataclass(frozen=True)
class JobRecipe:
    """Makes what does jobs, where it works.

    Parameters
    ----------
    recipe : PipelineRecipe
        Of the service.
    place : str
        Of the store.
    places : JobPlaces
        Where jobs read and write.
    facts : mapping
        What a manifest tells of policy and model.
    options : sequence of OptionRecord
        What the operator asked of the service.
    vault : callable
        Returns a block with the vault that keeps the originals of what jobs replace; by default there is none.
    """

    recipe: PipelineRecipe
    place: str
    places: JobPlaces
    facts: Mapping[str, Any] = field(repr=False)
    options: Sequence[OptionRecord] = field(default=(), repr=False)
    vault: Callable[[], AbstractContextManager[Vault | None]] = nullcontext

    def __call__(self) -> JobWorker:
        """Return it; model and policy are loaded by the first job."""
        return JobWorker(self)


class JobWorker:
    """Does jobs in a process of its own."""

    def __init__(self, said: JobRecipe) -> None:
        self._said = said
        self._store = JobStore(said.place)
        self._made: tuple[PipelineRecipe, Pipeline] | None = None
        self.notes: list[str] = []

    def __call__(self, id: str) -> None:
        """Do a job, unless another process does; how it ended stands in the store.

        That may be one of another service with the same store, or of one that was killed and is still at work.
        """
        with self._store.alone(id) as mine:
            job = self._store.find(id) if mine else None
            if job is not None and not job.ended:
                self._do(job)

    def _do(self, job: Job) -> None:
        id = job.id
        try:
            rows = self._said.places.table(job.asked.source, new=False) is not None
            with self._said.vault() as vault:
                told = self._rows(job, vault) if rows else self._files(job, vault)
            nothing = told["failed"] and not told["documents"] and not told.get("there")
            self._store.end(id, FAILED, told | _ALL_FAILED) if nothing else self._store.end(id, DONE, told)
        except _Cancelled:
            self._store.end(id, CANCELLED)
        except DeidError as error:
            self._store.end(id, FAILED, {"detail": error.what, "hint": error.hint})
        except OSError as error:
            what = f"a file or folder cannot be read or made ({os_reason(error)})"
            self._store.end(id, FAILED, {"detail": what, "hint": "look at the place, and name another target"})
        except Exception as error:  # its message could quote a document
            what = f"internal error {raised_at(error)}"
            self._store.end(id, FAILED, {"detail": what, "hint": "please report this"})

    def _begin(self, asked: JobRequest, target: Path) -> ManifestRun:
        from deid import __version__
        from deid.manifest import begin_run

        own = [OptionRecord(name, getattr(asked, name)) for name in NAMES if name not in ("source", "target")]
        options = (*self._said.options, *own)
        return begin_run("serve", target, version=__version__, key=self._said.recipe.key, options=options)

    def _pipeline(self, recipe: PipelineRecipe) -> Pipeline:
        """Return the pipeline of what a user says; that of the last job is kept."""
        if self._made is None or self._made[0] != recipe:
            self._made = recipe, recipe.pipeline()
        return self._made[1]

    def _recipe(self, vault: Vault | None) -> PipelineRecipe:
        """Return the recipe of the service; a vault of yesterday goes on with the numbers of yesterday."""
        own = self._said.recipe
        return own if vault is None else replace(own, key=own.key.of_map(vault.map_version), originals=True)

    def _rows(self, job: Job, vault: Vault | None) -> dict[str, Any]:
        """Scrub a table of a database into a new one.

        What was done stands in the store before the database forgets how far the run has come: so a table that is
        whole when the service begins is known as this job's, whenever the service was killed.
        """
        from deid.base.store import sqlite_file
        from deid.io.database import open_rows
        from deid.io.database_places import join_place
        from deid.io.formats import Options
        from deid.pipeline import scrub_files
        from deid.pipeline.table_output import TableOutput, is_whole

        asked, places = job.asked, self._said.places
        source, target = places.table(asked.source, new=False), places.table(asked.target, new=True)
        assert source is not None
        require(target is not None, BOTH, "name a table as NAME:TABLE")
        assert target is not None
        own = self._recipe(vault)
        said = replace(own.options, patient_field=asked.patient_field, date_field=asked.date_field)
        recipe = replace(own, options=said)
        columns = Options(
            text_field=asked.text_field,
            id_field=asked.id_field,
            table=source[2],
            patient=asked.patient_field,
            date=asked.date_field,
            kept=frozenset(said.keep),
        )
        # of a server the manifest lies where the service runs, as that of the command does
        file = sqlite_file(target[1])
        out = file or Path(f"{target[0]}.{target[2]}")
        run = self._begin(asked, out)
        work = _work({"source": asked.source}, recipe)
        found = open_rows(source[1], columns)
        run.inputs.note([] if found.place is None else [(found.place.name, found.place)])
        place, digest = join_place(target[1], target[2]), hashlib.sha256(work.encode()).hexdigest()
        written, failures = job.written, list[Failure]()
        if written is not None and is_whole(place):
            found.table.store.close()
            require(
                written["work"] == digest,
                "all is written, by a service that had other options or another key: no manifest could speak of it",
                "start the service with the same ones, or take the table away; then submit the job again",
            )
        else:
            output = TableOutput(found, place, recipe.key, work, hold=True)
            try:
                report = scrub_files(
                    found, output, self._pipeline(recipe), vault=vault,
                    watch=lambda items: self._watched(job.id, items, None),
                )  # fmt: skip
            except _Cancelled:
                output.discard()
                raise
            failures, told = report.failures, _told(report) | {"columns": found.plan.told()}
            nothing_new = report.there and not report.documents
            if written is None or not nothing_new or written["told"]["failed"] != told["failed"]:
                written = {"work": digest, "began": run.began.isoformat(), "inputs": run.inputs.told(), "told": told}
                self._store.wrote(job.id, written)
            output.settle()
        run.began = datetime.datetime.fromisoformat(written["began"])
        facts = {"inputs": written["inputs"], "table": None if file else place}
        return self._end(run, out, written["told"], root=found.root, failures=failures, **facts)

    def _end(self, run: ManifestRun, out: Path, told: dict[str, Any], **facts: Any) -> dict[str, Any]:
        """Write the manifest; return what whoever asked for the job is told."""
        counts = {name: told[name] for name in ("documents", "failed", "categories")}
        run.finish(out, results=told, **counts, **facts, **self._said.facts)
        return told

    def _files(self, job: Job, vault: Vault | None) -> dict[str, Any]:
        """Scrub a file or folder into a new one."""
        from deid.io import check_output, check_suffix, scan
        from deid.io.formats import CollectionFormat, Options
        from deid.pipeline import scrub_files
        from deid.pipeline.facts import inputs_of
        from deid.pipeline.resuming import RunNote, interrupted

        asked, recipe = job.asked, self._recipe(vault)
        source, target = below(self._said.places.folders, asked.source), below(self._said.places.folders, asked.target)
        found = scan(source, asked.format, Options(text_field=asked.text_field, id_field=asked.id_field))
        inputs = inputs_of(found)
        for _, path in inputs:  # a link can lead anywhere
            below(self._said.places.folders, str(path))
        if job.state == RUNNING and not interrupted(target):
            # all was written, and the service ended before it was noted; by which policy and key is not known any more
            _cleared(target)
        again = interrupted(target)
        if not again:
            check_output(source, target)
        check_suffix(found.single, found.format, target, found.format)
        run = self._begin(asked, target)
        run.inputs.note(inputs)
        total = None if isinstance(found.format, CollectionFormat) else len(found.names)
        work = _work({"job": job.id}, recipe)
        try:
            report = scrub_files(
                found,
                target,
                self._pipeline(recipe),
                vault=vault,
                run=None if found.single else RunNote(target, work, again),
                watch=lambda items: self._watched(job.id, items, total),
            )
        except _Cancelled:
            _cleared(target)
            raise
        return self._end(run, target, _told(report), root=found.root, failures=report.failures)

    def _watched(self, id: str, items: Iterator[Any], total: int | None) -> Iterator[Any]:
        looked, count = 0.0, 0
        for item in items:
            if time.monotonic() - looked >= _OFTEN:
                if not self._store.progress(id, count, total):
                    raise _Cancelled
                looked = time.monotonic()
            yield item
            count += 1
        if not self._store.progress(id, count, total):
            raise _Cancelled


def _work(own: dict[str, str], recipe: PipelineRecipe) -> str:
    """Return what a run must be to go on; without the vault it would write what the vault has no originals of."""
    kept = {"vault": True} if recipe.originals else {}
    return json.dumps({**own, **kept, **recipe.fingerprint()}, sort_keys=True, default=str)


def _cleared(target: Path) -> None:
    """Remove what a job made: nothing may lie where it begins anew, or another one begins."""
    if target.is_dir():
        shutil.rmtree(target, ignore_errors=True)
    else:
        target.unlink(missing_ok=True)


def _told(report: Report) -> dict[str, Any]:
    return {
        "documents": report.documents,
        **({"there": report.there} if report.there else {}),
        "failed": len(report.failures),
        "errors": dict(sorted(Counter(type(one.error).__name__ for one in report.failures).items())),
        "categories": dict(sorted(report.categories.items())),
        "unexamined": report.unexamined,
        "telling_fields": report.telling_fields(),
    }
