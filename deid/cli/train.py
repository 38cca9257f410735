"""Commands that make models: train, model audit, model export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deid.cli.common import Summary, SummaryJson, label_probability, progress

__all__ = ["register"]


def _train(
    corpus: Annotated[Path, typer.Argument(help="Annotated file or folder of any readable format.")],
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="New folder for the model.")],
    preset: Annotated[str, typer.Option(help="Features: hide (the dissertation's) or default.")] = "default",
    features: Annotated[
        str, typer.Option(help="Feature groups: r regular expressions, a affixes, c context, d dictionaries.")
    ] = "racd",
    dictionaries: Annotated[
        str,
        typer.Option(help="Word lists for group d: a language (en), names with commas between, or none."),
    ] = "none",
    scheme: Annotated[str, typer.Option(help="Label scheme: BIO or BIOES.")] = "BIO",
    window: Annotated[
        int | None, typer.Option(metavar="K", help="Train only on tokens within K tokens of a span.")
    ] = None,
    o_sampling: Annotated[
        float | None, typer.Option(metavar="P", help="Keep each token outside spans with probability P.")
    ] = None,
    split_at_gaps: Annotated[
        bool, typer.Option("--split-at-gaps", help="Cut sequences where sampling dropped tokens.")
    ] = False,
    algorithm: Annotated[str, typer.Option(help="lbfgs, sgd (stochastic gradient: faster) or naive-bayes.")] = "lbfgs",
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL=P", help="Naive Bayes: acceptance probability of a label (repeatable)."),
    ] = None,
    accepted: Annotated[
        int | None, typer.Option(metavar="N", help="Naive Bayes: tokens to accept in rejection sampling.")
    ] = None,
    c1: Annotated[float, typer.Option(help="L1 penalty.")] = 0.0,
    c2: Annotated[float, typer.Option(help="L2 penalty.")] = 0.3,
    all_pairs: Annotated[
        bool, typer.Option(help="lbfgs: weights for attribute and label pairs that do not occur, too.")
    ] = True,
    rate: Annotated[float, typer.Option(help="Learning rate of sgd.")] = 0.05,
    prune: Annotated[float, typer.Option(help="sgd: weights smaller than this are left out of the model.")] = 0.05,
    iterations: Annotated[
        int | None, typer.Option(help="Iterations of lbfgs (100) or epochs of sgd (10) when not given.")
    ] = None,
    min_documents: Annotated[
        int,
        typer.Option(metavar="N", help="Drop words seen in fewer than N documents (they could be patients' names)."),
    ] = 3,
    rules: Annotated[
        str, typer.Option(help="Languages whose rules shall work beside the model, commas between; or none.")
    ] = "none",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all sampling.")] = 0,
    encoding: Annotated[str, typer.Option(help="Encoding of the corpus.")] = "utf-8",
    any_label: Annotated[
        bool, typer.Option("--any-label", help="Accept labels outside the format's label set.")
    ] = False,
    summary_json: SummaryJson = None,
) -> None:
    """Train a tagger on annotated documents.

    Example: deid train corpus/train --model models/mine --preset default --seed 1
    """
    from deid import io
    from deid.dictionaries import available
    from deid.document import Failure
    from deid.errors import ConfigError
    from deid.features import FeatureSet
    from deid.labeling.tagger import train
    from deid.labeling.training import TrainingOptions

    lists = available(dictionaries) if len(dictionaries) == 2 else dictionaries.split(",")
    feature_set = FeatureSet(preset, features, () if dictionaries == "none" else lists)
    options = TrainingOptions(
        scheme=scheme,
        algorithm=algorithm,
        c1=c1,
        c2=c2,
        all_pairs=all_pairs,
        rate=rate,
        prune=prune,
        iterations=iterations,
        window=window,
        o_sampling=o_sampling,
        split_at_gaps=split_at_gaps,
        acceptance=tuple(map(label_probability, accept or ())),
        accepted=accepted,
        min_documents=min_documents,
        seed=seed,
    )
    if model.exists() and (not model.is_dir() or any(model.iterdir())):
        raise ConfigError("the model folder exists and is not empty", "name a new folder", str(model))
    summary = Summary("train")
    documents = []
    for item in progress(io.read(corpus, encoding=encoding, any_label=any_label), "reading"):
        if isinstance(item, Failure):
            summary.failures.append(item)
        else:
            documents.append(item)
            summary.categories.update(span.category for span in item.spans)
    summary.documents = len(documents)
    tagger = train(
        documents,
        feature_set,
        options,
        name=model.name,
        rules=() if rules == "none" else rules.split(","),
        report=_Report(options.rounds),
    )
    tagger.save(model)
    found = tagger.description["corpus"]
    off, spans = found["spans_off_token_borders"], found["spans"]
    summary.notes.append(f"{off} of {spans} gold spans ({100 * off / spans:.2f} %) do not lie on token borders")
    summary.notes.append(f"model written to {model}")
    summary.extra["corpus"] = found
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


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("train")(_train)
    model = typer.Typer(help="Audit and export models.", no_args_is_help=True)
    model.command("audit")(_audit)
    model.command("export")(_export)
    app.add_typer(model, name="model")
