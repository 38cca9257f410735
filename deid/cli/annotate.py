"""The command annotate: notes in the browser, marks in a project."""

from __future__ import annotations

from pathlib import Path

from deid.annotation.loop import LoopOptions
from deid.base.audit import login
from deid.cli import IN, Summary, command
from deid.io.formats import ReadingOptions
from deid.web.options import PageOptions


@command
def annotate(
    told: Summary, *, source: Path | str = IN, asked: PageOptions, learning: LoopOptions, reading: ReadingOptions
) -> None:
    """Annotate notes in the browser, with a tagger that learns meanwhile.

    IN is a folder or file of notes, or a project. Notes go into the project as they are, with annotations that they
    have; notes that are there already are left as they are. The page is for this machine alone, and its link works
    once. Each mark is on the disk when the page says so; Ctrl C ends.

    Example: deid annotate notes/ --annotator anna
    """
    from deid.annotation.opening import open_or_create
    from deid.web.annotating import annotate

    opened, tally, made = open_or_create(source, asked.project, asked.label, reading)
    told.documents, told.failures = tally.documents, tally.failures
    told.places += [f"new project: {opened.path} (mode 0600)"] if made else []
    with opened:
        notes, done = annotate(opened, asked.annotator or login("annotator"), asked, learning)
    told.notes.append(f"{done} of {notes} notes are done")
    told.places.append(f"project: {opened.path}")
    told.extra = {"notes": notes, "done": done}
