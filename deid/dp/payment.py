"""Paying for a release or an answer before any noise is drawn, the same way everywhere."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from deid.base.errors import ConfigError, DeidError, OutputError
from deid.base.files import check_folder
from deid.base.late import pd
from deid.dp.accounts import Part
from deid.dp.budget import Ledger
from deid.dp.domain import Dimension
from deid.dp.noise import Noise
from deid.dp.release_files import check_suffix, release_paths
from deid.table.cell_text import table_hash

Made = TypeVar("Made")


class AlreadyReleased(DeidError):
    """The request was answered before; the recorded answer stands, and nothing was charged."""

    answer: str = ""
    """What the ledger recorded."""
    receipt: dict[str, Any] | None = None
    """What it says of the charge (`Ledger.receipt`)."""


def check_payer(ledger: Ledger | None, noise: Noise) -> None:
    """Refuse noise that protects without a ledger that pays for it.

    Raises
    ------
    ConfigError
        When there is no ledger; test noise, which protects nobody, needs none.
    """
    if ledger is None and noise.private:
        raise ConfigError("a release needs a ledger that pays for it", "run deid budget init, then use --ledger")


def row_key(ledger: Ledger | None) -> bytes:
    """Return the key by which the rows of a person are chosen: the same for all requests of a ledger."""
    return bytes.fromhex(ledger.id) if ledger is not None else b""


def table_mark(frame: pd.DataFrame, person: str | None, ledger: Ledger | None) -> str:
    """Return what tells whether two parts are of one table: its content in any order, and whose its rows are.

    In a table that was changed in between, or whose rows are another person's, a person may stand in both parts.
    """
    if ledger is None:
        return ""
    return mark_of(table_hash(frame, row_key(ledger)), person)


def mark_of(content: str, person: str | None) -> str:
    """Return the `table_mark` of a table whose content has this hash; none where there is none."""
    return content and f"{content}/{person}"


def partition_name(dimension: Dimension, mark: str) -> str:
    """Return a name for the way a dimension divides a table: other cells overlap with these, and are another partition.

    Parameters
    ----------
    dimension : Dimension
        The column and its cells.
    mark : str
        The table's `table_mark`.
    """
    cells = json.dumps([dimension.labels, dict(dimension.declaration), mark], sort_keys=True)
    return f"{dimension.name}#{hashlib.sha256(cells.encode()).hexdigest()[:16]}"


def part_path(parts: Sequence[tuple[Dimension, str]], mark: str) -> list[Part]:
    """Return where in a ledger the cost of a part of a table is booked; ``mark`` as that of `partition_name`."""
    return [(partition_name(own, mark), cell) for own, cell in parts]


def check_target(output: Path | None) -> Path:
    """Return where to write a release; refuse what cannot be written to before anything is charged.

    Raises
    ------
    ConfigError, OutputError
        When no file is named, its suffix is none of a release, or its folder is missing.
    """
    if output is None:
        raise ConfigError("a release needs a file to be written to", "for example: -o cube.parquet")
    check_suffix(output)
    check_folder(output)
    return output


def request_id(request: str | None, target: Path, ledger: Ledger | None) -> str:
    """Return the request's id, drawn at random if none is given.

    Raises
    ------
    OutputError
        When a file is there already that this request did not write; nothing was charged.
    """
    known = request is not None and ledger is not None and any(line.request == request for line in ledger.history())
    if any(os.path.lexists(path) for path in release_paths(target)) and not known:
        raise OutputError("the file to write exists already", "name a new file; nothing was charged")
    return request or secrets.token_hex(8)


def write_paid(
    make: Callable[[], Made], write: Callable[[Made, Path], None], target: Path, request: str, ledger: Ledger | None
) -> Made | None:
    """Make a release, which charges first, write it, and record the answer.

    Returns
    -------
    Made, optional
        The release; None when this request was answered before and its file is there.

    Raises
    ------
    OutputError
        When the request was answered by another file.
    """
    try:
        released = make()
    except AlreadyReleased as before:
        digest = json.loads(before.answer)["sha256"]
        if target.exists() and hashlib.sha256(target.read_bytes()).hexdigest() == digest:
            return None
        raise OutputError(
            "this request was answered before by another file", "use that one, or ask under a new id, which costs again"
        ) from None
    write(released, target)
    if ledger is not None:
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        ledger.answer(request, json.dumps({"release": target.name, "sha256": digest}))
    return released
