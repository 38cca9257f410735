"""From notes to scrubbed notes: a recognizer finds, a policy's operators replace, names are replaced too.

`Pipeline` works on documents in memory, `scrub_files` and `tag_files` on files and folders. `verify_files`
checks afterwards, and `deid.pipeline.edit_log` moves spans between original and scrubbed texts.

Names below are loaded on first use: whoever scrubs one record needs no reader of folders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deid.base.lazy import lazily

if TYPE_CHECKING:
    from deid.pipeline.batch import Report, scrub_files, tag_files
    from deid.pipeline.core import Pipeline, Scrubbed, Settings, build_pipeline
    from deid.pipeline.options import PipelineOptions
    from deid.pipeline.verification import Verification, verify_files

__all__ = [
    "Pipeline",
    "PipelineOptions",
    "Report",
    "Scrubbed",
    "Settings",
    "Verification",
    "build_pipeline",
    "scrub_files",
    "tag_files",
    "verify_files",
]

__getattr__ = lazily(
    __name__,
    {
        "Pipeline": "deid.pipeline.core",
        "PipelineOptions": "deid.pipeline.options",
        "Report": "deid.pipeline.batch",
        "Scrubbed": "deid.pipeline.core",
        "Settings": "deid.pipeline.core",
        "Verification": "deid.pipeline.verification",
        "build_pipeline": "deid.pipeline.core",
        "scrub_files": "deid.pipeline.batch",
        "tag_files": "deid.pipeline.batch",
        "verify_files": "deid.pipeline.verification",
    },
)
