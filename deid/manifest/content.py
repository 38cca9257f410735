"""What a manifest is, as a value and as bytes, and where those of an output lie.

One output has a row of them: ``OUT.manifest.json`` of the run that made it, ``OUT.manifest.2.json`` of the next that
had to do with it (a check, an audit), and so on. Each names the one before by its checksum.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from deid.base.errors import MALFORMED, FormatError, OutputError, told_as
from deid.base.safe_names import safe_name

FORMAT = "deid manifest 1"


def canonical(content: Any) -> bytes:
    """Return JSON values as bytes, the same for equal values: sorted keys, no white space, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: tuples and sets as lists, numbers of libraries as numbers, no infinities.

    Raises
    ------
    TypeError
        For anything else, paths included: what a manifest holds is chosen, not taken as it comes.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "item") and not isinstance(value, float):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    raise TypeError(f"{type(value).__name__} has no place in a manifest")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest. Holds no text of a document, and no name of a file that came from outside."""

    run: Mapping[str, Any]
    """What was done: two runs with the same input, program, options and key have the same."""
    made: Mapping[str, str]
    """When, in UTC: ``began`` and ``ended``."""
    number: int
    """1 for the first beside an output."""
    previous: str
    """SHA-256 of the manifest before; empty for the first."""
    public_key: str
    signature: str = ""

    def unsigned(self) -> bytes:
        """Return what is signed."""
        return canonical({name: value for name, value in self._values().items() if name != "signature"})

    def compared(self) -> str:
        """Return the SHA-256 of what two equal runs have in common: all but times, chain and signature."""
        return hashlib.sha256(canonical(self.run)).hexdigest()

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        return (json.dumps(self._values(), indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode()

    def digest(self) -> str:
        """Return the SHA-256 of the file, by which the next manifest names it."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def _values(self) -> dict[str, Any]:
        return {"format": FORMAT, **{field.name: getattr(self, field.name) for field in fields(self)}}

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "") -> Manifest:
        """Return the manifest of a file's content; ``where`` names the file in errors.

        Raises
        ------
        FormatError
            When it is no manifest, or not as it was written, to the byte.
        """
        wrong = FormatError("this is no manifest of deid, or it was changed", "see docs/manifest.md", where)
        with told_as(wrong, *MALFORMED):
            values = json.loads(data)
            if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
                raise wrong
            manifest = cls(**values)
            same = manifest.to_bytes() == data
        texts = (manifest.previous, manifest.public_key, manifest.signature)
        if not same or not all(isinstance(text, str) for text in texts) or not isinstance(manifest.number, int):
            raise wrong
        if not isinstance(manifest.run, dict) or not isinstance(manifest.made, dict):
            raise wrong
        return manifest


def manifest_path(out: Path) -> Path:
    """Return where the first manifest of an output lies: beside it.

    Raises
    ------
    OutputError
        Of a folder without a name, as ``/``.
    """
    if out.name in ("", ".."):
        raise OutputError("the folder has no name that a manifest beside it could have", "name it by its own name")
    return out.with_name(f"{out.name}.manifest.json")


def numbered(first: Path, number: int) -> Path:
    """Return where the manifest of a number lies, from the place of the first."""
    return first if number == 1 else first.with_name(f"{first.stem}.{number}{first.suffix}")


def log_of(first: Path) -> list[tuple[int, Path]]:
    """Return the manifests of an output by number, those that there are."""
    pattern = re.compile(rf"{re.escape(first.stem)}\.([1-9][0-9]*){re.escape(first.suffix)}")
    found = [(1, first)] if first.is_file() else []
    if first.parent.is_dir():
        for path in first.parent.iterdir():
            if (match := pattern.fullmatch(path.name)) and int(match[1]) > 1 and path.is_file():
                found.append((int(match[1]), path))
    return sorted(found)


def listing_manifest(manifests: Sequence[Manifest]) -> Manifest | None:
    """Return the manifest of the last run that wrote the output, whose list of files counts."""
    return next((manifest for manifest in reversed(manifests) if manifest.run.get("outputs")), None)


def listed_files(manifests: Sequence[Manifest]) -> dict[str, str]:
    """Return the files that an output should have, with their checksums: of an output that grows those of all runs."""
    listed: dict[str, str] = {}
    for manifest in manifests:
        if (outputs := manifest.run.get("outputs")) and isinstance(outputs, Mapping):
            told = {str(name): str(digest) for name, digest in outputs.items()}
            listed = {**listed, **told} if manifest.run.get("grows") else told
    return listed


def written_beside(manifests: Sequence[Manifest]) -> dict[str, str]:
    """Return the further files that runs wrote, by what they are, with their checksums: those of the latest run that
    names each, from the last one that wrote the output.
    """
    written: dict[str, str] = {}
    for manifest in manifests:
        if manifest.run.get("outputs") and not manifest.run.get("grows"):
            written = {}
        beside = manifest.run.get("beside")
        written |= {str(what): str(told) for what, told in beside.items()} if isinstance(beside, Mapping) else {}
    return written


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a file.

    Raises
    ------
    FormatError
        When it cannot be read, or is none.
    """
    with told_as(FormatError("the manifest cannot be read", "check the rights", safe_name(path.name)), OSError):
        data = path.read_bytes()
    return Manifest.from_bytes(data, safe_name(path.name))
