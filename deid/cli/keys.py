"""The command keys: find the values of a column that enough rows have."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from pathlib import Path

from deid.base.errors import ConfigError
from deid.cli import Summary, command, option, print_csv, tell
from deid.cli.paying import told_forecast, told_payment
from deid.dp.options import DraftOptions, JoinedTableOptions, PayingOptions, UnitOptions


@command
def keys(
    told: Summary,
    *,
    source: JoinedTableOptions,
    column: str = option(..., "Column whose values are not known.", metavar="COLUMN"),
    delta: float = option(..., "With what probability more than epsilon may be lost.", "--keys-delta", metavar="D"),
    paying: PayingOptions,
    whom: UnitOptions,
    draft: DraftOptions,
    output: Path | None = option(None, "Write the values as a file for --domains (.toml).", "--output", "-o"),
) -> None:
    """Find which values of a column enough rows have, with differential privacy; prints them with counts as CSV.

    Example: deid keys visits.csv --column diagnosis --epsilon 0.2 --keys-delta 1e-7 --ledger study.ledger -o codes.toml
    """
    from deid.base.files import check_new_file
    from deid.dp.forecast import keys_sections
    from deid.dp.keys import find_keys, plan_keys

    ledger = paying.open()
    plan = plan_keys(column, paying.epsilon, delta, source.protected(ledger), **asdict(whom))
    if draft.dry_run:
        told_forecast(told, keys_sections(plan))
        return
    if output is None:
        raise ConfigError("the values need a file to be written to", "for example: -o codes.toml")
    check_new_file(output)
    told.begin(output)
    request = paying.request or secrets.token_hex(8)
    found = find_keys(whom.read(source, tell), plan, ledger=ledger, request=request, noise=paying.noise)
    found.write_domain(output)
    told_payment(told, paying, ledger)
    notes = [f"a value has a noisy count of {plan.threshold} or more; rarer ones are not told"]
    told.notes += notes if found.rows else [*notes, "no value had as many rows"]
    told.extra = found.as_dict()
    print_csv(found.to_frame(), "%.6g")
    told.sign_paid(output, notes)
