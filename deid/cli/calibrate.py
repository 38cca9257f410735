"""The command calibrate: sets the recall dial on a user's gold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import EXIT_FAILED, Summary, SummaryJson, progress
from deid.cli.source_options import (
    Allow,
    AnyLabel,
    Deny,
    Encoding,
    Jobs,
    Language,
    Model,
    Rules,
    job_count,
    read_options,
    site_lists,
)
from deid.cli.tables import print_sections, write_json

if TYPE_CHECKING:
    from deid.evaluation.sections import Section
    from deid.experiments.calibration import Calibration


def _calibrate(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="Annotated file or folder of any readable format.")],
    recall: Annotated[float, typer.Option(metavar="R", help="Recall of PHI words to reach.")] = 0.99,
    confidence: Annotated[float, typer.Option(metavar="C", help="Confidence that it is reached.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="F", help="Write the dial to F, for --dial F of scrub and tag.")
    ] = None,
    dials: Annotated[
        str | None, typer.Option(metavar="D,...", help="Dials to try; by default 13 of them from 0 to 8.")
    ] = None,
    model: Model = None,
    rules: Rules = None,
    language: Language = None,
    deny: Deny = None,
    allow: Allow = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the halves and the bootstrap.")] = 0,
    jobs: Jobs = 1,
    format: Annotated[
        str | None, typer.Option(metavar="F", help="Format of GOLD; told by its content if not given.")
    ] = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="F", help="Write all numbers as JSON to F.")
    ] = None,
    summary_json: SummaryJson = None,
) -> None:
    """Set the recall dial on your own gold, and say what to expect.

    Takes the smallest dial whose lower confidence bound of recall reaches --recall. Exit status 1 when none does; then
    no file is written.

    Example: deid calibrate gold/ --recall 0.99 --out dial.json
    """
    from deid.base.errors import ConfigError
    from deid.detection.dial import Dial, write_dial
    from deid.detection.recognizers import build_recognizer
    from deid.experiments.calibration import DIALS, calibrate, describe
    from deid.io import scan

    found = scan(gold, format, read_options(encoding, any_label, None, None, None))
    try:
        tried = DIALS if dials is None else tuple(float(part) for part in dials.split(","))
    except ValueError:
        raise ConfigError("--dials is no list of numbers", "put commas between, for example: 0,1,2") from None
    # a dial in the model's folder is no starting point: every dial is set here
    recognizer = build_recognizer(model, rules=rules, bias=0.0, language=language, site=site_lists(deny, allow))
    result = calibrate(
        progress(found.documents(), "tagging"),
        recognizer,
        recall,
        confidence=confidence,
        dials=tried,
        seed=seed,
        jobs=job_count(jobs),
    )
    print_sections([_section(result)])
    summary = Summary("calibrate", documents=result.documents, failures=list(result.failures))
    summary.notes = describe(result)
    if out is not None and result.reached:
        details = {"target": recall, "confidence": confidence, "bound": result.chosen.bound}
        figures = {"rules": rules, "language": language, "documents": result.documents, **result.chosen.as_dict()}
        write_dial(out, Dial(result.chosen.dial, recognizer.fingerprint(), {**details, "gold": figures}))
        summary.notes.append(f"wrote {out}: use it with --dial {out}, or keep it as dial.json in the model's folder")
    if json_file is not None:
        write_json(json_file, result.as_dict())
    summary.extra = {
        "dial": result.chosen.dial,
        "reached": result.reached,
        "recall": result.chosen.recall,
        "bound": result.chosen.bound,
        "leaks_per_note": result.chosen.leaks,
        "too_small": result.too_small,
    }
    summary.finish(summary_json)
    if not result.reached:
        raise typer.Exit(EXIT_FAILED)


def _section(result: Calibration) -> Section:
    from deid.evaluation.sections import Section

    rows = tuple(
        (
            f"{p.dial:g}{' *' if p is result.chosen else ''}",
            f"{p.recall:.4f}",
            f"{p.bound:.4f}",
            f"{p.leaks:.2f}",
            f"{p.leaks_interval[0]:.2f} to {p.leaks_interval[1]:.2f}",
            f"{p.flagged:.2%}",
            f"{p.precision:.4f}",
        )
        for p in result.points
    )
    columns = ("dial", "recall", f"at least ({result.confidence:.0%})", "left per note", "interval", "hidden too much")
    return Section("Recall of PHI words by dial", (*columns, "precision"), rows, "* chosen")
