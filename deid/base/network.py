"""Ends of connections: where something listens or sends to, and what speaks TLS there."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.errors import ConfigError, require, told_as
from deid.base.files import open_to_others
from deid.base.options import option


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, or to send to."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Address:
        """Read ``host:port``; an address of IPv6 stands in brackets.

        Raises
        ------
        ConfigError
            When it is none.

        Examples
        --------
        >>> Address.read("[::1]:2575").port
        2575
        """
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ConfigError("this is no address", "write host:port, such as 127.0.0.1:2575 or [::1]:2575")
        return cls(host, int(port))

    @property
    def loopback(self) -> bool:
        """Whether it is reached from this machine alone."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"


def bracketed(host: str) -> str:
    """Return a host as it stands before a port: addresses of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


@dataclass(frozen=True)
class Certificate:
    """A certificate for TLS, with its chain, and its key: files in PEM.

    Raises
    ------
    ConfigError
        When a file is not there, others may read the key, or the two do not go together.
    """

    chain: Path
    key: Path

    def __post_init__(self) -> None:
        for path in (self.chain, self.key):
            require(path.is_file(), f"{path} is not a file", "name the certificate and its key, in PEM")
        others = open_to_others(self.key, self.key.stat().st_mode)
        require(not others, f"the key {self.key} can be read by other users", f"run: chmod 600 {self.key}")
        self.server()

    @property
    def names(self) -> frozenset[str]:
        """Names and addresses that it is about: those by which clients call the machine."""
        from cryptography import x509

        found = x509.load_pem_x509_certificate(self.chain.read_bytes()).extensions
        try:
            told = found.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return frozenset()
        addresses = map(str, told.get_values_for_type(x509.IPAddress))
        return frozenset({*told.get_values_for_type(x509.DNSName), *addresses})

    def server(self, clients: Path | None = None) -> ssl.SSLContext:
        """Return what speaks TLS to those who connect.

        Parameters
        ----------
        clients : Path, optional
            Certificates in PEM: only who shows one that is signed by them may connect.

        Raises
        ------
        ConfigError
            When certificate and key do not go together, or the file of clients holds no certificates.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.chain, self.key, lambda: b"")
        except (OSError, ValueError):  # an SSLError is an OSError
            hint = "both in PEM, the key without a passphrase"
            raise ConfigError("certificate and key do not go together", hint, str(self.chain)) from None
        if clients is not None:
            _trust(context, clients)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass(frozen=True)
class CertificateOptions:
    """The certificate that clients are shown."""

    PANEL: ClassVar[str] = "Connections"
    tls_certificate: Path | None = option(None, "Speak TLS to senders: certificate with its chain (PEM).")
    tls_key: Path | None = option(None, "Key of the certificate (PEM, mode 0600).")

    def __post_init__(self) -> None:
        """Refuse what is half said."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ConfigError("TLS needs a certificate and its key", "give --tls-certificate and --tls-key")

    @property
    def certificate(self) -> Certificate | None:
        """The certificate, looked at, or None for connections without TLS."""
        return Certificate(self.tls_certificate, self.tls_key) if self.tls_certificate and self.tls_key else None


def tls_client(signers: Path) -> ssl.SSLContext:
    """Return what speaks TLS to a server whose certificate is signed by those of a file (PEM).

    Raises
    ------
    ConfigError
        When the file holds no certificates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _trust(context, signers)
    return context


def _trust(context: ssl.SSLContext, signers: Path) -> None:
    with told_as(ConfigError("this file holds no certificates", "give them in PEM", str(signers)), OSError):
        context.load_verify_locations(signers)
