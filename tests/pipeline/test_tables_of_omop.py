"""Tables of the OMOP CDM: notes come back as notes, spans as rows of NOTE_NLP, concepts without texts."""

from __future__ import annotations

import datetime
import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from databases import COLUMNS, KEY, Places, run
from hypothesis import given
from hypothesis import strategies as st

from deid.document import Document, Span
from deid.pipeline import table_output
from deid.pipeline.naming import mapped_id
from deid.pipeline.note_nlp import _spans_of
from deid.pipeline.table_output import TableOutput
from deid.records.record import TEXT, Record

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


def test_spans_of_a_note_are_those_in_its_column_from_its_beginning_to_its_end() -> None:
    kinds = {"id": "id", "title": TEXT, "none": TEXT, "sex": "", "note": TEXT, "more": TEXT}
    cells = {"id": "7", "title": "Ann", "none": None, "sex": "F", "note": "Ann saw Ann", "more": "Ann"}
    text = "Ann\nAnn saw Ann\nAnn"
    spans = tuple(Span(at, at + 3, "PATIENT") for at in (0, 4, 12, 16))
    record = Record(json.dumps(cells).encode())
    found = list(_spans_of(Document("7", text, spans), record, "note", kinds))
    assert [(span.start, offset) for span, offset in found] == [(4, 0), (12, 8)]
    record = Record(json.dumps(cells | {"note": None}).encode())
    assert list(_spans_of(Document("7", "Ann\nAnn", spans[:1]), record, "note", kinds)) == []


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


def test_spans_may_lie_beside_the_notes_that_they_quote(postgresql: Callable[[], str], tmp_path: Path) -> None:
    places = Places(tmp_path, postgresql())
    places.fill(omop_rows(3), OMOP)
    before, _, query = places.source.partition("?")
    result = run("tag", places.source, "--omop", "--model", "none", "--output", f"{before}/note_nlp?{query}")
    assert result.exit_code == 0, result.output
    assert {"note", "note_nlp"} <= set(places.tables())


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
