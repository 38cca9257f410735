"""The relay over the network: what is acknowledged is safe, once and in order, whatever senders and receivers do."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from commands import full_disk
from senders import END, Receiver, RelayProcess, Sender, code, framed, message, messages, output, relay

from deid.base.errors import OutputError
from deid.base.keys import Key
from deid.manifest import check_manifests, log_of
from deid.manifest.content import read_manifest
from deid.streaming.journal import Commit, Journal
from deid.streaming.keeping import Keeper, Kept, Segments
from deid.streaming.totals import Totals
from deid.streaming.writing import FeedSink

KEY = "6b" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text(KEY + "\n")
    (tmp_path / "key").chmod(0o600)
    return tmp_path


def numbers(folder: Path) -> list[int]:
    """Return which messages an output folder has, by the number of each text."""
    return [int(n) for n in re.findall(rb", number (\d+)\.", output(folder))]


def filtered(folder: Path, line: bytes, *options: str) -> bytes:
    """Return what the filter makes of the bytes of a connection."""
    command = [sys.executable, "-m", "deid", "filter", "--from", "hl7v2", "--model", "none", "-q", *options]
    return subprocess.run([*command, "--key-file", str(folder / "key")], input=line, stdout=-1, check=False).stdout


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RelayProcess, Path]]:
    """A relay for all tests that only send, and its folder."""
    folder = tmp_path_factory.mktemp("relay")
    (folder / "key").write_text(KEY + "\n")
    (folder / "key").chmod(0o600)
    options = ("--output", folder / "out", "--max-record", "200K", "--dead-letters", folder / "dead", "--jobs", 2)
    with relay(folder, *options, "--metrics-port", 0) as running:
        yield running, folder


def test_it_writes_what_the_filter_writes(folder: Path) -> None:
    sent = [message(n, more=more) for n, more in enumerate(["", "||||||8859/1", "||||||UNICODE UTF-8"] * 3)]
    sent[1] = sent[1].replace(b"Mr. Z", "Mr. Müller-Z".encode("latin-1"))
    sent[2] = sent[2].replace(b"Mr. Z", "Mr. Müller-Z".encode())
    with relay(folder, "--output", folder / "out", "--policy", "surrogate") as running:
        with Sender(running.port) as sender:
            assert [code(sender.ask(one)) for one in sent] == [("AA", f"LAB-{n:06d}") for n in range(9)]
        assert running.end() == 0, running.said
    assert [path.name for path in (folder / "out").iterdir() if path.name[0] != "."] == ["00000001.hl7"]
    line = b"".join(map(framed, sent))
    written = output(folder / "out")
    assert written == filtered(folder, line, "--policy", "surrogate")
    assert b"Quartermain" not in written
    (folder / "plain.hl7").write_bytes(b"".join(sent))
    command = [sys.executable, "-m", "deid", "scrub", "--model", "none", "-q", "--key-file", str(folder / "key")]
    subprocess.run([*command, "plain.hl7", "scrubbed.hl7"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    assert b"".join(messages(written)) == (folder / "scrubbed.hl7").read_bytes()


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the limit of a file's size is one of POSIX")
def test_a_full_disk_acknowledges_nothing_more_and_what_was_acknowledged_is_there_after_it(folder: Path) -> None:
    with full_disk(2500):
        running = RelayProcess(folder, "--output", folder / "out")
    taken, answer = 0, b"?"
    with Sender(running.port) as sender:
        while answer:
            answer = sender.ask(message(taken))
            taken += code(answer)[0] == "AA" if answer else 0
    assert running.process.wait(60) == 2
    assert running.process.stderr is not None
    said = running.process.stderr.read().decode()
    running.process.stderr.close()
    assert "error: the journal cannot be written" in said
    assert "Traceback" not in said
    assert "Quartermain" not in said
    assert 0 < taken < 50
    with relay(folder, "--output", folder / "out") as again, Sender(again.port) as sender:
        assert code(sender.ask(message(taken)))[0] == "AA"  # as a sender does that got no answer
        assert again.end() == 0, again.said
    assert numbers(folder / "out") == list(range(taken + 1))


def test_bytes_one_by_one_garbage_and_two_in_a_packet(shared: tuple[RelayProcess, Path]) -> None:
    running, folder = shared
    with Sender(running.port) as sender:
        for byte in b"\r\nnoise" + framed(message(10, "DRIP")):
            sender.socket.sendall(bytes([byte]))
        assert code(sender.answer()) == ("AA", "DRIP-000010")
        sender.socket.sendall(b"GET / HTTP/1.1\r\n" + framed(message(11, "DRIP")) + framed(message(12, "DRIP")))
        assert [code(sender.answer())[1] for _ in range(2)] == ["DRIP-000011", "DRIP-000012"]
        sender.socket.sendall(framed(message(13, "DRIP"))[:-1])  # FS without CR
        assert code(sender.answer()) == ("AA", "DRIP-000013")
    assert [n for n in numbers(folder / "out") if n in range(10, 14)] == [10, 11, 12, 13]


def test_a_sender_that_closes_its_half_gets_its_answer(shared: tuple[RelayProcess, Path]) -> None:
    running, folder = shared
    with Sender(running.port) as sender:
        sender.socket.sendall(framed(message(20)) + framed(message(21))[:40])
        sender.socket.shutdown(socket.SHUT_WR)
        assert code(sender.answer()) == ("AA", "LAB-000020")
        assert sender.answer() == b""
    assert [n for n in numbers(folder / "out") if n in (20, 21)] == [20]


def test_what_is_refused_is_not_passed_on_and_says_nothing(shared: tuple[RelayProcess, Path]) -> None:
    running, folder = shared
    before = output(folder / "out")
    bad = {
        "too long": message(30, text="Zebulon Quartermain " * 12_000),
        "charset": message(31, more="||||||KLINGON"),
        "not in its charset": message(32).replace(b"Mr.", b"\xff\xfe"),
        "no segment": message(33) + b"Zebulon Quartermain\r",
        "no header": b"PID|1||4820000^^^NFC^MR||Quartermain^Zebulon\r",
        "empty": b"",
    }
    with Sender(running.port) as sender:
        answers = {what: sender.ask(data) for what, data in bad.items()}
        assert code(sender.ask(message(34))) == ("AA", "LAB-000034")
    assert {what: code(answer)[0] for what, answer in answers.items()} == dict.fromkeys(bad, "AR")
    assert [code(answers[what])[1] for what in list(bad)[:4]] == [f"LAB-{n:06d}" for n in range(30, 34)]
    assert b"Quartermain" not in b"".join(answers.values())
    letters = [json.loads(line) for line in (folder / "dead").read_text().splitlines()]
    assert [letter["error"] for letter in letters[-6:]] == [
        "RecordTooLong", "EncodingError", "EncodingError", "FormatError", "FormatError", "RecordEmpty",
    ]  # fmt: skip
    assert "Quartermain" not in (folder / "dead").read_text()
    assert len(messages(output(folder / "out"))) == len(messages(before)) + 1


def test_what_comes_twice_is_acknowledged_twice_and_written_once(shared: tuple[RelayProcess, Path]) -> None:
    running, folder = shared
    first, other = message(40), message(40, text="Mr. Zebulon Quartermain, number 41.")
    with Sender(running.port) as sender, Sender(running.port) as again:
        assert code(sender.ask(first)) == code(again.ask(first)) == code(sender.ask(first)) == ("AA", "LAB-000040")
        sender.socket.sendall(framed(message(42)))
        assert code(again.ask(message(42))) == code(sender.answer()) == ("AA", "LAB-000042")
        assert code(sender.ask(other)) == ("AA", "LAB-000040")  # the same number, another message
        assert code(sender.ask(message(43, id=""))) == code(sender.ask(message(43, id=""))) == ("AA", "")
    assert sorted(n for n in numbers(folder / "out") if n in range(40, 44)) == [40, 41, 42, 43, 43]


def test_enhanced_mode(shared: tuple[RelayProcess, Path]) -> None:
    running, _ = shared
    with Sender(running.port) as sender:
        assert code(sender.ask(message(50, more="|||AL|NE"))) == ("CA", "LAB-000050")
        assert code(sender.ask(message(51, more="|||AL|NE||KLINGON"))) == ("CR", "LAB-000051")
        sender.socket.sendall(framed(message(52, more="|||NE|NE")))  # nobody is to answer
        assert code(sender.ask(message(53))) == ("AA", "LAB-000053")


def test_many_connections_keep_the_order_of_each(shared: tuple[RelayProcess, Path]) -> None:
    running, folder = shared

    def send(line: int) -> None:
        with Sender(running.port) as sender:
            for n in range(8):
                assert code(sender.ask(message(1000 * line + n, f"L{line}")))[0] == "AA"

    threads = [threading.Thread(target=send, args=(line,)) for line in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = numbers(folder / "out")
    for line in range(1, 9):
        assert [n for n in found if n // 1000 == line] == [1000 * line + n for n in range(8)]


def test_counts_are_told_to_whoever_asks(shared: tuple[RelayProcess, Path]) -> None:
    running, _ = shared
    port = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", running.said)
    assert port
    with Sender(running.port), urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/metrics", timeout=10) as answer:
        told = answer.read().decode()
    assert re.search(r"^deid_records_total [1-9]", told, re.MULTILINE)
    assert re.search(r"^deid_duplicates \d", told, re.MULTILINE)
    assert "Quartermain" not in told


def test_a_message_that_kills_its_worker_is_an_error_and_the_next_one_is_not(shared: tuple[RelayProcess, Path]) -> None:
    running, _ = shared
    workers = [
        int(n) for n in Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
    ]
    assert len(workers) == 2
    for worker in workers:
        subprocess.run(["kill", "-9", str(worker)], check=True)
    with Sender(running.port) as sender:
        assert code(sender.ask(message(60))) == ("AA", "LAB-000060")


def kill_at_random(folder: Path, count: int, kills: int, seed: int = 20_261_123) -> None:
    """Have four senders send ``count`` messages each, resending what was not acknowledged, over ``kills`` kills."""
    rng = random.Random(seed)
    running = RelayProcess(folder, "--output", folder / "out", "--policy", "redact", "--rotate", "20K")
    sent = [0] * 4
    lock = threading.Lock()

    def send(line: int) -> None:
        while sent[line] < count:
            try:
                with Sender(running.port) as sender:
                    while sent[line] < count:
                        answer = sender.ask(message(10_000 * line + sent[line], f"L{line}"))
                        if not answer:
                            break
                        assert code(answer) == ("AA", f"L{line}-{10_000 * line + sent[line]:06d}")
                        with lock:
                            sent[line] += 1
            except (OSError, AssertionError) as error:
                if isinstance(error, AssertionError) and running.process.poll() is None:
                    raise
            time.sleep(0.02)

    threads = [threading.Thread(target=send, args=(line,)) for line in range(4)]
    for thread in threads:
        thread.start()
    for kill in range(kills):
        until = sum(sent) + rng.randrange(1, max(2, 4 * count // (kills + 1)))
        while sum(sent) < min(until, 4 * count - 4 * (kills - kill)):
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.01))
        running.kill()
        running = RelayProcess(folder, "--output", folder / "out", "--policy", "redact", "--rotate", "20K")
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert running.end() == 0, running.said
    found = numbers(folder / "out")
    assert len(found) == 4 * count
    for line in range(4):
        assert [n for n in found if n // 10_000 == line] == [10_000 * line + n for n in range(count)]
    assert not list((folder / "out").glob(".deid-feed-*"))


def test_a_few_kills_of_the_relay(folder: Path) -> None:
    kill_at_random(folder, 60, 3)


@pytest.mark.night
def test_25_kills_of_the_relay(folder: Path) -> None:
    kill_at_random(folder, 500, 25)


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["the end", pytest.param("all of it", marks=pytest.mark.night), "what it says"])
def test_a_word_of_the_journal_without_its_output_is_none(folder: Path, lost: str) -> None:
    """As when the power was cut while the two were on their way to the disk: nothing was acknowledged."""
    running = RelayProcess(folder, "--output", folder / "out")
    with Sender(running.port) as sender:
        for n in range(3):
            assert code(sender.ask(message(n)))[0] == "AA"
    running.kill()
    (growing,) = (folder / "out").glob(".deid-feed-*")
    whole = growing.read_bytes()
    two = whole[: whole.rindex(b"\x0bMSH")]
    growing.write_bytes({"the end": whole[:-7], "all of it": two, "what it says": whole[:-7] + bytes(7)}[lost])
    with relay(folder, "--output", folder / "out") as running, Sender(running.port) as sender:
        assert code(sender.ask(message(1))) == ("AA", "LAB-000001")  # safe, and known
        assert code(sender.ask(message(2))) == ("AA", "LAB-000002")
        assert running.end() == 0, running.said
    assert output(folder / "out") == filtered(folder, b"".join(framed(message(n)) for n in range(3)))


def test_what_the_disk_refuses_is_not_believed_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, about = Key(bytes(32)), {"input": "x", "options": "y"}
    out = folder / "out"
    out.mkdir()

    def keeper() -> tuple[Keeper, Journal]:
        journal = Journal(folder / "j", key, about, Commit(0, 0, 0, {"segment": 1}), partial(Segments.has, out))
        last = journal.last
        segments = Segments(out, 1 << 20, int(last.totals["segment"]), last.output)
        return Keeper(Totals(), segments, journal, None), journal

    async def keep(*messages: bytes) -> None:
        own, journal = keeper()
        running = asyncio.create_task(own.run())
        for one in messages:
            noted = asyncio.create_task(own.note(Kept(one, records=1, identity=one.decode())))
            done, _ = await asyncio.wait({noted, running}, return_when=asyncio.FIRST_COMPLETED)
            if running in done:
                noted.cancel()
                journal.close()
                await running
        running.cancel()
        journal.close()

    asyncio.run(keep(b"first"))
    with monkeypatch.context() as patch:
        flush = FeedSink.sync

        def refused(sink: FeedSink) -> None:
            if sink.what == "the output":
                raise OutputError("the output cannot be written")
            flush(sink)

        patch.setattr(FeedSink, "sync", refused)
        with pytest.raises(OutputError):
            asyncio.run(keep(b"second"))
    _, journal = keeper()
    assert (journal.last.output, list(journal.received)) == (5, ["first"])
    journal.close()


@pytest.mark.slow
def test_what_was_acknowledged_is_left_to_nobody_by_another_journal_or_relay(folder: Path) -> None:
    """Not beside one that runs, nor where one was killed and the next has another journal."""
    other = ("--output", folder / "out", "--journal", folder / "other")
    running = RelayProcess(folder, "--output", folder / "out")
    with Sender(running.port) as sender:
        assert [code(sender.ask(message(n)))[0] for n in range(3)] == ["AA"] * 3
    with pytest.raises(AssertionError, match="another process writes to this folder"):
        RelayProcess(folder, *other)
    running.kill()
    for _ in range(2):
        with pytest.raises(AssertionError, match="an unfinished file of another journal"):
            RelayProcess(folder, *other)
    with relay(folder, "--output", folder / "out") as again:
        assert again.end() == 0, again.said
    with relay(folder, *other) as running:
        with Sender(running.port) as sender:
            assert code(sender.ask(message(3)))[0] == "AA"
        assert running.end() == 0, running.said
    assert numbers(folder / "out") == [0, 1, 2, 3]


def test_what_was_acknowledged_long_ago_must_be_there(folder: Path) -> None:
    running = RelayProcess(folder, "--output", folder / "out")
    with Sender(running.port) as sender:
        for n in range(3):
            assert code(sender.ask(message(n)))[0] == "AA"
    running.kill()
    (growing,) = (folder / "out").glob(".deid-feed-*")
    growing.write_bytes(growing.read_bytes()[:100])
    with pytest.raises(AssertionError, match="shorter than the journal says"):
        RelayProcess(folder, "--output", folder / "out")


def test_a_full_disk_ends_it_and_nothing_is_acknowledged_that_is_not_there(folder: Path) -> None:
    sent = 0
    with relay(folder, "--output", folder / "out") as running:
        resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))
        with Sender(running.port) as sender:
            while sent < 50 and (answer := sender.ask(message(sent))):
                assert code(answer) == ("AA", f"LAB-{sent:06d}")
                sent += 1
        assert 0 < sent < 50
        _, said = running.process.communicate(timeout=30)
        assert running.process.returncode == 2
        assert b"make room" in said
        assert b"Quartermain" not in said
    with relay(folder, "--output", folder / "out") as running:
        with Sender(running.port) as sender:
            assert code(sender.ask(message(sent))) == ("AA", f"LAB-{sent:06d}")
        assert running.end() == 0
    assert numbers(folder / "out") == list(range(sent + 1))


@pytest.mark.slow
def test_a_receiver_that_is_away_makes_messages_wait(folder: Path) -> None:
    receiver = Receiver()
    where = f"127.0.0.1:{receiver.port}"
    with (
        relay(folder, "--forward", where, "--patience", 5, "--journal", folder / "j") as running,
        Sender(running.port) as sender,
    ):
        assert code(sender.ask(message(1))) == ("AA", "LAB-000001")
        receiver.close()
        sender.socket.sendall(framed(message(2)))
        sender.socket.settimeout(0.7)
        with pytest.raises(TimeoutError):
            sender.answer()
        sender.socket.settimeout(60)
        with Sender(running.port) as impatient:  # comes again by another connection, and is not sent twice
            impatient.socket.sendall(framed(message(2)))
            back = Receiver(receiver.port)
            assert code(impatient.answer()) == code(sender.answer()) == ("AA", "LAB-000002")
        assert code(sender.ask(message(1))) == ("AA", "LAB-000001")
        assert running.end() == 0
        assert "messages wait" in running.said
    with relay(folder, "--forward", where, "--journal", folder / "j") as running, Sender(running.port) as sender:
        assert code(sender.ask(message(2))) == ("AA", "LAB-000002")  # known from the run before
    back.close()
    assert [re.findall(rb"number (\d)", one) for one in receiver.received + back.received] == [[b"1"], [b"2"]]
    written = b"".join(framed(one) for one in receiver.received + back.received)
    assert written == filtered(folder, framed(message(1)) + framed(message(2)))


def test_what_the_receiver_refuses_its_sender_is_told(folder: Path) -> None:
    receiver = Receiver(reply=lambda n: {1: "AE", 2: "AR", 3: ""}.get(n, "AA"))
    with relay(folder, "--forward", f"127.0.0.1:{receiver.port}", "--patience", 1) as running:
        with Sender(running.port) as sender:
            assert code(sender.ask(message(1))) == ("AE", "LAB-000001")
            assert code(sender.ask(message(2))) == ("AR", "LAB-000002")
            assert code(sender.ask(message(3))) == ("AA", "LAB-000003")  # the first answer did not come
        assert running.end() == 3
    receiver.close()
    assert len(receiver.received) == 4


@pytest.mark.parametrize(("policy", "alike"), [("surrogate", False), ("redact", True)])
def test_it_is_told_when_a_receiver_cannot_tell_messages_apart(folder: Path, policy: str, alike: bool) -> None:
    receiver = Receiver()
    with relay(folder, "--forward", f"127.0.0.1:{receiver.port}", "--policy", policy) as running:
        with Sender(running.port) as sender:
            for number in (1, 2, 2, 3):
                assert code(sender.ask(message(number)))[0] == "AA"
        assert running.end() == 0
    receiver.close()
    assert running.said.count("the same number (MSH-10)") == alike
    assert len({one.split(b"|")[9] for one in receiver.received}) == (1 if alike else 3)


def test_idle_connections_end_when_asked_for(folder: Path) -> None:
    with relay(folder, "--output", folder / "out", "--idle", 0.3, "--connections", 2) as running:
        with Sender(running.port) as sender:
            sender.socket.sendall(b"\x0bMSH|torn")
            assert sender.answer() == b""
        with Sender(running.port), Sender(running.port), Sender(running.port) as third:
            assert third.answer() == b""


def test_sigterm_finishes_what_is_under_way(folder: Path) -> None:
    receiver = Receiver(reply=lambda _: (time.sleep(0.5), "AA")[1])  # type: ignore[func-returns-value]
    with (
        relay(folder, "--forward", f"127.0.0.1:{receiver.port}") as running,
        Sender(running.port) as sender,
        Sender(running.port),
    ):
        sender.socket.sendall(framed(message(1)))
        while not receiver.received:
            time.sleep(0.01)
        running.process.send_signal(signal.SIGTERM)
        assert code(sender.answer()) == ("AA", "LAB-000001")
        assert running.process.wait(20) == 0
    receiver.close()


@pytest.mark.slow
def test_files_that_were_taken_away_are_not_missed(folder: Path) -> None:
    out = folder / "out"
    for run in range(2):
        with relay(folder, "--output", out, "--rotate", "1K") as running:
            with Sender(running.port) as sender:
                for n in range(9):
                    assert code(sender.ask(message(10 * run + n)))[0] == "AA"
            assert running.end() == 0, running.said
        files = sorted(out.glob("[0-9]*.hl7"))
        assert len(files) > 1
        assert numbers(out) == [10 * run + n for n in range(9)]
        for file in files:
            file.unlink()
    with relay(folder, "--output", out) as running, pytest.raises(AssertionError, match="another process writes"):
        RelayProcess(folder, "--output", out)


@pytest.fixture
def certificate(folder: Path) -> Path:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "tls.key", "-out", "tls.pem"]
    try:
        subprocess.run([*command, *names], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    (folder / "tls.key").chmod(0o600)
    return folder / "tls.pem"


def test_tls_to_senders_and_to_the_receiver(folder: Path, certificate: Path) -> None:
    trust = ssl.create_default_context(cafile=certificate)

    def wrap(plain: socket.socket) -> socket.socket:
        return trust.wrap_socket(plain, server_hostname="127.0.0.1")

    own = ("--tls-certificate", certificate, "--tls-key", folder / "tls.key")
    with (
        relay(folder, "--output", folder / "out", *own) as last,
        relay(folder, "--forward", f"127.0.0.1:{last.port}", "--forward-tls", certificate) as first,
        Sender(first.port) as sender,
        Sender(last.port, wrap) as direct,
    ):
        assert code(direct.ask(message(1))) == ("AA", "LAB-000001")
        assert code(sender.ask(message(2))) == ("AA", "LAB-000002")
        with Sender(last.port) as plain:
            plain.socket.sendall(framed(message(3)))
            with pytest.raises((OSError, AssertionError)):
                assert plain.socket.recv(100).startswith(b"\x0b")
    assert len(messages(output(folder / "out"))) == 2
    assert END in output(folder / "out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "one place"),
        (("--output", "o", "--forward", "127.0.0.1:1"), "one place"),
        (("--forward", "nowhere"), "no address"),
        (("--output", "o", "--listen", "127.0.0.1:99999"), "no address"),
        (("--output", "o", "--tls-key", "k"), "TLS needs"),
        (("--output", "o", "--listen", "192.0.2.1:2575"), "cannot be listened on"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "deid", "relay", "--key-file", "key", "--model", "none", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()


@pytest.mark.parametrize(
    ("sentences", "most"),
    [pytest.param(40_000, "8M"), pytest.param(1_150_000, "64M", marks=pytest.mark.night)],
    ids=["2 MB", "62 MB"],
)
def test_a_large_message_goes_through(folder: Path, sentences: int, most: str) -> None:
    """The largest that the relay takes unless told otherwise is of 64 MB; the connection goes on behind it."""
    with relay(folder, "--output", folder / "out", "--max-record", most) as running, Sender(running.port) as sender:
        sender.socket.settimeout(600)
        text = "Sections show chronic inflammation without dysplasia. " * sentences
        assert code(sender.ask(message(1, text=text)))[0] == "AA"
        assert code(sender.ask(message(2)))[0] == "AA"
    done = output(folder / "out")
    assert text.encode() in done
    assert done.count(b"MSH|") == 2


@pytest.mark.slow
def test_manifests_prove_every_file_and_tell_of_a_kill(folder: Path) -> None:
    """Files are listed when they get their names; what was kept of a killed relay's stretch is in no manifest."""
    options = ("--output", folder / "out", "--manifest", folder / "day.json", "--manifest-every", 4, "--rotate", 900)

    key = Key(bytes.fromhex(KEY))

    def checked() -> list[str]:
        return [fault.what for fault in check_manifests(folder / "out", first=folder / "day.json", key=key).faults]

    with relay(folder, *options) as running, Sender(running.port) as sender:
        for n in range(10):
            assert code(sender.ask(message(n)))[0] == "AA"
        assert running.end() == 0
    assert numbers(folder / "out") == list(range(10))
    told = [read_manifest(path) for _, path in log_of(folder / "day.json")]
    assert [m.run["documents"] for m in told] == [0, 4, 4, 2]
    assert sum(len(m.run["outputs"]) for m in told) == len(list((folder / "out").glob("*.hl7"))) == 3
    stream = b"".join(path.read_bytes() for path in sorted((folder / "out").glob("*.hl7")))
    (folder / "stream").write_bytes(stream)
    a, b = told[1].run["results"]["written"]
    assert told[1].run["results"]["stream"] == f"sha256:{hashlib.sha256(stream[a:b]).hexdigest()}"
    assert not checked()
    assert "Quartermain" not in "".join(path.read_text() for path in folder.glob("day*.json"))
    one = RelayProcess(folder, *options)
    with Sender(one.port) as sender:
        for n in range(10, 16):
            sender.ask(message(n))
    one.kill()
    with relay(folder, *options) as running:
        assert running.end() == 0
    assert "gap" in checked()
    first = next(iter(sorted((folder / "out").glob("*.hl7"))))
    first.write_bytes(first.read_bytes()[:-1])
    assert "changed" in checked()
