"""Every command on tables reads every kind of table, and writes every kind where it writes one: the same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.cli.commands import COMMANDS, load
from deid.cli.main import app
from deid.table.table_files import read_table
from deid.table.table_writing import write_table

_RNG = np.random.default_rng(3)
_ROWS = 60
FRAME = pd.DataFrame(
    {
        "mrn": [f"M{n:03d}" for n in range(_ROWS)],
        "sex": _RNG.choice(["F", "M"], _ROWS),
        "age": _RNG.integers(20, 60, _ROWS).astype(str),
        "first": _RNG.choice(["Ada", "Ben", "Cleo", "Dan"], _ROWS),
        "surname": _RNG.choice(["Orme", "Pike", "Quill"], _ROWS),
        "dx": _RNG.choice(["E11.9", "I10", "J45"], _ROWS),
        "q1": _RNG.choice(["0", "1"], _ROWS),
        "q2": _RNG.choice(["0", "1"], _ROWS),
    },
    dtype=object,
)


def statistics(writer: str, **options: bool) -> Callable[[pd.DataFrame, Path], str]:
    def write(frame: pd.DataFrame, path: Path) -> str:
        getattr(pytest.importorskip("pyreadstat"), writer)(frame, str(path), **options)
        return str(path)

    return write


def file(frame: pd.DataFrame, path: Path) -> str:
    write_table(frame, path)
    return str(path)


def sqlite(frame: pd.DataFrame, path: Path) -> str:
    with sqlite3.connect(path) as connection:
        frame.to_sql("t", connection, index=False)
    connection.close()
    return f"sqlite:///{path}/t"


READ: dict[str, Callable[[pd.DataFrame, Path], str]] = {
    "csv": file,
    "tsv": file,
    "parquet": file,
    "xlsx": file,
    "xpt": statistics("write_xport"),
    "dta": statistics("write_dta"),
    "sav": statistics("write_sav"),
    "zsav": statistics("write_sav", compress=True),
    "db": sqlite,
}
"""No program here writes .sas7bdat, and .por has names in capitals: `test_statistics_files` reads them."""
FEW = ["csv", "parquet", "sav", "db"]
"""One of each family, which are tried by day; the others with the longer tests."""
WRITTEN = ["csv", "tsv", "parquet", "xlsx", "xpt", "dta", "sav", "zsav", "db", "postgresql"]

DOMAINS = ["--domain", "sex=F,M", "--domain", "age=20..59"]
NOISE = ["--epsilon", "5", "--not-private-seed", "1"]
RELEASE = ["--qi", "sex,age", "--sensitive", "dx", "--drop-rest"]
SITES = ["--text-column", "first", "--text-column", "surname"]
READERS: dict[str, list[str]] = {
    "schema": [],
    "privacy": ["--qi", "sex", "--sensitive", "dx", "--persons-as-given"],
    "risk": ["--qi", "sex,age", "--persons-as-given"],
    "ru-map": [*RELEASE, "--ks", "2", "--methods", "mondrian", "--persons-as-given", "-o", "NEW.svg"],
    "anonymize": [*RELEASE, "--k", "3", "--persons-as-given", "-o", "NEW.csv"],
    "perturb": [*RELEASE, "--round", "age=5", "--persons-as-given", "-o", "NEW.csv"],
    "codes anonymize": ["--codes", "dx", "--k", "2", "--persons-as-given", "--attacked", "0", "-o", "NEW.csv"],
    "codes risk": ["--codes", "dx"],
    "trajectories anonymize": ["--person", "mrn", "--code", "dx", "--age", "age", "--k", "2", "-o", "NEW.csv"],
    "link": ["--method", "exact", "-o", "NEW.csv"],
    "link explain": ["1", "2", "--method", "exact"],
    "link encode": [*SITES, "--key-file", "sites.key", "--ids", "IDS.csv", "-o", "NEW.csv"],
    "cube": ["--dims", "sex,age", *DOMAINS, *NOISE, "-o", "NEW.csv"],
    "query": ["SELECT COUNT(*) GROUP BY sex", *DOMAINS, *NOISE],
    "keys": ["--column", "dx", "--epsilon", "5", "--keys-delta", "0.001", "--not-private-seed", "1", "-o", "NEW.toml"],
    "sequences": ["--periods", "q1,q2", "--domain", "level=0,1", *NOISE, "-o", "NEW.csv"],
    "fidelity": ["synthetic.csv", "--release", "cube.json", "--slice", "sex", *NOISE],
}
WRITERS = [name for name, words in READERS.items() if "NEW.csv" in words and name not in ("cube", "sequences")]
NO_TABLE = {"extract", "write-back", "release", "slice", "survival", "prefixes", "synthesize", "link match", "budget"}
"""Of the panels of tables and counts: what reads notes, a plan, a release or a ledger."""


def run(name: str, place: str, words: list[str], **say: str) -> str:
    said = [say.get(word, word) for word in words]
    result = CliRunner().invoke(app, [*name.split(), place, *said])
    assert not isinstance(result.exception, Exception), result.exception
    assert result.exit_code in (0, 1), result.output
    return result.stdout


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def release_cube() -> None:
    cube = ["--dims", "sex,age", *DOMAINS, *NOISE, "-o", "cube.json"]
    run("cube", file(FRAME, Path("of-cube.csv")), cube)
    run("synthesize", "cube.json", ["-o", "synthetic.csv"])


def test_no_command_on_tables_is_forgotten() -> None:
    rows = {name: row for rows in COMMANDS.values() for name, row in rows.items() if row[0]}
    reading = {
        name
        for name, row in rows.items()
        if not name.startswith("experiment")
        and any(p.name == "table" and p.param_type_name == "argument" for p in load(name.split()[-1], row[0]).params)
    }
    assert reading <= set(READERS) | NO_TABLE
    assert set(READERS) <= reading


@pytest.mark.parametrize("kinds", [pytest.param([*READ], id="all", marks=pytest.mark.slow), FEW], ids=" ".join)
@pytest.mark.parametrize("name", READERS)
def test_a_command_says_the_same_of_every_kind_of_table(name: str, kinds: list[str]) -> None:
    if name == "fidelity":
        release_cube()
    said: dict[str, tuple[str, object]] = {}
    for kind in kinds:
        place = READ[kind](FRAME, Path(f"table-{kind}.{kind}"))
        names = {"NEW": f"new-{kind}", "IDS": f"ids-{kind}"}
        words = [names.get(word[:3], word[:3]) + word[3:] for word in READERS[name]]
        shown = run(name, place, words)
        new = Path(f"new-{kind}.csv")
        written = read_table(new, text=True).to_numpy().tolist() if new.is_file() else None
        said[kind] = ("\n".join(line for line in shown.splitlines() if "manifest" not in line), written)
    # pseudonyms of encoded rows are drawn anew each time
    if name == "link encode":
        said = {kind: (shown, sorted(row[1] for row in rows)) for kind, (shown, rows) in said.items()}  # type: ignore[attr-defined]
    assert {kind for kind, own in said.items() if own != said["csv"]} == set()


@pytest.mark.parametrize("kind", [k if k in FEW else pytest.param(k, marks=pytest.mark.slow) for k in WRITTEN])
@pytest.mark.parametrize("name", [*WRITERS, "synthesize", "link match"])
def test_a_command_writes_the_same_rows_as_every_kind_of_table(
    name: str, kind: str, request: pytest.FixtureRequest
) -> None:
    place = {
        "db": f"sqlite:///{Path('new.db').resolve()}/rows",
        "postgresql": (request.getfixturevalue("postgresql")() if kind == "postgresql" else ""),
    }.get(kind, f"new.{kind}")
    if kind == "postgresql":
        head, _, tail = place.partition("?")
        place = f"{head}/rows?{tail}" if tail else f"{head}/rows"
    source = file(FRAME, Path("table.csv"))
    words = READERS.get(name, ["-o", "NEW.csv"])
    if name == "link encode" and kind in ("xpt", "dta", "sav", "zsav"):
        # the column of filters says in its name how they were made, with signs that these files have in none
        with pytest.raises(AssertionError, match=r"the name of the column 'clk-.* is none"):
            run(name, source, words, **{"NEW.csv": place, "IDS.csv": "ids.csv"})
        return
    if name == "synthesize":
        release_cube()
        source = "cube.json"
    if name == "link match":
        for site in "ab":
            run(
                "link encode",
                source,
                READERS["link encode"],
                **{"NEW.csv": f"{site}.csv", "IDS.csv": f"{site}-ids.csv"},
            )
        source, words = "a.csv", ["b.csv", *words]
    found: list[pd.DataFrame] = []
    for own in ("plain.csv", place):
        run(name, source, words, **{"NEW.csv": own, "IDS.csv": f"ids-{len(found)}.csv"})
        frame = read_table(own, text=True)
        found.append(frame.astype(object).where(frame.notna(), None))
    if name == "link encode":
        found = [frame.iloc[:, 1:].sort_values(frame.columns[1], ignore_index=True) for frame in found]
    if name == "link match":
        found = [frame.assign(dice=frame["dice"].astype(float)) for frame in found]
    assert list(found[0].columns) == list(found[1].columns)
    assert found[0].to_numpy().tolist() == found[1].to_numpy().tolist()
    assert proved(place)
    if kind == "db":
        assert not proved("new.db.rows")  # nothing was compared
        for change in ("DELETE FROM rows WHERE rowid = 1", "DROP TABLE rows"):
            with sqlite3.connect("new.db") as connection:
                connection.execute(change)
            connection.close()
            assert not proved(place)


def proved(place: str) -> bool:
    result = CliRunner().invoke(app, ["manifest", "verify", place])
    assert not isinstance(result.exception, Exception), result.exception
    return result.exit_code == 0
