"""The HTTP service as a process of its own: the library's answers, refusals that say nothing, and workers that die."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from commands import run
from senders import message
from served import Served, serving

import deid
from deid.base.keys import Key
from deid.manifest import check_manifests, log_of
from deid.manifest.content import read_manifest
from deid.pipeline.facts import models_of
from deid.replacement.vault import Vault

pytest.importorskip("uvicorn", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

KEY = Key(b"k" * 32)
RULES = {"model": "none", "key": KEY}
NOTE = "Mr. Zebulon Quartermain, 58, saw Dr. Alice Baker on 3 May 2019. MRN: 4471902."


FHIR = json.dumps(
    {
        "resourceType": "Observation",
        "id": "o1",
        "status": "final",
        "code": {"text": "Report"},
        "subject": {"reference": "Patient/4820001", "display": "Zebulon Quartermain"},
        "valueQuantity": {"value": 1.10, "unit": "mg"},
        "note": [{"text": NOTE}],
    }
).encode()
CDA = (
    '<ClinicalDocument xmlns="urn:hl7-org:v3"><recordTarget><patientRole><id extension="4471902" root="2.16.1"/>'
    "<patient><name><given>Zebulon</given><family>Quartermain</family></name></patient></patientRole></recordTarget>"
    f"<component><structuredBody><component><section><text>{NOTE}</text></section></component></structuredBody>"
    "</component></ClinicalDocument>"
).encode()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = ("--jobs", "1", "--max-body", "100K", "--queue", "2")
    with serving(
        tmp_path_factory.mktemp("serve"), *limits, roles={"all": "all", "lab": "scrub", "reader": "tag"}
    ) as one:
        yield one


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
    for kind, name, data in (
        ("application/hl7-v2", "hl7v2", message(1)),
        ("application/x-ndjson", "ndjson", lines),
        ("application/fhir+json", "fhir-resource", FHIR),
        ("application/cda+xml", "ccda", CDA),
    ):
        given, out = tmp_path / name, tmp_path / f"{name}.out"
        given.write_bytes(data)
        run("filter", given, "-o", out, "--from", name, "--model", "none", "-q", "--key-file", tmp_path / "key")
        written = out.read_bytes()
        assert b"Quartermain" not in written
        with served.client() as client:
            scrubbed = client.post("/scrub", content=data, headers={"content-type": kind})
            assert scrubbed.content == written
            assert scrubbed.headers["content-type"] == kind


def test_a_note_says_whose_it_is_as_a_line_does(tmp_path: Path) -> None:
    """Fields beside the text are read as those of a line: what is known of the patient is looked for."""
    (tmp_path / "known.csv").write_text("id,given,family\np1,Quorl,Xyzzy\n")
    told = ("--known", "known.csv", "--patient-field", "whose", "--known-field", "aide=DOCTOR")
    note = {"text": "quorl xyzzy, 3 May 2019; brunhild was told.", "whose": "p1", "aide": "Brunhild"}
    with serving(tmp_path, *told) as one, one.client("") as client:
        first, other = client.post("/scrub", json=[note, {**note, "whose": "p2"}]).json()
        line = client.post("/scrub", content=json.dumps(note), headers={"content-type": "application/x-ndjson"}).json()
        assert [set(first), first["text"]] == [{"text", "edits"}, line["text"]]
        assert {edit["category"] for edit in first["edits"]} == {"PATIENT", "DATE", "DOCTOR"}
        assert "quorl xyzzy" in other["text"]
        tagged = client.post("/tag", json=note).json()["spans"]
        assert {span["category"] for span in tagged} == {"PATIENT", "DATE", "DOCTOR"}
        pair = {"original": note["text"], "scrubbed": first["text"], "whose": "p1", "aide": "Brunhild"}
        assert client.post("/verify", json=pair).json()["holds"]
        assert not client.post("/verify", json={**pair, "scrubbed": other["text"]}).json()["holds"]


def test_a_pair_is_checked(served: Served) -> None:
    with served.client() as client:
        answer = client.post("/scrub", json={"text": NOTE}).json()
        pair = {"original": NOTE, "scrubbed": answer["text"]}
        told = client.post("/verify", json=pair).json()
        assert (told["holds"], told["by"]) == (True, "detection")
        assert told["replaced"] >= len(answer["edits"])
        assert client.post("/verify", json={**pair, "edits": answer["edits"]}).json()["by"] == "edit log"
        left = client.post("/verify", json=[pair, {**pair, "scrubbed": NOTE}]).json()
        assert [one["holds"] for one in left] == [True, False]
        changed = {**pair, "scrubbed": answer["text"].replace("saw", "met"), "edits": answer["edits"]}
        told = client.post("/verify", json=changed).json()
        assert not told["holds"]
        assert "differs" in told["detail"]
        assert re.fullmatch(r"offset \d+", told["position"])
        assert not re.search("Zebulon|Quartermain", json.dumps([left, told]))
        for kind, data in (("application/hl7-v2", message(1)), ("application/fhir+json", FHIR)):
            scrubbed = client.post("/scrub", content=data, headers={"content-type": kind}).text
            record = {"type": kind, "original": data.decode(), "scrubbed": scrubbed}
            assert client.post("/verify", json=record).json()["holds"], kind
            assert not client.post("/verify", json={**record, "scrubbed": data.decode()}).json()["holds"], kind
        lines = "".join(json.dumps(one) + "\n" for one in (pair, {**pair, "scrubbed": NOTE}, {"original": NOTE}))
        answers = client.post("/verify", content=lines, headers={"content-type": "application/x-ndjson"}).text
        first, second, third = map(json.loads, answers.splitlines())
        assert (first["holds"], second["holds"], third["problem"]["line"]) == (True, False, 3)
        wrong = [{"start": 5, "end": 2, "new_start": 0, "new_end": 1, "category": "x"}]
        assert client.post("/verify", json={**pair, "edits": wrong}).status_code == 422
        assert client.post("/verify", json={**pair, "edits": 7}).status_code == 422
        assert client.post("/verify", json={**pair, "type": "image/png"}).status_code == 422


def test_spans_of_a_record_are_told_by_place(served: Served) -> None:
    with served.client() as client:
        spans = client.post("/tag", content=message(1), headers={"content-type": "application/hl7-v2"}).json()["spans"]
    text = "Mr. Zebulon Quartermain called Dr. Thornbury on 3/14/2019, number 1."
    report = {text[s["start"] : s["end"]] for s in spans if s["place"].startswith("OBX")}
    assert {"Zebulon Quartermain", "Thornbury", "3/14/2019"} <= report
    assert {s["place"].split("-")[0].partition("[")[0] for s in spans} >= {"PID", "OBX"}


def test_a_stream_is_answered_line_by_line(served: Served) -> None:
    lines = [json.dumps({"id": f"n{n}", "text": f"{NOTE} {n}"}) for n in range(1200)]
    lines[7] = '{"number": "Zebulon Quartermain"}'
    lines[300] = "Zebulon Quartermain"
    sent = 0

    def body() -> Iterator[bytes]:  # pieces that end anywhere; the whole is larger than a body may be
        nonlocal sent
        data = "\n".join(lines).encode()
        for start in range(0, len(data), 999):
            sent += len(data[start : start + 999])
            yield data[start : start + 999]

    with served.client() as client:
        given = {"content-type": "application/x-ndjson"}
        answer = client.post("/scrub", content=body(), headers=given)
        assert answer.status_code == 200
        assert sent == len("\n".join(lines)) > 100_000
        assert not re.search("Zebulon|Quartermain", answer.text)
        written = [json.loads(line) for line in answer.text.splitlines()]
        assert len(written) == 1200
        for number in (7, 300):
            assert written[number]["problem"] == {**written[number]["problem"], "status": 422, "line": number + 1}
        plain = client.post("/scrub", content=lines[399], headers=given).json()
        assert written[399] == plain
        assert written[0] == client.post("/scrub", content=lines[0], headers=given).json()
        spans = client.post("/tag", content="\n".join(lines[:3]), headers=given).text.splitlines()
        assert [json.loads(one) for one in spans] == [
            client.post("/tag", json={"text": f"{NOTE} {n}"}).json() for n in range(3)
        ]
        too_long = json.dumps({"text": "x" * 200_000})
        assert client.post("/scrub", content=too_long, headers=given).status_code == 422
        assert client.post("/scrub", content="", headers=given).text == ""


def test_answers_to_a_stream_come_while_it_is_sent(served: Served) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    head = f"POST /scrub HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {served.tokens['all']}\r\n"
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(f"{head}Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for n in range(3):
            data = json.dumps({"text": f"{NOTE} {n}"}).encode() + b"\n"
            line.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            got = b""
            while f' {n}"}}\n'.encode() not in got:
                got += line.recv(65536)
            assert b"Quartermain" not in got
        line.sendall(b"0\r\n\r\n")
        while not got.endswith(b"0\r\n\r\n"):
            got += line.recv(65536)


def test_models_are_named(served: Served) -> None:
    with served.client() as client:
        told = client.get("/models").json()
    assert {"name": "en", "used": False} in told  # the service of these tests has rules alone
    used = [one for one in models_of(deid.build_pipeline(KEY).recognizer) if one["used"]]
    assert [one["name"] for one in used] == ["en"]
    assert used[0]["fingerprint"]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (422, NOTE.encode() + b"\xff\xfe", "text/plain"),
        (422, b'{"text": "Zebulon Quartermain', "application/json"),
        (422, b'{"note": "Zebulon Quartermain"}', "application/json"),
        (422, b"[" * 50_000, "application/json"),
        (422, b"Zebulon Quartermain", "application/hl7-v2"),
        (422, b"<Zebulon>Quartermain", "application/cda+xml"),
        (422, b"MSH|^~\\&|LAB|N|EHR|N|20240101||ORU^R01|1|P|2.5\rPID|1||Zebulon^Quartermain\r", "text/plain"),
        (422, b'{"resourceType": "Patient", "name": [{"family": "Quartermain"}]}', "text/plain"),
        (422, b'{"text": "Zebulon Quartermain"}', "text/plain"),
        (422, b"person_id,name\n40012,Zebulon Quartermain\n", "text/plain"),
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


@pytest.mark.parametrize(
    ("status", "kind", "body", "more"),
    [
        (415, "text/plain", gzip.compress(NOTE.encode(), mtime=0), {"Content-Encoding": "gzip"}),
        (415, "application/json", b'{"text": "Quartermain"}', {"Content-Encoding": "br"}),
        (415, "text/plain; charset=iso-8859-1", NOTE.encode(), {}),
        (415, "text/plain; Charset = 'utf-16'", NOTE.encode(), {}),
        (415, "text/plain; charset=utf-8; charset=utf-16", NOTE.encode(), {}),
        (415, "text/plain; charset*=iso-8859-1''utf-16", NOTE.encode(), {}),
        (422, "application/json", b'{"text": "safe", "text": "John Quartermain"}', {}),
        (422, "application/json", b'{"text": "John Quartermain", "at": NaN}', {}),
        (422, "application/json", b'[{"text": "John Quartermain", "at": -Infinity}]', {}),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(
    served: Served, status: int, kind: str, body: bytes, more: dict[str, str]
) -> None:
    with served.client() as client:
        answer = client.post("/scrub", content=body, headers={"Content-Type": kind, **more})
        assert answer.status_code == status
        assert "Quartermain" not in answer.text
        plain = client.post("/scrub", content=NOTE.encode(), headers={"Content-Type": 'text/plain; charset="UTF-8"'})
        assert plain.status_code == 200
        assert client.post("/scrub?policy=redact", content=NOTE.encode()).status_code == 400


@pytest.mark.parametrize(
    ("name", "values"),
    [("Content-Type", ("application/x-ndjson", "application/json")), ("Content-Encoding", ("identity", "gzip"))],
)
def test_what_says_how_a_body_is_read_stands_once(served: Served, name: str, values: tuple[str, str]) -> None:
    """A proxy could go by the last of two, where the service goes by the first."""
    headers = [("Content-Type", "application/x-ndjson")] if name != "Content-Type" else []
    headers += [(name, value) for value in values]
    with served.client() as client:
        answer = client.post("/scrub", content=b'{"text": "John Quartermain"}', headers=headers)
    assert answer.status_code == 400
    assert "Quartermain" not in answer.text


def test_a_body_of_two_lengths_is_no_request(served: Served) -> None:
    """A proxy could take the rest for another request, of another client."""
    head = f"POST /scrub HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.tokens['all']}\r\n"
    body = b"Content-Length: 15\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nQuart\r\n0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port)) as link:
        link.settimeout(10)
        link.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: link.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"Quart" not in answer.partition(b"\r\n\r\n")[2]


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
        for worker in served.workers():
            os.kill(worker, signal.SIGKILL)
        answers = [one.result() for one in asked]
    assert {status for status, _ in answers} <= {200, 503}
    assert any(status == 503 for status, _ in answers)
    assert all(said == "1" for status, said in answers if status == 503)
    assert not any("Quartermain" in said for _, said in answers)
    with served.client() as client:
        assert client.post("/scrub", json={"text": NOTE}).json()["text"] == scrubbed
        assert re.search(r"^deid_worker_restarts_total [1-9]", client.get("/metrics").text, re.MULTILINE)


@pytest.mark.slow
def test_workers_that_are_killed_while_they_begin_are_begun_again(tmp_path: Path) -> None:
    """As when memory is short for a while: 503 meanwhile, and then answers; nobody has to start the service again."""
    with serving(tmp_path, "--jobs", "1", roles={"all": "all"}) as one, one.client() as client:
        end = time.monotonic() + 60
        while client.get("/health/ready").status_code == 200:
            assert time.monotonic() < end
            for process in one.workers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.02)
        assert client.post("/scrub", content=NOTE.encode()).status_code == 503
        while (answer := client.post("/scrub", content=NOTE.encode())).status_code != 200:
            assert answer.status_code == 503
            assert time.monotonic() < end
            time.sleep(0.2)
        assert answer.text == deid.scrub(NOTE, **RULES)


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
        (("--vault", "v"), "--tokens"),
    ],
)
def test_what_would_let_in_others_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "deid", "serve", "--model", "none", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_a_token_is_made_by_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deid", "serve", "--tokens", "tokens", "--new-token", "lab=tag", "-q"]
    made = subprocess.run(command, cwd=tmp_path, stdout=-1, check=True, text=True).stdout.strip()
    assert made not in (tmp_path / "tokens").read_text()
    with serving(tmp_path, "--jobs", "1") as one, httpx.Client(base_url=one.url, trust_env=False) as client:
        headers = {"Authorization": f"Bearer {made}"}
        assert client.post("/tag", json={"text": NOTE}, headers=headers).status_code == 200


@pytest.mark.slow
def test_sessions_in_the_vault_go_on_after_a_restart_and_leave_a_trail(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    Vault.create(place, KEY, who="test").close()
    arguments, roles = ("--jobs", "1", "--vault", "vault"), {"all": "all", "other": "all"}
    with serving(tmp_path, *arguments, roles=roles) as one, one.client() as client, one.client("other") as other:
        masked = client.post("/mask", json={"text": NOTE}).json()
        assert client.post("/unmask", json=masked).status_code == 400  # no purpose, so nothing is told
        told = client.post("/unmask", json={**masked, "why": "the answer is for the ward"})
        assert told.json()["text"] == NOTE
        assert other.post("/unmask", json={**masked, "why": "x"}).status_code == 404
        headers = dict(client.headers)
    with (
        serving(tmp_path, *arguments) as one,
        httpx.Client(base_url=one.url, headers=headers, trust_env=False) as client,
    ):
        assert client.post("/mask", json={"text": NOTE, "session": masked["session"]}).json() == masked
        again = client.post("/unmask", json={**masked, "why": "asked again"})
        assert again.json()["text"] == NOTE
        assert client.post("/unmask", json={"text": "x", "session": "f" * 64, "why": "x"}).status_code == 404
    with Vault.open(place, KEY) as vault:
        lines = [(line.who, line.why) for line in vault.audit() if line.action == "reidentify"]
        assert vault.verify().entries > 2
    assert lines.count(("all", "the answer is for the ward")) == 1
    assert ("all", "asked again") in lines
    assert {who for who, _ in lines} == {"all"}


def test_a_day_is_proved_and_compared_with_the_weeks_before(tmp_path: Path) -> None:
    asked = ("--manifest", "day.json", "--manifest-every", "40", "--drift", "drift.json", "--jobs", "1")
    with serving(tmp_path, *asked) as one, one.client("") as client:
        assert client.post("/scrub", content=NOTE, headers={"content-type": "text/plain"}).status_code == 200
        assert client.post("/scrub", json=[{"text": f"{NOTE} {n}"} for n in range(60)]).status_code == 200
        assert client.post("/scrub", content="{", headers={"content-type": "application/json"}).status_code == 422
        assert client.post("/tag", json={"text": NOTE}).status_code == 200
    told = [read_manifest(path) for _, path in log_of(tmp_path / "day.json")]
    assert [m.run["documents"] for m in told] == [0, 61, 1]  # the first says that it began
    assert sum(m.run["failed"] for m in told) == 1
    assert told[1].run["categories"]["PATIENT"] == 61
    check = check_manifests(None, first=tmp_path / "day.json")
    assert (check.faults, check.goes_on) == ((), False)
    kept = json.loads((tmp_path / "drift.json").read_text())["sources"]
    assert [[sums[0] for sums in weeks.values()] for weeks in kept.values()] == [[61]]
    for file in ("day.json", "drift.json"):
        assert "Quartermain" not in (tmp_path / file).read_text()


def test_what_a_client_does_not_finish_keeps_nobody_waiting(served: Served) -> None:
    head = f"POST /scrub HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.tokens['all']}\r\n"
    bodies = {
        "text/plain": b"Content-Length: 90000\r\n\r\nMr. Zebulon",
        "application/x-ndjson": b'Transfer-Encoding: chunked\r\n\r\n17\r\n{"text": "Mr. Zebulon"}',
    }
    for _ in range(20):
        for kind, body in bodies.items():
            with socket.create_connection(("127.0.0.1", served.port)) as line:
                line.sendall(f"{head}Content-Type: {kind}\r\n".encode() + body)
    with served.client() as client:
        for _ in range(100):
            if "deid_streams 0" in (told := client.get("/metrics").text):
                break
        assert re.search(r"^deid_streams 0$", told, re.MULTILINE)
        assert re.search(r"^deid_waiting 0$", told, re.MULTILINE)
        assert client.post("/scrub", json={"text": NOTE}).status_code == 200


def test_a_stream_outlives_its_workers(served: Served) -> None:
    lines = [json.dumps({"id": f"n{n}", "text": f"{NOTE} {n}"}) for n in range(600)]

    def body() -> Iterator[bytes]:
        for n, line in enumerate(lines):
            if n in (150, 400):
                for worker in served.workers():
                    os.kill(worker, signal.SIGKILL)
            yield f"{line}\n".encode()

    with served.client() as client:
        answer = client.post("/scrub", content=body(), headers={"content-type": "application/x-ndjson"})
    written = [json.loads(line) for line in answer.text.splitlines()]
    assert len(written) == 600
    assert not re.search("Zebulon|Quartermain", answer.text)
    lost = [one["problem"] for one in written if "problem" in one]
    assert {one["status"] for one in lost} <= {503}
    assert len(lost) <= 2
