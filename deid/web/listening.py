"""Where something listens: on loopback, or elsewhere with tokens and TLS. SIGTERM lets what was begun be finished."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from deid.base.errors import ConfigError, require, told_as
from deid.base.files import os_reason
from deid.base.network import Address, Certificate, bracketed
from deid.web.guard import Application
from deid.web.problems import missing_extra

_BACKLOG = 2048


@dataclass(frozen=True)
class Listening:
    """A place where something listens; the socket is open already, so that its port is known."""

    address: str
    port: int
    sockets: tuple[socket.socket, ...] = field(repr=False)
    certificate: Certificate | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return Address(self.address, self.port).loopback

    @property
    def origin(self) -> str:
        """The address for clients, such as ``http://127.0.0.1:8765``."""
        return f"{'https' if self.certificate else 'http'}://{Address(self.address, self.port)}"

    @property
    def hosts(self) -> frozenset[str]:
        """What clients may write in the Host header."""
        own = {self.address}
        if self.loopback or self.address in ("0.0.0.0", "::"):  # noqa: S104
            own |= {"127.0.0.1", "localhost", "::1"}
        if self.certificate is not None:
            own |= self.certificate.names
        hosts = {bracketed(name.lower()) for name in own}
        usual = self.port == (443 if self.certificate else 80)
        return frozenset({f"{host}:{self.port}" for host in hosts} | (hosts if usual else set()))


def listen(
    address: str = "127.0.0.1",
    port: int = 0,
    *,
    tokens: bool = False,
    certificate: Certificate | None = None,
) -> Listening:
    """Open a place to listen.

    Parameters
    ----------
    address : str
        IP address, or localhost.
    port : int
        0 for one that is free.
    tokens : bool
        Whether clients must show a token; elsewhere than on loopback they must.
    certificate : Certificate, optional
        For TLS; elsewhere than on loopback there must be one: tokens and notes would be read on the way.

    Raises
    ------
    ConfigError
        When others could reach it who may not, or the port is taken.
    """
    require(0 <= port < 2**16, "there is no such port", "give one from 1 to 65535, or 0 for one that is free")
    if not Address(address, port).loopback:
        hint = "give a file of tokens, and certificate and key; or listen on 127.0.0.1"
        require(tokens, "other machines would reach this without a token", hint)
        require(certificate is not None, "notes and tokens would pass the network readable", hint)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        made = socket.create_server((address, port), family=family, backlog=_BACKLOG)
    except OverflowError:
        raise ConfigError("there is no such port", "give one from 1 to 65535") from None
    except OSError as error:
        hint = "another program listens there; give another port" if error.errno else "give an address of this machine"
        raise ConfigError(f"cannot listen on {address} port {port} ({os_reason(error)})", hint) from None
    # head and body of an answer are two packets: the second would wait for the acknowledgement of the first, 40 ms.
    # (asyncio sets this only on sockets that were made with the protocol's number.)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Listening(address, made.getsockname()[1], (made,), certificate)


def run(
    app: Application,
    place: Listening,
    *,
    drain: float = 30.0,
    idle: float = 65.0,
    patience: float = 30.0,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT; then take no more, finish what was begun, and return.

    Parameters
    ----------
    app : ASGI application
        Behind a `deid.web.guard.Guard`.
    place : Listening
    drain : float
        Seconds to wait for what was begun.
    idle : float
        Seconds after which a connection without a request is closed.
    patience : float
        Seconds that the head of a request may take.
    ready : callable
        Called once a signal ends the service in good order; what it says may be answered by one.

    Raises
    ------
    ConfigError
        When the extra ``web`` is not installed, or the application did not start.
    """
    with told_as(missing_extra(), ImportError):
        import uvicorn
    certificate = place.certificate
    config = uvicorn.Config(
        app,
        http=_protocol(patience),
        log_config=None,
        log_level="critical",  # what it has to say of a request could quote it
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=int(idle),
        timeout_graceful_shutdown=int(drain),
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )
    server = uvicorn.Server(config)
    with _quiet_end(server):
        ready()
        server.run(sockets=list(place.sockets))
    require(server.started, "the server did not start", "look at the messages above")


def _protocol(patience: float) -> Any:
    """Return the protocol of connections on which the head of a request comes in time: uvicorn waits for ever."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        _due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE:  # what came is a part of a head
                self._wait()
            else:
                self._stop()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _wait(self) -> None:
            if self._due is None:
                self._due = self.loop.call_later(patience, self.transport.close)

        def _stop(self) -> None:
            if self._due is not None:
                self._due.cancel()
                self._due = None

    return Impatient


@contextmanager
def _quiet_end(server: Any) -> Iterator[None]:
    """Let the server end by a signal without ending the process: it raises the signal again when it is done.

    One that comes before the server listens to signals itself ends it as soon as it has begun.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are not for this one
        yield
        return

    def end(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
