"""An inbox folder: complete files are taken, results appear whole, a restart repeats nothing."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from recipes import KEY, WordRecipe

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.streaming import watching
from deid.streaming.crew import Crew, FeedRun
from deid.streaming.framing import delimited, whole
from deid.streaming.stopping import Stop
from deid.streaming.totals import Totals
from deid.streaming.watching import Folders, Seen, watch
from deid.streaming.work import Shape

NAME = "Zebulon Quartermain"
SHAPE = Shape(whole())


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    with Crew(WordRecipe(), SHAPE) as started:
        yield started


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    (tmp_path / "in").mkdir()
    return Folders(tmp_path / "in", tmp_path / "out", settle=0)


def once(folders: Folders, crew: Crew, shape: Shape = SHAPE) -> list[Seen]:
    with Stop() as stop:
        return list(watch(folders, FeedRun(crew, shape, KEY, Totals(), stop), once=True))


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.is_file() and not p.name.startswith(".deid-watch.lock"))


def result(folders: Folders, name: str = "doc") -> str:
    return folders.outbox.joinpath(next(n for n in names(folders.outbox) if n.startswith(name))).read_text()


def test_files_move_through(folders: Folders, crew: Crew) -> None:
    (folders.inbox / "Quartermain.txt").write_text(f"Seen {NAME}.")
    (folders.inbox / "deep").mkdir()
    (folders.inbox / "deep" / "x.txt").write_text(NAME)
    (seen,) = once(folders, crew)
    assert (seen.failed, seen.error) == (False, None)
    assert "Quartermain" not in seen.name
    assert names(folders.outbox) == [f"{KEY.pseudonym('doc', 'Quartermain')}.txt"]
    assert result(folders) == "Seen [NAME]."
    assert names(folders.inbox) == []
    assert names(folders.inbox / "done") == ["Quartermain.txt"]
    assert once(folders, crew) == []
    assert (folders.inbox / "deep" / "x.txt").exists()


def test_names_are_kept_on_request(folders: Folders, crew: Crew) -> None:
    (folders.inbox / "n.odd").write_text("x")
    once(Folders(folders.inbox, folders.outbox, keep_names=True, settle=0), crew)
    assert names(folders.outbox) == ["n.odd"]


def test_a_suffix_that_is_none_is_not_kept(folders: Folders, crew: Crew) -> None:
    (folders.inbox / "Dr.Quartermain").write_text("x")
    once(folders, crew)
    assert names(folders.outbox) == [KEY.pseudonym("doc", "Dr.Quartermain")]


def test_files_that_fail_move_aside_and_the_rest_goes_on(folders: Folders, crew: Crew) -> None:
    for n, text in enumerate((b"FAIL", b"good", b"\xff\xfe", b"")):
        (folders.inbox / f"{n}.txt").write_bytes(text)
        os.utime(folders.inbox / f"{n}.txt", (n, n))
    assert [seen.failed for seen in once(folders, crew)] == [True, False, True, False]
    assert names(folders.inbox / "failed") == [
        "0.txt",
        "0.txt.dead-letters.jsonl",
        "2.txt",
        "2.txt.dead-letters.jsonl",
    ]
    letters = folders.inbox / "failed" / "2.txt.dead-letters.jsonl"
    assert '"EncodingError"' in letters.read_text()
    assert letters.stat().st_mode & 0o077 == 0
    assert names(folders.inbox / "done") == ["1.txt", "3.txt"]


def test_files_that_are_being_written_are_left(folders: Folders, crew: Crew) -> None:
    for name in ("a.txt.part", ".hidden", "b.tmp", "c.PARTIAL", "d~"):
        (folders.inbox / name).write_text(NAME)
    os.mkfifo(folders.inbox / "pipe")
    (folders.inbox / "link.txt").symlink_to("/etc/hostname")
    assert once(folders, crew) == []
    growing = folders.inbox / "growing.txt"
    stop_writing = threading.Event()

    def grow() -> None:
        with growing.open("w") as stream:
            while not stop_writing.wait(0.03):
                stream.write(NAME)
                stream.flush()

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        assert once(Folders(folders.inbox, folders.outbox, settle=0.5), crew) == []
    finally:
        stop_writing.set()
        thread.join()
    assert len(once(Folders(folders.inbox, folders.outbox, settle=0.2), crew)) == 1


def test_a_result_that_is_there_already_is_not_made_twice(folders: Folders, crew: Crew) -> None:
    """Killed between the result and the move: the input is found again."""
    (folders.inbox / "a.txt").write_text(NAME)
    once(folders, crew)
    (folders.inbox / "done" / "a.txt").rename(folders.inbox / "a.txt")
    (folders.outbox / ".deid-watch-result").write_text("torn")
    once(folders, crew)
    assert len(names(folders.outbox)) == 1
    assert names(folders.inbox / "done") == ["a.txt"]


def test_another_file_of_the_same_name_replaces_nothing(folders: Folders, crew: Crew) -> None:
    for n in range(3):
        (folders.inbox / "a.txt").write_text(f"{NAME} {n}")
        once(folders, crew)
    stem = KEY.pseudonym("doc", "a")
    assert names(folders.outbox) == [f"{stem}-2.txt", f"{stem}-3.txt", f"{stem}.txt"]
    assert {(folders.outbox / n).read_text() for n in names(folders.outbox)} == {f"[NAME] {n}" for n in range(3)}
    assert names(folders.inbox / "done") == ["a-2.txt", "a-3.txt", "a.txt"]


def _longer(path: Path) -> None:
    with path.open("a") as file:
        file.write(f" Also {NAME}.")


def _another(path: Path) -> None:
    new = path.with_name(".new")
    new.write_text(f"Came {NAME}.")
    new.replace(path)


@pytest.mark.parametrize("change", [_longer, _another])
def test_what_comes_into_a_file_while_it_is_read_is_not_taken_for_done(
    folders: Folders, crew: Crew, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    path = folders.inbox / "a.txt"
    path.write_text(f"Seen {NAME}.")
    done = watching.filter_feed

    def late(*arguments: Any, **options: Any) -> bool:
        whole = done(*arguments, **options)
        change(path)
        return whole

    monkeypatch.setattr(watching, "filter_feed", late)
    (seen,) = once(folders, crew)
    assert "changed" in str(seen.error)
    assert names(folders.outbox) == names(folders.inbox / "done") == []
    assert names(folders.inbox / "failed") == ["a.txt"]


def test_one_watcher_an_inbox_and_an_outbox(folders: Folders, crew: Crew) -> None:
    with Stop() as stop:
        first = watch(folders, FeedRun(crew, SHAPE, KEY, Totals(), stop), once=True)
        (folders.inbox / "a.txt").write_text("x")
        next(first)
        with pytest.raises(ConfigError, match="another process watches this inbox"):
            once(folders, crew)
        beside = folders.inbox.with_name(
            "in2"
        )  # it would clear away what the other is writing, or publish it as its own
        beside.mkdir()
        with pytest.raises(ConfigError, match="writes to this folder"):
            once(Folders(beside, folders.outbox, settle=0), crew)
        first.close()
    assert once(folders, crew) == []
    assert once(Folders(beside, folders.outbox, settle=0), crew) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [(Key(b"n" * 32), "another key"), (Key(KEY.secret, 1), "another version.*write below the key: map 3, or")],
)
def test_an_inbox_goes_on_with_its_key_alone(folders: Folders, crew: Crew, other: Key, said: str) -> None:
    """Who comes again must not get a second surrogate beside the first: another key, or another map of numbers."""
    once(folders, crew)
    (folders.inbox / "a.txt").write_text(f"Seen {NAME}.")
    with Stop() as stop, pytest.raises(ConfigError, match=said):
        next(watch(folders, FeedRun(crew, SHAPE, other, Totals(), stop), once=True))
    assert names(folders.outbox) == []
    assert names(folders.inbox) == ["a.txt"]
    (folders.inbox / ".deid-watch.lock").unlink()  # what the hint says
    with Stop() as stop:
        assert not next(watch(folders, FeedRun(crew, SHAPE, other, Totals(), stop), once=True)).failed


@pytest.mark.parametrize("outbox", ["in", "in/out", "."])
def test_folders_must_not_lie_in_one_another(folders: Folders, tmp_path: Path, outbox: str) -> None:
    with pytest.raises(ConfigError):
        Folders(folders.inbox, tmp_path / outbox).check()
    with pytest.raises(ConfigError):
        Folders(tmp_path / "none", tmp_path / "out").check()


def test_it_waits_for_files_until_it_is_told_to_end(folders: Folders) -> None:
    shape = Shape(delimited("line"))
    with Stop() as stop, Crew(WordRecipe(), shape) as crew:

        def later() -> None:
            time.sleep(0.3)
            (folders.inbox / "a.part").write_text(f"{NAME}\nFAIL\n")
            (folders.inbox / "a.part").rename(folders.inbox / "a.txt")
            deadline = time.monotonic() + 300
            while not (folders.inbox / "failed" / "a.txt").exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            os.kill(os.getpid(), 15)

        thread = threading.Thread(target=later)
        thread.start()
        totals = Totals()
        seen = list(watch(folders, FeedRun(crew, shape, KEY, totals, stop), poll=0.1))
        thread.join()
    assert [s.failed for s in seen] == [True]
    assert (totals.records, totals.failed) == (1, 1)
    assert result(folders) == "[NAME]\n"


def test_what_wakes_a_sleeper_without_a_request_to_end_does_not_end_its_sleep() -> None:
    """Else a file would be looked at too early, and left by a watch that looks once."""
    from types import SimpleNamespace

    from deid.streaming.watching import _sleep

    reading, writing = os.pipe()
    os.write(writing, b"x")
    before = time.monotonic()
    _sleep(0.3, SimpleNamespace(signal=None, descriptor=reading))  # type: ignore[arg-type]
    assert time.monotonic() - before >= 0.3
    os.close(reading)
    os.close(writing)


def test_documents_are_taken_for_what_they_begin_as(folders: Folders) -> None:
    """A page goes in place beside a note; a picture fails, and nothing of it goes out."""
    shape = Shape(whole(), others=(Shape(whole(), "documents"),))
    (folders.inbox / "page.html").write_text(
        f"<html><p class=x>Seen <b>Zebulon</b> Quartermain, {NAME}.<!-- {NAME} -->"
    )
    (folders.inbox / "note.txt").write_text(f"Seen {NAME}.")
    (folders.inbox / "scan.png").write_bytes(b"\x89PNG\r\n\x1a\n" + NAME.encode())
    with Crew(WordRecipe(), shape) as crew:
        assert sorted(seen.failed for seen in once(folders, crew, shape)) == [False, False, True]
    pages = [name for name in names(folders.outbox) if name.endswith(".html")]
    assert [(folders.outbox / name).read_text() for name in pages] == ["<html><p class=x>Seen <b>[NAME]</b> , [NAME]."]
    assert len(names(folders.outbox)) == 2
    assert NAME.encode() not in b"".join(p.read_bytes() for p in folders.outbox.iterdir() if p.is_file())
