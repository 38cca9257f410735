"""The HTTP service: notes in, scrubbed notes out, with the results of the library for the same key.

One event loop owns every request; workers hold model and policy. A bounded number of requests waits for them, others
are told to come again; so is one whose worker died. What cannot be processed is refused, never answered as it came.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.async_pool import AsyncPool, Busy, WorkerLost
from deid.base.errors import DeidError, FormatError, told_as
from deid.base.pool import Pool
from deid.streaming.metrics import exposition
from deid.streaming.proof import Proof, daily
from deid.streaming.totals import Totals
from deid.web import interface as form
from deid.web.guard import Application, Guard, Served
from deid.web.job_store import Job
from deid.web.jobs import Jobs
from deid.web.lines import LineStream
from deid.web.problems import application, problem
from deid.web.sessions import Sessions
from deid.web.tokens import Access, Caller, Head
from deid.web.worker import KINDS, MOST, Task, WorkOutcome, object_of, refused_line

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

    from deid.replacement.sealing import Entry

ROLES = frozenset({"scrub", "tag", "re-identify", "jobs"})
"""What a token can be for; masking and checking are scrubbing, unmasking is re-identifying."""
STATIC = Path(__file__).with_name("static")
_PAGE = {name: f"/static/{name}" for name in ("interface.js", "interface.css", "icon.svg")}
OPEN = frozenset({"/", "/openapi.json", "/health/live", "/health/ready", *_PAGE.values()})
"""Paths that need no token: they tell nothing but how the service is asked, and whether it is there."""
_JSON = "application/json"
_LINES = "application/x-ndjson"
_LATER = {"Retry-After": "1"}
_ASK = 'send {"surrogates": ["..."], "why": "..."}'
_AGAIN = 5
"""Seconds until workers that could not begin are started again."""
_STREAMS = frozenset({"/scrub", "/tag", "/verify"})
_UNICODE = ("text/plain", _JSON, _LINES)
"""Types that say nothing in the body of how it is encoded, as XML and HL7 do."""
_CHARSET = re.compile(r"""charset\*?\s*=\s*"?([^";\s]*)""", re.I)


@dataclass(frozen=True)
class Plan:
    """What a service is to do.

    Parameters
    ----------
    hosts : set of str
        What the Host header may be.
    access : Access, optional
        Tells who asks.
    queue : int
        Requests that may wait for a worker, and streams that may be under way.
    max_body : int
        Largest body, and largest line of a stream, in bytes.
    secure : bool
        Whether requests come by TLS.
    models : sequence of mapping
        What ``/models`` tells.
    """

    hosts: frozenset[str]
    access: Access | None = None
    queue: int = 64
    max_body: int = 4 << 20
    secure: bool = False
    models: Sequence[Mapping[str, Any]] = ()


@dataclass
class Desk:
    """What the routes of a service share: the workers, what is counted, who may do what."""

    plan: Plan
    pool: Pool[Task, WorkOutcome]
    totals: Totals
    proof: Proof | None = None
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: float = 0.0
    streams: int = 0
    _workers: AsyncPool[Task, WorkOutcome] | None = None

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Ask the workers out of this event loop while the block runs; when they cannot begin, try again."""
        self._workers = AsyncPool(self.pool, self.plan.queue)
        mending = asyncio.create_task(self._mend())
        try:
            yield
        finally:
            mending.cancel()
            self._workers.close()
            self._workers = None

    async def _mend(self) -> None:
        while True:
            await asyncio.wait([self.workers.broken])
            sys.stderr.write(f"{self.workers.broken.exception()}; tried again in {_AGAIN} s\n")
            await asyncio.sleep(_AGAIN)
            self.workers.close()
            self.pool.forget()
            self._workers = AsyncPool(self.pool, self.plan.queue)

    @property
    def workers(self) -> AsyncPool[Task, WorkOutcome]:
        """The workers; there while the service runs."""
        assert self._workers is not None
        return self._workers

    def served(self, one: Served) -> None:
        """Count a request."""
        self.requests[one.route or "other", one.status] += 1
        self.seconds += one.seconds
        self.totals.read += one.received

    async def ask(self, task: Task, caller: str, *, patient: bool = False) -> WorkOutcome:
        """Return what a worker made of a task, counted.

        Raises
        ------
        Busy, WorkerLost
        """
        workers = self.workers
        try:
            outcome = await workers.ask(task, patient=patient)
        except DeidError:
            if workers.broken.done():  # another time they may begin
                raise WorkerLost from None
            raise
        totals = self.totals
        totals.records += outcome.notes
        totals.spans.update(outcome.spans)
        totals.errors.update(outcome.failed)
        totals.written += len(outcome.body)
        totals.writings.met(outcome.writings)
        if self.proof is not None:
            self.proof.read(task.body)
            self.proof.wrote(outcome.body)
        if totals.drift is not None and outcome.drift is not None:
            totals.drift.take(caller, outcome.drift)
        if outcome.error is not None:
            totals.errors[type(outcome.error).__name__] += 1
        return outcome

    def exposition(self, gauges: Mapping[str, int]) -> str:
        """Return the counts in Prometheus' text format."""
        self.totals.restarts = self.pool.restarts
        if self.totals.drift is not None:
            self.totals.gauges["drift_alarms"] = len(self.totals.drift.alarms)
        self.totals.gauges.update(gauges, waiting=self.workers.waiting, working=self.workers.working)
        lines = ["# TYPE deid_requests_total counter"]
        for (route, status), count in sorted(self.requests.items()):
            lines.append(f'deid_requests_total{{route="{route}",status="{status}"}} {count}')
        lines += ["# TYPE deid_request_seconds_total counter", f"deid_request_seconds_total {self.seconds:.6f}"]
        return exposition(self.totals) + "\n".join(lines) + "\n"


def service(
    pool: Pool[Task, WorkOutcome],
    plan: Plan,
    totals: Totals,
    sessions: Sessions,
    jobs: Jobs | None = None,
    proof: Proof | None = None,
) -> Application:
    """Return the service as an application.

    Parameters
    ----------
    pool : Pool
        Of `deid.web.worker.WorkerRecipe`, entered.
    plan : Plan
    totals : Totals
        Count what is served.
    sessions : Sessions
        Of masking.
    jobs : Jobs, optional
        Asynchronous ones; without them there are no routes for them.
    proof : Proof, optional
        Writes manifests: one a day (UTC), beside those that it writes by itself.
    """
    from fastapi import Request, Response
    from fastapi.staticfiles import StaticFiles

    # a route finds the kinds of its parameters by their names
    globals().update(Request=Request, Response=Response)
    desk = Desk(plan, pool, totals, proof)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with desk.working():
            beside = [asyncio.create_task(jobs.work())] if jobs else []
            beside += [asyncio.create_task(daily(proof.turn))] if proof else []
            yield
            for task in beside:
                task.cancel()
            if beside:
                await asyncio.wait(beside)

    app = application("deid", lifespan=lifespan, openapi_url="/openapi.json")
    _notes(app, desk)
    _masking(app, desk, sessions)
    if sessions.kept:
        _vault(app, sessions)
    if jobs is not None:
        _jobs(app, jobs)
    _about(app, desk, sessions)
    app.mount("/static", StaticFiles(directory=STATIC))
    form.complete(app.openapi(), OPEN, tokens=plan.access is not None)
    return Guard(
        app,
        plan.hosts,
        plan.access,
        secure=plan.secure,
        open_paths=OPEN,
        max_body=plan.max_body,
        endless=_is_stream,
        log=desk.served,
    )


def _is_stream(head: Head) -> bool:
    return head.path in _STREAMS and _type(head.header(b"content-type")) == _LINES


def _type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def _given(request: Request, kinds: Iterable[str], default: str) -> str:
    """Return the type of a request's body; refuse what would be read otherwise than its sender means."""
    from fastapi import HTTPException

    header = request.headers.get("content-type", default)
    found = _type(header)
    if found not in kinds:
        raise HTTPException(415, f"bodies are of the types {', '.join(kinds)}")
    if found in _UNICODE and {one.lower() for one in _CHARSET.findall(header)} - {"utf-8", "utf8", "us-ascii"}:
        raise HTTPException(415, "bodies of this type are UTF-8")
    if request.url.query:  # such as ?policy=redact, which would change nothing
        raise HTTPException(400, "the address takes no parameters: policy and options are those of the service")
    return found


def _may(request: Request, role: str) -> Caller:
    from fastapi import HTTPException

    caller: Caller = request.state.caller
    if not caller.may(role):
        raise HTTPException(403, f"the token is not for this: it needs the role {role}")
    return caller


def _lost(error: Busy | WorkerLost) -> tuple[int, str]:
    if isinstance(error, Busy):
        return 503, "more requests wait than may"
    return (504, "it took too long") if error.timed_out else (503, "the worker of this request died")


async def _done(desk: Desk, task: Task, caller: Caller) -> WorkOutcome:
    """Return what a worker made of a request's body.

    Raises
    ------
    HTTPException
        When none could.
    DeidError
        What is wrong with the body.
    """
    from fastapi import HTTPException

    try:
        outcome = await desk.ask(task, caller.name)
    except (Busy, WorkerLost) as error:
        status, why = _lost(error)
        raise HTTPException(status, why, _LATER if status == 503 else None) from None
    if outcome.error is not None:
        raise outcome.error
    return outcome


async def _stretch(desk: Desk, caller: Caller, verb: str, lines: bytes, first: int) -> bytes:
    """Return the answers to some lines of a stream; one of which a worker dies costs itself alone."""
    from fastapi import HTTPException

    try:
        return (await desk.ask(Task(verb, "json", lines, first), caller.name, patient=first > 1)).body
    except Busy as error:
        raise HTTPException(*_lost(error), _LATER) from None
    except WorkerLost as error:
        single = lines.splitlines(keepends=True)
        if len(single) > 1:
            return b"".join([await _stretch(desk, caller, verb, line, first + n) for n, line in enumerate(single)])
        desk.totals.errors[type(error).__name__] += 1
        return refused_line(problem(*_lost(error)), first) + b"\n"


def _notes(app: FastAPI, desk: Desk) -> None:
    """Add the routes that take notes and records."""
    from fastapi import HTTPException, Response

    class Streamed(Response):
        def __init__(self, stream: LineStream) -> None:
            self.stream = stream
            self.background = None

        async def __call__(self, *connection: Any) -> None:
            desk.streams += 1
            try:
                await self.stream(*connection)
            finally:
                desk.streams -= 1

    async def answered(request: Request, verb: str, role: str, kinds: Iterable[str]) -> Response:
        caller = _may(request, role)
        given = _given(request, kinds, "text/plain")
        if given == _LINES:
            if desk.streams >= max(desk.plan.queue, 1):
                raise HTTPException(503, "more streams are under way than may", _LATER)
            return Streamed(
                LineStream(
                    lambda lines, first: _stretch(desk, caller, verb, lines, first),
                    _LINES,
                    longest=desk.plan.max_body,
                    under_way=2 * desk.pool.jobs,
                )
            )
        outcome = await _done(desk, Task(verb, KINDS[given], await request.body()), caller)
        told = given if verb == "scrub" and given != "text/plain" else _JSON
        if verb == "scrub" and given == "text/plain":
            told = "text/plain; charset=utf-8"
        return Response(outcome.body, media_type=told)

    records = {kind: form.RECORD for kind in KINDS if kind not in ("text/plain", _JSON, _LINES)}
    wrong = (400, 408, 413, 415, 422, 503, 504)
    notes = {"text/plain": form.text("a note"), _JSON: form.one_or_some(form.NOTE), _LINES: form.LINES, **records}
    scrubbed = {**notes, _JSON: form.one_or_some(form.SCRUBBED)}
    tagged = {_JSON: form.one_or_some(form.TAGGED), _LINES: form.LINES}
    pairs = {_JSON: form.one_or_some(form.PAIR), _LINES: form.LINES}
    verified = {_JSON: form.one_or_some(form.VERIFIED), _LINES: form.LINES}

    @app.post("/scrub", openapi_extra=form.operation(scrubbed, notes, problems=wrong), response_class=Response)
    async def scrub(request: Request) -> Response:
        """Replace the PHI of a note, a list or stream of notes, or a record."""
        return await answered(request, "scrub", "scrub", notes)

    @app.post("/tag", openapi_extra=form.operation(tagged, notes, problems=wrong), response_class=Response)
    async def tag(request: Request) -> Response:
        """Tell where the PHI of notes or a record stands."""
        return await answered(request, "tag", "tag", notes)

    @app.post("/verify", openapi_extra=form.operation(verified, pairs, problems=wrong), response_class=Response)
    async def verify(request: Request) -> Response:
        """Check scrubbed notes or records against their originals."""
        return await answered(request, "verify", "scrub", pairs)


def _masking(app: FastAPI, desk: Desk, sessions: Sessions) -> None:
    """Add the routes of the round trip for language models."""
    from fastapi import HTTPException

    async def said(request: Request) -> dict[str, Any]:
        _given(request, (_JSON,), _JSON)
        values = object_of(await request.body())
        if not isinstance(values.get("text"), str):
            raise FormatError("the body has no text", 'send {"text": "..."}')
        if not isinstance(values.get("session"), str | None) or not isinstance(values.get("why"), str | None):
            raise FormatError("session and purpose are texts", "send the session that was answered")
        return values

    wrong = (400, 404, 413, 415, 422)
    masking = form.operation({_JSON: form.MASKED}, {_JSON: form.MASKING}, problems=(*wrong, 503, 504))
    unmasking = form.operation({_JSON: form.NOTE}, {_JSON: form.UNMASKING}, problems=wrong)

    @app.post("/mask", openapi_extra=masking, response_class=Response)
    async def mask(request: Request) -> Response:
        """Mask a text for a language model; the session that it is given back with knows the originals."""
        caller = _may(request, "scrub")
        values = await said(request)
        text, named = values["text"], values.get("session")
        if named is not None and not sessions.has(caller.name, named):
            raise HTTPException(404, "there is no such session")
        outcome = await _done(desk, Task("mask", "text", text.encode("utf-8", "surrogatepass")), caller)
        assert outcome.masked is not None
        session, masked = await sessions.mask(caller.name, named, text, outcome.masked)
        return _said({"text": masked, "session": session})

    @app.post("/unmask", openapi_extra=unmasking, response_class=Response)
    async def unmask(request: Request) -> Response:
        """Put the originals of a session back into an answer."""
        caller = _may(request, "re-identify")
        values = await said(request)
        named = str(values.get("session"))
        if not sessions.has(caller.name, named):
            raise HTTPException(404, "there is no such session")
        return _said({"text": await sessions.unmask(caller.name, named, values["text"], values.get("why") or "")})


def _vault(app: FastAPI, sessions: Sessions) -> None:
    """Add the route of the vault."""
    from fastapi import Response

    asking = form.operation({_JSON: form.KNOWN}, {_JSON: form.ASKED_OF}, problems=(400, 413, 415, 422))

    @app.post("/reidentify", openapi_extra=asking, response_class=Response)
    async def reidentify(request: Request) -> Response:
        """Tell what surrogates stand for, by the vault; each leaves a line in its audit trail."""
        caller = _may(request, "re-identify")
        _given(request, (_JSON,), _JSON)
        values = object_of(await request.body())
        asked, narrowed = values.get("surrogates"), [values.get(name) for name in ("scope", "category")]
        if not isinstance(asked, list) or not 0 < len(asked) <= MOST or not all(isinstance(one, str) for one in asked):
            raise FormatError(f"the body has no list of 1 to {MOST} surrogates", _ASK)
        if not all(isinstance(one, str | None) for one in (values.get("why"), *narrowed)):
            raise FormatError("purpose, scope and category are texts", _ASK)
        found = await sessions.reidentify(caller.name, asked, values.get("why") or "", *narrowed)
        return _said({"found": [[_entry(one) for one in entries] for entries in found]})


def _entry(one: Entry) -> dict[str, str]:
    return {"surrogate": one.surrogate, "original": one.original, "category": one.category, "scope": one.scope_id}


def _jobs(app: FastAPI, jobs: Jobs) -> None:
    """Add the routes of asynchronous jobs."""
    from fastapi import HTTPException, Response

    job, wrong = {_JSON: form.JOB}, (403, 404)
    place = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": form.text()}]}

    async def found(request: Request) -> Job:
        caller = _may(request, "jobs")
        one = await asyncio.to_thread(jobs.store.find, request.path_params["id"], caller.name)
        if one is None:
            raise HTTPException(404, "there is no such job")
        return one

    submitting = form.operation(job, {_JSON: form.ASKED}, status=202, problems=(400, 413, 415, 422, 503))

    @app.post("/jobs", openapi_extra=submitting, response_class=Response, status_code=202)
    async def submit(request: Request) -> Response:
        """Submit a job: a folder or table is scrubbed into a new one."""
        caller = _may(request, "jobs")
        _given(request, (_JSON,), _JSON)
        values = object_of(await request.body())
        with told_as(HTTPException(503, "more jobs wait than may", _LATER), Busy):
            one = await asyncio.to_thread(jobs.submit, caller.name, values)
        jobs.wake()
        return Response(json.dumps(one.told()), 202, {"Location": f"/jobs/{one.id}"}, _JSON)

    @app.get("/jobs", openapi_extra=form.operation({_JSON: form.some(form.JOB)}), response_class=Response)
    async def all_of_them(request: Request) -> Response:
        """Tell how the jobs are that were submitted with this token, the last 100."""
        caller = _may(request, "jobs")
        return _said([one.told() for one in await asyncio.to_thread(jobs.store.of, caller.name)])

    @app.get("/jobs/{id}", openapi_extra=form.operation(job, problems=wrong) | place, response_class=Response)
    async def progress(request: Request) -> Response:
        """Tell how far a job is."""
        return _said((await found(request)).told())

    result = form.operation({_JSON: form.RESULT}, problems=(*wrong, 409)) | place

    @app.get("/jobs/{id}/result", openapi_extra=result, response_class=Response)
    async def ended(request: Request) -> Response:
        """Tell what a job did, or why it could not: counts, and no text."""
        one = await found(request)
        if one.result is None:
            raise HTTPException(409, "the job has no result" if one.ended else "the job is not over")
        return _said(one.result)

    @app.delete("/jobs/{id}", openapi_extra=form.operation(job, problems=wrong) | place, response_class=Response)
    async def cancel(request: Request) -> Response:
        """Cancel a job that is not over; what it has written is removed."""
        one = await found(request)
        if not one.ended:
            await asyncio.to_thread(jobs.store.cancel, one.id)
        return _said((await found(request)).told())


def _about(app: FastAPI, desk: Desk, sessions: Sessions) -> None:
    """Add the routes that tell about the service."""
    from fastapi import HTTPException, Response

    def page() -> Response:
        return Response((STATIC / "interface.html").read_bytes(), media_type="text/html; charset=utf-8")

    app.get("/", include_in_schema=False)(page)

    @app.get("/policies", openapi_extra=form.operation({_JSON: form.some(form.text())}), response_class=Response)
    async def policies() -> Response:
        """Name the shipped policies."""
        from deid.replacement.policy import shipped_policies

        return _said(list(shipped_policies()))

    model = form.thing({"name": form.text(), "used": {"type": "boolean"}}, {"fingerprint": form.text()})

    @app.get("/models", openapi_extra=form.operation({_JSON: form.some(model)}), response_class=Response)
    async def models() -> Response:
        """Name the models that are there, and tell which one is used."""
        return _said(list(desk.plan.models))

    state = form.operation({_JSON: form.thing({"status": form.text()})}, problems=(503,))

    @app.get("/health/live", openapi_extra=state, response_class=Response)
    async def live() -> Response:
        """Tell that the service answers."""
        return _said({"status": "live"})

    @app.get("/health/ready", openapi_extra=state, response_class=Response)
    async def ready() -> Response:
        """Tell whether the service takes requests."""
        if desk.workers.broken.done() or desk.workers.full:
            raise HTTPException(503, "not now", _LATER)
        return _said({"status": "ready"})

    @app.get("/metrics", openapi_extra=form.operation({"text/plain": form.text()}), response_class=Response)
    async def metrics() -> Response:
        """Return counts in Prometheus' text format."""
        told = desk.exposition({"sessions": sessions.count, "streams": desk.streams})
        return Response(told, media_type="text/plain; version=0.0.4; charset=utf-8")


def _said(value: object) -> Response:
    from fastapi import Response

    # ASCII, so that half a surrogate pair can be told, too
    return Response(json.dumps(value, ensure_ascii=True), media_type=_JSON)
