"""What may stay readable: under every policy, only what nothing took for an identifier that the policy takes out."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st
from products import by_day

from deid import Pipeline, build_recognizer, load_policy, read
from deid.base.keys import Key
from deid.detection import Ensemble, RuleRecognizer
from deid.document import Document, Edit, Span
from deid.io import FORMATS, Options, scan
from deid.labeling.tagger import load_model
from deid.phi import CATEGORIES, LABEL_SETS, may_be
from deid.pipeline import tag_files
from deid.pipeline.batch import Tagging
from deid.pipeline.core import Settings
from deid.pipeline.known_people import NOBODY
from deid.replacement.operators import OPERATORS
from deid.replacement.policy import Policy, shipped_policies

KEY = Key(b"k" * 32)
TEXT = "On May 5, 2019 Ann Lee, 45, of Salem MA 01970 (MRN 4711203, tel 617-555-0143) saw Dr. Roe in room 12 at 9:30."
POLICIES = {name: load_policy(name) for name in shipped_policies()}
LABELS = sorted({label for labels in LABEL_SETS.values() for label in labels.names()})
PIPELINES = {name: Pipeline(None, policy, KEY, Settings(gold=True)) for name, policy in POLICIES.items()}
RECOGNIZER = build_recognizer()
RULES = RuleRecognizer.load("en")

PLACES = st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 14)).map(lambda p: (p[0], min(len(TEXT), sum(p))))


def forbids(policy: Policy, category: str) -> bool:
    """Tell whether a policy leaves nothing of a category."""
    operator = OPERATORS[policy.base[category].operator]
    return operator.protects and not operator.may_repeat and not operator.leaves_part


def left(edits: tuple[Edit, ...], span: Span) -> str:
    """Return the letters and digits of a span that nothing replaced."""
    return "".join(
        TEXT[i]
        for i in range(span.start, span.end)
        if TEXT[i].isalnum() and not any(e.start <= i < e.end for e in edits)
    )


@pytest.mark.parametrize("name", shipped_policies())
@settings(max_examples=60)
@given(proposed=st.lists(st.tuples(PLACES, st.sampled_from(LABELS)), min_size=1, max_size=6))
def test_no_annotation_of_what_a_policy_forbids_is_left(name: str, proposed: list[tuple[tuple[int, int], str]]) -> None:
    """Whatever else overlaps it, and whatever a coarse label may hide."""
    policy = POLICIES[name]
    spans = tuple(Span(start, end, label) for (start, end), label in proposed)
    edits = PIPELINES[name](Document("n", TEXT, spans)).edits
    for span in spans:
        if any(forbids(policy, category) for category in may_be(span.category)):
            assert not left(edits, span)


@dataclass(frozen=True)
class Proposing:
    """Proposes what it is told."""

    candidates: tuple[tuple[tuple[int, int], str, float | None], ...]
    name: str = "proposing"
    categories: frozenset[str] = frozenset(CATEGORIES)

    def find(self, document: Document) -> list[Span]:
        return sorted(
            Span(*place, category, source="proposing", score=score) for place, category, score in self.candidates
        )


CANDIDATES = st.lists(
    st.tuples(PLACES, st.sampled_from(sorted(CATEGORIES)), st.none() | st.floats(0.3, 1.0)), min_size=1, max_size=6
).map(tuple)


@pytest.mark.parametrize("name", shipped_policies())
@settings(max_examples=40)
@given(candidates=CANDIDATES)
def test_nothing_that_was_proposed_as_what_a_policy_forbids_is_left(name: str, candidates: tuple) -> None:
    """However a recognizer contradicts rules and itself."""
    policy = POLICIES[name]
    ensemble = Ensemble((Proposing(candidates), RULES))
    document = Document("n", TEXT)
    edits = Pipeline(ensemble, policy, KEY)(document).edits
    for candidate in ensemble.trace(document).candidates:
        passed = candidate.fate == "accepted" and candidate.certainty >= 0.5
        if passed and forbids(policy, candidate.span.category):
            assert not left(edits, candidate.span), candidate


LABELLED = [(f.category, case) for f in RULES.catalogue.fields if f.certainty >= 0.85 for case in f.match]


@settings(max_examples=150)
@given(
    case=st.sampled_from(LABELLED),
    candidates=st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 30), st.sampled_from(["IDNUM", "DATE", "PHONE", "CITY"]))
    ),
)
def test_a_labelled_value_keeps_its_category_whatever_a_model_thinks(
    case: tuple[str, str], candidates: list[tuple[int, int, str]]
) -> None:
    category, marked = case
    start = marked.index("[[")
    end = marked.index("]]") - 2
    text = marked.replace("[[", "").replace("]]", "")
    places = tuple(((s, min(s + n, len(text))), c, None) for s, n, c in candidates if s < len(text))
    found = Ensemble((Proposing(places), RULES)).find(Document("n", text))
    told = {c: s.category for s in found for c in range(s.start, s.end)}
    assert {told.get(i) for i in range(start, end) if text[i].isalnum()} == {category}


def test_a_labelled_number_is_what_its_label_says() -> None:
    note = "The patient was admitted.\nMRN: 4711203\nSoc Sec: 533209418\nAcct 70023391882\nShe is well.\n"
    found = RECOGNIZER.find(Document("n", note))
    assert {note[s.start : s.end]: s.category for s in found} == {
        "4711203": "MEDICALRECORD",
        "533209418": "SSN",
        "70023391882": "ACCOUNT",
    }


@pytest.mark.parametrize(
    ("accept", "stays"),
    [((), False), (("--accept", "IDNUM"), False), (("--accept", "ID"), True)],
)
def test_a_coarse_label_stays_only_where_it_is_accepted_by_name(
    tmp_path: Path, accept: tuple[str, ...], stays: bool
) -> None:
    record = {"id": "a", "text": "No 7391846205 here.", "spans": [{"start": 3, "end": 13, "label": "ID"}]}
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps(record) + "\n")
    run("scrub", source, target, "--gold", "--policy", "limited-data-set", "--key-file", tmp_path / "key", *accept)
    assert ("7391846205" in target.read_text()) is stays


@pytest.mark.parametrize("command", ["scrub", "filter"])
def test_a_limited_data_set_holds_no_record_number_that_was_labelled(tmp_path: Path, command: str) -> None:
    source, target, key = tmp_path / "in.txt", tmp_path / "out.txt", tmp_path / "key"
    source.write_text("MRN: 4711203, case number 20-4411, seen on 3/4/2019\n")
    options = ("--policy", "limited-data-set", "--key-file", key, "--accept", "IDNUM")
    if command == "scrub":
        run("scrub", source, target, *options)
    else:
        run("filter", source, "--output", target, *options)
    assert target.read_text() == "MRN: [ID], case number 20-4411, seen on 3/4/2019\n"


@dataclass(frozen=True)
class Doubting:
    """Finds a town that is also taken for something else."""

    name: str = "doubting"
    categories: frozenset[str] = frozenset(CATEGORIES)

    def find(self, document: Document) -> list[Span]:
        at = document.text.find("Salem")
        return [Span(at, at + 5, "CITY").read_as(("HOSPITAL", "STATE"))] if at >= 0 else []


@pytest.mark.parametrize("name", sorted(f.name for f in FORMATS.values() if f.carries_spans))
def test_what_a_tagged_file_left_in_doubt_is_taken_out_of_it(tmp_path: Path, name: str) -> None:
    format = FORMATS[name]
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": "1", "text": "Seen at Salem today."}) + "\n")
    tagged = tmp_path / f"tagged{format.suffixes[0]}"
    options = Options(any_label=True)
    report = tag_files(scan(source), tagged, Doubting(), format, options=options)
    if report.failures:  # a format that has no place for such a label, or such an id
        assert not any(path.is_file() and b"Salem" in path.read_bytes() for path in tmp_path.glob("tagged*"))
        return
    read_back = list(read(tagged, format=name, any_label=True))
    assert sum(len(d.spans) for d in read_back) == 1
    pipeline = Pipeline(None, POLICIES["limited-data-set"], KEY, Settings(gold=True))
    for document in read_back:
        assert "Salem" not in pipeline(document).document.text


def test_what_else_a_span_may_be_is_written_where_it_can_be_else_the_strictest_of_it() -> None:
    document = Document("1", "Seen at Salem today.")
    (kept,) = Tagging(Doubting(), NOBODY, True)(document).document.spans
    assert (kept.category, kept.attributes) == ("CITY", (("also", "HOSPITAL,STATE"),))
    (named,) = Tagging(Doubting(), NOBODY, False)(document).document.spans
    assert (named.category, named.attributes) == ("HOSPITAL", ())  # which a limited data set must not hold
    assert Tagging(Doubting(), NOBODY, False)(Document("2", "Seen at home.")).document.spans == ()


@pytest.mark.parametrize("name", shipped_policies())
@pytest.mark.parametrize("town", ["CITY", "STATE", "COUNTRY"])
@pytest.mark.parametrize("text", ["Jedediah Salem", "Salem Jedediah"])
def test_a_town_beside_a_name_is_taken_for_a_part_of_it(name: str, town: str, text: str) -> None:
    """A policy that keeps towns kept half of the patient's name."""
    at, other = text.index("Salem"), text.index("Jedediah")
    found = Proposing((((at, at + 5), town, None), ((other, other + 8), "PATIENT", None)))
    if forbids(POLICIES[name], "PATIENT"):
        assert "Salem" not in Pipeline(Ensemble((found,)), POLICIES[name], KEY)(Document("n", text)).document.text


def test_a_town_behind_a_comma_of_a_name_stays_a_town() -> None:
    found = Proposing((((0, 8), "PATIENT", None), ((10, 15), "CITY", None)))
    pipeline = Pipeline(Ensemble((found,)), POLICIES["limited-data-set"], KEY)
    assert "Salem" in pipeline(Document("n", "Jedediah, Salem")).document.text


TOWNS = ["Quimby India", "Belvedere Mario", "Quimby Houston", "Texas Marisol", "Israel Quincy", "Salem Charlotte"]
"""Persons whose names a model and lists of places take for something else."""


@pytest.mark.parametrize("name", shipped_policies())
@pytest.mark.parametrize("sign", [",", ";", "\t", " | "])
@pytest.mark.parametrize("heads", [("name", "ward", "bed"), ("mrn", "ward", "name"), ("id", "age", "name")])
def test_a_column_of_names_is_left_by_no_policy(name: str, sign: str, heads: tuple[str, ...]) -> None:
    """Whatever parts its columns, and whatever else the names may be."""
    others = {"ward": "4W", "bed": "12", "mrn": "77120", "id": "1", "age": "45"}
    rows = [[person if head == "name" else others[head] for head in heads] for person in TOWNS]
    text = "".join(sign.join(row) + "\n" for row in (heads, *rows))
    policy = POLICIES[name]
    left = Pipeline(RECOGNIZER, policy, KEY)(Document("n", text)).document.text
    if forbids(policy, "PATIENT"):
        assert not [person for person in TOWNS if person in left]
        if policy.rule("CITY", {}).operator == "keep":  # and writes no towns of its own
            assert not [word for person in TOWNS for word in person.split() if word in left]


SIGNS = st.tuples(
    st.sampled_from(["", " "]),
    st.sampled_from(
        [*sorted(set(string.punctuation) - set("'\"()[]{}|")), "\u00b7", "\u2022", "\u2502", "\x1f", "\u2192"]
    ),
    st.integers(1, 3),
    st.sampled_from(["", " ", "  "]),
).map(lambda parts: parts[0] + parts[1] * parts[2] + parts[3])
"""What parts columns: any sign, some times, with blanks or without."""


@settings(max_examples=30)
@given(
    sign=SIGNS | st.just("  "),
    heads=st.sampled_from([("name", "ward", "bed"), ("mrn", "name", "ward"), ("mrn", "ward", "name")]),
    people=st.permutations(TOWNS),
)
def test_a_column_of_names_is_left_between_no_signs(sign: str, heads: tuple[str, ...], people: list[str]) -> None:
    others = {"ward": "4W", "bed": "12", "mrn": "77120"}
    rows = [[person if head == "name" else others[head] for head in heads] for person in people]
    text = "Seen today:\n\n" + "".join(sign.join(row) + "\n" for row in (heads, *rows)) + "\nAll are well."
    left = Pipeline(RECOGNIZER, POLICIES["limited-data-set"], KEY)(Document("n", text)).document.text
    assert not [word for person in TOWNS for word in person.split() if word in left]


NOTES = (
    "Patient: Mario Belvedere. MRN: 4711203, Acct 70023391882, seen 5/3/2019 in Salem, MA 01970 by Dr. Priscilla Vann.",
    "Soc Sec: 533209418. April Quimby called 617-555-0143; mail a.quimby@quimbymail.org. Sodium 138 140 137 139.",
    "Admitted 2019-06-03 from Gray, ME. Account 20-4411-93; license AB123-4567; Jan Zuckerman, RN, pager 48213.",
    "Belvedere lives at 14 Elm Hollow Road with his sister Rosamund; see https://example.org/p/8823 from 10.20.30.44.",
)
MARKS = ("seen", "Sodium", "Admitted", "lives")
"""A word of each note that stays."""


def scrub_notes(folder: Path, policy: str) -> None:
    lines = [json.dumps({"id": str(n), "text": note}) for n, note in enumerate(NOTES)]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    run("scrub", folder / "in.jsonl", folder / "out.jsonl", "--policy", policy, "--key-file", folder / "key")


def by_scrub(folder: Path, policy: str) -> Iterable[Path]:
    scrub_notes(folder, policy)
    return [folder / "out.jsonl"]


def by_generalize(folder: Path, policy: str) -> Iterable[Path]:
    """Which works on what was scrubbed."""
    scrub_notes(folder, policy)
    run("generalize", folder / "out.jsonl", folder / "general.jsonl", "--plausible", 2, "--key-file", folder / "key")
    return [folder / "general.jsonl"]


def by_filter(folder: Path, policy: str) -> Iterable[Path]:
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": note}) + "\n" for note in NOTES))
    run("filter", folder / "in.jsonl", "-o", folder / "out.jsonl", "--policy", policy, "--key-file", folder / "key")
    return [folder / "out.jsonl"]


def by_watch(folder: Path, policy: str) -> Iterable[Path]:
    (folder / "inbox").mkdir()
    (folder / "inbox/a.ndjson").write_text("".join(json.dumps({"text": note}) + "\n" for note in NOTES))
    options = ("--policy", policy, "--key-file", folder / "key", "--once", "--settle", 0)
    run("watch", folder / "inbox", folder / "outbox", *options)
    return folder.glob("outbox/*.ndjson")


def by_release(folder: Path, policy: str) -> Iterable[Path]:
    (folder / "notes").mkdir()
    for number, note in enumerate(NOTES):
        (folder / f"notes/n{number}.txt").write_text(note)
    numbers = range(len(NOTES))
    (folder / "notes.csv").write_text("document,patient\n" + "".join(f"n{n},{n}\n" for n in numbers))
    (folder / "people.csv").write_text(
        "id,sex,comment\n" + "".join(f"{n},F,{NOTES[n]!r}\n" for n in numbers).replace("'", '"')
    )
    (folder / "plan.toml").write_text(
        f'policy = "{policy}"\nk = 2\n[notes]\npath = "notes"\npatients = "notes.csv"\n[tables.people]\n'
        'path = "people.csv"\npatient = "id"\ncolumns = { sex = "quasi-identifier", comment = "free-text" }\n'
    )
    run("release", folder / "plan.toml", folder / "out", "--key-file", folder / "key")
    return [*folder.glob("out/notes/*"), folder / "out/people.csv"]


def by_spacy(folder: Path, policy: str) -> Iterable[Path]:
    """Which marks whatever some policy forbids, and replaces nothing."""
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("deid")
    marked = ""
    for doc in map(nlp, NOTES):
        covered = {i for span in doc.spans["phi"] for i in range(span.start_char, span.end_char)}
        marked += "".join(" " if i in covered else sign for i, sign in enumerate(doc.text)) + "\n"
    (folder / "out.txt").write_text(marked)
    return [folder / "out.txt"]


@cache
def posted() -> list[list[Span]]:
    """Return what was posted of each note with certainty .5 or more."""
    ensemble = Ensemble((load_model("en"), RULES))
    found = []
    for note in NOTES:
        posts = ensemble.trace(Document("n", note)).candidates
        found.append([p.span for p in posts if p.fate == "accepted" and p.certainty >= 0.5])
    return found


WAYS = [by_scrub, by_generalize, by_filter, by_watch, by_release, by_spacy]


@pytest.mark.parametrize(("way", "policy"), by_day(WAYS, shipped_policies()))
def test_nothing_that_was_posted_as_forbidden_is_left_by_any_way_in(
    tmp_path: Path, way: Callable[[Path, str], Iterable[Path]], policy: str
) -> None:
    """Words that stand elsewhere in the note too are not counted."""
    lines = [line for path in way(tmp_path, policy) for line in path.read_text().splitlines()]
    lines = [json.loads(line)["text"] if line.startswith("{") else line for line in lines]
    for note, mark, spans in zip(NOTES, MARKS, posted(), strict=True):
        forbidden, elsewhere = set(), set()
        taken = {i for span in spans if forbids(POLICIES[policy], span.category) for i in range(span.start, span.end)}
        for word in re.finditer(r"\w{2,}", note):
            (forbidden if taken.intersection(range(*word.span())) else elsewhere).add(word[0])
        assert len(forbidden - elsewhere) > 2
        left = " ".join(line for line in lines if mark in line)
        assert left
        values = [note[span.start : span.end] for span in spans if span.start in taken]
        assert not any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", left) for value in values)  # ME is in [NAME]
        # years, telephone numbers and addresses share parts with others
        if POLICIES[policy].base["PHONE"].operator == "surrogate":
            forbidden = {word for word in forbidden if word.istitle()} - {"Road"}
        assert not (forbidden - elsewhere).intersection(re.findall(r"\w+", left))
    assert any("Sodium 138 140 137 139" in line for line in lines)
