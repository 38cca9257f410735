"""The SQL store: file modes, transactions, errors that tell nothing; on SQLite."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest
import sqlalchemy as sql

from deid.base.errors import ConfigError, StoreError
from deid.base.store import has_password, open_store

TABLES = sql.MetaData()
NAMES = sql.Table(
    "names", TABLES, sql.Column("id", sql.Integer, primary_key=True), sql.Column("name", sql.String, unique=True)
)


def test_created_file_is_private_and_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path, TABLES, create=True)
    with store.writing() as connection:
        connection.execute(NAMES.insert(), {"name": "a"})
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) > 1
    with store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()


def test_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(path, TABLES, create=True).close()
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        open_store(path, TABLES)


def add_and_fail(connection: sql.Connection) -> None:
    connection.execute(NAMES.insert(), {"name": "a"})
    raise RuntimeError


def test_failed_block_leaves_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db", TABLES, create=True)
    with pytest.raises(RuntimeError), store.writing() as connection:
        add_and_fail(connection)
    with store.reading() as connection:
        assert connection.execute(sql.select(sql.func.count()).select_from(NAMES)).scalar() == 0
    store.close()


def test_reader_sees_one_state_while_a_writer_commits(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db", TABLES, create=True)
    count = sql.select(sql.func.count()).select_from(NAMES)
    with store.reading() as reader:
        assert reader.execute(count).scalar() == 0
        with store.writing() as writer:
            writer.execute(NAMES.insert(), {"name": "a"})
        assert reader.execute(count).scalar() == 0
    with store.reading() as reader:
        assert reader.execute(count).scalar() == 1
    store.close()


def test_errors_quote_no_values(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db", TABLES, create=True)
    with pytest.raises(StoreError) as caught, store.writing() as connection:
        connection.execute(NAMES.insert(), [{"name": "Annabel Smith"}, {"name": "Annabel Smith"}])
    assert "Annabel" not in str(caught.value)
    assert caught.value.__cause__ is None
    store.close()


def test_compacting_removes_what_was_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path, TABLES, create=True)
    with store.writing() as connection:
        connection.execute(NAMES.insert(), [{"name": f"OLDCONTENT{n}" * 50} for n in range(200)])
    with store.writing() as connection:
        connection.execute(NAMES.delete())
    assert store.compact(TABLES)
    assert not any(b"OLDCONTENT" in f.read_bytes() for f in tmp_path.iterdir())
    store.close()


@pytest.mark.parametrize(
    ("content", "what"),
    [(None, "no such database"), (b"", "lacks tables"), (b"this is not a database" * 100, "no database, or damaged")],
)
def test_what_is_no_store_is_refused(tmp_path: Path, content: bytes | None, what: str) -> None:
    path = tmp_path / "store.db"
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o600)
    with pytest.raises(StoreError, match=what):
        open_store(path, TABLES)


def test_places_that_cannot_be_created_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be created"):
        open_store(tmp_path / "none" / "store.db", TABLES, create=True)
    with pytest.raises(ConfigError, match="not supported"):
        open_store("mysql://host/db", TABLES)
    with pytest.raises(ConfigError, match="not a database URL"):
        open_store("://", TABLES)


def test_damaged_text_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path, TABLES, create=True, whole=True)
    with store.writing() as connection:
        connection.execute(NAMES.insert(), {"name": "Quartermain"})
    store.close()
    data = path.read_bytes()
    assert data.count(b"Quartermain") == 2  # row and index
    path.write_bytes(data.replace(b"Quartermain", b"Quart\xff\xfe\xfdain"))
    store = open_store(path, TABLES)
    with pytest.raises(StoreError, match="damaged") as caught, store.reading() as connection:
        connection.execute(sql.select(NAMES.c.name)).all()
    assert "Quart" not in str(caught.value)
    store.close()


def test_damaged_page_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path, TABLES, create=True)
    with store.writing() as connection:
        connection.execute(NAMES.insert(), [{"name": f"name {n}"} for n in range(2000)])
    store.close()
    with sqlite3.connect(path) as plain:
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    plain.close()
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    store = open_store(path, sql.MetaData())
    with pytest.raises(StoreError, match="damaged"), store.reading() as connection:
        connection.execute(sql.select(NAMES)).all()


@pytest.mark.parametrize(
    ("place", "secret"),
    [
        ("vault.db", False),
        ("postgresql://me@host/db", False),
        ("postgresql://me:secret@host/db", True),
        ("postgresql://me@host/db?password=secret", True),
    ],
)
def test_has_password(place: str, secret: bool) -> None:
    assert has_password(place) == secret


def test_unreachable_server_is_a_clear_error_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://me:hush@127.0.0.1:1/db?connect_timeout=2", TABLES)
    assert "hush" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_link_to_nothing_is_no_place_for_a_database(tmp_path: Path) -> None:
    """SQLite would follow it, and the file that it makes could be read by others."""
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(StoreError, match="a link to a file that is not there"):
        open_store(tmp_path / "link", sql.MetaData(), create=True)
    assert not (tmp_path / "nothing").exists()
