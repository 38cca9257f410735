"""Records that may be one person's: blocks of records that are worth comparing, and a count of pairs that look alike.

A patient who comes as ``Margaret Thornton`` and as ``Maggie Thorton`` is two persons for whoever compares exactly, and
a class of two "persons" that are one hides nobody. `count_look_alikes` tells how many there seem to be. Two records
look alike when

* their names can be one person's (`deid.reading.identity.same_person`: short forms, initials, a single word), would be
  but for one letter, or have given and family name exchanged, and
* their birth dates are equal but for one digit, two neighbouring digits, or day and month exchanged; or a telephone
  number, an address or an e-mail address is the same, and no two birth dates speak against it; or nothing beside the
  names can be compared, no two record numbers differ, and both names are written out.

`candidate_pairs` finds them by blocks (a word of the name with a birth date of which a digit is left out, or with a
telephone number or an address), so that not all pairs are looked at.

A large population always holds some look-alikes. Their number is estimated by the same count after what stands beside
the names has been dealt anew among the persons born in the same decade: names and birth dates are as frequent as
before, but who was one person is no longer. What is beyond that is taken for persons who are split.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deid.base.arrays import IntArray
from deid.base.buckets import Buckets, Words, connected, distinct, runs_of, step_of
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.base.spool import in_order
from deid.linkage.clustering import near
from deid.linkage.columns import birth_digits, kind_of
from deid.linkage.exact import hashes_of
from deid.reading.identity import PersonName, full_names, parse_name, same_person
from deid.table.cell_text import text_list
from deid.table.column_names import split_ids

MOST_SPLIT = 0.01
"""Share of persons that seem to be others of the table, up to which levels by person are believed."""
_WINDOW = 50
"""Records of one block that each is compared with; blocks so large hold hospitals' telephone numbers."""
_AT_ONCE = 10_000
"""Pairs that are numbers of Python at a time, which take ten times the memory."""
_REMEMBERED = 1 << 14
_APART = np.uint64(0x9E3779B97F4A7C15)
"""What makes a person's number that of another one."""
_DEALT = 2_000
"""Records up to which what stands beside names is dealt five times; once above that."""
_EDITED = 4
"""Letters that a word has at least, so that another letter is a slip and not another name."""

_KINDS = {"email": "contact", "phone": "contact", "id": "number"}
"""Kinds of columns that count as one here; the others that matter are name, given, family, birth, number, address."""
_BLANK = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """What one row tells of its person."""

    person: str = field(repr=False)
    """Whose row it is."""
    name: str = field(repr=False)
    """As written; several names of one row are records of their own."""
    birth: str = field(default="", repr=False)
    """Eight digits, year first; empty when not fully known."""
    contacts: tuple[str, ...] = field(default=(), repr=False)
    """Telephone numbers, addresses and e-mail addresses in a form in which equal ones are equal."""

    number: str = field(default="", repr=False)
    """Record number; two different ones speak against one person where only names are known."""

    @property
    def key(self) -> tuple[str, str, tuple[str, ...], str, str]:
        """What the order of records goes by: it is not that of the rows."""
        return self.name, self.birth, self.contacts, self.number, self.person


@dataclass(frozen=True)
class LookAlikes:
    """How many persons of a table look like others of it."""

    persons: int
    pairs: int
    """Pairs of persons that look alike."""
    surplus: int
    """By how many the persons are fewer when all that look alike are taken together."""
    by_chance: float
    """How many of these are expected among so many different persons."""

    @property
    def split(self) -> float:
        """Estimated number of persons who are another one of the table."""
        return max(0.0, self.surplus - self.by_chance)

    @property
    def share(self) -> float:
        """Estimated share of persons who are another one of the table."""
        return self.split / self.persons

    def as_dict(self) -> dict[str, int | float]:
        """Return JSON values."""
        return {
            "persons": self.persons,
            "pairs": self.pairs,
            "expected_by_chance": round(self.by_chance, 1),
            "estimated_split": round(self.split, 1),
            "estimated_share": round(self.share, 4),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LookAlikes:
        """Read what `as_dict` wrote."""
        chance, split = float(values["expected_by_chance"]), float(values["estimated_split"])
        return cls(int(values["persons"]), int(values["pairs"]), round(split + chance), chance)

    def __str__(self) -> str:
        """Say it in a sentence, for a report."""
        return (
            f"{self.pairs:,} pairs of {self.persons:,} persons look alike, about {self.by_chance:,.0f} by chance: an "
            f"estimated {self.share:.1%} of the persons are others of the table"
        )


def check_persons(found: LookAlikes | None, *, as_given: bool) -> None:
    """Refuse a guarantee by person where too many persons seem to be others of the table.

    Parameters
    ----------
    found : LookAlikes, optional
        None where persons were not compared.
    as_given : bool
        Whether somebody answers for the persons.

    Raises
    ------
    ConfigError
        When the estimated share is greater than `MOST_SPLIT`.
    """
    if found is not None and found.share > MOST_SPLIT and not as_given:
        raise ConfigError(
            f"levels would count some persons twice: {found}",
            "give each person one id (deid link, extract --patients), or say --persons-as-given",
        )


def check_ids(persons: Iterable[str], saying: str = "say --persons-as-given") -> None:
    """Refuse ids that may be one person's: each way of writing one would count as a person of its own.

    Parameters
    ----------
    persons : iterable of str
        Ids of persons, some of them many times.
    saying : str
        How a user says that these are different persons.

    Raises
    ------
    ConfigError
        When two differ in blanks, hyphens, leading zeros, case or look-alike signs alone; names none.
    """
    split = split_ids(persons)
    require(
        not split,
        f"{split} ids of persons are written in several ways, which differ in blanks, hyphens, leading zeros, case or "
        "look-alike signs alone: one person would count as several",
        f"write each id in one way, or {saying} if they are different persons",
    )


def person_records(
    table: pd.DataFrame | Iterable[pd.DataFrame], person: str | None = None
) -> Sequence[PersonRecord] | None:
    """Read what a table tells of its persons, by the names of its columns.

    Parameters
    ----------
    table : pandas.DataFrame or iterable of them
        Of several, with the same columns, the rows count one after the other.
    person : str, optional
        Column that tells whose row it is; without it every row is a person.

    Returns
    -------
    sequence of PersonRecord, optional
        Distinct records in an order that is not that of the rows, on disk when they are many; None when no column
        holds names.
    """
    parts = iter([table] if isinstance(table, pd.DataFrame) else table)
    first = next(parts)
    columns = _columns(first, person)
    if "name" not in columns and not ("given" in columns and "family" in columns):
        return None
    rows = itertools.count()

    def read() -> Iterator[PersonRecord]:
        for part in itertools.chain([first], parts):
            people = (
                [str(next(rows)) for _ in range(len(part))] if person is None else text_list(part[person], key=True)
            )
            yield from _records_of(part, columns, people)

    return _in_order(read(), lambda record: record.key, distinct=True)


def _in_order(
    records: Iterable[PersonRecord], key: Callable[[PersonRecord], Any], *, distinct: bool = False
) -> Sequence[PersonRecord]:
    return in_order(records, key, _written, _read, distinct=distinct)


def _written(record: PersonRecord) -> list[object]:
    return [record.person, record.name, record.birth, record.contacts, record.number]


def _read(values: list[Any]) -> PersonRecord:
    person, name, birth, contacts, number = values
    return PersonRecord(person, name, birth, tuple(contacts), number)


def _records_of(
    frame: pd.DataFrame, columns: Mapping[str, Sequence[str]], people: Sequence[str]
) -> Iterator[PersonRecord]:
    cells = {name: text_list(frame[name]) for own in columns.values() for name in own}
    zips = cells[columns["zip"][0]] if "zip" in columns else None
    for row, who in enumerate(people):
        names = [part.strip() for own in columns.get("name", ()) for part in cells[own][row].split(";") if part.strip()]
        if "given" in columns and "family" in columns:
            family, given = (" ".join(cells[own][row] for own in columns[what]).strip() for what in ("family", "given"))
            names += [f"{family}, {given}"] if family and given else [family or given] if family or given else []
        if not names:
            continue
        births = [read for own in columns.get("birth", ()) if (read := birth_digits(cells[own][row]))]
        contacts = [
            _BLANK.sub("", part).lower() for own in columns.get("contact", ()) for part in cells[own][row].split(";")
        ]
        for own in columns.get("address", ()):
            if cells[own][row]:
                contacts.append(f"{_BLANK.sub(' ', cells[own][row]).lower()} {zips[row][:5] if zips else ''}")
        alike = tuple(sorted({contact for contact in contacts if len(contact) > 6}))
        number = next((cells[own][row] for own in columns.get("number", ()) if cells[own][row]), "")
        birth = births[0] if births else ""
        yield from (PersonRecord(who, name, birth, alike, number) for name in names)


def _columns(frame: pd.DataFrame, person: str | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in frame.columns:
        if name != person and (kind := kind_of(name)) != "none":
            found.setdefault(_KINDS.get(kind, kind), []).append(name)
    return found


@functools.lru_cache(maxsize=_REMEMBERED)
def _parsed(name: str) -> PersonName:
    return parse_name(name)


@functools.lru_cache(maxsize=_REMEMBERED)
def _words(name: str) -> tuple[str, ...]:
    """Return the words by which a name is looked up: also the full names that its short forms stand for."""
    parsed = _parsed(name)
    found = set(parsed.keys("family", "given", "nickname", "name"))
    for key in parsed.keys("given", "nickname", "name"):
        found.update(full_names(key))
    return tuple(sorted(found))


def candidate_pairs(records: Sequence[PersonRecord]) -> Iterator[IntArray]:
    """Yield pairs of records that are worth comparing, those of the same block; on disk while they are many.

    Blocks are: a word of the name with the birth date but for one digit, or with its digits in any order; a word of the
    name with a telephone number or an address; where a birth date is missing, two words of the name. A record of a
    block is compared with the fifty that come next in it.

    Yields
    ------
    int64 array, shape (pairs, 2)
        Places of two records of different persons, the first below the second; all of them are distinct.
    """
    many = len(records)
    names = not all(record.birth for record in records)
    with Buckets(3) as blocks, Buckets(2) as pairs:
        rest, start = iter(records), 0
        while own := list(itertools.islice(rest, _AT_ONCE)):
            person = _numbers([record.person for record in own])
            born = np.array([bool(record.birth) for record in own])
            for key, rows, by_name in _keys_of(own, names=names):
                place = (rows + start) * 2 + (born[rows] & by_name)  # two odd ones are not compared
                blocks.add(np.stack([key, place.astype(np.uint64), person[rows]], axis=1))
            start += len(own)
        for found in blocks.parts():
            for one, other in _within(found):
                compared = (one[:, 2] != other[:, 2]) & (one[:, 1] & other[:, 1] & np.uint64(1) == 0)
                a, b = (side[compared, 1] >> np.uint64(1) for side in (one, other))
                pairs.add(np.stack([a * step_of(many), a * np.uint64(many) + b], axis=1))  # neighbours together
        for found in pairs.parts():
            flat = np.unique(found[:, 1]).astype(np.int64)
            yield np.stack([flat // many, flat % many], axis=1)


def _keys_of(records: Sequence[PersonRecord], *, names: bool) -> Iterator[tuple[Words, IntArray, bool]]:
    """Yield numbers of blocks, the records that are in them, and whether these are blocks by names alone."""
    words = [_words(record.name) for record in records]
    births = "".join(record.birth or "0" * 8 for record in records)
    digits = (np.frombuffer(births.encode("ascii"), dtype=np.uint8).reshape(-1, 8) - ord("0")).astype(np.int64)
    places = 10 ** np.arange(8, dtype=np.int64)
    rows = np.array([row for row, record in enumerate(records) if record.birth for _ in words[row]], np.int64)
    word = _numbers([one for row, record in enumerate(records) if record.birth for one in words[row]])
    for left_out in range(9):
        shown = np.sort(digits, axis=1) if left_out == 8 else np.where(np.arange(8) == left_out, 0, digits)
        date = (shown * places).sum(axis=1)[rows]
        yield hashes_of(pd.DataFrame({"date": date, "word": word, "left_out": left_out})), rows, False
    contacts = [
        (row, contact, one) for row, record in enumerate(records) for contact in record.contacts for one in words[row]
    ]
    yield *_texts(contacts), False
    if names:
        yield *_texts([(row, *two) for row, own in enumerate(words) for two in itertools.combinations(own, 2)]), True


def _texts(found: Sequence[tuple[int, str, str]]) -> tuple[Words, IntArray]:
    rows, one, other = zip(*found, strict=True) if found else ((), (), ())
    texts = pd.DataFrame({"one": _numbers(one), "other": _numbers(other)})
    return hashes_of(texts), np.array(rows, np.int64)


def _numbers(texts: Sequence[str]) -> Words:
    """Return a number for each text; equal ones have the same, and hardly any others."""
    return hashes_of(pd.DataFrame({"text": pd.Series(texts, dtype=object)}))


def _within(records: Words) -> Iterator[tuple[Words, Words]]:
    """Yield the pairs of records with equal first numbers, of each record with the next ones."""
    records = distinct(records)
    for lag in range(1, min(_WINDOW, len(records) - 1) + 1):
        same = records[lag:, 0] == records[:-lag, 0]
        if not same.any():
            return
        yield records[:-lag][same], records[lag:][same]


def look_alike(a: PersonRecord, b: PersonRecord) -> bool:
    """Tell whether two records can be one person's; see the module."""
    if a.birth and b.birth:
        return _near_dates(a.birth, b.birth) and _near_names(a.name, b.name)
    if not set(a.contacts).isdisjoint(b.contacts):
        return _near_names(a.name, b.name)
    if a.contacts and b.contacts:
        return False
    if a.number and b.number and a.number != b.number:
        return False
    written_out = all(_parsed(a.name).full) and all(_parsed(b.name).full)
    return written_out and (a.name == b.name or same_person(_parsed(a.name), _parsed(b.name)))


def _near_dates(a: str, b: str) -> bool:
    return near(a, b) or (a[:4] == b[:4] and a[4:6] == b[6:] and a[6:] == b[4:6])


def _near_names(a: str, b: str) -> bool:
    if a == b:
        return True
    one, other = _parsed(a), _parsed(b)
    if same_person(one, other):
        return True
    families = one.keys("family"), other.keys("family")
    givens = _forms(one), _forms(other)
    if not givens[0].isdisjoint(families[1]) and not givens[1].isdisjoint(families[0]):
        return True
    if set(families[0]) & set(families[1]):
        return _some_slip(one.keys("given"), other.keys("given"))
    if givens[0] & givens[1]:
        return _some_slip(*families)
    return _some_slip(one.keys("name"), other.keys("name"))


def _forms(name: PersonName) -> set[str]:
    found = set(name.keys("given", "nickname"))
    return found.union(*map(full_names, found))


def _some_slip(some: Sequence[str], others: Sequence[str]) -> bool:
    return any(_slip(a, b) for a in some for b in others)


def _slip(a: str, b: str) -> bool:
    return min(len(a), len(b)) >= _EDITED and near(a, b)


def _alike(records: Sequence[PersonRecord]) -> Iterator[Words]:
    """Yield the pairs of persons that look alike, as numbers, the lower first; some of them several times."""
    record = functools.lru_cache(maxsize=_REMEMBERED)(records.__getitem__)
    for part in candidate_pairs(records):
        for start in range(0, len(part), _AT_ONCE):
            some = ((record(i), record(j)) for i, j in part[start : start + _AT_ONCE].tolist())
            found = [own.person for pair in some if look_alike(*pair) for own in pair]
            yield np.sort(_numbers(found).reshape(-1, 2), axis=1)


def _dealt(records: Sequence[PersonRecord]) -> Iterator[Sequence[PersonRecord]]:
    """Yield the records with what stands beside the names dealt anew among those of one decade of birth.

    Given names of records without anything beside them are dealt among these.
    """

    def place(r: PersonRecord) -> tuple[str, bytes]:
        told = "\0".join((r.name, r.birth, r.number, *r.contacts))
        return r.birth[:3], hashlib.blake2b(told.encode("utf-8", "surrogatepass")).digest()

    def dealt(step: int) -> Iterator[PersonRecord]:
        start = 0
        for _, size in sorted(decades.items()):
            for row in range(size):
                record, other = own[start + row], own[start + (row + step) % size]
                name = record.name if record.birth or record.contacts else _with_given(record.name, other.name)
                yield PersonRecord(record.person, name, other.birth, other.contacts, other.number)
            start += size

    decades = Counter(record.birth[:3] for record in records)
    own = _in_order(records, place)
    for step in range(1, 6 if len(records) <= _DEALT else 2):
        yield _in_order(dealt(step), lambda record: record.key)


def _with_given(name: str, other: str) -> str:
    """Return a name with the given name of another one, where both have one."""
    given, family = _parsed(other).full[0], _parsed(name).full[1]
    return f"{given} {family}" if given and family else name


def count_look_alikes(table: pd.DataFrame | Iterable[pd.DataFrame], person: str | None = None) -> LookAlikes | None:
    """Count the persons of a table that look like others of it.

    Parameters
    ----------
    table : pandas.DataFrame or iterable of them
        A table with names, in columns named so; birth dates, telephone numbers and addresses where there are any. Of
        several, with the same columns, the rows count one after the other: what they tell waits on disk.
    person : str, optional
        Column that tells whose row it is; without it every row is a person.

    Returns
    -------
    LookAlikes, optional
        None when no column holds names.
    """
    rows = pairs = deals = 0
    with Buckets(1) as people, Buckets(2) as found, Buckets(3) as dealt:

        def counted() -> Iterator[pd.DataFrame]:
            nonlocal rows
            for part in [table] if isinstance(table, pd.DataFrame) else table:
                rows += len(part)
                if person is not None:
                    people.add(_numbers(text_list(part[person], key=True))[:, None])
                yield part

        def alike() -> Iterator[Words]:
            nonlocal pairs
            for part in map(distinct, found.parts()):
                pairs += len(part)
                dealt.add(np.insert(part, 2, 0, axis=1))
                yield part

        records = person_records(counted(), person)
        if records is None:
            return None
        for some in _alike(records):
            found.add(some)
        surplus = sum(map(len, connected(alike())))
        for deals, own in enumerate(_dealt(records) if surplus else (), 1):
            for some in _alike(own):
                dealt.add(np.insert(some, 2, deals, axis=1))
        chance = sum(map(len, connected(_by_chance(dealt)))) / max(deals, 1)
        persons = rows if person is None else sum(len(distinct(part)) for part in people.parts())
    return LookAlikes(persons, pairs, surplus, chance)


def _by_chance(dealt: Buckets) -> Iterator[Words]:
    """Yield pairs of persons, other ones in each deal, but those of deal 0: they are one, which is no chance."""
    for part in map(distinct, dealt.parts()):
        start, size = runs_of(part[:, :2])
        own = part[np.repeat(part[start, 2] > 0, size)]
        yield own[:, :2] + own[:, 2:] * _APART
