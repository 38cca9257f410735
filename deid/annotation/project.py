"""An annotation project: one SQLite file with notes, layers of marks by annotator, and who did what when.

The file holds the notes as they are, so it has mode 0600 (`deid.base.store`). Each change is one transaction that is
on the disk before the call returns, so a killed process loses nothing that was acknowledged. Every method may be called
from several threads and processes at once.

A layer is what one annotator made of the notes. Suggestions for all stand in the layer without a name; they are taken
into an annotator's layer when a note is opened there.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

import sqlalchemy as sql

from deid.annotation import rows
from deid.annotation.editing import IMPORT, Change, Mark, changed_meanwhile
from deid.annotation.items import Items
from deid.annotation.tables import (
    EVENTS,
    FORM,
    LABELS,
    LAYERS,
    MARKS,
    MODELS,
    NOTES,
    STEPS,
    TABLES,
)
from deid.annotation.trainings import Trainings
from deid.base.compiled import quick
from deid.base.errors import ConfigError, InputError, OutputError, StoreError, require
from deid.base.store import Store, made_whole, open_store
from deid.document import Document, Failure, Span, Tally, check_spans, failure_of

NoteState = Literal["new", "begun", "done"]
_AT_ONCE = 500  # notes a transaction when many are added
_KEPT = 4
_LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class ProjectLabel:
    """A category that annotators may give."""

    category: str
    key: str
    """The key that gives it; empty for none."""


@quick
@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note in the list of a project, as one annotator sees it."""

    id: int
    name: str = field(repr=False)
    """The id of its document; may carry PHI."""
    length: int
    """Characters (code points)."""
    state: NoteState
    uncertainty: float | None
    """How unsure the last model was of it; None where none has looked."""
    revision: int
    """Grows with each change of the annotator's layer."""


@dataclass(frozen=True, slots=True)
class Event:
    """Who did what to a note, and when."""

    annotator: str
    when: str
    """UTC, ISO 8601."""
    what: str
    """``add``, ``remove``, ... (the names of the changes), ``undo``, ``redo``, ``done``, ``reopened``, ``import``."""
    marks: tuple[Mark, ...]
    """The marks concerned as they were afterwards; those that went, as they were before."""


class Project(AbstractContextManager["Project"]):
    """A project; made by `Project.create` or `Project.open`, to be closed or used in a ``with`` statement."""

    def __init__(self, store: Store, path: Path) -> None:
        self._store = store
        self.path = path
        self.items = Items(store)
        self.trainings = Trainings(store)
        self._read: dict[int, str] = {}  # texts that were read last: a long one takes longer to read than to change

    def __repr__(self) -> str:
        return "Project()"

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    @classmethod
    def create(cls, path: str | Path, labels: Iterable[ProjectLabel | str] = ()) -> Self:
        """Make a new project.

        Parameters
        ----------
        path : path
            Its file, which must not be there.
        labels : iterable of Label or str
            What may be marked; a category alone gets a free key. Categories of annotations that are added come by
            themselves.

        Raises
        ------
        ConfigError
            When a label or its key cannot be (`set_label`).
        OutputError
            When the file is there, or cannot be written.
        """
        path = Path(path)
        if path.exists() or path.is_symlink():
            raise OutputError("the file of the project exists already", "open it, or name a new file", str(path))
        with made_whole(path):
            store = open_store(path, TABLES, create=True)
            project = cls(store, path)
            with store.writing() as connection:
                for name, value in (("form", FORM), ("next", "1")):
                    rows.set_setting(connection, name, value)
                given = [(own.category, own.key) if isinstance(own, ProjectLabel) else (own, None) for own in labels]
                for category, key in given:
                    _put_label(connection, category, key, {own for _, own in given if own})
        return project

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a project.

        Raises
        ------
        InputError
            When there is no such file.
        StoreError
            When it is no project, or one of another version.
        """
        path = Path(path)
        require(path.is_file(), "there is no such project", "check the path", str(path), kind=InputError)
        project = cls(open_store(path, TABLES), path)
        try:
            with project._store.reading() as connection:
                if rows.setting(connection, "form") != FORM:
                    how = "export it with that version (deid annotate export), and import what it wrote"
                    raise StoreError("the project was made by another version", how, str(path))
        except BaseException:
            project.close()
            raise
        return project

    # labels and guideline

    def labels(self) -> tuple[ProjectLabel, ...]:
        """Return the categories that may be given, with their keys, in the order in which they were added."""
        with self._store.reading() as connection:
            return tuple(
                ProjectLabel(r.category, r.key) for r in connection.execute(sql.select(LABELS).order_by(LABELS.c.id))
            )

    def set_label(self, category: str, key: str | None = None) -> None:
        """Add a category, or give one another key; by default a free one, with an empty key none.

        Raises
        ------
        ConfigError
            When the category is empty, long or has line ends, or the key is none, does something else or is another's.
        """
        with self._store.writing() as connection:
            _put_label(connection, category, key)

    def guideline(self) -> str:
        """Return what annotators are told."""
        with self._store.reading() as connection:
            return rows.setting(connection, "guideline")

    def set_guideline(self, text: str) -> None:
        """Set what annotators are told."""
        with self._store.writing() as connection:
            rows.set_setting(connection, "guideline", text)

    def adjudicated(self) -> dict[str, tuple[str, ...]]:
        """Return each adjudicator with the annotators whose work lies before him."""
        with self._store.reading() as connection:
            held = json.loads(rows.setting(connection, "adjudicated") or "{}")
        return {name: tuple(annotators) for name, annotators in held.items()}

    def set_adjudicated(self, adjudicator: str, annotators: Iterable[str]) -> None:
        """Say whose work lies before an adjudicator."""
        with self._store.writing() as connection:
            held = json.loads(rows.setting(connection, "adjudicated") or "{}")
            held[rows.layer_name(adjudicator)] = list(annotators)
            rows.set_setting(connection, "adjudicated", json.dumps(held))

    # notes

    def add(
        self,
        documents: Iterable[Document | Failure],
        layer: str | None = None,
        *,
        accepted: bool | None = None,
        done: bool | None = None,
        source: str = IMPORT,
    ) -> Tally:
        """Add notes, or annotations of notes that are there.

        Parameters
        ----------
        documents : iterable of Document or Failure
            Notes are known by their ids. One that is there must have the same text; its spans are offered: where the
            annotator has decided, all stays.
        layer : str, optional
            Whose layer the spans go to; none: suggestions for all.
        accepted : bool, optional
            Whether the spans are the layer's own marks; else they are suggestions. By default they are where a layer
            is named.
        done : bool, optional
            Whether the notes are done in the layer; by default where its spans are accepted.
        source : str
            What brings the spans, where they do not say.

        Returns
        -------
        Tally
            Notes and spans by category, and failures; a failing note stops nothing.

        Raises
        ------
        ConfigError
            When marks are to be accepted in no layer, or its name cannot be one.
        """
        name = rows.BASE if layer is None else rows.layer_name(layer)
        own = layer is not None if accepted is None else accepted
        require(not own or layer is not None, "accepted marks need a layer", "name the layer whose marks they are")
        finished = own if done is None else done and layer is not None
        tally = Tally()
        items = iter(documents)
        while part := list(itertools.islice(items, _AT_ONCE)):
            with self._store.writing() as connection:
                batch = rows.Batch(connection, name, own, finished, source)
                tally.each(part, batch.add, failure_of)
        return tally

    def remove(self, ids: Iterable[int]) -> int:
        """Remove notes with all that was made of them, models too; return how many there were.

        Nothing of them stays in the file.
        """
        gone = 0
        with self._store.writing() as connection:
            for id in ids:
                gone += connection.execute(NOTES.delete().where(NOTES.c.id == id)).rowcount
                connection.execute(EVENTS.delete().where(EVENTS.c.note == id))
            if gone:  # a model of the project may hold words of single notes
                connection.execute(MODELS.delete())
        self._store.compact(TABLES)
        return gone

    def entries(self, annotator: str) -> tuple[ListedNote, ...]:
        """Return the notes in the order in which they were added, as an annotator sees them."""
        query = (
            f"SELECT n.id, n.name, n.length, l.state, n.uncertainty, l.revision FROM {NOTES.name} n "  # noqa: S608
            f"LEFT JOIN {LAYERS.name} l ON l.note = n.id AND l.layer = ? ORDER BY n.id"
        )
        with self._store.reading() as connection:  # by the driver's own rows: a project has tens of thousands
            found = connection.exec_driver_sql(query, (rows.layer_name(annotator),)).fetchall()
        return tuple(
            ListedNote(id, name.decode("utf-8", "surrogatepass"), length, state or "new", uncertainty, revision or 0)
            for id, name, length, state, uncertainty, revision in found
        )

    def annotators(self) -> tuple[str, ...]:
        """Return the names of the layers in which notes were opened, sorted."""
        query = sql.select(LAYERS.c.layer).where(LAYERS.c.layer != rows.BASE).distinct().order_by(LAYERS.c.layer)
        with self._store.reading() as connection:
            return tuple(connection.execute(query).scalars())

    def names(self) -> tuple[tuple[int, str], ...]:
        """Return the number and the document's id of each note."""
        with self._store.reading() as connection:
            return tuple((id, name) for id, name in connection.execute(sql.select(NOTES.c.id, NOTES.c.name)))

    def text(self, id: int) -> str:
        """Return a note's text.

        Raises
        ------
        InputError
            When there is no such note.
        """
        with self._store.reading() as connection:
            return self._text(connection, id)

    def _text(self, connection: sql.Connection, id: int) -> str:
        text = self._read.get(id)
        if text is None:
            text = rows.text_of(connection, id)
            while len(self._read) >= _KEPT:
                self._read.pop(next(iter(self._read), id), None)
            self._read[id] = text
        else:
            rows.length_of(connection, id)  # it may be gone
        return text

    def marks(self, id: int, annotator: str) -> tuple[int, tuple[Mark, ...]]:
        """Return an annotator's revision of a note, and the marks there by position; suggestions are taken over."""
        name = rows.layer_name(annotator)
        with self._store.reading() as connection:
            if (revision := rows.revision_of(connection, id, name)) is not None:
                return revision, rows.marks_of(connection, id, name)
        with self._store.writing() as connection:
            return rows.opened(connection, id, name), rows.marks_of(connection, id, name)

    def change(
        self,
        id: int,
        annotator: str,
        revision: int,
        changes: Sequence[Change],
        told: dict[int, Mark | None] | None = None,
    ) -> int:
        """Change an annotator's marks of a note: all of the changes or none, one step of `undo`.

        Parameters
        ----------
        id : int
            The note.
        annotator : str
        revision : int
            The revision that the annotator saw.
        changes : sequence of Change
        told : dict of int to Mark or None, optional
            Is given what became of each mark concerned; None for one that is gone.

        Returns
        -------
        int
            The new revision.

        Raises
        ------
        Conflict
            When the layer has changed meanwhile.
        OffsetError, LabelError, InputError
            When a change does not fit the text, or there is no such category or note.
        """
        name = rows.layer_name(annotator)
        with self._store.writing() as connection:
            rows.opened(connection, id, name, revision)
            touched = rows.marks_touched(connection, id, name, changes)
            editing = rows.editing_of(connection, name, self._text(connection, id), touched)
            for change in changes:
                editing.do(change)
            if told is not None:
                told.update(editing.after)
            what = ", ".join(dict.fromkeys(type(change).__name__.lower() for change in changes))
            return rows.keep_step(connection, id, name, editing, what, None)

    def same(
        self,
        id: int | None,
        annotator: str,
        mark: int,
        category: str | None = None,
        *,
        revision: int | None = None,
        told: dict[int, Mark | None] | None = None,
    ) -> dict[int, int]:
        """Mark all places where the same text as that of a mark stands, in one note or in all; one step of `undo`.

        Parameters
        ----------
        id : int, optional
            The note; None: all notes of the project.
        annotator : str
        mark : int
            A mark of the annotator; it is accepted where it is a suggestion.
        category : str, optional
            What the places are marked as; by default the mark's category.
        revision : int, optional
            The revision of the mark's note that the annotator saw.
        told : dict of int to Mark or None, optional
            Is given what became of each mark concerned in the mark's note; None for one that is gone.

        Returns
        -------
        dict of int to int
            Note -> its new revision, for those that changed.

        Raises
        ------
        Conflict
            When the mark is not there any more, or its note has changed meanwhile.
        """
        name = rows.layer_name(annotator)
        with self._store.writing() as connection:
            own = sql.select(MARKS.c.note).where(MARKS.c.id == mark, MARKS.c.layer == name)
            here = connection.execute(own).scalar()
            if here is None or id not in (None, here):
                raise changed_meanwhile()
            rows.opened(connection, here, name, revision)
            (found,) = rows.marks_of(connection, here, name, " AND id = ?", (mark,))
            quote = self._text(connection, here)[found.start : found.end]
            notes: Sequence[int] = [here]
            if id is None:
                raw = quote.encode("utf-8", "surrogatepass")
                # bytes are found where characters are: no character of UTF-8 begins inside another
                inside = sql.func.instr(NOTES.c.text, sql.literal(raw, sql.LargeBinary)) > 0
                notes = connection.execute(sql.select(NOTES.c.id).where(inside).order_by(NOTES.c.id)).scalars().all()
            group = rows.next_ids(connection, 1)[0]
            revisions = {}
            for note in notes:
                rows.opened(connection, note, name)
                held = rows.marks_of(connection, note, name)
                editing = rows.editing_of(connection, name, rows.text_of(connection, note), held)
                if note == here:
                    editing.settle(mark, category or found.category)
                editing.same(quote, category or found.category)
                if note == here and told is not None:
                    told.update(editing.after)
                if editing.changed:
                    begun = note == here
                    revisions[note] = rows.keep_step(connection, note, name, editing, "same", group, begun=begun)
            return revisions

    def undo(
        self, id: int, annotator: str, revision: int | None = None, told: dict[int, Mark | None] | None = None
    ) -> int:
        """Take back the annotator's last step in a note; return the revision.

        A step in many notes (`same`) is taken back in all where it is the last.

        Parameters
        ----------
        id : int
            The note.
        annotator : str
        revision : int, optional
            The revision that the annotator saw.
        told : dict of int to Mark or None, optional
            Is given what became of each mark concerned in the note; None for one that is gone.

        Raises
        ------
        Conflict
            When the layer has changed since that revision.
        """
        return self._go(id, annotator, revision, told, back=True)

    def redo(
        self, id: int, annotator: str, revision: int | None = None, told: dict[int, Mark | None] | None = None
    ) -> int:
        """Do again what was taken back last; return the revision. Parameters and errors are those of `undo`."""
        return self._go(id, annotator, revision, told, back=False)

    def _go(self, id: int, annotator: str, seen: int | None, told: dict[int, Mark | None] | None, *, back: bool) -> int:
        name = rows.layer_name(annotator)
        with self._store.writing() as connection:
            revision = rows.opened(connection, id, name, seen)
            step = rows.next_step(connection, id, name, back=back)
            if step is None:
                return revision
            steps = [step]
            if step.group is not None:
                query = sql.select(STEPS.c.note).where(STEPS.c.group == step.group, STEPS.c.note != id)
                others = connection.execute(query).scalars().all()
                tops = [rows.next_step(connection, note, name, back=back) for note in others]
                steps += [top for top in tops if top is not None and top.group == step.group]
            for one in steps:
                done = rows.turn(connection, one, name, back=back)
                if told is not None and one is step:
                    told.update(done)
            return revision + 1

    def finish(self, id: int, annotator: str, done: bool = True) -> int:
        """Say that an annotator is done with a note, or not any more; return the revision."""
        name = rows.layer_name(annotator)
        with self._store.writing() as connection:
            revision = rows.opened(connection, id, name) + 1
            rows.set_layer(connection, id, name, revision, "done" if done else "begun")
            rows.log(connection, id, name, "done" if done else "reopened", ())
            return revision

    def refresh(
        self,
        id: int,
        spans: Iterable[Span],
        uncertainty: float | None,
        missed: float | None = None,
    ) -> None:
        """Put new suggestions in the place of all earlier ones of a note.

        In a layer where the note is done nothing changes, and elsewhere only where the annotator has not accepted,
        rejected or added anything. Revisions stay: what an annotator has on the screen can still be decided, unless the
        suggestion is gone.

        Parameters
        ----------
        id : int
        spans : iterable of Span
            With scores, where there are some.
        uncertainty : float, optional
            How unsure the model is of the whole note.
        missed : float, optional
            PHI words that it expects to miss there.
        """
        found = tuple(spans)
        with self._store.writing() as connection:
            check_spans(rows.length_of(connection, id), found)
            connection.execute(NOTES.update().where(NOTES.c.id == id).values(uncertainty=uncertainty, missed=missed))
            rows.add_labels(connection, found)
            rows.suggest(connection, id, rows.BASE, found, "model", rows.fresh_ids(connection), instead=True)

    def missed(self, annotator: str) -> tuple[float, ...]:
        """Return the PHI words that the last model expects to miss in each note that it saw and that is not done."""
        name = rows.layer_name(annotator)
        done = sql.select(LAYERS.c.note).where(LAYERS.c.layer == name, LAYERS.c.state == "done")
        query = sql.select(NOTES.c.missed).where(NOTES.c.missed.is_not(None), NOTES.c.id.not_in(done))
        with self._store.reading() as connection:
            return tuple(connection.execute(query.order_by(NOTES.c.id)).scalars())

    def history(self, id: int) -> tuple[Event, ...]:
        """Return who did what to a note and when, in order."""
        query = sql.select(EVENTS).where(EVENTS.c.note == id).order_by(EVENTS.c.id)
        with self._store.reading() as connection:
            return tuple(
                Event(row.layer, row.when, row.what, tuple(Mark.from_json(mark) for mark in row.marks))
                for row in connection.execute(query)
            )

    def documents(self, layer: str | None, *, done: bool = True) -> Iterator[Document]:
        """Yield the notes with what is accepted in a layer as their spans.

        Parameters
        ----------
        layer : str, optional
            An annotator's; None: the suggestions for all, of every note.
        done : bool
            Only notes that are done there; else all, those that nobody has opened too.
        """
        name, wanted = (rows.BASE, "suggested") if layer is None else (rows.layer_name(layer), "accepted")
        query = sql.select(NOTES.c.id, LAYERS.c.state).outerjoin_from(
            NOTES, LAYERS, sql.and_(LAYERS.c.note == NOTES.c.id, LAYERS.c.layer == name)
        )
        with self._store.reading() as connection:
            states = connection.execute(query.order_by(NOTES.c.id)).all()
        for index, (id, state) in enumerate(states, 1):
            if layer is not None and done and state != "done":
                continue
            with self._store.reading() as connection:
                row = connection.execute(sql.select(NOTES).where(NOTES.c.id == id)).first()
                marks = rows.marks_of(connection, id, name)
            if row is not None:
                spans = tuple(mark.as_span() for mark in marks if mark.state == wanted)
                yield Document(row.name, row.text, spans, row.metadata, index)


def _put_label(connection: sql.Connection, category: str, key: str | None, kept: Collection[str] = ()) -> None:
    """Add a category or change its key, as `Project.set_label` says; keys that are kept are for others."""
    require(bool(category.strip()), "a label is empty", "give it a name")
    fits = len(category) <= _LONGEST_LABEL and category.isprintable()
    require(fits, "a label is too long or has line ends", f"write it in one line of {_LONGEST_LABEL} characters")
    if key:
        meant = len(key) == 1 and key.isprintable() and not key.isspace()
        require(meant, "a label's key is no single character", "for example: NAME=n")
        free = key not in rows.RESERVED_KEYS
        require(free, "a label has a key that does something else", f"take another one than {rows.RESERVED_KEYS}")
    holder = key and connection.execute(sql.select(LABELS.c.category).where(LABELS.c.key == key)).scalar()
    if holder and holder != category:
        raise ConfigError("another label has this key", "choose another key, or take it from that label first")
    known = connection.execute(sql.select(LABELS.c.id).where(LABELS.c.category == category)).scalar()
    if known is None:
        rows.add_label(connection, category, key, kept)
    elif key is not None:
        connection.execute(LABELS.update().where(LABELS.c.id == known).values(key=key))
