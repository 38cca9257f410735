"""The vault: look-ups, audit, tampering, re-keying, concurrent and killed writers; on SQLite and PostgreSQL."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sql
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, StoreError
from deid.base.keys import Key
from deid.replacement.sealing import Entry, Sealer, normalized
from deid.replacement.vault import Vault
from deid.replacement.vault_rows import AUDIT, ENTRIES, STATE, VaultState

KEY, OTHER = Key(b"k" * 32), Key(b"o" * 32)
ANN = Entry("patient:4711", "PATIENT", "Annabel Smithson", "Jane Ahmad")
BOB = Entry("patient:4712", "PATIENT", "Bobby Tables", "Jane Ahmad")
MRN = Entry("patient:4711", "MEDICALRECORD", "MRN 99-11223", "MRN 41-55342")
ALL = [ANN, BOB, MRN]
ASK = {"who": "Dr. Entitled", "why": "safety recall"}


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "vault.db")
    new_database: Callable[[], str] = request.getfixturevalue("postgresql")
    return new_database()


@pytest.fixture
def vault(place: str) -> Vault:
    with Vault.create(place, KEY, who="tester") as vault:
        vault.record_all(ALL)
        yield vault


def engine(place: str) -> sql.Engine:
    """Return a way around the vault's checks: what somebody with the database and without the key can do."""
    url = place.replace("postgresql:", "postgresql+psycopg:") if "://" in place else f"sqlite:///{place}"
    return sql.create_engine(url, poolclass=sql.NullPool)


# -------------------------------------------------------------------------------------------------- look-ups


def test_vaults_of_yesterday_open_tomorrow() -> None:
    """What a vault's rows say of themselves by its key: these values may never change."""
    sealer = Sealer(KEY, "v")
    row = VaultState("v", 3, 5, 2, b"end", 2).row(sealer)
    assert {name: value.hex()[-16:] for name, value in row.items() if isinstance(value, bytes)} == {
        "key_check": "bc1abbefd7f14196",
        "fingerprint": "0000000000000005",
        "audit_end": "656e64",
        "state_check": "ee2a1c8b309e0b1a",
    }
    assert (row["version"], row["entries"], row["audit_lines"], len(row["fingerprint"])) == (2, 3, 2, 32)
    assert sealer.indexes(ANN).joined().hex()[::8] == "9091f61bf087b454"
    assert sealer.fingerprint([b"a", b"b"]) % 10**12 == 897519665763


def test_lookup_by_surrogate_scope_and_category(vault: Vault) -> None:
    assert vault.lookup("Jane Ahmad", **ASK) == [ANN, BOB]
    assert vault.lookup("jane  AHMAD", scope_id="patient:4712", **ASK) == [BOB]
    assert vault.lookup("Jane Ahmad", category="MEDICALRECORD", **ASK) == []
    assert vault.lookup("MRN 41-55342", **ASK) == [MRN]
    assert vault.lookup("Annabel Smithson", **ASK) == []


def test_originals_are_recognized_whatever_their_case(vault: Vault) -> None:
    assert vault.is_original("ANNABEL  smithson")
    assert not vault.is_original("Jane Ahmad")
    assert not vault.is_original("Annabel")
    assert vault.originals_among(["bobby tables", "Bobby Tables", "Nobody"]) == {"bobby tables", "Bobby Tables"}
    assert vault.originals_among([]) == set()


def test_a_scope_is_told_as_it_was_kept_and_its_surrogates_are_its_own(vault: Vault) -> None:
    assert vault.scoped("patient:4711", **ASK) == [ANN, MRN]
    assert vault.scoped("patient:4713", **ASK) == []
    vault.told("patient:4712", 7, **ASK)
    assert [(line.action, line.found) for line in vault.audit()[-3:]] == [("reidentify", n) for n in (2, 0, 7)]
    assert vault.surrogates_among("patient:4712", ["JANE  ahmad", "MRN 41-55342", "x"]) == {"JANE  ahmad"}
    assert vault.surrogates_among("patient:4713", ["Jane Ahmad"]) == set()


def test_a_vault_of_another_version_is_refused(vault: Vault, place: str) -> None:
    with engine(place).begin() as connection:
        connection.execute(sql.update(STATE).values(version=99))
    with pytest.raises(StoreError, match="the vault has version 99, not 1 or 2"):
        Vault.open(place, KEY)


def test_same_entry_is_kept_once(vault: Vault) -> None:
    assert vault.record_all([ANN, BOB, ANN]) == 0
    assert vault.record_all([]) == 0
    vault.record("patient:4711", "PATIENT", "A. Smithson", "J. Ahmad")
    assert vault.record_all([Entry("patient:4711", "PATIENT", "A. Smithson", "J. Ahmad"), MRN]) == 0
    assert vault.verify().entries == 4


def test_vault_opens_again_with_its_key_only(vault: Vault, place: str) -> None:
    with Vault.open(place, KEY) as again:
        assert again.lookup("MRN 41-55342", **ASK) == [MRN]
    with pytest.raises(ConfigError, match="not this vault's"):
        Vault.open(place, OTHER)
    with pytest.raises(StoreError, match="already"):
        Vault.create(place, OTHER, who="tester")
    assert vault.lookup("MRN 41-55342", **ASK) == [MRN]


def test_creation_that_failed_can_be_repeated(place: str) -> None:
    with pytest.raises(ConfigError, match="who and why"):
        Vault.create(place, KEY, who=" ")
    with pytest.raises(StoreError, match=r"no vault|no such database"):
        Vault.open(place, KEY)
    with Vault.create(place, KEY, who="tester") as vault:
        assert vault.verify().entries == 0


def test_vault_of_the_same_key_has_other_indexes(tmp_path: Path) -> None:
    """Two stolen vaults cannot be joined on their indexes."""
    assert Sealer(KEY, "a").original_index("x") != Sealer(KEY, "b").original_index("x")


def test_missing_vault_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such database"):
        Vault.open(tmp_path / "none.db", KEY)
    assert not (tmp_path / "none.db").exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(original=st.text(st.characters()), surrogate=st.text(st.characters(), min_size=1), scope=st.text(max_size=9))
@example(original="a\ud83d", surrogate="\udc00", scope="")
def test_any_text_comes_back_as_it_was(tmp_path: Path, original: str, surrogate: str, scope: str) -> None:
    """NUL, emoji, lone surrogates, empty originals."""
    path = tmp_path / "any.db"
    entry = Entry(scope, "OTHER", original, surrogate)
    with Vault.open(path, KEY) if path.exists() else Vault.create(path, KEY, who="tester") as vault:
        vault.record_all([entry])
        assert entry in vault.lookup(surrogate, scope_id=scope, **ASK)
        assert vault.is_original(original)


def test_look_ups_use_indexes(tmp_path: Path) -> None:
    """So that a look-up costs the same in a vault of any size."""
    path = tmp_path / "vault.db"
    Vault.create(path, KEY, who="tester").close()
    with sqlite3.connect(path) as connection:
        for column in ("pair", "surrogate", "scoped", "original"):
            plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT id FROM deid_vault_entry WHERE {column} = ?", (b"x",))
            assert "INDEX" in plan.fetchone()[3]
    connection.close()


def test_recording_takes_the_same_statements_whatever_the_size(tmp_path: Path) -> None:
    with Vault.create(tmp_path / "vault.db", KEY, who="tester") as vault:
        statements: list[str] = []
        sql.event.listen(vault._store._engine, "before_cursor_execute", lambda *event: statements.append(event[2]))
        counts = []
        for size in (0, 10, 1000):
            vault.record_all([Entry("s", "PATIENT", f"o{size} {n}", f"s{n}") for n in range(size)])
            statements.clear()
            vault.record_all([Entry("s", "PATIENT", f"new {size} {n}", "x") for n in range(20)])
            counts.append(len(statements))
        assert len(set(counts)) == 1


# ------------------------------------------------------------------------------------------------ audit trail


def test_every_reidentification_leaves_a_line_with_who_and_why(vault: Vault) -> None:
    vault.lookup("Jane Ahmad", **ASK)
    vault.lookup("nobody's surrogate", who="Mallory", why="curiosity")
    lines = vault.audit()
    assert [(line.line, line.action, line.who, line.why, line.surrogate, line.found) for line in lines] == [
        (1, "init", "tester", "a new vault", "", 0),
        (2, "reidentify", "Dr. Entitled", "safety recall", "Jane Ahmad", 2),
        (3, "reidentify", "Mallory", "curiosity", "nobody's surrogate", 0),
    ]
    assert all(line.time.endswith("+00:00") and line.login for line in lines)
    assert "Smithson" not in repr(lines) + str([vars_of(line) for line in lines])


def test_the_audit_trail_names_the_account_that_asked(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "custodian7")
    vault.lookup("Jane Ahmad", **ASK)
    assert vault.audit()[-1].login == "custodian7"


def vars_of(line: object) -> list[object]:
    return [getattr(line, name) for name in line.__slots__]  # type: ignore[attr-defined]


@pytest.mark.parametrize("ask", [{"who": "", "why": "x"}, {"who": "x", "why": "  "}])
def test_nothing_is_told_without_who_and_why(vault: Vault, ask: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="who and why"):
        vault.lookup("Jane Ahmad", **ask)
    assert len(vault.audit()) == 1


def test_nothing_is_told_when_the_line_cannot_be_written(vault: Vault, place: str) -> None:
    with engine(place).begin() as connection:
        AUDIT.drop(connection)
    with pytest.raises(StoreError):
        vault.lookup("Jane Ahmad", **ASK)


# -------------------------------------------------------------------------------------------------- tampering


def exchange(connection: sql.Connection, table: sql.Table, column: str, key: str) -> None:
    """Swap one column of the first two rows."""
    first, second = connection.execute(sql.select(table).order_by(table.c[key]).limit(2)).mappings().all()
    for row, other in ((first, second), (second, first)):
        connection.execute(table.update().where(table.c[key] == row[key]).values({column: other[column]}))


def flip(value: bytes) -> bytes:
    return bytes([value[0] ^ 1]) + value[1:]


def alter(connection: sql.Connection, table: sql.Table, column: str, key: str) -> None:
    row = connection.execute(sql.select(table).order_by(table.c[key]).limit(1)).mappings().one()
    value = row[column]
    new = flip(value) if isinstance(value, bytes) else value + 1
    connection.execute(table.update().where(table.c[key] == row[key]).values({column: new}))


def remove(connection: sql.Connection, table: sql.Table, key: str, last: bool) -> None:
    order = table.c[key].desc() if last else table.c[key]
    wanted = connection.execute(sql.select(table.c[key]).order_by(order).limit(1)).scalar_one()
    connection.execute(table.delete().where(table.c[key] == wanted))


TAMPERING: dict[str, Callable[[sql.Connection], None]] = {
    "entry altered": lambda c: alter(c, ENTRIES, "sealed", "id"),
    "entry cut": lambda c: c.execute(ENTRIES.update().values(sealed=b"")),
    "entries exchanged": lambda c: exchange(c, ENTRIES, "sealed", "id"),
    "index altered": lambda c: alter(c, ENTRIES, "surrogate", "id"),
    "entry removed": lambda c: remove(c, ENTRIES, "id", last=True),
    "line altered": lambda c: alter(c, AUDIT, "sealed", "line"),
    "link altered": lambda c: alter(c, AUDIT, "link", "line"),
    "line exchanged": lambda c: exchange(c, AUDIT, "sealed", "line"),
    "first line removed": lambda c: remove(c, AUDIT, "line", last=False),
    "last line removed": lambda c: remove(c, AUDIT, "line", last=True),
    "count altered": lambda c: alter(c, STATE, "entries", "id"),
    "end altered": lambda c: alter(c, STATE, "audit_end", "id"),
    "fingerprint altered": lambda c: alter(c, STATE, "fingerprint", "id"),
    "state removed": lambda c: c.execute(STATE.delete()),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_found(vault: Vault, place: str, name: str) -> None:
    vault.lookup("MRN 41-55342", **ASK)
    with engine(place).begin() as connection:
        TAMPERING[name](connection)
    with pytest.raises(StoreError) as caught:
        vault.verify()
    assert not any(text in str(caught.value) for entry in ALL for text in (entry.original, entry.scope_id))
    with pytest.raises(StoreError):  # and no re-keying makes it good
        vault.rotate(OTHER, **ASK)


def test_altered_entry_is_not_told(vault: Vault, place: str) -> None:
    with engine(place).begin() as connection:
        alter(connection, ENTRIES, "sealed", "id")
    with pytest.raises(StoreError, match="altered"):
        vault.lookup("Jane Ahmad", **ASK)
    assert vault.lookup("MRN 41-55342", **ASK) == [MRN]


def test_row_copied_from_another_vault_is_found(vault: Vault, place: str, tmp_path: Path) -> None:
    """Even one with the same key: rows are bound to their vault."""
    with Vault.create(tmp_path / "other.db", KEY, who="tester") as other:
        other.record("patient:4711", "PATIENT", "Forged Name", "Jane Ahmad")
    with engine(str(tmp_path / "other.db")).begin() as connection:
        row = dict(connection.execute(sql.select(ENTRIES)).mappings().one())
    row["id"] = 99
    with engine(place).begin() as connection:
        row["surrogate"] = connection.scalars(sql.select(ENTRIES.c.surrogate).order_by(ENTRIES.c.id)).first()
        connection.execute(ENTRIES.insert(), row)
    with pytest.raises(StoreError, match="altered"):
        vault.lookup("Jane Ahmad", **ASK)


def test_nothing_readable_lies_in_the_files(tmp_path: Path) -> None:
    """Neither originals nor surrogates, scopes, categories or reasons, in any encoding."""
    with Vault.create(tmp_path / "vault.db", KEY, who="tester") as vault:
        vault.record_all(ALL)
        vault.lookup("Jane Ahmad", **ASK)
        content = b"".join(f.read_bytes() for f in tmp_path.iterdir())
    words = [w for e in ALL for w in (e.original, e.surrogate, e.scope_id, e.category)] + [ASK["who"], ASK["why"]]
    for word in words:
        for form in (word, word.lower(), normalized(word)):
            assert form.encode() not in content
            assert form.encode("utf-16-le") not in content
    assert KEY.secret not in content


def test_sealed_length_does_not_tell_the_length_of_a_name() -> None:
    sealer = Sealer(KEY, "v")
    lengths = {len(sealer.seal("entry", {"original": "x" * n}, b"")) for n in range(30)}
    assert len(lengths) == 1


def test_reprs_show_no_text(vault: Vault) -> None:
    shown = repr(ANN) + repr(vault) + repr(KEY) + repr(vault.audit())
    assert not any(text in shown for text in ("Smithson", "4711", "Ahmad", "safety"))


# ------------------------------------------------------------------------------------------------- forgetting


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz", min_size=1, max_size=3)), max_size=12), st.data())
def test_a_vault_without_a_scope_is_as_if_it_had_never_been(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    place = tmp_path_factory.mktemp("v") / "vault.db"
    gone = data.draw(st.sets(st.sampled_from("abc")))
    entries = [Entry(f"patient:{p}", "PATIENT", text, text[::-1] + "q") for p, text in pairs]
    with Vault.create(place, KEY, who="me") as vault:
        vault.record_all(entries)
        removed, _ = vault.forget({f"patient:{p}" for p in gone}, who="me", why="asked")
        left = {e for e in entries if e.scope_id[-1] not in gone}
        assert removed == len(set(entries)) - len(left)
        assert vault.verify().entries == len(left)
        assert vault.originals_among([e.original for e in entries]) == {e.original for e in left}
        assert vault.record_all(entries) == removed  # it goes on as any vault


def test_nothing_of_a_forgotten_person_stays_in_the_file(tmp_path: Path) -> None:
    place = tmp_path / "vault.db"
    with Vault.create(place, KEY, who="me") as vault:
        vault.record_all([Entry("patient:a", "PATIENT", f"name {n}", f"other {n}") for n in range(50)])
    with sqlite3.connect(place) as connection:
        sealed = [bytes(row[0]) for row in connection.execute("SELECT sealed FROM deid_vault_entry")]
    connection.close()
    with Vault.open(place, KEY) as vault:
        assert vault.forget({"patient:a"}, who="me", why="asked") == (50, True)
        with pytest.raises(ConfigError):
            vault.forget({"patient:a"}, who="me", why=" ")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [row for row in sealed if row in content]


# -------------------------------------------------------------------------------------------------- re-keying


def test_rotated_vault_has_the_new_key_only(vault: Vault, place: str) -> None:
    stale = Vault.open(place, KEY)
    vault.lookup("MRN 41-55342", **ASK)
    assert vault.rotate(OTHER, who="keeper", why="yearly")
    for opened in (vault, Vault.open(place, OTHER)):
        assert opened.lookup("Jane Ahmad", **ASK) == [ANN, BOB]
        assert opened.is_original("Bobby Tables")
        assert opened.verify().entries == 3
    assert [line.action for line in vault.audit()][:3] == ["init", "reidentify", "rotate"]
    with pytest.raises(ConfigError, match="key"):
        Vault.open(place, KEY)
    for use in (
        lambda: stale.is_original("Bobby Tables"),  # must not answer no
        lambda: stale.record("s", "PATIENT", "x", "y"),
        lambda: stale.lookup("Jane Ahmad", **ASK),
        stale.verify,
    ):
        with pytest.raises(StoreError, match="another key"):  # it has nothing to do with a document
            use()
    stale.close()


def test_rotating_to_the_same_key_is_refused(vault: Vault) -> None:
    with pytest.raises(ConfigError, match="new key"):
        vault.rotate(KEY, **ASK)


def test_rotating_leaves_nothing_sealed_with_the_old_key_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    with Vault.create(path, KEY, who="tester") as vault:
        vault.record_all([Entry("s", "PATIENT", f"o{n}", f"s{n}") for n in range(700)])
        with engine(str(path)).connect() as connection:
            old = [bytes(sealed) for sealed in connection.scalars(sql.select(ENTRIES.c.sealed))]
        assert vault.rotate(OTHER, **ASK)
        assert vault.verify().entries == 700
        content = b"".join(f.read_bytes() for f in tmp_path.iterdir())
    assert not any(sealed[-24:] in content for sealed in old)


# ------------------------------------------------------------------------------------- several and killed writers

WRITER = """
import sys
from deid.base.keys import Key
from deid.replacement.vault import Entry, Vault
place, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with Vault.open(place, Key(b"k" * 32)) as vault:
    for start in range(0, count, size):
        numbers = range(start, start + size)
        vault.record_all([Entry(f"patient:{name}", "PATIENT", f"{name} {n}", f"surrogate {n}") for n in numbers])
        print(start + size, flush=True)
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def test_two_writers_leave_all_of_their_names(vault: Vault, place: str) -> None:
    writers = [start(WRITER, place, name, "1500", "125") for name in ("Ann", "Bob")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert vault.verify().entries == 3_000 + len(ALL)
    for name in ("Ann", "Bob"):
        assert vault.originals_among(f"{name} {n}" for n in range(1_500)) == {f"{name} {n}" for n in range(1_500)}
    for writer in writers:
        writer.stdout.close()  # type: ignore[union-attr]


def test_killed_writer_loses_nothing_that_it_had_recorded(vault: Vault, place: str) -> None:
    writer = start(WRITER, place, "Ann", "100000", "20")
    assert writer.stdout is not None
    for _ in range(25):
        done = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.wait(timeout=300)
    writer.stdout.close()
    done = int(rest[-1]) if rest and int(rest[-1]) % 20 == 0 else done
    entries = vault.verify().entries - len(ALL)
    assert entries >= done
    assert entries % 20 == 0  # whole batches only
    assert len(vault.originals_among(f"Ann {n}" for n in range(done))) == done
    vault.record("s", "PATIENT", "after", "wards")  # and no lock is left behind


KILLED_ROTATION = """
import os, signal, sys
from deid.base.keys import Key
from deid.replacement import vault, vault_rows
from deid.base.store import Store
def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "before":
    vault_rows.append = die  # everything is re-encrypted, nothing committed
else:
    Store.compact = die  # committed, the files not yet compacted
with vault.Vault.open(sys.argv[1], Key(b"k" * 32)) as opened:
    opened.rotate(Key(b"o" * 32), who="keeper", why="yearly")
"""


@pytest.mark.parametrize(("moment", "valid", "refused"), [("before", KEY, OTHER), ("after", OTHER, KEY)])
def test_killed_rotation_leaves_one_valid_key(vault: Vault, place: str, moment: str, valid: Key, refused: Key) -> None:
    with start(KILLED_ROTATION, place, moment) as process:
        assert process.wait(timeout=300) == -signal.SIGKILL
    with pytest.raises(ConfigError):
        Vault.open(place, refused)
    with Vault.open(place, valid) as again:
        assert again.verify().entries == len(ALL)
        assert again.lookup("Jane Ahmad", **ASK) == [ANN, BOB]


def test_forked_process_may_use_the_vault(vault: Vault) -> None:
    """As worker processes of a scrub do; parent and child go on with connections of their own."""
    child = os.fork()
    if child == 0:
        try:
            vault.record("s", "PATIENT", "from the child", "x")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    vault.record("s", "PATIENT", "from the parent", "x")
    assert vault.originals_among(["from the child", "from the parent"]) == {"from the child", "from the parent"}
    assert vault.verify().entries == len(ALL) + 2
