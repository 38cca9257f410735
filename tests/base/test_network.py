"""Ends of connections: addresses, and TLS that takes whom it should."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.base.network import Address, Certificate, tls_client


def made(folder: Path, name: str) -> Certificate:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", f"{name}.key", "-out", f"{name}.pem"]
    try:
        subprocess.run([*command, *names], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    (folder / f"{name}.key").chmod(0o600)
    return Certificate(folder / f"{name}.pem", folder / f"{name}.key")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Certificate, Certificate]:
    folder = tmp_path_factory.mktemp("certificates")
    return made(folder, "server"), made(folder, "client")


def shake(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Let two ends agree, without a network; what one refuses is raised."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        server.wrap_bio(there, back, server_side=True),
        client.wrap_bio(back, there, server_hostname="localhost"),
    ]
    for _ in range(5):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue


@pytest.mark.parametrize("text", ["127.0.0.1:2575", "[::1]:0", "relay.hospital.example:65535"])
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert str(Address.read(text)) == text


@pytest.mark.parametrize("text", ["", "localhost", ":80", "host:", "host:x", "host:-1", "host:65536", "host:٣"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no address"):
        Address.read(text)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback_is_what_this_machine_alone_reaches(host: str, loopback: bool) -> None:
    assert Address(host, 80).loopback is loopback
    assert Address("localhost.example", 80).loopback is False


def test_a_client_trusts_who_is_signed_by_its_file_and_nobody_else(
    certificates: tuple[Certificate, Certificate],
) -> None:
    server, other = certificates
    shake(server.server(), tls_client(server.chain))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(server.server(), tls_client(other.chain))


def test_a_server_that_wants_certificates_takes_those_it_signed_alone(
    certificates: tuple[Certificate, Certificate],
) -> None:
    server, client = certificates
    known, unknown, bare = (tls_client(server.chain) for _ in range(3))
    known.load_cert_chain(client.chain, client.key)
    unknown.load_cert_chain(server.chain, server.key)
    shake(server.server(client.chain), known)
    for refused in (unknown, bare):
        with pytest.raises(ssl.SSLError):
            shake(server.server(client.chain), refused)


def test_certificates_that_do_not_go_together_are_refused(
    certificates: tuple[Certificate, Certificate], tmp_path: Path
) -> None:
    server, client = certificates
    with pytest.raises(ConfigError, match="go together"):
        Certificate(server.chain, client.key)
    readable = tmp_path / "readable.key"
    readable.write_bytes(server.key.read_bytes())
    readable.chmod(0o644)
    with pytest.raises(ConfigError, match="other users"):
        Certificate(server.chain, readable)
    with pytest.raises(ConfigError, match="not a file"):
        Certificate(server.chain, tmp_path / "none.key")
    for signers in (server.key, tmp_path / "none.pem"):
        with pytest.raises(ConfigError, match="no certificates"):
            tls_client(signers)
        with pytest.raises(ConfigError, match="no certificates"):
            server.server(signers)
