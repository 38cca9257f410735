"""A table of Parquet, scrubbed or annotated on Spark into a new one that appears whole, beside what was left out."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError, InputError, OutputError, require
from deid.base.files import FULL, part_folder
from deid.pipeline import Pipeline
from deid.pipeline.batch import WITHOUT_PATIENT, telling
from deid.pipeline.options import PipelineOptions
from deid.streaming.arrow import REJECTED, ScrubBatch
from deid.streaming.spark import session, split

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class ParquetPlaces:
    """Where a table of Parquet is, and where a new one goes.

    Parameters
    ----------
    source, target : Path
        File or folder of Parquet, and the new folder.
    files : sequence of (str, Path)
        Those of the table, by relative path.
    """

    source: Path
    target: Path
    files: Sequence[tuple[str, Path]]

    @classmethod
    def checked(cls, source: Path, target: Path) -> ParquetPlaces:
        """Look at the places.

        Raises
        ------
        InputError
            When there is no Parquet.
        OutputError
            When something is there where the new table or its rejects shall be.
        """
        root = source.parent if source.is_file() else source
        found = [source] if source.is_file() else [path for path in source.rglob("*.parquet") if path.is_file()]
        require(found, "there is no Parquet here", "name a file or folder of Parquet", str(source), kind=InputError)
        made = cls(source, target, [(path.relative_to(root).as_posix(), path) for path in sorted(found)])
        for place in (target, made.rejects):
            if place.exists() or place.is_symlink():
                raise OutputError("this exists already", "name a new OUT; nothing is ever overwritten", str(place))
        return made

    @property
    def rejects(self) -> Path:
        """Where what was left out is listed."""
        return self.target.with_name(f"{self.target.name}.rejects")

    @contextmanager
    def opened(self, master: str | None) -> Iterator[tuple[DataFrame, Path]]:
        """Open the table, and a hidden folder for `write_counted`; what is in it gets its name when all went well."""
        with warnings.catch_warnings(), part_folder(self.target) as part:
            warnings.simplefilter("ignore", FutureWarning)  # of Spark, about pandas, which nothing here uses
            engine = session(master, spark__ui__showConsoleProgress=sys.stderr.isatty())
            engine.sparkContext.setLogLevel("ERROR")
            yield engine.read.option("__globPaths__", "false").parquet(f"file://{self.source.absolute()}"), part
            for place in (path for path in part.rglob("*") if path.is_file()):
                place.chmod(0o600)
            (part / "notes").rename(self.target)
            if (part / "rejects").exists():
                (part / "rejects").rename(self.rejects)


def without_patient(said: PipelineOptions) -> Column:
    """Return what is true of a row that does not tell its patient."""
    from pyspark.sql import functions as sql

    nobody = sql.lit(not (said.patients or said.patient_pattern or said.patient_text))
    if said.patient_field is not None:
        nobody = nobody & (sql.coalesce(sql.col(said.patient_field), sql.lit("")) == "")
    return nobody


def remarks(counted: Mapping[str, int], batch: ScrubBatch, pipeline: Pipeline) -> tuple[list[str], dict[str, Any]]:
    """Return what whoever scrubbed a table must know (`write_counted`), and the figures."""
    told = [*pipeline.notes]
    names = [name for name in batch.names if name not in batch.columns.own()]
    fields = dict.fromkeys(pipeline.field_names.telling(names), counted["notes"])
    if fields:
        told.insert(0, f"{sum(fields.values())} {telling(fields)}")
    if counted["alone"] and pipeline.applied is not None and pipeline.applied.per_person:
        told.insert(0, f"{counted['alone']} {WITHOUT_PATIENT}")
    if counted["twice"]:
        told.insert(0, f"{counted['twice']} rows have an id that another has: the surrogates of both are alike")
    figures = {str(number): count for number, count in fields.items()}
    return told, {"ids_twice": counted["twice"], "without_patient": counted["alone"], "telling_fields": figures}


def write_counted(frame: DataFrame, name: str, part: Path, nobody: Column | None = None) -> dict[str, int]:
    """Write notes and rejects into a folder, and count them; each note is worked on once.

    Parameters
    ----------
    frame : DataFrame
        What `deid.streaming.spark.scrub` or ``tag`` gave.
    name : str
        Column with the ids.
    part : Path
        Folder for ``notes`` and ``rejects``; equal runs give equal folders.
    nobody : Column, optional
        What is true of a note that does not tell its patient.

    Returns
    -------
    dict of str to int
        ``notes`` and ``rejects`` that were written; ``alone``: notes of nobody; ``twice``: those whose id another has.

    Raises
    ------
    ConfigError
        When Spark could not finish.
    OutputError
        When there is no room to write.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark import StorageLevel
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sql

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
