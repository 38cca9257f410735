"""What commands share that listen: how clients are spoken to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.errors import ConfigError
from deid.base.network import Certificate
from deid.base.options import option


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
