"""The commands of Spark: notes of a data warehouse."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import ConfigError, InputError, OutputError
from deid.base.files import part_folder
from deid.base.options import argument, option, size_of
from deid.cli.common import EXIT_LEFT_OUT, Summary
from deid.cli.option_groups import OUT, KeyOptions, command
from deid.cli.run_manifest import model_facts, policy_facts
from deid.pipeline.options import PipelineOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deid.streaming.arrow import ScrubBatch

_ROWS = "Rows"


@dataclass(frozen=True)
class RowOptions:
    """What rows of notes look like."""

    PANEL: ClassVar[str] = _ROWS
    text_field: str | None = option(None, "Column or field of the text.", "--text-field", "--text", repr=False)
    id_field: str | None = option(None, "Column or field of the id.", "--id-field", "--id", repr=False)
    max_document: int = option(
        64 << 20, "Leave out larger documents: bytes, or with K, M, G (64M).", metavar="SIZE", read=size_of
    )
    timeout: float = option(600.0, "Most seconds for a document; 0: any.", metavar="S")


@command
def scrub(
    told: Summary,
    *,
    source: Path = argument("File or folder of Parquet, on a disk that all machines have.", metavar="IN"),
    target: Path = OUT,
    master: str | None = option(
        None, "Where Spark runs; by default as it is configured, else local[*].", metavar="URL", panel=_ROWS
    ),
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
    from deid.streaming import spark
    from deid.streaming.arrow import KeyPlace, ScrubBatch, columns_of

    files = _files(source)
    rejects = target.with_name(f"{target.name}.rejects")
    for place in (target, rejects):
        if place.exists() or place.is_symlink():
            raise OutputError("this exists already", "name a new OUT; nothing is ever overwritten", str(place))
    site = KeyPlace.of(key.key_file)
    told.begin(target, load_key(key.key_file, create=False)[0])
    with warnings.catch_warnings(), part_folder(target) as part:
        warnings.simplefilter("ignore", FutureWarning)  # of Spark, about pandas, which nothing here uses
        engine = spark.session(master, spark__ui__showConsoleProgress=sys.stderr.isatty())
        engine.sparkContext.setLogLevel("ERROR")
        frame = engine.read.option("__globPaths__", "false").parquet(f"file://{source.absolute()}")
        batch = ScrubBatch(
            names=tuple(frame.columns),
            columns=columns_of(frame.columns, rows.text_field, rows.id_field),
            timeout=rows.timeout,
            max_document=rows.max_document,
            key=site,
            options=said,
        )
        pipeline = batch.make()
        counted = _write(spark.scrub_by(frame, batch), batch, part)
        (part / "notes").rename(target)
        if counted["rejects"]:
            (part / "rejects").rename(rejects)
    told.documents, told.left_out = counted["notes"], counted["rejects"]
    told.extra = {"ids_twice": counted["twice"], "without_patient": counted["alone"]}
    if counted["twice"]:
        told.notes.append(f"{counted['twice']} rows have an id that another has: the surrogates of both are alike")
    if counted["alone"] and pipeline.policy.per_person and said.method == "policy":
        told.notes.append(
            f"{counted['alone']} documents without a patient: their replacements are consistent within each document "
            "only (--patients, --patient-field, --patient-pattern)"
        )
    told.notes += pipeline.notes
    if counted["rejects"]:
        told.places.append(f"what was left out is listed in {rejects}")
    told.sign(
        target,
        inputs=files,
        root=source if source.is_dir() else source.parent,
        policy=None if said.method != "policy" else policy_facts(pipeline.policy),
        model=model_facts(pipeline.recognizer),
    )
    return EXIT_LEFT_OUT if counted["rejects"] else None


def _files(source: Path) -> list[tuple[str, Path]]:
    """Return the files of IN by relative path."""
    if source.is_file():
        return [(source.name, source)]
    found = [path for path in source.rglob("*.parquet") if path.is_file()]
    if not found:
        raise InputError("there is no Parquet here", "name a file or folder of Parquet", str(source))
    return [(path.relative_to(source).as_posix(), path) for path in sorted(found)]


def _write(frame: DataFrame, batch: ScrubBatch, part: Path) -> dict[str, int]:
    """Write notes and rejects, and count them; each note is worked on once."""
    from py4j.protocol import Py4JJavaError
    from pyspark import StorageLevel
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sql

    from deid.streaming.arrow import REJECTED
    from deid.streaming.spark import split

    said, good = batch.options, sql.col(REJECTED).isNull()
    nobody = sql.lit(not (said.patients or said.patient_pattern))
    if said.patient_field is not None:
        nobody = nobody & (sql.coalesce(sql.col(said.patient_field), sql.lit("")) == "")
    done = frame.persist(StorageLevel.DISK_ONLY)
    try:
        notes, rejects = split(done)
        notes.write.parquet(f"file://{part.absolute() / 'notes'}")
        ids = sql.count_distinct(sql.when(good, sql.col(batch.columns.id)))
        row = done.agg(sql.count_if(good), sql.count_if(~good), sql.count_if(good & nobody), ids).collect()[0]
        written, left, alone, different = (int(value) for value in row)
        if left:
            rejects.select(batch.columns.id, REJECTED).write.parquet(f"file://{part.absolute() / 'rejects'}")
    except (PySparkException, Py4JJavaError) as error:
        # what Spark says quotes its plan, and what a worker said
        told = str(error)
        known = next((line for line in told.splitlines() if line.startswith("deid.base.errors.")), "")
        what = known.partition(": ")[2] or f"Spark could not finish ({type(error).__name__})"
        raise ConfigError(what, "see Spark's own log; nothing was written") from None
    finally:
        done.unpersist()
    for folder in part.iterdir():
        _tidy(folder)
    return {"notes": written, "rejects": left, "alone": alone, "twice": written - different}


def _tidy(folder: Path) -> None:
    """Call files by their numbers, and take away what Spark keeps for itself: equal runs give equal folders."""
    parts = sorted(folder.glob("part-*.parquet"))
    for path in {*folder.iterdir()} - {*parts}:
        path.unlink()
    for number, path in enumerate(parts):
        path.rename(folder / f"part-{number:05}.parquet")
