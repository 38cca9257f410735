"""What a project's transactions do to the rows of its tables."""

from __future__ import annotations

import datetime
import json
import string
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sql

from deid.annotation.editing import Add, Change, Editing, Mark, Move, changed_meanwhile, offered
from deid.annotation.tables import EVENTS, LABELS, LAYERS, MARKS, NOTES, SETTINGS, STEPS
from deid.base.errors import DuplicateError, InputError, require
from deid.document import Document, Span, check_spans

BASE = ""
"""The layer of suggestions for all."""
RESERVED_KEYS = "axuzyjk[]{}=+#?"
"""What the annotation page uses for other things than labels."""
_KEYS = "".join(c for c in string.ascii_lowercase if c not in RESERVED_KEYS) + string.digits + string.ascii_uppercase


def now() -> str:
    """Return the time as it is written down."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def layer_name(name: str) -> str:
    """Return a layer's name, which must not be empty.

    Raises
    ------
    ConfigError
        When it is empty, or too long.
    """
    require(name.strip() and len(name) <= 200, "a layer needs a name of at most 200 characters", "name the annotator")
    return name


def _no_note() -> InputError:
    return InputError("there is no such note in the project", "load the list again")


def setting(connection: sql.Connection, name: str) -> str:
    """Return a setting of the project; empty where there is none."""
    value = connection.execute(sql.select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar()
    return str(value or "")


def set_setting(connection: sql.Connection, name: str, value: str) -> None:
    """Set a setting of the project."""
    connection.execute(SETTINGS.delete().where(SETTINGS.c.name == name))
    connection.execute(SETTINGS.insert(), {"name": name, "value": value})


def next_ids(connection: sql.Connection, many: int) -> range:
    """Return numbers that were never given before."""
    first = int(setting(connection, "next"))
    set_setting(connection, "next", str(first + many))
    return range(first, first + many)


def fresh_ids(connection: sql.Connection) -> Iterator[int]:
    """Yield numbers that were never given before."""
    many = 100
    while True:
        yield from next_ids(connection, many)
        many *= 2


def add_label(connection: sql.Connection, category: str, key: str | None = None, kept: Collection[str] = ()) -> None:
    """Add a category, by default with a free key that is none of those kept for others."""
    if key is None:
        used = {*kept, *connection.execute(sql.select(LABELS.c.key)).scalars()}
        key = next((k for k in (*category.lower(), *_KEYS) if k in _KEYS and k not in used), "")
    connection.execute(LABELS.insert(), {"category": category, "key": key})


def add_labels(connection: sql.Connection, spans: Iterable[Span]) -> None:
    """Add the categories of spans that the project lacks."""
    wanted = dict.fromkeys(span.category for span in spans)
    known = categories(connection) if wanted else ()
    for category in wanted:
        if category not in known:
            add_label(connection, category)


def categories(connection: sql.Connection) -> frozenset[str]:
    """Return the project's categories."""
    return frozenset(connection.execute(sql.select(LABELS.c.category)).scalars())


def text_of(connection: sql.Connection, id: int) -> str:
    """Return a note's text."""
    text = connection.execute(sql.select(NOTES.c.text).where(NOTES.c.id == id)).scalar()
    if text is None:
        raise _no_note()
    return str(text)


def length_of(connection: sql.Connection, id: int) -> int:
    """Return the length of a note's text; raise `InputError` where there is no such note."""
    length = connection.execute(sql.select(NOTES.c.length).where(NOTES.c.id == id)).scalar()
    if length is None:
        raise _no_note()
    return int(length)


def revision_of(connection: sql.Connection, id: int, layer: str) -> int | None:
    """Return the revision of a layer of a note, None where it was never opened."""
    query = sql.select(LAYERS.c.revision).where(LAYERS.c.note == id, LAYERS.c.layer == layer)
    found = connection.execute(query).scalar()
    return None if found is None else int(found)


def set_layer(connection: sql.Connection, id: int, layer: str, revision: int, state: str) -> None:
    """Set the revision and the state of a layer of a note."""
    place = (LAYERS.c.note == id) & (LAYERS.c.layer == layer)
    connection.execute(LAYERS.update().where(place).values(revision=revision, state=state))


def opened(connection: sql.Connection, id: int, layer: str, seen: int | None = None) -> int:
    """Return the revision of a layer of a note, which takes the suggestions for all over when it is new.

    It must be the one that was ``seen``, where one is named.
    """
    revision = revision_of(connection, id, layer)
    if revision is None:
        length_of(connection, id)  # refuses a note that is not there
    if seen not in (None, revision or 0):
        raise changed_meanwhile()
    if revision is not None:
        return revision
    connection.execute(LAYERS.insert(), {"note": id, "layer": layer, "state": "new", "revision": 0})
    base = marks_of(connection, id, BASE) if layer != BASE else ()
    ids = next_ids(connection, len(base))
    insert(connection, id, layer, [[new, *mark.as_json()[1:]] for new, mark in zip(ids, base, strict=True)])
    return 0


# marks are read and written by the driver's own rows: a long note has tens of thousands, and types cost ten times that
_COLUMNS = ", ".join(f'"{column.name}"' for column in MARKS.columns if column.name not in ("note", "layer"))
_READ = f"SELECT {_COLUMNS} FROM {MARKS.name} WHERE note = ? AND layer = ?"  # noqa: S608
_WRITE = f"INSERT INTO {MARKS.name} (note, layer, {_COLUMNS}) VALUES ({', '.join('?' * len(MARKS.columns))})"  # noqa: S608
_PLAIN = json.dumps(["", [], []], separators=(",", ":"))  # what most marks are made of


def marks_of(
    connection: sql.Connection, id: int, layer: str, where: str = "", values: Sequence[int] = ()
) -> tuple[Mark, ...]:
    """Return the marks of a layer of a note by position; ``where`` is a further condition."""
    query = f'{_READ}{where} ORDER BY start, "end", id'
    rows = connection.exec_driver_sql(query, (id, layer, *values)).fetchall()
    known: dict[bytes, str] = {}

    def told(raw: bytes) -> str:
        if raw not in known:
            known[raw] = bytes(raw).decode("utf-8", "surrogatepass")
        return known[raw]

    return tuple(
        Mark(
            mark, start, end, told(category), state, probability, told(by), when, told(comment), told(source),
            _ABOUT_NOTHING if span == _PLAIN else _about(json.loads(span)),
        )
        for mark, start, end, category, state, probability, by, when, comment, source, span in rows
    )  # fmt: skip


_ABOUT_NOTHING: tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]] = ("", (), ())


def _about(values: Sequence[Any]) -> tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]:
    id, attributes, also = values
    return id, tuple((name, value) for name, value in attributes), tuple(also)


def marks_touched(connection: sql.Connection, id: int, layer: str, changes: Sequence[Change]) -> tuple[Mark, ...]:
    """Return the marks of a layer of a note that changes name, and those that share a character with them."""
    named = {number for change in changes if (number := getattr(change, "mark", None)) is not None}
    found = {mark.id: mark for number in named for mark in marks_of(connection, id, layer, " AND id = ?", (number,))}
    places = {(mark.start, mark.end) for mark in found.values()}
    places |= {(change.start, change.end) for change in changes if isinstance(change, Add | Move)}
    for start, end in places:
        near = marks_of(connection, id, layer, ' AND start < ? AND "end" > ?', (end, start))
        found.update((mark.id, mark) for mark in near)
    return tuple(found.values())


def insert(connection: sql.Connection, id: int, layer: str, marks: Iterable[Sequence[Any]]) -> None:
    """Write marks, as `Mark.as_json` gives them."""
    rows = [
        (
            id, layer, mark, start, end, category.encode("utf-8", "surrogatepass"), state, probability,
            by.encode("utf-8", "surrogatepass"), when, comment.encode("utf-8", "surrogatepass"),
            source.encode("utf-8", "surrogatepass"), json.dumps(span, separators=(",", ":")),
        )
        for mark, start, end, category, state, probability, by, when, comment, source, span in marks
    ]  # fmt: skip
    if rows:
        connection.exec_driver_sql(_WRITE, rows)


def delete(connection: sql.Connection, ids: Iterable[int]) -> None:
    """Delete marks."""
    rows = [(id,) for id in ids]
    if rows:
        connection.exec_driver_sql(f"DELETE FROM {MARKS.name} WHERE id = ?", rows)  # noqa: S608


def log(connection: sql.Connection, id: int, layer: str, what: str, marks: Iterable[Sequence[Any]]) -> None:
    """Write down what was done."""
    event = {"note": id, "layer": layer, "when": now(), "what": what[:40], "marks": list(marks)}
    connection.execute(EVENTS.insert(), event)


def editing_of(connection: sql.Connection, layer: str, text: str, marks: Iterable[Mark]) -> Editing:
    """Return marks of a layer of a note, ready to be edited."""
    return Editing(text, marks, categories(connection), fresh_ids(connection), layer, now())


def keep_step(
    connection: sql.Connection,
    id: int,
    layer: str,
    editing: Editing,
    what: str,
    group: int | None,
    *,
    begun: bool = True,
) -> int:
    """Write what was edited as a step; return the new revision."""
    query = sql.select(LAYERS).where(LAYERS.c.note == id, LAYERS.c.layer == layer)
    was = connection.execute(query).one()
    if not editing.changed:
        return int(was.revision)
    before = [mark.as_json() for mark in editing.before.values() if mark]
    after = [mark.as_json() for mark in editing.after.values() if mark]
    delete(connection, editing.before)
    insert(connection, id, layer, after)
    mine = (STEPS.c.note == id) & (STEPS.c.layer == layer)
    connection.execute(STEPS.delete().where(mine, STEPS.c.undone))
    step = {"note": id, "layer": layer, "group": group, "undone": False, "before": before, "after": after}
    connection.execute(STEPS.insert(), step)
    set_layer(connection, id, layer, was.revision + 1, "begun" if begun and was.state == "new" else was.state)
    there = {mark[0] for mark in after}
    log(connection, id, layer, what, [*after, *(mark for mark in before if mark[0] not in there)])
    return int(was.revision) + 1


def next_step(connection: sql.Connection, id: int, layer: str, *, back: bool) -> Any:
    """Return the step of a note that is undone (back) or redone next."""
    query = sql.select(STEPS).where(STEPS.c.note == id, STEPS.c.layer == layer, STEPS.c.undone != back)
    return connection.execute(query.order_by(STEPS.c.id.desc() if back else STEPS.c.id).limit(1)).first()


def turn(connection: sql.Connection, step: Any, layer: str, *, back: bool) -> dict[int, Mark | None]:
    """Undo or redo a step; suggestions that came meanwhile give way to what comes back.

    Returns what became of each mark concerned; None for one that is gone.
    """
    old, new = (step.after, step.before) if back else (step.before, step.after)
    delete(connection, {mark[0] for mark in (*old, *new)})
    touched = marks_touched(connection, step.note, layer, [Add(mark[1], mark[2], "", "") for mark in new])
    near = [mark.id for mark in touched if mark.state == "suggested"]
    delete(connection, near)
    insert(connection, step.note, layer, new)
    connection.execute(STEPS.update().where(STEPS.c.id == step.id).values(undone=back))
    query = sql.select(LAYERS).where(LAYERS.c.note == step.note, LAYERS.c.layer == layer)
    was = connection.execute(query).one()
    set_layer(connection, step.note, layer, was.revision + 1, was.state)
    there = {mark[0] for mark in new}
    marks = [*new, *(mark for mark in old if mark[0] not in there)]
    log(connection, step.note, layer, "undo" if back else "redo", marks)
    return {**dict.fromkeys([*near, *(mark[0] for mark in old)]), **{mark[0]: Mark.from_json(mark) for mark in new}}


def offer(
    connection: sql.Connection,
    id: int,
    layer: str,
    spans: Iterable[Span],
    source: str,
    ids: Iterator[int],
    *,
    accepted: bool = False,
    instead: bool = False,
) -> None:
    """Offer spans to a layer of a note (`deid.annotation.editing.offered`)."""
    held = {mark.id: mark for mark in marks_of(connection, id, layer)}
    marks = offered(held, spans, ids, source, now(), "accepted" if accepted else "suggested", instead=instead)
    fresh = [mark for mark in marks if held.get(mark.id) != mark]
    delete(connection, held.keys() - {mark.id for mark in marks} | {mark.id for mark in fresh})
    insert(connection, id, layer, [mark.as_json() for mark in fresh])


def suggest(
    connection: sql.Connection,
    id: int,
    layer: str,
    spans: Sequence[Span],
    source: str,
    ids: Iterator[int],
    *,
    instead: bool,
) -> None:
    """Offer suggestions to a layer, or to all: those in which the note was opened and is not done, too."""
    layers = {layer}
    if layer == BASE:
        open_ones = sql.select(LAYERS.c.layer).where(LAYERS.c.note == id, LAYERS.c.state != "done")
        layers.update(connection.execute(open_ones).scalars())
    for name in sorted(layers):
        offer(connection, id, name, spans, source, ids, instead=instead)


class Batch:
    """Adds documents in one transaction."""

    def __init__(self, connection: sql.Connection, layer: str, accepted: bool, done: bool, source: str) -> None:
        self._connection = connection
        self._layer = layer
        self._accepted = accepted
        self._done = done
        self._source = source
        self._ids = fresh_ids(connection)
        self._categories = categories(connection)

    def add(self, document: Document) -> Iterator[str]:
        """Add a note, or offer the spans of one that is there; return the spans' categories.

        Raises
        ------
        InputError
            When the document has no id.
        OffsetError
            When its spans lie outside of the text.
        DuplicateError
            When the project has another text of this id.
        """
        connection = self._connection
        check_spans(len(document.text), document.spans, document.name)
        require(document.id, "the document has no id", "give it one", document.name, kind=InputError)
        row = connection.execute(sql.select(NOTES.c.id, NOTES.c.text).where(NOTES.c.name == document.id)).first()
        if row is None:
            values = {
                "name": document.id,
                "text": document.text,
                "length": len(document.text),
                "metadata": dict(document.metadata),
            }
            connection.execute(NOTES.insert(), values)
            id = int(connection.execute(sql.select(NOTES.c.id).where(NOTES.c.name == document.id)).scalar_one())
        elif row.text != document.text:
            raise DuplicateError(
                "the project has another text of this id", "rename the document, or start another project"
            )
        else:
            id = row.id
        spans = document.spans
        if not {span.category for span in spans} <= self._categories:
            add_labels(connection, spans)
            self._categories = categories(connection)
        if row is None and self._layer == BASE:  # nobody has opened it, so that there is nothing to look at
            marks = offered({}, spans, self._ids, self._source, now(), "suggested", instead=False)
            insert(connection, id, BASE, [mark.as_json() for mark in marks])
            return (span.category for span in spans)
        if self._layer != BASE:
            opened(connection, id, self._layer)
        if self._accepted:
            offer(connection, id, self._layer, spans, self._source, self._ids, accepted=True)
        else:
            suggest(connection, id, self._layer, spans, self._source, self._ids, instead=False)
        if self._layer != BASE and (self._accepted or self._done):
            revision = opened(connection, id, self._layer) + 1
            set_layer(connection, id, self._layer, revision, "done" if self._done else "begun")
            log(connection, id, self._layer, "import", ())
        return (span.category for span in spans)
