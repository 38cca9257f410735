"""Notes of a data warehouse, on Spark: the same results, to the byte, as `deid scrub` with the same key.

A frame goes through `deid.streaming.arrow` in Spark's Python workers (``mapInArrow``). The plan holds where the key is,
never the key. pyspark is imported where it is used (extra ``spark``).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError
from deid.base.keys import KEY_VARIABLE
from deid.base.spark_session import PYTHON_VARIABLE, session
from deid.detection.options import RecognizerOptions
from deid.pipeline.options import PipelineOptions
from deid.streaming.arrow import REJECTED, KeyPlace, ScrubBatch, TagBatch, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

__all__ = ["rejected_rows", "scrub", "scrub_by", "session", "split", "tag", "tag_by", "work_on"]


def scrub(
    df: DataFrame,
    *,
    text: str | None = None,
    id: str | None = None,
    patient: str | None = None,
    key_file: str | Path | None = None,
    timeout: float = 600.0,
    max_document: int = 64 << 20,
    **options: Any,
) -> DataFrame:
    """Replace the PHI in the notes of a frame, which may be a stream.

    Parameters
    ----------
    df : DataFrame
        One row a note. Its columns come out as `deid scrub` writes those of a table: the text scrubbed, the id a
        pseudonym, others keyed pseudonyms or empty unless ``keep`` names them.
    text, id : str, optional
        Columns; by default as they are usually called.
    patient : str, optional
        Column with the patient's id: surrogates are consistent within a patient.
    key_file : str or Path, optional
        File with the site's key, at this place on all machines; by default the variable ``DEID_KEY`` of all
        executors, from a secret, else the user's own file.
    timeout : float
        Seconds that a note may take; 0: any.
    max_document : int
        Characters that a note may have.
    **options
        Those of `PipelineOptions`, such as ``policy="redact"``. Files that they name are at their place on all
        machines.

    Returns
    -------
    DataFrame
        The same columns, and ``rejected``: why a note was left out, null where it was not (`split`).

    Raises
    ------
    DeidError
        When options contradict each other, a column is not there, or the key is not, or stands where Spark logs it.
    """
    work = work_on(df, text, id, timeout, max_document)
    batch = ScrubBatch(key=KeyPlace.of(key_file), options=PipelineOptions(**options, patient_field=patient), **work)
    batch.make()  # what cannot be fulfilled is an error of now, not of the workers
    return scrub_by(df, batch)


def work_on(df: DataFrame, text: str | None, id: str | None, timeout: float, most: int) -> dict[str, Any]:
    """Return what the work on batches is told of a frame; parameters as those of `scrub`."""
    columns = columns_of(df.columns, text, id)
    return {"names": tuple(df.columns), "columns": columns, "timeout": timeout, "max_document": most}


def scrub_by(df: DataFrame, batch: ScrubBatch) -> DataFrame:
    """Return what `scrub` does, for whoever has made the work on a batch.

    Raises
    ------
    ConfigError
        When Spark's configuration holds the key.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    _check_secret(df)
    kinds: dict[str, DataType] = {name: StringType() for name in df.columns}
    kinds |= {field.name: field.dataType for field in df.schema if batch.is_kept(field.name)}
    if batch.columns.spans:
        kinds[batch.columns.spans] = _spans()
    kinds[REJECTED] = StringType()
    _same_python(df)
    return df.mapInArrow(batch.stream, StructType([StructField(name, kind) for name, kind in kinds.items()]))


def tag(
    df: DataFrame,
    *,
    text: str | None = None,
    id: str | None = None,
    patient: str | None = None,
    timeout: float = 600.0,
    max_document: int = 64 << 20,
    **options: Any,
) -> DataFrame:
    """Annotate the PHI in the notes of a frame, which may be a stream.

    Parameters
    ----------
    df, text, id, patient, timeout, max_document
        See `scrub`.
    **options
        Those of `RecognizerOptions`, such as ``model="en"``.

    Returns
    -------
    DataFrame
        All columns as they were, ``spans`` (an array of structs: start, end, label, id, score, attributes; offsets
        count code points) and ``rejected``. It holds the PHI as the notes do.

    Raises
    ------
    DeidError
        When options contradict each other, or a column is not there.
    """
    work = work_on(df, text, id, timeout, max_document)
    batch = TagBatch(options=RecognizerOptions(**options, patient_field=patient), **work)
    batch.make()
    return tag_by(df, batch)


def tag_by(df: DataFrame, batch: TagBatch) -> DataFrame:
    """Return what `tag` does, for whoever has made the work on a batch."""
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [field for field in df.schema if field.name != batch.spans]
    fields += [StructField(batch.spans, _spans()), StructField(REJECTED, StringType())]
    _same_python(df)
    return df.mapInArrow(batch.stream, StructType(fields))


def split(df: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return what `scrub` or `tag` gave in two frames: the notes, and the rejects (id and why).

    Both are made of the same work: persist the frame first, or it is done twice.
    """
    rejects = df.where(df[REJECTED].isNotNull())
    return df.where(df[REJECTED].isNull()).drop(REJECTED), rejects


def rejected_rows(
    df: DataFrame, rejects: DataFrame, *, id: str | None = None, key_file: str | Path | None = None
) -> DataFrame:
    """Return the notes that were left out, to run them again: those of which a table of rejects has the pseudonyms.

    Parameters
    ----------
    df : DataFrame
        The notes that were scrubbed, without ``keep={"id"}``.
    rejects : DataFrame
        What `split` gave.
    id, key_file
        As for `scrub`.
    """
    from pyspark.sql.functions import col, udf

    from deid.pipeline.naming import pseudonym_of_id

    name = columns_of(df.columns, None, id).id
    place = KeyPlace.of(key_file)
    pseudonym = udf(lambda value: None if value is None else pseudonym_of_id(place.load(), str(value)), "string")
    _same_python(df)
    wanted = rejects.select(col(name).alias("_rejected_id")).where(col(name).isNotNull()).distinct()
    return df.join(wanted, pseudonym(df[name]) == wanted["_rejected_id"], "left_semi")


def _spans() -> DataType:
    from pyspark.sql import types as t

    fields: dict[str, DataType] = {"start": t.LongType(), "end": t.LongType(), "label": t.StringType()}
    fields |= {"id": t.StringType(), "score": t.DoubleType()}
    fields["attributes"] = t.ArrayType(t.ArrayType(t.StringType()))
    return t.ArrayType(t.StructType([t.StructField(name, kind) for name, kind in fields.items()]))


def _same_python(df: DataFrame) -> None:
    """Let workers on this machine run this Python, where nobody has said another: Spark takes the first of the path."""
    with suppress(Exception):  # Spark Connect has no context here, and its server chooses
        context = df.sparkSession.sparkContext
        said = os.environ.get(PYTHON_VARIABLE) or context.getConf().get("spark.pyspark.python")
        if not said and str(context.master).startswith("local"):
            context.pythonExec = sys.executable


def _check_secret(df: DataFrame) -> None:
    """Refuse a configuration that holds the key: Spark writes all of it into the event log, and shows it on a page."""
    name = f"spark.executorEnv.{KEY_VARIABLE}"
    if df.sparkSession.conf.get(name, None) is not None:
        raise ConfigError(
            f"{name} puts the key into Spark's event log", "give it by --key-file, or by a secret (docs/spark.md)"
        )
