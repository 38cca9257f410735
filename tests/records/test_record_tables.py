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


def test_a_type_that_a_site_keeps_is_kept_where_a_field_says_it(tmp_path: Path) -> None:
    site = tmp_path / "ours.toml"
    site.write_text('[types.ZX]\nALL = ["keep", "colours"]\n')
    table = load_table("hl7v2", site)
    found = places(read(message(PID, "OBX|1|ZX|1^x^L||green", "OBX|2|ZY|1^x^L||green", "OBX|3|ST|1^x^L||green"), table))
    assert "OBX-5" not in found
    assert found["OBX[2]-5"][0] == "blocked"
    assert found["OBX[3]-5"] == ("text", "green")


def test_a_field_that_came_before_stands_at_its_own_place() -> None:
    text = message(PID, "NK1|1|Smith^Ann", "NK1|2|Smith^Ann", "GT1|1||Smith^Ann").decode()
    record = read(text.encode(), load_table("hl7v2"))
    found = [place for place in record.places if place.text == "Smith^Ann"]
    assert [place.path for place in found] == ["NK1-2.1", "NK1[2]-2.1", "GT1-3.1"]
    assert all(text[place.start : place.end] == "Smith^Ann" for place in found)
    assert len({place.start for place in found}) == len(found)


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
        ("not toml", "not valid TOML"),
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
