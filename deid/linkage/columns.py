"""What the columns of a table tell of a person, and each row's values in a form in which they can be compared.

The name of a column decides its *kind* (`kinds_of`); a user can name another one. `read_records` brings the cells of
all kinds to one form: names to keys and full names of their short forms (`deid.reading.identity`), dates to eight
digits, numbers to letters and digits, addresses to words.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.base.nearest import nearest
from deid.base.plain_letters import without_accents
from deid.base.resources import shipped_table
from deid.reading.centuries import full_year
from deid.reading.day_order import days_first
from deid.reading.identity import canonical_given, name_key, parse_name
from deid.reading.vocabulary import languages, load_vocabulary
from deid.table.cell_text import text_list
from deid.table.microdata import check_columns

HEADERS: Mapping[str, str] = shipped_table("labels/columns.toml")["linkage"]
"""Kind of a column -> names that columns of the kind have: letters and digits only, without accents and a leading
``patient``. An ``id`` is a record number where it repeats, else the number of a row; an ``account`` may be a
household's."""
KINDS = (*HEADERS, "same", "similar", "none")
"""What a user can say of a column: ``same`` and ``similar`` are compared as texts, ``none`` is not."""

_DATE = re.compile(
    r"(?:(\d{4})[-/.](\d\d?)[-/.](\d\d?)|(\d\d?)[/. -](\d\d?)[/. -](\d{4}|\d\d))(?:[T ].*)?|(\d{4})(\d\d)(\d\d)",
    re.ASCII,
)
_NAMED = re.compile(r"(\d\d?)?[\W_]*([^\W\d_]{3,})\W*(?(1)|(\d\d?)(?:[^\W\d_]{2})?\W+)(\d{4}|\d\d)(?:[T ].*)?")
"""A date with the name of its month: ``14-MAR-62``, ``March 14th, 1962``."""
_LATEST_BIRTH = 2029
"""Latest year that two digits stand for: what counts is that all tables are read alike."""
_YEAR = re.compile(r"(\d{4})(?:-(\d\d))?", re.ASCII)
_BLANK = re.compile(r"[\W_]+")
_COUNTED = re.compile("[1-8]{1,2}", re.ASCII)
"""Numbers of rows or persons that are one character repeated and stand for themselves."""
_NUMBERED = ("number", "account", "same", "similar")
_SHARED = 50
WHO = ("family", "birth")
"""Columns of records that tell whether a number of many rows is one person's."""
"""Rows in which a number may stand, or a twentieth of them: of one person are hardly more."""
_PHONE = 7
"""Digits that a telephone number has at least."""


def header_key(name: str) -> str:
    """Return a column's name as `HEADERS` has it."""
    key = re.sub("[^a-z0-9]", "", without_accents(name).casefold())
    return re.sub("^(patient(en(?!t))?|pt)", "", key) or "patient"


def kind_of(name: str) -> str:
    """Return what the name of a column says of its kind; ``none`` when it says nothing."""
    key = header_key(name)
    return next((kind for kind, names in HEADERS.items() if key in names.split()), "none")


Tables: TypeAlias = "pd.DataFrame | Sequence[pd.DataFrame]"
"""A table, or several, whose rows count one after the other."""


def tables_of(frame: Tables) -> list[pd.DataFrame]:
    """Return the tables, of one or several."""
    return [frame] if isinstance(frame, pd.DataFrame) else list(frame)


def places_of(frame: pd.DataFrame, seed: int) -> list[bytes]:
    """Return what puts rows in an order that their cells alone decide."""
    cells = [text_list(frame[name]) for name in sorted(map(str, frame.columns))]
    start = hashlib.blake2b(str(seed).encode(), digest_size=16)

    def place(row: int) -> bytes:
        own = start.copy()
        for column in cells:
            own.update(column[row].encode("utf-8", "surrogatepass") + b"\0")
        return own.digest()

    return [place(row) for row in range(len(frame))]


def stacked(tables: Sequence[pd.DataFrame], said: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of several tables under each other.

    Parameters
    ----------
    tables : sequence of pandas.DataFrame
        A column of a later one takes the name of the only column of its kind in the first one.
    said : mapping of str to str
        Kinds by column, as for `kinds_of`.
    """

    def alone(frame: pd.DataFrame, other: pd.DataFrame) -> dict[str, str]:
        kinds = [(said.get(name) or kind_of(name), name) for name in frame.columns if name not in other.columns]
        counts = Counter(kind for kind, _ in kinds)
        return {kind: name for kind, name in kinds if kind != "none" and counts[kind] == 1}

    parts = [tables[0]]
    for table in tables[1:]:
        named = alone(tables[0], table)
        parts.append(table.rename(columns={own: named[k] for k, own in alone(table, tables[0]).items() if k in named}))
    return pd.concat(parts, ignore_index=True)


def kinds_of(
    frame: pd.DataFrame, said: Mapping[str, str] | None = None, table: Sequence[int] | None = None
) -> dict[str, str]:
    """Return the kind of each column that tells of a person.

    Parameters
    ----------
    frame : pandas.DataFrame
    said : mapping of str to str, optional
        Kinds (`KINDS`) by column, where the names of the columns do not tell them, or something else.
    table : sequence of int, optional
        Which of several tables each row is of.

    Returns
    -------
    dict of str to str
        In the table's order. Columns that are empty tell nothing, nor does an id that is another one in every row of
        a table: two tables that count their rows have the same ids.

    Raises
    ------
    ConfigError
        When a column or kind is misspelt, or no column tells of a person.
    """
    said = said or {}
    check_columns(frame, said)
    for name, kind in said.items():
        if kind not in KINDS:
            hint = nearest(kind, KINDS).replace("the table has", "kinds are")
            raise ConfigError(f"column {name!r}: there is no kind {kind!r}", hint)
    found = {}
    for name in frame.columns:
        kind = said.get(name) or kind_of(name)
        if kind == "none":
            continue
        cells = frame[name].dropna()
        if cells.empty:
            continue
        if kind == "id":
            of = pd.Series(0 if table is None else table, index=frame.index)[cells.index]
            if not pd.DataFrame({"of": of, "id": cells}).duplicated().any() and name not in said:
                continue
            kind = "number"
        found[name] = kind
    if not set(found.values()) - {"sex", "suffix", "middle", "house", "city", "authority"}:
        raise ConfigError(
            "no column tells who a row is of",
            "name columns as name, birth_date, mrn, phone, or say what they are, such as --kind COLUMN=name",
        )
    return found


def birth_digits(text: str, *, day_first: bool = False) -> str:
    """Return a date as eight digits, year first; empty when it is none, or not whole."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        named = _NAMED.fullmatch(text.strip())
        month = _month(named[2].lower()) if named else 0
        if not named or not month:
            return ""
        return f"{_year(named[4])}{month:02}{int(named[1] or named[3]):02}"
    if match[4]:
        year, month, day = match[6], int(match[4]), int(match[5])
        if day_first or month > 12:
            month, day = day, month
    else:
        year, month, day = match[1] or match[7], int(match[2] or match[8]), int(match[3] or match[9])
    return f"{_year(year)}{month:02}{day:02}"


@functools.lru_cache(maxsize=1 << 10)
def _month(word: str) -> int:
    """Return the number of a month by its name in any language of the house; 0 for none."""
    told = (load_vocabulary(language).months for language in languages())
    return next((n for own in told for n, names in enumerate(own, 1) if re.fullmatch(names, word)), 0)


def _year(digits: str) -> str:
    return str(full_year(int(digits), _LATEST_BIRTH, past=True)) if len(digits) < 3 else digits


@functools.lru_cache(maxsize=1 << 14)
def name_fields(text: str) -> dict[str, str | tuple[str, ...]]:
    """Return what a written name says: given name, its full form, middle names, family names and suffix, as keys."""
    parsed = parse_name(text)
    given = list(parsed.keys("given", "nickname"))
    initials = "".join(parsed.keys("initial"))
    family = parsed.keys("family") or parsed.keys("name")
    if not given and initials:
        given, initials = [initials[0]], initials[1:]
    middle = [*parsed.keys("middle"), *initials]
    first = given[0] if given else ""
    return {
        "given": first,
        "full_given": canonical_given(first) if first else "",
        "middle": middle[0] if middle else "",
        "family": "".join((*parsed.keys("particle"), *family)),
        "families": family,
        "suffix": "".join(parsed.keys("suffix")[:1]),
    }


def _digits(text: str) -> str:
    digits = "".join(c for c in text.partition("x")[0] if c.isdigit())
    return digits[-10:] if len(digits) >= _PHONE else ""


def _words(text: str) -> str:
    return _BLANK.sub(" ", without_accents(text).lower()).strip()


def _number(text: str) -> str:
    """Return a number's letters and digits; leading zeros are padding where it has no letters."""
    plain = _BLANK.sub("", text).upper()
    return plain.lstrip("0") or plain if plain.isdecimal() else plain


_PLAIN: dict[str, Callable[[str], str]] = {
    "sex": lambda text: text.strip()[:1].upper().replace("W", "F"),
    "number": _number,
    "account": _number,
    "phone": lambda text: _digits(text.partition(";")[0]),
    "email": lambda text: text.partition(";")[0].strip().lower(),
    "zip": lambda text: _BLANK.sub("", text).upper()[:5],
    "city": _words,
    "address": _words,
    "house": _words,
    "same": _words,
    "similar": _words,
}


def read_records(
    frame: pd.DataFrame, kinds: Mapping[str, str], stand_ins: Mapping[str, Collection[object]] | None = None
) -> pd.DataFrame:
    """Return the rows of a table in a form in which they can be compared.

    Parameters
    ----------
    frame : pandas.DataFrame
    kinds : mapping of str to str
        As `kinds_of` gives them.
    stand_ins : mapping of str to collection of str, optional
        Column of the result -> what stands for no number in it, where the rows are a part of a table (`stand_ins_of`);
        by default they are the table.

    Returns
    -------
    pandas.DataFrame
        A row for each, in their order. Columns ``given``, ``full_given``, ``middle``, ``family``, ``families`` (tuple),
        ``suffix``, ``birth``, ``birth_year``, ``sex``, ``phone``, ``email``, ``address``, ``zip``, ``city`` where a
        column tells them, and ``number_N``, ``account_N``, ``same_N``, ``similar_N`` for the N-th column of these
        kinds (a number begins with its authority and a colon, where a column tells the authority); None where a row
        says nothing.
    """

    of: dict[str, list[list[str]]] = {}
    for name, kind in kinds.items():
        of.setdefault(kind, []).append(text_list(frame[name]))
    rows = range(len(frame))
    found: dict[str, Sequence[object]] = {}
    if {"name", "given", "family"} & of.keys():
        written = _written_names(of, rows)
        fields = [name_fields(text) for text in written]
        for field in ("given", "full_given", "middle", "family", "families", "suffix"):
            found[field] = [own[field] or None for own in fields]
        if "maiden" in of:
            maiden = [name_key(text) for text in of["maiden"][0]]
            found["families"] = [
                tuple(sorted({*row["families"], m})) if m else row["families"] or None
                for row, m in zip(fields, maiden, strict=True)
            ]
        if "suffix" in of:
            pairs = zip(of["suffix"][0], fields, strict=True)
            found["suffix"] = [name_key(own) or row["suffix"] or None for own, row in pairs]
    if "birth" in of:
        texts = of["birth"][0]
        first = days_first(texts)
        births = [birth_digits(text, day_first=first) for text in texts]
        found["birth"] = [birth or None for birth in births]
        found["birth_year"] = [
            birth[:4] or ((match := _YEAR.match(text)) and match[1]) or None
            for birth, text in zip(births, texts, strict=True)
        ]
    if "house" in of and "address" in of:
        of["address"] = [[f"{house} {street}" for house, street in zip(of["house"][0], of["address"][0], strict=True)]]
    for kind, read in _PLAIN.items():
        once = functools.lru_cache(maxsize=1 << 17)(read)
        for n, texts in enumerate(of.get(kind, ())):
            name = f"{kind}_{n}" if kind in _NUMBERED else kind
            if name not in found and kind != "house":
                found[name] = [once(text) or None for text in texts]
                if kind in ("number", "phone"):
                    if stand_ins is None:
                        who = [found[column] for column in WHO if column in found]
                        left_out: Collection[object] = stand_ins_of(found[name], who, most_shared(len(frame)))
                    else:
                        left_out = stand_ins.get(name, ())
                    found[name] = [None if value in left_out else value for value in found[name]]
    if "authority" in of and "number_0" in found:
        numbered = zip(of["authority"][0], found["number_0"], strict=True)
        found["number_0"] = [number and f"{_words(issuer)}:{number}" for issuer, number in numbered]
    return pd.DataFrame(found, index=frame.index, dtype=object)


def fields_of(kinds: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the fields of `deid.linkage.comparisons` that each column fills."""
    named = {"name": ("given", "family", "middle"), "given": ("given", "middle")}
    named |= {place: ("place", place) for place in ("zip", "city")}
    found, counts = {}, Counter[str]()
    for name, kind in kinds.items():
        numbered = kind in _NUMBERED
        found[name] = (f"{kind}_{counts[kind]}",) if numbered else named.get(kind, (kind,))
        counts[kind] += 1
    return found


_PARTS = {"given": ("full_given", "middle", "suffix"), "family": ("families",), "birth": ("birth_year",)}
"""Columns of records that are read from the same cell as a field."""


def sure_of(records: pd.DataFrame) -> pd.DataFrame:
    """Return records without the values of low confidence, those that ``doubt_FIELD`` tells of."""
    found = {str(name): records[name] for name in map(str, records) if not name.startswith("doubt_")}
    for field in found.copy():
        if f"doubt_{field}" in records:
            sure = records[f"doubt_{field}"].isna()
            found |= {own: found[own].where(sure, None) for own in (field, *_PARTS.get(field, ())) if own in found}
    return pd.DataFrame(found, index=records.index)


def most_shared(rows: int) -> int:
    """Return how many rows of a table may have a number that is one person's."""
    return max(_SHARED, rows // 20)


def is_stand_in(value: object) -> bool:
    """Tell whether a value stands for no number wherever it comes: one character repeated."""
    return len(set(str(value))) == 1 and not _COUNTED.fullmatch(str(value))


def stand_ins_of(values: Sequence[object], who: Sequence[Sequence[object]], most: int) -> set[object]:
    """Return what stands for no number: one character repeated, or the same number in more than ``most`` rows.

    Where all but a few of these rows say the same surname or birth date, it is the number of one who comes often.

    Parameters
    ----------
    values : sequence
        Numbers; None where a row has none.
    who : sequence of sequences
        Columns of surnames and birth dates (`WHO`) of the same rows.
    most : int
        As `most_shared` gives it.
    """
    left_out = {value for value in set(values) if is_stand_in(value)}
    for value in [value for value, count in Counter(values).items() if count > most]:
        rows = [row for row, own in enumerate(values) if own == value]
        if not one_person([Counter(column[row] for row in rows if column[row]) for column in who]):
            left_out.add(value)
    return left_out


def one_person(told: Iterable[Counter[object]]) -> bool:
    """Tell whether all but a few rows say the same surname, or the same birth date."""
    return any(own and own.most_common(1)[0][1] > 0.9 * own.total() for own in told)


def _written_names(of: Mapping[str, Sequence[Sequence[str]]], rows: range) -> list[str]:
    if "given" not in of and "family" not in of:
        return [text.partition(";")[0].strip() for text in of["name"][0]]
    empty = [""] * len(rows)
    parts = [of[kind][0] if kind in of else empty for kind in ("family", "given", "middle")]
    names = []
    for row, (family, given, middle) in enumerate(zip(*parts, strict=True)):
        both = f"{given} {middle}".strip()
        names.append(f"{family}, {both}" if family and both else family or both)
        if not names[-1] and "name" in of:
            names[-1] = of["name"][0][row]
    return names
