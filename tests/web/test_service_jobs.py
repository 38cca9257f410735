"""Asynchronous jobs of the service: the files of `deid scrub`, below named folders alone, across kills and restarts."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import attempt
from served import began, serving

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.base.pool import Pool
from deid.io.database_places import join_place
from deid.manifest import check_manifests
from deid.manifest.content import manifest_path
from deid.pipeline import PipelineOptions
from deid.replacement.vault import Vault
from deid.streaming.totals import Totals
from deid.streaming.work import PipelineRecipe
from deid.web import job_store, job_worker, jobs
from deid.web.service import Plan, service
from deid.web.sessions import Sessions

pytest.importorskip("uvicorn", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

NOTE = "Mr. Zebulon Quartermain, 58, saw Dr. Alice Baker on 3 May 2019. MRN: 4471902."
KEY = Key(b"k" * 32)
EXPORT = Path(__file__).parents[2] / "corpora" / "records" / "fhir" / "export"
ROLES = {"all": "all", "lab": "scrub", "night": "jobs"}


def options(folder: Path) -> tuple[str, ...]:
    (folder / "data").mkdir(exist_ok=True)
    return "--jobs", "1", "--job-folder", "data", "--job-store", "jobs.db"


def notes(folder: Path, count: int, size: int = 1) -> Path:
    (folder / "data" / "in").mkdir(parents=True)
    for n in range(count):
        (folder / "data" / "in" / f"note{n:04}.txt").write_text(f"{NOTE} {n}\n" * size)
    return folder / "data" / "in"


def over(client: Any, id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        told = client.get(f"/jobs/{id}").json()
        if told["state"] not in ("queued", "running"):
            return told
        time.sleep(0.1)
    raise TimeoutError


def begun(client: Any, id: str) -> None:
    while not (told := client.get(f"/jobs/{id}").json())["done"]:
        assert told["state"] in ("queued", "running")
        time.sleep(0.02)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def scrubbed(folder: Path, source: Path, target: Path, *more: str) -> None:
    command = [sys.executable, "-m", "deid", "scrub", str(source), str(target), "--model", "none", "--key-file", "key"]
    subprocess.run([*command, "-q", *more], cwd=folder, check=True, stderr=subprocess.DEVNULL)


def entries(place: Path) -> int:
    with Vault.open(place, KEY) as vault:
        return vault.verify().entries


def submitted(client: Any, source: Path | str, target: Path | str, **more: str) -> str:
    answer = client.post("/jobs", json={"source": str(source), "target": str(target), **more})
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/jobs/{answer.json()['id']}"
    return str(answer.json()["id"])


def test_a_folder_and_a_table_become_what_deid_scrub_writes(tmp_path: Path) -> None:
    arguments = (*options(tmp_path), "--keep", "filename")
    source = notes(tmp_path, 8)
    table = tmp_path / "data" / "notes.csv"
    table.write_text("id,story\n" + "".join(f'{n},"{NOTE} {n}"\n' for n in range(5)))
    out, rows = tmp_path / "data" / "out", tmp_path / "data" / "out.csv"
    with serving(tmp_path, *arguments, roles=ROLES) as one, one.client("night") as client:
        first = submitted(client, source, out)
        second = submitted(client, table, rows, text_field="story", id_field="id")
        assert over(client, first) == {**over(client, first), "state": "done", "done": 8, "total": 8}
        assert over(client, second)["state"] == "done"
        result = client.get(f"/jobs/{first}/result").json()
        assert (result["documents"], result["failed"]) == (8, 0)
        assert result["categories"]["PATIENT"] == 8
        assert [job["id"] for job in client.get("/jobs").json()] == [first, second]
        with one.client() as other:  # another one's job is none
            assert other.get(f"/jobs/{first}").status_code == 404
            assert other.get("/jobs").json() == []
            assert other.delete(f"/jobs/{first}").status_code == 404
        with one.client("lab") as other:
            assert other.post("/jobs", json={"source": str(source), "target": str(out)}).status_code == 403
    scrubbed(tmp_path, source, tmp_path / "same", "--keep", "filename")
    told = [check_manifests(place).manifests[0].run["options"] for place in (out, rows)]
    assert all(len(one["keep"]) == 1 and one["model"] == "none" for one in told)
    assert told[1]["text_field"] != "story"  # what a client wrote is told by a pseudonym
    assert not {"listen", "tokens", "job_folder", "job_store"} & {*told[0], *told[1]}
    assert files(out) == files(tmp_path / "same")
    assert not check_manifests(out).faults
    assert (tmp_path / "jobs.db").stat().st_mode & 0o077 == 0
    assert b"Quartermain" not in rows.read_bytes()
    assert rows.read_bytes().count(b"\n") == 6


@pytest.mark.slow
def test_a_bulk_export_becomes_what_deid_scrub_writes(tmp_path: Path) -> None:
    """The persons of its Patient files are known to the notes beside them, in a job too."""
    arguments = (*options(tmp_path), "--keep", "filename")
    source, out = tmp_path / "data" / "export", tmp_path / "data" / "out"
    shutil.copytree(EXPORT, source)
    with serving(tmp_path, *arguments, roles=ROLES) as one, one.client("night") as client:
        id = submitted(client, source, out)
        assert over(client, id)["state"] == "done", client.get(f"/jobs/{id}/result").json()
        assert client.get(f"/jobs/{id}/result").json()["documents"] > 4
    scrubbed(tmp_path, source, tmp_path / "same", "--keep", "filename")
    assert files(out) == files(tmp_path / "same")
    assert {path.name for path in out.iterdir()} == {path.name for path in source.iterdir()}
    assert all(files(out)[name] != content for name, content in files(source).items())
    assert not check_manifests(out).faults


@pytest.mark.slow
def test_what_jobs_replace_stands_in_the_vault_and_is_told_by_it_to_the_entitled(tmp_path: Path) -> None:
    """As `deid scrub --vault`; each look-up, what is not found too, has a line of who and why."""
    for name in ("vault", "same.vault"):
        Vault.create(tmp_path / name, KEY, who="test").close()
    arguments = (*options(tmp_path), "--keep", "filename", "--vault", "vault", "--job-source", "ward=sqlite:///ward.db",
                 "--job-target", "shared=sqlite:///shared.db")  # fmt: skip
    source, out = notes(tmp_path, 3), tmp_path / "data" / "out"
    table_of(tmp_path / "ward.db", 4)
    roles = ROLES | {"clerk": "re-identify", "bot": "all"}
    with serving(tmp_path, *arguments, roles=roles) as one, one.client("night") as client:
        assert over(client, submitted(client, source, out))["state"] == "done"
        scrubbed(tmp_path, source, tmp_path / "same", "--keep", "filename", "--vault", "same.vault")
        assert files(out) == files(tmp_path / "same")
        assert entries(tmp_path / "vault") == entries(tmp_path / "same.vault") > 9
        assert over(client, submitted(client, "ward:note", "shared:note", **COLUMNS))["state"] == "done"
        assert entries(tmp_path / "vault") > entries(tmp_path / "same.vault")
        number = files(out)["note0000.txt"].decode().split("MRN: ")[1].split(".")[0]
        wanted = {"surrogates": [number, "nobody"], "why": "recall of device 7"}
        assert client.post("/reidentify", json=wanted).status_code == 403
        with one.client("bot") as bot, one.client("clerk") as clerk:
            masked = bot.post("/mask", json={"text": NOTE}).json()
            told = clerk.post("/reidentify", json=wanted).json()["found"]
            assert [{entry["original"] for entry in entries} for entries in told] == [{"4471902"}, set()]
            assert told[0][0]["scope"].startswith(("document:", "patient:"))
            scoped = {**wanted, "surrogates": [row[3].split("MRN: ")[1].split(".")[0] for row in rows_of(
                tmp_path / "shared.db")], "scope": "patient:p1"}  # fmt: skip
            found = clerk.post("/reidentify", json=scoped).json()["found"]
            assert {entry["scope"] for entries in found for entry in entries} == {"patient:p1"}
            # what another one's session masked is that one's
            words = [word.strip(".,:") for word in masked["text"].split()]
            seen = clerk.post("/reidentify", json={"surrogates": words, "why": "curious"}).json()["found"]
            assert not [entry for entries in seen for entry in entries if entry["scope"].startswith("session:")]
            for wrong, status in (
                ({**wanted, "why": " "}, 400), ({"surrogates": [number]}, 400), ({**wanted, "surrogates": []}, 422),
                ({**wanted, "surrogates": number}, 422), ({**wanted, "scope": 7}, 422), ({"why": "x"}, 422),
            ):  # fmt: skip
                answer = clerk.post("/reidentify", json=wrong)
                assert (answer.status_code, "4471902" in answer.text) == (status, False), wrong
    with Vault.open(tmp_path / "vault", KEY) as vault:
        lines = [line for line in vault.audit() if line.why == "recall of device 7"]
        assert [(line.who, line.surrogate, line.found) for line in lines][:2] == [
            ("clerk", number, len(told[0])), ("clerk", "nobody", 0)
        ]  # fmt: skip


def test_jobs_stay_below_the_named_folders(tmp_path: Path) -> None:
    arguments = options(tmp_path)
    source = notes(tmp_path, 2)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.txt").write_text(NOTE)
    (tmp_path / "data" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "data" / "plain").mkdir()
    (tmp_path / "data" / "plain" / "a.txt").write_text(NOTE)
    (source / "linked.txt").symlink_to(tmp_path / "secret" / "a.txt")
    data = tmp_path / "data"
    with serving(tmp_path, *arguments, roles=ROLES) as one, one.client("night") as client:
        for wrong, target in (
            (tmp_path / "secret", data / "o"), (data / ".." / "secret", data / "o"), (data / "link", data / "o"),
            (source, tmp_path / "o"), (source, data / "link" / "o"), (Path("in"), data / "o"), (data, data / "o"),
            (source, data / "in"), (data / "missing", data / "o"), (source, data / "no" / "o"),
        ):  # fmt: skip
            answer = client.post("/jobs", json={"source": str(wrong), "target": str(target)})
            assert answer.status_code == 400, (wrong, target)
            assert str(tmp_path) not in answer.text
        for body in ({}, {"source": 1, "target": 2}, {"source": str(source), "target": str(data / "o"), "policy": "x"}):
            assert client.post("/jobs", json=body).status_code == 422
        assert client.post("/jobs", json={"source": "\0", "target": "/" + "x" * 5000}).status_code == 400
        for name in ("o" * 250, "o" * 300):  # neither with what stands beside it, nor at all
            told = over(client, submitted(client, data / "plain", data / name))
            assert told["state"] == "failed"
            assert "name too long" in client.get(f"/jobs/{told['id']}/result").json()["detail"]
        told = over(client, submitted(client, source, data / "out"))  # one of its notes is a link to elsewhere
        assert told["state"] == "failed"
        assert "below a folder" in client.get(f"/jobs/{told['id']}/result").json()["detail"]
    assert not (data / "out").exists()


def test_a_job_that_could_process_nothing_has_failed(tmp_path: Path) -> None:
    """One of which some documents failed is done, and tells how many."""
    arguments = options(tmp_path)
    source, data = notes(tmp_path, 2), tmp_path / "data"
    for path in source.iterdir():
        path.write_bytes(NOTE.encode() + b" \xff\xfe")
    with serving(tmp_path, *arguments, roles=ROLES) as one, one.client("night") as client:
        id = submitted(client, source, data / "none")
        assert over(client, id)["state"] == "failed"
        result = client.get(f"/jobs/{id}/result")
        assert (result.json()["documents"], result.json()["failed"]) == (0, 2)
        assert result.json()["detail"].startswith("none of the documents")
        assert "Quartermain" not in result.text
        (source / "good.txt").write_text(NOTE)
        id = submitted(client, source, data / "some")
        assert over(client, id)["state"] == "done"
        assert client.get(f"/jobs/{id}/result").json()["failed"] == 2


def test_a_job_is_cancelled_and_leaves_nothing_but_what_the_vault_has(tmp_path: Path) -> None:
    Vault.create(tmp_path / "vault", KEY, who="test").close()
    arguments = (*options(tmp_path), "--vault", "vault")
    source, data = notes(tmp_path, 300, 10), tmp_path / "data"
    with serving(tmp_path, *arguments, roles=ROLES) as one, one.client("night") as client:
        first, second = submitted(client, source, data / "one"), submitted(client, source, data / "two")
        assert client.get(f"/jobs/{second}/result").status_code == 409
        assert client.delete(f"/jobs/{second}").json()["state"] == "cancelled"
        begun(client, first)
        client.delete(f"/jobs/{first}")
        assert over(client, first)["state"] == "cancelled"
        assert not (data / "one").exists()
        assert not (data / "two").exists()
        assert entries(tmp_path / "vault") > 0  # other jobs may have written the same
        assert over(client, submitted(client, source / "note0001.txt", data / "three.txt"))["state"] == "done"


@pytest.mark.slow
def test_jobs_outlive_a_killed_service(tmp_path: Path) -> None:
    arguments = options(tmp_path)
    source, data = notes(tmp_path, 150, 10), tmp_path / "data"
    killed = began(tmp_path, *arguments, roles=ROLES)
    with killed.client("night") as client:
        first, second = submitted(client, source, data / "out"), submitted(client, source, data / "later")
        begun(client, first)
        os.kill(killed.process.pid, signal.SIGKILL)
        killed.process.communicate()
    with serving(tmp_path, *arguments) as one, replace(one, tokens=killed.tokens).client("night") as client:
        told = over(client, first)
        assert told["state"] == "done", client.get(f"/jobs/{first}/result").json()
        assert over(client, second)["state"] == "done"
        assert client.get(f"/jobs/{second}/result").json()["documents"] == 150
    scrubbed(tmp_path, source, tmp_path / "same")
    assert files(data / "out") == files(data / "later") == files(tmp_path / "same")


@pytest.mark.slow
def test_jobs_go_on_when_their_store_is_there_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_AGAIN", 0.3)
    source, data = notes(tmp_path, 2), (tmp_path / "data").resolve()
    (tmp_path / "store").mkdir()
    away = tmp_path / "away" / "jobs.db"  # the worker's way to the store
    recipe, places = PipelineRecipe(Key(b"k" * 32), PipelineOptions(model="none")), job_store.JobPlaces((data,))

    async def run() -> str:
        with Pool(job_worker.JobRecipe(recipe, str(away), places, {}), 1, silent=True) as pool:
            here = jobs.Jobs(pool, tmp_path / "store" / "jobs.db", places)
            id = here.submit("anna", {"source": str(source), "target": str(data / "out")}).id
            at_work = asyncio.create_task(here.work())
            await asyncio.sleep(2)
            (tmp_path / "away").symlink_to(tmp_path / "store")
            for _ in range(600):
                found = here.store.find(id)
                if found is not None and found.ended:
                    break
                await asyncio.sleep(0.1)
            at_work.cancel()
            await asyncio.wait([at_work])
            here.close()
        return found.state if found else ""

    assert asyncio.run(run()) == "done"
    assert len(list((data / "out").glob("*.txt"))) == 2


def test_more_jobs_than_may_wait_are_told_to_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_WAITING", 2)
    source, data = notes(tmp_path, 1), (tmp_path / "data").resolve()
    pool: Any = Pool(PipelineRecipe(KEY), 1)  # which is never entered: no job begins
    here = jobs.Jobs(pool, tmp_path / "jobs.db", job_store.JobPlaces((data,)))
    guard = service(pool, Plan(frozenset({"here"})), Totals(), Sessions(KEY), here)
    asked = [{"source": str(source), "target": str(data / f"out{n}")} for n in range(3)]

    async def ask() -> list[Any]:
        transport = httpx.ASGITransport(app=guard)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            answers = [await client.post("/jobs", json=one) for one in asked]
            gone = await client.delete(answers[0].headers["location"])
            return [*answers, gone, await client.post("/jobs", json=asked[2])]

    answers = asyncio.run(ask())
    here.close()
    assert [one.status_code for one in answers] == [202, 202, 503, 200, 202]
    assert answers[2].headers["retry-after"] == "1"


@pytest.mark.parametrize("server", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_two_services_with_one_store_do_a_job_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, server: bool
) -> None:
    """As when a new one begins while the old one ends: the job is the old one's while it lives, then the new one's."""
    monkeypatch.setattr(jobs, "_AGAIN", 0.3)
    source, data = notes(tmp_path, 2), (tmp_path / "data").resolve()
    place = request.getfixturevalue("postgresql")() if server else str(tmp_path / "jobs.db")
    recipe, places = PipelineRecipe(KEY, PipelineOptions(model="none")), job_store.JobPlaces((data,))
    made = job_worker.JobRecipe(recipe, place, places, {})

    async def run() -> list[str]:
        seen = []
        with Pool(made, 1, silent=True) as pool, closing(jobs.Jobs(pool, place, places)) as here:
            assert here.store.find("\0") is None
            job = here.submit("anna", {"source": str(source), "target": str(data / "out")})
            other = job_store.JobStore(place)
            with other.alone(job.id) as mine:  # the old one is at work
                assert mine
                assert other.progress(job.id, 1, 2)
                made()(job.id)
                at_work = asyncio.create_task(here.work())
                await asyncio.sleep(3)
                seen += [here.store.find(job.id), (data / "out").exists()]
            for _ in range(600):
                if (found := here.store.find(job.id)) is not None and found.ended:
                    break
                await asyncio.sleep(0.1)
            seen += [found, len(list((data / "out").glob("*.txt")))]
            ended = found.ended if found else ""
            made()(job.id)
            found = here.store.find(job.id)
            assert found is not None
            assert found.ended == ended
            at_work.cancel()
            await asyncio.wait([at_work])
            other.close()
        return [one.state if isinstance(one, job_store.Job) else one for one in seen]

    assert asyncio.run(run()) == ["running", False, "done", 2]


def table_of(place: Path, count: int, size: int = 1) -> None:
    """Make a database with a table of notes."""
    place.touch(mode=0o600)
    with closing(sqlite3.connect(place)) as base, base:
        base.execute("DROP TABLE IF EXISTS note")
        base.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, person TEXT, day TEXT, story TEXT, ward TEXT)")
        rows = [(n, f"p{n % 3}", "2019-05-03", f"{NOTE} {n}\n" * size, "W1") for n in range(count)]
        base.executemany("INSERT INTO note VALUES (?, ?, ?, ?, ?)", rows)


def rows_of(place: Path, table: str = "note") -> list[Any]:
    with closing(sqlite3.connect(place)) as base:
        return base.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


COLUMNS = {"text_field": "story", "id_field": "id", "patient_field": "person", "date_field": "day"}
BASES = ("--jobs", "1", "--job-store", "jobs.db", "--job-source", "ward=sqlite:///ward.db",
         "--job-target", "shared=sqlite:///shared.db")  # fmt: skip


def test_a_table_of_a_database_becomes_what_deid_scrub_writes(tmp_path: Path) -> None:
    """By the names of connections alone; what could lead elsewhere is refused, and says nothing of where they are."""
    table_of(tmp_path / "ward.db", 12)
    with serving(tmp_path, *BASES, roles=ROLES) as one, one.client("night") as client:
        for source, target in (
            ("sqlite:///ward.db", "shared:note"), ("nowhere:note", "shared:note"), ("ward:note", "ward:note"),
            ("shared:note", "shared:more"), ("ward:note", "shared:note?host=evil"), ("ward:note", "shared:a/b"),
            ("ward:no te", "shared:x"), ("ward:note", str(tmp_path / "x.db")), (str(tmp_path / "ward.db"), "shared:x"),
            ("postgresql://evil/x:note", "shared:x"), ("ward:", "shared:x"), (str(tmp_path / "ward.db"), "/x.db"),
        ):  # fmt: skip
            answer = client.post("/jobs", json={"source": source, "target": target, **COLUMNS})
            assert answer.status_code == 400, (source, target)
            assert "ward.db" not in answer.text
            assert "evil" not in answer.text
        done = over(client, submitted(client, "ward:note", "shared:note", **COLUMNS))
        result = client.get(f"/jobs/{done['id']}/result").json()
        assert (done["state"], result.get("documents"), result.get("failed")) == ("done", 12, 0), result
        assert result["columns"]["ward"] == "dropped"
        again = over(client, submitted(client, "ward:note", "shared:note", **COLUMNS))
        assert again["state"] == "failed"
        assert "exists already" in client.get(f"/jobs/{again['id']}/result").json()["detail"]
        wrong = over(client, submitted(client, "ward:note", "shared:other", **(COLUMNS | {"text_field": "stories"})))
        assert wrong["state"] == "failed"
    command = ["scrub", "ward.db", "--table", "note", "--text", "story", "--id", "id", "--patient", "person", "--date",
               "day", "--model", "none", "--key-file", "key", "--output", "sqlite:///same.db/note"]  # fmt: skip
    subprocess.run([sys.executable, "-m", "deid", *command], cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)
    assert rows_of(tmp_path / "shared.db") == rows_of(tmp_path / "same.db")
    assert len(rows_of(tmp_path / "same.db")) == 12
    assert (tmp_path / "shared.db").stat().st_mode & 0o077 == 0
    check = check_manifests(tmp_path / "shared.db")
    assert not check.faults
    assert "ward" not in check.manifests[0].to_bytes().decode().replace('"ward": "dropped"', "")


@pytest.mark.slow
def test_a_table_of_a_server_becomes_what_deid_scrub_writes(postgresql: Callable[[], str], tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg", reason="the driver psycopg is not installed")
    ward, shared = postgresql(), postgresql()
    with psycopg.connect(ward) as base:
        base.execute("CREATE SCHEMA cdm")
        base.execute("CREATE TABLE cdm.note (id bigint PRIMARY KEY, person int, day date, story text)")
        for n in range(6):
            base.execute("INSERT INTO cdm.note VALUES (%s, %s, '2019-05-03', %s)", (n, n % 3, f"{NOTE} {n}"))
    named = ("--job-source", f"ward={ward}", "--job-target", f"shared={shared}")
    with serving(tmp_path, *BASES[:4], *named, roles=ROLES) as one, one.client("night") as client:
        assert over(client, submitted(client, "ward:cdm.note", "shared:deid.note", **COLUMNS))["state"] == "done"
    command = ["scrub", ward, "--table", "cdm.note", "--text", "story", "--id", "id", "--patient", "person", "--date",
               "day", "--model", "none", "--key-file", "key", "--output", join_place(shared, "deid.same")]  # fmt: skip
    subprocess.run([sys.executable, "-m", "deid", *command], cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)
    with psycopg.connect(shared) as base:
        one, two = (base.execute(f"SELECT * FROM deid.{name} ORDER BY 1").fetchall() for name in ("note", "same"))
    assert len(one) == 6
    assert one == two
    first = manifest_path(tmp_path / "shared.deid.note")
    assert not check_manifests(join_place(shared, "deid.note"), first=first).faults
    with psycopg.connect(shared) as base:
        base.execute("UPDATE deid.note SET story = story || '.'")
    assert [f.what for f in check_manifests(join_place(shared, "deid.note"), first=first).faults] == ["changed"]


@pytest.mark.slow
def test_a_job_on_a_table_goes_on_after_a_kill_and_vanishes_when_it_is_cancelled(tmp_path: Path) -> None:
    table_of(tmp_path / "ward.db", 400, 4)
    killed = began(tmp_path, *BASES, roles=ROLES)
    with killed.client("night") as client:
        first = submitted(client, "ward:note", "shared:note", **COLUMNS)
        begun(client, first)
        os.kill(killed.process.pid, signal.SIGKILL)
        killed.process.communicate()
    with serving(tmp_path, *BASES) as one, replace(one, tokens=killed.tokens).client("night") as client:
        assert over(client, first)["state"] == "done", client.get(f"/jobs/{first}/result").json()
        table_of(tmp_path / "ward.db", 8000, 4)  # enough that no processor is done before it hears of the end
        second = submitted(client, "ward:note", "shared:gone", **COLUMNS)
        begun(client, second)
        client.delete(f"/jobs/{second}")
        assert over(client, second)["state"] == "cancelled"
    assert len({row[0] for row in rows_of(tmp_path / "shared.db")}) == len(rows_of(tmp_path / "shared.db")) == 400
    assert rows_of(tmp_path / "shared.db", "sqlite_master WHERE type = 'table' AND name != 'note'") == []


KILLED = """
import os, signal
from deid.manifest.run import ManifestRun
from deid.pipeline.table_output import TableOutput
from deid.web.job_store import JobStore

def killed(*_, **__):
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)

{moment} = killed
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "documents", "manifests"),
    [
        pytest.param("JobStore.wrote", 0, 1, marks=pytest.mark.slow),
        pytest.param("TableOutput.settle", 9, 1, marks=pytest.mark.slow),
        ("ManifestRun.finish", 9, 1),
        pytest.param("JobStore.end", 9, 2, marks=pytest.mark.night),
    ],
)
def test_a_complete_table_is_found_when_the_service_was_killed_before_it_was_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, documents: int, manifests: int
) -> None:
    """Front and worker are killed in the moment; the last row is one that no other run could have written again."""
    table_of(tmp_path / "ward.db", 9)
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / "sitecustomize.py").write_text(KILLED.format(moment=moment))
    with monkeypatch.context() as patched:
        patched.setenv("PYTHONPATH", str(tmp_path / "killed"), prepend=os.pathsep)
        killed = began(tmp_path, *BASES, roles=ROLES)
    with killed.client("night") as client:
        id = submitted(client, "ward:note", "shared:note", **COLUMNS)
    killed.process.communicate(timeout=60)
    assert killed.process.returncode == -signal.SIGKILL
    rows = rows_of(tmp_path / "shared.db")
    assert len(rows) == 9
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as base:
        assert base.execute("SELECT state FROM deid_jobs").fetchall() == [("running",)]
    with closing(sqlite3.connect(tmp_path / "shared.db")) as base, base:  # a job that is run again would mend this
        base.execute("UPDATE note SET story = 'as it was' WHERE id = (SELECT max(id) FROM note)")
    with serving(tmp_path, *BASES) as one, replace(one, tokens=killed.tokens).client("night") as client:
        assert over(client, id)["state"] == "done", client.get(f"/jobs/{id}/result").json()
        result = client.get(f"/jobs/{id}/result").json()
    assert (result["documents"] + result.get("there", 0), result["documents"], result["failed"]) == (9, documents, 0)
    found = rows_of(tmp_path / "shared.db")
    assert [row[0] for row in found] == [row[0] for row in rows]
    assert "as it was" in found[-1]
    assert rows_of(tmp_path / "shared.db", "sqlite_master WHERE type = 'table' AND name != 'note'") == []
    check = check_manifests(tmp_path / "shared.db")
    assert not check.faults
    assert len(check.manifests) == manifests


def test_a_complete_table_of_other_options_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table_of(tmp_path / "ward.db", 2)
    place, bases = str(tmp_path / "jobs.db"), tmp_path / "shared.db"
    places = job_store.JobPlaces((), {"ward": f"sqlite:///{tmp_path}/ward.db"}, {"shared": f"sqlite:///{bases}"})
    store = job_store.JobStore(place)
    id = store.submit("anna", job_store.JobRequest("ward:note", "shared:note", **COLUMNS)).id
    recipe = PipelineRecipe(Key(b"k" * 32), PipelineOptions(model="none"))

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(job_worker.JobWorker, "_end", killed)
        with pytest.raises(KeyboardInterrupt):
            job_worker.JobRecipe(recipe, place, places, {})()(id)
    rows = rows_of(bases)
    other = replace(recipe, options=PipelineOptions(model="none", policy="limited-data-set"))
    job_worker.JobRecipe(other, place, places, {})()(id)
    told = store.find(id)
    store.close()
    assert told is not None
    assert told.state == "failed"
    assert "other options" in (told.result or {})["detail"]
    assert rows_of(bases) == rows
    assert not list(tmp_path.glob("*.manifest*.json"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--job-source", "a=postgresql://me:secret@host/base"), "password"),
        (("--job-source", "postgresql://me@host/base"), "no database with a name"),
        (("--job-source", "a=sqlite:///a.db/note"), "names"),
        (("--job-source", "a=sqlite:///a.db", "--job-source", "a=sqlite:///b.db"), "one name"),
        (("--job-source", "a=sqlite:///a.db"), "both sides"),
        ((), "a store"),
    ],
)
def test_connections_that_cannot_be_are_refused(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    last = () if "both" in said else ("--job-target", "b=sqlite:///c.db")
    last = ("--job-source", "a=sqlite:///a.db", *last) if said == "a store" else (*last, "--job-store", "jobs.db")
    with pytest.raises(ConfigError, match=said) as refused:
        attempt("serve", "--tokens", tmp_path / "tokens", *options, *last)
    assert "secret" not in str(refused.value)
