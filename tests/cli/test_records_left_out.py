"""A record that cannot be read is left out of its file, and the exit status says so: the same for every standard."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deid.cli.main import app

BAD = {
    "bad.hl7": "MSH|^~\\&|A|B|C|D|20240101||ORU^R01|1|P|2.5\rNTE|1|L|an \\escape\r",
    "bad.json": '{"resourceType": "Patient", "name": [{"family": "Okafor',
    "bad.xml": '<ClinicalDocument xmlns="urn:hl7-org:v3"><title>cut off',
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize(
    "said", [("scrub",), ("tag", "--to", "jsonl"), ("extract",), ("convert", "--to", "jsonl")], ids=lambda said: said[0]
)
def test_records_left_out_have_a_status_of_their_own(tmp_path: Path, name: str, said: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(BAD[name], newline="")
    out = tmp_path / ("out.csv" if said[0] == "extract" else "out.jsonl" if "--to" in said else f"out-{name}")
    finding = [] if said[0] == "convert" else ["--model", "none"]
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    result = CliRunner().invoke(app, [said[0], str(tmp_path / name), str(out), *said[1:], *finding], env=env)
    assert result.exit_code == 3, result.output
    assert "1 failed" in result.output
    assert "Okafor" not in result.output
