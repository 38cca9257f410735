"""Writing files so that they are there whole or not at all."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from deid.base.errors import ConfigError, DeidError, OutputError, TakenError, Told, require, told_of

try:
    import fcntl
except ImportError:  # not a system with such locks: part files stay until somebody removes them
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".deid-part-"  # hidden, so that what a killed process leaves behind is never read as a document
_MANIFEST = re.compile(r"\.manifest(\.\d+)?\.json$")
_EXISTS = ("the file to write exists already", "name a new file or an empty folder")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where there is no room."""


def os_reason(error: OSError) -> str:
    """Return what the operating system says, without the file's name."""
    return os.strerror(error.errno).lower() if error.errno else "the operating system refused"


def refused_as(kind: type[DeidError], what: str, hint: str, where: str = "") -> Told[OSError]:
    """Raise an error of ours where the operating system refuses something; what it says is put behind ``what``."""
    return Told(lambda error: kind(f"{what} ({os_reason(error)})", hint, where), OSError)


def open_to_others(path: Path, mode: int) -> bool:
    """Tell whether other users may use a file of secrets.

    A credential of systemd is root's, and given to the user of its unit by an access list, which the mode shows as the
    group's right to read; its folder is closed to all others (systemd.exec(5), ``LoadCredential``).

    Parameters
    ----------
    path : Path
    mode : int
        Of its ``stat``.
    """
    given = os.environ.get("CREDENTIALS_DIRECTORY")
    return bool(mode & (0o037 if given and path.parent == Path(given) else 0o077))


def read_text(path: Path, where: str, kind: type[DeidError] = ConfigError) -> str:
    """Return the text of a file that a user wrote: UTF-8, with or without its mark.

    Parameters
    ----------
    path : Path
    where : str
        What messages call it.
    kind : type
        What is raised when it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise kind(f"cannot be read ({os_reason(error)})", "check the path and its permissions", where) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise kind("not UTF-8", "save the file in UTF-8", where, f"line {line}") from None


def read_toml(path: Path, hint: str, where: str = "") -> dict[str, Any]:
    """Return the content of a TOML file that a user wrote.

    Parameters
    ----------
    path : Path
    hint : str
        Where its form is described.
    where : str
        What messages call it; by default its path.

    Raises
    ------
    ConfigError
        When it cannot be read or is no TOML; names the file.
    """
    text = read_text(path, where or str(path))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML ({error})", hint, where or str(path)) from None


def read_rows(
    path: Path, columns: Iterable[str], hint: str, kind: type[DeidError] = ConfigError
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV file with a header that a user wrote, each behind its line.

    Parameters
    ----------
    path : Path
    columns : iterable of str
        Those that it must have; a cell that is not there is empty.
    hint : str
        What it is to hold.
    kind : type
        What is raised when it cannot be read, is no CSV or lacks a column; names the file.
    """
    text = read_text(path, str(path), kind)
    csv.field_size_limit(sys.maxsize)
    separator = csv_separator(text.partition("\n")[0])
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, restval="")
    try:
        lacking = [name for name in columns if name not in (reader.fieldnames or ())]
        what = f"the file lacks the column {', '.join(lacking)}"
        require(not lacking, what, hint, str(path), "line 1", kind=kind)
        yield from ((reader.line_num, row) for row in reader)
    except csv.Error:
        raise kind("the file is no CSV", hint, str(path), f"line {reader.line_num}") from None


def csv_separator(header: str) -> str:
    """Return what separates the cells of a sheet by its first line: programs of many countries write semicolons."""
    return max("\t;,", key=header.count)


def csv_text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """Return rows as CSV that ends its lines with LF, and reads as it was written.

    A row with a CR in a cell is quoted, which Python before 3.13 leaves bare unless lines end with one.
    """
    stream = io.StringIO(newline="")
    plain, quoted = (
        csv.writer(stream, delimiter=delimiter, lineterminator="\n", quoting=quoting)
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    for row in rows:
        (quoted if any("\r" in str(cell) for cell in row) else plain).writerow(row)
    return stream.getvalue()


def output_error(error: OSError) -> OutputError:
    """Return the `OutputError` that tells an `OSError` without naming a file, with a hint."""
    full = "free some space or write to another disk, then run again, with --resume where the command has it"
    hint = {
        errno.ENOSPC: full,
        errno.EDQUOT: full,
        errno.ENAMETOOLONG: "the document's id is too long for a file name; write another format or shorten the id",
    }.get(error.errno or 0, "check that the place exists and that you may write there")
    return OutputError(f"cannot write ({os_reason(error)}); nothing of this file was left behind", hint)


def told_writing(where: object = "") -> Told[OSError]:
    """Raise what the operating system refuses as an `output_error`, with the file or folder that it is about."""
    return Told(lambda error: output_error(error).at(str(where)), OSError)


def make_folder(path: Path, *, private: bool = True) -> None:
    """Create a folder and its parents where they are missing; private ones with mode 0700."""
    with told_writing():
        for folder in (*reversed(path.parents), path):
            if not folder.is_dir():
                folder.mkdir(exist_ok=True, mode=0o700 if private else 0o777)


def try_folder(path: Path, shown: Path | None = None) -> None:
    """Raise `OutputError` when a file cannot be made in a folder that exists; it names the folder, or what is shown."""
    with told_writing(shown or path), tempfile.TemporaryFile(prefix=_PREFIX, dir=path) as stream:
        stream.write(b"\0")


def check_new_file(*paths: Path | None) -> None:
    """Refuse places where no new file can be written, before work or a budget is spent on them; None is no place.

    Raises
    ------
    OutputError
        When something of this name is there, a dangling link too, its folder is not, nothing can be written there, or
        the name is that of a manifest.
    """
    for path in filter(None, paths):
        if _MANIFEST.search(path.name) is not None:
            raise OutputError("the name is that of a manifest", "name another file", str(path))
        if os.path.lexists(path):
            raise OutputError("the file to write exists already", "name a new file", str(path))
        check_folder(path)


def check_new_folder(path: Path) -> None:
    """Refuse a place where something stands that is no empty folder.

    Raises
    ------
    OutputError
        When there is.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise OutputError("the folder to write exists and is not empty", "name a new folder", str(path))


def check_folder(path: Path) -> None:
    """Refuse a place whose folder is not there, or in which nothing can be written; see `check_new_file`."""
    if not path.parent.is_dir():
        raise OutputError("there is no folder for this file", "make the folder first", str(path))
    try_folder(path.parent, path)


@dataclass(frozen=True, slots=True)
class _Part:
    """A file that is written, and waits for its name."""

    place: Path
    path: Path
    replace: bool
    held: int
    """Descriptor that keeps the part from who clears up."""


_WAITING: ContextVar[list[_Part] | None] = ContextVar("waiting", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Give the files that `atomic_files` writes in the block their names when it ends, all or none.

    They are not there before: the block does not read them. What goes into a database is there at once.

    Raises
    ------
    OutputError
        See `atomic_files`.
    """
    parts: list[_Part] = []
    before = _WAITING.set(parts)
    moved: list[Path] = []
    try:
        yield
        for part in parts:
            with told_of(str(part.path), TakenError), told_writing(part.path):
                _appear(part.place, part.path, part.replace)
            moved.append(part.path)
    except BaseException:
        for leftover in (*(part.place for part in parts), *moved):
            leftover.unlink(missing_ok=True)
        raise
    finally:
        _WAITING.reset(before)
        for part in parts:
            os.close(part.held)


@contextmanager
def atomic_files(
    paths: Sequence[Path], *, private: bool = True, durable: bool = True, replace: bool = False
) -> Iterator[list[BinaryIO]]:
    """Open temporary files beside ``paths`` and move all of them into place when the block ends without an error.

    Parameters
    ----------
    paths : sequence of Path
        Where the files are to be; their folder must exist.
    private : bool
        Mode 0600, for files with PHI or keys; otherwise what the umask allows.
    durable : bool
        Flush to the disk before moving, so that not even a power failure leaves a torn file. Writers of many small
        files leave this out and synchronize once at the end.
    replace : bool
        Replace files that exist; otherwise they are an error.

    Yields
    ------
    list of binary streams
        One a path, to be written in the block.

    Raises
    ------
    OutputError
        When a file exists, or the operating system refuses (no space, no permission). It names the first file where
        these are durable: the names of many small ones can be those of patients.
    """
    temporary: list[Path] = []
    moved: list[Path] = []
    try:
        if not replace and any(os.path.lexists(path) for path in paths):
            raise TakenError(*_EXISTS)
        with ExitStack() as stack:
            streams = []
            for path in paths:
                descriptor, name = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)
                temporary.append(Path(name))
                hold(descriptor)
                streams.append(cast(BinaryIO, stack.enter_context(os.fdopen(descriptor, "wb"))))
            yield streams
            for stream in streams:
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
            for part in temporary if not private else ():
                part.chmod(0o666 & ~_umask())
            if (waiting := _WAITING.get()) is not None:
                found = zip(temporary, paths, streams, strict=True)
                waiting += [_Part(part, path, replace, os.dup(stream.fileno())) for part, path, stream in found]
                return
        for part, path in zip(temporary, paths, strict=True):
            _appear(part, path, replace)
            moved.append(path)
    except BaseException as error:
        for leftover in (*temporary, *moved):
            leftover.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error = output_error(error)
        elif not isinstance(error, TakenError):
            raise
        raise error.at(str(paths[0]) if durable else "") from None


def _appear(part: Path, path: Path, replace: bool) -> None:
    """Give a part file its name; without ``replace`` what came there since it was begun stays, and is an error."""
    if not replace:
        try:
            os.link(part, path)
        except FileExistsError:
            raise TakenError(*_EXISTS) from None
        except OSError:  # a file system without links
            if os.path.lexists(path):
                raise TakenError(*_EXISTS) from None
        else:
            part.unlink()
            return
    part.replace(path)


@contextmanager
def part_folder(path: Path) -> Iterator[Path]:
    """Make a hidden folder beside a place, for what is moved there when it is whole; it is removed behind the block.

    What killed processes left there goes before.

    Raises
    ------
    OutputError
        When the place's folder is not there, or nothing can be written there. What is raised in the block about a file
        of the hidden folder names the place instead, which is what a user knows.
    """
    check_folder(path)
    clear_leftovers(path.parent)
    with (
        told_writing(path),
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=path.parent) as part,
        ExitStack() as stack,
    ):
        hold_folder(Path(part), stack)
        try:
            yield Path(part)
        except OutputError as error:
            if Path(error.where).is_relative_to(part):
                raise OutputError(error.what, error.hint, str(path), error.position) from None
            raise


def clear_leftovers(folder: Path, *, deep: bool = False) -> int:
    """Remove the hidden part files and folders that killed processes left in a folder; return how many there were.

    A process that is still writing holds a lock on what is its, so that nothing of its is removed.

    Parameters
    ----------
    folder : Path
        One that is not there has none.
    deep : bool
        Look into the folders below too, and remove empty ones: nobody else writes there.
    """
    removed = 0
    # all of them first: folders go while they are looked through
    for part in list(folder.rglob(f"{_PREFIX}*") if deep else folder.glob(f"{_PREFIX}*")):
        try:
            if part.is_dir():
                removed += clear_folder(part)
                continue
            with part.open("rb") as stream:
                # an empty one may have been made this moment, and be locked in the next, by a run beside this one
                if hold(stream.fileno()) and (deep or os.fstat(stream.fileno()).st_size):
                    part.unlink(missing_ok=True)
                    removed += 1
        except OSError:
            continue  # another user's, or gone
    return removed


def hold_folder(folder: Path, stack: ExitStack) -> None:
    """Lock a folder that was made this moment until the stack unwinds, on a system that has such locks."""
    if not hasattr(os, "geteuid"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    hold(descriptor)


def clear_folder(folder: Path) -> bool:
    """Remove a folder of this user in which something lies and that nobody holds; tell whether it was one.

    One in which nothing lies yet may have been made this moment, and be held in the next. Links are not followed.

    Raises
    ------
    OSError
        When it is another user's, or gone.
    """
    if not hasattr(os, "geteuid"):
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        own = os.fstat(descriptor).st_uid == os.geteuid()
        dead = own and any(folder.iterdir()) and hold(descriptor)
        if dead:
            shutil.rmtree(folder, ignore_errors=True)
        return dead
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file or folder for as long as it is open; False where another process holds it, None where none can."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def hold(descriptor: int) -> bool:
    """Lock a file or folder for as long as it is open; tell whether nobody else holds it."""
    return _lock(descriptor) is True


def held_by_another(descriptor: int) -> bool:
    """Lock a file for as long as it is open; tell whether another process holds it. Where no locks are, none does."""
    return _lock(descriptor) is False


def write_bytes(path: Path, data: bytes, *, private: bool = True, replace: bool = False) -> None:
    """Write one small file at once; ``private``, ``replace`` and errors as those of `atomic_files`."""
    with atomic_files([path], private=private, replace=replace) as (stream,):
        stream.write(data)


def _umask() -> int:
    # the only portable way to read it is to set it; restored at once
    current = os.umask(0o077)
    os.umask(current)
    return current
