"""The rows of a vault: its tables, its state with the checks over it, and its audit chain."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import sqlalchemy as sql

from deid.base.audit import login, now
from deid.base.errors import ConfigError, StoreError
from deid.replacement.sealing import Entry, Sealer

_MAPS = {1: 1, 2: 2, 3: 3}
"""Version of a vault -> version of the map of numbers (`deid.base.keys.MAP_VERSION`) that its surrogates go by."""
_CHUNK = 1000  # rows fetched at a time
_ALL = 1 << 256
TABLES = sql.MetaData()
STATE = sql.Table(
    "deid_vault",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True, autoincrement=False),  # always 1
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("vault_id", sql.String(32), nullable=False),
    sql.Column("key_check", sql.LargeBinary, nullable=False),
    sql.Column("entries", sql.BigInteger, nullable=False),
    sql.Column("fingerprint", sql.LargeBinary, nullable=False),
    sql.Column("audit_lines", sql.BigInteger, nullable=False),
    sql.Column("audit_end", sql.LargeBinary, nullable=False),
    sql.Column("state_check", sql.LargeBinary, nullable=False),
)
ENTRIES = sql.Table(
    "deid_vault_entry",
    TABLES,
    sql.Column("id", sql.BigInteger().with_variant(sql.Integer, "sqlite"), primary_key=True),
    sql.Column("pair", sql.LargeBinary, nullable=False, unique=True),
    sql.Column("surrogate", sql.LargeBinary, nullable=False, index=True),
    sql.Column("scoped", sql.LargeBinary, nullable=False, index=True),
    sql.Column("original", sql.LargeBinary, nullable=False, index=True),
    sql.Column("sealed", sql.LargeBinary, nullable=False),
)
AUDIT = sql.Table(
    "deid_vault_audit",
    TABLES,
    sql.Column("line", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("sealed", sql.LargeBinary, nullable=False),
    sql.Column("link", sql.LargeBinary, nullable=False),
)


def altered(what: str, position: str = "") -> StoreError:
    """Return the error of a vault that somebody else wrote to."""
    return StoreError(what, "restore a copy, and find out who wrote it", position=position)


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One line of the audit trail. Holds no original."""

    line: int
    time: str
    """UTC, ISO 8601."""
    action: str
    """``init``, ``reidentify``, ``forget`` or ``rotate``."""
    who: str
    """Who asked, as they said."""
    login: str
    """The account of the operating system."""
    why: str = field(repr=False)
    surrogate: str = field(default="", repr=False)
    found: int = 0
    """Originals told."""


@dataclass(frozen=True, slots=True)
class VaultState:
    """What the vault holds by its own account."""

    vault_id: str
    entries: int
    fingerprint: int
    """Sum of the rows' fingerprints, modulo 2**256."""
    audit_lines: int
    audit_end: bytes
    """Link of the last audit line."""
    version: int

    @property
    def map_version(self) -> int:
        """Version of the map of numbers that the vault's surrogates go by."""
        return _MAPS[self.version]

    @classmethod
    def empty(cls, vault_id: str, sealer: Sealer, map_version: int) -> VaultState:
        """Return the state of a vault without rows."""
        version = next(version for version, of in _MAPS.items() if of == map_version)
        return cls(vault_id, 0, 0, 0, sealer.check("begin"), version)

    @classmethod
    def read(cls, connection: sql.Connection, *, lock: bool = False) -> tuple[VaultState, Any]:
        """Return the state, not checked yet, and its row; with ``lock`` other writers wait until this one is done.

        Raises
        ------
        StoreError
            When there is no vault in the database, or one of an unknown version.
        """
        row = connection.execute(sql.select(STATE).with_for_update() if lock else sql.select(STATE)).first()
        if row is None:
            raise StoreError("there is no vault in this database", "run: deid vault init")
        if row.version not in _MAPS:
            known = " or ".join(map(str, _MAPS))
            raise StoreError(f"the vault has version {row.version}, not {known}", "use the version that made it")
        fingerprint = int.from_bytes(row.fingerprint, "big")
        state = cls(row.vault_id, row.entries, fingerprint, row.audit_lines, bytes(row.audit_end), version=row.version)
        return state, row

    def check(self, row: Any, sealer: Sealer) -> None:
        """Raise when ``row`` was not written with the keys of ``sealer``.

        Raises
        ------
        ConfigError
            When the vault belongs to another key.
        StoreError
            When the row was altered.
        """
        own = self.row(sealer)
        if not hmac.compare_digest(bytes(row.key_check), own["key_check"]):
            raise ConfigError("the key is not this vault's", "give the key that it was made or last rotated with")
        if not hmac.compare_digest(bytes(row.state_check), own["state_check"]):
            raise altered("the vault's account of itself was altered")

    def row(self, sealer: Sealer) -> dict[str, Any]:
        """Return the row with its checks."""
        fingerprint = self.fingerprint.to_bytes(32, "big")
        counts = f"{self.version} {self.entries} {self.audit_lines}".encode()
        return {
            "version": self.version,
            "vault_id": self.vault_id,
            "key_check": sealer.check("key"),
            "entries": self.entries,
            "fingerprint": fingerprint,
            "audit_lines": self.audit_lines,
            "audit_end": self.audit_end,
            "state_check": sealer.check("state", counts, fingerprint, self.audit_end),
        }

    def save(self, connection: sql.Connection, sealer: Sealer) -> None:
        """Write the state over the one that is there."""
        connection.execute(STATE.update().where(STATE.c.id == 1), self.row(sealer))

    def grown(self, rows: Sequence[dict[str, Any]], sealer: Sealer) -> VaultState:
        """Return the state after ``rows`` were added."""
        more = sealer.fingerprint(_content(row) for row in rows)
        return replace(self, entries=self.entries + len(rows), fingerprint=(self.fingerprint + more) % _ALL)

    def shrunk(self, row: OpenedRow) -> VaultState:
        """Return the state after a row was removed."""
        return replace(self, entries=self.entries - 1, fingerprint=(self.fingerprint - row.fingerprint) % _ALL)


def _content(row: dict[str, Any]) -> bytes:
    return b"".join(bytes(row[column]) for column in ("pair", "surrogate", "scoped", "original", "sealed"))


def row_of(entry: Entry, sealer: Sealer) -> dict[str, Any]:
    """Return the sealed row of an entry."""
    indexes = sealer.indexes(entry)
    values: dict[str, object] = {
        "scope": entry.scope_id,
        "category": entry.category,
        "original": entry.original,
        "surrogate": entry.surrogate,
    }
    return {
        "pair": indexes.pair,
        "surrogate": indexes.surrogate,
        "scoped": indexes.scoped,
        "original": indexes.original,
        "sealed": sealer.seal("entry", values, indexes.joined()),
    }


class OpenedRow(NamedTuple):
    """A row of the vault, opened."""

    id: int
    entry: Entry
    fingerprint: int


def entries(connection: sql.Connection, sealer: Sealer, where: sql.ColumnElement[bool]) -> Iterator[OpenedRow]:
    """Yield the rows that fulfil ``where``, opened, by ascending number.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        An open transaction.
    sealer : Sealer
        The vault's keys.
    where : sqlalchemy condition
        Over the columns of `ENTRIES`.

    Raises
    ------
    StoreError
        When a row was altered; names its number.
    """
    last = -1
    while True:
        query = sql.select(ENTRIES).where(where, ENTRIES.c.id > last).order_by(ENTRIES.c.id).limit(_CHUNK)
        rows = connection.execute(query).mappings().all()
        for row in rows:
            last = row["id"]
            bound = b"".join(bytes(row[column]) for column in ("pair", "surrogate", "scoped", "original"))
            values = sealer.unseal("entry", bytes(row["sealed"]), bound)
            if values is None:
                raise altered("an entry was altered", f"row {last}")
            entry = Entry(*(str(values[name]) for name in ("scope", "category", "original", "surrogate")))
            yield OpenedRow(last, entry, sealer.fingerprint([_content(dict(row))]))
        if len(rows) < _CHUNK:
            return


def append(
    connection: sql.Connection,
    sealer: Sealer,
    state: VaultState,
    action: str,
    who: str,
    why: str,
    surrogate: str = "",
    found: int = 0,
) -> VaultState:
    """Write the next audit line; return the state that includes it.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        A transaction that writes.
    sealer : Sealer
        The vault's keys.
    state : VaultState
        The state that holds.
    action : str
        What is done, such as ``reidentify``.
    who, why : str
        Who asks, and for what purpose.
    surrogate : str
        What was looked up; empty where nothing was.
    found : int
        How many entries were found or removed.

    Raises
    ------
    ConfigError
        When ``who`` or ``why`` is empty.
    """
    if not who.strip() or not why.strip():
        raise ConfigError("every step in the audit trail needs who and why", "say who asks, and for what purpose")
    line = AuditLine(state.audit_lines + 1, now(), action, who.strip(), login(), why.strip(), surrogate, found)
    return write_line(connection, sealer, state, line)


def write_line(connection: sql.Connection, sealer: Sealer, state: VaultState, line: AuditLine) -> VaultState:
    """Write a line behind ``state``; return the state that includes it."""
    number = str(line.line).encode()
    sealed = sealer.seal("audit", {name: getattr(line, name) for name in AuditLine.__slots__}, number)
    link = sealer.check("link", state.audit_end, number, sealed)
    connection.execute(AUDIT.insert(), {"line": line.line, "sealed": sealed, "link": link})
    return replace(state, audit_lines=line.line, audit_end=link)


def trail(connection: sql.Connection, sealer: Sealer, state: VaultState) -> Iterator[AuditLine]:
    """Yield the audit lines in order, and check their chain against ``state``.

    Raises
    ------
    StoreError
        At the first line that was altered, removed or put in.
    """
    end = sealer.check("begin")
    expected = 0
    for row in connection.execute(sql.select(AUDIT).order_by(AUDIT.c.line)):
        expected += 1
        number = str(expected).encode()
        link = sealer.check("link", end, number, bytes(row.sealed))
        values = sealer.unseal("audit", bytes(row.sealed), number)
        if row.line != expected or values is None or not hmac.compare_digest(link, bytes(row.link)):
            raise altered("the audit trail was altered", f"line {expected}")
        end = link
        yield AuditLine(**values)  # type: ignore[arg-type]
    if expected != state.audit_lines or not hmac.compare_digest(end, state.audit_end):
        raise altered("the audit trail was cut or lengthened", f"line {expected}")


def actions_behind(connection: sql.Connection, sealer: Sealer, line: int) -> set[str]:
    """Return what was done behind a line of the audit trail; what was altered there is nothing, `trail` tells it."""
    found = connection.execute(sql.select(AUDIT).where(AUDIT.c.line > line))
    opened = (sealer.unseal("audit", bytes(row.sealed), str(row.line).encode()) for row in found)
    return {str(values["action"]) for values in opened if values is not None}
