"""Running again what is missing: the list of documents that failed, and runs that were interrupted.

A run into a folder notes in it, in a hidden file, what it does (a fingerprint of its options). The note goes when the
run is complete. Where it stands, the same command with the same options goes on: what is there is whole, because files
appear whole or not at all, and is not made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from deid.base.errors import ConfigError, OutputError, require, told_as
from deid.base.files import clear_leftovers, held_by_another, make_folder, told_writing, write_bytes
from deid.base.list_lines import read_list_line
from deid.document import Document, Failure
from deid.io import CollectionFormat, Format, Source

_NOTE = ".deid-run"


def write_failed(place: Path, failures: Iterable[Failure]) -> None:
    """Write the list of the documents that failed, for another run; only the user may read it."""
    lines = "".join(f"{failure.path}\n" for failure in failures)
    make_folder(place.parent)  # where all failed nobody has made that of OUT
    write_bytes(place, lines.encode("utf-8", "surrogateescape"), replace=True)


def select_files(source: Source, path: Path) -> Source:
    """Return what a list names of a source.

    Parameters
    ----------
    source : Source
    path : Path
        Lines as `deid.base.list_lines.list_line` makes them; files by their path, or relative to the source's folder.

    Raises
    ------
    ConfigError
        When the list cannot be read, names nothing, or names what the source does not have.
    """
    hint = "give the list that --failed wrote, or paths of files in IN, one a line"
    with told_as(ConfigError("the list of files cannot be read", hint, str(path)), OSError):
        lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    names = {str(source.root / name): name for name in source.names}
    names |= {str((source.root / name).resolve()): name for name in source.names} | {n: n for n in source.names}
    wanted: dict[str, set[str] | None] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        file, identifier = read_list_line(line.removesuffix("\r"))
        name = names.get(file) or names.get(str(Path(file).resolve()))
        if name is None or (identifier is not None and not isinstance(source.format, CollectionFormat)):
            raise ConfigError("IN has no such file", hint, str(path), f"line {number}")
        known = wanted.setdefault(name, set())
        if identifier is None:
            wanted[name] = None  # all of it
        elif known is not None:
            known.add(identifier)
    require(wanted, "the list of files is empty", hint, str(path))
    records = {name: frozenset(ids) for name, ids in wanted.items() if ids is not None}
    return replace(source, names=tuple(n for n in source.names if n in wanted), records=records, unreadable=())


def interrupted(target: Path) -> bool:
    """Tell whether a folder holds a run that is not complete."""
    return (target / _NOTE).is_file()


@dataclass(frozen=True, slots=True)
class RunNote:
    """The note of a run into a folder."""

    target: Path
    options: str
    """What decides what is written."""
    resume: bool = False
    _held: list[BinaryIO] = field(default_factory=list, init=False, repr=False, compare=False)

    def begin(self) -> int:
        """Write the note, or find the one of the run that goes on; return how many hidden part files it had left.

        The folder is this run's until `close`.

        Raises
        ------
        ConfigError
            When no run is there to go on with, or it had other options.
        OutputError
            When another run is at work in the folder, or has been since it was found to be empty.
        """
        digest = hashlib.sha256(self.options.encode()).hexdigest()
        if not self.resume:
            make_folder(self.target)
            write_bytes(self.target / _NOTE, f"{digest}\n".encode())
            if any(path.name != _NOTE for path in self.target.iterdir()):
                self.end()  # it is this run's: that of the other one is gone
                raise OutputError("another run has written into the output", "name a new folder")
            self._hold()
            return 0
        with told_as(
            ConfigError("there is no interrupted run to go on with", "leave out --resume, and name a new folder"),
            OSError,
        ):
            before = (self.target / _NOTE).read_text().strip()
        if before != digest:
            raise ConfigError(
                "the interrupted run had other options, another input, key or version",
                "give the same ones, or name a new folder; with --files-from OUT.failed it gets just what failed here",
            )
        self._hold()
        return clear_leftovers(self.target, deep=True)

    def _hold(self) -> None:
        with told_writing():
            stream = (self.target / _NOTE).open("rb")
        self._held.append(stream)
        if held_by_another(stream.fileno()):
            self.close()
            raise OutputError("another run is at work in the output", "let it end, or name a new folder")

    def close(self) -> None:
        """Let other runs go on in the folder."""
        while self._held:
            self._held.pop().close()

    def end(self) -> None:
        """Take the note away: the run is complete.

        Raises
        ------
        OutputError
            When it cannot be removed.
        """
        with told_as(OutputError("the note of the run cannot be removed", f"remove {_NOTE} from the output"), OSError):
            (self.target / _NOTE).unlink(missing_ok=True)


def make_skip(
    target: Path, format: Format, rename: Callable[[str], str], identify: Callable[[str], str]
) -> Callable[[str, Document], bool]:
    """Return what tells, for the name of a collection and a document of it, whether its result is there.

    Parameters
    ----------
    target, format
        What is written where.
    rename : callable
        Gives the name of a collection in a folder.
    identify : callable
        Gives the id of a written document.
    """
    there: dict[str, bool] = {}

    def skip(group: str, document: Document) -> bool:
        if isinstance(format, CollectionFormat):
            if group not in there:
                written = [target / f"{rename(group)}{suffix}" for suffix in format.suffixes] if group else []
                there[group] = any(path.is_file() for path in written)
            return there[group]
        folder = target / rename(group) if group else target
        stem = identify(document.id)
        # a letter is written back as what it is, so its file may have any suffix of the format
        return any((folder / f"{stem}{suffix}").is_file() for suffix in format.suffixes) and all(
            (folder / f"{stem}{suffix}").is_file() for suffix in format.companions
        )

    return skip


def fingerprint(options: Mapping[str, object], digest: Callable[[bytes], str]) -> str:
    """Return the options of a run as a text in which the files that they name are told by their content.

    Parameters
    ----------
    options : mapping
        Values by name; paths are read where they are files.
    digest : callable
        Makes a keyed digest: what the files hold may be guessed from a plain one.
    """

    def shown(value: object) -> str:
        if isinstance(value, (list, tuple, set, frozenset)):
            return "[" + ",".join(sorted(map(shown, value))) + "]"
        if isinstance(value, (str, Path)) and value and len(str(value)) < 4096 and Path(value).is_file():
            return digest(Path(value).read_bytes())
        return repr(str(value) if isinstance(value, Path) else value)

    return "\n".join(f"{name}={shown(value)}" for name, value in sorted(options.items()))
