"""The vault: which surrogate stands for which original, for those who are entitled to know.

Originals lie encrypted in a SQL store (`deid.replacement.sealing`, `deid.base.store`). Every re-identification writes
an audit line, who and why, before it tells anything. The lines form a chain of keyed checks, and a keyed check over the
whole vault (number and fingerprint of its rows, end of the chain) is renewed by every step; so a row or line that was
changed, removed or added by someone without the key is found by `Vault.verify`. What no check inside can find is an
older copy of the whole database in place of the newer one: how far it came is noted beside the user's keys
(`deid.base.noted`), and the end of the chain that `Vault.verify` returns can be kept elsewhere.

Writers wait for each other; each step is one transaction, there whole or not at all. `Vault.rotate` re-encrypts
everything under another key in one transaction; whoever still has the vault open under the old key is refused then.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from deid.base.errors import ConfigError, DeidError, StoreError
from deid.base.keys import Key
from deid.base.noted import furthest, note_progress, noted, noted_place
from deid.base.store import Store, made_whole, open_store
from deid.replacement import vault_rows as rows
from deid.replacement.sealing import Entry, Sealer
from deid.replacement.vault_rows import ENTRIES, STATE, AuditLine, VaultState

_CHUNK = 500  # values in one statement
_LIST = "vaults"
_SETTLED = 1.0
"""Seconds after which it is on the disk how far the vault came; a process that is killed loses none of it."""


class Vault(AbstractContextManager["Vault"]):
    """An open vault; made by `Vault.create` or `Vault.open`, closed by `close` or as a context manager.

    For one thread. A process that was forked gets connections of its own.
    """

    def __init__(self, store: Store, sealer: Sealer, vault_id: str, map_version: int) -> None:
        self._store = store
        self._sealer = sealer
        self._vault_id = vault_id
        self.map_version = map_version
        """Version of the map of numbers (`deid.base.keys.MAP_VERSION`) by which its surrogates are made, for good."""
        self._far: tuple[int, ...] = ()
        """Audit lines and entries when that was noted last: lines only grow, and between two lines entries do."""
        self._settled: tuple[int, ...] = ()
        """Those when they were last put on the disk, and when that was."""
        self._settled_at = 0.0
        self._lines = 0
        """Audit lines behind which nobody was forgotten while the vault is open."""

    @classmethod
    def create(cls, place: str | Path, key: Key, *, who: str, why: str = "a new vault") -> Vault:
        """Create a vault and open it.

        Parameters
        ----------
        place : str or Path
            A file that does not exist yet, or the URL of a PostgreSQL database.
        key : Key
            Without it nothing can be read again. The vault goes by the key's map of numbers (`deid.base.keys.Key.map`).
        who, why : str
            For the first audit line.

        Returns
        -------
        Vault
            The vault, open and empty but for its first audit line.

        Raises
        ------
        StoreError
            When there is a vault already, or the place cannot be written.
        """
        vault_id = secrets.token_hex(16)
        sealer = Sealer(key, vault_id)
        with made_whole(place):
            store = open_store(place, rows.TABLES, create=True)
            with _closed_on_error(store), store.writing() as connection:
                if connection.execute(sql.select(STATE.c.id)).first():
                    raise StoreError("there is a vault already", "use it, or name another place")
                state = VaultState.empty(vault_id, sealer, key.map)
                connection.execute(STATE.insert(), {"id": 1, **state.row(sealer)})
                state = rows.append(connection, sealer, state, "init", who, why)
                state.save(connection, sealer)
        return cls(store, sealer, vault_id, key.map)._begun(state)

    @classmethod
    def open(cls, place: str | Path, key: Key) -> Vault:
        """Open a vault.

        Parameters
        ----------
        place : str or Path
            Its file, or the URL of its PostgreSQL database.
        key : Key
            The key that it was made with.

        Returns
        -------
        Vault
            The vault; its state was checked, its single rows are when they are read.

        Raises
        ------
        ConfigError
            When the key is not the vault's, or other users may read its file.
        StoreError
            When there is no vault, or it was altered, or cannot be reached; or an older copy lies in its place.
        """
        before = list(noted(_LIST))
        store = open_store(place, rows.TABLES)
        with _closed_on_error(store), store.reading() as connection:
            state, row = VaultState.read(connection)
            sealer = Sealer(key, state.vault_id)
            state.check(row, sealer)
            far = furthest(before, {"vault": state.vault_id}, "lines", "entries")
            if (state.audit_lines, state.entries) < far:
                what = (
                    f"the vault has {state.entries} entries and {state.audit_lines} lines of its audit trail, and had "
                    f"{far[1]} and {far[0]}: an older copy lies in its place"
                )
                hint = f"put the newest one back; where it is lost, take the lines of {state.vault_id} out of {{}}"
                raise StoreError(what, hint.format(noted_place(_LIST)))
        opened = cls(store, sealer, state.vault_id, state.map_version)
        opened._far = opened._settled = far[0], far[1]
        return opened._begun(state)

    def _begun(self, state: VaultState) -> Vault:
        self._lines = state.audit_lines
        self._note(state)
        return self

    def _note(self, state: VaultState, *, settle: bool = False) -> None:
        """Note how far the vault came, behind every step: what leaves this process stands on no step that is not noted.

        Where nothing can be written, an older copy is not told.
        """
        came = state.audit_lines, state.entries
        settle = settle or time.monotonic() - self._settled_at > _SETTLED
        if came > self._far or (settle and came > self._settled):
            self._far = max(came, self._far)
            if settle:
                self._settled, self._settled_at = self._far, time.monotonic()
            with suppress(OSError):
                note_progress(
                    _LIST, {"vault": self._vault_id}, dict(zip(("lines", "entries"), came, strict=True)), on_disk=settle
                )

    def close(self) -> None:
        """Note how far the vault came, and close the connections."""
        with suppress(DeidError), self._reading() as (_, state):
            self._note(state, settle=True)
        self._store.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Vault({self._store.shown})"

    def _same_key(self, state: VaultState, row: Any) -> None:
        """Raise `StoreError` when somebody gave the vault another key since it was opened, or altered its account."""
        try:
            state.check(row, self._sealer)
        except ConfigError:
            hint = "run again with the new key, with --resume where the command has it"
            raise StoreError("the vault was given another key meanwhile", hint) from None

    @contextmanager
    def _reading(self) -> Iterator[tuple[sql.Connection, VaultState]]:
        with _placed(self._store), self._store.reading() as connection:
            state, row = VaultState.read(connection)
            self._same_key(state, row)
            yield connection, state

    @contextmanager
    def _writing(self) -> Iterator[tuple[sql.Connection, VaultState]]:
        """Hold the lock on the state, so that no other writer and no re-keying comes between."""
        with _placed(self._store), self._store.writing() as connection:
            state, row = VaultState.read(connection, lock=True)
            self._same_key(state, row)
            yield connection, state

    # ------------------------------------------------------------------------------------------------ writing

    def record(self, scope_id: str, category: str, original: str, surrogate: str) -> None:
        """Keep that ``surrogate`` stands for ``original`` in a scope; more than once does no harm."""
        self.record_all([Entry(scope_id, category, original, surrogate)])

    def record_all(self, entries: Iterable[Entry], *, all_known: bool = False) -> int:
        """Keep many entries, such as those of one document, in one transaction.

        Parameters
        ----------
        entries : iterable of Entry
        all_known : bool
            Refuse where a person was forgotten since the vault was opened: entries may be that person's.

        Returns
        -------
        int
            How many of them are new.

        Raises
        ------
        StoreError
            When nothing was kept: the database failed, the vault has another key since, or a person was forgotten.
        """
        sealed = {row["pair"]: row for row in (rows.row_of(entry, self._sealer) for entry in dict.fromkeys(entries))}
        if not sealed:
            return 0
        with self._writing() as (connection, state):
            if all_known and state.audit_lines > self._lines:
                if "forget" in rows.actions_behind(connection, self._sealer, self._lines):
                    hint = "delete the person's notes, then run again, with --resume where the command has it"
                    raise StoreError("a person was forgotten meanwhile, who may be in the notes of this run", hint)
                self._lines = state.audit_lines
            for chunk in _chunks(list(sealed)):
                for pair in connection.scalars(sql.select(ENTRIES.c.pair).where(ENTRIES.c.pair.in_(chunk))):
                    del sealed[bytes(pair)]
            new = list(sealed.values())
            if new:
                connection.execute(ENTRIES.insert(), new)
                state = state.grown(new, self._sealer)
                state.save(connection, self._sealer)
        self._note(state)
        return len(new)

    # ------------------------------------------------------------------------------------------------ reading

    def is_original(self, text: str) -> bool:
        """Tell whether ``text`` is a stored original; case and white space do not count."""
        return bool(self.originals_among([text]))

    def originals_among(self, texts: Iterable[str]) -> set[str]:
        """Return those of ``texts`` that are stored originals: what a surrogate must not be."""
        return self._among(ENTRIES.c.original, {text: self._sealer.original_index(text) for text in texts})

    def surrogates_among(self, scope_id: str, texts: Iterable[str]) -> set[str]:
        """Return those of ``texts`` that are stored as surrogates in a scope."""
        return self._among(ENTRIES.c.scoped, {text: self._sealer.scoped_index(scope_id, text) for text in texts})

    def _among(self, column: sql.Column[bytes], indexes: Mapping[str, bytes]) -> set[str]:
        found: set[bytes] = set()
        with self._reading() as (connection, _):
            for chunk in _chunks(list(dict.fromkeys(indexes.values()))):
                found.update(map(bytes, connection.scalars(sql.select(column).where(column.in_(chunk)))))
        return {text for text, index in indexes.items() if index in found}

    def lookup(
        self,
        surrogate: str,
        *,
        who: str,
        why: str,
        scope_id: str | None = None,
        category: str | None = None,
        hidden: Callable[[Entry], bool] = lambda _: False,
    ) -> list[Entry]:
        """Tell what a surrogate stands for. Writes the audit line first, also when nothing is found.

        Parameters
        ----------
        surrogate : str
            Case and white space do not count.
        who, why : str
            Who asks, and for what purpose; for the audit trail.
        scope_id, category : str, optional
            Only entries of this scope, of this category.
        hidden : callable
            Tells which entries are not for whoever asks.

        Returns
        -------
        list of Entry
            In the order in which they were kept; surrogates of several patients can be the same.

        Raises
        ------
        ConfigError
            When ``who`` or ``why`` is empty.
        StoreError
            When an entry was altered; then nothing is told.
        """
        if scope_id is None:
            where = ENTRIES.c.surrogate == self._sealer.surrogate_index(surrogate)
        else:
            where = ENTRIES.c.scoped == self._sealer.scoped_index(scope_id, surrogate)
        with self._writing() as (connection, state):
            entries = [row.entry for row in rows.entries(connection, self._sealer, where)]
            entries = [entry for entry in entries if category in (None, entry.category) and not hidden(entry)]
            state = rows.append(connection, self._sealer, state, "reidentify", who, why, surrogate, len(entries))
            state.save(connection, self._sealer)
        self._note(state)
        return entries  # the transaction with the audit line has been committed

    def scoped(self, scope_id: str, *, who: str, why: str) -> list[Entry]:
        """Return all entries of a scope, in the order in which they were kept; opens every row. Writes the audit line
        first.

        Raises
        ------
        ConfigError
            When ``who`` or ``why`` is empty.
        StoreError
            When an entry was altered; then nothing is told.
        """
        with self._writing() as (connection, state):
            opened = (row.entry for row in rows.entries(connection, self._sealer, sql.true()))
            entries = [entry for entry in opened if entry.scope_id == scope_id]
            state = rows.append(connection, self._sealer, state, "reidentify", who, why, scope_id, len(entries))
            state.save(connection, self._sealer)
        self._note(state)
        return entries

    def told(self, scope_id: str, found: int, *, who: str, why: str) -> None:
        """Write the audit line of a re-identification out of entries of a scope that are in memory.

        Raises
        ------
        ConfigError
            When ``who`` or ``why`` is empty.
        """
        with self._writing() as (connection, state):
            state = rows.append(connection, self._sealer, state, "reidentify", who, why, scope_id, found)
            state.save(connection, self._sealer)
        self._note(state)

    # ------------------------------------------------------------------------------------- checking, re-keying

    def audit(self) -> list[AuditLine]:
        """Return the audit trail.

        Raises
        ------
        StoreError
            When it was altered; names the line.
        """
        with self._reading() as (connection, state):
            return list(rows.trail(connection, self._sealer, state))

    def verify(self) -> VaultState:
        """Open every row and line, and compare all with the vault's account of itself.

        Returns
        -------
        VaultState
            Number of entries and lines, and the end of the audit chain.

        Raises
        ------
        StoreError
            When something was altered, removed or added.
        """
        with self._reading() as (connection, state):
            self._verify(connection, state)
            return state

    def _verify(self, connection: sql.Connection, state: VaultState) -> list[AuditLine]:
        count = fingerprint = 0
        for row in rows.entries(connection, self._sealer, sql.true()):
            count += 1
            fingerprint += row.fingerprint
        if (count, fingerprint % (1 << 256)) != (state.entries, state.fingerprint):
            raise rows.altered(f"entries were removed, added or exchanged ({count} instead of {state.entries})")
        return list(rows.trail(connection, self._sealer, state))

    def rotate(self, new_key: Key, *, who: str, why: str) -> bool:
        """Re-encrypt everything under another key, in one transaction, after checking everything.

        Returns
        -------
        bool
            Whether the database could also remove what the old rows left in its files. If not, or if copies exist,
            whoever has the old key can still read those.

        Raises
        ------
        ConfigError
            When the new key is the present one, or ``who`` or ``why`` is empty.
        StoreError
            When something was altered, or the database failed; the old key is still valid then.
        """
        new = Sealer(new_key, self._vault_id)
        if new.check("key") == self._sealer.check("key"):
            raise ConfigError("the new key is the one that the vault has", "make another one: name a new key file")
        with self._writing() as (connection, state):
            lines = self._verify(connection, state)
            changed = VaultState.empty(self._vault_id, new, self.map_version)
            batch: list[dict[str, Any]] = []
            for row in rows.entries(connection, self._sealer, sql.true()):
                batch.append({"of": row.id, **rows.row_of(row.entry, new)})
                if len(batch) == _CHUNK:
                    changed = _overwrite(connection, batch, changed, new)
                    batch = []
            changed = _overwrite(connection, batch, changed, new)
            connection.execute(rows.AUDIT.delete())
            for line in lines:
                changed = rows.write_line(connection, new, changed, line)
            changed = rows.append(connection, new, changed, "rotate", who, why)
            changed.save(connection, new)
        self._sealer = new
        self._note(changed, settle=True)
        return self._store.compact(rows.TABLES)

    def forget(self, scope_ids: Collection[str], *, who: str, why: str) -> tuple[int, bool]:
        """Remove all entries of some scopes: a person has the right to be forgotten.

        The audit line says how many entries went, not whose; lines of earlier look-ups stay, and hold no original.

        Parameters
        ----------
        scope_ids : collection of str
            Such as ``patient:4711``.
        who, why : str
            For the audit trail.

        Returns
        -------
        (int, bool)
            Entries removed; whether the database could also remove what they left in its files. Copies and backups
            are beyond reach.

        Raises
        ------
        ConfigError
            When ``who`` or ``why`` is empty.
        StoreError
            When something was altered; then nothing is removed.
        """
        gone = 0
        with self._writing() as (connection, state):
            self._verify(connection, state)
            batch: list[int] = []
            for row in rows.entries(connection, self._sealer, sql.true()):
                if row.entry.scope_id in scope_ids:
                    batch.append(row.id)
                    state = state.shrunk(row)
            for start in range(0, len(batch), _CHUNK):
                connection.execute(ENTRIES.delete().where(ENTRIES.c.id.in_(batch[start : start + _CHUNK])))
            gone = len(batch)
            state = rows.append(connection, self._sealer, state, "forget", who, why, found=gone)
            state.save(connection, self._sealer)
        self._note(state, settle=True)
        return gone, self._store.compact(rows.TABLES)


def _overwrite(
    connection: sql.Connection, batch: list[dict[str, Any]], state: VaultState, sealer: Sealer
) -> VaultState:
    """Replace rows by what ``batch`` holds; return the state that includes them."""
    if not batch:
        return state
    new: dict[str, Any] = {column: sql.bindparam(column) for column in batch[0] if column != "of"}
    connection.execute(ENTRIES.update().where(ENTRIES.c.id == sql.bindparam("of")).values(new), batch)
    return state.grown(batch, sealer)


def _chunks(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))


@contextmanager
def _placed(store: Store) -> Iterator[None]:
    """Add the vault's place to errors of the block."""
    try:
        yield
    except DeidError as error:
        raise error.at(store.shown) from None


@contextmanager
def _closed_on_error(store: Store) -> Iterator[None]:
    """Close the store when the block fails, and add its place to the error."""
    try:
        with _placed(store):
            yield
    except BaseException:
        store.close()
        raise
