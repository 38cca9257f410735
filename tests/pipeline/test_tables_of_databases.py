"""Tables of databases: scrubbed row by row into a new table, verified there, and read by other commands."""

from __future__ import annotations

import datetime
import json
import sqlite3
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sql
from databases import COLUMNS, KEY, Places, rows, run, scrub
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.base.errors import ConfigError, StoreError
from deid.base.store import open_reading
from deid.cli.main import app
from deid.document import Document
from deid.io import Options, batches, scan
from deid.io.batches import open_table
from deid.io.database import open_rows
from deid.pipeline.naming import mapped_id
from deid.pipeline.verification import _Rows


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


@pytest.mark.parametrize("declared", ["", "INTEGER"])  # which SQLite holds nobody to
def test_columns_of_no_type_keep_their_values_and_are_text_where_they_are_scrubbed(declared: str, lite: Places) -> None:
    values = ("B", "007", 7, 7.5, b"\xff", None, 2**53 + 1)
    with sqlite3.connect(lite.folder / "in.db") as connection:
        connection.execute(f"CREATE TABLE note (note_id INTEGER PRIMARY KEY, note_text {declared}, ward)")
        connection.executemany("INSERT INTO note VALUES (?, 'Seen by Dr. Smith.', ?)", enumerate(values))
    columns = (*COLUMNS[:6], "--keep", "ward", "--model", "none")
    assert run("scrub", lite.source, *columns, "--output", lite.target()).exit_code == 0
    with sqlite3.connect(lite.folder / "scrubbed.db") as connection:
        assert sorted(map(repr, connection.execute("SELECT ward FROM note"))) == sorted(repr((v,)) for v in values)
        told = {name: kind for _, name, kind, *_ in connection.execute("PRAGMA table_info(note)")}
        assert {kind for (kind,) in connection.execute("SELECT typeof(note_text) FROM note")} == {"text"}
    assert (told["note_text"], told["ward"]) == ("TEXT", "BLOB")


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
