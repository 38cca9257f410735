"""Ages in numbers of records, which cannot hold a label."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deid.records.record import Change, Place, changed

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_OLD = 90


def is_old(value: str) -> bool:
    """Tell whether a number of years is an age that identifies (45 CFR 164.514(b)(2)(i)(C)).

    >>> [is_old(value) for value in ("93", "90.5", "89", "1e2", "-93", "9.0E1", "old")]
    [True, True, False, True, False, True, False]
    """
    return _NUMBER.fullmatch(value) is not None and float(value) >= _OLD


def write_age(raw: str, place: Place, changes: Sequence[Change]) -> str:
    """Return an old age with its changes: the least where no number is left, for an age has one."""
    return "".join(filter(str.isdecimal, changed(place.text, changes))) or str(_OLD)
