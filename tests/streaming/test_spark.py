"""Notes on Spark, in local mode for real: the results of deid scrub, the key nowhere, no failed job."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import call

from deid.base.errors import ConfigError, DeidError
from deid.streaming.arrow import REJECTED, KeyPlace, ScrubBatch, TagBatch, columns_of

SECRET = "6b" * 32
TEXT = "Dr. Alice Baker saw John Smith (MRN: 47112{:04}) on 03/14/2019 in Boston, MA. Call 617-555-01{:02}.\n"
NAMES = ("id", "note_text", "person_id", "ward", "score", "seen")
PLANTED = ("Alice", "Baker", "Smith", "47112")


def rows(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Return notes of seven patients."""
    return [
        {
            "id": f"Smith/{n}",
            "note_text": TEXT.format(n, n % 100),
            "person_id": n % 7,
            "ward": ("Baker 4", None)[n % 2],
            "score": 1.5 * n,
            "seen": True,
        }
        for n in range(first, first + count)
    ]


def write(path: Path, count: int, first: int = 0, **cells: Any) -> Path:
    found = rows(count, first)
    for name, value in cells.items():
        found[3][name] = value
    pq.write_table(pa.Table.from_pylist(found), path)
    return path


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "key"
    path.write_text(SECRET)
    path.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return path


def scrub_batch(key: Path, names: tuple[str, ...] = NAMES, **options: Any) -> ScrubBatch:
    from deid.pipeline.options import PipelineOptions

    said = PipelineOptions(model="none", **options)
    return ScrubBatch(names=names, columns=columns_of(names, None, None), key=KeyPlace.of(key), options=said)


# what engines call, without an engine


def table(place: Path) -> list[dict[str, Any]]:
    return pq.read_table(place).to_pylist()


def test_a_batch_gives_what_the_command_writes(tmp_path: Path, key: Path) -> None:
    """The rows of a table, by the command and by batches of any size, with what is kept and what is not."""
    path = write(tmp_path / "in.parquet", 30)
    options = ("--model", "none", "--patient-field", "person_id", "--keep", "score", "--key-file", str(key))
    assert call("scrub", str(path), str(tmp_path / "out.parquet"), *options) == 0
    batch = scrub_batch(key, patient_field="person_id", keep=frozenset({"score"}))
    for size in (7, 30):
        done = [batch(one) for one in pq.read_table(path).to_batches(max_chunksize=size)]
        made = pa.Table.from_batches(done).to_pylist()
        assert [row.pop(REJECTED) for row in made] == [None] * 30
        assert made == table(tmp_path / "out.parquet")


def test_a_batch_is_sent_without_the_key_and_gives_the_same_again(tmp_path: Path, key: Path) -> None:
    batch = scrub_batch(key)
    sent = pickle.dumps(batch)
    assert SECRET.encode() not in sent
    assert bytes.fromhex(SECRET) not in sent
    assert SECRET not in repr(batch)
    (given,) = pq.read_table(write(tmp_path / "in.parquet", 9)).to_batches()
    assert pickle.loads(sent)(given).equals(batch(given))


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ({"note_text": None}, "no text"),
        ({"id": None}, "no id"),
        ({"id": ""}, "no id"),
        ({"note_text": "x" * 99}, "more"),
    ],
)
def test_a_note_that_fails_is_a_row_that_says_why(tmp_path: Path, key: Path, cell: dict[str, Any], why: str) -> None:
    (given,) = pq.read_table(write(tmp_path / "in.parquet", 9, **cell)).to_batches()
    batch = scrub_batch(key, keep=frozenset({"ward", "score"}))
    object.__setattr__(batch, "max_document", 98)
    made = batch(given).to_pylist()
    assert [row[REJECTED] is None for row in made] == [n != 3 for n in range(9)]
    assert why in made[3][REJECTED]
    assert {name for name, value in made[3].items() if value is not None} <= {"id", REJECTED}
    assert not any(word in str(made) for word in ("Smith", "Alice"))


def test_a_cell_that_is_no_text_rejects_its_row_alone(key: Path) -> None:
    """Writers of Parquet need not check their text."""
    texts = pa.StringArray.from_buffers(
        3, pa.py_buffer(b"\0\0\0\0\3\0\0\0\5\0\0\0\7\0\0\0"), pa.py_buffer(b"one\xff\xfeok")
    )
    batch = scrub_batch(key, ("id", "text"))
    made = batch(pa.RecordBatch.from_arrays([pa.array(["a", "b", "c"]), texts], names=["id", "text"])).to_pylist()
    assert [row[REJECTED] is None for row in made] == [True, False, True]
    assert (made[0]["text"], made[1]["text"]) == ("one", None)


def test_another_key_on_a_machine_of_work_is_refused(key: Path) -> None:
    """It would make other surrogates there, and nobody would see it."""
    batch = scrub_batch(key)
    key.write_text("7c" * 32)
    with pytest.raises(ConfigError, match="another one"):
        pickle.loads(pickle.dumps(batch)).make()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"patient_field": "person"}, "there is no column 'person'"),
        ({"keep": frozenset({"wards"})}, "there is no column 'wards'"),
        ({"date_field": "day"}, "there is no column 'day'"),
    ],
)
def test_a_column_that_is_not_there_is_refused(key: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        scrub_batch(key, **options)
    with pytest.raises(ConfigError, match="rejected already"):
        scrub_batch(key, (*NAMES, REJECTED))
    with pytest.raises(ConfigError, match="no column for the id"):
        scrub_batch(key, ("text", "more"))


def test_what_is_kept_of_a_moment_does_not_depend_on_the_session(key: Path) -> None:
    """A column with a time zone is told in UTC: its pseudonyms are those of the same moment in any zone."""
    made = []
    for zone in ("UTC", "America/New_York"):
        when = pa.array([1_600_000_000_000_000], pa.timestamp("us")).cast(pa.timestamp("us", zone))
        given = pa.RecordBatch.from_arrays([pa.array(["a"]), pa.array(["seen"]), when], names=["id", "text", "at"])
        made.append(scrub_batch(key, ("id", "text", "at"))(given).to_pylist())
    assert made[0] == made[1]
    assert made[0][0]["at"].startswith("value-")


def test_tagging_keeps_all_columns_and_gives_the_spans_of_the_command(tmp_path: Path, key: Path) -> None:
    from deid.detection.options import RecognizerOptions

    path = write(tmp_path / "in.parquet", 9)
    assert call("tag", str(path), str(tmp_path / "out.parquet"), "--model", "none", "--to", "parquet") == 0
    batch = TagBatch(names=NAMES, columns=columns_of(NAMES, None, None), options=RecognizerOptions(model="none"))
    (given,) = pq.read_table(path).to_batches()
    made = batch(given).to_pylist()
    told = {row["id"]: row["spans"] for row in table(tmp_path / "out.parquet")}
    assert {row["id"]: row["spans"] for row in made} == told
    assert [{name: row[name] for name in NAMES} for row in made] == given.to_pylist()


# Spark itself


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pyspark is not installed (extra spark)")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    from deid.streaming import spark

    log = tmp_path_factory.mktemp("log")
    started = spark.session(
        "local[2,4]",
        spark__eventLog__enabled=True,
        spark__eventLog__dir=f"file://{log}",
        spark__eventLog__compress=False,
        spark__sql__shuffle__partitions=2,
    )
    started.sparkContext.setLogLevel("ERROR")
    started.log = log
    yield started
    started.stop()


OPTIONS = ("--model", "none", "--patient-field", "person_id", "--keep", "score")


def test_the_job_writes_what_the_command_writes(
    engine: Any, tmp_path: Path, key: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Equal rows, a table of rejects, a manifest that holds; and the log tells nothing."""
    path = write(tmp_path / "in.parquet", 200, note_text=None)
    given = (*OPTIONS, "--key-file", str(key))
    assert call("scrub", str(path), str(tmp_path / "plain.parquet"), *given) == 1
    assert call("spark", "scrub", str(path), str(tmp_path / "one.parquet"), *given) == 3
    said = capfd.readouterr()
    assert "199 documents, 1 failed" in said.err
    assert table(tmp_path / "one.parquet") == table(tmp_path / "plain.parquet")
    (reject,) = table(tmp_path / "one.parquet.rejects")
    assert "holds no text" in reject[REJECTED]
    assert reject["id"].startswith("folder-")
    assert call("manifest", "verify", str(tmp_path / "one.parquet")) == 0
    one = (tmp_path / "one.parquet.manifest.json").read_text()
    verify = ("manifest", "verify", str(tmp_path / "one.parquet"), "--key-file", str(key))
    assert call(*verify, "--originals", str(path)) == 0
    (tmp_path / "one.parquet.rejects" / "part-00000.parquet").rename(tmp_path / "rejects")
    assert call(*verify) == 1
    assert "changed: OUT.rejects" in capfd.readouterr().err
    (tmp_path / "rejects").rename(tmp_path / "one.parquet.rejects" / "part-00000.parquet")
    assert call(*verify) == 0
    parts = sorted((tmp_path / "one.parquet").iterdir())
    for change, what in (
        (lambda: parts[0].write_bytes(parts[0].read_bytes()[:-1] + b"2"), "changed"),
        (lambda: parts[0].unlink(), "missing"),
        (lambda: (tmp_path / "one.parquet" / "part-99999.parquet").touch(), "added"),
    ):
        change()
        capfd.readouterr()
        assert call(*verify) == 1
        assert f"{what}: " in capfd.readouterr().err
    assert call("spark", "scrub", str(path), str(tmp_path / "one.parquet"), *given) == 2
    log = "".join(file.read_text(errors="replace") for file in engine.log.rglob("*") if file.is_file())
    assert "MapInArrow" in log
    for word in (SECRET, *PLANTED):
        assert word not in log + said.err + one


def test_the_job_of_tagging_writes_the_spans_of_the_command(
    engine: Any, tmp_path: Path, key: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All columns as they were, with their types; no key; what fails is left out; only the user may read it."""
    path = write(tmp_path / "in.parquet", 60, note_text=None)
    out, rejects = tmp_path / "out.parquet", tmp_path / "out.parquet.rejects"
    assert call("tag", str(path), str(tmp_path / "plain.parquet"), "--model", "none", "--to", "parquet") == 1
    key.unlink()
    assert call("spark", "tag", str(path), str(out), "--model", "none") == 3
    assert "59 documents, 1 failed" in capfd.readouterr().err
    told = {row["id"]: row["spans"] for row in table(tmp_path / "plain.parquet")}
    made = table(out)
    assert {row["id"]: row.pop("spans") for row in made} == told
    assert sum(map(len, told.values())) > 300
    assert made == [row for row in rows(60) if row["id"] != "Smith/3"]
    (reject,) = table(rejects)
    assert (reject["id"], "holds no text" in reject[REJECTED]) == ("Smith/3", True)
    files = [path for folder in (out, rejects) for path in folder.iterdir()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    manifest = out.with_name("out.parquet.manifest.json").read_text()
    assert json.loads(manifest)["run"]["command"] == "spark tag"
    assert "Smith" not in manifest
    assert call("manifest", "verify", str(out)) == 0
    assert call("spark", "tag", str(path), str(out), "--model", "none") == 2


@pytest.mark.night
def test_a_hundred_thousand_notes_are_those_of_the_command(engine: Any, tmp_path: Path, key: Path) -> None:
    """The same twice, with the same manifest."""
    path = write(tmp_path / "in.parquet", 100_000)
    given = (*OPTIONS, "--key-file", str(key))
    assert call("scrub", str(path), str(tmp_path / "plain.parquet"), *given, "--jobs", "2") == 0
    runs = []
    for name in ("one.parquet", "two.parquet"):
        assert call("spark", "scrub", str(path), str(tmp_path / name), *given) == 0
        assert pq.read_table(tmp_path / name).equals(pq.read_table(tmp_path / "plain.parquet"))
        runs.append(json.loads((tmp_path / f"{name}.manifest.json").read_text())["run"])
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_a_frame_is_scrubbed_again_to_the_same_bytes_when_a_task_dies(engine: Any, tmp_path: Path, key: Path) -> None:
    """A worker is killed in the middle of its task; Spark works on the part again."""
    from deid.streaming import spark

    frame = engine.read.parquet(str(write(tmp_path / "in.parquet", 60))).repartition(3)
    done = spark.scrub(frame, patient="person_id", key_file=key, model="none", keep=frozenset({"score"}))
    told = {row["id"]: row.asDict() for row in done.collect()}
    there = str(tmp_path / "died")

    def dies(batches: Any) -> Any:
        for number, batch in enumerate(batches):
            yield batch
            if number == 0 and not os.path.exists(there):  # noqa: PTH110  (sent to a worker)
                open(there, "w").close()  # noqa: PTH123
                os.kill(os.getpid(), signal.SIGKILL)

    again = {row["id"]: row.asDict() for row in done.mapInArrow(dies, done.schema).collect()}
    assert Path(there).exists()
    assert again == told
    assert len(told) == 60


@pytest.mark.slow
def test_rejects_lead_back_to_their_notes(engine: Any, tmp_path: Path, key: Path) -> None:
    from deid.streaming import spark

    frame = engine.read.parquet(str(write(tmp_path / "in.parquet", 9, note_text=None)))
    notes, rejects = spark.split(spark.scrub(frame, key_file=key, model="none"))
    assert (notes.count(), rejects.count()) == (8, 1)
    assert REJECTED not in notes.columns
    assert [row["id"] for row in spark.rejected_rows(frame, rejects, key_file=key).collect()] == ["Smith/3"]


@pytest.mark.slow
def test_tags_are_an_array_of_structs(engine: Any, tmp_path: Path, key: Path) -> None:
    from deid.streaming import spark

    frame = engine.read.parquet(str(write(tmp_path / "in.parquet", 9)))
    found = spark.tag(frame, model="none")
    assert found.columns == [*NAMES, "spans", REJECTED]
    row = found.selectExpr("id", "note_text", "explode(spans) as span").where("span.label = 'PATIENT'").first()
    assert row["note_text"][row["span"]["start"] : row["span"]["end"]] == "John Smith"


@pytest.mark.slow
def test_a_key_in_the_configuration_is_refused(engine: Any, tmp_path: Path, key: Path) -> None:
    from deid.streaming import spark

    frame = engine.read.parquet(str(write(tmp_path / "in.parquet", 9)))
    engine.conf.set("spark.executorEnv.DEID_KEY", SECRET)
    try:
        with pytest.raises(ConfigError, match="event log"):
            spark.scrub(frame, key_file=key, model="none")
    finally:
        engine.conf.unset("spark.executorEnv.DEID_KEY")


@pytest.mark.slow
def test_what_cannot_be_fulfilled_is_an_error_before_any_work(engine: Any, tmp_path: Path, key: Path) -> None:
    from deid.streaming import spark

    frame = engine.read.parquet(str(write(tmp_path / "in.parquet", 9)))
    for wrong in ({"policy": "nothing"}, {"text": "no_such"}, {"key_file": tmp_path / "none"}):
        with pytest.raises(DeidError):
            spark.scrub(frame, **{"key_file": key, "model": "none", **wrong})


@pytest.mark.slow
def test_linkage_on_spark_finds_the_persons_of_this_machine(
    engine: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the shipped conditions and by distances; Spark's log quotes no row, and nothing stays in Spark."""
    pytest.importorskip("splink", reason="Splink is not installed (extra link)")
    from deid.experiments.mentions import make_mentions

    frame = make_mentions(300, seed=3).drop(columns=["mention", "person"])
    frame.to_csv(tmp_path / "in.csv", index=False)
    given = ["link", str(tmp_path / "in.csv"), "--neighbours", "3"]
    for one in ("first=jaro:.9", "zip=difference:3", "street=jaccard:.9", "city=damerau_levenshtein:1,2"):
        given += ["--compare", one]
    for name, more in (("here", ()), ("there", ("--master", "local[2]"))):
        beside = ("--review", str(tmp_path / f"{name}.review.csv"), "--save-model", str(tmp_path / f"{name}.json"))
        assert call(*given, "-o", str(tmp_path / f"{name}.csv"), *beside, *more) == 0
    for ending in ("csv", "review.csv", "json"):
        assert (tmp_path / f"here.{ending}").read_bytes() == (tmp_path / f"there.{ending}").read_bytes()
    assert engine.range(3).count() == 3  # the session that was there goes on
    assert not engine.sparkContext._jsc.getPersistentRDDs()
    log = "".join(file.read_text(errors="replace") for file in engine.log.rglob("*") if file.is_file())
    assert "ArrowEvalPython" in log
    said = log + capfd.readouterr().err
    assert not [name for name in {*frame["phone"].dropna(), *frame["street"].dropna()} if name in said]
    exact = ("--method", "exact", "--master", "local[2]")
    assert call("link", str(tmp_path / "in.csv"), "-o", str(tmp_path / "exact.csv"), *exact) == 2


STREAM = """
import sys
from deid.streaming import spark
engine = spark.session("local[2]")
engine.sparkContext.setLogLevel("ERROR")
folder, key = sys.argv[1:]
notes = engine.readStream.schema("id string, note_text string, person_id long").option("maxFilesPerTrigger", 1)
done = spark.scrub(notes.parquet(folder + "/in"), patient="person_id", key_file=key, model="none")
out = done.writeStream.format("parquet").option("checkpointLocation", folder + "/checkpoint")
out.trigger(availableNow=True).start(folder + "/out").awaitTermination()
"""


@pytest.mark.slow
def test_a_stream_that_is_killed_twice_loses_and_doubles_nothing(engine: Any, tmp_path: Path, key: Path) -> None:
    """kill -9 of all of Spark, in the middle; the checkpoint knows where to go on."""
    from deid.streaming import spark

    (tmp_path / "in").mkdir()
    for number in range(12):
        columns = pa.Table.from_pylist(rows(40, 40 * number)).select(["id", "note_text", "person_id"])
        pq.write_table(columns, tmp_path / "in" / f"{number}.parquet")
    for stop in (3, 7, None):
        run = subprocess.Popen(
            [sys.executable, "-c", STREAM, str(tmp_path), str(key)], start_new_session=True, stderr=subprocess.DEVNULL
        )
        commits, end = tmp_path / "checkpoint" / "commits", time.monotonic() + 600
        try:
            while stop and len(list(commits.glob("[0-9]*"))) < stop:
                assert run.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
        finally:
            if stop:
                os.killpg(run.pid, signal.SIGKILL)
        assert run.wait(600) == (-signal.SIGKILL if stop else 0)
    made = [row.asDict() for row in engine.read.parquet(str(tmp_path / "out")).collect()]
    frame = engine.read.parquet(str(tmp_path / "in")).select("id", "note_text", "person_id")
    whole = spark.scrub(frame, patient="person_id", key_file=key, model="none").collect()
    assert len(made) == 480
    assert sorted(map(str, made)) == sorted(str(row.asDict()) for row in whole)


@pytest.mark.slow
def test_a_disk_that_fills_midway_leaves_nothing_and_the_same_job_is_done_when_there_is_room(
    engine: Any, tmp_path: Path, key: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No file of Spark's process may grow above some bytes: the limit stands for the disk. (It is the last test: the
    event log of the session has the limit, too.)"""
    path, out = write(tmp_path / "in.parquet", 400), tmp_path / "out.parquet"
    spark, unlimited = engine.sparkContext._gateway.proc.pid, resource.RLIM_INFINITY
    for command, given in (("scrub", (*OPTIONS, "--key-file", str(key))), ("tag", ("--model", "none"))):
        small = write(tmp_path / f"{command}.in.parquet", 4)
        # what Java loads at first use it has then
        assert call("spark", command, str(small), str(tmp_path / f"{command}.small"), *given) == 0
        capfd.readouterr()
        before = sorted(tmp_path.iterdir())
        resource.prlimit(spark, resource.RLIMIT_FSIZE, (5_000, unlimited))
        try:
            assert call("spark", command, str(path), str(out), *given) == 2
        finally:
            resource.prlimit(spark, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        said = capfd.readouterr().err
        assert "cannot write (file too large)" in said
        assert not any(word in said for word in PLANTED)
        assert sorted(tmp_path.iterdir()) == before
        assert call("spark", command, str(path), str(tmp_path / f"{command}.parquet"), *given) == 0
        assert len(table(tmp_path / f"{command}.parquet")) == 400
