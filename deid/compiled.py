"""The compiled module, where it was built; every user of it has a Python route that does the same.

``DEID_KERNELS=numpy`` in the environment chooses the Python routes.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

__all__ = ["BACKEND", "native"]


def _load() -> Any:
    if os.environ.get("DEID_KERNELS") == "numpy":
        return None
    try:
        return importlib.import_module("deid._native")
    except ImportError:
        return None


native = _load()
"""``deid._native``, or None."""

BACKEND = "numpy" if native is None else "native"
"""Which routes run: ``native`` or ``numpy``."""
