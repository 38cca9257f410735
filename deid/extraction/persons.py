"""Who the notes are about: `deid.linkage` over what each note says of its patient, and over rows of a table.

A patient's id, where it is known, decides; else exact rules or a learnt model join notes. What linking finds to
contradict (two birth dates of one person) comes back as the share of the person's notes that say the same.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from deid.base.arrays import IntArray
from deid.base.buckets import Buckets, Words, connected, distinct, runs_of, step_of
from deid.base.late import pd
from deid.base.spool import Spool, in_order
from deid.linkage.columns import WHO, is_stand_in, kind_of, kinds_of, most_shared, one_person, sure_of
from deid.linkage.exact import hashes_of, key_hashes, number_hashes, numbered
from deid.linkage.linking import PERSON, LinkOptions, Whole, link_table, prepare
from deid.table.cell_text import text_list

LINKED = (
    *("name", "birth_date", "mrn", "ssn", "health_plan", "account", "license"),
    *("phone", "email", "street", "zip", "city", "sex"),
)
"""Columns of the view by which notes are linked; the last two alone tell nobody."""
_OFTEN = 100
"""Numbers of a column that are counted at a time; no more than twenty can stand in so many rows as no person has."""
_AT_ONCE = 50_000
"""Numbers that are put away at a time."""
_TELLING = LINKED[:-2]


@dataclass(frozen=True)
class WhoIsWho:
    """The persons of notes and of the rows of a table."""

    notes: Sequence[int] = field(repr=False)
    """Of each note: 0, 1, ... in the order of their first notes."""
    rows: list[str] = field(default_factory=list, repr=False)
    """Of each row of the table, by name (`person_name`); a person of its own where it is of no note's."""
    contradicted: Sequence[tuple[int, str, float]] = field(default=(), repr=False)
    """Notes in their order, columns, and the share of the person's notes that say the same, where others contradict."""


def person_name(number: int) -> str:
    """Return what a person is called in a view: ``P1``, ``P2``, ..."""
    return f"P{number + 1}"


def who_is_who(
    patients: Sequence[str | None],
    values: Sequence[Mapping[str, str]],
    confidence: Sequence[Mapping[str, float]],
    *,
    method: str = "exact",
    table: pd.DataFrame | None = None,
    on: str = "",
    whole: Whole | None = None,
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
    whole : Whole, optional
        Where these are some of more notes.

    Raises
    ------
    ConfigError
        When there is no such method, or what it needs is not installed.
    """
    said = LinkOptions(method=method, kind=(f"{on}=number",) if on and kind_of(on) in ("none", "id") else ())
    frame, sure = _frames(patients, values, confidence)
    contradicted: list[tuple[int, str, float]] = []
    if whole is None and table is None and not frame[list(_TELLING)].notna().any(axis=None):
        # a patient's id is no number, so that it cannot be that of a note without one
        found = [str(n) if own is None else f" {own}" for n, own in enumerate(patients)]
    else:
        tables = [frame] if table is None else [frame, table.drop(columns=PERSON, errors="ignore")]
        linked = link_table(tables, said, fixed=True, confidence=sure, whole=whole)
        found = linked.person
        listed = linked.contradictions[["row", "column", "share"]].itertuples(index=False)
        contradicted = sorted((row - 1, column, share) for row, column, share in listed if row <= len(frame))
    numbers: dict[str, int] = {}
    named = [numbers.setdefault(own, len(numbers)) for own in found]
    return WhoIsWho(named[: len(frame)], list(map(person_name, named[len(frame) :])), contradicted)


def _frames(
    patients: Sequence[str | None], values: Sequence[Mapping[str, str]], confidence: Sequence[Mapping[str, float]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = pd.DataFrame({name: [own.get(name) for own in values] for name in LINKED}, dtype="string")
    frame[PERSON] = pd.Series(list(patients), dtype="string")
    return frame, pd.DataFrame({name: [own.get(name, 1.0) for own in confidence] for name in LINKED}, dtype=float)


Part = tuple[IntArray, Sequence[str | None], Sequence[Mapping[str, str]], Sequence[Mapping[str, float]]]
"""Numbers of notes, their patients, what they say, and how sure that is."""


def who_is_who_in_parts(parts: Iterable[Part], part_of: Callable[[IntArray], Part], many: int) -> WhoIsWho:
    """Return what `who_is_who` with exact rules returns, when it is more than memory should hold.

    Rows that no rule compares, directly or by way of others, have nothing to do with each other. So the keys of all
    notes are collected first, as hashes, and the notes that hang together are linked a part at a time. What is known of
    each note waits on disk, when they are many.

    Parameters
    ----------
    parts : iterable
        All notes in order.
    part_of : callable
        Returns some notes by their numbers.
    many : int
        Number of notes; up to twice a part of `parts` are in memory at once, or as many as hang together.
    """
    step = step_of(many)
    most = 0
    with _Collected() as collected, Buckets(2) as first:
        for part in parts:
            rows = part[0].astype(np.uint64) * step
            most = max(most, len(rows))
            first.add(np.stack([rows, rows], axis=1))  # each note is a person of its own until it is known better
            collected.add(part, rows)
        whole = collected.whole(most_shared(many))

        def contradicted() -> Iterator[tuple[int, str, float]]:
            for rows in _batches(connected(collected.links(whole)), most):
                numbers = (rows // step).astype(np.int64)
                own = who_is_who(*part_of(numbers)[1:], whole=whole)
                person, start = np.asarray(own.notes), np.unique(own.notes, return_index=True)[1]
                first.add(np.stack([rows, rows[start[person]]], axis=1))
                yield from ((int(numbers[row]), column, share) for row, column, share in own.contradicted)

        found = in_order(contradicted(), itemgetter(0, 1), list, tuple)
        return WhoIsWho(_numbered(first), [], found)


class _Collected(AbstractContextManager["_Collected"]):
    """What is known of all notes before they are linked: their keys, and what stands in many of them."""

    def __init__(self) -> None:
        self._kinds = kinds_of(pd.DataFrame({name: ["x"] for name in LINKED}))
        self._telling = False
        self._often: dict[str, Counter[object]] = {}
        self._left_out: dict[str, set[object]] = {}
        self._keys, self._numbers, self._by_key = Buckets(3), Buckets(4), Buckets(2)

    def __exit__(self, *_: object) -> None:
        for one in (self._keys, self._numbers, self._by_key):
            one.__exit__()

    def add(self, part: Part, rows: Words) -> None:
        """Take some notes, whose numbers are ``rows``."""
        known = np.flatnonzero([patient is not None for patient in part[1]])
        if len(known):
            named = pd.Series([own for own in part[1] if own is not None], dtype="string")
            hashes = hashes_of(pd.DataFrame({"patient": text_list(named, key=True)}))
            self._keys.add(np.stack([rows[known], hashes, np.zeros_like(hashes)], axis=1))
        if set().union(*part[2]).isdisjoint(_TELLING):
            return
        self._telling = True
        frame, sure = _frames(*part[1:])
        ready = prepare(
            [frame], LinkOptions(method="exact"), fixed=True, confidence=sure, whole=Whole(self._kinds)
        )  # fmt: skip
        rows, records = rows[ready.order], ready.records
        hashes, shared, of = key_hashes(sure_of(records))
        self._keys.add(np.stack([rows[of], hashes, shared], axis=1))
        who = [np.where(records[name].notna(), number_hashes(records[name]), 0) for name in WHO]
        for name in numbered(records):
            cells = records[name].dropna()
            told = [own[cells.index] for own in who]
            self._numbers.add(np.stack([rows[cells.index], number_hashes(cells), *told], axis=1))
            self._left_out.setdefault(name, set()).update(value for value in set(cells) if is_stand_in(value))
            self._often[name] = _counted(self._often.get(name, Counter()), cells)

    def whole(self, most: int) -> Whole | None:
        """Return what was seen of all notes, once; None where patients' ids alone tell whose they are.

        ``most`` are the notes in which a number may stand (`deid.linkage.columns.most_shared`).
        """
        of: dict[int, tuple[str, object]] = {}
        for name, counted in self._often.items():
            hashes = number_hashes(pd.Series(list(counted), name=name, dtype=object))
            of |= {number: (name, value) for number, value in zip(hashes.tolist(), counted, strict=True)}
        rows = Counter[int]()
        told: dict[int, list[Counter[object]]] = {number: [Counter() for _ in WHO] for number in of}
        for part in self._numbers.parts():
            for number, *who in part[np.isin(part[:, 1], np.array(list(of), np.uint64)), 1:].tolist():
                rows[number] += 1
                for counter, value in zip(told[number], who, strict=True):
                    counter[value] += value != 0  # of what is missing
        for number, (name, value) in of.items():
            if rows[number] > most and not one_person(told[number]):
                self._left_out[name].add(value)
        return Whole(self._kinds, self._left_out) if self._telling else None

    def links(self, whole: Whole | None) -> Iterator[Words]:
        """Yield pairs of notes that have a key or a patient in common, once."""
        stand_ins = {} if whole is None else whole.stand_ins
        left_out = [number_hashes(pd.Series(list(own), name=name, dtype=object)) for name, own in stand_ins.items()]
        for part in self._keys.parts():
            self._by_key.add(part[~np.isin(part[:, 2], np.concatenate([np.empty(0, np.uint64), *left_out]))][:, [1, 0]])
        for part in map(distinct, self._by_key.parts()):
            start, size = runs_of(part[:, :1])
            yield np.stack([np.repeat(part[start, 1], size), part[:, 1]], axis=1)


def _counted(held: Counter[object], values: Iterable[object]) -> Counter[object]:
    """Return counts of values with more of them: of those that are frequent, each too low by the same or less.

    Misra and Gries 1982, "Finding repeated elements".
    """
    held.update(values)
    if len(held) <= _OFTEN:
        return held
    least = heapq.nlargest(_OFTEN + 1, held.values())[-1]
    return Counter({value: count - least for value, count in held.items() if count > least})


def _batches(pairs: Iterable[Words], most: int) -> Iterator[Words]:
    """Yield the numbers that hang together with others, in order, those of ``most`` pairs or a few more at a time."""
    for part in pairs:
        while len(part):
            end = np.searchsorted(part[:, 0], part[min(most, len(part)) - 1, 0], side="right")
            yield np.unique(part[:end])
            part = part[end:]


def _numbered(first: Buckets) -> Spool[int]:
    """Return the number of each note's person: 0, 1, ... in the order of their first notes.

    What comes are pairs of a note and the first one of its person; of several of one note the lowest counts.
    """
    count = 0
    found: Spool[int] = Spool(int, int)
    with Buckets(2) as persons, Buckets(2) as notes:
        for part in map(distinct, first.parts()):
            persons.add(part[runs_of(part[:, :1])[0]][:, ::-1])
        for part in map(distinct, persons.parts()):
            start, size = runs_of(part[:, :1])
            numbers = np.repeat(np.arange(count, count + len(start)), size)
            notes.add(np.stack([part[:, 1], numbers.astype(np.uint64)], axis=1))
            count += len(start)
        for part in map(distinct, notes.parts()):
            for number in part[:, 1].tolist():
                found.add(number)
    return found


def grouped(persons: Iterable[int], many: int) -> Iterator[tuple[int, list[int]]]:
    """Yield each person's number with the numbers of its notes, in order; on disk when they are many.

    Parameters
    ----------
    persons : iterable of int
        Of each note.
    many : int
        A number above all of them.
    """
    step, start, rest = step_of(many), 0, iter(persons)
    with Buckets(2) as notes:
        while len(own := np.fromiter(itertools.islice(rest, _AT_ONCE), np.uint64)):
            notes.add(np.stack([own * step, np.arange(start, start + len(own), dtype=np.uint64)], axis=1))
            start += len(own)
        for part in map(distinct, notes.parts()):
            for first, size in zip(*runs_of(part[:, :1]), strict=True):
                yield int(part[first, 0] // step), part[first : first + size, 1].tolist()
