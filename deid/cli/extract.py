"""``deid extract`` and ``deid write-back``: from notes to a table of persons, and from a published table back."""

from __future__ import annotations

from pathlib import Path

from deid.base.files import check_new_file
from deid.cli import IN, JOBS, Summary, argument, command, job_count, option
from deid.cli.notes import ListOptions, NotesRun
from deid.document import Tally
from deid.io.formats import ReadingOptions
from deid.pipeline.options import ViewOptions


@command
def extract(
    told: Summary,
    *,
    source: Path | str = IN,
    target: Path = argument("New table: .csv, .tsv or .parquet.", metavar="VIEW"),
    asked: ViewOptions,
    jobs: int = JOBS,
    listed: ListOptions,
    reading: ReadingOptions,
) -> int | None:
    """Make a table of persons (or notes) from the PHI of notes: the identifier view.

    One column an attribute, with ISO dates, ages, codes of states; VIEW.provenance.csv beside it says where each value
    stands. Both hold PHI (mode 0600). Notes belong to one person by --patients and the like, else by the exact rules of
    deid link, or its model; how many persons look alike is said. What is known of a person, from all notes and from
    --join, is looked for in each of its notes. Then: deid schema VIEW, deid anonymize VIEW.

    Example: deid extract notes/ view.csv --join patients.csv --on mrn
    """
    from deid.extraction.view import provenance_path
    from deid.joint.extracting import extract_files
    from deid.table.table_writing import check_new_table

    for path in (target, provenance_path(target)):
        check_new_table(path)
    run = NotesRun(told, source, reading, listed)
    run.begin(target)
    result = extract_files(run.found, asked, jobs=job_count(jobs), watch=run.watch("extracting"))
    written = result.write(target)
    rows, persons = result.rows.rows, result.rows.persons
    told.places.append(f"{rows} rows, {persons} persons, {len(result.rounds)} rounds; {target} holds PHI")
    done, beside = Tally(result.documents, result.failures), {"provenance": provenance_path(target)}
    return run.finish(done, written.as_dict(), remarks=written.remarks(), beside=beside, private=True)


@command
def write_back(
    told: Summary,
    *,
    view: Path = argument("Table of deid extract, with its provenance beside it.", metavar="VIEW"),
    release: Path = argument("What deid anonymize --aligned wrote.", metavar="RELEASE"),
    target: Path = argument("New folder for the policy and its values.", metavar="OUT"),
    on: str | None = option(None, "Column of both that tells rows apart; else their order does.", metavar="COLUMN"),
) -> None:
    """Make the policy that writes a published table's values back into the notes.

    OUT/policy.toml and OUT/values.csv say what stands where: 56 becomes [50-59] when the table publishes that. Values
    that are suppressed, and all other PHI, are taken out. RELEASE has the view's rows in their order, as deid anonymize
    --aligned writes them, or --on tells them apart. Then: deid scrub notes/ out/ --policy OUT/policy.toml

    Example: deid write-back view.csv aligned.csv published/
    """
    from deid.extraction import published_values, read_view
    from deid.extraction.view import provenance_path
    from deid.extraction.write_back import write_policy
    from deid.table.table_files import read_table

    check_new_file(target)
    told.begin(target, inputs=[("view", view), ("provenance", provenance_path(view)), ("release", release)])
    values = published_values(read_view(view), read_table(release), on=on)
    write_policy(values, target)
    told.places.append(f"{len(values)} places get a published value; use: deid scrub --policy {target}/policy.toml")
    told.extra = {"places": len(values)}
    told.sign(target, private=True)
