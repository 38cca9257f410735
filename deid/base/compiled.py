"""The compiled module, where it was built; every user of it has a Python route that does the same.

``DEID_KERNELS=numpy`` in the environment chooses the Python routes.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import Any, TypeVar

__all__ = ["BACKEND", "native", "quick"]

_Class = TypeVar("_Class", bound=type)


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


def quick(cls: _Class) -> _Class:
    """Let the compiled module make the objects of a data class, five times as fast as its initializer.

    Only for classes with slots of which many objects are made; what the class does is the same.

    Parameters
    ----------
    cls : type
        A data class with slots whose fields are all arguments, without ``__post_init__``. A call that leaves a field
        with a factory out takes as long as ever.

    Returns
    -------
    type
        The class itself.
    """
    if native is not None:
        fields = dataclasses.fields(cls)
        assert not hasattr(cls, "__post_init__"), "an initializer of its own cannot be passed over"
        assert all(f.init for f in fields), "all fields are arguments"
        values = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
        native.quicken(cls, tuple(f.name for f in fields), values)
    return cls
