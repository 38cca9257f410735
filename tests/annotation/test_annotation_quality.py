"""Agreement and adjudication in a project, corrections that become lists, and items that are no notes."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pandas as pd
import pytest

from deid.annotation.editing import Accept, Add, Reject
from deid.annotation.project import Project
from deid.annotation.quality import (
    add_findings,
    add_pairs,
    adjudicate,
    annotated,
    scrubbed_documents,
    site_terms,
    write_decisions,
    write_site_lists,
)
from deid.base.errors import ConfigError, FormatError, InputError
from deid.detection.site_lists import load_site_lists
from deid.document import Document, Edit, Failure, Span
from deid.evaluation.agreement import agreement, disputes
from deid.linkage.decisions import Decided, checks, read_decisions
from deid.pipeline.edit_log import LoggedEdits

TEXT = "Ann Lee came on 2012 to Dr. Fox"
NAME, DATE, DOCTOR = Span(0, 7, "NAME"), Span(16, 20, "DATE"), Span(28, 31, "NAME")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path / "p")


def _layers(project: Project) -> None:
    project.add([Document("a", TEXT, (NAME, DATE, DOCTOR)), Document("b", "Fox", (Span(0, 3, "NAME"),))], "eva")
    project.add([Document("a", TEXT, (Span(0, 3, "NAME"), DATE)), Document("b", "Fox", (Span(0, 3, "NAME"),))], "paul")


def test_agreement_is_over_notes_that_are_done(project: Project) -> None:
    with pytest.raises(ConfigError, match="fewer than two"):
        agreement(annotated(project))
    _layers(project)
    (pair,) = agreement(annotated(project)).pairs
    assert (pair.annotators, pair.documents, pair.spans) == (("eva", "paul"), 2, (4, 3))
    assert pair.f1 == pytest.approx(2 * 2 / 7)
    project.finish(1, "paul", done=False)
    (pair,) = agreement(annotated(project)).pairs
    assert (pair.documents, pair.f1) == (1, 1.0)


def test_an_adjudicator_gets_what_is_agreed_and_decides_the_rest(project: Project) -> None:
    _layers(project)
    assert len(disputes(annotated(project))) == 2
    told = adjudicate(project, "chief", ["eva", "paul"])
    assert (told.notes, told.agreed, told.disputed) == (2, 2, 2)
    _, marks = project.marks(1, "chief")
    assert [(m.start, m.end, m.state, m.by) for m in marks] == [
        (0, 3, "suggested", "paul"),
        (0, 7, "suggested", "eva"),
        (16, 20, "accepted", "import"),
        (28, 31, "suggested", "eva"),
    ]
    assert [entry.state for entry in project.entries("chief")] == ["begun", "begun"]
    assert project.adjudicated() == {"chief": ("eva", "paul")}
    revision = project.marks(1, "chief")[0]
    project.change(1, "chief", revision, [Accept(marks[1].id), Reject(marks[3].id)])
    adjudicate(project, "chief", ["eva", "paul"])  # again, after some work: what was decided stays
    assert [(m.start, m.end, m.state) for m in project.marks(1, "chief")[1]] == [
        (0, 7, "accepted"),
        (16, 20, "accepted"),
        (28, 31, "rejected"),
    ]
    with pytest.raises(ConfigError):
        adjudicate(project, "eva", ["eva", "paul"])


def test_corrections_of_a_scrubbing_become_lists_that_scrubbing_takes(project: Project, tmp_path: Path) -> None:
    text = "Pt Rose Ward seen by Quill on 7/8 at Pine View, Babinski 2 and MRN 12345678. Quill."
    log = [LoggedEdits("a", len(text), tuple(_edits(text, ("Babinski", "PATIENT"), ("Rose", "PATIENT"), ("2", "AGE"))))]
    read = [Document("a", text), Document("b", "no log"), Failure("c", InputError("x"))]
    tally = project.add(scrubbed_documents(read, log, lambda id: [id]))
    assert (tally.documents, len(tally.failures)) == (1, 2)
    for category in ("DOCTOR", "HOSPITAL", "MEDICALRECORD"):
        project.set_label(category)
    revision, marks = project.marks(1, "eva")
    by_text = {text[mark.start : mark.end]: mark.id for mark in marks}
    assert set(by_text) == {"Rose", "Babinski", "2"}
    changes = [Accept(by_text["Rose"]), Reject(by_text["Babinski"]), Reject(by_text["2"])]
    for term, category in (("Quill", "DOCTOR"), ("Pine View", "HOSPITAL"), ("12345678", "MEDICALRECORD")):
        start = text.index(term)
        changes.append(Add(start, start + len(term), category, term))
    project.change(1, "eva", revision, changes)
    assert site_terms(project, "eva").notes == 0
    project.finish(1, "eva")
    terms = site_terms(project, "eva")
    assert terms.deny == (("Pine View", "HOSPITAL"), ("Quill", "DOCTOR"))
    assert terms.allow == ("Babinski",)
    assert (terms.left_out, terms.notes) == (2, 1)
    assert "Quill" not in repr(terms)
    deny, allow = write_site_lists(terms, tmp_path / "deny.txt", tmp_path / "allow.txt")
    assert stat.S_IMODE(deny.stat().st_mode) == 0o600
    lists = load_site_lists([deny], [allow])
    spans, effect, _ = lists.apply(text, [Span(text.index("Babinski"), text.index("Babinski") + 8, "PATIENT")])
    assert {(text[s.start : s.end], s.category) for s in spans} == {("Quill", "DOCTOR"), ("Pine View", "HOSPITAL")}
    assert effect.allowed == 1


def _edits(text: str, *replaced: tuple[str, str]) -> list[Edit]:
    """Return edits that put XX for each of some words."""
    found, moved = [], 0
    for start, word, category in sorted((text.index(word), word, category) for word, category in replaced):
        new = start + moved
        found.append(Edit(start, start + len(word), new, new + 2, category))
        moved += 2 - len(word)
    return found


def test_a_term_that_is_right_elsewhere_is_not_allowed(project: Project) -> None:
    project.add([Document("a", "Rose saw a rose. Rose.", (Span(0, 4, "NAME"), Span(17, 21, "NAME")))])
    revision, (first, second) = project.marks(1, "eva")
    project.change(1, "eva", revision, [Accept(first.id), Reject(second.id)])
    project.finish(1, "eva")
    terms = site_terms(project, "eva")
    assert (terms.deny, terms.allow, terms.left_out) == ((), (), 1)


def test_pairs_of_a_linkage_are_decided_with_their_rows(project: Project, tmp_path: Path) -> None:
    rows = pd.DataFrame({"name": ["Ann", "Anne", "Bob"]}, dtype="string")
    rows.to_csv(tmp_path / "t.csv", index=False)
    marks = "-".join(checks([rows], [0, 1], without="person").values())
    (tmp_path / "review.csv").write_text(
        "row_a,row_b,person_a,person_b,probability,weight,why_apart,check\n"
        f"1,2,p1,p2,0.8,3.1,below the threshold,{marks}\n"
    )
    assert add_pairs(project, tmp_path / "review.csv", tmp_path / "t.csv") == 1
    assert add_pairs(project, tmp_path / "review.csv") == 0
    (item,) = project.items.all("link")
    assert item.content["a"] == {"name": "Ann"}
    assert item.content["b"] == {"name": "Anne"}
    with pytest.raises(ConfigError, match="same, different, unsure"):
        project.items.decide(item.id, "eva", "leak")
    with pytest.raises(InputError):
        project.items.decide(99, "eva", "same")
    project.items.decide(item.id, "eva", "unsure")
    project.items.decide(item.id, "eva", "same", "maiden name")
    project.items.decide(item.id, "paul", "different")
    (item,) = project.items.all()
    assert [(d.annotator, d.decision) for d in item.decisions] == [
        ("eva", "unsure"),
        ("eva", "same"),
        ("paul", "different"),
    ]
    assert write_decisions(project, "link", "eva", tmp_path / "d.csv").documents == 1
    told = pd.read_csv(tmp_path / "d.csv")
    assert told[["row_a", "row_b", "decision", "comment"]].to_numpy().tolist() == [[1, 2, "same", "maiden name"]]
    assert stat.S_IMODE((tmp_path / "d.csv").stat().st_mode) == 0o600
    assert read_decisions(tmp_path / "d.csv", [rows], without="person") == Decided(((0, 1),))
    (tmp_path / "review.csv").write_text(
        "row_a,row_b,person_a,person_b,probability,weight,why_apart,check\n1,9,p,q,,,x,\n"
    )
    with pytest.raises(FormatError, match="line 2"):
        add_pairs(project, tmp_path / "review.csv", tmp_path / "t.csv")


def test_findings_of_a_check_are_decided(project: Project, tmp_path: Path) -> None:
    report = tmp_path / "verify.json"
    one = {"document": "note-1", "index": 1, "error": "OutputError", "message": "note-1, offset 4: it is still there"}
    report.write_text(json.dumps({"command": "verify", "failures": [one]}))
    assert add_findings(project, report) == 1
    (item,) = project.items.all("verify")
    assert item.content == one
    project.items.decide(item.id, "eva", "leak")
    assert project.items.remove([item.id]) == 1
    assert not project.items.all()
    for text in ("{", '{"command": "scrub", "failures": []}', "[]"):
        report.write_text(text)
        with pytest.raises(FormatError):
            add_findings(project, report)
