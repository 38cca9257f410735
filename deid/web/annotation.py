"""The annotation page: a project's notes, marks and labels for a browser of this machine.

The page is plain files in ``deid/web/static``; what it asks for stands under ``/api``. Notes are named by their numbers
in the project, so that no address holds anything of a patient. A change is answered when it is on the disk.
"""

# annotations are values here, not texts: FastAPI reads those of functions inside of a function

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from deid.annotation.editing import (
    REPLACEMENT,
    Accept,
    Add,
    Change,
    Conflict,
    Mark,
    Move,
    Note,
    Reject,
    Relabel,
    Remove,
)
from deid.annotation.rows import RESERVED_KEYS
from deid.base.errors import OffsetError, require, told_as
from deid.web.guard import Guard
from deid.web.listening import listen, run
from deid.web.problems import application, missing_extra
from deid.web.tokens import Link

if TYPE_CHECKING:
    from fastapi import FastAPI

    from deid.annotation.items import Item
    from deid.annotation.loop import Learner, LoopOptions
    from deid.annotation.project import Project

STATIC = Path(__file__).with_name("static")
_FAR = 2**53 - 1
"""The largest whole number that a browser holds exactly; a database holds it, too."""

_CHANGES: dict[str, Callable[[dict[str, Any]], Change]] = {
    "add": lambda c: Add(c["start"], c["end"], c["category"], c["quote"]),
    "remove": lambda c: Remove(c["mark"]),
    "relabel": lambda c: Relabel(c["mark"], c["category"]),
    "move": lambda c: Move(c["mark"], c["start"], c["end"], c["quote"]),
    "accept": lambda c: Accept(c["mark"]),
    "reject": lambda c: Reject(c["mark"]),
    "note": lambda c: Note(c["mark"], c["text"]),
}


def mark_values(mark: Mark) -> dict[str, Any]:
    """Return what the page is told of a mark."""
    told = ("id", "start", "end", "category", "state", "probability", "by", "when", "note")
    return {**{name: getattr(mark, name) for name in told}, "replacement": dict(mark.span[1]).get(REPLACEMENT)}


def annotation_app(
    project: "Project", annotator: str, learner: "Learner | None" = None, learning: "LoopOptions | None" = None
) -> "FastAPI":
    """Return the application of the annotation page; to be put behind a `deid.web.guard.Guard`.

    Parameters
    ----------
    project : Project
    annotator : str
        Whose layer is worked on.
    learner : Learner, optional
        Trains and suggests beside the page.
    learning : LoopOptions, optional
        How it learns.

    Raises
    ------
    ConfigError
        When the extra ``web`` is not installed.
    """
    app = application("deid annotate", {Conflict: 409, OffsetError: 409})
    with told_as(missing_extra(), ImportError):
        from fastapi import Response
        from fastapi.staticfiles import StaticFiles
        from pydantic import BaseModel, Field
    Number = Annotated[int, Field(ge=-_FAR, le=_FAR)]
    sketches: dict[int, Any] = {}
    queueing = threading.Lock()

    def said(value: Any) -> Response:
        # ASCII, so that a note with half a surrogate pair can be told
        return Response(json.dumps(value, default=float, separators=(",", ":")), media_type="application/json")

    class ChangeBody(BaseModel, extra="forbid"):
        do: Literal["add", "remove", "relabel", "move", "accept", "reject", "note"]
        mark: Number = 0
        start: Number = 0
        end: Number = 0
        category: str = ""
        quote: str = ""
        text: str = ""

    class ChangesBody(BaseModel):
        revision: Number
        changes: list[ChangeBody]

    class SeenBody(BaseModel):
        revision: Number

    class SameBody(BaseModel):
        revision: Number
        mark: Number
        category: str | None = None
        everywhere: bool = False

    class DoneBody(BaseModel):
        done: bool = True

    class LabelBody(BaseModel):
        category: str
        key: str | None = None

    class TrainingBody(BaseModel):
        suggest_only: bool = False

    class DecisionBody(BaseModel):
        decision: str
        comment: str = ""

    class GuidelineBody(BaseModel):
        text: str

    def step(revision: int, told: Mapping[int, Mark | None]) -> dict[str, Any]:
        """Return what the page is told of a change: the marks that are other ones now, and those that are gone."""
        changed = [mark_values(mark) for mark in told.values() if mark]
        return {"revision": revision, "changed": changed, "gone": [id for id, mark in told.items() if not mark]}

    @app.get("/")
    def page() -> Response:
        return Response((STATIC / "index.html").read_bytes(), media_type="text/html; charset=utf-8")

    @app.get("/api/project")
    def about() -> Response:
        labels = [{"category": label.category, "key": label.key} for label in project.labels()]
        return said(
            {
                "annotator": annotator,
                "labels": labels,
                "reserved": RESERVED_KEYS,
                "guideline": project.guideline(),
                "adjudicates": annotator in project.adjudicated(),
            }
        )

    @app.get("/api/notes")
    def notes() -> Response:
        entries = project.entries(annotator)
        return said([[e.id, e.name, e.length, e.state, e.uncertainty, e.revision] for e in entries])

    @app.get("/api/notes/{id}")
    def note(id: Number) -> Response:
        revision, marks = project.marks(id, annotator)
        held = [mark_values(mark) for mark in marks]
        return said({"id": id, "text": project.text(id), "revision": revision, "marks": held})

    @app.post("/api/notes/{id}/changes")
    def change(id: Number, body: ChangesBody) -> Response:
        changes = [_CHANGES[one.do](one.model_dump()) for one in body.changes]
        told: dict[int, Mark | None] = {}
        revision = project.change(id, annotator, body.revision, changes, told)
        return said(step(revision, told))

    @app.post("/api/notes/{id}/same")
    def same(id: Number, body: SameBody) -> Response:
        told: dict[int, Mark | None] = {}
        place = None if body.everywhere else id
        revisions = project.same(place, annotator, body.mark, body.category, revision=body.revision, told=told)
        return said({**step(revisions.get(id, body.revision), told), "notes": list(revisions)})

    @app.post("/api/notes/{id}/undo")
    def undo(id: Number, body: SeenBody) -> Response:
        told: dict[int, Mark | None] = {}
        return said(step(project.undo(id, annotator, body.revision, told), told))

    @app.post("/api/notes/{id}/redo")
    def redo(id: Number, body: SeenBody) -> Response:
        told: dict[int, Mark | None] = {}
        return said(step(project.redo(id, annotator, body.revision, told), told))

    @app.post("/api/notes/{id}/done")
    def finish(id: Number, body: DoneBody) -> Response:
        return said({"revision": project.finish(id, annotator, body.done)})

    @app.get("/api/notes/{id}/history")
    def history(id: Number) -> Response:
        events = project.history(id)
        return said([[e.when, e.annotator, e.what, [m.category for m in e.marks]] for e in events])

    @app.put("/api/labels")
    def set_label(body: LabelBody) -> Response:
        project.set_label(body.category, body.key)
        return about()

    @app.put("/api/guideline")
    def set_guideline(body: GuidelineBody) -> Response:
        project.set_guideline(body.text)
        return said({})

    def learned() -> dict[str, Any]:
        from deid.annotation.loop import advice, curve

        progress = asdict(learner.progress()) if learner else {"step": "none"}
        rounds = project.trainings.figures(annotator)
        told = asdict(advice(project, annotator)) if rounds else None
        return {"progress": progress, "rounds": rounds[-20:], "curve": curve(project, annotator), "advice": told}

    @app.get("/api/training")
    def training() -> Response:
        return said(learned())

    @app.post("/api/training")
    def train(body: TrainingBody) -> Response:
        require(learner is not None, "this page has no tagger", "start it with deid annotate")
        if learner is not None:
            learner.start(training=not body.suggest_only)
        return said(learned())

    @app.get("/api/queue")
    def queue() -> Response:
        from deid.annotation.loop import queue as ordered

        with queueing:
            places = ordered(project, annotator, learning, sketches)
        return said([[id, place.drawn] for id, place in places])

    @app.get("/api/notes/{id}/others")
    def others(id: Number) -> Response:
        # before one is done oneself, what others marked would only be copied; an adjudicator decides between them
        def done(name: str) -> bool:
            return any(entry.id == id and entry.state == "done" for entry in project.entries(name))

        between = project.adjudicated().get(annotator)
        names = between or ([name for name in project.annotators() if name != annotator] if done(annotator) else [])
        marks = {name: project.marks(id, name)[1] for name in names if done(name)}
        return said({name: [mark_values(m) for m in held if m.state == "accepted"] for name, held in marks.items()})

    @app.get("/api/items")
    def items() -> Response:
        from deid.annotation.items import KINDS

        def told(item: "Item") -> dict[str, Any]:
            decided = [[d.annotator, d.when, d.decision, d.comment] for d in item.decisions]
            mine = next((d for d in reversed(item.decisions) if d.annotator == annotator), None)
            return {
                "id": item.id,
                "kind": item.kind,
                "content": dict(item.content),
                "decisions": decided,
                "mine": [mine.decision, mine.comment] if mine else None,
            }

        return said({"kinds": dict(KINDS), "items": [told(item) for item in project.items.all()]})

    @app.post("/api/items/{id}")
    def decide(id: Number, body: DecisionBody) -> Response:
        project.items.decide(id, annotator, body.decision, body.comment)
        return said({})

    app.mount("/static", StaticFiles(directory=STATIC))
    return app


def serve_annotation(
    app: "FastAPI", annotator: str, port: int, ready: Callable[[str, Callable[[], str]], None]
) -> None:
    """Serve the page on loopback until SIGINT or SIGTERM.

    Parameters
    ----------
    app : FastAPI
        Of `annotation_app`.
    annotator : str
    port : int
        0 for one that is free.
    ready : callable
        Is called once with a link that works once, and with what makes another one.

    Raises
    ------
    ConfigError
        When the port is taken.
    """
    place = listen(port=port)
    link = Link(annotator)

    def new() -> str:
        return f"{place.origin}{link.new()}"

    ready(new(), new)
    # a browser keeps connections open: what is under way is answered, and idle ones are closed at once
    run(Guard(app, place.hosts, link), place, drain=5)
