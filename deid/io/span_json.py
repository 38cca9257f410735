"""Spans as JSON values: one canonical form when writing, the common variants when reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from deid.base.errors import FormatError
from deid.document import Span, check_spans
from deid.io.span_checks import check_label, check_text

_STARTS = ("start", "start_offset", "begin")
_ENDS = ("end", "end_offset")
_LABELS = ("label", "type", "category", "entity_group")


def to_value(span: Span) -> dict[str, Any]:
    """Return the canonical form: start, end, label, and where they are given id, attributes, source and score."""
    value: dict[str, Any] = {"start": span.start, "end": span.end, "label": span.category}
    if span.id:
        value["id"] = span.id
    if span.attributes:
        unique = dict(span.attributes)
        value["attributes"] = unique if len(unique) == len(span.attributes) else [list(p) for p in span.attributes]
    if span.source:
        value["source"] = span.source
    if span.score is not None:
        value["score"] = span.score
    return value


def from_values(values: object, text: str, position: str) -> tuple[Span, ...]:
    """Return the spans of a list, each ``[start, end, label]`` or an object.

    An object's label may be called label, type or category, its offsets start and end or start_offset and end_offset.
    Its ``text`` is compared with the document's; ``source`` says who wrote the file and is not taken over; all other
    fields are kept as attributes, values that are no strings as JSON.

    Raises
    ------
    FormatError
        When an entry is of another form.
    OffsetError
        When a span lies outside ``text``, or its own text is not what stands there.
    LabelError
        When a label is empty.
    """
    if values is None:
        return ()
    if not isinstance(values, list):
        raise FormatError("the annotations are no list", "write them as [[start, end, label], ...]", position=position)
    spans = [_from_value(value, text, f"{position}, annotation {n}") for n, value in enumerate(values, 1)]
    return tuple(spans)


def _from_value(value: object, text: str, position: str) -> Span:
    fields: dict[str, Any] = {}
    if isinstance(value, list) and len(value) == 3:
        start, end, label = value
    elif isinstance(value, dict):
        names = [next((key for key in keys if key in value), None) for keys in (_STARTS, _ENDS, _LABELS)]
        start, end, label = (value.get(name or "") for name in names)
        fields = {key: item for key, item in value.items() if key not in names}
    else:
        raise FormatError(
            "an annotation is neither [start, end, label] nor an object", "see docs/formats.md", position=position
        )
    if type(start) is not int or type(end) is not int or not isinstance(label, str):
        raise FormatError(
            "an annotation lacks a whole number as start or end, or its label",
            "each needs start, end and label",
            position=position,
        )
    check_label(label, (), True, position)
    attributes = _attributes(fields.pop("attributes", None), position)
    claimed = fields.pop("text", None)
    fields.pop("source", None)
    identifier = fields.pop("id", None)
    score = fields.pop("score", None)
    attributes += [(key, item if isinstance(item, str) else json.dumps(item)) for key, item in fields.items()]
    span = Span(
        start,
        end,
        label,
        "" if identifier is None else str(identifier),
        score=float(score) if isinstance(score, (int, float)) and not isinstance(score, bool) else None,
        attributes=tuple(attributes),
    )
    check_spans(len(text), [span], position=position)
    if isinstance(claimed, str):
        check_text(text, start, end, claimed, position)
    return span


def _attributes(value: object, position: str) -> list[tuple[str, str]]:
    pairs: Iterable[Any] = value.items() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    attributes = []
    for pair in pairs:
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)):
            raise FormatError(
                "an annotation's attributes are neither an object nor pairs", "see docs/formats.md", position=position
            )
        attributes.append((pair[0], pair[1] if isinstance(pair[1], str) else json.dumps(pair[1])))
    return attributes
