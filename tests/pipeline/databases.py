"""Tables of notes in SQLite and PostgreSQL, and runs over them, for tests of tables of databases."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from typer.testing import CliRunner, Result

from deid.base.keys import Key
from deid.cli.main import app
from deid.io import Options, scan
from deid.pipeline import build_pipeline, scrub_files
from deid.pipeline.options import PipelineOptions
from deid.pipeline.table_output import TableOutput

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
