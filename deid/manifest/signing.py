"""The key that signs manifests: Ed25519 (RFC 8032), a key of its own, so that its public half lets anybody check.

It lies in ``$XDG_CONFIG_HOME/deid/signing-key`` (mode 0600), or comes from the variable ``DEID_SIGNING_KEY``; it is
made at first use. Beside it, in ``signing-key.log``, stands the checksum of every manifest that it signed, so that one
that was taken away later is missed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deid.base.errors import ConfigError, OutputError, told_as
from deid.base.keys import Key, config_folder, load_key
from deid.base.noted import note, noted

SIGNING_KEY_VARIABLE = "DEID_SIGNING_KEY"
_BYTES = 32
_LIST = "signing-key"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key pair. Its `repr` does not show the private half."""

    secret: Key
    """Its 32 bytes are the private key."""

    def __post_init__(self) -> None:
        if len(self.secret.secret) != _BYTES:
            raise ConfigError(
                f"the signing key has {len(self.secret.secret)} bytes, not {_BYTES}",
                "let deid create one: deid manifest key",
            )

    @property
    def public(self) -> str:
        """The public key, 64 hex digits."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.secret.secret).public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """Return the signature of a message, 128 hex digits."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.secret.secret).sign(message).hex()


def is_signed(public: str, message: bytes, signature: str) -> bool:
    """Tell whether a signature (hex) of a message was made with the private half of a public key (hex)."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint_of(public: str) -> str:
    """Return the fingerprint by which people compare public keys: 32 hex digits of SHA-256, in groups of four."""
    digits = hashlib.sha256(bytes.fromhex(public)).hexdigest()[:32]
    return " ".join(digits[at : at + 4] for at in range(0, 32, 4))


def signing_key_path() -> Path:
    """Return where the signing key lies."""
    return config_folder() / "signing-key"


def load_signing_key(*, create: bool = True) -> tuple[SigningKey, str]:
    """Load the signing key from the variable ``DEID_SIGNING_KEY``, else from its file.

    Parameters
    ----------
    create : bool
        Make one where there is none.

    Returns
    -------
    (SigningKey, str)
        The key, and a sentence to show when one was made (else empty).

    Raises
    ------
    ConfigError
        There is none (and none is to be made), it can be read by others, or it is no key.
    """
    key, created = load_key(
        None,
        create=create,
        variable=SIGNING_KEY_VARIABLE,
        default=signing_key_path(),
        kept_for="manifests are signed with it (deid manifest key shows the public half)",
    )
    return SigningKey(key), created


def replace_signing_key() -> tuple[SigningKey, Path]:
    """Make a new signing key; the old one stays beside it under its fingerprint.

    Returns
    -------
    key : SigningKey
        The new key.
    place : Path
        Where the old one lies now.

    Raises
    ------
    ConfigError
        When the key comes from the environment, or there is none to replace.
    OutputError
        When the files cannot be written.
    """
    if os.environ.get(SIGNING_KEY_VARIABLE):
        raise ConfigError(f"the signing key comes from {SIGNING_KEY_VARIABLE}", "replace it there")
    old, _ = load_signing_key(create=False)
    place = signing_key_path()
    aside = place.with_name(f"{place.name}.{fingerprint_of(old.public).replace(' ', '')[:16]}")
    with told_as(OutputError("the signing key cannot be replaced", "check the rights of its folder"), OSError):
        place.rename(aside)
    return load_signing_key()[0], aside


def public_pem(public: str) -> bytes:
    """Return a public key as PEM (SubjectPublicKeyInfo, RFC 8410), as openssl reads it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def read_public_key(path: Path) -> str:
    """Return the public key of a file, PEM or 64 hex digits, as 64 hex digits.

    Raises
    ------
    ConfigError
        When the file cannot be read or holds no Ed25519 public key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        content = path.read_bytes().strip()
        if content.startswith(b"-----"):
            key = load_pem_public_key(content)
        else:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(content.decode("ascii")))
    except (OSError, ValueError, UnsupportedAlgorithm):
        raise ConfigError(
            "the file of the public key cannot be read, or holds none", "name what deid manifest key -o wrote"
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigError("this is no Ed25519 public key", "name what deid manifest key -o wrote")
    return key.public_bytes_raw().hex()


@dataclass(frozen=True, slots=True)
class Signed:
    """One line of the list of what a site signed."""

    log: str
    """SHA-256 of the first manifest of the output; empty for itself."""
    number: int
    digest: str
    """SHA-256 of the manifest."""


def note_signed(entry: Signed) -> None:
    """Add a manifest to the list of what was signed.

    Raises
    ------
    OutputError
        When the list cannot be written.
    """
    try:
        note(_LIST, {"log": entry.log, "number": entry.number, "sha256": entry.digest})
    except OSError:
        raise OutputError("the list of signed manifests cannot be written", "check the rights of its folder") from None


def signed_by_this_site(log: str) -> Iterator[Signed]:
    """Yield what this site signed for one output, of which ``log`` is the first manifest that is there (SHA-256)."""
    begin = next((entry.log for entry in _entries() if entry.digest == log and entry.log), log)
    return (entry for entry in _entries() if begin in (entry.log, entry.digest))


def _entries() -> Iterator[Signed]:
    for entry in noted(_LIST):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            yield Signed(str(entry["log"]), int(entry["number"]), str(entry["sha256"]))
