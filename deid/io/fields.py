"""Names of fields and columns: which holds the text, which the id, and in which order they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deid.errors import FormatError

__all__ = ["field_value", "find_id", "find_text", "ordered"]

_TEXT = ("text", "note_text", "note", "report", "document", "content", "body")
_ID = ("id", "note_id", "doc_id", "document_id", "record_id", "row_id")


def find_text(names: Iterable[str]) -> str:
    """Return the name that usually holds the text, in any case, else an empty string."""
    return _find(names, _TEXT)


def find_id(names: Iterable[str]) -> str:
    """Return the name that usually holds the id, in any case, else an empty string."""
    return _find(names, _ID)


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


def _find(names: Iterable[str], usual: Sequence[str]) -> str:
    by_lower = {name.lower(): name for name in reversed(list(names))}
    return next((by_lower[name] for name in usual if name in by_lower), "")
