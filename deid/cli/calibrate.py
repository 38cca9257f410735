"""The commands calibrate and experiment robustness: what is found in a user's gold, by dial and by writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deid.base.options import argument, option
from deid.cli.common import EXIT_FAILED, Summary, progress
from deid.cli.option_groups import SummaryOptions, command
from deid.cli.run_manifest import begin, finish, inputs_of, model_facts
from deid.cli.source_options import job_count
from deid.cli.table_options import number_list
from deid.cli.tables import print_sections

if TYPE_CHECKING:
    from deid.detection.recognizers import LazyRecognizer
    from deid.io import Source

_GOLD, _FINDING = "Reading GOLD", "What finds spans"


@dataclass(frozen=True)
class GoldOptions:
    """Annotated documents, and what finds spans in them."""

    gold: Path = argument("Annotated file or folder of any readable format.", metavar="GOLD")
    model: str | None = option(None, "Model to use; none for rules alone.", metavar="NAME|DIR")
    jobs: int = option(1, "Processes; 0 for one a core.", metavar="N")
    rules: bool | None = option(None, "Use rules beside the model; by default as it says.", panel=_FINDING)
    language: str | None = option(None, "Language of rules; by default the model's.", panel=_FINDING)
    seed: int = option(0, "Seed of halves, noise and bootstrap.", metavar="N", panel=_FINDING)
    format: str | None = option(
        None, "Format of GOLD; told by its content if not given.", "--from", metavar="F", panel=_GOLD
    )
    encoding: str = option("utf-8", "Encoding of GOLD.", panel=_GOLD)
    any_label: bool = option(False, "Accept labels outside the format's label set.", panel=_GOLD)

    def scan(self) -> Source:
        """Find the documents."""
        from deid.io import Options, scan

        return scan(self.gold, self.format, Options(encoding=self.encoding, any_label=self.any_label))

    def recognizer(self, **how: Any) -> LazyRecognizer:
        """Return what finds spans."""
        from deid.detection.recognizers import build_recognizer

        return build_recognizer(self.model, rules=self.rules, language=self.language, **how)


@command
def calibrate(
    *,
    context: typer.Context,
    gold: GoldOptions,
    recall: float = option(0.99, "Recall of PHI words to reach.", metavar="R"),
    confidence: float = option(0.95, "Confidence that it is reached.", metavar="C"),
    output: Path | None = option(
        None, "Write the dial to F, for --dial F of scrub and tag.", "--output", "-o", metavar="F"
    ),
    dials: Sequence[float] | None = option(
        None,
        "Dials to try; by default 13 of them from 0 to 8.",
        metavar="D,...",
        read=number_list(float, "--dials"),
        panel=_FINDING,
    ),
    deny: tuple[Path, ...] = option((), "Terms that are always PHI (repeatable).", metavar="FILE", panel=_FINDING),
    allow: tuple[Path, ...] = option((), "Terms that never are PHI (repeatable).", metavar="FILE", panel=_FINDING),
    said: SummaryOptions,
) -> None:
    """Set the recall dial on your own gold, and say what to expect.

    Takes the smallest dial whose lower confidence bound of recall reaches --recall. Exit status 1 when none does; then
    no file is written.

    Example: deid calibrate gold/ --recall 0.99 -o dial.json
    """
    from deid.detection.dial import Dial, write_dial
    from deid.detection.site_lists import load_site_lists
    from deid.experiments.calibration import DIALS, calibrate, calibration_section, describe

    found = gold.scan()
    run = begin(context, output) if output is not None else None
    # a dial in the model's folder is no starting point: every dial is set here
    recognizer = gold.recognizer(bias=0.0, site=load_site_lists(deny, allow))
    result = calibrate(
        progress(found.documents(), "tagging"), recognizer, recall, confidence=confidence, dials=tuple(dials or DIALS),
        seed=gold.seed, jobs=job_count(gold.jobs),
    )  # fmt: skip
    print_sections([calibration_section(result)])
    summary = Summary("calibrate", documents=result.documents, failures=list(result.failures), notes=describe(result))
    chosen = result.chosen
    summary.extra = result.as_dict() | {
        "dial": chosen.dial, "recall": chosen.recall, "bound": chosen.bound, "leaks_per_note": chosen.leaks
    }  # fmt: skip
    if output is not None and run is not None and result.reached:
        details = {"target": recall, "confidence": confidence, "bound": chosen.bound}
        figures = {"rules": gold.rules, "language": gold.language, "documents": result.documents}
        told = {**details, "gold": {**figures, **chosen.as_dict()}}
        write_dial(output, Dial(chosen.dial, recognizer.fingerprint(), told))
        summary.places.append(
            f"wrote {output}: use it with --dial {output}, or keep it as dial.json in the model's folder"
        )
        finish(
            run, summary, output, inputs=inputs_of(found), root=found.root, model=model_facts(recognizer),
            results=summary.extra,
        )  # fmt: skip
    summary.finish(said)
    if not result.reached:
        raise typer.Exit(EXIT_FAILED)


@command
def robustness(
    *,
    gold: GoldOptions,
    only: tuple[str, ...] = option((), "Measure just this writing, beside clean (repeatable).", metavar="NAME"),
    bias: str | None = option(
        None, "Recall dial: 0 as trained, 0.5 to 2 finds more; or a file.", "--dial", panel=_FINDING
    ),
    said: SummaryOptions,
) -> None:
    """Measure recall in capitals, small letters, scanner noise, other line ends, disguised characters.

    Example: deid experiment robustness gold/ --model en --jobs 2
    """
    from deid.experiments.robustness import PERTURBATIONS, measure_robustness, robustness_section

    result = measure_robustness(
        progress(gold.scan().documents(), "tagging"), gold.recognizer(bias=bias), names=only or tuple(PERTURBATIONS),
        seed=gold.seed, jobs=job_count(gold.jobs),
    )  # fmt: skip
    print_sections([robustness_section(result)])
    summary = Summary("experiment robustness", documents=result.documents, failures=list(result.failures))
    summary.extra = {"seed": gold.seed, "perturbations": [row.as_dict() for row in result.rows]}
    summary.finish(said)
