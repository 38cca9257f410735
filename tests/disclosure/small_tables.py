"""Small tables for the tests of disclosure control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from deid.table.hierarchy import Hierarchy
from deid.table.microdata import Microdata


def microdata(
    rows: Sequence[Sequence[object]],
    columns: str,
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    person: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Microdata:
    """Make a table; ``columns`` names them, sensitive ones with an ``!``, others with a ``.`` behind."""
    roles = {}
    for name in columns.split():
        roles[name.strip("!.")] = {"!": "sensitive", ".": "other"}.get(name[-1], "quasi-identifier")
    frame = pd.DataFrame([list(row) for row in rows], columns=list(roles))
    return Microdata(frame, roles, hierarchies or {}, person, kinds or {})


NINE = microdata(
    [
        ("M", 40, "Cancer"),
        ("M", 40, "TB"),
        ("F", 40, "HIV"),
        ("F", 40, "HIV"),
        ("M", 30, "Asthma"),
        ("M", 30, "Broken Leg"),
        ("F", 30, "Influenza"),
        ("F", 30, "Cancer"),
        ("F", 30, "TB"),
    ],
    "sex age disease!",
)
"""The nine rows of the lecture: 2-anonymous, 1-diverse."""
