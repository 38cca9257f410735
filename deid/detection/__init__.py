"""Find spans: rules, known identifiers, and the ensemble that joins them with a tagger."""

from __future__ import annotations

from deid.detection.ensemble import Ensemble
from deid.detection.recognizer import Recognizer
from deid.rules.rules import RuleRecognizer

__all__ = ["Ensemble", "Recognizer", "RuleRecognizer"]
