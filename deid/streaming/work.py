"""What a worker does: takes a stretch of whole records, scrubs each, and tells which it could not.

`Recipe` is what is sent to a worker; model and policy are loaded there, once in each. The process that reads and writes
never holds them, so it starts at once and stays small.
"""

from __future__ import annotations

import datetime
import os
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from deid.base.errors import ConfigError, InputError, require, told_as
from deid.base.in_step import batches, in_step
from deid.base.keys import Key
from deid.pipeline.options import PipelineOptions
from deid.pipeline.patients import UNTOLD, Writing, writing_of
from deid.pipeline.workers import prepare
from deid.streaming.framing import Framing
from deid.streaming.letters import DeadLetter, RecordTooLong, record_mac
from deid.streaming.totals import OTHER_LANGUAGE, TELLING, UNEXAMINED

if TYPE_CHECKING:
    from deid.pipeline import Pipeline, Scrubbed
    from deid.streaming.drift import Sums
    from deid.streaming.people import Before
    from deid.streaming.records import Fields


def mark(spans: Counter[str], scrubbed: Scrubbed) -> None:
    """Count the spans of a record by category, and behind marks what else whoever releases it must know."""
    spans.update(edit.category for edit in scrubbed.edits)
    if scrubbed.unexamined:
        spans[UNEXAMINED] += scrubbed.unexamined
    spans.update(f"{TELLING}{number}" for number in scrubbed.telling)
    if scrubbed.other_language:
        spans[OTHER_LANGUAGE + scrubbed.other_language] += 1


_NOTES = ("text", "json", "documents")
"""Contents of records that do not say whom they are about, unless an option tells where."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file that workers read by themselves."""

    path: str = field(repr=False)
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Request:
    """A stretch of whole records: their bytes, or where these stand in a file."""

    number: int
    offset: int
    """Where the stretch starts in the input, in bytes."""
    length: int
    data: bytes | None = field(repr=False)
    content: str
    """`Shape.content` of its input."""
    place: FilePlace | None = None
    before: Before | None = None
    """Persons of whom a stretch of FHIR speaks, and who came before it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a stretch."""

    number: int
    output: bytes = field(repr=False)
    records: int = 0
    """Records that were written."""
    letters: tuple[DeadLetter, ...] = ()
    spans: Mapping[str, int] = field(default_factory=dict)
    """Replaced spans by category."""
    unmet: frozenset[str] = field(default=frozenset(), repr=False)
    """Fields that the user named and that no record of this worker has had (`deid.streaming.records.Fields`)."""
    drift: Sums | None = field(default=None, repr=False)
    """Sums over the records, where the shape asks for them."""
    writings: frozenset[Writing] = field(default=frozenset(), repr=False)
    """How the ids of the records' patients are written."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What records look like, and how long they may be."""

    framing: Framing
    content: str = "text"
    """One of `deid.streaming.records.CONTENTS`."""
    text_field: str | None = field(default=None, repr=False)
    id_field: str | None = field(default=None, repr=False)
    named_fields: frozenset[str] = field(default=frozenset(), repr=False)
    """Further fields that the user named (`deid.streaming.records.Fields.named`)."""
    add_id: bool = False
    encoding: str = "utf-8"
    output_encoding: str = ""
    max_record: int = 4 << 20
    """Bytes that a record may have."""
    timeout: float | None = None
    """Seconds that a record may take."""
    others: tuple[Shape, ...] = ()
    """What is taken instead for an input that begins as their content does."""
    places: Path | None = None
    """A site's lines on what stands where in messages (`deid.records.tables.load_table`)."""
    drift: bool = False
    """Whether replies tell what `deid.streaming.drift` compares."""
    records_alone: bool = False
    """Whether only records of a hospital's systems say whom they are about, and that must be told."""

    def __post_init__(self) -> None:
        """Refuse two shapes of the same content, for requests name a shape by it, and notes that do not say whose."""
        if self.records_alone and not self.others and self.content in _NOTES:
            raise ConfigError(*UNTOLD)
        contents = [self.content, *(other.content for other in self.others)]
        if self.others and (self.content != "text" or len({*contents}) < len(contents)):
            raise ConfigError("what an input's beginning decides is whether it is text or something else")

    def settled(self, content: str) -> Shape:
        """Return the shape of an input, by what its beginning says that it holds.

        Raises
        ------
        InputError
            When options fit the other content alone.
        """
        if not self.others:
            return self
        if self.records_alone and content in _NOTES:
            raise InputError(*UNTOLD)
        if content == "json":
            if any(name.lower().replace("-", "") not in ("utf8", "") for name in (self.encoding, self.output_encoding)):
                raise InputError(
                    "the input is JSON, which is UTF-8",
                    "leave out --encoding and --output-encoding; for text, name its format with --from",
                )
        elif self.text_field or self.id_field or self.named_fields:
            raise InputError(
                "options name fields, and the input does not begin as a JSON object does",
                "leave the fields out, or use --from ndjson",
            )
        found = [other for other in self.others if other.content == content]
        return found[0] if found else replace(self, others=())

    def fingerprint(self) -> dict[str, object]:
        """Return what decides what the output is, as JSON values."""
        return {
            "framing": repr(self.framing),
            "content": self.content,
            "text_field": self.text_field,
            "id_field": self.id_field,
            "named_fields": sorted(self.named_fields),
            "add_id": self.add_id,
            "encoding": self.encoding,
            "max_record": self.max_record,
            **({"output_encoding": self.output_encoding} if self.output_encoding else {}),
            **({"places": sha256(self.places.read_bytes()).hexdigest()} if self.places else {}),
        }

    def fields(self) -> Fields:
        """Return what reads and writes the records' contents.

        Raises
        ------
        ConfigError
            When an encoding does not exist, or writes JSON's signs in other bytes than ASCII does.
        """
        from deid.io.encoding import check_encoding, check_encodings
        from deid.streaming.records import Fields

        encoding = check_encodings(self.encoding)
        output = check_encoding(self.output_encoding) if self.output_encoding else ""
        printable = "".join(map(chr, range(128)))
        if any(
            printable.encode(name) != printable.encode("ascii") for name in [*encoding.split(","), output or "ascii"]
        ):
            raise ConfigError(
                "records cannot be told apart in this encoding", "convert the feed to UTF-8, with iconv or the like"
            )
        return Fields(self.text_field, self.id_field, self.named_fields, self.add_id, encoding, output, self.places)


class Recipe(Protocol):
    """Makes a pipeline in a worker. It is sent there with pickle."""

    @property
    def key(self) -> Key:
        """The pipeline's key."""

    def pipeline(self) -> Pipeline:
        """Return the pipeline; called once in each worker."""


@dataclass(frozen=True, slots=True)
class PipelineRecipe:
    """The pipeline of a key and of what a user says of scrubbing; the files that are named are read in each worker."""

    key: Key
    options: PipelineOptions = field(default_factory=PipelineOptions)
    originals: bool = False
    """Whether results carry the replaced texts, for a vault."""

    def __post_init__(self) -> None:
        """Refuse to replace annotations: records carry none, and would come out as they are."""
        require(not self.options.gold, "records carry no annotations that --gold could replace", "leave it out")

    def pipeline(self) -> Pipeline:
        """Return the pipeline, with model, rules and policy loaded.

        Raises
        ------
        DeidError
            When they cannot be loaded, or the policy cannot be fulfilled.
        """
        from deid.pipeline import build_pipeline

        return build_pipeline(self.key, self.options, originals=self.originals)

    def fingerprint(self) -> dict[str, object]:
        """Return the values that decide what the output is, the contents of the files that they name included."""
        from deid import __version__

        said = {one.name: getattr(self.options, one.name) for one in fields(self.options)}
        return {
            "version": __version__,
            "key": self.key.pseudonym("journal", "key"),
            "map_version": self.key.map,
            **{name: _told(self.key, value) for name, value in said.items() if value not in (None, (), frozenset())},
        }


def _told(key: Key, value: object) -> object:
    """Return an option as a JSON value; a file stands for its content, a model for its description."""
    if isinstance(value, tuple | frozenset):
        return sorted((_told(key, one) for one in value), key=str)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if not isinstance(value, str | Path):
        return value
    path = Path(value)
    try:
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        return key.mac("".join(sha256(file.read_bytes()).hexdigest() for file in files)).hex()
    except (OSError, ValueError):
        return str(value)


class Work:
    """A pipeline and the shape of the records, in a worker."""

    def __init__(self, recipe: Recipe, shape: Shape) -> None:
        from deid.streaming.drift import Gauge, Sums
        from deid.streaming.records import CONTENTS

        self._sums = Sums
        self._ways = {s.content: (s, s.fields(), CONTENTS[s.content]) for s in (shape, *shape.others)}
        self.pipeline = recipe.pipeline()
        prepare(self.pipeline)
        self.notes = self.pipeline.notes
        """What whoever releases the output must know."""
        self._key = recipe.key
        self._gauge = Gauge(self.pipeline.language) if shape.drift else None
        self._file: tuple[FilePlace, int] | None = None

    def __call__(self, request: Request) -> Reply:
        """Scrub a stretch of records.

        Raises
        ------
        InputError
            When the file of the stretch is not what it was.
        """
        shape, fields, scrub = self._ways[request.content]
        data = self._read(request)
        output: list[bytes] = []
        letters: list[DeadLetter] = []
        spans: Counter[str] = Counter()
        writings: set[Writing] = set()
        records = 0
        sums = self._sums() if self._gauge else None
        if request.before is not None:
            fields.know(request.before)

        def scrubbed(piece: tuple[int, int, int]) -> tuple[bytes, Scrubbed] | Exception:
            start, end, _ = piece
            try:
                if end - start > shape.max_record:
                    raise RecordTooLong
                return scrub(data[start:end], request.offset + start, self.pipeline, fields)
            except Exception as error:
                return error

        for few in batches(shape.framing.split(data), lambda piece: piece[1] - piece[0]):
            if shape.timeout:
                # the default action of the signal ends the process, whatever it is stuck in; its records are then
                # tried one by one
                signal.setitimer(signal.ITIMER_REAL, shape.timeout)
            blank = [not data[start:end] or data[start:end].isspace() for start, end, _ in few]
            done = iter(in_step(scrubbed, [piece for piece, empty in zip(few, blank, strict=True) if not empty]))
            for (start, end, after), empty in zip(few, blank, strict=True):
                if empty:
                    output.append(shape.framing.wrap(data[start:end], data[end:after]))
                    continue
                result = next(done)
                if isinstance(result, Exception):
                    letters.append(self.letter(request.offset + start, data[start:end], result))
                    continue
                records += 1
                output.append(shape.framing.wrap(result[0], data[end:after]))
                mark(spans, result[1])
                writings.update(writing_of(self.pipeline, result[1]))
                if self._gauge is not None and sums is not None:
                    self._gauge.take(sums, result[1])
        if shape.timeout:
            signal.setitimer(signal.ITIMER_REAL, 0)
        unmet = frozenset(fields.unmet)
        written_so = frozenset(writings)
        return Reply(request.number, b"".join(output), records, tuple(letters), dict(spans), unmet, sums, written_so)

    def letter(self, offset: int, content: bytes, error: Exception) -> DeadLetter:
        """Return the dead letter of a record: its offset in bytes, its content and why it failed."""
        return DeadLetter.of(error, offset, len(content), record_mac(self._key, content))

    def _read(self, request: Request) -> bytes:
        if request.data is not None:
            return request.data
        assert request.place is not None
        data = os.pread(self._opened(request.place), request.length, request.offset)
        if len(data) < request.length:
            raise changed()
        return data

    def _opened(self, place: FilePlace) -> int:
        if self._file is None or self._file[0] != place:
            if self._file is not None:
                os.close(self._file[1])
                self._file = None
            with told_as(changed(), OSError):
                descriptor = os.open(place.path, os.O_RDONLY)
            self._file = place, descriptor
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) != (place.device, place.inode):
                raise changed()
        return self._file[1]


def changed() -> InputError:
    """Return the error for an input that is not what it was when the run began."""
    return InputError("the input changed while it was read", "let its writer finish, then run again")
