"""The recall dial as users set it: a number, or the settings file that `deid calibrate` writes.

The dial is taken off the score of "no PHI" at every token (`deid.labeling.tagger.Tagger.bias`). A settings file names
the model that it was calibrated for; beside another one it is refused. A file ``dial.json`` in a model's folder is used
whenever the model is.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deid.base.errors import ConfigError, require
from deid.base.files import write_bytes
from deid.base.resources import resource_folder
from deid.labeling.tagger import Tagger, available_models

DIAL_FILE = "dial.json"
"""Name of the settings file in a model's folder."""


@dataclass(frozen=True, slots=True)
class Dial:
    """A position of the recall dial."""

    value: float
    model: str = ""
    """`fingerprint` of the model that it was calibrated for; empty for any."""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What else the settings file says, such as the target and the figures."""

    def for_model(self, tagger: Tagger) -> float:
        """Return the value.

        Raises
        ------
        ConfigError
            When it was calibrated for another model.
        """
        if self.model and self.model != fingerprint(tagger):
            raise ConfigError(
                "the dial was calibrated for another model", "calibrate again: deid calibrate GOLD --model NAME|DIR"
            )
        return self.value


def fingerprint(tagger: Tagger) -> str:
    """Return a checksum of what a model says about itself, which includes those of its files."""
    told = json.dumps(tagger.description, sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def parse_dial(text: str) -> Dial:
    """Return the dial that stands behind ``--dial``: a number, or the path of a settings file.

    Raises
    ------
    ConfigError
        When it is neither.
    """
    try:
        value = float(text)
    except ValueError:
        return read_dial(Path(text))
    require(math.isfinite(value), "the dial is no finite number", "0 is as trained, 0.5 to 2 finds more")
    return Dial(value)


def read_dial(path: Path) -> Dial:
    """Return the dial of a settings file.

    Raises
    ------
    ConfigError
        When it cannot be read or is none.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"the dial is no number and no file ({error.strerror})", "write a number or name a file", str(path)
        ) from None
    except (ValueError, RecursionError):
        raise ConfigError("no settings of a dial", "deid calibrate writes them", str(path)) from None
    value = content.get("dial") if isinstance(content, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError("no settings of a dial", "deid calibrate writes them", str(path))
    model = content.get("model", "")
    rest = {k: v for k, v in content.items() if k not in ("dial", "model")}
    return Dial(float(value), model if isinstance(model, str) else "", rest)


def write_dial(path: Path, dial: Dial) -> None:
    """Write a settings file; it holds figures and no text."""
    content = {"dial": dial.value, "model": dial.model, **dial.details}
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode(), private=False, replace=True)


def dial_of_folder(model: str | Path | None) -> Dial | None:
    """Return the dial in the folder of a model (a shipped one by name, or a path), if there is one."""
    name = str(model) if model else ""
    folder = resource_folder("models") / name if name in available_models() else Path(name)
    path = folder / DIAL_FILE
    return read_dial(path) if name and path.is_file() else None
