"""What every request passes before an application sees it, and what every answer carries.

Against a page that resolves its own name to this machine (DNS rebinding) the Host is checked; against requests of other
pages Origin and Sec-Fetch-Site are, and, where a cookie tells who asks, a header that only the page's own script can
send. Answers are not stored by browsers, load nothing from elsewhere, and stand in no frame.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from deid.base.errors import ConfigError
from deid.web.problems import problem, problem_of
from deid.web.tokens import ANYBODY, Access, Answer, Caller, Head

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

OWN_HEADER = "x-deid"
"""Header that the page's script sends with every request; another site's page cannot."""

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""What every answer carries."""

_ONCE = (b"content-type", b"content-encoding")
"""Headers that say how a body is to be read; of its length h11 takes no two."""
_SLOWEST = 4096
"""Bytes a second that a body must have on the average, beside the seconds that each part may take."""
_CLOSE = ((b"connection", b"close"),)  # what is still coming is not read
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # another id could be a patient's number


@dataclass(frozen=True, slots=True)
class Served:
    """What may be told of a request: nothing of its address but the route, and nothing of its content."""

    id: str
    method: str
    route: str
    """Template of the path, such as ``/documents/{id}``; empty where no route was reached."""
    status: int
    seconds: float
    caller: str
    received: int
    """Bytes of the body."""


class _Unread(Exception):
    """The body cannot be read to its end."""


class Guard:
    """An application behind all checks.

    The application finds the `Caller` in ``request.state.caller``, and the request's id in ``request.state.id``.

    Parameters
    ----------
    app : ASGI application
    hosts : set of str
        What the Host header may be, see `deid.web.listening.Listening.hosts`.
    access : Access, optional
        Tells who asks; without one everybody may who reaches the port.
    secure : bool
        Whether requests come by TLS.
    open_paths : set of str
        Paths without data, which anybody may ask for by any name of the machine: probes of health.
    max_body : int
        Largest body, in bytes.
    endless : callable, optional
        Tells of which requests the body may have any length; the application reads it piece by piece.
    patience : float
        Seconds to wait for the next part of a body, and for all of it beside what its length needs.
    log : callable, optional
        Is told every request that was served.
    """

    def __init__(
        self,
        app: Application,
        hosts: frozenset[str],
        access: Access | None = None,
        *,
        secure: bool = False,
        open_paths: frozenset[str] = frozenset(),
        max_body: int = 64 * 2**20,
        endless: Callable[[Head], bool] = lambda _: False,
        patience: float = 30.0,
        log: Callable[[Served], None] | None = None,
    ) -> None:
        self.app, self.hosts, self.access, self.secure = app, hosts, access, secure
        self.open_paths, self.max_body, self.patience, self.log = open_paths, max_body, patience, log
        self.endless = endless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI says."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            else:  # nothing here speaks anything else
                await send({"type": "websocket.close", "code": 1008})
            return
        started = time.perf_counter()
        due = started + self.patience
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        head = Head(scope["method"], scope["path"], scope.get("query_string", b""), headers)
        named = head.header(b"x-request-id").lower()
        request_id = named if _UUID.fullmatch(named) else str(uuid.uuid4())
        status, received, over, endless = 0, 0, False, self.endless(head)
        unread: Answer | None = None

        async def answering(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if unread and not status:
                raise _Unread  # frameworks make an answer of their own of what stopped them
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {*(name for name, _ in HEADERS), b"server", b"x-request-id"}
                rest = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in own]
                message = {**message, "headers": [*rest, *HEADERS, (b"x-request-id", request_id.encode())]}
            await send(message)

        async def reading() -> MutableMapping[str, Any]:
            nonlocal received, over, unread
            if over:
                return await receive()
            left = self.patience if endless else due + received / _SLOWEST - time.perf_counter()
            try:
                message = await asyncio.wait_for(receive(), min(self.patience, left))
            except TimeoutError:
                unread = problem(408, "the body did not come", "send it at once", headers=_CLOSE)
                raise _Unread from None
            received += len(message.get("body", b""))
            if received > self.max_body and not endless:
                unread = self._too_large()
                raise _Unread
            over = not message.get("more_body", False)
            return message

        caller: Caller | None = None
        try:
            checked = self._check(head)
            if isinstance(checked, Caller):
                caller = checked
                scope.setdefault("state", {}).update(caller=caller, id=request_id)
                await self.app(scope, reading, answering)
            else:
                await _send(answering, checked)
        except Exception as error:  # never handed on: a server would print it, and its message can quote a document
            if not status:  # an answer that has begun stays without its end
                answer, unread = unread or problem_of(error), None
                await _send(answering, answer)
        if self.log is not None:
            route = getattr(scope.get("route"), "path", "")
            seconds = time.perf_counter() - started
            name = caller.name if caller else ""
            self.log(Served(request_id, head.method, route, status, seconds, name, received))

    def _too_large(self) -> Answer:
        return problem(413, f"the body has more than {self.max_body} bytes", "send less at once", headers=_CLOSE)

    def _check(self, head: Head) -> Caller | Answer:
        """Return who asks, or the refusal."""
        if head.path in self.open_paths:
            return ANYBODY
        if head.header(b"host").lower() not in self.hosts:
            return problem(421, "this name is not served here", "ask by the address that was printed at the start")
        origin = head.headers.get(b"origin", [])
        scheme = "https" if self.secure else "http"
        if any(one.decode("latin-1").lower() not in {f"{scheme}://{host}" for host in self.hosts} for one in origin):
            return problem(403, "requests of other sites are refused")
        if self.access is not None:
            port = int(head.header(b"host").rpartition(":")[2].rstrip("]") or 0) if ":" in head.header(b"host") else 0
            entered = self.access.enter(head, port, secure=self.secure)
            if entered is not None:
                return entered
        if head.header(b"sec-fetch-site") not in ("", "same-origin", "none"):
            return problem(403, "requests of other sites are refused")
        if any(len(head.headers.get(name, ())) > 1 for name in _ONCE):  # who reads the first, who the last?
            return problem(400, "how the body is to be read is said twice", "send each header once", headers=_CLOSE)
        length = head.header(b"content-length")
        if length and b"transfer-encoding" in head.headers:  # a proxy before this could take it for two requests
            return problem(
                400, "the body has two lengths", "send one of Content-Length, Transfer-Encoding", headers=_CLOSE
            )
        if head.header(b"content-encoding").lower() not in ("", "identity"):
            return problem(415, "the body is compressed", "send it as it is", headers=_CLOSE)
        if length.isdigit() and int(length[:20]) > self.max_body and not self.endless(head):
            return self._too_large()
        if self.access is None:
            return ANYBODY
        try:
            caller = self.access.caller(head)
        except ConfigError:  # the file of tokens was changed, and is none any more
            return problem(503, "nobody can be let in", "whoever runs this must look at the file of tokens")
        if caller is None:
            page = self.access.refusal() if "text/html" in head.header(b"accept") else None
            challenge = () if self.access.ambient else ((b"www-authenticate", b"Bearer"),)
            return page or problem(401, "no valid token", "send one that was given to you", headers=challenge)
        navigates = head.method in ("GET", "HEAD") and not head.path.startswith("/api/")
        if self.access.ambient and not navigates and not head.header(OWN_HEADER.encode()):
            return problem(403, f"the header {OWN_HEADER} is missing", "requests come from the page's own script")
        return caller


async def _send(send: Send, answer: Answer) -> None:
    kind, size = answer.media_type.encode(), str(len(answer.body)).encode()
    headers = [(b"content-type", kind), (b"content-length", size), *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
