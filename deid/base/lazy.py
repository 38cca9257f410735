"""Names of a room that are loaded on first use, so that importing the room costs nothing."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazily(room: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names are what its source imports if ``TYPE_CHECKING``.

    Parameters
    ----------
    room : str
        Name of the package.
    """

    @functools.cache
    def homes() -> dict[str, str]:
        import ast

        tree = ast.parse(Path(sys.modules[room].__file__ or "").read_bytes())
        blocks = [node for node in tree.body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        return {alias.name: node.module or "" for node in imports for alias in node.names}

    def find(name: str) -> Any:
        if name == "__all__":
            return sorted(homes())
        if name not in homes():
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes()[name]), name)

    return find
