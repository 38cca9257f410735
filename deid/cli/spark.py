"""The commands of Spark: notes of a data warehouse."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, InputError, OutputError
from deid.base.files import FULL, part_folder
from deid.base.options import again, argument, option
from deid.cli.common import EXIT_LEFT_OUT, Summary
from deid.cli.option_groups import OUT, KeyOptions, command
from deid.cli.run_manifest import model_facts, policy_facts
from deid.detection.options import RecognizerOptions
from deid.io.formats import Options
from deid.pipeline.options import PipelineOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROWS = "Rows"
_IN = argument("File or folder of Parquet, on a disk that all machines have.", metavar="IN")
_MASTER = option(None, "Where Spark runs; by default as it is configured, else local[*].", metavar="URL", panel=_ROWS)


@dataclass(frozen=True)
class RowOptions:
    """What rows of notes look like."""

    text_field: str | None = again(Options, "text_field", panel=_ROWS)
    id_field: str | None = again(Options, "id_field", help="Column or field of the id.", panel=_ROWS)
    max_document: int = again(Options, "max_document", panel=_ROWS)
    timeout: float = again(Options, "timeout", panel=_ROWS)

    def work(self, names: list[str]) -> dict[str, Any]:
        """Return what `deid.streaming.arrow` is told of a table with these columns."""
        from deid.streaming.arrow import columns_of

        columns = columns_of(names, self.text_field, self.id_field)
        return {"names": tuple(names), "columns": columns, "timeout": self.timeout, "max_document": self.max_document}


@command
def scrub(
    told: Summary,
    *,
    source: Path = _IN,
    target: Path = OUT,
    master: str | None = _MASTER,
    said: PipelineOptions,
    key: KeyOptions,
    rows: RowOptions,
) -> int | None:
    """Replace the PHI in the notes of a table of Parquet, on Spark.

    OUT is a folder of Parquet with the same columns; each note is that of deid scrub with the same key. What fails is
    left out: OUT.rejects says which (pseudonymous ids) and why, and the exit status is 3. Key, model and files that
    options name must be at the same place on all machines.

    Example: deid spark scrub in.parquet out.parquet --patient-field person_id
    """
    from deid.base.keys import load_key
    from deid.streaming.arrow import KeyPlace, ScrubBatch
    from deid.streaming.spark import scrub_by

    files, rejects = _check(source, target)
    site = KeyPlace.of(key.key_file)
    told.begin(target, load_key(key.key_file, create=False)[0])
    with _notes(source, target, master) as (frame, part):
        batch = ScrubBatch(key=site, options=said, **rows.work(frame.columns))
        pipeline = batch.make()
        nobody = _without_patient(said)
        counted = _write(scrub_by(frame, batch), batch.columns.id, part, nobody)
        _move(part, target, rejects)
    told.extra = {"ids_twice": counted["twice"], "without_patient": counted["alone"]}
    if counted["twice"]:
        told.notes.append(f"{counted['twice']} rows have an id that another has: the surrogates of both are alike")
    if counted["alone"] and pipeline.policy.per_person and said.method == "policy":
        told.notes.append(
            f"{counted['alone']} documents without a patient: their replacements are consistent within each document "
            "only (--patients, --patient-field, --patient-pattern)"
        )
    told.notes += pipeline.notes
    policy = None if said.method != "policy" else policy_facts(pipeline.policy)
    return _finish(told, source, target, files, counted, policy=policy, model=model_facts(pipeline.recognizer))


@command
def tag(
    told: Summary,
    *,
    source: Path = _IN,
    target: Path = OUT,
    master: str | None = _MASTER,
    said: RecognizerOptions,
    rows: RowOptions,
) -> int | None:
    """Annotate the PHI in the notes of a table of Parquet, on Spark.

    OUT is a folder of Parquet with all columns as they are, and spans: an array of structs, those of deid tag. It holds
    the PHI as IN does, and only you may read it. What fails is left out: OUT.rejects has the ids and why, and the exit
    status is 3. Model and files that options name must be at the same place on all machines.

    Example: deid spark tag in.parquet tagged.parquet --model en
    """
    from deid.streaming.arrow import TagBatch
    from deid.streaming.spark import tag_by

    files, rejects = _check(source, target)
    told.begin(target)
    with _notes(source, target, master) as (frame, part):
        batch = TagBatch(options=said, **rows.work(frame.columns))
        tagging = batch.make()
        counted = _write(tag_by(frame, batch), batch.columns.id, part)
        _move(part, target, rejects)
    told.extra = {"ids_twice": counted["twice"]}
    return _finish(told, source, target, files, counted, model=model_facts(tagging.recognizer), private=True)


def _check(source: Path, target: Path) -> tuple[list[tuple[str, Path]], Path]:
    """Return the files of IN, and where the rejects go; refuse an OUT that is there."""
    files = _files(source)
    rejects = target.with_name(f"{target.name}.rejects")
    for place in (target, rejects):
        if place.exists() or place.is_symlink():
            raise OutputError("this exists already", "name a new OUT; nothing is ever overwritten", str(place))
    return files, rejects


@contextmanager
def _notes(source: Path, target: Path, master: str | None) -> Iterator[tuple[DataFrame, Path]]:
    """Open the notes of IN, and a hidden folder beside OUT for what comes of them."""
    from deid.streaming import spark

    with warnings.catch_warnings(), part_folder(target) as part:
        warnings.simplefilter("ignore", FutureWarning)  # of Spark, about pandas, which nothing here uses
        engine = spark.session(master, spark__ui__showConsoleProgress=sys.stderr.isatty())
        engine.sparkContext.setLogLevel("ERROR")
        yield engine.read.option("__globPaths__", "false").parquet(f"file://{source.absolute()}"), part


def _move(part: Path, target: Path, rejects: Path) -> None:
    """Give what was written its name, for nobody else to read."""
    for place in (path for path in part.rglob("*") if path.is_file()):
        place.chmod(0o600)
    (part / "notes").rename(target)
    if (part / "rejects").exists():
        (part / "rejects").rename(rejects)


def _finish(
    told: Summary, source: Path, target: Path, files: list[tuple[str, Path]], counted: dict[str, int], **facts: Any
) -> int | None:
    """Tell what was done, and write the manifest; return the exit status."""
    told.documents, told.left_out = counted["notes"], counted["rejects"]
    beside = {}
    if counted["rejects"]:
        told.places.append(f"what was left out is listed in {target}.rejects")
        beside[".rejects"] = target.with_name(f"{target.name}.rejects")
    told.sign(target, beside=beside, inputs=files, root=source if source.is_dir() else source.parent, **facts)
    return EXIT_LEFT_OUT if counted["rejects"] else None


def _files(source: Path) -> list[tuple[str, Path]]:
    """Return the files of IN by relative path."""
    if source.is_file():
        return [(source.name, source)]
    found = [path for path in source.rglob("*.parquet") if path.is_file()]
    if not found:
        raise InputError("there is no Parquet here", "name a file or folder of Parquet", str(source))
    return [(path.relative_to(source).as_posix(), path) for path in sorted(found)]


def _without_patient(said: PipelineOptions) -> Column:
    """Return what is true of a row that does not tell its patient."""
    from pyspark.sql import functions as sql

    nobody = sql.lit(not (said.patients or said.patient_pattern or said.patient_text))
    if said.patient_field is not None:
        nobody = nobody & (sql.coalesce(sql.col(said.patient_field), sql.lit("")) == "")
    return nobody


def _write(frame: DataFrame, name: str, part: Path, nobody: Column | None = None) -> dict[str, int]:
    """Write notes and rejects, and count them; each note is worked on once. Column ``name`` has the ids."""
    from py4j.protocol import Py4JJavaError
    from pyspark import StorageLevel
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sql

    from deid.streaming.arrow import REJECTED
    from deid.streaming.spark import split

    good = sql.col(REJECTED).isNull()
    alone = sql.lit(False) if nobody is None else nobody
    done = frame.persist(StorageLevel.DISK_ONLY)
    try:
        notes, rejects = split(done)
        notes.write.parquet(f"file://{part.absolute() / 'notes'}")
        ids = sql.count_distinct(sql.when(good, sql.col(name)))
        row = done.agg(sql.count_if(good), sql.count_if(~good), sql.count_if(good & alone), ids).collect()[0]
        written, left, unknown, different = (int(value) for value in row)
        if left:
            rejects.select(name, REJECTED).write.parquet(f"file://{part.absolute() / 'rejects'}")
    except (PySparkException, Py4JJavaError) as error:
        # what Spark says quotes its plan, and what a worker said
        said = str(error)
        known = next((line for line in said.splitlines() if line.startswith("deid.base.errors.")), "")
        full = next((why for why in map(os.strerror, FULL) if why in said), None)
        if full is not None:
            raise OutputError(f"Spark cannot write ({full.lower()})", "free some space, then run again") from None
        what = known.partition(": ")[2] or f"Spark could not finish ({type(error).__name__})"
        raise ConfigError(what, "see Spark's own log; nothing was written") from None
    finally:
        done.unpersist()
    for folder in part.iterdir():
        _tidy(folder)
    return {"notes": written, "rejects": left, "alone": unknown, "twice": written - different}


def _tidy(folder: Path) -> None:
    """Call files by their numbers, and take away what Spark keeps for itself: equal runs give equal folders."""
    parts = sorted(folder.glob("part-*.parquet"))
    for path in {*folder.iterdir()} - {*parts}:
        path.unlink()
    for number, path in enumerate(parts):
        path.rename(folder / f"part-{number:05}.parquet")
