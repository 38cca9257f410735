"""De-identification of clinical reports: the public face.

Names below are loaded on first use, so that importing `deid` costs nothing.

Examples
--------
>>> import deid
>>> deid.scrub("Seen by Dr. Alice Baker on 3 May 2019.", policy="redact")
'Seen by Dr. [NAME] on [DATE].'
>>> [span.category for span in deid.find("Seen by Dr. Alice Baker on 3 May 2019.")]
['DOCTOR', 'DATE']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deid.base.lazy import lazily

if TYPE_CHECKING:
    from deid.base.keys import load_key
    from deid.detection import RecognizerOptions
    from deid.detection.recognizers import build_recognizer
    from deid.document import Document, Edit, Failure, Span
    from deid.evaluation import evaluate
    from deid.io import read, write
    from deid.labeling.tagger import load_model
    from deid.pipeline import Pipeline, PipelineOptions, build_pipeline
    from deid.pipeline.at_once import find, scrub
    from deid.pipeline.masking import Session
    from deid.replacement.policy import load_policy

__version__ = "0.3.0"

__getattr__ = lazily(__name__)
