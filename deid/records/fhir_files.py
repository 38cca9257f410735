"""Files of FHIR resources: one resource, a Bundle, a bulk export by lines, and the persons of the files beside it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from deid.base.errors import DeidError, or_error
from deid.records.fhir import read
from deid.records.json_positions import Scanner
from deid.records.record import Record
from deid.records.tables import Table

_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_PERSONS = ("Patient", "RelatedPerson")
_BORDER = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:\s*"[A-Z][A-Za-z]+")?|[{}\[\]]', re.DOTALL)


def begins(head: bytes) -> bool:
    """Tell whether bytes begin as a resource does: an object with a ``resourceType`` of its own."""
    return bool(_type_of(head))


def _type_of(head: bytes) -> str:
    """Return the ``resourceType`` of an object's own; empty where there is none."""
    if (found := _BEGINNING.match(head)) is None:
        return ""
    depth = 1
    for sign in _BORDER.finditer(head, found.end()):
        if depth == 1 and sign[1] == b"resourceType" and sign[2]:
            return sign[2].decode().rpartition(":")[2].strip(' \t\r\n"')
        depth += (sign[0] in b"{[") - (sign[0] in b"}]")
        if not depth:
            break
    return ""


def read_all(
    data: bytes, table: Table, known: Mapping[str, tuple[tuple[str, str], ...]]
) -> Iterator[Record | DeidError]:
    """Return the records of a file as they are read, and errors in place of those that cannot be read."""
    return map(or_error(functools.partial(read, table=table, known=known)), split(data))


def split(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file: the lines of a bulk export, else the whole; blank lines go with the one before."""
    lines = data.splitlines(keepends=True)
    begun = [n for n, line in enumerate(lines) if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{")]
    first = lines[begun[0]] if begun else b""
    bulk = len(begun) > 1 and all(lines[n].rstrip().endswith(b"}") for n in begun[1:]) and not _whole(data)
    if not (len(begun) > 1 and _whole(first)) and not bulk:
        if data.strip():
            yield data
        return
    start = 0
    for number, line in enumerate(lines):
        if number > start and line.strip() and b"".join(lines[start:number]).strip():
            yield b"".join(lines[start:number])
            start = number
    yield b"".join(lines[start:])


def _whole(line: bytes) -> bool:
    try:
        Scanner(line.decode("utf-8")).root()
    except (DeidError, UnicodeError):
        return False
    return True


@functools.lru_cache(maxsize=4)
def known_beside(path: Path, table: Table) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return what the patients' resources of a bulk export say, for the notes beside them and among them.

    Parameters
    ----------
    path : Path
        A file of the export; those whose names begin with Patient or RelatedPerson are read, and itself.
    table : Table

    Returns
    -------
    mapping
        Patient's id -> what is told of the patient, see `Record.told`.
    """
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for file in dict.fromkeys((*files_beside(path), path)):
        contents = tuple(split(file.read_bytes()))
        if len(contents) == 1 and file == path:
            continue  # it knows itself
        for content in contents:
            if _type_of(content) not in _PERSONS:
                continue
            with suppress(DeidError):  # told where it is to be written
                record = read(content, table, {})
                if record.patient is not None:
                    found[record.patient] = (*found.get(record.patient, ()), *record.told)
    return found


def files_beside(path: Path) -> list[Path]:
    """Return the files of patients' resources in the folder of a file of a bulk export."""
    files = sorted(path.parent.glob("*.ndjson")) if path.suffix == ".ndjson" else []
    return [file for file in files if file.name.partition(".")[0].partition("-")[0] in _PERSONS]
