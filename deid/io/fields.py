"""Names of fields and columns: which holds the text, which the id, and in which order they are written."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Self

from deid.base.errors import FormatError, OutputError
from deid.base.plain_letters import without_accents
from deid.base.resources import shipped_table
from deid.document import Document
from deid.io.formats import Options
from deid.io.span_checks import refuse_fields

_TEXT = ("text", "note_text", "note", "report", "document", "content", "body")
_ID = ("id", "note_id", "doc_id", "document_id", "record_id", "row_id")
NAMED = {role: frozenset(words.split()) for role, words in shipped_table("labels/columns.toml")["roles"].items()}
"""Role, or what an identifier is of -> words of a column's name that propose it."""


def folded(name: str) -> str:
    """Return a name with single words, small letters and no accents."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", without_accents(name)).casefold()


def words_of(name: str) -> set[str]:
    """Return the words of a column's name, joined and in neighbouring pairs too."""
    parts = re.findall(r"[a-z]+\d*|\d+", folded(name))
    return {*parts, "".join(parts), *(a + b for a, b in itertools.pairwise(parts))}


def names_columns(names: Sequence[str]) -> bool:
    """Tell whether words name the columns of a table of notes or persons: one is a usual name of a text, an id or what
    tells who somebody is.
    """
    telling = NAMED["identifier"] | NAMED["person"]
    return bool(find_text(names) or find_id(names)) or any(words_of(name) & telling for name in names)


def find_text(names: Iterable[str]) -> str:
    """Return the name that usually holds the text, in any case, else an empty string."""
    return _find(names, _TEXT)


def find_id(names: Iterable[str]) -> str:
    """Return the name that usually holds the id, in any case, else an empty string."""
    return _find(names, _ID)


def no_text(asked: str | None, names: Iterable[str], what: str, position: str = "") -> FormatError:
    """Return the error of a record or table without a text.

    Parameters
    ----------
    asked : str, optional
        Name of the text's field, where the user gave one.
    names : iterable of str
        What there is. Of it only what is nearly the name that was asked for is shown: a table without a header begins
        with a record.
    what : str
        How the record or table is called.
    position : str
        Where it stands.
    """
    if not asked or asked in (there := list(names)):
        return FormatError(f"{what} has no text", "name its field with --text-field", position=position)
    close = get_close_matches(asked, there, 1, 0.5)
    hint = f"did you mean {close[0]!r}?" if close else "write it as the file does, in the same case"
    return FormatError(f"{what} has no {asked!r}, which --text-field names", hint, position=position)


def field_value(value: object, position: str) -> str:
    """Return an id as text; None, which a missing field gives, as an empty string.

    Raises
    ------
    FormatError
        When the value is neither text nor a whole number.
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise FormatError("an id is neither text nor a number", "name the id's field with --id-field", "", position)
    return str(value)


def ordered(fields: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return the fields in the order of ``columns``, others behind them."""
    first = {name: fields[name] for name in columns if name in fields}
    return first | {name: value for name, value in fields.items() if name not in first}


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a table hold text, id and annotations; empty where there is none."""

    text: str
    id: str
    spans: str

    def own(self) -> tuple[str, str, str]:
        """Return the three names."""
        return self.text, self.id, self.spans

    def fill(self, options: Options) -> Options:
        """Return options that name these columns."""
        return replace(options, text_field=self.text, id_field=self.id, spans_field=self.spans)


def find_columns(names: Sequence[str], options: Options) -> Columns:
    """Return the columns of text, id and annotations in a table's header.

    Raises
    ------
    FormatError
        Two columns share a name, or a column that was asked for (or any column for the text) is not there.
    """
    if len(set(names)) < len(names):
        raise FormatError("two columns have the same name", "give each column a name of its own")
    text = options.text_field or (names[0] if len(names) == 1 else find_text(names))
    if text not in names:
        raise no_text(options.text_field, names, "the table")
    identifier = find_id(names) if options.id_field is None else options.id_field
    spans = ("spans" if "spans" in names else "") if options.spans_field is None else options.spans_field
    for name, option in ((identifier, "--id-field"), (spans, "--spans-field")):
        if name and name not in names:
            raise FormatError(f"the column that {option} names is not there", "check the table's header")
    return Columns(text, identifier, spans)


@dataclass(frozen=True, slots=True)
class TableFields:
    """The columns of a table that is being written; its first document decides them."""

    names: tuple[str, ...]
    text: str
    id: str
    spans: str

    @classmethod
    def of(cls, document: Document, options: Options) -> Self:
        """Return the columns for a document and those like it."""
        text = options.text_field or "text"
        identifier = "id" if options.id_field is None else options.id_field
        spans = "spans" if options.spans_field is None else options.spans_field
        own = {name: None for name in (identifier, text, spans) if name}
        refuse_fields(document, own)
        return cls(tuple(ordered({**own, **document.metadata}, options.columns)), text, identifier, spans)

    def record(self, document: Document) -> dict[str, Any]:
        """Return a document's cells, the annotations left out.

        Raises
        ------
        OutputError
            When it has annotations or fields that the table has no column for.
        """
        if document.spans and not self.spans:
            raise OutputError("the table has no column for the annotations", "name one with --spans-field")
        own = {name: value for name, value in ((self.id, document.id), (self.text, document.text)) if name}
        refuse_fields(document, (*own, self.spans))
        if not document.metadata.keys() <= set(self.names):
            raise OutputError(
                "the document has a field that the first one lacks, so the table has no column for it",
                "write JSONL, or drop the field",
            )
        return {**document.metadata, **own}


def _find(names: Iterable[str], usual: Sequence[str]) -> str:
    written = list(names)
    lower = [name.lower() for name in written]
    for name in usual:
        if name in lower:
            return written[lower.index(name)]
    return ""
