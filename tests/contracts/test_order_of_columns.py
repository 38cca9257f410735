"""Columns in another order are columns in another order of the release, and nothing else.

Of generalizations that are equally good names and values choose: else two extracts of one table would be recoded
differently, and persons told by what both say. Law, for every command that publishes tables.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest
from test_order_of_rows import PATIENTS, ROLES, call, cohort, patients

from deid.disclosure.methods import METHODS
from deid.transactions.methods import METHODS as CODE_METHODS


def same_for_every_order_of_columns(
    folder: Path, head: str, rows: Sequence[str], command: Callable[[Path, Path], object], *, own: bool = False
) -> None:
    """Run a command on tables of the same columns; what it publishes is compared by the names of its columns.

    With ``own``, the command has an order of its own.
    """
    names = head.strip().split(",")
    cells = [row.strip().split(",") for row in rows]
    mixed = list(range(len(names)))
    random.Random(2).shuffle(mixed)
    seen = []
    for number, order in enumerate((list(range(len(names))), list(reversed(range(len(names)))), mixed)):
        place = folder / str(number)
        (place / "out").mkdir(parents=True)
        lines = [",".join(line[at] for at in order) for line in (names, *cells)]
        (place / "in.csv").write_text("\n".join(lines) + "\n")
        command(place / "in.csv", place / "out")
        written = pd.read_csv(place / "out" / "o.csv", dtype=str, keep_default_na=False)
        assert own or [name for name in (names[at] for at in order) if name in written] == [
            name for name in written if name in names
        ]
        scheme = place / "out" / "scheme.json"
        told = json.loads(scheme.read_text()) if scheme.exists() else {}
        seen.append((written[sorted(written)].to_csv(index=False), {k: told[k] for k in told if k != "columns"}))
    assert seen[0][0].count("\n") > 1
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_tables(tmp_path: Path, method: str) -> None:
    more = ("--l", 2) if method not in ("kk", "cells", "mdav", "r-gather") else ()
    kept = 1.0 if method == "records" else 0.2
    same_for_every_order_of_columns(
        tmp_path,
        PATIENTS,
        patients(),
        lambda table, out: call(
            *("anonymize", table, *ROLES, "--k", 3, *more, "--method", method, "--suppression", kept),
            *("-o", out / "o.csv"),
        ),
    )


@pytest.mark.parametrize("schemed", [False, True])
@pytest.mark.parametrize("method", ["local", "mondrian"])
def test_tables_of_visits(tmp_path: Path, method: str, schemed: bool) -> None:
    people = patients(20)
    rows = [f"{n % 20},{people[n % 20].strip().rpartition(',')[0]},{('flu', 'gout')[n % 3 == 0]}\n" for n in range(60)]
    head = "who,age,sex,zip,dx\n"
    asked = ("--qi", "age,sex,zip", "--sensitive", "dx", "--person", "who", "--k", 3, "--persons-as-given")
    scheme = tmp_path / "scheme.json"
    (tmp_path / "first.csv").write_text(head + "".join(rows))
    first = ("anonymize", tmp_path / "first.csv", *asked, "--method", method)
    call(*first, "-o", tmp_path / "first-o.csv", "--save-scheme", scheme)
    by = ("--scheme", scheme, "--suppression", 0.9) if schemed else ("--method", method)
    same_for_every_order_of_columns(
        tmp_path, head, rows, lambda table, out: call("anonymize", table, *asked, *by, "-o", out / "o.csv")
    )


def test_tables_on_disk(tmp_path: Path) -> None:
    def release(table: Path, out: Path) -> None:
        pd.read_csv(table, dtype=str).to_parquet(table.with_suffix(".parquet"))
        asked = ("--k", 3, "--method", "mondrian", "--memory", "1G", "--each-row-a-person", "-o", out / "o.parquet")
        call("anonymize", table.with_suffix(".parquet"), *ROLES, *asked)
        pd.read_parquet(out / "o.parquet").to_csv(out / "o.csv", index=False)

    same_for_every_order_of_columns(tmp_path, PATIENTS, patients(), release)


def test_perturbed_tables(tmp_path: Path) -> None:
    steps = ("--round", "age=5", "--swap", "zip=0.3")
    same_for_every_order_of_columns(
        tmp_path,
        PATIENTS,
        patients(),
        lambda table, out: call("perturb", table, *ROLES, *steps, "--persons-as-given", "-o", out / "o.csv"),
    )


@pytest.mark.parametrize("method", CODE_METHODS)
def test_codes(tmp_path: Path, method: str) -> None:
    (tmp_path / "utility").write_text("250.*\n401.*\n493.*\n")
    (tmp_path / "rules").write_text("250.00 -> 042\n493.* -> 042\n")
    more: tuple[object, ...] = ()
    if method in ("ugaclip", "cba", "coat"):
        more = ("--utility", tmp_path / "utility")
    elif method == "rbat":
        more = ("--ps-rules", tmp_path / "rules", "--confidence", 0.8)
    elif method in ("coherence", "suppress-control", "top-down-control"):
        more = ("--sensitive-codes", "042")
    elif method == "relational":
        more = ("--qi", "sex")
    more += ("--code-hierarchy", "icd-9-cm") if method != "rbat" else ()
    same_for_every_order_of_columns(
        tmp_path,
        "who,visit,sex,code\n",
        cohort(),
        lambda table, out: call(
            *("codes", "anonymize", table, "--codes", "code", "--person", "who", "--visit", "visit", "--k", 2),
            *("--method", method, *more, "-o", out / "o.csv"),
        ),
        own=True,
    )


@pytest.mark.parametrize("method", ["a-gs", "baseline"])
def test_trajectories(tmp_path: Path, method: str) -> None:
    random_of = random.Random(3)
    rows = [
        f"M{person:03},{random_of.choice(('250.00', '250.10', '401.10', '493.00'))},{random_of.randint(30, 34)},"
        f"{'FM'[person % 2]},{'ACGT'[person % 4]}{person % 3}\n"
        for person in range(30)
        for _ in range(random_of.randint(1, 4))
    ]
    asked = ("--code-hierarchy", "icd-9-cm", "--attach", "dna", "--sensitive-column", "sex", "--l", 2)
    same_for_every_order_of_columns(
        tmp_path,
        "who,code,age,sex,dna\n",
        rows,
        lambda table, out: call(
            *("trajectories", "anonymize", table, "-o", out / "o.csv", "--person", "who", "--k", 3),
            *("--method", method, *asked),
        ),
        own=True,
    )


NOISE = ("--epsilon", 1, "--not-private-seed", 1)


@pytest.mark.parametrize(
    "command",
    [
        ("cube", "TABLE", "--dims", "age,sex", "--domain", "age=0..99/10", "--domain", "sex=F,M"),
        ("query", "TABLE", "SELECT MEAN(age) GROUP BY sex", "--domain", "age=0..99/10", "--domain", "sex=F,M"),
        ("keys", "TABLE", "--column", "dx", "--keys-delta", 1e-3),
    ],
    ids=lambda words: words[0],
)
def test_counts_with_test_noise(tmp_path: Path, command: tuple[object, ...]) -> None:
    suffix = {"keys": ".toml"}.get(str(command[0]), ".csv")

    def count(table: Path, out: Path) -> None:
        said = [table if word == "TABLE" else word for word in command]
        call(*said, *NOISE, "-o", out / f"o{suffix}")
        if suffix != ".csv":
            (out / "o.csv").write_text("found\n" + (out / f"o{suffix}").read_text().replace(",", " ").replace('"', ""))

    same_for_every_order_of_columns(tmp_path, PATIENTS, patients(), count, own=True)
