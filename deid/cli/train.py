"""Commands that make models: train, model audit, model export."""

from __future__ import annotations

from pathlib import Path

import typer

from deid.base.files import check_new_folder
from deid.cli import OutputOptions, Summary, argument, command, in_line, option
from deid.cli.outcomes import read
from deid.experiments.options import CorpusOptions, GroupOptions
from deid.features.options import FeatureOptions
from deid.labeling.training import NewModelOptions, TrainingOptions
from deid.pipeline.facts import inputs_of


@command
def train(
    told: Summary,
    *,
    corpus: CorpusOptions,
    place: NewModelOptions,
    features: FeatureOptions,
    options: TrainingOptions,
    patients: GroupOptions,
) -> None:
    """Train a tagger on annotated documents.

    Example: deid train corpus/train -o models/mine --preset default --seed 1
    """
    from deid.io import scan
    from deid.labeling.tagger import load_model, train

    start = None if place.start_from is None else load_model(place.start_from)
    chosen, options = (features.chosen(), options) if start is None else start.going_on(options)
    check_new_folder(place.model)

    def shown(iteration: int, loss: float) -> None:
        done = f"training: iteration {iteration} of {options.rounds}, loss {loss:,.1f}   "
        in_line(done, last=iteration >= options.rounds)

    source = scan(corpus.corpus, None)
    told.begin(place.model, inputs=inputs_of(source))
    notes, name = read(told, corpus), place.model.name
    whose, rules = patients.groups(notes), place.rules(start)
    tagger = train(notes, chosen, options, name=name, rules=rules, start=start, groups=whose, report=shown)
    tagger.save(place.model)
    found = tagger.description["corpus"]
    off, spans = found["spans_off_token_borders"], found["spans"]
    told.notes.append(f"{off} of {spans} gold spans ({100 * off / spans:.2f} %) do not lie on token borders")
    told.places.append(f"model written to {place.model}")
    told.extra["corpus"] = found
    told.sign(place.model, root=source.root, results=found)


_MODEL = argument("Model folder.", metavar="MODEL")


@command
def audit(
    told: Summary,
    *,
    model: Path = _MODEL,
    min_documents: int = option(3, "Strings in fewer documents are rare."),
    accept_rare: bool = option(False, "Accept the rare strings: the notes were public or synthetic."),
) -> None:
    """List the rare strings that a model stores: words of few training notes, which may be patients' names.

    The list goes to standard output and may contain PHI. Example: deid model audit models/mine
    """
    from deid.labeling.audit import audit_model

    audit = audit_model(model, min_documents, accept=accept_rare)
    for name, documents in audit.rare:
        typer.echo(f"{documents}\t{name}")
    told.extra = {"lexical": audit.lexical, "rare": len(audit.rare), "accepted": audit.accepted}
    told.notes += audit.told()


@command
def export(told: Summary, *, model: Path = _MODEL, place: OutputOptions) -> None:
    """Copy an audited model to be passed on; refused without an audit.

    Example: deid model export models/mine -o shared/mine
    """
    from deid.labeling.audit import export_model

    export_model(model, place.output)
    told.notes = [f"model written to {place.output}"]
