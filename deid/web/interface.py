"""What the description of the service's interface (OpenAPI) says of bodies and answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deid.web.worker import KINDS, MOST

Schema = dict[str, Any]


def thing(required: Mapping[str, Schema], more: Mapping[str, Schema] | None = None, about: str = "") -> Schema:
    """Return the schema of an object: properties that it must have, and others."""
    said: Schema = {"type": "object", "properties": {**required, **(more or {})}}
    if required:
        said["required"] = list(required)
    return said | ({"description": about} if about else {})


def some(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def one_or_some(one: Schema) -> Schema:
    """Return the schema of one thing, or a list of such."""
    return {"anyOf": [one, some(one)]}


def text(about: str = "") -> Schema:
    """Return the schema of a string."""
    return {"type": "string"} | ({"description": about} if about else {})


NUMBER: Schema = {"type": "integer", "minimum": 0}
ALONE = tuple(kind for kind, holds in KINDS.items() if holds not in ("notes", "json"))
"""Types of bodies that are one note or record."""
RECORD = text("a record as it is")
EDIT = thing(
    {"start": NUMBER, "end": NUMBER, "new_start": NUMBER, "new_end": NUMBER, "category": text()},
    about="what was replaced: offsets in the text as it was, and in the new one",
)
SPAN = thing(
    {"start": NUMBER, "end": NUMBER, "category": text(), "score": {"type": ["number", "null"]}},
    {"place": text("of a record: where the span stands; offsets are those in the text there")},
)
NOTE = thing({"text": text()})
SCRUBBED = thing({"text": text(), "edits": some(EDIT)})
TAGGED = thing({"spans": some(SPAN)})
PAIR = thing(
    {"original": text(), "scrubbed": text()},
    {"type": {**text("of both; text/plain where none is named"), "enum": [*ALONE]}, "edits": some(EDIT)},
)
VERIFIED = thing(
    {"holds": {"type": "boolean"}},
    {
        "by": text("how the replaced stretches were told: edit log, annotations, detection, comparison"),
        "replaced": NUMBER,
        "detail": text("what does not hold"),
        "hint": text(),
        "position": text(),
    },
)
MASKING = thing({"text": text()}, {"session": text("a session to go on with")})
UNMASKING = thing(
    {"text": text(), "session": text()},
    {"why": text("for what purpose, for the audit trail of the vault")},
)
ASKED_OF = thing(
    {
        "surrogates": some(text()) | {"minItems": 1, "maxItems": MOST},
        "why": {**text("for what purpose, for the audit trail of the vault"), "minLength": 1},
    },
    {"scope": text("only of this patient or document, as in patient:4711"), "category": text("such as PATIENT")},
)
KNOWN = thing(
    {"found": some(some(thing({name: text() for name in ("surrogate", "original", "category", "scope")})))},
    about="for each surrogate what it stands for",
)
MASKED = thing({"text": text(), "session": text()})
JOB = thing(
    {"id": text(), "state": {"type": "string", "enum": ["queued", "running", "done", "failed", "cancelled"]}},
    {"submitted": text("UTC"), "ended": text("UTC"), "done": NUMBER, "total": NUMBER},
)
ASKED = thing(
    {
        "source": text("a file or folder below one that jobs may use, or NAME:TABLE of a database"),
        "target": text("a new one, or NAME:TABLE"),
    },
    {"format": text("of the source; told by its content"), "text_field": text(), "id_field": text()}
    | {"patient_field": text("a column of the table"), "date_field": text("a column of the table")},
)
RESULT = thing(
    {},
    {
        "documents": NUMBER,
        "there": NUMBER,
        "failed": NUMBER,
        "errors": {"type": "object"},
        "categories": {"type": "object"},
    }
    | {"columns": {"type": "object"}, "unexamined": NUMBER, "detail": text(), "hint": text()}
    | {"telling_fields": {"type": "object"}},
)
PROBLEM = thing(
    {"title": text(), "status": NUMBER},
    {"type": text(), "detail": text(), "hint": text()},
    "RFC 9457; without any text of the request",
)
LINES = text("a line for each line, in order; where one failed it is {\"problem\": {..., \"line\": N}}")  # fmt: skip
_PROBLEM_TYPE = "application/problem+json"


def operation(
    answer: Mapping[str, Schema],
    body: Mapping[str, Schema] | None = None,
    *,
    status: int = 200,
    problems: Iterable[int] = (),
) -> dict[str, Any]:
    """Return what the description says of an operation.

    Parameters
    ----------
    answer, body : mapping of str to Schema
        Media type -> what it looks like.
    status : int
        Of the answer when all went well.
    problems : iterable of int
        Statuses of its own problems, beside those that any request may meet.
    """
    problem = {
        "description": "Problem",
        "content": {_PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    answers: dict[str, Any] = {str(one): problem for one in sorted(problems)}
    answers[str(status)] = {"description": "Answer", "content": _contents(answer)}
    answers["default"] = problem
    said: dict[str, Any] = {"responses": answers}
    if body is not None:
        said["requestBody"] = {"required": True, "content": _contents(body)}
    return said


def _contents(schemas: Mapping[str, Schema]) -> dict[str, Any]:
    return {kind: {"schema": schema} for kind, schema in schemas.items()}


def complete(description: dict[str, Any], open_paths: Iterable[str], *, tokens: bool) -> None:
    """Add to a description what all operations share: the form of problems, and that a token is needed."""
    parts = description.setdefault("components", {})
    parts.setdefault("schemas", {})["Problem"] = PROBLEM
    if tokens:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        description["security"] = [{"token": []}]
        for path in set(open_paths) & description["paths"].keys():
            for said in description["paths"][path].values():
                said["security"] = []
