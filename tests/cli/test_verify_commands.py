"""The commands verify, map, policy and doctor as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_scrub_commands import RULES, TEXT, run

from deid.base.errors import ConfigError, FormatError
from deid.pipeline.edit_log import read_edit_log


@pytest.fixture
def scrubbed(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n1.txt").write_text(TEXT)
    run("scrub", tmp_path / "in", tmp_path / "out", *RULES, "--edits", tmp_path / "e.jsonl", "--policy", "redact")
    return tmp_path


def test_verify_passes_and_fails(scrubbed: Path) -> None:
    folders = (scrubbed / "in", scrubbed / "out")
    said = run("verify", *folders, "--edits", scrubbed / "e.jsonl", "--json", scrubbed / "s.json")
    assert "1 by edit log" in said
    assert json.loads((scrubbed / "s.json").read_text())["aligned"] == {"edit log": 1}
    assert "1 by detection" in run("verify", *folders, *RULES)
    assert "1 by comparison" in run("verify", *folders, "--no-detect")
    (file,) = (scrubbed / "out").iterdir()
    file.write_text(file.read_text().replace("Seen", "Heard"))
    said = run("verify", *folders, "--edits", scrubbed / "e.jsonl", "--failed", scrubbed / "f", status=1)
    assert "the text outside the replaced stretches differs" in said
    assert "Heard" not in said


def test_map_there_and_back(scrubbed: Path) -> None:
    start = TEXT.index("Quartermain")
    span = {"document": "n1", "start": start, "end": start + 11, "label": "DOCTOR"}
    (scrubbed / "spans.jsonl").write_text(json.dumps(span) + "\n")
    log = ("--edits", scrubbed / "e.jsonl")
    run("map", scrubbed / "spans.jsonl", *log, "--offsets", "scrubbed", "--output", scrubbed / "moved.jsonl")
    moved = json.loads((scrubbed / "moved.jsonl").read_text())
    (entry,) = read_edit_log(scrubbed / "e.jsonl")
    assert moved == {"document": entry.document, "start": start, "end": start + 6, "label": "DOCTOR"}
    said = run("map", scrubbed / "moved.jsonl", *log, "--offsets", "original")
    assert json.dumps({**moved, "end": start + 11}) in said
    (scrubbed / "spans.jsonl").write_text(json.dumps({**span, "document": "Quartermain"}) + "\n")
    said = run("map", scrubbed / "spans.jsonl", *log, "--offsets", "scrubbed", status=1)
    assert "line 1" in said
    assert "Quartermain" not in said
    with pytest.raises(ConfigError):
        run("map", scrubbed / "spans.jsonl", *log, "--offsets", "somewhere")
    with pytest.raises(FormatError):
        run("map", scrubbed / "spans.jsonl", "--edits", scrubbed / "spans.jsonl", "--offsets", "scrubbed")


def test_policy_show_and_check(tmp_path: Path) -> None:
    said = run("policy", "show")
    assert "surrogate (default)" in said
    assert "safe-harbor" in said
    assert "year-only" in said
    said = run("policy", "show", "safe-harbor")
    assert "ZIP             B  zip3" in said
    assert "holds together" in run("policy", "check", "limited-data-set")
    mine = tmp_path / "mine.toml"
    mine.write_text('[default]\noperator = "redact"\n[categories.CITY]\noperator = "keep"\n')
    with pytest.raises(ConfigError, match="CITY"):
        run("policy", "check", mine)
    assert "CITY (B)" in run("policy", "check", mine, "--accept", "CITY")


def test_policies_with_conditions_are_shown(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        '[default]\noperator = "redact"\n[[when]]\nfield = "kind"\nvalues = ["ECG"]\n'
        '[when.categories.AGE]\noperator = "age90"\n'
    )
    said = run("policy", "show", mine)
    assert "where kind is ecg:" in said
    assert "AGE           C  age90" in said


def test_doctor_tells_what_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    key.chmod(0o644)
    said = run("doctor", "--key-file", key, "--json", tmp_path / "s.json", status=1)
    assert "chmod 600" in said
    findings = {f["subject"]: f for f in json.loads((tmp_path / "s.json").read_text())["findings"]}
    assert findings["key"]["state"] == "broken"
    assert findings["dictionaries"]["state"] == findings["policies"]["state"] == findings["rules"]["state"] == "ok"
    key.chmod(0o600)
    monkeypatch.setattr("deid.reading.dictionaries.available", lambda: ())
    said = run("doctor", "--key-file", key, status=1)
    assert "there are no word lists" in said
    assert f"ok      key           {key}" in said
    missing = tmp_path / "missing"
    said = run("doctor", "--key-file", missing, status=1)
    assert f"note    key           there is no key in {missing}" in said
    assert not missing.exists()
