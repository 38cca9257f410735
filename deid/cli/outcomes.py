"""What commands share that run experiments: what their trainings share, and how an outcome is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec

from deid.cli import Summary, in_line, print_sections, progress, working
from deid.experiments.options import CorpusOptions, TrialJobs
from deid.experiments.outcome import OutcomeOptions
from deid.features.options import FeatureOptions
from deid.labeling.training import TrainingOptions

if TYPE_CHECKING:
    from deid.document import Document
    from deid.experiments.outcome import Outcome
    from deid.experiments.trials import TrialSetup

P = ParamSpec("P")


def run(
    told: Summary,
    places: OutcomeOptions,
    doing: str,
    experiment: Callable[P, Outcome],
    *given: P.args,
    **named: P.kwargs,
) -> Outcome:
    """Run an experiment, show what it found, and return that."""
    with working(doing):
        outcome = experiment(*given, **named)
    show(told, places, outcome)
    return outcome


def show(told: Summary, places: OutcomeOptions, outcome: Outcome) -> None:
    """Print an outcome, and write what is asked for; the summary gets its figures."""
    print_sections(outcome.sections)
    places.write(outcome)
    told.extra |= outcome.values


def read(told: Summary, corpus: CorpusOptions, *, test: bool = False) -> list[Document]:
    """Read a corpus, or its test set."""
    return corpus.read(told, corpus.test if test else None, lambda items: progress(items, "reading"))


def setup_of(
    told: Summary, corpus: CorpusOptions, features: FeatureOptions, options: TrainingOptions, divided: TrialJobs
) -> TrialSetup:
    """Read the documents of an experiment, and return what its trainings share."""
    from deid.experiments.trials import TrialSetup

    def shown(done: int, total: int) -> None:
        in_line(f"training: {done} of {total} done", last=done == total)

    documents, chosen = read(told, corpus), features.chosen()
    scored = None if corpus.test is None else read(told, corpus, test=True)
    return TrialSetup(documents, chosen, options, scored, seed=options.seed, report=shown, **divided.of(documents))
