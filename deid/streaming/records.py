"""What is in a record: a plain text, or a JSON object with a text in one of its fields.

A field is named by its name, or by a path of names with dots between them (``report.body.text``). Objects on the way to
a named field are opened: their other fields follow the same rule as all others (`deid.pipeline.naming`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deid.base.errors import DeidError, FormatError
from deid.document import Document
from deid.io import Options, ccda, documents
from deid.io.contents import is_object
from deid.io.encoding import decode, encode
from deid.io.fields import field_value, find_id, find_text, no_text
from deid.io.json_records import dump, parse_record
from deid.pipeline import Pipeline, Scrubbed
from deid.records import fhir, hl7v2
from deid.records.record import Record
from deid.records.tables import load_table
from deid.streaming.letters import record_mac
from deid.streaming.people import Before, KnownAhead

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Fields:
    """Where a record has what, and how its bytes are to be read."""

    text: str | None = None
    """Field of the text; None: found by its usual names."""
    id: str | None = None
    """Field of the id; None: found by its usual names."""
    named: frozenset[str] = frozenset()
    """Further fields that the user named, which may lie in objects: patient, date, fields to keep."""
    add_id: bool = False
    """Give records without an id a field ``id``."""
    encoding: str = "utf-8"
    """Of records of plain text; of several, with commas between, each record's is the first that it fits."""
    output_encoding: str = ""
    """Of what is written of these; empty: the first of the above."""
    places: Path | None = None
    """A site's lines on what stands where in messages."""
    unmet: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    """Those of ``named`` that no record has had so far: misspelt ones stay here."""

    people: list[KnownAhead] = field(default_factory=list, init=False, repr=False, compare=False)
    """The persons of a feed of FHIR, one item at most."""

    def __post_init__(self) -> None:
        """Begin with all names."""
        self.unmet.update(self.named)

    def know(self, before: Before) -> None:
        """Begin a stretch of FHIR with the persons that came before it."""
        self.people[:] = [KnownAhead(before, load_table(fhir.STANDARD, self.places))]


Scrub = Callable[[bytes, int, Pipeline, Fields], tuple[bytes, Scrubbed]]
"""Takes a record's bytes and its offset, returns the scrubbed bytes and what was done; raises `DeidError`."""


def _scrub_text(content: bytes, offset: int, pipeline: Pipeline, fields: Fields) -> tuple[bytes, Scrubbed]:
    if is_object(content):
        # its ids would go out as they are, and a span may end inside an escape
        raise FormatError("the record is a JSON object, and this is a feed of plain text", "use --from ndjson")
    scrubbed = pipeline(Document(_name(content, pipeline), decode(content, fields.encoding)))
    return encode(scrubbed.document.text, fields.output_encoding or fields.encoding.partition(",")[0]), scrubbed


def _scrub_json(content: bytes, offset: int, pipeline: Pipeline, fields: Fields) -> tuple[bytes, Scrubbed]:
    if offset == 0:
        content = content.removeprefix(_MARK)
    position = f"byte {offset}"
    record = parse_record(decode(content, "utf-8"), position)
    if isinstance(record, DeidError):
        raise record
    text_field = fields.text or find_text(record)
    id_field = fields.id or find_id(record)
    paths = _Paths((text_field, id_field, *fields.named), record)
    values = paths.values(record)
    if fields.unmet:
        fields.unmet.difference_update(values)
    text = values.pop(text_field, None)
    if not isinstance(text, str):
        raise no_text(fields.text, paths.values(record), "the record", position)
    identifier = field_value(values.pop(id_field, None), position)
    name = identifier or _name(content, pipeline)
    if not identifier and fields.add_id:
        name += f"-{offset}"  # ids that are written tell equal records of one stream from each other
    scrubbed = pipeline(Document(name, text, metadata=values))
    written = dict(scrubbed.document.metadata)
    written[text_field] = scrubbed.document.text
    if identifier:
        written[id_field] = scrubbed.document.id
    result = paths.rebuilt(record, written)
    if not identifier and fields.add_id:
        result = {"id": scrubbed.document.id, **{k: v for k, v in result.items() if k != "id"}}
    return dump(result).removesuffix("\n").encode(), scrubbed


def _scrub_hl7v2(content: bytes, offset: int, pipeline: Pipeline, fields: Fields) -> tuple[bytes, Scrubbed]:
    return _scrub_record(hl7v2.read(content, load_table("hl7v2", fields.places), fields.encoding), content, pipeline)


def _scrub_ccda(content: bytes, offset: int, pipeline: Pipeline, fields: Fields) -> tuple[bytes, Scrubbed]:
    return _scrub_record(ccda.record(content, fields.encoding, fields.places), content, pipeline)


def _scrub_fhir(content: bytes, offset: int, pipeline: Pipeline, fields: Fields) -> tuple[bytes, Scrubbed]:
    known = fields.people[0] if fields.people else None
    try:
        record = fhir.read(content, load_table(fhir.STANDARD, fields.places), known)
    finally:
        if known is not None:
            known.add(content)
    return _scrub_record(record, content, pipeline)


def _scrub_document(content: bytes, offset: int, pipeline: Pipeline, fields: Fields) -> tuple[bytes, Scrubbed]:
    found = documents.read(content, Options(encoding=fields.encoding, places=fields.places))
    scrubbed = pipeline(replace(found, id=_name(content, pipeline)))
    options = Options(encoding=fields.output_encoding or fields.encoding.partition(",")[0])
    (data,) = documents.write(scrubbed.document.with_spans(()), options).values()
    return data, scrubbed


def _scrub_record(record: Record, content: bytes, pipeline: Pipeline) -> tuple[bytes, Scrubbed]:
    scrubbed = pipeline(Document(_name(content, pipeline), record.text, record=record))
    assert scrubbed.document.record is not None
    return scrubbed.document.record.data, scrubbed


CONTENTS: dict[str, Scrub] = {
    "text": _scrub_text,
    "json": _scrub_json,
    "hl7v2": _scrub_hl7v2,
    "ccda": _scrub_ccda,
    "fhir": _scrub_fhir,
    "fhir-resource": _scrub_fhir,
    "documents": _scrub_document,
}
"""What a record can be, by name."""


def _name(content: bytes, pipeline: Pipeline) -> str:
    """Return the id of a record that has none: its keyed hash, so that it is the same in every run."""
    return f"record-{record_mac(pipeline.key, content).hexdigest()}"


class _Paths:
    """Opens the objects that lie on the way to named fields."""

    def __init__(self, named: tuple[str, ...], record: Mapping[str, Any]) -> None:
        # a field whose very name has dots is found by its name
        inner = [path.split(".") for path in named if "." in path and path not in record]
        self.opened = {".".join(parts[:n]) for parts in inner for n in range(1, len(parts))} - set(named)

    def values(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields by their paths."""
        return dict(self._opened(record)) if self.opened else dict(record)

    def _opened(self, record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        for name, value in record.items():
            path = prefix + name
            if path in self.opened and isinstance(value, dict):
                yield from self._opened(value, path + ".")
            else:
                yield path, value

    def rebuilt(self, record: Mapping[str, Any], written: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        """Return the record with what is to be written in place of its fields."""
        if not self.opened:
            return {name: written.get(name) for name in record}
        result: dict[str, Any] = {}
        for name, value in record.items():
            path = prefix + name
            if path in self.opened and isinstance(value, dict):
                result[name] = self.rebuilt(value, written, path + ".")
            else:
                result[name] = written.get(path)
        return result
