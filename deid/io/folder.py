"""Walking through folders and checking places: which files there are, in a fixed order, and where to write."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from deid.base.errors import InputError, OutputError
from deid.base.files import os_reason, refused_as, try_folder
from deid.base.safe_names import safe_name
from deid.io.formats import CollectionFormat, Format

_COMMON = re.compile(
    r"\.(ann|bak|csv|dcm|docx?|gz|hl7|html?|ini|jpe?g|json|jsonl|log|md|ndjson|odt|parquet|pdf|phi|phrase|png|pq|py|rtf"
    r"|sgml?|spacy|tar|text|tiff?|tmp|toml|tsv|txt|xlsx?|xml|ya?ml|zip)"
)
_MANIFEST = re.compile(r"\.manifest(\.[1-9][0-9]*)?\.(json|html)$")  # of this program: what a run said of itself


_VERSION = re.compile(r"\.v?\d+")
"""What may follow a dot at the end of a folder's name: ``release.2``, ``notes.v3``."""


@dataclass(slots=True, repr=False)
class Listing:
    """The files below a folder: names only, so that a folder of 100,000 notes takes a few megabytes."""

    names: list[str]
    """Relative paths in POSIX form, sorted."""
    skipped: Counter[str] = field(default_factory=Counter)
    """What was not looked at: ``hidden files``, ``links to folders``, ... -> how many."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """Folders that could not be opened, and what the operating system said."""


def list_files(root: Path) -> Listing:
    """Return all files below ``root`` by name, sorted.

    Hidden files and folders, and manifests, are left out and counted; links to folders are not followed, because they
    can lead in circles. Names that are no files (pipes, sockets, links to nothing and in circles) stay in the list, so
    that reading them fails visibly.

    Raises
    ------
    InputError
        When ``root`` itself cannot be opened.
    """
    listing = Listing([])
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.name.startswith("."):
                        listing.skipped["hidden"] += 1
                    elif _MANIFEST.search(entry.name):
                        listing.skipped["manifests"] += 1
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
                    elif _leads_to_folder(entry):
                        listing.skipped["links to folders"] += 1
                    else:
                        listing.names.append(name)
        except OSError as error:
            if not folder:
                raise InputError(f"the folder cannot be read ({os_reason(error)})", "check path and rights") from None
            listing.unreadable.append((folder, os_reason(error)))
    listing.names.sort()
    listing.unreadable.sort()
    return listing


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    """Tell whether a link leads to a folder; one that leads in a circle, or where nobody may look, leads nowhere."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def split_suffix(name: str) -> tuple[str, str]:
    """Return the stem of a relative path (with folders) and its suffix in lower case, empty where there is none."""
    folder, slash, base = name.rpartition("/")
    stem, dot, suffix = base.rpartition(".")
    if not dot or not stem:
        return name, ""
    return f"{folder}{slash}{stem}", f".{suffix.lower()}"


def check_output(in_path: Path, out_path: Path) -> None:
    """Refuse an output path that could damage or mix with something, or that cannot be written to.

    A file is made there and removed, so that a place without room or rights is known before the work and not after it.

    Raises
    ------
    OutputError
        When ``out_path`` is the input, lies inside it, holds it, is there already (an empty folder is fine), goes
        back from a folder that is not there (``missing/..``), or cannot be written to.
    """
    if ".." in out_path.parts and not out_path.parent.is_dir():
        raise OutputError("the output path goes back from a folder that is not there", "write it without ..")
    source, target = in_path.resolve(), out_path.resolve()
    if target == source or (os.path.lexists(out_path) and in_path.exists() and _same(in_path, out_path)):
        raise OutputError("the output path is the input path", "name another place")
    if source in target.parents:
        raise OutputError("the output path lies inside the input", "name a place outside of it")
    if not os.path.lexists(out_path):
        try_folder(next(folder for folder in target.parents if folder.is_dir()))
        return
    with refused_as(OutputError, "the output path cannot be used", "name another place"):
        empty = out_path.is_dir() and next(out_path.iterdir(), None) is None
    if not empty:
        raise OutputError(
            "the output path exists already", "name a new one or an empty folder; nothing is ever overwritten"
        )
    try_folder(target)


def check_suffix(single: bool, source: Format, out_path: Path, format: Format, choice: Iterable[Format] = ()) -> None:
    """Refuse an output path whose suffix says another format than the one that is written, or a file for a folder.

    Parameters
    ----------
    single : bool
        Whether the user named a file to read, rather than a folder.
    source : Format
        What is read.
    out_path : Path
        Where the user wants the result.
    format : Format
        What is written. A collection that is made of a file, or of a folder of documents, is one file.
    choice : iterable of Format
        What else could be written, where the user can say so.

    Raises
    ------
    OutputError
        When a file of the name would not be what its suffix says.
    """
    suffix = split_suffix(out_path.name)[1]
    whole = isinstance(format, CollectionFormat)
    is_file = single or (whole and not isinstance(source, CollectionFormat))
    if not suffix or (is_file and suffix in format.suffixes) or not (is_file or _COMMON.fullmatch(suffix)):
        return
    if is_file and not _COMMON.fullmatch(suffix) and _VERSION.fullmatch(suffix):
        return
    right = " or ".join(format.suffixes)
    others = [other.name for other in choice if suffix in other.suffixes]
    if is_file:
        raise OutputError(
            f"a file called *{shown_suffix(suffix)} is no {format.name} file, which is what is written",
            f"let its name end in {right}, or write another format "
            + (f"(--to {' or '.join(others)})" if others else "with deid convert"),
        )
    raise OutputError(
        f"a folder is written, and *{shown_suffix(suffix)} is the name of a file", "name a folder, without a suffix"
    )


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def shown_suffix(suffix: str) -> str:
    """Return a suffix for messages; an unusual one is masked (``report.Smith``)."""
    return suffix if _COMMON.fullmatch(suffix) else safe_name(suffix)


def skipped_suffix(suffix: str) -> str:
    """Return how files of a suffix are called in a summary."""
    return f"{shown_suffix(suffix)} files" if suffix else "files without suffix"
