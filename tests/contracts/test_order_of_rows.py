"""The order of a table tells who is who: whoever knows it knows each row of a release that keeps it.

Law, for every command that publishes tables, cohorts or genomes: rows in another order change nothing that it writes.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.base.errors import DeidError
from deid.base.noted import noted_place
from deid.cli.main import app
from deid.disclosure.methods import METHODS
from deid.dp.methods import METHODS as CUBE_METHODS
from deid.transactions.methods import METHODS as CODE_METHODS

Rows = list[str]


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, DeidError):
        raise result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.stdout


def orders(rows: Sequence[str]) -> list[Rows]:
    """The rows as they are, backwards, and shuffled."""
    mixed = list(rows)
    random.Random(1).shuffle(mixed)
    return [list(rows), list(reversed(rows)), mixed]


def written(folder: Path) -> dict[str, object]:
    """What a command wrote: tables as bytes; what is told beside them but times, ids and checksums of the input."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name.endswith("manifest.json"):
            left = ("inputs", "outputs", "tree")  # the files themselves are compared
            run = json.loads(path.read_text())["run"]  # what equal runs have in common
            run["results"].pop("request", None)
            found[name] = {k: v for k, v in run.items() if k not in left}
        elif path.name.endswith(".json"):
            values = json.loads(path.read_text())
            times = ("cpu_seconds", "command", "request", "release")
            found[name] = {k: v for k, v in values.items() if k not in times} if isinstance(values, dict) else values
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def same_for_every_order(
    folder: Path, head: str, rows: Sequence[str], command: Callable[[Path, Path], None], suffix: str = ".csv"
) -> None:
    """Run a command on tables of the same rows; it gets the table and an empty folder."""
    seen = []
    for number, ordered in enumerate(orders(rows)):
        own = folder / str(number)
        (own / "out").mkdir(parents=True)
        (own / f"in{suffix}").write_text(head + "".join(ordered))
        command(own / f"in{suffix}", own / "out")
        seen.append(written(own / "out"))
    assert seen[0]
    for other in seen[1:]:
        assert other == seen[0]


def patients(count: int = 48) -> Rows:
    """Rows with many ties, and sensitive values that go with no quasi-identifier."""
    random_of = random.Random(5)
    return [
        f"{random_of.choice((20, 20, 31, 44, 44, 67, 80))},{random_of.choice('FM')},"
        f"{random_of.choice(('02139', '02138', '02472', '90210'))},{random_of.choice(('flu', 'gout', 'burn'))}\n"
        for _ in range(count)
    ]


PATIENTS = "age,sex,zip,dx\n"
ROLES = ("--qi", "age,sex,zip", "--sensitive", "dx")


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_tables(tmp_path: Path, method: str) -> None:
    more = ("--l", 2) if method not in ("kk", "cells", "mdav", "r-gather") else ()
    same_for_every_order(
        tmp_path,
        PATIENTS,
        patients(),
        lambda table, out: (
            call(
                *(
                    "anonymize",
                    table,
                    *ROLES,
                    "--k",
                    3,
                    *more,
                    "--method",
                    method,
                    "--suppression",
                    1.0 if method == "records" else 0.2,
                ),
                *("-o", out / "o.csv", "--save-scheme", out / "scheme.json"),
            )
            and None
        ),
    )


@pytest.mark.parametrize("target", ["local", "mondrian"])
def test_tables_of_visits(tmp_path: Path, target: str) -> None:
    rows = [f"{n % 20},{row}" for n, row in enumerate(patients(60))]
    by_person = {row.split(",")[0]: row.split(",")[1:4] for row in rows}
    same = [",".join([who, *by_person[who], row.split(",")[4]]) for row in rows for who in [row.split(",")[0]]]
    same_for_every_order(
        tmp_path,
        "who,age,sex,zip,dx\n",
        same,
        lambda table, out: (
            call(
                *("anonymize", table, "--qi", "age,sex,zip", "--sensitive", "dx", "--person", "who", "--k", 3),
                *("--method", target, "-o", out / "o.csv"),
            )
            and None
        ),
    )


def test_tables_by_the_scheme_of_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "first.csv").write_text(PATIENTS + "".join(patients(80)))
    scheme = tmp_path / "scheme.json"
    call("anonymize", tmp_path / "first.csv", *ROLES, "--k", 3, "-o", tmp_path / "f.csv", "--save-scheme", scheme)
    same_for_every_order(
        tmp_path,
        PATIENTS,
        patients(),
        lambda table, out: call("anonymize", table, *ROLES, "--k", 3, "--scheme", scheme, "-o", out / "o.csv") and None,
    )


def test_maps_of_risk_and_utility(tmp_path: Path) -> None:
    def points(table: Path, out: Path) -> None:
        told = out.parent / "s.json"
        call(
            *("ru-map", table, *ROLES, "--ks", "2", "--methods", "local,mondrian"),
            *("-o", out.parent / "map.svg", "--json", told),
        )
        found = json.loads(told.read_text())["points"]
        for point in found:
            point.pop("seconds", None)
        (out / "points.json").write_text(json.dumps(found))

    same_for_every_order(tmp_path, PATIENTS, patients(), points)


def cohort() -> Rows:
    """A row a diagnosis: 30 persons with up to three visits."""
    random_of = random.Random(7)
    codes = ("250.00", "250.10", "401.10", "401.90", "493.00", "493.10", "042")
    rows = []
    for person in range(30):
        for visit in range(random_of.randint(1, 3)):
            for code in random_of.sample(codes, random_of.randint(1, 3)):
                rows.append(f"{person},{visit},{'FM'[person % 2]},{code}\n")
    return rows


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
    hierarchy = ("--code-hierarchy", "icd-9-cm") if method != "rbat" else ()
    same_for_every_order(
        tmp_path,
        "who,visit,sex,code\n",
        cohort(),
        lambda table, out: (
            call(
                *("codes", "anonymize", table, "--codes", "code", "--person", "who", "--visit", "visit", "--k", 2),
                *("--method", method, *hierarchy, *more, "-o", out / "o.csv"),
            )
            and None
        ),
    )


def test_attacks_on_codes_draw_the_same_parts(tmp_path: Path) -> None:
    same_for_every_order(
        tmp_path,
        "who,visit,sex,code\n",
        cohort(),
        lambda table, out: (
            (out / "o.txt").write_text(
                call("codes", "risk", table, "--codes", "code", "--person", "who", "--visit", "visit", "--draws", 2)
            )
            and None
        ),
    )


@pytest.mark.parametrize("method", ["a-gs", "baseline"])
@pytest.mark.parametrize("diversity", [1, 2])
def test_trajectories(tmp_path: Path, method: str, diversity: int) -> None:
    random_of = random.Random(3)
    rows = [
        f"M{person:03},{random_of.choice(('250.00', '250.10', '401.10', '493.00'))},{random_of.randint(30, 34)},"
        f"{'FM'[person % 2]},{'ACGT'[person % 4]}{person % 3}\n"
        for person in range(30)
        for _ in range(random_of.randint(1, 4))
    ]
    same_for_every_order(
        tmp_path,
        "who,code,age,sex,dna\n",
        rows,
        lambda table, out: (
            call(
                *("trajectories", "anonymize", table, "-o", out / "o.csv", "--person", "who", "--k", 3),
                *("--method", method),
                *("--code-hierarchy", "icd-9-cm", "--attach", "dna", "--sensitive-column", "sex", "--l", diversity),
            )
            and None
        ),
    )


def fasta(lengths: Sequence[int]) -> Rows:
    random_of = random.Random(2)
    return [
        f">p{number}\n{''.join(random_of.choice('ACGT') if i % 4 == 0 else 'A' for i in range(length))}\n"
        for number, length in zip(range(17), itertools.cycle(lengths))
    ]


@pytest.mark.parametrize("matching", ["exact", "greedy"])
@pytest.mark.parametrize("lengths", [(12,), (12, 9, 11)])
@pytest.mark.parametrize("names", [(), ("--keep-names",)])
def test_sequences_of_dna(tmp_path: Path, matching: str, lengths: Sequence[int], names: Sequence[str]) -> None:
    same_for_every_order(
        tmp_path,
        "",
        fasta(lengths),
        lambda table, out: (
            call("genomes", "anonymize", table, "-o", out / "o.fasta", "--matching", matching, *names) and None
        ),
        ".fasta",
    )


def test_genotypes(tmp_path: Path) -> None:
    random_of = random.Random(4)
    rows = [f"p{i}," + ",".join(random_of.choice(("0/0", "0/1", "1/1")) for _ in range(6)) + "\n" for i in range(20)]
    same_for_every_order(
        tmp_path,
        "record,s1,s2,s3,s4,s5,s6\n",
        rows,
        lambda table, out: (
            call(
                *(
                    "genomes",
                    "anonymize",
                    table,
                    "-o",
                    out / "o.csv",
                    "--method",
                    "binning",
                    "--across",
                    3,
                    "--protect",
                    "s1,s4",
                )
            )
            and None
        ),
    )


PLAN = """model = "none"
k = 3

[tables.patients]
path = "patients.csv"
patient = "mrn"
[tables.patients.columns]
name = { role = "identifier", category = "PATIENT" }
sex = "quasi-identifier"
age = "quasi-identifier"

[tables.visits]
path = "in.csv"
patient = "mrn"
[tables.visits.columns]
date = { role = "other", category = "DATE" }
diagnosis = "sensitive"
"""


def test_joint_releases(tmp_path: Path) -> None:
    random_of = random.Random(6)
    people = [f"{440 + i},Zelda Quarry{chr(97 + i)}mane,{'FM'[i % 2]},{random_of.randint(30, 60)}\n" for i in range(14)]
    visits = [
        f"{440 + random_of.randrange(14)},2019-0{random_of.randint(1, 9)}-1{random_of.randint(0, 9)},"
        f"{random_of.choice(('flu', 'gout'))}\n"
        for _ in range(40)
    ]
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    key.chmod(0o600)

    def release(table: Path, out: Path) -> None:
        (table.parent / "plan.toml").write_text(PLAN)
        rows = list(people)
        random.Random(table.read_text()).shuffle(rows)
        (table.parent / "patients.csv").write_text("mrn,name,sex,age\n" + "".join(rows))
        call("release", table.parent / "plan.toml", out / "released", "--key-file", key)

    same_for_every_order(tmp_path, "mrn,date,diagnosis\n", visits, release)


DOMAINS = ("--domain", "age=0..99/10", "--domain", "sex=F,M")
NOISE = ("--epsilon", 1, "--not-private-seed", 1)


def with_test_noise(folder: Path, *command: object, person: bool = False) -> None:
    """Run a command of counts on visits in every order; of each person two at most count, where that is asked for."""

    asked = ("--epsilon", 9, "--unit", "patient", "--max-rows", 2, "--keys-delta", 1e-3)
    call("budget", "init", folder / "new", *asked)

    def each(table: Path, out: Path) -> None:
        bound = ("--ledger", table.parent / "ledger", "--person", "who") if person else ()
        if bound:  # the same one: its secret says which rows of a person count
            shutil.copy(folder / "new", bound[1])
            noted_place("ledgers").unlink(missing_ok=True)  # as at another site: here it would be an older copy
        call(command[0], table, *command[1:], *NOISE, *bound, "-o", out / "o.csv")

    rows = [f"{n % 30},{row}" for n, row in enumerate(patients(120))]
    same_for_every_order(folder, "who,age,sex,zip,dx\n", rows, each)


@pytest.mark.parametrize("method", CUBE_METHODS)
@pytest.mark.parametrize("person", [False, True])
def test_cubes_with_test_noise(tmp_path: Path, method: str, person: bool) -> None:
    slices = ("--slice", "age", "--slice", "sex") if method == "marginals" else ()
    with_test_noise(tmp_path, "cube", "--dims", "age,sex", *DOMAINS, "--method", method, *slices, person=person)


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("asked", ["COUNT(*)", "SUM(age)", "MEAN(age)", "MEDIAN(age)", "HISTOGRAM(sex)"])
def test_answers_with_test_noise(tmp_path: Path, asked: str, person: bool) -> None:
    with_test_noise(tmp_path, "query", f"SELECT {asked}", *DOMAINS, person=person)


def test_found_values_with_test_noise(tmp_path: Path) -> None:
    with_test_noise(tmp_path, "keys", "--column", "dx", "--keys-delta", 1e-3)


@pytest.mark.parametrize("method", ["tree", "markov", "tree-paper"])
def test_sequences_with_test_noise(tmp_path: Path, method: str) -> None:
    random_of = random.Random(8)
    rows = [",".join(str(random_of.randint(0, 2)) for _ in range(4)) + "\n" for _ in range(60)]
    same_for_every_order(
        tmp_path,
        "q1,q2,q3,q4\n",
        rows,
        lambda table, out: (
            call(
                *("sequences", table, "--periods", "q1,q2,q3,q4", "--domain", "level=0..2", "--epsilon", 1),
                *("--method", method, "--not-private-seed", 1, "-o", out / "o.csv"),
            )
            and None
        ),
    )
