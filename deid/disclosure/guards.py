"""What must hold before a table is released: every column is spoken of, and rows are persons or name theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from deid.base.errors import ConfigError
from deid.disclosure.proposal import propose_schema
from deid.linkage.look_alikes import LookAlikes, check_ids, check_persons, count_look_alikes
from deid.table.column_names import repeated_person
from deid.table.microdata import Microdata

FATES = {
    "quasi-identifier": "generalized",
    "sensitive": "published",
    "other": "unaltered",
    "identifier": "dropped",
    "free-text": "dropped",
    "dropped": "dropped",
}
"""Role of a column -> what a release does with it: *generalized* until the levels asked for hold; *published*, as the
models of sensitive values protect it; *unaltered*, published as it is without any protection; *dropped*."""


@dataclass(frozen=True)
class Fate:
    """What a column is (a role, or ``person``), and what a release does with it (one of `FATES`)."""

    role: str
    fate: str

    def __str__(self) -> str:
        return f"{self.fate} ({self.role})"


def fates_of(data: Microdata) -> dict[str, Fate]:
    """Return what a release does with each column, in the table's order; the person column is dropped."""
    found = {}
    for name in data.frame.columns:
        role = data.roles.get(name, "person" if name == data.person else "other")
        found[name] = Fate(role, "dropped" if name == data.person else FATES[role])
    return found


def drop_unnamed(data: Microdata) -> Microdata:
    """Return the table with the role ``dropped`` for every column of which nobody has said one."""
    return replace(data, roles={**data.roles, **dict.fromkeys(data.unnamed, "dropped")}) if data.unnamed else data


_COMPARED: WeakKeyDictionary[Microdata, LookAlikes | None] = WeakKeyDictionary()


def look_alikes(data: Microdata) -> LookAlikes | None:
    """Count the persons who look like others of a table, once a table; None when no column holds names."""
    if data not in _COMPARED:
        _COMPARED[data] = count_look_alikes(data.frame, data.person)
    return _COMPARED[data]


def check_before_release(data: Microdata) -> None:
    """Refuse a table that cannot be released as it is described.

    Raises
    ------
    ConfigError
        When nothing is said of a column that tells persons apart or may name one, which would then be published; when
        several rows seem to be of one person, and neither a person column is named nor every row said to be a person;
        or when too many persons look like others, or ids are written in several ways, and nobody says that these are
        different persons. Names columns only.
    """
    told = [f"{name!r} ({role}?)" for name, role in _proposed(data).items() if role != "other"]
    if told:
        listed = ", ".join(told[:12]) + (f" and {len(told) - 12} more" if len(told) > 12 else "")
        raise ConfigError(
            f"nothing is said of the columns {listed}",
            "give each a role, as deid schema proposes them, or leave it out (--drop A,B, --drop-rest); what shall "
            "leave as it is must be named (--publish A,B, the role other)",
        )
    if data.person is None and not data.each_row_a_person:
        shared = repeated_person(data)
        if shared is not None:
            raise ConfigError(
                f"several rows share a value of {shared!r}, so rows may be notes, not persons",
                f"name the person's column, such as --person {shared}, or say --each-row-a-person",
            )
    as_given = data.persons_as_given or data.linked
    check_persons(look_alikes(data), as_given=as_given)
    _check_ids(data, as_given)


def check_published(data: Microdata, manifest: Mapping[str, Any] | None) -> list[str]:
    """Refuse to count persons of a published table where too many of them seem to be others of it.

    Parameters
    ----------
    data : Microdata
        The table; its own names are compared where it has any.
    manifest : mapping, optional
        The manifest of its release, which says what was found in the original.

    Returns
    -------
    list of str
        What must be said beside levels and risks: persons that look alike, quasi-identifiers of the release that do
        not count, and a column that repeats like a person's.

    Raises
    ------
    ConfigError
        When the estimated share is too great, or ids are written in several ways, and nobody says that these are
        different persons.
    """
    found = look_alikes(data)
    if found is None and manifest is not None and isinstance(manifest.get("look_alikes"), Mapping):
        found = LookAlikes.from_dict(manifest["look_alikes"])
    linked = data.linked or (manifest is not None and manifest.get("persons_linked") is True)
    check_persons(found, as_given=data.persons_as_given or linked)
    _check_ids(data, data.persons_as_given or linked)
    told = [str(found)] if found is not None and found.pairs else []
    known = (manifest or {}).get("quasi_identifiers")
    left = [name for name in data.frame.columns if isinstance(known, list) and name in known]
    left = [name for name in left if name not in data.quasi_identifiers]
    if left:
        told.append(
            f"the release took {', '.join(left)} for quasi-identifiers, too, which do not count here: without them the "
            "levels are too high and the risks too low (--qi)"
        )
    shared = repeated_person(data) if data.person is None else None
    if shared is not None:
        told.append(
            f"several rows share a value of {shared!r}, and each was counted as a person: if rows are notes or visits, "
            f"say --person {shared}"
        )
    return told


def _check_ids(data: Microdata, as_given: bool) -> None:
    if data.person is not None and not as_given:
        check_ids(data.codes(data.person).values)


def told_of(data: Microdata) -> str:
    """Return what a report says of persons who look alike."""
    found = look_alikes(data)
    if found is None:
        return "not compared: no column holds names"
    apart = "; kept apart by deid link" if data.linked else "; said to be different persons"
    return f"{found}{apart if data.linked or data.persons_as_given else ''}"


def _proposed(data: Microdata) -> dict[str, str | None]:
    """Return the role that is proposed for each column of which nothing is said; ``other`` for a short value of all."""
    names = data.unnamed
    kinds = {name: kind for name, kind in data.kinds.items() if name in names}
    return {
        name: c.role for name, c in propose_schema(Microdata(data.frame[list(names)], {}, kinds=kinds)).columns.items()
    }
