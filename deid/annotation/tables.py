"""The tables of a project's file, and the forms in which texts and JSON stand there."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sql

FORM = "1"
"""Form of the tables, which a project's file says."""


class Exact(sql.types.TypeDecorator[str]):
    """Any Python string, lone surrogates and NUL too, as bytes."""

    impl = sql.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> bytes | None:
        """Return the bytes of a string."""
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def process_result_value(self, value: bytes | None, dialect: Any) -> str | None:
        """Return the string of bytes."""
        return None if value is None else bytes(value).decode("utf-8", "surrogatepass")


class Json(sql.types.TypeDecorator[Any]):
    """A JSON value; what is none, such as a day in a table's column, becomes its text."""

    impl = sql.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str:
        """Return the text of a value."""
        return json.dumps(value, separators=(",", ":"), default=str)

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """Return the value of a text."""
        return None if value is None else json.loads(value)


TABLES = sql.MetaData()

SETTINGS = sql.Table(
    "deid_project",
    TABLES,
    sql.Column("name", sql.String(40), primary_key=True),
    sql.Column("value", Exact, nullable=False),
)
LABELS = sql.Table(
    "deid_project_label",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("category", Exact, nullable=False, unique=True),
    sql.Column("key", sql.String(20), nullable=False),
)
NOTES = sql.Table(
    "deid_project_note",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", Exact, nullable=False, unique=True),
    sql.Column("length", sql.Integer, nullable=False),
    sql.Column("uncertainty", sql.Float),
    sql.Column("missed", sql.Float),
    sql.Column("metadata", Json, nullable=False),
    sql.Column("text", Exact, nullable=False),  # last: long values are skipped by what reads the others
)
LAYERS = sql.Table(
    "deid_project_layer",
    TABLES,
    sql.Column("note", sql.Integer, sql.ForeignKey(NOTES.c.id, ondelete="CASCADE"), primary_key=True),
    sql.Column("layer", sql.String(200), primary_key=True),
    sql.Column("state", sql.String(10), nullable=False),
    sql.Column("revision", sql.Integer, nullable=False),
)
MARKS = sql.Table(
    "deid_project_mark",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("note", sql.Integer, sql.ForeignKey(NOTES.c.id, ondelete="CASCADE"), nullable=False),
    sql.Column("layer", sql.String(200), nullable=False),
    sql.Column("start", sql.Integer, nullable=False),
    sql.Column("end", sql.Integer, nullable=False),
    sql.Column("category", Exact, nullable=False),
    sql.Column("state", sql.String(10), nullable=False),
    sql.Column("probability", sql.Float),
    sql.Column("by", Exact, nullable=False),
    sql.Column("when", sql.String(40), nullable=False),
    sql.Column("comment", Exact, nullable=False),
    sql.Column("source", Exact, nullable=False),
    sql.Column("span", Json, nullable=False),
)
sql.Index("deid_project_mark_place", MARKS.c.note, MARKS.c.layer, MARKS.c.start)
STEPS = sql.Table(
    "deid_project_step",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("note", sql.Integer, sql.ForeignKey(NOTES.c.id, ondelete="CASCADE"), nullable=False),
    sql.Column("layer", sql.String(200), nullable=False),
    sql.Column("group", sql.Integer, index=True),  # of the steps that one action made in many notes
    sql.Column("undone", sql.Boolean, nullable=False),
    sql.Column("before", Json, nullable=False),
    sql.Column("after", Json, nullable=False),
)
sql.Index("deid_project_step_place", STEPS.c.note, STEPS.c.layer)
EVENTS = sql.Table(
    "deid_project_event",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("note", sql.Integer, nullable=False, index=True),
    sql.Column("layer", sql.String(200), nullable=False),
    sql.Column("when", sql.String(40), nullable=False),
    sql.Column("what", sql.String(40), nullable=False),
    sql.Column("marks", Json, nullable=False),
)
ITEMS = sql.Table(
    "deid_project_item",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("kind", sql.String(20), nullable=False),
    sql.Column("name", Exact, nullable=False),
    sql.Column("content", Json, nullable=False),
    sql.UniqueConstraint("kind", "name"),
)
DECISIONS = sql.Table(
    "deid_project_decision",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("item", sql.Integer, sql.ForeignKey(ITEMS.c.id, ondelete="CASCADE"), nullable=False, index=True),
    sql.Column("layer", sql.String(200), nullable=False),
    sql.Column("decision", sql.String(20), nullable=False),
    sql.Column("comment", Exact, nullable=False),
    sql.Column("when", sql.String(40), nullable=False),
)
ROUNDS = sql.Table(
    "deid_project_round",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("layer", sql.String(200), nullable=False),
    sql.Column("figures", Json, nullable=False),
)
MODELS = sql.Table(
    "deid_project_model",
    TABLES,
    sql.Column("layer", sql.String(200), primary_key=True),
    sql.Column("folder", sql.LargeBinary, nullable=False),
)
