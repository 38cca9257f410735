"""The tables in the checkout are what their script makes, small, and of the shapes that their README states."""

from __future__ import annotations

from pathlib import Path

import build_tables
import pytest

from deid import io
from deid.table.table_files import read_table

ROOT = Path(__file__).resolve().parents[2]
CORPORA = ROOT / "corpora"


@pytest.mark.parametrize(
    "part",
    [
        "cube",
        "sequences",
        "census",
        "trajectories",
        "codes",
        "genomes",
        "patients",
        "admissions",
        "pathology",
        "spanish",
        "gold",
    ],
)
def test_the_script_makes_the_same_bytes(part: str) -> None:
    folder = CORPORA if part in build_tables.NOTES else CORPORA / "tables"
    made = build_tables.PARTS[part]()
    assert {name: (folder / name).read_text("utf-8") == text for name, text in made.items()} == dict.fromkeys(
        made, True
    )
    own = {path.relative_to(folder).as_posix() for path in (folder / part).rglob("*") if path.name != "README.md"}
    assert {name for name in own if not (folder / name).is_dir()} == set(made)


def test_another_seed_makes_others() -> None:
    assert build_tables.patients(1, 5) != build_tables.patients(2, 5)
    assert build_tables.patients(1, 5) == build_tables.patients(1, 5)


def test_they_are_small() -> None:
    parts = [CORPORA / name for name in ("tables", "pathology", "spanish", "gold")]
    assert sum(path.stat().st_size for part in parts for path in part.rglob("*") if path.is_file()) < 5_000_000


def test_they_have_the_stated_shapes() -> None:
    tables = CORPORA / "tables"
    cube = read_table(str(tables / "cube" / "cube.csv"))
    assert (len(cube), cube["year"].min(), cube["year"].max()) == (22_174, 0, 35)
    deaths = cube[cube["death"] == 1].groupby("year").size()
    assert deaths.loc[:11].sum() > 2 * deaths.loc[24:].sum()
    rows = read_table(str(tables / "sequences" / "sequences.csv"))
    assert len(rows) == 10_000
    assert rows["doctor"].nunique() == 517
    assert (rows.groupby("doctor").nunique() == 1).all().all()
    patients = read_table(str(tables / "same-disease" / "patients.csv"))
    people = read_table(str(tables / "same-disease" / "population.csv"))
    assert (len(patients), len(people)) == (180, 50_000)
    assert len(patients.merge(people.drop_duplicates(), on=list(patients.columns))) == 180


@pytest.mark.parametrize(
    "name", ["spanish/notes.jsonl", "pathology/reports.jsonl", "gold/gold.jsonl", "gold/system.jsonl"]
)
def test_notes_are_read_and_no_span_ends_within_a_blank(name: str) -> None:
    notes = list(io.read(CORPORA / name))
    assert len(notes) >= 36
    texts = [note.text[span.start : span.end] for note in notes for span in note.spans]
    assert texts
    assert [text for text in texts if text != text.strip()] == []
