"""What a user says of annotated documents of their own, and of what is measured on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import require
from deid.base.keys import WorkOptions
from deid.base.options import again, argument, option
from deid.detection.options import RecognizerOptions
from deid.io.formats import ReadingOptions

if TYPE_CHECKING:
    from deid.detection.recognizers import LazyRecognizer

GOLD: Any = argument("Annotated file or folder of any readable format.", metavar="GOLD")


@dataclass(frozen=True, kw_only=True)
class GoldOptions(RecognizerOptions, ReadingOptions):
    """Annotated documents, and what finds spans in them."""

    source: Path = GOLD
    jobs: int = again(WorkOptions, "jobs")
    seed: int = option(0, "Seed of halves, noise and bootstrap.", minimum=0)

    def recognizer(self) -> LazyRecognizer:
        """Return what finds spans."""
        from deid.pipeline.known_people import recognizer_of

        return recognizer_of(self)


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions(GoldOptions):
    """What is asked of the recall dial on these documents."""

    recall: float = option(0.99, "Recall of PHI words to reach.", metavar="R")
    confidence: float = option(0.95, "Confidence that it is reached.", metavar="C")
    dials: Sequence[float] | None = option(
        None, "Dials to try; by default 13 of them from 0 to 8.", metavar="D,...", panel="Detection"
    )

    def recognizer(self) -> LazyRecognizer:
        """Return what finds spans, whose dial is turned: one in the model's folder is no starting point.

        Raises
        ------
        ConfigError
            When a dial is set already.
        """
        from deid.pipeline.known_people import recognizer_of

        require(self.dial is None, "every dial is set here", "leave out --dial; --dials says which are tried")
        return recognizer_of(replace(self, dial="0"))
