"""What a manifest says of a run's options: numbers, switches, words of the program, names of columns; else pseudonyms.

What a user writes can hold PHI (``--patient-pattern``, a field that is called like a patient, the name of a file). A
text is told where the program has checked that it is a word of its own, where it names a column of a table that is
published, or where it consists of words that only describe files and fields (`deid.base.safe_names`). A file is told by
its keyed checksum. Anything else stands as a keyed pseudonym: the site can show that two runs had the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.base.resources import resource_folder
from deid.base.safe_names import safe_name
from deid.manifest.digests import keyed_digest

NOT_TOLD = frozenset(
    """
    aligned config connections csv dead_letters drift edits failed forward forward_tls idle ids job_folder
    job_source job_store job_target jobs journal json key_file ledger listen manifest manifest_every
    metrics_port new_key_file out output patience plot poll preview preview_count queue quiet report request
    resume review rotate save_model save_scheme sheet source studio target tls_certificate tls_clients tls_key tokens
    vault vault_key_file
    """.split()  # noqa: SIM905
)
"""Options that say where something is put, which key is used, or how the work is done; none changes what comes out."""
WORDS = frozenset(
    """
    accept algorithm by category distance encoding features format from_format language map_from map_to matching method
    map objective ontology output_encoding preset rule_languages scheme search to tokenizer unit
    """.split()  # noqa: SIM905
)
"""Options of words that the program checks: a run with another word does not begin."""
COLUMNS = frozenset(
    """
    age code codes column dims discharge drop on outcome person protect publish qi quasi_identifiers sensitive slices
    unaltered visit
    """.split()  # noqa: SIM905
)
"""Options that name columns of tables."""


@dataclass(frozen=True, slots=True)
class OptionRecord:
    """One option of a run, as it was understood. Its `repr` shows no value."""

    name: str
    value: Any


def told_options(options: Iterable[OptionRecord], key: Key) -> dict[str, Any]:
    """Return what a manifest says of options.

    Parameters
    ----------
    options : iterable of OptionRecord
    key : Key
        Key of manifests.
    """
    told = {}
    for option in options:
        if option.name not in NOT_TOLD and option.value is not None and option.value not in ((), []):
            told[option.name] = _told(option.name, option.value, key)
    return dict(sorted(told.items()))


def _told(name: str, value: Any, key: Key) -> Any:
    if isinstance(value, list | tuple):
        return [_told(name, one, key) for one in value]
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Path):
        return _file(value, key) or key.pseudonym("file", str(value))
    text = str(value)
    if name in WORDS or name in COLUMNS:
        return _file(Path(text), key) if name in WORDS and Path(text).is_file() else text
    if name in ("policy", "model") and text in _shipped():
        return text
    left, equals, right = text.partition("=")
    if equals and (content := _file(Path(right), key)):
        return f"{left if name == 'hierarchy' else _text(left, key)}={content}"
    return _file(Path(text), key) or _text(text, key)


def _text(text: str, key: Key) -> str:
    return text if text and safe_name(text) == text else key.pseudonym("text", text)


def _file(path: Path, key: Key) -> str:
    """Return the keyed checksum of a file or folder; nothing where there is none."""
    try:
        return keyed_digest(key, path) if path.is_file() or path.is_dir() else ""
    except (OSError, ValueError, DeidError):
        return ""


@cache
def _shipped() -> frozenset[str]:
    policies = (path.stem for path in (resource_folder("dictionaries") / "policies").glob("*.toml"))
    models = (path.name for path in resource_folder("models").iterdir() if path.is_dir())
    return frozenset((*policies, *models, "none"))
