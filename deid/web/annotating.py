"""From an opened project to the page in a browser, until the annotator ends it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deid.annotation.loop import Learner, LoopOptions
from deid.base.errors import require
from deid.base.files import write_bytes
from deid.web.annotation import annotation_app, serve_annotation

if TYPE_CHECKING:
    from deid.annotation.project import Project
    from deid.web.options import PageOptions


def annotate(project: Project, annotator: str, asked: PageOptions, learning: LoopOptions) -> tuple[int, int]:
    """Serve the page of a project until SIGINT or SIGTERM; return how many notes there are, and how many are done.

    Raises
    ------
    ConfigError
        When there is nothing to work on, or the port is taken.
    """
    entries = project.entries(annotator)
    held = entries or project.items.all()
    require(held, "the project has no notes, and nothing to review", "name a folder or file of notes")
    door = project.path.with_name(project.path.name + ".open.html")
    learner = Learner(project.path, annotator, learning)
    app = annotation_app(project, annotator, learner, learning)
    if asked.suggest:
        learner.start(training=False)

    def ready(link: str, another: Callable[[], str]) -> None:
        shown = asked.browser and _opened(link, door)
        sys.stderr.write(f"{len(entries)} notes; {'your browser opens the page' if shown else f'open {link}'}\n")
        sys.stderr.flush()
        if sys.stdin.isatty():
            sys.stderr.write("Enter gives a new link, Ctrl C ends\n")
            threading.Thread(target=_links, args=(another,), daemon=True).start()

    try:
        serve_annotation(app, annotator, asked.port, ready)
    finally:
        door.unlink(missing_ok=True)
        learner.close()
    return len(entries), sum(entry.state == "done" for entry in project.entries(annotator))


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
