"""Forgetting one person: what of it can be done here, and which files are left to be deleted by hand.

A person stands in the vault (what was replaced by what), in identifier views with their provenance, in annotation
projects, and in releases: documents under pseudonyms. Vault, views and projects are changed; releases may have left the
house, so they are only named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from deid.annotation.project import Project
from deid.base.errors import ConfigError, require
from deid.base.keys import MAP_VERSION, Key
from deid.document import Document
from deid.extraction.view import IdentifierView, provenance_of
from deid.io import scan
from deid.joint.options import PersonPlaces
from deid.manifest.content import log_of, manifest_path, read_manifest
from deid.pipeline.naming import pseudonym_of_id
from deid.pipeline.patients import patient_id, read_patients
from deid.pipeline.resuming import interrupted
from deid.records.new_ids import renamer
from deid.replacement.numbers import numbers_of, replace_number
from deid.replacement.vault import Vault
from deid.table.column_names import alike
from deid.table.microdata import check_columns
from deid.table.table_files import read_table

P = TypeVar("P", str, Path)
_PSEUDONYM = re.compile(r"patient-[0-9a-f]{16}")
_YOURS = (
    "yours to delete: original notes, also in folders done and failed, tables of patients and of persons that were "
    "linked, lists of what failed (OUT.failed), backups and copies of all of these"
)


def scopes_of(person: str, documents: Mapping[str, str]) -> frozenset[str]:
    """Return the scopes in which a vault can have entries of a person: the patient, and each document of the table."""
    own = {f"document:{document}" for document in _documents(person, documents)}
    return frozenset({f"patient:{way}" for way in _ways(person)} | own)


def _ways(person: str) -> set[str]:
    """Return a person's id as it was said, and as it is read today; vaults of before have the first."""
    return {person, patient_id(person) or person}


def _documents(person: str, documents: Mapping[str, str]) -> set[str]:
    return {document for document, patient in documents.items() if not _ways(patient).isdisjoint(_ways(person))}


def forget_in_view(path: Path, person: str, column: str) -> int:
    """Remove a person's rows from an identifier view, and what its provenance says of them.

    Parameters
    ----------
    path : Path
        A view that `deid.extraction.view.ExtractedView.write` wrote; it is replaced.
    person : str
        What stands in ``column``.
    column : str
        Column that tells whose row it is, such as ``mrn``.

    Returns
    -------
    int
        Rows that were removed.

    Raises
    ------
    InputError
        When the view, its column or its provenance is missing or damaged.
    """
    beside = provenance_of(path)
    # as texts: a number that is read as one would not be written as it stood
    frame, places = read_table(path, text=True), read_table(beside, text=True)
    check_columns(frame, [column])
    check_columns(places, ["row"])
    gone = frame[column].astype(str).map(lambda said: not _ways(person).isdisjoint(_ways(said)))
    if not gone.any():
        return 0
    kept = [number for number, out in enumerate(gone) if not out]
    number_of = {str(old): str(new) for new, old in enumerate(kept)}
    places = places[places["row"].astype(str).isin(list(number_of))].copy()
    places["row"] = places["row"].astype(str).map(number_of)
    IdentifierView(frame[~gone].reset_index(drop=True), places.reset_index(drop=True)).write(path, replace=True)
    return int(gone.sum())


def forget_in_project(path: Path, person: str, documents: Mapping[str, str]) -> int:
    """Remove a person's notes and items from an annotation project, with all that was made of them.

    Notes are found by the person in a field, or by the table; items by a value that is the person. Models of the
    project go where a note goes: their words may be of it.

    Parameters
    ----------
    path : Path
        File of the project.
    person : str
    documents : mapping
        Document id -> patient id, where a table says so.

    Returns
    -------
    int
        Notes and items that were removed.

    Raises
    ------
    InputError, StoreError
        When there is no such project.
    """
    with Project.open(path) as project:
        numbers, own = {name: id for id, name in project.names()}, _documents(person, documents)
        notes = [
            numbers[note.id]
            for note in project.documents(None)
            if note.id in own or not _ways(person).isdisjoint(_values(note.metadata))
        ]
        items = [item.id for item in project.items.all() if not _ways(person).isdisjoint(_values(item.content))]
        return (project.remove(notes) if notes else 0) + (project.items.remove(items) if items else 0)


def _values(content: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    """Yield the values of a record and of what it holds, without blanks around them."""
    for value in content.values() if isinstance(content, Mapping) else content:
        if isinstance(value, Mapping | list | tuple):
            yield from _values(value)
        else:
            yield str(value).strip()


def check_key(release: Path, key: Key) -> None:
    """Check that a release was written with a key, where its manifests tell: under another no document is found.

    Parameters
    ----------
    release : Path
        What `deid scrub` wrote.
    key : Key

    Raises
    ------
    ConfigError
        When its manifests name other keys only.
    DeidError
        When a manifest cannot be read.
    """
    named = {read_manifest(path).run.get("key") for _, path in log_of(manifest_path(release))} - {None, ""}
    if named and key.fingerprint() not in named:
        raise ConfigError(
            "a release to forget in was written with another key, under which its documents are found",
            "give that one as --key-file, and the vaults' own as --vault-key-file",
        )


def documents_of(person: str, release: Path, key: Key, documents: Mapping[str, str]) -> tuple[list[str], int]:
    """Return the ids of the documents of a scrubbed release that are about a person, and how many say of nobody.

    They are found by the pseudonym of the person in a field, by the document's id or its pseudonym, and in records
    (messages, resources, clinical documents) by what the patient's number or id has become.

    Parameters
    ----------
    person : str
    release : Path
        What `deid scrub` wrote.
    key : Key
        That of the run.
    documents : mapping
        Document id -> patient id, where a table says so.

    Raises
    ------
    DeidError
        When the release cannot be read.
    """
    own = _documents(person, documents)
    names = own | {pseudonym_of_id(key, document) for document in own}
    others = {pseudonym_of_id(key, document) for document in documents} | set(documents)
    called = _ways(person) | {key.pseudonym("patient", way) for way in _ways(person)}
    mapped = {new for way in _ways(person) for new in (way, renamer(key)(way))}
    # whichever version of the map the release was made by: a key need not say, and a vault may have decided
    maps = [numbers_of(Key(key.secret, version)) for version in range(2, MAP_VERSION + 1)]
    mapped |= {replace_number(own, way) for own in maps for way in _ways(person)}
    found, untold = [], 0
    for item in scan(release).documents():
        if not isinstance(item, Document):
            continue
        fields, patients = set(_values(item.metadata)), _patients(item)
        if item.id in names or not called.isdisjoint(fields) or not mapped.isdisjoint(patients):
            found.append(item.id)
        elif item.id not in others and not patients and not any(map(_PSEUDONYM.fullmatch, fields)):
            untold += 1
    return found, untold


def _patients(document: Document) -> frozenset[str]:
    """Return what those are called whom a record is about; nobody where the policy wrote all numbers alike."""
    record = document.record
    said = () if record is None else (record.patient, *record.owners)
    return frozenset(patient for patient in said if patient and not patient.startswith("["))


@dataclass(frozen=True)
class Forgotten:
    """What was removed of one person, and what must be deleted by hand."""

    vault_entries: int
    view_rows: int
    annotated_notes: int
    documents: tuple[tuple[Path, str], ...] = field(repr=False)
    """Release and id of each document of the person in it."""
    untold: int
    """Documents of the releases that say not whose they are."""
    uncompacted: int
    """Vaults whose database could not remove old rows from its files."""
    others: int = 0
    """Ids of the table of patients that may be other ways of writing this one."""

    def as_dict(self) -> dict[str, int]:
        """Return the counts as JSON values."""
        names = ("vault_entries", "view_rows", "annotated_notes")
        counts = {name: getattr(self, name) for name in names}
        return {**counts, "documents": len(self.documents), "untold": self.untold, "others": self.others}

    @property
    def nothing(self) -> bool:
        """Whether there was nothing of the person anywhere."""
        return not (self.vault_entries or self.view_rows or self.annotated_notes or self.documents)

    def remarks(self, places: PersonPlaces) -> list[str]:
        """Return what whoever forgets must know, and do."""
        told = ["the database could not remove old rows from its files: vacuum it as its owner"] * self.uncompacted
        told.append(
            f"{self.vault_entries} entries of vaults, {self.view_rows} rows of views and {self.annotated_notes} "
            f"annotated notes were removed; {len(self.documents)} released documents are to be deleted"
        )
        if places.vault and places.patients is None:
            told.append("without --patients only what was scrubbed under the patient's id is found")
        if unfinished := sum(map(interrupted, places.release)):
            told.append(f"{unfinished} releases are not complete yet: forget once more when they are")
        if self.others:
            told.append(
                f"the table of patients has {self.others} ids that differ from this one in blanks, hyphens, "
                "leading zeros, case or look-alike signs alone: forget them too, if they are this person's"
            )
        if self.untold:
            told.append(f"{self.untold} released documents say not whose they are: name them with --patients")
        if self.nothing:
            told.append("nothing of this person was found: check the id, the key, --column and --patients")
        return [*told, _YOURS]


def forget(person: str, places: PersonPlaces, *, who: str, key: Key | None, vault_key: Key | None) -> Forgotten:
    """Remove one person from vaults, views and projects, and name its documents in releases.

    Parameters
    ----------
    person : str
        The patient's id, as it was when scrubbing.
    places : PersonPlaces
    who : str
        For the audit trail of the vaults.
    key, vault_key : Key, optional
        Of the releases and of the vaults, where there are any.

    Raises
    ------
    ConfigError
        When the person or a key is missing, or a release was written with another key: nothing is removed then.
    DeidError
        When one of the places cannot be read, or is damaged.
    """
    require(person, "the person is missing", "give the patient's id")
    documents = read_patients(places.patients) if places.patients else {}
    releases, vaults = _with(key, places.release), _with(vault_key, places.vault)
    for release in releases:  # before anything is removed
        check_key(*release)
    entries, uncompacted = 0, 0
    for vault in vaults:
        with Vault.open(*vault) as opened:
            gone, compacted = opened.forget(scopes_of(person, documents), who=who, why=places.why)
        entries, uncompacted = entries + gone, uncompacted + (not compacted)
    rows = sum(forget_in_view(path, person, places.column) for path in places.view)
    notes = sum(forget_in_project(path, person, documents) for path in places.project)
    named, untold = [], 0
    for out, own in releases:
        found, unknown = documents_of(person, out, own, documents)
        named += [(out, document) for document in found]
        untold += unknown
    others = {id for id in documents.values() if alike(id) == alike(person) and _ways(id).isdisjoint(_ways(person))}
    return Forgotten(entries, rows, notes, tuple(named), untold, uncompacted, len(others))


def _with(key: Key | None, places: Sequence[P]) -> list[tuple[P, Key]]:
    if key is None:
        require(not places, "a vault or a release needs its key", "give that with which it was written")
        return []
    return [(place, key) for place in places]
