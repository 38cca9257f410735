"""Keyed permutations of small and large sets: how surrogates are chosen without any memory.

A permutation of ``0 .. n-1`` never gives two originals the same surrogate, in whatever order and on whatever machine
they come. Large sets are permuted by a Feistel network on a rectangle of about square shape, walked until it falls
back into the set (Black and Rogaway 2002, "Ciphers with arbitrary finite domains"); small sets are shuffled. The
round function is keyed BLAKE2b; its key is an HMAC-SHA256 of the user's secret and the person's scope
(`deid.base.keys.Key.mac`).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isqrt
from typing import Final

from deid.base.keys import Key

_SHUFFLED: Final = 32
"""Sets up to this size are shuffled outright; a draw out of 65,536 for one of at most 32 is all but uniform."""
_CYCLED: Final = 1_000_000
_TRIES: Final = 8
_DRAWS: Final = struct.Struct(">32H").unpack
# four rounds of a pseudorandom function make a strong pseudorandom permutation (Luby and Rackoff 1988)
_ROUNDS: Final = tuple((step & 1, bytes([step])) for step in range(4))
_ROUNDS_BACK: Final = _ROUNDS[::-1]
_SCOPES: Final = 256
LARGEST: Final = 1 << 800
"""Size that no set may reach: a round's 512-bit digest would no longer be uniform over half of it."""


class Keyed:
    """Keyed numbers and permutations for one scope and one kind of thing.

    Parameters
    ----------
    key : Key
        The user's secret.
    *scope : str
        What the choices depend on, such as the person's scope and ``"names"``.

    Attributes
    ----------
    map : int
        Version of the map of numbers that the key goes by (`deid.base.keys.Key.map`).
    """

    def __init__(self, key: Key, *scope: str) -> None:
        self.map = key.map
        self._base = hashlib.blake2b(key=key.mac("surrogate", *scope), digest_size=64)

    def number(self, *parts: str) -> int:
        """Return a keyed 512-bit number for ``parts``; take it modulo n for a choice among n."""
        state = self._base.copy()
        coded = [part.encode("utf-8", "surrogatepass") for part in parts]
        state.update(b"".join([b"%d:%b" % (len(raw), raw) for raw in coded]))  # lengths: no two lists collide
        return int.from_bytes(state.digest(), "big")

    def permute(self, what: str, index: int, size: int, *, inverse: bool = False) -> int:
        """Return where a keyed permutation of ``range(size)`` sends ``index``.

        Parameters
        ----------
        what : str
            Names the permutation: another name, another permutation.
        index, size : int
            ``0 <= index < size``, and ``size`` below 2**800.
        inverse : bool
            Apply the inverse permutation.

        Raises
        ------
        ValueError
            When ``size`` is too large.
        """
        if size >= LARGEST:
            raise ValueError("the set is too large for one permutation")
        if size <= _SHUFFLED:
            return self._shuffled(what, index, size, inverse)
        wide = isqrt(size - 1) + 1
        high = -(-size // wide)
        tweak = self._base.copy()
        tweak.update(f"{what}\0{size}\0".encode("utf-8", "surrogatepass"))
        width = (wide.bit_length() + 7) // 8
        taken = min(width + 8, 64)  # eight bytes more than the modulus: the remainder is uniform
        copy, number = tweak.copy, int.from_bytes
        rounds, sign = (_ROUNDS_BACK, -1) if inverse else (_ROUNDS, 1)
        while True:
            left, right = divmod(index, high)
            for step, label in rounds:
                state = copy()
                if step:  # the second and the fourth
                    state.update(label + left.to_bytes(width, "big"))
                    right = (right + sign * number(state.digest()[:taken], "big")) % high
                else:
                    state.update(label + right.to_bytes(width, "big"))
                    left = (left + sign * number(state.digest()[:taken], "big")) % wide
            index = left * high + right
            if index < size:
                return index

    def _shuffled(self, what: str, index: int, size: int, inverse: bool) -> int:
        """Follow one place through a shuffle whose draws are the 32 words of one digest."""
        state = self._base.copy()
        state.update(b"order\0" + what.encode("utf-8", "surrogatepass"))
        draws = _DRAWS(state.digest())
        for step in range(1, size):
            last = step if inverse else size - step
            draw: int = draws[size - 1 - last]
            place = draw % (last + 1)
            if index == last:
                index = place
            elif index == place:
                index = last
        return index

    def move(self, what: str, index: int, size: int, steps: int = 1) -> int:
        """Return where a keyed permutation that leaves nothing in its place sends ``index``; else as `permute`.

        In sets of up to a million it is one large cycle: conjugate of "add one" by a keyed permutation, and ``steps``
        goes on along the cycle, for a second and third choice. In larger sets every step has a permutation of its own,
        whose fixed points (one in the whole set, on average) are sent on by another.

        Raises
        ------
        ValueError
            When ``size`` is below 2.
        """
        if size < 2:
            raise ValueError("a set of one cannot be moved")
        if size > _CYCLED:
            for attempt in range(steps, steps + _TRIES):
                moved = self.permute(f"{what}\0{attempt}", index, size)
                if moved != index:
                    return moved
        place = self.permute(what, index, size, inverse=True)
        return self.permute(what, (place + 1 + (steps - 1) % (size - 1)) % size, size)

    def cycle(self, what: str, index: int, size: int) -> Iterator[int]:
        """Yield the places behind ``index`` on a keyed cycle through all of ``range(size)``, and do not come back.

        The first one for every index is a permutation without fixed point, and so is the first one in a part of the
        set, for every index of that part.
        """
        place = self.permute(what, index, size, inverse=True)
        for step in range(1, size):
            yield self.permute(what, (place + step) % size, size)

    def shuffle(self, what: str, items: Sequence[str]) -> list[str]:
        """Return ``items`` (32 at most) in a keyed order."""
        order = list(items)
        state = self._base.copy()
        state.update(b"shuffle\0" + what.encode("utf-8", "surrogatepass"))
        for last, draw in zip(range(len(order) - 1, 0, -1), _DRAWS(state.digest()), strict=False):
            place = draw % (last + 1)
            order[last], order[place] = order[place], order[last]
        return order


@lru_cache(maxsize=_SCOPES)
def keyed_for(key: Key, scope: str) -> Keyed:
    """Return the choices of a scope; operators of one document share them."""
    return Keyed(key, scope)
