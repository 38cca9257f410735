"""What a user says of records: how a feed is cut into them, what is in one, and how long it may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from deid.base.errors import ConfigError, require
from deid.base.network import CertificateOptions
from deid.base.options import again, option, size_of
from deid.io.formats import Options
from deid.pipeline.options import PipelineOptions
from deid.records.hl7v2 import BORDER, BORDER_BYTES
from deid.streaming.framing import Delimited, Framing, Prefixed, delimited, whole
from deid.streaming.work import Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deid.base.keys import Key
    from deid.manifest import ManifestRun
    from deid.pipeline import Pipeline
    from deid.streaming.proof import Proof
    from deid.streaming.totals import Totals

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
_RECORDS, _KEEPING, _MESSAGES = "Records", "Watching over the feed", "Messages"


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
        require(self.timeout > 0, "--timeout must be above 0", "it is in seconds")

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


@dataclass(frozen=True)
class RowOptions:
    """What rows of notes look like."""

    PANEL: ClassVar[str] = "Rows"
    text_field: str | None = again(Options, "text_field", panel="Rows")
    id_field: str | None = again(Options, "id_field", help="Column or field of the id.", panel="Rows")
    max_document: int = again(Options, "max_document", panel="Rows")
    timeout: float = again(Options, "timeout", panel="Rows")
    master: str | None = option(None, "Where Spark runs; by default as it is configured, else local[*].", metavar="URL")

    def work(self, frame: DataFrame) -> dict[str, Any]:
        """Return what the work on batches is told of a table."""
        from deid.streaming.spark import work_on

        return work_on(frame, self.text_field, self.id_field, self.timeout, self.max_document)


@dataclass(frozen=True)
class ManifestOptions:
    """What proves what a feed did."""

    PANEL: ClassVar[str] = _KEEPING
    manifest: Path | None = option(None, "Write a signed manifest to F (F.2, F.3 when it is there already).")
    manifest_every: int = option(0, "Write one after every N records too, for feeds without an end.", minimum=0)

    def __post_init__(self) -> None:
        """Refuse a manifest without a place."""
        if self.manifest_every and self.manifest is None:
            raise ConfigError("--manifest-every without --manifest", "name the file of the manifest")

    def proof(
        self,
        begin: Callable[[Path, Key, Path], ManifestRun],
        key: Key,
        pipeline: Callable[[], Pipeline],
        totals: Totals,
        tell: Callable[[str], object],
    ) -> Proof | None:
        """Return what writes manifests of what is counted, if it is asked for; ``begin`` begins the run of one."""
        if self.manifest is None:
            return None
        from deid.pipeline.facts import facts_of
        from deid.streaming.proof import Proof

        place = self.manifest
        return Proof(lambda: begin(place, key, place), facts_of(pipeline()), totals, self.manifest_every, tell)


@dataclass(frozen=True)
class DriftOptions:
    """Whether what comes is compared with what came in the weeks before."""

    PANEL: ClassVar[str] = _KEEPING
    drift: Path | None = option(
        None, "Keep rates by source and week in F (counts, no text); tell when one is not what it was."
    )

    @contextmanager
    def watching(self, totals: Totals, tell: Callable[[str], object]) -> Iterator[None]:
        """Let totals compare what comes while the block runs, if it is asked for."""
        if self.drift is None:
            yield
            return
        from deid.streaming.drift import Drift

        totals.drift = Drift(self.drift, tell)
        try:
            yield
        finally:
            totals.drift.finish()


@dataclass(frozen=True)
class FeedOptions(DriftOptions, ManifestOptions):
    """How a feed is watched over."""

    PANEL: ClassVar[str] = _KEEPING
    metrics_port: int | None = option(
        None, "Answer /metrics and /health on 127.0.0.1; 0 for any free port.", metavar="PORT"
    )


@dataclass(frozen=True)
class StreamOptions(FeedOptions):
    """How a stream is watched over, and where its progress is noted."""

    PANEL: ClassVar[str] = _KEEPING
    dead_letters: Path | None = option(None, "Note records that were left out in F: offset, length, keyed hash, error.")
    journal: Path | None = option(None, "Note progress in F, so that the same command goes on after a crash.")


@dataclass(frozen=True)
class WatchOptions(FeedOptions):
    """How a folder is watched.

    Raises
    ------
    ConfigError
        When a time is none.
    """

    PANEL: ClassVar[str] = _KEEPING
    once: bool = option(False, "Take the files that are there, then end.", panel="")
    poll: float = option(1.0, "Seconds between looks at the inbox.", metavar="S")
    settle: float = option(2.0, "A file is complete when it has not changed for S seconds.", metavar="S")

    def __post_init__(self) -> None:
        """Refuse times that are none."""
        super().__post_init__()
        if self.poll <= 0 or self.settle < 0:
            raise ConfigError("--poll must be above 0, --settle not below", "they are seconds")


@dataclass(frozen=True)
class LineOptions(CertificateOptions):
    """How senders and the receiver are connected."""

    tls_clients: Path | None = option(None, "Take senders alone whose certificates are signed by those in F (PEM).")
    forward_tls: Path | None = option(None, "Speak TLS to the receiver; its certificate is signed by those in F (PEM).")
    idle: float = option(0.0, "Close connections on which nothing comes for S seconds; 0 for never.", metavar="S")
    patience: float = option(30.0, "Seconds to wait for the receiver's answer.", metavar="S")
    connections: int = option(1000, "Connections at once.", minimum=1)

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        if self.tls_clients and not self.tls_key:
            raise ConfigError("TLS needs a certificate and its key", "give --tls-certificate and --tls-key")
        if self.idle < 0 or self.patience <= 0:
            raise ConfigError("--idle must not be below 0, --patience above it", "they are in seconds")


@dataclass(frozen=True)
class MessageOptions:
    """What messages may be."""

    PANEL: ClassVar[str] = _MESSAGES
    encoding: str = option("utf-8", "Encoding of messages that say none (MSH-18).", metavar="NAMES")
    max_record: int = option(
        64 << 20, "Reject longer messages: bytes, or with K, M, G (64M).", metavar="SIZE", read=size_of
    )
    places: Path | None = again(RecordOptions, "places", panel=_MESSAGES)
    timeout: float = option(600.0, "Give up on messages that take longer than S seconds.", metavar="S")

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        require(self.timeout > 0, "--timeout must be above 0", "it is in seconds")
