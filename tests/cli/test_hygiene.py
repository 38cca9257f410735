"""No PHI in what the commands and functions say: planted identifiers, everything driven into its errors.

Identifiers stand in the text, in file and folder names, ids, fields and field names. Outputs that are to hold them
(previews, annotated documents, lists for a re-run) are left out; everything else is searched.
"""

from __future__ import annotations

import datetime
import json
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes import WordRecognizer

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.cli.main import main
from deid.document import Document, Failure, Span
from deid.io import FORMATS, scan
from deid.pipeline import Pipeline, Settings, scrub_files, tag_files, verify_files
from deid.pipeline.alignment import align_by_annotations, align_by_text
from deid.pipeline.edit_log import log_line, move_spans, read_edit_log
from deid.pipeline.naming import Naming
from deid.pipeline.patients import Patients, read_patients
from deid.pipeline.verification import verify_document
from deid.replacement.deid_tags import parse_tags
from deid.replacement.encryption import decrypt_text
from deid.replacement.operators import OPERATORS
from deid.replacement.policy import load_policy, parse_policy, shipped_policies
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Scope

PLANTED = ("Zebulon", "Quartermain", "Ulaanbaatar", "555-0142", "zq@ulaan.org", "ZQ-77812")
TEXT = "Dr. Zebulon Quartermain, Ulaanbaatar, (617) 555-0142, zq@ulaan.org, MRN ZQ-77812, seen 03/14/2019.\n"
KEY = Key(b"k" * 32)


def assert_silent(said: str, where: str = "") -> None:
    low = said.casefold()
    found = [word for word in PLANTED if word.casefold() in low]
    assert not found, f"{where}: {found} in {said}"


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(bad: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command as users do; it returns the status and everything that was said."""

    def call(*arguments: object) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            patch.chdir(bad)
            patch.setattr(sys, "argv", ["deid", *map(str, arguments)])
            with pytest.raises(SystemExit) as stopped:
                main()
        said = capfd.readouterr()
        return int(stopped.value.code or 0), said.out + said.err

    return call


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Return a folder of inputs that go wrong in many ways, all of them full of identifiers."""
    notes = tmp_path / "notes" / "Quartermain_Zebulon"
    notes.mkdir(parents=True)
    (notes / "ZQ-77812.txt").write_text(TEXT)
    (notes / "Zebulon 1960.txt").write_bytes(TEXT.encode() + b"\xff\xfe")
    (notes / "empty Ulaanbaatar.txt").write_bytes(b"")
    row = {"id": "ZQ-77812", "text": TEXT, "Quartermain": "Zebulon", "more": {"zq@ulaan.org": ["Ulaanbaatar"]}}
    label = [{"start": 4, "end": 23, "label": "Zebulon", "id": "ZQ-77812", "text": "Zebulon Quartermain"}]
    outside = [{"start": 4, "end": 9999, "label": "PATIENT"}]
    wrong = [{"start": 4, "end": 11, "label": "PATIENT", "text": "Quartermain"}]
    with (tmp_path / "records.jsonl").open("w") as stream:
        for n, spans in enumerate((label, outside, wrong, [], [{"start": "Zebulon"}])):
            stream.write(json.dumps({**row, "id": f"ZQ-77812-{n}", "spans": spans}) + "\n")
        stream.write(json.dumps({**row, "id": "ZQ-77812-0"}) + "\n")
        stream.write('{"text": "Zebulon Quartermain", \n')
        stream.write(json.dumps({"id": ["Zebulon"], "text": "Zebulon"}) + "\n")
    (tmp_path / "table.csv").write_text(f'Zebulon,text,id\nUlaanbaatar,"{TEXT}",ZQ-77812\nUlaanbaatar,"Zebulon\n')
    (tmp_path / "broken.xml").write_text(f"<deIdi2b2><TEXT><![CDATA[{TEXT}]]></TEXT><TAGS><NAME Zebulon")
    (tmp_path / "patients.csv").write_text("document,patient\nQuartermain,Zebulon\nQuartermain,Ulaanbaatar\n")
    return tmp_path


def test_commands_say_nothing(bad: Path, run: Run) -> None:
    rules = ("--model", "none")
    runs: list[tuple[object, ...]] = [
        ("scrub", "notes", "o1", *rules, "--edits", "e1.jsonl", "--json", "s1.json", "--jobs", "2"),
        ("scrub", "records.jsonl", "o2.jsonl", *rules, "--policy", "tag", "--json", "s2.json"),
        ("scrub", "records.jsonl", "o3.jsonl", "--gold", "--policy", "safe-harbor", "--edits", "e3.jsonl"),
        ("scrub", "table.csv", "o4.csv", *rules, "--patient-field", "Zebulon"),
        ("scrub", "broken.xml", "o5.xml", *rules),
        ("scrub", "notes", "o6", *rules, "--patients", "patients.csv"),
        ("scrub", "records.jsonl", "o7.jsonl", *rules, "--date-field", "Quartermain"),
        ("tag", "notes", "t1", *rules, "--json", "s3.json"),
        ("tag", "records.jsonl", "t2.jsonl", *rules, "--to", "jsonl"),
        ("tag", "broken.xml", "t3", *rules),
        ("verify", "notes", "o1", *rules, "--json", "s4.json"),
        ("verify", "notes", "o1", "--edits", "e1.jsonl"),
        ("verify", "records.jsonl", "o2.jsonl", "--no-detect"),
        ("verify", "records.jsonl", "records.jsonl", *rules),
        ("verify", "notes", "notes", "--edits", "records.jsonl"),
        ("map", "records.jsonl", "--edits", "e1.jsonl", "--offsets", "scrubbed", "--json", "s5.json"),
        ("map", "records.jsonl", "--edits", "records.jsonl", "--offsets", "original"),
        ("doctor", "--json", "s6.json"),
    ]
    failed = 0
    for arguments in runs:
        status, said = run(*arguments)
        assert status in (0, 1, 2), said
        assert "internal error" not in said
        assert_silent(said, " ".join(map(str, arguments)))
        failed += status != 0
    assert failed >= 12
    for path in sorted(bad.glob("*.json")) + sorted(bad.glob("e?.jsonl")):
        assert_silent(path.read_text(), path.name)


def test_scrubbed_outputs_hold_nothing(bad: Path, run: Run) -> None:
    """What the rules do not find stays in the text; names, ids, fields and annotations never do."""
    run("scrub", "records.jsonl", "gold.jsonl", "--gold", "--policy", "redact")
    run("scrub", "notes", "folder", "--model", "none", "--policy", "redact")
    for line in (bad / "gold.jsonl").read_text().splitlines():
        record = json.loads(line)
        del record["text"], record["Quartermain"]
        assert_silent(json.dumps({key: value for key, value in record.items() if key != "spans"}))
    assert_silent("\n".join(str(path.relative_to(bad)) for path in (bad / "folder").rglob("*")))


def _errors(bad: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield calls of public functions that must fail (or yield failures)."""
    document = Document("ZQ-77812", TEXT, (Span(4, 23, "Zebulon"),), {"Quartermain": "Zebulon"}, 3)
    scope = Scope(KEY, "ZQ-77812", "Zebulon", datetime.date(2019, 1, 1), "en", document.metadata)
    outside = [Span(4, 9999, "PATIENT")]
    for name in shipped_policies():
        yield f"replace {name}", lambda name=name: Replacer(load_policy(name))(document, outside, scope)  # type: ignore[misc]
    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    for word in ("FAIL", "BUG"):
        yield f"pipeline {word}", lambda word=word: list(pipeline.pipe([Document("Zebulon", f"{word} {TEXT}")]))  # type: ignore[misc]
        yield f"process {word}", lambda word=word: list(pipeline.pipe([Document("Zebulon", f"{word} {TEXT}")], 2))  # type: ignore[misc]
    dated = Pipeline(WordRecognizer(), load_policy("redact"), KEY, Settings(date_field="Quartermain"))
    yield "date field", lambda: dated(document)
    gold = Pipeline(None, load_policy("redact"), KEY, Settings(gold=True))
    yield "gold outside", lambda: gold(document.with_spans(outside))
    yield "gold files", lambda: scrub_files(scan(bad / "notes"), bad / "x1", gold)
    yield "scrub files", lambda: scrub_files(scan(bad / "records.jsonl"), bad / "x2.jsonl", pipeline).failures
    yield "tag files", lambda: tag_files(scan(bad / "notes"), bad / "x3", WordRecognizer(), FORMATS["text"]).failures
    yield (
        "verify",
        lambda: verify_files(scan(bad / "notes"), scan(bad / "notes"), recognizer=WordRecognizer()).failures,
    )
    yield "verify pair", lambda: verify_document(document, document.with_spans([Span(0, 5, "X")]))
    yield "edit log", lambda: list(read_edit_log(bad / "records.jsonl"))
    (bad / "log.jsonl").write_bytes(log_line("doc-1", 9, ()))
    yield "map", lambda: list(move_spans([TEXT.encode()], bad / "log.jsonl", back=False))
    yield "patients", lambda: read_patients(bad / "patients.csv")
    yield "decrypt", lambda: decrypt_text(TEXT + "[NAME:" + "A" * 80 + "]", KEY)
    for operator, parameters in (("generalize", "hierarchy"), ("published-value", "values"), ("zip3", "counts")):
        for name in ("patients.csv", "records.jsonl", "table.csv"):
            policy = {"default": {"operator": "redact"}, "allow": ["ZIP"], "categories": {}}
            policy["categories"] = {"ZIP": {"operator": operator, parameters: name}}
            yield f"{operator} {name}", lambda policy=policy: Replacer(parse_policy(policy, "p", bad))  # type: ignore[misc]


def test_functions_say_nothing_when_they_fail(bad: Path) -> None:
    raised = 0
    for what, call in _errors(bad):
        said = ""
        try:
            for item in call() or ():  # type: ignore[attr-defined]
                if isinstance(item, Failure):
                    said += f"{item} {item.error} {item.error!r} {item.error.args}"
        except DeidError as error:
            said = "".join(traceback.format_exception(error)) + repr(error)
        raised += bool(said)
        assert_silent(said.replace(str(bad), ""), what)
    assert raised > 20


@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of POSIX")
def test_a_crash_of_a_command_leaves_no_file_of_its_memory(tmp_path: Path) -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if not hard:
        pytest.skip("nobody may write such files here")
    code = (
        "import os, resource, signal, sys; import deid.cli.main as m; sys.argv = ['deid', '--version']\n"
        "try: m.main()\nexcept SystemExit: pass\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0]); sys.stdout.flush(); os.kill(os.getpid(), signal.SIGABRT)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)),
    )
    assert done.returncode == -signal.SIGABRT
    assert done.stdout.split()[-1] == "0"
    assert not list(tmp_path.iterdir())


def test_values_show_no_text() -> None:
    document = Document("ZQ-77812", TEXT, (Span(4, 23, "PATIENT"),), {"Quartermain": "Zebulon"}, 3)
    scope = Scope(KEY, "ZQ-77812", "Zebulon", None, "en", document.metadata)
    settings = Settings(gold=True, patients=Patients({"ZQ-77812": "Zebulon"}), originals=True)
    scrubbed = Pipeline(None, load_policy("surrogate"), KEY, settings)(document)
    values = (document, scope, settings, scrubbed, scrubbed.edits, Naming(KEY))
    assert_silent(" ".join(map(repr, values)))
    assert list(parse_tags(TEXT)) == []
    assert align_by_text(TEXT, TEXT) == []
    assert_silent(repr(align_by_annotations(TEXT, scrubbed.document.text, scrubbed.document.spans)))
    assert_silent(repr(OPERATORS) + repr(load_policy("surrogate")))
