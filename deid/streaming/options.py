"""What a user says of records: how a feed is cut into them, what is in one, and how long it may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from deid.base.errors import ConfigError
from deid.base.options import option, size_of
from deid.pipeline.options import PipelineOptions
from deid.records.hl7v2 import BORDER, BORDER_BYTES
from deid.streaming.framing import Delimited, Framing, Prefixed, delimited, whole
from deid.streaming.work import Shape

FORMATS = {
    "plain": "text",
    "ndjson": "json",
    "whole": "text",
    "hl7v2": "hl7v2",
    "ccda": "ccda",
    "fhir": "fhir",
    "fhir-resource": "fhir-resource",
    "documents": "documents",
    "length-prefixed": "text",
    "length-prefixed-json": "json",
}
"""Format of records -> what is in one."""
_RECORDS = "Records"


@dataclass(frozen=True)
class RecordOptions:
    """What records look like.

    Raises
    ------
    ConfigError
        When the options contradict each other.
    """

    PANEL: ClassVar[str] = _RECORDS
    format: str | None = option(
        None,
        "Format of IN: plain, ndjson, whole, hl7v2, ccda, fhir (a resource a line), fhir-resource, documents "
        "(Word, OpenDocument and others), length-prefixed or length-prefixed-json; JSON and records as the input "
        "begins, else plain (filter) or whole (watch).",
        "--from",
        metavar="F",
    )
    delimiter: str | None = option(
        None, "Behind each plain record: line (default), blank-line, form-feed, nul, or a text.", metavar="D"
    )
    text_field: str | None = option(None, "Column or field of the text.", repr=False)
    id_field: str | None = option(None, "Column or field of the id.", repr=False)
    encoding: str = option("utf-8", "Encoding of text records; utf-8,cp1252: the first that fits.", metavar="NAMES")
    output_encoding: str = option("", "Encoding of the output; by default (the first of) --encoding.")
    max_record: int = option(
        4 << 20, "Leave out longer records: bytes, or with K, M, G (4M).", metavar="SIZE", read=size_of
    )
    places: Path | None = option(None, "Lines of your own on what stands where in records (HL7, C-CDA).", repr=False)
    timeout: float = option(600.0, "Leave out records that take longer than S seconds.", metavar="S")

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.format is not None and self.format not in FORMATS:
            raise ConfigError("there is no such format of records", f"formats: {', '.join(FORMATS)}")
        if self.delimiter is not None and self.format not in (None, "plain"):
            raise ConfigError(f"--from {self.format} has no delimiter of your own", "leave out --delimiter")
        if self.timeout <= 0:
            raise ConfigError("--timeout must be above 0", "it is in seconds")

    def shape(self, default: str, said: PipelineOptions, *, add_id: bool = False) -> Shape:
        """Return the shape of the records.

        Parameters
        ----------
        default : str
            Format where none is named and the input does not begin as a JSON object does.
        said : PipelineOptions
            Names fields, too.
        add_id : bool
            See `Shape`.

        Raises
        ------
        ConfigError
            When records of this format cannot have what the options name.
        """
        if self.delimiter is not None and default != "plain":
            raise ConfigError(f"--from {default} has no delimiter of your own", "leave out --delimiter")
        given = self.format or default
        content = FORMATS[given]
        fields = {n for n in (said.patient_field, said.date_field, *(said.keep - {"filename", "id"})) if n}
        fields |= {text.rpartition("=")[0] or text for text in said.known_field}
        open_ended = self.format is None and self.delimiter is None
        if content != "json" and not open_ended and (self.text_field or self.id_field or fields or "id" in said.keep):
            raise ConfigError(f"records of --from {given} have no fields", "use --from ndjson")
        encodings = {n.lower().replace("-", "") for n in (self.encoding, self.output_encoding) if n}
        if content == "json" and encodings != {"utf8"}:
            raise ConfigError("JSON is UTF-8", "leave out --encoding and --output-encoding")
        behind = "line" if self.delimiter is None else self.delimiter
        messages = Delimited(BORDER, BORDER_BYTES)
        framing: Framing = (
            whole()
            if given in ("whole", "ccda", "fhir-resource", "documents")
            else messages
            if given == "hl7v2"
            else delimited(behind)
        )
        shape = Shape(
            Prefixed() if given.startswith("length-prefixed") else framing,
            content,
            self.text_field,
            self.id_field,
            frozenset(fields),
            add_id,
            self.encoding,
            self.output_encoding,
            self.max_record,
            self.timeout,
            places=self.places,
            records_alone=said.whose_is_untold and not open_ended,
        )
        if not open_ended:
            return shape
        named = shape.named_fields | (said.keep & {"id"})  # that an id is kept is said of records with fields alone
        return replace(
            shape,
            named_fields=named,
            records_alone=said.whose_is_untold,
            others=(
                replace(shape, framing=delimited("line"), content="json"),
                replace(shape, framing=messages, content="hl7v2"),
                *(
                    replace(shape, framing=whole(), content=content)
                    for content in ("ccda", "fhir-resource", "documents")
                ),
                replace(shape, framing=delimited("line"), content="fhir"),
            ),
        )
