"""Keyed forms of what a vault holds: sealed rows, look-up indexes, checks.

A row is sealed with AES-256-GCM under a key that belongs to one vault and one purpose, bound to its indexes, so that a
row whose indexes or content were exchanged no longer opens. Indexes are HMACs of normalized text: equal texts have
equal indexes (whoever holds the file but not the key learns that, and nothing else), and a look-up costs the same in a
vault of any size. Sealed lengths are rounded up, so that they do not tell the length of a name.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deid.base.keys import Key

_NONCE = 12
_INDEX = 16  # bytes; two of a billion texts collide with a chance of 1 in 10**20
_BLOCK = 64  # sealed lengths are multiples of this


@dataclass(frozen=True, slots=True)
class Entry:
    """A replaced text with its surrogate and its scope. Its `repr` shows the category only."""

    scope_id: str = field(repr=False)
    """Within what the surrogate stands for the original: `deid.replacement.scope.Scope.person_scope`."""
    category: str
    original: str = field(repr=False)
    surrogate: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Indexes:
    """The look-up indexes of an entry."""

    pair: bytes
    """Of everything, exactly: an entry is kept once."""
    surrogate: bytes
    scoped: bytes
    """Of the surrogate in its scope."""
    original: bytes

    def joined(self) -> bytes:
        """Return all indexes as one string of fixed length."""
        return self.pair + self.surrogate + self.scoped + self.original


def normalized(text: str) -> str:
    """Return the form in which texts are looked up: case and white space do not count."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Sealer:
    """The keys of one vault."""

    def __init__(self, key: Key, vault_id: str) -> None:
        own = key.derive(f"vault {vault_id}")
        self._index = own.derive("index")
        self._check = own.derive("check")
        self._seal = AESGCM(own.derive("seal").secret)
        self._bound = vault_id.encode()

    def indexes(self, entry: Entry) -> Indexes:
        """Return the look-up indexes of an entry."""
        return Indexes(
            self._index.mac("pair", entry.scope_id, entry.category, entry.original, entry.surrogate)[:_INDEX],
            self.surrogate_index(entry.surrogate),
            self.scoped_index(entry.scope_id, entry.surrogate),
            self.original_index(entry.original),
        )

    def surrogate_index(self, surrogate: str) -> bytes:
        """Return the index of a surrogate in any scope."""
        return self._index.mac("surrogate", normalized(surrogate))[:_INDEX]

    def scoped_index(self, scope_id: str, surrogate: str) -> bytes:
        """Return the index of a surrogate in one scope."""
        return self._index.mac("scoped", scope_id, normalized(surrogate))[:_INDEX]

    def original_index(self, original: str) -> bytes:
        """Return the index of an original in any scope."""
        return self._index.mac("original", normalized(original))[:_INDEX]

    def seal(self, kind: str, values: dict[str, object], bound: bytes) -> bytes:
        """Return ``values`` (JSON) encrypted by AES-GCM and padded, bound to a kind of row and to ``bound``."""
        text = json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode()
        padded = text + b" " * (-len(text) % _BLOCK)
        nonce = os.urandom(_NONCE)
        return nonce + self._seal.encrypt(nonce, padded, self._associated(kind, bound))

    def unseal(self, kind: str, sealed: bytes, bound: bytes) -> dict[str, object] | None:
        """Return what `seal` encrypted; None when it was altered, or sealed with another key, kind or ``bound``."""
        try:
            text = self._seal.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._associated(kind, bound))
        except (InvalidTag, ValueError):
            return None
        values: dict[str, object] = json.loads(text)
        return values

    def _associated(self, kind: str, bound: bytes) -> bytes:
        return kind.encode() + b"\0" + self._bound + b"\0" + bound

    def check(self, kind: str, *parts: bytes) -> bytes:
        """Return a keyed check of ``parts``."""
        message = b"".join(len(part).to_bytes(8, "big") + part for part in (kind.encode(), *parts))
        return hmac.new(self._check.secret, message, hashlib.sha256).digest()

    def fingerprint(self, rows: Iterable[bytes]) -> int:
        """Return a number that tells which rows there are, in whatever order; fingerprints of parts add up."""
        return sum(int.from_bytes(self.check("row", row), "big") for row in rows) % (1 << 256)
