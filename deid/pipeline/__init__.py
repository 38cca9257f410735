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

__getattr__ = lazily(__name__)
