"""Who the notes are about: `deid.linkage` over what each note says of its patient, and over rows of a table.

A patient's id, where it is known, decides; else exact rules or a learnt model join notes. What linking finds to
contradict (two birth dates of one person) comes back as the share of the person's notes that say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deid.base.arrays import IntArray
from deid.base.buckets import Buckets, Words
from deid.base.late import pd
from deid.linkage.columns import WHO, is_stand_in, kind_of, kinds_of, most_shared, one_person, sure_of
from deid.linkage.exact import hashes_of, key_hashes
from deid.linkage.linking import PERSON, LinkOptions, Prepared, Whole, link_table, prepare
from deid.table.cell_text import text_list

LINKED = (
    *("name", "birth_date", "mrn", "ssn", "health_plan", "account", "license"),
    *("phone", "email", "street", "zip", "city", "sex"),
)
"""Columns of the view by which notes are linked; the last two alone tell nobody."""
_LINKS = 1 << 22
"""Links between notes that are held before they are followed."""
_TELLING = LINKED[:-2]


@dataclass(frozen=True)
class WhoIsWho:
    """The persons of notes and of the rows of a table."""

    notes: IntArray = field(repr=False)
    """Of each note: 0, 1, ... in the order of their first notes."""
    rows: list[str] = field(default_factory=list, repr=False)
    """Of each row of the table, by name (`person_name`); a person of its own where it is of no note's."""
    contradicted: Mapping[tuple[int, str], float] = field(default_factory=dict, repr=False)
    """Note and column -> share of the person's notes that say the same, where others contradict."""


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
    contradicted: dict[tuple[int, str], float] = {}
    if whole is None and table is None and not frame[list(_TELLING)].notna().any(axis=None):
        # a patient's id is no number, so that it cannot be that of a note without one
        found = [str(n) if own is None else f" {own}" for n, own in enumerate(patients)]
    else:
        tables = [frame] if table is None else [frame, table.drop(columns=PERSON, errors="ignore")]
        linked = link_table(tables, said, fixed=True, confidence=sure, whole=whole)
        found = linked.person
        for row, column, share in linked.contradictions[["row", "column", "share"]].itertuples(index=False):
            if row <= len(frame):
                contradicted[row - 1, column] = share
    numbers: dict[str, int] = {}
    named = [numbers.setdefault(own, len(numbers)) for own in found]
    return WhoIsWho(
        np.array(named[: len(frame)], np.int64), list(map(person_name, named[len(frame) :])), contradicted
    )  # fmt: skip


def _frames(
    patients: Sequence[str | None], values: Sequence[Mapping[str, str]], confidence: Sequence[Mapping[str, float]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = pd.DataFrame({name: [own.get(name) for own in values] for name in LINKED}, dtype="string")
    frame[PERSON] = pd.Series(list(patients), dtype="string")
    return frame, pd.DataFrame({name: [own.get(name, 1.0) for own in confidence] for name in LINKED}, dtype=float)


Part = tuple[IntArray, Sequence[str | None], Sequence[Mapping[str, str]], Sequence[Mapping[str, float]]]
"""Numbers of notes, their patients, what they say, and how sure that is."""


def who_is_who_in_parts(
    parts: Callable[[], Iterable[Part]], part_of: Callable[[IntArray], Part], many: int
) -> WhoIsWho:
    """Return what `who_is_who` with exact rules returns, when it is more than memory should hold.

    Rows that no rule compares, directly or by way of others, have nothing to do with each other. So the keys of all
    notes are collected first, as hashes (on disk, when they are many), and the notes that hang together are linked a
    part at a time.

    Parameters
    ----------
    parts : callable
        Yields all notes in order; called several times.
    part_of : callable
        Returns some notes by their numbers.
    many : int
        Number of notes; up to twice a part of `parts` are in memory at once, or as many as hang together.
    """
    told: set[str] = set()
    most = 0
    for part in parts():
        told.update(*part[2])
        most = max(most, len(part[0]))
    patients_only = not told.intersection(_TELLING)
    kinds = {} if patients_only else kinds_of(pd.DataFrame({name: ["x"] for name in LINKED if name in told}))
    whole = Whole(kinds)
    persons = _connected(parts, whole, many)
    if kinds and (found := _stand_ins(parts, whole, many)):
        whole = Whole(kinds, found)
        persons = _connected(parts, whole, many)
    first = np.full(int(persons.max(initial=-1)) + 1, many, np.int64)
    np.minimum.at(first, persons, np.arange(many))
    persons = first[persons]  # of each note the first one that it hangs together with, until it is known better
    contradicted: dict[tuple[int, str], float] = {}
    for held in _batches(persons, most):
        rows = np.sort(held)
        own = who_is_who(*part_of(rows)[1:], whole=None if patients_only else whole)
        start = np.full(int(own.notes.max()) + 1, many, np.int64)
        np.minimum.at(start, own.notes, rows)
        persons[rows] = start[own.notes]
        contradicted |= {(int(rows[row]), column): share for (row, column), share in own.contradicted.items()}
    numbers = np.cumsum(persons == np.arange(many)) - 1
    return WhoIsWho(numbers[persons], [], contradicted)


def _ready(part: Part, whole: Whole) -> Prepared:
    frame, sure = _frames(*part[1:])
    return prepare([frame], LinkOptions(method="exact"), fixed=True, confidence=sure, whole=whole)


def _connected(parts: Callable[[], Iterable[Part]], whole: Whole, many: int) -> IntArray:
    """Return for each note the number of the notes that it hangs together with, by keys and by patients."""
    labels = np.arange(many)
    links: list[IntArray] = []
    held = 0
    with Buckets(2) as keys:
        for part in parts():
            numbers = part[0]
            known = np.flatnonzero([patient is not None for patient in part[1]])
            if len(known):
                named = pd.Series([own for own in part[1] if own is not None], dtype="string")
                hashes = hashes_of(pd.DataFrame({"patient": text_list(named, key=True)}))
                keys.add(np.stack([hashes, numbers[known].astype(np.uint64)], axis=1))
            if whole.kinds:
                ready = _ready(part, whole)
                hashes, places = key_hashes(sure_of(ready.records))
                rows = numbers[np.asarray(ready.order)[places]]
                keys.add(np.stack([hashes, rows.astype(np.uint64)], axis=1))
        for found in keys.parts():
            found = found[np.lexsort((found[:, 1], found[:, 0]))]
            same = (found[1:, 0] == found[:-1, 0]) & (found[1:, 1] != found[:-1, 1])
            links.append(np.stack([found[:-1, 1][same], found[1:, 1][same]], axis=1).astype(np.int64))
            held += len(links[-1])
            if held > _LINKS:
                labels, links, held = _linked(labels, links), [], 0
    return _linked(labels, links)


def _linked(labels: IntArray, links: Sequence[IntArray]) -> IntArray:
    """Return of each note the number of what it hangs together with, when more links are known."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = labels[np.concatenate([np.empty((0, 2), np.int64), *links])].T
    many = len(labels)
    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(many, many))
    return connected_components(graph, directed=False)[1].astype(np.int64)[labels]


def _stand_ins(parts: Callable[[], Iterable[Part]], whole: Whole, many: int) -> dict[str, set[object]]:
    """Return what stands for no number in all notes, by column of their records."""
    limit = most_shared(many)
    often: set[int] = set()

    def numbered() -> Iterator[tuple[str, pd.DataFrame, Words]]:
        for part in parts():
            records = _ready(part, whole).records
            for name in map(str, records):
                if name == "phone" or name.startswith("number_"):
                    own = records[records[name].notna()]
                    named = pd.DataFrame({"value": own[name].astype(str), "column": name})
                    yield name, own, hashes_of(named)

    with Buckets(1) as values:
        for _, _, hashes in numbered():
            values.add(hashes[:, None])
        for found in values.parts():
            different, counts = np.unique(found[:, 0], return_counts=True)
            often.update(different[counts > limit].tolist())
    counted: dict[tuple[str, object], list[Counter[object]]] = {}
    left_out: dict[str, set[object]] = {}
    wanted = np.array(sorted(often), np.uint64)
    for name, own, hashes in numbered():
        left_out.setdefault(name, set()).update(value for value in set(own[name]) if is_stand_in(value))
        for _, row in own[np.isin(hashes, wanted)].iterrows():
            told = counted.setdefault((name, row[name]), [Counter() for _ in WHO])
            for counter, column in zip(told, WHO, strict=True):
                if isinstance(row.get(column), str):  # what is missing may be NaN
                    counter[row[column]] += 1
    for (name, value), told in counted.items():
        if not one_person(told):
            left_out.setdefault(name, set()).add(value)
    return left_out


def ends_of(numbers: IntArray) -> IntArray:
    """Return where runs of equal numbers end."""
    return np.flatnonzero(np.append(np.diff(numbers) != 0, [True] * bool(len(numbers)))) + 1


def _batches(persons: IntArray, most: int) -> Iterator[IntArray]:
    """Yield the notes that hang together with others, ``most`` of them at a time or a few more."""
    order = np.argsort(persons, kind="stable")
    waiting: list[IntArray] = []
    start = held = 0
    for end in ends_of(persons[order]):
        if end - start > 1:
            waiting.append(order[start:end])
            held += end - start
            if held >= most:
                yield np.concatenate(waiting)
                waiting, held = [], 0
        start = end
    if waiting:
        yield np.concatenate(waiting)
