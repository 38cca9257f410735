"""Secret keys: where they come from, and the keyed hashes that are made with them.

A key is read from a file or from the environment, never from a command line. A missing key file is created once with
mode 0600, and the caller is told so that it can say so.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from deid.base.errors import ConfigError, require
from deid.base.files import open_to_others
from deid.base.options import option

KEY_VARIABLE = "DEID_KEY"
MAP_VERSION = 3
"""Newest version of the map from numbers to surrogates: 1 is a map a patient; 2 is one-to-one over all patients of a
key (`deid.replacement.numbers`), but for codes with Æ, Ð, Ø, Þ, which 3 parts from those with A to Z. `Key.map` says
which one a key goes by; keys, vaults and manifests name it."""
_MIN_BYTES = 16
_BLOCK = 64
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_MOST_JOBS = 10_000


@functools.lru_cache(maxsize=8)
def _begun(secret: bytes) -> tuple[hashlib._Hash, hashlib._Hash]:
    """Return the two hashes of HMAC-SHA256 (RFC 2104) with the key taken in: all its messages go on from there."""
    block = (secret if len(secret) <= _BLOCK else hashlib.sha256(secret).digest()).ljust(_BLOCK, b"\0")
    return hashlib.sha256(block.translate(_INNER)), hashlib.sha256(block.translate(_OUTER))


@dataclass(frozen=True, slots=True)
class Key:
    """A secret. Its `repr` does not show it."""

    secret: bytes = field(repr=False)
    map_version: int | None = None
    """Version of the map of numbers that the key was made with; None when it does not say, see `map`."""

    def __post_init__(self) -> None:
        if len(self.secret) < _MIN_BYTES:
            raise ConfigError(
                f"the key has {len(self.secret)} bytes, fewer than {_MIN_BYTES}",
                "let deid create one (name a file that does not exist yet) or write 32 random bytes in hex",
            )

    @classmethod
    def drawn(cls) -> Key:
        """Return a key that nobody has."""
        return cls(secrets.token_bytes(32))

    @property
    def map(self) -> int:
        """Version of the map of numbers that surrogates go by: what the key says, else `MAP_VERSION`."""
        return self.map_version or MAP_VERSION

    def of_map(self, version: int) -> Key:
        """Return the key for runs that go by this version of the map of numbers, such as those of an older vault.

        Raises
        ------
        ConfigError
            When the key says another one.
        """
        if self.map_version not in (None, version):
            raise ConfigError(
                f"the key goes by version {self.map_version} of the map of numbers, the vault by {version}",
                "give the key that this vault was filled with, or make a new vault",
            )
        return Key(self.secret, version)

    def mac(self, *parts: str) -> bytes:
        """Return HMAC-SHA256 over ``parts``, each preceded by its length so that no two lists collide."""
        inner, outer = _begun(self.secret)
        inner, outer = inner.copy(), outer.copy()
        coded = [part.encode("utf-8", "surrogatepass") for part in parts]
        inner.update(b"".join([len(raw).to_bytes(8, "big") + raw for raw in coded]))
        outer.update(inner.digest())
        return outer.digest()

    def number(self, *parts: str) -> int:
        """Return a keyed 256-bit number for ``parts``; take it modulo n for a choice among n."""
        return int.from_bytes(self.mac(*parts), "big")

    def pseudonym(self, kind: str, value: str) -> str:
        """Return a keyed pseudonym of ``value``: ``kind`` and 16 hex digits, such as ``doc-5f0c9a7be1d24c38``."""
        return f"{kind}-{self.mac('pseudonym', kind, value).hex()[:16]}"

    def derive(self, purpose: str) -> Key:
        """Return another key for one purpose, so that no two uses share key material."""
        return Key(self.mac("derive", purpose))

    def fingerprint(self) -> str:
        """Return 16 hex digits by which the key can be recognized, and which tell nothing of it."""
        return self.mac("fingerprint").hex()[:16]


def config_folder() -> Path:
    """Return the folder of the user's keys: ``$XDG_CONFIG_HOME/deid``, else ``~/.config/deid``."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "deid"


def default_key_path() -> Path:
    """Return where the user's key lies when none is named."""
    return config_folder() / "key"


def load_key(
    path: Path | None = None,
    *,
    create: bool = True,
    variable: str = KEY_VARIABLE,
    default: Path | None = None,
    kept_for: str = "the same key gives the same pseudonyms",
) -> tuple[Key, str]:
    """Load the key from ``path``, else from the variable ``DEID_KEY``, else from the default file.

    Parameters
    ----------
    path : Path, optional
        File that holds the key in hex.
    create : bool
        Create a missing file with a new random key.
    variable, default : str, Path
        Another variable and another default file, for keys of another use.
    kept_for : str
        Why a new key is to be kept, for the sentence to show.

    Returns
    -------
    (Key, str)
        The key, and a sentence to show when a file was created (else empty).

    Raises
    ------
    ConfigError
        The file is missing (and not to be created), readable by others, or holds no hexadecimal key.
    """
    if path is None and os.environ.get(variable):
        return _parse(os.environ[variable], f"the variable {variable}"), ""
    file = path or default or default_key_path()
    shown = f"the key file {file}"
    try:
        text = file.read_text(encoding="ascii")
        mode = file.stat().st_mode
    except FileNotFoundError:
        if not create:
            raise ConfigError(f"{shown} does not exist", "name an existing file with --key-file") from None
        return _create(file, kept_for)
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{shown} cannot be read", "it must be a readable text file with a key in hex") from None
    require(not open_to_others(file, mode), f"{shown} can be read by other users", f"run: chmod 600 {file}")
    return _parse(text, shown), ""


def _parse(text: str, shown: str) -> Key:
    digits, named, version = text.partition("map")
    try:
        key = Key(bytes.fromhex(digits.strip()), int(version) if named else None)
    except ValueError:
        hint = f"write at least 32 hex digits into it, and below them nothing or: map {MAP_VERSION}"
        raise ConfigError(f"{shown} holds no hexadecimal key", hint) from None
    if not 1 <= key.map <= MAP_VERSION:
        raise ConfigError(
            f"{shown} goes by version {key.map} of the map of numbers", "use the version of deid that made it"
        )
    return key


def _create(file: Path, kept_for: str) -> tuple[Key, str]:
    secret = Key.drawn().secret
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # written aside and linked, so that two processes that start together end up with one key
        part = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as stream:
                stream.write(f"{secret.hex()}\nmap {MAP_VERSION}\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.link(part, file)
        except FileExistsError:
            return load_key(file, create=False)
        finally:
            part.unlink(missing_ok=True)
    except OSError:
        raise ConfigError(f"the key file {file} cannot be created", "name a writable place with --key-file") from None
    return Key(secret, MAP_VERSION), f"created a new key in {file} (mode 0600); keep it: {kept_for}"


@dataclass(frozen=True)
class KeyOptions:
    """The site's key."""

    key_file: Path | None = option(None, "Key in hex; else variable DEID_KEY, else ~/.config/deid/key.")

    def existing(self) -> Key | None:
        """Load the key if there is one; commands that only look never make one."""
        if self.key_file is None and not os.environ.get(KEY_VARIABLE) and not default_key_path().exists():
            return None
        return load_key(self.key_file, create=False)[0]


@dataclass(frozen=True)
class WorkOptions(KeyOptions):
    """The site's key, and how many processes work."""

    jobs: int = option(1, "Processes; 0 for one a core.")

    @property
    def processes(self) -> int:
        """Number of processes."""
        return job_count(self.jobs)


def job_count(jobs: int) -> int:
    """Return the number of processes for what the user said.

    Raises
    ------
    ConfigError
        When it is negative, or more than any machine has cores.
    """
    require(jobs >= 0, "the number of jobs must be at least 1", "such as --jobs 2; 0 for one a core")
    require(jobs <= _MOST_JOBS, f"more than {_MOST_JOBS} jobs", "0 is one a core")
    return jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
