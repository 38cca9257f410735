"""What is said of a published table: levels of its columns, of columns and codes together, and how it was recoded."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.disclosure.assessment import CheckedRequirements
from deid.disclosure.options import DiskOptions, OtherTables, VerifierOptions
from deid.joint.assessing import assess_table
from deid.table.options import TableOptions

ROLES = VerifierOptions(qi=("age,sex",), sensitive=("disease",))
MEMORY, DISK = DiskOptions(), DiskOptions(memory=1 << 30)


def released(folder: Path, name: str = "out.csv") -> TableOptions:
    rows = [(f"[{20 + 10 * (n % 2)}-29]", "FM"[n % 2], ("flu", "gout")[n % 4 > 1], "250.1;401.9") for n in range(16)]
    frame = pd.DataFrame(rows, columns=["age", "sex", "disease", "codes"])
    path = folder / name
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return TableOptions(str(path))


def test_levels_and_the_kind_of_recoding(tmp_path: Path) -> None:
    source = released(tmp_path)
    asked = CheckedRequirements(k=9, l=2)
    findings, notes, figures = assess_table(source, ROLES, asked, OtherTables(original=source.table), MEMORY)
    assert [finding.cells[:4] for finding in findings[:2]] == [
        ("k-anonymity", "9", "8", "NO"),
        ("distinct l-diversity of disease", "2", "2", "yes"),
    ]
    assert findings[2].cells[1] == "-"
    assert findings[0].cells[4].split()[0] == "1"
    assert findings[0].failed
    assert list(figures) == ["rows", "findings", "recoding"]
    assert figures["rows"] == 16
    assert notes[-1].endswith(f"in the same order: {figures['recoding']}")


@pytest.mark.parametrize(("k", "met"), [(8, "yes"), (9, "NO")])
def test_columns_and_codes_together(tmp_path: Path, k: int, met: str) -> None:
    asked = CheckedRequirements(k=k, codes="codes")
    findings, _, figures = assess_table(released(tmp_path), ROLES, asked, OtherTables(), MEMORY)
    assert findings[-1].cells[0] == "columns and 2 codes of codes"
    assert findings[-1].met == met
    assert "recoding" not in figures


def test_a_table_on_disk_has_the_same_levels_and_no_other_table(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    source, asked = released(tmp_path, "out.parquet"), CheckedRequirements(k=8, l=2)
    here, _, _ = assess_table(source, ROLES, asked, OtherTables(), MEMORY)
    there, notes, figures = assess_table(source, ROLES, asked, OtherTables(), DISK)
    level = {finding.name: finding.reached for finding in here}
    assert {finding.name: finding.reached for finding in there}.items() <= level.items()
    assert notes == ["every row was counted as a person; whether persons look alike was not looked at"]
    assert list(figures) == ["findings"]
    for wrong, other in (
        (CheckedRequirements(k=2, codes="codes"), OtherTables()),
        (asked, OtherTables(population="p.csv")),
        (asked, OtherTables(original="o.csv")),
    ):
        with pytest.raises(ConfigError, match="is for tables in memory"):
            assess_table(source, ROLES, wrong, other, DISK)
