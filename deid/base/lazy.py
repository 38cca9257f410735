"""Names of a room that are loaded on first use, so that importing the room costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def lazily(room: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``.

    Parameters
    ----------
    room : str
        Name of the package.
    homes : dict of str to str
        Name -> module that defines it.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return find
