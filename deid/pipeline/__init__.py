"""From notes to scrubbed notes: a recognizer finds, a policy's operators replace, names are replaced too.

`Pipeline` works on documents in memory, `scrub_files` and `tag_files` on files and folders. `verify_files`
checks afterwards, and `deid.pipeline.edit_log` moves spans between original and scrubbed texts.

Names below are loaded on first use: whoever scrubs one record needs no reader of folders.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deid.pipeline.batch import Report, scrub_files, tag_files
    from deid.pipeline.core import Pipeline, Scrubbed, Settings, build_pipeline
    from deid.pipeline.verification import Verification, verify_files

__all__ = [
    "Pipeline",
    "Report",
    "Scrubbed",
    "Settings",
    "Verification",
    "build_pipeline",
    "scrub_files",
    "tag_files",
    "verify_files",
]

_HOMES = {
    "Pipeline": "core",
    "Report": "batch",
    "Scrubbed": "core",
    "Settings": "core",
    "Verification": "verification",
    "build_pipeline": "core",
    "scrub_files": "batch",
    "tag_files": "batch",
    "verify_files": "verification",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'deid.pipeline' has no attribute {name!r}")
    return getattr(importlib.import_module(f"deid.pipeline.{_HOMES[name]}"), name)
