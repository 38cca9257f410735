"""Spark as the rooms that use it start it; pyspark is imported where it is used (extra ``spark``)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from deid.base.errors import ConfigError, told_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYTHON_VARIABLE = "PYSPARK_PYTHON"
"""Environment variable with the Python of Spark's workers."""
_BATCH_ROWS = 500
"""Rows of a record batch: ten thousand, as Spark has it, are much memory for long notes."""


def session(master: str | None = None, **config: str | int | bool) -> SparkSession:
    """Return a session for notes: the one that there is, else a new one.

    On this machine, workers run the Python of this process, and nothing listens but on the loopback interface.

    Parameters
    ----------
    master : str, optional
        Such as ``local[4]`` or ``spark://host:7077``; by default as Spark is configured, else ``local[*]``.
    **config
        Of Spark, dots as two underscores: ``spark__sql__shuffle__partitions=8``.

    Raises
    ------
    ConfigError
        When Spark is not installed, cannot start, or its configuration holds the key.
    """
    with told_as(
        ConfigError("Spark is not installed", "pip install 'clinical-deid[spark]', and Java 17 or newer"), ImportError
    ):
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    place = master or os.environ.get("SPARK_MASTER") or os.environ.get("MASTER")
    builder = SparkSession.builder.appName("deid")
    if place:
        builder = builder.master(place)
    if place is None or place.startswith("local"):
        os.environ.setdefault(PYTHON_VARIABLE, sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", _BATCH_ROWS)
    for name, value in config.items():
        builder = builder.config(name.replace("__", "."), value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise ConfigError(
            f"Spark does not start ({type(error).__name__})", "it needs Java 17 or newer: java -version"
        ) from None
