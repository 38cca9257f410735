"""The text of a cell: how a value of a table is read and compared, from the cell alone.

What a cell means must not depend on other rows. A column that is a number only where all its cells are would let one
patient's ``V58.11`` change how everybody's ``250.00`` is read. Wherever values, labels and persons are compared, they
are therefore texts in this form:

==============================  ==========================================================
cell                            text
==============================  ==========================================================
text                            as written, in NFC, without blanks at its ends
empty, blanks, NULL, NA, NaN    none: the cell is missing
whole number 1, also typed 1.0  ``1`` (a column of whole numbers with gaps holds 1.0)
other number                    its shortest decimal form: ``0.1``; -0.0 is ``0``
NUMERIC(5,2), decimal           all its places: ``250.00``
date; time stamp                ``2020-01-31``; ``2020-01-31 10:01:00``, at midnight the date
true, false                     ``True``, ``False``
bytes                           the text that they encode in UTF-8, else hexadecimal
==============================  ==========================================================

The texts ``1``, ``1.0`` and ``01`` are three texts: 250.0 and 250.00 are two diagnoses, 02139 is a ZIP code. `key_text`
takes ``7.0`` for ``7``, for ids of persons.
"""

from __future__ import annotations

import datetime
import hashlib
import numbers
import re
import unicodedata
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from deid.base.buckets import Buckets
from deid.base.late import pd

_WHOLE = re.compile(r"(-?\d+)\.0", re.ASCII)
_LONGEST_EXPONENT = 400
_SAFE_KINDS = "iufbM"  # one type in all cells: equal cells have equal texts


def cell_text(value: object) -> str | None:
    """Return the text of a cell, None where it is missing.

    Parameters
    ----------
    value : object
        What a table holds: text, a number of Python or NumPy, a decimal, a date, bytes, None. Never fails.
    """
    if isinstance(value, str):
        return (value if value.isascii() else unicodedata.normalize("NFC", value)).strip() or None
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return _whole_text(int(value))
    if isinstance(value, float | np.floating):
        if value != value:
            return None
        return str(int(value)) if float(value).is_integer() else str(value)
    if isinstance(value, Decimal):
        return None if value.is_nan() else _decimal_text(value)
    if isinstance(value, datetime.datetime):
        return _stamp_text(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        try:
            return cell_text(bytes(value).decode("utf-8"))
        except UnicodeDecodeError:
            return value.hex()
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else cell_text(value.item() if value.dtype != "M8[ns]" else _pandas_stamp(value))
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return cell_text(str(value))


def as_read(text: str) -> str:
    """Return what a reader takes a text for: without case, blanks, unseen signs, and other ways to write a letter.

    >>> as_read(" Flu\u00a0") == as_read("FLU") == as_read("\ufb02u\u200b") == "flu"
    True
    """
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return " ".join(text.casefold().split())


def _whole_text(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # thousands of digits, which Python does not write
        return hex(value)


def _decimal_text(value: Decimal) -> str:
    value = value if value else value.copy_abs()  # -0.00 is 0.00
    exponent = value.as_tuple().exponent
    return f"{value:f}" if isinstance(exponent, int) and abs(exponent) <= _LONGEST_EXPONENT else str(value)


def _pandas_stamp(value: np.datetime64) -> object:
    return pd.Timestamp(value)


def _stamp_text(value: datetime.datetime) -> str | None:
    if value != value:  # NaT is a datetime
        return None
    midnight = value.time() == datetime.time() and value.tzinfo is None and not getattr(value, "nanosecond", 0)
    return value.date().isoformat() if midnight else value.isoformat(sep=" ")


def whole_number(text: str) -> str | None:
    """Return the whole number that ``7.0`` is as programs write columns with gaps; None for other texts."""
    match = _WHOLE.fullmatch(text)
    return match[1] if match else None


def key_text(value: object) -> str | None:
    """Return the text of a cell that says whose a row is: as `cell_text`, and ``7.0`` is ``7``."""
    text = cell_text(value)
    return text if text is None else whole_number(text) or text


def text_column(column: pd.Series, *, key: bool = False) -> pd.Series:
    """Return a column as texts.

    Parameters
    ----------
    column : pandas.Series
        Of any type.
    key : bool
        By `key_text` instead of `cell_text`.

    Returns
    -------
    pandas.Series
        Categorical, missing where a cell is; with the index of ``column``.
    """
    text_of = key_text if key else cell_text
    places: npt.NDArray[Any]
    if isinstance(column.dtype, pd.CategoricalDtype):
        places, distinct = column.cat.codes.to_numpy(), list(column.cat.categories)
    elif column.dtype.kind in _SAFE_KINDS or pd.api.types.infer_dtype(column) == "string":
        places, found = pd.factorize(column, use_na_sentinel=True)
        distinct = list(found.to_numpy() if column.dtype.kind == "f" else found)  # an index would widen float32
    else:  # 1 and True are the same to a dictionary: each cell by itself
        places, distinct = np.arange(len(column)), list(column)
    codes, texts = pd.factorize(np.array([text_of(value) for value in distinct], object), use_na_sentinel=True)
    by_place = np.append(codes, -1)  # the last one serves missing cells
    coded = pd.Categorical.from_codes(by_place[places], pd.Index(texts, dtype=object))
    return pd.Series(coded, index=column.index, name=column.name)


def text_list(column: pd.Series, *, key: bool = False) -> list[str]:
    """Return a column as a list of texts, empty where a cell is missing; parameters as for `text_column`."""
    return ["" if text != text else str(text) for text in text_column(column, key=key).astype(object).tolist()]


def row_hashes(frame: pd.DataFrame, key: bytes) -> npt.NDArray[np.uint64]:
    """Return a keyed hash of each row's content.

    Equal rows have equal hashes, in any order of rows and columns and in any file format. It orders rows without
    telling anything about how they stood.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table; all its columns count.
    key : bytes
        At most 64 bytes.

    Returns
    -------
    uint64 array, shape (rows,)
    """
    total = np.zeros(len(frame), np.uint64)
    for name in frame.columns:
        column = text_column(frame[name])

        def hashed(text: str | None, name: str = str(name)) -> int:
            # the length of the name tells where it ends; no text is the same as an empty one
            content = f"{len(name)}:{name}{'' if text is None else '=' + text}".encode("utf-8", "surrogatepass")
            return int.from_bytes(hashlib.blake2b(content, digest_size=8, key=key).digest(), "big")

        values = np.array([*map(hashed, column.cat.categories), hashed(None)], np.uint64)
        total += values[column.cat.codes.to_numpy()]  # a sum: the order of columns does not matter
    return total


def table_hash(frame: pd.DataFrame, key: bytes) -> str:
    """Return a keyed hash of a table's content, whatever the order of its rows and columns; 32 hexadecimal digits."""
    with RowsHash(key) as content:
        content.add(row_hashes(frame, key))
        return content.digest()


class RowsHash(AbstractContextManager["RowsHash"]):
    """The hash of `table_hash`, of rows that come in batches.

    Parameters
    ----------
    key : bytes
        At most 64 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._key, self._rows = key, Buckets(1)

    def __exit__(self, *told: Any) -> None:
        self._rows.__exit__(*told)

    def add(self, hashes: npt.NDArray[np.uint64]) -> None:
        """Take the hashes of rows (`row_hashes`)."""
        self._rows.add(hashes.reshape(-1, 1))

    def digest(self) -> str:
        """Return the hash of all rows, in any order; nothing may be added afterwards."""
        total = hashlib.blake2b(digest_size=16, key=self._key)
        for part in self._rows.parts():  # a part's rows lie before those of the next
            total.update(np.sort(part, axis=None).astype(">u8").tobytes())
        return total.hexdigest()
