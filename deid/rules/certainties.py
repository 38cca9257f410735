"""How sure the grammars are: ``dictionaries/patterns/certainties.toml``, which says what the numbers do."""

from __future__ import annotations

import functools
import tomllib
from typing import Any

from deid.base.errors import ConfigError
from deid.base.resources import resource_folder


@functools.cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(
        (resource_folder("dictionaries") / "patterns" / "certainties.toml").read_text(encoding="utf-8")
    )


def certainties(table: str) -> dict[str, float]:
    """Return a table of certainties by name.

    Raises
    ------
    ConfigError
        When there is no such table, or a number is not between 0 and 1.
    """
    found = _tables().get(table, {})
    wrong = [name for name, value in found.items() if not isinstance(value, float) or not 0.0 <= value <= 1.0]
    if wrong or not found:
        raise ConfigError(
            f"the table [{table}] is missing or has no certainties: {', '.join(wrong)}",
            "numbers between 0.0 and 1.0",
            "patterns/certainties.toml",
        )
    return found
