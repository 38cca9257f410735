"""What commands share that train: the corpus, and how an experiment's outcome is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, ParamSpec

from deid.base.files import check_folder, write_bytes
from deid.base.plots import check_plot, write_plot
from deid.cli import Summary, argument, in_line, option, print_sections, progress, working
from deid.document import kept
from deid.experiments.options import FoldOptions
from deid.features.options import FeatureOptions
from deid.labeling.training import TrainingOptions

if TYPE_CHECKING:
    from deid.document import Document
    from deid.experiments.outcome import Outcome
    from deid.experiments.trials import TrialSetup

P = ParamSpec("P")


@dataclass(frozen=True)
class CorpusOptions:
    """Annotated documents."""

    PANEL: ClassVar[str] = "Reading the corpus"
    corpus: Path = argument("Annotated file or folder of any readable format.", metavar="CORPUS")
    encoding: str = option("utf-8", "Encoding of the corpus.")
    any_label: bool = option(False, "Accept labels outside the format's label set.")

    def read(self, summary: Summary, path: Path | None = None) -> list[Document]:
        """Read the corpus, or another one as it is; what cannot be read goes to the summary."""
        from deid import io

        found = io.read(path or self.corpus, encoding=self.encoding, any_label=self.any_label)
        documents = list(kept(progress(found, "reading"), summary.failures))
        summary.categories.update(span.category for document in documents for span in document.spans)
        summary.documents += len(documents)
        return documents


@dataclass(frozen=True)
class OutcomeOptions:
    """Where the outcome of an experiment goes beside standard output and ``--json``."""

    output: Path | None = option(None, "Write the rows as CSV.", "--output", "-o")
    report: Path | None = option(None, "Write tables and plot as a web page.")
    plot: Path | None = option(None, "Write the plot (.svg or .png).")

    def __post_init__(self) -> None:
        """Refuse a file that cannot be written before hours of training rather than after them."""
        check_plot(self.plot)
        for file in filter(None, (self.output, self.report)):
            check_folder(file)

    def run(
        self, told: Summary, doing: str, experiment: Callable[P, Outcome], *given: P.args, **named: P.kwargs
    ) -> Outcome:
        """Run an experiment, show what it found, and return that."""
        with working(doing):
            outcome = experiment(*given, **named)
        self.show(outcome, told)
        return outcome

    def show(self, outcome: Outcome, summary: Summary) -> None:
        """Print an outcome, and write what is asked for; the summary gets its figures."""
        from deid.base.reports import write_page

        print_sections(outcome.sections)
        if self.output is not None:
            write_bytes(self.output, outcome.rows.to_csv(index=False).encode(), private=False, replace=True)
        if self.report is not None:
            write_page(self.report, outcome.title, outcome.sections, [outcome.draw()] if outcome.draw else [])
        write_plot(self.plot, outcome.draw)
        summary.extra |= outcome.values


def show_trainings(done: int, total: int) -> None:
    """Show on a terminal that ``done`` of ``total`` trainings are done."""
    in_line(f"training: {done} of {total} done", last=done == total)


def setup_of(
    told: Summary,
    corpus: CorpusOptions,
    features: FeatureOptions,
    options: TrainingOptions,
    *,
    folds: FoldOptions | None = None,
    test: Path | None = None,
    jobs: int = 1,
) -> TrialSetup:
    """Read the documents of an experiment, and return what its trainings share."""
    from deid.experiments.trials import TrialSetup

    documents, chosen = corpus.read(told), features.chosen()
    scored = None if test is None else corpus.read(told, test)
    divided = {"jobs": jobs} if folds is None else folds.of(documents)
    return TrialSetup(documents, chosen, options, scored, seed=options.seed, report=show_trainings, **divided)
