"""Joint releases and extractions that the next version makes again (`pinned`)."""

from __future__ import annotations

import datetime
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pandas as pd

from deid.base.errors import DeidError
from deid.io import Options, scan
from deid.joint.extracting import extract_files
from deid.joint.forgetting import documents_of, forget_in_view
from deid.joint.plan import read_plan
from deid.joint.release import release_jointly
from deid.pipeline.options import ViewOptions
from tests.joint.test_joint_release import KEY, PLAN, write_case
from tests.pinned import Pinned, left_unsaid

AGE, DAY = 'age = { role = "quasi-identifier", category = "AGE" }', 'date = { role = "other", category = "DATE" }'
CHANGES: dict[str, dict[str, str]] = {
    "two": {},
    "three": {"k = 2": "k = 3\nl = 2\nseed = 4"},
    "withheld": {"model =": 'policy = "tag"\nmodel =', 'email = "identifier"': 'email = "dropped"'},
    "bare": {DAY: 'date = "dropped"', AGE: 'age = { role = "quasi-identifier", kind = "numeric" }'},
    "sensitive": {DAY: 'date = "sensitive"', 'sex = "quasi-identifier"': 'sex = "sensitive"'},
    "shared": {AGE: 'age = "other"', DAY: 'date = "other"', "k = 2": "k = 2\nas_of = 2019-02-03"},
    "closer": {"k = 2": 'k = 2\nt = 0.6\ndistance = "equal"\nmethod = "mondrian"'},
    "ordered": {
        AGE: 'age = "sensitive"',
        DAY: 'date = "dropped"',
        'diagnosis = "sensitive"': 'diagnosis = "other"',
        "k = 2": 'k = 2\nt = 0.9\ndistance = "ordered"',
    },
    "expert": {"model =": 'policy = "expert"\nmodel ='},
    "of nobody": {'patients = "notes.csv"': 'patient_pattern = "n(.)"'},
    "no table": {PLAN[PLAN.index("[tables") :]: ""},
    "none asked": {'"quasi-identifier"': '"other"', "k = 2\n": ""},
}


@contextmanager
def elsewhere() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def written(top: str) -> list[list[str]]:
    return [[str(p), p.read_text(encoding="utf-8")] for p in sorted(Path(top).rglob("*")) if p.is_file()]


def released(changes: dict[str, str]) -> object:
    """Release tables and notes, of which one note has no patient in a table, and a table repeats a person's rows."""
    text = PLAN
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    with elsewhere():
        plan = read_plan(write_case(Path(), text))
        report = release_jointly(plan, Path("out"), KEY, version="0")
        return [report.lines(), report.sentences(), report.columns, report.as_dict(plan), written("out")]


def planned(number: int) -> object:
    """Read a plan of which one line is gone, or says something else."""
    lines = PLAN.replace("k = 2", "k = 2\nepsilon_m = [5, 2]\nseed = 1\nmethod = 'local'").splitlines()
    name, _, value = lines[number].partition(" = ")
    answers: list[object] = []
    for own in (
        "",
        f"{name} = 3",
        f"{name} = true",
        f"{name} = 'x'",
        f"{name} = [1, 'x']",
        f"{name}x = {value}",
        f"{name} = -0.5",
    ):
        with elsewhere():
            Path("notes.csv").write_text("document,patient\nn1,7\n")
            Path("plan.toml").write_text("\n".join([*lines[:number], own, *lines[number + 1 :]]))
            try:
                answers.append(read_plan(Path("plan.toml")))
            except DeidError as error:
                answers.append(f"{type(error).__name__} {error.where} {error.position}")
    return answers


DAYS = {"a": "2019-06-07", "b": "2019-07-08", "c": "2019-06-09"}
NOTES = {
    "a": "Patient: Zelda Quarrymane\nDOB: 3/4/1950   MRN: 5512345\nThe patient is a 69-year-old woman.\n",
    "b": "MRN: 5512345\nFollow-up visit. quarrymane zelda is well. She is a 68 year old woman. Phone: 617-555-0143\n",
    "c": "Patient: Bob Ostrander\nDOB: 1/2/1980   MRN: 9987654\nDate of service: 6/9/2019\nHe is a 39-year-old man.\n",
    "d": "Patient: Bob Ostrander\nDOB: 1/3/1980\nEmail: bob@mail.example\nHe is 41 years old. Rang Zelda Quarrymane.\n",
    "e": "Nothing.\n",
}
ROWS = pd.DataFrame(
    {
        "mrn": ["5512345", "9987654", "1"],
        "family": ["Quarrymane", "Ostrander", "Else"],
        "given": ["Zelda", None, "Ann"],
        "middle": ["Maud", None, None],
        "dob": ["1950-03-04", None, None],
        "colour": ["red", "blue", "red"],
    }
)


def extracted(by: str, rounds: int, link: str, table: bool, gold: bool, said: dict[str, object]) -> object:
    """Extract the view of some notes, forget a person in it, and find what a release has of one."""
    with elsewhere():
        lines = []
        for name, text in NOTES.items():
            marks = (
                [{"start": 9, "end": 9 + text.index("\n") - 9, "label": "PATIENT"}] if text[:8] == "Patient:" else []
            )
            lines.append(json.dumps({"id": name, "text": text, "day": DAYS.get(name), "who": name, "spans": marks}))
        Path("notes.jsonl").write_text("\n".join([*lines, "no json"]) + "\n")
        Path("patients.csv").write_text("document,patient\na,7\nd,8\ne,7\nnone,9\n")
        Path("known.csv").write_text("id,given,family,phone\n7,Zelda,Quarrymane,617-555-0143\n8,Rob,Ostrander,\n")
        asked = {"by": by, "rounds": rounds, "link": link, "on": "mrn" if table else None}
        options = ViewOptions(gold=gold, **({} if gold else {"model": "none"}), **asked, **said)  # type: ignore[arg-type]
        made = extract_files(scan(Path("notes.jsonl"), options=Options()), options, table=ROWS if table else None)
        made.view.write(Path("view.csv"))
        first = [Path(name).read_text() for name in ("view.csv", "view.provenance.csv")]
        gone = [forget_in_view(Path("view.csv"), person, "person") for person in ("P1", "P9", "a", "nobody")]
        own = [documents_of(person, Path("notes.jsonl"), KEY, {"a": "p", "e": "q"})[0] for person in ("p", "q", "b")]
        failures = [[f.name, f.index, f.path] for f in made.failures]
        rest = [made.documents, made.rounds, made.contradicted, made.view.conflicts, failures, gone, own]
        return [rest, first, Path("view.csv").read_text()]


PEOPLE: dict[str, object] = {"patients": Path("patients.csv"), "known": Path("known.csv")}
DATED: dict[str, object] = {"date_field": "day", "as_of": datetime.date(2001, 1, 1)}
QUESTIONS: dict[str, Callable[[], object]] = {f"release {n}": partial(released, c) for n, c in CHANGES.items()}
QUESTIONS |= {f"planned {number}": partial(planned, number) for number in range(25)}
QUESTIONS |= {
    f"extract {n}": partial(extracted, *asked)
    for n, asked in enumerate(
        [
            ("person", 1, "exact", False, False, {}),
            ("person", 3, "exact", False, False, DATED),
            ("person", 2, "exact", True, False, {"patient_field": "who"}),
            ("person", 2, "exact", True, False, {}),
            ("note", 2, "exact", False, False, {"patient_pattern": "[ab]"}),
            ("note", 9, "exact", False, False, {"date_field": "who"}),
            ("person", 5, "exact", False, True, DATED),
            ("person", 0, "exact", False, False, {}),
            ("person", 3, "exact", True, False, DATED | {"language": "auto"}),
            ("person", 3, "exact", False, False, PEOPLE),
            ("note", 2, "exact", True, False, PEOPLE | DATED),
            ("note", 2, "exact", False, False, PEOPLE | {"language": "auto:nl"}),
        ]
    )
}
PINNED = Pinned(__file__, QUESTIONS | dict(left_unsaid("deid.joint")))
test_the_same_is_made_again = PINNED.test(__name__)
