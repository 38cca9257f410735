"""Commands that train in order to score: crossval, experiment features, experiment sampling."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deid.cli.common import Summary, SummaryJson, label_number
from deid.cli.experiment_output import Trainings, check_outputs, numbers, show, write_rows
from deid.cli.tables import print_sections, write_json
from deid.cli.training_options import (
    C1,
    C2,
    Algorithm,
    AllPairs,
    AnyLabel,
    Corpus,
    Dictionaries,
    Encoding,
    Features,
    Folds,
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

if TYPE_CHECKING:
    pass


def _crossval(
    corpus: Corpus,
    folds: Folds = 10,
    preset: Preset = "default",
    features: Features = "racd",
    dictionaries: Dictionaries = "none",
    scheme: Scheme = "BIO",
    window: Annotated[
        int | None, typer.Option(metavar="K", help="Train only on tokens within K tokens of a span.")
    ] = None,
    o_sampling: Annotated[
        float | None, typer.Option(metavar="P", help="Keep each token outside spans with probability P.")
    ] = None,
    algorithm: Algorithm = "sgd",
    c1: C1 = 0.0,
    c2: C2 = 0.3,
    all_pairs: AllPairs = True,
    rate: Rate = 0.1,
    iterations: Iterations = None,
    min_documents: MinDocuments = 3,
    bias: Annotated[float, typer.Option(help="Recall dial: subtracted from the score of O when tagging.")] = 0.0,
    group_field: GroupField = None,
    group_pattern: GroupPattern = None,
    seed: Seed = 0,
    resamples: Annotated[
        int, typer.Option(min=0, metavar="N", help="Bootstrap resamples of the pooled figures' intervals.")
    ] = 1000,
    jobs: Jobs = 1,
    json_file: Json = None,
    html: Html = None,
    mistakes: Annotated[
        Path | None,
        typer.Option(
            "--mistakes", metavar="F", help="Write a page that shows every mistake in its context (holds PHI)."
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Cross-validate a tagger: each document is tagged by a tagger trained without its fold.

    Example: deid crossval corpus/train --folds 10 --preset hide --jobs 2 --json scores.json
    """
    from deid.evaluation.page import write_page as write_mistakes
    from deid.experiments.crossval import cross_validate
    from deid.experiments.folds import group_documents
    from deid.experiments.page import crossval_sections, write_page
    from deid.labeling.training import TrainingOptions

    options = TrainingOptions(
        scheme=scheme,
        algorithm=algorithm,
        c1=c1,
        c2=c2,
        all_pairs=all_pairs,
        rate=rate,
        iterations=iterations,
        window=window,
        o_sampling=o_sampling,
        min_documents=min_documents,
        seed=seed,
    )
    check_outputs(json_file, html, mistakes)
    feature_set = choose_features(preset, features, dictionaries)
    summary = Summary("crossval")
    documents = read_corpus(corpus, encoding, any_label, summary)
    result = cross_validate(
        documents,
        feature_set,
        options,
        folds=folds,
        seed=seed,
        groups=group_documents(documents, field=group_field, pattern=group_pattern),
        bias=bias,
        resamples=resamples,
        jobs=jobs,
        report=Trainings(),
    )
    sections = crossval_sections(result)
    print_sections(sections)
    if json_file is not None:
        write_json(json_file, result.as_dict())
    if html is not None:
        write_page(html, "Cross-validation", sections)
    if mistakes is not None:
        write_mistakes(result.pooled, mistakes)
        summary.notes.append(f"{mistakes} shows texts of notes: it contains PHI (mode 0600)")
    summary.extra = {"mean": result.summary()["mean"].to_dict(), "sd": result.summary()["sd"].to_dict()}
    summary.finish(summary_json)


def _experiment_features(
    corpus: Corpus,
    folds: Folds = 10,
    preset: Preset = "hide",
    features: Features = "racd",
    dictionaries: Dictionaries = "en",
    measure: Annotated[str, typer.Option(help="F1 of: strict, token, token_category or word.")] = "strict",
    scheme: Scheme = "BIO",
    algorithm: Algorithm = "sgd",
    c1: C1 = 0.0,
    c2: C2 = 0.3,
    all_pairs: AllPairs = True,
    rate: Rate = 0.1,
    iterations: Iterations = None,
    min_documents: MinDocuments = 3,
    group_field: GroupField = None,
    group_pattern: GroupPattern = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    json_file: Json = None,
    html: Html = None,
    plot: Plot = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Cross-validate every subset of the feature groups on the same folds, and test each against all groups.

    Example: deid experiment features corpus/train --folds 10 --jobs 2 --html features.html
    """
    from deid.experiments.folds import group_documents
    from deid.experiments.page import subsets_section
    from deid.experiments.plots import plot_subsets
    from deid.experiments.subsets import compare_subsets
    from deid.labeling.training import TrainingOptions

    check_outputs(json_file, html, plot=plot)
    options = TrainingOptions(
        scheme=scheme,
        algorithm=algorithm,
        c1=c1,
        c2=c2,
        all_pairs=all_pairs,
        rate=rate,
        iterations=iterations,
        min_documents=min_documents,
        seed=seed,
    )
    feature_set = choose_features(preset, features, dictionaries)
    summary = Summary("experiment features")
    documents = read_corpus(corpus, encoding, any_label, summary)
    frame = compare_subsets(
        documents,
        feature_set,
        options,
        folds=folds,
        measure=measure,
        seed=seed,
        groups=group_documents(documents, field=group_field, pattern=group_pattern),
        jobs=jobs,
        report=Trainings(),
    )
    settings = {"features": feature_set.spec(), "options": asdict(options), "folds": folds, "seed": seed}
    if json_file is not None:
        write_rows(json_file, frame, {**settings, "measure": measure})
    show("Feature groups", frame, subsets_section(frame, measure), plot_subsets, html, plot)
    summary.finish(summary_json)


def _experiment_sampling(
    corpus: Corpus,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="TESTSET", help="Annotated documents to score; else folds.")
    ] = None,
    folds: Folds = 5,
    windows: Annotated[str, typer.Option(metavar="K,...", help="Windows, in tokens.")] = "4,16,64",
    shares: Annotated[
        str, typer.Option("--o-sampling", metavar="P,...", help="Probabilities to keep a token outside spans.")
    ] = ".1,.5",
    biases: Annotated[str, typer.Option("--bias", metavar="B,...", help="Positions of the recall dial.")] = ".5,1,2",
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=P",
            help="Naive Bayes with rejection sampling: acceptance probability of a label (repeatable); O=.1.",
        ),
    ] = None,
    naive_bayes: Annotated[bool, typer.Option(help="Train Naive Bayes too, plain and with rejection sampling.")] = True,
    preset: Preset = "hide",
    features: Features = "racd",
    dictionaries: Dictionaries = "none",
    scheme: Scheme = "BIO",
    algorithm: Algorithm = "sgd",
    c1: C1 = 0.0,
    c2: C2 = 0.3,
    all_pairs: AllPairs = True,
    rate: Rate = 0.1,
    iterations: Iterations = None,
    min_documents: MinDocuments = 3,
    group_field: GroupField = None,
    group_pattern: GroupPattern = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    json_file: Json = None,
    html: Html = None,
    plot: Plot = None,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Measure window and random O-sampling beside the recall dial of a tagger trained on all tokens.

    Example: deid experiment sampling corpus/train --test corpus/dev --windows 4,16,64 --html sampling.html
    """
    from deid.experiments.folds import group_documents
    from deid.experiments.page import sampling_section
    from deid.experiments.plots import plot_sampling
    from deid.experiments.sampling import Points, sampling_curves
    from deid.labeling.training import TrainingOptions

    check_outputs(json_file, html, plot=plot)
    points = Points(
        numbers(windows, int, "--windows"),
        numbers(shares, float, "--o-sampling"),
        numbers(biases, float, "--bias"),
        tuple(map(label_number, accept)) if accept else Points().acceptance,
        naive_bayes,
    )
    options = TrainingOptions(
        scheme=scheme,
        algorithm=algorithm,
        c1=c1,
        c2=c2,
        all_pairs=all_pairs,
        rate=rate,
        iterations=iterations,
        min_documents=min_documents,
        seed=seed,
    )
    feature_set = choose_features(preset, features, dictionaries)
    summary = Summary("experiment sampling")
    documents = read_corpus(corpus, encoding, any_label, summary)
    frame = sampling_curves(
        documents,
        feature_set,
        options,
        test=None if test is None else read_corpus(test, encoding, any_label, summary),
        folds=folds,
        points=points,
        seed=seed,
        groups=group_documents(documents, field=group_field, pattern=group_pattern),
        jobs=jobs,
        report=Trainings(),
    )
    settings = {"features": feature_set.spec(), "options": asdict(options), "points": asdict(points)}
    if json_file is not None:
        write_rows(json_file, frame, {**settings, "folds": folds if test is None else None, "seed": seed})
    show("Sampling and the recall dial", frame, sampling_section(frame), plot_sampling, html, plot)
    summary.finish(summary_json)
