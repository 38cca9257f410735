"""One person is forgotten: nothing of the person is left in vault and views, everything of the others is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from deid.annotation.project import Project
from deid.base.errors import ConfigError, StoreError
from deid.base.keys import Key
from deid.cli.main import app
from deid.document import Document
from deid.joint.forgetting import Forgotten, forget, forget_in_project
from deid.joint.options import PersonPlaces
from deid.replacement.vault import Entry, Vault

NOTES = {
    "a": "Patient: Annabel Smithson, MRN: 4711203, seen 3/14/2019.\n",
    "b": "Patient: Annabel Smithson, MRN: 4711203, seen 3/28/2019.\n",
    "c": "Patient: Bertram Oldcastle, MRN: 0088123, seen 3/15/2019.\n",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for name, text in NOTES.items():
        Path("in", f"{name}.txt").write_text(text)
    Path("patients.csv").write_text("document,patient\na,p1\nb,p1\nc,p2\n")
    Path("key").write_text("ab" * 32)
    Path("key").chmod(0o600)
    return tmp_path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    error = result.exception
    return result.exit_code, result.output + (str(error) if error and not isinstance(error, SystemExit) else "")


def test_a_person_is_forgotten_and_the_others_are_not(site: Path) -> None:
    key = ("--key-file", "key")
    assert run("vault", "init", "vault.db", *key)[0] == 0
    status, said = run(
        "scrub", "in", "out", "--model", "none", "--patients", "patients.csv", "--vault", "vault.db", *key
    )
    assert status == 0, said
    assert run("extract", "in", "view.csv", "--model", "none", "--patients", "patients.csv")[0] == 0
    before = Path("view.csv").read_text()
    assert "Smithson" in before
    assert "0088123" in before

    where = ("--in-vault", "vault.db", "--in-view", "view.csv", "--in-release", "out", "--patients", "patients.csv")
    status, said = run("forget", "p1", *where, *key)
    assert status != 0
    assert "who and why" in said  # nothing happens without a reason
    assert Path("view.csv").read_text() == before
    # the view knows the record number, not the id of the table
    status, said = run("forget", "p1", "--in-vault", "vault.db", *where[4:], "--why", "request 7", *key)
    assert status == 0, said
    named = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert len(named) == 2
    assert all((Path("out") / f"{n['document']}.txt").is_file() for n in named)
    status, said = run("forget", "4711203", "--in-view", "view.csv")
    assert status == 0, said
    assert "1 rows of views" in said
    for person, place in (("p1", where[:2]), ("4711203", where[2:4]), ("nobody", where[4:])):
        status, said = run("forget", person, *place, "--why", "request 7", *key)
        assert (status, "nothing of this person was found" in said) == (1, True)

    for path in (Path("view.csv"), Path("view.provenance.csv")):
        assert "Smithson" not in path.read_text()
        assert "4711203" not in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o600
    assert "0088123" in Path("view.csv").read_text()
    places = [line.split(",") for line in Path("view.provenance.csv").read_text().splitlines()]
    assert {line[places[0].index("row")] for line in places[1:]} == {"0"}
    with Vault.open("vault.db", Key(bytes.fromhex("ab" * 32))) as vault:
        vault.verify()
        assert vault.originals_among(["Annabel Smithson", "Bertram Oldcastle"]) == {"Bertram Oldcastle"}
        assert [line.action for line in vault.audit()][-1] == "forget"
        assert "p1" not in repr(vault.audit())


def test_a_release_of_another_key_is_refused_before_anything_is_forgotten(site: Path) -> None:
    old, new = ("--key-file", "key"), ("--key-file", "new")
    assert run("vault", "init", "vault.db", *old)[0] == 0
    table = ("--patients", "patients.csv")
    assert run("scrub", "in", "out", "--model", "none", *table, "--vault", "vault.db", *old)[0] == 0
    assert run("vault", "rotate", "vault.db", *old, "--new-key-file", "new")[0] == 0
    where = ("--in-vault", "vault.db", "--in-release", "out", *table, "--why", "asked", "--who", "me")
    status, said = run("forget", "p1", *where, *new)
    assert status != 0
    assert "another key" in said
    status, said = run("forget", "p1", *where, *old, "--vault-key-file", "new")
    assert status == 0, said
    assert said.count('"document":') == 2
    assert "0 entries of vaults" not in said  # the refused run removed none


@pytest.mark.parametrize("keyed", [PersonPlaces(vault=("vault.db",)), PersonPlaces(release=(Path("out"),))])
def test_without_its_key_nothing_is_passed_over(keyed: PersonPlaces, site: Path) -> None:
    assert run("extract", "in", "view.csv", "--model", "none", "--patients", "patients.csv")[0] == 0
    before = Path("view.csv").read_bytes()
    with pytest.raises(ConfigError, match="needs its key"):
        forget("4711203", replace(keyed, view=(Path("view.csv"),), why="asked"), who="me", key=None, vault_key=None)
    assert Path("view.csv").read_bytes() == before


MESSAGES = {
    "a.hl7": "MSH|^~\\&|L|H|E|H|20190314||ADT^A01|M1|P|2.5.1\rPID|1||4711203^^^H^MR||Smithson^Annabel\r"
    "MSH|^~\\&|L|H|E|H|20190314||ADT^A01|M2|P|2.5.1\rPID|1||8822114^^^H^MR||Oldcastle^Bertram\r"
    "MSH|^~\\&|L|H|E|H|20190314||ADT^A17|M3|P|2.5.1\rPID|1||8822114^^^H^MR\rPV1|1\rPID|2||4711203^^^H^MR\rPV1|2\r",
    "b.ndjson": '{"resourceType": "Patient", "id": "4711203"}\n{"resourceType": "Patient", "id": "8822114"}\n'
    '{"resourceType": "Observation", "id": "o", "status": "final", "subject": {"reference": "Patient/4711203"}}\n',
}


@pytest.mark.parametrize(("name", "found"), [("a.hl7", ["1", "3"]), ("b.ndjson", ["1", "3"])])
def test_records_of_a_person_are_found_in_a_release_of_records(site: Path, name: str, found: list[str]) -> None:
    Path(name).write_text(MESSAGES[name])
    key = ("--key-file", "key")
    assert run("scrub", name, f"out-{name}", "--model", "none", *key)[0] == 0
    status, said = run("forget", "4711203", "--in-release", f"out-{name}", *key)
    assert status == 0, said
    assert [json.loads(line)["document"] for line in said.splitlines() if line.startswith("{")] == found
    assert "say not whose" not in said


@pytest.mark.parametrize("version", ["map 2", "map 3"])
def test_records_of_a_person_are_found_whichever_map_their_release_was_made_by(site: Path, version: str) -> None:
    """The key that is given later need not say which one that was."""
    plain = Path("key").read_text().split()[0]
    Path("key").write_text(f"{plain}\n{version}\n")
    person = "\u00d812345"
    head = "MSH|^~\\&|L|H|E|H|20190314||ADT^A01|M1|P|2.5.1||||||UNICODE UTF-8"
    Path("o.hl7").write_bytes(f"{head}\rPID|1||{person}^^^H^MR||Smithson^Annabel\r".encode())
    assert run("scrub", "o.hl7", "out.hl7", "--model", "none", "--key-file", "key")[0] == 0
    assert person not in Path("out.hl7").read_text("utf-8")
    Path("key").write_text(f"{plain}\n")
    status, said = run("forget", person, "--in-release", "out.hl7", "--key-file", "key")
    assert status == 0, said
    assert [json.loads(line)["document"] for line in said.splitlines() if line.startswith("{")] == ["1"]


def test_documents_of_which_nobody_can_tell_are_counted(site: Path) -> None:
    key = ("--key-file", "key")
    Path("a.hl7").write_text(MESSAGES["a.hl7"])
    assert run("scrub", "a.hl7", "redacted.hl7", "--model", "none", "--policy", "redact", *key)[0] == 0
    assert run("scrub", "in", "out", "--model", "none", *key)[0] == 0
    status, said = run("forget", "4711203", "--in-release", "redacted.hl7", "--in-release", "out", *key)
    assert status == 1
    assert "6 released documents say not whose they are" in said
    _, said = run("forget", "p1", "--in-release", "out", "--patients", "patients.csv", *key)
    assert "say not whose" not in said
    assert "OUT.failed" in said


def test_other_ways_of_writing_the_id_are_told(site: Path) -> None:
    key = ("--key-file", "key")
    assert run("scrub", "in", "out", "--model", "none", *key)[0] == 0
    Path("other.csv").write_text("document,patient\nx,0p1\ny,P1\nz,p12\n")
    _, said = run("forget", "p1", "--in-release", "out", "--patients", "other.csv", *key)
    assert "has 2 ids that differ from this one" in said
    assert "not complete yet" not in said


@pytest.mark.parametrize(
    ("places", "told"),
    [({"vault": ("v.db",)}, True), ({"vault": ("v.db",), "patients": Path("p.csv")}, False),
     ({"view": (Path("v.csv"),)}, False)],
)  # fmt: skip
def test_what_only_the_table_of_patients_tells_is_asked_for_where_a_vault_is_searched(
    places: dict[str, Any], told: bool
) -> None:
    remarks = Forgotten(1, 2, 3, (), 0, 2).remarks(PersonPlaces(**places))
    assert any("without --patients" in one for one in remarks) is told
    assert sum("vacuum it" in one for one in remarks) == 2
    assert "1 entries of vaults, 2 rows of views and 3 annotated notes were removed; 0 rel" in " ".join(remarks)
    assert not any("nothing of this person" in one or "say not whose" in one for one in remarks)


def test_what_several_vaults_and_releases_have_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Held:
        def __init__(self, place: str) -> None:
            self.place = place

        def __enter__(self) -> Held:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def forget(self, scopes: set[str], *, who: str, why: str) -> tuple[int, bool]:
            assert (scopes, who, why) == ({"patient:p1"}, "me", "asked")
            return len(self.place), self.place != "abc"

    monkeypatch.setattr(Vault, "open", lambda place, _: Held(place))
    monkeypatch.setattr("deid.joint.forgetting.check_key", lambda *_: None)
    found = {Path("x"): (["n1"], 2), Path("y"): (["n2", "n3"], 5)}
    monkeypatch.setattr("deid.joint.forgetting.documents_of", lambda _, release, *__: found[release])
    key = Key(b"k" * 32)
    places = PersonPlaces(vault=("a", "abc", "ab"), release=(Path("x"), Path("y")), why="asked")
    told = forget("p1", places, who="me", key=key, vault_key=key)
    assert told.documents == ((Path("x"), "n1"), (Path("y"), "n2"), (Path("y"), "n3"))
    assert (told.vault_entries, told.uncompacted, told.untold, told.view_rows) == (6, 1, 7, 0)


def test_a_release_that_is_being_written_is_told(site: Path) -> None:
    """What is still to come of the person is in no list."""
    key = ("--patients", "patients.csv", "--key-file", "key")
    record = Vault.record_all

    def broken(self: Vault, entries: Iterable[Entry], **said: bool) -> int:
        if len(list(Path("out").glob("*.txt"))) == 1:
            raise StoreError("the vault is away", "wait")
        return record(self, entries, **said)

    assert run("vault", "init", "vault.db", "--key-file", "key")[0] == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Vault, "record_all", broken)
        assert run("scrub", "in", "out", "--model", "none", "--vault", "vault.db", *key)[0] != 0
    _, said = run("forget", "p1", "--in-release", "out", *key)
    assert "1 releases are not complete yet" in said


def test_what_is_missing_is_said(site: Path) -> None:
    """Nobody is no person: rows without an id stay where they are."""
    with pytest.raises(ConfigError, match="nothing to forget the person in"):
        PersonPlaces(patients=Path("patients.csv"))
    for arguments in (("p1",), ("", "--in-view", "view.csv"), ("p1", "--in-view", "none.csv")):
        assert run("forget", *arguments)[0] != 0
    Path("view.csv").write_text("row,mrn,name\n1,,Ann\n2,4711203,Annabel\n")
    before = Path("view.csv").read_bytes()
    with pytest.raises(ConfigError, match="the person is missing"):
        forget("", PersonPlaces(view=(Path("view.csv"),)), who="me", key=None, vault_key=None)
    assert Path("view.csv").read_bytes() == before


def test_a_view_of_damaged_provenance_stays_as_it_is(site: Path) -> None:
    assert run("extract", "in", "view.csv", "--model", "none", "--patients", "patients.csv")[0] == 0
    before, places = Path("view.csv").read_text(), Path("view.provenance.csv")
    places.write_text(places.read_text().replace("row", "line", 1))
    status, said = run("forget", "4711203", "--in-view", "view.csv")
    assert status != 0
    assert "Hint:" in said  # an error of deid, and no crash
    assert Path("view.csv").read_text() == before


def records() -> st.SearchStrategy[object]:
    """What a field of a note may hold, somebody's number deep in it."""
    value = st.sampled_from(["4711", " 4711 ", 4711, "4712", "47", 1.5, None, True])
    return st.recursive(value, lambda held: st.lists(held, max_size=3) | st.dictionaries(st.sampled_from("ab"), held))


def holds(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(holds, value.values() if isinstance(value, dict) else value))
    return str(value).strip() == "4711"


@settings(max_examples=10)
@given(fields=st.lists(records(), min_size=1, max_size=5))
def test_a_person_is_forgotten_wherever_in_the_fields_of_a_note_he_stands(
    tmp_path_factory: pytest.TempPathFactory, fields: list[object]
) -> None:
    place = tmp_path_factory.mktemp("p") / "project"
    with Project.create(place, ["NAME"]) as project:
        for n, value in enumerate(fields):
            project.add([Document(f"n{n}", f"Words of note {n}.", metadata={"of": value})])
            project.items.add("link", [(f"n{n}", {"of": value})])
    gone = [f"n{n}" for n, value in enumerate(fields) if holds(value)]
    assert forget_in_project(place, "4711", {}) == 2 * len(gone)
    with Project.open(place) as project:
        left = [f"n{n}" for n in range(len(fields)) if f"n{n}" not in gone]
        assert [name for _, name in project.names()] == [item.name for item in project.items.all()] == left
    content = b"".join(path.read_bytes() for path in place.parent.iterdir())
    assert [f"n{n}" for n in range(len(fields)) if f"Words of note {n}.".encode() in content and f"n{n}" in gone] == []


def test_a_vault_of_a_later_version_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "vault.db"
    Vault.create(place, Key(b"k" * 32), who="me").close()
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE deid_vault SET version = 99")
    connection.close()
    with pytest.raises(StoreError, match="version 99"):
        Vault.open(place, Key(b"k" * 32))
