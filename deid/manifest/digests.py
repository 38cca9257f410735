"""Checksums of files, by who may check them.

``sha256``
    SHA-256 of the content, as ``sha256sum`` prints it: of files that are made to be given away, under names that the
    program made.
``named``
    SHA-256 of name and content together: of files that are made to be given away under names that came with the input.
    Whoever has the file can check both; whoever has the manifest alone can try no names, because the content is not
    known to him.
``keyed``
    HMAC-SHA256 of the content under a key derived from the site's: of whatever may hold PHI, since a plain checksum of
    a short note can be guessed. Only the site can check it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from deid.base.errors import InputError
from deid.base.files import refused_as
from deid.base.keys import Key
from deid.base.safe_names import safe_name

TABLE = "TABLE"
"""What an output is called that is a table of a database."""

_PART = 1 << 20
_PSEUDONYM = re.compile(r"(?:doc|folder|patient)-[0-9a-f]{16}((?:\.[A-Za-z0-9]+)*)")


def public_name(name: str) -> bool:
    """Tell whether a relative path tells nothing: pseudonyms, and words that only describe files."""
    for part in name.split("/"):
        made = _PSEUDONYM.fullmatch(part)
        rest = part if made is None else f"file{made[1]}"
        if safe_name(rest) != rest:
            return False
    return True


def files_below(root: Path) -> Iterator[str]:
    """Yield the relative paths of everything under a folder that is no folder, hidden or not, in a fixed order.

    Raises
    ------
    InputError
        When a folder cannot be read.
    """
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with (
            refused_as(InputError, "a folder cannot be read", "check the rights"),
            os.scandir(root / folder) as entries,
        ):
            found = sorted(entries, key=lambda entry: entry.name, reverse=True)
        for entry in found:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(name)
            else:
                yield name


class Digest:
    """All checksums of one file, made in one pass over its content.

    Parameters
    ----------
    key : Key or None
        Key of manifests; without it there is no keyed checksum.
    name : str
        What the file is called in the listing.
    """

    def __init__(self, key: Key | None, name: str) -> None:
        raw = name.encode("utf-8", "surrogateescape")
        self._plain = hashlib.sha256()
        self._named = hashlib.sha256(b"deid named file 1\0" + len(raw).to_bytes(8, "big") + raw)
        self._keyed = None if key is None else hmac.new(key.secret, b"deid file 1\0", hashlib.sha256)

    def update(self, data: bytes) -> None:
        """Take in further bytes of the content."""
        self._plain.update(data)
        self._named.update(data)
        if self._keyed is not None:
            self._keyed.update(data)

    @property
    def sha256(self) -> str:
        """``sha256:`` and 64 hex digits, of the content alone."""
        return f"sha256:{self._plain.hexdigest()}"

    @property
    def named(self) -> str:
        """``named:`` and 64 hex digits of SHA-256, of name and content."""
        return f"named:{self._named.hexdigest()}"

    @property
    def keyed(self) -> str:
        """``keyed:`` and 64 hex digits of HMAC-SHA256, of the content under the site's key.

        Raises
        ------
        ValueError
            Without a key.
        """
        if self._keyed is None:
            raise ValueError("no key")
        return f"keyed:{self._keyed.hexdigest()}"


def digest_file(key: Key | None, name: str, path: Path) -> Digest:
    """Return a file's checksums; it is read once, a piece at a time.

    Parameters
    ----------
    key, name
        See `Digest`.
    path : Path
        Where it is.

    Raises
    ------
    InputError
        When it cannot be read, or is no regular file.
    """
    digest = Digest(key, name)
    with refused_as(InputError, "the file cannot be read", "check that it is readable", safe_name(name)):
        if not path.is_file():
            raise InputError("this is no regular file", "remove pipes, devices and links to nothing", safe_name(name))
        with path.open("rb") as stream:
            while data := stream.read(_PART):
                digest.update(data)
    return digest


def digest_table(key: Key | None, place: str) -> Digest:
    """Return the checksums of a table of a database: of its columns' names and of its rows, in whatever order.

    Parameters
    ----------
    key : Key or None
        Key of manifests.
    place : str
        URL of the database with the table behind it.

    Raises
    ------
    DeidError
        When it cannot be read.
    """
    from deid.table.database_tables import rows_digest

    names, rows = rows_digest(place)
    digest = Digest(key, TABLE)
    digest.update(json.dumps(names).encode())
    digest.update(rows)
    return digest


def tree_digest(key: Key | None, entries: Iterable[tuple[str, Digest]], *, private: bool) -> str:
    """Return one checksum over all files of an output, names included; keyed where the files are private.

    Raises
    ------
    ValueError
        When it is to be keyed and there is no key.
    """
    lines = sorted(f"{digest.keyed}\0{name}" if private else digest.named for name, digest in entries)
    if not private:
        joined = "\n".join(lines)
        return f"sha256:{hashlib.sha256(joined.encode()).hexdigest()}"
    if key is None:
        raise ValueError("no key")
    return f"keyed:{key.mac('tree', *lines).hex()}"


def keyed_digest(key: Key, path: Path) -> str:
    """Return the keyed checksum of a file; of a folder that of all its files, names included.

    Raises
    ------
    InputError
        When one cannot be read.
    """
    if path.is_dir():
        listed = [(name, digest_file(key, name, path / name)) for name in files_below(path)]
        return tree_digest(key, listed, private=True)
    return digest_file(key, path.name, path).keyed
