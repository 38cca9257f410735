"""Options of the commands that train, and what they make of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, progress

if TYPE_CHECKING:
    from deid.document import Document
    from deid.features import FeatureSet

__all__ = [
    "C1",
    "C2",
    "Algorithm",
    "AllPairs",
    "AnyLabel",
    "Corpus",
    "Dictionaries",
    "Drop",
    "Encoding",
    "Features",
    "Folds",
    "GroupField",
    "GroupPattern",
    "Html",
    "Iterations",
    "Jobs",
    "Json",
    "MinDocuments",
    "Plot",
    "Preset",
    "Rate",
    "Scheme",
    "Seed",
    "choose_features",
    "read_corpus",
]

Corpus = Annotated[Path, typer.Argument(help="Annotated file or folder of any readable format.")]
Folds = Annotated[int, typer.Option(metavar="K", help="Folds of the cross-validation.")]
Preset = Annotated[str, typer.Option(help="Features: hide (the dissertation's) or default.")]
Features = Annotated[
    str, typer.Option(help="Feature groups: r regular expressions, a affixes, c context, d dictionaries.")
]
Dictionaries = Annotated[
    str, typer.Option(help="Word lists for group d: a language (en), names with commas between, or none.")
]
Scheme = Annotated[str, typer.Option(help="Label scheme: BIO or BIOES.")]
C1 = Annotated[float, typer.Option(help="L1 penalty.")]
C2 = Annotated[float, typer.Option(help="L2 penalty.")]
Algorithm = Annotated[
    str,
    typer.Option(
        help="sgd (CRF by stochastic gradient), lbfgs (CRF by CRFsuite), memm, maxent, svm, tree or naive-bayes."
    ),
]
AllPairs = Annotated[bool, typer.Option(help="lbfgs: weights for attribute and label pairs that do not occur, too.")]
Rate = Annotated[float, typer.Option(help="Learning rate of sgd.")]
Drop = Annotated[float, typer.Option(help="sgd: share of the attributes that a step does not see (dropout).")]
Iterations = Annotated[
    int | None, typer.Option(help="Iterations of L-BFGS (100) or epochs of sgd (15) in each training.")
]
MinDocuments = Annotated[
    int, typer.Option(metavar="N", help="Drop words seen in fewer than N training documents, as deid train does.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the folds and of all sampling.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Trainings at a time, each in a process of its own.")]
GroupField = Annotated[
    str | None,
    typer.Option(metavar="FIELD", help="Metadata field that names the patient: one patient is never on both sides."),
]
GroupPattern = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help=r"The same from the document's id: first group or whole match, such as '^\d+'."),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="F", help="Write all numbers as JSON to F.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="F", help="Write tables and plot as a page to F.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="F", help="Write the plot to F (.svg or .png).")]
Encoding = Annotated[str, typer.Option(help="Encoding of the corpus.")]
AnyLabel = Annotated[bool, typer.Option("--any-label", help="Accept labels outside the format's label set.")]


def choose_features(preset: str, features: str, dictionaries: str) -> FeatureSet:
    """Return the feature set that the options name."""
    from deid.features import FeatureSet
    from deid.reading.dictionaries import available

    if dictionaries == "none":
        return FeatureSet(preset, features)
    return FeatureSet(preset, features, available(dictionaries) if len(dictionaries) == 2 else dictionaries.split(","))


def read_corpus(path: Path, encoding: str, any_label: bool, summary: Summary) -> list[Document]:
    """Read a corpus; what cannot be read goes to the summary."""
    from deid import io
    from deid.document import Failure

    documents = []
    for item in progress(io.read(path, encoding=encoding, any_label=any_label), "reading"):
        if isinstance(item, Failure):
            summary.failures.append(item)
        else:
            documents.append(item)
            summary.categories.update(span.category for span in item.spans)
    summary.documents += len(documents)
    return documents
