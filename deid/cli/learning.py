"""Commands of `deid experiment` that compare trainings: learning-curve, learners."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.experiment_output import Trainings, check_outputs, numbers, show, write_rows
from deid.cli.tables import print_sections
from deid.cli.training_options import (
    Algorithm,
    AnyLabel,
    Corpus,
    Dictionaries,
    Encoding,
    Features,
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

__all__ = ["experiment_learners", "experiment_learning_curve"]


def experiment_learning_curve(
    corpus: Corpus,
    test: Annotated[
        Path | None,
        typer.Argument(help="Annotated documents to score; else those of the corpus that the largest size leaves."),
    ] = None,
    sizes: Annotated[str, typer.Option(metavar="N,...", help="Numbers of documents.")] = "10,20,50,100,200,500",
    start_from: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Train each size from this model too (folder or shipped), and score it."),
    ] = None,
    pull: Annotated[float, typer.Option(help="--start-from: how strongly weights are held near the old ones.")] = 1.0,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Random draws of documents.")] = 1,
    preset: Preset = "default",
    features: Features = "racd",
    dictionaries: Dictionaries = "none",
    scheme: Scheme = "BIO",
    algorithm: Algorithm = "sgd",
    rate: Rate = 0.1,
    iterations: Iterations = None,
    min_documents: MinDocuments = 3,
    seed: Seed = 0,
    jobs: Jobs = 1,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="F", help="Write a row for each training to F.")] = None,
    json_file: Json = None,
    html: Html = None,
    plot: Plot = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Train on more and more documents, from scratch and from a model, and score each tagger on the same documents.

    Example: deid experiment learning-curve corpus/train corpus/dev --sizes 10,50,200 --start-from models/mine
    """
    from deid.base.files import write_bytes
    from deid.experiments.learning import learning_curve
    from deid.experiments.page import learning_section
    from deid.experiments.plots import plot_learning
    from deid.labeling.training import TrainingOptions

    check_outputs(csv, json_file, html, plot=plot)
    counts = numbers(sizes, int, "--sizes")
    options = TrainingOptions(
        scheme=scheme,
        algorithm=algorithm,
        rate=rate,
        pull=pull,
        iterations=iterations,
        min_documents=min_documents,
        seed=seed,
    )
    feature_set = choose_features(preset, features, dictionaries)
    summary = Summary("experiment learning-curve")
    documents = read_corpus(corpus, encoding, any_label, summary)
    frame = learning_curve(
        documents,
        feature_set,
        options,
        test=None if test is None else read_corpus(test, encoding, any_label, summary),
        sizes=counts,
        start=start_from,
        repeats=repeats,
        seed=seed,
        jobs=jobs,
        report=Trainings(),
    )
    if csv is not None:
        write_bytes(csv, frame.to_csv(index=False).encode(), private=False, replace=True)
    if json_file is not None:
        write_rows(json_file, frame, {"features": feature_set.spec(), "options": asdict(options), "seed": seed})
    show("Learning curve", frame, learning_section(frame), plot_learning, html, plot)
    summary.finish(summary_json)


def experiment_learners(
    corpus: Corpus,
    test: Annotated[Path, typer.Argument(help="Annotated documents to score.")],
    algorithms: Annotated[
        str, typer.Option(metavar="NAME,...", help="Learners, as deid train --algorithm names them.")
    ] = "sgd,lbfgs,memm,maxent,svm,tree,naive-bayes",
    preset: Preset = "default",
    features: Features = "racd",
    dictionaries: Dictionaries = "none",
    scheme: Scheme = "BIO",
    iterations: Iterations = None,
    min_documents: MinDocuments = 3,
    seed: Seed = 0,
    jobs: Jobs = 1,
    json_file: Json = None,
    html: Html = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Train the learners of the literature on the same documents and features, and score them on the same others.

    Example: deid experiment learners corpus/train corpus/dev --algorithms sgd,memm,maxent,naive-bayes
    """
    from deid.experiments.learners import compare_learners
    from deid.experiments.page import learners_section, write_page
    from deid.labeling.training import TrainingOptions

    check_outputs(json_file, html)
    options = TrainingOptions(scheme=scheme, iterations=iterations, min_documents=min_documents, seed=seed)
    feature_set = choose_features(preset, features, dictionaries)
    summary = Summary("experiment learners")
    frame = compare_learners(
        read_corpus(corpus, encoding, any_label, summary),
        read_corpus(test, encoding, any_label, summary),
        feature_set,
        options,
        algorithms=algorithms.split(","),
        jobs=jobs,
        report=Trainings(),
    )
    section = learners_section(frame)
    print_sections([section])
    if json_file is not None:
        write_rows(json_file, frame, {"features": feature_set.spec(), "options": asdict(options)})
    if html is not None:
        write_page(html, "Learners", [section])
    summary.finish(summary_json)
