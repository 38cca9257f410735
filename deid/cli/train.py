"""Commands that make models: train, model audit, model export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson, label_number
from deid.cli.run_manifest import begin, finish, inputs_of
from deid.cli.training_options import (
    C1,
    C2,
    Algorithm,
    AllPairs,
    AnyLabel,
    Corpus,
    Dictionaries,
    Drop,
    Encoding,
    Features,
    Iterations,
    MinDocuments,
    Preset,
    Rate,
    Scheme,
    Seed,
    choose_features,
    read_corpus,
)


def _train(
    context: typer.Context,
    corpus: Corpus,
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="New folder for the model.")],
    start_from: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Start from this model (folder or shipped) and stay near it: for few notes of your own. Features, "
            "word lists and label scheme are those of that model.",
        ),
    ] = None,
    pull: Annotated[float, typer.Option(help="--start-from: how strongly weights are held near the old ones.")] = 1.0,
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
    split_at_gaps: Annotated[
        bool, typer.Option("--split-at-gaps", help="Cut sequences where sampling dropped tokens.")
    ] = False,
    algorithm: Algorithm = "sgd",
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL=P", help="Naive Bayes: acceptance probability of a label (repeatable)."),
    ] = None,
    accepted: Annotated[
        int | None, typer.Option(metavar="N", help="Naive Bayes: tokens to accept in rejection sampling.")
    ] = None,
    c1: C1 = 0.0,
    c2: C2 = 0.3,
    all_pairs: AllPairs = True,
    rate: Rate = 0.1,
    drop: Drop = 0.5,
    label_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CATEGORY=W",
            help="sgd: labels of a category (PHI for all) must win by W where they are right (repeatable). PHI=4 "
            "misses less and flags more.",
        ),
    ] = None,
    prune: Annotated[float, typer.Option(help="sgd: weights smaller than this are left out of the model.")] = 0.05,
    iterations: Iterations = None,
    min_documents: MinDocuments = 3,
    rules: Annotated[
        str | None,
        typer.Option(
            help="Languages whose rules shall work beside the model, commas between; or none. By default none, or "
            "those of the model to start from."
        ),
    ] = None,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    any_label: AnyLabel = False,
    summary_json: SummaryJson = None,
) -> None:
    """Train a tagger on annotated documents.

    Example: deid train corpus/train --model models/mine --preset default --seed 1
    """
    from deid.base.errors import ConfigError
    from deid.io import scan
    from deid.labeling.tagger import load_model, train
    from deid.labeling.training import TrainingOptions

    start = None if start_from is None else load_model(start_from)
    if start is None:
        feature_set = choose_features(preset, features, dictionaries)
    else:
        feature_set, scheme = start.decoder.features, str(start.description["options"]["scheme"])
    options = TrainingOptions(
        scheme=scheme,
        algorithm=algorithm,
        c1=c1,
        c2=c2,
        all_pairs=all_pairs,
        rate=rate,
        drop=drop,
        margins=tuple(label_number(w, "--label-weight", "PHI=4") for w in label_weight or ()),
        prune=prune,
        pull=pull,
        iterations=iterations,
        window=window,
        o_sampling=o_sampling,
        split_at_gaps=split_at_gaps,
        acceptance=tuple(map(label_number, accept or ())),
        accepted=accepted,
        min_documents=min_documents,
        seed=seed,
    )
    if model.exists() and (not model.is_dir() or any(model.iterdir())):
        raise ConfigError("the model folder exists and is not empty", "name a new folder", str(model))
    run = begin(context, model)
    summary = Summary("train")
    documents = read_corpus(corpus, encoding, any_label, summary)
    tagger = train(
        documents,
        feature_set,
        options,
        name=model.name,
        rules=(start.rules if start else ()) if rules is None else () if rules == "none" else rules.split(","),
        start=start,
        report=_Report(options.rounds),
    )
    tagger.save(model)
    found = tagger.description["corpus"]
    off, spans = found["spans_off_token_borders"], found["spans"]
    summary.notes.append(f"{off} of {spans} gold spans ({100 * off / spans:.2f} %) do not lie on token borders")
    summary.places.append(f"model written to {model}")
    summary.extra["corpus"] = found
    source = scan(corpus, None)
    finish(run, summary, model, inputs=inputs_of(source), root=source.root, results=found)
    summary.finish(summary_json)


class _Report:
    """Shows iteration and loss in one line on a terminal."""

    def __init__(self, total: int) -> None:
        import sys

        self._total = total
        self._stream = sys.stderr if sys.stderr.isatty() else None

    def __call__(self, iteration: int, loss: float) -> None:
        if self._stream:
            end = "\n" if iteration >= self._total else ""
            self._stream.write(f"\rtraining: iteration {iteration} of {self._total}, loss {loss:,.1f}   {end}")
            self._stream.flush()


def _audit(
    model: Annotated[Path, typer.Argument(help="Model folder.")],
    min_documents: Annotated[int, typer.Option(metavar="N", help="Strings in fewer documents are rare.")] = 3,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept the rare strings: the notes were public or synthetic.")
    ] = False,
    summary_json: SummaryJson = None,
) -> None:
    """List the rare strings that a model stores: words of few training notes, which may be patients' names.

    The list goes to standard output and may contain PHI. Example: deid model audit models/mine
    """
    from deid.labeling.audit import audit_model

    audit = audit_model(model, min_documents, accept=accept)
    for name, documents in audit.rare:
        typer.echo(f"{documents}\t{name}")
    summary = Summary(
        "model audit", extra={"lexical": audit.lexical, "rare": len(audit.rare), "accepted": audit.accepted}
    )
    summary.notes.append(
        f"{audit.lexical} strings are stored, {len(audit.rare)} of them from fewer than {audit.min_documents} "
        f"documents; the model {'may' if audit.accepted else 'may not'} be exported"
    )
    summary.finish(summary_json)


def _export(
    model: Annotated[Path, typer.Argument(help="Model folder, audited.")],
    out: Annotated[Path, typer.Argument(help="New folder for the copy that is passed on.")],
    summary_json: SummaryJson = None,
) -> None:
    """Copy an audited model to be passed on; refused without an audit.

    Example: deid model export models/mine shared/mine
    """
    from deid.labeling.audit import export_model

    export_model(model, out)
    summary = Summary("model export", notes=[f"model written to {out}"])
    summary.finish(summary_json)
