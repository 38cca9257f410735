"""Proposing a schema: which role a column probably plays, with the reason, for a person to check.

Names of columns and what their values look like decide. Whatever nobody can place is proposed as a quasi-identifier: a
column that was protected for nothing costs utility, one that was overlooked costs privacy.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from deid.base.errors import InputError
from deid.disclosure.schema import Column, Schema
from deid.io.fields import NAMED, words_of
from deid.table.hierarchy_builders import icd_9_cm, icd_10_cm
from deid.table.microdata import NA_CODE, Codes, Microdata, has_open_ends, numbers_and_words
from deid.table.scalars import misread_form

_CODES = {
    "icd-10-cm": re.compile(r"[A-TV-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?"),
    "icd-9-cm": re.compile(r"(?:\d{3}|V\d\d)(?:\.?\d{1,2})?|E\d{3}(?:\.?\d)?"),
}
_BUILDERS: dict[str, Callable[..., object]] = {"icd-10-cm": icd_10_cm, "icd-9-cm": icd_9_cm}
_SHAPES = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "social security numbers": re.compile(r"\d{3}-\d\d-\d{4}"),
    "telephone numbers": re.compile(r"\+?1?[-. ]?\(?\d{3}\)?[-. ]?\d{3}[-. ]?\d{4}"),
}
_NUMBER = re.compile(r"(?:\d\W?){6}")
_TELLING = re.compile(r"(?:\S*\w\S*\s+){3}\S*\w|\b[A-Z\u00c0-\u00de]\w.*\s[A-Z\u00c0-\u00de]\w", re.DOTALL)
"""Four words, or two with a capital: more than a code, a unit or a state."""
_ZIP = re.compile(r"\d{5}(?:-?\d{4})?|\d{3}\*\*")
_MOST = 0.9
"""Share of the distinct values that must look alike."""
_SAMPLE = 2000
_TEXT = 40  # characters of the mean value above which a column is free text


def propose_schema(table: Microdata) -> Schema:
    """Propose roles, kinds and hierarchies for every column.

    Parameters
    ----------
    table : Microdata
        A table; its roles are not looked at.

    Returns
    -------
    Schema
        Every column, with the reason for its role. ``person`` is a column that names persons and repeats, if any.
    """
    columns = {}
    person = None
    for name in table.frame.columns:
        columns[name] = _propose(table, name)
        repeats = len(table.codes(name).values) < len(table)
        complete = table.codes(name).codes.min() != NA_CODE
        if person is None and repeats and complete and words_of(name) & NAMED["person"]:
            person = name
    return Schema(columns, person)


def _propose(table: Microdata, name: str) -> Column:
    coded = table.codes(name)
    kind = table.kind(name)
    words = words_of(name)
    sample = coded.values[:: max(len(coded.values) // _SAMPLE, 1)]
    if not sample:
        return Column("other", reason="empty")
    recorded = int((coded.codes != NA_CODE).sum())
    distinct = f"{len(coded.values)} distinct values in {recorded} rows"
    if kind == "nominal" and float(np.mean([len(value) for value in sample])) > _TEXT:
        return Column("free-text", reason=f"long texts ({distinct})")
    for what, shape in _SHAPES.items():
        if _share(shape, sample) >= _MOST:
            return Column("identifier", "nominal", reason=f"looks like {what}")
    if hit := words & (NAMED["identifier"] | NAMED["person"]):
        return Column("identifier", "nominal", reason=f"named {min(hit)!r} ({distinct})")
    if _share(_ZIP, sample) >= _MOST and words & NAMED["zip"]:
        return Column("quasi-identifier", "nominal", {"kind": "prefixes"}, f"ZIP codes ({distinct})")
    system = _code_system(sample, words)
    if system is not None:
        tree = {"kind": system} if _placed(system, coded) else None
        return Column("sensitive", "nominal", tree, f"codes of {system} ({distinct})")
    if hit := words & NAMED["sensitive"]:
        return Column("sensitive", reason=f"named {min(hit)!r} ({distinct})")
    if kind == "date":
        return Column("quasi-identifier", None, {"kind": "dates"}, f"dates ({distinct})")
    numeric = kind == "numeric" or has_open_ends(coded.values)
    tree = {"kind": "automatic"} if numeric and len(coded.values) > 2 else None
    mixed = None
    if kind == "nominal" and (form := misread_form(coded.values)):
        distinct = f"{distinct}, {form}: write them so that they have an order"
        if form.startswith("dates"):
            return Column("quasi-identifier", reason=f"dates ({distinct})")
    if kind == "nominal" and numbers_and_words(coded.values) is not None:
        mixed, distinct = "nominal", f"{distinct}, numbers and words: codes, or correct them and say numeric"
    if hit := words & NAMED["quasi_identifier"]:
        return Column("quasi-identifier", mixed, tree, f"named {min(hit)!r} ({distinct})")
    if len(coded.values) == recorded == len(table) and kind == "nominal" and recorded > 1:
        return Column("identifier", reason=f"another value in every row ({distinct})")
    if len(coded.values) == 1 and recorded == len(table):
        if _NUMBER.search(coded.values[0]):
            return Column("identifier", "nominal", reason="one value only, a number that may be somebody's")
        if _TELLING.search(coded.values[0]):
            return Column("free-text", reason="one value only, a text that may name somebody")
        return Column("other", reason="one value only")
    return Column("quasi-identifier", mixed, tree, f"not recognized: treated as knowable ({distinct})")


def _share(shape: re.Pattern[str], values: tuple[str, ...]) -> float:
    return sum(shape.fullmatch(value) is not None for value in values) / len(values)


def _code_system(values: tuple[str, ...], words: set[str]) -> str | None:
    """Return the system whose codes the values look like; three digits alone are codes only under a name of codes."""
    dotted = any("." in value and not value.replace(".", "").isdigit() for value in values)
    systems = list(_CODES) if words & NAMED["codes"] else ["icd-10-cm"] * dotted
    return next((system for system in systems if _share(_CODES[system], values) >= _MOST), None)


def _placed(system: str, coded: Codes) -> bool:
    try:
        _BUILDERS[system](coded.values)
    except InputError:
        return False
    return True
