"""Spans as rows of NOTE_NLP of the OMOP CDM 5.4: on the side of the PHI, which its ``lexical_variant`` quotes there, or
beside scrubbed notes, where it says what stands in these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sql

from deid import __version__
from deid.document import Document, Span
from deid.io.database import cells_of
from deid.pipeline.table_output import TableOutput
from deid.records.record import TEXT, Record

_NAME = "note_nlp"


def _columns(key: sql.types.TypeEngine[Any]) -> Iterator[sql.Column[Any]]:
    """Yield the columns of the CDM; ids of notes are of a type as theirs."""
    yield sql.Column("note_nlp_id", sql.BigInteger, primary_key=True, autoincrement=False)
    yield sql.Column("note_id", key if isinstance(key, sql.types.Integer) else sql.Text(), nullable=False)
    yield sql.Column("section_concept_id", sql.Integer)
    yield sql.Column("snippet", sql.String(250))
    yield sql.Column("offset", sql.String(50))
    yield sql.Column("lexical_variant", sql.Text, nullable=False)
    yield sql.Column("note_nlp_concept_id", sql.Integer)
    yield sql.Column("note_nlp_source_concept_id", sql.Integer)
    yield sql.Column("nlp_system", sql.String(250))
    yield sql.Column("nlp_date", sql.Date)
    yield sql.Column("nlp_datetime", sql.DateTime)
    yield sql.Column("term_exists", sql.String(1))
    yield sql.Column("term_temporal", sql.String(50))
    yield sql.Column("term_modifiers", sql.String(2000))


def _row(number: int, note: object, day: str | None, offset: int, text: str, label: str) -> dict[str, Any]:
    """Return the row of a span.

    ``offset`` counts characters of the note's text from 0; label and length are in ``term_modifiers``; the concepts are
    0, for the vocabulary has none of identifiers. ``nlp_date`` is the note's day: the day of the run decides nothing.
    """
    return {
        "note_nlp_id": number,
        "note_id": note,
        "section_concept_id": 0,
        "snippet": None,
        "offset": str(offset),
        "lexical_variant": text,
        "note_nlp_concept_id": 0,
        "note_nlp_source_concept_id": 0,
        "nlp_system": f"deid {__version__}",
        "nlp_date": day,
        "nlp_datetime": None,
        "term_exists": "Y",
        "term_temporal": None,
        "term_modifiers": f"label={label};length={len(text)}",
    }


class NoteNlp(TableOutput):
    """The new table of spans: a row for each that was found in the texts of notes."""

    _usual, _not_beside = _NAME, "note"

    def _columns(self) -> Iterator[sql.Column[Any]]:
        return _columns(self._source.table.table.columns[self._source.plan.key].type)

    def _rows_of(self, document: Document, record: Record) -> list[tuple[int, dict[str, Any]]]:
        """Return a row for each span of the note's text; those of other columns have no offset there."""
        note, day = document.metadata[self._source.plan.key], record.date.isoformat() if record.date else None
        found: list[tuple[int, dict[str, Any]]] = []
        for span, (column, offset) in zip(document.spans, record.paths(document.spans), strict=True):
            if column == self._source.plan.text:
                text = document.text[span.start : span.end]
                self._size += len(text)
                number = self._written + len(found) + 1
                found.append((0, _row(number, note, day, offset, text, span.category)))
        return found


class NotesAndSpans(TableOutput):
    """The new table of scrubbed notes, and one of what stands in them in place of identifiers."""

    _own_beside = True

    def _layout(self) -> Iterator[tuple[str, Iterator[sql.Column[Any]]]]:
        yield "", self._columns()
        yield _NAME, _columns(self._source.table.table.columns[self._source.plan.key].type)

    def _rows_of(self, document: Document, record: Record) -> list[tuple[int, dict[str, Any]]]:
        """Return the note, and a row for each identifier that was found in its text."""
        found = super()._rows_of(document, record)
        row, plan = found[0][1], self._source.plan
        for span, offset in _spans_of(document, record, plan.text, plan.kinds):
            text = document.text[span.start : span.end]
            number = self._written + len(found) + 1
            found.append((1, _row(number, row[plan.key], row.get(plan.date), offset, text, span.category)))
        return found


def _spans_of(document: Document, record: Record, column: str, kinds: Mapping[str, str]) -> Iterator[tuple[Span, int]]:
    """Yield the spans in the text of a column of a scrubbed row, each with its offset there."""
    cells = cells_of(record)
    begin = 0
    for name, text in cells.items():
        if name == column:
            break
        begin += len(text) + 1 if kinds[name] == TEXT and text is not None else 0
    note = cells[column] or ""
    begin = document.text.index(note, begin)  # an empty cell of another kind stands among the texts, too
    for span in document.spans:
        if begin <= span.start < span.end <= begin + len(note):
            yield span, span.start - begin
