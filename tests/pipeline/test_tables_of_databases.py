"""Tables of databases: scrubbed row by row into a new table, whatever happens on the way."""

from __future__ import annotations

import datetime
import json
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from deid.base.errors import ConfigError, StoreError
from deid.base.keys import Key
from deid.base.store import open_reading
from deid.cli.main import app
from deid.document import Document
from deid.io import Options, batches, scan
from deid.io.batches import open_table
from deid.io.database import open_rows
from deid.pipeline import build_pipeline, scrub_files, table_output
from deid.pipeline.naming import mapped_id
from deid.pipeline.options import PipelineOptions
from deid.pipeline.table_output import TableOutput, is_whole
from deid.pipeline.verification import _Rows

KEY = Key(b"k" * 32)
COLUMNS = ("--table", "note", "--text", "note_text", "--id", "note_id", "--patient", "person_id", "--date", "note_date")
OPTIONS = Options(table="note", text_field="note_text", id_field="note_id", patient="person_id", date="note_date")
NOTES = sql.MetaData()
NOTE = sql.Table(
    "note",
    NOTES,
    sql.Column("note_id", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("person_id", sql.Integer),
    sql.Column("note_date", sql.Date),
    sql.Column("note_text", sql.Text),
    sql.Column("author", sql.Text),
    sql.Column("class_id", sql.Integer),
)


def rows(count: int, seed: int = 1) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    ids = sorted(draw.sample(range(10**6, 10**6 + 50 * count), count))
    return [
        {
            "note_id": number,
            "person_id": draw.randrange(1, count // 4 + 2),
            "note_date": datetime.date(2019, 1, 1) + datetime.timedelta(draw.randrange(1500)),
            "note_text": f"Seen by Dr. {draw.choice(['Smith', 'Garcia', 'Miller'])} "
            f"on 03/{draw.randrange(10, 28)}/2019."
            f" MRN: {draw.randrange(10**6, 10**7)}. Call 617-555-{draw.randrange(1000, 9999)}.\nStable.",
            "author": "Zacharias Q. Oddname",
            "class_id": draw.randrange(3),
        }
        for number in ids
    ]


class Places:
    """Where a test's tables are, in SQLite or PostgreSQL."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self._url = url
        self.source = f"sqlite:///{folder / 'in.db'}" if url is None else url
        self.folder = folder

    def target(self, name: str = "scrubbed") -> str:
        if self._url is None:
            return f"sqlite:///{self.folder / name}.db/note"
        before, _, query = self._url.partition("?")
        return f"{before}/{self.schema(name)}.note?{query}"

    def schema(self, name: str) -> str | None:
        """Return the schema of a new table: one of the test's own."""
        return None if self._url is None else f"{self._url.rpartition('%3D')[2]}_{name}"

    def engine(self, place: str) -> sql.Engine:
        return sql.create_engine(place.replace("postgresql://", "postgresql+psycopg://"))

    def fill(self, found: list[dict[str, Any]], table: sql.Table = NOTE) -> None:
        engine = self.engine(self.source)
        with engine.begin() as connection:
            table.metadata.create_all(connection)
            connection.execute(sql.insert(table), found)
        engine.dispose()

    def change(self, statement: str) -> None:
        engine = self.engine(self.source)
        with engine.begin() as connection:
            connection.execute(sql.text(statement))
        engine.dispose()

    def inspected(self, name: str | None = None) -> tuple[sql.Inspector, str | None]:
        """Return the database of a new table, or of the source, and the schema there."""
        engine = self.engine(self.source if self._url or name is None else f"sqlite:///{self.folder / name}.db")
        return sql.inspect(engine), None if name is None else self.schema(name)

    def tables(self, name: str | None = None) -> list[str]:
        """Return the names of the tables beside a new table, or beside the source."""
        found, schema = self.inspected(name)
        return sorted(found.get_table_names(schema))

    def types(self, name: str | None = None) -> dict[str, str]:
        """Return the types of the columns of a new table, or of the source."""
        found, schema = self.inspected(name)
        return {column["name"]: str(column["type"]) for column in found.get_columns("note", schema)}

    def read(self, name: str = "scrubbed", table: str = "note") -> list[dict[str, Any]]:
        """Return the rows of a new table in the order of their ids, and see that no note of a run is left."""
        schema = self.schema(name)
        engine = self.engine(f"sqlite:///{self.folder / name}.db" if self._url is None else self._url)
        with engine.connect() as connection:
            assert sorted(sql.inspect(connection).get_table_names(schema)) in (["note"], ["note", "note_nlp"])
            shown = table if schema is None else f"{schema}.{table}"
            found = [
                dict(row)
                for row in connection.execute(sql.text(f"SELECT * FROM {shown} ORDER BY {table}_id")).mappings()
            ]
        engine.dispose()
        return found


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the test's own folder: there lies what is told of a table of PostgreSQL."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    return Places(tmp_path, request.getfixturevalue("postgresql")() if request.param == "postgresql" else None)


@pytest.fixture
def lite(tmp_path: Path) -> Places:
    return Places(tmp_path, None)


def run(*arguments: str) -> Result:
    environment = {"DEID_KEY": KEY.secret.hex(), "DEID_SOURCE": None, "DEID_TARGET": None}
    return CliRunner().invoke(app, list(arguments), env=environment)


def scrub(places: Places, name: str = "scrubbed", *more: str) -> Result:
    target = ("--output", places.target(name))
    return run("scrub", places.source, *COLUMNS, "--model", "none", *target, *more)


def scrubbed(places: Places, name: str, *, resume: bool = False) -> Any:
    pipeline = build_pipeline(KEY, PipelineOptions(model="none", patient_field="person_id", date_field="note_date"))
    source = scan(places.source, options=OPTIONS)
    return scrub_files(source, TableOutput(source, places.target(name), KEY, "same", resume=resume), pipeline)


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


def test_a_manifest_tells_that_rows_of_a_scrubbed_table_have_changed(places: Places) -> None:
    places.fill(rows(20))
    assert scrub(places).exit_code == 0
    target = places.target()
    shown = target if places.schema("x") else str(places.folder / "scrubbed.db")
    assert run("manifest", "verify", shown).exit_code == 0
    engine = places.engine(target.rpartition("/")[0] if shown != target else str(places.source))
    name = f"{places.schema('scrubbed')}.note" if places.schema("x") else "note"
    with engine.begin() as connection:
        connection.execute(sql.text(f"UPDATE {name} SET note_text = 'Dr. Smith'"))
    engine.dispose()
    result = run("manifest", "verify", shown)
    assert result.exit_code == 1
    assert "changed" in result.output
    if shown != target:  # a file of SQLite may have one table, which nobody has to name
        assert (
            run(
                "scrub", places.source, *COLUMNS, "--model", "none", "--output", f"sqlite:///{places.folder}/o.db"
            ).exit_code
            == 0
        )
        assert run("manifest", "verify", str(places.folder / "o.db")).exit_code == 0


def test_each_column_becomes_what_the_summary_says(places: Places) -> None:
    old = rows(60)
    places.fill(old)
    result = scrub(places, "scrubbed", "--keep", "class_id")
    assert result.exit_code == 0, result.output
    new = places.read()
    assert set(new[0]) == {"note_id", "person_id", "note_date", "note_text", "class_id"}
    words = "mapped by the key: note_id, person_id; as the policy says of DATE: note_date; scrubbed: note_text"
    assert f"{words}; dropped: author; kept: class_id" in result.output
    names = ("scrubbed.db", f"{places.schema('scrubbed')}.note")
    beside = [folder / f"{name}.manifest.json" for folder in (places.folder, Path()) for name in names]
    manifest = json.loads(next(path for path in beside if path.exists()).read_text())
    assert manifest["run"]["results"]["columns"]["author"] == "dropped"
    by_id = {row["note_id"]: row for row in new}
    pairs = [(row, by_id[mapped_id(KEY, "doc", row["note_id"])]) for row in old]
    assert all(b["person_id"] == mapped_id(KEY, "patient", a["person_id"]) for a, b in pairs)
    assert [b["class_id"] for _, b in pairs] == [a["class_id"] for a, _ in pairs]
    shifts: dict[int, set[int]] = {}
    for a, b in pairs:
        assert "Smith" not in b["note_text"] or "Smith" not in a["note_text"]
        assert a["note_text"][-7:] == b["note_text"][-7:] == "Stable."
        day = datetime.date.fromisoformat(str(b["note_date"]))
        written = datetime.datetime.strptime(b["note_text"].split(" on ")[1][:10], "%m/%d/%Y").date()
        said = datetime.datetime.strptime(a["note_text"].split(" on ")[1][:10], "%m/%d/%Y").date()
        shifts.setdefault(a["person_id"], set()).update({(day - a["note_date"]).days, (written - said).days})
    assert all(len(found) == 1 for found in shifts.values())  # one shift a patient, in the column and in the text
    assert len({*map(min, shifts.values())}) > 5
    assert "Oddname" not in str(new)


def test_a_row_that_cannot_be_scrubbed_stands_aside(places: Places) -> None:
    places.fill(rows(120))
    bad = [row["note_id"] for row in rows(120)][10:120:40]
    places.change(f"UPDATE note SET note_text = NULL WHERE note_id IN ({', '.join(map(str, bad))})")
    result = scrub(places)
    assert result.exit_code == 3
    assert "117 documents, 3 failed" in result.output
    assert "FormatError: note, row 11: the column note_text is NULL" in result.output
    assert not [number for number in map(str, bad) if number in result.output]
    places.change(f"UPDATE note SET note_text = 'Seen by Dr. Smith.' WHERE note_id = {bad[1]}")
    again = scrub(places)  # nothing is left to do, and what failed is not forgotten, nor done without being asked for
    assert again.exit_code == 3
    assert "117 documents were there" in again.output
    assert "0 documents, 3 failed" in again.output
    assert "the column note_text is NULL" in again.output
    assert "1 documents, 2 failed" in scrub(places, "scrubbed", "--resume").output
    places.change("UPDATE note SET note_text = 'Seen by Dr. Smith.' WHERE note_text IS NULL")
    result = scrub(places, "scrubbed", "--resume")
    assert result.exit_code == 0, result.output
    assert len(places.read()) == 120
    assert scrub(places, "anew").exit_code == 0
    assert places.read("anew") == places.read()


def test_what_failed_is_listed_for_the_user_alone(lite: Places) -> None:
    lite.fill(rows(10))
    lite.change("UPDATE note SET note_text = NULL WHERE note_id = (SELECT max(note_id) FROM note)")
    assert scrub(lite).exit_code == 3
    listed = lite.folder / "scrubbed.db.failed"
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600
    assert listed.read_text().endswith(f"\t{rows(10)[-1]['note_id']}\n")
    assert stat.S_IMODE((lite.folder / "scrubbed.db").stat().st_mode) == 0o600
    for command in (("scrub", "--output", lite.target("more")), ("tag", "out"), ("extract", "view.csv")):
        result = run(command[0], lite.source, *command[1:], *COLUMNS[:-2], "--files-from", str(listed))
        assert "with --resume" in str(result.exception)


def test_rows_without_an_id_stand_aside_and_those_behind_them_do_not(lite: Places) -> None:
    lite.fill(rows(10))
    lite.change("CREATE TABLE free (note_id BIGINT, note_text TEXT)")
    lite.change("INSERT INTO free SELECT note_id, note_text FROM note")
    ids = [row["note_id"] for row in rows(10)]
    lite.change(f"UPDATE free SET note_id = note_id + 0.5 WHERE note_id IN ({ids[0]}, {ids[4]})")
    lite.change(f"UPDATE free SET note_id = NULL WHERE note_id = {ids[7]}")
    columns = ("--table", "free", "--text", "note_text", "--id", "note_id", "--model", "none")
    result = run("scrub", lite.source, *columns, "--output", lite.target())
    assert result.exit_code == 3, result.output
    assert "7 documents, 3 failed" in result.output


@pytest.mark.parametrize("cell", [b"\xff\xfe", 17, b"\xe9t\xe9"])
def test_a_cell_that_is_no_text_costs_its_row(lite: Places, cell: bytes | int) -> None:
    lite.fill(rows(10))
    with sqlite3.connect(lite.folder / "in.db") as connection:
        how = "CAST(? AS TEXT)" if cell == b"\xe9t\xe9" else "?"  # bytes in Latin-1 that are declared as text
        connection.execute("ALTER TABLE note ADD COLUMN free BLOB")
        connection.execute("UPDATE note SET free = note_text")
        connection.execute(f"UPDATE note SET free = {how} WHERE note_id = (SELECT min(note_id) FROM note)", (cell,))
    result = run(
        "scrub",
        lite.source,
        *COLUMNS[:2],
        "--text",
        "free",
        "--id",
        "note_id",
        "--output",
        lite.target(),
        "--model",
        "none",
    )
    assert result.exit_code == 3, result.output
    assert "note, row 1:" in result.output
    assert "9 documents, 1 failed" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--table", "nots"), "did you mean 'note'"),
        ((), "the table of the database is not named"),
        (("--table", "note", "--text", "note_txt"), "did you mean 'note_text'"),
        (("--table", "note", "--id", "noteid"), "did you mean 'note_id'"),
        (("--table", "note", "--patient", "person"), "did you mean 'person_id'"),
        (("--table", "note", "--date", "nota_date"), "did you mean 'note_date'"),
        (("--table", "note", "--keep", "clas_id"), "did you mean 'class_id'"),
        (("--table", "note", "--id", "class_id"), "does not tell rows apart"),
    ],
)
def test_a_name_that_is_not_there_has_a_hint(places: Places, arguments: tuple[str, ...], said: str) -> None:
    places.fill(rows(10))
    result = run("scrub", places.source, *arguments, "--output", places.target(), "--model", "none")
    assert isinstance(result.exception, ConfigError)
    assert said in str(result.exception)
    assert "sqlite" not in places.source or not (places.folder / "scrubbed.db").exists()


def test_what_a_server_does_not_have_is_told(postgresql: Callable[[], str], tmp_path: Path) -> None:
    place = postgresql()
    for source, said in (
        (place, "SCHEMA.TABLE"),
        (place.replace("/postgres?", "/nowhere?"), "there is no such database"),
    ):
        result = run("scrub", source, "--table", "note", "--output", f"sqlite:///{tmp_path}/out.db", "--model", "none")
        assert said in str(result.exception)


def test_a_password_does_not_stand_on_the_command_line(lite: Places) -> None:
    lite.fill(rows(3))
    secret = "postgresql://me:secret@localhost:1/x"
    for arguments in (
        ("scrub", secret, *COLUMNS, "--output", lite.target()),
        ("scrub", lite.source, *COLUMNS, "--output", f"{secret}/deid.note"),
        ("verify", secret, lite.target(), "--table", "note"),
        ("verify", lite.source, secret, "--table", "note"),
        ("tag", secret, "out.jsonl", "--to", "jsonl"),
        ("extract", secret, "view.csv"),
    ):
        result = run(*arguments)
        assert isinstance(result.exception, ConfigError), arguments
        assert "PGPASSWORD" in str(result.exception)
        assert "secret" not in str(result.exception)
    result = CliRunner().invoke(
        app,
        ["scrub", *COLUMNS, "--model", "none"],
        env={"DEID_KEY": KEY.secret.hex(), "DEID_SOURCE": lite.source, "DEID_TARGET": lite.target()},
    )
    assert result.exit_code == 0, result.output
    assert len(lite.read()) == 3


def test_nothing_is_ever_overwritten(places: Places) -> None:
    places.fill(rows(5))
    assert scrub(places).exit_code == 0
    assert "exists already" in str(scrub(places).exception)
    assert isinstance(scrub(places, "other", "--resume").exception, ConfigError)
    assert len(places.read()) == 5


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


def test_two_runs_into_one_table_do_not_mix(lite: Places) -> None:
    lite.fill(rows(40))
    pipeline = build_pipeline(KEY, PipelineOptions(model="none"))
    source, again = (scan(lite.source, options=OPTIONS) for _ in range(2))
    slow, quick = TableOutput(source, lite.target(), KEY), TableOutput(again, lite.target(), KEY, hold=True)
    assert scrub_files(again, quick, pipeline).documents == 40
    with pytest.raises(StoreError, match="another run writes"):
        scrub_files(source, slow, pipeline)
    quick.settle()
    assert len(lite.read()) == 40


def test_the_copy_does_not_lie_in_the_file_of_the_originals(lite: Places) -> None:
    lite.fill(rows(5))
    result = run("scrub", lite.source, *COLUMNS, "--output", f"{lite.source}/copy")
    assert "the file of the source" in str(result.exception)


def test_what_is_read_cannot_be_written(places: Places) -> None:
    places.fill(rows(5))
    store = open_reading(places.source)
    with pytest.raises(StoreError), store.reading() as connection:
        connection.execute(sql.text("UPDATE note SET note_text = ''"))
    store.close()


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


def test_a_row_that_the_new_table_does_not_take_stands_aside(postgresql: Callable[[], str], tmp_path: Path) -> None:
    """SQLite holds texts with NUL; PostgreSQL does not."""
    lite = Places(tmp_path, None)
    lite.fill(rows(50))
    last = rows(50)[-1]["note_id"]
    lite.change(f"UPDATE note SET note_text = 'Seen ' || char(0) || ' there' WHERE note_id = {last}")
    places = Places(tmp_path, postgresql())
    result = run("scrub", lite.source, *COLUMNS, "--model", "none", "--output", places.target())
    assert result.exit_code == 3, result.output
    assert "49 documents, 1 failed" in result.output
    assert "row 50: the output table does not take the row" in result.output
    lite.change(f"UPDATE note SET note_text = 'Seen there' WHERE note_id = {last}")
    result = run("scrub", lite.source, *COLUMNS, "--model", "none", "--output", places.target(), "--resume")
    assert "1 documents, 0 failed" in result.output


def test_rows_are_verified(places: Places) -> None:
    places.fill(rows(40))
    assert scrub(places).exit_code == 0
    columns = [*COLUMNS[:-2], "--model", "none"]
    result = run("verify", places.source, places.target(), *columns)
    assert result.exit_code == 0, result.output
    assert "40 documents, 0 failed" in result.output
    first = places.read()[0]["note_id"]
    engine = places.engine(f"sqlite:///{places.folder / 'scrubbed.db'}" if "sqlite" in places.source else places.source)
    with engine.begin() as connection:
        name = "note" if "sqlite" in places.source else f"{places.schema('scrubbed')}.note"
        connection.execute(sql.text(f"UPDATE {name} SET note_text = note_text || ' More.' WHERE note_id = {first}"))
    engine.dispose()
    result = run("verify", places.source, places.target(), *columns)
    assert result.exit_code == 1
    assert "39 documents, 1 failed" in result.output


@pytest.mark.parametrize("kind", [int, str])
def test_rows_that_are_left_over_are_known_without_their_ids(lite: Places, kind: type) -> None:
    """In a few bytes a row, however long the ids are, whether these are numbers or texts."""
    ids = sql.Column("note_id", sql.BigInteger if kind is int else sql.Text, primary_key=True, autoincrement=False)
    table = sql.Table("note", sql.MetaData(), ids, sql.Column("note_text", sql.Text))
    keys = [kind(10**6 + 7 * n) if kind is int else f"{n:03}-{'long' * 200}" for n in range(2000)]
    lite.fill([{"note_id": key, "note_text": "Stable."} for key in keys], table)
    source = open_rows(lite.source, Options(table="note", text_field="note_text", id_field="note_id"))
    tracemalloc.start()
    left = _Rows(source)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 300_000
    assert str(keys[3]) in left
    assert "1" not in left
    for key in keys[:3] + keys[4:-1]:
        taken = left.pop(str(key))
        assert isinstance(taken, Document)
        assert taken.id == str(key)
        assert str(key) not in left
    assert [*left] == [str(keys[3]), str(keys[-1])]


def test_days_of_rows_are_verified(lite: Places) -> None:
    lite.fill(rows(6))
    assert scrub(lite).exit_code == 0
    command = ["verify", lite.source, lite.target(), *COLUMNS, "--model", "none"]
    assert "6 documents, 0 failed" in run(*command).output
    originals = [row["note_date"] for row in rows(6)]
    engine = lite.engine(f"sqlite:///{lite.folder / 'scrubbed.db'}")
    with engine.begin() as connection:  # all rows of all patients, so that each row has one that is not its own too
        connection.execute(sql.text(f"UPDATE note SET note_date = '{originals[0]}'"))
    engine.dispose()
    result = run(*command)
    assert result.exit_code == 1
    assert "DATE" in result.output
    (lite.folder / "note.txt").write_text("well")
    refused = run("verify", str(lite.folder / "note.txt"), str(lite.folder / "note.txt"), "--date", "x")
    assert "column of a database" in str(refused.exception)


def test_other_commands_read_rows(lite: Places) -> None:
    lite.fill(rows(12))
    result = run("tag", lite.source, str(lite.folder / "t.jsonl"), "--to", "jsonl", *COLUMNS[:-2], "--model", "none")
    assert result.exit_code == 0, result.output
    tagged = list(scan(lite.folder / "t.jsonl").documents())
    assert [item.id for item in tagged if isinstance(item, Document)] == [str(row["note_id"]) for row in rows(12)]
    result = run("extract", lite.source, str(lite.folder / "view.csv"), *COLUMNS, "--model", "none")
    assert result.exit_code == 0, result.output
    assert len({row["person_id"] for row in rows(12)}) == len((lite.folder / "view.csv").read_text().splitlines()) - 1
    result = run("scrub", lite.source, *COLUMNS, "--model", "none", "--preview")
    assert "[-617-555-" in result.output


def test_several_processes_write_the_same(lite: Places) -> None:
    lite.fill(rows(120))
    assert scrub(lite, "one").exit_code == 0
    assert scrub(lite, "two", "--jobs", "2").exit_code == 0
    assert lite.read("one") == lite.read("two")


CDM = sql.MetaData()
OMOP = sql.Table(
    "note",
    CDM,
    sql.Column("note_id", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("person_id", sql.Integer, nullable=False),
    sql.Column("note_date", sql.Date, nullable=False),
    sql.Column("note_datetime", sql.DateTime),
    sql.Column("note_type_concept_id", sql.Integer, nullable=False),
    sql.Column("note_class_concept_id", sql.Integer, nullable=False),
    sql.Column("note_title", sql.String(250)),
    sql.Column("note_text", sql.Text, nullable=False),
    sql.Column("encoding_concept_id", sql.Integer, nullable=False),
    sql.Column("language_concept_id", sql.Integer, nullable=False),
    sql.Column("provider_id", sql.Integer),
    sql.Column("visit_occurrence_id", sql.Integer),
    sql.Column("visit_detail_id", sql.Integer),
    sql.Column("note_source_value", sql.String(50)),
    sql.Column("note_event_id", sql.BigInteger),
    sql.Column("note_event_field_concept_id", sql.Integer),
)


def omop_rows(count: int) -> list[dict[str, Any]]:
    draw = random.Random(2)
    start = datetime.datetime(2019, 1, 1)
    found = []
    for number in range(1, count + 1):
        when = start + datetime.timedelta(seconds=draw.randrange(10**8))
        found.append(
            {
                "note_id": number,
                "person_id": 7000 + draw.randrange(count // 3),
                "note_date": when.date(),
                "note_datetime": when if number % 4 else None,
                "note_type_concept_id": 44814640,
                "note_class_concept_id": 0,
                "note_title": f"Letter to Dr. Achterberg {number}" if number % 2 else None,
                "note_text": f"Seen by Dr. Achterberg on {when:%m/%d/%Y}. Stable.",
                "encoding_concept_id": 32678,
                "language_concept_id": 4180186,
                "provider_id": draw.randrange(1, 5),
                "visit_occurrence_id": number // 2 + 1,
                "visit_detail_id": None,
                "note_source_value": f"ACHTERBERG-{number}",
                "note_event_id": number,
                "note_event_field_concept_id": 1147332,
            }
        )
    return found


def test_omop_notes_come_back_as_omop_notes(places: Places) -> None:
    """Ids mapped in one way in all rows, one shift a person to the second, concepts as they were, no source values."""
    old = omop_rows(60)
    places.fill(old, OMOP)
    result = run("scrub", places.source, "--omop", "--model", "none", "--output", places.target())
    assert result.exit_code == 0, result.output
    new = {row["note_id"]: row for row in places.read()}
    before, after = places.types(), places.types("scrubbed")
    kept = [name for name in after if name not in ("note_title", "note_text", "note_id")]
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    dropped = {"note_source_value"}
    assert all(row.keys() == {c.name for c in OMOP.columns} - dropped for row in new.values())
    assert "chterberg" not in str(new).lower()
    shifts: dict[int, set[datetime.timedelta]] = {}
    events = dict.fromkeys(("visit_occurrence_id", "note_event_id"), "event")  # the key resolves, whatever the table
    ids = {"person_id": "patient", "provider_id": "provider", **events}
    for a in old:
        b = new[mapped_id(KEY, "doc", a["note_id"])]
        assert {name: b[name] for name in ids} == {name: mapped_id(KEY, what, a[name]) for name, what in ids.items()}
        assert {name: b[name] for name in b if "concept" in name} == {name: a[name] for name in b if "concept" in name}
        assert (b["note_title"] is None) == (a["note_title"] is None)
        assert b["visit_detail_id"] is None
        day = datetime.date.fromisoformat(str(b["note_date"]))
        moved = shifts.setdefault(a["person_id"], set())
        moved.add(day - a["note_date"])
        assert f" on {day:%m/%d/%Y}. Stable." in b["note_text"]
        if a["note_datetime"] is not None:
            moved.add(datetime.datetime.fromisoformat(str(b["note_datetime"])) - a["note_datetime"])
        else:
            assert b["note_datetime"] is None
    assert all(len(found) == 1 for found in shifts.values())
    result = run("verify", places.source, places.target(), "--omop", "--model", "none")
    assert result.exit_code == 0, result.output


def spans_beside(target: str) -> str:
    """Return the place of NOTE_NLP beside a new table."""
    before, mark, query = target.partition("?")
    return f"{before}_nlp{mark}{query}"


def test_spans_are_rows_of_note_nlp_where_the_phi_is(places: Places) -> None:
    """Each quotes the note where it says; they never stand beside scrubbed notes, nor these beside them."""
    old = {row["note_id"]: row for row in omop_rows(30)}
    places.fill(list(old.values()), OMOP)
    common = (places.source, "--omop", "--model", "none")
    target = spans_beside(places.target("phi"))
    result = run("tag", *common, "--output", target)
    assert result.exit_code == 0, result.output
    engine = places.engine(target.rpartition("/")[0] if "sqlite" in target else places.source)
    with engine.connect() as connection:
        name = "note_nlp" if "sqlite" in target else f"{places.schema('phi')}.note_nlp"
        spans = [dict(row) for row in connection.execute(sql.text(f"SELECT * FROM {name}")).mappings()]
    engine.dispose()
    assert [span["note_nlp_id"] for span in spans] == list(range(1, 61))
    for span in spans:
        at, length = int(span["offset"]), int(span["term_modifiers"].partition("length=")[2])
        assert old[span["note_id"]]["note_text"][at : at + length] == span["lexical_variant"]
        assert str(span["nlp_date"]) == str(old[span["note_id"]]["note_date"])
    assert {span["term_modifiers"].partition(";")[0] for span in spans} == {"label=DATE", "label=DOCTOR"}
    assert run("scrub", *common, "--output", places.target("shared")).exit_code == 0
    for command, place in (
        (("scrub",), places.target("phi")),
        (("scrub", "--note-nlp"), places.target("phi")),
        (("tag",), spans_beside(places.target("shared"))),
    ):
        assert "spans quote PHI" in str(run(*command, *common, "--output", place).exception)
    assert len(places.read("shared")) == 30


def test_what_stands_in_scrubbed_notes_is_shared_as_note_nlp(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row says what the scrubbed note holds there, never what the note held; a run that is killed goes on."""
    old = omop_rows(60)
    places.fill(old, OMOP)
    command = ("scrub", places.source, "--omop", "--note-nlp", "--model", "none", "--output", places.target())
    monkeypatch.setattr(table_output, "_ROWS", 20)
    step, calls = TableOutput._step, iter("12")

    def breaking(*arguments: Any) -> None:
        step(*arguments)
        if next(calls) == "2":
            raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(TableOutput, "_step", breaking)
        assert run(*command).exit_code != 0
    assert run(*command).exit_code == 0
    notes = {row["note_id"]: row for row in places.read()}
    spans = places.read(table="note_nlp")
    assert len(notes) == 60
    numbers = {int(span["note_nlp_id"]) for span in spans}
    assert len(spans) == len(numbers) == 120
    assert min(numbers) > 0
    assert "chterberg" not in str(spans).lower()
    for span in spans:
        note = notes[span["note_id"]]
        at, length = int(span["offset"]), int(span["term_modifiers"].partition("length=")[2])
        assert note["note_text"][at : at + length] == span["lexical_variant"]
        assert str(span["nlp_date"]) == str(note["note_date"])
    assert {span["term_modifiers"].partition(";")[0] for span in spans} == {"label=DATE", "label=DOCTOR"}
    assert "--omop" in str(run("scrub", places.source, *COLUMNS, "--note-nlp", "--output", "x.db").exception)


def test_a_policy_without_dates_leaves_none(places: Places) -> None:
    places.fill(omop_rows(9), OMOP)
    result = run(
        "scrub", places.source, "--omop", "--model", "none", "--policy", "safe-harbor", "--output", places.target()
    )
    assert result.exit_code == 0, result.output
    assert {(row["note_date"], row["note_datetime"]) for row in places.read()} == {(None, None)}
    assert "9 cells of note_date are empty" in result.output


def test_a_site_has_lines_of_its_own(lite: Places) -> None:
    lite.fill(omop_rows(9), OMOP)
    mine = lite.folder / "mine.toml"
    mine.write_text('[tables.NOTE]\nnote_title = ["blocked", "never needed"]\n')
    result = run(
        "scrub", lite.source, "--omop", "--model", "none", "--places", str(mine), "--output", lite.target(),
        "--keep", "note_source_value",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "note_title" not in lite.read()[0]
    assert {row["note_source_value"] for row in lite.read()} == {f"ACHTERBERG-{n}" for n in range(1, 10)}
    mine = lite.folder / "wrong.toml"
    mine.write_text('[tables.NOTE]\nnote_titel = ["blocked", "never needed"]\n')
    result = run("scrub", lite.source, "--omop", "--places", str(mine), "--output", lite.target("other"))
    assert "note_title" in str(result.exception)


def test_omop_says_what_the_columns_are(lite: Places) -> None:
    lite.fill(omop_rows(3), OMOP)
    for more, said in ((("--text", "note_title"), "leave out --id"), (("--table", "nots"), "did you mean 'note'")):
        result = run("scrub", lite.source, "--omop", *more, "--output", lite.target())
        assert said in str(result.exception)
    lite.change("ALTER TABLE note RENAME COLUMN note_text TO txt")
    assert "no column note_text" in str(run("scrub", lite.source, "--omop", "--output", lite.target()).exception)


KEYS = st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=6)), unique=True, max_size=40)


@given(keys=KEYS, size=st.integers(1, 7), back=st.integers(0, 40))
def test_chunks_of_keys_are_all_rows_in_order(
    tmp_path_factory: pytest.TempPathFactory, keys: list[int | str], size: int, back: int
) -> None:
    """Whatever the keys are, and from whichever row on: none is left out, none comes twice."""
    path = tmp_path_factory.mktemp("keys") / "t.db"
    keys = [key for key in keys if isinstance(key, int) or key.isprintable()]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (k PRIMARY KEY, v)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(key, str(key)) for key in keys])
        order = list(connection.execute("SELECT k, v FROM t ORDER BY k"))
    connection.close()
    table = open_table(path, "t")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "_ROWS", size)
        assert [tuple(row) for batch in table.by_key(["k", "v"], "k") for row in batch] == order
        after = order[min(back, len(order) - 1)][0] if order else 0
        rest = [row for batch in table.by_key(["k", "v"], "k", after) for row in batch]
        assert [tuple(row) for row in rest] == (order[min(back, len(order) - 1) + 1 :] if order else [])
    table.store.close()


@given(st.lists(st.integers(-(2**64), 2**64), unique=True, max_size=30))
def test_ids_are_mapped_one_to_one_and_stay_in_their_columns(ids: list[int]) -> None:
    new = [mapped_id(KEY, "patient", one) for one in ids]
    assert len(set(new)) == len(ids)
    for old, mapped in zip(ids, new, strict=True):
        assert isinstance(mapped, int)
        assert (mapped < 0) == (old < 0)
        assert (mapped == 0) == (old == 0)
        for border in (2**31, 2**63):
            assert (abs(mapped) < border) == (abs(old) < border)
    assert all(mapped_id(KEY, "visit", one) != mapped for one, mapped in zip(ids, new, strict=True) if one) or not ids


def test_no_text_stays_in_a_column_of_concepts(tmp_path: Path) -> None:
    """SQLite takes a text in a column of numbers: what is planted in a column of NOTE is in no row that comes out."""
    planted = {column: f"Zo{n}bath" for n, column in enumerate(omop_rows(3)[0])}
    with sqlite3.connect(tmp_path / "in.db") as connection:
        connection.execute(f"CREATE TABLE note ({', '.join(f'{name} INTEGER' for name in planted)})")
        for number, (column, said) in enumerate(planted.items(), 1):
            row = dict.fromkeys(planted, number) | {"note_date": "2024-03-12", "note_datetime": "2024-03-12 09:45:00"}
            row |= {
                "note_title": "Letter",
                "note_text": "Stable.",
                "note_id": 1000 + number,
                column: f"Dr. {said} came",
            }
            connection.execute(
                f"INSERT INTO note VALUES ({', '.join('?' * len(row))})", [row[name] for name in planted]
            )
    result = run("scrub", f"sqlite:///{tmp_path / 'in.db'}", "--omop", "--output", f"sqlite:///{tmp_path / 'out.db'}")
    with sqlite3.connect(tmp_path / "out.db") as connection:
        out = repr(connection.execute("SELECT * FROM note").fetchall())
    assert out.count("Stable.") >= len(planted) - 8
    for said in planted.values():
        assert said not in out
        assert said not in result.output
