"""The commands calibrate and experiment robustness: what is found in a user's gold, by dial and by writing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from deid.cli import EXIT_FAILED, Summary, command, option, print_sections, progress
from deid.experiments.gold import CalibrationOptions, GoldOptions
from deid.pipeline.facts import inputs_of, model_facts


@command
def calibrate(
    told: Summary,
    *,
    gold: CalibrationOptions,
    output: Path | None = option(None, "Write the dial to F, for --dial F of scrub and tag.", "--output", "-o"),
) -> int | None:
    """Set the recall dial on your own gold, and say what to expect.

    Takes the smallest dial whose lower confidence bound of recall reaches --recall. Exit status 1 when none does; then
    no file is written.

    Example: deid calibrate gold/ --recall 0.99 -o dial.json
    """
    from deid.detection.dial import write_dial
    from deid.experiments.calibration import calibrate, calibration_section, describe, measured_dial

    found = gold.scan(gold.source)
    if output is not None:
        told.begin(output, inputs=inputs_of(found))
    recognizer = gold.recognizer()
    result = calibrate(progress(found.documents(), "tagging"), recognizer, gold)
    values = result.as_dict()
    print_sections([calibration_section(values)])
    told.documents, told.failures, told.notes = result.documents, list(result.failures), describe(result)
    chosen = result.chosen
    told.extra = values | {
        "dial": chosen.dial, "recall": chosen.recall, "bound": chosen.bound, "leaks_per_note": chosen.leaks
    }  # fmt: skip
    if output is not None and result.reached:
        write_dial(output, measured_dial(result, recognizer, gold))
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
    from deid.experiments.robustness import measure_robustness, robustness_section

    documents = progress(gold.scan(gold.source).documents(), "tagging")
    result = measure_robustness(documents, gold.recognizer(), gold, only)
    print_sections([robustness_section(result.rows)])
    told.documents, told.failures = result.documents, list(result.failures)
    told.extra = {"seed": gold.seed, "perturbations": [asdict(row) for row in result.rows]}
