"""Find spans: rules, known identifiers, and the ensemble that joins them with a tagger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import deid.base.compiled  # before a compiled module could stand in for an edited source
from deid.base.lazy import lazily

if TYPE_CHECKING:
    from deid.detection.ensemble import Ensemble
    from deid.detection.options import PeopleOptions, RecognizerOptions
    from deid.detection.recognizer import Recognizer
    from deid.rules.rules import RuleRecognizer

__getattr__ = lazily(__name__)
