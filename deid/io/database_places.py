"""Places of databases, as inputs and outputs name them."""

from __future__ import annotations

from pathlib import Path

from deid.io.encoding import SQLITE

DATABASES = (".db", ".sqlite", ".sqlite3")
"""Endings of files of SQLite."""


def split_place(place: str) -> tuple[str, str | None]:
    """Return the database and the table of a place as an output is named: ``sqlite:///file.db/note``.

    >>> split_place("postgresql://me@host/hospital/deid.note?sslmode=require")
    ('postgresql://me@host/hospital?sslmode=require', 'deid.note')
    >>> split_place("sqlite:///scrubbed.db"), split_place("sqlite:///scrubbed.db/note")
    (('sqlite:///scrubbed.db', None), ('sqlite:///scrubbed.db', 'note'))
    """
    scheme, slashes, rest = place.partition("://")
    if not slashes:
        return place, None
    path, mark, query = rest.partition("?")
    before, slash, last = path.rpartition("/")
    if scheme.startswith("sqlite"):
        named = bool(slash) and Path(before[1:]).suffix in DATABASES and not Path(path[1:]).is_file()
    else:
        named = before.count("/") >= 1
    return (f"{scheme}://{before}{mark}{query}", last) if named else (place, None)


def join_place(database: str, table: str) -> str:
    """Return a place as an output is named, of a database's URL and a table; `split_place` takes it apart.

    >>> join_place("postgresql://me@host/hospital?sslmode=require", "deid.note")
    'postgresql://me@host/hospital/deid.note?sslmode=require'
    """
    path, mark, query = database.partition("?")
    return f"{path}/{table}{mark}{query}"


def is_database(place: str | Path) -> bool:
    """Tell whether a place is a database: a URL, or a file of SQLite."""
    if "://" in str(place):
        return True
    path = Path(place)
    if path.exists() and not path.is_file():
        return False  # a pipe would be waited for
    try:
        with path.open("rb") as stream:
            return stream.read(16) == SQLITE
    except OSError:
        return False
