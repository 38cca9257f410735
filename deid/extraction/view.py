"""The identifier view: facts of many notes in one table, a row a note or a person, with the place of every value.

Notes are linked to persons by `deid.extraction.persons`. Values that disagree are settled in this order (Gardner and
Xiong 2009, section 3): within a note the greatest weight, then the first; between notes of a person the majority, then
the newest note, then all values that are left, joined by ``; ``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.arrays import IntArray
from deid.base.errors import ConfigError, InputError, require
from deid.base.files import together
from deid.base.late import pd
from deid.base.nearest import check_named
from deid.base.spool import Spool
from deid.extraction.notes import COLUMNS, MANY, PERSONAL, Fact
from deid.extraction.persons import LINKED, Part, WhoIsWho, grouped, person_name, who_is_who, who_is_who_in_parts
from deid.linkage.linking import PERSON
from deid.linkage.look_alikes import LookAlikes, count_look_alikes
from deid.table.table_files import read_table
from deid.table.table_writing import write_batches, write_table

_SEPARATOR = "; "
_PART = 5_000
"""Notes that are linked at once, when there are many."""
_BATCH = 50_000
"""Rows that are written at once."""
_PLACES = ("document", "start", "end", "row", "column", "value")


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """The facts of one note."""

    document: str
    facts: tuple[Fact, ...] = field(repr=False)
    patient: str | None = field(default=None, repr=False)
    """The patient's id, where the user's tables or fields say it."""
    note_date: str | None = None
    """ISO date of the note, where it is known from outside its text."""


@dataclass(frozen=True, eq=False)
class IdentifierView:
    """An identifier view. It holds PHI; so do its files (mode 0600)."""

    frame: pd.DataFrame = field(repr=False)
    """A row a note or a person: ``person``, ``document`` (of notes) or ``notes`` (their number), and the columns of
    `deid.extraction.COLUMNS` that have a value."""
    provenance: pd.DataFrame = field(repr=False)
    """Where values come from: document, start, end, row of ``frame`` (from 0), column, value, confidence (0 to 1)."""
    conflicts: Mapping[str, int] = field(default_factory=dict)
    """Column -> persons or notes whose values disagreed."""

    def write(self, path: Path, *, replace: bool = False) -> None:
        """Write the table, and its provenance beside it (`provenance_path`).

        Raises
        ------
        OutputError
            When a file cannot be written.
        """
        with together():
            write_table(self.frame, path, replace=replace)
            write_table(self.provenance, provenance_path(path), replace=replace)


def provenance_path(path: Path) -> Path:
    """Return where the provenance of a view is kept: ``view.csv`` has ``view.provenance.csv``."""
    return path.with_name(f"{path.stem}.provenance{path.suffix}")


def provenance_of(path: Path) -> Path:
    """Return the file of a view's provenance.

    Raises
    ------
    InputError
        When it is missing.
    """
    beside, hint = provenance_path(path), "name a view that deid extract wrote"
    require(beside.is_file(), "the provenance of the view is missing", hint, str(beside), kind=InputError)
    return beside


def read_view(path: Path) -> IdentifierView:
    """Return the view of a file, with its provenance from the file beside it.

    Raises
    ------
    InputError
        When a file is missing or damaged.
    """
    beside = provenance_of(path)
    places = read_table(beside)
    for column in _PLACES:
        if column not in places.columns:
            raise InputError(f"no column {column!r}", "name a view that deid extract wrote", str(beside))
    return IdentifierView(read_table(path), places)


def sure_beside(path: str, frame: pd.DataFrame) -> tuple[IdentifierView | None, pd.DataFrame | None]:
    """Return the view that a table is, and its `confidences`, where its provenance lies beside its file; else None."""
    file = Path(path)
    view = IdentifierView(frame, read_view(file).provenance) if provenance_path(file).is_file() else None
    return view, None if view is None else confidences(view)


def build_view(notes: Iterable[NoteFacts], *, by: str = "person") -> IdentifierView:
    """Return the identifier view of notes, with the place of every value; exact rules find their persons.

    Parameters
    ----------
    notes : iterable of NoteFacts
        The facts of each note.
    by : str
        ``person`` or ``note``: what a row is.

    Raises
    ------
    ConfigError
        When ``by`` is neither.
    """
    held = list(notes)
    return ExtractedView(held, link_notes(held).notes, by).whole()


class ExtractedView:
    """The rows and places of an identifier view, made from the facts of notes; on disk.

    Parameters
    ----------
    notes : sequence of NoteFacts
        In memory or on disk (`deid.base.spool`); they are read several times.
    persons : sequence of int
        Number of each note's person: 0, 1, ... in the order of their first notes.
    by : str
        ``person`` or ``note``: what a row is.

    Raises
    ------
    ConfigError
        When ``by`` is neither.
    """

    def __init__(self, notes: Sequence[NoteFacts], persons: Sequence[int], by: str) -> None:
        require(by in ("person", "note"), "a row is a note or a person", "for example: --by person")
        self._notes, self._of, self._by = notes, persons, by
        self.persons = max(persons, default=-1) + 1
        self.rows = self.persons if by == "person" else len(notes)
        self._told: Spool[dict[str, object]] = Spool(dict, dict)
        found: Counter[str] = Counter()
        filled: Counter[str] = Counter()
        self.nameless = 0
        """Rows that tell neither name nor record number."""
        for row, disagree in self._settled():
            self._told.add(row)
            found.update(disagree)
            filled.update(column for column in COLUMNS if column in row)
            self.nameless += "name" not in row and "mrn" not in row
        self.conflicts = dict(found)
        """Column -> persons or notes whose values disagreed."""
        self.filled = {column: filled[column] for column in COLUMNS if filled[column]}
        """Column -> rows with a value."""

    def _settled(self) -> Iterator[tuple[dict[str, object], list[str]]]:
        if self._by == "note":
            for note, person in zip(self._notes, self._of, strict=True):
                values, disagree = _settle_note(note)
                yield {"person": person_name(person), "document": note.document, **values}, disagree
            return
        for person, members in grouped(self._of, self.persons):
            joined, disagree = _settle_person([_settle_note(self._notes[n])[0] for n in members])
            yield {"person": person_name(person), "notes": len(members), **joined}, disagree

    def _places(self) -> Iterator[tuple[object, ...]]:
        rows = itertools.count() if self._by == "note" else self._of
        for row, note in zip(rows, self._notes, strict=False):
            for f in note.facts:
                yield note.document, f.start, f.end, row, f.column, f.value, round(f.confidence, 4)

    def frames(self, most: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield the rows (`IdentifierView.frame`), ``most`` at a time; at least one frame."""
        columns = ["person", "document" if self._by == "note" else "notes", *self.filled]
        return _frames(iter(self._told), columns, most)

    def places(self, most: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield where values come from (`IdentifierView.provenance`), ``most`` at a time; at least one frame."""
        return _frames(self._places(), [*_PLACES, "confidence"], most)

    def look_alikes(self) -> LookAlikes | None:
        """Count the persons who look like others (`deid.linkage.look_alikes`); None when no name is known."""
        return count_look_alikes(self.frames(_BATCH), PERSON)

    def whole(self) -> IdentifierView:
        """Return the view in memory."""
        return IdentifierView(next(self.frames()), next(self.places()), self.conflicts)

    def write(self, path: Path) -> None:
        """Write the table, and its provenance beside it (`provenance_path`).

        Raises
        ------
        OutputError
            When a file cannot be written.
        """
        with together():
            write_batches(self.frames(_BATCH), path)
            write_batches(self.places(_BATCH), provenance_path(path))


def _frames(rows: Iterator[Any], columns: Sequence[str], most: int | None) -> Iterator[pd.DataFrame]:
    held = list(itertools.islice(rows, most))
    while True:
        yield pd.DataFrame(held, columns=list(columns))
        if not most or not (held := list(itertools.islice(rows, most))):
            return


def _settle_note(note: NoteFacts) -> tuple[dict[str, str], list[str]]:
    """Return a note's value of each column, and the columns whose values disagree."""
    weights: dict[str, dict[str, int]] = {}
    for fact in note.facts:
        held = weights.setdefault(fact.column, {})
        held[fact.value] = held.get(fact.value, 0) + fact.weight
    if note.note_date:
        weights["note_date"] = {note.note_date: 1}
    values, disagree = {}, []
    for column, held in weights.items():
        if column in MANY:
            values[column] = _SEPARATOR.join(_fullest(held))
            continue
        values[column] = max(held, key=lambda v: held[v])  # the first of equals
        if len(held) > 1 and column != "age":  # relatives have ages too
            disagree.append(column)
    if "age" not in values and (age := _age(values.get("birth_date", ""), values.get("note_date", ""))) is not None:
        values["age"] = str(age)
    return values, disagree


def _fullest(values: Iterable[str]) -> list[str]:
    """Leave out values whose words another one has too: ``Ghimire`` beside ``Hari Maya Ghimire``."""
    words = {value: set(value.split()) for value in values}
    return [v for v, own in words.items() if not any(own < other for other in words.values())]


def _age(birth: str, day: str) -> int | None:
    """Return the age on a day, both full ISO dates."""
    if len(birth) != 10 or len(day) != 10:
        return None
    (y, m, d), (ny, nm, nd) = (map(int, text.split("-")) for text in (birth, day))
    age = ny - y - ((nm, nd) < (m, d))
    return age if 0 <= age <= 125 else None


def _settle_person(notes: Sequence[Mapping[str, str]]) -> tuple[dict[str, object], list[str]]:
    """Join the values of a person's notes."""
    newest = sorted(range(len(notes)), key=lambda i: (notes[i].get("note_date", ""), i), reverse=True)
    values: dict[str, object] = {}
    disagree = []
    for column in COLUMNS:
        said = [(i, notes[i][column]) for i in newest if column in notes[i]]
        if not said:
            continue
        if column in MANY:
            parts = (part for _, value in reversed(said) for part in value.split(_SEPARATOR))
            values[column] = _SEPARATOR.join(_fullest(dict.fromkeys(parts)))
        elif column not in PERSONAL:
            values[column] = said[0][1]  # of the newest note that has one
        else:
            votes = Counter(value for _, value in said)
            most = max(votes.values())
            best = [value for value in dict.fromkeys(v for _, v in said) if votes[value] == most]
            dated = notes[newest[0]].get("note_date")
            values[column] = best[0] if len(best) == 1 or dated else _SEPARATOR.join(best)
            if len(votes) > 1:
                disagree.append(column)
    return values, disagree


def link_notes(
    notes: Sequence[NoteFacts], *, method: str = "exact", table: pd.DataFrame | None = None, on: str = ""
) -> WhoIsWho:
    """Return the persons of notes; see `deid.extraction.persons`.

    Exact rules without a table hold some 5,000 of many notes at once; otherwise what they say is in memory.
    """
    if method == "exact" and table is None and len(notes) > _PART:
        return who_is_who_in_parts(
            _parts(notes), lambda rows: _told(rows, [notes[n] for n in rows.tolist()]), len(notes)
        )
    return who_is_who(*_told(np.arange(len(notes)), notes)[1:], method=method, table=table, on=on)


def _parts(notes: Sequence[NoteFacts]) -> Iterator[Part]:
    rows, start = iter(notes), 0
    while own := list(itertools.islice(rows, _PART)):
        yield _told(np.arange(start, start + len(own)), own)
        start += len(own)


def _told(numbers: IntArray, notes: Iterable[NoteFacts]) -> Part:
    patients, values, sure = [], [], []
    for note in notes:
        own = {c: v for c, v in _settle_note(note)[0].items() if c in LINKED}
        patients.append(note.patient)
        values.append(own)
        confidence: dict[str, float] = {}
        for f in note.facts:
            if own.get(f.column) == f.value:
                confidence[f.column] = max(f.confidence, confidence.get(f.column, 0.0))
        sure.append(confidence)
    return numbers, patients, values, sure


def confidences(view: IdentifierView) -> pd.DataFrame:
    """Return how sure each cell of a view is: of the places that say it, or of all places of its column, the surest."""
    places = view.provenance.copy()
    places["confidence"] = pd.to_numeric(places["confidence"]).fillna(1.0) if "confidence" in places else 1.0
    rows, cells = places["row"].astype(int), {}
    for column in set(places["column"]) & set(map(str, view.frame.columns)):
        own = places[places["column"] == column]
        said = view.frame[column].astype("string").reindex(rows[own.index]).to_numpy()
        same = pd.Series(own["value"].astype("string").to_numpy() == said, index=own.index).fillna(value=False)
        best = own[same].groupby(rows[own.index][same])["confidence"].max()
        cells[column] = best.combine_first(own.groupby(rows[own.index])["confidence"].max()).reindex(view.frame.index)
    return pd.DataFrame(cells, index=view.frame.index)


def join_table(
    view: IdentifierView, table: pd.DataFrame, on: str = "", persons: Sequence[str] = ()
) -> tuple[IdentifierView, int, int]:
    """Add the columns of a structured table to a view's rows; where both have a column, the table's values win.

    Parameters
    ----------
    view : IdentifierView
    table : pandas.DataFrame
    on : str
        Column of both; numbers are compared by their letters and digits alone. A row with the same key is the partner.
    persons : sequence of str
        Of each row of the table; the rows of a view row's person are its partner where no key is, with the cells in
        which they agree.

    Returns
    -------
    IdentifierView
        With the table's columns behind its own.
    int
        Rows whose partner their person tells.
    int
        Rows without a partner.

    Raises
    ------
    ConfigError
        When a side lacks the column.
    InputError
        When the table has two rows of one key.
    """
    from deid.extraction.values import read_number

    frame = view.frame.copy()
    if on:
        for names, side in (({*frame, *COLUMNS}, "the view"), (set(table), "the joined table")):
            check_named(sorted(map(str, names)), [on], side)

    def keys(side: pd.DataFrame) -> pd.Series:
        cells = side[on].astype("object") if on in side else pd.Series(None, side.index, dtype="object")
        return cells.map(lambda v: read_number(str(v)), na_action="ignore")

    own, theirs = keys(frame), keys(table)
    if (double := (theirs.notna() & theirs.duplicated()).to_numpy()).any():
        position = f"row {int(double.argmax()) + 1}"
        raise InputError(f"a second row of the same {on!r}", "keep one row a key", "the joined table", position)
    table = table.astype("object").drop(columns=PERSON, errors="ignore")
    matched = own.isin(theirs.dropna())
    told = table[theirs.notna()].set_axis(theirs.dropna()).reindex(own).set_axis(frame.index)
    linked = frame[PERSON].isin(persons) & ~matched
    if on and on not in frame and not linked.any():
        raise ConfigError(f"no note tells its {on!r}", "join on a column that the view has", "the view")
    if linked.any():
        rows = table.groupby(pd.Series(persons, table.index), sort=False)
        agreed = rows.first().where(rows.nunique() <= 1).reindex(frame[PERSON]).set_axis(frame.index)
        told = told.where(matched, agreed)
    for column in map(str, table):
        before = frame[column].astype("object") if column in frame else told[column]
        first, second = (before, told[column]) if column == on else (told[column], before)
        frame[column] = first.where(first.notna(), second)
    return IdentifierView(frame, view.provenance, view.conflicts), int(linked.sum()), int((~matched & ~linked).sum())
