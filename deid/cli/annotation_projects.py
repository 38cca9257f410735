"""Commands on annotation projects that need no browser: notes in and out, models, agreement, review."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from deid.annotation import quality
from deid.annotation.items import check_kind
from deid.annotation.loop import LoopOptions, project_model
from deid.annotation.opening import ExportOptions, export_notes
from deid.annotation.project import Project
from deid.base.errors import require
from deid.base.files import check_new_file
from deid.cli import IN, KeyOptions, OutputOptions, Summary, argument, command, option, print_sections, progress
from deid.cli.notes import NEW_OUT
from deid.document import Document, Failure
from deid.experiments.options import GroupOptions
from deid.io.formats import ReadingOptions

_PROJECT = argument("File of an annotation project.", metavar="PROJECT")
_ANY_PROJECT = argument("File of an annotation project; a new one is made.", metavar="PROJECT")
_ANNOTATOR = option(..., "Whose marks.", metavar="NAME")
_BETWEEN = option((), "Only these annotators (repeatable); by default all.", metavar="NAME")


@command
def import_notes(
    told: Summary,
    *,
    project: Path = _ANY_PROJECT,
    source: Path | str = IN,
    layer: str | None = option(
        None,
        "Take the annotations as this annotator's own, and the notes as done; by default they are suggestions for all.",
        metavar="NAME",
    ),
    edits: Path | None = option(None, "Edit log of deid scrub; IN holds the originals: suggest what was replaced."),
    scrubbed: Path | None = option(None, "What that run wrote, to show it beside the originals."),
    key: KeyOptions,
    reading: ReadingOptions,
) -> None:
    """Bring notes into a project, with the annotations of a model, rules, another system or gold.

    A note that is there must have the same text; where an annotator has decided, all stays. After deid scrub --edits,
    the originals and the log show what was replaced, to be corrected.

    Example: deid annotate import notes.annotations tagged/ --layer gold
    """
    from deid.pipeline.edit_log import read_edit_log
    from deid.pipeline.naming import pseudonym_of_id

    require(edits is None or layer is None, "an edit log is suggested to all", "leave out --layer or --edits")
    require(scrubbed is None or edits is not None, "--scrubbed needs the run's edit log", "name it with --edits")
    documents: Iterator[Document | Failure] = reading.scan(source).as_texts().documents()
    if edits is not None:
        own = key.existing()
        names: Callable[[str], list[str]] = lambda id: [id] if own is None else [pseudonym_of_id(own, id), id]  # noqa: E731
        written = None if scrubbed is None else reading.scan(scrubbed).as_texts().documents()
        documents = quality.scrubbed_documents(documents, read_edit_log(edits), names, written)
    with Project.open(project) if project.exists() else Project.create(project) as opened:
        told.take(opened.add(progress(documents, "importing"), layer))
        told.notes.append(f"{told.documents} notes, {told.categories.total()} spans")


@command
def export(
    told: Summary,
    *,
    project: Path = _PROJECT,
    target: Path = NEW_OUT,
    asked: ExportOptions,
) -> None:
    """Write what an annotator accepted, in any format.

    Offsets count characters of the text as it was read. OUT holds PHI (mode 0600).

    Example: deid annotate export notes.annotations gold.jsonl --to jsonl --annotator anna
    """
    done = export_notes(project, target, asked, lambda items: progress(items, "writing"))
    told.take(done)
    told.notes += done.remarks
    if not told.documents and not told.failures:
        told.notes.append(f"{asked.annotator} is done with no note; --unfinished takes others too")


@command
def train(
    told: Summary,
    *,
    project: Path = _PROJECT,
    place: OutputOptions,
    annotator: str = _ANNOTATOR,
    min_documents: int = option(3, "Drop words of fewer documents (patients, see --group-field)."),
    learning: LoopOptions,
    patients: GroupOptions,
) -> None:
    """Train a model to be passed on, on all notes that an annotator is done with.

    The project's own model keeps rare words, which may be patients' names; this one does not. Check it with
    deid model audit, then pass it on with deid model export.

    Example: deid annotate train notes.annotations --annotator anna -o models/mine
    """
    told.begin(place.output, inputs=[(project.name, project)])
    with Project.open(project) as opened:
        tagger = project_model(opened, annotator, learning, min_documents, patients.groups)
    tagger.save(place.output)
    told.extra["corpus"] = tagger.description["corpus"]
    told.documents = tagger.description["corpus"]["documents"]
    told.places.append(f"model written to {place.output}")
    told.sign(place.output, root=project.parent)


@command
def agreement(told: Summary, *, project: Path = _PROJECT, between: tuple[str, ...] = _BETWEEN) -> None:
    """Say how far annotators agree: spans, Cohen's kappa and Krippendorff's alpha on tokens.

    Only notes count that both, or two of all, are done with. Example: deid annotate agreement notes.annotations
    """
    from deid.evaluation.agreement import agreement as measure
    from deid.evaluation.agreement import disputes

    with Project.open(project) as opened:
        layers = quality.annotated(opened, between)
    found = measure(layers)
    print_sections(found.sections())
    differ = disputes(layers)
    told.documents = found.documents
    told.notes.append(f"they differ in {len(differ)} places; deid annotate adjudicate lays them before one person")
    told.extra = {**found.as_dict(), "disputes": len(differ)}


@command
def adjudicate(
    told: Summary,
    *,
    project: Path = _PROJECT,
    annotator: str = option(..., "Who decides; a layer of its own.", metavar="NAME"),
    between: tuple[str, ...] = option(
        ..., "Annotators whose differences are laid before them (repeatable).", metavar="NAME"
    ),
) -> None:
    """Lay what annotators differ on before an adjudicator: what all agree on is accepted, the rest suggested.

    Example: deid annotate adjudicate notes.annotations --annotator chief --between anna --between ben
    """
    with Project.open(project) as opened:
        found = quality.adjudicate(opened, annotator, between)
    told.documents = found.notes
    told.notes.append(f"{found.agreed} spans are agreed and accepted, {found.disputed} places are to be decided")
    told.extra = {"agreed": found.agreed, "disputed": found.disputed}


@command
def lists(
    told: Summary,
    *,
    project: Path = _PROJECT,
    annotator: str = _ANNOTATOR,
    deny_list: Path = option(..., "New file for names and places that were missed (deid scrub --deny)."),
    allow_list: Path = option(..., "New file for what was suggested wrongly (deid scrub --allow)."),
) -> None:
    """Make lists for deid scrub of what an annotator corrected; only notes that are done count.

    Example: deid annotate lists run.annotations --annotator anna --deny-list deny.txt --allow-list allow.txt
    """
    require(deny_list != allow_list, "--deny-list and --allow-list are one file", "name two")
    check_new_file(deny_list, allow_list)
    with Project.open(project) as opened:
        terms = quality.site_terms(opened, annotator)
    written = quality.write_site_lists(terms, deny_list, allow_list)
    told.documents = terms.notes
    told.notes.append(
        f"{len(terms.deny)} terms to deny, {len(terms.allow)} to allow, of {terms.notes} notes; {terms.left_out} "
        "corrections are for training: numbers, days, text that is PHI in one place and not in another"
    )
    told.places += [f"written: {path}" for path in written]
    told.extra = {"deny": len(terms.deny), "allow": len(terms.allow), "left_out": terms.left_out}


@command
def review(
    told: Summary,
    *,
    project: Path = _ANY_PROJECT,
    found: Path = argument("What deid link --review or deid verify --json wrote.", metavar="FILE"),
    linked: Path | None = option(None, "The table that was linked, to show its rows.", metavar="F"),
) -> None:
    """Bring pairs of a linkage or findings of a check into a project, to be decided in the browser.

    Example: deid annotate review links.annotations review.csv --linked view.csv
    """
    with Project.open(project) if project.exists() else Project.create(project) as opened:
        pairs = found.suffix == ".csv"
        require(pairs or linked is None, "findings of a check have no table", "leave out --linked")
        told.documents = quality.add_pairs(opened, found, linked) if pairs else quality.add_findings(opened, found)
    told.notes.append(f"{told.documents} new items to decide")


@command
def decisions(
    told: Summary,
    *,
    project: Path = _PROJECT,
    kind: str = argument("link or verify.", metavar="KIND"),
    annotator: str = _ANNOTATOR,
    place: OutputOptions,
) -> None:
    """Write what somebody decided on pairs of a linkage or findings of a check, as CSV (mode 0600).

    Example: deid annotate decisions links.annotations link --annotator anna -o decided.csv
    """
    check_kind(kind)
    with Project.open(project) as opened:
        told.take(quality.write_decisions(opened, kind, annotator, place.output))


@command
def history(told: Summary, *, project: Path = _PROJECT, place: OutputOptions) -> None:
    """Write who did what to which note, and when, as CSV without any text of a note (mode 0600).

    Example: deid annotate history notes.annotations -o history.csv
    """
    with Project.open(project) as opened:
        told.documents = quality.write_history(opened, place.output)
