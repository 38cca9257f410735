"""Binning of genotypes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import ConfigError, FormatError, InputError
from deid.base.resources import resource_folder
from deid.genomes.binning import bin_genotypes, check_bins
from deid.genomes.genotypes import read_genotypes, write_genotypes
from deid.genomes.publishing import GenomeLevels
from deid.table.hierarchy import Hierarchy, read_hierarchy


def tree() -> Hierarchy:
    return read_hierarchy(resource_folder("dictionaries") / "hierarchies" / "genotypes" / "hierarchy.csv")


VALUES = ("0/0", "0/1", "1/1")


def test_a_rare_value_of_a_record_is_raised_to_its_parent() -> None:
    """1/1 stands once beside five 0/1: both become carriers only when asked to (B), the common value stays."""
    row = ["0/0"] * 4 + ["0/1"] * 3 + ["1/1"]
    result = bin_genotypes([row, row], tree(), within=2, across=2)
    assert set(result.rows[0][:4]) == {"0/0"}
    assert result.rows[0][7] in ("carrier", "*")
    assert check_bins(result.rows, "*", within=2, across=2)[0]


def test_a_unique_combination_is_joined_with_the_nearest() -> None:
    rows = [["0/1", "0/0"], ["0/1", "0/0"], ["1/1", "0/0"], ["0/1", "0/0"]]
    result = bin_genotypes(rows, tree(), within=1, across=2)
    assert result.rows[result.order.index(2)][0] == "carrier"
    assert all(row[1] == "0/0" for row in result.rows)  # what is common stays


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.sampled_from(VALUES), min_size=4, max_size=4), min_size=3, max_size=6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_every_release_holds_and_covers(rows: list[list[str]], within: int, across: int, random: object) -> None:
    hierarchy = tree()
    result = bin_genotypes(rows, hierarchy, within=within, across=across)
    assert check_bins(result.rows, "*", within=within, across=across) == (True, "")
    for place, new in zip(result.order, result.rows, strict=True):
        assert all(hierarchy.covers(b, a) for a, b in zip(rows[place], new, strict=True))
    shuffled = random.sample(rows, len(rows))  # type: ignore[attr-defined]
    again = bin_genotypes(shuffled, hierarchy, within=within, across=across)
    assert (again.rows, again.raised, again.loss) == (result.rows, result.raised, result.loss)
    if within == across == 1:
        assert result.raised == 0


def test_a_planted_violation_is_rejected() -> None:
    assert not check_bins([["0/0", "0/0"], ["0/0", "0/1"]], "*", within=1, across=2)[0]
    assert not check_bins([["0/0", "0/1"], ["0/0", "0/1"]], "*", within=2, across=2)[0]


def test_files_and_bad_input(tmp_path: Path) -> None:
    vcf = tmp_path / "a.vcf"
    header = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tx\ty\n"
    vcf.write_text(
        f"##fileformat=VCFv4.2\n{header}1\t5\trs1\tA\tG\t.\t.\t.\tGT:DP\t0|0:9\t1|0:7\n1\t9\t.\tA\tG\t.\t.\t.\tGT\t./.\t1/1\n"
    )
    table = read_genotypes(vcf)
    assert table.sites == ("rs1", "1:9")
    assert table.rows == (("0/0", "*"), ("0/1", "1/1"))
    write_genotypes(table, tmp_path / "b.csv")
    assert read_genotypes(tmp_path / "b.csv") == table
    (tmp_path / "d.csv").write_text((tmp_path / "b.csv").read_text().replace(",", ";"))
    assert read_genotypes(tmp_path / "d.csv") == table
    (tmp_path / "c.csv").write_text("record,rs1\na,0/0\nb,AA\n")
    with pytest.raises(InputError, match="line 3"):
        read_genotypes(tmp_path / "c.csv")
    with pytest.raises(InputError, match="fewer than 9"):
        bin_genotypes(table.rows, tree(), within=1, across=9)
    with pytest.raises(ConfigError):
        bin_genotypes(table.rows, tree(), within=0, across=1)
    with pytest.raises(InputError, match="record 2"):
        bin_genotypes([["0/0"], ["7/7"]], tree(), within=1, across=1)


def test_a_table_without_names_of_records_is_refused(tmp_path: Path) -> None:
    """Its first site would be taken for the names, and be gone."""
    place = tmp_path / "c.csv"
    place.write_text("rs1,rs2\n0/0,0/1\n1|1,0/1\n")
    with pytest.raises(FormatError, match="first column holds genotypes"):
        read_genotypes(place)
    place.write_text("id,rs1,rs2\n1,0/0,0/1\n2,1|1,0/1\n")
    assert read_genotypes(place).records == ("1", "2")


def test_sites_of_one_name_are_all_protected() -> None:
    levels = GenomeLevels(method="binning", within=1, across=2, protect="1:100")
    assert levels.bins(("1:100", "rs2", "1:100"))["protected"] == [0, 2]
