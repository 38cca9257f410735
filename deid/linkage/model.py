"""The model of a table: how much each level of each comparison says, learnt and applied by Splink (extra ``link``).

Fellegi and Sunter (1969): a pair's weight is log2 of the odds that two rows are one person's, and each comparison adds
log2(m / u). Splink learns u from pairs of rows taken at random and m by expectation maximization (Winkler 2002), and
lets a rare name say more than a common one. What is learnt is rounded, and learnt by one thread, so that the same table
gives the same model and the same weights everywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deid.base.errors import MALFORMED, ConfigError, ModelError, told_as
from deid.base.files import read_text
from deid.base.late import pd
from deid.base.private_folder import PrivateFolder
from deid.linkage.blocking import Block
from deid.linkage.comparisons import DOUBTED, MACROS, MEASURES, OTHER, FieldComparison

if TYPE_CHECKING:
    import duckdb
    import pyarrow

ENOUGH = 200
"""Pairs that exact rules must join before m is learnt."""
_SAMPLE = 1_000_000
_TRAINING = 300_000
"""Pairs from which u, and m in each session, are learnt."""
_COUNTED = 100_000
"""Rows by which pairs of a session are counted: those of all grow with the square of rows."""
_CHUNK = 2_000_000
"""Pairs that are held at a time when they are weighed."""
_RECALL = 0.6
"""Share of all pairs of a person that the sure exact rules are taken to find."""
_SESSIONS: tuple[tuple[str, ...], ...] = (("family", "full_given"), ("birth",), ("number_0",), ("phone",))
"""Columns that are equal in the pairs from which the other comparisons are learnt."""
_PSEUDO = 2_000
"""Pairs that what stands in `deid.linkage.comparisons` of u counts for."""
_LEAST = 1e-7
_DIGITS = 4
_FORM = "deid linkage 1"


@dataclass(frozen=True)
class LinkageModel:
    """What each level of each comparison says.

    Parameters
    ----------
    prior : float
        Probability that two rows taken at random are one person's.
    levels : mapping of str to mapping of str to (float, float)
        By field and label, m and u.
    kinds : mapping of str to str
        Kinds of the columns that it was learnt from.
    """

    prior: float
    levels: Mapping[str, Mapping[str, tuple[float, float]]]
    kinds: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values: no cell of a table."""
        levels = {field: {label: list(both) for label, both in own.items()} for field, own in self.levels.items()}
        return {"form": _FORM, "prior": self.prior, "kinds": dict(self.kinds), "levels": levels}

    @property
    def checksum(self) -> str:
        """Of all that it says."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()

    def to_bytes(self) -> bytes:
        """Return the file of the model: JSON with its checksum."""
        return (json.dumps({**self.as_dict(), "checksum": self.checksum}, indent=2) + "\n").encode()

    def check(self, comparisons: Sequence[FieldComparison]) -> None:
        """Refuse a table that is not compared as the model's was.

        Raises
        ------
        ModelError
            When a comparison or level is another one; names it.
        """
        for one in comparisons:
            if list(self.levels.get(one.field, ())) != one.labels:
                raise ModelError(
                    f"the model says nothing of {one.field!r}, or compares it otherwise",
                    "apply it to a table with the columns of the one it was learnt from, or learn another one",
                )

    @property
    def prior_weight(self) -> float:
        """Weight of two rows before anything is compared."""
        return math.log2(self.prior / (1 - self.prior))

    def weight(self, field: str, label: str) -> float:
        """Return what a level adds to the weight of a pair."""
        m, u = self.levels[field][label]
        return math.log2(m / u)


def read_model(path: Path) -> LinkageModel:
    """Read a model that `LinkageModel.to_bytes` wrote.

    Raises
    ------
    ModelError
        When it cannot be read, or is another file, or was changed.
    """
    hint = "name a file that deid link --save-model wrote"
    text = read_text(path, str(path), ModelError)
    with told_as(ModelError("no model of linkage", hint, str(path)), *MALFORMED):
        content = json.loads(text)
        if content.get("form") != _FORM:
            raise ModelError("no model of linkage, or of another version", hint, str(path))
        levels = {
            field: {label: (float(m), float(u)) for label, (m, u) in own.items()}
            for field, own in content["levels"].items()
        }
        model = LinkageModel(float(content["prior"]), levels, dict(content["kinds"]))
    if content.get("checksum") != model.checksum:
        raise ModelError("the model was changed: its checksum is another", hint, str(path))
    return model


def require_splink() -> None:
    """Refuse to go on without Splink and DuckDB.

    Raises
    ------
    ConfigError
        Names the extra that has them.
    """
    try:
        import duckdb  # noqa: F401
        import splink  # noqa: F401
    except ImportError:
        raise ConfigError(
            "Splink and DuckDB are not installed",
            "run: pip install 'clinical-deid[link]', or link by --method exact",
        ) from None


@contextlib.contextmanager
def _tables(records: pd.DataFrame, threads: int) -> Iterator[tuple[Any, Any]]:
    """Open a database in memory with the records as the table ``mentions``."""
    import duckdb
    from splink.backends.duckdb import DuckDBAPI

    logging.getLogger("splink").setLevel(logging.ERROR)
    columns = _columns(records)
    with PrivateFolder() as spilled:  # not in the folder of the call, where DuckDB would put it
        connection = duckdb.connect(config={"threads": threads, "temp_directory": spilled})
        try:
            for name in MACROS:
                connection.execute(f"create macro {name}(a, b) as {MEASURES[name]}")
            connection.register("given_rows", columns)
            del columns
            connection.execute("create table mentions as select * from given_rows").fetchall()
            connection.unregister("given_rows")
            yield connection, DuckDBAPI(connection=connection)
        finally:
            connection.close()


def _columns(records: pd.DataFrame) -> pyarrow.Table:
    """Return records as the engines take them, each with its place."""
    import pyarrow

    columns = {"unique_id": pyarrow.array(range(len(records)))}
    for name in map(str, records):
        kind = pyarrow.int64() if name.startswith(("place_", "bucket_")) else pyarrow.string()
        whole = pyarrow.list_(kind) if name in ("forms", "families") else kind
        columns[name] = pyarrow.array(records[name], whole, from_pandas=True)
    return pyarrow.table(columns)


def _linker(api: Any, settings: dict[str, Any]) -> Any:
    """Return a linker of the table ``mentions``; Splink need not look for mistakes in settings that are made here."""
    from splink import Linker

    return Linker(api.register("mentions"), settings, log_level=logging.ERROR, validate_settings=False)


def _settings(
    comparisons: Sequence[FieldComparison], model: LinkageModel, blocks: Sequence[Block], factors: Mapping[str, float]
) -> dict[str, Any]:
    def filled(condition: str) -> str:
        return condition.replace("{l}", "_l").replace("{r}", "_r")

    told = []
    for one in comparisons:
        factor = factors.get(one.field, 1.0)
        missing = [f"{name}{side} is null" for name in one.columns for side in ("_l", "_r")]
        missing += [filled(one.missing)] if one.missing else []
        levels: list[dict[str, Any]] = [
            {"sql_condition": " or ".join(missing), "label_for_charts": "missing", "is_null_level": True}
        ]
        for level in one.levels:
            m, u = _powered(*model.levels[one.field][level.label], factor)
            own = {
                "sql_condition": filled(level.condition), "label_for_charts": level.label, "m_probability": m,
                "u_probability": u,
            }  # fmt: skip
            if level.frequency:
                own |= {"tf_adjustment_column": level.frequency, "tf_adjustment_weight": min(factor, 1.0)}
            levels.append(own)
        told.append({"output_column_name": one.field, "comparison_levels": levels})
    return {
        "link_type": "dedupe_only",
        "unique_id_column_name": "unique_id",
        "probability_two_random_records_match": model.prior,
        "comparisons": told,
        "blocking_rules_to_generate_predictions": [block.sql for block in blocks],
        "retain_matching_columns": False,
        "retain_intermediate_calculation_columns": False,
        "em_convergence": 0.0005,
    }


def _powered(m: float, u: float, factor: float) -> tuple[float, float]:
    """Return m and u of which the weight is ``factor`` times as great, both at most 1."""
    if factor == 1:
        return m, u
    ratio = (u / m) ** factor
    scale = min(m, 1 / ratio)
    return scale, scale * ratio


def default_model(comparisons: Sequence[FieldComparison], prior: float, kinds: Mapping[str, str]) -> LinkageModel:
    """Return the model whose m and u are those of `deid.linkage.comparisons`."""
    levels = {c.field: {level.label: (level.m, level.u) for level in c.levels} for c in comparisons}
    return LinkageModel(prior, levels, kinds)


@dataclass(frozen=True, slots=True)
class Step:
    """What one field adds to the weight of a pair."""

    field: str
    level: str
    """How alike the two values are; ``missing`` where a side says nothing."""
    weight: float
    rarity: float
    """What the value being rarer or more common than most adds to it."""


def steps_of(
    records: pd.DataFrame,
    comparisons: Sequence[FieldComparison],
    model: LinkageModel,
    pair: tuple[int, int],
    factors: Mapping[str, float],
) -> list[Step]:
    """Return what each field says of a pair of rows, the frequencies of values being those of all rows.

    Parameters
    ----------
    records, comparisons, model, factors
        As for `predict`.
    pair : (int, int)
        Places of two rows.
    """
    a, b = sorted(pair)
    block = Block(("unique_id",), 1, f"l.unique_id = {a} and r.unique_id = {b}")
    with _tables(records, 1) as (connection, api):
        settings = _settings(comparisons, model, [block], factors)
        settings |= {"retain_intermediate_calculation_columns": True, "retain_matching_columns": True}
        linker = _linker(api, settings)
        found = linker.inference.predict(warning_mode="never")
        row = connection.sql(f"from {found.physical_name}").to_arrow_table().to_pylist()[0]
    told = []
    for one in comparisons:
        place = int(row[f"gamma_{one.field}"])
        level = "missing" if place < 0 else one.labels[len(one.levels) - 1 - place]
        told.append(
            Step(one.field, level, float(row[f"mw_{one.field}"]), float(row.get(f"mw_tf_adj_{one.field}") or 0.0))
        )
    return told


def learn(
    records: pd.DataFrame,
    comparisons: Sequence[FieldComparison],
    kinds: Mapping[str, str],
    persons: Sequence[int],
    *,
    seed: int,
) -> LinkageModel:
    """Learn the model of a table.

    Parameters
    ----------
    records : pandas.DataFrame
        As `deid.linkage.comparisons.with_keys` gives them, in an order that their content decides.
    comparisons : sequence of Comparison
    kinds : mapping of str to str
        Kinds of the table's columns.
    persons : sequence of int
        Persons that the sure exact rules found: of pairs at random none should be one person's.
    seed : int
        Of the sample.
    """
    rows = len(records)
    sizes = np.unique(np.asarray(persons), return_counts=True)[1]
    joined = int((sizes * (sizes - 1) // 2).sum())
    prior = min(0.1, max(joined / _RECALL, 1.0) / max(1, rows * (rows - 1) // 2))
    model = default_model(comparisons, _rounded(prior), kinds)
    first = np.unique(np.asarray(persons), return_index=True)[1]
    alone = records.iloc[np.sort(first)]
    with _tables(alone, 1) as (_, api):
        linker = _linker(api, _settings(comparisons, model, (), {}))
        linker.training.estimate_u_using_random_sampling(
            max_pairs=_SAMPLE + 1, seed=seed, min_count_per_level=None, num_chunks=1
        )
        compared = min(_SAMPLE, len(alone) * (len(alone) - 1) // 2)
        model = _taken(model, linker, u=True, share=compared / (compared + _PSEUDO))
    if joined >= ENOUGH:
        with _tables(records, 1) as (_, api):
            linker = _linker(api, _settings(comparisons, model, (), {}))
            for columns in _sessions(records, comparisons):
                linker.training.estimate_parameters_using_expectation_maximisation(
                    " and ".join(f"l.{name} = r.{name}" for name in columns),
                    estimate_without_term_frequencies=True,
                    max_pairs=_TRAINING,
                    record_sample_proportion=min(1.0, _COUNTED / rows),
                )
            model = _taken(model, linker, u=False, share=1.0)
    return model


def _sessions(records: pd.DataFrame, comparisons: Sequence[FieldComparison]) -> list[tuple[str, ...]]:
    """Return the columns of the training sessions that a table has pairs for."""
    fields = {one.field for one in comparisons}
    found: list[tuple[str, ...]] = []
    for columns in _SESSIONS:
        if {"full_given": "given"}.get(columns[-1], columns[-1]) not in fields:
            continue
        sizes = records.groupby(list(columns), sort=False).size().to_numpy()
        if int((sizes * (sizes - 1) // 2).sum()) >= ENOUGH:
            found.append(columns)
    return found


def _taken(model: LinkageModel, linker: Any, *, u: bool, share: float) -> LinkageModel:
    """Return the model with what Splink learnt, rounded; ``share`` is its share against what stood there before."""
    levels: dict[str, dict[str, tuple[float, float]]] = {field: dict(own) for field, own in model.levels.items()}
    for comparison in linker.misc.save_model_to_json()["comparisons"]:
        own = levels[comparison["output_column_name"]]
        for level in comparison["comparison_levels"]:
            if level.get("is_null_level"):
                continue
            m, chance = own[level["label_for_charts"]]
            before = chance if u else m
            learnt = level.get("u_probability" if u else "m_probability")
            if not isinstance(learnt, float) or learnt == before:  # no pair reached it
                learnt = 0.0 if u else before
            least = max(_LEAST, before / 100)
            value = _rounded(min(max(share * learnt + (1 - share) * before, least), 1 - _LEAST))
            own[level["label_for_charts"]] = (m, value) if u else (value, chance)
            if u and level["label_for_charts"] == DOUBTED:
                own[DOUBTED] = (_rounded(value * m / chance), value)
    if not u:
        for own in levels.values():  # to differ never speaks for one person
            for label in own.keys() & {OTHER, DOUBTED}:
                own[label] = (min(own[label]), own[label][1])
    return LinkageModel(model.prior, levels, model.kinds)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def predict(
    records: pd.DataFrame,
    comparisons: Sequence[FieldComparison],
    model: LinkageModel,
    blocks: Sequence[Block],
    *,
    factors: Mapping[str, float],
    least: float,
    threads: int = 1,
    fresh: bool = False,
    master: str | None = None,
) -> pd.DataFrame:
    """Return the pairs of rows whose probability is ``least`` or more.

    Parameters
    ----------
    records, comparisons
        As for `learn`.
    model : LinkageModel
    blocks : sequence of Block
        Which pairs are compared.
    factors : mapping of str to float
        On the weights of fields.
    least : float
    threads : int
    fresh : bool
        Leave out pairs of two known persons.
    master : str, optional
        Where Spark runs that weighs the pairs (`deid.linkage.on_spark`), such as ``local[4]``; by default DuckDB does,
        here.

    Returns
    -------
    pandas.DataFrame
        Columns a, b (places of rows, a below b), weight, probability; sorted.
    """
    if fresh:
        rule = " and (l.known is null or r.known is null)"
        blocks = [Block(block.columns, block.pairs, block.sql + rule) for block in blocks]
    settings = _settings(comparisons, model, blocks, factors)
    if master is not None:
        from deid.linkage.on_spark import weighed_on_spark

        return _chosen(weighed_on_spark(_columns(records), settings, least, master))
    with _tables(records, threads) as (connection, api):
        linker = _linker(api, settings)
        chunks = 1 + sum(block.pairs for block in blocks) // _CHUNK
        found = linker.inference.predict(
            threshold_match_probability=least, num_chunks_left=chunks, num_chunks_right=1, warning_mode="never"
        )
        return _chosen(connection.sql(f"from {found.physical_name}"))


def _chosen(pairs: duckdb.DuckDBPyRelation | pyarrow.Table) -> pd.DataFrame:
    """Return the columns that count of the pairs that Splink weighed, sorted."""
    import duckdb

    relation = pairs if isinstance(pairs, duckdb.DuckDBPyRelation) else duckdb.from_arrow(pairs)
    chosen = relation.project(
        "least(unique_id_l, unique_id_r) as a, greatest(unique_id_l, unique_id_r) as b, "
        "round(match_weight, 6) as weight, match_probability as probability"
    )
    return chosen.order("a, b").to_arrow_table().to_pandas()
