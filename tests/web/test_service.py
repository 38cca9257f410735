"""The HTTP service as a process of its own: the library's answers, refusals that say nothing, and workers that die."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from senders import message

import deid
from deid.base.keys import Key
from deid.web.tokens import new_token

pytest.importorskip("uvicorn", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

KEY = Key(b"k" * 32)
RULES = {"model": "none", "key": KEY}
NOTE = "Mr. Zebulon Quartermain, 58, saw Dr. Alice Baker on 3 May 2019. MRN: 4471902."


@dataclass
class Served:
    process: subprocess.Popen[bytes]
    url: str
    tokens: dict[str, str]

    def client(self, who: str = "all") -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "key").write_text("6b" * 32)
    (folder / "key").chmod(0o600)
    command = [sys.executable, "-m", "deid", "serve", "--tokens", "tokens", "--key-file", "key"]
    tokens = {}
    done = subprocess.run([*command, "--new-token", "all=all", "-q"], cwd=folder, stdout=-1, check=True)
    tokens["all"] = done.stdout.decode().strip()
    for who, role in (("lab", "scrub"), ("reader", "tag")):
        tokens[who] = new_token(folder / "tokens", who, frozenset({role}))
    options = ["--listen", "127.0.0.1:0", "--model", "none", "--jobs", "1", "--max-body", "100K", "--queue", "2"]
    process = subprocess.Popen([*command, *options], cwd=folder, stderr=subprocess.PIPE)
    assert process.stderr
    url = ""
    for line in process.stderr:
        if found := re.search(r"listening on (http\S+)", line.decode()):
            url = found[1]
            break
    assert url
    yield Served(process, url, tokens)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"Quartermain" not in said


def workers(served: Served) -> list[int]:
    place = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
    return [int(n) for n in place.read_text().split()]


def test_answers_are_the_librarys(served: Served) -> None:
    scrubbed = deid.scrub(NOTE, **RULES)
    with served.client() as client:
        assert client.post("/scrub", content=NOTE, headers={"content-type": "text/plain"}).text == scrubbed
        answer = client.post("/scrub", json={"text": NOTE}).json()
        assert answer["text"] == scrubbed
        for edit in answer["edits"]:
            assert NOTE[edit["start"] : edit["end"]] not in scrubbed
        assert [one["text"] for one in client.post("/scrub", json=[{"text": NOTE}, {"text": ""}]).json()] == [
            scrubbed,
            "",
        ]
        spans = client.post("/tag", json={"text": NOTE}).json()["spans"]
        assert [(s["start"], s["end"], s["category"]) for s in spans] == [
            (s.start, s.end, s.category) for s in deid.find(NOTE, model="none")
        ]


def test_records_are_answered_as_the_filter_writes_them(served: Served, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("6b" * 32)
    (tmp_path / "key").chmod(0o600)
    lines = b"".join(json.dumps({"id": f"n{n}", "text": f"{NOTE} {n}"}).encode() + b"\n" for n in range(3))
    for kind, name, data in (("application/hl7-v2", "hl7v2", message(1)), ("application/x-ndjson", "ndjson", lines)):
        command = [sys.executable, "-m", "deid", "filter", "--from", name, "--model", "none", "-q", "--key-file"]
        written = subprocess.run([*command, str(tmp_path / "key")], input=data, stdout=-1, check=True).stdout
        with served.client() as client:
            assert client.post("/scrub", content=data, headers={"content-type": kind}).content == written


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (422, NOTE.encode() + b"\xff\xfe", "text/plain"),
        (422, b'{"text": "Zebulon Quartermain', "application/json"),
        (422, b'{"note": "Zebulon Quartermain"}', "application/json"),
        (422, b"[" * 50_000, "application/json"),
        (422, b"Zebulon Quartermain", "application/hl7-v2"),
        (422, b"<Zebulon>Quartermain", "application/cda+xml"),
        (422, b'{"id": "1", "text": "ok"}\nZebulon Quartermain\n', "application/x-ndjson"),
        (413, NOTE.encode() * 2000, "text/plain"),
        (415, NOTE.encode(), "image/png"),
    ],
)
def test_what_is_refused_is_not_repeated(served: Served, status: int, body: bytes, kind: str) -> None:
    with served.client() as client:
        answer = client.post("/scrub", content=body, headers={"content-type": kind})
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert not re.search("Zebulon|Quartermain", answer.text)
        assert answer.headers["x-request-id"]
        assert client.post("/scrub", content="ok", headers={"content-type": "text/plain"}).text == "ok"


def test_who_may_ask_what(served: Served) -> None:
    for who, path, status in [
        ("", "/scrub", 401), ("lab", "/scrub", 200), ("reader", "/scrub", 403), ("reader", "/tag", 200),
        ("lab", "/tag", 403), ("lab", "/mask", 200), ("lab", "/unmask", 403), ("", "/metrics", 401),
    ]:  # fmt: skip
        with served.client(who) as client:
            call = client.get(path) if path == "/metrics" else client.post(path, json={"text": NOTE})
            assert call.status_code == status, (who, path)
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.get("/health/live").status_code == client.get("/health/ready").status_code == 200
        wrong = {"Authorization": "Bearer " + "x" * 40}
        assert client.post("/scrub", content=NOTE, headers=wrong).status_code == 401


def test_a_text_is_masked_and_its_answer_unmasked(served: Served) -> None:
    with served.client() as client, served.client("lab") as other:
        masked = client.post("/mask", json={"text": NOTE}).json()
        assert masked["text"] == deid.Session(**RULES).mask(NOTE)
        assert not re.search("Quartermain|4471902", json.dumps(masked))
        assert client.post("/unmask", json=masked).json()["text"] == NOTE
        again = client.post("/mask", json={"text": NOTE, "session": masked["session"]}).json()
        assert again == masked
        assert other.post("/mask", json={"text": "x", "session": masked["session"]}).status_code == 404
        assert client.post("/unmask", json={"text": "x", "session": "none"}).status_code == 404


def test_a_slow_client_keeps_nobody_waiting(served: Served) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(20)]
    for one in slow:
        one.sendall(b"POST /scrub HTTP/1.1\r\nHost: x\r\n")
    with served.client() as client:
        assert client.post("/scrub", json={"text": NOTE}).status_code == 200
    for one in slow:
        one.close()


def test_more_than_can_wait_is_told_to_come_again_and_a_worker_that_dies_costs_its_request(served: Served) -> None:
    scrubbed = deid.scrub(NOTE, **RULES)
    long = {"text": f"{NOTE} " * 1000}

    def ask(n: int) -> tuple[int, str]:
        with served.client() as client:
            answer = client.post("/scrub", json=long if n < 6 else {"text": NOTE})
            return answer.status_code, answer.headers.get("retry-after", "") or answer.json().get("text", "")

    with ThreadPoolExecutor(12) as threads:
        asked = [threads.submit(ask, n) for n in range(12)]
        for worker in workers(served):
            os.kill(worker, signal.SIGKILL)
        answers = [one.result() for one in asked]
    assert {status for status, _ in answers} <= {200, 503}
    assert any(status == 503 for status, _ in answers)
    assert all(said == "1" for status, said in answers if status == 503)
    assert not any("Quartermain" in said for _, said in answers)
    with served.client() as client:
        assert client.post("/scrub", json={"text": NOTE}).json()["text"] == scrubbed
        assert re.search(r"^deid_worker_restarts [1-9]", client.get("/metrics").text, re.MULTILINE)


def test_the_interface_is_described_without_anything_from_elsewhere(served: Served) -> None:
    with served.client() as client:
        told = client.get("/openapi.json").json()
        assert {"/scrub", "/tag", "/mask", "/unmask", "/policies", "/metrics"} <= told["paths"].keys()
        assert client.get("/docs").status_code == 404
        assert "safe-harbor" in client.get("/policies").json()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--listen", "0.0.0.0:0"), "without a token"),
        (("--new-token", "lab=scrub"), "--tokens"),
        (("--tokens", "t", "--new-token", "lab=king"), "roles"),
        (("--tls-key", "k"), "TLS needs"),
    ],
)
def test_what_would_let_in_others_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "deid", "serve", "--model", "none", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()
