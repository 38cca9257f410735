"""The command convert."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from deid.cli.main import app
from deid.document import Document, Span
from deid.io import read, write

RUN = CliRunner()


def test_convert_writes_documents_and_a_summary(tmp_path: Path) -> None:
    write([Document("a", "Ann", (Span(0, 3, "PATIENT"),)), Document("b", "x")], tmp_path / "in", "i2b2-2014")
    (tmp_path / "in" / "c.xml").write_text("<deIdi2b2><TEXT>cut")
    (tmp_path / "in" / "README.md").write_text("x")
    result = RUN.invoke(
        app, ["convert", str(tmp_path / "in"), str(tmp_path / "out.jsonl"), "--to", "jsonl", "--json", "-"]
    )
    assert result.exit_code == 1
    summary = json.loads(result.stdout)
    assert (summary["documents"], summary["failed"], summary["categories"]) == (2, 1, {"PATIENT": 1})
    assert (summary["from"], summary["to"], summary["dropped"]) == ("i2b2-2014", "jsonl", {})
    assert summary["failures"][0]["error"] == "FormatError"
    assert "not read, and not copied: 1 .md files" in result.stderr
    assert [d.id for d in read(tmp_path / "out.jsonl") if isinstance(d, Document)] == ["a", "b"]


def test_options_of_reading_and_labels(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("key;body\n7;José\n".encode("cp1252"))
    arguments = ["--to", "jsonl", "--encoding", "cp1252", "--text-field", "body", "--id-field", "key"]
    result = RUN.invoke(app, ["convert", str(tmp_path / "in.csv"), str(tmp_path / "out.jsonl"), *arguments])
    assert result.exit_code == 0, result.output
    assert list(read(tmp_path / "out.jsonl")) == [Document("7", "José")]
    result = RUN.invoke(app, ["convert", "--help"])
    assert "Example: deid convert" in result.output
