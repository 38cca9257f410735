"""What a user says of experiments on taggers: how documents are divided, and how these taggers differ from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deid.base.options import again, argument, option
from deid.document import kept
from deid.features.options import FeatureOptions
from deid.labeling.training import TrainingOptions

if TYPE_CHECKING:
    from deid.document import Document, Tally
    from deid.pipeline.files import Watch


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """Annotated documents."""

    PANEL: ClassVar[str] = "Reading the corpus"
    test: ClassVar[Path | None] = None
    corpus: Path = argument("Annotated file or folder of any readable format.", metavar="CORPUS")
    encoding: str = option("utf-8", "Encoding of the corpus.")
    any_label: bool = option(False, "Accept labels outside the format's label set.")

    def read(self, told: Tally, path: Path | None = None, watch: Watch = iter) -> list[Document]:
        """Read the corpus, or another one as it is; they are counted, and what cannot be read is told."""
        from deid import io

        found = io.read(path or self.corpus, encoding=self.encoding, any_label=self.any_label)
        documents = list(kept(watch(found), told.failures))
        told.categories.update(span.category for document in documents for span in document.spans)
        told.documents += len(documents)
        return documents


@dataclass(frozen=True, kw_only=True)
class DividedCorpus(CorpusOptions):
    """Annotated documents, of which some may be another set."""

    test: Path | None = option(  # type: ignore[misc]
        None, "Annotated documents to score; else those that folds or sizes leave.", metavar="TESTSET", panel=""
    )


@dataclass(frozen=True, kw_only=True)
class TwoCorpora(CorpusOptions):
    """Annotated documents to train on, and others to score."""

    test: Path = option(..., "Annotated documents to score.", metavar="TESTSET", panel="")  # type: ignore[misc]


@dataclass(frozen=True)
class TrialJobs:
    """How many trainings run at a time."""

    jobs: int = option(1, "Trainings at a time, each in a process of its own.")

    def of(self, documents: list[Document]) -> dict[str, Any]:
        """Return what the setup of an experiment takes."""
        return {"jobs": self.jobs}


@dataclass(frozen=True)
class GroupOptions:
    """Whose each document is."""

    group_field: str | None = option(
        None,
        "Metadata field that names the patient: never on both sides of a division, and its notes store words as one.",
        metavar="FIELD",
        panel="Patients",
    )
    group_pattern: str | None = option(
        None,
        r"The same from the document's id: first group or whole match, such as '^\d+'.",
        metavar="REGEX",
        panel="Patients",
    )

    def groups(self, documents: list[Document]) -> list[str] | None:
        """Return the patient of each document, where the user said how to tell."""
        from deid.experiments.folds import group_documents

        return group_documents(documents, field=self.group_field, pattern=self.group_pattern)


@dataclass(frozen=True)
class FoldOptions(TrialJobs, GroupOptions):
    """Whose documents are never on both sides, and how many trainings run at a time."""

    folds: int = option(10, "Folds of the cross-validation.", metavar="K")

    def of(self, documents: list[Document]) -> dict[str, Any]:
        """Return what the setup of an experiment takes: folds, the patient of each document, and processes."""
        return {"folds": self.folds, "groups": self.groups(documents), **super().of(documents)}


@dataclass(frozen=True)
class HideFeatures(FeatureOptions):
    """Features of the dissertation."""

    preset: str = again(FeatureOptions, "preset", "hide")


@dataclass(frozen=True)
class GroupFeatures(HideFeatures):
    """Features of which all groups can be left out."""

    dictionaries: str = again(FeatureOptions, "dictionaries", "en")


@dataclass(frozen=True)
class FewFolds(FoldOptions):
    """Folds of experiments that train often."""

    folds: int = again(FoldOptions, "folds", 5)


@dataclass(frozen=True)
class CurveOptions:
    """What a learning curve is drawn of."""

    PANEL: ClassVar[str] = "Curves"
    sizes: Sequence[int] = option((10, 20, 50, 100, 200, 500), "Numbers of documents.", metavar="N,...")
    start_from: str | None = option(
        None, "Train each size from this model too (folder or shipped), and score it.", metavar="MODEL"
    )
    repeats: int = option(1, "Random draws of documents.", minimum=1)


@dataclass(frozen=True)
class PlainTraining(TrainingOptions):
    """How taggers are trained whose sampling is what is measured."""

    window: int | None = None
    o_sampling: float | None = None
    acceptance: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class AnyTraining(TrainingOptions):
    """How taggers are trained whose learner is what is measured."""

    algorithm: str = "sgd"


@dataclass(frozen=True)
class LoopTraining(TrainingOptions):
    """How taggers are trained that stay where their notes are."""

    min_documents: int = again(TrainingOptions, "min_documents", 1)


@dataclass(frozen=True)
class SlowTraining(TrainingOptions):
    """How taggers are trained of which none is to be used."""

    rate: float = again(TrainingOptions, "rate", 0.05)
