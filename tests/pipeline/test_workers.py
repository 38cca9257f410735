"""Work in several processes: order, bounded memory, dying workers, no orphans."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest
from fakes import WordRecognizer, heed_interrupts

from deid import read
from deid.base.errors import ConfigError, DetectionError
from deid.base.in_step import pause
from deid.base.keys import Key
from deid.document import Document, Failure
from deid.pipeline import PipelineOptions, build_pipeline
from deid.pipeline.workers import Timed, process

TESTS = Path(__file__).resolve().parent.parent


class Counting:
    """Finds, and says in which process."""

    def __call__(self, document: Document) -> tuple[str, int]:
        WordRecognizer().find(document)
        return document.id, os.getpid()


def documents(*texts: str) -> Iterator[Document]:
    for n, text in enumerate(texts):
        yield Document(str(n), text, index=n + 1)


def test_two_processes_share_the_work() -> None:
    results = list(process(Counting(), documents(*["x" * 5000] * 100), 2))
    assert [r[0] for r in results if not isinstance(r, Failure)] == [str(n) for n in range(100)]
    assert len({r[1] for r in results if not isinstance(r, Failure)} - {os.getpid()}) == 2


def test_a_document_that_kills_its_worker_is_the_only_one_that_fails() -> None:
    texts = ["fine"] * 40
    texts[7] = "KILL"
    results = list(process(Counting(), documents(*texts), 2))
    assert [n for n, r in enumerate(results) if isinstance(r, Failure)] == [7]
    failure = results[7]
    assert isinstance(failure, Failure)
    assert "died" in str(failure.error)


def test_a_document_alone_in_its_chunk_kills_its_worker() -> None:
    results = list(process(Counting(), documents("fine" * 30_000, "KILL" * 30_000, "fine"), 2))
    assert [isinstance(r, Failure) for r in results] == [False, True, False]


def test_reading_runs_only_a_bounded_way_ahead() -> None:
    read = 0

    def many() -> Iterator[Document]:
        nonlocal read
        for document in documents(*["y"] * 5000):
            read += 1
            yield document

    results = process(Counting(), many(), 2)
    next(results)
    assert read <= 128 * 3 * 2
    results.close()  # type: ignore[attr-defined]


def test_nothing_is_left_when_the_consumer_stops() -> None:
    results = process(Counting(), documents(*["z"] * 100), 2)
    first = next(results)
    assert not isinstance(first, Failure)
    results.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(first[1], 0)


def test_work_that_cannot_travel_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be sent"):
        process(lambda document: document, documents("a"), 2)
    with pytest.raises(ConfigError, match="at least 1"):
        process(Counting(), documents("a"), 0)


class Unready:
    """Has a recognizer that cannot be loaded."""

    @property
    def recognizer(self) -> Self:
        return self

    def find(self, _: Document) -> None:
        raise ConfigError("the model is gone", "get it again")

    def __call__(self, document: Document) -> None:
        raise AssertionError("never called")


def test_workers_that_cannot_be_prepared_stop_the_run() -> None:
    with pytest.raises(ConfigError, match="the model is gone"):
        list(process(Unready(), documents("a"), 2))


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from deid.document import Document
from deid.pipeline.workers import process
from fakes import WordRecognizer, heed_interrupts

class Work:
    def __call__(self, document):
        import os
        os.write(1, b"%d\\n" % os.getpid())
        return WordRecognizer().find(document)

if __name__ == "__main__":
    for result in process(Work(), (Document(str(n), "SLOW") for n in range(10)), 2):
        pass
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_parent(sent: signal.Signals, tmp_path: Path) -> None:
    """After Ctrl-C (to the whole group, as a terminal does), a plain kill, and kill -9, the workers are gone."""
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(SCRIPT.format(tests=str(TESTS))).replace("SLOW", "SLOW " + "x" * 100_000))
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    assert parent.stdout is not None
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    if sent == signal.SIGINT:
        os.killpg(parent.pid, sent)
    else:
        os.kill(parent.pid, sent)
    assert parent.wait(300) != 0
    gone = time.monotonic() + 300
    while any(_alive(pid) for pid in workers) and time.monotonic() < gone:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in workers)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_document_that_takes_too_long_is_given_up_and_the_alarm_is_off_again() -> None:
    def slow(document: Document) -> str:
        time.sleep(float(document.text))
        return document.text

    with pytest.raises(DetectionError, match=r"longer than 0\.05 s"):
        Timed(slow, 0.05)(Document("a", "5"))
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert Timed(slow, 60)(Document("a", "0")) == Timed(slow, 0)(Document("a", "0.001"))[:1]
    with ThreadPoolExecutor(1) as elsewhere:  # where no signal arrives
        assert elsewhere.submit(Timed(slow, 60), Document("a", "0")).result() == "0"


class Sleeping:
    """Takes as many seconds as the text says."""

    def __call__(self, document: Document) -> str:
        time.sleep(float(document.text))
        return document.id


@pytest.mark.parametrize("seconds", ["0", "5", "bad"])
def test_who_was_to_hear_an_alarm_hears_it_again_behind_a_document(seconds: str) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
    try:
        with contextlib.suppress(DetectionError, ValueError):
            Timed(Sleeping(), 0.05)(Document("a", seconds))
        signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert heard == [signal.SIGALRM]


def test_among_documents_in_step_the_one_that_takes_too_long_is_the_only_one_that_fails() -> None:
    results = list(process(Timed(Sleeping(), 0.3), documents("0", "0.1", "5", "0", "0.2")))
    assert [isinstance(r, Failure) for r in results] == [False, False, True, False, False]
    failure = results[2]
    assert isinstance(failure, Failure)
    assert "longer than 0.3 s" in str(failure.error)


def test_documents_that_take_too_long_together_have_the_time_of_each() -> None:
    results = list(process(Timed(Sleeping(), 0.5), documents(*["0.2"] * 4)))
    assert results == ["0", "1", "2", "3"]


class Failing:
    """Pauses, and fails at some documents."""

    def __call__(self, document: Document) -> str:
        pause("reading")
        if document.text == "bad":
            raise DetectionError("it is bad", "make it good")
        if document.text == "bug":
            raise ValueError(document.text)
        pause("writing")
        return document.id


def test_among_documents_in_step_failures_are_those_of_their_documents() -> None:
    unread = Failure("f", DetectionError("unread", "read it"), 5, "f")
    given = [*documents("a", "bad", "b", "bug"), unread, Document("9", "c")]
    results = list(process(Failing(), given))
    assert [isinstance(r, Failure) for r in results] == [False, True, False, True, True, False]
    assert results[4] is unread
    assert [r.index for r in results if isinstance(r, Failure)] == [2, 4, 5]


@pytest.mark.parametrize("language", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("en", "auto")), "de"])
def test_what_comes_of_a_note_does_not_depend_on_those_beside_it(language: str) -> None:
    """Scrubbed in step with others a note has the same text, spans, edits and collisions as scrubbed alone."""
    corpora = TESTS.parent / "corpora"
    notes = [d for d in read(corpora / "synthetic" / "sample" / "txt") if isinstance(d, Document)][:20]
    german = (corpora / "evaluation" / "de.txt").read_text(encoding="utf-8").split("\n\n")[:30]
    notes = [Document(f"{n}", text) for n, text in enumerate((*(note.text for note in notes), *german, *ODD))]
    pipeline = build_pipeline(Key(b"k" * 32), PipelineOptions(language=language))
    alone = [pipeline(note) for note in notes]
    for shift in (0, 7):
        turned = notes[shift:] + notes[:shift]
        assert list(pipeline.pipe(turned)) == alone[shift:] + alone[:shift]


ODD = (
    "",
    " \r\n\r\n",
    "SEEN BY DR. ALICE BAKER IN BOSTON ON 3/4/2019. MRN 4711203\n" * 3,
    "seen by dr. alice baker in boston, ma on 3/4/2019. mrn: 4711203",
    "Dr. Alice Baker saw John Smith (MRN: 4711203) on 3/4/2019 in Boston, MA, tel 217-555-0001. " * 800,
    "Name: Zoe\u0301 O\u2019Hara\u200b  DOB 1/2/1930\r\rTel. 217 555 0001\r",
)
"""Nothing, blanks, capitals, small letters, more than a window, invisible signs."""
