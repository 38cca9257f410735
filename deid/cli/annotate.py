"""The command annotate: notes in the browser, marks in a project."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

from deid.annotation.loop import LoopOptions
from deid.base.audit import login
from deid.base.errors import require
from deid.base.files import write_bytes
from deid.cli import IN, Summary, command, option
from deid.io.formats import ReadingOptions


@command
def annotate(
    told: Summary,
    *,
    source: Path | str = IN,
    project: Path | None = option(
        None, "File of the project; by default beside IN, with the suffix .annotations.", "--project"
    ),
    annotator: str | None = option(None, "Whose marks they are; by default your login name.", metavar="NAME"),
    label: tuple[str, ...] = option(
        ("i2b2-2014",),
        "A label of a new project, or a label set (repeatable); =KEY says which key gives it. Notes with annotations "
        "bring their own.",
        metavar="NAME[=KEY]",
    ),
    suggest: bool = option(False, "Suggest at once what the model to start from finds."),
    port: int = option(0, "Port on this machine; 0 for one that is free."),
    browser: bool = option(True, "Open the browser; else the link is printed."),
    learning: LoopOptions,
    reading: ReadingOptions,
) -> None:
    """Annotate notes in the browser, with a tagger that learns meanwhile.

    IN is a folder or file of notes, or a project. Notes go into the project as they are, with annotations that they
    have; notes that are there already are left as they are. The page is for this machine alone, and its link works
    once. Each mark is on the disk when the page says so; Ctrl C ends.

    Example: deid annotate notes/ --annotator anna
    """
    from deid.annotation.loop import Learner
    from deid.annotation.opening import open_or_create
    from deid.web.annotation import annotation_app, serve_annotation

    name = annotator or login("annotator")
    opened, tally, made = open_or_create(source, project, label, reading)
    told.documents, told.failures = tally.documents, tally.failures
    told.places += [f"new project: {opened.path} (mode 0600)"] if made else []
    with opened:
        entries = opened.entries(name)
        held = entries or opened.items.all()
        require(bool(held), "the project has no notes, and nothing to review", "name a folder or file of notes")
        door = opened.path.with_name(opened.path.name + ".open.html")
        learner = Learner(opened.path, name, learning)
        app = annotation_app(opened, name, learner, learning)
        if suggest:
            learner.start(training=False)

        def ready(link: str, another: Callable[[], str]) -> None:
            if browser and _opened(link, door):
                sys.stderr.write(f"{len(entries)} notes; your browser opens the page\n")
            else:
                sys.stderr.write(f"{len(entries)} notes; open {link}\n")
            sys.stderr.flush()
            if sys.stdin.isatty():
                sys.stderr.write("Enter gives a new link, Ctrl C ends\n")
                threading.Thread(target=_links, args=(another,), daemon=True).start()

        try:
            serve_annotation(app, name, port, ready)
        finally:
            door.unlink(missing_ok=True)
            learner.close()
        done = sum(entry.state == "done" for entry in opened.entries(name))
        told.notes.append(f"{done} of {len(entries)} notes are done")
        told.places.append(f"project: {opened.path}")
        told.extra = {"notes": len(entries), "done": done}


def _opened(link: str, door: Path) -> bool:
    """Open a browser on a private file that leads to a link; tell whether there is one.

    The link itself would stand on the browser's command line, which everybody on the machine can read.
    """
    import webbrowser

    write_bytes(door, f'<meta http-equiv="refresh" content="0;url={link}">\n'.encode(), replace=True)
    return webbrowser.open(door.absolute().as_uri())


def _links(another: Callable[[], str]) -> None:
    for _ in sys.stdin:
        sys.stderr.write(f"open {another()}\n")
        sys.stderr.flush()
