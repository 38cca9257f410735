"""The command generalize: t-plausible text."""

from __future__ import annotations

from pathlib import Path

from deid.base.keys import load_key
from deid.base.options import option
from deid.cli.common import Summary
from deid.cli.notes import ListOptions, NotesRun, ReadingOptions
from deid.cli.option_groups import IN, OUT, WorkOptions, command
from deid.detection.options import PeopleOptions

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
    key, created = load_key(work.key_file)
    run.begin(target, key, created)
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
