"""Counters in Prometheus' format, for this machine alone."""

from __future__ import annotations

import re
import socket
import urllib.error
import urllib.request

import pytest

from deid.base.errors import ConfigError
from deid.streaming.metrics import exposition, serve_metrics
from deid.streaming.totals import Totals

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"\})? [0-9.]+')


def counted() -> Totals:
    totals = Totals(records=5, read=700, written=650, restarts=1)
    totals.errors.update({"FormatError": 2})
    totals.spans.update({"DATE": 3, "PATIENT": 4})
    return totals


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()  # type: ignore[no-any-return]


def test_every_line_has_the_form_and_every_metric_its_type() -> None:
    lines = exposition(counted()).splitlines()
    assert all(line.startswith("# ") or LINE.fullmatch(line) for line in lines)
    for needed in (
        "deid_records_total 5",
        'deid_failures_total{error="FormatError"} 2.0',
        'deid_spans_total{category="PATIENT"} 4.0',
        "deid_input_bytes_total 700",
        "deid_output_bytes_total 650",
        "deid_worker_restarts_total 1",
    ):
        assert needed in lines
    named = {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
    assert named == {line.split()[2] for line in lines if line.startswith("# TYPE")}


def test_it_answers_while_it_runs_and_here_alone() -> None:
    totals = counted()
    with serve_metrics(0, totals) as port:
        assert get(port, "/health") == "ok\n"
        totals.records = 6
        assert "deid_records_total 6\n" in get(port, "/metrics")
        with pytest.raises(urllib.error.HTTPError):
            get(port, "/other")
        with pytest.raises(ConfigError):
            serve_metrics(port, totals).__enter__()
        own = socket.gethostbyname_ex(socket.gethostname())[2]
        for address in (a for a in own if not a.startswith("127.")):
            with pytest.raises(OSError):  # noqa: PT011  (refused or unreachable)
                socket.create_connection((address, port), timeout=2)
    with pytest.raises(urllib.error.URLError):
        get(port, "/health")
