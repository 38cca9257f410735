"""Draws that depend on a seed and a name alone: not on the order, or on what else is drawn from."""

from __future__ import annotations

import hashlib


def draw(seed: int, name: str) -> bytes:
    """Return what stands for a name in draws: 32 uniform bytes, the same on every machine.

    Parameters
    ----------
    seed : int
    name : str
        Such as the id of a document.
    """
    return hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()
