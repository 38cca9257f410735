"""The map of numbers has a version: a vault of yesterday goes on with the numbers of yesterday."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sql

from deid import io
from deid.base.errors import ConfigError, StoreError
from deid.base.keys import MAP_VERSION, Key
from deid.document import Document, Span
from deid.io import scan
from deid.pipeline import Pipeline, Settings, scrub_files
from deid.pipeline.patients import Patients
from deid.replacement.policy import load_policy
from deid.replacement.vault import Vault
from deid.replacement.vault_rows import STATE

SECRET = b"a key of the tests"
OLD, PLAIN, NEW = Key(SECRET, 1), Key(SECRET), Key(SECRET, MAP_VERSION)


def numbers(folder: Path, key: Key, vault: Vault | None = None, number: str = "4711203") -> tuple[list[str], int]:
    """Scrub a number in the notes of two patients; return its surrogates and the version that the report tells."""
    spans = (Span(4, 4 + len(number), "MEDICALRECORD"),)
    notes = [Document(who, f"MRN {number}", spans, {"who": who}) for who in ("1", "2")]
    folder.mkdir()
    io.write(notes, folder / "in.jsonl", "jsonl")
    settings = Settings(gold=True, keep_id=True, patients=Patients(field_name="who"), originals=vault is not None)
    pipeline = Pipeline(None, load_policy("surrogate"), key, settings)
    report = scrub_files(scan(folder / "in.jsonl"), folder / "out.jsonl", pipeline, vault=vault)
    assert not report.failures
    return [d.text for d in io.read(folder / "out.jsonl", "jsonl")], report.map_version


def test_a_vault_decides_which_map_its_runs_go_by(tmp_path: Path) -> None:
    (one, other), version = numbers(tmp_path / "today", PLAIN)
    assert one == other
    assert version == MAP_VERSION
    yesterday, version = numbers(tmp_path / "yesterday", OLD)
    assert len({one, *yesterday}) == 3
    assert version == 1
    with Vault.create(tmp_path / "old.db", OLD, who="test") as vault:
        assert numbers(tmp_path / "with old", PLAIN, vault) == (yesterday, 1)
    with Vault.open(tmp_path / "old.db", PLAIN) as vault:
        assert vault.map_version == 1
        assert numbers(tmp_path / "again", PLAIN, vault) == (yesterday, 1)
        vault.rotate(Key(b"another key of the tests"), who="test", why="test")
    with Vault.open(tmp_path / "old.db", Key(b"another key of the tests")) as vault:
        assert vault.map_version == 1
    with Vault.create(tmp_path / "new.db", PLAIN, who="test") as vault:
        assert numbers(tmp_path / "with new", PLAIN, vault) == ([one, one], MAP_VERSION)


def test_codes_with_letters_beside_a_to_z_go_on_in_a_vault_of_the_second_version(tmp_path: Path) -> None:
    """Version 2 exchanges Ø with A to Z, too: what it made may never change, nor may what it made of all else."""
    second, code = Key(SECRET, 2), "\u00d812345"
    assert numbers(tmp_path / "second", second, None, code) == (["MRN U84025"] * 2, 2)
    (one, other), version = numbers(tmp_path / "third", NEW, None, code)
    assert one == other
    assert one[4] in "\u00c6\u00d0\u00de"
    assert version == 3
    for at, key in enumerate((second, PLAIN)):
        with Vault.create(tmp_path / "v", key, who="test") if at == 0 else Vault.open(tmp_path / "v", key) as vault:
            assert numbers(tmp_path / f"vault {at}", key, vault, code) == (["MRN U84025"] * 2, 2)
    for number in ("4711203", "AB-0012", "\u0416\u0416 12"):
        old = numbers(tmp_path / f"2 {number}", second, None, number)[0]
        assert old == numbers(tmp_path / f"3 {number}", NEW, None, number)[0]


def test_a_key_and_a_vault_that_disagree_are_refused(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "old.db", OLD, who="test")
    with vault, pytest.raises(ConfigError, match="map of numbers"):
        numbers(tmp_path / "notes", NEW, vault)


def test_the_version_of_a_vault_cannot_be_changed(tmp_path: Path) -> None:
    Vault.create(tmp_path / "v.db", PLAIN, who="test").close()
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'v.db'}")
    with engine.begin() as connection:
        connection.execute(STATE.update().values(version=1))
    with pytest.raises(StoreError, match="altered"):
        Vault.open(tmp_path / "v.db", PLAIN)
