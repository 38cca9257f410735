"""The foundation of what listens, attacked: nothing gets in without a token, and nothing gets out that should not."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deid.base.errors import ConfigError, InputError
from deid.web.guard import HEADERS, OWN_HEADER, Guard, Served
from deid.web.listening import listen
from deid.web.tokens import Link, TokenFile, hash_of, new_token

httpx = pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("fastapi", reason="FastAPI is not installed")

HOSTS = frozenset({"127.0.0.1:8765", "localhost:8765"})
BASE = "http://127.0.0.1:8765"
NAME = "Szymborska"
ROLES = frozenset({"read", "write"})


def application():
    from fastapi import Request
    from pydantic import BaseModel

    from deid.web.problems import application as empty

    app = empty("test")

    class Note(BaseModel):
        text: str
        tags: dict[str, int] = {}

    @app.get("/")
    def page() -> str:
        return "page"

    @app.get("/api/notes/{name}")
    def note(name: str) -> dict:
        if name == "odd":
            raise ValueError(NAME)
        if name == "wrong":
            raise InputError("a wrong thing", "do it well")
        return {"name": name}

    @app.post("/api/notes")
    def write(note: Note, request: Request) -> dict:
        return {"length": len(note.text), "caller": request.state.caller.name}

    @app.get("/health")
    def health() -> str:
        return "ok"

    return app


def asking(access=None, **how):
    guard = Guard(application(), HOSTS, access, open_paths=frozenset({"/health"}), **how)
    return guard


def ask(guard, method="GET", path="/", headers=None, **how):
    async def once():
        transport = httpx.ASGITransport(guard)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            return await client.request(method, path, headers=headers or {}, **how)

    return asyncio.run(once())


def entered(guard, link):
    """Use a link; return the headers of the page's script."""
    answer = ask(guard, path=link.new())
    assert answer.status_code == 200
    return {"cookie": answer.headers["set-cookie"].partition(";")[0], OWN_HEADER: "1"}


@pytest.mark.parametrize("path", ["/", "/none", "/api/notes/odd", "/api/notes/a", "/health"])
def test_every_answer_carries_the_headers(path):
    answer = ask(asking(), path=path)
    for name, value in HEADERS:
        assert answer.headers[name.decode()] == value.decode()
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert len(answer.headers["x-request-id"]) == 36


@pytest.mark.parametrize("host", ["evil.example:8765", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8765", ""])
def test_a_name_that_resolves_to_this_machine_is_not_served(host):
    assert ask(asking(), headers={"host": host}).status_code == 421
    assert ask(asking(), path=Link("a").new(), headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8765"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_requests_of_other_sites_are_refused(headers, method):
    link = Link("a")
    guard = asking(link)
    own = entered(guard, link)
    path = "/api/notes" if method == "POST" else "/api/notes/a"
    assert ask(guard, method, path, {**own, **headers}).status_code == 403
    assert ask(asking(), method, path, headers).status_code == 403


def test_a_cookie_alone_changes_and_reads_nothing():
    link = Link("anna")
    guard = asking(link)
    own = entered(guard, link)
    assert ask(guard, "POST", "/api/notes", own, json={"text": "abc"}).json() == {"length": 3, "caller": "anna"}
    bare = {"cookie": own["cookie"]}
    assert ask(guard, "POST", "/api/notes", bare, json={"text": "abc"}).status_code == 403
    assert ask(guard, "GET", "/api/notes/a", bare).status_code == 403
    assert ask(guard, "GET", "/", bare).status_code == 200  # the page itself, which holds nothing


def test_a_link_works_once():
    link = Link("a")
    guard = asking(link)
    path = link.new()
    answer = ask(guard, path=path)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert path.partition("=")[2] not in cookie
    again = ask(guard, path=path)
    assert again.status_code == 401
    assert "set-cookie" not in again.headers
    assert ask(guard).status_code == 401
    assert ask(guard, headers={"cookie": "deid-8765=" + path.partition("=")[2]}).status_code == 401
    # another link lets another browser in, and the first stays in; other programs' cookies disturb nobody
    assert ask(guard, headers=entered(guard, link)).status_code == 200
    assert ask(guard, headers={"cookie": f'a[]{{}}="; {cookie.partition(";")[0]}'}).status_code == 200


def test_head_does_not_use_a_link_up():
    link = Link("a")
    guard = asking(link)
    path = link.new()
    assert ask(guard, "HEAD", path).status_code == 401
    assert ask(guard, path=path).status_code == 200


def test_bearer_tokens_have_names_and_roles(tmp_path):
    file = tmp_path / "tokens"
    first, second = new_token(file, "engine", frozenset({"read"})), new_token(file, "archive", ROLES)
    assert file.stat().st_mode & 0o777 == 0o600
    assert first not in file.read_text()
    guard = asking(TokenFile(file, ROLES))
    answer = ask(guard, "POST", "/api/notes", {"authorization": f"Bearer {second}"}, json={"text": ""})
    assert answer.json()["caller"] == "archive"
    for wrong in ("", "Bearer", f"Bearer {first}x", f"Basic {first}", f"Bearer {hash_of(first)}"):
        refused = ask(guard, path="/api/notes/a", headers={"authorization": wrong})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    # a token that is taken away stops, without a restart; a file that others can read lets nobody in
    file.write_text("".join(line + "\n" for line in file.read_text().splitlines() if "engine" not in line))
    assert ask(guard, headers={"authorization": f"Bearer {first}"}).status_code == 401
    assert ask(guard, headers={"authorization": f"Bearer {second}"}).status_code == 200
    file.chmod(0o644)
    assert ask(guard, headers={"authorization": f"Bearer {second}"}).status_code == 503
    assert ask(guard, path="/health", headers={"host": "10.1.2.3"}).status_code == 200


def test_roles_of_a_token():
    file_roles = frozenset({"all"})
    from deid.web.tokens import Caller

    assert Caller("a", file_roles).may("write")
    assert not Caller("a", frozenset({"read"})).may("write")


@pytest.mark.parametrize(
    ("content", "mode", "what"),
    [
        ("a read sha256:" + "0" * 64, 0o640, "other users"),
        ("", 0o600, "no token"),
        ("# only a comment\n", 0o600, "no token"),
        ("a read secret", 0o600, "line 1"),
        ("\na fly sha256:" + "0" * 64, 0o600, "line 2"),
    ],
)
def test_a_file_of_tokens_that_cannot_be_used_is_refused(tmp_path, content, mode, what):
    file = tmp_path / "tokens"
    file.write_text(content)
    file.chmod(mode)
    with pytest.raises(ConfigError, match=what) as refused:
        TokenFile(file, ROLES)
    assert "secret" not in str(refused.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        TokenFile(tmp_path / "none", ROLES)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"/{NAME}", None, 404),
        ("DELETE", "/api/notes", None, 405),
        ("GET", "/api/notes/odd", None, 500),
        ("GET", "/api/notes/wrong", None, 422),
        ("POST", "/api/notes", json.dumps({"note": NAME}), 422),
        ("POST", "/api/notes", json.dumps({"text": [NAME]}), 422),
        ("POST", "/api/notes", json.dumps({"text": "a", "tags": {NAME: "x"}}), 422),
        ("POST", "/api/notes", f'{{"{NAME}', 422),
        ("POST", "/api/notes", b"\xff\xfe" + NAME.encode(), 400),
        ("POST", "/api/notes", "[" * 100_000, 400),
    ],
)
def test_errors_say_nothing_of_the_request(method, path, body, status, capfd):
    answer = ask(asking(), method, path, {"content-type": "application/json"}, content=body)
    assert answer.status_code in (status, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    shown = capfd.readouterr()
    assert NAME not in answer.text + shown.out + shown.err


def test_bodies_have_a_limit_with_and_without_a_stated_length():
    guard = asking(max_body=1000)

    async def parts():
        for _ in range(20):
            yield b" " * 100

    assert ask(guard, "POST", "/api/notes", content=b" " * 1001).status_code == 413
    assert ask(guard, "POST", "/api/notes", content=parts()).status_code == 413


def test_a_body_that_does_not_come_is_waited_for_a_while():
    async def slow():
        yield b"{"
        await asyncio.sleep(5)
        yield b"}"

    assert ask(asking(patience=0.05), "POST", "/api/notes", content=slow()).status_code == 408


def test_a_body_that_comes_drop_by_drop_is_not_waited_for_for_ever():
    """Each part comes in time, and all of it would take four times as long; a stream has no such limit."""

    async def drops():
        for _ in range(40):
            yield b" "
            await asyncio.sleep(0.02)

    assert ask(asking(patience=0.2), "POST", "/api/notes", content=drops()).status_code == 408
    assert ask(asking(patience=0.2, endless=lambda _: True), "POST", "/api/notes", content=drops()).status_code != 408


def test_what_is_logged_names_routes_and_no_address():
    seen: list[Served] = []
    guard = asking(log=seen.append)
    ask(guard, path=f"/api/notes/{NAME}?q={NAME}", headers={"x-request-id": NAME})
    mine = "0b0e7f36-3c1f-4d3a-9a53-9a8d1f6f7a11"
    answer = ask(guard, "POST", "/api/notes", {"x-request-id": mine}, json={"text": NAME})
    assert answer.headers["x-request-id"] == mine
    assert NAME not in repr(seen)
    assert [one.route for one in seen] == ["/api/notes/{name}", "/api/notes"]
    assert [one.status for one in seen] == [200, 200]
    assert seen[1].id == mine


def test_elsewhere_than_on_loopback_needs_tokens_and_tls(tmp_path):
    with pytest.raises(ConfigError, match="token"):
        listen("0.0.0.0")
    with pytest.raises(ConfigError, match="readable"):
        listen("0.0.0.0", tokens=True)
    place = listen("localhost")
    with socket.create_connection(("127.0.0.1", place.port)):  # no part of an answer waits for another
        taken, _ = place.sockets[0].accept()
        assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        taken.close()
    with pytest.raises(ConfigError, match="another program"):
        listen("127.0.0.1", place.port)
    assert {f"127.0.0.1:{place.port}", f"localhost:{place.port}"} <= place.hosts
    for one in place.sockets:
        one.close()


SERVER = """
import asyncio
from deid.web.guard import Guard
from deid.web.listening import listen, run
from deid.web.problems import application
app = application("slow")
@app.get("/slow")
async def slow() -> str:
    await asyncio.sleep(1)
    return "done"
place = listen()
print(place.origin, flush=True)
run(Guard(app, place.hosts), place)
print("ended", flush=True)
"""


def test_sigterm_lets_what_was_begun_be_finished(tmp_path):
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    try:
        origin = server.stdout.readline().strip()
        import threading

        answers = []
        asker = threading.Thread(target=lambda: answers.append(httpx.get(f"{origin}/slow", timeout=20)))
        asker.start()
        # the request is under way when its connection is; the server sleeps a second
        for _ in range(200):
            time.sleep(0.02)
            if established(int(origin.rpartition(":")[2])):
                break
        time.sleep(0.2)
        os.kill(server.pid, signal.SIGTERM)
        asker.join()
        assert answers[0].json() == "done"
        assert server.communicate(timeout=20)[0].strip() == "ended"
        assert server.returncode == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{origin}/slow")
    finally:
        server.kill()


def established(port: int) -> bool:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


@pytest.mark.slow
def test_a_head_that_does_not_come_in_time_ends_its_connection():
    program = SERVER.replace("place.hosts), place)", "place.hosts), place, patience=0.5)")
    server = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    try:
        origin = server.stdout.readline().strip()
        port = int(origin.rpartition(":")[2])
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"):  # nothing, and a part of a head
            with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
                line.sendall(sent)
                assert line.recv(100) == b""
        with httpx.Client(base_url=origin, trust_env=False, timeout=30) as client:
            assert (
                client.get("/slow").status_code == client.get("/slow").status_code == 200
            )  # one that is answered stays
    finally:
        server.terminate()
        server.wait(timeout=30)
        server.stdout.close()


def test_a_signal_ends_a_service_that_has_only_just_said_that_it_is_ready() -> None:
    script = (
        "import os, signal\n"
        "from deid.web.listening import listen, run\n"
        "async def app(scope, receive, send):\n"
        "    while scope['type'] == 'lifespan':\n"
        "        said = await receive()\n"
        "        await send({'type': said['type'] + '.complete'})\n"
        "        if said['type'] == 'lifespan.shutdown':\n"
        "            return\n"
        "run(app, listen('127.0.0.1', 0), ready=lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "print('in good order')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "in good order"), done.stderr
