"""pandas, loaded when it is first used: a command that needs no table starts without it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
else:

    class _Late:
        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module("pandas"), name)

    pd = _Late()

__all__ = ["pd"]
