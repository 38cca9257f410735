"""The command `deid experiment hips`: what surrogates cost in training, and how well missed identifiers hide."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.experiment_output import Trainings, check_outputs
from deid.cli.source_options import KeyFile
from deid.cli.tables import print_sections, write_json
from deid.cli.training_options import (
    Algorithm,
    AnyLabel,
    Corpus,
    Dictionaries,
    Encoding,
    Features,
    GroupField,
    GroupPattern,
    Html,
    Iterations,
    Jobs,
    Json,
    MinDocuments,
    Plot,
    Preset,
    Rate,
    Scheme,
    Seed,
    choose_features,
    read_corpus,
)

__all__ = ["experiment_hips"]


def experiment_hips(
    corpus: Corpus,
    test: Annotated[
        Path | None,
        typer.Option("--test", metavar="TESTSET", help="Annotated documents to score and release; else one fold."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR", help="Release what this model and its rules leave, not what the trained tagger leaves."
        ),
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME|FILE", help="What replaces identifiers.")] = None,
    key_file: KeyFile = None,
    folds: Annotated[int, typer.Option(metavar="K", help="Parrots; each trains on all of the release but a part.")] = 5,
    preset: Preset = "default",
    features: Features = "racd",
    dictionaries: Dictionaries = "none",
    scheme: Scheme = "BIO",
    algorithm: Algorithm = "sgd",
    rate: Rate = 0.05,
    iterations: Iterations = None,
    min_documents: MinDocuments = 3,
    group_field: GroupField = None,
    group_pattern: GroupPattern = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="F", help="Write the rows of both tables to F.")] = None,
    json_file: Json = None,
    html: Html = None,
    plot: Plot = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Hiding in plain sight: train on surrogates and originals, test on both; then look for what was missed.

    Without --key-file surrogates come from a fixed key, so that figures can be repeated.

    Example: deid experiment hips corpus/train --test corpus/dev --html hips.html
    """
    from deid.base.files import write_bytes
    from deid.base.keys import load_key
    from deid.base.plots import check_image, image
    from deid.detection.recognizers import build_recognizer
    from deid.experiments.folds import group_documents
    from deid.experiments.hips import hips
    from deid.experiments.page import hips_sections, write_page
    from deid.experiments.plots import plot_hips
    from deid.labeling.training import TrainingOptions
    from deid.replacement.policy import DEFAULT_POLICY

    check_outputs(csv, json_file, html, plot=plot)
    options = TrainingOptions(
        scheme=scheme, algorithm=algorithm, rate=rate, iterations=iterations, min_documents=min_documents, seed=seed
    )
    feature_set = choose_features(preset, features, dictionaries)
    summary = Summary("experiment hips")
    documents = read_corpus(corpus, encoding, any_label, summary)
    result = hips(
        documents,
        feature_set,
        options,
        test=None if test is None else read_corpus(test, encoding, any_label, summary),
        recognizer=None if model is None else build_recognizer(model),
        policy=policy or DEFAULT_POLICY,
        key=None if key_file is None else load_key(key_file, create=False)[0],
        folds=folds,
        seed=seed,
        groups=group_documents(documents, field=group_field, pattern=group_pattern),
        jobs=jobs,
        report=Trainings(),
    )
    sections = hips_sections(result)
    print_sections(sections)
    if csv is not None:
        write_bytes(csv, result.table().to_csv(index=False).encode(), private=False, replace=True)
    if json_file is not None:
        settings = {"features": feature_set.spec(), "options": asdict(options), "folds": folds, "seed": seed}
        write_json(json_file, {"settings": settings, **result.as_dict()})
    if html is not None:
        write_page(html, "Hiding in plain sight", sections, plot_hips(result.curve))
    if plot is not None:
        write_bytes(plot, image(plot_hips(result.curve), check_image(plot)), private=False, replace=True)
    if not result.leaks:
        summary.notes.append("the tagger missed nothing in the test set, so there was nothing to find")
    summary.extra = {"identifiers": result.identifiers, "leaks": result.leaks}
    summary.finish(summary_json)
