"""The commands calibrate and experiment robustness: what is found in a user's gold, by dial and by writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deid.base.errors import ConfigError
from deid.cli import EXIT_FAILED, JOBS, Summary, command, job_count, option, print_sections, progress
from deid.cli.notes import GOLD
from deid.detection.options import RecognizerOptions
from deid.io.formats import ReadingOptions
from deid.pipeline.facts import inputs_of, model_facts

if TYPE_CHECKING:
    from deid.detection.recognizers import LazyRecognizer

_FINDING = "Detection"


@dataclass(frozen=True, kw_only=True)
class GoldOptions(RecognizerOptions, ReadingOptions):
    """Annotated documents, and what finds spans in them."""

    source: Path = GOLD
    jobs: int = JOBS
    seed: int = option(0, "Seed of halves, noise and bootstrap.")

    def recognizer(self) -> LazyRecognizer:
        """Return what finds spans."""
        from deid.pipeline.known_people import recognizer_of

        return recognizer_of(self)


@command
def calibrate(
    told: Summary,
    *,
    gold: GoldOptions,
    recall: float = option(0.99, "Recall of PHI words to reach.", metavar="R"),
    confidence: float = option(0.95, "Confidence that it is reached.", metavar="C"),
    output: Path | None = option(None, "Write the dial to F, for --dial F of scrub and tag.", "--output", "-o"),
    dials: Sequence[float] | None = option(
        None, "Dials to try; by default 13 of them from 0 to 8.", metavar="D,...", panel=_FINDING
    ),
) -> int | None:
    """Set the recall dial on your own gold, and say what to expect.

    Takes the smallest dial whose lower confidence bound of recall reaches --recall. Exit status 1 when none does; then
    no file is written.

    Example: deid calibrate gold/ --recall 0.99 -o dial.json
    """
    from deid.detection.dial import Dial, write_dial
    from deid.experiments.calibration import DIALS, calibrate, calibration_section, describe

    found = gold.scan(gold.source)
    if output is not None:
        told.begin(output, inputs=inputs_of(found))
    if gold.dial is not None:
        raise ConfigError("every dial is set here", "leave out --dial; --dials says which are tried")
    # a dial in the model's folder is no starting point
    recognizer = replace(gold, dial="0").recognizer()
    result = calibrate(
        progress(found.documents(), "tagging"), recognizer, recall, confidence=confidence, dials=tuple(dials or DIALS),
        seed=gold.seed, jobs=job_count(gold.jobs),
    )  # fmt: skip
    print_sections([calibration_section(result)])
    told.documents, told.failures, told.notes = result.documents, list(result.failures), describe(result)
    chosen = result.chosen
    told.extra = result.as_dict() | {
        "dial": chosen.dial, "recall": chosen.recall, "bound": chosen.bound, "leaks_per_note": chosen.leaks
    }  # fmt: skip
    if output is not None and result.reached:
        details = {"target": recall, "confidence": confidence, "bound": chosen.bound}
        figures = {"rules": gold.rules, "language": gold.language, "documents": result.documents}
        measured = {**details, "gold": {**figures, **asdict(chosen)}}
        write_dial(output, Dial(chosen.dial, recognizer.fingerprint(), measured))
        told.places.append(
            f"wrote {output}: use it with --dial {output}, or keep it as dial.json in the model's folder"
        )
        told.sign(output, root=found.root, model=model_facts(recognizer))
    return 0 if result.reached else EXIT_FAILED


@command
def robustness(
    told: Summary,
    *,
    gold: GoldOptions,
    only: tuple[str, ...] = option((), "Measure just this writing, beside clean (repeatable)."),
) -> None:
    """Measure recall in capitals, small letters, scanner noise, other line ends, disguised characters.

    Example: deid experiment robustness gold/ --model en --jobs 2
    """
    from deid.experiments.robustness import PERTURBATIONS, measure_robustness, robustness_section

    result = measure_robustness(
        progress(gold.scan(gold.source).documents(), "tagging"), gold.recognizer(), names=only or tuple(PERTURBATIONS),
        seed=gold.seed, jobs=job_count(gold.jobs),
    )  # fmt: skip
    print_sections([robustness_section(result.rows)])
    told.documents, told.failures = result.documents, list(result.failures)
    told.extra = {"seed": gold.seed, "perturbations": [asdict(row) for row in result.rows]}
