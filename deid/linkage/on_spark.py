"""The pairs of a table weighed by Splink on Spark: the same pairs with the same weights as on this machine.

The conditions are the same SQL. Functions of DuckDB that Spark has not are asked of DuckDB in Spark's Python workers:
those of Splink's own library for Spark say something else (its Jaro of two equal letters is 0). pyspark is imported
where it is used (extra ``spark``).
"""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deid.base.errors import ConfigError
from deid.base.spark_session import session
from deid.linkage.comparisons import MEASURES

if TYPE_CHECKING:
    import duckdb
    import pyarrow
    from pyspark.sql import SparkSession


def weighed_on_spark(table: pyarrow.Table, settings: Mapping[str, Any], least: float, master: str) -> pyarrow.Table:
    """Return the pairs of rows whose probability is ``least`` or more, as Splink gives them.

    Parameters
    ----------
    table : pyarrow.Table
        Rows with their keys, and ``unique_id``.
    settings : mapping
        Of Splink.
    least : float
    master : str
        Such as ``local[4]``. A session that is there is used as it is.

    Raises
    ------
    ConfigError
        When Spark is not installed, does not start or does not finish.
    """
    from splink import Linker

    with _engine(master) as engine:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException
        from splink.backends.spark import SparkAPI

        logging.getLogger("splink").setLevel(logging.ERROR)
        _register(engine)
        api = SparkAPI(
            spark_session=engine,
            break_lineage_method="persist",
            num_partitions_on_repartition=max(2, engine.sparkContext.defaultParallelism),
            register_udfs_automatically=False,
        )
        try:
            engine.createDataFrame(table).createTempView("mentions")
            linker = Linker(api.register("mentions"), dict(settings), log_level=logging.ERROR, validate_settings=False)
            found = linker.inference.predict(threshold_match_probability=least, warning_mode="never")
            return found.as_pyarrow_table()
        except (PySparkException, Py4JJavaError) as error:  # what Spark says can quote a row
            raise ConfigError(f"Spark could not finish ({type(error).__name__})", "see Spark's own log") from None
        finally:
            for view in engine.catalog.listTables():
                if view.isTemporary:
                    engine.catalog.uncacheTable(view.name)
                    engine.catalog.dropTempView(view.name)


@contextmanager
def _engine(master: str) -> Iterator[SparkSession]:
    """Open a session in which nothing is but ours; Spark ends with it, if it was not there before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of Spark, about pandas
        try:
            from pyspark.sql import SparkSession

            before = SparkSession.getActiveSession()
        except ImportError:
            before = None
        whole = session(master, spark__ui__showConsoleProgress=False) if before is None else before
        if before is None:
            whole.sparkContext.setLogLevel("ERROR")
        try:
            engine = whole.newSession()
            if str(whole.sparkContext.master).startswith("local"):
                engine.conf.set("spark.sql.shuffle.partitions", whole.sparkContext.defaultParallelism)
            yield engine
        finally:
            if before is None:
                whole.stop()


def _register(engine: SparkSession) -> None:
    """Let Spark know the functions by the names that DuckDB has for them."""
    from pyspark.sql import functions

    arrow_udf: Any = functions.arrow_udf  # whose kinds are told at run time

    for name in MEASURES:
        measured = arrow_udf(_measure(name), "double")
        engine.udf.register(name, measured)
        # what sqlglot, through which Splink sends its SQL, makes of the name
        engine.udf.register(name.replace("jaro_winkler", "jarowinkler"), measured)
    engine.sql(
        "create temporary function list_has_any(a array<string>, b array<string>) returns boolean "
        "return arrays_overlap(a, b)"
    )


def _measure(name: str) -> Callable[[pyarrow.Array, pyarrow.Array], pyarrow.Array]:
    """Return what measures two columns of texts, in a worker."""
    import pyarrow

    what = f"select ({MEASURES[name]})::double as x from pairs"  # noqa: S608  (of this package)

    def measure(left: pyarrow.Array, right: pyarrow.Array) -> pyarrow.Array:
        connection = _duckdb()
        connection.register("pairs", pyarrow.table({"a": left, "b": right}))
        try:
            return connection.sql(what).to_arrow_table()["x"].combine_chunks()
        finally:
            connection.unregister("pairs")

    measure.__annotations__ = dict.fromkeys(("left", "right", "return"), pyarrow.Array)  # Spark reads them
    return measure


@functools.cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """Return the database of a worker."""
    import duckdb

    return duckdb.connect(config={"threads": 1})
