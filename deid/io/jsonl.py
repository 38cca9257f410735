"""JSON Lines: one object a document, with its id, its text, its annotations, and whatever other fields it has.

Four formats of one shape: ``jsonl`` (``spans`` as objects), ``prodigy`` (the same fields as Prodigy has them),
``doccano`` (``label`` as triples) and ``labelstudio`` (tasks with ``data`` and ``annotations``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from deid.base.errors import DeidError, FormatError, OutputError, or_error
from deid.document import Document, Span
from deid.io.encoding import TextSink
from deid.io.fields import field_value, find_id, find_text, no_text, ordered
from deid.io.formats import CollectionFormat, Options, Streams
from deid.io.json_records import dumped, first_record, records
from deid.io.span_checks import check_labelled, refuse_fields
from deid.io.span_json import from_values, to_value

Record = dict[str, Any]
_SUFFIX = ".jsonl"


def _document(record: Record, values: object, options: Options, position: str, other_id: object = None) -> Document:
    """Make a document of a record's text, id and other fields, and of its annotations in the shape of `span_json`."""
    text_field = options.text_field or find_text(record)
    text = record.get(text_field) if text_field else None
    if not isinstance(text, str):
        raise no_text(options.text_field, record, "the record", position)
    id_field = find_id(record) if options.id_field is None else options.id_field
    metadata = {key: value for key, value in record.items() if key != text_field and (not id_field or key != id_field)}
    identifier = record.get(id_field, other_id) if id_field else other_id
    return Document(field_value(identifier, position), text, from_values(values, text, position), metadata)


def _fields(document: Document, options: Options, spans_field: str, values: list[Any] | None) -> Record:
    """Return a record's fields in order: id, text, annotations, metadata, or as the options have it."""
    own = {
        "id" if options.id_field is None else options.id_field: document.id,
        options.text_field or "text": document.text,
    }
    record: Record = {name: value for name, value in own.items() if name}
    if values is not None and spans_field:
        record[spans_field] = values
    elif values:
        raise OutputError("there is no field for the annotations", "name one with --spans-field")
    refuse_fields(document, record)
    return ordered({**record, **document.metadata}, options.columns)


def _read_labelstudio(record: Record, options: Options, position: str) -> Document:
    data = record.get("data")
    if not isinstance(data, dict):
        raise FormatError(
            "the task has no data", "a Label Studio task has the fields data and annotations", "", position
        )
    return _document(data, _results(record, position), options, position, record.get("id"))


def _results(record: Record, position: str) -> list[Any]:
    """Return the regions of the one annotation that a task has, in the shape of `span_json`."""
    annotations = record.get("annotations") or []
    if not isinstance(annotations, list) or not all(isinstance(a, dict) for a in annotations):
        raise FormatError("the task's annotations are no list of objects", "export as JSON again", position=position)
    done = [annotation for annotation in annotations if not annotation.get("was_cancelled")]
    if len(done) > 1:
        raise FormatError(
            f"the task has {len(done)} annotations", "export one annotator's work, or merge them first", "", position
        )
    results = (done[0].get("result") or []) if done else []
    if not isinstance(results, list):
        raise FormatError("the annotation's result is no list", "export as JSON again", position=position)
    values: list[Any] = []
    for result in results:
        region = result.get("value") if isinstance(result, dict) else None
        if not isinstance(region, dict):
            raise FormatError("a result has no value", "export as JSON again", position=position)
        if "start" not in region:
            continue  # a choice or rating of the whole text, not a span
        labels = region.get("labels") or region.get("hypertextlabels")
        if not isinstance(labels, list) or not labels:
            raise FormatError("a region has no label", "label it, or delete it", position=position)
        for label in labels:
            value = {"start": region["start"], "end": region.get("end"), "label": label}
            value |= {key: region[key] for key in ("text",) if key in region}
            value |= {key: result[key] for key in ("id", "score") if result.get(key) is not None}
            if isinstance(result.get("meta"), dict):
                value["attributes"] = result["meta"]
            values.append(value)
    return values


def _write_labelstudio(document: Document, options: Options) -> Record:
    results = []
    for span in document.spans:
        value = to_value(span)
        result: Record = {key: value[key] for key in ("id", "score") if key in value}
        result |= {"from_name": "label", "to_name": "text", "type": "labels"}
        result["value"] = {
            "start": span.start,
            "end": span.end,
            "text": document.text[span.start : span.end],
            "labels": [span.category],
        }
        if "attributes" in value:
            result["meta"] = value["attributes"]
        results.append(result)
    return {"data": _fields(document, options, "", None), "annotations": [{"result": results}]}


class _Sink:
    """Writes a record a line."""

    def __init__(self, streams: Streams, options: Options, record: Callable[[Document, Options], Record]) -> None:
        self._text = TextSink(streams[_SUFFIX], options.encoding)
        self._options = options
        self._record = record
        self._ascii_only = not options.encoding.startswith("utf")

    def add(self, document: Document) -> None:
        check_labelled(document)
        for piece in dumped(self._record(document, self._options), ascii_only=self._ascii_only):
            self._text.write(piece)

    def finish(self) -> None:
        self._text.close()


def _format(
    name: str,
    matches: Callable[[Record], bool],
    document: Callable[[Record, Options, str], Document],
    record: Callable[[Document, Options], Record],
) -> CollectionFormat:
    """Make a format of a record's two directions and of what its records look like."""

    def read(streams: Streams, options: Options) -> Iterator[Document | DeidError]:
        read_one = or_error(document)
        for position, value in records(streams[_SUFFIX], options.encoding):
            yield value if isinstance(value, DeidError) else read_one(value, options, position)

    def write(streams: Streams, options: Options) -> _Sink:
        return _Sink(streams, options, record)

    def layout(streams: Streams, options: Options) -> Options:
        first = next((value for _, value in records(streams[_SUFFIX], options.encoding)), None)
        fields = (first.get("data") if name == "labelstudio" else first) if isinstance(first, dict) else None
        if not isinstance(fields, dict):
            return options
        return replace(
            options,
            text_field=options.text_field or find_text(fields) or None,
            id_field=find_id(fields) if options.id_field is None else options.id_field,
            columns=options.columns or tuple(fields),
        )

    return CollectionFormat(
        name=name,
        suffixes=(_SUFFIX, ".ndjson", ".json"),
        matches=lambda head: matches(first_record(head)),
        read=read,
        write=write,
        layout=layout,
        carries_attributes=name != "doccano",
    )


def _flat(
    name: str,
    matches: Callable[[Record], bool],
    fields: tuple[str, ...],
    written: Callable[[tuple[Span, ...]], list[Any]] = list,
) -> CollectionFormat:
    """Make a format of records with a field of annotations: read from one of some, and ``written`` to the first."""

    def document(record: Record, options: Options, position: str) -> Document:
        names = fields if options.spans_field is None else (options.spans_field,)
        field = next((name for name in names if name and name in record), "")
        rest = {key: value for key, value in record.items() if not field or key != field}
        return _document(rest, record.get(field) if field else None, options, position)

    def record(document: Document, options: Options) -> Record:
        field = fields[0] if options.spans_field is None else options.spans_field
        return _fields(document, options, field, written(document.spans))

    return _format(name, matches, document, record)


def _is_task(record: Record) -> bool:
    """Tell whether a record, or what a cut one shows of its fields, is a Label Studio task: its text is inside data."""
    if record.get("data") is None:
        names = list(record)
        return "data" in names and names.index("data") < (names.index(find_text(names)) if find_text(names) else 0)
    return isinstance(record["data"], dict) and not find_text(record)


LABELSTUDIO = _format("labelstudio", _is_task, _read_labelstudio, _write_labelstudio)
PRODIGY = _flat("prodigy", lambda r: not {"_input_hash", "_task_hash", "answer"}.isdisjoint(r), ("spans", "entities"))
DOCCANO = _flat(
    "doccano",
    lambda r: "spans" not in r and not {"label", "labels", "entities"}.isdisjoint(r),
    ("label", "labels", "entities"),
    lambda spans: [[span.start, span.end, span.category] for span in spans],
)
JSONL = _flat("jsonl", bool, ("spans", "entities"))
