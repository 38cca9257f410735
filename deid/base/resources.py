"""Finds models/ and dictionaries/: in the installed package, else at the root of the checkout."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError


@functools.cache
def resource_folder(kind: str) -> Path:
    """Return the folder ``models`` or ``dictionaries`` that ships with this installation.

    Raises
    ------
    ConfigError
        When the installation is incomplete.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_data" / kind, package.parent / kind):
        if folder.is_dir():
            return folder
    raise ConfigError(f"this installation has no {kind}/ folder", "install the package again, then run: deid doctor")


@functools.cache
def shipped_table(name: str) -> dict[str, Any]:
    """Return what a TOML file below ``dictionaries/`` holds, such as ``labels/labels.toml``."""
    return tomllib.loads((resource_folder("dictionaries") / name).read_text(encoding="utf-8"))
