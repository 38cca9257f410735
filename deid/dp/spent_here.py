"""What a user saw a ledger spend: an older copy of it, put in its place, would grant that again.

A ledger cannot tell by itself that it is yesterday's. Whoever is charged notes so beside his keys (``ledgers.log``: the
ledger's id, the budget, the number of the charge), and a ledger that has fewer charges is refused.
"""

from __future__ import annotations

from deid.base.errors import StoreError
from deid.base.noted import furthest, note_if_possible, noted

_LIST = "ledgers"


def charges_noted(ledger: str, budget: str) -> int:
    """Return the number of the last charge that was noted; ask before the ledger is read, as others may spend."""
    return furthest(noted(_LIST), {"ledger": ledger, "budget": budget}, "line")[0]


def note_charge(ledger: str, budget: str, line: int) -> None:
    """Note a charge that is made."""
    note_if_possible(_LIST, {"ledger": ledger, "budget": budget, "line": line})


def check_charges(there: int, seen: int, shown: str) -> None:
    """Refuse a ledger that has fewer charges than were noted.

    Raises
    ------
    StoreError
    """
    if there < seen:
        what = f"the ledger has {there} charges, and you were charged {seen}: an older copy lies in its place"
        raise StoreError(what, "put the newest one back: what was spent stays spent", shown)
