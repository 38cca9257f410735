"""The commands of `deid genomes`."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import attempt

from deid.base.errors import InputError


def test_sequences_are_released_without_names(tmp_path: Path) -> None:
    source = tmp_path / "in.fasta"
    source.write_text(">Mary\nAATTA\n>Bob\nAATGA\n>Sue\nATTCA\n>Jim\nAATGA\n")
    status, _ = attempt("genomes", "anonymize", source, "-o", tmp_path / "o.fasta", "--json", tmp_path / "s.json")
    assert status == 0
    text = (tmp_path / "o.fasta").read_text()
    assert text.count("AWTYA") == text.count("AATGA") == 2
    assert "Mary" not in text
    assert json.loads((tmp_path / "s.json").read_text())["cost"] == 4


def test_names_of_sequences_may_have_any_letters(tmp_path: Path) -> None:
    source = tmp_path / "in.fasta"
    source.write_text("\ufeff>Müller\nAATTA\n>Bob\nAATGA\n>Şule\nATTCA\n>Jim\nAATGA\n", encoding="utf-8")
    assert attempt("genomes", "anonymize", source, "-o", tmp_path / "o.fasta")[0] == 0
    assert (tmp_path / "o.fasta").read_bytes().isascii()
    assert attempt("genomes", "anonymize", source, "-o", tmp_path / "k.fasta", "--keep-names")[0] == 0
    assert ">Müller\n" in (tmp_path / "k.fasta").read_text(encoding="utf-8")
    for content in (">a\nAATÄA\n".encode(), ">Müller\nAATTA\n".encode("cp1252")):
        source.write_bytes(content)
        with pytest.raises(InputError, match=r"IUPAC|UTF-8"):
            attempt("genomes", "anonymize", source, "-o", tmp_path / "n.fasta")


def test_genotypes_are_binned(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    lines = ["record," + ",".join(f"rs{i}" for i in range(6))]
    lines += [f"p{i}," + ",".join(rng.choice(["0/0", "0/1", "1/1"], 6)) for i in range(12)]
    (tmp_path / "g.csv").write_text("\n".join(lines) + "\n")
    status, _ = attempt(
        *("genomes", "anonymize", tmp_path / "g.csv", "-o", tmp_path / "o.csv", "--method", "binning"),
        *("--within", 2, "--across", 3, "--protect", "rs0,rs3"),
    )
    assert status == 0
    assert (tmp_path / "o.csv").read_text().startswith("record,rs0,rs1")


def write_genotypes(path: Path, rows: np.ndarray) -> Path:
    calls = np.array(["0/0", "0/1", "1/1"])
    lines = ["record," + ",".join(f"s{i}" for i in range(rows.shape[1]))]
    lines += [f"r{i}," + ",".join(calls[row]) for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_member_of_a_mixture_is_found_and_a_stranger_is_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.95, 3000)
    cases, controls, others = (rng.binomial(2, p, (n, 3000)) for n in (30, 60, 20))
    files = [
        write_genotypes(tmp_path / f"{name}.csv", rows)
        for name, rows in (("m", cases[:2]), ("c", cases), ("r", controls), ("o", others), ("s", others[:3]))
    ]
    status, output = attempt("genomes", "attack", "membership", *files[:3], "--non-members", files[3])
    assert status == 1
    assert output.count("in the mixture") >= 2
    status, output = attempt("genomes", "attack", "membership", files[4], *files[1:3], "--non-members", files[3])
    assert "1\t" in output
    assert output.splitlines()[0].endswith(("undecided", "in the reference"))


def test_linkage_counts_candidates(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("sex,age,gene\nM,78,HTT\nF,58,FMR1\n")
    (tmp_path / "r.csv").write_text("name,sex,age,code\nJohn Doe,M,78,333.4\nMary Ann,F,58,759.83\n")
    status, output = attempt("genomes", "attack", "linkage", tmp_path / "d.csv", tmp_path / "r.csv")
    assert status == 1
    assert "1\t1\n2\t1" in output
    assert "John" not in output
