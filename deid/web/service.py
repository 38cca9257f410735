"""The HTTP service: notes in, scrubbed notes out, with the results of the library for the same key.

One event loop owns every request; workers hold model and policy. A bounded number of requests waits for them, others
are told to come again; so is one whose worker died. What cannot be processed is refused, never answered as it came.
"""

from __future__ import annotations

import json
import secrets
import signal
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deid.base.async_pool import AsyncPool, Busy, WorkerLost
from deid.base.errors import DeidError, DetectionError, EncodingError, FormatError
from deid.base.pool import Pool
from deid.document import Document
from deid.pipeline.masking import Piece, Substitutes, pieces_of
from deid.streaming.records import CONTENTS, Fields
from deid.streaming.work import PipelineRecipe
from deid.web.guard import Application, Guard, Served
from deid.web.problems import application
from deid.web.tokens import Access, Caller

if TYPE_CHECKING:
    from fastapi import Request, Response

ROLES = frozenset({"scrub", "tag", "re-identify"})
"""What a token can be for; masking is scrubbing, unmasking is re-identifying."""
KINDS: Mapping[str, str] = {
    "text/plain": "text",
    "application/json": "notes",
    "application/x-ndjson": "json",
    "application/hl7-v2": "hl7v2",
    "x-application/hl7-v2+er7": "hl7v2",
    "application/fhir+json": "fhir-resource",
    "application/cda+xml": "ccda",
    "application/xml": "ccda",
    "text/xml": "ccda",
}
"""Type of a body -> what is in it."""
OPEN = frozenset({"/health/live", "/health/ready"})
_SESSIONS = 1000
_MOST = 1000
"""Notes of one request."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to do with a body."""

    verb: str
    """``scrub``, ``tag`` or ``mask``."""
    kind: str
    """One of the values of `KINDS`."""
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker made of it."""

    body: bytes = field(default=b"", repr=False)
    error: DeidError | None = None
    spans: Mapping[str, int] = field(default_factory=dict)
    masked: tuple[str, list[Piece]] | None = field(default=None, repr=False)


class Worker:
    """A pipeline in a worker process, for requests of the service.

    Parameters
    ----------
    recipe : PipelineRecipe
    timeout : float
        Seconds that a request may take; then the process ends.
    """

    def __init__(self, recipe: PipelineRecipe, timeout: float) -> None:
        self._pipeline = recipe.pipeline()
        self._pipeline.prepare()
        self._timeout = timeout
        self.notes = self._pipeline.notes

    def __call__(self, task: Task) -> Outcome:
        """Do what a request asks for; what fails is told, and nothing of it is answered."""
        signal.setitimer(signal.ITIMER_REAL, self._timeout)
        try:
            return getattr(self, f"_{task.verb}")(task)
        except DeidError as error:
            return Outcome(error=type(error)(error.what, error.hint, "", error.position))
        except Exception as error:
            return Outcome(error=DetectionError(f"internal error {type(error).__name__}", "please report this"))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _scrub(self, task: Task) -> Outcome:
        spans: Counter[str] = Counter()
        if task.kind == "text":
            scrubbed = self._pipeline(Document("text", _text(task.body)))
            spans.update(edit.category for edit in scrubbed.edits)
            return Outcome(scrubbed.document.text.encode(), spans=spans)
        if task.kind != "notes":
            lines = task.body.splitlines() if task.kind == "json" else [task.body]
            written = []
            for line in lines:
                if line.strip():
                    content, scrubbed = CONTENTS[task.kind](line, 1, self._pipeline, Fields())
                    spans.update(edit.category for edit in scrubbed.edits)
                    written.append(content)
            return Outcome(b"\n".join(written) + (b"\n" if task.kind == "json" else b""), spans=spans)
        notes, single = _notes(task.body)
        answers = []
        for text in notes:
            scrubbed = self._pipeline(Document("text", text))
            spans.update(edit.category for edit in scrubbed.edits)
            edits = [
                {name: getattr(edit, name) for name in ("start", "end", "new_start", "new_end", "category")}
                for edit in scrubbed.edits
            ]
            answers.append({"text": scrubbed.document.text, "edits": edits})
        return Outcome(_dumped(answers[0] if single else answers), spans=spans)

    def _tag(self, task: Task) -> Outcome:
        if task.kind not in ("text", "notes"):
            raise FormatError("text alone is tagged", "send text/plain or application/json")
        notes, single = ([_text(task.body)], True) if task.kind == "text" else _notes(task.body)
        answers = []
        for text in notes:
            found = self._pipeline.recognizer.find(Document("text", text)) if self._pipeline.recognizer else []
            spans = [{"start": s.start, "end": s.end, "category": s.category, "score": s.score} for s in found]
            answers.append({"spans": spans})
        return Outcome(_dumped(answers[0] if single else answers))

    def _mask(self, task: Task) -> Outcome:
        text = task.body.decode("utf-8", "surrogatepass")
        return Outcome(masked=(self._pipeline.language, pieces_of(self._pipeline, text)))


@dataclass(frozen=True)
class WorkerRecipe:
    """Makes a `Worker` where it works."""

    recipe: PipelineRecipe
    timeout: float

    def __call__(self) -> Worker:
        """Return it, with model and policy loaded."""
        return Worker(self.recipe, self.timeout)


class Counts:
    """What the service counts: routes, statuses, categories; no text."""

    def __init__(self) -> None:
        self._served: Counter[tuple[str, int]] = Counter()
        self._spans: Counter[str] = Counter()
        self._seconds = 0.0

    def served(self, one: Served) -> None:
        """Count a request."""
        self._served[one.route or "other", one.status] += 1
        self._seconds += one.seconds

    def replaced(self, spans: Mapping[str, int]) -> None:
        """Count replaced spans."""
        self._spans.update(spans)

    def exposition(self, gauges: Mapping[str, int]) -> str:
        """Return the counts in Prometheus' text format."""
        lines = ["# TYPE deid_requests_total counter"]
        for (route, status), count in sorted(self._served.items()):
            lines.append(f'deid_requests_total{{route="{route}",status="{status}"}} {count}')
        lines += ["# TYPE deid_request_seconds_total counter", f"deid_request_seconds_total {self._seconds:.6f}"]
        lines.append("# TYPE deid_spans_total counter")
        lines += [f'deid_spans_total{{category="{name}"}} {count}' for name, count in sorted(self._spans.items())]
        for name, value in gauges.items():
            lines += [f"# TYPE deid_{name} gauge", f"deid_{name} {value}"]
        return "\n".join(lines) + "\n"


def service(
    pool: Pool[Task, Outcome],
    hosts: frozenset[str],
    access: Access | None = None,
    *,
    queue: int = 64,
    max_body: int = 4 << 20,
    secure: bool = False,
) -> Application:
    """Return the service as an application.

    Parameters
    ----------
    pool : Pool
        Of `WorkerRecipe`, entered.
    hosts : set of str
        What the Host header may be.
    access : Access, optional
        Tells who asks.
    queue : int
        Requests that may wait for a worker.
    max_body : int
        Largest body, in bytes.
    secure : bool
        Whether requests come by TLS.
    """
    from fastapi import HTTPException, Request, Response

    # a route finds the kinds of its parameters by their names
    globals().update(Request=Request, Response=Response)
    counts = Counts()
    workers: list[AsyncPool[Task, Outcome]] = []
    sessions: OrderedDict[tuple[str, str], Substitutes] = OrderedDict()

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        workers.append(AsyncPool(pool, queue))
        yield
        workers.pop().close()

    app = application("deid", lifespan=lifespan, openapi_url="/openapi.json")

    def caller_of(request: Request, role: str) -> Caller:
        caller: Caller = request.state.caller
        if not caller.may(role):
            raise HTTPException(403, f"the token is not for this: it needs the role {role}")
        return caller

    def later(status: int, why: str) -> HTTPException:
        return HTTPException(status, why, {"Retry-After": "1"})

    async def done(task: Task) -> Outcome:
        try:
            outcome = await workers[0].ask(task)
        except Busy:
            raise later(503, "more requests wait than may") from None
        except WorkerLost as error:
            if error.timed_out:
                raise HTTPException(504, "the request took too long") from None
            raise later(503, "the worker of this request died") from None
        if outcome.error is not None:
            raise outcome.error
        counts.replaced(outcome.spans)
        return outcome

    def kind_of(request: Request) -> str:
        given = request.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
        if given not in KINDS:
            raise HTTPException(415, f"bodies are of the types {', '.join(KINDS)}")
        return KINDS[given]

    async def said(request: Request) -> dict[str, Any]:
        values = _object(await request.body())
        if not isinstance(values.get("text"), str):
            raise FormatError("the body has no text", 'send {"text": "..."}')
        return values

    @app.post("/scrub", openapi_extra=_bodies(KINDS))
    async def scrub(request: Request) -> Response:
        """Replace the PHI of a note, a list of notes, or a record."""
        caller_of(request, "scrub")
        kind = kind_of(request)
        outcome = await done(Task("scrub", kind, await request.body()))
        given = request.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
        return Response(outcome.body, media_type="text/plain; charset=utf-8" if kind == "text" else given)

    @app.post("/tag", openapi_extra=_bodies(("text/plain", "application/json")))
    async def tag(request: Request) -> Response:
        """Tell where the PHI of notes stands."""
        caller_of(request, "tag")
        outcome = await done(Task("tag", kind_of(request), await request.body()))
        return Response(outcome.body, media_type="application/json")

    @app.post("/mask", openapi_extra=_bodies(("application/json",)))
    async def mask(request: Request) -> Response:
        """Mask a text for a language model; the session that it is given back with knows the originals."""
        caller = caller_of(request, "scrub")
        values = await said(request)
        text = values["text"]
        named = values.get("session")
        if named is not None and (caller.name, named) not in sessions:
            raise HTTPException(404, "there is no such session")
        outcome = await done(Task("mask", "text", text.encode("utf-8", "surrogatepass")))
        assert outcome.masked is not None
        language, pieces = outcome.masked
        session = named or secrets.token_urlsafe(24)
        known = sessions.setdefault((caller.name, session), Substitutes(language))
        sessions.move_to_end((caller.name, session))
        while len(sessions) > _SESSIONS:
            sessions.popitem(last=False)
        return Response(_dumped({"text": known.replace(text, pieces), "session": session}), media_type=_JSON)

    @app.post("/unmask", openapi_extra=_bodies(("application/json",)))
    async def unmask(request: Request) -> Response:
        """Put the originals of a session back into an answer."""
        caller = caller_of(request, "re-identify")
        values = await said(request)
        known = sessions.get((caller.name, str(values.get("session"))))
        if known is None:
            raise HTTPException(404, "there is no such session")
        return Response(_dumped({"text": known.restore(values["text"])}), media_type=_JSON)

    @app.get("/policies")
    async def policies() -> list[str]:
        """Name the shipped policies."""
        from deid.replacement.policy import shipped_policies

        return list(shipped_policies())

    @app.get("/health/live")
    async def live() -> dict[str, str]:
        """Tell that the service answers."""
        return {"status": "live"}

    @app.get("/health/ready")
    async def ready() -> Response:
        """Tell whether the service takes requests."""
        if not workers or workers[0].broken.done() or workers[0].waiting >= queue:
            raise later(503, "not now")
        return Response(_dumped({"status": "ready"}), media_type=_JSON)

    @app.get("/metrics")
    async def metrics() -> Response:
        """Return counts in Prometheus' text format."""
        gauges = {"waiting": workers[0].waiting, "working": workers[0].working, "sessions": len(sessions)}
        told = counts.exposition({**gauges, "worker_restarts": pool.restarts})
        return Response(told, media_type="text/plain; version=0.0.4; charset=utf-8")

    return Guard(app, hosts, access, secure=secure, open_paths=OPEN, max_body=max_body, log=counts.served)


_JSON = "application/json"


def _bodies(types: Any) -> dict[str, Any]:
    """Return what the description of the interface says of bodies."""
    return {"requestBody": {"required": True, "content": {one: {} for one in types}}}


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()  # half a surrogate pair can be written so, too


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise EncodingError("the body is not UTF-8", "convert it") from None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(_text(body))
    except (ValueError, RecursionError):
        raise FormatError("the body is not JSON", "look at how it is made") from None


def _object(body: bytes) -> dict[str, Any]:
    values = _parsed(body)
    if not isinstance(values, dict):
        raise FormatError("the body is no JSON object", 'send {"text": "..."}')
    return values


def _notes(body: bytes) -> tuple[list[str], bool]:
    """Return the texts of a body, and whether it is one note, not a list."""
    values = _parsed(body)
    single = isinstance(values, dict)
    notes = [values] if single else values
    if not isinstance(notes, list) or len(notes) > _MOST:
        raise FormatError(f"the body is no note, and no list of {_MOST} at most", 'send {"text": "..."} or a list')
    texts = [note.get("text") if isinstance(note, dict) else None for note in notes]
    if not all(isinstance(text, str) for text in texts):
        raise FormatError("a note has no text", 'a note is {"text": "..."}')
    return [str(text) for text in texts], single
