"""Verifiers of tables on disk: what a published table reaches, by group-by in DuckDB."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.base.nearest import check_named
from deid.disclosure.assessment import Finding, Requirements
from deid.disclosure.classes import NONE_SENSITIVE, Verdict
from deid.disclosure.disk_table import DiskTable, open_disk_table, sql_name
from deid.disclosure.privacy import TOLERANCE
from deid.disclosure.schema import Schema
from deid.table.column_types import numbers_kept_as_text
from deid.table.microdata import SUPPRESSED, Microdata

OF_A_CLASS = ("k", "l", "entropy_l", "c", "alpha")
"""Models of a class alone, which parts of a table can keep each for itself."""
_TOLD = (*OF_A_CLASS, "t", "beta", "distance")
"""Models that are verified by group-by."""


def assess_on_disk(
    source: str | Path, schema: Schema, asked: Requirements, folder: Path, *, memory: int, table: str | None = None
) -> list[Finding]:
    """Run verifiers on a published table of Parquet or of a database, in bounded memory.

    Parameters
    ----------
    source, table
        As those of `deid.disclosure.disk_table.open_disk_table`.
    schema : Schema
        Which columns are quasi-identifiers and sensitive; every row counts as a person.
    asked : Requirements
        Of these: k, l, entropy_l, alpha, t (with equal distances), beta.
    folder : Path
        An existing folder for what does not fit into memory.
    memory : int
        Bytes, roughly, that may be used.

    Returns
    -------
    list of Finding
        As `deid.disclosure.assessment.assess` has them, without rows that decide.

    Raises
    ------
    ConfigError, InputError
        When a column is not there, or something is asked for that is not told so.
    """
    refuse_unknown(asked, _TOLD, "is not told of a table on disk")
    require(asked.c is None, "recursive diversity is not told of a table on disk", "leave out --c")
    require(schema.person is None, "rows of one person cannot be told in a table on disk", "leave out --person")
    qi = [name for name, column in schema.columns.items() if column.role == "quasi-identifier"]
    sensitive = [name for name, column in schema.columns.items() if column.role == "sensitive"]
    require(qi, "the table has no quasi-identifier", "name the columns that identify together")
    with open_disk_table(source, memory, folder, table=table) as found:
        check_named(found.names, [*qi, *sensitive])
        return levels_of(found, qi, sensitive, asked)


def refuse_unknown(asked: Requirements, known: Sequence[str], what: str) -> None:
    """Refuse levels that are not among those that are known."""
    own = [name for name in vars(asked) if name in Requirements.__dataclass_fields__ and name not in known]
    odd = [name for name in own if getattr(asked, name) is not None and name != "distance"]
    if odd:
        raise ConfigError(f"{odd[0].replace('_', '-')} {what}", f"known: {', '.join(known)}")
    if asked.t is not None and asked.distance != "equal":
        raise ConfigError(f"the distance {asked.distance} {what}", "use --distance equal")


def levels_of(table: DiskTable, qi: Sequence[str], sensitive: Sequence[str], asked: Requirements) -> list[Finding]:
    """Return what an open table reaches of the columns and levels that are asked for; see `assess_on_disk`.

    Raises
    ------
    ConfigError
        When something is asked of sensitive columns, and there are none.
    """

    kinds = {name: kind for name, kind, *_ in table.ask("DESCRIBE source")}

    def shown(name: str) -> str:
        """Return a cell as the verifiers in memory compare it: as text, nothing where it is empty."""
        missing = "nan" if kinds[name] in ("FLOAT", "DOUBLE") else ""
        return f"NULLIF(CAST({sql_name(name)} AS VARCHAR), '{missing}')"

    keys = ", ".join(f"{shown(name)} AS q{at}" for at, name in enumerate(qi))
    names = ", ".join(f"q{at}" for at in range(len(qi)))
    k = table.ask(f"SELECT min(n) FROM (SELECT {keys}, count(*) AS n FROM source GROUP BY ALL)")[0][0]
    findings = [Finding("k-anonymity", "", asked.k, _least(k, asked.k))]
    require(sensitive or not asked.about_values, *NONE_SENSITIVE)
    for name in sensitive:
        _keep_meanings(table, shown(name))
        table.ask(
            f"CREATE OR REPLACE TEMP TABLE counted AS SELECT {keys}, m AS s, count(*) AS n"
            f" FROM source JOIN meanings ON {shown(name)} = v GROUP BY ALL"
        )
        whole = "SELECT s, sum(n) / (SELECT sum(n) FROM counted) AS share FROM counted GROUP BY s"
        shares = f"SELECT *, sum(n) OVER (PARTITION BY {names}) AS known FROM counted"
        distinct, entropy, most, distance, gain = table.ask(
            f"WITH whole AS ({whole}), each AS ("
            f" SELECT {names}, count(*) AS l, any_value(known) AS known, sum(n * ln(n)) AS bits,"
            "  max(n / known) AS most, sum(greatest(n / known - share, 0)) AS distance,"
            "  max((n / known - share) / share) AS gain"
            f" FROM ({shares}) JOIN whole USING (s) GROUP BY {names})"
            " SELECT min(l), exp(min(ln(known) - bits / known)), max(most), max(distance), max(gain) FROM each"
        )[0]
        if distinct is None:  # nothing is recorded, so nothing can be disclosed
            distinct, entropy, most, distance, gain = math.inf, math.inf, 0.0, 0.0, 0.0
        share = _greatest(most, asked.alpha)
        both = Verdict(share.ok and _least(k, asked.k).ok, (float(most), float(k)), ())
        bound = None if asked.alpha is None else (asked.alpha, float(asked.k or 1))
        findings += [
            Finding("distinct l-diversity", name, asked.l, _least(distinct, asked.l)),
            Finding("entropy l-diversity", name, asked.entropy_l, _least(entropy, asked.entropy_l)),
            Finding("(alpha,k)-anonymity", name, bound, both),
            Finding("t-closeness (equal)", name, asked.t, _greatest(distance, asked.t)),
            Finding("beta-likeness", name, asked.beta, _greatest(max(gain, 0.0), asked.beta)),
        ]
        if asked.c is not None:
            findings.append(_recursive(table, names, name, asked.c, 2 if asked.l is None else asked.l))
    return findings


def _keep_meanings(table: DiskTable, shown: str) -> None:
    """Keep what each value of a sensitive column means, as table ``meanings``; see `Microdata.meanings`."""
    import pyarrow

    values = [value for (value,) in table.ask(f"SELECT DISTINCT {shown} FROM source") if value is not None]
    codes = np.empty(0, np.int32)
    if values:
        frame = pd.DataFrame({"v": pd.Categorical(values)})
        codes = Microdata(frame, {}, kinds=numbers_kept_as_text(frame)).meanings("v").codes
    kept = [at for at, (value, code) in enumerate(zip(values, codes, strict=True)) if value != SUPPRESSED and code >= 0]
    table.ask("DROP TABLE IF EXISTS meanings")
    table.keep("meanings", {"v": pyarrow.array([values[at] for at in kept], pyarrow.string()), "m": codes[kept]})


def _recursive(table: DiskTable, names: str, column: str, c: float, l: int) -> Finding:  # noqa: E741
    """Return whether the most frequent value of every class is rarer than c times the l-th and rarer ones together."""
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {names} ORDER BY n DESC) AS r FROM counted"
    level = table.ask(
        "SELECT max(level) FROM (SELECT max(n) / nullif(sum(CASE WHEN r >= ? THEN n ELSE 0 END), 0) AS level, count(*)"
        f" FROM ({ranked}) GROUP BY {names})",
        l,
    )[0][0]
    short = table.ask(f"SELECT count(*) FROM (SELECT 1 FROM counted GROUP BY {names} HAVING count(*) < ?)", l)[0][0]
    reached = math.inf if short or level is None else float(level)
    return Finding(f"recursive (c,{l})-diversity", column, c, Verdict(reached < c, reached, ()))


def _least(level: float, bound: float | None) -> Verdict:
    return Verdict(bound is None or level >= bound * (1 - TOLERANCE), float(level), ())


def _greatest(level: float, bound: float | None) -> Verdict:
    return Verdict(bound is None or level <= bound * (1 + TOLERANCE) + 1e-15, float(level), ())
