"""De-identification of clinical reports: the public face.

Names below are loaded on first use, so that importing `deid` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from deid.document import Document, Edit, Failure, Span

if TYPE_CHECKING:
    from deid.base.keys import load_key
    from deid.detection.recognizers import build_recognizer
    from deid.evaluation import evaluate
    from deid.io import read, write
    from deid.labeling.tagger import load_model
    from deid.pipeline import Pipeline
    from deid.replacement.policy import load_policy

__all__ = [
    "Document",
    "Edit",
    "Failure",
    "Pipeline",
    "Span",
    "__version__",
    "build_recognizer",
    "evaluate",
    "load_key",
    "load_model",
    "load_policy",
    "read",
    "write",
]

__version__ = "0.1.0"

_HOMES = {
    "Pipeline": "deid.pipeline",
    "build_recognizer": "deid.detection.recognizers",
    "evaluate": "deid.evaluation",
    "load_key": "deid.base.keys",
    "load_model": "deid.labeling.tagger",
    "load_policy": "deid.replacement.policy",
    "read": "deid.io",
    "write": "deid.io",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'deid' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
