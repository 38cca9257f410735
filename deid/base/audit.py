"""Who did something and when, as it stands in ledgers, audit trails and lists of jobs."""

from __future__ import annotations

import datetime
import getpass


def login(nameless: str = "unknown") -> str:
    """Return the name of the account that runs this; ``nameless`` where it has none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return nameless


def now() -> str:
    """Return the time in UTC by ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
