"""What commands share that pay for a release and write it to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from deid.cli.common import Summary

if TYPE_CHECKING:
    from deid.dp.budget import Ledger

__all__ = ["pay_and_write", "request_of", "target_of"]

Made = TypeVar("Made")


def target_of(output: Path | None) -> Path:
    """Return where to write a release; refuse what cannot be written to before anything is charged."""
    from deid.base.errors import ConfigError
    from deid.base.files import check_folder
    from deid.dp.release_files import check_suffix

    if output is None:
        raise ConfigError("a release needs a file to be written to", "for example: -o cube.parquet")
    check_suffix(output)
    check_folder(output)
    return output


def request_of(request: str | None, target: Path, payer: Ledger | None) -> str:
    """Return the request's id; refuse, before anything is charged, to write over a file."""
    import os
    import secrets

    from deid.base.errors import OutputError
    from deid.dp.release_files import release_paths

    known = request is not None and payer is not None and any(line.request == request for line in payer.history())
    if any(os.path.lexists(path) for path in release_paths(target)) and not known:
        raise OutputError("the file to write exists already", "name a new file; nothing was charged")
    return request or secrets.token_hex(8)


def pay_and_write(
    run: Callable[[], Made],
    write: Callable[[Made, Path], None],
    epsilon: float,
    payer: Ledger | None,
    request: str,
    target: Path,
    summary: Summary,
) -> Made | None:
    """Run a release, which charges first, write it, and record the answer; None when it was answered before."""
    import hashlib
    import json

    from deid.base.errors import OutputError
    from deid.dp.payment import AlreadyReleased

    try:
        released = run()
    except AlreadyReleased as before:
        digest = json.loads(before.answer)["sha256"]
        if target.exists() and hashlib.sha256(target.read_bytes()).hexdigest() == digest:
            summary.notes.append("this request was answered before; the release is there, and nothing was charged")
            return None
        raise OutputError(
            "this request was answered before by another file", "use that one, or ask under a new id, which costs again"
        ) from None
    write(released, target)
    if payer is not None:
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        payer.answer(request, json.dumps({"release": target.name, "sha256": digest}))
        summary.notes.append(f"charged epsilon {epsilon:g}; {payer.account().left()}")
    return released
