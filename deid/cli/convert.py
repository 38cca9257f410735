"""The commands convert and generalize: notes in another format, or with more general terms."""

from __future__ import annotations

from pathlib import Path

from deid.cli import IN, OUT, Summary, WorkOptions, command, option
from deid.cli.notes import DROP_UNMAPPED, NEW_OUT, TO, ListOptions, NotesRun
from deid.detection.options import PeopleOptions
from deid.io.formats import ReadingOptions


@command
def convert(
    told: Summary,
    *,
    source: Path | str = IN,
    target: Path = NEW_OUT,
    to: str = TO,
    map: str | None = option(None, "Map the labels to this label set; the losses are told.", metavar="SET"),
    map_from: str | None = option(None, "Label set of IN, if its labels do not tell it.", metavar="SET"),
    drop_unmapped: bool = DROP_UNMAPPED,
    reading: ReadingOptions,
) -> int | None:
    """Convert documents from one format to another.

    Whatever the target cannot carry makes a document fail, rather than being lost; docs/formats.md says what each
    format carries.

    Example: deid convert corpus/xml corpus.jsonl --to jsonl
    """
    from deid.io import conversion

    run = NotesRun(told, source, reading)
    run.begin(target)
    done = conversion.convert(
        source,
        target,
        to,
        from_format=reading.format,
        options=reading,
        map_to=map,
        map_from=map_from,
        drop_unmapped=drop_unmapped,
        watch=run.watch("converting"),
    )
    told.take(done)
    told.notes = done.remarks
    told.extra = {"from": done.source, "to": done.target, "dropped": dict(sorted(done.dropped.items()))}
    run.finish(private=True)
    return run.status


_SEARCH = "What is generalized, and how"


@command
def generalize(
    told: Summary,
    *,
    source: Path | str = IN,
    target: Path = OUT,
    t: int = option(..., "So many original texts must be plausible.", "--plausible", metavar="T"),
    ontology: tuple[str, ...] = option(
        (),
        "diseases, drugs, places, professions (all four by default), wordnet, or a CSV file (repeatable).",
        metavar="NAME|F",
    ),
    keep: frozenset[str] = option(frozenset(), "Keep filename, id, or a field as it is (repeatable)."),
    work: WorkOptions,
    gold: bool = option(False, "The annotations that IN carries are the sensitive words.", panel=_SEARCH),
    every_word: bool = option(
        False, "Leave no sensitive word as it is, even if T is reached without it.", panel=_SEARCH
    ),
    objective: str = option(
        "minimal", "minimal: lose no more than T asks for; uniform: spread it over the words.", panel=_SEARCH
    ),
    alpha: float = option(
        0.5,
        "For uniform: weight (0 to 1) of the whole text against the words.",
        "--text-weight",
        metavar="A",
        panel=_SEARCH,
    ),
    search: str = option(
        "auto", "auto, best-first, branch-and-bound, greedy, or exhaustive (for checks).", panel=_SEARCH
    ),
    people: PeopleOptions,
    listed: ListOptions,
    reading: ReadingOptions,
) -> None:
    """Replace sensitive terms by more general ones until T originals are plausible.

    Diseases, drugs, places and professions are generalized; names, dates and numbers are not: scrub first. What is
    --known of a note's patient is sensitive too; what no ontology has of it becomes its category. Notes that cannot
    reach T get the most general terms and are listed. Ids that deid scrub made stay, others and all other
    fields become keyed pseudonyms unless --keep names them.

    Example: deid generalize scrubbed/ general/ --plausible 96
    """
    from deid.pipeline.generalizing import generalize_files
    from deid.pipeline.known_people import read_people
    from deid.replacement.ontology_files import SHIPPED
    from deid.replacement.t_plausibility import make_generalizer

    run = NotesRun(told, source, reading, listed)
    run.into(target)
    generalizer = make_generalizer(
        t, objective=objective, alpha=alpha, search=search, ontologies=ontology or SHIPPED, every_word=every_word
    )
    known = read_people(people)
    key = told.key(work.key_file)
    run.begin(target, key)
    report = generalize_files(
        run.found,
        target,
        generalizer,
        key,
        keep=keep,
        gold=gold,
        people=known,
        jobs=work.processes,
        watch=run.watch("generalizing"),
    )
    told.take(report)
    told.notes += report.remarks()
    told.extra = {"t": t, "objective": objective, "ontologies": [o.name for o in generalizer.ontologies]}
    told.extra |= report.counts()
    names = [name for name in told.extra if name not in ("plausible", "ontologies")]
    run.finish(names)
