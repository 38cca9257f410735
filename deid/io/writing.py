"""Writing documents: into one file, or into a folder with one file (or a few) for each document."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Generic, Protocol, Self, TypeVar, cast

from deid.base.errors import DeidError, DuplicateError, OutputError, require, told_of
from deid.base.files import atomic_files, make_folder, output_error
from deid.base.spool import TextSet
from deid.document import Document, Failure, kept
from deid.io.encoding import check_encoding
from deid.io.formats import CollectionFormat, DocumentFormat, Format, Options, Sink

_UNSAFE = re.compile(r"\x00" if os.sep == "/" else r'[\x00-\x1f\\:*?"<>|]')
_LONGEST = 240
"""Bytes that a part of an id may have as a file name, with room for a suffix (file systems allow 255)."""
_COLLECTION = "documents"
"""Name of the file that a collection is written to when the user names a folder."""


_F = TypeVar("_F", bound=Format)


class Writer(Protocol):
    """Takes documents one by one; use it in a ``with`` statement."""

    def write(self, document: Document) -> None:
        """Write one document, or raise `DeidError` and leave no trace of it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(slots=True)
class WriteOutcome:
    """What became of a stream of documents."""

    documents: int = 0
    failures: list[Failure] = field(default_factory=list)
    """Those that could not be read, in the order of the stream, and those that could not be written."""


def write_all(items: Iterable[Document | Failure], writer: Writer) -> WriteOutcome:
    """Write a stream; failures in it are passed on, and documents that cannot be written are added to them.

    Returns
    -------
    WriteOutcome
        How many documents were written, and the failures.
    """
    written = WriteOutcome()
    with writer:
        for item in kept(items, written.failures):
            try:
                writer.write(item)
                written.documents += 1
            except DeidError as error:
                written.failures.append(Failure(item.name, error.at(item.name), item.index, item.id))
    return written


def make_writer(path: Path, format: Format, options: Options, *, private: bool, single: bool | None) -> Writer:
    """Return the writer for a format and a place.

    A place is a file when its name ends in a suffix of the format, and a folder otherwise, unless ``single`` says
    which.
    """
    options = replace(options, encoding=check_encoding(options.output_encoding or options.encoding.partition(",")[0]))
    if single is None:
        single = path.suffix.lower() in format.suffixes and not path.is_dir()
    if path.suffix.lower() == ".tsv" and options.delimiter is None:
        options = replace(options, delimiter="\t")
    if isinstance(format, CollectionFormat):
        target = path if single else path / f"{_COLLECTION}{format.suffixes[0]}"
        return _CollectionWriter(target, format, options, private)
    assert isinstance(format, DocumentFormat)
    return _FileWriter(path, format, options, private) if single else _FolderWriter(path, format, options, private)


class _Writer(Generic[_F]):
    """What all writers share."""

    def __init__(self, path: Path, format: _F, options: Options, private: bool) -> None:
        self._path = path
        self._format = format
        self._options = options
        self._private = private
        self._ids = TextSet()

    def __enter__(self) -> Self:
        return self

    def _refuse_again(self, document: Document) -> None:
        if document.id in self._ids:
            raise DuplicateError("its id was written before", "give each document an id of its own", document.name)


class _DocumentWriter(_Writer[DocumentFormat]):
    """What the two writers of one-document files share."""

    def _put(self, stem: str, folder: Path, document: Document, *, durable: bool) -> None:
        """Write the files of one document beside each other."""
        self._refuse_again(document)
        with told_of(document.name):
            parts = self._format.write(document, self._options)
            make_folder(folder, private=self._private)
            paths = [folder / f"{stem}{suffix}" for suffix in parts]
            with atomic_files(paths, private=self._private, durable=durable) as streams:
                for stream, data in zip(streams, parts.values(), strict=True):
                    stream.write(data)
        self._ids.add(document.id)


class _FolderWriter(_DocumentWriter):
    """Writes each document to ``folder/<id><suffix>``."""

    def write(self, document: Document) -> None:
        *folders, stem = _parts_of(document)
        # No flush to the disk for each of perhaps 100,000 small files: that costs milliseconds each. A killed process
        # leaves no torn file either way; against a power failure the whole run is synchronized once, at its end.
        self._put(stem, self._path.joinpath(*folders), document, durable=False)

    def __exit__(self, *_: object) -> None:
        if self._ids and hasattr(os, "sync"):
            os.sync()


class _FileWriter(_DocumentWriter):
    """Writes the one document of a single file."""

    def write(self, document: Document) -> None:
        if self._ids:
            raise OutputError(
                f"a {self._format.name} file holds one document",
                f"name a folder (a path that does not end in {self._format.suffixes[0]}), or a format that holds many",
                document.name,
            )
        self._put(self._path.stem, self._path.parent, document, durable=True)

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""


class _CollectionWriter(_Writer[CollectionFormat]):
    """Writes all documents into one file, which appears when the block ends without an error."""

    _files: AbstractContextManager[list[BinaryIO]] | None = None
    _sink: Sink | None = None
    _broken: OutputError | None = None

    def write(self, document: Document) -> None:
        if self._broken is not None:
            raise OutputError(self._broken.what, self._broken.hint, document.name)
        self._refuse_again(document)
        require(document.id, "the document has no id", "give it one", document.name, kind=OutputError)
        try:
            if self._sink is None:
                self._sink = self._open()
            self._sink.add(document)
        except OSError as error:
            self._broken = output_error(error)
            raise self._broken.at(document.name) from None
        except DeidError as error:
            raise error.at(document.name) from None
        self._ids.add(document.id)

    def _open(self) -> Sink:
        make_folder(self._path.parent, private=self._private)
        suffixes = (self._format.suffixes[0], *self._format.companions)
        paths = [self._path, *(self._path.with_suffix(suffix) for suffix in self._format.companions)]
        self._files = atomic_files(paths, private=self._private)
        streams = self._files.__enter__()
        return self._format.write(dict(zip(suffixes, streams, strict=True)), self._options)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._files is None:
            return
        if error is None and self._broken is None and self._ids:
            with ExitStack() as stack:
                stack.push(self._files)
                cast(Sink, self._sink).finish()
            return
        # nothing may appear: what was written so far is thrown away
        failure = error or self._broken or OutputError("no document could be written")
        self._files.__exit__(type(failure), failure, trace)
        if error is None and self._broken is not None:
            raise self._broken


def _parts_of(document: Document) -> list[str]:
    """Return the folders and the stem that an id stands for.

    Raises
    ------
    OutputError
        When the id cannot be a path inside the output folder that is read back as the same id.
    """
    parts = document.id.split("/")
    problem = ""
    if any(part in ("", ".", "..") or part.startswith(".") for part in parts):
        problem = "an id whose part is empty or begins with a dot cannot be a file name"
    elif _UNSAFE.search(document.id):
        problem = "an id with such characters cannot be a file name"
    else:
        try:
            if any(len(os.fsencode(part)) > _LONGEST for part in parts):
                problem = "an id that long cannot be a file name"
        except UnicodeError:
            problem = "an id with lone surrogates cannot be a file name"
    if problem:
        raise OutputError(problem, "write a format that holds many documents, or rename the document", document.name)
    return parts
