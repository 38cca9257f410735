"""From notes to scrubbed notes: a recognizer finds, a policy's operators replace, names are replaced too.

`Pipeline` works on documents in memory, `scrub_files` and `tag_files` on files and folders. `verify_files`
checks afterwards, and `deid.pipeline.edit_log` moves spans between original and scrubbed texts.
"""

from __future__ import annotations

from deid.pipeline.batch import Report, scrub_files, tag_files
from deid.pipeline.core import Pipeline, Scrubbed, Settings
from deid.pipeline.recognizers import build_recognizer
from deid.pipeline.verification import Verification, verify_files

__all__ = [
    "Pipeline",
    "Report",
    "Scrubbed",
    "Settings",
    "Verification",
    "build_recognizer",
    "scrub_files",
    "tag_files",
    "verify_files",
]
