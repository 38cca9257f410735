"""Who the notes are about: `deid.linkage` over what each note says of its patient, and over rows of a table.

A patient's id, where it is known, decides; else exact rules or a learnt model join notes. What linking finds to
contradict (two birth dates of one person) comes back as the share of the person's notes that say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deid.base.late import pd
from deid.linkage.columns import kind_of
from deid.linkage.linking import PERSON, LinkOptions, link_table

_LINKED = (
    *("name", "birth_date", "mrn", "ssn", "health_plan", "account", "license"),
    *("phone", "email", "street", "zip", "city", "sex"),
)
"""Columns of the view by which notes are linked; the last two alone tell nobody."""


@dataclass(frozen=True)
class WhoIsWho:
    """The persons of notes and of the rows of a table."""

    notes: list[str] = field(repr=False)
    """Of each note: ``P1``, ``P2``, ... in the order of their first notes."""
    rows: list[str] = field(repr=False)
    """Of each row of the table; a person of its own where it is of no note's."""
    contradicted: Mapping[tuple[int, str], float] = field(default_factory=dict, repr=False)
    """Note and column -> share of the person's notes that say the same, where others contradict."""


def who_is_who(
    patients: Sequence[str | None],
    values: Sequence[Mapping[str, str]],
    confidence: Sequence[Mapping[str, float]],
    *,
    method: str = "exact",
    table: pd.DataFrame | None = None,
    on: str = "",
) -> WhoIsWho:
    """Link notes, and the rows of a table, to persons.

    Parameters
    ----------
    patients : sequence of str or None
        Id of each note's patient, where it is known: another id is another person.
    values : sequence of mapping
        What each note says, by column of `deid.extraction.COLUMNS`.
    confidence : sequence of mapping
        How sure each of these values is.
    method : str
        ``exact`` or ``model``, as `deid.linkage.linking.LinkOptions` has it.
    table : pandas.DataFrame, optional
        Rows with identifiers, such as those of a registration system; ``on`` is its key, a record number where its
        name tells nothing else.

    Raises
    ------
    ConfigError
        When there is no such method, or what it needs is not installed.
    """
    said = LinkOptions(method=method, kind=(f"{on}=number",) if on and kind_of(on) in ("none", "id") else ())
    frame = pd.DataFrame({name: [own.get(name) for own in values] for name in _LINKED}, dtype="string")
    frame[PERSON] = pd.Series(list(patients), dtype="string")
    sure = pd.DataFrame({name: [own.get(name, 1.0) for own in confidence] for name in _LINKED}, dtype=float)
    contradicted: dict[tuple[int, str], float] = {}
    if table is None and not frame[list(_LINKED[:-2])].notna().any(axis=None):
        # a patient's id is no number, so that it cannot be that of a note without one
        found = [str(n) if own is None else f" {own}" for n, own in enumerate(patients)]
    else:
        tables = [frame] if table is None else [frame, table.drop(columns=PERSON, errors="ignore")]
        linked = link_table(tables, said, fixed=True, confidence=sure)
        found = linked.person
        for row, column, share in linked.contradictions[["row", "column", "share"]].itertuples(index=False):
            if row <= len(frame):
                contradicted[row - 1, column] = share
    numbers: dict[str, str] = {}
    named = [numbers.setdefault(own, f"P{len(numbers) + 1}") for own in found]
    return WhoIsWho(named[: len(frame)], named[len(frame) :], contradicted)
