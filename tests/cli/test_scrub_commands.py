"""The commands scrub and tag as a user calls them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import run
from fakes import heed_interrupts
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, OutputError
from deid.base.keys import default_key_path
from deid.cli.main import app
from deid.document import Document
from deid.io import Options, open_writer, read
from deid.manifest import manifest_path

TEXT = "Seen by Dr. Quartermain on 03/14/2019. Call (617) 555-0123.\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name in ("n1", "sub/n2"):
        path = tmp_path / "notes" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT)
    return tmp_path / "notes"


RULES = ("--model", "none")


def test_scrub_writes_the_same_format_and_says_what_it_did(notes: Path, tmp_path: Path) -> None:
    said = run("scrub", notes, tmp_path / "out", *RULES, "--policy", "redact", "--json", tmp_path / "s.json")
    assert "created a new key in" in said
    assert default_key_path().stat().st_mode & 0o777 == 0o600
    assert "photographs" not in said  # a sentence of every run is read by nobody; the manifest has it
    assert "photographs" in manifest_path(tmp_path / "out").read_text()
    assert run("manifest", "verify", tmp_path / "out").endswith("all holds\n")
    assert "scrub: 2 documents, 0 failed, 6 spans" in said
    files = sorted((tmp_path / "out").rglob("*.txt"))
    assert [f.read_text() for f in files] == ["Seen by Dr. [NAME] on [DATE]. Call [CONTACT].\n"] * 2
    summary = json.loads((tmp_path / "s.json").read_text())
    assert (summary["documents"], summary["failed"]) == (2, 0)
    assert summary["categories"] == {"DATE": 2, "DOCTOR": 2, "PHONE": 2}
    assert summary["policy"] == "redact"


def test_the_folder_in_which_one_stands_is_a_place(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies beside it is called after it, whatever it is called here."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run("scrub", notes, ".", *RULES, "--policy", "redact")
    run("verify", notes, "./", *RULES, "--policy", "redact")
    run("audit", "../here/.", "--sheet", "../sheet.csv")
    run("manifest", "page", ".", "-o", "../page.html")
    assert "3 manifests (scrub, verify, audit)" in run("manifest", "verify", "../notes/../here/.")
    monkeypatch.chdir(notes / "sub")
    assert "3 manifests" in run("manifest", "verify", Path(os.pardir, os.pardir, "here"))
    assert "tag: 2 documents" in run("tag", "..", "../../tagged", *RULES)
    assert (tmp_path / "here.manifest.json").is_file()
    for place in ("/", "/.."):
        with pytest.raises(OutputError, match="has no name"):
            run("manifest", "verify", place)


def test_the_same_key_gives_the_same_output(notes: Path, tmp_path: Path) -> None:
    for name, key in (("a", "k1"), ("b", "k1"), ("c", "k2")):
        run("scrub", notes, tmp_path / name, *RULES, "--key-file", tmp_path / key)
    a, b, c = ({p.relative_to(tmp_path / n): p.read_text() for p in (tmp_path / n).rglob("*.txt")} for n in "abc")
    assert a == b != c
    assert not any("Quartermain" in text for text in a.values())


def test_keep_names_and_fields(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "n1", "text": TEXT, "ward": "B", "mrn": "17"}) + "\n")
    run("scrub", tmp_path / "in.jsonl", tmp_path / "out.jsonl", *RULES, "--keep", "id", "--keep", "ward")
    record = json.loads((tmp_path / "out.jsonl").read_text())
    assert (record["id"], record["ward"]) == ("n1", "B")
    assert record["mrn"] != "17"


def test_keep_filename(notes: Path, tmp_path: Path) -> None:
    run("scrub", notes, tmp_path / "out", *RULES, "--keep", "filename")
    assert (tmp_path / "out" / "sub" / "n2.txt").is_file()


def test_patients_share_surrogates(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a1", "a2", "b1"):
        (tmp_path / "in" / f"{name}.txt").write_text(TEXT)
    (tmp_path / "p.csv").write_text("document,patient\na1,A\na2.txt,A\nb1,B\n")
    for option in (("--patients", tmp_path / "p.csv"), ("--patient-pattern", "^[ab]")):
        out = tmp_path / f"out{option[0]}"
        said = run("scrub", tmp_path / "in", out, *RULES, "--keep", "filename", *option)
        assert "without a patient" not in said
        a1, a2, b1 = ((out / f"{name}.txt").read_text() for name in ("a1", "a2", "b1"))
        assert a1 == a2 != b1
    said = run("scrub", tmp_path / "in", tmp_path / "none", *RULES)
    assert "3 documents without a patient" in said


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_patients_whose_ids_are_written_in_several_ways_are_told(tmp_path: Path, jobs: str) -> None:
    """One person has two surrogates then, which nobody would see."""
    rows = [{"id": f"n{n}", "text": TEXT, "p": p} for n, p in enumerate(("4711", "04711", "0 4711", "A1", "a1", "A1"))]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    field = ("--patient-field", "p", "--jobs", jobs)
    said = run("scrub", tmp_path / "in.jsonl", tmp_path / "o.jsonl", *RULES, *field)
    assert "2 patients have ids that differ in blanks, hyphens, leading zeros, case or look-alike signs alone" in said
    assert "4711" not in said
    said = run("scrub", tmp_path / "in.jsonl", tmp_path / "r.jsonl", *RULES, *field, "--policy", "redact")
    assert "patients have ids" not in said
    (tmp_path / "one.jsonl").write_text("".join(json.dumps({**row, "p": "4711"}) + "\n" for row in rows))
    assert "patients have ids" not in run("scrub", tmp_path / "one.jsonl", tmp_path / "p.jsonl", *RULES, *field)


def test_gold_and_as_of(tmp_path: Path) -> None:
    spans = [{"start": 5, "end": 13, "label": "DATE"}]
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "1", "text": "born 3/4/1915 here", "spans": spans}) + "\n")
    for as_of, shown in (("2003-01-01", "1915"), ("2010-01-01", "<=1920")):
        out = tmp_path / f"{as_of}.jsonl"
        run("scrub", tmp_path / "in.jsonl", out, "--gold", "--policy", "safe-harbor", "--as-of", as_of)
        assert json.loads(out.read_text())["text"] == f"born {shown} here"


def test_preview_shows_the_changes_and_writes_nothing(notes: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    said = run("scrub", notes, *RULES, "--preview", "--preview-count", "1", "--policy", "redact")
    assert "Seen by Dr. [-Quartermain-]{+[NAME]+} on [-03/14/2019-]{+[DATE]+}." in said
    assert said.count("changes") == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert not default_key_path().exists()


def test_concept_match_blocks_what_it_does_not_know(notes: Path, tmp_path: Path) -> None:
    run("scrub", notes, tmp_path / "out", "--method", "concept-match", "--edits", tmp_path / "e.jsonl")
    texts = {f.read_text() for f in (tmp_path / "out").rglob("*.txt")}
    assert len(texts) == 1
    assert not any(word in texts.copy().pop() for word in ("Quartermain", "2019", "555"))
    assert (tmp_path / "e.jsonl").stat().st_size > 0


def test_a_vault_can_be_filled_and_asked(notes: Path, tmp_path: Path) -> None:
    keys = ("--key-file", tmp_path / "vault.key")
    run("vault", "init", tmp_path / "v.db", *keys, "--why", "test")
    vault = ("--vault", tmp_path / "v.db", "--vault-key-file", tmp_path / "vault.key")
    run("scrub", notes / "n1.txt", tmp_path / "out.txt", *RULES, *vault)
    surrogate = (tmp_path / "out.txt").read_text().removeprefix("Seen by Dr. ").split(" on ")[0]
    assert '"original": "Quartermain"' in run(
        "vault", "reidentify", tmp_path / "v.db", surrogate, *keys, "--why", "test"
    )


def test_what_fails_is_listed_for_a_second_run(notes: Path, tmp_path: Path) -> None:
    bad = notes / "Quartermain.txt"
    bad.write_bytes(b"caf\xe9")
    said = run("scrub", notes, tmp_path / "out", *RULES, "--failed", tmp_path / "failed", status=1)
    assert "2 documents, 1 failed" in said
    assert "Quartermain" not in said
    assert (tmp_path / "failed").read_text() == f"{bad}\n"
    assert (tmp_path / "failed").stat().st_mode & 0o777 == 0o600
    assert len(list((tmp_path / "out").rglob("*.txt"))) == 2
    run("scrub", bad, tmp_path / "again.txt", *RULES, "--encoding", "latin-1")
    assert (tmp_path / "again.txt").read_bytes() == b"caf\xe9"


@pytest.mark.parametrize(
    "said",
    [
        ("scrub", *RULES),
        ("tag", *RULES[:2], "--to", "jsonl"),
        ("convert", "--to", "jsonl"),
        ("generalize", "--plausible", "4"),
    ],
)
def test_where_all_fails_it_is_told_why_though_the_folder_of_the_output_is_not_there(
    tmp_path: Path, said: tuple[str, ...]
) -> None:
    """What is listed and proved beside OUT lies where OUT would have been."""
    (tmp_path / "in.jsonl").write_text("{\n")
    told = run(said[0], tmp_path / "in.jsonl", tmp_path / "new" / "folder" / "out.jsonl", *said[1:], status=1)
    assert "FormatError" in told
    assert "cannot write" not in told
    assert (tmp_path / "new" / "folder" / "out.jsonl.manifest.json").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["{notes}", "{notes}/out"], OutputError),
        (["{notes}", "{notes}"], OutputError),
        (["{notes}"], ConfigError),
        (["{notes}", "{out}", "--policy", "safe-haven"], ConfigError),
        (["{notes}", "{out}", "--as-of", "yesterday"], ConfigError),
        (["{notes}", "{out}", "--patient-pattern", "("], ConfigError),
        (["{notes}", "{out}", "--patient-text", "("], ConfigError),
        (["{notes}", "{out}", "--patients", "{notes}/none.csv"], ConfigError),
        (["{notes}", "{out}", "--gold"], ConfigError),
        (["{notes}", "{out}", "--method", "magic"], ConfigError),
        (["{notes}", "{out}", "--method", "concept-match", "--policy", "tag"], ConfigError),
        (["{notes}", "{out}", "--vault", "{notes}/none.db"], DeidError),
        (["{notes}", "{out}", "--vault", "postgresql://me:secret@host/db"], ConfigError),
        (["{notes}", "{out}", "--vault-key-file", "{notes}/key"], ConfigError),
        (["{notes}", "{out}", "--jobs", "-1"], ConfigError),
        (["{notes}", "{out}", "--accept", "ZIPS"], ConfigError),
        (["{notes}", "{out}", "--deny", "{notes}/none.txt"], ConfigError),
        (["{notes}", "{out}", "--gold", "--allow", "{notes}/n1.txt"], ConfigError),
        (["{notes}/none", "{out}"], DeidError),
        (["{notes}", "{out}", "--from", "paper"], ConfigError),
        (["{notes}", "{out}", "--encoding", "morse"], DeidError),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(
    notes: Path, tmp_path: Path, arguments: list[str], error: type[Exception]
) -> None:
    filled = [a.format(notes=notes, out=tmp_path / "out") for a in arguments]
    with pytest.raises(error):
        run("scrub", *filled, *([] if {"--gold", "--method"} & set(filled) else RULES))
    assert not (tmp_path / "out").exists()
    assert not (notes / "out").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_lists_of_the_site_and_what_they_did(notes: Path, tmp_path: Path, jobs: int) -> None:
    (tmp_path / "deny.txt").write_text("[DOCTOR]\nSEEN\n")
    (tmp_path / "allow.txt").write_text("Quartermain\nSEEN\n")
    lists = ("--deny", tmp_path / "deny.txt", "--allow", tmp_path / "allow.txt", "--jobs", jobs)
    said = run("scrub", notes, tmp_path / "out", *lists, "--policy", "tag", *RULES, "--json", tmp_path / "s.json")
    assert "deny list of 1 terms: 2 spans added" in said
    assert "allow list of 2 terms: 2 spans taken out" in said
    assert "1 terms stand in both lists; they count as denied" in said
    counted = json.loads((tmp_path / "s.json").read_text())["site_lists"]
    assert counted == {"denied": 2, "recategorized": 0, "allowed": 2, "refused": 0}
    texts = [p.read_text() for p in (tmp_path / "out").rglob("*.txt")]
    assert [t.startswith("[DOCTOR] by Dr. Quartermain on [DATE]") for t in texts] == [True, True]


@pytest.mark.parametrize("jobs", [1, 2])
def test_tag_says_what_lists_of_the_site_did(notes: Path, tmp_path: Path, jobs: int) -> None:
    (tmp_path / "deny.txt").write_text("[DOCTOR]\nSEEN\n")
    (tmp_path / "allow.txt").write_text("Quartermain\n")
    lists = ("--deny", tmp_path / "deny.txt", "--allow", tmp_path / "allow.txt", "--jobs", jobs)
    said = run("tag", notes, tmp_path / "out", *lists, *RULES)
    assert "deny list of 1 terms: 2 spans added" in said
    assert "allow list of 1 terms: 2 spans taken out" in said


def test_tag_annotates_and_forgets_other_annotations(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(
        json.dumps({"id": "n1", "text": TEXT, "spans": [{"start": 0, "end": 4, "label": "CITY"}]}) + "\n"
    )
    said = run("tag", tmp_path / "in.jsonl", tmp_path / "out", *RULES)
    assert "tag: 1 documents, 0 failed, 3 spans" in said
    assert "<deIdi2b2>" in (tmp_path / "out" / "n1.xml").read_text()
    (document,) = read(tmp_path / "out")
    assert isinstance(document, Document)
    assert [s.id for s in document.spans] == ["P0", "P1", "P2"]
    assert document.text == TEXT
    assert [s.category for s in document.spans] == ["DOCTOR", "DATE", "PHONE"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_without_spans_gets_them_in_its_own_format(tmp_path: Path, suffix: str) -> None:
    with open_writer(tmp_path / f"in.{suffix}", suffix, Options(spans_field="")) as writer:
        writer.write(Document("n1", TEXT))
    run("tag", tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}", *RULES, "--to", suffix)
    (document,) = read(tmp_path / f"out.{suffix}")
    assert isinstance(document, Document)
    assert [s.category for s in document.spans] == ["DOCTOR", "DATE", "PHONE"]


def test_scrubbing_in_two_processes_gives_the_same_bytes(notes: Path, tmp_path: Path) -> None:
    run("scrub", notes, tmp_path / "one", *RULES, "--edits", tmp_path / "e1")
    run("scrub", notes, tmp_path / "two", *RULES, "--edits", tmp_path / "e2", "--jobs", "2")
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).rglob("*.txt")} for n in ("one", "two"))
    assert one == two
    assert (tmp_path / "e1").read_bytes() == (tmp_path / "e2").read_bytes()


@pytest.mark.slow
def test_a_pipe_hears_nothing_and_ctrl_c_leaves_no_torn_file(tmp_path: Path) -> None:
    """Standard error is no terminal, so there is no progress bar; after an interruption every file is whole."""
    (tmp_path / "in").mkdir()
    for n in range(1500):
        (tmp_path / "in" / f"n{n}.txt").write_text(TEXT * 4)
    command = [sys.executable, "-m", "deid", "scrub", "in", "out", *RULES, "--policy", "redact", "--jobs", "2"]
    run_ = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heed_interrupts
    )
    deadline = time.monotonic() + 300
    while not list((tmp_path / "out").glob("*.txt")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(run_.pid, signal.SIGINT)
    _, said = run_.communicate(timeout=300)
    assert run_.returncode == 130
    assert re.fullmatch(r"interrupted: \d+ files are there, each whole; the same command goes on with --resume\n", said)
    # a part file may be left by an interruption in the very moment of its making; it is hidden, so nobody reads it
    files = [f for f in (tmp_path / "out").iterdir() if not f.name.startswith(".deid-")]
    assert 0 < len(files) < 1500
    assert {f.suffix for f in files} == {".txt"}
    assert {f.read_text() for f in files} == {"Seen by Dr. [NAME] on [DATE]. Call [CONTACT].\n" * 4}

    # the same command goes on where it was, and does nothing twice
    before = {f.name: f.stat().st_mtime_ns for f in files}
    done = subprocess.run([*command, "--resume"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=True)
    assert f"{len(files)} documents were there from the interrupted run" in done.stderr
    after = {f.name: f.stat().st_mtime_ns for f in (tmp_path / "out").iterdir()}
    assert len(after) == 1500
    assert before.items() <= after.items()
    (tmp_path / "some").mkdir()
    for n in range(0, 1500, 50):
        (tmp_path / "in" / f"n{n}.txt").rename(tmp_path / "some" / f"n{n}.txt")
    run("scrub", tmp_path / "some", tmp_path / "anew", *RULES, "--policy", "redact")
    written = {f.name: f.read_bytes() for f in (tmp_path / "out").iterdir()}
    assert len(set(written.values())) == 1
    assert {f.name: f.read_bytes() for f in (tmp_path / "anew").iterdir()}.items() <= written.items()
    assert len(list((tmp_path / "anew").iterdir())) == 30


def test_known_patients_are_looked_for_and_unknown_ones_counted(tmp_path: Path) -> None:
    records = [
        {"id": "1", "text": "zyx quellwater came, tag 77-4312, with brunhild", "who": "p1", "kin": "Brunhild"},
        {"id": "2", "text": "zyx quellwater came", "who": "p2", "kin": ""},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    (tmp_path / "known.csv").write_text("patient,given,family,ward no\np1,Zyx,Quellwater,774312\n")
    options = ("--known", tmp_path / "known.csv", "--known-column", "ward no=IDNUM", "--known-field", "kin=PATIENT")
    options = (*RULES, *options, "--patient-field", "who")
    summary = tmp_path / "s.json"
    for command, out in (("tag", "tagged.jsonl"), ("scrub", "scrubbed.jsonl")):
        extra = ("--to", "jsonl") if command == "tag" else ("--policy", "redact")
        said = run(command, tmp_path / "in.jsonl", tmp_path / out, *options, *extra, "--json", summary)
        assert "1 documents of patients that the table of known patients does not have" in said
        assert json.loads(summary.read_text())["unlisted"] == 1
    tagged = [json.loads(line) for line in (tmp_path / "tagged.jsonl").read_text().splitlines()]
    found = [[r["text"][s["start"] : s["end"]] for s in r["spans"]] for r in tagged]
    assert found == [["zyx quellwater", "77-4312", "brunhild"], []]
    first = json.loads((tmp_path / "scrubbed.jsonl").read_text().splitlines()[0])
    assert first["text"] == "[NAME] came, tag [ID], with [NAME]"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--known", "{known}", "--known-column", "boots=none"], "whom a document is about"),
        (["--known-column", "a=PATIENT"], "without --known"),
        (["--known", "{known}", "--patient-field", "w"], "column 2, 'boots'"),
        (["--known", "{known}", "--patient-field", "w", "--known-column", "boots"], "NAME=MEANING"),
        (["--known-field", "boots"], "what the field holds is not known"),
    ],
)
def test_a_table_of_known_patients_that_cannot_be_used(notes: Path, tmp_path: Path, options: list, says: str) -> None:
    (tmp_path / "known.csv").write_text("patient,boots\n1,44\n")
    options = [option.format(known=tmp_path / "known.csv") for option in options]
    with pytest.raises(ConfigError, match=says):
        run("scrub", notes, tmp_path / "out", *RULES, *options)
    assert not (tmp_path / "out").exists()


def test_a_name_of_another_format_is_told_how_to_have_it(notes: Path, tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["tag", str(notes / "n1.txt"), str(tmp_path / "out.jsonl"), *RULES])
    assert "--to" in str(refused.exception)
    assert "jsonl" in str(refused.exception).partition("--to")[2]
