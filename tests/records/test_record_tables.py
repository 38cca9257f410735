"""Tables of what stands where: the shipped ones hold together, and a site's lines are checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import PID, message, places

from deid.base.errors import ConfigError
from deid.records.hl7v2 import read
from deid.records.tables import load_table, standards


@pytest.mark.parametrize("name", standards())
def test_shipped_tables_hold_together(name: str) -> None:
    table = load_table(name)
    assert all(table.rules(head) for head in table.heads)
    assert all(table.fields[head] >= lines[-1].keys[-1] for head, lines in table.heads.items() if not table.named)
    assert all(line.reason for lines in table.heads.values() for line in lines)


def test_a_sites_lines_stand_over_the_shipped_ones(tmp_path: Path) -> None:
    site = tmp_path / "ours.toml"
    site.write_text('[segments.ZPI]\n1 = ["XPN PATIENT", "our name"]\n[segments.NTE]\n3 = ["keep", "codes here"]\n')
    found = places(read(message(PID, "ZPI|Smith^Ann|x", "NTE|1|L|Ann"), load_table("hl7v2", site)))
    assert found["ZPI-1.1"] == ("PATIENT", "Smith^Ann")
    assert found["ZPI-2"][0] == "blocked"
    assert found["NTE-3"] == ("PATIENT", "Ann")  # a name of the message is not kept even so


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('[segments.PID]\n77 = ["keep", "x"]', "40 fields"),
        ('[segments.PDI]\n3 = ["keep", "x"]', "did you mean"),
        ('[segments.PID]\n3 = ["PATEINT", "x"]', "did you mean PATIENT"),
        ('[segments.PID]\n3 = ["XPN PATEINT", "x"]', "did you mean PATIENT"),
        ('[segments.PID]\n3 = ["keep", "x"]\n2-4 = ["text", "y"]', "about the same"),
        ('[segments.PID]\n3 = "keep"', "not of the form"),
        ('[segments.PID]\n"3.1" = ["keep", "x"]', "no field"),
        ('[segments.pid]\n3 = ["keep", "x"]', "no name of a segment"),
        ("[segments.PID]\nfields = 50", "the standard says"),
        ('[types.XPN]\n1 = ["XPN", "x"]', "circle"),
        ("[record]\npatient = []", "no section"),
        ("segments = 3", "no table of tables"),
        ("not toml", "cannot be read"),
    ],
)
def test_lines_that_cannot_be_meant_are_refused(tmp_path: Path, lines: str, words: str) -> None:
    site = tmp_path / "ours.toml"
    site.write_text(lines + "\n")
    with pytest.raises(ConfigError, match=words) as caught:
        load_table("hl7v2", site)
    assert caught.value.where == str(site)


def test_a_standard_without_a_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="hl7v2"):
        load_table("hl8")
