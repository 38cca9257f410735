"""Health and counters over HTTP, for this machine alone: counts, categories and error classes, nothing of a record."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from deid.base.errors import ConfigError
from deid.streaming.totals import Totals

_ADDRESS = "127.0.0.1"


def exposition(totals: Totals) -> str:
    """Return the counts in Prometheus' text format."""
    lines: list[str] = []

    def metric(name: str, kind: str, what: str, values: dict[str, float]) -> None:
        lines.extend((f"# HELP deid_{name} {what}", f"# TYPE deid_{name} {kind}"))
        lines.extend(f"deid_{name}{labels} {value}" for labels, value in values.items())

    metric("records_total", "counter", "Records that were written.", {"": totals.records})
    errors = {f'{{error="{error}"}}': float(count) for error, count in sorted(totals.errors.items())}
    metric("failures_total", "counter", "Records that were left out, by class of the error.", errors or {"": 0})
    spans = {f'{{category="{category}"}}': float(count) for category, count in sorted(totals.spans.items())}
    metric("spans_total", "counter", "Replaced spans, by category.", spans or {"": 0})
    metric("input_bytes_total", "counter", "Bytes of the input that are dealt with.", {"": totals.read})
    metric("output_bytes_total", "counter", "Bytes of the output.", {"": totals.written})
    metric("worker_restarts_total", "counter", "Workers that died and were replaced.", {"": totals.restarts})
    for name, value in sorted({**totals.gauges, "patients_written_twice": len(totals.writings)}.items()):
        metric(name, "gauge", f"{name.replace('_', ' ').capitalize()}.", {"": value})
    seconds = round(time.monotonic() - totals.started, 3)
    metric("uptime_seconds", "gauge", "Seconds since this process began.", {"": seconds})
    return "\n".join(lines) + "\n"


@contextmanager
def serve_metrics(port: int, totals: Totals) -> Iterator[int]:
    """Answer ``/metrics`` and ``/health`` on the loopback address while the block runs.

    Parameters
    ----------
    port : int
        0 for any free one.
    totals : Totals

    Yields
    ------
    int
        The port.

    Raises
    ------
    ConfigError
        When the port cannot be used.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = {"/metrics": lambda: exposition(totals), "/health": lambda: "ok\n"}.get(self.path)
            body = (answer() if answer else "not found\n").encode()
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet: standard error is for the run."""

    try:
        server = ThreadingHTTPServer((_ADDRESS, port), Handler)
    except (OSError, OverflowError):
        raise ConfigError(f"port {port} of this machine cannot be used for metrics", "choose another port") from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
