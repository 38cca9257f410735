"""Runs over tables of databases that are killed, or whose database breaks off, locks or goes away."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from databases import COLUMNS, KEY, OPTIONS, Places, rows, scrub, scrubbed

from deid.base.errors import ConfigError, StoreError
from deid.base.keys import Key
from deid.io import batches, scan
from deid.pipeline import build_pipeline, scrub_files, table_output
from deid.pipeline.naming import mapped_id
from deid.pipeline.options import PipelineOptions
from deid.pipeline.table_output import TableOutput, is_whole


def killed(places: Places, name: str, seed: int) -> None:
    """Run in another process that kills itself somewhere: while it works, while it writes, before or after a commit."""
    child = os.fork()
    if child == 0:
        try:
            draw = random.Random(seed)
            left, when = draw.randrange(1, 3), draw.choice(["work", "written", "noted", "committed"])

            def at(point: str, function: Callable[..., Any]) -> Callable[..., Any]:
                def wrapped(*given: Any, **named: Any) -> Any:
                    nonlocal left
                    found = function(*given, **named)
                    left -= point == when
                    if left <= 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return found

                return wrapped

            if when == "work":
                left = draw.randrange(1, 150)
            TableOutput.write = at("work", TableOutput.write)  # type: ignore[method-assign]
            TableOutput._write = at("written", TableOutput._write)  # type: ignore[method-assign]
            TableOutput._step = at("noted", TableOutput._step)  # type: ignore[method-assign]
            TableOutput.flush = at("committed", TableOutput.flush)  # type: ignore[method-assign]
            scrubbed(places, name)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the run ended before it was killed"


def test_a_run_that_is_killed_goes_on_where_it_was(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at random points again and again, the table is that of a run that nothing stopped, row by row."""
    monkeypatch.setattr(table_output, "_ROWS", 64)
    places.fill(rows(500))
    before = (places.folder / "in.db").read_bytes() if "sqlite" in places.source else None
    assert scrubbed(places, "whole").documents == 500
    beside = places.tables()
    for seed in range(4):
        killed(places, "killed", seed)
    # the note of the run lies beside its table, and nowhere else
    assert (len(places.tables("killed")), places.tables()) == (2, beside)
    report = scrubbed(places, "killed")
    assert report.there + report.documents == 500
    assert report.failures == []
    assert places.read("killed") == places.read("whole")
    assert before is None or (places.folder / "in.db").read_bytes() == before


@pytest.mark.night
def test_a_hundred_thousand_rows_killed_five_times(postgresql: Callable[[], str], tmp_path: Path) -> None:
    """A process of its own, killed from outside, whatever it is doing."""
    count, places = 100_000, Places(tmp_path, postgresql())
    old = rows(count)
    for start in range(0, count, 10_000):
        places.fill(old[start : start + 10_000])
    said = (places.source, *COLUMNS, "--model", "none", "--keep", "class_id", "--output", places.target())
    command = [sys.executable, "-m", "deid", "scrub", *said]
    environment = {**os.environ, "DEID_KEY": KEY.secret.hex()}
    engine, draw = places.engine(places.source), random.Random(5)

    def written() -> int:
        with engine.connect() as connection:
            if not sql.inspect(connection).has_table("note", schema=places.schema("scrubbed")):
                return 0
            return int(
                connection.execute(sql.text(f"SELECT count(*) FROM {places.schema('scrubbed')}.note")).scalar_one()
            )

    for stop in sorted(draw.sample(range(count - 5000), 5)):
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while written() <= stop:
            assert child.poll() is None
            time.sleep(draw.random())
        child.kill()
        child.wait()
        assert written() < count
    subprocess.run(command, env=environment, check=True)
    new = {row["note_id"]: row for row in places.read()}
    assert new.keys() == {mapped_id(KEY, "doc", row["note_id"]) for row in old}
    assert len(places.read()) == count
    few = Places(tmp_path, None)
    few.fill(draw.sample(old, 500))
    assert scrub(few, "few", "--keep", "class_id").exit_code == 0
    for row in few.read("few"):
        assert {**new[row["note_id"]], "note_date": str(new[row["note_id"]]["note_date"])} == row


def test_a_run_goes_on_with_the_same_options_and_key_alone(places: Places) -> None:
    places.fill(rows(300))
    killed(places, "killed", 3)
    source = scan(places.source, options=OPTIONS)
    with pytest.raises(ConfigError, match="other options"):
        TableOutput(source, places.target("killed"), KEY, "others")
    with pytest.raises(ConfigError, match="another key"):
        TableOutput(source, places.target("killed"), Key(b"x" * 32), "same")


def test_a_table_is_whole_when_its_run_is_settled(places: Places) -> None:
    """As a job of the service asks, which settles a table when all else of the job is written."""
    places.fill(rows(40))
    pipeline = build_pipeline(KEY, PipelineOptions(model="none"))
    assert not is_whole(places.target())
    for name in ("scrubbed", "other"):
        source = scan(places.source, options=OPTIONS)
        output = TableOutput(source, places.target(name), KEY, hold=True)
        assert scrub_files(source, output, pipeline).documents == 40
        assert not is_whole(places.target(name))
        output.settle()
        assert is_whole(places.target(name))
    assert places.read() == places.read("other")
    killed(places, "killed", 3)
    assert not is_whole(places.target("killed"))


def test_what_is_discarded_leaves_nothing_and_can_be_made_again(places: Places) -> None:
    places.fill(rows(40))
    source = scan(places.source, options=OPTIONS)
    output = TableOutput(source, places.target(), KEY, hold=True)
    scrub_files(source, output, build_pipeline(KEY, PipelineOptions(model="none")))
    assert "note" in places.tables("scrubbed")
    output.discard()
    assert places.tables("scrubbed") == []
    assert scrub(places).exit_code == 0
    assert len(places.read()) == 40


@pytest.mark.parametrize("ended", [False, True])
def test_two_runs_into_one_table_do_not_mix(places: Places, monkeypatch: pytest.MonkeyPatch, *, ended: bool) -> None:
    """Also where the other one has ended, and taken the note of runs away."""
    monkeypatch.setattr(table_output, "_WAITS", ())
    places.fill(rows(40))
    pipeline = build_pipeline(KEY, PipelineOptions(model="none"))
    source, again = (scan(places.source, options=OPTIONS) for _ in range(2))
    slow, quick = TableOutput(source, places.target(), KEY), TableOutput(again, places.target(), KEY, hold=not ended)
    assert scrub_files(again, quick, pipeline).documents == 40
    told = "another run writes to the table" + (", and has ended it" if ended else "(?!,)")
    with pytest.raises(StoreError, match=told):
        scrub_files(source, slow, pipeline)
    if not ended:
        quick.settle()
    assert len(places.read()) == 40


def test_a_connection_that_breaks_is_made_again(
    postgresql: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = Places(tmp_path, postgresql())
    places.fill(rows(250))
    monkeypatch.setattr(batches, "_ROWS", 64)
    monkeypatch.setattr(table_output, "_ROWS", 64)
    monkeypatch.setattr(batches, "_WAITS", (0.0,))
    monkeypatch.setattr(table_output, "_WAITS", (0.0,))
    done = 0

    def break_them(items: Iterator[Any]) -> Iterator[Any]:
        nonlocal done
        for item in items:
            done += 1
            if done in (50, 150):
                places.change("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            yield item

    pipeline = build_pipeline(KEY, PipelineOptions(model="none"))
    source = scan(places.source, options=OPTIONS)
    report = scrub_files(source, TableOutput(source, places.target(), KEY), pipeline, watch=break_them)
    assert (report.documents, report.failures) == (250, [])
    assert len(places.read()) == 250


@pytest.mark.parametrize("refusals", [2, 3])
def test_what_a_database_does_not_take_at_first_is_written_later(
    lite: Places, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """It is tried once more than there are waits; then the run ends."""
    lite.fill(rows(30))
    monkeypatch.setattr(table_output, "_WAITS", (0.0, 0.0))
    tried, own = 0, TableOutput._write

    def refused(self: TableOutput, connection: Any) -> Any:
        nonlocal tried
        tried += 1
        if tried <= refusals:
            raise StoreError("the database cannot be reached", "check that it runs", "")
        return own(self, connection)

    monkeypatch.setattr(TableOutput, "_write", refused)
    pipeline = build_pipeline(KEY, PipelineOptions(model="none"))
    output = TableOutput(scan(lite.source, options=OPTIONS), lite.target(), KEY)
    if refusals < 3:
        assert scrub_files(scan(lite.source, options=OPTIONS), output, pipeline).documents == 30
        assert len(lite.read()) == 30
    else:
        with pytest.raises(StoreError):
            scrub_files(scan(lite.source, options=OPTIONS), output, pipeline)
    assert tried == 3


def test_a_database_that_goes_away_ends_the_run_and_the_next_goes_on(
    lite: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.fill(rows(200))
    monkeypatch.setattr(batches, "_ROWS", 64)
    fetched, own = 0, batches.SqlTable._fetched
    monkeypatch.setattr(batches, "_WAITS", ())

    def gone(self: Any, query: Any) -> Any:
        nonlocal fetched
        fetched += 1
        if fetched > 3:
            raise StoreError("the database cannot be reached", "check that it runs, and the address", self.store.shown)
        return own(self, query)

    monkeypatch.setattr(batches.SqlTable, "_fetched", gone)
    result = scrub(lite)
    assert result.exit_code == 3
    assert "128 documents, 1 failed" in result.output
    assert "note behind row 128: StoreError" in result.output
    assert "run the same command again" in result.output
    monkeypatch.setattr(batches.SqlTable, "_fetched", own)
    result = scrub(lite)
    assert result.exit_code == 0, result.output
    assert "72 documents, 0 failed" in result.output
    assert len(lite.read()) == 200


@pytest.mark.parametrize(("most_rows", "characters", "written"), [(4, 1 << 22, 3), (256, 200, 4), (256, 1 << 22, 1)])
def test_a_batch_ends_with_so_many_rows_or_characters(
    most_rows: int, characters: int, written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is under way is bounded, however long texts are."""
    batches_written: list[int] = []
    write = TableOutput._write

    def counted(self: TableOutput, connection: sql.Connection) -> dict[int, str]:
        batches_written.append(len(self._handled))
        return write(self, connection)

    monkeypatch.setattr(TableOutput, "_write", counted)
    monkeypatch.setattr(table_output, "_ROWS", most_rows)
    monkeypatch.setattr(table_output, "_CHARACTERS", characters)
    places = Places(tmp_path, None)
    places.fill(rows(10))
    assert scrubbed(places, "scrubbed").documents == 10
    assert (len(batches_written), sum(batches_written)) == (written, 10), batches_written
