"""The unit of work of every experiment: train on some documents, tag others; one after the other or in processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from deid.base.errors import require
from deid.base.pool import Pool
from deid.document import Document
from deid.evaluation import Evaluation, ScoringSettings, evaluate
from deid.evaluation.scores import CountTable
from deid.experiments.folds import Split, assign_folds, splits
from deid.features import FeatureSet
from deid.labeling.tagger import load_model, train
from deid.labeling.training import TrainingOptions, prepare

Report = Callable[[int, int], None]
"""Gets how many trainings are done, of how many."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A training, and what to tag with the result."""

    train: tuple[int, ...] = field(repr=False)
    """Indices of documents."""
    test: tuple[int, ...] = field(repr=False)
    features: FeatureSet
    options: TrainingOptions
    biases: tuple[float, ...] = (0.0,)
    """Positions of the recall dial; the documents are tagged once for each."""
    start: str | None = None
    """Model to start from: a shipped model's name or a folder."""


@dataclass(frozen=True, eq=False)
class TrialResult:
    """What came of a trial."""

    answers: Mapping[float, tuple[Document, ...]] = field(repr=False)
    """For each bias the test documents with the spans that were found."""
    seconds: float
    """CPU time of the training, feature extraction included."""
    tokens: int
    """Tokens of the training documents that can be labelled."""
    kept: int
    """Tokens that were trained on, after sampling (a token drawn twice counts twice)."""


@dataclass(frozen=True, eq=False)
class TrialSetup:
    """What experiments on taggers share: the documents, how taggers are trained on them, and how they are divided.

    Parameters
    ----------
    documents : sequence of Document
        Annotated documents.
    features : FeatureSet
    options : TrainingOptions
    test : sequence of Document, optional
        To score, in experiments that need no folds then.
    folds : int
    seed : int
        Decides which document is in which fold; sampling has its own seed in ``options``.
    groups : sequence of str, optional
        Group of each document (`deid.experiments.folds.group_documents`): one group is never on both sides.
    jobs : int
        Processes. Times of training are CPU times, but processes that share a memory bus slow each other down.
    report : callable, optional
        Gets the number of trainings done and their total.
    """

    documents: Sequence[Document] = field(repr=False)
    features: FeatureSet
    options: TrainingOptions = field(default_factory=TrainingOptions)
    test: Sequence[Document] | None = field(default=None, repr=False)
    folds: int = 10
    seed: int = 0
    groups: Sequence[str] | None = field(default=None, repr=False)
    jobs: int = 1
    report: Report | None = field(default=None, repr=False)

    @property
    def pool(self) -> list[Document]:
        """All documents, those of the test set behind the others."""
        return [*self.documents, *(self.test or ())]

    def parts(self) -> list[Split]:
        """Return what is trained and scored on: of each fold, or with a test set the one part, by places in `pool`."""
        if self.test is not None:
            count = len(self.documents)
            return [(tuple(range(count)), tuple(range(count, len(self.pool))))]
        return splits(assign_folds(self.documents, self.folds, self.seed, groups=self.groups))

    def settings(self, **others: Any) -> dict[str, Any]:
        """Return how taggers are trained, and what ``others`` say of an experiment, as JSON values."""
        return {"features": self.features.spec(), "options": asdict(self.options), **others}

    def run(self, trials: Sequence[Trial], documents: Sequence[Document] | None = None) -> Iterator[TrialResult]:
        """Run trials on these documents (`pool`), or on others; see `run_trials`."""
        pool = self.pool if documents is None else documents
        return run_trials(pool, trials, jobs=self.jobs, report=self.report)


def run_trials(
    documents: Sequence[Document], trials: Sequence[Trial], *, jobs: int = 1, report: Report | None = None
) -> Iterator[TrialResult]:
    """Run trials and yield their outcomes in order.

    Parameters
    ----------
    documents : sequence of Document
        What the trials' indices refer to.
    trials : sequence of Trial
    jobs : int
        Processes; 1 runs everything in this one. More start new interpreters, so a script that calls this needs the
        usual ``if __name__ == "__main__"``.
    report : callable, optional

    Raises
    ------
    ConfigError
        When ``jobs`` is less than 1, or a trial has nothing to learn from.
    """
    require(jobs >= 1, "the number of jobs is less than 1", "give 1 or more")
    outcomes: Iterator[TrialResult]
    with ExitStack() as stack:
        if jobs == 1 or len(trials) < 2:
            outcomes = map(partial(_run, documents), trials)
        else:  # the documents are sent once to each worker, not with every trial
            answering = partial(partial, _run, tuple(documents))
            pool: Pool[Trial, TrialResult] = stack.enter_context(Pool(answering, min(jobs, len(trials))))
            outcomes = pool.in_order(iter(trials))
        for done, outcome in enumerate(outcomes, 1):
            if report is not None:
                report(done, len(trials))
            yield outcome


def _run(documents: Sequence[Document], trial: Trial) -> TrialResult:
    import sklearn_crfsuite  # noqa: F401  (takes a second, which is not the first training's)

    chosen = [documents[i] for i in trial.train]
    trial.features.forget()  # else a trial would save time that an earlier one spent
    old = None if trial.start is None else load_model(trial.start)
    begin = time.process_time()
    tagger = train(chosen, trial.features, trial.options, start=old)
    seconds = time.process_time() - begin
    answers = {}
    for bias in trial.biases:
        dialled = tagger.dial(bias)
        answers[bias] = tuple(documents[i].with_spans(dialled.find(documents[i])) for i in trial.test)
    return TrialResult(answers, seconds, *_count_tokens(chosen, trial.features, trial.options))


def _count_tokens(documents: Sequence[Document], features: FeatureSet, options: TrainingOptions) -> tuple[int, int]:
    tokens = sum(len(features.encode(document.text).items) for document in documents)
    if options.acceptance:
        return tokens, options.accepted or tokens
    # the same tokens without any feature, so that counting what sampling leaves is quick
    bare = FeatureSet(features.preset, "d", skip_punct=features.skip_punct)
    return tokens, sum(len(labels) for _, labels in prepare(documents, bare, options).sequences())


def score(
    documents: Sequence[Document], answers: Sequence[Document], features: FeatureSet, resamples: int = 0
) -> Evaluation:
    """Return the scores of answers with the tokens of the feature set, as the dissertation's tables have them.

    Parameters
    ----------
    documents, answers : sequence of Document
        Gold and system, in one order.
    features : FeatureSet
        Its tokenizer makes the tokens.
    resamples : int
        Of the bootstrap intervals; 0 for none.
    """
    settings = ScoringSettings(tokenizer=features.tokenizer, resamples=resamples)
    return evaluate(documents, answers, settings=settings)


def micro_figures(**tables: CountTable) -> dict[str, float]:
    """Return precision, recall and F1 over all categories of tables, each behind the name that its table is given."""
    found: dict[str, float] = {}
    for title, table in tables.items():
        micro = table.micro()
        found |= {f"{title}_precision": micro.precision, f"{title}_recall": micro.recall, f"{title}_f1": micro.f1}
    return found


def figures(evaluation: Evaluation) -> dict[str, float]:
    """Return the figures that experiments show.

    Strict spans; Begin and Intermediate tokens; ``phi_*``: words as PHI or not, whatever the category; PHI words left
    per document; share of documents with none left.
    """
    tables, leaks = evaluation.tables, evaluation.leaks
    return {
        **micro_figures(strict=tables["strict"], token=tables["token"], phi=tables["word"]),
        "leaks_per_document": float(leaks.words_left.mean()),
        "documents_clean": float(leaks.clean.mean()),
    }
