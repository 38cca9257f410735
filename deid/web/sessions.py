"""Sessions of masking: which of the service's callers has which map of originals, in memory or in the vault.

The id of a session says by a keyed check whose it is, so that nobody can ask for another one's, and none that was never
given costs a look into the vault. In the vault a session goes on after a restart, and each unmasking leaves a line
in the audit trail before anything is told.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.pipeline.masking import Piece, Substitutes, is_of_session, keep, recalled, told

if TYPE_CHECKING:
    from deid.replacement.vault import Entry, Vault

T = TypeVar("T")
_CHECK = 32


class Sessions:
    """The sessions of a service; work on them is done by one thread, since a vault is for one.

    Parameters
    ----------
    key : Key
        Makes the checks of ids.
    language : str
        Of the notes (`Substitutes`).
    vault : Vault, optional
        Open; keeps the maps.
    most : int
        Sessions in memory; without a vault the one longest unused goes when there are more.
    """

    def __init__(self, key: Key, language: str = "en", vault: Vault | None = None, most: int = 1000) -> None:
        self._key, self._language, self._vault, self._most = key, language, vault, most
        self._known: OrderedDict[str, Substitutes] = OrderedDict()
        self._thread = ThreadPoolExecutor(1)

    @property
    def count(self) -> int:
        """Sessions in memory."""
        return len(self._known)

    def close(self) -> None:
        """Wait until what was begun is done."""
        self._thread.shutdown()

    def has(self, caller: str, session: str) -> bool:
        """Tell whether a session was given to a caller, and is still there."""
        given, right = (one.encode("utf-8", "surrogatepass") for one in (session, self._id(caller, session[:_CHECK])))
        return hmac.compare_digest(given, right) and (self._vault is not None or session in self._known)

    def _id(self, caller: str, number: str) -> str:
        return number + self._key.mac("masking session", caller, number).hex()[:_CHECK]

    async def mask(self, caller: str, session: str | None, text: str, pieces: list[Piece]) -> tuple[str, str]:
        """Return the session (a new one where None is named) and the masked text.

        Raises
        ------
        DeidError
            When that cannot be, or the vault cannot keep what was replaced; nothing is answered then.
        """
        return await self._done(lambda: self._mask(caller, session, text, pieces))

    def _mask(self, caller: str, named: str | None, text: str, pieces: list[Piece]) -> tuple[str, str]:
        session = named or self._id(caller, secrets.token_hex(_CHECK // 2))
        known = self._open(caller, session, "a text of the session is masked")
        count = len(known)
        try:
            masked = known.replace(text, pieces)
            if self._vault is not None:
                keep(self._vault, session, known.since(count))
        except BaseException:
            if len(known) > count:
                del self._known[session]  # it has what the vault does not know
            raise
        return session, masked

    async def unmask(self, caller: str, session: str, text: str, why: str) -> str:
        """Return a text with the originals of a session.

        Raises
        ------
        DeidError
            When the vault cannot keep the line of its audit trail, or no purpose is said; nothing is told then.
        """

        def unmask() -> str:
            known = self._open(caller, session, why)
            if self._vault is not None:
                told(self._vault, session, len(known), who=caller, why=why)
            return known.restore(text)

        return await self._done(unmask)

    @property
    def kept(self) -> bool:
        """Whether there is a vault."""
        return self._vault is not None

    async def reidentify(
        self, caller: str, surrogates: Sequence[str], why: str, scope: str | None, category: str | None
    ) -> list[list[Entry]]:
        """Return what the vault knows of each surrogate, but for what sessions masked: that is whose they are.

        Each look-up leaves a line in the audit trail before anything is told.

        Raises
        ------
        DeidError
            When there is no vault, no purpose is said, or the vault cannot be read or keep the line.
        """
        vault = self._vault
        if vault is None:
            raise ConfigError("there is no vault", "ask whoever runs the service (--vault)")

        def look_up() -> list[list[Entry]]:
            return [
                vault.lookup(one, who=caller, why=why, scope_id=scope, category=category, hidden=is_of_session)
                for one in surrogates
            ]

        return await self._done(look_up)

    def _open(self, caller: str, session: str, why: str) -> Substitutes:
        known = self._known.get(session)
        if known is None:
            known = Substitutes(self._language)
            if self._vault is not None:
                for one in recalled(self._vault, session, who=caller, why=why):
                    known.add(one)
            self._known[session] = known
        self._known.move_to_end(session)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return known

    async def _done(self, what: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, what)
