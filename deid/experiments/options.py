"""What a user says of experiments on taggers: how documents are divided, and how these taggers differ from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deid.base.options import again, option
from deid.features.options import FeatureOptions
from deid.labeling.training import TrainingOptions

if TYPE_CHECKING:
    from deid.document import Document


@dataclass(frozen=True)
class FoldOptions:
    """Whose documents are never on both sides, and how many trainings run at a time."""

    folds: int = option(10, "Folds of the cross-validation.", metavar="K")
    jobs: int = option(1, "Trainings at a time, each in a process of its own.")
    group_field: str | None = option(
        None,
        "Metadata field that names the patient: one patient is never on both sides.",
        metavar="FIELD",
        panel="Folds",
    )
    group_pattern: str | None = option(
        None,
        r"The same from the document's id: first group or whole match, such as '^\d+'.",
        metavar="REGEX",
        panel="Folds",
    )

    def of(self, documents: list[Document]) -> dict[str, Any]:
        """Return what experiments take: folds, the patient of each document, and processes."""
        from deid.experiments.folds import group_documents

        groups = group_documents(documents, field=self.group_field, pattern=self.group_pattern)
        return {"folds": self.folds, "groups": groups, "jobs": self.jobs}


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
