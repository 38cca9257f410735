"""What a format is: the two verbs of its module, and what the rest of the room must know about it.

A format either holds one document in a file (with companions: brat's ``.ann``) or a collection of records in a file.
Modules of the first kind turn the bytes of a document's files into a `Document` and back, so that their exactness can
be shown without a disk; modules of the second kind stream records from open files and into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Protocol

from deid.base.errors import DeidError, require
from deid.base.options import option, size_of
from deid.document import Document

if TYPE_CHECKING:
    from deid.io import Source

Parts = Mapping[str, bytes]
"""The files of one document: suffix -> content."""
Streams = Mapping[str, BinaryIO]
"""The open files of one collection: suffix -> binary stream (seekable when read)."""


_INPUT = "Reading and writing"


@dataclass(frozen=True)
class Options:
    """What a user can say about how files are read and written.

    Raises
    ------
    ConfigError
        When a limit is none.
    """

    PANEL: ClassVar[str] = _INPUT
    encoding: str = option("utf-8", "Encoding of text files; of utf-8,cp1252 the first that fits.", metavar="NAMES")
    """Encoding of text files, or several with commas between, tried in this order for each file; XML files follow their
    own declaration unless this differs from UTF-8."""
    any_label: bool = option(False, "Accept labels outside the format's label sets.")
    """Accept labels outside the label sets of a closed format."""
    text_field: str | None = option(None, "Column or field of the text.", "--text-field", "--text", repr=False)
    """Column or JSON field of the text; None: found by name when reading, ``text`` when writing."""
    id_field: str | None = option(
        None, "Column or field of the id; empty: number the rows.", "--id-field", "--id", repr=False
    )
    """Column or JSON field of the id; None: found by name when reading, ``id`` when writing; empty: there is none."""
    spans_field: str | None = option(
        None, "Column or field of the annotations; empty: none.", metavar='NAME|""', repr=False
    )
    """Column or JSON field of the annotations; None: ``spans``; empty: there is none."""
    places: Path | None = option(None, "Lines of your own on what stands where in records.", repr=False)
    """A site's table over the shipped one (`deid.records.tables.load_table`)."""
    table: str | None = option(None, "Table of a database, also SCHEMA.NAME.")
    """Table or view of a database, as `deid.io.batches.open_table` takes it."""
    omop: bool = option(False, "The table is NOTE of the OMOP CDM 5.4.")
    """Whether what the columns are is said by ``dictionaries/records/omop.toml``."""
    patient: str | None = field(default=None, repr=False)
    """Column of a database's table with whose row it is."""
    date: str | None = field(default=None, repr=False)
    """Column of a database's table with the day of a row."""
    kept: frozenset[str] = field(default=frozenset(), repr=False)
    """Columns of a database's table that are kept as they are."""
    delimiter: str | None = None
    """Separator of a CSV file; None: the one that its header has, a comma when writing."""
    columns: tuple[str, ...] = field(default=(), repr=False)
    """Order of all columns or fields when writing; those that a document lacks are left out."""
    told: bool = field(default=False, repr=False)
    """Whether nobody named the format: a text that begins as a record of a hospital's system does is one then."""
    output_encoding: str = option("", "Encoding of OUT; by default (the first of) --encoding.")
    """Encoding when writing; empty: the first that is named for reading."""
    max_document: int = option(
        64 << 20, "Leave out larger documents: bytes, or with K, M, G (64M).", metavar="SIZE", read=size_of
    )
    """Bytes that the files of a document may have, characters that a record's text may have; larger ones fail."""
    timeout: float = option(600.0, "Most seconds for a document; 0: any.", metavar="S")
    """Seconds that the work on a document may take; one that takes longer fails. 0: any."""

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        require(self.timeout >= 0, "--timeout must not be below 0", "it is in seconds; 0 for any time")


@dataclass(frozen=True)
class ReadingOptions(Options):
    """How IN is read, and OUT written."""

    format: str | None = option(None, "Format of IN; told by its content.", "--from", metavar="F", panel=_INPUT)

    def scan(self, place: Path | str) -> Source:
        """Find the documents of a file or folder."""
        from deid.io import scan

        return scan(place, self.format, self)


@dataclass(frozen=True)
class TargetOptions:
    """In which format notes are written, and with which labels."""

    to: str = option(..., "Format to write (docs/formats.md lists them).", metavar="F")
    map: str | None = option(None, "Map the labels to this label set; the losses are told.", metavar="SET")
    drop_unmapped: bool = option(False, "Leave out spans whose label has no place in the target.")


@dataclass(frozen=True)
class ConversionOptions(TargetOptions):
    """Into which format notes are converted, and what becomes of their labels."""

    map_from: str | None = option(None, "Label set of IN, if its labels do not tell it.", metavar="SET")


class Sink(Protocol):
    """Takes the documents of one collection in turn."""

    def add(self, document: Document) -> None:
        """Write one document, or raise and write nothing of it."""

    def finish(self) -> None:
        """Write what comes after the last document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """What both kinds of format say about themselves."""

    name: str
    suffixes: tuple[str, ...]
    """Suffixes of its files in lower case; the first is the one that is written."""
    matches: Callable[[bytes], bool]
    """Whether the first kilobytes of a file look like this format."""
    needs_suffix: bool = False
    """Whether content alone does not tell it, so that files of other suffixes are never taken for it."""
    companions: tuple[str, ...] = ()
    """Suffixes of files that stand beside the main one."""
    label_sets: tuple[str, ...] = ()
    """Label sets that it is closed to; empty: any label."""
    carries_spans: bool = True
    of_records: bool = False
    """Whether its documents are taken from records of fields, and written back there (`deid.records`)."""
    reads_too: tuple[str, ...] = ()
    """Formats whose files it takes as well, so that a folder of both kinds is read as one of its own."""
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Metadata fields of its documents of which it says what becomes: ``keep``, or ``id-WHAT`` for ids of something."""
    carries_attributes: bool = True
    """Whether spans keep their attributes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFormat(Format):
    """One document a file."""

    read: Callable[[Parts, Options], Document]
    """Bytes to a document (its id is given by the file's name, so it comes back empty); raises `DeidError`."""
    write: Callable[[Document, Options], dict[str, bytes]]
    """A document to bytes; raises `DeidError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionFormat(Format):
    """Many records a file."""

    read: Callable[[Streams, Options], Iterator[Document | DeidError]]
    """Open files to documents (id empty where the record has none) and, for records that cannot be read, errors."""
    write: Callable[[Streams, Options], Sink]
    """Open files to a sink of documents."""
    layout: Callable[[Streams, Options], Options] = lambda streams, options: options
    """Looks at the file and fills in field names and their order, so that a copy can be written alike."""
