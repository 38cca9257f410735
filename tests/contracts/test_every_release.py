"""Laws of every release, whatever the method, the table and the format: read again from the written file."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import by_day
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError
from deid.cli.main import app
from deid.disclosure.assessment import Requirements
from deid.disclosure.cells import cover_table
from deid.disclosure.classes import equivalence_classes
from deid.disclosure.methods import METHODS, MethodOptions
from deid.disclosure.release import anonymize
from deid.table.hierarchy import read_hierarchy
from deid.table.table_files import read_table
from deid.transactions.methods import METHODS as CODE_METHODS
from tests.disclosure.tables import random_table

QUASI = ["age", "admitted", "zip", "number"]
ZIP = "02139;021**;*\n02140;021**;*\n10027;100**;*\n10031;100**;*\n"
AGE = "".join(
    f"{age};{age // 5 * 5}-{age // 5 * 5 + 4};{age // 10 * 10}-{age // 10 * 10 + 9};*\n" for age in range(20, 60)
)


TAKES_MORE_THAN_K = sorted(set(METHODS) - {"kk", "mdav", "records", "incognito", "r-gather"})
ASKED = [
    Requirements(k=3),
    Requirements(k=2, l=2),
    Requirements(k=2, entropy_l=1.7),
    Requirements(k=2, c=2.0, l=2),
    Requirements(k=2, alpha=0.7),
    Requirements(k=2, t=0.4),
    Requirements(k=2, t=0.4, distance="ordered"),
    Requirements(k=2, beta=1.5),
]


def random_frame(seed: int, rows: int) -> pd.DataFrame:
    """Every kind of column that a hospital has: stamps, numbers beyond 2**53, codes, decimals, gaps."""
    rng = np.random.default_rng(seed)
    gaps = rng.random(rows) < 0.15
    return pd.DataFrame(
        {
            "mrn": [f"M{n}" for n in rng.permutation(rows)],
            "age": rng.integers(20, 60, rows),
            "admitted": pd.Timestamp("2020-02-28") + pd.to_timedelta(rng.integers(0, 6000, rows), "min"),
            "zip": rng.choice(["02139", "02140", "10027", "10031"], rows),
            "number": 2**53 + rng.integers(0, 40, rows),
            "disease": rng.choice(["flu", "cold", "V58.11", "250.00"], rows),
            "cost": [f"{cents / 100:.2f}" for cents in rng.integers(100, 300, rows)],
            "visits": pd.array(np.where(gaps, 0, rng.integers(0, 9, rows)), "Int64").__class__(
                rng.integers(0, 9, rows), gaps
            ),
            "comment": [f"note {n} of Zebedee" for n in range(rows)],
        }
    )


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, DeidError):
        return 2, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout + result.stderr


def texts(frame: pd.DataFrame, name: str) -> list[str]:
    return ["" if pd.isna(value) else str(value) for value in frame[name]]


@pytest.mark.parametrize("method", sorted(METHODS))
@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5, 10]))
@settings(max_examples=6)
def test_published_values_cover_the_originals_and_rows_are_counted(method: str, seed: int, k: int) -> None:
    table = random_table(50, seed, missing=0.06)
    try:
        release = anonymize(table, Requirements(k=k), method, MethodOptions(suppression=0.5))
    except ConfigError:
        assert method in ("records", "optimal", "greedy", "incognito")
        return
    assert len(release.rows) + release.suppressed == 50
    stars = (release.recoded.frame[["age", "sex", "place"]] == "*").all(axis=1).sum()
    assert release.loss.suppressed == release.suppressed + stars
    assert release.suppressed <= 25
    for name in table.quasi_identifiers:
        cells, values = release.recoded.codes(name), table.codes(name)
        covers = cover_table(cells.values, values.values, table.hierarchies.get(name))
        assert covers[cells.codes, values.codes[release.rows]].all()
    assert release.recoded.frame["disease"].tolist() == table.frame["disease"].iloc[release.rows].tolist()
    if method != "kk":
        assert equivalence_classes(release.recoded).sizes.min() >= k
    again = anonymize(table, Requirements(k=k), method, MethodOptions(suppression=0.5))
    pd.testing.assert_frame_equal(release.table(), again.table())


@pytest.mark.parametrize(("method", "asked"), by_day(TAKES_MORE_THAN_K, ASKED), ids=str)
def test_every_method_keeps_every_model(method: str, asked: Requirements) -> None:
    for seed, persons in ((1, 0), (2, 0), (3, 60)):
        table = random_table(90, seed, persons=persons)
        release = anonymize(table, asked, method, MethodOptions(suppression=0.6))
        assert not any(finding.failed for finding in release.findings)
        assert any(finding.asked is not None for finding in release.findings)


@pytest.mark.parametrize(("method", "form"), by_day(["auto", *sorted(METHODS)], ["csv", "parquet"]))
def test_every_release_is_true_named_and_read_by_the_verifiers(tmp_path: Path, method: str, form: str) -> None:
    folder, hierarchies = tmp_path, form == "csv"
    seed = zlib.crc32(f"{method} {form} {hierarchies}".encode())
    rows, k = 12 + seed % 29, 2 + seed % 3
    frame = random_frame(seed, rows)
    source, out = folder / f"in.{form}", folder / f"out.{form}"
    if form == "csv":
        frame.to_csv(source, index=False)
    else:
        frame.to_parquet(source, index=False)
    (folder / "zip.csv").write_text(ZIP)
    (folder / "age.csv").write_text(AGE)
    trees = [f"--hierarchy={name}={folder / name}.csv" for name in ("age", "zip") if hierarchies]
    page = ["--qi", ",".join(QUASI), "--sensitive", "disease", *trees]
    suppression = 1.0 if method in ("records", "optimal", "greedy", "incognito") else 0.0
    code, told = run(
        *("anonymize", source, *page, "--drop", "mrn,comment", "--publish", "cost,visits", "--method", method),
        *("--k", k, "--suppression", suppression, "-o", out),
    )
    if code:
        assert "every row would be suppressed" in told
        return
    # no column leaves that nobody named, and the manifest speaks of every one
    released = read_table(out, exact=True)
    assert list(released.columns) == [*QUASI, "disease", "cost", "visits"]
    manifest = json.loads(out.with_name(out.name + ".manifest.json").read_text())["run"]
    assert sorted(manifest["columns"]) == sorted(frame.columns)
    assert "Zebedee" not in out.read_bytes().decode("latin-1")
    # what is published unaltered is unaltered, and every cell is true of a row of the original
    original = read_table(source, exact=True)
    kept = ["disease", "cost", "visits"]
    written = Counter(zip(*(texts(released, name) for name in kept), strict=True))
    read = Counter(zip(*(texts(original, name) for name in kept), strict=True))
    assert written <= read if manifest["results"]["suppressed"] else written == read
    assert sum(written.values()) == manifest["results"]["published"]
    possible = np.ones((len(released), len(original)), dtype=bool)
    for name in kept:
        possible &= np.array(texts(released, name))[:, None] == np.array(texts(original, name))[None, :]
    for name in QUASI:
        cells, values = texts(released, name), texts(original, name)
        if name == "admitted":
            values = [value.replace(" ", "T") if form == "parquet" else value for value in values]
        tree = read_hierarchy(folder / f"{name}.csv") if hierarchies and name in ("age", "zip") else None
        distinct = list(dict.fromkeys(values))
        possible &= cover_table(cells, distinct, tree)[:-1, [distinct.index(value) for value in values]]
    assert possible.any(axis=1).all()
    # the verifiers that the page names accept it, by the options of the page
    levels = [] if method == "kk" else ["--k", k]
    assert run("privacy", out, *page, *levels)[0] == 0
    assert run("risk", out, *page)[0] == 0
    assert run("risk", out, *page, "--population", source)[0] == 0
    assert run("privacy", out, *page, "--population", source, "--k-map", 2)[0] == 0


def test_a_schema_of_the_original_reads_its_release(tmp_path: Path) -> None:
    source, out, schema = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "s.toml"
    random_frame(3, 60).to_csv(source, index=False)
    assert run("schema", source, "-o", schema)[0] == 0
    code, told = run("anonymize", source, "--schema", schema, "--k", 3, "-o", out)
    assert code == 0, told
    assert "mrn" not in read_table(out).columns
    for verifier in ("privacy", "risk"):
        code, told = run(verifier, out, "--schema", schema, *(("--k", 3) if verifier == "privacy" else ()))
        assert code == 0, told


def test_no_value_of_a_suppressed_row_stays_in_the_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [30, 30, 30, 77], "town": pd.Categorical(["Ayr", "Ayr", "Ayr", "Zennor"])})
    frame["disease"] = pd.Categorical(["flu", "cold", "flu", "Zoster"])
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame.to_parquet(source, index=False)
    code, told = run(
        *("anonymize", source, "--qi", "age,town", "--sensitive", "disease", "--k", 3, "--method", "records"),
        *("--suppression", 0.5, "-o", out),
    )
    assert code == 0, told
    content = out.read_bytes()
    assert b"flu" in content
    assert b"Zennor" not in content
    assert b"Zoster" not in content


def accepted(*arguments: object) -> None:
    code, told = run(*arguments)
    assert code == 0, told


def diagnoses(path: Path) -> Path:
    """A row a diagnosis: person, visit, sex, code, age."""
    rng = np.random.default_rng(7)
    codes = ["250.00", "250.10", "401.10", "401.90", "493.00", "493.10"]
    rows = [
        f"{person},{visit},{'FM'[person % 2]},{code},{30 + visit}\n"
        for person in range(30)
        for visit in range(rng.integers(1, 4))
        for code in rng.choice(codes, rng.integers(1, 4), replace=False)
    ]
    path.write_text("who,visit,sex,code,age\n" + "".join(rows))
    return path


@pytest.mark.parametrize("method", sorted(CODE_METHODS))
def test_released_codes_are_attacked_and_proved(tmp_path: Path, method: str) -> None:
    source, out = diagnoses(tmp_path / "in.csv"), tmp_path / "out.csv"
    (tmp_path / "utility").write_text("250.*\n401.*\n493.*\n")
    (tmp_path / "rules").write_text("250.00 -> 493.00\n")
    needs: dict[str, tuple[object, ...]] = dict.fromkeys(
        ("ugaclip", "cba", "coat"), ("--utility", tmp_path / "utility")
    )
    needs |= dict.fromkeys(("coherence", "suppress-control", "top-down-control"), ("--sensitive-codes", "493.10"))
    needs["rbat"] = ("--ps-rules", tmp_path / "rules", "--confidence", 0.8)
    needs["relational"] = ("--qi", "sex")
    tree = () if method == "rbat" else ("--code-hierarchy", "icd-9-cm")
    page = ("--codes", "code", "--person", "who", "--visit", "visit", *tree)
    accepted("codes", "anonymize", source, *page, "--k", 3, "--method", method, *needs.get(method, ()), "-o", out)
    accepted("manifest", "verify", out)
    if method == "disassociation":  # chunks, not records: there is nobody to look for
        assert "no records" in run("codes", "risk", source, *page, "--released", out)[1]
        return
    accepted("codes", "risk", source, *page, "--released", out, "--most", 2, "--json", tmp_path / "risk.json")
    whole, part, _ = json.loads((tmp_path / "risk.json").read_text())["the release"]
    if method in ("complete", "global-suppression", "local-suppression"):
        assert whole["few"] == 0
    if method in ("km", "km-local", "km-vertical", "complete", "relational"):
        assert part["few"] == 0
    if method == "relational":  # what the attacker knows of the columns leaves records of which the codes hold, too
        together = ("--qi", "sex", "--codes", "code", "--m", 2, "--k", 3)
        accepted("privacy", out, *together)
        released, rows = pd.read_csv(out, dtype=str), pd.read_csv(source, dtype=str)
        for codes in ("493.99", f"{released.code[0]}; 493.99"):  # one record is not like the others of its class
            broken = out.with_name("broken.csv")
            released.assign(code=[codes, *released.code[1:]]).to_csv(broken, index=False)
            status, said = run("privacy", broken, *together)
            assert status == 1, said
            accepted("privacy", broken, "--qi", "sex", "--k", 3)  # the columns alone are what they were
        for sex in "FM":
            released[released.sex.isin([sex, "*"])].to_csv(out.with_name(f"{sex}.csv"), index=False)
            rows[rows.sex == sex].to_csv(tmp_path / "own.csv", index=False)
            own = ("--released", out.with_name(f"{sex}.csv"), "--most", 2, "--json", tmp_path / "risk.json")
            accepted("codes", "risk", tmp_path / "own.csv", *page, *own)
            assert json.loads((tmp_path / "risk.json").read_text())["the release"][1]["few"] == 0


@pytest.mark.parametrize("method", ["a-gs", "baseline"])
def test_released_trajectories_occur_k_times(tmp_path: Path, method: str) -> None:
    source, out = diagnoses(tmp_path / "in.csv"), tmp_path / "out.csv"
    page = ("--person", "who", "--code-hierarchy", "icd-9-cm", "--attach", "sex")
    accepted("trajectories", "anonymize", source, "-o", out, "--k", 3, "--method", method, *page)
    accepted("manifest", "verify", out)
    released = pd.read_csv(out, dtype=str).fillna("")
    histories = released.groupby("record")[["code", "age"]].apply(lambda rows: tuple(map(tuple, rows.values)))
    assert len(histories) == 30
    assert histories.value_counts().min() >= 3


def test_released_genomes_hold_when_they_are_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    dna, sites = tmp_path / "in.fasta", tmp_path / "in.csv"
    dna.write_text("".join(f">p{n}\nAC{''.join(rng.choice(list('ACGT-'), 5))}\n" for n in range(9)))
    rows = [f"p{n}," + ",".join(rng.choice(["0/0", "0/1", "1/1"], 5)) + "\n" for n in range(20)]
    sites.write_text("record,s1,s2,s3,s4,s5\n" + "".join(rows))
    bins = ("--method", "binning", "--across", 3, "--protect", "s1,s3,s4")
    for source, page in ((dna, ()), (sites, bins)):
        out = tmp_path / f"out{source.suffix}"
        accepted("genomes", "anonymize", source, "-o", out, *page)
        accepted("genomes", "verify", out, *page)
        accepted("manifest", "verify", out)
        assert run("genomes", "verify", source, *page)[0] == 1


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_private_releases_are_asked_drawn_from_and_proved(tmp_path: Path, form: str) -> None:
    source, ledger = diagnoses(tmp_path / "in.csv"), tmp_path / "ledger"
    cube, tree, rows = tmp_path / f"cube.{form}", tmp_path / f"tree.{form}", tmp_path / "rows.csv"
    pays = ("--ledger", ledger, "--epsilon", 1)
    accepted("budget", "init", ledger, "--epsilon", 4, "--unit", "person", "--max-rows", 3)
    domains = ("--domain", "sex=F,M", "--domain", "visit=0..2", "--person", "who")
    accepted("cube", source, "--dims", "sex,visit", "--slice", "sex,visit", *domains, *pays, "-o", cube)
    accepted("slice", cube, "--dims", "sex", "--where", "visit=0..1")
    accepted("synthesize", cube, "-o", rows)
    page = ("--release", cube, "--slice", "sex,visit", "--person", "who")
    accepted("fidelity", source, rows, *page, *pays)
    periods = ("--periods", "visit,sex", "--domain", "level=0,1,2,F,M", "--person", "who")
    accepted("sequences", source, *periods, *pays, "-o", tree)
    accepted("prefixes", tree, "--prefix", "0,F")
    accepted("synthesize", tree, "-o", tmp_path / "drawn.csv")
    for out in (cube, rows, tree, tmp_path / "drawn.csv"):
        accepted("manifest", "verify", out)
