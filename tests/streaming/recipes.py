"""A recipe for tests: a recognizer of a few words, so that workers start fast, and words that make them fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deid.base.keys import Key

if TYPE_CHECKING:
    from deid.pipeline import Pipeline

KEY = Key(b"k" * 32)


@dataclass(frozen=True)
class WordRecipe:
    """Replaces what `fakes.WordRecognizer` finds (``Zebulon Quartermain`` and the like) by tags."""

    key: Key = KEY
    patient_field: str | None = None
    keep: frozenset[str] = frozenset()
    policy: str = "redact"

    def pipeline(self) -> Pipeline:
        from fakes import WordRecognizer

        from deid.pipeline import Pipeline, Settings
        from deid.pipeline.patients import Patients
        from deid.replacement.policy import load_policy

        settings = Settings(patients=Patients(field_name=self.patient_field), keep_fields=self.keep)
        return Pipeline(WordRecognizer(), load_policy(self.policy), self.key, settings)


@dataclass(frozen=True)
class BrokenRecipe:
    """Fails to load: with an error of deid's own, or by dying."""

    how: str
    key: Key = KEY

    def pipeline(self) -> Pipeline:
        import os
        import signal

        from deid.base.errors import ModelError

        if self.how == "error":
            raise ModelError("the model is of another version", "train it again")
        if self.how == "bug":
            raise ValueError("Zebulon Quartermain")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError
