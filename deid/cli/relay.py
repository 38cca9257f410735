"""The command relay: messages of HL7 v2 as they come over the network, scrubbed on their way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.errors import ConfigError
from deid.base.options import again, option, size_of
from deid.cli.common import Summary
from deid.cli.filter import FeedOptions, feeding, tell
from deid.cli.listening_options import CertificateOptions
from deid.cli.option_groups import WorkOptions, command
from deid.pipeline.options import PipelineOptions
from deid.streaming.options import RecordOptions

_MESSAGES = "Messages"


@dataclass(frozen=True)
class LineOptions(CertificateOptions):
    """How senders and the receiver are connected."""

    tls_clients: Path | None = option(None, "Take senders alone whose certificates are signed by those in F (PEM).")
    forward_tls: Path | None = option(None, "Speak TLS to the receiver; its certificate is signed by those in F (PEM).")
    idle: float = option(0.0, "Close connections on which nothing comes for S seconds; 0 for never.", metavar="S")
    patience: float = option(30.0, "Seconds to wait for the receiver's answer.", metavar="S")
    connections: int = option(1000, "Connections at once.", minimum=1)

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        super().__post_init__()
        if self.tls_clients and not self.tls_key:
            raise ConfigError("TLS needs a certificate and its key", "give --tls-certificate and --tls-key")
        if self.idle < 0 or self.patience <= 0:
            raise ConfigError("--idle must not be below 0, --patience above it", "they are in seconds")


@dataclass(frozen=True)
class MessageOptions:
    """What messages may be."""

    PANEL: ClassVar[str] = _MESSAGES
    encoding: str = option("utf-8", "Encoding of messages that say none (MSH-18).", metavar="NAMES")
    max_record: int = option(
        64 << 20, "Reject longer messages: bytes, or with K, M, G (64M).", metavar="SIZE", read=size_of
    )
    places: Path | None = again(RecordOptions, "places", panel=_MESSAGES)
    timeout: float = option(600.0, "Give up on messages that take longer than S seconds.", metavar="S")

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        if self.timeout <= 0:
            raise ConfigError("--timeout must be above 0", "it is in seconds")


@command
def relay(
    told: Summary,
    *,
    listen: str = option("127.0.0.1:2575", "Where to listen; port 0 for any free one.", metavar="HOST:PORT"),
    forward: str | None = option(None, "Receiver of the scrubbed messages.", metavar="HOST:PORT"),
    output: Path | None = option(None, "Write the scrubbed messages to files in a folder.", "--output", "-o"),
    said: PipelineOptions,
    work: WorkOptions,
    dead_letters: Path | None = option(
        None, "Note messages that were left out in F: offset, length, keyed hash, error.", panel=_MESSAGES
    ),
    journal: Path | None = option(
        None, "Note in F what is safe; by default in the folder of --output.", panel=_MESSAGES
    ),
    rotate: int = option(
        64 << 20, "A file of --output is complete with SIZE bytes.", metavar="SIZE", read=size_of, panel=_MESSAGES
    ),
    lines: LineOptions,
    messages: MessageOptions,
    feed: FeedOptions,
) -> int:
    """Replace the PHI in HL7 v2 messages between sender and receiver (MLLP).

    A message is acknowledged when it is on the disk, or when the receiver has acknowledged it; one that fails is
    refused, never passed on. It runs until SIGTERM or Ctrl-C: what is under way is finished first. The exit status is 3
    when messages were left out.

    Example: deid relay --listen 127.0.0.1:2575 --output scrubbed --policy safe-harbor
    """
    from deid.base.network import Address, tls_client
    from deid.records.hl7v2 import BORDER, BORDER_BYTES
    from deid.streaming.framing import Delimited
    from deid.streaming.relay import Relay, run_relay
    from deid.streaming.work import Shape

    certificate = lines.certificate
    plan = Relay(
        Address.read(listen),
        Address.read(forward) if forward else None,
        output,
        journal,
        dead_letters,
        messages.max_record,
        rotate,
        lines.idle or None,
        lines.patience,
        lines.connections,
        certificate.server(lines.tls_clients) if certificate else None,
        tls_client(lines.forward_tls) if lines.forward_tls else None,
    )
    shape = Shape(
        Delimited(BORDER, BORDER_BYTES),
        "hl7v2",
        encoding=messages.encoding,
        max_record=messages.max_record,
        timeout=messages.timeout,
        places=messages.places,
    )

    def ready(address: Address) -> None:
        tell(f"listening on {address}")
        if not address.loopback and plan.tls is None:
            tell("other machines reach this without TLS: notes can be read on the way (--tls-certificate)")

    with feeding(told, said, work, feed, shape) as run:
        run_relay(plan, run.crew, run.key, run.totals, run.stop, ready, run.proof)
    return run.finish(told, 0)
