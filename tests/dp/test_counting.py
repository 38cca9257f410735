"""Tables in batches are counted as the whole table is: the same release for the same noise, and bounded memory."""

from __future__ import annotations

import itertools
import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import call
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.buckets import Buckets
from deid.base.errors import ConfigError, DeidError
from deid.base.late import pd
from deid.dp.budget import Ledger
from deid.dp.counting import count_rows, rows_of
from deid.dp.cube import plan_cube, release_cube
from deid.dp.domain import declare
from deid.dp.methods import METHODS, measure
from deid.dp.noise import SeededNoise
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.table import cell_text, table_files
from deid.table.table_files import read_batches, read_table

AGE, SEX, WARD = (
    declare("age", {"range": [0, 9]}),
    declare("sex", {"values": ["F", "M"]}),
    declare("ward", {"values": list("ABCDE")}),
)


def visits(rows: int, seed: int = 3) -> pd.DataFrame:
    """Return visits: persons with several rows, rows without one, equal rows, cells outside of the domains."""
    rng = random.Random(seed)
    return pd.DataFrame(
        {
            "who": [rng.choice([None, "7", "7.0", *map(str, range(rows // 4))]) for _ in range(rows)],
            "age": [rng.choice([None, *map(str, range(12))]) for _ in range(rows)],
            "sex": [rng.choice(["F", "M", "M", "X"]) for _ in range(rows)],
            "ward": [rng.choice("AABC") for _ in range(rows)],
        }
    )


def parted(frame: pd.DataFrame, cuts: list[int]) -> list[pd.DataFrame]:
    ends = sorted({0, len(frame), *(cut % (len(frame) + 1) for cut in cuts)})
    return [frame.iloc[a:b] for a, b in itertools.pairwise(ends)]


@settings(max_examples=40)
@given(st.integers(0, 60), st.integers(0, 5), st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_however_a_table_is_divided_the_same_rows_count(rows: int, seed: int, cuts: list[int], spill: bool) -> None:
    """Against the rows that are kept of the whole table in memory."""
    frame = visits(max(rows, 4), seed)
    for most in (1, 2):
        plan = plan_cube(
            [AGE, SEX], 1.0, PrivacyUnit("patient", max_rows=most), person="who", part=[(WARD, "A")], report_share=0.1
        )
        with pytest.MonkeyPatch.context() as patch:
            if spill:
                patch.setattr(Buckets, "held", 64)
            found = count_rows(parted(frame, cuts), plan, b"key", marked=True)
        bounded = bounded_rows(frame, "who", most, b"key")
        kept = frame[bounded.keep]
        kept = kept[kept["ward"] == "A"]
        true = rows_of(kept, [AGE, SEX])
        assert (found.rows.counts() == true.counts()).all()
        assert found.left_out.tolist() == [bounded.cut, len(kept) - len(true.points)]
        assert found.mark == cell_text.table_hash(frame, b"key")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_measures_counted_cells_as_it_does_rows(method: str) -> None:
    frame = visits(300)
    slices = [["age", "sex"], ["ward"]] if method == "marginals" else ()
    plan = plan_cube([AGE, SEX, WARD], 1.0, PrivacyUnit(), method=method, slices=slices)
    release = release_cube(parted(frame, [10, 11, 250]), plan, ledger=None, noise=SeededNoise(4))
    by_row, _ = measure(rows_of(frame, plan.dimensions), plan, SeededNoise(4))
    pd.testing.assert_frame_equal(release.to_frame(), replace(release, model=by_row).to_frame())
    whole = release_cube(frame, plan, ledger=None, noise=SeededNoise(4))
    pd.testing.assert_frame_equal(release.to_frame(), whole.to_frame())
    assert release.metadata == whole.metadata


def test_a_cube_of_more_cells_than_a_number_has_is_counted() -> None:
    columns = [declare(f"c{at}", {"range": [0, 99]}) for at in range(20)]
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({own.name: rng.integers(0, 100, 50).astype(str) for own in columns})
    frame = pd.concat([frame, frame.iloc[:20]], ignore_index=True)
    plan = plan_cube(columns, 1.0, PrivacyUnit(), slices=[["c0"], ["c18", "c19"]])
    found = count_rows(parted(frame, [30, 31]), plan, b"")
    assert len(found.rows.points) == 50
    assert found.rows.total == 70
    for axes in ((0,), (18, 19), (7, 13)):
        assert (found.rows.counts(axes) == rows_of(frame, columns).counts(axes)).all()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The same table in every kind of place, read 7 rows at a time where that can be."""
    monkeypatch.setattr(table_files, "_BATCH", 7)
    monkeypatch.chdir(tmp_path)
    frame = visits(200)
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet", index=False, row_group_size=50)
    Path("parts.parquet").mkdir()
    for number in range(3):
        frame.iloc[number::3].to_parquet(f"parts.parquet/part-{number}.parquet", index=False)
    with sqlite3.connect("t.db") as store:
        frame.to_sql("visit", store, index=False)
    return {"csv": ["t.csv"], "parquet": ["t.parquet"], "folder": ["parts.parquet"], "sql": ["t.db", "--sql", "visit"]}


@pytest.mark.parametrize(
    "asked",
    [
        ("--dims", "age,sex"),
        ("--dims", "age,sex", "--person", "who"),
        ("--dims", "age", "--part", "ward=A", "--domain", "ward=A,B,C", "--person", "who"),
    ],
    ids=["rows", "persons", "part"],
)
def test_the_command_releases_the_same_from_every_place(
    places: dict[str, list[str]], asked: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    domains = ("--domain", "age=0..9", "--domain", "sex=F,M", "--not-private-seed", "5", "--epsilon", "1")
    said = []
    for name, place in places.items():
        assert call("cube", *place, *asked, *domains, "-o", f"{name}.csv") == 0
        said.append("have no who" in capfd.readouterr().err)
        assert Path(f"{name}.csv").read_bytes() == Path("csv.csv").read_bytes()
    assert said == ["--person" in asked] * len(places)


def test_a_domain_that_is_public_is_read_in_batches(places: dict[str, list[str]]) -> None:
    Path("d.toml").write_text('[columns.ward]\nfrom_data = true\npublic_source = "the list of wards"\n')
    for name, place in places.items():
        told = ("--dims", "ward", "--domains", "d.toml", "--not-private-seed", "5", "--epsilon", "1")
        assert call("cube", *place, *told, "-o", f"{name}.csv") == 0
        assert Path(f"{name}.csv").read_bytes() == Path("csv.csv").read_bytes()


def test_a_part_of_a_table_in_batches_is_a_part_of_the_table(places: dict[str, list[str]]) -> None:
    """Disjoint parts cost their maximum, wherever each was read."""
    Ledger.create("l.db", 1.0, PrivacyUnit())
    for ward, name in (("A", "csv"), ("B", "parquet"), ("C", "sql")):
        told = ("--dims", "age", "--domain", "age=0..9", "--domain", "ward=A,B,C", "--part", f"ward={ward}")
        assert call("cube", *places[name], *told, "--epsilon", ".9", "--ledger", "l.db", "-o", f"{ward}.csv") == 0


def test_batches_have_the_cells_of_the_whole(places: dict[str, list[str]]) -> None:
    for name, (place, *rest) in places.items():
        whole = visits(200)
        batches = list(read_batches(place, table=rest[1] if rest else None))
        assert len(batches) > (1 if name != "csv" else 0)
        found = pd.concat([batch.astype(object) for batch in batches], ignore_index=True)
        if name != "folder":
            pd.testing.assert_frame_equal(found, read_table("t.csv", text=True).astype(object), check_dtype=False)
        assert sorted(map(str, found.to_numpy().tolist())) == sorted(
            map(str, read_table("t.csv", text=True).astype(object).to_numpy().tolist())
        )
        assert len(found) == len(whole)


def test_what_cannot_be_read_is_told_by_its_file(places: dict[str, list[str]]) -> None:
    with pytest.raises(ConfigError, match=r"no column 'aeg'.*did you mean 'age'"):
        list(read_batches("t.parquet", columns=["aeg"]))
    visits(20).rename(columns={"age": "old"}).to_parquet("parts.parquet/part-9.parquet", index=False)
    with pytest.raises(DeidError, match=r"part-9.parquet: this part has other columns"):
        list(read_batches("parts.parquet"))
    Path("parts.parquet/part-9.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(DeidError, match=r"part-9.parquet: this is no whole Parquet file"):
        list(read_batches("parts.parquet"))
    data = Path("t.parquet").read_bytes()
    Path("t.parquet").write_bytes(data[:100] + bytes(len(data) // 2 - 100) + data[len(data) // 2 :])
    with pytest.raises(DeidError, match=r"t.parquet"):
        list(read_batches("t.parquet"))


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    visits(8).iloc[:0].to_parquet(tmp_path / "t.parquet", index=False)
    (only,) = read_batches(tmp_path / "t.parquet", columns=["sex", "age"])
    assert list(only.columns) == ["sex", "age"]
    assert not len(only)
    plan = plan_cube([AGE], 1.0, PrivacyUnit(), method="cells")
    assert count_rows([only], plan, b"").rows.total == 0


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=30), max_size=5), st.sampled_from([1, 100, 10_000]))
def test_buckets_give_back_what_they_took_in_order_of_first_bytes(batches: list[list[int]], held: int) -> None:
    with pytest.MonkeyPatch.context() as patch, Buckets(2) as buckets:
        patch.setattr(buckets, "held", held)
        for batch in batches:
            buckets.add(np.array([[number, at] for at, number in enumerate(batch)], np.uint64).reshape(-1, 2))
        parts = list(buckets.parts())
    found = [tuple(row) for part in parts for row in part.tolist()]
    assert sorted(found) == sorted((number, at) for batch in batches for at, number in enumerate(batch))
    for part, following in itertools.pairwise(parts):
        assert (part[:, 0] >> np.uint64(56)).max() < (following[:, 0] >> np.uint64(56)).min()
