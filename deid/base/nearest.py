"""The name that was probably meant, for hints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from deid.base.errors import ConfigError


def check_named(names: Iterable[str], asked: Iterable[str], whose: str = "the table") -> None:
    """Refuse columns that a table with these names does not have.

    Raises
    ------
    ConfigError
        Names the first one, and the nearest name that there is.
    """
    known = set(names := list(names))
    for name in asked:
        if name not in known:
            raise ConfigError(f"{whose} has no column {name!r}", nearest(name, names))


def nearest(name: str, known: Iterable[str], whose: str = "the table has") -> str:
    """Return a hint that names the known name nearest to ``name``, or all known ones."""
    names = list(map(str, known))
    close = difflib.get_close_matches(name, names, 1, 0.5) or [
        other for other in names if other.casefold() == name.casefold()
    ]
    if close:
        return f"did you mean {close[0]!r}?"
    return f"{whose} {', '.join(map(repr, names[:12]))}{', ...' if len(names) > 12 else ''}"
