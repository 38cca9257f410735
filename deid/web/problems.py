"""Errors as problem+json (RFC 9457), without any text of the request.

What `deid` raises on purpose speaks of names and counts only (`deid.base.errors`), so its message is shown. Of every
other exception nothing is shown: messages of libraries quote what they choke on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, DeidError, InputError, ModelError, StoreError, raised_at, told_as
from deid.web.tokens import Answer

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

STATUS: Mapping[type[DeidError], int] = {InputError: 422, ConfigError: 400, StoreError: 503, ModelError: 503}
"""Kind of error -> HTTP status; of the kinds that fit, the nearest one says."""


def problem(status: int, detail: str = "", hint: str = "", *, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """Return an answer that says what is wrong.

    Parameters
    ----------
    status : int
        HTTP status.
    detail, hint : str
        Sentences without any text of the request.
    headers : tuple of pairs of bytes
        Further headers, such as ``retry-after``.
    """
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    content |= {key: value for key, value in (("detail", detail), ("hint", hint)) if value}
    return Answer(status, json.dumps(content, ensure_ascii=False).encode(), headers, "application/problem+json")


def problem_of(error: BaseException, statuses: Mapping[type[DeidError], int] | None = None) -> Answer:
    """Return the answer that tells an error."""
    if not isinstance(error, DeidError):
        return problem(500, raised_at(error), "its message is withheld, it could quote the request")
    known = {**STATUS, **(statuses or {})}
    status = next((known[kind] for kind in type(error).__mro__ if kind in known), 500)
    where = ", ".join(part for part in (error.where, error.position) if part)
    return problem(status, f"{where}: {error.what}" if where else error.what, error.hint)


def application(title: str, statuses: Mapping[type[DeidError], int] | None = None, **settings: Any) -> FastAPI:
    """Return an empty FastAPI application whose errors are problems, and which has no page that loads from elsewhere.

    Parameters
    ----------
    title : str
    statuses : mapping of type to int, optional
        HTTP status of further kinds of errors.
    **settings
        Of FastAPI.

    Raises
    ------
    ConfigError
        When the extra ``web`` is not installed.
    """
    with told_as(missing_extra(), ImportError):
        from fastapi import FastAPI
        from fastapi.exceptions import RequestValidationError
        from fastapi.responses import Response as Plain
        from starlette.exceptions import HTTPException

    from deid import __version__

    # neither pages from a network of others, nor redirections, which would repeat what was asked
    settings = {"docs_url": None, "redoc_url": None, "openapi_url": None, "redirect_slashes": False, **settings}
    app = FastAPI(title=title, version=__version__, **settings)

    def shown(answer: Answer) -> Response:
        headers = {name.decode(): value.decode() for name, value in answer.headers}
        return Plain(answer.body, answer.status, headers, answer.media_type)

    async def own(_: Request, error: Exception) -> Response:
        return shown(problem_of(error, statuses))

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = tuple((name.encode(), value.encode()) for name, value in (error.headers or {}).items())
        return shown(problem(error.status_code, error.detail, headers=headers))

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        names = _declared(app)
        found = []
        for one in error.errors():
            place = ".".join(str(part) for part in one["loc"] if isinstance(part, int) or part in names)
            found.append(f"{place or 'body'}: {one['type']}")
        return shown(
            problem(422, "; ".join(dict.fromkeys(found[:8])), "the description of the interface says the form")
        )

    app.add_exception_handler(DeidError, own)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, own)
    return app


def missing_extra() -> ConfigError:
    """Return the error that says which extra is missing."""
    return ConfigError("FastAPI and uvicorn are not installed", "run: pip install 'clinical-deid[web]'")


def _declared(app: FastAPI) -> set[str]:
    """Return the names of fields and parameters that the application declares: no other names of a request are told."""
    found = {"body", "query", "path", "header"}

    def look(node: Any) -> None:
        if isinstance(node, dict):
            properties = node.get("properties")
            found.update(properties if isinstance(properties, dict) else ())
            if isinstance(node.get("in"), str) and isinstance(node.get("name"), str):
                found.add(node["name"])
            for child in node.values():
                look(child)
        elif isinstance(node, list):
            for child in node:
                look(child)

    look(app.openapi())
    return found
