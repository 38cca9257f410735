"""Spans as rows of NOTE_NLP of the OMOP CDM 5.4, on the side of the PHI: its ``lexical_variant`` quotes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sql

from deid import __version__
from deid.document import Document
from deid.pipeline.table_output import TableOutput
from deid.records.record import Record


class NoteNlp(TableOutput):
    """The new table of spans: a row for each that was found in the texts of notes.

    ``offset`` counts characters of the note's text from 0; label and length are in ``term_modifiers``; the concepts are
    0, for the vocabulary has none of identifiers. ``nlp_date`` is the note's day: the day of the run decides nothing.
    """

    _usual, _not_beside = "note_nlp", "note"

    def _columns(self) -> Iterator[sql.Column[Any]]:
        """Yield the columns of the CDM."""
        yield sql.Column("note_nlp_id", sql.BigInteger, primary_key=True, autoincrement=False)
        key = self._source.table.table.columns[self._source.plan.key].type
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

    def _rows_of(self, document: Document, record: Record) -> list[dict[str, Any]]:
        """Return a row for each span of the note's text; those of other columns have no offset there."""
        found: list[dict[str, Any]] = []
        for span in document.spans:
            column, offset = record.path(span.start)
            if column != self._source.plan.text:
                continue
            text = document.text[span.start : span.end]
            self._size += len(text)
            found.append(
                dict.fromkeys(c.name for c in self._target.columns)
                | {
                    "note_nlp_id": self._written + len(found) + 1,
                    "note_id": document.metadata[self._source.plan.key],
                    "section_concept_id": 0,
                    "offset": str(offset),
                    "lexical_variant": text,
                    "note_nlp_concept_id": 0,
                    "note_nlp_source_concept_id": 0,
                    "nlp_system": f"deid {__version__}",
                    "nlp_date": record.date.isoformat() if record.date else None,
                    "term_exists": "Y",
                    "term_modifiers": f"label={span.category};length={len(text)}",
                }
            )
        return found
