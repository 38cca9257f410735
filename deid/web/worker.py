"""What a worker of the service does with a body: scrubs, tags, checks or masks it, and tells what it could not.

Nothing of a body is answered that was not dealt with: an error says which kind it is, and no text. Of a stream of
lines each is dealt with by itself; in place of one that fails stands a line that says why.
"""

from __future__ import annotations

import json
import signal
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deid.base.errors import DeidError, DetectionError, EncodingError, FormatError, OutputError, told_as
from deid.document import Document, Span
from deid.io import documents
from deid.io.contents import refuse_records
from deid.io.json_records import parse_json
from deid.pipeline.edit_log import LoggedEdits, logged_edits
from deid.pipeline.masking import Piece, pieces_of
from deid.pipeline.patients import Writing, writing_of
from deid.pipeline.verification import verify_document
from deid.pipeline.workers import prepare
from deid.streaming.drift import Gauge, Sums
from deid.streaming.records import CONTENTS, Fields
from deid.streaming.work import PipelineRecipe, mark
from deid.web.problems import problem_of
from deid.web.tokens import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deid.pipeline import Scrubbed
    from deid.records.record import Record

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
_EDIT = ("start", "end", "new_start", "new_end", "category")
MOST = 1000
"""Notes of one request that is no stream."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to do with a body."""

    verb: str
    """``scrub``, ``tag``, ``verify`` or ``mask``."""
    kind: str
    """One of the values of `KINDS`."""
    body: bytes = field(repr=False)
    line: int = 0
    """Of lines of a stream, the number of the first one, from 1."""


@dataclass(frozen=True, slots=True)
class WorkOutcome:
    """What a worker made of it."""

    body: bytes = field(default=b"", repr=False)
    error: DeidError | None = None
    spans: Mapping[str, int] = field(default_factory=dict)
    """Replaced spans by category."""
    notes: int = 0
    """Notes or records that were dealt with."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Lines of a stream that were left out, by class of the error."""
    drift: Sums | None = field(default=None, repr=False)
    """Sums over the notes (`deid.streaming.drift`), where they are asked for."""
    masked: list[Piece] | None = field(default=None, repr=False)
    writings: frozenset[Writing] = field(default=frozenset(), repr=False)
    """How the ids of the notes' patients are written."""


class Worker:
    """A pipeline in a worker process, for requests of the service.

    Parameters
    ----------
    recipe : PipelineRecipe
    timeout : float
        Seconds that a request, or a line of a stream, may take; then the process ends.
    drift : bool
        Whether outcomes tell what `deid.streaming.drift` compares.
    """

    def __init__(self, recipe: PipelineRecipe, timeout: float, drift: bool = False) -> None:
        self._pipeline = recipe.pipeline()
        prepare(self._pipeline)
        self._timeout = timeout
        self._spans: Counter[str] = Counter()
        self._count = 0
        self._writings: set[Writing] = set()
        self._gauge = Gauge(self._pipeline.language) if drift else None
        self._sums = Sums()
        self.notes = self._pipeline.notes
        """What whoever releases the output must know."""

    def __call__(self, task: Task) -> WorkOutcome:
        """Do what a request asks for; what fails is told, and nothing of it is answered."""
        self._spans, self._count, self._sums, self._writings = Counter(), 0, Sums(), set()
        if task.line:
            body, failed = self._lines(task)
            return self._outcome(body, failed)
        try:
            with self._limited():
                if task.verb == "mask":
                    text = task.body.decode("utf-8", "surrogatepass")
                    return WorkOutcome(masked=pieces_of(self._pipeline, text), notes=1)
                body = self._answer(task)
        except Exception as error:
            return WorkOutcome(error=_told(error))
        return self._outcome(body, {})

    def _outcome(self, body: bytes, failed: Mapping[str, int]) -> WorkOutcome:
        drift, writings = self._sums if self._gauge else None, frozenset(self._writings)
        return WorkOutcome(body, None, dict(self._spans), self._count, dict(failed), drift, writings=writings)

    @contextmanager
    def _limited(self) -> Iterator[None]:
        # the default action of the signal ends the process, whatever it is stuck in
        signal.setitimer(signal.ITIMER_REAL, self._timeout)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _lines(self, task: Task) -> tuple[bytes, Counter[str]]:
        written, failed = [], Counter[str]()
        for number, line in enumerate(task.body.split(b"\n"), task.line):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.strip():
                continue
            try:
                with self._limited():
                    written.append(self._line(task.verb, line))
            except Exception as error:
                told = _told(error)
                failed[type(told).__name__] += 1
                written.append(refused_line(problem_of(told), number))
        return b"".join(one + b"\n" for one in written), failed

    def _line(self, verb: str, line: bytes) -> bytes:
        if verb == "scrub":
            content, scrubbed = CONTENTS["json"](line, 1, self._pipeline, Fields())
            self._take(scrubbed)
            return content
        value = _parsed(line)
        if not isinstance(value, dict):
            raise FormatError("the line is no JSON object", 'send {"text": "..."}')
        return _dumped(self._note(verb, value))

    def _answer(self, task: Task) -> bytes:
        if task.kind == "notes":
            notes, single = _notes(task.body)
            answers = [self._note(task.verb, note) for note in notes]
            return _dumped(answers[0] if single else answers)
        if task.verb == "tag":
            return _dumped(self._tagged(task.kind, task.body))
        if task.kind == "text":
            _refuse_others(task.body)
            return self._scrubbed(_text(task.body)).document.text.encode()
        content, scrubbed = CONTENTS[task.kind](task.body, 1, self._pipeline, Fields())
        self._take(scrubbed)
        return content

    def _note(self, verb: str, note: Mapping[str, Any]) -> dict[str, Any]:
        if verb == "verify":
            return self._verified(note)
        text, beside = _string(note, "text"), _beside(note, "text")
        if verb == "tag":
            return self._tagged("text", text, beside)
        scrubbed = self._scrubbed(text, beside)
        edits = [{name: getattr(edit, name) for name in _EDIT} for edit in scrubbed.edits]
        return {"text": scrubbed.document.text, "edits": edits}

    def _scrubbed(self, text: str, beside: Mapping[str, Any] | None = None) -> Scrubbed:
        scrubbed = self._pipeline(Document("text", text, metadata=dict(beside or {})))
        self._take(scrubbed)
        return scrubbed

    def _take(self, scrubbed: Scrubbed) -> None:
        self._count += 1
        mark(self._spans, scrubbed)
        self._writings.update(writing_of(self._pipeline, scrubbed))
        if self._gauge is not None:
            self._gauge.take(self._sums, scrubbed)

    def _tagged(self, kind: str, body: bytes | str, beside: Mapping[str, Any] | None = None) -> dict[str, Any]:
        record = _record(kind, body) if kind != "text" else None
        document = _document(body, record, beside)
        found = self._pipeline.recognizer.find(document) if self._pipeline.recognizer else []
        self._count += 1
        if record is not None:
            return {"spans": [one for span in found for one in _placed(record, span)]}
        return {"spans": [_shown(span, span.start, span.end) for span in found]}

    def _verified(self, pair: Mapping[str, Any]) -> dict[str, Any]:
        named = pair.get("type", "text/plain")
        kind = KINDS.get(named) if isinstance(named, str) else None
        if kind is None or kind in ("notes", "json"):
            raise FormatError("this type of a note is not known", f"types: {', '.join(KINDS)}")
        texts = (_string(pair, name) for name in ("original", "scrubbed"))
        beside = _beside(pair, "original", "scrubbed", "type", "edits")
        original, scrubbed = (
            _document(text, None if kind == "text" else _record(kind, text), beside) for text in texts
        )
        log = _logged(pair["edits"], original) if pair.get("edits") is not None else None
        policy = self._pipeline.policy
        self._count += 1
        try:
            stretches, how = verify_document(
                original, scrubbed, log=log, policy=policy, recognizer=self._pipeline.recognizer
            )
        except OutputError as error:
            return {"holds": False, "detail": error.what, "hint": error.hint, "position": error.position}
        return {"holds": True, "by": how, "replaced": len(stretches)}


@dataclass(frozen=True)
class WorkerRecipe:
    """Makes a `Worker` where it works."""

    recipe: PipelineRecipe
    timeout: float
    drift: bool = False

    def __call__(self) -> Worker:
        """Return it, with model and policy loaded."""
        return Worker(self.recipe, self.timeout, self.drift)


def refused_line(problem: Answer, number: int) -> bytes:
    """Return what stands in a stream in place of the line of a number: a problem, and no text of the line."""
    return _dumped({"problem": {**json.loads(problem.body), "line": number}})


def _told(error: Exception) -> DeidError:
    """Return an error without the place that names a document."""
    if isinstance(error, DeidError):
        return type(error)(error.what, error.hint, "", error.position)
    return DetectionError(f"internal error {type(error).__name__}", "please report this")


def _beside(note: Mapping[str, Any], *own: str) -> dict[str, Any]:
    """Return the other fields of a note, which may say whose it is (``--patient-field``); they are not answered."""
    return {name: value for name, value in note.items() if name not in own}


def _document(body: bytes | str, record: Record | None, beside: Mapping[str, Any] | None = None) -> Document:
    """Return a note or record as a document."""
    if record is not None:
        return Document("record", record.text, record=record)
    return Document("text", body if isinstance(body, str) else _text(body), metadata=dict(beside or {}))


def _record(kind: str, body: bytes | str) -> Record:
    from deid.io import ccda
    from deid.records import fhir, hl7v2
    from deid.records.tables import load_table

    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    if kind == "hl7v2":
        return hl7v2.read(data, load_table("hl7v2"), "utf-8")
    return ccda.record(data, "utf-8", None) if kind == "ccda" else fhir.read(data, load_table(fhir.STANDARD))


def _shown(span: Span, start: int, end: int) -> dict[str, Any]:
    return {"start": start, "end": end, "category": span.category, "score": span.score}


def _placed(record: Record, span: Span) -> Iterator[dict[str, Any]]:
    """Yield a span of a record's text by the places that it stands in, with offsets in their decoded texts."""
    at = max(bisect_right(record.offsets, span.start) - 1, 0)
    for place, begins in zip(record.places[at:], record.offsets[at:], strict=True):
        if begins >= span.end:
            break
        start, end = max(span.start, begins), min(span.end, begins + len(place.text))
        if start < end:
            yield {"place": place.path, **_shown(span, start - begins, end - begins)}


def _logged(edits: object, original: Document) -> LoggedEdits:
    """Return the edits of a pair as the service answered them."""
    try:
        values = [[edit[name] for name in _EDIT] for edit in edits]  # type: ignore[attr-defined]
        return logged_edits({"document": "text", "length": len(original.text), "edits": values})
    except (KeyError, TypeError, ValueError):
        raise FormatError("these are no edits of such a text", "send those that the scrubbing answered") from None


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()  # half a surrogate pair can be written so, too


def _text(body: bytes) -> str:
    with told_as(EncodingError("the body is not UTF-8", "convert it"), UnicodeDecodeError):
        return body.decode()


def _refuse_others(body: bytes) -> None:
    """Refuse a record, a document or a table that is sent as text, of which packed texts and ids would stay."""
    try:
        refuse_records(body, documents.begins(body))
    except FormatError as error:
        kinds = ", ".join(kind for kind in KINDS if kind != "text/plain")
        hint = f"send a record as what it is ({kinds}), other text as JSON; deid scrub takes tables and documents"
        raise FormatError(error.what, hint) from None


def _parsed(body: bytes) -> Any:
    with told_as(FormatError("the body is not JSON", "look at how it is made"), ValueError, RecursionError):
        return parse_json(_text(body))


def object_of(body: bytes) -> dict[str, Any]:
    """Return a body that is a JSON object.

    Raises
    ------
    InputError
        When it is none.
    """
    values = _parsed(body)
    if not isinstance(values, dict):
        raise FormatError("the body is no JSON object", 'send {"text": "..."}')
    return values


def _string(note: Mapping[str, Any], name: str) -> str:
    value = note.get(name)
    if not isinstance(value, str):
        raise FormatError(f"a note has no {name}", f'a note is {{"{name}": "..."}}')
    return value


def _notes(body: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Return the notes of a body, and whether it is one note, not a list."""
    values = _parsed(body)
    single = isinstance(values, dict)
    notes = [values] if single else values
    if not isinstance(notes, list) or len(notes) > MOST or not all(isinstance(note, dict) for note in notes):
        raise FormatError(f"the body is no note, and no list of {MOST} at most", 'send {"text": "..."} or a list')
    return notes, single
