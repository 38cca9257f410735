"""Runs over files of many kinds, whose outputs and reports the next version gives again (`pinned`)."""

from __future__ import annotations

import datetime
import json
import os
import random
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.detection.known import Known
from deid.document import Document, Failure, Span
from deid.io import FORMATS, Options, scan
from deid.pipeline import Pipeline, Report, Settings, scrub_files, table_output, tag_files, verify_files
from deid.pipeline.alignment import align_by_annotations, align_by_detection, align_by_text
from deid.pipeline.auditing import ReaderMark, bound_leaks, draw_notes
from deid.pipeline.edit_log import move_span, move_spans, read_edit_log
from deid.pipeline.generalizing import generalize_files
from deid.pipeline.known_people import KnownPeople, column_meaning, read_known_people
from deid.pipeline.naming import Naming, mapped_id
from deid.pipeline.options import GeneralizeOptions, PipelineOptions
from deid.pipeline.patients import Patients, read_patients
from deid.pipeline.resuming import RunNote, select_files
from deid.pipeline.table_output import TableOutput
from deid.pipeline.verification import verify_document
from deid.replacement.policy import load_policy
from deid.replacement.vault import Vault
from tests.fakes import WordRecognizer
from tests.pinned import Pinned, left_unsaid

KEY = Key(b"k" * 32)
WORDS = (
    (r"Zebulon Quartermain|Zebulon|Quartermain", "PATIENT"),
    (r"\b\d{1,2}/\d{1,2}/\d{4}\b", "DATE"),
    (r"Ulan Bator", "CITY"),
    (r"\d{3}-\d{4}", "PHONE"),
    (r"\b\d{2}(?=-year)", "AGE"),
    (r"MRN \d+", "MEDICALRECORD"),
)
TEXTS = (
    "Zebulon Quartermain of Ulan Bator was seen on 1/2/2003.\n",
    "93-year-old Mr. Quartermain (MRN 4711203) rang 555-0134. Quartermain's son came on 3/4/2003.\r\n",
    "Nothing to say.\n",
    "",
    "quartermain was well; Zebulon Ulan Bator Zebulon, 11/12/2002 to 12/12/2002, lung cancer and asthma.\n",
)
"""The last has a name in small letters that is not found: a replaced text still stands there."""


def world() -> None:
    """Write notes of all kinds into the folder where we are."""
    for name, text in zip(("n1", "sub/n2", "sub/Zebulon/n3", "p7-n4", "n5"), TEXTS, strict=True):
        path = Path("notes", f"{name}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    Path("notes/latin.txt").write_bytes(b"caf\xe9 Zebulon 1/2/2003\n")
    Path("notes/fails.txt").write_text("FAIL Zebulon")
    rows = [
        {"id": f"r{n}", "patient": ["7", "8", None, "7"][n % 4], "day": "2003-05-06" if n % 2 else None, "ward": "B",
         "text": text, "nested": {"a": 1}, "size": n,
         "spans": [{"start": 0, "end": 7, "label": "PATIENT", "id": "x"}] if n in (0, 4) else []}
        for n, text in enumerate(TEXTS)
    ]  # fmt: skip
    lines = [json.dumps(row) for row in rows] + ["no json", json.dumps(rows[0] | {"id": "r9", "text": "FAIL"})]
    Path("rows.jsonl").write_text("\n".join(lines) + "\n")
    for name in ("many/a", "many/sub/Zebulon", "many/sub/c"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(f"{name}.jsonl").write_text("\n".join(lines[: 5 if name.endswith("a") else 7]) + "\n")
    cells = "\n".join(f'{r["id"]};{r["patient"] or ""};{r["day"] or ""};"{r["text"]}"' for r in rows[:3])
    Path("cells.csv").write_text(f"key;patient;day;text\n{cells}\n", newline="")
    Path("old.xml").write_text(
        '<ROOT>\n<RECORD ID="1">\n<TEXT>\nAsk <PHI TYPE="DOCTOR">Quartermain</PHI> of Ulan Bator on 1/2/2003.\n</TEXT>'
        '\n</RECORD>\n<RECORD ID="2">\n<TEXT>\nZebulon\n</TEXT>\n</RECORD>\n</ROOT>\n'
    )
    tag_files(scan(Path("rows.jsonl")), Path("gold"), WordRecognizer(WORDS), FORMATS["i2b2-2014"])
    Path("patients.csv").write_text("document,patient\nn1,7\nsub/n2.txt,7\nr0,7\nr4,8\nnone,9\n1,7\n")
    Path("known.csv").write_text("id,given,family,birth_date,phone\n7,Zebulon,Quartermain,1910-02-03,555-0134\n8,,,,\n")
    Path("words.jsonl").write_text(Path("rows.jsonl").read_text())


@contextmanager
def made() -> Iterator[None]:
    """Go to a folder with all of it."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            world()
            yield
        finally:
            os.chdir(before)


def written(place: str = "out") -> list[object]:
    """Return all names and contents of an output."""
    top = Path(place)
    files = (
        sorted(p for p in top.rglob("*") if p.is_file()) if top.is_dir() else sorted(top.parent.glob(f"{top.name}*"))
    )
    return [[str(p), p.stat().st_mode & 0o77 == 0, p.read_bytes().decode("utf-8", "backslashreplace")] for p in files]


def said(error: Exception) -> str:
    """Return what an error is and where, not its words."""
    return f"{type(error).__name__} {getattr(error, 'where', '')} {getattr(error, 'position', '')}"


def failed(failures: list[Failure]) -> list[list[object]]:
    return [[f.name, said(f.error), f.index, f.path] for f in failures]


def told(report: Report) -> list[object]:
    """Return all that a report says."""
    own = {field.name: getattr(report, field.name) for field in fields(report) if field.name != "failures"}
    return [own, report.remarks(per_person=True), report.remarks(), report.counts(), failed(report.failures)]


def checked(source: str, **options: Any) -> list[object]:
    try:
        result = verify_files(scan(Path(source)), scan(Path(OUT(source))), **options)
    except DeidError as error:
        return [said(error)]
    return [result.documents, result.categories, result.aligned, failed(result.failures)]


def OUT(source: str) -> str:
    return f"out{Path(source).suffix}"


def scrubbed(source: str, policy: str, options: Mapping[str, Any], reading: Options | None = None) -> object:
    """Scrub, check in four ways, and return what is there."""
    with made():
        recognizer = None if options.get("gold") else WordRecognizer(WORDS)
        given = load_policy(policy)
        pipeline = Pipeline(recognizer, given, KEY, Settings(**options))
        target = Path(OUT(source))
        report = scrub_files(scan(Path(source), options=reading or Options()), target, pipeline, edit_log=Path("log"))
        checks = [
            checked(source, key=KEY, edit_log=Path("log")),
            checked(source, key=KEY, recognizer=WordRecognizer(WORDS), policy=given),
            checked(source, key=KEY, policy=given),
            checked(source),
        ]
        logs = list(read_edit_log(Path("log")))
        moved = []
        for log in logs:
            asked = b"".join(
                json.dumps({"document": log.document, "start": s, "end": s + 9, "label": "X"}).encode() + b"\n"
                for s in range(0, log.length, 5)
            )
            for back in (False, True):
                lines = move_spans(asked.splitlines(), Path("log"), back=back)
                moved += [line.decode() if isinstance(line, bytes) else failed([line]) for line in lines]
        return [told(report), written(str(target)), Path("log").read_text(), checks, moved, pipeline.notes]


PEOPLE = {
    "nobody": {},
    "table": {"patients": Patients({"n1": "7", "sub/n2": "7", "r0": "7", "r4": "8", "none": "9", "1": "7"})},
    "pattern": {"patients": Patients(pattern=re.compile(r"[rn](\d)"))},
    "field": {
        "patients": Patients(field_name="patient"),
        "known": KnownPeople({"7": (Known("PATIENT", "Zebulon Ulan"),)}),
    },
    "days": {"date_field": "day", "as_of": datetime.date(2001, 2, 3)},
    "kept": {"keep_fields": frozenset({"filename", "ward", "id"}), "keep_id": True},
    "gold": {"gold": True},
}  # fmt: skip
SOURCES = ("notes", "rows.jsonl", "many", "cells.csv", "old.xml", "gold")
POLICIES = ("redact", "tag", "safe-harbor", "limited-data-set", "surrogate")


def again(source: str) -> object:
    """Scrub a part of a list, then go on with an interrupted run."""
    with made():
        pipeline = Pipeline(WordRecognizer(WORDS), load_policy("redact"), KEY)
        whole = scan(Path(source))
        note = RunNote(Path("out"), "asked")
        first = scrub_files(whole, Path("out"), pipeline, run=note)
        for path in sorted(p for p in Path("out").rglob("*") if p.is_file() and not p.name.startswith("."))[::2]:
            path.unlink()
        Path("out/.deid-part-left").write_text("x")
        second = scrub_files(whole, Path("out"), pipeline, run=RunNote(Path("out"), "asked", resume=True))
        Path("list").write_text("".join(f"{f.path}\n" for f in first.failures))
        third = scrub_files(select_files(whole, Path("list")), Path("more"), pipeline)
        return [told(first), told(second), told(third), written(), written("more")]


def sealed() -> object:
    """Scrub with a vault, twice: a name that it knows as an original is nobody's surrogate."""
    with made():
        pipeline = Pipeline(WordRecognizer(WORDS), load_policy("surrogate"), KEY, Settings(originals=True))
        with Vault.create(Path("vault"), KEY, who="test") as vault:
            reports = [scrub_files(scan(Path(s)), Path(f"{n}{Path(s).suffix}"), pipeline, vault=vault)
                       for n, s in enumerate(("rows.jsonl", "notes"))]  # fmt: skip
            return [list(map(told, reports)), written("0.jsonl"), written("1")]


CELLS = """CREATE TABLE note (id BIGINT PRIMARY KEY, short INTEGER, who TEXT, day DATE, at TIMESTAMP, text TEXT,
    size NUMERIC(6,2), raw BLOB, yes BOOLEAN, any, cut CHAR(3));"""


def rows(policy: str, keep: str, batch: int, resume: bool) -> object:
    """Scrub the rows of a database in batches; some fail, some of these are mended, and the run goes on."""
    with made(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_output, "_ROWS", batch)
        patch.setattr(table_output, "_CHARACTERS", 10**batch)
        with sqlite3.connect("in.db") as source:
            source.executescript(CELLS)
            for n in range(12):
                values = (10 * n + 5, n, f"p{n % 3}", f"2001-02-{n + 1:02}", f"2001-02-03 04:05:{n:02}")
                text = (None, 7)[n // 4 % 2] if n in (3, 5) else f"FAIL {n}" if n == 8 else TEXTS[n % len(TEXTS)]
                more = (n + 0.5, b"x", n % 2, (None, "s", n)[n % 3], f"c{n}")
                source.execute("INSERT INTO note VALUES (?,?,?,?,?,?,?,?,?,?,?)", (*values, text, *more))
        kept = frozenset(filter(None, keep.split(",")))
        reading = Options(table="note", text_field="text", id_field="id", patient="who", date="day", kept=kept)
        settings = Settings(keep_fields=kept, patients=Patients(field_name="who"), date_field="day")
        pipeline = Pipeline(WordRecognizer(WORDS), load_policy(policy), KEY, settings)
        answers: list[object] = []
        for turn in range(3):
            source = scan("sqlite:///in.db", options=reading)
            again = resume and turn > 0
            output = TableOutput(source, "sqlite:///out.db/new", KEY, "same", resume=again)
            answers += [output.there, told(scrub_files(source, output, pipeline)), output.remarks()]
            with sqlite3.connect("out.db") as made_of:
                tables = made_of.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
                left = made_of.execute("SELECT count(*) FROM deid_progress").fetchall() if len(tables) > 2 else []
                answers += [tables, left, list(map(str, made_of.execute("SELECT * FROM new ORDER BY 1")))]
            with sqlite3.connect("in.db") as source:
                source.execute("UPDATE note SET text = 'Zebulon' WHERE short = ?", (3 if turn else 8,))
        for options, key in (("other", KEY), ("same", Key(b"o" * 32))):
            try:
                TableOutput(scan("sqlite:///in.db", options=reading), "sqlite:///out.db/new", key, options)
            except DeidError as error:
                answers.append(said(error))
        return answers


def generalized(source: str, gold: bool, t: int, keep: frozenset[str], patients: bool) -> object:
    with made():
        people = {"patients": Path("patients.csv"), "known": Path("known.csv")} if patients else {}
        options = GeneralizeOptions(t=t, keep=keep, gold=gold, **people)
        report = generalize_files(scan(Path(source)), Path(OUT(source)), options, KEY)
        return [told(report), written(OUT(source))]


def tabled(text: str, columns: Mapping[str, str], suffix: str) -> object:
    """Read a table of known patients."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"t.{suffix}")
        path.write_text(text)
        try:
            known = read_known_people(path, columns)
        except DeidError as error:
            return said(error).replace(folder, "")
        people = {p: [[k.category, k.value] for k in ks] for p, ks in known.identifiers.items()}
        return [people, {p: known.names(p) for p in people}, known.names(None), known.people]


def listed(text: str) -> object:
    """Read a table of whom documents are about, and ask it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text(text)
        try:
            patients = Patients(read_patients(path), "who", re.compile(r"^(\d)x|y\d"))
        except DeidError as error:
            return said(error).replace(folder, "")
        asked = [Document(name, "", metadata={"who": who}) for name in ("a", "a.txt", "s/b", "3x", "s/y4", "z.1", ".a")
                 for who in (None, "", 5, "w", 1.5)]  # fmt: skip
        return [patients.table, patients.named, [patients.of(d) for d in asked]]


def drawn(by: str | None, sample: int, seed: int) -> object:
    """Draw notes for a reader, who finds leaks in some, and say what that bounds."""
    with made():
        draw = random.Random(seed)
        kinds = ("a", "a", "a", "b", "b", "c", "", *(f"k{n}" for n in range(25)))
        for n in range(60):
            kind = kinds[draw.randrange(len(kinds))]
            place = Path("all", kind, f"{n}.txt") if by != "ward" else Path("all", f"{n}.txt")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(" ".join(["word"] * draw.randint(1, 40)))
        source = scan(Path("all") if by != "ward" else Path("rows.jsonl"))
        try:
            result = draw_notes(source, sample, by=by, seed=seed)
            some = sorted(result.notes)
            answers: list[object] = [result, result.drawn, result.total]
            for share, words in ((0, None), (1, 2), (2, 1), (7, None)):
                marks = {
                    k: ReaderMark(n % 3 * (n < share), words if n < share and n % 3 else None)
                    for n, k in enumerate(some)
                }
                for confidence in (0.5, 0.95):
                    audit = bound_leaks(source, result, marks, confidence)
                    answers += [audit.as_dict(), audit.types]
        except DeidError as error:
            return said(error)
        return answers


def disturbed(seed: int) -> object:
    """Scrub a text, change what came of it here and there, and check the pair."""
    draw = random.Random(seed)
    text = " ".join(draw.choice([*TEXTS[0].split(), "Dr.", "pain", "(MRN", "12)", "pain", ","]) for _ in range(25))
    if seed % 5 == 0:
        text = text * 30
    original = Document("d", text)
    recognizer = WordRecognizer(WORDS)
    policy = load_policy(draw.choice(["redact", "tag", "limited-data-set"]))
    done = Pipeline(recognizer, policy, KEY)(original)
    new = done.document.text
    if seed % 3:
        for _ in range(draw.choice([1, 1, 2, 40])):
            at = draw.randrange(len(new))
            new = (
                new[:at] + draw.choice(["", " ", "x", "Zebulon ", "Bator", "pain"]) + new[at + draw.choice([0, 1, 5]) :]
            )
    answers: list[object] = []
    for given in ({}, {"recognizer": recognizer}, {"recognizer": recognizer, "policy": policy}):
        try:
            answers.append(verify_document(original, Document("d", new), **given))
        except DeidError as error:
            answers.append(said(error))
    spans = (
        done.document.spans
        if new == done.document.text
        else tuple(Span(m.start(), m.end(), "PATIENT") for m in re.finditer(r"\[\w+\]", new))
    )
    answers += [
        align_by_text(text, new),
        align_by_text(new, text),
        align_by_annotations(text, new, spans, done.spans if seed % 2 else ()),
        align_by_detection(text, new, recognizer.find(original)),
        [move_span(s, e, done.edits, back=back) for back in (False, True) for s, e in ((0, 9), (8, 8), (20, 60))],
    ]
    return answers


def named() -> object:
    """Return what columns mean, what ids and fields become."""
    numbers = [0, 1, -1, 7, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, 10**30, "x", "7"]
    fields = {"who": "7", "ward": "B", "n": 3, "yes": True, "x": 1.5, "d": {"a": 1}, "e": "", "f": None, "id2": 9}
    naming = [Naming(KEY, keep, frozenset({"ward"}), "who", {"id2": "patient"}) for keep in (False, True)]
    words = "mrn,Birth-Date,SSN,given_name,family name,id,patient_id,phone,x,date_of_birth,e-mail,zip,CITY,ID"
    return [
        [mapped_id(KEY, what, n) for what in ("doc", "patient") for n in numbers],
        [[n.id("a/b/c.d"), n.metadata(fields)] for n in naming],
        {word: column_meaning(word) for word in words.split(",")},
    ]


SAID: dict[str, Any] = {
    "gold": True, "model": "none", "deny": (Path("d"),), "allow": (Path("a"),), "dial": "1", "doubt": 0.5,
    "rules": False, "span_probability": 0.4, "threshold": 0.5, "transformer": Path("t"), "language": "es",
    "patients": Path("p"), "patient_field": "who", "patient_pattern": "n(.)",
    "patient_text": "MRN (.)", "known": Path("k"), "known_column":
    ("x=PATIENT",), "policy": "tag", "known_field": ("who",), "date_field": "day", "keep": frozenset({"id"}),
    "accept": ("AGE",), "method": "concept-match",
}  # fmt: skip


def asked(name: str) -> object:
    """Return what a user may say beside one option, and what of it says how to detect."""
    answers: list[object] = []
    for other in SAID:
        try:
            options = PipelineOptions(**{name: SAID[name], other: SAID[other]})
            answers.append([options.wished(), options])
        except DeidError as error:
            answers.append([other, said(error)])
    for value in (-0.1, 0, 1e-9, 1, 1.1):
        try:
            answers.append(PipelineOptions(**{name: value}))
        except (DeidError, TypeError) as error:
            answers.append(type(error).__name__)
    return answers


TABLES: tuple[tuple[str, dict[str, str], str], ...] = (
    (
        "id,given,middle,family,dob,mrn\n7,Ann,B,Vance,1960-03-04,00123\n8,,,Lee,,\n7,Anna,,Vance,03/04/1960,00123",
        {},
        "csv",
    ),
    ("id,given,family,given 2,x\n7,Ann,Vance,Bea,\n8,,Lee,,3", {"given 2": "given", "x": "PHONE"}, "csv"),
    ("id,name,phone,city\n7,Vance,2,4\n8,Lee,3,3", {"city": "none"}, "csv"),
    ("id,name,phone,mrn\n7,Vance,2,4\n8,Lee,3,3", {"mrn": "id", "phone": "family"}, "csv"),
    ("pid,x,y\n7,Vance,2\n8,Lee,3", {"x": "PATIENT", "y": "none", "pid": "id"}, "csv"),
    ("pid,x,y\n7,Vance,2\n8,Lee,3", {}, "csv"),
    ("id,x\n7,Vance", {}, "csv"),
    ("7,Vance\n8,Lee", {}, "csv"),
    ("id,name\n7,Vance", {"q": "id"}, "csv"),
    ("id,name\n7,Vance", {"name": "NURSE"}, "csv"),
    ("name,phone\nVance,7", {}, "csv"),
    ("id,name,dob\n7,Vance,1960-13-04", {}, "csv"),
    ("id,name\n7,Vance\n\n ,Lee", {}, "csv"),
    ("id,name\n7,Vance\n8", {}, "csv"),
    ('id,name\n7,"Vance', {}, "csv"),
    ("id,name\n", {}, "csv"),
    ("ID;Family Name;Given name\n7;Vance;Ann\n8;Lee;", {}, "csv"),
    ("id\tname,x\tmrn\n7\tVance, A\t00,1", {"name,x": "PATIENT"}, "tsv"),
    ('{"id": 7, "name": "Ann Vance", "city": null, "mrn": 1.5}\n\n{"id": 8.0, "name": "Lee", "mrn": 3.0}', {}, "jsonl"),
    ('{"id": 7, "name": "Ann Vance"}\n{"id": 8, "city": "Lee"}', {}, "ndjson"),
    ('{"id": 7, "name": "Ann Vance"}\n{"id": 8, "name": true}', {}, "jsonl"),
    ('{"id": 7, "name": "Ann Vance", "tags": ["a"]}', {"tags": "none"}, "jsonl"),
    ('{"id": 7, "name": "Ann Vance"}\n[]', {}, "jsonl"),
    ('{"id": 7, "name": "Ann Vance"}\n{', {}, "jsonl"),
)
LISTS = (
    "document,patient\na,1\ns/b.txt,2\n",
    "patient,document,x\n1,a.txt,3\n2,a,3\n",
    "document,patient\na,\n",
    "document\na\n",
    'document,patient\n"a,1\n',
    "document,patient\na,1\na.txt,1\nz.1,4\n.a,5\n",
)

QUESTIONS: dict[str, Callable[[], object]] = {
    f"{source} {policy} {people}": partial(scrubbed, source, policy, PEOPLE[people])
    for s, source in enumerate(SOURCES)
    for p, people in enumerate(PEOPLE)
    for policy in [POLICIES[(s + p) % len(POLICIES)]]
    if people not in ("field", "days", "kept") or source in ("rows.jsonl", "many")
}
QUESTIONS |= {
    f"rows.jsonl read {n}": partial(scrubbed, "rows.jsonl", "tag", {}, reading)
    for n, reading in enumerate(
        (Options(id_field=""), Options(id_field="size"), Options(spans_field=""), Options(spans_field="marks"))
    )
}
QUESTIONS |= {f"{source} again": partial(again, source) for source in ("notes", "many", "gold")} | {"sealed": sealed}
QUESTIONS |= {
    f"rows {n}": partial(rows, *asked)
    for n, asked in enumerate(
        [
            ("tag", "", 3, True),
            ("surrogate", "size,raw,any,cut", 1, True),
            ("safe-harbor", "at,yes,short", 4, False),
            ("limited-data-set", "any", 256, True),
        ]
    )
}
QUESTIONS |= {
    f"{source} generalized {n}": partial(generalized, source, gold, t, frozenset(keep), patients)
    for source in ("notes", "rows.jsonl", "many")
    for n, (gold, t, keep, patients) in enumerate(
        [(False, 10, (), False), (False, 40, ("filename",), True), (True, 3, ("id",), True)]
    )
}
QUESTIONS |= {f"table {n}": partial(tabled, *table) for n, table in enumerate(TABLES)}
QUESTIONS |= {f"asked {name}": partial(asked, name) for name in SAID}
QUESTIONS |= {f"patients {n}": partial(listed, text) for n, text in enumerate(LISTS)} | {"names": named}
QUESTIONS |= {
    f"drawn by {by} {sample} {seed}": partial(drawn, by, sample, seed)
    for by, sample, seed in ((None, 5, 0), ("folder", 8, 1), ("folder", 30, 2), ("folder", 900, 3), ("ward", 3, 4),
                             ("nothing", 3, 5), (None, 0, 6), (None, 900, 7))
}  # fmt: skip
QUESTIONS |= {f"disturbed {seed}": partial(disturbed, seed) for seed in range(60)}
PINNED = Pinned(__file__, QUESTIONS | dict(left_unsaid("deid.pipeline")), parts=60)
test_runs_give_what_they_gave = PINNED.test(__name__)
