"""The persons whom a feed of FHIR has named: their names are looked for in later records about them.

Who reads the feed holds their resources, a bounded number of bytes, and sends with a stretch those that it speaks of;
a worker goes on from there. Whether a person is still held is told by bytes of persons alone, so that what comes out
does not depend on how the feed is cut into stretches.
"""

from __future__ import annotations

import functools
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deid.base.errors import DeidError
from deid.records import fhir, fhir_files
from deid.records.tables import Table
from deid.streaming.framing import Framing, delimited

HELD = 1 << 26
"""Bytes of persons' resources that are held."""
_LONGEST_REMEMBERED = 1 << 14
_PERSON = re.compile(rb'"resourceType"\s*:\s*"(?:Patient|RelatedPerson)"')
_MENTIONED = re.compile(rb"(?:Patient\\?/|urn:uuid:)([A-Za-z0-9.\-]{1,64})")
_LINES = delimited("line")


@dataclass(frozen=True, slots=True)
class Before:
    """Persons that came before a stretch of a feed, of those that it speaks of."""

    at: int
    """Bytes of all persons before the stretch."""
    persons: tuple[tuple[str, int, bytes], ...] = field(default=(), repr=False)
    """Patient's id, bytes of persons up to this one, and its resource."""


class FeedPeople:
    """Persons of a feed, up to where it was read.

    Parameters
    ----------
    before : Before, optional
        Where to go on.
    """

    def __init__(self, before: Before | None = None) -> None:
        self._at = before.at if before else 0
        self._order: deque[tuple[int, str]] = deque()
        self._held: dict[str, list[tuple[int, bytes]]] = {}
        for patient, at, content in before.persons if before else ():
            self._keep(patient, at, content)

    def before(self, data: bytes) -> Before:
        """Return the persons of whom bytes of a feed speak."""
        ids = dict.fromkeys(found.decode() for found in _MENTIONED.findall(data)) if self._held else ()
        found = [(patient, *one) for patient in ids for one in self._held.get(patient, ())]
        return Before(self._at, tuple(sorted(found, key=lambda person: person[1])))

    def add(self, contents: Iterable[bytes]) -> None:
        """Take note of records."""
        for content in contents:
            if patient := _patient_of(content):
                self._at += len(content)
                self._keep(patient, self._at, content)
                while self._order and self._at - self._order[0][0] >= HELD:
                    _, gone = self._order.popleft()
                    del self._held[gone][0]
                    if not self._held[gone]:
                        del self._held[gone]

    def add_all(self, data: bytes, framing: Framing, limit: int) -> None:
        """Take note of the records of a stretch, but for those that are longer than the limit."""
        if _PERSON.search(data):
            self.add(data[start:end] for start, end, _ in framing.split(data) if end - start <= limit)

    def add_beside(self, path: Path, limit: int) -> None:
        """Take note of the persons of a bulk export in the folder of a file, and of those that are done there."""
        files = [*fhir_files.files_beside(path), *fhir_files.files_beside(path.parent / "done" / path.name)]
        chosen, size = list[Path](), 0
        for file in sorted(files, key=lambda file: (-file.stat().st_mtime_ns, file.name)):
            if size < HELD and file != path:
                chosen.append(file)
                size += file.stat().st_size
        for file in reversed(chosen):
            self.add_all(file.read_bytes(), _LINES, limit)

    def _keep(self, patient: str, at: int, content: bytes) -> None:
        self._order.append((at, patient))
        self._held.setdefault(patient, []).append((at, content))


class KnownAhead(Mapping[str, tuple[tuple[str, str], ...]]):
    """What is known of a patient in the midst of a stretch: patient's id -> what is told (`Record.told`).

    Parameters
    ----------
    before : Before
    table : Table
    """

    def __init__(self, before: Before, table: Table) -> None:
        self._people, self._table = FeedPeople(before), table

    def add(self, content: bytes) -> None:
        """Take note of a record."""
        self._people.add((content,))

    def __getitem__(self, patient: str) -> tuple[tuple[str, str], ...]:
        held = self._people._held[patient]
        return tuple(dict.fromkeys(known for _, content in held for known in _told(content, self._table)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._people._held)

    def __len__(self) -> int:
        return len(self._people._held)


def _told(content: bytes, table: Table) -> tuple[tuple[str, str], ...]:
    # what is remembered is counted in resources: long ones, with a photograph, would fill the memory
    return (_read if len(content) <= _LONGEST_REMEMBERED else _read.__wrapped__)(content, table)


@functools.lru_cache(maxsize=4096)
def _read(content: bytes, table: Table) -> tuple[tuple[str, str], ...]:
    try:
        return fhir.read(content, table).told
    except DeidError:
        return ()


def _patient_of(content: bytes) -> str:
    """Return the id of the patient whom a resource of a person is about; empty for any other."""
    if not _PERSON.search(content):
        return ""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    kind = said.get("resourceType") if isinstance(said, dict) else None
    found = said.get("id") if kind == "Patient" else None
    if kind == "RelatedPerson" and isinstance(said.get("patient"), dict):
        found = str(said["patient"].get("reference")).rpartition(":")[2].rpartition("/")[2]
    return found if isinstance(found, str) else ""
