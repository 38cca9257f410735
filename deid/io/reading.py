"""Reading files and folders as a stream of documents and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self

from deid.base.errors import ConfigError, DeidError, DuplicateError, FormatError, InputError, require, told_of
from deid.base.files import os_reason
from deid.base.list_lines import list_line
from deid.base.safe_names import safe_name
from deid.base.spool import TextSet
from deid.document import Document, Failure
from deid.io.encoding import check_encodings, refuse_binary
from deid.io.folder import list_files, skipped_suffix, split_suffix
from deid.io.formats import CollectionFormat, DocumentFormat, Format, Options
from deid.io.sniffing import sniff_file, sniff_names

_HEAD = 1 << 16  # bytes that tell what kind of file this is


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder that is going to be read: its files by name, its format, and what is left out."""

    root: Path = field(repr=False)
    """The folder, or the folder of the one file."""
    names: tuple[str, ...] = field(repr=False)
    """Main files, relative to ``root`` in POSIX form, sorted."""
    format: Format
    options: Options
    single: bool
    """Whether the user named a file rather than a folder."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Files that are not read, by kind, for the summary: a skipped file is a file that nobody has scrubbed."""
    unreadable: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Folders below that could not be opened, and why."""
    records: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    """Collections of which just some records are read: file -> ids."""

    def documents(self, first: int = 1) -> Iterator[Document | Failure]:
        """Yield all documents in a fixed order, counted from ``first``; a `Failure` for each that fails."""
        seen = TextSet()
        for index, (name, item) in enumerate(self._items(), first):
            if isinstance(item, Document) and len(item.text) > self.options.max_document:
                item = self._too_large()
            if isinstance(item, Document):
                document = replace(item, index=index)
                if document.id not in seen:
                    seen.add(document.id)
                    yield document
                    continue
                item = DuplicateError("its id occurred before", "give each document an id of its own")
            shown = safe_name(name, index)
            yield Failure(shown, item.at(shown), index, list_line(str(self.root / name)))

    def document(self, number: int) -> Document:
        """Return one document, counted from 1.

        Raises
        ------
        ConfigError
            When there are not so many.
        DeidError
            What is wrong with it.
        """
        item = next(islice(self.documents(), number - 1, None), None)
        if item is None:
            place = self.root / self.names[0] if self.single else self.root
            raise ConfigError(f"there is no document {number}", "--number counts the documents from 1", str(place))
        if isinstance(item, Document):
            return item
        if isinstance(item.error, DeidError):
            raise item.error
        raise InputError("the document cannot be read", "look at its format and encoding", item.name)

    def as_texts(self) -> Self:
        """Return the source with its texts as they stand, also where one begins as a record of a hospital's system:
        for what writes where in a text something is, and releases nothing.
        """
        return replace(self, options=replace(self.options, told=False))

    def files(self) -> Iterator[tuple[str, Source]]:
        """Yield each file as a source of its own, with its relative path without suffix.

        Folders that could not be opened belong to no file: ``replace(source, names=())`` tells them.
        """
        for name in self.names:
            yield split_suffix(name)[0], replace(self, names=(name,), skipped={}, unreadable=())

    def remarks(self) -> list[str]:
        """Return sentences for the user about files that are not read, because nobody else will look at them."""
        if not self.skipped:
            return []
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.skipped.items()))
        return [f"not read, and not copied: {kinds} (read were {self.format.name} files)"]

    def layout(self) -> Options:
        """Return the options with the names and the order of the fields of the first file, to write a copy alike."""
        if not isinstance(self.format, CollectionFormat) or not self.names:
            return self.options
        try:
            with ExitStack() as stack:
                return self.format.layout(self._open(self.names[0], stack), self.options)
        except (DeidError, OSError):
            return self.options  # reading it again will say what is wrong

    def _items(self) -> Iterator[tuple[str, Document | DeidError]]:
        for folder, reason in self.unreadable:
            yield folder, InputError(f"the folder cannot be read ({reason})", "check the rights")
        # of several kinds of files one stem may be that of two: letter.docx, letter.pdf
        stems = Counter(split_suffix(name)[0] for name in self.names) if self.format.reads_too else {}
        for name in self.names:
            try:
                if isinstance(self.format, DocumentFormat):
                    document = self.format.read(self._parts(name), self.options)
                    stem = split_suffix(name)[0]
                    yield name, replace(document, id=name if stems.get(stem, 1) > 1 else stem)
                else:
                    for item in self._records(name):
                        yield name, item
            except DeidError as error:
                yield name, error
            except OSError as error:
                yield name, InputError(f"the file cannot be read ({os_reason(error)})", "check that it is readable")

    def _records(self, name: str) -> Iterator[Document | DeidError]:
        assert isinstance(self.format, CollectionFormat)
        prefix = "" if self.single else f"{split_suffix(name)[0]}/"
        wanted = self.records.get(name)
        row = 0
        with ExitStack() as stack:
            for row, item in enumerate(self.format.read(self._open(name, stack), self.options), 1):
                # a record without an id is known by its file and its place there
                document = replace(item, id=f"{prefix}{row}") if isinstance(item, Document) and not item.id else item
                if wanted is None or (isinstance(document, Document) and document.id in wanted):
                    yield document
        require(row, "the file holds no record", "leave it out, or write it anew with its rows", kind=FormatError)

    def paths(self, name: str) -> Iterator[tuple[str, Path]]:
        """Yield suffix and path of the files of a document or collection: the main one, then companions that exist.

        Raises
        ------
        FormatError
            When ``name`` is a companion without its main file.
        InputError
            When it is no regular file.
        """
        stem, suffix = split_suffix(name)
        if suffix in self.format.companions:
            raise FormatError(
                f"the {self.format.suffixes[0]} file is missing", f"a {suffix} file needs it beside itself"
            )
        path = self.root / name
        if path.exists() and not path.is_file():
            raise InputError("this is no regular file", "remove the pipe, device or socket from the folder")
        yield self.format.suffixes[0], path
        for companion in self.format.companions:
            beside = self.root / f"{stem}{companion}"
            if beside.is_file():
                yield companion, beside

    def _parts(self, name: str) -> dict[str, bytes]:
        paths = dict(self.paths(name))
        if sum(path.stat().st_size for path in paths.values()) > self.options.max_document:
            raise self._too_large()
        return {suffix: path.read_bytes() for suffix, path in paths.items()}

    def _too_large(self) -> InputError:
        most = self.options.max_document
        return InputError(f"the document is larger than {most:,} bytes", "split it, or raise --max-document")

    def _open(self, name: str, stack: ExitStack) -> dict[str, BinaryIO]:
        return {suffix: stack.enter_context(path.open("rb")) for suffix, path in self.paths(name)}


def open_source(path: Path, format_name: str | None, formats: Mapping[str, Format], options: Options) -> Source:
    """Look at a file or folder and tell what there is to read; the files are read later, one at a time.

    Parameters
    ----------
    path : Path
        The file or folder.
    format_name : str or None
        A key of ``formats``; None to tell the format by names and content.
    formats : mapping of str to Format
        All formats, in the order in which they are tried.
    options : Options
        What the user says of the files.

    Returns
    -------
    Source
        The files by name; none has been read.

    Raises
    ------
    InputError, FormatError
        The path does not exist, its format cannot be told, or a folder holds no file of it.
    ConfigError
        Unknown format or encoding.
    """
    options = replace(options, encoding=check_encodings(options.encoding), told=format_name is None)
    named = get_format(format_name, formats) if format_name else None
    require(path.exists(), "the input does not exist", "check the path", str(path), kind=InputError)
    if not path.is_dir():
        return _single(path, named, formats, options)
    listing = list_files(path)
    found = named or sniff_names(path, listing.names, formats)
    stems = {split_suffix(name)[0] for name in listing.names if split_suffix(name)[1] in found.suffixes}
    names = []
    skipped: Counter[str] = Counter()
    for name in listing.names:
        stem, suffix = split_suffix(name)
        if suffix in found.suffixes or (suffix in found.companions and stem not in stems):
            names.append(name)
        elif suffix not in found.companions:
            skipped[skipped_suffix(suffix)] += 1
    if not names and not listing.unreadable:
        raise FormatError(
            f"no file here is called *{found.suffixes[0]}", f"{found.name} files end in {' or '.join(found.suffixes)}"
        )
    skipped.update(listing.skipped)
    return Source(
        path, tuple(names), found, options, single=False, skipped=dict(skipped), unreadable=tuple(listing.unreadable)
    )


def get_format(name: str, formats: Mapping[str, Format]) -> Format:
    """Return a format by name, or raise `ConfigError` with the names there are."""
    require(name in formats, "unknown format", f"known formats: {', '.join(formats)}")
    return formats[name]


def _single(path: Path, named: Format | None, formats: Mapping[str, Format], options: Options) -> Source:
    require(path.is_file(), "this is neither a file nor a folder", "name a regular file", str(path), kind=InputError)
    suffix = split_suffix(path.name)[1]
    for format in [named] if named else formats.values():
        main = path.with_suffix(format.suffixes[0])
        if suffix in format.companions and main.is_file():
            path = main  # the annotations were named; their text stands beside them
    found = named or sniff_file(path, formats)
    if found is None:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
        with told_of(str(path), FormatError):
            refuse_binary(head)
        require(head, "this file is empty", "name a file that holds notes", str(path), kind=FormatError)
        raise FormatError(
            "the format of this file cannot be told", f"name it with --from: {', '.join(formats)}", str(path)
        )
    return Source(path.parent, (path.name,), found, options, single=True)
