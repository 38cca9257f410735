"""What a user says of a release is one value: it refuses what contradicts itself, and makes what is asked for."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from deid.base.errors import ConfigError, OutputError
from deid.disclosure import methods
from deid.disclosure.assessment import Requirements
from deid.disclosure.constraints import KAnonymity
from deid.disclosure.encoding import encode
from deid.disclosure.methods import MethodOptions, said_of_size
from deid.disclosure.options import DiskOptions, RoleOptions
from deid.disclosure.out_of_core import DiskRelease
from deid.disclosure.release import Release
from deid.disclosure.releasing import AskedRelease, FurtherFiles, MethodChoice
from deid.table.options import TableOptions
from tests.disclosure.tables import random_table

ROLES = RoleOptions(qi=("age,sex",), sensitive=("disease",), drop=("mrn",), each_row_a_person=True)


@pytest.fixture
def asked(tmp_path: Path) -> AskedRelease:
    rows = [f"{number},{20 + number % 40},{'FM'[number % 2]},{('flu', 'gout')[number % 3 > 0]}" for number in range(80)]
    (tmp_path / "in.csv").write_text("\n".join(["mrn,age,sex,disease", *rows, ""]))
    return AskedRelease(
        TableOptions(str(tmp_path / "in.csv")), ROLES, Requirements(k=4), MethodChoice(), MethodOptions(), None,
        FurtherFiles(), DiskOptions(),
    )  # fmt: skip


@pytest.mark.parametrize("name", [own.name for own in dataclasses.fields(FurtherFiles)])
def test_no_file_beside_a_release_is_overwritten(asked: AskedRelease, tmp_path: Path, name: str) -> None:
    taken = tmp_path / "taken.csv"
    FurtherFiles(**{name: taken}).check()
    taken.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        FurtherFiles(**{name: taken}).check()


def test_a_release_says_what_became_of_each_column(asked: AskedRelease, tmp_path: Path) -> None:
    release = asked.make(tmp_path / "out.csv")
    assert isinstance(release, Release)
    assert not (tmp_path / "out.csv").exists()
    assert {name: str(fate) for name, fate in release.fates.items()} == {
        "mrn": "dropped (dropped)",
        "age": "generalized (quasi-identifier)",
        "sex": "generalized (quasi-identifier)",
        "disease": "published (sensitive)",
    }
    assert "left out: mrn" in release.sentences()
    assert asked.how.said_of_size(release.original) == []  # a small table needs no choice between methods
    lines = dict(release.lines())
    assert lines["method"] == release.method
    assert lines["k-anonymity"].endswith("(asked: 4)")
    assert not any("population" in name for name in lines)


@pytest.mark.parametrize(
    ("rows", "columns", "told"),
    [
        (300_000, 8, ""),
        (300_001, 2, "auto took local recoding for 300,001 rows: about 6 s of a core"),
        (200_000, 16, "auto took local recoding for 200,000 rows: about 8 s of a core"),
        (2_000_000, 8, "auto took local recoding for 2,000,000 rows: about 40 s of a core"),
        (6_000_000, 8, "auto took mondrian for 6,000,000 rows; --method local loses a half to a quarter of that, in "
         "about 2 minutes of a core and 4 GB"),
    ],
)  # fmt: skip
def test_what_the_other_method_would_cost_is_told_of_large_tables(rows: int, columns: int, told: str) -> None:
    assert said_of_size(rows, columns).startswith(told)
    assert bool(said_of_size(rows, columns)) == bool(told)


def test_who_chose_the_method_is_told_of_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_LARGE", 10)
    data = random_table(20, 1)
    assert len(MethodChoice().said_of_size(data)) == 1
    assert MethodChoice(method="mondrian").said_of_size(data) == []
    assert MethodChoice(scheme=Path("s.json")).said_of_size(data) == []


def test_a_population_is_read_and_told_of(asked: AskedRelease, tmp_path: Path) -> None:
    wanted = dataclasses.replace(asked, asked=Requirements(k=2, k_map=2), population=asked.source.table)
    assert dict(wanted.make(tmp_path / "out.csv").lines())["in the population: least matches of a row"] >= "2"


def test_a_table_on_disk_is_written_as_it_is_made(asked: AskedRelease, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    asked.source.read().astype({"age": int}).to_parquet(tmp_path / "in.parquet")
    source = TableOptions(str(tmp_path / "in.parquet"))
    made = dataclasses.replace(asked, source=source, disk=DiskOptions(memory=1 << 30)).make(tmp_path / "out.parquet")
    assert isinstance(made, DiskRelease)
    assert (tmp_path / "out.parquet").exists()
    assert made.fates == asked.make(tmp_path / "out.csv").fates
    assert "left out: mrn" in made.sentences()
    assert not any("without protection" in sentence for sentence in made.sentences())


@pytest.mark.parametrize(
    ("disk", "changed", "said"),
    [
        (True, {"how": MethodChoice(method="local")}, "--method is for tables in memory"),
        (True, {"how": MethodChoice(scheme=Path("s.json"))}, "--scheme is for tables in memory"),
        (True, {"how": MethodChoice(target="disease")}, "--target is for tables in memory"),
        (True, {"population": "voters.csv"}, "--population is for tables in memory"),
        (True, {"beside": FurtherFiles(report=Path("r.html"))}, "--report is for tables in memory"),
        (True, {"options": MethodOptions(suppression=0.1)}, "--suppression is for tables in memory"),
        (True, {"options": MethodOptions(rounds=3)}, "--rounds is for tables in memory"),
        (True, {"source": TableOptions("in.parquet", sep=";")}, "--sep is for tables in memory"),
        (False, {"how": MethodChoice(scheme=Path("s"), method="local")}, "--method is for a search"),
        (False, {"how": MethodChoice(scheme=Path("s"), prefix="zip")}, "--prefix is for a search"),
        (False, {"how": MethodChoice(scheme=Path("s")), "population": "v.csv"}, "--population is for a search"),
    ],
)
def test_what_contradicts_itself_is_refused(
    asked: AskedRelease, disk: bool, changed: dict[str, object], said: str
) -> None:
    memory = DiskOptions(memory=1 << 30 if disk else None)
    with pytest.raises(ConfigError, match=said):
        dataclasses.replace(asked, disk=memory, **changed)  # type: ignore[arg-type]


def test_a_place_that_is_taken_is_refused_before_anything_is_read(asked: AskedRelease, tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("kept")
    with pytest.raises(OutputError):
        dataclasses.replace(asked, beside=FurtherFiles(report=tmp_path / "r.html"))


@pytest.mark.parametrize(("most", "method"), [(60, "local"), (59, "mondrian")])
def test_the_size_of_a_table_chooses_the_method(most: int, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_LOCAL_ROWS", most)
    monkeypatch.setattr(methods, "_CLUSTER_ROWS", 0)
    coded = encode(random_table(60, 3))
    assert methods.recode_best(coded, KAnonymity(3), MethodOptions())[0] == method


def test_a_sheet_of_the_table_is_looked_for_in_no_other_table(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age,sex,disease,mrn\n40,F,flu,1\n")
    source = TableOptions(str(tmp_path / "notes.xlsx"), sql="March")
    assert ROLES.open(str(tmp_path / "in.csv"), source).frame["disease"].tolist() == ["flu"]
