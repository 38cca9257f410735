"""What a user saw a ledger spend: an older copy of it, put in its place, would grant that again.

A ledger cannot tell by itself that it is yesterday's. Whoever is charged notes so beside his keys (``ledgers.log``: the
ledger's id, the budget, the number of the charge), and a ledger that has fewer charges is refused.
"""

from __future__ import annotations

from deid.base.errors import StoreError
from deid.base.noted import furthest, note_if_possible, noted

_LIST = "ledgers"
_charged: dict[str, bool] = {}
"""Requests that this process was charged for, and whether their answers are recorded."""


def charges_noted(ledger: str, budget: str) -> int:
    """Return the number of the last charge that was noted; ask before the ledger is read, as others may spend."""
    return furthest(noted(_LIST), {"ledger": ledger, "budget": budget}, "line")[0]


def note_charge(ledger: str, budget: str, line: int, request: str) -> None:
    """Note a charge that is made."""
    _charged[request] = False
    note_if_possible(_LIST, {"ledger": ledger, "budget": budget, "line": line})


def note_answer(request: str) -> None:
    """Note that the answer of a request is recorded."""
    _charged[request] = True


def charges_made() -> list[str]:
    """Say what this process was charged for since it was asked last: for a command that fails behind its charge."""
    answered = "its answer is recorded, and the same command with --request {} costs nothing"
    lost = "there is no answer, and as what was drawn may have been seen, asking again costs again (request {})"
    told = [
        f"the budget was charged all the same: {(answered if there else lost).format(request)}"
        for request, there in _charged.items()
    ]
    _charged.clear()
    return told


def check_charges(there: int, seen: int, shown: str) -> None:
    """Refuse a ledger that has fewer charges than were noted.

    Raises
    ------
    StoreError
    """
    if there < seen:
        what = f"the ledger has {there} charges, and you were charged {seen}: an older copy lies in its place"
        raise StoreError(what, "put the newest one back: what was spent stays spent", shown)
