"""Who asks: by a bearer token whose hash stands in a file, or by the cookie that was given for a link.

A file of tokens has a line for each: ``NAME ROLE[,ROLE] sha256:HEX``, and ``#`` begins a comment. It holds hashes, so
that whoever reads it can ask nothing; a token is 256 random bits, so that a hash without salt keeps it. The file is
read again when it changes: tokens come and go without a restart, and while it cannot be read nobody is let in.

A link works once: it is exchanged for a cookie that scripts cannot read and that other sites' requests do not carry.
Browsers keep links in their history; what they keep there is used up.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from deid.base.errors import ConfigError, require
from deid.base.files import open_to_others, os_reason, write_bytes

_LINE = re.compile(r"(?P<name>[\w.@-]{1,64}) (?P<roles>[a-z-]+(?:,[a-z-]+)*) sha256:(?P<hash>[0-9a-f]{64})")
_BEARER = re.compile(r"bearer +([\w~+/.=-]{16,512})", re.IGNORECASE | re.ASCII)
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">{more}</head>
<body><main><h1>{title}</h1><p>{text}</p></main></body></html>"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may do."""

    name: str
    """Of the token, for logs and audit trails; empty where nobody has to say who they are."""
    roles: frozenset[str]

    def may(self, role: str) -> bool:
        """Tell whether the caller has a role; ``all`` is every role."""
        return role in self.roles or "all" in self.roles


ANYBODY = Caller("", frozenset({"all"}))
"""Who asks where no token is needed: a process of this machine."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a request says before its body. The `repr` shows no header: they carry secrets."""

    method: str
    path: str
    query: bytes = field(repr=False)
    headers: dict[bytes, list[bytes]] = field(repr=False)

    def header(self, name: bytes) -> str:
        """Return the value of a header that is there once, else nothing."""
        values = self.headers.get(name, [])
        return values[0].decode("latin-1") if len(values) == 1 else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer to a request."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    media_type: str = "text/html; charset=utf-8"


class Access(Protocol):
    """A way to tell who asks."""

    @property
    def ambient(self) -> bool:
        """Whether browsers send it by themselves, so that a request must show that the page's own script made it."""

    def caller(self, head: Head) -> Caller | None:
        """Return who asks, or None."""

    def enter(self, head: Head, port: int, *, secure: bool) -> Answer | None:
        """Return the answer to a request for a way in; None when it is none."""

    def refusal(self) -> Answer | None:
        """Return what a person sees who has no way in; None where only programs ask."""


def hash_of(token: str) -> str:
    """Return the SHA-256 of a token, in hex."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class TokenFile:
    """Bearer tokens of a file.

    Parameters
    ----------
    path : Path
        Mode 0600, see the module.
    roles : frozenset of str
        The roles that there are; a line with another is an error.

    Raises
    ------
    ConfigError
        The file is missing, others can read it, a line is not of the form, or it has none.
    """

    ambient = False

    def __init__(self, path: Path, roles: frozenset[str]) -> None:
        self.path, self.roles = path, roles | {"all"}
        self._lock = threading.Lock()
        self._seen, self._callers = self._read()

    def _read(self) -> tuple[tuple[int, int, int, int], list[tuple[str, Caller]]]:
        where = f"the file of tokens {self.path}"
        try:
            about = self.path.stat()
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = os_reason(error) if isinstance(error, OSError) else "not UTF-8"
            raise ConfigError(f"{where} cannot be read ({why})", "check its path and permissions") from None
        others = open_to_others(self.path, about.st_mode)
        require(not others, f"{where} can be read by other users", f"run: chmod 600 {self.path}")
        found = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            parts = _LINE.fullmatch(" ".join(line.split()))
            roles = frozenset(parts["roles"].split(",")) if parts else frozenset()
            if parts is None or not roles <= self.roles:
                hint = f"write: NAME ROLE sha256:HEX, roles are {', '.join(sorted(self.roles))}"
                raise ConfigError("not a line of a token", hint, where, f"line {number}")
            found.append((parts["hash"], Caller(parts["name"], roles)))
        require(found, f"{where} has no token", "write a line for each: NAME ROLE sha256:HEX")
        return (about.st_ino, about.st_size, about.st_mtime_ns, about.st_mode), found

    def caller(self, head: Head) -> Caller | None:
        """Return who asks; compares with every token, in a time that tells nothing.

        Raises
        ------
        ConfigError
            The file was changed and cannot be used.
        """
        with self._lock:
            try:
                about = self.path.stat()
                seen = about.st_ino, about.st_size, about.st_mtime_ns, about.st_mode
            except OSError:
                seen = (0, 0, 0, 0)
            if seen != self._seen:
                self._seen, self._callers = self._read()
            callers = self._callers
        said = _BEARER.fullmatch(head.header(b"authorization"))
        if said is None:
            return None
        asked, found = hash_of(said[1]), None
        for kept, caller in callers:
            if hmac.compare_digest(kept, asked):
                found = caller
        return found

    def enter(self, head: Head, port: int, *, secure: bool) -> Answer | None:
        """There is no other way in."""
        return None

    def refusal(self) -> Answer | None:
        """Programs ask."""
        return None


def new_token(path: Path, name: str, roles: frozenset[str]) -> str:
    """Make a token, write its hash into a file of tokens (made with mode 0600 where it is not there), and return it.

    It is shown once, and stands nowhere.

    Raises
    ------
    ConfigError
        When the name or a role cannot stand in the file, or the file has the name.
    """
    token = secrets.token_urlsafe(32)
    line = f"{name} {','.join(sorted(roles))} sha256:{hash_of(token)}"
    require(
        _LINE.fullmatch(line) is not None,
        "a token needs a name and roles",
        "names: letters, digits and . _ - @, at most 64; roles: small letters",
    )
    before = TokenFile(path, roles | _roles_of(path)) if path.exists() else None
    taken = {caller.name for _, caller in before._callers} if before else set()
    require(name not in taken, "the file has a token of this name", "take another name, or remove its line")
    text = path.read_text(encoding="utf-8") if before else ""
    write_bytes(path, f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n".encode(), replace=True)
    return token


def said_token(path: Path, said: str, known: Collection[str]) -> str:
    """Make a token as a user says it, ``NAME=ROLE,...``; errors as those of `new_token`, and for unknown roles."""
    name, _, roles = said.partition("=")
    if not roles or not frozenset(roles.split(",")) <= {*known, "all"}:
        raise ConfigError("a token needs a name and roles", f"such as lab=scrub,tag; {', '.join(sorted(known))}")
    return new_token(path, name, frozenset(roles.split(",")))


def _roles_of(path: Path) -> frozenset[str]:
    lines = (_LINE.search(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    return frozenset(role for parts in lines if parts for role in parts["roles"].split(","))


class Link:
    """A link that works once, and the cookie that is given for it.

    Parameters
    ----------
    name : str
        Who comes by it.
    """

    ambient = True
    PATH = "/enter"

    def __init__(self, name: str) -> None:
        self.who = Caller(name, frozenset({"all"}))
        self._links: set[str] = set()
        self._cookies: set[str] = set()
        self._lock = threading.Lock()

    def new(self) -> str:
        """Return path and query of a new link."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._links.add(hash_of(token))
        return f"{self.PATH}?link={token}"

    def caller(self, head: Head) -> Caller | None:
        """Return who comes with a cookie that was given."""
        # programs on other ports of this machine leave theirs in the same jar, in whatever form
        pairs = [
            part.strip().partition("=")
            for line in head.headers.get(b"cookie", [])
            for part in line.decode("latin-1").split(";")
        ]
        said = [hash_of(value) for name, _, value in pairs if name.startswith("deid-")]
        with self._lock:
            given = list(self._cookies)
        # every pair is compared, in a time that tells nothing
        held = [hmac.compare_digest(one, other) for one in said for other in given]
        return self.who if any(held) else None

    def enter(self, head: Head, port: int, *, secure: bool) -> Answer | None:
        """Give a cookie for a link that was not used; a used one is refused."""
        if head.path != self.PATH or head.method != "GET":
            return None
        asked = hash_of(head.query.decode("latin-1").removeprefix("link="))
        with self._lock:
            found = [kept for kept in self._links if hmac.compare_digest(kept, asked)]
            self._links.difference_update(found)
            if not found:
                return self.refusal()
            cookie = secrets.token_urlsafe(32)
            self._cookies.add(hash_of(cookie))
        # ports share cookies, so the name tells the port; the page goes on by itself, since a redirection from another
        # site's page would not carry the cookie
        value = f"deid-{port}={cookie}; HttpOnly; SameSite=Strict; Path=/{'; Secure' if secure else ''}"
        more = '<meta http-equiv="refresh" content="0;url=/">'
        page = _PAGE.format(title="deid", more=more, text='<a href="/">Go on</a>')
        return Answer(200, page.encode(), ((b"set-cookie", value.encode()),))

    def refusal(self) -> Answer:
        """Say how to get in."""
        text = "This link was used, or it is none of this run. Press Enter where deid runs, and it gives a new one."
        return Answer(401, _PAGE.format(title="This link does not work any more", more="", text=text).encode())
